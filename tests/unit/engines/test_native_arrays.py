"""What reaches native code: its shape, type and layout are checked in one place."""

import ctypes
import mmap
import re
from pathlib import Path

import numpy as np
import pytest

import noslip as ns
from noslip.engines import address, given_table, work_memory
from noslip.engines.devices import HostDevice

SOURCE = Path(ns.__file__).parent

#: Ways to the address of an array.
WAYS = re.compile(r"\.ctypes\b|__array_interface__|\.from_buffer\(|\.data_as\(|byref\(\w*array")
#: Files that have others than `native_arrays`, and why.
ALLOWED = {
    "simulation/native_run.py": "one block of words that it lays out itself, in a microsecond",
}


def test_no_other_file_asks_an_array_for_its_address():
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if WAYS.search(re.sub(r"#.*", "", path.read_text()))
    }
    assert found - {"engines/native_arrays.py"} == set(ALLOWED)


class TestAddress:
    def test_is_that_of_an_array_in_one_piece(self):
        array = np.arange(6.0).reshape(2, 3)
        assert address("a", array, 6) == array.ctypes.data

    @pytest.mark.parametrize(
        ("array", "size", "kind"),
        [
            (np.zeros(3), 4, np.dtype(float)),
            (np.zeros(3, np.float32), 3, np.dtype(float)),
            (np.zeros(3), 3, np.int64),
            (np.zeros((2, 3)).T, 6, np.dtype(float)),
            (np.zeros(6)[::2], 3, np.dtype(float)),
            (np.zeros(3, ">f8"), 3, np.dtype(float)),
        ],
        ids=["short", "single", "kind", "transposed", "gaps", "bytes reversed"],
    )
    def test_others_are_refused(self, array, size, kind):
        with pytest.raises(ValueError):
            address("a", array, size, kind)

    def test_work_begins_on_a_line_and_fits(self):
        for size in (1, 7, 64):
            work, begin = work_memory(size)
            assert begin % 64 == 0
            assert work.ctypes.data <= begin <= work.ctypes.data + work.nbytes - 8 * size


class TestGivenTables:
    @pytest.mark.parametrize(
        "given",
        [
            np.zeros((3, 1)),
            np.zeros((3, 3)),
            np.zeros((2, 3)),
            np.zeros(6),
            np.zeros((3, 2, 1)),
            np.zeros((0, 2)),
            0.5,
            [[0.0, 1.0], [0.0], [0.0, 1.0]],
            np.zeros((3, 2), complex),
            np.zeros((3, 2), bool),
            np.full((3, 2), "0.5"),
            np.full((3, 2), None),
            np.zeros((3, 2), "datetime64[s]"),
            None,
            {"a": 1},
        ],
        ids=lambda given: str(getattr(given, "shape", given))[:20],
    )
    def test_other_shapes_and_types_are_refused(self, given):
        with pytest.raises(ns.SimulationError) as told:
            given_table(given, (3, 2), "actions", "here")
        assert told.value.where == "here" and "(3, 2)" in told.value.fix

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("kind", ["f4", ">f8", "i2", "u8"])
    def test_numbers_of_any_kind_and_layout_keep_their_places(self, order, kind):
        expected = np.arange(6.0).reshape(3, 2)
        found = given_table(expected.astype(kind, order=order), (3, 2), "actions", "here")
        np.testing.assert_array_equal(found, expected)
        assert found.flags.c_contiguous and found.dtype == float
        spread = np.zeros((6, 4))
        spread[::2, ::2] = expected
        np.testing.assert_array_equal(
            given_table(spread[::2, ::2], (3, 2), "actions", "here"), expected
        )

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_what_is_not_finite_is_refused_where_it_must_not_be(self, value):
        table = np.array([[0.0, value]])
        given_table(table, (1, 2), "numbers", "here")
        with pytest.raises(ns.SimulationError, match=r"at \(0, 1\)"):
            given_table(table, (1, 2), "numbers", "here", is_finite=True)


def test_memory_of_a_device_takes_no_more_than_it_has():
    memory = HostDevice().allocate(32)
    memory.upload(np.zeros(4))
    for array, offset in ((np.zeros(5), 0), (np.zeros(4), 8), (np.zeros(1), -8)):
        with pytest.raises(ValueError):
            memory.download(array, offset)
    for array in (np.zeros(5), np.zeros((2, 4)).T[:2]):
        with pytest.raises(ValueError):
            memory.upload(array)


@pytest.fixture
def guarded():
    """Arrays (n, 1) that end where a page begins that nobody may read."""
    page = mmap.PAGESIZE
    block = mmap.mmap(-1, 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(block))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    assert protect(ctypes.c_void_p(begin + page), page, 0) == 0

    def array(count):
        kind = ctypes.c_double * count
        return np.frombuffer(kind.from_address(begin + page - 8 * count)).reshape(count, 1)

    yield array
    protect(ctypes.c_void_p(begin + page), page, mmap.PROT_READ | mmap.PROT_WRITE)


class TestEnvironments:
    """Actions of every environment; a page behind the array ends the process if it is read."""

    @pytest.fixture(params=["one", "lanes", "device"])
    def env(self, request, system_of, monkeypatch):
        system = system_of("carriage")
        if request.param == "one":
            return ns.gym.make_env(system, "drive")
        if request.param == "lanes":
            return ns.gym.make_vec_env(system, "drive", 16)
        monkeypatch.setattr("noslip.engines.read_device", lambda *_: HostDevice())
        return ns.gym.make_vec_env(system, "drive", 16, device="cuda")

    def test_take_no_actions_of_another_shape(self, env, guarded):
        env.reset(seed=0)
        shape = env.action_space.shape
        wrong = [guarded(16), guarded(16)[:, 0], np.zeros((16, 3)), np.zeros(shape).T[None]]
        wrong += [
            np.zeros((2, 16)),
            np.zeros((*shape, 1)),
            0.5,
            None,
            "left",
            np.zeros(shape, bool),
        ]
        for actions in wrong:
            with pytest.raises(ns.SimulationError, match="actions"):
                env.step(actions)
        env.step(np.zeros(shape))

    def test_take_actions_of_any_layout(self, env):
        rng = np.random.default_rng(1)
        actions = rng.uniform(-1, 1, env.action_space.shape)
        spread = np.zeros((*actions.shape, 2))
        spread[..., 0] = actions
        seen = []
        for given in (actions, np.asfortranarray(actions), spread[..., 0], actions.tolist()):
            env.reset(seed=0)
            seen.append(np.asarray(env.step(given)[0]))
        for other in seen[1:]:
            np.testing.assert_array_equal(other, seen[0])
