"""Short symbols: the rule for each kind of name, and that no two things look alike."""

import pytest
from sled_with_rotor import METHODS, model

import noslip as ns
from noslip.base import known_formats
from noslip.expressions import read_symbol
from noslip.formats import AbstractEquationFormat
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import equations_text
from noslip.show.equations.layout import (
    Glyph,
    escape_latex,
    glyph_of_name,
    glyph_of_text,
    to_latex,
    to_mathml,
    with_marks_beside,
)
from noslip.show.equations.subject import Notation


@pytest.mark.parametrize(
    ("name", "text", "latex"),
    [
        ("m", "m", "m"),
        ("m1", "m1", "m_{1}"),
        ("m_wheel", "m_wheel", r"m_{\mathrm{wheel}}"),
        ("I_x", "I_x", "I_{x}"),
        ("Kp", "K_p", "K_{p}"),
        ("tau2", "τ2", r"\tau_{2}"),
        ("omega_max", "ω_max", r"\omega_{\mathrm{max}}"),
        ("k_phi", "k_φ", r"k_{\varphi}"),
        ("ell", "ℓ", r"\ell"),
        ("drag", "drag", r"\mathrm{drag}"),
        ("I_front_wheel", "I_front,wheel", r"I_{\mathrm{front},\mathrm{wheel}}"),
        ("m1_front", "m_1,front", r"m_{1,\mathrm{front}}"),
    ],
)
def test_names_of_parameters(name, text, latex):
    glyph = glyph_of_name(name)
    assert (glyph.text, glyph.latex) == (text, latex)


def test_dots_are_rates():
    glyph = Glyph("θ", "wheel1")
    assert glyph.rate.text == "θ̇_wheel1"
    assert glyph.rate.rate.latex == r"\ddot{\theta}_{\mathrm{wheel1}}"
    assert glyph.of("a") == Glyph("θ", "wheel1,a")
    assert to_mathml(glyph.rate) == (
        '<msub><mover accent="true"><mi>θ</mi><mo>˙</mo></mover><mtext>wheel1</mtext></msub>'
    )


@pytest.mark.parametrize("text", ["z12", "S41", "T_wheel1,31", "(C η)_1", "h1", "τ_a,1"])
def test_labels_are_read_back(text):
    assert glyph_of_text(text).text == text


def test_a_product_in_brackets_is_a_symbol():
    glyph = Glyph("(C η)", "1")
    assert to_latex(glyph) == r"(C \eta)_{1}"
    assert to_mathml(glyph) == (
        "<msub><mrow><mo>(</mo><mi>C</mi><mi>η</mi><mo>)</mo></mrow><mn>1</mn></msub>"
    )


def test_text_for_latex_has_no_commands_of_its_own():
    assert escape_latex(r"a_b 50% {x} \y θ") == (r"a\_b 50\% \{x\} \textbackslash{}y $\theta$")


def notation(built: ns.Model) -> dict[str, str]:
    return {e.name: e.glyph.text for e in Notation(ns.derive(built)).legend}


def test_symbols_of_the_agv():
    found = notation(ns.load("agv"))
    expected = {
        "platform.x": "X",
        "platform.angle": "β",
        "platform.vx": "ẋ",
        "platform.rate": "ω",
        "wheel1.angle": "θ1",
        "wheel1.rate": "θ̇1",
        "torque1": "τ1",
        "m_wheel": "m_w",
        "wheel1.longitudinal": "λ1",
    }
    assert found.items() >= expected.items()


def test_a_model_gives_symbols_plain_or_as_latex():
    b = ns.ModelBuilder(name="given", gravity=(0.0, 0.0, 0.0))
    b.parameter("inertia_small", 1.5, "kg", symbol="I_1")
    b.parameter("inertia_large", 1.5, "kg", symbol=r"\mu_{\mathrm{w}}")
    b.body("arm", mass="inertia_small + inertia_large", moment=0.5)
    axis = (0.0, 0.0, 1.0)
    symbols = {"angle": r"\delta"}
    b.joint("arm", ns.joints.Revolute(axis=axis), parent="world", child="arm", symbols=symbols)
    b.input("push", "N*m", symbol="Q_a")
    b.force(ns.forces.Motor(name="motor", speed="arm.rate", input="push"))
    found = notation(b.build())
    assert found["inertia_small"] == "I1" and found["inertia_large"] == "μ_w"
    assert found["arm.angle"] == "δ" and found["arm.rate"] == "δ̇" and found["push"] == "Q_a"


@pytest.mark.parametrize("symbol", ["x^2", r"\nosuchletter", "a b c*", ""])
def test_what_is_no_symbol_is_refused(symbol):
    with pytest.raises(ValueError, match="letter"):
        read_symbol(symbol)


def test_a_wrong_symbol_of_a_model_is_told():
    b = ns.ModelBuilder(name="wrong", gravity=(0.0, 0.0, 0.0))
    b.parameter("m", 1.5, "kg", symbol="m^2")
    b.body("arm", mass="m", moment=0.5)
    kind = ns.joints.Revolute(axis=(0.0, 0.0, 1.0))
    b.joint("arm", kind, parent="world", child="arm", symbols={"angel": "δ"})
    with pytest.raises(ns.ModelError) as caught:
        b.build()
    assert 'symbol "m^2"' in str(caught.value) and "did you mean 'angle'?" in str(caught.value)


