"""Checks of a model's expressions: names, values, signs and units.

**Names of a model by kind, and its fields, collected once for all checks.**

**Checks of expressions: readable, made of known names, with a value, linear where they must be.**

What an expression may use depends on where it stands; its field says so. The scenario has its own
names and is checked in `checks.py` with the functions of this file.

**Checks of numbers at the nominal parameter values: finite, the right sign, the right count.**

**Checks of units: that they are units, and that expressions have the dimension of their field.**

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
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

from noslip.expressions import (
    CONSTANTS,
    MEASURES,
    PURE,
    RATE,
    Dimension,
    Expression,
    ExpressionError,
    Measure,
    Name,
    Number,
    Scalar,
    UnitError,
    apply_to_numbers,
    fold,
    is_finite,
    measures_in,
    names_in,
    names_of,
    order,
    parse,
    power,
    read_unit,
    times,
    unit_text,
)
from noslip.model.bodies import WORLD
from noslip.model.contacts import AbstractContact
from noslip.model.findings import Finding, Path, field, hint, number_text, owner, vector_text
from noslip.model.joints import Joint
from noslip.model.model import IndependentSpeed, Model, Topology, topology
from noslip.model.quantities import POSITIVE, place_rate
from noslip.model.rows import AbstractRow, Definition, Dependence, dependence, in_order
from noslip.model.schema import Key, Kind, leaves

#: Fields of a model: path, key, the part they are fields of, and what they hold.
Fields = tuple[tuple[Path, Key, Any, Any], ...]

#: The name of time in expressions.
TIME = "t"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The names of a model.

    Coordinates and speeds are those of joints that carry a body; a joint that closes a loop has
    none.
    """

    parameters: Mapping[str, float]  #: parameters with their nominal values
    bodies: tuple[str, ...]  #: ``world`` and all others
    coordinates: tuple[str, ...]
    coordinate_units: Mapping[str, str]
    speeds: tuple[str, ...]
    #: angles, rates: names of orientation angles such as ``disk.yaw``, and of their rates,
    #: ``disk.yaw_rate``
    angles: tuple[str, ...]
    rates: tuple[str, ...]
    #: named expressions, each after those it uses; those in a circle in any order
    definitions: Mapping[str, str]
    inputs: tuple[str, ...]
    speed_inputs: tuple[str, ...]
    #: coordinates and speeds that the joints that close loops would have, each with its joint
    loop_names: Mapping[str, str]
    forced: Mapping[str, tuple[str, ...]]  #: coordinates and speeds that forces may act along
    contacts: tuple[AbstractContact, ...]  #: contacts of the model
    #: tree and loops; a joint whose parent is not known counts as fixed to the world
    topology: Topology
    fields: Fields  #: fields of all parts

    @cached_property
    def finite_parameters(self) -> dict[str, float]:
        """Parameters whose nominal value is a finite number."""
        return {name: value for name, value in self.parameters.items() if is_finite(value)}

    def order(self, tree: Expression) -> int:
        """0 for an expression that positions determine, 1 for speeds, 2 for accelerations."""
        return order(tree, self._orders)

    def dependence_on_speeds(self, tree: Expression) -> Dependence:
        """Dependence of an expression on the speeds, at one configuration."""
        return dependence(tree, self._in_speeds, self._of_measure)

    def depends_on_motion(self, tree: Expression) -> bool:
        """Whether an expression has a coordinate, a speed or a measure in it."""
        return bool(measures_in(tree)) or not self._moving.isdisjoint(names_in(tree))

    def _of_measure(self, measure: Measure) -> Dependence:
        return Dependence.LINEAR if self.order(measure) else Dependence.CONSTANT

    @cached_property
    def _orders(self) -> dict[str, int]:
        orders = dict.fromkeys((*self.speeds, *self.rates), 1)
        for name, tree in self._definition_trees.items():
            orders[name] = order(tree, orders)
        return orders

    @cached_property
    def _in_speeds(self) -> dict[str, Dependence]:
        found = dict.fromkeys((*self.speeds, *self.rates), Dependence.LINEAR)
        for name, tree in self._definition_trees.items():
            found[name] = dependence(tree, found, self._of_measure)
        return found

    @cached_property
    def _moving(self) -> set[str]:
        found = {*self.coordinates, *self.speeds, *self.angles, *self.rates}
        for name, tree in self._definition_trees.items():
            if measures_in(tree) or not found.isdisjoint(names_in(tree)):
                found.add(name)
        return found

    @cached_property
    def _definition_trees(self) -> dict[str, Expression]:
        trees = {}
        for name, text in self.definitions.items():
            with suppress(ExpressionError):  # a fault of its own
                trees[name] = parse(text)
        return trees


