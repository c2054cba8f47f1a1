"""Closed forms of planar linkages: position analysis, velocity ratios and energy.

References: position analysis by the intersection of two circles, as in any text on mechanisms, for
example Norton, Design of Machinery; the motion of a mechanism with one freedom from ½ I(θ) θ̇² +
U(θ) = E.
"""

import numpy as np

Array = np.ndarray


def four_bar_angles(theta: Array, lengths: tuple[float, ...], sign: float) -> tuple[Array, Array]:
    """Absolute angles of coupler and rocker for the crank angle θ, on one of two assembly modes.

    Parameters
    ----------
    theta : crank angle.
    lengths : ground d, crank a, coupler b, rocker c.
    sign : +1 or −1, on which side of the diagonal the pin lies.
    """
    d, a, b, c = lengths
    # diagonal from the crank's pin to the rocker's pivot, and the triangle over it (cosine rule)
    x, y = d - a * np.cos(theta), -a * np.sin(theta)
    f = np.hypot(x, y)
    direction = np.arctan2(y, x)
    at_crank = np.arccos((f**2 + b**2 - c**2) / (2 * f * b))
    at_rocker = np.arccos((f**2 + c**2 - b**2) / (2 * f * c))
    return direction + sign * at_crank, direction + np.pi - sign * at_rocker


def four_bar_ratios(
    theta: Array, lengths: tuple[float, ...], sign: float
) -> tuple[Array, Array, Array, Array]:
    """Angles of coupler and rocker, and their rates per rate of the crank."""
    _, a, b, c = lengths
    coupler, rocker = four_bar_angles(theta, lengths, sign)
    ratio_coupler = -a * np.sin(theta - rocker) / (b * np.sin(coupler - rocker))
    ratio_rocker = a * np.sin(theta - coupler) / (c * np.sin(rocker - coupler))
    return coupler, rocker, ratio_coupler, ratio_rocker


def slider_crank(theta: Array, r: float, length: float) -> tuple[Array, Array, Array, Array]:
    """Absolute rod angle, piston position, and their rates per rate of the crank."""
    rod = -np.arcsin(r * np.sin(theta) / length)
    ratio_rod = -r * np.cos(theta) / (length * np.cos(rod))
    position = r * np.cos(theta) + length * np.cos(rod)
    ratio_position = -r * np.sin(theta) - length * np.sin(rod) * ratio_rod
    return rod, position, ratio_rod, ratio_position


def rate_from_energy(inertia: Array, potential: Array, start_rate: float) -> Array:
    """θ̇ from ½ I(θ) θ̇² + U(θ) = const, for a crank that never turns back."""
    energy = inertia[0] * start_rate**2 / 2 + potential[0]
    return np.sign(start_rate) * np.sqrt(2 * (energy - potential) / inertia)
