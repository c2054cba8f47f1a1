"""The page of a studio without a browser: a socket to it, and what a browser would show.

What a real page does with its pictures is left to `tests/browser`; here a test decides what is sent
when, and sees every message in the order in which a browser would get it.
"""

import contextlib
import threading
import time
from urllib.parse import urlsplit

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from noslip.studio import Studio

#: Seconds for anything that the studio must do.
PATIENCE = 60.0
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 3.0, 3.0],
    "fov": 0.8, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800,
    "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
}  # fmt: skip


class SocketPage:
    """What a browser has on its page.

    Parameters
    ----------
    address : of a studio.

    Attributes
    ----------
    parts : properties of every part of the panels by its uuid.
    updates : (uuid, properties) of every change of one, in order.
    """

    def __init__(self, address):
        parts = urlsplit(address)
        self._socket = connect(
            f"ws://{parts.netloc}{parts.path.rstrip('/')}",
            origin=f"http://{parts.netloc}",
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        )
        self.parts, self.updates = {}, []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send(CAMERA)

    def close(self):
        self._socket.close()
        self._reader.join(PATIENCE)

    def _send(self, message):
        self._socket.send(msgspec.msgpack.encode(message))

    def _read(self):
        with contextlib.suppress(ConnectionClosed):
            for data in self._socket:
                size = int.from_bytes(data[8:16], "little")
                unpacked = zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
                with self._changed:
                    for message in msgspec.msgpack.decode(unpacked)["messages"]:
                        self._take(message)
                    self._changed.notify_all()

    def _take(self, message):
        uuid = message.get("uuid")
        if message["type"] == "GuiUpdateMessage":
            self.updates.append((uuid, message["updates"]))
            self.parts.get(uuid, {}).update(message["updates"])
        elif message["type"] == "GuiRemoveMessage":
            self.parts.pop(uuid, None)
        elif uuid is not None and "props" in message:
            value = {"value": message["value"]} if "value" in message else {}
            above = {"above": message.get("container_uuid")}
            self.parts[uuid] = {**message["props"], **value, **above}

    def wait_until(self, holds):
        """Until something holds of the page; what it was."""
        end = time.monotonic() + PATIENCE
        with self._changed:
            while not (found := holds()):
                left = end - time.monotonic()
                assert left > 0, "it did not come to hold"
                self._changed.wait(min(left, 0.5))
            return found

    def uuid(self, label):
        """The part that is seen with a label, or None."""
        found = [u for u, p in self.parts.items() if p.get("label") == label and self._is_seen(p)]
        return found[-1] if found else None

    def _is_seen(self, part):
        """Whether a part and the groups it is in are visible."""
        while part is not None:
            if not part.get("visible", True):
                return False
            part = self.parts.get(part["above"])
        return True

    def value(self, label):
        """What a part shows."""
        return self.parts[self.uuid(label)]["value"]

    def set(self, label, value):
        """Set a slider, a box or a list, as soon as it is there."""
        self.send(self.wait_until(lambda: self.uuid(label)), value)

    def send(self, uuid, value):
        """Set a part that may be hidden by now."""
        self._send({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
        with self._changed:
            self.parts[uuid]["value"] = value

    def press(self, label):
        """Press a button, as soon as it is there."""
        self.click(self.wait_until(lambda: self.uuid(label)))

    def click(self, uuid):
        """Press a button that may be hidden by now."""
        self.send(uuid, True)

    def html(self):
        """All texts that are seen."""
        seen = [p for p in list(self.parts.values()) if "content" in p and self._is_seen(p)]
        return "\n".join(p["content"] for p in seen)


@contextlib.contextmanager
def opened(name):
    """A studio that shows a model, and a page of it."""
    studio = Studio(name)
    try:
        page = SocketPage(studio.address)
        try:
            page.wait_until(lambda: "computed in" in page.html())
            yield studio, page
        finally:
            page.close()
    finally:
        studio.close()
