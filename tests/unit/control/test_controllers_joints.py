"""Laws for joints, computed torque and PD, against their equations; laws of your own; gains."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.controllers import (
    ComputedTorque,
    CustomController,
    PoseTracking,
    ProportionalDerivative,
    Tracking,
)
from noslip.motions import ExpressionMotion
from noslip.paths import Circle
from noslip.timing import ConstantSpeed


def at_rest(system, **coordinates):
    """A set point as a motion, and its configuration."""
    places = {name.replace("__", "."): value for name, value in coordinates.items()}
    motion = ExpressionMotion(coordinates={n: float(x) for n, x in places.items()})
    q = np.array([places[c.name] for c in system.coordinates])
    return motion, q


def test_computed_torque_error_obeys_its_linear_equation(arm):
    """ë + kd ė + kp e = 0 exactly, along a moving reference."""
    motion = ExpressionMotion(
        coordinates={"joint1.angle": "0.3 + 0.5*sin(t)", "joint2.angle": "0.9 - 0.4*cos(2*t)"}
    )
    law = Tracking(
        motion=motion,
        controller=ComputedTorque(kp=9.0, kd=6.0),
        reference_start=np.array([0.3, 0.5]),
        limits={},
    )
    start = {"joint1.angle": 0.5, "joint2.angle": 0.2, "joint1.rate": 0.5, "joint2.rate": 0.0}
    run = ns.simulate(arm, duration=3.0, start=start, inputs=law, rtol=1e-12, atol=1e-12)
    for k, e0 in ((1, 0.2), (2, -0.3)):
        error = run[f"joint{k}.angle"] - run[f"reference.joint{k}.angle"]
        closed = e0 * (1 + 3 * run.t) * np.exp(-3 * run.t)
        assert error == pytest.approx(closed, abs=1e-10)


@pytest.mark.parametrize("gravity", [9.81, 0.0])
def test_pd_with_gravity_compensation_is_lyapunov_stable(arm, gravity):
    """V = ½ eᵀKp e + ½ q̇ᵀD q̇ decreases with V̇ = −q̇ᵀKd q̇ [DeSantis1994, 7.13–7.16]."""
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)
    kp, kd = (30.0, 20.0), (6.0, 4.0)
    controller = ProportionalDerivative(kp=kp, kd=kd, gravity=True)
    law = Tracking(motion=motion, controller=controller, reference_start=q, limits={})
    start = {"joint1.angle": -1.0, "joint2.angle": 1.2, "joint1.rate": 0.5, "joint2.rate": -1.0}
    run = ns.simulate(
        arm,
        duration=5.0,
        start=start,
        inputs=law,
        parameters={"g": gravity},
        samples=20001,
        rtol=1e-12,
        atol=1e-12,
    )
    run = law.with_columns(arm, run, arm.parameters({"g": gravity}))
    V, rate = run["lyapunov"], run["lyapunov_rate"]
    assert rate == pytest.approx(-(run.v**2) @ np.array(kd), abs=1e-11)
    assert V == pytest.approx(0.5 * ((run.q - q) ** 2 @ np.array(kp)) + run.kinetic_energy)
    assert V[0] == pytest.approx(59.4389696122762, rel=1e-12)
    assert np.all(np.diff(V) < 1e-12)
    dissipated = simpson((run.v**2) @ np.array(kd), x=run.t)
    assert V[0] - V[-1] == pytest.approx(dissipated, rel=1e-8)
    assert V[-1] == pytest.approx(2.96508720935026e-09, rel=1e-6)


def test_a_law_of_your_own(arm):
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)

    def spring(t: ca.SX, at: ca.SX, v: ca.SX, wanted: ca.SX, speed: ca.SX) -> list[ca.SX]:
        return [30 * (wanted[0] - at[0]) - 6 * v[0], 20 * (wanted[1] - at[1]) - 4 * v[1]]

    mine = Tracking(
        motion=motion, controller=CustomController(law=spring), reference_start=q, limits={}
    )
    theirs = Tracking(
        motion=motion,
        controller=ProportionalDerivative(kp=(30.0, 20.0), kd=(6.0, 4.0)),
        reference_start=q,
        limits={},
    )
    runs = [ns.simulate(arm, duration=2.0, inputs=law) for law in (mine, theirs)]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-12)
    short = CustomController(law=lambda t, at, v, wanted, speed: [0.0])
    law = Tracking(motion=motion, controller=short, reference_start=q, limits={})
    with pytest.raises(ns.SimulationError, match="1 forces for 2 inputs") as caught:
        ns.simulate(arm, duration=1.0, inputs=law)
    assert "manipulator-2r" in caught.value.where and "tau1" in caught.value.fix


def test_wrong_gains_say_what_is_needed(system_of, arm):
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)
    controller = ProportionalDerivative(kp=(1.0,), kd=(1.0, 1.0))
    law = Tracking(motion=motion, controller=controller, reference_start=q, limits={})
    with pytest.raises(ns.SimulationError, match="1 and 2 gains") as caught:
        ns.simulate(arm, duration=1.0, inputs=law)
    assert "PD control" in caught.value.where and "joint1.rate" in caught.value.fix
    sleigh = system_of("chaplygin-sleigh")
    with pytest.raises(ns.SimulationError, match="is not the rate of one coordinate") as caught:
        track(
            sleigh,
            Circle(radius=2.0),
            timing=ConstantSpeed(0.3),
            controller=ComputedTorque(kp=1.0, kd=1.0),
        )
    assert "chaplygin-sleigh" in caught.value.where and "control the pose" in caught.value.fix


@pytest.mark.parametrize(
    "make",
    [
        lambda: PoseTracking(kv=-1.0),
        lambda: ns.controllers.SteeredTracking(steering="s", wheelbase=1.0, ky=float("nan")),
        lambda: ns.controllers.TrailerTracking(
            steering="s", hinge="h", hitch=1.0, trailer=1.0, weights=(1.0, -1.0, 1.0, 1.0)
        ),
        lambda: ComputedTorque(kp=-1.0),
        lambda: ProportionalDerivative(kp=(1.0, -2.0), kd=(1.0, 1.0)),
        lambda: ns.controllers.CartesianTracking(body="b", components=("vx",), kd="fast"),
        lambda: ns.controllers.AccelerationResolved(kd=-3.0),
    ],
)
def test_gains_that_lead_away_are_refused(make):
    with pytest.raises(ns.SimulationError, match="expected a number of 0 or more") as caught:
        make()
    assert caught.value.where.endswith(("Tracking", "Torque", "Derivative", "Resolved"))
    assert "positive number" in caught.value.fix
