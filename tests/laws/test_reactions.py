"""Forces in joints and contacts against closed forms, and against each other by Newton's laws."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.formulations import inverse_dynamics, joint_wrenches
from noslip.kinematics import generalized_forces


def pendulum():
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=2.0, inertia=(0.0, 0.0, 0.0), center_of_mass=(0.0, 0.0, -0.7))
    b.joint("pin", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="world", child="bob")
    return ns.compile(ns.derive(b.build()))


def test_tension_of_a_pendulum():
    """The rod pulls with m (g cos θ + l θ̇²), and bends with nothing."""
    system = pendulum()
    start = {"pin.angle": 1.1, "pin.rate": 0.4}
    run = ns.simulate(system, duration=3.0, start=start, rtol=1e-12, atol=1e-12)
    (pin,) = ns.reactions(system, run, axes="body")
    theta, rate = run["pin.angle"], run["pin.rate"]
    tension = 2.0 * (9.81 * np.cos(theta) + 0.7 * rate**2)
    assert pin.force[:, 2] == pytest.approx(tension, abs=1e-10)
    assert np.max(np.abs(pin.force[:, :2])) < 1e-10
    assert np.max(np.abs(pin.moment)) < 1e-10
    (world,) = ns.reactions(system, run)
    assert np.linalg.norm(world.force, axis=1) == pytest.approx(np.abs(tension), abs=1e-10)


def test_contact_forces_in_all_axes_are_the_same_vector(system_of):
    system = system_of("rolling-disk")
    run = ns.run_scenario(system, duration=0.5)
    by_axes = {
        axes: ns.reactions(system, run, axes=axes)[-1] for axes in ("world", "body", "contact")
    }
    sizes = [np.linalg.norm(reaction.force, axis=1) for reaction in by_axes.values()]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-13)
    assert sizes[0] == pytest.approx(sizes[2], rel=1e-13)
    # the ground carries the disk: normal and vertical are the same here
    assert by_axes["contact"].force[:, 2] == pytest.approx(by_axes["world"].force[:, 2], rel=1e-13)


@pytest.mark.parametrize("name", ns.MODELS)
def test_joints_transmit_along_their_freedoms_what_acts_there(name):
    """Hᵀ of a joint's wrench is its motor, spring, damper, speed input or prescribed motion."""
    equations = ns.derive(ns.load(name))
    kin = equations.kinematics
    s = kin.symbols
    efforts = []
    for node, wrench in zip(kin.tree.nodes, joint_wrenches(equations), strict=False):
        r = ca.mtimes(node.R_WD.T, wrench.point - node.p_WB)
        force = ca.mtimes(node.R_WD.T, wrench.force)
        moment = ca.mtimes(node.R_WD.T, wrench.moment) + ca.cross(r, force)
        efforts.append(ca.mtimes(node.H.T, ca.vertcat(moment, force)))
    # what contacts own of the speeds has no inertia, and nothing acts there
    efforts.append(ca.SX.zeros(kin.num_places))
    bodies = generalized_forces(kin.tree, list(equations.forces.wrenches()), kin.num_speeds)
    acting = equations.forces.Q + ca.mtimes(equations.forces.B, s.u) - bodies
    # a row that says where its force acts pushes bodies, and no joint transmits it
    rows = [
        k
        for k, row in enumerate(kin.rows)
        if row.origin in ("motion", "speed input") or row.name in kin.unplaced
    ]
    if rows:
        acting += ca.mtimes(kin.A[rows, :].T, equations.multipliers[rows])
    # where bodies hardly move, what is in balance is their weight
    scale = ca.vertcat(inverse_dynamics(kin, equations.speed_rates), bodies)
    symbols = [s.t, s.q, kin.eta, s.u, s.w, s.wdot, s.params]
    numbers = ca.Function("n", symbols, [ca.vertcat(*efforts), acting, scale])
    rng = np.random.default_rng(4)
    for t, q in kin.probe.configurations(2):
        values = [rng.normal(size=v.shape[0]) for v in (kin.eta, s.u, s.w, s.wdot)]
        found, expected, size = (np.array(x) for x in numbers(t, q, *values, kin.probe.params))
        assert np.max(np.abs(found - expected)) < 1e-12 * max(1.0, np.max(np.abs(size)))


def test_loop_joints_carry_what_the_cut_ones_would():
    """A four-bar linkage cut at one pin or at another: the same force in every pin."""

    def linkage(cut_first):
        b = ns.ModelBuilder(name="four-bar", gravity=(0.0, -9.81, 0.0))
        for name, mass in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.5)):
            b.body(name, mass=mass, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.2, 0.0, 0.0))
        z = ns.joints.Revolute(axis=(0.0, 0.0, 1.0))

        def at(x):
            return ns.Placement(position=(x, 0.0, 0.0))

        b.joint("a", z, parent="world", child="crank")
        b.joint("d", z, parent="world", child="rocker", parent_frame=at(1.0))
        pins = [
            ("b", "crank", "coupler", 0.4, 0.0),
            ("c", "rocker", "coupler", 0.7, 0.9),
        ]
        for name, parent, child, x, y in pins if cut_first else reversed(pins):
            b.joint(name, z, parent=parent, child=child, parent_frame=at(x), child_frame=at(y))
        return ns.compile(ns.derive(b.build()))

    start = {"a.angle": 1.0, "a.rate": 0.8}
    found = []
    for system in (linkage(True), linkage(False)):
        instant = ns.evaluate(system, start)
        # the other linkage is closed on the same side
        start["d.angle"] = instant.coordinates["d.angle"]
        found.append([[instant.joint_reactions[n][k] for k in "xy"] for n in "abcd"])
    assert np.array(found[0]) == pytest.approx(np.array(found[1]), abs=1e-9)
    assert np.max(np.abs(found[0])) > 1.0


def test_wrong_requests_say_what_to_do(system_of):
    system = pendulum()
    run = ns.simulate(system, duration=0.1)
    with pytest.raises(ns.SimulationError, match="no axes 'sky'") as caught:
        ns.reactions(system, run, axes="sky")
    assert "pendulum" in caught.value.where and "contact" in caught.value.fix
    other = system_of("agv")
    with pytest.raises(ns.SimulationError, match="the run is of model 'pendulum'") as caught:
        ns.reactions(other, run)
    assert "reactions" in caught.value.where and "was simulated" in caught.value.fix
