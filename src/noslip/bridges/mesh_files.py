"""Mesh files of robot descriptions, STL, OBJ and Collada, coarsened so that a model can hold them.

A mesh is only drawn. It is looked for in the folder of the description and in the package around
it, never beyond: names that lead out, by ``..``, by an absolute path or by a link, are not opened.
Nothing that a mesh file names (materials, textures) is read.

Coarsened by clustering [RossignacBorrel1993]: corners in one cell of a grid become one, their mean,
and faces that thereby lose a corner are dropped.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noslip import ModelError, NoslipError
from noslip.base import LARGEST, Array, absolute, read_bytes, read_text
from noslip.bridges.xml_text import XmlElement, parse_xml
from noslip.model import rotation_about
from noslip.shapes import Facets

#: Bytes of a mesh file, and triangles in it.
MAX_BYTES, MAX_TRIANGLES = 100_000_000, 2_000_000
#: Cells along the longest edge of a mesh, at first, and triangles that are kept of it.
CELLS, KEPT = 24, 300
#: Folders above a description in which its package is looked for.
ABOVE = 4

Faces = NDArray[np.int64]
Mesh = tuple[Array, Faces]


def mesh_path(name: str, description: Path) -> Path:
    """The file that a description means by the name of a mesh.

    Raises
    ------
    ModelError : it is not there, or outside of the description's folder and package.
    """
    folder = absolute(description).parent
    around = [folder, *folder.parents][: ABOVE + 1]
    package = next((place for place in around if os.path.isfile(place / "package.xml")), folder)
    # some write a third slash
    found = re.fullmatch(r"(package|model):///?([^/]+)/(.+)", name, flags=re.DOTALL)
    if found is not None:
        roots = [place for place in around if place.name == found[2]]
        roots += [place / found[2] for place in around if _is_package(place, found[2], package)]
        candidates = [(root, root / found[3]) for root in roots]
        if not roots:
            raise _refusal(name, description, f"there is no package '{found[2]:.60}' around it")
    else:
        plain = name.removeprefix("file://")
        if "://" in plain:
            raise _refusal(name, description, "it is an address, and none is followed")
        candidates = [(package, folder / plain)]
    for root, path in candidates:
        if "\0" in str(path):
            continue
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(root)):
            raise _refusal(name, description, "it is outside of the folder of the description")
        if os.path.isfile(real):  # Path.is_file fails at names that are too long
            return real
    raise _refusal(name, description, "there is no such file")


def _is_package(place: Path, name: str, package: Path) -> bool:
    """Whether a folder is a package beside or around a description, or lies within its own.

    One that is neither is some folder of the computer that has the name by chance, or by intent.
    """
    found = place / name
    if name in (".", "..") or "\0" in name or not os.path.isdir(found):
        return False
    # a link out of the place is none of its folders
    if not Path(os.path.realpath(found)).is_relative_to(place):
        return False
    is_marked = any(os.path.isfile(found / mark) for mark in ("package.xml", "model.config"))
    return is_marked or place.is_relative_to(package)


def _refusal(name: str, description: Path, why: str) -> ModelError:
    return ModelError(
        f"mesh '{name[:80]}' is not drawn: {why}",
        str(description),
        "put the mesh into the folder of the description or its package",
    )


def facets_of(name: str, description: Path, scale: tuple[float, ...]) -> Facets:
    """A mesh of a description as a shape, coarsened.

    Raises
    ------
    ModelError : it is not there, cannot be read, or is empty.
    """
    path = mesh_path(name, description)
    readers = {".stl": _stl, ".obj": _obj, ".dae": _dae}
    if path.suffix.lower() not in readers:
        raise _refusal(name, description, f"'{path.suffix}' is not read, .stl, .obj and .dae are")
    try:
        # numbers that are too large become infinite or none, and are refused below
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            points, faces = readers[path.suffix.lower()](path)
            points = points * np.array(scale)
        if not faces.size or not np.all(np.abs(points) <= LARGEST):
            raise _refusal(name, description, "it has no triangles, or no finite ones")
        if np.prod(scale) < 0:
            faces = faces[:, ::-1]
        points, faces = coarsened(points, faces)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise _refusal(name, description, f"it cannot be read: {error}"[:200]) from None
    digits = [float(f"{value:.4g}") for value in points.ravel()]
    return Facets(points=tuple(digits), faces=tuple(map(float, faces.ravel().tolist())))


def coarsened(points: Array, faces: Faces) -> Mesh:
    """At most `KEPT` triangles of the same outline."""
    cells = CELLS
    while True:
        size = float(np.max(np.ptp(points, axis=0))) or 1.0
        places = np.floor((points - points.min(axis=0)) / (size / cells * (1 + 1e-9)))
        _, which = np.unique(places, axis=0, return_inverse=True)
        which = which.ravel()
        count = np.bincount(which)
        means = np.column_stack([np.bincount(which, points[:, k]) / count for k in range(3)])
        merged = which[faces]
        a, b, c = merged.T
        merged = merged[(a != b) & (b != c) & (a != c)]
        # the same corners in the same sense, whichever comes first
        first = np.argmin(merged, axis=1)[:, None]
        turned = np.take_along_axis(merged, (first + np.arange(3)) % 3, axis=1)
        merged = np.unique(turned, axis=0)
        if len(merged) <= KEPT or cells <= 2:
            used, again = np.unique(merged, return_inverse=True)
            if not len(merged):
                raise ValueError("all its triangles are a single point")
            return means[used], again.reshape(-1, 3).astype(np.int64)
        cells = max(2, int(cells * math.sqrt(KEPT / len(merged))))


def _bytes(path: Path) -> bytes:
    return read_bytes(path, ModelError, "give a smaller mesh", max_bytes=MAX_BYTES)


def _soup(corners: Array) -> Mesh:
    if len(corners) > 3 * MAX_TRIANGLES:
        raise ValueError(f"it has more than {MAX_TRIANGLES} triangles")
    points, which = np.unique(corners, axis=0, return_inverse=True)
    return points, which.reshape(-1, 3).astype(np.int64)


def _stl(path: Path) -> Mesh:
    """STL, binary (80 bytes, a count, 50 bytes a triangle) or text (lines ``vertex x y z``)."""
    data = _bytes(path)
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("about", "<u2")])
        table = np.frombuffer(data, dtype=kind, offset=84)
        corners = table["corners"].reshape(-1, 3)
        if not np.isfinite(corners).all():
            raise ValueError("a corner is not a finite number")
        return _soup(corners.astype(float))
    found = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    if not found or len(found) % 3:
        raise ValueError("it is neither binary nor text STL")
    corners = np.array(found, dtype="S32").astype(float)
    if not np.isfinite(corners).all():
        raise ValueError("a corner is not a finite number")
    return _soup(corners)


def _obj(path: Path) -> Mesh:
    """Wavefront OBJ: lines ``v x y z`` and ``f a b c …``, polygons as fans."""
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in _bytes(path).decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            at = [int(word.partition("/")[0]) for word in words[1:]]
            at = [k - 1 if k > 0 else len(points) + k for k in at]
            faces += [(at[0], at[k], at[k + 1]) for k in range(1, len(at) - 1)]
        if len(faces) > MAX_TRIANGLES:
            raise ValueError(f"it has more than {MAX_TRIANGLES} triangles")
    return _checked(np.array(points, dtype=float).reshape(-1, 3), np.array(faces, dtype=np.int64))


def _checked(points: Array, faces: Faces) -> Mesh:
    faces = faces.reshape(-1, 3)
    if faces.size and not (0 <= faces.min() and faces.max() < len(points)):
        raise ValueError("a face refers to a missing vertex")
    return points, faces


def _dae(path: Path) -> Mesh:
    """Collada: triangles and polygons of all geometries, where its scene places them."""
    root = parse_xml(read_text(path, ModelError, "give a mesh", max_bytes=MAX_BYTES), str(path))
    meshes = {
        geometry.attributes.get("id", ""): _collada_mesh(mesh)
        for library in root.all("library_geometries")
        for geometry in library.all("geometry")
        for mesh in geometry.all("mesh")
    }
    placed: list[tuple[Mesh, Array]] = []
    for library in root.all("library_visual_scenes"):
        for scene in library.all("visual_scene"):
            _place_nodes(scene, np.eye(4), meshes, placed)
    placed = placed or [(mesh, np.eye(4)) for mesh in meshes.values()]
    points, faces, count = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0
    for (own, triangles), T in placed:
        points.append(own @ T[:3, :3].T + T[:3, 3])
        faces.append(triangles + count)
        count += len(own)
    asset = root.first("asset")
    unit = asset.first("unit") if asset is not None else None
    axis = asset.first("up_axis") if asset is not None else None
    meter = float(unit.attributes.get("meter", "1")) if unit is not None else 1.0
    up = axis.text.strip() if axis is not None else "Y_UP"
    turn = {"X_UP": [[0, -1, 0], [0, 0, -1], [1, 0, 0]], "Z_UP": np.eye(3)}
    R = np.array(turn.get(up, [[1, 0, 0], [0, 0, -1], [0, 1, 0]]), dtype=float)
    return _checked(meter * np.concatenate(points) @ R.T, np.concatenate(faces))


def _place_nodes(
    node: XmlElement, T: Array, meshes: dict[str, Mesh], placed: list[tuple[Mesh, Array]]
) -> None:
    for child in node.children:
        is_moving = child.tag in ("matrix", "translate", "scale", "rotate")
        values = np.array(child.text.split() if is_moving else [], dtype=float)
        if child.tag == "matrix":
            T = T @ values.reshape(4, 4)
        elif child.tag == "translate":
            T = T @ np.block([[np.eye(3), values[:3, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        elif child.tag == "scale":
            T = T @ np.diag([*values[:3], 1.0])
        elif child.tag == "rotate":
            T = T @ _turn(values)
        elif child.tag == "node":
            _place_nodes(child, T, meshes, placed)
        elif child.tag == "instance_geometry":
            name = child.attributes.get("url", "").removeprefix("#")
            if name in meshes:
                placed.append((meshes[name], T))


def _turn(values: Array) -> Array:
    T = np.eye(4)
    T[:3, :3] = rotation_about(values[:3] / np.linalg.norm(values[:3]), math.radians(values[3]))
    return T


def _collada_mesh(mesh: XmlElement) -> Mesh:
    arrays = {
        source.attributes.get("id", ""): np.array(values.text.split(), dtype=float)
        for source in mesh.all("source")
        for values in source.all("float_array")
    }
    vertices = {
        v.attributes.get("id", ""): held.attributes.get("source", "").removeprefix("#")
        for v in mesh.all("vertices")
        for held in v.all("input")
        if held.attributes.get("semantic") == "POSITION"
    }
    points, faces = np.zeros((0, 3)), [np.zeros((0, 3), dtype=np.int64)]
    for part in mesh.all("triangles", "polylist", "polygons"):
        inputs = list(part.all("input"))
        stride = 1 + max(int(i.attributes.get("offset", "0")) for i in inputs)
        own = next(i for i in inputs if i.attributes.get("semantic") == "VERTEX")
        at = int(own.attributes.get("offset", "0"))
        points = arrays[vertices[own.attributes.get("source", "").removeprefix("#")]].reshape(-1, 3)
        lists = [np.array(p.text.split(), dtype=np.int64)[at::stride] for p in part.all("p")]
        if part.tag == "triangles":
            counts = [3] * (sum(map(len, lists)) // 3)
        elif part.tag == "polygons":
            counts = [len(p) for p in lists]
        else:
            held = part.first("vcount")
            counts = [int(word) for word in held.text.split()] if held is not None else []
        corners, start = np.concatenate([*lists, np.zeros(0, dtype=np.int64)]), 0
        if set(counts) == {3}:
            faces.append(corners[: 3 * len(counts)].reshape(-1, 3))
            continue
        for count in counts[:MAX_TRIANGLES]:
            c = corners[start : start + count]
            fan = [(c[0], c[k], c[k + 1]) for k in range(1, count - 1)]
            faces.append(np.array(fan, dtype=np.int64).reshape(-1, 3))
            start += count
    return _checked(points, np.concatenate(faces))


def drawn(name: str, description: Path, scale: tuple[float, ...]) -> Facets | str:
    """The shape of a mesh, or the reason that it is not drawn."""
    try:
        return facets_of(name, description, scale)
    except NoslipError as error:
        return str(error).partition("\n")[0]
