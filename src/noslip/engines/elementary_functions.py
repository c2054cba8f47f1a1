"""Elementary functions as LLVM text, without library calls: of vectors, and of one number.

**Elementary functions of vectors as LLVM text: sine to hyperbolic tangent, without library calls.**

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

**Elementary functions where there is no C library, as on a GPU: LLVM text for one number.**

What vectors have is taken from there. Here are the rest: angles beyond its reach are reduced
by Payne and Hanek's method with as many digits of 2/π as it takes, and sine and cosine of single
precision are computed in it, to 2 ulp; other functions of single precision are those of doubles,
rounded.

    far_sincos, far_tan                                   as near ones
    log1p, asinh, acosh, atanh, hypot, pow, erf           below 3 ulp
    fmod, remainder                                       exact

References
----------
[PayneHanek1983] for the reduction, without equation numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from noslip.engines.ir_writer import (
    REAL,
    SINGLE,
    TRUTH,
    WHOLE,
    IRWriter,
    Value,
    literal,
    vector_type,
)

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
    is_inline : whether their code is written into that of their callers.
    declared : further declarations of the caller; each line is written once.
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


#: Bits of 2/π, the first behind the point, in words of 64 with one of zeros before them.
_NUM_WORDS = 20
_WINDOW = 192  # bits of 2/π that a reduction takes


def _two_over_pi() -> int:
    """⌊2/π · 2^k⌋ with as many bits as the table has behind its first word of zeros."""
    bits, guard = 64 * (_NUM_WORDS - 1), 64
    one = 1 << (bits + guard)

    # Machin's formula in whole numbers: π/4 = 4 atan(1/5) − atan(1/239)
    def atan_of_inverse(n: int) -> int:
        term = total = one // n
        k, sign = 1, 1
        while term:
            term //= n * n
            k, sign = k + 2, -sign
            total += sign * (term // k)
        return total

    quarter_pi = 4 * atan_of_inverse(5) - atan_of_inverse(239)
    return (one * (one >> guard)) // (2 * quarter_pi)


def _table() -> str:
    """The words of 2/π as a constant."""
    bits = _two_over_pi()
    words = [0, *((bits >> (64 * k)) % 2**64 for k in reversed(range(_NUM_WORDS - 1)))]
    listed = ", ".join(f"i64 {word}" for word in words)
    return f"@two_over_pi = internal constant [{_NUM_WORDS} x i64] [{listed}], align 8"


_TABLE = f"[{_NUM_WORDS} x i64], ptr @two_over_pi"


def _reduce_far(w: IRWriter, x: Value) -> tuple[Value, Value, Value]:
    """Remainder r + low = |x| − n π/2 for large |x|, and n in the last bits of a whole number.

    With |x| = m 2^E, the bits of 2/π of which m makes multiples of 4 are left out; the product of m
    with the 192 that follow has the two bits of the quadrant in front, and fractions of it behind.
    """

    def emit(text: str, kind: str = WHOLE) -> Value:
        return w.emit(text, kind, 1)

    bits = w.bits(x) & (2**63 - 1)
    exponent = bits >> 52
    m = (bits & (2**52 - 1)) | 2**52
    first = exponent + (64 - 1075 - 2)  # bit of the table at which the window begins
    word, shift = first >> 6, first & 63
    words = []
    for k in range(4):
        at = emit(f"getelementptr inbounds {_TABLE}, i64 0, {(word + k).typed}", "ptr")
        words.append(emit(f"load i64, {at.typed}, align 8"))
    window = [
        emit(f"call i64 @llvm.fshl.i64({words[k].typed}, {words[k + 1].typed}, {shift.typed})")
        for k in range(3)
    ]
    w.declared.add("declare i64 @llvm.fshl.i64(i64, i64, i64)")
    # m times the window, its last 192 bits
    wide = [emit(f"zext {part.typed} to i128", "i128") for part in (m, *window)]
    low = emit(f"mul i128 {wide[0].name}, {wide[3].name}", "i128")
    middle = emit(f"mul i128 {wide[0].name}, {wide[2].name}", "i128")
    carried = emit(f"lshr i128 {low.name}, 64", "i128")
    middle = emit(f"add i128 {middle.name}, {carried.name}", "i128")
    high = m * window[0] + emit(
        f"trunc i128 {emit(f'lshr i128 {middle.name}, 64', 'i128').name} to i64"
    )
    next_ = emit(f"trunc i128 {middle.name} to i64")
    # quadrants, rounded to the nearest; the rest is a signed fraction of one
    n = emit(f"lshr i64 {high.name}, 62") + (emit(f"lshr i64 {high.name}, 61") & 1)
    last = emit(f"trunc i128 {low.name} to i64")
    f1 = emit(f"call i64 @llvm.fshl.i64({high.typed}, {next_.typed}, i64 2)")
    f0 = emit(f"call i64 @llvm.fshl.i64({next_.typed}, {last.typed}, i64 2)")
    top, rest = w.to_real(f1 & -2048), w.to_real(f1 & 2047)
    below = w.emit(f"uitofp {f0.typed} to double", "double", 1)
    a, b = w.two_sum(top, w.fma(below, 2.0**-64, rest))
    a, b = a * 2.0**-64, b * 2.0**-64
    r = a * HALF_PI[0]
    low_part = w.fma(a, HALF_PI[0], -r) + w.fma(a, HALF_PI[1], b * HALF_PI[0])
    r, low_part = w.two_sum(r, low_part)
    return r, low_part, n


def far_sincos(w: IRWriter, x: Value) -> list[Value]:
    """Sine and cosine of a large angle."""
    return sincos_of_remainder(w, x, *_reduce_far(w, x))


def far_tan(w: IRWriter, x: Value) -> list[Value]:
    """Tangent of a large angle."""
    return [tan_of_remainder(w, x, *_reduce_far(w, x))]


# single precision

# π/2 in three parts of single precision; the first two have digits to spare for small multiples
_HALF_PI_SINGLE = (1.5707963705062866, -4.371139000186241e-08, -1.7151245100059144e-15)
_FAR_SINGLE = 50000.0
ROUND_SINGLE = 1.5 * 2.0**23
# sin r = r + r z P(z), cos r = 1 − z/2 + z² P(z) with z = r², |r| ≤ π/4
SIN_SINGLE = (-0.16666667, 0.008333313, -0.00019840087, 2.7183114e-06)
COS_SINGLE = (0.041666667, -0.0013888867, 2.4760495e-05)


def single_sincos(w: IRWriter, x: Value) -> list[Value]:
    """Sine and cosine in single precision; large angles are reduced as doubles are."""
    shifted = w.fma(x, 2.0 / math.pi, ROUND_SINGLE)
    n = shifted - ROUND_SINGLE
    r = x
    for part in _HALF_PI_SINGLE:
        r = w.fma(-n, part, r)
    z = r * r
    s = w.fma(w.polynomial(SIN_SINGLE, z), r * z, r)
    c = w.fma(w.polynomial(COS_SINGLE, z), z * z, w.fma(-0.5, z, 1.0))
    quadrant = w.emit(f"bitcast {shifted.typed} to i32", "i32", 1)
    quadrant = w.emit(f"sext {quadrant.typed} to i64", WHOLE, 1)
    is_odd = (quadrant & 1).equals(1)
    sin, cos = w.where(is_odd, c, s), w.where(is_odd, s, c)
    sin = w.where((quadrant & 2).equals(2), -sin, sin)
    cos = w.where(((quadrant + 1) & 2).equals(2), -cos, cos)
    is_far = (w.abs(x) > _FAR_SINGLE) & (w.abs(x) < math.inf)
    return w.replace_where(is_far, [sin, cos], "far_single", x)


_FAR_SINGLE_TEXT = """define internal { float, float } @far_single(float %a) nounwind noinline {
  %x = fpext float %a to double
  %both = call { double, double } @lanes_sincos(double %x)
  %s = extractvalue { double, double } %both, 0
  %c = extractvalue { double, double } %both, 1
  %s1 = fptrunc double %s to float
  %c1 = fptrunc double %c to float
  %r0 = insertvalue { float, float } poison, float %s1, 0
  %r1 = insertvalue { float, float } %r0, float %c1, 1
  ret { float, float } %r1
}"""


def _rounded(name: str, count: int) -> str:
    """Function of single precision that is that of doubles, rounded."""
    letters = "ab"[:count]
    listed = ", ".join(f"float %{letter}" for letter in letters)
    lines = [f"define internal float @single_{name}({listed}) nounwind {{"]
    lines += [f"  %{letter}d = fpext float %{letter} to double" for letter in letters]
    doubles = ", ".join(f"double %{letter}d" for letter in letters)
    lines.append(f"  %y = call double @lanes_{name}({doubles})")
    return "\n".join([*lines, "  %r = fptrunc double %y to float", "  ret float %r", "}"])


# functions that the C library has and vectors have not


def log1p(w: IRWriter, x: Value) -> list[Value]:
    """log(1 + x), with all its digits where x is small too."""
    u, low = w.two_sum(w.of(1.0, "double"), x)
    y = w.where(u.equals(0.0) | x.equals(math.inf), 0.0, low / u) + _log(w, u)
    return [w.copysign(w.where(x < -1.0, math.nan, y), x)]


def _log(w: IRWriter, x: Value) -> Value:
    return log(w, x)[0]


def asinh(w: IRWriter, x: Value) -> list[Value]:
    """Inverse hyperbolic sine."""
    size = w.abs(x)
    square = size * size
    near = log1p(w, size + square / (1.0 + w.sqrt(square + 1.0)))[0]
    far = _log(w, size) + math.log(2.0)
    return [w.copysign(w.where(size < 2.0**28, near, far), x)]


def acosh(w: IRWriter, x: Value) -> list[Value]:
    """Inverse hyperbolic cosine."""
    t = x - 1.0
    near = log1p(w, t + w.sqrt(w.fma(t, t, 2.0 * t)))[0]
    return [w.where(x > 2.0**28, _log(w, x) + math.log(2.0), w.where(x < 1.0, math.nan, near))]


def atanh(w: IRWriter, x: Value) -> list[Value]:
    """Inverse hyperbolic tangent."""
    size = w.abs(x)
    near = 0.5 * log1p(w, 2.0 * size / (1.0 - size))[0]
    return [w.copysign(w.where(size > 1.0, math.nan, near), x)]


def hypot(w: IRWriter, a: Value, b: Value) -> list[Value]:
    """√(a² + b²)."""
    a, b = w.abs(a), w.abs(b)
    largest = w.where(a > b, a, b)
    is_large, is_small = largest > 2.0**500, largest < 2.0**-500
    scale = w.where(is_large, 2.0**-600, w.where(is_small, w.of(2.0**600, "double"), 1.0))
    back = w.where(is_large, 2.0**600, w.where(is_small, w.of(2.0**-600, "double"), 1.0))
    x, y = a * scale, b * scale
    # the square of the rounded root, and what it misses
    square = x * x
    h = w.sqrt(w.fma(y, y, square))
    rest = (w.fma(y, y, square - h * h)) + (w.fma(x, x, -square) - w.fma(h, h, -(h * h)))
    h = w.where(h > 0.0, h + 0.5 * rest / h, h)
    is_infinite = a.equals(math.inf) | b.equals(math.inf)
    return [w.where(is_infinite, math.inf, h * back)]


# erf x = x P(x²) for x ≤ 1; 1 − exp(−x²) P(t)/(1 + 2 x) with t = (x − 3)/(x + 3) up to 6
_ERF = (
    *(1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984),
    *(0.0052239776254232985, -0.000854832702193483, 0.00012055332902888736),
    *(-1.4925647567519332e-05, 1.6462045441468418e-06, -1.6364642158167616e-07),
    *(1.4792401209404813e-08, -1.216456005728345e-09, 8.709045129053106e-11),
    -4.230945824295338e-12,
)
_ERFC = (
    *(1.2530080582697296, -0.1356211061245812, -0.04756229435345119, 0.12964515870276266),
    *(-0.11927366341527351, 0.06830802734391934, -0.023770514919698834, 0.0025293918168663664),
    *(0.0018886903751181476, -0.0007798322788983831, -0.00010515994944750866),
    *(0.00012509938862799439, 4.9505318228175264e-06, -2.0100463706730722e-05),
    *(-7.372708770837086e-07, 3.468253673748446e-06, 3.774009390756651e-07),
    *(-5.854536628482325e-07, -1.6754853170622603e-07, 1.985786487374618e-08),
)


def erf(w: IRWriter, x: Value) -> list[Value]:
    """Error function."""
    size = w.abs(x)
    z = size * size
    near = size * w.polynomial(_ERF, z)
    clamped = w.where(size > 6.0, 6.0, size)
    t = (clamped - 3.0) / (clamped + 3.0)
    tail = exp(w, -(clamped * clamped))[0] * w.polynomial(_ERFC, t) / w.fma(clamped, 2.0, 1.0)
    y = w.where(size < 1.0, near, 1.0 - tail)
    return [w.copysign(w.where(x.is_nan(), x, y), x)]


def pow_(w: IRWriter, x: Value, y: Value) -> list[Value]:
    """Power x^y: exp(y log|x|) with the logarithm in two parts."""
    size = w.abs(x)
    big, small = _log_in_parts(w, size)
    product = y * big
    low = w.fma(y, big, -product) + y * small
    low = w.where((low - low).equals(0.0), low, 0.0)
    value = _exp_of_parts(w, product, low)
    # odd powers of negative numbers are negative; others than whole ones are not defined
    floor = w.emit(f"call double @llvm.floor.f64({y.typed})", "double", 1)
    half = 0.5 * y
    half_floor = w.emit(f"call double @llvm.floor.f64({half.typed})", "double", 1)
    w.declared.add("declare double @llvm.floor.f64(double)")
    is_whole = floor.equals(y) | w.abs(y).equals(math.inf)
    is_odd = is_whole & ~half_floor.equals(half) & (w.abs(y) < 2.0**53)
    value = w.where(size.equals(0.0), w.where(y < 0.0, math.inf, w.of(0.0, "double")), value)
    grows = (size > 1.0) ^ (y < 0.0)
    limit = w.where(grows, math.inf, w.of(0.0, "double"))
    value = w.where(size.equals(math.inf), w.where(y < 0.0, 0.0, w.of(math.inf, "double")), value)
    value = w.where(w.abs(y).equals(math.inf), limit, value)
    is_negative = w.bits(x) < 0
    value = w.where(is_negative & is_odd, -value, value)
    is_lost = is_negative & ~is_whole & (size > 0.0) & (size < math.inf)
    value = w.where(is_lost, math.nan, value)
    value = w.where(x.is_nan() | y.is_nan(), math.nan, value)
    is_one = y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & w.abs(y).equals(math.inf))
    return [w.where(is_one, 1.0, value)]


def _log_in_parts(w: IRWriter, x: Value) -> tuple[Value, Value]:
    """Logarithm of a positive number in two parts; the error is below 2⁻⁶² of it."""
    is_tiny = x < 2.0**-1022
    scaled = w.where(is_tiny, x * 2.0**54, x)
    bits = w.bits(scaled)
    shift = (bits - 0x3FE6A09E667F3BCD) >> 52
    k = w.to_real(shift) - w.where(is_tiny, 54.0, w.of(0.0, "double"))
    f = w.from_bits(bits - (shift << 52)) - 1.0
    # log(1 + f) = 2 s + s z (2/3 + z Q) with s = f/(2 + f), the first two terms in two parts
    total, total_low = w.two_sum(f, w.of(2.0, "double"))
    s, s_low = divide(w, f, 0.0 * f, total, total_low)
    z = s * s
    z_low = w.fma(s, s, -z) + 2.0 * (s * s_low)
    cube = s * z
    cube_low = w.fma(s, z, -cube) + w.fma(s, z_low, s_low * z)
    third = 2.0 / 3.0
    third_low = 3.700743415417188e-17
    term = cube * third
    term_low = w.fma(cube, third, -term) + w.fma(cube, third_low, cube_low * third)
    tail = cube * (z * w.polynomial(LOG[1:], z))
    big, low = w.two_sum(2.0 * s, term)
    low = low + (2.0 * s_low + (term_low + tail))
    first = k * LOG_2[0]
    head, rest = w.two_sum(first, big)
    rest = rest + w.fma(k, LOG_2[1], low)
    return w.two_sum(head, rest)


def _exp_of_parts(w: IRWriter, big: Value, small: Value) -> Value:
    """exp(big + small), the second below the last place of the first."""
    value = exp(w, big)[0]
    corrected = w.fma(value, small, value)
    return w.where((value < math.inf) & (w.abs(small) < 1.0), corrected, value)


#: A card's own reciprocals, of the first digits: of doubles and of single precision.
RECIPROCALS: dict[str, str] = {
    REAL: "llvm.nvvm.rcp.approx.ftz.d",
    SINGLE: "llvm.nvvm.rcp.approx.ftz.f",
}


def quotient(w: IRWriter, a: Value, b: Value) -> list[Value]:
    """a/b as a (1/b), below 2 ulp: quotients by the same number share its reciprocal.

    A card's own quotient takes five times the instructions, and branches. The first digits of the
    reciprocal, r, are improved by r (1 + e + e²) with e = 1 − b r; those of single precision are
    all that it has. Where b is zero, infinite or not a number, r is right as it is: whether it is
    so is read from the bits of b, so that the unit for doubles, which is the one that is short, has
    nothing to do with it.
    """
    name = RECIPROCALS[a.kind]
    w.declared.add(f"declare {a.kind} @{name}({a.kind})")
    r = w.call(name, b)
    if a.kind == REAL:
        e = w.fma(-b, r, 1.0)
        improved = w.fma(r, w.fma(e, e, e), r)
        half = w.emit(f"lshr {w.bits(b).typed}, 32", WHOLE)
        high = w.emit(f"trunc {half.typed} to i32", "i32")
        size = w.emit(f"and {high.typed}, {0x7FF00000}", "i32")
        above = w.emit(f"add {size.typed}, {-0x00100000}", "i32")
        is_normal = w.emit(f"icmp ult {above.typed}, {0x7FE00000}", TRUTH)
        r = w.where(is_normal, improved, r)
    return [a * r]


_FMOD = """define internal double @lanes_fmod(double %a, double %b) nounwind noinline {
start:
  %x = call double @llvm.fabs.f64(double %a)
  %y = call double @llvm.fabs.f64(double %b)
  %defined = fcmp one double %y, 0.0
  %finite = fcmp olt double %x, INFINITY
  %known = fcmp uno double %y, %y
  %some = and i1 %defined, %finite
  %nan = xor i1 %known, true
  %can = and i1 %some, %nan
  br i1 %can, label %loop, label %undefined
loop:
  %r = phi double [ %x, %start ], [ %next, %reduce ]
  %less = fcmp olt double %r, %y
  br i1 %less, label %done, label %reduce
reduce:
  %re = call i64 @fmod_exponent(double %r)
  %ye = call i64 @fmod_exponent(double %y)
  %gap = sub i64 %re, %ye
  %short = sub i64 %gap, 50
  %positive = icmp sgt i64 %short, 0
  %k = select i1 %positive, i64 %short, i64 0
  %k1 = ashr i64 %k, 1
  %k2 = sub i64 %k, %k1
  %e1 = add i64 %k1, 1023
  %b1 = shl i64 %e1, 52
  %scale1 = bitcast i64 %b1 to double
  %e2 = add i64 %k2, 1023
  %b2 = shl i64 %e2, 52
  %scale2 = bitcast i64 %b2 to double
  %s1 = fmul double %y, %scale1
  %s = fmul double %s1, %scale2
  %q0 = fdiv double %r, %s
  %q = call double @llvm.floor.f64(double %q0)
  %minus = fneg double %q
  %rest = call double @llvm.fma.f64(double %minus, double %s, double %r)
  %below = fcmp olt double %rest, 0.0
  %up = fadd double %rest, %s
  %rest1 = select i1 %below, double %up, double %rest
  %above = fcmp oge double %rest1, %s
  %down = fsub double %rest1, %s
  %next = select i1 %above, double %down, double %rest1
  br label %loop
done:
  %signed = call double @llvm.copysign.f64(double %r, double %a)
  ret double %signed
undefined:
  ret double NAN
}
define internal i64 @fmod_exponent(double %x) nounwind {
  %b = bitcast double %x to i64
  %e = lshr i64 %b, 52
  %small = icmp eq i64 %e, 0
  %y = fmul double %x, SCALE
  %c = bitcast double %y to i64
  %f = lshr i64 %c, 52
  %g = sub i64 %f, 64
  %r = select i1 %small, i64 %g, i64 %e
  ret i64 %r
}"""
_REMAINDER = """define internal double @lanes_remainder(double %a, double %b) nounwind noinline {
  %y = call double @llvm.fabs.f64(double %b)
  %huge = fcmp oge double %y, HUGE
  %twice = fadd double %y, %y
  %m = call double @lanes_fmod(double %a, double %twice)
  %undefined = fcmp uno double %m, %m
  %finite = fcmp olt double %y, INFINITY
  %whole0 = select i1 %huge, double %a, double %m
  %whole = select i1 %finite, double %whole0, double %m
  %x = call double @llvm.fabs.f64(double %whole)
  %rest = fsub double %y, %x
  %over = fcmp ogt double %x, %rest
  %x1a = fsub double %x, %y
  %x1 = select i1 %over, double %x1a, double %x
  %rest1 = fsub double %y, %x1
  %again = fcmp oge double %x1, %rest1
  %twice_over = and i1 %over, %again
  %x2a = fsub double %x1, %y
  %x2 = select i1 %twice_over, double %x2a, double %x1
  %one = call double @llvm.copysign.f64(double 1.0, double %a)
  %r = fmul double %x2, %one
  ret double %r
}"""
_DECLARED = (
    *(f"declare double @llvm.{word}.f64(double)" for word in ("fabs", "floor")),
    "declare double @llvm.copysign.f64(double, double)",
    "declare double @llvm.fma.f64(double, double, double)",
)
_LOOPS = {"fmod": (_FMOD,), "remainder": (_FMOD, _REMAINDER)}

#: How functions are computed that neither LLVM nor vectors have, and of how many numbers.
OTHERS = {
    **{"log1p": (log1p, 1), "asinh": (asinh, 1), "acosh": (acosh, 1), "atanh": (atanh, 1)},
    **{"hypot": (hypot, 2), "erf": (erf, 1), "pow": (pow_, 2)},
}
_FAR = {"sincos": far_sincos, "tan": far_tan}


def device_functions(
    names: Iterable[str], *, is_single: bool, is_inline: bool, declared: Iterable[str] = ()
) -> list[str]:
    """LLVM text of functions ``lanes_<name>``, and ``single_<name>`` of single precision.

    Parameters
    ----------
    names : names of operations; sine and cosine together are ``sincos``. ``div`` makes
        ``quotient``, and with single precision ``quotient_of_times`` of doubles too.
    is_inline : whether their code is written into that of their callers.
    declared : further declarations of the caller; each line is written once.
    """
    names, lines = sorted(set(names)), set(declared)
    text: list[str] = []

    def add(symbol: str, body: Any, count: int, kind: str, is_inline: bool) -> None:
        writer = IRWriter(1)
        arguments = [writer.argument(letter, kind) for letter in "ab"[:count]]
        results = body(writer, *arguments)
        text.append(writer.function(symbol, arguments, results, is_inline))
        lines.update(writer.declared)

    if "div" in names:
        names.remove("div")
        add("quotient", quotient, 2, SINGLE if is_single else REAL, True)
        if is_single:
            add("quotient_of_times", quotient, 2, REAL, True)
    for name in names:
        if name in _LOOPS:
            continue
        body, count = BODIES[name] if name in BODIES else OTHERS[name]
        add(f"lanes_{name}", body, count, REAL, is_inline and not is_single)
        if name in _FAR:
            add(f"far_{name}", _FAR[name], 1, REAL, False)
    if any(name in _FAR for name in names):
        text.append(_table())
    loops = dict.fromkeys(part for name in names for part in _LOOPS.get(name, ()))
    bounds = {"INFINITY": math.inf, "NAN": math.nan, "HUGE": 2.0**1023, "SCALE": 2.0**64}
    for part in loops:
        for word, number in bounds.items():
            part = part.replace(f" {word}", f" {literal(number)}")
        text.append(part)
        lines.update(_DECLARED)
    if is_single:
        for name in names:
            if name == "sincos":
                add("single_sincos", single_sincos, 1, SINGLE, is_inline)
                text.append(_FAR_SINGLE_TEXT)
            else:
                count = 2 if name in _LOOPS else (BODIES.get(name) or OTHERS[name])[1]
                text.append(_rounded(name, count))
    return [*text, *sorted(lines)]
