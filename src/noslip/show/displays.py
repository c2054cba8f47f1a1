"""Notebook displays of each type: its name, a picture, tables; all text escaped."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from noslip import Model, NoslipError, System, derive
from noslip.base import counted
from noslip.scene import ground_joints, scene, start_frame
from noslip.show.comparison import RunComparison
from noslip.show.equations.documents import UNTRUSTED
from noslip.show.headlines import axis_label
from noslip.show.report.elements import (
    Html,
    code,
    facts,
    folded,
    heading,
    joined,
    number,
    paragraph,
    quantity,
    remark,
    table,
    text,
    unit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from noslip import Model, Trajectory
    from noslip.results import Audit, Certificate, EigenvalueSweep
    from noslip.show.check import CheckReport
    from noslip.show.matrices import MethodMatrices
    from noslip.show.plots.sheets import Sheet


WIDTH, HEIGHT = 360, 240


def portrait(model: Model, *, width: int = WIDTH, height: int = HEIGHT) -> Image | None:
    """A picture of a model, as its scenario starts; None for a model that has no start."""
    from noslip.scene import Film

    try:
        frame = start_frame(System(equations=derive(model)))
    except NoslipError:
        return None
    film = Film(
        scene=scene(model),
        frames=frame,
        width=width,
        height=height,
        traces=False,
        caption=None,
    )
    return film.picture(0)


#: Only within what noslip shows, in the colors of the page around it. Notebooks have rules of their
#: own for tables and lists (stripes, flush right, narrow words), which are longer than one class.
STYLE = files("noslip.show").joinpath("displays.css").read_text("utf-8").strip()


def model_html(model: Model) -> str:
    """A model: a still of it, its parts, its parameters and its scenario."""
    drawn = portrait(model)
    picture = _image(drawn, model.name) if drawn is not None else Html("")
    counts = [
        ("bodies", [b.name for b in model.bodies]),
        ("joints", [f"{j.name} ({type(j.type).word})" for j in model.joints]),
        ("contacts", [c.name for c in model.contacts]),
        ("definitions", [f"{d.name} = {d.expression}" for d in model.definitions]),
        ("constraint rows", [r.name for r in model.rows]),
        ("forces", [f.name for f in model.forces]),
        ("inputs", [axis_label(i.name, i.unit) for i in model.inputs]),
        ("speed inputs", [f"{i.name} of {i.speed}" for i in model.speed_inputs]),
        ("references", list(model.references)),
    ]
    parts = [facts((word, text(", ".join(names))) for word, names in counts if names)]
    if model.scenario is not None:
        said = model.scenario.description or "a run of its own"
        parts.append(paragraph(text(f"Scenario: {said}; "), quantity(model.scenario.duration, "s")))
    rows = [
        (code(p.name), number(p.value), unit(p.unit), text(p.description)) for p in model.parameters
    ]
    below = [_parameters(rows)] if rows else []
    return _shown(model.name, model.description, _beside(picture, joined(parts)), *below)


def _parameters(rows: Sequence[Sequence[Html]]) -> Html:
    header = ("parameter", "value", "unit", "meaning")
    inside = table(
        "Nominal values; they can be changed without recompiling", header, rows, numbers={1}
    )
    return folded(counted(len(rows), "parameter"), inside)


def check_html(report: CheckReport) -> str:
    """HTML of a check's report."""

    def listed(pairs: Iterable[tuple[str, str]]) -> Html:
        return text(", ".join(axis_label(name, u) for name, u in pairs) or "none")

    def named(names: Iterable[str]) -> Html:
        return text(", ".join(names) or "none")

    found = [
        ("degrees of freedom", number(report.degrees_of_freedom)),
        ("bodies", named(report.bodies)),
        ("coordinates", listed(report.coordinates)),
        ("tree speeds", listed(report.speeds)),
        ("independent speeds", listed(report.independent_speeds)),
        ("holonomic rows", named(report.holonomic_rows)),
        *((title, text(said)) for title, said in report.velocity_constraints()),
        ("redundant rows", named(name for name, _ in report.redundant_rows)),
        ("force inputs", listed(report.inputs)),
        ("speed inputs", listed(report.speed_inputs)),
    ]
    if report.scenario:
        found.append(("scenario", text(report.scenario)))
    warnings = [
        remark("warn", text(w.what), Html("<br/>"), text(f"{w.where}: {w.fix}"))
        for w in report.warnings
    ]
    rows = [(code(n), number(v), unit(u), text(d)) for n, v, u, d in report.parameters]
    below = [_parameters(rows)] if rows else []
    return _shown(report.model, report.description, facts(found), *warnings, *below)