def vocabulary(model: Model, fields: Fields | None = None) -> Vocabulary:
    """The names of a model, which may have faults; `fields` are its leaves, if at hand."""
    bodies = (WORLD, *(body.name for body in model.bodies))
    # one misspelled parent is one fault: what hangs on it is not reported as well
    tied = (j if j.parent in bodies else replace(j, parent=WORLD) for j in model.joints)
    found = topology(replace(model, joints=tuple(tied)))
    # a joint that carries the world is a mistake of its own, not a loop
    loops = [joint for joint in found.loops if joint.child != WORLD]
    joints = [joint for joint in model.joints if joint not in loops]
    places = [q.renamed(c.name) for c in model.contacts for q in c.parameters()]
    texts = {d.name: d.expression for d in model.definitions}
    return Vocabulary(
        parameters=model.parameter_values(),
        bodies=bodies,
        coordinates=(
            *(name for joint in joints for name in joint.coordinate_names()),
            *(place.name for place in places),
        ),
        coordinate_units={
            **{f"{j.name}.{c.name}": c.unit for j in joints for c in j.type.coordinates},
            **{place.name: place.unit for place in places},
        },
        speeds=(
            *(name for joint in joints for name in joint.speed_names()),
            *(place_rate(place).name for place in places),
        ),
        angles=tuple(f"{j.name}.{name}" for j in joints for name in angle_names(j)),
        rates=tuple(f"{j.name}.{name}_rate" for j in joints for name in angle_names(j)),
        definitions={name: texts[name] for name in in_order(texts)[0]},
        inputs=tuple(i.name for i in model.inputs),
        speed_inputs=tuple(i.name for i in model.speed_inputs),
        loop_names={name: j.name for j in loops for name in _would_be_names(j)},
        forced={
            "coordinate": tuple(
                name for j in loops if j.type.quaternion is None for name in j.coordinate_names()
            ),
            "speed": tuple(name for j in loops for name in j.speed_names()),
        },
        contacts=model.contacts,
        topology=found,
        fields=tuple(leaves(model)) if fields is None else fields,
    )


def angle_names(joint: Joint) -> tuple[str, ...]:
    """The named angles of a joint's orientation, if it has some, without the joint's name."""
    angles = joint.type.named_angles()
    return () if angles is None else tuple(angles.names)


def _would_be_names(joint: Joint) -> list[str]:
    angles = [f"{joint.name}.{name}" for name in angle_names(joint)]
    rates = [f"{angle}_rate" for angle in angles]
    return [*joint.coordinate_names(), *joint.speed_names(), *angles, *rates]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """The names an expression may use, what to call them, and names that are declared after it.

    And whether it may use measures of the motion.
    """

    names: Set[str]
    words: str
    later: Set[str] = frozenset()
    has_measures: bool = False


