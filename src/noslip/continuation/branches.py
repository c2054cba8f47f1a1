"""`branch`: families of steady motions over a parameter, an input, a coordinate or a speed.

**Points of a curve at which the solutions around it, or their stability, change.**

Between two neighbors of a curve, with eigenvalues λ of small motions (of motions that repeat, the
Floquet multipliers μ of a period, whose logarithms stand for λ), the values

    fold            τ_s                    the curve turns back in s
    branch point    det [QᵀJ; τᵀ]          another curve crosses
    Hopf point      Re λ of a pair         periodic motions begin; of multipliers, a torus
    doubling        Π (μ + 1)              motions of twice the period begin
    limit           e(λ)                   one eigenvalue is zero, and no other curve crosses

change their sign; e is the product of all eigenvalues but those that are zero all along, as a
coefficient of the characteristic polynomial: it is smooth where eigenvalues meet. Pairs that stay
on the axis until they meet and leave it have no sign to change: the point is found by halving.

The curve of `arclength.py` is followed from a motion that `steady` finds, and, if that is asked
for, the curves that cross it at branch points. Where the angles of the coordinates become singular
the curve goes on in others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noslip.analysis import SteadyMotion, SteadyTask
from noslip.base import ArgumentError, Array, SimulationError, counted, require
from noslip.continuation.arclength import (
    CLOSED,
    STUCK,
    ArcLimits,
    CurveEquations,
    Knot,
    SolutionCurve,
)
from noslip.continuation.periodic import PeriodicMotion, PeriodicTask, read_task
from noslip.engines import System, require_system
from noslip.model import Quantity
from noslip.simulation import Start

if TYPE_CHECKING:
    import xarray

FOLD, BRANCH_POINT, HOPF, TORUS, DOUBLING, LIMIT = (
    "fold",
    "branch point",
    "Hopf point",
    "torus",
    "period doubling",
    "stability limit",
)
#: Two of them nearer than this, as a part of a step, are one.
SAME = 1e-3

Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A special point between two neighbors of a curve."""

    kind: str  #: name of what happens
    after: int  #: number of the knot before it
    part: float  #: fraction of the way to the next one
    knot: Knot = field(repr=False)  #: itself
    frequency: float = 0.0  #: rad/s of a Hopf point; the angle of the multipliers of a torus, rad
    basis: Array = field(repr=False)  #: Q of the knot before it


class Spectra:
    """Eigenvalues along a curve.

    `of`: eigenvalues or multipliers (n, nx) of unknowns (n, k). `bound`: size of an exponent below
    which it counts as zero, from all of them.
    """

    def __init__(
        self,
        of: Callable[[Array], Complex],
        bound: Callable[[Complex], float],
        *,
        is_map: bool,
    ) -> None:
        self.of, self.bound, self.is_map = of, bound, is_map

    def at(self, knot: Knot) -> Complex:
        """(nx,) of a point."""
        found: Complex = self.of(knot.y[None])[0]
        return found

    def exponents(self, values: Complex) -> Complex:
        """λ of eigenvalues; log μ of multipliers."""
        if not self.is_map:
            return values
        with np.errstate(all="ignore"):
            return np.asarray(np.log(np.where(values == 0.0, 1e-300, values)))

    def growing(self, values: Complex) -> int:
        """How many grow."""
        exponents = self.exponents(values)
        return int(np.sum(exponents.real > self.bound(exponents)))

    def neutral(self, values: Complex) -> int:
        """How many are zero."""
        exponents = self.exponents(values)
        return int(np.sum(np.abs(exponents) <= self.bound(exponents)))

    def product(self, values: Complex, neutral: int) -> float:
        """e: the product of all but so many that are zero, in a form that is smooth."""
        shifted = values - 1.0 if self.is_map else values
        return float(np.poly(shifted)[len(shifted) - neutral].real)

    def pairs(self, values: Complex) -> Complex:
        """λ of the pairs, the upper of each."""
        exponents = self.exponents(values)
        least = self.bound(exponents)
        upper = exponents[exponents.imag > least]
        # a negative multiplier is no pair
        return np.asarray(upper[upper.imag < np.pi - 1e-7] if self.is_map else upper)


def special_points(curve: SolutionCurve, knots: list[Knot], spectra: Spectra) -> list[Found]:
    """Special points of a curve, in their order."""
    if len(knots) < 2:
        return []
    values = spectra.of(np.array([knot.y for knot in knots]))
    is_known = np.all(np.isfinite(values), axis=1)
    neutral = min((spectra.neutral(v) for v in values[is_known]), default=0)
    found: list[Found] = []
    for k in range(len(knots) - 1):
        one, other = knots[k], knots[k + 1]
        here = [*_geometric(curve, one, other, k)]
        if is_known[k] and is_known[k + 1]:
            here += _spectral(curve, one, other, k, (values[k], values[k + 1]), spectra, neutral)
        # of two at one place the first says more
        for point in here:
            if all(abs(point.part + k - (f.part + f.after)) > SAME for f in found):
                found.append(point)
    return sorted(found, key=lambda point: point.after + point.part)


