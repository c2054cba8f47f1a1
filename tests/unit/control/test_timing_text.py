"""Timing laws as text, and what their constructors refuse."""

import pytest

from noslip import SimulationError
from noslip.control.member_texts import parse_timing
from noslip.paths import Circle
from noslip.timing import (
    ConstantEnergy,
    ConstantSpeed,
    Quintic,
    SCurve,
    SpeedProfile,
    SpeedSchedule,
    Trapezoidal,
)

FORMS = {
    "quintic:60": Quintic(duration=60.0),
    "quintic:duration=60": Quintic(60.0),
    "trapezoidal:speed=1;acceleration=0.5": Trapezoidal(speed=1.0, acceleration=0.5),
    "s-curve:speed=1;acceleration=0.5;jerk=2": SCurve(speed=1.0, acceleration=0.5, jerk=2.0),
    "constant-speed:0.5": ConstantSpeed(speed=0.5),
    "constant-energy:total_speed=1;radius_of_gyration=1/2": ConstantEnergy(
        total_speed=1.0, radius_of_gyration=0.5
    ),
    "profile:arc_lengths=0,1,2;speeds=0,1,0": SpeedProfile(
        arc_lengths=(0.0, 1.0, 2.0), speeds=(0.0, 1.0, 0.0)
    ),
    "schedule:times=0,1;speeds=1,2": SpeedSchedule(times=(0.0, 1.0), speeds=(1.0, 2.0)),
}


@pytest.mark.parametrize("text", FORMS)
def test_text_forms(text):
    assert parse_timing(text) == FORMS[text]


REFUSED = {
    "quintik:60": ("there is no timing 'quintik'", "did you mean 'quintic'?"),
    "quintic": ("timing 'quintic' needs duration", "duration=…"),
    "trapezoidal:1": ("timing 'trapezoidal' needs acceleration", "acceleration=…"),
    "trapezoidal:speed=1;accel=2": ("timing 'trapezoidal' has no 'accel'", "known: 'speed'"),
    "quintic:soon": ("duration is 'soon', which is not a number", "duration=1.5"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_cannot_be_read(text, refuses):
    what, fix = REFUSED[text]
    with refuses(SimulationError, what, f"timing '{text}'", fix):
        parse_timing(text)


MAKERS = {
    "duration": (lambda: Quintic(duration=0.0), "duration is 0", "Quintic", "positive"),
    "speed": (lambda: ConstantSpeed(speed=-1.0), "speed is -1", "ConstantSpeed", "positive"),
    "acceleration": (lambda: Trapezoidal(speed=1.0, acceleration=0.0),
        "acceleration is 0, expected more than 0", "Trapezoidal", "positive"),
    "jerk": (lambda: SCurve(speed=1.0, acceleration=1.0, jerk=-2.0), "jerk is -2", "SCurve", "pos"),
    "radius": (lambda: ConstantEnergy(total_speed=1.0, radius_of_gyration=-1.0),
        "radius_of_gyration is -1, expected 0 or more", "ConstantEnergy",
        "the root of the moment of inertia over the mass"),
    "sizes of a schedule": (lambda: SpeedSchedule(times=(0.0, 1.0), speeds=(1.0,)),
        "1 speeds are given for 2 times", "SpeedSchedule", "as many speeds as times"),
    "times": (lambda: SpeedSchedule(times=(0.0, 1.0, 1.0), speeds=(1.0, 2.0, 3.0)),
        "the times do not rise from 0", "SpeedSchedule(times=…)", "sort the times"),
    "backwards": (lambda: SpeedSchedule(times=(0.0, 1.0), speeds=(1.0, -2.0)),
        "speeds[1] is -2, expected 0 or more", "SpeedSchedule(speeds=…)", "reversed_path"),
    "sizes of a profile": (lambda: SpeedProfile(arc_lengths=(0.0, 1.0), speeds=(1.0,)),
        "1 speeds are given for 2 arc lengths", "SpeedProfile", "as many speeds as arc lengths"),
    "arc lengths": (lambda: SpeedProfile(arc_lengths=(0.5, 1.0), speeds=(1.0, 1.0)),
        "the arc lengths do not rise from 0", "SpeedProfile(arc_lengths=…)", "start with 0"),
    "stop": (lambda: SpeedProfile(arc_lengths=(0.0, 1.0, 2.0), speeds=(1.0, 0.0, 1.0)),
        "the speed at 1 m is 0 m/s, so the end is not reached", "SpeedProfile(speeds=…)",
        "only the first and the last may be zero"),
    "standstill": (lambda: SpeedProfile(arc_lengths=(0.0, 1.0), speeds=(0.0, 0.0)),
        "the speed at 1 m is 0 m/s, so the end is not reached", "SpeedProfile(speeds=…)",
        "give positive speeds"),
    "negative speed": (lambda: SpeedProfile(arc_lengths=(0.0, 1.0), speeds=(-1.0, 1.0)),
        "the speed at 0 m is -1 m/s", "SpeedProfile(speeds=…)", "give positive speeds"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_laws_that_cannot_be_made(name, refuses):
    make, *parts = MAKERS[name]
    with refuses(SimulationError, *parts):
        make()


def test_laws_of_another_path(refuses):
    profile = SpeedProfile(arc_lengths=(0.0, 6.0), speeds=(1.0, 1.0))
    with refuses(SimulationError, "m, and the path is 6.28318531 m long", "SpeedProfile on Circle"):
        profile.duration(Circle(radius=1.0))
    schedule = SpeedSchedule(times=(0.0, 6.0), speeds=(1.0, 1.0))
    with refuses(SimulationError, "and the path is 6.28318531 m long", "SpeedSchedule on Circle"):
        schedule.duration(Circle(radius=1.0))
