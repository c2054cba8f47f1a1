"""A system as a CasADi function with named inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca

from noslip.algebra import stack
from noslip.base import CompileError, nearest
from noslip.engines import outputs as expressions

if TYPE_CHECKING:
    from noslip.engines.system import System


def _measures(system: System) -> ca.SX:
    values = [h.value for h in system.singularity_measures]
    return stack(values) if values else ca.SX(0, 1)


#: Output → its expression.
OUTPUTS: dict[str, Callable[[System], ca.SX]] = {
    "rates": lambda system: system.equations.state_rates,
    "speeds": lambda system: system.kinematics.v,
    "accelerations": lambda system: system.equations.speed_rates,
    "measures": _measures,
    "energies": lambda system: expressions.energies(system.equations),
    "residuals": lambda system: expressions.residuals(system.kinematics),
    "multipliers": lambda system: system.equations.multipliers,
    "poses": lambda system: expressions.poses(system.kinematics),
}


#: Outputs that are right where the independent speeds do not determine the motion too.
_EVERYWHERE = {"measures", "poses"}


def _where_known(system: System) -> ca.SX:
    """1 where the independent speeds determine the motion, else nan, which derivatives keep too."""
    is_known = ca.SX(1)
    for measure in system.singularity_measures:
        is_known = ca.logic_and(is_known, ca.fabs(measure.value) > measure.limit)
    return ca.if_else(is_known, 1.0, float("nan"))


def casadi_function(
    system: System,
    outputs: Sequence[str],
    *,
    name: str,
    parameters: Mapping[str, float] | None,
    work: bool,
) -> ca.Function:
    """The function that `System.casadi_function` gives; its arguments are described there."""
    where = f"CasADi function of model '{system.model.name}'"
    wanted = [outputs] if isinstance(outputs, str) else list(outputs)
    for word in wanted:
        if word not in OUTPUTS:
            raise CompileError(f"there is no output '{word}'", where, nearest(word, OUTPUTS))
    if not wanted or len(set(wanted)) < len(wanted):
        raise CompileError(
            f"the outputs are {', '.join(wanted) or 'none'}", where, "name each output once"
        )
    if not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9]+)*", name, re.ASCII):
        raise CompileError(
            f"'{name}' is not a valid name of a CasADi function",
            where,
            "start with a letter, then letters, digits and single underscores",
        )
    symbols = system.kinematics.symbols
    given = {"t": symbols.t, "x": system.equations.state, "u": system.equations.inputs}
    known = _where_known(system)
    found = {
        word: system.fold(OUTPUTS[word](system) * (1 if word in _EVERYWHERE else known))
        for word in wanted
    }
    if work and system.does_work:
        given["x"] = system.state
        if "rates" in found:
            rates = system.rates_expression[: system.num_states, :] * known
            found["rates"] = system.fold(rates)
    given["p"] = symbols.params
    if parameters is not None:
        values = ca.DM(system.parameters(parameters))
        found = {k: ca.substitute([e], [symbols.params], [values])[0] for k, e in found.items()}
        del given["p"]
    results = [ca.densify(expression) for expression in found.values()]
    return ca.Function(name, list(given.values()), results, list(given), list(found))
