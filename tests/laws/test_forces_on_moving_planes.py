"""Forces between a body and a plane of another body: third law, and Galilei's principle.

Two free bodies in empty space have no force but the one between them. So their momentum and
angular momentum stay as they are, and a velocity that both of them get changes no acceleration. A
spin that both of them get is seen in the plane's own axes: there too nothing else may change. Every
member of the family of forces that has a plane is here, in all its variants.
"""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.base import members_of
from noslip.forces import AbstractForce

PLATE, WHEEL = (3.0, (0.5, 0.7, 0.9)), (1.0, (0.03, 0.05, 0.04))
PLANE = ns.contacts.Plane(body="plate", frame=ns.Placement(position=(0.02, -0.01, 0.05)))
_WHEEL = {"name": "t", "body": "wheel", "axis": (0, 1, 0), "radius": 0.1, "load": 40.0}
_MORE = {"rolling_resistance": 0.05, "camber_stiffness": 300.0, "relaxation_length": 0.2}

#: Every force with a plane; a member of the family that is not here fails the first test.
FORCES = {
    "tire": ns.forces.Tire(name="t", body="wheel", direction=(1, 0, 0), stiffness=800.0, v0=0.1),
    "tire with a limit": ns.forces.Tire(
        name="t", body="wheel", direction=(1, 0, 0), stiffness=800.0, v0=0.1, maximum=30.0,
        relaxation_length=0.3,
    ),
    "magic": ns.forces.MagicTire(**_WHEEL, lateral_friction=0.8),
    "magic with all": ns.forces.MagicTire(**_WHEEL, **_MORE, center=(0.01, 0.02, -0.01)),
    "brush": ns.forces.BrushTire(**_WHEEL, stiffness=900.0),
    "brush with resistance": ns.forces.BrushTire(**_WHEEL, stiffness=900.0, rolling_resistance=0.1),
    "elastic": ns.forces.ElasticContact(
        name="t", body="wheel", wheel=ns.surfaces.Ball(radius=0.2), stiffness=2e3, damping=0.3,
        friction=0.4,
    ),
}  # fmt: skip


def test_every_force_with_a_plane_is_here():
    def has_plane(kind):
        return "plane" in {f.name for f in dataclasses.fields(kind)}

    own = [kind for kind in members_of(AbstractForce) if kind.__module__.startswith("noslip.")]
    assert {k for k in own if has_plane(k)} == {type(force) for force in FORCES.values()}


def pair(force):
    b = ns.ModelBuilder(name="pair", gravity=(0, 0, 0))
    for name, (mass, inertia) in {"plate": PLATE, "wheel": WHEEL}.items():
        b.body(name, mass=mass, inertia=inertia)
        b.joint(name, ns.joints.Free(), parent="world", child=name)
    b.force(dataclasses.replace(force, plane=PLANE))
    return ns.compile(ns.derive(b.build()))


@dataclasses.dataclass
class Body:
    """Pose, and velocity and angular velocity in the world."""

    p: np.ndarray
    R: Rotation
    v: np.ndarray
    w: np.ndarray

    def values(self, name):
        state = dict(zip("xyz", self.p, strict=True))
        state |= dict(zip(("qw", "qx", "qy", "qz"), self.R.as_quat(scalar_first=True), strict=True))
        state |= dict(zip(("vx", "vy", "vz"), self.R.inv().apply(self.v), strict=True))
        state |= dict(zip(("wx", "wy", "wz"), self.R.inv().apply(self.w), strict=True))
        return {f"{name}.{key}": float(value) for key, value in state.items()}


