"""Environments on a device: the kernel of a GPU's thread, here compiled for this processor."""

import dataclasses

import numpy as np
import pytest

import noslip as ns
from noslip.engines import DeviceArray
from noslip.engines.devices import HostDevice, ptx_of
from noslip.simulation.batches import periods

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")

#: Rounding of a period, and what some of them make of it: quotients round otherwise on a device.
SAME = 1e-11


@pytest.fixture(scope="module")
def both(system_of):
    """The same environments on the processor and on a device, of a task whose episodes are cut."""

    def make(word, n=12, device=None, **changes):
        name, task = ns.gym.TASKS[word]
        task = dataclasses.replace(task, **changes)
        system = system_of(name)
        device = device or HostDevice()
        on_device = ns.gym.make_vec_env(system, task, num_envs=n, device=device)
        return ns.gym.make_vec_env(system, task, num_envs=n), on_device

    return make


def check_same(lanes, threads, found, others):
    for own, other in zip(found[:4], others[:4], strict=True):
        # what is given in single precision may be rounded to the next number
        near = np.finfo(np.float32).eps if own.dtype == np.float32 else SAME
        np.testing.assert_allclose(other.numpy(), own, rtol=near, atol=SAME)
    x, other = lanes.mechanisms.x, threads.mechanisms.x.numpy()
    np.testing.assert_allclose(other, x, rtol=SAME, atol=SAME)


@pytest.mark.parametrize("word", ns.gym.TASKS)
def test_episodes_are_those_of_the_processor(both, rng, word):
    """Starts, motion, what is seen and rewarded, ends, and starts of later episodes."""
    lanes, threads = both(word, limit=15)
    seen, _ = lanes.reset(seed=3)
    np.testing.assert_array_equal(threads.reset(seed=3)[0].numpy(), seen)
    cuts = 0
    for _ in range(40):
        actions = rng.uniform(-1, 1, lanes.action_space.shape).astype(np.float32)
        found, others = lanes.step(actions), threads.step(actions)
        check_same(lanes, threads, found, others)
        cuts += int(found[3].sum())
        if found[2].any():
            np.testing.assert_array_equal(others[4]["ended"].numpy(), found[4]["ended"])
    assert cuts >= 2 * 12
    np.testing.assert_array_equal(threads.mechanisms.t.numpy(), lanes.mechanisms.t)
    np.testing.assert_array_equal(threads.mechanisms.u.numpy(), lanes.mechanisms.u)
    assert threads.metadata == lanes.metadata


@pytest.mark.parametrize(
    ("word", "start"),
    [
        # pitch and height of the frame follow from the steer angle
        ("balance", {"steer.angle": (-0.3, 0.3), "speed": 3.0, "frame.wx": (-0.1, 0.1)}),
        # a lean alone lets the pitch go; its rate and the speed ask for the others
        ("balance", {"frame.lean": (-0.2, 0.2), "speed": 3.0, "frame.lean_rate": (-0.3, 0.3)}),
        ("balance", {"frame.lean": 0.1, "frame.yaw": (-3.0, 3.0), "frame.yaw_rate": (0.0, 0.1)}),
        ("back_up", {"steer.angle": 0.1, "hinge.angle": (-0.2, 0.2), "tractor.vx": -1.0}),
        ("drive", {}),
    ],
)
def test_starts_are_completed_as_on_the_processor(both, word, start):
    lanes, threads = both(word, start=start)
    lanes.reset(seed=8), threads.reset(seed=8)
    x = lanes.mechanisms.x
    # with a lean, lengths are closed to 1e-15, which leaves 1e-13 to angles and 1e-12 to rates
    bound = SAME if "frame.lean" in start else 1e-14
    np.testing.assert_allclose(threads.mechanisms.x.numpy(), x, rtol=bound, atol=bound)
    if start:
        assert np.ptp(x, axis=0).max() > 0.05
    # without a seed the next episodes follow, and another seed gives others
    before = x.copy()
    lanes.reset(), threads.reset()
    np.testing.assert_allclose(threads.mechanisms.x.numpy(), lanes.mechanisms.x, atol=bound)
    if start:
        assert not np.allclose(before, lanes.mechanisms.x)
    lanes.reset(seed=8)
    np.testing.assert_array_equal(lanes.mechanisms.x, before)


def test_gymnasium_makes_them_by_their_ids():
    ns.gym.register_envs()
    device = HostDevice()
    envs = gymnasium.make_vec("noslip/DifferentialDrive-v0", num_envs=3, device=device)
    seen, _ = envs.reset(seed=4)
    assert isinstance(seen, DeviceArray) and envs.unwrapped.mechanisms.count == 3
    assert envs.step(envs.action_space.sample())[1].shape == (3,)


class Foreign:
    """An array of another library, as it says where its numbers are."""

    def __init__(self, table):
        self._table = table
        self.__cuda_array_interface__ = {
            **{"shape": table.shape, "strides": table.strides, "typestr": table.dtype.str},
            **{"data": (table.ctypes.data, False), "version": 3},
        }


