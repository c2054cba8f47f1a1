"""`controllability`: where inputs can bring a mechanism, from rest.

**Kinematic**: with speeds as inputs, q̇ = Σ wᵢ Xᵢ(q) reaches every configuration nearby if brackets
of the Xᵢ span all directions (Chow and Rashevskii, [MurrayLiSastry1994]).

**Dynamic**: with forces as inputs, from rest and without other forces, the motion is
∇_q̇ q̇ = Σ uₐ Yₐ(q) with the constrained connection, whose covariant derivatives are, on components
in the frame of the independent speeds,

    (1)  ∇_X Y = L_X y + Γ(x, y),    η̇ = −Γ(η, η) where no force acts
    (2)  ⟨X : Y⟩ = ∇_X Y + ∇_Y X

A product of inputs under (2) is *bad* if every input occurs in it an even number of times, *good*
otherwise. The mechanism is locally configuration accessible where brackets of all products span the
configurations, and small-time locally configuration controllable if, besides, every bad product is
a combination of good ones of lower degree [LewisMurray1997]: Sussmann's condition [Sussmann1987],
evaluated at rest. It suffices and is not necessary. A mechanism that is not accessible, or has one
input and more than one dimension [Lewis1997], is not controllable.

**Kinematic reductions** [BulloLynch2001]: a field X of the inputs' span is decoupling, so that
every curve along it, however it is timed, can be driven, if ∇_X X is in that span.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from noslip.algebra import symmetric_solve
from noslip.base import Array, FormulationError, counted
from noslip.formulations import Equations
from noslip.geometry.closed_forms import limit_of
from noslip.geometry.distributions import (
    FieldFrame,
    TracedModel,
    changes_with_time,
    dimension_of,
    grow,
    is_affine,
    subject_of,
)
from noslip.geometry.fields import VANISHES, Field, FieldChart, rank_of
from noslip.model import Model

#: Degree of the products that are looked at.
DEGREE = 5
#: Operations of all products of a degree, beyond which higher ones are left out.
MOST = 400_000

#: Why nothing is said of rows that change with time.
CHANGING = "rows change with time, for which the theorems are not made"

YES, NO, UNDECIDED = "yes", "no", "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement with the theorem that proves it and its numbers."""

    #: ``yes``, ``no`` or ``undecided``.
    answer: str
    #: Who proved what is used.
    theorem: str
    #: Why, with the ranks that prove it.
    reason: str

    def __bool__(self) -> bool:
        return self.answer == YES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Controllability:
    """Where inputs bring a mechanism. Made by :func:`controllability`."""

    model: str
    #: Of the configurations that brackets of the admissible motions reach.
    dimension: int
    inputs: tuple[str, ...]
    #: With all independent speeds and speed inputs as inputs.
    kinematic: Statement
    #: Whether configurations reached from rest fill a region.
    accessible: Statement
    #: Whether they surround the start, in however short a time.
    controllable: Statement
    #: Decoupling fields, as combinations of inputs.
    decoupling: tuple[str, ...]
    #: Whether motions along decoupling fields alone reach every configuration.
    by_decoupling: Statement
    #: Forces that the statements leave out.
    left_out: str = ""

    @property
    def statements(self) -> dict[str, Statement]:
        """All statements, by the short name of each."""
        return {
            "with speeds": self.kinematic,
            "accessible": self.accessible,
            "from rest": self.controllable,
            "by reductions": self.by_decoupling,
        }

    def text(self) -> str:
        """The statements with their reasons."""
        lines = [f"{self.model}: controllability at generic configurations"]
        for title, statement in self.statements.items():
            lines.append(f"  {title:<20} {statement.answer}: {statement.reason}")
            if statement.theorem:
                lines.append(f"  {'':<20} {statement.theorem}")
        lines.append(f"  {'decoupling fields':<20} {', '.join(self.decoupling) or 'none found'}")
        if self.left_out:
            lines.append(f"  {'left out':<20} {self.left_out}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        keys = ("kinematic", "accessible", "controllable", "by_decoupling")
        plain = [dataclasses.asdict(statement) for statement in self.statements.values()]
        return {
            "model": self.model,
            "dimension": self.dimension,
            "inputs": list(self.inputs),
            **dict(zip(keys, plain, strict=True)),
            "decoupling": list(self.decoupling),
            "left_out": self.left_out,
        }

    def __repr__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A symmetric product of inputs: components in the frame of the speeds, and input counts."""

    name: str
    components: ca.SX  # (nf,)
    counts: tuple[int, ...]

    @property
    def degree(self) -> int:
        """Number of inputs in it."""
        return sum(self.counts)

    @property
    def is_bad(self) -> bool:
        """Whether every input occurs an even number of times."""
        return all(count % 2 == 0 for count in self.counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Connection:
    """The constrained connection of (1) in the frame of the independent speeds."""

    chart: FieldChart
    frame: tuple[Field, ...]  # columns of N S
    eta: ca.SX
    geodesic: ca.SX  # −Γ(η, η), without forces
    inputs: tuple[Product, ...] = field(default=())

    def rates(self, x: ca.SX) -> ca.SX:
        """q̇ of components in the frame."""
        return ca.mtimes(ca.horzcat(*[f.components for f in self.frame]), x)

    @cached_property
    def turning(self) -> list[ca.SX]:
        """Γ of each component as a symmetric matrix: −½ ∂²f/∂η∂η of f = −Γ(η, η)."""
        return [-ca.hessian(f, self.eta)[0] / 2 for f in ca.vertsplit(self.geodesic)]

    def product(self, X: Product, Y: Product) -> Product:
        """(2)"""
        x, y, q = X.components, Y.components, self.chart.q
        turned = ca.vertcat(*[2 * ca.bilin(gamma, x, y) for gamma in self.turning])
        along = ca.jtimes(y, q, self.rates(x)) + ca.jtimes(x, q, self.rates(y))
        counts = tuple(a + b for a, b in zip(X.counts, Y.counts, strict=True))
        return Product(f"⟨{X.name} : {Y.name}⟩", ca.densify(ca.cse(along + turned)), counts)

    def values(self, products: list[Product]) -> list[Array]:
        """(nf, n) components at each sample."""
        if not products:
            return [np.zeros((len(self.frame), 0)) for _ in self.chart.samples]
        return self.chart.evaluate(ca.horzcat(*[p.components for p in products]))

    def fields(self, products: list[Product]) -> list[Field]:
        """The products as fields on configurations."""
        return [Field(p.name, ca.densify(self.rates(p.components))) for p in products]


def controllability(
    model: Model, *, parameters: Mapping[str, float] | None = None, degree: int = DEGREE
) -> Controllability:
    """Kinematic controllability, and configuration controllability by forces, from rest.

    Parameters
    ----------
    model : checked model.
    parameters : name → value, instead of the nominal ones.
    degree : highest degree of the symmetric products.

    Raises
    ------
    FormulationError : if the mechanism cannot move.
    """
    if not 1 <= degree <= 8:
        raise FormulationError(
            f"degree is {degree}", "degree, argument of controllability", "give 1 to 8"
        )
    return controllability_in(
        subject_of("controllability", model, parameters, is_derived=True), degree
    )


def controllability_in(subject: TracedModel, degree: int = DEGREE) -> Controllability:
    """Controllability of a model that is traced and derived already."""
    subject.check_can_move()
    equations, model = subject.equations, subject.kin.model
    assert equations is not None, "subjects of controllability are derived"
    frame, growth = subject.framed
    whole, dimension = dimension_of(frame.chart), growth.rank
    held = counted(whole - dimension, "integral")
    columns = ca.horzcat(*[X.components for X in frame.reached])
    limit = limit_of(frame.chart, columns) if dimension == whole else ""
    kinematic = Statement(
        answer=YES if dimension == whole else NO,
        theorem="Chow and Rashevskii" if dimension == whole else "Chow and Rashevskii, Frobenius",
        reason=f"brackets of {counted(len(frame.generators), 'motion')} reach "
        f"{dimension} of {whole} dimensions, gap {growth.gap:.1e}"
        + (f"; {held} of the constraints cannot change" if dimension < whole else "")
        + f"; {limit}" * bool(limit),
    )
    if is_affine(frame.chart):
        kinematic = Statement(
            answer=UNDECIDED,
            theorem="",
            reason="given speeds in the constraints move the mechanism by themselves",
        )
    elif changes_with_time(frame.chart):
        kinematic = Statement(answer=UNDECIDED, theorem="", reason=CHANGING)
    reason, left_out = _obstacles(equations, frame)
    if reason:
        undecided = Statement(answer=UNDECIDED, theorem="", reason=reason)
        return Controllability(
            model=model.name,
            dimension=dimension,
            inputs=tuple(i.name for i in model.inputs),
            kinematic=kinematic,
            accessible=undecided,
            controllable=undecided,
            decoupling=(),
            by_decoupling=undecided,
            left_out=left_out,
        )
    connection = _connection(equations, frame)
    products, is_closed = _products(connection, degree)
    accessible, reached = _accessible(connection, products, dimension, is_closed)
    decoupling, by_decoupling = _reductions(connection, dimension)
    return Controllability(
        model=model.name,
        dimension=dimension,
        inputs=tuple(p.name for p in connection.inputs),
        kinematic=kinematic,
        accessible=accessible,
        controllable=_controllable(connection, products, accessible, reached, dimension, is_closed),
        decoupling=decoupling,
        by_decoupling=by_decoupling,
        left_out=left_out,
    )


def _obstacles(equations: Equations, frame: FieldFrame) -> tuple[str, str]:
    """Why the theorems say nothing, if so; and which forces they leave out."""
    kin, chart = equations.kinematics, frame.chart
    if not kin.model.inputs:
        return "the mechanism has no force input", ""
    if changes_with_time(chart):
        return CHANGING, ""
    if not ca.sparsify(kin.s).is_zero():
        return "the theorems are for constraints without given speeds", ""
    if equations.auxiliary_states.numel():
        return "forces have states of their own, for which the theorems are not made", ""
    zero = ca.SX.zeros(kin.num_independent_speeds)
    forces = chart.numeric(equations.reduced_forces)
    rest = ca.densify(ca.substitute([forces], [equations.kinematics.eta], [zero])[0])
    if max(float(np.max(np.abs(x), initial=0.0)) for x in chart.evaluate(rest)) > VANISHES:
        return "gravity or springs act at rest, for which the theorems are not made", ""
    drags = ca.jacobian(forces, kin.eta)
    return "", "forces that depend on speeds (dampers, friction)" if drags.nnz() else ""


def _connection(equations: Equations, frame: FieldFrame) -> Connection:
    chart, kin = frame.chart, equations.kinematics
    n = kin.num_independent_speeds
    mass, bias, inputs = (
        ca.densify(chart.numeric(x))
        for x in (equations.reduced_mass, equations.reduced_bias, equations.reduced_inputs)
    )
    solved, _ = symmetric_solve(mass, ca.horzcat(-bias, inputs))
    names = [i.name for i in kin.model.inputs]
    kept = [k for k in range(len(names)) if not ca.sparsify(inputs[:, k]).is_zero()]
    products = tuple(
        Product(names[k], solved[:, 1 + k], tuple(int(j == k) for j in kept)) for k in kept
    )
    return Connection(
        chart=chart,
        frame=frame.generators[:n],
        eta=kin.eta,
        geodesic=solved[:, 0],
        inputs=products,
    )


def _products(connection: Connection, degree: int) -> tuple[list[Product], bool]:
    """Products by degree, and whether those of higher degree add nothing.

    They add nothing when good ones already span all speeds: then bad ones of higher degree are
    combinations of good ones of lower degree. Nor do they when all of degrees from k + 1 to 2k
    vanish: one of a higher degree has a factor of a degree above k.
    """
    found: dict[int, list[Product]] = {1: list(connection.inputs)}
    everything, last = list(connection.inputs), 1
    total = 1
    while True:
        if _spanned(connection, [p for p in everything if not p.is_bad]):
            return everything, True
        total += 1
        if total > 2 * last:
            return everything, True
        level = [
            connection.product(X, Y)
            for low in range(1, total // 2 + 1)
            for i, X in enumerate(found[low])
            for j, Y in enumerate(found[total - low])
            if low < total - low or i <= j
        ]
        if level and total > degree:
            return everything, False
        size = ca.Function("size", [connection.chart.kin.symbols.q], [p.components for p in level])
        if size.n_instructions() > MOST:
            return everything, False
        values = connection.values(level)
        there = [
            k for k in range(len(level)) if max(np.max(np.abs(x[:, k])) for x in values) > VANISHES
        ]
        found[total] = [level[k] for k in there]
        everything += found[total]
        last = total if there else last


def _spanned(connection: Connection, products: list[Product]) -> bool:
    """Whether products span all speeds at every sample."""
    ranks = [rank_of(x).value for x in connection.values(products)]
    return min(ranks) == len(connection.frame)


def _accessible(
    connection: Connection, products: list[Product], dimension: int, is_closed: bool
) -> tuple[Statement, int]:
    """Rank of the brackets of all products."""
    fields, rank = _independent(connection, products)
    growth, _ = grow(connection.chart, fields)
    theorem = "Lewis and Murray (1997), accessibility"
    reason = (
        f"{counted(len(products), 'product')} of inputs span {rank} of "
        f"{len(connection.frame)} speeds, their brackets {growth.rank} of {dimension} dimensions"
    )
    if growth.rank == dimension:
        return Statement(answer=YES, theorem=theorem, reason=reason), growth.rank
    if is_closed:
        return Statement(answer=NO, theorem=theorem, reason=reason), growth.rank
    return Statement(answer=UNDECIDED, theorem=theorem, reason=reason), growth.rank


def _independent(connection: Connection, products: list[Product]) -> tuple[list[Field], int]:
    """Fields of as many products as are independent at generic configurations."""
    values = connection.values(products)[0]
    chosen: list[int] = []
    rank = 0
    for k in range(len(products)):
        now = rank_of(values[:, [*chosen, k]]).value
        if now > rank:
            chosen.append(k)
            rank = now
    return connection.fields([products[k] for k in chosen]), rank


def _controllable(
    connection: Connection,
    products: list[Product],
    accessible: Statement,
    reached: int,
    dimension: int,
    is_closed: bool,
) -> Statement:
    """Bad products against good ones of lower degree, at every sample."""
    if accessible.answer == NO:
        return Statement(answer=NO, theorem=accessible.theorem, reason="it is not accessible")
    if len(connection.inputs) == 1 and dimension > 1:
        return Statement(
            answer=NO,
            theorem="Lewis (1997), single inputs",
            reason=f"one input and {dimension} dimensions",
        )
    if accessible.answer == UNDECIDED:
        return Statement(answer=UNDECIDED, theorem="", reason="accessibility is undecided")
    values = connection.values(products)
    for sample in values:
        for k, product in enumerate(products):
            if not product.is_bad:
                continue
            good = [
                j
                for j, other in enumerate(products)
                if not other.is_bad and other.degree < product.degree
            ]
            if _is_outside(sample[:, good], sample[:, k]):
                return Statement(
                    answer=UNDECIDED,
                    theorem="Sussmann (1987) by Lewis and Murray (1997), sufficient condition",
                    reason=f"{product.name} is bad and no combination of good products of lower "
                    "degree",
                )
    if not is_closed:
        return Statement(
            answer=UNDECIDED,
            theorem="Sussmann (1987) by Lewis and Murray (1997), sufficient condition",
            reason=f"holds up to degree {max(p.degree for p in products)}; bad products of higher "
            "degree are not excluded",
        )
    return Statement(
        answer=YES,
        theorem="Sussmann (1987) by Lewis and Murray (1997), sufficient condition",
        reason="every bad product is a combination of good ones of lower degree, "
        f"and brackets reach {reached} of {dimension} dimensions",
    )


def _is_outside(columns: Array, vector: Array) -> bool:
    """Whether a vector is no combination of columns."""
    size = float(np.linalg.norm(vector))
    if size < VANISHES:
        return False
    if not columns.shape[1]:
        return True
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    share = np.linalg.lstsq(scaled, vector, rcond=1e-12)[0]
    return float(np.linalg.norm(scaled @ share - vector)) > 1e-7 * size


def _reductions(connection: Connection, dimension: int) -> tuple[tuple[str, ...], Statement]:
    """Decoupling fields of the inputs' span, and what motions along them alone reach."""
    inputs = list(connection.inputs)
    theorem = "Bullo and Lynch (2001)"
    pairs = [(i, j) for i in range(len(inputs)) for j in range(i, len(inputs))]
    values = connection.values([connection.product(inputs[i], inputs[j]) for i, j in pairs])
    spans = connection.values(inputs)
    outside = [
        [_rest(span, sample[:, k]) for k in range(len(pairs))]
        for span, sample in zip(spans, values, strict=True)
    ]
    size = max(float(np.max(np.abs(x), initial=0.0)) for x in values)
    if all(
        float(np.max(np.abs(r), initial=0.0)) <= VANISHES * max(size, 1.0)
        for s in outside
        for r in s
    ):
        names = tuple(p.name for p in inputs)
        chosen = connection.fields(inputs)
        said = "every motion along the inputs' span is decoupling"
    else:
        weights = _null_directions(outside, pairs, len(inputs))
        names = tuple(_combination(w, [p.name for p in inputs]) for w in weights)
        chosen = [
            Field(
                name,
                ca.densify(
                    connection.rates(
                        sum((float(w[k]) * p.components for k, p in enumerate(inputs)), ca.SX(0))
                    )
                ),
            )
            for name, w in zip(names, weights, strict=True)
        ]
        said = f"{counted(len(chosen), 'decoupling field')} with constant coefficients"
    if not chosen:
        return (), Statement(
            answer=UNDECIDED,
            theorem=theorem,
            reason="no decoupling field with constant coefficients was found",
        )
    growth, _ = grow(connection.chart, chosen)
    reason = f"{said}; their brackets reach {growth.rank} of {dimension} dimensions"
    answer = YES if growth.rank == dimension else UNDECIDED
    return names, Statement(answer=answer, theorem=theorem, reason=reason)


def _rest(span: Array, vector: Array) -> Array:
    """What a vector has outside of a span."""
    share = np.linalg.lstsq(span, vector, rcond=1e-12)[0]
    return np.asarray(vector - span @ share)


def _null_directions(
    outside: list[list[Array]], pairs: list[tuple[int, int]], count: int
) -> list[Array]:
    """Real w with Σ wᵢ wⱼ ⟨Yᵢ : Yⱼ⟩ in the inputs' span, the same at all samples; of pairs."""

    def value(w: Array, sample: list[Array]) -> Array:
        total = np.zeros_like(sample[0])
        for (i, j), rest in zip(pairs, sample, strict=True):
            total += (1 if i == j else 2) * w[i] * w[j] * rest
        return total

    scale = max(float(np.max(np.abs(r), initial=0.0)) for s in outside for r in s)
    candidates = [np.eye(count)[k] for k in range(count)]
    for i in range(count):
        for j in range(i + 1, count):
            for root in _roots(outside[0], pairs, i, j):
                w = np.zeros(count)
                w[i], w[j] = root
                candidates.append(w)
    found: list[Array] = []
    for w in candidates:
        holds = all(
            float(np.max(np.abs(value(w, s)), initial=0.0)) <= 1e-8 * scale for s in outside
        )
        if holds and not any(abs(abs(w @ x) - 1) < 1e-9 for x in found):
            found.append(w / np.linalg.norm(w))
    return found


def _roots(
    sample: list[Array], pairs: list[tuple[int, int]], i: int, j: int
) -> list[tuple[float, float]]:
    """Directions in the plane of two inputs in which the largest component vanishes."""
    a, b, c = (sample[pairs.index(p)] for p in ((i, i), (i, j), (j, j)))
    sizes = np.abs(a) + np.abs(b) + np.abs(c)
    if not np.max(sizes, initial=0.0) > 0.0:
        return []
    k = int(np.argmax(sizes))
    roots = np.roots([a[k], 2 * b[k], c[k]]) if abs(a[k]) > 1e-12 * sizes[k] else np.zeros(0)
    if not roots.size and abs(b[k]) > 1e-12 * sizes[k]:
        roots = np.array([-c[k] / (2 * b[k])])
    return [(float(r.real), 1.0) for r in roots if abs(r.imag) < 1e-9 * (1 + abs(r))]


def _combination(weights: Array, names: list[str]) -> str:
    """``torque1 + torque2``"""
    scaled = weights / weights[int(np.argmax(np.abs(weights)))]
    parts = [(x, n) for x, n in zip(scaled, names, strict=True) if abs(x) > 1e-9]
    text = ""
    for value, name in parts:
        sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
        size = "" if abs(abs(value) - 1) < 1e-9 else f"{abs(value):.6g} "
        text += f"{sign}{size}{name}"
    return text
