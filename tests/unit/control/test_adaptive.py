"""Adaptive control: the regressor form, the Lyapunov function, what is found; forces held."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.control.computed_torque import reference_forces

ARM = ns.motions.ExpressionMotion(
    coordinates={
        "joint1.angle": "0.6*sin(2*t)",
        "joint2.angle": "0.5 + 0.4*sin(3*t)",
        "joint3.angle": "0.3*cos(2.5*t)",
    }
)
HEAVY = {"m3": 2.5, "I3": 0.0066}  # known: 1 kg and 0.0033 kg m²
BASE = ns.motions.ExpressionMotion(
    coordinates={
        "base.x": "0.5*sin(t)",
        "base.y": "0.3*sin(0.7*t)",
        "base.angle": "0.4*sin(0.5*t)",
    }
)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def adaptive_arm(**changes):
    return ns.controllers.AdaptiveTracking(
        **{"unknown": ("m3", "I3"), "rates": (20.0, 20.0)} | changes
    )


@pytest.mark.parametrize("name", ["manipulator-3r", "agv", "mecanum-base", "rolling-disk"])
def test_reference_forces_are_the_equations_and_do_no_work_of_their_own(system_of, name):
    """(1) at η_r = η is the reduced equations; sᵀ(Ṁ − 2C)s = 0 by differences of M."""
    system = system_of(name)
    kin, eq = system.kinematics, system.equations
    s, n = kin.symbols, kin.num_independent_speeds
    eta_r, rate = ca.SX.sym("eta_r", n), ca.SX.sym("rate", n)
    usual = ca.mtimes(eq.reduced_mass, rate) + eq.reduced_bias - eq.reduced_forces
    found = ca.Function(
        "found",
        [s.t, s.q, kin.eta, eta_r, rate, s.params],
        [
            reference_forces(system, eta_r, rate),
            usual,
            eq.reduced_forces,
            eq.reduced_mass,
            ca.mtimes(kin.N, kin.v),
        ],
    )
    ((t, q),) = kin.probe.configurations(1)
    q, p, rng = np.array(q), system.parameters(), np.random.default_rng(3)
    eta, etadot, one = (rng.normal(size=n) for _ in range(3))

    def at(where, *more):
        return [np.array(x) for x in found(t, where, eta, *more, p)]

    form, same, forces, _, moving = at(q, eta, etadot)
    assert np.abs(form - same).max() < 1e-12 * np.abs(same).max()
    C_one = (at(q, one, np.zeros(n))[0] + forces).ravel()
    h = 1e-5
    there, back = (at(q + sign * h * moving.ravel(), eta, etadot)[3] for sign in (1, -1))
    half = one @ ((there - back) / (2 * h)) @ one / 2
    size = np.abs(one) @ np.abs(there) @ np.abs(one)
    # differences of second order, and rounding over h
    assert abs(one @ C_one - half) < 1e-8 * size


def test_an_arm_learns_what_it_carries_and_the_lyapunov_function_falls(system_of):
    system = system_of("manipulator-3r")
    plant = ns.Plant(parameters=HEAVY)
    run = ns.follow(system, ARM, controller=adaptive_arm(), plant=plant, duration=15.0, **TIGHT)
    V = run["lyapunov"]
    # at the start s = 0: what is not known alone
    assert V[0] == pytest.approx((1.5**2 + 0.0033**2) / 2 / 20.0, rel=1e-9)
    assert np.max(np.diff(V)) < 1e-9 * V[0] and V[-1] < 1e-12 * V[0]
    for name, value in HEAVY.items():
        assert run[f"adapted.{name}"][-1] == pytest.approx(value, rel=1e-5)
    off = np.abs(run["joint3.angle"] - run["reference.joint3.angle"])
    assert off[-1] < 1e-8
    # the same arm under computed torque with the mass it believes in stays far off
    usual = ns.follow(
        system, ARM, controller=ns.controllers.ComputedTorque(), plant=plant, duration=15.0
    )
    wrong = np.abs(usual["joint3.angle"] - usual["reference.joint3.angle"])
    assert wrong[-100:].max() > 0.1


def test_the_rate_of_the_lyapunov_function_is_minus_k_s_m_s(system_of):
    """V̇ = −k sᵀM₀ s, by central differences of the column."""
    system = system_of("manipulator-3r")
    gain = 3.0
    run = ns.follow(
        system,
        ARM,
        controller=adaptive_arm(gain=gain, lower=(-9.0, -9.0)),  # no bound takes part
        plant=ns.Plant(parameters=HEAVY),
        start={"joint2.angle": 0.6},
        duration=1.0,
        samples=8001,
        rtol=1e-12,
        atol=1e-12,
    )
    kin = system.kinematics
    mass = ca.Function("M", [kin.symbols.q, kin.symbols.params], [system.equations.reduced_mass])
    at, h = 1600, run.t[1]
    names = ("joint1", "joint2", "joint3")
    e = np.array([run[f"reference.{n}.angle"][at] - run[f"{n}.angle"][at] for n in names])
    wanted = {"joint1": 1.2 * np.cos(2 * run.t[at]), "joint2": 1.2 * np.cos(3 * run.t[at])}
    wanted["joint3"] = -0.75 * np.sin(2.5 * run.t[at])
    s = np.array([run[f"{n}.rate"][at] - wanted[n] for n in names]) - 2.0 * e
    M0 = np.array(mass(run.q[at], system.parameters()))
    V = run["lyapunov"]
    slope = (-V[at + 2] + 8 * V[at + 1] - 8 * V[at - 1] + V[at - 2]) / (12 * h)
    assert slope == pytest.approx(-gain * s @ M0 @ s, rel=1e-6)


def test_a_vehicle_learns_its_load_on_a_path(system_of):
    """On reduced equations of a nonholonomic vehicle, behind the law of its pose."""
    controller = ns.controllers.AdaptiveTracking(unknown=("m_platform", "I_z"), rates=(3e3, 3.0))
    plant = ns.Plant(parameters={"m_platform": 45.0, "I_z": 0.9}, start={"platform.x": 1.9})
    run = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=2.0),
        timing=ns.timing.Quintic(duration=30.0),
        controller=controller,
        plant=plant,
    )
    V = run["lyapunov"]
    assert np.max(np.diff(V)) < 1e-9 * V[0]
    # an even circle shows the mass; the moment of inertia hardly turns anything
    assert run["adapted.m_platform"][-1] == pytest.approx(45.0, abs=0.5)
    assert run.path_errors.distance[-1] < 0.01


def test_values_stay_above_their_bounds(system_of):
    controller = adaptive_arm(lower=(0.9, 0.001), rates=(400.0, 20.0))
    run = ns.follow(
        system_of("manipulator-3r"),
        ARM,
        controller=controller,
        plant=ns.Plant(parameters={"m3": 0.5}),
        duration=3.0,
    )
    assert run["adapted.m3"].min() > 0.9 - 1e-3


def test_a_reaction_is_held_beside_the_motion(system_of):
    """Four motors, three degrees of freedom: one reaction as wanted, the motion as without."""
    system = system_of("mecanum-base")
    wanted = "5 + 3*sin(2*t)"
    plain = ns.follow(system, BASE, controller=ns.controllers.AccelerationResolved(), duration=3.0)
    held = ns.follow(
        system,
        BASE,
        controller=ns.controllers.MotionForce(
            motion=ns.controllers.AccelerationResolved(),
            reactions={"front_left.longitudinal": wanted},
        ),
        duration=3.0,
        reactions=True,
    )
    found = held["reaction.front_left.longitudinal"]
    assert np.abs(found - (5 + 3 * np.sin(2 * held.t))).max() < 1e-9
    assert np.abs(held["force_error.front_left.longitudinal"]).max() < 1e-9
    assert np.abs(held.q - plain.q).max() < 1e-8


@pytest.mark.parametrize(
    ("name", "motion", "controller", "said"),
    [
        ("manipulator-3r", ARM, adaptive_arm(unknown=("l2", "I3")), "are not linear in 'l2'"),
        ("manipulator-3r", ARM, adaptive_arm(unknown=("m4", "I3")), "there is no parameter 'm4'"),
        (
            "manipulator-3r",
            ARM,
            ns.controllers.MotionForce(
                motion=ns.controllers.ComputedTorque(), reactions={"joint1": 1.0}
            ),
            "there is no constraint row 'joint1'",
        ),
        (
            "mecanum-base",
            BASE,
            ns.controllers.MotionForce(
                motion=ns.controllers.AccelerationResolved(),
                reactions={"front_left.longitudinal": 1.0, "rear_left.longitudinal": 2.0},
            ),
            "2 reactions are prescribed, and 4 inputs for 3 degrees of freedom leave 1 open",
        ),
    ],
)
def test_mistakes_are_told(system_of, name, motion, controller, said):
    with pytest.raises(ns.SimulationError, match=said):
        ns.follow(system_of(name), motion, controller=controller, duration=0.1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rates": (1.0,)}, "1 rates are given for 2 unknown parameters"),
        ({"rates": (1.0, 0.0)}, "nothing is adapted"),
        ({"start": (1.0,)}, "1 start are given"),
        ({"gain": -1.0}, "gain is -1.0"),
    ],
)
def test_settings_with_mistakes_are_refused(changes, said):
    with pytest.raises(ns.SimulationError, match=said):
        adaptive_arm(**changes)
