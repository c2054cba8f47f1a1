"""What a notebook shows: mathematics, tables and small pictures, and never markup of a model."""

import ast
import dataclasses
import json
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from runs_to_plot import audited, run_of, system_of, tracked
from sled_with_rotor import sled_with_rotor

import noslip as ns
from noslip.scene import INK, frames, start_frame
from noslip.show import displays, equations_html, install_displays
from noslip.show.displays import matrices_html, portrait
from noslip.show.notebook import EQUATIONS, FIGURE, TABLES, equations_latex

MARKUP = "<script>alert('x')</script> & <b>bold</b>"


def words(root):
    return " ".join("".join(root.itertext()).split())


def rows(root):
    """The cells of all tables as text."""
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


# equations


def test_html_has_the_motion_first_and_the_derivation_folded():
    page = equations_html(ns.derive(sled_with_rotor()))
    root = ElementTree.fromstring(page)
    headings = [h.text for h in root.findall("h2")]
    assert headings == ["Sketch", "Equations of motion"]
    (folded,) = root.findall("details")
    assert [h.text for h in folded.findall("h2")][:2] == ["Model and method", "Frames and bodies"]
    assert "<script" not in page and "http" not in page


# models


def test_a_model_shows_its_parts_and_a_picture():
    model = ns.load("agv")
    root = ElementTree.fromstring(displays.model_html(model))
    said = words(root)
    parts = (*model.bodies, *model.joints, *model.contacts, *model.forces, *model.inputs)
    for part in parts:
        assert part.name in said
    assert model.description in said and model.scenario.description in said
    for parameter, cells in zip(model.parameters, rows(root)[1:], strict=True):
        assert cells[0] == parameter.name and cells[3] == parameter.description
    values = [float(data.get("value")) for data in root.iter("data")]
    assert [p.value for p in model.parameters] == values[1:]
    (image,) = root.iter("img")
    kind, _, data = image.get("src").partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(BytesIO(b64decode(data))) as picture:
        assert len(picture.getcolors(maxcolors=1 << 20)) > 500


@pytest.mark.parametrize("name", ["agv", "rolling-disk", "tractor-trailer", "manipulator-6r"])
def test_the_picture_of_a_model_is_its_run_at_the_start(name):
    """Without a simulation, and yet every body stands where the scenario puts it."""
    system = system_of(name)
    still = start_frame(system)
    first = frames(system, run_of(name), times=[0.0])
    assert still.bodies == first.bodies
    np.testing.assert_allclose(still.positions, first.positions, atol=1e-9)
    np.testing.assert_allclose(still.centers, first.centers, atol=1e-9)
    turned = np.sum(still.quaternions * first.quaternions, axis=-1)
    np.testing.assert_allclose(np.abs(turned), 1.0, atol=1e-12)


def test_a_model_without_a_start_has_no_picture():
    b = ns.ModelBuilder(name="flat", gravity=(0.0, 0.0, -9.81))
    b.body("disk", mass=1.0, inertia=(0.1, 0.1, 0.2))
    b.joint("disk", ns.joints.Free(), parent="world", child="disk")
    wheel = ns.surfaces.Disk(radius=0.5, axis=(0.0, 0.0, 1.0))
    b.contact(ns.contacts.Rolling(name="rim", body="disk", wheel=wheel))
    model = b.build()
    # a disk that lies flat touches nowhere in particular
    assert portrait(model) is None
    root = ElementTree.fromstring(displays.model_html(model))
    assert root.find(".//img") is None and "rim" in words(root)


def test_what_check_found():
    report = ns.check(ns.load("tractor-trailer"))
    root = ElementTree.fromstring(displays.check_html(report))
    said = words(root)
    for name, _ in (*report.coordinates, *report.speeds, *report.inputs, *report.speed_inputs):
        assert name in said
    assert "tractor.rate (rad/s)" in said and report.scenario in said
    assert f"degrees of freedom{report.degrees_of_freedom}" in said.replace(" ", "").replace(
        "degreesoffreedom", "degrees of freedom"
    )
    for warning in report.warnings:
        assert warning.what in said


# runs


def test_a_run_shows_its_verdicts_and_every_column():
    run = run_of("agv")
    root = ElementTree.fromstring(displays.trajectory_html(run))
    assert run.message in words(root)
    values = [float(data.get("value")) for data in root.iter("data")]
    for number in (run.energy_drift, run.slip, run.steps, run.nfev, run.rtol):
        assert number in values
    table = rows(root)[1:]
    assert [cells[0] for cells in table] == list(run.columns)
    cells = {row[0].findtext("code"): row for row in root.iter("tr")}
    for name, (_, column) in run.columns.items():
        shown = [float(data.get("value")) for data in cells[name].iter("data")]
        assert shown == [column[0], column[-1], column.min(), column.max()]
    svg = root.find(".//{http://www.w3.org/2000/svg}svg")
    assert svg is not None and "platform" in words(svg)


