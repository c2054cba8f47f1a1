"""Linear equations about straight running, in the letters of the model."""

import pytest

import noslip as ns
from noslip.show.equations.linear import linear_sections
from noslip.show.equations.typeset import to_text


def test_the_bicycle_has_the_published_linear_equations():
    """Coefficients of [MeijaardPapadopoulosRuinaSchwab2007, section 5(c)], to six digits."""
    (section,) = linear_sections(ns.derive(ns.load("whipple-bicycle")), "speed")
    lines = section.blocks[1].lines
    lean, steer = (f"{to_text(x.left)} = {to_text(x.right)}" for x in lines)
    assert lean == (
        "80.8172 φ̈ + 2.31941 δ̈ + 33.8664 δ̇ v − 80.95 g φ − 2.59952 g δ + 76.5973 δ v² = T_φ"
    )
    assert steer == (
        "2.31941 φ̈ + 0.297842 δ̈ − 0.850356 φ̇ v + 1.6854 δ̇ v − 2.59952 g φ − 0.803295 g δ "
        "+ 2.65432 δ v² = T_δ"
    )


def test_a_gravity_in_numbers_is_told():
    b = ns.ModelBuilder(name="heavy", gravity=(0.0, 0.0, -9.81))
    b.body("sled", mass=1.0, moment=0.5)
    b.joint("sled", ns.Planar(), parent="world", child="sled")
    with pytest.raises(ns.SimulationError, match="not one parameter") as caught:
        linear_sections(ns.derive(b.build()), "sled.vx")
    assert "gravity = " in caught.value.fix
