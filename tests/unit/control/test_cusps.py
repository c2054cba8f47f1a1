"""Paths with cusps: the vehicle stops there and drives the other way."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.control.paths.arc_length import length, sample
from noslip.control.paths.smoothness import curvature_jumps
from noslip.control.timing.laws import timing_law

#: A quarter of a circle of 5 m to the left, then back along its tangent, and on again to the left.
TURN = ns.Composite(
    paths=(
        ns.Arc(center=(0.0, 5.0), radius=5.0, start_angle=-math.pi / 2, angle=math.pi / 2),
        ns.Line(start=(5.0, 5.0), end=(5.0, -1.0)),
        ns.Arc(center=(-3.0, -1.0), radius=8.0, start_angle=0.0, angle=0.5),
    )
)
#: There and back on a clothoid.
BEND = ns.Clothoid(start_curvature=0.0, end_curvature=0.1, length=6.0)
BACK = ns.Composite(paths=(BEND, ns.reversed_path(BEND)))


def test_parts_and_cusps_of_a_composite():
    quarter = 2.5 * math.pi
    assert [type(part).__name__ for part in TURN.parts] == ["Arc", "Line", "Arc"]
    assert TURN.cusps == pytest.approx((quarter, quarter + 6.0), abs=1e-12)
    assert set(TURN.cusps) <= set(TURN.breaks)
    there = ns.reversed_path(TURN)
    assert there.cusps == pytest.approx((4.0, 10.0), abs=1e-9)
    assert [length(p) for p in there.parts] == pytest.approx([4.0, 6.0, quarter])
    nested = ns.Composite(paths=(ns.Composite(paths=TURN.paths[:2]), TURN.paths[2]))
    assert nested.cusps == pytest.approx(TURN.cusps, abs=1e-12)
    smooth = ns.Composite(paths=(ns.Line((0, 0), (1, 0)), ns.Line((1, 0), (2, 0))))
    assert smooth.cusps == () and smooth.parts[0].paths == smooth.paths
    # the heading is that of the vehicle, which goes on without a jump
    found = sample(TURN, 301).heading
    assert np.max(np.abs(np.diff(found))) < 0.02
    assert found[-1] == pytest.approx(math.pi / 2 + 0.5, abs=1e-9)


def test_a_corner_that_is_no_cusp_is_still_refused():
    with pytest.raises(ns.SimulationError, match="the heading jumps by 179") as caught:
        ns.Composite(paths=(ns.Line((0, 0), (2, 0)), ns.Line((2, 0), (0, 0.01))))
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
    with pytest.raises(ns.SimulationError, match=r"jumps by -0\.2 1/m 7\.854 m along") as caught:
        ns.track(system_of("tricycle"), TURN)
    assert "steering angle would have to jump" in caught.value.what


def test_timing_laws_stop_at_cusps(system_of):
    system, follower = system_of("carriage"), ns.Follower()
    law = timing_law(ns.Quintic(30.0), system, TURN, follower)
    assert law.duration(TURN) == pytest.approx(30.0)
    stops = [30.0 * s / length(TURN) for s in TURN.cusps]
    assert law.break_times(TURN) == pytest.approx(stops)
    ramps = timing_law(ns.Trapezoidal(speed=1.0, acceleration=0.5), system, TURN, follower)
    # each part takes its length and two seconds
    assert ramps.duration(TURN) == pytest.approx(length(TURN) + 6.0)
    with pytest.raises(ns.SimulationError, match=r"passes a cusp .* at 0\.4 m/s") as caught:
        ns.track(system, TURN, timing="constant-speed:0.4")
    assert "quintic" in caught.value.fix
