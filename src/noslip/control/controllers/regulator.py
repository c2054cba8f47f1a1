"""The linear-quadratic regulator along a motion: gains over time from the exact linearization.

With ẋ = A(t) x + B(t) c of ``linearization.py``, x what the state is off the reference's and
c = [u − u_r; ẇ − ẇ_r], the inputs that make ∫ xᵀQx + cᵀRc dt least are [AndersonMoore1990]

    (1)  c = −K x,   K = R⁻¹BᵀP,   −Ṗ = AᵀP + PA − PBR⁻¹BᵀP + Q

(1) is integrated backward from the end, where the motion is taken to go on as it is there.

All coordinates are states, weighted or not; what the inputs cannot move (the angle of a wheel,
apart from the way rolled) takes no gain as long as it has no weight. A speed input, such as a
steering rate, is a state too: its rate is fed back, and what it leads the reference by is carried
along. It stays as on the reference if its rate is given no weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from noslip.analysis.inverse import Reference
from noslip.analysis.motion import AbstractMotion
from noslip.control.controllers.base import AbstractServo
from noslip.control.controllers.linearization import ACCURACY, linearize_along, planar_places
from noslip.control.paths.selection import clamp, look_up, polynomial
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.numeric import is_truth

#: Gains that change by less than this part of their size are numbers.
STEADY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearQuadratic(AbstractServo):
    """(1), gains as cubic splines of time. Made by :func:`linear_quadratic`.

    Parameters
    ----------
    speeds : names of η that the gains are for, in order.
    times : (n,) s; before and after, the gains at the ends hold.
    gains : (n, nu + nw, nx) K.
    costs : (n, nx, nx) P: xᵀPx is the least cost from a small error x.
    """

    speeds: tuple[str, ...]
    times: Array
    gains: Array = field(repr=False)
    costs: Array = field(repr=False)

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u_r − K x."""
        num = len(system.model.inputs)
        return reference.forces - self._feedback(system, reference)[:num, :]

    def speed_input_rates(self, system: System, reference: Reference) -> ca.SX:
        """ẇ_r − K x."""
        num = len(system.model.inputs)
        return reference.speed_input_rates - self._feedback(system, reference)[num:, :]

    def _feedback(self, system: System, reference: Reference) -> ca.SX:
        """K(t) x, places of planar bases in their own axes on the reference."""
        kin = system.kinematics
        place = kin.symbols.q - reference.q
        parts = ca.vertsplit(place)
        for at in planar_places(system):
            cos, sin = ca.cos(reference.q[at + 2]), ca.sin(reference.q[at + 2])
            parts[at] = cos * place[at] + sin * place[at + 1]
            parts[at + 1] = -sin * place[at] + cos * place[at + 1]
        leads = kin.symbols.w - reference.speed_inputs
        x = ca.vertcat(*parts, self._speed_errors(system, reference), leads)
        return ca.mtimes(self._gains_at(kin.symbols.t), x)

    def _gains_at(self, t: ca.SX) -> ca.SX:
        """K(t), traced; what does not change is a number."""
        num, *shape = self.gains.shape
        flat = self.gains.reshape(num, -1)
        # against the largest gain of the same input: others have other units
        sizes = np.max(np.abs(self.gains), axis=(0, 2), keepdims=True)
        steady = np.ptp(self.gains, axis=0) <= STEADY * np.broadcast_to(sizes[0], shape)
        moving = np.flatnonzero(~steady.ravel()).tolist()
        entries = [ca.SX(float(flat[0, k])) for k in range(flat.shape[1])]
        if moving:
            spline = CubicSpline(self.times, flat[:, moving])
            now = clamp(t, float(self.times[0]), float(self.times[-1]))
            # a row for each piece: its start, then four coefficients of each entry
            table = spline.c.transpose(1, 2, 0).reshape(num - 1, -1)
            starts = [float(s) for s in self.times[:-1]]
            found = look_up(now, starts, np.column_stack([starts, table]))
            for j, k in enumerate(moving):
                entries[k] = polynomial(now - found[0], found[1 + 4 * j : 5 + 4 * j])
        rows, columns = shape
        return ca.reshape(ca.vertcat(*entries), columns, rows).T

    def _speed_errors(self, system: System, reference: Reference) -> ca.SX:
        """η − η_r for the speeds that the gains are for, in whatever speeds the system has."""
        kin = system.kinematics
        if tuple(s.name for s in kin.independent_speeds) == self.speeds:
            return kin.eta - reference.eta
        names = [s.name for s in kin.speeds]
        for name in self.speeds:
            if name not in names:
                raise SimulationError(
                    f"the gains are for the independent speed '{name}', which this system lacks",
                    f"linear-quadratic control of model '{system.model.name}'",
                    "find the gains with this system: linear_quadratic(system, …)",
                )
        at = [names.index(name) for name in self.speeds]
        given = [ca.densify(x) for x in (reference.q, reference.eta, reference.speed_inputs)]
        symbols = [kin.symbols.q, kin.eta, kin.symbols.w]
        return (kin.v - ca.substitute([kin.v], symbols, given)[0])[at, :]


