"""Parts that can be deleted: without `studio`, `sweeps` or `bridges` the rest works.

A copy of the package without the part is imported whole, its commands are asked for, a model is
checked, derived, run and reported. Without all three unit tests of the core pass; with ``--long``
all tests of the rest, without each.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noslip.base.public import homes, public_places

ROOT = Path(__file__).parent.parent
PARTS = ("studio", "sweeps", "bridges")
#: Commands that go with a part.
COMMANDS = {"studio": ("studio",), "sweeps": ("sweep",), "bridges": ("import", "export")}
#: Tests of the core that a second or two are enough for.
CORE = (
    *(
        "tests/unit/kinematics/test_elimination.py",
        "tests/unit/model/test_checks.py",
        "tests/unit/simulation/test_trajectory.py",
    ),
    *("tests/unit/formulations/test_composite.py", "tests/unit/show/test_run_folder.py"),
)
#: Tests that go through all of noslip: every name, every page, every extra, every family.
WHOLE = (
    *("test_layers", "test_public_api", "test_docs", "test_extras", "test_packaging", "test_site"),
    *("test_parts_deleted", "test_errors", "test_own_members", "test_own_formats"),
    *("test_own_studies", "test_examples", "test_gallery", "test_newcomers", "test_cli"),
)


def python(folder, *words, timeout=300):
    """Python with the package of a folder."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder, capture_output=True, text=True, timeout=timeout,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
    )  # fmt: skip


def without(folder, *parts):
    """A copy of the package and of its tests without parts and what names them."""
    shutil.copytree(ROOT / "src/noslip", folder / "src/noslip", ignore=skipping(parts))
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(
        ROOT / "tests", folder / "tests", ignore=lambda *_: ["__pycache__", "browser", "corpus"]
    )
    names = [names_of(part) for part in parts]
    for path in (folder / "tests").rglob("test_*.py"):
        text = path.read_text()
        if path.stem in WHOLE or any(name.search(text) for name in names):
            path.unlink()
    return folder


def skipping(parts):
    package = str(ROOT / "src/noslip")
    return lambda folder, _: [*parts, "__pycache__"] if folder == package else ["__pycache__"]


def names_of(part):
    """What a test says that needs a part: its modules, its public names, its commands."""
    public = [
        name
        for module in set(public_places().values())
        for name, home in homes(module).items()
        if home.split(".")[1:2] == [part]
    ]
    said = [rf"noslip\.{part}\b", rf"tests/unit/{part}"]
    said += [rf"\bns\.(\w+\.)?{name}\b|import[^\n]*\b{name}\b" for name in public]
    # not "from noslip import Model"
    said += [rf"\"{word}\"|(?<!from )noslip {word}\b" for word in COMMANDS[part]]
    return re.compile("|".join(said))


@pytest.fixture(scope="module", params=PARTS)
def part(request):
    return request.param


@pytest.fixture(scope="module")
def rest(part, tmp_path_factory):
    return without(tmp_path_factory.mktemp(part), part)


IMPORTS = """
import importlib, pkgutil, sys, noslip
for module in pkgutil.walk_packages(noslip.__path__, "noslip."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        print(module.name, error.name)
"""


@pytest.mark.slow
def test_the_rest_is_imported(part, rest):
    """Nothing needs the part but modules that are about it, which nothing imports unasked."""
    done = python(rest, "-c", IMPORTS)
    assert done.returncode == 0, done.stderr
    failed = dict(line.split() for line in done.stdout.splitlines())
    assert set(failed.values()) <= {f"noslip.{part}"}
    about = {
        ".".join(path.relative_to(rest / "src").with_suffix("").parts)
        for path in (rest / "src/noslip").rglob("*.py")
        if re.search(rf"^from noslip\.{part} import", path.read_text(), re.MULTILINE)
    }
    assert set(failed) <= about


COMMANDS_OF_THE_REST = """
import sys
from click.testing import CliRunner
from noslip.cli import main

def ask(*words, code=0):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, (words, done.output, done.exception)
    return done.output

gone = sys.argv[1:]
listed = ask("--help")
assert not any(f"\\n  {word} " in listed for word in gone)
assert "\\n  run " in listed
assert not any(f"noslip {word} " in ask() for word in gone)
for word in gone:
    for rest in ((), ("--help",), ("agv",)):
        said = ask(word, *rest, code=1)
        assert "without its part" in said and "install noslip whole" in said
assert "rolling-disk" in ask("list")
ask("check", "knife-edge")
assert "equations" in ask("derive", "knife-edge").lower()
ask("run", "knife-edge", "--duration", "0.1", "-o", "run")
assert "knife-edge" in open("run/report.html").read()
ask("plot", "run", "-o", "run.png")
ask("new", "robot.toml", "--kind", "differential")
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return without(tmp_path_factory.mktemp("bare"), *PARTS)


@pytest.mark.slow
def test_commands_work_without_any_part(bare):
    gone = [word for words in COMMANDS.values() for word in words]
    done = python(bare, "-c", COMMANDS_OF_THE_REST, *gone)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_commands_of_the_rest_work(part, rest):
    done = python(rest, "-c", COMMANDS_OF_THE_REST, *COMMANDS[part])
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_public_names_of_the_part_say_what_is_missing(part, rest):
    name = {"studio": None, "sweeps": "sweep", "bridges": "export"}[part]
    if name is None:
        pytest.skip("the studio has no public names")
    done = python(rest, "-c", f"import noslip; noslip.{name}")
    assert f"without its part '{part}'" in done.stderr


@pytest.mark.slow
def test_unit_tests_of_the_core_pass(bare):
    assert all((bare / name).exists() for name in CORE)
    words = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow")
    done = python(bare, *words, *CORE)
    assert done.returncode == 0, done.stdout[-3000:]


def test_all_tests_of_the_rest_pass(part, rest, pytestconfig):
    if not pytestconfig.getoption("--long"):
        pytest.skip("asks for --long: the suite without a part")
    words = ("-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider")
    done = python(rest, *words, "tests", timeout=3600)
    assert done.returncode == 0, done.stdout[-5000:]
