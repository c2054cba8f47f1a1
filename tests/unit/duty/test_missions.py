"""Missions: what legs ask of motors, battery and wheels, and motors that bear it."""

import dataclasses
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main
from noslip.duty.cycle import zoned_timing
from noslip.missions import (
    Battery,
    Catalog,
    DriveLeg,
    DriveSamples,
    Gearmotor,
    Mission,
    MotorDuty,
    PlanLeg,
    StopLeg,
    TurnLeg,
    Zone,
    drive_mission,
    read_catalog,
    read_mission,
    size_drives,
)

FILE = """
name = "fetch"
model = "differential-robot"
friction = 0.6
speed = 0.8
acceleration = 0.4

[motors."left.torque"]
ratio = 20
efficiency = 0.85
peak_torque = 0.6
rated_torque = 0.2
maximum_speed = 420

[battery]
energy = 3600
standby = 20

[[legs]]
path = "line:start=0,0;end=2,0"
name = "out"

[[legs]]
turn = 1.5707963267948966

[[legs]]
stop = 3
changes = {mass = 30}

[[legs]]
path = "line:start=2,0;end=2,1"
timing = "quintic:4"
name = "back"
"""


@pytest.fixture(scope="module")
def duty(system_of, tmp_path_factory):
    file = tmp_path_factory.mktemp("mission") / "fetch.toml"
    file.write_text(FILE)
    return drive_mission(read_mission(file), system_of("differential-robot"))


def test_legs_follow_each_other(duty):
    out, turn, stop, back = duty.legs
    assert [leg.name for leg in duty.legs] == ["out", "2 turn", "3 stop", "back"]
    # trapezoid: 2 m at 0.8 m/s with ramps of 2 s
    assert out.duration == pytest.approx(2 / 0.8 + 2, rel=1e-12)
    assert turn.duration == pytest.approx(1.875 * math.pi / 2 / 0.5, rel=1e-12)
    assert (stop.duration, back.duration) == (3, 4) and back.parameters == {"mass": 30}
    assert duty.duration == pytest.approx(sum(leg.duration for leg in duty.legs), rel=1e-15)
    assert duty.distance == pytest.approx(3, abs=1e-6) and not duty.notes and not duty.failures
    for name in ("base.x", "base.y"):
        assert turn.run[name] == pytest.approx(out.run[name][-1], abs=1e-9)
    assert turn.run["base.angle"][-1] == pytest.approx(math.pi / 2, abs=1e-9)
    for one, other in ((out, turn), (turn, back)):
        last = [one.run[c.name][-1] for c in one.run.coordinates]
        first = [other.run[c.name][0] for c in other.run.coordinates]
        moved = [c.name for c in one.run.coordinates if c.name.startswith("base.")]
        assert len(moved) == 3
        for c, a, b in zip(one.run.coordinates, last, first, strict=True):
            if c.name in moved:
                assert b == pytest.approx(a, abs=1e-9), c.name


def test_rates_and_their_changes_are_those_of_the_work(duty):
    """ω by bᵀv against power over torque, ω̇ against differences of ω."""
    back = duty.legs[-1]
    axle, run = back.drives["left.torque"], back.run
    assert axle.torque * axle.rate == pytest.approx(run["power.left.torque"], abs=1e-12)
    inner = slice(2, -2)
    slope = np.gradient(axle.rate, axle.t, edge_order=2)[inner]
    size = np.max(np.abs(axle.acceleration))
    assert slope == pytest.approx(axle.acceleration[inner], abs=1e-3 * size)


