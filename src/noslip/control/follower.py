"""What of a vehicle follows a path, as plain data: timing laws, motions and `track` share it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noslip.control.paths.base import assign
from noslip.model.quantities import ZERO, Scalar, Vector3


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """What of a vehicle follows a path: a frame of its base, or the axle of its trailer.

    Parameters
    ----------
    point : of the base that follows the path, in its body frame, m.
    direction : of the base that points along the path, in its body frame.
    reverse : drive backwards: `direction` points against the path, a trailer goes first.
    steering : name of the steering coordinate; empty for a base that turns by its wheels.
    wheelbase : from the point ahead to the steered wheel, m.
    largest_steering : angle that the steering can reach, rad; a path that needs more is refused.
    hinge : name of the trailer's angle on the base, to let the trailer's axle follow the path.
    hitch : from the base's origin back to the hinge, m.
    trailer : from the hinge back to the trailer's axle, m.
    """

    point: Vector3 = ZERO
    direction: Vector3 = (1.0, 0.0, 0.0)
    reverse: bool = False
    steering: str = ""
    wheelbase: Scalar = 0.0
    largest_steering: float = math.pi / 2
    hinge: str = ""
    hitch: Scalar = 0.0
    trailer: Scalar = 0.0

    def __post_init__(self) -> None:
        # motions are keys of caches, so no lists
        assign(self, point=tuple(self.point), direction=tuple(self.direction))

    def arguments(self) -> dict[str, Any]:
        """What a controller may want to know of it, by the names of arguments."""
        steers = {"steering": self.steering, "wheelbase": self.wheelbase} if self.steering else {}
        return {"point": self.point, "direction": self.direction, **steers}
