"""Completion of starts as traced expressions, for code that cannot call Python, as a GPU's.

Coordinates, speeds, named angles and their rates are completed as `completion` does it, by its
equations (1) and (2) with full ranks: steps of Newton's method that leave what is given, and the
least independent speeds that fit. Where only some angles of an orientation are given, or some of
their rates, there are several ways, of which `completion` takes the first that fits. What has other
ranks (rows that repeat) is not carried; whoever uses this compares it with :func:`complete_starts`,
and picks the way that agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from noslip.algebra import angular_velocity, quaternion_from_angles, traced_angles
from noslip.engines import Program, System, trace_program
from noslip.simulation.starts.completion import CompletionPlan, Hold
from noslip.simulation.starts.layout import Orientation, layout_of
from noslip.simulation.starts.named_angles import Held, releases


class TracedStart(NamedTuple):
    """Programs of (t, x, u, [p; given]) that complete a start; x is a state with its coordinates.

    Parameters
    ----------
    orient : state with the orientations of the named angles; None if none are given.
    close : states after a step of Newton's method, one way or another.
    speeds : independent speeds, likewise.
    """

    orient: Program | None
    close: tuple[Program, ...]
    speeds: tuple[Program, ...]


def trace_start(system: System, names: Sequence[str]) -> TracedStart:
    """The completion of a start that gives some names; those of states are in x, others given."""
    layout = layout_of(system)
    plan = CompletionPlan.of(layout, tuple(names))
    states = (*layout.coordinates, *layout.auxiliary_states)
    behind = [name for name in names if name not in states]
    symbols = ca.SX.sym("given", len(behind))
    given = {name: symbols[k] for k, name in enumerate(behind)}
    ways = [plan.hold]
    tries = releases(layout, names)
    partly = {held.orientation.quaternion for way in tries for held in way}
    turned = {k + i for k in partly for i in range(4)}
    fixed = [k for k in plan.hold.fixed if k not in turned]
    ways += [Hold.of(layout, fixed, held) for held in tries]
    closing = [_close(system, hold, given) for hold in ways]
    rated = ((), plan.partly) if plan.partly else ((),)
    speeds = [_speeds(system, plan, own, given) for own in rated]

    def program(name: str, expression: ca.SX) -> Program:
        return _program(system, name, expression, symbols)

    return TracedStart(
        orient=program("orient", _oriented(system, plan, given)) if plan.angled else None,
        close=tuple(program("close", one) for one in closing if one is not None),
        speeds=tuple(program("speeds", one) for one in speeds),
    )


def _program(system: System, name: str, expression: ca.SX, behind: ca.SX) -> Program:
    """Operations of (t, x, u, [p; …]), where speed inputs are zero."""
    symbols = system.kinematics.symbols
    if symbols.w.shape[0]:
        expression = ca.substitute(expression, symbols.w, ca.SX.zeros(*symbols.w.shape))
    given = (symbols.t, system.state, system.equations.inputs, ca.vertcat(symbols.params, behind))
    return trace_program(name, given, ca.densify(system.fold(expression)))


def _state(system: System, q: ca.SX) -> ca.SX:
    """The state with other coordinates."""
    return ca.vertcat(q, system.state[q.shape[0] :])


def _with_angles(q: ca.SX, o: Orientation, angles: Sequence[ca.SX]) -> None:
    """Set an orientation to named angles."""
    found = quaternion_from_angles(angles, o.angles.sequence, ca.cos, ca.sin)
    for k, part in enumerate(found):
        q[o.quaternion + k] = part


def _angles(q: ca.SX, o: Orientation) -> list[ca.SX]:
    """Named angles of an orientation."""
    found = traced_angles(q[o.quaternion : o.quaternion + 4], o.angles.sequence)
    return [found[k] for k in range(3)]


def _rate_rows(system: System, held: Held) -> ca.SX:
    """(k, nv) rates of some angles from the tree speeds."""
    o, kin = held.orientation, system.kinematics
    angles, units = _angles(kin.symbols.q, o), ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    columns = [
        ca.vertcat(*angular_velocity(angles, unit, o.angles.sequence, ca.cos, ca.sin))
        for unit in units
    ]
    rows = ca.SX.zeros(len(held.places), kin.num_speeds)
    rows[:, o.speed : o.speed + 3] = ca.inv(ca.densify(ca.horzcat(*columns)))[list(held.places), :]
    return rows


def _oriented(system: System, plan: CompletionPlan, given: Mapping[str, ca.SX]) -> ca.SX:
    """State whose orientations have the named angles, zero where they are not given."""
    q = ca.SX(system.kinematics.symbols.q)
    for o in plan.angled:
        _with_angles(q, o, [given.get(name, ca.SX(0)) for name in o.angle_names])
    return _state(system, q)


def _close(system: System, hold: Hold, given: Mapping[str, ca.SX]) -> ca.SX | None:
    """State after a step (1), over the scale of the speeds; None if nothing can move."""
    layout, kin = layout_of(system), system.kinematics
    closing, free = layout.closing.tolist(), hold.free.tolist()
    if not closing or not free:
        return None
    q, parts = kin.symbols.q, [kin.A[closing, free]]
    if hold.kept.size:
        parts.append(kin.N[hold.kept.tolist(), free])
    parts += [_rate_rows(system, held)[:, free] for held in hold.held]
    scale = ca.SX(ca.DM(hold.scale))
    matrix = ca.densify(ca.vertcat(*parts) @ ca.diag(1 / scale))
    rest = matrix.shape[0] - len(closing)
    right = ca.vertcat(-kin.g[layout.closing_g.tolist()], ca.SX.zeros(rest))
    step = matrix.T @ ca.solve(matrix @ matrix.T, right)
    moved = q + kin.N[:, free] @ (step / scale)
    for k in hold.quaternions:
        moved[k : k + 4] = moved[k : k + 4] / ca.norm_2(moved[k : k + 4])
    for k in hold.kept.tolist():
        moved[k] = q[k]
    for held in hold.held:
        angles = _angles(moved, held.orientation)
        for place, name in zip(held.places, held.names, strict=True):
            angles[place] = given.get(name, ca.SX(0))
        _with_angles(moved, held.orientation, angles)
    return _state(system, moved)


def _speeds(
    system: System, plan: CompletionPlan, rated: tuple[Held, ...], given: Mapping[str, ca.SX]
) -> ca.SX:
    """Independent speeds (2); of orientations `rated` only the given rates are held."""
    kin = system.kinematics
    eta, known = ca.SX.zeros(kin.num_independent_speeds), set[int]()
    rows, values = list[ca.SX](), list[ca.SX]()
    for name, k in plan.independent.items():
        eta[k] = given[name]
        known.add(k)
    unit = ca.SX.eye(kin.num_speeds)
    for name, k in plan.tree.items():
        rows.append(unit[k, :])
        values.append(given[name])
    for held in rated:
        rows.append(_rate_rows(system, held))
        values += [given[name] for name in held.names]
    partly = [held.orientation for held in rated]
    for o, places in plan.rated:
        if o in partly:
            continue
        angles = _angles(kin.symbols.q, o)
        if all(name in given for name in o.angle_names):
            angles = [given[name] for name in o.angle_names]
        rates = [given.get(name, ca.SX(0)) for name in o.rate_names]
        omega = angular_velocity(angles, rates, o.angles.sequence, ca.cos, ca.sin)
        for k in range(3):
            if places:
                eta[places[k]] = omega[k]
                known.add(places[k])
            else:
                rows.append(unit[o.speed + k, :])
                values.append(omega[k])
    free = [k for k in range(kin.num_independent_speeds) if k not in known]
    if not rows or not free:
        return eta
    T = ca.vertcat(*rows)
    W = ca.densify(T @ kin.S[:, free])
    left = ca.vertcat(*values) - T @ (kin.s + kin.S @ eta)
    if W.shape[0] <= W.shape[1]:
        found = W.T @ ca.solve(W @ W.T, left)
    else:
        found = ca.solve(W.T @ W, W.T @ left)
    for k, place in enumerate(free):
        eta[place] = found[k]
    return eta
