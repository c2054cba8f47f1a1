"""VDA 5050 factsheets: the vehicle's wheels, against equations by hand."""

import copy
import json
from math import atan2, inf, pi, sqrt

import numpy as np
import pytest

import noslip as ns
from noslip import ModelError
from noslip.bridges.vda5050 import DENSITY, WHEEL_DENSITY
from noslip.control.path_geometry import length


def wheel(kind, x, y, *, driven=False, steered=False, **more):
    return {
        "type": kind, "isActiveDriven": driven, "isActiveSteered": steered,
        "position": {"x": x, "y": y, "theta": 0.0}, "diameter": 0.2, "width": 0.05, **more,
    }  # fmt: skip


FACTSHEET = {
    "headerId": 1, "timestamp": "2026-01-01T00:00:00.000Z", "version": "3.0.0",
    "manufacturer": "Example", "serialNumber": "7",
    "typeSpecification": {"seriesName": "carrier 7", "maximumLoadMass": 100.0},
    "physicalParameters": {
        "minimumSpeed": 0.05, "maximumSpeed": 1.5, "maximumAcceleration": 0.5,
        "maximumDeceleration": 0.8, "minimumHeight": 0.3, "maximumHeight": 0.3,
        "width": 0.6, "length": 0.9,
    },
    "mobileRobotGeometry": {
        "wheelDefinitions": [
            wheel("DRIVE", 0.0, 0.25, driven=True),
            wheel("DRIVE", 0.0, -0.25, driven=True),
            wheel("CASTER", 0.35, 0.0, centerDisplacement=0.04),
        ]
    },
}  # fmt: skip


def imported(tmp_path, factsheet, name="v.factsheet.json"):
    (tmp_path / name).write_text(json.dumps(factsheet))
    return ns.import_robot(tmp_path / name)


def test_a_differential_drive_moves_by_its_torques(tmp_path):
    model, notes = imported(tmp_path, FACTSHEET, "carrier.factsheet.json")
    assert model.name == "carrier-7"
    assert any("a factsheet has no mass" in note for note in notes)
    assert any("maximumSpeed = 1.5 m/s" in note for note in notes)
    system = ns.compile(ns.derive(model))
    assert len(system.independent_speeds) == 2
    assert [u.name for u in system.inputs] == ["wheel1_axle_torque", "wheel2_axle_torque"]
    inputs = dict.fromkeys(["wheel1_axle_torque", "wheel2_axle_torque"], 2.0)
    here = ns.evaluate(system, {}, inputs=inputs)
    # three wheels that roll straight, each of I = m r²/2
    chassis, own = DENSITY * 0.3 * 0.6 * 0.9, WHEEL_DENSITY * pi * 0.1**2 * 0.05
    expected = 2 * 2.0 / 0.1 / (chassis + 3 * own * 1.5)
    assert here.accelerations["base.vx"] == pytest.approx(expected, rel=1e-12)
    assert here.accelerations["base.rate"] == pytest.approx(0.0, abs=1e-12)


def test_a_steered_wheel_has_two_motors(tmp_path):
    tricycle = copy.deepcopy(FACTSHEET)
    tricycle["mobileRobotGeometry"]["wheelDefinitions"] = [
        wheel("FIXED", 0.0, 0.25),
        wheel("FIXED", 0.0, -0.25),
        wheel("DRIVE", 0.6, 0.0, driven=True, steered=True),
    ]
    model, _ = imported(tmp_path, tricycle)
    inputs = [i.name for i in model.inputs]
    assert inputs == ["wheel3_steer_torque", "wheel3_axle_torque"]
    system = ns.compile(ns.derive(model))
    # one speed along the path, one of the steering; tan δ = L ω / v by hand
    run = ns.evaluate(system, {"wheel3_steer.angle": 0.3, "wheel3_axle.rate": 2.0})
    v, rate = run.speeds["base.vx"], run.speeds["base.rate"]
    from math import cos, tan

    assert v == pytest.approx(0.1 * 2.0 * cos(0.3), rel=1e-12)
    assert rate == pytest.approx(v * tan(0.3) / 0.6, rel=1e-12)


