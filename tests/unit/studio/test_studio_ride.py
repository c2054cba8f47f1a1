"""Riding what must be balanced: commands are steady motions, and by hand it falls as it should."""

import dataclasses
import functools

import casadi as ca
import numpy as np
import pytest
from studio_record import Record

import noslip as ns
from noslip.control import SPEED, Driver, make_controls
from noslip.control.driving import FORCE, REACH, regulate
from noslip.scene import scene
from noslip.simulation import complete_start
from noslip.studio.choice import ModelCatalog, first_choice
from noslip.studio.session import Session, continued_start, drive_start

#: The integration has a tolerance of 1e-8, and what is left of a turn has died out to about that.
SETTLED = 1e-6
SPEEDS = (2.0, 5.0, 8.0)  # weaves, rights itself, capsizes
TURN = 0.4


@functools.cache
def bicycle():
    return ns.compile(ns.derive(ns.load("whipple-bicycle")))


@functools.cache
def controls_of(system, by_hand=False):
    return make_controls(system, system.parameters(), scene(system.model).length, by_hand=by_hand)


def ride(speed, *, by_hand=False, **start):
    system = bicycle()
    begin = complete_start(system, {"speed": speed, **start})
    return Driver(system, controls_of(system, by_hand), system.parameters(), begin)


def go(driver, seconds, piece=1 / 30):
    end = driver.t + seconds
    while driver.t < end - 1e-9:
        driver.advance(min(piece, end - driver.t))


def now(driver, name):
    return float(driver.piece()[name][-1])


def test_a_rider_commands_speed_and_turning_and_by_hand_a_torque():
    system = bicycle()
    channels = [(c.label, c.unit, c.kind) for c in controls_of(system).channels]
    gust = ("lean_torque", "N*m", FORCE)
    assert channels == [("speed", "m/s", SPEED), ("turning", "rad/s", SPEED), gust]
    hand = controls_of(system, by_hand=True).channels
    assert [c.label for c in hand] == ["speed", "steer_torque", "lean_torque"]
    # positive steers to the right
    assert hand[1].left == -1.0
    # a bicycle cannot stand still, so that it starts as fast as its scenario does
    choice = first_choice(system.model)
    begin = drive_start(system, controls_of(system), system.parameters(), choice, {})
    assert begin.v @ hand[0].row == pytest.approx(4.6, abs=1e-12)
    assert 0.0 < hand[0].lower < 4.6 < hand[0].largest


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_commanded_turn_is_the_steady_motion_and_released_it_runs_straight(speed):
    driver = ride(speed)
    driver.command(1, TURN)
    go(driver, 9.0)
    turn = ns.steady(
        bicycle(), {"speed": speed, "frame.yaw_rate": TURN}, find=["steer_torque", "drive_torque"]
    )
    for name in ("frame.lean", "steer.angle", "frame.pitch", "frame.z"):
        assert now(driver, name) == pytest.approx(turn.values[name], abs=SETTLED)
    assert now(driver, "steer_torque") == pytest.approx(turn.inputs["steer_torque"], abs=1e-4)
    # it leans and steers to the left, where it turns to
    assert now(driver, "frame.lean") < 0.0
    assert now(driver, "steer.angle") < 0.0
    # the circle of the rear hub, from its track
    since = driver.t
    go(driver, 4.0)
    run = driver.trajectory(since)
    points = np.column_stack([run["frame.x"], run["frame.y"]])
    table = np.column_stack([2 * points, np.ones(len(points))])
    center = np.linalg.lstsq(table, np.sum(points**2, axis=1), rcond=None)[0][:2]
    radius = np.hypot(turn.rates["frame.x"], turn.rates["frame.y"]) / TURN
    assert np.allclose(np.linalg.norm(points - center, axis=1), radius, atol=1e-5)
    assert np.ptp(np.unwrap(run["frame.yaw"])) == pytest.approx(TURN * np.ptp(run.t), abs=1e-5)
    assert run["frame.yaw"][-1] != run["frame.yaw"][0]
    driver.stop()
    assert driver.commands.tolist() == [speed, 0.0, 0.0]
    go(driver, 8.0)
    for name in ("frame.lean", "steer.angle", "frame.wx", "frame.wz", "steer.rate"):
        assert now(driver, name) == pytest.approx(0.0, abs=SETTLED)
    run = driver.trajectory()
    assert run.slip < 1e-12
    assert run.energy_drift < 1e-6


def test_a_turn_too_tight_for_the_speed_is_taken_wider():
    driver = ride(1.0)
    driver.command(1, 1.0)
    go(driver, 3.0, piece=0.1)
    assert -REACH - 1e-3 < now(driver, "steer.angle") < -0.97 * REACH
    # faster under way: at last it is the lean that goes no further
    driver.command(0, 9.0)
    go(driver, 7.0, piece=0.1)
    assert -REACH - 1e-3 < now(driver, "frame.lean") < -0.97 * REACH
    assert now(driver, "rear_wheel.rate") * 0.3 == pytest.approx(9.0, abs=1e-4)


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_gust_does_not_throw_it_over(speed):
    driver = ride(speed)
    driver.command(2, 60.0)
    go(driver, 1.0)
    assert now(driver, "frame.lean") > 0.005
    driver.stop()
    go(driver, 6.0)
    assert now(driver, "frame.lean") == pytest.approx(0.0, abs=1e-5)


def test_by_hand_it_falls_when_slow_and_is_told_so():
    driver = ride(2.0, by_hand=True, **{"frame.wx": 0.1})
    with pytest.raises(ns.SimulationError, match="fallen over: wheel 'rear_wheel'") as caught:
        go(driver, 20.0)
    assert "t = " in caught.value.where
    assert "start again" in caught.value.fix
    assert abs(now(driver, "frame.lean")) == pytest.approx(np.pi / 3, abs=0.2)


