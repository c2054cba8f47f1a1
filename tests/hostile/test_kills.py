"""Commands killed at a random moment, and commands at once: no half folder, no lost run."""

import subprocess
import sys
from pathlib import Path

import pytest

import noslip as ns

VICTIMS = Path(__file__).with_name("victims.py")


def victims(folder, *words):
    """What the script prints, after its end without an error."""
    command = [sys.executable, str(VICTIMS), *map(str, words), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.slow
def test_kills_leave_whole_runs_and_what_is_removed_later(tmp_path, pytestconfig):
    """Of run, track, a run that replaces another, and a batch, each while it writes its files."""
    count = 100 if pytestconfig.getoption("--long") else 2
    lines = [line.split() for line in victims(tmp_path, "kill", 16, count)]
    for kind in ("run", "track", "force", "batch"):
        left = [int(words[2]) for words in lines if words[0] == kind]
        assert len(left) >= count // 4 + 1, "all moments were tried"
        assert any(left), "kills come while files are written"


@pytest.mark.slow
def test_a_run_that_is_not_whole_is_noticed(tmp_path, system_of):
    from victims import faults

    run = ns.run_scenario(system_of("knife-edge"), duration=0.5)
    folder = ns.write_run(run, tmp_path / "run", plots=False)
    assert not faults(folder)
    for name in ("trajectory.nc", "manifest.json"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 2])
        assert faults(folder)
        (folder / name).unlink()
        assert faults(folder)
        (folder / name).write_bytes(data)
    assert not faults(folder)


@pytest.mark.slow
def test_runs_at_once_each_keep_their_results(tmp_path):
    codes, folders = victims(tmp_path, "together", 2)
    assert codes.split() == ["0"] * 6
    assert folders.split() == sorted(
        [
            *("agv-track", "agv-track-2", "agv-track-3"),
            *("knife-edge", "knife-edge-2", "knife-edge-3"),
            *("same", "same-2"),
        ]
    )