def _geometric(curve: SolutionCurve, one: Knot, other: Knot, k: int) -> list[Found]:
    """Folds and branch points between two neighbors."""
    found = []
    first, last = float(one.tangent[-1]), float(other.tangent[-1])
    if first * last < 0.0 and max(abs(first), abs(last)) > 1e-7:
        knot = curve.root(one, other, lambda at: float(at.tangent[-1]), first, last)
        if knot is not None:
            found.append(_found(FOLD, k, one, other, knot))
    basis = one.basis
    first, last = one.determinant(basis), other.determinant(basis)
    if first * last < 0.0:
        near = curve.root(one, other, lambda at: at.determinant(basis), first, last)
        # where the determinant vanishes the correction may not converge: begin in the middle
        near = near or curve.between(one, other, first / (first - last))
        exact = None if near is None else curve.branch_point(near, basis)
        if exact is not None:
            found.append(_found(BRANCH_POINT, k, one, other, exact[0]))
    return found


def _found(kind: str, k: int, one: Knot, other: Knot, knot: Knot, frequency: float = 0.0) -> Found:
    chord = other.y - one.y
    part = float((knot.y - one.y) @ chord / max(float(chord @ chord), 1e-300))
    return Found(kind=kind, after=k, part=part, knot=knot, frequency=frequency, basis=one.basis)


def _spectral(
    curve: SolutionCurve,
    one: Knot,
    other: Knot,
    k: int,
    values: tuple[Complex, Complex],
    spectra: Spectra,
    neutral: int,
) -> list[Found]:
    """Points between two neighbors at which eigenvalues cross; those of `_geometric` come first."""
    found = []
    first, last = (spectra.product(v, neutral) for v in values)
    if first * last < 0.0:
        knot = curve.root(
            one, other, lambda at: spectra.product(spectra.at(at), neutral), first, last
        )
        if knot is not None:
            found.append(_found(LIMIT, k, one, other, knot))
    if spectra.is_map:
        first, last = (float(np.prod(v + 1.0).real) for v in values)
        if first * last < 0.0:
            knot = curve.root(
                one, other, lambda at: float(np.prod(spectra.at(at) + 1.0).real), first, last
            )
            if knot is not None:
                found.append(_found(DOUBLING, k, one, other, knot))
    crossing = _crossing_pair(curve, one, other, values, spectra)
    if crossing is not None:
        knot, frequency = crossing
        kind = TORUS if spectra.is_map else HOPF
        found.append(_found(kind, k, one, other, knot, frequency))
    elif not found and spectra.growing(values[0]) != spectra.growing(values[1]):
        # eigenvalues that met on the axis and left it
        few = min(spectra.growing(v) for v in values)
        knot = curve.bisected(one, other, lambda at: spectra.growing(spectra.at(at)) == few)
        if knot is not None:
            found.append(_found(LIMIT, k, one, other, knot))
    return found


def _crossing_pair(
    curve: SolutionCurve, one: Knot, other: Knot, values: tuple[Complex, Complex], spectra: Spectra
) -> tuple[Knot, float] | None:
    """The point at which a pair crosses the axis, and its frequency there."""
    first, last = (spectra.pairs(v) for v in values)
    if not (first.size and last.size):
        return None
    bound = max(spectra.bound(spectra.exponents(v)) for v in values)
    counts = [int(np.sum(p.real > 0.0)) for p in (first, last)]
    if counts[0] == counts[1]:
        return None
    # the pair that changes its side, by the nearest of the other side
    apart = np.abs(first[:, None] - last[None, :]) + 1e300 * (
        (first.real[:, None] > 0.0) == (last.real[None, :] > 0.0)
    )
    i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
    if not abs(first[i].real) + abs(last[j].real) > 4 * bound or apart[i, j] >= 1e300:
        return None
    if min(abs(first[i].real), abs(last[j].real)) <= bound:
        return None
    ends = np.array([first[i], last[j]])

    def tracked(at: Knot) -> complex:
        pairs = spectra.pairs(spectra.at(at))
        if not pairs.size:
            return complex(np.nan)
        chord = other.y - one.y
        part = float((at.y - one.y) @ chord / max(float(chord @ chord), 1e-300))
        expected = ends[0] + part * (ends[1] - ends[0])
        return complex(pairs[int(np.argmin(np.abs(pairs - expected)))])

    knot = curve.root(
        one, other, lambda at: tracked(at).real, float(ends[0].real), float(ends[1].real)
    )
    if knot is None or not np.isfinite(tracked(knot).real):
        return None
    return knot, float(tracked(knot).imag)


