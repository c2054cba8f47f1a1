"""Controllability, symmetries, measures and flat outputs, against the literature and runs."""

from functools import cache

import brackets
import casadi as ca
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from test_constraints_and_brackets import ball, unicycle_with_trailers

import noslip as ns


def planar_body(*inputs):
    """A body in the plane: a force ahead, one across it beside the mass center, a moment."""
    b = ns.ModelBuilder(name="planar body", gravity=(0.0, 0.0, 0.0))
    b.body("body", mass=2.0, inertia=(0.1, 0.1, 0.4))
    b.joint("base", ns.joints.Planar(), parent="world", child="body")
    given = {
        "ahead": {"force": ("ahead", 0.0, 0.0)},
        "across": {"force": (0.0, "across", 0.0), "point": (-0.3, 0.0, 0.0)},
        "turning": {"moment": (0.0, 0.0, "turning")},
    }
    for name in inputs:
        b.input(name, "N*m" if name == "turning" else "N")
        b.force(ns.forces.Wrench(name=f"{name}_force", body="body", axes="body", **given[name]))
    return b.build()


#: Inputs → accessible, controllable from rest, kinematically controllable [LewisMurray1997,
#: BulloLynch2001].
PLANAR_BODY = {
    ("ahead", "across"): ("yes", "yes", "yes"),
    ("ahead", "turning"): ("yes", "yes", "yes"),
    ("across", "turning"): ("yes", "undecided", "undecided"),
    ("ahead",): ("no", "no", "undecided"),
    ("across",): ("yes", "no", "undecided"),
}


@pytest.mark.parametrize("inputs", PLANAR_BODY)
def test_the_planar_body_of_lewis_and_murray(inputs):
    found = ns.controllability(planar_body(*inputs))
    answers = (found.accessible.answer, found.controllable.answer, found.by_decoupling.answer)
    assert answers == PLANAR_BODY[inputs]
    assert found.dimension == 3


def test_a_bad_product_is_named():
    found = ns.controllability(planar_body("across", "turning"))
    assert found.controllable.reason.startswith("⟨across : across⟩ is bad")
    assert found.decoupling == ("turning",)


def test_a_vehicle_is_controllable_on_the_leaves_of_its_integrals():
    found = ns.controllability(ns.load("agv"))
    assert found.controllable and found.dimension == 6
    assert found.decoupling == ("torque1", "torque2")
    assert "1 integral of the constraints cannot change" in found.kinematic.reason
    assert found.kinematic.answer == "no"
    assert ns.controllability(ns.load("chaplygin-sleigh")).kinematic.answer == "yes"


def test_given_speeds_in_constraints_leave_open_what_speeds_reach():
    """A blade on a belt that runs: Chow's theorem is for motions without drift."""
    b = ns.ModelBuilder(name="belt", gravity=(0.0, 0.0, 0.0))
    b.body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    b.row(ns.rows.VelocityRow(name="belt", expression="cart.vy - 0.5", unit="m/s"))
    found = ns.controllability(b.build())
    assert found.kinematic.answer == "undecided"


def test_what_the_theorems_do_not_say_is_undecided():
    answer = ns.controllability(ns.load("snakeboard")).controllable
    assert answer.answer == "undecided" and "given speeds" in answer.reason
    answer = ns.controllability(ns.load("rattleback")).controllable
    assert answer.answer == "undecided" and "no force input" in answer.reason
    with pytest.raises(ns.FormulationError, match="degree is 0"):
        ns.controllability(ns.load("agv"), degree=0)


#: Model → whether a density of the configuration is kept, and where that is known from: the sleigh
#: gathers at its steady motions; disk and ball keep volume [FedorovGarciaNaranjoMarrero2015].
MEASURES = {"chaplygin-sleigh": "no", "rolling-disk": "yes", "vertical-disk": "yes"}


