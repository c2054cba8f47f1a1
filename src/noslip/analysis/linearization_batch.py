"""`linearize_batch`: eigenvalues of many variants of a mechanism about their steady motions.

The same equations as in `linearize.py`, evaluated in lanes and combined by stacked matrices, a
block of variants at a time on several threads. Variants are grouped by the independent speeds that
determine their motion (`choose_bases`). Local coordinates, which of them matter and which depend on
others are found once for a group, at its first variant; a variant at which angles of these are
singular is done alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import check_time
from noslip.analysis.linearization import (
    allowed_rates,
    independent_coordinates,
    is_steady_at,
    linearize_point,
    steady_state_at,
)
from noslip.analysis.local_coordinates import LocalCoordinates, LocalState, moving_axes
from noslip.analysis.modes import NEUTRAL
from noslip.analysis.stacked import StackedFunction, local_expressions, solve_stacked
from noslip.analysis.steady_motion import Relevance, relevance, scale_of
from noslip.base import Array, SimulationError, check_memory
from noslip.engines import AbstractDevice, System
from noslip.model import Quantity
from noslip.simulation import (
    Starts,
    Variants,
    choose_bases,
    in_blocks,
    read_variants,
    singular_state,
)

KEPT = ("eigenvalues", "A", "B")
#: Most that ∂η/∂ζ may magnify: beyond it the angles of the chart are singular at a variant.
MAGNIFIED = 1e6


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
    is_steady : (n,) whether it does; false too where `messages` has the variant.
    A, B : (n, nx, nx) and (n, nx, nu) of ẋ = A x + B δu, or empty.
    others : variant → its x, where the independent speeds or angles of `states` are singular.
    messages : variant → why it is not known whether its motion is steady.
    """

    model: str
    count: int
    states: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    eigenvalues: NDArray[np.complex128] = field(repr=False)
    residual: Array = field(repr=False)
    is_steady: np.ndarray = field(repr=False)
    A: Array = field(repr=False)
    B: Array = field(repr=False)
    others: dict[int, tuple[Quantity, ...]] = field(repr=False)
    messages: dict[int, str] = field(repr=False)

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
        lost = int(np.count_nonzero(~self.is_steady)) - len(self.messages)
        note = f", {lost} of motions that are not steady" if lost else ""
        note += f", {len(self.messages)} unknown (.messages)" if self.messages else ""
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
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> LinearizationBatch:
    """Linearize many variants of a system, each about its own steady motion.

    Wherever a number may be given, a list of numbers may be given too, one for each variant. All
    must move alike: the coordinates that matter are those of the first. Variants at which its
    independent speeds are singular are linearized in others.

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
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, inconsistent lengths, and variants all of which
        :func:`linearize` refuses.
    """
    variants = read_variants(
        system,
        "linearize_batch",
        "linearizations",
        state=about,
        inputs=inputs,
        parameters=parameters,
        count=count,
        device=device,
    )
    _check_kept(keep, variants.where)
    check_time(system, time, None)
    work = _Work(variants, keep, time, threads, cancel)
    work.run(threads, progress, cancel)
    return work.result()


class _Plan(NamedTuple):
    """Data that the variants of a group share; `which` are their numbers."""

    variants: Variants
    which: NDArray[np.int_]
    system: System
    starts: Starts
    chart: LocalCoordinates
    matter: list[int]
    free: list[int]
    tied: list[int]
    states: tuple[Quantity, ...]
    speeds_at: StackedFunction
    matrices_at: StackedFunction
    time: float
    scale: Array

    def point(self, k: int) -> LocalState:
        """One of the variants, in its own chart."""
        return _point(self.variants, self.system, self.starts, self.time, k)


