"""Flat outputs: two functions of the configuration from which, with derivatives, all follows.

Two motions can be brought into chained form where the derived flag of D grows by
one up to n [MartinRouchon1994]. Two functions are flat outputs there if the one-form that vanishes
on the flag's last but one member is a combination of their differentials [LiRespondek2012].

**Transformation.** Along admissible motions the outputs h(q) move in one direction, that of the
angle φ₀(q), whatever the inputs are. With the arc length s of their curve and a motion X,

    (1)  φ₀ = arg(dh·X),    φₖ₊₁ = X(φₖ)/|dh·X| = dφₖ/ds

are functions of q alone up to φₙ₋₃: heading, curvature and its derivatives, so that
(h, φ₀, …, φₙ₋₃) are coordinates of the configurations. **Inverse.** Derivatives of the curve
give φₖ, Newton's method the configuration, and

    (2)  ṡ = Σ bᵢ wᵢ,    φ̇ₙ₋₃ = Σ Xᵢ(φₙ₋₃) wᵢ,    bᵢ = dh·Xᵢ · (cos φ₀, sin φ₀)

the two inputs wᵢ, which need one derivative more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base import Array, FormulationError
from noslip.geometry.closed_forms import limit_of_map
from noslip.geometry.distributions import FieldFrame, extend, framed, is_affine, null_space
from noslip.geometry.fields import VANISHES, Field, FieldChart
from noslip.kinematics import Kinematics
from noslip.model import WORLD

#: A residual below this, relative to the terms it is the difference of, is zero.
AGREES = 1e-8
#: Newton's method ends where a configuration has these coordinates, in m and rad, or as near as
#: it gets; beyond the second bound it has failed.
EXACT, CLOSE = 1e-13, 1e-11
#: Steps of Newton's method, and the least part of the way from the reference that is tried.
NEWTON, LEAST_PART = 30, 1e-4


class FlatState(NamedTuple):
    """What derivatives of flat outputs tell: the configuration, and the inputs that go with it."""

    q: Array
    inputs: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatMap:
    """The transformation to flat outputs and back. Found as ``structure(model).flat.map``."""

    #: Point whose x and y are the flat outputs.
    point: str
    #: Coordinates of the configurations, in the order of `q`.
    coordinates: tuple[str, ...]
    #: Motions whose rates are the inputs.
    inputs: tuple[str, ...]
    #: Largest part of (1) that depends on the other input, relative: zero where it is a map.
    residual: float
    #: Where the map may not be one; empty where no formula says so.
    limit: str
    chart: FieldChart = field(repr=False)
    fields: tuple[Field, ...] = field(repr=False)
    #: Traced (n,): the outputs, then φ₀, φ₁, … of (1).
    traced: ca.SX = field(repr=False)
    #: Traced (2,): b of (2).
    gains: ca.SX = field(repr=False)

    @property
    def dimension(self) -> int:
        """n."""
        return int(self.traced.numel())

    @cached_property
    def _function(self) -> ca.Function:
        """Coordinates (1) with holonomic rows below, and their slopes, at kept coordinates."""
        values = ca.vertcat(self.traced, self.chart.held)
        slopes = ca.jacobian(values, self.chart.q)
        return ca.Function("flat", [self.chart.kin.symbols.q], [values, ca.densify(slopes)])

    @cached_property
    def _rates(self) -> ca.Function:
        """[b; dφₙ₋₃] of the inputs, (2, 2)."""
        last = self.traced[-1]
        along = ca.horzcat(*[self.chart.derivative(X, last) for X in self.fields])
        rows = ca.vertcat(self.gains.T, along)
        return ca.Function("rates", [self.chart.kin.symbols.q], [ca.densify(rows)])

    def values(self, q: ArrayLike) -> Array:
        """(n,) flat outputs, then heading, curvature and its derivatives, of a configuration."""
        found = np.array(self._function(self._whole(q))[0]).ravel()
        return found[: self.dimension]

    def configuration(self, values: ArrayLike, near: ArrayLike | None = None) -> Array:
        """The configuration with these flat outputs, heading, curvature and derivatives.

        Parameters
        ----------
        values : (n,), as `values` gives them.
        near : configuration to look from; by default the rest positions of the joints.

        Raises
        ------
        FormulationError : if none was found.
        """
        wanted = np.asarray(values, dtype=float)
        if wanted.shape != (self.dimension,) or not np.all(np.isfinite(wanted)):
            raise FormulationError(
                f"values are {wanted!r:.60}",
                "values, argument of FlatMap.configuration",
                f"give {self.dimension} finite numbers: x, y, heading, curvature and so on",
            )
        kept = list(self.chart.kept)
        starts = [self._whole(near)] if near is not None else [self.chart.kin.rest]
        starts += [q for _, q in self.chart.samples]
        for start in starts:
            found = self._led(start, wanted)
            if found is not None:
                return found[kept]
        raise FormulationError(
            "no configuration was found with these flat outputs and derivatives",
            f"flat outputs of model '{self.chart.kin.model.name}'",
            "bend the curve less, or give a configuration nearby, near=",
        )

    def motion(
        self, derivatives: ArrayLike, *, backward: bool = False, near: ArrayLike | None = None
    ) -> FlatState:
        """Configuration and inputs where the flat outputs have these derivatives.

        Parameters
        ----------
        derivatives : (n, 2) or more rows: the outputs, then their derivatives over time.
        backward : whether it moves against the first input's direction.
        near : configuration near the solution, as in `configuration`.

        Raises
        ------
        FormulationError : if the outputs stand still, or no configuration was found.
        """
        y = np.asarray(derivatives, dtype=float)
        if y.ndim != 2 or y.shape[1] != 2 or len(y) < self.dimension or not np.isfinite(y).all():
            raise FormulationError(
                f"derivatives are {y!r:.60}",
                "derivatives, argument of FlatMap.motion",
                f"give {self.dimension} rows of x and y: the outputs and their derivatives",
            )
        series = y[: self.dimension] / _factorials(self.dimension)[:, None]
        speed = _derived(series)  # Taylor coefficients over time, of ẋ and ẏ
        sign = -1.0 if backward else 1.0
        if not np.linalg.norm(speed[0]) > 0.0:
            raise FormulationError(
                "the flat outputs stand still, where their curve has no direction",
                f"flat outputs of model '{self.chart.kin.model.name}'",
                "give derivatives of a moving point",
            )
        along = sign * _root(_times(speed[:, 0], speed[:, 0]) + _times(speed[:, 1], speed[:, 1]))
        angle = float(np.arctan2(sign * speed[0, 1], sign * speed[0, 0]))
        acceleration = _derived(speed)
        cut = speed[: len(acceleration)]
        turning = _over(
            _times(cut[:, 0], acceleration[:, 1]) - _times(cut[:, 1], acceleration[:, 0]),
            _times(along, along)[: len(acceleration)],
        )
        bends = [angle]
        rate = turning  # of the last of the bends
        while len(bends) < self.dimension - 2:
            bend = _over(rate, along[: len(rate)])
            bends.append(float(bend[0]))
            rate = _derived(bend)
        q = self.configuration([*y[0], *bends], near)
        matrix = np.array(self._rates(self._whole(q)))
        return FlatState(q, np.linalg.solve(matrix, [along[0], rate[0]]))

    def derivatives(self, q: ArrayLike, inputs: ArrayLike) -> Array:
        """(n, 2) flat outputs and their derivatives over time, at constant speed along the curve.

        Raises
        ------
        FormulationError : if the flat outputs stand still.
        """
        values = self.values(q)
        speed, rate = np.array(self._rates(self._whole(q))) @ np.asarray(inputs, dtype=float)
        if not abs(speed) > 0.0:
            raise FormulationError(
                "the flat outputs stand still, where their curve has no direction",
                f"flat outputs of model '{self.chart.kin.model.name}'",
                "give inputs that move them",
            )
        bends = np.append(values[2:], rate / speed)  # φ₀ … φₙ₋₂, over arc length
        n = self.dimension
        turned = (bends / _factorials(n - 1))[:n] * speed ** np.arange(n - 1)
        turned[0] = 0.0
        c, s = _cosine_and_sine(turned)
        ahead = speed * np.column_stack([c, s])
        cos, sin = np.cos(bends[0]), np.sin(bends[0])
        ahead = ahead @ np.array([[cos, sin], [-sin, cos]])
        whole = np.vstack([values[:2], ahead / np.arange(1, n)[:, None]])
        return np.asarray(whole * _factorials(n)[:, None])

    def to_json(self) -> dict[str, Any]:
        """Plain data: of what, and how well (1) holds."""
        return {
            "point": self.point,
            "coordinates": list(self.coordinates),
            "inputs": list(self.inputs),
            "residual": self.residual,
            "limit": self.limit,
        }

    def _whole(self, q: ArrayLike | None) -> Array:
        """All coordinates of the model, those that are left out at rest."""
        found = self.chart.kin.rest.copy()
        given = np.asarray(q, dtype=float)
        if given.shape != (len(self.coordinates),):
            raise FormulationError(
                f"a configuration has shape {given.shape}",
                f"flat outputs of model '{self.chart.kin.model.name}'",
                f"give {', '.join(self.coordinates)}",
            )
        found[list(self.chart.kept)] = given
        return found

    def _led(self, start: Array, wanted: Array) -> Array | None:
        """From a configuration to one with wanted values, in parts that Newton's method follows."""
        at = self._solved(start, np.array(self._function(start)[0]).ravel()[: self.dimension])
        if at is None:
            return None
        first = np.array(self._function(at)[0]).ravel()[: self.dimension]
        done, part = 0.0, 1.0
        while done < 1.0:
            goal = min(1.0, done + part)
            # curvature grows with its derivatives as where a curve is drawn smaller
            shares = goal ** np.maximum(np.arange(self.dimension) - 2.0, 1.0)
            found = self._solved(at, first + shares * (wanted - first))
            if found is None:
                part /= 2
                if part < LEAST_PART:
                    return None
                continue
            at, done, part = found, goal, 2 * part
        return at

    def _solved(self, start: Array, wanted: Array) -> Array | None:
        """Newton's method, which stays near: None where it turns by more than 1 rad."""
        q, kept = start.copy(), list(self.chart.kept)
        turns = [j for j, k in enumerate(kept) if self.chart.kin.coordinates[k].unit != "m"]
        goal = np.append(wanted, np.zeros(self.chart.held.numel()))
        last = np.inf
        for _ in range(NEWTON):
            values, slopes = (np.array(x) for x in self._function(q))
            rest = goal - values.ravel()
            error = float(np.max(np.abs(rest)))
            if error < EXACT or (error < CLOSE and error >= last):
                return q
            if not np.isfinite(error):
                return None
            step = np.linalg.lstsq(slopes, rest, rcond=1e-13)[0]
            if np.max(np.abs(step[turns]), initial=0.0) > 1.0:
                return None
            q[kept] += step
            last = error
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatOutputs:
    """Whether two motions can be brought into chained form, and by which outputs."""

    #: ``yes``, ``no`` or ``undecided``.
    answer: str
    #: Ranks of the derived flag.
    flag: tuple[int, ...]
    #: Points whose two coordinates in the plane are flat outputs.
    points: tuple[str, ...]
    #: Coordinates that were left out, since they follow by integration.
    without: tuple[str, ...]
    reason: str
    #: The transformation and its inverse, for the first of the points.
    map: FlatMap | None = field(repr=False, compare=False, default=None)

    def text(self) -> str:
        """The answer, the points and why."""
        points = f", by {self.named_points()}" if self.points else ""
        without = f" (without {', '.join(self.without)})" if self.without else ""
        limit = f"; {self.map.limit}" if self.map is not None and self.map.limit else ""
        return f"{self.answer}{points}{without}: {self.reason}{limit}"

    def named_points(self) -> str:
        """The point in the middle of an axle, if one is known, and how many others there are."""
        named = next((p for p in self.points if p.startswith("the middle")), self.points[0])
        more = f", one of {len(self.points)} points" if len(self.points) > 1 else ""
        return f"the coordinates of {named}{more}"


