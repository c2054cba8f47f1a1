"""Linear equations about straight running, in the letters of the model."""

import numpy as np
import pytest
import sympy

import noslip as ns
from noslip.show.equations.layout import to_text
from noslip.show.equations.small_motions import linear_equations
from oracles.whipple import canonical_matrices


def lines_of(found, title):
    """Equations of a section as text."""
    (section,) = (s for s in found.sections if s.title == title)
    lines = [line for block in section.blocks for line in getattr(block, "lines", ())]
    return [f"{to_text(x.left)} = {to_text(x.right)}" for x in lines]


@pytest.fixture(scope="module")
def bicycle():
    return linear_equations(ns.derive(ns.load("whipple-bicycle")), "speed")


def test_the_bicycle_has_the_published_linear_equations(bicycle):
    """Coefficients of [MeijaardPapadopoulosRuinaSchwab2007, section 5(c)], to six digits."""
    lean, steer = lines_of(bicycle, "In numbers")
    assert lean == (
        "80.8172 φ̈ + 2.31941 δ̈ + 33.8664 v δ̇ − 80.95 g φ − 2.59952 g δ + 76.5973 v² δ = T_φ"
    )
    assert steer == (
        "2.31941 φ̈ + 0.297842 δ̈ − 0.850356 v φ̇ + 1.6854 v δ̇ − 2.59952 g φ − 0.803295 g δ "
        "+ 2.65432 v² δ = T_δ"
    )


def test_the_coefficients_of_the_bicycle_are_those_of_the_paper_for_all_parameters(bicycle, rng):
    """Against [MeijaardPapadopoulosRuinaSchwab2007, appendix A], written out by hand."""
    model = ns.load("whipple-bicycle")
    for _ in range(3):
        values = {n: x * rng.uniform(0.8, 1.2) for n, x in model.parameter_values().items()}
        numbers = {bicycle.symbols[n]: x for n, x in values.items()}
        expected = dict(zip(("M", "C1", "K0", "K2"), canonical_matrices(values), strict=True))
        for name, matrix in expected.items():
            found = np.array(bicycle.coefficients[name].subs(numbers), dtype=float)
            assert found == pytest.approx(matrix, rel=1e-12, abs=1e-12), name
    assert bicycle.coefficients["F"] == sympy.eye(2)


def test_coefficients_are_introduced_before_the_rows_that_use_them(bicycle):
    titles = [s.title for s in bicycle.sections]
    assert titles.index("Coefficients") < titles.index("Linear equations")
    lean, steer, driven = lines_of(bicycle, "Linear equations")
    assert lean.startswith(
        "M11 φ̈ + M12 δ̈ + v C_1,12 δ̇ + g (m_B z_B + m_H z_H − m_F r_F − m_R r_R) φ"
    )
    assert steer.endswith("+ g K_0,12 φ + g K_0,22 δ + v² K_2,22 δ = T_δ")
    assert driven.endswith("= T_θ/r_R")
    assert "agree" in "".join(bicycle.sections[-1].blocks[0].parts)


def test_the_disk_rolls_straight_by_the_textbook():
    """The three equations of the disk to first order about θ = π/2, φ̇ constant."""
    found = linear_equations(ns.derive(ns.load("rolling-disk")), "disk.spin_rate")
    assert lines_of(found, "Linear equations") == [
        "I_t ψ̈ − I_a φ̇ θ̇ = 0",
        "(I_t + m r²) θ̈ + φ̇ (I_a + m r²) ψ̇ − m r g θ = 0",
    ]
    said = "".join(
        x if isinstance(x, str) else to_text(x) for x in found.sections[0].blocks[0].parts
    )
    assert "θ is counted from π/2. To first order φ̇ stays what it is." in said


def test_speeds_may_be_chosen_and_coordinates_may_have_rates_of_their_own():
    """The vehicle with a caster: its angle follows at v/d, as [SahaAngeles1989 (26)] says."""
    speeds = ("v = -r*(wheel1.rate + wheel2.rate)/2", "w = r*(wheel1.rate - wheel2.rate)/l")
    found = linear_equations(ns.derive(ns.load("agv")), "v", speeds=speeds)
    *_, caster, driven = lines_of(found, "Linear equations")
    assert caster == "ψ̇ = −v ψ/d + (a + b − d) w/d"
    assert driven == "(3 I_a + r² (m_p + 3 m_w)) v̇/r² = −τ1/r − τ2/r"


def test_what_is_no_polynomial_of_the_speed_is_printed_whole():
    """Tires: their slip has the speed below it."""
    speeds = ("front.vx", "front.vy", "front.rate", "waist.rate")
    found = linear_equations(ns.derive(ns.load("lhd")), "front.vx", speeds=speeds)
    assert set(found.coefficients) == {"M", "D", "K", "F̂"}
    assert not [s for s in found.sections if s.title == "In numbers"]


def test_gravity_in_numbers_is_part_of_the_stiffness():
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -10.0))
    b.parameter("m", 2.0, "kg")
    b.parameter("l", 0.5, "m")
    b.body("cart", mass="m", moment=0.0)
    b.body("bob", mass="m", inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, "-l"))
    x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    b.joint("cart", ns.joints.Prismatic(axis=x), parent="world", child="cart")
    b.joint("bob", ns.joints.Revolute(axis=y), parent="cart", child="bob")
    found = linear_equations(ns.derive(b.build()), "cart.speed")
    assert found.coefficients["K_c"][-1] == 10 * sympy.prod(found.symbols[n] for n in ("m", "l"))


@pytest.mark.parametrize(
    ("name", "speed", "options", "what", "fix"),
    [
        ("whipple-bicycle", "sped", {}, "no independent speed 'sped'", "did you mean 'speed'"),
        ("rolling-disk", "disk.wz", {}, "no independent speed 'disk.wz'", "--speeds"),
        ("tricycle", "v", {}, "is not a steady motion: the motion is not steady", "level ground"),
        ("manipulator-2r", "joint1.rate", {}, "is not a steady motion", "noslip linearize"),
        ("rolling-disk", "disk.wz", {"coordinates": "quaternion"}, "in angles", "leave out"),
        ("rolling-disk", "w", {"speeds": ("nosuch",)}, "no speed 'nosuch'", "disk"),
    ],
)  # fmt: skip
def test_what_has_no_linear_equations_is_told(refuses, name, speed, options, what, fix):
    with refuses(ns.SimulationError, what, f"'{name}'", fix):
        linear_equations(ns.derive(ns.load(name)), speed, **options)
