"""Starts with other degrees of freedom than elsewhere are carried or refused, not dropped.

Two wheels of a carriage are tied by a side rod, as on a locomotive. Where the rod stays parallel
to the frame, one wheel repeats the rolling of the other and the carriage moves; on the branch where
the wheels turn against each other it cannot move at all.
"""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import brentq

import noslip as ns

CRANK, RADIUS = 0.3, 0.5


def linkage(rolls: bool) -> ns.System:
    """Two wheels with a side rod, on a carriage that rolls or on fixed axles."""
    b = ns.ModelBuilder(name="side-rod", gravity=(0.0, 0.0, 0.0))
    b.body("frame", mass=1.0, inertia=(0.1, 0.1, 0.1))
    raised, slide = ns.Placement(position=(0.0, 0.0, RADIUS)), ns.joints.Prismatic(axis=(1, 0, 0))
    joint = slide if rolls else ns.joints.Fixed()
    b.joint("x", joint, parent="world", child="frame", parent_frame=raised)
    hinge, wheel = (
        ns.joints.Revolute(axis=(0, 1, 0)),
        ns.surfaces.Disk(radius=RADIUS, axis=(0, 1, 0)),
    )
    for k in (0, 1):
        name, at = f"w{k}", ns.Placement(position=(1.0 * k, 0.0, 0.0))
        b.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(name, hinge, parent="frame", child=name, parent_frame=at)
        if rolls:
            b.contact(
                ns.contacts.Rolling(
                    name=f"c{k}", body=name, wheel=wheel, lateral=False, normal=False
                )
            )
    b.body("rod", mass=0.5, inertia=(0.1, 0.1, 0.1))
    pin, end = ns.Placement(position=(CRANK, 0.0, 0.0)), ns.Placement(position=(1.0, 0.0, 0.0))
    b.joint("pin0", hinge, parent="w0", child="rod", parent_frame=pin)
    b.joint("pin1", hinge, parent="w1", child="rod", parent_frame=pin, child_frame=end)
    return ns.compile(ns.derive(b.build()))


@pytest.fixture(scope="module")
def carriage():
    return linkage(rolls=True)


@pytest.fixture(scope="module")
def four_bar():
    return linkage(rolls=False)


def single(system, start):
    return ns.simulate(system, duration=0.3, start=start, rtol=1e-11, atol=1e-11)


def batch(system, start):
    starts = {name: np.full(3, x) for name, x in start.items()}
    return ns.simulate_batch(system, duration=0.3, start=starts)


def crossed(angle):
    """Angle of the second wheel on the branch where the wheels turn against each other."""

    def gap(other):
        along = 1 + CRANK * (np.cos(other) - np.cos(angle))
        return np.hypot(along, CRANK * (np.sin(other) - np.sin(angle))) - 1.0

    return brentq(gap, -1.5, 0.4, xtol=1e-15, rtol=1e-14)


@pytest.mark.slow
def test_the_carriage_moves_on_the_branch_where_it_can(carriage):
    run = single(carriage, {"w0.angle": 0.5, "w1.angle": 0.5, "w0.rate": -1.0})
    # 2K/ω²: all that moves with the frame, the wheels' spin, and the rod on its circle
    theta = run["w0.angle"]
    rod = (RADIUS - CRANK * np.sin(theta)) ** 2 + (CRANK * np.cos(theta)) ** 2
    inertia = 3 * RADIUS**2 + 2 * 0.1 + 0.5 * rod
    assert run["w0.rate"] == pytest.approx(-np.sqrt(inertia[0] / inertia), abs=1e-10)
    assert run["w1.angle"] == pytest.approx(theta, abs=1e-10)
    assert run["x.position"] == pytest.approx(RADIUS * (theta - theta[0]), abs=1e-10)


@pytest.mark.parametrize("ask", [single, ns.evaluate])
def test_a_start_on_the_locked_branch_has_its_own_equations(carriage, ask):
    """It stands still there, with the wheels pressed against the floor, and says so."""
    start = {"w0.angle": 0.5, "w1.angle": crossed(0.5)}
    found = ask(carriage, start)
    said = "on which the mechanism has 0 degrees of freedom; on another one it has 1"
    assert any(said in note for note in found.notes)
    with pytest.raises(ns.SimulationError, match="contradict"):
        ask(carriage, start | {"w0.rate": -1.0})


def test_a_batch_on_the_locked_branch_is_refused(carriage):
    with pytest.raises(ns.SimulationError, match="other degrees of freedom"):
        batch(carriage, {"w0.angle": 0.5, "w1.angle": crossed(0.5)})


def test_reactions_on_the_locked_branch_are_those_of_statics():
    """A push of 2 N on the frame is held by the floor alone, whatever moves elsewhere."""
    push = ns.forces.Wrench(name="push", body="frame", force=(2.0, 0.0, 0.0))
    model = dataclasses.replace(linkage(rolls=True).model, forces=(push,))
    found = ns.evaluate(ns.compile(ns.derive(model)), {"w0.angle": 0.5, "w1.angle": crossed(0.5)})
    held = sum(found.reactions[f"c{k}"]["x"] for k in (0, 1))
    assert held == pytest.approx(-2.0, abs=1e-9)
    assert max(abs(x) for x in found.accelerations.values()) < 1e-12


def test_check_says_the_freedom_of_both_branches(carriage, four_bar):
    assert ns.check(carriage.model).other_branches == (0,)
    assert "degrees of freedom   1; 0 on another branch" in ns.check(carriage.model).text()
    assert ns.check(four_bar.model).other_branches == ()


@pytest.mark.parametrize("ask", [single, batch, ns.evaluate])
def test_speeds_that_the_equations_do_not_have_are_refused(four_bar, ask):
    # all in line, where the branches cross: the wheels may go on either way
    with pytest.raises(ns.SimulationError, match=r"rows .*'pin1.shift_.* repeat"):
        ask(four_bar, {"w0.rate": -1.0})


def test_both_branches_of_a_linkage_with_the_same_freedom_run(four_bar):
    for other in (0.5, crossed(0.5)):
        run = single(four_bar, {"w0.angle": 0.5, "w1.angle": other, "w0.rate": -1.0})
        assert run["kinetic_energy"] == pytest.approx(run["kinetic_energy"][0], rel=1e-9)
