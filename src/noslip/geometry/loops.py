"""Brackets as motions: drive along X, along Y, back along X, back along Y, and see what is left.

With the flows φ of two fields for a time ε each,

    (1)  φ_Y^{−ε} ∘ φ_X^{−ε} ∘ φ_Y^{ε} ∘ φ_X^{ε} (q) = q + ε² [X, Y](q) + O(ε³)

Where Y is a bracket itself, its own loop takes the place of its flow, and the loop in reverse that
of the flow back: k generators in a bracket leave ε^k times it, up to O(ε^{k+1}).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.geometry.fields import Field, FieldChart

#: Runge–Kutta steps of each leg.
STEPS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BracketLoop:
    """A loop of motions that leaves a bracket. Made by ``distribution(model).loop()``."""

    #: The bracket, such as ``[drive, steer]``.
    bracket: str
    #: ε, duration of each leg in s, at 1 m/s or 1 rad/s.
    size: float
    #: Motion and its direction, 1 or −1, of each leg.
    legs: tuple[tuple[str, int], ...]
    coordinates: tuple[str, ...]
    #: (legs*STEPS + 1, nq) configurations along the loop.
    q: Array = field(repr=False)
    #: (n,) of the coordinates: what the loop leaves, and ε^k times the bracket.
    displacement: Array
    expected: Array
    chart: FieldChart = field(repr=False)

    @property
    def depth(self) -> int:
        """k, the number of generators in the bracket."""
        return self.bracket.count(",") + 1

    @property
    def deviation(self) -> float:
        """What the loop leaves beside the bracket, relative: it falls like ε."""
        size = float(np.max(np.abs(self.expected)))
        return float(np.max(np.abs(self.displacement - self.expected))) / size

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies that `track` knows."""
        return tuple(node.body.name for node in self.chart.kin.tree.nodes)

    def track(self, body: str) -> Array:
        """(k, 3) origin of a body, x and y in m, and its heading in rad about the vertical.

        The heading is NaN where the body does not stand upright.
        """
        node = next((n for n in self.chart.kin.tree.nodes if n.body.name == body), None)
        if node is None:
            raise SimulationError(
                f"there is no body '{body}'",
                f"loop of model '{self.chart.kin.model.name}'",
                f"one of {', '.join(self.bodies)}",
            )
        p, R = self.chart.numeric(node.p_WB), self.chart.numeric(node.R_WB)
        seen = ca.vertcat(p[0], p[1], ca.atan2(R[1, 0], R[0, 0]), R[2, 2])
        function = ca.Function("track", [self.chart.kin.symbols.q], [ca.densify(seen)])
        found = np.array(function(self.q.T)).T
        heading = np.unwrap(found[:, 2])
        heading[np.abs(found[:, 3] - 1.0) > 1e-9] = np.nan
        return np.column_stack([found[:, :2], heading])


def legs_of(bracket: Field, fields: dict[str, Field]) -> list[tuple[str, int]]:
    """Motions of a bracket's loop, in order."""
    if not bracket.parents:
        return [(bracket.name, 1)]
    first, second = (legs_of(fields[name], fields) for name in bracket.parents)
    return [*first, *second, *_reversed(first), *_reversed(second)]


def _reversed(legs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(name, -sign) for name, sign in reversed(legs)]


def drive_loop(
    chart: FieldChart, bracket: Field, fields: dict[str, Field], size: float, q: Array
) -> BracketLoop:
    """The loop of a bracket from a configuration, by the classical Runge–Kutta method."""
    kept, legs = list(chart.kept), legs_of(bracket, fields)
    symbol = chart.kin.symbols.q
    rates = {
        name: ca.Function("rate", [symbol], [fields[name].components])
        for name in {n for n, _ in legs}
    }

    def rate(name: str, at: Array) -> Array:
        found = np.zeros(len(at))
        found[kept] = np.array(rates[name](at)).ravel()
        return found

    path = [np.asarray(q, dtype=float)]
    for name, sign in legs:
        h = sign * size / STEPS
        for _ in range(STEPS):
            x = path[-1]
            k1 = rate(name, x)
            k2 = rate(name, x + h / 2 * k1)
            k3 = rate(name, x + h / 2 * k2)
            k4 = rate(name, x + h * k3)
            path.append(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    whole = np.array(path)
    if not np.all(np.isfinite(whole)):
        raise SimulationError(
            "the motions have no finite rates along the loop",
            f"loop of model '{chart.kin.model.name}'",
            "give another configuration, at=, or a smaller size",
        )
    value = np.array(ca.Function("bracket", [symbol], [bracket.components])(whole[0])).ravel()
    return BracketLoop(
        bracket=bracket.name,
        size=size,
        legs=tuple(legs),
        coordinates=tuple(chart.kin.coordinates[k].name for k in kept),
        q=whole,
        displacement=(whole[-1] - whole[0])[kept],
        expected=size**bracket.depth * value,
        chart=chart,
    )
