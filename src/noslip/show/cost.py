"""`cost`: operations of each formulation, step by step, beside the classical ways to a basis.

Counted are the operations of the traced functions, shared parts once and signs left out:

    kinematics  q̇ = N v and the basis S          bias   Sᵀ(c + M(Ṡη + ṡ)) and forces
    inertia     SᵀMS                             solve  η̇ of both

Each step is counted on top of those before it. ``compiled`` is what is run: ẋ by the shortest way.

The classical ways begin with A, M and c on all n_v tree speeds, whose operations are counted in the
same way, and find a basis in numbers at each evaluation. With k independent ones of m rows and f
degrees of freedom, the products SᵀMS, Sᵀ(c + …) and their solution take 2 f n_v (n_v + f + 1) +
f³/3 + 2 f² operations, and the basis [GolubVanLoan2013, sections 3.2, 5.4, 8.3, 8.6]

    (1)  partitioning of coordinates, LU of A_d and S = −A_d⁻¹A_i           2 k³/3 + 2 k² f
    (2)  singular values of A, Σ and V                                       4 m n_v² + 8 n_v³
    (3)  zero eigenvalues of AᵀA, the product and all eigenvectors           m n_v² + 9 n_v³

with a multiplication and an addition as two. Kane's equations [KaneWang1965] need no basis beside
η, but the accelerations of all bodies. Their operations are counted as done directly, with the
partial velocities of all mass centers and the partial angular velocities, which are the columns
of T, in world axes:

    (4)  Σ (m ċ_r·ċ_s + ω_r·I ω_s) η̇_s + Σ (m ċ_r·a + ω_r·(I α + ω × I ω)) = Q_r,   a, α at η̇ = 0
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from noslip import (
    AbstractFormulation,
    Equations,
    FormulationError,
    Model,
    ModelBuilder,
    NaturalComplement,
    Placement,
    SimulationError,
    compile,
    derive,
    stacked_matrices,
)
from noslip.base import nearest
from noslip.engines import trace_program
from noslip.formulations import (
    at_mass_centers,
    inverse_dynamics,
    known_formulations,
    mass_matrix,
    row_rates,
)
from noslip.joints import Revolute
from noslip.kinematics import Kinematics

#: Sign of an operation in the table → kinds of operations.
KINDS = {
    "×": ("mul",),
    "+": ("add", "sub"),
    "÷": ("div",),
    "√": ("sqrt", "hypot"),
    "trig": ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
}
STEPS = ("kinematics", "inertia", "bias", "solve", "compiled")
#: Period of a loop at 1 kHz, s.
PERIOD = 1e-3
#: Links of a chain whose blocks all formulations trace in seconds.
LONGEST_CHAIN = 32
#: Evaluations of a round, and rounds, of which the shortest counts.
EVALUATIONS, ROUNDS = 200, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCount:
    """Operations of a formulation."""

    method: str  #: name of the formulation
    #: step → kind → number, each on top of the steps before; ``compiled`` by itself
    steps: dict[str, dict[str, int]]
    refusal: str = ""  #: reason why there is no count; empty if there is one

    @property
    def total(self) -> int:
        """Operations of all steps but ``compiled``."""
        return sum(sum(self.steps[step].values()) for step in STEPS[:-1] if step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Operations of one evaluation of the equations of motion. Made by :func:`cost`."""

    model: str  #: name of the model
    counts: tuple[OperationCount, ...]  #: operation counts of the formulations
    classical: dict[str, int]  #: way → operations, by formulas; empty without constraints
    seconds: float  #: time of one evaluation of the compiled rates here; NaN if not measured

    @property
    def margin(self) -> float:
        """How many times the rates can be evaluated in a period of 1 kHz here."""
        return PERIOD / self.seconds

    def text(self) -> str:
        """Tables for people."""
        columns = (*KINDS, "other", "all")
        rows = [["", "", *columns]]
        for count in self.counts:
            if count.refusal:
                rows.append([count.method, "–", *[""] * len(columns)])
                continue
            for step in STEPS:
                of_step = count.steps[step]
                cells = [*(str(of_step[kind]) for kind in columns[:-1]), str(sum(of_step.values()))]
                rows.append([count.method if step == STEPS[0] else "", step, *cells])
        lines = [f"Operations of one evaluation of '{self.model}'", "", *_aligned(rows)]
        if self.classical:
            lines += [
                "",
                "Classical ways; the first three find a basis in numbers at each evaluation:",
            ]
            ways = self.classical | {"natural orthogonal complement, as compiled": self.compiled}
            lines += _aligned([[way, str(n)] for way, n in ways.items()])
        if np.isfinite(self.seconds):
            here = f"{1e6 * self.seconds:.2g} µs each here"
            lines += ["", f"{here}: {self.margin:.0f} in 1 ms, the period at 1 kHz"]
        return "\n".join(lines)

    @property
    def totals(self) -> list[int]:
        """Operations as compiled, then those of each formulation."""
        return [self.compiled, *(count.total for count in self.counts)]

    @property
    def compiled(self) -> int:
        """Operations of the first formulation as it is compiled."""
        return sum(self.counts[0].steps["compiled"].values())

    def to_json(self) -> dict[str, Any]:
        """All numbers, for programs."""
        methods = {c.method: c.steps if not c.refusal else c.refusal for c in self.counts}
        times = {"seconds": self.seconds, "evaluations_in_1_ms": self.margin}
        found = {"model": self.model, "methods": methods, "classical": self.classical}
        return found | (times if np.isfinite(self.seconds) else {})

    def __str__(self) -> str:
        return self.text()


