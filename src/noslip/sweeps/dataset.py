"""A store as one labelled xarray dataset, opened lazily.

Dimensions are the factors of the design; variables are the measures, ``ending`` and ``reason``.
Nothing is read before it is asked for, and then only the chunks that hold it. What has not been run
yet is not a number. No Dask is needed; ``dataset.chunk()`` gives Dask arrays to who has it.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import StorageError
from noslip.base import require
from noslip.sweeps.design import Integers, SampleFactor
from noslip.sweeps.layers import Layer, inverse, row_maps
from noslip.sweeps.measures import ENDING, ENDINGS, NOT_RUN, REASON
from noslip.sweeps.store import REQUEST, SweepStore, read_store

if TYPE_CHECKING:
    import xarray

#: Chunks of one measure that are kept in memory by an open dataset.
KEPT = 64


class StoreReader:
    """Reads values of points from the chunks of a store, as they were when it was opened."""

    def __init__(self, store: SweepStore) -> None:
        self.store = store
        self.design = store.request.design
        self.files = [store.finished(layer.number) for layer in store.layers]
        self._maps: dict[int, tuple[Integers, ...]] = {}
        self._cache: OrderedDict[tuple[Path, str], np.ndarray] = OrderedDict()

    @classmethod
    def open(cls, folder: str | Path) -> StoreReader:
        """A reader of the store in a folder, complete or not.

        Raises
        ------
        SimulationError : there is no store, or it is damaged.
        """
        return cls(read_store(folder))

    def endings(self, points: Integers) -> Integers:
        """Codes of `PointEnding`, how each point ended."""
        return self.read(ENDING, points)

    def reasons(self, points: Integers) -> list[str]:
        """Why each point failed; empty for those that did not."""
        return [str(reason or "") for reason in self.read(REASON, points)]

    @property
    def num_failed_points(self) -> int:
        """Failed points of all chunks but for those that were tried again."""
        if len(self.store.layers) == 1:
            return sum(int(path.name.split(".")[1][:-1]) for path in self.files[0].values())
        return len(self.failed_points())

    @property
    def num_done(self) -> int:
        """Points that have been run."""
        return sum(self._points_in(layer) for layer in self.store.layers if layer.adds_points)

    def _points_in(self, layer: Layer) -> int:
        done = self.files[layer.number]
        if not done:
            return 0
        last = layer.num_blocks - 1
        short = layer.size - last * layer.block
        return (len(done) - (last in done)) * layer.block + (short if last in done else 0)

    @property
    def is_complete(self) -> bool:
        """Whether every chunk is there."""
        return all(len(self.files[x.number]) >= x.num_blocks for x in self.store.layers)

    def failed_points(self) -> Integers:
        """Points whose newest try failed, read from the chunks that have some."""
        found: list[np.ndarray] = []
        for layer in self.store.layers:
            for block, path in self.files[layer.number].items():
                if ".0f." not in path.name:
                    positions = layer.positions_of_block(block)
                    codes = self._values(layer, block, path, ENDING)
                    points = layer.points(positions[codes > ENDINGS.index("excluded")])
                    found.append(self._to_current(layer, points))
        points = np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
        codes = self.read(ENDING, points)
        return np.asarray(points[codes > ENDINGS.index("excluded")])

    def read(self, what: str, points: Integers, tail: tuple[int, ...] = ()) -> np.ndarray:
        """Values of a measure, or endings as codes, or reasons, of points of the design."""
        if what == REASON:
            result = np.full(len(points), "", dtype=object)
        elif what == ENDING:
            result = np.full(len(points), NOT_RUN, dtype=np.uint8)
        else:
            result = np.full((len(points), *tail), np.nan)
        open_places = np.arange(len(points))
        for layer in reversed(self.store.layers):
            if not open_places.size:
                break
            if what not in (ENDING, REASON) and what not in layer.measures:
                continue
            own = self._to_layer(layer, points[open_places])
            inside = np.flatnonzero(own >= 0)
            positions = np.full(len(own), -1, np.int64)
            positions[inside] = layer.positions(own[inside])
            blocks = np.where(positions >= 0, positions // layer.block, -1)
            taken = np.zeros(len(own), dtype=bool)
            for block in np.unique(blocks[blocks >= 0]).tolist():
                path = self.files[layer.number].get(block)
                if path is None:
                    continue
                here = np.flatnonzero(blocks == block)
                values = self._values(layer, block, path, what, tail)
                result[open_places[here]] = values[positions[here] - block * layer.block]
                taken[here] = True
            open_places = open_places[~taken]
        return result

    def _values(
        self, layer: Layer, block: int, path: Path, what: str, tail: tuple[int, ...] = ()
    ) -> np.ndarray:
        """What a chunk has of its points, of the shape that the store says."""
        key = (path, what)
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        chunk = self.store.read(path, () if what in (ENDING, REASON) else (what,))
        if what == ENDING:
            values = chunk.endings
        elif what == REASON:
            values = np.full(len(chunk.endings), "", dtype=object)
            for place, text in chunk.reasons.items():
                values[place] = text
        else:
            values = chunk.values[what]
        count = max(0, min(layer.block, layer.size - block * layer.block))
        if values.shape != (count, *tail):
            raise StorageError(
                f"the chunk has {what} of shape {values.shape}, and {(count, *tail)} by {REQUEST}",
                str(path),
                f"restore {REQUEST}, or remove this file and repeat the command",
            )
        self._cache[key] = values
        if len(self._cache) > KEPT:
            self._cache.popitem(last=False)
        return values

    def _to_layer(self, layer: Layer, points: Integers) -> Integers:
        """Points of the current design as those of a layer's; −1 where it has no such point."""
        maps = self._inverse(layer)
        digits = [m[d] for m, d in zip(maps, self.design.digits(points), strict=True)]
        inside = np.all([d >= 0 for d in digits], axis=0)
        safe = tuple(np.maximum(d, 0) for d in digits)
        flat = np.ravel_multi_index(safe, layer.design.shape)
        return np.where(inside, flat, -1)

    def _inverse(self, layer: Layer) -> tuple[Integers, ...]:
        if layer.number not in self._maps:
            maps = row_maps(layer.design, self.design)
            assert maps is not None
            self._maps[layer.number] = tuple(
                inverse(kept, n) for kept, n in zip(maps, self.design.shape, strict=True)
            )
        return self._maps[layer.number]

    def _to_current(self, layer: Layer, points: Integers) -> Integers:
        maps = row_maps(layer.design, self.design)
        assert maps is not None
        digits = [kept[d] for kept, d in zip(maps, layer.design.digits(points), strict=True)]
        return np.asarray(np.ravel_multi_index(tuple(digits), self.design.shape))


