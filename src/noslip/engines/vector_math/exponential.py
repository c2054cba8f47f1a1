"""Exponential, hyperbolic functions and logarithm: powers of two, and a small remainder."""

from __future__ import annotations

import math

from noslip.engines.ir_writer import Value, Writer
from noslip.engines.vector_math.parts import ROUND, divide

# ln 2 in two parts, the first with 21 zeros at its end, so that it times an exponent is exact.
LOG_2 = (0.6931471803691238, 1.9082149292705877e-10)
# exp r = 1 + r + r² P(r), |r| ≤ ln 2 / 2
EXP = (
    *(0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321615),
    *(0.0013888888888866837, 0.000198412698861587, 2.4801587360557542e-05),
    *(2.755724418177447e-06, 2.75572427591855e-07, 2.5109044937578074e-08, 2.092444330993258e-09),
)
# log((1 + s)/(1 − s)) = 2 s + s z P(z) with z = s², |s| ≤ 3 − √8
LOG = (
    *(0.6666666666666666, 0.4000000000000625, 0.28571428569085916, 0.22222222646789205),
    *(0.18181775666281974, 0.15387090717968033, 0.1325011913293673, 0.13251319189738614),
)

ONE_BITS = 1023 << 52  # of the number 1: its exponent


def _exp_parts(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """Whole n and exp(x − n ln 2) − 1 = r + small."""
    shifted = w.fma(x, 1.0 / math.log(2.0), ROUND)
    n = shifted - ROUND
    a = w.fma(-n, LOG_2[0], x)
    b = n * LOG_2[1]
    r = a - b
    low = (a - r) - b
    return n, r, w.fma(w.polynomial(EXP, r), r * r, w.fma(r, low, low))


def _power_of_two(w: Writer, n: Value) -> Value:
    """2ⁿ for whole n from −1022 to 1023."""
    return w.from_bits((w.bits(n + ROUND) << 52) + ONE_BITS)


def _scaled_exp(w: Writer, x: Value, shift: float) -> Value:
    """2^shift exp x; it is scaled in two steps, since 2ⁿ itself may be out of range."""
    x = w.where(x < -800.0, -800.0, w.where(x > 800.0, 800.0, x))
    n, r, small = _exp_parts(w, x)
    n = n + shift
    half = (w.fma(n, 0.5, ROUND)) - ROUND
    y = 1.0 + (r + small)
    return (y * _power_of_two(w, half)) * _power_of_two(w, n - half)


def exp(w: Writer, x: Value) -> list[Value]:
    """Exponential."""
    return [_scaled_exp(w, x, 0.0)]


def _small_exp(w: Writer, x: Value) -> tuple[Value, Value]:
    """Two parts of exp x − 1 = 2 (2ᵐ − 1/2 + 2ᵐ (exp r − 1)) with m = n − 1, for |x| ≤ 60."""
    clamped = w.where(x < -60.0, -60.0, w.where(x > 60.0, 60.0, x))
    n, r, small = _exp_parts(w, clamped)
    scale = 2.0 * _power_of_two(w, n - 1.0)
    # the first two sums are exact
    first, lost = w.two_sum(0.5 * scale, w.of(-0.5, "double"))
    big, low = w.two_sum(2.0 * first, r * scale)
    small = w.fma(small, scale, 2.0 * lost + low)
    total = big + small
    return total, small - (total - big)


def expm1(w: Writer, x: Value) -> list[Value]:
    """exp x − 1, with all its digits where x is small too."""
    big, small = _small_exp(w, x)
    y = w.where(x > 60.0, _scaled_exp(w, x, 0.0), big + small)
    return [w.where(w.abs(x) < 2.0**-54, x, y)]


def sinh(w: Writer, x: Value) -> list[Value]:
    """Hyperbolic sine."""
    # (e + e/(e + 1))/2 with e = exp|x| − 1, or (exp|x| − exp(−|x|))/2
    size = w.abs(x)
    big, small = _small_exp(w, w.where(size < 1.0, size, 1.0))
    q, q_low = divide(w, big, small, *w.two_sum(big, w.of(1.0, "double")))
    near = 0.5 * (big + (q + (q_low + small)))
    half = _scaled_exp(w, size, -1.0)
    far = half - 0.25 / half
    return [w.copysign(w.where(size < 1.0, near, far), x)]


def cosh(w: Writer, x: Value) -> list[Value]:
    """Hyperbolic cosine."""
    half = _scaled_exp(w, w.abs(x), -1.0)
    return [half + 0.25 / half]


def tanh(w: Writer, x: Value) -> list[Value]:
    """Hyperbolic tangent."""
    # −e/(2 + e) with e = exp(−2|x|) − 1
    big, small = _small_exp(w, -2.0 * w.abs(x))
    total, low = w.two_sum(w.of(2.0, "double"), big)
    q, q_low = divide(w, big, small, total, low + small)
    return [w.copysign(q + q_low, x)]


def log(w: Writer, x: Value) -> list[Value]:
    """Natural logarithm."""
    # x = 2ᵏ (1 + f) with 1 + f from √½ to √2
    is_tiny = x < 2.0**-1022
    scaled = w.where(is_tiny, x * 2.0**54, x)
    bits = w.bits(scaled)
    shift = (bits - 0x3FE6A09E667F3BCD) >> 52
    k = w.to_real(shift) - w.where(is_tiny, 54.0, w.of(0.0, "double"))
    f = w.from_bits(bits - (shift << 52)) - 1.0
    # log(1 + f) = f − (f²/2 − s (f²/2 + z P)) with s = f/(2 + f)
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    tail = w.fma(s, w.fma(w.polynomial(LOG, z), z, half), k * LOG_2[1])
    y = w.fma(k, LOG_2[0], f - (half - tail))
    y = w.where(x.equals(math.inf), x, y)
    y = w.where(x < 0.0, math.nan, w.where(x.equals(0.0), -math.inf, y))
    return [w.where(x.is_nan(), x, y)]
