"""Invariant measure of free motions, and what stands in its way.

With η̇ = −Γ(η, η) the flow of (q, η) keeps the volume with density N(q) if, along each admissible
field X_i and with its divergence θ_i,

    (1)  X_i (ln N) = −θ_i,    θ_i η_i = ∂(F η)/∂q + ∂η̇/∂η

A density exists if the one-form that (1) and brackets define is closed
[FedorovGarciaNaranjoMarrero2015]: X_i α(Z) − Z α(X_i) = α([X_i, Z]) for every field Z that brackets
reach.

**Obstructions.** Where the one-form is not closed, a steady motion shows it: at a relative
equilibrium, (q, η) moves along symmetries alone, which keep volume, and a trace θ_i η_i of the
linearization other than zero makes volumes beside it grow or shrink for ever. Over a motion that
returns up to a symmetry, volumes change by the product of its Floquet multipliers,

    (2)  ln Π ρ_k = ∮ (∂(F η)/∂q + ∂η̇/∂η) dt
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from noslip.algebra import symmetric_solve
from noslip.base import Array
from noslip.formulations import Equations
from noslip.geometry.distributions import FieldFrame
from noslip.geometry.fields import VANISHES, Field, FieldChart
from noslip.simulation import Trajectory

#: A residual below this, relative to the terms it is the difference of, is zero.
AGREES = 1e-8
#: Starts from each sample, steps of Newton's method, and the residual of a relative equilibrium.
STARTS, NEWTON, STEADY = 4, 40, 1e-11
#: Trace below which a relative equilibrium does not obstruct, 1/s at a speed of one: where
#: equilibria meet, Newton's method leaves the square root of rounding.
FELT = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RelativeEquilibrium:
    """A motion along symmetries alone, of the mechanism without forces."""

    #: Coordinate → value, and independent speed → value, of unit length together.
    q: dict[str, float]
    speeds: dict[str, float]
    #: Trace of the linearization, 1/s.
    trace: float
    #: Largest residual of the equations.
    residual: float

    def text(self) -> str:
        """The speeds and the trace."""
        moving = {name: x for name, x in self.speeds.items() if abs(x) > 1e-9}
        given = ", ".join(f"{name} = {x:.4g}" for name, x in moving.items())
        return f"at the steady motion {given} the trace is {self.trace:.4g}/s"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InvariantMeasure:
    """Whether volume with a density of the configuration is kept, by (1)."""

    #: ``yes``, ``no`` or ``undecided``.
    answer: str
    #: The density, where it was recognized.
    density: str
    reason: str
    residual: float
    #: A steady motion beside which volumes shrink or grow, where one was found.
    obstruction: RelativeEquilibrium | None = None
    equations: Equations | None = field(repr=False, default=None)

    def growth(self, run: Trajectory) -> Array:
        """Logarithm of the growth of volumes about a run since its start, (2), at its samples.

        Over a motion that returns, its exponential is the product of the Floquet multipliers.
        Forces and inputs of the run count.
        """
        assert self.equations is not None, "measures are made with their equations"
        rate = divergence_of(self.equations)
        params = np.array(list(run.parameters.values()), dtype=float)
        symbols = self.equations.kinematics.symbols
        speeds = ca.mtimes(self.equations.kinematics.E, symbols.v)
        eta = ca.Function("eta", [symbols.t, symbols.q, symbols.v, symbols.params], [speeds])
        t, q = run.t[None], run.q.T  # a column for each sample
        states = ca.vertcat(ca.DM(q), eta(t, q, run.v.T, params))
        values = np.array(rate(t, states, run.inputs.T, params)).ravel()
        if len(run.t) < 4:
            return np.concatenate(
                [[0.0], np.cumsum(np.diff(run.t) * (values[1:] + values[:-1]) / 2)]
            )
        summed = CubicSpline(run.t, values).antiderivative()
        return np.asarray(summed(run.t) - summed(run.t[0]))


def divergence_of(equations: Equations) -> ca.Function:
    """∂ẋ/∂x summed over x = [q; η], of (t, x, inputs, parameters)."""
    kin = equations.kinematics
    x = ca.vertcat(kin.symbols.q, kin.eta)
    rates = equations.state_rates
    total = ca.SX(0)
    for k in range(x.numel()):
        total += ca.jacobian(rates[k], x[k])[0, 0]
    return ca.Function(
        "divergence", [kin.symbols.t, x, equations.inputs, kin.symbols.params], [total]
    )


def invariant_measure(
    equations: Equations, frame: FieldFrame, symmetries: Sequence[Field]
) -> InvariantMeasure:
    """(1) on everything that brackets reach, with an obstruction by symmetries if it fails."""
    kin, chart = equations.kinematics, frame.chart
    if not ca.sparsify(kin.s).is_zero():
        return undecided_measure("constraints with given speeds move by themselves", equations)
    if kin.model.speed_inputs:
        return undecided_measure("speed inputs are prescribed, not free", equations)
    eta = kin.eta
    mass, bias = (
        ca.densify(chart.numeric(x)) for x in (equations.reduced_mass, equations.reduced_bias)
    )
    solved, _ = symmetric_solve(mass, -bias)
    generators = frame.generators
    # θ_i: what each speed contributes to the divergence
    inner = sum((ca.jacobian(solved[k], eta)[0, k] for k in range(eta.numel())), ca.SX(0))
    slopes = ca.densify(ca.jacobian(inner, eta))
    slopes = ca.substitute([slopes], [eta], [ca.SX.zeros(eta.numel())])[0]
    theta = []
    for k, X in enumerate(generators):
        spread = sum(
            (ca.jacobian(X.components[j], chart.q)[0, j] for j in range(chart.q.numel())),
            ca.SX(0),
        )
        theta.append(spread + slopes[k])
    alpha = {X.name: -t for X, t in zip(generators, theta, strict=True)}
    by_name = {X.name: X for X in frame.reached}
    for Z in frame.reached:
        if Z.name not in alpha:
            X, Y = (by_name[name] for name in Z.parents)
            alpha[Z.name] = chart.derivative(X, alpha[Y.name]) - chart.derivative(Y, alpha[X.name])
    residual = _closure(chart, frame, alpha)
    on_frame = ca.horzcat(*[alpha[Z.name] for Z in frame.reached])
    sizes = [float(np.max(np.abs(x), initial=0.0)) for x in chart.evaluate(ca.densify(on_frame))]
    largest = max(sizes)
    if residual > AGREES * 10:
        reason = f"the one-form of its density is not closed (by {residual:.1e}, relative)"
        steady = relative_equilibrium(equations, frame, symmetries, solved, theta)
        return InvariantMeasure(
            answer="no",
            density="",
            reason=reason if steady is None else f"{reason}; {steady.text()}",
            residual=residual,
            obstruction=steady,
            equations=equations,
        )
    if largest <= VANISHES:
        return InvariantMeasure(
            answer="yes",
            density="constant",
            reason="the flow of (q, η) has no divergence",
            residual=residual,
            equations=equations,
        )
    density = _recognized(chart, frame, alpha, mass)
    return InvariantMeasure(
        answer="yes",
        density=density,
        reason=f"the one-form of its density is closed to {residual:.1e}",
        residual=residual,
        equations=equations,
    )


def undecided_measure(reason: str, equations: Equations) -> InvariantMeasure:
    """That nothing is known, and why."""
    return InvariantMeasure(
        answer="undecided", density="", reason=reason, residual=0.0, equations=equations
    )


# Obstructions


def relative_equilibrium(
    equations: Equations,
    frame: FieldFrame,
    symmetries: Sequence[Field],
    solved: ca.SX,
    theta: Sequence[ca.SX],
) -> RelativeEquilibrium | None:
    """The one with the fewest speeds, then the largest trace, that Newton's method finds.

    Only those along which symmetries keep the volume of (q, η) count, so that the trace is that of
    the reduced linearization.
    """
    if not symmetries:
        return None
    kin, chart = equations.kinematics, frame.chart
    q, c = kin.symbols.q, ca.SX.sym("c", len(symmetries))
    along = ca.mtimes(ca.horzcat(*[x.components for x in symmetries]), c)
    N = chart.numeric(ca.densify(kin.N))
    back, _ = symmetric_solve(ca.mtimes(N.T, N), N.T)
    v = ca.mtimes(back, along)
    eta = ca.mtimes(chart.numeric(ca.densify(kin.E)), v)
    rows = ca.mtimes(chart.numeric(ca.densify(kin.A)), v)
    turned = ca.substitute([solved], [kin.eta], [eta])[0] - ca.jtimes(eta, chart.q, along)
    kept = [chart.numeric(kin.g)] + [ca.sumsqr(q[k : k + 4]) - 1 for k in kin.probe.quaternions]
    rest = ca.densify(ca.vertcat(rows, turned, *kept, ca.sumsqr(eta) - 1))
    z = ca.vertcat(q, c)
    steady_rows = ca.Function("steady", [z], [rest, ca.densify(ca.jacobian(rest, z))])
    X = Field("along", along)
    brackets = ca.horzcat(*[chart.bracket(X, Y).components for Y in frame.generators])
    spread = ca.trace(ca.jacobian(along, chart.q))
    trace = ca.dot(ca.vertcat(*theta), eta)
    spans = ca.horzcat(*[f.components for f in frame.generators])
    told = ca.Function("told", [z], [ca.densify(x) for x in (eta, trace, spread, brackets, spans)])
    to_speeds = ca.Function("to_speeds", [q], [ca.densify(ca.jacobian(eta, c))])
    rng = np.random.default_rng(45)
    steady: RelativeEquilibrium | None = None
    best = (np.inf, 0.0)
    for _, start in chart.samples:
        # one speed after the other, then any
        towards = np.linalg.pinv(np.array(to_speeds(start)))
        first = [*towards.T, *rng.normal(size=(STARTS, len(symmetries)))]
        for shares in first:
            point = _newton(steady_rows, np.concatenate([start, shares]))
            if point is None:
                continue
            speeds, found, apart, turning, span = (np.array(x) for x in told(point))
            carried = np.trace(np.linalg.lstsq(span, turning, rcond=None)[0])
            value = float(found[0, 0])
            if abs(float(apart[0, 0])) > AGREES or abs(carried) > AGREES:
                continue
            moving = int(np.sum(np.abs(speeds) > 1e-9))
            if abs(value) > FELT and (moving, -abs(value)) < best:
                best = (moving, -abs(value))
                names = [s.name for s in kin.independent_speeds]
                places = [coordinate.name for coordinate in kin.coordinates]
                steady = RelativeEquilibrium(
                    q=dict(zip(places, map(float, point), strict=False)),
                    speeds=dict(zip(names, map(float, speeds.ravel()), strict=True)),
                    trace=value,
                    residual=float(np.max(np.abs(np.array(steady_rows(point)[0])))),
                )
    return steady


def _newton(rows: ca.Function, point: Array) -> Array | None:
    """A zero of a system of equations with more unknowns than equations; None if none is found."""
    for _ in range(NEWTON):
        rest, slopes = (np.array(x) for x in rows(point))
        if not np.all(np.isfinite(rest)) or not np.all(np.isfinite(slopes)):
            return None
        if np.max(np.abs(rest)) < STEADY:
            return point
        step = np.linalg.lstsq(slopes, -rest.ravel(), rcond=1e-10)[0]
        point = point + step * min(1.0, 1.0 / max(float(np.max(np.abs(step))), 1e-300))
    return None


def _closure(chart: FieldChart, frame: FieldFrame, alpha: Mapping[str, ca.SX]) -> float:
    """Largest violation of X α(Z) − Z α(X) = α([X, Z]), relative to its terms."""
    fields = frame.reached
    pairs = [(X, Z) for X in frame.generators for Z in fields if X is not Z]
    if not pairs:
        return 0.0
    brackets = [chart.bracket(X, Z) for X, Z in pairs]
    curls = ca.horzcat(
        *[chart.derivative(X, alpha[Z.name]) - chart.derivative(Z, alpha[X.name]) for X, Z in pairs]
    )
    ours = ca.horzcat(*[alpha[Z.name] for Z in fields])
    spans, values = chart.values(fields), chart.values(brackets)
    found = zip(spans, values, chart.evaluate(curls), chart.evaluate(ours), strict=True)
    worst = 0.0
    for span, value, curl, own in found:
        shares = np.linalg.lstsq(span, value, rcond=1e-13)[0]
        expected = own @ shares
        size = np.max(np.abs(curl)) + np.max(np.abs(own)) * max(1.0, np.max(np.abs(shares)))
        if size > 0.0:
            worst = max(worst, float(np.max(np.abs(curl - expected))) / max(float(size), 1.0))
    return worst


def _recognized(
    chart: FieldChart, frame: FieldFrame, alpha: Mapping[str, ca.SX], mass: ca.SX
) -> str:
    """The density as a power of the determinant of the reduced mass, if it is one."""
    _, pivots = symmetric_solve(mass, ca.SX.zeros(mass.shape[0]))
    logarithm = sum((ca.log(p) for p in pivots), ca.SX(0))
    slopes = ca.horzcat(*[chart.derivative(Z, logarithm) for Z in frame.reached])
    ours = ca.horzcat(*[alpha[Z.name] for Z in frame.reached])
    a = np.concatenate([x.ravel() for x in chart.evaluate(ca.densify(slopes))])
    b = np.concatenate([x.ravel() for x in chart.evaluate(ca.densify(ours))])
    if not np.max(np.abs(a)) > VANISHES:
        return ""
    power = float(a @ b / (a @ a))
    if np.max(np.abs(b - power * a)) > AGREES * np.max(np.abs(b)):
        return ""
    return f"(det SᵀMS)^{power:.6g}"
