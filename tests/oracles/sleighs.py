"""Closed form of the Chaplygin sleigh."""

import numpy as np

Array = np.ndarray


def sleigh(
    t: Array, *, m: float, J: float, a: float, speed: float, rate: float
) -> tuple[Array, Array, Array]:
    """Speed along the blade, turning rate and heading of a free sleigh, from heading 0.

    With b² = a² + J/m, v_T² = speed² + b² rate², k = a v_T / b² and c = artanh(speed / v_T),

        ṡ = v_T tanh(k t + c)
        φ̇ = ± (v_T / b) sech(k t + c)
        φ = ± (b / a) (gd(k t + c) − gd(c)),   gd Gudermann's function

    The mass center lies a ahead of the blade. See Chaplygin (1911); Neimark and Fufaev, Dynamics of
    Nonholonomic Systems (1972); Bloch, Nonholonomic Mechanics and Control (2003).
    """
    b = np.sqrt(a**2 + J / m)
    v_T = np.hypot(speed, b * rate)
    k, c = a * v_T / b**2, np.arctanh(speed / v_T)
    phase = k * t + c
    sign = np.sign(rate)
    heading = sign * (b / a) * (gudermann(phase) - gudermann(c))
    return v_T * np.tanh(phase), sign * (v_T / b) / np.cosh(phase), heading


def gudermann(x: Array) -> Array:
    """gd x = ∫ sech = 2 arctan(tanh(x/2))."""
    return 2 * np.arctan(np.tanh(x / 2))
