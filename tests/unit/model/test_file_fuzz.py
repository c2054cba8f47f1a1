"""Random models come back from TOML as they were; random files raise nothing but ModelError."""

import re
from pathlib import Path

import pytest
import tomli_w
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sled_file import SLED

from noslip import (
    Body,
    ForceInput,
    IndependentSpeed,
    Joint,
    Model,
    ModelError,
    Parameter,
    Placement,
    Scenario,
    SpeedInput,
)
from noslip.contacts import KnifeEdge, Plane, Rolling
from noslip.forces import JointDamper, JointFriction, JointSpring, Motor, Spring, Wrench
from noslip.joints import Angles, Fixed, Free, Planar, Prismatic, Revolute, Spherical
from noslip.model import check_model, model_to_toml, parse_model, vocabulary
from noslip.model.schema import Kind, keys_of
from noslip.rows import PositionRow, VelocityRow
from noslip.shapes import Box, Cylinder, Ring, Sphere
from noslip.surfaces import Ball, Disk, Torus

PAGE = (Path(__file__).parents[3] / "docs" / "model-files.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]

# the same examples on every machine, however slow it is
steady = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

units = st.sampled_from(["1", "m", "kg*m^2", "N*m/(rad/s)", "1/s", "m^0.5"])
names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(-1e50, 1e50).filter(lambda x: x == 0 or abs(x) >= 1e-50)
scalars = st.one_of(finite, st.integers(-99, 99), st.sampled_from(["p", "-p/2", "p*sin(p)", "3"]))
positive = st.one_of(st.floats(1e-3, 1e3), st.integers(1, 9), st.sampled_from(["p", "2*p"]))
vectors = st.tuples(scalars, scalars, scalars)
directions = st.tuples(scalars, scalars, positive)
sequences = st.sampled_from(["xyz", "zxz", "zyx"])
placements = st.builds(Placement, position=vectors, angles=vectors, sequence=sequences)
angles = st.none() | st.builds(Angles, sequence=sequences, names=st.just(("yaw", "pitch", "roll")))
look = {"frame": placements, "color": st.sampled_from(["#000000", "#aBc123"])}
shapes = st.one_of(
    st.builds(Box, size=st.tuples(positive, positive, positive), **look),
    st.builds(Cylinder, radius=positive, length=positive, **look),
    st.builds(Sphere, radius=positive, **look),
    st.builds(Ring, radius=positive, tube_radius=positive, **look),
)
inertia = st.one_of(
    st.fixed_dictionaries({"moment": positive}),
    st.fixed_dictionaries({"inertia": st.tuples(positive, positive, positive)}),
    st.just({"inertia": (2.0, 2, "3*p", 0.5, "p/9", -0.25)}),
)
joint_types = st.one_of(
    st.just(Fixed()),
    st.builds(Revolute, axis=directions),
    st.builds(Prismatic, axis=directions),
    st.just(Planar()),
    st.builds(Spherical, angles=angles),
    st.builds(Free, angles=angles),
)
wheels = st.one_of(
    st.builds(Disk, radius=positive, axis=directions),
    st.builds(Ball, radius=positive),
    st.builds(Torus, radius=positive, tube_radius=positive, axis=directions),
)


def some(strategy):
    return st.lists(strategy, max_size=2)


def named(prefix, parts):
    """Parts from functions of a name, under names of their own."""
    return tuple(make(f"{prefix}{k}") for k, make in enumerate(parts))


def makers(part, **fields):
    """A strategy of functions that give a part from its name."""
    values = st.fixed_dictionaries(fields)
    return values.map(lambda given: lambda name: part(name=name, **given))


@st.composite
def trees(draw):
    """Bodies, and joints that carry them, close loops or prescribe motions."""
    count = draw(st.integers(1, 4))
    bodies, joints = [], []
    for k in range(count):
        more = draw(inertia)
        bodies.append(
            Body(
                name=f"b{k}",
                mass=draw(positive),
                center_of_mass=draw(vectors),
                shapes=tuple(draw(some(shapes))),
                **more,
            )
        )
        parent = draw(st.sampled_from(["world", *(b.name for b in bodies[:-1])]))
        kind = draw(joint_types)
        motion = None
        if draw(st.booleans()):
            motion = {c.name: "p*t" for c in kind.coordinates if not c.name.startswith("q")}
        joints.append(
            Joint(
                name=f"j{k}",
                parent=parent,
                child=f"b{k}",
                type=kind,
                parent_frame=draw(placements),
                child_frame=draw(placements),
                motion=motion,
                description=draw(texts),
            )
        )
    if draw(st.booleans()):
        kind = draw(joint_types)
        joints.append(Joint(name="loop", parent="world", child="b0", type=kind))
    return tuple(bodies), tuple(joints)


@st.composite
def models(draw):
    bodies, joints = draw(trees())
    model = Model(
        name=draw(names),
        gravity=draw(vectors),
        description=draw(texts),
        references=tuple(draw(some(texts))),
        parameters=(Parameter(name="p", value=0.5, unit=draw(units), description=draw(texts)),),
        bodies=bodies,
        joints=joints,
        inputs=named("u", draw(some(makers(ForceInput, unit=units, description=texts)))),
    )
    known = vocabulary(model)
    body = st.sampled_from([b.name for b in bodies])
    point = {"point": vectors}
    contacts = [
        makers(
            Rolling,
            body=body,
            wheel=wheels,
            center=vectors,
            plane=st.builds(Plane, frame=placements),
            longitudinal=st.booleans(),
            lateral=st.booleans(),
            normal=st.just(True),
        ),
        makers(KnifeEdge, body=body, direction=directions, **point),
    ]
    force = [
        makers(Wrench, body=body, force=vectors, moment=vectors, axes=st.just("body"), **point),
        makers(Spring, body=body, stiffness=scalars, rest_length=positive, damping=scalars),
    ]
    rows, speed_inputs, independent = (), (), ()
    start = {}
    if known.speeds:
        speed = st.sampled_from(known.speeds)
        coordinate = st.sampled_from(known.coordinates)
        force += [
            makers(JointSpring, coordinate=coordinate, stiffness=scalars, rest=scalars),
            makers(JointDamper, speed=speed, damping=scalars),
            makers(JointFriction, speed=speed, level=positive, smoothing=positive),
        ]
        if known.inputs:
            force.append(makers(Motor, speed=speed, input=st.sampled_from(known.inputs)))
        velocity = makers(VelocityRow, expression=speed.map(lambda v: f"p*{v} + t"), unit=units)
        position = makers(PositionRow, expression=coordinate.map(lambda q: f"{q} - p"))
        rows = named("r", draw(some(velocity | position)))
        if draw(st.booleans()):
            chosen = draw(st.lists(speed, max_size=3, unique=True))
            independent = tuple(IndependentSpeed(name=v) for v in chosen)
        else:
            expression = f"2*{draw(speed)}"
            independent = (IndependentSpeed(name="eta", expression=expression, unit="m/s"),)
        free = [v for j in known.topology.tree if j.motion is None for v in j.speed_names()]
        if free:
            given_speed = st.sampled_from(free)
            speed_inputs = named("w", draw(some(makers(SpeedInput, speed=given_speed)))[:1])
        start = draw(st.dictionaries(speed, scalars, max_size=3))
    scenario = st.builds(
        Scenario,
        duration=st.floats(0.1, 100),
        samples=st.integers(2, 1000),
        start=st.just(start),
        inputs=st.just({name: "R*s" for name in known.inputs}),
        parameters=st.just((Parameter(name="R", value=2.0, unit="m"),)),
        definitions=st.just({"s": "t/R", "a": "s^2"}),
        stop=st.dictionaries(texts, st.just("t - a"), max_size=2),
        description=texts,
    )
    return Model(
        **{
            **{key.name: getattr(model, key.name) for key in keys_of(Model)},
            "contacts": named("c", draw(some(st.one_of(contacts)))),
            "forces": named("f", draw(some(st.one_of(force)))),
            "rows": rows,
            "speed_inputs": speed_inputs,
            "independent_speeds": independent,
            "scenario": draw(st.none() | scenario),
        }
    )


@pytest.mark.slow
@steady
@given(models())
def test_a_random_model_comes_back_as_it_was(model):
    try:
        check_model(model)
    except ModelError:
        # an inertia or an expression happened to have no meaning at these numbers
        assume(False)
    text = model_to_toml(model)
    again, _ = parse_model(text)
    assert again == model
    assert model_to_toml(again) == model_to_toml(parse_model(text)[0])


lines = st.integers(0, EXAMPLE.count("\n") - 1)
values = ["true", "-1", '"x"', "[]", "{}", "nan", '"1/0"', "1979-05-27", "[[1]]", "", '"', '"é^("']


@steady
@given(st.lists(st.tuples(lines, st.sampled_from(["cut", "twice", *values])), max_size=6))
def test_a_damaged_file_is_read_or_refused(edits):
    text = EXAMPLE.split("\n")
    for line, edit in edits:
        if edit == "cut":
            text[line] = ""
        elif edit == "twice":
            text[line] += "\n" + text[line]
        else:
            text[line] = text[line].split("=")[0] + "= " + edit
    read_or_refused("\n".join(text))


@steady
@given(st.text(max_size=200))
@example("\x00")
@example("[" * 100)
@example(SLED + "'\\ud800' = 1")
def test_any_text_is_read_or_refused(text):
    read_or_refused(text)


def _table_of(part, anything):
    """Tables with the keys of a part and values of any kind, right ones among them."""
    fields = {}
    for key in keys_of(part):
        value = anything
        if key.kind in (Kind.PART, Kind.NAMED, Kind.LIST) and part is not Angles:
            inner = st.one_of([_table_of(p, anything) for p in key.parts])
            value |= {
                Kind.PART: inner,
                Kind.NAMED: st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
                Kind.LIST: st.lists(inner, max_size=2),
            }[key.kind]
        fields[key.name] = value
    word = st.sampled_from(["revolute", "free", "rolling", "disk", "motor", "wrench", "velocity"])
    return st.fixed_dictionaries({}, optional={**fields, "type": word})


plain = st.one_of(
    st.booleans(), st.integers(-2, 2), st.sampled_from(["a", "a.angle", "t", "world"])
)
anything = st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(st.just("a"), plain))


@steady
@given(_table_of(Model, anything))
@pytest.mark.slow
def test_any_table_is_read_or_refused(table):
    read_or_refused(tomli_w.dumps({"format": 1, **table}))


def read_or_refused(text):
    try:
        model, _ = parse_model(text)
    except ModelError as error:
        assert error.faults
        for fault in error.faults:
            assert fault.what and fault.where and fault.fix
    else:
        assert parse_model(model_to_toml(model))[0] == model


@pytest.mark.parametrize("word", ["eval", "exec", "sympify", "__import__", "pickle"])
def test_nothing_that_runs_code_is_called(word):
    import noslip.model.files

    folder = Path(noslip.model.files.__file__).parent
    for source in folder.glob("*.py"):
        assert not re.search(rf"\b{word}\(", source.read_text(encoding="utf-8")), source.name
