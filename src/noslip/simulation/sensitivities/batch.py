"""`simulate_sensitivities_batch`: many motions and their derivatives.

The code, its memory and everything that is the same for all motions are made once. Each motion is
then a run of that code in a native loop, with the bits of the single call; starts are completed and
outputs evaluated for a block at a time. A motion that needs more than that, such as other
independent speeds on its way or steps that end where a law saturates, is a single call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from noslip.base import Array, NoslipError, SimulationError, check_memory, nearest
from noslip.engines import AbstractDevice, System
from noslip.simulation import rules
from noslip.simulation.batches.code import shared_tables
from noslip.simulation.batches.device import DeviceCode, run_on_device
from noslip.simulation.batches.lanes import LanePlan, empty_results
from noslip.simulation.batches.request import SINGLE_PROJECTION, read_device, read_precision
from noslip.simulation.batches.variants import DEVICE_BLOCK, in_blocks
from noslip.simulation.options import DerivativesOptions, takes
from noslip.simulation.segments import SegmentBasis
from noslip.simulation.sensitivities.closed_loop import numbers_of
from noslip.simulation.sensitivities.forward import (
    check_free,
    simulate_sensitivities,
    tangent_settings,
    tangent_tolerances,
)
from noslip.simulation.sensitivities.forward_code import TangentCode, tangent_code
from noslip.simulation.sensitivities.law_switches import check_rounding
from noslip.simulation.sensitivities.motions import (
    BLOCK,
    AbstractDerivatives,
    DifferentiatedMotions,
    whole_loop,
)
from noslip.simulation.sensitivities.result import Sensitivities
from noslip.simulation.sensitivities.segments import begin_piece

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivitiesBatch(AbstractDerivatives):
    """Derivatives of many motions. Made by :func:`simulate_sensitivities_batch`.

    ``batch["platform.x", "m"]`` is ∂(platform.x)/∂m at the samples, (n, ns); ``batch[k]`` simulates
    one motion again, for its :class:`Sensitivities` with everything a trajectory has.

    Parameters
    ----------
    t : (ns,) times of the samples, s.
    names, units : of what derivatives are taken by, k of them; a table has one for each value.
    values : column → (n, ns): coordinates, speeds and outputs.
    derivatives : column → (n, ns, k).
    column_units : of the columns, by name; of outputs none.
    """

    t: Array = field(repr=False)
    names: tuple[str, ...]
    units: tuple[str, ...] = field(repr=False)
    values: dict[str, Array] = field(repr=False)
    derivatives: dict[str, Array] = field(repr=False)
    column_units: dict[str, str] = field(repr=False)
    _again: Callable[[int], Sensitivities] = field(repr=False)

    def __getitem__(self, key: str | tuple[str, str] | int) -> Any:
        """Derivatives of a column, by one name or by all; or the sensitivities of one motion."""
        if isinstance(key, int | np.integer):
            return self._again(self.checked(int(key)))
        column, *rest = (key,) if isinstance(key, str) else key
        where = f"sensitivities of model '{self.model}'"
        if column not in self.derivatives:
            raise SimulationError(
                f"'{column}' was not differentiated", where, nearest(column, list(self.derivatives))
            )
        if not rest:
            return self.derivatives[column]
        if rest[0] not in self.names:
            raise SimulationError(
                f"nothing was differentiated with respect to '{rest[0]}'",
                where,
                nearest(str(rest[0]), list(self.names)),
            )
        return self.derivatives[column][:, :, self.names.index(rest[0])]

    def to_xarray(self) -> xarray.Dataset:
        """Dataset of the derivatives over ``variant``, ``time`` and ``by``."""
        import xarray

        data = {
            name: (
                ("variant", "time", "by"),
                x,
                {"units": f"({self.column_units.get(name, '1')})/(unit of by)"},
            )
            for name, x in self.derivatives.items()
        }
        coords = self.variants.labels() | {
            "time": ("time", self.t, {"units": "s"}),
            "by": ("by", list(self.names)),
            "by_unit": ("by", list(self.units)),
        }
        return xarray.Dataset(data, coords=coords, attrs={"model": self.model})

    def __repr__(self) -> str:
        first = next(iter(self.derivatives), "column")
        return (
            f"{self.said()}, {len(self.t)} samples\n"
            f"next: ['{first}', '{self.names[0]}'], [k], .to_xarray()"
        )


@takes(DerivativesOptions)
def simulate_sensitivities_batch(
    system: System,
    *,
    with_respect_to: Sequence[str],
    duration: float,
    **options: Unpack[DerivativesOptions],
) -> SensitivitiesBatch:
    """Many motions of a system, and their exact derivatives.

    Wherever :func:`simulate_sensitivities` takes a number as a start value, input, parameter or
    definition, a list of numbers may be given too, one for each motion. Nothing is raised for a
    motion that fails: the result says why.

    Parameters
    ----------
    system, with_respect_to, duration : as in :func:`simulate_sensitivities`.
    options : how the runs are made; expressions, tables, a law, and a guess are those of all
        motions. What was not done when the work is cancelled is nan.

    Raises
    ------
    SimulationError : for inconsistent arguments, and a start that cannot be completed.
    """
    motions = DifferentiatedMotions(
        "simulate_sensitivities_batch", system, with_respect_to, {"duration": duration, **options}
    )
    run, watched = motions.request.run, motions.watched
    texts = dict(run.outputs)
    check_free(run.system, texts)
    code = tangent_code(run.system, run.inputs, run.definitions, motions.request.variables, texts)
    where = motions.variants.where
    card = read_device(options.get("device", "cpu"), where)
    is_single = read_precision(options.get("precision", "double"), run, card, where)
    work = _Tangents(motions, code, texts)
    if card is None or work.are_single_calls:
        in_blocks(motions.count, work.fill, size=BLOCK, **motions.watched)
        return work.result()
    # one kernel at a time, which has all of the card; Ctrl-C and cancel end it
    for first in range(0, motions.count, DEVICE_BLOCK):
        block = range(first, min(first + DEVICE_BLOCK, motions.count))
        report = _of_block(watched["progress"], first, motions.count)
        if work.fill_on_device(block, card, is_single, report, watched["cancel"]):
            break
    return work.result()


def _of_block(
    progress: Callable[[float], object] | None, first: int, count: int
) -> Callable[[int], object] | None:
    """Progress by the number of motions of a block that are done."""
    return None if progress is None else lambda done: progress((first + done) / count)


class _Tangents:
    """Sensitivities of all motions, filled block by block."""

    def __init__(
        self, motions: DifferentiatedMotions, code: TangentCode, texts: dict[str, str]
    ) -> None:
        self._motions, self._code, self._texts = motions, code, texts
        run = motions.request.run
        check_rounding(code.loop)
        self.are_single_calls = motions.are_single_calls(code.loop)
        self._shared = numbers_of(code.loop, run.inputs, run.definitions, run.values)
        self._settings = tangent_settings(motions.request, self._shared, code.loop.num_states)
        n, ns = motions.count, len(run.times)
        kin = run.system.kinematics
        self._columns = [*(q.name for q in (*kin.coordinates, *kin.speeds)), *texts]
        self._names = tuple(name for v in motions.request.variables for name in v.columns)
        check_memory(
            8.0 * n * ns * len(self._columns) * (1 + len(self._names)),
            "results",
            motions.variants.where,
            "take fewer samples or fewer motions at a time",
        )
        self._values = np.full((n, ns, len(self._columns)), np.nan)
        self._derivatives = np.full((n, ns, len(self._columns), len(self._names)), np.nan)
        self._success, self._messages = np.zeros(n, bool), dict[int, str]()
        self._steps, self._nfev = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def fill(self, block: range) -> None:
        """Sensitivities of a block of motions."""
        motions, code, loop = self._motions, self._code, self._code.loop
        if self.are_single_calls:
            for k in block:
                self._alone(k)
            return
        run, count = motions.request.run, len(self._names)
        states, tangents, base, p = self._given(block)
        whole = np.concatenate([states, tangents.transpose(0, 2, 1).reshape(len(p), -1)], axis=1)
        sizes = motions.sizes(block)
        loop_of_all = whole_loop(code, self._settings)
        span = run.start_time, run.end_time
        done, results = [], []
        for k in range(len(block)):
            own = p[k], base[k], tangent_tolerances(run, loop.num_states, sizes[k])
            result = begin_piece(loop_of_all, self._settings, *span, whole[k], own).go()
            if result.code != rules.FINISHED:
                self._alone(block.start + k)
                continue
            done.append(k)
            results.append(result)
        if not done:
            return
        at, ns = np.array(done), len(run.times)
        x = np.array([result.states for result in results])
        u = np.array([result.inputs for result in results])
        rows = np.repeat(p[at], ns, axis=0)
        t = np.tile(run.times, len(at))
        flat = np.ascontiguousarray(x.reshape(len(t), x.shape[2]))
        found = code.outputs.map(t, flat, np.ascontiguousarray(u.reshape(len(t), -1)), rows)
        num_q, num = loop.system.kinematics.num_coordinates, loop.num_states
        num_out = len(self._columns) - num_q
        places = block.start + at
        shape = (len(at), ns)
        self._values[places] = np.concatenate(
            [x[:, :, :num_q], found[:, :num_out].reshape(*shape, num_out)], axis=2
        )
        by_state = flat[:, num:].reshape(*shape, count, num)[..., :num_q].transpose(0, 1, 3, 2)
        by_output = found[:, num_out:].reshape(*shape, count, num_out).transpose(0, 1, 3, 2)
        self._derivatives[places] = np.concatenate([by_state, by_output], axis=2)
        self._success[places] = True
        self._steps[places] = [result.steps for result in results]
        self._nfev[places] = [result.evaluations for result in results]

    def _given(self, block: range) -> tuple[Array, Array, Array, Array]:
        """States at the start, their derivatives, base inputs and parameters of a block."""
        motions, loop = self._motions, self._code.loop
        states, tangents = motions.starts(loop, motions.request.variables, self._shared, block)
        base, p = motions.values(loop, block)
        more = len(self._settings.base) - base.shape[1]
        return states, tangents, np.column_stack([base, np.zeros((len(base), more))]), p

    def fill_on_device(
        self,
        block: range,
        device: AbstractDevice,
        is_single: bool,
        progress: Callable[[int], object] | None,
        cancel: Any,
    ) -> bool:
        """Sensitivities of a block of motions, one thread for each; whether it was ended early."""
        code, settings, loop = self._code, self._settings, self._code.loop
        run, n, count = settings.run, len(block), len(self._names)
        states, tangents, base, p = self._given(block)
        # derivatives in units of what they are taken by, as `batch_programs` has them
        sizes = np.abs(self._motions.sizes(block))
        units = np.where(sizes > 0.0, np.maximum(sizes, 1e-280), 1.0)
        scaled = (tangents * units[:, None, :]).transpose(0, 2, 1).reshape(n, -1)
        whole = np.concatenate([states, scaled], axis=1)
        ns, num_columns = len(run.times), len(self._columns) * (1 + count)
        results = empty_results(
            *(n, whole.shape[1], num_columns, 0, 0),
            has_minimum=False,
            has_maximum=False,
            samples=np.full((n, ns, num_columns), np.nan),
        )
        results.states[:], results.times[:], results.steps_left[:] = whole, run.start_time, run.step
        one = run.absolute(loop.num_states, run.atol / np.sqrt(1 + count))
        plan = LanePlan(
            lanes=1,
            functions=dict.fromkeys(code.batch_programs, -1),
            num_states=whole.shape[1],
            num_generator_states=0,
            num_inputs=base.shape[1],
            num_columns=num_columns,
            method=run.method_number,
            queue=np.arange(n),
            parameters=np.column_stack([p, units]),
            base_inputs=base,
            tables=shared_tables(settings.tables, settings.numbers.knots, run),
            end_time=run.end_time,
            update_times=np.zeros(0),
            sample_times=run.times,
            directions=np.zeros(0),
            num_endings=0,
            health_floors=SegmentBasis(run.system).floors,
            relative_tolerance=run.rtol,
            absolute_tolerance=np.tile(one, 1 + count),
            max_step=run.longest_step,
            max_steps=run.max_steps,
            projection_tolerance=SINGLE_PROJECTION if is_single else rules.PROJECTION_TOLERANCE,
        )
        kernel = DeviceCode(code.batch_programs, device, is_single)
        is_ended = run_on_device(plan, results, kernel, progress=progress, cancel=cancel)
        at = np.flatnonzero(results.codes == rules.FINISHED)
        places, columns = block.start + at, len(self._columns)
        self._values[places] = results.samples[at, :, :columns]
        by = results.samples[at, :, columns:].reshape(len(at), ns, count, columns)
        self._derivatives[places] = by.transpose(0, 1, 3, 2)
        self._success[places] = True
        self._steps[places], self._nfev[places] = (
            results.num_steps[at],
            results.num_evaluations[at],
        )
        if not is_ended:
            for k in np.flatnonzero(results.codes != rules.FINISHED):
                self._alone(block.start + int(k))
        return is_ended

    def _again(self, k: int) -> Sensitivities:
        motions = self._motions
        return simulate_sensitivities(
            motions.system, with_respect_to=motions.names, **motions.one(k)
        )

    def _alone(self, k: int) -> None:
        """A motion by the single call."""
        try:
            found = self._again(k)
        except NoslipError as error:
            self._messages[k] = error.faults[0].what
            return
        run = found.run
        outputs = [found.outputs[name] for name in self._texts]
        self._values[k] = np.column_stack([run.q, run.v, *outputs])
        parts = [found.coordinates, found.speeds]
        parts += [found.output_derivatives[name][:, None, :] for name in self._texts]
        self._derivatives[k] = np.concatenate(parts, axis=1)
        self._success[k] = True
        self._steps[k], self._nfev[k] = run.steps, run.nfev

    def result(self) -> SensitivitiesBatch:
        """All sensitivities, by name."""
        run, variables = self._motions.request.run, self._motions.request.variables
        kin = run.system.kinematics
        return SensitivitiesBatch(
            model=run.system.model.name,
            count=self._motions.count,
            success=self._success,
            messages=self._messages,
            t=run.times,
            names=self._names,
            units=tuple(v.unit for v in variables for _ in v.columns),
            values={name: self._values[:, :, j] for j, name in enumerate(self._columns)},
            derivatives={name: self._derivatives[:, :, j] for j, name in enumerate(self._columns)},
            column_units={q.name: q.unit for q in (*kin.coordinates, *kin.speeds)},
            steps=self._steps,
            nfev=self._nfev,
            variants=self._motions.variants,
            _again=self._again,
        )
