"""Films and stills: scenes rendered without a window.

**A small renderer: triangles with light and depth, in numpy, for stills and films.**

A triangle is cut into rows of pixels and every row into pixels, all triangles at once. Each pixel
of a triangle carries its depth; of all that fall on one place the nearest is kept. Shadows are the
triangles projected on the ground along the light.

**`Film`: pictures of a motion without a browser: ground, shadows, traces, bodies and arrows.**
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noslip import SimulationError
from noslip.base import Array, check_memory, require, write_atomically
from noslip.model import WORLD, cone, cylinder, rotation_to
from noslip.model import Triangles as Mesh
from noslip.scene.assembly import Frames, Scene, part_poses
from noslip.scene.geometry import Color, rotations_of
from noslip.scene.overlays import (
    NAMED,
    REFERENCE_TRACE,
    Camera,
    CameraView,
    Grid,
    arrows,
    camera,
    extent,
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
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw


Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Triangles:
    """Triangles in the world: (n, 3, 3) corners and normals at them, colors 0 to 1.

    Colors are (n, 3), or (n, 3, 3) where each corner has its own.
    """

    corners: Array
    normals: Array
    colors: Array

    @classmethod
    def joined(cls, parts: list[Triangles]) -> Triangles:
        """Concatenate several sets of triangles."""
        none = np.zeros((0, 3, 3))
        colors = [none[:, 0], *(p.colors for p in parts)]
        if any(each.ndim == 3 for each in colors):
            colors = [
                each if each.ndim == 3 else np.repeat(each[:, None], 3, axis=1) for each in colors
            ]
        return cls(
            corners=np.concatenate([none, *(p.corners for p in parts)]),
            normals=np.concatenate([none, *(p.normals for p in parts)]),
            colors=np.concatenate(colors),
        )

    def mixed(self, color: Color, share: float) -> Triangles:
        """The same with only a share of their own colors, the rest of another, 0 to 255."""
        colors = share * self.colors + (1 - share) * np.array(color) / 255
        return dataclasses.replace(self, colors=colors)

    def farther(self, eye: Array, factor: float) -> Triangles:
        """The same, larger about an eye: seen from there at the same place, but behind."""
        return dataclasses.replace(self, corners=eye + factor * (self.corners - eye))


def vertex_normals(vertices: Array, faces: Ints) -> Array:
    """(n, 3) unit normals: the mean of those of the faces, weighed by area."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    each = np.cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, faces[:, k], each)
    size = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, size, out=np.zeros_like(total), where=size > 0)


def draw(picture: NDArray[np.uint8], view: CameraView, triangles: Triangles, up: Array) -> None:
    """Draw triangles over a picture (height, width, 3)."""
    seen = view.seen(triangles.corners)
    facing = np.einsum(
        "nk,nk->n",
        np.cross(
            triangles.corners[:, 1] - triangles.corners[:, 0],
            triangles.corners[:, 2] - triangles.corners[:, 0],
        ),
        view.camera.position - triangles.corners[:, 0],
    )
    shown = (facing > 0) & np.all(seen[..., 2] > view.near, axis=1)
    seen = seen[shown]
    light = _light(view, triangles.normals[shown], triangles.corners[shown], up)
    colors = triangles.colors[shown]
    if colors.ndim == 3:
        _, place, inner = nearest_pixels(view, seen, np.concatenate([light, colors], axis=-1))
        color = inner[:, 2:] * inner[:, :1] + inner[:, 1:2]
    else:
        owner, place, inner = nearest_pixels(view, seen, light)
        color = colors[owner] * inner[:, :1] + inner[:, 1:]
    picture.reshape(-1, 3)[place] = np.round(255 * np.clip(color, 0.0, 1.0)).astype(np.uint8)


