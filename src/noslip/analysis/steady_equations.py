"""Equations of families of steady motions: a varied value is one more unknown.

With (1) to (4) of `steady_motion.py` as F, and s a parameter, an input, a coordinate or a speed,

    F(y, s) = 0        ∂F/∂y, ∂F/∂s        A(y, s) of (4) of `linearization.py`

are one compiled function of n points. The unknowns are the coordinates that matter, the speeds ζ,
the inputs that are searched for, and s last. If s is a coordinate or a speed, the condition that it
has the value s is one of (4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.analysis.instant import (
    StackedFunction,
    check_time,
    input_vector,
    local_expressions,
    solve_stacked,
)
from noslip.analysis.linearization import (
    MAGNIFIED,
    Slopes,
    combined_motions,
    coordinate_map,
    independent_coordinates,
    steady_state_at,
)
from noslip.analysis.local_coordinates import LocalState
from noslip.analysis.modes import neutral_bound
from noslip.analysis.scenario import split_changes
from noslip.analysis.steady_motion import (
    Relevance,
    SteadyMotion,
    WantedValue,
    allowed_residuals,
    condition_slopes,
    find_wanted,
    reference_of,
    relevance,
    scale_of,
    steady,
)
from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.model import Quantity
from noslip.simulation import Start, units_by_name, with_regular_rows

#: What a varied value is.
PARAMETER, INPUT, VALUE = "parameter", "input", "value"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyTask:
    """Steady motions that are asked for, and the value that is varied. Made by :meth:`read`."""

    system: System  #: compiled system, rows independent at these parameters
    given: Mapping[str, float]  #: values that all of them have
    #: name, unit, kind, place: the varied value, and its place among parameters or inputs
    name: str
    unit: str
    kind: str
    place: int
    find: tuple[str, ...]  #: places of force inputs to be found
    #: inputs, parameters: (nu,) and (np,) the other values
    inputs: Array
    parameters: Array
    guess: Mapping[str, float] | Start | None  #: values or start to look near first
    time: float  #: s, at which moving constraints are taken

    #: Whether small motions are told by multipliers.
    is_map = False
    #: Size below which an eigenvalue counts as zero, 1/s.
    neutral = staticmethod(neutral_bound)

    @classmethod
    def read(
        cls,
        system: System,
        name: str,
        *,
        given: Mapping[str, float],
        guess: Mapping[str, float] | Start | None,
        find: Sequence[str],
        inputs: Mapping[str, float],
        parameters: Mapping[str, float],
        time: float,
    ) -> SteadyTask:
        """What is asked for, checked as far as `steady` does not."""
        check_time(system, time, guess)
        split = split_changes(system, {name: 0.0})
        where = f"branch of model '{system.model.name}'"
        for known in (given, inputs, parameters):
            if name in known:
                raise SimulationError(
                    f"'{name}' is both varied and given a value", where, "leave out the value"
                )
        if isinstance(find, str):
            raise SimulationError(f"find is the text '{find}'", where, f"write find=['{find}']")
        if name in find:
            raise SimulationError(
                f"'{name}' is both varied and to be found", where, "leave out one of them"
            )
        values = system.parameters(parameters)
        here = with_regular_rows(system, values, parameters)
        kind, place, unit = VALUE, -1, units_by_name(system).get(name, "")
        if split.parameters:
            names = [p.name for p in system.model.parameters]
            kind, place = PARAMETER, names.index(name)
            unit = system.model.parameters[place].unit
            _check_varied(here, name)
        elif split.inputs:
            names = [q.name for q in system.inputs]
            kind, place = INPUT, names.index(name)
            unit = system.inputs[place].unit
        return cls(
            system=here,
            given=dict(given),
            name=name,
            unit=unit,
            kind=kind,
            place=place,
            find=tuple(find),
            inputs=input_vector(system, inputs),
            parameters=values,
            guess=guess,
            time=time,
        )

    def motion(
        self, value: float, guess: Mapping[str, float] | Start | None = None
    ) -> SteadyMotion:
        """The motion at a value of what is varied, by :func:`steady`."""
        u, params = self.numbers(value)
        names = [q.name for q in self.system.inputs]
        known = {n: float(x) for n, x in zip(names, u, strict=True) if x and n not in self.find}
        return steady(
            self.system,
            {**self.given, **({self.name: value} if self.kind == VALUE else {})},
            guess=self.guess if guess is None else guess,
            find=self.find,
            inputs=known,
            parameters={
                p.name: float(x) for p, x in zip(self.system.model.parameters, params, strict=True)
            },
            time=self.time,
        )

    def numbers(self, value: float) -> tuple[Array, Array]:
        """Inputs and parameters at a value of what is varied."""
        u, params = self.inputs.copy(), self.parameters.copy()
        if self.kind == INPUT:
            u[self.place] = value
        elif self.kind == PARAMETER:
            params[self.place] = value
        return u, params

    def equations_at(self, motion: SteadyMotion, value: float) -> tuple[SteadyEquations, Array]:
        """The equations in a chart that is regular at a steady motion, and its unknowns."""
        u, params = self.numbers(value)
        for k in self.searched:
            u[k] = motion.inputs.get(self.system.inputs[k].name, 0.0)
        equations = SteadyEquations(self, steady_state_at(self.system, motion.start, u, params))
        y = equations.first.copy()
        y[-1] = value
        return equations, y

    @property
    def searched(self) -> tuple[int, ...]:
        """Places of the inputs to be found."""
        names = [q.name for q in self.system.inputs]
        return tuple(names.index(name) for name in dict.fromkeys(self.find))


def _check_varied(system: System, name: str) -> None:
    if name in system.folded:
        raise SimulationError(
            f"parameter '{name}' is a constant in the compiled code",
            f"branch of model '{system.model.name}'",
            f"leave '{name}' out of fold=… when compiling",
        )


class SteadyPoint(NamedTuple):
    """F at a point, ∂F/∂(y, s), and what of F may be left."""

    F: Array
    J: Array
    allowed: Array


class SteadyEquations:
    """F(y, s) of a task in one chart."""

    def __init__(self, task: SteadyTask, point: LocalState) -> None:
        self.task, self.chart, self.system = task, point.chart, point.system
        self._relevant: Relevance = relevance(point.system, point.chart, point.parameters)
        self.matter = list(self._relevant.coordinates)
        self._c, self._time = point.c.copy(), point.time
        self._inputs, self._parameters = point.inputs, point.parameters
        wanted = dict(task.given) | ({task.name: np.nan} if task.kind == VALUE else {})
        self._wanted: tuple[WantedValue, ...] = find_wanted(self.system, self.chart, wanted)
        self._targets = np.array(list(wanted.values()))
        self._num_z = len(self.chart.speeds)
        used = self._used_columns()
        scale = scale_of(self.system, self.chart)
        ones = np.ones(len(task.searched) + 1)
        #: What counts as a step of 1 of each unknown.
        self.scale = np.append(scale, ones)[used]
        self._used = used
        key = ("family", self.chart, task.searched, task.kind, task.place)
        self._function: StackedFunction = self.system.cached(key, self._compile)
        y = np.concatenate([point.c, point.zeta, point.inputs[list(task.searched)], [0.0]])
        #: Unknowns at the given state, s apart.
        self.first = y[used]
        self._reference = reference_of(scale, y)[used]
        self._free: tuple[list[int], list[int]] | None = None

    @property
    def names(self) -> tuple[Quantity, ...]:
        """Coordinates that matter and speeds, as the unknowns have them."""
        return (*(self.chart.coordinates[k] for k in self.matter), *self.chart.speeds)

    #: Length of a Newton step, beside the unknowns, that is rounding.
    precision = 1e-12

    @property
    def num_places(self) -> int:
        """Unknowns that are coordinates."""
        return len(self.matter)

    def columns(self, Y: Array) -> list[tuple[Quantity, Array]]:
        """Values of points (n, k), by name; not what is varied."""
        searched = [self.system.inputs[k] for k in self.task.searched]
        return [
            (quantity, Y[:, k])
            for k, quantity in enumerate((*self.names, *searched))
            if quantity.name != self.task.name
        ]

    def _used_columns(self) -> list[int]:
        """Columns of (c, ζ, inputs searched for, s) that are unknowns."""
        num = len(self.chart.coordinates)
        more = self._num_z + len(self.task.searched) + 1
        return [*self.matter, *range(num, num + more)]

    def _compile(self) -> StackedFunction:
        """Values, derivatives by (c, ζ, inputs searched for, s), and the mass matrix."""
        task = self.task
        e = local_expressions(self.system, self.chart)
        searched = list(task.searched)
        parts = []
        for value, by_c, by_zeta, by_u in zip(
            e.values, e.by_c, e.by_zeta, e.by_inputs, strict=True
        ):
            by_s = ca.SX(value.shape[0], 1)
            if task.kind == PARAMETER:
                by_s = ca.jacobian(value, e.arguments[3][task.place])
            elif task.kind == INPUT:
                by_s = by_u[:, task.place]
            parts.append(ca.horzcat(by_c, by_zeta, by_u[:, searched], by_s))
        return e.compile("family", [*e.values, *parts, e.mass])

    def _evaluate(self, Y: Array) -> tuple[list[Array], list[Array], Array, Array]:
        """Values, derivatives and mass matrices at points (n, k), and c (n, nc)."""
        n, num_m, task = len(Y), len(self.matter), self.task
        c = np.tile(self._c, (n, 1))
        c[:, self.matter] = Y[:, :num_m]
        u, params = np.tile(self._inputs, (n, 1)), np.tile(self._parameters, (n, 1))
        u[:, list(task.searched)] = Y[:, num_m + self._num_z : -1]
        if task.kind == INPUT:
            u[:, task.place] = Y[:, -1]
        elif task.kind == PARAMETER:
            params[:, task.place] = Y[:, -1]
        x = np.concatenate([c, Y[:, num_m : num_m + self._num_z]], axis=1)
        *parts, mass = self._function(self._time, x, u, params)
        return [p[:, :, 0] for p in parts[:5]], parts[5:], mass, c

    def at(self, y: Array) -> SteadyPoint:
        """F and its derivatives at a point (k,)."""
        with np.errstate(all="ignore"):
            values, by_y, mass, c = self._evaluate(y[None])
            r, cdot, g, _, _ = values
            rows, rest = [by_y[1][:, self.matter], by_y[2]], [cdot[:, self.matter], g]
            for j, w in enumerate(self._wanted):
                found, slope = w.at(self.chart, c, values, by_y)
                target = self._targets[j]
                if np.isnan(target):
                    target, slope = y[-1], slope.copy()
                    slope[:, 0, -1] -= 1.0
                rows.append(slope)
                rest.append((found - target)[:, None])
            inverse = solve_stacked(mass, np.eye(self._num_z)[None])
            J, terms = condition_slopes(inverse, by_y[0], np.concatenate(rows, axis=1))
            F = np.concatenate([-(inverse @ r[:, :, None])[:, :, 0], *rest], axis=1)
            J, terms = J[:, :, self._used], terms[:, :, self._used]
            left = allowed_residuals(J, terms, self._num_z, y[None], self._reference[None])
        return SteadyPoint(F[0], J[0], left[0])

    def is_regular(self, y: Array) -> bool:
        """Whether the angles and the independent speeds of the chart are far from singular here."""
        with np.errstate(all="ignore"):
            values, by_y, _, _ = self._evaluate(y[None])
        num = len(self.chart.coordinates)
        slope = by_y[4][0][:, num : num + self._num_z]
        if not np.all(np.isfinite(slope)) or not np.all(np.isfinite(values[0])):
            return False
        sizes = np.linalg.svd(slope, compute_uv=False)
        return not sizes.size or bool(sizes[0] < MAGNIFIED * sizes[-1])

    def matrices(self, Y: Array) -> Array:
        """(n, nx, nx) A of small motions about each of n points."""
        with np.errstate(all="ignore"):
            values, by_y, mass, _ = self._evaluate(Y)
        num, rows = len(self.chart.coordinates), list(self._relevant.rows)
        speeds = slice(num, num + self._num_z)
        r, cdot = values[0][:, :, None], values[1][:, self.matter, None]
        none = np.zeros((len(Y), self._num_z, 0))
        slopes = Slopes(
            r=r,
            cdot=cdot,
            mass=mass,
            K=by_y[0][:, :, self.matter],
            cdot_c=by_y[1][:, self.matter][:, :, self.matter],
            G=by_y[2][:, rows][:, :, self.matter],
            D=by_y[0][:, :, speeds],
            cdot_z=by_y[1][:, self.matter][:, :, speeds],
            r_u=none,
            cdot_u=np.zeros((len(Y), len(self.matter), 0)),
        )
        if self._free is None:
            state = LocalState(
                system=self.system,
                chart=self.chart,
                time=self._time,
                c=self._c,
                zeta=np.zeros(self._num_z),
                inputs=self._inputs,
                parameters=self._parameters,
            )
            self._free = independent_coordinates(state, slopes.G[0], self.matter)
        free, tied = self._free
        return combined_motions(slopes, free, coordinate_map(slopes.G, free, tied)).A

    def eigenvalues(self, Y: Array) -> NDArray[np.complex128]:
        """(n, nx) of A, those that grow fastest first."""
        A = self.matrices(Y)
        values = np.full(A.shape[:2], np.nan, complex)
        is_finite = np.all(np.isfinite(A), axis=(1, 2))
        values[is_finite] = np.linalg.eigvals(A[is_finite]) if A.shape[1] else values[is_finite]
        order = np.lexsort((-values.imag, -values.real), axis=1)
        return np.take_along_axis(values, order, axis=1)

    def motions(self, Y: Array) -> list[SteadyMotion]:
        """Points (n, k) as steady motions, each one of a family with one parameter."""
        with np.errstate(all="ignore"):
            values, _, _, c = self._evaluate(Y)
        _, cdot, g, v, eta = values
        q, task = self.chart.to_many_coordinates(c), self.task
        num_m, searched = len(self.matter), list(task.searched)
        ignored = [k for k in range(c.shape[1]) if k not in self.matter]
        coordinates, inputs = self.chart.coordinates, self.system.inputs
        units = {q.name: q.unit for q in (*self.names, *inputs)}
        units |= {coordinates[k].name: f"{coordinates[k].unit}/s" for k in ignored}
        found = []
        for k, y in enumerate(Y):
            u, _ = task.numbers(float(y[-1]))
            u[searched] = y[num_m + self._num_z : -1]
            start = Start(
                time=self._time,
                q=q[k],
                v=v[k],
                eta=eta[k],
                mu=c[k, self.chart.num_placed :],
                position_residual=float(np.max(np.abs(g[k]), initial=0.0)),
                speed_residual=0.0,
                completed={},
            )
            used = [j for j in range(len(inputs)) if j in searched or u[j]]
            named = {q.name: float(x) for q, x in zip(self.names, y, strict=False)}
            rates = {coordinates[j].name: float(cdot[k, j]) for j in ignored}
            given = {inputs[j].name: float(u[j]) for j in used}
            found.append(
                SteadyMotion(
                    model=self.system.model.name,
                    start=start,
                    values=named,
                    rates=rates,
                    inputs=given,
                    units={name: units[name] for name in (*named, *rates, *given)},
                    residual=float(np.max(np.abs(self.at(y).F), initial=0.0)),
                    family=1,
                )
            )
        return found
