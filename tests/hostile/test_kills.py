"""Commands killed at a random moment, and commands at once: no half folder, no lost run."""

import subprocess
import sys
from pathlib import Path

import pytest

VICTIMS = Path(__file__).with_name("victims.py")


def victims(folder, *words):
    """What the script prints, after its end without an error."""
    command = [sys.executable, str(VICTIMS), *map(str, words), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.slow
def test_kills_leave_whole_runs_and_what_is_removed_later(tmp_path, pytestconfig):
    """Of run, track, a run that replaces another, and a batch."""
    count = 100 if pytestconfig.getoption("--long") else 5
    lines = victims(tmp_path, "kill", 16, count)
    assert len(lines) == count
    if count > 50:
        assert any("left 1" in line for line in lines), "some kills come while files are written"


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