def test_a_rotor_is_that_of_the_model(system_of):
    """The shaft's torque with a rotor beside the model, and with its armature in the model."""
    system = system_of("differential-robot")
    motor = Gearmotor(ratio=15.0, rotor_inertia=4e-5)
    leg = DriveLeg(
        path="arc:center=0,1;radius=1;start_angle=-1.5707963267948966;angle=1", timing="quintic:3"
    )
    mission = Mission(legs=(leg,), motors={"left.torque": motor})
    axle = drive_mission(mission, system).legs[0].drives["left.torque"]
    torque, _ = motor.shaft(axle.torque, axle.rate, axle.acceleration)
    wheel = next(c.name for c in system.coordinates if "left" in c.name).rpartition(".")[0]
    joints = tuple(
        dataclasses.replace(j, armature=4e-5 * 15.0**2) if j.name == wheel else j
        for j in system.model.joints
    )
    heavier = ns.compile(ns.derive(dataclasses.replace(system.model, joints=joints)))
    axle = drive_mission(mission, heavier).legs[0].drives["left.torque"]
    assert torque == pytest.approx(axle.torque / 15.0, abs=1e-9 * np.max(np.abs(torque)))
    assert np.max(np.abs(axle.acceleration)) > 1


def test_shafts_and_batteries_by_hand():
    """A ramp of rate under a constant torque: energies in closed form."""
    t = np.linspace(0.0, 2.0, 2001)
    motor = Gearmotor(ratio=10.0, efficiency=0.8, resistance=0.5, torque_constant=0.1)
    driving = DriveSamples(
        t=t, torque=np.full(2001, 4.0), rate=1 + 3 * t, acceleration=np.full(2001, 3.0)
    )
    found = MotorDuty.of(motor, [driving])
    assert found.peak_torque == pytest.approx(0.5, rel=1e-12)  # 4/(10·0.8)
    assert found.heat == pytest.approx(0.5 * 25 * 2, rel=1e-12)
    assert found.energy == pytest.approx(4 * 8 / 0.8 + found.heat, rel=1e-12)
    braking = dataclasses.replace(driving, torque=-driving.torque)
    assert MotorDuty.of(motor, [braking]).energy == pytest.approx(
        -4 * 8 * 0.8 + 0.5 * 3.2**2 * 2, rel=1e-12
    )
    battery = Battery(energy=100.0, standby=5.0, recuperation=0.5)
    assert battery.drawn(np.array([10.0, -3.0, -15.0])).tolist() == [15.0, 2.0, -5.0]


def test_uses_are_of_limits():
    t = np.linspace(0.0, 1.0, 11)
    axle = DriveSamples(t=t, torque=np.full(11, 2.0), rate=np.full(11, 50.0), acceleration=0 * t)
    motor = Gearmotor(
        torque_speed=((0.0, 4.0), (100.0, 0.0)), rated_torque=1.0, maximum_speed=200.0
    )
    found = MotorDuty.of(motor, [axle])
    assert (found.torque_use, found.heat_use, found.rate_use) == (1.0, 2.0, 0.25)
    assert motor.limit(np.array([0.0, 50.0, 150.0])).tolist() == [4.0, 2.0, 0.0]


def test_a_battery_pays_for_stops(duty):
    own = MotorDuty.of(duty.mission.motors["left.torque"], duty.of_motor("left.torque"))
    # nothing is given back with a standby above what braking frees
    assert 3600 - duty.charge == pytest.approx(20 * duty.duration + own.energy, rel=1e-6)
    assert duty.motors["left.torque"] == own


def test_zones_slow_down_what_passes_them():
    """Three pieces, each with a closed form: 1 m/s, 0.2 m/s from x = 2 to 3, 1 m/s."""
    path = ns.paths.Line(start=(0.0, 0.0), end=(5.0, 0.0))
    zone = Zone(corners=((2, -1), (3, -1), (3, 1), (2, 1)), speed=0.2)
    law = zoned_timing(path, 1.0, 0.5, (zone,))
    # 2 m: from rest to 1 m/s in 1 m, 0.04 m at 1 m/s, to 0.2 m/s in 0.96 m; then 1 m at 0.2 m/s
    aside = 1 / 0.5 + 0.04 / 1 + (1 - 0.2) / 0.5
    assert law.duration(path) == pytest.approx(2 * aside + 1 / 0.2, rel=1e-9)
    outside = Zone(corners=((2, 1), (3, 1), (3, 2)), speed=0.2)
    assert isinstance(zoned_timing(path, 1.0, 0.5, (outside,)), ns.timing.Trapezoidal)