def flat_outputs(kin: Kinematics, params: Array, frame: FieldFrame) -> FlatOutputs:
    """The derived flag, and the points whose coordinates are flat outputs.

    Angles of round wheels follow by integration and are left out; so are, where that does
    not give a point, all angles on which no other rate depends, such as those of casters.
    """
    if len(frame.generators) != 2:
        return FlatOutputs(
            answer="undecided",
            flag=(),
            points=(),
            without=(),
            reason=f"the test is for two motions; here are {len(frame.generators)}",
        )
    if is_affine(frame.chart):
        return FlatOutputs(
            answer="undecided",
            flag=(),
            points=(),
            without=(),
            reason="given speeds in the constraints move the mechanism by themselves",
        )
    rolled, followers = _rolled(kin, frame), _followers(kin, frame)
    found = _flat_without(kin, params, frame, rolled)
    if found.points or set(followers) == set(rolled):
        return found
    smaller = _flat_without(kin, params, frame, followers)
    if not smaller.points:
        return found
    more = " and ".join(name for name in smaller.without if name not in found.without)
    if found.answer == "yes":
        numbers = ", ".join(map(str, found.flag))
        reason = f"{smaller.reason}; with {more}, ({numbers}) and no such point was found"
        return dataclasses.replace(smaller, reason=reason)
    reason = f"{found.reason}; without {more}, too, it is flat, by {smaller.named_points()}"
    return dataclasses.replace(found, reason=reason)


