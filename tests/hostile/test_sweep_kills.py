"""Sweeps whose processes are killed at random moments lose nothing and compute nothing twice."""

import subprocess
import sys
from pathlib import Path

import pytest

VICTIMS = Path(__file__).with_name("sweep_victims.py")


def victims(folder, *words):
    """What the script prints, after its end without an error."""
    command = [sys.executable, str(VICTIMS), *map(str, words), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout.splitlines()


@pytest.mark.slow
def test_a_sweep_on_threads_outlives_kills(tmp_path, pytestconfig):
    count = 40 if pytestconfig.getoption("--long") else 3
    assert victims(tmp_path, "threads", 5, count)


@pytest.mark.slow
def test_a_sweep_on_a_cluster_outlives_kills_of_workers_and_clients(tmp_path, pytestconfig):
    count = 100 if pytestconfig.getoption("--long") else 5
    lines = victims(tmp_path, "dask", 7, count)
    assert len(lines) == count and {"killed a worker", "killed a client"} == set(lines)


@pytest.mark.slow
def test_a_scheduler_that_dies_is_named_and_the_sweep_goes_on_with_another(tmp_path):
    assert victims(tmp_path, "scheduler", 1, 1) == ["killed a scheduler"]
