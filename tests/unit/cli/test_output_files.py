"""Files that commands write: nothing is replaced without --force, nothing is left by a failure."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import write_atomically
from noslip.cli.main import main

#: Commands whose folder is continued, so that nothing is replaced.
CONTINUED = {"sweep"}


def commands():
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        yield name, {o for p in command.params for o in p.opts}


def test_every_command_that_writes_a_named_file_knows_force():
    writing = {name: opts for name, opts in commands() if "-o" in opts}
    assert len(writing) > 8
    assert {name for name, opts in writing.items() if "--force" not in opts} == CONTINUED


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, list(words))


def test_a_figure_of_eigenvalues_is_not_replaced(run):
    pytest.importorskip("matplotlib")
    command = ("linearize", "whipple-bicycle", "--sweep", "speed=3:5:3", "-o", "x.png")
    Path("x.png").write_text("mine")
    done = run(*command)
    assert done.exit_code == 1 and "--force" in done.output
    assert Path("x.png").read_text() == "mine"
    assert run(*command, "--force").exit_code == 0
    assert Path("x.png").read_bytes()[:4] == b"\x89PNG"


def test_a_failed_sweep_of_eigenvalues_leaves_nothing(run):
    done = run("linearize", "whipple-bicycle", "--sweep", "nosuch=3:5:3")
    assert done.exit_code and not list(Path().iterdir())


def test_a_failed_run_leaves_nothing(run, monkeypatch):
    from noslip.show import run_folder

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_folder, "_fill", full)
    done = run("run", "knife-edge", "--duration", "0.1", "--no-report", "--no-plots")
    assert done.exit_code == 1 and not list(Path().iterdir())


def test_folders_made_for_a_file_go_with_its_failure(tmp_path):
    (tmp_path / "there").mkdir()

    def fails(path):
        raise OSError(28, "No space left on device")

    for place in ("a/b/c.txt", "there/b/c.txt", "there/c.txt"):
        with pytest.raises(ns.StorageError):
            write_atomically(tmp_path / place, fails)
    assert [p.name for p in tmp_path.rglob("*")] == ["there"]
    write_atomically(tmp_path / "a/b/c.txt", lambda path: path.write_text("x"))
    assert (tmp_path / "a/b/c.txt").read_text() == "x"


@pytest.mark.parametrize("words", [("--rate", "1e12"), ("--rate", "0"), ("--speed", "nan")])
def test_films_that_nothing_shows_are_refused_before_the_run(run, words, monkeypatch):
    from noslip.cli import picture_commands

    monkeypatch.setattr(picture_commands, "_simulated", lambda *_: pytest.fail("it is run"))
    done = run("animate", "knife-edge", *words)
    assert done.exit_code in (1, 2) and not list(Path().iterdir())
