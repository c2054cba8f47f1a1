"""Shortest paths: where they lead, by complex arithmetic, and that no other drive is shorter."""

import math

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.control.path_geometry import heading, length
from noslip.control.shortest_paths import PIECES, shortest_words


def driven(turns, lengths):
    """Poses that words (n, 5) lead to: z' = exp(iθ), θ' = turn, in closed form piece by piece."""
    z, theta = np.zeros(len(turns), complex), np.zeros(len(turns))
    for turn, size in zip(turns.T, lengths.T, strict=True):
        after = theta + turn * size
        curved = turn * 1j * (np.exp(1j * theta) - np.exp(1j * after))
        z = z + np.where(turn == 0, size * np.exp(1j * theta), curved)
        theta = after
    return z, theta


@pytest.mark.parametrize("may_reverse", [True, False])
def test_words_lead_to_their_poses(rng, may_reverse):
    """To 1e-12; far away, near, and at poses of fewer pieces."""
    x, y = np.concatenate([rng.uniform(-9, 9, (2, 4000)), rng.uniform(-0.5, 0.5, (2, 4000))], 1)
    phi = rng.uniform(-math.pi, math.pi, 8000)
    phi[::7], y[::11], x[::13] = 0.0, 0.0, 0.0
    turns, lengths = shortest_words(x, y, phi, may_reverse=may_reverse)
    z, theta = driven(turns, lengths)
    assert np.max(np.abs(z - (x + 1j * y))) < 1e-12
    assert np.max(np.abs(np.exp(1j * theta) - np.exp(1j * phi))) < 1e-12
    assert may_reverse or np.min(lengths) >= -1e-12


@pytest.mark.parametrize("may_reverse", [True, False])
def test_no_drive_of_five_pieces_is_shorter(rng, may_reverse):
    """Random drives, most of them with fewer pieces: a word that is missing would be beaten."""
    n = 60000
    turns = rng.integers(-1, 2, (n, PIECES))
    drives = rng.exponential(0.8, (n, PIECES)) * (rng.random((n, PIECES)) < 0.7)
    if may_reverse:
        drives *= rng.choice([-1, 1], (n, PIECES))
    z, theta = driven(turns, drives)
    _, lengths = shortest_words(z.real, z.imag, theta, may_reverse=may_reverse)
    excess = np.sum(np.abs(lengths), axis=1) - np.sum(np.abs(drives), axis=1)
    assert np.max(excess) < 1e-11
    assert np.mean(np.abs(excess) < 1e-11) > 0.1  # many of them are shortest themselves


def test_a_car_turns_round_in_three_points():
    """The turn by π on the spot, forward and backward and all forward: its arcs are known."""
    turned = ns.paths.ReedsShepp(end=(0.0, 0.0), end_heading=math.pi, radius=2.0)
    assert length(turned) == pytest.approx(2.0 * math.pi, rel=1e-12)
    assert len(turned.cusps) == 2
    forward = ns.paths.Dubins(end=(0.0, 0.0), end_heading=math.pi, radius=2.0)
    assert length(forward) == pytest.approx(2.0 * 7 * math.pi / 3, rel=1e-12)
    assert forward.cusps == ()


@pytest.mark.parametrize("word", ["dubins", "reeds-shepp"])
def test_the_curve_ends_at_its_pose(word):
    """The traced curve, backward pieces driven with the heading turned round."""
    path = ns.paths.parse_path(
        f"{word}:end=-1,2;end_heading=2.5;radius=1.5;start=0.5,0;start_heading=0.3"
    )
    last = path.parts[-1]
    p = ca.SX.sym("p")
    end = ca.Function("end", [p], [last.position(p), heading(last, p)])(last.interval[1])
    assert np.array(end[0]).ravel() == pytest.approx([-1.0, 2.0], abs=1e-12)
    turned = math.remainder(float(end[1]) - 2.5, math.pi)
    assert turned == pytest.approx(0.0, abs=1e-12)
    assert sum(length(part) for part in path.parts) == pytest.approx(length(path), rel=1e-12)


def test_a_path_to_where_it_starts_is_refused():
    with pytest.raises(ns.NoslipError) as caught:
        ns.paths.Dubins(end=(0, 0), end_heading=0, radius=1)
    assert "ends where it starts" in caught.value.what and caught.value.fix


@pytest.mark.parametrize("kind", [ns.paths.Dubins, ns.paths.ReedsShepp])
def test_words_with_the_sharpest_clothoids_are_those_of_arcs(rng, kind):
    """Two derivations: families of Reeds and Shepp, and circles about turns with clothoids."""
    for _ in range(12):
        end, angle = tuple(rng.uniform(-4, 4, 2)), rng.uniform(-math.pi, math.pi)
        pose = {"end": end, "end_heading": angle, "radius": 1.0}
        arcs, smooth = length(kind(**pose)), length(kind(**pose, sharpness=1e8))
        assert smooth == pytest.approx(arcs, abs=1e-7)


@pytest.mark.parametrize("sharpness", [0.1, 0.5, 4.0])
@pytest.mark.parametrize("kind", [ns.paths.Dubins, ns.paths.ReedsShepp])
def test_clothoids_lead_to_the_pose_with_continuous_curvature(rng, kind, sharpness):
    """Within the radius and the sharpness, and straight at both ends and at cusps."""
    p = ca.SX.sym("p")
    for _ in range(6):
        end, angle = tuple(rng.uniform(-9, 9, 2)), rng.uniform(-math.pi, math.pi)
        path = kind(end=end, end_heading=angle, radius=2.0, start_heading=0.4, sharpness=sharpness)
        last = path.parts[-1]
        f = ca.Function("end", [p], [last.position(p), heading(last, p)])
        place, direction = (np.array(x).ravel() for x in f(last.interval[1]))
        assert place == pytest.approx(end, abs=1e-10)
        turned = math.remainder(float(direction[0]) - angle, math.pi)
        assert turned == pytest.approx(0.0, abs=1e-10)
        assert length(path) > length(
            kind(end=end, end_heading=angle, radius=2.0, start_heading=0.4)
        )
        for part in path.parts:
            bend = ca.Function("bend", [p], [part.bend_near(p, p)])
            s = np.linspace(*part.interval, 4001)
            kappa = np.array(bend(s[None, :])).ravel()
            assert np.max(np.abs(kappa)) < 0.5 * (1 + 1e-9)
            # also across breaks: a jump would be far steeper
            assert np.max(np.abs(np.diff(kappa) / np.diff(s))) < sharpness * (1 + 1e-6)
            assert kappa[[0, -1]] == pytest.approx(0.0, abs=1e-9)


def test_a_straight_way_needs_no_clothoids():
    path = ns.paths.ReedsShepp(end=(-0.3, 0.0), end_heading=0.0, radius=2.0, sharpness=0.1)
    assert length(path) == pytest.approx(0.3, rel=1e-12)


def test_clothoids_that_wind_up_are_refused():
    with pytest.raises(ns.NoslipError) as caught:
        ns.paths.Dubins(end=(9, 0), end_heading=1, radius=1, sharpness=0.01)
    assert "sharpness" in caught.value.fix
