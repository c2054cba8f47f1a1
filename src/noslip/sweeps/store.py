"""The store of a sweep: a folder of chunks that survives its processes, and its dataset.

**The store of a sweep: a folder of chunks that survives its processes.**

    sweep.json              request, target and layers; replaced as a whole when the sweep grows
    model.toml              the model
    chunks/LLL/GGGGGG/BBBBBBBBB.Nf.nc     chunk B of layer L (1000 in a folder G), N failed points
    claims.lock             byte ranges of it are locked by whoever works at a chunk
    report.html             for people

A chunk is one NetCDF file, written under a hidden name, flushed to the disk and renamed: it is
there whole or not at all. NetCDF and not Zarr: a chunk of many measures is one file and one rename,
where Zarr has a file for each measure and no moment at which all of them are there; its numbers
carry checksums (Fletcher), so that a damaged disk is noticed.

Claims are locks of the operating system on single bytes of one file. A process that dies loses
them at that moment, whatever killed it, so there are no stale claims; they work across machines
where the file system has locks (NFSv4, Lustre, GPFS). Where it has none, two processes may compute
the same chunk; its bits are the same, and the second replaces the first. Never is one damaged.

**A store as one labelled xarray dataset, opened lazily.**

Dimensions are the factors of the design; variables are the measures, ``ending`` and ``reason``.
Nothing is read before it is asked for, and then only the chunks that hold it. What has not been run
yet is not a number. No Dask is needed; ``dataset.chunk()`` gives Dask arrays to who has it.

**`SweepRequest`: a sweep's request, checked before anything runs, and its target.**

A request is plain data but for its design, which is made from plain data again: a store keeps it as
JSON, workers read it there. Two requests are the same, an extension of each other, or different;
:func:`differences` says in which words.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import inspect
import json
import os
import platform
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import Model, SimulationError, StorageError, load_plugin
from noslip.base import (
    IF_YOUR_OWN,
    ArgumentError,
    absolute,
    check_hdf5_heaps,
    find_member,
    nearest,
    read_text,
    reported,
    require,
    words_of,
    write_atomically,
)
from noslip.engines import native_lanes, read_device, target_facts
from noslip.model import model_to_toml, parse_model
from noslip.simulation import new_netcdf
from noslip.sweeps.design import (
    Design,
    Integers,
    SampleFactor,
    factor_from_json,
    is_finite_number,
    read_condition,
    read_design,
)
from noslip.sweeps.measures import (
    ENDING,
    ENDINGS,
    NOT_RUN,
    REASON,
    Layer,
    PointResults,
    ResultVariable,
    check_texts,
    inverse,
    is_failed,
    layer_from_json,
    new_boxes,
    old_boxes,
    row_maps,
    same_json,
    whole,
)
from noslip.sweeps.run_tasks import NoisyWork, RunWork, TrackWork
from noslip.sweeps.tasks import (
    AbstractWork,
    EvaluateWork,
    FunctionWork,
    LinearizeWork,
    SteadyWork,
    function_text,
)

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepRequest:
    """Request of a sweep."""

    model: str  #: text of the model file
    #: work, settings: task at each point, and its settings
    work: str
    settings: dict[str, Any]
    design: Design  #: the points
    measures: tuple[str, ...]  #: measures that are stored of each
    #: modules that define parts of the model, or works, of one's own. A store keeps their names for
    #: people; nothing loads what a file names.
    plugins: tuple[str, ...] = ()
    #: the work, if it was made in this process
    work_object: AbstractWork | None = field(default=None, repr=False)
    #: whether a call of this process, or of the client of this worker, named the function; that of
    #: a file is not looked for
    is_own: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "model": hashlib.sha256(self.model.encode()).hexdigest(),
            "work": self.work,
            "settings": self.settings,
            "factors": [factor.to_json() for factor in self.design.factors],
            "conditions": [condition.text for condition in self.design.conditions],
            "measures": list(self.measures),
            "plugins": list(self.plugins),
        }

    def make(self, settings: Mapping[str, Any] | None = None, measures: Sequence[str] = ()) -> Any:
        """The work, with other settings and measures where they are given."""
        if self.work_object is not None and not settings and not measures:
            return self.work_object
        given = {**self.settings, **(settings or {})}
        given.pop("function_source", None)
        function = given.get("function")
        is_known = self.is_own and function == self.settings.get("function")
        if isinstance(function, str) and not is_known:
            raise SimulationError(
                f"the work of the sweep is the function '{function:.80}', and a file names no code "
                "that is run",
                "sweep",
                "name it yourself: give the call or command again that made the sweep",
            )
        if self.work_object is not None and "function" in given:
            given["function"] = self.work_object.settings["function"]
        model, _ = parse_model(self.model, "model.toml")
        return make_work(self.work, model, given, tuple(measures) or self.measures)


def read_request(
    model: Model,
    work: Any,
    *,
    vary: Mapping[str, Any],
    sample: Mapping[str, Any],
    zipped: Sequence[Sequence[str]],
    where: Sequence[str],
    draws: int,
    sampling: str,
    seed: int,
    measures: Sequence[str],
    settings: Mapping[str, Any],
    plugins: Sequence[str] = (),
) -> SweepRequest:
    """A request, checked as a whole: model, work, settings, design and measures.

    Raises
    ------
    NoslipError : for the first thing that is wrong.
    """
    for plugin in plugins:
        load_plugin(plugin)
    own: dict[str, Any] = dict(settings)
    word = work
    if callable(work):
        word, own["function"] = "function", work
    texts = check_texts(measures)
    constants = model.parameter_values()
    if model.scenario is not None:
        constants |= {p.name: p.value for p in model.scenario.parameters}
    design = read_design(
        vary,
        sample,
        zipped=zipped,
        where=where,
        draws=draws,
        sampling=sampling,
        seed=seed,
        constants=constants,
    )
    if not isinstance(word, str):
        raise ArgumentError(
            f"work is {work!r:.60}",
            "argument of sweep",
            "give the name of a task, such as 'run', or a function",
        )
    made = make_work(word, model, own, texts)
    made.check_varied(design.names)
    for name in sorted({*design.names, ENDING, REASON} & set(texts)):
        raise SimulationError(
            f"measure '{name}' has the name of a varied value, or of one that every sweep has",
            f"sweep of model '{model.name}'",
            "give it another name",
        )
    made.variables()
    defaults = made.defaults
    kept = {n: _plain(x) for n, x in own.items() if n not in defaults or x != defaults[n]}
    if "function" in own:
        kept |= _function(own["function"])
    return SweepRequest(
        model=model_to_toml(model),
        work=word,
        settings=kept,
        design=design,
        measures=texts,
        plugins=tuple(str(p) for p in plugins),
        work_object=made,
        is_own=True,
    )


def read_toml(path: Path, *, max_bytes: int) -> dict[str, Any]:
    """The table of a TOML file with a request.

    Raises
    ------
    SimulationError : it cannot be read.
    """
    import tomllib

    text = read_text(path, SimulationError, "give a TOML file", max_bytes=max_bytes)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SimulationError(f"the file is not TOML: {error}", str(path), "correct it") from None


def request_from_json(data: Mapping[str, Any], model: str) -> SweepRequest:
    """The request of a store; what is data runs no code."""
    parsed, _ = parse_model(model, "model.toml")
    constants = parsed.parameter_values()
    if parsed.scenario is not None:
        constants |= {p.name: p.value for p in parsed.scenario.parameters}
    factors = tuple(factor_from_json(f, constants) for f in data["factors"])
    names = {name for factor in factors for name in factor.names}
    again = [read_condition(text, names | set(constants)) for text in data["conditions"]]
    made = SweepRequest(
        model=model,
        work=data["work"],
        settings=dict(data["settings"]),
        design=Design(factors, tuple(again), constants),
        measures=check_texts(data["measures"]),
        plugins=tuple(str(name) for name in data["plugins"]),
    )
    written = made.to_json() | {"model": data["model"]}
    if not same_json(written, data) or not isinstance(made.work, str) or not made.design.factors:
        raise ValueError("the request is not as it was written")
    return made


def _plain(value: Any) -> Any:
    """Settings as JSON holds them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool) or value is None else repr(value)


