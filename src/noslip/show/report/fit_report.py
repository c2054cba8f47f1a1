"""`write_fit_report`: a fit as one page, offline: what was found, and fit against data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from noslip import SimulationError, __version__
from noslip.base import check_folder, counted, write_atomically
from noslip.identification import UNLIKELY, ColumnFit, FittedCurve, FittedValue
from noslip.results import Fit
from noslip.scene import INK, PALETTE
from noslip.show.plots.painting import sheet_svg
from noslip.show.plots.panels import lay_out
from noslip.show.plots.sheets import Curve, Panel
from noslip.show.report.elements import (
    Html,
    PageSection,
    Verdict,
    code,
    command_section,
    figure,
    heading,
    joined,
    number,
    number_text,
    page,
    paragraph,
    quantity,
    remark,
    table,
    text,
    unit,
    verdicts,
    words,
)
from noslip.show.report.sections import NAMESPACE

#: Curves with a picture of their own; of more the first.
SHOWN = 60
#: Values that the page opens with.
ANSWERS = 6
#: Widths of the band about a fitted curve, standard deviations.
BAND = 2.0


def write_fit_report(found: Fit, path: str | Path, *, command: str = "") -> Path:
    """Write a fit as one self-contained HTML page.

    It holds what was found with intervals and correlations, residuals, and pictures of every
    measured column beside the fitted motion.

    Parameters
    ----------
    found : what :func:`fit` returned.
    path : of the page; its folder must be there.
    command : that reproduces it on the command line.

    Returns
    -------
    Path : of the page.
    """
    target = check_folder(path, SimulationError)
    document = fit_html(found, command=command)
    write_atomically(target, lambda beside: beside.write_text(document, encoding="utf-8"))
    return target


def fit_html(found: Fit, *, command: str = "") -> str:
    """The page of :func:`write_fit_report` as text."""
    folded = [_residuals(found), _correlations(found), command_section(command)]
    sections = [replace(section, is_folded=True) for section in folded if section is not None]
    return page(
        f"{found.model}: parameters from measurements",
        heading=f"{found.model}: a fit",
        lead=Html(f'<p class="made">Report of a fit, made by noslip {__version__}</p>'),
        opening=Html(f'<section aria-label="Summary">{verdicts(_answers(found))}</section>'),
        parts=[_values(found), _against(found), *sections],
    )


def _answers(found: Fit) -> list[Verdict]:
    given = not math.isnan(found.probability)
    white = all(c.is_white for c in found.columns)
    ratio = f"chi-square ratio {number_text(found.reduced_chi_square, 3)}"
    known = found.is_explained and given and found.probability <= 1 - UNLIKELY
    answers = [
        *map(_value_answer, found.values[:ANSWERS]),
        Verdict(
            mark="bad" if not found.is_explained else "good" if known else "open",
            label="The model explains the data",
            answer=text("no" if not found.is_explained else ratio if given else "not tested"),
            comment=text(found.verdict + (f"; {ratio}" if given and not known else "")),
            link="residuals",
        ),
        Verdict(
            mark="good" if white else "warn",
            label="Residuals are white",
            answer=text("yes" if white else "no"),
            comment=text("successive ones are " + ("independent" if white else "correlated")),
            link="residuals",
        ),
        Verdict(
            mark="",
            label="Data",
            answer=text(f"{sum(c.num_values for c in found.columns)} values"),
            comment=text(
                f"{counted(len(found.runs), 'run')}, {counted(len(found.columns), 'column')}"
            ),
            link="against",
        ),
    ]
    return answers


def _value_answer(v: FittedValue) -> Verdict:
    """A value that was found, with its interval."""
    ends = Html(f"{number(v.low, v.digits)} to {quantity(v.high, v.unit, v.digits)}")
    return Verdict(
        mark="warn" if v.at_bound else "",
        label=v.name,
        answer=quantity(v.value, v.unit, v.digits),
        comment=text("at its bound") if v.at_bound else ends,
        link="values",
    )


def _values(found: Fit) -> PageSection:
    share = f"{100 * found.level:g} %"
    rows = []
    for v in found.values:
        held = text("at its bound") if v.at_bound else Html("")
        ends = joined([number(v.low, v.digits), text(" … "), number(v.high, v.digits)], "")
        prior = "" if v.prior is None else f"{v.prior[0]:.6g} ± {v.prior[1]:.3g}"
        rows.append(
            [
                code(v.name),
                number(v.value, v.digits),
                held if v.at_bound else number(v.error, 2),
                held if v.at_bound else ends,
                unit(v.unit),
                number(v.guess),
                words(prior),
            ]
        )
    header = ("name", "value", "standard deviation", f"{share} interval", "unit", "guess", "prior")
    body = [table("Estimates", header, rows, numbers=(1, 2, 5), stacks=True)]
    body += [remark("warn", text(note[0].upper() + note[1:] + ".")) for note in found.notes]
    return PageSection(key="values", title="Values", body=joined(body))


def _against(found: Fit) -> PageSection:
    parts = [
        paragraph(
            text(
                "Dots are measured. The line is the fitted motion, its band two standard "
                "deviations of the fitted curve; below are the residuals, measured minus fitted."
            )
        )
    ]
    for run in found.runs:
        curves = [c for c in found.curves if c.run == run][:SHOWN]
        if len(found.runs) > 1:
            parts.append(heading(run))
        drawn = [_picture(c, f"{found.runs.index(run)}x{k}") for k, c in enumerate(curves)]
        parts.append(Html(f'<div class="figures">\n{joined(drawn)}\n</div>'))
    return PageSection(key="against", title="Fit and data", body=joined(parts))


def _picture(curve: FittedCurve, name: str) -> Html:
    svg = sheet_svg(
        lay_out(fit_panels(curve), size="column"), name=f"fit{name}", title=f"{curve.column}: fit"
    )
    return figure(Html(svg.replace(NAMESPACE, "", 1)), curve.column)


def fit_panels(curve: FittedCurve) -> list[Panel]:
    """Data and fit, and the residuals below."""
    band = curve.values[:, None] + BAND * curve.error[:, None] * np.array([-1.0, 1.0])
    fitted = Curve(label="fit", x=curve.times, y=curve.values, band=band, color=PALETTE[0])
    dots = Curve(
        label="measured",
        x=curve.measured_times,
        y=curve.measured,
        color=PALETTE[1],
        dashes=(),
        dot=2.2,
    )
    ends = curve.times[[0, -1]]
    zero = Curve(label="zero", x=ends, y=np.zeros(2), color=INK, dashes=())
    left = Curve(
        label="residual",
        x=curve.measured_times,
        y=curve.residuals,
        color=PALETTE[1],
        dashes=(),
        dot=2.2,
    )
    return [
        Panel(name=curve.column, unit=curve.unit, curves=(dots, fitted)),
        Panel(name="residual", unit=curve.unit, curves=(left, zero), has_names=False),
    ]


def _residuals(found: Fit) -> PageSection:
    header = ("column", "measures", "values", "sigma", "", "mean", "RMS", "largest", "correlation")
    rows = [_residual_row(c) for c in found.columns]
    said = (
        f"Chi-square is {number_text(found.chi_square, 5)} for {found.degrees_of_freedom} degrees "
        "of freedom."
    )
    return PageSection(
        key="residuals",
        title="Residuals",
        body=joined(
            [
                table("Measured minus fitted", header, rows, numbers=(2, 3, 5, 6, 7, 8)),
                paragraph(text(said)),
            ]
        ),
    )


def _residual_row(c: ColumnFit) -> list[Html]:
    return [
        code(c.name),
        code(c.expression),
        number(c.num_values),
        quantity(c.sigma, c.unit, 3),
        text("found" if c.is_sigma_found else "given"),
        number(c.shown_mean, 3),
        number(c.rms, 3),
        number(c.largest, 3),
        number(c.correlation, 2),
    ]


def _correlations(found: Fit) -> PageSection | None:
    if len(found.values) < 2:
        return None
    names = [v.name for v in found.values]
    rows = [
        [code(name), *(text(f"{x:+.3f}".replace("-", "−")) for x in row)]
        for name, row in zip(names, found.correlations, strict=True)
    ]
    made = table("Of the estimates", ("", *names), rows, numbers=range(1, len(names) + 1))
    return PageSection(key="correlations", title="Correlations", body=made)
