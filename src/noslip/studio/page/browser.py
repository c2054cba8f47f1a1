"""The browser's side of a page: viser's viewer and its internals, and parts that come and go.

**The HTML of a page: viser's viewer with the studio's name, style and script.**

`viewer.js` hands the color scheme and the width to the server and keeps the address of the page
that of its state; `viewer.css` makes the viewer readable, and usable on a phone. Both are put into
the HTML, so that the page is still one file.

**Access to viser internals without a public API: camera, values, connections, sharing.**

**`Disposal`: parts of a page that are no longer wanted.**

A browser applies all updates that came since its last picture after all removals. What was updated
a moment ago must therefore not be removed at once: it is hidden first and removed later.
"""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from viser import _messages
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from noslip.base import Array

#: Longest state in an address; a request line may have 8192 letters.
MAX_STATE = 6000
#: Pixels below which viser lays panels out for a phone, and below which the picture gets narrow.
PHONE, NARROW = 576, 1200
TITLE = "<title>Viser</title>"
_STATE = re.compile(rf"=([A-Za-z0-9_-]{{1,{MAX_STATE}}})")
_FACTS = re.compile(r"~(dark|light)-(\d{1,5})")


class Visit(NamedTuple):
    """View that the address of a page asks for."""

    state: str = ""  #: text of a link; empty for none
    is_dark: bool = False  #: whether the browser prefers dark pages
    width: int = 1440  #: width of the window, pixels

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
    """The answer to a request of the page."""
    is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
    body = _page(index)[1 if is_packed else 0]
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(len(body)),
        "Content-Encoding": "gzip" if is_packed else "identity",
    }
    return Response(HTTPStatus.OK, "OK", Headers(headers), body)


def point_camera(client: Any, position: Array, look_at: Array, up: Array, view: float) -> None:
    """Set the camera of a browser.

    The setters of viser compare with what the browser reported last. A report that comes between
    two of them makes it skip one, so all four messages are sent as they are.
    """
    send = client._websock_connection.queue_message
    with client.atomic():
        send(_messages.SetCameraUpDirectionMessage(_triple(up)))
        send(_messages.SetCameraPositionMessage(_triple(position)))
        send(_messages.SetCameraLookAtMessage(_triple(look_at)))
        send(_messages.SetCameraFovMessage(float(view)))


def send_value(handle: Any, value: float) -> None:
    """Set what a handle shows, and send it even where viser takes the browser to show it already.

    What a browser sends is noted at once, while it may show an older value that was on its way to
    it in the meantime.
    """
    handle.value = value
    impl = handle._impl
    message = _messages.GuiUpdateMessage(impl.uuid, {"value": value})
    impl.gui_api._websock_interface.queue_message(message)


def live_connection(server: Any, client_id: int) -> Any:
    """The connection of a browser; None where it has gone."""
    return server._websock_server._live_connections.get(client_id)


def on_connection(server: Any, told: Callable[[Any], None]) -> None:
    """Tell of each connection, before a page is there or anything of it is heard."""
    server._websock_server.on_client_connect(told)


def remove_share_link(server: Any) -> None:
    """Remove the share button of viser, which would open a tunnel to the server."""
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(e) for e in vector)
    return x, y, z


#: Seconds between hiding and removing, longer than any browser is late.
DELAY = 60.0


class Disposal:
    """Hidden handles, each with the time from which it may be removed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hidden: list[tuple[float, Any]] = []

    def discard(self, *handles: Any) -> None:
        """Hide handles now and remove them later."""
        with self._lock:
            for handle in handles:
                if handle is not None:
                    handle.visible = False
                    self._hidden.append((time.monotonic() + DELAY, handle))

    def remove_due(self, now: float) -> None:
        """Remove what has been hidden for long enough."""
        with self._lock:
            due = [handle for at, handle in self._hidden if at <= now]
            self._hidden = [(at, handle) for at, handle in self._hidden if at > now]
        for handle in due:
            with suppress(Exception):
                handle.remove()
