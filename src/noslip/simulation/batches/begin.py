"""Where the trajectories of a batch start."""

from __future__ import annotations

import numpy as np

from noslip.errors import SimulationError
from noslip.simulation.batches.arrays import Array
from noslip.simulation.batches.code import BatchCode
from noslip.simulation.batches.plan import Settings, Stretch
from noslip.simulation.batches.request import Request
from noslip.simulation.starts.completion import complete_starts


def begin_batch(code: BatchCode, request: Request, settings: Settings) -> Stretch:
    """Where all trajectories start: [q; η; μ; W; z], no work done yet."""
    system, count = code.system, request.count
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    z = np.zeros(0) if code.generator is None else np.asarray(code.generator.start)

    def speed_inputs(trajectories: Array, q: Array) -> Array:
        y = np.zeros((len(q), system.num_states + z.size))
        y[:, : q.shape[1]], y[:, system.num_states :] = q, z
        times = np.full(len(q), settings.run.start_time)
        return code.inputs_at(trajectories, times, y)[:, num_u : num_u + num_w]

    q, eta, mu = complete_starts(
        system,
        request.starts,
        count=count,
        time=settings.run.start_time,
        parameters=request.parameters,
        speed_inputs=speed_inputs if num_w else None,
    )
    work = np.zeros((count, 1 if system.does_work else 0))
    parts = [q, eta, mu, work, np.tile(z, (count, 1))]
    states = np.concatenate(parts, axis=1)
    is_finite = np.isfinite(states).all(axis=1)
    if not is_finite.all():
        raise SimulationError(
            "the start state is not finite",
            f"start of model '{system.model.name}', trajectory {int(np.argmin(is_finite))}",
            "give another configuration, away from singular ones",
        )
    return Stretch(
        queue=np.arange(count),
        states=states,
        times=np.full(count, settings.run.start_time),
        steps=np.full(count, float(settings.run.step)),
        filled=np.zeros(count, np.int64),
    )
