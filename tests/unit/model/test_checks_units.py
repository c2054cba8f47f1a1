"""Units of a model: unreadable ones are faults, and dimensions that certainly do not fit."""

import math
from dataclasses import replace

import pytest
from cart_model import CART, FLYER, RIM, faults, more, parameter, swap

import noslip as ns
from noslip import ForceInput, IndependentSpeed, Scenario
from noslip.expressions import nominal, read_unit
from noslip.expressions.arithmetic import UNITS
from noslip.forces import JointDamper, JointFriction, JointSpring, Motor, Spring, Tire, Wrench
from noslip.model import check_model, dimension
from noslip.model.checks import find_faults
from noslip.rows import PositionRow, VelocityRow
from noslip.surfaces import Ball, Torus

# names by their units
WITH_UNITS = {
    "m": "kg", "r": "m", "w": "rad/s", "a": "rad", "k": "N/m", "c": "N*s/m", "T": "s", "mu": "1",
    "F": "N", "M": "N*m",
}  # fmt: skip
KNOWN = replace(
    CART, parameters=(*CART.parameters, *(parameter(n, 0.7, u) for n, u in WITH_UNITS.items()))
)


def said_of(model):
    """What is found, without that of parameters nothing uses."""
    return [f for f in find_faults(model) if "is never used" not in f.what]


@pytest.mark.parametrize(
    ("model", "whose"),
    [
        (more(CART, "parameters", parameter("d", unit="meters")), "parameter 'd'"),
        (more(CART, "inputs", ForceInput(name="d", unit="meters")), "input 'd'"),
        (
            more(CART, "rows", VelocityRow(name="d", expression="rail.speed", unit="meters")),
            "row 'd'",
        ),
        (
            more(CART, "rows", PositionRow(name="d", expression="rail.position", unit="meters")),
            "row 'd'",
        ),
        (
            more(
                CART,
                "independent_speeds",
                IndependentSpeed(name="d", expression="rail.speed", unit="meters"),
            ),
            "independent speed number 1",
        ),
        (
            replace(
                CART, scenario=Scenario(duration=1.0, parameters=(parameter("d", unit="meters"),))
            ),
            "scenario parameter 'd'",
        ),
    ],
)
def test_a_unit_that_is_none_is_a_fault(model, whose):
    (fault,) = faults(model)
    assert fault.what == f"{whose} has unit \"meters\": 'meters' is not a known unit"
    assert fault.fix == "known are kg, m, s, A, K, rad, Hz, N, Pa, J, W, C, V, ohm and 1"
    assert fault.where.endswith("unit")


def force(**given):
    """One more force and what it should have said of it."""
    kind = given.pop("kind")
    return more(KNOWN, "forces", kind(name="f", **given))


