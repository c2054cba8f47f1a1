"""Run folders: what is written is read back, and folders that are no runs are refused."""

import dataclasses
import json

import numpy as np
import pytest

import noslip as ns
from noslip.show.run_folder import FIELDS, NEW, SUMMARY
from noslip.web import live_run


def test_a_run_is_read_back_as_it_was_written(system_of, tmp_path):
    system = system_of("agv")
    run = ns.run_scenario(system, duration=3.0)
    run.to_csv(tmp_path / "before.csv")
    ns.write_run(run, tmp_path / "run", plots=False)
    back = ns.read_run(tmp_path / "run")
    assert back.model == dataclasses.replace(run.model, scenario=run.scenario)
    assert back.scenario == run.scenario and back.parameters == run.parameters
    assert list(back.columns) == list(run.columns)
    for name, (unit, values) in run.columns.items():
        assert back.columns[name][0] == unit
        assert np.array_equal(back[name], values), name
    assert np.allclose(back.position_residuals, run.position_residuals, atol=1e-15)
    assert (back.ending, back.message, back.steps) == (run.ending, run.message, run.steps)
    back.to_csv(tmp_path / "after.csv")
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()


def test_runs_of_every_kind_are_written(system_of, tmp_path):
    """What `simulate` and `track` return leaves the same folder as a scenario."""
    system = system_of("carriage")
    run = ns.simulate(system, duration=0.5, start={"carriage.vx": 1.0})
    back = ns.read_run(ns.write_run(run, tmp_path / "simulated", plots=False))
    assert np.array_equal(back["carriage.x"], run["carriage.x"]) and back["carriage.x"][-1] > 0.4
    line = ns.paths.Line(start=(0.0, 0.0), end=(2.0, 0.0))
    tracked = ns.track(system, line, timing=ns.timing.Quintic(3.0))
    folder = ns.write_run(tracked, tmp_path / "tracked", plots=False)
    assert "tracking error" in (folder / "summary.txt").read_text("utf-8")
    with pytest.raises(TypeError, match="write_run takes a run, got int"):
        ns.write_run(3, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_folder_says_what_was_run(system_of, tmp_path):
    """So that its run can be repeated, by a live page too; other runs are of no scenario."""
    system = system_of("carriage")
    changes = {"M": 9.0, "carriage.vx": 0.7}
    run = ns.run_scenario(system, changes=changes, duration=2.0)
    back = ns.read_run(ns.write_run(run, tmp_path / "run", plots=False))
    again = ns.run_scenario(ns.compile(ns.derive(back.model)), changes=back.parameters)
    assert np.array_equal(again["carriage.x"], run["carriage.x"])
    live = live_run(back, with_picture=False)
    assert live.values["M"] == 9.0 and live.start["carriage.vx"] == 0.7
    assert live.scenario.duration == 2.0
    free = ns.write_run(ns.simulate(system, duration=0.5), tmp_path / "free", plots=False)
    assert ns.read_run(free).scenario is None


def test_folders_that_are_no_runs_are_refused(tmp_path, refuses, system_of):
    with refuses(ns.SimulationError, "has no model.toml", str(tmp_path), "noslip run"):
        ns.read_run(tmp_path)
    result = ns.run_scenario(system_of("knife-edge"), duration=0.5)
    folder = ns.write_run(result, tmp_path / "run", plots=False)
    (folder / "trajectory.nc").write_bytes(b"no netcdf")
    with refuses(ns.SimulationError, "damaged", "run", "simulate again"):
        ns.read_run(folder)


def test_every_shared_entry_of_the_summary_is_read_back(system_of, tmp_path):
    run = ns.run_scenario(system_of("knife-edge"), duration=0.5)
    folder = ns.write_run(run, tmp_path / "run", plots=False)
    entries = json.loads((folder / SUMMARY).read_text("utf-8"))
    back = ns.read_run(folder)
    for key, field in FIELDS.items():
        assert getattr(back, field) == getattr(run, field)
        assert entries[key] == json.loads(json.dumps(getattr(run, field)))
    # a folder of an earlier version
    kept = {key: value for key, value in entries.items() if key not in NEW}
    (folder / SUMMARY).write_text(json.dumps(kept), "utf-8")
    assert ns.read_run(folder).ended_by is None
