"""Tables of parameters as models: Denavit–Hartenberg tables, and bicycles as measured.

**Parameter files of bicycles, as the package BicycleParameters writes them.**

A line is ``name = value``, with ``+/- deviation`` after it if it was measured; names and axes are
those of [MeijaardPapadopoulosRuinaSchwab2007]: x forward, y to the right, z down. The bicycle is
the library's whipple-bicycle with these values.

**Denavit–Hartenberg tables as CSV files, in the standard and the modified convention.**

    # convention: modified
    joint,    alpha_deg, a,      d,     theta, mass, cx,   cy, cz, ixx, iyy, izz
    shoulder, 0,         0,      0.3,   0,     4.0,  0,    0,  0.1, …
    elbow,    -90,       0.05,   0,     0,     2.5,  0.2,  0,  0, …

A row is a joint and the link that it moves; its four numbers are those of
`model.parts.denavit_hartenberg`, which defines both conventions. The convention must be said, since
a table does not show it. Mass center, inertia about it (in the link's frame), damping, friction,
armature and limits are further columns; a table without masses has rods of `ROD_MASS`.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from noslip import Fault, Model, ModelError, load
from noslip.base import LARGEST, Array, csv_rows, nearest, read_number, read_text
from noslip.bridges.robots import (
    AbstractRobotFormat,
    Geometry,
    Link,
    LinkJoint,
    Pose,
    RobotDescription,
    joined_link,
)
from noslip.model import (
    CONVENTIONS,
    KINDS,
    AbstractModelFormat,
    check_model,
    rotation_about,
    rotation_to,
)

_BICYCLE_BYTES = 100_000
#: Names that such files may have beside those of the bicycle: the speed it was computed at.
BESIDE = ("v",)

_LINE = re.compile(r"\s*(\w+)\s*=\s*(\S+)(?:\s*\+/-\s*(\S+))?\s*(?:[#%].*)?")


class BicycleParameters(AbstractModelFormat):
    """Values of a bicycle by the names of the benchmark; see the list at the top of this file."""

    __slots__ = ()

    word = "bicycle"
    name = "BicycleParameters"
    suffixes = ("benchmark.txt",)

    def read(self, path: Path) -> tuple[Model, tuple[Fault, ...]]:
        """The bicycle with the values of a file, and notes on what was not used or not given."""
        file = os.fspath(path)
        fix = "give lines such as IBxx = 11.3 +/- 0.1"
        text = read_text(file, ModelError, fix, max_bytes=_BICYCLE_BYTES)
        model = load("whipple-bicycle")
        known = {p.name: p for p in model.parameters}
        faults: list[Fault] = []
        values: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{file}, line {number}"
            if not line.strip() or line.lstrip()[0] in "#%":
                continue
            found = _LINE.fullmatch(line)
            value = _number(found[2]) if found is not None else None
            if found is None or value is None:
                faults.append(
                    Fault(f"'{line.strip()[:60]}' is not a name with a value", where, fix)
                )
            elif found[1] in values:
                faults.append(Fault(f"'{found[1]}' is given twice", where, "leave one out"))
            elif found[1] not in (*known, *BESIDE):
                what = f"the benchmark bicycle has no parameter '{found[1]}'"
                faults.append(Fault(what, where, nearest(found[1], known)))
            else:
                values[found[1]] = value
        missing = [name for name in known if name not in values and name != "g"]
        if missing:
            listed = ", ".join(missing[:8])
            faults.append(Fault(f"{listed} is not given", file, "give all values of the bicycle"))
        if faults:
            raise ModelError.from_faults(faults)
        name = Path(file).name[: -len(self.suffixes[0])].strip("-_. ") or "bicycle"
        made = dataclasses.replace(
            model,
            name=re.sub(r"[^A-Za-z0-9_-]", "-", name, flags=re.ASCII),
            description=f"Bicycle of {Path(file).name}",
            parameters=tuple(
                dataclasses.replace(p, value=values.get(p.name, p.value)) for p in model.parameters
            ),
        )
        return made, check_model(made)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None


MAX_BYTES = 100_000
#: Mass of a link in a table without masses, kg, and radius of what is drawn, m.
ROD_MASS, ROD_RADIUS = 1.0, 0.02

_TABLE = ("a", "alpha", "d", "theta")
_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_NUMBERS = (
    *(*_TABLE, "mass", "cx", "cy", "cz"),
    *(*_INERTIA, "damping", "friction", "armature", "lower", "upper"),
)
_WORDS = ("joint", "link", "kind")
#: Columns in degrees, by the ones in rad that they stand for.
_DEGREES = {f"{name}_deg": name for name in ("alpha", "theta", "lower", "upper")}
_COLUMNS = (*_WORDS, *_NUMBERS, *_DEGREES)
_CONVENTION = re.compile(r"#\s*convention\s*[:=]\s*(\S*)\s*", re.IGNORECASE)


class DenavitHartenberg(AbstractRobotFormat):
    """A Denavit–Hartenberg table; see the list at the top of this file."""

    __slots__ = ()

    word = "dh"
    name = "Denavit–Hartenberg table"
    suffixes = (".dh.csv",)

    def describe(self, path: Path) -> RobotDescription:
        """The arm of a table."""
        return read_dh_table(path)


def read_dh_table(path: str | os.PathLike[str]) -> RobotDescription:
    """The arm that a table describes; its base is the link ``base``.

    Raises
    ------
    ModelError : with the line of what cannot be read.
    """
    file = os.fspath(path)
    fix = "give a line '# convention: modified', a line of column names, and a row for each joint"
    text = read_text(file, ModelError, fix, max_bytes=MAX_BYTES)
    is_modified = _convention(text, file) == "modified"
    rows = [row for row in csv_rows(text, file, ModelError, fix) if not row[1][0].startswith("#")]
    if len(rows) < 2:
        raise ModelError("the table has no rows", file, fix)
    (where, header), *others = rows
    columns = _columns(header, where)
    values = [_values(columns, fields, at) for at, fields in others]
    links: list[Link] = [Link(name="base", where=file)]
    joints: list[LinkJoint] = []
    has_mass = "mass" in columns
    for k, (words, numbers, at) in enumerate(values, 1):
        after = values[k][1] if k < len(values) else {}
        joint = _joint(words, numbers, at, k, links[-1].name, is_modified)
        joints.append(joint)
        links.append(_link(joint.child, numbers, after, at, has_mass, is_modified))
    notes = () if has_mass else (f"the table has no masses: each link is a rod of {ROD_MASS:g} kg",)
    name = Path(file).name[: -len(DenavitHartenberg.suffixes[0])]
    return RobotDescription(
        name=name or "arm", file=file, links=tuple(links), joints=tuple(joints), notes=notes
    )


def _convention(text: str, file: str) -> str:
    found = [
        (k, match[1].lower())
        for k, line in enumerate(text.splitlines(), 1)
        if (match := _CONVENTION.match(line)) is not None
    ]
    fix = "write '# convention: standard' (frames at the far ends of links) or 'modified' (Craig)"
    if not found:
        raise ModelError("the table does not name its convention", file, fix)
    (line, word), *more = found
    if word not in CONVENTIONS or any(other != word for _, other in more):
        raise ModelError(f"the convention is '{word[:40]}'", f"{file}, line {line}", fix)
    return word


def _columns(header: list[str], where: str) -> list[str]:
    columns = [name.strip().lower() for name in header]
    faults = [
        Fault(f"there is no column '{name[:40]}'", where, nearest(name[:40], _COLUMNS))
        for name in columns
        if name not in _COLUMNS
    ]
    plain = [_DEGREES.get(name, name) for name in columns]
    twice = sorted({name for name in plain if plain.count(name) > 1})
    faults += [Fault(f"column '{name}' occurs twice", where, "leave one out") for name in twice]
    missing = [name for name in _TABLE if name not in plain]
    if missing:
        fix = "give a, alpha (or alpha_deg), d and theta (or theta_deg), zero where nothing is"
        faults.append(Fault(f"column '{missing[0]}' is missing", where, fix))
    if faults:
        raise ModelError.from_faults(faults)
    return columns


def _values(
    columns: list[str], fields: list[str], where: str
) -> tuple[dict[str, str], dict[str, float], str]:
    """Words and numbers of a row; empty fields are left out."""
    if len(fields) != len(columns):
        raise ModelError(
            f"the row has {len(fields)} fields, its header {len(columns)}",
            where,
            "give a field for each column; it may be empty",
        )
    words, numbers = dict[str, str](), dict[str, float]()
    for name, field in zip(columns, fields, strict=True):
        if not field.strip():
            continue
        if name in _WORDS:
            words[name] = field.strip()
            continue
        number = read_number(field, name, where, ModelError, "give a number in SI units")
        numbers[_DEGREES.get(name, name)] = math.radians(number) if name in _DEGREES else number
    kind = words.get("kind", KINDS[0])
    if kind not in KINDS:
        raise ModelError(f"the kind is '{kind[:40]}'", where, nearest(kind[:40], KINDS))
    if kind == "prismatic" and {"lower_deg", "upper_deg"} & set(columns):
        raise ModelError(
            "a prismatic joint has limits in degrees", where, "give lower and upper, rad or m"
        )
    return words, numbers, where


def _joint(
    words: Mapping[str, str], row: Mapping[str, float], where: str, k: int, parent: str,
    is_modified: bool,
) -> LinkJoint:  # fmt: skip
    turn = Pose(np.array([0.0, 0.0, row.get("d", 0.0)]), _about("z", row.get("theta", 0.0)))
    shift = Pose(np.array([row.get("a", 0.0), 0.0, 0.0]), _about("x", row.get("alpha", 0.0)))
    # (2) and (1) of denavit_hartenberg.py: Rx(α) Tx(a) = Tx(a) Rx(α), and so about z
    pose = shift.at(turn) if is_modified else turn.at(shift)
    # the joint's axis: z of the link's own frame, or of the frame before it
    own = Pose() if is_modified else pose.inverse()
    return LinkJoint(
        name=words.get("joint", f"joint{k}"),
        where=where,
        kind=words.get("kind", KINDS[0]),
        parent=parent,
        child=words.get("link", f"link{k}"),
        pose=pose,
        anchor=own.p,
        axis=own.R[:, 2],
        damping=row.get("damping", 0.0),
        friction=row.get("friction", 0.0),
        armature=row.get("armature", 0.0),
        lower=row.get("lower", -math.inf),
        upper=row.get("upper", math.inf),
    )


def _link(
    name: str, row: Mapping[str, float], after: Mapping[str, float], where: str, has_mass: bool,
    is_modified: bool,
) -> Link:  # fmt: skip
    """A link with its mass, drawn as rods from its joint to the next."""
    rods = list(_rods(row, after, is_modified))
    link = Link(name=name, where=where, visuals=tuple(_rod(*ends) for ends in rods))
    if has_mass:
        xx, yy, zz, xy, xz, yz = (row.get(key, 0.0) for key in _INERTIA)
        return replace(
            link,
            mass=row.get("mass", 0.0),
            center=np.array([row.get(key, 0.0) for key in ("cx", "cy", "cz")]),
            inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
        )
    lengths = [float(np.linalg.norm(end - start)) for start, end in rods]
    for (start, end), length in zip(rods, lengths, strict=True):
        m, along = ROD_MASS * length / sum(lengths), (end - start) / length
        across = m * (3 * ROD_RADIUS**2 + length**2) / 12
        moments = across * np.eye(3) + (m * ROD_RADIUS**2 / 2 - across) * np.outer(along, along)
        link = joined_link(link, m, (start + end) / 2, moments)
    if not rods:  # a ball at the joint
        link = joined_link(link, ROD_MASS, np.zeros(3), 0.4 * ROD_MASS * ROD_RADIUS**2 * np.eye(3))
    return link


def _rods(
    row: Mapping[str, float], after: Mapping[str, float], is_modified: bool
) -> Iterator[tuple[Array, Array]]:
    """Ends of the straight parts of a link, in its frame."""
    a, d = (after if is_modified else row).get("a", 0.0), row.get("d", 0.0)
    if is_modified:
        # back along the joint's axis, then on to the next joint
        corner, up = np.zeros(3), np.array([0.0, 0.0, -d])
        far = np.array([a, 0.0, 0.0])
    else:
        corner, far = np.array([-a, 0.0, 0.0]), np.zeros(3)
        up = corner - d * _about("x", row.get("alpha", 0.0)).T[:, 2]
    for start, end in ((up, corner), (corner, far)):
        if float(np.linalg.norm(end - start)) > 1e-9:
            yield start, end


def _rod(start: Array, end: Array) -> Geometry:
    pose = Pose((start + end) / 2, rotation_to(end - start))
    length = float(np.linalg.norm(end - start))
    return Geometry(kind="cylinder", size=(ROD_RADIUS, length), pose=pose)


def _about(axis: str, angle: float) -> Array:
    turn: Array = rotation_about(np.eye(3)["xyz".index(axis)], angle)
    return turn
