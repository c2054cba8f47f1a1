"""Rotations, cross products and poses as pure functions on traced (CasADi SX) scalars.

Every function also takes plain numbers. Structural zeros and ones stay zeros and ones, so that a
planar mechanism described in three dimensions costs no more than a planar one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca

#: A traced scalar, vector or matrix (CasADi SX), or a number.
Traced = Any

EYE3 = ca.SX.eye(3)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices whose operations are traced once and inlined by CasADi ever after.

    It returns a matrix, or a tuple of some. A call of CasADi takes 2 to 30 µs from Python, an
    operator 10 µs, most of it for choosing the overload; inlining one operation takes 0.1 µs. So a
    step of a recursion that is taken for every body is traced for symbols of the shapes of its
    arguments, and that function is called. Structural zeros are filled in, but operations on zeros
    and ones are left out as usual.
    """

    @functools.cache
    def template(*shapes: tuple[int, int]) -> tuple[ca.Function, bool]:
        symbols = [ca.SX.sym(f"a{k}", *shape) for k, shape in enumerate(shapes)]
        found = function(*symbols)
        is_one = isinstance(found, ca.SX)
        return ca.Function("inlined", symbols, [found] if is_one else list(found)), is_one

    @functools.wraps(function)
    def call(*arguments: ca.SX) -> Any:
        traced_once, is_one = template(*[(a.size1(), a.size2()) for a in arguments])
        made = traced_once.call(arguments)
        return made[0] if is_one else made

    return call


def traced(value: Traced) -> ca.SX:
    """The value as SX; not a copy where it is one."""
    return value if value.__class__ is ca.SX else ca.SX(value)


def vector(entries: Sequence[Any]) -> ca.SX:
    """Column vector of the entries."""
    return ca.vertcat(*[traced(e) for e in entries])


def stack(entries: Sequence[ca.SX]) -> ca.SX:
    """Entries one below the other; an empty column if there are none."""
    return ca.vertcat(*entries) if entries else ca.SX(0, 1)


def block_diagonal(blocks: Sequence[ca.SX]) -> ca.SX:
    """Blocks along the diagonal."""
    return ca.diagcat(*blocks) if blocks else ca.SX(0, 0)


def cross(a: Traced, b: Traced) -> ca.SX:
    """a × b."""
    return ca.cross(traced(a), traced(b))


def skew(a: Traced) -> ca.SX:
    """The matrix of a ×: skew(a) b = a × b."""
    zero = ca.SX(0)
    return ca.vertcat(
        ca.horzcat(zero, -a[2], a[1]),
        ca.horzcat(a[2], zero, -a[0]),
        ca.horzcat(-a[1], a[0], zero),
    )


def turn_vector(R: Traced) -> ca.SX:
    """2 sin(θ/2) e of a rotation by θ about e: for a small rotation, its rotation vector.

    It vanishes for no other rotation than R = 1. (The skew part of R, sin θ e, also vanishes after
    half a turn.) With 1 + tr R = 4 cos²(θ/2), it is the skew part over cos(θ/2).
    """
    skew_part = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]) / 2
    return 2 * skew_part / ca.sqrt(1 + ca.trace(R))


def turned_inertia(R: ca.SX, inertia: ca.SX) -> ca.SX:
    """R I Rᵀ, symmetric by construction."""
    half = ca.mtimes(R, inertia)
    result = ca.SX.zeros(3, 3)
    for j in range(3):
        for k in range(j + 1):
            result[j, k] = result[k, j] = ca.dot(half[j, :], R[k, :])
    return result


def is_identity(H: ca.SX) -> bool:
    """Whether a 6×6 matrix is 1: speeds of a joint that are the twist of its child."""
    return H.shape == (6, 6) and bool((H - ca.SX.eye(6)).is_zero())


def unit(a: Traced) -> ca.SX:
    """a / |a|. A numeric axis along x, y or z stays exactly that."""
    a = traced(a)
    return a / ca.sqrt(ca.dot(a, a))


def rotation_about(axis: Traced, angle: Traced) -> ca.SX:
    """Rotation by `angle` about the unit vector `axis`.

    R = e eᵀ + cos(angle) (1 − e eᵀ) + sin(angle) e×, the form that keeps structural zeros.
    """
    cosine, sine = _cosine_and_sine(angle)
    return _rotation(traced(axis), traced(cosine), traced(sine))


@inlined
def _rotation(e: ca.SX, cosine: ca.SX, sine: ca.SX) -> ca.SX:
    along = ca.mtimes(e, e.T)
    return along + cosine * (EYE3 - along) + sine * skew(e)


def _cosine_and_sine(angle: Traced) -> tuple[Traced, Traced]:
    """cos and sin; of a number that is a right angle to rounding exactly 0, 1 or −1."""
    angle = traced(angle)
    if angle.is_constant() and math.isfinite(float(angle)):
        turns = float(angle) / (math.pi / 2)
        quarters = round(turns)
        if abs(turns - quarters) <= 2.0**-52 * abs(quarters):
            return ((1, 0), (0, 1), (-1, 0), (0, -1))[quarters % 4]
    return ca.cos(angle), ca.sin(angle)


def rotation_from_angles(angles: Traced, sequence: str) -> ca.SX:
    """R = R₁(a₁) R₂(a₂) R₃(a₃), each about an axis letter of `sequence`, intrinsic."""
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    R = EYE3
    for letter, angle in zip(sequence, ca.vertsplit(ca.SX(angles)), strict=True):
        R = ca.mtimes(R, rotation_about(vector(axes[letter]), angle))
    return R


