"""How completed starts follow what they are completed from, against differences of completions."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.simulation.sensitivities.controlled_loop import close_loop, numbers_of, read_variables
from noslip.simulation.sensitivities.start_derivatives import begin

#: Fourth-order differences of completions, which are good to rounding, with steps of 1e-3.
DIFFERENCES = 1e-9

#: Model, what the start gives, and what it is followed by: parameters and values that are given.
CASES = {
    "a pendulum": ("pendulum", {"swing.angle": 0.4, "swing.rate": 1.0}, ["l"]),
    "nothing given": ("agv", {}, ["m_platform"]),
    "speeds that rolling completes": ("agv",
        {"wheel1.rate": -5.0, "platform.angle": 0.3, "bracket.angle": 0.4}, []),
    "a dependent speed": ("agv", {"platform.vy": 0.7, "bracket.angle": 0.4}, ["r", "a", "l"]),
    "a bicycle by dependent speeds": ("whipple-bicycle",
        {"frame.lean": 0.1, "steer.angle": 0.05, "frame.vx": 4.0, "frame.wz": 0.1}, ["c", "rR"]),
    "a disk by its angles": ("rolling-disk",
        {"disk.yaw": 0.2, "disk.tilt": 1.1, "disk.spin": 0.4, "disk.spin_rate": -4.0}, ["r"]),
    "a disk by some angles": ("rolling-disk",
        {"disk.tilt": 1.1, "disk.yaw_rate": 0.5, "disk.spin_rate": -4.0}, ["r", "m"]),
    "a disk that leans to the other side": ("rolling-disk",
        {"disk.tilt": -1.1, "disk.yaw": 4.0, "disk.tilt_rate": 0.5, "disk.spin_rate": -4.0},
        ["r", "m"]),
    "a bicycle on its head": ("whipple-bicycle",
        {"frame.lean": 3.0, "steer.angle": 0.05, "speed": 4.6, "frame.lean_rate": 0.2}, ["c"]),
    "a disk by its quaternion": ("rolling-disk",
        {"disk.qw": 0.9, "disk.qx": 0.3, "disk.qy": 0.1, "disk.wx": 0.5, "disk.x": 2.0}, ["r"]),
    "a bicycle that leans and steers": ("whipple-bicycle",
        {"frame.lean": 0.1, "steer.angle": 0.05, "speed": 4.6, "frame.lean_rate": 0.2}, ["w", "c"]),
    "a linkage": ("four-bar", {"crank.angle": 0.4, "crank.rate": 2.0}, ["a", "b", "c", "d"]),
    "a linkage by its rocker": ("four-bar", {"rocker.angle": 1.9, "rocker.rate": 1.0}, ["a"]),
    "a spatial chain": ("spring-chain",
        {"shoulder.yaw": 0.2, "shoulder.pitch": -0.3, "shoulder.yaw_rate": 0.7, "elbow.rate": 0.3},
        ["k"]),
    "a tire on the ground": ("torus", {"tire.tilt": 1.3, "tire.spin_rate": 3.0}, []),
    "a trailer that is steered": ("tractor-trailer",
        {"steer.angle": 0.2, "hinge.angle": 0.3, "tractor.vx": 2.0}, ["l1", "l2", "c"]),
}  # fmt: skip


def tangents(system, given, names, inputs=None, definitions=None):
    """State at the start and its derivatives by some names."""
    inputs, definitions = inputs or {}, definitions or {}
    params = system.parameters()
    variables = read_variables(
        system, names, start=given, inputs=inputs, definitions=definitions, parameters=params
    )
    loop = close_loop(system, inputs, definitions)
    numbers = numbers_of(loop, inputs, definitions, params)
    _, _, state, found = begin(loop, numbers, variables, given, 0.0)
    return state, found


def completed(system, given, parameters, w):
    start = ns.complete_start(
        system, given, speed_inputs=lambda q: w, parameters=system.parameters(parameters)
    )
    return np.concatenate([start.q, start.eta])


@pytest.mark.parametrize("case", CASES)
def test_start_follows_what_is_given_as_differences_say(case, system_of):
    model, given, parameters = CASES[case]
    system = system_of(model)
    names = [*given, *parameters]
    w = np.full(len(system.model.speed_inputs), 0.3)
    inputs = {i.name: 0.3 for i in system.model.speed_inputs}
    state, found = tangents(system, given, names, inputs)
    size = len(system.coordinates) + len(system.independent_speeds)
    assert state[:size] == pytest.approx(completed(system, given, {}, w), abs=1e-14)
    nominal = system.model.parameter_values()
    for k, name in enumerate(names):
        step = 1e-3 * max(0.1, abs(given.get(name, nominal.get(name, 0.0))))

        def moved(amount, name=name):
            if name in given:
                return completed(system, {**given, name: given[name] + amount}, {}, w)
            return completed(system, given, {name: nominal[name] + amount}, w)

        near = moved(step) - moved(-step)
        column = (8 * near - (moved(2 * step) - moved(-2 * step))) / (12 * step)
        scale = max(1.0, np.abs(column).max())
        assert found[:size, k] == pytest.approx(column, abs=DIFFERENCES * scale), name


def test_start_follows_the_speed_input_it_starts_with(system_of):
    """w = amp cos(tractor.x): the start's own steering rate changes with amp and with x."""
    system = system_of("tractor-trailer")
    given = {"tractor.x": 0.7, "steer.angle": 0.2, "tractor.vx": 2.0}
    state, found = tangents(
        system,
        given,
        ["amp", "tractor.x"],
        {"steering_rate": "amp*cos(tractor.x)"},
        {"amp": 0.3},
    )
    # the independent speed is the tractor's: neither it nor a coordinate moves with amp
    assert found[:, 0] == pytest.approx(0.0, abs=1e-14)
    assert found[0, 1] == pytest.approx(1.0, abs=1e-14)
    assert state[5] == pytest.approx(2.0)


