"""Least time along a path, and the limits of speed, acceleration, friction and motors that bind it.

**Limits of motors along a path, for the least time of a vehicle on it.**

On a path the inputs of inverse dynamics are

    (1)  u(s) = a(s) s̈ + b(s) ṡ² + c(s) + r(s, ṡ)

because speeds scale with ṡ and passive coordinates (a caster's angle) depend on where the vehicle
has been, not on how fast. a, b and c are read from inverse dynamics at three paces; the passive
coordinates come from one slow run along the path. r balances what else depends on speeds: dampers,
friction, tires, drag,

    (2)  SᵀB r = SᵀQ(q, 0) − SᵀQ(q, v)

A force that changes with time, or an input whose effect depends on speeds, has no such form.

**Least time along a path within limits, by reachability analysis.**

The path is cut at arc lengths s_0 … s_N. On each segment the acceleration u is linear in s, with
values of its own at both ends, so that z = ṡ² is a parabola. Its tangents at the ends meet in the
middle, at y:

    (1)  y = z_k + h u_k⁺ = z_{k+1} − h u_{k+1}⁻,   h = s_{k+1} − s_k

Limits are imposed at both ends of each segment: (z_k, u_k⁺) and (z_{k+1}, u_{k+1}⁻) are in convex
sets, and only y ties them together. Two passes give the highest speed everywhere (H. Pham and Q.-C.
Pham, "A new approach to time-optimal path parameterization based on reachability analysis", IEEE
Transactions on Robotics 34, 2018):

    backward  the interval of y from which some u_{k+1}⁻ leads into the interval of z_{k+1}, and the
              interval of z_k from which some u_k⁺ leads into that
    forward   from the start, the largest z_{k+1} that stays in these intervals

Each of these intervals is an intersection of half-lines, in closed form, and contains z = 0 to the
last bit where the limits allow a vehicle to stand: then no rounding makes them empty.

Departures from the article: u is linear on segments instead of constant, so that what is lost is of
the second order; where the acceleration switches inside a segment the place is found and becomes a
cut of its own, so that bang-bang motions are exact; where a limit is exceeded between the cuts, the
segment is halved; what little excess is left is taken off the limit; and what is not linear in z
(dampers, friction in joints) is linearized again and again at the motion found last.

`least_time` takes limits as numbers along the path. Those of the ground and of motors depend on the
vehicle: :class:`LeastTime` names them, and `track` finds the timing for its vehicle and path.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NoReturn

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError, nearest
from noslip.control.follower import Follower
from noslip.control.followers import motion_along
from noslip.control.path_geometry import (
    AbstractPath,
    arc_table,
    length,
    number,
    positive,
    where,
)
from noslip.control.path_limits import (
    EndLimits,
    LimitRows,
    Limits,
    Resistance,
    SegmentLimits,
    SegmentMotion,
)
from noslip.control.reference_motion import (
    Reference,
    reference_motion,
    solve_inputs,
    trace_reference,
)
from noslip.control.text_grammar import Acceleration, Pure, read_entries, read_number
from noslip.control.timing_laws import (
    AbstractTiming,
    AbstractTimingPlan,
    ConstantSpeed,
    SpeedSchedule,
)
from noslip.engines import NativeFunction, System, compile_expression, require_system
from noslip.expressions import nominal
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
    count: Annotated[int, range(2, 1_000_001)] = 400,
) -> LimitRows:
    """Rows |u| ≤ limit of a vehicle's force inputs along a path, for `Limits(rows=…)`.

    Parameters
    ----------
    system : compiled system with a planar base and at least as many force inputs as degrees of
        freedom; of more inputs the least ones are taken.
    path : path to be driven.
    limits : input name → largest magnitude, N or N·m.
    follower : part of the vehicle that follows the path; the origin and the x axis of its base by
        default.
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
    drive = _driven(
        system,
        path,
        where,
        follower=follower,
        inputs=inputs,
        reference=reference,
        parameters=parameters,
        count=count,
    )
    traced, pace, change = drive.traced, drive.pace, drive.change
    symbols, along, values = system.kinematics.symbols, drive.along, drive.values
    forces = ca.Function(
        "forces", [symbols.t, traced.states, symbols.params, pace, change], [traced.forces]
    )
    columns = [used.index(name) for name in limits]

    def at(rate: float, acceleration: float) -> Array:
        # a column for each place
        return forces(0.0, along, values, rate, acceleration).full().T[:, columns]

    # (1), read at ṡ = s̈ = 0, at ṡ = 1 and at s̈ = 1
    c = at(0.0, 0.0)
    b, a = at(1.0, 0.0) - c, at(0.0, 1.0) - c
    arc_lengths = drive.arc_lengths
    resistance: Resistance | None = None
    if (native := _native_resistance(system, traced, inputs, pace, change)) is not None:
        balance = _balance(native, along.T, columns, values)
        b -= balance(np.arange(len(c)), np.ones(len(c)))[0]
        resistance = _resistance_between(arc_lengths, balance)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Drive:
    """A slow run along a path, and the reference in terms of the pace ṡ and its change s̈."""

    system: System
    traced: Reference
    pace: ca.SX
    change: ca.SX
    along: Array  #: (nz, n) states of the reference at the places
    arc_lengths: Array  #: (n,) of these
    values: Array  #: (np,) parameters


