"""Systems and runs as differentiable functions of JAX and PyTorch.

**Values and exact derivatives of a system and of its runs, on NumPy arrays, for JAX and PyTorch.**

What automatic differentiation needs of a function that it cannot look into: its value, its
Jacobian, and for a run with many unknowns the product of weights with its Jacobian, by the adjoint.

**The right-hand side and runs as functions of JAX, with our derivatives for its rules.**

JAX calls back to native code; it cannot look into it, so derivatives are ours: the exact Jacobian
of the right-hand side, forward sensitivities of a run (which serve `jvp`, `jacfwd`, `grad` and
`jacrev`), or its adjoint (`grad` and `jacrev` alone, at a cost that does not grow with the
unknowns). `jit` and `vmap` work. JAX must be in double precision.

**The right-hand side and runs as functions of PyTorch, with our derivatives for its backward
pass.**

As for JAX, native code gives values and exact derivatives, on the CPU and in double
precision; tensors of other types and devices are converted, and results are like the state given.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from noslip import Measurements, SimulationError, System, gradient, simulate, simulate_sensitivities
from noslip.base import Array, nearest, real_array, require
from noslip.engines import compile_expression, require_system
from noslip.simulation import check_own_speeds, read_run

#: Ways to differentiate a run.
MODES = ("forward", "adjoint")
#: Options of a run that fix the times of its samples.
TIMING = ("start_time", "duration", "samples")


def check_request(mode: str, options: Mapping[str, Any], where: str) -> None:
    """Refuse ways to differentiate a run that are not there, and a run without a duration."""
    if mode not in MODES:
        raise SimulationError(f"the mode is {mode!r:.40}", where, nearest(str(mode), MODES))
    if "duration" not in options:
        raise SimulationError("the duration is missing", where, "give duration=…, s")


def read_numbers(value: Any, what: str, where: str) -> Array:
    """An argument of a function as numbers."""
    try:
        return real_array(value)
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
        leading = [a.shape[:-1] for a in arrays]
        try:
            shape = np.broadcast_shapes(*leading)
        except ValueError:
            raise SimulationError(
                f"t, x, u and p have rows {leading}, which do not fit each other",
                where,
                "give as many of each, or one for all",
            ) from None
        count = math.prod(shape)
        rows = [
            np.broadcast_to(a, (*shape, size)).reshape(count, size)
            for a, size in zip(arrays, self.sizes, strict=True)
        ]
        rows[0] = rows[0][:, 0]
        return shape, rows


class RunFunction:
    """Columns of a run at its samples as a function of named numbers, with derivatives.

    `with_respect_to`: names of parameters, inputs and start values, the entries of θ; `columns`:
    names of coordinates and speeds, the entries of the result; `options`: options of
    :func:`noslip.simulate`.
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
            if isinstance(given, str) or not len(given):
                raise SimulationError(f"{word} is empty or a string", where, "give a list of names")
        known = [q.name for q in (*system.coordinates, *system.speeds)]
        for name in self.columns:
            if name not in known:
                raise SimulationError(f"there is no column '{name}'", where, nearest(name, known))
        known = list(inspect.signature(simulate_sensitivities).parameters)[1:]
        for name in self.options:
            if name not in known:
                what = f"there is no option '{name}' of a differentiable run"
                raise SimulationError(what, where, nearest(name, known))
        timing = {n: self.options[n] for n in TIMING if n in self.options}
        self.times = read_run("a differentiable run", system, timing).times
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


