"""Linear-quadratic regulators: the Riccati equation, and gains along a motion.

**Linear-quadratic regulators: the Riccati equation, solved once for the whole package.**

For ẋ = A x + B u the inputs that minimize ∫ xᵀQx + uᵀRu dt, Q ≥ 0 and R > 0, are

    (1)  u = −K x,   K = R⁻¹BᵀP,   −Ṗ = AᵀP + PA − PBR⁻¹BᵀP + Q

and xᵀPx is the least cost from x on [AndersonMoore1990]. About a steady motion A and B are constant
and, without an end, so is P: the algebraic equation (`solve_lqr`). Along a motion they depend on
time, and (1) is integrated backward from the end (`solve_lqr_along`).

A disturbance d that is known in advance, ẋ = A x + B u + d, is met before it comes (`preview`).
Over steps in which A, B, u and d are constant, x′ = F x + G u + h, and the least cost from x on is
xᵀPx + 2 pᵀx + const with

    (2)  u = −L x − l,   L = H⁻¹GᵀPF,   l = H⁻¹Gᵀ(P h + p),   H = R + GᵀPG
    (3)  P ← Q + FᵀP(F − G L),   p ← (F − G L)ᵀ(P h + p)

backward from the end, where P is that of a motion that goes on unchanged.

**The linear-quadratic regulator along a motion: gains over time from the exact linearization.**

With x = [q; η; w] less the reference's and c = [u − u_r; ẇ − ẇ_r], to first order, and with exact
derivatives at the reference, the same as for steady motions (``analysis/linearization.py``),

    (1)  ẋ = A(t) x + B(t) c

and the gains of c = −K(t) x are those of ``lqr.py``. A speed input w, such as a steering rate, is a
state here, and its rate an input. The position of a planar base is taken in its own axes on the
reference: x is T x with T the rotation by its heading, and A is Ṫ T⁻¹ + T A T⁻¹, which is constant
on a circle.

All coordinates are states, weighted or not; what the inputs cannot move (the angle of a wheel,
apart from the distance rolled) takes no gain as long as it has no weight. A speed input stays as on
the reference if its rate is given no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.analysis import LocalState, local_coordinates_at, small_motions
from noslip.base import Array, SimulationError, as_number, nearest
from noslip.control.closed_loop import AbstractControllerPlan, AbstractServo
from noslip.control.path_geometry import clamp, look_up, polynomial
from noslip.control.reference_motion import (
    AbstractMotion,
    Reference,
    program_key,
    reference_program,
)
from noslip.control.text_grammar import read_entries, read_number
from noslip.engines import System, require_system

#: Modes of the closed loop that decay more slowly than this part of its norm are not stable.
ROUNDING = 1e-9

#: Of the differential equation.
ACCURACY = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}
#: Evaluations beyond which it is given up: a mode of kHz along a motion of minutes.
MOST_EVALUATIONS = 30_000


class _NoEndError(Exception):
    """The integration takes too many evaluations."""


class Regulation(NamedTuple):
    """Gains K (m, n) and costs P (n, n) of (1); along a motion (k, m, n) and (k, n, n)."""

    gains: Array
    costs: Array


def solve_lqr(A: Array, B: Array, Q: Array, R: Array) -> Regulation | None:
    """K and P of constant matrices, without an end; None if no gains stabilize the system.

    `A`, `B`: (n, n) and (n, m); `Q`, `R`: (n, n) weights of the states, and (m,) the diagonal of
    those of the inputs.
    """
    from scipy.linalg import solve_continuous_are

    try:
        P = np.asarray(solve_continuous_are(A, B, Q, np.diag(R)))
    except (np.linalg.LinAlgError, ValueError):
        return None
    K = (B / R).T @ P
    # modes that no input reaches may come out as large numbers instead of an error
    closed = A - B @ K
    if not np.all(np.isfinite(closed)):
        return None
    is_stable = np.max(np.linalg.eigvals(closed).real) < -ROUNDING * np.linalg.norm(closed)
    return Regulation(K, P) if is_stable else None


def solve_lqr_along(
    A: Callable[[float], Array],
    B: Callable[[float], Array],
    Q: Array,
    R: Array,
    times: Array,
) -> Regulation | None:
    """K and P along a motion at given times; None if P grows without bound, or too fast.

    At the end the motion is taken to go on unchanged for as long as it took: (1) is integrated from
    P = 0 over that time first.

    `A`, `B`: (n, n) and (n, m) matrices over time. `Q`, `R`: (n, n) weights of the states, and (m,)
    the diagonal of those of the inputs; infinite for inputs that are not fed back. `times`: (k,)
    rising from 0, s.
    """
    from scipy.integrate import solve_ivp

    n, end, count = len(Q), float(times[-1]), 0

    def rate(before_end: float, flat: Array) -> Array:
        """−Ṗ; before_end < 0 is after the end."""
        nonlocal count
        count += 1
        if count > MOST_EVALUATIONS:
            raise _NoEndError
        t = end - max(before_end, 0.0)
        # an error that is not symmetric would grow
        P = (flat.reshape(n, n) + flat.reshape(n, n).T) / 2
        PA, PB = P @ A(t), P @ B(t)
        return (PA.T + PA - (PB / R) @ PB.T + Q).ravel()

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            at = end - times[::-1]
            solved = solve_ivp(rate, (-end, end), np.zeros(n * n), t_eval=at, **ACCURACY)
    except _NoEndError:
        return None
    if not solved.success:
        return None
    P = solved.y.T.reshape(-1, n, n)[::-1]
    P = (P + P.transpose(0, 2, 1)) / 2
    return Regulation(np.array([(B(t) / R).T @ p for t, p in zip(times, P, strict=True)]), P)


class PreviewedMotion(NamedTuple):
    """States x (k, n) and inputs u (k, m) of least cost at times, with a known disturbance."""

    states: Array
    inputs: Array


def preview(
    A: Array, B: Array, d: Array, Q: Array, R: Array, step: float, start: Array
) -> PreviewedMotion | None:
    """x and u of least cost with a disturbance that is known from the start; None without bound.

    `A`, `B`, `d`: (k, n, n), (k, n, m) and (k, n) at times in equal steps; `Q`, `R`: (n, n) weights
    of the states, and (m,) the diagonal of those of the inputs; `step`: s between times; `start`:
    (n,) x at the start, NaN for entries that are free to be the best.
    """
    k, n, m = B.shape
    F, G, h = _discrete(A, B, d, step)
    end = solve_lqr(A[-1], B[-1], Q, R)
    if end is None:
        return None
    P, p = end.costs / step, np.zeros(n)
    laws = []
    for i in range(k - 2, -1, -1):
        H = np.diag(R) + G[i].T @ P @ G[i]
        pushed = P @ h[i] + p
        L, offset = np.linalg.solve(H, G[i].T @ P @ F[i]), np.linalg.solve(H, G[i].T @ pushed)
        closed = F[i] - G[i] @ L
        p, P = closed.T @ pushed, Q + F[i].T @ P @ closed
        P = (P + P.T) / 2
        laws.append((L, offset))
    x, u = np.zeros((k, n)), np.zeros((k, m))
    is_free = np.isnan(start)
    x[0, ~is_free] = start[~is_free]
    # the best of what is free: P x + p = 0 in its rows
    given = p + P @ x[0]
    x[0, is_free] = -np.linalg.solve(P[np.ix_(is_free, is_free)], given[is_free])
    held = np.zeros((k - 1, m))
    for i, (L, offset) in enumerate(reversed(laws)):
        held[i] = -L @ x[i] - offset
        x[i + 1] = F[i] @ x[i] + G[i] @ held[i] + h[i]
    # inputs that are held between times, at the times
    u[0], u[-1], u[1:-1] = held[0], held[-1], (held[1:] + held[:-1]) / 2
    return PreviewedMotion(x, u) if np.all(np.isfinite(x)) else None


def _discrete(A: Array, B: Array, d: Array, step: float) -> tuple[Array, Array, Array]:
    """F, G and h of (2): blocks of the exponential of [A B d; 0] over a step."""
    from scipy.linalg import expm

    n, m = B.shape[1:]
    whole = np.zeros((len(A) - 1, n + m + 1, n + m + 1))
    for at, part in (
        (slice(0, n), A),
        (slice(n, n + m), B),
        (slice(n + m, n + m + 1), d[:, :, None]),
    ):
        whole[:, :n, at] = (part[1:] + part[:-1]) / 2 * step
    found = expm(whole)
    return found[:, :n, :n], found[:, :n, n : n + m], found[:, :n, n + m]


#: Gains that change by less than this part of their size are numbers.
STEADY = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearQuadratic(AbstractServo):
    """c = −K(t) x, gains as cubic splines of time. Made by :func:`linear_quadratic`."""

    speeds: tuple[str, ...]  #: names of η that the gains are for, in order
    times: Array  #: (n,) s; before and after, the gains at the ends hold
    gains: Array = field(repr=False)  #: (n, nu + nw, nx) K
    costs: Array = field(repr=False)  #: (n, nx, nx) P: xᵀPx is the least cost from a small error x

    @property
    def key(self) -> Hashable:
        """The gains over time."""
        return "lqr", self.speeds, self.times.tobytes(), self.gains.tobytes()

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
        from scipy.interpolate import CubicSpline

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
            found = look_up(now, starts, np.column_stack([starts, table]), is_printed=True)
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
    motion : motion to follow.
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
    require_system("linear_quadratic", system)
    from scipy.interpolate import CubicSpline

    Q, R = _weights(system, state_weights, input_weights)

    def solve() -> LinearQuadratic:
        line = linearize_along(
            system,
            motion,
            reference_start=reference_start,
            duration=duration,
            samples=samples,
            parameters=parameters,
        )
        A, B = CubicSpline(line.times, line.A), CubicSpline(line.times, line.B)
        found = solve_lqr_along(A, B, Q, R, line.times)
        if found is None:
            raise SimulationError(
                "the Riccati equation has no bounded solution over this motion",
                f"linear-quadratic control of model '{system.model.name}'",
                "weight only what the inputs can move, weight the rates of speed inputs to have "
                "them fed back, or shorten the duration",
            )
        return LinearQuadratic(
            speeds=line.speeds, times=line.times, gains=found.gains, costs=found.costs
        )

    values = (reference_start, system.parameters(parameters), motion.parameter_values, Q, R)
    numbers = (duration, samples, *(np.asarray(x, dtype=float).tobytes() for x in values))
    return system.cached(("lqr", program_key(motion, ()), numbers), solve)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regulator(AbstractControllerPlan):
    """Weights of a regulator, for :func:`track`, which knows the motion that they are for."""

    word = "lqr"

    #: weights by name: of states (coordinates, independent speeds, speed inputs) and of inputs
    #: (force inputs, rates of speed inputs), as in :func:`linear_quadratic`
    weights: Mapping[str, float]
    samples: int = 61  #: times at which the motion is linearized

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, Any] | None = None) -> Regulator:
        """Weights by name: ``lqr:platform.x=20;platform.y=20;torque1=1;torque2=1``."""
        where = f"controller '{text}'"
        entries = read_entries(text, cls.family, [])
        if not entries:
            raise SimulationError(
                "controller 'lqr' has no weights",
                where,
                "weight states and inputs by name: "
                "lqr:platform.x=20;platform.y=20;torque1=1;torque2=1",
            )
        return cls(weights={key: read_number(value, key, where) for key, value in entries})

    def text(self) -> str:
        """The weights by their names."""
        return f"{self.word}:" + ";".join(f"{name}={x!r}" for name, x in self.weights.items())

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
        system, motion, reference_start, duration, parameters : arguments of
            :func:`linear_quadratic`.
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
    """Q (nx, nx) and the diagonal of R (nu + nw,), infinite for inputs without feedback."""
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
            is_good = 0 <= as_number(weight) < np.inf
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


#: Gains over time are this many cubic pieces at most.
MOST_SAMPLES = 201


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionLinearization:
    """(1) along a motion, places of planar bases in their own axes on the reference."""

    speeds: tuple[str, ...]  #: names of η, in order
    times: Array  #: (n,) s
    #: A, B: (n, nx, nx) and (n, nx, nu + nw)
    A: Array = field(repr=False)
    B: Array = field(repr=False)


def linearize_along(
    system: System,
    motion: AbstractMotion,
    *,
    reference_start: Array,
    duration: float,
    samples: int = 61,
    parameters: Mapping[str, float] | None = None,
) -> MotionLinearization:
    """A(t) and B(t) of (1) along a motion, exact at each sample.

    Raises
    ------
    SimulationError : for quaternions, and for a duration or number of samples that cannot be.
    """
    _check(system, duration, samples)
    reference = reference_program(system, motion).reference
    values = system.parameters(parameters)
    times = np.linspace(0.0, duration, samples)
    states = _reference_states(system, reference, reference_start, times, values)
    on_motion = _on_motion(system, reference)
    pairs = []
    for t, z in zip(times, states, strict=True):
        at = on_motion(t, z, values, reference.motion.parameter_values)
        q, eta, inputs = (np.array(e).ravel() for e in at)
        chart = local_coordinates_at(system, t, q, values)
        point = LocalState(
            system=system,
            chart=chart,
            time=t,
            c=chart.from_coordinates(q),
            zeta=eta,
            inputs=inputs,
            parameters=values,
        )
        pairs.append(_at_point(point))
    names = tuple(s.name for s in system.independent_speeds)
    A, B = (np.array(part) for part in zip(*pairs, strict=True))
    return MotionLinearization(speeds=names, times=times, A=A, B=B)


def _on_motion(system: System, reference: Reference) -> ca.Function:
    """q, η and all inputs of the reference."""
    symbols, trace = system.kinematics.symbols, reference.motion
    inputs = (reference.forces, reference.speed_inputs, reference.speed_input_rates)
    return ca.Function(
        "reference",
        [symbols.t, reference.states, symbols.params, trace.parameters],
        [reference.q, reference.eta, ca.vertcat(*inputs)],
    )


def _at_point(point: LocalState) -> tuple[Array, Array]:
    """A and B of (1) at a state: without quaternions c is q, and ζ is η."""
    system = point.system
    zetadot, cdot = point.rates()
    near = small_motions(point, zetadot)
    # w moves from the inputs to the states
    nx, nu, nw = len(near.A), len(system.model.inputs), len(system.model.speed_inputs)
    of_u, of_w, of_wdot = np.split(near.B, [nu, nu + nw], axis=1)
    A = np.vstack([np.hstack([near.A, of_w]), np.zeros((nw, nx + nw))])
    B = np.vstack([np.hstack([of_u, of_wdot]), np.eye(nw, nu + nw, nu)])
    # planar bases in their own axes
    T, spin = np.eye(nx + nw), np.zeros_like(A)
    for at in planar_places(system):
        heading, turning = point.c[at + 2], cdot[at + 2]
        c, s = np.cos(heading), np.sin(heading)
        T[at : at + 2, at : at + 2] = [[c, s], [-s, c]]
        spin[at, at + 1], spin[at + 1, at] = turning, -turning  # Ṫ T⁻¹
    return spin + T @ A @ T.T, T @ B


def planar_places(system: System) -> list[int]:
    """Indices in q at which x, y and angle of each planar joint start."""
    nodes = system.kinematics.tree.nodes
    return [n.coordinates.start for n in nodes if n.joint.type.is_planar]


def _reference_states(
    system: System, reference: Reference, reference_start: Array, times: Array, values: Array
) -> Array:
    """(n, nz) states of the reference over time, step by step over its kinks."""
    from scipy.integrate import solve_ivp

    trace = reference.motion
    arguments = [
        system.kinematics.symbols.t,
        reference.states,
        system.kinematics.symbols.params,
        trace.parameters,
    ]
    rates = ca.Function("rates", arguments, [ca.densify(reference.rates)])

    def rate(t: float, z: Array) -> Array:
        return np.array(rates(t, z, values, trace.parameter_values)).ravel()

    z = trace.start_with(reference_start)
    found = [z]
    stops = np.unique([*times, *(k for k in trace.knots if times[0] < k < times[-1])])
    for before, after in pairwise(stops):
        z = solve_ivp(rate, (before, after), z, **ACCURACY).y[:, -1]
        if after in times:
            found.append(z)
    return np.array(found)


def _check(system: System, duration: float, samples: int) -> None:
    where = f"linear-quadratic control of model '{system.model.name}'"
    if system.kinematics.probe.quaternions:
        raise SimulationError(
            "the model has orientations as quaternions, whose four errors are not independent",
            where,
            "use joints with angles (revolute or planar), or another controller",
        )
    if not 4 <= samples <= MOST_SAMPLES:
        raise SimulationError(
            f"the requested number of samples is {samples}, expected 4 to {MOST_SAMPLES}",
            where,
            "choose samples=61, more for motions that change often",
        )
    if not duration > 0:
        raise SimulationError(
            f"the duration is {duration:g} s", where, "give the time that the motion takes"
        )
