"""`distribution`: which motions constraints allow, what of them integrates, what brackets reach.

**Brackets as motions: drive along X, along Y, back along X, back along Y, and see what is left.**

With the flows φ of two fields for a time ε each,

    (1)  φ_Y^{−ε} ∘ φ_X^{−ε} ∘ φ_Y^{ε} ∘ φ_X^{ε} (q) = q + ε² [X, Y](q) + O(ε³)

Where Y is a bracket itself, its own loop takes the place of its flow, and the loop in reverse that
of the flow back: k generators in a bracket leave ε^k times it, up to O(ε^{k+1}).

**Leaves: where all configurations lie that admissible motions reach from one another.**

Fields R(q) that brackets reach span the tangent of a leaf. With as many coordinates b (the base)
that R moves independently, the others f (the fibre) follow along it,

    (1)  df/db = R_f R_b⁻¹

and a curve whose b goes straight to a reference b₀ stays in its leaf. Where it ends, f is the leaf
coordinate: a function of the configuration that no admissible motion changes.

The admissible velocities at a configuration q are a plane D(q), spanned by the columns of N S and
of the controls. With D¹ = D and

    (1)  Dᵏ⁺¹ = Dᵏ + [D, Dᵏ]

the growth vector is (dim D¹, dim D², …) and its length the degree of nonholonomy. The largest part
of the constraints that integrates is the bottom of their derived flag; by Frobenius' theorem it is
what annihilates the last Dᵏ, the smallest involutive distribution around D. Conventions:

- configurations are the model's coordinates where all holonomic rows hold, of dimension n;
- rates of speed inputs are controls: their rows leave the motion free, at a rate of one's choice;
- of rows with a given speed (a turntable, a belt) the homogeneous part counts, at one time where
  it changes; for what integrates time is a coordinate, and what happens by itself a motion;
- `without` leaves coordinates out, such as angles of wheels, on which nothing else depends.

A growth vector is that of random configurations, all of which must agree, or of one given
configuration (`at`), where it may grow more slowly.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import qr

from noslip.base import (
    ArgumentError,
    Array,
    FormulationError,
    NoslipError,
    SimulationError,
    counted,
    nearest,
)
from noslip.engines import System
from noslip.formulations import Equations, derive
from noslip.geometry.fields import FELT, MOST_OPERATIONS, VANISHES, Field, FieldChart, rank_of
from noslip.kinematics import Kinematics, trace
from noslip.model import Model
from noslip.simulation import complete_start

if TYPE_CHECKING:
    from noslip.geometry.closed_forms import FieldFormulas

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


#: Tolerance of curves within a leaf, and the least singular value of R_b over its largest.
TOLERANCE, SINGULAR = 1e-12, 1e-9
#: Times that rates are asked for along one curve: to a place where they grow beyond all bounds, a
#: curve would take ever smaller steps.
MOST_RATES = 3000
#: Admissible motions along which leaf coordinates are tried, and how far each goes, in s.
TRIALS, REACH = 3, 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaf:
    """Leaf coordinates by (1), with the motions along which they were seen to stay."""

    chart: FieldChart
    reached: tuple[Field, ...]
    base: tuple[int, ...]  # places in chart.kept
    fibre: tuple[int, ...]
    reference: Array  # all coordinates

    @cached_property
    def _slopes(self) -> ca.Function:
        """R_b and R_f at q."""
        columns = ca.densify(ca.horzcat(*[f.components for f in self.reached]))
        parts = [columns[list(self.base), :], columns[list(self.fibre), :]]
        return ca.Function("slopes", [self.chart.state], parts)

    def values(self, q: Array) -> Array:
        """(fibre,) leaf coordinates of a configuration.

        Raises
        ------
        FormulationError : where the base does not carry the leaf on the way to the reference.
        """
        kept = np.array(self.chart.kept)
        base, fibre = kept[list(self.base)], kept[list(self.fibre)]
        first = np.asarray(q, dtype=float)
        way = self.reference[base] - first[base]
        asked = itertools.count()

        def rate(s: float, f: Array) -> Array:
            if next(asked) > MOST_RATES:
                raise self._lost("is longer than can be followed")
            at = first.copy()
            at[base] += s * way
            at[fibre] = f
            R_b, R_f = (np.array(x) for x in self._slopes(at))
            singular = np.linalg.svd(R_b, compute_uv=False)
            if not singular[-1] > SINGULAR * singular[0]:
                raise self._lost("passes where the coordinates that carry the leaf lose rank")
            return np.asarray(R_f @ np.linalg.solve(R_b, way))

        if not np.any(way):
            return first[fibre]
        found = solve_ivp(
            rate, (0.0, 1.0), first[fibre], method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
        )
        if not found.success or not np.all(np.isfinite(found.y)):
            raise self._lost("could not be followed")
        return np.asarray(found.y[:, -1])

    def _lost(self, why: str) -> FormulationError:
        return FormulationError(
            f"the way to the reference of the leaf {why}",
            f"integral of model '{self.chart.kin.model.name}'",
            "compare configurations that are nearer to each other",
        )

    @property
    def residual(self) -> float:
        """Largest change of leaf coordinates along admissible motions, relative to all changes."""
        return max(self.changes)

    @cached_property
    def changes(self) -> tuple[float, ...]:
        """Those along one motion from each sample that has a way to the reference."""
        rng = np.random.default_rng(45)
        found = list[float]()
        kept = np.array(self.chart.kept)
        columns = ca.horzcat(*[f.components for f in self.reached])
        rates = ca.Function("rates", [self.chart.state], [ca.densify(columns)])
        for start in self.chart.points[:TRIALS]:
            weights = rng.normal(size=len(self.reached))
            values = np.array(rates(start))
            weights /= max(float(np.max(np.abs(values @ weights))), 1e-300)

            def rate(_: float, x: Array, q: Array = start, w: Array = weights) -> Array:
                at = q.copy()
                at[kept] = x
                return np.asarray(np.array(rates(at)) @ w)

            moved = solve_ivp(
                rate, (0.0, REACH), start[kept], method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
            )
            end = start.copy()
            end[kept] = moved.y[:, -1]
            try:
                change = np.max(np.abs(self.values(end) - self.values(start)), initial=0.0)
            except FormulationError:
                continue
            size = float(np.max(np.abs(end - start)))
            if np.isfinite(change) and size > 0.0:
                found.append(float(change) / size)
        return tuple(found)

    def carriers(self, k: int) -> tuple[int, ...]:
        """Places in chart.kept of the base whose motion changes the kth coordinate of the fibre."""
        moved = np.zeros(len(self.base), dtype=bool)
        for q in self.chart.points:
            R_b, R_f = (np.array(x) for x in self._slopes(q))
            slope = np.linalg.solve(R_b.T, R_f[k])
            moved |= np.abs(slope) > 1e-9 * max(1.0, float(np.max(np.abs(slope))))
        return tuple(b for b, is_moved in zip(self.base, moved, strict=True) if is_moved)


def leaf_of(chart: FieldChart, reached: Sequence[Field], first: Sequence[int]) -> Leaf | None:
    """The leaf with these places among its fibre, from the model's rest or a random reference.

    Of the references that most of the samples have a way to; None where none of them has one.
    """
    columns = chart.values(reached)[0]
    fibre = list(first)
    while len(fibre) < len(chart.kept) - len(reached):
        # the place without which the others still carry the leaf best
        left = [k for k in range(len(chart.kept)) if k not in fibre]
        sizes = [
            np.linalg.svd(columns[[j for j in left if j != k]], compute_uv=False)[-1] for k in left
        ]
        fibre.append(left[int(np.argmax(sizes))])
    base = tuple(k for k in range(len(chart.kept)) if k not in fibre)
    best = None
    for reference in (chart.rest, *chart.points):
        found = Leaf(
            chart=chart, reached=tuple(reached), base=base, fibre=tuple(fibre), reference=reference
        )
        if len(found.changes) > (0 if best is None else len(best.changes)):
            best = found
        if len(found.changes) == TRIALS:
            break
    return best


#: Random configurations at which every statement is tried.
SAMPLES = 3
#: Operations of brackets that a check of a model may take.
CHECKED = 150_000
#: Singular value of a combination of rows on what brackets reach, relative to the largest, below
#: which it integrates: tables of hills leave 1e-8 of rounding.
INTEGRATES = 1e-6
#: What is said of rows with a part that acts at rest.
AFFINE = "rows have a part that acts at rest; brackets leave it out"
#: Deepest brackets that are looked at, unless the caller says.
DEEPEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A growth vector with its certificate."""

    #: dim D¹, dim D², …
    vector: tuple[int, ...]
    #: Names of the fields that span the last of them: generators first, then brackets by depth.
    brackets: tuple[tuple[str, ...], ...]
    #: Least ratio of the singular values that decided a rank.
    gap: float
    #: Whether some rank took more than double precision.
    is_precise: bool

    @property
    def degree(self) -> int:
        """Degree of nonholonomy: the depth of the deepest brackets that are needed."""
        return len(self.vector)

    @property
    def rank(self) -> int:
        """Dimension of what brackets reach."""
        return self.vector[-1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Integral:
    """A combination of velocity constraints that is the rate of a function of the configuration."""

    #: Row → its coefficient, relative to the largest, where it is the same everywhere.
    rows: dict[str, float]
    #: ``linear``: of coordinates with constant coefficients; ``exact``: the combination has
    #: constant coefficients and no curl; ``leaf``: integrable with a factor that varies.
    kind: str
    #: Coordinate → coefficient of a linear integral, the first length's 1.
    coefficients: dict[str, float]
    #: Largest deviation from what the kind says, at random configurations; of a leaf, its change
    #: along random admissible motions, relative to theirs.
    residual: float
    #: Coordinate whose value on the leaf's transversal is the integral, of kind ``leaf``, and where
    #: that is: coordinate → value.
    coordinate: str = ""
    transversal: dict[str, float] = field(default_factory=dict)
    #: Of kind ``exact``: the function itself as a formula, where one was found.
    formula: str = ""
    #: Whether the integral is a function of time, too.
    is_timed: bool = False
    form: ca.Function | None = field(repr=False, default=None)
    leaf: Leaf | None = field(repr=False, default=None)
    place: int = field(repr=False, default=0)  # in the leaf's fibre

    def text(self) -> str:
        """The integral as an equation."""
        names = ", ".join(self.rows)
        if self.formula:
            return f"{self.formula} = constant"
        if self.kind == "linear":
            return f"{_sum(self.coefficients)} = constant"
        if self.kind == "exact" and any(math.isnan(x) for x in self.rows.values()):
            return f"{names}, over a factor that varies, is the rate of a function of {self._of}"
        if self.kind == "exact":
            return f"{_sum(self.rows)} is the rate of a function of {self._of}"
        if self.leaf is None:
            return f"a combination of {names}, with coefficients that vary, integrates"
        there = ", ".join(f"{name} = {value:.4g}" for name, value in self.transversal.items())
        return f"{self.coordinate}, followed along the leaf to {there}, is constant"

    @property
    def _of(self) -> str:
        return "q and t" if self.is_timed else "q"

    def difference(
        self, first: Array, second: Array, *, times: tuple[float, float] = (0.0, 0.0)
    ) -> float:
        """The integral at a configuration less that at another one.

        Along the straight line between them; of kind ``leaf``, along the leaf of each.

        Parameters
        ----------
        first, second : all coordinates.
        times : times of both configurations, s; counts where the integral is a function of time.

        Raises
        ------
        FormulationError : where no leaf could be followed.
        """
        begin, end = (
            np.append(np.asarray(q, dtype=float), [t] * self.is_timed)
            for q, t in zip((first, second), times, strict=True)
        )
        if self.leaf is not None:
            values = [self.leaf.values(point) for point in (begin, end)]
            return float(values[1][self.place] - values[0][self.place])
        if self.form is None:
            raise FormulationError(
                "no coordinates were found that carry the leaves of this integral",
                f"integral of {', '.join(self.rows)}",
                "compare configurations by simulating between them",
            )
        if begin.shape != end.shape or begin.shape != (self.form.size1_in(0),):
            raise FormulationError(
                f"configurations have shapes {np.shape(first)} and {np.shape(second)}",
                "first and second, arguments of Integral.difference",
                "give all coordinates of the model, in the order of its runs",
            )
        nodes, weights = np.polynomial.legendre.leggauss(32)
        along = end - begin
        total = 0.0
        for x, weight in zip(nodes, weights, strict=True):
            covector = np.array(self.form(begin + (x + 1) / 2 * along)).ravel()
            total += weight / 2 * float(covector @ along)
        return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distribution:
    """What the constraints of a model allow. Made by :func:`distribution`."""

    model: str
    #: Coordinates of the configurations; those left out are in `without`.
    coordinates: tuple[str, ...]
    without: tuple[str, ...]
    #: n, of the configurations that satisfy all holonomic rows.
    dimension: int
    #: Fields that span D: independent speeds, then speed inputs.
    generators: tuple[str, ...]
    #: Those of the generators that are speed inputs.
    controls: tuple[str, ...]
    holonomic_rows: tuple[str, ...]
    #: Independent rows that restrict speeds.
    velocity_rows: tuple[str, ...]
    #: Generic growth, at random configurations.
    growth: Growth
    #: Independent combinations of the velocity rows that integrate.
    integrals: tuple[Integral, ...]
    #: Whether brackets of all coordinates were short enough to tell what integrates.
    is_decided: bool
    #: Whether rows have a part that does not vanish at rest.
    is_affine: bool
    #: Time, in s, at which rows were looked at that change with time; None where none does.
    time: float | None = None
    #: Coordinate → value of the configuration that was asked for, and the growth there.
    at: dict[str, float] | None = None
    growth_there: Growth | None = None
    frame: FieldFrame = field(repr=False)

    @property
    def is_holonomic(self) -> bool:
        """Whether all that rows say integrates, so that they restrict coordinates alone."""
        return self.is_decided and len(self.integrals) == len(self.velocity_rows)

    @property
    def num_nonholonomic(self) -> int:
        """Velocity constraints that are left when the combinations that integrate are taken out."""
        return len(self.velocity_rows) - len(self.integrals)

    @property
    def changing(self) -> str:
        """At which time brackets were taken, where rows change with it; else empty."""
        return (
            "" if self.time is None else f"rows change with time; brackets at t = {self.time:.4g}"
        )

    @property
    def is_bracket_generating(self) -> bool:
        """Whether brackets reach every direction (Chow and Rashevskii)."""
        return self.growth.rank == self.dimension

    def loop(
        self, bracket: str = "", *, size: float = 0.1, at: Mapping[str, float] | None = None
    ) -> BracketLoop:
        """A bracket as a motion: a closed loop of drives that leaves ε^k times the bracket.

        Parameters
        ----------
        bracket : one of `growth.brackets`; the last of them by default.
        size : ε, duration of each leg, s, at 1 m/s or 1 rad/s.
        at : configuration where it begins: coordinates and named angles; by default the joints'
            rest positions, or a random configuration where those are singular. Coordinates that
            were left out stay as they are.

        Raises
        ------
        FormulationError : if there is no such bracket, or it vanishes there.
        """
        chart = self.frame.chart
        fields = {f.name: f for f in self.frame.reached}
        names = [name for level in self.growth.brackets[1:] for name in level]
        where = f"loop of model '{self.model}'"
        if not names:
            raise FormulationError(
                "no bracket leads out of the admissible motions",
                where,
                "ask for loops of nonholonomic constraints",
            )
        if bracket and bracket not in names:
            raise FormulationError(
                f"there is no bracket '{bracket}'", where, f"one of {'; '.join(names)}"
            )
        if not np.isfinite(size) or size <= 0.0:
            raise FormulationError(f"size is {size}", where, "give seconds above zero")
        system = System(equations=derive(chart.kin.model))
        try:
            q = complete_start(system, dict(at or {}), parameters=chart.params).q
        except NoslipError:
            if at is not None:
                raise
            q = chart.samples[0][1]
        found = drive_loop(chart, fields[bracket or names[-1]], fields, size, q)
        if not float(np.max(np.abs(found.expected))) > VANISHES * size**found.depth:
            raise FormulationError(
                f"{found.bracket} vanishes at this configuration", where, "give another one, at="
            )
        return found

    def formulas(self) -> FieldFormulas | None:
        """The fields and their brackets as formulas, where the model is small; None elsewhere.

        Where brackets reach every direction, with the determinant whose zeros tell where they may
        fail to.
        """
        from noslip.geometry.closed_forms import formulas_in

        frame = self.frame
        if not frame.generators:
            return None
        return formulas_in(
            frame.chart, frame.generators, frame.reached, is_whole=self.is_bracket_generating
        )

    def sentence(self) -> str:
        """What the constraints are, in one sentence."""
        rows, integrals = len(self.velocity_rows), len(self.integrals)
        if not self.generators and self.is_holonomic and not self.is_affine:
            return "no freedom: nothing can move"
        if not rows:
            return (
                "all constraints are holonomic: they restrict coordinates alone"
                if self.holonomic_rows
                else "no constraint: every motion of the coordinates is admissible"
            )
        if not self.is_decided:
            return f"{counted(rows, 'velocity constraint')}, undecided what of them integrates"
        if self.is_holonomic:
            return f"{counted(rows, 'velocity constraint')}, and all integrate: holonomic after all"
        if integrals:
            return (
                f"{counted(rows, 'velocity constraint')}: {counted(integrals, 'combination')} "
                f"integrate{'s' if integrals == 1 else ''}, {self.num_nonholonomic} "
                f"{'is' if self.num_nonholonomic == 1 else 'are'} nonholonomic"
            )
        return f"{counted(rows, 'velocity constraint')}, no combination of which integrates"

    def text(self) -> str:
        """The statements with their certificates."""
        lines = [
            f"{self.model}: {self.sentence()}",
            f"  configurations       dimension {self.dimension}: {', '.join(self.coordinates)}",
        ]
        if self.without:
            lines.append(f"  left out             {', '.join(self.without)}")
        lines += [
            f"  holonomic rows       {len(self.holonomic_rows)}"
            + (f": {', '.join(self.holonomic_rows)}" if self.holonomic_rows else ""),
            f"  velocity rows        {len(self.velocity_rows)}"
            + (f": {', '.join(self.velocity_rows)}" if self.velocity_rows else ""),
        ]
        lines += [f"  integrates           {integral.text()}" for integral in self.integrals]
        if self.is_affine:
            lines.append(f"  affine               {AFFINE}")
        if self.time is not None:
            lines.append(f"  time                 {self.changing}")
        lines.append(
            f"  admissible motions   {', '.join(self.generators) or 'none'}"
            + (f" (controls: {', '.join(self.controls)})" if self.controls else "")
        )
        lines += _growth_lines("growth vector", self.growth)
        if self.growth_there is not None and self.at is not None:
            where = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
            lines.append(f"  at {where}")
            lines += _growth_lines("  growth there", self.growth_there)
        reach = (
            "every direction (Chow and Rashevskii)"
            if self.is_bracket_generating
            else f"{self.growth.rank} of {self.dimension} dimensions"
        )
        lines.append(f"  brackets reach       {reach}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = {
            "model": self.model,
            "sentence": self.sentence(),
            "coordinates": list(self.coordinates),
            "without": list(self.without),
            "dimension": self.dimension,
            "generators": list(self.generators),
            "controls": list(self.controls),
            "holonomic_rows": list(self.holonomic_rows),
            "velocity_rows": list(self.velocity_rows),
            "integrals": [
                {
                    "kind": i.kind,
                    "rows": i.rows,
                    "coefficients": i.coefficients,
                    "residual": i.residual,
                    "coordinate": i.coordinate,
                    "transversal": i.transversal,
                    "formula": i.formula,
                    "text": i.text(),
                }
                for i in self.integrals
            ],
            "is_decided": self.is_decided,
            "is_affine": self.is_affine,
            "time": self.time,
            "is_bracket_generating": self.is_bracket_generating,
            "growth": _growth_json(self.growth),
        }
        if self.growth_there is not None:
            found["at"] = self.at
            found["growth_there"] = _growth_json(self.growth_there)
        return found

    def __repr__(self) -> str:
        return self.text()


def _growth_json(growth: Growth) -> dict[str, Any]:
    return {
        "vector": list(growth.vector),
        "degree": growth.degree,
        "brackets": [list(level) for level in growth.brackets],
        "gap": float(np.clip(growth.gap, 0.0, 1e300)),
        "digits": "more than double" if growth.is_precise else "double",
    }


def _growth_lines(title: str, growth: Growth) -> list[str]:
    numbers = ", ".join(str(k) for k in growth.vector)
    digits = ", some by 60 digits" if growth.is_precise else ""
    lines = [f"  {title:<20} ({numbers}); ranks by a gap of {growth.gap:.1e}{digits}"]
    lines += [
        f"    depth {depth}            {', '.join(names)}"
        for depth, names in enumerate(growth.brackets[1:], 2)
        if names
    ]
    return lines


def _sum(coefficients: Mapping[str, float]) -> str:
    """``x - 0.3 angle``"""
    text = ""
    for name, value in coefficients.items():
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        size = abs(value)
        text += f"{sign}{'' if abs(size - 1) < VANISHES else f'{size:.6g} '}{name}"
    return text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldFrame:
    """The fields that span D and those that span what brackets reach, on a chart."""

    chart: FieldChart
    generators: tuple[Field, ...]
    #: A basis of the last Dᵏ at generic configurations: generators first.
    reached: tuple[Field, ...]

    @property
    def free(self) -> tuple[Field, ...]:
        """Motions that no force of a constraint or of an imposed speed works along."""
        return self.generators[: self.chart.kin.num_independent_speeds]


@dataclass(frozen=True, kw_only=True, eq=False)
class TracedModel:
    """A model traced and bracketed once, for all statements about it."""

    kin: Kinematics
    params: Array
    equations: Equations | None = None  # of the same trace

    @cached_property
    def framed(self) -> tuple[FieldFrame, Growth]:
        """Fields with all coordinates, and their growth."""
        return framed(self.kin, self.params)

    @property
    def can_move(self) -> bool:
        """Whether there is a freedom, or a speed input."""
        return bool(self.kin.num_independent_speeds or self.kin.model.speed_inputs)

    def check_can_move(self) -> None:
        """Refuse statements about motions of a mechanism that has none."""
        if not self.can_move:
            raise FormulationError(
                "the mechanism cannot move: it has no freedom and no speed input",
                f"geometry of model '{self.kin.model.name}'",
                "check its constraints with noslip check",
            )


def subject_of(
    verb: str, model: Model, parameters: Mapping[str, float] | None, *, is_derived: bool = False
) -> TracedModel:
    """A model traced, with its equations where they are needed."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"{verb} takes a Model, got {type(model).__name__}",
            f"model, argument of {verb}",
            "load one, or build() it",
        )
    model = with_parameters(model, parameters)
    equations = derive(model) if is_derived else None
    kin = trace(model) if equations is None else equations.kinematics
    return TracedModel(kin=kin, params=kin.probe.params, equations=equations)


def distribution(
    model: Model,
    *,
    at: Mapping[str, float] | None = None,
    without: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    deepest: int = DEEPEST,
) -> Distribution:
    """The distribution of admissible velocities: what integrates, and how brackets grow.

    Parameters
    ----------
    model : checked model.
    at : a configuration to look at beside random ones: coordinates and named angles, completed
        as a start is.
    without : coordinates to leave out, or joints for all of theirs; no other may depend on them.
    parameters : name → value, instead of the nominal ones.
    deepest : depth of the deepest brackets that are looked at.

    Raises
    ------
    FormulationError : if other fields depend on what is left out, or brackets become too long.
    """
    subject = subject_of("distribution", model, parameters)
    return distribution_in(subject, at=at, without=without, deepest=deepest)


def distribution_in(
    subject: TracedModel,
    *,
    at: Mapping[str, float] | None = None,
    without: Sequence[str] = (),
    deepest: int = DEEPEST,
) -> Distribution:
    """The distribution of a model that is traced already."""
    kin, model = subject.kin, subject.kin.model
    if without or deepest != DEEPEST:
        frame, growth = framed(kin, subject.params, without, deepest)
    else:
        frame, growth = subject.framed
    chart = frame.chart
    driven = {i.name for i in model.speed_inputs}
    rows = [
        k for k in kin.row_basis if not kin.rows[k].is_holonomic and kin.rows[k].name not in driven
    ]
    holonomic = [k for k in kin.row_basis if kin.rows[k].is_holonomic]
    try:
        integrals, is_decided = tuple(_integrals(subject.framed[0], rows)), True
    except FormulationError:
        if not without:
            raise
        integrals, is_decided = (), False
    there, where = None, None
    if at is not None:
        where = dict(at)
        there = _growth_at(model, at, chart, without, growth, deepest)
    return Distribution(
        model=model.name,
        coordinates=tuple(kin.coordinates[k].name for k in chart.kept),
        without=tuple(c.name for k, c in enumerate(kin.coordinates) if k not in set(chart.kept)),
        dimension=dimension_of(chart),
        generators=tuple(f.name for f in frame.generators),
        controls=tuple(i.name for i in model.speed_inputs),
        holonomic_rows=tuple(kin.rows[k].name for k in holonomic),
        velocity_rows=tuple(kin.rows[k].name for k in rows),
        growth=growth,
        integrals=integrals,
        is_decided=is_decided,
        is_affine=is_affine(chart),
        time=chart.samples[0][0] if changes_with_time(chart) else None,
        at=where,
        growth_there=there,
        frame=frame,
    )


def integrals_of(kin: Kinematics) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Names of the independent rows that restrict speeds, and texts of what of them integrates.

    None where brackets are longer than a check may take.
    """
    rows = _velocity_rows(kin)
    names = tuple(kin.rows[k].name for k in rows)
    if not rows:
        return (), ()
    if kin.is_long or not kin.num_independent_speeds:
        return names, None
    try:
        frame, _ = framed(kin, kin.probe.params, most=CHECKED)
        return names, tuple(i.text() for i in _integrals(frame, rows))
    except FormulationError:
        return names, None


def _velocity_rows(kin: Kinematics) -> list[int]:
    """Independent rows that restrict speeds, and are no controls."""
    driven = {i.name for i in kin.model.speed_inputs}
    rows = [k for k in kin.row_basis if not kin.rows[k].is_holonomic]
    return [k for k in rows if kin.rows[k].name not in driven]


def with_parameters(model: Model, changes: Mapping[str, float] | None) -> Model:
    """A model with other nominal parameters, so that random configurations satisfy its loops."""
    if not changes:
        return model
    values = model.parameter_values()
    where = f"parameters of model '{model.name}'"
    for name, value in changes.items():
        if name not in values:
            raise FormulationError(
                f"there is no parameter '{name}'", where, nearest(name, list(values))
            )
        if not np.isfinite(value):
            raise FormulationError(f"parameter '{name}' is {value}", where, "give a finite number")
    given = values | dict(changes)
    parameters = tuple(dataclasses.replace(p, value=float(given[p.name])) for p in model.parameters)
    return dataclasses.replace(model, parameters=parameters)


def framed(
    kin: Kinematics,
    params: Array,
    without: Sequence[str] = (),
    deepest: int = DEEPEST,
    most: int = MOST_OPERATIONS,
) -> tuple[FieldFrame, Growth]:
    """Fields of a model at random configurations, and their growth."""
    if not 1 <= deepest <= 30:
        raise FormulationError(
            f"deepest is {deepest}", f"geometry of model '{kin.model.name}'", "give 1 to 30"
        )
    kept = _kept(kin, without)
    samples = tuple(kin.probe.configurations(SAMPLES))
    if not samples:
        raise FormulationError(
            "no regular random configuration was found",
            f"geometry of model '{kin.model.name}'",
            "check the ranges of its coordinates and whether its loops can move",
        )
    first = samples[0][0]
    moved = [kin.probe.on_manifold(q, first) if kin.probe.holonomic else q for _, q in samples]
    chart = FieldChart(
        kin=kin,
        kept=kept,
        samples=tuple((first, q) for q in moved if q is not None),
        params=params,
        most=most,
    )
    generators = _generators(chart)
    growth, reached = grow(chart, generators, deepest)
    return FieldFrame(chart=chart, generators=generators, reached=reached), growth


def _kept(kin: Kinematics, without: Sequence[str]) -> tuple[int, ...]:
    """Coordinates that are not left out."""
    names = [c.name for c in kin.coordinates]
    joints = {name.partition(".")[0] for name in names}
    out: set[str] = set()
    for word in without:
        found = {n for n in names if n == word or (word in joints and n.startswith(f"{word}."))}
        if not found:
            raise FormulationError(
                f"there is no coordinate '{word}' to leave out",
                f"geometry of model '{kin.model.name}'",
                nearest(word, [*names, *sorted(joints)]),
            )
        out |= found
    return tuple(k for k, name in enumerate(names) if name not in out)


def _generators(chart: FieldChart) -> tuple[Field, ...]:
    """Columns of N S and N ∂s/∂w, in the coordinates that are kept; of a timed chart, time last."""
    kin, symbols = chart.kin, chart.kin.symbols
    columns = ca.horzcat(kin.S, ca.jacobian(kin.s, symbols.w))
    names = [s.name for s in kin.independent_speeds] + [i.name for i in kin.model.speed_inputs]
    if chart.is_timed:
        columns, names = ca.horzcat(columns, kin.s), [*names, "t"]
    if not names:
        return ()
    # s is linear in w wherever speed inputs are rates of what moves
    rates = ca.substitute(
        [ca.mtimes(kin.N, columns)], [symbols.w], [ca.SX.zeros(len(kin.model.speed_inputs))]
    )[0]
    if chart.is_timed:
        rates = ca.vertcat(rates, ca.DM([[0.0] * (len(names) - 1) + [1.0]]))
    rates = ca.densify(ca.simplify(chart.numeric(rates)))[list(chart.kept), :]
    _check_independent_of_others(chart, rates)
    return tuple(Field(name, rates[:, k]) for k, name in enumerate(names))


def _check_independent_of_others(chart: FieldChart, rates: ca.SX) -> None:
    """What is left out must not move what stays."""
    kin = chart.kin
    left = [k for k in range(kin.num_coordinates) if k not in set(chart.kept)]
    for k in left:
        slope = ca.jacobian(ca.vec(rates), chart.state[k])
        if slope.nnz() and max(np.max(np.abs(x), initial=0.0) for x in chart.evaluate(slope)) > (
            VANISHES
        ):
            raise FormulationError(
                f"'{kin.coordinates[k].name}' cannot be left out: other motions depend on it",
                f"geometry of model '{kin.model.name}'",
                "leave out angles that nothing else depends on, such as those of round wheels",
            )


def grow(
    chart: FieldChart, generators: Sequence[Field], deepest: int = DEEPEST
) -> tuple[Growth, tuple[Field, ...]]:
    """(1) at generic configurations.

    Where ranks are constant, Dᵏ is spanned by the fields found so far with functions as
    coefficients, so that brackets of generators with the newest of them suffice.
    """
    basis, values, rank, gap, precise = extend(chart, [], None, generators)
    vector = [rank]
    names = [tuple(f.name for f in generators)]
    newest = list(basis)
    while newest and len(vector) < deepest:
        depth = len(vector) + 1
        candidates = _brackets(chart, generators, newest, depth)
        basis, values, rank, further, by_digits = extend(chart, basis, values, candidates)
        gap, precise = min(gap, further), precise or by_digits
        newest = basis[vector[-1] :]
        if rank == vector[-1]:
            break
        vector.append(rank)
        names.append(tuple(f.name for f in newest))
    else:
        if newest:
            raise FormulationError(
                f"brackets still grow at depth {deepest}: ({', '.join(map(str, vector))})",
                f"geometry of model '{chart.kin.model.name}'",
                "look deeper with deepest=, or leave coordinates out with without=",
            )
    growth = Growth(vector=tuple(vector), brackets=tuple(names), gap=float(gap), is_precise=precise)
    return growth, tuple(basis)


def _brackets(
    chart: FieldChart, generators: Sequence[Field], newest: Sequence[Field], depth: int
) -> list[Field]:
    """[X, Y] of generators with the newest fields, each pair of generators once."""
    chart.check_length(newest, 3 * len(generators))
    return [
        chart.bracket(X, Y)
        for i, X in enumerate(generators)
        for j, Y in enumerate(newest)
        if depth > 2 or i < j
    ]


def extend(
    chart: FieldChart,
    basis: list[Field],
    values: list[Array] | None,
    candidates: Sequence[Field],
) -> tuple[list[Field], list[Array], int, float, bool]:
    """Add those candidates that raise the rank: basis, values, rank, least gap, and digits.

    Ranks of all samples must agree with the largest; samples where they do not are not generic.
    Values of the basis have unit length, so that fields that are small count.
    """
    found = chart.values_with_noise(candidates)
    values = values or [np.zeros((len(chart.kept), 0)) for _ in chart.samples]
    rank, gap, precise = len(basis), np.inf, False
    basis = list(basis)
    for k, candidate in enumerate(candidates):
        if rank == len(chart.kept):
            break
        columns = [value[:, k : k + 1] for value, _ in found]
        trial = [np.hstack([a, _shortened(c)]) for a, c in zip(values, columns, strict=True)]
        fields = [*basis, candidate]
        ranks = [chart.rank_of(x, fields, sample) for sample, x in enumerate(trial)]
        if max(ranks).value == rank:  # small, but more than rounding leaves?
            felt = [_felt(a, c, n[k]) for a, c, (_, n) in zip(values, columns, found, strict=True)]
            if max(felt) > FELT:
                sample = int(np.argmax(felt))
                ranks[sample] = chart.precise_rank(fields, sample) or ranks[sample]
        best = max(ranks, key=lambda r: r.value)
        gap = min(gap, *(r.gap for r in ranks if r.value == best.value))
        precise = precise or any(r.is_precise for r in ranks if r.value == best.value)
        if best.value > rank:
            basis, rank = fields, best.value
            values = [
                np.hstack([a, c / max(float(np.linalg.norm(c)), 1e-300)])
                for a, c in zip(values, columns, strict=True)
            ]
    return basis, values, rank, gap, precise


def _shortened(column: Array) -> Array:
    """A column of at most unit length."""
    return np.asarray(column / max(1.0, float(np.linalg.norm(column))))


def _felt(span: Array, column: Array, noise: float) -> float:
    """What a field adds to a span, in units of what rounding leaves of it."""
    rest = column[:, 0]
    if span.shape[1]:
        basis, _ = np.linalg.qr(span)
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
    size = float(np.linalg.norm(rest))
    return size / noise if noise > 0.0 else 0.0


def _growth_at(
    model: Model,
    at: Mapping[str, float],
    chart: FieldChart,
    without: Sequence[str],
    generic: Growth,
    deepest: int,
) -> Growth:
    """Growth at one configuration: of all brackets, until they reach what they do elsewhere."""
    system = System(equations=derive(model))
    kin = system.kinematics
    speeds = [name for name in at if name in {s.name for s in kin.speeds}]
    if speeds:
        raise FormulationError(
            f"'{speeds[0]}' is a speed",
            "at, argument of distribution",
            "give a configuration: coordinates and named angles",
        )
    q = complete_start(system, dict(at), parameters=chart.params).q
    # a basis of speeds that is regular there
    (choice,) = kin.regular_bases(np.zeros(1), q[None], chart.params[None])
    if choice is None or choice.rank <= _LOST:
        raise FormulationError(
            "the constraints lose rank at this configuration, so that it has no one dimension",
            f"at, geometry of model '{model.name}'",
            "look at a configuration beside it",
        )
    own = set(choice.dependent)
    names = tuple(s.name for k, s in enumerate(kin.speeds) if k not in own)
    if len(names) != kin.num_independent_speeds:
        names = tuple(s.name for s in kin.independent_speeds)
    regular = trace(model, independent=names, row_basis=choice.rows, near=(0.0, q))
    here = FieldChart(
        kin=regular, kept=_kept(regular, without), samples=((0.0, q),), params=chart.params
    )
    generators = _generators(here)
    level = list(generators)
    basis, values, rank, gap, precise = extend(here, [], None, generators)
    vector, names_by_level = [rank], [tuple(f.name for f in generators)]
    while rank < generic.rank:
        depth = len(vector) + 1
        if depth > deepest:
            raise FormulationError(
                f"brackets of depth {deepest} reach {rank} of {generic.rank} dimensions",
                f"at, geometry of model '{model.name}'",
                "look deeper with deepest=",
            )
        level = _brackets(here, generators, level, depth)
        basis, values, rank, further, by_digits = extend(here, basis, values, level)
        gap, precise = min(gap, further), precise or by_digits
        names_by_level.append(tuple(f.name for f in basis[vector[-1] :]))
        vector.append(rank)
        level = [f for f in level if _is_there(here, f)]
    return Growth(
        vector=tuple(vector), brackets=tuple(names_by_level), gap=float(gap), is_precise=precise
    )


#: Least singular value of the rows below which a configuration is singular.
_LOST = 1e-8


def _is_there(chart: FieldChart, X: Field) -> bool:
    """Whether a field has any component, so that deeper brackets with it may have some."""
    return not ca.sparsify(ca.simplify(X.components)).is_zero()


def dimension_of(chart: FieldChart) -> int:
    """n: rank of the rates of the coordinates that are kept where all holonomic rows hold."""
    return max(rank_of(values).value for values in tangent_space(chart))


def tangent_space(chart: FieldChart) -> list[Array]:
    """Columns that span the rates, in m/s, of the kept coordinates where holonomic rows hold."""
    kin = chart.kin
    holonomic = [k for k in range(len(kin.rows)) if kin.rows[k].is_holonomic]
    maps = chart.evaluate(ca.densify(chart.numeric(kin.N)))
    rows = [np.zeros((0, kin.num_speeds))] * len(maps)
    if holonomic:
        rows = chart.evaluate(chart.numeric(ca.densify(kin.A[holonomic, :])))
    scale = kin.probe.scale
    return [
        chart.sizes[:, None] * (N @ (null_space(H / scale) / scale[:, None]))[list(chart.kept)]
        for N, H in zip(maps, rows, strict=True)
    ]


def null_space(matrix: Array) -> Array:
    """Columns that span what a matrix of rows lets free."""
    if not matrix.shape[0]:
        return np.eye(matrix.shape[1])
    _, singular, right = np.linalg.svd(matrix)
    rank = int(np.sum(singular > VANISHES * max(singular.max(initial=0.0), 1e-300)))
    return np.asarray(right[rank:].T)


def is_affine(chart: FieldChart) -> bool:
    """Whether rows have a part at rest, with all speed inputs 0."""
    kin = chart.kin
    rest = _at_rest(kin, kin.s)
    if ca.sparsify(rest).is_zero():
        return False
    values = chart.evaluate(chart.numeric(rest))
    return any(float(np.max(np.abs(x), initial=0.0)) > VANISHES for x in values)


def changes_with_time(chart: FieldChart) -> bool:
    """Whether the admissible motions, but for those at rest, are others at another time."""
    kin = chart.kin
    symbols = kin.symbols
    columns = ca.mtimes(kin.N, ca.horzcat(kin.S, ca.jacobian(kin.s, symbols.w)))
    slopes = ca.jacobian(ca.vec(_at_rest(kin, columns)), symbols.t)
    if not slopes.nnz():
        return False
    values = chart.evaluate(ca.densify(chart.numeric(slopes)))
    return any(float(np.max(np.abs(x), initial=0.0)) > VANISHES for x in values)


def _at_rest(kin: Kinematics, traced: ca.SX) -> ca.SX:
    """With all speed inputs 0."""
    zero = ca.SX.zeros(len(kin.model.speed_inputs))
    found: ca.SX = ca.substitute([ca.densify(traced)], [kin.symbols.w], [zero])[0]
    return found


def _with_time(frame: FieldFrame) -> FieldFrame:
    """The same fields with time as a coordinate, and what happens by itself as a motion."""
    chart = frame.chart
    timed = dataclasses.replace(
        chart,
        kept=(*chart.kept, chart.kin.num_coordinates),
        samples=tuple(chart.kin.probe.configurations(SAMPLES)),
        is_timed=True,
    )
    generators = _generators(timed)
    _, reached = grow(timed, generators)
    return FieldFrame(chart=timed, generators=generators, reached=reached)


def _integrals(frame: FieldFrame, rows: Sequence[int]) -> list[Integral]:
    """Combinations of velocity rows that annihilate everything that brackets reach."""
    if not rows:
        return []
    dimension = dimension_of(frame.chart)
    if is_affine(frame.chart) or changes_with_time(frame.chart):
        frame, dimension = _with_time(frame), dimension + 1
    chart, kin = frame.chart, frame.chart.kin
    # as many as dimensions that brackets do not reach (Frobenius)
    count = dimension - len(frame.reached)
    if not count:
        return []
    N = chart.numeric(ca.densify(kin.N))
    A = chart.numeric(ca.densify(kin.A[list(rows), :]))
    # rows on q̇: A (NᵀN)⁻¹Nᵀ
    gram = ca.mtimes(N.T, N)
    forms = ca.mtimes(A, ca.solve(gram, N.T))
    if chart.is_timed:
        forms = ca.horzcat(forms, chart.numeric(_at_rest(kin, kin.a)[list(rows)]))
    forms = ca.densify(forms)
    spans = chart.values(frame.reached)
    covectors = chart.evaluate(forms)
    combined = []
    for span, covector in zip(spans, covectors, strict=True):
        # each row and each field in units of its own size
        scaled_rows = covector / chart.sizes
        sizes = np.linalg.norm(scaled_rows, axis=1)
        lengths = np.maximum(np.linalg.norm(span, axis=0), 1e-300)
        scaled = (scaled_rows @ span) / sizes[:, None] / lengths
        _, singular, right = np.linalg.svd(scaled.T)
        singular = np.append(singular, np.zeros(len(rows) - len(singular)))
        if singular[-count] > INTEGRATES:
            raise FormulationError(
                f"brackets leave {counted(count, 'dimension')} out, which the rows do not account "
                f"for (to {singular[-count]:.1e})",
                f"geometry of model '{kin.model.name}'",
                "leave coordinates out with without=, or narrow their ranges",
            )
        combined.append(right[-count:] / sizes)
    return _recognized(frame, rows, forms, combined, covectors)


def _recognized(
    frame: FieldFrame,
    rows: Sequence[int],
    forms: ca.SX,
    combined: list[Array],
    covectors: list[Array],
) -> list[Integral]:
    """Integrals by kind: linear in the coordinates, exact, or with a factor that varies."""
    chart, kin = frame.chart, frame.chart.kin
    names = chart.names
    row_names = [kin.rows[k].name for k in rows]
    # the combinations on q̇, reduced to echelon form about the same coordinates everywhere
    on_rates = [c @ x for c, x in zip(combined, covectors, strict=True)]
    weights = np.where(np.array(chart.units) == "s", 0.0, 1.0 / chart.sizes)
    pivots = _pivots([x * weights for x in on_rates])  # time is given
    reduced = [np.linalg.solve(x[:, pivots], x) for x in on_rates]
    shares = [np.linalg.solve(x[:, pivots], c) for x, c in zip(on_rates, combined, strict=True)]
    mean = np.mean(reduced, axis=0)
    reduced_forms = forms
    if len(pivots) == len(rows):  # all rows integrate: reduced by themselves
        reduced_forms = ca.solve(ca.densify(forms[:, pivots]), ca.densify(forms))
    deviation = np.max(np.abs(reduced - mean), axis=(0, 2)) / np.max(np.abs(mean), axis=1)
    found, spanned, leaf = list[Integral](), np.zeros((0, len(names))), None

    def is_new(covector: Array) -> bool:
        nonlocal spanned
        if len(spanned) == len(pivots):
            return False
        trial = np.vstack([spanned, covector * weights / np.linalg.norm(covector * weights)])
        is_more = bool(np.linalg.svd(trial, compute_uv=False)[-1] > INTEGRATES)
        spanned = trial if is_more else spanned
        return is_more

    shown = [x / np.max(np.abs(x)) for x in shares[0]]
    used = [
        {n: float(x) for n, x in zip(row_names, row, strict=True) if abs(x) > 1e-9} for row in shown
    ]
    for k in map(int, np.flatnonzero(deviation < VANISHES)):
        steady = [s[k] / s[k][np.argmax(np.abs(shown[k]))] for s in shares]
        apart = np.max(np.abs(np.array(steady) - steady[0])) > VANISHES
        given = dict.fromkeys(used[k], math.nan) if apart else used[k]
        if is_new(mean[k]):
            found.append(_linear(chart, names, mean[k], given, float(deviation[k])))
    for c in _exact_combinations(frame, forms, covectors):
        if is_new(c @ covectors[0]):
            exact = _closed(chart, ca.mtimes(ca.DM(c).T, forms), covectors)
            given = {n: float(x) for n, x in zip(row_names, c, strict=True) if abs(x) > 1e-9}
            if exact is not None:
                found.append(dataclasses.replace(exact, rows=given))
    for k in range(len(pivots)):
        if len(pivots) == len(rows) and len(found) < len(pivots):
            exact = _closed(chart, reduced_forms[k, :], covectors)
            if exact is not None and is_new(reduced[0][k]):
                found.append(dataclasses.replace(exact, rows=dict.fromkeys(row_names, math.nan)))
    for k in range(len(pivots)):
        if is_new(reduced[0][k]):
            leaf = leaf or leaf_of(chart, frame.reached, pivots)
            found.append(_on_leaf(chart, names, leaf, k, pivots[k], tuple(used[k])))
    return found


def _exact_combinations(frame: FieldFrame, forms: ca.SX, covectors: Sequence[Array]) -> list[Array]:
    """Constants c for which c·forms vanishes on what brackets reach and has no curl."""
    chart, count = frame.chart, forms.shape[0]
    sizes = np.linalg.norm(covectors[0], axis=1)
    curls = []
    for k in range(count):
        slopes = ca.jacobian(forms[k, :].T, chart.q)
        curls.append(ca.vec(ca.densify(slopes - slopes.T)))
    conditions = chart.evaluate(ca.horzcat(*curls))
    for span, covector in zip(chart.values(frame.reached), covectors, strict=True):
        lengths = np.maximum(np.linalg.norm(span, axis=0), 1e-300)
        conditions.append(((covector / chart.sizes) @ span / lengths).T)
    _, singular, right = np.linalg.svd(np.vstack(conditions) / sizes)
    free = right[int(np.sum(singular > VANISHES)) :].T  # of rows of unit length
    if not free.shape[1]:
        return []
    # about the rows that are in them by themselves, the first ones first
    _, _, order = qr(free.T, pivoting=True)
    first = sorted(order[: free.shape[1]])
    reduced = free @ np.linalg.inv(free[first])
    reduced[np.abs(reduced) < VANISHES] = 0.0
    return [c / sizes / np.max(np.abs(c / sizes)) for c in reduced.T]


def _on_leaf(
    chart: FieldChart,
    names: list[str],
    leaf: Leaf | None,
    k: int,
    pivot: int,
    rows: tuple[str, ...],
) -> Integral:
    """The integral whose value is the kth coordinate of the leaf's fibre."""
    there = {}
    if leaf is not None:
        there = {names[b]: float(leaf.reference[chart.kept[b]]) + 0.0 for b in leaf.carriers(k)}
    return Integral(
        is_timed=chart.is_timed,
        rows=dict.fromkeys(rows, math.nan),
        kind="leaf",
        coefficients={},
        residual=math.nan if leaf is None else leaf.residual,
        coordinate=names[pivot],
        transversal=there,
        leaf=leaf,
        place=k,
    )


def _closed(chart: FieldChart, form: ca.SX, covectors: Sequence[Array]) -> Integral | None:
    """The integral of a one-form whose curl vanishes."""
    curl = ca.jacobian(form.T, chart.q)
    values = chart.evaluate(ca.densify(curl - curl.T))
    size = max(float(np.max(np.abs(x))) for x in covectors)
    residual = max(float(np.max(np.abs(x), initial=0.0)) for x in values) / size
    if not residual < VANISHES:
        return None
    from noslip.geometry.closed_forms import potential_of, printed

    function = ca.Function("form", [chart.state], [_on_state(chart, form)])
    written = potential_of(chart, form)
    return Integral(
        is_timed=chart.is_timed,
        rows={},
        kind="exact",
        coefficients={},
        residual=residual,
        formula="" if written is None else printed(written),
        form=function,
    )


def _pivots(matrices: Sequence[Array]) -> list[int]:
    """Columns about which rows are reduced: those that are independent at all samples, best first.

    Rows are any that span the same, so that lengths of columns count, of rows of unit length.
    """
    rest = [np.linalg.qr(x.T)[0].T for x in matrices]
    found: list[int] = []
    for _ in range(len(rest[0])):
        sizes = np.min([np.linalg.norm(x, axis=0) for x in rest], axis=0)
        found.append(int(np.argmax(np.round(sizes, 9))))
        ways = [x[:, found[-1]] / max(float(np.linalg.norm(x[:, found[-1]])), 1e-300) for x in rest]
        rest = [x - np.outer(way, way @ x) for x, way in zip(rest, ways, strict=True)]
    return found


def _linear(
    chart: FieldChart, names: list[str], form: Array, rows: dict[str, float], residual: float
) -> Integral:
    """An integral with constant coefficients, with the first length's coefficient 1."""
    size = float(np.max(np.abs(form)))
    present = [k for k in range(len(names)) if abs(form[k]) > VANISHES * size]
    own = [k for k in present if chart.units[k] != "s"]
    lengths = [k for k in own if chart.units[k] == "m"]
    first = lengths[0] if lengths else max(own, key=lambda k: abs(form[k]))
    scaled = form / form[first]
    order = [first, *(k for k in present if k != first)]
    coefficients = {names[k]: float(scaled[k]) for k in order}
    covector = ca.DM(np.where(np.abs(form) > VANISHES * size, scaled, 0.0)).T
    function = ca.Function("form", [chart.state], [_on_state(chart, ca.SX(covector))])
    return Integral(
        rows=rows,
        kind="linear",
        coefficients=coefficients,
        residual=residual,
        is_timed=chart.is_timed,
        form=function,
    )


def _on_state(chart: FieldChart, form: ca.SX) -> ca.SX:
    """A one-form on the coordinates that are kept, on all of them."""
    found = ca.SX.zeros(1, chart.state.numel())
    found[0, list(chart.kept)] = form
    return found
