"""`Stage`: a scene and its motion in viser, live, or recorded as one HTML file that plays offline.

Everything hangs under one frame. To follow a body that frame is moved against it, so that the
camera stays where it is and a recording can follow as well. Nodes are kept while they are put again
unchanged, and moved only when they move. A recording and viser's own viewer become one file, which
needs neither a server nor a network.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.model import WORLD, rotation_to
from noslip.scene.assembly import Frames, Part, Scene
from noslip.scene.geometry import Color, quaternions_of, rgb, roller_quaternions, without_jumps
from noslip.scene.overlays import (
    REFERENCE_TRACE,
    Camera,
    arrows,
    camera,
    extent,
    fineness,
    followed,
    grids,
    is_far,
    pale,
    rounded,
    scale_text,
    trace_names,
    traces,
)

if TYPE_CHECKING:
    import viser


IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


class Nodes:
    """Nodes of a viser scene by path; only changes are sent.

    Between `begin` and `finish` everything that shall be there is put; the rest goes.
    """

    def __init__(self) -> None:
        self._there: dict[str, tuple[Any, Any]] = {}
        self._put: set[str] = set()
        self._poses: dict[str, tuple[Array, Array]] = {}

    def begin(self) -> None:
        """Begin an update of the scene."""
        self._put = set()

    def put(
        self,
        path: str,
        content: tuple[Any, ...],
        make: Callable[[], Any],
        change: Callable[[Any], None] | None = None,
    ) -> Any:
        """The node at a path: the old one if its content is the same, else a changed or new one."""
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
        """End the update: remove nodes that were not put."""
        for path in sorted(set(self._there) - self._put, key=len):
            if path in self._there:
                handle = self._there[path][1]
                self._forget(path)
                handle.remove()

    def move(self, path: str, position: Array, wxyz: Array = IDENTITY) -> None:
        """Send a pose if it differs from the last one."""
        handle = self._there[path][1]
        last = self._poses.get(path)
        if last is None or (last[0] != position).any():
            handle.position = position
        if last is None or (last[1] != wxyz).any():
            handle.wxyz = wxyz
        self._poses[path] = (position, wxyz)

    def clear(self) -> None:
        """Forget all nodes, after the scene was removed as a whole."""
        self._there, self._put, self._poses = {}, set(), {}

    def _forget(self, path: str) -> None:
        """Forget a node and all nodes below it, which viser removes with it."""
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
        """Add it to the scene."""
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


#: Color of what was shown before, and opacity of all that is not shown itself.
GHOST: Color = (150, 150, 150)
OPACITY = 0.25
#: How much of its brightness shaded ground keeps under the lights of the viewer.
DIMMED = 0.8
#: Name of the node that has the label.
LABEL = "label"
#: Colors of the paper and of the two kinds of grid lines, on a light and on a dark page.
LIGHT: tuple[Color, Color, Color] = (255, 255, 255), (214, 218, 224), (168, 176, 188)
DARK: tuple[Color, Color, Color] = (20, 20, 20), (60, 64, 71), (98, 104, 114)

#: Radius of an arrow's shaft as a part of the model's length.
SHAFT = 0.014


class Stage:
    """Shows one frame of a motion at a time in a viser scene.

    Parameters
    ----------
    api : ``server.scene`` of a viser server, or that of one of its clients.
    prefix : name under which everything hangs; two stages in one scene need two.
    traces, forces, velocities : overlays drawn beside the bodies.
    follow : whether the bodies are kept in the middle of the view.
    ghost : color in which the bodies are drawn translucent, with traces if asked for, and no
        ground.
    label : text above them.
    pieces : pieces of a trace, which appear one after the other.
    dark : colors for a dark page.
    """

    def __init__(
        self,
        api: Any,
        *,
        prefix: str = "/noslip",
        traces: bool = True,
        forces: bool = False,
        velocities: bool = False,
        follow: bool = False,
        ghost: Color | None = None,
        label: str = "",
        pieces: int = 16,
        dark: bool = False,
    ) -> None:
        self.api, self.prefix, self.ghost, self.pieces = api, prefix, ghost, pieces
        self.traces, self.forces, self.velocities = traces, forces, velocities
        self.follow, self.dark, self.label = follow, dark, label
        self.scene: Scene | None = None
        self.frames: Frames | None = None
        self.index = 0
        self._nodes = Nodes()
        self._pieces: list[tuple[int, Any]] = []
        self._starts = np.zeros(0, dtype=int)
        self._begun = np.zeros(0, dtype=bool)
        self._arrows: list[Arrow] = []
        self._offset = self._above = np.zeros((0, 3))

    def put(self, scene: Scene, frames: Frames, index: int = 0, room: float = 0.0) -> None:
        """Show another scene or motion; what did not change is kept.

        Parameters
        ----------
        scene, frames : scene and frames that are shown.
        index : index of the frame.
        room : ground, m, beyond what the motion fills, for one that goes on.
        """
        self.scene, self.frames = scene, frames
        self._pieces, self._arrows = [], []
        self._nodes.begin()
        self._frame(self.prefix)
        self._put_bodies(scene)
        if self.ghost is None:
            self._put_grounds(scene, frames, room)
            self._put_arrows(scene, frames)
        if self.traces:
            self._put_traces(scene, frames)
        if self.label:
            self._put_label()
        self._nodes.finish()
        self._starts = np.array([start for start, _ in self._pieces], dtype=int)
        # pieces that were there before may be shown
        self._begun = np.array([handle.visible for _, handle in self._pieces], dtype=bool)
        self._measure(scene, frames)
        self.show(min(index, len(frames) - 1))

    def extend(self, frames: Frames) -> None:
        """Show the last frame of a motion that goes on; what stands still is left as it is."""
        if self.scene is None:
            return
        if self._arrows:
            self.put(self.scene, frames, len(frames) - 1)
            return
        self.frames = frames
        self._measure(self.scene, frames)
        self.show(len(frames) - 1)

    def show(self, index: int) -> None:
        """Move everything to a frame."""
        frames, scene = self.frames, self.scene
        if frames is None or scene is None:
            return
        self.index = index
        for k, name in enumerate(frames.bodies):
            self._nodes.move(
                self._path(name), frames.positions[index, k], frames.quaternions[index, k]
            )
        if self.ghost is None:
            for name, displacement in frames.obstacles.items():
                self._nodes.move(self._path(name), displacement[index])
        for roller in scene.rollers:
            turned = roller_quaternions(roller.axis, frames.rolled[roller.name][index])
            self._nodes.move(self._path(roller.body, roller.name), roller.center, turned)
        self._nodes.move(self.prefix, self.shift)
        if self.label:
            self._nodes.move(self._path(LABEL), self._above[index])
        self._show_pieces(index)
        for arrow in self._arrows:
            arrow.show(self._nodes, index)

    @property
    def shift(self) -> Array:
        """By how much everything is moved against the view that follows, m."""
        is_moved = self.follow and self.index < len(self._offset)
        shift: Array = -self._offset[self.index] if is_moved else np.zeros(3)
        return shift

    def _show_pieces(self, index: int) -> None:
        """Show the pieces of traces that began before a frame and hide the others."""
        begun = self._starts < index
        for k in np.flatnonzero(begun != self._begun):
            self._pieces[k][1].visible = bool(begun[k])
        self._begun = begun

    def remove(self) -> None:
        """Remove everything from the scene."""
        self._nodes.begin()
        self._nodes.finish()
        self._nodes.clear()
        self._pieces, self._arrows = [], []
        self.scene = self.frames = None

    def _measure(self, scene: Scene, frames: Frames) -> None:
        path = followed(scene, frames)
        self._offset = path - path[:1]
        self._above = path + 1.2 * scene.length * scene.up

    def _path(self, *names: str) -> str:
        """A path below the stage; a slash in a name would start a new level."""
        return "/".join([self.prefix, *(name.replace("/", "∕") for name in names)])

    def _frame(self, path: str) -> None:
        self._nodes.put(path, (), lambda: self.api.add_frame(path, show_axes=False))

    def _put_bodies(self, scene: Scene) -> None:
        obstacles = dict.fromkeys(part.body for part in scene.parts if part.is_obstacle)
        for name in dict.fromkeys((*scene.bodies, WORLD, *obstacles)):
            self._frame(self._path(name))
        for roller in scene.rollers:
            self._frame(self._path(roller.body, roller.name))
        for k, part in enumerate(scene.parts):
            is_fixed = part.body == WORLD or part.is_ground or part.is_obstacle
            if self.ghost is not None and is_fixed:
                continue
            names = (part.body, part.roller) if part.roller else (part.body,)
            self._put_mesh(self._path(*names, f"part{k}"), part)

    def _put_mesh(self, path: str, part: Part) -> None:
        def make() -> Any:
            if part.shades is not None:
                return self._shaded(path, part)
            is_solid = self.ghost is None
            return self.api.add_mesh_simple(
                path,
                part.vertices,
                part.faces,
                color=self.ghost or part.color,
                opacity=None if is_solid else OPACITY,
                cast_shadow=is_solid,
                receive_shadow=is_solid,
            )

        self._nodes.put(path, (part.vertices, part.faces, part.color), make)

    def _shaded(self, path: str, part: Part) -> Any:
        """A mesh with a color for each vertex."""
        import trimesh  # viser needs it anyway

        assert part.shades is not None
        # colors of vertices are linear in glTF, and the lights of the viewer are bright
        colors = np.round(255 * (DIMMED * part.shades / 255) ** 2.2).astype(np.uint8)
        mesh = trimesh.Trimesh(
            vertices=part.vertices, faces=part.faces, vertex_colors=colors, process=False
        )
        return self.api.add_mesh_trimesh(path, mesh)

    def _put_grounds(self, scene: Scene, frames: Frames, room: float) -> None:
        _, cell, section = DARK if self.dark else LIGHT
        for k, grid in enumerate(grids(scene, extent(scene, frames), room)):
            names = () if grid.body == WORLD else (grid.body,)
            options = {
                "width": grid.width,
                "height": grid.width,
                "cell_size": grid.cell,
                "section_size": 5 * grid.cell,
                "cell_color": cell,
                "section_color": section,
                "position": grid.position,
                "wxyz": quaternions_of(grid.rotation),
                "fade_distance": 20 * grid.width,
                "shadow_opacity": 0.15,
            }
            self._put_grid(self._path(*names, f"ground{k}"), options)

    def _put_grid(self, path: str, options: dict[str, Any]) -> None:
        self._nodes.put(path, tuple(options.values()), lambda: self.api.add_grid(path, **options))

    def _put_traces(self, scene: Scene, frames: Frames) -> None:
        """Each trace once as a thin line, and once in pieces that appear as time goes on."""
        paper = (DARK if self.dark else LIGHT)[0]
        for trace in traces(scene, frames):
            self._frame(self._path("traces"))
            self._frame(self._path("traces", trace.name))
            if trace.dashes is not None:
                path = self._path("traces", trace.name, "dashes")
                ink = rgb(DARK_INK) if self.dark else trace.color
                self._segments(path, trace.dashes, self.ghost or ink, 1.5)
                continue
            points = rounded(trace.points, fineness(trace.points))
            # a little lower, so that the two do not flicker through each other
            low = points - 2e-3 * scene.length * scene.up
            color = self.ghost or pale(trace.color, paper=paper)
            self._line(self._path("traces", trace.name, "all"), low, color, 1.0)
            if self.ghost is not None:
                continue
            bounds = np.unique(np.linspace(0, len(points) - 1, self.pieces + 1).astype(int))
            for k, (start, end) in enumerate(pairwise(bounds)):
                path = self._path("traces", trace.name, f"piece{k}")
                handle = self._line(path, points[start : end + 1], trace.color, 2.5, visible=False)
                self._pieces.append((start * (len(frames) - 1) // (len(points) - 1), handle))

    def _put_label(self) -> None:
        path = self._path(LABEL)
        anchor = {"anchor": "bottom-center", "font_screen_scale": 0.9}
        self._nodes.put(path, (self.label,), lambda: self.api.add_label(path, self.label, **anchor))

    def _line(self, path: str, points: Array, color: Color, width: float, **more: Any) -> Any:
        return self._segments(
            path, np.stack([points[:-1], points[1:]], axis=1), color, width, **more
        )

    def _segments(self, path: str, pairs: Array, color: Color, width: float, **more: Any) -> Any:
        segments = pairs.astype(np.float32)

        def make() -> Any:
            return self.api.add_line_segments(
                path, segments, color, thickness=width, thickness_units="screen", **more
            )

        def change(handle: Any) -> None:
            handle.points = segments
            if not np.array_equal(handle.colors, color):
                handle.colors = np.array(color, np.uint8)

        return self._nodes.put(path, (segments, color), make, change)

    def _put_arrows(self, scene: Scene, frames: Frames) -> None:
        for kind in arrows(scene, frames, forces=self.forces, velocities=self.velocities):
            self._frame(self._path(kind.name))
            for k in range(kind.starts.shape[1]):
                vectors = kind.ends[:, k] - kind.starts[:, k]
                path = self._path(kind.name, str(k))
                arrow = Arrow(path, kind.starts[:, k], vectors, kind.color, SHAFT * scene.length)
                arrow.put(self.api, self._nodes)
                self._arrows.append(arrow)


def set_camera(server: Any, view: Camera) -> None:
    """Let new viewers of a viser server look through a camera."""
    start = server.initial_camera
    start.position = tuple(float(x) for x in view.position)
    start.look_at = tuple(float(x) for x in view.look_at)
    start.up = tuple(float(x) for x in view.up)
    start.fov = view.field_of_view


TITLE = "<title>Viser</title>"
#: The recording in viser's HTML, and a second one for dark pages. A frame is as dark as the page
#: around it wants its elements (`color-scheme`), a page of its own as the device asks.
DATA = re.compile(r'window\.__VISER_EMBED_DATA__="([^"]*)"')
#: Width over height of the least wide window in which all of the motion is in view.
ASPECT = 1.3
#: Pieces of a trace that appear one after the other.
PIECES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An animation as a page, with what its scene shows. Made by :func:`record`."""

    page: str  #: the HTML
    #: distance of the grid lines of a plane, m, every fifth line dark; None without a plane
    cell: float | None
    lines: float | None  #: distance of the lines of curved ground, m, if it has any
    traces: dict[Color, str]  #: color of paths that are drawn → what they follow

    @staticmethod
    def is_dashed(color: Color) -> bool:
        """Whether paths of a color are dashed, as those of references are."""
        return color == REFERENCE_TRACE


