"""Odd files and commands, as newcomers and hostile people try them.

Each ends with exit code 1 (the model or the run) or 2 (the command) and says what, where and fix;
none shows a traceback, and nothing is left behind.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from noslip.cli import main

NOSLIP = (sys.executable, "-m", "noslip.cli")

SLED = """\
format = 1
name = "sled"
gravity = [0, 0, -9.81]
[parameters.m]
value = 1.5
unit = "kg"
[bodies.sled]
mass = "m"
moment = 2
[joints.sled]
type = "planar"
parent = "world"
child = "sled"
[contacts.blade]
type = "knife_edge"
body = "sled"
direction = [1, 0, 0]
[inputs.push]
unit = "N"
[forces.motor]
type = "motor"
speed = "sled.vx"
input = "push"
[scenario]
duration = 1
"""

BODY = "[bodies.{0}]\nmass = 1\nmoment = 1\n"
JOINT = "[joints.{0}]\ntype = 'planar'\nparent = '{1}'\nchild = '{0}'\n"


@pytest.fixture
def invoke(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, words)


def told(result, code):
    """The program ended by itself with this code, and said what, where and fix if it is 1."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code == 1:
        assert "\n  where  " in result.output and "\n  fix    " in result.output
    return result.output


def left():
    """What there is in this folder, hidden things too."""
    return {path.name for path in Path().iterdir()}


def edited(old, new):
    assert SLED.count(old) == 1
    return SLED.replace(old, new)


