"""Batches on a card of NVIDIA's: run where there is one, `pytest -m cuda`."""

import threading
import time

import numpy as np
import pytest

import noslip as ns
from noslip.engines.cuda_driver import cuda_device

pytestmark = pytest.mark.cuda

STARTS = {
    "rolling-disk": {"disk.tilt": (1.2, 1.5), "disk.yaw_rate": (0.1, 0.5)},
    "agv": {"wheel1.rate": (-6.0, -4.0), "wheel2.rate": (-9.0, -7.0)},
    "whipple-bicycle": {"speed": (4.4, 4.8), "frame.wx": (0.1, 0.5)},
}


@pytest.fixture(scope="module", autouse=True)
def card():
    try:
        return cuda_device()
    except ns.DeviceError as error:
        pytest.skip(error.what)


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "rk4", "step": 1e-3},
        {"samples": 11, "keep": ["minimum", "maximum", "samples"], "events": {"half": "t - 0.5"}},
        {"stop": {"limit": "t - limit"}},
    ],
    ids=["dop853", "rk4", "events", "stop"],
)
def test_a_card_takes_the_steps_of_the_processor(system_of, rng, name, settings):
    starts = {key: rng.uniform(*span, 1000) for key, span in STARTS[name].items()}
    given = {"duration": 2.0, "start": starts, **settings}
    if "stop" in settings:
        given["definitions"] = {"limit": rng.uniform(0.5, 3.0, 1000)}
    lanes, card = (ns.simulate_batch(system_of(name), device=d, **given) for d in ("cpu", "cuda"))
    assert np.array_equal(lanes.steps, card.steps)
    assert np.array_equal(lanes.endings, card.endings)
    for kept in ("final", "minimum", "maximum", "samples", "event_times"):
        for column, values in getattr(lanes, kept).items():
            np.testing.assert_allclose(getattr(card, kept)[column], values, rtol=1e-9, atol=1e-9)


def test_parameters_tables_and_sampled_inputs_of_each_trajectory(system_of, rng):
    system = system_of("pendulum")
    times = np.linspace(0.0, 1.0, 5)
    tables = [ns.Table(times=times, values=rng.normal(size=5)) for _ in range(50)]
    name = system.model.parameters[0].name
    given = {
        **{"duration": 1.0, "inputs": {"torque": tables}},
        **{"parameters": {name: system.parameters()[0] * rng.uniform(0.9, 1.1, 50)}},
    }
    lanes, card = (ns.simulate_batch(system, device=d, **given) for d in ("cpu", "cuda"))
    assert np.array_equal(lanes.steps, card.steps)
    for column, values in lanes.final.items():
        np.testing.assert_allclose(card.final[column], values, rtol=1e-10, atol=1e-10)


def test_far_angles_and_every_function(system_of):
    """A card has no C library: functions are those of `device_math`."""
    texts = {
        "far": "sin(1e15 + a)", "tangent": "tan(1e12*a)", "power": "abs(a)^1.7",
        "arcs": "atan2(a, 2) + asin(a/9) + acos(a/9)", "hyper": "tanh(a) + sinh(a/3) + cosh(a/5)",
        "logs": "log(1 + a^2) + exp(-a)",
    }  # fmt: skip
    given = {
        **{"duration": 0.1, "definitions": {**texts, "a": np.linspace(-8.0, 8.0, 101)}},
        **{"columns": list(texts)},
    }
    system = system_of("pendulum")
    lanes, card = (ns.simulate_batch(system, device=d, **given) for d in ("cpu", "cuda"))
    for column, values in lanes.final.items():
        np.testing.assert_allclose(card.final[column], values, rtol=1e-14, atol=1e-15)


def test_single_precision_keeps_its_digits(system_of, rng):
    for name, spans in STARTS.items():
        starts = {key: rng.uniform(*span, 500) for key, span in spans.items()}
        if name == "rolling-disk":
            starts["disk.spin_rate"] = -8.0  # one that does not roll falls, and errors grow
        given = {"duration": 2.0, "start": starts, "rtol": 1e-5, "atol": 1e-5}
        exact = ns.simulate_batch(system_of(name), **given)
        found = ns.simulate_batch(system_of(name), device="cuda", precision="single", **given)
        for column, values in exact.final.items():
            np.testing.assert_allclose(found.final[column], values, rtol=2e-3, atol=2e-3)


def test_a_long_batch_is_cancelled_within_a_second(system_of):
    system, cancel, seen = system_of("pendulum"), threading.Event(), []
    ns.simulate_batch(system, duration=0.1, count=4, device="cuda")  # translated before
    threading.Timer(1.0, cancel.set).start()
    began = time.monotonic()
    batch = ns.simulate_batch(
        system, duration=1e9, count=4, device="cuda", cancel=cancel, progress=seen.append
    )
    assert time.monotonic() - began < 2.0
    assert all(ending is ns.Ending.CANCELLED for ending in batch.endings)
    assert seen


def test_a_card_that_is_not_there_is_told(system_of):
    with pytest.raises(ns.DeviceError, match="no card 99"):
        ns.simulate_batch(system_of("pendulum"), duration=1.0, device="cuda:99")


def test_too_much_memory_is_told(card):
    with pytest.raises(ns.DeviceError, match="out of memory") as caught:
        card.allocate(2**50)
    assert "fewer trajectories" in caught.value.fix


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_other_libraries_take_results_without_a_copy(system_of, library):
    module = pytest.importorskip(library)
    system = system_of("agv")
    starts = {"wheel1.rate": np.linspace(-6.0, -4.0, 1000), "wheel2.rate": -8.0}
    given = {"duration": 0.5, "start": starts, "device": "cuda"}
    plain = ns.simulate_batch(system, **given)
    left = ns.simulate_batch(system, arrays="device", **given)
    for column, values in plain.final.items():
        array = left.final[column]
        if library == "torch":
            taken = module.as_tensor(array, device="cuda")
            assert taken.data_ptr() == array.address
            assert module.from_dlpack(array).data_ptr() == array.address
            back = taken.cpu().numpy()
        elif library == "cupy":
            taken = module.asarray(array)
            assert taken.data.ptr == array.address
            back = module.asnumpy(taken)
        else:
            module.config.update("jax_enable_x64", True)
            table = np.asarray(module.dlpack.from_dlpack(array.base))  # it takes no strides
            back = table[:, list(plain.final).index(column)]
        assert np.array_equal(back, values)
    if library != "jax":
        name = system.coordinates[0].name
        again = ns.simulate_batch(
            system, duration=0.1, start={name: module.as_tensor(left.final[name], device="cuda")}
            if library == "torch" else {name: module.asarray(left.final[name])}, device="cuda",
        )  # fmt: skip
        assert again.count == 1000