def linear_quadratic(
    system: System,
    motion: AbstractMotion,
    *,
    reference_start: Array,
    duration: float,
    state_weights: Mapping[str, float],
    input_weights: Mapping[str, float],
    samples: int = 61,
    parameters: Mapping[str, float] | None = None,
) -> LinearQuadratic:
    """The regulator of a motion.

    Parameters
    ----------
    system : compiled system.
    motion : what to follow.
    reference_start : (nq,) reference configuration at the start.
    duration : s that the gains are found for.
    state_weights : coordinate, independent speed or speed input → diagonal entry of Q, 0 if left
        out. ``x`` and ``y`` of a planar base are along its own axes.
    input_weights : force input, or rate of a speed input (``steering_rate_rate``) → diagonal entry
        of R. All force inputs need one; speed inputs whose rates have none are not fed back.
    samples : times at which the motion is linearized; gains are cubic in between.
    parameters : values that differ from the nominal ones.

    Raises
    ------
    SimulationError : for unknown names, weights that are not positive, quaternions, or gains that
        have no bound.
    """
    Q, R = _weights(system, state_weights, input_weights)
    line = linearize_along(
        system,
        motion,
        reference_start=reference_start,
        duration=duration,
        samples=samples,
        parameters=parameters,
    )
    nx = len(Q)
    A, B = CubicSpline(line.times, line.A), CubicSpline(line.times, line.B)

    def rate(before_end: float, flat: Array) -> Array:
        """dP/d(T − t); before_end < 0 is after the end."""
        t = duration - max(before_end, 0.0)
        # an error that is not symmetric would grow
        P = (flat.reshape(nx, nx) + flat.reshape(nx, nx).T) / 2
        PA, PB = P @ A(t), P @ B(t)
        return (PA.T + PA - (PB / R) @ PB.T + Q).ravel()

    backward = duration - line.times[::-1]
    span = (-duration, duration)
    with np.errstate(over="ignore", invalid="ignore"):
        solved = solve_ivp(rate, span, np.zeros(nx * nx), t_eval=backward, **ACCURACY)
    if not solved.success:
        raise SimulationError(
            "the Riccati equation has no bounded solution over this motion",
            f"linear-quadratic control of model '{system.model.name}'",
            "weight only what the inputs can move, weight the rates of speed inputs to have them "
            "fed back, or shorten the duration",
        )
    costs = solved.y.T.reshape(-1, nx, nx)[::-1]
    costs = (costs + costs.transpose(0, 2, 1)) / 2
    gains = np.array([(b / R).T @ P for b, P in zip(line.B, costs, strict=True)])
    return LinearQuadratic(speeds=line.speeds, times=line.times, gains=gains, costs=costs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regulator:
    """Weights of a regulator, for :func:`track`, which knows the motion that they are for.

    Parameters
    ----------
    weights : by name: of states (coordinates, independent speeds, speed inputs) and of inputs
        (force inputs, rates of speed inputs), as in :func:`linear_quadratic`.
    samples : times at which the motion is linearized.
    """

    weights: Mapping[str, float]
    samples: int = 61

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> LinearQuadratic:
        """The regulator of a motion.

        Parameters
        ----------
        system, motion, reference_start, duration, parameters : as in :func:`linear_quadratic`.
        """
        inputs = [i.name for i in system.model.inputs]
        inputs += [f"{i.name}_rate" for i in system.model.speed_inputs]
        return linear_quadratic(
            system,
            motion,
            reference_start=reference_start,
            duration=duration,
            state_weights={n: w for n, w in self.weights.items() if n not in inputs},
            input_weights={n: w for n, w in self.weights.items() if n in inputs},
            samples=self.samples,
            parameters=parameters,
        )


def _weights(
    system: System, states: Mapping[str, float], inputs: Mapping[str, float]
) -> tuple[Array, Array]:
    """Q (nx, nx) and the diagonal of R (nu + nw,), infinite for what is not fed back."""
    where = f"linear-quadratic control of model '{system.model.name}'"
    forces = [i.name for i in system.model.inputs]
    speeds = [i.name for i in system.model.speed_inputs]
    names = [q.name for q in (*system.coordinates, *system.independent_speeds)] + speeds
    rates = [f"{name}_rate" for name in speeds]
    for given, known in ((states, names), (inputs, forces + rates)):
        for name, weight in given.items():
            if name not in known:
                raise SimulationError(
                    f"there is no '{name}' to weight", where, nearest(name, known)
                )
            is_good = not is_truth(weight) and np.isfinite(weight) and weight >= 0
            if not (is_good and (weight > 0 or given is states)):
                raise SimulationError(
                    f"the weight of '{name}' is {weight}",
                    where,
                    "give states weights of 0 or more, and inputs positive ones",
                )
    missing = [name for name in forces if name not in inputs]
    if missing:
        raise SimulationError(
            f"input '{missing[0]}' has no weight, so it would cost nothing",
            where,
            f"give a positive weight to each of {', '.join(forces)}",
        )
    Q = np.diag([float(states.get(name, 0.0)) for name in names])
    return Q, np.array([float(inputs.get(name, np.inf)) for name in (*forces, *rates)])
