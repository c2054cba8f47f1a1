"""Derivatives of simulated motions against complex steps, differences and closed forms."""

import cmath

import casadi as ca
import numpy as np
import pytest
from complex_step import STEP
from differentiated import COMPLEX, RUNS, TIGHT, Run

import noslip as ns

#: Runs at 1e-12 against complex steps, relative to the largest derivative by the same name.
EXACT = 1e-9
#: Fourth-order differences of runs at 1e-13, with steps of 1e-3 of the size.
DIFFERENCES = 1e-8


@pytest.mark.parametrize("name", COMPLEX)
def test_derivatives_of_the_motion_are_those_of_complex_steps(name, system_of):
    run = RUNS[name]
    system = system_of(run.model)
    found = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=3, **run.arguments, **TIGHT
    )
    columns = [*system.coordinates, *system.independent_speeds]
    for by in run.by:
        end = run.complex_end(system, by)
        plain = np.array([found.run[c.name][-1] for c in columns])
        assert plain == pytest.approx(end.real, abs=1e-9)
        derivative = np.array([found[c.name, by][-1] for c in columns])
        scale = np.abs(end.imag / STEP).max()
        assert scale > 0.0
        assert derivative == pytest.approx(end.imag / STEP, abs=EXACT * scale), by


def test_a_run_that_changes_its_speeds_is_among_them(system_of):
    run = RUNS["sleigh that changes its speeds"]
    found = ns.simulate(system_of(run.model), **run.arguments)
    assert found["heading.angle"][-1] > np.pi / 2


def oscillator():
    """A mass on a spring and a damper."""
    b = ns.ModelBuilder(name="oscillator", gravity=(0.0, 0.0, 0.0))
    b.parameter("m", 1.3, "kg")
    b.parameter("k", 7.0, "N/m")
    b.parameter("d", 0.4, "N*s/m")
    b.body("block", mass="m", inertia=(0.1, 0.1, 0.1))
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.force(
        ns.forces.JointSpring(name="spring", coordinate="slide.position", stiffness="k", rest=0.0)
    )
    b.force(ns.forces.JointDamper(name="damper", speed="slide.speed", damping="d"))
    return ns.compile(ns.derive(b.build()))


def test_an_oscillator_changes_as_its_closed_form_does():
    values = {"m": 1.3, "k": 7.0, "d": 0.4, "slide.position": 0.2, "slide.speed": -0.1}

    def position(t, m, k, d, x, v):
        decay = d / (2 * m)
        frequency = cmath.sqrt(k / m - decay**2)
        swing = x * cmath.cos(frequency * t) + (v + decay * x) / frequency * cmath.sin(
            frequency * t
        )
        return cmath.exp(-decay * t) * swing

    found = ns.simulate_sensitivities(
        oscillator(),
        with_respect_to=list(values),
        duration=4.0,
        start={"slide.position": 0.2, "slide.speed": -0.1},
        samples=9,
        **TIGHT,
    )
    for k, by in enumerate(values):
        for n, t in enumerate(found.run.t):
            moved = [x + (1j * STEP if j == k else 0.0) for j, x in enumerate(values.values())]
            exact = position(t, *moved)
            assert found.run["slide.position"][n] == pytest.approx(exact.real, abs=1e-11)
            assert found["slide.position", by][n] == pytest.approx(exact.imag / STEP, abs=1e-10)


def test_costates_of_vakonomic_equations_are_followed(system_of):
    system = ns.compile(ns.derive(system_of("sleigh").model, ns.Vakonomic()))
    (costate,) = (c.name for c in system.costates)
    run = Run(
        model="sleigh",
        by=("m", costate),
        start={"sled.vx": 0.5, "sled.rate": 1.0, costate: 0.7},
    )
    found = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=3, **run.arguments, **TIGHT
    )
    derivatives = np.concatenate([found.coordinates, found.speeds], axis=1)
    for k, by in enumerate(run.by):
        column = run.differences(system, by, 3, 1e-3)
        assert derivatives[:, :, k] == pytest.approx(column, abs=DIFFERENCES), by
    assert np.abs(derivatives[-1, :, 1]).max() > 0.1


