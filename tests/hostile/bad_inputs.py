"""Bad inputs: files against every reader, commands, and calls. Add a line to a table to test one.

A `BadInput` says what is made in an empty folder, the command or the call, and what must come of
it: the exit code or the error, words that appear, and what it may cost. The folder must be the same
afterwards.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limits import MEBIBYTE

import noslip as ns
from noslip.base.families import load_plugin

Make = Callable[[Path], Any]


@dataclass(frozen=True, kw_only=True)
class BadInput:
    """One line of the tables.

    Parameters
    ----------
    command : words after ``noslip``, run in the folder; or
    call : a call in Python, given the folder.
    makes : what is there before.
    code : exit code of the command.
    error : of the call.
    words : that appear in what is said.
    memory : bytes that it may take.
    """

    command: tuple[str, ...] = ()
    call: Callable[[Path], Any] | None = None
    makes: Make | None = None
    code: int = 1
    error: type[Exception] = ns.NoslipError
    words: tuple[str, ...] = ()
    memory: int = 512 * MEBIBYTE


def fifo(path: Path) -> None:
    os.mkfifo(path)


def sparse(size: int) -> Make:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


def holding(data: bytes) -> Make:
    return lambda path: path.write_bytes(data)


def link(target: str) -> Make:
    return lambda path: path.symlink_to(target)


#: Name → what is made at a path.
BAD_FILES: dict[str, Make] = {
    "missing": lambda path: None,
    "fifo": fifo,
    "device": link("/dev/zero"),
    "full device": link("/dev/full"),
    "folder": lambda path: path.mkdir(),
    "link to itself": lambda path: path.symlink_to(path),
    "100 GB": sparse(10**11),
    "NUL": holding(b"x,y\n0,0\n1,\x001\n"),
    "not UTF-8": holding(b"x,y\n\xff\xfe,1\n"),
    "empty": holding(b""),
    "a megabyte of spaces": holding(b" " * 10**6),
    "a megabyte of empty lines": holding(b"\n" * 10**6),
    "a megabyte of brackets": holding(b"[" * 999_000),
    "a megabyte of quotes": holding(b'"' * 999_000),
    "a long field": holding(b"x,y\n" + b"1" * 200_000 + b",2\n"),
    "a huge number": holding(b"x,y\n0,0\n1e300,1\n"),
}
#: What is no plain file, or none that anybody reads: the same words from every reader.
NO_FILES = {
    "missing": "there is no file",
    "fifo": "is not a plain file",
    "device": "is not a plain file",
    "full device": "is not a plain file",
    "folder": "is a folder",
    "link to itself": "cannot be read: Too many levels",
    "100 GB": "has 100000000000 bytes, at most",
}
#: Reader → file → words of what it says of the others; none where it is fine, as Python's to judge.
SAID: dict[str, dict[str, str | None]] = {
    "way-points": {
        "NUL": "the file contains a NUL",
        "not UTF-8": "byte 0xff is not UTF-8",
        "empty": "the header is ''",
        "a megabyte of spaces": "field larger than",
        "a megabyte of empty lines": "more than 1000 lines are empty",
        "a megabyte of brackets": "field larger than",
        "a megabyte of quotes": "field larger than",
        "a long field": "field larger than",
        "a huge number": "beyond ±1e+30",
    },
    "model": {
        "NUL": "the file contains a NUL",
        "not UTF-8": "byte 0xff is not UTF-8",
        "empty": "the file is empty",
        "a megabyte of spaces": "the file is empty",
        "a megabyte of empty lines": "the file is empty",
        "a megabyte of brackets": "is not TOML: unreadable initial",
        "a megabyte of quotes": "is not TOML: expected '='",
        "a long field": "is not TOML: expected '='",
        "a huge number": "is not TOML: expected '='",
    },
    "plugin": {
        "NUL": "cannot contain null bytes",
        "not UTF-8": "codec can't decode",
        "empty": None,
        "a megabyte of spaces": None,
        "a megabyte of empty lines": None,
        "a megabyte of brackets": "too many nested parentheses",
        "a megabyte of quotes": None,
        "a long field": "Exceeds the limit",
        "a huge number": "name 'x' is not defined",
    },
    "trajectory.csv": {
        "NUL": "the file contains a NUL",
        "not UTF-8": "byte 0xff is not UTF-8",
        "empty": "KeyError: 'time'",
        "a megabyte of spaces": "field larger than",
        "a megabyte of empty lines": "more than 1000 lines are empty",
        "a megabyte of brackets": "field larger than",
        "a megabyte of quotes": "field larger than",
        "a long field": "field larger than",
        "a huge number": "KeyError: 'time'",
    },
    "summary.json": {
        "NUL": "the file contains a NUL",
        "not UTF-8": "byte 0xff is not UTF-8",
        "empty": "JSONDecodeError: Expecting value: line 1 column 1",
        "a megabyte of spaces": "JSONDecodeError: Expecting value: line 1 column 1000001",
        "a megabyte of empty lines": "JSONDecodeError: Expecting value: line 1000001",
        "a megabyte of brackets": "RecursionError",
        "a megabyte of quotes": "JSONDecodeError: Extra data",
        "a long field": "JSONDecodeError: Expecting value: line 1 column 1",
        "a huge number": "JSONDecodeError: Expecting value: line 1 column 1",
    },
}
SAID["model.toml"] = SAID["model"]
SAID["trajectory.nc"] = dict.fromkeys(
    ["100 GB", *(BAD_FILES.keys() - NO_FILES.keys())], "Unable to synchronously open"
)


def said_of(reader: str, file: str) -> str | None:
    """Words that a reader says of a bad file; a folder without one of its files is no run."""
    own = SAID[reader].get(file, NO_FILES.get(file))
    if reader in RUN_FILES and file in NO_FILES and file != "100 GB":
        missing = "trajectory.nc" if reader == "trajectory.csv" else reader
        return f"the folder has no {missing}"
    return own


#: A folder with a good run, made once; readers of runs get a copy of it.
RUN_FILES = ("trajectory.csv", "summary.json", "model.toml", "trajectory.nc")


def read_as_run(name: str, run: Path) -> Callable[[Path], Any]:
    """A reader of a run's folder in which one file is replaced."""

    def read(path: Path) -> Any:
        folder = path.parent / "run"
        if not folder.exists():
            folder.mkdir()
            for kept in RUN_FILES:
                if kept != name and not (name + kept).count("trajectory") > 1:
                    (folder / kept).symlink_to(run / kept)
            if os.path.lexists(path):
                (folder / name).symlink_to(path)
        return ns.read_run(folder)

    return read