def certificate_html(certificate: Certificate) -> str:
    """Verdict and table of a certificate."""
    verb = "agree" if certificate.holds else "do not agree"
    verdict = remark(
        "good" if certificate.holds else "bad",
        text(f"{len(certificate.formulations)} formulations {verb} at {certificate.states} random "
             "states; largest relative difference "),
        number(certificate.worst, 2),
    )  # fmt: skip
    rows = [
        (
            text(finding.check),
            text("holds" if finding.holds else "fails"),
            number(finding.disagreement, 2),
            text(finding.where),
        )
        for finding in certificate.findings
    ]
    checks = table("Checks", ("check", "result", "difference", "where"), rows, numbers={2})
    compared = paragraph(text(", ".join(certificate.formulations)))
    other = paragraph(text("Vakonomic mechanics coincides: the constraints are integrable."))
    if not certificate.vakonomic <= certificate.TOLERANCE:
        said = text("Vakonomic mechanics is a different theory: its accelerations differ by ")
        other = paragraph(said, number(certificate.vakonomic, 2))
    return _shown(f"{certificate.model}: certificate", "", verdict, compared, checks, other)


def audit_html(audit: Audit) -> str:
    """The no-slip audit: friction demand, loads and verdict."""
    marks = {"holds": "good", "holds if shared": "warn", "fails": "bad", "unknown": "open"}
    lines = [(line[:21].strip(), text(line[21:].strip())) for line in audit.text().splitlines()]
    parts = [remark(marks[audit.verdict], text(f"Verdict: {audit.verdict}")), facts(lines)]
    if audit.loaded:
        from noslip.show.plots.panels import friction_sheet

        parts.insert(
            0, _sheet(friction_sheet(audit, size="column"), "friction", f"{audit.model}: friction")
        )
    return _shown(f"{audit.model}: no-slip audit", "", *parts)


def trajectory_html(run: Trajectory) -> str:
    """HTML of a run: verdict, errors against a reference, a small picture, and its columns."""
    more = []
    if run.path_errors is not None and len(run.t):
        errors = run.path_errors
        more = [
            ("path", quantity(errors.length, "m")),
            ("largest error", quantity(errors.largest, "m", 3)),
            ("heading error at the end", quantity(float(errors.heading[-1]), "rad", 3)),
        ]
    elif run.errors and len(run.t):
        more = [("tracking error", number(run.tracking_error, 3))]
    return _shown(run.model.name, run.verdict, *_run_parts(run, more))


def comparison_html(comparison: RunComparison) -> str:
    """Runs side by side: what differs in a table, and the paths of those that have one."""
    names = ", ".join(dict.fromkeys(run.model.name for run in comparison.runs))
    parts = [comparison.html(), paragraph(text(comparison.remark))]
    if all(len(run.t) and ground_joints(run) for run in comparison.runs):
        from noslip.show.plots.paths import path_sheet

        drawn = path_sheet(list(comparison.runs), list(comparison.labels), size="column")
        parts = [_beside(_sheet(drawn, "runs", "paths of the runs"), joined(parts))]
    return _shown(f"{names}: {' and '.join(comparison.labels)}", "", *parts)


