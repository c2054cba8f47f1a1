"""Checks of masses and inertia tensors at the nominal parameter values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noslip.model.bodies import Body
from noslip.model.checks_expressions import value_at
from noslip.model.findings import Finding, number_text, vector_text
from noslip.model.model import Model
from noslip.model.vocabulary import Vocabulary

#: Principal moments are compared to rounding, relative to the largest of them.
ROUNDING = 1e-9


def check_inertia(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Mass and inertia of every body."""
    values = known.finite_parameters
    for body in model.bodies:
        yield from _check_mass(body, values)
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


def _check_mass(body: Body, values: dict[str, float]) -> Iterator[Finding]:
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
    elif mass == 0.0:
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
