"""What runs of the same code share: all that the loop is told but for the numbers of a run.

A mold stays with the system where its code does, that is for inputs that are numbers or texts.
"""

from __future__ import annotations

import numpy as np

from noslip.engines.system import Array, System
from noslip.simulation.events import Watched
from noslip.simulation.inputs import InputPlan
from noslip.simulation.memory import Mold
from noslip.simulation.plan import InputTable, IntegrationPlan, Numbers, direct_steps
from noslip.simulation.request import METHODS


def mold_of(
    system: System,
    plan: InputPlan,
    watched: Watched,
    method: str,
    is_best: bool,
    numbers: Numbers,
    start_time: float,
) -> Mold:
    """What runs of the same code share; it stays with the system if the code does.

    Parameters
    ----------
    system, plan : what runs, and its inputs.
    watched : values of events.
    method : by its name.
    is_best : whether there are no better speeds, so that these go on as long as they can.
    numbers : of the first run.
    start_time : of the whole run, s.
    """
    rates, projection = system.rates, system.projection if system.has_projection else None

    def make() -> Mold:
        tables = [InputTable(index=k, starts=s, coefficients=c) for k, s, c in plan.tables]
        t, end_time, knots = numbers.start_time, numbers.end_time, plan.knots
        floors = [h.limit if is_best else h.floor for h in system.health]
        laid_out = IntegrationPlan(
            **numbers._asdict(),
            rates=rates.address,
            num_generator_states=plan.num_states,
            tables=tuple(tables),
            generator=plan.address,
            update=plan.update.address if plan.update else 0,
            update_times=_update_times(plan, start_time, t, end_time),
            num_inputs=len(system.inputs),
            knots=knots[(knots > t) & (knots < end_time)],
            project=projection.address if projection else 0,
            events=watched.function.address if watched.function else 0,
            event_directions=watched.directions(),
            num_endings=watched.num_endings,
            health_floors=np.array(floors),
            method=METHODS[method],
            # where Python is called back, none on the calling thread
            direct_steps=0 if plan.callback else direct_steps(len(numbers.start_state)),
        )
        return Mold(laid_out)

    if not plan.is_kept:
        return make()
    # functions stand for themselves, so that they live as long as what has their addresses
    functions = (rates, projection, plan.function, watched)
    return system.cached(("mold", functions, method, is_best), make)


def _update_times(plan: InputPlan, start_time: float, t: float, end_time: float) -> Array:
    """Times at which a sampled law looks again, from t on."""
    if plan.generator is None or plan.update is None:
        return np.zeros(0)
    period = plan.generator.period
    count = int(np.floor((end_time - start_time) / period * (1 + 1e-12))) + 1
    times: Array = start_time + period * np.arange(count, dtype=float)
    return times[times >= t - 1e-9 * period]