def _flat_without(
    kin: Kinematics, params: Array, frame: FieldFrame, without: tuple[str, ...]
) -> FlatOutputs:
    """The same, with coordinates left out."""
    if without:
        smaller, _ = framed(kin, params, without)
        if _rank_of(smaller.chart, smaller.generators) == len(smaller.generators):
            frame = smaller
        else:  # a motion is that of what would be left out
            without = ()
    chart = frame.chart
    basis, values, *_ = extend(chart, [], None, frame.generators)
    flag, ranks = [list(basis)], [len(basis)]
    # of what brackets reach: what integrates cannot change
    n = len(frame.reached)
    while ranks[-1] < n:
        last = flag[-1]
        candidates = [chart.bracket(X, Y) for X, Y in itertools.combinations(last, 2)]
        basis, values, *_ = extend(chart, last, values, candidates)
        if len(basis) == len(last):
            break
        flag.append(basis)
        ranks.append(len(basis))
    numbers = ", ".join(map(str, ranks))
    said = f"the derived flag has the ranks ({numbers}) in dimension {n}"
    if ranks != list(range(2, n + 1)):
        whole = ranks[0] == 2 and ranks[-1] == n
        return FlatOutputs(
            answer="no" if whole else "undecided",
            flag=tuple(ranks),
            points=(),
            without=without,
            reason=f"{said}; chained form needs 2 to {n} in steps of one",
        )
    before = flag[-2] if len(flag) > 1 else None
    points = _flat_points(kin, frame, before) if before is not None else {}
    return FlatOutputs(
        answer="yes",
        flag=tuple(ranks),
        points=tuple(points),
        without=without,
        reason=said,
        map=_first_map(frame, points, n),
    )