def to_jax(system: System) -> Callable[..., Any]:
    """The right-hand side as a function (t, x, u, p) → rates of JAX, which can be differentiated.

    x = [q; η; μ; z] without the work, u as `system.inputs`; p, `system.parameters()`, may be left
    out for the nominal values. Its second derivatives are not there, and it refuses states at which
    η does not determine the motion.

    Parameters
    ----------
    system : compiled system.

    Raises
    ------
    SimulationError : JAX is in single precision.
    """
    require_system("to_jax", system)
    jax = _jax(f"JAX function of model '{system.model.name}'")
    function = RatesFunction(system)

    where = f"rates of model '{system.model.name}'"
    shapes = ((), *((size,) for size in function.sizes[1:]))

    @jax.custom_jvp
    def evaluate(t: Any, x: Any, u: Any, p: Any) -> Any:
        return _called(jax, function.values, (function.size,), (t, x, u, p), "broadcast_all")

    @evaluate.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        shape = (function.size, sum(function.sizes))
        J = _called(jax, function.jacobian, shape, primals, "broadcast_all")
        dt, *others = tangents
        return evaluate(*primals), J @ jax.numpy.concatenate([dt[None], *others])

    def rates(t: Any, x: Any, u: Any = None, p: Any = None) -> Any:
        """Rates of the state."""
        _check_precision(jax, system)
        forces, known = function.completed(u, p)
        given = (t, x, forces, known)
        if not any(isinstance(a, jax.core.Tracer) for a in given):
            # what is wrong is said by the error itself, and not within one of JAX
            return jax.numpy.asarray(function.values(*given))
        named = zip("txup", given, shapes, strict=True)
        return evaluate(*(_traced(jax, a, name, shape, where) for name, a, shape in named))

    return rates


def _called(
    jax: Any, host: Callable[..., Any], shape: tuple[int, ...], given: Any, how: str
) -> Any:
    """The result of native code: called back by JAX where it traces, and called where it does not.

    What is wrong is then said by the error itself, and not within one of JAX.
    """
    if not any(isinstance(a, jax.core.Tracer) for a in given):
        return jax.numpy.asarray(host(*given))
    found = jax.ShapeDtypeStruct(shape, np.float64)
    return jax.pure_callback(host, found, *given, vmap_method=how)


def _traced(jax: Any, value: Any, name: str, shape: tuple[int, ...], where: str) -> Any:
    """An argument in double precision; what shapes and types show is refused while JAX traces."""
    if not isinstance(value, jax.core.Tracer):
        value = read_numbers(value, name, where)
    elif value.dtype.kind not in "fiu":
        what = f"{name} has numbers of type {value.dtype}"
        raise SimulationError(what, where, "give an array of numbers")
    if value.shape != shape:
        raise SimulationError(
            f"{name} has shape {value.shape}, expected {shape}",
            where,
            "give one point, in order; jax.vmap takes rows of them",
        )
    return jax.numpy.asarray(value, dtype=np.float64)


def simulate_jax(
    system: System,
    *,
    with_respect_to: Sequence[str],
    columns: Sequence[str],
    mode: str = "forward",
    **options: Any,
) -> Callable[[Any], Any]:
    """Runs as a function θ → (samples, columns) of JAX, which can be differentiated.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, inputs that are numbers, and start values: the entries of
        θ.
    columns : names of coordinates and speeds.
    mode : ``"forward"``, by sensitivities, or ``"adjoint"``, for many unknowns and `grad` alone.
    options : duration, start, inputs, parameters, samples, rtol, atol and others of
        :func:`noslip.simulate`.

    Raises
    ------
    SimulationError : JAX is in single precision, or a name is not known.
    """
    require_system("simulate_jax", system)
    where = f"JAX function of model '{system.model.name}'"
    jax = _jax(where)
    check_request(mode, options, where)
    function = RunFunction(system, with_respect_to, columns, options)
    size = len(function.names)

    def values(theta: Any) -> Any:
        return _called(jax, function.values, function.shape, (theta,), "sequential")

    if mode == "forward":
        evaluate = jax.custom_jvp(values)

        @evaluate.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            J = _called(jax, function.jacobian, (*function.shape, size), primals, "sequential")
            return evaluate(*primals), J @ tangents[0]

    else:
        evaluate = jax.custom_vjp(values)

        def backward(theta: Any, weights: Any) -> Any:
            return (_called(jax, function.weighted, (size,), (theta, weights), "sequential"),)

        evaluate.defvjp(lambda theta: (values(theta), theta), backward)

    def run(theta: Any) -> Any:
        """Columns at the samples."""
        _check_precision(jax, system)
        if not isinstance(theta, jax.core.Tracer):
            return jax.numpy.asarray(function.values(theta))
        return evaluate(_traced(jax, theta, "θ", (size,), where))

    return run


