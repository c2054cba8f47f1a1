"""Checks of units: that they are units, and that expressions have the dimension of their field.

A unit that cannot be read is a fault. A dimension that does not fit is a fault where nothing can
excuse it, and a warning where the expression has a number or a pure quantity other than an
exponent: a formula from a book may hide a unit in it. The dimension of an expression follows from
the units of its parameters and inputs:

- a number, and what a function such as cos gives, multiplies as a pure number and is added to
  anything;
- coordinates, speeds and t may be multiplied by anything, so nothing is said of them; of a
  definition its unit, where it has one, and of a measure of the motion its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from noslip.expressions import (
    CONSTANTS,
    MEASURES,
    PURE,
    RATE,
    Dimension,
    ExpressionError,
    Measure,
    Name,
    Number,
    UnitError,
    apply_to_numbers,
    fold,
    parse,
    power,
    read_unit,
    times,
    unit_text,
)
from noslip.model.checks_expressions import beside, quoted, said_of, texts_of
from noslip.model.definitions import Definition
from noslip.model.findings import Finding, Path, owner
from noslip.model.known_names import Vocabulary, angle_names
from noslip.model.model import IndependentSpeed, Model
from noslip.model.schema import Key

#: Dimension of an expression: that of a quantity, a number without one, or not known.
Found: TypeAlias = Dimension | float | None


class DimensionError(Exception):
    """Two parts of an expression do not go together; the message says how."""


def check_units(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All units of the model, and the dimensions of its expressions."""
    units = _units_by_name(model)
    dimensions = {name: d for name, unit in units.items() if (d := _readable(unit)) is not None}
    moving = {*known.coordinates, *known.speeds}
    scope = {name: d for name, d in dimensions.items() if name not in moving}
    for path, key, part, value in known.fields:
        if key.name == "unit":
            yield from _check_unit(path, part, value)
        elif key.meaning.names == "input":
            yield from _check_input(path, key, part, value, units, dimensions)
        else:
            for at, text in texts_of(path, key, value):
                unit = _unit_of_field(at, key, part, units)
                # one that cannot be read is told where it is declared
                if unit and _readable(unit) is not None:
                    yield from _check_expression(at, text, unit, beside(key.meaning.own, scope))


def _units_by_name(model: Model) -> dict[str, str]:
    """Units of parameters, inputs, coordinates, speeds and named angles.

    An input and a speed input with one name, which is a fault, have none.
    """
    task = model.scenario.parameters if model.scenario else ()
    units = {p.name: p.unit for p in (*model.parameters, *task)}
    units |= {i.name: i.unit for i in model.inputs}
    units |= {s.name: s.unit for s in model.independent_speeds if s.expression}
    units |= {d.name: d.unit for d in model.definitions}
    for joint in model.joints:
        for quantity in (*joint.type.coordinates, *joint.type.speeds):
            units[f"{joint.name}.{quantity.name}"] = quantity.unit
        for name in angle_names(joint):
            units |= {f"{joint.name}.{name}": "rad", f"{joint.name}.{name}_rate": "rad/s"}
    forces = {i.name for i in model.inputs}
    for given in model.speed_inputs:
        if given.name in forces:
            units.pop(given.name, None)
        elif given.speed in units:
            units[given.name] = units[given.speed]
    return units


def _unit_of_field(path: Path, key: Key, part: Any, units: Mapping[str, str]) -> str:
    """The unit that an expression should have; empty where there is none."""
    by_name = ("start", "inputs", "motion", "limits", "parameters", "reference", "start_sigma")
    if path[0] == "scenario" and key.name in by_name:
        return units.get(str(path[-1]), "")
    if isinstance(part, Definition) and key.name == "expression":
        return part.unit if _readable(part.unit) else ""
    if key.meaning.units:
        return key.meaning.units.get(units.get(getattr(part, key.meaning.along), ""), "")
    return key.meaning.unit


def _check_unit(path: Path, part: Any, unit: str) -> Iterator[Finding]:
    if isinstance(part, IndependentSpeed | Definition) and not unit:
        return
    try:
        read_unit(unit)
    except UnitError as error:
        yield Finding(path, f"{owner(path)} has unit {quoted(unit)}: {error}", error.fix)


def _check_input(
    path: Path,
    key: Key,
    part: Any,
    name: str,
    units: Mapping[str, str],
    dimensions: Mapping[str, Dimension],
) -> Iterator[Finding]:
    """A motor turns with N*m and pushes with N."""
    expected = _unit_of_field(path, key, part, units)
    given = dimensions.get(name)
    if expected and given is not None and given != read_unit(expected):
        acts_on = getattr(part, key.meaning.along) if key.meaning.along else ""
        drives = f"drives '{acts_on}' with" if acts_on else "has"
        yield Finding(
            path,
            f"{owner(path)} {drives} input '{name}' in {units[name]}, expected {expected}",
            f"declare the input in {expected}, or let the motor act on another speed",
            given == PURE,
        )


