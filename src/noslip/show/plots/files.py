"""Figures as files and as text: PNG, SVG and PDF, each whole or not at all, the same every time."""

from __future__ import annotations

import base64
import io
import os
import re
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

from noslip import SimulationError
from noslip.base import write_atomically
from noslip.scene import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    path : of the file.

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
        figure : what :func:`plot` returned.
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

    Parameters
    ----------
    figure : what :func:`plot` returned.
    name : of the figure on its page, letters and digits; parts of several figures keep apart by it.
    title : what it shows, for those who cannot see it.
    outlined : draw the letters of its own fonts; otherwise text stays text, in the page's fonts.
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
