"""Arguments of public functions and classes: checked against types, and what a number is.

**What a number is: booleans, texts, complex numbers and dates are none, and JSON has no NaN.**

**Arguments of public functions and classes against the types that their signatures say.**

    >>> noslip.simulate(system, duration=1.0, stop=["x"])
    ArgumentError: stop is ['x'], expected a mapping from names to texts
      where  argument of simulate
      fix    pass names and expressions, {'name': 'a + b'}

A function says itself what is wrong with values that it reads. Where one fails with an error of
Python's own, its arguments are compared with their types, and the first that does not fit is named.
What it does not read, or takes for true or for nothing, is refused too: a text in place of a whole
number or of True or False before the call, anything else that cannot stand for its type after it,
or before it where the function writes: a refused call leaves no file.
What stands for an argument is handed on as one: NumPy's True as True, an array as a list where a
list is asked for. A whole number annotated with a range, as ``Annotated[int, range(1, 1000)]``,
is within it. The package's door guards what it hands out, against callers outside: mypy checks
those within.
"""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import functools
import inspect
import math
import os
import struct
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base.errors import ArgumentError, NoslipError, SimulationError, nearest

#: Numbers in double precision.
Array = NDArray[np.float64]


def is_truth(value: Any) -> bool:
    """Whether a value is True or False, also of NumPy, or an array or a list with one of them.

    Where a number is asked for, one of these is a slip: a flag under the wrong name, a comparison
    in place of what was compared.
    """
    if type(value) is float:
        return False
    if isinstance(value, list | tuple):
        return any(is_truth(entry) for entry in value)
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def real_array(value: Any) -> Array:
    """Real numbers as an array.

    Raises
    ------
    TypeError : for what NumPy would read as numbers too: texts, complex numbers, dates, booleans,
        None, and masked entries, which it forgets.
    """
    if type(value) is float or type(value) is int:
        return np.asarray(value, dtype=float)
    found = np.asarray(value)
    is_real = found.dtype.kind in "fiu" or (found.dtype.kind == "O" and _like_array(found.tolist()))
    if not (is_real or not found.size) or _is_masked(value) or is_truth(value):
        raise TypeError("texts, complex numbers, dates, booleans and masks are not real numbers")
    return np.asarray(found, dtype=float)


def as_number(value: Any) -> float:
    """A real number, by itself or in an array without axes; NaN for everything else."""
    if type(value) is float:
        return value
    try:
        return float(value) if _like_number(value) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


def finite_or_none(value: float) -> float | None:
    """The number, or None where JSON has none: NaN and the infinities."""
    return value if math.isfinite(value) else None


Public = TypeVar("Public")
#: Finds the class of a name.
Find = Callable[[str], Any]

#: Errors of Python, NumPy and CasADi that a wrong argument may lead to.
RAW = (
    *(TypeError, ValueError, AttributeError, LookupError),
    *(ArithmeticError, AssertionError, RuntimeError, StopIteration, MemoryError, struct.error),
)

#: The package whose own calls are not looked at.
_PACKAGE = __name__.partition(".")[0]
#: Entries of a sequence or mapping up to which each of them is looked at.
MANY = 10_000
#: Kinds of parameters that take what is left over.
_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
#: Key of what is judged before a call that may write.
EARLY = "early"
#: Beyond this a whole number is none for a double.
_HUGE = 10**308

#: Class → how one comes by it.
_FIXES = {
    "System": "make one by compile(derive(load('agv')))",
    "Equations": "make them by derive(model)",
    "Model": "load one, load('agv'), or build() it",
    "Trajectory": "give what simulate, run_scenario or track returned",
    "Linearization": "make one by linearize(system)",
    "Kinematics": "make one by trace(model)",
}
#: Class → how one is made of what was given in its place.
_STEPS = {
    ("System", "Equations"): "make one by compile(equations)",
    ("System", "Model"): "make one by compile(derive(model))",
    ("Equations", "Model"): "make them by derive(model)",
}


