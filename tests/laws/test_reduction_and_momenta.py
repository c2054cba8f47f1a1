"""Connections, multipliers, momenta and moving energies, against closed forms and runs."""

import brackets
import casadi as ca
import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline
from test_constraints_and_brackets import ball, unicycle_with_trailers

import noslip as ns


def free_particle():
    """ż = y ẋ, the nonholonomic free particle [BlochKrishnaprasadMarsdenMurray1996]."""
    b = ns.ModelBuilder(name="free particle", gravity=(0.0, 0.0, 0.0))
    parent = "world"
    for name, axis in {"x": (1.0, 0, 0), "y": (0, 1.0, 0), "z": (0, 0, 1.0)}.items():
        is_last = name == "z"
        b.body(name, mass=float(is_last), inertia=(0.1,) * 3 if is_last else (0.0,) * 3)
        b.joint(name, ns.joints.Prismatic(axis=axis), parent=parent, child=name)
        parent = name
    row = "z.speed - y.position*x.speed"
    b.row(ns.rows.VelocityRow(name="row", expression=row, unit="m/s"))
    return b.build()


def turntable():
    """A ball on a table that turns by 2 rad/s."""
    b = ns.ModelBuilder(name="turntable", gravity=(0.0, 0.0, -9.81))
    b.body("table", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("table", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="table")
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    surface, plane = ns.surfaces.Ball(radius=0.5), ns.contacts.Plane(body="table")
    b.contact(ns.contacts.Rolling(name="floor", body="ball", wheel=surface, plane=plane))
    b.row(ns.rows.VelocityRow(name="drive", expression="table.rate - 2.0", unit="rad/s"))
    return b.build()


# formulas


@pytest.mark.parametrize("count", [1, 2])
def test_formulas_of_trailers_are_those_of_the_literature(count):
    """Brackets from the fields by hand; two fail where the tractor is across its trailer."""
    found = ns.distribution(unicycle_with_trailers(count)).formulas()
    (drive, turn), q = brackets.trailers(count)
    at = dict(zip(q, found.coordinates, strict=True))
    generators = list(found.fields.values())[:2]
    for ours, theirs in zip(generators, (drive, turn), strict=True):
        assert all(sp.simplify(a - b.subs(at)) == 0 for a, b in zip(ours, theirs, strict=True))
    assert found.residual < 1e-12
    factors = found.singular
    assert factors == ((sp.cos(found.coordinates[3]),) if count == 2 else ())


def test_formulas_are_left_out_where_they_are_long_or_quaternions_move():
    assert ns.distribution(ball(spin=False)).formulas() is None
    found = ns.distribution(ns.load("tractor-trailer")).formulas()
    assert found.determinant is not None and "may fail where" in found.text()


# Voronets and Chaplygin


def test_velocities_of_a_sleigh_by_hand():
    form = ns.structure(ns.load("chaplygin-sleigh")).voronets
    assert form.base == ("sleigh.x", "sleigh.angle") and form.fibre == ("sleigh.y",)
    np.testing.assert_allclose(
        form.coefficients([0.3, -1.0, 0.4]), [[np.tan(0.4), 0.0]], atol=1e-12
    )
    (formula,) = form.formulas().values()
    assert str(formula) == "sleigh.x'*tan(sleigh.angle)"
    assert form.curvature == 1


def test_a_carriage_is_a_connection_over_its_wheels(system_of):
    system = system_of("carriage")
    found = ns.structure(system.model).chaplygin
    assert found.group == ("displacement along x", "displacement along y", "rotation about z")
    assert found.shape == ("wheel1.angle", "wheel2.angle")
    assert found.freedom == 2 and found.curvature == 1
    # velocities along a run, from those of the wheels
    run = ns.run_scenario(system, duration=1.0)
    N = ca.Function("N", [system.kinematics.symbols.q], [system.kinematics.N])
    names = [c.name for c in run.coordinates]
    base, fibre = ([names.index(n) for n in x] for x in (found.shape, found.connection.fibre))
    for q, v in zip(run.q[::20], run.v[::20], strict=True):
        rates = (np.array(N(q)) @ v).ravel()
        B = found.connection.coefficients(q)
        np.testing.assert_allclose(B @ rates[base], rates[fibre], atol=1e-9)


#: Model → dimension of the group, freedoms of the shape, curvature.
FORMS = {"vertical-disk": (2, 2, 1), "tractor-trailer": (3, 2, 1), "rolling-disk": (2, 3, 1)}


@pytest.mark.parametrize("name", FORMS)
def test_chaplygin_forms_of_the_library(name):
    found = ns.structure(ns.load(name)).chaplygin
    assert (len(found.group), found.freedom, found.curvature) == FORMS[name]


def test_mechanisms_without_constraints_have_no_chaplygin_form():
    found = ns.structure(ns.load("manipulator-2r"))
    assert found.chaplygin is None and found.is_free
    assert found.properties["Chaplygin form"].startswith("no constraint")


# the multiplier


def test_the_multiplier_of_the_free_particle():
    """f = 1/√(1 + y²), and with it p_x is that of Hamilton's equations: constant in τ."""
    model = free_particle()
    multiplier = ns.structure(model).chaplygin.multiplier
    assert multiplier.answer == "yes" and multiplier.formula == "1/sqrt(y.position**2 + 1)"
    first, second = np.array([0.2, 0.9, -1.0]), np.array([0.0, 0.1, 0.0])
    assert multiplier.ratio(first, second) == pytest.approx(np.sqrt(1.01 / 1.81), rel=1e-12)
    run = ns.simulate(
        ns.compile(ns.derive(model)), duration=2.0, start={"x.speed": 0.7, "y.speed": -0.9}
    )
    y = run["y.position"]
    momentum = (1 + y**2) * run["x.speed"] / np.sqrt(1 + y**2)  # f p_x
    assert np.ptp(momentum) < 1e-8 and np.ptp(run["x.speed"]) > 0.1


def test_a_multiplier_is_the_density_of_momenta():
    """Twice: by the tensor, and by the measure of (q, η) less that of momenta."""
    found = ns.structure(free_particle())
    assert found.measure.density == "(det SᵀMS)^0.5"  # of speeds; 1/√ of momenta
    assert found.chaplygin.multiplier.residual < 1e-12


@pytest.mark.parametrize(
    ("name", "answer"),
    [("vertical-disk", "yes"), ("chaplygin-sleigh", "no"), ("snakeboard", "undecided")],
)
def test_multipliers_of_the_library(name, answer):
    multiplier = ns.structure(ns.load(name)).chaplygin.multiplier
    assert multiplier.answer == answer
    if answer != "yes":
        with pytest.raises(ns.FormulationError, match="no multiplier"):
            multiplier.ratio(np.zeros(3), np.ones(3))


# obstructions and volumes


def test_a_sleigh_shrinks_volumes_beside_its_steady_motion(system_of):
    """ω̇ = −m a v ω/(I + m a²): the trace, at 1 m/s ahead, is that of the linearization."""
    system = system_of("chaplygin-sleigh")
    found = ns.structure(system.model).measure.obstruction
    assert found.speeds["sleigh.vx"] == pytest.approx(1.0) and abs(found.trace) > 0.1
    names = [s.name for s in system.kinematics.independent_speeds]
    x = np.array([*found.q.values(), *(found.speeds[n] for n in names), 0.0])  # work last
    zeros = np.zeros(len(system.inputs))
    total = 0.0
    for k, h in enumerate(1e-6 * np.eye(6)[:5]):
        rates = [system.rates(0.0, x + s * h, zeros, system.parameters())[k] for s in (1, -1)]
        total += (rates[0] - rates[1]) / 2e-6
    assert found.trace == pytest.approx(total, rel=1e-7)


def test_volumes_along_a_run_grow_by_the_determinant_of_its_sensitivities(system_of):
    system = system_of("chaplygin-sleigh")
    start = {"sleigh.vx": 0.8, "sleigh.rate": 0.9}
    run = ns.simulate(system, duration=1.5, start=start, samples=301)
    growth = ns.structure(system.model).measure.growth(run)
    x = np.concatenate([run.q[0], np.array([0.8, 0.9])])

    def end(state):
        names = ["sleigh.x", "sleigh.y", "sleigh.angle", "sleigh.vx", "sleigh.rate"]
        given = dict(zip(names, state, strict=True))
        moved = ns.simulate(system, duration=1.5, start=given, rtol=1e-12, atol=1e-13)
        return np.array([moved[name][-1] for name in names])

    slopes = [(end(x + h) - end(x - h)) / 2e-4 for h in 1e-4 * np.eye(5)]
    assert growth[-1] == pytest.approx(np.log(np.linalg.det(np.array(slopes))), rel=1e-6)


@pytest.mark.parametrize("name", ["tricycle", "sled-with-rotor"])
def test_each_missing_measure_has_its_steady_motion(name):
    found = ns.structure(ns.load(name)).measure
    assert found.answer == "no" and found.obstruction.residual < 1e-10
    assert len([x for x in found.obstruction.speeds.values() if abs(x) > 1e-9]) == 1


#: Model → where Voronets' form, Chaplygin's form and flat outputs may fail: blades across the
#: coordinate that leads, steering straight ahead or across.
LIMITS = {
    "chaplygin-sleigh": ("cos(sleigh.angle)", "sin(sleigh.angle)", ""),
    "tricycle": ("cos(frame.angle) or cos(steer.angle)", "sin(steer.angle)", "cos(steer.angle)"),
    "carriage": ("", "", ""),
}


@pytest.mark.parametrize("name", LIMITS)
def test_statements_say_where_they_may_fail(name):
    found = ns.structure(ns.load(name))
    limits = (found.voronets.limit, found.chaplygin.limit, found.flat.map.limit)
    for limit, zeros in zip(limits, LIMITS[name], strict=True):
        factors = " or ".join(f"{zero} = 0" for zero in zeros.split(" or ") if zero)
        assert limit == (f"may fail where {factors}" if factors else "at all configurations")


def test_coefficients_end_where_a_limit_says():
    """ẏ = tan φ ẋ of a blade: one over the distance to the quarter turn."""
    form = ns.structure(ns.load("chaplygin-sleigh")).voronets
    for apart in (1e-3, 1e-5):
        found = form.coefficients([0.0, 0.0, np.pi / 2 - apart])
        assert found[0, 0] * apart == pytest.approx(1.0, abs=apart)


#: Principal moments of inertia, radius and mass of bodies that only turn, and of balls that roll.
MOMENTS, RADIUS, MASS = np.array([0.5, 0.8, 1.1]), 0.5, 1.3
#: The vertical in axes of the body, and the spin about it.
VERTICAL = (
    "2*(body.qx*body.qz - body.qw*body.qy)",
    "2*(body.qy*body.qz + body.qw*body.qx)",
    "(1 - 2*body.qx^2 - 2*body.qy^2)",
)
SPIN = " + ".join(f"{g}*body.w{x}" for g, x in zip(VERTICAL, "xyz", strict=True))


def turning_body(row="", *, rolls=False, center=(0.0, 0.0, 0.0)):
    """A body about a fixed point, or a ball on a plane, with a row for its angular velocity."""
    b = ns.ModelBuilder(name="turning body", gravity=(0.0, 0.0, 0.0))
    b.body("body", mass=MASS, inertia=tuple(MOMENTS), center_of_mass=center)
    joint = ns.joints.Free() if rolls else ns.joints.Spherical()
    b.joint("body", joint, parent="world", child="body")
    if rolls:
        surface = ns.surfaces.Ball(radius=RADIUS)
        b.contact(ns.contacts.Rolling(name="floor", body="body", wheel=surface))
    if row:
        b.row(ns.rows.VelocityRow(name="row", expression=row, unit="rad/s"))
    for axis in "xy" if row == SPIN else "":
        b.independent_speed(f"body.w{axis}")
    return b.build()


def test_a_suslov_body_keeps_volume_about_its_principal_axes_alone():
    """a·ω = 0 with a fixed in the body: where a is an eigenvector of inertia [Kozlov1988]."""
    assert ns.structure(turning_body("body.wy")).measure.density == "constant"
    structure = ns.structure(turning_body("0.6*body.wx + 0.8*body.wz"))
    assert structure.measure.answer == "no"
    assert structure.voronets is None  # a quaternion carries no motion
    # ω = (0.8 s, y, −0.6 s): ṡ = 0.48 (I₃ − I₁) y s/(0.64 I₁ + 0.36 I₃)
    first, _, last = MOMENTS
    exact = 0.48 * (last - first) / (0.64 * first + 0.36 * last)
    found = structure.measure.obstruction
    assert abs(abs(found.trace) - exact) < 1e-9
    assert abs(abs(found.speeds["body.wy"]) - 1.0) < 1e-9


#: Row and whether a ball rolls → whether only motions without spin are admissible: Veselova's body
#: [VeselovVeselova1988], Chaplygin's ball [Chaplygin1903], the same without pivoting
#: [EhlersKoillerMontgomeryRios2005].
KEPT = {(SPIN, False): True, ("", True): False, (SPIN, True): True}


@pytest.mark.parametrize(("row", "rolls"), KEPT)
def test_densities_of_bodies_that_turn_and_roll(row, rolls):
    """√(γ·J⁻¹γ), or √(1 − D γ·J⁻¹γ), with D = m r² and J = I + D, along a run.

    The first is of rates across γ; of the first two components of ω, it is over the third of γ.
    """
    model = turning_body(row, rolls=rolls)
    found = ns.structure(model).measure
    assert found.density == "(det SᵀMS)^0.5"
    system = ns.compile(ns.derive(model))
    speeds = [s.name for s in system.independent_speeds]
    start = {"body.wx": 0.9, "body.wy": -0.7} | ({} if row else {"body.wz": 0.5})
    start |= {"body.qw": 0.9, "body.qx": 0.3, "body.qy": -0.2, "body.qz": 0.1}
    start |= {"body.z": RADIUS} if rolls else {}
    run = ns.simulate(system, duration=0.5, start=start, samples=401, rtol=1e-12, atol=1e-13)
    w, x, y, z = (run[f"body.q{axis}"] for axis in "wxyz")
    up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    D = MASS * RADIUS**2 if rolls else 0.0
    share = np.sum(up**2 / (MOMENTS + D)[:, None], axis=0)
    if KEPT[row, rolls]:
        assert speeds == ["body.wx", "body.wy"]
        density = np.sqrt(share) / np.abs(up[2])
    else:
        assert speeds == ["body.wx", "body.wy", "body.wz"]
        density = np.sqrt(1 - D * share)
    change = np.log(density / density[0])
    assert np.ptp(change) > 0.01  # far above the bound below
    np.testing.assert_allclose(found.growth(run), -change, atol=1e-9)


def test_a_ball_that_is_heavier_on_one_side_keeps_no_volume():
    found = ns.structure(turning_body(rolls=True, center=(0.05, 0.1, 0.08))).measure
    assert found.answer == "no"


# momenta and energies


def test_the_momenta_of_a_sleigh_change_as_their_equation_says(system_of):
    """dJ/dt by differences along a run, and by (1)."""
    system = system_of("chaplygin-sleigh")
    found = ns.structure(system.model).momenta
    assert len(found) == 2 and max(m.residual for m in found) < 1e-12
    run = ns.simulate(
        system, duration=1.0, start={"sleigh.vx": 0.8, "sleigh.rate": 0.9, "sleigh.angle": 0.5},
        samples=401, rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    for equation in found:
        J, rate = equation.momentum.along(run), equation.rate.along(run)
        slopes = CubicSpline(run.t, J)(run.t, 1)[5:-5]
        np.testing.assert_allclose(slopes, rate[5:-5], atol=1e-6 * np.max(np.abs(rate)))


def test_first_integrals_are_constant_along_runs(system_of):
    system = system_of("vertical-disk")
    found = ns.structure(system.model)
    assert [i.kind for i in found.first_integrals] == ["energy", "momentum", "momentum"]
    run = ns.simulate(system, duration=2.0, start={"fork.vx": 0.7, "fork.rate": 0.9})
    assert max(found.drifts(run).values()) < 1e-9
    pushed = ns.simulate(
        system, duration=2.0, start={"fork.vx": 0.7, "fork.rate": 0.9}, inputs={"tau_theta": "0.2"}
    )
    assert found.drifts(pushed)["energy"] > 0.01


def test_a_ball_keeps_its_spin_about_the_vertical():
    found = ns.structure(ball(spin=False))
    (equation,) = found.momenta
    assert equation.is_conserved and equation.residual < 1e-12


def test_the_moving_energy_of_a_ball_on_a_turntable():
    """E − Ω J is constant [FassoSansonetto2016], E is not."""
    model = turntable()
    found = ns.structure(model)
    moving = found.first_integrals[0]
    assert moving.kind == "moving energy"
    assert moving.name == "energy - 2 momentum of rotation about z"
    run = ns.simulate(
        ns.compile(ns.derive(model)), duration=2.0, rtol=1e-11, atol=1e-12,
        start={"ball.x": 0.7, "ball.z": 0.5, "ball.wx": 1.0, "ball.wz": 0.4},
    )  # fmt: skip
    assert moving.drift(run) < 1e-10
    energy = run.kinetic_energy + run.potential_energy
    assert np.ptp(energy) > 0.1 * np.max(energy)


def test_drag_leaves_no_energy():
    kinds = {i.kind for i in ns.structure(ns.load("lhd")).first_integrals}
    assert "energy" not in kinds
