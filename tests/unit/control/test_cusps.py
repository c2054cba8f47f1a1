"""Paths with cusps: the vehicle stops there and drives the other way."""

import math

import numpy as np
import pytest
import vehicles

import noslip as ns
from noslip.control import sample
from noslip.control.path_geometry import curvature_jumps, length
from noslip.control.timing_laws import timing_law

#: A quarter of a circle of 5 m to the left, then back along its tangent, and on again to the left.
TURN = ns.paths.Composite(
    paths=(
        ns.paths.Arc(center=(0.0, 5.0), radius=5.0, start_angle=-math.pi / 2, angle=math.pi / 2),
        ns.paths.Line(start=(5.0, 5.0), end=(5.0, -1.0)),
        ns.paths.Arc(center=(-3.0, -1.0), radius=8.0, start_angle=0.0, angle=0.5),
    )
)
#: There and back on a clothoid.
BEND = ns.paths.Clothoid(start_curvature=0.0, end_curvature=0.1, length=6.0)
BACK = ns.paths.Composite(paths=(BEND, ns.paths.reversed_path(BEND)))


def test_parts_and_cusps_of_a_composite():
    quarter = 2.5 * math.pi
    assert [type(part).__name__ for part in TURN.parts] == ["Arc", "Line", "Arc"]
    assert TURN.cusps == pytest.approx((quarter, quarter + 6.0), abs=1e-12)
    assert set(TURN.cusps) <= set(TURN.breaks)
    there = ns.paths.reversed_path(TURN)
    assert there.cusps == pytest.approx((4.0, 10.0), abs=1e-9)
    assert [length(p) for p in there.parts] == pytest.approx([4.0, 6.0, quarter])
    nested = ns.paths.Composite(paths=(ns.paths.Composite(paths=TURN.paths[:2]), TURN.paths[2]))
    assert nested.cusps == pytest.approx(TURN.cusps, abs=1e-12)
    smooth = ns.paths.Composite(
        paths=(ns.paths.Line((0, 0), (1, 0)), ns.paths.Line((1, 0), (2, 0)))
    )
    assert smooth.cusps == () and smooth.parts[0].paths == smooth.paths
    # the heading is that of the vehicle, which goes on without a jump
    found = sample(TURN, 301).heading
    assert np.max(np.abs(np.diff(found))) < 0.02
    assert found[-1] == pytest.approx(math.pi / 2 + 0.5, abs=1e-9)


def test_a_corner_that_is_no_cusp_is_still_refused():
    with pytest.raises(ns.SimulationError, match="the heading jumps by 179") as caught:
        ns.paths.Composite(paths=(ns.paths.Line((0, 0), (2, 0)), ns.paths.Line((2, 0), (0, 0.01))))
    assert "or against it" in caught.value.fix


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["carriage", "omni-base"])
def test_a_vehicle_stops_at_cusps_and_drives_the_other_way(system_of, name, reverse):
    system = system_of(name)
    run = ns.track(system, TURN, follower=ns.Follower(reverse=reverse))
    assert run.tracking_error < 1e-6 and run.admissibility < 1e-8
    base = "carriage" if name == "carriage" else "base"
    end = math.pi / 2 + 0.5 + (math.pi if reverse else 0.0)
    assert run[f"{base}.angle"][-1] == pytest.approx(end, abs=1e-6)
    s, ahead = run["path.arc_length"], run[f"{base}.vx"]
    back = (s > TURN.cusps[0]) & (s < TURN.cusps[1])
    sign = -1.0 if reverse else 1.0
    moving = np.abs(ahead) > 1e-6
    assert np.all(sign * ahead[moving & back] < 0) and np.all(sign * ahead[moving & ~back] > 0)


def test_there_and_back_ends_where_it_began(system_of):
    """The steering retraces its angles; in reverse feedback holds what is unstable without it."""
    run = ns.track(system_of("tricycle"), BACK, timing="quintic:24", controller="steered")
    assert run.tracking_error < 1e-6
    for name in ("frame.x", "frame.y", "frame.angle", "steer.angle"):
        name = name if name in run.columns else name.replace("frame", "platform")
        column = run[name]
        # the timing is symmetric, too
        assert np.max(np.abs(column - column[::-1])) < 1e-6


def test_the_curvature_that_a_vehicle_sees_changes_its_sign_at_a_cusp(system_of):
    assert curvature_jumps(BACK, 3) == []
    jump = curvature_jumps(TURN, 0)[0]
    assert (jump.arc_length, jump.size) == pytest.approx((2.5 * math.pi, -0.2))
    # on the way, where nothing stops, a steering angle cannot jump
    bent = ns.paths.Composite(paths=(ns.paths.Line((-2.0, 0.0), (0.0, 0.0)), TURN.paths[0]))
    with pytest.raises(ns.SimulationError, match=r"jumps by 0\.2 1/m 2 m along") as caught:
        ns.track(system_of("tricycle"), bent)
    assert "steering angle would have to jump" in caught.value.what


#: Curvature that the vehicle sees before and after each cusp of TURN.
SEEN = ((0.2, 0.0), (0.0, 0.125))


def peak_rate(ahead, aside, before, after):
    """Largest rate of a wheel whose curvature goes over in 1 s, by finite differences."""
    tau = np.linspace(0.0, 1.0, 20_001)
    kappa = before + (after - before) * tau**3 * (10 - 15 * tau + 6 * tau**2)
    phi = np.arctan2(kappa * ahead, 1 - kappa * aside)
    return np.max(np.abs(np.diff(phi))) * 20_000