def record(
    scene: Scene,
    frames: Frames,
    *,
    title: str,
    traces: bool = True,
    forces: bool = False,
    velocities: bool = False,
    follow: bool | None = None,
    speed: float = 1.0,
    dark: bool | None = False,
    legend: bool = True,
) -> Recording:
    """Record a motion as a page.

    Parameters
    ----------
    title : title of the page, and in the corner of the scene, with the time of the motion below it.
    traces, forces, velocities, follow : arguments of :class:`Film`.
    speed : seconds of the motion that pass in a second.
    dark : a dark page; None for one that is as dark as the page around it, or as its device asks.
    legend : whether the names of the traces stand in the scene, beside the scale of the grid.
    """
    follow = is_far(scene, frames) if follow is None else follow

    def recording(*, is_dark: bool) -> str:
        """The motion in viser's client, in colors for a light or a dark page."""
        # there is no viewer to wake for each message
        with quiet_server() as server, server.atomic():
            server.scene.set_up_direction(scene.up)
            set_camera(server, camera(scene, frames, aspect=ASPECT, follow=follow))
            stage = Stage(
                server.scene,
                traces=traces,
                forces=forces,
                velocities=velocities,
                follow=follow,
                pieces=PIECES,
                dark=is_dark,
            )
            stage.put(scene, frames)
            recorder = server.get_scene_serializer()
            waits = np.diff(frames.times, append=frames.times[-1:]) / speed
            for index, wait in enumerate(waits):
                stage.show(index)
                recorder.insert_sleep(float(wait))
            return str(recorder.as_html(dark_mode=is_dark))

    html = recording(is_dark=bool(dark))
    if dark is None:
        found = DATA.search(recording(is_dark=True))
        assert found is not None
        html = html.replace(
            "</head>", f"<script>\n{_filled('dark_too.js', data=found[1])}</script></head>", 1
        )
    said = _legend(scene, frames, traces and legend, speed)
    page = _titled(html, title).replace(
        "</body>", f"{_overlay(title, said, frames, speed, dark)}</body>"
    )
    return Recording(
        page=page,
        cell=next((grid.cell for grid in grids(scene, extent(scene, frames))), None),
        lines=scene.line_distance,
        traces=_traced(scene, frames) if traces else {},
    )


