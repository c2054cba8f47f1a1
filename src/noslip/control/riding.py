"""`Ride`: what must be balanced, a bicycle or a robot on two wheels, along a path.

The point that follows is where the wheels of the base touch the ground: it cannot move sideways.
With e_x, e_y, e_ψ its error against the path in the path's own axes, and V and Ω = κ V speed and
turning rate of the path, the steady turn of the balance (`Balance`) with this V and Ω has the
states x* and forces u*, and small motions about it follow

    (1)  ė_x = C_V ξ + Ω e_y,   ė_y = V e_ψ − Ω e_x,   ė_ψ = C_Ω ξ,   ξ̇ = A ξ + B w − ẋ*

with ξ = x − x*, w = u − u*, and C_V, C_Ω the derivatives of speed and turning rate of the point. A
steady turn is the motion on a circle. Where the curvature changes, x* does, which a bicycle cannot
follow at once: it leans by steering the other way first. The motion that stays on the path is
found from (1) with −ẋ* as a disturbance that is known in advance (`preview` of ``lqr.py``), at a
cost almost of e alone; it begins to lean before the bend. With e_r, ξ_r and w_r of this motion the
law is

    (2)  u = u* + w_r − K [σ(e_x − e_xr), σ(e_y − e_yr), sin(e_ψ − e_ψr), ξ − ξ_r]

with σ(e) = e/√(1 + (e/λ)²), so that from far away it comes no more steeply than from the reach λ,
and K of the regulator (1) of ``lqr.py`` for (1) with constant Ω. Its weights are those of the
balance, for the place 1/E² and for the heading (λ/2E)², with E the largest of λ, λ/2, λ/4, … for
which all errors of straight running decay at least as exp(−V t/λ).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.analysis import steady_state_at
from noslip.base import Array, SimulationError
from noslip.control.driving import Balance, make_controls, motor_columns, weight_units
from noslip.control.lqr import preview, solve_lqr
from noslip.control.path_geometry import AbstractPath, arc_table, clamp, length, look_up, polynomial
from noslip.control.path_motion import PathMotion
from noslip.control.timing_laws import AbstractTiming, ConstantSpeed
from noslip.engines import System
from noslip.expressions import nominal
from noslip.simulation import (
    AbstractInputLaw,
    InputGenerator,
    PathErrors,
    Start,
    Trajectory,
    complete_start,
)

#: Seconds of way over which errors decay: slower than the balance, which steers for it.
AHEAD = 1.5
#: Steps of the motion that stays on the path, s, and the most of them.
STEP, MOST = 0.02, 20_000
#: Steady turns that are found to either side of straight ahead, and the time between those along a
#: way of changing speed, s.
TURNS, APART = 11, 0.3
#: Largest angles of a ride, rad: of the base, and of a joint such as the steering.
STEEPEST, SHARPEST = 0.5, 1.0
#: Most halvings of E.
HALVINGS = 10
#: Sideways acceleration of the default speed in the tightest bend, in g.
SIDEWAYS = 0.2
#: Cost of the place on the motion that stays on the path, and of forces and states, as parts of
#: those of the feedback: units of the place, weights of the rest.
EXACT, CHEAP = 0.01, 0.01


def find_ride(system: System, values: Array) -> Balance | None:
    """Find the balancing controller of a mechanism that needs one and has motors for it."""
    if not system.model.inputs:
        return None
    with suppress(SimulationError):
        return make_controls(system, values, max(system.kinematics.length, 1e-3)).balance
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ride(AbstractInputLaw):
    """(2). Made by :func:`plan_ride`."""

    balance: Balance  #: balance that keeps it upright
    motion: PathMotion  #: path and timing
    reach: float  #: λ, m
    wheels: tuple[int, ...]  #: contacts of the base, whose mean follows
    sign: float  #: sign of their longitudinal directions, along the way that is driven
    times: Array  #: (n,) s
    table: Array  #: (n, …) x* + ξ_r, u* + w_r, e_r and K by row at these times
    start: Mapping[str, float]  #: coordinates, speeds and named angles on the path, by name

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        balance, motion, path = self.balance, self.motion, self.motion.path
        t = system.kinematics.symbols.t
        p, s, theta = (ca.SX.sym(name) for name in ("p", "s", "theta"))
        r, _, pace, curvature = motion.geometry(t, p)
        speed = ca.SX(motion.timing.speed(t, s, curvature, length(path)))
        place, ahead = tracked(system, self.wheels, self.sign)
        gap = place - r
        c, d = ca.cos(theta), ca.sin(theta)
        e_x, e_y = c * gap[0] + d * gap[1], -d * gap[0] + c * gap[1]
        e_psi = ca.atan2(c * ahead[1] - d * ahead[0], c * ahead[0] + d * ahead[1])
        n, m = len(balance.coordinates) + len(balance.speeds), len(balance.motors)
        now, knots = self._now(t)
        x, u = ca.vertcat(*now[:n]), ca.vertcat(*now[n : n + m])
        e = now[n + m : n + m + 3]
        K = ca.reshape(ca.vertcat(*now[n + m + 3 :]), n + 3, m).T
        off = ca.vertcat(
            self._bounded(e_x - e[0]),
            self._bounded(e_y - e[1]),
            ca.sin(e_psi - e[2]),
            balance.traced_states(system) - x,
        )
        forces = u - ca.mtimes(K, off)
        first = arc_table(path)
        z = np.array([path.interval[0], 0.0, float(first.turned(np.array([first.p[0]]))[0])])
        breaks = (*motion.timing.knots(path), *motion.timing.break_times(path))
        return InputGenerator(
            inputs={name: ca.densify(forces[k]) for k, name in enumerate(balance.motors)},
            states=ca.vertcat(p, s, theta),
            rates=ca.vertcat(speed / pace, speed, curvature * speed),
            start=z,
            names=("path.parameter", "path.arc_length", "path.heading"),
            units=("1", "m", "rad"),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=np.unique([*breaks, *knots]),
        )

    def _bounded(self, error: ca.SX) -> ca.SX:
        """σ of (2)."""
        return error / ca.sqrt(1 + (error / self.reach) ** 2)

    def _now(self, t: ca.SX) -> tuple[list[ca.SX], Array]:
        """The table at a time, cubic in between, and its times; what is constant is a number."""
        from scipy.interpolate import CubicSpline

        table, times = self.table, self.times
        sizes = np.maximum(np.max(np.abs(table), axis=0), 1e-9)
        moving = np.flatnonzero(np.ptp(table, axis=0) > 1e-9 * sizes)
        entries = [ca.SX(float(x)) for x in table[0]]
        if not moving.size:
            return entries, np.zeros(0)
        pieces = CubicSpline(times, table[:, moving]).c.transpose(1, 2, 0)
        starts, now = times[:-1].tolist(), clamp(t, float(times[0]), float(times[-1]))
        row = look_up(now, starts, np.column_stack([starts, pieces.reshape(len(starts), -1)]))
        for j, k in enumerate(moving.tolist()):
            entries[k] = polynomial(now - row[0], row[1 + 4 * j : 5 + 4 * j])
        return entries, times[1:-1]

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of what follows along a run."""
        kin = system.kinematics
        s = kin.symbols
        place, ahead = tracked(system, self.wheels, self.sign)
        function = ca.Function("at", [s.t, s.q, s.params], [ca.vertcat(place, ahead)])
        names = [p.name for p in system.model.parameters]
        values = system.parameters({name: run.parameters[name] for name in names})
        at = run.t[None, :], run.q.T, np.repeat(values[:, None], len(run.t), axis=1)
        x, y, dx, dy = np.array(function.map(len(run.t))(*at))
        theta = run["path.heading"]
        heading = theta + np.angle((dx + 1j * dy) * np.exp(-1j * theta))
        return self.motion.errors_of(run, np.column_stack([x, y]), heading)

    def text(self) -> str:
        """Describe what follows the path."""
        contacts = [self.balance.system.kinematics.contacts[k].contact.name for k in self.wheels]
        motors = ", ".join(self.balance.motors)
        touch = "touches" if len(contacts) == 1 else "touch"
        return f"where {' and '.join(contacts)} {touch} the ground, balanced by {motors}"


