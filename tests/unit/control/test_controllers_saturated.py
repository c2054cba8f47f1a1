"""Every law of an arm with limits on its torques and looks at a period: what holds, what does not.

The others are in the files of their own controllers: pose, steered, trailer, regulator.
"""

import casadi as ca
import numpy as np
import pytest

import noslip as ns

REST = {"joint1.angle": -0.9, "joint2.angle": 0.9}
AWAY = {"joint1.angle": -1.4, "joint2.angle": 1.4}
Q = np.array(list(REST.values()))
#: A little more than the 14.6 and 3.9 N·m that hold the arm there.
HOLD = {"tau1": 17.0, "tau2": 5.0}


def law(t, q, v, wanted, speeds):
    """PD with the weight of both links, written by hand."""
    m1, m2, r1, r2, l1, g = 3.0, 2.0, 0.25, 0.2, 0.5, 9.81
    both = q[0] + q[1]
    second = m2 * r2 * g * ca.cos(both)
    first = (m1 * r1 + m2 * l1) * g * ca.cos(q[0]) + second
    return [
        first + 60 * (wanted[0] - q[0]) - 12 * v[0],
        second + 40 * (wanted[1] - q[1]) - 6 * v[1],
    ]


t, q, v, wanted, speeds = (ca.SX.sym(n, k) for n, k in zip("tqvwe", (1, 2, 2, 2, 2), strict=True))
CASADI = ca.Function("law", [t, q, v, wanted, speeds], [ca.vertcat(*law(t, q, v, wanted, speeds))])

LAWS = {
    "pd": ns.controllers.ProportionalDerivative(kp=(60.0, 40.0), kd=(12.0, 6.0), gravity=True),
    "computed torque": ns.controllers.ComputedTorque(kp=36.0, kd=12.0),
    "acceleration resolved": ns.controllers.AccelerationResolved(kp=36.0, kd=12.0),
    "cartesian": ns.controllers.CartesianTracking(
        body="link2", components=("vx", "vy"), kp=36.0, kd=12.0
    ),
    "python": ns.controllers.CustomController(law=law),
    "casadi": ns.controllers.CustomController(law=CASADI),
}


def hold(system, controller, *, limits=None, period=0.0, duration=8.0, samples=801):
    inputs = ns.controllers.Tracking(
        motion=ns.motions.ExpressionMotion(coordinates=REST),
        controller=controller,
        reference_start=Q,
        limits=limits or {},
        period=period,
    )
    return ns.simulate(system, duration=duration, start=AWAY, inputs=inputs, samples=samples)


@pytest.mark.parametrize("name", LAWS)
def test_saturated_torques_slow_the_arm_but_bring_it_home(arm, name):
    free, bound = hold(arm, LAWS[name]), hold(arm, LAWS[name], limits=HOLD)
    assert np.max(np.abs(free["tau1"])) > 20.0
    assert np.max(np.abs(bound["tau1"])) == 17.0
    assert np.max(np.abs(bound["tau2"])) <= 5.0
    assert np.max(np.abs(bound.q[100] - Q)) > np.max(np.abs(free.q[100] - Q))
    assert bound.q[-1] == pytest.approx(Q, abs=1e-3)
    # below the torque that the weight needs there is no way home
    weak = hold(arm, LAWS[name], limits={"tau1": 1.0, "tau2": 1.0})
    assert np.max(np.abs(weak["tau1"])) == 1.0
    assert np.max(np.abs(weak.q[-1] - Q)) > 0.2


@pytest.mark.parametrize("name", LAWS)
def test_looks_at_a_period_hold_the_torques(arm, name):
    """At 100 Hz as good as continuous; at 3 Hz gains of 12 1/s and more do not hold the arm."""
    run = hold(arm, LAWS[name], period=0.01, limits=HOLD)
    assert run.q[-1] == pytest.approx(Q, abs=2e-3)
    fine = hold(arm, LAWS[name], period=0.05, limits=HOLD, duration=1.0, samples=1001)
    held = fine["tau2"][:1000].reshape(20, 50)
    assert np.max(np.ptp(held[:, 1:], axis=1)) == 0.0 and np.ptp(held[:, 5]) > 0.5
    slow = hold(arm, LAWS[name], period=0.3, limits=HOLD)
    assert np.max(np.abs(slow.q[-100:] - Q)) > 0.05


def test_a_python_law_and_a_casadi_function_are_the_same(arm):
    runs = [hold(arm, LAWS[name], limits=HOLD) for name in ("python", "casadi", "pd")]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-12)
    assert runs[0].q == pytest.approx(runs[2].q, abs=1e-6)
