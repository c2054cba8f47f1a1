"""Calls of Python with one bad argument each, of every public function and class.

`bases` has a good call for each; what is not there is refused by a test, so that a new function is
tried by its own signature. `cases` puts each value of `VALUES` in the place of each argument, and
in each place within one that is a mapping, a sequence or an array. `answer` says how a call ended.

``python tests/hostile/mutated_calls.py FIRST COUNT [ACCEPTED]`` tries a part of them in the order
of a seed and prints each that ends in an error of Python's own, does not end, is refused and leaves
files, or accepts nonsense; others that were accepted are written to a file, a line each, to be
judged. With ``methods`` before them, methods of what good calls return are tried, COUNT times with
FIRST as first seed; with ``nonsense``, only what no argument may be.
"""

import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import noslip as ns
from noslip.base.public import public_places

Call = tuple[Callable[..., Any], dict[str, Any]]


class Odd:
    """An object of no use; its class takes anything, as a function would."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Odd()"


def _read_only() -> Any:
    values = np.array([0.0, 1.0])
    values.flags.writeable = False
    return values


#: What no argument may be, nor a part of one: no number, no text, nothing that is meant.
NONSENSE: list[Any] = [
    *(float("nan"), 1j, np.complex128(1), [float("nan")], np.full(3, np.nan), np.array([1j])),
    *(np.datetime64("2026-01-01"), np.timedelta64(1), date(1979, 5, 27), b"x", {1: 2}),
    *(np.array([b"x"]), np.array(["2026-01-01"], "M8[D]"), np.array([None, 1]), [None]),
    *(np.ma.array([0.0, 1.0], mask=[0, 1]), np.ma.masked, np.array([(0, 1)], "f8,f8")),
    *(Odd(), np, threading.Event(), ..., NotImplemented),
]
#: What takes the place of an argument or of a part of it.
VALUES: list[Any] = [
    *(None, True, False, np.True_, 0, 1, -1, 2.5, -0.5, np.float32(0.25), np.int64(3)),
    *(float("inf"), -float("inf"), 1e308, -1e-320, 10**400, 10**9, 1e12, Decimal(1)),
    *(Fraction(1, 2), "", "x", "nan", "1/0", "nosuch", "ä", "😀", "\0", "(" * 300, "a" * 3000),
    *(
        "t",
        "m",
        [],
        [1],
        [1, 2],
        ["x"],
        np.array(["1.5"]),
        [[1, 2], [3]],
        ["m", "m"],
        (),
        (0, 0, 0),
    ),
    *({}, {"nosuch": 1}, {"x": None}, {"m": "x"}, {"": 1}, {"m": [1, 2]}, set(), {"x"}),
    *(np.zeros(0), np.zeros((2, 3)).T, np.zeros((1, 1, 1)), np.array(1.0), np.array([True])),
    *(_read_only(), len, range(3), iter([1]), lambda *_: 0, Path("nosuch"), Odd),
    *NONSENSE,
]
#: Functions for which a missing number means something: a gap in a curve.
GAPS = ("plot_eigenvalues",)
#: Changes of a good argument as a whole that leave nothing that is meant.
_NONSENSE_CHANGES = ("with a number as name", "complex", "as texts", "with nan")


class Case(NamedTuple):
    """A good call with one bad value."""

    name: str
    place: str
    value: Any
    call: Callable[[], Any]
    is_nonsense: bool = False


def public() -> dict[str, Any]:
    """Public functions and the classes that users make themselves, by name."""
    found = {name: getattr(importlib.import_module(m), name) for name, m in public_places().items()}
    found |= {f"gym.{name}": getattr(ns.gym, name) for name in ns.gym.__all__}
    return {
        n: thing
        for n, thing in found.items()
        if inspect.isfunction(thing) or inspect.isclass(thing)
    }


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each part of an argument, at its path: entries of mappings and sequences, fields."""
    yield path, value
    if len(path) < 3:
        if isinstance(value, Mapping):
            for key in list(value)[:2]:
                yield from parts_of(value[key], (*path, key))
        elif isinstance(value, list | tuple) and value:
            yield from parts_of(value[0], (*path, 0))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of an argument with another part at a path."""
    if not path:
        return new
    if isinstance(value, Mapping):
        return {**value, path[0]: put(value[path[0]], path[1:], new)}
    entries = list(value)
    entries[path[0]] = put(entries[path[0]], path[1:], new)
    return type(value)(entries)


def more_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Changes of a good argument as a whole: names, order, length, shape."""
    if isinstance(value, Mapping) and value:
        name, first = next(iter(value.items()))
        rest = {n: x for n, x in value.items() if n != name}
        yield "with an unknown name", {**value, "nosuch": first}
        yield "with a name of its own kind", {**value, "ä.x": first}
        yield "without its first", rest
        yield "with its first misspelled", {f"{name}x": first, **rest}
        yield "with a number as name", {**value, 3: first}
        yield "as pairs", list(value.items())
    elif isinstance(value, list | tuple) and value:
        yield "twice", type(value)([*value, *value])
        yield "without its last", type(value)(value[:-1])
        yield "nested", [value]
        yield "reversed", type(value)(value[::-1])
        yield "as array of objects", np.array([*value, None], dtype=object)[:-1]
    elif isinstance(value, np.ndarray) and value.ndim:
        yield "with an axis more", value[..., None]
        yield "shorter", value[:-1]
        yield "reversed", value[::-1]
        yield "complex", value.astype(complex)
        yield "as texts", value.astype(str)
        yield "as objects", value.astype(object)
        yield "transposed", np.tile(value, (2, 1)).T
        yield "with nan", np.full(value.shape, np.nan)
    elif isinstance(value, str) and value:
        yield "in a list", [value]
        yield "as bytes", value.encode()
        yield "in capitals", value.upper()
        yield "with more", value + " x"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield "as text", str(value)
        yield "negative", -value
        yield "huge", value * 10**9