def tracked(system: System, wheels: tuple[int, ...], sign: float) -> tuple[ca.SX, ca.SX]:
    """Place and direction (2,) of what follows: between contacts, along their wheels."""
    contacts = [system.kinematics.contacts[k] for k in wheels]
    place = sum((c.point[:2] for c in contacts), ca.SX.zeros(2)) / len(contacts)
    return place, sign * contacts[0].directions["longitudinal"][:2]


class _SteadyTurn(NamedTuple):
    """A steady turn of what follows, and (1) about it."""

    start: Start
    x: Array
    u: Array
    A: Array  # (3 + n, 3 + n), of e_x, e_y, e_ψ and ξ
    B: Array  # (3 + n, m)
    gains: Array  # (m, 3 + n)
    weights: tuple[Array, Array]  # diagonals of Q and R


def plan_ride(
    system: System,
    balance: Balance,
    path: AbstractPath,
    timing: AbstractTiming | None,
    reach: float | None = None,
) -> Ride:
    """The law that rides along a path, and its start.

    `path`, `timing`: path and timing law; by default a moderate constant speed, that accelerates
    sideways by 0.2 g at most. `reach`: λ, m; as far as it goes in 1.5 s by default.

    Raises
    ------
    SimulationError : if it is too slow or too fast to be balanced, or leans too far in a bend.
    """
    where = f"ride of model '{system.model.name}'"
    if path.cusps:
        raise SimulationError(
            "the path has a cusp, where a vehicle stops, and this one would fall", where,
            "remove the parts that reverse",
        )  # fmt: skip
    law = timing or ConstantSpeed(_moderate_speed(balance, path))
    steps = int(np.clip(np.ceil(law.duration(path) / STEP), 8, MOST))
    times = np.linspace(0.0, law.duration(path), steps + 1)
    s, speeds, bends = _along(law, path, times)
    for t, v in zip(times, speeds, strict=True):
        if not balance.slowest <= v <= balance.fastest:
            raise SimulationError(
                f"at t = {t:.4g} s it should go {v:.4g} m/s, but it can be balanced from "
                f"{balance.slowest:g} to {balance.fastest:g} m/s",
                where,
                f"give a timing law within these, such as constant-speed:{_middle(balance):g}",
            )
    reach = AHEAD * float(np.mean(speeds)) if reach is None else reach
    wheels = tuple(
        k
        for k, c in enumerate(system.kinematics.contacts)
        if c.contact.is_wheel
        and system.kinematics.tree.nodes[system.kinematics.tree.index[c.contact.body]].parent == 0
    )
    turns = _SteadyTurns(balance=balance, wheels=wheels, reach=reach).tuned(float(np.mean(speeds)))
    first, rows = _rows_along(turns, times, s, speeds, bends)
    n, m = len(first.x), len(first.u)
    cuts = np.cumsum([n, m, (n + 3) ** 2, (n + 3) * m])
    x, u, A, B, K = np.split(rows, cuts, axis=1)
    A, B = A.reshape(-1, n + 3, n + 3), B.reshape(-1, n + 3, m)
    # the motion that stays on the path
    d = np.zeros((len(times), n + 3))
    d[:, 3:] = -np.gradient(x, times, axis=0)
    Q, R = first.weights
    Q = np.concatenate([Q[:3] / EXACT**2, CHEAP * Q[3:]])
    on_path = np.concatenate([np.zeros(3), np.full(n, np.nan)])
    found = preview(A, B, d, np.diag(Q), CHEAP * R, float(times[1]), on_path)
    if found is None:
        raise SimulationError(
            "no motion of bounded lean stays on this path", where, "choose a smoother path"
        )
    motion = PathMotion(path=path, timing=law)
    x = x + found.states[:, 3:]
    start, sign = _start(balance, first.start, x[0], wheels, motion)
    return Ride(
        balance=balance,
        motion=motion,
        reach=reach,
        wheels=wheels,
        sign=sign,
        times=times,
        table=np.hstack([x, u + found.inputs, found.states[:, :3], K]),
        start=start,
    )


