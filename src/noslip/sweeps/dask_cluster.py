"""Running the chunks of a store on a Dask cluster: local processes, or an existing scheduler.

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
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from noslip import NoslipError, SimulationError, load_plugin
from noslip.base import require
from noslip.sweeps.execute import WorkCache, Workload, compute_block, facts_of_process
from noslip.sweeps.measures import is_failed
from noslip.sweeps.store import MODEL, REQUEST, SweepStore, read_store, write_chunk
from noslip.sweeps.sweep_request import check_target

#: Chunks that wait at each worker, so that none is ever idle.
AHEAD = 2
#: Times that a chunk may end with the loss of all workers that tried it.
MOST_LOSSES = 3
#: Times that workers are asked whether they see the folder.
TRIES = 20
#: s to connect, between looks at the cluster, and before a chunk that is claimed is tried again.
CONNECT, POLL, AGAIN = 10.0, 0.1, 0.5

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

    Parameters
    ----------
    workload : what is left.
    client : as :func:`connected` gives it.
    on : as it was connected to.
    shared : whether workers see the folder; looked for if not given.
    device : that workers compute on.
    mix : accept workers of other targets.
    plugins : that workers load, as the caller names them.

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

    Parameters
    ----------
    on : ``dask`` for a cluster of local processes, or the address of a scheduler.
    count : processes of a local cluster.

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
            time.sleep(POLL)
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
                    layer, block, future = self._ended.get(timeout=POLL)
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
        store, works = _opened(spec)
        check_target(store.target, str(store.folder), mix, json.loads(spec)["device"])
        if layer >= len(store.layers):  # the store has grown
            with _GUARD:
                _KEPT.pop(spec, None)
            store, works = _opened(spec)
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
        store, works = _opened(spec)
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


def _opened(spec: str) -> tuple[SweepStore, WorkCache]:
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
