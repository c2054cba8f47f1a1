"""Inputs in the symbols of a system: expressions read and checked, and rates that come with them.

A speed input w comes with its rate ẇ: of an expression it is ∂w/∂t + ∂w/∂q q̇, of a table the slope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca
import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.model import expressions
from noslip.model.checks_expressions import is_undefined
from noslip.model.expressions import ExpressionError
from noslip.simulation.input_kinds import InputGenerator, Table
from noslip.simulation.named_values import named_values


def traced_entries(
    system: System,
    spec: str | ca.Function,
    k: int,
    rate_offset: int,
    name: str,
    definitions: Mapping[str, str | ca.SX] | None,
) -> dict[int, ca.SX]:
    """Expression of an input k, and of its rate where that comes with it."""
    kin = system.kinematics
    symbols = kin.symbols
    if isinstance(spec, str):
        expression = read_expression(system, spec, f"input '{name}'", definitions)
    else:
        expression = _call_casadi(system, spec, name)
    entries = {k: ca.SX(expression)}
    if rate_offset:
        if ca.depends_on(entries[k], ca.vertcat(kin.eta, symbols.w)):
            raise SimulationError(
                f"speed input '{name}' depends on speeds, so its rate would need accelerations",
                f"inputs of model '{system.model.name}'",
                "let it depend on time and coordinates only",
            )
        at = ca.vertcat(symbols.t, symbols.q)
        along = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v))
        entries[k + rate_offset] = ca.jtimes(entries[k], at, along)
    return entries


def _call_casadi(system: System, function: ca.Function, name: str) -> ca.SX:
    """A CasADi function of (t, q, v, parameters) at the traced symbols."""
    kin = system.kinematics
    arguments = (kin.symbols.t, kin.symbols.q, kin.v, kin.symbols.params)
    expected = [argument.shape for argument in arguments]
    taken = [function.size_in(k) for k in range(function.n_in())]
    if taken != expected or function.n_out() != 1 or function.size_out(0) != (1, 1):
        given = [function.size_out(k) for k in range(function.n_out())]
        raise SimulationError(
            f"input '{name}' is a CasADi function from {_shapes(taken)} to {_shapes(given)}, "
            f"expected one from t, q, v and the parameters, {_shapes(expected)}, to 1",
            f"inputs of model '{system.model.name}'",
            "write ca.Function(name, [t, q, v, p], [value]) with columns of these sizes",
        )
    return function(*arguments)


def _shapes(shapes: list[tuple[int, int]]) -> str:
    return ", ".join(str(n) if m == 1 else f"{n}×{m}" for n, m in shapes) or "nothing"


def read_expression(
    system: System,
    text: str,
    where: str,
    definitions: Mapping[str, str | ca.SX] | None = None,
    angles: Mapping[str, ca.SX] | None = None,
) -> ca.SX:
    """An expression as a traced scalar at v = Sη + s.

    It may use t, parameters, coordinates, tree speeds, named angles, which lie between −π and π,
    their rates, and named independent speeds.

    Parameters
    ----------
    system, text : in whose symbols it is read.
    where : what it is, for the message.
    definitions : named expressions, each of what comes before it, that the text may use; or symbols
        under their names.
    angles : what named angles stand for instead, by name.
    """
    kin = system.kinematics
    reader, named, angles = kin.reader, named_values(system), angles or {}
    known = _plain_names(system) | set(named)

    def read(given: str, place: str) -> ca.SX:
        used = _check_expression(system, given, place, known)
        more = {n: angles[n] if n in angles else named[n][1]() for n in used & set(named) - defined}
        return reader.extended(more).scalar(given)

    defined: set[str] = set()
    for name, definition in (definitions or {}).items():
        if isinstance(definition, str):
            definition = read(definition, f"definition '{name}'")
        reader = reader.extended({name: definition})
        defined.add(name)
        known.add(name)
    return kin.at_speeds(read(text, where))


def check_definitions(system: System, definitions: Iterable[str]) -> None:
    """Refuse definitions that would hide what has their name already."""
    model, kin = system.model, system.kinematics
    taken = {"t": "time", **dict.fromkeys(expressions.CONSTANTS, "a constant")}
    taken |= dict.fromkeys((q.name for q in system.inputs), "an input")
    taken |= dict.fromkeys((q.name for q in kin.coordinates), "a coordinate")
    taken |= dict.fromkeys((q.name for q in kin.speeds), "a speed")
    taken |= dict.fromkeys(named_values(system), "a named angle, its rate or a named speed")
    taken |= dict.fromkeys((p.name for p in model.parameters), "a parameter")
    for name in definitions:
        if not isinstance(name, str):
            raise SimulationError(
                f"definition {name!r:.60} has no name",
                f"definitions of model '{model.name}'",
                "give names and values or expressions: definitions={'gain': 0.2}",
            )
        if name in taken:
            kind = taken[name]
            other = f"; to change the parameter, give parameters={{'{name}': …}}"
            raise SimulationError(
                f"definition '{name}' has the name of {kind}, which it would hide",
                f"definitions of model '{model.name}'",
                f"give the definition another name, such as '{name.replace('.', '_')}_own'"
                + (other if kind == "a parameter" else ""),
            )


def _plain_names(system: System) -> set[str]:
    """t, parameters, coordinates and tree speeds."""
    kin = system.kinematics
    names = {"t", *(p.name for p in system.model.parameters)}
    return names | {q.name for q in (*kin.coordinates, *kin.speeds)}


def _check_expression(system: System, text: str, where: str, known: set[str]) -> set[str]:
    """Names that an expression uses; refuses what cannot be read and names that are not known."""
    if not isinstance(text, str):
        raise SimulationError(
            f"{text!r:.60} is given where an expression is expected",
            f"{where} of model '{system.model.name}'",
            "write it in quotes, as arithmetic of t, parameters, coordinates and speeds: 'disk.z'",
        )
    try:
        tree = expressions.parse(text)
    except ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            f"{where} of model '{system.model.name}'",
            "give the difference of both sides, whose sign is watched: 'disk.x - 3'"
            if where.startswith(("stop", "event")) and set(text) & set("<>=")
            else "write arithmetic of t, parameters, coordinates and speeds, such as '0.1*sin(t)'",
        ) from None
    used = expressions.names_in(tree)
    unknown = used - known - set(expressions.CONSTANTS)
    if unknown:
        name = sorted(unknown)[0]
        raise SimulationError(
            f"expression '{text}' uses '{name}', which is not known",
            f"{where} of model '{system.model.name}'",
            nearest(name, sorted(known)),
        )
    if is_undefined(tree, {}):
        raise SimulationError(
            f"expression '{text}' has no finite value",
            f"{where} of model '{system.model.name}'",
            "keep denominators away from zero and arguments of sqrt, log, asin and powers in range",
        )
    return used


def inputs_expression(
    system: System, traced: dict[int, ca.SX], generator: InputGenerator | None
) -> ca.SX:
    """[inputs; ż]: traced entries, all others passed through from the base inputs."""
    inputs = system.equations.inputs
    entries = [traced.get(k, inputs[k]) for k in range(len(system.inputs))]
    rates = generator.rates if generator else ca.SX(0, 1)
    expression = ca.vertcat(*entries, rates)
    # what depends on a speed that is given sees the value given here
    num_u = len(system.model.inputs)
    if system.model.speed_inputs:
        given = ca.densify(ca.vertcat(*entries[num_u:]))
        expression = ca.substitute([expression], [inputs[num_u:, :]], [given])[0]
    return expression


def table_entries(
    system: System, table: Table, k: int, rate_offset: int, name: str
) -> list[tuple[int, Array, Array]]:
    """Segments of an input k that a table gives, and of its rate where that comes with it."""
    starts, coefficients = table.segments()
    entries = [(k, starts, coefficients)]
    if rate_offset:
        if table.kind == "hold" and _moves_mass(system, k):
            raise SimulationError(
                f"speed input '{name}' jumps between held values, but what it moves has inertia: "
                "the jump would need an infinite force",
                f"inputs of model '{system.model.name}'",
                "interpolate: Table(…, kind='linear') or kind='cubic'",
            )
        a, b, c = coefficients[:, 0], coefficients[:, 1], coefficients[:, 2]
        slope = np.column_stack([np.zeros(len(a)), 3 * a, 2 * b, c])
        entries.append((k + rate_offset, starts, slope))
    return entries


def _moves_mass(system: System, k: int) -> bool:
    """Whether the rate of a speed input needs force anywhere in the mechanism."""
    eq, symbols = system.equations, system.kinematics.symbols
    j = k - len(system.model.inputs)
    needed = ca.jacobian(eq.generalized_reactions, symbols.wdot[j])
    push = ca.Function(
        "push",
        [symbols.t, symbols.q, system.kinematics.eta, symbols.w, symbols.params],
        [ca.densify(needed)],
        {"allow_free": True},
    )
    if push.get_free():
        return True
    samples = system.kinematics.probe.configurations(2)
    eta = np.zeros(system.kinematics.num_independent_speeds)
    w = np.zeros(len(system.model.speed_inputs))
    return any(
        float(np.max(np.abs(np.array(push(t, q, eta, w, system.parameters()))), initial=0.0))
        > 1e-12
        for t, q in samples
    )
