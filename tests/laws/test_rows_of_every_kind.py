"""Geometry of rows by the dozen: against brackets by SymPy, along runs, and beside their limits."""

import brackets
import casadi as ca
import numpy as np
import pytest
import sympy as sp
from test_constraints_and_brackets import planar

import noslip as ns
from noslip.geometry.reachable import Connection, Product, _accessible, _products

x, y, z, w, u, t = sp.symbols("x y z w u t")
dx, dy, dz, dw, du = RATES = sp.symbols("dx dy dz dw du")
PLACES = dict(zip(RATES, (x, y, z, w, u), strict=True))


def coordinates(rows):
    """The coordinates that rows name, by themselves or by their rates."""
    there = set().union(*(row.free_symbols for row in rows))
    return sp.Matrix([q for rate, q in PLACES.items() if {rate, q} & there])


def sliders(*rows, beside=(), driven=()):
    """Carriages on rails of their own, with rows on their speeds; some speeds are inputs."""
    b = ns.ModelBuilder(name="sliders", gravity=(0.0, 0.0, 0.0))
    words = {t: t}
    for q in [*coordinates(rows), *beside]:
        name = str(q)
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(name, ns.joints.Prismatic(axis=(1.0, 0, 0)), parent="world", child=name)
        words |= {q: sp.Symbol(f"{name}.position"), sp.Symbol(f"d{name}"): f"{name}.speed"}
    for q in driven:
        b.speed_input(f"given_{q}", f"{q}.speed")
    for k, row in enumerate(rows):
        written = {a: sp.Symbol(str(b)) for a, b in words.items()}
        b.row(
            ns.rows.VelocityRow(name=f"row{k}", expression=str(row.xreplace(written)), unit="m/s")
        )
    return b.build()


def by_sympy(rows, deepest, point=None):
    """Growth vector of what rows leave, from their null space."""
    q = coordinates(rows)[::-1, :]  # solved for the last ones
    A = sp.Matrix([[sp.diff(row, sp.Symbol(f"d{k}")) for k in q] for row in rows])
    generic = [sp.Rational(2 * k + 3, 7) for k in range(len(q))]
    return brackets.growth(A.nullspace(), q, point or generic, deepest)


area = (x * dy - y * dx) / 2
#: Rows → growth vector, and how many combinations integrate.
ROWS = {
    (dz - area,): ((2, 3), 0),  # Heisenberg
    (dz - y**2 * dx / 2,): ((2, 3), 0),  # Martinet
    (dz - y * dx, dw - z * dx): ((2, 3, 4), 0),  # Engel
    (dz - y * dx, dw - z * dx, du - w * dx): ((2, 3, 4, 5), 0),  # Goursat
    (dz - area, dw - x * area, du - y * area): ((2, 3, 5), 0),  # Cartan
    (dz - y * dx - w * dy,): ((3, 4), 0),
    (dz - y * dx / 10**9,): ((2, 3), 0),  # small, and more than rounding
    (dz - y * dx / 10**13,): ((2, 3), 0),
    (dz - (y + y**2 / 10**10) * dx - x * dy,): ((2, 3), 0),
    (dz - (y + x / 10**7) * dx - x * dy,): ((2,), 1),
    (dx - 2 * dy + 3 * dz,): ((2,), 1),
    (y * z * dx + x * z * dy + x * y * dz,): ((2,), 1),
    (dz - y * dx, 2 * (1 + x**2) * (dz - y * dx)): ((2, 3), 0),  # redundant
    (dz - y * dx, w * (dz - y * dx) + dw - 2 * w * dx): ((2, 3), 1),  # a combination that varies
    (dz - 2 * x * dx, dy - 3 * dx): ((1,), 2),
}


@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_rows_have_the_brackets_of_sympy(rows):
    vector, count = ROWS[rows]
    found = ns.distribution(sliders(*rows))
    assert found.growth.vector == vector and len(found.integrals) == count
    assert by_sympy(rows, len(vector)) == vector
    assert found.growth.gap > 1e6


#: Row → growth vector where y = 0.
SINGULAR = {
    dz - y**2 * dx / 2: (2, 2, 3),
    dz - y**3 * dx: (2, 2, 2, 3),
    dz - (y**2 + y / 10**6) * dx: (2, 3),
}


