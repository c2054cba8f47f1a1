"""The way round, found first: a search over a vehicle's own kinematics.

What a vehicle can do at walking pace follows from its model: of q̇ = N S η the speeds that move the
base drive it, a coordinate that follows one speed alone and turns the drive's motion is a steering,
and what the drive moves beside the base are hinges. From the end that has less room poses are
expanded by short drives at constant steering, many at a time, over cells of place and heading
(hybrid A*), until the shortest path of a vehicle with its least radius leads to the other end.
Lower bounds are the way of a disc that fits into the base's outline, and that shortest path.

Where the disc has no way within a closed region, there is none at all: a certificate.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.control import shortest_words
from noslip.engines import System, compile_expression
from noslip.planning.obstacles import Surroundings
from noslip.planning.problem import PlanError, Problem
from noslip.planning.transcription import all_states
from noslip.simulation import complete_start

#: Headings in which a car may arrive at a place, and those that are tried.
ARRIVALS, TRIED = 16, 4
#: Steering angles and largest one where none is limited, rad.
STEERS, STEERED = 5, 0.6
#: Length of a drive, over the base's length; poses checked along it; poses expanded together.
DRIVE, CHECKS, TOGETHER = 0.3, 3, 24
#: Width of a cell over a drive; headings in a turn; cells of a hinge in a turn.
CELL, HEADINGS, HINGES = 0.7, 40, 24
#: Weight of what is still to go: above one the search is quicker, and its way longer.
GREED = 1.5
#: Most cells of the map along a side.
MAP = 512
#: Poses checked on one piece of a shortest path.
MOST_CHECKS = 48
#: Cost of a change of direction over the base's length; of driving sharply, over straight.
CUSP, SHARP = 1.0, 1.05
#: Largest angle of a hinge where none is limited, rad.
FOLDED = 1.3
#: What a hinge may miss where two parts of a way meet, rad, and poses after which it is twice as
#: much; way over the base's length that 1 rad is worth.
HINGE_MISS, PATIENCE, MISSED = 0.4, 1000, 2.0
#: Passages between two obstacles that may be closed for another way.
PASSAGES = 6
#: Places along a way where these are looked for.
PLACES = 64
#: Poses that are expanded at most.
MOST_POSES = 60_000

Poses = Array
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Vehicle:
    """How the base of a model moves at walking pace."""

    system: System
    base: tuple[int, int, int]  #: places of x, y and the angle among the coordinates
    #: coordinates that the drive moves, and that the base or an outline depends on
    hinges: tuple[int, ...]
    steering: int  #: coordinate that turns the drive's motion, or −1, and the name of its speed
    steering_speed: str
    drive: tuple[str, ...]  #: names of the speeds that move the base
    code: Any  #: rates of base and hinges from (q, drive)

    @property
    def moving(self) -> list[int]:
        """Places of base and hinges."""
        return [*self.base, *self.hinges]


def vehicle_of(system: System, outlines: ca.SX) -> Vehicle | None:
    """The vehicle that a model is, or None if it has no base on the floor that drives."""

    def make() -> Vehicle | None:
        names, x, rates = all_states(system)
        nq = len(system.coordinates)
        joint = next(
            (
                n.joint
                for n in system.kinematics.tree.nodes
                if n.parent < 0 and n.joint.type.is_planar
            ),
            None,
        )
        if joint is None:
            return None
        base = tuple(names.index(f"{joint.name}.{part}") for part in ("x", "y", "angle"))
        num_w = len(system.model.speed_inputs)
        first_w = len(names) - 1 - num_w
        speeds = [*range(nq, nq + len(system.independent_speeds)), *range(first_w, first_w + num_w)]
        J = ca.jacobian(rates[:nq], x[speeds])
        moves = np.array(ca.DM(J.sparsity(), 1)).reshape(nq, len(speeds)) > 0
        drive = [k for k in range(len(speeds)) if np.any(moves[list(base), k])]
        if not drive:
            return None
        used = _depends(J[list(base), drive], x[:nq])
        used |= _depends(outlines, x[:nq])
        while True:
            more = _depends(J[sorted(used), drive], x[:nq]) - used if used else set()
            if not more:
                break
            used |= more
        steering, own = -1, ""
        for k in set(range(len(speeds))) - set(drive):
            turned = set(np.flatnonzero(moves[:, k]).tolist())
            if steering >= 0 or not turned & _depends(J[list(base), drive], x[:nq]):
                continue
            alone = [c for c in turned if np.count_nonzero(moves[c]) == 1 and J[c, k].is_constant()]
            if alone:
                steering, own = min(alone), names[speeds[k]]
        hinges = tuple(sorted(c for c in used - set(base) - {steering} if np.any(moves[c][drive])))
        q = x[:nq]
        u = ca.SX.sym("u", len(drive))
        wanted = ca.mtimes(J[[*base, *hinges], drive], u)
        symbols = system.kinematics.symbols
        code = compile_expression("drive", [symbols.t, q, u, symbols.params], wanted)
        places = tuple(names[speeds[k]] for k in drive)
        return Vehicle(system, base, hinges, steering, own, places, code)  # type: ignore[arg-type]

    return system.cached(("plan vehicle", str(outlines.shape), _text(outlines)), make)


def _text(outlines: ca.SX) -> str:
    return str(hash(str(outlines)))


def _depends(expression: ca.SX, x: ca.SX) -> set[int]:
    both = ca.densify(ca.vec(expression))
    return set(ca.jacobian_sparsity(both, x).get_triplet()[1])


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way from the start to the goal."""

    q: Array  #: (n, nq) coordinates along it
    drive: Array  #: (n − 1, m) speeds that lead from one to the next in the time 1
    lengths: Array  #: (n − 1,) of these drives, m
    expanded: int  #: poses that were expanded


