"""Options of every command with bad texts: done, or refused in three parts or as a usage error.

Nothing else may come of it: no other exception, nothing that takes longer than `PATIENCE`, no file
of a command that was refused. ``make test`` tries the same 200 of 20 000 each
time, ``pytest --long`` always others.
"""

import json
import os
import random
import shutil
import signal
import time
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from limits import snapshot

import noslip as ns
from noslip.cli import main

#: Cases in a usual run and in a long one, each of about 0.05 s.
USUAL, LONG = 200, 3000
#: s of CPU of one command, and of the clock for one that only waits; models are derived once, and
#: run for 0.05 s.
PATIENCE, WAITING = 20, 300

SHORT = ("--duration", "0.05")
TRACK = ("track", "agv", "--path", "circle:radius=2", "--timing", "quintic:1", "--no-plots")
#: Commands that do well, to which one option is added.
GOOD: tuple[tuple[str, ...], ...] = (
    ("new", "robot.toml", "--no-ask"),
    ("list",),
    ("import", "robot.urdf"),
    ("check", "knife-edge"),
    ("expand", "knife-edge"),
    ("schema",),
    ("derive", "knife-edge"),
    ("matrices", "knife-edge"),
    ("joints", "revolute"),
    ("verify", "knife-edge"),
    ("cost", "knife-edge"),
    ("evaluate", "knife-edge"),
    ("steady", "knife-edge"),
    ("linearize", "knife-edge"),
    ("chart", "whipple-bicycle", "--vary", "speed=4:6:3", "--vary", "c=0.05:0.1:2"),
    ("lyapunov", "knife-edge", "--duration", "0.05", "--spans", "2"),
    ("periodic", "snakeboard", "--period", "pi/2"),
    ("branch", "whipple-bicycle", "--vary", "speed=5:6", "--step", "0.5"),
    ("run", "knife-edge", "--no-plots", *SHORT),
    ("run", "manipulator-2r", "--no-plots", *SHORT, "--controller", "pd"),
    (*TRACK, *SHORT),
    (*TRACK, *SHORT, "--controller", "pose"),
    ("fit", "knife-edge", "log.csv", "--parameter", "m"),
    (
        "sweep",
        "knife-edge",
        "--vary",
        "m=1:2:2",
        "--measure",
        "final:skate.x",
        *SHORT,
        "--no-report",
    ),
    ("mission", "fetch.mission.toml"),
    ("plot", "run", "-o", "p.png"),
    ("compare", "run", "run"),
    ("animate", "run"),
    ("export", "knife-edge", "--to", "toml"),
    ("papers",),
    ("geometry", "knife-edge"),
    ("share", "knife-edge", "-o", "page.html"),
    (
        *("plan", "manipulator-2r", "--goal", "joint1.angle=0.1,joint2.angle=0.2", "--limit"),
        *("tau1=50,tau2=20", "--minimize", "effort", "--duration", "1", "--intervals", "4"),
        *("--no-refine", "--no-plots"),
    ),
)
#: Texts of no sense for most options, or of too much.
TEXTS = (
    *("", " ", "nan", "inf", "-1", "0", "1e308", "1e-320", "9" * 20, "1e400", "1/0", "true", "t"),
    *("x", "x=", "=1", "x=1", "x=nan", "m=nan", "m=inf", "m=1/0", "m=0", "m=-1", "m=x", "m=1e308"),
    *("m=1:2", "m=1:2:0", "m=1:2:x", "m=2:1:-3", "m=nan:1:3", "m=1:2:1e9", "a:b", "a:b=c", ":"),
    *("x,y,z", "1,2", "1,2,3,4", "nan,0,0", "1e999,0,0", "nothing", "ä", "😀", "\u2028", "("),
    *("{", "[", "'", '"', "type='wrench'", "../..", "/dev/null", "/nosuch/x", "a" * 5000),
    *("(" * 500, "--", "%s", "skate.x", "skate.x=1e999", "skate.x=skate.x", "skate.x=(", "all"),
    *("skate.rate=2[furlong]", "skate.x:sigma=-1", "skate.x:delay=x", "final:nosuch", "circle:"),
    *("circle:radius=0", "csv:nosuch.csv", "quintic:-1", "pose:k=nan", "pd:kp=-1;kd=x", "m~n(0)"),
)
#: What starts a server or processes of its own.
NOT_HERE = {("studio", ""), ("sweep", "--on"), ("sweep", "--device")}
#: Asked for and done: a controller updates as long as steps last, 10 million, some minutes.
LONG_RUN = ("track", "--duration", "9" * 20)