SPRING = {"kind": Spring, "body": "rod", "stiffness": 1.0, "rest_length": 1.0}
TIRE = {"kind": Tire, "body": "cart", "direction": (1.0, 0.0, 0.0), "stiffness": 1.0, "v0": 0.1}
WRENCH = {"kind": Wrench, "body": "rod"}
AT_RAIL, AT_SWING = {"speed": "rail.speed"}, {"speed": "swing.rate"}
FLOATING = replace(FLYER, parameters=KNOWN.parameters)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (replace(KNOWN, gravity=(0.0, 0.0, "-r")), "which is in m, expected m/s^2"),
        (swap(KNOWN, "bodies", mass="r"), "mass = \"r\", which is in m, expected kg"),
        (swap(KNOWN, "bodies", mass="mu"), "which is in 1, expected kg"),
        (swap(KNOWN, "bodies", mass="k"), "which is in kg/s^2, expected kg"),
        (swap(KNOWN, "bodies", inertia=(1.0, 1.0, "m*r/2")), "is in kg*m, expected kg*m^2"),
        (swap(KNOWN, "bodies", 0, inertia=None, moment="m*r^3"), "is in kg*m^3, expected kg*m^2"),
        (swap(KNOWN, "bodies", center_of_mass=(0.0, "r^2", 0.0)), "is in m^2, expected m"),
        (swap(KNOWN, "joints", parent_frame=ns.Placement(position=("w", 0.0, 0.0))), "1/s, exp"),
        (swap(KNOWN, "joints", parent_frame=ns.Placement(angles=("r", 0.0, 0.0))), "expected rad"),
        (swap(KNOWN, "bodies", shapes=(ns.shapes.Sphere(radius="m"),)), "is in kg, expected m"),
        (more(FLOATING, "contacts", replace(RIM, wheel=Ball(radius="m"))), "is in kg, expected m"),
        (
            more(
                FLOATING,
                "contacts",
                replace(RIM, wheel=Torus(radius=1.0, tube_radius="m", axis=(0.0, 0.0, 1.0))),
            ),
            "is in kg, expected m",
        ),
        (force(**{**SPRING, "stiffness": "c"}), "is in kg/s, expected N/m (kg/s^2)"),
        (force(**{**SPRING, "damping": "k"}), "expected N*s/m (kg/s)"),
        (force(**{**SPRING, "rest_length": "m"}), "is in kg, expected m"),
        (force(**{**TIRE, "stiffness": "k"}), "expected N/rad (kg*m/s^2)"),
        (force(**{**TIRE, "v0": "w"}), "is in 1/s, expected m/s"),
        (force(**{**TIRE, "maximum": "k"}), "expected N (kg*m/s^2)"),
        (force(**WRENCH, force=("M", 0.0, 0.0)), "is in kg*m^2/s^2, expected N"),
        (force(**WRENCH, moment=("push", 0.0, 0.0)), "is in kg*m/s^2, expected N*m"),
        (force(kind=JointSpring, coordinate="swing.angle", stiffness="k"), "expected N*m/rad"),
        (force(kind=JointSpring, coordinate="rail.position", stiffness="c"), "expected N/m"),
        (force(kind=JointSpring, coordinate="rail.position", stiffness=1.0, rest="m"), "in kg"),
        (force(kind=JointDamper, **AT_RAIL, damping="k"), "expected N*s/m"),
        (force(kind=JointDamper, **AT_SWING, damping="c"), "expected N*m*s/rad"),
        (force(kind=JointFriction, **AT_RAIL, level="M", smoothing=0.1), "expected N (kg*m"),
        (force(kind=JointFriction, **AT_SWING, level=1.0, smoothing="r"), "expected rad/s"),
        (swap(KNOWN, "forces", speed="swing.rate"), "with input 'push' in N, expected N*m"),
        (
            replace(KNOWN, scenario=Scenario(duration=1.0, start={"rail.position": "2*m"})),
            "start.\"rail.position\" = \"2*m\", which is in kg, expected m",
        ),
        (
            replace(KNOWN, scenario=Scenario(duration=1.0, inputs={"push": "m*r"})),
            "inputs.push = \"m*r\", which is in kg*m, expected N",
        ),
        (
            replace(FLOATING, scenario=Scenario(duration=1.0, start={"fly.yaw_rate": "a"})),
            "which is in 1, expected rad/s (1/s)",
        ),
        # parts that do not go together, whatever the field
        (swap(KNOWN, "bodies", mass="m + r"), "which adds kg and m"),
        (swap(KNOWN, "bodies", mass="3 + m - mu"), "which adds kg and 1"),
        (swap(KNOWN, "bodies", mass="max(m, r)"), "which compares in max kg and m"),
        (swap(KNOWN, "bodies", mass="m*sin(r)"), "which takes sin of a quantity in m"),
        (swap(KNOWN, "bodies", mass="m*atan2(r, m)"), "which compares in atan2 m and kg"),
    ],
)  # fmt: skip
def test_a_dimension_that_does_not_fit_is_found(model, said):
    (finding,) = said_of(model)
    assert said in finding.what


@pytest.mark.parametrize(
    ("mass", "is_certain"),
    [
        ("r", True), ("m*r^2/T^2", True), ("m + r", True), ("m*sin(r)", True), ("pi*r^3", True),
        ("0.4[m]", True), ("max(m, r) + 2[kg]", True), ("sqrt(r)", True),
        # 2 may be kg/m, mu declared without its unit, 0.3 in kg
        ("2*r", False), ("mu*r", False), ("m + r*0.5", False), ("mu", False), ("r/3", False),
        ("m*sin(2*r)", False), ("m + r + 0.3", False),
    ],
)  # fmt: skip
def test_a_misfit_is_a_fault_where_no_number_can_hide_a_unit(mass, is_certain):
    (finding,) = said_of(swap(KNOWN, "bodies", mass=mass))
    assert finding.warning != is_certain


def test_misfits_are_told_with_all_other_faults():
    model = swap(KNOWN, "bodies", mass="r", center_of_mass=("nothing", "m", 0.0))
    model = swap(model, "forces", speed="swing.rate")
    with pytest.raises(ns.ModelError) as caught:
        check_model(model)
    said = [fault.what for fault in caught.value.faults]
    for words in ("which is in m, expected kg", "which is in kg, expected m", "'nothing'",
                  "drives 'swing.rate' with input 'push' in N, expected N*m"):  # fmt: skip
        assert any(words in what for what in said), words


