"""Reports of sweeps and of fits: single files, as those of runs.

**`write_sweep_report`: a sweep as one page, offline.**

Heat maps and curves of each measure over the design, distributions, Sobol indices, parallel
coordinates, the points that failed and why, and the best, the worst and the typical point with
their motions.

**`write_fit_report`: a fit as one page, offline: what was found, and fit against data.**
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from noslip import NoslipError, SimulationError, Trajectory, __version__
from noslip.base import Array, check_folder, counted, write_atomically
from noslip.identification import UNLIKELY, ColumnFit, FittedCurve, FittedValue
from noslip.results import Fit
from noslip.scene import INK, PALETTE
from noslip.show.headlines import axis_label, unit_text
from noslip.show.plots.painting import sheet_svg
from noslip.show.plots.panels import lay_out
from noslip.show.plots.sheets import LINE, TEXT, Curve, Panel
from noslip.show.report.elements import (
    SPACE,
    Html,
    PageSection,
    Verdict,
    code,
    command_section,
    facts,
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
from noslip.show.report.sections import NAMESPACE, animation
from noslip.sweeps import (
    AxisFactor,
    PointEnding,
    SobolIndices,
    StoreReader,
    point_values,
)

REPORT = "report.html"
#: Points that are read for the page; of more an even share.
MOST_READ = 1_000_000
#: Lines of parallel coordinates, and rows of the table of failures.
LINES, ROWS = 400, 20
#: Measures with a section of their own, and those that the page opens with.
SECTIONS, ANSWERS = 24, 5
#: Measures whose sections are open; the others, and all else, open on a click.
UNFOLDED = 1
#: A Sobol index is of no more digits than this; what is smaller is zero.
INDEX_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSubject:
    """A sweep and what is read of it."""

    reader: StoreReader  #: reader of its store
    points: np.ndarray  #: points that are read, all or an even selection of them
    inputs: dict[str, np.ndarray]  #: name → values there
    measures: dict[str, np.ndarray]  #: values at the points of measures that are one number a point
    endings: np.ndarray  #: codes there

    @property
    def is_whole(self) -> bool:
        """Whether all points were read."""
        return len(self.points) == self.reader.design.size

    def unit(self, name: str) -> str:
        """Unit of a measure or an input, as it is printed."""
        data = self.reader.store.data
        own = data["variables"].get(name, {}).get("unit", data["units"].get(name, ""))
        return unit_text(own) if own else ""


def write_sweep_report(folder: str | Path, *, command: str = "", motions: bool = True) -> Path:
    """Write ``report.html`` into the folder of a sweep.

    Parameters
    ----------
    folder : folder of the sweep, which may still run.
    command : command that reproduces it.
    motions : play the best, the worst and the typical point.

    Raises
    ------
    SimulationError : the folder holds no sweep.
    """
    target = Path(folder) / REPORT
    document = sweep_html(folder, command=command, motions=motions)
    write_atomically(target, lambda path: path.write_text(document, encoding="utf-8"))
    return target


def sweep_html(folder: str | Path, *, command: str = "", motions: bool = True) -> str:
    """The page of :func:`write_sweep_report` as text."""
    subject = _gather(StoreReader.open(folder))
    store = subject.reader.store
    name = store.data["model_name"]
    shown = _measure_sections(subject)
    folded = [*shown[UNFOLDED:], _chosen(subject, motions), _sensitivities(subject)]
    folded += [_parallel(subject), _failures(subject), _design(subject)]
    folded += [_environment(subject), command_section(command)]
    sections = [replace(section, is_folded=True) for section in folded if section is not None]
    return page(
        f"{name}: report of a sweep",
        heading=f"{name}: a sweep",
        lead=Html(f'<p class="made">Report of a sweep, made by noslip {__version__}</p>'),
        opening=Html(f'<section aria-label="Summary">{verdicts(_answers(subject))}</section>'),
        parts=[*shown[:UNFOLDED], *sections],
    )


def _gather(reader: StoreReader) -> SweepSubject:
    size = reader.design.size
    step = max(1, -(-size // MOST_READ))
    points = np.arange(0, size, step)
    variables = reader.store.data["variables"]
    plain = [m for m in reader.store.request.measures if not variables[m]["dimension"]]
    return SweepSubject(
        reader=reader,
        points=points,
        inputs=reader.design.values(points),
        measures={m: reader.read(m, points) for m in plain},
        endings=reader.endings(points),
    )


def _answers(subject: SweepSubject) -> list[Verdict]:
    reader = subject.reader
    size, done, failed = reader.design.size, reader.num_done, reader.num_failed_points
    excluded = int((subject.endings == PointEnding.EXCLUDED).sum())
    said = [f"{size - done} left"] if done < size else []
    said += [f"{excluded} excluded"] if excluded else []
    said.append(f"{failed} failed, each with its reason" if failed else "none failed")
    points = Verdict(
        mark="bad" if failed else "good" if reader.is_complete else "open",
        label="Points",
        answer=text(f"{done} of {size}"),
        comment=text(", ".join(said)),
        link="failures" if failed else "design",
    )
    return [*_ranges(subject), points]


def _ranges(subject: SweepSubject) -> list[Verdict]:
    """From where to where each of the first measures goes, and at which points."""
    found = []
    for k, (measure, values) in enumerate(list(subject.measures.items())[:ANSWERS]):
        good = np.flatnonzero(np.isfinite(values))
        if not len(good):
            continue
        least, most = (int(good[pick(values[good])]) for pick in (np.argmin, np.argmax))
        low, high = number(values[least], 3), quantity(values[most], subject.unit(measure), 3)
        alike = number_text(values[least], 3) == number_text(values[most], 3)
        ends = "the same at all points"
        if not alike:
            ends = f"least at {_point(subject, least)}; largest at {_point(subject, most)}"
        found.append(
            Verdict(
                mark="",
                label=measure,
                answer=high if alike else Html(f"{low} to {high}"),
                comment=text(ends),
                link=f"measure-{k}",
            )
        )
    return found


def _point(subject: SweepSubject, place: int) -> str:
    """Values of what is varied at a point, those of the first factors."""
    values = point_values(subject.inputs, place)
    some = list(values.items())[:3]
    shown = ", ".join(
        f"{name} = {number_text(x, 3)} {subject.unit(name)}".rstrip().replace(" ", SPACE)
        for name, x in some
    )
    return shown + (", …" if len(values) > len(some) else "")


def _design(subject: SweepSubject) -> PageSection:
    request = subject.reader.store.request
    rows = []
    for factor in request.design.factors:
        data = factor.to_json()
        given = data.get("sample") or data["values"]
        for name, spec in zip(factor.names, given, strict=True):
            shown = spec if isinstance(spec, str) else ", ".join(f"{x:g}" for x in spec[:8])
            more = "" if isinstance(spec, str) or len(spec) <= 8 else ", …"
            how = f"{data['sampling']}, seed {data['seed']}" if "sample" in data else "grid"
            rows.append(
                [
                    text(name),
                    text(subject.unit(name)),
                    text(f"{shown}{more}"),
                    text(str(len(factor))),
                    text(how),
                ]
            )
    entries = [(f"setting {name}", text(value)) for name, value in request.settings.items()]
    entries += [("condition", text(c.text)) for c in request.design.conditions]
    parts = [
        table("What is varied", ("name", "unit", "values", "number", "how"), rows, numbers=(3,)),
        facts([("work", text(request.work)), *entries]),
    ]
    if not subject.is_whole:
        parts.append(
            paragraph(text(f"This page shows {len(subject.points)} of them, evenly spread."))
        )
    return PageSection(key="design", title="Design", body=joined(parts))


def _measure_sections(subject: SweepSubject) -> list[PageSection]:
    found = []
    for k, measure in enumerate(list(subject.measures)[:SECTIONS]):
        values = subject.measures[measure]
        good = np.isfinite(values)
        if not good.any():
            body = paragraph(text("No point has a value."))
        else:
            low, middle, high = np.quantile(values[good], [0.0, 0.5, 1.0])
            unit = subject.unit(measure)
            summary = facts(
                [
                    ("least", quantity(low, unit, 4)),
                    ("median", quantity(middle, unit, 4)),
                    ("largest", quantity(high, unit, 4)),
                ]
            )
            body = joined(
                [summary, Html(f'<div class="figures">{_figures(subject, measure)}</div>')]
            )
        found.append(PageSection(key=f"measure-{k}", title=measure, body=body))
    return found


def _figures(subject: SweepSubject, measure: str) -> Html:
    values = subject.measures[measure]
    axes = [f for f in subject.reader.design.factors if isinstance(f, AxisFactor) and len(f) > 1]
    shown = []
    if subject.is_whole and axes:
        grid = values.reshape(subject.reader.design.shape)
        if len(axes) >= 2:
            shown.append(figure(_heat_map(subject, axes[0], axes[1], grid, measure), "Heat map"))
        shown += [
            figure(_curves(subject, factor, grid, measure), _caption(factor, len(axes)))
            for factor in axes[:3]
        ]
    shown.append(figure(_histogram(subject, measure), "Distribution"))
    for name in _drawn(subject)[:3]:
        shown.append(figure(_scatter(subject, name, measure), f"Over {name}"))
    return joined(shown)


def _caption(factor: AxisFactor, count: int) -> str:
    return f"Over {factor.dimension}" + (": mean, and range over the others" if count > 1 else "")


def _drawn(subject: SweepSubject) -> list[str]:
    factors = subject.reader.design.factors
    return [n for f in factors if not isinstance(f, AxisFactor) for n in f.names]


def _label(subject: SweepSubject, name: str) -> str:
    return axis_label(name, subject.unit(name))


def _svg(draw: Any, title: str, *, width: float = 3.8, height: float = 2.6) -> Html:
    """A figure of matplotlib as text of the page, in its ink."""
    from matplotlib.figure import Figure

    from noslip.show.plots.painting import dress, svg_text

    made = Figure(figsize=(width, height), layout="constrained")
    draw(made)
    for axes in made.axes:
        dress(axes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set(fontsize=TEXT, color=INK, parse_math=False)
    name = re.sub(r"\W+", "-", title, flags=re.ASCII)
    return Html(svg_text(made, name=name, title=title))


def _heat_map(
    subject: SweepSubject, one: AxisFactor, other: AxisFactor, grid: np.ndarray, measure: str
) -> Html:
    factors = subject.reader.design.factors
    keep = [factors.index(one), factors.index(other)]
    rest = tuple(k for k in range(grid.ndim) if k not in keep)
    shown = _mean_over(grid, rest)

    def draw(made: Any) -> None:
        axes = made.add_subplot()
        x, y = other.table[:, 0], one.table[:, 0]
        drawn = axes.pcolormesh(x, y, shown, shading="nearest", cmap="viridis", rasterized=True)
        axes.set(xscale=_scale(other), yscale=_scale(one))
        axes.set_xlabel(_label(subject, other.names[0]))
        axes.set_ylabel(_label(subject, one.names[0]))
        bar = made.colorbar(drawn, ax=axes, label=_label(subject, measure))
        bar.outline.set_visible(False)

    return _svg(draw, f"{measure} over {one.dimension} and {other.dimension}")


def _curves(subject: SweepSubject, factor: AxisFactor, grid: np.ndarray, measure: str) -> Html:
    k = subject.reader.design.factors.index(factor)
    flat = np.moveaxis(grid, k, 0).reshape(len(factor), -1)
    order = np.argsort(factor.table[:, 0])

    def draw(made: Any) -> None:
        axes = made.add_subplot()
        x = factor.table[order, 0]
        if flat.shape[1] > 1:
            with np.errstate(all="ignore"):
                low, high = np.fmin.reduce(flat, axis=1), np.fmax.reduce(flat, axis=1)
            axes.fill_between(x, low[order], high[order], color=PALETTE[0], alpha=0.2, linewidth=0)
        mean = _mean_over(flat, (1,))[order]
        axes.plot(x, mean, marker="." if len(x) < 40 else "", color=PALETTE[0], linewidth=LINE)
        axes.set_xscale(_scale(factor))
        axes.set_xlabel(_label(subject, factor.names[0]))
        axes.set_ylabel(_label(subject, measure))

    return _svg(draw, f"{measure} over {factor.dimension}")


def _scale(factor: AxisFactor) -> str:
    """Scale of an axis: that of its range."""
    return "log" if str(factor.specs[0]).startswith("log:") else "linear"


def _mean_over(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Mean of what there is."""
    there = np.isfinite(values)
    count = there.sum(axis=axes)
    total = np.where(there, values, 0.0).sum(axis=axes)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def histogram_edges(values: Array) -> Array:
    """Edges of the bars of a histogram: √n bars, and one about values that differ by rounding."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    count = int(np.clip(np.sqrt(len(values)), 5, 60))
    size = max(abs(low), abs(high))
    if high / 2 - low / 2 <= 4 * count * np.spacing(size):
        half = 0.05 * size or 0.5
        return np.array([low - half, high + half])
    part = np.linspace(0.0, 1.0, count + 1)
    edges = low * (1.0 - part) + high * part
    edges[[0, -1]] = low, high
    return edges


def _histogram(subject: SweepSubject, measure: str) -> Html:
    values = subject.measures[measure]

    def draw(made: Any) -> None:
        axes = made.add_subplot()
        good = values[np.isfinite(values)]
        axes.hist(good, bins=histogram_edges(good), color=PALETTE[0], rwidth=0.94)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(_label(subject, measure))
        axes.set_ylabel("points")

    return _svg(draw, f"distribution of {measure}")


def _scatter(subject: SweepSubject, name: str, measure: str) -> Html:
    step = max(1, len(subject.points) // 3000)

    def draw(made: Any) -> None:
        axes = made.add_subplot()
        axes.plot(
            subject.inputs[name][::step],
            subject.measures[measure][::step],
            ".",
            markersize=3,
            alpha=0.5,
            color=PALETTE[0],
            rasterized=True,
        )
        axes.set_xlabel(_label(subject, name))
        axes.set_ylabel(_label(subject, measure))

    return _svg(draw, f"{measure} over {name}")


def _parallel(subject: SweepSubject) -> PageSection | None:
    """Each point a line through its values, colored by the first measure."""
    names = [*subject.inputs, *list(subject.measures)[:4]]
    columns = {**subject.inputs, **subject.measures}
    if not subject.measures or len(names) < 3:
        return None
    key = next(iter(subject.measures))
    good = np.flatnonzero(np.isfinite(subject.measures[key]))
    if len(good) < 2:
        return None
    some = good[np.unique(np.linspace(0, len(good) - 1, LINES).astype(int))]

    def draw(made: Any) -> None:
        from matplotlib import colormaps

        axes = made.add_subplot()
        scaled = []
        for name in names:
            column = columns[name][some]
            low, span = np.nanmin(column), np.ptp(column[np.isfinite(column)])
            scaled.append((column - low) / (span if span > 0 else 1.0))
        lines = np.stack(scaled, axis=1)
        shades = colormaps["viridis"](scaled[names.index(key)])
        for line, shade in zip(lines, shades, strict=True):
            axes.plot(range(len(names)), line, color=shade, linewidth=0.6, alpha=0.6)
        ends = [(np.nanmin(columns[n][some]), np.nanmax(columns[n][some])) for n in names]
        axes.set_xticks(
            range(len(names)),
            [f"{n}\n{a:.3g} … {b:.3g}" for n, (a, b) in zip(names, ends, strict=True)],
            fontsize=7,
        )
        axes.set_yticks([])

    drawn = _svg(draw, "parallel coordinates", width=max(6.0, 1.5 * len(names)), height=3.6)
    words = f"{len(some)} points; colors follow {key}."
    body = joined([paragraph(text(words)), figure(drawn, "Parallel coordinates")])
    return PageSection(key="parallel", title="Parallel coordinates", body=body)


def indices_of(subject: SweepSubject, measure: str) -> SobolIndices | None:
    """Sobol indices of a measure, where the design gives them."""
    design, values = subject.reader.design, subject.measures[measure]
    if design.conditions:
        return None
    drawn = _drawn(subject)
    if drawn and len(design.factors) == 1:
        return SobolIndices.of_sample({n: subject.inputs[n] for n in drawn}, values)
    if not drawn and subject.is_whole and np.isfinite(values).all() and len(design.factors) > 1:
        names = tuple(f.dimension for f in design.factors)
        return SobolIndices.of_grid(names, values.reshape(design.shape))
    return None


def _sensitivities(subject: SweepSubject) -> PageSection | None:
    rows = []
    for measure in subject.measures:
        found = indices_of(subject, measure)
        for name, first in found.first.items() if found else ():
            total = found.total.get(name) if found else None
            rows.append(
                [
                    text(measure),
                    text(name),
                    text(_index(first)),
                    text(_index(total) if total is not None else "–"),
                ]
            )
    if not rows:
        return None
    words = (
        "Share of a measure's variance that is due to an input alone (first order), and with all "
        "its interactions (total)."
    )
    made = table(
        "Sobol indices", ("measure", "input", "first order", "total"), rows, numbers=(2, 3)
    )
    body = joined([paragraph(text(words)), made])
    return PageSection(key="sensitivity", title="Sensitivity", body=body)


def _index(value: float) -> str:
    return number_text(round(float(value), INDEX_DIGITS) + 0.0, INDEX_DIGITS)


def _failures(subject: SweepSubject) -> PageSection:
    reader = subject.reader
    points = reader.failed_points()
    if not len(points):
        return PageSection(
            key="failures", title="Failures", body=paragraph(text("No point failed."))
        )
    some = points[:10_000]
    codes, reasons = reader.endings(some), reader.reasons(some)
    values = reader.design.values(some)
    kinds: Counter[str] = Counter()
    example: dict[str, int] = {}
    for k, (ending, reason) in enumerate(zip(codes.tolist(), reasons, strict=True)):
        key = f"{PointEnding(ending).words}: {reason.split(' (t = ')[0]}"
        kinds[key] += 1
        example.setdefault(key, k)
    rows = [
        [
            text(key),
            text(str(count)),
            text(
                ", ".join(f"{n} = {x:.6g}" for n, x in point_values(values, example[key]).items())
            ),
        ]
        for key, count in kinds.most_common(ROWS)
    ]
    made = table("Why points failed", ("reason", "points", "for example"), rows, numbers=(1,))
    return PageSection(key="failures", title="Failures", body=made)


def _chosen(subject: SweepSubject, motions: bool) -> PageSection | None:
    """The points with the largest, the least and the median value of the first measure."""
    if not subject.measures:
        return None
    measure, values = next(iter(subject.measures.items()))
    shown = (PointEnding.FINISHED, PointEnding.EVENT, PointEnding.NOT_RUN)
    good = np.flatnonzero(np.isfinite(values) & np.isin(subject.endings, shown))
    if not len(good):
        return None
    order = good[np.argsort(values[good], kind="stable")]
    chosen = {"Largest": order[-1], "Least": order[0], "Typical": order[len(order) // 2]}
    parts = [paragraph(text(f"By {measure}, the first measure."))]
    for word, place in chosen.items():
        point = point_values(subject.inputs, int(place))
        parts.append(
            heading(f"{word}: {number_text(float(values[place]), 4)} {subject.unit(measure)}")
        )
        parts.append(
            facts([(name, quantity(x, subject.unit(name), 4)) for name, x in point.items()])
        )
        if motions:
            parts.append(_motion(subject, point))
    return PageSection(key="chosen", title="Best, worst and typical", body=joined(parts))


def run_of_point(reader: StoreReader, point: dict[str, float]) -> tuple[Any, Trajectory] | None:
    """System and motion at a point; None for works without one."""
    work = reader.store.request.make()
    if not hasattr(work, "run_point"):
        return None
    system = getattr(work, "system", None) or work.run.system
    return system, work.run_point(point)


def _motion(subject: SweepSubject, point: dict[str, float]) -> Html:
    try:
        found = run_of_point(subject.reader, point)
    except NoslipError as error:
        return paragraph(text(f"Its motion cannot be shown: {error.what}."))
    if found is None or len(found[1].t) < 2:
        return Html("")
    return animation(*found)


def _environment(subject: SweepSubject) -> PageSection:
    target = subject.reader.store.target
    return PageSection(
        key="environment",
        title="Environment",
        body=facts([(name, text(str(value))) for name, value in target.items()]),
    )


#: Curves with a picture of their own; of more the first.
SHOWN = 60
#: Values that the page opens with.
_MOST_ANSWERS = 6
#: Widths of the band about a fitted curve, standard deviations.
BAND = 2.0


def write_fit_report(found: Fit, path: str | Path, *, command: str = "") -> Path:
    """Write a fit as one self-contained HTML page.

    It holds what was found with intervals and correlations, residuals, and pictures of every
    measured column beside the fitted motion.

    Parameters
    ----------
    found : fit by :func:`fit`.
    path : path of the page; its folder must exist.
    command : command that reproduces it in a terminal.

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
        opening=Html(f'<section aria-label="Summary">{verdicts(_fit_answers(found))}</section>'),
        parts=[_values(found), _against(found), *sections],
    )


def _fit_answers(found: Fit) -> list[Verdict]:
    given = not math.isnan(found.probability)
    white = all(c.is_white for c in found.columns)
    ratio = f"chi-square ratio {number_text(found.reduced_chi_square, 3)}"
    known = found.is_explained and given and found.probability <= 1 - UNLIKELY
    answers = [
        *map(_value_answer, found.values[:_MOST_ANSWERS]),
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
