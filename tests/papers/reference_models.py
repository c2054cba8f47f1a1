"""Library models with the parameters that the independent numbers were computed for.

Two of those belong to bodies that cannot be, whose moments of inertia break A + B >= C; the library
has possible ones.
"""

import dataclasses

import noslip as ns

PARAMETERS = {"vertical-disk": {"I2": 0.02}, "manipulator-6r": {"I3y": 0.0125}}


def load(name):
    """A model of the library, with other nominal values where the numbers are for others."""
    model = ns.load(name)
    other = PARAMETERS.get(name, {})
    parameters = tuple(
        dataclasses.replace(p, value=other.get(p.name, p.value)) for p in model.parameters
    )
    return dataclasses.replace(model, parameters=parameters)
