"""The store of a sweep: gone on with, extended, shared, refused, retried, and opened lazily."""

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import noslip as ns
from noslip import StorageError
from noslip.sweeps import StoreReader
from noslip.sweeps.store import read_store

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "hostile"))
from limits import largest_file  # noqa: E402

FUNCTION = f"{HERE / 'sweep_functions.py'}:logged"


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A function that sweeps x with a function that logs its calls, and the log."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("SWEEP_LOG", str(log))
    model = ns.load("knife-edge")

    def run(x, measures=("square",), **options):
        given = {"folder": tmp_path / "sweep", "chunk": 3, "threads": 2} | options
        return ns.sweep(model, measures, vary={"x": x}, work="function", function=FUNCTION, **given)

    run.calls = lambda: [float(line.split()[0]) for line in log.read_text().splitlines()]
    run.folder = tmp_path / "sweep"
    return run


def test_a_second_call_computes_nothing(swept):
    first, second = swept("0:9:10"), swept("0:9:10")
    assert sorted(swept.calls()) == list(range(10))
    assert np.array_equal(first["square"], np.arange(10.0) ** 2)
    assert np.array_equal(first["square"], second["square"]) and second.attrs["complete"] == 1


def test_a_cancelled_sweep_goes_on_where_it_was(swept):
    class Enough(threading.Event):
        """Set once a chunk of three points and a further point were computed."""

        def is_set(self):
            return len(swept.calls()) > 3

    part = swept("0:59:60", cancel=Enough(), threads=1)
    assert 0 < part.attrs["points_done"] < 60 and part.attrs["complete"] == 0
    done = np.isfinite(part["square"].values)
    assert done.sum() == part.attrs["points_done"] - (part["ending"] == "error").sum()
    whole = swept("0:59:60")
    counts = Counter(swept.calls())
    assert set(counts) == set(map(float, range(60)))
    # points of finished chunks once; of the chunk that was cut off at most twice
    assert all(counts[x] == 1 for x in np.flatnonzero(done))
    assert sum(counts.values()) <= 60 + 3 and whole.attrs["complete"] == 1


def test_more_points_and_measures_reuse_what_is_there(swept):
    swept("0:8:5")
    swept("0:8:9")  # every second point is new
    assert Counter(swept.calls()) == Counter(map(float, range(9)))
    both = swept("0:8:17", measures=("cube", "square"))
    # new measures need the nine old points once more; the eight new points are run once
    counts = Counter(swept.calls())
    assert all(counts[x] == (2 if x == int(x) else 1) for x in counts) and len(counts) == 17
    x = np.linspace(0, 8, 17)
    assert np.array_equal(both["square"], x**2) and np.array_equal(both["cube"], x**3)
    assert both.attrs["complete"] == 1 and both.attrs["points_done"] == 17


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": "0:9:4"}, "values of x are 0:9:4, in the store 0:8:5"),
        ({"set": {"y": 2.0}}, "setting 'set' is {'y': 2.0}, in the store it is {}"),
        ({"measures": ("cube",)}, "measure 'square' of the store is not requested"),
        ({"where": ["x < 5"]}, "the conditions are 'x < 5', in the store none"),
    ],
)
def test_another_request_is_refused_with_the_difference(swept, change, words):
    swept("0:8:5")
    given = {"x": "0:8:5"} | change
    with pytest.raises(ns.SimulationError) as caught:
        swept(given.pop("x"), **given)
    assert words in str(caught.value) and "choose another folder" in caught.value.fix


@pytest.mark.parametrize("name", ["x", "ending"])
def test_a_measure_with_a_name_that_is_taken_is_refused(swept, name):
    with pytest.raises(ns.SimulationError, match="give it another name"):
        swept("0:1:2", measures=(name,))
    assert not swept.calls() and not swept.folder.exists()


def test_another_model_or_target_is_refused_with_the_difference(tmp_path):
    options = {"vary": {"m": "1,2"}, "folder": tmp_path / "s", "duration": 0.1}
    ns.sweep(ns.load("knife-edge"), ["final:skate.x"], **options)
    with pytest.raises(ns.SimulationError, match="the model differs"):
        ns.sweep(ns.load("rolling-disk"), ["final:disk.x"], **options)
    request = tmp_path / "s" / "sweep.json"
    request.write_text(request.read_text().replace('"lanes": ', '"lanes": 9'))
    with pytest.raises(ns.SimulationError, match=r"computed with lanes '9\d'.*last bit"):
        ns.sweep(ns.load("knife-edge"), ["final:skate.x"], **options)
    ns.sweep(ns.load("knife-edge"), ["final:skate.x"], mix_targets=True, **options)


