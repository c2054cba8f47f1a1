"""`check_member`: members of the package keep their family's contract, and each breach is told."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.base.families import isolated

MEMBERS = (
    ns.joints.Revolute(axis=("a", 0.2, -0.3)),
    ns.joints.Universal(first_axis=(1.0, 0.0, 0.0), second_axis=(0.0, 1.0, 0.0)),
    ns.surfaces.Disk(axis=(0.0, 1.0, 0.0), radius="a"),
    ns.surfaces.Ball(radius=0.2),
    ns.surfaces.Torus(axis=(0.3, 1.0, 0.0), radius=0.4, tube_radius=0.1),
    ns.surfaces.Ellipsoid(size=(0.4, 0.3, "a")),
    ns.surfaces.ConeSurface(axis=(0.0, 0.0, 1.0), radius=0.2, length=0.4),
    ns.grounds.FlatGround(),
    ns.grounds.SphereGround(radius=5.0),
    ns.grounds.HeightGround(z="0.1*sin(x) + 0.2*y**2"),
    ns.shapes.Box(size=(0.1, "a", 0.3)),
    ns.shapes.Sphere(radius=0.3),
    ns.paths.Circle(radius=2.0),
    ns.paths.Polyline(points=((0.0, 0.0), (2.0, 0.0), (2.0, 2.0)), radius=0.5),
    ns.paths.Spline(points=((0.0, 0.0), (2.0, 1.0), (4.0, 0.0))),
    ns.timing.Quintic(duration=3.0),
    ns.controllers.ComputedTorque(),
    ns.NaturalComplement(),
)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda m: type(m).__name__)
def test_members_of_the_package_keep_it(member):
    ns.check_member(member, {"a": 0.25})


def test_every_joint_type_keeps_it(joint_type):
    ns.check_member(joint_type)


with isolated():  # files of models in other tests do not know it

    class Slide(ns.joints.Prismatic):
        """A slide, of which one answer is another."""

        word = "tested_slide"


def slide(**answers):
    """A member whose class has some answers replaced."""
    with isolated():
        cls = type("Other", (Slide,), {"word": "other_slide", "__slots__": (), **answers})
        ns.check_member(cls(axis=(0.0, 0.0, 1.0)))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"pose": lambda self, q, read: (2 * ca.SX.eye(3), ca.SX.zeros(3))}, "no rotation"),
        ({"motion": lambda self, read: -ca.SX([0, 0, 0, 0, 0, 1])}, "not the twist H v"),
        ({"motion": lambda self, read: ca.SX([0, 0, 1, 0, 0])}, "shape"),
        ({"kinematic_map": lambda self, q: ca.SX(2)}, "not the twist H v"),
        ({"rest": (0.5,)}, "at rest"),
        ({"rest": ()}, "values of rest"),
        ({"closure": lambda self, R, p, read: []}, "0 rows"),
        ({"closure": lambda self, R, p, read: [(k, "m", p[2]) for k in "abcde"]}, "closure"),
        ({"pose": lambda self, q, read: q[7]}, "fails with"),
    ],
)
def test_what_a_joint_breaks_is_told(answers, said):
    with pytest.raises(ns.ModelError) as caught:
        slide(**answers)
    assert any(said in fault.what for fault in caught.value.faults)


def blob_class():
    """A surface that other tests do not know."""

    @dataclass(frozen=True, kw_only=True)
    class Blob(ns.surfaces.AbstractSurface):
        """A ball whose reach may be too small, or whose support is not one of a body."""

        radius: float
        power: float = 1.0
        word = "tested_blob"

        def reach(self, read):
            return self.radius

        def support(self, direction, read):
            return 0.3 * ca.norm_2(direction) ** self.power

    return Blob


@pytest.mark.parametrize(
    ("blob", "said"), [((0.2, 1.0), "beyond its reach"), ((0.9, 2.0), "twice")]
)
def test_what_a_surface_breaks_is_told(blob, said):
    with isolated(), pytest.raises(ns.ModelError, match=said):
        ns.check_member(blob_class()(radius=blob[0], power=blob[1]))


def jump_class():
    """A path that other tests do not know."""

    class Jump(ns.paths.AbstractPath):
        """A path that jumps, or stands, or has its breaks the other way round."""

        word = "tested_jump"

        def __init__(self, kind: str = "jump") -> None:
            self.kind = kind

        def position(self, p):
            return ca.vertcat(p + (p > 1.0), 0.0) if self.kind == "jump" else ca.vertcat(p * 0, 0.0)

        @property
        def breaks(self):
            return (2.0, 1.0) if self.kind == "back" else (0.0, 1.0, 2.0)

    return Jump


@pytest.mark.parametrize(
    ("kind", "said"), [("jump", "jumps"), ("stand", "stands"), ("back", "do not rise")]
)
def test_what_a_path_breaks_is_told(kind, said):
    with isolated(), pytest.raises(ns.ModelError, match=said):
        ns.check_member(jump_class()(kind))


def falling_class():
    """A distribution that other tests do not know."""

    class Falling(ns.studies.AbstractDistribution):
        """Quantiles that fall."""

        word = "tested_falling"
        numbers = ("SIZE",)

        def quantile(self, share):
            return -self.given[0] * np.asarray(share)

    return Falling


def test_what_a_distribution_breaks_is_told():
    with isolated(), pytest.raises(ns.ModelError, match="quantiles fall"):
        ns.check_member(falling_class()(2.0))


@pytest.mark.parametrize("thing", [3.0, ns.joints.Revolute, ns.MODELS])
def test_what_is_no_member_is_refused(thing):
    with pytest.raises(ns.ModelError) as caught:
        ns.check_member(thing)
    assert caught.value.where == "argument of check_member"
