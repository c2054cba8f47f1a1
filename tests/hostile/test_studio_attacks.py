"""Attacks on the studio's server, over raw sockets: each is refused, and the studio goes on."""

import base64
import contextlib
import hashlib
import os
import random
import re
import socket
import threading
import time
from urllib.parse import urlsplit

import msgspec
import pytest

pytest.importorskip("viser")
import viser
from viser.infra import _infra

from noslip.studio import Studio
from noslip.studio import server as access

# pages are sent to visitors who have left
pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection")

#: s for anything that the server must do.
PATIENCE = 30.0
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 3.0, 3.0],
    "fov": 0.8, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800,
    "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
}  # fmt: skip

DRAG = {
    "type": "SceneNodeDragMessage", "phase": "update", "name": "/points1/1", "instance_index": None,
    "start_position": [0.0, 0.0, 0.0], "start_screen_pos": [0.5, 0.5], "button": "left",
    "end_position": [1.0, 0.0, 0.0], "end_screen_pos": [0.6, 0.5], "modifier": None, "owner": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def studio():
    opened = Studio("knife-edge")
    yield opened
    opened.close()


@pytest.fixture
def door(studio, capfd):
    """Where to knock; at the end nobody was told of it with a traceback, and a visitor gets in."""
    found = Door(studio.address)
    yield found
    assert found.get(found.path)[0] == 200
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert err == ""


class Door:
    """The server as somebody sees it who can open sockets on this machine."""

    def __init__(self, address):
        parts = urlsplit(address)
        self.port, self.path = parts.port, parts.path
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, text):
        """What comes back until the connection is closed."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(text)
            return read_all(connection)

    def get(self, path, *, host=None, headers=()):
        """Status, headers and content of a page."""
        lines = [f"GET {path} HTTP/1.1", f"Host: {host or self.host}", *headers, "", ""]
        return split(self.ask("\r\n".join(lines).encode()))

    def handshake(self, *, path=None, host=None, origin="own", version=viser.__version__):
        """A socket after its handshake, and the status of the answer."""
        connection = self.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {self.path.rstrip('/') if path is None else path} HTTP/1.1",
            f"Host: {host or self.host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Protocol: viser-v{version}",
        ]
        if origin is not None:
            lines.append(f"Origin: {self.origin if origin == 'own' else origin}")
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = connection.recv(1)
            if not more:
                break
            answer += more
        return connection, split(answer)[0]

    @contextlib.contextmanager
    def visitor(self):
        """An open socket of a page."""
        connection, status = self.handshake()
        assert status == 101
        with connection:
            yield connection


def read_all(connection):
    found = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            found += more
    return found


def split(answer):
    if not answer:
        return 0, {}, b""
    head, _, content = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, content


def frame(payload, *, code=2, final=True, length=None):
    """A frame of a websocket from a client: final bit, kind, masked by zeros."""
    size = len(payload) if length is None else length
    head = bytes([code | (0x80 if final else 0)])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([0x80 | 127]) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


def pack(message):
    return frame(msgspec.msgpack.encode(message))


def close_code(connection):
    """Code with which the server closes; it may send frames of its own before."""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            kind, size = read(connection, 2)
            wide = {126: 2, 127: 8}.get(size, 0)
            content = read(connection, int.from_bytes(read(connection, wide)) if wide else size)
            if kind & 0x0F == 8:
                return int.from_bytes(content[:2])
    return None


def read(connection, count):
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.02)


def page_threads():
    """Threads of pages; each has a worker, a reader, a writer and a clock."""
    return [t for t in threading.enumerate() if t.name.startswith("noslip studio")]


# who gets in


def test_the_address_has_a_token_that_cannot_be_guessed(studio):
    other = access.AccessRules(("127.0.0.1",))
    token = urlsplit(studio.address).path.strip("/")
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", token)  # 192 bits
    assert other.token != token


@pytest.mark.parametrize("path", ["/", "/index.html", "/x/", "/%00/", "//", "/?token=1", "/../"])
def test_no_page_without_the_token(door, path):
    status, _, content = door.get(path)
    assert status == 403
    assert b"script" not in content


def test_no_page_with_almost_the_token(door):
    token = door.path.strip("/")
    for wrong in (token[:-1], token + "A", token.swapcase(), f"x/{token}", f"?{token}"):
        assert door.get(f"/{wrong}/")[0] == 403
        connection, status = door.handshake(path=f"/{wrong}")
        connection.close()
        assert status == 403


def test_the_token_opens_the_page_and_no_other_file(door):
    for path in ("", "=eJw/", "~dark-390/", "=eJw/~light-1440/"):
        assert b"<title>noslip studio</title>" in door.get(door.path + path)[2]
    assert door.get(door.path + "=" + "A" * 7000 + "/")[0] == 404
    for path in (
        "=a.b",
        "=eJw/x",
        "~dark/",
        "~dark-390/=eJw/",
        "..%2f..%2f__init__.py",
        "../../__init__.py",
        "..\\..\\__init__.py",
        "etc/passwd",
    ):
        assert door.get(door.path + path)[0] == 404


HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}",
         "127.0.0.1:{port}.evil.example", "localhost.:{port}", "0.0.0.0:{port}"]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_name_is_refused(door, host):
    """A name that its owner points at 127.0.0.1 makes his page one of the same origin."""
    name = host.format(port=door.port)
    assert door.get(door.path, host=name)[0] == 403
    connection, status = door.handshake(host=name, origin=f"http://{name}")
    connection.close()
    assert status == 403


def test_hosts_that_are_missing_or_given_twice_are_refused(door):
    start = f"GET {door.path} HTTP/1.1\r\n"
    assert split(door.ask(f"{start}\r\n".encode()))[0] == 403
    both = f"{start}Host: {door.host}\r\nHost: evil.example\r\n\r\n"
    assert split(door.ask(both.encode()))[0] == 403


ORIGINS = [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1",
           "http://127.0.0.1", "http://127.0.0.1:{port}.evil.example", "http://localhost:{port}",
           "file://"]  # fmt: skip


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_socket_of_another_origin_or_without_one_is_refused(door, origin):
    given = None if origin is None else origin.format(port=door.port)
    connection, status = door.handshake(origin=given)
    connection.close()
    assert status == 403


def test_a_request_of_another_origin_is_refused(door):
    assert door.get(door.path, headers=["Origin: http://evil.example"])[0] == 403
    assert door.get(door.path, headers=[f"Origin: {door.origin}"])[0] == 200
    twice = [f"Origin: {door.origin}", "Origin: http://evil.example"]
    assert door.get(door.path, headers=twice)[0] == 403


def test_localhost_is_a_name_of_this_machine_too(door):
    name = f"localhost:{door.port}"
    assert door.get(door.path, host=name)[0] == 200
    connection, status = door.handshake(host=name, origin=f"http://{name}")
    connection.close()
    assert status == 101


# what a page may do


def test_headers_against_framing_sniffing_and_injected_scripts(door):
    for path, status in ((door.path, 200), ("/", 403), (door.path + "nothing", 404)):
        found, headers, _ = door.get(path)
        assert found == status
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Server" not in headers
        rules = dict(r.split(" ", 1) for r in headers["Content-Security-Policy"].split("; "))
        assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
        assert re.fullmatch(r"('sha256-\S+' ){3}'wasm-unsafe-eval'", rules["script-src"])
        assert "*" not in headers["Content-Security-Policy"]


def test_a_viewer_of_another_make_is_allowed_its_own_scripts_alone(tmp_path):
    page = tmp_path / "index.html"
    page.write_text("<html><script>1</script><p></p><script type=module>\n2\n</script></html>")
    hashes = [base64.b64encode(hashlib.sha256(x).digest()).decode() for x in (b"1", b"\n2\n")]
    assert access.script_hashes(page) == [f"'sha256-{x}'" for x in hashes]


MALFORMED = {
    "empty": frame(b""),
    "text": frame(b"hello", code=1),
    "not utf-8": frame(b"\xff\xfe", code=1),
    "no msgpack": frame(b"\xc1\xc1\xc1"),
    "truncated": frame(msgspec.msgpack.encode(CAMERA)[:-3]),
    "a number": pack(7),
    "a list": pack([1, 2, 3]),
    "no type": pack({"uuid": "x"}),
    "a type that is no text": pack({"type": 3}),
    "a type that is a list": pack({"type": [1]}),
    "no fields": pack({"type": "ViewerCameraMessage"}),
    "a field too many": pack(CAMERA | {"more": 1}),
    "a text for a number": pack(CAMERA | {"fov": "wide"}),
    "too few numbers": pack(CAMERA | {"wxyz": [1.0]}),
    "an update of internals": pack({"type": "GuiUpdateMessage", "uuid": "x",
                                    "updates": {"removed": True}}),
    "an update that is none": pack({"type": "GuiUpdateMessage", "uuid": "x", "updates": [1]}),
    "a nested value": pack({"type": "GuiUpdateMessage", "uuid": "x",
                            "updates": {"value": {"a": 1}}}),
    "a drag of no phase": pack(DRAG | {"phase": "on"}),
    "a drag on a line": pack(DRAG | {"end_position": [1.0, 0.0]}),
    "a drag by a foot": pack(DRAG | {"button": "foot"}),
    "a key that is a number": frame(b"\x81\x01\x02"),
    "deeply nested": frame(b"\x81\xa1x" + b"\x91" * 60_000 + b"\xc0"),
    "a length that is a lie": frame(b"\xdd\xff\xff\xff\xff"),
    "a map of lies": frame(b"\xdf\xff\xff\xff\xff"),
    "not masked": b"\x82\x01\x00",
    "reserved bits": b"\xf2\x80\x00\x00\x00\x00",
    "an unknown opcode": frame(b"", code=11),
    "a long ping": frame(b"x" * 200, code=9),
    "a fragment of nothing": frame(b"x", code=0),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_message_closes_the_connection(door, name):
    with door.visitor() as visitor:
        visitor.sendall(MALFORMED[name])
        assert close_code(visitor) in (1002, 1003, 1007)


def test_random_messages_do_no_harm(door):
    rng = random.Random(1)
    for k in range(60):
        whole = msgspec.msgpack.encode((CAMERA, DRAG)[k % 2])
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with door.visitor() as visitor:
            visitor.sendall(frame(bytes(damaged)) + frame(b"\x03\xe8", code=8))
            read_all(visitor)


#: Messages that viser takes from a page and the studio does not, whole.
OTHERS = {
    "ShareUrlRequest": {},
    "ShareUrlDisconnect": {},
    "FileTransferStartUpload": {
        "source_component_uuid": "x", "transfer_uuid": "y", "filename": "z", "mime_type": "text",
        "part_count": 1, "size_bytes": 1,
    },
}  # fmt: skip


def test_messages_that_viser_knows_and_the_studio_has_no_use_for_are_dropped(
    studio, door, monkeypatch
):
    """Among them the request for a share link, which would open a tunnel to the server."""
    heard = listen(studio, monkeypatch)
    with door.visitor() as visitor:
        for kind, fields in OTHERS.items():
            visitor.sendall(pack({"type": kind} | fields))
        # the last one, and messages are heard in the order in which they were sent
        visitor.sendall(pack(CAMERA))
        wait_until(lambda: heard)
        visitor.sendall(frame(b"\x03\xe8", code=8))
        assert close_code(visitor) == 1000
    assert heard == ["ViewerCameraMessage"]


def test_without_the_guard_they_would_be_heard(studio, door, monkeypatch):
    """So that the test above can fail."""
    heard = listen(studio, monkeypatch)
    monkeypatch.setattr(access, "verdict", lambda _: access.MessageVerdict.TAKE)
    with door.visitor() as visitor:
        for kind, fields in OTHERS.items():
            visitor.sendall(pack({"type": kind} | fields))
        wait_until(lambda: len(heard) == len(OTHERS))
    assert heard == [*OTHERS]


def listen(studio, monkeypatch):
    """Names of the messages that reach viser, which does nothing else with them from here on."""
    heard = []

    async def hear(self, client, message):
        heard.append(type(message).__name__)

    # a server's handler and that of its connection
    monkeypatch.setattr(_infra.WebsockServer, "_handle_incoming_message", hear)
    return heard


def test_a_value_of_the_wrong_kind_does_no_harm(studio, door):
    with door.visitor() as visitor:
        visitor.sendall(pack(CAMERA))
        wait_until(lambda: studio.pages)
        controls = next(iter(studio.pages.values())).client.gui._gui_input_handle_from_uuid
        wait_until(lambda: len(controls) > 10)
        for uuid in list(controls):
            for value in ("\x00", -1, 1e308, True, None, "x" * 60_000):
                visitor.sendall(
                    pack({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
                )
            visitor.sendall(pack({"type": "GuiFormSubmitMessage", "uuid": uuid}))
            visitor.sendall(pack({"type": "GuiButtonHoldMessage", "uuid": uuid, "frequency": 1e9}))
        visitor.sendall(frame(b"\x03\xe8", code=8))
        assert close_code(visitor) == 1000
    wait_until(lambda: not page_threads())


def test_a_huge_message_is_refused_before_it_is_read(door):
    with door.visitor() as visitor:
        visitor.sendall(frame(b"", length=2**40))
        assert close_code(visitor) == 1009
    with door.visitor() as visitor:
        visitor.sendall(frame(b"\x00", length=access.MAX_MESSAGE + 1))
        assert close_code(visitor) == 1009


def test_a_message_in_many_fragments_is_no_larger(door):
    with door.visitor() as visitor:
        part = bytes(access.MAX_MESSAGE // 4)
        visitor.sendall(frame(part, final=False))
        with contextlib.suppress(ConnectionError):
            for _ in range(8):
                visitor.sendall(frame(part, code=0, final=False))
        assert close_code(visitor) in (1009, None)


# floods


@pytest.fixture
def short_wait(monkeypatch):
    """A server that waits for a tenth of a second where the other waits for seconds."""
    monkeypatch.setattr(access, "OPEN_TIMEOUT", 0.1)
    opened = Studio("knife-edge")
    yield Door(opened.address)
    opened.close()


@pytest.mark.parametrize("part", [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a"])
def test_half_a_request_is_given_up(short_wait, part):
    assert short_wait.ask(part) == b""


def test_half_requests_do_not_keep_others_out(door):
    """A hundred and fifty of them, and a visitor comes in at once: the oldest has to go."""
    waiting = []
    try:
        for _ in range(150):
            connection = door.connect()
            connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
            waiting.append(connection)
        assert door.get(door.path)[0] == 200
        with door.visitor():
            pass
        # the first of them are closed, the last still wait
        assert read_all(waiting[0]) == b""
        waiting[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            waiting[-1].recv(1)
    finally:
        for connection in waiting:
            connection.close()


def test_there_are_so_many_pages_and_no_more(door):
    with contextlib.ExitStack() as visitors:
        for _ in range(access.MAX_PAGES):
            visitors.enter_context(door.visitor())
        connection, status = door.handshake()
        connection.close()
        assert status == 503
    wait_until(lambda: is_free(door))


def is_free(door):
    connection, status = door.handshake()
    connection.close()
    return status == 101


GARBAGE = {
    "another method": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n" * 20,
    "an endless line": b"GET /" + b"a" * 100_000,
    "an endless header": b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
    "thousands of headers": b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 5000,
    "a body of a GET": b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
    "an old version": b"GET / HTTP/1.0\r\n\r\n",
    "a NUL": b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a path without a slash": b"GET x HTTP/1.1\r\nHost: a\r\n\r\n",
    "nothing but lines": b"\r\n" * 2000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_request_is_not_answered(door, name):
    assert split(door.ask(GARBAGE[name]))[0] in (0, 403)


def test_a_path_of_odd_letters_is_refused(door):
    for path in ("x", "*", "http://evil.example/", "/\xff\xfe/", "/é/"):
        assert door.get(path)[0] in (0, 403)


# pages that nobody waits for


def test_a_page_whose_visitor_leaves_at_once_is_freed(studio, door):
    for _ in range(8):
        with door.visitor() as visitor:
            visitor.sendall(pack(CAMERA))
        # no close frame: the browser is gone
    wait_until(lambda: not page_threads())
    assert studio.pages == {}


def test_a_page_whose_visitor_leaves_while_it_is_made_is_freed(studio, door, monkeypatch):
    import noslip.studio.server as server

    begun, go_on, made = threading.Event(), threading.Event(), []
    usual = server.Page

    def slow(*arguments):
        begun.set()
        assert go_on.wait(PATIENCE)
        made.append(usual(*arguments))
        return made[-1]

    monkeypatch.setattr(server, "Page", slow)
    with door.visitor() as visitor:
        visitor.sendall(pack(CAMERA))
        assert begun.wait(PATIENCE)
    wait_until(lambda: studio.departed)
    go_on.set()
    wait_until(lambda: made and not page_threads())
    assert studio.pages == {} and not studio.departed


def test_a_page_that_cannot_be_made_leaves_no_thread(studio, monkeypatch):
    import noslip.studio.page.studio_page as page

    def broken(*_):
        raise RuntimeError("no panels")

    monkeypatch.setattr(page, "Panels", broken)
    door = Door(studio.address)
    with pytest.raises(RuntimeError, match="no panels"):
        page.Page(FakeClient(), studio.catalog, "knife-edge")
    wait_until(lambda: not page_threads())
    assert door.get(door.path)[0] == 200


class FakeClient:
    """A client on which nothing is ever shown."""

    def __getattr__(self, name):
        return FakeClient()

    def __call__(self, *_, **__):
        return FakeClient()


def test_an_unknown_viser_is_not_served_unguarded(monkeypatch):
    """Where viser is served by other means than the one that is guarded, nothing is served."""
    from noslip.base.errors import SimulationError

    @contextlib.contextmanager
    def absent(_):
        yield

    import noslip.studio.server as server

    monkeypatch.setattr(server, "guarded_serve", absent)
    with pytest.raises(SimulationError, match="does not allow access control") as caught:
        Studio("knife-edge")
    assert "requirements.lock" in str(caught.value)
