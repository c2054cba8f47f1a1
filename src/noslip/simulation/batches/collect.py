"""From the memory that the lanes fill to a `Batch`, with everything under its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.simulation import rules
from noslip.simulation.batches.arrays import Array, LaneResults, empty_results
from noslip.simulation.batches.code import BatchCode
from noslip.simulation.batches.plan import Settings, Stretch
from noslip.simulation.batches.request import Request
from noslip.simulation.batches.result import Batch
from noslip.simulation.named_values import angle_names
from noslip.simulation.samples import ENDINGS


def make_results(
    code: BatchCode,
    request: Request,
    settings: Settings,
    begin: Stretch,
    keep: Sequence[str],
    max_events: int,
    out: Array | None,
) -> LaneResults:
    """Memory for the results; samples go where the user wants them."""
    shape = (request.count, len(settings.run.times), len(settings.columns))
    samples = np.zeros(0)
    if "samples" in keep:
        samples = np.empty(shape) if out is None else out
        is_right = samples.shape == shape and samples.dtype == np.float64
        if not (is_right and samples.flags.c_contiguous and samples.flags.writeable):
            raise SimulationError(
                f"out has the shape {samples.shape} and the type {samples.dtype}",
                f"batch of model '{code.system.model.name}'",
                f"give a writable array of float64 with the shape {shape}, rows one after another",
            )
        samples[...] = np.nan
    return empty_results(
        request.count,
        begin.states.shape[1],
        len(settings.columns),
        len(settings.events),
        max_events,
        has_minimum="minimum" in keep,
        has_maximum="maximum" in keep,
        samples=samples,
        num_angles=code.num_angles,
    )


def collect(
    system: System,
    systems: Mapping[int, System],
    code: BatchCode,
    request: Request,
    settings: Settings,
    results: LaneResults,
    keep: Sequence[str],
) -> Batch:
    """The results under their names."""
    names = settings.columns

    def by_name(values: Array) -> dict[str, Array]:
        return {name: values[..., k] for k, name in enumerate(names)}

    samples = by_name(results.samples) if "samples" in keep else {}
    for name in set(angle_names(system)) & samples.keys():
        samples[name] = np.unwrap(samples[name], axis=1)
    noted = [(k, n) for k, n in enumerate(settings.events) if n not in settings.terminal]
    scalar = np.zeros(request.count, dtype=bool)
    scalar[list(systems)] = True
    for table, bound in ((results.minimum, np.inf), (results.maximum, -np.inf)):
        table[table == bound] = np.nan  # of trajectories without a sample
    return Batch(
        model=system.model,
        count=request.count,
        varied=request.varied,
        units=code.units,
        varied_units=request.units,
        final=by_name(results.final),
        minimum=by_name(results.minimum) if "minimum" in keep else {},
        maximum=by_name(results.maximum) if "maximum" in keep else {},
        samples=samples,
        sample_times=settings.run.times,
        event_times={n: results.event_times[:, k] for k, n in noted},
        event_counts={n: results.event_counts[:, k] for k, n in noted},
        endings=_endings(results),
        ended_by=_causes(system, systems, settings, results),
        t=results.times,
        steps=results.num_steps,
        rejections=results.num_rejections,
        nfev=results.num_evaluations,
        scalar=scalar,
        method=settings.run.method,
        rtol=settings.run.rtol,
        atol=settings.run.atol,
    )


def _endings(results: LaneResults) -> np.ndarray:
    """How each trajectory ended."""
    table = np.empty(max(ENDINGS) + 1, dtype=object)
    for code, ending in ENDINGS.items():
        table[code] = ending
    return table[results.codes]


def _causes(
    system: System, systems: Mapping[int, System], settings: Settings, results: LaneResults
) -> np.ndarray:
    """Which event or which cause ended each trajectory."""
    causes = np.full(len(results.codes), "", dtype=object)
    is_event, is_singular = results.codes == rules.EVENT, results.codes == rules.SINGULAR
    causes[is_event] = np.array([*settings.events, ""], dtype=object)[results.which[is_event]]
    sentences = np.array([*(h.sentence for h in system.health), ""], dtype=object)
    causes[is_singular] = sentences[results.which[is_singular]]
    for k, last in systems.items():
        if is_singular[k]:
            causes[k] = last.health[results.which[k]].sentence
    return causes
