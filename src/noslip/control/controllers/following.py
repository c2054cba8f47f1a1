"""`PathTracking`: one controller for all vehicles that follow paths, with nothing to tell it.

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
alone holds them. Such a chain gets the gains of the regulator along its motion (`regulator.py`),
with weights by its own scales: λ, the time τ = λ/v̄ that it takes to drive it, and for each input
the acceleration b that a unit of it gives,

    (3)  ∫ (0.4/λ)² (x² + y²) + 0.3 θ² + Σ φ² + 0.1 Σ (b τ² u/scale)² dt

with x, y, θ of the base, φ of the hinges, and scale λ of lengths, 1 of angles.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve
from noslip.base import Array, SimulationError, value_key
from noslip.control.controllers.base import (
    AbstractController,
    AbstractControllerPlan,
    AbstractSteeringController,
    accelerate,
    along_motion,
    check_gains,
)
from noslip.control.controllers.regulator import linear_quadratic
from noslip.control.controllers.steered import at_reference, in_axes, moved, steering_speed
from noslip.control.follower import AxleLink
from noslip.control.forms import Length, PerSecond
from noslip.control.motions.path import AbstractPathMotion, PathMotion, planar_base
from noslip.control.paths.arc_length import length
from noslip.control.reference.inverse import Reference
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System

#: Reach of the feedback, in lengths of the vehicle.
REACH = 1.0
#: The least reach, in s of the way.
AHEAD = 1.5
#: Largest steering angle that is asked for, rad.
LARGEST = 1.2
#: Weights of (3): of the place, the heading, and the inputs.
PLACE, HEADING, EFFORT = 0.4, 0.3, 0.1
#: Singular values of rows below this part of the largest count as zero.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTracking(AbstractControllerPlan):
    """Feedback for any vehicle on a path; how it steers is found.

    Parameters
    ----------
    reach : λ, over which errors decay, m; a length of the vehicle by default, and no less than it
        goes in 1.5 s.
    k : rate of speeds, steering angles and held joints, 1/s; not for trailers that go first.
    """

    word = "path"

    reach: Length | None = None
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
            reach = max(REACH * system.kinematics.length, AHEAD * mean, 1e-3)
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
    """(1) and (2) for a vehicle on a path. Made by :class:`PathTracking`.

    Parameters
    ----------
    motion : along the path.
    reach, k : λ, m, and k, 1/s.
    """

    motion: PathMotion
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
