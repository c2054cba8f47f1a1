"""What a trajectory computes when it is first asked for, and that nobody notices."""

import copy
import dataclasses
import gc
import pickle
import weakref

import numpy as np
import pytest
from disk_start import DISK, TIGHT

import noslip as ns

RATE, SPEED = 1.7, 0.8


@pytest.fixture
def disk(system_of):
    """A system that nobody has asked for anything."""
    return ns.compile(system_of("rolling-disk").equations)


def run_of(system):
    return ns.simulate(system, duration=1.0, start=DISK, samples=21, **TIGHT)


def test_accelerations_are_computed_when_they_are_asked_for(disk):
    run = run_of(disk)
    assert "acceleration.disk.wz" in run and len(run.columns) > 30
    _ = run["disk.x"], run["disk.tilt_rate"], run.energy_drift, run.summary()
    assert "motion" not in vars(disk)  # not even compiled
    found = run["acceleration.disk.wz"]
    assert "motion" in vars(disk)
    at = [speed.name for speed in run.speeds].index("disk.wz")
    assert np.array_equal(found, run.vdot[:, at])
    assert run.vdot is run.vdot


def test_every_sample_has_the_accelerations_of_its_state(disk):
    """Each one again, by `evaluate` at the state alone."""
    run = run_of(disk)
    for k in range(len(run.t)):
        state = {x.name: run[x.name][k] for x in (*run.coordinates, *run.speeds)}
        instant = ns.evaluate(disk, state)
        assert run.vdot[k] == pytest.approx(list(instant.accelerations.values()), abs=1e-11)


def test_with_inputs_and_where_speeds_change():
    """A driven blade on slides: a = v ω across itself, in speeds that change every half turn."""
    b = ns.ModelBuilder("driven blade", gravity=(0.0, 0.0, 0.0))
    b.body("link", mass=0.0, moment=0.0)
    b.body("plate", mass=0.0, moment=0.0)
    b.body("blade", mass=1.4, moment=0.12)
    b.joint("x", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="link")
    b.joint("y", ns.joints.Prismatic(axis=(0.0, 1.0, 0.0)), parent="link", child="plate")
    b.joint("yaw", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="plate", child="blade")
    b.contact(ns.contacts.KnifeEdge(name="edge", body="blade", direction=(1.0, 0.0, 0.0)))
    b.independent_speed("x.speed")
    b.independent_speed("yaw.rate")
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="yaw.rate", input="torque"))
    system = ns.compile(ns.derive(b.build()))
    run = ns.simulate(
        system,
        duration=8.0,
        start={"x.speed": SPEED, "yaw.rate": RATE},
        inputs={"torque": "0.06*sin(2*t)"},
        samples=81,
        **TIGHT,
    )
    assert len(system._relatives) > 1  # it did change
    turn, angle = run["yaw.rate"], run["yaw.angle"]
    assert run["acceleration.yaw.rate"] == pytest.approx(np.sin(2 * run.t) / 2, abs=1e-12)
    assert run["acceleration.x.speed"] == pytest.approx(-SPEED * turn * np.sin(angle), abs=1e-9)
    assert run["acceleration.y.speed"] == pytest.approx(SPEED * turn * np.cos(angle), abs=1e-9)


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda run: pickle.loads(pickle.dumps(run)),
        lambda run: dataclasses.replace(run, message="again"),
    ],
    ids=["copy", "deep copy", "other process", "replaced"],
)
def test_copies_have_accelerations_whoever_asks_first(disk, again):
    run = run_of(disk)
    _ = run["disk.x"]  # columns are kept, and are no part of a copy
    other = again(run)
    assert other["acceleration.disk.wx"].tolist() == run["acceleration.disk.wx"].tolist()
    assert np.array_equal(other.vdot, run.vdot)
    assert list(other.columns) == list(run.columns)


def test_a_run_is_let_go_at_once(disk):
    """Nothing in it refers back to it, so that many long runs need the memory of one."""
    run = run_of(disk)
    _ = run["disk.tilt_rate"], run["acceleration.disk.wz"]
    gone = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert gone() is None
    finally:
        gc.enable()
