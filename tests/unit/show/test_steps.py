"""Long derivations step by step: named wrenches and rates instead of numbered parts."""

import re

import casadi as ca
import numpy as np
import pytest
import sympy

import noslip as ns
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import text_document
from noslip.show.equations.subject import Subject, printed_equations
from noslip.show.equations.writing import MOST_PARTS, evaluate

#: Vehicles whose pages once had more helper symbols than anyone reads.
LONG = ["agv", "roller-racer", "ackermann-car", "tractor-trailer-tires"]
DONE = {}


def derived(name):
    if name not in DONE:
        equations = ns.derive(ns.load(name))
        DONE[name] = equations, derivation(equations)
    return DONE[name]


def helpers(done):
    """Helper symbols on the page → how often each is used beside its own line."""
    text = text_document(done.title, done.sections)
    names = re.findall(r"(?<!\w)[zζκξ]\d+(?!\w)", text)
    return {name: names.count(name) - 1 for name in set(names)}


@pytest.mark.parametrize(
    "name",
    [*LONG, "tractor-trailer", "lhd", "lhd-noslip", "forklift", "differential-robot", "snakeboard"]
    + [pytest.param(name, marks=pytest.mark.long) for name in ("truck-trailers", "mecanum-base")],
)
def test_a_vehicle_has_few_helper_symbols_and_none_used_once(name):
    _, done = derived(name)
    found = helpers(done)
    assert len(found) <= MOST_PARTS and all(uses > 1 for uses in found.values())
    assert done.is_confirmed
    # numbered without gaps, in the order in which they stand
    assert sorted(int(re.sub(r"\D", "", n)) for n in found) == list(range(1, len(found) + 1))


def test_helpers_are_numbered_without_gaps_after_some_were_written_out():
    """More than twelve parts of a page are left at twelve, called 1 to 12."""
    done = derivation(ns.derive(ns.load("agv"), ns.BoltzmannHamel()))
    found = helpers(done)
    assert 1 < len(found) <= MOST_PARTS and done.is_confirmed
    assert {int(re.sub(r"\D", "", n)) for n in found} == set(range(1, len(found) + 1))


def values_of(name, seed=0):
    """All symbols of the page at a state that follows the motion, and the compiled values there."""
    equations, done = derived(name)
    subject = Subject(printed_equations(equations), is_stepwise=True)
    state = subject.states[seed]
    known = {s: np.array([x]) for s, x in zip(subject.alphabet.symbols, state, strict=True)}
    for symbol, meaning in done.meanings.items():
        if symbol not in known:
            known[symbol] = evaluate(meaning, known)
    return subject, done, {s: float(np.ravel(v)[0]) for s, v in known.items() if s.is_Symbol}


def named(values, text):
    (found,) = (v for s, v in values.items() if sympy.Symbol(text, real=True) == s)
    return found


def test_forces_of_the_caster_are_those_of_newton():
    """m c̈ of the caster's wheel, differentiated from where it is in the world."""
    subject, _, values = values_of("agv")
    q = subject.kin.symbols.q
    node = next(n for n in subject.kin.tree.nodes if n.body.name == "wheel3")
    rate = ca.jtimes(node.p_WB, q, subject.kin.N @ subject.kin.symbols.v)
    along = [subject.kin.N @ subject.kin.symbols.v, subject.vdot]
    acceleration = ca.jtimes(rate, q, along[0]) + ca.jtimes(rate, subject.kin.symbols.v, along[1])
    force = node.R_WD.T @ (node.mass * acceleration)
    edges = np.cumsum([c.shape[0] for c in subject.columns])[:-1]
    found = ca.Function("f", subject.columns, [ca.densify(force)])(
        *np.split(subject.states[0], edges)
    )
    m_w = named(values, "m_w")
    by_page = [m_w * named(values, f"A_wheel3,{k}") for k in (4, 5)]
    assert np.allclose(by_page, np.array(found).ravel()[:2], rtol=1e-10)


def test_generalized_constraint_forces_are_those_of_the_multipliers():
    """R of the page is Aᵀλ with the λ that the compiled equations have."""
    subject, _, values = values_of("agv")
    kin, equations = subject.kin, subject.equations
    # redundant rows share the force; Aᵀ of all rows counts it whole
    both = ca.mtimes(kin.A.T, equations.multipliers)
    edges = np.cumsum([c.shape[0] for c in subject.columns])[:-1]
    found = ca.Function("f", subject.columns, [ca.densify(both)])(
        *np.split(subject.states[0], edges)
    )
    expected = np.array(found).ravel()
    assert named(values, "R1") == pytest.approx(expected[0], rel=1e-9)
    assert named(values, "R2") == pytest.approx(expected[1], rel=1e-9)
    assert named(values, "R3") == pytest.approx(expected[2], rel=1e-9)


def test_tire_forces_are_those_of_the_magic_formula():
    """F = μ F_z sin(C atan(B σ − E (B σ − atan B σ))) σ/|σ| of the front wheel, by hand."""
    *_, values = values_of("tractor-trailer-tires")
    vx, vy, turn = (named(values, x) for x in ("v_x", "v_y", "φ\u0307"))
    delta, spin = named(values, "δ_front"), named(values, "θ\u0307_front")
    ahead = vx * np.cos(delta) + (vy + 2.8 * turn) * np.sin(delta)
    aside = (vy + 2.8 * turn) * np.cos(delta) - vx * np.sin(delta)
    tires = {f.name: f for f in ns.load("tractor-trailer-tires").forces}
    tire = tires["front.tire"]
    rolled = tire.radius * spin
    scale = np.hypot(rolled, 0.05)
    x, y = -(ahead - rolled) / scale, -aside / scale
    size = np.hypot(x, y)
    assert np.isfinite([x, y, size]).all()
    ratio = named(values, "F_y,front.tire") / named(values, "F_x,front.tire")
    assert ratio == pytest.approx(y / x, rel=1e-6)
    B, C, mu, E = 12.0, 2.3, 0.82, 1.0
    shape = np.sin(C * np.arctan(B * size - E * (B * size - np.arctan(B * size))))
    whole = np.hypot(named(values, "F_x,front.tire"), named(values, "F_y,front.tire"))
    assert whole == pytest.approx(abs(mu * tire.load * shape), rel=1e-6)
