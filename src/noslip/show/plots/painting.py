"""Painting of sheets: PNG, SVG and PDF files, text, and figures of matplotlib's.

**Figures as files and as text: PNG, SVG and PDF, each whole or not at all, the same every time.**

**Painting of sheets: PNG and SVG stroke by stroke, without axes or artists of matplotlib's.**

`_paint` turns a sheet into lines, areas, dots and texts in points from its lower left corner; two
canvases take them, one of pixels (by matplotlib's renderer and fonts) and one of SVG elements.
Places of numbers, names and legends are those of the figure that matplotlib draws of the same
sheet.

**Figures of matplotlib's, with real axes, from sheets.**
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.ticker import NullLocator

from noslip import SimulationError
from noslip.base import Array, write_atomically
from noslip.scene import INK, PALETTE
from noslip.show.plots.sheets import (
    BELOW_AXIS,
    COLUMN_GAP,
    DASHES,
    EDGE,
    FAINT,
    GAP,
    HAIR,
    LEADING,
    SAMPLE,
    TEXT,
    TICK,
    TICKS,
    TITLE,
    Area,
    Corner,
    Decimals,
    FigureStyle,
    Frame,
    Names,
    Powers,
    Sheet,
    Stroke,
    Ticks,
    linear_locator,
    log_locator,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase


KINDS = (".png", ".svg", ".pdf")
#: Pixels to the inch of files for people.
DPI = 150
#: Pixels to the inch at which a notebook shows figures.
SHOWN_DPI = 104
#: Pixels of a wide figure whose text, of 9 pixels, can be read.
LEAST = 600
#: Colors of the picture that is shown where figures in the ink of the page are not allowed.
COLORS = 64
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"

#: matplotlib's fonts and settings are shared by all threads.
_LOCK = threading.RLock()


class FigureFile:
    """File of a figure, PNG, SVG or PDF by the ending of its name; its folder is there.

    Parameters
    ----------
    path : path of the file.

    Raises
    ------
    SimulationError : the ending is another one, or there is no such folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = target = Path(path)
        self._kind = target.suffix.lower()
        if self._kind not in KINDS:
            raise SimulationError(
                f"a figure cannot be written as '{target.suffix or target.name}'",
                str(target),
                f"let the name of the file end in {', '.join(KINDS[:-1])} or {KINDS[-1]}",
            )
        if not os.path.isdir(target.parent):
            raise SimulationError(
                f"there is no folder '{target.parent}'", str(target), "make it, or correct the path"
            )

    def save(self, figure: Figure, *, dpi: int = DPI) -> Path:
        """Write a figure, all or nothing.

        Parameters
        ----------
        figure : figure by :func:`plot`.
        dpi : pixels to the inch of a PNG.
        """

        def write(temporary: Path) -> None:
            if self._kind == ".png":
                temporary.write_bytes(png_bytes(figure, dpi=dpi))
            elif self._kind == ".svg":
                temporary.write_text(_svg(figure, fonttype="path"), encoding="utf-8")
            else:
                temporary.write_bytes(_pdf(figure))

        write_atomically(self.path, write)
        return self.path


