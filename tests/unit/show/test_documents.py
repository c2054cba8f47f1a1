"""The four formats: the same content, well formed, and nothing that needs a network."""

import dataclasses
import html
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from sled_with_rotor import METHODS, model

import noslip as ns
from noslip.base import known_formats
from noslip.formats import AbstractEquationFormat
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import html_blocks, markdown_document
from noslip.show.equations.layout import EquationLine, Lines, MathRow, Paragraph, Section, formula
from noslip.show.equations.small_motions import linear_equations

FORMATS = known_formats(AbstractEquationFormat)

#: What browsers show by themselves, without mfenced and its like.
MATHML = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "msub", "msup", "mover", "mfrac", "msqrt"),
    *("mtable", "mtr", "mtd"),
}
DRAWING = {"figure", "figcaption", "svg", "polygon", "polyline", "text", "tspan"}
HTML = {
    *("html", "head", "meta", "title", "style", "body", "div", "h1", "h2", "p", "table", "thead"),
    *("tbody", "tr", "th", "td", "span", "details", "summary"),
}
CASES = [("sled", "vakonomic"), ("rolling-disk", "complement")]
CASES += [("agv", method) for method in METHODS]


@pytest.fixture(scope="module")
def documents():
    """(model, method) → the derivation and its four texts, each made once."""
    made = {}

    def get(name, method):
        if (name, method) not in made:
            done = derivation(ns.derive(model(name), METHODS[method]))
            texts = {w: f.text(done.title, done.sections) for w, f in FORMATS.items()}
            made[name, method] = done, texts
        return made[name, method]

    return get


@pytest.mark.parametrize(("name", "method"), CASES)
def test_html_is_one_page_of_well_formed_mathml(documents, name, method):
    _, texts = documents(name, method)
    page = texts["html"]
    assert page.startswith("<!DOCTYPE html>")
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert {element.tag for element in root.iter()} <= MATHML | HTML | DRAWING
    for math in root.iter("math"):
        assert {element.tag for element in math.iter()} <= MATHML
        assert len(math) == 1
    two = [e for e in root.iter() if e.tag in ("msub", "msup", "mfrac", "mover")]
    assert two and all(len(e) == 2 for e in two)
    assert all(set(row) and {c.tag for c in row} == {"mtd"} for row in root.iter("mtr"))


@pytest.mark.parametrize(("name", "method"), CASES)
def test_html_needs_no_network_and_no_script(documents, name, method):
    page = documents(name, method)[1]["html"]
    assert "prefers-color-scheme: dark" in page
    page = re.sub(r"url\(data:font/woff;base64,[\w+/=]*\)", "", page)  # the font is in the page
    for word in ("http:", "https:", "//", "<script", "src=", "href=", "@import", "url("):
        assert word not in page, word


@pytest.mark.parametrize(("name", "method"), CASES)
def test_latex_is_balanced(documents, name, method):
    text = documents(name, method)[1]["latex"]
    assert text.isascii()
    opened = []
    for kind, environment in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
        if kind == "begin":
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert not opened
    bare = re.sub(r"\\[{}]", "", text)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert len(re.findall(r"\\left(?!eqn)", text)) == text.count(r"\right")
    assert text.count(r"\[") == text.count(r"\]")
    # a blank line ends a formula too early
    for inside in re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", text, re.DOTALL):
        assert "\n\n" not in inside and "&" in inside
    assert re.sub(r"\\.", "", text).count("$") % 2 == 0


@pytest.mark.parametrize(("name", "method"), CASES)
def test_all_formats_have_the_same_headings(documents, name, method):
    done, texts = documents(name, method)
    titles = [section.title for section in done.sections]
    assert titles[:7] == [
        "Model and method",
        "Sketch",
        "Frames and bodies",
        "Symbols",
        "Kinematics",
        "Constraints",
        "Admissible speeds",
    ]
    assert titles[-3:] == ["Equations of motion", "Constraint forces", "Check"]
    patterns = {
        "text": r"^(.+)\n-+$",
        "markdown": r"^## (.+)$",
        "latex": r"\\subsection\*\{(.+)\}",
        "html": r"<h2>(.+)</h2>",
    }
    for format_, pattern in patterns.items():
        found = re.findall(pattern, texts[format_], re.MULTILINE)
        # a drawing has nothing to say in words
        shown = titles if format_ == "html" else [t for t in titles if t != "Sketch"]
        assert [f.replace("&#x27;", "'") for f in found] == shown, format_


def test_text_keeps_to_its_width(documents):
    for name, method in CASES:
        lines = documents(name, method)[1]["text"].split("\n")
        formulas = [x for x in lines if " = " in x and "[" not in x]
        assert all(len(line) <= 110 for line in formulas)


needs_tex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs TeX (texlive-latex-base)"
)