@pytest.mark.parametrize("row", SINGULAR, ids=str)
def test_rows_grow_more_slowly_where_they_are_singular(row):
    found = ns.distribution(sliders(row), at={"y.position": 0.0})
    assert found.growth.vector == (2, 3) and found.growth_there.vector == SINGULAR[row]
    assert by_sympy([row], len(SINGULAR[row]), [1, 0, 1]) == SINGULAR[row]


def test_hitches_behind_axles_by_a_thousandth_of_a_millimeter_count():
    """(2, 3, 5) where hitches are off the axles, however little; (2, 3, 4, 5) on them."""
    for off, vector in ((0.0, (2, 3, 4, 5)), (1e-6, (2, 3, 5)), (0.3, (2, 3, 5))):
        b = planar()
        b.contact(ns.contacts.KnifeEdge(name="axle", body="tractor", direction=(1.0, 0.0, 0.0)))
        previous, hitch = "tractor", -off
        for k in (1, 2):
            body, at = f"trailer{k}", ns.Placement(position=(hitch, 0.0, 0.0))
            b.body(body, mass=1.0, inertia=(0.1, 0.1, 0.1))
            hinge = ns.joints.Revolute(axis=(0.0, 0.0, 1.0))
            b.joint(f"hitch{k}", hinge, parent=previous, child=body, parent_frame=at)
            given = {"point": (-1.0, 0.0, 0.0), "direction": (1.0, 0.0, 0.0)}
            b.contact(ns.contacts.KnifeEdge(name=f"axle{k}", body=body, **given))
            previous, hitch = body, -1.0 - off
        assert ns.distribution(b.build()).growth.vector == vector


# rows that move by themselves, or change with time: row → its integral


TIMED = {
    dx - y: None,
    dx - sp.Rational(1, 2): "x.position - 0.5 t = constant",
    dx + dy - sp.sin(t): "x.position + y.position + cos(t) = constant",
    sp.cos(t) * dx + sp.sin(t) * dy: None,
    dx - t * dy: None,
    t * dx + x + dy: "t*x.position + y.position = constant",
}


@pytest.mark.parametrize("row", TIMED, ids=str)
def test_time_is_a_coordinate_of_what_integrates(row):
    """By Frobenius with SymPy: ω ∧ dω of ω = A dq + a dt; and by a run."""
    model = sliders(row, beside=[z])
    found = ns.distribution(model)
    q = [*coordinates([row]), t]
    rates = [sp.Symbol(f"d{k}") for k in q[:-1]]
    form = [sp.diff(row, r) for r in rates] + [row.subs(dict.fromkeys(rates, 0))]
    integrates = len(q) < 3 or 0 == sp.simplify(
        sum(
            form[i] * (sp.diff(form[k], q[j]) - sp.diff(form[j], q[k]))
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        )
    )
    assert found.is_holonomic == integrates == (TIMED[row] is not None)
    if integrates:
        (integral,) = found.integrals
        assert integral.text() == TIMED[row]
        run = ns.simulate(ns.compile(ns.derive(model)), duration=1.5, rtol=1e-11, atol=1e-12)
        change = integral.difference(run.q[0], run.q[-1], times=(0.0, 1.5))
        assert change == pytest.approx(0.0, abs=1e-9)


def test_rows_that_change_with_time_leave_statements_open():
    """A blade that is turned: an energy, and nothing that holds at one time alone."""
    model = sliders(sp.cos(t) * dx + sp.sin(t) * dy)
    assert "t = 0.1217" in ns.distribution(model).text()
    assert ns.controllability(model).kinematic.answer == "undecided"
    found = ns.structure(model)
    assert not found.symmetries and found.measure.answer == found.flat.answer == "undecided"
    run = ns.simulate(ns.compile(ns.derive(model)), duration=2.0, start={"y.speed": 0.7})
    assert list(found.drifts(run)) == ["energy"] and found.drifts(run)["energy"] < 1e-7
    assert np.ptp(run["y.speed"]) > 0.1