def test_outputs_are_differentiated_with_the_work_and_the_reactions(system_of):
    """By columns of the trajectory itself, with the same differences for all of them."""
    run, names = RUNS["vehicle"], ("work", "kinetic_energy", "reaction.wheel3.lateral", "torque1")
    system = system_of(run.model)
    outputs = {name: name for name in names} | {"sum": "work + m_platform*platform.x"}
    found = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=4, outputs=outputs, **run.arguments, **TIGHT
    )

    def columns(name, amount):
        at = run.moved(system, name, amount)
        result = ns.simulate(system, samples=4, reactions=True, **at, rtol=1e-13, atol=1e-13)
        mass = result.parameters["m_platform"]
        table = [result[n] for n in names]
        return np.array([*table, result["work"] + mass * result["platform.x"]])

    plain = columns("torque2", 0.0)
    assert np.array([found.outputs[n] for n in outputs]) == pytest.approx(plain, abs=1e-10)
    nominal = system.model.parameter_values() | run.start | {"torque2": 0.01, "amplitude": 0.02}
    for by in run.by:
        h = 1e-3 * abs(nominal[by])
        near, far = columns(by, h) - columns(by, -h), columns(by, 2 * h) - columns(by, -2 * h)
        expected = (8 * near - far) / (12 * h)
        table = np.array([found[n, by] for n in outputs])
        for row, other in zip(table, expected, strict=True):
            assert row == pytest.approx(other, abs=DIFFERENCES * max(np.abs(other).max(), 1e-3))


def test_the_motion_is_that_of_simulate(system_of):
    run = RUNS["rolling disk"]
    system = system_of(run.model)
    plain = ns.simulate(system, samples=11, **run.arguments)
    found = ns.simulate_sensitivities(system, with_respect_to=run.by, samples=11, **run.arguments)
    assert found.run.q == pytest.approx(plain.q, abs=1e-8)
    assert found.run.v == pytest.approx(plain.v, abs=1e-8)
    assert found.run.gap < 1e-13
    assert found.run.ending is ns.Ending.FINISHED
    assert found.run.start_completed == plain.start_completed


def test_derivatives_stay_on_the_constraints_for_long(system_of):
    """d|quaternion| = 0 and dg = 0, however long the run."""
    run = RUNS["linkage"]
    system = system_of(run.model)
    kin = system.kinematics
    symbols = kin.symbols
    at = ca.vertcat(symbols.q, symbols.params)
    jacobian = ca.Function("J", [symbols.t, symbols.q, symbols.params], [ca.jacobian(kin.g, at)])
    found = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=5, **{**run.arguments, "duration": 20.0}
    )
    names = [p.name for p in system.model.parameters]
    kept = [kin.probe.holonomic.index(k) for k in kin.row_basis]
    for t, q, dq in zip(found.run.t, found.run.q, found.coordinates, strict=True):
        J = np.array(jacobian(t, q, system.parameters()))[kept]
        for k, by in enumerate(run.by):
            params = np.array([float(name == by) for name in names])
            size = np.abs(dq[:, k]).max()
            assert J @ np.concatenate([dq[:, k], params]) == pytest.approx(0.0, abs=1e-12 * size)
    disk = ns.simulate_sensitivities(
        system_of("rolling-disk"),
        with_respect_to=["r", "disk.tilt"],
        samples=5,
        **{**RUNS["rolling disk"].arguments, "duration": 20.0},
    )
    unit, change = disk.run.q[:, 3:7], disk.coordinates[:, 3:7]
    radial = np.einsum("nk,nkj->nj", unit, change)
    assert np.abs(radial).max() < 1e-12 * np.abs(change).max()


def test_tolerances_hold_for_the_derivatives(system_of):
    run = RUNS["springs"]
    system = system_of(run.model)
    arguments = {**run.arguments, "duration": 3.0}
    exact = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=9, **arguments, rtol=1e-13, atol=1e-13
    )
    errors = []
    for tolerance in (1e-6, 1e-9):
        found = ns.simulate_sensitivities(
            system, with_respect_to=run.by, samples=9, **arguments, rtol=tolerance, atol=tolerance
        )
        error = np.abs(found.coordinates - exact.coordinates).max()
        assert error < 1e3 * tolerance * np.abs(exact.coordinates).max()
        errors.append(error)
    assert errors[1] < 1e-2 * errors[0]


def test_fixed_steps_are_differentiated_too(system_of):
    """RK4 has no error control: derivatives are those of the steps, to rounding."""
    run = RUNS["vehicle"]
    system = system_of(run.model)
    options = {"method": "rk4", "step": 0.02, "samples": 3}
    found = ns.simulate_sensitivities(system, with_respect_to=run.by, **run.arguments, **options)

    def end(amount):
        at = run.moved(system, "wheel1.rate", amount)
        result = ns.simulate(system, **at, **options)
        return result.q[-1]

    h = 1e-2
    column = (8 * (end(h) - end(-h)) - (end(2 * h) - end(-2 * h))) / (12 * h)
    assert found.coordinates[-1, :, 2] == pytest.approx(column, abs=1e-10)


