"""Batches on a device: the kernel of a GPU's thread, here compiled for this processor.

What holds of batches in lanes holds there too, so their tests are run on the device once more.
"""

import gc
import threading

import numpy as np
import pytest
import test_batch_alone
import test_batch_events
import test_batch_watched
from batch_runs import starts_of_disks
from test_batch_alone import disk_starts  # noqa: F401
from test_batch_watched import ctrl_c  # noqa: F401

import noslip as ns
from noslip.engines import cuda_driver
from noslip.engines.devices import HostDevice, ptx_of
from noslip.simulation.batches import batch, batch_code, batch_request

STARTS = {
    "rolling-disk": starts_of_disks(),
    "agv": {"wheel1.rate": np.linspace(-6, -4, 11), "wheel2.rate": -8.0, "bracket.angle": 0.4},
    "whipple-bicycle": {"speed": np.linspace(4.4, 4.8, 11), "frame.wx": 0.3},
}


@pytest.fixture
def on_device(monkeypatch):
    """The processor of a batch is a device, whose launches are as short as can be."""
    given = batch_request.read_device

    def read(word, where):
        return HostDevice(threads=3) if word == "cpu" else given(word, where)

    monkeypatch.setattr(batch_request, "read_device", read)
    monkeypatch.setattr(batch, "FEW", 0)
    monkeypatch.setattr(batch_code, "FIRST_ROUNDS", 2)
    monkeypatch.setattr(batch_code, "MOST_ROUNDS", 7)


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
class TestSameAsAloneOnADevice(test_batch_alone.TestSameAsAlone):
    """Starts, parameters, inputs of all kinds, laws with states of their own."""


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
class TestEventsOnADevice(test_batch_events.TestEvents):
    """Events, stops and angles that go on."""


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
class TestWatchedOnADevice(test_batch_watched.TestWatched):
    """Progress, cancelling and Ctrl-C."""


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "rk4", "step": 1e-3},
        {"samples": 7, "keep": ["minimum", "maximum", "samples"]},
    ],
    ids=["dop853", "rk4", "samples"],
)
@pytest.mark.slow
def test_a_thread_takes_the_steps_of_a_lane(system_of, name, settings):
    """Quotients round otherwise on a card, and RK4 sums its stages in another order."""
    given = {"duration": 2.0, "start": STARTS[name], **settings}
    lanes = ns.simulate_batch(system_of(name), **given)
    threads = ns.simulate_batch(system_of(name), device=HostDevice(), **given)
    assert np.array_equal(lanes.steps, threads.steps)
    assert np.array_equal(lanes.rejections, threads.rejections)
    for kept in ("final", "minimum", "maximum", "samples"):
        for column, values in getattr(lanes, kept).items():
            found = getattr(threads, kept)[column]
            np.testing.assert_allclose(found, values, rtol=1e-11, atol=1e-11)


def test_neither_pauses_nor_parts_nor_threads_change_a_bit(system_of, monkeypatch):
    system = system_of("rolling-disk")
    given = {
        **{"duration": 2.0, "start": STARTS["rolling-disk"], "samples": 5, "keep": ["samples"]},
        **{"events": {"level": "disk.wx"}},
    }
    whole = ns.simulate_batch(system, device=HostDevice(threads=11), **given)
    monkeypatch.setattr(batch_code, "FIRST_ROUNDS", 1)
    monkeypatch.setattr(batch_code, "MOST_ROUNDS", 1)
    monkeypatch.setattr(batch_code, "MOST_AT_ONCE", 4)
    parts = ns.simulate_batch(system, device=HostDevice(threads=2), **given)
    for column, values in whole.samples.items():
        assert np.array_equal(values, parts.samples[column])
    assert np.array_equal(whole.event_times["level"], parts.event_times["level"], equal_nan=True)
    assert np.array_equal(whole.nfev, parts.nfev)