def _first_map(frame: FieldFrame, points: dict[str, ca.SX], n: int) -> FlatMap | None:
    """The transformation for the point that is named first."""
    order = sorted(points, key=lambda name: not name.startswith("the middle"))
    for name in order:
        found = _map_of(frame, name, points[name], n)
        if found is not None:
            return found
    return None


def _hinges(kin: Kinematics) -> list[int]:
    """Coordinates of joints with one coordinate, not with the world."""
    return [
        node.coordinates.start
        for node in kin.tree.nodes
        if node.coordinates.stop - node.coordinates.start == 1 and node.joint.parent != WORLD
    ]


def _moves(kin: Kinematics, frame: FieldFrame) -> NDArray[np.bool_]:
    """(nq, nq) whether the rate of one coordinate depends on another one."""
    chart = frame.chart
    rates = ca.horzcat(*[f.components for f in frame.generators])
    found = np.zeros((kin.num_coordinates, kin.num_coordinates), dtype=bool)
    for j in range(kin.num_coordinates):
        slopes = ca.reshape(ca.jacobian(ca.vec(rates), kin.symbols.q[j]), rates.shape)
        if slopes.nnz():
            for values in chart.evaluate(slopes):
                found[list(chart.kept), j] |= np.max(np.abs(values), axis=1) > VANISHES
    return found


def _rolled(kin: Kinematics, frame: FieldFrame) -> tuple[str, ...]:
    """Angles of joints on which no admissible motion depends: those of round wheels."""
    moved = _moves(kin, frame)
    return tuple(kin.coordinates[k].name for k in _hinges(kin) if not np.any(moved[:, k]))


def _followers(kin: Kinematics, frame: FieldFrame) -> tuple[str, ...]:
    """Angles of joints on which no rate of what remains depends: of wheels, and of casters."""
    moved = _moves(kin, frame)
    out = set(_hinges(kin))
    while needed := {k for k in out if any(moved[j, k] for j in range(len(moved)) if j not in out)}:
        out -= needed
    return tuple(kin.coordinates[k].name for k in sorted(out))