def test_given_and_completed_speeds_stay_admissible(system_of):
    """Along every derivative the rows stay zero: d(A v + a) = 0 and dg = 0."""
    system = system_of("whipple-bicycle")
    given = {"frame.lean": 0.15, "steer.angle": -0.1, "speed": 4.0, "frame.yaw_rate": 0.1}
    _, found = tangents(system, given, [*given, "w", "lam"])
    kin, start = system.kinematics, ns.complete_start(system, given)
    symbols = kin.symbols
    rows = ca.vertcat(kin.row_values, kin.g)
    at = ca.vertcat(symbols.q, kin.eta, symbols.params)
    jacobian = ca.Function(
        "J", [symbols.t, symbols.q, kin.eta, symbols.params], [ca.jacobian(rows, at)]
    )
    J = np.array(jacobian(0.0, start.q, start.eta, system.parameters()))
    names = [p.name for p in system.model.parameters]
    size = len(start.q) + len(start.eta)
    for k, name in enumerate([*given, "w", "lam"]):
        params = np.array([float(n == name) for n in names])
        change = J @ np.concatenate([found[:size, k], params])
        assert change == pytest.approx(0.0, abs=1e-10), name


def test_what_cannot_follow_is_refused(system_of, refuses):
    disk = system_of("rolling-disk")
    on_ground = ns.complete_start(disk, {"disk.tilt": 1.1})
    height = float(on_ground.q[2])
    with refuses(ns.SimulationError, "'disk.tilt'", "rolling-disk", "leave out a coordinate"):
        tangents(disk, {"disk.tilt": 1.1, "disk.z": height}, ["disk.tilt"])
    agv = system_of("agv")
    start = ns.complete_start(agv, {"wheel1.rate": -5.0, "wheel2.rate": -8.0})
    speed = float(start.v[1])
    given = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "platform.vy": speed}
    with refuses(ns.SimulationError, "'wheel1.rate'", "agv", "leave out a speed"):
        tangents(agv, given, ["wheel1.rate"])


def test_a_start_that_is_left_open_is_refused_with_a_way_out(system_of, refuses):
    linkage = system_of("four-bar")
    with refuses(ns.SimulationError, "leaves coordinates open", "four-bar", "give it: start={"):
        tangents(linkage, {}, ["a"])
    # what does not move the rows may be asked for all the same
    _, found = tangents(linkage, {}, ["drive"])
    assert not np.any(found)
