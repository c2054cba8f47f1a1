"""`derivatives`: of the right-hand side, or of outputs, by states, inputs and parameters; exact.

    ẋ = f(t, x, u, p):   ∂f/∂x,  ∂f/∂u,  ∂f/∂p         o(t, x, u, p):   ∂o/∂x,  ∂o/∂u,  ∂o/∂p

x = [q; η; μ; W] and u = [u; w; ẇ] as in `engines/system.py`. Everything is traced by CasADi's
automatic differentiation and compiled as one native function; only what can differ from zero is
computed. States at which η does not determine the motion are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.base import Array, SimulationError
from noslip.engines import NativeFunction, System, require_system
from noslip.model import Quantity
from noslip.simulation.request import check_named
from noslip.simulation.sensitivities.closed_loop import close_loop
from noslip.simulation.starts.bases import check_own_speeds


class DerivativeValues(NamedTuple):
    """Values (n,) and their derivatives (n, nx), (n, nu) and (n, np) at a state.

    With many states at once, (k, n) and (k, n, …).
    """

    values: Array
    by_state: Array
    by_inputs: Array
    by_parameters: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Derivatives:
    """Exact derivatives as native code. Made by :func:`derivatives`.

    Parameters
    ----------
    of : what is differentiated: rates of the states, or outputs; n of them.
    states, inputs, parameters : what it is differentiated by.
    function : native [values; derivatives that can differ from zero; singularity measures] of
        (t, x, u, p).
    """

    of: tuple[Quantity, ...]
    states: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    function: NativeFunction = field(repr=False)
    _places: tuple[Array, ...] = field(repr=False)  # of the nonzeros in each matrix, by rows
    _system: System = field(repr=False)

    def __call__(
        self, time: float, state: ArrayLike, inputs: ArrayLike, parameters: ArrayLike
    ) -> DerivativeValues:
        """Values and derivatives at a time, state, inputs and parameters.

        Raises
        ------
        SimulationError : for arrays of other shapes, and where the independent speeds are singular.
        """
        try:
            values = self.function(time, state, inputs, parameters)[None]
        except (TypeError, ValueError):
            raise self._refusal(False, time, state, inputs, parameters) from None
        self._check(values, [time], [state], parameters)
        return DerivativeValues(*(array[0] for array in self._scattered(values)))

    def map(
        self, time: ArrayLike, state: ArrayLike, inputs: ArrayLike, parameters: ArrayLike
    ) -> DerivativeValues:
        """Values and derivatives for k times (k,), states and inputs (k, …), a row for each.

        Parameters may be (np,), the same for all.

        Raises
        ------
        SimulationError : for arrays of other shapes, and where the independent speeds are singular
            at one of the states.
        """
        try:
            values = self.function.map(time, state, inputs, parameters)
        except (TypeError, ValueError):
            raise self._refusal(True, time, state, inputs, parameters) from None
        self._check(values, time, state, parameters)
        return self._scattered(values)

    def _check(self, values: Array, time: Any, state: Any, parameters: Any) -> None:
        """Refuse states that the independent speeds do not carry."""
        system = self._system
        measures = values[:, len(self.of) + sum(map(len, self._places)) :]
        t, x, params = (np.asarray(a, dtype=float) for a in (time, state, parameters))
        q = x[:, : len(system.coordinates)]
        times = np.broadcast_to(t, len(values))
        check_own_speeds(system, times, q, params, measures, self._where)

    @property
    def _where(self) -> str:
        names = "".join(f" of {quantity.name}, …" for quantity in self.of[:1])
        return f"derivatives{names} of model '{self._system.model.name}'"

    def _refusal(self, is_many: bool, *given: ArrayLike) -> SimulationError:
        """Error for values that the code did not accept."""
        words = ("time", "state", "inputs", "parameters")
        ordered = (None, self.states, self.inputs, self.parameters)
        shapes = [_shape(value) for value in given]
        rows = (shapes[0] or (0,))[:1] if is_many else ()
        found = ("the arrays have the wrong shapes", "give time, state, inputs and parameters")
        for word, quantities, shape in zip(words, ordered, shapes, strict=True):
            own = () if quantities is None else (len(quantities),)
            also = {"time": (1,), "parameters": own}
            if shape in (rows + own, also.get(word, rows + own)):
                continue
            named = ", ".join(q.name for q in quantities or ())
            fix = f"give numbers in this order: {named or 'none'}" if own else "give a time in s"
            found = (
                f"{word} has the shape {shape}, expected {rows + own}"
                if shape is not None
                else f"{word} does not contain numbers, or has rows of different lengths",
                f"{fix}; a row for each time" if is_many else fix,
            )
            break
        return SimulationError(found[0], self._where, found[1])

    def _scattered(self, values: Array) -> DerivativeValues:
        n, at = len(self.of), len(self.of)
        matrices = []
        columns = (self.states, self.inputs, self.parameters)
        for places, quantities in zip(self._places, columns, strict=True):
            matrix = np.zeros((len(values), n * len(quantities)))
            matrix[:, places] = values[:, at : at + len(places)]
            matrices.append(matrix.reshape(len(values), n, len(quantities)))
            at += len(places)
        return DerivativeValues(values[:, :n], *matrices)

    def __repr__(self) -> str:
        count = sum(len(places) for places in self._places)
        full = len(self.of) * (len(self.states) + len(self.inputs) + len(self.parameters))
        return (
            f"Derivatives of {', '.join(q.name for q in self.of)}: {count} of {full} entries can "
            "differ from zero\nnext: d = derivatives(time, state, inputs, parameters); d.by_state"
        )


def derivatives(system: System, outputs: Mapping[str, str] | None = None) -> Derivatives:
    """Exact derivatives of a system's equations by its states, inputs and parameters.

    Parameters
    ----------
    system : compiled system.
    outputs : name → expression of columns (coordinates, speeds, angles, energies, inputs,
        accelerations, reactions), parameters and t; without it the rates of the states are
        differentiated.
    """
    require_system("derivatives", system)
    check_named(outputs=outputs)
    asked = tuple((outputs or {}).items())
    return system.cached(("derivatives", asked), lambda: _make(system, dict(asked)))


def _make(system: System, outputs: Mapping[str, str]) -> Derivatives:
    states = _states(system)
    if outputs:
        loop = close_loop(system, None, {})
        of = tuple(Quantity(name=name, unit="1") for name in outputs)
        values = [loop.output(text, f"output '{name}'") for name, text in outputs.items()]
        expression = ca.vertcat(*values)
    else:
        of = tuple(Quantity(name=f"rate of {s.name}", unit=f"({s.unit})/s") for s in states)
        expression = system.rates_expression[: system.num_states, :]
    # what is folded into the code is a constant
    expression = system.fold(expression)
    nonzeros: list[Any] = [expression]
    places = []
    params = system.kinematics.symbols.params
    for symbols in (system.state, system.equations.inputs, params):
        matrix = ca.sparsify(ca.jacobian(expression, symbols))
        i, j = (np.array(k, dtype=int) for k in matrix.sparsity().get_triplet())
        places.append(i * matrix.shape[1] + j)
        nonzeros += matrix.nonzeros()
    nonzeros.append(system.rates_expression[system.num_states :, :])
    return Derivatives(
        of=of,
        states=states,
        inputs=system.inputs,
        parameters=tuple(
            Quantity(name=p.name, unit=p.unit, description=p.description)
            for p in system.model.parameters
        ),
        function=system.compile_expression("derivatives", ca.vertcat(*nonzeros)),
        _places=tuple(places),
        _system=system,
    )


def _states(system: System) -> tuple[Quantity, ...]:
    """Quantities of the state x."""
    work = (Quantity(name="work", unit="J"),) if system.does_work else ()
    return system.coordinates + system.independent_speeds + system.auxiliary_states + work


def _shape(given: ArrayLike) -> tuple[int, ...] | None:
    """Shape of numbers; None if they are none."""
    try:
        return np.asarray(given, dtype=float).shape
    except (TypeError, ValueError):
        return None
