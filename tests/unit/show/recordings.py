"""What a recorded animation holds, read from the file as the viewer reads it."""

import base64
import re
from dataclasses import dataclass

import msgspec
import numpy as np
import zstandard

DATA = re.compile(r'window\.__VISER_EMBED_DATA__="([^"]+)"')


@dataclass(frozen=True)
class Recording:
    """Duration, s, and the messages with the time of each."""

    duration: float
    messages: list

    def last(self, kind: str, name: str, time: float) -> np.ndarray:
        """The newest value of a pose ('position' or 'wxyz') of a node at a time."""
        found = [
            message[kind]
            for at, message in self.messages
            if message.get("name") == name and kind in message and at <= time + 1e-9
        ]
        return np.array(found[-1])

    def names(self) -> set[str]:
        """All nodes."""
        return {m["name"] for _, m in self.messages if "name" in m and "props" in m}


def read_recording(html: str) -> Recording:
    """The recording within a page."""
    data = base64.b64decode(DATA.search(html)[1])
    size = int.from_bytes(data[:8], "little")
    inner = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=size)
    length = int.from_bytes(inner[:8], "little")
    content = msgspec.msgpack.decode(inner[8 : 8 + length])
    return Recording(duration=content["durationSeconds"], messages=content["messages"])
