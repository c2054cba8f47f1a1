"""`ride_along`: what must be balanced, a bicycle or a robot on two wheels, along a path.

The point that follows is where the wheels of the base touch the ground: it cannot move sideways.
With e_x, e_y, e_ψ its error against the path in the path's own axes, λ the reach and (V, Ω) speed
and turning rate of the path, the operating point of the balance (`balancing.py`) that is asked for
is

    (1)  ΔV = −½ V tanh(2 e_x/λ),      ΔΩ = −V (2/λ) sin(e_ψ + atan(e_y/(2 λ)))

beside the path's own. Along the path x*, u* and K of the balance are found at places, with their
derivatives by V and Ω from differences, and are interpolated in between:

    (2)  u = u* + u*_V ΔV + u*_Ω ΔΩ − K (x − x* − x*_V ΔV − x*_Ω ΔΩ)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.control.driving.balancing import Balance, OperatingPoint
from noslip.control.driving.channels import make_controls
from noslip.control.motions.path import PathMotion
from noslip.control.paths.arc_length import arc_table, length
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.selection import look_up
from noslip.control.timing.laws import AbstractTiming, ConstantSpeed
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.input_laws import AbstractInputLaw, InputGenerator
from noslip.simulation.path_errors import PathErrors
from noslip.simulation.starts.completion import complete_start
from noslip.simulation.trajectory import Trajectory

#: Seconds of way over which errors decay: slower than the balance, which steers for it.
AHEAD = 1.5
#: Places along the path at which the balance is found, and the largest angle of a ride, rad.
PLACES, STEEPEST = 25, 0.5
#: Differences of speed (a part of it) and of turning rate, rad/s.
FASTER, SHARPER = 1e-3, 1e-3


def find_ride(system: System, values: Array) -> Balance | None:
    """Find the balancing controller of a mechanism that needs one and has motors for it.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    """
    if not system.model.inputs:
        return None
    with suppress(SimulationError):
        return make_controls(system, values, max(system.kinematics.length, 1e-3)).balance
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ride(AbstractInputLaw):
    """(1) and (2). Made by :func:`plan_ride`.

    Parameters
    ----------
    balance : what keeps it upright.
    motion : path and timing.
    reach : λ, m.
    wheels : contacts of the base, whose mean follows.
    sign : of their longitudinal directions, along the way that is driven.
    times : (n,) s.
    table : (n, …) x*, x*_V, x*_Ω, u*, u*_V, u*_Ω and K by row at these times.
    start : coordinates, speeds and named angles on the path, by name.
    """

    balance: Balance
    motion: PathMotion
    reach: float
    wheels: tuple[int, ...]
    sign: float
    times: Array
    table: Array
    start: Mapping[str, float]

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
        faster = -0.5 * speed * ca.tanh(2 * e_x / self.reach)
        sharper = -speed * (2 / self.reach) * ca.sin(e_psi + ca.atan(e_y / (2 * self.reach)))
        n, m = len(balance.coordinates) + len(balance.speeds), len(balance.motors)
        now = self._now(t)
        x, x_V, x_W = (ca.vertcat(*now[k * n : (k + 1) * n]) for k in range(3))
        rest = now[3 * n :]
        u, u_V, u_W = (ca.vertcat(*rest[k * m : (k + 1) * m]) for k in range(3))
        K = ca.reshape(ca.vertcat(*rest[3 * m :]), n, m).T
        turn = balance.left * sharper  # to the left, as the balance counts it
        off = balance.traced_states(system) - x - x_V * faster - x_W * turn
        forces = u + u_V * faster + u_W * turn - ca.mtimes(K, off)
        first = arc_table(path)
        z = np.array([path.interval[0], 0.0, float(first.turned(np.array([first.p[0]]))[0])])
        return InputGenerator(
            inputs={name: ca.densify(forces[k]) for k, name in enumerate(balance.motors)},
            states=ca.vertcat(p, s, theta),
            rates=ca.vertcat(speed / pace, speed, curvature * speed),
            start=z,
            names=("path.parameter", "path.arc_length", "path.heading"),
            units=("1", "m", "rad"),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=np.unique([*motion.timing.knots(path), *motion.timing.break_times(path)]),
        )

    def _now(self, t: ca.SX) -> list[ca.SX]:
        """The table at a time, linear in between; what does not change is a number."""
        table = self.table
        moving = np.flatnonzero(np.ptp(table, axis=0) > 1e-9 * np.max(np.abs(table), axis=0))
        entries = [ca.SX(float(x)) for x in table[0]]
        if not moving.size:
            return entries
        slopes = np.diff(table[:, moving], axis=0) / np.diff(self.times)[:, None]
        starts = self.times[:-1].tolist()
        rows = np.column_stack([starts, table[:-1, moving], slopes])
        row = look_up(t, starts, rows, is_printed=True)
        for j, k in enumerate(moving.tolist()):
            entries[k] = row[1 + j] + (t - row[0]) * row[1 + len(moving) + j]
        return entries

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


def plan_ride(
    system: System,
    balance: Balance,
    path: AbstractPath,
    timing: AbstractTiming | None,
    reach: float | None = None,
) -> Ride:
    """The law that rides along a path, and its start.

    Parameters
    ----------
    system, balance : what is ridden.
    path, timing : where and how fast; at a moderate constant speed by default.
    reach : λ, m; as far as it goes in 1.5 s by default.

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
    law = timing or ConstantSpeed(float(f"{math.sqrt(balance.slowest * balance.fastest):.2g}"))
    lasts = law.duration(path)
    table, times = arc_table(path), np.linspace(0.0, lasts, PLACES)
    motion = PathMotion(path=path, timing=law)
    s, speeds = _along(law, path, times)
    bends = table.curvature(table.parameter(np.minimum(s, table.s[-1])))
    for t, v in zip(times, speeds, strict=True):
        if not balance.slowest <= v <= balance.fastest:
            raise SimulationError(
                f"at t = {t:.4g} s it should go {v:.4g} m/s, but it can be balanced from "
                f"{balance.slowest:g} to {balance.fastest:g} m/s",
                where,
                "give a timing law within these, such as constant-speed:"
                f"{math.sqrt(balance.slowest * balance.fastest):.2g}",
            )
    wheels = tuple(
        k
        for k, c in enumerate(system.kinematics.contacts)
        if c.contact.is_wheel
        and system.kinematics.tree.nodes[system.kinematics.tree.index(c.contact.body)].parent == 0
    )
    rows, near = [], balance.operating_point(float(speeds[0]), 0.0)
    known: dict[tuple[float, float], tuple[Array, OperatingPoint]] = {}
    for at, v, bend in zip(s, speeds, bends, strict=True):
        key = (round(float(v), 9), round(float(bend), 9))
        if key not in known:
            turning = balance.left * float(v * bend)
            known[key] = _row(system, balance, wheels, (float(v), turning), near)
        row, near = known[key]
        if balance.tilt(near) > STEEPEST:
            raise SimulationError(
                f"{at:.4g} m along the path the curvature is {bend:.4g} 1/m, where it would lean "
                f"or steer by {balance.tilt(near):.3g} rad",
                where,
                "choose a wider path, or go slower",
            )
        rows.append(row)
    first = known[round(float(speeds[0]), 9), round(float(bends[0]), 9)][1]
    start, sign = _start(system, balance, first, wheels, motion)
    return Ride(
        balance=balance,
        motion=motion,
        reach=AHEAD * float(np.mean(speeds)) if reach is None else reach,
        wheels=wheels,
        sign=sign,
        times=times,
        table=np.array(rows),
        start=start,
    )


