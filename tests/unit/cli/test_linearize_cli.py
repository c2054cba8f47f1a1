"""`noslip linearize` and `noslip steady`: what they print, and what they refuse."""

import json

import pytest
from click.testing import CliRunner

from noslip.cli import main


@pytest.fixture
def invoke(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words, catch_exceptions=False)


def test_eigenvalues_with_words(invoke):
    result = invoke("linearize", "whipple-bicycle", "--set", "speed=5")
    assert result.exit_code == 0
    assert "linearized about frame.z = 0.3 m, speed = 5 m/s" in result.output
    assert "-0.775341882 ± 4.464867714 i" in result.output
    assert "stable: halves in 0.894 s, swings at 0.7106 Hz" in result.output


def test_two_eigenvalues_of_zero_do_not_swing(invoke):
    """Without gravity a bicycle may lean as it likes: a second neighboring steady motion."""
    text = invoke("linearize", "whipple-bicycle", "--set", "speed=3", "--set", "g=0").output
    assert text.count("neutral: a neighboring steady motion") == 2
    assert "swings at 0.5469 Hz" in text and text.count("swings") == 1


def test_a_wheel_of_negative_radius_is_told_before_its_picture(invoke):
    text = invoke("linearize", "whipple-bicycle", "--set", "rR=-0.3").output
    assert "1. contact 'rear_wheel' has wheel.radius -0.3, expected more than 0" in text
    assert "2. body 'rear_wheel' has shapes[0]" in text


def test_a_sweep_leaves_a_figure(invoke, tmp_path):
    result = invoke("linearize", "whipple-bicycle", "--sweep", "speed=0:10:21")
    assert "stable: 4.292382536 to 6.024262015 m/s" in result.output
    assert (tmp_path / "runs" / "whipple-bicycle-speed.png").stat().st_size > 5000
    invoke("linearize", "whipple-bicycle", "--sweep", "speed=0:10:3")
    assert (tmp_path / "runs" / "whipple-bicycle-speed-2.png").exists()


def test_a_sweep_for_programs_and_a_figure_of_ones_own(invoke, tmp_path):
    words = ("linearize", "whipple-bicycle", "--sweep", "speed=4:7:4", "--json")
    data = json.loads(invoke(*words).stdout)
    assert data["limits"] == pytest.approx([4.29238253634111, 6.02426201538837], abs=1e-11)
    assert not list(tmp_path.iterdir())
    invoke(*words, "-o", "stability.svg")
    assert "<svg" in (tmp_path / "stability.svg").read_text()


def test_a_steady_turn_is_searched_for(invoke):
    words = ("--set", "frame.lean=0.2", "--set", "speed=5", "--find", "steer_torque")
    motion = json.loads(invoke("steady", "whipple-bicycle", *words, "--json").stdout)
    assert motion["values"]["frame.lean"] == pytest.approx(0.2)
    assert motion["inputs"]["steer_torque"] == pytest.approx(-0.141709185301, abs=1e-11)
    text = invoke("steady", "whipple-bicycle", *words).output
    assert "what stays" in text and "steer_torque       -0.141709185301 N*m" in text
    assert "frame.lean          0.2 rad\n" in text and "frame.yaw          -0.40330" in text
    assert motion["units"]["frame.yaw"] == "rad/s" and motion["units"]["frame.lean"] == "rad"
    twice = invoke("steady", "whipple-bicycle", *words, "--find", "steer_torque").output
    assert twice == text
    line = json.loads(invoke("linearize", "whipple-bicycle", *words, "--steady", "--json").stdout)
    assert line["about"]["steer.angle"] == pytest.approx(motion["values"]["steer.angle"])
    guessed = invoke("steady", "whipple-bicycle", "--set", "frame.lean=0.2", "--guess", "speed=6")
    assert "speed               5.9083242853" in guessed.output


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--sweep", "speed"), 2, "write NAME=LOW:HIGH"),
        (("--sweep", "speed=3:1"), 2, "LOW below HIGH"),
        (("--sweep", "speed=0:1:x"), 2, "such as speed=0:10"),
        (("--sweep", "speed=0:1:1"), 2, "COUNT from 2 to 100000"),
        (("--sweep", "speed=0:inf"), 2, "numbers LOW below HIGH"),
        (("--sweep", "speed=0:1", "--sweep", "c=0:1"), 2, "one value is swept at a time"),
        (("--sweep", "speed=0:1", "--set", "speed=3"), 1, "both swept and given a value"),
        (("--sweep", "steer_torque=0:1:3", "--set", "speed=5"), 1, "at steer_torque = 0.5 N*m"),
        (("-o", "x.png"), 2, "add --sweep"),
        (("--find", "steer_torque"), 2, "--find needs --steady"),
        (("--set", "steer_torque=sin(t)"), 1, "change with time"),
        (("--set", "frame.lean=0.1*t"), 2, "inputs alone may depend on t"),
        (("--set", "steer_torque=frame.lean", "--steady"), 2, "leave it out for feedback"),
        (("--tie", "c=speed"), 2, "add --sweep"),
        (("--sweep", "speed=0:1", "--tie", "c"), 2, "write NAME=EXPRESSION"),
        (("--sweep", "speed=0:1", "--tie", "c=sped"), 1, "which uses 'sped'"),
        (("--set", "frame.lean=0.2", "--set", "speed=5"), 1, "the motion is not steady"),
        (("--set", "speed=5 m/s"), 2, "a number in SI units without its unit"),
        (("--set", "sped=5"), 1, "did you mean 'speed'"),
        (("--sweep", "speed=0:1", "-o", "x.txt"), 1, "a figure cannot be written"),
    ],
)
def test_refusals(invoke, words, code, said):
    result = invoke("linearize", "whipple-bicycle", *words)
    assert result.exit_code == code
    assert said in " ".join(result.output.split())


def test_feedback_and_tied_values(invoke):
    law = ("--set", "steer_torque=5*frame.lean_rate")
    result = invoke("linearize", "whipple-bicycle", "--set", "speed=4", *law)
    assert result.exit_code == 0 and "linearized about" in result.output
    without = invoke("linearize", "whipple-bicycle", "--set", "speed=4")
    assert result.output != without.output
    words = ("--sweep", "speed=4:6:3", "--tie", "g=9.81*speed/speed", "--json")
    result = invoke("linearize", "whipple-bicycle", *words)
    assert result.exit_code == 0
