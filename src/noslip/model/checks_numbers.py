"""Checks of numbers at the nominal parameter values: finite, the right sign, the right count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from noslip.expressions import is_finite
from noslip.model.checks_expressions import value_at
from noslip.model.findings import Finding, Path, field, number_text, owner, vector_text
from noslip.model.known_names import Vocabulary
from noslip.model.model import Model
from noslip.model.quantities import POSITIVE
from noslip.model.schema import Key, Kind

#: Numbers beyond these, but for 0, are mistakes, and their products soon leave what a float holds.
SMALLEST, LARGEST = 1e-50, 1e50

_SEQUENCE = re.compile(r"[xyz]{3}")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def check_numbers(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All numbers, counts, axis sequences and colors of the model."""
    values = known.finite_parameters
    for path, key, _, value in known.fields:
        yield from _check_entries(path, key, value)
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


def _check_entries(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """The right count of entries, each a finite number or a text."""
    match key.kind:
        case Kind.SCALARS | Kind.NUMBERS | Kind.TEXTS:
            yield from _check_array(path, key, value)
    for at, entry in numbers_of(path, key, value):
        yield from _check_number(at, entry)


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


def check_type(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """Findings about numbers of a field that no float can hold: another type, or too large."""
    if key.kind is Kind.NUMBERS:
        yield from _check_array(path, key, value)
    for at, entry in numbers_of(path, key, value):
        if not (isinstance(entry, float) or is_finite(entry)):
            yield from _check_number(at, entry)


def _check_array(path: Path, key: Key, value: Any) -> Iterator[Finding]:
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


def _check_number(path: Path, value: Any) -> Iterator[Finding]:
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
