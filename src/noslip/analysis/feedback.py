"""Inputs that depend on the state, for small motions: values and slopes of expressions and laws.

With inputs u = f(q, η, z) and states of the law ż = h(q, η, z), in the local coordinates c and
speeds ζ of a system, where δq = (∂q/∂c) δc and δη = η_c δc + η_ζ δζ + η_u δu,

    (1)  (1 − f_η η_u) δu = (f_q q_c + f_η η_c) δc + f_η η_ζ δζ + f_z δz + δd

with d what acts besides the law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.instant import input_vector
from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.model import Quantity
from noslip.simulation import AbstractInputLaw, InputGenerator, inputs_expression

#: What the inputs of a linearization may be.
StateInputs = Mapping[str, float | str | ca.Function] | AbstractInputLaw


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feedback:
    """Inputs of a system as functions of its state. Made by :func:`feedback`.

    Parameters
    ----------
    values : (t, q, η, z) → inputs and ż.
    slopes : (t, q, η, z) → ∂(inputs, ż)/∂q, ∂(inputs, ż)/∂η and ∂(inputs, ż)/∂z.
    start : (nz,) z.
    states : names of z.
    """

    values: ca.Function
    slopes: ca.Function
    start: Array
    states: tuple[Quantity, ...]

    def inputs_at(self, t: float, q: Array, eta: Array) -> Array:
        """[u; w; ẇ] at a state."""
        return np.array(self.values(t, q, eta, self.start)[0]).ravel()

    def rates_at(self, t: float, q: Array, eta: Array) -> Array:
        """ż at a state."""
        return np.array(self.values(t, q, eta, self.start)[1]).ravel()


def depends_on_state(inputs: StateInputs | None) -> bool:
    """Whether some inputs are given as more than numbers."""
    if isinstance(inputs, AbstractInputLaw):
        return True
    return any(isinstance(spec, str | ca.Function) for spec in (inputs or {}).values())


def feedback(system: System, inputs: StateInputs, params: Array) -> Feedback:
    """Trace given inputs in the symbols of a system.

    Raises
    ------
    SimulationError : for inputs that change with time, laws that are sampled, and unknown names.
    """
    generator: InputGenerator | None = None
    base = np.zeros(len(system.inputs))
    names = [q.name for q in system.inputs]
    if isinstance(inputs, AbstractInputLaw):
        generator = inputs.generator(system)
        if generator.update is not None:
            raise _refusal(
                system,
                f"the law acts every {generator.period:g} s, so that no linear equations hold "
                "in between",
                "give a continuous law, period=0",
            )
        expression, given = inputs_expression(system, generator), set(generator.inputs)
    else:
        texts = {n: s for n, s in inputs.items() if isinstance(s, str | ca.Function)}
        numbers = {n: s for n, s in inputs.items() if n not in texts}
        base = input_vector(system, numbers)  # type: ignore[arg-type]
        # a rate that is given as well stays as it is given
        expression, given = inputs_expression(system, texts, kept=numbers), set(texts)
    symbols = system.kinematics.symbols
    z = generator.states if generator else ca.SX(0, 1)
    num_q, num_f = len(system.coordinates), len(system.independent_speeds)
    rest = system.state[num_q + num_f :]
    at = [
        (system.equations.inputs, ca.DM(base)),
        (symbols.params, ca.DM(params)),
        (rest, ca.DM.zeros(rest.shape)),
    ]
    if generator is not None:
        at.append((generator.parameters, ca.DM(generator.parameter_values)))
    if symbols.z.numel() and ca.depends_on(expression, symbols.z):
        raise _refusal(
            system,
            "inputs depend on states of forces",
            "write them in coordinates and speeds",
        )
    for symbol, value in at:
        if symbol.numel():
            expression = ca.substitute([expression], [symbol], [ca.SX(value)])[0]
    if ca.depends_on(expression, symbols.t):
        listed = ", ".join(f"'{name}'" for name in sorted(given))
        raise _refusal(
            system,
            f"inputs {listed} change with time, so that no motion is steady",
            "leave t out of them, or give a law that holds a set point",
        )
    q, eta = symbols.q, system.kinematics.eta
    arguments = [symbols.t, q, eta, z]
    count = len(names)
    slopes = [ca.jacobian(expression, x) for x in (q, eta, z)]
    return Feedback(
        values=ca.Function("inputs", arguments, [expression[:count], expression[count:]]),
        slopes=ca.Function("slopes", arguments, [ca.densify(x) for x in slopes]),
        start=np.zeros(0) if generator is None else np.asarray(generator.start, dtype=float),
        states=()
        if generator is None
        else tuple(
            Quantity(name=name, unit=unit)
            for name, unit in zip(generator.names, generator.units, strict=True)
        ),
    )


def _refusal(system: System, what: str, fix: str) -> SimulationError:
    return SimulationError(what, f"linearization of model '{system.model.name}'", fix)
