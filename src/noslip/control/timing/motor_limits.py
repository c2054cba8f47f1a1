"""Limits of motors along a path, for the least time of a vehicle on it.

On a path the inputs of inverse dynamics are

    (1)  u(s) = a(s) s̈ + b(s) ṡ² + c(s) + r(s, ṡ)

because speeds scale with ṡ and passive coordinates (a caster's angle) depend on where the vehicle
has been, not on how fast. a, b and c are read from inverse dynamics at three paces; the passive
coordinates come from one slow run along the path. r balances what else depends on speeds: dampers,
friction, tires, drag,

    (2)  SᵀB r = SᵀQ(q, 0) − SᵀQ(q, v)

A force that changes with time, or an input whose effect depends on speeds, has no such form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import SimulationError, nearest
from noslip.control.follower import Follower
from noslip.control.paths.arc_length import length
from noslip.control.paths.base import AbstractPath, Array
from noslip.control.reference.inverse import Reference, solve_inputs, trace_reference
from noslip.control.reference.reference_motion import reference_motion
from noslip.control.timing.laws import AbstractTiming, ConstantSpeed
from noslip.control.timing.limits import LimitRows, Resistance
from noslip.control.vehicle_motion import motion_along
from noslip.engines import NativeFunction, System, compile_expression, require_system
from noslip.simulation import simulate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pace(AbstractTiming):
    """ṡ = pace + change · t with both as symbols: at t = 0 any ṡ and s̈ can be put in."""

    pace: ca.SX
    change: ca.SX

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """pace + change · t."""
        return self.pace + self.change * t

    def duration(self, path: AbstractPath) -> float:
        """Not meant to be run."""
        raise NotImplementedError

    def break_times(self, path: AbstractPath) -> tuple[float, ...]:
        """None: it stands for an instant anywhere on the path."""
        return ()


def motor_limits(
    system: System,
    path: AbstractPath,
    limits: Mapping[str, float],
    *,
    follower: Follower | None = None,
    inputs: tuple[str, ...] = (),
    reference: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    count: int = 400,
) -> LimitRows:
    """Rows |u| ≤ limit of a vehicle's force inputs along a path, for `Limits(rows=…)`.

    Parameters
    ----------
    system : compiled system with a planar base and at least as many force inputs as degrees of
        freedom; of more inputs the least ones are taken.
    path : where to go.
    limits : input name → largest magnitude, N or N·m.
    follower : what of the vehicle follows it; the origin and the x axis of its base by default.
    inputs, reference : force inputs to use and coordinates that the path leaves open, as in
        :func:`track`.
    parameters : values that differ from the nominal ones.
    count : number of places on the path.

    Raises
    ------
    SimulationError : for unknown inputs, a path that is not admissible, or forces that depend on
        more than place and speed.
    """
    require_system("motor_limits", system)
    where = f"motor limits of model '{system.model.name}'"
    used = list(inputs) or [i.name for i in system.model.inputs]
    for name in limits:
        if name not in used:
            raise SimulationError(
                f"there is no force input '{name}' to limit", where, nearest(name, used)
            )
    _check_form(system, where)
    followed = follower or Follower()
    steady = motion_along(path, ConstantSpeed(1.0), followed)
    steady.check_feed_forward(system)
    wanted = reference_motion(system, steady, start=reference, inputs=inputs, parameters=parameters)
    slow = simulate(
        system,
        duration=length(path),
        start=wanted.start,
        inputs=wanted.law,
        parameters=parameters,
        samples=count,
        rtol=1e-11,
        atol=1e-11,
    )
    wanted.admissibility(slow, where)
    pace, change = ca.SX.sym("pace"), ca.SX.sym("change")
    motion = motion_along(path, _Pace(pace=pace, change=change), followed)
    traced = trace_reference(system, motion, inputs)
    symbols = system.kinematics.symbols
    forces = ca.Function(
        "forces", [symbols.t, traced.states, symbols.params, pace, change], [traced.forces]
    )
    values = system.parameters(parameters)
    states = [*traced.motion.names, *(f"reference.{c.name}" for c in system.coordinates)]
    along = np.column_stack([slow[name] for name in states])
    columns = [used.index(name) for name in limits]

    def at(rate: float, acceleration: float) -> Array:
        # a column for each place
        return forces(0.0, along.T, values, rate, acceleration).full().T[:, columns]

    # (1), read at ṡ = s̈ = 0, at ṡ = 1 and at s̈ = 1
    c = at(0.0, 0.0)
    b, a = at(1.0, 0.0) - c, at(0.0, 1.0) - c
    arc_lengths = slow.t * (length(path) / slow.t[-1])  # at 1 m/s
    resistance: Resistance | None = None
    if (native := _native_resistance(system, traced, inputs, pace, change)) is not None:
        balance = _balance(native, along, columns, values)
        b -= balance(np.arange(count), np.ones(count))[0]
        resistance = _between(arc_lengths, balance)
    bound = np.array([float(x) for x in limits.values()])
    return LimitRows(
        arc_lengths=arc_lengths,
        inertia=np.hstack([a, -a]),
        squared=np.hstack([b, -b]),
        constant=np.hstack([c - bound, -c - bound]),
        names=(
            *(f"{n} ≤ {x:g}" for n, x in limits.items()),
            *(f"{n} ≥ {-x:g}" for n, x in limits.items()),
        ),
        resistance=resistance,
    )


def _check_form(system: System, where: str) -> None:
    """Refuse what has not the form (1)."""
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    terms = (eq.reduced_mass, eq.reduced_bias, eq.reduced_forces, eq.reduced_inputs, kin.v, kin.N)
    if any(ca.depends_on(term, symbols.t) for term in terms):
        raise SimulationError(
            "forces or constraints change with time, so the motor force needed at a point depends "
            "on when it is passed",
            where,
            "leave out motions and forces that are expressions of t, or limit speed and "
            "acceleration instead",
        )
    if ca.depends_on(eq.reduced_inputs, ca.vertcat(kin.eta, symbols.w)):
        raise SimulationError(
            "the effect of an input depends on speeds, so its limit does not bound the "
            "acceleration",
            where,
            "make the input the force itself, or limit speed and acceleration instead",
        )


#: r and dr/dṡ of the limited inputs, (n, m) each, at places by index (n,) and speeds (n,).
_Balance = Callable[[NDArray[np.intp], Array], tuple[Array, Array]]


def _native_resistance(
    system: System, traced: Reference, inputs: tuple[str, ...], pace: ca.SX, change: ca.SX
) -> NativeFunction | None:
    """r of (2) and dr/dṡ as native code of (t, reference's states, pace, parameters), if any."""
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    if not ca.depends_on(eq.reduced_forces, ca.vertcat(kin.eta, symbols.w)):
        return None
    dynamics = ca.Function(
        "dynamics",
        [symbols.q, kin.eta, symbols.w, symbols.params],
        [ca.densify(eq.reduced_forces), ca.densify(eq.reduced_inputs)],
    )
    moving, B = dynamics(traced.q, traced.eta, traced.speed_inputs, symbols.params)
    still, _ = dynamics(traced.q, 0 * traced.eta, 0 * traced.speed_inputs, symbols.params)
    if inputs:
        names = [i.name for i in system.model.inputs]
        B = B[:, [names.index(name) for name in inputs]]
    r = ca.substitute(
        [solve_inputs(B, still - moving)], [ca.vertcat(symbols.t, change)], [ca.SX.zeros(2)]
    )[0]
    both = ca.vertcat(r, ca.jacobian(r, pace))
    given = (symbols.t, traced.states, pace, symbols.params)
    return compile_expression("resistance", given, both)


def _balance(native: NativeFunction, along: Array, columns: list[int], values: Array) -> _Balance:
    """r and dr/dṡ at the places of a slow run along the path."""

    def balance(places: NDArray[np.intp], v: Array) -> tuple[Array, Array]:
        found = native.map(np.zeros(len(v)), along[places], v[:, None], values)
        r, rate = np.split(found, 2, axis=1)
        return r[:, columns], rate[:, columns]

    return balance


def _between(arc_lengths: Array, balance: _Balance) -> Resistance:
    """r and dr/dṡ of the rows of both signs, linear in arc length between the places."""

    def resistance(s: Array, v: Array) -> tuple[Array, Array]:
        k = np.clip(np.searchsorted(arc_lengths, s, side="right") - 1, 0, len(arc_lengths) - 2)
        part = ((s - arc_lengths[k]) / (arc_lengths[k + 1] - arc_lengths[k]))[:, None]
        before, after = balance(k, v), balance(k + 1, v)
        r, rate = (x + part * (y - x) for x, y in zip(before, after, strict=True))
        return np.hstack([r, -r]), np.hstack([rate, -rate])

    return resistance
