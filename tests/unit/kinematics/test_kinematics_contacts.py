"""Where wheels touch, along which axes they slip, and what spins without being seen."""

import dataclasses

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

import noslip as ns
from noslip.kinematics import trace

Z = (0.0, 0.0, 1.0)
PLANE = ns.contacts.Plane(frame=ns.Placement(position=(0.1, 0.2, 0.3), angles=(0.3, -0.2, 0.5)))


def wheel_on(wheel, plane=PLANE, **more):
    b = ns.ModelBuilder(name="wheel", gravity=(0.0, 0.0, -9.81))
    b.body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.25))
    b.joint("wheel", ns.joints.Free(), parent="world", child="wheel")
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="wheel", wheel=wheel, center=(0.1, -0.05, 0.02), plane=plane, **more
        )
    )
    return b.build()


def geometry(model):
    """Rows of (R, p, contact point, longitudinal, lateral, normal, height) at configurations."""
    kin = trace(model)
    (contact,) = kin.contacts
    node = kin.tree.nodes[kin.tree.index[model.contacts[0].body]]
    outputs = [node.R_WB, node.p_WB, contact.point, *contact.directions.values(), contact.height]
    f = ca.Function("f", [kin.symbols.q, kin.symbols.params], outputs)
    for _, q in kin.probe.configurations():
        yield [np.array(e).squeeze() for e in f(q, kin.probe.params)]


AXIS = np.array([0.3, -0.2, 0.9]) / np.linalg.norm([0.3, -0.2, 0.9])
WHEELS = {
    "disk": ns.surfaces.Disk(radius=0.4, axis=tuple(AXIS)),
    "torus": ns.surfaces.Torus(radius=0.4, tube_radius=0.1, axis=tuple(AXIS)),
    "ball": ns.surfaces.Ball(radius=0.4),
}