def cases(bases: Mapping[str, Call]) -> Iterator[Case]:
    """Every bad value in every place of every call."""
    for name, (function, good) in bases.items():
        signature = inspect.signature(function)
        known = {
            k: p.default
            for k, p in signature.parameters.items()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
        }
        for key in {**known, **good}:
            base = good.get(key, known.get(key))
            if isinstance(base, Odd | type) or key in ("cancel", "progress"):
                continue
            for path, _ in parts_of(base):
                place = ".".join(map(str, (key, *path)))
                for value in VALUES:
                    call = _bound(function, good, key, base, path, value)
                    is_nonsense = any(value is one for one in NONSENSE) and name not in GAPS
                    yield Case(name, place, value, call, is_nonsense)
            for what, value in more_of(base):
                call = _bound(function, good, key, base, (), value)
                yield Case(name, f"{key} {what}", value, call, what in _NONSENSE_CHANGES)


def _bound(function: Any, good: Any, key: str, base: Any, path: Any, value: Any) -> Any:
    """A call with another value at a path of an argument."""

    def call() -> Any:
        given = {**good, key: put(base, path, value)}
        positional = [given.pop(k) for k in list(given) if k.startswith("*")]
        return function(*positional, **given)

    return call


#: Methods that the house calls alone.
_OWN_METHODS = {
    *("label", "unit_of", "from_text", "cached", "events_of", "parameter_values"),
    *("on_branch", "in_speeds", "regular_at", "independent_values", "why_unplaced"),
}


def methods_of(results: Mapping[str, Any], seed: int = 0) -> Iterator[Case]:
    """Bad values for all arguments of the public methods of what good calls returned."""
    chosen = random.Random(seed)
    for name, thing in results.items():
        for word in dir(type(thing)):
            method = inspect.getattr_static(type(thing), word)
            plain = inspect.unwrap(getattr(method, "__func__", method))
            is_public = not word.startswith("_") or word in ("__call__", "__getitem__")
            if not (is_public and inspect.isfunction(plain) and word not in _OWN_METHODS):
                continue
            if not plain.__module__.startswith("noslip."):
                continue
            wanted = [
                p
                for p in list(inspect.signature(plain).parameters.values())[1:]
                if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            ]
            for _ in range(6 if wanted else 0):
                given = {p.name: chosen.choice(VALUES) for p in wanted}
                places = [given.pop(p.name) for p in wanted if p.kind is not p.KEYWORD_ONLY]
                call = functools.partial(getattr(thing, word), *places, **given)
                yield Case(f"{type(thing).__name__}.{word} of {name}", "", (places, given), call)


