"""Batches without a motion on a device: the rows of a GPU's thread, compiled for this processor."""

import numpy as np
import pytest

import noslip as ns
from noslip.engines import devices
from noslip.engines.devices import HostDevice, ptx_of
from noslip.simulation.batches import batch_request

N = 23
LEANING = {"frame.lean": np.linspace(-0.3, 0.3, N), "speed": np.linspace(3.0, 6.0, N)}
MASSES = {"mB": np.linspace(80.0, 90.0, N)}
ROLLING = {"wheel1.rate": np.linspace(-8.0, -4.0, N), "wheel2.rate": -5.0}
#: Quotients round otherwise on a card: some units in the last place of what is computed.
SAME = {"rtol": 1e-11, "atol": 1e-11}


def evaluated(system_of, **given):
    outputs = {"twice": "2*frame.vx"}
    found = ns.evaluate_batch(
        system_of("whipple-bicycle"), LEANING, parameters=MASSES, outputs=outputs, **given
    )
    return [*found.accelerations.values(), found.mass_matrix, found.outputs["twice"]]


def inverted(system_of, **given):
    system = system_of("agv")
    rates = {s.name: np.linspace(-1.0, 1.0, N) for s in system.independent_speeds}
    found = ns.inverse_dynamics_batch(system, ROLLING, rates, **given)
    return [*found.inputs.values(), found.unreachable]


def linearized(system_of, **given):
    about = {"speed": LEANING["speed"]}
    keep = ["A", "B"]
    found = ns.linearize_batch(
        system_of("whipple-bicycle"), about, parameters=MASSES, keep=keep, **given
    )
    assert found.is_steady.all()
    return [found.A, found.B, found.eigenvalues]


def steadied(system_of, **given):
    found = ns.steady_batch(system_of("whipple-bicycle"), LEANING, find=["steer_torque"], **given)
    assert found.is_found.all()
    return [*found.values.values(), *found.inputs.values()]


CALLS = [evaluated, inverted, linearized, steadied]


@pytest.mark.parametrize("call", CALLS)
def test_a_thread_finds_what_a_lane_finds(system_of, call):
    for lanes, threads in zip(call(system_of), call(system_of, device=HostDevice()), strict=True):
        np.testing.assert_allclose(threads, lanes, **SAME)


@pytest.mark.parametrize("call", CALLS)
def test_neither_blocks_nor_parts_nor_threads_change_a_bit(system_of, call, monkeypatch):
    whole = call(system_of, device=HostDevice(threads=N))
    monkeypatch.setattr(batch_request, "DEVICE_BLOCK", 10)
    monkeypatch.setattr(devices, "MOST_ROWS", 4)
    for one, other in zip(whole, call(system_of, device=HostDevice(threads=3)), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("call", CALLS)
def test_kernels_are_whole_as_ptx(system_of, call):
    """Nothing is left to link: a card has no C library."""
    texts = []

    class Card(HostDevice):
        def kernel(self, text, tables=()):
            texts.append(text)
            return super().kernel(text, tables)

    call(system_of, device=Card())
    for text in texts:
        ptx = ptx_of(text, 90)
        assert ".visible .entry" in ptx
        assert ".extern" not in ptx