CASES = {
    "version": (lambda f: f.update(version="2.1.0"), "version 2.1.0, version 3 is read"),
    "no version": (lambda f: f.pop("version"), "has no version"),
    "no wheels": (lambda f: f["mobileRobotGeometry"].clear(), "there are no wheelDefinitions"),
    "no size": (lambda f: f.pop("physicalParameters"), "there is no object 'physicalParameters'"),
    "size": (lambda f: f["physicalParameters"].update(width=-1), "'width' is -1 m"),
    "type": (
        lambda f: f["mobileRobotGeometry"]["wheelDefinitions"][0].update(type="TRACK"),
        "a wheel is of type 'TRACK'",
    ),
    "caster": (
        lambda f: f["mobileRobotGeometry"]["wheelDefinitions"][2].pop("centerDisplacement"),
        "has no centerDisplacement",
    ),
    "number": (
        lambda f: f["mobileRobotGeometry"]["wheelDefinitions"][0].update(diameter="big"),
        "'diameter' is 'big'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_faults_are_told(tmp_path, case):
    change, what = CASES[case]
    bad = copy.deepcopy(FACTSHEET)
    change(bad)
    with pytest.raises(ModelError) as caught:
        imported(tmp_path, bad)
    assert any(what in fault.what and fault.fix for fault in caught.value.faults)


def test_what_is_no_json_is_told(tmp_path):
    (tmp_path / "x.factsheet.json").write_text("{")
    with pytest.raises(ModelError, match="the text is not JSON"):
        ns.load(tmp_path / "x.factsheet.json")
    (tmp_path / "x.factsheet.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match="the text is not JSON"):
        ns.load(tmp_path / "x.factsheet.json")


def test_a_mecanum_factsheet_drives_sideways_as_its_controller_says(tmp_path):
    sheet = copy.deepcopy(FACTSHEET)
    sheet["mobileRobotGeometry"]["wheelDefinitions"] = [
        wheel("MECANUM", x, y, driven=True) for x in (0.3, -0.3) for y in (0.25, -0.25)
    ]
    model, notes = imported(tmp_path, sheet)
    assert any("±45° are taken" in note for note in notes)
    system = ns.compile(ns.derive(model))
    assert len(system.independent_speeds) == 3
    vx, vy, w = 0.4, -0.2, 0.3
    here = ns.evaluate(system, {"base.vx": vx, "base.vy": vy, "base.rate": w})
    # mecanum_drive_controller: front left, front right, rear left, rear right
    for k, (aside, turn) in enumerate(((-1, -1), (1, 1), (1, -1), (-1, 1)), 1):
        expected = (vx + aside * vy + turn * 0.55 * w) / 0.1
        assert here.speeds[f"wheel{k}_axle.rate"] == pytest.approx(expected, rel=1e-12)


def test_the_slip_of_wheels_that_slide_is_a_column(tmp_path):
    sheet = copy.deepcopy(FACTSHEET)
    sheet["mobileRobotGeometry"]["wheelDefinitions"] = [
        wheel("DRIVE", 0.3, 0.2, driven=True, steered=True),
        wheel("DRIVE", 0.3, -0.2, driven=True, steered=True),
        wheel("FIXED", -0.3, 0.2),
    ]
    model, _ = imported(tmp_path, sheet)
    system = ns.compile(ns.derive(model))
    state = {
        "wheel1_steer.angle": 0.3,
        "wheel2_steer.angle": 0.1,
        "base.vx": 1.0,
        "base.angle": 2.1,
    }
    here = ns.evaluate(system, state, outputs={"slip": "wheel2.slip_angle"})
    turning = here.speeds["base.rate"]
    # the center of the other wheel moves with the base, at (0.3, −0.2)
    moving = atan2(here.speeds["base.vy"] + 0.3 * turning, 1.0 + 0.2 * turning)
    assert here.outputs["slip"] == pytest.approx(moving - 0.1, abs=1e-12)


# orders


def node(k, x, y, *actions, released=True, **more):
    listed = [{"actionType": a, "actionId": a, "blockingType": how} for a, how in actions]
    place = {"x": x, "y": y, "mapId": "m", **more}
    return {"nodeId": f"n{k}", "sequenceId": 2 * k, "released": released, "nodePosition": place,
            "actions": listed}  # fmt: skip


def edge(k, *, released=True, **more):
    return {"edgeId": f"e{k}", "sequenceId": 2 * k + 1, "released": released, "actions": [], **more}


W = sqrt(0.5)
QUARTER = {
    "degree": 2, "knotVector": [0, 0, 0, 1, 1, 1],
    "controlPoints": [{"x": 4, "y": 0}, {"x": 5, "y": 0, "weight": W}, {"x": 5, "y": 1}],
}  # fmt: skip
ORDER = {
    "version": "3.0.0", "orderId": "fetch", "orderUpdateId": 0,
    "nodes": [
        node(0, 0, 0), node(1, 2, 0, ("beep", "NONE")), node(2, 4, 0), node(3, 5, 1),
        node(4, 5, 3, ("pick", "HARD"), theta=1.57), node(5, 5, 1), node(6, 3, 1),
        node(7, 0, 1, released=False),
    ],
    "edges": [
        edge(0, maximumSpeed=1.5), edge(1, maximumSpeed=1.2), edge(2, trajectory=QUARTER),
        edge(3, corridor={"leftWidth": 1, "rightWidth": 1}), edge(4, orientation=pi),
        edge(5, orientation=pi), edge(6, released=False),
    ],
}  # fmt: skip


def mission(tmp_path, order):
    (tmp_path / "order.json").write_text(json.dumps(order))
    return ns.read_order(tmp_path / "order.json")


def test_an_order_becomes_legs_between_stops(tmp_path):
    found = mission(tmp_path, ORDER)
    assert found.name == "fetch"
    assert [leg.nodes for leg in found.legs] == [
        ("n0", "n1", "n2", "n3", "n4"), ("n4", "n5"), ("n5", "n6"),
    ]  # fmt: skip
    first, back, last = found.legs
    # two lines, a quarter of a circle exactly, and a line
    assert length(first.path) == pytest.approx(4 + pi / 2 + 2, rel=1e-9)
    assert first.maximum_speed == 1.2 and back.maximum_speed == inf
    assert first.actions == ("pick",) and first.heading == 1.57
    assert not first.is_backward and back.is_backward and last.is_backward
    assert any("2 of its nodes and edges are not released" in note for note in found.notes)
    assert any("corridor" in note for note in found.notes)


def test_a_vehicle_drives_a_leg(tmp_path, system_of):
    straight = {"nodes": ORDER["nodes"][:3], "edges": ORDER["edges"][:2]}
    (leg,) = mission(tmp_path, {**ORDER, **straight}).legs
    timing = ns.timing.Trapezoidal(speed=leg.maximum_speed, acceleration=0.5)
    run = ns.track(system_of("differential-robot"), leg.path, timing=timing)
    assert run["base.x"][-1] == pytest.approx(4.0, abs=1e-6)
    assert np.max(run["base.vx"]) == pytest.approx(1.2, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"version": "2.1.0"}, "the order is of version 2.1.0"),
        ({"version": None}, "has no version"),
        ({"nodes": 3}, "'nodes' is not a list"),
        ({"edges": ORDER["edges"][:2]}, "7 released nodes and 2 released edges"),
        ({"nodes": [{**node(0, 0, 0), "nodePosition": None}, node(1, 1, 0)],
          "edges": [edge(0)]}, "has no nodePosition"),
        ({"nodes": [node(0, 0, 0), node(1, 0, 0)], "edges": [edge(0)]}, "the line starts and ends"),
        ({"nodes": [node(0, 0, 0), node(1, 1, 0)],
          "edges": [edge(0, trajectory=QUARTER)]}, "starts 4 m from its node"),
        ({"nodes": [node(0, 4, 0), node(1, 5, 1)],
          "edges": [edge(0, trajectory={**QUARTER, "knotVector": [1, 0]})]}, "knots are given"),
        ({"nodes": [node(0, 1e999, 0), node(1, 5, 1)], "edges": [edge(0)]}, "'x' is inf"),
        ({"nodes": [node(0, 0, 0), node(1, 5, 1)], "edges": [edge(0, maximumSpeed=-1)]}, "-1 m/s"),
    ],
)  # fmt: skip
def test_orders_that_are_wrong_are_refused(tmp_path, change, what):
    with pytest.raises(ModelError, match=what):
        mission(tmp_path, {**ORDER, **change})
