"""`Audit`: what a motion asks of the ground, wheel by wheel, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noslip.analysis.audit_splits import SMALL, rounding
from noslip.analysis.audit_support import Unsupported
from noslip.analysis.audit_text import audit_data, audit_lines, largest
from noslip.engines.system import Array
from noslip.errors import SimulationError, nearest
from noslip.words import counted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WheelAudit:
    """Forces of the ground on a wheel or blade, sampled: the least-norm split and the ranges.

    Parameters
    ----------
    name : of the contact.
    body : that the forces act on.
    kind : ``wheel`` or ``blade``; of a blade only the lateral force means anything.
    load_from : ``row`` (its own normal row), the name of the planar joint whose wrench the wheels
        carry, or empty where the load is not known.
    longitudinal, lateral, normal : (n,) N; NaN where they are not known.
    demand : (n,) |F_t| / N; infinite where a force has no load.
    longitudinal_range, lateral_range, normal_range, demand_range : (n, 2) least and largest over
        the splits that count; NaN where every split has a negative load. The range of the demand
        combines those of the forces: it is exact where they are shared independently of each
        other, and otherwise an outer bound.
    """

    name: str
    body: str
    kind: str
    load_from: str
    longitudinal: Array = field(repr=False)
    lateral: Array = field(repr=False)
    normal: Array = field(repr=False)
    demand: Array = field(repr=False)
    longitudinal_range: Array = field(repr=False)
    lateral_range: Array = field(repr=False)
    normal_range: Array = field(repr=False)
    demand_range: Array = field(repr=False)

    @property
    def has_load(self) -> bool:
        """Whether its load is known at any sample."""
        return bool(np.any(np.isfinite(self.normal)))

    @property
    def is_shared(self) -> bool:
        """Whether the split between wheels leaves any of its forces open."""
        ranges = (self.longitudinal_range, self.lateral_range, self.normal_range)
        scale = max(float(np.max(np.abs(r[np.isfinite(r)]), initial=0.0)) for r in ranges)
        return any(bool(np.any(r[:, 1] - r[:, 0] > SMALL * scale)) for r in ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A stretch of time in which a wheel would slip or lift in the least-norm split.

    Parameters
    ----------
    wheel : its contact.
    kind : ``slip`` or ``lift``.
    start, end : first and last sample of the stretch, s.
    time : of the worst sample, s.
    value : friction demand, or load in N, there.
    excess : by how much: demand less friction coefficient, or the pull in N.
    is_certain : whether no split of the forces between the wheels avoids it.
    """

    wheel: str
    kind: str
    start: float
    end: float
    time: float
    value: float
    excess: float
    is_certain: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """What a motion asks of the ground.

    Parameters
    ----------
    model : its name.
    t : (n,) times, s.
    friction : coefficient of the ground, or None if it was not given.
    wheels : every wheel and blade; also ``audit["wheel1"]``.
    required : (n,) friction coefficient below which no split of the forces holds every wheel whose
        load is known; NaN without any.
    unsupported : moments that planar joints hold and wheels cannot.
    notes : what was left out, in words.
    """

    model: str
    t: Array = field(repr=False)
    friction: float | None
    wheels: tuple[WheelAudit, ...]
    required: Array = field(repr=False)
    unsupported: tuple[Unsupported, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> WheelAudit:
        """The wheel or blade of that name."""
        for wheel in self.wheels:
            if wheel.name == name:
                return wheel
        raise SimulationError(
            f"there is no contact '{name}'",
            f"audit of model '{self.model}'",
            nearest(name, [wheel.name for wheel in self.wheels]),
        )

    @property
    def loaded(self) -> tuple[WheelAudit, ...]:
        """Wheels whose loads are known."""
        return tuple(wheel for wheel in self.wheels if wheel.has_load)

    @property
    def slips(self) -> tuple[Failure, ...]:
        """Where wheels would slip on ground with the given friction coefficient."""
        if self.friction is None:
            return ()
        found: list[Failure] = []
        for wheel in self.loaded:
            over = wheel.demand - self.friction
            # a wheel that lifts is told by `lifts`
            slips = (over > SMALL) & ~(wheel.normal < -self.rounding)
            for stretch in _stretches(slips):
                worst = stretch.start + int(np.argmax(over[stretch]))
                found.append(
                    Failure(
                        wheel=wheel.name,
                        kind="slip",
                        start=float(self.t[stretch.start]),
                        end=float(self.t[stretch.stop - 1]),
                        time=float(self.t[worst]),
                        value=float(wheel.demand[worst]),
                        excess=float(over[worst]),
                        is_certain=bool(np.any(self.required[stretch] > self.friction + SMALL)),
                    )
                )
        return tuple(found)

    @property
    def lifts(self) -> tuple[Failure, ...]:
        """Where wheels would have to be pulled down."""
        found: list[Failure] = []
        for wheel in self.loaded:
            # a range that is NaN: no split has all loads nonnegative
            certain = ~(wheel.normal_range[:, 1] >= -self.rounding)
            for stretch in _stretches(wheel.normal < -self.rounding):
                worst = stretch.start + int(np.argmin(wheel.normal[stretch]))
                found.append(
                    Failure(
                        wheel=wheel.name,
                        kind="lift",
                        start=float(self.t[stretch.start]),
                        end=float(self.t[stretch.stop - 1]),
                        time=float(self.t[worst]),
                        value=float(wheel.normal[worst]),
                        excess=float(-wheel.normal[worst]),
                        is_certain=bool(np.any(certain[stretch])),
                    )
                )
        return tuple(found)

    @property
    def verdict(self) -> str:
        """Whether the motion holds without slip and lift.

        ``holds``, whatever the split; ``depends`` on the split; ``fails``, whatever the split; or
        ``unknown``: without a friction coefficient, or where loads are not known.
        """
        if any(lift.is_certain for lift in self.lifts):
            return "fails"
        if self.friction is None:
            return "unknown"
        if bool(np.any(self.required > self.friction + SMALL)):
            return "fails"
        unknown = [
            np.isnan(w.normal) & ~np.isnan(w.lateral) for w in self.wheels if w.kind == "wheel"
        ]
        if not self.loaded or np.any(unknown):
            return "unknown"
        widest = max(largest(wheel.demand_range[:, 1])[0] for wheel in self.loaded)
        is_open = self.lifts or self.slips or widest > self.friction + SMALL
        return "depends" if is_open else "holds"

    @property
    def rounding(self) -> Array:
        """(n,) below which a load is zero but for rounding, N."""
        return rounding(np.array([wheel.normal for wheel in self.loaded]).T)

    def text(self) -> str:
        """The audit in a few lines, the verdict last."""
        return "\n".join(audit_lines(self))

    def to_json(self, *, samples: bool = False) -> dict[str, object]:
        """Plain data.

        Parameters
        ----------
        samples : also all forces, loads and demands over time.
        """
        return audit_data(self, samples)

    def __repr__(self) -> str:
        return f"No-slip audit of '{self.model}', {counted(len(self.t), 'sample')}\n{self.text()}"


def _stretches(flags: NDArray[np.bool_]) -> list[slice]:
    """Runs of samples where a flag is set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