def results_of(bases: Mapping[str, Call]) -> dict[str, Any]:
    """What good calls return; the error of one that is not good."""
    found: dict[str, Any] = {}
    for name, (function, given) in bases.items():
        options = {key: value for key, value in given.items() if not key.startswith("*")}
        places = [value for key, value in given.items() if key.startswith("*")]
        try:
            found[name] = function(*places, **options)
        except ns.MissingPackageError:
            continue
        except Exception as error:
            found[name] = error
    return found


def one_of_each(results: Mapping[str, Any]) -> dict[str, Any]:
    """One result of each class of this package."""
    of_class = {type(x): (name, x) for name, x in results.items()}
    return dict(found for kind, found in of_class.items() if kind.__module__[:7] == "noslip.")


class Stuck(BaseException):
    """A call took too much processor time."""


#: Processor time of a call, s; a good one takes some hundredths.
LIMIT = 10.0
#: Memory of a campaign, bytes: less than the machine has, so that too much is refused.
MEMORY = 12 * 2**30


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Each path in a folder with the size and the time of its last change."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            state = os.lstat(path := os.path.join(above, name))
            found[path] = (state.st_size, state.st_mtime_ns if name in files else 0)
    return found


def answer_in(folder: Path, case: Case, limit: float = LIMIT) -> str:
    """How a call ended, as `answer`; a refused one has left nothing in the folder."""
    before = files_in(folder)
    said = answer(case, limit)
    after = files_in(folder)
    left = sorted(path for path, state in after.items() if before.get(path) != state)
    for path in sorted({*after} - {*before}, reverse=True):
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    left = [path for path in left if not os.path.isdir(path) or path not in before]
    return said if said in ("accepted", "stuck") or not left else f"left files, {said}: {left[:3]}"


def answer(case: Case, limit: float = LIMIT) -> str:
    """How a call ended: "accepted", "refused", "stuck", or what is wrong with the way it ended."""

    def end(*_: Any) -> None:
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            case.call()
    except ns.NoslipError as error:
        return "refused" if all((error.what, error.where, error.fix)) else "refused without a fix"
    except Stuck:
        return "stuck"
    except Exception as error:
        own = [f for f in traceback.extract_tb(error.__traceback__) if "/noslip/" in f.filename]
        at = f"{own[-1].filename.rpartition('/noslip/')[2]}:{own[-1].lineno}" if own else ""
        return f"raw {type(error).__name__} {at} {str(error)[:70]!r}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    return "accepted nonsense" if case.is_nonsense else "accepted"


def in_order(bases: Mapping[str, Call], seed: int = 0) -> list[Case]:
    """All cases, in the order of a seed."""
    found = list(cases(bases))
    random.Random(seed).shuffle(found)
    return found


def main() -> None:
    """Try some of the cases; the last line is a table of the answers as JSON."""
    from good_calls import good_calls

    words = sys.argv[1:]
    of_methods, is_nonsense = words[0] == "methods", words[0] == "nonsense"
    first, count, *more = words[of_methods or is_nonsense :]
    numbers = range(int(first), int(first) + int(count))
    accepted = open(more[0], "a", encoding="utf-8") if more else None
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    system_of = functools.cache(lambda name: ns.compile(ns.derive(ns.load(name))))
    counted: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        calls = good_calls(Path(folder), system_of)
        every = [case for case in in_order(calls) if case.is_nonsense or not is_nonsense]
        chosen: Iterator[Case] = iter(every[numbers.start : numbers.stop])
        if of_methods:
            results = one_of_each(results_of(calls))
            chosen = (case for seed in numbers for case in methods_of(results, seed))
        for case in chosen:
            began = time.process_time()
            said = answer_in(Path(folder), case)
            kind = " ".join(said.split()[:2])
            counted[kind] = counted.get(kind, 0) + 1
            took = time.process_time() - began
            value = repr(case.value)[:100].replace("\n", " ")
            if kind == "accepted" and accepted is not None:
                print(f"{case.name}\t{case.place}\t{value}", file=accepted, flush=True)
            if kind not in ("accepted", "refused") or took > LIMIT / 3:
                print(f"{case.name}({case.place}={value}): {said} {took:.1f} s", flush=True)
        os.chdir("/")
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
