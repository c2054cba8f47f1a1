"""A cart whose loads and forces are known by hand: at rest, and on a circle."""

import math

import noslip as ns

G = 9.81
MOTION = 1e-7  # relative: the state itself comes from a simulation
#: The cart: mass, its height, its distance ahead of the axle, half track, axle to caster, radius.
M, H, E, B, L, R = 12.0, 0.35, 0.15, 0.3, 0.8, 0.1


def cart(
    wheels=(("right", 0.0, -B), ("left", 0.0, B)),
    casters=(("caster", L, 0.0),),
    blades=(),
    *,
    ahead=E,
    base="planar",
    joint_height=0.0,
    slope=0.0,
    lift="",
):
    """A body on massless wheels, x forward, frictionless casters and blades.

    Its mass center is at (ahead, 0, H), z up from the ground below the axle.

    In the plane, or held by its wheels alone (base free). The ground may be tilted about y, or be a
    deck that is lifted as told.
    """
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -G))
    ground, frame = "world", ns.Placement(angles=(0.0, slope, 0.0))
    if lift:
        b.body("deck", mass=1.0, inertia=(1.0, 1.0, 1.0))
        motion = {"position": lift}
        slide = ns.joints.Prismatic(axis=(0.0, 0.0, 1.0))
        b.joint("lift", slide, parent="world", child="deck", motion=motion)
        ground = "deck"
    z = joint_height
    b.body("cart", mass=M, inertia=(0.4, 0.7, 0.9), center_of_mass=(ahead, 0.0, H - z))
    up = (z * math.sin(slope), 0.0, z * math.cos(slope))
    at = ns.Placement(position=up, angles=(0.0, slope, 0.0))
    if base == "planar":
        b.joint("cart", ns.joints.Planar(), parent=ground, child="cart", parent_frame=at)
    else:
        b.joint("cart", ns.joints.Free(), parent=ground, child="cart", parent_frame=at)
    plane = ns.contacts.Plane(body=ground, frame=frame)
    for name, x, y in wheels:
        b.body(name, mass=0.0, inertia=(0.0, 0.0, 0.0))
        b.joint(
            name,
            ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
            parent="cart",
            child=name,
            parent_frame=ns.Placement(position=(x, y, R - z)),
        )
        disk = ns.surfaces.Disk(radius=R, axis=(0.0, 1.0, 0.0))
        row = base != "planar"
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=disk, plane=plane, normal=row))
        b.input(f"torque_{name}", "N*m")
        b.force(ns.forces.Motor(name=name, speed=f"{name}.rate", input=f"torque_{name}"))
    for name, x, y in casters:
        ball = ns.surfaces.Ball(radius=R)
        at = (x, y, R - z)
        free = {"longitudinal": False, "lateral": False}
        b.contact(
            ns.contacts.Rolling(name=name, body="cart", wheel=ball, center=at, plane=plane, **free)
        )
    for name, x, y in blades:
        point = (x, y, -z)
        b.contact(
            ns.contacts.KnifeEdge(
                name=name, body="cart", direction=(1.0, 0.0, 0.0), point=point, plane=plane
            )
        )
    return ns.compile(ns.derive(b.build()))


def still(system, **options):
    return ns.simulate(system, duration=0.01, samples=2, **options)


def steady_circle(system, speed, radius):
    """The cart on a circle to the left, at the wheel torques that keep it there."""
    rate = speed / radius
    # along: m (v̇ − ahead ω²) = F₁ + F₂; about the axle's middle: m ahead v ω = B (F₁ − F₂)
    total, difference = -M * E * rate**2, M * E * speed * rate / B
    inputs = {
        "torque_right": R * (total + difference) / 2,
        "torque_left": R * (total - difference) / 2,
    }
    start = {"cart.vx": speed, "cart.rate": rate}
    return ns.simulate(system, duration=0.5, start=start, inputs=inputs, samples=6)
