"""File formats from outside the package work everywhere: models, runs and equations.

They are defined in `tests/models/own_formats.py`, which nothing of the package knows.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import AbstractFormat, known_formats
from noslip.base.families import isolated, load_plugin
from noslip.cli import main
from noslip.formats import AbstractEquationFormat, AbstractModelText, AbstractRunFormat
from noslip.model import AbstractModelFormat, load_model

PLUGIN = Path(__file__).parent / "models" / "own_formats.py"


@pytest.fixture
def own():
    with isolated():
        yield load_plugin(PLUGIN)


@pytest.fixture(scope="module")
def run(system_of):
    return ns.run_scenario(system_of("rolling-disk"), duration=0.5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*words):
    result = CliRunner().invoke(main, [str(w) for w in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


# models


@pytest.mark.parametrize("name", ns.MODELS)
def test_a_model_is_the_same_in_every_format(own, folder, name):
    model = ns.load(name)
    formats = known_formats(AbstractModelFormat)
    assert {"toml", "own_json"} <= {word for word in formats if formats[word].can("write")}
    for word, format in formats.items():
        if not isinstance(format, AbstractModelText):  # of robots, with no words for rolling
            continue
        path = folder / f"{word}{format.suffixes[0]}"
        ns.save_model(model, path)
        assert ns.load(path) == model
        assert ns.load(str(path)) == model


def test_a_model_in_json_is_a_table_of_words(own, folder):
    ns.save_model(ns.load("agv"), "agv.json")
    assert json.loads(Path("agv.json").read_text())["name"] == "agv"
    assert [p.name for p in folder.iterdir()] == ["agv.json"]
    with pytest.raises(ns.ModelError, match="there is already a file"):
        ns.save_model(ns.load("agv"), "agv.json")


def test_all_faults_of_a_file_without_lines_are_told(own, folder):
    ns.save_model(ns.load("agv"), "agv.json")
    table = json.loads(Path("agv.json").read_text())
    table["gravty"] = table.pop("gravity")
    table["bodies"]["platform"]["mass"] = None
    Path("agv.json").write_text(json.dumps(table))
    with pytest.raises(ns.ModelError) as caught:
        ns.load("agv.json")
    places = {fault.where for fault in caught.value.faults}
    assert {"agv.json, gravty", "agv.json, bodies.platform.mass"} <= places


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "the text is not JSON: Expecting"),
        ("[" * 100_000, "the text is not JSON: "),
        ("[1]", "the file contains no table"),
        ("{}", "the file is empty"),
    ],
)
def test_a_text_of_another_kind_is_refused(own, folder, refuses, text, what):
    Path("x.json").write_text(text)
    with refuses(ns.ModelError, what, "x.json", ""):
        ns.load("x.json")


def test_commands_take_a_model_and_write_a_run_in_formats_of_ones_own(system_of, folder):
    with isolated():
        load_plugin(PLUGIN)
        ns.save_model(ns.load("carriage"), "carriage.json")
    with isolated():
        refused = CliRunner().invoke(main, ["check", "carriage.json"])
        assert refused.exit_code == 1
        for words in ("a model cannot be read as '.json'", "end in .toml", "--plugin MODULE"):
            assert words in refused.output
        assert "carriage" in command("check", "carriage.json", "--plugin", PLUGIN)
    with isolated():
        words = ["run", "carriage.json", "-o", "run", "--no-plots", "--plugin", PLUGIN]
        command(*words, "--format", "own_npz")
        kept = {p.name for p in Path("run").iterdir()}
        assert kept == {
            "trajectory.npz",
            "model.toml",
            "summary.json",
            "summary.txt",
            "manifest.json",
        }
        found = ns.read_run("run")
        again = ns.run_scenario(system_of("carriage"))
        assert np.array_equal(found.q, again.q)
    with isolated():
        unknown = CliRunner().invoke(main, [*map(str, words[:2]), "--format", "own_npz"])
        assert unknown.exit_code == 2
        assert "'own_npz' is not one of netcdf, csv, " in unknown.output


# runs


def test_a_run_is_the_same_in_every_format(own, run, tmp_path):
    formats = known_formats(AbstractRunFormat)
    # a bag holds joints and the base, not all columns
    both = {w: format for w, format in formats.items() if format.can("read") and w != "ros"}
    assert sorted(both) == ["csv", "netcdf", "own_npz", "parquet"]
    for word, format in both.items():
        path = tmp_path / f"{word}{format.suffixes[0].upper()}"
        run.save(path)
        found = format.read(path)
        assert set(found) == {"time", *run.columns}
        assert found["time"][0] == "s"
        for name, (unit, values) in found.items():
            assert np.array_equal(values, run[name]), name
            assert unit == ("s" if name == "time" else run.columns[name][0])
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("word", ["netcdf", "csv", "own_npz"])
def test_a_run_folder_is_read_in_every_format(own, run, tmp_path, word):
    ns.write_run(run, tmp_path / "run", plots=False, formats=[word])
    back = ns.read_run(tmp_path / "run")
    assert set(back.columns) == set(run.columns)
    for name, (unit, values) in run.columns.items():
        assert back.columns[name][0] == unit
        assert np.array_equal(back[name], values), name


# equations


def test_equations_are_written_in_a_format_of_ones_own(folder):
    words = ["derive", "knife-edge", "--plugin", PLUGIN]
    with isolated():
        printed = command(*words, "--format", "own_titles")
        assert "Model and method\n" in printed
        # the longest suffix that is known: .own.txt before .txt
        command(*words, "-o", "edge.own.txt")
        assert Path("edge.own.txt").read_text("utf-8") == printed
        assert ns.equations_text(ns.derive(ns.load("knife-edge")), "own_titles") + "\n" == printed
    with isolated():
        command(*words[:2], "-o", "edge2.own.txt")
        assert "=====" in Path("edge2.own.txt").read_text("utf-8")


# suffixes


def test_unknown_suffixes_are_refused_with_the_known_ones(run, folder, refuses):
    Path("agv.tml").write_text("")
    with refuses(ns.ModelError, "a model cannot be read as '.tml'", "agv.tml", "end in .toml"):
        ns.load("agv.tml")
    with refuses(ns.ModelError, "a model cannot be written as '.yaml'", "agv.yaml", ".toml"):
        ns.save_model(ns.load("agv"), "agv.yaml")
    known = "let the name of the file end in .nc, .nc4, .h5, .csv, .txt, .mcap, .mat or .parquet"
    with refuses(ns.SimulationError, "a run cannot be written as '.xlsx'", "run.xlsx", known):
        run.save("run.xlsx")
    with refuses(ns.SimulationError, "a run cannot be written as 'run'", "run", known):
        run.save("run")
    with refuses(ns.SimulationError, "there is no folder 'nowhere'", "run.nc", "make it"):
        run.save("nowhere/run.nc")
    with refuses(ns.SimulationError, "there is no format 'xlsx'", "formats", "'netcdf', 'csv'"):
        ns.write_run(run, "folder", formats=["xlsx"])
    assert [p.name for p in folder.iterdir()] == ["agv.tml"]


def test_a_format_that_only_writes_is_not_read(own, folder, refuses):
    class Listing(AbstractModelFormat):
        word, name, suffixes = "own_listing", "a listing", (".lst",)

        def write(self, model, path):
            path.write_text("\n".join(body.name for body in model.bodies))

    ns.save_model(ns.load("agv"), "agv.lst")
    assert "platform" in Path("agv.lst").read_text()
    with refuses(ns.ModelError, "a model cannot be read as a listing", "agv.lst", ".toml, "):
        ns.load("agv.lst")


def test_two_formats_with_one_suffix_are_told(own, folder, refuses):
    class Other(own.Json):
        word = "own_other"

    with refuses(ns.ModelError, "have the suffix '.json': 'own_json', 'own_other'", "x.json", ""):
        load_model_of("x.json")


def load_model_of(name):
    Path(name).write_text("{}")
    return load_model(name)


def test_a_family_for_each_kind_of_file(own):
    bases = (AbstractModelFormat, AbstractRunFormat, AbstractEquationFormat)
    assert all(base.__base__ is AbstractFormat for base in bases)
    assert issubclass(own.Json, AbstractModelText)
    robots = ["dh", "urdf", "mjcf", "vda5050", "bicycle", "ros2_controllers"]
    assert sorted(known_formats(AbstractModelFormat)) == sorted(["toml", *robots, "own_json"])
    tables = ["mat", "parquet", "ros"]
    assert sorted(known_formats(AbstractRunFormat)) == sorted(["netcdf", "csv", *tables, "own_npz"])
    words = ["text", "latex", "html", "markdown", "own_titles"]
    assert [*known_formats(AbstractEquationFormat)] == words
