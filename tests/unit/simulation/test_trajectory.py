"""What a run leaves: columns with units, residuals, energy and work, files; numbers all finite."""

import dataclasses

import numpy as np
import pytest
import xarray
from disk_start import DISK, TIGHT

import noslip as ns


@pytest.fixture(scope="module")
def disk_run(disk):
    return ns.simulate(disk, duration=2.0, start=DISK, samples=41, reactions=True, **TIGHT)


class TestTrajectory:
    def test_energy_and_constraints_along_the_run(self, disk_run):
        assert np.max(np.abs(disk_run.energy_error)) < 1e-10
        assert disk_run.energy_drift < 1e-11
        assert disk_run.gap < 1e-13
        assert disk_run.slip < 1e-13

    def test_a_run_has_all_its_fields_and_cannot_be_changed(self, disk):
        run = ns.simulate(disk, duration=0.1, start=DISK, samples=2)
        assert sorted(vars(run)) == sorted(field.name for field in dataclasses.fields(run))
        again = dataclasses.replace(run, message="again")
        assert again.message == "again"
        assert again.q is run.q
        with pytest.raises(dataclasses.FrozenInstanceError):
            run.message = "other"

    def test_columns_have_names_and_units(self, disk_run):
        columns = disk_run.columns
        assert columns["disk.x"][0] == "m"
        assert columns["disk.wz"][0] == "rad/s"
        assert columns["acceleration.disk.wz"][0] == "rad/s^2"
        assert columns["disk.tilt"][0] == "rad"
        assert columns["reaction.rim.normal"][0] == "N"
        assert columns["residual.rim.normal"][0] == "m/s"
        assert columns["rim.contact_x"][0] == "m"
        assert disk_run["disk.tilt"][0] == pytest.approx(1.3, abs=1e-14)
        assert np.array_equal(disk_run["time"], disk_run.t)

    def test_named_angles_are_those_of_the_start(self, disk_run):
        assert disk_run["disk.yaw"][0] == pytest.approx(0.0, abs=1e-14)
        assert disk_run["disk.spin"][0] == pytest.approx(0.0, abs=1e-14)
        # unwrapped: the disk turns by more than one revolution
        assert disk_run["disk.spin"][-1] < -2 * np.pi

    def test_layout_of_scipy(self, disk_run):
        assert disk_run.y.shape == (7 + 6, 41)
        assert np.array_equal(disk_run.y[:7].T, disk_run.q)

    def test_reactions_only_when_asked_for(self, disk):
        run = ns.simulate(disk, duration=0.1, start=DISK, samples=3)
        assert run.multipliers is None
        assert "reaction.rim.normal" not in run.columns

    def test_contact_point_is_below_the_center_along_the_disk(self, disk_run):
        place = np.column_stack([disk_run[f"rim.contact_{k}"] for k in "xyz"])
        assert np.linalg.norm(place - disk_run.q[:, :3], axis=1) == pytest.approx(0.5, abs=1e-13)
        assert place[:, 2] == pytest.approx(0.0, abs=1e-13)

    def test_netcdf_round_trip(self, disk_run, tmp_path):
        path = tmp_path / "run.nc"
        disk_run.to_netcdf(path)
        with xarray.open_dataset(path, engine="h5netcdf") as data:
            data.load()
        xarray.testing.assert_identical(data, disk_run.to_xarray())

    def test_csv_round_trip(self, disk_run, tmp_path):
        path = tmp_path / "run.csv"
        disk_run.to_csv(path)
        header, *lines = path.read_text().splitlines()
        names = [name.split(" [")[0] for name in header.split(",")]
        assert header.startswith("time [s],disk.x [m],")
        numbers = np.array([[float(x) for x in line.split(",")] for line in lines])
        for k, name in enumerate(names):
            assert np.array_equal(numbers[:, k], disk_run[name])

    def test_summary_is_honest(self, disk_run):
        text = disk_run.summary()
        assert text.startswith("The run reached its end time.  energy drift ")
        assert f"{disk_run.steps} steps, {disk_run.nfev} evaluations" in text
        assert repr(disk_run).startswith("Trajectory of 'rolling-disk': 41 samples, 0 … 2 s\n")


class TestWork:
    def test_work_of_inputs_and_losses_accounts_for_the_energy(self, system_of):
        run = ns.simulate(
            system_of("pendulum"),
            duration=3.0,
            start={"swing.angle": 0.5},
            inputs={"torque": "2*sin(3*t)"},
            **TIGHT,
        )
        assert np.ptp(run.work) > 0.1
        assert run.energy_drift < 1e-11


def test_no_sample_is_not_a_number(system_of):
    """A disk without mass cannot be projected: the run ends there, and what is kept is finite."""
    start = {"disk.tilt": 1.2, "disk.spin_rate": -8.0, "disk.yaw_rate": 0.3}
    run = ns.simulate(
        system_of("rolling-disk"),
        duration=2.0,
        start=start,
        parameters={"m": 0.0},
        on_failure="return",
    )
    assert np.all(np.isfinite(run.q))


def test_counts_are_spoken_with_their_nouns(system_of):
    """One sample, two trajectories."""
    disk = system_of("rolling-disk")
    run = ns.simulate(disk, duration=0.1, start={"disk.tilt": 1.2}, samples=[0.1])
    assert "1 sample," in repr(run)
    assert "'rolling-disk': 1 body, 1 joint, 1 contact, 5 parameters, 0 inputs" in repr(run.model)
    assert ": 10 states, 0 force inputs, 0 speed inputs, 5 parameters\n" in repr(disk)
    assert "3 states, 1 force input, " in repr(system_of("pendulum"))
    batch = ns.simulate_batch(disk, duration=0.1, start={"disk.tilt": 1.2}, count=2)
    assert repr(batch).startswith("Batch of 'rolling-disk': 2 trajectories: 2 finished; ")
