"""Along a simulated motion K + U − work stays, and so do all rows, at places and at speeds."""

import numpy as np
import pytest
from states import admissible_states

import noslip as ns

#: Local errors of 1e-10, summed over a second of a motion that may be lively.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
DRIFT = 1e-8
#: Rounding of solved rows; positions are held to 1e-14 m where coordinates are of size 1.
SLIP, GAP = 1e-12, 1e-12

#: Chains of seven bodies, whose code takes seconds to compile; one of them stands for all.
SLOW = ("loop-closed-by-fixed", "loop-closed-by-prismatic", "loop-closed-by-planar")
SLOW += ("loop-closed-by-spherical",)
#: From an arbitrary state one falls flat, and one leaves its grid; their own scenarios are run with
#: the library.
FALLS = ("coin-in-funnel", "vehicle-on-hills")


def test_energy_and_constraints_along_a_motion(model_name, system_of, rng, request):
    if model_name in FALLS:
        pytest.skip("its own scenario is run with the library")
    if model_name in SLOW and not request.config.getoption("--long"):
        pytest.skip("another chain stands for it; with --long")
    system = system_of(model_name)
    (state,) = admissible_states(system.equations, rng, 1)
    start = {c.name: float(x) for c, x in zip(system.coordinates, state.q, strict=True)}
    start |= {s.name: float(x) for s, x in zip(system.speeds, state.v, strict=True)}
    given = np.concatenate([state.u, state.w])
    inputs = {q.name: float(x) for q, x in zip(system.inputs, given, strict=False)}
    run = ns.simulate(
        system,
        duration=1.0,
        start=start,
        inputs=inputs,
        start_time=state.t,
        samples=21,
        **TOLERANCE,
    )
    assert run.success
    assert run.energy_drift < DRIFT
    assert run.slip < SLIP * max(1.0, float(np.max(np.abs(run.v))))
    assert run.gap < GAP


@pytest.mark.parametrize("name", ["point-on-circle", "ideal-caster"])
def test_energy_while_the_independent_speeds_change(system_of, name, rng):
    """Motions long enough to need several choices of speeds lose no accuracy by it."""
    system = system_of(name)
    (state,) = admissible_states(system.equations, rng, 1)
    start = {c.name: float(x) for c, x in zip(system.coordinates, state.q, strict=True)}
    start |= {s.name: float(2 * x) for s, x in zip(system.speeds, state.v, strict=True)}
    run = ns.simulate(system, duration=4.0, start=start, samples=41, **TOLERANCE)
    assert len(system._relatives) > 1
    assert run.energy_drift < 1e-6
