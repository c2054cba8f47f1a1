"""The HTML of a page: viser's viewer with the studio's name, style and script.

`viewer.js` hands the color scheme and the width to the server and keeps the address of the page
that of its state; `viewer.css` makes the viewer readable, and usable on a phone. Both are put into
the HTML, so that the page is still one file.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

#: Longest state in an address; a request line may have 8192 letters.
MAX_STATE = 6000
#: Pixels below which viser lays panels out for a phone, and below which the picture gets narrow.
PHONE, NARROW = 576, 1200
TITLE = "<title>Viser</title>"
_STATE = re.compile(rf"=([A-Za-z0-9_-]{{1,{MAX_STATE}}})")
_FACTS = re.compile(r"~(dark|light)-(\d{1,5})")


class Visit(NamedTuple):
    """View that the address of a page asks for.

    Parameters
    ----------
    state : text of a link; empty for none.
    is_dark : whether the browser prefers dark pages.
    width : of the window, pixels.
    """

    state: str = ""
    is_dark: bool = False
    width: int = 1440

    @property
    def is_phone(self) -> bool:
        """Whether viser shows its layout for small screens."""
        return self.width <= PHONE

    @property
    def is_narrow(self) -> bool:
        """Whether two panels leave little room for the picture."""
        return self.width < NARROW


def read_visit(path: str) -> Visit | None:
    """View of a path behind the token; None if it is not the path of a page."""
    parts = [part for part in path.partition("?")[0].split("/") if part]
    state, facts = "", None
    if parts and (found := _STATE.fullmatch(parts[0])):
        state = found.group(1)
        parts.pop(0)
    if parts and (facts := _FACTS.fullmatch(parts[0])):
        parts.pop(0)
    if parts:
        return None
    if facts is None:
        return Visit(state)
    return Visit(state, facts.group(1) == "dark", int(facts.group(2)))


@cache
def own_script() -> str:
    """The script that the studio adds."""
    return Path(__file__).with_name("viewer.js").read_text("utf-8")


@cache
def _page(index: Path) -> tuple[bytes, bytes]:
    """The HTML, as it is and packed."""
    style = Path(__file__).with_name("viewer.css").read_text("utf-8")
    added = f"<style>{style}</style><script>{own_script()}</script>"
    # where viser has its title: behind what says how wide the page is, before any other script
    text = index.read_text("utf-8")
    whole = text.replace(TITLE, f"<title>noslip studio</title>{added}", 1).encode()
    return whole, gzip.compress(whole)


def page_response(index: Path, request: Request) -> Response:
    """The answer to a request of the page.

    Parameters
    ----------
    index : viser's HTML.
    """
    is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
    body = _page(index)[1 if is_packed else 0]
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(len(body)),
        "Content-Encoding": "gzip" if is_packed else "identity",
    }
    return Response(HTTPStatus.OK, "OK", Headers(headers), body)