def test_the_index_of_a_force_is_greek_after_a_letter():
    assert glyph_of_name("F_cphi").text == "F_cφ"
    assert glyph_of_name("F_cphi").latex == r"F_{c \varphi}"
    assert glyph_of_name("m_alpha").text == "m_α"


def test_no_two_things_share_a_letter_on_a_page():
    """I of the sleigh is its moment of inertia, so the inertia matrix has a hat."""
    text = equations_text(ns.derive(ns.load("chaplygin-sleigh")))
    assert "Î η˙ = C η + τˆ + γ + δ" in text
    assert "A hat marks letters of the method" in text


def test_what_would_look_alike_takes_the_joint_along():
    b = ns.ModelBuilder(name="two", gravity=(0.0, 0.0, 0.0))
    for name in ("left", "right"):
        b.body(name, mass=1.0, moment=0.5)
        b.joint(name, ns.joints.Planar(), parent="world", child=name)
    b.parameter("x", 1.0, "m")
    found = notation(b.build())
    assert found["left.x"] == "x_left"
    assert found["right.angle"] == "φ_right"
    assert found["left.vx"] == "v_x,left"
    assert found["right.rate"] == "φ̇_right"
    assert found["x"] == "x"


def test_names_that_lead_to_the_same_symbol_stay_words():
    b = ns.ModelBuilder(name="same", gravity=(0.0, 0.0, 0.0))
    b.parameter("m_1", 1.0, "kg")
    b.parameter("m1", 2.0, "kg")
    b.parameter("F_1", 2.0, "N")
    b.body("mass", mass="m1 + m_1", moment=0.5)
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass")
    b.input("force1", "N")
    b.force(ns.forces.Motor(name="push", speed="slide.speed", input="force1"))
    found = notation(b.build())
    assert len(set(found.values())) == len(found)
    assert found["slide.position"] == "s_slide"
    assert found["slide.speed"] == "ṡ_slide"


@pytest.mark.parametrize("name", [*ns.MODELS, "sled"])
def test_no_symbol_means_two_things(name):
    legend = Notation(ns.derive(model(name), METHODS["vakonomic"])).legend
    assert len({e.glyph.text for e in legend}) == len(legend)
    assert len({e.glyph.latex for e in legend}) == len(legend)
    assert all(e.name and e.unit for e in legend)


def test_labels_do_not_take_a_symbol_that_is_in_use():
    """An input F1 and a parameter I1 beside the vakonomic F1 and the 1×1 matrix I."""
    b = ns.ModelBuilder(name="taken", gravity=(0.0, 0.0, 0.0))
    b.parameter("M11", 1.5, "kg")
    b.body("mass", mass="M11*(2 + sin(M11) + cos(M11)^2 + exp(M11))", moment=0.5)
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass")
    done = derivation(ns.derive(b.build(), METHODS["multipliers"]))
    assert done.is_confirmed
    names = {s.name for s in done.meanings}
    assert "M11" not in names and "M̂11" in names


def test_the_legend_is_the_same_in_all_formats():
    done = derivation(ns.derive(ns.load("agv")))
    legend = Notation(ns.derive(ns.load("agv"))).legend
    formats = known_formats(AbstractEquationFormat)
    texts = {w: f.text(done.title, done.sections) for w, f in formats.items()}
    texts["latex"] = texts["latex"].replace(r"\allowbreak{}", "")  # names may break at their dots
    # heights and weights enter no planar equation, and the legend has what the page uses
    unused = {"h", "g"}
    assert not any(f"& {name} & " in texts["latex"] for name in unused)
    for e in [e for e in legend if e.name not in unused]:
        assert with_marks_beside(e.glyph.text) in texts["text"]
        assert f"${e.glyph.latex}$ & {escape_latex(e.name)} & " in texts["latex"]
        assert f"| ${e.glyph.latex}$ | {e.name} |" in texts["markdown"]
        assert f"<td><math>{to_mathml(e.glyph)}</math></td><td>{e.name}</td>" in texts["html"]


def test_parameters_that_are_called_by_a_word_have_its_letter():
    """Unless another parameter is called by that letter; then the word stays."""
    b = ns.ModelBuilder("words", gravity=(0.0, 0.0, 0.0))
    for name, unit in [
        ("mass", "kg"),
        ("wheel_radius", "m"),
        ("m_load", "kg"),
        ("load_mass", "kg"),
    ]:
        b.parameter(name, 1.0, unit)
    b.body("block", mass="mass + m_load + load_mass", inertia=("mass*wheel_radius^2", 1.0, 1.0))
    b.joint("block", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="block")
    letters = {e.name: e.glyph.text for e in Notation(ns.derive(b.build())).parameters}
    assert letters == {
        "mass": "m", "wheel_radius": "r_wheel", "m_load": "m_load", "load_mass": "load_mass",
    }  # fmt: skip
