"""Adjoint gradients against complex steps, forward sensitivities, differences and work."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from complex_step import STEP
from differentiated import COMPLEX, RUNS, TIGHT, Run

import noslip as ns
from noslip.simulation.sensitivities import gradient
from noslip.simulation.sensitivities.gradient import Recorder

#: Runs at 1e-12 against complex steps and against forward sensitivities, relative.
EXACT = 1e-9
#: The same steps forward and back: rounding alone.
ROUNDING = 1e-13
DIFFERENCES = 1e-8


@pytest.mark.parametrize("name", COMPLEX)
def test_gradient_is_that_of_complex_steps(name, system_of):
    run = RUNS[name]
    system = system_of(run.model)
    found = ns.gradient(
        system, with_respect_to=run.by, terminal=run.number, **run.arguments, **TIGHT
    )
    columns = [c.name for c in (*system.coordinates, *system.independent_speeds)]
    for by in run.by:
        end = dict(zip(columns, run.complex_end(system, by), strict=True))
        moved = run.moved(system, by, 1j * STEP)["parameters"]
        number = run.of_state(end, system.model.parameter_values() | moved)
        assert found.value == pytest.approx(number.real, rel=1e-9)
        exact = number.imag / STEP
        scale = max(abs(exact), np.abs(found.vector).max() * 1e-3)
        assert found[by] == pytest.approx(exact, abs=EXACT * scale), by


@pytest.mark.parametrize("name", ["rolling disk", "vehicle", "linkage", "trailer with cubic table"])
def test_fixed_steps_are_taken_back_exactly(name, system_of):
    """Forward and back through the same steps of RK4: the same number to rounding."""
    run = RUNS[name]
    system = system_of(run.model)
    options = {"method": "rk4", "step": 0.02, **run.arguments}
    forward = ns.simulate_sensitivities(
        system, with_respect_to=run.by, samples=2, outputs={"number": run.number}, **options
    )
    found = ns.gradient(system, with_respect_to=run.by, terminal=run.number, **options)
    exact = forward["number"][-1]
    assert found.vector == pytest.approx(exact, abs=ROUNDING * np.abs(exact).max() * 10)


def test_the_integral_of_power_has_the_gradient_of_the_work(system_of):
    """Work is a state of its own; so is a running cost. Two ways to one number."""
    run = RUNS["vehicle"]
    system = system_of(run.model)
    power = "torque1*wheel1.rate + torque2*wheel2.rate"
    options = {"with_respect_to": run.by, **run.arguments, **TIGHT}
    running = ns.gradient(system, running=power, **options)
    terminal = ns.gradient(system, terminal="work", **options)
    energy = ns.gradient(system, terminal="kinetic_energy", **options)
    assert running.value == pytest.approx(terminal.value, rel=1e-11)
    assert running.vector == pytest.approx(terminal.vector, rel=1e-10)
    assert (running.terminal, running.misfit) == (0.0, 0.0)
    # what the motors put in is kinetic energy, apart from what was there at the start
    assert energy["torque2"] == pytest.approx(terminal["torque2"], rel=1e-9)
    assert energy["wheel1.rate"] != pytest.approx(terminal["wheel1.rate"], rel=1e-3)


def test_parts_of_an_objective_add_up(system_of):
    run = RUNS["rolling disk"]
    system = system_of(run.model)
    times = np.linspace(0.2, 0.8, 4)
    measured = ns.Measurements(
        times=times, values={"x": np.sin(times)}, misfit="(disk.x - x)**2*(1 + t)"
    )
    options = {"with_respect_to": run.by, **run.arguments, **TIGHT}
    parts = [
        ns.gradient(system, terminal=run.number, **options),
        ns.gradient(system, running="disk.y**2", **options),
        ns.gradient(system, measurements=measured, **options),
    ]
    whole = ns.gradient(
        system, terminal=run.number, running="disk.y**2", measurements=measured, **options
    )
    assert whole.value == pytest.approx(sum(part.value for part in parts), rel=1e-10)
    assert whole.vector == pytest.approx(sum(part.vector for part in parts), rel=1e-9)
    assert whole.value == pytest.approx(whole.terminal + whole.running + whole.misfit, rel=1e-15)


def test_measurements_count_at_the_start_at_the_end_and_at_jumps(system_of):
    """Against the same sum over columns of forward sensitivities."""
    run = RUNS["vehicle with hold table"]
    system = system_of(run.model)
    times = np.linspace(0.0, 1.0, 9)  # every second one is a time of the table
    target = 0.1 * np.cos(times)
    by = (*run.by, "wheel1.rate", "bracket.angle")
    options = {"with_respect_to": by, **run.arguments, **TIGHT}
    forward = ns.simulate_sensitivities(
        system, samples=times, outputs={"misfit": "(platform.x - 0.1*cos(t))**2 + 50*torque1**2"},
        **options,
    )  # fmt: skip
    measured = ns.Measurements(
        times=times, values={"x": target}, misfit="(platform.x - x)**2 + 50*torque1**2"
    )
    found = ns.gradient(system, measurements=measured, **options)
    assert found.misfit == pytest.approx(forward.outputs["misfit"].sum(), rel=1e-10)
    exact = forward["misfit"].sum(axis=0)
    assert found.vector == pytest.approx(exact, rel=EXACT, abs=EXACT * np.abs(exact).max())


def test_steps_that_are_not_kept_are_taken_again_bit_by_bit(system_of, monkeypatch):
    run = RUNS["linkage"]
    system = system_of(run.model)
    measured = ns.Measurements(
        times=np.linspace(0.0, 3.0, 7), values={}, misfit="crank.angle*rocker.angle"
    )
    options = {
        "with_respect_to": run.by,
        "measurements": measured,
        **run.arguments,
        "duration": 3.0,
    }
    kept = ns.gradient(system, **options)
    assert kept.steps > 50
    for chunk, most in ((7, 1), (16, 10**9), (1, 1)):
        small = partial(Recorder, chunk=chunk, most=most)
        monkeypatch.setattr(gradient, "Recorder", small)
        again = ns.gradient(system, **options)
        assert np.array_equal(again.vector, kept.vector)
        assert again.value == kept.value


def laws(system):
    """A law with states of its own, continuous and sampled, and a start beside its path."""
    frame = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0), timing=ns.timing.Quintic(10.0), **frame
    )
    follow = ns.motions.FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates))
    )
    start = ns.start_on_motion(system, follow, {}, system.parameters())
    law = ns.controllers.Tracking(
        motion=motion,
        controller=ns.controllers.PoseTracking(**frame),
        reference_start=start.q,
        limits={},
    )
    given = {c.name: float(x) for c, x in zip(system.coordinates, start.q, strict=True)}
    given |= {s.name: float(x) for s, x in zip(system.independent_speeds, start.eta, strict=True)}
    given["platform.x"] += 0.05
    return {"continuous": law, "sampled": dataclasses.replace(law, period=0.07)}, given


@pytest.mark.parametrize("kind", ["continuous", "sampled"])
def test_controllers_are_part_of_what_is_differentiated(kind, system_of):
    system = system_of("agv")
    known, given = laws(system)
    run = Run(
        model="agv",
        by=("platform.x", "platform.angle", "I_z"),
        start=given,
        inputs=known[kind],
        number="platform.x*platform.y + platform.angle + torque1",
    )
    options = {"with_respect_to": run.by, **run.arguments, **TIGHT}
    forward = ns.simulate_sensitivities(
        system, samples=3, outputs={"number": run.number}, **options
    )
    plain = ns.simulate(system, samples=3, **run.arguments, **TIGHT)
    assert forward.run.q == pytest.approx(plain.q, abs=1e-10)
    assert forward.run.inputs == pytest.approx(plain.inputs, abs=1e-10)
    found = ns.gradient(system, terminal=run.number, **options)
    assert found.value == pytest.approx(forward.outputs["number"][-1], rel=1e-10)
    exact = forward["number"][-1]
    assert found.vector == pytest.approx(exact, abs=EXACT * np.abs(exact).max())
    derivatives = np.concatenate([forward.coordinates, forward.speeds], axis=1)
    for k, by in enumerate(run.by):
        column = run.differences(system, by, 3, 1e-3)
        scale = max(np.abs(column).max(), 1e-2)
        assert derivatives[:, :, k] == pytest.approx(column, abs=DIFFERENCES * scale), by


def test_a_table_of_many_values_costs_one_way_back(system_of):
    """The gradient by a thousand values is that of a constant, spread over them."""
    system = system_of("agv")
    times = np.linspace(0.0, 1.0, 1001)
    start = {"wheel1.rate": -5.0, "wheel2.rate": -8.0}
    options = {"duration": 1.0, "start": start, "terminal": "platform.x + platform.y"}
    table = ns.Table(times=times, values=np.full(1001, 0.01), kind="linear")
    many = ns.gradient(
        system, with_respect_to=["torque1"], inputs={"torque1": table}, **options, **TIGHT
    )
    one = ns.gradient(
        system, with_respect_to=["torque1"], inputs={"torque1": 0.01}, **options, **TIGHT
    )
    assert many["torque1"].shape == (1001,)
    assert many["torque1"].sum() == pytest.approx(one["torque1"], rel=1e-9)
    assert many.value == pytest.approx(one.value, rel=1e-11)


def test_what_has_no_gradient_is_refused(system_of, refuses):
    system = system_of("agv")

    def ask(**options):
        ns.gradient(system, **{"with_respect_to": ["r"], "duration": 0.2, **options})

    with refuses(ns.SimulationError, "nothing to take the gradient of", "agv", "terminal='…'"):
        ask()
    with refuses(ns.SimulationError, "'platform.q'", "terminal expression", "platform.x"):
        ask(terminal="platform.q")
    with refuses(ns.SimulationError, "'platform.q'", "running cost", "platform.x"):
        ask(running="platform.q")
    with refuses(ns.SimulationError, "measurements is dict", "agv", "Measurements("):
        ask(measurements={"x": 1.0})
    taken = ns.Measurements(times=[0.1], values={"r": [1.0]}, misfit="platform.x - r")
    with refuses(ns.SimulationError, "'r' is measured", "misfit", "'r_measured'"):
        ask(measurements=taken)
    late = ns.Measurements(times=[0.1, 0.5], values={}, misfit="platform.x")
    with refuses(ns.SimulationError, "from 0.1 to 0.5 s", "agv", "between 0 and 0.2 s"):
        ask(measurements=late)
    with refuses(ns.SimulationError, "must increase", "Measurements(times=…)", "sort"):
        ns.Measurements(times=[0.5, 0.1], values={}, misfit="t")
    with refuses(ns.SimulationError, "'x' has the shape (3,)", "values", "each time"):
        ns.Measurements(times=[0.1, 0.5], values={"x": [1.0, 2.0, 3.0]}, misfit="x")
    with pytest.raises(TypeError, match="gradient takes a System"):
        ns.gradient(ns.load("agv"), with_respect_to=["r"], duration=1.0, terminal="t")


def test_a_derivative_that_is_not_finite_is_refused(system_of, refuses):
    with refuses(ns.SimulationError, "with respect to 'torque1' is not finite", "agv", "sqrt at 0"):
        ns.gradient(
            system_of("agv"),
            with_respect_to=["torque1"],
            duration=0.1,
            terminal="sqrt(platform.x**2 + platform.y**2)",
        )


def test_a_run_that_fails_has_no_gradient(system_of, refuses):
    with refuses(ns.SimulationError, "singular", "rolling-disk", "end the run earlier"):
        ns.gradient(
            system_of("rolling-disk"),
            with_respect_to=["r"],
            duration=5.0,
            start={"disk.tilt": 0.4},
            terminal="disk.x",
        )


def test_inputs_of_a_law_are_refused(system_of, refuses):
    system = system_of("agv")
    known, given = laws(system)
    with refuses(ns.SimulationError, "a law determines it", "agv", "Table"):
        ns.gradient(
            system,
            with_respect_to=["torque1"],
            duration=0.1,
            start=given,
            inputs=known["continuous"],
            terminal="platform.x",
        )


def test_what_is_no_expression_or_number_is_refused(system_of, refuses):
    system = system_of("agv")
    with refuses(ns.SimulationError, "terminal is ['platform.x']", "gradient", "arithmetic"):
        ns.gradient(system, with_respect_to=["r"], duration=0.1, terminal=["platform.x"])
    with refuses(ns.SimulationError, "the expression '0.02'", "agv", "give it as a number"):
        ns.gradient(
            system,
            with_respect_to=["amplitude"],
            duration=0.1,
            terminal="platform.x",
            definitions={"amplitude": "0.02"},
        )
    with pytest.raises(TypeError, match=r"(?s)^start is 3\.0.*pass names and values"):
        ns.gradient(system, with_respect_to=["r"], duration=0.1, terminal="t", start=3.0)
    with pytest.raises(TypeError, match="pass names and expressions"):
        ns.derivatives(system, ["kinetic_energy"])
