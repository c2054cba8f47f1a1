"""Rigid bodies, where things are placed on them, and what they look like."""

from __future__ import annotations

from dataclasses import dataclass

from noslip.model.quantities import ZERO, Scalar, Vector3

#: The body that does not move. Joints and planes refer to it by this name.
WORLD = "world"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a frame sits on a body.

    Parameters
    ----------
    position : of the frame's origin, in the body frame, m.
    angles : three rotations in rad about the axes of `sequence`, each about the axis as already
        turned
        (intrinsic); R = R₁(a₁) R₂(a₂) R₃(a₃).
    sequence : three of the letters x, y, z.
    """

    position: Vector3 = ZERO
    angles: Vector3 = ZERO
    sequence: str = "xyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box with edge lengths `size` (m) along the axes of its frame."""

    size: Vector3
    frame: Placement = Placement()
    color: str = "#4c78a8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """A cylinder of `radius` and `length` (m) along the z axis of its frame."""

    radius: Scalar
    length: Scalar
    frame: Placement = Placement()
    color: str = "#333333"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """A sphere of `radius` (m) about the origin of its frame."""

    radius: Scalar
    frame: Placement = Placement()
    color: str = "#e45756"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A torus: a ring of `radius` (m) about the z axis of its frame, its tube of `tube_radius`."""

    radius: Scalar
    tube_radius: Scalar
    frame: Placement = Placement()
    color: str = "#333333"


Shape = Box | Cylinder | Sphere | Ring


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A rigid body: mass, mass center, inertia tensor, and shapes to draw.

    Give either `inertia` or, for a body that only ever turns about its z axis, `moment`.

    Parameters
    ----------
    name : unique among the bodies; ``world`` is taken.
    mass : kg; 0 is allowed for a body whose motion is carried by others.
    inertia : about the mass center, along the body axes, kg m²: three diagonal entries
        (Ixx, Iyy, Izz), or six (Ixx, Iyy, Izz, Ixy, Ixz, Iyz), the products being the entries of
        the tensor itself, Ixy = −∫ x y dm.
    moment : moment of inertia about the body's z axis through the mass center, kg m².
    center_of_mass : in the body frame, m.
    shapes : what it looks like.
    """

    name: str
    mass: Scalar
    inertia: tuple[Scalar, ...] | None = None
    moment: Scalar | None = None
    center_of_mass: Vector3 = ZERO
    shapes: tuple[Shape, ...] = ()

    def inertia_entries(self) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
        """(Ixx, Iyy, Izz, Ixy, Ixz, Iyz) whichever way the inertia was given."""
        if self.moment is not None:
            return (0.0, 0.0, self.moment, 0.0, 0.0, 0.0)
        given = self.inertia or ()
        if len(given) == 3:
            return (given[0], given[1], given[2], 0.0, 0.0, 0.0)
        if len(given) == 6:
            return (given[0], given[1], given[2], given[3], given[4], given[5])
        raise ValueError(f"body '{self.name}' has {len(given)} inertia entries, expected 3 or 6")