def test_what_is_pushed_by_time_keeps_no_energy():
    """ẋ = sin t by a row, which works; the momentum of what is beside it is kept."""
    model = sliders(dx - sp.sin(t), beside=[y])
    found = ns.structure(model)
    assert [i.kind for i in found.first_integrals] == ["momentum"]
    run = ns.simulate(ns.compile(ns.derive(model)), duration=2.0, start={"y.speed": 0.7})
    assert np.ptp(run.kinetic_energy) > 0.1 and max(found.drifts(run).values()) < 1e-9


def test_two_blades_at_an_angle_leave_a_circle():
    """One motion is left, and both rows integrate, along leaves that are helices."""
    b = planar("blades")
    for k, angle in enumerate((0.0, 0.3)):
        way = (float(np.cos(angle)), float(np.sin(angle)), 0.0)
        b.contact(
            ns.contacts.KnifeEdge(
                name=f"blade{k}", body="tractor", point=(float(k), 0.0, 0.0), direction=way
            )
        )
    found = ns.distribution(b.build())
    assert found.growth.vector == (1,) and found.is_holonomic
    # by hand: turned about the point where the normals of both meet, by an angle a
    place, turned = np.array([0.2, -0.4, 0.3]), 0.5
    middle = np.array([0.0, 1.0 / np.tan(0.3)])
    R = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in (0.3, 0.3 + turned)]
    centre = place[:2] + R[0] @ middle
    moved = np.array([*(centre - R[1] @ middle), place[2] + turned])
    for integral in found.integrals:
        assert integral.residual < 1e-10
        assert integral.difference(place, moved) == pytest.approx(0.0, abs=1e-9)


def test_a_way_that_never_ends_is_not_followed():
    """x y z eˣ: the rest position is singular, and ways to it would take ever smaller steps."""
    row = (y * z * dx + x * z * dy + x * y * dz) * sp.exp(x)
    (integral,) = ns.distribution(sliders(row)).integrals
    assert integral.kind == "leaf" and integral.residual < 1e-9
    first = np.array([-0.5, -0.4, -0.7])
    assert integral.difference(first, first * [2.0, 0.5, 1.0]) == pytest.approx(0.0, abs=1e-9)
    assert abs(integral.difference(first, first * [1.0, 1.1, 1.0])) > 1e-3
    with pytest.raises(ns.FormulationError, match="way to the reference"):
        integral.difference(first, -first)


def test_balls_of_equal_size_that_do_not_twist_are_holonomic():
    """Rolling without twist integrates where both surfaces have the same curvature."""
    for radius, vector in ((0.5, (2,)), (1.5, (2, 3, 5)), (0.6, (2, 3, 5))):
        b = ns.ModelBuilder(name="balls", gravity=(0.0, 0.0, 0.0))
        b.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint("ball", ns.joints.Free(), parent="world", child="ball")
        ground = ns.grounds.SphereGround(radius=radius)
        surface = ns.surfaces.Ball(radius=0.5)
        b.contact(
            ns.contacts.Rolling(name="on", body="ball", wheel=surface, ground=ground, spin=True)
        )
        found = ns.distribution(b.build())
        assert found.growth.vector == vector and found.is_holonomic == (vector == (2,))


def test_parameters_that_are_set_hold_in_the_configurations_looked_at():
    b = ns.ModelBuilder(name="crank", gravity=(0.0, 0.0, 0.0))
    b.parameter("rod", 2.0, "m")
    for name, joint in {
        "crank": ns.joints.Revolute(axis=(0.0, 0.0, 1.0)),
        "slider": ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)),
    }.items():
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(name, joint, parent="world", child=name)
    across = "(slider.position - cos(crank.angle))**2 + sin(crank.angle)**2 - rod**2"
    b.row(ns.rows.PositionRow(name="rod", expression=across, unit="m^2"))
    for rod in (2.0, 3.0):
        chart = ns.distribution(b.build(), parameters={"rod": rod}).frame.chart
        for _, (a, s) in chart.samples:
            assert (s - np.cos(a)) ** 2 + np.sin(a) ** 2 == pytest.approx(rod**2, abs=1e-9)


def test_what_is_left_out_does_not_change_what_integrates():
    found = ns.distribution(ns.load("carriage"), without=["wheel1", "wheel2"])
    assert found.growth.vector == (2, 3) and found.dimension == 3
    assert found.sentence() == ns.distribution(ns.load("carriage")).sentence()


