"""Predictive control: the plan of the next seconds, improved by one step at each sample.

At a sample the motion of the last plan, moved on in time, is x_0 … x_N with inputs c_0 … c_{N−1},
each held for h. About it the motions satisfy

    (1)  x_{k+1} + δx_{k+1} = F(x_k, c_k) + A_k δx_k + B_k δc_k,     δx_0 = x_seen − x_0

with F by the classical Runge–Kutta method, and A and B its exact derivatives, so that

    (2)  δx_k = g_k + G_k δc

The least of

    (3)  Σ_k |x_k + δx_k − x_r(t_k)|²_Q + |c_k + δc_k − c_r(t_k)|²_R + PENALTY·(s₁ + s₂) + s²

within the limits is a quadratic program in δc and s, small and dense. Limits of inputs are kept;
those of states and expressions up to s₁ ≥ 0 times their size, and the distance from obstacles up to
s₂ ≥ 0. With p_i(x) the corners of an outline, o_j those of a piece of an obstacle, and n the
direction in which it is nearest to the outline in the motion about which all is linear,

    (4)  n · (p_i + ∂p_i/∂x δx_k) ≥ max_j n · o_j + radii + clearance − s₂

Head-on, (4) would stop it. So where the reference of a base on the floor runs into obstacles, it is
taken round them first: displaced across its direction to the side where less is enough, in ramps of
RAMP times the displacement; of what remains (3) takes care.

One such step a sample is the real-time iteration of M. Diehl, H. G. Bock and J. P. Schlöder, *A
real-time iteration scheme for nonlinear optimization in optimal feedback control*, SIAM J. Control
Optim. 43 (2005).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, nearest
from noslip.control import (
    AbstractAskedController,
    AbstractControllerPlan,
    AbstractMotion,
    Reference,
    reference_along,
)
from noslip.engines import System, compile_rows, trace_program
from noslip.planning.obstacles import AbstractObstacle, Surroundings, read_footprint
from noslip.planning.problem import PlanError, read_limits, read_setting
from noslip.planning.search import vehicle_of
from noslip.planning.transcription import MotionStates, motion_states, reduced

#: Runge–Kutta steps in each interval.
SUBSTEPS = 2
#: Weight of what soft limits are exceeded by; of the square of that.
PENALTY, SQUARED = 1e3, 1e2
#: Weights of prescribed coordinates, of independent speeds, and of the end of the horizon.
COORDINATE, SPEED, LAST = 1.0, 0.02, 10.0
#: Pieces of obstacles that an outline looks at in each interval.
NEAR = 3
#: Length of a ramp over the displacement; displacements that are tried.
RAMP, DISPLACEMENTS = 4.0, 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictive(AbstractControllerPlan):
    """Predictive control of a motion: the best inputs of the next seconds, anew at each sample.

    It knows limits and obstacles ahead, which the reference need not keep: it leaves the reference
    for them. ``ControlLoop(controller=Predictive(…), period=0.02)``.
    """

    is_sampled = True

    horizon: float = 2.0  #: time that it looks ahead, s
    steps: int = 20  #: intervals of constant inputs on the horizon
    #: weight of the squared error of a coordinate or speed, in its unit, by name; by default 1 of
    #: what the motion prescribes, and 0.02 of independent speeds
    weights: Mapping[str, float] = field(default_factory=dict)
    #: weight of the squared deviation of inputs from those of the reference, over their limits
    effort: float = 1e-3
    #: name → bound: a number for ±, or (low, high), of inputs, rates of given speeds, states and
    #: expressions of the motion, as of :func:`plan`
    limits: Mapping[str, Any] = field(default_factory=dict)
    #: discs, polygons, grids and maps of :mod:`noslip.obstacles`; those that move are known ahead
    obstacles: Sequence[AbstractObstacle] = ()
    footprint: Mapping[str, Any] | None = None  #: outlines of bodies, as of :func:`plan`
    clearance: float = 0.0  #: smallest distance to obstacles, m
    #: s; a step that takes longer comes too late: the last plan goes on for one period
    time_limit: float = math.inf

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> PredictiveAlong:
        """The controller of a motion."""
        where = f"predictive control of model '{system.model.name}'"
        read_setting(self.horizon, "the horizon, in s,", where, 1e-6)
        read_setting(self.effort, "the weight effort", where, 0.0)
        read_setting(self.clearance, "the clearance, in m,", where, 0.0)
        if not isinstance(self.steps, int) or not 1 <= self.steps <= 200:
            raise PlanError(f"steps is {self.steps!r:.40}", where, "give a whole number to 200")
        values = system.parameters(parameters)
        times = np.linspace(
            0.0, duration, max(2, math.ceil(4 * duration * self.steps / self.horizon))
        )
        return PredictiveAlong(
            settings=self,
            parameters=values,
            times=times,
            prescribed=tuple(system.coordinates[k].name for k in motion.trace(system).at),
            motion=motion,
            start=reference_start,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictiveAlong(AbstractAskedController):
    """Predictive control along a motion that is known from its start to its end."""

    settings: Predictive
    parameters: Array
    times: Array
    prescribed: tuple[str, ...]  #: names of coordinates that the motion prescribes
    motion: AbstractMotion
    start: Array  #: reference configuration at the first of the times
    #: speed inputs as they are, where a run goes on in other independent speeds
    kept: dict[str, Array] = field(default_factory=dict)

    steers = True
    signals = (("predictive.time", "s"), ("predictive.excess", "1"), ("predictive.late", "1"))

    def shown(self, system: System, reference: Reference) -> ca.SX:
        """Coordinates and independent speeds."""
        return ca.vertcat(system.kinematics.symbols.q, system.kinematics.eta)

    def ask(self, system: System) -> Callable[[float, float, Array], Array]:
        """One step of the program a sample."""
        return _Horizon(self, system).answer


class _Horizon:
    """The plan of the next seconds of one run."""

    def __init__(self, law: PredictiveAlong, system: System) -> None:
        asked = law.settings
        self.law, self.system, self.asked = law, system, asked
        where = f"predictive control of model '{system.model.name}'"
        self.parameters = law.parameters
        self.N, self.h = asked.steps, asked.horizon / asked.steps
        num_w = len(system.model.speed_inputs)
        self.nu, self.nw = len(system.model.inputs), num_w
        controls = [*(i.name for i in system.model.inputs)]
        controls += [f"{i.name}_rate" for i in system.model.speed_inputs]
        state_limits, control_limits, rows = read_limits(
            system, dict(asked.limits), controls, where
        )
        around = None
        if asked.obstacles:
            outlines = read_footprint(system, asked.footprint, law.parameters, state_limits)
            around = Surroundings(system, outlines, list(asked.obstacles), law.parameters)
        self.around = around
        states = motion_states(system)
        weights = self._weights(states, where)
        corners = [] if around is None else [ca.vec(o.traced) for o in around.outlines]
        names = set(weights) | set(state_limits)
        needed = ca.vertcat(ca.SX(0, 1), *corners, *(row.value for row in rows))
        self.states, self.symbols = states, reduced(system, states.traced(needed), names)
        s = self.symbols
        self.nx, self.nc = len(s.names), len(s.controls)
        self.Q = np.array([weights.get(name, 0.0) for name in s.names])
        limit = np.array([control_limits.get(n, (-np.inf, np.inf)) for n in s.controls])
        self.control_limits = limit.reshape(self.nc, 2)
        size = np.max(np.where(np.isfinite(self.control_limits), np.abs(self.control_limits), 0), 1)
        self.scale = np.where(size > 0, size, 1.0)
        bounds = np.array([state_limits.get(n, (-np.inf, np.inf)) for n in s.names])
        self.state_limits = bounds.reshape(self.nx, 2)
        # at the end of every interval, and at its start where they look at inputs
        forced = [row for row in rows if ca.depends_on(row.value, s.c)]
        self.num_forced, self.rows = len(forced), [*forced, *rows]
        self.step = self._traced_step()
        # in the speeds of this system, whichever those are
        self.reference = reference_along(system, law.motion, law.start, law.times, law.parameters)
        self.course = self.reference
        if around is not None:
            self.course = self._round_obstacles(around)
        self.outlines = [
            self._traced_outline(ca.vec(o.traced)) for o in (around.outlines if around else ())
        ]
        self.angles = np.array([name in states.angles for name in s.names])
        self.x: Array | None = None
        self.c = np.zeros((self.N, self.nc))
        self.w = law.kept.get("w", self.reference[2][0])
        self.began, self.excess = 0.0, 0.0
        self.solver: Any = None

    def _weights(self, states: MotionStates, where: str) -> dict[str, float]:
        """Weights of states by name."""
        speeds = [s.name for s in self.system.independent_speeds]
        found = dict.fromkeys(self.law.prescribed, COORDINATE) | dict.fromkeys(speeds, SPEED)
        for name, weight in self.asked.weights.items():
            if name not in states.names:
                raise PlanError(
                    f"there is no '{name}' to weight", where, nearest(name, list(states.names))
                )
            found[name] = read_setting(weight, f"the weight of '{name}'", where, 0.0)
        return {name: weight for name, weight in found.items() if name in states.names}

    def _compiled(self, name: str, given: ca.SX, values: ca.SX, more: ca.SX) -> Any:
        """Values and their Jacobian in what is given, of tables of rows."""
        jacobian = ca.jacobian(values, given)
        rows, columns = (np.array(x, dtype=int) for x in jacobian.sparsity().get_triplet())
        entries: Any = jacobian.nonzeros()
        none = ca.SX(0, 1)
        both = ca.densify(ca.vertcat(values, *entries))
        code = compile_rows(trace_program(name, [none, given, none, more], both), None)
        count = values.shape[0]

        def evaluated(z: Array, data: Array) -> tuple[Array, Array]:
            found = code.map(np.zeros(len(z)), z, np.zeros((len(z), 0)), data)
            J = np.zeros((len(z), count, z.shape[1]))
            J[:, rows, columns] = found[:, count:]
            return found[:, :count], J

        return evaluated

    def _traced_step(self) -> Any:
        """F of (1), and the rows that are limited, of [x; c]."""
        s, h = self.symbols, ca.SX.sym("h")
        f = ca.Function("f", [s.x, s.c, s.parameters], [s.rates])
        x, dt = s.x, h / SUBSTEPS
        for _ in range(SUBSTEPS):
            k1 = f(x, s.c, s.parameters)
            k2 = f(x + dt / 2 * k1, s.c, s.parameters)
            k3 = f(x + dt / 2 * k2, s.c, s.parameters)
            k4 = f(x + dt * k3, s.c, s.parameters)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        own = [self.states.traced(ca.SX(row.value)) for row in self.rows]
        begin, end = own[: self.num_forced], ca.vertcat(ca.SX(0, 1), *own[self.num_forced :])
        values = ca.densify(ca.vertcat(x, *begin, ca.substitute([end], [s.x], [x])[0]))
        return self._compiled("horizon", ca.vertcat(s.x, s.c), values, ca.vertcat(s.parameters, h))

    def _traced_outline(self, corners: ca.SX) -> Any:
        """Corners of an outline, of x."""
        s = self.symbols
        return self._compiled("outline", s.x, ca.densify(self.states.traced(corners)), s.parameters)

    def _round_obstacles(self, around: Surroundings) -> tuple[Array, Array, Array, Array, Array]:
        """The reference, displaced to the left or right where it runs into obstacles."""
        q, eta, *more = self.reference
        vehicle = vehicle_of(self.system, ca.vertcat(*[ca.vec(o.traced) for o in around.outlines]))
        if vehicle is None:
            return self.reference
        i, j, angle = vehicle.base
        t, arc = self.law.times, np.hypot(np.gradient(q[:, i]), np.gradient(q[:, j]))
        s = np.cumsum(arc)
        moving = arc > 1e-9
        tangent = np.arctan2(np.gradient(q[:, j]), np.gradient(q[:, i]))
        last = np.maximum.accumulate(np.where(moving, np.arange(len(t)), 0))
        first = int(np.argmax(moving))
        tangent = np.where(moving, tangent, tangent[np.maximum(last, first)])
        across = np.column_stack([-np.sin(tangent), np.cos(tangent)])
        offsets = around.offsets(t)[0] if around.displacements else np.zeros((0, len(t), 2))

        def is_clear(d: float) -> NDArray[np.bool_]:
            x = np.column_stack([q, eta, np.zeros((len(t), len(self.system.auxiliary_states)))])
            x[:, [i, j]] += d * across
            free = np.ones(len(t), bool)
            for group in range(-1, len(around.displacements)):
                members = np.flatnonzero(around.groups == group)
                if len(members):
                    offset = offsets[group] if group >= 0 else None
                    for _, distance, _ in around.near(x, 1, members, offset):
                        free &= distance[:, 0] >= self.asked.clearance
            return free

        blocked = ~is_clear(0.0)
        if not blocked.any():
            return self.reference
        most = float(np.max(np.ptp(around.corners, axis=1)) + 2 * np.max(around.radii, initial=0.0))
        most += 2 * max(float(np.max(np.abs(o.corners))) + o.radius for o in around.outlines)
        tried = np.linspace(0.0, most, DISPLACEMENTS + 1)[1:] + 2 * self.asked.clearance
        need = np.full((2, len(t)), np.inf)
        for d in tried[::-1]:
            for side in (0, 1):
                need[side, is_clear(d if side == 0 else -d)] = d
        shift = np.zeros(len(t))
        edges = np.flatnonzero(np.diff(np.concatenate([[0], blocked, [0]])))
        for a, b in edges.reshape(-1, 2):
            least = np.max(need[:, a:b], axis=1)
            side = int(np.argmin(least))
            d = float(least[side])
            if not np.isfinite(d):
                continue
            # ramps end with the reference
            up, down = (max(min(RAMP * d, x), 1e-9) for x in (s[a] - s[0], s[-1] - s[b - 1]))
            outside = np.maximum((s[a] - s) / up, (s - s[b - 1]) / down)
            part = np.clip(1.0 - outside, 0.0, 1.0)
            own = d * part**2 * (3 - 2 * part) * (1 if side == 0 else -1)
            shift = np.where(np.abs(own) > np.abs(shift), own, shift)
        q = q.copy()
        q[:, [i, j]] += shift[:, None] * across
        slope = np.gradient(shift) / np.maximum(arc, 1e-9)
        q[:, angle] += np.where(moving, np.arctan(np.clip(slope, -2.0, 2.0)), 0.0)
        return (q, eta, *more)  # type: ignore[return-value]

    def _reference(self, t: Array) -> tuple[Array, Array]:
        """x and c of the reference at times; after its end those at the end."""
        q, eta, w, u, wdot = self.course
        grid = self.law.times
        place = np.clip((t - grid[0]) / (grid[1] - grid[0]), 0.0, len(grid) - 1.0)
        k = np.minimum(place.astype(int), len(grid) - 2)
        part = (place - k)[:, None]

        def at(table: Array) -> Array:
            return (1 - part) * table[k] + part * table[k + 1]

        auxiliary = np.zeros((len(t), len(self.system.auxiliary_states)))
        own = np.column_stack([at(q), at(eta), auxiliary, at(w), t])
        x = self.states.from_system(own)[:, list(self.symbols.at)]
        return x, np.column_stack([at(u), at(wdot)])

    def _seen(self, t: float, shown: Array) -> Array:
        """x of what is seen; angles near those of the plan."""
        auxiliary = np.zeros(len(self.system.auxiliary_states))
        own = np.concatenate([shown, auxiliary, self.w, [t]])
        return self.states.from_system(own[None])[0, list(self.symbols.at)]

    def answer(self, t: float, period: float, shown: Array) -> Array:
        """Inputs, speed inputs at the next sample, and signals."""
        before = time.perf_counter()
        if t <= self.law.times[0]:
            self.w = self.reference[2][0]
        seen = self._seen(t, shown)
        times: Array = t + self.h * np.arange(self.N + 1, dtype=float)
        wanted, wished = self._reference(times)
        if self.x is None:
            self.x, self.c = wanted.copy(), wished[:-1].copy()
        else:
            self._move_on(t, wanted, wished)
        assert self.x is not None
        # whole turns that the plan has made, or the estimate has not
        turns = np.where(self.angles, 2 * math.pi, 0.0)
        turned = np.divide(self.x[0] - seen, turns, out=np.zeros(self.nx), where=self.angles)
        seen = seen + turns * np.round(turned)
        old = self.c[0].copy()
        excess = self._improve(times, seen, wanted, wished)
        self.began = t
        took = time.perf_counter() - before
        late = took > self.asked.time_limit or not math.isfinite(excess)
        self.excess = excess if math.isfinite(excess) else self.excess
        c = old if late else self.c[0]
        low, high = self.control_limits.T
        c = np.clip(c, low, high)
        self.w = self.law.kept["w"] = self.w + period * c[self.nu :]
        return np.concatenate([c[: self.nu], self.w, [took, self.excess, float(late)]])

    def _move_on(self, t: float, wanted: Array, wished: Array) -> None:
        """The last plan from a time on, and the reference beyond its end."""
        assert self.x is not None
        place = (t - self.began) / self.h + np.arange(self.N + 1)
        k = np.minimum(place.astype(int), self.N - 1)
        part = np.minimum(place - k, 1.0)[:, None]
        beyond = place > self.N
        self.x = (1 - part) * self.x[k] + part * self.x[k + 1]
        self.c = self.c[k[:-1]]
        self.x[beyond] = wanted[beyond]
        self.c[beyond[1:]] = wished[:-1][beyond[1:]]

    def _improve(self, times: Array, seen: Array, wanted: Array, wished: Array) -> float:
        """One step of the program; by how much soft limits are exceeded, infinite if it fails."""
        assert self.x is not None
        N, nx, nc, x, c = self.N, self.nx, self.nc, self.x, self.c
        data = np.append(self.parameters, self.h)
        values, J = self.step(np.column_stack([x[:-1], c]), data)
        gaps = values[:, :nx] - x[1:]
        A, B = J[:, :nx, :nx], J[:, :nx, nx:] * self.scale
        # (2)
        g, G = np.empty((N + 1, nx)), np.zeros((N + 1, nx, N * nc))
        g[0] = seen - x[0]
        for k in range(N):
            g[k + 1] = A[k] @ g[k] + gaps[k]
            G[k + 1] = A[k] @ G[k]
            G[k + 1, :, k * nc : (k + 1) * nc] += B[k]
        # (3)
        Q = np.tile(self.Q, (N + 1, 1))
        Q[-1] *= LAST
        R = self.asked.effort
        weighted = (Q[:, :, None] * G).reshape(-1, N * nc)
        flat = G.reshape(-1, N * nc)
        num = N * nc + 2
        H = np.zeros((num, num))
        H[:-2, :-2] = flat.T @ weighted + (R + 1e-9) * np.eye(N * nc)
        H[-2:, -2:] = SQUARED * np.eye(2)
        gradient = np.full(num, PENALTY)
        gradient[:-2] = weighted.T @ (x + g - wanted).ravel()
        gradient[:-2] += R * ((c - wished[:-1]) / self.scale).ravel()
        rows, most = self._rows(times, values[:, nx:], J[:, nx:], g, G)
        low = np.append(((self.control_limits[:, 0] - c) / self.scale).ravel(), [0.0, 0.0])
        high = np.append(((self.control_limits[:, 1] - c) / self.scale).ravel(), [np.inf, np.inf])
        if self.solver is None:
            shapes = {"h": ca.Sparsity.dense(num, num), "a": ca.Sparsity.dense(*rows.shape)}
            self.solver = ca.conic("horizon", "daqp", shapes, {"error_on_fail": False})
        found = self.solver(
            h=H, g=gradient, a=rows, lba=-np.inf, uba=most, lbx=low, ubx=np.maximum(low, high)
        )
        delta = np.array(found["x"]).ravel()
        if not self.solver.stats()["success"] or not np.isfinite(delta).all():
            return math.inf
        self.x = x + g + G @ delta[:-2]
        self.c = c + delta[:-2].reshape(N, nc) * self.scale
        return float(np.max(delta[-2:]))

    def _rows(
        self, times: Array, values: Array, J: Array, g: Array, G: Array
    ) -> tuple[Array, Array]:
        """Rows of the program and their upper bounds."""
        assert self.x is not None
        N, nx, nc, x = self.N, self.nx, self.nc, self.x
        rows: list[Array] = []
        most: list[Array] = []

        def add(row: Array, bound: Array, soft: int) -> None:
            slack = np.zeros((len(row), 2))
            slack[:, soft] = -1.0
            rows.append(np.concatenate([row, slack], axis=1))
            most.append(bound)

        for i, (low, high) in enumerate(self.state_limits):
            size = max((abs(v) for v in (low, high) if np.isfinite(v)), default=1.0) or 1.0
            for sign, bound in ((1.0, high), (-1.0, -low)):
                if np.isfinite(bound):
                    add(sign * G[1:, i] / size, (bound - sign * (x[1:, i] + g[1:, i])) / size, 0)
        for j, row in enumerate(self.rows):
            own = np.einsum("ki,kij->kj", J[:, j, :nx], G[:-1])
            for k in range(N):
                own[k, k * nc : (k + 1) * nc] += J[k, j, nx:] * self.scale
            now = values[:, j] + np.einsum("ki,ki->k", J[:, j, :nx], g[:-1])
            low, high = row.bounds
            size = max((abs(v) for v in (low, high) if np.isfinite(v)), default=1.0) or 1.0
            for sign, bound in ((1.0, high), (-1.0, -low)):
                if np.isfinite(bound):
                    add(sign * own / size, (bound - sign * now) / size, 0)
        if self.around is not None:
            self._obstacle_rows(self.around, times, g, G, add)
        if not rows:
            return np.zeros((1, N * nc + 2)), np.ones(1)
        return np.concatenate(rows), np.concatenate(most)

    def _obstacle_rows(
        self, around: Surroundings, times: Array, g: Array, G: Array, add: Callable[..., None]
    ) -> None:
        """(4)."""
        assert self.x is not None
        x = self.x[1:]
        offsets = around.offsets(times[1:])[0] if around.displacements else None
        for outline, corners in zip(around.outlines, self.outlines, strict=True):
            flat, J = corners(x, self.parameters)
            p = flat.reshape(len(x), -1, 2)
            Jp = J.reshape(len(x), -1, 2, self.nx)
            for group in range(-1, len(around.displacements)):
                members = np.flatnonzero(around.groups == group)
                if not len(members):
                    continue
                offset = (
                    offsets[group] if group >= 0 and offsets is not None else np.zeros((len(x), 2))
                )
                slots = min(NEAR, len(members))
                here = p - offset[:, None]
                pieces, _, normal = around.nearest(outline, here, slots, members)
                for j in range(slots):
                    n = normal[:, j]
                    there = around.corners[pieces[:, j]]
                    reach = np.max(np.einsum("kd,kod->ko", n, there), axis=1)
                    reach += around.radii[pieces[:, j]] + outline.radius + self.asked.clearance
                    now = np.einsum("kd,kid->ki", n, here)
                    slope = np.einsum("kd,kidx->kix", n, Jp)
                    moved = np.einsum("kix,kx->ki", slope, g[1:])
                    row = -np.einsum("kix,kxj->kij", slope, G[1:])
                    bound = now + moved - reach[:, None]
                    add(row.reshape(-1, row.shape[2]), bound.ravel(), 1)