def cost(model: Model, methods: Sequence[str] = (), *, timed: bool = True) -> Cost:
    """Count the operations of the formulations of a model, step by step.

    Parameters
    ----------
    model : a checked model.
    methods : words of formulations; all by default.
    timed : whether the compiled rates are measured here.

    Returns
    -------
    Cost : ``text()`` is a table.

    Raises
    ------
    FormulationError : if there is no such formulation.
    """
    known = known_formulations()
    for word in methods:
        if word not in known:
            raise FormulationError(
                f"there is no formulation '{word}'",
                f"cost of model '{model.name}'",
                nearest(word, known),
            )
    equations = derive(model, NaturalComplement())
    kin = equations.kinematics
    first = NaturalComplement.word
    words = [first, *(word for word in (methods or known) if word != first)]
    return Cost(
        model=model.name,
        counts=tuple(_counted(known[word], kin) for word in words),
        classical=_classical(kin, equations),
        seconds=_measured(equations) if timed else float("nan"),
    )


def chain(links: int) -> Model:
    """A chain of hinges in a plane under gravity, whose cost grows with the number of its links."""
    b = ModelBuilder(f"chain-of-{links}", gravity=(0.0, 0.0, -9.81))
    for k in range(links):
        b.body(f"link{k}", mass=1.0, inertia=(0.01, 0.02, 0.03), center_of_mass=(0.5, 0.0, 0.0))
        place = Placement(position=(1.0 if k else 0.0, 0.0, 0.0))
        parent = f"link{k - 1}" if k else "world"
        hinge = Revolute(axis=(0, 1, 0))
        b.joint(f"hinge{k}", hinge, parent=parent, child=f"link{k}", parent_frame=place)
    return b.build()


@dataclass(frozen=True, slots=True, kw_only=True)
class CostGrowth:
    """Costs of chains of hinges by the number of their links. Made by :func:`cost_growth`."""

    costs: dict[int, Cost]

    @property
    def exponents(self) -> dict[str, float]:
        """Exponent of the operations between the last two sizes: as compiled, then by method."""
        (a, first), (b, last) = list(self.costs.items())[-2:]
        names = ["compiled", *(count.method for count in last.counts)]
        ratios = np.divide(last.totals, first.totals)
        return dict(zip(names, (np.log(ratios) / np.log(b / a)).tolist(), strict=True))

    def text(self) -> str:
        """Operations against the number of links, and the exponents."""
        rows = [["links", *self.exponents]]
        rows += [[str(n), *map(str, c.totals)] for n, c in self.costs.items()]
        rows.append(["exponent", *(f"{x:.2f}" for x in self.exponents.values())])
        return "\n".join(["Operations of chains of hinges", "", *_aligned(rows)])

    def to_json(self) -> dict[str, Any]:
        """All numbers, for programs."""
        links = {str(n): c.to_json() for n, c in self.costs.items()}
        return {"links": links, "exponents": self.exponents}

    def __str__(self) -> str:
        return self.text()


def cost_growth(sizes: Sequence[int], methods: Sequence[str] = ()) -> CostGrowth:
    """Count the operations of chains of hinges against the number of their links.

    Parameters
    ----------
    sizes : numbers of links, two or more, rising.
    methods : words of formulations; all by default.
    """
    if len(sizes) < 2 or list(sizes) != sorted({n for n in sizes if n > 0}):
        raise SimulationError(
            f"chains of {', '.join(map(str, sizes)) or 'no'} links show no growth",
            "cost of chains",
            "give two or more rising numbers of links, such as 2,4,8",
        )
    if sizes[-1] > LONGEST_CHAIN:
        raise SimulationError(
            f"a chain of {sizes[-1]} links is too long to be counted by every formulation",
            "cost of chains",
            f"give at most {LONGEST_CHAIN} links",
        )
    return CostGrowth(costs={n: cost(chain(n), methods, timed=False) for n in sizes})


