"""Derivatives of traced expressions in given directions, and against given weights.

(1)  G' = G_y Y + G_b B + G_p P       one column for each variable
(2)  Gᵀl by y, b and p                cost independent of the number of variables
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from noslip.engines import System
from noslip.simulation.sensitivities.closed_loop import ClosedLoop
from noslip.simulation.sensitivities.variables import INPUT, TABLE, Variable


class Seeds:
    """B and P of (1): what the variables change directly, with symbols for tables.

    Parameters
    ----------
    loop : closed loop.
    variables : one column for each of their values.

    Attributes
    ----------
    base, p : (nb, n), (np, n).
    symbols : base inputs over time per unit of a table's value, as :meth:`Variable.basis` has them.
    """

    def __init__(self, loop: ClosedLoop, variables: Sequence[Variable]) -> None:
        count = sum(len(v.values) for v in variables)
        self.base, self.p = ca.SX(loop.base.shape[0], count), ca.SX(loop.p.shape[0], count)
        symbols, column = [], 0
        for variable in variables:
            if variable.kind == TABLE:
                for _ in variable.values:
                    for k in driven_places(loop.system, variable):
                        symbols.append(ca.SX.sym("beta"))
                        self.base[k, column] = symbols[-1]
                    column += 1
                continue
            if variable.kind == INPUT:
                self.base[variable.place, column] = 1.0
            elif variable.place >= 0:
                self.p[variable.place, column] = 1.0
            column += 1
        self.symbols = ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


def driven_places(system: System, variable: Variable) -> list[int]:
    """Base inputs that a table drives: its own and, of a speed input, the rate."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    k = variable.place
    return [k, k + num_w] if k >= num_u else [k]


def forward(loop: ClosedLoop, expression: ca.SX, Y: ca.SX, seeds: Seeds) -> ca.SX:
    """(1) for a column of expressions."""
    fixed = ca.vertcat(loop.base, loop.p)
    both = ca.vertcat(seeds.base, seeds.p)
    whole = ca.jtimes(expression, loop.arguments, ca.vertcat(Y, both))
    if Y.shape[1] < 3:
        return ca.densify(whole)
    # with several columns it is mostly cheaper to form G_y once
    split = ca.mtimes(ca.jacobian(expression, loop.y), Y) + ca.jtimes(expression, fixed, both)
    return ca.densify(min((whole, split), key=_num_operations))


def _num_operations(expression: ca.SX) -> int:
    function = ca.Function("count", [], [expression], {"allow_free": True})
    return int(function.n_instructions())


def reverse(loop: ClosedLoop, expression: ca.SX, weights: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """(2) for a column of expressions."""
    product = ca.densify(ca.jtimes(expression, loop.arguments, weights, True))
    num_y, num_b = loop.y.shape[0], loop.base.shape[0]
    return product[:num_y, :], product[num_y : num_y + num_b, :], product[num_y + num_b :, :]
