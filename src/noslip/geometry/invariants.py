"""`structure`: symmetries and their momenta, Chaplygin form, invariant measure, flat outputs.

**Invariant measure of free motions, and what stands in its way.**

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

**Symmetries.** A displacement ξ(q) (a coordinate that moves alone, or all bodies moved rigidly) is
a symmetry of the mechanism if brackets with it stay admissible, [ξ, D] ⊂ D, and the kinetic energy
does not change along it. If ξ itself is admissible and no applied force works along it, the
momentum

    (1)  J = ξᵀ M v,    J̇ = ξᵀ Q

is conserved; if not, constraint forces work along it, and only the admissible combinations of
symmetries have a momentum equation [BlochKrishnaprasadMarsdenMurray1996].

Connections and multipliers those of `reduction`.

**All statements about a model, from one trace of it and its brackets.**
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from noslip.algebra import symmetric_solve
from noslip.base import Array
from noslip.formulations import Equations, mass_matrix
from noslip.geometry.distributions import (
    Distribution,
    FieldFrame,
    TracedModel,
    changes_with_time,
    dimension_of,
    distribution_in,
    subject_of,
    tangent_space,
)
from noslip.geometry.fields import VANISHES, Field, FieldChart
from noslip.geometry.flatness import FlatOutputs, flat_outputs
from noslip.geometry.momenta import (
    FirstIntegral,
    MomentumEquation,
    MotionRates,
    StateFunction,
    energy_integral,
    momenta_of,
    momentum_equations,
)
from noslip.geometry.reachable import CHANGING, Controllability, controllability_in
from noslip.geometry.reduction import (
    ChaplyginReduction,
    VelocityForm,
    chaplygin_reduction,
    velocity_form,
)
from noslip.kinematics import Kinematics
from noslip.model import WORLD, Model
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Symmetry:
    """A displacement that changes neither what is admissible nor the kinetic energy."""

    name: str
    #: Whether constraints allow it, so that no constraint force works along it.
    is_admissible: bool
    #: Whether gravity, springs and dampers do no work along it.
    is_free: bool
    #: Inputs that push along it.
    inputs: tuple[str, ...]
    #: Largest residual of the tests, relative.
    residual: float
    momentum: ca.Function = field(repr=False)

    @property
    def is_conserved(self) -> bool:
        """Whether its momentum is constant while its inputs are zero."""
        return self.is_admissible and self.is_free

    def along(self, run: Trajectory) -> Array:
        """Momentum (1) at the samples of a run."""
        params = np.array(list(run.parameters.values()), dtype=float)
        return np.array(
            [float(self.momentum(q, v, params)) for q, v in zip(run.q, run.v, strict=True)]
        )

    def text(self) -> str:
        """What follows from it."""
        if self.is_conserved:
            are = "is" if len(self.inputs) == 1 else "are"
            pushed = f" while {', '.join(self.inputs)} {are} zero" if self.inputs else ""
            return f"{self.name}: momentum conserved{pushed}"
        if self.is_admissible:
            return f"{self.name}: admissible; its momentum changes by the applied forces alone"
        return f"{self.name}: constraint forces work along it"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """Symmetries and what follows. Made by :func:`structure`."""

    model: str
    dimension: int
    #: Degrees of freedom.
    freedom: int
    symmetries: tuple[Symmetry, ...]
    #: Dimension of what all symmetries together move.
    orbit: int
    #: Dimension of the admissible combinations of symmetries: as many momentum equations.
    admissible: int
    #: Momentum equations of combinations whose symmetries are not admissible one by one.
    momenta: tuple[MomentumEquation, ...]
    #: Energy, moving energy and momenta that are constant without inputs.
    first_integrals: tuple[FirstIntegral, ...]
    #: Coordinates that no symmetry moves.
    shape: tuple[str, ...]
    #: The constraints solved for the velocities of coordinates.
    voronets: VelocityForm | None
    #: The constraints as a connection over the shape of a group of symmetries.
    chaplygin: ChaplyginReduction | None
    measure: InvariantMeasure
    flat: FlatOutputs

    @property
    def is_free(self) -> bool:
        """Whether no constraint restricts the velocities of configurations."""
        return self.freedom == self.dimension

    @property
    def is_chaplygin(self) -> bool:
        """Whether the constraints are a connection over the shape of a group of symmetries."""
        return self.chaplygin is not None

    def drifts(self, run: Trajectory) -> dict[str, float]:
        """Largest relative change of each first integral along a run: zero while inputs are."""
        return {integral.name: integral.drift(run) for integral in self.first_integrals}

    @property
    def properties(self) -> dict[str, str]:
        """All statements but those of single symmetries, by what each is about."""
        moved = (
            f": symmetries move {self.orbit} of {self.dimension} dimensions, "
            f"{self.admissible or 'none'} of them admissibly"
            if self.symmetries
            else ""
        )
        density = f", density {self.measure.density}" if self.measure.density else ""
        found = {"momentum equations": f"{self.admissible or 'none'}{moved}"}
        for k, equation in enumerate(self.momenta, 1):
            found[f"momentum J{k}"] = f"of {equation.text()}"
        constant = "; ".join(integral.text() for integral in self.first_integrals)
        found["first integrals"] = constant or "none found"
        if self.is_free:
            found["Chaplygin form"] = "no constraint on velocities, so that there is none"
        else:
            if self.voronets is not None:
                found["Voronets form"] = self.voronets.text()
            found["Chaplygin form"] = self.chaplygin.text() if self.chaplygin else "no group found"
        if self.chaplygin is not None:
            found["multiplier"] = self.chaplygin.multiplier.text()
        return found | {
            "invariant measure": f"{self.measure.answer}{density}: {self.measure.reason}",
            "flat": self.flat.text(),
        }

    def text(self) -> str:
        """The statements."""
        lines = [f"{self.model}: structure"]
        lines += [f"  symmetry             {symmetry.text()}" for symmetry in self.symmetries]
        if not self.symmetries:
            lines.append("  symmetry             none found")
        lines += [f"  {title:<20} {said}" for title, said in self.properties.items()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": self.model,
            "dimension": self.dimension,
            "symmetries": [
                {
                    "name": s.name,
                    "is_admissible": s.is_admissible,
                    "is_conserved": s.is_conserved,
                    "inputs": list(s.inputs),
                    "residual": s.residual,
                    "text": s.text(),
                }
                for s in self.symmetries
            ],
            "orbit": self.orbit,
            "momentum_equations": self.admissible,
            "momenta": [
                {
                    "coefficients": m.coefficients,
                    "is_conserved": m.is_conserved,
                    "residual": m.residual,
                    "text": m.text(),
                }
                for m in self.momenta
            ],
            "first_integrals": [
                {"kind": i.kind, "text": i.text(), "residual": i.residual}
                for i in self.first_integrals
            ],
            "is_chaplygin": self.is_chaplygin,
            "shape": list(self.shape),
            "voronets": self.voronets.to_json() if self.voronets else None,
            "chaplygin": self.chaplygin.to_json() if self.chaplygin else None,
            "measure": {
                "answer": self.measure.answer,
                "density": self.measure.density,
                "reason": self.measure.reason,
                "residual": self.measure.residual,
                "obstruction": dataclasses.asdict(self.measure.obstruction)
                if self.measure.obstruction
                else None,
            },
            "flat": {
                "answer": self.flat.answer,
                "flag": list(self.flat.flag),
                "points": list(self.flat.points),
                "without": list(self.flat.without),
                "reason": self.flat.reason,
                "map": self.flat.map.to_json() if self.flat.map else None,
            },
        }

    def __repr__(self) -> str:
        return self.text()


def structure(model: Model, *, parameters: Mapping[str, float] | None = None) -> Structure:
    """Symmetries, momenta, Chaplygin form, invariant measure and flat outputs of a model.

    Parameters
    ----------
    model : checked model.
    parameters : name → value, instead of the nominal ones.

    Raises
    ------
    FormulationError : if the mechanism cannot move.
    """
    return structure_in(subject_of("structure", model, parameters, is_derived=True))


def structure_in(subject: TracedModel) -> Structure:
    """The structure of a model that is traced and derived already."""
    subject.check_can_move()
    equations, own, params = subject.equations, subject.kin, subject.params
    assert equations is not None, "subjects of structure are derived"
    model = own.model
    frame, _ = subject.framed
    chart = frame.chart
    if changes_with_time(chart):
        return _changing(subject)
    symmetries, fields = _symmetries(equations, frame)
    dimension = dimension_of(chart)
    freedom = chart.rank(frame.generators).value
    orbit = _rank(chart, fields)
    freely = dataclasses.replace(frame, generators=frame.free)
    meets = _rank(chart, frame.free) + orbit - _rank(chart, [*frame.free, *fields])
    names = [s.name for s in symmetries]
    is_free = freedom == dimension
    pairs = list(zip(symmetries, fields, strict=True))
    held = [(s.name, field) for s, field in pairs if not s.is_admissible]
    rates = MotionRates(equations, frame)
    energy = energy_integral(equations, frame, rates, names, fields)
    count = meets - (len(symmetries) - len(held))
    momenta = momentum_equations(
        equations, freely, rates, [name for name, _ in held], [x for _, x in held], count
    )
    return Structure(
        model=model.name,
        dimension=dimension,
        freedom=freedom,
        symmetries=symmetries,
        orbit=orbit,
        admissible=meets,
        momenta=momenta,
        first_integrals=_first_integrals(equations, frame, rates, pairs, momenta, energy),
        shape=_unmoved(chart, fields),
        voronets=None if is_free else velocity_form(frame),
        chaplygin=None
        if is_free
        else chaplygin_reduction(
            equations, frame, names, fields, dimension, _forced(symmetries, energy)
        ),
        measure=_measure(equations, frame, fields),
        flat=flat_outputs(own, params, frame),
    )


def _measure(equations: Equations, frame: FieldFrame, fields: Sequence[Field]) -> InvariantMeasure:
    """The measure of free motions; said of mechanisms with drag that it is theirs without."""
    found = invariant_measure(equations, frame, fields)
    if not ca.jacobian(equations.reduced_forces, equations.kinematics.eta).nnz():
        return found
    reason = f"{found.reason}; forces that depend on speeds are left out"
    return dataclasses.replace(found, reason=reason)


def _forced(symmetries: Sequence[Symmetry], energy: FirstIntegral | None) -> dict[str, str]:
    """Symmetry → why reduced motions are not Hamiltonian where it belongs to the group."""
    if energy is None:
        return {s.name: "applied forces change the energy" for s in symmetries}
    return {s.name: f"applied forces work along {s.name}" for s in symmetries if not s.is_free}


def _changing(subject: TracedModel) -> Structure:
    """What is said of a mechanism whose rows change with time: its energy alone."""
    equations, (frame, _) = subject.equations, subject.framed
    assert equations is not None
    chart = frame.chart
    energy = energy_integral(equations, frame, MotionRates(equations, frame), (), ())
    return Structure(
        model=subject.kin.model.name,
        dimension=dimension_of(chart),
        freedom=chart.rank(frame.generators).value,
        symmetries=(),
        orbit=0,
        admissible=0,
        momenta=(),
        first_integrals=() if energy is None else (energy,),
        shape=tuple(chart.names),
        voronets=None,
        chaplygin=None,
        measure=undecided_measure(CHANGING, equations),
        flat=FlatOutputs(answer="undecided", flag=(), points=(), without=(), reason=CHANGING),
    )


def _first_integrals(
    equations: Equations,
    frame: FieldFrame,
    rates: MotionRates,
    symmetries: Sequence[tuple[Symmetry, Field]],
    momenta: Sequence[MomentumEquation],
    energy: FirstIntegral | None,
) -> tuple[FirstIntegral, ...]:
    """Energy or moving energy, and momenta that are conserved."""
    kin = equations.kinematics
    found = [energy] if energy is not None else []
    driven = tuple(i.name for i in kin.model.inputs)
    driven += tuple(i.name for i in kin.model.speed_inputs)
    for symmetry, x in symmetries:
        if symmetry.is_conserved:
            J = momenta_of(equations, frame, [x])
            change, sizes = rates.of(J)
            found.append(
                FirstIntegral(
                    kind="momentum",
                    name=f"momentum of {symmetry.name}",
                    inputs=symmetry.inputs,
                    residual=float(np.max(np.abs(change)) / max(np.max(sizes), 1e-300)),
                    function=StateFunction(equations=equations, traced=J),
                )
            )
    found += [
        FirstIntegral(
            kind="momentum",
            name=f"momentum J{k}",
            inputs=driven,
            residual=m.residual,
            function=m.momentum,
        )
        for k, m in enumerate(momenta, 1)
        if m.is_conserved
    ]
    return tuple(integral for integral in found if integral.residual <= 10 * AGREES)


def _rank(chart: FieldChart, fields: Sequence[Field]) -> int:
    return chart.rank(fields).value if fields else 0


def _unmoved(chart: FieldChart, fields: Sequence[Field]) -> tuple[str, ...]:
    """Coordinates that none of the fields moves."""
    moved = np.zeros(len(chart.kept), dtype=bool)
    for values in chart.values(fields):
        moved |= np.max(np.abs(values), axis=1, initial=0.0) > VANISHES
    names = [chart.kin.coordinates[k].name for k in chart.kept]
    return tuple(name for name, is_moved in zip(names, moved, strict=True) if not is_moved)


# Symmetries


def _symmetries(
    equations: Equations, frame: FieldFrame
) -> tuple[tuple[Symmetry, ...], list[Field]]:
    """Those of the candidates that pass the tests, as many as are independent."""
    chart, kin = frame.chart, equations.kinematics
    M = chart.numeric(ca.densify(mass_matrix(kin)))
    N = chart.numeric(ca.densify(kin.N))
    back = ca.solve(ca.mtimes(N.T, N), N.T)
    maps = [Field(s.name, N[:, k]) for k, s in enumerate(kin.speeds)]
    found: list[Symmetry] = []
    kept: list[Field] = []
    for candidate, speeds in _candidates(chart, kin, N):
        if _rank(chart, [*kept, candidate]) == len(kept) or not _is_tangent(chart, candidate):
            continue
        outside = _leaves(chart, frame.generators, candidate)
        if outside > AGREES:
            continue
        change = _change_of_energy(chart, M, back, maps, candidate)
        if change > AGREES:
            continue
        kept.append(candidate)
        found.append(_described(equations, frame, candidate, speeds, max(outside, change)))
    return tuple(found), kept


def _candidates(chart: FieldChart, kin: Kinematics, N: ca.SX) -> list[tuple[Field, ca.SX]]:
    """Displacements to try: whole ones first, then single coordinates; with their tree speeds."""
    found = [pair for word in _WHOLE if (pair := _whole(chart, kin, N, word)) is not None]
    speeds_of = ca.solve(ca.mtimes(N.T, N), N.T)
    quaternions = {k + j for k in kin.probe.quaternions for j in range(4)}
    for k, coordinate in enumerate(kin.coordinates):
        if k in quaternions:
            continue
        direction = ca.SX.zeros(kin.num_coordinates)
        direction[k] = 1
        found.append((Field(coordinate.name, direction), ca.mtimes(speeds_of, direction)))
    return found


#: Displacements of all bodies: name → angular and linear velocity of the world's points.
_WHOLE = {
    "displacement along x": ((0, 0, 0), (1, 0, 0)),
    "displacement along y": ((0, 0, 0), (0, 1, 0)),
    "displacement along z": ((0, 0, 0), (0, 0, 1)),
    "rotation about x": ((1, 0, 0), (0, 0, 0)),
    "rotation about y": ((0, 1, 0), (0, 0, 0)),
    "rotation about z": ((0, 0, 1), (0, 0, 0)),
}


def _whole(chart: FieldChart, kin: Kinematics, N: ca.SX, word: str) -> tuple[Field, ca.SX] | None:
    """A rigid displacement of all bodies by their joints with the world; None if one cannot."""
    turning, moving = (ca.SX(ca.DM(x)) for x in _WHOLE[word])
    v = ca.SX.zeros(kin.num_speeds)
    q = kin.symbols.q
    for node in kin.tree.nodes:
        if node.joint.parent != WORLD:
            continue
        own = list(range(node.speeds.start, node.speeds.stop))
        p, R = chart.numeric(node.p_WB), chart.numeric(node.R_WB)
        columns = []
        for k in own:
            rate = ca.jtimes(ca.vertcat(p, ca.vec(R)), q, N[:, k])
            R_dot = ca.reshape(rate[3:], 3, 3)
            spin = ca.mtimes(R_dot, R.T)
            columns.append(ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0], rate[:3]))
        J = ca.horzcat(*columns) if columns else ca.SX.zeros(6, 0)
        wanted = ca.vertcat(turning, ca.cross(turning, p) + moving)
        if not own:
            if not ca.sparsify(wanted).is_zero():
                return None
            continue
        share = ca.solve(ca.mtimes(J.T, J), ca.mtimes(J.T, wanted))
        rest = ca.densify(ca.mtimes(J, share) - wanted)
        if max(float(np.max(np.abs(x))) for x in chart.evaluate(rest)) > AGREES:
            return None
        for at, k in enumerate(own):
            v[k] = share[at]
    return Field(word, ca.densify(ca.mtimes(N, v))), v


def _is_tangent(chart: FieldChart, candidate: Field) -> bool:
    """Whether a displacement keeps all holonomic rows."""
    for free, values in zip(tangent_space(chart), chart.values([candidate]), strict=True):
        share = np.linalg.lstsq(free, values, rcond=None)[0]
        if np.max(np.abs(free @ share - values)) > AGREES * max(1.0, np.max(np.abs(values))):
            return False
    return True


def _leaves(chart: FieldChart, generators: Sequence[Field], candidate: Field) -> float:
    """How far brackets with a candidate are from being admissible, relative."""
    brackets = chart.values([chart.bracket(candidate, X) for X in generators])
    spans = chart.values(generators)
    worst = 0.0
    for span, values in zip(spans, brackets, strict=True):
        q, _ = np.linalg.qr(span)
        rest = values - q @ (q.T @ values)
        size = max(float(np.max(np.abs(values), initial=0.0)), float(np.max(np.abs(span))))
        worst = max(worst, float(np.max(np.abs(rest), initial=0.0)) / size)
    return worst


def _change_of_energy(
    chart: FieldChart, M: ca.SX, back: ca.SX, maps: Sequence[Field], candidate: Field
) -> float:
    """Largest entry of the Lie derivative of the metric, relative to the metric."""
    change = ca.reshape(chart.derivative(candidate, ca.vec(M)), M.shape)
    moved = ca.horzcat(*[ca.mtimes(back, chart.bracket(candidate, e).components) for e in maps])
    total = ca.densify(change - ca.mtimes(moved.T, M) - ca.mtimes(M, moved))
    scale = np.outer(chart.kin.probe.scale, chart.kin.probe.scale)  # all in kg
    sizes = [float(np.max(np.abs(x / scale))) for x in chart.evaluate(ca.densify(M))]
    changes = [float(np.max(np.abs(x / scale))) for x in chart.evaluate(total)]
    return max(c / s for c, s in zip(changes, sizes, strict=True))


def _described(
    equations: Equations,
    frame: FieldFrame,
    candidate: Field,
    speeds: ca.SX,
    residual: float,
) -> Symmetry:
    chart, kin = frame.chart, equations.kinematics
    symbols = kin.symbols
    is_admissible = _rank(chart, [*frame.free, candidate]) == _rank(chart, frame.free)
    forces = ca.densify(chart.numeric(equations.forces.Q))
    power = ca.dot(speeds, forces)
    size = ca.norm_2(forces)
    free = True
    # a force that accelerates by less than 1e-8 m/s² is none
    weight = ca.mmax(ca.fabs(chart.numeric(ca.densify(mass_matrix(kin)))))
    size = ca.fmax(size, weight)
    function = ca.Function("power", [symbols.q, kin.eta, symbols.z, symbols.w], [power, size])
    rng = np.random.default_rng(45)
    for _, q in chart.samples:
        given = (rng.normal(size=x.numel()) for x in (kin.eta, symbols.z, symbols.w))
        work, most = (float(x) for x in function(q, *given))
        free = free and abs(work) <= AGREES * most
    pushes = ca.densify(ca.mtimes(speeds.T, chart.numeric(ca.densify(equations.forces.B))))
    values = chart.evaluate(pushes) if pushes.numel() else []
    inputs = tuple(
        i.name
        for k, i in enumerate(kin.model.inputs)
        if any(abs(float(x[0, k])) > AGREES for x in values)
    )
    mass = ca.densify(mass_matrix(kin))
    momentum = ca.Function(
        "momentum",
        [symbols.q, symbols.v, symbols.params],
        [ca.dot(speeds, ca.mtimes(mass, symbols.v))],
    )
    return Symmetry(
        name=candidate.name,
        is_admissible=is_admissible,
        is_free=free,
        inputs=inputs,
        residual=residual,
        momentum=momentum,
    )


def statements_of(
    model: Model,
    *,
    at: Mapping[str, float] | None = None,
    without: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    progress: Callable[[str], object],
) -> tuple[Distribution, Controllability | None, Structure | None]:
    """What `distribution`, `controllability` and `structure` say, each told to `progress` first.

    The last two are None of a mechanism that cannot move.
    """
    progress("brackets")
    subject = subject_of("geometry", model, parameters, is_derived=True)
    found = distribution_in(subject, at=at, without=without)
    if not subject.can_move:
        return found, None, None
    progress("controllability")
    reach = controllability_in(subject)
    progress("symmetries and measure")
    return found, reach, structure_in(subject)
