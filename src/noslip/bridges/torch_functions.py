"""The right-hand side and runs as functions of PyTorch, with our derivatives for its backward pass.

As `jax_functions.py`: native code gives values and exact derivatives, on the CPU and in double
precision; tensors of other types and devices are converted, and results are like the state given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noslip import System
from noslip.base import require
from noslip.bridges.differentiable import RatesFunction, RunFunction, check_request
from noslip.engines import require_system


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
    mode : of the backward pass: ``"adjoint"``, or ``"forward"`` sensitivities for few unknowns.
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
