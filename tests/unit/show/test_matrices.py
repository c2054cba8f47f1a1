"""The objects of the methods for people: symbols that mean the numbers, in every format."""

import numpy as np
import pytest
import sympy
from sled_with_rotor import METHODS

import noslip as ns

FORMATS = ("text", "latex", "html", "markdown")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["sled-with-rotor", "rolling-disk"])
def test_all_objects_of_every_method_are_printed_in_symbols(name, method):
    found = ns.matrices(ns.load(name), method)
    text = found.text()
    shown = [n for n, o in found.objects.items() if not o.is_part and o.value.numel()]
    assert all(f"\n{n}\n{'-' * len(n)}\n" in text for n in shown)
    for format in FORMATS if name == "sled-with-rotor" else ():
        assert found.text(format)


SHORT = {
    "complement": ("T", "T_dot", "I", "C", "gamma", "theta_ddot"),
    "desantis": ("J", "J_dot", "D", "C", "C_skew", "g_0", "g_wa"),
    "boltzmann-hamel": ("Gamma", "P", "M", "h", "N"),
}


@pytest.mark.parametrize("method", SHORT)
def test_symbols_in_angles_mean_the_numbers_of_quaternions(method):
    """The disk: all objects but those by rows of coordinates, of which quaternions have four."""
    state = {"disk.yaw": 0.4, "disk.tilt": 1.2, "disk.spin": 0.3}
    speeds = {"disk.wx": 0.7, "disk.wy": -0.4, "disk.wz": 2.0}
    found = ns.matrices(ns.load("rolling-disk"), method, state=state | speeds)
    values = found.equations.model.parameter_values() | state | speeds
    numbers = {s: values[n] for n, s in found.symbols.items() if n in values}
    for name in SHORT[method]:
        whole = found.to_sympy(name)
        value = np.array(sympy.lambdify(list(numbers), whole)(*numbers.values()), dtype=float)
        expected = found[name].reshape(whole.shape)
        assert value == pytest.approx(expected, abs=1e-12 * max(1, np.abs(expected).max())), name
    assert "q_w" not in found.text(symbolic=True, only=SHORT[method])


def test_quaternions_are_printed_where_they_are_asked_for():
    found = ns.matrices(ns.load("rolling-disk"), coordinates="quaternion")
    text = found.text(only=["gamma"])
    assert "cos(θ)" not in text and "q_w" in text


def test_hamels_terms_of_a_body_are_its_turning():
    """[CameronBook1993 (74)–(76)]: Γ P = ω × P, whatever the coordinates."""
    found = ns.matrices(ns.load("heavy-body"), "boltzmann-hamel")
    x, y, z = (found.symbols[f"pivot.w{k}"] for k in "xyz")
    assert found.to_sympy("Gamma") == sympy.Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def test_a_letter_of_the_method_that_the_model_uses_has_a_hat_with_its_dots_too():
    """A parameter T: the complement is T̂, its rate has hat and dot, and so have its entries."""
    b = ns.ModelBuilder(name="hats", gravity=(0.0, 0.0, 0.0))
    b.parameter("T", 2.0, "kg")
    b.parameter("l", 0.3, "m")
    b.body("arm", mass="T", moment=1.0, center_of_mass=("l", "l", 0.0))
    b.joint("arm", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="arm")
    built = b.build()
    found = ns.matrices(built)
    for name, glyph in (("T", "Tˆ = "), ("T_dot", "Tˆ˙ = ")):
        assert f"  {glyph}" in found.text(only=[name])
        assert f"  {glyph}" in ns.matrices(built, state={}).text(only=[name]) or name == "T_dot"
    assert r"\dot{\hat{T}}" in found.text("latex", only=["T_dot"])


def test_a_wide_matrix_is_listed_by_the_names_of_rows_and_columns():
    found = ns.matrices(ns.load("agv"))
    text = found.text(only=["A"])
    row = "contact wheel1 1   wheel1.wy: −r;  wheel1.vx: 1"
    assert "A row by row, without zeros:" in text and row in text
    latex = found.text("latex", only=["A"])
    assert r"\item[$\mbox{contact wheel1 1}$] $\mbox{wheel1.wy}$:~$- r$;" in latex
    assert 'class="listed"' in found.text("html", only=["A"])
    assert r"| $\mbox{contact wheel1 1}$ | $\mbox{wheel1.wy}$: $- r$;" in found.text(
        "markdown", only=["A"]
    )


def test_long_entries_of_a_narrow_matrix_are_written_below_it():
    text = ns.matrices(ns.load("rolling-disk")).text(only=["T"])
    assert "row by row" not in text
    assert "T12 = −cos(ψ) sin(φ) − cos(θ) cos(φ) sin(ψ)" in text


def test_entries_are_introduced_below_their_matrix():
    text = ns.matrices(ns.load("tractor-trailer"), "desantis").text(only=["J_nh", "J", "C_1"])
    for line in ("J_nh,31 = tan(δ)/l1", "J_18,1 = J_nh,31 + J_nh,51"):
        assert f"  {line}\n" in text
    assert text.index("J_nh,31 = tan") < text.index("J_18,1 = ") < text.index("C1 = ")
