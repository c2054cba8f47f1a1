"""`Follower`, the part of a vehicle that follows a path: shared by timing laws, motions, `track`.

A vehicle is seen as a chain of frames: an axle that follows the path, and axles hinged to it. A
hinge is an :class:`AxleLink`: from the twist of the frame that is known follows that of the next,
whose axle cannot move sideways. A steered wheel, a waist and a trailer are all links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noslip.control.path_geometry import assign, check_fields, positive
from noslip.control.reference_motion import Frame
from noslip.expressions import Scalar
from noslip.model import ZERO, Vector3

#: A place in the axes of a frame: ahead and to the left, m.
Place = tuple[Scalar, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxleLink:
    """A hinge from a frame that is known to a frame whose axle cannot move sideways.

    With φ the heading of the far frame less that of the near one,

        φ = sign · coordinate + offset
    """

    coordinate: str  #: name of the hinge's angle
    near: Place  #: the hinge in the near frame, m
    #: the hinge in the far frame, m; with no distance ahead of the axle (a steered wheel, a hitch
    #: on the axle) φ follows from the path by differentiation, else by integration
    far: Place = (0.0, 0.0)
    origin: int = 0  #: the near frame: 0 is what follows the path, k the far frame of the k-th link
    #: sign, offset: 1 or −1, and rad
    sign: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Part of a vehicle that follows a path: a frame of its base, or the axle of its trailer.

    What is None is found from the constraints by :func:`track`. With the steering or the hinge
    named, or both the point and the direction, nothing but what speed inputs move is looked for:
    the rest is the origin of the base, its x axis and no steering.
    """

    point: Vector3 | None = None  #: point of the base that follows the path, in its body frame, m
    #: direction of the base that points along the path, in its body frame
    direction: Vector3 | None = None
    #: whether the vehicle drives backwards: `direction` points against the path, a trailer goes
    #: first
    reverse: bool = False
    #: heading of a base that can move sideways, rad: a number or an expression of the arc length
    #: ``s``; None for along the path
    heading: Scalar | None = None
    #: name of the steering coordinate; empty for a base that turns by its wheels
    steering: str | None = None
    wheelbase: Scalar = 0.0  #: distance from the point ahead to the steered wheel, m
    #: angle that the steering can reach, rad; a path that needs more is refused; π/2 by default
    largest_steering: float | None = None
    #: largest rate at which the steering turns while the vehicle stands at a cusp, rad/s; by
    #: default the limit of its speed input if there is one, else 0.5 rad/s
    steering_rate: float | None = None
    #: name of the trailer's angle on the base, to let the trailer's axle follow the path
    hinge: str | None = None
    hitch: Scalar = 0.0  #: distance from the base's origin back to the hinge, m
    trailer: Scalar = 0.0  #: distance from the hinge back to the trailer's axle, m
    #: hinges whose angles the path determines, beside `steering`; those that :func:`find_follower`
    #: found
    links: tuple[AxleLink, ...] | None = None
    #: frame of `point` and `direction`: 0 follows the path itself, k is the far frame of the k-th
    #: link
    base: int = 0
    body: str = ""  #: name of the body whose axle follows; the base if it is empty
    #: coordinates that the path leaves open and motors can hold, with where they stay
    held: tuple[tuple[str, float], ...] = ()
    #: coordinates of the reference that the path leaves open, such as a caster's angle → value at
    #: the start, or where they are held
    reference: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # motions are keys of caches, so no lists
        for name in ("point", "direction", "links"):
            given = getattr(self, name)
            assign(self, **{name: None if given is None else tuple(given)})
        for name in ("largest_steering", "steering_rate"):
            if getattr(self, name) is not None:
                check_fields(self, **{name: positive})
        assign(self, held=tuple((str(name), float(value)) for name, value in self.held))

    @property
    def frame(self) -> Frame:
        """Point and direction of the base, its origin and x axis if they are not known."""
        ahead = (1.0, 0.0, 0.0) if self.direction is None else self.direction
        return ZERO if self.point is None else self.point, ahead

    def arguments(self) -> dict[str, Any]:
        """Values for a controller's arguments, by name."""
        point, direction = self.frame
        steers = {"steering": self.steering, "wheelbase": self.wheelbase} if self.steering else {}
        return {"point": point, "direction": direction, **steers, **self._drawbar()}

    def _drawbar(self) -> dict[str, Any]:
        """The one trailer that goes first, as arguments."""
        if self.hinge:
            return {"hinge": self.hinge, "hitch": self.hitch, "trailer": self.trailer}
        links = self.links or ()
        if len(links) != 1 or self.base != 1 or self.frame[0] != ZERO:
            return {}
        link = links[0]
        ahead, back = link.near, link.far
        if ahead[1] or back[1] or link.sign > 0 or link.offset or isinstance(back[0], str):
            return {}
        return {"hinge": link.coordinate, "hitch": -back[0], "trailer": ahead[0]}

    def text(self) -> str:
        """Describe what follows, which way it heads, and what steers."""
        point, ahead = (", ".join(_short(e) for e in v[:2]) for v in self.frame)
        follows = f"point ({point}) m of the base, heading along ({ahead})"
        if self.body or self.hinge:
            follows = f"axle of '{self.body}'" if self.body else "axle of the trailer"
        how = ["in reverse"] if self.reverse else []
        if self.heading is not None:
            how.append(f"heading {self.heading} rad")
        led = [self.steering] if self.steering else []
        led += [link.coordinate for link in self.links or () if link.coordinate not in led]
        led += [self.hinge] if self.hinge and self.hinge not in led else []
        if led:
            how.append(f"with {', '.join(led)} as it must be")
        if self.held:
            how.append(f"{', '.join(name for name, _ in self.held)} held")
        return ", ".join([follows, *how])


def _short(value: Scalar) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
