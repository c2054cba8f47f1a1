"""Gains for a trailer: the linearization on lines and circles, by hand and by runs."""

import math

import numpy as np
import pytest
from backing_up import TRAILER, back_up
from scipy.linalg import expm

import noslip as ns
from noslip.controllers import TrailerTracking
from noslip.paths import Circle


def test_the_linearization_is_that_of_the_textbook(system_of):
    """Trailer axle, heading, fold and steering on a line, by hand."""
    p = system_of("tractor-trailer").model.parameter_values()
    controller = TrailerTracking(**TRAILER)
    for sign in (1.0, -1.0):
        A, B = controller.linearization(system_of("tractor-trailer"), sign)
        turn = np.array([0.0, 0.0, -1 / p["l2"], -p["c"] / (p["l1"] * p["l2"])])
        fold = turn - np.array([0.0, 0.0, 0.0, 1 / p["l1"]])
        by_hand = sign * np.array([[0.0, 1.0, 0.0, 0.0], turn, fold, np.zeros(4)])
        assert pytest.approx(by_hand, abs=1e-12) == A[1:, 1:]
        # along the line the error decays by itself
        assert A[0] == pytest.approx([-controller.kx, 0, 0, 0, 0], abs=1e-12)
        assert A[1:, 0] == pytest.approx(0.0, abs=1e-12)
        K = controller.gains(system_of("tractor-trailer"), sign)
        assert K[0] == pytest.approx(0.0, abs=1e-9)
        assert np.max(np.linalg.eigvals(A - B @ K[None]).real) < -0.05


def test_a_steady_turn_is_that_of_plane_geometry(system_of):
    """The hinge is √(R₂² + l₂²) from the center, and √(R₁² + c²)."""
    system = system_of("tractor-trailer")
    p = system.model.parameter_values()
    controller = TrailerTracking(**TRAILER)
    for radius in (50.0, 12.0, -12.0, 5.0):
        turn = controller.steady_turn(system, 1 / radius)
        base = math.copysign(math.sqrt(radius**2 + p["l2"] ** 2 - p["c"] ** 2), radius)
        assert math.tan(turn.steering) == pytest.approx(p["l1"] / base, abs=1e-12)
        fold = -math.atan(p["l2"] / radius) - math.atan(p["c"] / base)
        assert turn.fold == pytest.approx(fold, abs=1e-12)
    with pytest.raises(ns.SimulationError, match="cannot stay on a circle of 0") as caught:
        TrailerTracking(**TRAILER | {"trailer": "0.1*l2"}).steady_turn(system, 1 / 1e-3)
    assert "tractor-trailer" in caught.value.where and "wider turn" in caught.value.fix


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_every_circle_is_stable_with_its_own_gains(system_of, sign):
    """The linearization is the derivative of the nonlinear errors, and the gains are its own."""
    system = system_of("tractor-trailer")
    controller = TrailerTracking(**TRAILER)
    straight = controller.gains(system, sign)
    margins = []
    for curvature in (0.02, -0.05, 0.1, 0.2, -0.35):
        A, B = controller.linearization(system, sign, curvature)
        K = controller.gains(system, sign, curvature)
        decay = np.max(np.linalg.eigvals(A - B @ K[None]).real)
        assert decay < -0.08
        margins.append((decay, np.max(np.linalg.eigvals(A - B @ straight[None]).real)))
        mirrored = controller.gains(system, sign, -curvature)
        assert mirrored == pytest.approx(K * [-1, 1, 1, 1, 1], abs=1e-9)
    # those of the line are slower on the sharpest, or no longer stable
    assert margins[-1][1] > 0.6 * margins[-1][0]
    assert (margins[-1][1] > 0) == (sign > 0)


def test_small_errors_on_a_circle_follow_the_linearization(system_of):
    """x(s) of the full simulation against exp((A − BK)s), backwards on a circle of 12 m."""
    system = system_of("tractor-trailer")
    controller = TrailerTracking(**TRAILER, kv=200.0, kdelta=200.0)
    path = Circle(radius=12.0, turns=2.0)
    run, off = back_up(system, path, controller, 1e-4, duration=10.0)
    A, B = controller.linearization(system, -1.0, -1 / 12.0)
    K = controller.gains(system, -1.0, -1 / 12.0)
    p = system.model.parameter_values()
    # the way that the base drives
    way = 1.5 * run.t * math.sqrt(12.0**2 + p["l2"] ** 2 - p["c"] ** 2) / 12.0
    # a fold of the trailer about the hinge moves its axle across
    heading = run["reference.tractor.angle"][0] + run["reference.hinge.angle"][0]
    turned = heading + 1e-4
    gap = -p["l2"] * np.array(
        [math.cos(turned) - math.cos(heading), math.sin(turned) - math.sin(heading)]
    )
    axes = np.array(
        [[math.cos(heading), math.sin(heading)], [-math.sin(heading), math.cos(heading)]]
    )
    x0 = np.array([*(axes @ gap), 1e-4, 1e-4, 0.0])
    expected = np.array([expm((A - B @ K[None]) * s) @ x0 for s in way])
    assert off["hinge.angle"] == pytest.approx(expected[:, 3], abs=2e-7)
    assert off["steer.angle"] == pytest.approx(expected[:, 4], abs=2e-7)
