"""What runs and batches answer when asked for what they do not have, and who ended them."""

import copy

import numpy as np
import pytest

import noslip as ns

START = {"disk.tilt": 1.2, "disk.spin_rate": -6.0}
STOPS = {"never": "disk.x - 100", "soon": "t - 0.25", "late": "t - 0.4"}


@pytest.fixture(scope="module")
def batch(disk):
    starts = START | {"disk.tilt": [1.2, 1.3, 1.4]}
    return ns.simulate_batch(
        disk, duration=0.5, start=starts, parameters={"m": [1.0, 2.0, 3.0]},
        definitions={"far": [0.1, 0.2, 0.3]}, columns=["disk.x", "disk.tilt"],
        keep=["final", "minimum", "samples"], samples=5, events={"low": "disk.tilt - 1.25"},
    )  # fmt: skip


class TestWhoEndedIt:
    def test_a_run(self, disk):
        run = ns.simulate(disk, duration=0.5, start=START, stop=STOPS, events={"e": "t - 0.1"})
        assert run.ended_by == "soon" and run.t[-1] == pytest.approx(0.25, abs=1e-12)

    def test_a_run_that_ends_by_itself(self, disk):
        assert ns.simulate(disk, duration=0.2, start=START, stop=STOPS).ended_by is None
        flat = ns.simulate(disk, duration=9.0, start={"disk.tilt": 0.3}, on_failure="return")
        assert flat.ending is ns.Ending.SINGULAR and flat.ended_by is None

    def test_a_folder_keeps_it(self, tmp_path):
        b = ns.ModelBuilder("bob", gravity=(0.0, 0.0, -9.81))
        b.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -1.0))
        b.joint("swing", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="world", child="bob")
        stop = {"lowest": "swing.angle"}
        b.scenario(ns.Scenario(duration=3.0, start={"swing.angle": 0.4}, stop=stop))
        result = ns.run_scenario(ns.compile(ns.derive(b.build())))
        folder = ns.write_run(result, tmp_path / "run", plots=False)
        assert ns.read_run(folder).ended_by == result.ended_by == "lowest"


class TestMissingNames:
    WHERE = "batch of model 'rolling-disk'"

    @pytest.mark.parametrize("table", ["final", "minimum", "samples"])
    def test_columns_of_a_batch(self, batch, refuses, table):
        with refuses(ns.SimulationError, "there is no column 'disk.tlt'", self.WHERE):
            getattr(batch, table)["disk.tlt"]

    def test_what_was_not_kept(self, batch, refuses):
        with refuses(ns.SimulationError, "'disk.x'", self.WHERE, "keep=['maximum']"):
            batch.maximum["disk.x"]
        with refuses(ns.SimulationError, "'disk.y'", self.WHERE, "name it in columns=['disk.y',"):
            batch["disk.y"]

    def test_a_number_for_a_name(self, batch, refuses):
        with refuses(ns.SimulationError, "'1'", self.WHERE, "batch['column'][1] is its value"):
            batch[1]

    def test_events(self, disk, batch, refuses):
        with refuses(ns.SimulationError, "there is no event 'lw'", self.WHERE, "'low'"):
            batch.event_times["lw"]
        run = ns.simulate(disk, duration=0.1, start=START, events={"low": "disk.tilt - 1.25"})
        with refuses(ns.SimulationError, "there is no event 'lw'", "trajectory of", "'low'"):
            run.event_states["lw"]

    def test_they_are_what_python_expects(self, disk, batch):
        """`in`, `get` and `except KeyError` work, and the message has its lines."""
        run = ns.simulate(disk, duration=0.1, start=START)
        for table in (batch, batch.final, batch.event_counts, run):
            with pytest.raises(KeyError) as caught:
                table["nothing"]
            assert str(caught.value).splitlines()[1].startswith("  where  ")
        for table in (batch, run):
            assert "disk.x" in table and "nothing" not in table and 0 not in table
        assert "time" in run
        assert "nothing" not in batch.final and batch.final.get("nothing") is None
        assert copy.copy(batch.final).keys() == dict(batch.final).keys() == {"disk.x", "disk.tilt"}

    @pytest.mark.parametrize("place", [3, 99, -4])
    def test_trajectories(self, batch, refuses, place):
        with refuses(ns.SimulationError, f"there is no trajectory {place}", self.WHERE):
            batch.message(place)
        with pytest.raises(IndexError):
            batch.message(place)
        assert batch.message(-1) == batch.message(2)


def test_endings_are_counted_as_numpy_counts(disk):
    """Three trajectories come to their end, two stop, one falls flat; in no order."""
    starts = START | {"disk.tilt": [1.2, 0.1, 1.5, 1.2, 1.2, 1.2], "disk.spin_rate": 6 * [-6.0]}
    starts["disk.spin_rate"][1] = 0.0
    when = {"late": [9.0, 9.0, 0.2, 9.0, 0.3, 9.0]}
    many = ns.simulate_batch(
        disk, duration=0.5, start=starts, definitions=when, stop={"then": "t - late"}
    )
    assert len(many) == many.count == len(many.endings) == 6
    found, counts = np.unique(many.endings, return_counts=True)
    assert found.tolist() == [ns.Ending.FINISHED, ns.Ending.EVENT, ns.Ending.SINGULAR]
    assert counts.tolist() == [3, 2, 1]
    assert np.flatnonzero(many.endings == ns.Ending.EVENT).tolist() == [2, 4]
    listed = list(ns.Ending)
    assert sorted(listed[::-1]) == listed
    with pytest.raises(TypeError):
        ns.Ending.EVENT < 1  # noqa: B015


def test_a_dataset_has_units_of_all_that_is_in_it(batch):
    data = batch.to_xarray()
    assert [n for n, v in data.variables.items() if "units" not in v.attrs] == ["ending"]
    units = {name: data[name].attrs["units"] for name in data.coords}
    assert units == {
        "parameter.m": "kg", "start.disk.tilt": "rad", "definition.far": "1", "time": "s"
    }  # fmt: skip


@pytest.mark.parametrize("value", ["3", b"3", np.str_("3")])
def test_a_text_is_no_parameter(disk, refuses, value):
    with refuses(ns.SimulationError, "which is not a number", "parameters", "give a number"):
        ns.simulate(disk, duration=0.1, start=START, parameters={"m": value})
    for given, what in ((value, "is not a number"), ([value, value], "are not numbers")):
        with refuses(ns.SimulationError, what, "batch of", "give a number"):
            ns.simulate_batch(disk, duration=0.1, start=START, parameters={"m": given})
