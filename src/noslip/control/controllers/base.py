"""Controllers: force inputs from the state and a reference, traced, so that they run natively.

To add one: a frozen class with `forces(system, reference) -> ca.SX`, one entry for each force
input, in the system's own symbols q and η and the reference's (`Reference`). It is compiled with
the simulation. One that also feeds speed inputs back is an :class:`AbstractSteeringController`.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip.analysis.inverse import Reference, reference_generator, solve_inputs, trace_reference
from noslip.analysis.motion import AbstractMotion
from noslip.control.controllers.feedback_rates import along_motion, speed_input_rates
from noslip.control.motions.path import planar_base
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.linear import symmetric_solve
from noslip.model.quantities import ZERO, Vector3
from noslip.simulation.inputs import AbstractInputLaw, InputGenerator
from noslip.simulation.trajectory import Trajectory


class AbstractController(abc.ABC):
    """A law that gives the force inputs from the state and the reference."""

    __slots__ = ()

    @abc.abstractmethod
    def forces(self, system: System, reference: Reference) -> ca.SX:
        """(nu,) force inputs."""


class AbstractSteeringController(AbstractController):
    """A law that gives the speed inputs too, such as a steering rate."""

    __slots__ = ()

    @abc.abstractmethod
    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """(nw,) speed inputs w, of t, q and the reference: not of speeds, as ẇ is found from it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracking(AbstractInputLaw):
    """A motion, followed under a controller, with limits on the inputs.

    Parameters
    ----------
    motion : what to follow.
    controller : the feedback.
    reference_start : (nq,) reference configuration at the start.
    limits : input name → largest magnitude.
    period : s between looks at the state, the inputs held in between; 0 for a continuous law.
    """

    motion: AbstractMotion
    controller: AbstractController
    reference_start: Array
    limits: dict[str, float]
    period: float = 0.0

    def generator(self, system: System) -> InputGenerator:
        """The closed loop in the symbols of this system."""
        model = system.model
        reference = trace_reference(system, self.motion)
        forces = self._limited(model.inputs, self.controller.forces(system, reference))
        names = [i.name for i in model.inputs]
        steered: dict[str, ca.SX] = {}
        if isinstance(self.controller, AbstractSteeringController):
            w = self.controller.speed_inputs(system, reference)
            limited = self._limited(model.speed_inputs, w)
            steered = dict(zip([i.name for i in model.speed_inputs], limited, strict=True))
        if not self.period:
            given = dict(zip(names, forces, strict=True))
            continuous = reference_generator(system, reference, given, self.reference_start)
            rates = speed_input_rates(system, reference, steered)
            inputs = continuous.inputs | steered | rates
            return dataclasses.replace(
                continuous, inputs={name: ca.densify(e) for name, e in inputs.items()}
            )
        # zero-order hold: the forces are states that only an update changes
        held = ca.SX.sym("held", len(names))
        given = {name: held[k] for k, name in enumerate(names)}
        continuous = reference_generator(system, reference, given, self.reference_start)
        # speeds go on from where they are to what is wanted, at a constant rate over the period:
        # a jump would need an infinite force of what has inertia
        speed, slope = ca.SX.sym("speed", len(steered)), ca.SX.sym("slope", len(steered))
        ramps = {name: speed[k] for k, name in enumerate(steered)}
        ramps |= {f"{name}_rate": slope[k] for k, name in enumerate(steered)}
        wanted = ca.vertcat(*steered.values()) if steered else ca.SX(0, 1)
        update = ca.vertcat(continuous.states, *forces, speed, (wanted - speed) / self.period)
        # the forces see the speed inputs that are given
        speeds = [i.name for i in system.inputs[len(names) :]]
        now = ca.vertcat(*[(continuous.inputs | ramps)[name] for name in speeds])
        if speeds:
            update = ca.substitute([update], [system.equations.inputs[len(names) :]], [now])[0]
        num = len(names) + 2 * len(steered)
        units = {i.name: i.unit for i in system.inputs}
        return dataclasses.replace(
            continuous,
            inputs=continuous.inputs | ramps,
            states=ca.vertcat(continuous.states, held, speed, slope),
            rates=ca.vertcat(continuous.rates, ca.SX.zeros(len(names)), slope, 0 * slope),
            start=np.concatenate([continuous.start, np.zeros(num)]),
            names=(*continuous.names, *(f"held.{name}" for name in (*names, *ramps))),
            units=(*continuous.units, *(units[name] for name in (*names, *ramps))),
            update=update,
            period=self.period,
        )

    def _limited(self, inputs: tuple[Any, ...], values: ca.SX) -> list[ca.SX]:
        """The inputs held within their limits."""
        result = []
        for k, i in enumerate(inputs):
            bound = self.limits.get(i.name, math.inf)
            bounded = ca.fmin(ca.fmax(values[k], -bound), bound)
            result.append(bounded if math.isfinite(bound) else values[k])
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward(AbstractController):
    """Open loop: the forces of the reference alone."""

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u of inverse dynamics at the reference."""
        return reference.forces


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTorque(AbstractController):
    """Inverse dynamics at the measured state, with proportional and derivative feedback.

        SᵀB u = SᵀMS (η̇_r + kd (η_r − η) + kp e) + bias − forces

    e are the errors of the coordinates whose rates the independent speeds are; each error obeys
    ë + kd ė + kp e = 0 exactly.

    Parameters
    ----------
    kp, kd : 1/s² and 1/s.
    """

    kp: float
    kd: float

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the errors of the independent coordinates decay."""
        kin = system.kinematics
        at = independent_coordinates(system)
        error = reference.q[at] - kin.symbols.q[at]
        wanted = reference.etadot + self.kd * (reference.eta - kin.eta) + self.kp * error
        return accelerate(system, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalDerivative(AbstractController):
    """PD to a reference or a set point, with gravity compensation if wanted [DeSantis1994, 7.11].

        τ = −Kp (q − q_r) − Kd (q̇ − q̇_r) (+ G(q))

    For q_r at rest, V = ½ eᵀKp e + ½ q̇ᵀD q̇ obeys V̇ = −q̇ᵀKd q̇ ≤ 0 where gravity is compensated.

    Parameters
    ----------
    kp, kd : gains by independent speed, N·m/rad and N·m·s/rad (N/m and N·s/m for sliding joints).
    gravity : add the generalized gravity forces.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    gravity: bool = False

    def lyapunov(self, run: Trajectory, set_point: Array) -> Array:
        """V = ½ eᵀKp e + K along a run to a set point; it only falls where gravity is compensated.

        Parameters
        ----------
        run : a motion under this law, of a model whose coordinates are its independent ones.
        set_point : (nq,) where it should come to rest.
        """
        error = run.q - set_point
        return 0.5 * (error**2 @ np.array(self.kp)) + run.kinetic_energy

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u whose generalized forces are the PD law's."""
        kin, eq = system.kinematics, system.equations
        at = independent_coordinates(system)
        num = kin.num_independent_speeds
        if len(self.kp) != num or len(self.kd) != num:
            raise SimulationError(
                f"{len(self.kp)} and {len(self.kd)} gains are given for {num} degrees of freedom",
                f"PD control of model '{system.model.name}'",
                f"give {num} of each: {', '.join(s.name for s in kin.independent_speeds)}",
            )
        error = reference.q[at] - kin.symbols.q[at]
        wanted = ca.DM(self.kp) * error + ca.DM(self.kd) * (reference.eta - kin.eta)
        if self.gravity:
            wanted = wanted - ca.mtimes(kin.S.T, eq.forces.shares["gravity"])
        return solve_inputs(ca.densify(eq.reduced_inputs), wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseTracking(AbstractController):
    """Pose tracking of a vehicle that cannot move sideways, by backstepping into its dynamics.

    The kinematic law of Kanayama et al. gives the speeds the base should have from the pose error
    in its own frame (e_x ahead, e_y to the left, e_θ),

        v_d = v_r cos e_θ + k_x e_x,   ω_d = ω_r + v_r (k_y e_y + k_θ sin e_θ)

    and the torques make the independent speeds follow them, η̇ = η̇_d + k_v (η_d − η), with η̇_d
    exact. Stable for v_r > 0 by V = ½(e_x² + e_y²) + (1 − cos e_θ)/k_y
    [KanayamaKimuraMiyazakiNoguchi1990], with the speed loop as in [FierroLewis1997]; in reverse the
    signs of v_r are kept by |v_r|.

    Parameters
    ----------
    point, direction : the frame that follows, on the line where the base cannot slip sideways; the
        frame that :func:`track` follows if they are not given.
    kx, ky, ktheta, kv : 1/s, 1/m², 1/m, 1/s.
    """

    point: Vector3 | None = None
    direction: Vector3 | None = None
    kx: float = 1.0
    ky: float = 4.0
    ktheta: float = 3.0
    kv: float = 10.0

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that brings the base back to the reference pose."""
        kin = system.kinematics
        if kin.num_independent_speeds != 2 or system.model.speed_inputs:
            raise SimulationError(
                f"pose tracking needs two freedoms driven by forces; there are "
                f"{kin.num_independent_speeds} and {len(system.model.speed_inputs)} speed inputs",
                f"controller of model '{system.model.name}'",
                "use a controller for steered vehicles, or none",
            )
        q = kin.symbols.q
        base = planar_base(system)
        self._check_turning(system)
        at = base.coordinates.start
        reader = kin.reader
        ahead = self.direction or (1.0, 0.0, 0.0)
        x, y = (reader.scalar(e) for e in (self.point or ZERO)[:2])
        offset = ca.atan2(reader.scalar(ahead[1]), reader.scalar(ahead[0]))

        def frame(c: ca.SX) -> tuple[ca.SX, ca.SX]:
            angle = c[at + 2]
            cos, sin = ca.cos(angle), ca.sin(angle)
            place = c[at : at + 2] + ca.vertcat(cos * x - sin * y, sin * x + cos * y)
            return place, angle + offset

        (p_r, theta_r), (p, theta) = frame(reference.q), frame(q)
        cos, sin = ca.cos(theta), ca.sin(theta)
        gap = p_r - p
        e_x = cos * gap[0] + sin * gap[1]
        e_y = -sin * gap[0] + cos * gap[1]
        e_theta = theta_r - theta
        # speeds of the frame on the reference, along its own heading
        v_frame, w_frame = self._frame_speeds(system, reference.q, reference.eta, x, y, offset)
        v_d = v_frame * ca.cos(e_theta) + self.kx * e_x
        side = v_frame * self.ky * e_y + ca.fabs(v_frame) * self.ktheta * ca.sin(e_theta)
        w_d = w_frame + side
        eta_d = self._independent(system, q, v_d, w_d, x, y, offset)
        rate = along_motion(system, reference, eta_d)
        return accelerate(system, rate + self.kv * (eta_d - kin.eta))

    def _check_turning(self, system: System) -> None:
        """The base must be free to move ahead and to turn, each by itself."""
        kin = system.kinematics
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
                f"controller of model '{system.model.name}'",
                "use SteeredTracking, which steers",
            )

    def _frame_speeds(
        self, system: System, q: ca.SX, eta: ca.SX, x: ca.SX, y: ca.SX, offset: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        """Speed along the heading and turning rate of the frame."""
        rows, s = self._rows(system, q, x, y, offset)
        speeds = ca.mtimes(rows, eta) + s
        return speeds[0], speeds[2]

    def _independent(
        self, system: System, q: ca.SX, v: ca.SX, w: ca.SX, x: ca.SX, y: ca.SX, offset: ca.SX
    ) -> ca.SX:
        """η of a frame speed v along the heading, none across it, and a turning rate w."""
        rows, s = self._rows(system, q, x, y, offset)
        scale = ca.diag(ca.DM([1.0, 1.0, system.kinematics.length]))
        J = ca.mtimes(scale, rows)
        wanted = ca.mtimes(scale, ca.vertcat(v, ca.SX(0), w) - s)
        return symmetric_solve(ca.mtimes(J.T, J), ca.mtimes(J.T, wanted))[0]

    def _rows(
        self, system: System, q: ca.SX, x: ca.SX, y: ca.SX, offset: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        """Speeds ahead, to the left and of turning of the frame: rows · η + s, at q."""
        kin = system.kinematics
        at = planar_base(system).speeds.start
        vx, vy, rate = (kin.v[at + k] for k in range(3))
        px, py = vx - rate * y, vy + rate * x
        cos, sin = ca.cos(offset), ca.sin(offset)
        speeds = ca.vertcat(cos * px + sin * py, -sin * px + cos * py, rate)
        J = ca.densify(ca.jacobian(speeds, kin.eta))
        s = ca.substitute([speeds], [kin.eta], [ca.SX.zeros(kin.eta.shape)])[0]
        found = ca.substitute([J, s], [kin.symbols.q], [q])
        return found[0], found[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomController(AbstractController):
    """A law of your own: a function of (t, q, v, reference q, reference η) in CasADi symbols.

    Parameters
    ----------
    law : returns one traced expression (or number) for each force input.
    """

    law: Callable[[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX], Any]

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """What the law returns."""
        kin = system.kinematics
        found = self.law(kin.symbols.t, kin.symbols.q, kin.v, reference.q, reference.eta)
        parts = found if isinstance(found, list | tuple) else [found]
        forces = ca.vertcat(*[ca.SX(p) for p in parts])
        if forces.shape[0] != len(system.model.inputs):
            raise SimulationError(
                f"the law gives {forces.shape[0]} forces for {len(system.model.inputs)} inputs",
                f"controller of model '{system.model.name}'",
                f"return one for each of {', '.join(i.name for i in system.model.inputs)}",
            )
        return forces


def accelerate(system: System, wanted: ca.SX) -> ca.SX:
    """u with which the independent accelerations are those wanted, at the measured state."""
    eq = system.equations
    needed = ca.mtimes(eq.reduced_mass, wanted) + eq.reduced_bias - eq.reduced_forces
    return solve_inputs(ca.densify(eq.reduced_inputs), needed)


def independent_coordinates(system: System) -> list[int]:
    """Coordinates whose rates are the independent speeds, one for each."""
    kin = system.kinematics
    names = [s.name for s in kin.speeds]
    found = []
    for speed in kin.independent_speeds:
        column = names.index(speed.name) if speed.name in names else -1
        rows = [k for k in range(kin.num_coordinates) if column >= 0 and kin.N[k, column].is_one()]
        if len(rows) != 1 or kin.N[rows[0], :].nnz() != 1:
            raise SimulationError(
                f"independent speed '{speed.name}' is not the rate of one coordinate",
                f"controller of model '{system.model.name}'",
                "write the model in joint rates, or control the pose",
            )
        found.append(rows[0])
    return found
