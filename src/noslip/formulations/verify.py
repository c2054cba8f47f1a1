"""`verify`: five formulations, one answer, with degrees of freedom counted by moving the mechanism.

**Degrees of freedom counted by moving the mechanism, apart from the rows that were chosen.**

At a configuration, each tree speed is given in turn, and what that does to each row is compared
with the row's own scale: a motion by one length of the model that breaks no row by more than a
billionth of it is free. Rows of joints and contacts are distances, slips and angles, whose scale is
that length. A row written by hand has the scale of the terms it is written with,

    (1)  |x ± y| → |x| + |y|        d(x ± y) → dx + dy
         |x y|   → |x| |y|          d(x y)   → |x| dy + |y| dx        d f(x) → |f'(x)| dx

found by walking through its text, all sizes positive. Nothing here knows of rounding errors, of
rows that were left out, or of the basis S.

**`Certificate`: the result of `verify`, as a small table.**

**`verify`: five formulations, one answer.**

At random admissible states the formulations that follow d'Alembert's principle are compared with
each other, and what they share, the kinematics, is checked by what none of them computes: rows
differentiated another way, contact points found another way, and the energy rate. Vakonomic
mechanics is a different theory; it is shown beside the others and never mixed with them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import ArgumentError, Array, FormulationError, interruptible
from noslip.expressions import (
    CONSTANTS,
    MEASURES,
    RATE,
    Measure,
    Name,
    Number,
    apply_to_numbers,
    fold,
    parse,
)
from noslip.formulations.derivation import dalembert_formulations
from noslip.formulations.desantis import DeSantis, projected_basis
from noslip.formulations.equations import AbstractFormulation, Equations
from noslip.formulations.multipliers import Vakonomic
from noslip.formulations.tree_dynamics import inverse_dynamics, kinetic_energy
from noslip.kinematics import Kinematics, curved_gaps, plane_pose, trace, twists
from noslip.model import GRAVITY, SPRING, Model, in_order

#: Share of a row's scale by which a free motion may break it.
BROKEN = 1e-9
#: Step of the difference quotient that f' in (1) is taken from: only its size matters.
STEP = 1e-6


def count_degrees_of_freedom(kin: Kinematics, samples: Sequence[tuple[float, Array]]) -> int:
    """nv less the number of independent motions that break a row, at the most telling sample."""
    scales = np.array([row_scales(kin, t, q) for t, q in samples])
    broken = 0
    for (t, q), scale in zip(samples, scales, strict=True):
        A = kin.probe.matrix(q, t)[0] / np.where(scale > 0.0, scale, 1.0)[:, None]
        broken = max(broken, int(np.count_nonzero(np.linalg.svd(A, compute_uv=False) > BROKEN)))
    return kin.num_speeds - broken


def row_scales(kin: Kinematics, t: float, q: Array) -> Array:
    """(nc,) scales of the rows, for speeds of 1 m/s and 1 rad/s times a length of the model."""
    scales = np.ones(len(kin.rows))
    first = len(kin.rows) - len(kin.model.rows)  # rows written by hand come last
    if not kin.model.rows:
        return scales
    v = 1.0 / kin.probe.scale
    rates = np.abs(np.array(kin.probe.kinematic_map(q))) @ v
    fixed = kin.model.parameter_values(kin.probe.params)
    leaves = {name: _BoundedTerm(x, abs(x), 0.0) for name, x in (fixed | {"t": t}).items()}
    leaves |= {s.name: _BoundedTerm(0.0, 0.0, x) for s, x in zip(kin.speeds, v, strict=True)}
    texts = {d.name: d.expression for d in kin.model.definitions}
    for k, row in enumerate(kin.model.rows):
        moved = rates if row.is_holonomic else np.zeros(len(q))
        places = zip(kin.coordinates, q, moved, strict=True)
        own = leaves | {c.name: _BoundedTerm(x, abs(x), d) for c, x, d in places}
        measured = _Measured(kin, t, q, is_moved=row.is_holonomic)
        own |= measured.angles()
        for name in in_order(texts)[0]:
            own[name] = _term(texts[name], own, measured)
        found = _term(row.expression, own, measured)
        scales[first + k] = found.change if math.isfinite(found.change) else 1.0
    return scales


class _Measured(NamedTuple):
    """Terms of measures of the motion and of named angles at a configuration.

    Bodies move by one length of the model, and turn by one radian.
    """

    kin: Kinematics
    t: float
    q: Array
    is_moved: bool

    def term(self, measure: Measure, terms: list[_BoundedTerm]) -> _BoundedTerm:
        """The term of a measure."""
        if measure.word == RATE:
            return _BoundedTerm(0.0, 0.0, 1.0)
        has_place, order = MEASURES[measure.word]
        if order:
            return _BoundedTerm(0.0, 0.0, 1.0)
        symbols = self.kin.symbols
        place = [ca.SX(term.value) for term in terms]
        traced = self.kin.measures(ca.SX.zeros(self.kin.num_speeds))(measure, place)
        function = ca.Function("value", [symbols.t, symbols.q, symbols.params], [traced])
        value = float(function(self.t, self.q, self.kin.probe.params))
        size = abs(value) + (self.kin.probe.length if has_place else 1.0)
        return _BoundedTerm(value, size, 1.0 if self.is_moved else 0.0)

    def angles(self) -> dict[str, _BoundedTerm]:
        """Named angles and their rates."""
        found = {}
        for name in self.kin.measures(ca.SX.zeros(self.kin.num_speeds)).named_angles():
            is_rate = name.endswith("_rate")
            found[name] = _BoundedTerm(
                0.0, 0.0 if is_rate else math.pi, float(is_rate or self.is_moved)
            )
        return found


class _BoundedTerm(NamedTuple):
    """A value, and the sizes of it and of its change before terms cancel."""

    value: float
    size: float
    change: float


def _term(
    scalar: float | str, leaves: dict[str, _BoundedTerm], measured: _Measured
) -> _BoundedTerm:
    """An expression by (1)."""

    def leaf(node: Number | Name) -> _BoundedTerm:
        if isinstance(node, Number):
            return _BoundedTerm(node.value, abs(node.value), 0.0)
        if node.name in leaves:
            return leaves[node.name]
        value = CONSTANTS[node.name]
        return _BoundedTerm(value, abs(value), 0.0)

    return fold(parse(str(scalar)), leaf, _applied, measured.term)


def _applied(function: str, terms: list[_BoundedTerm]) -> _BoundedTerm:
    values = [term.value for term in terms]
    value = apply_to_numbers(function, values)
    if function in ("+", "-"):
        x, y = terms
        return _BoundedTerm(value, x.size + y.size, x.change + y.change)
    if function == "*":
        x, y = terms
        return _BoundedTerm(value, x.size * y.size, x.size * y.change + y.size * x.change)
    change = 0.0
    for k, term in enumerate(terms):
        if term.change:
            above, below = ([*values[:k], values[k] + h, *values[k + 1 :]] for h in (STEP, -STEP))
            difference = [apply_to_numbers(function, side) for side in (above, below)]
            change += abs(difference[0] - difference[1]) / (2 * STEP) * term.change
    return _BoundedTerm(value, abs(value), change)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One line of a certificate: the quantity compared, and its worst relative disagreement."""

    check: str
    disagreement: float
    where: str

    @property
    def holds(self) -> bool:
        """Whether it is within the tolerance (a NaN is not)."""
        return bool(self.disagreement <= Certificate.TOLERANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Result of `verify`: all checks, with their disagreements."""

    model: str  #: name of the model
    formulations: tuple[str, ...]  #: names of those compared
    states: int  #: number of random states
    findings: tuple[CheckResult, ...]  #: each check with its worst disagreement
    #: largest relative difference of the vakonomic accelerations, which need not be small
    vakonomic: float

    #: Relative disagreement that is tolerated.
    TOLERANCE: ClassVar[float] = 1e-9

    @property
    def holds(self) -> bool:
        """Whether every check is within the tolerance."""
        return all(finding.holds for finding in self.findings)

    @property
    def worst(self) -> float:
        """The largest disagreement of all checks."""
        return max((f.disagreement for f in self.findings), default=0.0)

    def text(self) -> str:
        """The certificate as a small table."""
        width = max(len(f.check) for f in self.findings)
        verdict = "agree" if self.holds else "DISAGREE"
        lines = [
            f"{self.model}: {len(self.formulations)} formulations {verdict} at {self.states} "
            f"random states (worst {self.worst:.2g}, tolerance {Certificate.TOLERANCE:.0e})",
            f"  {', '.join(self.formulations)}",
        ]
        for f in self.findings:
            mark = "ok  " if f.holds else "FAIL"
            lines.append(f"  {mark} {f.check:<{width}}  {f.disagreement:<7.2g}  {f.where}".rstrip())
        if self.vakonomic <= Certificate.TOLERANCE:
            lines.append("  note vakonomic mechanics coincides: the constraints are integrable")
        elif self.vakonomic != self.vakonomic:
            lines.append("  note vakonomic mechanics has no loads that forces could depend on")
        else:
            lines.append(
                f"  note vakonomic mechanics is a different theory: its accelerations differ by "
                f"{self.vakonomic:.2g}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "model": self.model,
            "holds": self.holds,
            "tolerance": Certificate.TOLERANCE,
            "states": self.states,
            "formulations": list(self.formulations),
            "findings": [
                {"check": f.check, "disagreement": f.disagreement, "where": f.where}
                for f in self.findings
            ],
            "vakonomic_difference": self.vakonomic,
        }


#: Random states at most; a handful tells formulations apart.
MAX_STATES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Numbers for t, q, η, u, w, ẇ and the parameters."""

    values: tuple[Array, ...]


@interruptible
def verify(
    model: Model,
    *,
    formulations: Sequence[AbstractFormulation] | None = None,
    kinematics: Kinematics | None = None,
    states: int = 6,
    seed: int = 0,
    progress: Callable[[float], object] | None = None,
) -> Certificate:
    """Compare all formulations of a model with each other and with the laws they must obey.

    Parameters
    ----------
    model : a checked model.
    formulations : formulations to compare; by default all that follow d'Alembert's principle, your
        own too.
    kinematics : traced kinematics to use instead of tracing the model.
    states : number of random admissible states.
    seed : seed of the random numbers.
    progress : function called with the fraction done.

    Raises
    ------
    FormulationError : if a formulation that is not d'Alembert's is among those to compare, or there
        are no states to compare them at.
    """
    if not isinstance(model, Model):
        raise ArgumentError(
            f"verify takes a Model, got {type(model).__name__}",
            "model, argument of verify",
            "load one, or build() it",
        )
    if not 1 <= states <= MAX_STATES or seed < 0:
        raise FormulationError(
            f"{states} states with seed {seed} are requested",
            f"verify of model '{model.name}'",
            f"give 1 to {MAX_STATES} states, and a seed of 0 or more",
        )
    if formulations is None:
        formulations = dalembert_formulations()
    if not formulations:
        raise FormulationError(
            "there are no formulations to compare",
            f"verify of model '{model.name}'",
            "give some, or leave them out: all that follow d'Alembert's principle",
        )
    for formulation in formulations:
        if not formulation.is_dalembert:
            raise FormulationError(
                f"the {formulation.name} are a different theory and cannot agree with d'Alembert's",
                f"verify of model '{model.name}'",
                "leave them out; the certificate shows by how much they differ",
            )
    kin = trace(model) if kinematics is None else kinematics
    # each formulation is derived and evaluated; then states, kinematics, laws, vakonomic
    stages = 2 * len(formulations) + 4
    done = itertools.count(1)

    def finished() -> None:
        if progress is not None:
            progress(next(done) / stages)

    filled = {}
    for formulation in formulations:
        filled[formulation.name] = formulation.fill(kin)
        finished()
    points = list(_random_states(kin, states, seed))
    if not points:
        raise FormulationError(
            "no regular random state was found, so there is nothing to verify",
            f"model '{model.name}'",
            "check the ranges of its coordinates and whether its loops can move",
        )
    finished()
    first = next(iter(filled.values()))
    findings = list(_agreement(kin, filled, points, finished))
    findings.append(_degrees_of_freedom(kin, points))
    findings += _kinematic_checks(kin, points)
    finished()
    findings += _laws(kin, first, points)
    finished()
    vakonomic = _vakonomic_difference(kin, first, points, seed)
    finished()
    return Certificate(
        model=model.name,
        formulations=tuple(filled),
        states=len(points),
        findings=tuple(findings),
        vakonomic=vakonomic,
    )


def _symbols(kin: Kinematics) -> list[ca.SX]:
    s = kin.symbols
    return [s.t, s.q, kin.eta, s.u, s.w, s.wdot, s.params, s.z]


def _random_states(kin: Kinematics, count: int, seed: int) -> Iterator[_State]:
    """Seeded states: configurations on g = 0, normal speeds and inputs, nothing near singular."""
    rng = np.random.default_rng(seed)
    health = ca.Function(
        "health",
        _symbols(kin),
        [
            ca.vertcat(
                ca.SX(np.inf), *[ca.fabs(h.value) / h.floor for h in kin.singularity_measures]
            )
        ],
    )
    found = 0
    for t, q in kin.probe.configurations(3 * count):
        values = (
            np.array([t]),
            q,
            rng.normal(size=kin.num_independent_speeds),
            rng.normal(size=len(kin.model.inputs)),
            rng.normal(size=len(kin.model.speed_inputs)),
            rng.normal(size=len(kin.model.speed_inputs)),
            kin.probe.params,
            rng.normal(size=len(kin.force_states)),
        )
        if np.min(np.array(health(*values))) > 1.0:
            found += 1
            yield _State(values=values)
        if found == count:
            return


def _numbers(kin: Kinematics, expressions: list[ca.SX], points: list[_State]) -> list[list[Array]]:
    """Values of expressions, for each state one array an expression."""
    f = ca.Function("f", _symbols(kin), [ca.densify(e) for e in expressions])
    return [[x.full() for x in f.call([ca.DM(v) for v in p.values])] for p in points]


def _difference(a: Array, b: Array, scale: float = 0.0) -> float:
    """Largest |a − b| over the largest entry or the given scale."""
    if a.size == 0:
        return 0.0
    size = max(float(np.max(np.abs(b))), float(np.max(np.abs(a))), scale)
    difference = float(np.max(np.abs(a - b)))
    return difference / size if size > 0 else difference


def _agreement(
    kin: Kinematics,
    filled: dict[str, Equations],
    points: list[_State],
    finished: Callable[[], None],
) -> Iterator[CheckResult]:
    """Every pair of formulations on everything they compute by their own route."""
    shared = {r for red in kin.redundant for r in (red.row, *_rows_named(kin, red.follows_from))}
    determinate = [k for k in range(len(kin.rows)) if k not in shared]
    labels = [
        *("accelerations", "kinetic energy", "reduced mass matrix"),
        *("generalized reactions", "determinate reactions"),
    ]
    numbers: dict[str, list[list[Array]]] = {}
    for name, eq in filled.items():
        reactions = ca.substitute([eq.generalized_reactions], [eq.etadot], [eq.accelerations])[0]
        lam = eq.multipliers[determinate] if determinate else ca.SX(0, 1)
        expressions = [
            ca.vertcat(eq.accelerations, eq.block_solution.accelerations),
            _energy(kin, eq),
            eq.reduced_mass,
            reactions,
            lam,
        ]
        numbers[name] = _numbers(kin, expressions, points)
        finished()
    scales = _scales(kin, next(iter(filled.values())), points)
    for k, label in enumerate(labels):
        worst, pair = 0.0, ""
        for one, other in itertools.combinations(filled, 2):
            for j in range(len(points)):
                scale = scales[j].get(label.split()[-1], 0.0)
                d = _difference(numbers[one][j][k], numbers[other][j][k], scale)
                if not d <= worst:
                    worst, pair = d, f"{one} / {other}"
        yield CheckResult(check=label, disagreement=worst, where=pair)


def _scales(kin: Kinematics, eq: Equations, points: list[_State]) -> list[dict[str, float]]:
    """Sizes at each state beside which reactions and accelerations that are zero are zero.

    Forces that act or are needed, and the kinetic energy, which the terms have that cancel where
    nothing accelerates; and the accelerations that these would give to the largest mass.
    """
    pushes = [
        inverse_dynamics(kin, eq.speed_rates),
        eq.forces.Q + ca.mtimes(eq.forces.B, kin.acting_inputs),
        eq.kinetic_energy,
    ]
    found = []
    for values in _numbers(kin, [*pushes, eq.reduced_mass], points):
        *forces, mass = (float(np.max(np.abs(x), initial=0.0)) for x in values)
        most = max(forces)
        found.append({"reactions": most, "accelerations": most / mass if mass else 0.0})
    return found


def _energy(kin: Kinematics, eq: Equations) -> ca.SX:
    """Kinetic energy from the formulation's own mass matrix; its own sum where constraints move."""
    if ca.sparsify(kin.s).is_zero():
        return ca.dot(kin.eta, ca.mtimes(eq.reduced_mass, kin.eta)) / 2
    return eq.kinetic_energy


def _rows_named(kin: Kinematics, names: tuple[str, ...]) -> list[int]:
    return [k for k, row in enumerate(kin.rows) if row.name in names]


def _degrees_of_freedom(kin: Kinematics, points: list[_State]) -> CheckResult:
    """Number of independent speeds against the degrees of freedom counted by moving bodies."""
    counted = count_degrees_of_freedom(kin, [(float(p.values[0][0]), p.values[1]) for p in points])
    found = kin.num_independent_speeds
    where = "" if counted == found else f"{found} in the equations, {counted} by moving"
    return CheckResult(
        check="degrees of freedom", disagreement=float(abs(counted - found)), where=where
    )


def _kinematic_checks(kin: Kinematics, points: list[_State]) -> Iterator[CheckResult]:
    """The shared kinematics against rows, contact points and rates computed another way."""
    s = kin.symbols
    basis = [ca.mtimes(kin.A, kin.S), ca.mtimes(kin.A, kin.s) + kin.a]
    yield _zero("A S = 0 and A s + a = 0", kin, basis, points, of_rows=True)
    # coordinate rates by elimination and by the projector on the null space of A
    J_nh, offset = projected_basis(kin)
    other = ca.mtimes(kin.N, ca.mtimes(J_nh, kin.eta) + offset)
    rates = ca.mtimes(kin.N, kin.v)
    yield _equal("coordinate rates by two bases", kin, rates, other, points, scale=rates)
    # the position form of a holonomic row against its velocity form
    pairs = [(row.position, row.velocity) for row in kin.rows if row.position is not None]
    gaps = []
    for g, velocity in pairs:
        rate = ca.mtimes(ca.jacobian(g, s.q), ca.mtimes(kin.N, s.v)) + ca.jacobian(g, s.t)
        gaps.append(kin.at_speeds(rate - velocity))
    yield _zero("holonomic rows are rates of positions", kin, gaps, points)
    yield _zero("contact points touch their ground", kin, _contact_gaps(kin), points)
    yield _zero("contact velocities of material points", kin, _material_gaps(kin), points)


def _contact_gaps(kin: Kinematics) -> list[ca.SX]:
    """Height of each wheel by its support function, and of its contact point.

    On curved ground, whether the point is on both surfaces and both normals are opposite there.
    """
    gaps = []
    for trace_ in kin.contacts:
        contact = trace_.contact
        middle = contact.wheel_center()
        if middle is None:
            continue
        if not contact.is_flat:
            gaps += curved_gaps(trace_, kin.tree, kin.symbols.q, kin.reader, kin.length)
            continue
        node = kin.tree.nodes[kin.tree.index[contact.body]]
        R, p = plane_pose(contact.plane, kin.tree, kin.reader)
        n = R[:, 2]
        center = node.p_WB + ca.mtimes(node.R_WB, kin.reader.vector(middle))
        drop = contact.drop(n, node.R_WB, kin.reader)
        gaps.append((ca.dot(n, center - p) - drop - trace_.height) / kin.length)
        gaps.append((ca.dot(n, trace_.point - p) - trace_.height) / kin.length)
    return [kin.at_speeds(g) for g in gaps]


def _material_gaps(kin: Kinematics) -> list[ca.SX]:
    """Slip of each contact by differentiating the positions of the two material points there."""
    s = kin.symbols
    q_dot = ca.mtimes(kin.N, s.v)
    gaps = []
    for trace_ in kin.contacts:
        point = ca.SX.sym("point", 3)
        difference = ca.SX.zeros(3)
        for body, sign in ((trace_.contact.body, 1.0), (trace_.contact.plane.body, -1.0)):
            k = kin.tree.index[body]
            if k < 0:
                continue
            node = kin.tree.nodes[k]
            # the body point that is at `point` now, carried along by the pose
            local = ca.SX.sym("local", 3)
            carried = node.p_WB + ca.mtimes(node.R_WB, local)
            velocity = ca.mtimes(ca.jacobian(carried, s.q), q_dot)
            here = ca.mtimes(node.R_WB.T, point - node.p_WB)
            difference += sign * ca.substitute([velocity], [local], [here])[0]
        difference = ca.substitute([difference], [point], [trace_.point])[0]
        for name, direction in trace_.directions.items():
            gaps.append(kin.at_speeds(ca.dot(direction, difference) - trace_.slip[name]))
    return gaps


def _laws(kin: Kinematics, eq: Equations, points: list[_State]) -> Iterator[CheckResult]:
    """Laws that the solved motion must obey by any formulation."""
    s = kin.symbols
    v, vdot = kin.v, eq.speed_rates
    # A v̇ + Ȧ v + ȧ = 0 with every entry of A differentiated by itself
    A, a = ca.densify(kin.A), kin.a
    at = ca.vertcat(s.q, s.t, s.w)
    along = ca.vertcat(ca.mtimes(kin.N, v), ca.SX(1), s.wdot)
    A_dot = ca.reshape(ca.mtimes(ca.jacobian(ca.vec(A), at), along), A.shape)
    rates = ca.mtimes(A, vdot) + ca.mtimes(A_dot, v) + ca.mtimes(ca.jacobian(a, at), along)
    yield _zero("A v̇ + Ȧ v + ȧ = 0", kin, [rates], points, of_rows=True)
    # powers are compared with what the forces of the motion could do at these speeds; the velocity
    # terms are all there is where nothing acts and they cancel those of the accelerations
    acting = [
        inverse_dynamics(kin, vdot),
        inverse_dynamics(kin, ca.SX.zeros(kin.num_speeds)),
        ca.densify(eq.forces.Q + ca.mtimes(eq.forces.B, eq.kinematics.acting_inputs)),
    ]
    scale = ca.norm_2(v) * sum((ca.norm_2(force) for force in acting), ca.SX(0))
    # constraint power = −λᵀa
    reactions = ca.substitute([eq.generalized_reactions], [eq.etadot], [eq.accelerations])[0]
    power = ca.dot(v, ca.densify(reactions))
    offset = -ca.dot(eq.multipliers, a) if kin.rows else ca.SX(0)
    yield _equal("constraint power = −λᵀa", kin, power, offset, points, scale=scale)
    # energy rate = power of everything without a potential
    energy = kinetic_energy(kin.tree, twists(kin.tree, s.v), s.v) + eq.forces.potential_energy
    moving = ca.mtimes(ca.jacobian(energy, s.q), ca.mtimes(kin.N, s.v))
    gained = kin.at_speeds(moving) + ca.mtimes(kin.at_speeds(ca.jacobian(energy, s.v)), vdot)
    shares = eq.forces.shares.items()
    given = sum((f for name, f in shares if name not in (GRAVITY, SPRING)), ca.SX(0))
    given = given + ca.mtimes(eq.forces.B, eq.kinematics.acting_inputs)
    done = ca.dot(v, ca.densify(given + ca.SX.zeros(kin.num_speeds))) + power
    yield _equal("energy rate = power done", kin, gained, done, points, scale=scale)
    # Ḋ − 2C̃ is skew
    if kin.num_independent_speeds:
        m = DeSantis().matrices(kin)
        over = ca.vertcat(s.q, s.t)
        D_dot = ca.reshape(
            ca.mtimes(ca.jacobian(ca.vec(m.D), over), along[: over.shape[0]]), m.D.shape
        )
        left, right = D_dot - 2 * m.C_skew, (2 * m.C_skew - D_dot).T
        # sizes that cancel in JᵀMJ̇: with short wheelbases J̇ is large where C̃ is not
        sizes = ca.mtimes(ca.fabs(m.J).T, ca.mtimes(ca.fabs(m.M), ca.fabs(m.J_dot)))
        parts = ca.vertcat(ca.vec(m.D), ca.vec(D_dot), ca.vec(sizes))
        yield _equal("Ḋ − 2C̃ is skew", kin, left, right, points, scale=ca.densify(parts))
    # the forces of inverse dynamics reproduce the accelerations
    wanted = ca.SX(np.linspace(-1.0, 1.0, max(1, kin.num_independent_speeds)))
    wanted = wanted[: kin.num_independent_speeds, :]
    needed = ca.mtimes(eq.reduced_mass, wanted) + eq.reduced_bias
    back = _numeric_back(kin, eq, needed, wanted, points)
    yield CheckResult(check="direct ∘ inverse dynamics", disagreement=back, where="")


def _numeric_back(
    kin: Kinematics, eq: Equations, needed: ca.SX, wanted: ca.SX, points: list[_State]
) -> float:
    worst = 0.0
    full = inverse_dynamics(kin, ca.mtimes(kin.S, wanted) + kin.vdot0)
    projected = ca.mtimes(kin.S.T, full)
    expressions = [eq.reduced_mass, eq.reduced_bias, needed, wanted, projected]
    for mass, bias, force, target, check in _numbers(kin, expressions, points):
        if mass.size:
            solved: Array = np.asarray(np.linalg.solve(mass, check - bias), dtype=float)
            worst = max(worst, _difference(solved, target), _difference(force, check))
    return worst


def _vakonomic_difference(kin: Kinematics, eq: Equations, points: list[_State], seed: int) -> float:
    """Largest relative difference of the vakonomic accelerations, at random costates.

    NaN where forces depend on loads, which vakonomic mechanics does not have.
    """
    if eq.closure is not None:
        return float("nan")
    rng = np.random.default_rng(seed)
    other = Vakonomic().fill(kin)
    mu = rng.normal(size=other.costates.shape[0])
    accelerations = ca.substitute([other.accelerations], [other.costates], [ca.SX(mu)])[0]
    worst = 0.0
    for a, b in _numbers(kin, [accelerations, eq.accelerations], points):
        worst = max(worst, _difference(a, b))
    return worst


def _zero(
    check: str,
    kin: Kinematics,
    expressions: list[ca.SX],
    points: list[_State],
    of_rows: bool = False,
) -> CheckResult:
    """Expressions that vanish; those of constraint rows beside the terms that a row is made of."""
    worst = 0.0
    for p, values in zip(points, _numbers(kin, expressions, points), strict=True):
        own = row_scales(kin, float(p.values[0][0]), p.values[1]) if of_rows else np.ones(1)
        for x in values:
            size = float(np.max(np.abs(x) / np.maximum(own, 1.0)[:, None], initial=0.0))
            scale = 1.0 + float(np.max(np.abs(p.values[2]), initial=0.0))
            worst = size / scale if not size / scale <= worst else worst
    return CheckResult(check=check, disagreement=worst, where="")


def _equal(
    check: str,
    kin: Kinematics,
    left: ca.SX,
    right: ca.SX,
    points: list[_State],
    scale: ca.SX,
) -> CheckResult:
    worst = 0.0
    for a, b, c in _numbers(kin, [ca.SX(left), ca.SX(right), scale], points):
        d = _difference(a, b, float(np.max(np.abs(c), initial=0.0)))
        worst = d if not d <= worst else worst
    return CheckResult(check=check, disagreement=worst, where="")
