"""What a driver has in hand: `Channel`, one thing to command, and `Helm`, all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noslip.engines.system import Array, System
from noslip.kinematics.tree import Node
from noslip.model.contacts import Rolling
from noslip.model.expressions import nominal
from noslip.model.forces import Motor
from noslip.studio.driving.balance import Balance

#: How a channel acts.
PLACE, SPEED, FORCE = "place", "speed", "force"

#: Turning rate of a base at most, rad/s.
TURNING = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """One thing to command.

    Parameters
    ----------
    label, unit : for the page.
    kind : `PLACE` of a joint, `SPEED` of the base or a wheel, `FORCE` as it is.
    largest : of the command, in its unit.
    least : the same; minus the largest by default.
    rate : largest rate of a place, unit/s, or of a speed, unit/s².
    row : (nv,) the tree speeds' part in the speed that is commanded, or whose integral is.
    coordinate : index of a commanded place, else −1.
    speed_input : name of the speed input that moves it, else empty.
    force_input : name of a force input that is given as it is, else empty.
    left : +1 if more of it goes to the left, or −1.
    """

    label: str
    unit: str
    kind: str
    largest: float
    least: float = -np.inf
    rate: float = 0.0
    row: Array = field(default_factory=lambda: np.zeros(0))
    coordinate: int = -1
    speed_input: str = ""
    force_input: str = ""
    left: float = 1.0

    def within(self, command: float) -> float:
        """A command as far as the channel goes."""
        return min(max(command, self.lower), self.largest)

    @property
    def lower(self) -> float:
        """The smallest command."""
        return max(self.least, -self.largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Helm:
    """The channels of a mechanism.

    Parameters
    ----------
    channels : what is commanded; the keys change the first two.
    motors : force inputs that serve the channels with speeds.
    balance : how it is kept upright, of what would fall; else None.
    by_hand : whether nothing keeps it upright all the same.
    """

    channels: tuple[Channel, ...]
    motors: tuple[str, ...]
    balance: Balance | None = None
    by_hand: bool = False

    @property
    def labels(self) -> list[str]:
        """What the page calls the channels."""
        return [channel.label for channel in self.channels]

    @property
    def is_balanced(self) -> bool:
        """Whether something keeps it upright."""
        return self.balance is not None and not self.by_hand


def motor_joint(system: System, name: str) -> Node | None:
    """The joint that a force input turns or pushes as its only motor."""
    motors = [f for f in system.model.forces if isinstance(f, Motor) and f.input == name]
    if len(motors) != 1:
        return None
    names = [s.name for s in system.speeds]
    return node_of_speed(system, names.index(motors[0].speed))


def node_of_speed(system: System, k: int) -> Node:
    return next(n for n in system.kinematics.tree.nodes if n.speeds.start <= k < n.speeds.stop)


def carries_wheel(system: System, node: Node) -> bool:
    return any(isinstance(c, Rolling) and c.body == node.body.name for c in system.model.contacts)


def given_force(system: System, name: str, unit: str, values: Array) -> Channel:
    """A force that is given as it is, up to what the model weighs or half its weight on a lever."""
    model = system.model
    known = dict(zip((p.name for p in model.parameters), values, strict=True))
    mass = sum(nominal(body.mass, known) for body in model.bodies)
    largest = float(f"{max(mass, 1e-3) * (5.0 if unit == 'N' else 1.0):.1g}")
    return Channel(label=name, unit=unit, kind=FORCE, largest=largest, force_input=name)