def accelerations(system, bodies, slips):
    """World acceleration and angular acceleration of each body."""
    state = {k: v for name, body in bodies.items() for k, v in body.values(name).items()}
    state |= {z.name: x for z, x in zip(system.auxiliary_states, slips, strict=False)}
    rates = ns.evaluate(system, state).accelerations
    found = {}
    for name, body in bodies.items():
        linear, angular = (
            np.array([rates[f"{name}.{letter}{axis}"] for axis in "xyz"]) for letter in "vw"
        )
        v, w = body.R.inv().apply(body.v), body.R.inv().apply(body.w)
        found[name] = body.R.apply(linear + np.cross(w, v)), body.R.apply(angular)
    return found


def some_motion(rng):
    """A wheel that slides and spins on a tilted, moving plate, and leans."""
    R = Rotation.from_euler("zyx", rng.uniform(-1, 1, 3))
    lean = Rotation.from_euler("xyz", [rng.uniform(-0.3, 0.3), rng.uniform(-3, 3), 0.0])
    plate = Body(rng.uniform(-1, 1, 3), R, rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3))
    p = plate.p + R.apply([0.3, 0.2, 0.14])
    w = R.apply([0.2, rng.uniform(5, 12), 0.3]) + plate.w
    v = plate.v + np.cross(plate.w, p - plate.p) + R.apply([0.8, 0.1, -0.05])
    return {"plate": plate, "wheel": Body(p, R * lean, v, w)}


def momentum_rates(bodies, found):
    """Rates of momentum, and of angular momentum about the origin."""
    force, moment = np.zeros(3), np.zeros(3)
    for name, (mass, inertia) in {"plate": PLATE, "wheel": WHEEL}.items():
        a, alpha = found[name]
        body = bodies[name]
        inertia_W = body.R.as_matrix() @ np.diag(inertia) @ body.R.as_matrix().T
        force += mass * a
        moment += mass * np.cross(body.p, a) + inertia_W @ alpha
        moment += np.cross(body.w, inertia_W @ body.w)
    return force, moment


@pytest.mark.parametrize("name", FORCES)
def test_third_law_and_galileis_principle(name, rng):
    system = pair(FORCES[name])
    for _ in range(4):
        bodies, slips = some_motion(rng), rng.uniform(-0.1, 0.1, 2)
        found = accelerations(system, bodies, slips)
        acts = np.abs(found["wheel"][0]).max()
        assert acts > 0.1  # m/s²: there is a force
        for rate in momentum_rates(bodies, found):
            assert rate == pytest.approx(np.zeros(3), abs=1e-12 * max(acts, 1.0))
        boost = rng.uniform(-20, 20, 3)
        moved = {n: dataclasses.replace(b, v=b.v + boost) for n, b in bodies.items()}
        boosted = accelerations(system, moved, slips)
        for n in bodies:
            for part, same in zip(boosted[n], found[n], strict=True):
                # rounding of speeds 20 times as large, through slips of a tire's v0
                assert part == pytest.approx(same, rel=1e-10, abs=1e-10 * max(acts, 1.0))


@pytest.mark.parametrize("name", FORCES)
def test_a_spin_of_both_bodies_changes_nothing_in_the_axes_of_the_plate(name, rng):
    """Forces follow from what is seen on the plate: its body's own spin and speed do not count."""
    system = pair(FORCES[name])
    bodies, slips = some_motion(rng), rng.uniform(-0.1, 0.1, 2)
    spin = rng.uniform(-3, 3, 3)
    turned = {
        n: dataclasses.replace(b, v=b.v + np.cross(spin, b.p), w=b.w + spin)
        for n, b in bodies.items()
    }
    force = []
    for state in (bodies, turned):
        a, alpha = accelerations(system, state, slips)["wheel"]
        body = state["wheel"]
        inertia_W = body.R.as_matrix() @ np.diag(WHEEL[1]) @ body.R.as_matrix().T
        moment = inertia_W @ alpha + np.cross(body.w, inertia_W @ body.w)
        force.append(np.concatenate([WHEEL[0] * a, moment]))
    assert force[1] == pytest.approx(force[0], rel=1e-10, abs=1e-10 * np.abs(force[0]).max())
