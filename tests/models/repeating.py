"""Mechanisms of which some rows repeat others, differently from place to place."""

import noslip as ns

CRANK, RADIUS, ROD, WHEEL = 0.3, 0.5, 0.5, 0.1  # m, m, kg, kg·m² about an axle


def side_rods(
    *, rods: int = 2, treads: int = 0, pin_on_rod: bool = False, gravity: float = 9.81
) -> ns.Model:
    """Two wheels coupled by side rods at a right angle, on fixed axles or on a carriage.

    One rod says nothing of the second wheel where its pins are in line with the axles; the other
    then says everything, or the tread of the second wheel. One wheel of a carriage rolls, or both.
    """
    b = ns.ModelBuilder("side-rods", gravity=(0.0, 0.0, -gravity))
    b.body("frame", mass=1.0, inertia=(0.1, 0.1, 0.1))
    raised, slide = ns.Placement(position=(0.0, 0.0, RADIUS)), ns.joints.Prismatic(axis=(1, 0, 0))
    carried = slide if treads else ns.joints.Fixed()
    b.joint("frame", carried, parent="world", child="frame", parent_frame=raised)
    hinge, disk = (
        ns.joints.Revolute(axis=(0, 1, 0)),
        ns.surfaces.Disk(radius=RADIUS, axis=(0, 1, 0)),
    )
    for k in (0, 1):
        wheel, at = f"wheel{k}", ns.Placement(position=(1.0 * k, 0.0, 0.0))
        b.body(wheel, mass=1.0, inertia=(WHEEL, WHEEL, WHEEL))
        b.joint(wheel, hinge, parent="frame", child=wheel, parent_frame=at)
    for k in range(treads):
        rolling = {"wheel": disk, "lateral": False, "normal": False}
        b.contact(ns.contacts.Rolling(name=f"tread{k}", body=f"wheel{k}", **rolling))
    end = ns.Placement(position=(1.0, 0.0, 0.0))
    for k, place in enumerate([(CRANK, 0.0, 0.0), (0.0, 0.0, CRANK)][:rods]):
        pin, rod = ns.Placement(position=place), f"rod{k}"
        b.body(rod, mass=ROD, inertia=(0.1, 0.1, 0.1))
        b.joint(rod, hinge, parent="wheel0", child=rod, parent_frame=pin)
        ends = [("wheel1", pin), (rod, end)]
        (parent, at), (child, there) = ends[::-1] if pin_on_rod else ends
        b.joint(f"pin{k}", hinge, parent=parent, child=child, parent_frame=at, child_frame=there)
    return b.build()


def tied_sliders() -> ns.Model:
    """Three sliders with one speed by three rows; which of them repeats depends on p and r."""
    b = ns.ModelBuilder("tied sliders", gravity=(0.0, 0.0, -9.81))
    b.parameter("p", 1.0, "1")
    b.parameter("r", 0.0, "1")
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    for mass, (name, axis) in enumerate(axes.items(), 1):
        b.body(name, mass=float(mass), moment=1.0)
        b.joint(name, ns.joints.Prismatic(axis=axis), parent="world", child=name)
    texts = (
        "x.speed - z.speed",
        "p*x.speed + (1 - p)*y.speed - z.speed",
        "r*x.speed + (1 - r)*y.speed - z.speed",
    )
    for k, text in enumerate(texts, 1):
        b.row(ns.rows.VelocityRow(name=f"row{k}", expression=text))
    return b.build()


def plate_at_height(*, position_first: bool) -> ns.Model:
    """A plate in a plane, held at the height h by a position row beside a velocity row."""
    b = ns.ModelBuilder("plate at height", gravity=(0.0, 0.0, 0.0))
    b.parameter("h", 1.0, "m")
    b.body("plate", mass=2.0, moment=0.3)
    b.joint("plate", ns.joints.Planar(), parent="world", child="plate")
    rows = [
        ns.rows.PositionRow(name="height", expression="plate.y - h"),
        ns.rows.VelocityRow(
            name="level", expression="plate.vx*sin(plate.angle) + plate.vy*cos(plate.angle)"
        ),
    ]
    for row in rows if position_first else rows[::-1]:
        b.row(row)
    return b.build()