def png_bytes(figure: Figure, *, dpi: int = DPI) -> bytes:
    """A figure as PNG on white paper; `dpi` are pixels to the inch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    data = io.BytesIO()
    with drawing():
        before = figure.dpi
        figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        image = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
        figure.set_dpi(before)
        image.convert("RGB").save(data, format="png", compress_type=3, dpi=(dpi, dpi))
    return data.getvalue()


def svg_text(figure: Figure, *, name: str, title: str = "", outlined: bool = False) -> str:
    """A figure as an SVG element for a page, in the page's own ink, on light and on dark paper.

    What is black is in that ink, too, and what is white is paper. Nothing in it is asked for from
    anywhere.

    `figure`: figure by :func:`plot`. `name`: name of the figure on its page, letters and digits;
    parts of several figures keep apart by it. `outlined`: whether letters are drawn with its own
    fonts; otherwise text stays text, in the page's fonts.
    """
    with _without_paper(figure):
        root = ElementTree.fromstring(_svg(figure, fonttype="path" if outlined else "none"))
    for part in ("metadata", "defs/style", "style"):
        for parent in [root, *root.iter(f"{_SVG}defs")]:
            for child in parent.findall(_SVG + part.rpartition("/")[2]):
                parent.remove(child)
    _keep_apart(root, name)
    for element in root.iter():
        style = element.get("style")
        if style:
            element.set("style", _in_ink(style))
        outline = element.get("d")
        if outline:
            element.set("d", _shorter(outline))
    width, height = root.get("width", ""), root.get("height", "")
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    # black is what is drawn without a word on its color
    own = f"width: 100%; max-width: {width}; height: auto; display: block; fill: currentColor;"
    root.set("style", own)
    root.set("data-size", f"{width} {height}")
    if title:
        root.set("aria-label", title)
    return _without_prefixes(ElementTree.tostring(root, encoding="unicode"))


def figure_html(figure: Figure) -> str:
    """A figure in the ink of the page, light or dark, in its own fonts and as large as its text.

    Where neither styles nor SVG are allowed, as in a notebook that is not trusted, it is a picture.
    """
    from PIL import Image

    data = io.BytesIO()
    with Image.open(io.BytesIO(png_bytes(figure, dpi=SHOWN_DPI))) as picture:
        picture.quantize(COLORS).save(data, format="png")
    source = base64.b64encode(data.getvalue()).decode("ascii")
    plain = f'<img alt="figure" src="data:image/png;base64,{source}"/>'
    svg = scrolled(figure, svg_text(figure, name="figure", outlined=True))
    styles = "<style>.noslip .untrusted { display: none; }</style>"
    return f'<div class="noslip">\n{styles}\n<div class="untrusted">{plain}</div>\n{svg}\n</div>'


def scrolled(figure: Figure, svg: str) -> str:
    """The SVG of a figure as large as the text of a page; on a phone it scrolls in its own box."""
    width = round(SHOWN_DPI * float(figure.get_figwidth()))
    before, _, after = svg.partition("max-width: ")
    sizes = f"max-width: {width}px; min-width: {min(width, LEAST)}px"
    return f'<div style="overflow-x: auto">{before}{sizes}{after[after.index(";") :]}</div>'


def _in_ink(style: str) -> str:
    """The style of an element in the ink and on the paper of the page."""
    for color in (INK, "#000000"):
        style = style.replace(color, "currentColor")
    return style.replace("fill: #ffffff", "fill: none")


def _keep_apart(root: ElementTree.Element, name: str) -> None:
    """Make ids unique by the figure's name as prefix, and drop those that nothing refers to."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r"url\(#([\w-]+)\)", text)) | set(re.findall(r'href="#([\w-]+)"', text))
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", f"{name}-{identity}")
        link = element.attrib.pop(_LINK, None)
        if link:
            # pictures, of what is too much for lines, are in the link itself
            own = link.startswith("data:")
            element.set("href", link if own else f"#{name}-{link[1:]}")
        for attribute in ("clip-path", "style"):
            value = element.get(attribute)
            if value and "url(#" in value:
                element.set(attribute, value.replace("url(#", f"url(#{name}-"))