Motion: TypeAlias = SteadyMotion | PeriodicMotion


class FamilyEquations(CurveEquations, Protocol):
    """Motions of a family near one of them."""

    @property
    def num_places(self) -> int:
        """Unknowns that are coordinates."""

    @property
    def names(self) -> tuple[Quantity, ...]:
        """The first unknowns: coordinates that matter and speeds."""

    @property
    def chart(self) -> object:
        """What the unknowns stand for."""

    def is_regular(self, y: Array) -> bool:
        """Whether a point is far from singular."""

    def eigenvalues(self, Y: Array) -> NDArray[np.complex128]:
        """(n, k) eigenvalues or multipliers of points."""

    def columns(self, Y: Array) -> list[tuple[Quantity, Array]]:
        """Values of points, by name."""

    def motions(self, Y: Array) -> Sequence[Motion]:
        """Points as motions."""


class FamilyTask(Protocol):
    """A family that is asked for."""

    @property
    def system(self) -> System:
        """Whose motions they are."""

    @property
    def name(self) -> str:
        """What is varied."""

    @property
    def unit(self) -> str:
        """Of what is varied."""

    @property
    def is_map(self) -> bool:
        """Whether small motions are told by multipliers."""

    def neutral(self, exponents: NDArray[np.complex128]) -> float:
        """Size below which an exponent of small motions counts as zero."""

    def equations_at(self, motion: Any, value: float) -> tuple[FamilyEquations, Array]:
        """The equations near a motion, and its unknowns."""


