"""`riding_helm`: the channels of a mechanism that must be balanced, such as a bicycle.

Motors of joints keep it upright (see `balance.py`), so that it is commanded by its speed and its
turning rate. By hand, only the speed is kept, by the motor of the wheel; the other motors are given
as they are, and it may fall. Forces from outside, such as gusts, are given as they are.
"""

from __future__ import annotations

import numpy as np

from noslip.engines.system import Array, System
from noslip.kinematics.tree import Node
from noslip.studio.driving.balance import Balance, find_balance
from noslip.studio.driving.helm import (
    FORCE,
    SPEED,
    TURNING,
    Channel,
    Helm,
    carries_wheel,
    given_force,
    motor_joint,
)

#: Time from rest to the largest speed or turning rate, s.
LEISURE = 4.0
#: A turning rate, rad/s, at which a joint shows which way is left.
GENTLE = 0.01


def riding_helm(
    system: System, values: Array, wanted: set[str], length: float, *, by_hand: bool
) -> Helm | None:
    """The channels of what must be balanced; None for what need not or cannot be.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    wanted : inputs that may be used.
    length : of the model, m.
    by_hand : let nothing keep it upright.
    """
    inputs = {i.name: i.unit for i in system.model.inputs if i.name in wanted}
    joints = {name: motor_joint(system, name) for name in inputs}
    motors = tuple(n for n, node in joints.items() if node is not None and node.parent >= 0)
    wheels = [n for n in motors if (node := joints[n]) is not None and carries_wheel(system, node)]
    node = joints[wheels[0]] if wheels else None
    if node is None:
        return None
    speed = system.speeds[node.speeds.start]
    balance = find_balance(system, values, speed.name, motors, length)
    if balance is None:
        return None
    ahead = Channel(
        label="speed",
        unit="m/s",
        kind=SPEED,
        largest=balance.fastest,
        least=balance.slowest,
        rate=balance.fastest / LEISURE,
        row=balance.ratio * np.eye(len(system.speeds))[node.speeds.start],
    )
    outside = [given_force(system, n, inputs[n], values) for n in inputs if n not in motors]
    if by_hand:
        hands = [
            _by_hand(balance, n, inputs[n], j)
            for n, j in joints.items()
            if j is not None and n in motors and n != wheels[0]
        ]
        return Helm(
            channels=(ahead, *hands, *outside),
            motors=(wheels[0],),
            balance=balance,
            by_hand=True,
        )
    turning = Channel(
        label="turning", unit="rad/s", kind=SPEED, largest=TURNING, rate=TURNING / LEISURE * 2
    )
    return Helm(channels=(ahead, turning, *outside), motors=motors, balance=balance)


def _by_hand(balance: Balance, name: str, unit: str, joint: Node) -> Channel:
    """A motor that is given as it is; to the left is where its joint stands in a left turn."""
    turn = balance.stand(balance.fastest / 2, GENTLE)
    names = [c.name for c in balance.coordinates]
    place = balance.system.coordinates[joint.coordinates.start].name
    side = float(np.sign(turn.x[names.index(place)])) if place in names else 1.0
    largest = float(f"{balance.forces[balance.motors.index(name)]:.1g}")
    return Channel(
        label=name, unit=unit, kind=FORCE, largest=largest, force_input=name, left=side or 1.0
    )