def _along(law: AbstractTiming, path: AbstractPath, times: Array) -> tuple[Array, Array]:
    """Arc lengths and speeds of a law at times; its speed must not depend on the curvature."""
    t, s = ca.SX.sym("t"), ca.SX.sym("s")
    speed = ca.Function("v", [t, s], [ca.SX(law.speed(t, s, ca.SX(0), length(path)))])
    fine = np.linspace(0.0, times[-1], 40 * len(times) + 1)
    places, step = [0.0], fine[1] - fine[0]
    for at in fine[:-1]:
        middle = places[-1] + 0.5 * step * float(speed(at, places[-1]))
        places.append(places[-1] + step * float(speed(at + 0.5 * step, middle)))
    found = np.interp(times, fine, places)
    return found, np.array([float(speed(a, b)) for a, b in zip(times, found, strict=True)])


def _row(
    system: System,
    balance: Balance,
    wheels: tuple[int, ...],
    way: tuple[float, float],
    near: OperatingPoint,
) -> tuple[Array, OperatingPoint]:
    """x*, x*_V, x*_Ω, u*, u*_V, u*_Ω and K at a speed and a turning rate of what follows."""
    speed, turning = way

    def at(speed: float, turning: float, near: OperatingPoint) -> OperatingPoint:
        # the balance counts the speed of one driven wheel, which differs in a turn
        found = balance.operating_point(speed, turning, near)
        excess = _speed_of(system, balance, wheels, found) - speed
        if abs(excess) < 1e-12 * speed:
            return found
        return balance.operating_point(speed - excess, turning, found)

    here = at(speed, turning, near)
    faster = at(speed * (1 + FASTER), turning, here)
    sharper = at(speed, turning + SHARPER, here)
    x_V, u_V = ((b - a) / (FASTER * speed) for a, b in ((here.x, faster.x), (here.u, faster.u)))
    x_W, u_W = ((b - a) / SHARPER for a, b in ((here.x, sharper.x), (here.u, sharper.u)))
    parts = (here.x, x_V, x_W, here.u, u_V, u_W, here.gains.ravel())
    return np.concatenate(parts), here