def _middle(balance: Balance) -> float:
    """A moderate speed, m/s."""
    return float(f"{math.sqrt(balance.slowest * balance.fastest):.2g}")


def _moderate_speed(balance: Balance, path: AbstractPath) -> float:
    """A moderate speed, m/s, that is slow enough in the tightest bend as far as it can be."""
    table = arc_table(path)
    s = np.linspace(0.0, table.s[-1], 2001)
    tightest = max(float(np.max(np.abs(table.curvature(table.parameter(s))))), 1e-9)
    fastest = math.sqrt(SIDEWAYS * _gravity(balance) / tightest)
    if fastest >= _middle(balance):
        return _middle(balance)
    return max(math.floor(100 * fastest) / 100, balance.slowest)


def _gravity(balance: Balance) -> float:
    """m/s²."""
    model = balance.system.model
    known = model.parameter_values(balance.values)
    return float(np.linalg.norm([nominal(e, known) for e in model.gravity]))


def _along(law: AbstractTiming, path: AbstractPath, times: Array) -> tuple[Array, Array, Array]:
    """Arc lengths, speeds and curvatures of a law at times."""
    from scipy.integrate import solve_ivp

    table, whole = arc_table(path), length(path)
    t, s, bend = (ca.SX.sym(name) for name in ("t", "s", "bend"))
    speed = ca.Function("v", [t, s, bend], [ca.SX(law.speed(t, s, bend, whole))])

    def bend_at(s: Array) -> Array:
        return np.asarray(table.curvature(table.parameter(np.clip(s, 0.0, table.s[-1]))))

    def rate(t: float, s: Array) -> Array:
        return np.array(speed(t, s[0], bend_at(s)[0])).ravel()

    breaks = [b for b in law.knots(path) if 0.0 < b < times[-1]]
    longest = float(np.min(np.diff([0.0, *breaks, times[-1]])))
    solved = solve_ivp(
        rate, (0.0, times[-1]), [0.0], t_eval=times, rtol=1e-10, atol=1e-12, max_step=longest
    )
    s_at = solved.y[0]
    bends = bend_at(s_at)
    at = times[None, :], s_at[None, :], bends[None, :]
    speeds = np.array(speed.map(len(times))(*at)).ravel()
    return s_at, speeds, bends


