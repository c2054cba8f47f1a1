"""What is shown is right: closed forms, agreement with what is compiled, and the limits of both."""

import dataclasses
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import sympy
from sled_with_rotor import METHODS, REDUCED, model, sled_with_rotor

import noslip as ns
from noslip.show.equations import writing
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import equations_text
from noslip.show.equations.layout import Glyph, Lines, Paragraph, glyphs_in, to_text
from noslip.show.equations.subject import Subject, printed_equations
from noslip.show.equations.writing import (
    TOLERANCE,
    Alphabet,
    Item,
    tidied,
    worst_difference,
    write,
)


@cache
def derived(name: str, method: str):
    return derivation(ns.derive(model(name), METHODS[method]))


def residuals(done) -> list[sympy.Expr]:
    """Left minus right of the rows, with all labels and parts put in."""
    rows = [left - right for left, right in done.motion]
    for symbol, meaning in reversed(done.meanings.items()):
        rows = [row.xreplace({symbol: meaning}) for row in rows]
    return rows


def sled_rows(done) -> tuple[sympy.Expr, ...]:
    """The published equations in the symbols of a derivation."""
    s = done.symbols
    m1, m2, length, I1, I2 = (s[name] for name in ("m1", "m2", "l", "I1", "I2"))
    v, turn = s["sled.vx"], s["sled.rate"]
    vdot, turning, spinning = s["sled.vx'"], s["sled.rate'"], s["rotor.rate'"]
    return (
        (m1 + m2) * vdot + m1 * length * turn**2 - s["F"],
        (I1 + I2) * turning + I2 * spinning - m1 * length * turn * v - s["tau1"],
        I2 * (turning + spinning) - s["tau2"],
    )


@pytest.mark.parametrize("method", [f.word for f in REDUCED])
def test_the_sled_comes_out_as_published(method):
    done = derived("sled", method)
    for found, published in zip(residuals(done), sled_rows(done), strict=True):
        assert sympy.simplify(found - published) == 0
    assert "(m1 + m2) v˙_x + m1 l φ˙² = F" in equations_text(
        ns.derive(sled_with_rotor(), METHODS[method])
    )


def test_the_sled_with_multipliers_is_the_same_and_has_the_blade_force():
    """On the rows' solution v_y = v̇_y = 0 the full equations are the reduced ones and N."""
    done = derived("sled", "multipliers")
    s = done.symbols
    at_rest = {s["sled.vy"]: 0, s["sled.vy'"]: 0}
    rows = [sympy.expand(row.xreplace(at_rest)) for row in residuals(done)]
    first, second, third = sled_rows(done)
    turn, v = s["sled.rate"], s["sled.vx"]
    blade = s["m1"] * (turn * v - s["l"] * s["sled.rate'"]) + s["m2"] * turn * v
    expected = [first, blade - s["blade.lateral"], second, third, 0]
    for found, published in zip(rows, expected, strict=True):
        assert sympy.simplify(found - published) == 0


def test_the_vakonomic_sled_adds_the_curl_force():
    done = derived("sled", "vakonomic")
    s = done.symbols
    rows = residuals(done)
    plain = residuals(derived("sled", "multipliers"))
    mu, turn, v = s["costate.blade.lateral"], s["sled.rate"], s["sled.vx"]
    added = [-mu * turn, 0, mu * v, 0, 0]
    for found, dalembert, extra in zip(rows, plain, added, strict=True):
        assert sympy.expand(found - dalembert - extra) == 0


@pytest.mark.parametrize("method", [f.word for f in REDUCED])
@pytest.mark.parametrize("name", ["sled", "agv", "rolling-disk"])
def test_shown_equations_give_the_compiled_accelerations(name, method, rng):
    """Solved by SymPy's own evaluation, at states that the derivation has not seen."""
    equations = printed_equations(ns.derive(model(name), METHODS[method])).equations
    done, kin = derived(name, method), equations.kinematics
    rates = [done.symbols[f"{s.name}'"] for s in kin.independent_speeds]
    accelerations = ca.Function(
        "a",
        [kin.symbols.t, kin.symbols.q, kin.eta, kin.symbols.u, kin.symbols.params],
        [equations.accelerations, kin.v],
    )
    names = [*(q.name for q in kin.coordinates), *(i.name for i in kin.model.inputs)]
    names += [p.name for p in kin.model.parameters]
    for t, q in kin.probe.configurations(9)[-2:]:
        eta, u = rng.normal(size=len(rates)), rng.normal(size=len(kin.model.inputs))
        expected, v = accelerations(t, q, eta, u, kin.probe.params)
        names_now = [*names, *(s.name for s in kin.speeds)]
        numbers = [*q, *u, *kin.probe.params, *np.array(v).ravel()]
        at = {
            done.symbols[n]: sympy.Float(float(x), 20)
            for n, x in zip(names_now, numbers, strict=True)
        }
        for symbol, meaning in done.meanings.items():
            if symbol not in at and not meaning.has(*rates):
                at[symbol] = meaning.xreplace(at).evalf()
        rows = [(left - right).xreplace(at) for left, right in done.motion]
        matrix, column = sympy.linear_eq_to_matrix(rows, rates)
        found = np.array(matrix.LUsolve(column), dtype=float).ravel()
        assert found == pytest.approx(np.array(expected).ravel(), rel=1e-8, abs=1e-9)