def _driven(
    system: System,
    path: AbstractPath,
    where: str,
    *,
    follower: Follower | None,
    inputs: tuple[str, ...],
    reference: Mapping[str, float] | None,
    parameters: Mapping[str, float] | None,
    count: int,
) -> _Drive:
    """Drive a path slowly."""
    _check_form(system, where)
    followed = follower or Follower()
    steady = motion_along(path, ConstantSpeed(1.0), followed)
    steady.check_feed_forward(system)
    wanted = reference_motion(system, steady, start=reference, inputs=inputs, parameters=parameters)
    whole = length(path)
    # both sides of where forces may jump
    breaks = arc_table(path).arc_length(np.array(path.breaks[1:-1]))
    sides = np.concatenate([breaks - BESIDE * whole, breaks + BESIDE * whole])
    slow = simulate(
        system,
        duration=whole,
        start=wanted.start,
        inputs=wanted.law,
        parameters=parameters,
        samples=_merged(np.linspace(0.0, whole, count), np.sort(sides)),
        rtol=1e-11,
        atol=1e-11,
    )
    wanted.admissibility(slow, where)
    pace, change = ca.SX.sym("pace"), ca.SX.sym("change")
    motion = motion_along(path, _Pace(pace=pace, change=change), followed)
    traced = trace_reference(system, motion, inputs)
    states = [*traced.motion.names, *(f"reference.{c.name}" for c in system.coordinates)]
    along = np.column_stack([slow[name] for name in states])
    arc_lengths = slow.t * (whole / slow.t[-1])  # at 1 m/s
    return _Drive(system, traced, pace, change, along.T, arc_lengths, system.parameters(parameters))


#: Directions of a wheel's force that are bounded at first; then those it has in the motion found,
#: again and again, until no force at a place is larger than allowed by more than PROMISED; within a
#: piece on which the acceleration switches by no more than 1/cos(π/DIRECTIONS). Directions in which
#: no force comes near are left out.
DIRECTIONS, ROUNDS, FAR_OFF = 16, 12, 0.2
#: Places on the path at which wheels are known; distance from a jump, as a part of the length.
WHEEL_PLACES, BESIDE = 401, 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _WheelForces:
    """Forces along and across and loads of w wheels on a path, F = a s̈ + b ṡ² + c + r(s, ṡ)."""

    names: tuple[str, ...]  #: names of the wheels
    arc_lengths: Array
    #: inertia, squared, constant: (n, w, 3) a, b, c at the places
    inertia: Array
    squared: Array
    constant: Array
    #: r and dr/dṡ, (m, w, 3) each, of places (m,) and speeds (m,); None if r is zero
    resisted: Callable[[NDArray[np.intp], Array], tuple[Array, Array]] | None

    def at(self, z: Array, u: Array, places: NDArray[np.intp]) -> Array:
        """(m, w, 3) forces at places by index for ṡ² and s̈."""
        a, b, c = (x[places] for x in (self.inertia, self.squared, self.constant))
        found: Array = a * u[:, None, None] + b * z[:, None, None] + c
        if self.resisted is not None:
            found = found + self.resisted(places, np.sqrt(np.maximum(z, 0.0)))[0]
        return found

    def rows(
        self, directions: Array, kept: NDArray[np.bool_], friction: float, least: float
    ) -> LimitRows:
        """Rows d·F ≤ μ N of directions d (n, w, k, 2) that are kept (w, k), and N ≥ least."""
        n, num = directions.shape[0], directions.shape[2]
        used = np.column_stack([kept, np.ones(len(kept), bool)]).ravel()
        # (n, 3, rows) factors of along, across and load
        factors = np.concatenate([directions, np.full((*directions.shape[:3], 1), -friction)], 3)
        factors = np.concatenate(
            [factors, np.broadcast_to([0.0, 0.0, -1.0], (n, len(self.names), 1, 3))], axis=2
        )

        def of(values: Array, k: Any = slice(None)) -> Array:
            found: Array = np.einsum("nwkf,nwf->nwk", factors[k], values).reshape(len(values), -1)
            return found[:, used]

        constant = of(self.constant)
        names = [f"{what} of {w}" for w in self.names for what in (*["grip"] * num, "load")]
        names = [name for name, is_used in zip(names, used, strict=True) if is_used]
        constant[:, [name.startswith("load") for name in names]] += least
        resistance: Resistance | None = None
        if (resisted := self.resisted) is not None:

            def balance(places: NDArray[np.intp], v: Array) -> tuple[Array, Array]:
                r, rate = resisted(places, v)
                return of(r, places), of(rate, places)

            resistance = _between_places(self.arc_lengths, balance)
        return LimitRows(
            arc_lengths=self.arc_lengths,
            inertia=of(self.inertia),
            squared=of(self.squared),
            constant=constant,
            names=tuple(names),
            resistance=resistance,
        )


