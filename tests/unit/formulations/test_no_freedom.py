"""Mechanisms whose motion is given: nothing is solved for, but all forces are found."""

import numpy as np
import pytest

import noslip as ns


def test_one_body_whose_motion_is_given():
    """The moment that turns it is I φ̈ = −I sin t."""
    b = ns.ModelBuilder(name="turntable", gravity=(0.0, 0.0, -9.81))
    b.body("plate", mass=2.0, inertia=(0.3, 0.3, 0.5))
    axis = (0.0, 0.0, 1.0)
    b.joint(
        "plate",
        ns.joints.Revolute(axis=axis),
        parent="world",
        child="plate",
        motion={"angle": "sin(t)"},
    )
    model = b.build()
    assert ns.verify(model).holds
    for formulation in (ns.NaturalComplement(), ns.BoltzmannHamel()):
        system = ns.compile(ns.derive(model, formulation))
        moment = system.multipliers(0.7, [np.sin(0.7), 0.0], [], [])
        assert moment == pytest.approx([-0.5 * np.sin(0.7)], abs=1e-15)