def big_model() -> ns.Model:
    """A wrench whose powers of sums would have far more terms than anyone can read."""
    b = ns.ModelBuilder(name="big", gravity=(0.0, 0.0, 0.0))
    names = [b.parameter(f"p{k}", 0.1 + 0.01 * k, "1") for k in range(12)]
    b.body("sled", mass=1.0, moment=0.5)
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    linear = " + ".join(f"{n}*sled.x*sin({k + 1}*sled.angle)" for k, n in enumerate(names))
    power = f"(1 + {linear})^8"
    b.force(
        ns.forces.Wrench(
            name="field", body="sled", force=(f"{power}/(1 + {power})", f"sqrt({power})", 0.0)
        )
    )
    return b.build()


def test_a_big_expression_is_shown_with_parts():
    done = derivation(ns.derive(big_model()))
    assert done.is_confirmed
    assert max(writing.size(e) for e in done.written.expressions) < 2000


def test_the_time_limit_ends_the_simplification_and_says_so():
    equations = ns.derive(big_model())
    done = derivation(equations, seconds=0.0)
    assert done.written.is_late
    assert done.is_confirmed
    text = equations_text(equations, seconds=0.0)
    assert "The simplification reached its time limit before it was finished." in text


def test_a_program_that_was_simplified_is_not_simplified_again(monkeypatch):
    """What is shown is the same, and still compared."""
    first = derivation(ns.derive(model("chaplygin-sleigh")))
    monkeypatch.setattr(writing, "WrittenForm", None)
    again = derivation(ns.derive(model("chaplygin-sleigh")))
    assert again.written.expressions == first.written.expressions and again.is_confirmed
    assert again.sections == first.sections
    with pytest.raises(TypeError):
        derivation(ns.derive(model("chaplygin-sleigh")), seconds=5.0)


def wrong(program, items, alphabet, seconds):
    expressions, parts, is_late = writing_simplified(program, items, alphabet, seconds)
    return [expressions[0] + sympy.Rational(1, 10**6), *expressions[1:]], parts, is_late


writing_simplified = writing.simplified


def test_a_wrong_simplification_is_found_and_the_plain_form_shown(monkeypatch):
    monkeypatch.setattr(writing, "simplified", wrong)
    equations = ns.derive(sled_with_rotor())
    done = derivation(equations)
    assert not done.written.is_simplified
    assert done.is_confirmed
    assert "did not pass the check" in equations_text(equations)


def test_a_label_is_not_used_where_the_rows_are_broken():
    """A row v_y − f(η) must not become v_y − v_y because f(η) has been called v_y since."""
    x, y, t = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("t")
    symbols = [sympy.Symbol(n, real=True) for n in ("t", "x", "y")]
    f = 4 * ca.sin(x) ** 3 + x * x * ca.cos(x) + ca.exp(x) + 3 * x**4 + 5 * x**3
    consistent = np.array([[0.0, 0.3, float(ca.evalf(ca.substitute(f, x, 0.3)))]])
    free = np.array([[0.0, 0.3, 5.0]])
    alphabet = Alphabet([t, ca.vertcat(x, y), ca.SX(0, 1), ca.SX(0, 1)], symbols, consistent, free)
    items = [Item(f, f, symbols[2]), Item(y - f, y - f, is_free=True)]
    done = write(items, alphabet, seconds=5.0)
    assert done.is_simplified and done.is_confirmed
    assert done.expressions[1] != 0


