"""`sweep`: run a model at many points, and keep what is measured in a store that survives."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from noslip import Model, SimulationError
from noslip.base import ArgumentError, nearest
from noslip.engines import choose_instruction_set
from noslip.sweeps.execute import (
    ProgressCallback,
    SweepProgress,
    WorkCache,
    Workload,
    measure_block,
    run_threads,
)
from noslip.sweeps.measures import Layer, PointResults, whole
from noslip.sweeps.store import (
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
)

if TYPE_CHECKING:
    import xarray

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
            from noslip.sweeps.execute import connected

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
            from noslip.sweeps.execute import run_dask

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
