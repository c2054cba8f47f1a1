"""Collocation of a system's motion in few coordinates, as a program of native blocks.

A motion is a row of phases of unknown durations T, each of intervals of fixed fractions Δ of it, in
each of which the forces and the rates of given speeds are constant. At the points τ_j of the Radau
IIA rule of d stages an interval of states x_0 … x_d satisfies

    (1)  Σ_r C_rj x_r = Δ T f(x_j, c)      cost  Σ_j b_j Δ T L(x_j, c)

The last point is the end of the interval, so that nothing else joins it to the next one. Of the
coordinates only those are states that the task looks at or that the rates depend on: the angle by
which a wheel has rolled is none. Orientations are states as three angles: the unit length of a
quaternion would be one row too many at the goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import (
    angle_rate_map,
    intrinsic_angles,
    quaternion_from_angles,
    traced_angles,
)
from noslip.base import Array
from noslip.engines import System
from noslip.planning.nonlinear_program import BlockCode, BlockPlaces, Indices, NonlinearProgram

#: Stages of the Radau rule.
DEGREE = 3
#: State that is the time, where something depends on it.
TIME = "t"


def radau(degree: int) -> tuple[Array, Array, Array]:
    """Points τ (d + 1,), 0 among them, C (d + 1, d + 1) of (1) and weights b (d,)."""
    tau = np.append(0.0, ca.collocation_points(degree, "radau"))
    C = np.zeros((degree + 1, degree + 1))
    for r in range(degree + 1):
        others = np.delete(tau, r)
        basis = np.poly1d(np.poly(others) / np.prod(tau[r] - others))
        C[r] = np.polyder(basis)(tau)
    inner = tau[1:]
    powers = np.vander(inner, increasing=True).T
    weights = np.linalg.solve(powers, 1 / np.arange(1, degree + 1))
    return tau.astype(float), C, weights.astype(float)


class TurnAngles(NamedTuple):
    """An orientation in angles: places of its quaternion and of its first angle."""

    quaternion: int
    angle: int
    sequence: str


@dataclass(frozen=True, eq=False)
class MotionStates:
    """All states [q; η; z; w; t] of a motion, quaternions as angles."""

    names: tuple[str, ...]  #: names of the states
    #: x, rates: (n,) their symbols, and ẋ in them
    x: ca.SX
    rates: ca.SX
    orientations: tuple[TurnAngles, ...]  #: orientations that are written in angles
    #: (place among the system's own [q; η; z; w; t], place in x) of everything else
    plain: tuple[Indices, Indices]
    unnamed: frozenset[str]  #: angles to which the model gives no names
    _given: ca.SX
    _values: ca.SX

    @property
    def angles(self) -> frozenset[str]:
        """Names of the angles that stand for quaternions: they may differ by whole turns."""
        return frozenset(self.names[o.angle + k] for o in self.orientations for k in range(3))

    def traced(self, expression: ca.SX) -> ca.SX:
        """An expression of the system's own states in these."""
        if not self.orientations:
            return expression
        return ca.substitute([expression], [self._given], [self._values])[0]

    def of_system(self, own: ca.SX) -> ca.SX:
        """These states, traced, of the system's own ones."""
        found = [ca.SX(0)] * len(self.names)
        for a, b in zip(*self.plain, strict=True):
            found[int(b)] = own[int(a)]
        for o in self.orientations:
            quaternion = own[o.quaternion : o.quaternion + 4]
            found[o.angle : o.angle + 3] = ca.vertsplit(traced_angles(quaternion, o.sequence))
        return ca.vertcat(*found)

    def from_system(self, own: Array) -> Array:
        """(k, n) these states of the system's own ones; angles do not jump from row to row."""
        found = np.zeros((len(own), len(self.names)))
        found[:, self.plain[1]] = own[:, self.plain[0]]
        for o in self.orientations:
            quaternion = [own[:, o.quaternion + k] for k in range(4)]
            angles = intrinsic_angles(quaternion, o.sequence, np.arctan2, np.hypot)
            found[:, o.angle : o.angle + 3] = np.unwrap(np.stack(angles, axis=1), axis=0)
        return found

    def to_system(self, x: Array) -> Array:
        """(k, n′) the system's own states."""
        found = np.zeros((len(x), len(self.plain[0]) + 4 * len(self.orientations)))
        found[:, self.plain[0]] = x[:, self.plain[1]]
        for o in self.orientations:
            angles = [x[:, o.angle + k] for k in range(3)]
            quaternion = quaternion_from_angles(angles, o.sequence, np.cos, np.sin)
            found[:, o.quaternion : o.quaternion + 4] = np.stack(quaternion, axis=1)
        return found