def check_expressions(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All expressions outside the scenario, and those of forces on its plant."""
    values = known.finite_parameters
    kinds_of_names = {(key.meaning.scope, key.meaning.own) for _, key, _, _ in known.fields}
    scopes = {
        (kinds, own): scope_of(known, kinds, **({" and ".join(own): own} if own else {}))
        for kinds, own in kinds_of_names
    }
    for path, key, part, value in known.fields:
        if path[0] == "scenario" and path[1:3] != ("plant", "forces"):
            continue
        scope = scopes[key.meaning.scope, key.meaning.own]
        given = beside(key.meaning.own, values)
        for at, text in texts_of(path, key, value):
            findings = list(check_text(at, text, scope, known, given))
            yield from findings
            if findings:
                continue
            names = getattr(known, key.meaning.linear_in) if key.meaning.linear_in else ()
            how = dependence(parse(text), dict.fromkeys(names, Dependence.LINEAR))
            if how is Dependence.NONLINEAR:
                linear_in = key.meaning.linear_in
                yield Finding(
                    at,
                    f"{owner(at)} has {field(at)} that is not linear in the {linear_in}",
                    f"write a sum of terms that have at most one {linear_in[:-1]} as a factor",
                )
            if isinstance(part, AbstractRow | IndependentSpeed) and key.name == "expression":
                yield from part.expression_faults(at, parse(text), known)


def beside(own: tuple[str, ...], values: Mapping[str, T]) -> Mapping[str, T]:
    """What names of the model stand for in a field, where its own variables hide theirs."""
    return {k: x for k, x in values.items() if k not in own} if own else values


def scope_of(known: Vocabulary, kinds: Iterable[str], **own: Iterable[str]) -> Scope:
    """Parameters, names of the given kinds of a model, and `own` names of the place."""
    names = set(known.parameters)
    words = ["parameters"]
    for kind in kinds:
        names |= {TIME} if kind == TIME else set(getattr(known, kind))
        words.append(kind)
    for kind, more in own.items():
        names |= set(more)
        words.insert(-1, kind)
    listed = ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]
    return Scope(names, listed, has_measures="coordinates" in kinds)


def texts_of(path: Path, key: Key, value: Any) -> Iterator[tuple[Path, str]]:
    """The expressions in a field, each with its own path."""
    match key.kind:
        case Kind.SCALAR | Kind.SCALAR_TABLE | Kind.TEXT_TABLE if key.meaning.is_plain:
            pass
        case Kind.SCALAR if isinstance(value, str):
            yield path, value
        case Kind.SCALARS if isinstance(value, tuple):
            yield from (((*path, k), v) for k, v in enumerate(value) if isinstance(v, str))
        case Kind.SCALAR_TABLE | Kind.TEXT_TABLE:
            yield from (((*path, k), v) for k, v in value.items() if isinstance(v, str))
        case Kind.TEXT if key.name == "expression" and (value or key.is_required):
            yield path, value


def check_text(
    path: Path, text: str, scope: Scope, known: Vocabulary, values: Mapping[str, float]
) -> Iterator[Finding]:
    """One expression: that it can be read, uses names of its scope, and has a value at `values`."""
    try:
        tree = parse(text)
    except ExpressionError as error:
        yield Finding(
            path,
            f"{said_of(path, text)}, which cannot be read: {error}",
            'write arithmetic of numbers, names and functions, such as "l/2 + 0.1*cos(a)"',
        )
        return
    unknown = sorted(names_of(text) - scope.names - set(CONSTANTS))
    for name in unknown:
        yield _unknown_in_expression(path, said_of(path, text), name, scope, known)
    for measure in measures_in(tree):
        yield from _check_measure(path, said_of(path, text), measure, scope, known)
        if not scope.has_measures:
            break  # one fault for all of them
    if not unknown and is_undefined(tree, values):
        yield _undefined(path, said_of(path, text), tree, values)


def _check_measure(
    path: Path, said: str, measure: Measure, scope: Scope, known: Vocabulary
) -> Iterator[Finding]:
    """A measure is of a body that exists, at a point fixed in it, where there is a motion."""
    if not scope.has_measures:
        what = f"{said}, which uses '{measure.word}' of a motion"
        yield Finding(path, what, f"only {scope.words} may be used here")
        return
    if measure.word == RATE:
        return
    if measure.body not in known.bodies:
        what = f"{said}, which uses body '{measure.body}', which is not declared"
        yield Finding(path, what, hint(measure.body, known.bodies))
    used = set().union(*map(names_in, measure.arguments))
    for name in sorted(used - set(known.parameters) - set(CONSTANTS)):
        if name in scope.names:
            what = f"{said}, which has '{name}' in the place of a point of '{measure.body}'"
            fix = "the place is fixed in the body: write it in numbers and parameters"
            yield Finding(path, what, fix)


def said_of(path: Path, text: str) -> str:
    """Subject of a message about an expression: its owner, field and text."""
    return f"{owner(path)} has {field(path)} = {quoted(text)}"


def loop_finding(path: Path, said: str, name: str, known: Vocabulary) -> Finding:
    """Finding: an expression uses a coordinate or speed of a joint that closes a loop."""
    joint = known.loop_names[name]
    return Finding(
        path,
        f"{said} uses '{name}', but joint '{joint}' closes a loop and has no coordinates or speeds",
        "use a joint that carries a body; of the joints that reach a body, the first listed "
        f"carries it and later ones close loops, so listing '{joint}' earlier gives it coordinates",
    )


def kind_of(name: str, known: Vocabulary) -> str | None:
    """Kind of a declared name: "a parameter", "a speed", ...; None if it is not declared."""
    if name == TIME:
        return "time"
    kinds = {
        "a parameter": known.parameters,
        "a definition": known.definitions,
        "a coordinate": known.coordinates,
        "a speed": known.speeds,
        "a named angle": known.angles,
        "the rate of a named angle": known.rates,
        "an input": known.inputs,
        "a speed input": known.speed_inputs,
    }
    return next((kind for kind, names in kinds.items() if name in names), None)


def is_undefined(tree: Expression, values: Mapping[str, float]) -> bool:
    """Whether a part of an expression that is known at `values` has no finite value."""
    value = _partial_value(tree, values)
    return value is not None and math.isnan(value)


def value_at(scalar: Scalar, values: Mapping[str, float]) -> float | None:
    """The number of a scalar; None where it cannot be read, uses other names, or is not finite."""
    if isinstance(scalar, str):
        try:
            value = _partial_value(parse(scalar), values)
        except ExpressionError:
            return None
        return None if value is None or math.isnan(value) else value
    return float(scalar) if is_finite(scalar) else None


def quoted(text: str) -> str:
    """An expression in double quotes, shortened if it is long."""
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}…"'


def _partial_value(tree: Expression, values: Mapping[str, float]) -> float | None:
    """Value of a tree: None where it depends on other names, nan where it has no finite value."""

    def leaf(node: Number | Name) -> float | None:
        if isinstance(node, Number):
            return node.value
        return values.get(node.name, CONSTANTS.get(node.name))

    def call(function: str, arguments: list[float | None]) -> float | None:
        numbers = [a for a in arguments if a is not None]
        if any(math.isnan(n) for n in numbers) or (function == "/" and arguments[1] == 0.0):
            return math.nan
        return apply_to_numbers(function, numbers) if len(numbers) == len(arguments) else None

    def measure(_: Measure, arguments: list[float | None]) -> float | None:
        return math.nan if any(a is not None and math.isnan(a) for a in arguments) else None

    return fold(tree, leaf, call, measure)


def _unknown_in_expression(
    path: Path, said: str, name: str, scope: Scope, known: Vocabulary
) -> Finding:
    said = f"{said}, which"
    if name in known.loop_names:
        return loop_finding(path, said, name, known)
    if name in scope.later:
        what = f"{said} uses '{name}', which is defined only later"
        return Finding(path, what, f"list the definition of '{name}' before this one")
    kind = kind_of(name, known)
    if kind is not None:
        what = f"{said} uses '{name}', {kind}"
        return Finding(path, what, f"only {scope.words} may be used here")
    what = f"{said} uses '{name}', a name that is not declared"
    if not scope.names:
        return Finding(path, what, f"declare it as [parameters.{name}]")
    return Finding(path, what, hint(name, sorted(scope.names)))


def _undefined(path: Path, said: str, tree: Expression, values: Mapping[str, float]) -> Finding:
    used = [name for name in sorted(names_in(tree)) if name in values]
    listed = ", ".join(f"{name} = {number_text(values[name])}" for name in used[:6])
    at = f" at {listed}" if listed else ""
    return Finding(
        path,
        f"{said}, which has no finite value{at}",
        "keep denominators away from zero and arguments of sqrt, log, asin and powers in range",
    )


#: Numbers beyond these, but for 0, are mistakes, and their products soon leave what a float holds.
SMALLEST, LARGEST = 1e-50, 1e50

_SEQUENCE = re.compile(r"[xyz]{3}")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def check_numbers(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All numbers, counts, axis sequences and colors of the model."""
    values = known.finite_parameters
    for path, key, _, value in known.fields:
        if key.kind in (Kind.SCALARS, Kind.NUMBERS, Kind.TEXTS):
            yield from check_array(path, key, value)
        for at, entry in numbers_of(path, key, value):
            yield from check_number(at, entry)
        if key.meaning.sign:
            yield from _check_sign(path, value, values, key.meaning.sign == POSITIVE)
        if key.meaning.is_direction:
            yield from _check_direction(path, value, values)
        if key.name == "sequence":
            yield from _check_sequence(path, value)
        if key.name == "color" and not _COLOR.fullmatch(value):
            yield Finding(
                path,
                f'{owner(path)} has {field(path)} = "{value}", expected # and six hex digits',
                'write for example color = "#4c78a8"',
            )
    for asked in model.part_signs:
        yield from _check_sign(asked.path(), asked.values, values, asked.sign == POSITIVE)


def numbers_of(path: Path, key: Key, value: Any) -> Iterator[tuple[Path, Any]]:
    """The numbers in a field, or what should be numbers, each with its own path."""
    match key.kind:
        case Kind.NUMBER | Kind.WHOLE:
            yield path, value
        case Kind.SCALAR if not isinstance(value, str):
            yield path, value
        case Kind.SCALAR_TABLE if isinstance(value, dict):
            yield from (((*path, k), v) for k, v in value.items() if not isinstance(v, str))
        case Kind.SCALARS if isinstance(value, tuple):
            yield from (((*path, k), v) for k, v in enumerate(value) if not isinstance(v, str))
        case Kind.NUMBERS if isinstance(value, tuple):
            yield from (((*path, k), v) for k, v in enumerate(value))


def check_array(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """An array is a tuple of the right size."""
    if not isinstance(value, tuple):
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} of type {type(value).__name__}, expected a tuple",
            f"write {key.name}=(…), with a value for each entry",
        )
        return
    if key.size is not None and len(value) != key.size:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} with {len(value)} values, expected {key.size}",
            f"give {key.size} values",
        )