def nearest_pixels(view: CameraView, seen: Array, values: Array) -> tuple[Ints, Ints, Array]:
    """Visible pixels of triangles (n, 3, 3) in the axes of the picture.

    Returns the triangle of each pixel, its place (row · width + column), and `values` (n, 3, k) of
    the corners there. 1/depth is linear on the picture; the values are taken as if they were.
    """
    with_depth = np.concatenate([1 / seen[..., 2:], values], axis=-1)
    owner, place, inner = _fragments(view, view.pixels(seen), with_depth)
    nearest = np.zeros(view.width * view.height)
    np.maximum.at(nearest, place, inner[:, 0])
    kept = inner[:, 0] >= nearest[place]
    return owner[kept], place[kept], inner[kept, 1:]


def shadows(corners: Array, normal: Array, origin: Array, light: Array) -> Array:
    """Shadows of triangles on a plane, along the direction to the light."""
    height = (corners - origin) @ normal
    result: Array = corners - (height / (light @ normal))[..., None] * light
    return result


def light_direction(view: CameraView, up: Array) -> Array:
    """Towards the light: from the left behind the camera and from above."""
    right, _, forward = view.axes
    level = -0.45 * right - 0.75 * (forward - (forward @ up) * up)
    direction: Array = level + 0.95 * up
    return direction / np.linalg.norm(direction)


def _light(view: CameraView, normals: Array, points: Array, up: Array) -> Array:
    """(n, 3, 2) how much of its own color a corner shows, and the gloss added to it."""
    to_light = light_direction(view, up)
    to_eye = view.camera.position - points
    to_eye = to_eye / np.linalg.norm(to_eye, axis=-1, keepdims=True)
    sky = 0.5 + 0.5 * normals @ up
    front = np.clip(normals @ to_light, 0.0, None)
    eye = np.clip(np.sum(normals * to_eye, axis=-1), 0.0, None)
    half = to_light + to_eye
    half = half / np.linalg.norm(half, axis=-1, keepdims=True)
    gloss = np.clip(np.sum(normals * half, axis=-1), 0.0, None) ** 40
    diffuse = 0.34 + 0.22 * sky + 0.46 * front + 0.16 * eye
    return np.stack([diffuse, 0.12 * gloss], axis=-1)


def _fragments(view: CameraView, corners: Array, values: Array) -> tuple[Ints, Ints, Array]:
    """Pixels of triangles with corners (n, 3, 2): owner, place on the picture, and values there.

    The rows of a triangle run from its first to its last corner in height; in a row the pixels run
    from one edge to the other. A pixel belongs to it if its middle does.
    """
    order = np.argsort(corners[..., 1], axis=1)
    corners = np.take_along_axis(corners, order[..., None], axis=1)
    values = np.take_along_axis(values, order[..., None], axis=1)
    first = np.clip(np.ceil(corners[:, 0, 1] - 0.5), 0, view.height).astype(np.int64)
    last = np.clip(np.ceil(corners[:, 2, 1] - 0.5), 0, view.height).astype(np.int64)
    owner, row = _ranges(first, last)
    y = row.astype(float) + 0.5
    c, v = corners[owner], values[owner]
    long = _along(c[:, 0], c[:, 2], v[:, 0], v[:, 2], y)
    below = (y >= c[:, 1, 1])[:, None]
    short = _along(
        np.where(below, c[:, 1], c[:, 0]),
        np.where(below, c[:, 2], c[:, 1]),
        np.where(below, v[:, 1], v[:, 0]),
        np.where(below, v[:, 2], v[:, 1]),
        y,
    )
    swap = (long[:, 0] > short[:, 0])[:, None]
    left, right = np.where(swap, short, long), np.where(swap, long, short)
    start = np.clip(np.ceil(left[:, 0] - 0.5), 0, view.width).astype(np.int64)
    stop = np.clip(np.ceil(right[:, 0] - 0.5), 0, view.width).astype(np.int64)
    span, column = _ranges(start, stop)
    x = column + 0.5
    a, b = left[span], right[span]
    wide = b[:, 0] - a[:, 0]
    part = np.divide(x - a[:, 0], wide, out=np.zeros_like(wide), where=wide > 0)
    inner = a[:, 1:] + part[:, None] * (b[:, 1:] - a[:, 1:])
    return owner[span], row[span] * view.width + column, inner


