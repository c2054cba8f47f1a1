"""Inputs of `evaluate` as expressions, and its text with units."""

import math

import pytest

import noslip as ns

TRACTOR = {"tractor.vx": 2.0, "steer.angle": 0.1, "hinge.angle": 0.2}


@pytest.fixture
def tractor(system_of):
    return system_of("tractor-trailer")


def same(a, b):
    """All numbers of two instants."""
    for part in ("coordinates", "speeds", "coordinate_rates", "accelerations", "multipliers"):
        assert getattr(a, part) == pytest.approx(getattr(b, part), rel=1e-13, abs=1e-13)


def test_expressions_and_their_numbers(tractor):
    """t, parameters, coordinates and speeds; the rate of a speed input is its derivative."""
    given = {"steering_rate": "0.1*sin(2*t) + 0.5*steer.angle", "F_u1": "-m1*tractor.vx*cos(t)"}
    texts = ns.evaluate(tractor, TRACTOR, inputs={**given, "F_u3": 20.0}, time=0.7)
    (m1,) = [p.value for p in tractor.model.parameters if p.name == "m1"]
    w = 0.1 * math.sin(1.4) + 0.05
    numbers = {
        "steering_rate": w,
        "steering_rate_rate": 0.2 * math.cos(1.4) + 0.5 * w,
        "F_u1": -m1 * 2.0 * math.cos(0.7),
        "F_u3": 20.0,
    }
    same(texts, ns.evaluate(tractor, TRACTOR, inputs=numbers, time=0.7))
    assert texts.accelerations["steer.rate"] == pytest.approx(numbers["steering_rate_rate"])


def test_expressions_at_an_instant_and_in_a_run(tractor):
    given = {"steering_rate": "0.06*cos(0.8*t)", "F_u2": "300*sin(t)*tractor.vx"}
    run = ns.simulate(tractor, duration=1.0, start=TRACTOR, inputs=given, samples=3)
    here = ns.evaluate(tractor, TRACTOR, inputs=given)
    for name, value in here.accelerations.items():
        assert run[f"acceleration.{name}"][0] == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_a_rate_that_is_given_wins(tractor):
    given = {"steering_rate": "0.1*sin(2*t)", "steering_rate_rate": 0.03}
    here = ns.evaluate(tractor, TRACTOR, inputs=given)
    assert here.accelerations["steer.rate"] == pytest.approx(0.03, rel=1e-13)


@pytest.mark.parametrize(
    ("inputs", "what", "where", "fix"),
    [
        ({"F_u1": "sin(x)"}, "uses 'x', which is not known", "input 'F_u1'", "known: "),
        ({"F_u1": "sin(t"}, "cannot be read", "input 'F_u1'", "write arithmetic"),
        ({"F_u9": "sin(t)"}, "there is no input 'F_u9'", "tractor-trailer", "F_u1"),
        ({"steering_rate": "tractor.vx"}, "depends on speeds", "tractor-trailer", "time and"),
    ],
)
def test_expressions_that_are_refused(tractor, refuses, inputs, what, where, fix):
    with refuses(ns.SimulationError, what, where, fix):
        ns.evaluate(tractor, TRACTOR, inputs=inputs)


def test_every_number_of_the_text_has_its_unit(system_of):
    text = ns.evaluate(system_of("agv"), {"wheel1.rate": 2.0}, inputs={"torque1": 0.1}).text()
    rows = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert ["platform.x", "0", "m"] in rows and ["wheel1.rate", "2", "rad/s"] in rows
    assert {"m/s^2", "rad/s^2", "J", "N", "N*m"} <= {row[-1] for row in rows if len(row) == 3}
    assert "reduced mass matrix (wheel1.rate, wheel2.rate) [kg*m^2]" in text
    # all but the two rows of the matrix
    assert [len(row) for row in rows if len(row) != 3] == [2, 2]
    assert not [row for row in rows if row[1] == "-0"]


