"""Designs: which points a sweep visits.

A design is a product of factors, each a dimension of the result:

    AxisFactor     values of one name, or of several that change together (zipped)
    SampleFactor   random, Latin hypercube or Sobol points of several names (SciPy's `qmc`)

A point is a number; its digits in the mixed base of the factors' lengths, the last factor fastest,
are rows of the factors. Rows are computed from their numbers, so a design of 1e9 points holds
nothing but its factors. Conditions exclude points by their values; they keep their numbers.

Texts, as the command line has them:

    vary      LOW:HIGH:COUNT   log:LOW:HIGH:COUNT   V1,V2,V3          numbers in SI units, or
    sample    gauss:MEAN,SD    uniform:LOW,HIGH     …                 arithmetic of parameters
    where     EXPRESSION < EXPRESSION               also <=, >, >=
"""

from __future__ import annotations

import abc
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip import SimulationError
from noslip.base import IF_YOUR_OWN, Array, Member, as_number, find_member, nearest, words_of
from noslip.expressions import (
    CONSTANTS,
    ExpressionError,
    Name,
    Number,
    apply,
    fold,
    names_of,
    nominal,
    parse,
)

Integers = NDArray[np.int64]

#: Values of one factor, and points of a design.
MOST_VALUES, MOST_POINTS = 10_000_000, 10_000_000_000
#: Values up to which equal spacing is computed in exact fractions.
_EXACT = 20_000
SAMPLINGS = ("random", "lhs", "sobol")


class AbstractDistribution(Member, family="distribution"):
    """A distribution of one number, by the inverse of its cumulative probability."""

    __slots__ = ("given",)

    #: Names of its numbers, those in brackets may be left out.
    numbers: ClassVar[tuple[str, ...]] = ()
    #: How many of them may be left out.
    optional: ClassVar[int] = 0

    def __init__(self, *given: float) -> None:
        self.given = given

    @abc.abstractmethod
    def quantile(self, share: Array) -> Array:
        """Value below which that share of all values lies; a share is between 0 and 1."""

    def fault(self) -> str:
        """Fault of its numbers; empty if there is none."""
        return ""

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Quantiles are finite and rise; it takes as many numbers as it names."""
        count = len(self.numbers)
        if not count - self.optional <= len(self.given) <= count:
            yield f"{len(self.given)} numbers for {', '.join(self.numbers)}"
        elif said := self.fault():
            yield said
        else:
            shares = np.linspace(0.01, 0.99, 99)
            found = np.asarray(self.quantile(shares), dtype=float)
            if found.shape != shares.shape or not np.all(np.isfinite(found)):
                yield "its quantiles are not one finite number for each share"
            elif np.any(np.diff(found) < 0):
                yield "its quantiles fall where the share rises"


class Uniform(AbstractDistribution):
    """Every value between two is as likely."""

    __slots__ = ()
    word = "uniform"
    numbers = ("LOW", "HIGH")

    def quantile(self, share: Array) -> Array:
        """The value."""
        low, high = self.given
        return low + (high - low) * share

    def fault(self) -> str:
        """LOW must be below HIGH."""
        return "" if self.given[0] < self.given[1] else "LOW is not below HIGH"


class LogUniform(AbstractDistribution):
    """The logarithm is uniform."""

    __slots__ = ()
    word = "log-uniform"
    also_called = ("loguniform",)
    numbers = ("LOW", "HIGH")

    def quantile(self, share: Array) -> Array:
        """The value."""
        low, high = self.given
        return _powers(low, high, share)

    def fault(self) -> str:
        """Both must be positive, LOW below HIGH."""
        return "" if 0 < self.given[0] < self.given[1] else "0 < LOW < HIGH does not hold"


class Gauss(AbstractDistribution):
    """Normal distribution, cut off at two bounds where they are given."""

    __slots__ = ()
    word = "gauss"
    also_called = ("normal",)
    numbers = ("MEAN", "SD", "LOW", "HIGH")
    optional = 2

    def quantile(self, share: Array) -> Array:
        """The value."""
        from scipy.special import ndtr, ndtri

        mean, deviation, *bounds = self.given
        if bounds:
            low, high = (ndtr((x - mean) / deviation) for x in bounds)
            share = low + (high - low) * share
        return mean + deviation * ndtri(share)

    def fault(self) -> str:
        """SD must be positive."""
        if not self.given[1] > 0:
            return "SD is not positive"
        if len(self.given) == 3 or (len(self.given) == 4 and not self.given[2] < self.given[3]):
            return "LOW is not below HIGH; give both or none"
        return ""


class Triangle(AbstractDistribution):
    """Likelihood rises to a peak and falls again, both linearly."""

    __slots__ = ()
    word = "triangle"
    numbers = ("LOW", "PEAK", "HIGH")

    def quantile(self, share: Array) -> Array:
        """The value."""
        low, peak, high = self.given
        split = (peak - low) / (high - low)
        rising = low + np.sqrt(share * (high - low) * (peak - low))
        falling = high - np.sqrt((1 - share) * (high - low) * (high - peak))
        return np.where(share < split, rising, falling)

    def fault(self) -> str:
        """PEAK must lie between LOW and HIGH."""
        low, peak, high = self.given
        return "" if low <= peak <= high and low < high else "LOW <= PEAK <= HIGH does not hold"


class AbstractFactor(abc.ABC):
    """A dimension of a design."""

    names: tuple[str, ...]

    @property
    @abc.abstractmethod
    def dimension(self) -> str:
        """Name of the dimension."""

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @abc.abstractmethod
    def rows(self, which: Integers) -> Array:
        """(n, k) values of its names in some of its rows."""

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`factor_from_json` reads."""


