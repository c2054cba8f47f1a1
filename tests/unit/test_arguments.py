"""Arguments of public functions against their types: what nobody reads is refused all the same."""

import dataclasses
import inspect
import math

import numpy as np
import pytest

import noslip as ns
from noslip.base import checked

FAST = {"duration": 0.05, "samples": 3}
START = {"skate.vx": 0.4}


@pytest.mark.parametrize("value", ["no", np.nan, {}, [0.0], (), 2.5, 1j, len])
def test_what_is_no_truth_value_is_refused_before_the_call(system_of, value):
    with pytest.raises(ns.NoslipError, match=r"reactions is .*, expected True or False"):
        ns.simulate(system_of("knife-edge"), start=START, reactions=value, **FAST)
    with pytest.raises(ns.NoslipError, match=r"clockwise is .*, expected True or False"):
        ns.paths.Circle(radius=1.0, clockwise=value)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda s: ns.paths.reversed_path(3), "takes a Path, got int"),
        (lambda s: ns.paths.reversed_path([]), "takes a Path, got list"),
        (lambda s: ns.steady(s, {}, parameters=np.zeros((1, 1))), "parameters is"),
        (lambda s: ns.simulate(s, start=START, parameters=set(), **FAST), "parameters is"),
        (lambda s: ns.Undercarriage(locked={"elbow": True}), r"locked\['elbow'\] is True"),
        (lambda s: ns.load(sorce="agv"), "no argument 'sorce'"),
        (lambda s: ns.simulate(s, start=START, inputs={"tau": 10**400}, **FAST), "tau|inputs"),
    ],
)
def test_what_cannot_stand_for_its_type_is_refused(system_of, call, what):
    with pytest.raises(ns.NoslipError, match=what) as caught:
        call(system_of("knife-edge"))
    assert caught.value.where and caught.value.fix


@pytest.mark.parametrize(
    ("call", "what", "fix"),
    [
        (lambda: ns.paths.Circle(), "Circle needs radius", "give radius="),
        (lambda: ns.paths.Circle(2.0), "no arguments without a name, got 1", "write radius="),
        (lambda: ns.track(), "track needs system", "give system="),
        (lambda: ns.load("agv", source="agv"), "got source twice", "once"),
        (lambda: ns.joints.Revolute(), "Revolute needs axis", "give axis="),
        (lambda: ns.load("agv", 2, 3, 4), "got 4", "leave out|write"),
        (lambda: ns.ModelBuilder(), "ModelBuilder needs name", "give name="),
        (lambda: ns.ModelBuilder("x", gravity=(0, 0, 0)).body(), "body needs name", "give name="),
    ],
)
def test_too_few_and_too_many_arguments_are_named(call, what, fix):
    with pytest.raises(ns.NoslipError, match=rf"(?s){what}.*argument of.*({fix})") as caught:
        call()
    assert isinstance(caught.value, TypeError)


def test_methods_of_results_name_the_argument_at_fault(system_of, tmp_path):
    run = ns.simulate(system_of("knife-edge"), start=START, **FAST)
    with pytest.raises(ns.NoslipError, match="path is 3"):
        run.to_csv(3)
    with pytest.raises(ns.NoslipError, match=r"Trajectory\.save needs path"):
        run.save()
    batch = ns.evaluate_batch(system_of("knife-edge"), {"skate.vx": [0.1, 0.2]})
    with pytest.raises(IndexError, match="there are 2 variants"):
        batch[7]
    assert len(list(batch)) == 2


def test_numpy_s_numbers_and_booleans_are_taken(system_of):
    system = system_of("knife-edge")
    run = ns.simulate(system, start={"skate.vx": np.float64(0.4)}, reactions=np.True_, **FAST)
    same = ns.simulate(system, start=START, reactions=1, **FAST)
    assert run["skate.x"].tolist() == same["skate.x"].tolist()


@pytest.mark.parametrize("as_given", [np.array, list, tuple])
def test_points_may_be_arrays_and_lists(system_of, as_given):
    """Laws are hashed and compared by their values."""
    pose = ns.controllers.PoseTracking(point=as_given((0.1, 0.0, 0.0)))
    assert pose == ns.controllers.PoseTracking(point=(0.1, 0.0, 0.0))
    assert hash(pose) == hash(ns.controllers.PoseTracking(point=(0.1, 0.0, 0.0)))


@pytest.mark.parametrize("count", [-20, 0, 10**9, 2.5])
def test_whole_numbers_stay_within_their_ranges(system_of, count):
    circle = ns.paths.Circle(radius=2.0)
    with pytest.raises(ns.NoslipError, match=r"count is .*, expected a whole number") as caught:
        ns.timing.motor_limits(system_of("agv"), circle, {"torque1": 1.0}, count=count)
    assert caught.value.where == "argument of motor_limits" and caught.value.fix


def test_what_stands_for_an_argument_is_handed_on_as_one(system_of):
    """Where a value is asked whether it is true, an array of NumPy would raise."""
    system = system_of("knife-edge")
    measured = {"skate.x": 1.0, "skate.y": 0.2}
    found = [ns.complete_start(system, measured, nearest=true) for true in (True, np.True_, 1)]
    assert found[0].q.tolist() == found[1].q.tolist() == found[2].q.tolist()
    names = np.array(["m"])
    run = ns.simulate_sensitivities(system, start=START, with_respect_to=names, **FAST)
    assert list(run.names) == ["m"]
    for nothing in (np.zeros(0), []):
        with pytest.raises(ns.NoslipError, match="nothing to differentiate"):
            ns.simulate_sensitivities(system, start=START, with_respect_to=nothing, **FAST)
        with pytest.raises(ns.NoslipError, match="no formulations"):
            ns.verify(system.model, formulations=nothing)


def test_too_little_memory_is_said_with_what_asks_for_most():
    def asks(count: int, seed: int = 0) -> None:
        raise MemoryError

    with pytest.raises(ns.NoslipError, match=r"(?s)asks needs more memory.*count is 10000000"):
        checked(asks)(10**7, seed=123)


def test_names_of_files_beyond_all_bounds_are_refused(tmp_path):
    name = "(" * 300
    for read in (ns.read_run, ns.open_sweep, ns.load, ns.import_robot, ns.read_measured):
        with pytest.raises(ns.NoslipError):
            read(tmp_path / name)


def test_the_package_may_replace_what_it_refuses_from_others():
    """A copy by `dataclasses.replace` is judged by who asks for it."""
    assert inspect.isclass(ns.results.Integral)
    b = ns.ModelBuilder(name="factor", gravity=(0.0, 0.0, 0.0))
    b.body("p", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("p", ns.joints.Translation(), parent="world", child="p")
    row = "(1 + p.x^2)*(p.vz - p.y*p.vx - p.x*p.vy)"
    b.row(ns.rows.VelocityRow(name="c", expression=row))
    (found,) = ns.distribution(b.build()).integrals
    assert math.isnan(found.rows["c"])  # its factor is no constant
    with pytest.raises(ns.NoslipError, match="nan"):
        dataclasses.replace(found, rows={"c": math.nan})