def open_sweep(folder: str | os.PathLike[str]) -> xarray.Dataset:
    """The results of a sweep as a labelled dataset, read from its chunks when they are asked for.

    A sweep that still runs can be opened too; what is not there yet is not a number.

    Parameters
    ----------
    folder : of a sweep, made by :func:`noslip.sweep` or ``noslip sweep``.

    Returns
    -------
    Dataset : a variable for each measure over the dimensions of the design, with units; what is
        varied as coordinates; ``ending`` and ``reason`` of each point; the request as attributes.

    Raises
    ------
    SimulationError : the folder holds no sweep.
    """
    return to_xarray(StoreReader(read_store(folder)))


def to_xarray(reader: StoreReader) -> xarray.Dataset:
    """The dataset of a reader."""
    require("xarray", "a dataset", str(reader.store.folder))
    import xarray

    store, design = reader.store, reader.design
    data = store.data
    shape = design.shape
    dimensions = tuple(factor.dimension for factor in design.factors)
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for measure in store.request.measures:
        facts = data["variables"][measure]
        tail = (len(facts["coordinate"]),) if facts["dimension"] else ()
        attributes = {"units": facts["unit"]}
        if facts["description"]:
            attributes["description"] = facts["description"]
        dims = dimensions
        if tail:
            name = facts["dimension"]
            if name in coordinates and len(coordinates[name][1]) != tail[0]:
                name = f"{name} of {measure}"
            coordinates[name] = (name, facts["coordinate"], {"units": facts["coordinate_unit"]})
            dims = (*dimensions, name)
        variables[measure] = xarray.Variable(
            dims, _lazy(reader, measure, shape, tail, np.dtype(float)), attributes
        )
    words = np.array(ENDINGS)
    variables[ENDING] = xarray.Variable(
        dimensions,
        _lazy(reader, ENDING, shape, (), words.dtype, lambda codes: words[codes]),
        {"description": "how each point ended"},
    )
    variables[REASON] = xarray.Variable(
        dimensions,
        _lazy(reader, REASON, shape, (), np.dtype(object)),
        {"description": "why a point failed"},
    )
    for factor in design.factors:
        for k, name in enumerate(factor.names):
            attributes = {"units": data["units"].get(name, "")}
            if isinstance(factor, SampleFactor):
                values: Any = _lazy_rows(factor, k)
            else:
                values = factor.rows(np.arange(len(factor)))[:, k]
            coordinates[name] = xarray.Variable((factor.dimension,), values, attributes)
    return xarray.Dataset(variables, coords=coordinates, attrs=_attributes(reader))


