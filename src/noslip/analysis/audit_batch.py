"""`audit_batch`: the no-slip audit at many states of many variants.

The forces of `contact_forces.py` are computed for a block of states at once; every state is judged
by itself, as a run with one sample would be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.audit import (
    Audit,
    WheelAudit,
    audit_forces,
    bad_friction,
    check_formulation,
    verdict_cases,
)
from noslip.analysis.contact_loads import Unsupported, contact_forces_at
from noslip.analysis.instant import check_time
from noslip.analysis.reactions import SampledMotion
from noslip.base import Array, counted
from noslip.engines import System
from noslip.simulation import Variants, dataset, in_blocks, read_variants

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditBatch:
    """Contact forces, friction demand and verdict at many states. Made by :func:`audit_batch`.

    ``batch[k]`` is the :class:`Audit` of one state, with a single sample.

    Parameters
    ----------
    model : name of the mechanism.
    count : states.
    wheels : every wheel and blade, with one sample for each state; also ``batch.wheel("wheel1")``.
    friction : (n,) coefficient of the ground, nan if it was not given.
    required : (n,) coefficient below which no split of the forces holds every wheel.
    verdicts : (n,) as :attr:`Audit.verdict`.
    time : s.
    """

    model: str
    count: int
    wheels: tuple[WheelAudit, ...] = field(repr=False)
    friction: Array = field(repr=False)
    required: Array = field(repr=False)
    verdicts: NDArray[np.str_] = field(repr=False)
    unsupported: tuple[Unsupported, ...] = field(repr=False)
    notes: tuple[str, ...]
    time: float
    variants: Variants = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def wheel(self, name: str) -> WheelAudit:
        """The wheel or blade of that name."""
        return self._part(slice(None))[name]

    def __getitem__(self, k: int) -> Audit:
        """The audit of one state."""
        if not -self.count <= k < self.count:
            raise IndexError(f"there are {self.count} states, and number {k} is requested")
        k %= self.count
        return self._part(slice(k, k + 1))

    def _part(self, some: slice) -> Audit:
        """Some of the states, as samples."""
        names = [f.name for f in dataclasses.fields(WheelAudit)]
        wheels = []
        for wheel in self.wheels:
            values = {name: getattr(wheel, name) for name in names}
            arrays = {n: x[some] for n, x in values.items() if isinstance(x, np.ndarray)}
            wheels.append(dataclasses.replace(wheel, **arrays))  # type: ignore[arg-type]
        friction = self.friction[some]
        return Audit(
            model=self.model,
            t=np.full(len(friction), self.time),
            friction=None if np.isnan(friction[0]) else float(friction[0]),
            wheels=tuple(wheels),
            required=self.required[some],
            unsupported=tuple(
                dataclasses.replace(u, moment=u.moment[some]) for u in self.unsupported
            ),
            notes=self.notes,
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``: forces, loads, demands, what is required, and verdicts."""
        columns: dict[str, tuple[NDArray[Any], str]] = {}
        for wheel in self.wheels:
            for part in ("longitudinal", "lateral", "normal"):
                columns[f"{wheel.name}.{part}"] = (getattr(wheel, part), "N")
            columns[f"{wheel.name}.demand"] = (wheel.demand, "1")
            if np.any(np.isfinite(wheel.use)):
                columns[f"{wheel.name}.use"] = (wheel.use, "1")
        columns["required"] = (self.required, "1")
        columns["verdict"] = (self.verdicts, "")
        return dataset(self.variants, columns, "no-slip audit")

    def __repr__(self) -> str:
        words, counts = np.unique(self.verdicts, return_counts=True)
        listed = ", ".join(f"{n} {word}" for word, n in zip(words, counts, strict=True))
        return (
            f"No-slip audit of '{self.model}', {counted(self.count, 'state')}: {listed}\n"
            "next: .verdicts, .required, .wheel('…'), [k], .to_xarray()"
        )