#: Reader → what its file is called, and how it is read.
READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "way-points": ("way.csv", lambda path: ns.paths.parse_path(f"csv:{path}")),
    "model": ("my.toml", ns.load),
    "plugin": ("part.py", load_plugin),
}

TRACK = ("track", "agv", "--timing", "quintic:10", "--no-plots", "-o", "out")
RUN = ("run", "knife-edge", "--no-plots")


def thesis(folder: Path) -> None:
    (folder / "out" / "deep").mkdir(parents=True)
    (folder / "out" / "deep" / "thesis.tex").write_text("mine")


def way(text: str) -> Make:
    return lambda folder: (folder / "way.csv").write_text(text)


def xml(text: str, name: str) -> Make:
    return lambda folder: (folder / name).write_text(text)


COMMANDS: dict[str, BadInput] = {
    "a pipe as way-points": BadInput(
        makes=lambda folder: os.mkfifo(folder / "way.csv"),
        command=(*TRACK, "--path", "csv:way.csv"),
        words=("'way.csv' is not a plain file", "fix"),
    ),
    "zeros as way-points": BadInput(
        command=(*TRACK, "--path", "csv:/dev/zero"), words=("'/dev/zero' is not a plain file",)
    ),
    "two million way-points": BadInput(
        makes=way("x,y\n" + "".join(f"{k},1\n" for k in range(2_000_000))),
        command=(*TRACK, "--path", "csv:way.csv"),
        words=("at most 2000000 are read", "at most 10000 way-points"),
    ),
    "many way-points": BadInput(
        makes=way("x,y\n" + "".join(f"{k},1\n" for k in range(20_000))),
        command=(*TRACK, "--path", "csv:way.csv"),
        words=("more than 10000 way-points", "give fewer"),
    ),
    "a long clothoid": BadInput(
        command=(*TRACK, "--path", "clothoid:start_curvature=0;end_curvature=1;length=1e300"),
        words=("length is 1e+300, beyond ±1e+30",),
    ),
    "a clothoid that winds": BadInput(
        command=(*TRACK, "--path", "clothoid:start_curvature=0;end_curvature=1e5;length=10"),
        words=("turns by about 5e+05 rad", "6.25e+05 pieces"),
    ),
    "a timing beyond all times": BadInput(
        command=("track", "agv", "--path", "circle:radius=2", "--timing", "quintic:1e300"),
        words=("duration is 1e+300",),
    ),
    "a hinge that is no coordinate": BadInput(
        command=(*TRACK, "--path", "circle:2", "--hinge", "x"), words=("hinge is 'x'", "fix")
    ),
    "a hinge without steering": BadInput(
        command=(*TRACK, "--path", "circle:2", "--hinge", "bracket.angle"),
        words=("no steering is named",),
    ),
    "a hitch without a hinge": BadInput(
        command=(*TRACK, "--path", "circle:2", "--hitch", "0.3"), words=("without the hinge",)
    ),
    "a heading of nothing": BadInput(
        command=(*TRACK, "--path", "circle:2", "--heading", "nothing"),
        words=("heading is 'nothing'", "fix"),
    ),
    "half a heading": BadInput(
        command=(*TRACK, "--path", "circle:2", "--heading", "1+"), words=("heading is '1+'",)
    ),
    "a point of names": BadInput(
        command=(*TRACK, "--path", "circle:2", "--point", "x,y,z"), words=("point is 'x'",)
    ),
    "a direction of names": BadInput(
        command=(*TRACK, "--path", "circle:2", "--direction", "x,y,z"),
        words=("direction is 'x'",),
    ),
    "a steering that is no coordinate": BadInput(
        command=(*TRACK, "--path", "circle:2", "--steering", "x"), words=("steering is 'x'",)
    ),
    "the folder we are in": BadInput(command=(*RUN, "-o", "."), words=("is the current one",)),
    "no folder": BadInput(command=(*RUN, "-o", ""), words=("is the current one",)),
    "the folder above": BadInput(command=(*RUN, "-o", ".."), words=("or one above it",)),
    "a folder below a file": BadInput(
        makes=lambda folder: (folder / "file").write_text("mine"),
        command=(*RUN, "-o", "file/out"),
        words=("the folder cannot be created",),
    ),
    "a file as folder": BadInput(
        makes=lambda folder: (folder / "file").write_text("mine"),
        command=(*RUN, "-o", "file", "--force"),
        words=("is not a run of noslip",),
    ),
    "a device as folder": BadInput(
        command=(*RUN, "-o", "/dev/null", "--force"), words=("is not a run of noslip",)
    ),
    "somebody's folder": BadInput(
        makes=thesis, command=(*RUN, "-o", "out", "--force"), words=("is not a run of noslip",)
    ),
    "a link to nowhere": BadInput(
        makes=lambda folder: (folder / "out").symlink_to("/proc/nowhere/out"),
        command=(*RUN, "-o", "out"),
        words=("it cannot be written", "where  out"),
    ),
    "an endless name": BadInput(
        command=(*RUN, "-o", "x" * 400), words=("the folder cannot be created",)
    ),
    "a model that is a pipe": BadInput(
        makes=lambda folder: os.mkfifo(folder / "my.toml"),
        command=("check", "my.toml"),
        words=("is not a plain file",),
    ),
    "a model with an emoji in the wrong place": BadInput(
        makes=lambda folder: (folder / "ä 😀.toml").write_text('format = 1\n😀 = "x"\n'),
        command=("check", "ä 😀.toml"),
        words=("ä 😀.toml, line 2",),
    ),
    "a run that is none": BadInput(
        makes=thesis,
        command=("animate", "out", "-o", "film.gif"),
        words=("has no model.toml", "fix"),
    ),
    "states without end": BadInput(
        command=("verify", "knife-edge", "--states", "1000000000"), words=("1 to 10000 states",)
    ),
    "a sweep without end": BadInput(
        command=("linearize", "whipple-bicycle", "--sweep", "speed=0:10:1000000000"),
        code=2,
        words=("COUNT from 2 to 100000",),
    ),
    "a scheduler of no scheme": BadInput(
        command=(
            *("sweep", "knife-edge", "--vary", "m=1:2:2", "--measure", "final:skate.x"),
            *("--duration", "0.05", "--on", "dask:tcp://127.0.0.1:1"),
        ),
        words=("no Dask scheduler at this address", "fix"),
    ),
    "threads without end": BadInput(
        command=(
            *("sweep", "knife-edge", "--vary", "m=1:2:2", "--measure", "final:skate.x"),
            *("--duration", "0.05", "--threads", "99999999999999999999"),
        ),
        words=("threads is 99999999999999999999", "from 1 to 1024"),
    ),
    **{
        f"a follower with {' '.join(option)}": BadInput(
            command=(*TRACK[:-2], "--path", "circle:radius=2", *option),
            code=code,
            words=(option[0],),
        )
        for code, option in (
            *((1, ("--hinge", "x")), (1, ("--heading", "x"))),
            *((1, ("--heading", "1/0")), (1, ("--heading", "(")), (1, ("--point", "x,y,z"))),
            *((1, ("--direction", "0,0,0")), (1, ("--wheelbase", "nan"))),
        )
    },
    "a motion that cannot be read": BadInput(
        command=(*RUN, "--duration", "0.1", "--motion", "skate.x=1e999"), words=("too large", "fix")
    ),
    "a size without end": BadInput(
        command=("animate", "knife-edge", "--size", "99999x99999"),
        code=2,
        words=("width x height",),
    ),
    "a value with a NUL in it": BadInput(
        command=("run", "knife-edge", "--set", "m=1\0"), code=2, words=("cannot be read",)
    ),
    "a model's name with a NUL": BadInput(
        command=("check", "a\0b.toml"), words=("cannot be read", "a\\0b.toml")
    ),
    **{
        f"an option of an export that is {value}": BadInput(
            command=("export", "knife-edge", "--to", to, "--option", f"{name}={value}"),
            words=(f"option '{name}' of target '{to}' is", "expected"),
        )
        for to, name, value in (
            *(("c", "prefix", "1"), ("c", "precision", "true"), ("c", "own_sine", "2")),
            *(("fmu", "version", "three"), ("casadi", "outputs", "1.5")),
        )
    },
    **{
        f"XML in {encoding}": BadInput(
            makes=xml(f'<?xml version="1.0" encoding="{encoding}"?>\n<{root}/>', name),
            command=("check", name),
            words=("encoding", f"{name}, line 1", "UTF-8"),
        )
        for encoding in ("utf-7", "nosuch", "shift_jis", "idna", "zlib")
        for root, name in (("robot", "a.urdf"), ("mujoco", "a.xml"))
    },
    "an expression without end": BadInput(
        command=("run", "knife-edge", "--set", "m=" + "(" * 100_000), code=2, words=("--set",)
    ),
}