def _jax(where: str) -> Any:
    require("jax", "a function of JAX", where)
    import jax

    return jax


def _check_precision(jax: Any, system: System) -> None:
    if not jax.config.jax_enable_x64:
        raise SimulationError(
            "JAX is in single precision, which is not accurate enough to differentiate a run",
            f"JAX function of model '{system.model.name}'",
            'jax.config.update("jax_enable_x64", True) at the start of your program',
        )


def to_torch(system: System) -> Callable[..., Any]:
    """The right-hand side as a function (t, x, u, p) → rates of PyTorch, with a backward pass.

    Leading dimensions of t (…,), x (…, nx), u (…, nu) and p (…, np) are a batch. u and p may be
    left out, for zeros and the nominal values. States at which the independent speeds do not
    determine the motion are refused.

    Parameters
    ----------
    system : compiled system.
    """
    require_system("to_torch", system)
    torch = _torch(f"PyTorch function of model '{system.model.name}'")
    function = RatesFunction(system)

    class Rates(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(context: Any, *given: Any) -> Any:
            context.save_for_backward(*given)
            return torch.from_numpy(function.values(*map(_array, given))).to(given[1])

        @staticmethod
        def backward(context: Any, weights: Any) -> Any:
            given = context.saved_tensors
            J = function.jacobian(*map(_array, given))
            found = np.einsum("...i,...ij->...j", _array(weights), J)
            dt, *others = np.split(found, np.cumsum(function.sizes)[:-1], axis=-1)
            parts = [dt[..., 0], *others]
            return tuple(
                torch.from_numpy(np.ascontiguousarray(_summed(part, tuple(g.shape)))).to(g)
                for part, g in zip(parts, given, strict=True)
            )

    def rates(t: Any, x: Any, u: Any = None, p: Any = None) -> Any:
        """Rates of the state."""
        state = torch.as_tensor(x)
        forces, known = function.completed(u, p)
        given = (torch.as_tensor(a, device=state.device) for a in (t, state, forces, known))
        return Rates.apply(*given)

    return rates


def simulate_torch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    columns: Sequence[str],
    mode: str = "adjoint",
    **options: Any,
) -> Callable[[Any], Any]:
    """Runs as a function θ → (samples, columns) of PyTorch, with a backward pass.

    Parameters
    ----------
    system : compiled system.
    with_respect_to : names of parameters, inputs that are numbers, and start values: the entries of
        θ.
    columns : names of coordinates and speeds.
    mode : mode of the backward pass: ``"adjoint"``, or ``"forward"`` sensitivities for few
        unknowns.
    options : duration, start, inputs, parameters, samples, rtol, atol and others of
        :func:`noslip.simulate`.
    """
    require_system("simulate_torch", system)
    where = f"PyTorch function of model '{system.model.name}'"
    torch = _torch(where)
    check_request(mode, options, where)
    function = RunFunction(system, with_respect_to, columns, options)

    class Run(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(context: Any, theta: Any) -> Any:
            context.save_for_backward(theta)
            return torch.from_numpy(function.values(_array(theta))).to(theta)

        @staticmethod
        def backward(context: Any, weights: Any) -> Any:
            (theta,) = context.saved_tensors
            if mode == "adjoint":
                found = function.weighted(_array(theta), _array(weights))
            else:
                found = np.einsum("sc,sck->k", _array(weights), function.jacobian(_array(theta)))
            return torch.from_numpy(np.ascontiguousarray(found)).to(theta)

    def run(theta: Any) -> Any:
        """Columns at the samples."""
        return Run.apply(torch.as_tensor(theta))

    return run


def _array(tensor: Any) -> Any:
    return tensor.detach().cpu().double().numpy()


def _summed(values: Any, shape: tuple[int, ...]) -> Any:
    """Derivatives by an argument that was broadcast: summed over what it was repeated along."""
    while values.ndim > len(shape):
        values = values.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1 and values.shape[axis] != 1:
            values = values.sum(axis=axis, keepdims=True)
    return values


def _torch(where: str) -> Any:
    require("torch", "a function of PyTorch", where)
    import torch

    return torch
