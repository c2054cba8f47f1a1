"""Checks of masses and inertia at the nominal parameter values.

`moment` is about the z axis of the body. A body that gives it and is turned about another axis
would have no inertia at all there, and its motion would be wrong without a word.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noslip.expressions import ExpressionError
from noslip.model.bodies import WORLD, Body, Placement
from noslip.model.checks_expressions import value_at
from noslip.model.findings import Finding, number_text, vector_text
from noslip.model.joints import Joint, motion_numbers
from noslip.model.known_names import Vocabulary
from noslip.model.model import Model
from noslip.model.number_reader import Array

#: By which joints a body turns, and about which axes in its own frame.
Turns = list[tuple[str, Array]]

#: Sine of the angle below which an axis counts as parallel to z.
PARALLEL = 1e-9

#: Principal moments are compared to rounding, relative to the largest of them.
ROUNDING = 1e-9


def check_inertia(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Mass and inertia of every body."""
    values = known.finite_parameters
    fixed = {joint.child for joint in model.joints if not joint.type.speeds}
    for body in model.bodies:
        yield from _check_mass(body, values, body.name in fixed)
        yield from _check_given_once(body)
        if body.inertia is not None:
            yield from _check_tensor(body, values)
        moment = None if body.moment is None else value_at(body.moment, values)
        if moment is not None and moment < 0.0:
            yield Finding(
                ("bodies", body.name, "moment"),
                f"body '{body.name}' has moment {number_text(moment)}, expected 0 or more",
                "give a moment of inertia of zero or more",
            )


def _check_mass(body: Body, values: dict[str, float], is_fixed: bool) -> Iterator[Finding]:
    path = ("bodies", body.name, "mass")
    mass = value_at(body.mass, values)
    if mass is None:
        return
    if mass < 0.0:
        yield Finding(
            path,
            f"body '{body.name}' has mass {number_text(mass)}, expected 0 or more",
            "give a mass in kg of zero or more",
        )
    elif mass == 0.0 and not is_fixed:  # a fixed one is a frame on another
        yield Finding(
            path,
            f"body '{body.name}' has no mass; its motion must be fixed by bodies that have one",
            "give it a mass, or leave it if other bodies carry its motion",
            True,
        )


def _check_given_once(body: Body) -> Iterator[Finding]:
    path = ("bodies", body.name)
    if body.inertia is None and body.moment is None:
        yield Finding(
            path,
            f"body '{body.name}' has neither inertia nor moment",
            "add inertia = [Ixx, Iyy, Izz], about the axes of the body; or moment = Izz if it only "
            "ever turns about its z axis",
        )
    if body.inertia is not None and body.moment is not None:
        yield Finding(
            path,
            f"body '{body.name}' has both inertia and moment",
            "keep inertia, or moment (about z) if it only ever turns about its z axis",
        )


def _check_tensor(body: Body, values: dict[str, float]) -> Iterator[Finding]:
    """Three or six entries; principal moments not negative, none above the sum of the others."""
    path = ("bodies", body.name, "inertia")
    given = body.inertia if isinstance(body.inertia, tuple) else ()
    if len(given) not in (3, 6):
        yield Finding(
            path,
            f"body '{body.name}' has inertia with {len(given)} values, expected 3 or 6",
            "give (Ixx, Iyy, Izz) or (Ixx, Iyy, Izz, Ixy, Ixz, Iyz)",
        )
        return
    entries = [value_at(entry, values) for entry in given]
    numbers = [entry for entry in entries if entry is not None]
    if len(numbers) != len(entries):
        return
    xx, yy, zz, xy, xz, yz = (*numbers, 0.0, 0.0, 0.0)[:6]
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    largest = float(np.abs(moments).max())
    listed = vector_text(tuple(float(m) for m in moments))
    if moments[0] < -ROUNDING * largest:
        yield Finding(
            path,
            f"body '{body.name}' has principal moments of inertia {listed}, expected 0 or more",
            "check the entries and the signs of the products: Ixy = -∫ x y dm",
        )
    elif moments[0] + moments[1] < moments[2] - ROUNDING * largest:
        yield Finding(
            path,
            f"body '{body.name}' has principal moments of inertia {listed}, which no body has: "
            "the largest is above the sum of the others",
            "check the entries; A + B >= C holds for every distribution of mass",
            True,
        )


def check_moment(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Check that bodies with a moment turn about their z axis, with all joints at rest."""
    flat = [body.name for body in model.bodies if body.moment is not None]
    values = known.finite_parameters
    turns: dict[str, Turns] = {WORLD: []}
    for joint in known.topology.tree if flat else ():
        before = turns.get(joint.parent)
        found = None if before is None else _turns(joint, before, values)
        if found is not None:
            turns[joint.child] = found
    for name in flat:
        wrong = [turn for turn in turns.get(name, []) if np.hypot(*turn[1][:2]) > PARALLEL]
        if wrong:
            joint_name, axis = wrong[0]
            yield Finding(
                ("bodies", name, "moment"),
                f"body '{name}' has moment, its inertia about its own z axis alone, but joint "
                f"'{joint_name}' turns it about {vector_text(tuple(axis.round(9) + 0.0))}",
                "give inertia = [Ixx, Iyy, Izz] instead, about the axes of the body",
                True,
            )


def _turns(joint: Joint, before: Turns, values: dict[str, float]) -> Turns | None:
    """By what the child turns, in its frame, with all joints at rest; None if that is not known.

    ω_child = Rᵀ ω_parent + R_BM H v, H the angular part of the joint's motion, and
    R = R_PF R_BMᵀ since F and M coincide at rest.
    """
    R_PF, R_BM = (_rotation(f, values) for f in (joint.parent_frame, joint.child_frame))
    if R_PF is None or R_BM is None:
        return None
    try:
        H = motion_numbers(joint.type, values)[:3]
    except (TypeError, KeyError, IndexError, ExpressionError):
        # fields that cannot be read are faults of their own
        return None
    if not np.all(np.isfinite(H)):
        return None
    columns = [column for column in H.T if column.any()]
    own = [(joint.name, R_BM @ column) for column in columns]
    return [(name, (R_PF @ R_BM.T).T @ axis) for name, axis in before] + own


def _rotation(frame: Placement, values: dict[str, float]) -> Array | None:
    """R₁(a₁) R₂(a₂) R₃(a₃), or None if an angle is not known."""
    R = np.eye(3)
    for letter, entry in zip(frame.sequence, frame.angles, strict=False):
        angle = value_at(entry, values)
        if angle is None or letter not in "xyz":
            return None
        i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[letter]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        R = R @ turn
    return R
