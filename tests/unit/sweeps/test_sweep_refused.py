"""What is wrong about a sweep is told once, before any work, and nothing is left behind."""

import threading

import numpy as np
import pytest

import noslip as ns
from noslip.show.report.study_reports import histogram_edges
from noslip.sweeps.store import read_chunk

WISH = {"vary": {"slope": "0.1:0.4:3"}, "measures": ["final:skate.x"], "duration": 0.1}


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "euler"},
        {"method": "rk4", "step": -1.0},
        {"max_steps": -1},
        {"max_step": float("nan")},
        {"tolerance": 0.0},
        {"samples": 1},
        {"stop": {"bad": "nosuch"}},
        {"stop": {"bad": "skate.x +* 2"}},
        {"events": {"bad": "skate.x +* 2"}},
        {"events": {"bad": "nosuch"}},
        {"events": {"a": "skate.x"}, "stop": {"a": "skate.y"}},
        {"columns": {"c": "nosuch"}},
        {"stop": ["skate.x - 1"]},
        {"events": "skate.x - 1"},
        {"retry": {"bogus": 1}},
        {"retry": {"method": "euler"}},
        {"chunk": 0},
        {"threads": 0},
        {"on": "nowhere"},
    ],
    ids=str,
)
@pytest.mark.parametrize("lanes", [None, 0])
def test_a_wrong_setting_is_one_fault_and_leaves_nothing(tmp_path, settings, lanes):
    folder = tmp_path / "parent" / "study"
    with pytest.raises(ns.NoslipError):
        ns.sweep(ns.load("knife-edge"), folder=folder, lanes=lanes, **{**WISH, **settings})
    assert not list(tmp_path.iterdir())


def test_without_a_scheduler_nothing_is_left(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from noslip.sweeps import execute

    monkeypatch.setattr(execute, "CONNECT", 0.2)
    with pytest.raises(ns.SimulationError, match="scheduler"):
        ns.sweep(ns.load("knife-edge"), folder=tmp_path / "study", on="tcp://127.0.0.1:1", **WISH)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3),
        np.full(3, 10.0),
        10.0 + 1e-15 * np.arange(3),
        np.full(40, -1e-320),
        np.array([1e300, np.nextafter(1e300, 2e300)]),
        np.array([-1.7e308, 1.7e308]),
        np.array([5.0]),
        np.zeros(0),
        np.linspace(-1.0, 2.0, 1000),
    ],
    ids=str,
)
def test_bars_hold_all_values_however_close(values):
    edges = histogram_edges(values)
    assert np.all(np.diff(edges) > 0) and np.isfinite(edges).all()
    counts, _ = np.histogram(values, bins=edges)
    assert counts.sum() == len(values)


def may_others_read():
    """Whether another thread gets h5py's lock."""
    from h5py._objects import phil

    got = []

    def ask():
        got.append(phil.acquire(False))
        if got[0]:
            phil.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return got[0]


@pytest.mark.slow
def test_a_chunk_with_a_wrong_bit_is_read_as_it_was_or_named(tmp_path, rng):
    """Every bit of a chunk: its values are those that were written, or the file is refused."""
    folder = tmp_path / "study"
    ns.sweep(ns.load("knife-edge"), folder=folder, **WISH, chunk=3)
    (path,) = folder.glob("chunks/*/*/*.nc")
    right, data = read_chunk(path, WISH["measures"]), path.read_bytes()
    refused = 0
    for place in rng.integers(0, 8 * len(data), 600).tolist():
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            found = read_chunk(path, WISH["measures"])
        except ns.StorageError as error:
            assert str(path) == error.where and "remove" in error.fix
            assert may_others_read()  # while the error is remembered
            refused += 1
            continue
        for measure, values in right.values.items():
            np.testing.assert_array_equal(found.values[measure], values)
        np.testing.assert_array_equal(found.endings, right.endings)
        assert found.reasons == right.reasons
    assert refused > 20


def test_damage_that_a_dataset_meets_is_named(tmp_path):
    pytest.importorskip("xarray")
    folder = tmp_path / "study"
    data = ns.sweep(ns.load("knife-edge"), folder=folder, **WISH, chunk=3)
    assert np.isfinite(data["final:skate.x"].values).all()
    (path,) = folder.glob("chunks/*/*/*.nc")
    import h5py

    with h5py.File(path, "r+") as file:
        del file["m0"]
        file.create_group("m0").attrs["measure"] = "final:skate.x"
    with pytest.raises(ns.StorageError) as told:
        ns.open_sweep(folder)["final:skate.x"].values  # noqa: B018
    assert told.value.where == str(path)
