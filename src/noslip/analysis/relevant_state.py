"""Coordinates that matter and speeds of a motion as one vector, near a state.

Where nothing depends on a place or a heading, motions that differ in it alone are one motion. With
c and ζ of `local_coordinates.py` and the coordinates that matter of `steady_motion.py`,

    w = (c_m, ζ)        x = [q; η; …] = X(w),  ∂X/∂w        δw = (∂c/∂q δq, ζ_η (δη − η_c δc))

so that a motion repeats, up to what is ignored, when w does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from noslip.analysis.linearization import coordinate_map, independent_coordinates
from noslip.analysis.local_coordinates import LocalState
from noslip.analysis.steady_motion import find_wanted, relevance, scale_of
from noslip.base import Array
from noslip.engines import System
from noslip.model import Quantity
from noslip.simulation import Start


class RelevantState:
    """w near a start, in a chart that is regular there.

    Parameters
    ----------
    system : compiled system.
    start : completed.
    inputs, parameters : (nu,) and (np,) at the start.
    used : names that inputs depend on; all coordinates if None.
    wanted : names of values that the start must have.
    """

    def __init__(
        self,
        system: System,
        start: Start,
        inputs: Array,
        parameters: Array,
        used: frozenset[str] | None,
        wanted: Mapping[str, float],
    ) -> None:
        point = LocalState.at(system, start, inputs, parameters, is_driven=True)
        self._point, self.system, self.chart = point, point.system, point.chart
        coordinates = self.chart.coordinates
        seen = tuple(
            k
            for k, c in enumerate(coordinates)
            if used is None or {c.name, f"{c.name}_rate"} & used
        )
        found = relevance(self.system, self.chart, parameters, seen)
        self.matter, self._rows = list(found.coordinates), list(found.rows)
        self._num_z = len(self.chart.speeds)
        self.ignored = [k for k in range(len(coordinates)) if k not in self.matter]
        places = [*self.matter, *range(len(coordinates), len(coordinates) + self._num_z)]
        #: What counts as a step of 1.
        self.scale = scale_of(self.system, self.chart)[places]
        #: w of the start.
        self.first = np.concatenate([point.c[self.matter], point.zeta])
        self._wanted = find_wanted(self.system, self.chart, wanted)
        self._targets = np.array(list(wanted.values()))
        G = self._slopes(point)[0][2][np.ix_(self._rows, self.matter)]
        self._free, self._tied = independent_coordinates(point, G, self.matter)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Names and units of w."""
        return (*(self.chart.coordinates[k] for k in self.matter), *self.chart.speeds)

    def _at(self, w: Array, parameters: Array) -> LocalState:
        c = self._point.c.copy()
        c[self.matter] = w[: len(self.matter)]
        zeta = w[len(self.matter) :]
        return dataclasses.replace(self._point, c=c, zeta=zeta, parameters=parameters)

    @staticmethod
    def _slopes(point: LocalState) -> tuple[list[Array], list[Array]]:
        by_c, by_zeta, _ = point.derivatives()
        return by_c, by_zeta

    def start(self, w: Array, parameters: Array) -> tuple[Start, Array]:
        """The start at w, and ∂x/∂w (nx, k) of its [q; η; states of forces]."""
        point = self._at(w, parameters)
        _, _, g, v, eta, _ = point.values()
        by_c, by_zeta = self._slopes(point)
        c, chart = point.c, self.chart
        placing = np.array(chart.placing(c))
        num_m = len(self.matter)
        states = np.zeros((len(c) - chart.num_placed, num_m))
        for j, k in enumerate(self.matter):
            if k >= chart.num_placed:
                states[k - chart.num_placed, j] = 1.0
        X = np.zeros((len(placing) + len(eta) + len(states), num_m + self._num_z))
        X[: len(placing), :num_m] = placing[:, self.matter]
        middle = slice(len(placing), len(placing) + len(eta))
        X[middle, :num_m] = by_c[4][:, self.matter]
        X[middle, num_m:] = by_zeta[4]
        X[middle.stop :, :num_m] = states
        start = Start(
            time=point.time,
            q=chart.to_coordinates(c),
            v=v,
            eta=eta,
            mu=c[chart.num_placed :],
            position_residual=float(np.max(np.abs(g), initial=0.0)),
            speed_residual=0.0,
            completed={},
            is_carried=True,
        )
        return start, X

    def local(self, x: Array, along: Array, parameters: Array) -> tuple[Array, Array, Array]:
        """w of a state x, what is ignored there, and δw along columns of δx."""
        num_q, num_f = self.system.kinematics.num_coordinates, self._num_z
        q, eta = x[:num_q], x[num_q : num_q + num_f]
        num_s = len(self.chart.coordinates) - self.chart.num_placed
        states = x[num_q + num_f : num_q + num_f + num_s]
        c = self.chart.from_coordinates(q, states)
        at = self._at(np.concatenate([c[self.matter], np.zeros(num_f)]), parameters)
        at = dataclasses.replace(at, c=c)
        slope = self._slopes(at)[1][4]
        zeta = np.asarray(np.linalg.solve(slope, eta - at.values()[4])) if num_f else at.zeta
        at = dataclasses.replace(at, zeta=zeta)
        by_c, by_zeta = self._slopes(at)
        dc = np.zeros((len(c), along.shape[1]))
        dc += np.linalg.pinv(np.array(self.chart.placing(c))) @ along[:num_q]
        dc[self.chart.num_placed :] += along[num_q + num_f : num_q + num_f + num_s]
        deta = along[num_q : num_q + num_f] - by_c[4] @ dc
        dzeta = np.linalg.solve(by_zeta[4], deta) if num_f else np.zeros((0, along.shape[1]))
        w = np.concatenate([c[self.matter], zeta])
        return w, c[self.ignored], np.vstack([dc[self.matter], dzeta])

    def ignored_at_first(self) -> Array:
        """Coordinates that nothing depends on, at the start."""
        return np.asarray(self._point.c[self.ignored])

    def conditions(self, w: Array, parameters: Array) -> tuple[Array, Array]:
        """Holonomic rows and misses of the wanted values at w, and their derivatives by w."""
        point = self._at(w, parameters)
        values = [each[None] for each in point.values()[:5]]
        by_c, by_zeta = self._slopes(point)
        by_y = [np.hstack(pair)[None] for pair in zip(by_c, by_zeta, strict=True)]
        num = len(self.chart.coordinates)
        used = [*self.matter, *range(num, num + self._num_z)]
        F, rows = [values[2][0][self._rows]], [by_y[2][0][self._rows][:, used]]
        for wanted, target in zip(self._wanted, self._targets, strict=True):
            found, slope = wanted.at(self.chart, point.c[None], values, by_y)
            F.append(found - target)
            rows.append(slope[0][:, used])
        return np.concatenate(F), np.vstack(rows)

    def turns(self, before: Array, after: Array, parameters: Array) -> Array:
        """Whole turns, rad, of the angles among w between two states, where these are the same."""
        units = [q.unit for q in self.quantities]
        whole = np.zeros(len(before))
        for k in range(len(self.matter)):
            count = np.round((after[k] - before[k]) / (2 * np.pi))
            if units[k] == "rad" and count:
                moved = before.copy()
                moved[k] += 2 * np.pi * count
                one, other = (self._at(w, parameters).rates() for w in (before, moved))
                apart = max(
                    float(np.max(np.abs(a - b), initial=0.0))
                    for a, b in zip(one, other, strict=True)
                )
                if apart < 1e-8 * max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in one)):
                    whole[k] = 2 * np.pi * count
        return whole

    def neighbors(self, w: Array, parameters: Array) -> Array:
        """(k, k_free) δw that holonomic rows allow, orthonormal."""
        none = np.zeros((len(w), len(w)))
        free = self._allowed(w, parameters)
        return np.asarray(np.linalg.qr(free)[0]) if free.size else none[:, :0]

    def independent(self, w: Array, matrix: Array, parameters: Array) -> Array:
        """A matrix of δw → δw' in coordinates that the holonomic rows leave free."""
        num_m = len(self.matter)
        free = [*self._free, *range(num_m, num_m + self._num_z)]
        return np.asarray(matrix[free] @ self._allowed(w, parameters))

    def _allowed(self, w: Array, parameters: Array) -> Array:
        """δw that the holonomic rows allow, from those that they leave free."""
        num_m = len(self.matter)
        G = self._slopes(self._at(w, parameters))[0][2][np.ix_(self._rows, self.matter)]
        T = np.zeros((num_m + self._num_z, len(self._free) + self._num_z))
        T[:num_m, : len(self._free)] = coordinate_map(G[None], self._free, self._tied)[0]
        T[num_m:, len(self._free) :] = np.eye(self._num_z)
        return T
