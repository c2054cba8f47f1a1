"""Random bytes and texts for every reader: a result, or what / where / fix; never anything else.

Inputs are mutations, drawn by Hypothesis, of the files in ``corpus/READER/``, which are read
themselves first. What fails is kept there, so that it is tried by every later run. ``make test``
spends 6 s on it, ``pytest --long`` three minutes, ``make fuzz`` an hour.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import noslip as ns
from noslip.base.files import foreign, read_manifest
from noslip.bridges.robots import facets_of
from noslip.expressions import arithmetic as expressions
from noslip.model import parse_model

CORPUS = Path(__file__).with_name("corpus")
#: s of CPU in a usual run, in a long one, for all readers together.
USUAL, LONG = 6.0, 180.0


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def file_of(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def reader(data: bytes, folder: Path) -> object:
        (folder / name).write_bytes(data)
        return read(folder / name)

    return reader


def expression(data: bytes, folder: Path) -> None:
    text = text_of(data)
    with contextlib.suppress(expressions.ExpressionError):
        # every name has a value: nothing is left that may be missing
        expressions.nominal(text, dict.fromkeys(expressions.names_of(text), 0.5))


def read_columns(path: Path) -> object:
    path.with_name("log.csv").write_bytes((CORPUS / "measured" / "good").read_bytes())
    try:
        return ns.read_measured(path.with_name("log.csv"))
    finally:
        path.unlink()


def read_log(path: Path) -> object:
    units = dict.fromkeys(("pos_x", "pos_y", "heading"), "mm")
    return ns.read_measured(path, units=units)


def read_mesh(path: Path) -> object:
    return facets_of(path.name, path.with_name("robot.urdf"), (1.0, 1.0, 1.0))


def read_folder(path: Path) -> object:
    return ns.read_run(path.parent)


#: Reader → how it reads bytes, in a folder that holds a run.
READERS: dict[str, Callable[[bytes, Path], object]] = {
    "model": lambda data, folder: parse_model(text_of(data)),
    "waypoints": file_of("way.csv", lambda path: ns.paths.parse_path(f"csv:{path}")),
    "run_csv": file_of("trajectory.csv", read_folder),
    "summary": file_of("summary.json", read_folder),
    "manifest": file_of(
        "manifest.json", lambda path: read_manifest(path.parent) and foreign(path.parent)
    ),
    "path": lambda data, folder: ns.paths.parse_path(text_of(data).removeprefix("csv")),
    "timing": lambda data, folder: ns.timing.parse_timing(text_of(data)),
    "controller": lambda data, folder: ns.controllers.parse_controller(text_of(data)),
    "expression": expression,
    "urdf": file_of("robot.urdf", ns.import_robot),
    "mjcf": file_of("robot.xml", ns.import_robot),
    "dh": file_of("arm.dh.csv", ns.import_robot),
    "factsheet": file_of("robot.factsheet.json", ns.import_robot),
    "order": file_of("order.json", ns.read_order),
    "bicycle": file_of("benchmark.txt", ns.load),
    "measured": file_of("measured.csv", read_log),
    "measured_columns": file_of("log.columns.toml", read_columns),
    "stl": file_of("mesh.stl", read_mesh),
    "obj": file_of("mesh.obj", read_mesh),
    "dae": file_of("mesh.dae", read_mesh),
}
#: Pieces that mutations put in.
PIECES = [
    *(b"\0", b"\xff", b"\n", b",", b"=", b":", b";", b"(", b"[", b'"', b"'", b"-", b"."),
    *(b"nan", b"inf", b"-inf", b"1e300", b"-1e-300", b"0", b"99999999999999999999", b"1" * 2000),
    *("ä".encode(), "😀".encode(), "\u2028".encode(), "\ud800".encode("utf-8", "surrogatepass")),
]


@st.composite
def mutations(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A file of the corpus with some pieces put in, taken out, doubled or replaced."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from([0, 1, 2, 5, 20, 100, 1000])))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        keep = draw(st.sampled_from(["put in", "replace", "take out", "double"]))
        middle = {"put in": piece + data[at:end], "replace": piece, "take out": b""}
        data = data[:at] + middle.get(keep, 2 * data[at:end]) + data[end:]
    return data[:200_000]


def attempt(name: str, data: bytes, folder: Path) -> None:
    """Read it; an error other than noslip's own is kept in the corpus and raised."""
    try:
        READERS[name](data, folder)
    except ns.NoslipError as error:
        assert error.what and error.where and error.fix
        str(error).encode("utf-8", "replace")


