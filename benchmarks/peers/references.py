"""Answers that no candidate gave: closed forms and hand-written recursions, in NumPy.

The disk has a closed form; a chain's accelerations are put into a Newton–Euler recursion, which
must return the torques; the bicycle has a published state.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin, tan

import numpy as np
from scipy.integrate import solve_ivp

from problems import DISK, DURATION, GRAVITY, SAMPLES, DiskStart, Link, times

TIGHT = 1e-13

#: The accelerations of `problems.BICYCLE_STATE`: rear wheel, steer and front wheel, rad/s².
BICYCLE_ACCELERATIONS = (1.8472554144217, -4.6198904039403, 2.4548072904550)


def disk_path(start: DiskStart) -> np.ndarray:
    """Contact points at all samples, (n, 2), from the closed form of the disk's accelerations."""
    # yaw, tilt, w1, w2, w3, x, y
    first = np.array([0.0, start.tilt, *start.w, 0.0, 0.0])
    options = {"t_eval": times(SAMPLES), "rtol": TIGHT, "atol": TIGHT}
    found = solve_ivp(_disk_rates, (0.0, DURATION), first, "DOP853", **options)
    return found.y[5:7].T


def _disk_rates(t: float, state: np.ndarray) -> list[float]:
    """Euler's equations about the contact point, in the frame that yaws and tilts.

    With m r² (1 + i) about the level line, m r² i about the upright one and m r² (1 + j) about the
    axle, i = I_transverse/(m r²), j = I_axial/(m r²), and Ω = w2 cot(tilt) the frame's rate about
    the axle:
        (1 + i) ẇ1 =  Ω i w2 − (1 + j) w2 w3 − (g/r) cos(tilt)
             i ẇ2 =  j w1 w3 − i w1 Ω
        (1 + j) ẇ3 =  w1 w2
    """
    yaw, tilt, w1, w2, w3, _, _ = state
    r, g = DISK["r"], DISK["g"]
    i, j = (DISK[k] / (DISK["m"] * r * r) for k in ("I_transverse", "I_axial"))
    frame = w2 / tan(tilt)
    spin = w3 - frame
    return [
        w2 / sin(tilt),
        w1,
        (frame * i * w2 - (1 + j) * w2 * w3 - g / r * cos(tilt)) / (1 + i),
        (j * w1 * w3 - i * w1 * frame) / i,
        w1 * w2 / (1 + j),
        -r * spin * cos(yaw),
        -r * spin * sin(yaw),
    ]


def hinge_torques(
    chain: Sequence[Link], q: np.ndarray, v: np.ndarray, a: np.ndarray, gravity: float = GRAVITY
) -> np.ndarray:
    """Torques that give these accelerations: Newton–Euler, every link in its own axes."""
    omega, alpha, lift = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, gravity])
    z = np.array([0.0, 0.0, 1.0])
    turned, forces, moments = [], [], []
    for link, angle, rate, acceleration in zip(chain, q, v, a, strict=True):
        c, s = cos(angle), sin(angle)
        R = link.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        p = link.position
        lift = R.T @ (lift + np.cross(alpha, p) + np.cross(omega, np.cross(omega, p)))
        carried = R.T @ omega
        alpha = R.T @ alpha + acceleration * z + rate * np.cross(carried, z)
        omega = carried + rate * z
        center, tensor = np.array(link.center), link.tensor
        push = lift + np.cross(alpha, center) + np.cross(omega, np.cross(omega, center))
        force = link.mass * push
        turned.append(R)
        forces.append(force)
        moments.append(tensor @ alpha + np.cross(omega, tensor @ omega) + np.cross(center, force))
    torques = np.zeros(len(chain))
    force, moment = np.zeros(3), np.zeros(3)
    for k in reversed(range(len(chain))):
        force, moment = force + forces[k], moment + moments[k]
        torques[k] = moment[2]
        # to the axes and the origin of the link before
        force, moment = turned[k] @ force, turned[k] @ moment
        moment = moment + np.cross(chain[k].position, force)
    return torques


def hinge_error(
    chain: Sequence[Link], q: np.ndarray, v: np.ndarray, torques: np.ndarray, a: np.ndarray
) -> float:
    """How far the torques of found accelerations are from the given ones, relative."""
    found = hinge_torques(chain, q, v, a)
    scale = np.abs(hinge_torques(chain, q, v, 0.0 * a)).max() + np.abs(torques).max()
    return float(np.abs(found - torques).max() / scale)


def path_error(path: np.ndarray, reference: np.ndarray) -> float:
    """Greatest distance of a path from the reference over its samples, m; ∞ if it is not finite."""
    points = np.asarray(path)[:, :2]
    every = (len(reference) - 1) // (len(points) - 1)
    apart = np.linalg.norm(points - reference[::every], axis=1)
    return float(apart.max()) if np.isfinite(apart).all() else float("inf")
