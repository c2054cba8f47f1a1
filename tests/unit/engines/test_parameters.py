"""Values of parameters that are accepted in one evaluation, against the checks of the model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_mechanisms import cart

import noslip as ns
from noslip import ModelError
from noslip.engines import trace_condition
from noslip.engines.system import check_values
from noslip.expressions import nominal as value_of
from noslip.model import model_to_toml, parse_model


def _passes(model, values):
    names = [p.name for p in model.parameters]
    try:
        check_values(model, dict(zip(names, values.tolist(), strict=True)))
    except ModelError:
        return False
    return True


def _vanishes(model, values):
    """Whether a mass or a moment of inertia becomes zero."""
    named = {p.name: x for p, x in zip(model.parameters, values.tolist(), strict=True)}
    own = [x for b in model.bodies for x in (b.mass, b.moment, *(b.inertia or ())[:3])]
    return any(isinstance(x, str) and value_of(x, named) == 0.0 for x in own)


@pytest.mark.parametrize("name", ["rolling-disk", "agv", "manipulator-6r", "lhd"])
def test_accepted_values_are_those_that_pass_the_checks(name):
    model = ns.load(name)
    condition, rng = trace_condition(model), np.random.default_rng(7)
    nominal = np.array([p.value for p in model.parameters])
    assert condition.holds(nominal)
    factors = np.array([-1.0, 0.0, 1e-60, 1e60, 0.5, 1.5, 30.0])
    outcomes = set()
    for _ in range(60):
        is_changed = rng.random(nominal.size) < min(0.2, 2.0 / nominal.size)
        values = nominal * np.where(is_changed, rng.choice(factors, nominal.size), 1.0)
        passes = _passes(model, values)
        # no model here is close to what is refused, so that both always agree; whether a freedom is
        # left without inertia is not for the condition to say
        assert condition.holds(values) == (passes and not _vanishes(model, values))
        outcomes.add(passes)
    assert outcomes == {True, False}


def _model(**parts):
    b = ns.ModelBuilder("block", gravity=(0.0, 0.0, -9.81))
    for parameter in ("a", "b", "c"):
        b.parameter(parameter, 2.0, "1")
    given = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "center_of_mass": (0.0, 0.0, 0.0), **parts}
    b.body("block", **given)
    b.joint("hinge", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="block")
    return b.build()


@pytest.mark.parametrize(
    ("parts", "values"),
    [
        ({"mass": "a - 1"}, (0.5, 2.0, 2.0)),
        ({"inertia": ("a", "b", "c")}, (2.0, -1.0, 2.0)),
        ({"inertia": (3.0, 3.0, 3.0, "a", 0.0, "b")}, (2.0, 2.5, 2.0)),
        ({"center_of_mass": ("1/(a - b + c)", 0.0, 0.0)}, (1.0, 2.0, 1.0)),
        ({"center_of_mass": ("sqrt(a - 1)", 0.0, 0.0)}, (0.0, 2.0, 2.0)),
        # undefined inside although the whole has a value
        ({"center_of_mass": ("0*log(a)", 0.0, 0.0)}, (0.0, 2.0, 2.0)),
        ({"center_of_mass": ("atan(1/a)", 0.0, 0.0)}, (0.0, 2.0, 2.0)),
        ({"center_of_mass": ("a/a", 0.0, 0.0)}, (0.0, 2.0, 2.0)),
        ({}, (np.nan, 2.0, 2.0)),
        ({}, (2.0, np.inf, 2.0)),
        ({}, (2.0, 2.0, 1e-80)),
    ],
)
def test_what_the_checks_refuse_is_not_accepted(parts, values):
    model = _model(**parts)
    condition = trace_condition(model)
    nominal = np.array([2.0, 2.0, 2.0])
    assert _passes(model, nominal) and condition.holds(nominal)
    assert not _passes(model, np.array(values))
    assert not condition.holds(np.array(values))


def test_what_is_close_is_left_to_the_checks():
    # a rod: the least moment is zero, and only the checks may say that this is allowed
    model = _model(inertia=("a", "a", 0.0, 0.0, 0.0, 0.0))
    assert _passes(model, np.array([3.0, 2.0, 2.0]))
    assert not trace_condition(model).holds(np.array([3.0, 2.0, 2.0]))


@pytest.mark.parametrize("often", [0, 20])
def test_values_without_inertia_are_refused_as_in_a_file(often):
    """However often other values were accepted before, in single runs, batches and sweeps."""
    model = cart()
    values = [replace(p, value=0.0 if p.name == "m" else p.value) for p in model.parameters]
    with pytest.raises(ns.FormulationError, match="no inertia"):
        ns.derive(replace(model, parameters=tuple(values)))
    system = ns.compile(ns.derive(model))
    for k in range(often):
        system.parameters({"m": 1.0 + k})
    with pytest.raises(ns.FormulationError, match=r"cart\.speed has no inertia"):
        ns.simulate(system, duration=0.1, parameters={"m": 0.0})
    with pytest.raises(ns.FormulationError, match="no inertia"):
        ns.simulate_batch(system, duration=0.1, parameters={"m": [1.0, 0.0]})
    # what has inertia by others may have no mass
    disk = ns.compile(ns.derive(ns.load("rolling-disk")))
    assert disk.parameters({"m": 0.0})[0] == 0.0


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_values_of_parts_are_refused_as_in_a_file(value):
    text = (Path(ns.__file__).parent / "library" / "forklift.toml").read_text("utf-8")
    with pytest.raises(ns.ModelError) as caught:
        parse_model(text.replace("value = 1800.0", f"value = {value}"))
    of_file = caught.value.faults[0]
    model, condition = ns.load("forklift"), trace_condition(ns.load("forklift"))
    again, _ = parse_model(model_to_toml(model))  # as in runs, sweeps and their workers
    assert again == model
    for given in (model, again):
        changed = given.parameter_values() | {"mass": value}
        with pytest.raises(ns.ModelError) as caught:
            check_values(given, changed)
        assert (caught.value.what, caught.value.fix) == (of_file.what, of_file.fix)
        assert caught.value.where in of_file.where
        assert not condition.holds(np.array(list(changed.values())))


def test_values_below_the_field_of_a_part_have_signs():
    b = ns.ModelBuilder("arm", gravity=(0.0, 0.0, -9.81))
    b.parameter("m", 2.0, "kg")
    link = ns.parts.ArmLink(a=0.5, mass=1.0)
    b.part(
        ns.parts.Arm(name="arm", parent="world", mass=1.0, links=(link, replace(link, mass="m")))
    )
    with pytest.raises(ns.ModelError) as caught:
        check_values(b.build(), {"m": 0.0})
    assert caught.value.where == "parts.arm.links[1].mass"
