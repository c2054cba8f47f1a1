"""Arranged mathematics in text, LaTeX and MathML."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
import sympy

from noslip.show.equations.documents import broken, broken_math
from noslip.show.equations.layout import (
    Glyph,
    MathNumber,
    MathRow,
    Operator,
    formula,
    points,
    to_latex,
    to_mathml,
    to_text,
)
from noslip.show.equations.writing import Arranger

x, y, m, v = sympy.symbols("x y m v", real=True)
RANKS = {m: (0, 0), x: (3, 0), y: (3, 1), v: (4, 0)}
ARRANGE = Arranger({}, RANKS)

CASES = [
    (m * v**2 / 2, "m v²/2", r"\frac{m {v}^{2}}{2}"),
    (x - y, "x − y", "x - y"),
    (-x - y, "−x − y", "- x - y"),
    (y - x, "y − x", "y - x"),
    (m * (x + y) * v, "m (x + y) v", r"m \left(x + y\right) v"),
    (sympy.sin(x) ** 2, "sin²(x)", r"\sin^{2} x"),
    (sympy.sin(x + y), "sin(x + y)", r"\sin\left(x + y\right)"),
    (v * sympy.cos(x), "v cos(x)", r"v \cos x"),
    (1 / sympy.sqrt(x**2 + 1), "1/√(1 + x²)", r"\frac{1}{\sqrt{1 + {x}^{2}}}"),
    (x / (y * m), "x/(m y)", r"\frac{x}{m y}"),
    (m * (x + y) / 2, "m (x + y)/2", r"\frac{m \left(x + y\right)}{2}"),
    (sympy.Rational(1, 2), "1/2", r"\frac{1}{2}"),
    (sympy.Float(0.25), "0.25", "0.25"),
    (sympy.Float(1.5e-9), "1.5 · 10⁻⁹", r"1.5 \cdot 10^{- 9}"),
    (sympy.Abs(x), "abs(x)", r"\left\vert x\right\vert"),
    (sympy.tanh(x), "tanh(x)", r"\tanh x"),
    (sympy.pi * x, "π x", r"\pi x"),
    (x ** sympy.Rational(3, 2), "x^(3/2)", r"{x}^{\frac{3}{2}}"),
    (sympy.Max(x, y, evaluate=False), "max(x, y)", r"\max\left(x, y\right)"),
    (sympy.atan2(x, y), "atan2(x, y)", r"\mathop{\mathrm{atan2}}\nolimits\left(x, y\right)"),
]


@pytest.mark.parametrize(("expression", "text", "latex"), CASES, ids=[c[1] for c in CASES])
def test_expressions(expression, text, latex):
    node = ARRANGE(expression)
    assert to_text(node) == text
    assert to_latex(node) == latex
    ElementTree.fromstring(f"<math>{to_mathml(node)}</math>")


def test_choices():
    node = ARRANGE(sympy.Piecewise((x, x < y), (-x, True), evaluate=False))
    assert to_text(node) == "{x if x < y, −x otherwise}"
    assert to_latex(node).startswith(r"\left\{\begin{array}{ll} x & \mbox{if } x < y")
    assert "<mo>&lt;</mo>" in to_mathml(node)


def test_mathml_of_a_quotient():
    assert to_mathml(ARRANGE(m * v / 2)) == (
        "<mfrac><mrow><mi>m</mi><mo>&#x2062;</mo><mi>v</mi></mrow><mn>2</mn></mfrac>"
    )


def test_formulas_are_written_as_in_the_papers():
    node = formula("I η̇ = C η + τ_a − D⁻¹C (M J̇)ᵀ")
    assert to_text(node) == "I η̇ = C η + τ_a − D⁻¹ C (M J̇)ᵀ"
    assert to_latex(node) == (
        r"I \dot{\eta} = C \eta + \tau_{a} - {D}^{- 1} C \left(M \dot{J}\right)^{T}"
    )
    assert to_text(formula("∂G / ∂η̇ = Q")) == "∂G/∂η̇ = Q"
    assert to_text(formula("ẋ = ½ y")) == "ẋ = 1/2 y"


def test_the_order_of_equal_terms_does_not_depend_on_how_they_were_added():
    a = ARRANGE(x * sympy.sin(y) + m * sympy.cos(y) + v)
    b = ARRANGE(v + m * sympy.cos(y) + sympy.sin(y) * x)
    assert to_text(a) == to_text(b)


def test_long_sums_break_before_their_signs():
    symbols = sympy.symbols("alpha0:40")
    whole = ARRANGE(sympy.Add(*symbols))
    rows = broken(whole, 60)
    assert len(rows) > 3
    assert all(len(to_text(r)) <= 70 for r in rows)
    assert MathRow(tuple(i for r in rows for i in r.items)) == whole
    assert broken(Glyph("x")) == [MathRow((Glyph("x"),))]


def test_a_long_fraction_breaks_over_lines():
    terms = [sympy.Symbol(f"a{k}") * sympy.Symbol(f"b{k}") for k in range(1, 30)]
    node = ARRANGE(sympy.Add(*terms) / sympy.Symbol("c"))
    pieces = broken_math(node)
    assert len(pieces) > 1
    assert max(len(to_text(piece)) for piece in pieces) <= 130
    whole = "".join(to_latex(piece) for piece in pieces)
    assert whole.startswith(r"\frac{1}{c} \big(") and whole.endswith(r"\big)")
    assert all(f"a_{{{k}}}" in whole for k in range(1, 30))


#: Formulas → their width by pdflatex at 10 points (\\wd of a box in \\displaystyle).
WIDTHS = {
    "m_{wheel} (r² + b²) ω̇_x + J_{zz} φ̈": 114.735,
    "λ_1 = − m ψ̇ (θ̇ + 2 ω_{front}) − 0": 123.752,
}


def test_widths_are_those_of_latex():
    for line, width in WIDTHS.items():
        assert points(formula(line)) == pytest.approx(width, rel=0.05)
    a, b = sympy.symbols("a b")
    fraction = ARRANGE((a + b) ** 2 / (2 * a))
    # a fraction is as wide as its longer side, and smaller within a matrix
    assert points(fraction) - points(ARRANGE((a + b) ** 2)) == pytest.approx(2.4)
    assert points(fraction, 1) < 0.8 * points(fraction)


def test_products_break_where_sums_cannot():
    """In an article's line: not behind a sign, an opened bracket or a number."""
    names = [sympy.Symbol(f"x{k}") + sympy.Symbol(f"omega{k}") for k in range(12)]
    inside = sympy.Mul(*names)
    node = ARRANGE(-7 * sympy.sqrt(inside + 1) / (sympy.Symbol("m") * sympy.sin(inside)))
    pieces = broken_math(node, 200.0, points)
    assert len(pieces) > 6 and all(points(piece) <= 200.0 for piece in pieces)
    for piece, after in pairwise(pieces):
        assert piece.items[-1] not in [Operator(sign) for sign in "+−(·"]
        is_product = after.items[0] == Operator("·")
        assert not (is_product and isinstance(piece.items[-1], MathNumber))
    whole = "".join(to_latex(piece) for piece in pieces)
    assert whole.count(r"\big(") == whole.count(r"\big)")
    assert all(rf"_{{{k}}}" in whole for k in range(12))
    # what stands alone in a bracket is times nothing, however wide it is
    tall = ARRANGE(sympy.Add(*names, evaluate=False) / (sympy.Add(*names) * 2 + 1) ** 2)
    for piece in broken_math(tall, 120.0, points):
        assert r"\cdot \big)" not in to_latex(piece)


@pytest.mark.parametrize(
    "expression, text",
    [
        (x + (-y - m) * sympy.sin(v), "x − (m + y) sin(v)"),
        (-(-y - m) * sympy.sin(v), "(m + y) sin(v)"),
        ((-y - m) * (-x - 1) * v, "(m + y) (1 + x) v"),
        (x / (-y - m), "−x/(m + y)"),
        ((-y - m) ** 2 * v, "(m + y)² v"),
        ((x - y) * v, "(x − y) v"),
    ],
)
def test_negative_sums_stand_behind_a_minus_sign(expression, text):
    assert to_text(ARRANGE(expression)) == text
