"""Compiled code kept on disk: when it is used again, when it is renewed, and where it goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import noslip
from noslip.simulation.native import sources

PACKAGE = Path(noslip.__file__).parent
LOOPS = ("single.loop", "batches.loop", "batches.events", "recorded_loop")

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
