"""`stability_chart`: where steady motions are stable, over two values.

Steady motions at the points of a grid are found and linearized all at once (`steady_growth`); what
grows fastest says whether each is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noslip.analysis import steady_growth
from noslip.base import ArgumentError, Array, SimulationError, require
from noslip.engines import System, require_system
from noslip.simulation import units_by_name

if TYPE_CHECKING:
    import xarray

#: Values on each side of a chart, unless the range says how many, and motions at most.
COUNT, MOST = 61, 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StabilityChart:
    """Stability of steady motions over two values. Made by :func:`stability_chart`."""

    model: str
    #: names, units: two varied values
    names: tuple[str, str]
    units: tuple[str, str]
    #: x, y: (nx,) and (ny,) their values
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    #: (ny, nx) largest real part of the eigenvalues but those that are zero everywhere, 1/s; nan
    #: where there is no steady motion
    growth: Array = field(repr=False)
    frequency: Array = field(repr=False)  #: (ny, nx) imaginary part of that eigenvalue, rad/s
    #: (ny, nx) mask of motions of which no small disturbance grows
    is_stable: NDArray[np.bool_] = field(repr=False)

    def text(self) -> str:
        """The chart in letters: ``+`` stable, ``o`` grows and swings, ``-`` grows, ``.`` none."""
        rows = np.linspace(len(self.y) - 1, 0, min(len(self.y), 21)).round().astype(int)
        columns = np.linspace(0, len(self.x) - 1, min(len(self.x), 61)).round().astype(int)
        (x_name, y_name), (x_unit, y_unit) = self.names, self.units
        lines = [
            f"{self.model}: stability over {x_name} [{x_unit}] and {y_name} [{y_unit}]",
            "  + stable, o a swing grows, - it grows, . no steady motion",
        ]
        for k in rows:
            line = "".join(self._letter(k, j) for j in columns)
            lines.append(f"  {self.y[k]:>10.4g}  {line}")
        ends = f"{self.x[0]:.4g}"
        last = f"{self.x[-1]:.4g}"
        lines.append(f"  {'':>10}  {ends}{last:>{max(len(columns) - len(ends), 1)}}  {x_name}")
        share = float(np.mean(self.is_stable))
        lines.append(f"  stable at {100 * share:.3g} % of the points")
        return "\n".join(lines)

    def _letter(self, k: int, j: int) -> str:
        if np.isnan(self.growth[k, j]):
            return "."
        if self.is_stable[k, j]:
            return "+"
        return "o" if self.frequency[k, j] > 1e-6 else "-"

    def to_json(self) -> dict[str, object]:
        """Plain numbers and lists; growth is null where there is no steady motion."""
        growth = [[x if np.isfinite(x) else None for x in row] for row in self.growth.tolist()]
        return {
            "model": self.model,
            "names": list(self.names),
            "units": list(self.units),
            "x": self.x.tolist(),
            "y": self.y.tolist(),
            "growth": growth,
            "is_stable": self.is_stable.tolist(),
        }

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over the two values."""
        require("xarray", "to_xarray", f"chart of model '{self.model}'")
        import xarray

        sides = (self.names[1], self.names[0])
        data: dict[str, Any] = {
            "growth": (sides, self.growth, {"units": "1/s"}),
            "frequency": (sides, self.frequency, {"units": "rad/s"}),
            "is_stable": (sides, self.is_stable),
        }
        coords = {
            self.names[0]: (self.names[0], self.x, {"units": self.units[0]}),
            self.names[1]: (self.names[1], self.y, {"units": self.units[1]}),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def plot(self, **options: Any) -> Any:
        """The chart as a picture; see :func:`noslip.plot`."""
        import noslip

        return noslip.plot(self, **options)

    def __repr__(self) -> str:
        share = float(np.mean(self.is_stable))
        return (
            f"StabilityChart of '{self.model}' over {self.names[0]} and {self.names[1]}, "
            f"{len(self.x)} × {len(self.y)} motions, {100 * share:.3g} % stable\n"
            "next: .text(), .growth, .is_stable, .to_xarray(), .plot()"
        )


def stability_chart(
    system: System,
    vary: Mapping[str, Sequence[float]],
    *,
    about: Mapping[str, float] | None = None,
    search: bool = False,
    guess: Mapping[str, float] | None = None,
    find: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> StabilityChart:
    """Stability of steady motions over two values, all at once.

    Parameters
    ----------
    system : compiled system.
    vary : two names with ranges, and how many values if not 61, ``{"speed": (0, 10), "c": (0, 0.2,
        41)}``: parameters, inputs, coordinates, speeds, named angles or their rates.
    about : further values of the steady motions; they must be all that these need, unless `search`.
    search : find a steady motion with these values at each point, as :func:`steady_batch` does.
    guess, find : arguments of :func:`steady_batch`, for a search.
    inputs, parameters : other inputs, and parameters that differ from the nominal ones.
    time : time at which moving constraints are taken, s.
    progress : function that is called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, and where no point has a steady motion.
    """
    require_system("stability_chart", system)
    names, sides = _sides(system, vary)
    where = f"chart of model '{system.model.name}'"
    for word, values in (("about", about), ("inputs", inputs), ("parameters", parameters)):
        if values is not None and not isinstance(values, Mapping):
            raise ArgumentError(
                f"{word} is of type {type(values).__name__}", where, "pass names and values"
            )
        for name in set(values or {}) & set(names):
            raise SimulationError(
                f"'{name}' is both varied and given a value", where, "leave out the value"
            )
    if (find or guess) and not search:
        raise ArgumentError(
            "find and guess belong to a search", where, "add search=True, or leave them out"
        )
    x, y = sides
    grid = dict(zip(names, (each.ravel() for each in np.meshgrid(x, y)), strict=True))
    growth, frequency, is_stable, messages = steady_growth(
        system,
        grid,
        about=about,
        search=search,
        guess=guess,
        find=find,
        inputs=inputs,
        parameters=parameters,
        time=time,
        progress=progress,
        cancel=cancel,
    )
    if not np.isfinite(growth).any():
        raise SimulationError(
            messages[0] if messages else "the motions at these points are not steady",
            where,
            "give values of steady motions, or search for them: search=True, on the command line "
            "--steady",
        )
    shape = (len(y), len(x))
    return StabilityChart(
        model=system.model.name,
        names=names,
        units=(_unit(system, names[0]), _unit(system, names[1])),
        x=x,
        y=y,
        growth=growth.reshape(shape),
        frequency=frequency.reshape(shape),
        is_stable=is_stable.reshape(shape),
    )


def _sides(
    system: System, vary: Mapping[str, Sequence[float]]
) -> tuple[tuple[str, str], tuple[Array, Array]]:
    """Names and values of both sides, checked."""
    where = f"chart of model '{system.model.name}', vary"
    fix = "give two names and their ranges, such as vary={'speed': (0, 10), 'c': (0.0, 0.2, 41)}"
    if not isinstance(vary, Mapping) or len(vary) != 2:
        raise ArgumentError(f"vary is {vary!r:.80}", where, fix)
    sides = []
    for name, ends in vary.items():
        try:
            low, high, *more = (float(x) for x in ends)
            count = int(more[0]) if more else COUNT
            is_range = -np.inf < low < high < np.inf and 2 <= count and len(more) <= 1
            is_range = is_range and not any(isinstance(x, bool) for x in ends)
        except (TypeError, ValueError, OverflowError):
            is_range = False
        if not isinstance(name, str) or not is_range:
            raise ArgumentError(f"the range of {name!r:.60} is {ends!r:.80}", where, fix)
        if count > MOST:
            raise ArgumentError(f"there are {count} values of '{name}'", where, f"{MOST} at most")
        sides.append(np.linspace(low, high, count))
    if len(sides[0]) * len(sides[1]) > MOST:
        raise ArgumentError(
            f"the chart has {len(sides[0])} × {len(sides[1])} points",
            where,
            f"give fewer values, {MOST} in all at most",
        )
    first, second = vary
    return (first, second), (sides[0], sides[1])


def _unit(system: System, name: str) -> str:
    units = units_by_name(system) | {q.name: q.unit for q in system.inputs}
    return (units | {p.name: p.unit for p in system.model.parameters}).get(name, "1")
