"""Matrices of many variants, stacked: compiled in lanes or for a GPU, taken apart, and solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.local_coordinates import LocalCoordinates
from noslip.base import Array
from noslip.engines import AbstractDevice, RowFunction, System, compile_rows, trace_program


@dataclass(frozen=True, slots=True, eq=False)
class StackedFunction:
    """Matrices of (t, [c; ζ], inputs, parameters), each (n, …)."""

    shapes: tuple[tuple[int, int], ...]
    function: RowFunction

    def __call__(self, t: float, x: Array, inputs: Array, parameters: Array) -> list[Array]:
        """The matrices of n variants, in the order in which they were given."""
        found = self.function.map(np.full(len(x), t), x, inputs, parameters)
        ends = np.cumsum([m * k for m, k in self.shapes])[:-1]
        parts = np.split(found, ends, axis=1)
        return [
            part.reshape(len(x), *shape) for part, shape in zip(parts, self.shapes, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LocalExpressions:
    """Expressions of a chart, traced at ζ̇ = 0: r, ċ, g, v, η, the mass matrix and derivatives."""

    system: System
    arguments: tuple[ca.SX, ca.SX, ca.SX, ca.SX]
    values: tuple[ca.SX, ...]
    mass: ca.SX
    by_c: tuple[ca.SX, ...]
    by_zeta: tuple[ca.SX, ...]
    by_inputs: tuple[ca.SX, ...]

    def compile(
        self, name: str, parts: Sequence[ca.SX], device: AbstractDevice | None = None
    ) -> StackedFunction:
        """Some of them in lanes, or on a device."""
        dense = [ca.densify(ca.SX(part)) for part in parts]
        # a row after the other, as NumPy has them
        column = ca.vertcat(*[ca.vec(part.T) for part in dense])
        program = trace_program(name, self.arguments, ca.densify(self.system.fold(column)))
        shapes = tuple((int(part.shape[0]), int(part.shape[1])) for part in dense)
        return StackedFunction(shapes, compile_rows(program, device))


def local_expressions(system: System, chart: LocalCoordinates) -> LocalExpressions:
    """The functions of a chart in symbols."""
    s, inputs = system.kinematics.symbols, system.equations.inputs
    c, zeta = ca.SX.sym("c", len(chart.coordinates)), ca.SX.sym("zeta", len(chart.speeds))
    arguments = (s.t, c, zeta, ca.SX.zeros(len(chart.speeds)), inputs, s.params)
    *values, mass = chart.values(*arguments)
    ends = np.cumsum(chart.sizes)
    places = [list(range(end - size, end)) for end, size in zip(ends, chart.sizes, strict=True)]
    by_c, by_zeta, by_inputs = (
        tuple(whole[rows, :] for rows in places) for whole in chart.derivatives(*arguments)
    )
    return LocalExpressions(
        system=system,
        arguments=(s.t, ca.vertcat(c, zeta), inputs, s.params),
        values=tuple(values),
        mass=mass,
        by_c=by_c,
        by_zeta=by_zeta,
        by_inputs=by_inputs,
    )


def solve_stacked(matrix: Array, right: Array) -> Array:
    """Stacked solutions; nan where a matrix is singular."""
    if not matrix.shape[-1]:
        return np.zeros((*matrix.shape[:-1], right.shape[-1]))
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        is_singular = ~(np.abs(np.linalg.det(matrix)) > 0.0)
        safe = np.where(is_singular[:, None, None], np.eye(matrix.shape[-1]), matrix)
        return np.where(is_singular[:, None, None], np.nan, np.linalg.solve(safe, right))


def least_stacked(matrix: Array, right: Array, rcond: float) -> Array:
    """Stacked least-norm least-squares solutions; nan where a matrix is not finite."""
    is_finite = np.all(np.isfinite(matrix), axis=(1, 2))
    safe = np.where(is_finite[:, None, None], matrix, 0.0)
    found = np.einsum("nij,nj->ni", np.linalg.pinv(safe, rcond=rcond), right)
    return np.where(is_finite[:, None], found, np.nan)