def _shorter(outline: str) -> str:
    """Round the numbers of a path to a hundredth of a point."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}", outline).replace("\n", " ")


def _without_prefixes(text: str) -> str:
    return text.replace("ns0:", "").replace("xmlns:ns0", "xmlns")


def _svg(figure: Figure, *, fonttype: str) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    settings = {"svg.fonttype": fonttype, "svg.hashsalt": "noslip", "svg.image_inline": True}
    with drawing(settings):
        before = figure.dpi
        figure.set_dpi(72)
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
        figure.set_dpi(before)
    return text.getvalue()


def _pdf(figure: Figure) -> bytes:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    data = io.BytesIO()
    with drawing({"pdf.fonttype": 42}):
        before = figure.dpi
        figure.set_dpi(72)
        FigureCanvasPdf(figure).print_pdf(data, metadata={"CreationDate": None})
        figure.set_dpi(before)
    return data.getvalue()


@contextmanager
def drawing(settings: dict[str, object] | None = None) -> Iterator[None]:
    """Context that holds the lock on matplotlib and applies some of its settings."""
    with _LOCK, matplotlib.rc_context(settings or {}):  # type: ignore[arg-type]
        yield


@contextmanager
def _without_paper(figure: Figure) -> Iterator[None]:
    """Context in which the background of a figure is transparent."""
    before = figure.patch.get_visible()
    figure.patch.set_visible(False)
    try:
        yield
    finally:
        figure.patch.set_visible(before)


#: Left, bottom, right and top, points.
Box = tuple[float, float, float, float]
Anchor = Literal["start", "middle", "end"]

#: Width of the lines of the grid, points.
GRID = 0.5
#: Height of a sample in a legend, in heights of the text.
SAMPLE_HEIGHT = 0.7
#: Between the lines of a label, in heights of the text.
LINE_GAP = 1.15


class Canvas(Protocol):
    """Canvas for the parts of a sheet; everything is in points from the lower left corner."""

    def lines(
        self,
        parts: Sequence[Array],
        *,
        color: str,
        width: float,
        alpha: float = 1.0,
        dashes: Sequence[float] = (),
        clip: Box | None = None,
    ) -> None:
        """Draw lines through points, each (n, 2); `dashes` are points."""

    def areas(self, polygons: Sequence[Array], area: Area, clip: Box | None = None) -> None:
        """Fill polygons, each (n, 2), and draw their outlines."""

    def dot(
        self, x: float, y: float, *, color: str, diameter: float, clip: Box | None = None
    ) -> None:
        """Draw a dot."""

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        anchor: Anchor = "start",
        upright: bool = True,
        bold: bool = False,
    ) -> None:
        """Write a line of text on the baseline through a point, or upwards from it."""


def sheet_png(sheet: Sheet, *, dpi: int = DPI) -> bytes:
    """A sheet as PNG on white paper; `dpi` are pixels to the inch."""
    with drawing():
        canvas = _Pixels(sheet.width, sheet.height, dpi)
        _paint(sheet, canvas)
        return canvas.png()


def sheet_svg(sheet: Sheet, *, name: str, title: str = "") -> str:
    """A sheet as an SVG element for a page, in the page's own ink, on light and on dark paper.

    Its text stays text, in the page's fonts. Nothing in it is asked for from anywhere.

    `name`: name of the figure on its page, letters and digits; parts of several figures keep apart
    by it.
    """
    with drawing():
        canvas = _Elements(sheet.width, sheet.height, name)
        _paint(sheet, canvas)
        return canvas.svg(title)


@cache
def _font(size: float, bold: bool = False) -> FontProperties:
    return FontProperties(size=size, weight="bold" if bold else "normal")


@cache
def _letters(size: float) -> tuple[float, float]:
    """Height of letters as a whole, and above the baseline, points."""
    measured = TextToPath().get_text_width_height_descent("lp", _font(size), False)
    return float(measured[1]), float(measured[1] - measured[2])


def _ascent(size: float) -> float:
    return _letters(size)[1]


def _paint(sheet: Sheet, canvas: Canvas) -> None:
    for frame in sheet.frames:
        _paint_frame(frame, canvas)
    if sheet.title:
        top = 72 * (sheet.height - EDGE) - _ascent(TITLE)
        canvas.text(72 * sheet.left, top, sheet.title, size=TITLE, bold=True)


def _paint_frame(frame: Frame, canvas: Canvas) -> None:
    left, bottom, wide, tall = (72 * x for x in frame.box)
    box = (left, bottom, left + wide, bottom + tall)
    scale = _Scale(frame, box)
    x_ticks = [(scale.x(at), text) for at, text in frame.x_ticks.between(*frame.x_limits)]
    y_ticks = [(scale.y(at), text) for at, text in frame.y_ticks.between(*frame.y_limits)]
    grid = [np.array([[x, bottom], [x, box[3]]]) for x, _ in x_ticks]
    grid += [np.array([[left, y], [box[2], y]]) for y, _ in y_ticks]
    canvas.lines(grid, color=INK, alpha=FAINT, width=GRID, clip=box)
    marks = [np.array([[x, bottom], [x, bottom - TICK]]) for x, _ in x_ticks]
    marks += [np.array([[left, y], [left - TICK, y]]) for y, _ in y_ticks]
    canvas.lines(marks, color=INK, width=HAIR)
    parts: list[Area | Stroke] = [*frame.areas, *frame.strokes]
    for part in sorted(parts, key=lambda part: part.level):
        if isinstance(part, Area):
            canvas.areas([scale.points(*p.T) for p in part.polygons], part, clip=box)
        else:
            _paint_stroke(part, scale.points(part.x, part.y), canvas, box)
    sides = np.array([[left, box[3]], [left, bottom], [box[2], bottom]])
    canvas.lines([sides[:2], sides[1:]], color=INK, width=HAIR)
    if frame.has_numbers:
        for x, text in x_ticks:
            y = bottom - 2 * TICK - _ascent(TICKS)
            canvas.text(x, y, text, size=TICKS, anchor="middle")
    for y, text in y_ticks:
        canvas.text(left - 2 * TICK, y - _ascent(TICKS) / 2, text, size=TICKS, anchor="end")
    if frame.x_label:
        y = bottom - 72 * BELOW_AXIS - _ascent(TEXT)
        canvas.text((left + box[2]) / 2, y, frame.x_label, size=TEXT, anchor="middle")
    x = left - 72 * (frame.room - 0.01) + _ascent(TEXT)
    for k, line in enumerate(frame.y_label.splitlines()):
        at = x + k * LINE_GAP * TEXT
        canvas.text(at, bottom + tall / 2, line, size=TEXT, anchor="middle", upright=False)
    if frame.names is not None:
        _paint_names(frame.names, box, canvas)


def _paint_stroke(stroke: Stroke, points: Array, canvas: Canvas, clip: Box | None) -> None:
    if stroke.dot:
        for x, y in points:
            canvas.dot(x, y, color=stroke.color, diameter=stroke.dot, clip=clip)
        return
    dashes = [stroke.width * length for length in stroke.dashes]
    canvas.lines([points], color=stroke.color, width=stroke.width, dashes=dashes, clip=clip)


def _paint_names(names: Names, box: Box, canvas: Canvas) -> None:
    """The legend: columns of samples, each with its name."""
    columns = [
        part.tolist()
        for part in np.array_split(np.arange(len(names.names)), names.columns)
        if part.size
    ]
    pitch = 72 * LEADING
    left = box[0] + names.at[0] * (box[2] - box[0])
    top = box[1] + names.at[1] * (box[3] - box[1])
    if names.corner.startswith("lower"):
        top += pitch * (max(map(len, columns)) - 1) + _letters(TEXT)[0]
    for column in columns:
        for row, k in enumerate(column):
            y = top - row * pitch - _ascent(TEXT)
            _paint_sample(names.samples[k], left, y, canvas)
            canvas.text(left + 72 * (SAMPLE + GAP), y, names.names[k], size=TEXT)
        widest = max(text_width(names.names[k]) for k in column)
        left += 72 * (SAMPLE + GAP + widest) + COLUMN_GAP * TEXT


def _paint_sample(sample: Stroke | Area, x: float, y: float, canvas: Canvas) -> None:
    wide, tall = 72 * SAMPLE, SAMPLE_HEIGHT * TEXT
    if isinstance(sample, Area):
        corners = np.array([[x, y], [x + wide, y], [x + wide, y + tall], [x, y + tall]])
        canvas.areas([corners], sample)
    elif sample.dot:
        _paint_stroke(sample, np.array([[x + wide / 2, y + tall / 2]]), canvas, None)
    else:
        ends = np.array([[x, y + tall / 2], [x + wide, y + tall / 2]])
        _paint_stroke(sample, ends, canvas, None)


class _Scale:
    """From the units of a frame's axes to points."""

    def __init__(self, frame: Frame, box: Box) -> None:
        self.log = frame.y_ticks.log
        low, high = frame.x_limits
        self._x = (box[0], low, (box[2] - box[0]) / (high - low))
        low, high = frame.y_limits
        if self.log:
            low, high = math.log10(low), math.log10(high)
        self._y = (box[1], low, (box[3] - box[1]) / (high - low))

    def x(self, value: float) -> float:
        start, low, factor = self._x
        return start + (value - low) * factor

    def y(self, value: float) -> float:
        start, low, factor = self._y
        return start + ((math.log10(value) if self.log else value) - low) * factor

    def points(self, x: Array, y: Array) -> Array:
        """(n, 2) points."""
        start, low, factor = self._y
        height = np.log10(y) if self.log else y
        return np.column_stack([self._x[0] + (x - self._x[1]) * self._x[2],
                                start + (height - low) * factor])  # fmt: skip