class _Work:
    """Linearizations of all variants, group by group, filled block by block."""

    def __init__(
        self, variants: Variants, keep: Sequence[str], time: float, threads: int | None, cancel: Any
    ) -> None:
        self._variants = variants
        starts, done = _completed(variants, time, threads, cancel)
        system, table = variants.system, variants.parameters
        params = table[0] if len(table) == 1 else table[done]
        groups, faults = choose_bases(system, np.full(len(done), time), starts.q, params)
        if not groups:
            k = min(faults)
            raise singular_state(system, faults[k], time, f", variant {done[k]}")
        self._messages = {int(done[k]): measure.sentence for k, measure in faults.items()}
        self._others: dict[int, tuple[Quantity, ...]] = {}
        found = [
            _plan(variants.take(done[which]), done[which], here, starts.take(which), time)
            for here, which in groups
        ]
        self._states = found[0].states
        self._plans: list[_Plan] = []
        for plan in found:
            if len(plan.states) == len(self._states):
                self._plans.append(plan)
            else:
                self._messages |= dict.fromkeys(plan.which.tolist(), _otherwise(plan.states))
            if plan.states != self._states:
                self._others |= dict.fromkeys(plan.which.tolist(), plan.states)
        self._results = _empty(self._states, variants, keep)

    def run(
        self,
        threads: int | None,
        progress: Callable[[float], object] | None,
        cancel: Any,
    ) -> None:
        """Linearize all groups; refused if not one motion is steady."""
        done = 0
        for plan in self._plans:

            def report(fraction: float, before: int = done, size: int = len(plan.which)) -> None:
                if progress is not None:
                    progress((before + fraction * size) / self._variants.count)

            in_blocks(
                len(plan.which),
                lambda block, plan=plan: self._fill(plan, block),  # type: ignore[misc]
                size=plan.variants.block,
                threads=threads,
                progress=report,
                cancel=cancel,
            )
            done += len(plan.which)
        is_cancelled = cancel is not None and cancel.is_set()
        if not (is_cancelled or self._results["is_steady"].any() or self._messages):
            point = self._plans[0].point(0)
            linearize_point(point, relevance(point))

    def result(self) -> LinearizationBatch:
        """All of them."""
        system = self._variants.system
        return LinearizationBatch(
            model=system.model.name,
            count=self._variants.count,
            states=self._states,
            inputs=system.inputs,
            others=self._others,
            messages=self._messages,
            **self._results,
        )

    def _fill(self, plan: _Plan, block: range) -> None:
        """Linearize a block of variants of a group."""
        numbers, results = plan.which[block.start : block.stop], self._results
        found = _matrices(plan, block)
        results["residual"][numbers] = found.residual
        results["is_steady"][numbers] = found.is_steady
        for name, matrix in (("A", found.A), ("B", found.B)):
            if results[name].size:
                results[name][numbers] = matrix
        is_steady = found.is_steady
        results["eigenvalues"][numbers[is_steady]] = _sorted_eigenvalues(found.A[is_steady])
        for k in np.flatnonzero(~found.is_charted).tolist():
            self._alone(plan, block.start + k, int(numbers[k]))

    def _alone(self, plan: _Plan, k: int, number: int) -> None:
        """Linearize a variant in a chart of its own."""
        point, results = plan.point(k), self._results
        results["is_steady"][number] = False
        if not is_steady_at(point):
            zeta_rates, c_rates = point.rates()
            rates = [*zeta_rates, *c_rates[list(relevance(point).coordinates)]]
            results["residual"][number] = np.max(np.abs(rates), initial=0.0)
            return
        found = linearize_point(point, relevance(point))
        if len(found.states) != len(self._states):
            self._messages[number] = _otherwise(found.states)
            return
        self._others[number] = found.states
        results["is_steady"][number], results["residual"][number] = True, found.residual
        results["eigenvalues"][number] = _sorted_eigenvalues(found.A[None])[0]
        for name, matrix in (("A", found.A), ("B", found.B)):
            if results[name].size:
                results[name][number] = matrix


def _otherwise(states: tuple[Quantity, ...]) -> str:
    """The message of a variant with more or fewer states than the others."""
    listed = ", ".join(s.name for s in states) or "none"
    return (
        "the independent speeds of the other variants are singular here, and in its own it has "
        f"other states ({listed}): linearize it alone"
    )


