"""Sweeps whose processes are killed, each forked from one that has all loaded.

    python sweep_victims.py threads SEED COUNT FOLDER     kills of a sweep on threads
    python sweep_victims.py dask SEED COUNT FOLDER        kills of workers and clients of a cluster
    python sweep_victims.py scheduler SEED COUNT FOLDER   the scheduler dies

Each prints what was killed. At the end every point has its value, and no point of a finished chunk
was computed after that chunk was written.
"""

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import dask
import distributed
import numpy as np

import noslip as ns
from noslip.sweeps.store import read_store

POINTS, CHUNK, SLEEP = 180, 4, 0.01
WORKERS = 3


def logged(point):
    """x² of a point; says in a file that it was asked."""
    with open("log", "a") as log:
        log.write(f"{point['x']!r} {time.time()!r}\n")
    time.sleep(SLEEP)
    return {"square": point["x"] ** 2}


def sweep(on, points=POINTS):
    return ns.sweep(
        ns.load("knife-edge"),
        ["square"],
        vary={"x": f"0:{points - 1}:{points}"},
        work="function",
        function=f"{__file__}:logged",
        folder="sweep",
        chunk=CHUNK,
        threads=2,
        on=on,
    )


def fork(work, *arguments):
    """A process that does some work, quietly."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        log = os.open("errors", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 2)
        work(*arguments)
        code = 0
    except ns.NoslipError as error:
        Path("said").write_text(str(error))
        code = 3
    finally:
        os._exit(code)


def has_ended(pid):
    """Exit code of a process, None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return None if found == 0 else os.waitstatus_to_exitcode(status)


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def check(points=POINTS):
    """Every point has its value, and none was computed after its chunk was written."""
    dataset = ns.open_sweep("sweep")
    assert dataset.attrs["complete"] == 1
    assert np.array_equal(dataset["square"], np.arange(float(points)) ** 2)
    written = {}
    for block, path in read_store("sweep").finished(0).items():
        for x in range(block * CHUNK, min((block + 1) * CHUNK, points)):
            written[x] = path.stat().st_mtime
    asked = [line.split() for line in Path("log").read_text().splitlines()]
    for x, when in asked:
        # clocks of files tick in some ms
        assert float(when) <= written[int(float(x))] + 0.02, f"{x} was computed again"
    assert {int(float(x)) for x, _ in asked} == set(range(points))


def threads(rng, count):
    killed = 0
    while True:
        pid = fork(sweep, "threads")
        if killed >= count:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, Path("errors").read_text()
            break
        time.sleep(rng.uniform(0.0, 0.9 * POINTS * SLEEP / count) + 0.1)
        code = has_ended(pid)
        if code is not None:
            assert code == 0, Path("errors").read_text()
            break
        end(pid)
        killed += 1
        print("killed a sweep")
    check()


def serve_scheduler(port):
    async def serve():
        async with distributed.Scheduler(host="127.0.0.1", port=port, dashboard=False) as own:
            await own.finished()

    asyncio.run(serve())


def serve_worker(address):
    async def serve():
        with tempfile.TemporaryDirectory() as folder:
            async with distributed.Worker(address, nthreads=1, local_directory=folder) as own:
                await own.finished()

    asyncio.run(serve())


class Cluster:
    """A scheduler and workers, forked."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = fork(serve_scheduler, self.port)
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                break
            time.sleep(0.02)
        self.workers = [fork(serve_worker, self.address) for _ in range(WORKERS)]

    def end(self):
        for pid in (*self.workers, self.scheduler):
            end(pid)


def cluster(rng, count):
    own = Cluster()
    try:
        client = fork(sweep, own.address)
        killed = 0
        while True:
            time.sleep(rng.uniform(0.05, 0.4))
            code = has_ended(client)
            if code is not None:
                assert code == 0, Path("errors").read_text()[-3000:]
                if killed >= count:
                    break
                client = fork(sweep, own.address)  # there may be nothing left to do
            if killed >= count:
                continue
            killed += 1
            if rng.random() < 0.3:
                end(client)
                client = fork(sweep, own.address)
                print("killed a client")
            else:
                k = rng.randrange(WORKERS)
                end(own.workers[k])
                own.workers[k] = fork(serve_worker, own.address)
                print("killed a worker")
    finally:
        own.end()
    check()


def scheduler(rng, count):
    for _ in range(count):
        own = Cluster()
        client = fork(sweep, own.address)
        while not list(Path("sweep").rglob("*.nc")) and has_ended(client) is None:
            time.sleep(0.02)
        end(own.scheduler)
        began = time.monotonic()
        code = None
        while code is None and time.monotonic() - began < 60:
            code = has_ended(client)
            time.sleep(0.02)
        for pid in own.workers:
            end(pid)
        assert code == 3, (code, Path("errors").read_text()[-3000:])
        assert re.search("scheduler is gone", Path("said").read_text())
        print("killed a scheduler")
    own = Cluster()
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(fork(sweep, own.address), 0)[1]) == 0
    finally:
        own.end()
    check()


if __name__ == "__main__":
    action, seed, count, folder = sys.argv[1:]
    os.chdir(folder)
    dask.config.set({"distributed.scheduler.allowed-failures": 1000})
    dask.config.set({"distributed.worker.daemon": False})
    {"threads": threads, "dask": cluster, "scheduler": scheduler}[action](
        random.Random(int(seed)), int(count)
    )
