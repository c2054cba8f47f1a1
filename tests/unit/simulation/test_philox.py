"""Random numbers from counters: known answers, the same integers on every target."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.engines.cuda_driver import cuda_device
from noslip.engines.devices import HostDevice
from noslip.simulation import AbstractInputLaw, InputGenerator, uniforms
from noslip.simulation.loop.steps import normals, words


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_words_are_the_published_ones(counter, key, answer):
    """The known answers of Random123."""
    assert tuple(int(w) for w in words(counter, key)) == answer


def test_numbers_are_uniform_and_normal():
    """Mean and variance within four standard errors of 40 000 draws, channels uncorrelated."""
    n = 40_000
    u = uniforms(7, 3, 1, np.arange(n))
    assert np.all((u > 0) & (u < 1))
    assert np.max(np.abs(u.mean(axis=0) - 0.5)) < 4 * np.sqrt(1 / 12 / n)
    x, y = normals(7, 3, 0, np.arange(n)), normals(7, 3, 1, np.arange(n))
    assert abs(x.mean()) < 4 / np.sqrt(n) and abs(x.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs(np.mean(x * y)) < 4 / np.sqrt(n)


class Draws(AbstractInputLaw):
    """Holds the last numbers drawn as states, one channel a coordinate."""

    def __init__(self, seed=0, run=0):
        self.seed, self.run = seed, run

    def generator(self, system):
        z, u = ca.SX.sym("z", 4), ca.SX.sym("u", 4)
        return InputGenerator(
            inputs={"F": ca.SX(0)},
            states=z,
            rates=ca.SX.zeros(4),
            start=np.zeros(4),
            names=("a", "b", "c", "d"),
            units=("1",) * 4,
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            update=u,
            period=0.1,
            noise=u,
            seed=self.seed,
            run=self.run,
        )


def _cart():
    from small_mechanisms import cart

    return ns.compile(ns.derive(cart()))


@pytest.mark.parametrize("seed", [0, 12345678901234567])
def test_a_run_draws_what_python_draws_to_the_bit(seed):
    system = _cart()
    run = ns.simulate(
        system,
        duration=1.0,
        start={},
        inputs=Draws(seed, run=5),
        samples=np.array([0.05, 0.15, 0.55, 0.95]),
    )
    for sample, k in zip((0, 1, 5, 9), range(4), strict=True):
        drawn = uniforms(seed, 5, np.array([0, 1]), sample).ravel()
        assert [run[name][k] for name in "abcd"] == drawn.tolist()


def _a_batch_draws_what_python_draws(device):
    batch = ns.simulate_batch(
        _cart(),
        duration=0.55,
        start={"cart.position": np.linspace(0.0, 1.0, 19)},
        inputs=Draws(3),
        columns=["a", "b", "c", "d"],
        device=device,
    )
    drawn = uniforms(3, np.arange(19)[:, None], np.array([[0, 1]]), 5).reshape(19, 4)
    found = np.column_stack([batch.final[name] for name in "abcd"])
    assert np.array_equal(found, drawn)


def test_lanes_of_a_batch_draw_numbers_of_their_own_to_the_bit():
    _a_batch_draws_what_python_draws("cpu")


def test_threads_of_a_device_draw_the_same_numbers_to_the_bit():
    _a_batch_draws_what_python_draws(HostDevice(threads=3))


@pytest.mark.cuda
def test_threads_of_a_card_draw_the_same_numbers_to_the_bit():
    try:
        cuda_device()
    except ns.DeviceError as error:
        pytest.skip(error.what)
    _a_batch_draws_what_python_draws("cuda")
