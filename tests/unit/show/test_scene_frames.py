"""Poses of a film: against an independent kinematics, between samples, and how fast."""

import dataclasses

import casadi as ca
import numpy as np
import pytest
from newton_euler import NewtonEuler

import noslip as ns
from noslip.model import numbers
from noslip.scene import frames
from noslip.scene.assembly import film_times
from noslip.scene.geometry import rotations_of

LIBRARY = tuple(ns.MODELS)


def scenario_run(system, **options):
    """The scenario with contacts that hold, whose states are starts of others."""
    return ns.run_scenario(system, contact="ideal", **options)


def oracle_poses(run, indices):
    """R_WB and p_WB of all bodies by the plain forward kinematics of the tests' own oracle."""
    oracle = NewtonEuler(run.model)
    bodies = [body.name for body in run.model.bodies]
    parts = [part for name in bodies for part in oracle.frames[name]]
    function = ca.Function("poses", [oracle.t, oracle.q, oracle.params], parts)
    params = [run.parameters[p.name] for p in run.model.parameters]
    order = [[c.name for c in run.coordinates].index(name) for name in oracle.names_q]
    rotations, positions = [], []
    for k in indices:
        found = [np.array(x) for x in function.call([run.t[k], run.q[k][order], params])]
        rotations.append(found[0::2])
        positions.append([p.ravel() for p in found[1::2]])
    return np.array(rotations), np.array(positions)


@pytest.mark.parametrize("name", LIBRARY)
def test_poses_at_samples_are_those_of_the_oracle(name, system_of):
    system = system_of(name)
    run = scenario_run(system)
    chosen = np.linspace(0, len(run.t) - 1, 9).astype(int)
    film = frames(system, run, times=run.t[chosen])
    R, p = oracle_poses(run, chosen)
    assert film.bodies == tuple(body.name for body in run.model.bodies)
    scale = 1 + np.abs(p).max()
    assert np.abs(film.positions - p).max() < 1e-13 * scale
    assert np.abs(rotations_of(film.quaternions) - R).max() < 1e-13
    assert np.abs(np.linalg.norm(film.quaternions, axis=-1) - 1).max() < 1e-15


def every(run, step):
    """A run with only every so many of its samples."""
    fields = ("t", "q", "v", "vdot", "inputs", "kinetic_energy", "potential_energy", "work")
    fields += ("row_residuals", "position_residuals")
    thinned = {name: getattr(run, name)[::step] for name in fields}
    extra = {name: (run.columns[name][0], run[name][::step]) for name in run.extra}
    return dataclasses.replace(run, **thinned, extra=extra)


def test_the_error_between_samples_is_of_sixth_order(system_of):
    """Half as far apart, the samples give poses 2⁶ times as near."""
    system = system_of("rolling-disk")
    run = ns.run_scenario(system, rtol=1e-13, atol=1e-13)
    truth = frames(system, run, times=run.t[4:-4])
    errors = []
    for step in (20, 10):
        film = frames(system, every(run, step), times=run.t[4:-4])
        errors.append(np.abs(film.quaternions - truth.quaternions).max())
    assert 45 < errors[0] / errors[1] < 90


@pytest.mark.parametrize("name", LIBRARY)
def test_velocities_and_mass_centers_are_those_of_direct_kinematics(name, system_of):
    system = system_of(name)
    run = scenario_run(system)
    k = len(run.t) // 3
    film = frames(system, run, times=[run.t[k]])
    state = {c.name: run.q[k, j] for j, c in enumerate(run.coordinates)}
    if not run.model.speed_inputs:
        state |= {s.name: run.v[k, j] for j, s in enumerate(run.speeds)}
    moving = ns.direct_kinematics(system, state, parameters=run.parameters)
    for j, body in enumerate(run.model.bodies):
        motion = moving[body.name]
        arm = motion.rotation @ numbers(body.center_of_mass, run.parameters)
        assert np.abs(film.centers[0, j] - motion.position - arm).max() < 1e-12
        if not run.model.speed_inputs:
            velocity = motion.velocity + np.cross(motion.angular_velocity, arm)
            scale = 1 + np.abs(velocity).max()
            assert np.abs(film.velocities[0, j] - velocity).max() < 1e-12 * scale


@pytest.mark.parametrize("name", ("agv", "rolling-disk", "tractor-trailer", "knife-edge"))
def test_traces_of_contacts_are_the_columns_of_the_run(name, system_of):
    system = system_of(name)
    run = scenario_run(system)
    film = frames(system, run, times=run.t)
    assert len(run.model.contacts) >= 1
    for contact in run.model.contacts:
        columns = [run[f"{contact.name}.contact_{axis}"] for axis in "xyz"]
        trace = film.traces[f"{contact.name}.contact"]
        assert np.abs(trace - np.column_stack(columns)).max() < 1e-12


def test_forces_are_the_reactions_of_the_ground(system_of):
    system = system_of("rolling-disk")
    run = scenario_run(system)
    film = frames(system, run, times=run.t, forces=True)
    rim = next(r for r in ns.reactions(system, run) if r.name == "rim")
    points, forces = film.forces["rim"]
    assert np.abs(forces - rim.force).max() < 1e-11
    assert np.abs(points - rim.point).max() < 1e-12


def test_wheels_without_a_normal_row_are_drawn_with_the_loads_they_carry(system_of):
    """The loads of the vehicle's wheels add up to its weight."""
    system = system_of("agv")
    run = scenario_run(system)
    film = frames(system, run, rate=2.0, forces=True)
    total = sum(forces for _, forces in film.forces.values())
    p = run.parameters
    weight = (p["m_platform"] + 3 * p["m_wheel"]) * p["g"]
    assert np.allclose(total[:, 2], weight, rtol=1e-10)
    assert all(np.all(forces[:, 2] > 50) for _, forces in film.forces.values())


def test_a_film_starts_and_ends_with_the_run(system_of):
    system = system_of("agv")
    run = scenario_run(system)
    film = frames(system, run, rate=30.0)
    assert len(film) == 1801 and film.times[0] == run.t[0]
    assert film.times[-1] == pytest.approx(run.t[-1], abs=1e-9)
    assert np.allclose(np.diff(film.times), 1 / 30)
    odd = film_times(np.array([0.0, 1.05]), 10.0)
    assert odd[-1] == 1.05 and len(odd) == 12
    assert np.array_equal(film_times(np.array([3.0]), 10.0), [3.0])
    outside = frames(system, run, times=[-1.0, 1e9])
    assert np.array_equal(outside.times, run.t[[0, -1]])


def test_what_cannot_be_shown_is_said(system_of, refuses):
    run = scenario_run(system_of("knife-edge"))
    with refuses(ns.SimulationError, "the run is of model 'knife-edge'", "frames", "simulated"):
        frames(system_of("agv"), run)
    with refuses(ns.SimulationError, "the rate is 0", "pictures a second", "positive"):
        frames(system_of("knife-edge"), run, rate=0.0)
    with refuses(ns.SimulationError, "no samples", "knife-edge", "simulate"):
        frames(system_of("knife-edge"), empty(run))


def empty(run):
    """A run that failed before its first sample."""
    none = {
        field.name: getattr(run, field.name)[:0]
        for field in dataclasses.fields(run)
        if isinstance(getattr(run, field.name), np.ndarray)
    }
    return dataclasses.replace(run, **none, extra={})