def check_number(path: Path, value: Any) -> Iterator[Finding]:
    """A number is finite and within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {value!r}, which is not a number",
            "give a number in SI units",
        )
    elif not is_finite(value):
        shown = number_text(value) if isinstance(value, float) else "a whole number above 1e308"
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {shown}, expected a finite number",
            "give a finite number in SI units",
        )
    elif value and not SMALLEST <= abs(value) <= LARGEST:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {number_text(value)}, which is out of range",
            f"give 0, or a number between {SMALLEST:g} and {LARGEST:g} in SI units",
        )


def _check_sign(
    path: Path, value: Any, values: dict[str, float], is_positive: bool
) -> Iterator[Finding]:
    expected, least = (
        ("more than 0", "above zero") if is_positive else ("0 or more", "of zero or more")
    )
    entries = value if isinstance(value, tuple) else (value,)
    for entry in entries:
        number = value_at(entry, values)
        if number is not None and (number < 0.0 or (is_positive and number == 0.0)):
            yield Finding(
                path,
                f"{owner(path)} has {field(path)} {number_text(number)}, expected {expected}",
                f"give a value {least}" + (", or change its parameters" * isinstance(entry, str)),
            )


def _check_direction(path: Path, value: Any, values: dict[str, float]) -> Iterator[Finding]:
    entries = value if isinstance(value, tuple) else ()
    numbers = tuple(n for n in (value_at(e, values) for e in entries) if n is not None)
    if len(numbers) == 3 and max(map(abs, numbers)) < 1e-12:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} {vector_text(numbers)}, which has no direction",
            f"give a nonzero direction, for example {path[-1]} = [0, 0, 1]",
        )


def _check_sequence(path: Path, value: str) -> Iterator[Finding]:
    if not _SEQUENCE.fullmatch(value):
        what = "expected three of the letters x, y, z"
    elif any(a == b for a, b in pairwise(value)):
        what = "which turns about the same axis twice in a row"
    else:
        return
    yield Finding(
        path,
        f'{owner(path)} has {field(path)} = "{value}", {what}',
        'write for example sequence = "xyz" or sequence = "zxz"',
    )


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
            if value or not isinstance(part, IndependentSpeed | Definition):
                try:
                    read_unit(value)
                except UnitError as error:
                    what = f"{owner(path)} has unit {quoted(value)}: {error}"
                    yield Finding(path, what, error.fix)
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
