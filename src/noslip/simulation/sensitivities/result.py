"""`Sensitivities`: a trajectory and the derivatives of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noslip.base import Array, SimulationError, counted, nearest, require
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.sensitivities.forward_code import TangentCode
from noslip.simulation.sensitivities.request import SensitivityRequest
from noslip.simulation.sensitivities.segments import Piece, SegmentSettings
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sensitivities:
    """Derivatives of a simulated motion. Made by :func:`simulate_sensitivities`.

    ``sensitivities["platform.x", "m"]`` is ∂(platform.x)/∂m at the samples, (n,).

    Parameters
    ----------
    run : the motion itself, with n samples.
    names, units : of what derivatives are taken by, k of them; a table has one for each value.
    coordinates, speeds : (n, nq, k) and (n, nv, k) derivatives of q and v.
    outputs : name → (n,) values of the outputs that were asked for.
    output_derivatives : name → (n, k).
    """

    run: Trajectory
    names: tuple[str, ...]
    units: tuple[str, ...]
    coordinates: Array = field(repr=False)
    speeds: Array = field(repr=False)
    outputs: dict[str, Array] = field(repr=False)
    output_derivatives: dict[str, Array] = field(repr=False)

    @property
    def columns(self) -> dict[str, Array]:
        """(n, k) derivatives of every column and output, by its name."""
        run = self.run
        table = {c.name: self.coordinates[:, j] for j, c in enumerate(run.coordinates)}
        table |= {s.name: self.speeds[:, j] for j, s in enumerate(run.speeds)}
        return table | self.output_derivatives

    def __getitem__(self, key: str | tuple[str, str]) -> Array:
        """(n,) derivative of a column by a name; of a column alone, (n, k) by all names."""
        column, *rest = (key,) if isinstance(key, str) else key
        table = self.columns
        where = f"sensitivities of model '{self.run.model.name}'"
        if column not in table:
            raise SimulationError(
                f"'{column}' was not differentiated",
                where,
                f"{nearest(str(column), list(table))}; others: outputs={{'name': 'expression'}}",
            )
        if not rest:
            return table[column]
        if rest[0] not in self.names:
            raise SimulationError(
                f"nothing was differentiated with respect to '{rest[0]}'",
                where,
                nearest(str(rest[0]), list(self.names)),
            )
        return table[column][:, self.names.index(rest[0])]

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the derivatives over ``time`` and ``by``."""
        require("xarray", "to_xarray", f"sensitivities of model '{self.run.model.name}'")
        import xarray

        run = self.run
        units = {q.name: q.unit for q in (*run.coordinates, *run.speeds)}
        data = {
            name: (("time", "by"), values, {"units": f"({units.get(name, '1')})/(unit of by)"})
            for name, values in self.columns.items()
        }
        coords = {
            "time": ("time", run.t, {"units": "s"}),
            "by": ("by", list(self.names)),
            "by_unit": ("by", list(self.units)),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": run.model.name})

    def __repr__(self) -> str:
        names = ", ".join(self.names[:8]) + (", …" if len(self.names) > 8 else "")
        first = next(iter(self.columns), "column")
        largest = max((float(np.abs(x).max(initial=0.0)) for x in self.columns.values()), default=0)
        return (
            f"Sensitivities of '{self.run.model.name}' by {names}: "
            f"{counted(len(self.run.t), 'sample')}, largest derivative {largest:.3g}\n"
            f"{self.run.summary()}\n"
            f"next: ['{first}', '{self.names[0]}'], .run, .to_xarray()"
        )


def collect(
    request: SensitivityRequest,
    pieces: Sequence[Piece],
    settings: SegmentSettings,
    started: Start,
    outputs: Mapping[str, str],
) -> Sensitivities:
    """The trajectory of a run, and the derivatives at its samples.

    Parameters
    ----------
    request : of the run.
    pieces, settings : the run.
    started : the completed start.
    outputs : name → expression.
    """
    system = request.run.system
    read = [_read(piece, settings) for piece in pieces]
    results = [piece.result for piece in pieces]
    taken = ([r.steps, r.rejections, r.evaluations] for r in results)
    run = assemble(
        request.run,
        [segment for segment, _, _ in read],
        results[-1],
        started,
        [sum(each) for each in zip(*taken, strict=True)],
        who="derivatives of runs",
    )
    count, num_v = sum(len(v.values) for v in request.variables), len(system.speeds)
    # [values; derivatives, one column after the other]
    table = np.concatenate([found for _, _, found in read])
    num_out = num_v + len(outputs)
    derivatives = table[:, num_out:].reshape(len(table), count, num_out).transpose(0, 2, 1)
    return Sensitivities(
        run=run,
        names=tuple(name for v in request.variables for name in v.columns),
        units=tuple(v.unit for v in request.variables for _ in v.columns),
        coordinates=np.concatenate([q for _, q, _ in read]),
        speeds=derivatives[:, :num_v],
        outputs={name: table[:, num_v + k] for k, name in enumerate(outputs)},
        output_derivatives={name: derivatives[:, num_v + k] for k, name in enumerate(outputs)},
    )


def _read(piece: Piece, settings: SegmentSettings) -> tuple[Segment, Array, Array]:
    """The samples of a piece: as a trajectory takes them, derivatives of q, and outputs."""
    code, n, numbers = piece.code, piece.num_good, settings.numbers
    assert isinstance(code, TangentCode)
    loop = code.loop
    t, states = piece.result.times[:n], np.ascontiguousarray(piece.result.states[:n])
    base = np.ascontiguousarray(piece.result.inputs[:n])
    simulated = np.ascontiguousarray(states[:, : loop.num_simulated])
    own = np.ascontiguousarray(base[:, : len(numbers.base)])
    segment = Segment(
        system=loop.system,
        plan=code.plan(numbers),
        t=t,
        states=simulated,
        inputs=code.loop.input_function.map(t, simulated, own, numbers.p),
        crossings=np.zeros((0, 2 + loop.num_simulated)),
    )
    num, num_q = loop.num_states, loop.system.kinematics.num_coordinates
    tangents = states[:, num:].reshape(n, states.shape[1] // num - 1, num)
    found = code.outputs.map(t, states, base, numbers.p)
    return segment, tangents[:, :, :num_q].transpose(0, 2, 1), found
