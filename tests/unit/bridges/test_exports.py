"""What `noslip export` and `ns.export` take and refuse, whatever the target."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base.families import isolated
from noslip.bridges import export_targets
from noslip.cli import main


@dataclass(frozen=True, slots=True)
class _Listing(ns.formats.AbstractSystemFormat):
    """Names of the states, and of the inputs beside them."""

    title: str = "states"

    name = "a listing"
    suffixes = (".own_states",)
    companions = (".own_inputs",)

    def files(self, system, stem):
        states = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        inputs = [q.name for q in system.inputs]
        return ("\n".join([self.title, *states]).encode(), "\n".join([stem, *inputs]).encode())

    def notes(self, system):
        return ("masses are left out",)


@pytest.fixture
def listing():
    with isolated():

        class Listing(_Listing):
            word = "own_listing"

        yield Listing


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(*arguments):
    done = CliRunner().invoke(main, ["export", *arguments])
    return done.exit_code, done.output


def test_a_target_says_what_it_takes(listing, folder, system_of, refuses):
    model = ns.load("agv")
    done = ns.export(model, "agv.own_states")
    assert [f.name for f in done.files] == ["agv.own_states", "agv.own_inputs"]
    assert done.notes == ("masses are left out",)
    assert Path("agv.own_states").read_text().startswith("states\nplatform.x\n")
    assert Path("agv.own_inputs").read_text() == "agv\ntorque1\ntorque2"
    ns.export(system_of("agv"), "again.own_states", title="x")
    assert Path("again.own_states").read_text().startswith("x\n")
    ns.export(system_of("agv"), "agv.toml")
    assert ns.load("agv.toml") == model
    with refuses(ns.SimulationError, "MAT holds a run, and Model is none", "x.mat", "give a run"):
        ns.export(model, "x.mat")


def test_options_targets_and_files_are_checked(listing, folder, refuses):
    model = ns.load("agv")
    with refuses(ns.NoslipError, "has no option 'titel'", "a.own_states", "'title'"):
        ns.export(model, "a.own_states", titel="x")
    with refuses(ns.NoslipError, "target 'toml' has no option 'title'", "a.toml", "leave it out"):
        ns.export(model, "a.toml", title="x")
    with refuses(ns.NoslipError, "there is no target 'tml'", "a.toml", "'toml'"):
        ns.export(model, "a.toml", to="tml")
    with refuses(ns.NoslipError, "no target has the suffix '.xyz'", "a.xyz", ".own_states"):
        ns.export(model, "a.xyz")
    Path("a.own_inputs").write_text("mine")
    with refuses(ns.CompileError, "there is already a file 'a.own_inputs'", "a.own", "overwrite"):
        ns.export(model, "a.own_states")
    assert not Path("a.own_states").exists() and Path("a.own_inputs").read_text() == "mine"
    with refuses(ns.CompileError, "there is no folder 'nowhere'", "nowhere", "make it"):
        ns.export(model, "nowhere/a.own_states")


def test_the_command_takes_a_run_or_a_model(listing, folder):
    code, said = run_command("agv", "--to", "own_listing", "--option", "title=all")
    assert code == 0 and "note: masses are left out" in said and "written: agv.own_inputs" in said
    assert Path("agv.own_states").read_text().startswith("all\n")
    code, said = run_command("agv", "--to", "own_listing")
    assert code == 1 and "it already exists" in said
    code, said = run_command("agv", "--to", "own_listing", "--force")
    assert code == 0
    code, said = run_command("agv", "--to", "mat")
    assert code == 1 and "where" in said and "fix" in said
    code, said = run_command("agv", "--to", "own_listing", "--option", "title")
    assert code == 2 and "write NAME=VALUE" in said
    code, said = run_command("agv", "--to", "own_listing", "--own-sine")
    assert code == 1 and "has no option 'own_sine'" in said


def test_the_command_writes_c_with_its_own_sine(folder):
    code, said = run_command("agv", "--to", "c", "--own-sine")
    assert code == 0 and "written: agv.c" in said
    assert "static void agv_sincos(" in Path("agv.c").read_text()


def test_words_of_targets_are_unique_over_the_families():
    from noslip.base.families import members_of
    from noslip.bridges.exports import FAMILIES

    words = [c.word for f in FAMILIES for c in members_of(f, installed=True) if c.can("write")]
    assert len(words) == len(set(words)) == len(export_targets())
