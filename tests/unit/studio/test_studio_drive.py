"""Driving: commands are reached, the motion is the one a simulation gives, no wheel slips."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip import MODELS
from noslip.control import PLACE, SPEED, Driver, make_controls
from noslip.control.driving import FORCE, Servo
from noslip.scene import frames as make_frames
from noslip.scene import scene
from noslip.simulation import complete_start
from noslip.studio.session import DriveFrames

VEHICLES = ("agv", "tractor-trailer", "lhd", "lhd-noslip", "tricycle", "carriage", "vertical-disk")
ARMS = ("manipulator-2r", "manipulator-6r")


def driver_of(name, start=None, **parameters):
    system = ns.compile(ns.derive(ns.load(name)))
    values = system.parameters(parameters)
    controls = make_controls(system, values, scene(system.model).length)
    return Driver(system, controls, values, complete_start(system, start or {}, parameters=values))


def drive(driver, seconds, piece=1 / 30):
    end = driver.t + seconds
    while driver.t < end - 1e-9:
        driver.advance(min(piece, end - driver.t))


def reached(driver):
    """Where each channel is."""
    return [
        driver.q[c.coordinate] if c.kind == PLACE else float(c.row @ driver.v)
        for c in driver.controls.channels
        if c.kind != FORCE
    ]


@pytest.mark.parametrize("name", VEHICLES + ARMS)
def test_commands_are_reached_without_slip(name):
    driver = driver_of(name)
    for k, channel in enumerate(driver.controls.channels):
        driver.command(k, 0.4 * channel.largest)
    drive(driver, 8.0)
    assert np.allclose(reached(driver), driver.commands, atol=1e-5)
    run = driver.trajectory()
    assert run.slip < 1e-12
    assert run.energy_drift < 1e-6


def test_a_vehicle_drives_over_hills_by_its_two_main_commands():
    """Ahead first and steering second, as on a plane; the wheels stay on the ground of the grid."""
    model = ns.load("vehicle-on-hills")
    driver = driver_of("vehicle-on-hills", dict(model.scenario.start))
    ahead, steering = driver.controls.channels[:2]
    assert (ahead.kind, steering.kind) == (SPEED, PLACE)
    driver.command(0, 0.3 * ahead.largest)
    driver.command(1, 0.2 * steering.largest)
    drive(driver, 1.5)
    assert np.allclose(reached(driver), driver.commands, atol=2e-3)
    run = driver.trajectory()
    assert run.slip < 1e-12
    assert np.max(np.abs(run.position_residuals)) < 1e-12
    assert np.ptp(run["frame.z"]) > 0.02  # up and down


def test_channels_are_what_a_driver_wants():
    labels = {
        name: [(c.label, c.kind) for c in driver_of(name).controls.channels]
        for name in ("agv", "tractor-trailer", "lhd", "lhd-noslip")
    }
    assert labels["agv"] == [("speed", SPEED), ("turning", SPEED)]
    assert labels["tractor-trailer"] == [("speed", SPEED), ("steer.angle", PLACE)]
    assert labels["lhd"] == labels["lhd-noslip"] == [("speed", SPEED), ("waist.angle", PLACE)]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_with_inputs_can_be_driven(name):
    model = ns.load(name)
    if not (model.inputs or model.speed_inputs):
        with pytest.raises(ns.SimulationError, match="no inputs") as caught:
            driver_of(name)
        assert caught.value.fix
        return
    # from where the studio begins, which is on measured ground not where all coordinates are zero
    driver = driver_of(name, model.scenario.start if name == "vehicle-on-hills" else None)
    assert driver.controls.channels
    driver.command(0, driver.controls.channels[0].largest / 20)
    drive(driver, 0.3)
    assert np.all(np.isfinite(driver.q))
    assert driver.t == pytest.approx(0.3)


def test_pieces_give_the_motion_of_one_simulation():
    driver = driver_of("agv")
    driver.command(0, 0.2)
    driver.command(1, 0.3)
    drive(driver, 3.0)
    # the same law in one run of `simulate`
    system = driver.system
    own = ns.simulate(
        system,
        duration=3.0,
        inputs=Servo(controls=driver.controls, commands=driver.commands),
        rtol=1e-11,
        atol=1e-11,
        samples=2,
    )
    assert np.allclose(driver.q, own.q[-1], atol=1e-6)
    assert np.allclose(driver.v, own.v[-1], atol=1e-6)


def test_the_trailer_settles_at_its_steady_angle():
    driver = driver_of("tractor-trailer")
    p = ns.load("tractor-trailer").parameter_values()
    driver.command(0, 3.0)
    driver.command(1, 0.3)
    drive(driver, 40.0, piece=0.1)
    # about the center of turning: R to the tractor's axle, then the hitch, then the trailer's axle
    R = p["l1"] / math.tan(0.3)
    hitch = math.hypot(R, p["c"])
    steady = -(math.atan2(p["c"], R) + math.asin(p["l2"] / hitch))
    hinge = [c.name for c in driver.system.coordinates].index("hinge.angle")
    assert driver.q[hinge] == pytest.approx(steady, abs=1e-5)


def test_commands_stay_within_what_a_channel_can_do():
    driver = driver_of("agv")
    driver.command(0, 1e9)
    assert driver.commands[0] == driver.controls.channels[0].largest
    driver.command(0, -1e9)
    assert driver.commands[0] == -driver.controls.channels[0].largest


def test_a_drive_is_a_trajectory_with_everything():
    driver = driver_of("tractor-trailer")
    driver.command(0, 2.0)
    drive(driver, 2.0)
    run = driver.trajectory()
    assert run.t[0] == 0.0
    assert run.t[-1] == pytest.approx(2.0)
    assert run["tractor.x"][-1] == pytest.approx(driver.q[0])
    assert run["F_u2"].max() > 0
    late = driver.trajectory(since=1.0)
    assert late.t[0] >= 1.0
    assert len(driver.piece().t) == 2


def test_a_film_grows_and_drawn_wheels_roll_on():
    driver = driver_of("tractor-trailer")
    driver.command(0, 2.0)
    film = DriveFrames(driver.system)
    for _ in range(60):
        driver.advance(1 / 30)
        frames = film.add(driver.piece())
    assert len(frames) == 61
    # the same pictures as a film of the whole drive has
    whole = make_frames(driver.system, driver.trajectory(), times=frames.times)
    assert np.allclose(frames.positions, whole.positions, atol=1e-9)
    assert np.allclose(np.abs(np.sum(frames.quaternions * whole.quaternions, axis=-1)), 1.0)
    assert frames.rolled
    for name, angle in frames.rolled.items():
        assert np.allclose(angle, whole.rolled[name], atol=1e-6)
