"""`noslip track`: controllers by text, limits, references, least time, and exit codes."""

import json
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli.main import main

AXLE = ("--point=0,-a,0", "--direction=0,1,0")
STEERED = ("--steering", "steer.angle", "--wheelbase", "l1")
TRAILER = ("--hinge", "hinge.angle", "--hitch", "c", "--trailer", "l2", "--reverse")
HITCHED = {"hinge": "hinge.angle", "hitch": "c", "trailer": "l2"}
RING = ("--path", "circle:12", "--timing", "constant-speed:2")
CIRCLE = ("--path", "circle:radius=2,turns=0.5", "--timing", "quintic:20")
WEIGHTS = "platform.x=20,platform.y=20,platform.angle=5,torque1=1,torque2=1"
BACKING = (
    "tractor.x=0.1,tractor.y=0.01,tractor.angle=0.3,hinge.angle=1,steer.angle=0.3,tractor.vx=1,"
    "F_u1=1e-6,F_u2=1e-6,F_u3=1e-6,steering_rate_rate=1"
)


@pytest.fixture
def track(tmp_path, monkeypatch, derive_once):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(main, ["track", *arguments, "--no-plots", "--json"])

    return run


def numbers(outcome):
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


AGV = {
    "pose:kx=2,ky=6": (
        "--set",
        "platform.x=2.05",
        "--limit",
        "torque1=0.3",
        "--limit",
        "torque2=±0.3",
    ),
    "pose": ("--set", "platform.x=2.05", "--period", "0.02"),
    f"lqr:{WEIGHTS}": (
        "--set",
        "platform.x=2.05",
    ),
    "cartesian:body=platform,point=0,0.3,0,components=vx,vy": ("--set", "platform.x=2.05"),
    "computed-torque:kp=9,kd=6": ("--reference", "bracket.angle=0.3"),
    "acceleration-resolved": (),
    "pd:kp=10,10,kd=5,5": (),
}


@pytest.mark.parametrize("controller", AGV)
def test_controllers_of_a_vehicle_with_two_motors(track, controller):
    found = numbers(track("agv", *CIRCLE, *AXLE, "--controller", controller, *AGV[controller]))
    assert found["path_length"] == pytest.approx(2 * math.pi, rel=1e-12)
    assert found["path_error_final"] < (0.02 if controller.startswith("pd") else 1e-3)
    assert found["lost"] is False


def same_in_python(system, follows=None, **options):
    """What `track` finds for the same request, on a circle of 12 m at 2 m/s."""
    steering = {"steering": "steer.angle", "wheelbase": "l1"}
    circle, timing = ns.paths.Circle(radius=12.0), ns.timing.ConstantSpeed(2.0)
    return ns.track(
        system, circle, follower=ns.Follower(**steering, **follows or {}), timing=timing, **options
    ).path_errors.to_json()


def test_a_steered_vehicle(track, system_of):
    off = ("--controller", "steered:ky=0.1,ktheta=0.7", "--set", "tractor.x=12.5")
    found = numbers(track("tractor-trailer", *RING, *STEERED, *off))
    # half a meter beside the circle of 12 m, and nearer from there on
    assert found["path_error"] == pytest.approx(12.5 - 12.0, rel=1e-15)
    assert found["path_error_final"] < 1e-7
    controller = ns.controllers.SteeredTracking(
        steering="steer.angle", wheelbase="l1", ky=0.1, ktheta=0.7
    )
    same = same_in_python(
        system_of("tractor-trailer"), controller=controller, start={"tractor.x": 12.5}
    )
    assert {name: found[name] for name in same} == same


def weights(text):
    return {name: float(value) for name, value in (pair.split("=") for pair in text.split(","))}


FEEDBACK = {
    "trailer": ns.controllers.TrailerTracking(steering="steer.angle", **HITCHED),
    f"lqr:{BACKING}": ns.controllers.Regulator(weights=weights(BACKING)),
}