def test_a_tracked_path_shows_its_errors():
    result = tracked()
    root = ElementTree.fromstring(displays.trajectory_html(result))
    values = [float(data.get("value")) for data in root.iter("data")]
    for number in (
        result.path_errors.length,
        result.tracking_error,
        float(result.path_errors.heading[-1]),
    ):
        assert number in values


def test_an_audit_shows_its_verdict():
    audit = audited()
    root = ElementTree.fromstring(displays.audit_html(audit))
    said = words(root)
    assert f"Verdict: {audit.verdict}" in said and "friction demand" in said
    assert root.find(".//{http://www.w3.org/2000/svg}svg") is not None


def test_a_certificate_shows_every_check():
    certificate = ns.verify(ns.load("chaplygin-sleigh"))
    root = ElementTree.fromstring(displays.certificate_html(certificate))
    table = rows(root)[1:]
    assert [cells[0] for cells in table] == [f.check for f in certificate.findings]
    assert all(cells[1] == "holds" for cells in table)
    shown = [float(data.get("value")) for data in root.iter("data")]
    worst, *differences, vakonomic = shown
    assert worst == certificate.worst and vakonomic == certificate.vakonomic
    assert differences == [f.disagreement for f in certificate.findings]
    assert "Vakonomic mechanics is a different theory" in words(root)


def test_a_sweep_shows_its_eigenvalues():
    speeds = np.linspace(1.0, 3.0, 3)
    sweep = ns.results.EigenvalueSweep(
        model="cart", name="speed", unit="m/s", values=speeds, states=("a",),
        eigenvalues=(2 - speeds)[:, None].astype(complex),
        growing=np.array([True, False, False]), limits=(2.0,),
    )  # fmt: skip
    root = ElementTree.fromstring(displays.sweep_html(sweep))
    assert "stable: 2 to 3 m/s" in words(root) and "speed (m/s)" in words(root)


def test_a_figure_is_in_the_ink_of_its_page():
    """What a user adds in black and white, too; where that is not allowed, a picture is seen."""
    figure = run_of("agv").plot("inputs", style="paper")
    figure.axes[0].set_title("mine")
    figure.axes[0].plot([0.0, 60.0], [0.01, 0.0], "k", label="black")
    figure.axes[0].legend()
    page = figure._repr_html_()
    root = ElementTree.fromstring(page)
    svg = root.find(".//{http://www.w3.org/2000/svg}svg")
    width = displays.figure_png(figure)[1]["width"]
    assert f"max-width: {width}px;" in svg.get("style") and "fill: currentColor" in svg.get("style")
    styles = [element.get("style", "") for element in svg.iter()]
    colors = {color for style in styles for color in re.findall("(?:fill|stroke): ([^;]+)", style)}
    assert "currentColor" in colors and not colors & {"#000000", "#ffffff", INK}
    # letters are drawn: a browser need not know the font of the equations
    assert not list(svg.iter("{http://www.w3.org/2000/svg}text"))
    (image,) = root.find("div").iter("img")
    assert root.find("div").get("class") == "untrusted" and "display: none" in root.findtext(
        "style"
    )
    with Image.open(BytesIO(b64decode(image.get("src").partition(",")[2]))) as picture:
        assert picture.width == pytest.approx(width, abs=1)


# animations


class FramesFound(HTMLParser):
    """Attributes of the frames and images of a page."""

    def __init__(self, page):
        super().__init__()
        self.frames, self.images = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in ("iframe", "img"):
            (self.frames if tag == "iframe" else self.images).append(dict(attrs))


def test_an_animation_is_a_player_complete_in_itself(capsys):
    player = run_of("chaplygin-sleigh").animate(rate=5.0, title="a <sleigh>")
    # neither the server that records it nor its end is heard of
    assert capsys.readouterr() == ("", "")
    found = FramesFound(player._repr_html_())
    [frame], [image] = found.frames, found.images
    assert frame["srcdoc"] == player.page and frame["sandbox"] == "allow-scripts"
    assert "<b>a &lt;sleigh&gt;</b>" in player.page and "grid " in player.page
    # what is seen where frames are not allowed
    kind, _, data = image["src"].partition(",")
    assert kind == "data:image/png;base64" and b64decode(data) == player.still
    assert frame["title"] == image["alt"] == "a <sleigh>"
    assert len(repr(player)) < 100


