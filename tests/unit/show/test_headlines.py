"""Headline numbers of runs, and runs side by side."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from runs_to_plot import run_of, system_of, tracked

import noslip as ns
from noslip.cli.main import main
from noslip.show.comparison import ComparedNumber
from noslip.show.displays import comparison_html
from noslip.show.headlines import headlines


def wider():
    return ns.run_scenario(system_of("agv"), changes={"R": 1.5}, duration=45.0)


def test_headlines_are_the_numbers_of_the_run():
    run = tracked()
    found = {h.name: h for h in headlines(run)}
    speed = np.hypot(run["platform.vx"], run["platform.vy"])
    assert found["top speed of platform"].value == pytest.approx(speed.max(), rel=1e-12)
    # an arc length by another rule: chords of the path
    chords = np.hypot(np.diff(run["platform.x"]), np.diff(run["platform.y"])).sum()
    assert found["distance of platform"].value == pytest.approx(chords, rel=1e-3)
    assert found["peak of torque1"].value == np.max(np.abs(run["torque1"]))
    power = sum(run[f"power.{q.name}"] for q in run.input_quantities)
    assert found["peak power"].value == pytest.approx(np.max(np.abs(power)), rel=1e-12)
    assert found["path error, largest"].value == run.path_errors.largest > 0.01
    assert found["final platform.x"].value == run["platform.x"][-1]
    assert found["final wheel1.rate"].unit == "rad/s"


def test_what_differs_is_in_the_table_and_what_does_not_is_counted():
    first, second = run_of("agv"), wider()
    found = ns.compare(first, second, labels=["small", "wide"])
    rows = {row.name: row for row in found.different if row.name != "tracking error"}
    assert rows["R"].values == (1.0, 1.5)
    assert rows["time at the end"].values == (first.t[-1], second.t[-1])
    fast = rows["peak of torque1"]
    assert fast.difference == fast.values[1] - fast.values[0] != 0
    lines = found.text().splitlines()
    assert lines[0].split() == ["small", "wide", "difference"]
    assert any(line.startswith("final platform.x") and line.endswith(" m") for line in lines)
    assert len(lines) == 2 + len(found.different)
    # both circles are followed, within the tolerance of the runs
    assert all(row.unit != "m" for row in found.different if row.name == "tracking error")
    html = comparison_html(found)
    assert "<svg" in html and "wide" in html and f'value="{float(second.t[-1])!r}"' in html


def test_parameters_and_other_models():
    system = system_of("chaplygin-sleigh")
    light, heavy = (ns.run_scenario(system, changes={"m": m}) for m in (1.0, 2.0))
    found = ns.compare(light, heavy)
    assert [(row.name, row.values) for row in found.parameters] == [("m", (1.0, 2.0))]
    other = ns.compare(light, run_of("agv"), light)
    row = next(r for r in other.numbers if r.name == "final platform.x")
    assert np.isnan(row.values[0]) and not row.is_same
    assert "–" in other.text() and "difference" not in other.text()


def test_what_cannot_be_compared_is_refused():
    run = run_of("agv")
    with pytest.raises(ns.SimulationError, match="1 run cannot be compared"):
        ns.compare(run)
    with pytest.raises(TypeError, match="run 2 is str"):
        ns.compare(run, "agv")
    with pytest.raises(ns.SimulationError, match="one label a run"):
        ns.compare(run, run, labels=["a"])


def test_the_command_compares_a_model_with_its_variants(tmp_path):
    figure = tmp_path / "both.svg"
    runner = CliRunner()
    done = runner.invoke(
        main, ["compare", "chaplygin-sleigh", "--with", "m=2", "-o", str(figure), "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["runs"] == ["chaplygin-sleigh", "m=2"]
    assert found["parameters"]["m"]["values"][1] == 2.0
    assert figure.read_text().lstrip().startswith("<?xml")
    # folders of runs
    for name, m in (("light", 1.0), ("heavy", 2.0)):
        run = ns.run_scenario(system_of("chaplygin-sleigh"), changes={"m": m})
        ns.write_run(run, tmp_path / name, plots=False)
    done = runner.invoke(main, ["compare", str(tmp_path / "light"), str(tmp_path / "heavy")])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].split() == ["light", "heavy", "difference"]
    refused = runner.invoke(main, ["compare", str(tmp_path / "light"), "--with", "m=2"])
    assert refused.exit_code == 2 and "--with belongs to one model" in refused.output


def test_the_command_compares_methods_with_their_costates():
    """Both ends of [AntunesSigaudMoraes2010, App. D], from independent integrations."""
    words = ["compare", "chaplygin-sleigh", "--method", "dalembert", "--method", "vakonomic"]
    words += ["--set", "costate.blade.lateral=0.6", "--tolerance", "1e-12", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["runs"] == ["dalembert", "vakonomic"]
    ends = [found["numbers"][f"final sleigh.{name}"]["values"] for name in ("x", "y", "angle")]
    real, other = zip(*ends, strict=True)
    assert real == pytest.approx((-2.0379829061878, 3.85889840271744, 2.43987477414724), abs=1e-9)
    assert other == pytest.approx((0.799063124656168, 3.45695993219867, 4.69301382388895), abs=1e-9)
    assert found["parameters"]["start costate.blade.lateral"]["values"][1] == 0.6
    runner = CliRunner()
    for wrong in (words[:4], [*words[:6], "--with", "m=2"], [*words[:6], "agv"]):
        refused = runner.invoke(main, wrong)
        assert refused.exit_code == 2 and "--method belongs to one model" in refused.output
    refused = runner.invoke(main, ["compare", "agv", "carriage", "--set", "m=1"])
    assert refused.exit_code == 2 and "--set belongs to --method" in refused.output


def test_what_is_rounding_in_one_run_is_zero_beside_another():
    row = ComparedNumber("final cart.vx", "m/s", (3e-13, 0.2), False, 1e-12)
    assert row.shown == (0.0, 0.2, 0.2 - 3e-13)
