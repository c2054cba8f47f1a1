"""Numbers and units for people; the number itself, to the last digit, stays in the markup."""

from __future__ import annotations

import math
import re

from noslip.show.report.elements import Html, text

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def unit_text(unit: str) -> str:
    """``kg*m^2`` as kg·m²; nothing for a pure number."""
    if unit == "1":
        return ""
    raised = re.sub(r"\^(-?\d+)", lambda found: found[1].translate(_RAISED), unit)
    return raised.replace("*", "·")


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many digits: −0.125, 3.6 × 10⁻¹³."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    shown = mantissa.replace("-", "−")
    if exponent:
        shown += f" × 10{str(int(exponent)).translate(_RAISED)}"
    return shown


def number(value: float, digits: int = 6) -> Html:
    """A number to read, which carries all its digits for programs."""
    value = float(value)
    if not math.isfinite(value):
        return text(number_text(value))
    return Html(f'<data value="{value!r}">{number_text(value, digits)}</data>')


def quantity(value: float, unit: str, digits: int = 6) -> Html:
    """A number and its unit, kept on one line."""
    name = unit_text(unit)
    return (
        Html(f"{number(value, digits)}\N{NO-BREAK SPACE}{text(name)}")
        if name
        else number(value, digits)
    )
