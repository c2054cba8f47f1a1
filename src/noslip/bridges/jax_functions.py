"""The right-hand side and runs as functions of JAX, with our derivatives for its rules.

JAX calls back to native code; it cannot look into it, so derivatives are ours: the exact Jacobian
of the right-hand side, forward sensitivities of a run (which serve `jvp`, `jacfwd`, `grad` and
`jacrev`), or its adjoint (`grad` and `jacrev` alone, at a cost that does not grow with the
unknowns). `jit` and `vmap` work. JAX must be in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noslip import SimulationError, System
from noslip.base import require
from noslip.bridges.differentiable import RatesFunction, RunFunction, check_request
from noslip.engines import require_system


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

    @jax.custom_jvp
    def evaluate(t: Any, x: Any, u: Any, p: Any) -> Any:
        shape = jax.ShapeDtypeStruct((function.size,), np.float64)
        return jax.pure_callback(function.values, shape, t, x, u, p, vmap_method="broadcast_all")

    @evaluate.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        size = (function.size, sum(function.sizes))
        shape = jax.ShapeDtypeStruct(size, np.float64)
        J = jax.pure_callback(function.jacobian, shape, *primals, vmap_method="broadcast_all")
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
        return evaluate(*(jax.numpy.asarray(a, dtype=np.float64) for a in given))

    return rates


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

    def called(host: Callable[..., Any], shape: tuple[int, ...], *given: Any) -> Any:
        found = jax.ShapeDtypeStruct(shape, np.float64)
        return jax.pure_callback(host, found, *given, vmap_method="sequential")

    def values(theta: Any) -> Any:
        return called(function.values, function.shape, theta)

    if mode == "forward":
        evaluate = jax.custom_jvp(values)

        @evaluate.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            J = called(function.jacobian, (*function.shape, size), *primals)
            return evaluate(*primals), J @ tangents[0]

    else:
        evaluate = jax.custom_vjp(values)

        def backward(theta: Any, weights: Any) -> Any:
            return (called(function.weighted, (size,), theta, weights),)

        evaluate.defvjp(lambda theta: (values(theta), theta), backward)

    def run(theta: Any) -> Any:
        """Columns at the samples."""
        _check_precision(jax, system)
        if not isinstance(theta, jax.core.Tracer):
            return jax.numpy.asarray(function.values(theta))
        return evaluate(jax.numpy.asarray(theta, dtype=np.float64))

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
