"""Numbers with units for people; the number itself, to the last digit, stays in the markup."""

from __future__ import annotations

import math

from noslip.show.plots.units import raised, unit_text
from noslip.show.report.elements import Html, text


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many digits: −0.125, 3.6 × 10⁻¹³."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    shown = mantissa.replace("-", "−")
    return f"{shown} × 10{raised(int(exponent))}" if exponent else shown


def number(value: float, digits: int = 6) -> Html:
    """A number to read, which carries all its digits for programs."""
    value = float(value)
    if not math.isfinite(value):
        return text(number_text(value))
    return Html(f'<data value="{value!r}">{number_text(value, digits)}</data>')


def unit(name: str) -> Html:
    """A unit of a model as it is printed: kg·m², nothing for a pure number."""
    return text(unit_text(name))


def quantity(value: float, name: str, digits: int = 6) -> Html:
    """A number and its unit, kept on one line."""
    after = unit(name)
    return Html(f"{number(value, digits)}{chr(0xA0)}{after}") if after else number(value, digits)