@pytest.mark.parametrize("name", MEASURES)
def test_invariant_measures(name):
    assert ns.structure(ns.load(name)).measure.answer == MEASURES[name]


def test_volume_is_kept_where_the_density_is_constant(system_of):
    """The divergence of the flow, by differences of the rates themselves."""
    system = system_of("rolling-disk")
    assert ns.structure(system.model).measure.density == "constant"
    start = ns.complete_start(
        system, {"disk.tilt": 1.1, "disk.wx": 0.4, "disk.wy": 2.0, "disk.wz": -0.7}
    )
    x = np.concatenate([start.q, start.eta])
    given = (0.0, np.zeros(len(system.inputs)), system.parameters())
    slopes = [
        (
            system.rates(given[0], x + h, *given[1:])[k]
            - system.rates(given[0], x - h, *given[1:])[k]
        )
        / 2e-6
        for k, h in enumerate(1e-6 * np.eye(len(x)))
    ]
    assert abs(sum(slopes)) < 1e-7


def test_momentum_of_a_symmetry_is_constant_along_a_run(system_of):
    system = system_of("snakeboard")
    found = {s.name: s for s in ns.structure(system.model).symmetries}
    rotor = found["rotor.angle"]
    assert rotor.is_conserved and rotor.inputs == ("rotor.torque",)
    run = ns.simulate(
        system,
        duration=2.0,
        start={"board.vx": 0.5, "rotor.rate": 1.0},
        inputs={"front.steering_rate": "0.3*cos(t)", "back.steering_rate": "-0.3*cos(t)"},
    )
    values = rotor.along(run)
    assert np.ptp(values) < 1e-8 * np.max(np.abs(values))
    assert np.ptp(run["rotor.rate"]) > 1e-3


def test_symmetries_of_a_sleigh_are_the_motions_of_its_plane():
    found = ns.structure(ns.load("chaplygin-sleigh"))
    names = [s.name for s in found.symmetries]
    assert names == ["displacement along x", "displacement along y", "rotation about z"]
    # two of the three motions are admissible combinations; one displacement alone is transversal
    assert found.admissible == 2 and found.chaplygin.group == ("displacement along x",)


def test_gravity_leaves_the_symmetries_about_the_vertical():
    names = {s.name for s in ns.structure(ball(spin=False)).symmetries}
    assert {"displacement along x", "displacement along y", "rotation about z"} <= names
    assert not {"displacement along z", "rotation about x"} & names


@cache
def structure_of(name):
    """A model, or a unicycle with so many trailers, and its structure, found once."""
    model = unicycle_with_trailers(name) if isinstance(name, int) else ns.load(name)
    return model, ns.structure(model)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_last_axle_is_the_flat_output(count):
    """[MartinRouchon1994]"""
    flat = structure_of(count)[1].flat
    assert flat.answer == "yes" and flat.flag == tuple(range(2, count + 4))
    assert flat.points[0] == (f"axle{count}" if count else "axle")
    assert all(f"axle{k}" not in flat.points for k in range(1, count))


def flat_map(name):
    model, structure = structure_of(name)
    return model, structure.flat.map


@pytest.mark.parametrize("name", ["tricycle", "agv", "ackermann-car", 0, 1, 2])
def test_flat_outputs_tell_configuration_and_inputs_and_back(name, rng):
    _, flat = flat_map(name)
    assert flat.residual < 1e-12
    for _ in range(5):
        q = np.where(np.arange(len(flat.coordinates)) < 3, 2.0, 0.5) * rng.normal(
            size=len(flat.coordinates)
        )
        q[3:] = np.clip(q[3:], -1.0, 1.0)
        if name == "ackermann-car":  # its linkage leaves no choice
            q = flat.configuration([*rng.normal(size=3), 0.2 * rng.normal()])
        assert flat.configuration(flat.values(q), near=q) == pytest.approx(q, abs=1e-10)
        found = flat.configuration(flat.values(q))  # from the rest: up to whole turns
        assert np.sin(found - q)[2:] == pytest.approx(0.0, abs=1e-10)
        inputs = rng.normal(size=2)
        derivatives = flat.derivatives(q, inputs)
        ways = [flat.motion(derivatives, backward=b, near=q) for b in (False, True)]
        errors = [np.max(np.abs([*(w.q - q), *(w.inputs - inputs)])) for w in ways]
        assert min(errors) < 1e-10