def _attributes(reader: StoreReader) -> dict[str, Any]:
    store = reader.store
    return {
        "model": store.data["model_name"],
        "work": store.request.work,
        "settings": json.dumps(store.request.settings, ensure_ascii=False),
        "conditions": "; ".join(c.text for c in store.request.design.conditions),
        "target": json.dumps(store.target),
        "points": reader.design.size,
        "points_done": reader.num_done,
        "points_failed": reader.num_failed_points,
        "complete": int(reader.is_complete),
        "folder": str(store.folder),
    }


def _lazy(
    reader: StoreReader,
    what: str,
    shape: tuple[int, ...],
    tail: tuple[int, ...],
    dtype: np.dtype[Any],
    after: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Any:
    """An array that reads chunks when it is indexed."""

    def get(key: tuple[Any, ...]) -> np.ndarray:
        axes = [_places(n, k) for n, k in zip(shape, key, strict=False)]
        grid = np.ravel_multi_index(np.ix_(*axes), shape).ravel()
        values = reader.read(what, grid, tail)
        values = values if after is None else after(values)
        values = values.reshape(*(len(axis) for axis in axes), *tail)
        rest = tuple(k for k in key[len(shape) :])
        picks = tuple(
            0 if isinstance(k, int | np.integer) else slice(None) for k in key[: len(shape)]
        )
        if rest and not isinstance(rest[0], slice | int | np.integer):
            values = values[..., rest[0]]
            rest = (slice(None),)
        return np.asarray(values[(*picks, *rest)])

    return _lazy_array((*shape, *tail), dtype, get)


def _places(length: int, key: Any) -> Integers:
    """Places along a dimension that an index names."""
    if isinstance(key, slice):
        return np.arange(*key.indices(length))
    return np.atleast_1d(np.asarray(key, np.int64)) % length


def _lazy_rows(factor: SampleFactor, column: int) -> Any:
    def get(key: tuple[Any, ...]) -> np.ndarray:
        which = _places(len(factor), key[0])
        values = factor.rows(which)[:, column]
        return np.asarray(values[0] if isinstance(key[0], int | np.integer) else values)

    return _lazy_array((len(factor),), np.dtype(float), get)


def _lazy_array(shape: tuple[int, ...], dtype: Any, get: Callable[[Any], np.ndarray]) -> Any:
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class _StoredArray(BackendArray):
        """Values that are found when they are indexed."""

        def __init__(self) -> None:
            self.shape, self.dtype = shape, np.dtype(dtype)

        def __getitem__(self, key: Any) -> Any:
            return indexing.explicit_indexing_adapter(
                key, self.shape, indexing.IndexingSupport.OUTER, get
            )

    return indexing.LazilyIndexedArray(_StoredArray())


def point_values(values: Mapping[str, np.ndarray], k: int) -> dict[str, float]:
    """Values of one of some points."""
    return {name: float(array[k]) for name, array in values.items()}
