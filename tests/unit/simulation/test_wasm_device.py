"""Batches as WebAssembly: the kernel of a thread as browsers run it, here by wasmtime."""

import math

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from batch_runs import starts_of_disks

import noslip as ns
from noslip.analysis import scenario_start
from noslip.engines import trace_program
from noslip.engines.devices import HostDevice
from noslip.engines.web_assembly import WasmDevice, WasmTarget, compile_module

STARTS = {
    "rolling-disk": starts_of_disks(),
    "agv": {"wheel1.rate": np.linspace(-6, -4, 11), "wheel2.rate": -8.0, "bracket.angle": 0.4},
    "whipple-bicycle": {"speed": np.linspace(4.4, 4.8, 11), "frame.wx": 0.3},
}


#: Tires hold the steps at the limit of stability, where rounding decides which one is rejected;
#: there is no fused multiply-add in WebAssembly.
ON_THE_LIMIT = {"tractor-trailer-tires": 1}


def compare(system, given, *, kept=("final",), near=1e-11, apart=0):
    """Runs on the processor and as WebAssembly take the same steps and end alike."""
    host = ns.simulate_batch(system, device=HostDevice(), **given)
    wasm = ns.simulate_batch(system, device=WasmDevice(), **given)
    if apart:
        assert np.max(np.abs(host.steps - wasm.steps)) <= apart
    else:
        for name in ("steps", "rejections", "nfev", "changed_speeds"):
            assert np.array_equal(getattr(host, name), getattr(wasm, name)), name
    assert list(host.endings) == list(wasm.endings)
    assert list(host.ended_by) == list(wasm.ended_by)
    for word in kept:
        for column, values in getattr(host, word).items():
            np.testing.assert_allclose(
                getattr(wasm, word)[column], values, rtol=near, atol=near, err_msg=column
            )
    return host, wasm


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("rolling-disk", {"samples": 7, "keep": ["minimum", "maximum", "samples"]}),
        ("agv", {"method": "rk4", "step": 1e-3}),
        pytest.param("whipple-bicycle", {}, marks=pytest.mark.slow),
    ],
)
def test_takes_the_steps_of_a_thread(system_of, name, settings):
    kept = ("final", *settings.get("keep", ()))
    given = {"duration": 2.0, "start": STARTS[name], **settings}
    compare(system_of(name), given, kept=kept)


def test_events_stops_and_named_angles(system_of):
    given = {
        **{"duration": 3.0, "start": {"disk.tilt": [1.2, 1.0, 0.6], "disk.spin_rate": -8.0}},
        **{"events": {"level": "disk.wx"}, "stop": {"low": "disk.tilt - 0.5"}},
        **{"columns": ["disk.tilt", "disk.yaw", "kinetic_energy"]},
    }
    host, wasm = compare(system_of("rolling-disk"), given)
    for name, times in host.event_times.items():
        np.testing.assert_allclose(wasm.event_times[name], times, rtol=1e-9, atol=1e-9)


def test_expressions_tables_and_parameters_that_differ(system_of):
    system = system_of("agv")
    number = system.model.parameters[0]
    value = float(system.parameters()[0])
    table = ns.Table(times=[0.0, 0.5, 1.0, 2.0], values=[0.0, 1.0, -1.0, 0.5])
    names = [q.name for q in system.model.inputs]
    inputs = {names[0]: "0.3*sin(2*t) + 0.1*wheel1.rate", names[1]: table}
    given = {"duration": 2.0, "start": STARTS["agv"], "inputs": inputs}
    given |= {"parameters": {number.name: value * np.linspace(0.9, 1.1, 11)}}
    compare(system, given)


@pytest.mark.long
@pytest.mark.parametrize("name", ns.MODELS)
def test_every_model_of_the_library(system_of, name):
    """The scenario's start, for a second."""
    system = system_of(name)
    scenario = system.model.scenario
    start = scenario_start(scenario, system.model.parameter_values()) if scenario else {}
    given = {"duration": 1.0, "start": start, "count": 1}
    compare(system, given, near=1e-8, apart=ON_THE_LIMIT.get(name, 0))


def test_what_does_not_exist_is_refused():
    text = """define void @integrate(ptr %m, i64 %k, i64 %n) {
  %x = load double, ptr %m
  %y = call double @tgamma(double %x)
  store double %y, ptr %m
  ret void
}
declare double @tgamma(double)
"""
    with pytest.raises(ns.NoslipError, match="tgamma"):
        compile_module(text)


def test_angles_are_reduced_without_fused_operations(rng):
    """Near and far ones; in units of the last place of the true value."""
    x = ca.SX.sym("x")
    empty = ca.SX(0, 1)
    program = trace_program("turns", [empty, x, empty, empty], ca.vertcat(ca.sin(x), ca.cos(x)))
    turns = WasmTarget().compile(program)
    angles = np.exp(rng.uniform(0.0, np.log(1e308), 200)) * rng.choice([-1, 1], 200)
    near = [11.0, 355.0, 573204.0, 52174.0 * np.pi, 2.0**40 - 0.5]
    near += [math.nextafter(np.pi / 4, end) for end in (0.0, 1.0)]  # where a quadrant ends
    with mp.workdps(400):
        for angle in [*near, *angles.tolist()]:
            for found, exact in zip(turns([], [angle], [], []), (mp.sin, mp.cos), strict=True):
                true = exact(mp.mpf(angle))
                assert abs(mp.mpf(found) - true) < 2 * math.ulp(float(true)), angle
