"""Vehicles of all kinds that follow paths, made of planar bodies and blades, with motors.

A blade stands for an axle: it cannot move sideways. Each vehicle has the motors it needs.
"""

import noslip as ns

Z = (0.0, 0.0, 1.0)
X = (1.0, 0.0, 0.0)


def _body(
    b, name, mass, parent, at=(0.0, 0.0, 0.0), joint=None, center=(0.0, 0.0, 0.0), turned=0.0
):
    b.body(name, mass=mass, moment=0.3 * mass, center_of_mass=center)
    b.joint(
        name,
        joint or ns.joints.Revolute(axis=Z),
        parent=parent,
        child=name,
        parent_frame=ns.Placement(position=at, angles=(0.0, 0.0, turned)),
    )


def _blade(b, body, at=(0.0, 0.0, 0.0), direction=X):
    b.contact(ns.contacts.KnifeEdge(name=f"{body}_axle", body=body, point=at, direction=direction))


def _drive(b, body, at=(0.0, 0.0, 0.0)):
    b.input("drive", "N")
    b.force(
        ns.forces.Wrench(name="drive", body=body, force=("drive", 0.0, 0.0), point=at, axes="body")
    )


def _motor(b, speed):
    name = speed.partition(".")[0]
    b.input(f"tau_{name}", "N*m")
    b.force(ns.forces.Motor(name=f"motor_{name}", speed=speed, input=f"tau_{name}"))


def truck(hitches, lengths, name="truck", axis=Z):
    """A truck with a motor on its steered wheel, and trailers hinged behind each other.

    Parameters
    ----------
    hitches : from each axle back to the next hinge, m; 0 is on the axle.
    lengths : from each hinge back to the axle of its trailer, m.
    axis : of the steering: downwards it counts the other way.
    """
    b = ns.ModelBuilder(name=name, gravity=(0.0, 0.0, 0.0))
    _body(b, "truck", 10.0, "world", joint=ns.joints.Planar(), center=(1.0, 0.0, 0.0))
    _blade(b, "truck")
    _body(b, "fork", 0.5, "truck", at=(2.0, 0.0, 0.0), joint=ns.joints.Revolute(axis=axis))
    _blade(b, "fork")
    _drive(b, "truck")
    _motor(b, "fork.rate")
    before, back = "truck", 0.0
    for k, (hitch, length) in enumerate(zip(hitches, lengths, strict=True)):
        trailer = f"trailer{k + 1}"
        at = (-hitch - back, 0.0, 0.0)
        # bodies begin at their hinges, axles are behind
        _body(b, trailer, 4.0, before, at=at, center=(-length / 2, 0.0, 0.0))
        _blade(b, trailer, at=(-length, 0.0, 0.0))
        before, back = trailer, length
    return b.build()


def ackermann():
    """Two steered wheels, each on a pin of its own, coupled so that both roll about one center."""
    b = ns.ModelBuilder(name="ackermann", gravity=(0.0, 0.0, 0.0))
    _body(b, "car", 10.0, "world", joint=ns.joints.Planar(), center=(1.0, 0.0, 0.0))
    _blade(b, "car")
    for side, y in (("left", 0.5), ("right", -0.5)):
        _body(b, side, 0.3, "car", at=(2.0, y, 0.0))
        _blade(b, side)
        _motor(b, f"{side}.rate")
    _drive(b, "car")
    # l (cot right − cot left) = track, without its poles
    b.row(
        ns.rows.PositionRow(
            name="linkage",
            unit="1",
            expression="2.0*sin(left.angle - right.angle) - sin(left.angle)*sin(right.angle)",
        )
    )
    return b.build()


def four_wheel_steered():
    """Wheels that steer at both ends: no point of the base is kept from moving sideways."""
    b = ns.ModelBuilder(name="four_wheel_steered", gravity=(0.0, 0.0, 0.0))
    _body(b, "car", 10.0, "world", joint=ns.joints.Planar())
    for end, x in (("front", 1.0), ("rear", -1.0)):
        _body(b, end, 0.3, "car", at=(x, 0.0, 0.0))
        _blade(b, end)
        _motor(b, f"{end}.rate")
    b.input("drive", "N")
    b.force(ns.forces.Wrench(name="drive", body="front", force=("drive", 0.0, 0.0), axes="body"))
    return b.build()


def omni():
    """A base that its motors push in every direction."""
    b = ns.ModelBuilder(name="omni", gravity=(0.0, 0.0, 0.0))
    _body(b, "base", 5.0, "world", joint=ns.joints.Planar(), center=(0.1, 0.05, 0.0))
    for name, entry in (("push_x", 0), ("push_y", 1)):
        b.input(name, "N")
        force = tuple(name if k == entry else 0.0 for k in range(3))
        b.force(ns.forces.Wrench(name=name, body="base", force=force, axes="body"))
    _motor(b, "base.rate")
    return b.build()


def articulated():
    """Two halves steered by a motor at their waist, driven at the front."""
    b = ns.ModelBuilder(name="articulated", gravity=(0.0, 0.0, 0.0))
    _body(b, "front", 5.0, "world", joint=ns.joints.Planar())
    _blade(b, "front")
    _body(b, "rear", 5.0, "front", at=(-1.0, 0.0, 0.0), center=(-1.0, 0.0, 0.0))
    _blade(b, "rear", at=(-1.2, 0.0, 0.0))
    _drive(b, "front")
    _motor(b, "rear.rate")
    return b.build()


def sleigh_without_motors():
    """A blade that nothing drives."""
    b = ns.ModelBuilder(name="sleigh", gravity=(0.0, 0.0, 0.0))
    _body(b, "sleigh", 2.0, "world", joint=ns.joints.Planar(), center=(0.3, 0.0, 0.0))
    _blade(b, "sleigh")
    return b.build()


def pushed_sleigh():
    """A blade that is driven ahead and not turned."""
    b = ns.ModelBuilder(name="pushed_sleigh", gravity=(0.0, 0.0, 0.0))
    _body(b, "sleigh", 2.0, "world", joint=ns.joints.Planar(), center=(0.3, 0.0, 0.0))
    _blade(b, "sleigh")
    _drive(b, "sleigh")
    return b.build()