def surface(word, R, p):
    """Points all over the wheel's surface, in the world."""
    center = p + R @ np.array([0.1, -0.05, 0.02])
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, 2 * np.pi, 361))
    first = np.cross(AXIS, [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    second = np.cross(AXIS, first)
    ring = np.cos(u)[..., None] * first + np.sin(u)[..., None] * second
    if word == "disk":
        points = 0.4 * ring
    elif word == "torus":
        points = (0.4 + 0.1 * np.cos(v))[..., None] * ring + 0.1 * np.sin(v)[..., None] * AXIS
    else:
        points = 0.4 * (np.cos(v)[..., None] * ring + np.sin(v)[..., None] * AXIS)
    return center + points.reshape(-1, 3) @ R.T


@pytest.mark.slow
@pytest.mark.parametrize("word", WHEELS)
def test_wheel_touches_with_its_lowest_point(word):
    """No point of its surface is below the plane, and the one in contact is on it."""
    for R, p, point, *_, n, height in geometry(wheel_on(WHEELS[word])):
        heights = (surface(word, R, p) - [0.1, 0.2, 0.3]) @ n
        assert height == pytest.approx(0.0, abs=1e-13)
        assert n @ (point - [0.1, 0.2, 0.3]) == pytest.approx(0.0, abs=1e-13)
        # the grid misses the lowest point by at most half a degree: 0.5 · (0.5°)² / 2
        assert 0.0 <= np.min(heights) + 1e-13
        assert np.min(heights) < 3e-5


@pytest.mark.parametrize("word", ["disk", "torus"])
def test_axes_of_a_wheel(word):
    """Longitudinal is axis × normal, lateral is normal × longitudinal."""
    for R, _, _, f, lateral, n, _ in geometry(wheel_on(WHEELS[word])):
        expected = np.cross(R @ AXIS, n)
        assert f == pytest.approx(expected / np.linalg.norm(expected), abs=1e-13)
        assert lateral == pytest.approx(np.cross(n, f), abs=1e-13)


def test_axes_of_a_ball_are_those_of_the_plane():
    from scipy.spatial.transform import Rotation

    R_plane = Rotation.from_euler("XYZ", [0.3, -0.2, 0.5]).as_matrix()
    for _, _, _, f, lateral, n, _ in geometry(wheel_on(WHEELS["ball"])):
        assert np.column_stack([f, lateral, n]) == pytest.approx(R_plane, abs=1e-13)


@pytest.mark.parametrize("off", ["longitudinal", "lateral", "normal"])
def test_rows_can_be_switched_off(off):
    kin = trace(wheel_on(WHEELS["disk"], **{off: False}))
    left = [name for name in ("longitudinal", "lateral", "normal") if name != off]
    assert [row.name for row in kin.rows] == [f"touch.{name}" for name in left]
    assert [row.is_holonomic for row in kin.rows] == [name == "normal" for name in left]


def test_multipliers_of_a_contact_are_the_force_along_its_axes(system_of):
    """A wheel at rest upright is carried by its weight along the normal."""
    start = {"disk.tilt": np.pi / 2}
    here = ns.evaluate(system_of("rolling-disk"), start)
    assert here.multipliers["rim.normal"] == pytest.approx(2.0 * 9.81, rel=1e-14)
    assert here.multipliers["rim.lateral"] == pytest.approx(0.0, abs=1e-13)
    assert here.reactions["rim"]["z"] == pytest.approx(2.0 * 9.81, rel=1e-14)
    assert here.reactions["rim"]["point_z"] == pytest.approx(0.0, abs=1e-14)


def arm_with_wheel(axis):
    """A wheel that is symmetric about its axle, at the end of an arm that swings."""
    b = ns.ModelBuilder(name="arm", gravity=(0.5, 0.2, -9.81))
    b.body("arm", mass=1.0, inertia=(0.1, 0.2, 0.25), center_of_mass=(0.2, 0.1, 0.0))
    b.body("wheel", mass=0.7, inertia=(0.02, 0.03, 0.02), center_of_mass=(0.0, 0.05, 0.0))
    b.joint("arm", ns.joints.Spherical(), parent="world", child="arm")
    frame = ns.Placement(position=(0.5, 0.1, 0.2), angles=(0.3, 0.2, -0.4))
    b.joint("wheel", ns.joints.Revolute(axis=axis), parent="arm", child="wheel", parent_frame=frame)
    b.force(
        ns.forces.Wrench(
            name="rim", body="wheel", force=(1.0, 2.0, 3.0), point=(0.3, 0, 0), axes="body"
        )
    )
    b.force(
        ns.forces.Spring(
            name="cord", body="wheel", point=(0.2, 0, 0.1), stiffness=9.0, rest_length=0.1
        )
    )
    return b.build()


def test_spin_of_a_symmetric_wheel_is_left_out_without_changing_anything(rng):
    """Computing axes that do not spin with the wheel give the numbers of axes that do."""
    hidden = ns.derive(arm_with_wheel((0.0, 1.0, 0.0)))
    # an axis that is an expression is not recognized as one of x, y, z
    seen = ns.derive(arm_with_wheel((0.0, "1", 0.0)))
    q = hidden.kinematics.symbols.q[-1]
    assert not ca.depends_on(hidden.reduced_mass, q)
    assert not ca.depends_on(hidden.reduced_bias, q)
    assert ca.depends_on(seen.reduced_bias, seen.kinematics.symbols.q[-1])
    f, g = (numeric(eq, eq.accelerations, eq.kinetic_energy) for eq in (hidden, seen))
    for state in admissible_states(hidden, rng):
        for first, second in zip(at(f, state), at(g, state), strict=True):
            assert first == pytest.approx(second, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"inertia": (0.02, 0.03, 0.021)},
        {"inertia": (0.02, 0.03, 0.02, 0.001, 0.0, 0.0)},
        {"center_of_mass": (0.01, 0.0, 0.0)},
    ],
)
def test_wheel_that_is_not_symmetric_is_seen_to_spin(change):
    model = arm_with_wheel((0.0, 1.0, 0.0))
    wheel = dataclasses.replace(model.bodies[1], **change)
    equations = ns.derive(dataclasses.replace(model, bodies=(model.bodies[0], wheel)))
    assert ca.depends_on(equations.reduced_mass, equations.kinematics.symbols.q[-1])