def _check_expression(
    path: Path, text: str, unit: str, scope: Mapping[str, Dimension]
) -> Iterator[Finding]:
    try:
        found = dimension(text, scope)
    except DimensionError as mismatch:
        fix = "check the expression and the units of its parameters"
        hides = may_hide_a_unit(text, scope)
        yield Finding(path, f"{said_of(path, text)}, which {mismatch}", fix, hides)
        return
    if isinstance(found, tuple) and found != read_unit(unit):
        in_base = f" ({base})" if (base := unit_text(read_unit(unit))) not in (unit, "1") else ""
        yield Finding(
            path,
            f"{said_of(path, text)}, which is in {unit_text(found)}, expected {unit}{in_base}",
            "check the expression and the units of its parameters; write the unit of a number "
            "behind it, as in 0.4[m], or make it a parameter",
            may_hide_a_unit(text, scope),
        )


def dimension(text: str, scope: Mapping[str, Dimension]) -> Found:
    """Dimension of an expression from those of its names; None where it is undetermined.

    Raises
    ------
    DimensionError : unlike quantities are added, or a function takes what has a unit.
    """
    if text in scope:
        return scope[text]

    def leaf(node: Number | Name) -> Found:
        if isinstance(node, Number):
            return read_unit(node.unit) if node.unit else node.value
        return scope.get(node.name, CONSTANTS.get(node.name))

    try:
        return fold(parse(text), leaf, _combine, _measured)
    except ExpressionError:
        return None


def may_hide_a_unit(text: str, scope: Mapping[str, Dimension]) -> bool:
    """Whether an expression has numbers or pure quantities that could stand for one with a unit.

    Exponents and constants such as pi do not.
    """

    def leaf(node: Number | Name) -> bool:
        if isinstance(node, Number):
            return not node.unit
        return scope.get(node.name) == PURE

    def call(function: str, arguments: list[bool]) -> bool:
        return arguments[0] if function == "**" else any(arguments)

    if text in scope:
        return scope[text] == PURE
    found: bool = fold(parse(text), leaf, call, _is_pure)
    return found


def _is_pure(measure: Measure, arguments: list[bool]) -> bool:
    """Whether a measure of the motion is a pure number; its arguments are places."""
    if measure.word == RATE:
        return any(arguments)
    has_place, count = MEASURES[measure.word]
    return not has_place and count == 0


_PER_SECOND = read_unit("1/s")


def _measured(measure: Measure, arguments: list[Found]) -> Found:
    """Dimension of a measure of the motion."""
    if measure.word == RATE:
        (found,) = arguments
        return times(found, _PER_SECOND) if isinstance(found, tuple) else None
    has_place, count = MEASURES[measure.word]
    found = read_unit("m") if has_place else PURE
    for _ in range(count):
        found = times(found, _PER_SECOND)
    return found


# functions that keep the dimension of what they are given, all of which must be alike
_KEEP = ("+", "-", "neg", "abs", "floor", "min", "max")


def _combine(function: str, arguments: list[Found]) -> Found:
    """Dimension of a call from those of its arguments."""
    with_unit = [a for a in arguments if isinstance(a, tuple)]
    if not with_unit:
        numbers = [a for a in arguments if isinstance(a, float)]
        return apply_to_numbers(function, numbers) if len(numbers) == len(arguments) else None
    first, last = arguments[0], arguments[-1]
    if function in ("*", "/"):
        if first is None or last is None:
            return None
        a, b = (PURE if isinstance(x, float) else x for x in (first, last))
        found = times(a, b, 1 if function == "*" else -1)
        # a number may have any unit, and then so has its product with a pure number
        return math.nan if len(with_unit) == 1 and found == PURE else found
    if function in ("**", "sqrt"):
        n = 0.5 if function == "sqrt" else last
        if isinstance(first, tuple) and isinstance(n, float) and math.isfinite(n):
            return power(first, n)
        return math.nan if first == PURE else None
    if any(a != with_unit[0] for a in with_unit):
        how = "adds" if function in ("+", "-") else f"compares in {function}"
        raise DimensionError(f"{how} {' and '.join(map(unit_text, with_unit))}")
    if function in _KEEP:
        return with_unit[0]
    if function not in ("atan2", "sign") and with_unit[0] != PURE:
        raise DimensionError(f"takes {function} of a quantity in {unit_text(with_unit[0])}")
    return math.nan


def _readable(unit: str) -> Dimension | None:
    try:
        return read_unit(unit)
    except UnitError:
        return None
