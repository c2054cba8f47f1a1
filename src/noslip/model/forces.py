"""Forces: motors, springs, dampers, friction, tires, given wrenches; the inputs that drive them.

To add a force: write its data class here and its generalized force in `formulations/forces.py`.
Gravity is a field of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

from noslip.model.bodies import WORLD
from noslip.model.contacts import Plane
from noslip.model.quantities import ZERO, Scalar, Vector3


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceInput:
    """A force or torque that is given from outside while the mechanism moves.

    Force elements refer to it by name.
    """

    name: str
    unit: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedInput:
    """A speed that is given from outside, such as a steering rate: the named tree speed follows it.

    Parameters
    ----------
    name : of the input.
    speed : the tree speed that is imposed, such as ``steer.rate``.
    """

    name: str
    speed: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motor:
    """A motor in a joint: the force input acts on the named speed, child against parent."""

    name: str
    speed: str
    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpring:
    """A linear spring on a joint coordinate: force −stiffness (coordinate − rest)."""

    name: str
    coordinate: str
    stiffness: Scalar
    rest: Scalar = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDamper:
    """A linear damper on a joint speed: force −damping · speed."""

    name: str
    speed: str
    damping: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFriction:
    """Dry friction on a joint speed, made smooth: force −level · tanh(speed / smoothing).

    Parameters
    ----------
    level : friction force or torque once it slides, N or N m.
    smoothing : speed at which it has reached tanh 1 = 76 % of that, m/s or rad/s.
    """

    name: str
    speed: str
    level: Scalar
    smoothing: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Spring:
    """A spring, with damping if wanted, between a point of one body and a point of another.

    Tension stiffness (length − rest_length) + damping · d(length)/dt along the line that joins
    them.
    """

    name: str
    body: str
    stiffness: Scalar
    rest_length: Scalar
    point: Vector3 = ZERO
    other_body: str = WORLD
    other_point: Vector3 = ZERO
    damping: Scalar = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tire:
    """The lateral force of a tire that slips sideways: a blade that gives way.

    With v_u and v_w the speeds of `point` over the plane, along the wheel's heading and along
    lateral = normal × heading, the force on the body is F_w along lateral:

        F_w = −C v_w / √(v_u² + v0²)                           linear
        F_w = −F tanh(C v_w / (F √(v_u² + v0²)))               with a maximum F

    For small v0 the quotient is the tangent of the slip angle. It always takes energy away. The
    longitudinal force is not part of it: give that as a wrench or by a rolling contact.

    Parameters
    ----------
    body : what has the wheel's heading: chassis, axle or fork, not the wheel that spins.
    direction : heading of the wheel, in the body frame.
    stiffness : C, force per slip, N/rad.
    v0 : speed, m/s, below which the slip is counted against it instead of v_u, so that the force
        has a value at rest; 0 for none, and then it has no value where v_u = 0.
    point : where the tire touches, in the body frame, m.
    maximum : F, N, the force of a tire that slides; none for the linear law.
    plane : what it rolls on; by default the ground z = 0 of the world.
    """

    name: str
    body: str
    direction: Vector3
    stiffness: Scalar
    v0: Scalar
    point: Vector3 = ZERO
    maximum: Scalar | None = None
    plane: Plane = Plane()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrench:
    """A given force (N) at a point of a body and a given moment (N m).

    Entries are expressions of parameters, coordinates, speeds, time ``t`` and force inputs (linear
    in the inputs), resolved in the axes of the world or of the body.
    """

    name: str
    body: str
    force: Vector3 = ZERO
    moment: Vector3 = ZERO
    point: Vector3 = ZERO
    axes: str = "world"


Force = Motor | JointSpring | JointDamper | JointFriction | Spring | Tire | Wrench