class Expected(NamedTuple):
    """What an argument may be."""

    text: str  #: text of the message after "expected"
    fits: Callable[[Any], bool]  #: whether a value is such a one
    example: str = ""  #: example of one, as it is written; empty if there is none
    #: function that finds the faulty entry, as text with the value, and what it should be
    within: Callable[[Any], tuple[str, Any, Expected] | None] | None = None
    #: whether a value can stand for one, as a Fraction or an array without axes for a number;
    #: `fits` where it is left out
    stands: Callable[[Any], bool] | None = None
    #: whether it is a whole number, a truth value or a function, or holds those alone; of others,
    #: functions have better words for what is wrong
    is_plain: bool = False
    exact: tuple[type, ...] = ()  #: classes whose own instances always fit

    def admits(self, value: Any) -> bool:
        """Whether a value can stand for one, or for none at all."""
        if value is None or type(value) in self.exact:
            return type(value) is not float or value == value
        return (self.stands is not None and self.stands(value)) or self.fits(value)

    def admits_entry(self, value: Any) -> bool:
        """Whether a value can stand for one in a list or a mapping, where nothing is left out."""
        return self.admits(value) and (value is not None or self.fits(None))


def checked(
    public: Public,
    module: str = "",
    find: Callable[[str, bool], Any] = lambda *_: None,
    *,
    only_failures: bool = False,
) -> Public:
    """A public function or class whose failures name the argument that does not fit its type.

    A class is changed in place. A function is wrapped; where it is handed out by another `module`
    than its own, it is known as one of that: pickle finds it there. `find` gives the public class
    of a name that annotations have, None if there is none: one that is imported already, or any.
    `only_failures` leaves arguments alone as long as the call succeeds.
    """
    if isinstance(public, types.FunctionType):
        guarded = _guarded(public, public.__name__, 0, None, find, only_failures)
        guarded.__module__ = module or public.__module__
        return typing.cast("Public", guarded)
    if isinstance(public, type) and not issubclass(public, BaseException):
        explain_methods(public, find)
        made = vars(public).get("__init__")
        if isinstance(made, types.FunctionType) and not hasattr(made, "__wrapped__"):
            guarded = _guarded(made, public.__name__, 1, public, find, only_failures)
            setattr(public, "__init__", guarded)  # noqa: B010
    return public


def _guarded(
    function: Any,
    name: str,
    skipped: int,
    cls: type | None,
    find: Callable[[str, bool], Any],
    only_failures: bool,
) -> Any:
    """The function that explains its failures; `skipped` of its parameters are no arguments."""
    signature: list[_Signature] = []  # read at the first call from outside, without imports

    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> Any:
        own: _Signature | None = None
        fault: NoslipError | None = None
        caller = _calling_module(inspect.currentframe())
        if not only_failures and caller.partition(".")[0] != _PACKAGE:
            if not signature:
                signature.append(_signature(function, skipped, cls, lambda n: find(n, False)))
            own = signature[0]
            arguments, options = own.converted(arguments, options, skipped)
            fault = own.fault(name, arguments[skipped:], options, is_plain=True)
            fault = fault or own.fault(name, arguments[skipped:], options, is_plain=EARLY)
            if fault is not None:
                raise fault
        try:
            found = function(*arguments, **options)
        except NoslipError:
            raise
        except RAW as error:
            fault = _explanation(error, function, name, skipped, cls, find, arguments, options)
            if fault is None:
                raise
        else:
            if own is not None:
                fault = own.fault(name, arguments[skipped:], options, is_plain=False)
                explain_methods(type(found), find)
            if fault is None:
                is_own = isinstance(found, types.FunctionType) and own is not None
                return _explained(found, f"what {name} gave", find, 0) if is_own else found
        raise fault

    return guarded


#: Classes whose methods explain their failures.
_EXPLAINED: set[type] = set()
#: Methods behind operators that do so.
_OPERATORS = ("__call__", "__contains__", "__getitem__")


def explain_methods(cls: type, find: Callable[[str, bool], Any]) -> None:
    """Let the methods of a class of this package name the argument that does not fit its type.

    What a public function returns is of such a class. Methods are changed in the class that defines
    them, once; as long as they succeed, their arguments are left alone.
    """
    if cls in _EXPLAINED:
        return
    for base in cls.__mro__:
        if base in _EXPLAINED or base.__module__.partition(".")[0] != _PACKAGE:
            continue
        _EXPLAINED.add(base)
        for name, method in list(vars(base).items()):
            if name.startswith("_") and name not in _OPERATORS:
                continue
            said = f"{base.__name__}.{name}"
            if isinstance(method, types.FunctionType):
                setattr(base, name, _explained(method, said, find))
            elif isinstance(method, classmethod):
                setattr(base, name, classmethod(_explained(method.__func__, said, find)))