def _counted(formulation: AbstractFormulation, kin: Kinematics) -> OperationCount:
    """Operations of a formulation, each step on top of those before."""
    try:
        eq = formulation.fill(kin)
        pushed = eq.reduced_forces + ca.mtimes(eq.reduced_inputs, kin.acting_inputs)
        parts: list[Callable[[], ca.SX]] = [
            lambda: ca.vertcat(ca.mtimes(kin.N, kin.v), ca.vec(ca.densify(kin.S))),
            lambda: ca.vec(ca.densify(eq.reduced_mass)),
            lambda: eq.reduced_bias - pushed,
            lambda: eq.block_solution.accelerations,
        ]
        outputs, before, steps = ca.SX(0, 1), Counter[str](), {}
        for step, part in zip(STEPS, parts, strict=False):
            outputs = ca.vertcat(outputs, ca.densify(part()))
            found = _kinds(eq, outputs)
            steps[step] = {kind: found[kind] - before[kind] for kind in (*KINDS, "other")}
            before = found
        compiled = _kinds(eq, eq.state_rates)
        steps["compiled"] = {kind: compiled[kind] for kind in (*KINDS, "other")}
    except FormulationError as error:
        return OperationCount(method=formulation.word, steps={}, refusal=error.what)
    return OperationCount(method=formulation.word, steps=steps)


def _kinds(eq: Equations, output: ca.SX) -> Counter[str]:
    """Operations of a traced column by their signs in the table."""
    symbols = eq.kinematics.symbols
    given = [symbols.t, eq.state, eq.inputs, symbols.params]
    found = trace_program("cost", given, ca.densify(output)).count()
    named = {kind: sign for sign, kinds in KINDS.items() for kind in kinds}
    total = Counter[str]()
    for kind, number in found.items():
        if kind != "neg":
            total[named.get(kind, "other")] += number
    return total


def _classical(kin: Kinematics, eq: Equations) -> dict[str, int]:
    """Operations of the classical ways (1) to (4)."""
    m, k, nv, f = len(kin.rows), len(kin.row_basis), kin.num_speeds, kin.num_independent_speeds
    if not k:
        return {}
    pushed = eq.forces.Q + ca.mtimes(eq.forces.B, kin.acting_inputs)
    start = [
        ca.mtimes(kin.N, kin.v),
        ca.vec(ca.densify(kin.A)),
        row_rates(kin),
        ca.vec(ca.densify(mass_matrix(kin))),
        inverse_dynamics(kin, ca.SX.zeros(nv)) - pushed,
    ]
    traced = sum(_kinds(eq, ca.vertcat(*(ca.densify(x) for x in start))).values())
    projected = 2 * f * nv * (nv + f + 1) + f**3 / 3 + 2 * f**2
    ways = {
        "partitioning of coordinates [WehageHaug1982]": 2 * k**3 / 3 + 2 * k**2 * f,
        "singular values": 4 * m * nv**2 + 8 * nv**3,
        "zero eigenvalues [KammanHuston1984]": m * nv**2 + 9 * nv**3,
    }
    found = {way: round(traced + projected + basis) for way, basis in ways.items()}
    moving = [ca.mtimes(kin.N, kin.v), *kane(eq), eq.reduced_forces]
    moving.append(ca.mtimes(eq.reduced_inputs, kin.acting_inputs))
    directly = sum(_kinds(eq, ca.vertcat(*(ca.vec(ca.densify(x)) for x in moving))).values())
    return found | {"Kane's equations [KaneWang1965]": round(directly + f**3 / 3 + 2 * f**2)}


def kane(equations: Equations) -> tuple[ca.SX, ca.SX]:
    """Mass matrix and velocity terms by (4), from the accelerations of all bodies."""
    kin, stacked = (
        equations.kinematics,
        stacked_matrices(equations.kinematics, with_couplings=False),
    )
    parts = zip(kin.tree.nodes, at_mass_centers(kin.tree, kin.twists), strict=True)
    V = ca.vertcat(*[ca.mtimes(node.R_WD, half) for node, twist in parts for half in twist])
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    rate = ca.jtimes(V, at, ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1)))
    T, M, W = stacked.T, stacked.M, stacked.W
    forces = ca.mtimes(M, rate) + ca.mtimes(W, ca.mtimes(M, V))
    return ca.mtimes(T.T, ca.mtimes(M, T)), ca.mtimes(T.T, forces)


def _measured(equations: Equations) -> float:
    """Seconds of one evaluation of the compiled rates, the shortest of several rounds."""
    rates = compile(equations).rates
    kin = equations.kinematics
    t, q = kin.probe.configurations(1)[0]
    _, nx, nu, _ = rates.input_sizes
    x, u = np.zeros(nx), np.zeros(nu)
    x[: len(q)] = q
    x[len(q) : len(q) + kin.num_independent_speeds] = 0.1
    params = kin.probe.params
    shortest = np.inf
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(EVALUATIONS):
            rates(t, x, u, params)
        shortest = min(shortest, (time.perf_counter() - begin) / EVALUATIONS)
    return shortest


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table, words to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        is_number = [text[:1].isdigit() or text[:1] == "-" or text in KINDS for text in row]
        cells = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, is_number, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
