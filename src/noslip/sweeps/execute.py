"""`sweep`: run a model at many points, and keep what is measured in a store that survives.

**Execution of a sweep: its chunks on threads, on processes that share a store, on a cluster.**

**Running the chunks of a store: on the threads of this process, sharing it with other processes.**

Every chunk is claimed, computed, written and released; one that another process has claimed is left
to it, and taken over if that process dies. So any number of processes may run the same command at
once, on one machine or on several with a common folder.

**Running the chunks of a store on a Dask cluster: local processes, or an existing scheduler.**

Dask decides which worker does what, and does again what a lost worker had; here is only what a
chunk is. A worker gets plain data (a folder or a text, and numbers), makes the system from the
model file once and keeps it compiled.

Where workers see the folder of the store they claim, compute and write chunks themselves: neither
a lost client nor a second one makes a chunk be computed twice. Where they do not, the client claims
and writes, and workers send back the bytes of the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import secrets
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from noslip import Model, NoslipError, SimulationError, load_plugin
from noslip.base import ArgumentError, nearest, require
from noslip.engines import choose_instruction_set
from noslip.simulation import run_workers
from noslip.sweeps.measures import EXCLUDED, Layer, PointResults, is_failed, values_at, whole
from noslip.sweeps.store import (
    MODEL,
    REQUEST,
    StoreReader,
    SweepRequest,
    SweepStore,
    check_folder,
    check_target,
    claims_of,
    compare,
    create,
    read_request,
    read_store,
    target_of_host,
    to_xarray,
    write_chunk,
)
from noslip.sweeps.tasks import AbstractWork

if TYPE_CHECKING:
    import xarray

#: s that a chunk shall take, and bytes of its results at most.
CHUNK_TIME, CHUNK_BYTES = 1.0, 2**26
MOST_BLOCK = 2**23
#: s between looks at chunks that others have claimed, and between reports.
POLL, REPORT = 0.1, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress:
    """Progress of a sweep."""

    #: points, total: done, those of earlier processes and others included, and to be done
    points: int
    total: int
    failed: int  #: number of those that failed
    #: chunks, total_chunks: the same in chunks
    chunks: int
    total_chunks: int
    elapsed: float  #: s since this process began
    rate: float  #: points a second that this process has done
    waiting: bool = False  #: whether nothing is left but chunks that other processes have claimed

    @property
    def fraction(self) -> float:
        """Share that is done."""
        return self.points / self.total if self.total else 1.0

    @property
    def time_left(self) -> float:
        """s at this rate; infinite if it is not known."""
        return (self.total - self.points) / self.rate if self.rate > 0 else float("inf")

    def text(self) -> str:
        """One line."""
        left = f", {_duration(self.time_left)} left" if np.isfinite(self.time_left) else ""
        failed = f", {self.failed} failed" if self.failed else ""
        wait = ", waiting for another process" if self.waiting else ""
        return f"{self.points} of {self.total} points, {self.rate:.4g} a second{left}{failed}{wait}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


ProgressCallback = Callable[[SweepProgress], object]


@dataclass(eq=False)
class Workload:
    """Queue of the unfinished chunks of a store, shared by the threads of this process."""

    store: SweepStore  #: store of the chunks
    progress: ProgressCallback | None = None  #: function called with the state of the work
    cancel: Any = None  #: event that ends the work
    own_points: int = 0
    failed: int = 0
    points: int = 0
    chunks: int = 0
    _left: dict[tuple[int, int], None] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._reported = 0.0
        self.total = sum(layer.size for layer in self.store.layers)
        self.total_chunks = sum(layer.num_blocks for layer in self.store.layers)
        for layer in self.store.layers:
            done = self.store.finished(layer.number)
            for block in range(layer.num_blocks):
                if block not in done:
                    self._left[layer.number, block] = None
            for block, path in done.items():
                if block < layer.num_blocks:
                    self._count(layer, block, int(path.name.split(".")[1][:-1]))

    def _count(self, layer: Layer, block: int, failed: int) -> int:
        size = len(layer.positions_of_block(block))
        self.points += size
        self.chunks += 1
        self.failed += failed
        return size

    @property
    def is_cancelled(self) -> bool:
        """Whether the work shall end."""
        return self.cancel is not None and self.cancel.is_set()

    def take(self) -> Iterator[tuple[Layer, int]]:
        """Chunks to compute, claimed for the caller; waits for those that others have claimed."""
        claims = self.store.claims
        while not self.is_cancelled:
            found, others = None, []
            with self._guard:
                for layer, block in self._left:
                    if not claims.take(layer, block):
                        continue
                    path = self.store.find(layer, block)
                    if path is None:
                        found = layer, block
                        break
                    claims.release(layer, block)  # another process has finished it
                    others.append((layer, block, int(path.name.split(".")[1][:-1])))
                for layer, block, failed in others:
                    del self._left[layer, block]
                    self._count(self.store.layers[layer], block, failed)
                is_over = not self._left
            if found is not None:
                yield self.store.layers[found[0]], found[1]
                continue
            self.report(waiting=not is_over)
            if is_over:
                return
            time.sleep(POLL)

    def left(self) -> OpenChunks:
        """The chunks that are left, for a client that hands them out itself."""
        return OpenChunks(self, list(self._left))

    def done(self, layer: Layer, block: int, failed: int, *, is_own: bool = True) -> None:
        """Note that a chunk is written, here or by another process, and release it."""
        with self._guard:
            self._left.pop((layer.number, block), None)
            size = self._count(layer, block, failed)
            self.own_points += size if is_own else 0
        self.store.claims.release(layer.number, block)
        self.report()

    def give_back(self, layer: Layer, block: int) -> None:
        """Release a chunk that was not computed."""
        self.store.claims.release(layer.number, block)

    def report(self, *, waiting: bool = False, now: bool = False) -> None:
        """Tell how far it is, now and then."""
        moment = time.monotonic()
        if self.progress is None or not (now or moment - self._reported > REPORT):
            return
        self._reported = moment
        self.progress(self.state(waiting=waiting))

    def state(self, *, waiting: bool = False) -> SweepProgress:
        """Progress."""
        elapsed = time.monotonic() - self._began
        return SweepProgress(
            points=self.points,
            total=self.total,
            failed=self.failed,
            chunks=self.chunks,
            total_chunks=self.total_chunks,
            elapsed=elapsed,
            rate=self.own_points / elapsed if elapsed > 0 else 0.0,
            waiting=waiting,
        )


class OpenChunks:
    """Chunks that wait to be submitted."""

    def __init__(self, workload: Workload, places: list[tuple[int, int]]) -> None:
        self._workload = workload
        self._places = deque(places)

    def __len__(self) -> int:
        return len(self._places)

    def take(
        self, room: int, later: Mapping[tuple[int, int], float], *, claim: bool
    ) -> Iterator[tuple[int, int]]:
        """At most so many chunks whose time has come, claimed if this process shall do so."""
        workload, now = self._workload, time.monotonic()
        claims = workload.store.claims
        for _ in range(len(self._places)):
            if room <= 0:
                return
            place = self._places.popleft()
            if later.get(place, 0.0) > now or (claim and not claims.take(*place)):
                self._places.append(place)
                continue
            if claim and (path := workload.store.find(*place)) is not None:
                failed = int(path.name.split(".")[1][:-1])
                workload.done(workload.store.layers[place[0]], place[1], failed, is_own=False)
                continue
            room -= 1
            yield place

    def put_back(self, layer: int, block: int) -> None:
        """Let a chunk wait again."""
        self._places.append((layer, block))


def compute_block(
    work: AbstractWork, layer: Layer, block: int, cancel: Any, known: PointResults | None = None
) -> PointResults | None:
    """Results of a chunk; None if it was cancelled."""
    positions = layer.positions_of_block(block)
    values, _ = values_at(layer, positions)
    count = len(positions)
    results = work.empty(count)
    included = layer.design.included(values, count)
    results.endings[~included] = EXCLUDED
    first = 0
    if known is not None and block == 0:
        first = min(len(known.endings), count)
        results.endings[:first] = known.endings[:first]
        for measure, array in known.values.items():
            results.values[measure][:first] = array[:first]
        results.reasons.update({k: text for k, text in known.reasons.items() if k < first})
    which = np.flatnonzero(included)
    which = which[which >= first]
    if not len(which):
        return results
    begin, _ = values_at(layer, np.zeros(1, np.int64))
    work.refer_to({n: float(a[0]) for n, a in begin.items()})
    found = work.compute({n: a[which] for n, a in values.items()}, len(which), cancel)
    if found is None:
        return None
    results.put(which, found)
    return results


def measure_block(
    work: AbstractWork, layer: Layer, threads: int, cancel: Any
) -> tuple[int, PointResults | None]:
    """Points of a chunk by the time that the first ones take, and the results of those.

    A chunk lasts about a second, unless there are too few points for all threads.
    """
    size = layer.size
    in_lanes = work.is_laned
    num = min(size, 64 if in_lanes else 1)
    known: PointResults | None = None
    taken = 0.0
    for _ in range(2):
        trial = Layer(0, layer.design, layer.boxes, layer.measures, num, layer.listed)
        began = time.perf_counter()
        known = compute_block(work, trial, 0, cancel)
        taken = time.perf_counter() - began
        # a batch is timed again without what is compiled first, unless it is long
        if known is None or taken > (10.0 if in_lanes else 0.2) * CHUNK_TIME:
            break
    if known is None:
        return max(1, num), None
    is_first = in_lanes and taken < 2.0 * CHUNK_TIME
    while (is_first or (in_lanes and taken < 0.2 * CHUNK_TIME)) and num < min(size, MOST_BLOCK):
        # the call itself takes most of the time of some points, and long on a busy machine
        is_first = False
        num = min(8 * num, size, MOST_BLOCK)
        trial = Layer(0, layer.design, layer.boxes, layer.measures, num, layer.listed)
        began = time.perf_counter()
        more = compute_block(work, trial, 0, cancel, known)
        if more is None:
            break
        known, taken = more, time.perf_counter() - began
    per_point = max(taken / num, 1e-9)
    width = 8 * sum(max(1, v.size // max(1, len(v))) for v in known.values.values()) + 1
    block = int(min(CHUNK_TIME / per_point, CHUNK_BYTES / width, MOST_BLOCK))
    block = min(block, -(-size // (4 * threads)))
    if in_lanes:
        block = max(64, block // 64 * 64)
    return max(1, min(block, size)), known


def facts_of_process(seconds: float) -> dict[str, Any]:
    """Metadata of a chunk: the process, time and memory that made it."""
    return {"computed_by": f"{socket.gethostname()}:{os.getpid()}", "seconds": float(seconds)}


class WorkCache:
    """Works of the layers of a store, made when they are first needed."""

    def __init__(
        self, store: SweepStore, first: AbstractWork | None = None, device: Any = "cpu"
    ) -> None:
        self._store = store
        self._device = device
        self._guard = threading.Lock()
        self._made: dict[int, AbstractWork] = {}
        self._first = first

    def of(self, layer: Layer) -> AbstractWork:
        """The work of a layer."""
        with self._guard:
            if layer.number not in self._made:
                request = self._store.request
                is_first = self._first is not None and not layer.settings
                if is_first and self._first is not None:
                    own = tuple(self._first.variables())
                    if own == layer.measures:
                        self._made[layer.number] = self._first
                if layer.number not in self._made:
                    settings = dict(layer.settings)
                    function = self._first.settings.get("function") if self._first else None
                    if callable(function):
                        settings["function"] = function
                    self._made[layer.number] = request.make(settings, layer.measures)
                self._made[layer.number].use_device(self._device)
            return self._made[layer.number]


def run_threads(
    workload: Workload,
    works: WorkCache,
    threads: int,
    known: PointResults | None = None,
    stop: threading.Event | None = None,
) -> bool:
    """Compute all chunks that are left, on threads of this process; whether all are done.

    Raises
    ------
    StorageError : a chunk cannot be written; those before are kept.
    """
    ended = stop or threading.Event()
    cancel = _Either(ended, workload.cancel)
    workload.cancel = cancel
    failures: list[BaseException] = []

    def work(_: int) -> None:
        try:
            for layer, block in workload.take():
                began = time.perf_counter()
                try:
                    first = known if layer.number == 0 else None
                    results = compute_block(works.of(layer), layer, block, cancel, first)
                    if results is None:
                        workload.give_back(layer, block)
                        return
                    facts = facts_of_process(time.perf_counter() - began)
                    workload.store.write(layer.number, block, results, facts)
                except BaseException:
                    workload.give_back(layer, block)
                    raise
                workload.done(layer, block, int(is_failed(results.endings).sum()))
        except BaseException as error:
            failures.append(error)
            ended.set()

    run_workers(work, threads, stop=ended.set, may_hang=True)
    if failures:
        raise failures[0]
    workload.report(now=True)
    return workload.chunks >= workload.total_chunks


class _Either:
    """Two requests to end as one."""

    def __init__(self, own: threading.Event, other: Any) -> None:
        self._own, self._other = own, other

    def is_set(self) -> bool:
        """Whether one of them is set."""
        return self._own.is_set() or (self._other is not None and self._other.is_set())

    def set(self) -> None:
        """Set its own."""
        self._own.set()


#: Chunks that wait at each worker, so that none is ever idle.
AHEAD = 2
#: Times that a chunk may end with the loss of all workers that tried it.
MOST_LOSSES = 3
#: Times that workers are asked whether they see the folder.
TRIES = 20
#: s to connect, between looks at the cluster, and before a chunk that is claimed is tried again.
CONNECT, QUEUE_POLL, AGAIN = 10.0, 0.1, 0.5

#: Of a worker process: key → store and works, made once.
_KEPT: dict[str, tuple[SweepStore, WorkCache]] = {}
_GUARD = threading.Lock()


def run_dask(
    workload: Workload,
    client: Any,
    on: str,
    *,
    shared: bool | None,
    device: str,
    mix: bool,
    plugins: tuple[str, ...] = (),
) -> None:
    """Compute all chunks that are left on a cluster.

    Raises
    ------
    SimulationError : the scheduler is gone.
    """
    if shared is None:
        shared = _is_shared(client, workload.store.folder)
    # workers load what this call names, whatever is in the folder
    code = {
        "plugins": list(plugins),
        "function": workload.store.request.settings.get("function"),
    }
    _Submission(client, workload, on, shared, mix, {"device": device, **code}).run()


@contextlib.contextmanager
def connected(on: str, count: int) -> Iterator[Any]:
    """Context with a connected client of a cluster that has workers.

    `on`: ``dask`` for a cluster of local processes, or the address of a scheduler.

    Raises
    ------
    SimulationError : Dask is not installed, or there is no scheduler, or no worker.
    """
    require("distributed", "a cluster", f"on='{on}'")
    import dask
    import distributed

    if on != "dask" and not re.fullmatch(r"(tcp|tls|ucx|wss?)://\S+", on):
        # a client of another address leaves a thread that cannot be ended
        fix = "give the address of one, as tcp://127.0.0.1:8786, or on='dask'"
        raise SimulationError("there is no Dask scheduler at this address", f"on='{on}'", fix)
    with contextlib.ExitStack() as stack:
        # chunks are sized by time, so that none is worth moving
        stack.enter_context(dask.config.set({"distributed.worker.daemon": False}))
        address: Any = on
        if on == "dask":
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    host="127.0.0.1",
                    silence_logs=50,
                )
            )
        try:
            client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise SimulationError(
                f"there is no Dask scheduler: {type(error).__name__}: {error}"[:200],
                f"on='{on}'",
                "start one (dask scheduler), and workers (dask worker tcp://…), or give on='dask'",
            ) from None
        stack.callback(_close, client)
        if not client.scheduler_info(n_workers=-1)["workers"]:
            _await_workers(client, on)
        yield client


def _close(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=2)


def _await_workers(client: Any, on: str) -> None:
    try:
        client.wait_for_workers(1, timeout=30)
    except Exception:
        raise SimulationError(
            "the scheduler has no workers", f"on='{on}'", "start some: dask worker tcp://…"
        ) from None


def _is_shared(client: Any, folder: Path) -> bool:
    """Whether all workers see a file that is put into the folder."""
    token = folder / f".token-{secrets.token_hex(8)}"
    token.write_text("noslip", "ascii")
    try:
        for _ in range(TRIES):
            with contextlib.suppress(Exception):  # a worker that dies now does not answer
                seen = client.run(_sees, str(token.resolve()), on_error="ignore")
                if seen:
                    return all(seen.values())
            time.sleep(QUEUE_POLL)
        return False
    finally:
        token.unlink(missing_ok=True)


def _sees(path: str) -> bool:
    return os.path.isfile(path)


class _Submission:
    """Chunks on their way through a cluster."""

    def __init__(
        self,
        client: Any,
        workload: Workload,
        on: str,
        shared: bool,
        mix: bool,
        given: Mapping[str, Any],
    ) -> None:
        self._client, self._workload, self._on = client, workload, on
        self._shared, self._mix = shared, mix
        self._ended: queue.SimpleQueue[tuple[int, int, Any]] = queue.SimpleQueue()
        self._losses: dict[tuple[int, int], int] = {}
        self._later: dict[tuple[int, int], float] = {}
        store = workload.store
        folder = str(store.folder.resolve())
        if shared:
            self._spec: Any = json.dumps({"folder": folder, **given})
        else:
            text = json.dumps({"data": store.data, "model": store.request.model, **given})
            self._spec = client.scatter(text, broadcast=True, hash=False)

    def run(self) -> None:
        """Submit and collect until nothing is left."""
        workload = self._workload
        flying: dict[tuple[int, int], Any] = {}
        waiting = workload.left()
        try:
            while True:
                room = max(1, self._num_workers() * (1 + AHEAD)) - len(flying)
                for place in waiting.take(room, self._later, claim=not self._shared):
                    flying[place] = self._submit(*place)
                if not flying and not waiting:
                    return
                if workload.is_cancelled:
                    return
                workload.report(waiting=not flying)
                try:
                    layer, block, future = self._ended.get(timeout=QUEUE_POLL)
                except queue.Empty:
                    self._check_scheduler()
                    continue
                flying.pop((layer, block), None)
                self._collect(layer, block, future, waiting)
        finally:
            for future in flying.values():
                with contextlib.suppress(Exception):
                    future.cancel()
            if not self._shared:
                for layer, block in flying:
                    workload.give_back(workload.store.layers[layer], block)

    def _num_workers(self) -> int:
        with contextlib.suppress(Exception):
            return len(self._client.scheduler_info(n_workers=-1)["workers"])
        return 1

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise SimulationError(
                "the Dask scheduler is gone; finished chunks are kept",
                f"on='{self._on}'",
                "start it again and repeat the command, which continues from here",
            )

    def _submit(self, layer: int, block: int) -> Any:
        function = work_at_store if self._shared else work_and_send
        key = f"noslip-{layer}-{block}-{secrets.token_hex(4)}"
        future = self._client.submit(
            function, self._spec, layer, block, self._mix, key=key, pure=False
        )
        future.add_done_callback(lambda done: self._ended.put((layer, block, done)))
        return future

    def _collect(self, layer: int, block: int, future: Any, waiting: Any) -> None:
        workload = self._workload
        home = workload.store.layers[layer]
        if future.status != "finished":
            self._lost(layer, block, future)
            waiting.put_back(layer, block)
            return
        try:
            found = future.result(timeout=CONNECT)
        except Exception:  # the result was lost with its worker
            self._lost(layer, block, future)
            waiting.put_back(layer, block)
            return
        if "error" in found:
            raise SimulationError(*found["error"])
        if found["status"] == "busy":
            self._later[layer, block] = time.monotonic() + AGAIN
            waiting.put_back(layer, block)
            return
        if "data" in found:
            workload.store.write_bytes(layer, block, found["failed"], found["data"])
        workload.done(home, block, found["failed"], is_own=found["status"] == "computed")

    def _lost(self, layer: int, block: int, future: Any) -> None:
        """A chunk whose worker is lost is submitted again, but not for ever."""
        self._check_scheduler()
        if not self._shared:
            self._workload.give_back(self._workload.store.layers[layer], block)
        error: Any = None
        with contextlib.suppress(Exception):
            error = future.exception(timeout=1)
        if error is not None and type(error).__name__ != "KilledWorker":
            raise error
        if error is None:
            return
        losses = self._losses[layer, block] = self._losses.get((layer, block), 0) + 1
        if losses >= MOST_LOSSES:
            raise SimulationError(
                f"chunk {block} of layer {layer} has terminated its workers {losses} times in "
                "a row",
                f"on='{self._on}'",
                "look at the workers' logs; give them more memory, or smaller chunks (--chunk)",
            )


# what runs on workers


def work_at_store(spec: str, layer: int, block: int, mix: bool) -> dict[str, Any]:
    """Claim, compute and write a chunk in a folder that this worker sees."""
    try:
        store, works = _store_of(spec)
        check_target(store.target, str(store.folder), mix, json.loads(spec)["device"])
        if layer >= len(store.layers):  # the store has grown
            with _GUARD:
                _KEPT.pop(spec, None)
            store, works = _store_of(spec)
        home = store.layers[layer]
        if not store.claims.take(layer, block):
            return {"status": "busy"}
        try:
            path = store.find(layer, block)
            if path is not None:
                return {"status": "done", "failed": int(path.name.split(".")[1][:-1])}
            began = time.perf_counter()
            results = compute_block(works.of(home), home, block, None)
            assert results is not None
            facts = facts_of_process(time.perf_counter() - began)
            store.write(layer, block, results, facts)
            return {"status": "computed", "failed": int(is_failed(results.endings).sum())}
        finally:
            store.claims.release(layer, block)
    except NoslipError as error:
        return {"error": (error.what, error.where, error.fix)}


def work_and_send(spec: str, layer: int, block: int, mix: bool) -> dict[str, Any]:
    """Compute a chunk, and send back the bytes of its file."""
    try:
        store, works = _store_of(spec)
        check_target(store.target, "the worker", mix, json.loads(spec)["device"])
        home = store.layers[layer]
        began = time.perf_counter()
        results = compute_block(works.of(home), home, block, None)
        assert results is not None
        facts = facts_of_process(time.perf_counter() - began)
        with tempfile.TemporaryDirectory(prefix="noslip-") as folder:
            path = Path(folder) / "chunk.nc"
            write_chunk(path, results, facts)
            data = path.read_bytes()
        failed = int(is_failed(results.endings).sum())
        return {"status": "computed", "failed": failed, "data": data}
    except NoslipError as error:
        return {"error": (error.what, error.where, error.fix)}


def _store_of(spec: str) -> tuple[SweepStore, WorkCache]:
    """Store and works of a specification, made once in a process."""
    with _GUARD:
        if spec not in _KEPT:
            given = json.loads(spec)
            for plugin in given["plugins"]:
                load_plugin(plugin)
            if "folder" in given:
                store = read_store(given["folder"])
            else:
                folder = Path(tempfile.mkdtemp(prefix="noslip-"))
                (folder / MODEL).write_text(given["model"], "utf-8")
                (folder / REQUEST).write_text(json.dumps(given["data"]), "utf-8")
                store = read_store(folder)
            store.take_code(given["function"])
            if len(_KEPT) > 8:
                _KEPT.clear()
            _KEPT[spec] = (store, WorkCache(store, device=given["device"]))
        return _KEPT[spec]


#: Where a sweep can run; an address of a Dask scheduler besides.
PLACES = ("threads", "cuda", "dask")
#: Threads or processes of a sweep on one machine.
MAX_THREADS = 1024
#: Points of a chunk, which numbers of 32 bits count.
MAX_CHUNK = 2**31 - 1


def sweep(
    model: Model,
    measures: Sequence[str],
    *,
    folder: str | os.PathLike[str],
    vary: Mapping[str, str | ArrayLike] | None = None,
    sample: Mapping[str, str] | None = None,
    zipped: Sequence[Sequence[str]] = (),
    where: Sequence[str] = (),
    draws: int = 0,
    sampling: str = "random",
    seed: int = 0,
    work: str | Callable[..., Any] = "run",
    on: str = "threads",
    threads: int | None = None,
    chunk: int | None = None,
    retry: Mapping[str, Any] | bool | None = None,
    device: str = "cpu",
    target: str = "",
    mix_targets: bool = False,
    shared: bool | None = None,
    plugins: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Any = None,
    **settings: Any,
) -> xarray.Dataset:
    """Run a model at many points, and keep what is measured.

    Everything is checked before anything runs. What is finished is on the disk and is never lost or
    computed again: the same call goes on where it was, one with more points or measures adds what
    is new, and several processes that make the same call share the work.

    Parameters
    ----------
    model : the mechanism.
    measures : measures that are stored for each point, as ``"final:platform.x"``; docs/sweeps.md
        lists them.
    folder : folder of the store; made, or continued.
    vary : name → ``"LOW:HIGH:COUNT"``, ``"log:LOW:HIGH:COUNT"`` or numbers, each crossed with the
        others. Names are those of parameters, start values, inputs and numbers of the scenario.
    sample : name → distribution, as ``"gauss:5,0.2"``; all are drawn together.
    zipped : groups of names in `vary` that change together.
    where : conditions, as ``"m*speed < 20"``; points that do not meet them are left out.
    draws, sampling, seed : number of draws; ``"random"``, ``"lhs"`` (Latin hypercube) or
        ``"sobol"``; and seed of the random numbers.
    work : task at a point: ``"run"``, ``"track"``, ``"noisy"``, ``"linearize"``, ``"steady"``,
        ``"evaluate"``, or a function of the point.
    on : place of execution: ``"threads"``, ``"cuda"`` (a GPU of this machine), ``"dask"`` (a local
        cluster), or the address of a Dask scheduler.
    threads : number of threads, or of processes of a local cluster; all cores by default.
    chunk : points of a chunk; such that one takes about a second if not given.
    retry : try points that failed again, with these settings.
    device : ``"cpu"``, or ``"cuda"``: a GPU of this machine, or of each worker of a cluster.
    target : instruction set that all processes use, as ``"x86-64-v3"``; all this processor has if
        not given.
    mix_targets : whether a store that another target began may be continued.
    shared : whether workers of a Dask cluster see the folder; looked for if not given.
    plugins : modules that define parts, measures or works of your own, for all processes.
    progress : function called with a `SweepProgress` now and then.
    cancel : a ``threading.Event``; setting it ends the sweep, and finished chunks are kept.
    settings : settings of the task, as ``duration=5.0``, ``tolerance=1e-9``, ``set={"m": 2.0}``,
        ``stop=…``, ``events=…``, ``columns=…``.

    Returns
    -------
    Dataset : as :func:`open_sweep` gives it.

    Raises
    ------
    NoslipError : for what is wrong in the request, before anything runs.
    SimulationError : the folder holds another sweep; the difference is named.
    StorageError : the disk is full, or cannot be written; finished chunks are kept.
    """
    if not isinstance(model, Model):
        raise ArgumentError(
            f"sweep takes a Model, got {type(model).__name__}",
            "model, argument of sweep",
            "write ns.load('agv')",
        )
    choose_instruction_set(target)
    request = read_request(
        model,
        work,
        vary=dict(vary or {}),
        sample=dict(sample or {}),
        zipped=zipped,
        where=[where] if isinstance(where, str) else where,
        draws=draws,
        sampling=sampling,
        seed=seed,
        measures=measures,
        settings=settings,
        plugins=plugins,
    )
    store, _ = run_request(
        request,
        Path(folder),
        on=on,
        threads=threads,
        chunk=chunk,
        retry=retry,
        device=device,
        mix_targets=mix_targets,
        shared=shared,
        progress=progress,
        cancel=cancel,
    )
    return to_xarray(StoreReader(store))


def run_request(
    request: SweepRequest,
    folder: Path,
    *,
    on: str = "threads",
    threads: int | None = None,
    chunk: int | None = None,
    retry: Mapping[str, Any] | bool | None = None,
    device: str = "cpu",
    mix_targets: bool = False,
    shared: bool | None = None,
    progress: ProgressCallback | None = None,
    cancel: Any = None,
) -> tuple[SweepStore, SweepProgress]:
    """Open or make the store of a checked request and run what is left of it.

    Parameters are those of :func:`sweep`.
    """
    check_place(on, request)
    count = _threads(threads)
    if on.startswith("cuda"):
        on, device = "threads", on
    if on == "threads" and device != "cpu":
        count = 1  # one card, which one thread feeds
    if request.work_object is not None:
        request.work_object.use_device(device)
    target_of_host(device)  # refuses a device that is not there
    if chunk is not None and (not isinstance(chunk, int) or not 1 <= chunk <= MAX_CHUNK):
        raise SimulationError(
            f"the number of points in a chunk is {chunk!r}",
            "sweep",
            f"give a whole number from 1 to {MAX_CHUNK}",
        )
    tried = None if retry is None or retry is False else {} if retry is True else dict(retry)
    if tried:
        request.make(tried, request.measures)  # refuses wrong settings
    check_folder(folder)
    with contextlib.ExitStack() as stack:
        client: Any = None
        if on != "threads":
            # before there is a folder: nothing is left where there is no scheduler
            client = stack.enter_context(connected(on, count))
        store, known = _opened(request, folder, count, chunk, mix_targets, cancel, device)
        store.take_code(request.settings.get("function"))
        if tried is not None:
            _retry(store, tried, chunk)
        workload = Workload(store, progress, cancel)
        works = WorkCache(store, request.work_object, device)
        workload.report(now=True)
        if client is None:
            run_threads(workload, works, count, known)
        else:
            plugins = request.plugins
            run_dask(
                workload, client, on, shared=shared, device=device, mix=mix_targets, plugins=plugins
            )
        workload.report(now=True)
    return read_store(folder), workload.state()


def check_place(on: str, request: SweepRequest) -> None:
    """Refuse a place that is not known or cannot do the work."""
    if on.partition(":")[0] not in PLACES and "://" not in on:
        raise SimulationError(
            f"a sweep cannot run on '{on}'",
            f"on='{on}'",
            f"{nearest(on, PLACES)}, or give the address of a Dask scheduler, tcp://host:8786",
        )
    name = str(request.settings.get("function", ""))
    if on not in ("threads", "cuda") and name.startswith("<"):
        raise SimulationError(
            f"other processes cannot import the function {name}",
            f"on='{on}'",
            "define it in a module or a file: work='function', function='file.py:name'",
        )


def _threads(threads: int | None) -> int:
    if threads is None:
        has_affinity = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    is_whole = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if not is_whole or not 1 <= threads <= MAX_THREADS:
        raise SimulationError(
            f"threads is {threads!r:.40}", "sweep", f"give a whole number from 1 to {MAX_THREADS}"
        )
    return int(threads)


def _opened(
    request: SweepRequest,
    folder: Path,
    threads: int,
    chunk: int | None,
    mix_targets: bool,
    cancel: Any,
    device: str,
) -> tuple[SweepStore, PointResults | None]:
    """The store of a request: as it is, extended, or new; and results of its first points."""
    known, block = None, chunk
    if not os.path.isfile(folder / REQUEST) and block is None:
        block, known = _measured(request, threads, cancel)
    with claims_of(folder).whole():
        if not os.path.isfile(folder / REQUEST):
            assert block is not None
            return create(folder, request, block, device), known
        store = read_store(folder)
        comparison = compare(store.request, request)
        if comparison.differences:
            more = len(comparison.differences) - 1
            raise SimulationError(
                f"the folder holds another sweep: {comparison.differences[0]}"
                + (f" (and {more} more differences)" if more else ""),
                str(folder),
                "choose another folder with -o, or request the same sweep, or an extension of it",
            )
        check_target(store.target, str(folder), mix_targets, device)
        if comparison.more_points or comparison.more_measures:
            store.extend(request, chunk or store.layers[0].block)
        return store, None


def _measured(request: SweepRequest, threads: int, cancel: Any) -> tuple[int, PointResults | None]:
    layer = Layer(0, request.design, whole(request.design), request.measures, 1)
    stop = cancel if cancel is not None else threading.Event()
    return measure_block(request.make(), layer, threads, stop)


def _retry(store: SweepStore, settings: dict[str, Any], chunk: int | None) -> None:
    """Add a layer with the points that failed, unless these settings were tried before."""
    if any(layer.listed is not None and layer.settings == settings for layer in store.layers):
        return
    points = StoreReader(store).failed_points()
    if not len(points):
        return
    block = chunk or max(1, min(store.layers[0].block, -(-len(points) // 4)))
    with store.claims.whole():
        design = store.request.design
        layer = Layer(
            len(store.layers),
            design,
            (),
            store.request.measures,
            block,
            points,
            settings,
            adds_points=False,
        )
        store.add_layer(layer)
        store.save()


__all__ = ["PLACES", "SweepProgress", "run_request", "sweep", "target_of_host"]
