"""Painting of sheets: PNG and SVG stroke by stroke, without axes or artists of matplotlib's.

`_paint` turns a sheet into lines, areas, dots and texts in points from its lower left corner; two
canvases take them, one of pixels (by matplotlib's renderer and fonts) and one of SVG elements.
Places of numbers, names and legends are those of the figure that matplotlib draws of the same
sheet.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

from noslip.scene import INK
from noslip.show.plots.curves import Array
from noslip.show.plots.files import DPI, drawing
from noslip.show.plots.sheets import Area, Frame, Names, Sheet, Stroke
from noslip.show.plots.style import (
    BELOW_AXIS,
    COLUMN_GAP,
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
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase

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

    Parameters
    ----------
    name : of the figure on its page, letters and digits; parts of several figures keep apart by it.
    title : what it shows, for those who cannot see it.
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


def _joined(parts: Sequence[Array], *, closed: bool = False) -> Path:
    """One path of several lines or polygons."""
    if len(parts) == 1 and not closed:
        return Path(parts[0])
    points, codes = [], []
    for part in parts:
        code = np.full(len(part) + closed, Path.LINETO, dtype=Path.code_type)
        code[0] = Path.MOVETO
        points.append(part)
        if closed:
            code[-1] = Path.CLOSEPOLY
            points.append(part[:1])
        codes.append(code)
    if not points:
        return Path(np.empty((0, 2)))
    return Path(np.concatenate(points), np.concatenate(codes))


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
        circle = Path.circle((x, y), diameter / 2)
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
            outline = self._outline(Path(polygon)) + " z"
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

    def _outline(self, path: Path) -> str:
        """The ``d`` of a path, to a hundredth of a point."""
        x, y = np.asarray(path.vertices, dtype=float).T
        words = {Path.MOVETO: "M", Path.LINETO: "L"}
        codes = np.full(len(x), Path.LINETO) if path.codes is None else np.asarray(path.codes)
        if path.codes is None:
            codes[0] = Path.MOVETO
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
