"""Tasks of environments as plain data, the ready ones, and the ids they are registered by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noslip.base import checked

#: Lowest and highest value.
Range = tuple[float, float]


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class GymTask:
    """Task of an environment; expressions are those of `simulate`'s outputs.

    Parameters
    ----------
    observation : name → expression, in the order in which it is seen.
    actions : input → range that an action from −1 to 1 stands for.
    reward : expression, of the state after a step and of the inputs.
    ends : name → expression; the episode ends (terminated) where one is above zero.
    start : coordinates, speeds and angles → number, or range that it is drawn from; the rest is
        completed.
    variables : name → range of a number that is drawn at the start, such as a goal; expressions
        know it.
    inputs : input → number that it always has.
    period : s between actions.
    steps : of the classical Runge–Kutta method in a period.
    limit : number of actions after which an episode is cut (truncated).
    largest : magnitude that observations are cut at.
    """

    observation: Mapping[str, str]
    actions: Mapping[str, Range]
    reward: str
    ends: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, float | Range] = field(default_factory=dict)
    variables: Mapping[str, Range] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)
    period: float = 0.05
    steps: int = 5
    limit: int = 400
    largest: float = 100.0


#: Word of a task → its model, and the task.
TASKS: dict[str, tuple[str, GymTask]] = {
    "drive": (
        "carriage",
        GymTask(
            observation={
                "ahead": "cos(carriage.angle)*(goal_x-carriage.x)"
                "+sin(carriage.angle)*(goal_y-carriage.y)",
                "left": "cos(carriage.angle)*(goal_y-carriage.y)"
                "-sin(carriage.angle)*(goal_x-carriage.x)",
                "speed": "carriage.vx",
                "rate": "carriage.rate",
            },
            actions={"tau1": (-0.5, 0.5), "tau2": (-0.5, 0.5)},
            reward="-0.05*sqrt((carriage.x-goal_x)^2+(carriage.y-goal_y)^2)-0.05*(tau1^2+tau2^2)",
            ends={"arrived": "0.1^2-(carriage.x-goal_x)^2-(carriage.y-goal_y)^2"},
            start={"carriage.angle": (-3.14, 3.14), "carriage.vx": (-0.2, 0.2)},
            variables={"goal_x": (-2.0, 2.0), "goal_y": (-2.0, 2.0)},
        ),
    ),
    "balance": (
        "whipple-bicycle",
        GymTask(
            observation={
                "lean": "frame.lean",
                "lean_rate": "frame.lean_rate",
                "steer": "steer.angle",
                "steer_rate": "steer.rate",
                "speed": "speed",
            },
            actions={"steer_torque": (-10.0, 10.0)},
            reward="1-0.1*steer.angle^2-0.001*steer_torque^2",
            ends={"fell": "frame.lean^2-0.5^2", "turned": "steer.angle^2-1.2^2"},
            start={"speed": (3.0, 3.5), "frame.wx": (-0.2, 0.2)},
            period=0.02,
            steps=2,
            limit=500,
        ),
    ),
    "back_up": (
        "tractor-trailer",
        GymTask(
            observation={
                "offset": "tractor.y",
                "heading": "tractor.angle",
                "fold": "hinge.angle",
                "steer": "steer.angle",
                "speed": "tractor.vx",
            },
            actions={"steering_rate": (-0.8, 0.8)},
            reward="1-0.1*tractor.y^2-hinge.angle^2-0.2*steering_rate^2",
            ends={
                "folded": "hinge.angle^2-1.2^2",
                "steered": "steer.angle^2-1.1^2",
                "astray": "tractor.y^2-5^2",
            },
            start={
                "tractor.vx": (-1.2, -0.8),
                "hinge.angle": (-0.15, 0.15),
                "tractor.y": (-0.5, 0.5),
            },
            period=0.1,
            limit=300,
        ),
    ),
}

#: Id of a registered environment → word of its task.
IDS = {
    "noslip/DifferentialDrive-v0": "drive",
    "noslip/Bicycle-v0": "balance",
    "noslip/BackUpTrailer-v0": "back_up",
}


def register_envs() -> None:
    """Make the ids ``noslip/…`` known to ``gymnasium.make`` and ``gymnasium.make_vec``."""
    from gymnasium.envs.registration import register, registry

    for id, word in IDS.items():
        if id not in registry:
            register(
                id,
                entry_point="noslip.environments.gym:make_env",
                vector_entry_point="noslip.environments.gym:make_vec_env",
                kwargs={"task": word},
            )
