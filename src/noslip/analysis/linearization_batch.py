"""`linearize_batch`: eigenvalues of many variants of a mechanism about their steady motions.

The same equations as in `linearize.py`, in the local coordinates of the first variant, evaluated in
lanes and combined by stacked matrices, a block of variants at a time on several threads. Which
coordinates matter and which depend on others is found once, for the first variant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import check_time
from noslip.analysis.linearization import allowed_rates, linearize_point, steady_state_at
from noslip.analysis.local_coordinates import LocalCoordinates
from noslip.analysis.modes import NEUTRAL
from noslip.analysis.stacked import StackedFunction, local_expressions, solve_stacked
from noslip.analysis.steady_motion import Relevance, relevance, scale_of
from noslip.base import Array, SimulationError, check_memory
from noslip.engines import AbstractDevice, System
from noslip.model import Quantity
from noslip.simulation import Variants, complete_start, in_blocks, read_variants

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
    eigenvalues: NDArray[np.complex128] = field(repr=False)
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
    device: Any = "cpu",
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
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, inconsistent lengths, and a first variant that
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
    plan = _plan(variants, time)
    results = _empty(plan, variants.count, keep, variants.where)
    in_blocks(
        variants.count,
        lambda block: _fill(plan, block, results),
        size=variants.block,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )
    return LinearizationBatch(
        model=system.model.name,
        count=variants.count,
        states=plan.states,
        inputs=variants.system.inputs,
        **results,
    )


class _Plan(NamedTuple):
    """Data that all variants share."""

    variants: Variants
    chart: LocalCoordinates
    matter: list[int]
    free: list[int]
    tied: list[int]
    states: tuple[Quantity, ...]
    speeds_at: StackedFunction
    matrices_at: StackedFunction
    time: float
    scale: Array


def _plan(variants: Variants, time: float) -> _Plan:
    """Linearize the first variant; compile what the others need."""
    system = variants.system
    state, u, params = variants.at(0)
    num = len(system.model.inputs)
    w = u[num : num + len(system.model.speed_inputs)]
    start = complete_start(system, state, time=time, speed_inputs=lambda q: w, parameters=params)
    point = steady_state_at(system, start, u, params)
    if point.system is not system:
        raise SimulationError(
            "the independent speeds do not determine the motion there",
            f"{variants.where}, first variant",
            "linearize the variants one by one, or derive the equations in other speeds",
        )
    relevant = relevance(point)
    found = linearize_point(point, relevant)
    chart = point.chart
    places = {c.name: k for k, c in enumerate(chart.coordinates)}
    free = [places[c.name] for c in found.coordinates]
    tied = [places[c.name] for c in found.dependent]
    speeds_at, matrices_at = system.cached(
        ("linearize_batch", chart, relevant, tuple(free), variants.device),
        lambda: _functions(system, chart, relevant, free, variants.device),
    )
    return _Plan(
        variants=variants,
        chart=chart,
        matter=list(relevant.coordinates),
        free=free,
        tied=tied,
        states=found.states,
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


def _fill(plan: _Plan, block: range, results: dict[str, np.ndarray]) -> None:
    """Linearize a block of variants."""
    variants, chart, n = plan.variants, plan.chart, len(block)
    some = slice(block.start, block.stop)
    params = variants.rows(variants.parameters, block)
    u = variants.rows(variants.inputs, block)
    start = variants.completed(block, plan.time)
    q, eta, states = start.q, start.eta, start.mu
    nf = len(chart.speeds)
    c = chart.from_many_coordinates(q, states)
    x = np.concatenate([c, np.zeros((n, nf))], axis=1)
    # η is affine in ζ
    at_rest, slope = plan.speeds_at(plan.time, x, u, params)
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
    is_steady = np.all(np.abs(rates) <= allowed, axis=1) & np.all(np.isfinite(A), axis=(1, 2))
    is_steady &= _is_regular(plan, (q, eta, states), u, params)
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
        T[:, tied] = -solve_stacked(G[:, :, tied], G[:, :, free])
    return T


def _is_regular(
    plan: _Plan, state: tuple[Array, Array, Array], u: Array, params: Array
) -> np.ndarray:
    """Whether the independent speeds determine the motion of each variant."""
    system = plan.variants.system
    x = plan.variants.state_rows(*state)
    measures = system.rates.map(np.full(len(x), plan.time), x, u, params)[:, system.num_states :]
    limits = np.array([measure.limit for measure in system.singularity_measures])
    return np.all(np.abs(measures) > limits, axis=1)


def _empty(plan: _Plan, count: int, keep: Sequence[str], where: str) -> dict[str, np.ndarray]:
    """Arrays for the results, nan until they are filled."""
    nx, nu = len(plan.states), len(plan.variants.system.inputs)
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
