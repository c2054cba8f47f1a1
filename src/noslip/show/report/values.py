"""Numbers with units for people; the number itself, to the last digit, stays in the markup."""

from __future__ import annotations

import math
import re

from noslip.show.plots.units import raised, unit_text
from noslip.show.report.elements import Html, text

#: Before an exponent; it is never at the end of a line.
SPACE = "\N{NO-BREAK SPACE}"
POWER = f"{SPACE}×{SPACE}10"


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many digits: −0.125, 3.6 × 10⁻¹³."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value + 0.0:.{digits}g}".partition("e")
    shown = mantissa.replace("-", "−")
    return f"{shown}{POWER}{raised(int(exponent))}" if exponent else shown


def number(value: float, digits: int = 6) -> Html:
    """A number to read, which carries all its digits for programs."""
    value = float(value)
    if not math.isfinite(value):
        return text(number_text(value))
    return Html(f'<data value="{value!r}">{number_text(value, digits)}</data>')


def words(sentence: str) -> Html:
    """A sentence whose numbers are written as people write them: 1e-09 as 1 × 10⁻⁹."""
    return text(re.sub(r"(\d)e([-+]\d+)", _power, sentence))


def _power(found: re.Match[str]) -> str:
    return f"{found[1]}{POWER}{raised(int(found[2]))}"


def unit(name: str) -> Html:
    """A unit of a model as it is printed: kg·m², nothing for a pure number."""
    return text(unit_text(name))


def quantity(value: float, name: str, digits: int = 6) -> Html:
    """A number and its unit, kept on one line."""
    after = unit(name)
    return Html(f"{number(value, digits)}{SPACE}{after}") if after else number(value, digits)
