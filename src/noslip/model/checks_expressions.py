"""Checks of expressions: readable, made of known names, with a value, linear where they must be.

What an expression may use depends on where it stands; its field says so. The scenario has its own
names and is checked in `checks_scenario.py` with the functions of this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from noslip.expressions import (
    CONSTANTS,
    RATE,
    Expression,
    ExpressionError,
    Measure,
    Name,
    Number,
    Scalar,
    apply_to_numbers,
    fold,
    is_finite,
    measures_in,
    names_in,
    names_of,
    parse,
)
from noslip.model.findings import Finding, Path, field, hint, number_text, owner
from noslip.model.known_names import TIME, Vocabulary
from noslip.model.model import IndependentSpeed, Model
from noslip.model.parameter_dependence import Dependence, dependence
from noslip.model.rows import AbstractRow
from noslip.model.schema import Key, Kind

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
    scopes = {(kinds, own): _scope(known, kinds, own) for kinds, own in kinds_of_names}
    for path, key, part, value in known.fields:
        if path[0] == "scenario" and path[1:3] != ("plant", "forces"):
            continue
        scope = scopes[key.meaning.scope, key.meaning.own]
        given = beside(key.meaning.own, values)
        for at, text in texts_of(path, key, value):
            findings = list(check_text(at, text, scope, known, given))
            yield from findings or _check_dependence(at, key, part, parse(text), known)


def beside(own: tuple[str, ...], values: Mapping[str, T]) -> Mapping[str, T]:
    """What names of the model stand for in a field, where its own variables hide theirs."""
    return {k: x for k, x in values.items() if k not in own} if own else values


def _scope(known: Vocabulary, kinds: tuple[str, ...], own: tuple[str, ...]) -> Scope:
    """Scope of a field: names of some kinds, and its own."""
    return scope_of(known, kinds, **{" and ".join(own): own}) if own else scope_of(known, kinds)


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
        case Kind.SCALAR if isinstance(value, str):
            yield path, value
        case Kind.SCALARS if isinstance(value, tuple):
            yield from (((*path, k), v) for k, v in enumerate(value) if isinstance(v, str))
        case Kind.TEXT_TABLE if key.meaning.is_plain:
            pass
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
    yield from _check_measures(path, said_of(path, text), tree, scope, known)
    if not unknown and is_undefined(tree, values):
        yield _undefined(path, said_of(path, text), tree, values)


def _check_measures(
    path: Path, said: str, tree: Expression, scope: Scope, known: Vocabulary
) -> Iterator[Finding]:
    """Measures are of bodies that exist, at points fixed in them, where there is a motion."""
    for measure in measures_in(tree):
        if not scope.has_measures:
            what = f"{said}, which uses '{measure.word}' of a motion"
            yield Finding(path, what, f"only {scope.words} may be used here")
            return
        if measure.word == RATE:
            continue
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


def _check_dependence(
    path: Path, key: Key, part: Any, tree: Expression, known: Vocabulary
) -> Iterator[Finding]:
    """A field is linear where it must be, and rows hold what they must hold."""
    names = getattr(known, key.meaning.linear_in) if key.meaning.linear_in else ()
    if dependence(tree, dict.fromkeys(names, Dependence.LINEAR)) is Dependence.NONLINEAR:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} that is not linear in the {key.meaning.linear_in}",
            f"write a sum of terms that have at most one {key.meaning.linear_in[:-1]} as a factor",
        )
    if isinstance(part, AbstractRow | IndependentSpeed) and key.name == "expression":
        yield from part.expression_faults(path, tree, known)
