"""Modes: what takes part in them, their names, and how they go on over a sweep."""

import json
import math

import numpy as np
import pytest

import noslip as ns
from noslip.analysis.modes import (
    SweptMode,
    followed,
    general_name,
    modes_of,
    participations,
    short_names,
    state_groups,
)

#: Weave and capsize speeds of [MeijaardPapadopoulosRuinaSchwab2007], m/s.
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837
#: Its eigenvalues, 1/s: speed, m/s → weave, capsize, castering.
PUBLISHED = {
    1.0: (3.52696170990070 + 0.80774027519930j, -3.13423125066578, -7.11008014637442),
    3.0: (1.70675605663975 + 2.31582447384325j, -2.63366137253667, -10.35101467245920),
    5.0: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279822),
    7.0: (-2.13875644258362 + 7.19525913329805j, 0.10268170574766, -18.15788466125262),
    10.0: (-3.72016840437287 + 10.90681139476287j, 0.16105338653172, -24.62459635017404),
}


@pytest.fixture(scope="module")
def sweep(bicycle):
    return ns.sweep_eigenvalues(bicycle, "speed", np.linspace(0.0, 10.0, 21))


def test_modes_of_the_bicycle_are_those_of_the_benchmark(bicycle, sweep):
    """At single speeds and along a sweep, with the published numbers."""
    swept = {mode.name: mode.eigenvalues for mode in sweep.modes}
    for speed, values in PUBLISHED.items():
        at = ns.linearize(bicycle, {"speed": speed})
        alone = {mode.name: mode.eigenvalue for mode in at.modes}
        assert set(alone) == set(swept) == {"weave", "capsize", "castering", "speed mode"}
        k = int(np.flatnonzero(sweep.values == speed)[0])
        for name, value in zip(("weave", "capsize", "castering"), values, strict=True):
            assert alone[name] == pytest.approx(value, abs=1e-10)
            assert swept[name][k][np.argmax(swept[name][k].imag)] == pytest.approx(value, abs=1e-10)


def test_limits_are_those_of_their_modes(sweep):
    text = sweep.text()
    assert "limits: 4.292382536 m/s (weave), 6.024262015 m/s (capsize)" in text
    assert sweep.limits == pytest.approx((WEAVE, CAPSIZE), abs=1e-10)
    for line in (
        "  weave: oscillates above ≈ 0.75 m/s, grows below 4.29 m/s",
        "  capsize: grows above 6.02 m/s",
        "  castering: decays",
        "  speed mode: neutral",
    ):
        assert line in text.splitlines()
    (heads,) = [line for line in text.splitlines() if line.split()[:2] == ["speed", "weave"]]
    assert heads.split() == ["speed", "weave", "capsize", "castering", "speed", "mode"]


def test_plot_table_and_json_have_the_same_words(sweep):
    legend = [entry.get_text() for entry in sweep.plot().axes[0].get_legend().get_texts()]
    said = [line.strip() for line in sweep.text().splitlines()]
    assert legend[-1] == "stable: nothing grows" and set(legend[:-1]) <= set(said)
    data = json.loads(json.dumps(sweep.to_json()))
    assert [mode["name"] for mode in data["modes"]] == [word.split(":")[0] for word in legend[:-1]]


@pytest.mark.parametrize("count", [5, 6, 8, 14, 51])
def test_names_do_not_depend_on_how_finely_is_swept(bicycle, count):
    values = np.linspace(0.0, 10.0, count)
    found = ns.sweep_eigenvalues(bicycle, "speed", values).modes
    castering, capsize = (
        next(mode.eigenvalues for mode in found if mode.name == name)
        for name in ("castering", "capsize")
    )
    # the lowest all along; and of the others the only one that is real everywhere and moves
    assert np.all(castering.real[:, 0] < capsize.real[:, 0])
    assert not np.any(capsize.imag) and capsize[0, 0].real < -3 and capsize[-1, 0].real > 0.1


def test_a_pair_that_has_parted_keeps_its_name(bicycle):
    """Below 0.68 m/s the weave mode is two real ones that both grow."""
    names = [mode.name for mode in ns.linearize(bicycle, {"speed": 0.3}).modes]
    assert names == ["weave", "weave", "speed mode", "capsize", "castering"]


def test_participation_has_no_units(bicycle):
    """Lean in degrees and steer in turns: the same, as with vectors of other lengths."""
    line = ns.linearize(bicycle, {"speed": 5.0})
    states = [s.name for s in line.states]
    groups = state_groups(line.A, [c.name for c in line.coordinates], states)
    assert groups == ("frame.lean", "steer.angle", "frame.lean", "steer.angle", "speed")
    scale = np.array([57.3, 1 / 6.28, 57.3, 0.16, 3.6])
    values, vectors = np.linalg.eig(scale[:, None] * line.A / scale)
    order = np.lexsort((-values.imag, -values.real))
    before = participations(line.eigenvectors, groups)
    after = participations(vectors[:, order] * (2.0 - 1.0j), groups)
    for group, parts in before.items():
        np.testing.assert_allclose(after[group], parts, atol=1e-12)
    assert sum(before.values()) == pytest.approx(np.ones(5), abs=1e-12)
    weave = next(mode for mode in line.modes if mode.name == "weave")
    assert weave.participation["frame.lean"] == pytest.approx(0.44, abs=0.01)


