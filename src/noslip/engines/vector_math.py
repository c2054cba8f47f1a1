"""Elementary functions of vectors as LLVM text: sine to hyperbolic tangent, without library calls.

Every lane is computed alike and for itself, so its bits do not depend on the other lanes. The
errors are those of the table, in units in the last place (ulp) of the true value; the tests find
them with many digits. Signs of zeros, infinities and nan are those of the C library, which also
gives sine, cosine and tangent of angles beyond FAR.

    sin, cos, tan, exp, expm1, log, atan, atan2, tanh     below 1 ulp
    asin, acos, sinh, cosh                                below 1.5 ulp

The method is the usual one: an argument is reduced to a small interval with more digits than a
double has, a polynomial is evaluated there, and the result is put together again. The polynomials
are those with the least largest error on their interval, found by Remez' exchange with 50 digits.

What is not here is taken from the C library, lane by lane.

To add one: write it as a function of a :class:`IRWriter` and vectors, and give it a line in BODIES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from noslip.engines.ir_writer import IRWriter, Value, vector_type

# π/2 in three parts: each is the double nearest to what the ones before it leave.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# Added to a number below 2⁵¹, this leaves the nearest whole number in the last bits.
ROUND = 1.5 * 2.0**52
SIGN_BIT = -(2**63)


def divide(w: IRWriter, a: Value, a_low: Value, b: Value, b_low: Value) -> tuple[Value, Value]:
    """Quotient (a + a_low)/(b + b_low) in two parts, by one division."""
    inverse = 1.0 / b
    q = a * inverse
    rest = w.fma(-q, b, a) + w.fma(-q, b_low, a_low)
    return q, rest * inverse


# sine, cosine and tangent: of the remainder by π/2, each in two parts

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


def _reduce(w: IRWriter, x: Value) -> tuple[Value, Value, Value]:
    """Remainder r + low = x − n π/2 for 0 ≤ x ≤ FAR, and n in the last bits of a whole number."""
    shifted = w.fma(x, 2.0 / math.pi, ROUND)
    n = shifted - ROUND
    # the first difference is exact; what the second loses is kept
    a = w.fma(-n, HALF_PI[0], x)
    b = n * HALF_PI[1]
    r, low = w.two_sum(a, -b)
    low = w.fma(-n, HALF_PI[2], low - w.fma(n, HALF_PI[1], -b))
    return r, low, w.bits(shifted)


def _is_far(w: IRWriter, x: Value) -> Value:
    """Whether an angle is so large that the C library reduces it."""
    size = w.abs(x)
    return (size > FAR) & (size < math.inf)


def _quadrant_of_remainder(
    w: IRWriter, r: Value, low: Value, n: Value
) -> tuple[tuple[Value, Value], tuple[Value, Value], Value]:
    """Sine and cosine of a remainder r + low, each in two parts, and the quadrant."""
    z = r * r
    # sin(r + low) = r + (r z P + low cos r)
    small = w.fma(w.polynomial(SIN, z), r * z, w.fma(-0.5 * z, low, low))
    # cos(r + low) = 1 − z/2 + (z² P − r low); the first sum keeps its rounding error
    half = 0.5 * z
    one = 1.0 - half
    tail = w.fma(w.polynomial(COS, z), z * z, ((1.0 - one) - half) - r * low)
    return (r, small), (one, tail), n


def sincos(w: IRWriter, x: Value) -> list[Value]:
    """Sine and cosine."""
    near = sincos_of_remainder(w, x, *_reduce(w, w.abs(x)))
    return w.replace_where(_is_far(w, x), near, "far_sincos", x)


def sincos_of_remainder(w: IRWriter, x: Value, r: Value, low: Value, n: Value) -> list[Value]:
    """Sine and cosine of x, where |x| is n π/2 + r + low."""
    sine, cosine, n = _quadrant_of_remainder(w, r, low, n)
    s, c = sine[0] + sine[1], cosine[0] + cosine[1]
    is_odd = (n & 1).equals(1)
    sign = (w.bits(x) & SIGN_BIT) ^ ((n & 2) << 62)
    sin = w.from_bits(w.bits(w.where(is_odd, c, s)) ^ sign)
    cos = w.from_bits(w.bits(w.where(is_odd, s, c)) ^ (((n + 1) & 2) << 62))
    return [sin, cos]


def tan(w: IRWriter, x: Value) -> list[Value]:
    """Tangent."""
    near = tan_of_remainder(w, x, *_reduce(w, w.abs(x)))
    return w.replace_where(_is_far(w, x), [near], "far_tan", x)


def tan_of_remainder(w: IRWriter, x: Value, r: Value, low: Value, n: Value) -> Value:
    """Tangent of x, where |x| is n π/2 + r + low."""
    sine, cosine, n = _quadrant_of_remainder(w, r, low, n)
    # both as a sum of two parts, the second below the last place of the first
    parts = []
    for big, small in (sine, cosine):
        total = big + small
        parts.append((total, small - (total - big)))
    is_odd = (n & 1).equals(1)
    a, a_low = (w.where(is_odd, c, s) for s, c in zip(*parts, strict=True))
    b, b_low = (w.where(is_odd, s, c) for s, c in zip(*parts, strict=True))
    quotient, rest = divide(w, a, a_low, b, b_low)
    sign = (w.bits(x) & SIGN_BIT) ^ ((n & 1) << 63)
    return w.from_bits(w.bits(quotient + rest) ^ sign)


# arctangent, and with it arcsine and arccosine: angles of points

# atan q = q + q z P(z) with z = q², |q| ≤ tan π/8
ATAN = (
    *(-0.33333333333333326, 0.1999999999999765, -0.14285714285385936, 0.11111111088067906),
    *(-0.09090908141182587, 0.07692282695503684, -0.06666225990304811, 0.058770157478408656),
    *(-0.05218373956869873, 0.045034571630092564, -0.03347297818570166, 0.015194274795753861),
)


def atan2(w: IRWriter, y: Value, x: Value) -> list[Value]:
    """Angle of the point (x, y)."""
    return [_angle(w, y, x)]


def atan(w: IRWriter, x: Value) -> list[Value]:
    """Angle with a tangent."""
    return [_angle(w, x, w.of(1.0, "double"))]


def asin(w: IRWriter, x: Value) -> list[Value]:
    """Angle with a sine."""
    return [_angle(w, x, w.sqrt(w.fma(-x, x, 1.0)))]


def acos(w: IRWriter, x: Value) -> list[Value]:
    """Angle with a cosine."""
    return [_angle(w, w.sqrt(w.fma(-x, x, 1.0)), x)]


def _angle(w: IRWriter, y: Value, x: Value) -> Value:
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


def _in_range(w: IRWriter, up: Value, right: Value) -> tuple[Value, Value]:
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


# exponential, hyperbolic functions and logarithm: powers of two, and a small remainder

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


def _exp_parts(w: IRWriter, x: Value) -> tuple[Value, Value, Value]:
    """Whole n and exp(x − n ln 2) − 1 = r + small."""
    shifted = w.fma(x, 1.0 / math.log(2.0), ROUND)
    n = shifted - ROUND
    a = w.fma(-n, LOG_2[0], x)
    b = n * LOG_2[1]
    r = a - b
    low = (a - r) - b
    return n, r, w.fma(w.polynomial(EXP, r), r * r, w.fma(r, low, low))


def _power_of_two(w: IRWriter, n: Value) -> Value:
    """2ⁿ for whole n from −1022 to 1023."""
    return w.from_bits((w.bits(n + ROUND) << 52) + ONE_BITS)


def _scaled_exp(w: IRWriter, x: Value, shift: float) -> Value:
    """2^shift exp x; it is scaled in two steps, since 2ⁿ itself may be out of range."""
    x = w.where(x < -800.0, -800.0, w.where(x > 800.0, 800.0, x))
    n, r, small = _exp_parts(w, x)
    n = n + shift
    half = (w.fma(n, 0.5, ROUND)) - ROUND
    y = 1.0 + (r + small)
    return (y * _power_of_two(w, half)) * _power_of_two(w, n - half)


def exp(w: IRWriter, x: Value) -> list[Value]:
    """Exponential."""
    return [_scaled_exp(w, x, 0.0)]


def _small_exp(w: IRWriter, x: Value) -> tuple[Value, Value]:
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


def expm1(w: IRWriter, x: Value) -> list[Value]:
    """exp x − 1, with all its digits where x is small too."""
    big, small = _small_exp(w, x)
    y = w.where(x > 60.0, _scaled_exp(w, x, 0.0), big + small)
    return [w.where(w.abs(x) < 2.0**-54, x, y)]


def sinh(w: IRWriter, x: Value) -> list[Value]:
    """Hyperbolic sine."""
    # (e + e/(e + 1))/2 with e = exp|x| − 1, or (exp|x| − exp(−|x|))/2
    size = w.abs(x)
    big, small = _small_exp(w, w.where(size < 1.0, size, 1.0))
    q, q_low = divide(w, big, small, *w.two_sum(big, w.of(1.0, "double")))
    near = 0.5 * (big + (q + (q_low + small)))
    half = _scaled_exp(w, size, -1.0)
    far = half - 0.25 / half
    return [w.copysign(w.where(size < 1.0, near, far), x)]


def cosh(w: IRWriter, x: Value) -> list[Value]:
    """Hyperbolic cosine."""
    half = _scaled_exp(w, w.abs(x), -1.0)
    return [half + 0.25 / half]


def tanh(w: IRWriter, x: Value) -> list[Value]:
    """Hyperbolic tangent."""
    # −e/(2 + e) with e = exp(−2|x|) − 1
    big, small = _small_exp(w, -2.0 * w.abs(x))
    total, low = w.two_sum(w.of(2.0, "double"), big)
    q, q_low = divide(w, big, small, total, low + small)
    return [w.copysign(q + q_low, x)]


def log(w: IRWriter, x: Value) -> list[Value]:
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


# the functions as LLVM text: those above, and those of the C library, in lanes

Body = Callable[..., list[Value]]

#: How each function is computed, and of how many vectors.
BODIES: dict[str, tuple[Body, int]] = {
    "sincos": (sincos, 1),
    "tan": (tan, 1),
    "asin": (asin, 1),
    "acos": (acos, 1),
    "atan": (atan, 1),
    "atan2": (atan2, 2),
    "exp": (exp, 1),
    "expm1": (expm1, 1),
    "log": (log, 1),
    "sinh": (sinh, 1),
    "cosh": (cosh, 1),
    "tanh": (tanh, 1),
}
#: Functions that ask the C library for far angles, and what they ask for.
FAR_ANGLES = {"sincos": ("sin", "cos"), "tan": ("tan",)}


def vector_functions(
    own: Iterable[str],
    library: dict[str, int],
    lanes: int,
    *,
    is_inline: bool,
    declared: Iterable[str] = (),
) -> list[str]:
    """LLVM text of vector functions with their declarations.

    Parameters
    ----------
    own : names from BODIES; each becomes a function ``lanes_<name>``.
    library : functions of the C library, with the number of their arguments; each becomes a
        function ``each_<name>``, which calls it for every lane.
    lanes : numbers in a vector.
    is_inline : whether their code is written into that of their callers.
    declared : what the caller declares besides; each line is written once.
    """
    own, lines = sorted(set(own)), set(declared)
    far = {name: FAR_ANGLES[name] for name in own if name in FAR_ANGLES}
    library = library | {asked: 1 for names in far.values() for asked in names}
    text = [_far(name, asked, lanes) for name, asked in far.items()]
    for name in own:
        body, count = BODIES[name]
        writer = IRWriter(lanes)
        arguments = [writer.argument(letter) for letter in "ab"[:count]]
        results = body(writer, *arguments)
        text.append(writer.function(f"lanes_{name}", arguments, results, is_inline))
        lines |= writer.declared
    for name, count in sorted(library.items()):
        text.append(_each(name, count, lanes))
        doubles = ", ".join(["double"] * count)
        lines.add(f"declare double @{name}({doubles}) readnone nounwind willreturn")
    return [*text, *sorted(lines)]


def _far(name: str, asked: tuple[str, ...], lanes: int) -> str:
    """Text of the fallback for far angles, which calls the C library."""
    vector = vector_type(lanes)
    returned = f"{{ {', '.join([vector] * len(asked))} }}"
    lines = [f"define internal {returned} @far_{name}({vector} %a) nounwind noinline cold {{"]
    result = "poison"
    for k, library in enumerate(asked):
        lines.append(f"  %y{k} = call {vector} @each_{library}({vector} %a)")
        lines.append(f"  %r{k} = insertvalue {returned} {result}, {vector} %y{k}, {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {returned} {result}", "}"])


def _each(name: str, count: int, lanes: int) -> str:
    """A library function called for every lane."""
    vector, letters = vector_type(lanes), "ab"[:count]
    arguments = ", ".join(f"{vector} %{letter}" for letter in letters)
    head = f"define internal {vector} @each_{name}({arguments}) nounwind"
    if lanes == 1:
        body = f"  %y = call double @{name}({arguments})\n  ret double %y"
        return f"{head} alwaysinline {{\n{body}\n}}"
    lines, result = [f"{head} noinline {{"], "poison"
    for k in range(lanes):
        for letter in letters:
            lines.append(f"  %{letter}{k} = extractelement {vector} %{letter}, i64 {k}")
        listed = ", ".join(f"double %{letter}{k}" for letter in letters)
        lines.append(f"  %y{k} = call double @{name}({listed})")
        lines.append(f"  %r{k} = insertelement {vector} {result}, double %y{k}, i64 {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {vector} {result}", "}"])
