"""Mechanisms of any length: a chain of hinges, and a tractor with trailers on blades or wheels."""

from noslip import Model, ModelBuilder, Placement
from noslip.contacts import KnifeEdge, Rolling
from noslip.forces import Motor
from noslip.joints import Planar, Revolute
from noslip.surfaces import Disk


def chain(bodies: int) -> Model:
    """Links of 1 m, hinged about z and y in turn."""
    builder = ModelBuilder(f"chain of {bodies}", gravity=(0.0, 0.0, -9.81))
    parent = "world"
    for k in range(bodies):
        builder.body(
            f"link{k}",
            mass=1.0,
            center_of_mass=(0.5, 0.0, 0.0),
            inertia=(0.01, 0.1, 0.1, 0.0, 0.0, 0.0),
        )
        builder.joint(
            f"hinge{k}",
            Revolute(axis=(0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)),
            parent=parent,
            child=f"link{k}",
            parent_frame=Placement(position=(1.0 if k else 0.0, 0.0, 0.0)),
        )
        parent = f"link{k}"
    return builder.build()


def train(trailers: int, *, wheels: bool = False) -> Model:
    """A tractor in the plane with trailers, each on one axle and hitched behind it.

    An axle is a blade, or it has two wheels, whose lateral rows repeat each other.
    """
    builder = ModelBuilder(f"train of {trailers}", gravity=(0.0, 0.0, -9.81))
    builder.input("drive", "N")
    builder.body("tractor", mass=3.0, moment=0.5, center_of_mass=(0.3, 0.0, 0.0))
    builder.joint("tractor", Planar(), parent="world", child="tractor")
    _axle(builder, 0, "tractor", 0.0, wheels)
    builder.force(Motor(name="engine", speed="tractor.vx", input="drive"))
    parent, hitch = "tractor", -0.2
    for k in range(1, trailers + 1):
        builder.body(f"trailer{k}", mass=1.0, moment=0.1, center_of_mass=(-0.6, 0.0, 0.0))
        builder.joint(
            f"hitch{k}",
            Revolute(axis=(0.0, 0.0, 1.0)),
            parent=parent,
            child=f"trailer{k}",
            parent_frame=Placement(position=(hitch, 0.0, 0.0)),
        )
        _axle(builder, k, f"trailer{k}", -1.0, wheels)
        parent, hitch = f"trailer{k}", -1.2
    return builder.build()


def _axle(builder: ModelBuilder, number: int, body: str, x: float, wheels: bool) -> None:
    if not wheels:
        point, ahead = (x, 0.0, 0.0), (1.0, 0.0, 0.0)
        builder.contact(KnifeEdge(name=f"axle{number}", body=body, point=point, direction=ahead))
        return
    for side, y in (("left", 0.5), ("right", -0.5)):
        wheel = f"{side}{number}"
        builder.body(wheel, mass=0.2, inertia=(0.005, 0.01, 0.005))
        builder.joint(
            f"{wheel}_axle",
            Revolute(axis=(0.0, 1.0, 0.0)),
            parent=body,
            child=wheel,
            parent_frame=Placement(position=(x, y, 0.3)),
        )
        disk = Disk(radius=0.3, axis=(0.0, 1.0, 0.0))
        builder.contact(Rolling(name=f"{wheel}_rim", body=wheel, wheel=disk))
