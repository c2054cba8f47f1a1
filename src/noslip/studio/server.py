"""The studio's server: one page for each browser, on this machine only, and who may load it.

**Access control of the studio's server: who may load the page, connect to it, and say what.**

viser serves the page and its socket by `websockets`, and has no hook of its own for any of this.
So its server is closed as soon as it has started, and `guarded_serve` opens one of ours in its
place, on the same event loop and with viser's handler of connections. Ours adds these rules to
every request and every connection:

| against | rule |
|---|---|
| DNS rebinding | `Host` is this machine and the port, by number or as localhost |
| pages of other sites | `Origin`, where it is given, is that of the page; a socket must give it |
| other users of this computer | the path begins with a secret token |
| framing, sniffing, injected scripts | headers; scripts are allowed by their hash alone |
| floods and half requests | limits on connections, pages, time and size of a message |
| malformed messages | a strict decoder closes the connection; nothing of it reaches viser |

The token is in the path and not in a cookie, since browsers send cookies to every port of a host,
another user's server included.

**The studio's server: one page for each browser, on this machine only.**

Only 127.0.0.1 is listened on, `access` says who gets in, and what viser offers beyond this machine
(a share link) is taken out.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import enum
import hashlib
import hmac
import logging
import re
import secrets
import socket
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import viser
import zstandard
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from noslip import SimulationError
from noslip.studio.choice import ModelCatalog, read_link
from noslip.studio.page.browser import (
    Visit,
    live_connection,
    on_connection,
    own_script,
    page_response,
    read_visit,
    remove_share_link,
)
from noslip.studio.page.studio_page import Page

if TYPE_CHECKING:
    from noslip.studio.page.sweep_panel import SweepPoints


#: Pages that may be open at once; each has a session with threads of its own.
MAX_PAGES = 16
#: Connections that may be open without a page; beyond that the oldest is closed.
MAX_PENDING = 64
#: Bytes of one message from a page; real ones have some hundred.
MAX_MESSAGE = 64 * 1024
#: s to send a whole request, and s to answer that a connection is closed.
OPEN_TIMEOUT, CLOSE_TIMEOUT = 5.0, 1.0

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
#: The HTML of viser's viewer.
INDEX = Path(viser.__file__).parent / "client" / "build" / "index.html"
#: The request by which viser's own server is found.
_HANDSHAKE = (
    "GET / HTTP/1.1\r\nHost: {}:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Protocol: viser-v{viser.__version__}\r\n\r\n"
)
_REFUSED = "Open the address that noslip studio printed, in full.\n"
_log = logging.getLogger("noslip.studio")


class AccessRules:
    """Rules of one server.

    `names`: host names by which browsers on this machine call it.

    Attributes
    ----------
    port : port that is served by them; None until one is.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.token = secrets.token_urlsafe(24)
        self.pending: dict[GuardedConnection, None] = {}
        self.port: int | None = None

    def refusal(self, connection: ServerConnection, request: Request) -> str:
        """Reason to refuse a request; empty if it is accepted."""
        port = connection.local_address[1]
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0] not in {f"{name}:{port}" for name in self.names}:
            return "This is not a name of the studio.\n"
        origins = request.headers.get_all("Origin")
        if _is_socket(request) and not origins:
            return "A socket needs an origin.\n"
        if origins and origins != [f"http://{hosts[0]}"]:
            return "Pages of other origins have no access.\n"
        if len(request.headers.get_all("Upgrade")) > 1:
            return "A request has one upgrade at most.\n"
        first, _, rest = request.path.partition("?")[0].partition("/")
        given = rest.partition("/")[0].encode("utf-8", "surrogateescape")
        if first or not hmac.compare_digest(given, self.token.encode()):
            return _REFUSED
        return ""

    def inside(self, request: Request) -> str:
        """The path of a request without the token."""
        return request.path[1 + len(self.token) :]

    def visit(self, request: Request) -> Visit:
        """View that the address of a page asks for."""
        return read_visit(self.inside(request)) or Visit()


class GuardedConnection(ServerConnection):
    """Connection that is counted and takes well-formed messages only."""

    rules: AccessRules

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it, and close the oldest one without a page where there are too many."""
        super().connection_made(transport)
        pending = self.rules.pending
        pending[self] = None
        if len(pending) > MAX_PENDING:
            next(iter(pending)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting it."""
        self.rules.pending.pop(self, None)
        super().connection_lost(exc)

    async def recv(self, decode: bool | None = None) -> Any:
        """The next message; one that no page sends closes the connection."""
        while True:
            raw = await super().recv(decode)
            found = verdict(raw)
            if found is MessageVerdict.TAKE:
                return raw
            if found is MessageVerdict.CLOSE:
                await self.close(1007, "malformed message")


# What a page of the studio sends. Fields as viser has them; anything else is malformed.