def motion_states(system: System) -> MotionStates:
    """The states of a system's motion; traced once."""
    return system.cached(("motion states",), lambda: _motion_states(system))


def _motion_states(system: System) -> MotionStates:
    own_names, own, own_rates = all_states(system)
    kin = system.kinematics
    by_place = {}
    for node in kin.tree.nodes:
        start = node.joint.type.quaternion
        if start is not None:
            by_place[node.coordinates.start + start] = node
    if not by_place:
        every = np.arange(len(own_names))
        none: frozenset[str] = frozenset()
        return MotionStates(
            tuple(own_names), own, own_rates, (), (every, every), none, ca.SX(0, 1), ca.SX(0, 1)
        )
    names: list[str] = []
    symbols: list[ca.SX] = []
    rates: list[ca.SX] = []
    orientations: list[TurnAngles] = []
    unnamed: list[str] = []
    given, values = [], []
    first, second = [], []
    k = 0
    while k < len(own_names):
        node_ = by_place.get(k)
        if node_ is None:
            first.append(k)
            second.append(len(names))
            names.append(own_names[k])
            symbols.append(own[k])
            rates.append(own_rates[k])
            k += 1
            continue
        named = node_.joint.type.named_angles()
        sequence = "zyx" if named is None else named.sequence
        words = ("turn1", "turn2", "turn3") if named is None else named.names
        own_words = [f"{node_.joint.name}.{word}" for word in words]
        unnamed += own_words if named is None else []
        angles = ca.SX.sym("angle", 3)
        orientations.append(TurnAngles(k, len(names), sequence))
        omega = system.fold(kin.v)[node_.speeds.start : node_.speeds.start + 3]
        given.append(own[k : k + 4])
        parts = quaternion_from_angles(ca.vertsplit(angles), sequence, ca.cos, ca.sin)
        values.append(ca.vertcat(*parts))
        names += own_words
        symbols += ca.vertsplit(angles)
        rates += ca.vertsplit(ca.mtimes(angle_rate_map(angles, sequence), omega))
        k += 4
    from_, to = ca.vertcat(*given), ca.vertcat(*values)
    turned = ca.substitute([ca.vertcat(*rates)], [from_], [to])[0]
    return MotionStates(
        names=tuple(names),
        x=ca.vertcat(*symbols),
        rates=ca.densify(turned),
        orientations=tuple(orientations),
        plain=(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)),
        unnamed=frozenset(unnamed),
        _given=from_,
        _values=to,
    )


@dataclass(frozen=True, eq=False)
class MotionSymbols:
    """States and controls of a task in the symbols of a system."""

    system: System  #: system that moves
    #: names, controls: names of states x = [q; η; z; w; t], those that matter, and of controls c =
    #: [u; ẇ]
    names: tuple[str, ...]
    controls: tuple[str, ...]
    #: x, c, rates: symbols of both, and ẋ
    x: ca.SX
    c: ca.SX
    rates: ca.SX
    at: tuple[int, ...]  #: (nx,) place of each state among all of them

    @property
    def parameters(self) -> ca.SX:
        """MotionSymbols of the model's parameters."""
        return self.system.kinematics.symbols.params

    def index(self, name: str) -> int:
        """Place of a state by its name."""
        return self.names.index(name)


def all_states(system: System) -> tuple[list[str], ca.SX, ca.SX]:
    """Names of [q; η; z; w; t], their symbols and their rates."""
    eq, num = system.equations, len(system.model.speed_inputs)
    forces = len(system.inputs) - 2 * num
    given = eq.inputs
    names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    names += [q.name for q in system.auxiliary_states]
    names += [i.name for i in system.inputs[forces : forces + num]]
    x = ca.vertcat(eq.state, given[forces : forces + num, :], system.kinematics.symbols.t)
    rates = ca.vertcat(system.fold(eq.state_rates), given[forces + num :, :], 1)
    return [*names, TIME], x, ca.densify(rates)


