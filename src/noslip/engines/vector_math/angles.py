"""Angles of points: arctangent, and with it arcsine and arccosine."""

from __future__ import annotations

import math

from noslip.engines.ir_writer import Value, Writer
from noslip.engines.vector_math.parts import HALF_PI, SIGN_BIT, divide

# atan q = q + q z P(z) with z = q², |q| ≤ tan π/8
ATAN = (
    *(-0.33333333333333326, 0.1999999999999765, -0.14285714285385936, 0.11111111088067906),
    *(-0.09090908141182587, 0.07692282695503684, -0.06666225990304811, 0.058770157478408656),
    *(-0.05218373956869873, 0.045034571630092564, -0.03347297818570166, 0.015194274795753861),
)


def atan2(w: Writer, y: Value, x: Value) -> list[Value]:
    """Angle of the point (x, y)."""
    return [_angle(w, y, x)]


def atan(w: Writer, x: Value) -> list[Value]:
    """Angle with a tangent."""
    return [_angle(w, x, w.of(1.0, "double"))]


def asin(w: Writer, x: Value) -> list[Value]:
    """Angle with a sine."""
    return [_angle(w, x, w.sqrt(w.fma(-x, x, 1.0)))]


def acos(w: Writer, x: Value) -> list[Value]:
    """Angle with a cosine."""
    return [_angle(w, w.sqrt(w.fma(-x, x, 1.0)), x)]


def _angle(w: Writer, y: Value, x: Value) -> Value:
    """Angle of the point (x, y): base + atan q, with base and q chosen so that |q| ≤ tan π/8."""
    up, right = _in_range(w, w.abs(y), w.abs(x))
    is_steep = up > math.tan(3 * math.pi / 8) * right
    is_middle = (up > math.tan(math.pi / 8) * right) ^ is_steep
    # q = y/x, or −x/y after a quarter turn, or (y − x)/(y + x) after an eighth
    difference, difference_low = w.two_sum(up, -right)
    total, total_low = w.two_sum(up, right)
    a = w.where(is_middle, difference, w.where(is_steep, -right, up))
    b = w.where(is_middle, total, w.where(is_steep, up, right))
    a_low, b_low = (w.where(is_middle, low, 0.0) for low in (difference_low, total_low))
    q, q_low = divide(w, a, a_low, b, b_low)
    # to the left the angle is π minus that
    is_left = w.bits(x) < 0
    quarters = w.where(is_middle, 1.0, w.where(is_steep, 2.0, w.of(0.0, "double")))
    quarters = w.where(is_left, 4.0 - quarters, quarters)
    flip = w.where(is_left, w.of(SIGN_BIT, "i64"), 0)
    q, q_low = (w.from_bits(w.bits(part) ^ flip) for part in (q, q_low))
    z = q * q
    small = w.fma(w.polynomial(ATAN, z), q * z, q_low)
    # quarters of π in two parts: HALF_PI/2 times a small whole number, whose error is kept
    base = quarters * (0.5 * HALF_PI[0])
    base_low = w.fma(quarters, 0.5 * HALF_PI[0], -base)
    base_low = w.fma(quarters, 0.5 * HALF_PI[1], base_low)
    angle = base + q
    angle = angle + ((q - (angle - base)) + (small + base_low))
    angle = w.where(x.is_nan() | y.is_nan(), math.nan, angle)
    return w.copysign(angle, y)


def _in_range(w: Writer, up: Value, right: Value) -> tuple[Value, Value]:
    """The same direction, with the larger size far from overflow, underflow and zero."""
    is_far = up.equals(math.inf) | right.equals(math.inf)
    up, right = (
        w.where(is_far, w.where(size.equals(math.inf), 1.0, w.of(0.0, "double")), size)
        for size in (up, right)
    )
    largest = w.where(up > right, up, right)
    is_large, is_small = largest > 2.0**900, largest < 2.0**-900
    scale = w.where(is_large, 2.0**-200, w.where(is_small, w.of(2.0**200, "double"), 1.0))
    return up * scale, w.where(largest.equals(0.0), 1.0, right * scale)
