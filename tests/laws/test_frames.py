"""Moving and turning the world, with gravity, changes nothing that can be measured inside it."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric
from transformed import in_displaced_world

import noslip as ns
from noslip.kinematics import trace

#: Coordinates of some meters and angles of a few radians are added to all numbers.
ROUNDING = 1e-10
PLACE = ns.Placement(position=(3.0, -2.0, 5.0), angles=(0.7, -0.4, 1.9), sequence="zyx")


def test_motion_in_a_displaced_world(equations, rng):
    kin = equations.kinematics
    model = in_displaced_world(equations.model, PLACE)
    names = tuple(s.name for s in kin.independent_speeds)
    named = equations.model.independent_speeds
    # the same independent speeds in both worlds
    other = trace(model) if named else trace(model, independent=names)
    displaced = equations.formulation.fill(other)
    assert [s.name for s in displaced.kinematics.speeds] == [s.name for s in kin.speeds]
    assert [r.name for r in displaced.kinematics.rows] == [r.name for r in kin.rows]

    def results(eq):
        # how indeterminate reactions are split depends on the length of the model, which a ground
        # between world and mechanism may change
        lam = eq.multipliers
        reactions = ca.mtimes(eq.kinematics.A.T, lam) if eq.kinematics.redundant else lam
        return (eq.kinetic_energy, eq.speed_rates, eq.reduced_mass, reactions)

    here, there = (numeric(eq, *results(eq)) for eq in (equations, displaced))
    for state in admissible_states(equations, rng):
        for found, expected in zip(at(there, state), at(here, state), strict=True):
            size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
            assert found == pytest.approx(expected, abs=ROUNDING * size)


def test_potential_differs_by_a_constant_in_a_displaced_world(equations, rng):
    model = in_displaced_world(equations.model, PLACE)
    displaced = ns.derive(model)
    here = numeric(equations, equations.forces.potential_energy)
    there = numeric(displaced, displaced.forces.potential_energy)
    kin = displaced.kinematics
    differences = []
    for state in admissible_states(equations, rng):
        # other independent speeds may be chosen, but a potential does not depend on them
        zeros = np.zeros(kin.num_independent_speeds)
        arguments = (state.u, state.w, state.wdot, state.params)
        there_ = there(state.t, state.q, zeros, *arguments)
        differences.append(float(there_) - at(here, state)[0].item())
    assert differences == pytest.approx([differences[0]] * len(differences), abs=1e-9)