def _wheel_forces(drive: _Drive, inputs: tuple[str, ...], where: str) -> _WheelForces:
    """Forces of all wheels whose load is known."""
    system, r = drive.system, drive.traced
    own = {i.name: k for k, i in enumerate(system.model.inputs)}
    forces = [ca.SX(0)] * len(own)
    for k, name in enumerate(inputs or own):
        forces[own[name]] = r.forces[k]
    given = ca.vertcat(*forces, r.speed_inputs, r.speed_input_rates)
    states = ca.vertcat(
        r.q,
        r.eta,
        ca.SX(system.equations.state.shape[0] - len(system.coordinates) - r.eta.shape[0], 1),
    )
    function = system.casadi_function(["contact_forces"])
    t, params = system.kinematics.symbols.t, system.kinematics.symbols.params
    every = function(t, states, given, params)
    every = ca.substitute([ca.SX(every)], [t], [ca.SX(0)])[0]
    both = [drive.pace, drive.change]
    code = ca.Function("wheels", [r.states, params, *both], [every, ca.jacobian(every, drive.pace)])
    n, values = drive.along.shape[1], drive.values

    def at(pace: Any, change: Any, places: Any = slice(None)) -> tuple[Array, Array]:
        """(m, contacts, 3) forces and their derivatives by the pace."""
        found = code(drive.along[:, places], values, np.atleast_2d(pace), np.atleast_2d(change))
        parts = [np.array(x).T.reshape(x.shape[1], -1, 3) for x in found]
        return parts[0], parts[1]

    c = at(0.0, 0.0)[0]
    wheels = [k for k, x in enumerate(system.kinematics.contacts) if x.contact.is_wheel]
    known = [k for k in wheels if np.all(np.isfinite(c[:, k, 2]))]
    if not known:
        raise SimulationError(
            "no wheel has a known load, so that friction limits none",
            where,
            "give friction= for the vehicle as a whole, or model it with its wheels: three "
            "contacts that are not in line, or normal rows",
        )
    a = at(0.0, 1.0)[0] - c
    b = at(1.0, 0.0)[0] - c

    def resisted(places: NDArray[np.intp], v: Array) -> tuple[Array, Array]:
        f, rate = at(v, np.zeros_like(v), places)
        square = v[:, None, None]
        r = f - c[places] - b[places] * square**2
        return r[:, known], (rate - 2 * b[places] * square)[:, known]

    every_place = np.arange(n)
    sizes = [np.max(np.abs(resisted(every_place, np.full(n, v))[0])) for v in (0.1, 3.0)]
    is_resisted = max(sizes) > 1e-9 * np.max(np.abs(c[:, known]))
    names = [system.kinematics.contacts[k].contact.name for k in known]
    return _WheelForces(
        tuple(names),
        drive.arc_lengths,
        a[:, known],
        b[:, known],
        c[:, known],
        resisted if is_resisted else None,
    )


def _speed_rows(drive: _Drive, limits: Mapping[str, float]) -> LimitRows | None:
    """Rows of speeds that rise with ṡ: k(s)² ṡ² ≤ limit²."""
    if not limits:
        return None
    kin, r = drive.system.kinematics, drive.traced
    s = kin.symbols
    speeds = ca.Function("v", [s.t, s.q, kin.eta, s.w, s.params], [ca.densify(kin.v)])
    v = speeds(0.0, r.q, r.eta, r.speed_inputs, s.params)
    places = {x.name: v[k] for k, x in enumerate(kin.speeds)}
    places |= {x.name: r.speed_inputs[k] for k, x in enumerate(drive.system.model.speed_inputs)}
    wanted = ca.substitute([ca.vertcat(*[places[name] for name in limits])], [s.t], [ca.SX(0)])[0]
    code = ca.Function("speeds", [r.states, s.params, drive.pace, drive.change], [wanted])
    k = code(drive.along, drive.values, 1.0, 0.0).full().T
    zero = np.zeros_like(k)
    bound = np.array(list(limits.values()))
    return LimitRows(
        arc_lengths=drive.arc_lengths,
        inertia=zero,
        squared=k**2,
        constant=zero - bound**2,
        names=tuple(f"|{name}| ≤ {x:g}" for name, x in limits.items()),
    )