def _joined(parts: Sequence[Array], *, closed: bool = False) -> Outline:
    """One path of several lines or polygons."""
    if len(parts) == 1 and not closed:
        return Outline(parts[0])
    points, codes = [], []
    for part in parts:
        code = np.full(len(part) + closed, Outline.LINETO, dtype=Outline.code_type)
        code[0] = Outline.MOVETO
        points.append(part)
        if closed:
            code[-1] = Outline.CLOSEPOLY
            points.append(part[:1])
        codes.append(code)
    if not points:
        return Outline(np.empty((0, 2)))
    return Outline(np.concatenate(points), np.concatenate(codes))


class _Pixels:
    """A canvas of pixels."""

    def __init__(self, width: float, height: float, dpi: int) -> None:
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.transforms import Affine2D

        self.size = int(width * dpi + 1e-6), int(height * dpi + 1e-6)
        self.dpi, self.scale = dpi, dpi / 72
        self._renderer = RendererAgg(*self.size, dpi)
        self._transform = Affine2D().scale(self.scale)
        white = self._context("#ffffff", 0.0, 0.0, None)
        corners = np.array([[0, 0], [72 * width, 0], [72 * width, 72 * height], [0, 72 * height]])
        self._renderer.draw_path(
            white, _joined([corners], closed=True), self._transform, (1.0, 1.0, 1.0, 1.0)
        )

    def _context(
        self, color: str, alpha: float, width: float, clip: Box | None
    ) -> GraphicsContextBase:
        from matplotlib.colors import to_rgba
        from matplotlib.transforms import Bbox

        gc = self._renderer.new_gc()
        gc.set_foreground(to_rgba(color, alpha), isRGBA=True)
        gc.set_linewidth(width)
        gc.set_capstyle("projecting")
        gc.set_joinstyle("round")
        if clip is not None:
            left, bottom, right, top = (self.scale * x for x in clip)
            gc.set_clip_rectangle(Bbox.from_extents(left, bottom, right, top))
        return gc

    def lines(
        self,
        parts: Sequence[Array],
        *,
        color: str,
        width: float,
        alpha: float = 1.0,
        dashes: Sequence[float] = (),
        clip: Box | None = None,
    ) -> None:
        gc = self._context(color, alpha, width, clip)
        if dashes:
            gc.set_dashes(0.0, list(dashes))
            gc.set_capstyle("butt")
        self._renderer.draw_path(gc, _joined(parts), self._transform)

    def areas(self, polygons: Sequence[Array], area: Area, clip: Box | None = None) -> None:
        from matplotlib.colors import to_rgba

        for polygon in polygons:
            gc = self._context(area.color, area.edge, area.width, clip)
            face = to_rgba(area.color, area.fill)
            gc.set_joinstyle("miter")
            self._renderer.draw_path(gc, _joined([polygon], closed=True), self._transform, face)

    def dot(
        self, x: float, y: float, *, color: str, diameter: float, clip: Box | None = None
    ) -> None:
        from matplotlib.colors import to_rgba

        gc = self._context(color, 1.0, 1.0, clip)
        circle = Outline.circle((x, y), diameter / 2)
        self._renderer.draw_path(gc, circle, self._transform, to_rgba(color))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        anchor: Anchor = "start",
        upright: bool = True,
        bold: bool = False,
    ) -> None:
        gc = self._context(INK, 1.0, 1.0, None)
        part = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        back = part * text_width(text, size) * self.dpi if part else 0.0
        x, y = self.scale * x, self.scale * y
        x, y = (x - back, y) if upright else (x, y - back)
        turned = 0.0 if upright else 90.0
        self._renderer.draw_text(gc, x, self.size[1] - y, text, _font(size, bold), turned)

    def png(self) -> bytes:
        """PNG of the drawing."""
        from PIL import Image

        data = io.BytesIO()
        pixels = np.asarray(self._renderer.buffer_rgba())
        image = Image.fromarray(pixels).convert("RGB")
        image.save(data, format="png", compress_type=3, dpi=(self.dpi, self.dpi))
        return data.getvalue()