def test_parameters_that_differ_are_those_of_each_trajectory(system_of, rng):
    """Those that are shared are hoisted into constants, with what is computed of them alone."""
    system = system_of("whipple-bicycle")
    name = system.model.parameters[0].name
    value = system.parameters()[0]
    given = {
        **{"duration": 1.0, "start": STARTS["whipple-bicycle"]},
        **{"parameters": {name: value * rng.uniform(0.99, 1.01, 11)}},
    }
    lanes = ns.simulate_batch(system, **given)
    threads = ns.simulate_batch(system, device=HostDevice(), **given)
    for column, values in lanes.final.items():
        np.testing.assert_allclose(threads.final[column], values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    "settings", [{"rtol": 1e-5, "atol": 1e-5}, {"method": "rk4", "step": 1e-2}], ids=["a", "b"]
)
def test_single_precision_keeps_its_digits(system_of, name, settings):
    """Seven digits, of which rounding over the steps of two seconds takes three."""
    given = {"duration": 2.0, "start": STARTS[name]}
    exact = ns.simulate_batch(system_of(name), **given, **settings)
    found = ns.simulate_batch(
        system_of(name), device=HostDevice(), precision="single", **given, **settings
    )
    assert all(ending is ns.Ending.FINISHED for ending in found.endings)
    assert np.all(found.t == 2.0)
    for column, values in exact.final.items():
        np.testing.assert_allclose(found.final[column], values, rtol=1e-3, atol=1e-3)


def test_a_batch_on_a_device_is_cancelled_between_launches(system_of):
    cancel = threading.Event()
    seen = []

    def progress(share):
        seen.append(share)
        cancel.set()

    batch = ns.simulate_batch(
        system_of("pendulum"),
        **{"duration": 1e7, "count": 4, "device": HostDevice(threads=2)},
        **{"progress": progress, "cancel": cancel},
    )
    assert all(ending is ns.Ending.CANCELLED for ending in batch.endings)
    assert seen


