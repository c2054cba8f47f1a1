"""`fit`: parameters of a model from measured runs, and `Fit`: what was found and how well.

**`fit`: parameters, and what else is not known, from measured motions, by weighted least squares.**

With θ what is looked for, y_jk what column j shows at time k, h_j what it measures of the motion,
σ_j its standard deviation, and (μ_i, s_i) what is known of θ_i before,

    (1)  J(θ) = Σ_jk ((y_jk − h_j(x(t_k; θ)))/σ_j)² + Σ_i ((θ_i − μ_i)/s_i)²  → least

within bounds. The Jacobian R = ∂r/∂θ of the residuals r comes from forward sensitivities of the
runs, exact and from the same pass as the residuals; steps are those of a trust region about the
Gauss–Newton step. The adjoint (`gradient`) gives the gradient 2 Rᵀr alone, and steps are
quasi-Newton: a second way, which takes more evaluations. At the least value

    (2)  C = (RᵀR)⁻¹,      θ_i ± q √C_ii

are the covariance and the intervals: q is a quantile of the normal distribution where all σ_j are
given, else of Student's with as many degrees of freedom as there are values beyond unknowns. A σ_j
that is not given is found with θ: σ_j² = Σ_k r_jk²/(n_j − l_j), where l_j is the leverage of the
column, its share in the number of unknowns that are determined, until neither changes.

(2) is that of independent noise of the right size. Where successive residuals of a column are
correlated, or chi-square is far too large, something is not modeled, and it is replaced by

    (3)  C′ = C (Σ_j s_j R_jᵀR_j + Π) C,      s_j = τ_j max(1, Σ_k r_jk²/n_j)

with Π of the priors and τ_j = 1 + 2 Σ_k ρ_jk the autocorrelation time of the residuals: n_j values
are worth n_j/τ_j independent ones. The degrees of freedom of Student's distribution are those too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip import (
    Measurements,
    NoslipError,
    SimulationError,
    System,
    gradient,
    simulate_sensitivities,
)
from noslip.base import Array, MissingNameError, as_number, counted, finite_or_none, nearest
from noslip.engines import require_system
from noslip.identification.measured import MeasuredRun, measured_runs, unwrapped, used_columns
from noslip.results import Sensitivities
from noslip.simulation import Outputs, units_by_name

if TYPE_CHECKING:
    import xarray


#: Probability of chi-square below which it is not chance, and beyond 1 less this too small.
UNLIKELY = 1e-3


class FittedValue(NamedTuple):
    """One number that was found.

    ``error`` is its standard deviation; ``low`` and ``high`` are the ends of its confidence
    interval, NaN where a bound holds it. ``run`` is that of a start value, −1 for what all share.
    """

    name: str
    of: str
    run: int
    unit: str
    value: float
    error: float
    low: float
    high: float
    guess: float
    prior: tuple[float, float] | None
    at_bound: bool

    @property
    def digits(self) -> int:
        """Significant digits that reach two digits of the error."""
        return _digits(self.value, self.error)


class ColumnFit(NamedTuple):
    """Residuals of a column: measured minus fitted, in all runs.

    ``correlation`` is that of successive residuals, about 0 for white noise; ``time`` their
    autocorrelation time, in values: so many are worth one independent value.
    """

    name: str
    expression: str
    unit: str
    num_values: int
    sigma: float
    is_sigma_found: bool
    mean: float
    rms: float
    largest: float
    correlation: float
    time: float = 1.0

    @property
    def spread(self) -> float:
        """Variance of an independent value of such residuals, over that of the noise."""
        return self.time * max(1.0, (self.rms / self.sigma) ** 2)

    @property
    def shown_mean(self) -> float:
        """The mean as it is written: zero where it is one but for rounding."""
        return self.mean if abs(self.mean) > 1e-9 * self.rms else 0.0

    @property
    def is_white(self) -> bool:
        """Whether successive residuals look independent: within 3/√n."""
        return not abs(self.correlation) > 3 / math.sqrt(self.num_values)


def unexplained(columns: Sequence[ColumnFit], probability: float) -> list[str]:
    """What says that the model does not explain the data; `probability` is that of chi-square."""
    said = [
        f"successive residuals of '{c.name}' are correlated ({c.correlation:+.2f})"
        for c in columns
        if not c.is_white
    ]
    if probability < UNLIKELY:
        said.append(f"chi-square is too large (probability {probability:.2g})")
    return said


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedCurve:
    """A column of a run as fitted and as measured."""

    #: run, column, unit: run, column and unit of the curve
    run: str
    column: str
    unit: str
    #: times, values, error: (n,) s, the fitted motion, and its standard deviation from that of what
    #: was found
    times: Array
    values: Array
    error: Array
    #: measured_times, measured, residuals: (k,) the data, and data less fit
    measured_times: Array
    measured: Array
    residuals: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Parameters found from measured motions. Made by :func:`fit`.

    ``fit["m"]`` is the value of m; ``fit.parameters`` is what :func:`simulate` takes.
    """

    model: str  #: name of it
    values: tuple[FittedValue, ...]  #: fitted values, in the order of the parameters
    #: (k, k) of the values; zero for those that a bound holds. Wider than that of independent noise
    #: where the model does not explain the data (`is_explained`).
    covariance: Array = field(repr=False)
    columns: tuple[ColumnFit, ...]  #: residuals by column
    curves: tuple[FittedCurve, ...] = field(repr=False)  #: fit and data by run and column
    runs: tuple[str, ...]  #: names of the measured runs
    level: float  #: confidence level of the intervals
    #: chi_square, degrees_of_freedom: sum of squared residuals over their standard deviations, and
    #: what it is on average
    chi_square: float
    degrees_of_freedom: int
    #: probability of a larger chi-square by chance, where all standard deviations are given
    probability: float
    evaluations: int  #: number of evaluations of all runs with their derivatives
    gradients: str  #: ``"forward"`` or ``"adjoint"``
    fixed: dict[str, float]  #: parameters that were given
    #: start values of each run, those that were found among them
    starts: tuple[dict[str, float], ...]
    #: largest factor by which a standard deviation is wider than that of independent noise
    widened: float = 1.0
    notes: tuple[str, ...] = ()  #: remarks on the data

    def __getitem__(self, name: str) -> float:
        """Value by name."""
        return self.found(name).value

    def found(self, name: str) -> FittedValue:
        """Fitted value by name, with its interval."""
        for value in self.values:
            if value.name == name:
                return value
        raise MissingNameError(
            f"'{name}' was not estimated",
            f"fit of model '{self.model}'",
            nearest(str(name), [v.name for v in self.values]),
        )

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters that all runs share, fixed ones too, for ``simulate(parameters=…)``."""
        return self.fixed | {v.of: v.value for v in self.values if v.run < 0}

    @property
    def correlations(self) -> Array:
        """(k, k) correlations of the estimates; 0 for those at a bound."""
        errors = np.sqrt(np.diag(self.covariance))
        safe = np.where(errors > 0, errors, 1.0)
        return self.covariance / np.outer(safe, safe)

    @property
    def reduced_chi_square(self) -> float:
        """Chi-square over its degrees of freedom: 1 where the model explains the data."""
        return self.chi_square / max(self.degrees_of_freedom, 1)

    @property
    def is_explained(self) -> bool:
        """Whether nothing says that the model does not explain the data."""
        return not unexplained(self.columns, self.probability)

    @property
    def verdict(self) -> str:
        """Whether the model explains the data, and what was done with the intervals if not."""
        doubts = unexplained(self.columns, self.probability)
        if doubts:
            more = [f"and {len(doubts) - 3} more"] if len(doubts) > 3 else []
            return (
                f"something is not modeled: {'; '.join([*doubts[:3], *more])}; intervals are "
                f"widened up to {self.widened:.2g}-fold, and values may be off by more"
            )
        if math.isnan(self.probability):
            return (
                "residuals are white; their size is not tested, since standard deviations were "
                "found from them"
            )
        if self.probability > 1 - UNLIKELY:
            return "the noise is smaller than its standard deviations say"
        return "the model explains the data within their noise"

    def text(self) -> str:
        """Fitted values, quality of the fit, and comparison with the priors, as text."""
        count = sum(c.num_values for c in self.columns)
        lines = [
            f"{self.model}: {counted(len(self.values), 'unknown')} from "
            f"{counted(len(self.runs), 'run')}, {count} measured values"
        ]
        wide = max(len(v.name) for v in self.values)
        wide = max(wide, *(len(c.name) for c in self.columns), 10)
        share = f"{100 * self.level:g} %"
        for v in self.values:
            unit = "" if v.unit in ("", "1") else f" {v.unit}"
            if v.at_bound:
                said = f"{v.value:.6g}{unit}, at its bound; guess {v.guess:.6g}"
            else:
                digits = _digits(v.value, v.error)
                ends = f"{v.low:.{digits}g} … {v.high:.{digits}g}"
                said = f"{v.value:.{digits}g} ± {v.error:.2g}{unit}, {share} {ends}; "
                said += f"guess {v.guess:.6g}"
            if v.prior is not None:
                said += f", prior {v.prior[0]:.6g} ± {v.prior[1]:.3g}"
                if v.error > 0.95 * v.prior[1]:
                    said += ", which alone determines it"
            lines.append(f"  {v.name:<{wide}}  {said}")
        lines += [f"  {c.name:<{wide}}  {_column_text(c)}" for c in self.columns]
        lines += self._correlated(wide)
        lines.append(f"  {'chi-square':<{wide}}  {self._chi_square()}")
        lines.append(f"  {'verdict':<{wide}}  {self.verdict}")
        lines.append(
            f"  {'search':<{wide}}  {counted(self.evaluations, 'evaluation')}, {self.gradients} "
            "derivatives"
        )
        lines += [f"  {'note':<{wide}}  {note}" for note in self.notes]
        return "\n".join(lines)

    def _correlated(self, wide: int) -> list[str]:
        """Pairs that the data hardly tell apart."""
        table = np.triu(np.abs(self.correlations), 1)
        pairs = [(table[i, j], i, j) for i, j in zip(*np.nonzero(table > 0.98), strict=True)]
        return [
            f"  {'correlated':<{wide}}  {self.values[i].name} and {self.values[j].name}: "
            f"{self.correlations[i, j]:+.4f}, nearly indistinguishable"
            for _, i, j in sorted(pairs, reverse=True)[:3]
        ]

    def _chi_square(self) -> str:
        said = f"{self.chi_square:.5g} for {self.degrees_of_freedom} degrees of freedom"
        if math.isnan(self.probability):
            return said + ", which says nothing: standard deviations are those of the residuals"
        return said + f", ratio {self.reduced_chi_square:.3g}, probability {self.probability:.2g}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "model": self.model,
            "runs": list(self.runs),
            "level": self.level,
            "values": {
                v.name: {
                    "value": v.value,
                    "unit": v.unit,
                    "error": finite_or_none(v.error),
                    "interval": [finite_or_none(v.low), finite_or_none(v.high)],
                    "guess": v.guess,
                    "at_bound": v.at_bound,
                }
                for v in self.values
            },
            "covariance": self.covariance.tolist(),
            "columns": {
                c.name: {
                    "measures": c.expression,
                    "unit": c.unit,
                    "count": c.num_values,
                    "sigma": c.sigma,
                    "sigma_found": c.is_sigma_found,
                    "mean": c.mean,
                    "rms": c.rms,
                    "largest": c.largest,
                    "correlation": finite_or_none(c.correlation),
                    "autocorrelation_time": c.time,
                }
                for c in self.columns
            },
            "chi_square": self.chi_square,
            "degrees_of_freedom": self.degrees_of_freedom,
            "probability": finite_or_none(self.probability),
            "explained": self.is_explained,
            "verdict": self.verdict,
            "widened": self.widened,
            "evaluations": self.evaluations,
            "gradients": self.gradients,
            "parameters": self.parameters,
            "starts": [dict(start) for start in self.starts],
            "notes": list(self.notes),
        }

    def to_xarray(self) -> xarray.Dataset:
        """Values, errors, intervals and covariance over ``name``."""
        import xarray

        names = [v.name for v in self.values]
        data = {
            word: ("name", [getattr(v, word) for v in self.values])
            for word in ("value", "error", "low", "high", "guess")
        }
        coords = {"name": names, "unit": ("name", [v.unit for v in self.values])}
        found = xarray.Dataset(data, coords=coords, attrs={"model": self.model})
        return found.assign(
            covariance=xarray.DataArray(
                self.covariance, dims=("name", "other"), coords={"other": names}
            )
        )

    def __repr__(self) -> str:
        return f"{self.text()}\nnext: .parameters, .covariance, .curves, .to_xarray()"


def _digits(value: float, error: float) -> int:
    """Significant digits that reach two digits of the error."""
    if not (error > 0 and value and math.isfinite(error)):
        return 6
    size = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2
    return min(max(size, 2), 15)


def _column_text(c: ColumnFit) -> str:
    unit = "" if c.unit in ("", "1") else f" {c.unit}"
    kind = "found" if c.is_sigma_found else "given"
    said = f"{counted(c.num_values, 'value')}, sigma {c.sigma:.3g}{unit} {kind}, "
    said += f"mean {c.shown_mean:.2g}, RMS {c.rms:.3g}, at most {c.largest:.3g}"
    if not c.is_white:
        said += f"; residuals follow each other (correlation {c.correlation:+.2f})"
    return said


#: A combination of unknowns is not determined where the residuals change by less than this share of
#: what each of them does alone; derivatives are good to some 1e-8.
UNDETERMINED = 1e-6
#: Rounds in which standard deviations that are not given are found, and when they have settled.
ROUNDS, SETTLED = 30, 1e-4
#: A standard deviation that is found is at least this share of a column's spread.
LEAST_SIGMA = 1e-9
#: Autocorrelation times over which correlations are summed.
WINDOW = 5
#: Times of the curves that are compared with the data.
CURVE = 241


@dataclass(frozen=True, slots=True, kw_only=True)
class FitParameter:
    """An unknown of a fit: start value, bounds and prior."""

    of: str  #: name of a parameter, a start value, a constant input or a number of the definitions
    guess: float | None = None  #: start of the search; the value in the model by default
    #: lower, upper: bounds
    lower: float = -math.inf
    upper: float = math.inf
    #: mean, sigma: mean and standard deviation of a prior, a normal distribution; `mean` is the
    #: guess by default
    mean: float | None = None
    sigma: float = math.inf

    def __post_init__(self) -> None:
        where = f"FitParameter(of='{self.of}')"
        for name in ("guess", "lower", "upper", "mean", "sigma"):
            value = getattr(self, name)
            is_number = value is None or not math.isnan(as_number(value))
            if not is_number or (name in ("guess", "mean") and math.isinf(value or 0.0)):
                raise SimulationError(f"{name} is {value!r}", where, f"give {name} a finite number")
        if not self.lower < self.upper:
            raise SimulationError(
                f"the lower bound {self.lower:g} is not below the upper one {self.upper:g}",
                where,
                "exchange them, or leave one out",
            )
        if not self.sigma > 0:
            raise SimulationError(
                f"the standard deviation of the prior is {self.sigma:g}",
                where,
                "give a positive sigma, or fix the parameter and do not estimate it",
            )
        if self.mean is not None and math.isinf(self.sigma):
            raise SimulationError(
                f"the prior has the mean {self.mean:g} and no standard deviation",
                where,
                "give its sigma too",
            )


def fit(
    system: System,
    data: Any,
    *,
    parameters: Sequence[str | FitParameter],
    columns: Mapping[str, str] | None = None,
    sigma: Mapping[str, float] | None = None,
    unknown_starts: Sequence[str | FitParameter] = (),
    start: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    held: bool = False,
    fixed: Mapping[str, float] | None = None,
    definitions: Mapping[str, str | float] | None = None,
    level: float = 0.95,
    gradients: str = "forward",
    max_evaluations: int = 200,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    progress: Callable[[str], object] | None = None,
) -> Fit:
    """Find parameters of a mechanism from measured motions.

    Parameters
    ----------
    system : compiled system.
    data : measurements: a CSV or NetCDF file, an xarray dataset, a mapping of arrays with ``time``,
        a :class:`MeasuredRun` or :class:`MeasuredTable`, or a list of these. Columns that are
        inputs are applied.
    parameters : unknowns, the same in all runs: parameters of the model, constant inputs, numbers
        of the definitions; as names, or as :class:`FitParameter` with bounds and priors.
    columns : measured column → expression of what it measures, as in ``{"gps": "platform.x + a"}``;
        only these are compared. By default all that are named as coordinates, speeds or angles.
    sigma : column → standard deviation of its noise; of those that are not named it is found.
    unknown_starts : start values that are looked for in each run by itself.
    start, inputs, held : values for runs without their own: see :class:`MeasuredRun`.
    fixed : parameters that are known, with other than their nominal values.
    definitions : name → expression, or number, that inputs and columns may use.
    level : level of the confidence intervals.
    gradients : ``"forward"``, or ``"adjoint"``, which needs less memory and many more evaluations.
    max_evaluations : largest number of evaluations of all runs together with their derivatives.
    rtol, atol : tolerances of the simulations.
    progress : function called with a short text on what is being done.

    Raises
    ------
    SimulationError : for data that do not fit the model, and where they do not determine what is
        looked for; it then names the combination.
    """
    require_system("fit", system)
    if not 0 < level < 1:
        raise SimulationError(
            f"the level is {level}", "fit(…, level=…)", "give a probability, such as 0.95"
        )
    if gradients not in ("forward", "adjoint"):
        raise SimulationError(
            f"there are no gradients '{gradients}'",
            "fit(…, gradients=…)",
            nearest(str(gradients), ("forward", "adjoint")),
        )
    runs = measured_runs(data, start=start, inputs=inputs, held=held)
    problem = _problem(
        system,
        runs,
        parameters=parameters,
        columns=columns,
        sigma=dict(sigma or {}),
        unknown_starts=unknown_starts,
        fixed=dict(fixed or {}),
        definitions=dict(definitions or {}),
        options={"rtol": rtol, "atol": atol},
    )
    search = _FitSearch(problem, max_evaluations, progress or (lambda word: None))
    theta, sigmas = search.solve(gradients)
    return _result(problem, search, theta, sigmas, level, gradients)


class _Unknown(NamedTuple):
    """One entry of θ."""

    label: str  # as it is shown
    name: str  # as the simulation knows it
    run: int  # of a start value; −1 for what all runs share
    unit: str
    guess: float
    lower: float
    upper: float
    mean: float
    sigma: float

    @property
    def size(self) -> float:
        """Scale with which changes are compared."""
        if self.guess:
            return abs(self.guess)
        ends = [abs(x) for x in (self.lower, self.upper, self.sigma) if math.isfinite(x) and x]
        return min(ends, default=1.0)


class _Channel(NamedTuple):
    """One measured column of one run."""

    run: int
    column: int
    at: NDArray[np.intp]  # places of its values among the run's times
    values: Array


class _Problem(NamedTuple):
    system: System
    runs: tuple[MeasuredRun, ...]
    unknowns: tuple[_Unknown, ...]
    columns: dict[str, str]  # measured column → expression
    units: tuple[str, ...]  # of columns
    sigmas: Array  # of columns, NaN where it is to be found
    channels: tuple[_Channel, ...]
    inputs: tuple[dict[str, Any], ...]
    fixed: dict[str, float]
    definitions: dict[str, str | float]
    options: dict[str, float]
    notes: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"fit of model '{self.system.model.name}'"

    @property
    def outputs(self) -> dict[str, str]:
        """Expressions to differentiate, under names that hide no column."""
        return {f"fitted_{k}": text for k, text in enumerate(self.columns.values())}

    def arguments(self, theta: Array, run: int) -> tuple[dict[str, Any], list[int]]:
        """Arguments of the simulation of a run, and which entries of θ it depends on."""
        measured = self.runs[run]
        own = [k for k, u in enumerate(self.unknowns) if u.run in (-1, run)]
        values = {self.unknowns[k].name: float(theta[k]) for k in own}
        model = {p.name for p in self.system.model.parameters}
        starts = {u.name for u in self.unknowns if u.run == run}
        given = self.inputs[run]
        return {
            "with_respect_to": list(values),
            "duration": measured.duration,
            "start_time": measured.begin,
            "start": {**measured.start, **{n: x for n, x in values.items() if n in starts}},
            "inputs": {n: values.get(n, x) for n, x in given.items()},
            "parameters": self.fixed | {n: x for n, x in values.items() if n in model},
            "definitions": {n: values.get(n, x) for n, x in self.definitions.items()},
            **self.options,
        }, own

    def simulate(self, theta: Array, run: int, samples: Array) -> tuple[Sensitivities, list[int]]:
        """A run with the derivatives of its measured columns."""
        arguments, own = self.arguments(theta, run)
        found = simulate_sensitivities(
            self.system, samples=samples, outputs=self.outputs, **arguments
        )
        return found, own

    def residuals(self, theta: Array) -> tuple[list[Array], list[Array]]:
        """y − h and −∂h/∂θ of all channels."""
        found = [self.simulate(theta, k, run.times) for k, run in enumerate(self.runs)]
        misses, slopes = [], []
        for channel in self.channels:
            one, own = found[channel.run]
            name = f"fitted_{channel.column}"
            misses.append(channel.values - one.outputs[name][channel.at])
            slope = np.zeros((len(channel.at), len(self.unknowns)))
            slope[:, own] = -one.output_derivatives[name][channel.at]
            slopes.append(slope)
        return misses, slopes

    @property
    def priors(self) -> tuple[Array, Array, Array]:
        """Places of unknowns with a prior, their means and standard deviations."""
        at = [k for k, u in enumerate(self.unknowns) if math.isfinite(u.sigma)]
        means = np.array([self.unknowns[k].mean for k in at])
        return np.array(at, dtype=int), means, np.array([self.unknowns[k].sigma for k in at])

    def weighted(
        self, theta: Array, misses: list[Array], slopes: list[Array], sigmas: Array
    ) -> Any:
        """r and R of (1), priors at the end."""
        at, means, spreads = self.priors
        scales = [sigmas[c.column] for c in self.channels]
        r = [miss / s for miss, s in zip(misses, scales, strict=True)]
        R = [slope / s for slope, s in zip(slopes, scales, strict=True)]
        prior = np.zeros((len(at), len(theta)))
        prior[np.arange(len(at)), at] = 1 / spreads
        return np.concatenate([*r, (theta[at] - means) / spreads]), np.concatenate([*R, prior])


def _problem(
    system: System,
    runs: tuple[MeasuredRun, ...],
    *,
    parameters: Sequence[str | FitParameter],
    columns: Mapping[str, str] | None,
    sigma: dict[str, float],
    unknown_starts: Sequence[str | FitParameter],
    fixed: dict[str, float],
    definitions: dict[str, str | float],
    options: dict[str, float],
) -> _Problem:
    where = f"fit of model '{system.model.name}'"
    units = units_by_name(system)
    used = used_columns(runs, units, columns)
    derived = Outputs(used).units(system)
    for name, value in sigma.items():
        if name not in used:
            raise SimulationError(
                f"a standard deviation is given for '{name}', which is not compared",
                where,
                nearest(name, list(used)),
            )
        if not 0 < as_number(value) < math.inf:
            raise SimulationError(
                f"the standard deviation of '{name}' is {value!r}",
                where,
                "give a positive number, or leave it out to have it estimated",
            )
    inputs = tuple(_inputs(system, run) for run in runs)
    channels, notes = _channels(runs, used, [derived[name] for name in used], where)
    known = {*used, *_inputs_of(system)}
    others = list(dict.fromkeys(n for run in runs for n in run.columns if n not in known))
    if others:
        more = f" and {len(others) - 6} more" if len(others) > 6 else ""
        notes.append(f"columns that were not used: {', '.join(others[:6])}{more}")
    unknowns = _unknowns(
        system, runs, inputs, parameters, unknown_starts, fixed, definitions, channels, used
    )
    count = sum(len(c.at) for c in channels)
    if count < len(unknowns):
        raise SimulationError(
            f"there are {count} measured values for {len(unknowns)} unknowns",
            where,
            "measure more, or estimate fewer unknowns",
        )
    return _Problem(
        system=system,
        runs=runs,
        unknowns=unknowns,
        columns=used,
        units=tuple(derived[name] for name in used),
        sigmas=np.array([sigma.get(name, math.nan) for name in used]),
        channels=tuple(channels),
        inputs=inputs,
        fixed=fixed,
        definitions=definitions,
        options=options,
        notes=tuple(notes),
    )


def _inputs_of(system: System) -> list[str]:
    """Names of the inputs that a run can be given."""
    model = system.model
    return [x.name for x in model.inputs] + [x.name for x in model.speed_inputs]


def _inputs(system: System, run: MeasuredRun) -> dict[str, Any]:
    """Inputs of a run: columns that are inputs, and others that the run gives."""
    units = {q.name: q.unit for q in system.inputs}
    tables = {n: run.table(n, units.get(n, "")) for n in run.columns if n in _inputs_of(system)}
    return {**tables, **run.inputs}


def _channels(
    runs: Sequence[MeasuredRun], used: Mapping[str, str], units: Sequence[str], where: str
) -> tuple[list[_Channel], list[str]]:
    """Every column of every run that has it, and remarks."""
    found, notes = [], []
    for j, (name, unit) in enumerate(zip(used, units, strict=True)):
        for k, run in enumerate(runs):
            if name not in run.columns:
                continue
            values = run.in_unit(name, unit)
            if unit == "rad":
                smooth = unwrapped(values)
                if np.any(np.isfinite(values) & (np.abs(smooth - values) > 1.0)):
                    notes.append(f"jumps of whole turns were taken out of '{name}' of '{run.name}'")
                values = smooth
            at = np.flatnonzero(np.isfinite(values))
            if at.size:
                found.append(_Channel(k, j, at, values[at]))
        if not any(channel.column == j for channel in found):
            raise SimulationError(
                f"column '{name}' contains no numbers", where, "leave it out, or measure it"
            )
    return found, notes


def _unknowns(
    system: System,
    runs: Sequence[MeasuredRun],
    inputs: Sequence[Mapping[str, Any]],
    parameters: Sequence[str | FitParameter],
    unknown_starts: Sequence[str | FitParameter],
    fixed: Mapping[str, float],
    definitions: Mapping[str, str | float],
    channels: Sequence[_Channel],
    used: Mapping[str, str],
) -> tuple[_Unknown, ...]:
    where = f"fit of model '{system.model.name}'"
    if isinstance(parameters, str) or isinstance(unknown_starts, str):
        text = parameters if isinstance(parameters, str) else unknown_starts
        raise SimulationError(
            f"the name to estimate is the string '{text}'", where, f"give a list: ['{text}']"
        )
    nominal = system.model.parameter_values() | dict(fixed)
    units = {p.name: p.unit for p in system.model.parameters}
    units |= {q.name: q.unit for q in system.inputs}
    numbers = {n: float(x) for n, x in definitions.items() if not isinstance(x, str)}
    constant = {n: float(x) for n, x in inputs[0].items() if isinstance(x, int | float | np.number)}
    known = {**constant, **numbers, **nominal}
    found = []
    for asked in map(_parameter, parameters):
        if asked.of in units_by_name(system):
            raise SimulationError(
                f"'{asked.of}' is a start value, which differs from run to run",
                where,
                f"estimate it in each run: unknown_starts=['{asked.of}']",
            )
        if asked.of not in known:
            raise SimulationError(
                f"there is no parameter, constant input or number '{asked.of}'",
                where,
                nearest(asked.of, list(known)),
            )
        found.append(
            _unknown(asked, known[asked.of], units.get(asked.of, "1"), -1, asked.of, where)
        )
    own_units = units_by_name(system)
    for asked in map(_parameter, unknown_starts):
        if asked.of not in own_units:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{asked.of}' to start from",
                where,
                nearest(asked.of, list(own_units)),
            )
        for k, run in enumerate(runs):
            # the run's own word, or what was measured first
            guess = run.start.get(asked.of)
            if guess is None:
                seen = (
                    c for c in channels if c.run == k and list(used.values())[c.column] == asked.of
                )
                guess = next((float(c.values[0]) for c in seen), 0.0)
            label = asked.of if len(runs) == 1 else f"{asked.of} ({run.name})"
            found.append(_unknown(asked, float(guess), own_units[asked.of], k, label, where))
    if not found:
        raise SimulationError(
            "nothing is to be estimated", where, "name parameters: parameters=['m', …]"
        )
    labels = [u.label for u in found]
    if twice := [n for n in labels if labels.count(n) > 1]:
        raise SimulationError(f"'{twice[0]}' is estimated twice", where, "name it once")
    return tuple(found)


def _parameter(asked: str | FitParameter) -> FitParameter:
    return asked if isinstance(asked, FitParameter) else FitParameter(of=asked)


def _unknown(
    asked: FitParameter, usual: float, unit: str, run: int, label: str, where: str
) -> _Unknown:
    guess = usual if asked.guess is None else float(asked.guess)
    if not asked.lower <= guess <= asked.upper:
        raise SimulationError(
            f"the guess {guess:g} of '{asked.of}' is not between its bounds {asked.lower:g} and "
            f"{asked.upper:g}",
            where,
            "give a guess between them",
        )
    mean = guess if asked.mean is None else float(asked.mean)
    return _Unknown(
        label, asked.of, run, unit, guess, float(asked.lower), float(asked.upper), mean, asked.sigma
    )


class _FitSearch:
    """The search for θ and for standard deviations that are not given."""

    def __init__(
        self, problem: _Problem, max_evaluations: int, tell: Callable[[str], object]
    ) -> None:
        self.problem = problem
        self.max_evaluations = max_evaluations
        self.evaluations = 0
        self.tell = tell
        self.sizes = np.array([u.size for u in problem.unknowns])
        self._last: tuple[bytes, tuple[list[Array], list[Array]]] | None = None

    def at(self, theta: Array) -> tuple[list[Array], list[Array]]:
        """Residuals and slopes, found once for residuals and Jacobian."""
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._count()
            self._last = key, self.problem.residuals(theta)
        return self._last[1]

    def _count(self) -> None:
        self.evaluations += 1
        if self.evaluations > self.max_evaluations:
            raise SimulationError(
                f"the fit has not converged after {self.max_evaluations} evaluations",
                self.problem.where,
                "give better guesses, bounds or priors, or raise max_evaluations",
            )
        self.tell(f"evaluation {self.evaluations}")

    def solve(self, gradients: str) -> tuple[Array, Array]:
        """θ and the standard deviations of all columns."""
        problem = self.problem
        theta = np.array([u.guess for u in problem.unknowns])
        misses, _ = self.at(theta)  # a start that cannot be simulated is told as it is
        open_ = np.isnan(problem.sigmas)
        sigmas = np.where(open_, self._first(misses), problem.sigmas)
        step = self._forward if gradients == "forward" else self._adjoint
        for k in range(ROUNDS):
            theta = step(theta, sigmas)
            if not open_.any():
                if k:
                    break
                continue
            new = np.where(open_, self._found(theta, sigmas), sigmas)
            change = np.abs(new / sigmas - 1)[open_].max()
            sigmas = new
            if k and change < SETTLED:
                break
        return theta, sigmas

    def _first(self, misses: list[Array]) -> Array:
        """Sizes of residuals at the guess."""
        return np.array(
            [
                max(math.sqrt(np.mean(_joined(self.problem, misses, j) ** 2)), self._least(j))
                for j in range(len(self.problem.columns))
            ]
        )

    def _least(self, column: int) -> float:
        values = np.concatenate([c.values for c in self.problem.channels if c.column == column])
        return LEAST_SIGMA * (float(np.ptp(values)) or float(np.abs(values).max()) or 1.0)

    def _found(self, theta: Array, sigmas: Array) -> Array:
        """Standard deviations from residuals, less what θ was fitted to."""
        problem = self.problem
        misses, slopes = self.at(theta)
        _, R = problem.weighted(theta, misses, slopes, sigmas)
        left, values, _ = np.linalg.svd(R / _norms(R), full_matrices=False)
        leverage = np.sum(left[:, values > UNDETERMINED * values.max()] ** 2, axis=1)
        found = np.empty(len(sigmas))
        ends = np.cumsum([0, *(len(m) for m in misses)])
        for j in range(len(sigmas)):
            rows = [
                np.arange(ends[k], ends[k + 1])
                for k, c in enumerate(problem.channels)
                if c.column == j
            ]
            at = np.concatenate(rows)
            left_over = max(len(at) - leverage[at].sum(), 1e-3)
            miss = _joined(problem, misses, j)
            found[j] = max(math.sqrt(float(miss @ miss) / left_over), self._least(j))
        return found

    def _forward(self, theta: Array, sigmas: Array) -> Array:
        from scipy.optimize import least_squares

        problem, sizes, center = self.problem, self.sizes, theta / self.sizes
        count = len(center)

        def weighted(z: Array) -> tuple[Array, Array]:
            r, R = problem.weighted(z * sizes, *self.at(z * sizes), sigmas)
            return r, R * sizes

        r, R = weighted(center)
        # what the data do not determine stays where it is, to be told at the end; the next round
        # starts anew from here, so that the rest is not held back
        hold = 1e-7 * (float(np.linalg.norm(R, axis=0).max(initial=0.0)) or 1.0)
        length = len(r) + count

        def residuals(z: Array) -> Array:
            try:
                return np.concatenate([weighted(z)[0], hold * (z - center)])
            except NoslipError:
                if self.evaluations > self.max_evaluations:
                    raise
                # a negative mass, or a run that fails: the trust region shrinks
                return np.full(length, np.inf)

        def jacobian(z: Array) -> Array:
            return np.concatenate([weighted(z)[1], hold * np.eye(count)])

        found = least_squares(
            residuals,
            center,
            jac=jacobian,
            bounds=self._bounds(),
            x_scale=1 / np.sqrt(np.sum(R**2, axis=0) + hold**2),
            ftol=1e-12,
            xtol=1e-10,
            gtol=1e-12,
        )
        best: Array = found.x * sizes
        return best

    def _bounds(self) -> tuple[Array, Array]:
        unknowns = self.problem.unknowns
        lower = np.array([u.lower for u in unknowns]) / self.sizes
        return lower, np.array([u.upper for u in unknowns]) / self.sizes

    def _adjoint(self, theta: Array, sigmas: Array) -> Array:
        from scipy.optimize import Bounds, minimize

        problem, sizes = self.problem, self.sizes

        def value(z: Array) -> tuple[float, Array]:
            self._count()
            where = z * sizes
            total, slope = _adjoint_value(problem, where, sigmas)
            return total, slope * sizes

        found = minimize(
            value,
            theta / sizes,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(*self._bounds()),
            options={"maxiter": self.max_evaluations, "ftol": 1e-14, "gtol": 1e-9},
        )
        best: Array = found.x * sizes
        return best


def _adjoint_value(problem: _Problem, theta: Array, sigmas: Array) -> tuple[float, Array]:
    """J of (1) and its gradient, by one sweep back through each run."""
    at, means, spreads = problem.priors
    off = (theta[at] - means) / spreads
    total, slope = float(off @ off), np.zeros(len(theta))
    slope[at] += 2 * off / spreads
    texts = list(problem.columns.values())
    for k, run in enumerate(problem.runs):
        values: dict[str, Array] = {}
        terms = []
        for channel in problem.channels:
            if channel.run != k:
                continue
            j = channel.column
            # a value that is missing has no weight
            measured, weight = np.zeros(len(run.times)), np.zeros(len(run.times))
            measured[channel.at], weight[channel.at] = channel.values, 1 / sigmas[j] ** 2
            values |= {f"measured_{j}": measured, f"weight_{j}": weight}
            terms.append(f"weight_{j}*(({texts[j]}) - measured_{j})**2")
        if not terms:
            continue
        data = Measurements(times=run.times, values=values, misfit=" + ".join(terms))
        arguments, own = problem.arguments(theta, k)
        found = gradient(problem.system, measurements=data, **arguments)
        total += found.value
        slope[own] += found.vector
    return total, slope


def _joined(problem: _Problem, misses: Sequence[Array], column: int) -> Array:
    """Residuals of a column in all runs."""
    pairs = zip(problem.channels, misses, strict=True)
    return np.concatenate([miss for channel, miss in pairs if channel.column == column])


def _norms(R: Array) -> Array:
    """Lengths of columns, 1 for those that are zero."""
    norms: Array = np.linalg.norm(R, axis=0)
    return np.where(norms > 0, norms, 1.0)


def _result(
    problem: _Problem, search: _FitSearch, theta: Array, sigmas: Array, level: float, gradients: str
) -> Fit:
    from scipy.special import chdtrc, ndtri, stdtrit

    misses, slopes = search.at(theta)
    r, R = problem.weighted(theta, misses, slopes, sigmas)
    free = _inside(problem, theta, R.T @ r)
    check_determined(problem, R[:, free], [problem.unknowns[k] for k in free], theta[free])
    is_found = np.isnan(problem.sigmas)
    dof = len(r) - len(free)
    chi_square = float(r @ r)
    given = not is_found.any()
    probability = float(chdtrc(dof, chi_square)) if given and dof > 0 else math.nan
    columns = []
    for j, name in enumerate(problem.columns):
        miss = _joined(problem, misses, j)
        parts = [m for c, m in zip(problem.channels, misses, strict=True) if c.column == j]
        columns.append(
            ColumnFit(
                name=name,
                expression=problem.columns[name],
                unit=problem.units[j],
                num_values=len(miss),
                sigma=float(sigmas[j]),
                is_sigma_found=bool(is_found[j]),
                mean=float(miss.mean()),
                rms=float(math.sqrt(np.mean(miss**2))),
                largest=float(np.abs(miss).max()),
                correlation=_correlation(parts, 1),
                time=_autocorrelation_time(parts),
            )
        )
    covariance = np.full((len(theta), len(theta)), 0.0)
    scale = _norms(R[:, free])
    inverse = np.linalg.pinv(R[:, free] / scale, rcond=1e-14) / scale[:, None]
    # (3), or (2) where nothing speaks against it
    doubtful = unexplained(columns, probability)
    spreads = [columns[ch.column].spread if doubtful else 1.0 for ch in problem.channels]
    rows = np.repeat(spreads, [len(ch.at) for ch in problem.channels])
    rows = np.concatenate([rows, np.ones(len(r) - len(rows))])
    covariance[np.ix_(free, free)] = (inverse * rows) @ inverse.T
    plain = np.einsum("ij,ij->i", inverse, inverse)
    ratios = np.diag(covariance)[free] / plain if doubtful else np.ones(1)
    widened = math.sqrt(ratios.max(initial=1.0))
    upper = 0.5 + level / 2
    worth = dof if not doubtful else sum(col.num_values / col.time for col in columns) - len(free)
    wide = float(stdtrit(max(worth, 1), upper) if is_found.any() or doubtful else ndtri(upper))
    values = []
    for k, u in enumerate(problem.unknowns):
        error = math.sqrt(covariance[k, k])
        values.append(
            FittedValue(
                name=u.label,
                of=u.name,
                run=u.run,
                unit=u.unit,
                value=float(theta[k]),
                error=error if k in free else math.nan,
                low=float(theta[k] - wide * error) if k in free else math.nan,
                high=float(theta[k] + wide * error) if k in free else math.nan,
                guess=u.guess,
                prior=(u.mean, u.sigma) if math.isfinite(u.sigma) else None,
                at_bound=k not in free,
            )
        )
    return Fit(
        model=problem.system.model.name,
        values=tuple(values),
        covariance=covariance,
        columns=tuple(columns),
        curves=tuple(_curves(problem, theta, covariance, misses)),
        runs=tuple(run.name for run in problem.runs),
        level=level,
        chi_square=chi_square,
        degrees_of_freedom=dof,
        probability=probability,
        widened=widened,
        evaluations=search.evaluations,
        gradients=gradients,
        fixed=dict(problem.fixed),
        starts=tuple(problem.arguments(theta, k)[0]["start"] for k in range(len(problem.runs))),
        notes=problem.notes,
    )


def _inside(problem: _Problem, theta: Array, slope: Array) -> list[int]:
    """Unknowns that no bound holds."""
    found = []
    for k, u in enumerate(problem.unknowns):
        near = 1e-6 * u.size
        held = (theta[k] - u.lower < near and slope[k] > 0) or (
            u.upper - theta[k] < near and slope[k] < 0
        )
        if not held:
            found.append(k)
    return found


def check_determined(
    problem: _Problem, R: Array, unknowns: Sequence[_Unknown], theta: Array
) -> None:
    """Refuse data that do not determine the unknowns; the message names the combination."""
    if not unknowns:
        return
    sizes = np.array([u.size for u in unknowns])
    norms = np.linalg.norm(R, axis=0)
    idle = [unknowns[k].label for k in np.flatnonzero(norms * sizes < UNDETERMINED).tolist()]
    if idle:
        listed = ", ".join(f"'{name}'" for name in idle)
        raise SimulationError(
            f"the measured motions do not depend on {listed}",
            problem.where,
            f"do not estimate {'it' if len(idle) == 1 else 'them'}, measure a motion that "
            "depends on "
            f"{'it' if len(idle) == 1 else 'them'}, or give a prior (mean and sigma)",
        )
    _, values, directions = np.linalg.svd(R / norms, full_matrices=True)
    rank = int((values > UNDETERMINED * values[0]).sum())
    if rank == len(unknowns):
        return
    # the direction in which nothing changes, in the units of the unknowns
    along = directions[rank] / norms
    along = along / np.abs(along / sizes).max()
    share = np.abs(along / sizes)
    parts = [k for k in np.argsort(-share) if share[k] > 1e-3]
    lead = along[parts[0]]
    shown = ", ".join(
        f"{unknowns[k].label} by {along[k] / lead:+.4g} {_said(unknowns[k].unit)}" for k in parts
    )
    names = ", ".join(f"'{unknowns[k].label}'" for k in parts)
    left = len(unknowns) - rank
    raise SimulationError(
        f"the measured motions do not tell {names} apart: nothing measured changes when one "
        f"changes {shown}" + (f"; {left} such combinations" if left > 1 else ""),
        problem.where,
        "estimate one of them less, measure a motion that tells them apart, or give a prior "
        "(mean and sigma) to one",
    )


def _said(unit: str) -> str:
    return "" if unit in ("", "1") else unit


def _correlation(parts: Sequence[Array], lag: int) -> float:
    """Correlation of residuals `lag` values apart; white noise leaves ±2/√n.

    About zero, not about their mean: residuals of the right model have none.
    """
    above = sum(float(p[lag:] @ p[:-lag]) for p in parts if len(p) > lag)
    below = sum(float(p @ p) for p in parts)
    return above / below if below > 0 else math.nan


def _autocorrelation_time(parts: Sequence[Array]) -> float:
    """τ = 1 + 2 Σ ρ_k up to the first window of 5 τ values (Sokal), at least 1."""
    longest, total, time = max(len(p) for p in parts), 1.0, 1.0
    for lag in range(1, longest):
        rho = _correlation(parts, lag)
        if not math.isfinite(rho):
            break
        total += 2 * rho
        time = max(time, total)
        if lag >= WINDOW * max(total, 1.0):
            break
    return time


def _curves(
    problem: _Problem, theta: Array, covariance: Array, misses: Sequence[Array]
) -> list[FittedCurve]:
    """Fitted motions beside the data, with the standard deviation that θ leaves them."""
    found = []
    dense = []
    for k, run in enumerate(problem.runs):
        times = np.linspace(run.begin, run.times[-1], CURVE)
        dense.append((times, *problem.simulate(theta, k, times)))
    for channel, miss in zip(problem.channels, misses, strict=True):
        times, one, own = dense[channel.run]
        name = f"fitted_{channel.column}"
        slope = one.output_derivatives[name]
        block = covariance[np.ix_(own, own)]
        spread = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", slope, block, slope), 0.0))
        run = problem.runs[channel.run]
        found.append(
            FittedCurve(
                run=run.name,
                column=list(problem.columns)[channel.column],
                unit=problem.units[channel.column],
                times=times,
                values=one.outputs[name],
                error=spread,
                measured_times=run.times[channel.at],
                measured=channel.values,
                residuals=miss,
            )
        )
    return found