def compile_latex(body, folder):
    """Typeset a fragment in a bare article, without edits; ASCII is what every LaTeX reads."""
    whole = "\\documentclass{article}\n\\begin{document}\n" + body + "\n\\end{document}\n"
    (folder / "main.tex").write_text(whole, "ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    # how far lines stick out of the text, pt
    wide = re.findall(rb"Overfull \\hbox \(([\d.]+)pt", done.stdout)
    return max(map(float, wide), default=0.0)


@needs_tex
@pytest.mark.parametrize(("name", "method"), [("rolling-disk", "complement"), ("agv", "desantis")])
def test_latex_compiles_in_a_bare_article(documents, name, method, tmp_path):
    assert compile_latex(documents(name, method)[1]["latex"], tmp_path) < 10.0


@needs_tex
@pytest.mark.parametrize("name", ["heavy-body", "tricycle", "snakeboard", "cartesian-crane"])
def test_long_equations_and_tables_keep_within_the_lines_of_an_article(name, tmp_path):
    text = ns.equations_text(ns.derive(ns.load(name)), "latex")
    assert compile_latex(text, tmp_path) < 10.0


@needs_tex
@pytest.mark.parametrize("method", METHODS)
def test_latex_of_matrices_compiles(method, tmp_path):
    compile_latex(ns.matrices(ns.load("sled-with-rotor"), method).text("latex"), tmp_path)


@needs_tex
def test_latex_of_wide_matrices_joints_and_linear_equations_compiles(tmp_path):
    wide = ns.matrices(ns.load("agv"), state={"wheel1.rate": -5.0}).text("latex", only=["A", "T"])
    joints = "\n".join(
        ns.joints.joint_template(word).text("latex") for word in ns.joints.JOINT_TEMPLATES
    )
    found = linear_equations(ns.derive(ns.load("whipple-bicycle")), "speed")
    linear = FORMATS["latex"].text(found.title, found.sections)
    compile_latex("\n".join([wide, joints, linear]), tmp_path)


LETTERS = {
    # with a hat where the vehicle has the letter: I_a, τ1, g, β, h, b
    "complement": ("T_platform = ", "Î = ", "(C η) = ", "τˆ = ", "γ = δ = 0"),
    "desantis": ("J_nh = ", "J_platform = ", "D = ", "C = ", "τˆ_a = ", "ĝ_wa = ", "ĝ0 = "),
    "boltzmann-hamel": ("w1 = ", "P1 = ", "P7 = ", "Γ = ", "(βˆᵀ ∂L/∂q)", "M = ", "N = "),
    "gibbs-appell": ("∂²G/∂η˙ ∂η˙ = ", "ĥ = ", "G = ", "Q = "),
    "multipliers": ("M = ", "M13 = ", "c = ", "Q = ", "B = ", "A = ", "bˆ = ", "A M⁻¹ Aᵀ λ = "),
    "vakonomic": ("F = ", "μ˙1 = −λ1", "M v˙ + c − F = Q + B u + Aᵀ λ"),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_shown_in_its_own_letters(documents, method):
    text = documents("agv", method)[1]["text"]
    for piece in LETTERS[method]:
        assert piece in text, piece
    assert METHODS[method].reference in text


def test_vakonomic_is_said_to_be_another_mechanics(documents):
    for format_ in FORMATS:
        assert "a different theory" in documents("sled", "vakonomic")[1][format_]
        assert "a different theory" not in documents("sled", "multipliers")[1][format_]


def test_rows_are_equations_and_redundant_ones_are_named(documents):
    text = documents("agv", "complement")[1]["text"]
    assert "ẋ + a ω = 0   [wheel1.lateral, rolling]" in text
    assert "[wheel2.lateral, rolling; follows from wheel1.lateral]" in text


HOSTILE = (
    "EVIL<script>alert(1)</script><img src=x onerror=y> */ \\input{a} % _u_ *b* `t` "
    "[l](js:z) ![p](x) &amp; | $q$ ~~s~~ base_x [kg] a < b <!-- c --> __w__ # ^ {j}"
)


class TestHostileTexts:
    """A description is text in every format, whatever it contains."""

    @pytest.fixture
    def equations(self):
        model = ns.load("knife-edge")
        told = [dataclasses.replace(p, description=HOSTILE) for p in model.parameters]
        model = dataclasses.replace(model, description=HOSTILE, parameters=tuple(told))
        return ns.derive(model)

    def test_markdown_shows_it_as_it_is(self, equations):
        markdown = pytest.importorskip("markdown_it")
        written = ns.equations_text(equations, format="markdown")
        parser = markdown.MarkdownIt("commonmark", {"html": True})
        tokens = parser.enable(["table", "strikethrough"]).parse(written)
        inner = [token for outer in tokens for token in (outer.children or [outer])]
        kinds = {token.type for token in inner}
        assert not kinds & {
            "html_inline",
            "html_block",
            "link_open",
            "image",
            "code_inline",
        }
        shown = [token.content for token in inner if token.content.startswith("EVIL")]
        assert len(shown) > 1 and set(shown) == {HOSTILE}

    def test_html_has_no_element_of_it(self, equations):
        page = ns.equations_text(equations, format="html")
        assert html.escape(HOSTILE) in page and "<script>alert" not in page and "<img" not in page

    def test_latex_runs_no_command_of_it(self, equations):
        assert r"\input" not in ns.equations_text(equations, format="latex")

    @pytest.mark.parametrize(
        "text", ["# a", "- a", "+ a", "> a", "1. a", "2) a", "===", "a\n\n# b", "a\n- b\n\n    c"]
    )
    def test_no_line_of_it_becomes_a_heading_or_a_list(self, text):
        markdown = pytest.importorskip("markdown_it")
        section = Section("s", (Paragraph((text,)),))
        written = markdown_document(text, [section])
        tokens = [t.type for t in markdown.MarkdownIt("commonmark").parse(written)]
        assert [t for t in tokens if t.endswith("_open")] == [
            *("heading_open", "heading_open", "paragraph_open"),
        ]


def test_a_broken_left_side_takes_the_room_of_both_sides():
    """Beside a left side that is not broken, where it would begin in the middle of the page."""
    short, long = (MathRow(tuple(formula(" + ".join(["m l φ̈"] * n)).items)) for n in (1, 40))
    lines = Lines(
        tuple(EquationLine(left=left, right=formula("F"), number=1) for left in (short, long))
    )
    table = ElementTree.fromstring(html_blocks(Section("", (lines,)))).find("table")
    assert table.get("class") == "long"
    first, *rest = table.iter("tr")
    assert first[1].get("class") == "side" and first[1].get("colspan") is None
    assert len(rest) > 1 and all(row[1].get("colspan") == "2" for row in rest)