def _flat_points(kin: Kinematics, frame: FieldFrame, before: Sequence[Field]) -> dict[str, ca.SX]:
    """Points whose differentials the last one-form of the flag is a combination of."""
    chart, found = frame.chart, dict[str, ca.SX]()
    candidates = [(f"{t.contact.name}", chart.numeric(t.point)) for t in kin.contacts]
    candidates += [
        (
            f"the middle of {a.contact.name} and {b.contact.name}",
            chart.numeric((a.point + b.point) / 2),
        )
        for a, b in itertools.combinations(kin.contacts, 2)
        if a.contact.body != b.contact.body
    ]
    candidates += [
        (f"the origin of {node.body.name}", chart.numeric(node.p_WB)) for node in kin.tree.nodes
    ]
    values = chart.values(list(before))
    whole = chart.values(frame.reached)
    for name, point in candidates:
        slopes = chart.evaluate(ca.densify(ca.jacobian(point[:2], chart.q)))
        holds = True
        for slope, span, free in zip(slopes, values, whole, strict=True):
            # within what brackets reach: the form that vanishes on the span
            basis, _ = np.linalg.qr(free)
            inner = basis.T @ span
            form = null_space(inner.T).T
            differentials = (slope / chart.sizes) @ basis
            if len(form) != 1 or np.linalg.matrix_rank(differentials, tol=1e-9) < 2:
                holds = False
                break
            share = np.linalg.lstsq(differentials.T, form[0], rcond=None)[0]
            rest = differentials.T @ share - form[0]
            holds = holds and float(np.max(np.abs(rest))) < AGREES
        if holds:
            found.setdefault(name, point)
    return found


def _rank_of(chart: FieldChart, fields: Sequence[Field]) -> int:
    return chart.rank(fields).value if fields else 0


def _map_of(frame: FieldFrame, name: str, point: ca.SX, n: int) -> FlatMap | None:
    """(1) for a point, if its curve tells the configuration."""
    chart = frame.chart
    h = point[:2]
    moved = [chart.derivative(X, h) for X in frame.generators]
    sizes = [min(float(np.linalg.norm(x)) for x in chart.evaluate(ca.densify(c))) for c in moved]
    k = int(np.argmax(sizes))
    if not sizes[k] > 1e-6:
        return None
    X, c = frame.generators[k], moved[k]
    length = ca.sqrt(ca.dot(c, c))
    gains = ca.vertcat(*[ca.dot(m, c) / length for m in moved])
    other = Field(
        "across", frame.generators[1 - k].components - gains[1 - k] / length * X.components
    )
    bends = [ca.atan2(c[1], c[0])]
    crossed = []
    while len(bends) < n - 2:
        crossed.append(chart.derivative(other, bends[-1]))
        bends.append(chart.derivative(X, bends[-1]) / length)
    residual = 0.0
    if crossed:
        across, whole = (chart.evaluate(ca.densify(ca.vertcat(*x))) for x in (crossed, bends[1:]))
        for a, w in zip(across, whole, strict=True):
            residual = max(residual, float(np.max(np.abs(a)) / max(1.0, float(np.max(np.abs(w))))))
    last = chart.evaluate(ca.densify(chart.derivative(other, bends[-1])))
    if residual > AGREES or min(abs(float(x[0, 0])) for x in last) < 1e-9:
        return None
    names = [chart.kin.coordinates[j].name for j in chart.kept]
    traced = ca.densify(ca.vertcat(h, *bends))
    return FlatMap(
        point=name,
        coordinates=tuple(names),
        inputs=tuple(f.name for f in frame.generators),
        residual=residual,
        limit=limit_of_map(chart, traced),
        chart=chart,
        fields=frame.generators,
        traced=traced,
        gains=gains,
    )


# Taylor coefficients over time


def _factorials(count: int) -> Array:
    return np.cumprod([1.0, *range(1, count)])


def _derived(a: Array) -> Array:
    """Of the derivative."""
    orders = np.arange(1, len(a))
    return np.asarray(a[1:] * (orders[:, None] if a.ndim > 1 else orders))


def _times(a: Array, b: Array) -> Array:
    return np.asarray(np.convolve(a, b)[: len(a)])


def _over(a: Array, b: Array) -> Array:
    """Of a quotient."""
    found = np.zeros(len(a))
    for k in range(len(a)):
        found[k] = (a[k] - found[:k] @ b[k:0:-1]) / b[0]
    return found


def _root(a: Array) -> Array:
    """Of a square root."""
    found = np.zeros(len(a))
    found[0] = np.sqrt(a[0])
    for k in range(1, len(a)):
        found[k] = (a[k] - found[1:k] @ found[k - 1 : 0 : -1]) / (2 * found[0])
    return found


def _cosine_and_sine(a: Array) -> tuple[Array, Array]:
    """Of cos a and sin a, with a zero at first."""
    c, s = np.zeros(len(a)), np.zeros(len(a))
    c[0] = 1.0
    slopes = _derived(a)
    for k in range(1, len(a)):
        # k s_k = Σ (slopes_j) c_(k−1−j), and so on
        s[k] = slopes[:k] @ c[k - 1 :: -1][:k] / k
        c[k] = -(slopes[:k] @ s[k - 1 :: -1][:k]) / k
    return c, s