def test_a_folder_that_is_something_else_is_left_alone(swept, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(ns.SimulationError, match=r"not a sweep: it contains 'thesis\.txt'"):
        swept("0:1:2", folder=other)
    with pytest.raises(ns.SimulationError, match="not a folder of a sweep"):
        swept("0:1:2", folder=other / "thesis.txt")
    assert [p.name for p in other.iterdir()] == ["thesis.txt"] and not swept.calls()
    with pytest.raises(ns.SimulationError, match="it is not a sweep"):
        ns.open_sweep(other)


def test_failed_points_are_kept_and_tried_again_with_other_settings(swept):
    found = swept("12:14:3")
    assert found["ending"].values.tolist() == ["finished", "error", "finished"]
    assert found["reason"].values.tolist() == ["", "ValueError: unlucky", ""]
    assert found.attrs["points_failed"] == 1
    swept("12:14:3", retry={"set": {"y": 1.0}})
    assert Counter(swept.calls()) == Counter({12.0: 1, 13.0: 2, 14.0: 1})
    swept("12:14:3", retry={"set": {"y": 1.0}})
    assert len(swept.calls()) == 4, "the same settings are not tried twice"


def test_a_retry_with_more_steps_replaces_the_failure(tmp_path):
    options = {"vary": {"m": "1,2"}, "folder": tmp_path / "s", "duration": 2.0, "max_steps": 3}
    model = ns.load("knife-edge")
    failed = ns.sweep(model, ["final:skate.x"], **options)
    assert failed["ending"].values.tolist() == ["max_steps"] * 2
    better = ns.sweep(model, ["final:skate.x"], retry={"max_steps": 100_000}, **options)
    assert better["ending"].values.tolist() == ["finished"] * 2
    assert better.attrs["points_failed"] == 0
    other = ns.sweep(
        model, ["final:skate.x"], vary={"m": "1,2"}, folder=tmp_path / "t", duration=2.0
    )
    assert np.array_equal(better["final:skate.x"], other["final:skate.x"])


def test_a_full_disk_stops_it_cleanly_and_it_goes_on_later(swept, monkeypatch):
    first = swept("0:5:6", chunk=2)
    assert first.attrs["complete"] == 1
    with largest_file(300), pytest.raises(StorageError):
        swept("0:10:11", chunk=2)
    with largest_file(20_000), pytest.raises(StorageError):
        swept("0:10:11", chunk=2, measures=("square", *(f"cube [{k}]" for k in range(400))))
    again = swept("0:10:11", chunk=2)
    assert np.array_equal(again["square"], np.arange(11.0) ** 2)
    assert not [p for p in swept.folder.rglob(".*")]


def test_a_damaged_chunk_is_named_and_computed_anew(swept):
    swept("0:8:9")
    path = sorted(swept.folder.rglob("*.nc"))[1]
    data = bytearray(path.read_bytes())
    at = data.find(np.float64(16.0).tobytes())  # x = 4 of the second chunk
    data[at] ^= 1
    path.write_bytes(data)
    dataset = ns.open_sweep(swept.folder)
    assert float(dataset["square"][0]) == 0.0
    with pytest.raises(StorageError, match="damaged"):
        dataset["square"].load()
    path.unlink()
    assert np.array_equal(swept("0:8:9")["square"], np.arange(9.0) ** 2)


def test_only_the_chunks_that_are_asked_for_are_read(swept):
    swept("0:29:30")
    reader = StoreReader(read_store(swept.folder))
    read = []
    usual = reader.store.read
    reader.store.read = lambda path, *rest: (read.append(path.name), usual(path, *rest))[1]
    assert reader.read("square", np.array([7, 8])).tolist() == [49.0, 64.0]
    assert read == ["000000002.0f.nc"]
    dataset = ns.open_sweep(swept.folder)
    assert dataset["square"].sel(x=[3.0, 20.0]).values.tolist() == [9.0, 400.0]
    assert dataset["square"][5:8].values.tolist() == [25.0, 36.0, 49.0]


def test_a_store_of_a_billion_points_opens_at_once(tmp_path):
    """Only what is asked for is computed or read; the rest is not a number yet."""
    cancel = threading.Event()
    cancel.set()
    dataset = ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x"],
        vary={"m": "1:2:1000"},
        sample={"slope": "gauss:0.2,0.01"},
        draws=1_000_000,
        folder=tmp_path / "s",
        chunk=100_000,
        cancel=cancel,
        duration=0.1,
    )
    assert dataset["final:skate.x"].shape == (1000, 1_000_000)
    assert np.isnan(float(dataset["final:skate.x"][999, 999_999]))
    assert 0.1 < float(dataset["slope"][999_999]) < 0.3


COMMAND = """
import sys, noslip as ns
ns.sweep(ns.load("knife-edge"), ["square"], vary={"x": "100:159:60"}, work="function",
         function=sys.argv[2], folder=sys.argv[1], chunk=3, threads=1)
"""


@pytest.mark.slow
def test_two_processes_share_the_work(swept, monkeypatch):
    monkeypatch.setenv("SWEEP_SLEEP", "0.01")
    source = str(Path(ns.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", COMMAND, str(swept.folder), FUNCTION]
    both = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert Counter(swept.calls()) == Counter(map(float, range(100, 160)))
    dataset = ns.open_sweep(swept.folder)
    assert np.array_equal(dataset["square"], np.arange(100.0, 160.0) ** 2)
