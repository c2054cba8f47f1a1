"""Commands that are killed or run at once, each in a process forked from one that has all loaded.

    python victims.py kill SEED COUNT FOLDER       kills at random moments; prints what was found
    python victims.py together COUNT FOLDER        as many runs at once; prints their exit codes

A fork costs a hundredth of a new Python, so that a hundred kills take a minute.
"""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import noslip as ns
from noslip.atomic import MANIFEST, foreign, remove_stale
from noslip.cli import main

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


def start(kind, log):
    """A process that runs a command."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(log, 2)
        work(kind)
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        os._exit(code)


def whole(folder):
    """Whether a run's folder is complete: its manifest names files that are all there."""
    listed = ns.read_run(folder).model.name and (folder / MANIFEST).exists()
    return bool(listed) and set(foreign(folder)) <= {"notes.txt"}


def kill(seed, count):
    rng = random.Random(seed)
    if count > 50:
        COMMANDS["run"] = ["run", "knife-edge", "--no-report"]  # with figures
    kinds = ["run", "track", "force", "batch"]
    spans = {}
    log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for kind in kinds:  # a first time, to know how long each takes, and for code to be compiled
        began = time.monotonic()
        _, status = os.waitpid(start(kind, log), 0)
        assert status == 0, (kind, Path("log.txt").read_text())
        spans[kind] = time.monotonic() - began
    Path("runs/forced/notes.txt").write_text("mine")
    for k in range(count):
        kind = kinds[k % len(kinds)]
        pid = start(kind, log)
        time.sleep(rng.uniform(0.0, 1.1) * spans[kind])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        hidden = [path for path in Path("runs").iterdir() if path.name.startswith(".")]
        for folder in Path("runs").iterdir():
            if folder.is_dir() and folder not in hidden:
                assert whole(folder), (k, kind, folder)
        remove_stale(Path("runs"))
        left = [path for path in Path("runs").iterdir() if path.name.startswith(".")]
        assert not left, (k, kind, left)
        assert Path("runs/forced/notes.txt").read_text() == "mine", (k, kind)
        print(kind, "left", len(hidden), "hidden")


def together(count):
    log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    kinds = ["run", "track"]
    for kind in kinds:
        os.waitpid(start(kind, log), 0)
    COMMANDS["same"] = ["run", "knife-edge", "--no-plots", "-o", "runs/same"]
    pids = [start(kind, log) for kind in ("run", "same", "track") for _ in range(count)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    folders = sorted(path.name for path in Path("runs").iterdir())
    assert all(whole(Path("runs") / name) for name in folders)
    print(*codes)
    print(*folders)


if __name__ == "__main__":
    action, *numbers, folder = sys.argv[1:]
    os.chdir(folder)
    {"kill": kill, "together": together}[action](*map(int, numbers))