class Packed:
    """An array of another library that says so by DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        return self._array.__dlpack__()


def test_actions_are_taken_from_arrays_of_others(both, rng):
    """Of any strides, single or double, without a copy."""
    _, threads = both("drive", n=5)
    device = HostDevice()
    actions = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
    doubles = device.uploaded(actions.astype(float))
    columns = np.asfortranarray(actions)
    given = {
        "numpy": actions,
        "list": actions.tolist(),
        "own": DeviceArray(doubles, (5, 2), (2, 1)),
        "foreign": Foreign(columns),
        "packed": Packed(DeviceArray(doubles, (5, 2), (2, 1))),
    }
    found = {}
    for name, array in given.items():
        threads.reset(seed=2)
        found[name] = [part.numpy() for part in threads.step(array)[:4]]
    for name, parts in found.items():
        for part, expected in zip(parts, found["numpy"], strict=True):
            np.testing.assert_array_equal(part, expected, err_msg=name)


def test_an_episode_goes_on_in_other_independent_speeds(system_of):
    """As on the processor, where each mechanism changes them for itself."""
    system = system_of("lhd-noslip")
    task = ns.gym.GymTask(
        observation={"waist": "waist.angle", "rate": "waist.rate", "yaw": "front.rate"},
        actions={system.inputs[0].name: (-1.0, 1.0)}, reward="waist.rate", limit=30,
        start={"waist.angle": 1.5, "waist.rate": (0.6, 0.8), "front.vx": 1.0}, period=0.1, steps=20,
    )  # fmt: skip
    lanes = ns.gym.make_vec_env(system, task, num_envs=4)
    threads = ns.gym.make_vec_env(system, task, num_envs=4, device=HostDevice())
    lanes.reset(seed=0), threads.reset(seed=0)
    mixed = False
    for _ in range(40):
        found, others = lanes.step(np.zeros((4, 1))), threads.step(np.zeros((4, 1)))
        check_same(lanes, threads, found, others)
        bases = [lanes.mechanisms.basis(k) is system for k in range(4)]
        assert not found[2].any()
        np.testing.assert_array_equal(threads.mechanisms.bases.numpy() == 0, bases)
        mixed |= len(set(bases)) > 1
    # the next episodes begin in the first ones
    assert mixed and all(bases)


def test_a_thrown_handlebar_ends_as_on_the_processor(both):
    """Wild reflexes throw it beyond the end of the bicycle's speeds within a period."""
    lanes, threads = both("balance", n=48)
    (seen, _), _ = lanes.reset(seed=7), threads.reset(seed=7)
    reflexes = np.random.default_rng(0).normal(size=(48, 5))
    ends = changes = 0
    for _ in range(100):
        torque = np.einsum("nk,nk->n", seen, reflexes)[:, None]
        found, others = lanes.step(torque), threads.step(torque)
        check_same(lanes, threads, found, others)
        seen = found[0]
        ends += int(found[2].sum())
        changes += int((threads.mechanisms.bases.numpy() > 0).sum())
        if found[2].any():
            np.testing.assert_array_equal(others[4]["ended"].numpy(), found[4]["ended"])
    assert ends > 100 and changes


@pytest.mark.parametrize("word", ns.gym.TASKS)
def test_a_card_can_have_the_kernel(both, word):
    """As PTX; its text is the one that ran above."""
    kept = []

    class Device(HostDevice):
        def kernel(self, text, tables=()):
            kept.append(text)
            return super().kernel(text, tables)

    _, threads = both(word, device=Device())
    threads.reset(seed=0)
    assert ".entry noslip_integrate" in ptx_of(kept[0], 90)


def test_what_does_not_fit_is_refused(both, refuses, monkeypatch):
    _, threads = both("drive", n=3)
    threads.reset(seed=0)
    fix = "(3, 2) of float32 or float64"
    with refuses(ns.SimulationError, "numbers of type int64", "model 'carriage'", fix):
        threads.step(Foreign(np.zeros((3, 2), np.int64)))
    with refuses(ns.SimulationError, "shape (2, 3)", "model 'carriage'", fix):
        threads.step(Foreign(np.zeros((2, 3))))
    with monkeypatch.context() as patch:
        patch.setattr(periods, "APART", -1.0)  # as where rows repeat
        with refuses(ns.SimulationError, "by the processor alone", "model 'carriage'", "'cpu'"):
            both("drive")
    with refuses(ns.DeviceError, "environments need", "model 'carriage'", "fewer"):
        both("drive", n=1000, device=HostDevice(memory=2**12))
    with refuses(ns.SimulationError, "device is 'gpu'", "noslip.gym.make_vec_env", "'cuda'"):
        ns.gym.make_vec_env(task="drive", device="gpu")


@pytest.mark.cuda
def test_a_card_has_the_episodes_of_the_processor(both, rng):
    from noslip.engines.cuda_driver import cuda_device

    try:
        card = cuda_device()
    except ns.DeviceError as error:
        pytest.skip(error.what)
    for word in ns.gym.TASKS:
        lanes, threads = both(word, n=500, device=card, limit=15)
        lanes.reset(seed=3), threads.reset(seed=3)
        for _ in range(40):
            actions = rng.uniform(-0.5, 0.5, lanes.action_space.shape).astype(np.float32)
            check_same(lanes, threads, lanes.step(actions), threads.step(actions))
