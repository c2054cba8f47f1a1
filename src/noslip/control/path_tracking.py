"""Tracking of paths by vehicles: two driven wheels, steered, articulated, trailers; one for all.

**Tracking for vehicles that turn by their wheels: two driven wheels, or an articulated frame.**

**Controllers of vehicles that steer: a kinematic law, and the inputs that carry it out.**

A law is kinematic: it gives the speed of the base and the rate of the steering angle from the place
and the reference only. To add one: a final class of :class:`AbstractSteeringLaw`.

A steering rate that is a speed input is given with its exact rate; one that a motor turns follows
through inverse dynamics, as the speed does:

    η̇ = η̇_d + k_v (η_d − η)

:class:`SteeredTracking` is one of them, for driving forward and in reverse. All its gains but k_v
and k_δ count by distance driven, so that errors decay over the same distance at any speed.

**Tracking for vehicles with a trailer, forward and backing up, on lines and on curves.**

The state x is what the trailer's axle and the joints are off the reference: along e_x, across e_y,
heading e_θ, articulation e_φ and steering e_δ, in the axes of the trailer on the reference. With
the base at the speed of (3), σ = ±1 the direction and the reference on a circle on which the
trailer's axle has the curvature κ,

    (1)  x′ = A_σ(κ) x + B u,   u = δ′

over the way that the base drives, exactly linearized from the model's own kinematics. In reverse
e_φ is unstable: it folds up.

**`PathTracking`: one controller for all vehicles that follow paths, with nothing to tell it.**

What follows the path is a frame of the base. With e_x, e_y, e_θ the reference's pose as the frame
sees it, v_r and ω_r its speeds, σ the sign of v_r and λ the `reach`,

    (1)  v_d = v_r (1 + ½ σ tanh(2 e_x/λ))
    (2)  κ_d = κ_r + σ (2/λ) sin(e_θ + σ atan(e_y/(2 λ)))

Near the path the error across obeys y″ + (2/λ) y′ + y/λ² = 0 over the way driven, and the one along
it decays over λ; far from it the frame heads for the path. How the curvature is had depends on the
vehicle, and is found from how its base can move:

    turning   the base turns by its wheels: ω_d = κ_d v_d
    steered   a wheel at the place (n_x, n_y) of the frame turns to tan φ_d = κ_d n_x/(1 − κ_d n_y),
              by its motor or as a speed input: φ̇_d + k (φ_d − φ)
    sliding   the base moves in all directions, led by k (e_x, e_y, sin e_θ) beside the reference

All other independent motions (a rotor, an arm, forks) go back to the reference's at the rate k. The
forces make the independent speeds η those that follow, η̇ = η̇_d + k (η_d − η).

Where the axle of a trailer goes first, in reverse, all hinges are unstable, and no law of the base
alone holds them. Such a chain gets the gains of the regulator along its motion (`lqr.py`),
with weights by its own scales: λ, the time τ = λ/v̄ that it takes to drive it, and for each input
the acceleration b that a unit of it gives,

    (3)  ∫ (0.4/λ)² (x² + y²) + 0.3 θ² + Σ φ² + 0.1 Σ (b τ² u/scale)² dt

with x, y, θ of the base, φ of the hinges, and scale λ of lengths, 1 of angles.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve
from noslip.base import Array, SimulationError, nearest, value_key
from noslip.control.closed_loop import (
    AbstractController,
    AbstractControllerPlan,
    AbstractSteeringController,
    accelerate,
    along_motion,
    check_gains,
)
from noslip.control.follower import AxleLink
from noslip.control.lqr import linear_quadratic, solve_lqr
from noslip.control.path_geometry import clamp, length, polynomial
from noslip.control.path_motion import AbstractPathMotion, PathMotion, planar_base
from noslip.control.reference_motion import AbstractMotion, Reference
from noslip.control.text_grammar import Angle, Distance, Length, PerMeter, PerSecond, PerSquareMeter
from noslip.engines import System
from noslip.expressions import nominal
from noslip.model import ZERO, Direction, Meaning, Point, Vector3


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseTracking(AbstractController):
    """Pose tracking of a vehicle that cannot move sideways, by backstepping into its dynamics.

    The kinematic law of Kanayama et al. gives the speeds the base should have from the pose error
    in its own frame (e_x ahead, e_y to the left, e_θ),

        (1)  v_d = v_r cos e_θ + k_x e_x,   ω_d = ω_r + v_r k_y e_y + |v_r| k_θ sin e_θ

    and the forces make its speeds follow them, with the rates of v_d and ω_d exact:

        (2)  v̇ = v̇_d + k_v (v_d − v),   ω̇ = ω̇_d + k_v (ω_d − ω)

    At the speeds of (1) V = ½(e_x² + e_y²) + (1 − cos e_θ)/k_y falls,

        V̇ = −k_x e_x² − |v_r| (k_θ/k_y) sin² e_θ

    [KanayamaKimuraMiyazakiNoguchi1990], and (2) brings the speeds there, as in [FierroLewis1997].

    How fast: speeds settle with the time constant 1/k_v (0.25 s), the error ahead with 1/k_x (1 s).
    The error across obeys y″ + k_θ y′ + k_y y = 0 over the way driven (in units of 1 m: it falls
    to 1/e over 0.67 m, with a damping ratio of 0.75). A larger k_v gains nothing but shorter steps
    of the simulation: the errors are no faster than k_x and k_θ |v_r| let them be.
    """

    word = "pose"

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return "Pose tracking"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """For a path of a vehicle with two degrees of freedom that turns by its wheels."""
        turns = len(system.independent_speeds) == 2 and not system.model.speed_inputs
        return turns and "point" in known and "steering" not in known

    #: point, direction: the frame that follows, on the line where the base cannot slip sideways;
    #: the frame that :func:`track` follows if they are not given
    point: Point | None = None
    direction: Direction | None = None
    #: kx, ky, ktheta, kv: 1/s, 1/m², 1/m, 1/s
    kx: PerSecond = 1.0
    ky: PerSquareMeter = 4.0
    ktheta: PerMeter = 3.0
    kv: PerSecond = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kx", "ky", "ktheta", "kv")

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> PoseTracking:
        """The same for the frame that follows the path, if none is given."""
        if motion.frame is None:
            return self
        point, direction = motion.frame
        return dataclasses.replace(
            self,
            point=point if self.point is None else self.point,
            direction=direction if self.direction is None else self.direction,
        )

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that brings the base back to the reference pose."""
        kin = system.kinematics
        rows, now, wanted = self._base_speeds(system, reference)
        at = planar_base(system).speeds.start
        # (2)
        rates = along_motion(system, reference, wanted) + self.kv * (wanted - now)
        J = ca.densify(ca.mtimes(rows, kin.S[at : at + 3, :]))
        known = ca.mtimes(rows, kin.vdot0[at : at + 3])
        return accelerate(system, orthogonal_solve(J, rates - known)[0])

    def wanted_speeds(self, system: System, reference: Reference) -> ca.SX:
        """(nf,) independent speeds with which the base has the speeds of (1)."""
        rows, _, wanted = self._base_speeds(system, reference)
        at = planar_base(system).speeds.start
        J = ca.densify(ca.mtimes(rows, system.kinematics.S[at : at + 3, :]))
        return orthogonal_solve(J, wanted)[0]

    def _base_speeds(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rows of the frame's speeds, what they are, and what (1) wants them to be."""
        self._check(system)
        kin = system.kinematics
        rows = self._rows(system)
        base = planar_base(system)
        at = base.speeds.start
        now = ca.mtimes(rows, kin.v[at : at + 3])
        given = [ca.densify(x) for x in (reference.q, reference.eta)]
        then = ca.substitute([now], [kin.symbols.q, kin.eta], given)[0]
        e_x, e_y, cos, sin = self._errors(system, base.coordinates.start, reference.q)
        # (1)
        v_d = then[0] * cos + self.kx * e_x
        turn = then[0] * self.ky * e_y + ca.fabs(then[0]) * self.ktheta * sin
        return rows, now, ca.vertcat(v_d, then[1] + turn)

    def _errors(self, system: System, at: int, q_r: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """e_x, e_y, cos e_θ and sin e_θ of the frame."""
        q = system.kinematics.symbols.q
        x, y, ahead, across = self._frame(system)
        turned = q_r[at + 2] - q[at + 2]
        cos, sin = ca.cos(turned), ca.sin(turned)
        c, s = ca.cos(q[at + 2]), ca.sin(q[at + 2])
        dx, dy = q_r[at] - q[at], q_r[at + 1] - q[at + 1]
        # from the point to where it should be, in the axes of the base
        gap_x = c * dx + s * dy + (cos - 1) * x - sin * y
        gap_y = -s * dx + c * dy + sin * x + (cos - 1) * y
        return ahead * gap_x + across * gap_y, ahead * gap_y - across * gap_x, cos, sin

    def _frame(self, system: System) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Place of the frame and its unit vector ahead, in the axes of the base."""
        reader = system.kinematics.reader
        x, y = (reader.scalar(e) for e in (self.point or ZERO)[:2])
        ahead, across = (reader.scalar(e) for e in (self.direction or (1.0, 0.0, 0.0))[:2])
        size = ca.sqrt(ahead**2 + across**2)
        return x, y, ahead / size, across / size

    def _rows(self, system: System) -> ca.SX:
        """(2, 3) speed ahead and rate of turning of the frame from vx, vy and rate of the base."""
        x, y, ahead, across = self._frame(system)
        turning = across * x - ahead * y
        return ca.vertcat(ca.horzcat(ahead, across, turning), ca.horzcat(0.0, 0.0, 1.0))

    def _check(self, system: System) -> None:
        """The base must be free to move ahead and to turn, each by itself."""
        kin = system.kinematics
        where = f"controller of model '{system.model.name}'"
        if kin.num_independent_speeds != 2 or system.model.speed_inputs:
            raise SimulationError(
                f"pose tracking needs two degrees of freedom driven by forces; there are "
                f"{kin.num_independent_speeds} and {len(system.model.speed_inputs)} speed inputs",
                where,
                "use a controller for steered vehicles, or none",
            )
        at = planar_base(system).speeds.start
        moves = ca.Function(
            "moves", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [kin.S[at : at + 3, :]]
        )
        ranks = [
            np.linalg.matrix_rank(np.array(moves(t, q, kin.probe.params)), tol=1e-9)
            for t, q in kin.probe.configurations(2)
        ]
        if max(ranks) < 2:
            raise SimulationError(
                "the base cannot turn by itself: it turns through its steering",
                where,
                "use SteeredTracking, which steers",
            )


#: Along the x axis of the base.
AHEAD: Vector3 = (1.0, 0.0, 0.0)


class AbstractSteeringLaw(AbstractSteeringController):
    """A law that gives the speed of the base and the rate of the steering angle."""

    __slots__ = ()

    steering: str  #: name of the steering coordinate, driven by a motor or a speed input
    kv: float  #: 1/s, of the speeds

    @abc.abstractmethod
    def _rows(self, system: System) -> list[ca.SX]:
        """The speed that the law gives and the rate of the steering angle, of the speeds."""

    @abc.abstractmethod
    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """Commanded values of both, functions of the configuration alone."""

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the speeds those of the law."""
        rows, wanted = self._rows(system), self._command(system, reference)
        eta_d = independent(system, rows, wanted, self.steering)
        rate = along_motion(system, reference, eta_d)
        return accelerate(system, rate + self.kv * (eta_d - system.kinematics.eta))

    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """The rate of the steering angle, if it is an input; the others as on the reference."""
        parts = ca.vertsplit(reference.speed_inputs) if system.model.speed_inputs else []
        k = _input_index(system, self.steering)
        if k is not None:
            _, parts[k] = self._command(system, reference)
        return ca.vertcat(*parts) if parts else ca.SX(0, 1)

    def at_speed(self, system: System, expression: ca.SX, v: ca.SX) -> ca.SX:
        """An expression where the vehicle moves at the speed v, with the steering at rest."""
        kin = system.kinematics
        eta = independent(system, self._rows(system), (v, ca.SX(0)), self.steering)
        given = [ca.densify(eta), ca.SX.zeros(kin.symbols.w.shape)]
        return ca.substitute([expression], [kin.eta, kin.symbols.w], given)[0]


def speed_rows(
    system: System, steering: str, point: Vector3 = ZERO, direction: Vector3 = AHEAD
) -> list[ca.SX]:
    """Speed of a frame of the base along its heading, and rate of the steering angle."""
    kin = system.kinematics
    at = planar_base(system).speeds.start
    vx, vy, rate = (kin.v[at + k] for k in range(3))
    x, y = (kin.reader.scalar(e) for e in point[:2])
    ahead, across = (kin.reader.scalar(e) for e in direction[:2])
    along = ahead * (vx - rate * y) + across * (vy + rate * x)
    return [along / ca.sqrt(ahead**2 + across**2), kin.v[steering_speed(system, steering)]]


def steering_coordinate(system: System, name: str) -> int:
    """Index of an angle by name, which must exist."""
    known = [c.name for c in system.coordinates]
    if name not in known:
        raise SimulationError(
            f"there is no coordinate '{name}' to steer by",
            f"controller of model '{system.model.name}'",
            nearest(name, known),
        )
    return known.index(name)


def steering_speed(system: System, name: str) -> int:
    """Index of the tree speed that is the rate of an angle."""
    k = steering_coordinate(system, name)
    node = next(
        n for n in system.kinematics.tree.nodes if n.coordinates.start <= k < n.coordinates.stop
    )
    return node.speeds.start + k - node.coordinates.start


def at_reference(system: System, reference: Reference, expression: ca.SX) -> ca.SX:
    """An expression of q, η and w where they are the reference's."""
    kin = system.kinematics
    given = [ca.densify(x) for x in (reference.q, reference.eta, reference.speed_inputs)]
    return ca.substitute([expression], [kin.symbols.q, kin.eta, kin.symbols.w], given)[0]


def moved(place: ca.SX, angle: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
    """A point given in axes turned by `angle` about `place`."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return place + ca.vertcat(cos * x - sin * y, sin * x + cos * y)


def in_axes(angle: ca.SX, gap: ca.SX) -> tuple[ca.SX, ca.SX]:
    """A vector along and across a heading."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return cos * gap[0] + sin * gap[1], -sin * gap[0] + cos * gap[1]


def _input_index(system: System, steering: str) -> int | None:
    """Index of the speed input that drives the steering; None if there is none."""
    name = system.speeds[steering_speed(system, steering)].name
    driven = [i.speed for i in system.model.speed_inputs]
    return driven.index(name) if name in driven else None


def independent(
    system: System, rows: list[ca.SX], values: tuple[ca.SX, ca.SX], steering: str
) -> ca.SX:
    """η of a speed of the base and, where a motor steers, a rate of the steering angle."""
    kin = system.kinematics
    num = 1 if _input_index(system, steering) is not None else 2
    if kin.num_independent_speeds != num:
        raise SimulationError(
            f"the vehicle has {kin.num_independent_speeds} degrees of freedom, but its speed and "
            f"its steering are {num}",
            f"controller of model '{system.model.name}'",
            "use PoseTracking for a base that turns by its wheels, or another law",
        )
    speeds = ca.vertcat(*rows[:num])
    J = ca.densify(ca.jacobian(speeds, kin.eta))
    still = [ca.SX.zeros(kin.eta.shape), ca.SX.zeros(kin.symbols.w.shape)]
    offset = ca.substitute([speeds], [kin.eta, kin.symbols.w], still)[0]
    return orthogonal_solve(J, ca.vertcat(*values[:num]) - offset)[0]


#: Least cosine of a heading error that is divided by: beyond, the vehicle is taken to be there.
LEAST_COSINE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredTracking(AbstractSteeringLaw):
    """Pose tracking of a vehicle with a steered wheel, forward and in reverse.

    With e_x, e_y, e_θ the reference's pose as the base sees it and σ the sign of v_r,

        (1)  v_d = cos e_θ (v_r + ½ |v_r| tanh(2 k_x e_x))
        (2)  κ_d = (κ_r + k_y e_y + σ k_θ sin e_θ) v_r / v_d,    δ_d = atan(wheelbase κ_d)
        (3)  w = δ̇_d + k_δ (δ_d − δ)

    Once δ is δ_d and the speed v_d, V = ½(e_x² + e_y²) + (1 − cos e_θ)/k_y decreases,

        V̇ = −½ |v_r| cos e_θ e_x tanh(2 k_x e_x) − |v_r| (k_θ/k_y) sin² e_θ

    for heading errors up to acos(0.2) = 78°: the argument of [KanayamaKimuraMiyazakiNoguchi1990]
    with a bounded term in e_x, so that v_d never changes sign. Near the path the error across obeys
    y″ + k_θ y′ + k_y y = 0 over the way driven. δ̇_d is taken at the speed v_d.
    """

    word = "steered"

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return "Steered tracking"

    steering: str  #: name of the steering coordinate, driven by a motor or a speed input
    wheelbase: Distance  #: distance from the point to the steered wheel, m
    #: point, direction: the frame that follows, on the axle that does not steer
    point: Point = ZERO
    direction: Direction = AHEAD
    #: kx, ky, ktheta: 1/m, 1/m², 1/m
    kx: PerMeter = 0.5
    ky: PerSquareMeter = 0.25
    ktheta: PerMeter = 1.0
    #: kdelta, kv: 1/s, of the steering angle and the speeds
    kdelta: PerSecond = 5.0
    kv: PerSecond = 5.0
    largest: Angle = 1.2  #: largest steering angle to ask for, rad

    def __post_init__(self) -> None:
        check_gains(self, "kx", "ky", "ktheta", "kdelta", "kv", "largest")

    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """(1) and (3)."""
        kin = system.kinematics
        q = kin.symbols.q
        k = steering_coordinate(system, self.steering)
        (p_r, theta_r), (p, theta) = self._frame(system, reference.q), self._frame(system, q)
        (e_x, e_y), e_theta = in_axes(theta, p_r - p), theta_r - theta
        wheelbase = kin.reader.scalar(self.wheelbase)
        v_r = at_reference(system, reference, self._rows(system)[0])
        sign = ca.if_else(v_r < 0, -1.0, 1.0)
        # (1), with v_d / v_r apart as it has no singularity at rest
        ratio = 1 + 0.5 * sign * ca.tanh(2 * self.kx * e_x)
        v_d = ca.cos(e_theta) * v_r * ratio
        # (2)
        bend = ca.tan(reference.q[k]) / wheelbase + self.ky * e_y
        bend = bend + sign * self.ktheta * ca.sin(e_theta)
        bend = bend / (ratio * ca.fmax(ca.cos(e_theta), LEAST_COSINE))
        delta_d = ca.atan(wheelbase * bend)
        delta_d = ca.fmin(ca.fmax(delta_d, -self.largest), self.largest)
        # (3), the rate of δ_d where the base moves at v_d with the steering it has
        rate = self.at_speed(system, along_motion(system, reference, delta_d), v_d)
        return v_d, rate + self.kdelta * (delta_d - q[k])

    def _frame(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the frame that follows."""
        reader = system.kinematics.reader
        at = planar_base(system).coordinates.start
        x, y = (reader.scalar(e) for e in self.point[:2])
        offset = ca.atan2(reader.scalar(self.direction[1]), reader.scalar(self.direction[0]))
        return moved(q[at : at + 2], q[at + 2], x, y), q[at + 2] + offset

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the frame along its heading, and rate of the steering angle."""
        return speed_rows(system, self.steering, self.point, self.direction)


DEGREE = 10  # of the gains as polynomials of the bend
WIDEST = 1.2  # rad, of the bend and of the articulation up to which gains follow the curvature


class SteadyTurn(NamedTuple):
    """Articulation and steering angle, rad, at which the trailer's axle stays on a circle."""

    fold: float
    steering: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerTracking(AbstractSteeringLaw):
    """Tracking of a vehicle with a trailer, forward and backing up.

        (2)  w = w_r − |v_r| K_σ(κ_r) x,     (3)  v_d = v_r − ½ |v_r| tanh(2 k_x e_x)

    K_σ(κ) are the linear-quadratic gains of (1) for ∫ xᵀ diag(0, weights) x + effort u² ds, and κ_r
    is the curvature that the trailer's axle has on the reference. So every line and every circle is
    exponentially stable in either direction, and paths on which the curvature changes over a way
    that is long against 1/k_x: tracking by approximate linearization, as for the car in
    [DeLucaOrioloSamson1998]. For gains of any motion whatever, see :func:`linear_quadratic`.

    The steering rate is held so that |δ| never passes `largest`. The reference must be one that
    does not fold up itself: in reverse prescribe the trailer's axle (:class:`TrailerMotion`).
    Gains are found for the nominal parameters; turns sharper than those in which the trailer folds
    by 1.2 rad, or the steering reaches `largest`, have the gains of that turn.
    """

    word = "trailer"

    #: steering, hinge: names of the steering coordinate and of the trailer's angle on the base
    steering: str
    hinge: str
    hitch: Distance  #: distance from the base's origin back to the hinge, m
    trailer: Distance  #: distance from the hinge back to the trailer's axle, m
    #: weights of e_y (1/m²), e_θ, e_φ and e_δ (1/rad²)
    weights: tuple[float, float, float, float] = (0.01, 0.3, 1.0, 0.2)
    effort: Annotated[float, Meaning(unit="m^2/rad^2")] = 1.0  #: weight of u, m²/rad²
    #: kx, kv: 1/m and 1/s
    kx: PerMeter = 0.5
    kv: PerSecond = 5.0
    kdelta: PerSecond = 5.0  #: 1/s, how fast the steering may approach its largest angle
    largest: Angle = 1.0  #: largest steering angle, rad

    def __post_init__(self) -> None:
        check_gains(self, "weights", "kx", "kv", "kdelta", "largest", "effort")

    def gains(self, system: System, sign: float, curvature: float = 0.0) -> Array:
        """K_σ(κ) (5,): rate of the steering angle over the way driven, for each error.

        Parameters
        ----------
        system : compiled system.
        sign : 1 forward, −1 in reverse.
        curvature : curvature of the circle that the trailer's axle is on, 1/m, to the left.
        """
        A, B = self.linearization(system, sign, curvature)
        Q = np.diag([0.0, *self.weights])
        found = solve_lqr(A, B, Q, np.array([self.effort]))
        if found is None:
            raise SimulationError(
                "no gains stabilize the trailer with these weights",
                f"TrailerTracking of model '{system.model.name}', curvature {curvature:.4g} 1/m",
                "give lateral error, heading and effort weights above 0",
            )
        return found.gains.ravel()

    def linearization(
        self, system: System, sign: float, curvature: float = 0.0
    ) -> tuple[Array, Array]:
        """A (5, 5) and B (5, 1) of (1).

        Parameters
        ----------
        system, sign, curvature : arguments of `gains`.
        """
        turn = self.steady_turn(system, curvature)
        q, values = self._configuration(system, turn), system.parameters()
        none = np.zeros(len(system.model.speed_inputs))
        found = _traced(self, system).error_rates(q, q, none, values, sign)
        T, F = (np.array(part) for part in found)
        return F @ np.linalg.pinv(T), np.eye(5)[:, 4:]

    def steady_turn(self, system: System, curvature: float) -> SteadyTurn:
        """The turn in which the trailer's axle stays on a circle, from the model's kinematics.

        Parameters
        ----------
        system : compiled system.
        curvature : curvature of the circle, 1/m, to the left.

        Raises
        ------
        SimulationError : if the vehicle cannot turn so sharply.
        """
        function, values = _traced(self, system).turning, system.parameters()
        none = np.zeros(len(system.model.speed_inputs))
        joints = np.zeros(2)
        for _ in range(60):
            q = self._configuration(system, SteadyTurn(*joints))
            miss, slope, ahead = (np.array(e) for e in function(q, none, values, curvature))
            step = np.linalg.lstsq(slope, miss.ravel())[0]
            # not too far at once: angles have many solutions
            joints = joints - step * min(1.0, 0.2 / max(np.max(np.abs(step)), 1e-300))
            if np.max(np.abs(step)) < 1e-13:
                break
        if not (np.max(np.abs(miss)) < 1e-10 and ahead > 0 and np.max(np.abs(joints)) < np.pi / 2):
            raise SimulationError(
                f"the trailer's axle cannot stay on a circle of {1 / abs(curvature):.4g} m",
                f"controller of model '{system.model.name}'",
                "choose a wider turn",
            )
        return SteadyTurn(*(float(e) for e in joints))

    def _speed(self, v_r: ca.SX, x: ca.SX) -> ca.SX:
        """(3)."""
        return v_r - 0.5 * ca.fabs(v_r) * ca.tanh(2 * self.kx * x[0])

    def _command(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX]:
        """(3) and (2)."""
        q = system.kinematics.symbols.q
        k = steering_coordinate(system, self.steering)
        x = self._errors(system, reference.q)
        v_r, w_r = (at_reference(system, reference, row) for row in self._rows(system))
        ahead, turning = self._axle_speeds(system, reference.q)
        length = system.kinematics.reader.scalar(self.trailer)
        schedule = _schedule(self, system)
        bend = clamp(ca.atan2(length * turning, ahead) / schedule.widest, -1.0, 1.0)
        # the coefficients are chosen by the direction, so that one polynomial is evaluated
        table = ca.if_else(v_r < 0, ca.DM(schedule.reverse), ca.DM(schedule.forward))
        K = ca.vertcat(*[polynomial(bend, ca.horzsplit(table[k, :])) for k in range(5)])
        w = w_r - ca.fabs(v_r) * ca.dot(K, x)
        w = ca.fmin(w, self.kdelta * (self.largest - q[k]))
        return self._speed(v_r, x), ca.fmax(w, -self.kdelta * (self.largest + q[k]))

    def _configuration(self, system: System, turn: SteadyTurn) -> Array:
        """(nq,) at rest but for the two joints."""
        q = system.kinematics.rest.copy()
        q[steering_coordinate(system, self.hinge)] = turn.fold
        q[steering_coordinate(system, self.steering)] = turn.steering
        return q

    def _axle(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the trailer's axle."""
        at, reader = planar_base(system).coordinates.start, system.kinematics.reader
        hitch, length = reader.scalar(self.hitch), reader.scalar(self.trailer)
        heading = q[at + 2] + q[steering_coordinate(system, self.hinge)]
        place = moved(q[at : at + 2], q[at + 2], -hitch, ca.SX(0))
        return moved(place, heading, -length, ca.SX(0)), heading

    def _errors(self, system: System, q_r: ca.SX) -> ca.SX:
        """x."""
        q = system.kinematics.symbols.q
        (p, theta), (p_r, theta_r) = self._axle(system, q), self._axle(system, q_r)
        joints = [steering_coordinate(system, name) for name in (self.hinge, self.steering)]
        along, across = in_axes(theta_r, p - p_r)
        return ca.vertcat(along, across, theta - theta_r, (q - q_r)[joints])

    def _rates(self, system: System, q: ca.SX, v: ca.SX) -> ca.SX:
        """q̇ at a speed of the base, with the steering at rest."""
        kin = system.kinematics
        rates = self.at_speed(system, ca.mtimes(kin.N, kin.v), v)
        return ca.substitute([rates], [kin.symbols.q], [q])[0]

    def _axle_speeds(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Speed ahead and rate of turning of the trailer's axle where the base goes at 1 m/s."""
        free = system.kinematics.symbols.q
        place, heading = self._axle(system, free)
        rates = self._rates(system, free, ca.SX(1))
        velocity = ca.jtimes(place, free, rates)
        both = ca.vertcat(in_axes(heading, velocity)[0], ca.jtimes(heading, free, rates))
        both = ca.substitute([both], [free], [q])[0]
        return both[0], both[1]

    def _rows(self, system: System) -> list[ca.SX]:
        """Speed of the base ahead, and rate of the steering angle."""
        return speed_rows(system, self.steering)


class _Traced(NamedTuple):
    turning: ca.Function  # what a turn misses, its slope over fold and steering, the axle's speed
    error_rates: ca.Function  # Jacobians of x and of x′ over q


@lru_cache(maxsize=8)
def _traced(law: TrailerTracking, system: System) -> _Traced:
    """The model's kinematics of (1), as numeric functions."""
    kin = system.kinematics
    q, w, params = kin.symbols.q, kin.symbols.w, kin.symbols.params
    q_r, kappa, sign = ca.SX.sym("q_r", q.shape[0]), ca.SX.sym("kappa"), ca.SX.sym("sign")
    fold, steer = (steering_coordinate(system, name) for name in (law.hinge, law.steering))
    ahead, turning = law._axle_speeds(system, q)
    miss = ca.vertcat(law._rates(system, q, ca.SX(1))[fold], turning - kappa * ahead)
    slope = ca.jacobian(miss, q)[:, [fold, steer]]
    x = law._errors(system, q_r)
    now, then = law._rates(system, q, law._speed(sign, x)), law._rates(system, q_r, sign)
    xdot = ca.jtimes(x, q, now) + ca.jtimes(x, q_r, then)
    jacobians = [ca.densify(ca.jacobian(e, q)) for e in (x, xdot)]
    return _Traced(
        ca.Function("turning", [q, w, params, kappa], [miss, ca.densify(slope), ahead]),
        ca.Function("error_rates", [q, q_r, w, params, sign], jacobians),
    )


class _Schedule(NamedTuple):
    widest: float  # bend atan(trailer κ), rad
    forward: Array  # (5, DEGREE + 1) polynomials of the bend over the widest, highest power first
    reverse: Array


@lru_cache(maxsize=8)
def _schedule(law: TrailerTracking, system: System) -> _Schedule:
    """K_±(κ) from the straight line to the sharpest turn."""
    length = nominal(law.trailer, system.model.parameter_values())
    if not length > 0.0:
        raise SimulationError(
            f"the trailer is {length:g} m long",
            f"TrailerTracking of model '{system.model.name}'",
            "give the way from the hinge to the trailer's axle, m",
        )
    widest = 0.0
    for bend in np.linspace(0.0, WIDEST, 25)[1:]:
        try:
            turn = law.steady_turn(system, float(np.tan(bend)) / length)
        except SimulationError:
            break
        if abs(turn.fold) > WIDEST or abs(turn.steering) > law.largest:
            break
        widest = float(bend)
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    powers = np.vander(nodes)
    tables = []
    for sign in (1.0, -1.0):
        found = [law.gains(system, sign, float(np.tan(widest * n)) / length) for n in nodes]
        tables.append(np.linalg.solve(powers, np.array(found)).T)
    return _Schedule(widest, *tables)


#: Reach of the feedback, in lengths of the vehicle.
REACH = 1.0
#: The least reach, in s of the way.
REACH_TIME = 1.5
#: Largest steering angle that is asked for, rad.
LARGEST = 1.2
#: Weights of (3): of the place, the heading, and the inputs.
PLACE, HEADING, EFFORT = 0.4, 0.3, 0.1
#: Singular values of rows below this part of the largest count as zero.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTracking(AbstractControllerPlan):
    """Feedback for any vehicle on a path; how it steers is found."""

    word = "path"

    #: λ, over which errors decay, m; a length of the vehicle by default, and no less than it goes
    #: in 1.5 s
    reach: Length | None = None
    #: rate of speeds, steering angles and held joints, 1/s; not for trailers that go first
    k: PerSecond = 5.0

    def __post_init__(self) -> None:
        check_gains(self, "k", *(() if self.reach is None else ("reach",)))

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """For a path of a vehicle with motors enough."""
        return "point" in known and len(system.model.inputs) >= len(system.independent_speeds)

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractController:
        """The law of what follows a path."""
        where = f"controller of model '{system.model.name}'"
        if not isinstance(motion, AbstractPathMotion):
            raise SimulationError(
                "path tracking needs a vehicle that follows a path",
                where,
                "use a controller of joints",
            )
        reach, mean = self.reach, length(motion.path) / motion.timing.duration(motion.path)
        if reach is None:
            # slower than speeds and steering, which settle with 1/k
            reach = max(REACH * system.kinematics.length, REACH_TIME * mean, 1e-3)
        if isinstance(motion, PathMotion) and not motion.base:
            return FollowingLaw(motion=motion, reach=reach, k=self.k)
        values = system.parameters(parameters)
        try:
            return linear_quadratic(
                system,
                motion,
                reference_start=reference_start,
                # of the whole way: at the end of a part of it the vehicle would not be at rest
                duration=max(duration, motion.timing.duration(motion.path)),
                state_weights=_chain_weights(system, motion, reach),
                input_weights=_effort_weights(system, reference_start, values, reach, reach / mean),
                parameters=parameters,
            )
        except SimulationError as error:
            raise SimulationError(
                "the axle of a trailer goes first, and no gains lead this chain of axles along "
                f"this path: {error.what}",
                where,
                "use the controller 'trailer' with one trailer, 'lqr' with weights of your own, or "
                "a steering that is a speed input",
            ) from None


def _chain_weights(system: System, motion: AbstractPathMotion, reach: float) -> dict[str, float]:
    """Weights of (3) of states."""
    base = planar_base(system).joint.name
    place = (PLACE / reach) ** 2
    found = {f"{base}.x": place, f"{base}.y": place, f"{base}.angle": HEADING}
    return found | dict.fromkeys(motion.hinges(), 1.0)


def _effort_weights(
    system: System, q: Array, values: Array, reach: float, time: float
) -> dict[str, float]:
    """Weights of (3) of inputs: what a unit of each accelerates, at rest."""
    kin = system.kinematics
    s, inputs = kin.symbols, system.equations.inputs
    rates = system.rates_expression[s.q.shape[0] : s.q.shape[0] + kin.eta.shape[0], :]
    B = ca.Function("B", [s.t, s.q, kin.eta, inputs, s.params], [ca.jacobian(rates, inputs)])
    still = np.zeros(kin.eta.shape[0]), np.zeros(inputs.shape[0])
    b = np.abs(np.array(B(0.0, q, *still, values)))
    scales = np.array([1.0 if x.unit == "rad/s" else reach for x in system.independent_speeds])
    forces = [i.name for i in system.model.inputs]
    sizes = np.max(b / scales[:, None], axis=0)[: len(forces)] * time**2
    found = {n: EFFORT * max(float(x), 1e-9) ** 2 for n, x in zip(forces, sizes, strict=True)}
    # the rate of a speed input is an acceleration itself
    return found | {f"{i.name}_rate": EFFORT * time**4 for i in system.model.speed_inputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowingLaw(AbstractSteeringController):
    """(1) and (2) for a vehicle on a path. Made by :class:`PathTracking`."""

    motion: PathMotion  #: motion along the path
    #: reach, k: λ, m, and k, 1/s
    reach: float
    k: float

    @property
    def key(self) -> Hashable:
        """The motion and the gains."""
        return "following", self.motion.key, value_key(self)

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the independent speeds those of the law."""
        eta_d = self._speeds(system, *self._law(system, reference))
        rate = along_motion(system, reference, eta_d)
        return accelerate(system, rate + self.k * (eta_d - system.kinematics.eta))

    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """The rate of the steering angle, if it is an input; the others as on the reference."""
        parts = ca.vertsplit(reference.speed_inputs) if system.model.speed_inputs else []
        link = self._steering(system)
        if link is not None and (at := _input_of(system, link.coordinate)) is not None:
            parts[at] = self._steering_rate(system, reference, link)
        return ca.vertcat(*parts) if parts else ca.SX(0, 1)

    def _law(self, system: System, reference: Reference) -> tuple[list[ca.SX], list[ca.SX]]:
        """Rows of speeds that determine all independent ones, and what these should be."""
        ahead, across, turning = self._rows(system)
        e_x, e_y, e_theta = self._errors(system, reference)
        v_r, u_r, w_r = (at_reference(system, reference, row) for row in self._rows(system))
        link, k = self._steering(system), self.k
        v_d, ratio = self._speed(v_r, e_x)
        if self._rank(system, [ahead, across, turning]) == 3:
            c, s = ca.cos(e_theta), ca.sin(e_theta)
            rows = [ahead, across, turning]
            wanted = [c * v_r - s * u_r + k * e_x, s * v_r + c * u_r + k * e_y, w_r + k * s]
        elif link is None:
            rows = [ahead, turning]
            wanted = [v_d, w_r * ratio + v_d * self._turn(v_r, e_y, e_theta)]
        else:
            rows, wanted = [ahead], [v_d]
            if _input_of(system, link.coordinate) is None:
                rows.append(system.kinematics.v[steering_speed(system, link.coordinate)])
                wanted.append(self._steering_rate(system, reference, link))
        self._complete(system, reference, rows, wanted)
        return rows, wanted

    def _complete(
        self, system: System, reference: Reference, rows: list[ca.SX], wanted: list[ca.SX]
    ) -> None:
        """Add speeds of joints until all independent ones are determined; they follow theirs."""
        kin = system.kinematics
        held = [name for name, _ in self.motion.held]
        nodes = [n for n in kin.tree.nodes if n.speeds.stop - n.speeds.start == 1]
        nodes.sort(key=lambda n: kin.coordinates[n.coordinates.start].name not in held)
        for node in nodes:
            if len(rows) == kin.num_independent_speeds:
                return
            row, at = kin.v[node.speeds.start], node.coordinates.start
            if self._rank(system, [*rows, row]) <= len(rows):
                continue
            rows.append(row)
            error = reference.q[at] - kin.symbols.q[at]
            wanted.append(at_reference(system, reference, row) + self.k * error)
        if len(rows) < kin.num_independent_speeds:
            raise SimulationError(
                f"path tracking determines {len(rows)} of {kin.num_independent_speeds} degrees of "
                "freedom",
                f"controller of model '{system.model.name}'",
                "use 'lqr' with weights",
            )

    def _speeds(self, system: System, rows: list[ca.SX], wanted: list[ca.SX]) -> ca.SX:
        """η of the rows."""
        kin = system.kinematics
        speeds = ca.vertcat(*rows)
        J = ca.densify(ca.jacobian(speeds, kin.eta))
        still = [ca.SX.zeros(kin.eta.shape), ca.SX.zeros(kin.symbols.w.shape)]
        offset = ca.substitute([speeds], [kin.eta, kin.symbols.w], still)[0]
        return orthogonal_solve(J, ca.vertcat(*wanted) - offset)[0]

    def _steering_rate(self, system: System, reference: Reference, link: AxleLink) -> ca.SX:
        """The rate of the steering coordinate: that of (2) where the base moves at (1), and k."""
        kin, reader = system.kinematics, system.kinematics.reader
        nx, ny = (reader.scalar(e) for e in link.near)
        at = [c.name for c in system.coordinates].index(link.coordinate)
        now, then = (link.sign * q[at] + link.offset for q in (kin.symbols.q, reference.q))
        e_x, e_y, e_theta = self._errors(system, reference)
        v_r = at_reference(system, reference, self._rows(system)[0])
        bend = ca.tan(then) / (nx + ny * ca.tan(then)) + self._turn(v_r, e_y, e_theta)
        # of its angle and of the one half a turn away the one that is near
        away = ca.if_else(bend * ny < 1, 0.0, np.pi)
        phi_d = ca.atan(bend * nx / (1 - bend * ny)) + away
        phi_d = ca.fmin(ca.fmax(phi_d, -LARGEST), LARGEST)
        v_d, _ = self._speed(v_r, e_x)
        rows, wanted = [self._rows(system)[0]], [v_d]
        if _input_of(system, link.coordinate) is None:
            rows.append(kin.v[steering_speed(system, link.coordinate)])
            wanted.append(ca.SX(0))
        self._complete(system, reference, rows, wanted)
        given = [ca.densify(self._speeds(system, rows, wanted)), ca.SX.zeros(kin.symbols.w.shape)]
        rate = along_motion(system, reference, phi_d)
        rate = ca.substitute([rate], [kin.eta, kin.symbols.w], given)[0]
        return link.sign * (rate + self.k * (phi_d - now))

    def _speed(self, v_r: ca.SX, e_x: ca.SX) -> tuple[ca.SX, ca.SX]:
        """(1), and v_d/v_r, which has no singularity at rest."""
        sign = ca.if_else(v_r < 0, -1.0, 1.0)
        ratio = 1 + 0.5 * sign * ca.tanh(2 * e_x / self.reach)
        return v_r * ratio, ratio

    def _turn(self, v_r: ca.SX, e_y: ca.SX, e_theta: ca.SX) -> ca.SX:
        """(2) less κ_r."""
        sign = ca.if_else(v_r < 0, -1.0, 1.0)
        return sign * (2 / self.reach) * ca.sin(e_theta + sign * ca.atan(e_y / (2 * self.reach)))

    def _errors(self, system: System, reference: Reference) -> tuple[ca.SX, ca.SX, ca.SX]:
        """e_x, e_y and e_θ."""
        (p_r, theta_r), (p, theta) = (
            self._frame(system, q) for q in (reference.q, system.kinematics.symbols.q)
        )
        return *in_axes(theta, p_r - p), theta_r - theta

    def _frame(self, system: System, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Place and heading of the frame that follows."""
        reader = system.kinematics.reader
        at = planar_base(system).coordinates.start
        x, y = (reader.scalar(e) for e in self.motion.point[:2])
        ahead, across = (reader.scalar(e) for e in self.motion.direction[:2])
        return moved(q[at : at + 2], q[at + 2], x, y), q[at + 2] + ca.atan2(across, ahead)

    def _rows(self, system: System) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Speeds of the frame along and across its heading, and its rate of turning."""
        kin = system.kinematics
        at = planar_base(system).speeds.start
        vx, vy, rate = (kin.v[at + k] for k in range(3))
        x, y = (kin.reader.scalar(e) for e in self.motion.point[:2])
        ahead, across = (kin.reader.scalar(e) for e in self.motion.direction[:2])
        size = ca.sqrt(ahead**2 + across**2)
        vx, vy = vx - rate * y, vy + rate * x
        return (ahead * vx + across * vy) / size, (ahead * vy - across * vx) / size, rate

    def _steering(self, system: System) -> AxleLink | None:
        """Link that steers; None for a base that turns by its wheels."""
        ahead, _, turning = self._rows(system)
        if self._rank(system, [ahead, turning]) == 2:
            return None
        links = [link for link in self.motion.steering_links(system) if not link.origin]
        moves = [link for link in links if self._moves(system, ahead, link)]
        if not moves:
            raise SimulationError(
                "the base cannot turn by itself, and no steering is known",
                f"controller of model '{system.model.name}'",
                "name the steering with its wheelbase, or use 'lqr' with weights",
            )
        # one on the center line, if there is one
        return next((link for link in moves if link.near[1] == 0), moves[0])

    def _moves(self, system: System, ahead: ca.SX, link: AxleLink) -> bool:
        """Whether an angle moves by itself, by a motor or as an input."""
        if _input_of(system, link.coordinate) is not None:
            return True
        row = system.kinematics.v[steering_speed(system, link.coordinate)]
        return self._rank(system, [ahead, row]) == 2

    def _rank(self, system: System, rows: list[ca.SX]) -> int:
        """Rank of the rows in the independent speeds, at generic configurations."""
        kin = system.kinematics
        s = kin.symbols
        J = ca.densify(ca.jacobian(ca.vertcat(*rows), kin.eta))
        function = ca.Function("rows", [s.t, s.q, s.params], [J])
        found = [np.array(function(t, q, kin.probe.params)) for t, q in kin.probe.configurations(2)]
        sizes = [np.linalg.svd(x, compute_uv=False) for x in found]
        return max(int(np.sum(x > NEGLIGIBLE * max(x[0], 1e-300))) for x in sizes)


def _input_of(system: System, coordinate: str) -> int | None:
    """Index of the speed input that drives a coordinate; None if there is none."""
    name = system.speeds[steering_speed(system, coordinate)].name
    driven = [i.speed for i in system.model.speed_inputs]
    return driven.index(name) if name in driven else None
