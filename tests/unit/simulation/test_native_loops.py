"""Compiled code kept on disk: when it is used again, when it is renewed, and where it goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from native_runs import KEPLER_START, growing, kepler, run

import noslip
from noslip.simulation.native import sources
from noslip.simulation.single import loop

PACKAGE = Path(noslip.__file__).parent
LOOPS = (
    *("single.loop", "single.report", "single.across", "single.events"),
    *("batches.loop", "batches.events", "recorded_loop"),
)

PART = """
from noslip.simulation.native import native

@native
def times(x):
    return 2.0 * x
"""
WHOLE = """
from noslip.simulation.native import PLAIN, cached
from noslip.simulation.part import (
    times,
)

@cached(PLAIN)
def whole(x):
    return times(x) + 1.0
"""
USE = """
import json
from noslip.simulation.native import is_on_disk
from noslip.simulation.whole import whole

before, value = is_on_disk(whole), whole(3.0)
print(json.dumps([before, value, len(whole.stats.cache_misses), is_on_disk(whole)]))
"""


@pytest.fixture
def package(tmp_path):
    """A package of its own with a cached function in one file and a part of it in another."""
    simulation = tmp_path / "noslip" / "simulation"
    simulation.mkdir(parents=True)
    for folder in (simulation, simulation.parent):
        (folder / "__init__.py").touch()
    shutil.copy(PACKAGE / "simulation" / "native.py", simulation)
    (simulation / "part.py").write_text(PART)
    (simulation / "whole.py").write_text(WHOLE)
    return tmp_path


def use(package, **environment):
    """In another process: code was on disk, value, times compiled, code is on disk."""
    environment = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env=kept | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def test_code_on_disk_is_renewed_when_a_part_in_another_file_changes(package):
    assert use(package) == [False, 7.0, 1, True]
    assert use(package) == [True, 7.0, 0, True]
    part = package / "noslip" / "simulation" / "part.py"
    part.write_text(PART.replace("2.0", "5.0"))
    assert use(package) == [False, 16.0, 1, True]


def test_package_that_cannot_be_written_to_keeps_code_in_the_users_folder(package, tmp_path):
    # not even an administrator makes a folder where a file is
    (package / "noslip" / "simulation" / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.mkdir()
    folders = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "caches")}
    assert use(package, **folders) == [False, 7.0, 1, True]
    assert use(package, **folders) == [True, 7.0, 0, True]


def test_code_is_compiled_where_nothing_can_be_kept(package, tmp_path):
    (package / "noslip" / "simulation" / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    folders = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
    _, value, _, _ = use(package, **folders)
    assert value == 7.0


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_made_from_the_files_that_its_import_loads(name):
    script = (
        f"import sys, noslip.simulation.{name}\n"
        "files = {m.__file__ for n, m in sys.modules.items() if n.startswith('noslip.')}\n"
        "print(*files, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = {Path(line) for line in done.stdout.splitlines()}
    path = PACKAGE.joinpath("simulation", *name.split(".")).with_suffix(".py")
    assert set(sources(path)) == {file for file in loaded if file.name != "__init__.py"}


def test_one_compiled_loop_serves_all_models():
    run(growing, [1.0], 1.0)
    run(kepler, KEPLER_START, 1.0, sample_times=np.linspace(0.0, 1.0, 3))
    assert len(loop.integrate.signatures) == 1


ANOTHER_PROCESS = """
import ctypes
from noslip.simulation.single import loop
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.runner import run_native

@ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 5)
def rates(t, x, u, p, out):
    out[0] = 2.0

plan = IntegrationPlan(
    rates=ctypes.cast(rates, ctypes.c_void_p).value, parameters=(), start_time=0.0, end_time=1.0,
    start_state=[1.0], absolute_tolerance=[1e-9],
)
print(run_native(plan).state[0], sum(loop.integrate.stats.cache_misses.values()))
"""


def test_another_process_does_not_compile_the_loop_again():
    run(growing, [1.0], 1.0)
    printed = subprocess.run(
        [sys.executable, "-c", ANOTHER_PROCESS], check=True, capture_output=True, text=True
    ).stdout
    state, misses = printed.split()
    assert float(state) == pytest.approx(3.0)
    assert misses == "0"


def test_the_first_run_on_a_machine_announces_its_compilation_and_the_next_does_not(tmp_path):
    script = (
        "import noslip as ns\n"
        "from noslip.cli.progress import announce_compilation\n"
        "from noslip.simulation.native import is_on_disk\n"
        "from noslip.simulation.single.loop import integrate\n"
        "print(is_on_disk(integrate))\n"
        "announce_compilation()\n"
        "ns.simulate(ns.compile(ns.derive(ns.load('knife-edge'))), duration=0.1)\n"
        "print(is_on_disk(integrate))\n"
        "announce_compilation()\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
    assert done.stderr.count("compiling the integrator for this machine, once") == 1