#: Longest step of a branch, as a part of the range, and most points of a curve.
STEP, MOST = 0.02, 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpecialPoint:
    """A point of a branch at which the motions around it, or their stability, change."""

    #: ``"fold"``, ``"branch point"``, ``"Hopf point"`` (periodic motions begin), ``"period
    #: doubling"``, ``"torus"``, or ``"stability limit"``, where an eigenvalue is zero and no other
    #: branch crosses
    kind: str
    #: name, unit, value: the varied value
    name: str
    unit: str
    value: float
    curve: int  #: number of the curve it is on
    #: rad/s of the small motions at a Hopf point; of a torus the angle of its multipliers, rad
    frequency: float
    motion: Motion = field(repr=False)  #: the motion there
    eigenvalues: NDArray[np.complex128] = field(repr=False)  #: 1/s, or multipliers, at the point

    def text(self) -> str:
        """The point in a line."""
        more = ""
        if self.frequency:
            unit = "rad" if self.kind == TORUS else "rad/s"
            more = f", {self.frequency:.9g} {unit}"
        return f"{self.kind} at {self.name} = {self.value:.12g} {self.unit}".rstrip() + more

    def to_json(self) -> dict[str, object]:
        """Plain numbers and dictionaries."""
        return {
            "kind": self.kind,
            "name": self.name,
            "unit": self.unit,
            "value": self.value,
            "curve": self.curve,
            "frequency": self.frequency,
            "values": self.motion.values,
            "inputs": self.motion.inputs,
            "eigenvalues": [[e.real, e.imag] for e in self.eigenvalues.tolist()],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Branch:
    """A family of motions with one parameter. Made by :func:`branch`.

    ``branch[k]`` is the motion at point k.
    """

    model: str
    #: name, unit: the varied value
    name: str
    unit: str
    values: Array = field(repr=False)  #: (n,) its values
    #: name → (n,): coordinates that matter, speeds and inputs that were found; not what is varied
    columns: dict[str, Array] = field(repr=False)
    units: dict[str, str] = field(repr=False)  #: name → unit, of the columns
    #: (n, nx) of small motions, 1/s, those that grow fastest first; nan where a motion has fewer
    eigenvalues: NDArray[np.complex128] = field(repr=False)
    is_stable: NDArray[np.bool_] = field(repr=False)  #: (n,) whether no small motion grows
    #: (n,) number of the curve that a point is on: 0, and from 1 on those that cross it
    curve: NDArray[np.int64] = field(repr=False)
    #: points at which motions or stability change, curve by curve, in their order
    special: tuple[SpecialPoint, ...]
    #: reasons why each curve ends at its first and at its last point
    ends: tuple[tuple[str, str], ...]
    evaluations: int  #: number of evaluations of the equations and derivatives; runs if they repeat
    #: ``"steady motions"``, or ``"periodic motions"``, whose eigenvalues are Floquet multipliers
    of: str
    _motions: Callable[[int], Motion] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, k: int) -> Motion:
        """The motion at a point."""
        if not isinstance(k, int | np.integer) or not -len(self) <= k < len(self):
            raise SimulationError(
                f"there are {len(self)} points, and number {k!r} is requested",
                f"branch of model '{self.model}'",
                f"give a number from 0 to {len(self) - 1}",
            )
        return self._motions(int(k) % len(self))

    def points(self, kind: str) -> tuple[SpecialPoint, ...]:
        """Special points of a kind, such as ``"fold"``."""
        return tuple(point for point in self.special if point.kind == kind)

    @property
    def growth(self) -> Array:
        """(n,) largest real part of the eigenvalues, 1/s; of multipliers, the largest size."""
        size = self.eigenvalues.real if self.of == "steady motions" else np.abs(self.eigenvalues)
        return np.asarray(np.max(np.where(np.isnan(size), -np.inf, size), axis=1, initial=-np.inf))

    def text(self) -> str:
        """The branch for people: its curves, where they change, and a few of their points."""
        lines = [f"{self.model}: {self.of} over {self.name} [{self.unit}]"]
        shown = self._varying()[:4]
        for number, ends in enumerate(self.ends):
            own = np.flatnonzero(self.curve == number)
            word = "curve" if number == 0 else "crossing curve"
            lines.append(f"  {word} {number}: {counted(len(own), 'point')}, {_ends_text(ends)}")
            for low, high, is_stable in self._runs(own):
                said = "stable" if is_stable else "unstable"
                lines.append(f"    {said:<8} {low:.10g} to {high:.10g} {self.unit}".rstrip())
            lines += [f"    {p.text()}" for p in self.special if p.curve == number]
        wide = max([len(self.name), *(len(n) for n in shown), 14])
        heads = [self.name, *shown]
        lines.append("  " + "  ".join(f"{head:>{wide}}" for head in heads))
        for number in range(len(self.ends)):
            own = np.flatnonzero(self.curve == number)
            few = np.unique(np.linspace(0, len(own) - 1, 6).round().astype(int))
            for k in own[few]:
                row = [self.values[k], *(self.columns[name][k] for name in shown)]
                cells = "  ".join(f"{_rounded(x):>{wide}.8g}" for x in row)
                lines.append(f"  {cells}  {'stable' if self.is_stable[k] else 'unstable'}")
        return "\n".join(lines)

    def _varying(self) -> list[str]:
        """Names of the columns that are not constant; all if none varies."""
        with np.errstate(all="ignore"):
            spread = {
                name: float(np.nanmax(x) - np.nanmin(x)) if np.isfinite(x).any() else 0.0
                for name, x in self.columns.items()
            }
        moving = [name for name, size in spread.items() if size > 1e-9]
        return moving or list(self.columns)

    def _runs(self, own: NDArray[np.intp]) -> list[tuple[float, float, bool]]:
        """Stretches of a curve that are stable, and those that are not: their lowest and highest.

        They end at the special point where stability changes, if there is one.
        """
        if not own.size:
            return []
        number = int(self.curve[own[0]])
        limits = [p.value for p in self.special if p.curve == number]
        found: list[tuple[float, float, bool]] = []
        ends = [float(self.values[own[0]])]
        for before, after in pairwise(own):
            if self.is_stable[before] == self.is_stable[after]:
                ends.append(float(self.values[after]))
                continue
            low, high = sorted((float(self.values[before]), float(self.values[after])))
            near = [x for x in limits if low - 1e-12 <= x <= high + 1e-12]
            end = near[0] if near else float(self.values[after])
            found.append((min([*ends, end]), max([*ends, end]), bool(self.is_stable[before])))
            ends = [end, float(self.values[after])]
        return [*found, (min(ends), max(ends), bool(self.is_stable[own[-1]]))]

    def to_json(self) -> dict[str, object]:
        """Plain numbers and lists; an eigenvalue is [real, imaginary]."""
        return {
            "model": self.model,
            "name": self.name,
            "unit": self.unit,
            "values": self.values.tolist(),
            "columns": {name: x.tolist() for name, x in self.columns.items()},
            "units": self.units,
            "curve": self.curve.tolist(),
            "is_stable": self.is_stable.tolist(),
            "eigenvalues": [[[e.real, e.imag] for e in row] for row in self.eigenvalues.tolist()],
            "special": [point.to_json() for point in self.special],
            "ends": [list(pair) for pair in self.ends],
        }

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``point``, with what is varied as a coordinate."""
        require("xarray", "to_xarray", f"branch of model '{self.model}'")
        import xarray

        data: dict[str, Any] = {
            name: ("point", x, {"units": self.units[name]}) for name, x in self.columns.items()
        }
        data["growth"] = ("point", self.growth, {"units": "1/s"})
        data["is_stable"] = ("point", self.is_stable)
        data["eigenvalue_real"] = (("point", "mode"), self.eigenvalues.real, {"units": "1/s"})
        data["eigenvalue_imag"] = (("point", "mode"), self.eigenvalues.imag, {"units": "rad/s"})
        coords: dict[str, Any] = {
            self.name: ("point", self.values, {"units": self.unit}),
            "curve": ("point", self.curve),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def plot(self, what: str = "", **options: Any) -> Any:
        """A column over the varied value, with stability; see :func:`noslip.plot`."""
        import noslip

        return noslip.plot(self, what, **options)

    def __repr__(self) -> str:
        kinds = [point.kind for point in self.special]
        listed = ", ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds))
        low, high = float(np.min(self.values)), float(np.max(self.values))
        return (
            f"Branch of '{self.model}' over {self.name}, {low:g} to {high:g} {self.unit}: "
            f"{counted(len(self.values), 'point')}"
            f"{f' on {len(self.ends)} curves' if len(self.ends) > 1 else ''}; "
            f"{listed or 'no special points'}\n"
            "next: .text(), .special, .columns, [k], .to_xarray(), .plot()"
        )


def _rounded(x: float) -> float:
    """A number for people: rounding errors are zero."""
    return 0.0 if abs(x) < 1e-12 else float(x)


def _ends_text(ends: tuple[str, str]) -> str:
    if CLOSED in ends:
        return "closed"
    if ends[0] == ends[1]:
        return f"both ends at {ends[0]}"
    return f"from {ends[0]} to {ends[1]}"


def branch(
    system: System,
    vary: Mapping[str, Sequence[float]],
    *,
    given: Mapping[str, float] | None = None,
    at: float | None = None,
    guess: Mapping[str, float] | Start | PeriodicMotion | None = None,
    period: float | str | None = None,
    find: Sequence[str] = (),
    inputs: Mapping[str, Any] | None = None,
    definitions: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    crossing: bool = True,
    step: float = STEP,
    max_points: int = MOST,
    time: float = 0.0,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> Branch:
    """Follow a family of motions over a value, around folds, with what happens on the way.

    They are steady, or with a `period` repeat, as in :func:`periodic`.

    Parameters
    ----------
    system : compiled system.
    vary : one name and the range it is followed in, ``{"speed": (0.0, 10.0)}``: a parameter, an
        input, a coordinate, a speed, a named angle or its rate; of motions that repeat also a
        number among the definitions, a value of the start, or ``"period"``.
    given : further values that all these motions have, as for :func:`steady`; of motions that
        repeat, at their start.
    at : value of what is varied at which the first motion is looked for; the lower end by default.
    guess : values or start to look near first, as in :func:`steady`; or a motion that repeats.
    period : time after which motions repeat, s, as in :func:`periodic`; that of `guess` if this is
        one of them.
    find, inputs, parameters : arguments of :func:`steady`; inputs of motions that repeat are those
        of :func:`periodic`.
    definitions : expressions and numbers of motions that repeat, as in :func:`periodic`.
    time : s, at which moving constraints are taken, or motions that repeat begin.
    crossing : also follow the curves that cross the first one at branch points.
    step : longest step between two points, as a part of the range.
    max_points : points of a curve at most.
    progress : function that is called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was found is returned.

    Raises
    ------
    SimulationError : for unknown names, if no first motion is found, or if the motions that have
        the given values are a family with more than one parameter.
    """
    require_system("branch", system)
    name, low, high = _range(system, vary)
    _check_options(system, at, step, max_points, (name, low, high))
    first = low if at is None else float(at)
    task: FamilyTask
    motion: Motion
    if period is not None or isinstance(guess, PeriodicMotion):
        task, motion = _periodic(
            system,
            name,
            first,
            guess=guess,
            period=period,
            given=given,
            inputs=inputs,
            definitions=definitions,
            parameters=parameters,
            start_time=time,
            find=find,
        )
    else:
        if definitions:
            raise ArgumentError(
                "definitions are given, which steady motions do not use",
                f"branch of model '{system.model.name}'",
                "leave them out, or give period=… for motions that repeat",
            )
        steady = SteadyTask.read(
            system,
            name,
            given=_named(given, "given"),
            guess=guess,
            find=find,
            inputs=_named(inputs, "inputs"),
            parameters=_named(parameters, "parameters"),
            time=time,
        )
        task, motion = steady, steady.motion(first)
    family = _Family(task, ArcLimits(low, high, float(step), int(max_points), cancel))
    family.begin(motion, first)
    if crossing:
        family.cross(progress)
    return family.result()


def _periodic(
    system: System,
    name: str,
    first: float,
    *,
    guess: Mapping[str, float] | Start | PeriodicMotion | None,
    period: float | str | None,
    find: Sequence[str],
    given: Mapping[str, float] | None,
    **options: Any,
) -> tuple[PeriodicTask, PeriodicMotion]:
    """The task of motions that repeat, and the first of them."""
    where = f"branch of model '{system.model.name}'"
    if find:
        raise ArgumentError(
            "inputs are to be found, which only steady motions allow", where, "leave out find"
        )
    if period is None:
        assert isinstance(guess, PeriodicMotion)
        period = guess.period
    task = read_task(system, period=period, given=given, vary=name, **options)
    for known in (task.given, task.parameters, task.inputs):
        if name in known:
            raise SimulationError(
                f"'{name}' is both varied and given a value", where, "leave out the value"
            )
    near = guess.start if isinstance(guess, PeriodicMotion) else guess
    return task, task.motion(first, near)


def _named(values: Mapping[str, float] | None, word: str) -> Mapping[str, float]:
    if values is not None and not isinstance(values, Mapping):
        raise ArgumentError(
            f"{word} is of type {type(values).__name__}",
            "argument of branch",
            f"pass names and values, {word}={{'name': 1.0}}",
        )
    return values or {}


def _range(system: System, vary: Mapping[str, Sequence[float]]) -> tuple[str, float, float]:
    """Name, low and high of what is varied, checked."""
    where = f"branch of model '{system.model.name}', vary"
    fix = "give one name and its range, such as vary={'speed': (0.0, 10.0)}"
    if not isinstance(vary, Mapping) or len(vary) != 1:
        raise ArgumentError(f"vary is {vary!r:.80}", where, fix)
    name, ends = next(iter(vary.items()))
    try:
        low, high = (float(x) for x in ends)
        is_range = -np.inf < low < high < np.inf and not any(isinstance(x, bool) for x in ends)
    except (TypeError, ValueError):
        is_range = False
    if not isinstance(name, str) or not is_range:
        raise ArgumentError(f"the range of {name!r} is {ends!r:.80}", where, fix)
    return name, low, high


def _check_options(
    system: System, at: object, step: object, max_points: object, varied: tuple[str, float, float]
) -> None:
    where = f"branch of model '{system.model.name}'"
    name, low, high = varied

    def is_number(x: object) -> bool:
        return isinstance(x, float | int | np.number) and not isinstance(x, bool)

    if at is not None and not (is_number(at) and low <= float(at) <= high):  # type: ignore[arg-type]
        raise ArgumentError(
            f"the branch begins at {name} = {at!r}", where, f"give at=…, from {low:g} to {high:g}"
        )
    if not (is_number(step) and 1e-6 <= float(step) <= 0.5):  # type: ignore[arg-type]
        raise ArgumentError(f"the longest step is {step!r}", where, "give step=…, 1e-6 to 0.5")
    is_count = isinstance(max_points, int | np.integer) and not isinstance(max_points, bool)
    if not (is_count and 2 <= int(max_points) <= 1_000_000):  # type: ignore[call-overload]
        raise ArgumentError(
            f"the most points of a curve are {max_points!r}", where, "give max_points=…, 2 to 1e6"
        )


class _Piece(NamedTuple):
    """A stretch of a curve in one chart."""

    equations: FamilyEquations
    curve: SolutionCurve
    knots: list[Knot]


class _Crossing(NamedTuple):
    """A branch point of a piece, from which other curves are to be followed."""

    piece: _Piece
    found: Found
    y: Array
    q: Array


class _Family:
    """Curves of a task, followed one after the other."""

    def __init__(self, task: FamilyTask, arc: ArcLimits) -> None:
        self._task, self._arc = task, arc
        self._curves: list[list[_Piece]] = []
        self._ends: list[tuple[str, str]] = []
        self._special: list[list[tuple[_Piece, Found]]] = []
        self._crossings: list[_Crossing] = []
        self._origins: list[Array | None] = []
        self._evaluations = 0

    def begin(self, motion: Motion, value: float) -> None:
        """Follow the first curve from a motion, in both directions."""
        equations, y = self._task.equations_at(motion, value)
        curve = self._curve(equations, y)
        dimension = curve.dimension(y)
        if dimension > 1:
            many = dimension - 1
            raise SimulationError(
                f"the motions at one value of {self._task.name} are a family with "
                f"{counted(many, 'parameter')}",
                f"branch of model '{self._task.system.model.name}'",
                f"give {counted(many, 'further value')}, given={{'name': value}}, such as "
                f"{', '.join(q.name for q in equations.names)}; on the command line "
                "--set NAME=VALUE",
            )
        # speeds of a branch may be many rad/s apart: steps are those of the varied value
        start = curve.knot(y)
        curve = self._curve(equations, y, start.tangent)
        start = curve.knot(y)
        tangent = start.tangent if start.tangent[-1] >= 0.0 else -start.tangent
        self._add(equations, curve, y, tangent)

    def _curve(
        self, equations: FamilyEquations, y: Array, tangent: Array | None = None
    ) -> SolutionCurve:
        """Unknowns in their scale: what is varied in its range, speeds in their change over it."""
        scale = equations.scale.copy()
        scale[-1] = self._arc.high - self._arc.low
        if tangent is not None and abs(tangent[-1]) > 1e-3:
            change = np.abs(tangent / tangent[-1])
            num = equations.num_places
            scale[num:-1] *= np.clip(change[num:-1], 1.0, 1e3)
        return SolutionCurve(equations, scale)

    def _add(
        self,
        equations: FamilyEquations,
        curve: SolutionCurve,
        y: Array,
        tangent: Array,
        *,
        is_crossing: bool = False,
    ) -> None:
        """Follow a curve in both directions of a tangent, and look for its special points."""
        forth, last = self._followed(equations, curve, y, tangent)
        back: list[_Piece] = []
        first = CLOSED
        if last != CLOSED:
            back, first = self._followed(equations, curve, y, -tangent)
        pieces = [
            _Piece(p.equations, p.curve, [_turned(k) for k in reversed(p.knots)])
            for p in reversed(back)
        ]
        if pieces and forth:
            # both begin at one point, in one chart
            joined = pieces.pop()
            pieces.append(_Piece(equations, curve, joined.knots[:-1] + forth[0].knots))
            forth = forth[1:]
        pieces += forth
        self._curves.append(pieces)
        self._ends.append((first, last))
        special = []
        for piece in pieces:
            spectra = Spectra(
                piece.equations.eigenvalues, self._task.neutral, is_map=self._task.is_map
            )
            for some in _apart(piece.knots, y if is_crossing else None):
                at = piece._replace(knots=some)
                special += [(at, f) for f in special_points(piece.curve, some, spectra)]
        self._special.append(special)
        self._origins.append(y if is_crossing else None)
        for piece, found in special:
            if found.kind == BRANCH_POINT:
                state = piece.equations.motions(found.knot.y[None])[0].start
                self._crossings.append(_Crossing(piece, found, found.knot.y, state.q))
        for piece in pieces:
            self._evaluations += piece.curve.evaluations

    def _followed(
        self, equations: FamilyEquations, curve: SolutionCurve, y: Array, tangent: Array
    ) -> tuple[list[_Piece], str]:
        """Stretches of a curve in one direction, each in a chart that is regular along it."""
        start = curve.knot(y, tangent)
        pieces: list[_Piece] = []
        left = self._arc.most
        while True:
            arc = replace(self._arc, most=left)
            knots, end = curve.follow(start, arc)
            singular = next(
                (k for k, knot in enumerate(knots) if not equations.is_regular(knot.y)), None
            )
            if singular is not None and singular > 1:
                knots = knots[:singular]
            pieces.append(_Piece(equations, curve, knots))
            left -= len(knots)
            if end != STUCK and singular is None:
                return pieces, end
            again = self._renewed(pieces[-1]) if left > 2 and len(knots) > 2 else None
            if again is None:
                return pieces, STUCK
            equations, curve, start = again

    def _renewed(self, piece: _Piece) -> tuple[FamilyEquations, SolutionCurve, Knot] | None:
        """The last point of a stretch in another chart, with the direction it is left in."""
        before, last = piece.equations.motions(np.array([k.y for k in piece.knots[-2:]]))
        value = float(piece.knots[-1].y[-1])
        equations, y = self._task.equations_at(last, value)
        if equations.chart is piece.equations.chart:
            return None
        curve = self._curve(equations, y)
        knot = curve.knot(y)
        _, behind = self._task.equations_at(before, float(piece.knots[-2].y[-1]))
        towards = (y - behind) / curve.scale if len(behind) == len(y) else knot.tangent
        return equations, curve, knot if knot.tangent @ towards >= 0.0 else _turned(knot)

    def cross(self, progress: Callable[[float], object] | None) -> None:
        """Follow the curves that cross at branch points, each once."""
        done = 0
        while done < len(self._crossings) and len(self._curves) < MOST_CURVES:
            crossing = self._crossings[done]
            done += 1
            if self._arc.cancel is not None and self._arc.cancel.is_set():
                return
            self._cross(crossing)
            if progress is not None:
                progress(done / len(self._crossings))

    def _cross(self, crossing: _Crossing) -> None:
        """Follow the other curve through a branch point, unless it is known."""
        piece, found = crossing.piece, crossing.found
        curve = piece.curve
        exact = curve.branch_point(found.knot, found.basis)
        if exact is None:
            return
        point, kernel, left = exact
        # the tangent of the curve itself, from its neighbors
        after = piece.knots[min(found.after + 1, len(piece.knots) - 1)]
        own = (after.y - piece.knots[found.after].y) / curve.scale
        own = kernel @ (kernel.T @ own)
        own /= max(float(np.linalg.norm(own)), 1e-300)
        ways = curve.directions(point, kernel, left)
        others = [way for way in ways if abs(float(way @ own)) < 0.9]
        for way in others[:1]:
            if self._is_known(piece, curve, point, way):
                return
            fresh = SolutionCurve(piece.equations, curve.scale)
            self._add(piece.equations, fresh, point.y, way, is_crossing=True)

    def _is_known(self, piece: _Piece, curve: SolutionCurve, point: Knot, way: Array) -> bool:
        """Whether a curve passes a point in a direction already."""
        ahead = point.y + 0.3 * self._arc.longest * way * curve.scale
        found = curve.corrected(ahead, way)
        if found is None:
            return True
        here = piece.equations.motions(found[0][None])[0].start
        near = 2.0 * self._arc.longest
        for pieces in self._curves:
            for other in pieces:
                if other.equations.chart is not piece.equations.chart:
                    continue
                table = np.array([k.y for k in other.knots])
                apart = np.linalg.norm((table - found[0]) / curve.scale, axis=1)
                if not np.any(apart < near):
                    continue
                k = int(np.argmin(apart))
                normal = other.knots[k].tangent * other.curve.scale / curve.scale
                normal /= np.linalg.norm(normal)
                beside = (found[0] - table[k]) / curve.scale
                beside = beside - normal * (normal @ beside)
                if np.linalg.norm(beside) < 0.05 * self._arc.longest:
                    return True
        return not np.all(np.isfinite(here.q))

    def result(self) -> Branch:
        """All curves as data."""
        task = self._task
        pieces = [(n, p) for n, some in enumerate(self._curves) for p in some]
        counts = [len(p.knots) for _, p in pieces]
        total = sum(counts)
        tables = [np.array([k.y for k in p.knots]) for _, p in pieces]
        spectra = [p.equations.eigenvalues(Y) for (_, p), Y in zip(pieces, tables, strict=True)]
        wide = max(s.shape[1] for s in spectra)
        eigenvalues = np.full((total, wide), np.nan, complex)
        is_stable = np.zeros(total, bool)
        columns: dict[str, Array] = {}
        units: dict[str, str] = {}
        first = 0

        def spectra_of(p: _Piece) -> Spectra:
            return Spectra(p.equations.eigenvalues, task.neutral, is_map=task.is_map)

        for (number, p), Y, spectrum in zip(pieces, tables, spectra, strict=True):
            some = slice(first, first + len(Y))
            eigenvalues[some, : spectrum.shape[1]] = spectrum
            is_stable[some] = [spectra_of(p).growing(row) == 0 for row in spectrum]
            at = next(
                (k for k, knot in enumerate(p.knots) if knot.y is self._origins[number]), None
            )
            if at is not None and len(Y) > 1:
                # at a branch point an eigenvalue is zero, whatever it is beside it
                is_stable[first + at] = is_stable[first + (at + 1 if at + 1 < len(Y) else at - 1)]
            for quantity, values in p.equations.columns(Y):
                column = columns.setdefault(quantity.name, np.full(total, np.nan))
                column[some] = values
                units[quantity.name] = quantity.unit
            first += len(Y)
        owners = [(p, k) for _, p in pieces for k in range(len(p.knots))]

        def motion(k: int) -> Motion:
            piece, at = owners[k]
            return piece.equations.motions(piece.knots[at].y[None])[0]

        return Branch(
            model=task.system.model.name,
            name=task.name,
            unit=task.unit,
            values=np.concatenate([Y[:, -1] for Y in tables]),
            columns=columns,
            units=units,
            eigenvalues=eigenvalues,
            is_stable=is_stable,
            curve=np.repeat([n for n, _ in pieces], counts),
            special=tuple(
                self._point(number, piece, found)
                for number, special in enumerate(self._special)
                for piece, found in special
            ),
            ends=tuple(self._ends),
            evaluations=self._evaluations,
            of="periodic motions" if task.is_map else "steady motions",
            _motions=motion,
        )

    def _point(self, number: int, piece: _Piece, found: Found) -> SpecialPoint:
        y = found.knot.y
        return SpecialPoint(
            kind=found.kind,
            name=self._task.name,
            unit=self._task.unit,
            value=float(y[-1]),
            curve=number,
            frequency=found.frequency if found.kind in (HOPF, TORUS) else 0.0,
            motion=piece.equations.motions(y[None])[0],
            eigenvalues=piece.equations.eigenvalues(y[None])[0],
        )


def _apart(knots: list[Knot], origin: Array | None) -> list[list[Knot]]:
    """Stretches on both sides of the branch point at which a curve was begun."""
    at = next((k for k, knot in enumerate(knots) if knot.y is origin), None)
    return [knots] if at is None else [knots[:at], knots[at + 1 :]]


#: Curves that are followed at most.
MOST_CURVES = 32


def _turned(knot: Knot) -> Knot:
    """A point of a curve that is followed the other way."""
    return Knot(y=knot.y, tangent=-knot.tangent, basis=knot.basis, slopes=knot.slopes)