def _rows_along(
    turns: _SteadyTurns, times: Array, s: Array, speeds: Array, bends: Array
) -> tuple[_SteadyTurn, Array]:
    """The steady turn at the start, and x*, u*, A, B and K of (1) and (2) at all times.

    At a constant speed they are functions of the curvature, found at some and interpolated; else
    they are found at places along the way.
    """
    from scipy.interpolate import CubicSpline

    speed = float(speeds[0])
    if np.ptp(speeds) > 1e-9 * speed:
        count = max(17, math.ceil(times[-1] / APART))
        places = np.unique(np.linspace(0, len(times) - 1, count).astype(int))
        found = turns.along(zip(s[places], speeds[places], bends[places], strict=True))
        return found[0], CubicSpline(times[places], [_flat(turn) for turn in found])(times)
    if np.ptp(bends) < 1e-9 * max(1.0, float(np.max(np.abs(bends)))):
        turn = turns.along([(0.0, speed, 0.0), (0.0, speed, float(bends[0]))])[-1]
        return turn, np.tile(_flat(turn), (len(times), 1))
    nodes: dict[float, _SteadyTurn] = {}
    least = 1e-3 * float(np.max(np.abs(bends)))
    for end in (min(float(np.min(bends)), -least), max(float(np.max(bends)), least)):
        side = np.linspace(0.0, end, TURNS if abs(end) > least else 2)
        at = [float(s[np.argmin(np.abs(bends - bend))]) for bend in side]
        found = turns.along((a, speed, float(bend)) for a, bend in zip(at, side, strict=True))
        nodes |= dict(zip(side.tolist(), found, strict=True))
    grid = sorted(nodes)
    rows = CubicSpline(grid, [_flat(nodes[bend]) for bend in grid])(bends)
    return nodes[min(grid, key=lambda bend: abs(bend - bends[0]))], rows