#: Fonts of figures on a page: those of matplotlib's figures, or what has letters as wide.
FONTS = "'DejaVu Sans', 'Bitstream Vera Sans', 'Lucida Grande', 'Verdana', 'Geneva', sans-serif"


class _Elements:
    """A canvas of SVG elements; ``y`` points down in them."""

    def __init__(self, width: float, height: float, name: str) -> None:
        self.width, self.height, self.name = 72 * width, 72 * height, name
        self._elements: list[str] = []
        self._clips: dict[Box, str] = {}

    def lines(
        self,
        parts: Sequence[Array],
        *,
        color: str,
        width: float,
        alpha: float = 1.0,
        dashes: Sequence[float] = (),
        clip: Box | None = None,
    ) -> None:
        paper = (0.0, 0.0, self.width, self.height)
        whole = _joined(parts).cleaned(remove_nans=True, simplify=True, clip=paper)
        if np.size(whole.vertices) < 4:
            return
        style = f"fill: none; stroke: {_ink(color)}; stroke-width: {_number(width)}"
        style += f"; stroke-opacity: {_number(alpha)}" if alpha < 1 else ""
        if dashes:
            style += f"; stroke-dasharray: {','.join(map(_number, dashes))}"
        else:
            style += "; stroke-linecap: square; stroke-linejoin: round"
        outline = self._outline(whole)
        self._elements.append(f'<path d="{outline}"{self._clip(clip)} style="{style}"/>')

    def areas(self, polygons: Sequence[Array], area: Area, clip: Box | None = None) -> None:
        if not polygons:
            return
        ink = _ink(area.color)
        style = f"fill: {ink}; fill-opacity: {_number(area.fill)}"
        if area.width:
            style += f"; stroke: {ink}; stroke-opacity: {_number(area.edge)}"
            style += f"; stroke-width: {_number(area.width)}"
        # outlines of one area lie over each other, so each is an element
        for polygon in polygons:
            outline = self._outline(Outline(polygon)) + " z"
            self._elements.append(f'<path d="{outline}"{self._clip(clip)} style="{style}"/>')

    def dot(
        self, x: float, y: float, *, color: str, diameter: float, clip: Box | None = None
    ) -> None:
        place = f'cx="{_number(x)}" cy="{_number(self.height - y)}" r="{_number(diameter / 2)}"'
        style = f"fill: {_ink(color)}; stroke: {_ink(color)}; stroke-width: 1"
        self._elements.append(f'<circle {place}{self._clip(clip)} style="{style}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        anchor: Anchor = "start",
        upright: bool = True,
        bold: bool = False,
    ) -> None:
        style = f"font-size: {_number(size)}px; fill: currentColor"
        style += f"; text-anchor: {anchor}" if anchor != "start" else ""
        style += "; font-weight: bold" if bold else ""
        at = f"{_number(x)} {_number(self.height - y)}"
        turned = "" if upright else f' transform="rotate(-90 {at})"'
        place = 'x="{}" y="{}"'.format(*at.split())
        self._elements.append(
            f'<text {place}{turned} style="{style}">{escape(text, quote=False)}</text>'
        )

    def svg(self, title: str) -> str:
        """SVG of the drawing, with a title for screen readers."""
        size = f"{_number(self.width)} {_number(self.height)}"
        width, height = (f"{part}pt" for part in size.split())
        style = (
            f"width: 100%; max-width: {width}; height: auto; display: block; font-family: {FONTS};"
        )
        label = f' aria-label="{escape(title)}"' if title else ""
        clips = "".join(
            f'<clipPath id="{key}"><rect x="{_number(left)}" y="{_number(self.height - top)}" '
            f'width="{_number(right - left)}" height="{_number(top - bottom)}"/></clipPath>'
            for (left, bottom, right, top), key in self._clips.items()
        )
        inside = "\n".join([f"<defs>{clips}</defs>", *self._elements])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
            f'style="{style}" data-size="{width} {height}"{label}>\n{inside}\n</svg>'
        )

    def _outline(self, path: Outline) -> str:
        """The ``d`` of a path, to a hundredth of a point."""
        x, y = np.asarray(path.vertices, dtype=float).T
        words = {Outline.MOVETO: "M", Outline.LINETO: "L"}
        codes = np.full(len(x), Outline.LINETO) if path.codes is None else np.asarray(path.codes)
        if path.codes is None:
            codes[0] = Outline.MOVETO
        steps = zip(codes, x.tolist(), (self.height - y).tolist(), strict=True)
        return " ".join(f"{words[c]} {a:.2f} {b:.2f}" for c, a, b in steps if c in words)

    def _clip(self, box: Box | None) -> str:
        if box is None:
            return ""
        key = self._clips.setdefault(box, f"{self.name}-clip{len(self._clips)}")
        return f' clip-path="url(#{key})"'


