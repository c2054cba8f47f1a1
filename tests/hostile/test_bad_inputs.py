"""Bad inputs give one answer: what is wrong, where and what to do; soon, and nothing is changed."""

import os
import shutil

import pytest
from bad_inputs import BAD_FILES, CALLS, COMMANDS, READERS, RUN_FILES, read_as_run, said_of
from click.testing import CliRunner
from limits import limited, snapshot

import noslip as ns
from noslip.cli import main


@pytest.fixture(scope="session")
def good_run(tmp_path_factory, system_of):
    """A folder with a good run; it also loads what the readers need."""
    run = ns.run_scenario(system_of("knife-edge"), duration=0.5)
    folder = ns.write_run(run, tmp_path_factory.mktemp("good") / "run", plots=False)
    ns.read_run(folder)
    ns.paths.parse_path("circle:radius=2")
    return folder


@pytest.mark.parametrize("file", BAD_FILES)
@pytest.mark.parametrize("reader", [*READERS, *RUN_FILES])
def test_every_reader_refuses_every_bad_file(reader, file, tmp_path, good_run):
    if reader in READERS:
        name, read = READERS[reader]
    else:
        name, read = reader, read_as_run(reader, good_run)
    BAD_FILES[file](tmp_path / name)
    expected = said_of(reader, file)
    with limited():
        if expected is None:
            read(tmp_path / name)
            return
        with pytest.raises(ns.NoslipError) as caught:
            read(tmp_path / name)
    error = caught.value
    assert expected in error.what, error.what
    assert error.where and error.fix
    if reader in READERS:
        assert name in str(error)


@pytest.fixture
def place(tmp_path, monkeypatch, good_run, derive_once):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_refuse_bad_inputs(name, place):
    bad = COMMANDS[name]
    if bad.makes is not None:
        bad.makes(place)
    before = snapshot(place)
    with limited(memory=bad.memory):
        result = CliRunner().invoke(main, list(bad.command))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == bad.code, result.output
    for word in bad.words:
        assert word in result.output
    assert len(result.output) < 3000 and "Traceback" not in result.output
    assert snapshot(place) == before


@pytest.mark.parametrize("name", CALLS)
def test_calls_refuse_bad_inputs(name, place):
    bad = CALLS[name]
    if bad.makes is not None:
        bad.makes(place)
    before = snapshot(place)
    with limited(memory=bad.memory), pytest.raises(bad.error) as caught:
        bad.call(place)
    for word in bad.words:
        assert word in str(caught.value)
    assert snapshot(place) == before


@pytest.mark.parametrize(
    "words",
    [
        ("run", "knife-edge", "--no-plots", "--duration", "0.1"),
        ("run", "knife-edge", "--no-plots", "--duration", "0.1", "-o", "out"),
        ("track", "agv", "--path", "circle:2", "--timing", "quintic:1", "--no-plots"),
        ("sweep", "knife-edge", "--vary", "m=1:2:2", "--measure", "final:skate.x"),
        ("linearize", "whipple-bicycle", "--sweep", "speed=0:1:3"),
        ("export", "knife-edge", "--to", "c"),
        ("export", "run", "--to", "csv"),
        ("animate", "knife-edge"),
        ("new", "robot.toml"),
        ("import", "robot.urdf"),
        ("check", "robot.toml"),
        ("check", "knife-edge", "--plugin", "part.py"),
    ],
    ids=" ".join,
)
def test_a_working_folder_that_is_gone_is_said(words, place):
    (place / "gone").mkdir()
    os.chdir(place / "gone")
    (place / "gone").rmdir()
    result = CliRunner().invoke(main, list(words))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2), result.output
    assert "where" in result.output and "fix" in result.output


@pytest.mark.slow
def test_a_working_folder_that_is_gone_hinders_nothing_else(place):
    (place / "gone").mkdir()
    os.chdir(place / "gone")
    (place / "gone").rmdir()
    words = ["run", "knife-edge", "--no-plots", "--duration", "0.1", "-o", str(place / "out")]
    for chosen in (["list"], ["check", "knife-edge"], words):
        assert CliRunner().invoke(main, chosen).exit_code == 0
    assert ns.read_run(place / "out").model.name == "knife-edge"


# consoles and names of every kind


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "cp437", "utf-8"])
def test_a_console_of_any_encoding_shows_equations(encoding, place):
    result = CliRunner(charset=encoding).invoke(main, ["derive", "chaplygin-sleigh"])
    assert result.exit_code == 0
    text = result.stdout_bytes.decode(encoding)
    assert "Equations of motion" in text
    assert "?" not in text and "\N{REPLACEMENT CHARACTER}" not in text
    has_greek = encoding in ("utf-8", "cp437")
    assert ("φ" in text) == has_greek and ("phi'" in text) != has_greek


def test_names_with_spaces_umlauts_and_emoji_work(place, good_run):
    folder = place / "mein Ordner ä 😀"
    folder.mkdir()
    text = (good_run / "model.toml").read_text("utf-8")
    (folder / "Schlitten ö 🛷.toml").write_text(
        text.replace("knife-edge", "Schlitten 🛷", 1), "utf-8"
    )
    invoke = CliRunner().invoke
    words = ["run", f"{folder.name}/Schlitten ö 🛷.toml", "--no-plots", "--duration", "0.2"]
    result = invoke(main, [*words, "-o", f"{folder.name}/aus 🛷"])
    assert result.exit_code == 0, result.output
    assert ns.read_run(folder / "aus 🛷").model.name == "Schlitten 🛷"
    odd = os.fsdecode(b"out\xff")
    assert invoke(main, [*words, "-o", odd]).exit_code == 0
    ns.read_run(place / odd)
    shutil.rmtree(place / odd)