@dataclass(frozen=True, eq=False)
class AxisFactor(AbstractFactor):
    """Values of one name, or of several that change together."""

    names: tuple[str, ...]  #: varied quantities
    specs: tuple[Any, ...]  #: specs of each name the text or the numbers it was given as
    table: Array = field(repr=False)  #: (n, k) values

    @property
    def dimension(self) -> str:
        """The names, joined."""
        return "+".join(self.names)

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, which: Integers) -> Array:
        """Values of some rows."""
        return self.table[which]

    def to_json(self) -> dict[str, Any]:
        """Names, and a text or numbers each."""
        return {"names": list(self.names), "values": list(self.specs)}


@dataclass(frozen=True, eq=False)
class SampleFactor(AbstractFactor):
    """Points drawn from distributions, each name independent of the others."""

    #: names, texts: drawn quantities, and their distributions
    names: tuple[str, ...]
    texts: tuple[str, ...]
    distributions: tuple[AbstractDistribution, ...]  #: read from the texts
    sampling: str  #: ``random``, ``lhs`` or ``sobol``
    #: count, seed: number of points, and seed of the random numbers
    count: int
    seed: int

    @property
    def dimension(self) -> str:
        """``sample``."""
        return "sample"

    def __len__(self) -> int:
        return self.count

    def rows(self, which: Integers) -> Array:
        """Values of some rows."""
        shares = self.shares(which)
        columns = [d.quantile(shares[:, k]) for k, d in enumerate(self.distributions)]
        return np.stack(columns, axis=1)

    def shares(self, which: Integers) -> Array:
        """(n, k) numbers between 0 and 1, uniform in each column."""
        if self.sampling != "random":
            return self._table[which]
        return np.stack([_random_shares(self.seed, k, which) for k in range(len(self.names))], 1)

    @cached_property
    def _table(self) -> Array:
        from scipy.stats import qmc

        d = len(self.names)
        if self.sampling == "sobol":
            engine = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(self.seed))
            exponent = max(0, (self.count - 1).bit_length())
            table = engine.random_base2(exponent)[: self.count]
        else:
            table = qmc.LatinHypercube(d, rng=np.random.default_rng(self.seed)).random(self.count)
        return np.clip(table, np.finfo(float).tiny, 1 - 2.0**-53)

    def to_json(self) -> dict[str, Any]:
        """Names, texts, sampling, count and seed."""
        return {
            "names": list(self.names),
            "sample": list(self.texts),
            "sampling": self.sampling,
            "count": self.count,
            "seed": self.seed,
        }


