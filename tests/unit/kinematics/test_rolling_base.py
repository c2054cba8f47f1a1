"""Mechanisms seen from where they roll: closed forms against exact derivatives of the rows."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns
from noslip import NaturalComplement
from noslip.formulations import kinetic_energy, row_rates
from noslip.formulations.tree_dynamics import basis_rate
from noslip.kinematics import trace, twists

#: Two ways to the same rates, relative to the largest.
ROUNDING = 1e-12

SLOPE = ns.contacts.Plane(frame=ns.Placement(position=(0.1, 0.2, 0.3), angles=(0.1, -0.2, 0.5)))
FULL = (0.3, 0.4, 0.5, 0.02, -0.03, 0.01)
AXLE = (0.0, 1.0, 0.0)


def one_body(wheel):
    b = ns.ModelBuilder(name="wheel", gravity=(0.0, 0.0, -9.81))
    b.body("wheel", mass=2.0, inertia=FULL, center_of_mass=(0.05, 0.02, -0.03))
    b.joint("wheel", ns.joints.Free(), parent="world", child="wheel")
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="wheel", wheel=wheel, center=(0.1, -0.05, 0.02), plane=SLOPE
        )
    )
    return b.build()


def cycle(front, child=None, **more):
    """A frame on a rear wheel, a fork with a front wheel, a rider and a bell that swing."""
    b = ns.ModelBuilder(name="cycle", gravity=(0.0, 0.0, -9.81))
    for name in ("frame", "fork", "rider", "bell"):
        b.body(name, mass=3.0, inertia=FULL, center_of_mass=(0.1, 0.03, 0.2))
    for name in ("rear", "front"):
        b.body(name, mass=1.5, inertia=(0.06, 0.12, 0.06), center_of_mass=(0.0, 0.02, 0.0))
    b.joint("frame", ns.joints.Free(), parent="world", child="frame")
    place = ns.Placement(position=(0.1, 0.02, -0.1), angles=(0.05, 0.1, -0.08))
    b.joint("rear", ns.joints.Revolute(axis=AXLE), parent="frame", child="rear", parent_frame=place)
    b.joint(
        "fork",
        ns.joints.Revolute(axis=(0.3, 0.1, -0.9)),
        parent="frame",
        child="fork",
        parent_frame=ns.Placement(position=(1.0, 0.05, -0.2), angles=(0.02, 0.1, 0.03)),
        child_frame=child or ns.Placement(),
    )
    place = ns.Placement(position=(-0.05, 0.01, 0.1), angles=(0.03, -0.1, 0.06))
    b.joint(
        "front", ns.joints.Revolute(axis=AXLE), parent="fork", child="front", parent_frame=place
    )
    hinge = ns.Placement(position=(0.3, 0.0, 0.6))
    b.joint(
        "rider",
        ns.joints.Revolute(axis=(1.0, 0.0, 0.0)),
        parent="frame",
        child="rider",
        parent_frame=hinge,
    )
    b.joint(
        "bell",
        ns.joints.Prismatic(axis=(1, 2, 0.5)),
        parent="fork",
        child="bell",
        parent_frame=hinge,
    )
    b.contact(
        ns.contacts.Rolling(
            name="rear",
            body="rear",
            wheel=ns.surfaces.Torus(radius=0.3, tube_radius=0.04, axis=AXLE),
            center=(0.0, 0.03, 0.0),
            plane=SLOPE,
        )
    )
    b.contact(ns.contacts.Rolling(name="front", body="front", wheel=front, plane=SLOPE, **more))
    return b.build()


MODELS = {
    "disk": one_body(ns.surfaces.Disk(radius=0.4, axis=(0.1, 0.2, 1.0))),
    "torus": one_body(ns.surfaces.Torus(radius=0.4, tube_radius=0.1, axis=(0.1, 0.2, 1.0))),
    "ball": one_body(ns.surfaces.Ball(radius=0.4)),
    "cycle": cycle(ns.surfaces.Disk(radius=0.35, axis=AXLE)),
    "cycle, reversed tire": cycle(
        ns.surfaces.Torus(radius=0.35, tube_radius=0.03, axis=(0.0, -2.0, 0.0))
    ),
    "cycle, hinge beside the fork": cycle(
        ns.surfaces.Disk(radius=0.35, axis=AXLE),
        child=ns.Placement(position=(0.1, -0.04, 0.2), angles=(0.2, 0.1, 0.3)),
    ),
    "cycle, front wheel slides along": cycle(
        ns.surfaces.Disk(radius=0.35, axis=AXLE), longitudinal=False
    ),
    "cycle, front wheel off its axle": cycle(
        ns.surfaces.Disk(radius=0.35, axis=AXLE), center=(0.1, 0.0, 0.0)
    ),
}
RIMS = {
    "disk": {"touch"},
    "torus": {"touch"},
    "ball": {"touch"},
    "cycle": {"rear", "front"},
    "cycle, reversed tire": {"rear", "front"},
    "cycle, hinge beside the fork": {"rear", "front"},
    "cycle, front wheel slides along": {"rear"},
    "cycle, front wheel off its axle": {"rear"},
}


@pytest.fixture(params=MODELS, scope="module")
def moved(request):
    equations = ns.derive(MODELS[request.param])
    assert set(equations.kinematics.at_contact.rolling_base.wheels) == RIMS[request.param]
    return equations


def agree(one, other):
    return one == pytest.approx(other, abs=ROUNDING * max(1.0, np.max(np.abs(other), initial=0.0)))


def test_basis_keeps_the_rows(moved, rng):
    kin = moved.kinematics
    f = numeric(moved, ca.mtimes(kin.A, kin.S), ca.mtimes(kin.E, kin.S))
    for state in admissible_states(moved, rng):
        slip, own = at(f, state)
        assert agree(slip, np.zeros_like(slip))
        assert agree(own, np.eye(len(own)))


def test_rates_in_closed_form_are_derivatives_of_the_rows(moved, rng):
    """K v̇₀ = −(rate): the rows, differentiated along the motion, stay at zero."""
    kin = moved.kinematics
    rows = ca.mtimes(kin.A[list(kin.row_basis), :], kin.vdot0)
    f = numeric(moved, rows, -row_rates(kin), ca.mtimes(kin.E, kin.vdot0), -basis_rate(kin))
    for state in admissible_states(moved, rng):
        of_rows, expected, of_eta, none = at(f, state)
        assert agree(of_rows, expected)
        assert agree(of_eta, none)


def test_rates_of_each_wheel(moved, rng):
    """The rate of a wheel's velocity, in the axes of the base, is that of its rows."""
    kin = moved.kinematics
    s = kin.symbols
    for name, rim in kin.at_contact.rolling_base.wheels.items():
        # the rows of the contact are its directions on that velocity
        slip = next(t.slip for t in kin.contacts if t.contact.name == name)
        rows = ca.vertcat(*slip.values())
        exact = ca.jtimes(rows, s.q, ca.mtimes(kin.N, s.v))
        closed = ca.mtimes(rim.trace.axes_D.T, rim.rate)
        velocity = ca.mtimes(rim.trace.axes_D.T, rim.trace.velocity_D)
        f = numeric(moved, closed, exact, velocity, rows, tree_speeds=True)
        for state in admissible_states(moved, rng):
            one, other, own, expected = at(f, state, tree_speeds=True)
            assert agree(one, other)
            assert agree(own, expected)


