"""Sensitivities of many motions on a device: threads of a GPU, compiled for this processor."""

import numpy as np
import pytest

import noslip as ns
from noslip.engines.devices import HostDevice, ptx_of

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
