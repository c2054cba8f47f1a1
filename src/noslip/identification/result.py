"""`Fit`: what was found, how well it is known, and how it compares with the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip.base import Array, MissingNameError, counted, finite_or_none, nearest

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
    """A column of a run as fitted and as measured.

    Parameters
    ----------
    run, column, unit : which.
    times, values, error : (n,) s, the fitted motion, and its standard deviation from that of what
        was found.
    measured_times, measured, residuals : (k,) the data, and data less fit.
    """

    run: str
    column: str
    unit: str
    times: Array
    values: Array
    error: Array
    measured_times: Array
    measured: Array
    residuals: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Parameters found from measured motions. Made by :func:`fit`.

    ``fit["m"]`` is the value of m; ``fit.parameters`` is what :func:`simulate` takes.

    Parameters
    ----------
    model : name of it.
    values : what was looked for, in order.
    covariance : (k, k) of the values; zero for those that a bound holds. Wider than that of
        independent noise where the model does not explain the data (`is_explained`).
    columns : residuals by column.
    curves : fit and data by run and column.
    runs : names of the measured runs.
    level : of the intervals.
    chi_square, degrees_of_freedom : sum of squared residuals over their standard deviations, and
        what it is on average.
    probability : of a larger chi-square by chance, where all standard deviations are given.
    evaluations : of all runs with their derivatives.
    gradients : ``"forward"`` or ``"adjoint"``.
    fixed : parameters that were given.
    starts : start values of each run, those that were found among them.
    widened : largest factor by which a standard deviation is wider than that of independent noise.
    notes : remarks on the data.
    """

    model: str
    values: tuple[FittedValue, ...]
    covariance: Array = field(repr=False)
    columns: tuple[ColumnFit, ...]
    curves: tuple[FittedCurve, ...] = field(repr=False)
    runs: tuple[str, ...]
    level: float
    chi_square: float
    degrees_of_freedom: int
    probability: float
    evaluations: int
    gradients: str
    fixed: dict[str, float]
    starts: tuple[dict[str, float], ...]
    widened: float = 1.0
    notes: tuple[str, ...] = ()

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
