"""What the functions share: constants in parts, and a quotient in two parts."""

from __future__ import annotations

from noslip.engines.ir_writer import Value, Writer

# π/2 in three parts: each is the double nearest to what the ones before it leave.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# Added to a number below 2⁵¹, this leaves the nearest whole number in the last bits.
ROUND = 1.5 * 2.0**52
SIGN_BIT = -(2**63)


def divide(w: Writer, a: Value, a_low: Value, b: Value, b_low: Value) -> tuple[Value, Value]:
    """Quotient (a + a_low)/(b + b_low) in two parts, by one division."""
    inverse = 1.0 / b
    q = a * inverse
    rest = w.fma(-q, b, a) + w.fma(-q, b_low, a_low)
    return q, rest * inverse