def _speed_of(
    system: System, balance: Balance, wheels: tuple[int, ...], point: OperatingPoint
) -> float:
    """Speed over the ground of what follows, in a steady motion."""
    kin = system.kinematics
    s = kin.symbols

    def make() -> ca.Function:
        place, _ = tracked(system, wheels, 1.0)
        moving = ca.jtimes(place, s.q, ca.mtimes(kin.N, s.v))
        return ca.Function("speed", [s.t, s.q, s.v, s.params], [ca.norm_2(moving)])

    function = system.cached(("speed of contacts", wheels), make)
    return float(function(0.0, point.start.q, point.start.v, balance.values))


def _start(
    system: System,
    balance: Balance,
    point: OperatingPoint,
    wheels: tuple[int, ...],
    motion: PathMotion,
) -> tuple[dict[str, float], float]:
    """The operating point at the start of the path, and the sign of the wheels' directions."""
    kin = system.kinematics
    s = kin.symbols
    values = balance.values
    place, ahead = tracked(system, wheels, 1.0)
    moving = ca.jtimes(place, s.q, ca.mtimes(kin.N, s.v))
    at = ca.Function("at", [s.t, s.q, s.v, s.params], [place, ahead, moving])

    def found(q: Array, v: Array) -> list[Array]:
        return [np.array(e).ravel() for e in at(0.0, q, v, values)]

    _, direction, way = found(point.start.q, point.start.v)
    sign = 1.0 if direction @ way > 0 else -1.0
    base = balance.base.joint.name
    states = (*balance.coordinates, *balance.speeds)
    given = {x.name: float(value) for x, value in zip(states, point.x, strict=True)}
    table = arc_table(motion.path)
    heading = float(table.turned(table.p[:1])[0])
    yaw = balance.heading
    # the heading of the joint at which the wheels head along the path, and then their place
    now = math.atan2(sign * direction[1], sign * direction[0])
    given[yaw] = heading - now + balance.heading_of(point.start.q)
    t, p = ca.SX.sym("t"), ca.SX.sym("p")
    r = np.array(ca.Function("r", [t, p], [motion.geometry(t, p)[0]])(0.0, table.p[0])).ravel()
    first = complete_start(system, {**given, f"{base}.x": 0.0, f"{base}.y": 0.0}, parameters=values)
    off = r - found(first.q, first.v)[0]
    return {**given, f"{base}.x": float(off[0]), f"{base}.y": float(off[1])}, sign