def fuzz(name: str, folder: Path, seconds: float, seed: int) -> int:
    """Try mutations for some time of CPU, one at least; how many."""
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    end, tried, failing = time.process_time() + seconds, 0, b""

    while time.process_time() < end:

        @hypothesis.seed(seed)
        @settings(
            max_examples=25,  # of a round, which goes on to its end when the time is over
            database=None,
            derandomize=False,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(mutations(seeds))
        def once(data: bytes) -> None:
            nonlocal tried, failing
            # Hypothesis's own beginning may take longer than a short time
            if tried and time.process_time() > end and not failing:
                return
            tried += 1
            try:
                attempt(name, data, folder)
            except BaseException:
                failing = data
                raise

        try:
            once()
        except BaseException:
            kept = CORPUS / name / f"found-{hashlib.sha256(failing).hexdigest()[:12]}"
            kept.write_bytes(failing)
            raise
        seed += 1
    return tried


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run whose trajectory is in CSV."""
    place = tmp_path_factory.mktemp("fuzz") / "run"
    shutil.copytree(CORPUS / "netcdf", place)
    for name, corpus in (("summary.json", "summary"), ("trajectory.csv", "run_csv")):
        shutil.copy(CORPUS / corpus / "good", place / name)
    (place / "trajectory.nc").unlink()
    (place / "manifest.json").write_bytes((CORPUS / "manifest" / "good").read_bytes())
    return place


@pytest.fixture
def restored(folder):
    """The same folder with its files whole again at the end."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    yield folder
    for path in folder.iterdir():
        path.unlink()
    for name, data in before.items():
        (folder / name).write_bytes(data)


@pytest.mark.parametrize("name", READERS)
def test_everything_in_the_corpus_is_read_or_refused(name, restored):
    for path in sorted((CORPUS / name).iterdir()):
        attempt(name, path.read_bytes(), restored)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_readers_fail_on_nothing(name, restored, pytestconfig):
    seconds = LONG if pytestconfig.getoption("--long") else USUAL
    seconds = pytestconfig.getoption("--fuzz") or seconds
    # a usual run tries the same each time, a longer one always something else
    seed = 16 if seconds == USUAL else time.time_ns() % 2**32
    assert fuzz(name, restored, seconds / (len(READERS) + 1), seed)


NETCDF = """
import random, sys, time
from pathlib import Path
import noslip as ns

folder, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
file = folder / "trajectory.nc"
whole, rng, tried = file.read_bytes(), random.Random(seed), 0
ns.read_run(folder)
for found in sys.argv[4:]:
    file.write_bytes(Path(found).read_bytes())
    try:
        ns.read_run(folder)
    except ns.NoslipError:
        pass
end = time.process_time() + seconds
while time.process_time() < end:
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 2, 5, 50])):
        at = rng.randrange(len(data))
        # most of what HDF5 believes is in its first pages
        at = at if rng.random() < 0.5 else rng.randrange(min(len(data), 4096))
        data[at] = rng.choice([0, 255, data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    file.write_bytes(data)
    (folder / "tried").write_bytes(data)
    try:
        ns.read_run(folder)
    except ns.NoslipError:
        pass
    tried += 1
print(tried)
"""


@pytest.mark.slow
def test_damaged_netcdf_is_read_or_refused(restored, tmp_path, pytestconfig):
    """In a process of its own: HDF5 is C, and must not take others with it."""
    folder = tmp_path / "run"
    shutil.copytree(restored, folder)
    shutil.copy(CORPUS / "netcdf" / "trajectory.nc", folder / "trajectory.nc")
    seconds = LONG if pytestconfig.getoption("--long") else USUAL
    seconds = (pytestconfig.getoption("--fuzz") or seconds) / (len(READERS) + 1)
    seed = 16 if seconds < LONG / 20 else time.time_ns() % 2**32
    found = sorted(map(str, (CORPUS / "netcdf").glob("found-*")))
    try:
        ended = subprocess.run(
            [sys.executable, "-c", NETCDF, str(folder), str(seconds), str(seed), *found],
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120 + 20 * seconds,
        )
        result = (ended.returncode, ended.stderr)
    except subprocess.TimeoutExpired:
        result = (None, "it hangs")
    if result != (0, ""):
        shutil.copy(folder / "tried", CORPUS / "netcdf" / f"found-{seed}")
    assert result == (0, "")
    assert int(ended.stdout) > 0


def test_a_heap_without_an_end_is_refused(restored, tmp_path, refuses):
    """Free space of no length, with which HDF5 would go on forever."""
    folder = tmp_path / "run"
    shutil.copytree(restored, folder)
    shutil.copy(CORPUS / "netcdf" / "found-endless-heap", folder / "trajectory.nc")
    with refuses(ns.SimulationError, "a heap of HDF5 has no end", "trajectory.nc", "run"):
        ns.read_run(folder)