def _function(function: Any) -> dict[str, Any]:
    """Name of a function, and the hash of its source."""
    name = function if isinstance(function, str) else function_text(function)
    target = function
    if isinstance(function, str):
        from noslip.sweeps.tasks import find_function

        target = find_function(function, "sweep")
    try:
        source = inspect.getsource(target)
    except (OSError, TypeError):
        source = getattr(getattr(target, "__code__", None), "co_code", b"").hex()
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    shown = name or f"<{getattr(target, '__name__', 'function')}>"
    return {"function": shown, "function_source": digest}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a new request with that of a store."""

    differences: tuple[str, ...]  #: differences that are not extensions, a sentence each
    #: more_points, more_measures: points and measures of the new request beyond the stored one
    more_points: bool = False
    more_measures: tuple[str, ...] = ()


def compare(stored: SweepRequest, asked: SweepRequest) -> Comparison:
    """Differences of a request from that of a store, as far as they are no extension."""
    old, new = stored.to_json(), asked.to_json()
    found = []
    if stored.model != asked.model:
        found.append(f"the model differs: {_lines(stored.model, asked.model)}")
    if old["work"] != new["work"]:
        found.append(f"the work is '{new['work']}', in the store it is '{old['work']}'")
    for name in sorted(set(old["settings"]) | set(new["settings"])):
        before, after = (_shown(d["settings"], name, stored.work) for d in (old, new))
        if before != after:
            found.append(f"setting '{name}' is {after}, in the store it is {before}")
    if old["conditions"] != new["conditions"]:
        found.append(
            f"the conditions are {_listed(new['conditions'])}, in the store "
            f"{_listed(old['conditions'])}"
        )
    missing = [m for m in old["measures"] if m not in new["measures"]]
    if missing:
        found.append(f"measure '{missing[0]}' of the store is not requested")
    is_more = False
    if old["factors"] != new["factors"]:
        maps = row_maps(stored.design, asked.design)
        if maps is None:
            found.append(_points_differ(stored.design, asked.design))
        else:
            is_more = stored.design.shape != asked.design.shape or any(
                not np.array_equal(kept, np.arange(len(kept))) for kept in maps
            )
    more = tuple(m for m in new["measures"] if m not in old["measures"])
    return Comparison(tuple(found), is_more, more)


def _shown(settings: Mapping[str, Any], name: str, work: str) -> str:
    member = find_member(AbstractWork, work)
    default = member.defaults.get(name) if member is not None else None
    value = settings.get(name, default)
    return "not given" if value is None else repr(value)[:80]


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts) or "none"


def _lines(old: str, new: str) -> str:
    """The first lines of two models that differ."""
    changed = [
        line
        for line in difflib.ndiff(old.splitlines(), new.splitlines())
        if line.startswith(("- ", "+ "))
    ]
    before = next((line[2:].strip() for line in changed if line.startswith("- ")), "nothing")
    after = next((line[2:].strip() for line in changed if line.startswith("+ ")), "nothing")
    return f"'{after[:60]}', in the store '{before[:60]}'"


def _points_differ(old: Design, new: Design) -> str:
    """In which factor two designs differ, in words."""
    for name in old.names:
        if name not in new.names:
            return f"'{name}' is varied in the store, and not here"
    for name in new.names:
        if name not in old.names:
            return f"'{name}' is varied, and not in the store"
    for before, after in zip(old.factors, new.factors, strict=False):
        if before.names != after.names:
            return (
                f"the dimensions are {', '.join(f.dimension for f in new.factors)}, in the store "
                f"{', '.join(f.dimension for f in old.factors)}"
            )
        single = [
            row_maps(dataclasses.replace(old, factors=(b,)), dataclasses.replace(new, factors=(a,)))
            for b, a in ((before, after),)
        ]
        if single[0] is None:
            return (
                f"the values of {before.dimension} are {_brief(after.to_json())}, in the store "
                f"{_brief(before.to_json())}, and not all of those are among them"
            )
    return "the points differ"


def _brief(data: Mapping[str, Any]) -> str:
    if "sample" in data:
        texts = ", ".join(data["sample"])
        return f"{data['count']} {data['sampling']} samples of {texts} (seed {data['seed']})"
    return ", ".join(
        spec if isinstance(spec, str) else f"{len(spec)} numbers" for spec in data["values"]
    )


@cache
def target_of_host(device: str = "cpu") -> dict[str, Any]:
    """Properties of the host that the bits of a result depend on."""
    versions = {name: metadata.version(name) for name in ("casadi", "numpy", "scipy")}
    libc = "-".join(platform.libc_ver()) or platform.system()
    card = "cpu"
    if device != "cpu":
        found = read_device(device, "sweep")
        card = f"{getattr(found, 'name', device)}, {getattr(found, 'capability', '')}"
    own = {"libc": libc, "lanes": native_lanes(), "device": card}
    return {**target_facts(), **versions, **own}


def check_target(stored: Mapping[str, Any], folder: str, mix: bool, device: str = "cpu") -> None:
    """Refuse to add to a store what another target computes.

    Raises
    ------
    SimulationError : with the difference.
    """
    own = target_of_host(device)
    for name in own:
        if not mix and stored.get(name) != own[name]:
            raise SimulationError(
                f"the store was computed with {name} '{stored.get(name)}', here it is "
                f"'{own[name]}': results would agree to tolerance, not to the last bit",
                folder,
                "continue on the original machine, allow it with --mix-targets "
                "(mix_targets=True), or "
                "choose another folder; --target fixes one instruction set for mixed clusters",
            )


#: Works that come with the package; a family knows its members once they are imported.
WORKS = (RunWork, NoisyWork, TrackWork, LinearizeWork, SteadyWork, EvaluateWork, FunctionWork)


def make_work(
    word: str, model: Model, settings: Mapping[str, Any], measures: Sequence[str]
) -> AbstractWork:
    """The work of a word.

    Raises
    ------
    SimulationError : there is none, or its settings or measures are wrong.
    """
    member = find_member(AbstractWork, word)
    if member is None:
        raise SimulationError(
            f"there is no work '{word}'",
            f"sweep of model '{model.name}'",
            f"{nearest(word, words_of(AbstractWork))}; {IF_YOUR_OWN}",
        )
    made: AbstractWork = member(model, settings, measures)
    return made


REQUEST, MODEL, CHUNKS, LOCK = "sweep.json", "model.toml", "chunks", "claims.lock"
FORMAT = 1
MAX_REQUEST = 2**30
#: Chunks in a folder.
GROUP = 1000
_NAME = re.compile(r"(\d{9})\.(\d+)f\.nc")
#: What a folder may hold before it is a store.
_OWN = {MODEL, CHUNKS, LOCK}
#: Byte of the lock file for the request, and bytes of a layer.
_WHOLE, _LAYER = 0, 1 << 40


@dataclass(frozen=True, slots=True)
class ChunkData:
    """Content of a chunk: measure → (n, …), endings, and reasons by index."""

    values: dict[str, np.ndarray]
    endings: np.ndarray
    reasons: dict[int, str]


class SweepStore:
    """An open store.

    `data`: content of its ``sweep.json``.
    """

    def __init__(self, folder: Path, data: Mapping[str, Any]) -> None:
        self.folder = folder
        self.load(data)

    def load(self, data: Mapping[str, Any]) -> None:
        """Take over what ``sweep.json`` holds."""
        model = read_text(self.folder / MODEL, SimulationError, "restore it", max_bytes=2**24)
        self.data = dict(data)
        try:
            self.request = request_from_json(data["request"], model)
            self.target: dict[str, Any] = data["target"]
            design = self.request.design
            self.layers = [layer_from_json(k, x, design) for k, x in enumerate(data["layers"])]
            self._check()
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise SimulationError(
                f"{REQUEST} is damaged: {type(error).__name__}: {error}"[:200],
                str(self.folder),
                "restore it, or choose another folder",
            ) from None

    def _check(self) -> None:
        """Refuse entries that do not fit together, of which results are made later."""
        request = self.request
        if not self.layers:
            raise ValueError("it has no layers")
        for layer in self.layers:
            if row_maps(layer.design, request.design) is None:
                raise ValueError(f"layer {layer.number} is none of this sweep")
            if not set(layer.measures) <= set(request.measures):
                raise ValueError(f"layer {layer.number} has other measures than this sweep")
        names = {*request.design.names, *(f.dimension for f in request.design.factors)}
        names |= {*request.measures, ENDING, REASON}
        for measure in request.measures:
            known = self.data["variables"][measure]
            variable = ResultVariable(**known | {"coordinate": tuple(known["coordinate"])})
            texts = (variable.unit, variable.dimension, variable.coordinate_unit)
            is_right = all(isinstance(text, str) for text in (*texts, variable.description))
            is_right &= same_json(dataclasses.asdict(variable), known)
            is_right &= bool(variable.dimension) == bool(variable.coordinate)
            is_right &= all(is_finite_number(x) for x in variable.coordinate)
            if not is_right or variable.dimension in names:
                raise ValueError(f"variable '{measure:.60}' is not as it was written")
        texts = (self.data["model_name"], *self.data["units"].values())
        is_right = all(isinstance(text, str) for text in texts) and isinstance(self.target, dict)
        if not is_right or set(self.data["units"]) != set(request.design.names):
            raise ValueError("the name of the model, its units or the target are not there")

    def take_code(self, function: object) -> None:
        """Let the work's function be found, which a call has named too, not the file alone."""
        if self.request.settings.get("function") == function:
            self.request = dataclasses.replace(self.request, is_own=True)

    @property
    def claims(self) -> Claims:
        """Locks of this process on the store."""
        return _claims_of(self.folder)

    # chunks

    def chunk_folder(self, layer: int, block: int) -> Path:
        """Folder of a chunk."""
        return self.folder / CHUNKS / f"{layer:03d}" / f"{block // GROUP:06d}"

    def find(self, layer: int, block: int) -> Path | None:
        """File of a chunk, None if it is not there."""
        return self._listed(self.chunk_folder(layer, block)).get(block)

    def _listed(self, folder: Path) -> dict[int, Path]:
        found: dict[int, Path] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match:
                    found[int(match[1])] = Path(entry.path)
        return found

    def finished(self, layer: int) -> dict[int, Path]:
        """All chunks of a layer that are there, by number."""
        found: dict[int, Path] = {}
        home = self.folder / CHUNKS / f"{layer:03d}"
        with contextlib.suppress(FileNotFoundError), os.scandir(home) as groups:
            for group in sorted(groups, key=lambda entry: entry.name):
                found |= self._listed(Path(group.path))
        return found

    def write(
        self, layer: int, block: int, results: PointResults, facts: Mapping[str, Any]
    ) -> Path:
        """Write a chunk, all or nothing.

        Raises
        ------
        StorageError : it cannot be written.
        """
        failed = int(is_failed(results.endings).sum())
        target = self.chunk_folder(layer, block) / f"{block:09d}.{failed}f.nc"
        write_atomically(target, lambda path: write_chunk(path, results, facts), durable=True)
        return target

    def write_bytes(self, layer: int, block: int, failed: int, data: bytes) -> Path:
        """Write a chunk that another process has computed and sent."""
        target = self.chunk_folder(layer, block) / f"{block:09d}.{failed}f.nc"
        write_atomically(target, lambda path: path.write_bytes(data), durable=True)
        return target

    def read(self, path: Path, measures: Sequence[str] = ()) -> ChunkData:
        """Read from a chunk the named measures, endings and reasons.

        Raises
        ------
        StorageError : it is damaged.
        """
        return read_chunk(path, measures)

    # growth

    def save(self) -> None:
        """Write ``sweep.json`` anew."""
        write_request(self.folder, self.data)

    def add_layer(self, layer: Layer) -> Layer:
        """Append a layer."""
        self.data = {**self.data, "layers": [*self.data["layers"], layer.to_json()]}
        self.layers.append(layer)
        return layer

    def extend(self, asked: SweepRequest, block: int) -> None:
        """Add layers for what a request asks for beyond the store's own, in chunks of a size."""
        maps = row_maps(self.request.design, asked.design)
        assert maps is not None
        comparison = compare(self.request, asked)
        old, number = self.request.measures, len(self.layers)
        if comparison.more_measures:
            boxes = old_boxes(maps)
            self.add_layer(
                Layer(
                    number,
                    asked.design,
                    boxes,
                    comparison.more_measures,
                    block,
                    adds_points=False,
                )
            )
            number += 1
        if comparison.more_points:
            boxes = new_boxes(maps, asked.design)
            self.add_layer(
                Layer(number, asked.design, boxes, (*old, *comparison.more_measures), block)
            )
        self.data |= {"request": asked.to_json(), **described(asked)}
        self.save()
        self.load(self.data)