def test_casters_go_on_where_they_stand(system_of):
    """The second leg begins with the bracket as the first one left it."""
    legs = [
        DriveLeg(path="line:start=0,0;end=1,0", timing="quintic:4"),
        DriveLeg(path="line:start=1,0;end=0,0", timing="quintic:4", is_backward=True),
    ]
    duty = drive_mission(Mission(legs=legs), system_of("agv"))
    first, second = (leg.run for leg in duty.legs)
    assert second["bracket.angle"][0] == pytest.approx(first["bracket.angle"][-1], abs=1e-9)
    assert second["platform.x"][0] == pytest.approx(first["platform.x"][-1], abs=1e-9)
    assert not duty.notes


def test_a_gap_between_legs_is_noted(system_of):
    legs = [
        DriveLeg(path="line:start=0,0;end=1,0", timing="quintic:3"),
        DriveLeg(path="line:start=1,0.25;end=1,2", timing="quintic:3", name="north"),
    ]
    duty = drive_mission(Mission(legs=legs), system_of("differential-robot"))
    assert len(duty.notes) == 2
    assert "leg 'north' begins 0.25 m" in duty.notes[0] and "1.57 rad" in duty.notes[1]


def test_planned_legs(system_of):
    leg = PlanLeg(
        goal={"base.x": 1.0, "base.y": 0.0, "base.angle": 0.0},
        options={"limits": {"left.torque": 0.6, "right.torque": 0.6}},
    )
    legs = (leg, StopLeg(duration=1.0))
    duty = drive_mission(Mission(legs=legs), system_of("differential-robot"))
    assert duty.legs[0].run["base.x"][-1] == pytest.approx(1.0, abs=1e-2)
    assert np.max(np.abs(duty.legs[0].drives["left.torque"].torque)) <= 0.6 * 1.01


def test_orders_become_missions_with_their_turns(tmp_path):
    nodes = [("A", 0.0, 0.0), ("B", 2.0, 0.0), ("C", 2.0, 1.0)]
    order = {
        "version": "3.0.0",
        "orderId": "corner",
        "nodes": [
            {
                "nodeId": name,
                "sequenceId": 2 * k,
                "released": True,
                "nodePosition": {"x": x, "y": y, "mapId": "m"},
            }
            for k, (name, x, y) in enumerate(nodes)
        ],
        "edges": [
            {"edgeId": f"e{k}", "sequenceId": 2 * k + 1, "released": True, "maximumSpeed": 0.5 + k}
            | {"startNodeId": nodes[k][0], "endNodeId": nodes[k + 1][0]}
            for k in range(2)
        ],
    }
    (tmp_path / "order.json").write_text(json.dumps(order))
    mission = Mission.from_order(ns.read_order(tmp_path / "order.json"), acceleration=0.3)
    one, turn, other = mission.legs
    assert (mission.name, mission.acceleration) == ("corner", 0.3)
    assert (one.name, one.speed, other.speed) == ("A → B", 0.5, 1.5)
    assert isinstance(turn, TurnLeg) and turn.angle == pytest.approx(math.pi / 2, abs=1e-9)


def test_the_smallest_drive_that_bears_the_mission(duty):
    small = Gearmotor(name="small", peak_torque=0.05, rated_torque=0.02, maximum_speed=600.0)
    large = Gearmotor(name="large", peak_torque=0.5, rated_torque=0.2, maximum_speed=600.0)
    gears = (Gearmotor(name="low", ratio=2.0), Gearmotor(name="high", ratio=20.0, efficiency=0.9))
    both = ("left.torque", "right.torque")
    found = size_drives(duty, Catalog(motors=(small, large), gears=gears), both)
    for name, choice in found.items():
        assert (choice.input, choice.use <= 1) == (name, True)
        for motor in (small, large):
            for gear in gears:
                tried = dataclasses.replace(motor, ratio=gear.ratio, efficiency=gear.efficiency)
                fits = MotorDuty.of(tried, duty.of_motor(name)).use <= 1
                if (motor.name, gear.name) == (choice.motor.name, choice.gear):
                    assert fits
                    break
                assert not fits
            else:
                continue
            break
        legs = [MotorDuty.of(choice.motor, [leg.drives[name]]).use for leg in duty.legs]
        assert choice.decided_by == duty.legs[int(np.argmax(legs))].name
    weak = Catalog(motors=(dataclasses.replace(small, peak_torque=1e-4),), gears=gears)
    (choice,) = size_drives(duty, weak).values()
    assert choice.use > 1 and "nothing is large enough" in choice.text()
    weak = Catalog(motors=(large,), gears=(dataclasses.replace(gears[1], peak_torque=0.01),))
    (choice,) = size_drives(duty, weak).values()
    assert choice.gear_use > 1 and "gear torque" in choice.text()


