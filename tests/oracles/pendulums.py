"""Equations of pendulums, tops and free bodies, written by hand."""

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


def integrate(f: Callable[[float, Array], list[float]], start: list[float], times: Array) -> Array:
    """States at the times, by SciPy's own DOP853 at its tightest tolerance."""
    span = (float(times[0]), float(times[-1]))
    solved = solve_ivp(f, span, start, method="DOP853", t_eval=times, rtol=3e-14, atol=1e-14)
    return solved.y


def shaken_pendulum(times: Array, *, length: float, g: float, lift: float, w: float) -> Array:
    """θ, θ̇ of θ̈ = −(g + z̈)/l sin θ with the pivot at z = lift sin(w t), from θ = 1 at rest.

    See Landau and Lifshitz, Mechanics, on a pendulum whose point of support oscillates vertically.
    """

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -(g - lift * w**2 * np.sin(w * t)) / length * np.sin(y[0])]

    return integrate(rates, [1.0, 0.0], times)


def steady_precession_spin(
    nutation: float, precession: float, *, m: float, h: float, I_t: float, I_a: float, g: float
) -> float:
    """Spin rate at which a heavy top on its tip precesses steadily.

    m g h = Ω (I_a ω_a − (I_t + m h²) Ω cos θ) with ω_a = s + Ω cos θ the spin about the axis; see
    Goldstein, Classical Mechanics, on the heavy symmetric top.
    """
    about_tip = I_t + m * h**2
    axial = (m * g * h / precession + about_tip * precession * np.cos(nutation)) / I_a
    return axial - precession * np.cos(nutation)


def damped_oscillation(
    t: Array, *, m: float, k: float, d: float, x: float, v: float
) -> tuple[Array, Array]:
    """Position and speed of m ẍ + d ẋ + k x = 0, underdamped, from x, v."""
    decay, w = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
    p = complex(-decay, w)
    # x = Re(c e^{pt}) with Re c = x, Re(c p) = v
    c = complex(x, -(v + decay * x) / w)
    return (c * np.exp(p * t)).real, (c * p * np.exp(p * t)).real


def smooth_friction_speed(t: Array, *, m: float, level: float, smoothing: float, v: float) -> Array:
    """Speed of m v̇ = −level tanh(v / smoothing): sinh(v/s) decays exponentially."""
    s = smoothing
    return s * np.arcsinh(np.sinh(v / s) * np.exp(-level * t / (m * s)))
