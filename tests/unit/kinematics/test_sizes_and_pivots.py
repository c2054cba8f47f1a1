"""Speeds are regular and configurations are found, whatever the size of a mechanism."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.kinematics import trace
from noslip.kinematics.dependent_speeds import _pivots


def rolling_body(others: int) -> ns.Model:
    """A free body that rolls on a disk far from its origin, on an oblique plane, beside others."""
    b = ns.ModelBuilder(name="rolling-body", gravity=(0.0, 0.0, -9.81))
    plane = ns.Placement(position=(-6.0, 7.6, 3.7), angles=(1.45, 0.68, -0.48), sequence="zxz")
    b.body("wheel", mass=60.0, inertia=(60.0, 66.0, 30.0))
    b.joint("free", ns.joints.Free(), parent="world", child="wheel")
    b.contact(
        ns.contacts.Rolling(
            name="touch",
            body="wheel",
            wheel=ns.surfaces.Disk(radius=4.5, axis=(1.0, 0.0, 0.0)),
            center=(1.06, 0.12, -2.56),
            plane=ns.contacts.Plane(frame=plane),
        )
    )
    for k in range(others):
        b.body(f"other{k}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        b.joint(f"other{k}", ns.joints.Free(), parent="world", child=f"other{k}")
    return b.build()


@pytest.mark.parametrize("others", [0, 1, 2])
def test_a_body_with_a_distant_wheel_has_regular_speeds(others):
    # with two others there are 18 tree speeds, and rows are eliminated joint by joint
    kin = trace(rolling_body(others))
    s = kin.symbols
    K = ca.Function("K", [s.t, s.q, s.params], [ca.densify(kin.K)])
    for t, q in kin.probe.configurations(4):
        assert np.linalg.cond(np.array(K(t, q, kin.probe.params))) < 1e3
    ns.derive(kin.model)


def test_pivots_of_dependent_columns_are_not_chosen():
    # the columns of ω_y × r, x and z lie in one plane, and have the largest entries
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    columns = np.array([[3.0, 0.0, -2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.1, 0.0]]).T
    rows, chosen = _pivots((turn @ columns)[None])
    assert sorted(rows) == [0, 1, 2]
    assert abs(np.linalg.det((turn @ columns)[:, chosen])) > 0.01


@pytest.mark.parametrize("size", [0.001, 1.0, 100.0, 1000.0])
def test_a_wheel_reaches_its_plane_at_any_size(size):
    b = ns.ModelBuilder(name="leaning", gravity=(0.0, 0.0, -9.81))
    b.body("arm", mass=2.0, inertia=(size**2,) * 3)
    at = ns.Placement(position=(0.3 * size, 0.1 * size, 0.0))
    b.joint("ball", ns.joints.Spherical(), parent="world", child="arm", child_frame=at)
    b.contact(
        ns.contacts.Rolling(
            name="foot",
            body="arm",
            wheel=ns.surfaces.Disk(radius=0.4 * size, axis=(0.0, 1.0, 0.0)),
            plane=ns.contacts.Plane(frame=ns.Placement(position=(0.0, 0.0, -0.3 * size))),
            longitudinal=False,
            lateral=False,
        )
    )
    kin = trace(b.build())
    assert kin.num_independent_speeds == 2
    for t, q in kin.probe.configurations(4):
        assert abs(float(kin.probe.position(t, q, kin.probe.params))) < 1e-10 * size