class CardWithoutDriver(HostDevice):
    """Keeps the texts of kernels, as for a card."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def kernel(self, text, tables=()):
        self.texts.append(text)
        return super().kernel(text, tables)


@pytest.mark.slow
@pytest.mark.parametrize("capability", [60, 90])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "rk4", "step": 1e-2},
        {"rtol": 1e-5, "atol": 1e-5, "precision": "single"},
        {
            **{"samples": 3, "keep": ["samples"], "events": {"level": "disk.wx"}},
            **{"definitions": {"limit": 0.5}, "stop": {"late": "t - limit + 0.1*abs(disk.x)^t"}},
        },
    ],
    ids=["dop853", "rk4", "single", "events"],
)
def test_kernels_are_whole_as_ptx(system_of, settings, capability):
    """Nothing is left to link: a card has no C library."""
    card = CardWithoutDriver()
    given = {"duration": 0.1, "start": STARTS["rolling-disk"], **settings}
    ns.simulate_batch(system_of("rolling-disk"), device=card, **given)
    ptx = ptx_of(card.texts[0], capability)
    assert f".target sm_{capability}" in ptx
    assert ".visible .entry noslip_integrate" in ptx
    assert ".extern" not in ptx
    assert ".const" in ptx


def test_a_machine_without_a_driver_is_told(system_of, monkeypatch):
    monkeypatch.setattr(cuda_driver, "_LIBRARY", "libnothing_of_this_name.so")
    cuda_driver._driver.cache_clear()
    cuda_driver.cuda_device.cache_clear()
    with pytest.raises(ns.DeviceError, match="no NVIDIA driver") as caught:
        ns.simulate_batch(system_of("pendulum"), duration=1.0, device="cuda")
    assert "device='cpu'" in caught.value.fix


class TestRefused:
    @pytest.mark.parametrize("word", ["gpu", "cuda:x", "cpu:1", "", None, 3])
    def test_unknown_devices(self, system_of, word):
        with pytest.raises(ns.SimulationError, match="device is"):
            ns.simulate_batch(system_of("pendulum"), duration=1.0, device=word)

    def test_a_device_without_room(self, system_of):
        with pytest.raises(ns.DeviceError, match="too small"):
            ns.simulate_batch(system_of("pendulum"), duration=1.0, device=HostDevice(memory=8))


class TestArrays:
    """Results that stay on the device; that of these tests is the processor, as DLPack says."""

    GIVEN = {"duration": 0.5, "start": STARTS["agv"], "samples": 3, "keep": ["minimum", "samples"]}

    def test_they_hold_what_numpy_has(self, system_of):
        system = system_of("agv")
        plain = ns.simulate_batch(system, device=HostDevice(), **self.GIVEN)
        left = ns.simulate_batch(system, device=HostDevice(), arrays="device", **self.GIVEN)
        for kept in ("final", "minimum", "samples"):
            for column, values in getattr(plain, kept).items():
                found = getattr(left, kept)[column]
                assert found.shape == values.shape and len(found) == len(values)
                assert np.array_equal(found.numpy(), values)
                assert np.array_equal(np.asarray(found), values)
                assert np.array_equal(np.from_dlpack(found), values)
                place = list(getattr(plain, kept)).index(column)
                assert np.array_equal(np.from_dlpack(found.base)[..., place], values)

    def test_memory_lives_as_long_as_what_was_made_of_it(self, system_of):
        system = system_of("agv")
        left = ns.simulate_batch(system, device=HostDevice(), arrays="device", **self.GIVEN)
        column = next(iter(left.final))
        expected = left.final[column].numpy()
        taken = np.from_dlpack(left.final[column])
        capsule = left.final[column].__dlpack__()  # never taken
        del left, capsule
        gc.collect()
        assert np.array_equal(taken, expected)

    def test_parts_are_put_together(self, system_of, monkeypatch):
        monkeypatch.setattr(batch_code, "MOST_AT_ONCE", 4)
        system = system_of("agv")
        plain = ns.simulate_batch(system, **self.GIVEN)
        left = ns.simulate_batch(system, device=HostDevice(), arrays="device", **self.GIVEN)
        for column, values in plain.final.items():
            np.testing.assert_allclose(left.final[column].numpy(), values, rtol=1e-11, atol=1e-11)

    def test_they_are_taken_as_starts(self, system_of):
        system = system_of("agv")
        first = ns.simulate_batch(system, device=HostDevice(), arrays="device", **self.GIVEN)
        name = system.coordinates[0].name
        again = ns.simulate_batch(system, duration=0.1, start={name: first.final[name]})
        assert again.count == 11

    def test_refused(self, system_of):
        for given, text in (
            ({"arrays": "torch"}, "arrays is"),
            ({"arrays": "device"}, "on the CPU"),
        ):
            with pytest.raises(ns.SimulationError, match=text):
                ns.simulate_batch(system_of("agv"), duration=0.1, **given)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, batch.FEW])
def test_trajectories_that_go_on_in_lanes_are_those_of_lanes(system_of, monkeypatch, few):
    """A device hoists by itself; the parameters of lanes have hoisted values behind them."""
    monkeypatch.setattr(batch, "FEW", few)
    system = system_of("tractor-trailer")
    given = {
        "duration": 4.0,
        "start": {"tractor.vx": [1.0, 1.2, 0.9]},
        "inputs": {"steering_rate": 0.5},
        "parameters": {"m1": [3000.0, 3100.0, 2900.0]},
    }
    lanes = ns.simulate_batch(system, **given)
    threads = ns.simulate_batch(system, device=HostDevice(), **given)
    assert lanes.changed_speeds.all() and threads.changed_speeds.all()
    for name, values in lanes.final.items():
        assert threads.final[name] == pytest.approx(values, rel=1e-9, abs=1e-9)
