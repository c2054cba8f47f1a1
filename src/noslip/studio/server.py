"""The studio's server: one page for each browser, on this machine only.

Only 127.0.0.1 is listened on. A browser that comes from another site is refused, and what viser
offers beyond this machine (a share link) is taken out.
"""

from __future__ import annotations

import socket
import threading
import traceback
from pathlib import Path
from typing import Any

from noslip.errors import SimulationError
from noslip.studio.page.browser import is_own_page, remove_share_link
from noslip.studio.page.page import Page
from noslip.studio.running.models import ModelCatalog

HOST = "127.0.0.1"


class Studio:
    """A server and its pages.

    Parameters
    ----------
    name : of the model that pages show first.
    file : a model file to offer besides the library, watched while the server runs.
    port : to listen on; 0 for any that is free.

    Raises
    ------
    SimulationError : the port is taken.
    ModelError : the file has faults.
    """

    def __init__(self, name: str = "agv", *, file: Path | None = None, port: int = 0) -> None:
        self.catalog = ModelCatalog(file)
        self.name = self.catalog.file_name if file is not None else name
        self.catalog.mechanism(self.name)
        self._pages: dict[int, Page] = {}
        self._lock = threading.Lock()
        self._server = _serve(port)
        self._server.on_client_connect(self._connected)
        self._server.on_client_disconnect(self._disconnected)

    @property
    def address(self) -> str:
        """URL of the page."""
        return f"http://{HOST}:{self._server.get_port()}"

    def close(self) -> None:
        """Close all pages and stop."""
        with self._lock:
            pages = list(self._pages.values())
            self._pages.clear()
        for page in pages:
            page.close()
        self.catalog.close()
        self._server.stop()

    def _connected(self, client: Any) -> None:
        if not is_own_page(self._server, client, (HOST, "localhost")):
            return
        try:
            page = Page(client, self.catalog, self.name)
        except Exception as error:
            traceback.print_exc()
            client.add_notification("The page cannot be shown", str(error), color="red")
            return
        with self._lock:
            self._pages[client.client_id] = page

    def _disconnected(self, client: Any) -> None:
        with self._lock:
            page = self._pages.pop(client.client_id, None)
        if page is not None:
            page.close()


def _serve(port: int) -> Any:
    """A viser server on this machine, without what reaches beyond it."""
    import viser

    if port:
        _check_free(port)
    server = viser.ViserServer(host=HOST, port=port, verbose=False)
    if port and server.get_port() != port:
        server.stop()
        raise _taken(port)
    remove_share_link(server)
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(76, 120, 168))
    return server


def _check_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise _taken(port, error.strerror or "") from None


def _taken(port: int, reason: str = "") -> SimulationError:
    return SimulationError(
        f"port {port} cannot be listened on" + (f": {reason}" if reason else ""),
        f"http://{HOST}:{port}",
        "give another one with --port, or leave it out to take any that is free",
    )
