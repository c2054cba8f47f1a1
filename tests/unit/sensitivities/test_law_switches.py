"""Derivatives across saturation and dead zones: steps end at the switch; rounding is refused."""

import pytest
from small_mechanisms import cart

import noslip as ns
from noslip import PlantLaw
from noslip.control.reference_motion import reference_motion
from noslip.controllers import Tracking

START = {"cart.position": 0.1, "cart.speed": 0.3}
BY = ["m", "cart.position"]


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(cart()))


def law(system, period=0.0, sensors=(), **actuator):
    """The cart, led to 1 m by an actuator that is not ideal."""
    motion = ns.motions.ExpressionMotion(coordinates={"cart.position": 1.0})
    wanted = reference_motion(system, motion)
    begin = {"reference_start": wanted.start.q}
    feedback = ns.controllers.ProportionalDerivative(kp=(9.0,), kd=(6.0,))
    controller = feedback.along(system, motion, duration=4.0, parameters={}, **begin)
    tracking = Tracking(motion=motion, controller=controller, limits={}, period=0.0, **begin)
    push = ns.Actuator(of=system.model.inputs[0].name, **actuator)
    plant = ns.Plant(actuators=(push,), sensors=sensors)
    return PlantLaw(model=system, law=tracking, known=wanted.parameters, plant=plant, period=period)


CASES = {
    "saturation": {"largest": 3.0},
    "dead zone": {"dead_zone": 0.7},
    "with lag": {"largest": 3.0, "dead_zone": 0.7, "lag": 0.1, "fastest": 20.0},
    "sampled": {"largest": 3.0, "dead_zone": 0.7, "backlash": 0.2, "period": 0.05},
}


@pytest.mark.parametrize("case", CASES)
def test_forward_and_adjoint_derivatives_agree_with_differences(system, case):
    """Both come from one motion at 1e-9; the differences from motions with steps of a ms."""
    inputs = law(system, **CASES[case])
    run = {"inputs": inputs, "duration": 2.0, "rtol": 1e-9, "atol": 1e-9}
    forward = ns.simulate_sensitivities(system, with_respect_to=BY, start=START, samples=2, **run)
    adjoint = ns.gradient(system, with_respect_to=BY, terminal="cart.position", start=START, **run)

    def end(by, step):
        start = START | ({by: START[by] + step} if by in START else {})
        parameters = {} if by in START else {by: 2.0 + step}
        fine = {"rtol": 1e-12, "atol": 1e-12, "max_step": 1e-3, "samples": 2}
        found = ns.simulate(system, start=start, parameters=parameters, **run | fine)
        return found["cart.position"][-1]

    for by in BY:
        slope = float(forward["cart.position", by][-1])
        # steps that cross a switch make 5e-6 of the adjoint, or more
        assert abs(slope - adjoint[by]) < 5e-9
        # the steps of these runs do cross switches, and miss 1e-11 m there
        h = 1e-4
        assert abs(slope - (end(by, h) - end(by, -h)) / (2 * h)) < 1e-7


def test_derivatives_of_what_rounds_are_refused(system):
    sensor = ns.Sensor(of="cart.position", quantum=0.01)
    inputs = law(system, 0.05, (sensor,), largest=3.0)
    given = {"with_respect_to": BY, "start": START, "inputs": inputs, "duration": 1.0}
    for take in (
        lambda: ns.simulate_sensitivities(system, **given),
        lambda: ns.gradient(system, terminal="cart.position", **given),
    ):
        with pytest.raises(ns.SimulationError, match="the law rounds its measurements") as caught:
            take()
        assert "quantum=0" in caught.value.fix


@pytest.mark.parametrize("case", ["saturation", "dead zone"])
def test_batches_have_the_bits_of_single_calls(system, case):
    """Steps end at each motion's own switches there, too."""
    run = {"inputs": law(system, **CASES[case]), "duration": 2.0, "with_respect_to": BY}
    starts = {"cart.position": [0.1, 0.4], "cart.speed": 0.3}
    many = ns.gradient_batch(system, terminal="cart.position", start=starts, **run)
    along = ns.simulate_sensitivities_batch(system, start=starts, samples=2, **run)
    for k, place in enumerate(starts["cart.position"]):
        start = {"cart.position": place, "cart.speed": 0.3}
        one = ns.gradient(system, terminal="cart.position", start=start, **run)
        single = ns.simulate_sensitivities(system, start=start, samples=2, **run)
        for by in BY:
            assert many[by][k] == one[by]
            assert along["cart.position", by][k, -1] == single["cart.position", by][-1]