def _run_parts(run: Trajectory, more: Sequence[tuple[str, Html]]) -> list[Html]:
    span = float(run.t[-1] - run.t[0]) if len(run.t) else 0.0
    found = [
        ("samples", Html(f"{number(len(run.t))} over {quantity(span, 's')}")),
        ("energy drift", Html(f"{number(run.energy_drift, 3)} of the energy exchanged")),
        ("residual of speeds", Html(f"{number(run.slip, 3)} m/s or rad/s")),
        ("residual of positions", Html(f"{number(run.gap, 3)} m or rad")),
        ("method", Html(f"{text(run.method)}, tolerance {number(run.rtol)}")),
        ("effort", Html(f"{number(run.steps)} steps, {number(run.nfev)} evaluations")),
        *more,
    ]
    found += [("note", text(note)) for note in run.notes]
    if not len(run.t):
        return [facts(found)]
    from noslip.show.plots.paths import path_sheet

    if ground_joints(run):
        drawn = path_sheet([run], [run.model.name], size="column", height=2.4)
    else:
        from noslip.show.plots.plotting import named_sheet

        drawn = named_sheet(run, "coordinates", size="column")
    return [_beside(_sheet(drawn, "run", f"{run.model.name}: motion"), facts(found)),
            _columns(run)]  # fmt: skip


def _columns(run: Trajectory) -> Html:
    rows = []
    for name, (of, values) in run.columns.items():
        finite = values[np.isfinite(values)]
        ends = (values[0], values[-1], finite.min(), finite.max()) if finite.size else (np.nan,) * 4
        rows.append((code(name), unit(of), *(number(float(x)) for x in ends)))
    header = ("column", "unit", "start", "end", "least", "largest")
    inside = table("run[name] gives the values", header, rows, numbers={2, 3, 4, 5})
    return folded(f"{len(rows)} columns", inside)


def sweep_html(sweep: EigenvalueSweep) -> str:
    """Eigenvalues against the changed value, and the stable ranges."""
    from noslip.show.plots.plotting import plot

    drawn = _figure(plot(sweep), "sweep", f"{sweep.model}: eigenvalues")
    last = sweep.text().splitlines()[-1].strip()
    return _shown(f"{sweep.model}: eigenvalues over {sweep.name}", "", drawn, paragraph(text(last)))


#: Pixels of the picture for each pixel on the page.
FINER = 2


def figure_png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """A figure of matplotlib as PNG and its width on the page, where no backend shows it.

    Its text is as large as that of the page, and sharp on screens with twice the pixels.
    """
    from noslip.show.plots.painting import SHOWN_DPI, png_bytes

    shown = {"width": round(SHOWN_DPI * float(figure.get_figwidth()))}
    return png_bytes(figure, dpi=FINER * SHOWN_DPI), shown


def _shown(title: str, description: str, *parts: Html) -> str:
    below = paragraph(text(description)) if description else Html("")
    inside = joined([heading(title, 2), below, *parts])
    styles = f"<style>\n{STYLE}\n</style>"
    return f'<div class="noslip">\n{styles}\n{UNTRUSTED}\n{inside}\n</div>'


def _beside(picture: Html, words: Html) -> Html:
    if not picture:
        return words
    return Html(
        f'<div class="beside">\n<div class="picture">{picture}</div>\n'
        f'<div class="words">{words}</div>\n</div>'
    )


def _sheet(drawn: Sheet, name: str, title: str) -> Html:
    from noslip.show.plots.painting import sheet_svg

    return Html(sheet_svg(drawn, name=name, title=title))


def _figure(drawn: Figure, name: str, title: str) -> Html:
    from noslip.show.plots.painting import scrolled, svg_text

    return Html(scrolled(drawn, svg_text(drawn, name=name, title=title)))


def _image(picture: object, name: str) -> Html:
    data = io.BytesIO()
    picture.save(data, format="PNG")  # type: ignore[attr-defined]
    source = base64.b64encode(data.getvalue()).decode("ascii")
    return Html(f'<img alt="{text(name)}" src="data:image/png;base64,{source}"/>')


def matrices_html(matrices: MethodMatrices) -> str:
    """The matrices of a method in MathML, numbers or expressions."""
    from noslip.show.equations.documents import html_fragment

    return html_fragment(matrices.title, matrices.sections())
