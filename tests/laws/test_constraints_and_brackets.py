"""What integrates and what brackets reach, against the literature and brackets by SymPy."""

from math import pi

import brackets
import numpy as np
import pytest
import sympy as sp

import noslip as ns
from mechanisms import MECHANISMS
from noslip import distribution


def planar(name="planar"):
    b = ns.ModelBuilder(name=name, gravity=(0.0, 0.0, 0.0))
    b.body("tractor", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("base", ns.joints.Planar(), parent="world", child="tractor")
    return b


def unicycle_with_trailers(count, *, driven=False):
    b = planar(f"{count} trailers")
    if driven:
        b.input("push", "N")
        b.input("turn", "N*m")
        given = {"force": ("push", 0.0, 0.0), "moment": (0.0, 0.0, "turn")}
        b.force(ns.forces.Wrench(name="drive", body="tractor", axes="body", **given))
    b.contact(ns.contacts.KnifeEdge(name="axle", body="tractor", direction=(1.0, 0.0, 0.0)))
    previous, hitch = "tractor", (0.0, 0.0, 0.0)
    for k in range(1, count + 1):
        body = f"trailer{k}"
        b.body(body, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(
            f"hitch{k}",
            ns.joints.Revolute(axis=(0.0, 0.0, 1.0)),
            parent=previous,
            child=body,
            parent_frame=ns.Placement(position=hitch),
        )
        b.contact(
            ns.contacts.KnifeEdge(
                name=f"axle{k}", body=body, point=(-1.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0)
            )
        )
        previous, hitch = body, (-1.0, 0.0, 0.0)
    return b.build()


def ball(*, spin):
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    surface = ns.surfaces.Ball(radius=0.5)
    b.contact(ns.contacts.Rolling(name="floor", body="ball", wheel=surface, spin=spin))
    return b.build()


@pytest.fixture
def angles():
    """Angles whose sines and cosines are rational, so that SymPy's ranks are exact."""

    def of(count):
        return [2 * sp.atan(sp.Rational(k + 1, k + 4)) for k in range(count)]

    return of


WITHOUT_WHEELS = {
    "tricycle": ((2, 3, 4), brackets.car),
    "rolling-disk": ((3, 4, 5), brackets.disk),
    "chaplygin-sleigh": ((2, 3), brackets.unicycle),
    "tractor-trailer": ((2, 3, 4, 5), None),
}


@pytest.mark.parametrize("name", WITHOUT_WHEELS)
def test_growth_vectors_of_the_library(name, angles):
    vector, oracle = WITHOUT_WHEELS[name]
    found = distribution(ns.load(name))
    assert found.growth.vector == vector
    assert found.is_bracket_generating and not found.integrals
    assert found.growth.gap > 1e6
    if oracle is not None:
        fields, q = oracle()
        assert brackets.growth(fields, q, angles(len(q)), len(vector)) == vector


def test_snakeboard_in_both_conventions(angles):
    model = ns.load("snakeboard")
    assert distribution(model).growth.vector == (4, 6, 8)
    found = distribution(model, without=["front.angle", "back.angle"])
    assert found.growth.vector == (4, 6) and found.dimension == 6
    fields, q = brackets.snakeboard()
    assert brackets.growth(fields, q, angles(6), 2) == (4, 6)


def test_carriage_has_one_integral_and_a_smaller_world():
    found = distribution(ns.load("carriage"))
    assert (found.dimension, found.growth.vector) == (5, (2, 3, 4))
    (integral,) = found.integrals
    assert integral.kind == "linear" and found.num_nonholonomic == 2
    model = ns.load("carriage")
    names = integral.coefficients
    # both wheels roll: 2 a θ̇ = r (φ̇₁ − φ̇₂) up to the order of the wheels
    share = names["wheel1.angle"] / names["carriage.angle"]
    assert names["wheel2.angle"] == pytest.approx(-names["wheel1.angle"], rel=1e-12)
    system = ns.compile(ns.derive(model))
    run = ns.run_scenario(system, duration=2.0)
    value = run["carriage.angle"] + share * (run["wheel1.angle"] - run["wheel2.angle"])
    assert np.ptp(value) < 1e-9 and np.ptp(run["carriage.angle"]) > 1e-3
    assert integral.difference(run.q[0], run.q[-1]) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ns.FormulationError, match="give all coordinates"):
        integral.difference(run.q[0][:2], run.q[-1][:2])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_trailers_have_degree_n_plus_2(count, angles):
    found = distribution(unicycle_with_trailers(count))
    assert found.growth.vector == tuple(range(2, count + 4))
    assert found.growth.degree == count + 2
    if count < 3:
        fields, q = brackets.trailers(count)
        assert brackets.growth(fields, q, angles(len(q)), count + 2) == found.growth.vector


def test_two_trailers_where_the_tractor_is_perpendicular():
    """Degree F(n + 3), the Fibonacci number, and (2, 3, 4, 4, 5) [Jean1996]."""
    model = unicycle_with_trailers(2)
    there = distribution(model, at={"hitch1.angle": pi / 2}).growth_there
    assert there.vector == (2, 3, 4, 4, 5)
    assert distribution(model, at={"hitch2.angle": pi / 2}).growth_there.vector == (2, 3, 4, 5)
    fields, q = brackets.trailers(2)
    point = [0, 0, 2 * sp.atan(sp.Rational(1, 3)), sp.pi / 2, 2 * sp.atan(sp.Rational(2, 5))]
    assert brackets.growth(fields, q, point, 5) == (2, 3, 4, 4, 5)


@pytest.mark.long
def test_three_trailers_have_degree_8_where_all_are_perpendicular():
    model = unicycle_with_trailers(3)
    at = {f"hitch{k}.angle": pi / 2 for k in (1, 2, 3)}
    assert distribution(model, at=at).growth_there.degree == 8


def test_rolling_ball_with_and_without_pivoting():
    assert distribution(ball(spin=False)).growth.vector == (3, 5)
    assert distribution(ball(spin=True)).growth.vector == (2, 3, 5)


def test_a_velocity_row_that_integrates_is_holonomic():
    b = ns.ModelBuilder(name="rack", gravity=(0.0, 0.0, 0.0))
    for name in ("cart", "wheel"):
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    b.joint("wheel", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="cart", child="wheel")
    b.row(ns.rows.VelocityRow(name="rolls", expression="cart.speed - 0.3*wheel.rate", unit="m/s"))
    found = distribution(b.build())
    assert found.is_holonomic and found.num_nonholonomic == 0
    assert found.integrals[0].text() == "cart.position - 0.3 wheel.angle = constant"
    assert "holonomic after all" in found.sentence()


def test_a_row_that_integrates_to_a_curve():
    """d(x² + sin a)/dt: exact, with coefficients that vary."""
    b = ns.ModelBuilder(name="curve", gravity=(0.0, 0.0, 0.0))
    for name in ("cart", "wheel"):
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    b.joint("wheel", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="cart", child="wheel")
    b.row(
        ns.rows.VelocityRow(
            name="curve",
            expression="2*cart.position*cart.speed + cos(wheel.angle)*wheel.rate",
            unit="m/s",
        )
    )
    (integral,) = distribution(b.build()).integrals
    assert integral.kind == "exact"
    first, second = np.array([0.4, 0.3]), np.array([0.7, 1.1])
    expected = (0.7**2 + np.sin(1.1)) - (0.4**2 + np.sin(0.3))
    assert integral.difference(first, second) == pytest.approx(expected, rel=1e-12)


def test_a_row_that_integrates_with_a_factor_has_a_value_on_its_leaf():
    """dx + x da, which is closed after a factor exp(a) alone: x exp(a) is constant."""
    b = ns.ModelBuilder(name="factor", gravity=(0.0, 0.0, 0.0))
    for name in ("cart", "wheel"):
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    b.joint("wheel", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="cart", child="wheel")
    row = "cart.speed + cart.position*wheel.rate"
    b.row(ns.rows.VelocityRow(name="factor", expression=row, unit="m/s"))
    (integral,) = distribution(b.build()).integrals
    assert integral.kind == "leaf" and integral.residual < 1e-9
    assert integral.coordinate == "cart.position" and integral.transversal == {"wheel.angle": 0.0}
    expected = 0.7 * np.exp(1.1) - 0.4 * np.exp(0.3)
    found = integral.difference(np.array([0.4, 0.3]), np.array([0.7, 1.1]))
    assert found == pytest.approx(expected, rel=1e-9)


def test_mechanisms_without_rows_or_freedom():
    arm = distribution(ns.load("manipulator-2r"))
    assert arm.growth.vector == (2,) and "every motion" in arm.sentence()
    linkage = distribution(MECHANISMS["four-bar"]())
    assert linkage.growth.vector == (linkage.dimension,) and "holonomic" in linkage.sentence()
    b = ns.ModelBuilder(name="stuck", gravity=(0.0, 0.0, 0.0))
    b.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("hinge", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="arm")
    b.row(ns.rows.VelocityRow(name="brake", expression="hinge.rate", unit="rad/s"))
    stuck = distribution(b.build())
    assert stuck.growth.vector == (0,) and stuck.sentence() == "no freedom: nothing can move"
    assert stuck.integrals[0].text() == "hinge.angle = constant"
    with pytest.raises(ns.FormulationError, match="cannot move"):
        ns.structure(b.build())
    page = ns.results.GeometryPage.of(b.build())
    assert page.controllability is None and "No freedom" in page.text("html")


def test_hills_leave_no_combination_of_wheels_that_integrates():
    """Wheels of an axle on hills turn by ways of different lengths; on the plane by the heading."""
    found = distribution(ns.load("vehicle-on-hills"))
    assert found.is_bracket_generating and found.growth.vector == (2, 3, 5, 7)
    assert not found.integrals


def test_what_cannot_be_asked_is_named():
    model = ns.load("tricycle")
    with pytest.raises(ns.FormulationError, match="other motions depend on it"):
        distribution(model, without=["steer.angle"])
    with pytest.raises(ns.FormulationError, match="no coordinate 'wheel'"):
        distribution(model, without=["wheel"])
    with pytest.raises(ns.FormulationError, match="is a speed"):
        distribution(model, at={"steer.rate": 1.0})
    with pytest.raises(ns.FormulationError, match="still grow at depth 2"):
        distribution(model, deepest=2)


@pytest.mark.parametrize("name", ["chaplygin-sleigh", "tricycle", "carriage"])
def test_loops_of_motions_leave_their_brackets(name):
    """Relative to ε^k times the bracket, what is left beside it falls at least like ε."""
    found = distribution(ns.load(name))
    for bracket in (b for level in found.growth.brackets[1:] for b in level):
        coarse, fine = (found.loop(bracket, size=size) for size in (0.02, 0.01))
        assert len(fine.legs) == 3 * 2 ** (fine.depth - 1) - 2
        assert fine.deviation < 0.01 and fine.deviation < 0.52 * coarse.deviation
        # motions in pairs, forward and back
        for motion in found.generators:
            assert sum(sign for other, sign in fine.legs if other == motion) == 0


def test_a_loop_of_a_sleigh_by_hand():
    """Forward, turn, back, turn back: (ε − ε cos ε, −ε sin ε)."""
    loop = distribution(ns.load("chaplygin-sleigh")).loop(size=0.3)
    assert loop.legs[:2] == (("sleigh.vx", 1), ("sleigh.rate", 1))
    expected = [0.3 - 0.3 * np.cos(0.3), -0.3 * np.sin(0.3), 0.0]
    np.testing.assert_allclose(loop.displacement, expected, atol=1e-9)
    np.testing.assert_allclose(loop.expected, [0.0, -0.09, 0.0], atol=1e-12)
    np.testing.assert_allclose(loop.track("sleigh")[-1], expected, atol=1e-9)


def test_loops_that_cannot_be_driven_are_named():
    found = distribution(ns.load("chaplygin-sleigh"))
    with pytest.raises(ns.FormulationError, match=r"there is no bracket '\[a, b\]'"):
        found.loop("[a, b]")
    with pytest.raises(ns.FormulationError, match="size is"):
        found.loop(size=-1.0)
    with pytest.raises(ns.FormulationError, match="no bracket leads out"):
        distribution(ns.load("manipulator-2r")).loop()
