"""A run that an input ends, which has no finite value any more, says which input and when."""

import numpy as np
import pytest

import noslip as ns
from noslip.simulation import plan_inputs
from noslip.simulation.samples import undefined_input

RK4 = {"method": "rk4", "step": 0.02}
FIX = "is there a root of a negative number or a division by zero? Pass on_failure='return'"


@pytest.fixture(scope="module")
def cart():
    """A mass of 1 kg on a slide with two forces, and a massless dial that is turned."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("dial", mass=0.0, inertia=(0.0, 0.0, 0.0))
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.joint("dial", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="block", child="dial")
    for name in ("brake", "push"):
        b.input(name, "N")
        b.force(ns.forces.Motor(name=f"{name}_motor", speed="slide.speed", input=name))
    b.speed_input("turn", "dial.rate")
    return ns.compile(ns.derive(b.build()))


def ended(system, method, **inputs):
    return ns.simulate(system, duration=3.0, inputs=inputs, on_failure="return", **method)


#: Input and what gives it → what is told, and when the last finite value is.
UNDEFINED = {
    "root": ("push", "sqrt(1.21 - t)", "nput 'push' is nan", 1.21),
    "logarithm": ("brake", "0.1*log(2.25 - t)", "nput 'brake' is", 2.25),
    # by x = t² under a push of 2 N
    "place": ("push", "2 + 1e-9*sqrt(1.0201 - slide.position)", "nput 'push' is", 1.01),
    "callable": ("push", lambda t, q, v: np.inf if t > 0.5 else 0.0, "nput 'push' is inf", 0.5),
    "speed": ("turn", "sqrt(1.5 - t)", "nput 'turn' is", 1.5),
}


@pytest.mark.parametrize("method", [{}, RK4], ids=["dop853", "rk4"])
@pytest.mark.parametrize("name", UNDEFINED)
def test_the_input_is_named_with_its_value_and_time(cart, name, method, refuses):
    which, given, told, time = UNDEFINED[name]
    run = ended(cart, method, **{which: given})
    assert not run.success
    # the last sample is before, and less than a step of rk4 away
    assert time - 3.0 / 200 - 0.02 < run.t[-1] <= time
    assert told in run.message
    seen = float(run.message.rsplit("t = ", 1)[1].removesuffix(" s."))
    assert time - 1e-8 <= seen <= time + 0.02
    with refuses(ns.SimulationError, told, "model 'cart', t = ", FIX):
        ns.simulate(cart, duration=3.0, inputs={which: given}, **method)


def test_an_input_that_is_not_finite_at_the_start(cart, refuses):
    with refuses(ns.SimulationError, "'push' is inf at t = 0 s", "model 'cart', t = 0 s", FIX):
        ns.simulate(cart, duration=3.0, inputs={"push": "1/t"})


@pytest.mark.parametrize("method", [{}, RK4], ids=["dop853", "rk4"])
def test_a_finite_input_is_not_blamed(cart, method):
    run = ended(cart, method, push=1e308)
    assert run.ending is ns.Ending.NON_FINITE and "nput" not in run.message


def test_a_callable_that_raises_ahead_of_the_end_is_not_blamed(cart):
    """It did not end the run: what a callable raises in a run is reported as such."""

    def law(t, q, v):
        if t > 1.0:
            raise ValueError("later")
        return 0.0

    none = np.zeros(0)
    plan = plan_inputs(cart, {"push": law}, none)
    assert undefined_input(cart, plan, 1.0, np.zeros(cart.num_states), 0.1, none) is None
    assert isinstance(plan.failure[0], ValueError)
