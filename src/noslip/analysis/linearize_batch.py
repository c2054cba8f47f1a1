"""`linearize_batch`: eigenvalues of many variants of a mechanism about their steady motions.

The same equations as in `linearize.py`, in the local coordinates of the first variant, evaluated in
lanes and combined by stacked matrices, a block of variants at a time on several threads. Which
coordinates matter and which depend on others is found once, for the first variant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.analysis.instant import check_time, input_vector
from noslip.analysis.linearize import NEUTRAL, STEADY, linearize_point
from noslip.analysis.local_coordinates import LocalCoordinates, local_state_at
from noslip.analysis.steady import Relevance, relevance
from noslip.engines.native import compile_wide, native_lanes
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.memory_limits import check_memory
from noslip.model.quantities import Quantity
from noslip.simulation.batches.request import num_cores, parameter_rows, read_count, read_numbers
from noslip.simulation.starts.completion import complete_start, complete_starts

#: Variants that are done at a time.
BLOCK = 4096
KEPT = ("eigenvalues", "A", "B")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearizationBatch:
    """Small motions of many variants about steady motions. Made by :func:`linearize_batch`.

    Parameters
    ----------
    model : name of the mechanism.
    count : variants.
    states : of x: independent coordinates, then speeds, with units.
    inputs : of u.
    eigenvalues : (n, nx) 1/s, of each variant those that grow fastest first; nan where the motion
        is not steady.
    residual : (n,) the largest rate that should vanish.
    is_steady : (n,) whether it does.
    A, B : (n, nx, nx) and (n, nx, nu) of ẋ = A x + B δu, or empty.
    """

    model: str
    count: int
    states: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    eigenvalues: np.ndarray = field(repr=False)
    residual: Array = field(repr=False)
    is_steady: np.ndarray = field(repr=False)
    A: Array = field(repr=False)
    B: Array = field(repr=False)

    @property
    def is_stable(self) -> np.ndarray:
        """(n,) whether no small motion grows; false where the motion is not steady."""
        sizes = np.max(np.abs(self.eigenvalues), axis=1, initial=0.0)
        least = NEUTRAL * np.maximum(1.0, sizes)
        growth = np.max(self.eigenvalues.real, axis=1, initial=-np.inf)
        return self.is_steady & ~(growth > least)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        lost = int(np.count_nonzero(~self.is_steady))
        note = f", {lost} of motions that are not steady" if lost else ""
        stable = int(np.count_nonzero(self.is_stable))
        return (
            f"LinearizationBatch of '{self.model}': {self.count} variants, {stable} stable{note}\n"
            "next: .eigenvalues, .is_stable, .states"
        )


def linearize_batch(
    system: System,
    about: Mapping[str, ArrayLike] | None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    count: int | None = None,
    keep: Sequence[str] = ("eigenvalues",),
    time: float = 0.0,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> LinearizationBatch:
    """Linearize many variants of a system, each about its own steady motion.

    Wherever a number may be given, a list of numbers may be given too, one for each variant. All
    must move alike: the coordinates that matter are those of the first.

    Parameters
    ----------
    system : compiled system.
    about : coordinates, speeds, named angles and their rates of the steady motions; the rest is
        completed consistently.
    inputs : values of force and speed inputs that keep them, zero by default.
    parameters : values that differ from the nominal ones.
    count : number of variants, where no list says it.
    keep : ``"eigenvalues"``, always; ``"A"`` and ``"B"``, the matrices.
    time : s, at which moving constraints are taken.
    threads : all cores if not given.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, inconsistent lengths, and a first variant that
        :func:`linearize` refuses.
    """
    if not isinstance(system, System):
        raise TypeError(
            f"linearize_batch takes a System, got {type(system).__name__}: compile the equations "
            "first"
        )
    where = f"linearizations of model '{system.model.name}'"
    _check_kept(keep, where)
    check_time(system, time, None)
    given = {
        kind: {name: read_numbers(value, f"{kind} '{name}'", where) for name, value in m.items()}
        for kind, m in (("about", about or {}), ("input", inputs or {}), ("p", parameters or {}))
    }
    lengths = {n: len(values) for numbers in given.values() for n, values in numbers.items()}
    count = read_count(count, lengths, where)
    rows, system = parameter_rows(system, given["p"], count)
    plan = _plan(system, given, rows, time)
    results = _empty(plan, count, keep, where)
    workers = num_cores() if threads is None else threads
    stop = cancel if cancel is not None else threading.Event()
    blocks = [range(k, min(k + BLOCK, count)) for k in range(0, count, BLOCK)]

    def work(block: range) -> int:
        if not stop.is_set():
            _fill(plan, block, results)
        return len(block)

    done = 0
    with ThreadPoolExecutor(max(1, min(workers, len(blocks)))) as pool:
        pending = [pool.submit(work, block) for block in blocks]
        try:
            for one in as_completed(pending):
                done += one.result()
                if progress is not None:
                    progress(done / count)
        except BaseException:
            for one in pending:
                one.cancel()
            raise
    return LinearizationBatch(
        model=system.model.name,
        count=count,
        states=plan.states,
        inputs=plan.system.inputs,
        **results,
    )


class _Plan(NamedTuple):
    """What all variants share, and their numbers."""

    system: System
    chart: LocalCoordinates
    matter: list[int]
    free: list[int]
    tied: list[int]
    states: tuple[Quantity, ...]
    speeds_at: Any
    matrices_at: Any
    shapes: tuple[tuple[int, int], ...]
    about: dict[str, Array]
    inputs: Array
    parameters: Array
    time: float


def _plan(
    system: System, given: Mapping[str, Mapping[str, Array]], rows: Array, time: float
) -> _Plan:
    """Linearize the first variant; compile what the others need."""
    first = {kind: {n: float(v[0]) for n, v in numbers.items()} for kind, numbers in given.items()}
    u = input_vector(system, first["input"])
    names = [quantity.name for quantity in system.inputs]
    count = max([1, *(len(v) for v in given["input"].values())])
    table = np.tile(u, (count, 1))
    for name, values in given["input"].items():
        table[:, names.index(name)] = values
    num = len(system.model.inputs)
    w = u[num : num + len(system.model.speed_inputs)]
    start = complete_start(
        system, first["about"], time=time, speed_inputs=lambda q: w, parameters=rows[0]
    )
    point = local_state_at(system, start, u, rows[0])
    if point.system is not system:
        raise SimulationError(
            "its independent speeds do not determine the motion there",
            f"linearizations of model '{system.model.name}', first variant",
            "linearize one by one, or derive the equations in other speeds",
        )
    relevant = relevance(point)
    found = linearize_point(point, relevant)
    chart = point.chart
    places = {c.name: k for k, c in enumerate(chart.coordinates)}
    free = [places[c.name] for c in found.coordinates]
    tied = [places[c.name] for c in found.dependent]
    speeds_at, matrices_at, shapes = system.cached(
        ("linearize_batch", chart, relevant, tuple(free)),
        lambda: _functions(system, chart, relevant, free),
    )
    return _Plan(
        system=system,
        chart=chart,
        matter=list(relevant.coordinates),
        free=free,
        tied=tied,
        states=found.states,
        speeds_at=speeds_at,
        matrices_at=matrices_at,
        shapes=shapes,
        about=dict(given["about"]),
        inputs=table,
        parameters=rows,
        time=time,
    )


def _functions(
    system: System, chart: LocalCoordinates, relevant: Relevance, free: Sequence[int]
) -> tuple[Any, Any, tuple[tuple[int, int], ...]]:
    """Functions in lanes: η and ∂η/∂ζ at ζ = 0, and all matrices of the small motions."""
    s, inputs = system.kinematics.symbols, system.equations.inputs
    c, zeta = ca.SX.sym("c", len(chart.coordinates)), ca.SX.sym("zeta", len(chart.speeds))
    arguments = (s.t, c, zeta, ca.SX.zeros(len(chart.speeds)), inputs, s.params)
    r, cdot, _, _, eta, mass = chart.values(*arguments)
    by_c, by_zeta, by_inputs = chart.derivatives(*arguments)
    ends = np.cumsum(chart.sizes)
    places = [list(range(end - size, end)) for end, size in zip(ends, chart.sizes, strict=True)]
    at_r, at_cdot, at_g = places[0], [places[1][k] for k in free], places[2]
    rows = [at_g[k] for k in relevant.rows]
    matter = list(relevant.coordinates)
    blocks = [
        *(r, cdot[matter], mass, by_c[at_r, matter], by_c[at_cdot, matter], by_c[rows, matter]),
        *(by_zeta[at_r, :], by_zeta[at_cdot, :], by_inputs[at_r, :], by_inputs[at_cdot, :]),
    ]
    slopes = [eta, by_zeta[places[4], :]]
    given = (s.t, ca.vertcat(c, zeta), inputs, s.params)

    def compiled(name: str, parts: list[ca.SX]) -> Any:
        # a row after the other, as NumPy has them
        column = ca.vertcat(*[ca.vec(ca.densify(ca.SX(part)).T) for part in parts])
        program = trace_program(name, given, ca.densify(system.fold(column)))
        return compile_wide([program], native_lanes())[name]

    shapes = tuple((int(b.shape[0]), int(b.shape[1])) for b in blocks)
    return compiled("speeds", slopes), compiled("matrices", blocks), shapes


def _fill(plan: _Plan, block: range, results: dict[str, np.ndarray]) -> None:
    """Linearize a block of variants."""
    system, chart, n = plan.system, plan.chart, len(block)
    some = slice(block.start, block.stop)

    def own(table: Array) -> Array:
        return table[some] if len(table) > 1 else np.broadcast_to(table, (n, *table.shape[1:]))

    params, u = np.ascontiguousarray(own(plan.parameters)), np.ascontiguousarray(own(plan.inputs))
    num = len(system.model.inputs)
    num_w = len(system.model.speed_inputs)
    q, eta, states = complete_starts(
        system,
        {name: values[some] if len(values) > 1 else values for name, values in plan.about.items()},
        count=n,
        time=plan.time,
        parameters=params,
        speed_inputs=(lambda k, _: u[k, num : num + num_w]) if num_w else None,
    )
    t, nf = np.full(n, plan.time), len(chart.speeds)
    c = chart.from_many_coordinates(q, states)
    x = np.concatenate([c, np.zeros((n, nf))], axis=1)
    # η is affine in ζ
    found = plan.speeds_at.map(t, x, u, params)
    slope = found[:, nf:].reshape(n, nf, nf)
    with np.errstate(all="ignore"):
        x[:, c.shape[1] :] = _solve(slope, (eta - found[:, :nf])[:, :, None])[:, :, 0]
        parts = _split(plan.matrices_at.map(t, x, u, params), plan.shapes)
        r, cdot, mass, K, cdot_c, G, D, cdot_z, r_u, cdot_u = parts
        T = _coordinate_map(plan, G)
        rates = np.concatenate([_solve(mass, -r), cdot], axis=1)[:, :, 0]
        size = np.maximum(1.0, np.max(np.abs(x[:, c.shape[1] :]), axis=1, initial=0.0) ** 2)
        residual = np.max(np.abs(rates), axis=1, initial=0.0)
        below = _solve(mass, np.concatenate([-K @ T, -D, -r_u], axis=2))
        above = np.concatenate([cdot_c @ T, cdot_z, cdot_u], axis=2)
        both = np.concatenate([above, below], axis=1)
    num_states = len(plan.states)
    A, B = both[:, :, :num_states], both[:, :, num_states:]
    is_steady = (residual <= STEADY * size) & np.all(np.isfinite(A), axis=(1, 2))
    is_steady &= _is_regular(plan, q, eta, u, params)
    results["residual"][some], results["is_steady"][some] = residual, is_steady
    values = np.linalg.eigvals(A[is_steady]).astype(complex)
    order = np.lexsort((-values.imag, -values.real), axis=1) if values.size else np.zeros(0, int)
    if values.size:
        values = np.take_along_axis(values, order, axis=1)
    results["eigenvalues"][np.arange(block.start, block.stop)[is_steady]] = values
    for name, matrix in (("A", A), ("B", B)):
        if results[name].size:
            results[name][some] = matrix


def _coordinate_map(plan: _Plan, G: Array) -> Array:
    """(3) of `linearize.py`: coordinates that matter from the independent ones, δc = T z."""
    free = [plan.matter.index(k) for k in plan.free]
    tied = [plan.matter.index(k) for k in plan.tied]
    T = np.zeros((len(G), len(plan.matter), len(free)))
    T[:, free, range(len(free))] = 1.0
    if tied:
        T[:, tied] = -_solve(G[:, :, tied], G[:, :, free])
    return T


def _is_regular(plan: _Plan, q: Array, eta: Array, u: Array, params: Array) -> np.ndarray:
    """Whether the independent speeds determine the motion of each variant."""
    system = plan.system
    work = np.zeros((len(q), 1 if system.does_work else 0))
    x = np.concatenate([q, eta, work], axis=1)
    measures = system.rates.map(np.full(len(q), plan.time), x, u, params)[:, system.num_states :]
    limits = np.array([measure.limit for measure in system.singularity_measures])
    return np.all(np.abs(measures) > limits, axis=1)


def _solve(matrix: Array, right: Array) -> Array:
    """Stacked solutions; nan where a matrix is singular."""
    if not matrix.shape[-1]:
        return np.zeros((*matrix.shape[:-1], right.shape[-1]))
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        is_singular = ~(np.abs(np.linalg.det(matrix)) > 0.0)
        safe = np.where(is_singular[:, None, None], np.eye(matrix.shape[-1]), matrix)
        return np.where(is_singular[:, None, None], np.nan, np.linalg.solve(safe, right))


def _split(rows: Array, shapes: Sequence[tuple[int, int]]) -> list[Array]:
    """Rows of stacked matrices, apart."""
    ends = np.cumsum([m * n for m, n in shapes])[:-1]
    parts = np.split(rows, ends, axis=1)
    return [part.reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)]


def _empty(plan: _Plan, count: int, keep: Sequence[str], where: str) -> dict[str, np.ndarray]:
    """Arrays for the results, nan until they are filled."""
    nx, nu = len(plan.states), len(plan.system.inputs)
    sizes = {"A": nx * nx, "B": nx * nu}
    check_memory(
        count * (16.0 * nx + 8.0 * sum(sizes[name] for name in keep if name in sizes)),
        "results",
        where,
        "keep eigenvalues alone, or give fewer variants at a time",
    )
    return {
        "eigenvalues": np.full((count, nx), np.nan, complex),
        "residual": np.full(count, np.nan),
        "is_steady": np.zeros(count, bool),
        "A": np.full((count, nx, nx) if "A" in keep else (0, nx, nx), np.nan),
        "B": np.full((count, nx, nu) if "B" in keep else (0, nx, nu), np.nan),
    }


def _check_kept(keep: Sequence[str], where: str) -> None:
    if isinstance(keep, str):
        raise SimulationError(f"keep is '{keep}'", where, f"give a list: keep=['{keep}']")
    for word in keep:
        if word not in KEPT:
            listed = ", ".join(f"'{known}'" for known in KEPT)
            raise SimulationError(f"there is nothing to keep as '{word}'", where, f"give {listed}")