def _ink(color: str) -> str:
    return "currentColor" if color == INK else color


def _number(x: float) -> str:
    """A number to a hundredth, without zeros at its end."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


class PlotFigure(Figure):
    """A figure of matplotlib's that a notebook shows in the ink of its page."""

    def _repr_html_(self) -> str:

        return figure_html(self)


def figure_of(sheet: Sheet, scale: float = 1.0) -> Figure:
    """The figure of a sheet, to be changed or shown; `scale` enlarges the text of its legends."""
    figure = PlotFigure(figsize=(sheet.width, sheet.height), dpi=150)
    first: Axes | None = None
    for frame in sheet.frames:
        left, bottom, wide, tall = frame.box
        place = (left / sheet.width, bottom / sheet.height, wide / sheet.width, tall / sheet.height)
        ax = figure.add_axes(place, sharex=first)
        first = first or (ax if sheet.shares_x else None)
        _fill(ax, frame)
        ax.tick_params(labelbottom=frame.has_numbers)
        names = frame.names
        if names is not None:
            handles = [_handle(sample) for sample in names.samples]
            legend(
                ax,
                handles,
                names.names,
                at=names.at,
                corner=names.corner,
                columns=names.columns,
                scale=scale,
            )
    if sheet.title:
        at = (sheet.left / sheet.width, 1 - EDGE / sheet.height)
        write(figure, *at, sheet.title, fontsize=TITLE, fontweight="bold", va="top")
    return figure


