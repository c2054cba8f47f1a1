"""The wheel: what is in it, what an index shows of it, and that it works in a bare environment."""

import email
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: MB that the core may take beyond CasADi, NumPy, SciPy and llvmlite.
ROOM = 40
LARGE = ("casadi", "numpy", "numpy.libs", "scipy", "scipy.libs", "llvmlite")
#: What a bare environment has before anything is installed.
BARE = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
#: Python, and the newest one.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
#: A bare environment does not see the checkout, which would count as installed.
BARE_VARIABLES = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of this checkout, built from a copy, so that nothing is left behind."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src/noslip", copy / "src/noslip", ignore=lambda *_: ["__pycache__"])
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*build, "-w", folder, "."], cwd=copy, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith("/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_everything_that_is_needed_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if name.startswith("noslip/")}
    source = ROOT / "src"
    own = {
        str(path.relative_to(source))
        for path in (source / "noslip").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert there == own
    assert {"noslip/py.typed", "noslip/__init__.pyi"} <= there
    assert {".py", ".pyi", ".toml", ".c", ".css", ".js"} <= {Path(name).suffix for name in there}


def test_an_index_shows_no_link_that_leads_nowhere(metadata):
    text = metadata.get_payload()
    assert "## Four commands" in text and not re.search(r"\]\((?!https?://|#)", text)


def test_the_versions_of_python_are_declared(metadata):
    named = {text.split(" :: ")[-1] for text in metadata.get_all("Classifier")}
    assert set(VERSIONS) <= named
    assert metadata["Requires-Python"] == ">=3.11"


def test_one_version_everywhere(metadata):
    import noslip

    citation = (ROOT / "CITATION.cff").read_text()
    with (ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert metadata["Version"] == noslip.__version__ == version
    assert re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE)


@pytest.fixture(scope="module")
def environment(wheel, pytestconfig, tmp_path_factory):
    """A bare environment with the wheel and what it depends on."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("asks for --long: installs 700 MB")
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = pip(folder, "install", wheel)
    if "No matching distribution" in done.stderr or "Connection" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return folder


def pip(folder, *words):
    return subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "-q", *words],
        capture_output=True, text=True, timeout=900, env=BARE_VARIABLES,
    )  # fmt: skip


def noslip(folder, *words, cwd):
    return subprocess.run(
        [folder / "bin" / "noslip", *words],
        cwd=cwd, capture_output=True, text=True, timeout=300, env=BARE_VARIABLES,
    )  # fmt: skip


def test_the_core_is_small(environment):
    packages = next(environment.glob("lib/python*/site-packages"))
    sizes = {
        entry.name: sum(f.stat().st_size for f in entry.rglob("*") if f.is_file()) / 1e6
        for entry in packages.iterdir()
        if entry.is_dir() and entry.name not in LARGE + BARE
    }
    assert sum(sizes.values()) <= ROOM, sorted(sizes.items(), key=lambda item: -item[1])[:8]


def test_the_core_runs_in_a_bare_environment(environment, tmp_path):
    done = noslip(environment, "run", "differential-robot", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "trajectory.nc").stat().st_size > 0
    assert 'pip install "noslip[show]"' in done.stderr
    done = noslip(environment, "derive", "rolling-disk", cwd=tmp_path)
    assert done.returncode == 0 and "Equations of motion" in done.stdout
    words = ["--vary", "mass=10,20", "--measure", "final:base.x", "-o", "study"]
    done = noslip(environment, "sweep", "differential-robot", *words, cwd=tmp_path)
    assert done.returncode == 0 and "final:base.x (m)" in done.stdout, done.stderr
    done = noslip(environment, "studio", cwd=tmp_path)
    assert done.returncode == 1 and 'pip install "noslip[studio]"' in done.stderr


def test_twine_accepts_the_wheel(environment, wheel):
    assert pip(environment, "install", "twine").returncode == 0
    check = [environment / "bin" / "python", "-m", "twine", "check", "--strict", wheel]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout


@pytest.mark.parametrize("extra", ["", "[all]"], ids=["core", "all"])
@pytest.mark.parametrize("version", VERSIONS)
def test_wheels_resolve_for_each_python(environment, wheel, version, extra):
    """Everything that is needed is there as a wheel for Linux."""
    done = pip(
        environment, "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:",
        "--python-version", version, "--target", environment / "unused", f"{wheel}{extra}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
