"""The default run of a model. A case makes one mistake, which is one fault."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, LOOP, more, one_fault, parameter

from noslip import Fault, IndependentSpeed, ModelError, Scenario, SpeedInput
from noslip.model import check_model


def run(model=CART, **changes):
    return replace(model, scenario=Scenario(**{"duration": 1.0, **changes}))


CASES = [
    (run(duration=0.0), "the scenario has duration 0 s, expected more than 0", "scenario.duration"),
    (run(samples=1), "sample, expected 2 or more", "scenario.samples", "count both ends,"),
    (run(samples=10**12), "1000000000000 samples, expected 10000000 or fewer", "scenario.samples"),
    (run(start={"rail.positon": 1.0}),
     "the scenario refers to coordinate or speed 'rail.positon', which is not declared",
     'scenario.start."rail.positon"', "did you mean 'rail.position'"),
    (run(LOOP, start={"pin.angle": 1.0}), "no coordinates or speeds", 'scenario.start."pin.angle"'),
    (run(inputs={"pull": 1.0}), "which is not declared", "scenario.inputs.pull", "known: 'push'"),
    (run(motion={"rail.speed": "t"}),
     "the scenario refers to coordinate 'rail.speed', which is a speed",
     'scenario.motion."rail.speed"', "known: 'rail.position', 'swing.angle'"),
    (run(FLYER, motion={"fly.yaw": "t"}),
     "the scenario refers to coordinate 'fly.yaw', which is a named angle",
     'scenario.motion."fly.yaw"', "did you mean 'fly.y'"),
    (run(motion={"rail.position": "t"}, inputs={"push": 1.0}),
     "the scenario gives both inputs and a motion, from which inputs would follow",
     "scenario.motion", "keep scenario.inputs or scenario.motion"),
    (run(FLYER, start={"fly.yaw": 1.0, "fly.qx": 0.5}), "'fly.qx' and 'fly.yaw'", "scenario.start"),
    (run(parameters=(parameter("R"), parameter("R")), inputs={"push": "R"}),
     "2 scenario parameters are called 'R'", "scenario.parameters.R", "give each its own name"),
    (run(parameters=(parameter("l"),)), "of a parameter of the model", "scenario.parameters.l"),
    (run(parameters=(parameter("push"),)), "has the name of an input", "scenario.parameters.push"),
    (run(parameters=(parameter("R"),), definitions={"R": "t"}),
     "definition 'R' has the name of a scenario parameter", "scenario.definitions.R",
     "rename one of them"),
    (run(parameters=(parameter("a b"),)), "expressions cannot use", 'scenario.parameters."a b"'),
    (run(definitions={"a-b": "t"}), "name that expressions cannot use", "scenario.definitions.a-b"),
    (run(definitions={"t": "1"}), "name that means time in expressions", "scenario.definitions.t"),
    (run(parameters=(parameter("sin"),)), "a function in expressions", "scenario.parameters.sin"),
    (run(definitions={"a": "2*b", "b": "t"}, inputs={"push": "a"}),
     "the scenario has definitions.a = \"2*b\", which uses 'b', which is defined only later",
     "scenario.definitions.a", "list the definition of 'b' before this one"),
    (run(definitions={"a": "2*a"}, inputs={"push": "a"}),
     "the scenario has definitions.a = \"2*a\", which uses 'a', a name that is not declared",
     "scenario.definitions.a", "known: 'g', 'l', 't'"),
    (
        run(definitions={"a": "rail.position"}),
        "the scenario has definitions.a = \"rail.position\", which uses 'rail.position', a "
        "coordinate",
        "scenario.definitions.a",
        "only parameters, definitions and t may be used here",
    ),
    (run(definitions={"a": "b"}, start={"rail.position": "2*a"}),
     "the scenario has definitions.a = \"b\", which uses 'b', a name that is not declared",
     "scenario.definitions.a", "known: 'g', 'l', 't'"),
    (run(inputs={"push": "2 +"}), "which cannot be read: it ends where", "scenario.inputs.push"),
    (run(inputs={"push": "t/(l - 0.5)"}), "has no finite value at l = 0.5", "scenario.inputs.push"),
    (
        run(stop={"fallen": "swing.tilt - 1"}),
        "the scenario has stop.fallen = \"swing.tilt - 1\", which uses 'swing.tilt', a name that "
        "is not declared",
        "scenario.stop.fallen",
        "did you mean 'swing.rate' or 'swing.angle'?",
    ),
    (run(start={"rail.position": "a"}, definitions={"a": "log(t)"}),
     'the scenario has start."rail.position" = "a", which has no finite value at t = 0',
     'scenario.start."rail.position"', "write an expression that has a value at the start"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_scenario_at_fault(case):
    one_fault(*case)


@pytest.mark.parametrize(
    "model",
    [
        run(),
        run(
            parameters=(parameter("R", unit="1/m"),),
            definitions={"s": "t/R", "turn": "2*pi*s^3"},
            start={"rail.position": "turn", "swing.rate": -1, "swing.angle": "l*R"},
            inputs={"push": "sin(turn)/t"},
            stop={"too far": "rail.position - 2*R", "too fast": "abs(rail.speed) - s"},
        ),
        run(motion={"rail.position": "l*t", "swing.angle": 0.5}),
        run(FLYER, start={"fly.yaw": 0.1, "fly.spin_rate": -8, "fly.x": 1, "fly.vz": 0}),
        run(FLYER, motion={"fly.x": "t"}),
        run(
            more(
                CART,
                "independent_speeds",
                IndependentSpeed(name="forward", expression="2*rail.speed"),
            ),
            start={"forward": 1},
        ),
        run(
            more(CART, "speed_inputs", SpeedInput(name="w", speed="swing.rate")),
            inputs={"w": "sin(t)", "push": 1},
        ),
    ],
)
def test_scenarios_that_are_fine(model):
    assert check_model(model) == ()


def test_what_a_scenario_declares_and_never_uses_is_a_warning():
    model = run(parameters=(parameter("R"),), definitions={"a": "t"})
    fix = "use it in an expression, or remove it"
    assert check_model(model) == (
        Fault("scenario parameter 'R' is never used", "scenario.parameters.R", fix),
        Fault("definition 'a' is never used", "scenario.definitions.a", fix),
    )


@pytest.mark.parametrize("name", ["agv", "rolling-disk", "tractor-trailer", "vehicle-on-hills"])
def test_outputs_may_use_every_constraint_force_that_a_run_knows(name, system_of):
    """All names of `reaction_values`, and none beside them."""
    from noslip.simulation.expressions import reaction_values

    system = system_of(name)
    names = list(reaction_values(system))
    outputs = {f"o{k}": f"2*{name}" for k, name in enumerate(names)}
    check_model(run(system.model, outputs=outputs))
    with pytest.raises(ModelError, match="not declared"):
        check_model(run(system.model, outputs={"o": "reaction.none.lateral"}))


def test_outputs_may_use_the_forces_of_a_loop():
    check_model(run(LOOP, outputs={"o": "reaction.pin.shift_x"}))