def test_code_is_made_once_for_other_numbers(system_of):
    run = RUNS["vehicle"]
    system = system_of(run.model)
    kept = []
    for amplitude in (0.02, 0.05):
        arguments = {**run.arguments, "definitions": {"amplitude": amplitude}}
        ns.simulate_sensitivities(system, with_respect_to=["amplitude"], samples=2, **arguments)
        kept.append(set(system._cache.keys()))
    assert kept[0] == kept[1]


def test_an_output_does_not_hide_a_coordinate(system_of, refuses):
    system = system_of("agv")
    run = {"with_respect_to": ["r"], "duration": 0.1, "start": {"wheel1.rate": -5.0}, "samples": 2}
    with refuses(ns.SimulationError, "'platform.x' has the name", "outputs", "of its own"):
        ns.simulate_sensitivities(system, outputs={"platform.x": "t"}, **run)
    same = ns.simulate_sensitivities(system, outputs={"platform.x": "platform.x"}, **run)
    plain = ns.simulate_sensitivities(system, **run)
    assert same["platform.x"] == pytest.approx(plain["platform.x"], rel=1e-12)


def test_a_run_that_fails_says_so_or_returns(system_of, refuses):
    system = system_of("rolling-disk")
    arguments = {"duration": 5.0, "start": {"disk.tilt": 0.4}, "with_respect_to": ["r"]}
    plain = ns.simulate(system, duration=5.0, start=arguments["start"], on_failure="return")
    assert plain.ending is ns.Ending.SINGULAR
    with refuses(ns.SimulationError, "singular", "rolling-disk", "on_failure='return'"):
        ns.simulate_sensitivities(system, **arguments)
    found = ns.simulate_sensitivities(system, on_failure="return", **arguments)
    assert found.run.ending is plain.ending
    assert found.run.t[-1] == pytest.approx(plain.t[-1], abs=0.05)


def test_a_completed_start_is_taken_as_it_is(system_of, refuses):
    system = system_of("rolling-disk")
    start = ns.complete_start(system, {"disk.tilt": 1.1, "disk.spin_rate": -4.0})
    found = ns.simulate_sensitivities(
        system, with_respect_to=["m"], duration=0.5, start=start, samples=2
    )
    assert np.any(found["disk.x", "m"][-1] != 0.0)
    options = {"duration": 0.5, "start": start}
    with refuses(ns.SimulationError, "breaks as 'r' changes", "rolling-disk", "by names"):
        ns.simulate_sensitivities(system, with_respect_to=["r"], **options)
    with refuses(ns.SimulationError, "'disk.tilt' is requested", "rolling-disk", "by name"):
        ns.simulate_sensitivities(system, with_respect_to=["disk.tilt"], **options)
    with refuses(ns.SimulationError, "t = 0 s", "rolling-disk", "start_time=0"):
        ns.simulate_sensitivities(system, with_respect_to=["m"], start_time=1.0, **options)


def test_what_has_no_derivative_is_refused(system_of, refuses):
    def ask(model, by, **options):
        ns.simulate_sensitivities(
            system_of(model), with_respect_to=by, duration=0.1, samples=2, **options
        )

    with refuses(ns.SimulationError, "'m_platfrm'", "agv", "m_platform"):
        ask("agv", ["m_platfrm"])
    with refuses(ns.SimulationError, "the text 'm_platform'", "agv", "['m_platform']"):
        ask("agv", "m_platform")
    with refuses(ns.SimulationError, "to differentiate with respect", "agv", "with_respect_to"):
        ask("agv", [])
    with refuses(ns.SimulationError, "does not give it", "agv", "start={'wheel1.rate': …}"):
        ask("agv", ["wheel1.rate"])
    with refuses(ns.SimulationError, "it is an expression", "agv", "definitions="):
        ask("agv", ["torque1"], inputs={"torque1": "sin(t)"})
    with refuses(ns.SimulationError, "Python callable", "inputs of model 'agv'", "Table"):
        ask("agv", ["m_platform"], inputs={"torque1": lambda t, q, v: 0.0})
    with refuses(ns.SimulationError, "no input 'torque9'", "agv", "torque1"):
        ask("agv", ["m_platform"], inputs={"torque9": 1.0})
    with refuses(ns.SimulationError, "definition 'amplitude'", "agv", "finite number"):
        ask("agv", ["m_platform"], definitions={"amplitude": float("nan")})
    with refuses(ns.SimulationError, "no derivative with respect to 'tilt'", "four-bar"):
        ask("four-bar", ["tilt"], start={"crank.angle": 0.4})
    with pytest.raises(TypeError, match="takes a System, got"):
        ns.simulate_sensitivities(ns.load("agv"), with_respect_to=["r"], duration=1.0)
