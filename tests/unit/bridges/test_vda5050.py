"""VDA 5050 factsheets: the vehicle's wheels, against equations by hand."""

import copy
import json
from math import pi

import pytest

import noslip as ns
from noslip.bridges.vda5050 import DENSITY, WHEEL_DENSITY
from noslip.errors import ModelError


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


def imported(tmp_path, factsheet, name="v.json"):
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
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ModelError, match="the text is not JSON"):
        ns.load(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match="the text is not JSON"):
        ns.load(tmp_path / "x.json")
