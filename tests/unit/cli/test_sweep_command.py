"""`noslip sweep`: the command is the function, with a report and words for what is wrong."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main

COMMAND = ["sweep", "knife-edge", "--duration", "0.5", "--measure", "final:skate.x"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        return CliRunner().invoke(main, [*COMMAND, "-o", "s", *words])

    return call


def test_the_command_leaves_a_store_and_a_report(run):
    words = ["--vary", "m=1:2:3", "--vary", "slope=0.1,0.2", "--where", "m<1.9", "--json"]
    ended = run(*words, "--measure", "max:skate.vx")
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.output)
    assert told["complete"] and told["points"] == 6 and told["failed"] == 0
    dataset = ns.open_sweep("s")
    assert dataset["ending"].values[2].tolist() == ["excluded"] * 2
    other = ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x", "max:skate.vx"],
        vary={"m": "1:2:3", "slope": [0.1, 0.2]},
        where=["m<1.9"],
        duration=0.5,
        folder="t",
    )
    assert np.array_equal(dataset["final:skate.x"], other["final:skate.x"], equal_nan=True)
    page = Path("s/report.html").read_text("utf-8")
    for word in ("Heat map", "Parallel coordinates", "Distribution", "Best, worst and typical"):
        assert word in page
    assert "http://" not in page.replace("http://www.w3.org", "").split("srcdoc")[0]
    again = run(*words, "--measure", "max:skate.vx", "--no-report")
    assert again.exit_code == 0 and json.loads(again.output)["rate"] == 0


def test_a_small_study_shows_each_point_and_why_one_failed(run):
    ended = run("--vary", "m=1,-2,3", "--measure", "history:skate.y", "--no-report")
    assert ended.exit_code == 0, ended.output
    head, titles, *rows = ended.output.splitlines()
    assert head == "knife-edge: 3 of 3 points, 1 failed"
    assert titles.split() == ["m", "(kg)", "final:skate.x", "(m)"]
    found = ns.open_sweep("s")
    for row, value in zip(rows, found["final:skate.x"].values, strict=False):
        told = row.split()[1]
        assert told == "–" if np.isnan(value) else abs(float(told) - value) < 1e-5 * value
    assert "mass -2" in rows[1] and "there alone: history:skate.y" in ended.output
    assert "--retry" in rows[-1] and "report" not in ended.output
    told = json.loads(run("--vary", "m=1,-2,3", "--measure", "history:skate.y", "--json").output)
    assert [row["m"] for row in told["results"]] == [1, -2, 3]
    assert told["results"][0]["final:skate.x"] == found["final:skate.x"].values[0]
    assert told["results"][1]["final:skate.x"] is None
    assert "mass -2" in told["results"][1]["reason"]
    assert told["units"] == {"m": "kg", "final:skate.x": "m"}


def test_a_large_study_shows_the_range_of_each_measure(run):
    words = ["--vary", "slope=0.1:0.4:3", "--vary", "m=1:2:10", "--no-report"]
    ended = run(*words)
    _, titles, row, *_ = ended.output.splitlines()
    assert titles.split() == ["least", "median", "largest"]
    values = ns.open_sweep("s")["final:skate.x"].values
    told = [float(x) for x in row.split()[2:5]]
    assert np.allclose(told, [values.min(), np.median(values), values.max()], rtol=1e-5)
    assert "least at slope=0.1, m=" in row and "largest at slope=0.4, m=" in row
    told = json.loads(run(*words, "--json").output)
    assert "results" not in told
    assert told["statistics"]["final:skate.x"]["largest"] == values.max()


def test_without_the_packages_of_a_report_the_study_still_ends_well(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = run("--vary", "m=1,2", "--report")
    assert refused.exit_code == 1 and not Path("s").exists()
    assert "a report needs the package Matplotlib" in refused.stderr
    ended = run("--vary", "m=1,2")
    assert ended.exit_code == 0 and not Path("s/report.html").exists()
    assert 'note: a report needs more packages: pip install "noslip[show]"' in ended.stderr


@pytest.mark.parametrize("words", [("--device", "cuda"), ("--on", "cuda"), ("--device", "cuda:1")])
def test_without_a_card_a_sentence_says_so(run, monkeypatch, words):
    """The driver's library is looked for by its name; here there is none of that name."""
    from noslip.engines import cuda_driver

    caches = (cuda_driver.cuda_device, cuda_driver._driver)
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libnone.so.1")
    for cache in caches:
        cache.cache_clear()
    ended = run("--vary", "m=1:2:3", *words)
    for cache in caches:
        cache.cache_clear()
    assert ended.exit_code == 1 and not Path("s").exists()
    assert "no NVIDIA driver" in ended.output and "--device cpu" in ended.output


def test_a_file_holds_a_request(run, tmp_path):
    (tmp_path / "study.toml").write_text(
        'model = "knife-edge"\nmeasures = ["final:skate.y"]\ndraws = 64\nsampling = "lhs"\n'
        '[sample]\nslope = "gauss:0.2,0.01"\n[settings]\nduration = 0.5\n'
    )
    ended = CliRunner().invoke(main, ["sweep", "--file", "study.toml", "-o", "f"])
    assert ended.exit_code == 0, ended.output
    assert ns.open_sweep("f")["final:skate.y"].shape == (64,)
    assert "Sobol indices" in Path("f/report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--vary", "m=2:1:3"], "is inverted"),
        (["--vary", "m"], "write NAME=VALUE"),
        (["--vary", "m=1,2", "--measure", "final:skate.z"], "there is no column 'skate.z'"),
        (["--vary", "m=1,2", "--on", "cuda"], "no NVIDIA driver"),
        (["--vary", "m=1,2", "--on", "tcp://127.0.0.1:9"], "there is no Dask scheduler"),
        (["--vary", "m=1,2", "--target", "z80"], "there is no instruction set 'z80'"),
        (["--vary", "m=1,2", "--option", "durations=3"], "did you mean 'duration'"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(run, monkeypatch, words, said):
    monkeypatch.setattr("noslip.sweeps.execute.CONNECT", 0.5)
    ended = run(*words)
    assert ended.exit_code in (1, 2) and said in ended.output + ended.stderr
    assert "Traceback" not in ended.output
