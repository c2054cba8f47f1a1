"""Values and exact derivatives of a system and of its runs, on NumPy arrays, for JAX and PyTorch.

What automatic differentiation needs of a function that it cannot look into: its value, its
Jacobian, and for a run with many unknowns the product of weights with its Jacobian, by the adjoint.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from noslip import Measurements, SimulationError, System, gradient, simulate, simulate_sensitivities
from noslip.base import Array, is_truth, nearest
from noslip.engines import compile_expression
from noslip.simulation import check_own_speeds

#: Ways to differentiate a run.
MODES = ("forward", "adjoint")


def check_request(mode: str, options: Mapping[str, Any], where: str) -> None:
    """Refuse ways to differentiate a run that are not there, and a run without a duration."""
    if mode not in MODES:
        raise SimulationError(f"the mode is {mode!r:.40}", where, nearest(str(mode), MODES))
    if "duration" not in options:
        raise SimulationError("the duration is missing", where, "give duration=…, s")


def read_numbers(value: Any, what: str, where: str) -> Array:
    """An argument of a function as numbers."""
    try:
        if isinstance(value, str | bytes) or is_truth(value):
            raise TypeError("NumPy would read a text as a number, and True as 1")
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise SimulationError(
            f"{what} is {value!r:.60}, which is no array of numbers",
            where,
            "give an array of numbers",
        ) from None


class RatesFunction:
    """The right-hand side without the work, and its Jacobian by [t; x; u; p], at rows of points.

    Both bring the singularity measures with them: points that η does not carry are refused.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        symbols, eq = system.kinematics.symbols, system.equations
        given = (symbols.t, eq.state, eq.inputs, symbols.params)
        self.sizes = tuple(int(g.shape[0]) for g in given)
        rates = eq.state_rates
        self.size = int(rates.shape[0])
        slopes = ca.jacobian(rates, ca.vertcat(*given))
        measures = [h.value for h in system.singularity_measures]
        values = ca.vertcat(rates, *measures)
        self._values = compile_expression("rates", given, system.fold(ca.densify(values)))
        # by rows
        rows = ca.vertcat(ca.vec(ca.densify(slopes.T)), *measures)
        self._slopes = compile_expression("slopes", given, system.fold(rows))

    def completed(self, u: Any, p: Any) -> tuple[Any, Any]:
        """Inputs and parameters; zeros and the nominal values for those that are None."""
        forces = np.zeros(self.sizes[2]) if u is None else u
        return forces, self.system.parameters() if p is None else p

    def values(self, t: Any, x: Any, u: Any, p: Any) -> Array:
        """(…, nx) rates at (…,), (…, nx), (…, nu) and (…, np)."""
        shape, rows = self._rows(t, x, u, p)
        return self._checked(self._values.map(*rows), self.size, rows).reshape(*shape, self.size)

    def jacobian(self, t: Any, x: Any, u: Any, p: Any) -> Array:
        """(…, nx, 1 + nx + nu + np) derivatives."""
        shape, rows = self._rows(t, x, u, p)
        number = self.size * sum(self.sizes)
        found = self._checked(self._slopes.map(*rows), number, rows)
        return found.reshape(*shape, self.size, sum(self.sizes))

    def _checked(self, found: Array, number: int, rows: list[Array]) -> Array:
        """The first numbers of each row; points at which the measures behind them vanish refuse."""
        t, x, _, p = rows
        q = x[:, : len(self.system.coordinates)]
        where = f"rates of model '{self.system.model.name}'"
        check_own_speeds(self.system, t, q, p, found[:, number:], where)
        return found[:, :number]

    def _rows(self, *given: Any) -> tuple[tuple[int, ...], list[Array]]:
        """Leading dimensions that all share, and tables of rows."""
        where = f"rates of model '{self.system.model.name}'"
        arrays = [read_numbers(a, name, where) for a, name in zip(given, "txup", strict=True)]
        arrays[0] = arrays[0][..., None]
        for letter, array, size in zip("txup", arrays, self.sizes, strict=True):
            if array.shape[-1:] != (size,):
                raise SimulationError(
                    f"{letter} has shape {array.shape}, expected (…, {size})",
                    f"rates of model '{self.system.model.name}'",
                    "give x = [q; eta], u = system.inputs and p = system.parameters(), in order",
                )
        shape = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        count = math.prod(shape)
        rows = [
            np.broadcast_to(a, (*shape, size)).reshape(count, size)
            for a, size in zip(arrays, self.sizes, strict=True)
        ]
        rows[0] = rows[0][:, 0]
        return shape, rows