class _FromPage(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    pass


class _Camera(_FromPage, tag="ViewerCameraMessage"):
    wxyz: tuple[float, float, float, float]
    position: tuple[float, float, float]
    fov: float
    near: float
    far: float
    image_height: int
    image_width: int
    look_at: tuple[float, float, float]
    up_direction: tuple[float, float, float]


class _Value(msgspec.Struct, forbid_unknown_fields=True):
    value: bool | int | float | str | None


class _Update(_FromPage, tag="GuiUpdateMessage"):
    uuid: str
    updates: _Value


class _Command(_FromPage, tag="CommandTriggerMessage"):
    uuid: str


class _Submit(_FromPage, tag="GuiFormSubmitMessage"):
    uuid: str


class _Dirty(_FromPage, tag="GuiFormDirtyMessage"):
    uuid: str


class _Hold(_FromPage, tag="GuiButtonHoldMessage"):
    uuid: str
    frequency: float


class _Drag(_FromPage, tag="SceneNodeDragMessage"):
    phase: Literal["start", "update", "end"]
    name: str
    instance_index: int | None
    start_position: tuple[float, float, float]
    start_screen_pos: tuple[float, float]
    end_position: tuple[float, float, float]
    end_screen_pos: tuple[float, float]
    button: Literal["left", "middle", "right"]
    modifier: str | None
    owner: str


_TAKEN = (_Camera, _Update, _Command, _Submit, _Dirty, _Hold, _Drag)
_decoder = msgspec.msgpack.Decoder(_Camera | _Update | _Command | _Submit | _Dirty | _Hold | _Drag)
_tag_decoder = msgspec.msgpack.Decoder(dict[str, Any])


class MessageVerdict(enum.Enum):
    """Decision about a message."""

    TAKE = "it goes to viser"
    DROP = "the studio has no use for it"
    CLOSE = "it is malformed, and the connection is closed"


def verdict(raw: object) -> MessageVerdict:
    """Decide what to do with a message of a page."""
    if not isinstance(raw, bytes):
        return MessageVerdict.CLOSE
    try:
        _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return MessageVerdict.DROP if _is_other(raw) else MessageVerdict.CLOSE
    return MessageVerdict.TAKE


def _is_other(raw: bytes) -> bool:
    """Whether a message is of a kind that we do not use."""
    try:
        kind = _tag_decoder.decode(raw).get("type")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(kind, str) and kind not in {c.__struct_config__.tag for c in _TAKEN}


@dataclass(frozen=True, slots=True)
class GuardedService:
    """What is served: a viser server, by rules, on a port of a host; 0 for any that is free."""

    viser: Any
    rules: AccessRules
    host: str
    port: int


@contextmanager
def guarded_serve(service: GuardedService) -> Iterator[None]:
    """Serve a viser server by the rules, from here to the end of the block.

    Raises
    ------
    OSError : the port is taken.
    """
    loop = service.viser.get_event_loop()
    theirs = _server_of(service.viser)
    if theirs is None:
        yield
        return
    ours = asyncio.run_coroutine_threadsafe(_replace(theirs, service), loop).result()
    service.rules.port = ours.sockets[0].getsockname()[1]

    def stop() -> None:
        atexit.unregister(stop)
        closing = asyncio.run_coroutine_threadsafe(_close(ours), loop)
        with suppress(TimeoutError):
            closing.result(2 * CLOSE_TIMEOUT)

    atexit.register(stop)
    try:
        yield
    finally:
        stop()


async def _replace(theirs: Server, service: GuardedService) -> Server:
    """Close viser's server, with whoever has found it, and open ours with its handler."""
    asyncio.get_running_loop().set_exception_handler(_log_failure)
    await _close(theirs)
    rules = service.rules
    return await serve(
        theirs.handler,
        service.host,
        service.port,
        process_request=_checked(rules),
        process_response=_with_headers(rules),
        create_connection=type("Connection", (GuardedConnection,), {"rules": rules}),
        select_subprotocol=_offered,
        compression=None,
        server_header=None,
        max_size=MAX_MESSAGE,
        open_timeout=OPEN_TIMEOUT,
        close_timeout=CLOSE_TIMEOUT,
        logger=_quiet_logger(),
    )


async def _close(server: Server) -> None:
    server.close()
    await server.wait_closed()


def _offered(connection: ServerConnection, protocols: Sequence[Subprotocol]) -> Subprotocol | None:
    """Subprotocol by which viser's client says its version."""
    return next((name for name in protocols if name.startswith("viser-v")), None)


def _server_of(viser_server: Any) -> Server | None:
    """The server that viser has started, found by the first connection to it; None without one."""
    found: Future[Server | None] = Future()

    def note(client: Any) -> None:
        if not found.done():
            connection = live_connection(viser_server, client.client_id)
            found.set_result(getattr(connection, "server", None))

    on_connection(viser_server, note)
    place = (viser_server.get_host(), viser_server.get_port())
    with suppress(OSError, TimeoutError), socket.create_connection(place, OPEN_TIMEOUT) as visitor:
        visitor.sendall(_HANDSHAKE.format(*place).encode())
        return found.result(OPEN_TIMEOUT)
    return None


def check_installed(rules: AccessRules) -> None:
    """Raise SimulationError where viser is not served by the rules."""
    if rules.port is None:
        raise SimulationError(
            "this version of viser does not allow access control",
            "the server of the studio",
            "install the version of viser in requirements.lock",
        )


def _checked(rules: AccessRules) -> Callable[..., Response | None]:
    """`process_request` that answers with the page, refuses, or lets a socket in."""

    def process(connection: GuardedConnection, request: Request) -> Response | None:
        reason = rules.refusal(connection, request)
        if reason:
            return connection.respond(HTTPStatus.FORBIDDEN, reason)
        if not _is_socket(request):
            if read_visit(rules.inside(request)) is not None:
                return page_response(INDEX, request)
            return connection.respond(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        if len(connection.server.connections) >= MAX_PAGES:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.\n")
        rules.pending.pop(connection, None)
        return None

    return process


def _with_headers(rules: AccessRules) -> Callable[..., None]:
    """`process_response` that adds the headers."""
    scripts = [*script_hashes(INDEX), _hash(own_script().encode("utf-8"))]

    def process(connection: ServerConnection, request: Request, response: Response) -> None:
        port = connection.local_address[1]
        sockets = [f"ws://{name}:{port}" for name in rules.names]
        for name, value in _HEADERS.items():
            response.headers[name] = value
        response.headers["Content-Security-Policy"] = content_policy(scripts, sockets)

    return process


def content_policy(scripts: list[str], sockets: list[str]) -> str:
    """Content security policy of the page: itself, its own scripts, and its own socket."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join((*scripts, "'wasm-unsafe-eval'")),
        "worker-src": "blob:",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "font-src": "data:",
        "connect-src": " ".join(("'self'", "data:", "blob:", *sockets)),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


_ALPHABET = (
    "!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_abcdefghijklmnopqrstuvwxyz{|}~"
)
_INLINE = re.compile(r"<script[^>]*>(.*?)</script>", re.S)
_SCRIPT = re.compile(
    r'<script data-p="([^"]*)" data-ss="(\d+)" data-cs="(\d+)">(.*?)</script>', re.S
)


def script_hashes(page: Path) -> list[str]:
    """Hashes of viser's two scripts: the one that unpacks its data, and what it unpacks.

    Of a page that is not packed, those of the scripts as they stand in it.
    """
    text = page.read_text("utf-8")
    found = _SCRIPT.search(text)
    if found is None:
        return [_hash(script.encode("utf-8")) for script in _INLINE.findall(text)]
    data, style, script = found.group(1), int(found.group(2)), int(found.group(3))
    # digits of base 88, five for four bytes
    place = np.zeros(128, np.uint64)
    place[[ord(letter) for letter in _ALPHABET]] = np.arange(len(_ALPHABET), dtype=np.uint64)
    digits = place[np.frombuffer(data.encode("ascii"), np.uint8)]
    whole = len(digits) // 5 * 5
    powers = np.array([88**4, 88**3, 88**2, 88, 1], np.uint64)
    packed = (digits[:whole].reshape(-1, 5) @ powers).astype(">u4").tobytes()
    rest = [int(digit) for digit in digits[whole:]]
    if rest:
        value = sum(digit * 88**k for k, digit in enumerate(reversed(rest)))
        packed += value.to_bytes(len(rest) - 1, "big")
    unpacked = zstandard.ZstdDecompressor().decompress(packed, max_output_size=style + script)
    return [_hash(found.group(4).encode("utf-8")), _hash(unpacked[style:])]


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _is_socket(request: Request) -> bool:
    return bool(request.headers.get_all("Upgrade"))


def _quiet_logger() -> logging.Logger:
    """Logger that keeps what strangers send off the terminal."""
    quiet = logging.Logger("noslip.studio.connections", logging.DEBUG)
    quiet.addHandler(logging.NullHandler())
    return quiet


def _log_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    _log.debug("%s", context.get("message"), exc_info=context.get("exception"))


HOST = "127.0.0.1"


class Studio:
    """A server and its pages.

    Parameters
    ----------
    name : name of the model that pages show first.
    file : a model file to offer besides the library, watched while the server runs.
    sweep : folder of a sweep, whose model is shown and whose points can be clicked.
    port : port to listen on; 0 for any that is free.

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
            from noslip.studio.page.sweep_panel import SweepPoints

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
    """A viser server on this machine that keeps to rules, without what reaches beyond it."""
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
