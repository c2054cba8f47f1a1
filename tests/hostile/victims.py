"""Commands that are killed or run at once, each in a process forked from one that has all loaded.

    python victims.py kill SEED COUNT FOLDER       kills of each command; prints what was found
    python victims.py together COUNT FOLDER        as many runs at once; prints their exit codes

A fork costs a hundredth of a new Python, so that a hundred kills take a minute. A process kills
itself before one of the changes that it makes to files, so that every kill is amid writing; above
fifty, kills at random moments follow.
"""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import xarray

import noslip as ns
from noslip.base import remove_stale
from noslip.base.files import foreign, read_manifest
from noslip.cli import main

#: Events of Python by which files change, and files that every run has.
CHANGES = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.truncate"}
WRITTEN = ("model.toml", "summary.json", "summary.txt", "trajectory.nc")
TRACK = ["--path", "circle:radius=2", "--timing", "quintic:20", "--point=0,-a,0"]
COMMANDS = {
    "run": ["run", "knife-edge", "--no-plots"],
    "track": ["track", "agv", *TRACK, "--direction=0,1,0", "--no-plots"],
    "force": ["run", "knife-edge", "--no-plots", "-o", "runs/forced", "--force"],
}


def batch():
    system = ns.compile(ns.derive(ns.load("knife-edge")))
    kept = ns.simulate_batch(system, duration=1.0, count=200, keep=["samples"])
    kept.to_netcdf("runs/batch.nc")


def work(kind):
    """Run a command in this process, quietly."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        if kind == "batch":
            batch()
        else:
            sys.argv = ["noslip", *COMMANDS[kind]]
            main(COMMANDS[kind], standalone_mode=False)


def start(kind, log, at=0):
    """A process that runs a command; it kills itself before it changes ``runs`` the nth time."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    changes = count_changes(at)
    try:
        os.dup2(log, 2)
        work(kind)
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        Path(f"{kind}.changes").write_text(str(len(changes)))
        os._exit(code)


def count_changes(at):
    """What is opened for writing, made, renamed or removed below ``runs``, as Python sees it.

    Before change number `at` the process is killed.
    """
    changes, below = [], os.path.abspath("runs") + os.sep
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def look(event, given):
        if event == "open" and not given[2] & writes:
            return
        if event in CHANGES and isinstance(given[0], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(given[0]))
            if path.startswith(below):
                changes.append((event, path))
                if len(changes) == at:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)
    return changes


def faults(folder):
    """What is wrong with a run's folder: files that its manifest names and are not like that."""
    listed = read_manifest(folder) or {}
    found = [f"no {name}" for name in WRITTEN if name not in listed]
    found += [f"{name} is gone" for name in listed if not (folder / name).is_file()]
    found += [f"{name} is another" for name in foreign(folder) if name != "notes.txt"]
    if not found:
        ns.read_run(folder)
    return found


def check(kind, when, before):
    """Everything in ``runs`` is whole, all that was there before among it; how much is hidden."""
    entries = list(Path("runs").iterdir())
    hidden = [path for path in entries if path.name.startswith(".")]
    names = {path.name for path in entries} - {path.name for path in hidden}
    assert names >= before, (kind, when, before - names)
    for name in names - {"batch.nc"}:
        assert not faults(Path("runs") / name), (kind, when, name, faults(Path("runs") / name))
    with xarray.open_dataset("runs/batch.nc", engine="h5netcdf") as batch:
        assert batch.sizes["trajectory"] == 200, (kind, when)
    remove_stale(Path("runs"))
    left = [path for path in Path("runs").iterdir() if path.name.startswith(".")]
    assert not left, (kind, when, left)
    assert Path("runs/forced/notes.txt").read_text() == "mine", (kind, when)
    return names, len(hidden)


def kill(seed, count):
    """Kills while files are written, spread over all changes of each command; then at random."""
    rng = random.Random(seed)
    if count > 50:
        COMMANDS["run"] = ["run", "knife-edge", "--no-report"]  # with figures
    kinds = ["run", "track", "force", "batch"]
    spans, moments = {}, []
    log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    Path("before").mkdir()
    with contextlib.chdir("before"):
        for kind in kinds:  # what is loaded and compiled here is there in every fork
            work(kind)
    for kind in kinds:  # a first time, to know what each does
        began = time.monotonic()
        _, status = os.waitpid(start(kind, log), 0)
        assert status == 0, (kind, Path("log.txt").read_text())
        spans[kind] = time.monotonic() - began
        changes = int(Path(f"{kind}.changes").read_text())
        each = min(changes, count // len(kinds) if count > 50 else count)
        moments += [(kind, 1 + (k + 1) * (changes - 1) // each) for k in range(each)]
    Path("runs/forced/notes.txt").write_text("mine")
    names = {path.name for path in Path("runs").iterdir()}
    for kind, at in moments:
        _, status = os.waitpid(start(kind, log, at), 0)
        assert os.WIFSIGNALED(status), (kind, at, status)
        names, hidden = check(kind, at, names)
        print(kind, "left", hidden, "hidden")
    for k in range(count if count > 50 else 0):
        kind = kinds[k % len(kinds)]
        pid = start(kind, log)
        time.sleep(rng.uniform(0.0, 1.1) * spans[kind])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        names, hidden = check(kind, k, names)
        print(kind, "left", hidden, "hidden")


def together(count):
    log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    kinds = ["run", "track"]
    Path("before").mkdir()
    with contextlib.chdir("before"):
        for kind in kinds:
            work(kind)
    for kind in kinds:
        os.waitpid(start(kind, log), 0)
    COMMANDS["same"] = ["run", "knife-edge", "--no-plots", "-o", "runs/same"]
    pids = [start(kind, log) for kind in ("run", "same", "track") for _ in range(count)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    folders = sorted(path.name for path in Path("runs").iterdir())
    assert not any(faults(Path("runs") / name) for name in folders)
    print(*codes)
    print(*folders)


if __name__ == "__main__":
    action, *numbers, folder = sys.argv[1:]
    os.chdir(folder)
    {"kill": kill, "together": together}[action](*map(int, numbers))