def restyle(figure: Figure, style: FigureStyle) -> Figure:
    """Enlarge a figure with its text and lines, set its text in the fonts of a style, dash curves.

    The text of legends has its size already, which their layout depends on.
    """
    k = style.scale
    if k != 1.0:
        figure.set_size_inches(k * figure.get_figwidth(), k * figure.get_figheight())
        for ax in figure.axes:
            ax.tick_params(labelsize=k * TICKS, width=k * HAIR, length=k * TICK, pad=k * TICK)
            for spine in ax.spines.values():
                spine.set_linewidth(k * HAIR)
            ax.grid(linewidth=k * 0.5)
            for line in (*ax.lines, *_samples(ax, Line2D)):
                line.set_linewidth(k * line.get_linewidth())
                line.set_markersize(k * line.get_markersize())
            for area in (*ax.collections, *_samples(ax, Patch)):
                area.set_linewidth(k * np.atleast_1d(area.get_linewidth())[0])
        for text in _texts(figure, legends=False):
            text.set_fontsize(k * float(text.get_fontsize()))
    if style.fonts:
        for ax in figure.axes:
            ax.tick_params(labelfontfamily=list(style.fonts))
        for text in _texts(figure):
            text.set_fontfamily(list(style.fonts))
    if style.is_gray:
        for ax in figure.axes:
            _dash_by_color(ax)
    return figure


def _dash_by_color(ax: Axes) -> None:
    """Give each color its dashes, so that curves differ in gray; not where dashes have a meaning.

    Of six colors and four patterns, the two that share one differ in lightness.
    """
    lines = [*ax.lines, *_samples(ax, Line2D)]
    colored = [(line, to_hex(line.get_color())) for line in lines]
    of_palette = [(line, PALETTE.index(color)) for line, color in colored if color in PALETTE]
    if not any(line.is_dashed() for line, _ in of_palette):
        for line, k in of_palette:
            if pattern := DASHES[k % len(DASHES)]:
                line.set_dashes(pattern)


def _texts(figure: Figure, *, legends: bool = True) -> list[Text]:
    """Titles, names of axes and of curves; numbers at ticks belong to their axes."""
    found = list(figure.texts)
    for ax in figure.axes:
        found += [ax.xaxis.label, ax.yaxis.label, *ax.texts]
        made = ax.get_legend()
        found += made.get_texts() if legends and made is not None else []
    return found


