"""Units: what is read, what is refused, and what dimension it has."""

import math

import pytest

from noslip.expressions import UnitError, read_unit, unit_text
from noslip.expressions.arithmetic import UNITS

#: What each derived unit is in base units, by its definition in SI.
DEFINITIONS = {
    "Hz": "1/s",
    "N": "kg*m/s^2",
    "Pa": "N/m^2",
    "J": "N*m",
    "W": "J/s",
    "C": "A*s",
    "V": "W/A",
    "ohm": "V/A",
    "rad": "m/m",
}


@pytest.mark.parametrize(
    ("text", "base"),
    [
        *DEFINITIONS.items(),
        ("1", "1"),
        ("kg*m^2", "kg*m**2"),
        ("N*m/(rad/s)", "kg*m^2/s"),
        ("N*m*s/rad", "kg*m^2*s^-1"),
        ("m/s^2", "m/s/s"),
        ("rad/s^2", "1/s^2"),
        ("m^(1/2)", "m^0.5"),
        (" N / m ", "kg/s^2"),
    ],
)
def test_units_that_are_read(text, base):
    assert read_unit(text) == read_unit(base)


def test_every_unit_is_defined_by_others():
    assert set(UNITS) == {"kg", "m", "s", "A", "K", *DEFINITIONS}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("N*m/(rad/s)", "kg*m^2/s"),
        ("rad", "1"),
        ("Hz", "1/s"),
        ("V", "kg*m^2/(s^3*A)"),
        ("m^0.5", "m^0.5"),
    ],
)
def test_a_dimension_in_base_units(text, shown):
    assert unit_text(read_unit(text)) == shown
    assert read_unit(shown) == read_unit(text)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("", "is empty", '"1" for a dimensionless number'),
        ("  ", "is empty", '"1" for a dimensionless number'),
        ("kgg", "'kgg' is not a known unit", "did you mean 'kg'?"),
        ("n*m", "'n'", "did you mean 'N'?"),
        ("furlong", "'furlong' is not a known unit", "known are kg, m, s,"),
        ("deg", "'deg'", "write rad, of which 1 deg is 0.0174532925"),
        ("km/h", "'km'", "write m, of which 1 km is 1000"),
        ("rpm", "'rpm'", "rad/s, of which 1 rpm is 0.104719755"),
        ("Nm", "'Nm'", "write N*m"),
        ("kg m^2", "cannot be read", 'write unit = "kg*m^2"'),
        ("kg·m²", "cannot be read", 'write unit = "kg*m^2"'),
        ("N m / rad", "cannot be read", 'write unit = "N*m / rad"'),
        ("m/", "cannot be read", "with * / ^ and parentheses"),
        ("°", "cannot be read", "with * / ^ and parentheses"),
        ("1000*m", "contains a number", "into the value"),
        ("9.81", "is a number", "into the value"),
        ("1/0", "is a number", "into the value"),
        ("m + s", "is not a product of powers", "kg*m^2"),
        ("sin(m)", "is not a product of powers", "kg*m^2"),
        ("m^s", "is not a product of powers", "kg*m^2"),
        ("-m", "is not a product of powers", "kg*m^2"),
        ("m*" * 2000, "cannot be read: it has 4000 characters", "write for example"),
    ],
)
def test_units_that_are_refused(text, what, fix):
    with pytest.raises(UnitError) as caught:
        read_unit(text)
    assert what in str(caught.value) and fix in caught.value.fix


def test_factors_of_units_that_are_not_known():
    """The numbers in the advice, by the definitions of minute, degree, inch and pound."""
    advice = {}
    for word in ("deg", "rpm", "ft", "lb", "h"):
        with pytest.raises(UnitError) as caught:
            read_unit(word)
        advice[word] = float(caught.value.fix.rpartition(" ")[2])
    expected = {
        "deg": math.pi / 180,
        "rpm": 2 * math.pi / 60,
        "ft": 12 * 0.0254,
        "lb": 0.45359237,
        "h": 60 * 60,
    }
    assert advice == pytest.approx(expected, rel=1e-8)