def lines_with_unknown_labels(done) -> list[str]:
    """Labels of parts and entries that a line uses before a line above it says what they are."""
    labels = {s.name for s in done.meanings} - {s.name for s in done.symbols.values()}
    known: set[str] = set()
    missing = []
    lines = [b for s in done.sections for b in s.blocks if isinstance(b, Lines)]
    for block in lines:
        for line in block.lines:
            is_definition = isinstance(line.left, Glyph)
            sides = [line.right] if is_definition else [line.left, line.right]
            used = {g.text for side in sides for g in glyphs_in(Paragraph((side,)))}
            missing += [f"{to_text(line.left)}: {name}" for name in (used & labels) - known]
            if is_definition:
                known.add(line.left.text)
    return missing


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name", ["agv", *(pytest.param(n, marks=pytest.mark.long) for n in ("tractor-trailer", "lhd"))]
)
def test_every_entry_and_part_is_introduced_before_it_is_used(name, method):
    assert lines_with_unknown_labels(derived(name, method)) == []


def test_a_difference_is_measured_relative_to_what_is_compiled():
    x, t = ca.SX.sym("x"), ca.SX.sym("t")
    symbols = [sympy.Symbol(n, real=True) for n in ("t", "x")]
    states = np.array([[0.0, 2.0], [0.0, 3.0]])
    alphabet = Alphabet([t, x, ca.SX(0, 1), ca.SX(0, 1)], symbols, states, states)
    shown = [symbols[1] ** 2 * (1 + sympy.Float(1e-6))]
    items = [Item(x * x, x * x)]
    assert worst_difference(items, alphabet, shown, [[]]) == pytest.approx(1e-6, rel=1e-3)
    assert worst_difference(items, alphabet, [symbols[1] ** 2], [[]]) == 0.0


def test_two_runs_are_the_same_to_the_byte():
    """Whatever the seed of Python's hashes is, in every format."""
    code = (
        "import noslip as ns; from noslip.show.equations.derivations import *; "
        "from noslip.base.families import known_formats; "
        "from noslip.show.equations.documents import AbstractEquationFormat; "
        "formats = known_formats(AbstractEquationFormat).values(); "
        "found = [derivation(ns.derive(ns.load(n))) for n in ('agv', 'rolling-disk')]; "
        "print(*[f.text(d.title, d.sections) for d in found for f in formats])"
    )
    texts = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(ns.__file__).parent.parent)},
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    assert texts[0] == texts[1]


_A, _B, _C = sympy.symbols("a b c", real=True)
_SIN, _COS = sympy.sin, sympy.cos
DECIMAL = sympy.Float("0.002", 17)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (_C * (_COS(_A) * _COS(_B) - _SIN(_A) * _SIN(_B)), _C * _COS(_A + _B)),
        (2 * _COS(_A) * _COS(_B) + 2 * _SIN(_A) * _SIN(_B) + 1, 1 + 2 * _COS(_A - _B)),
        (
            _C / (1 + _SIN(_A) * _COS(_B) * _C + _COS(_A) * _SIN(_B) * _C),
            _C / (1 + _C * _SIN(_A + _B)),
        ),
        (_C * _SIN(_A) * _COS(_B) - _C * _COS(_A) * _SIN(_B), _C * _SIN(_A - _B)),
        (_C * (_COS(_A + _B) ** 2 + _SIN(_A + _B) ** 2), _C),
        (_COS(_A) * _COS(_B) - 2 * _SIN(_A) * _SIN(_B), None),
        (_COS(_A) ** 2 - _SIN(_A) ** 2, None),
        (DECIMAL * (7 + 500 * _C) * _COS(_A), (sympy.Float("0.014", 17) + _C) * _COS(_A)),
        # a decimal with more digits than a double has, just below a whole number
        (sympy.Float("9659.9999999999998", 19) * _C, 9660 * _C),
    ],
)
def test_angles_merge_in_every_bracket_and_decimals_multiply_out(written, expected):
    """To nothing else than SymPy's own simplification says."""
    found = tidied(written)
    assert str(found) == str(written if expected is None else expected)
    # to the digits of a double of the largest number
    assert sympy.simplify(found - written).subs(_C, 1).evalf(chop=1e-12) == 0


