"""Sobol indices: which share of a result's variance is due to which of its inputs.

With y a function of independent inputs x₁ … x_d,

    first order   S_i = Var(E[y | x_i]) / Var(y)        x_i alone
    total         T_i = E[Var(y | x_~i)] / Var(y)       x_i with all its interactions

On a full grid, with equal weights on its points, both are sums and exact for that grid. From a
sample of independent inputs S_i is estimated by conditional means in bins of equal counts, with
the variance that a mean over a bin has by chance taken off (Plischke, Borgonovo and Smith 2013);
T_i cannot be had from a plain sample and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SobolIndices:
    """Indices of one result, by input.

    Parameters
    ----------
    first : S_i.
    total : T_i, or empty where the design does not give them.
    """

    first: dict[str, float]
    total: dict[str, float]

    @classmethod
    def of_grid(cls, names: tuple[str, ...], values: Array) -> SobolIndices | None:
        """Indices of values on a full grid, an axis for each name; None if they do not vary."""
        variance = float(np.var(values))
        if not np.isfinite(variance) or variance <= 0:
            return None
        axes = range(values.ndim)
        first, total = {}, {}
        for k, name in enumerate(names):
            others = tuple(j for j in axes if j != k)
            first[name] = float(np.var(values.mean(axis=others))) / variance
            total[name] = float(np.mean(np.var(values, axis=k))) / variance
        return cls(first, total)

    @classmethod
    def of_sample(cls, inputs: dict[str, Array], values: Array) -> SobolIndices | None:
        """First-order indices from a sample of independent inputs; None from too few points."""
        good = np.isfinite(values)
        values = values[good]
        count = len(values)
        variance = float(np.var(values)) if count else 0.0
        if count < 64 or variance <= 0:
            return None
        bins = int(np.clip(round(count ** (1 / 3)), 8, 64))
        first = {}
        for name, column in inputs.items():
            order = np.argsort(column[good], kind="stable")
            parts = np.array_split(values[order], bins)
            means = np.array([part.mean() for part in parts])
            sizes = np.array([len(part) for part in parts])
            within = np.array([part.var(ddof=1) for part in parts])
            between = float(np.sum(sizes * (means - values.mean()) ** 2) / count)
            chance = float(np.sum(within) / count)
            first[name] = max(0.0, (between - chance) / variance)
        return cls(first, {})
