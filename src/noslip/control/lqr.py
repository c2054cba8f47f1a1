"""Linear-quadratic regulators: the Riccati equation, solved once for the whole package.

For ẋ = A x + B u the inputs that minimize ∫ xᵀQx + uᵀRu dt, Q ≥ 0 and R > 0, are

    (1)  u = −K x,   K = R⁻¹BᵀP,   −Ṗ = AᵀP + PA − PBR⁻¹BᵀP + Q

and xᵀPx is the least cost from x on [AndersonMoore1990]. About a steady motion A and B are constant
and, without an end, so is P: the algebraic equation (`solve_lqr`). Along a motion they depend on
time, and (1) is integrated backward from the end (`solve_lqr_along`).

A disturbance d that is known in advance, ẋ = A x + B u + d, is met before it comes (`preview`).
Over steps in which A, B, u and d are constant, x′ = F x + G u + h, and the least cost from x on is
xᵀPx + 2 pᵀx + const with

    (2)  u = −L x − l,   L = H⁻¹GᵀPF,   l = H⁻¹Gᵀ(P h + p),   H = R + GᵀPG
    (3)  P ← Q + FᵀP(F − G L),   p ← (F − G L)ᵀ(P h + p)

backward from the end, where P is that of a motion that goes on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noslip.base import Array

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


class PreviewedMotion(NamedTuple):
    """States x (k, n) and inputs u (k, m) of least cost at times, with a known disturbance."""

    states: Array
    inputs: Array


def preview(
    A: Array, B: Array, d: Array, Q: Array, R: Array, step: float, start: Array
) -> PreviewedMotion | None:
    """x and u of least cost with a disturbance that is known from the start; None without bound.

    Parameters
    ----------
    A, B, d : (k, n, n), (k, n, m) and (k, n) at times in equal steps.
    Q, R : (n, n) weights of the states, and (m,) the diagonal of those of the inputs.
    step : s between times.
    start : (n,) x at the start, NaN for entries that are free to be the best.
    """
    k, n, m = B.shape
    F, G, h = _discrete(A, B, d, step)
    end = solve_lqr(A[-1], B[-1], Q, R)
    if end is None:
        return None
    P, p = end.costs / step, np.zeros(n)
    laws = []
    for i in range(k - 2, -1, -1):
        H = np.diag(R) + G[i].T @ P @ G[i]
        pushed = P @ h[i] + p
        L, offset = np.linalg.solve(H, G[i].T @ P @ F[i]), np.linalg.solve(H, G[i].T @ pushed)
        closed = F[i] - G[i] @ L
        p, P = closed.T @ pushed, Q + F[i].T @ P @ closed
        P = (P + P.T) / 2
        laws.append((L, offset))
    x, u = np.zeros((k, n)), np.zeros((k, m))
    is_free = np.isnan(start)
    x[0, ~is_free] = start[~is_free]
    # the best of what is free: P x + p = 0 in its rows
    given = p + P @ x[0]
    x[0, is_free] = -np.linalg.solve(P[np.ix_(is_free, is_free)], given[is_free])
    held = np.zeros((k - 1, m))
    for i, (L, offset) in enumerate(reversed(laws)):
        held[i] = -L @ x[i] - offset
        x[i + 1] = F[i] @ x[i] + G[i] @ held[i] + h[i]
    # inputs that are held between times, at the times
    u[0], u[-1], u[1:-1] = held[0], held[-1], (held[1:] + held[:-1]) / 2
    return PreviewedMotion(x, u) if np.all(np.isfinite(x)) else None


def _discrete(A: Array, B: Array, d: Array, step: float) -> tuple[Array, Array, Array]:
    """F, G and h of (2), by the series of exp: all at once, halved until it converges fast."""
    n, m = B.shape[1:]
    whole = np.zeros((len(A) - 1, n + m + 1, n + m + 1))
    for at, part in (
        (slice(0, n), A),
        (slice(n, n + m), B),
        (slice(n + m, n + m + 1), d[:, :, None]),
    ):
        whole[:, :n, at] = (part[1:] + part[:-1]) / 2 * step
    halvings = max(0, int(np.ceil(np.log2(max(np.max(np.sum(np.abs(whole), axis=2)), 1e-9)))) + 1)
    part = whole / 2**halvings
    term = found = np.broadcast_to(np.eye(n + m + 1), whole.shape)
    for j in range(1, 14):
        term = term @ part / j
        found = found + term
    for _ in range(halvings):
        found = found @ found
    return found[:, :n, :n], found[:, :n, n : n + m], found[:, :n, n + m]