def _traced(scene: Scene, frames: Frames) -> dict[Color, str]:
    return trace_names(traces(scene, frames))


@contextlib.contextmanager
def quiet_server(port: int = 0) -> Iterator[viser.ViserServer]:
    """A viser server on this machine only, which says nothing and ends with the block."""
    import viser

    with _quiet_console():
        server = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    try:
        yield server
    finally:
        with _quiet_console():
            server.stop()


@contextlib.contextmanager
def _quiet_console() -> Iterator[None]:
    """Context without rich's output, which goes to the cell in a notebook, not to stdout."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def _titled(html: str, title: str) -> str:
    named = f"<title>{escape(title)} - noslip</title>"
    if TITLE in html:
        return html.replace(TITLE, named, 1)
    return html.replace("<head>", f"<head>{named}", 1)


#: Title, time and legend over the scene. The viewer's own box counts seconds of the film, not of
#: the motion, and is hidden.
OVERLAY = """
<style>
@css@</style>
<div id="said"><b>@title@</b><span class="time"></span><div class="small">@legend@</div></div>
<script>
@script@</script>
"""
#: Text over the scene, as the ink of its page.
LIGHT_INK, DARK_INK = "#46505a", "#c8ced6"


def _overlay(title: str, legend: str, frames: Frames, speed: float, dark: bool | None) -> str:
    span = float(frames.times[-1] - frames.times[0])
    ink = f"color-scheme: light dark; color: light-dark({LIGHT_INK}, {DARK_INK});"
    if dark is not None:
        ink = f"color: {DARK_INK if dark else LIGHT_INK};"
    script = _filled(
        "overlay.js",
        start=repr(float(frames.times[0])),
        speed=repr(float(speed)),
        places="2" if span < 10 else "1",
    )
    css = _filled("overlay.css", ink=ink)
    return _fill(OVERLAY, css=css, title=escape(title), legend=legend, script=script)


def _filled(name: str, **values: str) -> str:
    """The text of a file beside this one, with its places filled in."""
    return _fill(files("noslip.scene").joinpath(name).read_text("utf-8"), **values)


def _fill(text: str, **values: str) -> str:
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], text)


def _legend(scene: Scene, frames: Frames, shows_traces: bool, speed: float) -> str:
    """The scale of the grid, the speed, and each color of the traces with what it follows."""
    said = escape(scale_text(scene, grids(scene, extent(scene, frames)), speed))
    found = traces(scene, frames) if shows_traces else ()
    for color, names in trace_names(found).items():
        style = f'style="background: rgb{color}"'
        if color == REFERENCE_TRACE:
            style = 'class="dashes"'
        said += f"<i {style}></i>{escape(names)}"
    return said