def _random_shares(seed: int, column: int, which: Integers) -> Array:
    """Uniform numbers by their place: the i-th of a column is the same whatever else is asked for.

    Philox counts: block i // 4 of its stream holds the numbers 4 (i // 4) … + 3.
    """
    if not which.size:
        return np.zeros(0)
    low, high = int(which.min()) // 4, int(which.max()) // 4 + 1
    spread = high - low > 4 * len(which) + 1024
    blocks = np.unique(which // 4) if spread else np.arange(low, high)
    found = np.empty((len(blocks), 4))
    begin = 0
    # runs of blocks that follow each other are drawn at once
    ends = np.flatnonzero(np.diff(blocks) != 1) + 1
    for end in [*ends.tolist(), len(blocks)]:
        stream = np.random.Philox(key=[seed % 2**64, column])
        stream.advance(int(blocks[begin]))
        drawn = np.random.Generator(stream).integers(
            0, 2**53, 4 * (end - begin), dtype=np.uint64, endpoint=False
        )
        found[begin:end] = ((drawn + 0.5) * 2.0**-53).reshape(-1, 4)
        begin = end
    return np.asarray(found[np.searchsorted(blocks, which // 4), which % 4])


class Condition(NamedTuple):
    """A comparison of two expressions; points where it does not hold are left out."""

    text: str
    left: str
    sign: str
    right: str


_SIGNS = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}


@dataclass(frozen=True, eq=False)
class Design:
    """Points of a sweep: a product of factors, less what conditions exclude."""

    factors: tuple[AbstractFactor, ...]  #: dimensions, the last one changes fastest
    conditions: tuple[Condition, ...] = ()  #: conditions that points must meet
    #: further names that conditions may use
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names that differ between points."""
        return tuple(name for factor in self.factors for name in factor.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the factors."""
        return tuple(len(factor) for factor in self.factors)

    @property
    def size(self) -> int:
        """Number of points, those that are excluded too."""
        return math.prod(self.shape)

    def digits(self, points: Integers) -> tuple[Integers, ...]:
        """Rows of the factors of some points."""
        return tuple(np.asarray(d) for d in np.unravel_index(points, self.shape))

    def values(self, points: Integers) -> dict[str, Array]:
        """Name → (n,) values at some points."""
        found: dict[str, Array] = {}
        for factor, rows in zip(self.factors, self.digits(points), strict=True):
            table = factor.rows(rows)
            found |= {name: table[:, k] for k, name in enumerate(factor.names)}
        return found

    def included(self, values: Mapping[str, Array], count: int) -> NDArray[np.bool_]:
        """(n,) whether the conditions hold at some values."""
        holds = np.ones(count, dtype=bool)
        known = {**self.constants, **values}
        with np.errstate(all="ignore"):
            for condition in self.conditions:
                left, right = (
                    _on_arrays(text, known) for text in (condition.left, condition.right)
                )
                holds &= _SIGNS[condition.sign](left, right)
        return holds


class _Arrays:
    """The functions of expressions on arrays."""

    sqrt, exp, log = np.sqrt, np.exp, np.log
    sin, cos, tan = np.sin, np.cos, np.tan
    asin, acos, atan, atan2 = np.arcsin, np.arccos, np.arctan, np.arctan2
    sinh, cosh, tanh = np.sinh, np.cosh, np.tanh
    asinh, acosh, atanh = np.arcsinh, np.arccosh, np.arctanh
    fabs, sign, floor, fmin, fmax = np.abs, np.sign, np.floor, np.minimum, np.maximum


def _on_arrays(text: str, known: Mapping[str, Any]) -> Any:
    def leaf(node: Number | Name) -> Any:
        if isinstance(node, Number):
            return node.value
        return known[node.name] if node.name in known else CONSTANTS[node.name]

    return fold(parse(text), leaf, lambda f, given: apply(f, given, _Arrays))


# reading


def is_finite_number(x: Any) -> bool:
    """Whether it is a finite number; truth values are not."""
    return isinstance(x, int | float | np.number) and math.isfinite(as_number(x))


def read_design(
    vary: Mapping[Any, Any],
    sample: Mapping[str, Any],
    *,
    zipped: Sequence[Sequence[str]] = (),
    where: Sequence[str] = (),
    draws: int = 0,
    sampling: str = "random",
    seed: int = 0,
    constants: Mapping[str, float],
) -> Design:
    """The design of a request, checked.

    Raises
    ------
    SimulationError : for what cannot be read, ranges that hold nothing, and too many points.
    """
    for name in [*vary, *sample]:
        if not isinstance(name, str) or not name:
            raise SimulationError(
                f"{name!r:.60} is varied, which is not a name", "sweep", "give names and values"
            )
    for name in sorted(set(vary) & set(sample)):
        raise SimulationError(
            f"'{name}' is both varied and sampled", "sweep", "leave one of the two out"
        )
    axes = {name: _axis(name, spec, constants) for name, spec in vary.items()}
    tables = {name: (_spec(vary[name]), axis) for name, axis in axes.items()}
    factors: list[AbstractFactor] = []
    groups = _groups(tables, zipped)
    for group in groups:
        lengths = {name: len(tables[name][1]) for name in group}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name}: {n}" for name, n in lengths.items())
            raise SimulationError(
                f"names that change together have different numbers of values: {listed}",
                f"zip of {', '.join(group)}",
                "give as many values for each, or cross them",
            )
        table = np.stack([tables[name][1] for name in group], axis=1)
        factors.append(AxisFactor(tuple(group), tuple(tables[n][0] for n in group), table))
    if sample:
        factors.append(_sample_factor(sample, draws, sampling, seed, constants))
    elif draws:
        raise SimulationError(
            f"{draws} draws are requested, but nothing is sampled",
            "sweep",
            "name a value to draw, such as k=gauss:5,0.2",
        )
    if not factors:
        raise SimulationError(
            "nothing is varied or sampled", "sweep", "give a range, as in m=10:50:20"
        )
    names = {name for factor in factors for name in factor.names}
    conditions = tuple(read_condition(text, names | set(constants)) for text in where)
    design = Design(tuple(factors), conditions, dict(constants))
    if design.size > MOST_POINTS:
        parts = " × ".join(f"{len(f)} ({f.dimension})" for f in factors)
        raise SimulationError(
            f"the sweep has {design.size:.3g} points: {parts}",
            "sweep",
            f"at most {MOST_POINTS:.0e} are run: give coarser ranges, zip some, or draw samples",
        )
    return design


def factor_from_json(data: Mapping[str, Any], constants: Mapping[str, float]) -> AbstractFactor:
    """The factor that was written as plain data."""
    names = tuple(data["names"])
    if "sample" in data:
        texts = dict(zip(names, data["sample"], strict=True))
        return _sample_factor(texts, data["count"], data["sampling"], data["seed"], constants)
    specs = tuple(data["values"])
    columns = [_axis(name, spec, constants) for name, spec in zip(names, specs, strict=True)]
    return AxisFactor(names, specs, np.stack(columns, axis=1))


def _groups(tables: Mapping[str, Any], zipped: Sequence[Sequence[str]]) -> list[list[str]]:
    """Names that change together, in the order in which they are given."""
    home: dict[str, int] = {}
    for k, group in enumerate(zipped):
        is_list = isinstance(group, list | tuple)
        if not is_list or not all(isinstance(name, str) for name in group):
            raise SimulationError(
                f"{group!r:.60} is zipped, which are not names",
                "zip of a sweep",
                "give lists of names, as in zipped=[['m', 'J']]",
            )
        for name in group:
            if name not in tables:
                raise SimulationError(
                    f"'{name}' is zipped, but not varied",
                    f"zip of {', '.join(group)}",
                    nearest(name, tables),
                )
            if home.setdefault(name, k) != k:
                raise SimulationError(
                    f"'{name}' is zipped twice", f"zip of {', '.join(group)}", "name it once"
                )
    found: dict[Any, list[str]] = {}
    for name in tables:
        found.setdefault(home.get(name, name), []).append(name)
    return list(found.values())


def _spec(spec: Any) -> Any:
    """A text as it is, numbers as a list."""
    return spec.strip() if isinstance(spec, str) else np.atleast_1d(spec).tolist()


def _axis(name: str, spec: Any, constants: Mapping[str, float]) -> Array:
    """Values of a text or of numbers, all finite and different."""
    place = f"vary {name}={spec if isinstance(spec, str) else '…'}"
    if isinstance(spec, str):
        values = _values_of_text(spec.strip(), place, constants)
    else:
        try:
            given = np.atleast_1d(np.asarray(spec))
        except ValueError:
            given = np.full((1, 1), np.nan)
        has_truths = isinstance(spec, list | tuple) and any(isinstance(x, bool) for x in spec)
        is_numbers = given.ndim == 1 and not has_truths
        is_numbers &= given.dtype.kind in "iuf" or not given.size
        values = given.astype(float) if is_numbers else np.zeros(0)
        if not is_numbers:
            raise SimulationError(
                f"the values of '{name}' are {spec!r:.60}, which are not numbers",
                place,
                "give a list of numbers, or a text such as '10:50:20'",
            )
    if not values.size:
        raise SimulationError(f"'{name}' has no values", place, "give at least one")
    if values.size > MOST_VALUES:
        raise SimulationError(
            f"'{name}' has {values.size} values",
            place,
            f"at most {MOST_VALUES} of one name are run: give fewer",
        )
    if not np.all(np.isfinite(values)):
        raise SimulationError(
            f"a value of '{name}' is not a finite number", place, "give finite numbers"
        )
    if len(np.unique(values)) < len(values):
        raise SimulationError(
            f"'{name}' has a value twice", place, "name every value once; it is run once"
        )
    return np.asarray(values, dtype=float)


def _values_of_text(text: str, place: str, constants: Mapping[str, float]) -> Array:
    is_log = text.startswith("log:")
    parts = text.removeprefix("log:").split(":")
    usage = "write LOW:HIGH:COUNT, log:LOW:HIGH:COUNT or a list V1,V2,V3, as in 10:50:20"
    if len(parts) == 1 and not is_log:
        return np.array([read_value(part, place, constants) for part in text.split(",")])
    if len(parts) != 3:
        raise SimulationError(f"the range '{text}' cannot be read", place, usage)
    low, high = (read_value(part, place, constants) for part in parts[:2])
    count = parts[2].strip()
    number = int(count) if re.fullmatch(r"\d{1,15}", count) else -1
    if number < 2:
        raise SimulationError(
            f"the number of values is '{count}'", place, f"give a whole number from 2 on; {usage}"
        )
    if number > MOST_VALUES:
        raise SimulationError(
            f"the range has {number} values", place, f"at most {MOST_VALUES} are run: give fewer"
        )
    if not low < high:
        word = "empty" if low == high else "inverted"
        raise SimulationError(
            f"the range from {low:g} to {high:g} is {word}", place, "let LOW be below HIGH"
        )
    if not is_log:
        return _equally_spaced(low, high, number)
    if low <= 0:
        raise SimulationError(
            f"a logarithmic range starts at {low:g}", place, "let LOW be above 0, or leave out log:"
        )
    values = _powers(low, high, np.arange(number) / (number - 1))
    values[-1] = high
    return values


def _powers(low: float, high: float, share: Array) -> Array:
    """low (high/low)^share, one by one: NumPy's own may differ in the last bit with the length."""
    return np.array([low * math.pow(high / low, x) for x in share.tolist()])


def _equally_spaced(low: float, high: float, count: int) -> Array:
    """Equal spacing whose common values with a finer or coarser one are equal to the last bit."""
    if count <= _EXACT:
        first, last, parts = Fraction(low), Fraction(high), count - 1
        return np.array([float((first * (parts - k) + last * k) / parts) for k in range(count)])
    k = np.arange(count, dtype=np.longdouble)
    return ((low * (count - 1 - k) + high * k) / (count - 1)).astype(float)


def read_value(text: str, place: str, constants: Mapping[str, float]) -> float:
    """A number or arithmetic of constants.

    Raises
    ------
    SimulationError : if it is not a number; a unit behind a number is pointed out.
    """
    try:
        unknown = sorted(names_of(text) - set(constants) - set(CONSTANTS))
        value = math.nan if unknown else nominal(text, constants)
    except ExpressionError as error:
        raise SimulationError(
            f"'{text}' cannot be read: {error}",
            place,
            "give numbers in SI units without their unit (m, rad, s, kg, N), or arithmetic such "
            "as 2*r or 5*pi/180; a range is LOW:HIGH:COUNT, as in 10:30:5",
        ) from None
    if unknown:
        raise SimulationError(
            f"'{text}' uses '{unknown[0]}', which is not known",
            place,
            nearest(unknown[0], constants),
        )
    if not math.isfinite(value):
        raise SimulationError(f"'{text}' is not a finite number", place, "give a finite number")
    return value


def read_distribution(name: str, text: Any, constants: Mapping[str, float]) -> AbstractDistribution:
    """The distribution that a text describes.

    Raises
    ------
    SimulationError : the word is not known, or its numbers do not fit.
    """
    place = f"sample {name}={text}"
    if not isinstance(text, str):
        raise SimulationError(
            f"the distribution is {text!r:.60}", place, "write it as a text: 'gauss:5,0.2'"
        )
    word, _, rest = (part.strip() for part in text.partition(":"))
    known = {w: w for w in words_of(AbstractDistribution)}
    known |= {o: w for w in known for o in _member(w).also_called}
    member = find_member(AbstractDistribution, known.get(word, word))
    if member is None:
        raise SimulationError(
            f"there is no distribution '{word}'",
            place,
            f"{nearest(word, words_of(AbstractDistribution))}; {IF_YOUR_OWN}",
        )
    given = [read_value(part, place, constants) for part in rest.split(",")] if rest else []
    usage = f"write {member.word}:{','.join(member.numbers)}"
    if not len(member.numbers) - member.optional <= len(given) <= len(member.numbers):
        raise SimulationError(f"'{text}' has {len(given)} numbers", place, usage)
    made: AbstractDistribution = member(*given)
    if fault := made.fault():
        raise SimulationError(f"{fault} in '{text}'", place, usage)
    return made


def _member(word: str) -> type[AbstractDistribution]:
    member = find_member(AbstractDistribution, word)
    assert member is not None
    return member


def _sample_factor(
    sample: Mapping[str, Any], count: int, sampling: str, seed: int, constants: Mapping[str, float]
) -> SampleFactor:
    names = tuple(sample)
    distributions = tuple(read_distribution(name, sample[name], constants) for name in names)
    place = f"samples of {', '.join(names)}"
    if sampling not in SAMPLINGS:
        raise SimulationError(
            f"there is no sampling '{sampling}'", place, nearest(str(sampling), SAMPLINGS)
        )
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SimulationError(
            f"the number of draws is {count!r}", place, "give a whole number from 1 on"
        )
    most = MOST_POINTS if sampling == "random" else MOST_VALUES
    if count > most:
        raise SimulationError(
            f"{count} draws are requested",
            place,
            f"at most {most} are drawn with sampling '{sampling}': give fewer, or sample 'random'",
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        what = f"the seed is {seed!r:.60}"
        raise SimulationError(what, place, "give a whole number from 0 on, below 2^64")
    if sampling == "sobol" and len(names) > 21201:
        raise SimulationError(
            f"Sobol points of {len(names)} names", place, "SciPy has up to 21201; sample 'random'"
        )
    texts = tuple(str(sample[name]).strip() for name in names)
    return SampleFactor(names, texts, distributions, sampling, count, seed)


def read_condition(text: str, known: set[str]) -> Condition:
    """A comparison of two expressions in known names."""
    place = f"where {text!r:.60}"
    parts = re.split(r"(<=|>=|<|>)", text) if isinstance(text, str) else []
    if len(parts) != 3:
        raise SimulationError(
            "the condition is not a comparison",
            place,
            "write one of <, <=, > and >=, as in m*v < 20",
        )
    left, sign, right = (part.strip() for part in parts)
    for side in (left, right):
        try:
            unknown = sorted(names_of(side) - known - set(CONSTANTS))
        except ExpressionError as error:
            raise SimulationError(
                f"'{side}' cannot be read: {error}", place, "write arithmetic of the varied names"
            ) from None
        if unknown:
            raise SimulationError(
                f"'{unknown[0]}' is not known", place, nearest(unknown[0], sorted(known))
            )
    return Condition(str(text).strip(), left, sign, right)
