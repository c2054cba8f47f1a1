"""Library models with the parameters that the independent numbers were computed for.

Two of those belong to bodies that cannot be, whose moments of inertia break A + B >= C; the library
has possible ones.
"""

import dataclasses

import numpy as np

import noslip as ns

STATE = 1e-12  # of the largest entry: rounding of one evaluation
MOTION = 1e-9  # m, rad, m/s, rad/s, N s: trajectories at tolerance 1e-13

PARAMETERS = {"vertical-disk": {"I2": 0.02}, "manipulator-6r": {"I3y": 0.0125}}


def load(name):
    """A model of the library, with other nominal values where the numbers are for others."""
    model = ns.load(name)
    other = PARAMETERS.get(name, {})
    parameters = tuple(
        dataclasses.replace(p, value=other.get(p.name, p.value)) for p in model.parameters
    )
    return dataclasses.replace(model, parameters=parameters)


def close(actual, expected, tolerance=STATE):
    expected = np.asarray(expected, dtype=float)
    difference = np.max(np.abs(np.asarray(actual, dtype=float) - expected))
    return difference <= tolerance * np.max(np.abs(expected))


def near(actual, expected, tolerance=MOTION):
    return np.max(np.abs(np.subtract(actual, expected))) <= tolerance


def simulate(system, case, start, inputs=None, **options):
    """The run of a case, sampled at its start and at the tabulated times."""
    run = ns.simulate(
        system,
        duration=case["points"][-1]["t"],
        start=start,
        inputs=inputs,
        samples=[0.0] + [p["t"] for p in case["points"]],
        rtol=1e-13,
        atol=1e-13,
        **options,
    )
    assert run.energy_drift < 1e-11
    return run