def _along(a: Array, b: Array, va: Array, vb: Array, y: Array) -> Array:
    """x and values on the edge from a to b at height y."""
    rise = b[:, 1] - a[:, 1]
    part = np.divide(y - a[:, 1], rise, out=np.zeros_like(rise), where=rise > 0)
    part = np.clip(part, 0.0, 1.0)[:, None]
    start, end = np.column_stack([a[:, 0], va]), np.column_stack([b[:, 0], vb])
    result: Array = start + part * (end - start)
    return result


def _ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All numbers from `first` up to `last`, with the place of the pair they come from."""
    count = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(first)), count)
    start = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - start[owner] + first[owner]


#: Called with the fraction done.
Progress = Callable[[float], None] | None
#: Half the width of a trace on curved ground, over its distance.
RIBBON = 2.5e-3
#: Pixels drawn for each pixel of the picture, in each direction.
FINER = 2
BACKGROUND, CELL, SECTION = (252, 253, 254), (224, 228, 233), (194, 201, 210)
INK: Color = (70, 78, 90)
#: Dashes of a reference in the legend, as parts of its line.
DASHES = ((0.0, 0.4), (0.6, 1.0))
#: Colors of a GIF.
COLORS = 96
#: How much light a shadow takes.
SHADOW = 0.22
DARK: Color = (40, 50, 70)
SHAFT = 0.014
#: How much of their color bodies keep at earlier frames, and how much farther they are drawn.
PAST, BEHIND = 0.45, 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Film:
    """A motion and how pictures of it are taken."""

    #: scene, frames: scene and frames that are shown
    scene: Scene
    frames: Frames
    #: width, height: pixels
    width: int = 960
    height: int = 600
    #: traces, forces, velocities: overlays drawn beside the bodies
    traces: bool = True
    forces: bool = False
    velocities: bool = False
    #: move the camera with the bodies; None where the motion is too long to fit
    follow: bool | None = False
    #: camera at the first frame; by default one that has all of the motion in view
    view: Camera | None = None
    #: text in a strip above the scene, before the time, the scale of the grid and the legend of the
    #: traces; None for none of them
    caption: str | None = ""
    speed: float = 1.0  #: seconds of the motion that pass in a second of the film

    def picture(self, index: int, earlier: Sequence[int] = ()) -> Image:
        """The picture of a frame; in it, paler, the bodies at earlier ones."""
        from PIL import Image as images
        from PIL import ImageDraw

        size = 16.0 * FINER**2 * self.width * self.height
        check_memory(size, "pixels", f"picture of {self.width}x{self.height}", "take fewer pixels")
        at = self._camera_at(index)
        view = CameraView(camera=at, width=self.width * FINER, height=self._tall * FINER)
        now = self._triangles(index)
        past = Triangles.joined([self._triangles(k).mixed(BACKGROUND, PAST) for k in earlier])
        shadows = Triangles.joined([past, now])
        image = self._shadowed(self._ground(view, index), view, shadows)
        cast = self._curved_shadows(view, [index, *earlier])
        if self.traces and self.scene.is_curved:
            now = Triangles.joined([now, *self._ribbons(at.position, index)])
        elif self.traces:
            self._draw_traces(ImageDraw.Draw(image), view, index)
        pixels = np.array(image)
        # what does not move is seen once, as it is now
        behind = past.farther(at.position, 1 + BEHIND)
        draw(pixels, view, Triangles.joined([behind, now, cast]), self.scene.up)
        drawn = images.fromarray(pixels).reduce(FINER)
        if self.caption is None:
            return drawn
        image = images.new("RGB", (self.width, self.height), BACKGROUND)
        image.paste(drawn, (0, self.height - self._tall))
        self._write(ImageDraw.Draw(image), index)
        return image

    @staticmethod
    def check(path: Path) -> None:
        """Raise MissingPackageError or SimulationError where a film needs what is not installed."""
        require("PIL", "a film or a picture", str(path))
        if path.suffix.lower() == ".mp4":
            find_ffmpeg(path)

    def save(
        self, path: Path, rate: float, progress: Callable[[float], None] | None = None
    ) -> None:
        """Write the film as GIF or MP4, or its last picture as PNG, by the ending of a name.

        Parameters
        ----------
        path : path of the file.
        rate : pictures a second.
        progress : function called with the fraction done.
        """
        kind = path.suffix.lower()
        kept = len(self.frames) if kind == ".gif" else 1
        check_memory(
            self.width * self.height * (16 * FINER**2 + kept),
            "pictures",
            str(path),
            "give a smaller size, or a lower rate",
        )
        write = {".gif": self._write_gif, ".mp4": self._write_mp4}.get(kind, self._write_png)
        write_atomically(path, lambda file: write(file, rate, progress))

    def _write_png(self, path: Path, rate: float, progress: Progress) -> None:
        self.picture(len(self.frames) - 1).save(path, format="PNG")

    def _write_gif(self, path: Path, rate: float, progress: Progress) -> None:
        """An endless GIF of all frames, which share one palette."""
        from PIL.Image import Dither

        count = len(self.frames)
        palette = self.picture(count // 2).quantize(COLORS)
        pictures = []
        for index in range(count):
            pictures.append(self.picture(index).quantize(palette=palette, dither=Dither.NONE))
            if progress is not None:
                progress((index + 1) / count)
        pictures[0].save(
            path,
            format="GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=1000 / rate,
            loop=0,
            optimize=False,
        )

    def _write_mp4(self, path: Path, rate: float, progress: Progress) -> None:
        command = [find_ffmpeg(path), "-y", "-loglevel", "error", "-f", "rawvideo"]
        command += ["-pix_fmt", "rgb24", "-s", f"{self.width}x{self.height}"]
        command += ["-r", f"{rate:g}", "-i", "-", "-an"]
        command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stderr is not None
            try:
                for index in range(len(self.frames)):
                    process.stdin.write(self.picture(index).tobytes())
                    if progress is not None:
                        progress((index + 1) / len(self.frames))
                process.stdin.close()
            except BrokenPipeError:
                pass  # ffmpeg gave up, and says why
            said = process.stderr.read().decode(errors="replace").strip()
        if process.returncode:
            last = said.splitlines()[-1] if said else f"exit code {process.returncode}"
            raise SimulationError(
                f"ffmpeg could not write the film: {last}",
                str(path),
                "write a .gif or .html instead",
            )

    @cached_property
    def _is_following(self) -> bool:
        return is_far(self.scene, self.frames) if self.follow is None else self.follow

    def _ground(self, view: CameraView, index: int) -> Image:
        """The image of the empty stage, cached while neither it nor the camera moves."""
        from PIL import Image as images
        from PIL import ImageDraw

        if self._cached_ground:
            return self._cached_ground[0].copy()
        image = images.new("RGB", (view.width, view.height), BACKGROUND)
        pen = ImageDraw.Draw(image)
        for grid in self._grids:
            self._draw_grid(pen, view, grid, index)
        if not self._is_following and all(grid.body == WORLD for grid in self._grids):
            self._cached_ground.append(image.copy())
        return image

    @cached_property
    def _cached_ground(self) -> list[Image]:
        return []

    def _camera_at(self, index: int) -> Camera:
        return self._camera.moved(self._offsets[index]) if self._is_following else self._camera

    @cached_property
    def _camera(self) -> Camera:
        aspect = self.width / self._tall
        follow = self._is_following
        return self.view or camera(self.scene, self.frames, aspect=aspect, follow=follow)

    @cached_property
    def _offsets(self) -> Array:
        path = followed(self.scene, self.frames)
        return path - path[0]

    @cached_property
    def _grids(self) -> tuple[Grid, ...]:
        return grids(self.scene, extent(self.scene, self.frames))

    @cached_property
    def _meshes(self) -> list[tuple[Array, Array, Array]]:
        """Mesh of each part: corners and normals of its triangles, and its color or theirs."""
        found = []
        for part in self.scene.parts:
            vertices, faces = part.vertices.astype(float), part.faces.astype(np.int64)
            normals = vertex_normals(vertices, faces)
            color = np.array(part.color) / 255
            if part.shades is not None:
                color = part.shades[faces] / 255
            found.append((vertices[faces], normals[faces], color))
        return found

    def _triangles(self, index: int) -> Triangles:
        parts = []
        for part, (corners, normals, color) in zip(self.scene.parts, self._meshes, strict=True):
            R, p = part_poses(self.scene, self.frames, part, index)
            parts.append(_colored(corners @ R.T + p, normals @ R.T, color))
        for kind in arrows(self.scene, self.frames, forces=self.forces, velocities=self.velocities):
            for start, end in zip(kind.starts[index], kind.ends[index], strict=True):
                parts += _arrow(start, end, SHAFT * self.scene.length, kind.color)
        return Triangles.joined(parts)

    def _shadowed(self, image: Image, view: CameraView, triangles: Triangles) -> Image:
        """Shadows of all that is above the ground, drawn coarsely, since they are soft."""
        from PIL import Image as images
        from PIL import ImageDraw, ImageFilter

        ground = next((g for g in self._grids if g.body == WORLD), None)
        if ground is None:
            return image
        light = light_direction(view, self.scene.up)
        normal = ground.rotation[:, 2]
        above = np.all((triangles.corners - ground.position) @ normal > -1e-9, axis=1)
        seen = view.seen(shadows(triangles.corners[above], normal, ground.position, light))
        seen = seen[np.all(seen[..., 2] > view.near, axis=1)]
        mask = images.new("L", (self.width, self._tall), 0)
        pen = ImageDraw.Draw(mask)
        for corners in (view.pixels(seen) / FINER).reshape(-1, 6).tolist():
            pen.polygon(corners, fill=255)
        mask = mask.filter(ImageFilter.GaussianBlur(2)).point(lambda x: round(SHADOW * x))
        dark = images.new("RGB", image.size, DARK)
        return images.composite(dark, image, mask.resize(image.size))

    @cached_property
    def _landscape(self) -> tuple[Array, Array, Array] | None:
        """Points, normals and colors of curved ground that is fixed, if there is any."""
        found = [p for p in self.scene.parts if p.shades is not None and p.body == WORLD]
        if not found:
            return None
        return (
            np.concatenate([p.vertices.astype(float) for p in found]),
            np.concatenate(
                [vertex_normals(p.vertices.astype(float), p.faces.astype(np.int64)) for p in found]
            ),
            np.concatenate([p.shades / 255 for p in found if p.shades is not None]),
        )

    def _curved_shadows(self, view: CameraView, indices: Sequence[int]) -> Triangles:
        """Shadows of bodies on fixed curved ground: moved along the light into tangent planes."""
        if self._landscape is None:
            return Triangles.joined([])
        from scipy.spatial import cKDTree

        points, normals, colors = self._landscape
        tree = cKDTree(points)
        light = light_direction(view, self.scene.up)
        bodies = [
            corners @ R.T + p
            for k in indices
            for part, (corners, *_) in zip(self.scene.parts, self._meshes, strict=True)
            if not part.is_ground
            for R, p in [part_poses(self.scene, self.frames, part, k)]
        ]
        cast = np.concatenate([np.zeros((0, 3, 3)), *bodies]).reshape(-1, 3)
        spot = cast
        for _ in range(3):
            near = tree.query(spot)[1]
            n = normals[near]
            facing = np.maximum(n @ light, 0.1)
            height = np.sum((cast - points[near]) * n, axis=1)
            spot = cast - (height / facing)[:, None] * light
        # beyond the border there is nothing that a shadow could fall on
        apart = np.linalg.norm(spot - points[near], axis=1)
        wide = 1.5 * float(np.median(tree.query(points, 2)[0][:, 1]))
        is_cast = np.all((apart < wide).reshape(-1, 3), axis=1)
        corners = (spot + 2.5e-2 * self.scene.length * n).reshape(-1, 3, 3)[is_cast]
        normal = n.reshape(-1, 3, 3)[is_cast]
        shade = (1 - SHADOW) * colors[near].reshape(-1, 3, 3)[is_cast]
        # a shadow has no back
        turned = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        is_back = np.sum(turned * normal[:, 0], axis=1) < 0
        corners[is_back] = corners[is_back][:, ::-1]
        return Triangles(corners=corners, normals=normal, colors=shade)

    def _draw_grid(self, pen: ImageDraw, view: CameraView, grid: Grid, index: int) -> None:
        half = grid.width / 2
        R, p = grid.rotation, grid.position
        if grid.body != WORLD:
            k = self.frames.bodies.index(grid.body)
            R_B = rotations_of(self.frames.quaternions[index, k])
            R, p = R_B @ R, self.frames.positions[index, k] + R_B @ p
        count = round(half / grid.cell)
        for heavy in (False, True):
            color, width = (SECTION, 1.5 * FINER) if heavy else (CELL, FINER)
            for line in range(-count, count + 1):
                if (line % 5 == 0) != heavy:
                    continue
                at = line * grid.cell
                ends = np.array([[at, -half, 0.0], [at, half, 0.0]])
                for pair in (ends, ends[:, [1, 0, 2]]):
                    _line(pen, view, pair @ R.T + p, color, width)

    def _ribbons(self, eye: Array, index: int) -> Iterator[Triangles]:
        """Traces as ribbons that lie on the ground, so that hills may hide them."""
        up = self.scene.up
        for trace in traces(self.scene, self.frames):
            points = rounded(trace.points[: index + 1])
            pairs = np.stack([points[:-1], points[1:]], axis=1)
            if trace.dashes is not None:
                pairs = trace.dashes
            if not len(pairs):
                continue
            starts, ends = pairs[:, 0], pairs[:, 1]
            side = np.cross(ends - starts, up)
            size = np.linalg.norm(side, axis=1, keepdims=True)
            wide = RIBBON * np.linalg.norm(starts - eye, axis=1).mean()
            side = wide * side / np.maximum(size, 1e-12)
            a, b = starts - side, starts + side
            c, d = ends + side, ends - side
            corners = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
            normals = np.broadcast_to(up, corners.shape)
            yield _colored(corners, normals, np.array(trace.color) / 255)

    def _draw_traces(self, pen: ImageDraw, view: CameraView, index: int) -> None:
        found = traces(self.scene, self.frames)
        gone = [trace for trace in found if trace.dashes is None]
        for trace in gone:
            _line(pen, view, rounded(trace.points), pale(trace.color), FINER)
        for trace in gone:
            _line(pen, view, rounded(trace.points[: index + 1]), trace.color, 2 * FINER)
        for trace in found:
            for dash in () if trace.dashes is None else trace.dashes:
                _line(pen, view, dash, trace.color, 1.5 * FINER)

    @cached_property
    def _tall(self) -> int:
        """Height of the scene, pixels: what its caption leaves."""
        return self.height if self.caption is None else self.height - self._strip

    @property
    def _strip(self) -> int:
        """Height of the caption, pixels."""
        *_, last = self._heading
        return round(last.y + 1.8 * self._size)

    @property
    def _size(self) -> int:
        """Height of the text, pixels."""
        return max(12, self.height // 30)

    @cached_property
    def _heading(self) -> list[Words]:
        """Caption with time, scale of the grid and legend of the traces, one after the other.

        They are broken into lines; a legend that would take a quarter of a low picture is left out.
        """
        from PIL import ImageFont

        size, times = self._size, self.frames.times
        large, small = ImageFont.load_default(size), ImageFont.load_default(0.8 * size)
        longest = max((self._title(t) for t in (times[0], times[-1])), key=large.getlength)
        items: list[tuple[float, str, tuple[int, int, int] | None]]
        items = [(large.getlength(longest), longest, None)]
        if said := scale_text(self.scene, self._grids, self.speed):
            said = said.replace("\N{NO-BREAK SPACE}", " ")
            items.append((small.getlength(said), said, None))
        room = self.width - 2 * size
        found = traces(self.scene, self.frames) if self.traces else ()
        for most in range(NAMED, -1, -1):
            names = trace_names(found, most)
            if all(2 * size + small.getlength(text) <= room for text in names.values()):
                break
        items += [(2 * size + small.getlength(text), text, c) for c, text in names.items()]
        placed: list[Words] = []
        x, y = float(size), 0.6 * size
        for wide, text, color in items:
            if placed and x + wide > size + room:
                x, y = float(size), y + (1.5 if y < size else 1.15) * size
            placed.append(Words(x=x, y=y, text=text, color=color))
            x += wide + 1.2 * size
        low = [words for words in placed if words.y + 1.8 * size <= self.height / 4]
        return low or placed[:1]

    def _title(self, t: float) -> str:
        return f"{self.caption}   t = {t:.2f} s".strip()

    def _write(self, pen: ImageDraw, index: int) -> None:
        from PIL import ImageFont

        size = self._size
        large, small = ImageFont.load_default(size), ImageFont.load_default(0.8 * size)
        first, *others = self._heading
        pen.text((first.x, first.y), self._title(self.frames.times[index]), fill=INK, font=large)
        for words in others:
            # the smaller text on the line of the larger one
            x, y = words.x, words.y + (0.2 * size if words.y < size else 0.0)
            if words.color is not None:
                for a, b in DASHES if words.color == REFERENCE_TRACE else ((0.0, 1.0),):
                    ends = [(x + 1.4 * size * part, y + 0.5 * size) for part in (a, b)]
                    pen.line(ends, fill=words.color, width=max(2, round(0.15 * size)))
                x += 1.8 * size
            pen.text((x, y), words.text, fill=INK, font=small)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words of a caption: their place in the picture, pixels, and the color of their trace."""

    x: float
    y: float
    text: str
    color: Color | None