def test_curvature_of_flat_outputs_by_hand():
    _, tricycle = flat_map("tricycle")
    x, y, heading, curvature = tricycle.values([0.3, -0.2, 0.7, 0.4])
    wheelbase = ns.load("tricycle").parameter_values()["ell"]
    assert (x, y, heading) == pytest.approx((0.3, -0.2, 0.7))
    assert curvature == pytest.approx(np.tan(0.4) / wheelbase, rel=1e-12)
    _, trailer = flat_map(1)  # 1 m behind the axle of what pulls it
    x, y, heading, curvature = trailer.values([0.0, 0.0, 0.2, 0.5])
    assert heading == pytest.approx(0.7)
    assert (x, y) == pytest.approx((-np.cos(0.7), -np.sin(0.7)))
    assert curvature == pytest.approx(np.tan(-0.5), rel=1e-12)


@pytest.mark.parametrize("name", [1, 2])
def test_inputs_of_flat_outputs_drive_along_their_curve(name):
    """Rates of the compiled system, integrated, against the inverse at the end."""
    model, flat = flat_map(name)
    system = ns.compile(ns.derive(model))
    x, y = np.polynomial.Polynomial([0, 1.0, 0.1, 0.05]), np.polynomial.Polynomial([0, 0, 0, 0.2])

    def at(t, near=None):
        rows = [[p.deriv(k)(t) if k else p(t) for p in (x, y)] for k in range(flat.dimension)]
        return flat.motion(rows, near=near)

    n, params = len(flat.coordinates), system.parameters()
    begin = at(0.0).q

    def rate(t, q):
        eta = at(t, q).inputs
        return system.rates(t, np.concatenate([q, eta]), np.zeros(len(system.inputs)), params)[:n]

    run = solve_ivp(rate, (0.0, 1.2), begin, rtol=1e-11, atol=1e-11)
    assert run.y[:, -1] == pytest.approx(at(1.2, run.y[:, -1]).q, abs=1e-8)
    assert np.max(np.abs(run.y[3:, -1])) > 0.1


def test_track_leads_the_last_axle_as_flat_outputs_tell():
    """Hinges of two trailers along an eight: by `track`, and by curvature and its derivative."""
    model = unicycle_with_trailers(2, driven=True)
    system = ns.compile(ns.derive(model))
    path = "figure-eight:half_width=8,half_height=5"
    flat = ns.structure(model).flat.map
    assert flat.point == "axle2"
    fine = ns.track(system, path, follower="trailer2", duration=20.0, samples=2001)
    x, y = np.array([flat.values(q)[:2] for q in fine.q]).T
    first, second = (np.array([CubicSpline(fine.t, z)(fine.t, k) for z in (x, y)]) for k in (1, 2))
    bend = (first[0] * second[1] - first[1] * second[0]) / np.hypot(*first) ** 3
    for k in (400, 900, 1500):
        values = flat.values(fine.q[k])
        assert values[3] == pytest.approx(bend[k], rel=1e-4, abs=1e-5)
        np.testing.assert_allclose(flat.configuration(values), fine.q[k], atol=1e-9)


def test_what_flat_outputs_cannot_tell_is_refused():
    _, flat = flat_map(1)
    with pytest.raises(ns.FormulationError, match="stand still"):
        flat.motion(np.zeros((4, 2)))
    with pytest.raises(ns.FormulationError, match="give 4 rows"):
        flat.motion(np.ones((2, 2)))
    with pytest.raises(ns.FormulationError, match="give 4 finite numbers"):
        flat.configuration([0.0, 0.0])


