"""Which point of a vehicle follows a path, which way is ahead, and how it steers."""

import numpy as np
import pytest

import noslip as ns
from noslip.control import find_follower


def test_what_follows_a_path_is_found_from_how_the_base_moves(system_of):
    system = system_of("agv")
    found = find_follower(system, system.parameters({"a": 0.15}))
    assert np.allclose(found.point, (0.0, -0.15, 0.0), atol=1e-9)
    assert np.allclose(found.direction, (0.0, 1.0, 0.0), atol=1e-9)
    assert found.steering is None
    for name, parameter_name in (("tractor-trailer", "l1"), ("tricycle", "ell")):
        system = system_of(name)
        found = find_follower(system, system.parameters({parameter_name: 1.7}))
        assert np.allclose(found.point, 0.0, atol=1e-9)
        assert found.steering == "steer.angle"
        assert found.wheelbase == pytest.approx(1.7, rel=1e-9)


def test_a_mechanism_without_a_planar_base_follows_nothing(system_of):
    system = system_of("rolling-disk")
    with pytest.raises(ns.SimulationError, match="there is no base to follow a path") as caught:
        find_follower(system, system.parameters())
    assert caught.value.where and caught.value.fix
