"""`noslip run` ends with what the motion asks of the ground, in text, numbers and a picture."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.analysis.audit import audit
from noslip.cli import main
from noslip.show.plots import friction_figure, run_figures


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(main, list(words), catch_exceptions=False)


def test_run_ends_with_the_verdict(invoke):
    result = invoke("run", "agv", "--friction", "0.6", "-o", "out")
    assert result.exit_code == 0
    last = result.output.splitlines()[-1]
    assert last.startswith("  no slip              holds with friction 0.6: margin 0.59")
    numbers = json.loads(Path("out/summary.json").read_text())["audit"]
    assert (numbers["friction"], numbers["verdict"]) == (0.6, "holds")
    assert numbers["wheels"]["wheel1"]["largest_demand"] == pytest.approx(0.00622, rel=1e-2)
    assert last in Path("out/summary.txt").read_text()
    assert Path("out/friction.png").exists()


def test_a_faster_circle_fails_and_says_where(invoke):
    fast = ("run", "agv", "--set", "T=6", "--duration", "6", "--no-plots")
    result = invoke(*fast, "--friction", "0.6", "-o", "fast")
    assert result.exit_code == 0
    assert "fails with friction 0.6: however the wheels share, 0.636 is needed" in result.output
    assert "wheel1 needs 0.89 at t = 3.09 s, 0.29 too much (from 2.3 to 3.91 s)" in result.output
    # the same without a coefficient: demand, no verdict
    silent = invoke(*fast, "--json", "-o", "silent")
    numbers = json.loads(silent.output)["audit"]
    assert numbers["friction"] is None and numbers["verdict"] == "unknown"
    assert numbers["required_friction"] == pytest.approx(0.636, abs=1e-3)


def test_models_that_do_not_roll_have_no_audit(invoke):
    result = invoke("run", "manipulator-2r", "--duration", "0.1", "--friction", "1", "-o", "arm")
    assert result.exit_code == 0 and "no slip" not in result.output
    assert "audit" not in json.loads(Path("arm/summary.json").read_text())
    assert not Path("arm/friction.png").exists()
    # wheels without loads: a line, and no picture
    result = invoke("run", "carriage", "--friction", "1", "-o", "carriage")
    assert "no verdict: the loads of wheel1, wheel2 are not known" in result.output
    assert not Path("carriage/friction.png").exists()


def test_friction_is_not_negative(invoke):
    result = invoke("run", "agv", "--friction", "-0.1")
    assert result.exit_code == 2 and "--friction" in result.output


def test_figure_shows_every_wheel_its_range_and_the_ground():
    system = ns.compile(ns.derive(ns.load("agv")))
    run = ns.run_scenario(system, changes={"T": 6.0}, duration=6.0).trajectory
    found = audit(system, run, friction=0.6)
    demand, load = friction_figure(found).axes
    curves = {line.get_label(): line.get_ydata() for line in demand.lines}
    assert set(curves) == {"wheel1", "wheel2", "wheel3", "best split", "ground"}
    assert np.array_equal(curves["wheel1"], found["wheel1"].demand)
    assert [line.get_label() for line in load.lines] == ["wheel1", "wheel2", "wheel3"]
    assert load.get_ylim()[0] <= 0.0 and demand.get_ylim()[1] > 0.6
    assert "friction" in run_figures(run, {}, found) and "friction" not in run_figures(run, {})