def _joined(parts: list[LimitRows]) -> LimitRows | None:
    """Rows on the same arc lengths as one."""
    if not parts:
        return None
    resistance: Resistance | None = None
    if any(p.resistance is not None for p in parts):

        def resistance(s: Array, v: Array) -> tuple[Array, Array]:
            each = [
                p.resistance(s, v)
                if p.resistance is not None
                else (np.zeros((len(s), len(p.names))),) * 2
                for p in parts
            ]
            return np.hstack([r for r, _ in each]), np.hstack([rate for _, rate in each])

    return LimitRows(
        arc_lengths=parts[0].arc_lengths,
        inertia=np.hstack([p.inertia for p in parts]),
        squared=np.hstack([p.squared for p in parts]),
        constant=np.hstack([p.constant for p in parts]),
        names=tuple(name for p in parts for name in p.names),
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


def _resistance_between(arc_lengths: Array, balance: _Balance) -> Resistance:
    """r and dr/dṡ of the rows of both signs, linear in arc length between the places."""
    between = _between_places(arc_lengths, balance)

    def resistance(s: Array, v: Array) -> tuple[Array, Array]:
        r, rate = between(s, v)
        return np.hstack([r, -r]), np.hstack([rate, -rate])

    return resistance


def _between_places(arc_lengths: Array, balance: _Balance) -> Resistance:
    """r and dr/dṡ, linear in arc length between the places."""

    def resistance(s: Array, v: Array) -> tuple[Array, Array]:
        k = np.clip(np.searchsorted(arc_lengths, s, side="right") - 1, 0, len(arc_lengths) - 2)
        part = ((s - arc_lengths[k]) / (arc_lengths[k + 1] - arc_lengths[k]))[:, None]
        before, after = balance(k, v), balance(k + 1, v)
        r, rate = (x + part * (y - x) for x, y in zip(before, after, strict=True))
        return r, rate

    return resistance


CUTTING_ROUNDS = 20
MOST_CUTS = 50  # for each of the first segments
TIGHTENING_ROUNDS = 60
COARSE = 1e-5  # relative excess of a limit between two cuts above which others are made
LOSS = 1e-7  # part of the whole time lost on a segment above which it is cut
EXCESS = 1e-7  # relative excess that is left
CLOSEST = 1e-7  # distance of two cuts, as a part of the length
TANGENTS = 60  # how often what resists the motion is linearized again,
SETTLED = 1e-9  # until z changes by less than this part of it;
SHRINKING = 0.1  # z at which it is linearized becomes no smaller part of itself at once
HALVES = 10  # how often the first and the last segment are halved for it, where ṡ changes fast
LOWEST, BISECTIONS = 1e-8, 20  # part of z that is looked at for one that can be held, and how often

#: Lines p z + q that bound u, and (|κ|, a) of a disk or nothing, at one end of a segment.
Side = tuple[list[tuple[float, float]], list[tuple[float, float]], tuple[float, float] | None]


def least_time(
    path: AbstractPath,
    limits: Limits,
    *,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    count: int = 500,
) -> SpeedSchedule:
    """The fastest motion along a path: from rest to rest, if no other speeds are given.

    Parameters
    ----------
    path : path to be driven.
    limits : limits that hold everywhere on the path.
    start_speed, end_speed : speeds at the ends of the path, m/s.
    count : number of segments to begin with; more are made where they are needed.

    Returns
    -------
    timing : SpeedSchedule with the speeds and times at the cuts, and the gradients of the
        acceleration between them; its last time is the duration.

    Raises
    ------
    SimulationError : no motion satisfies the limits; it says where on the path, and which limits.
    """
    ends = (
        number(start_speed, "start_speed", "least_time"),
        number(end_speed, "end_speed", "least_time"),
    )
    if min(ends) < 0 or count < 2:
        raise SimulationError(
            f"start_speed is {ends[0]:g}, end_speed {ends[1]:g} and count {count}",
            "least_time(path, limits, …)",
            "give speeds of 0 or more, and a count of 2 or more",
        )
    cuts = _first_cuts(path, limits, count)
    near = _first_guess(path, limits, cuts, ends)
    for _ in range(CUTTING_ROUNDS):
        segments = SegmentLimits.on(path, limits, cuts, near)
        if (free := segments.unlimited()) is not None:
            _refuse(segments, free, "nothing limits the acceleration, or nothing the braking")
        motion = _settle(segments, ends)
        finer = _merged(cuts, _more_cuts(segments, motion))
        if len(finer) == len(cuts) or len(finer) > MOST_CUTS * count:
            break
        cuts, near = finer, _between(motion, finer)
    for _ in range(TIGHTENING_ROUNDS):
        if np.all(segments.excess(motion) <= EXCESS):
            return _schedule(motion)
        segments.tighten(motion, EXCESS)
        motion = _settle(segments, ends)
    raise SimulationError(
        f"limits are still exceeded between {len(cuts)} grid points",
        f"fastest motion on {type(path).__name__}",
        f"give a larger count: least_time(path, limits, count={4 * count})",
    )


def _first_guess(
    path: AbstractPath, limits: Limits, cuts: Array, ends: tuple[float, float]
) -> Array:
    """z (N + 1,) at which resistance is linearized first: as without it, or as it can be held.

    Where resistance grows ever more slowly with z its tangent is above it, but at rest not above
    what it is at a z that can be held: no motion is refused that could be.
    """
    rest = np.zeros(len(cuts))
    rows = limits.rows
    if rows is None or rows.resistance is None:
        return rest
    free = dataclasses.replace(limits, rows=dataclasses.replace(rows, resistance=None))
    try:
        z = _solve(SegmentLimits.on(path, free, cuts, rest), ends).z
    except SimulationError:
        # only with what resists it there is a motion, if at all
        z = np.full(len(cuts), 1.0 if limits.speed is None else limits.speed**2)
        z[[0, -1]] = np.square(ends)
    low, high = np.full(len(cuts), LOWEST), np.ones(len(cuts))
    if np.all(is_held := np.all(rows.values(cuts, z, rest) <= 0, axis=1)):
        return z
    for _ in range(BISECTIONS):
        part = np.sqrt(low * high)
        holds = np.all(rows.values(cuts, part * z, rest) <= 0, axis=1)
        low, high = np.where(holds, part, low), np.where(holds, high, part)
    return np.where(is_held, z, low * z)


def _settle(segments: SegmentLimits, ends: tuple[float, float]) -> SegmentMotion:
    """The fastest motion on the segments, with resistance as it is there."""
    motion = _solve(segments, ends)
    rows = segments.limits.rows
    if rows is not None and rows.resistance is not None:
        for _ in range(TANGENTS):
            z = motion.z
            is_settled = np.all(np.abs(z - segments.near) <= SETTLED * z)
            # tangents that do not agree with each other yet may bring it nearly to rest
            segments.near = np.maximum(z, SHRINKING * segments.near)
            if is_settled:
                break
            motion = _solve(segments, ends)
    still = np.flatnonzero((motion.z[:-1] <= 0) & (motion.z[1:] <= 0))
    if len(still):
        _refuse(segments, int(still[0]), "the limits allow no motion away from rest")
    return motion


def _solve(segments: SegmentLimits, ends: tuple[float, float]) -> SegmentMotion:
    """The fastest motion on the segments, with resistance by its tangents."""
    steps, speed = np.diff(segments.cuts), segments.speed
    first, last = ends[0] ** 2, ends[1] ** 2
    start, end = segments.ends()
    if last > end.high[-1] * (1 + 1e-12) and end.low[-1] <= end.high[-1]:
        allowed = f"the limits allow {np.sqrt(max(end.high[-1], 0.0)):.6g} m/s"
        _refuse(segments, len(steps), f"the end speed is {ends[1]:g} m/s, and {allowed}")
    h, low, high = steps.tolist(), [last] * (len(steps) + 1), [last] * (len(steps) + 1)
    starts, finals = _sides(start), _sides(end)
    own_low, own_high = start.low.tolist(), start.high.tolist()
    end_low, end_high = end.low.tolist(), end.high.tolist()
    lowest, highest = end.turning(steps, 1).tolist(), end.turning(steps, -1).tolist()
    for k in range(len(h) - 1, -1, -1):
        # z at the end of the segment, y in its middle, z at its start
        z0, z1 = max(low[k + 1], end_low[k]), min(high[k + 1], end_high[k])
        if z0 > z1 + 1e-12 * abs(z1):
            _refuse_conflict(segments, k, ends)
        y0 = max(_tangent(finals[k], -h[k], min(max(lowest[k], z0), z1), True), 0.0)
        y1 = min(_tangent(finals[k], -h[k], min(max(highest[k], z0), z1), False), speed)
        z0, z1 = _through(starts[k], h[k], y0, y1, own_low[k], own_high[k])
        if z0 > z1 + 1e-12 * abs(z1):
            _refuse_conflict(segments, k, ends)
        low[k], high[k] = min(z0, z1), z1
    tolerance = 1e-12 * max(first, high[0])
    if not low[0] - tolerance <= first <= high[0] + tolerance:
        _refuse_standing(segments)
        bound = f"from {np.sqrt(max(low[0], 0)):.6g} to {np.sqrt(high[0]):.6g} m/s"
        _refuse(segments, 0, f"the start speed is {ends[0]:g} m/s, and the limits allow {bound}")
    found, here = [first], first
    for k in range(len(h)):
        y1 = min(_tangent(starts[k], h[k], here, True), speed)
        y0 = max(_tangent(starts[k], h[k], here, False), 0.0)
        least, most = max(low[k + 1], end_low[k]), min(high[k + 1], end_high[k])
        _, here = _through(finals[k], -h[k], y0, y1, least, most)
        here = max(here, least)
        found.append(here)
    z = np.array(found)
    # the acceleration is constant where that is allowed
    floor = np.maximum(z[:-1] + steps * start.least(z[:-1]), z[1:] - steps * end.most(z[1:]))
    roof = np.minimum(z[:-1] + steps * start.most(z[:-1]), z[1:] - steps * end.least(z[1:]))
    even = np.minimum(np.minimum((z[:-1] + z[1:]) / 2, roof), speed)
    return SegmentMotion(segments.cuts, z, np.maximum(np.maximum(even, floor), 0.0))


def _sides(limits: EndLimits) -> list[Side]:
    """Limits at one end of each segment, as plain numbers."""
    above, below = (_listed(np.isfinite(q), p, q) for p, q in (limits.above, limits.below))
    disks = zip(limits.bend.tolist(), limits.disk.tolist(), strict=True)
    round_ = [(bend, disk) if disk < np.inf else None for bend, disk in disks]
    return list(zip(above, below, round_, strict=True))


def _tangent(side: Side, h: float, z: float, is_most: bool) -> float:
    """z + h u with the highest u at z, or the lowest; it is y where h is negative at an end."""
    above, below, disk = side
    room = np.inf if disk is None else math.sqrt(max(disk[1] ** 2 - (disk[0] * z) ** 2, 0.0))
    if is_most:
        return z + h * min([room, *(p * z + q for p, q in above)])
    return z + h * max([-room, *(p * z + q for p, q in below)])


def _through(
    side: Side, h: float, y0: float, y1: float, low: float, high: float
) -> tuple[float, float]:
    """Lowest and highest z from low to high with z + h u from y0 to y1, for some allowed u.

    With lines p z + q over u this is (1 + h p) z + h q ≥ y0, and ≤ y1 with lines under it; the
    other way round where h is negative. With a disk it is between the roots of
    z ± |h| √(a² − κ² z²) = y:

        z = (y ± |h| √(a² (1 + h² κ²) − κ² y²)) / (1 + h² κ²)
    """
    above, below, disk = side
    for lines, y, sign in (
        ((above, y0, 1.0), (below, y1, -1.0))
        if h > 0
        else (
            (above, y1, -1.0),
            (below, y0, 1.0),
        )
    ):
        for p, q in lines:
            # sign · ((1 + h p) z + h q − y) ≥ 0
            slope, rest = sign * (1 + h * p), sign * (y - h * q)
            if slope > 0:
                low = max(low, rest / slope)
            elif slope < 0:
                high = min(high, rest / slope)
            elif rest > 1e-12 * abs(y):
                return np.inf, -np.inf
    if disk is not None:
        bend, most = disk
        square = 1 + (h * bend) ** 2
        for y, sign in ((y0, -1.0), (y1, 1.0)):
            whole = most**2 * square
            left = whole - (bend * y) ** 2
            # the highest y of all is known to rounding
            if left < -1e-9 * whole:
                if sign < 0:
                    return np.inf, -np.inf
                continue
            reach = abs(h) * math.sqrt(max(left, 0.0))
            if sign < 0:
                low = max(low, (y - reach) / square)
                if bend * y > most:
                    high = min(high, (y + reach) / square)
            elif bend * y < most:
                high = min(high, (y + reach) / square)
    return low, high


def _listed(chosen: NDArray[np.bool], *columns: NDArray[Any]) -> list[list[Any]]:
    """Tuples of the chosen values of each row of tables, which are of the same shape."""
    values = list(zip(*(column[chosen].tolist() for column in columns), strict=True))
    ends = np.cumsum(np.sum(chosen, axis=1)).tolist()
    return [values[start:end] for start, end in pairwise([0, *ends])]


def _schedule(motion: SegmentMotion) -> SpeedSchedule:
    """Times and speeds at the cuts at which the acceleration is not as before."""
    times = np.concatenate([[0.0], np.cumsum(motion.steps())])
    u0, u1 = motion.u_at(np.array([0.0, 1.0])).T
    scale = 1e-9 * max(np.max(np.abs(u0)), np.max(np.abs(u1)))
    # one piece where the acceleration is the same constant
    even = np.abs(u1 - u0) <= scale
    changes = ~(even[1:] & even[:-1] & (np.abs(np.diff(u0)) <= scale))
    kept = np.concatenate([[True], changes, [True]])
    gradients = np.where(even, 0.0, motion.gradients())[kept[:-1]]
    return SpeedSchedule(
        times=tuple(times[kept].tolist()),
        speeds=tuple(np.sqrt(motion.z[kept]).tolist()),
        gradients=tuple(gradients.tolist()) if np.any(gradients) else (),
    )


def _first_cuts(path: AbstractPath, limits: Limits, count: int) -> Array:
    """Equal segments, cut also where the path or the rows are not smooth."""
    table = arc_table(path)
    whole = length(path)
    breaks = table.arc_length(np.array(path.breaks[1:-1]))
    cuts = np.array([0.0, *breaks, whole])
    if limits.rows is not None:
        grid = limits.rows.arc_lengths
        if abs(grid[-1] - whole) > 1e-6 * whole:
            raise SimulationError(
                f"the rows end at {grid[-1]:.9g} m, and the path is {whole:.9g} m long",
                f"fastest motion on {type(path).__name__}",
                "give rows from 0 to length(path)",
            )
        cuts = _merged(cuts, grid[1:-1])
    cuts = _merged(cuts, np.linspace(0.0, whole, count + 1))
    if limits.rows is not None and limits.rows.resistance is not None:
        part = 0.5 ** np.arange(HALVES, 0, -1)
        cuts = _merged(cuts, cuts[1] * part)
        cuts = _merged(cuts, (whole - (whole - cuts[-2]) * part)[::-1])
    return cuts


def _merged(cuts: Array, more: Array) -> Array:
    """Cuts, and those of `more` (sorted) that are not too close to one."""
    close = CLOSEST * cuts[-1]
    more = more[np.diff(more, prepend=-np.inf) > close]
    k = np.clip(np.searchsorted(cuts, more), 1, len(cuts) - 1)
    distance = np.minimum(np.abs(more - cuts[k - 1]), np.abs(more - cuts[k]))
    return np.sort(np.concatenate([cuts, more[distance > close]]))


def _between(motion: SegmentMotion, at: Array) -> Array:
    """z of a motion at arc lengths (n,)."""
    k = np.clip(np.searchsorted(motion.cuts, at, side="right") - 1, 0, len(motion.cuts) - 2)
    part = (at - motion.cuts[k]) / np.diff(motion.cuts)[k]
    rest = 1 - part
    z = motion.z[k] * rest**2 + 2 * motion.middle[k] * (part * rest) + motion.z[k + 1] * part**2
    return np.maximum(z, 0.0)


def _more_cuts(segments: SegmentLimits, motion: SegmentMotion) -> Array:
    """Cuts where the acceleration switches inside a segment, and of segments that are too coarse.

    No motion within the limits runs much above the hardest acceleration from the start of a segment
    (1), the hardest braking to its end (2), or the highest speed on it (3). Where two of these meet
    above the parabola, the acceleration switches; the time to be won there says whether it counts.
    """
    left, h = segments.cuts[:-1], np.diff(segments.cuts)
    z0, z1 = motion.z[:-1], motion.z[1:]
    start, end = segments.ends()
    most, least = start.most(z0), end.least(z1)
    top = np.minimum.reduce([np.min(segments.caps(), axis=1), start.high, end.high])
    # neither the hardest acceleration nor the hardest braking all along
    loose = 1e-9 * np.maximum(z0, z1)
    free = (z1 - z0 < h * (most + end.most(z1)) - loose) & (
        z1 - z0 > h * (start.least(z0) + least) + loose
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (z1 - z0 - 2 * least * h) / (2 * (most - least) * h)  # (1) and (2)
        reach, leave = (top - z0) / (2 * most * h), 1 + (top - z1) / (2 * least * h)  # (3)
        corners = ((meet, z0 + 2 * most * h * meet), (reach, top), (leave, top))
    whole = np.sum(motion.steps())
    cuts, switches = [], np.zeros(len(h), dtype=bool)
    for part, height in corners:
        inside = (part > 0) & (part < 1) & free
        at = np.where(inside, part, 0.5)
        z = motion.z_at(at[:, None])[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            # half of a triangle's area, δt = −½ z^(−3/2) δz
            won = np.where(inside, (height - z) * h / (4 * z**1.5), 0.0)
        inside &= (height <= top * (1 + 1e-9)) & (won > LOSS / 1000 * whole)
        cuts.append((left + at * h)[inside])
        switches |= inside
    excess = np.maximum(segments.excess(motion), 0.0) / COARSE
    # along the fastest motion some limit is used up everywhere
    lost = np.where(switches, 0.0, segments.slack(motion) * motion.steps() / (LOSS * whole))
    num = np.clip(np.ceil(np.sqrt(np.maximum(excess, lost))), 1, 8).astype(int)
    cuts += [left[k] + h[k] * np.arange(1, num[k]) / num[k] for k in np.flatnonzero(num > 1)]
    return np.sort(np.concatenate(cuts))


def _refuse_conflict(segments: SegmentLimits, k: int, ends: tuple[float, float]) -> NoReturn:
    """Refuse limits that leave nothing on a segment, and name those that conflict at rest.

    Where a vehicle may stand everywhere, it is the end speed that is out of reach.
    """
    _refuse_standing(segments)
    _refuse(segments, k, f"the limits allow no motion that ends at {ends[1]:g} m/s")


def _refuse_standing(segments: SegmentLimits) -> None:
    """Refuse limits that allow a vehicle neither to stand nor to creep at some place."""
    found = segments.conflict_at_rest()
    if found is not None:
        k, names = found
        listed = " and ".join(dict.fromkeys(names))
        _refuse(segments, k, f"no motion satisfies the limits: {listed}")


def _refuse(segments: SegmentLimits, k: int, what: str) -> NoReturn:
    s = segments.cuts[k]
    p = float(arc_table(segments.path).parameter(np.array([s]))[0])
    raise SimulationError(
        what,
        f"fastest motion, {where(segments.path, p, s)}",
        "loosen the limits there, or start and end more slowly",
    )


#: Places on the path at which motors are known, and how many times more where these are too few.
PLACES, FINER = 1201, (1, 4, 16)
#: Part of a limit of a motor by which it may be exceeded between them.
PROMISED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastTime(AbstractTimingPlan):
    """The least time within limits; a timing for :func:`track`."""

    word = "least-time"
    also_called = ("fastest",)
    typical = {"acceleration": 0.5, "lateral_acceleration": 0.5}
    ranges = {"start_speed": (0.0, 1.0), "end_speed": (0.0, 1.0)}
    offered = ("speed", "acceleration", "lateral_acceleration")

    speed: float | None = None  #: highest ṡ, m/s
    acceleration: Acceleration | None = None  #: highest |s̈| along the path, m/s²
    lateral_acceleration: Acceleration | None = None  #: highest |κ| ṡ², m/s²
    #: coefficient of the ground: √(s̈² + (κ ṡ²)²) ≤ friction · g of the model
    friction: Pure | None = None
    #: coefficient of the ground under every wheel whose load is known: no wheel slips, and none
    #: lifts
    wheel_friction: Pure | None = None
    least_load: float = 0.0  #: smallest load of a wheel where `wheel_friction` is given, N
    #: start_speed, end_speed: speeds at the ends of the path, m/s
    start_speed: float = 0.0
    end_speed: float = 0.0
    #: force input → largest magnitude, N or N·m, see :func:`motor_limits`; or a speed, such as the
    #: rate of a steering or of a wheel, given or not, rad/s
    inputs: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, Any] | None = None) -> LeastTime:
        """Limits by their keys; all others are force inputs: ``least-time:speed=1;torque1=0.3``."""
        keys = [key for key in cls.arguments() if key != "inputs"]
        entries = read_entries(text, cls.family, keys)
        values = {key: read_number(value, key, f"timing '{text}'") for key, value in entries}
        own = {key: value for key, value in values.items() if key in keys}
        return cls(**own, inputs={key: x for key, x in values.items() if key not in keys})

    def text(self) -> str:
        """The limits, and those of the force inputs, by their names."""
        own = {key: getattr(self, key) for key in self.arguments() if key != "inputs"}
        limits = {key: value for key, value in own.items() if value} | dict(self.inputs)
        return f"{self.word}:" + ";".join(f"{key}={value!r}" for key, value in limits.items())

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> SpeedSchedule:
        """The timing of this vehicle on this path.

        Raises
        ------
        SimulationError : no motion satisfies the limits, nothing limits the acceleration, or what
            motors must do depends on more than place and speed.
        """
        vehicle = partial(
            _driven,
            system,
            path,
            f"least time of model '{system.model.name}' on {type(path).__name__}",
            follower=follower,
            inputs=inputs,
            reference=reference,
            parameters=parameters,
        )
        first = PLACES if self.wheel_friction is None else WHEEL_PLACES
        motors = partial(
            motor_limits,
            system,
            path,
            follower=follower,
            inputs=inputs,
            reference=reference,
            parameters=parameters,
        )
        limits = Limits(
            speed=self.speed,
            acceleration=self.acceleration,
            lateral_acceleration=self.lateral_acceleration,
            total_acceleration=self._ground(system, parameters),
            rows=(rows := self._rows(system, path, motors, vehicle, inputs, first)).all(),
        )
        ends = (self.start_speed, self.end_speed)
        for finer in FINER:
            count = finer * (first - 1) + 1
            if finer > 1:
                rows = self._rows(system, path, motors, vehicle, inputs, count)
                limits = dataclasses.replace(limits, rows=rows.all())
            timing = least_time(path, limits, start_speed=ends[0], end_speed=ends[1])
            for _ in range(ROUNDS if rows.wheels else 0):
                if not rows.sharpen(timing):
                    break
                limits = dataclasses.replace(limits, rows=rows.all())
                timing = least_time(path, limits, start_speed=ends[0], end_speed=ends[1])
            if rows.missed(timing) <= PROMISED:
                return timing
        raise SimulationError(
            f"the required forces change too fast along the path for {count} points",
            f"least time of model '{system.model.name}' on {type(path).__name__}",
            "smooth the path, or start what it leaves open near where it settles: reference={…}",
        )

    def _rows(
        self,
        system: System,
        path: AbstractPath,
        motors: Callable[..., LimitRows],
        vehicle: Callable[..., _Drive],
        inputs: tuple[str, ...],
        count: int,
    ) -> _VehicleRows:
        """Limits of motors, speeds and wheels."""
        bounds = {n: positive(x, n, "LeastTime(inputs=…)") for n, x in self.inputs.items()}
        known = {x.name for x in system.speeds} | {x.name for x in system.model.speed_inputs}
        speeds = {n: x for n, x in bounds.items() if n in known}
        forces = {n: x for n, x in bounds.items() if n not in known}
        parts = [motors(limits=forces, count=count)] if forces else []
        breaks = arc_table(path).arc_length(np.array(path.breaks))
        if not speeds and self.wheel_friction is None:
            return _VehicleRows(parts, breaks=breaks)
        drive = vehicle(count=count)
        if (own := _speed_rows(drive, speeds)) is not None:
            parts.append(own)
        if self.wheel_friction is None:
            return _VehicleRows(parts, breaks=breaks)
        friction = positive(self.wheel_friction, "wheel_friction", "LeastTime")
        where = f"least time of model '{system.model.name}'"
        wheels = _wheel_forces(drive, inputs, where)
        least = number(self.least_load, "least_load", "LeastTime")
        return _VehicleRows(parts, wheels, friction, least, breaks)

    def _ground(self, system: System, parameters: Mapping[str, float] | None) -> float | None:
        """Highest acceleration in all directions that the ground allows, m/s²."""
        if self.friction is None:
            return None
        friction = positive(self.friction, "friction", "LeastTime")
        return friction * _gravity(system, parameters)


@dataclass(slots=True, eq=False)
class _VehicleRows:
    """Rows of a vehicle: those that stay, and those of wheels, of which there become more."""

    fixed: list[LimitRows]
    wheels: _WheelForces | None = None
    friction: float = 0.0
    least_load: float = 0.0
    #: arc lengths at which the path is not smooth
    breaks: Array = field(default_factory=lambda: np.zeros(0))
    #: directions, kept: (n, w, k, 2) in which forces of wheels are bounded, and (w, k) which are
    directions: Array = field(init=False)
    kept: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        if self.wheels is not None:
            angle = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
            circle = np.column_stack([np.cos(angle), np.sin(angle)])
            n, w = self.wheels.constant.shape[:2]
            self.directions = np.tile(circle, (n, w, 1, 1))
            self.kept = np.ones((w, DIRECTIONS), bool)

    def all(self) -> LimitRows | None:
        """All of them."""
        own = list(self.fixed)
        if self.wheels is not None:
            own.append(self.wheels.rows(self.directions, self.kept, self.friction, self.least_load))
        return _joined(own)

    def missed(self, timing: SpeedSchedule) -> float:
        """Largest violation between the places, as a fraction of the limits.

        Every other place is interpolated from the next ones, which is off by four times as much.
        """
        own = _joined(self.fixed)
        found = 0.0 if own is None else _missed(timing, own, self.breaks)
        if self.wheels is not None:
            s = self.wheels.arc_lengths
            before, here, after = s[:-2:2], s[1:-1:2], s[2::2]
            part = ((here - before) / (after - before))[:, None, None]
            z, u = (x[1:-1:2] for x in timing.along(s))
            at = [self.wheels.at(z, u, np.arange(k, len(s) - 2 + k, 2)) for k in range(3)]
            size = self.friction * float(np.max(np.abs(at[1][..., 2])))
            off = np.max(np.abs((1 - part) * at[0] + part * at[2] - at[1]), axis=(1, 2))
            off[_jumps(s, self.breaks)] = 0.0
            found = max(found, float(np.max(off)) / 4 / size)
        return found

    def sharpen(self, timing: SpeedSchedule) -> bool:
        """Bound the directions that forces have in a motion, if some force is too large there."""
        assert self.wheels is not None
        z, u = timing.along(self.wheels.arc_lengths)
        forces = self.wheels.at(z, u, np.arange(len(z)))
        size = np.linalg.norm(forces[..., :2], axis=-1)
        most = self.friction * np.maximum(forces[..., 2], 0.0)
        whole = self.friction * float(np.max(np.abs(forces[..., 2])))
        if np.max(size - most) <= PROMISED * whole:
            return False
        safe = np.where(size > 0, size, 1.0)[..., None]
        new = np.where(size[..., None] > 0, forces[..., :2] / safe, [1.0, 0.0])
        along = np.einsum("nwkf,nwf->nwk", self.directions, forces[..., :2])
        left = np.min((most[..., None] - along) / np.max(most, axis=0)[:, None], axis=0)
        self.directions = np.concatenate([self.directions, new[:, :, None]], axis=2)
        self.kept = np.column_stack([self.kept & (left < FAR_OFF), np.ones(len(left), bool)])
        return True


def _jumps(s: Array, breaks: Array) -> NDArray[np.bool_]:
    """Every other place next to which forces jump, as a path's curvature or its rate does."""
    return np.any((breaks > s[:-2:2, None]) & (breaks < s[2::2, None]), axis=1)


def _missed(timing: SpeedSchedule, rows: LimitRows, breaks: Array) -> float:
    """Largest violation of the rows between their places, as a fraction of their limits.

    Every other place is interpolated from the next ones, which is off by four times as much.
    """
    s = rows.arc_lengths
    z, u = (x[1:-1:2] for x in timing.along(s))
    before, here, after = s[:-2:2], s[1:-1:2], s[2::2]
    part = ((here - before) / (after - before))[:, None]
    between = (1 - part) * rows.values(before, z, u) + part * rows.values(after, z, u)
    off = np.abs(rows.values(here, z, u) - between) / 4
    off[_jumps(s, breaks)] = 0.0
    return float(np.max(off / np.max(np.abs(rows.constant), axis=0)))


def _gravity(system: System, parameters: Mapping[str, float] | None) -> float:
    """Size of gravity, m/s²."""
    known = system.model.parameter_values() | dict(parameters or {})
    size = float(np.linalg.norm([nominal(e, known) for e in system.model.gravity]))
    if size == 0:
        raise SimulationError(
            "the model has no gravity, so there is no friction",
            f"least time of model '{system.model.name}'",
            "give lateral_acceleration and acceleration instead of friction",
        )
    return size
