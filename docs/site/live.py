"""Live pages of the models of the library, and links to them in the gallery and on the first page.

A page is written anew when the model, the pages' own files or the version of noslip change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import noslip as ns

WEB = Path(ns.__file__).parent / "web"
LIBRARY = Path(ns.__file__).parent / "library"
#: What moves on the first page.
FIRST = "rolling-disk"


def write(folder: Path, names: Sequence[str] = ns.MODELS) -> list[str]:
    """Write the pages of all models that can have one; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    own = b"".join(path.read_bytes() for path in sorted(WEB.glob("*.*")))
    written = []
    for name in names:
        page = folder / f"{name}.html"
        texts = [path.read_bytes() for path in sorted(LIBRARY.glob(f"{name}.toml"))]
        digest = hashlib.sha256(b"".join([own, ns.__version__.encode(), *texts])).hexdigest()
        key = page.with_suffix(".key")
        if not (page.exists() and key.exists() and key.read_text() == digest):
            try:
                ns.share(name, page, overwrite=True)
            except ns.SimulationError as error:
                print(f"no live page of {name}: {error.what}")
                continue
            key.write_text(digest)
        written.append(name)
    return written


def link(page: str, source: list[str], names: Sequence[str]) -> None:
    """Add links and the first page's own motion to the text of a page."""
    if page == "gallery":

        def linked(found: re.Match[str]) -> str:
            name = found[1]
            there = f' · <a href="_static/live/{name}.html">live page</a>'
            return found[0] + (there if name in names else "")

        source[0] = re.sub(r"^`noslip animate ([\w-]+)`$", linked, source[0], flags=re.MULTILINE)
    elif page == "index" and FIRST in names:
        frame = (
            f'<iframe src="_static/live/{FIRST}.html" title="A rolling disk, simulated in this '
            'page" loading="lazy" style="border:1px solid #8884;border-radius:10px;width:100%;'
            'height:640px"></iframe>\n\nEach model of the [gallery](gallery.md) has such a page: '
            "every move of a slider is simulated anew, exactly, in your browser.\n"
        )
        source[0] = source[0].replace("## It moves\n", f"## It moves\n\n{frame}", 1)