def _samples(ax: Axes, kind: type) -> list[Any]:
    made = ax.get_legend()
    return [h for h in made.legend_handles if isinstance(h, kind)] if made is not None else []


def _fill(ax: Axes, frame: Frame) -> None:
    """Everything in a frame but its legend."""
    _, _, wide, tall = frame.box
    dress(ax)
    for area in frame.areas:
        ax.add_collection(
            PolyCollection(area.polygons, zorder=area.level, **_faces(area)), autolim=False
        )
    for stroke in frame.strokes:
        ax.add_line(_line(stroke))
    if frame.y_ticks.log:
        ax.set_yscale("log")
    ax.set_xlim(*frame.x_limits)
    ax.set_ylim(*frame.y_limits)
    _set_ticks(ax.xaxis, frame.x_ticks)
    _set_ticks(ax.yaxis, frame.y_ticks)
    for axis, label in ((ax.xaxis, frame.x_label), (ax.yaxis, frame.y_label)):
        if label:
            axis.set_label_text(label, fontsize=TEXT, color=INK, parse_math=False)
    # where the names of the axes go is known: nothing has to be measured while drawing
    ax.xaxis.set_label_coords(0.5, -BELOW_AXIS / tall)
    ax.yaxis.set_label_coords(-(frame.room - 0.01) / wide, 0.5)
    ax.yaxis.label.set_verticalalignment("top")
    if frame.is_map:
        ax.set_aspect("equal", adjustable="box")


def _line(stroke: Stroke) -> Line2D:
    line = Line2D(
        stroke.x, stroke.y, color=stroke.color, linewidth=stroke.width, zorder=stroke.level,
        label=stroke.label,
    )  # fmt: skip
    if stroke.dashes:
        line.set_dashes(stroke.dashes)
    if stroke.dot:
        name = stroke.label or "start"
        line.set(linestyle="none", marker="o", markersize=stroke.dot, label=name)
    return line


def _handle(sample: Stroke | Area) -> Artist:
    return _line(sample) if isinstance(sample, Stroke) else Patch(**_faces(sample))


def _faces(area: Area) -> dict[str, Any]:
    return {
        "facecolor": (area.color, area.fill),
        "edgecolor": (area.color, area.edge),
        "linewidth": area.width,
    }


def _set_ticks(axis: Axis, ticks: Ticks) -> None:
    if ticks.log:
        axis.set_major_locator(log_locator(ticks.count))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(Powers())
    else:
        axis.set_major_locator(linear_locator(ticks.count))
        axis.set_major_formatter(Decimals(ticks.exponent))


def dress(ax: Axes) -> None:
    """Axes with two sides, thin lines and a faint grid."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(HAIR)
        spine.set_edgecolor(INK)
    ax.tick_params(labelsize=TICKS, width=HAIR, length=TICK, pad=TICK, color=INK, labelcolor=INK)
    ax.grid(color=INK, alpha=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.patch.set_visible(False)


def write(ax: Axes | Figure, x: float, y: float, text: str, **options: object) -> None:
    """Text in ink, never read as mathematics, since names may have any sign in them."""
    given: dict[str, object] = {"fontsize": TEXT, "color": INK, "parse_math": False, **options}
    ax.text(x, y, text, **given)  # type: ignore[arg-type]


def legend(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], *, at: tuple[float, float],
    columns: int = 1, corner: Corner = "upper left", scale: float = 1.0,
) -> None:  # fmt: skip
    """Names beside the data; `at` is where its corner goes, in axes coordinates."""
    # names may begin with a low line, which a legend would hide: so they are put in afterwards
    made = ax.legend(
        handles, ["name"] * len(handles), loc=corner, bbox_to_anchor=at, ncols=columns,
        fontsize=scale * TEXT, frameon=False, borderaxespad=0.0, borderpad=0.0, labelcolor=INK,
        handlelength=SAMPLE * 72 / TEXT, handletextpad=GAP * 72 / TEXT, labelspacing=0.32,
        columnspacing=COLUMN_GAP,
    )  # fmt: skip
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