@pytest.mark.parametrize("controller", FEEDBACK, ids=["trailer", "lqr"])
def test_a_trailer_that_is_backed_up(track, system_of, controller):
    off = ("--set", "hinge.angle=0.3", "--limit", "steering_rate=0.6")
    given = ("--controller", controller, *off)
    found = numbers(track("tractor-trailer", *RING, *STEERED, *TRAILER, *given))
    system = system_of("tractor-trailer")
    # at the start it is off by a chord of l2, from the fold that plane geometry gives
    p = system.model.parameter_values()
    base = math.sqrt(12.0**2 + p["l2"] ** 2 - p["c"] ** 2)
    fold = math.atan(p["l2"] / 12.0) + math.atan(p["c"] / base)
    assert found["path_error"] > 2 * p["l2"] * math.sin((fold - 0.3) / 2)
    assert found["path_error_final"] < 2e-3
    same = same_in_python(
        system,
        follows={"reverse": True, **HITCHED},
        controller=ns.ControlLoop(controller=FEEDBACK[controller], limits={"steering_rate": 0.6}),
        start={"hinge.angle": 0.3},
    )
    assert {name: found[name] for name in same} == same


def test_the_error_is_of_what_is_tracked(tmp_path, system_of):
    """From a start 5 cm beside the path the wheels end radians off; the vehicle does not."""
    folder = tmp_path / "out"
    options = ("--controller", "pose", "--set", "platform.x=2.05", "-o", str(folder))
    outcome = CliRunner().invoke(main, ["track", "agv", *CIRCLE, *AXLE, *options, "--report"])
    assert outcome.exit_code == 0, outcome.output
    run = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=2.0, turns=0.5),
        follower=ns.Follower(point=(0.0, "-a", 0.0), direction=(0.0, 1.0, 0.0)),
        controller=ns.controllers.PoseTracking(),
        timing=ns.timing.Quintic(20.0),
        start={"platform.x": 2.05},
    )
    wheel = run["wheel1.angle"][-1] - run["reference.wheel1.angle"][-1]
    assert abs(wheel) > 0.1 > run.tracking_error
    # where the axle is, without what `track` computes: a circle that the reference drives once half
    x, y, a = (run[f"platform.{n}"] for n in ("x", "y", "angle"))
    lever = run.parameters["a"]
    axle = np.column_stack([x + lever * np.sin(a), y - lever * np.cos(a)])
    driven = run["path.arc_length"] / 2.0
    off = np.hypot(*(axle - 2.0 * np.column_stack([np.cos(driven), np.sin(driven)])).T)
    turned = a - driven
    assert run["path.position_error"] == pytest.approx(off, abs=1e-12)
    assert run["path.heading_error"] == pytest.approx(turned, abs=1e-12)
    for text in (outcome.output, (folder / "summary.txt").read_text("utf-8")):
        lines = [line for line in text.splitlines() if "tracking error" in line]
        assert [re.search(r"(\S+ \w+) at most \((\S+)\)", line).groups() for line in lines] == [
            (f"{np.max(off):.3g} m", "path.position_error"),
            (f"{np.max(np.abs(turned)):.3g} rad", "path.heading_error"),
        ]
        assert "wheel1.angle" not in text and "bracket.angle" not in text
    assert "  path                 6.28319 m of 6.28319 m in 20 s" in outcome.output
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert set(summary["tracking_error_final"]) == {"path.position_error", "path.heading_error"}
    top = (folder / "report.html").read_text("utf-8").split("<h2", 1)[0]
    (error,) = re.findall(r"Tracking error</span>.*?</a>", top, re.DOTALL)
    assert f"{np.max(off):.3g}" in error and "; heading " in error and "wheel1.angle" not in top


def test_a_loop_that_diverges_does_not_pass_silently(track, system_of):
    """kv T above 2: the speeds grow from look to look. After some more it is chaos."""
    slow = ("--path", "circle:2", "--timing", "constant-speed:0.3", "--period", "0.6")
    off = ("--set", "platform.x=2.1", "--duration", "8")
    outcome = track("agv", *slow, *AXLE, "--controller", "pose", *off)
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["lost"] is True
    frame = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
    exact = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=2.0),
        follower=ns.Follower(**frame),
        controller=ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.6),
        timing=ns.timing.ConstantSpeed(0.3),
        start={"platform.x": 2.1},
        duration=8.0,
        rtol=1e-12,
        atol=1e-12,
    )
    assert (
        f"the vehicle left its path: it ends {exact.path_errors.final:.3g} m off" in outcome.stderr
    )
    assert "fix    give a shorter --period: gains times 0.6 s" in outcome.stderr
    # without feedback, and unstable
    folding = ("--path", "circle:12", "--timing", "constant-speed:1.5", "--duration", "20")
    outcome = track("tractor-trailer", *folding, *STEERED, *TRAILER, "--set", "hinge.angle=0.3")
    assert outcome.exit_code == 1 and "give a --controller" in outcome.stderr


