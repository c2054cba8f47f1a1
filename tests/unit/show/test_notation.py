"""Short symbols: the rule for each kind of name, and that no two things look alike."""

import pytest
from sled_with_rotor import METHODS, model

import noslip as ns
from noslip.formats import known_formats
from noslip.show.equations.formats import AbstractEquationFormat
from noslip.show.equations.glyphs import Glyph, escape_latex, glyph_of_name, glyph_of_text
from noslip.show.equations.notation import Notation
from noslip.show.equations.text import derivation
from noslip.show.equations.typeset import to_latex, to_mathml


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
        "<msub><mover><mi>θ</mi><mo>˙</mo></mover><mtext>wheel1</mtext></msub>"
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
        "platform.x": "x",
        "platform.angle": "φ",
        "platform.vx": "v_x",
        "platform.rate": "φ̇",
        "wheel1.angle": "θ_wheel1",
        "wheel1.rate": "θ̇_wheel1",
        "torque1": "τ1",
        "m_wheel": "m_wheel",
        "wheel1.longitudinal": "λ1",
    }
    assert found.items() >= expected.items()


def test_symbols_of_the_disk():
    found = notation(ns.load("rolling-disk"))
    expected = {"disk.qw": "q_w", "disk.wx": "ω_x", "disk.vz": "v_z", "disk.z": "z"}
    assert found.items() >= expected.items()


def test_what_would_look_alike_takes_the_joint_along():
    b = ns.ModelBuilder(name="two", gravity=(0.0, 0.0, 0.0))
    for name in ("left", "right"):
        b.body(name, mass=1.0, moment=0.5)
        b.joint(name, ns.Planar(), parent="world", child=name)
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
    b.joint("slide", ns.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass")
    b.input("force1", "N")
    b.force(ns.Motor(name="push", speed="slide.speed", input="force1"))
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
    b.joint("slide", ns.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass")
    done = derivation(ns.derive(b.build(), METHODS["multipliers"]))
    assert done.is_confirmed
    names = {s.name for s in done.meanings}
    assert "M11" not in names and "M_(11)" in names


def test_the_legend_is_the_same_in_all_formats():
    done = derivation(ns.derive(ns.load("agv")))
    legend = Notation(ns.derive(ns.load("agv"))).legend
    formats = known_formats(AbstractEquationFormat)
    texts = {w: f.text(done.title, done.sections) for w, f in formats.items()}
    for e in legend:
        assert f"{e.glyph.text}" in texts["text"]
        assert f"${e.glyph.latex}$ & {escape_latex(e.name)} & " in texts["latex"]
        assert f"| ${e.glyph.latex}$ | {e.name} |" in texts["markdown"]
        assert f"<td><math>{to_mathml(e.glyph)}</math></td><td>{e.name}</td>" in texts["html"]
