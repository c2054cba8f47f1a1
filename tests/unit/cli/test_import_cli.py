"""`noslip import` writes a model file that runs, and says what it left out."""

import re
from pathlib import Path

from click.testing import CliRunner

import noslip as ns
from noslip.cli import main

NO_PLOTS = {"run": ["--no-plots"], "track": ["--no-plots"]}
CART = Path(__file__).parents[3] / "examples" / "cart.urdf"


def run(*arguments):
    return CliRunner().invoke(main, ["import", *map(str, arguments)])


def test_a_robot_is_imported_with_its_wheels(tmp_path):
    target = tmp_path / "cart.toml"
    result = run(CART, "--wheel", "left", "--wheel", "right=0.08", "--caster", "fork", "-o", target)
    assert result.exit_code == 0, result.output
    assert "Model 'cart': 6 bodies" in result.output and f"written: {target}" in result.output
    under = ns.Undercarriage(wheels={"left": None, "right": 0.08}, casters={"fork": None})
    assert ns.load(target) == ns.import_robot(CART, under).model
    again = run(CART, "-o", target)
    assert again.exit_code == 1 and "it already exists" in again.output
    assert "note: no link rolls" not in result.output
    bolted = run(CART, "-o", target, "--lock", "swivel=0.2", "--force")
    assert bolted.exit_code == 0 and not ns.load(target).contacts
    assert "note: no link rolls; for a vehicle, name them with --wheel LINK" in bolted.output


def test_what_is_named_next_runs(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    for words in (["--wheel", "left", "--wheel", "right", "--caster", "fork"], ["--force"]):
        said = run(CART, "-o", "cart.toml", *words).output
        commands = re.search("^next: (.*)$", said, re.MULTILINE)[1].split("; ")
        assert len(commands) == 2
        for command in commands:
            done = CliRunner().invoke(
                main, [*command.split()[1:], *NO_PLOTS.get(command.split()[1], [])]
            )
            assert done.exit_code == 0, done.output


def test_options_that_do_not_fit_are_told(tmp_path):
    result = run(CART, "--wheel", "left=big", "-o", tmp_path / "x.toml")
    assert result.exit_code == 2 and "--wheel 'left=big'" in result.output
    result = run(CART, "--wheel", "lefd", "-o", tmp_path / "x.toml")
    assert result.exit_code == 1 and "did you mean 'left'?" in result.output
    (tmp_path / "u.toml").write_text('wheel = ["left"]\nbase = 3\n')
    result = run(CART, "--undercarriage", tmp_path / "u.toml", "-o", tmp_path / "x.toml")
    assert result.exit_code == 1 and "2 faults" in result.output
    assert not (tmp_path / "x.toml").exists()