REFUSED = {
    "direction": (
        ("--direction=0,0,0",),
        "the direction (0, 0, 0) has no component",
        "such as (1, 0",
    ),
    "controller": ((*AXLE, "--controller", "poze"), "no controller 'poze'", "'pose'"),
    "gain": ((*AXLE, "--controller", "pose:kq=1"), "'pose' has no 'kq'", "'kx'"),
    "weights": ((*AXLE, "--controller", "lqr:platform.x=1"), "'torque1' has no weight", "torque2"),
    "steered": ((*AXLE, "--controller", "steered"), "needs steering and wheelbase", "steering=…"),
    "limit": ((*AXLE, "--controller", "pose", "--limit", "tork=1"), "no input 'tork'", "torque1"),
    "below": (
        (*AXLE, "--controller", "pose", "--limit", "torque1=-1"),
        "the limit of 'torque1' is -1",
        "above 0",
    ),
    "open": ((*AXLE, "--limit", "torque1=1"), "need a controller", "give a controller"),
    "reference": ((*AXLE, "--reference", "braket.angle=1"), "'braket.angle'", "'bracket.angle'"),
    "singular": (
        (*AXLE, "--controller", "cartesian:body=platform,components=vx,vy"),
        "The frame of 'platform' cannot move in vx, vy independently here",
        "choose another start",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(track, name):
    arguments, what, fix = REFUSED[name]
    outcome = track("agv", *CIRCLE, *arguments)
    assert outcome.exit_code == 1
    assert what in outcome.stderr and "where  " in outcome.stderr and fix in outcome.stderr


@pytest.mark.parametrize("text", ["torque1", "=1", "torque1=abc", "torque1=1/0"])
def test_limits_that_cannot_be_read(track, text):
    outcome = track("agv", *CIRCLE, *AXLE, "--controller", "pose", "--limit", text)
    assert outcome.exit_code == 2
    assert "--limit" in outcome.stderr


def test_nothing_but_a_path_is_needed(track):
    """Point, direction, steering, timing and smoothness are found, and said."""
    for name, path in (
        ("tricycle", "polyline:points=0,0,12,0,12,12,radius=4"),
        ("tractor-trailer", "circle:radius=12,turns=0.3"),
    ):
        outcome = numbers(track(name, "--path", path))
        assert any("steer.angle" in note for note in outcome["notes"])
    refused = track("rolling-disk", "--path", "circle:2")
    assert refused.exit_code == 1 and "no actuator drives" in refused.output


def test_a_push_a_slope_and_another_plant_are_words_of_run_and_track(system_of, track):
    """The same words for `run --motion` and `track`, with the same numbers as in Python."""
    push = "type='wrench', body='platform', force=['0.2*sin(t)', 0, 0]"
    words = ("--push", push, "--plant-gravity", "0.02,0,-9.8", "--plant", "m_platform=40")
    slow = ("--path", "circle:2", "--timing", "constant-speed:0.3", "--duration", "5")
    found = numbers(track("agv", *slow, "--controller", "pose", *words))
    agv = system_of("agv")
    force = ns.forces.Wrench(name="push1", body="platform", force=("0.2*sin(t)", 0.0, 0.0))
    plant = ns.Plant(forces=(force,), gravity=(0.02, 0.0, -9.8), parameters={"m_platform": 40.0})
    same = ns.track(
        agv, "circle:2", timing="constant-speed:0.3", controller="pose", plant=plant, duration=5.0
    )
    assert found["path_error"] == pytest.approx(same.path_errors.largest, rel=1e-9)
    assert found["path_error"] > 1e-3