def test_two_trailers_have_chaplygin_form():
    found = ns.structure(unicycle_with_trailers(2))
    assert found.is_chaplygin and found.shape == ("hitch1.angle", "hitch2.angle")
    assert found.orbit == 3 and found.freedom == 2


@pytest.mark.parametrize(
    "name, wheels, left_out",
    [
        ("differential-robot", "left and right", "caster.swivel.angle"),
        ("agv", "wheel1 and wheel2", "bracket.angle"),
        ("ackermann-car", "rear.left and rear.right", "rear.left.angle"),
    ],
)
def test_the_middle_of_the_driven_wheels_is_the_flat_output(name, wheels, left_out):
    """Casters follow: their rates depend on their own angles alone."""
    flat = ns.structure(ns.load(name)).flat
    assert flat.answer == "yes" and f"the middle of {wheels}" in flat.points
    assert left_out in flat.without


#: Model → hinge ahead of the first axle and second axle behind it, m; heading, bend and its rate.
ARTICULATED = {
    "lhd-noslip": (-1.7, 1.7, "front.angle", "waist.angle"),
    "roller-racer": (0.7, 0.15, "seat.angle", "steer.angle"),
}


@pytest.mark.parametrize("name", ARTICULATED)
def test_vehicles_that_bend_are_flat_without_a_point_of_theirs(name):
    """(2, 3, 4) by SymPy too: Engel's normal form is the chained one, and no more is claimed."""
    flat = ns.structure(ns.load(name)).flat
    assert flat.answer == "yes" and flat.flag == (2, 3, 4) and not flat.points and flat.map is None
    ahead, behind, heading, bend = ARTICULATED[name]
    fields, q = brackets.articulated(ahead, behind)
    half = [sp.Rational(1, 3), sp.Rational(2, 5), sp.Rational(1, 4), sp.Rational(3, 7)]
    assert brackets.growth(fields, q, [2 * sp.atan(x) for x in half], 3) == (2, 3, 4)
    # the fields are those of the model
    kin = ns.derive(ns.load(name)).kinematics
    names = [c.name for c in kin.coordinates]
    given = [kin.symbols.q, kin.eta, kin.symbols.w, kin.symbols.params]
    moving = ca.Function("rates", given, [ca.mtimes(kin.N, kin.v)])
    values = np.zeros(len(names))
    values[names.index(heading)], values[names.index(bend)] = 0.3, 0.4
    speeds = ([0.8, 0.5], []) if name == "lhd-noslip" else ([0.8], [0.5])
    rates = np.array(moving(values, *speeds, kin.probe.params)).ravel()
    at = dict(zip(q, (0, 0, 0.3, 0.4), strict=True))
    expected = [float((0.8 * fields[0] + 0.5 * fields[1])[k].subs(at)) for k in range(4)]
    places = [0, 1, names.index(heading), names.index(bend)]
    assert rates[places] == pytest.approx(expected, rel=1e-12)


def test_trailers_that_are_not_flat_are_not_called_flat():
    """Three trailers with hitches behind their axles: not flat, but their truck is."""
    flat = ns.structure(ns.load("truck-trailers")).flat
    assert flat.answer == "no" and "without" in flat.reason and not flat.points


def test_pages_have_statements_certificates_and_a_loop():
    page = ns.results.GeometryPage.of(ns.load("chaplygin-sleigh"))
    html = page.text("html")
    assert "<math" in html and "<svg" in html and "<script" not in html
    assert "(2, 3)" in html and "Chow and Rashevskii" in html
    assert "<svg" not in page.text("markdown") and "tabular" in page.text("latex")
    loop = page.distribution.loop(size=0.5)
    assert f"{loop.displacement[1]:.4g}" in page.text("text")