def cases() -> list[tuple[str, ...]]:
    """A good command with one more option, or with another argument."""
    context, found = click.Context(main), []
    for words in GOOD:
        command = main.get_command(context, words[0])
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                name = max(parameter.opts, key=len)
                if (words[0], name) not in NOT_HERE:
                    found += [
                        (*words, name, text) for text in TEXTS if (words[0], name, text) != LONG_RUN
                    ]
            elif isinstance(parameter, click.Argument):
                found += [(words[0], text, *words[2:]) for text in TEXTS]
    return found


def test_every_command_is_tried():
    tried = {words[0] for words in GOOD} | {command for command, _ in NOT_HERE}
    assert tried == set(main.list_commands(click.Context(main)))


class Stuck(BaseException):
    """A command that goes on for longer than it may."""


def _stuck(*_: object) -> None:
    raise Stuck


@pytest.fixture
def place(tmp_path, monkeypatch, derive_once, system_of):
    """A folder with what the good commands need."""
    monkeypatch.chdir(tmp_path)
    run = ns.run_scenario(system_of("knife-edge"), duration=0.5)
    ns.write_run(run, tmp_path / "run", plots=False)
    arm = Path(__file__).parents[1] / "unit" / "bridges" / "arm.urdf"
    shutil.copy(arm, tmp_path / "robot.urdf")
    table = run.to_xarray().to_dataframe().reset_index()
    columns = ["time", "skate.x", "skate.y", "skate.angle"]
    table[columns].to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "fetch.mission.toml").write_text('model = "agv"\n[[legs]]\nstop = 1.0\n')
    return tmp_path


def outcome(words: tuple[str, ...], place: Path) -> str:
    """What is wrong with the answer to a command; empty if nothing is."""
    before = snapshot(place)
    usual = [(kind, signal.signal(kind, _stuck)) for kind in (signal.SIGALRM, signal.SIGPROF)]
    signal.alarm(WAITING)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    said = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = CliRunner().invoke(main, list(words), input="")
        if result.exit_code not in (0, 1, 2):
            said = f"exit code {result.exit_code}"
        elif result.exception is not None and not isinstance(result.exception, SystemExit):
            said = repr(result.exception)[:200]
        elif "Traceback" in result.output or len(result.output) > 10**6:
            said = "a traceback, or endless words"
        elif result.exit_code == 1 and not ("where" in result.output or result.stdout):
            said = f"no where: {result.output[:200]}"
    except Stuck:
        said = f"no end after {PATIENCE} s"
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for kind, handler in usual:
            signal.signal(kind, handler)
        os.chdir(place)
    after = snapshot(place)
    if after != before:
        # a run that is written, and then judged, is no refusal
        is_written = "  folder  " in result.output
        is_refused = not said and (result.exit_code == 2 or "  fix  " in result.output)
        is_refused = is_refused and not is_written
        if is_refused:
            said = f"left {sorted(set(after) - set(before))[:3]}"
        restore(place, before)
    return said


def restore(place: Path, before: dict[str, str]) -> None:
    """Remove what was not there."""
    for path in sorted(place.rglob("*"), reverse=True):
        if str(path.relative_to(place)) not in before:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.slow
def test_bad_options_are_refused_in_words(place, pytestconfig):
    is_long = pytestconfig.getoption("--long")
    count, seed = (LONG, time.time_ns()) if is_long else (USUAL, 38)
    chosen = random.Random(seed).sample(cases(), count)
    wrong = {}
    for words in chosen:
        if said := outcome(words, place):
            wrong[" ".join(words)[:200]] = said
    assert not wrong, json.dumps(dict(list(wrong.items())[:20]), indent=1)