def test_units_of_quaternions_and_mixed_speeds(system_of):
    disk = ns.evaluate(system_of("rolling-disk"), {"disk.tilt": 1.2})
    assert disk.units["disk.qw"] == "1" and disk.to_json()["units"] == disk.units
    lines = disk.text().splitlines()
    rates = lines[lines.index("coordinate rates") + 1 :]
    assert [line.split()[-1] for line in rates[:7]] == ["m/s"] * 3 + ["1/s"] * 4
    sleigh = ns.evaluate(system_of("chaplygin-sleigh"), {}).text()
    assert "(sleigh.vx, sleigh.rate) [kg, kg*m, kg*m^2]" in sleigh


def test_it_says_in_a_line_how_it_moves(tractor):
    assert "tractor.vx = 2 m/s" in repr(ns.evaluate(tractor, TRACTOR))
    assert "everything at rest\nnext: .text()" in repr(ns.evaluate(tractor, {}))


def test_inputs_without_names(tractor):
    with pytest.raises(TypeError, match=r"(?s)^inputs is \[1\].*pass names and values or"):
        ns.evaluate(tractor, TRACTOR, inputs=[1])


def test_what_is_rounding_is_shown_as_zero(system_of):
    """Numbers keep what was computed; the text has no 6e-17 N beside a weight of 14.7 N."""
    moving = {"sleigh.rate": 1.1, "sleigh.vx": 0.3, "sleigh.angle": 0.7}
    found = ns.evaluate(system_of("chaplygin-sleigh"), moving)
    tiny = [
        x for parts in found.joint_reactions.values() for x in parts.values() if 0 < abs(x) < 1e-14
    ]
    text = found.text()
    assert tiny and not [line for line in text.splitlines() if "e-1" in line]
    assert "joint 'sleigh' on its child\n  x" in text
    assert text.endswith("constraints hold to rounding error")


def test_a_place_or_an_angle_that_is_rounding_is_shown_as_zero(system_of):
    """Where a wheel touches the ground is 6e-17 m beside a wheelbase; an angle stands alone."""
    found = ns.evaluate(system_of("whipple-bicycle"), {"rear_wheel.angle": 4e-18})
    assert 0 < abs(found.reactions["rear_wheel"]["point_z"]) < 1e-15
    assert not [line for line in found.text().splitlines() if "e-1" in line]


def test_coordinates_accelerate_as_their_rates_change(system_of):
    """ẍ, ÿ by hand, and those of a disk's quaternion and center by differences along a motion."""
    state = {"tractor.angle": 0.3, "tractor.vx": 2.0, "steer.angle": 0.2}
    instant = ns.evaluate(system_of("tractor-trailer"), state)
    forward, turn = instant.accelerations["tractor.vx"], instant.speeds["tractor.rate"]
    found = [instant.coordinate_accelerations[f"tractor.{k}"] for k in "xy"]
    c, s = math.cos(0.3), math.sin(0.3)
    assert found == pytest.approx(
        [forward * c - 2 * turn * s, forward * s + 2 * turn * c], rel=1e-13
    )
    assert "coordinate accelerations" in instant.text()
    system = system_of("rolling-disk")
    lean = {"disk.tilt": 1.2, "disk.yaw_rate": 0.8, "disk.tilt_rate": -0.5, "disk.spin_rate": -4.0}
    disk = ns.evaluate(system, lean).coordinate_accelerations
    run = ns.simulate(system, start=lean, duration=4e-3, samples=5, rtol=1e-13, atol=1e-13)
    for k, name in enumerate(disk):
        # forward second difference of third order
        x = run.q[:, k]
        slope = (35 * x[0] - 104 * x[1] + 114 * x[2] - 56 * x[3] + 11 * x[4]) / 12 / 1e-6
        assert slope == pytest.approx(disk[name], abs=2e-5), name
