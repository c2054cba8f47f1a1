"""Works of a sweep give what the functions they stand for give, point by point."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import noslip as ns
from noslip.sweeps.design import read_design
from noslip.sweeps.execute import measure_block
from noslip.sweeps.measures import Layer, whole
from noslip.sweeps.store import make_work

DISK = "rolling-disk"


def swept(tmp_path, model, measures, **options):
    return ns.sweep(model_of(model), measures, folder=tmp_path / "sweep", **options)


def model_of(name):
    return ns.load(name)


def test_runs_in_lanes_measure_what_single_runs_do(tmp_path, system_of):
    """All measures at once, of a run that ends early too."""
    measures = [
        *("final:disk.x", "start:disk.tilt", "at:disk.x:0.55", "min:disk.tilt", "max:disk.tilt"),
        *(
            "when_min:disk.tilt",
            "when_max:disk.tilt",
            "mean:disk.x",
            "rms:disk.y",
            "history:disk.x",
        ),
        *("event:low", "event:low:2", "count:low", "event:fell", "max:lift"),
    ]
    options = dict(
        vary={"disk.tilt": "0.7:1.4:3", "m": "1,2"},
        duration=1.0,
        samples=41,
        events={"low": "disk.tilt_rate"},
        stop={"fell": "disk.tilt - 0.6"},
        columns={"lift": "acceleration(disk, 0, 0, 0).z"},
        set={"disk.yaw_rate": 0.1},
    )
    laned = swept(tmp_path / "a", DISK, measures, **options)
    single = swept(tmp_path / "b", DISK, measures, lanes=0, **options)
    assert "event" in laned["ending"].values
    for name in measures:
        np.testing.assert_allclose(laned[name], single[name], rtol=1e-6, atol=1e-7, err_msg=name)
    assert (laned["ending"] == single["ending"]).all()
    run = ns.run_scenario(
        system_of(DISK),
        changes={"disk.tilt": 1.05, "m": 2.0, "disk.yaw_rate": 0.1},
        duration=1.0,
        stop={"fell": "disk.tilt - 0.6"},
    )
    point = laned.sel({"disk.tilt": 1.05, "m": 2.0}, method="nearest")
    assert float(point["final:disk.x"]) == pytest.approx(run["disk.x"][-1], abs=1e-8)
    assert laned["final:disk.x"].attrs["units"] == "m" and laned["m"].attrs["units"] == "kg"
    assert laned["history:disk.x"].dims[-1] == "time" and laned["time"].attrs["units"] == "s"


def test_chunks_do_not_change_a_bit(tmp_path):
    """Neither do neighbors in lanes: start values of the scenario depend on what is varied."""
    options = dict(
        vary={"r": "0.1:0.3:7"}, sample={"m": "gauss:2,0.1"}, draws=5, duration=0.5, seed=3
    )
    measures = ["final:disk.x", "mean:disk.tilt", "max:reaction.rim.normal"]
    one, other = (
        swept(tmp_path / str(n), DISK, measures, chunk=n, threads=t, **options)
        for n, t in ((35, 1), (4, 2))
    )
    for name in measures:
        assert np.array_equal(one[name], other[name]), name
    assert one["final:disk.x"].dims == ("r", "sample")


def test_a_scenario_with_a_motion_is_run_one_by_one(tmp_path, system_of):
    found = swept(tmp_path, "agv", ["max:torque1", "final:platform.x"], vary={"R": "1,2"})
    for k, radius in enumerate((1.0, 2.0)):
        run = ns.run_scenario(system_of("agv"), changes={"R": radius})
        assert float(found["max:torque1"][k]) == run["torque1"].max()
        assert float(found["final:platform.x"][k]) == run["platform.x"][-1]


def test_gradients_are_those_of_sensitivities_and_of_differences(tmp_path, system_of):
    found = swept(
        tmp_path,
        "knife-edge",
        ["gradient:skate.x:m", "gradient:kinetic_energy:slope", "final:kinetic_energy"],
        vary={"slope": "0.2,0.200001,0.3"},
        duration=1.0,
        set={"F_v": 0.4},
    )
    exact = ns.simulate_sensitivities(
        system_of("knife-edge"),
        with_respect_to=["m"],
        duration=1.0,
        start={"skate.rate": 1.5},
        inputs={"F_v": 0.4},
        parameters={"slope": 0.3},
    )
    assert float(found["gradient:skate.x:m"][2]) == pytest.approx(
        exact["skate.x", "m"][-1], rel=1e-8
    )
    energy = found["final:kinetic_energy"].values
    slope = float(found["gradient:kinetic_energy:slope"][0])
    assert slope == pytest.approx((energy[1] - energy[0]) / 1e-6, rel=1e-4)  # O(step) of it
    assert found["gradient:skate.x:m"].attrs["units"] == "(m)/(kg)"


def test_linearize_finds_the_speeds_at_which_the_bicycle_is_stable(tmp_path, system_of):
    found = swept(
        tmp_path,
        "whipple-bicycle",
        ["eigenvalues", "growth", "stable"],
        work="linearize",
        vary={"speed": "4:6:3"},
    )
    assert found["stable"].values.tolist() == [0.0, 1.0, 1.0]
    there = ns.linearize(system_of("whipple-bicycle"), {"speed": 5.0}).eigenvalues
    parts = found["eigenvalues"][1].values
    assert parts[: 2 * len(there) : 2] == pytest.approx(there.real, abs=1e-9)
    assert parts[1 : 2 * len(there) : 2] == pytest.approx(there.imag, abs=1e-9)


def test_steady_and_evaluate_are_the_functions_of_these_names(tmp_path, system_of):
    system = system_of(DISK)
    turns = swept(
        tmp_path / "a",
        DISK,
        ["disk.spin_rate"],
        work="steady",
        vary={"disk.tilt": "1.2,1.4"},
        set={"disk.yaw_rate": 2.0},
    )
    for k, tilt in enumerate((1.2, 1.4)):
        motion = ns.steady(system, {"disk.tilt": tilt, "disk.yaw_rate": 2.0})
        known = {**motion.rates, **motion.values}
        assert float(turns["disk.spin_rate"][k]) == pytest.approx(known["disk.spin_rate"])
    instants = swept(
        tmp_path / "b",
        DISK,
        ["reaction.rim.normal", "kinetic_energy"],
        work="evaluate",
        vary={"m": "1,3"},
        set={"disk.tilt": 1.1, "disk.spin_rate": 2.0},
    )
    for k, mass in enumerate((1.0, 3.0)):
        instant = ns.evaluate(
            system, {"disk.tilt": 1.1, "disk.spin_rate": 2.0}, parameters={"m": mass}
        )
        assert float(instants["kinetic_energy"][k]) == instant.kinetic_energy
        normal = float(instants["reaction.rim.normal"][k])
        assert normal == instant.multipliers["rim.normal"]


def test_track_takes_varied_names_in_its_texts(tmp_path, system_of):
    found = swept(
        tmp_path,
        "agv",
        ["max:path.position_error", "final:platform.x"],
        work="track",
        path="circle:radius={radius}",
        timing="quintic:20",
        point="0,-a,0",
        direction="0,1,0",
        controller="pose",
        vary={"radius": "1.5,2"},
    )
    run = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=2.0),
        follower=ns.Follower(point=("0", "-a", "0"), direction=("0", "1", "0")),
        controller=ns.controllers.parse_controller("pose"),
        timing=ns.timing.Quintic(20.0),
    )
    assert float(found["final:platform.x"][1]) == pytest.approx(run["platform.x"][-1], abs=1e-7)
    assert set(found["ending"].values) == {"finished"}


def test_failures_of_single_points_are_kept_with_their_reasons(tmp_path):
    """A negative mass among good ones, in lanes, whatever its neighbors are."""
    found = swept(
        tmp_path,
        "knife-edge",
        ["final:skate.x"],
        vary={"m": "1,-1,2"},
        duration=0.2,
    )
    assert found["ending"].values.tolist() == ["finished", "error", "finished"]
    assert "mass" in str(found["reason"][1].values)
    assert np.isnan(found["final:skate.x"][1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": ["final:skate.z"]}, "there is no column 'skate.z'"),
        ({"measures": ["finale:skate.x"]}, "did you mean 'final'"),
        ({"measures": ["skate.x"]}, "final:skate.x"),
        ({"measures": ["at:skate.x:soon"]}, "not a number in s"),
        ({"measures": ["at:skate.x:99"]}, "after the end"),
        ({"measures": ["event:hit"]}, "declare it"),
        ({"measures": ["final:skate.x:3"]}, "is not expected"),
        ({"measures": ["gradient:skate.x:mm"]}, "did you mean 'm'"),
        ({"measures": []}, "nothing is measured"),
        ({"measures": ["final:skate.x"] * 2}, "given twice"),
        ({"vary": {"mas": "1,2"}}, "there is no parameter, start value or input 'mas'"),
        ({"vary": {"m": "1,2"}, "set": {"m": 1.0}}, "both varied and set"),
        ({"work": "ran"}, "did you mean 'run'"),
        ({"duraton": 2.0}, "did you mean 'duration'"),
        ({"duration": -1.0}, "positive"),
        ({"on": "thread"}, "did you mean 'threads'"),
        ({"on": "cuda"}, "NVIDIA"),
        ({"on": "cuda", "measures": ["gradient:skate.x:m"]}, "which a GPU cannot do"),
        ({"chunk": 0}, "chunk"),
    ],
)
def test_wrong_requests_are_refused_before_anything_runs(tmp_path, options, words):
    given = {"measures": ["final:skate.x"], "vary": {"m": "1,2"}, "duration": 1.0} | options
    with pytest.raises(ns.SimulationError, match=words):
        ns.sweep(ns.load("knife-edge"), given.pop("measures"), folder=tmp_path / "s", **given)
    assert not (tmp_path / "s").exists()


def test_bits_on_a_cluster_are_those_on_threads(tmp_path):
    """Two processes of Dask, other chunks; inputs with breaks in time among them."""
    pytest.importorskip("distributed")
    options = {
        "vary": {"m": "1:2:12"},
        "sample": {"slope": "uniform:0.1,0.4"},
        "draws": 5,
        "duration": 0.5,
    }
    measures = ["final:skate.x", "max:skate.vx", "when_max:skate.vx"]
    model = ns.load("knife-edge")
    own = ns.sweep(model, measures, folder=tmp_path / "threads", chunk=60, **options)
    other = ns.sweep(
        model, measures, folder=tmp_path / "dask", on="dask", threads=2, chunk=7, **options
    )
    for measure in measures:
        np.testing.assert_array_equal(other[measure].values, own[measure].values)
    assert own.attrs["complete"] == other.attrs["complete"] == 1


@pytest.mark.parametrize(
    ("clock", "points"),
    [
        # the first 64 points take 5 s, the same again 1 ms, 512 points 0.25 s
        ([0.0, 5.0, 5.0, 5.001, 6.0, 6.25], 4 * 512),
        # on a busy machine the call takes 0.4 s of the 64 points, and 0.5 s of 512
        ([0.0, 5.0, 5.0, 5.4, 6.0, 6.5], 2 * 512),
    ],
    ids=["idle", "busy"],
)
def test_points_of_a_chunk_are_timed_without_what_is_fixed(monkeypatch, clock, points):
    """A first batch that takes long, since it compiles, makes no small chunks; nor does a call."""
    times = iter(clock)
    clock_of = SimpleNamespace(perf_counter=lambda: next(times))
    monkeypatch.setattr("noslip.sweeps.execute.time", clock_of)
    design = read_design({"disk.tilt": "1:1.4:10000"}, {}, constants={})
    work = make_work("run", model_of(DISK), {"duration": 0.01}, ["final:disk.x"])
    layer = Layer(0, design, whole(design), ("final:disk.x",), 1)
    block, known = measure_block(work, layer, 1, threading.Event())
    assert block == points and len(known.endings) == 512