#: Files that `check` refuses, with a word of what it says.
FILES = {
    "a cycle": (
        SLED
        + "".join(BODY.format(x) + JOINT.format(x, y) for x, y in ("bc", "cb")),
        "form a cycle",
    ),
    "letters of its own": (SLED.replace("sled", "schlitten_ö"), "letters a to z"),
    "letters in quotes": (SLED + BODY.format('"ö"') + JOINT.format("ö", "world").replace(
        "[joints.ö]", '[joints."ö"]'), "a name that expressions cannot use"),
    "nothing": ("", "is empty"),
    "bytes": (bytes(range(256)), "contains a NUL"),
    "UTF-16": (SLED.encode("utf-16"), "save the file as UTF-8"),
    "a zero byte": (edited('name = "sled"', 'name = "sl\0ed"'), "contains a NUL"),
    "too big": ("#" * 1_100_000, "bytes, at most"),
    "a deep expression": (edited('"m"', f'"{"(" * 900}m{")" * 900}"'), "nested deeper"),
    "deep keys": (SLED + "[" + ".".join("ab" * 200) + "]\n", "more than 16 parts"),
    "code": (edited('"m"', "\"__import__('os').remove('x')\""), "cannot be read"),
    "a name out of the folder": (edited('name = "sled"', 'name = "../evil"'), "name a folder"),
    "no inertia": (edited("1.5", "0").replace("moment = 2", "moment = 0"), "has no inertia"),
    "a loop that cannot close": (
        SLED + "[joints.loop]\ntype = 'fixed'\nparent = 'world'\nchild = 'sled'\n"
        "parent_frame = {position = [0, 0, 1]}\n",
        "no configuration satisfies",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_at_fault(invoke, name):
    content, words = FILES[name]
    data = content if isinstance(content, bytes) else content.encode()
    Path("model.toml").write_bytes(data)
    output = told(invoke("check", "model.toml"), 1)
    assert words in output
    told(invoke("run", "model.toml", "--no-plots"), 1)
    assert left() == {"model.toml"}


def test_odd_files_that_are_fine(invoke):
    odd = edited('name = "sled"', 'name = "Шлитен 🛷"\ndescription = "日本語"')
    for content in (odd.encode(), b"\xef\xbb\xbf" + SLED.replace("\n", "\r\n").encode()):
        Path("model.toml").write_bytes(content)
        told(invoke("check", "model.toml"), 0)
        told(invoke("run", "model.toml", "--no-plots"), 0)
    assert {path.name for path in Path("runs").iterdir()} == {"Шлитен 🛷", "sled"}


#: Commands that are refused: exit code and a word of what is said.
COMMANDS = [
    (("chekc", "agv"), 2, "Did you mean 'check'?"),
    (("check",), 2, "Missing argument"),
    (("check", "agv", "--frob"), 2, "No such option"),
    (("check", ""), 1, "is a folder"),
    (("check", "/dev/null"), 1, "is not a plain file"),
    (("check", "notes"), 1, "cannot be read as 'notes'"),
    (("check", "a" * 5000), 1, "there is no model"),
    (("run", "rolling-disk", "--tolerance", "1e-20"), 1, "rtol from 1e-15"),
    (("run", "rolling-disk", "--tolerance", "tight"), 2, "'tight' is not a number"),
    (("run", "rolling-disk", "--set", "r"), 2, "write NAME=VALUE"),
    (("run", "rolling-disk", "--set", "r=" + "1+" * 5000 + "1"), 2, "10001 characters"),
    (("run", "rolling-disk", "--set", "r=-1"), 1, "expected more than 0"),
    (("run", "rolling-disk", "--set", "disk.tilt=nan"), 2, "no parameter 'nan'"),
    (("run", "rolling-disk", "--set", "sled=1"), 1, "`noslip check` lists them"),
    (("run", "sled.toml", "--set", "sled.vy=1"), 1, "contradict"),
    (("run", "sled.toml", "--set", "push=sin(q)"), 1, "uses 'q', which is not known"),
    (("run", "rolling-disk", "-o", "notes"), 1, "not a run of noslip"),
    (("run", "rolling-disk", "-o", "folder", "--force"), 1, "not a run of noslip"),
    (("run", "rolling-disk", "-o", "notes/run", "--no-plots"), 1, "cannot be created"),
    (("run", "rolling-disk", "-o", "x" * 300), 1, "name too long"),
    (("evaluate", "agv", "--time", "inf"), 1, "the time is inf s"),
    (("evaluate", "agv", "--set", "R=2"), 1, "a number of the scenario"),
    (("verify", "agv", "--seed", "-1"), 2, "not in the range"),
    (("derive", "agv", "--method", "newton"), 2, "'newton' is not one of"),
    (("track", "agv", "--path", "circle", "--timing", "quintic:60"), 1, "needs radius"),
]


@pytest.mark.parametrize(("words", "code", "said"), COMMANDS, ids=lambda x: str(x)[:50])
def test_a_command_at_fault(invoke, words, code, said):
    Path("sled.toml").write_text(SLED)
    Path("notes").write_text("buy milk")
    Path("folder").mkdir()
    Path("folder/thesis.tex").write_text("do not lose me")
    before = left()
    output = told(invoke(*words), code)
    assert said in output
    assert left() == before
    assert Path("folder/thesis.tex").read_text() == "do not lose me"


# a real shell


def shell(*words, **options):
    return subprocess.run(
        [*NOSLIP, *words], capture_output=True, timeout=120, check=False, **options
    )


def test_a_reader_that_has_read_enough(tmp_path):
    """`noslip list | head -1`."""
    script = f"{sys.executable} -m noslip.cli list | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], capture_output=True, timeout=60, check=False
    )
    assert done.stdout.startswith(b"differential-robot") and done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_disk_that_is_full():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*NOSLIP, "list"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert b"OSError: No space left on device\n  where  " in done.stderr


def test_a_plain_locale_and_a_narrow_terminal(tmp_path):
    Path(tmp_path / "sled.toml").write_text(SLED.replace('"sled"', '"Шлитен"', 1), "utf-8")
    plain = {
        **os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
        "COLUMNS": "40", "TERM": "dumb",
    }  # fmt: skip
    for words in (["check", "sled.toml"], ["run", "sled.toml", "-o", "out", "--no-plots"]):
        done = shell(*words, env=plain, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    assert "Шлитен" in (tmp_path / "out" / "summary.txt").read_text("utf-8")
    help_text = shell("run", "--help", env=plain).stdout.decode()
    assert max(map(len, help_text.splitlines())) <= 60


def test_control_c_ends_a_run_which_is_kept_whole_or_not_at_all(tmp_path):
    endless = SLED.replace("duration = 1", 'duration = 1e9\ninputs = {push = "sin(t)"}')
    (tmp_path / "sled.toml").write_text(endless)
    words = ["run", "sled.toml", "-o", "out", "--no-plots"]
    code, errors = interrupted(words, tmp_path, after=3.0)
    assert code == 130
    there = {path.name for path in tmp_path.iterdir()} - {"sled.toml"}
    if there:
        # while it simulates: what was computed is kept
        assert there == {"out"} and not errors
        summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
        assert summary["ending"] == "cancelled"
        assert (tmp_path / "out" / "trajectory.nc").exists()
    else:
        # while it prepares or writes, or where writing takes longer than a command may
        assert errors == "Aborted!"


def test_control_c_is_not_lost_within_casadi(tmp_path):
    """Verifying is one CasADi call after another; their bindings drop what is raised in them."""
    for after in (2.0, 2.4):
        words = ["verify", "whipple-bicycle", "--states", "10000"]
        assert interrupted(words, tmp_path, after=after) == (130, "Aborted!")


def interrupted(words, folder, *, after):
    """How a command ends that gets Ctrl-C after some seconds."""
    process = subprocess.Popen(
        [*NOSLIP, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, errors.decode().strip()
