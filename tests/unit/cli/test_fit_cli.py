"""`noslip fit`: files to a page, the same words as in Python, mistakes."""

import json

import numpy as np
from click.testing import CliRunner
from small_mechanisms import cart

import noslip as ns
from noslip.cli.main import main


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def files(folder):
    """A model file, and two runs of a heavier cart."""
    ns.save_model(cart(), folder / "cart.toml")
    system = ns.compile(ns.derive(cart()))
    for k, force in enumerate((4.0, "3*sin(2*t)")):
        ns.simulate(
            system,
            duration=2.0,
            inputs={"F": force},
            parameters={"m": 2.6, "d": 0.7},
            start={"cart.speed": 0.3},
            samples=np.linspace(0.0, 2.0, 401),
        ).save(folder / f"run{k}.csv")
    return folder / "cart.toml", folder / "run0.csv", folder / "run1.csv"


def test_a_fit_leaves_a_page_and_numbers(tmp_path):
    model, *runs = files(tmp_path)
    target = tmp_path / "found"
    options = ["-p", "m:lower=1,upper=9", "-p", "d", "--unknown-start", "cart.speed", "-o", target]
    told = invoke("fit", model, *runs, *options)
    assert told.exit_code == 0, told.output
    assert "cart: 4 unknowns from 2 runs" in told.output
    data = json.loads((target / "fit.json").read_text())
    # torques between samples are linear here, so the fit is as good as the table of forces
    assert abs(data["values"]["m"]["value"] - 2.6) < 1e-3
    assert abs(data["values"]["d"]["value"] - 0.7) < 1e-3
    assert (target / "report.html").read_text().count("<svg") == 4
    assert (target / "fit.txt").read_text().strip() in told.output
    again = invoke("fit", model, *runs, *options)
    assert again.exit_code == 1 and "is not replaced" in again.output
    replaced = invoke("fit", model, *runs, *options, "--force", "--json")
    assert json.loads(replaced.stdout)["values"] == data["values"]


def test_mistakes_are_told_without_a_traceback(tmp_path):
    model, first, _ = files(tmp_path)
    for options, said in (
        ([], "nothing is to be estimated"),
        (["-p", "mass"], "there is no parameter, constant input or number 'mass'"),
        (["-p", "m:lowest=1"], "there is no 'lowest'"),
        (["-p", "m", "--column", "gps=cart.position"], "there is no column 'gps'"),
        (["-p", "m", "--sigma", "cart.position=x"], "is not a number"),
    ):
        told = invoke("fit", model, first, *options, "-o", tmp_path / "none")
        assert told.exit_code in (1, 2) and said in told.output, told.output
    assert not (tmp_path / "none").exists()
    missing = invoke("fit", model, tmp_path / "no.csv", "-p", "m")
    assert missing.exit_code == 1 and "no.csv" in missing.output
