"""Nodes of a viser scene: kept while they are put again unchanged, moved only when they move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noslip.show.scene.geometry import Array, quaternions_of, rotation_to, without_jumps
from noslip.show.scene.meshes import Color

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class Nodes:
    """What hangs in a scene, by path.

    Between `begin` and `finish` everything that shall be there is put; the rest goes.
    """

    def __init__(self) -> None:
        self._there: dict[str, tuple[Any, Any]] = {}
        self._put: set[str] = set()
        self._poses: dict[str, tuple[Array, Array]] = {}

    def begin(self) -> None:
        """Start to put."""
        self._put = set()

    def put(
        self,
        path: str,
        content: tuple[Any, ...],
        make: Callable[[], Any],
        change: Callable[[Any], None] | None = None,
    ) -> Any:
        """The node at a path: the old one if its content is the same, a changed or a new one else.

        Parameters
        ----------
        content : numbers, words and arrays that say what it looks like.
        make : makes it, replacing what is there.
        change : gives an old node the new content, where that can be done.
        """
        self._put.add(path)
        old = self._there.get(path)
        if old is not None and _same(old[0], content):
            return old[1]
        if old is not None and change is not None:
            change(old[1])
            self._there[path] = (content, old[1])
            return old[1]
        self._forget(path)
        handle = make()
        self._there[path] = (content, handle)
        return handle

    def finish(self) -> None:
        """Take away what was not put."""
        for path in sorted(set(self._there) - self._put, key=len):
            if path in self._there:
                handle = self._there[path][1]
                self._forget(path)
                handle.remove()

    def move(self, path: str, position: Array, wxyz: Array = IDENTITY) -> None:
        """Send a pose if it differs from the last one."""
        handle = self._there[path][1]
        last = self._poses.get(path)
        if last is None or not np.array_equal(last[0], position):
            handle.position = position
        if last is None or not np.array_equal(last[1], wxyz):
            handle.wxyz = wxyz
        self._poses[path] = (position, wxyz)

    def clear(self) -> None:
        """Forget everything; the scene was taken away as a whole."""
        self._there, self._put, self._poses = {}, set(), {}

    def _forget(self, path: str) -> None:
        """Drop a node and all below it, which go with it."""
        for known in [p for p in self._there if p == path or p.startswith(f"{path}/")]:
            del self._there[known]
            self._poses.pop(known, None)


class Arrow:
    """An arrow that is placed and turned like a body, so that it moves with the bodies.

    Only its length is a property of its own; it is sent when it changes by more than can be seen.
    """

    def __init__(self, path: str, starts: Array, vectors: Array, color: Color, radius: float):
        self.path, self.starts, self.color, self.radius = path, starts, color, radius
        self.lengths = np.linalg.norm(vectors, axis=1)
        turns = np.stack([rotation_to(v) if v.any() else np.eye(3) for v in vectors])
        self.turns = without_jumps(quaternions_of(turns))
        self.length = 0.0
        self.handle: Any = None

    def put(self, api: Any, nodes: Nodes) -> None:
        """Hang it into the scene."""
        nodes.put(self.path, (), lambda: api.add_frame(self.path, show_axes=False))
        r = self.radius
        self.handle = nodes.put(
            f"{self.path}/arrow",
            (self.color, r),
            lambda: api.add_arrows(
                f"{self.path}/arrow",
                self._points(),
                self.color,
                shaft_radius=r,
                head_radius=2.8 * r,
                head_length=8 * r,
            ),
        )

    def show(self, nodes: Nodes, index: int) -> None:
        """Move it to a frame."""
        length = float(self.lengths[index])
        if abs(length - self.length) > 0.25 * self.radius:
            self.length = length
            self.handle.points = self._points()
        is_long = self.length > self.radius
        if self.handle.visible != is_long:
            self.handle.visible = is_long
        nodes.move(self.path, self.starts[index], self.turns[index])

    def _points(self) -> NDArray[np.float32]:
        return np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, self.length]]], dtype=np.float32)


def _same(a: Any, b: Any) -> bool:
    """Whether two contents are equal, arrays entry by entry."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