@pytest.mark.parametrize("speed", [5.0, 8.0])
def test_by_hand_a_small_lean_grows_or_decays_by_its_eigenvalue(speed):
    line = ns.linearize(bicycle(), {"speed": speed})
    # capsize: the real one nearest to zero, but for other speeds
    [k] = [k for k, e in enumerate(line.eigenvalues) if e.imag == 0.0 and 1e-6 < abs(e) < 1.0]
    capsize = float(line.eigenvalues[k].real)
    assert (capsize > 0) == (speed > 6.0)
    shape = np.real(line.eigenvectors[:, k] / line.eigenvectors[0, k])
    start = {s.name: 1e-3 * x for s, x in zip(line.states[:-1], shape, strict=False)}
    driver = ride(speed, by_hand=True, **start)
    go(driver, 4.0, piece=0.1)
    growth = np.log(now(driver, "frame.lean") / 1e-3) / 4.0
    assert growth == pytest.approx(capsize, rel=1e-4)


def test_a_fall_is_caught_when_balance_is_kept_again():
    driver = ride(2.0, by_hand=True)
    driver.command(1, 0.2)
    go(driver, 0.9)
    lean = abs(now(driver, "frame.lean"))
    assert lean > 0.1
    driver.change(controls_of(bicycle()))
    assert driver.commands.tolist() == [pytest.approx(2.0, abs=0.05), 0.0, 0.0]
    go(driver, 8.0)
    assert now(driver, "frame.lean") == pytest.approx(0.0, abs=1e-5)
    run = driver.trajectory()
    assert run.t[0] == 0.0
    assert np.all(np.diff(run.t) > 0)


def test_traced_states_are_those_of_the_steady_motion():
    system, balance = bicycle(), controls_of(bicycle()).balance
    point = balance.operating_point(4.0, 0.5)
    relative = system.in_speeds(("frame.wx", "steer.rate", "front_wheel.rate"))
    for written in (system, relative):
        kin = written.kinematics
        s = kin.symbols
        function = ca.Function("x", [s.q, kin.eta, s.params], [balance.traced_states(written)])
        eta = kin.independent_rows(0.0, point.start.q, balance.values) @ point.start.v
        x = np.array(function(point.start.q, eta, balance.values)).ravel()
        assert np.allclose(x, point.x, atol=1e-12)
    assert balance.turning(point.start.q, point.start.v) == pytest.approx(0.5, abs=1e-12)


def test_a_ride_that_is_looked_at_is_audited():
    driver = ride(5.0)
    driver.command(1, TURN)
    go(driver, 8.0)
    record = Record()
    session = Session(ModelCatalog(), "whipple-bicycle", record)
    try:
        session.show_drive(driver.trajectory(driver.t - 1.0))
    finally:
        session.close()
    [(shown, found)] = record.audits
    assert shown is record.shown
    # in a steady turn the ground holds the weight, and V Ω of every mass center inwards
    loads = sum(wheel.normal for wheel in found.wheels)
    p = bicycle().model.parameter_values()
    weight = (p["mR"] + p["mB"] + p["mH"] + p["mF"]) * p["g"]
    assert np.allclose(loads, weight, rtol=1e-6)
    sideways = sum(np.abs(wheel.lateral) for wheel in found.wheels)
    assert np.allclose(sideways / weight, 5.0 * TURN / p["g"], rtol=0.05)


def test_what_cannot_be_kept_is_told():
    system, balance = bicycle(), controls_of(bicycle()).balance
    # the motor of the wheel reaches neither lean nor steering
    for speed in (2.0, 3.0, 8.0):
        line = ns.linearize(system, {"speed": speed})
        with pytest.raises(ns.SimulationError, match="motors cannot maintain") as caught:
            regulate(line, ("drive_torque",), system.kinematics.length)
        assert "whipple-bicycle" in caught.value.where
        assert "add a steering motor" in caught.value.fix
    other = dataclasses.replace(balance, speeds=balance.speeds[::-1])
    with pytest.raises(ns.SimulationError, match="other coordinates") as caught:
        other.operating_point(5.0, 0.0)
    assert "whipple-bicycle" in caught.value.where
    assert "lean and steer less" in caught.value.fix


def test_a_parameter_changed_under_way_leaves_the_ride_where_it_is():
    driver = ride(5.0)
    driver.command(1, TURN)
    go(driver, 4.0)
    system = bicycle()
    values = system.parameters({"mB": 70.0, "rF": 0.33})
    start = continued_start(system, driver, values)
    again = Driver(system, make_controls(system, values, 0.97), values, start)
    again.command(1, TURN)
    for name in ("frame.x", "frame.y", "frame.yaw", "frame.lean", "steer.angle"):
        before = now(driver, name)
        names = [c.name for c in system.coordinates]
        if name in names:
            assert start.q[names.index(name)] == pytest.approx(before, abs=1e-12)
    assert start.position_residual < 1e-10
    go(again, 8.0)
    turn = ns.steady(
        system,
        {"speed": 5.0, "frame.yaw_rate": TURN},
        find=["steer_torque", "drive_torque"],
        parameters={"mB": 70.0, "rF": 0.33},
    )
    assert now(again, "frame.lean") == pytest.approx(turn.values["frame.lean"], abs=1e-5)


def test_what_stands_by_itself_is_not_balanced(system_of):
    for name in ("agv", "tricycle", "manipulator-2r", "heavy-body"):
        system = system_of(name)
        assert controls_of(system).balance is None