def audit_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    friction: ArrayLike | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> AuditBatch:
    """Compute loads, contact forces and friction demand of every wheel at many states.

    Every value is a number, or a list with one for each state; samples of a batch of runs are such
    lists.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : force and speed inputs, zero by default.
    parameters : values that differ from the nominal ones.
    friction : coefficient of the ground; without it there is no verdict on slip.
    time : s.
    count : number of states, where no list says it.
    threads : all cores if not given.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`audit`, and for names and lists as :func:`evaluate_batch`.
    """
    ground = {} if friction is None else {"coefficient": friction}
    variants = read_variants(
        system,
        "audit_batch",
        "audit",
        state=state,
        inputs=inputs,
        parameters=parameters,
        others={"friction": ground},
        count=count,
    )
    check_time(system, time)
    system = variants.system
    check_formulation(system)
    mu = variants.others["friction"].get("coefficient", np.full(1, np.nan))
    if np.any(mu < 0):
        raise bad_friction(system, float(mu.min()))
    parts: dict[int, Audit] = {}

    def work(block: range) -> None:
        parts[block.start] = _audit_states(variants, block, time)

    in_blocks(variants.count, work, threads=threads, progress=progress, cancel=cancel)
    return _joined(variants, parts, np.broadcast_to(mu, variants.count).copy(), time)


def _audit_states(variants: Variants, block: range, time: float) -> Audit:
    """The audit of a block of states, which are its samples."""
    system, n = variants.system, len(block)
    start, t = variants.completed(block, time), np.full(n, time)
    inputs, values = (
        variants.rows(table, block) for table in (variants.inputs, variants.parameters)
    )
    rest = np.concatenate([start.mu, np.zeros((n, int(system.does_work)))], axis=1)
    motion = SampledMotion(t, start.q, start.v, inputs, rest, values, is_one=False)
    return audit_forces(system, contact_forces_at(system, motion), t, None)


def _joined(
    variants: Variants, parts: Mapping[int, Audit], friction: Array, time: float
) -> AuditBatch:
    """Audits of blocks as one; states that were not done are nan."""
    count = variants.count

    def whole(of: Callable[[Audit], Array], tail: tuple[int, ...] = ()) -> Array:
        full = np.full((count, *tail), np.nan)
        for first, part in parts.items():
            full[first : first + len(part.t)] = of(part)
        return full

    def wheel(k: int) -> WheelAudit:
        numbers: dict[str, Array] = {}
        for name in ("longitudinal", "lateral", "normal", "demand"):
            numbers[name] = whole(lambda a, n=name: getattr(a.wheels[k], n))  # type: ignore[misc]
            spread = f"{name}_range"
            numbers[spread] = whole(
                lambda a, n=spread: getattr(a.wheels[k], n),  # type: ignore[misc]
                (2,),
            )
        for name in ("use", "slide"):
            numbers[name] = whole(lambda a, n=name: getattr(a.wheels[k], n))  # type: ignore[misc]
        return dataclasses.replace(known[k], **numbers)  # type: ignore[arg-type]

    known = next((part.wheels for part in parts.values()), ())
    wheels = tuple(wheel(k) for k in range(len(known)))
    unsupported: dict[str, Unsupported] = {}
    for first, part in parts.items():
        for u in part.unsupported:
            if u.joint not in unsupported:
                unsupported[u.joint] = dataclasses.replace(u, moment=np.zeros(count))
            unsupported[u.joint].moment[first : first + len(part.t)] = u.moment
    required = whole(lambda a: a.required)
    return AuditBatch(
        model=variants.system.model.name,
        count=count,
        wheels=wheels,
        friction=friction,
        required=required,
        verdicts=_verdicts(wheels, required, friction),
        unsupported=tuple(unsupported.values()),
        notes=tuple(dict.fromkeys(note for part in parts.values() for note in part.notes)),
        time=time,
        variants=variants,
    )


def _verdicts(wheels: tuple[WheelAudit, ...], required: Array, friction: Array) -> NDArray[np.str_]:
    """(n,) verdict at each state by itself, as `Audit.verdict` of one sample."""
    words, cases = zip(*verdict_cases(wheels, required, friction), strict=True)
    return np.select(cases, words, "holds")