def _flat(turn: _SteadyTurn) -> Array:
    parts = (turn.x, turn.u, turn.A.ravel(), turn.B.ravel(), turn.gains.ravel())
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SteadyTurns:
    """Steady turns of what follows, by the speed and the turning rate of its own point."""

    balance: Balance
    wheels: tuple[int, ...]
    reach: float
    off: float = math.nan  # E, m

    def tuned(self, speed: float) -> _SteadyTurns:
        """With E, at a speed of straight running."""
        found = replace(self, off=self.reach)
        for _ in range(HALVINGS):
            turn = found._at(speed, 0.0, None)
            decays = -np.max(np.linalg.eigvals(turn.A - turn.B @ turn.gains).real)
            if decays * self.reach >= speed:
                break
            found = replace(found, off=found.off / 2)
        return found

    def along(self, ways: Iterable[tuple[float, float, float]]) -> list[_SteadyTurn]:
        """Steady turns at places (s, V, κ), by continuation; a failure names its place."""
        found: list[_SteadyTurn] = []
        for s, speed, bend in ways:
            where = f"ride of model '{self.balance.system.model.name}'"
            what = f"{s:.4g} m along the path the curvature is {bend:.4g} 1/m, where at "
            what += f"{speed:.4g} m/s it "
            fix = "choose a wider path, or go slower"
            if found:
                fix = f"keep the curvature below {abs(self._bend(found[-1])):.2g} 1/m, or go slower"
            near = found[-1].start if found else None
            try:
                turn = self._at(speed, speed * bend, near)
            except SimulationError as error:
                raise SimulationError(
                    f"{what}has no steady turn: {error.what}", where, fix
                ) from None
            lean, steer = self.balance.bent(turn.x)
            if lean > STEEPEST or steer > SHARPEST:
                much = f"lean or steer by {max(lean, steer):.3g} rad"
                raise SimulationError(f"{what}would {much}", where, fix)
            found.append(turn)
        return found

    def _bend(self, turn: _SteadyTurn) -> float:
        """Curvature of a turn, 1/m."""
        return float(turn.A[0, 1] / turn.A[1, 2])

    def _at(self, speed: float, turning: float, near: Start | None) -> _SteadyTurn:
        """The turn in which the point that follows has a speed and a turning rate, and (1)."""
        balance = self.balance
        system, values = balance.system, balance.values
        # the balance counts one driven wheel and the heading of the base: they differ in a turn
        v, w = speed, turning
        for _ in range(5):
            motion, line = balance.steady_turn(v, balance.left * w, near)
            near = start = motion.start
            y, y_q, y_eta = (np.array(e) for e in self._way()(0.0, start.q, start.eta, values))
            sign = 1.0 if y[0, 0] > 0 else -1.0
            excess = sign * y[0, 0] - speed, y[1, 0] - turning
            if max(abs(excess[0]), abs(excess[1])) < 1e-12 * speed:
                break
            v, w = v - excess[0], w - excess[1]
        forces = np.zeros(len(system.inputs))
        names = [i.name for i in system.inputs]
        for name, value in motion.inputs.items():
            forces[names.index(name)] = value
        point = steady_state_at(system, start, forces, values)
        by_c, by_zeta = (part[4] for part in point.derivatives()[:2])
        c = [x.name for x in point.chart.coordinates]
        T = np.zeros((len(c), len(line.coordinates)))
        T[[c.index(x.name) for x in line.coordinates], range(len(line.coordinates))] = 1.0
        T[[c.index(x.name) for x in line.dependent]] = line.coordinate_map
        placing = np.array(point.chart.placing(point.c))
        C = np.hstack([(y_q @ placing + y_eta @ by_c) @ T, y_eta @ by_zeta])
        n, m = len(line.states), len(balance.motors)
        A, B = np.zeros((n + 3, n + 3)), np.zeros((n + 3, m))
        A[0, 1], A[1, 0], A[1, 2] = turning, -turning, speed
        A[0, 3:], A[2, 3:], A[3:, 3:] = sign * C[0], C[1], line.A
        B[3:] = motor_columns(line, balance.motors)
        units, pushes = weight_units(line, balance.motors, system.kinematics.length)
        off = self.off
        Q = np.concatenate([[off, off, 2 * off / self.reach], units]) ** -2.0
        regulation = solve_lqr(A, B, np.diag(Q), pushes**-2)
        if regulation is None:
            raise SimulationError(
                "the motors cannot maintain this steady motion",
                f"ride of model '{system.model.name}'",
                "add a steering motor",
            )
        return _SteadyTurn(
            start=start,
            x=np.array([motion.values[q.name] for q in line.states]),
            u=np.array([motion.inputs[name] for name in balance.motors]),
            A=A,
            B=B,
            gains=regulation.gains,
            weights=(Q, pushes**-2),
        )

    def _way(self) -> ca.Function:
        """Speed and turning rate of what follows, and their derivatives by q and η."""
        system, wheels = self.balance.system, self.wheels
        kin = system.kinematics
        s = kin.symbols

        def make() -> ca.Function:
            place, ahead = tracked(system, wheels, 1.0)
            moving, turning = (ca.jtimes(e, s.q, ca.mtimes(kin.N, kin.v)) for e in (place, ahead))
            along = ca.dot(moving, ahead) / ca.norm_2(ahead)
            rate = (ahead[0] * turning[1] - ahead[1] * turning[0]) / ca.dot(ahead, ahead)
            y = ca.vertcat(along, rate)
            slopes = [ca.densify(ca.jacobian(y, x)) for x in (s.q, kin.eta)]
            return ca.Function("way", [s.t, s.q, kin.eta, s.params], [y, *slopes])

        return system.cached(("way of contacts", wheels), make)