# momenta and forces


def test_a_speed_that_is_imposed_leaves_no_momentum_along_it():
    """A cart whose speed is an input, beside one that nothing moves."""
    found = ns.structure(sliders(beside=[x, y], driven=[x]))
    assert not any(s.is_conserved for s in found.symmetries)
    (equation,) = found.momenta  # of y: displacing both, less displacing x
    assert equation.is_conserved
    given = {"inputs": {"given_x": "sin(t)"}, "start": {"y.speed": 0.7}}
    run = ns.simulate(
        ns.compile(ns.derive(sliders(beside=[x, y], driven=[x]))), duration=2.0, **given
    )
    assert np.ptp(equation.momentum.along(run)) < 1e-9


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_weight_along_the_group_leaves_the_multiplier_open(slope):
    """The particle of ż = y ẋ, with weight along z, which the group moves."""
    b = ns.ModelBuilder(name="particle", gravity=(0.0, 0.0, -9.81 * slope))
    parent = "world"
    for name, axis in {"x": (1.0, 0, 0), "y": (0, 1.0, 0), "z": (0, 0, 1.0)}.items():
        is_last = name == "z"
        b.body(name, mass=float(is_last), inertia=(0.1,) * 3 if is_last else (0.0,) * 3)
        b.joint(name, ns.joints.Prismatic(axis=axis), parent=parent, child=name)
        parent = name
    row = "z.speed - y.position*x.speed"
    b.row(ns.rows.VelocityRow(name="row", expression=row, unit="m/s"))
    multiplier = ns.structure(b.build()).chaplygin.multiplier
    assert multiplier.answer == ("yes" if slope == 0.0 else "undecided")
    assert slope == 0.0 or "work along" in multiplier.reason


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e3])
def test_statements_do_not_depend_on_the_size_of_a_mechanism(size):
    """A body with a blade, not round: masses grow like the cube, inertias like the fifth power."""
    b = ns.ModelBuilder(name="sleigh", gravity=(0.0, 0.0, -9.81))
    b.body(
        "sleigh",
        mass=size**3,
        center_of_mass=(0.2 * size, 0.1 * size, 0.0),
        inertia=(0.1 * size**5,) * 3,
    )
    b.joint("base", ns.joints.Planar(), parent="world", child="sleigh")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sleigh", direction=(1.0, 0.0, 0.0)))
    model = b.build()
    found = ns.structure(model)
    assert ns.distribution(model).growth.vector == (2, 3)
    assert [s.name for s in found.symmetries] == [
        "displacement along x",
        "displacement along y",
        "rotation about z",
    ]
    assert found.measure.answer == "no" and found.admissible == 2


def test_products_of_higher_degree_are_looked_at_where_a_degree_vanishes():
    """∇ with e₁∘e₁ = e₂, e₁∘e₂ = 0, e₂∘e₂ = e₃: of degree three all vanish, of four not all."""
    frame = ns.distribution(sliders(beside=[x, y, z])).frame
    eta = ca.SX.sym("eta", 3)
    force = Product("push", ca.SX([1, 0, 0]), (1,))
    connection = Connection(
        chart=frame.chart,
        frame=frame.generators,
        eta=eta,
        geodesic=-ca.vertcat(0, eta[0] ** 2, eta[1] ** 2),
        inputs=(force,),
    )
    products, is_closed = _products(connection, 5)
    accessible, _ = _accessible(connection, products, 3, is_closed)
    assert accessible.answer == "yes" and max(p.degree for p in products) == 4


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_drag_is_left_out_of_measures_and_leaves_multipliers_open(damping):
    b = planar("sled")
    b.contact(ns.contacts.KnifeEdge(name="axle", body="tractor", direction=(1.0, 0.0, 0.0)))
    if damping:
        b.force(ns.forces.JointDamper(name="drag", speed="base.rate", damping=damping))
    found = ns.structure(b.build())
    assert found.measure.answer == "yes"
    assert ("left out" in found.measure.reason) == (damping > 0.0)
    assert found.chaplygin.multiplier.answer == ("undecided" if damping else "yes")