def angular_velocity(
    angles: Sequence[Any],
    rates: Sequence[Any],
    sequence: str,
    cos: Callable[[Any], Any] = math.cos,
    sin: Callable[[Any], Any] = math.sin,
) -> list[Any]:
    """ω in the axes of the turned frame, for the rates of intrinsic angles.

    Plain numbers, or arrays if their cosine and sine are given.
    """
    omega: list[Any] = [0.0, 0.0, 0.0]
    for letter, angle, rate in zip(sequence, angles, rates, strict=True):
        i = "xyz".index(letter)
        j, k = (i + 1) % 3, (i + 2) % 3
        c, s = cos(angle), sin(angle)
        # seen from the axes after this turn, ω is Rᵀω and gains the rate about the turn's own axis
        omega[i] = omega[i] + rate
        omega[j], omega[k] = c * omega[j] + s * omega[k], c * omega[k] - s * omega[j]
    return omega


def angle_rate_map(angles: Traced, sequence: str) -> ca.SX:
    """N (3×3): rates of intrinsic angles = N ω, ω in the axes of the turned frame.

    ω = h₁ȧ₁ + h₂ȧ₂ + h₃ȧ₃, so the rows of N are the cross products of two h over the determinant,
    which does not depend on a₃.
    """
    a = ca.vertsplit(ca.SX(angles))
    unit = [[float(i == k) for i in range(3)] for k in range(3)]
    h = [ca.vertcat(*angular_velocity(a, rates, sequence, ca.cos, ca.sin)) for rates in unit]
    unturned = [a[0], a[1], ca.SX(0)]
    g = [ca.vertcat(*angular_velocity(unturned, rates, sequence, ca.cos, ca.sin)) for rates in unit]
    determinant = ca.dot(g[0], cross(g[1], g[2]))
    rows = [cross(h[(k + 1) % 3], h[(k + 2) % 3]).T for k in range(3)]
    return ca.vertcat(*rows) / determinant


def rotation_from_quaternion(quaternion: Traced) -> ca.SX:
    """R of a unit quaternion (w, x, y, z), scalar first."""
    return _rotation_of(ca.SX(quaternion))


@inlined
def _rotation_of(quaternion: ca.SX) -> ca.SX:
    w, x, y, z = ca.vertsplit(quaternion)
    return ca.vertcat(
        ca.horzcat(w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )


def quaternion_from_angles(
    angles: Sequence[Any],
    sequence: str,
    cos: Callable[[Any], Any] = math.cos,
    sin: Callable[[Any], Any] = math.sin,
) -> list[Any]:
    """Unit quaternion (w, x, y, z) of R₁(a₁) R₂(a₂) R₃(a₃).

    Plain numbers, or arrays if their cosine and sine are given.
    """
    w: Any
    x: Any
    y: Any
    z: Any
    w, x, y, z = 1.0, 0.0, 0.0, 0.0
    for letter, angle in zip(sequence, angles, strict=True):
        c, s = cos(angle / 2), sin(angle / 2)
        a, b, d = (s if letter == axis else 0.0 for axis in "xyz")
        w, x, y, z = (
            w * c - x * a - y * b - z * d,
            w * a + x * c + y * d - z * b,
            w * b - x * d + y * c + z * a,
            w * d + x * b - y * a + z * c,
        )
    return [w, x, y, z]


def angles_from_quaternion(quaternion: Iterable[float], sequence: str) -> list[float]:
    """Intrinsic angles of a unit quaternion: R = R_i(a) R_j(b) R_k(c), plain numbers.

    With e = ±1 the sign of the permutation (i, j, k), R_ik = e sin b and so on; where the first
    axis is used twice, of (i, j, m) with m the third axis, and R_ii = cos b.
    """
    return intrinsic_angles([float(x) for x in quaternion], sequence, math.atan2, math.hypot)


def traced_angles(quaternion: ca.SX, sequence: str) -> ca.SX:
    """The same angles, traced; differentiable where they are regular."""
    return _angles_of(sequence)(quaternion)


@functools.cache
def _angles_of(sequence: str) -> Callable[..., ca.SX]:
    def hypot(x: ca.SX, y: ca.SX) -> ca.SX:
        return ca.sqrt(x * x + y * y)

    @inlined
    def angles(quaternion: ca.SX) -> ca.SX:
        parts = ca.vertsplit(quaternion)
        return vector(intrinsic_angles(parts, sequence, ca.atan2, hypot))

    return angles


def intrinsic_angles(quaternion: Sequence[Any], sequence: str, atan2: Any, hypot: Any) -> list[Any]:
    """The same angles in any algebra, of numbers, symbols or arrays, by its atan2 and hypot."""
    w, *u = quaternion
    i, j, k = ("xyz".index(letter) for letter in sequence)
    m = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0

    def R(row: int, column: int) -> Any:
        if row == column:
            return w * w + 2 * u[row] * u[row] - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        third = 3 - row - column
        sign = -1.0 if (column - row) % 3 == 1 else 1.0
        return 2 * (u[row] * u[column] + sign * w * u[third])

    if i == k:
        middle = atan2(hypot(R(i, j), R(i, m)), R(i, i))
        return [atan2(R(j, i), -e * R(m, i)), middle, atan2(R(i, j), e * R(i, m))]
    middle = atan2(e * R(i, k), hypot(R(i, i), R(i, j)))
    return [atan2(-e * R(j, k), R(k, k)), middle, atan2(-e * R(i, j), R(i, i))]


def quaternion_rate_map(quaternion: Traced) -> ca.SX:
    """Matrix (4×3) with d(quaternion)/dt = map · ω, ω in body axes."""
    w, x, y, z = ca.vertsplit(ca.SX(quaternion))
    return (
        ca.vertcat(
            ca.horzcat(-x, -y, -z),
            ca.horzcat(w, -z, y),
            ca.horzcat(z, w, -x),
            ca.horzcat(-y, x, w),
        )
        / 2
    )
