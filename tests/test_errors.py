"""Words of errors: the nearest names, and verbs that are given something else."""

import importlib
import inspect
import math
import pickle

import pytest

import noslip as ns
from noslip.base import nearest
from noslip.base.public import public_places

MANY = [f"wheel{k}" for k in range(1, 21)]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("whel1", ["wheel1", "platform"], "did you mean 'wheel1'?"),
        ("AGV", ["rolling-disk", "agv"], "did you mean 'agv'?"),
        ("zzz", ["a", "b"], "known: 'a', 'b'"),
        ("zzz", [], "there are none"),
        ("zzz", MANY[:12], "known: " + ", ".join(f"'{n}'" for n in MANY[:12])),
        ("zzz", MANY, "known: " + ", ".join(f"'{n}'" for n in MANY[:6]) + " and 14 more"),
        # those that are a little alike come first
        ("spring", ["aa", *MANY, "ring"], "did you mean 'ring'?"),
        ("ripe", [*MANY, "grip_strength"], "known: 'grip_strength', 'wheel1', "),
    ],
)
def test_the_nearest_names(name, known, hint):
    assert nearest(name, known).startswith(hint)


def test_where_all_names_are_listed():
    assert nearest("zzz", MANY, more="`noslip list` shows all").endswith(
        "and 14 more; `noslip list` shows all"
    )
    assert nearest("zzz", MANY[:3], more="never said") == "known: 'wheel1', 'wheel2', 'wheel3'"
    assert nearest("zzz", MANY[:3], total=50) == "known: 'wheel1', 'wheel2', 'wheel3' and 47 more"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ns.load(3), "load takes a name of the library or a path, got int"),
        (lambda: ns.verify("agv"), "verify takes a Model, got str"),
        (lambda: ns.evaluate(ns.load("agv"), {}), "evaluate takes a System and a state by name"),
    ],
)
def test_a_verb_that_is_given_something_else(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(words)


def public(name):
    return getattr(importlib.import_module(public_places()[name]), name)


def takes_a_system(name):
    function = public(name)
    return (
        inspect.isfunction(function) and "system" in [*inspect.signature(function).parameters][:1]
    )


@pytest.mark.parametrize("name", [name for name in public_places() if takes_a_system(name)])
def test_a_model_that_is_not_compiled(name):
    """Whatever else is given: the step that was forgotten is named first."""
    function, model = public(name), ns.load("agv")
    required = [
        p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty
    ]
    others = dict.fromkeys(required[1:])
    for thing in (model, "agv"):
        with pytest.raises(TypeError, match=f"{name} takes a System.*, got {type(thing).__name__}"):
            function(thing, **others)


def test_names_that_differ_by_case_alone():
    assert nearest("lod", ["Load", "load"]) == "did you mean 'load'?"
    assert nearest("Lod", ["load", "Load"]) == "did you mean 'Load'?"


def test_a_state_that_is_none(system_of):
    with pytest.raises(TypeError, match="by name, got System and NoneType"):
        ns.evaluate(system_of("agv"), None)


@pytest.mark.parametrize("given", [{"states": 0}, {"seed": -1}])
def test_verify_without_states(refuses, given):
    with refuses(
        ns.FormulationError, "are requested", "verify of model 'agv'", "1 to 10000 states"
    ):
        ns.verify(ns.load("agv"), **given)


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"time": math.nan}, "the time is nan s", "a number in s"),
        ({"time": "soon"}, "the time is 'soon' s", "a number in s"),
        ({"inputs": {"torque1": None}}, "input 'torque1' is None", "an expression of t"),
        ({"inputs": {"torque1": math.inf}}, "input 'torque1' is inf", "an expression of t"),
        ({"state": {"wheel1.rate": 1e308}}, "a number that is not finite here", "smaller numbers"),
    ],
)
def test_an_instant_that_is_none(system_of, refuses, given, what, fix):
    with refuses(ns.SimulationError, what, "model 'agv'", fix):
        ns.evaluate(system_of("agv"), **{"state": {}, **given})


def test_an_expression_without_a_value(system_of, refuses):
    with refuses(ns.SimulationError, "'1/0*t' has no finite value", "input 'F_v1'", "denominators"):
        ns.simulate(system_of("sled-with-rotor"), duration=1.0, inputs={"F_v1": "1/0*t"})


def test_a_change_that_only_inputs_can_be(system_of, refuses):
    with refuses(ns.SimulationError, "'m1' is given as the expression", "model", "inputs alone"):
        ns.run_scenario(system_of("sled-with-rotor"), changes={"m1": "2*t"})


SLOPES = {"with_respect_to": ["skate.vx"], "duration": 0.1, "terminal": "skate.x"}


def test_what_the_door_hands_out_is_known_by_its_name():
    assert pickle.loads(pickle.dumps(ns.simulate)) is ns.simulate
    assert [*inspect.signature(ns.simulate).parameters][:2] == ["system", "duration"]
    assert ns.simulate.__doc__ and isinstance(ns.paths.Circle(radius=1.0), ns.paths.Circle)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda system: ns.audit_batch(system, 3), "state is 3, expected a mapping from names"),
        (lambda system: ns.run_scenario(system, changes="x"), "changes is 'x', expected a mapping"),
        (lambda system: ns.save_model(system.model, 3), "path is 3, expected a text or a path"),
        (lambda _: ns.MeasuredRun(times=[0, 1], columns=3), "columns is 3, expected a mapping"),
        (lambda system: ns.gradient(system, **SLOPES, start={"skate.vx": []}), "start['skate.vx']"),
    ],
)
def test_errors_of_python_become_the_argument_that_led_to_them(call, what, system_of):
    with pytest.raises(ns.NoslipError) as caught:
        call(system_of("knife-edge"))
    assert isinstance(caught.value, TypeError) and caught.value.what.startswith(what)
    assert caught.value.where.startswith("argument of ") and caught.value.fix
