"""Completion of starts as traced expressions, for code that cannot call Python, as a GPU's.

Coordinates and speeds by name are completed as `completion` does it, by its equations (1) and (2)
with full ranks: a step of Newton's method that leaves what is given, and the least independent
speeds that fit. What has other ranks somewhere (named angles of which some are free, rows that
repeat) is not carried; whoever uses this compares it with :func:`complete_starts` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from noslip.engines.program import Program, trace_program
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.simulation.starts.completion import CompletionPlan
from noslip.simulation.starts.layout import layout_of


class TracedStart(NamedTuple):
    """Programs of (t, x, u, p) that complete a start; x is a state whose coordinates count.

    Parameters
    ----------
    close : state after a step of Newton's method; None if nothing is free to close rows.
    speeds : independent speeds, with the values of the given speeds behind the parameters.
    given_speeds : names of these, in order.
    """

    close: Program | None
    speeds: Program
    given_speeds: tuple[str, ...]


def trace_start(system: System, names: Sequence[str]) -> TracedStart:
    """The completion of a start that gives some names.

    Raises
    ------
    SimulationError : for names that it does not carry.
    """
    layout = layout_of(system)
    speeds = (*layout.speeds, *layout.independent_speeds)
    for name in names:
        if name not in (*layout.coordinates, *speeds, *layout.auxiliary_states):
            raise SimulationError(
                f"a start by the named angle '{name}' is completed by the processor alone",
                f"start of model '{system.model.name}'",
                "give coordinates and speeds of joints instead, or run on the processor: "
                "device='cpu'",
            )
    given = tuple(name for name in names if name in speeds)
    plan = CompletionPlan.of(layout, tuple(names))
    return TracedStart(_close(system, plan), _speeds(system, plan, given), given)


def _program(system: System, name: str, expression: ca.SX, behind: ca.SX) -> Program:
    """Operations of (t, x, u, [p; …]), where speed inputs are zero."""
    symbols = system.kinematics.symbols
    expression = ca.substitute(expression, symbols.w, ca.SX.zeros(*symbols.w.shape))
    given = (symbols.t, system.state, system.equations.inputs, ca.vertcat(symbols.params, behind))
    return trace_program(name, given, ca.densify(system.fold(expression)))


def _close(system: System, plan: CompletionPlan) -> Program | None:
    """A step (1), over the scale of the speeds."""
    layout, kin, hold = layout_of(system), system.kinematics, plan.hold
    closing, free = layout.closing.tolist(), hold.free.tolist()
    if not closing or not free:
        return None
    q, parts = kin.symbols.q, [kin.A[closing, free]]
    if hold.kept.size:
        parts.append(kin.N[hold.kept.tolist(), free])
    scale = ca.SX(ca.DM(hold.scale))
    matrix = ca.vertcat(*parts) @ ca.diag(1 / scale)
    right = ca.vertcat(-kin.g[layout.closing_g.tolist()], ca.SX.zeros(hold.kept.size))
    step = matrix.T @ ca.solve(ca.densify(matrix @ matrix.T), right)
    moved = q + kin.N[:, free] @ (step / scale)
    for k in hold.quaternions:
        moved[k : k + 4] = moved[k : k + 4] / ca.norm_2(moved[k : k + 4])
    for k in hold.kept.tolist():
        moved[k] = q[k]
    rest = system.state[q.shape[0] :]
    return _program(system, "close", ca.vertcat(moved, rest), ca.SX(0, 1))


def _speeds(system: System, plan: CompletionPlan, given: tuple[str, ...]) -> Program:
    """Independent speeds (2)."""
    kin = system.kinematics
    values = ca.SX.sym("given", len(given))
    known = [plan.independent[name] for name in given if name in plan.independent]
    others = [plan.tree[name] for name in given if name not in plan.independent]
    free = [k for k in range(kin.num_independent_speeds) if k not in known]
    eta = ca.SX.zeros(kin.num_independent_speeds)
    for k, name in enumerate(given):
        if name in plan.independent:
            eta[plan.independent[name]] = values[k]
    if others and free:
        asked = ca.vertcat(*[values[k] for k, n in enumerate(given) if n not in plan.independent])
        W = ca.densify(kin.S[others, free])
        left = asked - kin.s[others] - kin.S[others, :] @ eta
        if len(others) <= len(free):
            found = W.T @ ca.solve(ca.densify(W @ W.T), left)
        else:
            found = ca.solve(ca.densify(W.T @ W), W.T @ left)
        for k, place in enumerate(free):
            eta[place] = found[k]
    return _program(system, "speeds", eta, values)
