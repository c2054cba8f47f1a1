"""Remainder of very large angles by π/2, as LLVM text, with all the digits of 2/π it takes.

An angle x = m 2ᵉ, m a whole number of 53 bits, is m 2ᵉ (2/π) quarter turns. Whole turns do not
matter, so of 2/π only those bits are taken that meet the last two places before the point and 254
behind it; their product with m, in whole numbers of 256 bits whose overflow drops whole turns, is
the quarter turn n and a fraction with more than 190 bits right. No double comes closer to
a multiple of π/2 than 2⁻⁶² of it.

References
----------
[PayneHanek1983], without equation numbers.
"""

from __future__ import annotations

from noslip.engines.lanes import literal, vector_type

# π/2 in three parts: each is the double nearest to what the ones before it leave.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# 2/π = TWO_OVER_PI 2^-1280, cut off; the tests compute it.
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09"
    "d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff8"
    "97ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292"
    "ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)

_BODY = """define internal {{ double, double, i64 }} @far_angle(double %x) nounwind noinline {{
  %bits = bitcast double %x to i64
  %biased = lshr i64 %bits, 52
  %tail = and i64 %bits, 4503599627370495
  %m64 = or i64 %tail, 4503599627370496
  %m = zext i64 %m64 to i256
  ; x = m 2^(biased - 1075); keep 2/pi from 2^(1 - e) down to 2^(-254 - e)
  %count = sub i64 2101, %biased
  %shift = zext i64 %count to i1280
  %shifted = lshr i1280 {two_over_pi}, %shift
  %window = trunc i1280 %shifted to i256
  %product = mul i256 %m, %window
  ; nearest whole number n, and the signed rest
  %raised = add i256 %product, {half}
  %whole = lshr i256 %raised, 254
  %n = trunc i256 %whole to i64
  %back = shl i256 %whole, 254
  %rest = sub i256 %product, %back
  %is_below = icmp slt i256 %rest, 0
  %opposite = sub i256 0, %rest
  %size = select i1 %is_below, i256 %opposite, i256 %rest
  ; its 106 leading bits as two doubles
  %zeros = call i256 @llvm.ctlz.i256(i256 %size, i1 false)
  %normal = shl i256 %size, %zeros
  %top = lshr i256 %normal, 203
  %top64 = trunc i256 %top to i64
  %next = lshr i256 %normal, 150
  %next64 = trunc i256 %next to i64
  %next53 = and i64 %next64, 9007199254740991
  %a = uitofp i64 %top64 to double
  %b = uitofp i64 %next53 to double
  %zeros64 = trunc i256 %zeros to i64
  %exponent = sub i64 972, %zeros64
  %scale_bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale_bits to double
  %high = fmul double %a, %scale
  %b_scaled = fmul double %b, %scale
  %low = fmul double %b_scaled, {ulp}
  ; times pi/2
  %r = fmul double %high, {half_pi}
  %negative = fneg double %r
  %error = call double @llvm.fma.f64(double %high, double {half_pi}, double %negative)
  %more = call double @llvm.fma.f64(double %high, double {half_pi_low}, double %error)
  %r_low = call double @llvm.fma.f64(double %low, double {half_pi}, double %more)
  %minus_r = fneg double %r
  %minus_low = fneg double %r_low
  %r_signed = select i1 %is_below, double %minus_r, double %r
  %low_signed = select i1 %is_below, double %minus_low, double %r_low
  %first = insertvalue {{ double, double, i64 }} poison, double %r_signed, 0
  %second = insertvalue {{ double, double, i64 }} %first, double %low_signed, 1
  %third = insertvalue {{ double, double, i64 }} %second, i64 %n, 2
  ret {{ double, double, i64 }} %third
}}"""


def far_remainder(lanes: int) -> list[str]:
    """Function ``far_remainder`` of a vector x ≥ 1: remainder in two parts, and n mod 4."""
    words = {"ulp": literal(2.0**-53), "half_pi": literal(HALF_PI[0])}
    words["half_pi_low"] = literal(HALF_PI[1])
    real, whole = vector_type(lanes), vector_type(lanes, "i64")
    one, returned = "{ double, double, i64 }", f"{{ {real}, {real}, {whole} }}"
    lines = [f"define internal {returned} @far_remainder({real} %x) nounwind noinline {{"]
    vectors = {"r": (real, "double"), "low": (real, "double"), "n": (whole, "i64")}
    last = dict.fromkeys(vectors, "poison")
    for k in range(lanes):
        lines.append(f"  %x{k} = extractelement {real} %x, i64 {k}")
        lines.append(f"  %y{k} = call {one} @far_angle(double %x{k})")
        for part, (name, (vector, kind)) in enumerate(vectors.items()):
            lines.append(f"  %{name}_{k} = extractvalue {one} %y{k}, {part}")
            line = f"insertelement {vector} {last[name]}, {kind} %{name}_{k}, i64 {k}"
            lines.append(f"  %{name}{k} = {line}")
            last[name] = f"%{name}{k}"
    value = "poison"
    for part, (name, (vector, _)) in enumerate(vectors.items()):
        lines.append(
            f"  %all{part} = insertvalue {returned} {value}, {vector} {last[name]}, {part}"
        )
        value = f"%all{part}"
    return [
        _BODY.format(two_over_pi=TWO_OVER_PI, half=2**253, **words),
        *lines,
        f"  ret {returned} {value}\n}}",
        "declare i256 @llvm.ctlz.i256(i256, i1)",
        "declare double @llvm.fma.f64(double, double, double)",
    ]
