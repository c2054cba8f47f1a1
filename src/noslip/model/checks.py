"""The check of a model as a whole: all faults together, each as what, where and fix.

To add a check: write a generator of findings that takes the model and its vocabulary, and list it
in `CHECKS`. A check never raises; where something is not known because of another fault, it stays
silent, so that one mistake is one fault.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from noslip.base import Fault, ModelError
from noslip.model.checks_expressions import check_expressions
from noslip.model.checks_inertia import check_inertia, check_moment
from noslip.model.checks_names import (
    check_names,
    check_references,
    check_symbols,
    check_unused,
    findings_of_members,
)
from noslip.model.checks_numbers import check_numbers, check_type
from noslip.model.checks_scenario import check_scenario
from noslip.model.checks_topology import check_motion, check_single_joints, check_topology
from noslip.model.checks_units import check_units
from noslip.model.composite_joints import Expansion
from noslip.model.findings import Finding, Locate, Path, field, owner
from noslip.model.known_names import Fields, Vocabulary, vocabulary
from noslip.model.model import Model
from noslip.model.schema import Key, Kind, leaves

Check = Callable[[Model, Vocabulary], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    check_names,
    check_references,
    check_symbols,
    check_topology,
    check_motion,
    check_single_joints,
    check_numbers,
    check_inertia,
    check_moment,
    check_expressions,
    check_units,
    check_scenario,
    check_unused,
)


def check_model(
    model: Model, *, locate: Locate | None = None, expanded: Expansion | None = None
) -> tuple[Fault, ...]:
    """Warnings about a model that can be used.

    Parameters
    ----------
    model : Model
        What to check.
    locate : function, optional
        Turns a path such as ``("joints", "steer", "axis")`` into the text of `Fault.where`, such as
        ``car.toml, line 27, joints.steer.axis``; without it the text is ``joints.steer.axis``.

    expanded : Expansion, optional
        Where the parts of composite joints come from.

    Returns
    -------
    tuple of Fault
        What is unusual but allowed: a massless body, an inertia no real body has, an unused name.

    Raises
    ------
    ModelError : with all faults that keep the model from being used.
    """
    findings = find_faults(model, expanded)
    faults = [finding.fault(locate) for finding in findings if not finding.warning]
    if faults:
        # shapes come last: a negative radius is reported of the wheel, then of its shape
        raise ModelError.from_faults(sorted(faults, key=lambda fault: ".shapes[" in fault.where))
    return tuple(finding.fault(locate) for finding in findings)


def find_faults(model: Model, expanded: Expansion | None = None) -> list[Finding]:
    """All findings about a model, faults and warnings, with their paths as they are written."""
    found = _find_faults(model)
    if expanded is None or not expanded.origins:
        return found
    moved = [dataclasses.replace(f, path=expanded.path(f.path)) for f in found]
    return [*expanded.findings, *moved]


@np.errstate(all="ignore")  # numbers without a meaning are findings, not warnings of NumPy
def _find_faults(model: Model) -> list[Finding]:
    fields = tuple(leaves(model))
    # nothing can be said of texts and tables that are none
    findings = check_kinds(fields)
    if findings:
        return findings
    known = vocabulary(model, fields)
    found = {check: list(check(model, known)) for check in CHECKS}
    is_faulty = any(not finding.warning for some in found.values() for finding in some)
    found[check_references] += _findings_of_members(model, known, is_faulty)
    # of a field that is at fault otherwise, its dimension says nothing new
    others = [f for check, some in found.items() if check is not check_units for f in some]
    wrong = {finding.path for finding in others if not finding.warning}
    found[check_units] = [f for f in found[check_units] if f.path not in wrong]
    return [finding for some in found.values() for finding in some]


def _findings_of_members(model: Model, known: Vocabulary, is_faulty: bool) -> Iterator[Finding]:
    """Findings of the members themselves, which may compute with their fields.

    In a model that is refused anyway a field may have no value; its member then stays silent.
    """
    for findings in findings_of_members(model, known):
        try:
            yield from findings
        except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError):
            if not is_faulty:
                raise


def check_kinds(fields: Fields) -> list[Finding]:
    """Findings about fields that must be texts, truth values, tables or numbers and are not."""
    return [
        finding
        for path, key, _, value in fields
        for check in (_check_kind, check_type)
        for finding in check(path, key, value)
    ]


_TYPES: dict[Kind, type] = {
    Kind.TEXT: str,
    Kind.TRUTH: bool,
    Kind.SCALAR_TABLE: dict,
    Kind.TEXT_TABLE: dict,
}

_EXAMPLES = {
    Kind.TEXT: 'write it in quotes, such as {name}="…"',
    Kind.TRUTH: "write {name}=True or {name}=False",
    Kind.SCALAR_TABLE: 'write {name}={{"wheel1.angle": 0.5}}',
    Kind.TEXT_TABLE: 'write {name}={{"angle": "0.5*t"}}, with expressions in quotes',
}


def _check_kind(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """One field that must be a text, a truth value, or a table of texts or scalars.

    A file is checked for this as it is read; a model that was built may hold anything.
    """
    expected = _TYPES.get(key.kind)
    if expected is None:
        return
    wrong = not isinstance(value, expected)
    if not wrong and isinstance(value, dict):
        wrong = not all(isinstance(name, str) for name in value)
        if key.kind is Kind.TEXT_TABLE:
            wrong = wrong or not all(isinstance(text, str) for text in value.values())
    if wrong:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {value!r:.60}, expected {key.kind.value}",
            _EXAMPLES[key.kind].format(name=key.name),
        )
