"""Sensitivities of many motions on a device: threads of a GPU, compiled for this processor."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import noslip as ns
from noslip.engines.devices import HostDevice, ptx_of
from noslip.simulation.batches import batch_code
from noslip.simulation.sensitivities import forward

N = 7
TABLE = ns.Table(times=np.linspace(0.0, 2.0, 5), values=np.array([0.0, 0.1, 0.2, 0.1, 0.0]))
CASES = {
    "chaplygin-sleigh": {
        **{"with_respect_to": ["m", "sleigh.rate"], "duration": 4.0, "samples": 5},
        "start": {"sleigh.vx": np.linspace(0.5, 2.0, N), "sleigh.rate": 0.4},
        "parameters": {"m": np.linspace(0.8, 1.5, N)},
        "outputs": {"far": "sleigh.x^2 + sleigh.y^2"},
    },
    "agv": {
        **{"with_respect_to": ["torque1", "torque2", "m_platform"], "duration": 2.0, "samples": 3},
        "start": {"wheel1.rate": np.linspace(-6.0, -4.0, N), "wheel2.rate": -5.0},
        "inputs": {"torque1": TABLE, "torque2": 0.0},
        "parameters": {"m_platform": 25.0},
    },
    "rolling-disk": {
        **{"with_respect_to": ["disk.tilt", "m"], "duration": 1.0, "samples": 3},
        "start": {"disk.tilt": np.linspace(1.1, 1.4, N), "disk.spin_rate": -6.0},
        "parameters": {"m": 2.0},
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_thread_finds_what_the_processor_finds(system_of, name):
    """The same steps; samples are taken from one step there, from several here: to tolerance."""
    given = CASES[name]
    here = ns.simulate_sensitivities_batch(system_of(name), **given)
    there = ns.simulate_sensitivities_batch(system_of(name), device=HostDevice(), **given)
    assert there.success.all()
    assert np.array_equal(here.steps, there.steps)
    for column, values in here.values.items():
        np.testing.assert_allclose(there.values[column], values, rtol=1e-8, atol=1e-8)
        by = here.derivatives[column]
        np.testing.assert_allclose(there.derivatives[column], by, rtol=1e-7, atol=1e-7)
    one = there[2]
    np.testing.assert_allclose(
        one[next(iter(here.values)), here.names[0]],
        there[next(iter(here.values)), here.names[0]][2],
        rtol=1e-7,
        atol=1e-7,
    )


def test_fixed_steps(system_of):
    given = CASES["chaplygin-sleigh"] | {"method": "rk4", "step": 0.01}
    system = system_of("chaplygin-sleigh")
    here = ns.simulate_sensitivities_batch(system, **given)
    there = ns.simulate_sensitivities_batch(system, device=HostDevice(), **given)
    for column, by in here.derivatives.items():
        np.testing.assert_allclose(there.derivatives[column], by, rtol=1e-11, atol=1e-11)


def test_single_precision_keeps_its_digits(system_of):
    given = CASES["chaplygin-sleigh"] | {"rtol": 1e-5, "atol": 1e-5}
    system = system_of("chaplygin-sleigh")
    here = ns.simulate_sensitivities_batch(system, **given)
    there = ns.simulate_sensitivities_batch(
        system, device=HostDevice(), precision="single", **given
    )
    for column, by in here.derivatives.items():
        np.testing.assert_allclose(there.derivatives[column], by, rtol=1e-3, atol=1e-3)


def test_kernels_are_whole_as_ptx(system_of):
    texts = []

    class Card(HostDevice):
        def kernel(self, text, tables=()):
            texts.append(text)
            return super().kernel(text, tables)

    ns.simulate_sensitivities_batch(system_of("agv"), device=Card(), **CASES["agv"])
    ptx = ptx_of(texts[0], 90)
    assert ".visible .entry" in ptx
    assert ".extern" not in ptx


def test_a_motion_that_fails_is_told(system_of):
    """A disk that falls flat ends there, on a device as on the CPU."""
    given = CASES["rolling-disk"] | {"max_steps": 3}
    found = ns.simulate_sensitivities_batch(system_of("rolling-disk"), device=HostDevice(), **given)
    assert not found.success.any()
    assert len(found.messages) == N


def test_cancelled_motions_are_nan(system_of, monkeypatch):
    monkeypatch.setattr(batch_code, "FIRST_ROUNDS", 1)
    monkeypatch.setattr(batch_code, "MOST_ROUNDS", 1)
    cancel = threading.Event()
    launches = []

    class Card(HostDevice):
        def kernel(self, text, tables=()):
            made = super().kernel(text, tables)
            launch = made.launch

            def counted(*given):
                launches.append(1)
                cancel.set()
                launch(*given)

            made.launch = counted
            return made

    given = CASES["chaplygin-sleigh"] | {"duration": 1e5}
    found = ns.simulate_sensitivities_batch(
        system_of("chaplygin-sleigh"), device=Card(), cancel=cancel, **given
    )
    assert launches
    assert not found.success.any()
    assert np.isnan(found["sleigh.x", "m"]).all()


def test_progress_moves_over_blocks(system_of, monkeypatch):
    monkeypatch.setattr(forward, "DEVICE_BLOCK", 3)
    seen = []
    given = CASES["chaplygin-sleigh"] | {"duration": 0.5}
    system = system_of("chaplygin-sleigh")
    parts = ns.simulate_sensitivities_batch(
        system, device=HostDevice(), progress=seen.append, **given
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    whole = ns.simulate_sensitivities_batch(system, device=HostDevice(), **given)
    assert np.array_equal(parts["sleigh.x", "m"], whole["sleigh.x", "m"])


class TestRefused:
    def test_single_precision_on_the_processor_and_with_tight_tolerances(self, system_of):
        system, given = system_of("chaplygin-sleigh"), CASES["chaplygin-sleigh"]
        with pytest.raises(ns.SimulationError, match="on the CPU"):
            ns.simulate_sensitivities_batch(system, precision="single", **given)
        with pytest.raises(ns.SimulationError, match="7 digits"):
            ns.simulate_sensitivities_batch(
                system, precision="single", device=HostDevice(), **given
            )

    def test_unknown_devices(self, system_of):
        with pytest.raises(ns.SimulationError, match="device is 'gpu'"):
            ns.simulate_sensitivities_batch(
                system_of("chaplygin-sleigh"), device="gpu", **CASES["chaplygin-sleigh"]
            )