class WaySearch:
    """A search for one way: from the start, or from where another way ended, to a mark.

    `clearance`: distance to keep, m.
    """

    def __init__(
        self,
        problem: Problem,
        vehicle: Vehicle,
        around: Surroundings | None,
        clearance: float,
        stops: Callable[[], bool],
        mark: int = -1,
        begin: Array | None = None,
    ) -> None:
        self.problem, self.vehicle, self.around = problem, vehicle, around
        self.stops, self.mark = stops, mark
        self.q0 = np.array(problem.start.q if begin is None else begin)
        self.hinge_miss = HINGE_MISS
        self.target, self.named = self._goal()
        self._steers()
        self._drives()
        self.map = _FloorMap(self, clearance) if around is not None else None

    def _goal(self) -> tuple[Array, list[int]]:
        """Coordinates at the goal, and those that it names."""
        names = [c.name for c in self.vehicle.system.coordinates]
        q, named = self.q0.copy(), []
        for name, (low, high) in self.problem.marks[self.mark].states.items():
            if name in names and np.isfinite(low) and np.isfinite(high):
                k = names.index(name)
                q[k] = (low + high) / 2
                named.append(k)
        return q, named

    @property
    def is_posed(self) -> bool:
        """Whether the goal names place and heading."""
        return set(self.vehicle.base) <= set(self.named)

    def _steers(self) -> None:
        """Coordinates (k, nq) at each steering angle, the middle one straight."""
        v, system = self.vehicle, self.vehicle.system
        if v.steering < 0:
            self.tied, self.steers = [], np.zeros(1)
            self.postures = self.q0[None]
            return
        name = system.coordinates[v.steering].name
        low, high = self.problem.state_limits.get(name, (-STEERED, STEERED))
        most = min(abs(low), abs(high), 1.4)
        self.steers = np.linspace(-most, most, STEERS)
        given = {system.coordinates[k].name: float(self.q0[k]) for k in [*v.base, *v.hinges]}
        zero = np.zeros(len(system.model.speed_inputs))
        more: dict[str, Any] = {"speed_inputs": lambda q: zero} if len(zero) else {}
        found = [
            complete_start(
                system, given | {name: float(angle)}, parameters=self.problem.parameters, **more
            ).q
            for angle in self.steers
        ]
        self.postures = np.array(found)
        moved = np.ptp(self.postures, axis=0) > 1e-9
        self.tied = [int(k) for k in np.flatnonzero(moved) if k not in v.moving]

    def rates(self, q: Array, u: Array) -> Array:
        """(n, 3 + hinges) rates of base and hinges."""
        found: Array = self.vehicle.code.map(np.zeros(len(q)), q, u, self.problem.parameters)
        return found

    def _drives(self) -> None:
        """Drives: steering and speeds (m,) so that each moves the base by one step."""
        v = self.vehicle
        self.size = self._length()
        self.step = DRIVE * self.size
        found: list[tuple[int, Array, float, float]] = []
        m = len(v.drive)
        combinations = [np.array(c) - 1.0 for c in np.ndindex(*(3,) * m) if any(np.array(c) != 1)]
        if m > 3:
            combinations = [sign * row for row in np.eye(m) for sign in (1.0, -1.0)]
        low, high = np.transpose(
            [self.problem.state_limits.get(name, (-np.inf, np.inf)) for name in v.drive]
        )
        combinations = [
            c
            for c in combinations
            if np.all((c >= 0) | (low < 0)) and np.all((c <= 0) | (high > 0))
        ]
        #: Whether a limit keeps it from driving backward.
        self.may_reverse = bool(m != 1 or low[0] < 0)
        for steer in range(len(self.steers)):
            q = self.postures[[steer]].copy()
            q[:, v.base[2]] = 0.0
            for c in combinations:
                rate = self.rates(q, c[None])[0]
                along, turn = float(np.hypot(*rate[:2])), float(abs(rate[2]))
                whole = along + 0.5 * self.size * turn
                if whole < 1e-9:
                    continue
                u = c * self.step / whole
                cost = SHARP if turn * self.size > 1e-6 * whole else 1.0
                found.append((steer, u, cost * self.step, math.copysign(1.0, rate[0])))
        self.steer_of = np.array([f[0] for f in found])
        self.speeds = np.array([f[1] for f in found]).reshape(len(found), m)
        self.costs = np.array([f[2] for f in found])
        self.signs = np.array([f[3] if m == 1 else 0.0 for f in found])
        q = self.postures[self.steer_of].copy()
        q[:, v.base[2]] = 0.0
        rate = self.rates(q, self.speeds)
        #: Whether anything turns the base.
        self.may_turn = m > 1 or bool(np.any(np.abs(rate[:, 2]) > 1e-12))
        is_car = m == 1 and self.may_turn
        bends = np.abs(rate[:, 2]) / np.maximum(np.hypot(rate[:, 0], rate[:, 1]), 1e-12)
        self.radius = float(1 / np.max(bends)) if is_car else 0.0
        # heading of the drive in the base's axes: the base's origin may move sideways
        forward = self.speeds[:, 0] > 0
        straight = rate[np.argmin(np.abs(rate[:, 2]) + np.where(forward, 0.0, 1e9))]
        self.ahead = math.atan2(straight[1], straight[0]) if is_car else 0.0

    def _length(self) -> float:
        """Length of the base's outline, or of the model's."""
        if self.around is not None:
            corners = self.around.outlines[0].corners
            return max(float(np.max(np.ptp(corners, axis=0))), 2 * self.around.outlines[0].radius)
        return 1.0

    def driven(self, q: Array, drives: Whole) -> Array:
        """(n, CHECKS, nq) coordinates along drives from coordinates (n, nq)."""
        return self._integrated(
            q, self.postures[self.steer_of[drives]], self.speeds[drives], CHECKS
        )

    def _integrated(self, q: Array, posture: Array, u: Array, steps: int) -> Array:
        v = self.vehicle
        q = q.copy()
        q[:, self.tied] = posture[:, self.tied]
        if v.steering >= 0:
            q[:, v.steering] = posture[:, v.steering]
        h, out = 1.0 / steps, []
        for _ in range(steps):

            def at(rate: Array, h: float, q: Array = q) -> Array:
                moved = q.copy()
                moved[:, v.moving] += h * rate
                return moved

            k1 = self.rates(q, u)
            k2 = self.rates(at(k1, h / 2), u)
            k3 = self.rates(at(k2, h / 2), u)
            k4 = self.rates(at(k3, h), u)
            q = at((k1 + 2 * k2 + 2 * k3 + k4) / 6, h)
            out.append(q)
        return np.stack(out, axis=1)

    def cells(self, q: Array) -> Whole:
        """(n,) cells of coordinates, as whole numbers."""
        v = self.vehicle
        width = CELL * self.step
        parts = [
            np.floor(q[:, v.base[0]] / width) + 2**15,
            np.floor(q[:, v.base[1]] / width) + 2**15,
            np.floor(np.mod(q[:, v.base[2]] / (2 * math.pi) * HEADINGS, HEADINGS)),
        ]
        parts += [np.floor(np.mod(q[:, k] / (2 * math.pi) * HINGES, HINGES)) for k in v.hinges[:4]]
        found = parts[0].astype(np.int64)
        for part, size in zip(
            parts[1:], [2**16, HEADINGS, *[HINGES] * len(v.hinges)], strict=False
        ):
            found = found * size + part.astype(np.int64)
        return found

    def estimate(self, q: Array, end: Array) -> Array:
        """(n,) costs to an end: lower bounds, but for hinges."""
        v = self.vehicle
        place = q[:, list(v.base[:2])]
        found = np.linalg.norm(place - end[list(v.base[:2])], axis=1)
        if self.map is not None:
            found = np.maximum(found, self.map.way(q))
        if self.radius and self.is_posed:
            _, lengths = self._words(q, end)
            found = np.maximum(found, np.sum(np.abs(lengths), axis=1) * self.radius)
        elif self.is_posed:
            gap = np.abs(np.mod(q[:, v.base[2]] - end[v.base[2]] + math.pi, 2 * math.pi) - math.pi)
            found = found + 0.3 * self.size * gap
        for k in v.hinges:
            if k in self.named or end is not self.target:
                gap = np.abs(np.mod(q[:, k] - end[k] + math.pi, 2 * math.pi) - math.pi)
                found = found + 0.5 * self.size * gap
        return found

    def _words(self, q: Array, end: Array, radius: float = 0.0) -> tuple[Whole, Array]:
        """Shortest paths of the base's origin."""
        radius = radius or self.radius
        b = self.vehicle.base
        heading = q[:, b[2]] + self.ahead
        away = (end[b[0]] - q[:, b[0]]) + 1j * (end[b[1]] - q[:, b[1]])
        away = away * np.exp(-1j * heading) / radius
        return shortest_words(
            away.real, away.imag, end[b[2]] - q[:, b[2]], may_reverse=self.may_reverse
        )

    def free(self, q: Array) -> NDArray[np.bool_]:
        """(n,) whether hinges keep their limits and outlines are clear of obstacles."""
        found = np.ones(len(q), bool)
        for k in self.vehicle.hinges:
            name = self.vehicle.system.coordinates[k].name
            low, high = self.problem.state_limits.get(name, (-FOLDED, FOLDED))
            found &= (q[:, k] >= low) & (q[:, k] <= high)
        if self.map is not None:
            found[found] = self.map.free(q[found])
        return found

    def shots(self, q: Array, end: Array) -> tuple[int, Array, Array] | None:
        """Place among coordinates (n, nq), coordinates and drives of a free path to an end."""
        v = self.vehicle
        if not self.is_posed:
            return self._shots_any_heading(q, end)
        if self.radius:
            return self._words_driven(q, end)
        for k in range(min(2, len(q))):
            if len(v.drive) == 2 and v.steering < 0 and not v.hinges:
                found = self._turn_and_drive(q[k], end)
            else:
                found = self._slide(q[k], end)
            if found is not None:
                return (k, *found)
        return None

    def _shots_any_heading(self, q: Array, end: Array) -> tuple[int, Array, Array] | None:
        """The same to a place: a car arrives in one of the headings nearest to it, others ahead."""
        v, b = self.vehicle, self.vehicle.base
        if v.hinges or not set(b[:2]) <= set(self.named):
            return None
        if self.radius:
            ends = np.repeat(end[None], ARRIVALS, axis=0)
            ends[:, b[2]] = 2 * math.pi * np.arange(ARRIVALS) / ARRIVALS
            sizes = [np.min(np.sum(np.abs(self._words(q, e)[1]), axis=1)) for e in ends]
            shots = (
                self._words_driven(q, ends[k]) for k in np.argsort(sizes, kind="stable")[:TRIED]
            )
            return next((found for found in shots if found is not None), None)
        posed = end.copy()
        away = end[list(b[:2])] - q[0, list(b[:2])]
        if len(v.drive) == 2 and v.steering < 0:
            posed[b[2]] = math.atan2(away[1], away[0])
            found = self._turn_and_drive(q[0], posed)
        else:
            posed[b[2]] = q[0, b[2]]
            found = self._slide(q[0], posed)
        return None if found is None else (0, *found)

    def _words_driven(self, q: Array, end: Array) -> tuple[int, Array, Array] | None:
        """Shortest paths of the base, with its hinges; the shortest one that is free."""
        # a trailer folds on the sharpest turns: half the steering for those
        steers = np.array([self._steer_for(turn) for turn in (0, 1, -1)])
        radius = self._radius_of(int(steers[1]))
        units = np.array([self._unit_drive(int(k)) for k in steers])
        turns, lengths = self._words(q, end, radius)
        lengths = lengths * radius
        pieces: list[tuple[Array, Array]] = []
        for piece in range(lengths.shape[1]):
            if not np.any(np.abs(lengths[:, piece]) > 1e-12):
                continue
            most = float(np.max(np.abs(lengths[:, piece])))
            k = min(MOST_CHECKS, max(1, math.ceil(most / (self.step / CHECKS))))
            posture = self.postures[steers[turns[:, piece]]]
            u: Array = units[turns[:, piece]] * lengths[:, [piece]] / k
            pieces += [(posture, u)] * k
        if not pieces:
            return None
        along, miss = self._along(q, end, pieces)
        speeds = np.stack([u for _, u in pieces], axis=1)
        cost = np.sum(np.abs(lengths), axis=1) + MISSED * self.size * miss
        for k in np.argsort(cost, kind="stable"):
            if miss[k] <= self.hinge_miss and np.all(self.free(along[k])):
                moves = np.any(np.abs(speeds[k]) > 1e-12, axis=1)
                return int(k), along[k][np.append(True, moves)], speeds[k][moves]
        return None

    def _along(
        self, q: Array, end: Array, pieces: list[tuple[Array, Array]]
    ) -> tuple[Array, Array]:
        """Coordinates (n, k, nq) along drives from (n, nq), and what hinges miss, rad.

        Errors of hinges die out where the base pulls, and grow where it pushes: drives are taken
        from their beginning or, backward, from the end, whichever misses less at the other one.
        """
        path = [q]
        for posture, u in pieces:
            path.append(self._integrated(path[-1], posture, u, 1)[:, -1])
        along = np.stack(path, axis=1)
        bound = [k for k in self.vehicle.hinges if k in self.named or end is not self.target]
        if not bound:
            return along, np.zeros(len(q))
        back = [np.repeat(end[None], len(q), axis=0)]
        for posture, u in reversed(pieces):
            back.append(self._integrated(back[-1], posture, -u, 1)[:, -1])
        again = np.stack(back[::-1], axis=1)
        again[:, 0] = q
        miss = np.max(np.abs(_turns(along[:, -1, bound] - end[bound])), axis=1)
        other = np.max(np.abs(_turns(back[-1][:, bound] - q[:, bound])), axis=1)
        is_other = other < miss
        found = np.where(is_other[:, None, None], again, along)
        return found, np.where(is_other, other, miss)

    def _checked(self, path: Array, drives: Array) -> tuple[Array, Array] | None:
        """A path and its drives, if it is free."""
        return (path, drives) if np.all(self.free(path)) else None

    def _steer_for(self, turn: int) -> int:
        """Posture that turns the base left (1), right (−1) or not at all."""
        q = self.postures.copy()
        q[:, self.vehicle.base[2]] = 0
        rate = self.rates(q, np.ones((len(q), 1)))
        sign = np.sign(np.cos(np.arctan2(rate[:, 1], rate[:, 0]) - self.ahead))
        bend = sign * rate[:, 2] / np.hypot(rate[:, 0], rate[:, 1])
        if turn == 0:
            return int(np.argmin(np.abs(bend)))
        order = np.argsort(-turn * bend)
        return int(order[1 if self.vehicle.hinges and len(order) >= STEERS else 0])

    def _radius_of(self, steer: int) -> float:
        q = self.postures[[steer]].copy()
        q[:, self.vehicle.base[2]] = 0
        rate = self.rates(q, np.ones((1, 1)))[0]
        return float(math.hypot(rate[0], rate[1]) / abs(rate[2]))

    def _unit_drive(self, steer: int) -> Array:
        """Speed (1,) that moves the base's origin by 1 m in the time 1."""
        q = self.postures[[steer]].copy()
        q[:, self.vehicle.base[2]] = 0
        rate = self.rates(q, np.ones((1, 1)))[0]
        sign = math.copysign(1.0, math.cos(math.atan2(rate[1], rate[0]) - self.ahead))
        return np.array([sign / math.hypot(rate[0], rate[1])])

    def _turn_and_drive(self, q: Array, end: Array) -> tuple[Array, Array] | None:
        """Turn, drive, turn: of bases that turn on the spot, forward or backward."""
        b = self.vehicle.base
        away = end[list(b[:2])] - q[list(b[:2])]
        toward = math.atan2(away[1], away[0])
        best: tuple[Array, Array] | None = None
        least = math.inf
        for back in (0.0, math.pi):
            first = _turn(toward + back - q[b[2]])
            last = _turn(end[b[2]] - q[b[2]] - first)
            if np.hypot(*away) < 1e-9:
                first, last = 0.0, _turn(end[b[2]] - q[b[2]])
            parts = [
                (0.0, first),
                ((-1.0 if back else 1.0) * float(np.hypot(*away)), 0.0),
                (0.0, last),
            ]
            cost = (abs(first) + abs(last)) * self.size / 2
            if cost >= least:
                continue
            found = self._twists(q, [(along, 0.0, turn) for along, turn in parts])
            if found is not None:
                best, least = found, cost
        return best

    def _slide(self, q: Array, end: Array) -> tuple[Array, Array] | None:
        """Straight to the end while turning: of bases that go anywhere."""
        b = self.vehicle.base
        if len(self.vehicle.drive) != 3:
            return None
        turn = _turn(end[b[2]] - q[b[2]])
        away = end[list(b[:2])] - q[list(b[:2])]
        k = max(2, math.ceil((np.hypot(*away) + abs(turn) * self.size / 2) / (self.step / CHECKS)))
        path, drives = [q], []
        for _ in range(k):
            now = path[-1]
            J = self._twist_of(now)
            u = np.linalg.solve(J, np.array([away[0], away[1], turn]) / k)
            following = now.copy()
            following[list(b)] += np.array([away[0], away[1], turn]) / k
            path.append(following)
            drives.append(u)
        return self._checked(np.array(path), np.array(drives))

    def _twist_of(self, q: Array) -> Array:
        """(3, m) rates of the base by unit speeds."""
        m = len(self.vehicle.drive)
        found: Array = self.rates(np.repeat(q[None], m, axis=0), np.eye(m))[:, :3].T
        return found

    def _twists(
        self, q: Array, parts: list[tuple[float, float, float]]
    ) -> tuple[Array, Array] | None:
        """Motions along, across and turning in the base's axes, one after the other."""
        path, drives = [q], []
        for along, across, turn in parts:
            size = abs(along) + abs(turn) * self.size / 2
            if size < 1e-9:
                continue
            k = max(1, math.ceil(size / (self.step / CHECKS)))
            for _ in range(k):
                now = path[-1]
                at = now.copy()
                at[self.vehicle.base[2]] = 0.0
                wanted = np.array([along, across, turn]) / k
                u: Array = np.linalg.pinv(self._twist_of(at)) @ wanted
                path.append(self._integrated(now[None], now[None], u[None], 1)[0, -1])
                drives.append(u)
        return self._checked(np.array(path), np.array(drives))

    def is_there(self, q: Array, end: Array) -> NDArray[np.bool_]:
        """(n,) whether coordinates are so near to an end that the plan closes the gap."""
        v = self.vehicle
        named = [k for k in v.moving if k in self.named]
        gap = np.abs(q[:, named] - end[named])
        for j, k in enumerate(named):
            if k not in v.base[:2]:
                gap[:, j] = np.abs(np.mod(gap[:, j] + math.pi, 2 * math.pi) - math.pi) / (
                    HINGE_MISS if k in v.hinges else 0.2
                )
            else:
                gap[:, j] /= 0.7 * self.step
        found: NDArray[np.bool_] = np.all(gap < 1.0, axis=1)
        return found

    def way(self) -> Way:
        """The way.

        Raises
        ------
        PlanError : if there is none, or none was found.
        """
        start, goal = self.q0, self.target
        is_back = self.is_posed and self._room(goal) < self._room(start) + 1e-9
        is_back = is_back and self.may_reverse
        root, end = (goal, start) if is_back else (start, goal)
        if self.map is not None:
            self.map.flood(end, root)
        found = self._found(root, end)
        if found is None:
            raise PlanError(
                "the search found no way to the goal"
                + (" within its time" if self.stops() else ", which does not mean there is none"),
                self.problem.where,
                "give a guess, waypoints, a smaller clearance or footprint, or a longer time_limit",
            )
        path, drives, expanded = found
        if is_back:
            path, drives = path[::-1], -drives[::-1]
        lengths = np.hypot(*np.diff(path[:, list(self.vehicle.base[:2])], axis=0).T)
        turned = np.abs(np.diff(path[:, self.vehicle.base[2]])) * self.size / 2
        return Way(path, drives, np.maximum(lengths + 0.5 * turned, 1e-9), expanded)

    def other_way(self, way: Way) -> Way | None:
        """A way of another homotopy class: the narrowest passage of this one is closed for it.

        A passage is a line across the way from one obstacle to another, or to the edge of the map.
        What crosses it once cannot be deformed into what does not.
        """
        if self.map is None:
            return None
        b = list(self.vehicle.base[:2])
        for line in self.map.passages(way.q[:, b]):
            before = self.map.close(line)
            try:
                if min(self._room(self.q0), self._room(self.target)) > 0:
                    return self.way()
            except PlanError:
                if self.stops():
                    return None
            self.map.put(before)
        return None

    def _room(self, q: Array) -> float:
        return math.inf if self.map is None else float(self.map.room(q[None])[0])

    def _found(self, root: Array, end: Array) -> tuple[Array, Array, int] | None:
        """Coordinates and drives from the root to the end, and how many poses were expanded."""
        direct = self.shots(root[None], end)
        if direct is not None:
            return (*direct[1:], 0)
        states, parents, by, cost = [root], [-1], [-1], [0.0]
        best: dict[int, float] = {int(self.cells(root[None])[0]): 0.0}
        open_ = [(float(self.estimate(root[None], end)[0]), 0)]
        expanded, num = 0, len(self.steer_of)
        closed: set[int] = set()
        while open_ and expanded < MOST_POSES and not self.stops():
            batch: list[int] = []
            while open_ and len(batch) < TOGETHER:
                _, k = heapq.heappop(open_)
                if k not in closed:
                    closed.add(k)
                    batch.append(k)
            if not batch:
                break
            expanded += len(batch)
            self.hinge_miss = HINGE_MISS * min(1 + expanded / PATIENCE, 3.0)
            close = self.shots(np.array([states[k] for k in batch]), end)
            if close is not None:
                k, ahead_, more_ = close
                path, drives = self._traced(batch[k], states, parents, by)
                return (
                    np.concatenate([path, ahead_[1:]]),
                    np.concatenate([drives, more_]),
                    expanded,
                )
            own = np.repeat(batch, num)
            drives_ = np.tile(np.arange(num), len(batch))
            q = np.array([states[k] for k in own])
            along = self.driven(q, drives_)
            last = along[:, -1]
            free = np.all(self.free(along.reshape(-1, q.shape[1])).reshape(len(q), -1), axis=1)
            own, drives_, last = own[free], drives_[free], last[free]
            if not len(own):
                continue
            before = np.array([self.signs[by[k]] if by[k] >= 0 else 0.0 for k in own])
            changes = (before * self.signs[drives_] < 0) * CUSP * self.size
            total = np.array([cost[k] for k in own]) + self.costs[drives_] + changes
            cells = self.cells(last)
            order = np.argsort(total, kind="stable")
            kept = [
                int(i)
                for i in order
                if total[i] < best.get(int(cells[i]), math.inf) - 1e-9
                and not best.update({int(cells[i]): float(total[i])})
            ]
            if not kept:
                continue
            ahead = self.estimate(last[kept], end)
            there = self.is_there(last[kept], end)
            for i, more, is_end in zip(kept, ahead, there, strict=True):
                if not np.isfinite(more):
                    continue
                states.append(last[i])
                parents.append(int(own[i]))
                by.append(int(drives_[i]))
                cost.append(float(total[i]))
                if is_end and (not self.is_posed or self.vehicle.hinges or not self.may_turn):
                    path, done = self._traced(len(states) - 1, states, parents, by)
                    return path, done, expanded
                heapq.heappush(open_, (cost[-1] + GREED * float(more), len(states) - 1))
        return None

    def _traced(
        self, k: int, states: list[Array], parents: list[int], by: list[int]
    ) -> tuple[Array, Array]:
        path, drives = [states[k]], []
        while parents[k] >= 0:
            drive = by[k]
            k = parents[k]
            inner = self.driven(states[k][None], np.array([drive]))[0]
            path += [*inner[-2::-1], states[k]]
            drives += [self.speeds[drive] / CHECKS] * CHECKS
        m = len(self.vehicle.drive)
        return np.array(path[::-1]), np.array(drives[::-1]).reshape(-1, m)


