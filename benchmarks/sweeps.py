"""Sweeps: what the store, the scheduler and the processes cost beside the work itself.

All in one run, as ratios: a Dask cluster of as many processes against threads, 1, 2 and 4
processes, resuming a store of 10 000 chunks, and the same study as a loop of single runs over
processes (joblib, or `concurrent.futures` where that is not installed). Answers are compared bit by
bit before a time counts. Behind them, without a ratio: what a million trajectories take on this
machine, tasks a second of one scheduler, with 2 workers and beside a thousand idle ones in one
process, and what the store of a point takes on the disk. ``--small`` runs a tenth of it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import noslip as ns
from measuring import Measure, leave
from noslip.sweeps.execute import Workload
from noslip.sweeps.measures import PointResults
from noslip.sweeps.store import StoreReader, read_store

MODEL, MEASURES = "rolling-disk", ["final:disk.x", "final:disk.y", "max:disk.tilt"]
#: Points of the compared study; chunks of about a second.
POINTS, CHUNK, DURATION = 800_000, 50_000, 3.0
CHUNKS = 10_000
PROCESSES = (1, 2, 4)


def study(folder, draws=None, **options):
    """Seconds that the chunks of a study take, without compiling and starting."""
    draws = draws or POINTS
    moments = []
    model = ns.load(MODEL)
    dataset = ns.sweep(
        model,
        MEASURES,
        sample={"disk.tilt": "uniform:1,1.4", "m": "gauss:2,0.1"},
        draws=draws,
        duration=DURATION,
        samples=31,
        folder=folder,
        chunk=CHUNK,
        progress=lambda state: moments.append((time.perf_counter(), state.points)),
        **options,
    )
    # from the first finished chunk to the last, so that starting and ending a cluster do not count
    begin, done = next(moment for moment in moments if moment[1])
    end, points = next(moment for moment in moments if moment[1] == moments[-1][1])
    return (end - begin) / (points - done) * draws, dataset


def loop_of_runs():
    """The same study as one writes it: single runs in a loop over processes; s, and by what."""
    from sweeps import one_run  # of a module, so that a process compiles once

    few = 400
    rng = np.random.default_rng(0)
    points = list(zip(rng.uniform(1, 1.4, few), rng.normal(2, 0.1, few), strict=True))
    if importlib.util.find_spec("joblib"):
        from joblib import Parallel, delayed

        with Parallel(n_jobs=2) as pool:
            pool(delayed(one_run)(point) for point in points[:32])
            began = time.perf_counter()
            pool(delayed(one_run)(point) for point in points)
            return (time.perf_counter() - began) / few * POINTS, "joblib"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(one_run, points[:32]))
        began = time.perf_counter()
        list(pool.map(one_run, points))
        return (time.perf_counter() - began) / few * POINTS, "concurrent.futures"


_SYSTEM = None


def one_run(point):
    """A single run; its process compiles the system once."""
    global _SYSTEM
    tilt, mass = point
    if _SYSTEM is None:
        _SYSTEM = ns.compile(ns.derive(ns.load(MODEL)))
    run = ns.run_scenario(
        _SYSTEM, changes={"disk.tilt": tilt, "m": mass}, duration=DURATION, samples=31
    )
    return run["disk.x"][-1], run["disk.y"][-1], run["disk.tilt"].max()


def resume(folder):
    """Seconds to find what is left of a store of many chunks, one of which is missing."""
    dataset = ns.sweep(
        ns.load("knife-edge"),
        ["value"],
        vary={"x": f"0:{CHUNKS - 1}:{CHUNKS}"},
        work="function",
        function=_nothing,
        folder=folder,
        chunk=CHUNKS,
    )
    assert dataset.attrs["complete"] == 1
    request = folder / "sweep.json"
    request.write_text(request.read_text().replace(f'"block": {CHUNKS}', '"block": 1'))
    store = read_store(folder)
    shutil.rmtree(folder / "chunks")
    one = PointResults(values={"value": np.zeros(1)}, endings=np.ones(1, np.uint8), reasons={})
    first = store.write(0, 0, one, {})
    for block in range(1, CHUNKS - 1):
        place = store.chunk_folder(0, block)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(first, place / f"{block:09d}.0f.nc")
    began = time.perf_counter()
    left = len(Workload(read_store(folder)).left())
    taken = time.perf_counter() - began
    assert left == 1
    began = time.perf_counter()
    StoreReader(read_store(folder)).read("value", np.arange(0, CHUNKS, 100))
    return taken, time.perf_counter() - began


def _nothing(point):
    return {"value": point["x"]}


def tasks_a_second(count=2000):
    """Empty tasks that one scheduler hands to two workers a second."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.gather(client.map(_empty, range(50), pure=False))
        began = time.perf_counter()
        client.gather(client.map(_empty, range(count), pure=False))
        return count / (time.perf_counter() - began)