def _explained(method: Any, name: str, find: Callable[[str, bool], Any], skipped: int = 1) -> Any:
    """The method or function that explains its failures."""

    @functools.wraps(method)
    def explained(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except NoslipError:
            raise
        except RAW as error:
            fault = _explanation(error, method, name, skipped, None, find, arguments, options)
            if fault is None:
                raise
        raise fault

    return explained


def _explanation(
    error: BaseException,
    function: Any,
    name: str,
    skipped: int,
    cls: type | None,
    find: Callable[[str, bool], Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
) -> NoslipError | None:
    """What is wrong with the arguments of a call that ended in an error of Python's own, if any."""
    whole = _signature(function, skipped, cls, lambda n: find(n, True))
    fault: NoslipError | None = whole.fault(name, arguments[skipped:], options, is_plain=None)
    fault = fault or _unbound(function, name, arguments, options, skipped, whole)
    if fault is None and isinstance(error, MemoryError):
        given = [*zip(whole.places, arguments[skipped:], strict=False), *options.items()]
        sizes = [(value, word) for word, value in given if _like_whole(value) and value > MANY]
        fix = f"ask for less: {max(sizes)[1]} is {shown(max(sizes)[0])}" if sizes else ""
        what = f"{name} needs more memory than is free"
        return SimulationError(what, f"call of {name}", fix or "ask for less, or free some memory")
    return fault


def _calling_module(frame: types.FrameType | None) -> str:
    """Name of the module that called the function of a frame, which is kept by nobody.

    A function that had its own frame among its variables would keep its result until the garbage
    collector came.
    """
    caller = None if frame is None else frame.f_back
    if caller is not None and caller.f_globals.get("__name__") == "dataclasses":
        caller = caller.f_back  # of `replace`, which calls for somebody
    return "" if caller is None else caller.f_globals.get("__name__", "")


class _Signature(NamedTuple):
    """What the arguments of a function may be, by name; of None nothing is known."""

    known: dict[str, Expected | None]  #: expected values by name
    places: list[str]  #: names of arguments that may be given by their place
    rest: Expected | None  #: further ones, ``*more``
    is_open: bool  #: whether it takes names that are not in `known`
    #: functions by name that make an argument of what stands for one: tuples of lists, which
    #: objects compare and hash
    conversions: dict[str, Callable[[Any], Any]]
    #: tests of a value by name: of plain arguments and of the others whether it can stand for one,
    #: and of all, None, whether it is one; EARLY, of all but the first where one of them is a path:
    #: what is refused writes nothing
    judges: dict[bool | str | None, dict[str, Callable[[Any], bool]]]

    def converted(
        self, arguments: tuple[Any, ...], options: dict[str, Any], skipped: int
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, those that stand for one of their type made so."""
        if not self.conversions:
            return arguments, options
        kept: Callable[[Any], Any] = lambda value: value  # noqa: E731
        convert = self.conversions.get
        if any(k in self.conversions and isinstance(x, _CONVERTED) for k, x in options.items()):
            options = {k: convert(k, kept)(x) for k, x in options.items()}
        given = arguments[skipped:]
        places = list(zip(self.places, given, strict=False))
        if any(k in self.conversions and isinstance(x, _CONVERTED) for k, x in places):
            made = [convert(k, kept)(x) for k, x in places]
            arguments = (*arguments[:skipped], *made, *given[len(made) :])
        return arguments, options

    def fault(
        self,
        name: str,
        arguments: tuple[Any, ...],
        options: Mapping[str, Any],
        is_plain: bool | str | None,
    ) -> ArgumentError | None:
        """What is wrong with the first argument that does not fit.

        Of plain ones or of the others, those that cannot stand for their type; of all, is_plain
        None, those that are not of it, numbers beyond all, and names that the function does not
        know.
        """
        where, judges = f"argument of {name}", self.judges[is_plain]
        for given in (zip(self.places, arguments, strict=False), options.items()):
            for word, value in given:
                judge = judges.get(word)
                if judge is not None and not judge(value):
                    wanted = typing.cast("Expected", self.known[word])
                    return _refusal(word, value, wanted, where)
        judge, num = judges.get("*"), len(self.places)
        if judge is not None and self.rest is not None:
            for k, value in enumerate(arguments[num:], num + 1):
                if not judge(value):
                    return _refusal(f"argument {k}", value, self.rest, where)
        if is_plain is not None:
            return None
        for word in options:
            if word not in self.known and not self.is_open:
                fix = nearest(word, list(self.known))
                return ArgumentError(f"{name} has no argument '{word}'", where, fix)
        for word, value in [*zip(self.places, arguments, strict=False), *options.items()]:
            if (huge := _huge_within(value)) is not None:
                what = f"{word} has {shown(huge)}, beyond every floating-point number"
                return ArgumentError(what, where, "give numbers between -1e308 and 1e308")
        return None


def _unbound(
    function: Any,
    name: str,
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    skipped: int,
    whole: _Signature,
) -> ArgumentError | None:
    """What is wrong with a call whose arguments are too few, too many or given twice."""
    parameters = list(inspect.signature(function).parameters.values())[skipped:]
    places, given = whole.places, arguments[skipped:]
    where = f"argument of {name}"
    if len(given) > len(places) and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        word = next((n for n in names if n not in options), "")
        what = f"{name} takes {len(places) or 'no'} arguments without a name, got {len(given)}"
        return ArgumentError(what, where, f"write {word}=…" if word else "leave out the last")
    known = {*places[: len(given)], *options}
    if twice := next((n for n in places[: len(given)] if n in options), ""):
        return ArgumentError(f"{name} got {twice} twice", where, f"give {twice} once")
    for one in parameters:
        if one.default is one.empty and one.name not in known and one.kind not in _REST:
            wanted = whole.known.get(one.name)
            text = f", {wanted.text}" if wanted is not None else ""
            return ArgumentError(f"{name} needs {one.name}", where, f"give {one.name}=…{text}")
    return None


#: Kinds of values that may stand for arguments of other types.
_CONVERTED = (list, np.ndarray, np.generic)


def _conversion(hint: Any) -> Callable[[Any], Any] | None:
    """A function that makes an argument of a type of what stands for one; None if nothing does."""
    members = [_plain_hint(m) for m in _members(hint)]
    members = [m for m in members if m is not types.NoneType]
    kinds = [typing.get_origin(m) or m for m in members]
    if tuple in kinds and {*kinds} <= {tuple, str}:
        return _tuple_of
    if bool in kinds:
        return lambda x: bool(x) if isinstance(x, np.bool_) else x
    if kinds == [int]:
        return lambda x: int(x) if isinstance(x, np.generic) and _like_whole(x) else x
    if ArrayLike != hint and np.ndarray not in kinds and not {*kinds}.isdisjoint(_LISTS):
        return lambda x: x.tolist() if isinstance(x, np.ndarray) and 0 < x.ndim else x
    return None


#: Types of lists.
_LISTS = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, list)


def _members(hint: Any) -> tuple[Any, ...]:
    """The types that a union has; a type by itself."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return typing.get_args(hint)
    return (hint,)


def _plain_hint(hint: Any) -> Any:
    """A type without what is said about it."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def _tuple_of(value: Any) -> Any:
    """A list or an array as a tuple, and those in it."""
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind != "V":
        value = value.tolist()
    return tuple(map(_tuple_of, value)) if isinstance(value, list) else value


def _huge_within(value: Any, depth: int = 0) -> int | None:
    """A whole number that no double holds, in a mapping or a sequence or by itself."""
    if isinstance(value, int):
        return value if abs(value) >= _HUGE else None
    inside: Any = value.values() if isinstance(value, Mapping) else value
    if depth > 3 or not isinstance(value, list | tuple | Mapping):
        if depth > 3 or not dataclasses.is_dataclass(value) or isinstance(value, type):
            return None
        inside = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    found = (_huge_within(entry, depth + 1) for entry in list(inside)[:MANY])
    return next((one for one in found if one is not None), None)


def _signature(function: Any, skipped: int, cls: type | None, find: Find) -> _Signature:
    """What a function takes."""
    plain = inspect.unwrap(function)
    hints = _hints(plain, cls, find)
    known: dict[str, Expected | None] = {}
    rest: Expected | None = None
    is_open = False
    conversions: dict[str, Callable[[Any], Any]] = {}
    places: list[str] = []
    for parameter in list(inspect.signature(plain).parameters.values())[skipped:]:
        hint = hints.get(parameter.name, Any)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = expected(hint)
        elif parameter.kind is parameter.VAR_KEYWORD:
            if typing.get_origin(hint) is typing.Unpack:
                (more,) = typing.get_args(hint)
                known |= {k: expected(h) for k, h in _hints(more, more, find).items()}
            else:
                is_open = True
        else:
            known[parameter.name] = expected(hint)
            if (convert := _conversion(hint)) is not None:
                conversions[parameter.name] = convert
            if parameter.kind is not parameter.KEYWORD_ONLY:
                places.append(parameter.name)
    judges: dict[bool | str | None, dict[str, Callable[[Any], bool]]] = {True: {}, False: {}}
    judges[None] = {}
    for word, one in (known | {"*": rest}).items():
        if one is not None:
            judges[one.is_plain][word], judges[None][word] = one.admits, one.fits
    writes = any(one is not None and _PATH.text in one.text for one in [*known.values()][1:])
    judges[EARLY] = {k: j for k, j in judges[False].items() if writes and k not in [*known][:1]}
    return _Signature(known, places, rest, is_open, conversions, judges)


def _refusal(word: str, value: Any, wanted: Expected, where: str) -> ArgumentError:
    """What is wrong with an argument, or with an entry of it."""
    if wanted.within is not None and (inner := wanted.within(value)) is not None:
        at, value, wanted = inner
        word += at
    kind = type(value).__name__
    if (wanted.text[0].isupper() and wanted.text != "True or False") or (
        wanted.text.split()[1:2] and wanted.text.split()[1][0].isupper()
    ):
        where, what = f"{word}, {where}", f"{where.split()[-1]} takes {wanted.text}, got {kind}"
    else:
        what = f"{word} is {shown(value)}, expected {wanted.text}"
    names = wanted.text.removeprefix("a ").removeprefix("an ")
    fix = _STEPS.get((names, kind)) or wanted.example
    if isinstance(value, str) and wanted.text == "a number":
        fix = "write the number without quotes"
    elif isinstance(value, str) and wanted.text.startswith("a list of text"):
        fix = f"give a list: {word}=[{value!r:.40}]"
    return ArgumentError(what, where, fix or f"give {wanted.text}")


def shown(value: Any) -> str:
    """A value in a message: as it is written if that is short, else its type."""
    try:
        text = repr(value)
    except Exception:
        text = "…" * 100
    if len(text) <= 60 and "\n" not in text and " object at 0x" not in text:
        return text
    if isinstance(value, str | bytes | list | tuple | dict | int) and not isinstance(value, bool):
        return f"{text[:57]}…"
    kind = type(value).__name__
    return f"{'an' if kind[:1] in 'AEIOUaeiou' else 'a'} {kind}"


class _Names(dict[str, Any]):
    """Names of a module for its annotations, with those that only type checkers import."""

    def __init__(self, names: Mapping[str, Any], find: Find) -> None:
        super().__init__(names)
        self.find = find

    def __missing__(self, name: str) -> Any:
        if name == "os":
            return os
        if (public := self.find(name)) is not None:
            return public
        for module in (builtins, collections.abc, typing):
            if hasattr(module, name):
                return getattr(module, name)
        return Any


def _hints(function: Any, cls: type | None, find: Find) -> dict[str, Any]:
    """Annotations as types; what cannot be resolved is anything."""
    if cls is None:
        return _resolved(inspect.get_annotations(function), function.__globals__, find)
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        module = sys.modules.get(base.__module__)
        if module is not None:
            found |= _resolved(inspect.get_annotations(base), vars(module), find)
    return found


def _resolved(
    annotations: Mapping[str, Any], names: Mapping[str, Any], find: Find
) -> dict[str, Any]:
    known = _Names(names, find)
    found = {}
    for name, hint in annotations.items():
        holder = types.SimpleNamespace(__annotations__={name: hint})
        try:
            found[name] = typing.get_type_hints(holder, known, known, include_extras=True)[name]
        except (NameError, TypeError, AttributeError, ImportError):
            found[name] = Any
    return found


# what types admit


def expected(hint: Any) -> Expected | None:
    """What a value of a type must be; None where anything may be."""
    if typing.get_origin(hint) is typing.Annotated:
        inner = expected(typing.get_args(hint)[0])
        bounds = next((x for x in hint.__metadata__ if isinstance(x, range)), None)
        return inner if inner is None or bounds is None else _within(inner, bounds)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        if hint == ArrayLike:
            return _ARRAY
        members = typing.get_args(hint)
        if types.NoneType in members:
            inner = _union([m for m in members if m is not types.NoneType])
            return None if inner is None else _or_none(inner)
        return _union(members)
    if hint == ArrayLike:
        return _ARRAY
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray:
        return {np.dtype[np.float64]: _ARRAY, np.dtype[np.complex128]: _COMPLEX}.get(arguments[-1])
    if origin in (collections.abc.Mapping, dict):
        return _mapping(expected(arguments[1])) if arguments[0] is str else None
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return _tuple(arguments)
    if origin in (collections.abc.Sequence, tuple, list):
        return _sequence(expected(arguments[0]))
    if origin is collections.abc.Callable:
        return Expected("a function", callable, is_plain=True)
    if hint in (Any, object) or getattr(hint, "_is_protocol", False):
        return None
    if isinstance(hint, type):
        if issubclass(hint, os.PathLike):
            return _PATH
        name = hint.__name__.removeprefix("Abstract")
        article = "an" if name[:1] in "AEIO" else "a"
        plural = hint.__name__ in ("Equations", "Kinematics", "Limits", "LimitRows")
        text = name if plural else f"{article} {name}"
        wanted = Expected(text, lambda x: isinstance(x, hint), _FIXES.get(name, ""))
        if hint.__name__ in _FIXES:  # made by functions
            return wanted._replace(exact=(hint,))
        return _object(hint, wanted)
    if getattr(origin, "__name__", "") == "PathLike":
        return _PATH
    return None


def _within(inner: Expected, bounds: range) -> Expected:
    """A whole number within a range."""
    least, most = bounds[0], bounds[-1]

    def is_within(value: Any) -> bool:
        return value is None or least <= value <= most

    fits, stands = inner.fits, inner.stands or inner.fits
    return inner._replace(
        text=f"{inner.text} from {least} to {most}",
        fits=lambda x: fits(x) and is_within(x),
        stands=lambda x: stands(x) and is_within(x),
    )


def _or_none(inner: Expected) -> Expected:
    fits = inner.fits
    return inner._replace(fits=lambda x: x is None or fits(x))  # admits takes None anyway


def _union(members: typing.Sequence[Any]) -> Expected | None:
    """Any of several."""
    found = [expected(member) for member in members]
    if len(found) == 1:
        return found[0]
    each = [one for one in found if one is not None]
    if len(each) < len(found):
        return None
    if _ARRAY in each:  # which a list of numbers is, too
        each = [one for one in each if one.text not in ("a list of numbers", "a number")]
    texts = list(dict.fromkeys(one.text for one in each))

    def within(value: Any) -> tuple[str, Any, Expected] | None:
        # of the member that is nearest: of the same kind on the outside
        for one in each:
            if one.within is not None and (inner := one.within(value)) is not None:
                return inner
        return None

    example = next((one.example for one in each if one.example), "")
    return Expected(
        " or ".join(texts),
        lambda x: any(one.fits(x) for one in each),
        example,
        within,
        lambda x: any(one.admits(x) for one in each),
        all(one.is_plain for one in each),
        tuple(kind for one in each for kind in one.exact),
    )


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return value == value
    if isinstance(value, int) and not isinstance(value, bool):
        return -_HUGE < value < _HUGE
    return isinstance(value, float | np.floating) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool | np.timedelta64):  # which NumPy counts among the integers
        return False
    return isinstance(value, int | np.integer)


def _is_array(value: Any) -> bool:
    """Whether NumPy makes an array of real numbers of it, empty ones included."""
    if isinstance(value, np.ndarray):
        return (value.dtype.kind in "fiu" or not value.size) and not _is_masked(value)
    if _is_number(value):
        return True
    if isinstance(value, str | bytes | Mapping | set) or value is None or is_truth(value):
        return False
    if isinstance(value, list | tuple | range) or hasattr(value, "__array__"):
        try:
            found = np.asarray(value)
        except (TypeError, ValueError, OverflowError, RuntimeError):
            return hasattr(value, "__cuda_array_interface__")
        return found.dtype.kind in "fiu" or not found.size
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__")


def _is_masked(value: Any) -> bool:
    """Whether some of its entries are masked: missing numbers, which NumPy forgets on the way."""
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):
        return False
    return bool(np.any(getattr(value, "mask", False)))


def _like_array(value: Any) -> bool:
    """Whether a value becomes an array of real numbers by itself: a list of fractions, too."""
    if isinstance(value, list | tuple) and len(value) > MANY:
        return True
    if _is_array(value) or _like_number(value):
        return True
    if isinstance(value, np.ndarray) and value.ndim:
        return value.dtype.kind == "O" and all(map(_like_array, value[:MANY]))
    return isinstance(value, list | tuple) and all(map(_like_array, value))


def _like_number(value: Any) -> bool:
    """Whether a value becomes a number by itself: fractions, arrays without axes; NaN is none."""
    if type(value) is float:
        return value == value
    if is_truth(value) or isinstance(value, complex | np.complexfloating):
        return False
    if isinstance(value, int):
        return -_HUGE < value < _HUGE
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        is_number = value.ndim == 0 and getattr(value.dtype, "kind", "f") in "fiuO"
        return is_number and not _is_masked(value)
    return hasattr(value, "__float__") or hasattr(value, "__index__")


def _like_complex(value: Any) -> bool:
    """Whether a value becomes an array of numbers, real or complex, or a list of such rows."""
    if isinstance(value, list | tuple):
        return all(map(_like_complex, value[:MANY]))
    try:
        return np.asarray(value).dtype.kind in "fiuc" and not _is_masked(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return False


def _like_whole(value: Any) -> bool:
    """Whether a value becomes a whole number by itself, as 1e6."""
    if is_truth(value) or not _like_number(value):
        return False
    return hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())


_PATH = Expected("a path", lambda x: isinstance(x, os.PathLike), "write it as 'folder/file'")
# `ArrayLike` has texts too, which may be expressions: functions judge them
_ARRAY = Expected(
    "numbers, or an array of them",
    _is_array,
    stands=lambda x: isinstance(x, str) or _like_array(x),
)
_COMPLEX = Expected(
    "complex numbers, or an array of them",
    lambda x: isinstance(x, np.ndarray) and (x.dtype.kind in "fiuc" or not x.size),
    stands=lambda x: _like_complex(x),
)
_PLAIN: dict[Any, Expected] = {
    types.NoneType: Expected("None", lambda x: x is None, is_plain=True),
    float: Expected("a number", _is_number, stands=_like_number, exact=(float,)),
    int: Expected("a whole number", _is_whole, stands=_like_whole, is_plain=True),
    bool: Expected(
        "True or False",
        lambda x: isinstance(x, bool | np.bool_),
        stands=lambda x: isinstance(x, int) and x in (0, 1),
        is_plain=True,
        exact=(bool,),
    ),
    str: Expected("a text", lambda x: isinstance(x, str), exact=(str,)),
}


@functools.cache
def _fields(cls: type) -> tuple[tuple[str, Expected], ...]:
    """Fields of a dataclass of which something is known, and what they may be."""
    hints = _hints(None, cls, lambda _: None)
    found = ((f.name, expected(hints.get(f.name, Any))) for f in dataclasses.fields(cls) if f.init)
    return tuple((name, one) for name, one in found if one is not None)


def _object(cls: type, wanted: Expected) -> Expected:
    """An object of a class; of those that users make, whose fields fit their types, too."""

    def within(value: Any) -> tuple[str, Any, Expected] | None:
        if not isinstance(value, cls) or not dataclasses.is_dataclass(value):
            return None
        kind: Any = type(value)
        for name, one in _fields(kind):
            entry = getattr(value, name, None)
            if not one.fits(entry):
                inner = one.within(entry) if one.within is not None else None
                at, entry, one = inner or ("", entry, one)
                return f".{name}{at}", entry, one
        return None

    return wanted._replace(
        fits=lambda x: wanted.fits(x) and within(x) is None, within=within, stands=wanted.fits
    )


def _mapping(values: Expected | None) -> Expected:
    """A mapping from names."""

    def faulty(value: Any) -> Iterator[tuple[str, Any, Expected]]:
        name = Expected("a name", lambda x: isinstance(x, str), "names are texts, in quotes")
        for key, entry in value.items():
            if not isinstance(key, str):
                yield ", a name in it,", key, name
            elif values is not None and not values.fits(entry):
                inner = values.within(entry) if values.within is not None else None
                at, entry, wanted = inner or ("", entry, values)
                yield f"[{key!r:.40}]{at}", entry, wanted

    def fits(value: Any) -> bool:
        if not isinstance(value, Mapping):
            return False
        return len(value) > MANY or next(faulty(value), None) is None

    def within(value: Any) -> tuple[str, Any, Expected] | None:
        return next(faulty(value), None) if isinstance(value, Mapping) else None

    def stands(value: Any) -> bool:
        if type(value) is not dict and not isinstance(value, Mapping):
            return hasattr(value, "keys") and hasattr(value, "__getitem__")
        if len(value) > MANY:
            return True
        for key, entry in value.items():
            if not isinstance(key, str):
                return False
            if values is None or (type(entry) in values.exact and entry == entry):  # NaN is not
                continue
            if not values.admits_entry(entry):
                return False
        return True

    held = f" to {_many(values.text)}" if values is not None else ""
    kind = "" if values is None else values.text
    example = {
        "a number": "values, {'name': 1.0}",
        "a text": "expressions, {'name': 'a + b'}",
        "a number or a text": "values or expressions, {'name': 'a + b'}",
    }.get(kind, "values, {'name': …}")
    what = f"a mapping from names{held}"
    return Expected(what, fits, f"pass names and {example}", within, stands)


def _many(text: str) -> str:
    """Several of what a text describes: "a number" → "numbers"."""
    words = text.split(" or ")
    plain = [w.removeprefix("a ").removeprefix("an ") for w in words]
    known = {"text": "texts", "number": "numbers", "whole number": "whole numbers"}
    return " or ".join(known.get(one, word) for one, word in zip(plain, words, strict=True))


def _sequence(entries: Expected | None) -> Expected:
    """A list, a tuple or anything else that has entries in an order."""

    def faulty(value: Any) -> Iterator[tuple[str, Any, Expected]]:
        if isinstance(value, np.ndarray) and not value.ndim:
            return
        has_entries = hasattr(value, "__len__") and hasattr(value, "__iter__")
        if has_entries and entries is not None and len(value) <= MANY:
            for k, entry in enumerate(value):
                if not entries.fits(entry):
                    inner = entries.within(entry) if entries.within is not None else None
                    at, entry, wanted = inner or ("", entry, entries)
                    yield f"[{k}]{at}", entry, wanted

    def fits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping | set | frozenset | type):
            return False
        if not (hasattr(value, "__iter__") and hasattr(value, "__len__")):
            return False
        if isinstance(value, np.ndarray) and (not value.ndim or value.dtype.kind == "O"):
            return False
        return next(faulty(value), None) is None

    def within(value: Any) -> tuple[str, Any, Expected] | None:
        return next(faulty(value), None)

    def stands(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping | type) or not hasattr(value, "__iter__"):
            return False
        if not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
            return not hasattr(value, "__len__")
        return entries is None or len(value) > MANY or all(entries.admits_entry(x) for x in value)

    held = "" if entries is None else f" of {_many(entries.text)}"
    is_plain = entries is not None and entries.is_plain
    return Expected(f"a list{held}", fits, "", within, stands, is_plain)


def _tuple(arguments: tuple[Any, ...]) -> Expected:
    """As many entries as the type has."""
    each = [expected(argument) for argument in arguments]

    def faulty(value: Any) -> Iterator[tuple[str, Any, Expected]]:
        if _has_order(value) and len(value) == len(each):
            for k, (entry, wanted) in enumerate(zip(value, each, strict=True)):
                if wanted is not None and not wanted.fits(entry):
                    inner = wanted.within(entry) if wanted.within is not None else None
                    at, entry, wanted = inner or ("", entry, wanted)
                    yield f"[{k}]{at}", entry, wanted

    def fits(value: Any) -> bool:
        if not _has_order(value) or len(value) != len(each):
            return False
        return next(faulty(value), None) is None

    def within(value: Any) -> tuple[str, Any, Expected] | None:
        return next(faulty(value), None)

    def stands(value: Any) -> bool:
        return (
            _has_order(value)
            and len(value) == len(each)
            and all(w is None or w.admits_entry(x) for x, w in zip(value, each, strict=True))
        )

    texts = {one.text for one in each if one is not None}
    held = f": {_many(texts.pop())}" if len(texts) == 1 else ""
    is_plain = all(one is not None and one.is_plain for one in each)
    return Expected(f"{len(each)} values{held}", fits, "", within, stands, is_plain)


def _has_order(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and value.dtype.kind != "V"  # of records, which are no numbers
    return isinstance(value, list | tuple)