def reduced(system: System, wanted: ca.SX, names: set[str]) -> MotionSymbols:
    """The states that some expressions and names need, and all that their rates depend on."""
    states = motion_states(system)
    known, x, rates = states.names, states.x, states.rates
    rows, columns = ca.jacobian_sparsity(rates, x).get_triplet()
    first, last = len(system.coordinates) - len(states.orientations), len(known) - 1
    needed = set(range(first, last)) | {known.index(n) for n in names if n in known}
    needed |= set(ca.jacobian_sparsity(ca.densify(wanted), x).get_triplet()[1])
    while True:
        more = {int(c) for r, c in zip(rows, columns, strict=True) if r in needed} - needed
        if not more:
            break
        needed |= more
    at = tuple(sorted(needed))
    num = len(system.model.speed_inputs)
    forces = len(system.inputs) - 2 * num
    own = [*range(forces), *range(forces + num, len(system.inputs))]
    return MotionSymbols(
        system=system,
        names=tuple(known[k] for k in at),
        controls=tuple(system.inputs[k].name for k in own),
        x=x[list(at)],
        c=system.equations.inputs[own],
        rates=rates[list(at)],
        at=at,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PairShape:
    """A body's convex outline against rounded obstacles, as a block."""

    body: str  #: name, for messages
    outline: ca.SX  #: (2, k) traced corners on the floor
    radius: float  #: radius by which it is rounded, m
    displacement: ca.SX | None = None  #: (2,) of the obstacles, traced, where they move


@dataclass(frozen=True, slots=True, eq=False)
class PlanTask:
    """What is transcribed: everything but numbers."""

    symbols: MotionSymbols
    running: ca.SX  #: L of (1), a function of x and c
    path: ca.SX  #: rows at the nodes that look at states alone
    forced: ca.SX  #: rows at both ends of every interval, that look at controls too
    marks: tuple[ca.SX, ...]  #: marks of every phase, rows at its end
    periodic: tuple[str, ...]  #: states that are the same at the end and at the start
    pairs: tuple[PairShape, ...]  #: outlines of bodies, which keep clear of obstacles
    input_scale: Array  #: size of each control
    #: native code of the blocks, made when first needed
    codes: dict[Any, Any] = field(default_factory=dict)

    def code(self, name: str, *parts: Any) -> BlockCode:
        """Native code of a block."""
        if name not in self.codes:
            self.codes[name] = BlockCode(name, *parts)
        found: BlockCode = self.codes[name]
        return found

    def transcribed(
        self, intervals: tuple[int, ...], slots: tuple[int, ...], corners: int
    ) -> Transcription:
        """The program for a number of intervals in each phase, and of obstacles near a node."""
        key = intervals, slots, corners
        if key not in self.codes:
            self.codes[key] = Transcription(self, intervals, slots, corners)
        found: Transcription = self.codes[key]
        return found


@dataclass(eq=False)
class Transcription:
    """A task as a program; places of everything in its variables and rows."""

    task: PlanTask  #: problem that is transcribed
    intervals: tuple[int, ...]  #: intervals of every phase
    slots: tuple[int, ...]  #: slots of each pair, obstacles that it looks at in a node
    corners: int  #: corners of each obstacle; the last is repeated where it has fewer
    program: NonlinearProgram = field(init=False)

    def __post_init__(self) -> None:
        s = self.task.symbols
        self.num_intervals = n = sum(self.intervals)
        self.nx, self.nc, self.num_phases = len(s.names), len(s.controls), len(self.intervals)
        self.phase_of = np.repeat(np.arange(self.num_phases), self.intervals)
        nx, nc, d = self.nx, self.nc, DEGREE
        # X0, then of each interval its controls and its d states, then durations, then lines
        step = nc + d * nx
        first = nx + step * np.arange(n)
        self.nodes = np.vstack([np.arange(nx), (first + step - nx)[:, None] + np.arange(nx)])
        self.controls = first[:, None] + np.arange(nc)
        inner = (first + nc)[:, None, None] + nx * np.arange(d)[:, None] + np.arange(nx)
        self.points = np.concatenate([self.nodes[:-1, None], inner], axis=1)
        at = nx + step * n
        self.durations = at + np.arange(self.num_phases)
        at += self.num_phases
        self.lines: list[Indices] = []
        for count in self.slots:
            self.lines.append(at + np.arange(n * count * 2).reshape(n, count, 2))
            at += n * count * 2
        self.num_variables = at
        self._rows()

    def _rows(self) -> None:
        task, s, n, nx, d = self.task, self.task.symbols, self.num_intervals, self.nx, DEGREE
        self.tau, self.slopes, self.weights = radau(d)
        C = self.slopes
        places, count = [], 0
        self.row_names: list[tuple[int, int, Callable[[int], str]]] = []

        def rows(shape: tuple[int, ...], name: Callable[[int], str]) -> Indices:
            nonlocal count
            size = int(np.prod(shape))
            found = count + np.arange(size).reshape(shape)
            self.row_names.append((count, count + size, name))
            count += size
            return found

        # (1)
        T, fraction, weight = ca.SX.sym("T"), ca.SX.sym("fraction"), ca.SX.sym("weight")
        z = ca.vertcat(s.x, s.c, T)
        data = ca.vertcat(s.parameters, fraction, weight)
        h = T * fraction
        code = task.code("motion", z, data, -h * s.rates, weight * h * task.running)
        shape = (n, d, nx)
        names = s.names
        self.motion_rows = rows(shape, lambda k: f"rate of {names[k % len(names)]}")
        where = np.concatenate(
            [
                self.points[:, 1:],
                np.repeat(self.controls[:, None], d, axis=1),
                np.broadcast_to(self.durations[self.phase_of][:, None, None], (n, d, 1)),
            ],
            axis=2,
        ).reshape(n * d, -1)
        self.motion = BlockPlaces(
            code, where, self.motion_rows.reshape(n * d, nx), np.zeros((n * d, data.shape[0]))
        )
        places.append(self.motion)
        linear_rows, linear_columns, linear_values = [], [], []
        for j in range(1, d + 1):
            for r in range(d + 1):
                linear_rows.append(self.motion_rows[:, j - 1].ravel())
                linear_columns.append(self.points[:, r].ravel())
                linear_values.append(np.full(n * nx, C[r, j]))
        # states alone, at every node; with controls, at both ends
        self.path = self.forced = None
        params = np.zeros((1, s.parameters.shape[0]))
        if task.path.shape[0]:
            code = task.code("path", s.x, s.parameters, task.path, ca.SX(0))
            found = rows((n + 1, code.num_rows), lambda k: f"path {k % task.path.shape[0]}")
            data_ = np.repeat(params, n + 1, axis=0)
            self.path = BlockPlaces(code, self.nodes, found, data_)
            places.append(self.path)
        if task.forced.shape[0]:
            z = ca.vertcat(s.x, s.c)
            code = task.code("forced", z, s.parameters, task.forced, ca.SX(0))
            num = d + 1
            found = rows((n * num, code.num_rows), lambda k: f"forced {k % task.forced.shape[0]}")
            both = np.concatenate(
                [self.points, np.repeat(self.controls[:, None], num, axis=1)], axis=2
            )
            data_ = np.repeat(params, n * num, axis=0)
            self.forced = BlockPlaces(code, both.reshape(n * num, -1), found, data_)
            places.append(self.forced)
        self.marks: list[BlockPlaces | None] = []
        ends = np.cumsum(self.intervals)
        for k, mark in enumerate(task.marks):
            if not mark.shape[0]:
                self.marks.append(None)
                continue
            code = task.code(f"mark{k}", s.x, s.parameters, mark, ca.SX(0))
            found = rows((1, code.num_rows), lambda j, k=k: f"mark {k} {j}")  # type: ignore[misc]
            block = BlockPlaces(code, self.nodes[[ends[k]]], found, params.copy())
            self.marks.append(block)
            places.append(block)
        self.periodic_rows = rows((len(task.periodic),), lambda k: f"period {task.periodic[k]}")
        for row, name in zip(self.periodic_rows, task.periodic, strict=True):
            i = s.index(name)
            linear_rows.append(np.array([row, row]))
            linear_columns.append(np.array([self.nodes[-1, i], self.nodes[0, i]]))
            linear_values.append(np.array([1.0, -1.0]))
        self.duration_row = int(rows((1,), lambda k: "duration")[0])
        linear_rows.append(np.full(self.num_phases, self.duration_row))
        linear_columns.append(self.durations)
        linear_values.append(np.ones(self.num_phases))
        self.pairs = [
            self._pair(pair, lines, rows)
            for pair, lines in zip(task.pairs, self.lines, strict=True)
        ]
        places += [block for pair_ in self.pairs for block in pair_]
        self.num_rows = count
        scale = np.ones(self.num_variables)
        scale[self.controls] = task.input_scale
        self.program = NonlinearProgram(
            self.num_variables,
            count,
            places,
            (
                np.concatenate(linear_rows),
                np.concatenate(linear_columns),
                np.concatenate(linear_values),
            ),
            scale,
            np.ones(count),
        )

    def _pair(
        self, pair: PairShape, lines: Indices, rows: Callable[..., Indices]
    ) -> tuple[BlockPlaces, BlockPlaces]:
        """A line between body and obstacle in each interval: at an angle φ, and b along its normal.

        n·p ≥ b + r + margin/2 of the body's corners at both ends of the interval, so that it holds
        on the chords between them, and n·o ≤ b − ρ − margin/2 of the obstacle's.
        """
        s, number = self.task.symbols, self.task.pairs.index(pair)
        line, corners = ca.SX.sym("line", 2), ca.SX.sym("corner", 2, self.corners)
        radius, margin = ca.SX.sym("radius"), ca.SX.sym("margin")
        normal = ca.vertcat(ca.cos(line[0]), ca.sin(line[0]))
        own = ca.mtimes(normal.T, pair.outline).T - line[1] - pair.radius - margin / 2
        there = corners
        if pair.displacement is not None:
            there = corners + ca.repmat(pair.displacement, 1, self.corners)
        other = line[1] - ca.mtimes(normal.T, there).T - radius - margin / 2
        found = []
        for word, value, more in (
            ("body", own, [margin]),
            ("obstacle", other, [ca.vec(corners), radius, margin]),
        ):
            value = ca.densify(value)
            used = sorted(set(ca.jacobian_sparsity(value, s.x).get_triplet()[1]))
            data = ca.vertcat(s.parameters, *more)
            name = f"{word}_{number}_{self.corners}"
            code = self.task.code(name, ca.vertcat(s.x[used], line), data, value, ca.SX(0))
            points = self.points[:, [0, DEGREE] if used else [0]][:, :, used]
            n, k, slots = points.shape[0], points.shape[1], lines.shape[1]
            where = np.concatenate(
                [
                    np.broadcast_to(points[:, None], (n, slots, k, len(used))),
                    np.broadcast_to(lines[:, :, None], (n, slots, k, 2)),
                ],
                axis=3,
            ).reshape(n * slots * k, -1)
            places = rows((len(where), code.num_rows), lambda _: f"clearance of {pair.body}")
            found.append(BlockPlaces(code, where, places, np.zeros((len(where), data.shape[0]))))
        return found[0], found[1]

    def set_numbers(self, parameters: Array, fractions: Array) -> None:
        """Give the model's parameters and the fractions of the intervals."""
        size = len(parameters)
        for block in self.program.places:
            block.data[:, :size] = parameters
        self.motion.data[:, size] = np.repeat(fractions, DEGREE)
        self.motion.data[:, size + 1] = np.tile(self.weights, self.num_intervals)
        self.fractions = fractions

    def set_pieces(self, pair: int, corners: Array, radii: Array, margin: float) -> None:
        """Give a pair its obstacles, (n, slots, corners, 2) and (n, slots)."""
        own, other = self.pairs[pair]
        own.data[:, -1] = other.data[:, -1] = margin
        size = self.task.symbols.parameters.shape[0]
        flat = corners.reshape(radii.size, -1)
        times = len(other.data) // len(flat)
        other.data[:, size : size + 2 * self.corners] = np.repeat(flat, times, axis=0)
        other.data[:, -2] = np.repeat(radii.ravel(), times)

    def set_margin(self, margin: float) -> None:
        """Give the clearance alone."""
        for block in (block for pair in self.pairs for block in pair):
            block.data[:, -1] = margin

    def first_guess(self, states: Array, controls: Array, durations: Array) -> Array:
        """Variables from states at the nodes, controls of the intervals and durations."""
        w = np.zeros(self.num_variables)
        w[self.nodes] = states
        steps = np.diff(states, axis=0)[:, None]
        w[self.points[:, 1:]] = states[:-1, None] + self.tau[None, 1:, None] * steps
        w[self.controls] = controls
        w[self.durations] = durations
        return w

    def name_of(self, row: int) -> tuple[str, int]:
        """What a row is, and its number among those."""
        for first, last, name in self.row_names:
            if first <= row < last:
                return name(row - first), row - first
        raise IndexError(row)
