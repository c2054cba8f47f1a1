"""When a motion is steady: which coordinates matter, and what must not change.

A coordinate is ignored if nothing depends on it: not the equations of motion, not the rate of a
coordinate that matters, not a holonomic row that ties it to one (the place and the heading of a
vehicle, the angle of a wheel). Whether that is so is a property of the mechanism, so it is decided
at generic states, not at the state at hand, where a stiffness may happen to vanish. A motion is
steady if

    (1)  ζ̇ = 0   and   ċ_k = 0 for all coordinates that matter.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from noslip.analysis.chart import Chart, chart_at
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.basis import independent_columns
from noslip.simulation.starts.completion import Start

#: A derivative below this, relative to the largest of its row, is none.
_NONE = 1e-9


def rate_unit(unit: str) -> str:
    """Unit of a rate: m becomes m/s, and rad/s becomes rad/s^2."""
    return f"{unit}^2" if unit.endswith("/s") else f"{unit}/s"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """A state of a system in the coordinates of a chart.

    Parameters
    ----------
    system, chart : whose state it is, and in which coordinates; speeds may be others than asked
        for, where those do not determine the motion.
    time : s.
    c, zeta, inputs, parameters : the numbers that (c, ζ, inputs, parameters) stand for.
    """

    system: System
    chart: Chart
    time: float
    c: Array
    zeta: Array
    inputs: Array
    parameters: Array

    @property
    def arguments(self) -> tuple[float | Array, ...]:
        """What the functions of the chart take, at ζ̇ = 0."""
        none = np.zeros(len(self.zeta))
        return self.time, self.c, self.zeta, none, self.inputs, self.parameters

    def values(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """r, ċ, g, v and η as vectors, and the mass matrix ∂r/∂ζ̇."""
        *vectors, mass = (np.array(e) for e in self.chart.values(*self.arguments))
        r, cdot, g, v, eta = (e.ravel() for e in vectors)
        return r, cdot, g, v, eta, mass

    def derivatives(
        self, zetadot: Array | None = None
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """Derivatives of r, ċ, g, v and η with respect to c, ζ and inputs, at a ζ̇; 0 if steady."""
        t, c, zeta, none, *others = self.arguments
        at = (t, c, zeta, none if zetadot is None else zetadot, *others)
        by_c, by_zeta, by_inputs = (np.array(e) for e in self.chart.derivatives(*at))
        split = self.chart.split
        return split(by_c), split(by_zeta), split(by_inputs)

    def rates(self) -> tuple[Array, Array]:
        """ζ̇ and ċ."""
        r, cdot, _, _, _, mass = self.values()
        return (np.asarray(np.linalg.solve(mass, -r)) if r.size else r), cdot


def point_at(system: System, start: Start, inputs: Array, params: Array) -> Point:
    """The state of a start, in independent speeds that determine the motion."""
    if system.costates:
        raise SimulationError(
            "vakonomic equations have costates, which no steady motion keeps",
            f"model '{system.model.name}'",
            "derive the equations by another method, such as NaturalComplement()",
        )
    here = _in_regular_speeds(system, start, inputs, params)
    chart = chart_at(here, start.time, start.q, params)
    if chart.depends_on_time:
        raise SimulationError(
            "the equations change with time, so that no motion is steady",
            f"model '{system.model.name}'",
            "leave out motions and forces that are expressions of t",
        )
    c = chart.from_coordinates(start.q)
    eta = here.kinematics.independent_rows(start.time, start.q, params) @ start.v
    none = np.zeros(len(eta))
    point = Point(
        system=here,
        chart=chart,
        time=start.time,
        c=c,
        zeta=none,
        inputs=inputs,
        parameters=params,
    )
    # η is affine in ζ
    slope = point.derivatives()[1][4]
    zeta = np.asarray(np.linalg.solve(slope, eta - point.values()[4])) if len(eta) else none
    return dataclasses.replace(point, zeta=zeta)


def _in_regular_speeds(system: System, start: Start, inputs: Array, params: Array) -> System:
    """The system in speeds that determine the motion there: its own, if they do."""
    kin = system.kinematics
    work = np.zeros(1 if system.does_work else 0)
    eta = kin.independent_rows(start.time, start.q, params) @ start.v
    rates = system.rates(start.time, np.concatenate([start.q, eta, work]), inputs, params)
    for health, value in zip(system.health, rates[system.num_states :], strict=True):
        if abs(value) > health.limit:
            continue
        if health.kind == "basis":
            probe = dataclasses.replace(kin.probe, params=params)
            chosen = independent_columns(probe, kin.kept, [(start.time, start.q)])
            names = tuple(kin.speeds[k].name for k in chosen)
            if names != tuple(s.name for s in kin.independent_speeds):
                return _in_regular_speeds(system.in_speeds(names), start, inputs, params)
        raise SimulationError(
            health.sentence,
            f"model '{system.model.name}' at the given state",
            "choose another configuration",
        )
    return system


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Places in c of the coordinates that matter, and in g of the rows that tie them."""

    coordinates: tuple[int, ...]
    rows: tuple[int, ...]


#: The last answer for each system, since a sweep asks the same again and again.
_last: WeakKeyDictionary[System, tuple[Chart, bytes, Relevance]] = WeakKeyDictionary()


def relevance(point: Point) -> Relevance:
    """What matters to the motion, decided at generic states."""
    system, chart, params = point.system, point.chart, point.parameters
    known = _last.get(system)
    if known is None or known[0] is not chart or known[1] != params.tobytes():
        known = (chart, params.tobytes(), _find_relevance(system, chart, params))
        _last[system] = known
    return known[2]


def _find_relevance(system: System, chart: Chart, params: Array) -> Relevance:
    r_c, cdot_c, g_c = _generic_derivatives(system, chart, params)
    matters = np.any(r_c, axis=0)
    while True:
        more = matters | np.any(cdot_c[matters], axis=0)
        tied = np.any(g_c & more[None, :], axis=1)
        more |= np.any(g_c[tied], axis=0)
        if np.array_equal(more, matters):
            break
        matters = more
    return Relevance(
        coordinates=tuple(int(k) for k in np.flatnonzero(matters)),
        rows=tuple(int(k) for k in np.flatnonzero(tied)),
    )


def _generic_derivatives(system: System, chart: Chart, params: Array) -> tuple[Array, Array, Array]:
    """Where r, ċ and g depend on c, as truth values, at generic states."""
    rng = np.random.default_rng(7)
    probe = dataclasses.replace(system.kinematics.probe, params=params)
    found: list[Array] = []
    for t, q in probe.configurations(3):
        zeta, zetadot = rng.normal(size=(2, len(chart.speeds)))
        inputs = rng.normal(size=len(system.inputs))
        arguments = (t, chart.from_coordinates(q), zeta, zetadot, inputs, params)
        by_c, by_zeta, _ = (np.array(e) for e in chart.derivatives(*arguments))
        if not np.all(np.isfinite(by_c)):
            continue
        size = np.max(np.abs(np.hstack([by_c, by_zeta])), axis=1, initial=0.0, keepdims=True)
        found.append(np.abs(by_c) > _NONE * np.maximum(size, 1e-300))
    r_c, cdot_c, g_c, _, _ = chart.split(np.any(found, axis=0))
    return r_c, cdot_c, g_c