def read_store(folder: str | os.PathLike[str]) -> SweepStore:
    """The store in a folder.

    Raises
    ------
    SimulationError : there is none.
    """
    place = Path(folder)
    try:
        is_there = os.path.isfile(place / REQUEST)
    except (OSError, ValueError):  # a name that no file can have
        is_there = False
    if not is_there:
        raise SimulationError(
            f"the folder has no {REQUEST}, so it is not a sweep",
            str(place),
            "give a folder that `noslip sweep` or noslip.sweep made",
        )
    return SweepStore(place, _read_json(place))


def _read_json(place: Path) -> dict[str, Any]:
    fix = "restore it, or choose another folder"
    text = read_text(place / REQUEST, SimulationError, fix, max_bytes=MAX_REQUEST)
    try:
        data: dict[str, Any] = json.loads(text)
        if data["written_by"] != "noslip" or repr(data["format"]) != repr(FORMAT):
            raise ValueError("it was written by another program or version")
        data["request"], data["layers"], data["target"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise SimulationError(
            f"{REQUEST} is damaged or from another version: {error}", str(place), fix
        ) from None
    return data


def check_folder(folder: Path) -> None:
    """Refuse a folder that is something else than a store, or cannot be one.

    Raises
    ------
    SimulationError : with what is there.
    """
    if os.path.isfile(folder / REQUEST):
        return
    try:
        with os.scandir(folder) as entries:
            others = [e.name for e in entries if e.name not in _OWN and not e.name.startswith(".")]
    except FileNotFoundError:
        parent = absolute(folder).parent
        while not os.path.exists(parent) and parent != parent.parent:
            parent = parent.parent
        if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
            raise SimulationError(
                f"the folder cannot be created: you do not have permission to write to '{parent}'"
                if os.path.isdir(parent)
                else f"the folder cannot be created: '{parent}' is a file",
                str(folder),
                "choose another with -o",
            ) from None
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SimulationError(
            f"it is not a folder of a sweep: {reason}", str(folder), "choose another with -o"
        ) from None
    if others:
        raise SimulationError(
            f"the folder is not a sweep: it contains '{sorted(others)[0]}' and no {REQUEST}",
            str(folder),
            "choose a new or empty folder with -o",
        )


def create(folder: Path, request: SweepRequest, block: int, device: str = "cpu") -> SweepStore:
    """Make the store of a request. To be called with its lock."""
    layer = Layer(0, request.design, whole(request.design), request.measures, block)
    data = {
        "written_by": "noslip",
        "format": FORMAT,
        "request": request.to_json(),
        "target": target_of_host(device),
        "layers": [layer.to_json()],
        **described(request),
    }
    with reported(folder):
        write_atomically(
            folder / MODEL, lambda path: path.write_text(request.model, "utf-8"), durable=True
        )
    write_request(folder, data)
    return SweepStore(folder, data)


def described(request: SweepRequest) -> dict[str, Any]:
    """Description of a request for people and datasets, readable without compiling the model."""
    work = request.make()
    units = work.names()
    return {
        "model_name": work.model.name,
        "units": {name: units.get(name, "") for name in request.design.names},
        "variables": {m: dataclasses.asdict(v) for m, v in work.variables().items()},
    }


def write_request(folder: Path, data: Mapping[str, Any]) -> None:
    """Write ``sweep.json``."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / REQUEST, lambda path: path.write_text(text, "utf-8"), durable=True)


# chunks


def write_chunk(path: Path, results: PointResults, facts: Mapping[str, Any]) -> None:
    """Write a chunk: variables ``m0``, ``m1``, …, each with its measure, endings and reasons."""
    reasons = {str(k): text for k, text in sorted(results.reasons.items())}
    letters = np.frombuffer(json.dumps(reasons, ensure_ascii=False).encode(), dtype=np.uint8)
    dimensions = {"point": len(results.endings), "letter": len(letters)}
    for k, values in enumerate(results.values.values()):
        if values.ndim > 1:
            dimensions[f"along{k}"] = values.shape[1]
    with new_netcdf(path) as file:
        file.dimensions = dimensions

        def add(name: str, names: tuple[str, ...], data: np.ndarray) -> Any:
            return file.create_variable(name, names, data=data, chunks=data.shape, fletcher32=True)

        for k, (measure, values) in enumerate(results.values.items()):
            names = ("point", f"along{k}") if values.ndim > 1 else ("point",)
            add(f"m{k}", names, np.ascontiguousarray(values, np.float64)).attrs["measure"] = measure
        add("ending", ("point",), results.endings.astype(np.uint8))
        add("reasons", ("letter",), letters)
        for name, value in facts.items():
            file.attrs[name] = value


def read_chunk(path: Path, measures: Sequence[str] = ()) -> ChunkData:
    """Read a chunk file.

    Raises
    ------
    StorageError : it is damaged.
    """
    import h5py

    fix = "remove this file and repeat the command, which runs its points again"
    try:
        with path.open("rb") as stream:
            check_hdf5_heaps(stream, StorageError, str(path), fix)
        with h5py.File(path, "r") as file:
            # h5py's items() hold its lock for as long as what fails among them is remembered
            attributes = {name: file[name].attrs for name in list(file)}
            names = {str(x["measure"]): name for name, x in attributes.items() if "measure" in x}
            missing = [m for m in measures if m not in names]
            if missing:
                raise ValueError(f"it has no measure '{missing[0]:.60}'")
            values = {m: file[names[m]][...] for m in measures}
            endings = file["ending"][...]
            text = file["reasons"][...].tobytes().decode("utf-8")
        reasons = {int(k): str(x) for k, x in json.loads(text).items()}
        _check_chunk(values, endings, reasons)
        return ChunkData(values, endings, reasons)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"the chunk is damaged: {error}"[:200], str(path), fix) from None
    except (LookupError, RuntimeError, TypeError, AttributeError):
        # what h5py makes of names and types that the file has lost says nothing to a user
        what = "the chunk is damaged: parts of it are not where its index says"
        raise StorageError(what, str(path), fix) from None


def _check_chunk(
    values: Mapping[str, np.ndarray], endings: np.ndarray, reasons: Mapping[int, str]
) -> None:
    """Refuse arrays that cannot be a chunk: other types, numbers of points, unknown endings."""
    if endings.ndim != 1 or endings.dtype != np.uint8 or endings.max(initial=0) >= len(ENDINGS):
        raise ValueError("the endings of its points are none")
    count = len(endings)
    for measure, found in values.items():
        if found.dtype != np.float64 or found.ndim not in (1, 2) or len(found) != count:
            raise ValueError(f"'{measure:.60}' has shape {found.shape} of {found.dtype}")
    if any(not 0 <= k < count for k in reasons):
        raise ValueError("reasons of points that are not in it")


# claims


class Claims:
    """Locks on bytes of one file, held by this process until it releases them or ends.

    A process has one of these for a store: closing any handle of the file would release all locks
    of the process, so the file is opened once.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        self._process = os.getpid()
        self._own: set[int] = set()
        self._guard = threading.Condition()

    def take(self, layer: int, block: int) -> bool:
        """Claim a chunk; False if another process or thread has it."""
        return self._take((layer + 1) * _LAYER + block)

    def release(self, layer: int, block: int) -> None:
        """Give a chunk back."""
        self._release((layer + 1) * _LAYER + block)

    @contextlib.contextmanager
    def whole(self, timeout: float = 60.0) -> Iterator[None]:
        """Context in which no other process changes the request of the store."""
        import time

        end = time.monotonic() + timeout
        while not self._take(_WHOLE):
            if time.monotonic() > end:
                raise StorageError(
                    "another process has been changing the store for a minute",
                    LOCK,
                    "wait for it, or end it",
                )
            time.sleep(0.01)
        try:
            yield
        finally:
            self._release(_WHOLE)

    def _take(self, byte: int) -> bool:
        with self._guard:
            if byte in self._own or not _lock(self._handle, byte):
                return False
            self._own.add(byte)
            return True

    def _release(self, byte: int) -> None:
        with self._guard:
            if byte in self._own:
                _unlock(self._handle, byte)
                self._own.discard(byte)

    def is_of(self, path: Path) -> bool:
        """Whether it was opened in this process, not before a fork, and is this file."""
        try:
            same = os.path.samestat(os.fstat(self._handle), os.stat(path))
        except OSError:
            return False
        return same and self._process == os.getpid()


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int, byte: int) -> bool:
        os.lseek(handle, byte, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int, byte: int) -> None:
        os.lseek(handle, byte, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import errno
    import fcntl

    def _lock(handle: int, byte: int) -> bool:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
                return True  # a file system without locks
            return False
        return True

    def _unlock(handle: int, byte: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.lockf(handle, fcntl.LOCK_UN, 1, byte)


_CLAIMS: dict[str, Claims] = {}
_CLAIMS_GUARD = threading.Lock()


def _claims_of(folder: Path) -> Claims:
    key = str(absolute(folder))
    with _CLAIMS_GUARD:
        found = _CLAIMS.get(key)
        if found is None or not found.is_of(folder / LOCK):
            with reported(folder / LOCK):
                folder.mkdir(parents=True, exist_ok=True)
                found = _CLAIMS[key] = Claims(folder / LOCK)
        return found


def claims_of(folder: Path) -> Claims:
    """Locks of this process on a folder, which is made if it is not there."""
    return _claims_of(folder)


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
    folder : folder of a sweep, made by :func:`noslip.sweep` or ``noslip sweep``.

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
