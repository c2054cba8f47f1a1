"""`noslip import` writes a model file that runs, and says what it left out."""

from pathlib import Path

from click.testing import CliRunner

import noslip as ns
from noslip.cli import main

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
    assert run(CART, "-o", target, "--lock", "swivel=0.2", "--force").exit_code == 0
    assert not ns.load(target).contacts


def test_options_that_do_not_fit_are_told(tmp_path):
    result = run(CART, "--wheel", "left=big", "-o", tmp_path / "x.toml")
    assert result.exit_code == 2 and "--wheel 'left=big'" in result.output
    result = run(CART, "--wheel", "lefd", "-o", tmp_path / "x.toml")
    assert result.exit_code == 1 and "did you mean 'left'?" in result.output
    (tmp_path / "u.toml").write_text('wheel = ["left"]\nbase = 3\n')
    result = run(CART, "--undercarriage", tmp_path / "u.toml", "-o", tmp_path / "x.toml")
    assert result.exit_code == 1 and "2 faults" in result.output
    assert not (tmp_path / "x.toml").exists()
