"""Serial arms from Denavit–Hartenberg tables, in the standard and the modified convention.

A row has four numbers, of which the joint moves one: θ turns about z, d shifts along z, a shifts
along x and α turns about x. The two conventions put a link's frame at its two ends:

    (1)  standard    X_{i−1,i} = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)                frame at the far end
    (2)  modified    X_{i−1,i} = Rx(α_{i−1}) Tx(a_{i−1}) Rz(θ_i) Tz(d_i)        frame at its joint

In (1) joint i turns about z of frame i−1 and row i describes link i; in (2) it turns about z of its
own frame i, and a, α of row i are those of the link before it, as in Craig's book. Mass center and
inertia are given in the link's frame, so they differ between the conventions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from noslip.base import ModelError, nearest
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, AbstractShape, Placement
from noslip.model.joints import AbstractJointType, Prismatic, Revolute
from noslip.model.model import ModelBuilder
from noslip.model.quantities import ZERO, Vector3

CONVENTIONS = ("standard", "modified")
KINDS = ("revolute", "prismatic")

_Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A row of the table: a joint and the link that it moves.

    Parameters
    ----------
    joint, link : names of the joint and of the body.
    a, alpha, d, theta : m and rad. The joint's coordinate is added to `theta` of a revolute and to
        `d` of a prismatic joint.
    kind : ``"revolute"`` or ``"prismatic"``.
    mass, center_of_mass, inertia, moment : of the link, in its frame, as in :class:`Body`.
    shapes : what the link looks like, in its frame.
    """

    joint: str
    link: str
    mass: Scalar
    inertia: tuple[Scalar, ...] | None = None
    moment: Scalar | None = None
    center_of_mass: Vector3 = ZERO
    a: Scalar = 0.0
    alpha: Scalar = 0.0
    d: Scalar = 0.0
    theta: Scalar = 0.0
    kind: str = "revolute"
    shapes: tuple[AbstractShape, ...] = ()
    description: str = ""


def serial_arm(
    builder: ModelBuilder,
    rows: Iterable[LinkRow],
    *,
    convention: str = "standard",
    parent: str = WORLD,
) -> None:
    """Add the links and joints of a table to a model.

    Parameters
    ----------
    builder : the model that gets them.
    rows : from the base to the tip.
    convention : ``"standard"`` (1) or ``"modified"`` (2).
    parent : the body whose frame is frame 0; to mount the arm elsewhere, fix a base there first.

    Raises
    ------
    ModelError : if there is no such convention or kind of joint.
    """
    where = f"serial arm of model '{builder.name}'"
    if convention not in CONVENTIONS:
        raise ModelError(
            f"there is no convention '{convention}' of Denavit–Hartenberg tables",
            where,
            nearest(convention, CONVENTIONS),
        )
    for k, row in enumerate(rows, 1):
        if row.kind not in KINDS:
            raise ModelError(
                f"joint '{row.joint}' is of kind '{row.kind}'", where, nearest(row.kind, KINDS)
            )
        builder.body(
            row.link,
            mass=row.mass,
            inertia=row.inertia,
            moment=row.moment,
            center_of_mass=row.center_of_mass,
            shapes=row.shapes,
        )
        before, after = _frames(row, convention)
        builder.joint(
            row.joint,
            _joint_type(row),
            parent=parent,
            child=row.link,
            parent_frame=before,
            child_frame=after,
            description=row.description,
            symbols={"angle" if row.kind == "revolute" else "position": f"q_{k}"},
        )
        parent = row.link


def _joint_type(row: LinkRow) -> AbstractJointType:
    return Revolute(axis=_Z) if row.kind == "revolute" else Prismatic(axis=_Z)


def _frames(row: LinkRow, convention: str) -> tuple[Placement, Placement]:
    """The joint's frames on the link before it and on its own link.

    What stands before the joint's motion in (1) or (2) places F on the parent, what stands after it
    places the link on M; the child's frame is the inverse of that.
    """
    if convention == "modified":
        # F: Rx(α) Tx(a);  M: (Rz(θ) Tz(d))⁻¹
        before = Placement(position=(row.a, 0.0, 0.0), angles=(row.alpha, 0.0, 0.0))
        after = Placement(position=(0.0, 0.0, _minus(row.d)), angles=(0.0, 0.0, _minus(row.theta)))
        return before, after
    # F is frame i−1;  M: (Rz(θ) Tz(d) Tx(a) Rx(α))⁻¹ = Rx(−α) Tx(−a) Tz(−d) Rz(−θ)
    across, along = _turned(row.d, row.alpha)
    after = Placement(
        position=(_minus(row.a), _minus(across), _minus(along)),
        angles=(_minus(row.alpha), 0.0, _minus(row.theta)),
    )
    return Placement(), after


def _minus(scalar: Scalar) -> Scalar:
    return f"-({scalar})" if isinstance(scalar, str) else 0.0 - scalar


def _turned(d: Scalar, alpha: Scalar) -> tuple[Scalar, Scalar]:
    """d sin α and d cos α: the shift along z, in axes turned by −α about x."""
    if isinstance(d, str) or isinstance(alpha, str):
        if d == 0.0:
            return 0.0, 0.0
        return f"({d})*sin({alpha})", f"({d})*cos({alpha})"
    return d * math.sin(alpha), d * math.cos(alpha)
