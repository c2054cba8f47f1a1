"""Writes that fail at a random byte: one sentence, older results whole, nothing left behind."""

import os
import random
import shutil
import subprocess
import sys

import pytest
from limits import largest_file, snapshot

import noslip as ns
from noslip.base.files import MANIFEST
from noslip.show import FigureFile


@pytest.fixture(scope="module")
def run(system_of):
    return ns.run_scenario(system_of("knife-edge"), duration=1.0)


@pytest.fixture(scope="module")
def sizes(run, tmp_path_factory):
    """Sizes of all files of a run's folder."""
    folder = ns.write_run(run, tmp_path_factory.mktemp("whole") / "run", plots=False)
    return sorted(path.stat().st_size for path in folder.iterdir())


def limits(sizes, count, seed=16):
    """Sizes at which some file of the folder fails, the edges of all files among them."""
    rng = random.Random(seed)
    edges = [size + change for size in sizes for change in (-1, 0)]
    at_random = (rng.randrange(1, sizes[-1]) for _ in range(count))
    return [limit for limit in (0, 1, *edges, *at_random) if limit < sizes[-1]]


def test_a_disk_that_is_full_at_any_byte_loses_nothing(run, sizes, tmp_path, pytestconfig):
    older = ns.write_run(run, tmp_path / "older", plots=False)
    (older / "notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    for limit in limits(sizes, 500 if pytestconfig.getoption("--long") else 15):
        for folder, force in (("new", False), ("older", True)):
            with pytest.raises(ns.StorageError) as caught, largest_file(limit):
                ns.write_run(run, tmp_path / folder, plots=False, force=force)
            error = caught.value
            assert "file too large" in error.what and "ulimit -f" in error.fix, limit
            assert error.where.startswith(str(tmp_path / folder)) and ".part" not in str(error)
            assert snapshot(tmp_path) == before, limit
    # and with room it goes on
    ns.write_run(run, older, plots=False, force=True)
    assert (older / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_a_file_that_cannot_be_written_leaves_the_one_before(run, tmp_path, suffix):
    file = tmp_path / f"run{suffix}"
    run.save(file)
    before = snapshot(tmp_path)
    for limit in limits([file.stat().st_size], 15):
        with pytest.raises(ns.StorageError), largest_file(limit):
            run.save(file)
        assert snapshot(tmp_path) == before


def test_a_batch_that_cannot_be_written_is_one_error(system_of, tmp_path):
    batch = ns.simulate_batch(
        system_of("knife-edge"), duration=1.0, count=300, keep=["samples"], samples=401
    )
    batch.to_netcdf(tmp_path / "whole.nc")
    size = (tmp_path / "whole.nc").stat().st_size
    assert size > 4 * 2**20, "some writes go to the disk at once"
    for limit in limits([size], 6):
        with pytest.raises(ns.StorageError), largest_file(limit):
            batch.to_netcdf(tmp_path / "half.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["whole.nc"]
    import xarray

    with xarray.open_dataset(tmp_path / "whole.nc", engine="h5netcdf") as found:
        assert found.equals(batch.to_xarray())


def test_figures_and_pages_that_cannot_be_written_are_one_error(run, system_of, tmp_path):
    figure = ns.plot(run)
    for name, write in {
        "figure.png": lambda path: FigureFile(path).save(figure),
        "film.gif": lambda path: ns.animate(run, path, width=64, height=48, rate=2.0),
        "model.toml": lambda path: ns.save_model(run.model, path),
    }.items():
        with pytest.raises(ns.NoslipError, match=r"(?i)file too large"), largest_file(100):
            write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_vanishes_is_one_error(run, tmp_path):
    def vanish(said):
        if said == "drawing":
            shutil.rmtree(tmp_path / "parent")

    with pytest.raises(ns.StorageError) as caught:
        ns.write_run(run, tmp_path / "parent" / "run", tell=vanish)
    assert "disappeared" in caught.value.what and caught.value.where.endswith("parent/run")


def test_a_folder_that_appears_meanwhile_is_not_replaced(run, tmp_path):
    """Whether another run made it, or anybody else."""
    notes = []

    def appear(said):
        if said == "writing":
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "thesis.tex").write_text("mine")

    made = ns.write_run(run, tmp_path / "run", plots=False, tell=appear, note=notes.append)
    assert made == tmp_path / "run-2" and (made / MANIFEST).exists()
    assert (tmp_path / "run" / "thesis.tex").read_text() == "mine"
    assert len(notes) == 1 and "run-2" in notes[0]


COMMAND = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from noslip.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("limit", [40_000])
def test_a_command_on_a_full_disk_ends_with_one_sentence(tmp_path, limit):
    words = ["run", "knife-edge", "-o", "out", "--no-report"]
    ended = subprocess.run(
        [sys.executable, "-B", "-c", COMMAND, str(limit), *words],  # -B: see limits.largest_file
        cwd=tmp_path,
        env=os.environ | {"NOSLIP_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    said = [line for line in ended.stderr.splitlines() if "machine code" not in line]
    assert said[0].startswith("StorageError: it cannot be written: file too large")
    assert len(said) == 3 and ended.stdout == ""
    assert not [path for path in tmp_path.iterdir() if path.name != "cache"]