def _colored(corners: Array, normals: Array, color: Array) -> Triangles:
    colors = color if color.ndim == 3 else np.broadcast_to(color, (len(corners), 3))
    return Triangles(corners=corners, normals=normals, colors=colors)


def _arrow(start: Array, end: Array, radius: float, color: Color) -> list[Triangles]:
    """A shaft and a head; an arrow shorter than its head has a smaller one."""
    length = float(np.linalg.norm(end - start))
    if length < 1e-9 * radius or not np.isfinite(length):
        return []
    R = rotation_to(end - start)
    head = min(8 * radius, 0.6 * length)
    wide = 2.8 * radius * head / (8 * radius)
    parts: list[tuple[Mesh, float]] = [(cone(wide, head, 16), length - head)]
    if length > head:
        parts.append((cylinder(radius, length - head, 12), (length - head) / 2))
    found = []
    for (vertices, faces), at in parts:
        normals = vertex_normals(vertices, faces)
        moved = (vertices + [0.0, 0.0, at]) @ R.T + start
        found.append(_colored(moved[faces], (normals @ R.T)[faces], np.array(color) / 255))
    return found


def _line(pen: ImageDraw, view: CameraView, points: Array, color: Color, width: float) -> None:
    """A line through points, cut where it passes the camera."""
    seen = view.seen(points)
    ahead = seen[:, 2] > view.near
    if len(points) < 2:
        return
    if np.all(ahead):
        pen.line(view.pixels(seen).ravel().tolist(), fill=color, width=round(width), joint="curve")
        return
    for a, b in pairwise(seen):
        if a[2] < b[2]:
            a, b = b, a
        if a[2] <= view.near:
            continue
        if b[2] < view.near:
            b = a + (b - a) * (a[2] - view.near) / (a[2] - b[2])
        pen.line([tuple(p) for p in view.pixels(np.stack([a, b]))], fill=color, width=round(width))


def find_ffmpeg(path: Path) -> str:
    """The program, or what to do without it."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise SimulationError(
            "an MP4 film needs the program ffmpeg, which is not installed",
            str(path),
            "install ffmpeg, or write a .gif or .html instead",
        )
    return program