# text of models


def sled_with_markup():
    """A model whose free texts are markup."""
    b = ns.ModelBuilder(
        name="sled", gravity=(0.0, 0.0, -9.81), description=MARKUP, references=(MARKUP,)
    )
    b.parameter("m", 1.0, "kg", MARKUP)
    b.input("F", "N", MARKUP)
    b.body("sled", mass="m", moment=1.0)
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled", description=MARKUP)
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.force(ns.forces.Motor(name="push", speed="sled.vx", input="F"))
    b.scenario(ns.Scenario(duration=0.5, samples=5, inputs={"F": 1.0}, description=MARKUP))
    return b.build()


def test_text_of_a_model_never_becomes_markup():
    """Not even its name, which the checks would refuse."""
    model = sled_with_markup()
    system = ns.compile(ns.derive(model))
    result = ns.run_scenario(system)
    changed = dataclasses.replace(model, name=MARKUP)
    run = dataclasses.replace(result, model=changed, message=MARKUP, notes=(MARKUP,))
    audit = ns.audit(system, result)
    pages = [
        displays.model_html(changed),
        displays.check_html(dataclasses.replace(ns.check(model), model=MARKUP)),
        displays.trajectory_html(run),
        displays.certificate_html(dataclasses.replace(ns.verify(model), model=MARKUP)),
        displays.audit_html(dataclasses.replace(audit, model=MARKUP)),
        equations_html(ns.derive(model)),
    ]
    for page in pages:
        root = ElementTree.fromstring(page)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "b"}
        assert MARKUP in words(root)


# IPython


class Formatter:
    """The part of IPython's formatters that takes a type by its name."""

    def __init__(self):
        self.known = {}

    def for_type_by_name(self, module, name, function):
        self.known[module, name] = function


def test_ipython_is_told_by_name(monkeypatch):
    formatters = {kind: Formatter() for kind in ("text/html", "text/latex", "image/png")}
    shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(formatters=formatters))
    ipython = types.SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert install_displays()
    html = formatters["text/html"].known
    assert set(html) == {EQUATIONS, *TABLES} and html[EQUATIONS] is equations_html
    assert formatters["text/latex"].known == {EQUATIONS: equations_latex}
    report = ns.check(sled_with_rotor())
    assert html["noslip.show.check", "CheckReport"](report) == displays.check_html(report)
    figure = ns.plot(run_of("agv"), "inputs")
    assert formatters["image/png"].known[FIGURE](figure) == displays.figure_png(figure)


def test_the_names_are_those_of_the_types():
    from matplotlib.figure import Figure

    kinds = (
        ns.Model,
        ns.results.CheckReport,
        ns.results.Certificate,
        ns.Trajectory,
        ns.results.Audit,
        ns.results.EigenvalueSweep,
    )
    kinds += (ns.results.MethodMatrices, ns.results.RunComparison)
    assert {(kind.__module__, kind.__qualname__) for kind in kinds} == set(TABLES)
    assert (ns.Equations.__module__, ns.Equations.__qualname__) == EQUATIONS
    assert (Figure.__module__, Figure.__qualname__) == FIGURE
    for function in TABLES.values():
        assert callable(getattr(displays, function))


def test_a_notebook_that_imports_noslip_needs_no_call():
    """In a process where IPython is loaded first, the import itself registers the displays."""
    script = (
        "import sys, types\n"
        "known = {}\n"
        "class F:\n"
        "    def for_type_by_name(self, module, name, function): known[module, name] = function\n"
        "shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(\n"
        "    formatters={k: F() for k in ('text/html', 'text/latex', 'image/png')}))\n"
        "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=lambda: shell)\n"
        "import noslip\n"
        "print(sorted(known), 'matplotlib' in sys.modules, 'numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    expected = sorted([EQUATIONS, FIGURE, *TABLES])
    assert done.stdout.strip() == f"{expected} False False", done.stderr


def test_the_notebook_of_the_methods_objects_runs():
    """Every cell, in order; one that ends in an object shows it as a page with mathematics."""
    path = Path(__file__).parents[3] / "examples" / "methods.ipynb"
    cells = [c for c in json.loads(path.read_text("utf-8"))["cells"] if c["cell_type"] == "code"]
    namespace, shown = {}, []
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), "cell", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), namespace))
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), namespace)
    pages = [matrices_html(x) for x in shown if isinstance(x, ns.results.MethodMatrices)]
    assert len(pages) == 2 and all("<math" in page for page in pages)
    r, d = (namespace["symbols"].symbols[n] for n in "rd")
    assert -r * d in shown
