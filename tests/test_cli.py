"""The command line: each verb on the real program, the text it prints and how it exits."""

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import xarray
from click.testing import CliRunner

import noslip as ns
from noslip.cli import analysis_commands, main

SLEIGH = """
format = 1
name = "sleigh"
gravity = [0.0, 0.0, -9.81]

[parameters.m]
value = 1.5
unit = "kg"

[bodies.sleigh]
mass = "m"
moment = 0.5
center_of_mass = [0.4, 0.0, 0.0]

[joints.sleigh]
type = "planar"
parent = "world"
child = "sleigh"

[contacts.blade]
type = "knife_edge"
body = "sleigh"
direction = [1.0, 0.0, 0.0]

[scenario]
duration = 2.0
start = { "sleigh.vx" = 0.3, "sleigh.rate" = 1.5 }
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(main, list(words), catch_exceptions=False)


def test_list_names_every_library_model(invoke):
    result = invoke("list")
    assert result.exit_code == 0
    for name in ns.MODELS:
        assert name in result.output
    assert set(json.loads(invoke("list", "--json").stdout)) == set(ns.MODELS)


def test_check_names_the_redundant_row(invoke):
    result = invoke("check", "agv")
    assert result.exit_code == 0
    assert "degrees of freedom   2" in result.output
    assert "wheel2.lateral follows from wheel1.lateral" in result.output
    report = json.loads(invoke("check", "agv", "--json").stdout)
    assert report["degrees_of_freedom"] == 2
    assert {"name": "torque1", "unit": "N*m"} in report["inputs"]


def test_derive_prints_text_and_latex(invoke):
    text = invoke("derive", "agv")
    assert text.exit_code == 0 and "Equations of motion" in text.output
    sled = invoke("derive", "sled-with-rotor", "--method", "boltzmann-hamel").output
    assert "(m1 + m2) v˙1 + m1 ℓ θ˙1² = F_v1   [sled.vx, CameronBook1993 (87)]" in sled
    latex = invoke("derive", "rolling-disk", "--format", "latex")
    assert latex.exit_code == 0 and r"\section*" in latex.output


@pytest.mark.parametrize("format", list(analysis_commands.formats()))
def test_derive_writes_a_file(invoke, format):
    """The format follows from the name; what is printed otherwise is in the file."""
    file = Path(f"sleigh{analysis_commands.formats()[format].suffixes[0]}")
    written = invoke("derive", "chaplygin-sleigh", "-o", str(file))
    assert written.exit_code == 0 and written.output == f"{file}\n"
    printed = invoke("derive", "chaplygin-sleigh", "--format", format).output
    assert file.read_text("utf-8") == printed and "Equations of motion" in printed
    assert [p.name for p in Path().iterdir() if "sleigh" in p.name] == [file.name]


def test_derive_replaces_no_file_unless_forced(invoke):
    file = Path("sleigh.md")
    file.write_text("mine")
    kept = invoke("derive", "chaplygin-sleigh", "-o", "sleigh.md")
    assert kept.exit_code == 1 and file.read_text() == "mine"
    for words in ("is not replaced", "where  sleigh.md", "or replace it with --force"):
        assert words in kept.stderr
    assert invoke("derive", "chaplygin-sleigh", "-o", "sleigh.md", "--force").exit_code == 0
    assert file.read_text("utf-8").startswith("# Equations of motion")


@pytest.mark.parametrize(
    "arguments, what, fix",
    [
        (("-o", "x.docx"), "cannot be written as '.docx'", "end in .txt, .tex, .html or .md"),
        (("-o", "x"), "cannot be written as 'x'", "end in .txt, .tex, .html or .md"),
        (("-o", "x.md", "--format", "latex"), "the file name ends in markdown", "end in .tex"),
        (("-o", "nowhere/x.md"), "there is no folder 'nowhere'", "make it, or correct the path"),
    ],
)
def test_derive_refuses_a_file(invoke, arguments, what, fix):
    refused = invoke("derive", "chaplygin-sleigh", *arguments)
    assert refused.exit_code == 1 and what in refused.stderr and fix in refused.stderr
    assert not Path(arguments[1]).exists()


def test_evaluate_gives_accelerations_by_name(invoke):
    words = ["evaluate", "agv", "--json"]
    for change in ("bracket.angle=0.4", "wheel1.rate=-5", "wheel2.rate=-8", "torque1=0.12"):
        words += ["--set", change]
    result = json.loads(invoke(*words, "--set", "torque2=-0.05").stdout)
    assert result["accelerations"]["wheel1.rate"] == pytest.approx(1.3199560636187, rel=1e-12)
    assert result["coordinate_rates"]["bracket.angle"] == pytest.approx(
        -1.25121623226934, rel=1e-12
    )
    assert np.shape(result["mass_matrix"]) == (2, 2)
    assert set(result) >= {"kinetic_energy", "potential_energy", "multipliers", "reactions"}
    assert "reduced mass matrix" in invoke("evaluate", "agv").output


def test_matrices_are_numbers_at_what_is_set_or_symbols(invoke):
    words = ["matrices", "agv", "--set", "bracket.angle=0.4", "--set", "wheel1.rate=-5"]
    found = json.loads(invoke(*words, "--only", "J_u", "--format", "json").stdout)
    J_u = found["objects"]["J_u"]
    assert np.linalg.det(J_u["value"]) == pytest.approx(-0.05 * 0.025, rel=1e-13)
    assert J_u["columns"] == ["wheel3.rate", "bracket.rate"]
    assert "J_u = [−r sin(" in invoke("matrices", "agv", "--only", "J_u").output
    latex = invoke("matrices", "agv", "--only", "J_u", "--format", "latex").output
    assert r"\sin" in latex and "J_{u}" in latex
    refused = invoke("matrices", "agv", "--symbols", "--set", "r=1")
    assert refused.exit_code == 2 and "--set" in refused.stderr
    refused = invoke("matrices", "agv", "--only", "Jx")
    assert refused.exit_code == 1 and "there is no object 'Jx'" in refused.stderr


def test_derive_joint_by_joint_and_joints_alone(invoke):
    text = invoke("derive", "tricycle", "--method", "boltzmann-hamel", "--jointwise").output
    assert "Joint by joint" in text and "is a tricycle joint" in text
    refused = invoke("derive", "tricycle", "--jointwise")
    assert refused.exit_code == 2 and "boltzmann-hamel" in refused.stderr
    assert "knife" in invoke("joints").output
    assert "Equations of motion" in invoke("joints", "knife").output


def last(folder, *names):
    """Values at the end of a run that was written."""
    with Path(folder, "trajectory.csv").open() as file:
        rows = list(csv.reader(file))
    head = [name.partition(" ")[0] for name in rows[0]]
    return [float(rows[-1][head.index(name)]) for name in names]


def test_run_by_the_vakonomic_equations_with_a_costate(invoke):
    words = ["run", "chaplygin-sleigh", "--method", "vakonomic", "--tolerance", "1e-12"]
    words += ["--set", "costate.blade.lateral=0.6", "--no-plots", "-o", "vakonomic"]
    assert invoke(*words).exit_code == 0
    found = last("vakonomic", "sleigh.x", "sleigh.y", "sleigh.angle")
    expected = [0.799063124656168, 3.45695993219867, 4.69301382388895]
    assert found == pytest.approx(expected, abs=1e-9)
    v_T, psi = last("vakonomic", "control.v_T", "control.Psi")
    assert v_T * math.sin(psi) == pytest.approx(last("vakonomic", "sleigh.vx")[0], abs=1e-12)


ARM = ["run", "manipulator-2r", "--no-plots", "--tolerance", "1e-12"]


def test_run_holds_an_arm_at_a_set_point(invoke):
    """The PD law of [DeSantis1994, eq. 7.11] without gravity, against independent numbers."""
    words = [*ARM, "--motion", "joint1.angle=0.5", "--motion", "joint2.angle=-0.4"]
    words += ["--controller", "pd:kp=30,20,kd=6,4", "--set", "g=0", "--duration", "2"]
    for change in ("joint1.angle=-1", "joint2.angle=1.2", "joint1.rate=0.5", "joint2.rate=-1"):
        words += ["--set", change]
    assert invoke(*words, "-o", "pd").exit_code == 0
    found = last("pd", "joint1.angle", "joint2.angle")
    assert found == pytest.approx([0.500422808745939, -0.399725217692794], abs=1e-9)


def test_run_follows_joint_functions_and_a_tool(system_of, invoke):
    words = [*ARM, "--motion", "joint1.angle=0.3+0.5*sin(t)", "--motion", "joint2.angle=0.9-0.1*t"]
    assert invoke(*words, "--duration", "2", "-o", "joints").exit_code == 0
    found = last("joints", "joint1.angle", "joint2.angle")
    assert found == pytest.approx([0.3 + 0.5 * math.sin(2), 0.7], abs=1e-8)
    words = [*ARM, "--tool", "link2", "--motion", "x=0.55+0.15*cos(t)"]
    words += ["--motion", "y=0.2+0.15*sin(t)", "--set", "joint1.angle=-0.3"]
    words += ["--controller", "cartesian:body=link2,components=vx,vy,kp=9,kd=6"]
    assert invoke(*words, "--set", "joint2.angle=1", "--duration", "6", "-o", "tool").exit_code == 0
    q = dict(zip(("joint1.angle", "joint2.angle"), last("tool", "joint1.angle", "joint2.angle"),
                 strict=True))  # fmt: skip
    system = system_of("manipulator-2r")
    place = ns.direct_kinematics(system, q)["link2"].position[:2]
    expected = [0.55 + 0.15 * math.cos(6), 0.2 + 0.15 * math.sin(6)]
    assert list(place) == pytest.approx(expected, abs=1e-6)


def test_options_of_a_motion_need_one(invoke):
    refused = invoke("run", "manipulator-2r", "--controller", "pd:kp=1,kd=1")
    assert refused.exit_code == 2 and "--motion" in refused.stderr
    refused = invoke("run", "manipulator-2r", "--motion", "joint1.angle")
    assert refused.exit_code == 2 and "NAME=EXPRESSION" in refused.stderr


def test_matrices_and_linear_equations_are_written_by_the_name_of_the_file(invoke):
    """All or nothing, nothing is replaced unless forced, and the format is that of the suffix."""
    for words in (("matrices", "tricycle", "--only", "C"),
                  ("derive", "chaplygin-sleigh", "--linear", "sleigh.vx")):  # fmt: skip
        for suffix, start in ((".tex", r"\section*{"), (".md", "# "), (".html", "<!DOCTYPE")):
            file = Path(f"{words[0]}{suffix}")
            assert invoke(*words, "-o", str(file)).output == f"{file}\n"
            assert file.read_text("utf-8").startswith(start)
            file.write_text("mine")
            kept = invoke(*words, "-o", str(file))
            assert kept.exit_code == 1 and "--force" in kept.stderr and file.read_text() == "mine"
            assert invoke(*words, "-o", str(file), "--force").exit_code == 0
        refused = invoke(*words, "-o", "x.tex", "--format", "html")
        assert refused.exit_code == 1 and "end in .html" in refused.stderr
    words = ("matrices", "tricycle", "--only", "C", "-o")
    assert invoke(*words, "c.json").exit_code == 0
    assert json.loads(Path("c.json").read_text())["method"] == "complement"
    refused = invoke(*words, "c.txt", "--format", "json")
    assert refused.exit_code == 1 and "end in .json" in refused.stderr


def test_linear_equations_in_speeds_of_choice(invoke):
    words = ["derive", "agv", "--linear", "v", "--speeds", "v=-r*(wheel1.rate+wheel2.rate)/2"]
    text = invoke(*words, "--speeds", "w=r*(wheel1.rate-wheel2.rate)/l").output
    assert "ψ˙ = −v ψ/d + (a + b − d) w/d" in text
    refused = invoke("derive", "rolling-disk", "--linear", "disk.nosuch")
    assert refused.exit_code == 1 and "there is no independent speed" in refused.stderr


def test_figures_of_papers_replace_nothing_unless_forced(invoke):
    assert invoke("papers", "figure", "saha1989", "99").exit_code == 1
    assert not Path("runs").exists()
    words = ("papers", "figure", "desantis1994", "1")
    assert invoke(*words).output.strip() == str(Path("runs/desantis1994-figure-1.png"))
    kept = invoke(*words)
    assert kept.exit_code == 1 and "--force" in kept.stderr
    assert invoke(*words, "--force").exit_code == 0
    assert invoke(*words, "-o", "one.pdf").exit_code == 0
    assert Path("one.pdf").read_bytes().startswith(b"%PDF")


def test_a_guess_says_which_way_an_arm_bends(invoke):
    words = [*ARM, "--tool", "link2", "--motion", "x=0.55", "--motion", "y=0.2", "--duration", "1"]
    for bend in (1, -1):
        guess = ["--guess", f"joint1.angle={0.4 - 0.7 * bend}", "--guess", f"joint2.angle={bend}"]
        assert invoke(*words, *guess, "-o", f"bend{bend}").exit_code == 0
        assert last(f"bend{bend}", "joint2.angle")[0] * bend > 0
    for more in (["--tool-point", "1,0,0"], ["--guess", "joint1.angle=1"]):
        refused = invoke(*ARM, "--motion", "joint1.angle=1", "--motion", "joint2.angle=1", *more)
        assert refused.exit_code == 2 and more[0] in refused.stderr
    refused = invoke(*ARM, "--motion", "joint1.angle=1", "--motion", "joint1.angle=1")
    assert refused.exit_code == 2 and "given twice" in refused.stderr


def test_constant_energy_finds_the_radius_of_gyration(invoke):
    words = ["track", "chaplygin-sleigh", "--path", "circle:1", "--timing", "constant-energy:1"]
    words += ["--set", "m=1", "--set", "a=0.5", "--set", "I=0.75", "--no-plots"]
    assert invoke(*words, "--tolerance", "1e-12", "-o", "circle").exit_code == 0
    # the period π √(2m/T) √(b² + R²) of [AntunesSigaudMoraes2010, eq. 85], T = ½ and b = R = 1
    assert last("circle", "time")[0] == pytest.approx(8.88576587631673, abs=1e-12)
    assert last("circle", "control.Psi")[0] == pytest.approx(math.pi / 4, abs=1e-9)
    refused = invoke("track", "agv", "--path", "circle:1", "--timing", "constant-energy:1")
    assert refused.exit_code == 1 and "kinetic energy is not" in refused.stderr


def test_run_leaves_a_folder(invoke):
    result = invoke("run", "agv", "--set", "R=2", "-o", "out/circle")
    assert result.exit_code == 0
    for word in ("energy drift", "constraint residual", "tracking error"):
        assert word in result.output
    assert re.search(r"tracking error +\S+ rad at most \(bracket\.angle\), \S+ rad", result.output)
    folder = Path("out/circle")
    expected = "path coordinates speeds accelerations inputs energy errors friction".split()
    pictures = {p.stem for p in folder.glob("*.png")}
    assert pictures == set(expected)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["tracking_error"] < 1e-7
    with xarray.open_dataset(folder / "trajectory.nc", engine="h5netcdf") as data:
        assert float(data["wheel1.angle"][-1]) == pytest.approx(-225.8739926, abs=1e-6)
        assert data["torque1"].attrs["units"] == "N*m"
    assert not [p for p in Path("out").iterdir() if p.name.startswith(".")]


def test_run_never_overwrites_unless_forced(invoke):
    again = ("run", "rolling-disk", "--no-plots", "--duration", "0.1", "-o", "disk")
    assert invoke(*again).exit_code == 0
    refused = invoke(*again)
    assert refused.exit_code == 1
    assert "already holds a run" in refused.output and "--force" in refused.output
    assert invoke(*again, "--force").exit_code == 0
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("do not lose me")
    protected = invoke("run", "rolling-disk", "--no-plots", "-o", "mine", "--force")
    assert protected.exit_code == 1 and "not a run of noslip" in protected.output
    assert Path("mine/thesis.tex").read_text() == "do not lose me"


def test_runs_without_a_folder_are_numbered(invoke):
    for _ in range(2):
        result = invoke("run", "rolling-disk", "--no-plots", "--duration", "0.1", "--json")
        assert result.exit_code == 0
    assert Path(json.loads(result.stdout)["folder"]) == Path("runs/rolling-disk-2")


def test_model_file_through_the_command_line(invoke):
    Path("sleigh.toml").write_text(SLEIGH)
    assert "degrees of freedom   2" in invoke("check", "sleigh.toml").output
    result = invoke("run", "sleigh.toml", "--json", "--no-plots", "-o", "out")
    assert json.loads(result.stdout)["energy_drift"] < 1e-9


def test_faults_of_a_model_are_listed_together_without_a_traceback(invoke):
    wrong = SLEIGH.replace('child = "sleigh"', 'child = "slegh"').replace(
        "moment = 0.5", "moment = -0.5\nmas = 3"
    )
    Path("wrong.toml").write_text(wrong)
    result = invoke("check", "wrong.toml")
    assert result.exit_code == 1
    assert "ModelError" in result.output and "Traceback" not in result.output
    assert "wrong.toml, line" in result.output
    assert "did you mean" in result.output


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("check", "avg"), 1, "there is no model 'avg'"),
        (("check", "nowhere.toml"), 1, "nowhere.toml"),
        (("run", "agv", "--set", "R"), 2, "write NAME=VALUE"),
        (("run", "agv", "--set", "R=1", "--set", "R=2"), 2, "'R' is given twice"),
        (("run", "agv", "--stop", "a=t-1", "--stop", "a=t-2"), 2, "'a' is given twice"),
        (("run", "agv", "--set", "R=1+"), 2, "cannot be read"),
        (("run", "agv", "--set", "R=x"), 2, "no parameter 'x'"),
        (("run", "agv", "--set", "R=t"), 2, "inputs alone may depend on t"),
        (("run", "agv", "--set", "R=(-1)^0.5"), 2, "not a finite number"),
        (("run", "agv", "--set", "torque1=sin(t)"), 1, "follow from its motion"),
        (("evaluate", "agv", "--set", "torque1=sin(s)"), 1, "uses 's', which is not known"),
        (("run", "agv", "--set", "wheel9.rate=1"), 1, "wheel1.rate"),
        (("run", "agv", "--duration", "-1"), 1, "the duration is -1"),
        (("derive", "agv", "--format", "docx"), 2, "docx"),
        (("fly", "agv"), 2, "No such command"),
        (
            ("evaluate", "rolling-disk", "--set", "disk.tilt=1.2", "--set", "disk.z=3"),
            1,
            "breaks row",
        ),
    ],
)
def test_mistakes_say_what_is_wrong(invoke, words, code, text):
    result = invoke(*words)
    assert result.exit_code == code
    assert text in result.output
    assert "Traceback" not in result.output


def test_set_takes_expressions_of_parameters(invoke):
    words = ("--set", "disk.tilt=pi/2", "--set", "disk.y=r*cos(1.2)")
    result = invoke("evaluate", "rolling-disk", "--json", *words)
    assert json.loads(result.stdout)["coordinates"]["disk.y"] == pytest.approx(0.5 * np.cos(1.2))
    flat = invoke("evaluate", "rolling-disk")
    assert flat.exit_code == 1 and "lies flat" in flat.output and "disk.tilt" in flat.output


def test_a_run_that_ends_early_keeps_what_it_has_and_exits_1(invoke):
    words = ("run", "rolling-disk", "--no-plots", "-o", "flat")
    fall = ("--set", "disk.tilt=0.5", "--set", "disk.tilt_rate=0", "--set", "disk.yaw_rate=0")
    result = invoke(*words, *fall, "--set", "disk.spin_rate=0")
    assert result.exit_code == 1
    assert "lies flat" in result.output
    assert Path("flat/trajectory.nc").exists()


def test_set_takes_inputs_as_expressions_of_time(invoke):
    changes = ("--set", "F_v1=2*m1*sin(t)", "--set", "tau1=0", "--set", "tau2=-0.1*rotor.rate")
    words = ("run", "sled-with-rotor", "--no-plots", "--duration", "1", "-o", "out", "--json")
    summary = json.loads(invoke(*words, *changes).stdout)
    model = ns.load("sled-with-rotor")
    run = ns.simulate(
        ns.compile(ns.derive(model)),
        duration=1.0,
        start=model.scenario.start,
        inputs={"F_v1": "2*m1*sin(t)", "tau2": "-0.1*rotor.rate"},
    )
    final = {name: run[name][-1] for name in ("sled.x", "sled.angle", "rotor.rate")}
    assert {n: summary["final_state"][n] for n in final} == pytest.approx(final, rel=1e-9, abs=1e-9)
    at = json.loads(invoke("evaluate", "sled-with-rotor", *changes, "--time", "2", "--json").stdout)
    (m1,) = [p.value for p in model.parameters if p.name == "m1"]
    pushed = sum(p.value for p in model.parameters if p.name in ("m1", "m2"))
    assert at["accelerations"]["sled.vx"] == pytest.approx(2 * m1 * np.sin(2.0) / pushed, rel=1e-12)


def test_evaluate_prints_units(invoke):
    output = invoke("evaluate", "agv", "--set", "wheel1.rate=-5").output
    for words in (["wheel1.rate", "-5", "rad/s"], ["kinetic", "0.429382421875", "J"]):
        assert words in [line.split() for line in output.splitlines()]


def test_a_run_that_is_not_finite_prints_json_that_programs_can_read(invoke):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    words = ("run", "differential-robot", "--set", "left.torque=sqrt(0.5 - t)", "--no-plots")
    result = invoke(*words, "-o", "out", "--json")
    assert result.exit_code == 1
    for text in (result.stdout, Path("out/summary.json").read_text("utf-8")):
        assert json.loads(text, parse_constant=refuse)["ending"] == "non_finite"


def test_a_run_that_is_told_where_to_stop(system_of, invoke):
    """By a named angle, as in Python; the summary says which stop it was."""
    words = ("run", "whipple-bicycle", "--set", "speed=3", "--set", "frame.wx=0.5", "--no-plots")
    result = invoke(*words, "--stop", "fell = frame.lean^2 - 1", "--stop", "late=t-7", "--json")
    said = json.loads(result.stdout)
    assert (said["ending"], said["ended_by"]) == ("event", "fell") and result.exit_code == 0
    run = ns.simulate(
        system_of("whipple-bicycle"), duration=8.0,
        start={"speed": 3.0, "frame.wx": 0.5}, stop={"fell": "frame.lean^2 - 1"}, samples=401,
    )  # fmt: skip
    assert said["duration"] == pytest.approx(run.t[-1], abs=1e-12)
    assert invoke(*words, "--stop", "fell").exit_code == 2
    refused = invoke(*words, "--stop", "fell=frame.leen")
    assert refused.exit_code == 1 and "did you mean 'frame.lean'" in refused.output
