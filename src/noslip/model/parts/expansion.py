"""PartExpansion of parts to plain model data, and checks in the words of the parts.

Fields of parts are checked like those of any element. Faults of what a part has expanded to are
told of the part; where a part has a fault of its own, nothing is said of its elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from noslip.base import Array, Fault, ModelError
from noslip.model.checks import check_identifier, check_kinds, check_references, find_faults
from noslip.model.expression_checks import (
    Fields,
    check_expressions,
    check_numbers,
    check_units,
    vocabulary,
)
from noslip.model.findings import Finding, field, owner
from noslip.model.joints import expand
from noslip.model.model import Model, ModelBuilder, PartExpansion, PartSign, rest_poses
from noslip.model.parts.part import AbstractPart, WheelOutline
from noslip.model.quantities import NumberReader, rotation_about
from noslip.model.schema import leaves

#: How far a wheel may be from the ground, relative to its radius.
TOUCHING = 1e-6


def checked(builder: ModelBuilder) -> tuple[Model, tuple[Fault, ...]]:
    """The expanded model of a builder, and warnings about it.

    Raises
    ------
    ModelError : with all faults of the model, each as what / where / fix.
    """
    model, findings = expanded(builder)
    faults = [finding.fault() for finding in findings if not finding.warning]
    if faults:
        # shapes come last: a negative radius is reported of the wheel, then of its shape
        raise ModelError.from_faults(sorted(faults, key=lambda fault: ".shapes[" in fault.where))
    return model, tuple(finding.fault() for finding in findings)


@np.errstate(all="ignore")  # numbers without a meaning are findings, not warnings of NumPy
def expanded(builder: ModelBuilder) -> tuple[Model, list[Finding]]:
    """The expanded model of a builder, and everything that is found about it."""
    parts = builder.parts
    plain = builder.plain()
    fields = tuple(field for part in parts for field in leaves(part, ("parts", part.name)))
    findings = [*check_kinds((*leaves(plain), *fields)), *_name_faults(parts)]
    if findings:
        return plain, findings
    if not parts:
        joints = expand(plain)
        return joints.model, find_faults(joints.model, joints)
    findings += check_numbers(plain, vocabulary(plain, fields))
    bare = Model(name=plain.name, gravity=plain.gravity)
    try:
        expansion = builder.expand()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # a part that computes with a field that has no value
        findings += check_expressions(bare, vocabulary(plain, fields))
        if not findings:
            raise
        return plain, findings
    joints = expand(expansion.model)
    model = joints.model
    expansion = expansion._replace(model=model)
    known = vocabulary(model, fields)
    # only the fields of the parts are looked at, with the names of everything
    findings += check_references(bare, known)
    findings += check_expressions(bare, known)
    findings += check_units(model, known)
    of_elements = find_faults(model, joints)
    if not findings and not any(f.path[0] == "parameters" for f in of_elements if f.path):
        findings += _geometry_faults(expansion)
    # told of the parts' own fields so far; what is given in place of them is checked by this
    model = replace(model, part_signs=(*model.part_signs, *_signs(fields)))
    return model, [*findings, *_retold(of_elements, findings, expansion)]


def _signs(fields: Fields) -> Iterator[PartSign]:
    """What the fields of parts ask of values that depend on parameters."""
    for path, key, _, value in fields:
        texts = tuple(
            v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, str)
        )
        if key.meaning.sign and texts:
            yield PartSign(
                part=str(path[1]), field=field(path), values=texts, sign=key.meaning.sign
            )


def _name_faults(parts: tuple[AbstractPart, ...]) -> Iterator[Finding]:
    for part in parts:
        path = ("parts", part.name)
        yield from check_identifier(path, part.name, owner(path), is_dotted=True)
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            yield Finding(
                ("parts", name),
                f"{count} parts are called '{name}'",
                "give each part its own name",
            )


def _retold(
    of_elements: Iterable[Finding], of_parts: list[Finding], expansion: PartExpansion
) -> Iterator[Finding]:
    """Findings about elements; those that a part added are reported for the part, once each."""
    at_fault = {f.path[1] for f in of_parts if len(f.path) > 1}
    told = set[tuple[str, str]]()
    for finding in of_elements:
        kind, name = (*map(str, finding.path[:2]), "", "")[:2]
        origin = expansion.origins.get((kind, name))
        if origin is None:
            yield finding
        elif not finding.warning and origin.name not in at_fault:
            element = f"{kind.removesuffix('s')} '{name}'"
            shared = tuple(word for word in finding.path[2:] if hasattr(origin, str(word)))
            if shared and name == origin.name and finding.what.startswith(element):
                # the part has this field too: it is told as the part's
                word = f"{origin.word.replace('_', ' ')} '{name}'"
                what = word + finding.what.removeprefix(element)
            else:
                what = f"part '{origin.name}' is at fault: {finding.what}"
            if (origin.name, what) not in told:
                told.add((origin.name, what))
                yield Finding(("parts", origin.name, *shared), what, finding.fix)


def _geometry_faults(expansion: PartExpansion) -> Iterator[Finding]:
    """Faults that parts report, wheels that miss the ground, and wheels that overlap."""
    read = NumberReader(expansion.model.parameter_values())
    for given, part in expansion.placed:
        for finding in part.faults(expansion.model, read):
            yield Finding(("parts", given.name, *finding.path[2:]), finding.what, finding.fix)
    poses = rest_poses(expansion.model, read)
    wheels = [
        (given, outline, _cylinder(outline, poses, read))
        for given, part in expansion.placed
        for outline in part.outlines()
        if outline.body in poses
    ]
    in_plane = ModelBuilder.from_model(expansion.model).keeps_height
    for given, outline, (center, _, radius, _) in wheels:
        gap = center[2] - radius
        if in_plane(outline.body) and abs(gap) > TOUCHING * radius:
            how = f"hangs {gap:.3g} m above" if gap > 0 else f"sinks {-gap:.3g} m into"
            z = read.scalar(outline.position[2])
            yield Finding(
                ("parts", given.name),
                f"wheel '{outline.name}' {how} the ground",
                f"give its center the height of its radius, position z = {z - gap:.6g} on "
                f"'{outline.body}'",
            )
    yield from _turning_faults([(given, outline) for given, outline, _ in wheels], read)
    for (given, one, a), (_, other, b) in combinations(wheels, 2):
        if one.name != other.name and _overlap(a, b):
            yield Finding(
                ("parts", given.name),
                f"wheels '{one.name}' and '{other.name}' overlap",
                "move them apart, or make them smaller",
            )


def _turning_faults(
    wheels: list[tuple[AbstractPart, WheelOutline]], read: NumberReader
) -> Iterator[Finding]:
    """Axles that are fixed to one body and have no center of rotation in common.

    A wheel with the heading h through c lets its body turn about points p with h·(p − c) = 0.
    """
    bodies: dict[str, list[tuple[AbstractPart, WheelOutline]]] = {}
    for given, outline in wheels:
        if outline.is_held:
            bodies.setdefault(outline.body, []).append((given, outline))
    for body, held in bodies.items():
        turns = np.array([read.scalar(outline.heading) for _, outline in held])
        centers = np.array([read.vector(outline.position)[:2] for _, outline in held])
        headings = np.column_stack([np.cos(turns), np.sin(turns)])
        reach = np.sum(headings * centers, axis=1)
        point = np.linalg.lstsq(headings, reach, rcond=None)[0]
        off = headings @ point - reach
        if np.max(np.abs(off)) > TOUCHING * max(1.0, float(np.max(np.abs(centers)))):
            names = [f"'{outline.name}'" for _, outline in held]
            given = held[int(np.argmax(np.abs(off)))][0]
            yield Finding(
                ("parts", given.name),
                f"wheels {', '.join(names[:-1])} and {names[-1]} of '{body}' cannot turn together: "
                "their axles have no common center of rotation",
                "put them on one line, steer one of them, or let it slip with lateral = false",
            )


#: Center, axis, radius and width.
_Cylinder = tuple[Array, Array, float, float]


def _cylinder(
    outline: WheelOutline, poses: dict[str, tuple[Array, Array]], read: NumberReader
) -> _Cylinder:
    R, p = poses[outline.body]
    turned = R @ rotation_about(np.array([0.0, 0.0, 1.0]), read.scalar(outline.heading))
    center = p + R @ read.vector(outline.position)
    return center, turned[:, 1], read.scalar(outline.radius), read.scalar(outline.width)


def _overlap(a: _Cylinder, b: _Cylinder) -> bool:
    """Whether two wheels with parallel axes overlap; wheels with other axes are not checked."""
    between = b[0] - a[0]
    along = abs(float(between @ a[1]))
    across = float(np.linalg.norm(between - (between @ a[1]) * a[1]))
    parallel = bool(np.linalg.norm(np.cross(a[1], b[1])) < 1e-9)
    near = 1 - 1e-9
    return parallel and along < near * (a[3] + b[3]) / 2 and across < near * (a[2] + b[2])