def test_moved_tree_has_the_same_twists_and_energy(moved, rng):
    kin = moved.kinematics
    rolling_base = kin.at_contact.rolling_base
    tree = rolling_base.moved_tree(kin.tree)
    v = kin.at_contact.v
    energy = kinetic_energy(tree, twists(tree, v), v)
    f = numeric(
        moved, energy, moved.kinetic_energy, rolling_base.tree_speeds(kin.at_contact.v), kin.v
    )
    for state in admissible_states(moved, rng):
        one, other, speeds, expected = at(f, state)
        assert one.item() == pytest.approx(other.item(), rel=ROUNDING)
        assert agree(speeds, expected)


def test_solved_equations_are_those_of_the_blocks(moved, rng):
    f = numeric(moved, moved.accelerations, moved.block_solution.accelerations)
    for state in admissible_states(moved, rng):
        one, other = at(f, state)
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9 * np.max(np.abs(other)))


def test_moved_forces_have_the_same_power(moved, rng):
    kin = moved.kinematics
    rolling_base = kin.at_contact.rolling_base
    force = ca.SX(ca.DM(rng.normal(size=kin.num_speeds)))
    f = numeric(
        moved, ca.dot(force, kin.v), ca.dot(rolling_base.moved_forces(force), kin.at_contact.v)
    )
    for state in admissible_states(moved, rng):
        one, other = at(f, state)
        assert agree(one, other)


def test_other_independent_speeds_give_the_same_motion(moved, rng):
    """Speeds of the base's origin as independent ones, where the contact point's are solved for."""
    names = ("wheel.vx", "wheel.vy", "wheel.wz")
    if moved.model.name == "cycle":
        names = ("frame.vx", "frame.wx", "fork.rate", "rider.rate", "bell.speed", "front.rate")
    names = names[: moved.kinematics.num_independent_speeds]
    other = NaturalComplement().fill(trace(moved.model, independent=names))
    f = numeric(moved, moved.speed_rates, ca.mtimes(other.kinematics.E, moved.kinematics.v))
    g = numeric(other, other.speed_rates)
    for state in admissible_states(moved, rng):
        rates, eta = at(f, state)
        moving = type(state)(**{**vars(state), "eta": eta.ravel()})
        assert at(g, moving)[0] == pytest.approx(rates, rel=1e-9, abs=1e-9 * np.max(np.abs(rates)))


def test_a_wheel_on_a_fork_alone_is_no_rolling_base():
    """Its contact point moves against the frame, so that nothing would be gained."""
    kin = trace(ns.load("whipple-bicycle"))
    assert kin.at_contact.rolling_base.foot == "rear_wheel"
    assert trace(ns.load("agv")).at_contact is None


@pytest.mark.slow
def test_three_wheels_askew_hold_a_body():
    """No freedom is left: the basis has no columns, but a row for every speed."""
    b = ns.ModelBuilder(name="held", gravity=(0.0, 0.0, -9.81))
    b.body("base", mass=3.0, inertia=FULL)
    b.joint("base", ns.joints.Free(), parent="world", child="base")
    places = ((0.0, 0.0, 0.0), (0.6, 0.2, 0.1), (-0.5, 0.3, 0.1))
    for k, place in enumerate(places):
        b.body(f"wheel{k}", mass=1.5, inertia=(0.06, 0.12, 0.06))
        b.joint(
            f"wheel{k}",
            ns.joints.Revolute(axis=AXLE),
            parent="base",
            child=f"wheel{k}",
            parent_frame=ns.Placement(position=place, angles=(0.1 * k, 0.2, 0.7 * k)),
        )
        b.contact(
            ns.contacts.Rolling(
                name=f"c{k}", body=f"wheel{k}", wheel=ns.surfaces.Disk(radius=0.3, axis=AXLE)
            )
        )
    kin = ns.derive(b.build()).kinematics
    assert kin.at_contact is not None
    assert kin.S.shape == (9, 0)
    assert ns.verify(kin.model).holds
