"""Trajectories of a batch keep the balance of energy: K + U − W is what it was at the start."""

import numpy as np
import pytest

import noslip as ns

COUNT = 5
#: Of the energy that moves, at this tolerance of the integration.
TOLERANCE, DRIFT = 1e-11, 1e-8


@pytest.mark.parametrize("name", ns.MODELS)
def test_energy_and_work_balance_in_every_lane(system_of, rng, name):
    system = system_of(name)
    scenario = system.model.scenario
    start = {n: v for n, v in scenario.start.items() if not isinstance(v, str)}
    starts = {n: v * (1.0 + 0.05 * rng.uniform(-1, 1, COUNT)) for n, v in start.items()}
    numbers = {"phase": rng.uniform(0, 3, COUNT)}
    inputs = {u.name: "0.05*sin(3*t + phase)" for u in system.model.inputs}
    inputs |= {w.name: "0.02*sin(t + phase)" for w in system.model.speed_inputs}
    batch = ns.simulate_batch(
        system,
        duration=1.0,
        start=starts,
        inputs=inputs,
        definitions=numbers,
        columns=["kinetic_energy", "potential_energy", "work"],
        keep=["samples"],
        samples=9,
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    assert batch.success.all()
    kinetic, potential, work = (batch.samples[name] for name in batch.units)
    total = kinetic + potential - work
    moved = np.maximum(np.max(np.abs(kinetic), axis=1), np.ptp(potential, axis=1))
    assert np.all(moved > 0.0)
    drift = np.max(np.abs(total - total[:, :1]), axis=1) / moved
    assert np.max(drift) < DRIFT
