"""Warnings of `check` that need the kinematics: contacts that do not touch what they roll on."""

import pytest

import noslip as ns


def cart(height, radius="r", plane=0.0):
    """Two wheels on an axle that a planar joint holds on the floor, without rows for heights."""
    b = ns.ModelBuilder("cart", gravity=(0.0, 0.0, -9.81))
    b.parameter("r", 0.1, "m", "wheel radius")
    b.body("axle", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("axle", ns.joints.Planar(), parent="world", child="axle")
    ground = ns.contacts.Plane(frame=ns.Placement(position=(0.0, 0.0, plane)))
    for side, y in (("left", 0.3), ("right", -0.3)):
        b.body(side, mass=0.5, inertia=(0.01, 0.02, 0.01))
        place = ns.Placement(position=(0.0, y, height if side == "left" else plane + 0.1))
        spin = ns.joints.Revolute(axis=(0.0, 1.0, 0.0))
        b.joint(side, spin, parent="axle", child=side, parent_frame=place)
        wheel = ns.surfaces.Disk(radius=radius, axis=(0.0, 1.0, 0.0))
        b.contact(
            ns.contacts.Rolling(name=side, body=side, wheel=wheel, plane=ground, normal=False)
        )
    return b.build()


def warnings(model):
    return [w for w in ns.check(model).warnings if "its plane" in w.what]


@pytest.mark.parametrize("plane", [0.0, 0.25])
def test_a_wheel_on_its_plane(plane):
    assert warnings(cart(f"r + {plane}", plane=plane)) == []


@pytest.mark.parametrize(
    ("height", "off", "fix"),
    [("0", "0.1 m below", "place it 0.1 m higher"), ("3*r", "0.2 m above", "place it 0.2 m lower")],
)
def test_a_wheel_that_is_held_off_its_plane(height, off, fix):
    (warning,) = warnings(cart(height))
    assert f"contact 'left' is {off} its plane" in warning.what
    assert warning.where == "contacts.left" and warning.fix.startswith(fix)
    assert f"warning: {warning.what}" in ns.check(cart(height)).text()


@pytest.mark.parametrize("name", ["rolling-disk", "whipple-bicycle", "agv", "carriage"])
def test_ready_models_touch_the_ground(name):
    """On joints that hold them there, or on normal rows that lift them, as the disk."""
    assert warnings(ns.load(name)) == []


def particle(expression):
    b = ns.ModelBuilder(name="particle", gravity=(0.0, 0.0, 0.0))
    b.body("p", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("p", ns.joints.Translation(), parent="world", child="p")
    b.row(ns.rows.VelocityRow(name="c", expression=expression))
    return b.build()


def rack():
    b = ns.ModelBuilder(name="rack", gravity=(0.0, 0.0, 0.0))
    b.body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("cart", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="cart")
    b.joint("wheel", ns.joints.Revolute(axis=(0, 1, 0)), parent="cart", child="wheel")
    b.row(ns.rows.VelocityRow(name="c", expression="cart.speed - 0.3*wheel.rate"))
    return b.build()


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (rack(), "integrable rows"),
        # d(xy) and, with the factor 1 + x², x dy + y dx again
        (particle("p.vz - p.y*p.vx - p.x*p.vy"), "integrable rows"),
        (particle("(1 + p.x^2)*(p.vz - p.y*p.vx - p.x*p.vy)"), "integrable rows"),
        # Heisenberg's and Martinet's constraints
        (particle("p.vz - p.y*p.vx"), "nonholonomic rows"),
        (particle("p.vz - p.y^2*p.vx"), "nonholonomic rows"),
    ],
)
def test_velocity_rows_are_called_by_whether_they_integrate(model, kind):
    report = ns.check(model)
    assert report.velocity_constraints() == {kind: ("c",)}
    assert kind in report.text()
    is_same = ns.verify(model, states=2).to_json()["vakonomic_difference"] < 1e-9
    assert is_same == (kind == "integrable rows")


def test_rows_of_which_combinations_may_integrate_are_velocity_constraints():
    # of the wheels' longitudinal rows the difference integrates: heading and wheel angles
    found = ns.check(ns.load("differential-robot")).to_json()
    assert found["nonholonomic_rows"] == ["left.lateral", "caster.lateral"]
    assert "right.longitudinal" in found["velocity_rows"]
    assert not found["integrable_rows"]
