"""`noslip` alone, `noslip new`, `--version --verbose`, and errors that name their option."""

import re

import click
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main
from noslip.cli.main import COMMANDS
from noslip.library import KINDS, template_text


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words, **options: CliRunner().invoke(main, words, **options)


def test_help_lists_every_command_uncut(invoke):
    output = invoke("--help").output
    assert "..." not in output.split("Commands:")[1]
    assert re.findall(r"^  (\w+) ", output.split("Commands:")[1], re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(name):
    command = main.get_command(click.Context(main), name)
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert options and not [p.opts for p in options if not p.help]


def test_verbose_lists_packages(invoke):
    assert invoke("--version").output == f"noslip, version {ns.__version__}\n"
    output = invoke("--version", "--verbose").output
    assert re.search(r"^  Python +3\.", output, re.MULTILINE)
    assert re.search(r"^  casadi +\d", output, re.MULTILINE)
    assert invoke("--verbose").exit_code == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_model_runs(invoke, kind):
    done = invoke("new", "my_robot.toml", "--kind", kind, "--mass", "20")
    assert done.exit_code == 0, done.output
    assert "noslip run my_robot.toml" in done.output
    model = ns.load("my_robot.toml")
    assert model.parameter_values()["mass"] == 20.0
    run = ns.run_scenario(ns.compile(ns.derive(model)))
    assert run.success and run.energy_drift < 1e-6 and run.slip < 1e-12
    # it goes somewhere, at a speed that wheels bear
    assert 0.5 < float(abs(run["base.x"]).max()) < 200.0


def test_what_is_asked_is_what_is_written(invoke):
    answers = "tricycle\n" + "\n" * 4 + "0.2\n" + "\n" * 3
    done = invoke("new", "asked.toml", "--ask", input=answers)
    assert done.exit_code == 0, done.output
    values = ns.load("asked.toml").parameter_values()
    usual = {name: size.usual for name, size in KINDS["tricycle"].sizes.items()}
    assert values == {**usual, "wheel_radius": 0.2, "g": 9.81}


def test_an_answer_out_of_range_is_asked_for_again(invoke):
    done = invoke("new", "asked.toml", "--ask", input="differential\n-3\n12\n" + "\n" * 6)
    assert done.exit_code == 0, done.output
    assert "Error: -3 kg is out of range, give 0.001 to 1e+06 kg.\n" in done.output
    assert ns.load("asked.toml").parameter_values()["mass"] == 12.0


def test_a_file_is_not_replaced(invoke):
    assert invoke("new", "one.toml").exit_code == 0
    done = invoke("new", "one.toml", "--kind", "car")
    assert done.exit_code == 1 and "--force" in done.output
    assert invoke("new", "one.toml", "--kind", "car", "--force").exit_code == 0
    assert "wheelbase" in ns.load("one.toml").parameter_values()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["new", "robot"], 2, "end in .toml"),
        (["new", "r.toml", "--kind", "boat"], 2, "'boat' is not one of differential"),
        (["new", "r.toml", "--mass", "0"], 1, "where  --mass 0.0, mass\n  fix    give 0.001 to"),
        (["new", "r.toml", "--wheel-radius", "99"], 1, "where  --wheel-radius 99.0, wheel_radius"),
        (["runn", "agv"], 2, "No such command 'runn'. Did you mean 'run'?"),
        (["run", "agv", "--mass", "2"], 2, "given by --set, as in --set mass=1"),
        (["track", "agv", "--speed", "1"], 2, "a timing law, as in --timing constant-speed:0.5."),
        (["track", "agv", "--path", "cirle:2"], 1, "where  --path cirle:2\n"),
        (["run", "agv", "--duration", "5 s"], 2, "'5 s' is not a number: give it in SI units"),
        (["run", "agv", "--duration", "five"], 2, "'five' is not a number."),
        (["run", "rolling-disk", "--set", "m=-5"], 1, "where  --set m=-5, bodies.disk.mass"),
        (["new", "r.toml", "--wheelbase", "1"], 1, "a differential has no 'wheelbase'"),
        (["run", "rolling-disk", "--duration", "nan"], 1, "where  --duration nan, simulation"),
        (["run", "rolling-disk", "--tolerance", "5"], 1, "where  --tolerance 5.0, simulation"),
        (["run", "rolling-disk", "--set", "foo=1"], 1, "where  --set foo=1, model"),
        (["run", "rolling-disk", "--stop", "a=foo"], 1, "where  --stop a=foo, stop 'a'"),
        (["evaluate", "agv", "--time", "inf"], 1, "where  --time inf, model 'agv'"),
        (
            ["track", "agv", "--path", "circle:radius=2", "--timing", "quintic:-3"],
            1,
            "where  --timing quintic:-3, Quintic",
        ),
    ],
    ids=lambda x: " ".join(x)[:40] if isinstance(x, list) else "",
)
def test_an_error_names_its_option(invoke, derive_once, words, code, said):
    done = invoke(*words)
    assert done.exit_code == code
    assert said in done.output, done.output


def test_a_template_refuses_unknown_words():
    with pytest.raises(ns.ModelError, match="there is no kind 'boat'"):
        template_text("boat", "b", {})
    with pytest.raises(ns.ModelError, match="a car has no 'wings'"):
        template_text("car", "b", {"wings": 2.0})