@pytest.mark.parametrize(
    "model",
    [
        swap(KNOWN, "bodies", mass="m + 0.5", inertia=("m*r^2/2", "0.4*m*r**2", "0.3*m*r^2")),
        # a number may have any unit: of 2.5 kg, of 0.3 m
        swap(KNOWN, "bodies", mass="2.5*mu", center_of_mass=("0.3*cos(a)", "sin(a)", "r*sin(a)")),
        swap(KNOWN, "bodies", mass="2.5*mu + m", center_of_mass=("sqrt(r^2 + 0.1)", 0.0, 0.0)),
        swap(KNOWN, "bodies", center_of_mass=("r*(2 + mu)^1.5", "r*sign(m)", "abs(-r)")),
        swap(KNOWN, "bodies", inertia=("k*T^2*r*r", "M*T^2", "F*r*T^2")),
        swap(KNOWN, "joints", parent_frame=ns.Placement(angles=("w*T", "atan2(r, r)", "a/mu"))),
        force(**WRENCH, force=("-50*rail.position", "F*sin(2*t)", "push*(1 + rail.speed)")),
        force(**WRENCH, force=("k*r", "M/r", "c*r/T"), moment=("push*r", "F*r*cos(a)", 0.0)),
        force(kind=JointSpring, coordinate="swing.angle", stiffness="k*r^2", rest="a"),
        force(kind=JointDamper, **AT_RAIL, damping="c + k*T"),
        more(FLOATING, "forces", JointSpring(name="f", coordinate="fly.qw", stiffness="k")),
        replace(KNOWN, scenario=Scenario(duration=1.0, start={"rail.position": "r*cos(t)"})),
    ],
)
def test_expressions_that_fit(model):
    assert said_of(model) == []


def test_an_unreadable_unit_says_nothing_of_expressions():
    model = swap(more(CART, "parameters", parameter("d", unit="meters")), "bodies", mass="d")
    assert [fault.where for fault in faults(model)] == ["parameters.d.unit"]
    model = swap(more(CART, "inputs", ForceInput(name="d", unit="lb")), "forces", input="d")
    assert [f.path for f in find_faults(model) if "d" in f.path] == [("inputs", "d", "unit")]
    model = swap(CART, "bodies", mass="1 +")
    assert [fault.where for fault in faults(model)] == ["bodies.rod.mass"]


@pytest.mark.parametrize("name", ns.MODELS)
def test_units_of_the_library_fit(name):
    said = [w.what for w in check_model(ns.load(name))]
    assert not [what for what in said if "expected" in what or "adds" in what or "takes" in what]


@pytest.mark.parametrize(
    "text",
    [
        "m*r^2/2", "k*r - F", "sqrt(M/m)*T", "r/T*m*2.5", "F/(k*r)*M^2/m^0.5", "max(k*r, F)",
        "abs(-F)*r*sin(w*T)", "c*w*r^2 + M", "(m*w^2/k)^3*F", "m*sin(a)*sqrt(F*r + M)/T",
    ],
)  # fmt: skip
def test_dimensions_and_changes_of_units(text):
    """In units that are s times as small a quantity has s^n times the number, n its dimension."""
    scope = {name: read_unit(unit) for name, unit in WITH_UNITS.items()}
    found = dimension(text, scope)
    at = {name: 0.3 + 0.1 * k for k, name in enumerate(WITH_UNITS)}
    for base, power in zip(("kg", "m", "s"), found, strict=False):
        k = list(UNITS).index(base)
        other = {name: x * 3.0 ** scope[name][k] for name, x in at.items()}
        assert nominal(text, other) == pytest.approx(nominal(text, at) * 3.0**power, rel=1e-12)
    assert found[3:] == (0.0, 0.0) and all(math.isfinite(n) for n in found)


def test_a_motor_of_its_own_input_is_fine():
    model = more(CART, "inputs", ForceInput(name="turn", unit="N*m"))
    model = more(model, "forces", Motor(name="turner", speed="swing.rate", input="turn"))
    assert said_of(model) == []


def test_an_unknown_unit_is_one_fault_whatever_uses_what_has_it():
    """An expression cannot be compared with a unit that cannot be read."""
    wrong = replace(
        CART,
        inputs=(ForceInput(name="push", unit="Nm"),),
        parameters=(*CART.parameters, parameter("k", 1.0, "N*m/rad")),
        forces=(Motor(name="motor", input="push", speed="rail.speed"),),
        scenario=Scenario(duration=1.0, inputs={"push": "2*k"}),
    )
    found = [f for f in find_faults(wrong) if not f.warning]
    assert [f.path[:2] for f in found] == [("inputs", "push")]
