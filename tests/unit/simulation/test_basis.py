"""Rows that were redundant at the nominal parameters, at others."""

import pytest

import noslip as ns
from noslip.errors import SimulationError
from noslip.simulation.basis import check_redundant_rows, row_parameters


@pytest.fixture(scope="module")
def cart():
    """Two wheels on one axle, as long as `offset` is zero."""
    b = ns.ModelBuilder("cart", gravity=(0.0, 0.0, -9.81))
    for name, value, unit in (("m", 2.0, "kg"), ("r", 0.1, "m"), ("offset", 0.0, "m")):
        b.parameter(name, value, unit)
    b.body("platform", mass="m", inertia=(1.0, 1.0, 1.0))
    b.joint("platform", ns.Planar(), parent="world", child="platform")
    for k, y in ((1, 0.3), (2, -0.3)):
        b.body(f"wheel{k}", mass=0.5, inertia=(0.01, 0.02, 0.01))
        at = ns.Placement(position=("offset" if k == 2 else 0.0, y, "r"))
        hinge = ns.Revolute(axis=(0.0, 1.0, 0.0))
        b.joint(f"wheel{k}", hinge, parent="platform", child=f"wheel{k}", parent_frame=at)
        wheel = ns.Disk(radius="r", axis=(0.0, 1.0, 0.0))
        b.contact(ns.Rolling(name=f"wheel{k}", body=f"wheel{k}", wheel=wheel))
    return ns.compile(ns.derive(b.build()))


def _check(system, **changed):
    check_redundant_rows(system, system.parameters(changed), changed)


def test_only_parameters_of_the_rows_are_looked_at(cart):
    names = [cart.model.parameters[k].name for k in row_parameters(cart)]
    assert "m" not in names and {"r", "offset"} <= set(names)


def test_a_row_that_became_independent_is_refused_whatever_was_accepted_before(cart):
    assert cart.kinematics.redundant
    for k in range(20):
        _check(cart, m=3.0 + k)
        _check(cart, r=0.11 + 0.01 * k)
        for _ in range(2):
            with pytest.raises(SimulationError, match="the mechanism has lost a degree of freedom"):
                _check(cart, offset=0.01 * (k + 1))
    _check(cart, offset=0.0, r=0.2)