def _empty(k):
    return k


def idle_workers(most, seconds):
    """Workers that one process starts within a time, the time, and tasks a second beside them.

    In a process of its own, which ends without closing a thousand workers one by one.
    """
    command = [sys.executable, __file__, "--idle", str(most), str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=3 * seconds, check=True)
    workers, started, rate = json.loads(ended.stdout.splitlines()[-1])
    return workers, started, rate


#: Idle workers shall be idle: each looks at itself twice a second otherwise.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "60s",
    "distributed.scheduler.work-stealing": False,
}


async def _idle(most, seconds):
    import dask
    import distributed

    dask.config.set(QUIET)
    began, workers = time.perf_counter(), []
    scheduler = await distributed.Scheduler(dashboard=False, protocol="inproc")
    while len(workers) < most and time.perf_counter() - began < seconds:
        some = min(20, most - len(workers))
        new = [
            distributed.Worker(scheduler.address, nthreads=1, memory_limit=0) for _ in range(some)
        ]
        await asyncio.gather(*new)
        workers += new
    started = time.perf_counter() - began
    client = await distributed.Client(scheduler.address, asynchronous=True)
    await client.gather(client.map(_empty, range(20), pure=False))
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds / 4:
        await client.gather(client.map(_empty, range(20), pure=False))
        done += 20
    rate = done / (time.perf_counter() - began)
    print(json.dumps([len(workers), started, rate]), flush=True)
    os._exit(0)


def main() -> None:
    global POINTS, CHUNK, CHUNKS
    if "--idle" in sys.argv[1:]:
        logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
        asyncio.run(_idle(int(sys.argv[2]), float(sys.argv[3])))
    is_small = "--small" in sys.argv[1:]
    if is_small:
        POINTS, CHUNK, CHUNKS = POINTS // 10, CHUNK // 10, CHUNKS // 10
    measures, notes = [], []
    place = Path(tempfile.mkdtemp(prefix="noslip-sweeps-"))
    study(place / "warm", threads=2, draws=4 * CHUNK)
    threads, own = study(place / "threads", threads=2)
    times = {}
    for count in PROCESSES:
        times[count], other = study(place / f"dask-{count}", on="dask", threads=count)
        same = all(np.array_equal(own[m], other[m]) for m in MEASURES)
        assert same, "results of threads and processes differ"
    measures.append(
        Measure(
            what="a Dask cluster of 2 processes over 2 threads, chunks of a second",
            value=times[2] / threads,
            unit="times as long",
            below=1.1,
        )
    )
    for count in (2, 4):
        what = f"{count} processes of a Dask cluster against 1"
        measures.append(Measure(what=what, value=times[1] / times[count]))
    loop, pool = loop_of_runs()
    what = f"a sweep against the same study as a loop of single runs with {pool}"
    measures.append(Measure(what=what, value=loop / threads, at_least=1.0))
    if pool != "joblib":
        notes.append(
            "the loop with joblib, which is not installed: processes of concurrent.futures"
        )
    resumed, some = resume(place / "chunks")
    what = f"resuming a store of {CHUNKS} chunks"
    measures.append(Measure(what=what, value=resumed, unit="s", below=2.0))
    measures.append(
        Measure(what="reading 100 values from as many chunks of it", value=some, unit="s")
    )
    size = sum(path.stat().st_size for path in (place / "threads").rglob("*.nc")) / POINTS
    rate = POINTS / threads
    measures.append(Measure(what="a million trajectories on 2 threads", value=1e6 / rate, unit="s"))
    measures.append(Measure(what="a point of 3 measures on the disk", value=size, unit="bytes"))
    measures.append(
        Measure(what="empty tasks of one scheduler", value=tasks_a_second(), unit="1/s")
    )
    workers, started, rate = idle_workers(100 if is_small else 1000, 40.0)
    measures.append(
        Measure(what=f"starting {workers} workers in one process", value=started, unit="s")
    )
    what = f"empty tasks of a scheduler with {workers} workers in its process"
    measures.append(Measure(what=what, value=rate, unit="1/s"))
    shutil.rmtree(place, ignore_errors=True)
    timings = {"threads": threads, **{f"dask {n}": t for n, t in times.items()}, "resume": resumed}
    leave("sweeps", measures, timings, checks={"bits that differ": 0.0}, left_out=notes)


if __name__ == "__main__":
    main()
