"""Steered vehicles come back to their path, forward and in reverse."""

import numpy as np
import pytest
from scipy.linalg import expm

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.controllers import SteeredTracking
from noslip.paths import Circle, Line, Sine
from noslip.timing import ConstantSpeed

#: Steering of each vehicle for `track`, and the scale of its errors, m.
VEHICLES = {
    "tricycle": ({"steering": "steer.angle", "wheelbase": "ell"}, "frame", 1.0),
    "tractor-trailer": ({"steering": "steer.angle", "wheelbase": "l1"}, "tractor", 3.0),
}


@pytest.fixture(scope="module")
def systems(system_of):
    return {name: system_of(name) for name in VEHICLES}


def steered(scale, steering, **changes):
    """Errors decay over a way of the order of the scale."""
    gains = {"kx": 0.5 / scale, "ky": 1 / scale**2, "ktheta": 2 / scale}
    return SteeredTracking(**steering, **gains, **changes)


def disturbed(system, path, base, scale, steering, reverse=False):
    """Off by half the scale and half a radian."""
    follows = ns.Follower(reverse=reverse, **steering)
    run = track(system, path, follower=follows, timing=ConstantSpeed(scale), duration=0.1)
    return {
        f"{base}.x": run[f"{base}.x"][0] - 0.3 * scale,
        f"{base}.y": run[f"{base}.y"][0] + 0.4 * scale,
        f"{base}.angle": run[f"{base}.angle"][0] - 0.5,
    }


def test_small_errors_across_obey_their_equations(systems):
    """On a line, steered by a motor: y, θ, δ and δ̇ by hand, to first order.

    ẏ = v θ,   θ̇ = v δ/l,   δ_d = −l (k_y y + k_θ θ)
    w = δ̇_d + k_δ (δ_d − δ),   δ̈ = ẇ + k_v (w − δ̇)
    """
    steering, base, _ = VEHICLES["tricycle"]
    v, wheelbase = 2.0, systems["tricycle"].model.parameter_values()["ell"]
    controller = SteeredTracking(**steering, ky=1.0, ktheta=2.0, kdelta=6.0, kv=9.0)
    result = track(
        systems["tricycle"],
        Line((0.0, 0.0), (30.0, 0.0)),
        follower=ns.Follower(**steering),
        controller=controller,
        timing=ConstantSpeed(v),
        start={f"{base}.y": 1e-4},
        duration=5.0,
        rtol=1e-12,
        atol=1e-12,
    )
    y, theta, delta, turning = np.eye(4)
    move = np.array([v * theta, v * delta / wheelbase, turning, np.zeros(4)])
    wanted = -wheelbase * (controller.ky * y + controller.ktheta * theta)
    w = wanted @ move + controller.kdelta * (wanted - delta)
    move[3] = w @ move + controller.kv * (w - turning)
    expected = np.array([expm(move * t) @ [1e-4, 0.0, 0.0, 0.0] for t in result.t])
    assert result.path_errors.across == pytest.approx(expected[:, 0], abs=1e-11)
    assert result.path_errors.heading == pytest.approx(expected[:, 1], abs=1e-11)
    # once the steering has settled, y″ + k_θ y′ + k_y y = 0 over the way: its roots are in `move`
    roots = np.sort(np.linalg.eigvals(move).real)
    assert roots == pytest.approx([-9.0, -6.0, -v, -v], abs=1e-6)


def test_the_lyapunov_function_decreases(systems):
    steering, base, _ = VEHICLES["tricycle"]
    controller = SteeredTracking(**steering, ky=1.0, ktheta=2.0, kdelta=50.0, kv=50.0)
    result = track(
        systems["tricycle"],
        Line((0.0, 0.0), (30.0, 0.0)),
        follower=ns.Follower(**steering),
        controller=controller,
        timing=ConstantSpeed(1.0),
        start={f"{base}.x": -1.0, f"{base}.y": 1.0, f"{base}.angle": 0.8},
        duration=15.0,
    )
    distance = result.path_errors.along**2 + result.path_errors.across**2
    V = 0.5 * distance + 1 - np.cos(result.path_errors.heading)
    later = result.t > 0.3
    assert V[0] > 1.0 and V[-1] < 1e-6
    assert np.max(np.diff(V[later])) < 1e-9


def test_the_rate_of_a_steering_rate_is_its_derivative(systems):
    """ẇ given with w is the derivative of w along the run."""
    steering, base, scale = VEHICLES["tractor-trailer"]
    system, path = systems["tractor-trailer"], Sine(amplitude=3.0, wave_number=0.15, extent=90.0)
    run = track(
        system,
        path,
        follower=ns.Follower(**steering),
        controller=steered(scale, steering),
        timing=ConstantSpeed(scale),
        start=disturbed(system, path, base, scale, steering),
        duration=4.0,
        samples=8001,
        rtol=1e-11,
        atol=1e-11,
    )
    w, given = run["steering_rate"], run["steering_rate_rate"]
    found = (8 * (w[3:-1] - w[1:-3]) - (w[4:] - w[:-4])) / (12 * (run.t[1] - run.t[0]))
    assert found == pytest.approx(given[2:-2], abs=3e-9 * np.max(np.abs(given)))


def test_a_sampled_steering_goes_on_without_jumps(systems):
    steering, base, scale = VEHICLES["tractor-trailer"]
    system, path = systems["tractor-trailer"], Circle(radius=15.0, turns=3.0)
    result = track(
        system,
        path,
        follower=ns.Follower(**steering),
        controller=ns.ControlLoop(
            controller=steered(scale, steering, kdelta=2.0, kv=2.0), period=0.05
        ),
        timing=ConstantSpeed(scale),
        start=disturbed(system, path, base, scale, steering),
        duration=30.0,
        samples=6001,
    )
    w = result["steering_rate"]
    most = np.max(np.abs(result["steering_rate_rate"]))
    assert np.max(np.abs(np.diff(w))) <= 1.01 * most * 30.0 / 6000
    # a hold adds an offset of the order of the period, not a divergence
    assert result.path_errors.distance[-1] < 0.05


def test_saturated_steering_takes_longer(systems):
    """A slow steering and a weak drive still come back, after a wider swing."""
    system = systems["tractor-trailer"]
    steering, base, scale = VEHICLES["tractor-trailer"]
    path = Circle(radius=15.0, turns=3.0)
    start = disturbed(system, path, base, scale, steering)
    after = {}
    for limits in ({}, {"steering_rate": 0.25, "F_u1": 2000.0, "F_u2": 2000.0, "F_u3": 2000.0}):
        result = track(
            system,
            path,
            follower=ns.Follower(**steering),
            controller=ns.ControlLoop(controller=steered(scale, steering), limits=limits),
            timing=ConstantSpeed(scale),
            start=start,
            duration=40.0,
        )
        rate = np.max(np.abs(result["steering_rate"]))
        assert rate > 0.25 if not limits else rate == 0.25
        assert result.path_errors.distance[-1] < 1e-3
        after[len(limits)] = np.max(
            np.abs(result.path_errors.across[len(result.path_errors.across) // 20 :])
        )
    assert after[4] > after[0]
