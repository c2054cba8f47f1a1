"""Meijaard, Papadopoulos, Ruina and Schwab (2007), Proc. R. Soc. A 463, 1955–1982: the bicycle.

doi 10.1098/rspa.2007.1857. Published matrices and eigenvalues carry 14 decimals; ours come from
exact derivatives of the nonlinear model, which knows nothing of the paper's formulas.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from whipple import canonical_matrices

import noslip as ns

DATA = json.loads((Path(__file__).parent / "data" / "whipple_bicycle.json").read_text())
PUBLISHED = 1e-11
MOTION = 1e-10  # m, rad, 1/s: trajectories at tolerance 1e-13
MATRICES = ("M", "C1", "K0", "K2")


@pytest.fixture(scope="module")
def canonical(bicycle):
    return ns.canonical_form(bicycle, speed="speed", gravity="g")


def matched(found, expected):
    """Largest distance between eigenvalues of two lists, each matched to the nearest."""
    found, expected = np.asarray(found), np.asarray(expected)
    distances = np.abs(found[:, None] - expected[None, :])
    return max(np.max(distances.min(axis=0)), np.max(distances.min(axis=1)))


def test_the_states_are_lean_and_steer_their_rates_and_the_speed(bicycle):
    line = ns.linearize(bicycle, {"speed": 5.0})
    names = ["frame.lean", "steer.angle", "frame.lean_rate", "steer.rate", "speed"]
    assert [s.name for s in line.states] == names
    assert {c.name for c in line.dependent} == {"frame.z", "frame.pitch"}
    ignored = {"frame.x", "frame.y", "frame.yaw", "rear_wheel.angle", "front_wheel.angle"}
    assert {c.name for c in line.ignored} == ignored


@pytest.mark.parametrize("name", MATRICES)
def test_published_matrices(canonical, name):
    assert np.max(np.abs(getattr(canonical, name) - DATA[name])) < PUBLISHED


def test_torques_are_the_right_sides(canonical):
    assert [q.name for q in canonical.inputs] == ["lean_torque", "steer_torque", "drive_torque"]
    assert np.max(np.abs(canonical.F - np.eye(2, 3))) < 1e-15


@pytest.mark.parametrize("row", DATA["eigenvalues"], ids=lambda row: f"{row['speed']} m/s")
def test_published_eigenvalues(bicycle, canonical, row):
    published = [complex(*e) for e in row["values"]]
    line = ns.linearize(bicycle, {"speed": float(row["speed"])})
    # the fifth is zero: another speed is another steady motion
    assert np.min(np.abs(line.eigenvalues)) < 1e-14
    others = sorted(line.eigenvalues, key=abs)[1:]
    assert len(others) == len(published)
    assert matched(others, published) < PUBLISHED
    assert matched(canonical.eigenvalues(row["speed"], 9.81), published) < PUBLISHED


def test_published_speeds_at_which_stability_begins_and_ends(bicycle):
    sweep = ns.sweep_eigenvalues(bicycle, "speed", np.linspace(0.0, 10.0, 21))
    weave, capsize = sweep.limits
    assert weave == pytest.approx(DATA["weave"]["speed"], abs=PUBLISHED)
    assert capsize == pytest.approx(DATA["capsize"]["speed"], abs=PUBLISHED)
    assert sweep.stable_ranges == ((weave, capsize),)
    at_weave = ns.linearize(bicycle, {"speed": weave}).eigenvalues
    assert max(at_weave.imag) == pytest.approx(DATA["weave"]["frequency"], abs=PUBLISHED)


def test_published_double_root(bicycle):
    """Two real eigenvalues meet; apart they are known to 1e-7 only, their mean to rounding."""
    double = DATA["double_root"]
    values = ns.linearize(bicycle, {"speed": double["speed"]}).eigenvalues
    pair = sorted(values, key=lambda e: -e.real)[:2]
    assert abs(pair[0] - pair[1]) < 1e-5
    assert np.mean(pair).real == pytest.approx(double["eigenvalue"], abs=PUBLISHED)


def test_the_written_out_formulas_give_the_published_matrices():
    ours = canonical_matrices(ns.load("whipple-bicycle").parameter_values())
    for name, matrix in zip(MATRICES, ours, strict=True):
        assert np.max(np.abs(matrix - DATA[name])) < 1e-13


def test_other_bicycles_follow_the_written_out_formulas(bicycle, rng):
    """Every parameter changed by up to a tenth, three times."""
    nominal = ns.load("whipple-bicycle").parameter_values()
    for _ in range(3):
        changed = {n: x * (1 + 0.1 * rng.uniform(-1, 1)) for n, x in nominal.items()}
        form = ns.canonical_form(bicycle, speed="speed", gravity="g", parameters=changed)
        for name, matrix in zip(MATRICES, canonical_matrices(changed), strict=True):
            found = getattr(form, name)
            assert np.max(np.abs(found - matrix)) < 1e-12 * max(1.0, np.max(np.abs(matrix)))


def test_motion_computed_apart_by_kanes_method(bicycle):
    """10 s from 4.6 m/s and a lean rate of 0.5 rad/s, through zero lean and zero steer."""
    columns = dict(
        zip(DATA["motion"]["columns"], np.transpose(DATA["motion"]["rows"]), strict=True)
    )
    start = {"speed": 4.6, "frame.wx": 0.5}
    run = ns.simulate(
        bicycle, duration=10.0, start=start, samples=columns["time"], rtol=1e-13, atol=1e-13
    )
    # theirs: right and down; ours: left and up
    pairs = {
        "frame.lean": columns["lean"],
        "steer.angle": columns["steer"],
        "frame.yaw": -columns["yaw"],
        "frame.pitch": math.pi / 10 - columns["pitch"],
        "steer.rate": columns["steer_rate"],
        "rear_wheel.rate": -columns["rear_rate"],
        "front_wheel.rate": -columns["front_rate"],
        "rear_wheel.contact_x": columns["x"],
        "rear_wheel.contact_y": -columns["y"],
    }
    for name, expected in pairs.items():
        assert np.max(np.abs(run[name] - expected)) < MOTION, name
    assert run.energy_drift < 1e-12 and run.slip < 1e-13 and run.gap < 1e-13
    # it starts at zero lean and zero steer and passes both again and again
    assert run["frame.lean"][0] == 0.0 and run["steer.angle"][0] == 0.0
    for name in ("frame.lean", "steer.angle"):
        assert np.sum(np.diff(np.sign(run[name][1:])) != 0) > 5


def test_a_push_to_the_left_is_the_mirror_of_one_to_the_right(bicycle):
    runs = [
        ns.simulate(
            bicycle, duration=2.0, start={"speed": 4.6, "frame.wx": push}, rtol=1e-12, atol=1e-12
        )
        for push in (0.5, -0.5)
    ]
    for name in ("frame.lean", "steer.angle", "frame.yaw", "frame.y"):
        assert np.max(np.abs(runs[0][name] + runs[1][name])) < 1e-12
    assert np.max(np.abs(runs[0]["frame.pitch"] - runs[1]["frame.pitch"])) < 1e-12


def test_small_motions_are_those_of_the_published_matrices(bicycle):
    """The nonlinear run against exp(A t) of the published numbers; the rest is of third order."""
    from scipy.linalg import expm

    M, C1, K0, K2 = (np.array(DATA[name]) for name in MATRICES)
    v, push, t = 4.6, 1e-4, 2.0
    below = -np.linalg.solve(M, np.hstack([9.81 * K0 + v**2 * K2, v * C1]))
    expected = expm(np.vstack([np.eye(2, 4, 2), below]) * t) @ [0.0, 0.0, push, 0.0]
    start = {"speed": v, "frame.wx": push}
    run = ns.simulate(bicycle, duration=t, start=start, samples=2, rtol=1e-13, atol=1e-15)
    found = [run["frame.lean"][-1], run["steer.angle"][-1]]
    assert np.max(np.abs(found - expected[:2])) < 1e-10
