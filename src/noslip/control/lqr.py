"""Linear-quadratic regulators: the Riccati equation, solved once for the whole package.

For ẋ = A x + B u the inputs that minimize ∫ xᵀQx + uᵀRu dt, Q ≥ 0 and R > 0, are

    (1)  u = −K x,   K = R⁻¹BᵀP,   −Ṗ = AᵀP + PA − PBR⁻¹BᵀP + Q

and xᵀPx is the least cost from x on [AndersonMoore1990]. About a steady motion A and B are constant
and, without an end, so is P: the algebraic equation (`solve_lqr`). Along a motion they depend on
time, and (1) is integrated backward from the end (`solve_lqr_along`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noslip.engines.system import Array

#: Modes of the closed loop that decay more slowly than this part of its norm are not stable.
ROUNDING = 1e-9

#: Of the differential equation.
ACCURACY = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}
#: Evaluations beyond which it is given up: a mode of kHz along a motion of minutes.
MOST_EVALUATIONS = 30_000


class _NoEndError(Exception):
    """The integration takes too many evaluations."""


class Regulation(NamedTuple):
    """Gains K (m, n) and costs P (n, n) of (1); along a motion (k, m, n) and (k, n, n)."""

    gains: Array
    costs: Array


def solve_lqr(A: Array, B: Array, Q: Array, R: Array) -> Regulation | None:
    """K and P of constant matrices, without an end; None if no gains stabilize the system.

    Parameters
    ----------
    A, B : (n, n) and (n, m).
    Q, R : (n, n) weights of the states, and (m,) the diagonal of those of the inputs.
    """
    from scipy.linalg import solve_continuous_are

    try:
        P = np.asarray(solve_continuous_are(A, B, Q, np.diag(R)))
    except (np.linalg.LinAlgError, ValueError):
        return None
    K = (B / R).T @ P
    # modes that no input reaches may come out as large numbers instead of an error
    closed = A - B @ K
    if not np.all(np.isfinite(closed)):
        return None
    is_stable = np.max(np.linalg.eigvals(closed).real) < -ROUNDING * np.linalg.norm(closed)
    return Regulation(K, P) if is_stable else None


def solve_lqr_along(
    A: Callable[[float], Array],
    B: Callable[[float], Array],
    Q: Array,
    R: Array,
    times: Array,
) -> Regulation | None:
    """K and P along a motion at given times; None if P grows without bound, or too fast.

    At the end the motion is taken to go on unchanged for as long as it took: (1) is integrated from
    P = 0 over that time first.

    Parameters
    ----------
    A, B : of time, (n, n) and (n, m).
    Q, R : (n, n) weights of the states, and (m,) the diagonal of those of the inputs; infinite for
        inputs that are not fed back.
    times : (k,) rising from 0, s.
    """
    from scipy.integrate import solve_ivp

    n, end, count = len(Q), float(times[-1]), 0

    def rate(before_end: float, flat: Array) -> Array:
        """−Ṗ; before_end < 0 is after the end."""
        nonlocal count
        count += 1
        if count > MOST_EVALUATIONS:
            raise _NoEndError
        t = end - max(before_end, 0.0)
        # an error that is not symmetric would grow
        P = (flat.reshape(n, n) + flat.reshape(n, n).T) / 2
        PA, PB = P @ A(t), P @ B(t)
        return (PA.T + PA - (PB / R) @ PB.T + Q).ravel()

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            at = end - times[::-1]
            solved = solve_ivp(rate, (-end, end), np.zeros(n * n), t_eval=at, **ACCURACY)
    except _NoEndError:
        return None
    if not solved.success:
        return None
    P = solved.y.T.reshape(-1, n, n)[::-1]
    P = (P + P.transpose(0, 2, 1)) / 2
    return Regulation(np.array([(B(t) / R).T @ p for t, p in zip(times, P, strict=True)]), P)
