"""Changing parameter values is the same as building the model with those numbers."""

import numpy as np
import pytest
from states import State, admissible_states, at, numeric
from transformed import changed_values, with_numbers

from noslip.kinematics import trace

ROUNDING = 1e-11


def test_changed_parameters_and_a_model_with_those_numbers(equations, rng):
    kin = equations.kinematics
    values = changed_values(equations.model, rng)
    model = with_numbers(equations.model, values)
    names = tuple(s.name for s in kin.independent_speeds)
    named = equations.model.independent_speeds
    other = equations.formulation.fill(trace(model) if named else trace(model, independent=names))

    def results(eq):
        return (
            eq.kinetic_energy,
            eq.forces.potential_energy,
            eq.accelerations,
            eq.reduced_mass,
            eq.multipliers,
        )

    changed, numbers = numeric(equations, *results(equations)), numeric(other, *results(other))
    for s in admissible_states(other, rng):
        params = np.array(list(values.values()))
        same = State(s.t, s.q, s.eta, s.v, s.u, s.w, s.wdot, params)
        for found, expected in zip(at(changed, same), at(numbers, s), strict=True):
            size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
            assert found == pytest.approx(expected, abs=ROUNDING * size)


def test_parameters_are_changed_by_name(system_of):
    system = system_of("pendulum")
    names = [p.name for p in system.model.parameters]
    nominal, changed = system.parameters(), system.parameters({"l": 0.9})
    assert changed[names.index("l")] == 0.9
    assert np.count_nonzero(nominal != changed) == 1
