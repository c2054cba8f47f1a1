"""`noslip run` ends with what the motion asks of the ground, in text, numbers and a picture."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from vehicle_on_a_circle import ground_forces

import noslip as ns
from noslip.analysis.audit import audit
from noslip.cli import main


@pytest.fixture
def invoke(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(main, list(words), catch_exceptions=False)


def audited(system, **scenario):
    """The same scenario in Python."""
    run = ns.run_scenario(system, rtol=1e-9, atol=1e-9, **scenario)
    return audit(system, run, friction=0.6)


def test_run_ends_with_the_verdict(invoke, system_of):
    result = invoke("run", "agv", "--friction", "0.6", "-o", "out")
    assert result.exit_code == 0
    found = audited(system_of("agv"))
    assert result.stdout.endswith(f"\n{found.text()}\n")
    assert found.text() in Path("out/summary.txt").read_text()
    numbers = json.loads(Path("out/summary.json").read_text())["audit"]
    assert numbers == found.to_json()
    assert (numbers["friction"], numbers["verdict"]) == (0.6, "holds")
    largest = max(np.max(wheel.demand) for wheel in found.wheels)
    last = f"  no slip              holds with friction 0.6: margin {0.6 - largest:.3g}"
    assert result.stdout.splitlines()[-1] == last
    assert Path("out/friction.png").exists()


@pytest.mark.parametrize("turn", [60.0, 6.0])
def test_audit_of_a_run_is_that_of_newton_and_euler(invoke, system_of, turn):
    changes = ("--set", f"T={turn}", "--duration", f"{turn}", "--tolerance", "1e-12")
    result = invoke("run", "agv", *changes, "--no-plots", "--json", "-o", "out")
    numbers = json.loads(result.stdout)["audit"]
    t = np.linspace(0.0, turn, 601)
    exact = ground_forces(t, system_of("agv").model.parameter_values(), R=1.0, T=turn)
    for k, name in enumerate(("wheel1", "wheel2", "wheel3")):
        expected = {
            "largest_demand": np.max(exact.demand[:, k]),
            "least_load": np.min(exact.normal[:, k]),
            "largest_load": np.max(exact.normal[:, k]),
            "largest_longitudinal": np.max(np.abs(exact.longitudinal[:, k])),
            "largest_lateral": np.max(np.abs(exact.lateral[:, k])),
        }
        found = {part: numbers["wheels"][name][part] for part in expected}
        assert found == pytest.approx(expected, rel=1e-9), name
        at = t[np.argmax(exact.demand[:, k])]
        assert numbers["wheels"][name]["largest_demand_time"] == pytest.approx(at, rel=1e-12)
    assert numbers["required_friction"] == pytest.approx(np.max(exact.least_friction), rel=1e-9)


def test_a_faster_circle_fails_and_says_where(invoke, system_of):
    fast = ("run", "agv", "--set", "T=6", "--duration", "6", "--no-plots")
    result = invoke(*fast, "--friction", "0.6", "-o", "fast")
    assert result.exit_code == 1
    assert "wheel1 would slip" in result.stderr and "wheel2" not in result.stderr
    t = np.linspace(0.0, 6.0, 601)
    exact = ground_forces(t, system_of("agv").model.parameter_values(), R=1.0, T=6.0)
    needed, demand = exact.least_friction, exact.demand[:, 0]
    assert (
        f"fails with friction 0.6: however the wheels share, {np.max(needed):.3g} is needed at "
        f"t = {t[np.argmax(needed)]:.4g} s, {np.max(needed) - 0.6:.3g} too much"
    ) in result.output
    over = t[demand > 0.6]
    assert (
        f"wheel1 needs {np.max(demand):.3g} at t = {t[np.argmax(demand)]:.4g} s, "
        f"{np.max(demand) - 0.6:.3g} too much (from {over[0]:.4g} to {over[-1]:.4g} s)"
    ) in result.output
    # the same without a coefficient: demand, no verdict
    silent = invoke(*fast, "--json", "-o", "silent")
    assert silent.exit_code == 0
    numbers = json.loads(silent.stdout)["audit"]
    assert numbers["friction"] is None and numbers["verdict"] == "unknown"
    found = audited(system_of("agv"), changes={"T": 6.0}, duration=6.0)
    assert numbers["wheels"] == found.to_json()["wheels"]
    assert numbers["required_friction"] == found.to_json()["required_friction"]


@pytest.mark.parametrize("friction, verdict", [(0.001, "fails"), (0.6, "holds")])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "agv", "--duration", "40"),
        ("run", "agv", "--motion", "wheel1.angle=t^2", "--motion", "wheel2.angle=t^2")
        + ("--duration", "2"),
        ("track", "agv", "--path", "circle:2", "--timing", "quintic:20"),
    ],
)
def test_exit_code_is_that_of_the_verdict(invoke, words, friction, verdict):
    """In the terminal, for programs, in the folder and as the exit code: one verdict."""
    result = invoke(*words, "--friction", str(friction), "--no-plots", "--json", "-o", "out")
    said = json.loads(result.stdout)["audit"]["verdict"]
    assert said == json.loads(Path("out/summary.json").read_text())["audit"]["verdict"] == verdict
    assert (result.exit_code == 1) == (verdict == "fails")
    assert ("does not hold this motion" in result.stderr) == (verdict == "fails")


@pytest.mark.parametrize("friction", [(), ("--friction", "0.6")])
@pytest.mark.parametrize("lift, verdict", [("auto", "fails"), ("keep", "holds")])
def test_a_wheel_that_lifts_fails_unless_it_is_held_down(invoke, friction, lift, verdict):
    """Of loads the verdict needs no friction; the exit code asks the ground that was given."""
    b = ns.ModelBuilder(name="pulled", gravity=(0, 0, -9.81))
    b.body("b", mass=2.0, inertia=(0.02, 0.03, 0.04))
    b.joint("b", ns.joints.Free(), parent="world", child="b")
    ball = ns.surfaces.Ball(radius=0.1)
    b.contact(ns.contacts.Rolling(name="w", body="b", wheel=ball, lift=lift))
    b.force(ns.forces.Wrench(name="up", body="b", force=(3, 0, 40)))
    ns.save_model(b.build(), "pulled.toml")
    words = ("--duration", "0.2", "--set", "b.z=0.1", "--no-plots", "--json", "-o", "out")
    result = invoke("run", "pulled.toml", *words, *friction)
    said = json.loads(result.stdout)["audit"]
    assert said == json.loads(Path("out/summary.json").read_text())["audit"]
    assert said["verdict"] == (verdict if friction or lift == "auto" else "unknown")
    assert (said["verdict"] == "fails") == bool(said["lifts"])
    assert (result.exit_code == 1) == (said["verdict"] == "fails" and bool(friction))
    assert ("w would lift" in result.stderr) == (result.exit_code == 1)
    # pressed on from the other side, it needs friction as if it carried that load
    N, F = 40 - 2 * 9.81, 3 * (0.03 / 0.1**2) / (2 + 0.03 / 0.1**2)
    if lift == "keep":
        assert said["wheels"]["w"]["least_load"] == pytest.approx(-N, rel=1e-9)
        assert said["required_friction"] == pytest.approx(F / N, rel=1e-9)


def test_a_bicycle_that_lies_flat_is_told_without_forces(invoke):
    """Nothing can be computed at the only sample there is, and that is said."""
    result = invoke("run", "whipple-bicycle", "--set", "frame.lean=pi/2", "-o", "out", "--no-plots")
    assert result.exit_code == 1
    assert "wheel 'rear_wheel' lies flat on its plane" in result.stdout
    assert "1 of the samples left out" in result.stdout
    assert "friction demand" not in result.stdout
