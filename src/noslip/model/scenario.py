"""The default run of a model: start, inputs, motion or path, controller, plant, duration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from noslip.expressions import Scalar
from noslip.model.forces import AbstractForce
from noslip.model.quantities import Direction, Meaning, Parameter, Point, Vector3

#: More samples than this do not fit into memory, for a mechanism of usual size.
MAX_SAMPLES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFollower:
    """Part of a vehicle that follows a scenario's path; found from the constraints by default.

    The words are those of :class:`noslip.Follower`.

    Parameters
    ----------
    body : name of the body whose axle follows; the base by default.
    point : of the base that follows the path, in its frame, m.
    direction : of the base that points along the path, in its frame.
    reverse : drive backwards.
    heading : of a base that can move sideways, rad: a number or an expression of the arc length
        ``s``; along the path by default.
    steering : name of the steering coordinate.
    wheelbase : from the point ahead to the steered wheel, m.
    largest_steering : angle that the steering can reach, rad.
    steering_rate : at which the steering turns while the vehicle stands at a cusp, rad/s.
    hinge : name of the trailer's angle on the base, to let the trailer's axle follow the path.
    hitch : from the base's origin back to the hinge, m.
    trailer : from the hinge back to the trailer's axle, m.
    reference : coordinates that the path leaves open, at the start.
    """

    body: Annotated[str, Meaning(names="body", is_optional=True)] = ""
    point: Point | None = None
    direction: Direction | None = None
    reverse: bool = False
    heading: Annotated[Scalar, Meaning(own=("s",))] | None = None
    steering: Annotated[str, Meaning(names="coordinate", is_optional=True)] = ""
    wheelbase: Annotated[Scalar, Meaning(unit="m")] = 0.0
    largest_steering: Annotated[Scalar, Meaning(unit="rad")] | None = None
    steering_rate: Annotated[Scalar, Meaning(unit="rad/s")] | None = None
    hinge: Annotated[str, Meaning(names="coordinate", is_optional=True)] = ""
    hitch: Annotated[Scalar, Meaning(unit="m")] = 0.0
    trailer: Annotated[Scalar, Meaning(unit="m")] = 0.0
    reference: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlant:
    """Plant that is driven, as far as it differs from the model that the controller knows.

    The words are those of :class:`noslip.Plant` and of the command line.

    Parameters
    ----------
    model : name or file of another model with the same joints: other tires, inputs of its own.
    parameters : values that differ from those that the controller knows.
    start : coordinates and speeds that differ from the reference's at the start.
    forces : that act on it beside the model's: pushes, friction, drag.
    gravity : m/s² in world axes, such as that of a slope; the model's own by default.
    disturbances : inputs of `model` that are no actuators, as expressions of ``t``.
    sensors : what the controller sees, as in ``"platform.x:sigma=0.01,delay=1"`` or
        ``"gyroscope:body=platform"``.
    actuators : what becomes of its commands, as in ``"torque1:largest=0.4,lag=0.05"``.
    estimator : ``"ekf"`` for an extended Kalman filter between sensors and controller.
    start_sigma : of the estimator: standard deviations of what is believed at the start.
    input_sigma : of the estimator: standard deviations of the noise of inputs.
    drift : of the estimator: densities of what moves coordinates and speeds beyond the model.
    seed : of the noise.
    """

    model: str = ""
    parameters: dict[str, Scalar] = field(default_factory=dict)
    start: dict[str, Scalar] = field(default_factory=dict)
    forces: tuple[AbstractForce, ...] = ()
    gravity: Annotated[Vector3, Meaning(unit="m/s^2")] | None = None
    disturbances: dict[str, Scalar] = field(default_factory=dict)
    sensors: tuple[str, ...] = ()
    actuators: tuple[str, ...] = ()
    estimator: Annotated[str, Meaning(choices=("", "ekf"))] = ""
    start_sigma: dict[str, Scalar] = field(default_factory=dict)
    input_sigma: dict[str, Scalar] = field(default_factory=dict)
    drift: dict[str, Scalar] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A default run of a model.

    Inputs are given directly (`inputs`), or through the motion they must produce (`motion`) or the
    path that a vehicle follows (`path`): then they come from inverse kinematics and inverse
    dynamics, or from a `controller`, and the run is compared with the motion.

    Parameters
    ----------
    duration : s.
    samples : number of reported times, both ends included.
    start : coordinates, speeds and named angles that are not zero; the rest is completed
        consistently.
    inputs : force and speed inputs as expressions of ``t``, parameters and definitions.
    motion : coordinates as expressions of ``t``, enough of them to fix the motion.
    path : texts of paths, as in ``"circle:radius=2"``, driven one after the other.
    timing : how fast, as in ``"trapezoidal:speed=1,acceleration=0.5"``; from rest to rest within
        the duration by default.
    follower : what of the vehicle follows the path; found from the constraints by default.
    controller : along a motion or a path, as in ``"pose:kx=2"``; the forces of inverse dynamics
        alone by default.
    limits : largest magnitudes of inputs under a controller.
    period : s between samples of the controller; 0 for a continuous one.
    plant : what is driven, if it is not the model that the controller knows.
    parameters : numbers of the task that are not of the mechanism, such as the radius of a path.
    definitions : named expressions of ``t`` that later ones may use.
    stop : expressions; the run ends where one of them crosses zero.
    outputs : expressions of the motion, inputs and accelerations, a further column each.
    contact : ``coulomb`` for contacts that slide, lift off and land by their `friction` and
        `restitution`; by default they hold whatever they need.
    """

    duration: float
    samples: int = 501
    start: dict[str, Scalar] = field(default_factory=dict)
    inputs: dict[str, Scalar] = field(default_factory=dict)
    motion: dict[str, Scalar] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    timing: str = ""
    follower: ScenarioFollower | None = None
    controller: str = ""
    limits: dict[str, Scalar] = field(default_factory=dict)
    period: Annotated[float, Meaning(unit="s")] = 0.0
    plant: ScenarioPlant | None = None
    parameters: tuple[Parameter, ...] = ()
    definitions: dict[str, str] = field(default_factory=dict)
    stop: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    contact: Annotated[str, Meaning(choices=("ideal", "coulomb"))] = "ideal"
    description: str = ""

    @property
    def has_reference(self) -> bool:
        """Whether the inputs follow from a motion or a path."""
        return bool(self.motion or self.path)

    @property
    def is_controlled(self) -> bool:
        """Whether it says more than inverse dynamics along a motion."""
        given = (self.path, self.controller, self.limits, self.period)
        return any(given) or self.plant is not None
