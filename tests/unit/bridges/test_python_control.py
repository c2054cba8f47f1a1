"""Systems of python-control against our own runs, eigenvalues and linearizations."""

import sys

import numpy as np
import pytest

import noslip as ns

control = pytest.importorskip("control", reason="python-control is not installed")


def test_names_are_those_of_the_model_with_low_lines(system_of):
    system = system_of("tractor-trailer")
    found = ns.to_control(system)
    assert found.name == "tractor_trailer"
    assert found.state_labels == [
        c.name.replace(".", "_") for c in (*system.coordinates, *system.independent_speeds)
    ]
    assert found.input_labels == [i.name for i in system.inputs]
    assert found.output_labels[-1] == system.speeds[-1].name.replace(".", "_")
    assert found.params == system.model.parameter_values()


def test_a_response_is_our_own_run(system_of):
    system = system_of("agv")
    start = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}
    begin = ns.complete_start(system, start)
    times = np.linspace(0.0, 1.0, 21)
    inputs = np.array([[0.2], [-0.1]]) * np.ones(21)
    found = control.input_output_response(
        ns.to_control(system, parameters={"m_platform": 22.0}), times, inputs,
        [*begin.q, *begin.eta], params={"m_platform": 25.0},
        solve_ivp_method="DOP853", solve_ivp_kwargs={"rtol": 1e-11, "atol": 1e-11},
    )  # fmt: skip
    run = ns.simulate(
        system, start=start, inputs={"torque1": 0.2, "torque2": -0.1}, samples=times,
        duration=1.0, parameters={"m_platform": 25.0}, rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    for k, quantity in enumerate((*system.coordinates, *system.speeds)):
        np.testing.assert_allclose(found.outputs[k], run[quantity.name], atol=1e-8)


@pytest.fixture(scope="module")
def bicycle(system_of):
    """The bicycle at 5 m/s, where it balances itself."""
    system = system_of("whipple-bicycle")
    return system, ns.linearize(system, {"speed": 5.0})


def test_a_linear_system_has_our_eigenvalues(bicycle):
    _, linear = bicycle
    found = ns.to_control(linear)
    assert found.state_labels == [s.name.replace(".", "_") for s in linear.states]
    assert found.output_labels[: len(linear.states)] == found.state_labels
    poles = np.sort_complex(np.asarray(found.poles()))
    np.testing.assert_allclose(poles, np.sort_complex(linear.eigenvalues), atol=1e-8)
    np.testing.assert_array_equal(found.A, linear.A)
    assert found.D.shape == (len(found.output_labels), len(found.input_labels))


def test_an_arm_is_flat_in_its_joints(system_of):
    from control import flatsys

    system = system_of("manipulator-2r")
    arm = ns.to_control(system, flat=True)
    begin, end = [0.3, -0.4, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0]
    hold = [arm.reverse([[q, 0.0, 0.0] for q in x[:2]])[1] for x in (begin, end)]
    # at rest with these torques nothing moves
    assert np.abs(arm.dynamics(0.0, begin, hold[0])).max() < 1e-12
    plan = flatsys.point_to_point(
        arm, 1.0, begin, hold[0], end, hold[1], basis=flatsys.PolyFamily(8)
    )
    times = np.linspace(0.0, 1.0, 801)
    x, u = plan.eval(times)
    run_checks(system, times, x, u, 1e-5)
    np.testing.assert_allclose(x[:, -1], end, atol=1e-9)


def test_a_skate_is_flat_in_the_point_that_cannot_slip(system_of):
    from control import flatsys

    system = system_of("knife-edge")
    skate = ns.to_control(system, flat=True)
    begin, end = [0.0, 0.0, 0.0, 1.0, 0.0], [2.0, 1.0, 0.6, 1.2, 0.0]
    plan = flatsys.point_to_point(
        skate, 2.0, begin, [0.0, 0.0], end, [0.0, 0.0], basis=flatsys.PolyFamily(8)
    )
    times = np.linspace(0.0, 2.0, 401)
    x, u = plan.eval(times)
    np.testing.assert_allclose(x[:, 0], begin, atol=1e-9)
    np.testing.assert_allclose(x[:, -1], end, atol=1e-9)
    run_checks(system, times, x, u, 1e-5)


def run_checks(system, times, x, u, tolerance):
    """Under the planned inputs our own run goes where the plan says; tables are cubic splines."""
    states = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    inputs = {
        i.name: ns.Table(times=times, values=u[k], kind="cubic")
        for k, i in enumerate(system.inputs)
    }
    run = ns.simulate(
        system, start=dict(zip(states, x[:, 0], strict=True)), inputs=inputs, samples=times,
        duration=float(times[-1]), rtol=1e-11, atol=1e-11,
    )  # fmt: skip
    for k, name in enumerate(states):
        np.testing.assert_allclose(x[k], run[name], atol=tolerance, err_msg=name)


def test_flatness_that_is_not_known_is_said(system_of, refuses):
    where = "python-control system of model"
    with refuses(ns.SimulationError, "0 force inputs for 3 degrees", where, "noslip.track"):
        ns.to_control(system_of("rolling-disk"), flat=True)
    with refuses(ns.SimulationError, "neither an arm with a motor", where, "optimizer"):
        ns.to_control(system_of("agv"), flat=True)
    with pytest.raises(TypeError, match="takes a System or a Linearization"):
        ns.to_control("agv")


def test_the_end_of_the_speeds_is_told(system_of, refuses):
    system = system_of("tractor-trailer")
    begin = ns.complete_start(system, {"steer.angle": np.pi / 2 - 1e-6, "tractor.vx": 0.0})
    found = ns.to_control(system)
    with refuses(ns.SimulationError, "other independent speeds are needed", "t = 0 s", "simulate"):
        found.dynamics(0.0, [*begin.q, *begin.eta], np.zeros(len(system.inputs)))


def test_without_python_control_the_extra_is_named(system_of, monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "control", None)
    fix = 'pip install "noslip[control]"'
    with refuses(ns.NoslipError, "needs the package python-control", "python-control", fix):
        ns.to_control(system_of("agv"))
