"""Controllers in Python, asked at samples: the same runs as those of traced laws."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns

KP, KD = np.array([3.0, 1.0]), np.array([2.0, 0.5])
MOTION = ns.motions.ExpressionMotion(
    coordinates={"joint1.angle": "0.5*sin(t)", "joint2.angle": "0.3*cos(t)"}
)
START = {"joint1.angle": 0.1}


def law(t, q, v, wanted_q, wanted_v):
    return KP * (wanted_q - q) + KD * (wanted_v - v)


def traced(t, q, v, wanted_q, wanted_v):
    return ca.vertsplit(ca.DM(KP) * (wanted_q - q) + ca.DM(KD) * (wanted_v - v))


@pytest.mark.parametrize(
    "plant",
    [
        None,
        ns.Plant(
            sensors=(ns.Sensor(of="joint1.angle", sigma=1e-3, delay=2),),
            actuators=(ns.Actuator(of="tau1", lag=0.02),),
        ),
    ],
)
def test_it_drives_as_the_same_law_traced(system_of, plant):
    """Exact, noisy and late measurements, limits; to rounding."""
    arm = system_of("manipulator-2r")
    runs = [
        ns.follow(
            arm,
            MOTION,
            controller=ns.ControlLoop(controller=own, period=0.01, limits={"tau1": 0.3}),
            plant=plant,
            duration=0.5,
            start=START,
        )
        for own in (law, ns.controllers.CustomController(law=traced))
    ]
    assert runs[0].steps == runs[1].steps
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-14)


def test_it_is_asked_once_a_sample(system_of):
    asked = []

    def counted(t, *seen):
        asked.append(t)
        return law(t, *seen)

    loop = ns.ControlLoop(controller=counted, period=0.1)
    ns.follow(system_of("manipulator-2r"), MOTION, controller=loop, duration=0.95)
    np.testing.assert_allclose(asked, 0.1 * np.arange(10), atol=1e-12)


@pytest.mark.parametrize(
    ("own", "period", "argument"),
    [
        (lambda *seen: [1.0], 0.01, "2 finite numbers"),
        (lambda *seen: [np.nan, 0.0], 0.01, "2 finite numbers"),
        (lambda *seen: 1 / 0, 0.01, "f(t, q, v, reference q, reference v)"),
        (law, 0.0, "period"),
    ],
)
def test_what_cannot_be_used_is_refused(system_of, own, period, argument):
    loop = ns.ControlLoop(controller=own, period=period)
    with pytest.raises(ns.SimulationError) as caught:
        ns.follow(system_of("manipulator-2r"), MOTION, controller=loop, duration=0.1)
    assert argument in caught.value.fix


def test_interrupts_reach_the_caller(system_of):
    def stops(*seen):
        raise KeyboardInterrupt

    loop = ns.ControlLoop(controller=stops, period=0.01)
    with pytest.raises(KeyboardInterrupt):
        ns.follow(system_of("manipulator-2r"), MOTION, controller=loop, duration=0.1)