#: Places of steered wheels ahead of what follows and to its left, m.
WHEELS = {
    "tricycle": {"steer.angle": (1.1, 0.0)},
    "ackermann-car": {
        "front.steer.angle": (2.6, 0.0),
        "front.left.steer.angle": (2.6, 0.75),
        "front.right.steer.angle": (2.6, -0.75),
    },
}


@pytest.mark.parametrize("controller", [None, "path"])
@pytest.mark.parametrize("name", WHEELS)
def test_a_steering_turns_while_the_vehicle_stands(system_of, name, controller):
    """Every wheel is at right angles to its radius, of a curvature that goes over in a pause."""
    run = ns.track(system_of(name), TURN, controller=controller, samples=2001)
    assert run.tracking_error < 1e-6 and run.admissibility < 1e-8
    base = "frame" if name == "tricycle" else "base"
    at_end = [run[f"{base}.{k}"][-1] for k in ("x", "y", "angle")]
    there = -3 + 8 * math.cos(0.5), -1 + 8 * math.sin(0.5), math.pi / 2 + 0.5
    assert at_end == pytest.approx(there, abs=1e-6)
    # times without the pauses: 15/8 of the length over the speed, as said
    laws = next(note for note in run.notes if note.startswith("timing")).split("duration=")[1:]
    lasts = [float(law.split(",")[0]) for law in laws]
    begin = 0.0
    for k, (before, after) in enumerate(SEEN):
        pause = max(peak_rate(*place, before, after) for place in WHEELS[name].values()) / 0.5
        begin += lasts[k]
        tau = (run.t - begin) / pause
        begin, standing = begin + pause, (tau >= 0) & (tau <= 1)
        assert np.count_nonzero(standing) > 25
        assert np.ptp(run["path.arc_length"][standing]) < 1e-9
        tau = tau[standing]
        kappa = before + (after - before) * tau**3 * (10 - 15 * tau + 6 * tau**2)
        for wheel, (ahead, aside) in WHEELS[name].items():
            wanted = np.arctan2(kappa * ahead, 1 - kappa * aside)
            assert np.max(np.abs(run[wheel][standing] - wanted)) < 1e-6
        said = [note for note in run.notes if note.startswith("stands")][k]
        assert f"stands {pause:.3g} s at the cusp" in said and "turns by" in said
    assert run.t[-1] == pytest.approx(begin + lasts[-1], abs=1e-6)


def test_a_steering_turns_at_the_rate_that_is_given(system_of):
    tricycle = system_of("tricycle")
    slow = ns.track(tricycle, TURN, follower=ns.Follower(steering_rate=0.1), samples=4001)
    standing = np.abs(slow["frame.vx"]) < 1e-9
    assert np.max(np.abs(slow["steer.rate"][standing])) == pytest.approx(0.1, rel=1e-4)
    loop = ns.ControlLoop(controller="path", limits={"steering_rate": 0.2})
    truck = ns.track(system_of("tractor-trailer"), TURN, controller=loop, duration=20.0)
    assert np.max(np.abs(truck["steering_rate"])) <= 0.2
    with pytest.raises(ns.SimulationError, match="steering_rate is 0"):
        ns.track(tricycle, TURN, follower=ns.Follower(steering_rate=0.0))


def test_a_hinge_does_not_turn_at_rest():
    """A truck cannot be swung about its trailer while that stands."""
    system = ns.compile(ns.derive(vehicles.truck((0.0,), (3.0,))))
    back = ns.Follower(reverse=True)
    with pytest.raises(ns.SimulationError, match=r"'trailer1.angle' would have to jump") as caught:
        ns.track(system, TURN, follower=back)
    assert "no steering turns it at rest" in caught.value.what
    # the rate of the curvature alone: the steering jumps, and the hinge does not
    bend = ns.paths.Clothoid(start_curvature=0.0, end_curvature=0.05, length=6.0)
    x, y, heading = (getattr(sample(bend, 3), name)[-1] for name in ("x", "y", "heading"))
    center = x - 20 * math.sin(heading), y + 20 * math.cos(heading)
    circle = ns.paths.Arc(center=center, radius=20.0, start_angle=heading - math.pi / 2, angle=-0.2)
    run = ns.track(system, ns.paths.Composite(paths=(bend, circle)), follower=back)
    assert run.tracking_error < 1e-6 and run.admissibility < 1e-8
    said = next(note for note in run.notes if note.startswith("stands"))
    assert "fork.angle turns by" in said and "trailer1.angle" not in said


def test_timing_laws_stop_at_cusps(system_of):
    system, follower = system_of("carriage"), ns.Follower()
    law = timing_law(ns.timing.Quintic(30.0), system, TURN, follower)
    assert law.duration(TURN) == pytest.approx(30.0)
    stops = [30.0 * s / length(TURN) for s in TURN.cusps]
    assert law.break_times(TURN) == pytest.approx(stops)
    ramps = timing_law(ns.timing.Trapezoidal(speed=1.0, acceleration=0.5), system, TURN, follower)
    # each part takes its length and two seconds
    assert ramps.duration(TURN) == pytest.approx(length(TURN) + 6.0)
    with pytest.raises(ns.SimulationError, match=r"passes a cusp .* at 0\.4 m/s") as caught:
        ns.track(system, TURN, timing="constant-speed:0.4")
    assert "quintic" in caught.value.fix
