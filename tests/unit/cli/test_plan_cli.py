"""`noslip plan`: options that are read, a folder that is left, faults of a user."""

import json

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli.main import main

TASK = ["plan", "tricycle", "--goal", "frame.x=3,frame.y=0,frame.angle=0", "--goal"]
TASK += ["steer.angle=0deg", "--limit", "F_v=20,tau_phi=1,steer.angle=50deg"]


def invoke(*words):
    return CliRunner().invoke(main, list(words))


@pytest.mark.slow
def test_a_plan_leaves_the_folder_of_its_replay(tmp_path):
    folder = tmp_path / "out"
    words = ["--obstacle", "disc:center=1.8,0.1;radius=0.3", "--clearance", "0.05"]
    outcome = invoke(*TASK, *words, "--no-plots", "--no-report", "-o", str(folder))
    assert outcome.exit_code == 0, outcome.output
    assert "plan of 'tricycle'" in outcome.output and "replay by simulate" in outcome.output
    summary = json.loads((folder / "summary.json").read_text())
    run = ns.read_run(folder)
    assert summary["duration"] == pytest.approx(run.t[-1])
    assert run["frame.x"][-1] == pytest.approx(3.0, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--goal", "frame.x"], "write NAME=VALUE"),
        (["--goal", "frame.x=far"], "'far', which is not a number"),
        (["--goal", "frame.x=1,frame.x=2"], "given twice"),
        (["--goal", "frame.x=1", "--obstacle", "disk:1"], "there is no obstacle 'disk'"),
        (["--goal", "frme.x=1", "--limit", "F_v=20,tau_phi=1"], "frme.x"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, words, says):
    outcome = invoke("plan", "tricycle", *words, "-o", str(tmp_path / "none"))
    assert outcome.exit_code and says in outcome.output + str(outcome.exception)
    assert not (tmp_path / "none").exists()