def test_all_faults_of_a_file_are_told(tmp_path, refuses):
    file = tmp_path / "bad.toml"
    file.write_text(
        'model = "agv"\nspede = 1\n[motors.torque1]\nratio = -2\n[[legs]]\n'
        'path = "circle:radius=x"\n[[legs]]\nstop = 0\n[[legs]]\nturn = 1\nstop = 2\n'
        "[battery]\nstandby = 3\n"
    )
    with pytest.raises(ns.ModelError) as caught:
        read_mission(file)
    told = [fault.text() for fault in caught.value.faults]
    words = ("spede", "ratio is -2", "radius", "duration is 0", "turn and stop", "no 'energy'")
    assert len(told) == len(words)
    for word in words:
        assert any(word in text for text in told), word
    file.write_text("legs = 3")
    with refuses(ns.ModelError, "no list of tables", "bad.toml", "[[legs]]"):
        read_mission(file)
    (tmp_path / "catalog.toml").write_text("[gears.a]\nratio = 2")
    with refuses(ns.ModelError, "no motors", "catalog.toml", "[motors.NAME]"):
        read_catalog(tmp_path / "catalog.toml")


def test_what_cannot_be_driven_names_its_leg(system_of, refuses):
    with refuses(ns.SimulationError, "angle is 0", "TurnLeg", "leave the leg out"):
        TurnLeg(angle=0.0)
    car = system_of("tricycle")
    legs = (TurnLeg(angle=1.0, name="about"),)
    with refuses(ns.SimulationError, "", "leg 'about'", ""):
        drive_mission(Mission(legs=legs), car)
    leg = DriveLeg(path="line:start=0,0;end=1,0")
    with refuses(ns.SimulationError, "no force input 'torque'", "motors", "left.torque"):
        mission = Mission(legs=(leg,), motors={"torque": Gearmotor()})
        drive_mission(mission, system_of("differential-robot"))
    with refuses(ns.SimulationError, "names no model", "drive_mission", "system"):
        drive_mission(Mission(legs=(leg,)))
    with refuses(ns.SimulationError, "no base", "manipulator-2r", "vehicle"):
        drive_mission(Mission(legs=(leg,)), system_of("manipulator-2r"))


def test_the_command_writes_a_folder_and_says_what_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fetch.toml").write_text(FILE)
    catalog = (
        "[motors.M]\npeak_torque=1\nrated_torque=0.5\nmaximum_speed=500\n[gears.G]\nratio=20\n"
    )
    (tmp_path / "catalog.toml").write_text(catalog)
    words = ["mission", "fetch.toml", "--size", "catalog.toml", "-o", "out"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "left.torque: M with G (1:20)" in done.output
    kept = json.loads((tmp_path / "out/summary.json").read_text())
    assert kept["drives"]["left.torque"]["motor"] == "M" and len(kept["legs"]) == 4
    assert {p.name for p in (tmp_path / "out").glob("leg-*")} == {"leg-1", "leg-2", "leg-4"}
    assert (tmp_path / "out/motors.png").read_bytes().startswith(b"\x89PNG")
    assert ns.read_run(tmp_path / "out/leg-4").parameters["mass"] == 30
    (tmp_path / "weak.toml").write_text(FILE.replace("peak_torque = 0.6", "peak_torque = 0.01"))
    done = CliRunner().invoke(main, ["mission", "weak.toml"])
    assert done.exit_code == 1 and "fails: motor at 'left.torque'" in done.output
