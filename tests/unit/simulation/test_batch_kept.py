"""What a batch keeps: ends, extremes, samples, names and units."""

import numpy as np
import pytest
from batch_runs import COUNT, starts_of_disks

import noslip as ns


@pytest.fixture(scope="module")
def disk_starts():
    return starts_of_disks()


class TestKept:
    COMMON = {"duration": 2.0, "samples": 21, "columns": ["disk.x", "disk.tilt", "height"]}
    HEIGHT = {"height": "disk.z - 0.1*a"}

    def test_reductions_and_samples(self, disk, disk_starts):
        definitions = {"a": np.linspace(0, 1, COUNT), **self.HEIGHT}
        kwargs = {"start": disk_starts, "definitions": definitions, **self.COMMON}
        full = ns.simulate_batch(disk, keep=["samples"], **kwargs)
        least = ns.simulate_batch(disk, keep=["minimum", "maximum"], **kwargs)
        final = ns.simulate_batch(disk, **kwargs)
        assert not least.samples and not final.minimum and not full.maximum
        for name in self.COMMON["columns"]:
            assert np.array_equal(least.minimum[name], full.samples[name].min(axis=1))
            assert np.array_equal(least.maximum[name], full.samples[name].max(axis=1))
            assert np.array_equal(final[name], full[name])
            # the end is a state, samples at the same time are projected from the dense output
            assert final[name] == pytest.approx(full.samples[name][:, -1], abs=1e-12)
        assert full.units == {"disk.x": "m", "disk.tilt": "rad", "height": ""}

    def test_samples_go_where_they_are_wanted(self, disk, disk_starts, tmp_path):
        out = np.memmap(tmp_path / "samples", dtype=float, mode="w+", shape=(COUNT, 21, 2))
        kwargs = {"duration": 1.0, "samples": 21, "columns": ["disk.x", "disk.y"]}
        batch = ns.simulate_batch(disk, start=disk_starts, keep=["samples"], out=out, **kwargs)
        assert np.shares_memory(batch.samples["disk.y"], out)
        again = ns.simulate_batch(disk, start=disk_starts, keep=["samples"], **kwargs)
        assert np.array_equal(out[:, :, 1], again.samples["disk.y"])

    def test_names_and_units_in_a_dataset(self, disk, disk_starts, tmp_path, refuses):
        batch = ns.simulate_batch(
            disk,
            duration=1.0,
            start=disk_starts,
            parameters={"m": np.linspace(1, 2, COUNT)},
            columns=["disk.x"],
            keep=["minimum", "samples"],
            samples=3,
            events={"level": "disk.wx"},
        )
        path = tmp_path / "batch.nc"
        batch.to_netcdf(path)
        import xarray

        with xarray.open_dataset(path, engine="h5netcdf") as dataset:
            assert dataset["disk.x"].dims == ("trajectory", "time")
            assert dataset["disk.x"].attrs["units"] == "m"
            assert dataset["minimum.disk.x"].shape == (COUNT,)
            assert np.array_equal(dataset["final.disk.x"], batch["disk.x"])
            assert np.array_equal(dataset["parameter.m"], np.linspace(1, 2, COUNT))
            assert np.array_equal(dataset["start.disk.tilt"], disk_starts["disk.tilt"])
            assert dataset["event.level"].dims == ("trajectory", "occurrence")
            assert set(dataset["ending"].values.tolist()) == {"finished"}
            assert dataset.attrs["model"] == "rolling-disk"
        with refuses(ns.SimulationError, "NetCDF is not written as '.csv'", "batch.csv"):
            batch.to_netcdf(tmp_path / "batch.csv")
        batch.to_xarray().to_dataframe().to_csv(tmp_path / "batch.csv")