def _completed(
    variants: Variants, time: float, threads: int | None, cancel: Any
) -> tuple[Starts, NDArray[np.int_]]:
    """Consistent states, and which variants they are of: all, or those before the work ended."""
    first = variants.completed(range(1), time)
    check_memory(
        variants.count * sum(float(part.nbytes) for part in first),
        "states",
        variants.where,
        "give fewer variants at a time",
    )
    parts = [np.zeros((variants.count, *part.shape[1:]), part.dtype) for part in first]
    is_done = np.zeros(variants.count, bool)

    def fill(block: range) -> None:
        for whole, part in zip(parts, variants.completed(block, time), strict=True):
            whole[block.start : block.stop] = part
        is_done[block.start : block.stop] = True

    in_blocks(variants.count, fill, size=variants.block, threads=threads, cancel=cancel)
    if not is_done[0]:
        for whole, part in zip(parts, first, strict=True):
            whole[:1] = part
        is_done[0] = True
    done = np.flatnonzero(is_done)
    return Starts(*parts).take(done), done


def _point(variants: Variants, system: System, starts: Starts, time: float, k: int) -> LocalState:
    """The state of a variant, in a chart in which it is steady if there is one."""
    _, u, params = variants.at(k)
    return steady_state_at(system, starts.one(system, k, time, params), u, params)


def _plan(
    variants: Variants, which: NDArray[np.int_], system: System, starts: Starts, time: float
) -> _Plan:
    """The chart of a group and the functions that its variants need.

    It is that of the first variant; on curved ground, where a motion may be steady in turned
    coordinates alone, of the first that is steady.
    """
    point = _point(variants, system, starts, time, 0)
    if moving_axes(system, starts.q[0]) and not is_steady_at(point):
        others: Iterator[LocalState] = (
            _point(variants, system, starts, time, k) for k in range(1, len(which))
        )
        point = next((other for other in others if is_steady_at(other)), point)
    relevant, chart = relevance(point), point.chart
    free, tied, _ = independent_coordinates(point, relevant)
    speeds_at, matrices_at = system.cached(
        ("linearize_batch", chart, relevant, tuple(free), variants.device),
        lambda: _functions(system, chart, relevant, free, variants.device),
    )
    return _Plan(
        variants=variants,
        which=which,
        system=system,
        starts=starts,
        chart=chart,
        matter=list(relevant.coordinates),
        free=free,
        tied=tied,
        states=(*(chart.coordinates[k] for k in free), *chart.speeds),
        speeds_at=speeds_at,
        matrices_at=matrices_at,
        time=time,
        scale=scale_of(point),
    )


def _functions(
    system: System,
    chart: LocalCoordinates,
    relevant: Relevance,
    free: Sequence[int],
    device: AbstractDevice | None,
) -> tuple[StackedFunction, StackedFunction]:
    """η and ∂η/∂ζ at ζ = 0 in lanes; all matrices of the small motions, on a device if given."""
    e = local_expressions(system, chart)
    r, cdot, _, _, eta = e.values
    rows, matter, free = list(relevant.rows), list(relevant.coordinates), list(free)
    blocks = [
        *(r, cdot[matter, :], e.mass),
        *(e.by_c[0][:, matter], e.by_c[1][free, matter], e.by_c[2][rows, matter]),
        *(e.by_zeta[0], e.by_zeta[1][free, :], e.by_inputs[0], e.by_inputs[1][free, :]),
        *(e.by_c[1][matter, matter], e.by_zeta[1][matter, :]),
    ]
    speeds = e.compile("speeds", [eta, e.by_zeta[4]])
    return speeds, e.compile("matrices", blocks, device)


class _Matrices(NamedTuple):
    """Of a block; `is_charted` is false where the chart of the group is singular."""

    A: Array
    B: Array
    residual: Array
    is_steady: NDArray[np.bool_]
    is_charted: NDArray[np.bool_]


