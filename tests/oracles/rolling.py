"""Closed forms of rolling: balls on slopes and turntables, wheels in steady turns."""

import numpy as np

Array = np.ndarray


def ball_on_turntable(t: Array, z0: complex, v0: complex, rate: float) -> Array:
    """Center of a uniform ball on a table that turns at `rate`, as a complex number x + iy.

    It moves on a circle at 2/7 of the table's rate whatever its start: z̈ = (2/7) i rate ż. See
    Weltner, Stable circular orbits of freely moving balls on rotating discs, Am. J. Phys. 47 (1979)
    984.
    """
    w = 2 / 7 * rate
    return z0 + v0 * (np.exp(1j * w * t) - 1) / (1j * w)


def ball_on_slope_acceleration(slope: float, g: float) -> float:
    """5/7 g sin(slope), of a uniform ball that rolls down without slip."""
    return 5 / 7 * g * np.sin(slope)


def steady_spin_rate(
    tilt: float,
    yaw_rate: float,
    *,
    m: float,
    ring: float,
    tube: float,
    I_t: float,
    I_a: float,
    g: float,
) -> float:
    """Spin rate at which a wheel with a round tire rolls in a circle at constant tilt.

    Newton and Euler in the frame that turns with the wheel's heading, where a steady motion is at
    rest: with n up, a the axle and e from the rim's contact to the center, all constant there,

        ω = Ω n + s a,   r = ring e + tube n,   v = ω × r,   F = m (Ω n × v + g n)
        Ω n × (I_t (ω − (ω·a) a) + I_a (ω·a) a) = −r × F

    which is linear in s. Tilt is the angle between the wheel's plane and the ground. A disk has
    tube = 0; see Routh, Advanced Dynamics of a System of Rigid Bodies (1905).
    """
    n = np.array([0.0, 0.0, 1.0])
    a = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    e = (n - (n @ a) * a) / np.sin(tilt)
    r = ring * e + tube * n

    def lack(s: float) -> float:
        omega = yaw_rate * n + s * a
        force = m * (yaw_rate * np.cross(n, np.cross(omega, r)) + g * n)
        H = I_t * (omega - (omega @ a) * a) + I_a * (omega @ a) * a
        # the only component that is not zero is along the heading, x
        return float((yaw_rate * np.cross(n, H) + np.cross(r, force))[0])

    return -lack(0.0) / (lack(1.0) - lack(0.0))
