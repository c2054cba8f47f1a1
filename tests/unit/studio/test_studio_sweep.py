"""A sweep in the studio: a table of points, and the motion of the one that is clicked."""

import numpy as np
import pytest

import noslip as ns
from noslip.studio.page.sweep_panel import ACROSS, DOWN, SweepPoints


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "slopes"
    ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x", "history:skate.x"],
        vary={"slope": "0.1:0.4:11", "m": "1:2:3"},
        where=["m*slope < 0.75"],
        duration=0.5,
        samples=6,
        folder=folder,
    )
    return folder


def test_the_table_holds_points_and_their_values(swept):
    points, data = SweepPoints(swept), ns.open_sweep(swept)
    assert points.measures == ("final:skate.x",)  # a history is no number
    rows = points.table("final:skate.x")
    assert len(rows) == DOWN and len(rows[0].points) == 3 <= ACROSS
    assert rows[0].label == "slope = 0.1" and rows[-1].label == "slope = 0.4"
    for row in rows:
        assert len(set(row.texts)) == len(row.texts)
        for text, point in zip(row.texts, row.points, strict=True):
            at = np.unravel_index(point, (11, 3))
            value = float(data["final:skate.x"].values[at])
            assert text.rstrip("\u200b") == (f"{value:.4g}" if np.isfinite(value) else "excluded")
    assert "m: 1, 1.5, 2" in points.title("final:skate.x")


def test_the_motion_of_a_point_is_that_of_the_sweep(swept):
    points, data = SweepPoints(swept), ns.open_sweep(swept)
    point = points.table("final:skate.x")[2].points[1]
    values = points.values(point)
    run = points.run(point)
    expected = data["final:skate.x"].sel(slope=values["slope"], m=values["m"])
    assert run["skate.x"][-1] == pytest.approx(float(expected), rel=1e-9)
    assert run.parameters["m"] == values["m"] == 1.5
    assert "m = 1.5 kg" in points.text(point) and "finished" in points.text(point)


def test_least_typical_and_largest(swept):
    points, data = SweepPoints(swept), ns.open_sweep(swept)
    chosen, flat = points.chosen("final:skate.x"), data["final:skate.x"].values.ravel()
    assert flat[chosen["least"]] == np.nanmin(flat) and flat[chosen["largest"]] == np.nanmax(flat)
    assert flat[chosen["least"]] <= flat[chosen["typical"]] <= flat[chosen["largest"]]


def test_samples_and_further_factors(tmp_path):
    ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x"],
        vary={"slope": [0.1, 0.2], "g": [9.0, 10.0]},
        sample={"m": "uniform:1,2"},
        draws=4,
        duration=0.2,
        folder=tmp_path / "s",
    )
    points = SweepPoints(tmp_path / "s")
    assert sum(points.further.values()) == 2
    first, second = (points.table("final:skate.x", [k])[0].points for k in (0, 1))
    assert points.values(first[0]) != points.values(second[0])


def test_what_does_not_move_and_what_is_no_sweep_is_refused(tmp_path, refuses):
    ns.sweep(
        ns.load("chaplygin-sleigh"),
        ["kinetic_energy"],
        vary={"sleigh.vx": [1.0, 2.0]},
        work="evaluate",
        folder=tmp_path / "instants",
    )
    with refuses(ns.SimulationError, "no motion to show", "sweep", "report"):
        SweepPoints(tmp_path / "instants")
    with pytest.raises(ns.NoslipError):
        SweepPoints(tmp_path)