def _compiled(name: str) -> Any:
    return ns.compile(ns.derive(ns.load(name)))


CALLS: dict[str, BadInput] = {
    "1e8 trajectories": BadInput(
        call=lambda folder: ns.simulate_batch(_compiled("knife-edge"), duration=1.0, count=10**9),
        words=("GiB of results", "keep final values or fewer samples"),
    ),
    "all samples of a million trajectories": BadInput(
        call=lambda folder: ns.simulate_batch(
            _compiled("knife-edge"), duration=1.0, count=10**7, keep=["samples"]
        ),
        words=("GiB of results", "keep final values or fewer samples"),
    ),
    "more samples than fit": BadInput(
        call=lambda folder: ns.simulate(_compiled("whipple-bicycle"), duration=1.0, samples=10**7),
        words=("GiB of results", "fewer samples"),
    ),
    "a controller that acts all the time": BadInput(
        call=lambda folder: ns.track(
            _compiled("agv"),
            ns.paths.Circle(radius=2.0),
            follower=ns.Follower(point=(0, "-a", 0), direction=(0, 1, 0)),
            controller=ns.ControlLoop(
                controller=ns.controllers.PoseTracking(point=(0, "-a", 0), direction=(0, 1, 0)),
                period=1e-12,
            ),
            timing=ns.timing.Quintic(10.0),
        ),
        words=("1e+13 updates", "longer period"),
        memory=1024 * MEBIBYTE,
    ),
    "a run to a name with a NUL": BadInput(
        call=lambda folder: ns.save_model(ns.load("agv"), folder / "a\0b.toml"),
        words=("NUL",),
    ),
    "a circle as large as nothing": BadInput(
        call=lambda folder: ns.paths.Circle(radius=1e300), words=("beyond ±1e+30",)
    ),
}
