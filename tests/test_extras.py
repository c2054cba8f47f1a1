"""What works without the optional dependencies, and what is said where one is missing."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base.errors import EXTRAS
from noslip.cli import main

ROOT = Path(__file__).parent.parent

WITHOUT_VISER = """
import sys
sys.modules["viser"] = None
import noslip
from importlib import import_module
from noslip.base.public import public_places
[getattr(import_module(module), name) for name, module in public_places().items()]
from noslip.cli import main
main(["run", "chaplygin-sleigh", "-o", "sleigh"])
"""


@pytest.fixture
def without_viser(monkeypatch):
    """An interpreter in which viser cannot be imported."""
    monkeypatch.setitem(sys.modules, "viser", None)


def test_the_studio_names_its_extra(without_viser):
    done = CliRunner().invoke(main, ["studio", "agv", "--no-browser"])
    assert done.exit_code == 1
    assert "the studio needs the package viser, which is not installed" in done.output
    assert "where  noslip studio" in done.output
    assert 'fix    pip install "noslip[studio]"' in done.output


def test_an_animation_as_a_page_names_its_extra(without_viser, system_of, tmp_path):
    run = ns.run_scenario(system_of("chaplygin-sleigh"))
    with pytest.raises(ns.SimulationError, match="needs the package viser") as error:
        ns.animate(run, tmp_path / "sleigh.html")
    assert error.value.fix == 'pip install "noslip[show]"'
    assert ns.animate(run, tmp_path / "sleigh.png").stat().st_size > 0


def test_everything_else_works_in_an_interpreter_without_viser(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_VISER], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "sleigh" / "report.html").read_text(encoding="utf-8")
    assert page.count("<iframe") == page.count(', simulated in this page" loading') == 1
    assert '<img alt="chaplygin-sleigh at the end of the run' in page
    assert 'pip install "noslip[show]"' in page


#: Every optional package; the core must do without all of them.
OPTIONAL = sorted(EXTRAS)

BARE = f"""
import sys
OPTIONAL = {OPTIONAL!r}
# SciPy looks for these two among the modules that are loaded, and takes what it finds for them
sys.modules.update(dict.fromkeys(set(OPTIONAL) - {{"jax", "torch"}}))
"""


def bare(code, folder):
    """Run Python in a process in which no optional package can be imported."""
    return subprocess.run(
        [sys.executable, "-c", BARE + code], cwd=folder, capture_output=True, text=True, timeout=120
    )


def test_the_core_runs_and_derives_without_any_optional_package(tmp_path):
    code = """
from noslip.cli import main
main(["run", "chaplygin-sleigh", "-o", "sleigh"], standalone_mode=False)
assert "sympy" not in sys.modules  # only what writes equations takes it
main(["derive", "rolling-disk"], standalone_mode=False)
main(["derive", "whipple-bicycle", "--linear", "speed"], standalone_mode=False)
main(["linearize", "rolling-disk", "--sweep", "disk.spin_rate=-8:-1:3", "--set", "disk.tilt=pi/2"],
     standalone_mode=False)
import noslip as ns
batch = ns.simulate_batch(ns.compile(ns.derive(ns.load("rolling-disk"))), duration=0.2, samples=3,
    start={"disk.tilt": [1.2, 1.3]}, keep=["samples"])
batch.to_netcdf("batch.nc")
print(sorted(m for m in sys.modules if m.split(".")[0] in OPTIONAL and sys.modules[m]))
"""  # fmt: skip
    done = bare(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        'note: figures and a report need more packages: pip install "noslip[show]"' in done.stderr
    )
    assert 'note: a chart needs more packages: pip install "noslip[show]"' in done.stderr
    assert "eigenvalues [1/s] over disk.spin_rate" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"sleigh", "batch.nc"}
    assert {path.name for path in (tmp_path / "sleigh").iterdir() if path.suffix} == {
        "trajectory.nc", "trajectory.csv", "model.toml", "summary.json", "summary.txt",
        "manifest.json",
    }  # fmt: skip
    assert "(I_a + m r²) ψ¨ cos(θ)" in done.stdout and "agree with the compiled" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_public_name_without_its_package_says_what_to_install(tmp_path):
    code = """
import noslip as ns
from importlib import import_module
from noslip.base.public import public_places
for name, module in public_places().items():
    try:
        getattr(import_module(module), name)
    except ns.MissingPackageError as error:
        assert isinstance(error, ImportError)
        print(name, "|", error.what, "|", error.where, "|", error.fix)
"""
    done = bare(code, tmp_path)
    assert done.returncode == 0, done.stderr
    told = {line.split(" | ")[0]: line.split(" | ")[1:] for line in done.stdout.splitlines()}
    assert told["plot"] == [
        "the package Matplotlib is not installed", "noslip.plot", 'pip install "noslip[show]"',
    ]  # fmt: skip
    assert set(told) <= {
        "JOINT_TEMPLATES", "JointTemplate", "MethodMatrices", "joint_template", "matrices",
        "paper_figure", "plot", "plot_duty", "plot_eigenvalues", "write_fit_report", "write_report",
    }  # fmt: skip


def test_a_dataset_without_xarray_names_its_extra(monkeypatch, system_of):
    monkeypatch.setitem(sys.modules, "xarray", None)
    run = ns.run_scenario(system_of("chaplygin-sleigh"))
    with pytest.raises(ns.MissingPackageError, match="to_xarray needs the package xarray") as error:
        run.to_xarray()
    assert error.value.fix == 'pip install "noslip[data]"'


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("matplotlib", ["run", "rolling-disk", "--plots"]),
        ("ziamath", ["run", "rolling-disk", "--report"]),
        ("PIL", ["animate", "rolling-disk", "-o", "disk.gif"]),
    ],
    ids=lambda x: x if isinstance(x, str) else x[-1],
)
def test_a_command_without_its_package_says_what_to_install(
    module, words, monkeypatch, tmp_path, derive_once
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    for name in [m for m in sys.modules if m.startswith(("noslip.show", f"{module}."))]:
        monkeypatch.delitem(sys.modules, name)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1, done.output
    assert "is not installed" in done.output and 'fix    pip install "noslip[show]"' in done.output
    assert not any(tmp_path.rglob("*.*"))


def test_every_optional_package_of_the_project_has_a_line():
    """And each is installed by the extra that its line names."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    packages = {"PIL": "pillow", "latex2mathml": "ziamath", "ziafont": "ziamath"}
    packages |= {"pandas": "xarray"}
    for module, (_, extra) in EXTRAS.items():
        wanted = packages.get(module, module.lower())
        assert any(re.match(rf"{wanted}\b", text) for text in extras[extra]), module
    core = {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]}
    assert core.isdisjoint(packages.get(m, m.lower()) for m in EXTRAS)


def test_help_of_the_command_line_imports_no_numpy():
    """It takes 40 ms of 90; who asks for words of commands waits for nothing else."""
    code = """
import sys
from click.testing import CliRunner
from noslip.cli import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
print(sorted({"numpy", "casadi", "importlib.metadata"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
