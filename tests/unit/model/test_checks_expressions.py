"""Expressions: readable, made of known names, with a value, linear. One mistake is one fault."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, LOOP, faults, more, one_fault, swap

from noslip import IndependentSpeed, Parameter, Placement, SpeedInput
from noslip.base import members_of
from noslip.contacts import Rolling
from noslip.forces import JointDamper, Wrench
from noslip.grounds import AbstractGround, HeightGround, ParametricGround, RevolvedGround
from noslip.model import check_model
from noslip.model.schema import keys_of
from noslip.rows import PositionRow, VelocityRow
from noslip.shapes import Box
from noslip.surfaces import AbstractSurface, Ball, ParametricSurface, RevolvedSurface


def position(expression, model=CART):
    return more(model, "rows", PositionRow(name="r", expression=expression))


def velocity(expression, model=CART):
    return more(model, "rows", VelocityRow(name="r", expression=expression))


def speed(expression):
    return more(
        CART, "independent_speeds", IndependentSpeed(name="s", expression=expression, unit="m/s")
    )


def wind(*force):
    return more(CART, "forces", Wrench(name="wind", body="rod", force=force))


UNREADABLE = [
    (swap(CART, "bodies", mass="2*"), "a number, a name or '(' is expected", "bodies.rod.mass"),
    (
        swap(CART, "joints", parent_frame=Placement(position=(0.0, "__import__('os')", 0.0))),
        "joint 'swing' has parent_frame.position[1] = \"__import__('os')\", which cannot be read: "
        '"\'" at character 12 is not arithmetic',
        "joints.swing.parent_frame.position[1]",
        "write arithmetic",
    ),
    (
        swap(CART, "joints", motion={"angle": ""}),
        "joint 'swing' has motion.angle = \"\", which cannot be read: it ends where",
        "joints.swing.motion.angle",
        "write arithmetic",
    ),
    (position(""), "which cannot be read: it ends where", "rows.r.expression", "write arithmetic"),
    (
        swap(CART, "bodies", mass="+".join("a" * 1001)),
        "body 'rod' has mass = \"a+a+",
        "bodies.rod.mass",
        "write arithmetic",
    ),
]

NAMES = [
    (swap(CART, "bodies", mass="ll"), "that is not declared", "bodies.rod.mass", "you mean 'l'?"),
    (
        replace(
            CART,
            parameters=(),
            gravity=(0.0, 0.0, "G"),
            bodies=tuple(replace(b, center_of_mass=(0.0, 0.0, 0.0)) for b in CART.bodies),
        ),
        "the model has gravity[2] = \"G\", which uses 'G', a name that is not declared",
        "gravity[2]",
        "declare it as [parameters.G]",
    ),
    (swap(CART, "bodies", mass="l*t"), "mass = \"l*t\", which uses 't', time", "bodies.rod.mass"),
    (
        swap(CART, "bodies", shapes=(Box(size=("swing.angle", 1.0, 1.0)),)),
        "body 'rod' has shapes[0].size[0] = \"swing.angle\", which uses 'swing.angle', a "
        "coordinate",
        "bodies.rod.shapes[0].size[0]",
        "only parameters may be used here",
    ),
    (
        more(CART, "forces", JointDamper(name="d", speed="rail.speed", damping="rail.speed")),
        "force 'd' has damping = \"rail.speed\", which uses 'rail.speed', a speed",
        "forces.d.damping",
        "only parameters may be used here",
    ),
    (
        swap(CART, "joints", motion={"angle": "rail.position*t"}),
        "joint 'swing' has motion.angle = \"rail.position*t\", which uses 'rail.position', a "
        "coordinate",
        "joints.swing.motion.angle",
        "only parameters and t may be used here",
    ),
    (position("rail.position - rail.speed"), "uses 'rail.speed', a speed", "rows.r.expression"),
    (velocity("rail.speed - push"), "- push\", which uses 'push', an input", "rows.r.expression"),
    (position("fly.yaw_rate", FLYER), "the rate of a named angle", "rows.r.expression"),
    (speed("rail.speed*t"), "which uses 't', time", "independent_speeds[0].expression"),
    (
        more(wind("w", 0.0, 0.0), "speed_inputs", SpeedInput(name="w", speed="swing.rate")),
        "force 'wind' has force[0] = \"w\", which uses 'w', a speed input",
        "forces.wind.force[0]",
        "only parameters, inputs, coordinates, speeds, angles, rates, definitions and t may be",
    ),
    (position("pin.angle", LOOP), "a loop and has no coordinates or speeds", "rows.r.expression"),
]

VALUES = [
    (swap(CART, "bodies", mass="1/(l - 0.5)"), "has no finite value at l = 0.5", "bodies.rod.mass"),
    (swap(CART, "bodies", mass="9^9^9^9"), "which has no finite value", "bodies.rod.mass"),
    (swap(CART, "bodies", mass="sqrt(-l)"), "has no finite value at l = 0.5", "bodies.rod.mass"),
    (position("rail.position/(l - 0.5)"), "has no finite value at l = 0.5", "rows.r.expression"),
    (
        swap(CART, "joints", motion={"angle": "t*asin(3)"}),
        "joint 'swing' has motion.angle = \"t*asin(3)\", which has no finite value",
        "joints.swing.motion.angle",
        "keep denominators away from zero",
    ),
]

LINEARITY = [
    (position("l*t - 1"), "without a coordinate, so it constrains nothing", "rows.r.expression"),
    (velocity("rail.position"), "row 'r' has an expression without a speed", "rows.r.expression"),
    (velocity("rail.speed*swing.rate"), "that is not linear in the speeds", "rows.r.expression"),
    (speed("rail.speed^2"), "that is not linear in the speeds", "independent_speeds[0].expression"),
    (speed("rail.speed + l"), "a term that contains no speed", "independent_speeds[0].expression"),
    (speed("l"), "number 1 has an expression without a speed", "independent_speeds[0].expression"),
    (wind(0.0, "push*sin(push)", 0.0), "that is not linear in the inputs", "forces.wind.force[1]"),
]


@pytest.mark.parametrize("case", UNREADABLE + NAMES + VALUES + LINEARITY)
def test_an_expression_at_fault(case):
    one_fault(*case)


@pytest.mark.parametrize(
    "model",
    [
        swap(CART, "joints", motion={"angle": "sin(l*t)/t"}),
        position("rail.position/swing.angle - l*t"),
        velocity("l*sin(swing.angle)*rail.speed - swing.rate/rail.position + t"),
        speed("rail.speed + l*cos(swing.angle)*swing.rate"),
        wind("push*rail.speed^2 + t", "l/rail.position", "tanh(swing.rate)"),
        swap(CART, "bodies", center_of_mass=("max(l, pi)^2/l", 0.0, 0.0)),
    ],
)
def test_expressions_that_are_fine(model):
    assert check_model(model) == ()


def test_every_name_that_is_not_known_is_a_fault():
    found = faults(swap(CART, "bodies", mass="a + b*l"))
    assert [fault.what.split("which uses ")[1][:3] for fault in found] == ["'a'", "'b'"]


#: Grounds and surfaces with variables of their own, by the class that has them.
OWN = {
    RevolvedGround: {"ground": RevolvedGround(z="sqrt(r - 0.1[m])*rr", inner=0.15)},
    HeightGround: {"ground": HeightGround(z="log(4 + x + 2*y)")},
    ParametricGround: {
        "ground": ParametricGround(
            position=("u", "v", "1/(1000 - u)/(1000 - v)"), u_range=(-1, 1), v_range=(-1, 1)
        )
    },
    RevolvedSurface: {
        "wheel": RevolvedSurface(profile="sqrt(0.01 - z^2)", lower=-0.05, upper=0.05)
    },
    ParametricSurface: {
        "wheel": ParametricSurface(
            position=("0.1*cos(u)*cos(v)", "0.1*sin(u)*cos(v)", "0.1*sin(v)/(1000 - u)*1000"),
            u_range=(0, 6.28),
            v_range=(-1.5, 1.5),
        )
    },
}


def own_variables(cls):
    return {name for key in keys_of(cls) for name in key.meaning.own}


def test_every_ground_and_surface_with_own_variables_is_in_the_table():
    kinds = members_of(AbstractGround) + members_of(AbstractSurface)
    assert {c for c in kinds if c.__module__.startswith("noslip.") and own_variables(c)} == set(OWN)


@pytest.mark.parametrize("cls", OWN, ids=lambda cls: cls.__name__)
def test_own_variables_hide_parameters_of_the_same_name(cls):
    contact = Rolling(name="touch", body="disk", **{"wheel": Ball(radius=0.05)} | OWN[cls])
    plain = more(FLYER, "contacts", contact)
    # as a parameter each would have another unit, and a value at which nothing is defined
    hidden = [Parameter(name=n, value=1000.0, unit="kg") for n in sorted(own_variables(cls))]
    model = replace(plain, parameters=(*plain.parameters, *hidden))
    before, after = ({f.what for f in check_model(m)} for m in (plain, model))
    assert after - before == {f"parameter '{p.name}' is never used" for p in hidden}