def test_words_about_what_is_zero_hold_for_the_model():
    """A constraint that moves gives its quasi-velocity a value; gravity may be there and idle."""
    shown = equations_text(ns.derive(model("tractor-trailer"), METHODS["boltzmann-hamel"]))
    assert "w4 = δ˙   [dependent, as its constraint moves]" in shown
    assert shown.count("[dependent, zero on the motion]") == 3
    shown = equations_text(ns.derive(model("tractor-trailer"), METHODS["complement"]))
    assert "There is no dissipation; gravity does no work in virtual displacements:" in shown
    weightless = dataclasses.replace(model("chaplygin-sleigh"), gravity=(0.0, 0.0, 0.0))
    shown = equations_text(ns.derive(weightless, METHODS["complement"]))
    assert "There is no gravity and no dissipation: γ = δ = 0." in shown


@pytest.mark.parametrize("name", ["mecanum-base", "roller-racer", "tractor-trailer-tires"])
def test_vehicles_with_numbers_for_sizes_are_simplified(name):
    """Their heading, which forces of tires are traced with, does not matter and is not shown."""
    shown = equations_text(ns.derive(ns.load(name), METHODS["complement"]))
    assert "are simplified" not in shown and "nothing is simplified" not in shown
    _, motion = shown.split("(C η) =", 1)
    assert not re.search(r"(sin|cos)\(φ[ )]", motion)
    # 0.05² is 0.0025, not 0.0025000000000000005 and then a quotient of whole numbers
    assert not re.search(r"(?<![.\d])\d{11}", shown)


def test_inertia_and_velocity_terms_are_sums_over_bodies():
    """The tractor's D in one line, as printed, and its equation D v̇ + C v = forces."""
    done = derived("tractor-trailer", "desantis")
    lines = [
        f"{to_text(line.left)} = {to_text(line.right)}"
        for section in done.sections
        for block in section.blocks
        if isinstance(block, Lines)
        for line in block.lines
    ]
    assert (
        "D11 = m1 (1 + b² tan²(δ)/l1²) + j1 tan²(δ)/l1² + m2 (J_trailer,11² + J_trailer,21²) "
        "+ j2 (J_nh,31 + J_nh,51)²"
    ) in lines
    assert "D11 v̇_u1 + C11 v_u1 = F_u2 + F_u1/cos(δ) + J_trailer,11 F_u3" in lines
    assert done.is_confirmed


def test_a_wrong_sum_over_bodies_is_found(monkeypatch):
    from noslip.show.equations import derivations

    def twice(node, rate, J):
        return turning(node, 2 * rate, J)

    turning = derivations._turning
    monkeypatch.setattr(derivations, "_turning", twice)
    done = derivation(ns.derive(ns.load("lhd-noslip"), ns.DeSantis()))
    assert done.written.is_confirmed and not done.is_confirmed


def test_the_vakonomic_sleigh_is_written_in_the_letters_of_the_paper():
    done = derived("chaplygin-sleigh", "vakonomic")
    section = next(s for s in done.sections if s.title == "In the letters of the paper")
    blocks = [block for block in section.blocks if isinstance(block, Lines)]
    lines = [f"{to_text(x.left)} = {to_text(x.right)}" for block in blocks for x in block.lines]
    assert lines == [
        "b = √((I + m a²)/m)",
        "λ_c = μ1 + m a φ̇",
        "s̈ = λ_c φ̇/m + F_cs/m",
        "φ̈ = −λ_c ṡ/(m b²) + (a F_cφ + τ_c)/(m b²)",
        "λ̇_c = −m ṡ φ̇ + F_cφ",
    ]
    assert done.is_confirmed
    assert not any(s.title == section.title for s in derived("tricycle", "vakonomic").sections)


def test_what_cancels_where_it_is_compiled_is_zero_on_the_page():
    """Entries of the snakeboard's Jacobian rates cancel exactly, out of terms of hundreds."""
    done = derivation(ns.derive(ns.load("snakeboard"), ns.DeSantis()))
    assert done.is_confirmed and done.written.is_simplified


def test_a_small_mistake_is_noticed():
    """One part in a million in one expression: rounding excuses the last digits alone."""
    subject = Subject(printed_equations(ns.derive(ns.load("snakeboard"))))
    items = [Item(subject.equations.reduced_mass[0, 0], subject.equations.reduced_mass[0, 0])]
    written = write(items, subject.alphabet, seconds=10)
    wrong = [written.expressions[0] * sympy.Float(1 + 1e-6)]
    assert written.worst < TOLERANCE
    found = worst_difference(items, subject.alphabet, wrong, written.parts)
    assert found == pytest.approx(1e-6, rel=0.1)