def _turns(angles: Array) -> Array:
    """Angles less whole turns, from −π to π."""
    found: Array = np.mod(angles + math.pi, 2 * math.pi) - math.pi
    return found


def _narrow(passage: tuple[float, int, Array]) -> tuple[float, int]:
    """Order of passages: by their width, then as they come along the way."""
    return passage[:2]


def _turn(angle: float) -> float:
    return math.remainder(angle, 2 * math.pi)


class _FloorMap:
    """Distances to obstacles in cells, and the way of a disc through them."""

    def __init__(self, search: WaySearch, clearance: float) -> None:
        around, v = search.around, search.vehicle
        assert around is not None
        self.around, self.vehicle, self.search = around, v, search
        ends = np.array([search.q0, search.target])
        low, high = ends[:, list(v.base[:2])].min(axis=0), ends[:, list(v.base[:2])].max(axis=0)
        reach = 4 * search.size + 0.3 * float(np.max(high - low))
        at_rest = np.flatnonzero(around.groups < 0)
        low, high = low - reach, high + reach
        self.size = float(np.max(high - low)) / MAP
        self.low = low
        self.shape = tuple(np.ceil((high - low) / self.size).astype(int) + 1)
        self.put(self._taken(at_rest))
        self.clearance = clearance
        self.rims = [self._rim(_flat(o.corners), o.radius) for o in around.outlines]
        self.fields: Array | None = None

    def put(self, taken: NDArray[np.bool_]) -> None:
        """Take these cells for occupied."""
        from scipy.ndimage import distance_transform_edt

        self.taken = taken
        self.gap = np.full(self.shape, np.inf)
        if np.any(taken):
            self.gap = distance_transform_edt(~taken) * self.size

    def close(self, line: Array) -> NDArray[np.bool_]:
        """Occupy the cells along a line (n, 2), m; what was occupied before."""
        before, taken = self.taken, self.taken.copy()
        points = _along(np.concatenate([line, line[-2:0:-1]]), self.size / 4)  # there and back
        at = np.rint((points - self.low) / self.size).astype(int)
        at = at[np.all((at >= 0) & (at < np.array(self.shape)), axis=1)]
        for di, dj in ((0, 0), (0, 1), (1, 0)):  # no step between its cells is diagonal
            i, j = np.minimum(at + [di, dj], np.array(self.shape) - 1).T
            taken[i, j] = True
        self.put(taken)
        return before

    def passages(self, places: Array) -> list[Array]:
        """Lines (3, 2) across a way (n, 2), from an obstacle to the next one, the narrowest first.

        An obstacle is what is connected on the map; what is beyond its edge is another one.
        """
        from scipy.ndimage import binary_erosion, label

        whole = np.ones((3, 3))
        names = label(self.taken, structure=whole)[0]
        rim = np.argwhere(self.taken & ~binary_erosion(self.taken, structure=whole))
        high = self.low + self.size * (np.array(self.shape) - 1)
        found: dict[tuple[int, int], list[tuple[float, int, Array]]] = {}
        for place in places[:: -(-len(places) // PLACES)]:
            x, y = place
            edge = [(self.low[0], y), (high[0], y), (x, self.low[1]), (x, high[1])]
            points = np.concatenate([self.low + self.size * rim, edge])
            whose = np.concatenate([names[tuple(rim.T)], np.zeros(4, dtype=int)])
            gaps = np.linalg.norm(points - place, axis=1)
            one = int(np.argmin(gaps))
            other = int(np.argmin(np.where(whose == whose[one], np.inf, gaps)))
            if whose[other] != whose[one]:
                first, second = sorted((int(whose[one]), int(whose[other])))
                own = found.setdefault((first, second), [])
                line = np.array([points[one], place, points[other]])
                own.append((float(gaps[one] + gaps[other]), len(own), line))
        # several of each pair: the narrowest may be at the start or at the goal
        some = [sorted(own, key=_narrow)[:: -(-len(own) // PASSAGES)] for own in found.values()]
        return [line for _, _, line in sorted(itertools.chain(*some), key=_narrow)]

    def _taken(self, members: Whole) -> NDArray[np.bool_]:
        """Cells whose middle is in an obstacle."""
        taken = np.zeros(self.shape, bool)
        a = self.around
        first = np.floor((a.low[members] - self.low) / self.size).astype(int)
        last = np.ceil((a.high[members] - self.low) / self.size).astype(int) + 1
        first = np.clip(first, 0, np.array(self.shape))
        last = np.clip(last, 0, np.array(self.shape))
        for m, (i0, j0), (i1, j1) in zip(members, first, last, strict=True):
            if i0 >= i1 or j0 >= j1:
                continue
            x = self.low[0] + self.size * np.arange(i0, i1)
            y = self.low[1] + self.size * np.arange(j0, j1)
            X, Y = np.meshgrid(x, y, indexing="ij")
            c, r = a.corners[m], a.radii[m] + 0.3 * self.size
            side = np.roll(c, -1, axis=0) - c
            length = np.hypot(*side.T)
            if np.max(length) == 0:
                inside = np.hypot(X - c[0, 0], Y - c[0, 1]) <= r
            else:
                keep = length > 0
                normal = np.column_stack([side[keep, 1], -side[keep, 0]]) / length[keep, None]
                to = np.stack([X, Y], axis=-1)[:, :, None] - c[keep]
                inside = np.max(np.sum(to * normal, axis=-1), axis=-1) <= r
            taken[i0:i1, j0:j1] |= inside
        return taken

    def _rim(self, corners: Array, radius: float) -> _Rim:
        """Points along an outline and within it, by weights of its corners."""
        middle = corners.mean(axis=0)
        rim = [_along(corners, 2.0 * self.size)]
        for f in (0.7, 0.35):
            rim.append(_along(middle + f * (corners - middle), 4.0 * self.size))
        basis = np.column_stack([corners, np.ones(len(corners))])
        samples = np.concatenate(rim)
        weights = np.column_stack([samples, np.ones(len(samples))]) @ np.linalg.pinv(basis)
        reach = float(np.max(np.linalg.norm(corners - middle, axis=1)))
        return _Rim(weights, radius, reach)

    def corners(self, q: Array) -> list[Array]:
        """(n, k, 2) corners of each outline on the floor."""
        system = self.vehicle.system
        eta = np.zeros((len(q), system.equations.state.shape[0] - q.shape[1]))
        return self.around.corners_at(np.column_stack([q, eta]))

    def _gap_at(self, points: Array) -> Array:
        """(…,) distances to obstacles; beyond the map, none."""
        at = ((points - self.low) * (1 / self.size) + 0.5).astype(np.int32)
        inside = (at[..., 0] >= 0) & (at[..., 1] >= 0)
        inside &= (at[..., 0] < self.shape[0]) & (at[..., 1] < self.shape[1])
        flat = np.where(inside, at[..., 0] * self.shape[1] + at[..., 1], 0)
        found: Array = np.where(inside, self.gap.ravel()[flat], -1.0)
        return found

    def room(self, q: Array) -> Array:
        """(n,) least distance of outlines to obstacles."""
        found = np.full(len(q), np.inf)
        for corners, rim in zip(self.corners(q), self.rims, strict=True):
            gap = self._gap_at(np.matmul(rim.weights, corners)).min(axis=1) - rim.radius
            found = np.minimum(found, gap)
        return found

    def free(self, q: Array) -> NDArray[np.bool_]:
        """(n,) whether outlines are clear."""
        least = self.clearance + 0.3 * self.size
        found = np.ones(len(q), bool)
        for corners, rim in zip(self.corners(q), self.rims, strict=True):
            middle = self._gap_at(corners.mean(axis=1)) - rim.radius
            found &= middle > least
            near = np.flatnonzero(found & (middle < least + rim.reach))
            if len(near):
                points = np.matmul(rim.weights, corners[near])
                found[near] = self._gap_at(points).min(axis=1) - rim.radius > least
        return found

    def flood(self, end: Array, root: Array) -> None:
        """Ways of a disc to an end, by Dijkstra's algorithm over cells.

        Raises
        ------
        PlanError : if the root is in a closed region without the end.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        outline = self.around.outlines[0]
        center, inner = _inner_disc(outline.corners[:, :2])
        self.center = center
        inner += outline.radius + self.clearance
        # cells of which some point is free for the disc, though the map rounds
        free = self.gap + 1.5 * self.size >= inner
        coarse = max(1, int(self.search.size / 6 / self.size))
        n = tuple(s // coarse for s in self.shape)
        blocks = free[: n[0] * coarse, : n[1] * coarse].reshape(n[0], coarse, n[1], coarse)
        open_ = blocks.any(axis=(1, 3))
        self.coarse, self.open = coarse * self.size, n
        number = np.arange(n[0] * n[1]).reshape(n)
        rows, columns, weights = [], [], []
        for di, dj in ((0, 1), (1, 0), (1, 1), (1, -1)):
            a = number[: n[0] - di, max(0, -dj) : n[1] - max(0, dj)]
            b = number[di:, max(0, dj) : n[1] + min(0, dj)]
            both = open_.ravel()[a] & open_.ravel()[b]
            rows.append(a[both])
            columns.append(b[both])
            weights.append(np.full(int(both.sum()), math.hypot(di, dj) * self.coarse))
        graph = coo_array(
            (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))),
            shape=(number.size, number.size),
        ).tocsr()
        at = self._block(end[None])[0]
        ways = dijkstra(graph, directed=False, indices=int(number[at[0], at[1]]))
        self.fields = ways.reshape(n)
        here = self._block(root[None])[0]
        if np.isfinite(self.fields[here[0], here[1]]):
            return
        other = dijkstra(graph, directed=False, indices=int(number[here[0], here[1]])).reshape(n)
        for reached in (np.isfinite(self.fields), np.isfinite(other)):
            edge = np.concatenate([reached[0], reached[-1], reached[:, 0], reached[:, -1]])
            if not np.any(edge):
                raise PlanError(
                    "it is impossible: obstacles close every way between start and goal, even for "
                    f"a disc of radius {inner:.3g} m, which fits into the outline of "
                    f"'{outline.body}'",
                    self.search.problem.where,
                    "move obstacles, start or goal, or give a smaller footprint or clearance",
                )

    def _block(self, q: Array) -> Whole:
        """(n, 2) blocks in which the disc's center is."""
        v = self.vehicle
        b = list(v.base)
        cos, sin = np.cos(q[:, b[2]]), np.sin(q[:, b[2]])
        c = self.center
        x = q[:, b[0]] + cos * c[0] - sin * c[1]
        y = q[:, b[1]] + sin * c[0] + cos * c[1]
        at = np.floor((np.column_stack([x, y]) - self.low) / self.coarse + 0.5 / self.coarse)
        return np.clip(at.astype(np.int64), 0, np.array(self.open) - 1)

    def way(self, q: Array) -> Array:
        """(n,) ways of the disc to the end, less what cells round."""
        assert self.fields is not None
        at = self._block(q)
        found = self.fields[at[:, 0], at[:, 1]]
        return np.maximum(found * 0.92 - self.coarse, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Rim:
    """Points of an outline."""

    weights: Array  #: (m, k) of its corners
    radius: float  #: radius by which it is rounded, m
    reach: float  #: largest distance of a corner from their middle, m


def _flat(corners: Array) -> Array:
    return corners[:, :2]


def _along(corners: Array, apart: float) -> Array:
    """Points along a polygon's sides."""
    points = [corners[:1]]
    for c, s in zip(corners, np.roll(corners, -1, axis=0) - corners, strict=True):
        k = max(1, math.ceil(float(np.linalg.norm(s)) / apart))
        points.append(c + s * (np.arange(k) / k)[:, None])
    return np.concatenate(points)


def _inner_disc(corners: Array) -> tuple[Array, float]:
    """Center and radius of the largest disc in a convex polygon, by a linear program."""
    if len(corners) < 3:
        return corners.mean(axis=0), 0.0
    from scipy.optimize import linprog

    side = np.roll(corners, -1, axis=0) - corners
    keep = np.linalg.norm(side, axis=1) > 0
    normal = np.column_stack([side[keep, 1], -side[keep, 0]])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    found = linprog(
        [0, 0, -1],
        A_ub=np.column_stack([normal, np.ones(len(normal))]),
        b_ub=np.sum(normal * corners[keep], axis=1),
        bounds=[(None, None), (None, None), (0, None)],
    )
    return np.array(found.x[:2]), float(found.x[2])
