"""Momentum equations of admissible symmetries, moving energies, and integrals tested along runs.

**Nonholonomic momentum equation** [BlochKrishnaprasadMarsdenMurray1996]. A combination c_a(q) ξ_a
of symmetries that is admissible everywhere has the momentum

    (1)  J = c_a ξ_aᵀ M v,    J̇ = ċ_a ξ_aᵀ M v + c_a ξ_aᵀ (Q + B u)

in which no constraint force occurs. It is conserved where the right side vanishes.

**Moving energy** [FassoSansonetto2016]. Constraints with a part at rest (a turntable) work, so that
the energy E changes. If that part is the motion of a symmetry Y = c_a ξ_a up to admissible motions,
with constant c_a, then

    (2)  E − c_a ξ_aᵀ M v

is conserved. Both are proved by their rates at random states: those of the equations of motion.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import sympy as sp
from scipy.linalg import qr

from noslip.algebra import symmetric_solve
from noslip.base import Array, FormulationError
from noslip.formulations import Equations, mass_matrix
from noslip.geometry.closed_forms import evaluated, formula_of, printed, symbols_of, tidied
from noslip.geometry.distributions import SAMPLES, FieldFrame
from noslip.geometry.fields import VANISHES, Field
from noslip.geometry.reduction import APART, GROUPS, independence_of
from noslip.simulation import Trajectory

#: A residual below this, relative to the terms it is the difference of, is zero.
AGREES = 1e-8
#: Random speeds at each sample at which rates are looked at.
SPEEDS = 4
#: Operations of a coefficient that is written out, and unknowns it is solved for with.
SHORT, LARGEST = 40, 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateFunction:
    """A function of (t, q, η, u, w, parameters) of a model, and its values along runs."""

    equations: Equations = field(repr=False)
    traced: ca.SX = field(repr=False)

    def along(self, run: Trajectory) -> Array:
        """Its values at the samples of a run."""
        e, s = self.equations, self.equations.kinematics.symbols
        if s.z.numel():
            raise FormulationError(
                "forces with states of their own are not evaluated here",
                f"geometry of model '{e.model.name}'",
                "ask of a model without them",
            )
        speeds = ca.Function("eta", [s.t, s.q, s.v, s.params], [ca.mtimes(e.kinematics.E, s.v)])
        function = ca.Function(
            "value", [s.t, s.q, e.kinematics.eta, e.inputs, s.params], [self.traced]
        )
        params = np.array(list(run.parameters.values()), dtype=float)
        t, q = run.t[None], run.q.T  # a column for each sample
        eta = speeds(t, q, run.v.T, params)
        found = function(t, q, eta, run.inputs.T, params)
        return np.array(found).ravel()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentumEquation:
    """(1) of one admissible combination of symmetries."""

    #: Symmetry → its coefficient as a formula; ``varies`` where that is long.
    coefficients: dict[str, str]
    #: Whether the momentum is constant while no inputs act.
    is_conserved: bool
    #: Largest rate less that of the equations of motion, at random states, relative.
    residual: float
    momentum: StateFunction = field(repr=False)
    rate: StateFunction = field(repr=False)

    def text(self) -> str:
        """The combination and what its momentum does."""
        said = "conserved without inputs" if self.is_conserved else "not conserved"
        return f"{self.name}: {said}"

    @property
    def name(self) -> str:
        """The combination; its symmetries alone where coefficients are long."""
        if "varies" in self.coefficients.values():
            return f"a combination of {', '.join(self.coefficients)}"
        found = ""
        for name, c in self.coefficients.items():
            whole = " " in c.lstrip("-")
            sign = "-" if c.startswith("-") and not whole else "+"
            size = f"({c})" if whole else c.lstrip("-")
            found += f" {sign} " if found else sign.replace("+", "")
            found += f"[{name}]" if size == "1" else f"{size} [{name}]"
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstIntegral:
    """A function of the state that is constant while the inputs named are zero."""

    #: ``energy``, ``moving energy`` or ``momentum``.
    kind: str
    name: str
    inputs: tuple[str, ...]
    #: Largest rate at random states, relative to the terms it is the sum of.
    residual: float
    function: StateFunction = field(repr=False)

    def along(self, run: Trajectory) -> Array:
        """Its values at the samples of a run."""
        return self.function.along(run)

    def drift(self, run: Trajectory) -> float:
        """Largest change along a run, relative to the largest value or 1e-12 of its units."""
        values = self.along(run)
        return float(np.ptp(values) / max(float(np.max(np.abs(values))), 1e-12))

    def text(self) -> str:
        """What is constant, and when."""
        are = "is" if len(self.inputs) == 1 else "are"
        pushed = f" while {', '.join(self.inputs)} {are} zero" if self.inputs else ""
        return f"{self.name}{pushed}"


class MotionRates:
    """Rates of functions of the state by the equations of motion, at random states."""

    def __init__(self, equations: Equations, frame: FieldFrame) -> None:
        kin, chart = equations.kinematics, frame.chart
        self.equations, self.chart = equations, chart
        self.state = ca.vertcat(kin.symbols.q, kin.eta, kin.symbols.t)
        rng = np.random.default_rng(45)
        self.states = [
            np.concatenate([q, rng.normal(size=kin.num_independent_speeds), [t]])
            for t, q in kin.probe.configurations(SAMPLES)
            for _ in range(SPEEDS)
        ]
        rates = ca.vertcat(ca.mtimes(kin.N, kin.v), equations.accelerations, 1)
        self.rates = self._at_rest(rates)

    def _at_rest(self, traced: ca.SX) -> ca.SX:
        """At the parameters of the chart, without inputs."""
        e, s = self.equations, self.equations.kinematics.symbols
        given = [e.inputs, s.z, s.params]
        zeros = [ca.SX.zeros(e.inputs.numel()), ca.SX.zeros(s.z.numel())]
        values = [*zeros, ca.SX(ca.DM(self.chart.params))]
        found: ca.SX = ca.substitute([ca.densify(traced)], given, values)[0]
        return found

    def of(self, traced: ca.SX) -> tuple[Array, Array]:
        """(states, n) rates of functions, and the sizes of the terms of each."""
        slopes = ca.jacobian(self._at_rest(traced), self.state)
        function = ca.Function(
            "rate",
            [self.state],
            [ca.mtimes(slopes, self.rates), ca.mtimes(ca.fabs(slopes), ca.fabs(self.rates))],
        )
        found = [[np.array(x).ravel() for x in function(state)] for state in self.states]
        return np.array([f[0] for f in found]), np.array([f[1] for f in found])

    def values(self, traced: ca.SX) -> Array:
        """(states, n) values of functions."""
        function = ca.Function("value", [self.state], [ca.densify(self._at_rest(traced))])
        return np.array([np.array(function(state)).ravel() for state in self.states])


def momenta_of(equations: Equations, frame: FieldFrame, fields: Sequence[Field]) -> ca.SX:
    """(k,) momenta ξ_aᵀ M v of symmetries, of (t, q, η, w, parameters)."""
    kin = equations.kinematics
    N = ca.densify(kin.N)
    back, _ = symmetric_solve(ca.mtimes(N.T, N), N.T)
    columns = ca.mtimes(back, ca.horzcat(*[f.components for f in fields]))
    return ca.densify(ca.mtimes([columns.T, ca.densify(mass_matrix(kin)), kin.v]))


def momentum_equations(
    equations: Equations,
    frame: FieldFrame,
    rates: MotionRates,
    names: Sequence[str],
    fields: Sequence[Field],
    count: int,
) -> tuple[MomentumEquation, ...]:
    """(1) of the admissible combinations of symmetries that are not admissible by themselves."""
    chart, kin = frame.chart, equations.kinematics
    if not count or equations.auxiliary_states.numel() or equations.forces.loads:
        return ()
    spans, moved = chart.values(frame.generators), chart.values(fields)
    # solved for symmetries that are as far from the motions everywhere, later ones left free
    best, chosen = False, None
    for free in itertools.islice(itertools.combinations(range(len(fields)), count), GROUPS):
        others = [k for k in range(len(fields)) if k not in free]
        gap, steadiness = independence_of(
            [np.hstack([s, x[:, others]]) for s, x in zip(spans, moved, strict=True)]
        )
        if gap > APART and (steadiness == 1.0) >= best:
            best, chosen = steadiness == 1.0, free
    if chosen is None:
        return ()
    others = [k for k in range(len(fields)) if k not in chosen]
    R = ca.horzcat(
        *[f.components for f in frame.generators], *[-fields[k].components for k in others]
    )
    momenta = momenta_of(equations, frame, fields)
    N = ca.densify(kin.N)
    back, _ = symmetric_solve(ca.mtimes(N.T, N), N.T)
    pushes = ca.mtimes(
        ca.mtimes(back, ca.horzcat(*[f.components for f in fields])).T,
        equations.forces.Q + ca.mtimes(equations.forces.B, kin.acting_inputs),
    )
    found = []
    for k in chosen:
        shares, _ = symmetric_solve(ca.mtimes(R.T, R), ca.mtimes(R.T, fields[k].components))
        c = ca.SX.zeros(len(fields))
        c[k] = 1
        for place, other in enumerate(others):
            c[other] = shares[len(frame.generators) + place]
        J = ca.dot(c, momenta)
        turned = ca.jtimes(c, kin.symbols.q, ca.mtimes(kin.N, kin.v))
        rate = ca.dot(turned, momenta) + ca.dot(c, pushes)
        true, sizes = rates.of(J)
        ours = rates.values(rate)
        # where terms cancel as they are written, what momenta change by in a second
        scale = max(float(np.max(sizes)), float(np.max(np.abs(rates.values(J)))), 1e-300)
        found.append(
            MomentumEquation(
                coefficients=_coefficients(frame, c, names, fields, k),
                is_conserved=bool(np.max(np.abs(ours)) <= AGREES * scale),
                residual=float(np.max(np.abs(true - ours))) / scale,
                momentum=StateFunction(equations=equations, traced=J),
                rate=StateFunction(equations=equations, traced=rate),
            )
        )
    return tuple(found)


def _coefficients(
    frame: FieldFrame, c: ca.SX, names: Sequence[str], fields: Sequence[Field], k: int
) -> dict[str, str]:
    """The combination that contains the kth symmetry once, with formulas where they are short."""
    chart, found = frame.chart, {}
    values = np.array([np.ravel(x) for x in chart.evaluate(ca.densify(c))])
    used = [j for j in range(len(names)) if np.max(np.abs(values[:, j])) > VANISHES]
    others = [j for j in used if j != k]
    formulas = _solved(frame, fields[k], [fields[j] for j in others], values[:, others])
    for j in used:
        if np.ptp(values[:, j]) <= VANISHES * np.max(np.abs(values[:, j])):
            found[names[j]] = f"{values[0, j]:.6g}"
        else:
            formula = formulas[others.index(j)] if formulas else None
            found[names[j]] = "varies" if formula is None else printed(formula)
    return found


def _solved(
    frame: FieldFrame, wanted: Field, others: Sequence[Field], values: Array
) -> list[sp.Expr | None]:
    """Formulas of c with wanted + c_a others_a admissible, each confirmed; empty where long."""
    chart, q = frame.chart, symbols_of(frame.chart)
    every = [*frame.generators, *others, wanted]
    columns = [formula_of(chart, f.components, SHORT) for f in every]
    if len(every) > LARGEST or any(x is None for x in columns):
        return []
    # as many rows as unknowns, the most independent ones
    numbers = chart.values(every[:-1])[0]
    rows = [int(r) for r in qr(numbers.T, pivoting=True, mode="r")[1][: len(every) - 1]]
    R = sp.Matrix(columns[:-1]).T[rows, :]
    right = sp.Matrix(columns[-1])[rows, :]
    m = len(frame.generators)
    raw = list((-(R.adjugate() * right) / R.det(method="berkowitz"))[m:])
    found: list[sp.Expr | None] = []
    for k, x in enumerate(raw):
        if x.count_ops() > 2 * SHORT:
            found.append(None)
            continue
        formula = tidied(sp.together(x))
        ours = evaluated(chart, q, [formula])[:, 0]
        size = max(1.0, float(np.max(np.abs(values[:, k]))))
        is_same = float(np.max(np.abs(ours - values[:, k]))) < AGREES * size
        found.append(formula if is_same and formula.count_ops() <= SHORT else None)
    return found


def energy_of(equations: Equations) -> ca.SX:
    """Kinetic and potential energy, of (t, q, η, w, parameters)."""
    return ca.densify(equations.kinetic_energy + equations.forces.potential_energy)


def energy_integral(
    equations: Equations,
    frame: FieldFrame,
    rates: MotionRates,
    names: Sequence[str],
    fields: Sequence[Field],
) -> FirstIntegral | None:
    """The energy, or (2), where it is conserved without inputs."""
    kin = equations.kinematics
    if equations.auxiliary_states.numel():
        return None
    E = energy_of(equations)
    given = tuple(i.name for i in kin.model.inputs) + tuple(i.name for i in kin.model.speed_inputs)
    own, sizes = rates.of(E)
    scale = max(float(np.max(sizes)), 1e-300)
    residual = float(np.max(np.abs(own))) / scale
    if residual <= AGREES:
        return FirstIntegral(
            kind="energy",
            name="energy",
            inputs=given,
            residual=residual,
            function=StateFunction(equations=equations, traced=E),
        )
    if not fields or ca.sparsify(kin.s).is_zero():
        return None
    J = momenta_of(equations, frame, fields)
    turned, _ = rates.of(J)
    half = len(turned) // 2
    lengths = np.maximum(np.linalg.norm(turned, axis=0), AGREES * scale)
    c = np.linalg.lstsq(turned[:half] / lengths, own[:half, 0], rcond=1e-9)[0] / lengths
    residual = float(np.max(np.abs(turned @ c - own[:, 0]))) / scale
    if residual > AGREES:
        return None
    kept = np.abs(c) * np.max(np.abs(turned), axis=0) > 1e-9 * np.max(np.abs(own))
    c = np.where(kept, c, 0.0)
    parts = "".join(
        f" {'-' if x > 0 else '+'} {abs(x):.6g} momentum of {name}"
        for x, name in zip(c, names, strict=True)
        if x
    )
    return FirstIntegral(
        kind="moving energy",
        name=f"energy{parts}",
        inputs=given,
        residual=residual,
        function=StateFunction(equations=equations, traced=E - ca.dot(ca.SX(ca.DM(c)), J)),
    )