def _start(
    balance: Balance, near: Start, x: Array, wheels: tuple[int, ...], motion: PathMotion
) -> tuple[dict[str, float], float]:
    """The states x at the start of the path, and the sign of the wheels' directions."""
    system, values = balance.system, balance.values
    kin = system.kinematics
    s = kin.symbols
    place, ahead = tracked(system, wheels, 1.0)
    moving = ca.jtimes(place, s.q, ca.mtimes(kin.N, s.v))
    at = ca.Function("at", [s.t, s.q, s.v, s.params], [place, ahead, moving])

    def found(q: Array, v: Array) -> list[Array]:
        return [np.array(e).ravel() for e in at(0.0, q, v, values)]

    _, direction, way = found(near.q, near.v)
    sign = 1.0 if direction @ way > 0 else -1.0
    base, yaw = balance.base.joint.name, balance.heading
    states = (*balance.coordinates, *balance.speeds)
    given = {x.name: float(value) for x, value in zip(states, x, strict=True)}
    given |= {f"{base}.x": 0.0, f"{base}.y": 0.0, yaw: balance.heading_of(near.q)}
    table = arc_table(motion.path)
    heading = float(table.turned(table.p[:1])[0])
    # the heading of the joint at which the wheels head along the path, and then their place
    first = complete_start(system, given, parameters=values)
    direction = sign * found(first.q, first.v)[1]
    given[yaw] += balance.left * (heading - math.atan2(direction[1], direction[0]))
    t, p = ca.SX.sym("t"), ca.SX.sym("p")
    r = np.array(ca.Function("r", [t, p], [motion.geometry(t, p)[0]])(0.0, table.p[0])).ravel()
    turned = complete_start(system, given, parameters=values)
    off = r - found(turned.q, turned.v)[0]
    return {**given, f"{base}.x": float(off[0]), f"{base}.y": float(off[1])}, sign