class RunFunction:
    """Columns of a run at its samples as a function of named numbers, with derivatives.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, inputs and start values, the entries of θ.
    columns : names of coordinates and speeds, the entries of the result.
    options : of :func:`noslip.simulate`.
    """

    def __init__(
        self,
        system: System,
        with_respect_to: Sequence[str],
        columns: Sequence[str],
        options: Mapping[str, Any],
    ) -> None:
        self.system, self.columns = system, tuple(columns)
        self.names, self.options = tuple(with_respect_to), dict(options)
        where = f"run of model '{system.model.name}'"
        for word, given in (("columns", columns), ("with_respect_to", with_respect_to)):
            if not given or isinstance(given, str):
                raise SimulationError(f"{word} is empty or a string", where, "give a list of names")
        known = [q.name for q in (*system.coordinates, *system.speeds)]
        for name in self.columns:
            if name not in known:
                raise SimulationError(f"there is no column '{name}'", where, nearest(name, known))
        inspect.signature(simulate_sensitivities).bind_partial(**self.options)
        samples = self.options.get("samples", 201)
        end = read_numbers(self.options["duration"], "the duration", where)
        if end.ndim or (isinstance(samples, int) and samples < 2):
            raise SimulationError(
                f"{samples!r:.40} samples of {end} s are asked for",
                where,
                "give a duration in s, and at least 2 samples",
            )
        self.times = (
            np.linspace(0.0, float(end), samples)
            if isinstance(samples, int) and not is_truth(samples)
            else read_numbers(samples, "samples", where)
        )
        self._parameters = {p.name for p in system.model.parameters}
        self._inputs = {i.name for i in system.inputs}

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and columns."""
        return len(self.times), len(self.columns)

    def values(self, theta: Any) -> Array:
        """(ns, nc) columns."""
        run = simulate(self.system, **self._given(theta))
        return np.column_stack([run[name] for name in self.columns])

    def jacobian(self, theta: Any) -> Array:
        """(ns, nc, k) derivatives by forward sensitivities."""
        found = simulate_sensitivities(
            self.system, with_respect_to=self.names, **self._given(theta)
        )
        return np.stack([found[name] for name in self.columns], axis=1)

    def weighted(self, theta: Any, weights: Any) -> Array:
        """(k,) derivatives of the sum of columns times (ns, nc) weights, by the adjoint."""
        given = self._given(theta)
        del given["samples"]
        table = np.asarray(weights, dtype=float)
        named = {f"weight_{k}": table[:, k] for k in range(len(self.columns))}
        terms = [f"weight_{k}*{name}" for k, name in enumerate(self.columns)]
        summed = Measurements(times=self.times, values=named, misfit="+".join(terms))
        found = gradient(
            self.system, with_respect_to=self.names, measurements=summed, **given
        )  # fmt: skip
        return found.vector

    def _given(self, theta: Any) -> dict[str, Any]:
        """Options of a run with the numbers of θ in their places."""
        where = f"run of model '{self.system.model.name}'"
        numbers = read_numbers(theta, "θ", where).reshape(-1)
        if len(numbers) != len(self.names):
            raise SimulationError(
                f"{len(numbers)} numbers are given for {len(self.names)} names",
                f"run of model '{self.system.model.name}'",
                f"give one for each of {', '.join(self.names)}",
            )
        options = {**self.options, "samples": self.times}
        places = {key: dict(options.get(key) or {}) for key in ("parameters", "inputs", "start")}
        for name, number in zip(self.names, numbers.tolist(), strict=True):
            is_parameter, is_input = name in self._parameters, name in self._inputs
            key = "parameters" if is_parameter else "inputs" if is_input else "start"
            places[key][name] = number
        return options | places
