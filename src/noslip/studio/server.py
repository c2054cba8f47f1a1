"""The studio's server: one page for each browser, on this machine only.

Only 127.0.0.1 is listened on, `access` says who gets in, and what viser offers beyond this machine
(a share link) is taken out.
"""

from __future__ import annotations

import threading
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noslip import SimulationError
from noslip.studio.access import AccessRules, GuardedService, check_installed, guarded_serve
from noslip.studio.choosing.link import read_link
from noslip.studio.page.browser import live_connection, remove_share_link
from noslip.studio.page.studio_page import Page
from noslip.studio.running.model_catalog import ModelCatalog
from noslip.studio.viewer import Visit

if TYPE_CHECKING:
    from noslip.studio.choosing.sweep_points import SweepPoints

HOST = "127.0.0.1"


class Studio:
    """A server and its pages.

    Parameters
    ----------
    name : of the model that pages show first.
    file : a model file to offer besides the library, watched while the server runs.
    sweep : folder of a sweep, whose model is shown and whose points can be clicked.
    port : to listen on; 0 for any that is free.

    Raises
    ------
    SimulationError : the port is taken.
    ModelError : the file has faults.
    SimulationError : the folder holds no sweep, or one which has no motion to show.

    Attributes
    ----------
    pages : open pages by the number of their visitor; None for one that could not be made.
    departed : visitors who left while their page was being made.
    """

    def __init__(
        self,
        name: str = "agv",
        *,
        file: Path | None = None,
        sweep: Path | None = None,
        port: int = 0,
    ) -> None:
        self.points: SweepPoints | None = None
        if sweep is not None:
            from noslip.studio.choosing.sweep_points import SweepPoints

            self.points = SweepPoints(sweep)
            file = self.points.model_file
        self.catalog = ModelCatalog(file)
        self.name = self.catalog.file_name if file is not None else name
        self.catalog.mechanism(self.name)
        self.pages: dict[int, Page | None] = {}
        self.departed: set[int] = set()
        self._is_closed = False
        self._lock = threading.Lock()
        self._rules = AccessRules((HOST, "localhost"))
        self._closing = ExitStack()
        self._server = _serve(port, self._rules, self._closing)
        self._server.on_client_connect(self._connected)
        self._server.on_client_disconnect(self._disconnected)

    @property
    def address(self) -> str:
        """URL of the page, with the token."""
        return f"http://{HOST}:{self._rules.port}/{self._rules.token}/"

    def address_of(self, state: str) -> str:
        """URL of a page that shows the state of a link; without one, of the first page.

        Raises
        ------
        SimulationError : the model of the link is not at hand.
        """
        if not state:
            return self.address
        link = read_link(state)
        for name in filter(None, (link.model, link.kept_model)):
            if name not in self.catalog.names:
                raise SimulationError(
                    f"the link shows model '{name}', which is not at hand",
                    "link",
                    "name the file of the model: noslip studio FILE --link ADDRESS",
                )
        return f"{self.address}={state}/"

    def close(self) -> None:
        """Close all pages and stop."""
        with self._lock:
            self._is_closed = True
            pages = [page for page in self.pages.values() if page is not None]
            self.pages.clear()
        for page in pages:
            page.close()
        self.catalog.close()
        self._closing.close()

    def _connected(self, client: Any) -> None:
        page: Page | None = None
        failure: Exception | None = None
        try:
            page = Page(client, self.catalog, self.name, self.points, self._visit(client))
        except Exception as error:
            failure = error
        with self._lock:
            # a visitor may have left while the page was made
            is_gone = self._is_closed or client.client_id in self.departed
            self.departed.discard(client.client_id)
            if not is_gone:
                self.pages[client.client_id] = page
        if is_gone and page is not None:
            page.close()
        if failure is not None and not is_gone:
            traceback.print_exception(failure)
            client.add_notification("The page cannot be shown", str(failure), color="red")

    def _visit(self, client: Any) -> Visit:
        """View that the address of a page asks for."""
        connection = live_connection(self._server, client.client_id)
        return Visit() if connection is None else self._rules.visit(connection.request)

    def _disconnected(self, client: Any) -> None:
        with self._lock:
            if client.client_id not in self.pages:
                self.departed.add(client.client_id)
            page = self.pages.pop(client.client_id, None)
        if page is not None:
            page.close()


def _serve(port: int, rules: AccessRules, closing: ExitStack) -> Any:
    """A viser server on this machine that keeps to rules, without what reaches beyond it.

    Parameters
    ----------
    closing : ends the server, last what was started first.
    """
    import viser

    server = viser.ViserServer(host=HOST, port=0, verbose=False)
    closing.callback(server.stop)
    remove_share_link(server)
    try:
        closing.enter_context(guarded_serve(GuardedService(server, rules, HOST, port)))
        check_installed(rules)
    except OSError as error:
        closing.close()
        raise _taken(port, error.strerror or "") from None
    except SimulationError:
        closing.close()
        raise
    return server


def _taken(port: int, reason: str = "") -> SimulationError:
    return SimulationError(
        f"port {port} cannot be opened" + (f": {reason}" if reason else ""),
        f"http://{HOST}:{port}",
        "give another one with --port, or leave it out to use any free one",
    )
