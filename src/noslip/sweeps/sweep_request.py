"""`SweepRequest`: a sweep's request, checked before anything runs, and its target.

A request is plain data but for its design, which is made from plain data again: a store keeps it as
JSON, workers read it there. Two requests are the same, an extension of each other, or different;
:func:`differences` says in which words.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import inspect
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from noslip import Model, SimulationError, load_plugin
from noslip.base import IF_YOUR_OWN, ArgumentError, find_member, nearest, read_text, words_of
from noslip.engines import native_lanes, read_device, target_facts
from noslip.model import model_to_toml, parse_model
from noslip.sweeps.design import Design, factor_from_json, read_condition, read_design
from noslip.sweeps.measures import ENDING, REASON, check_texts, row_maps, same_json
from noslip.sweeps.run_tasks import NoisyWork, RunWork, TrackWork
from noslip.sweeps.tasks import (
    AbstractWork,
    EvaluateWork,
    FunctionWork,
    LinearizeWork,
    SteadyWork,
    function_text,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepRequest:
    """Request of a sweep.

    Parameters
    ----------
    model : text of the model file.
    work, settings : task at each point, and its settings.
    design : the points.
    measures : measures that are stored of each.
    plugins : modules that define parts of the model, or works, of one's own. A store keeps their
        names for people; nothing loads what a file names.
    work_object : the work, if it was made in this process.
    is_own : whether a call of this process, or of the client of this worker, named the function;
        that of a file is not looked for.
    """

    model: str
    work: str
    settings: dict[str, Any]
    design: Design
    measures: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    work_object: AbstractWork | None = field(default=None, repr=False)
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
            "give a word such as 'run', or a function",
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
    """Comparison of a new request with that of a store.

    Parameters
    ----------
    differences : differences that are not extensions, a sentence each.
    more_points, more_measures : points and measures of the new request beyond the stored one.
    """

    differences: tuple[str, ...]
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
