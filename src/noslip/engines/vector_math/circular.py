"""Sine, cosine and tangent: of the remainder by π/2, each in two parts."""

from __future__ import annotations

import math

from noslip.engines.ir_writer import Value, Writer
from noslip.engines.vector_math.parts import HALF_PI, ROUND, SIGN_BIT, divide

FAR = 2.0**40  # in radian: the remainder by HALF_PI has digits enough up to here

# sin r = r + r z P(z) and cos r = 1 − z/2 + z² P(z) with z = r², |r| ≤ π/4
SIN = (
    *(-0.1666666666666663, 0.008333333333322108, -0.00019841269829580163),
    *(2.7557313618016424e-06, -2.505074721806847e-08, 1.5896197629226583e-10),
)
COS = (
    *(0.041666666666666595, -0.001388888888887304, 2.4801587288841384e-05),
    *(-2.755731417623609e-07, 2.087570041557832e-09, -1.1358513926519162e-11),
)


def _reduce(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """Remainder r + low = x − n π/2 for 0 ≤ x ≤ FAR, and n in the last bits of a whole number."""
    shifted = w.fma(x, 2.0 / math.pi, ROUND)
    n = shifted - ROUND
    # the first difference is exact; what the second loses is kept
    a = w.fma(-n, HALF_PI[0], x)
    b = n * HALF_PI[1]
    r, low = w.two_sum(a, -b)
    low = w.fma(-n, HALF_PI[2], low - w.fma(n, HALF_PI[1], -b))
    return r, low, w.bits(shifted)


def _is_far(w: Writer, x: Value) -> Value:
    """Whether an angle is so large that the C library is asked."""
    size = w.abs(x)
    return (size > FAR) & (size < math.inf)


def _quadrant(w: Writer, x: Value) -> tuple[tuple[Value, Value], tuple[Value, Value], Value]:
    """Sine and cosine of the remainder of |x|, each in two parts, and the quadrant it lies in."""
    r, low, n = _reduce(w, w.abs(x))
    z = r * r
    # sin(r + low) = r + (r z P + low cos r)
    small = w.fma(w.polynomial(SIN, z), r * z, w.fma(-0.5 * z, low, low))
    # cos(r + low) = 1 − z/2 + (z² P − r low); the first sum keeps its rounding error
    half = 0.5 * z
    one = 1.0 - half
    tail = w.fma(w.polynomial(COS, z), z * z, ((1.0 - one) - half) - r * low)
    return (r, small), (one, tail), n


def sincos(w: Writer, x: Value) -> list[Value]:
    """Sine and cosine."""
    sine, cosine, n = _quadrant(w, x)
    s, c = sine[0] + sine[1], cosine[0] + cosine[1]
    is_odd = (n & 1).equals(1)
    sign = (w.bits(x) & SIGN_BIT) ^ ((n & 2) << 62)
    sin = w.from_bits(w.bits(w.where(is_odd, c, s)) ^ sign)
    cos = w.from_bits(w.bits(w.where(is_odd, s, c)) ^ (((n + 1) & 2) << 62))
    return w.mend(_is_far(w, x), [sin, cos], "far_sincos", x)


def tan(w: Writer, x: Value) -> list[Value]:
    """Tangent."""
    sine, cosine, n = _quadrant(w, x)
    # both as a sum of two parts, the second below the last place of the first
    parts = []
    for big, small in (sine, cosine):
        total = big + small
        parts.append((total, small - (total - big)))
    is_odd = (n & 1).equals(1)
    a, a_low = (w.where(is_odd, c, s) for s, c in zip(*parts, strict=True))
    b, b_low = (w.where(is_odd, s, c) for s, c in zip(*parts, strict=True))
    quotient, low = divide(w, a, a_low, b, b_low)
    sign = (w.bits(x) & SIGN_BIT) ^ ((n & 1) << 63)
    near = w.from_bits(w.bits(quotient + low) ^ sign)
    return w.mend(_is_far(w, x), [near], "far_tan", x)
