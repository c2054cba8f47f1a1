"""Warnings of `check` that need the kinematics: contacts that do not touch what they roll on."""

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main


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
    ("model", "integrals"),
    [
        (rack(), ("cart.position - 0.3 wheel.angle = constant",)),
        # d(xy) and, with the factor 1 + x², x dy + y dx again
        (particle("p.vz - p.y*p.vx - p.x*p.vy"), ("-p.x*p.y + p.z = constant",)),
        (
            particle("(1 + p.x^2)*(p.vz - p.y*p.vx - p.x*p.vy)"),
            ("-p.x*p.y + p.z = constant",),
        ),
        # Heisenberg's and Martinet's constraints
        (particle("p.vz - p.y*p.vx"), ()),
        (particle("p.vz - p.y^2*p.vx"), ()),
    ],
)
def test_velocity_rows_are_told_by_what_integrates(model, integrals):
    report = ns.check(model)
    assert report.velocity_rows == ("c",) and report.integrals == integrals
    assert report.num_nonholonomic == 1 - len(integrals)
    is_same = ns.verify(model, states=2).to_json()["vakonomic_difference"] < 1e-9
    assert is_same == bool(integrals)


def test_a_combination_of_rows_integrates():
    # of the wheels' longitudinal rows the difference integrates: heading and wheel angles
    found = ns.check(ns.load("differential-robot"))
    assert found.to_json()["nonholonomic"] == 4 == len(found.velocity_rows) - 1
    assert found.integrals == ("base.angle + 0.25 left.angle - 0.25 right.angle = constant",)
    assert f"integrates           {found.integrals[0]}" in found.text()


def test_brackets_that_are_long_leave_it_open():
    found = ns.check(ns.load("vehicle-on-hills"))
    assert found.integrals is None and found.num_nonholonomic is None
    assert "not decided here; see noslip geometry" in found.text()


def test_verify_says_what_of_the_rows_integrates():
    run = CliRunner().invoke(main, ["verify", "carriage", "--states", "1"])
    assert "Of the 3 rows on speeds, 1 combination integrates: carriage.angle" in run.output
    assert ns.check(ns.load("chaplygin-sleigh")).integrated().startswith("No combination of the 1")
    assert ns.check(ns.load("manipulator-2r")).integrated() == ""