def _matrices(plan: _Plan, block: range) -> _Matrices:
    """(1) to (4) of `linearize.py` of a block of variants."""
    variants, chart, n = plan.variants, plan.chart, len(block)
    params = variants.rows(variants.parameters, block)
    u = variants.rows(variants.inputs, block)
    start = plan.starts.take(np.arange(block.start, block.stop))
    q, t = start.q, np.full(n, plan.time)
    eta = plan.system.kinematics.independent_values(t, q, start.v, params)
    c = chart.from_many_coordinates(q, start.mu)
    x = np.concatenate([c, np.zeros((n, len(chart.speeds)))], axis=1)
    # η is affine in ζ
    at_rest, slope = plan.speeds_at(plan.time, x, u, params)
    is_charted = _is_charted(slope)
    with np.errstate(all="ignore"):
        x[:, c.shape[1] :] = solve_stacked(slope, eta[:, :, None] - at_rest)[:, :, 0]
        parts = plan.matrices_at(plan.time, x, u, params)
        r, cdot, mass, K, cdot_c, G, D, cdot_z, r_u, cdot_u, *staying = parts
        T = _coordinate_map(plan, G)
        rates = np.concatenate([solve_stacked(mass, -r), cdot], axis=1)[:, :, 0]
        moving = [*plan.matter, *range(c.shape[1], x.shape[1])]
        r_y, cdot_y = np.concatenate([K, D], axis=2), np.concatenate(staying, axis=2)
        allowed = allowed_rates(mass, r_y, cdot_y, x[:, moving], plan.scale[moving])
        residual = np.max(np.abs(rates), axis=1, initial=0.0)
        below = solve_stacked(mass, np.concatenate([-K @ T, -D, -r_u], axis=2))
        above = np.concatenate([cdot_c @ T, cdot_z, cdot_u], axis=2)
        both = np.concatenate([above, below], axis=1)
    num_states = len(plan.states)
    A, B = both[:, :, :num_states], both[:, :, num_states:]
    is_charted &= np.all(np.isfinite(A), axis=(1, 2))
    is_steady = np.all(np.abs(rates) <= allowed, axis=1) & is_charted
    return _Matrices(A, B, residual, is_steady, is_charted)


def _is_charted(slope: Array) -> NDArray[np.bool_]:
    """Whether the angles of a chart are regular: ∂η/∂ζ (n, nf, nf) is far from singular."""
    is_finite = np.all(np.isfinite(slope), axis=(1, 2))
    if not slope.shape[1]:
        return is_finite
    safe = np.where(is_finite[:, None, None], slope, 0.0)
    sizes = np.linalg.svd(safe, compute_uv=False)
    return np.asarray(is_finite & (sizes[:, 0] < MAGNIFIED * sizes[:, -1]))


def _sorted_eigenvalues(A: Array) -> NDArray[np.complex128]:
    """(n, nx), those that grow fastest first."""
    values = np.linalg.eigvals(A).astype(complex)
    if not values.size:
        return values
    order = np.lexsort((-values.imag, -values.real), axis=1)
    return np.take_along_axis(values, order, axis=1)


def _coordinate_map(plan: _Plan, G: Array) -> Array:
    """(3) of `linearize.py`: coordinates that matter from the independent ones, δc = T z."""
    free = [plan.matter.index(k) for k in plan.free]
    tied = [plan.matter.index(k) for k in plan.tied]
    T = np.zeros((len(G), len(plan.matter), len(free)))
    T[:, free, range(len(free))] = 1.0
    if tied:
        T[:, tied] = -solve_stacked(G[:, :, tied], G[:, :, free])
    return T


def _empty(
    states: tuple[Quantity, ...], variants: Variants, keep: Sequence[str]
) -> dict[str, np.ndarray]:
    """Arrays for the results, nan until they are filled."""
    nx, nu, count = len(states), len(variants.system.inputs), variants.count
    sizes = {"A": nx * nx, "B": nx * nu}
    check_memory(
        count * (16.0 * nx + 8.0 * sum(sizes[name] for name in keep if name in sizes)),
        "results",
        variants.where,
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
