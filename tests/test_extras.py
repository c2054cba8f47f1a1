"""What works without the optional dependencies, and what is said where one is missing."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main

WITHOUT_VISER = """
import sys
sys.modules["viser"] = None
import noslip
[getattr(noslip, name) for name in noslip.__all__]
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
    assert error.value.fix == 'pip install "noslip[animation]"'
    assert ns.animate(run, tmp_path / "sleigh.png").stat().st_size > 0


def test_everything_else_works_in_an_interpreter_without_viser(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_VISER], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "sleigh" / "report.html").read_text(encoding="utf-8")
    assert "<iframe" not in page
    assert '<img alt="chaplygin-sleigh at the end of the run' in page
    assert 'pip install "noslip[animation]"' in page
