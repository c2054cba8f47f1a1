"""What cannot be steered, or followed with a trailer, is refused with its place."""

import math

import pytest
from backing_up import PATHS, STEERING, TRAILER, back_up

import noslip as ns
from noslip.control.closed_loop import AbstractSteeringController
from noslip.control.controlled_runs import track
from noslip.control.reference_motion import trace_reference
from noslip.controllers import SteeredTracking
from noslip.motions import ExpressionMotion, TrailerMotion
from noslip.paths import Circle
from noslip.timing import ConstantSpeed


def test_what_cannot_be_steered_is_refused(system_of):
    tractor = system_of("tractor-trailer")
    options = {"timing": ConstantSpeed(1.0), "duration": 1.0}
    wrong = SteeredTracking(steering="ster.angle", wheelbase="l1")
    with pytest.raises(ns.SimulationError, match=r"no coordinate 'ster\.angle'") as caught:
        track(
            tractor,
            Circle(radius=15.0),
            follower=ns.Follower(**STEERING),
            controller=wrong,
            **options,
        )
    assert "tractor-trailer" in caught.value.where and "steer.angle" in caught.value.fix
    lhd = system_of("lhd")
    motion = ExpressionMotion(coordinates={c.name: 0.1 for c in lhd.coordinates})
    wrong = SteeredTracking(steering="waist.angle", wheelbase=1.0)
    with pytest.raises(ns.SimulationError, match="4 degrees of freedom, but its speed") as caught:
        wrong.forces(lhd, trace_reference(lhd, motion))
    assert "'lhd'" in caught.value.where and "PoseTracking" in caught.value.fix


def test_a_hitch_that_folds_the_reference_is_refused(system_of):
    motion = TrailerMotion(
        path=PATHS["line"], timing=ConstantSpeed(1.0), wheelbase="l1", reverse=False, **TRAILER
    )
    with pytest.raises(ns.SimulationError, match=r"0\.6 m behind the axle") as caught:
        motion.trace(system_of("tractor-trailer"))
    assert "tractor-trailer" in caught.value.where and "PathMotion" in caught.value.fix
    ahead = TrailerMotion(
        path=PATHS["line"], timing=ConstantSpeed(1.0), wheelbase="l1", **TRAILER | {"hitch": "-c"}
    )
    with pytest.raises(ns.SimulationError, match="in reverse") as caught:
        ahead.trace(system_of("tractor-trailer"))
    assert "behind the axle" in caught.value.fix


class FromSpeeds(AbstractSteeringController):
    """Feeds a speed back into a speed input, which has no exact rate."""

    def forces(self, system, reference):
        return reference.forces

    def speed_inputs(self, system, reference):
        return -system.kinematics.eta[0]


def test_a_steering_rate_from_speeds_is_refused(system_of):
    with pytest.raises(ns.SimulationError, match="'steering_rate' depends on") as caught:
        back_up(system_of("tractor-trailer"), PATHS["line"], FromSpeeds(), 0.0)
    assert "tractor-trailer" in caught.value.where and "coordinates" in caught.value.fix


def test_paths_that_trailers_cannot_follow_are_refused_with_their_place(system_of):
    tractor = system_of("tractor-trailer")
    steers = {"steering": "steer.angle", "wheelbase": "l1"}
    back = steers | {"hinge": "hinge.angle", "hitch": "c", "trailer": "l2", "reverse": True}
    slow = {"timing": ConstantSpeed(1.0)}
    # tan δ = l1/√(R² + l2² − c²) on a circle
    p = tractor.model.parameter_values()
    angle = math.atan(p["l1"] / math.sqrt(3.0**2 + p["l2"] ** 2 - p["c"] ** 2))
    what = f"needs a steering angle of {angle:.4g} rad, more than 0.3, .* m along it"
    with pytest.raises(ns.SimulationError, match=what) as caught:
        sharp = ns.Follower(largest_steering=0.3, **back)
        track(tractor, Circle(radius=3.0), follower=sharp, **slow)
    assert "tractor-trailer" in caught.value.where and "wider path" in caught.value.fix
    corners = ((0.0, 0.0), (20.0, 0.0), (20.0, 20.0))
    jump = ns.paths.Polyline(points=corners, radius=8.0, blend="circle")
    for follows in (back, steers):
        with pytest.raises(ns.SimulationError, match=r"jumps by 0\.125 1/m 12 m along") as caught:
            track(tractor, jump, follower=ns.Follower(**follows), **slow)
        assert "steering angle would have to jump" in caught.value.what
        assert "tractor-trailer" in caught.value.where and "Clothoid" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="no steering is named") as caught:
        track(tractor, "circle:12", follower=ns.Follower(**back | {"steering": ""}), **slow)
    assert "tractor-trailer" in caught.value.where and "wheelbase" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="which the motion does not prescribe") as caught:
        track(tractor, "circle:12", follower=ns.Follower(steering=""), **slow)
    assert "tractor-trailer" in caught.value.where and "as the steering" in caught.value.fix