def test_without_names_of_the_model_modes_are_called_by_what_takes_part(bicycle):
    line = ns.linearize(bicycle, {"speed": 5.0})
    states = [s.name for s in line.states]
    groups = state_groups(line.A, [c.name for c in line.coordinates], states)
    found = modes_of(line.eigenvalues, line.eigenvectors, states, groups)
    assert [mode.name for mode in found] == [
        "speed mode", "lean–steer mode", "lean–steer oscillation", "steer mode",
    ]  # fmt: skip
    assert short_names(["a.angle", "b.angle", "rail.position", "base.yaw_rate"]) == {
        "a.angle": "a", "b.angle": "b", "rail.position": "rail", "base.yaw_rate": "yaw rate",
    }  # fmt: skip
    # what would stand for two is said in full
    assert short_names(["left.x", "right.x"]) == {"left.x": "left.x", "right.x": "right.x"}
    assert general_name({}, True) == "oscillation"


def test_equal_names_are_numbered():
    """Two masses on springs: both take part in both modes."""
    stiffness = np.array([[2.0, -1.0], [-1.0, 2.0]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, np.zeros((2, 2))]])
    values, vectors = np.linalg.eig(A)
    order = np.argsort(np.abs(values))
    states = ["a.position", "b.position", "a.speed", "b.speed"]
    groups = state_groups(A, states[:2], states)
    found = modes_of(values[order], vectors[:, order], states, groups)
    assert [mode.name for mode in found] == ["a–b oscillation 1", "a–b oscillation 2"]
    assert [mode.frequency * 2 * math.pi for mode in found] == pytest.approx([1.0, math.sqrt(3)])


def crossing(rng, count):
    """Five real modes that cross each other, along vectors that turn slowly; in no order."""
    x = np.linspace(0.0, 1.0, count)
    phase, rate = rng.uniform(0.0, 6.0, 5), rng.uniform(2.0, 8.0, 5)
    branches = -2.0 + np.sin(rate * x[:, None] + phase)
    T, turn = np.linalg.qr(rng.normal(size=(5, 5)))[0], 0.2 * rng.normal(size=(5, 5))
    table, vectors = [], []
    for t, row in zip(x, branches, strict=True):
        S = T + t * turn
        values, found = np.linalg.eig(S @ np.diag(row) @ np.linalg.inv(S))
        order = rng.permutation(5)
        table.append(values[order].astype(complex))
        vectors.append(found[:, order])
    return x, branches, np.array(table), np.array(vectors)


def test_crossings_are_followed_by_vectors(rng):
    """On ten points, where eigenvalues alone are lost."""
    followed_well = {True: 0, False: 0}
    for _ in range(20):
        x, branches, table, vectors = crossing(rng, 10)
        first = np.argsort(branches[0])
        for known in (True, False):
            order = followed(x, table, vectors if known else np.zeros((0, 0, 0)))
            got = np.take_along_axis(table, order, axis=1)
            followed_well[known] += bool(np.allclose(got, branches[:, first], atol=1e-9))
    assert followed_well[True] >= 18 > 5 > followed_well[False]


def test_a_disk_parts_two_real_modes_at_zero(system_of):
    """Two real ones of opposite sign meet at zero and oscillate from there on: one mode."""
    found = ns.sweep_eigenvalues(
        system_of("rolling-disk"),
        "disk.spin_rate",
        np.linspace(0.0, 6.0, 13),
        about={"disk.tilt": math.pi / 2},
    )
    turning = [mode for mode in found.modes if np.any(np.abs(mode.eigenvalues.imag) > 1e-3)]
    (mode,) = turning
    assert mode.name == "tilt–yaw rate oscillation"
    assert mode.eigenvalues[0].real == pytest.approx(mode.eigenvalues[0].real[::-1] * -1)
    assert f"{found.limits[0]:.10g} rad/s (tilt–yaw rate oscillation)" in found.text()


def test_modes_without_vectors_have_no_names():
    x = np.linspace(0.0, 1.0, 3)
    found = SweptMode.follow(x, np.column_stack([-1 - x, x + 0j]), np.zeros((0, 0, 0)), ())
    assert [mode.name for mode in found] == ["", ""]
    assert found[1].words(x, (0.25,), 1e-9, "s") == "monotone, grows above 0.25 s"


def test_names_of_modes_in_files(tmp_path, refuses):
    model = ns.load("whipple-bicycle")
    path = tmp_path / "bicycle.toml"
    ns.save_model(model, path)
    assert ns.load(path).modes == model.modes and len(model.modes) == 3
    text = path.read_text()
    assert "[modes.weave]" in text and "oscillates = true" in text
    path.write_text(text.replace('coordinate = "frame.lean"', 'coordinate = "frame.len"'))
    with refuses(ns.ModelError, "to coordinate or angle 'frame.len'", "bicycle.toml"):
        ns.load(path)
