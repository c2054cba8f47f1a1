"""The smallest mechanisms: one coordinate, one speed, no input, no parameter, no freedom.

Each has a closed form. What is written for vectors meets its sizes 1 and 0 here.
"""

import casadi as ca

import noslip as ns

G = 9.81
#: Mass, damping and spring of the carts, kg, N·s/m and N/m.
MASS, DAMPING, STIFFNESS = 2.0, 0.5, 8.0
X = (1.0, 0.0, 0.0)


def _body(name, joint, mass=MASS, **motion):
    b = ns.ModelBuilder(name=name, gravity=(0.0, 0.0, -G))
    b.body("cart", mass=mass, inertia=(1.0, 1.0, 1.0))
    b.joint("cart", joint, parent="world", child="cart", **motion)
    return b


def _pushed(b):
    b.input("F", "N")
    b.force(ns.forces.Motor(name="motor", speed="cart.speed", input="F"))


def cart():
    """One coordinate, speed and input: m ẍ + d ẋ = F."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -G))
    b.parameter("m", MASS, "kg")
    b.parameter("d", DAMPING, "N*s/m")
    b.body("cart", mass="m", inertia=(1.0, 1.0, 1.0))
    b.joint("cart", ns.joints.Prismatic(axis=X), parent="world", child="cart")
    b.force(ns.forces.JointDamper(name="damper", speed="cart.speed", damping="d"))
    _pushed(b)
    return b.build()


def loaded_cart():
    """The same with half of its mass fixed to it: a body without coordinates."""
    b = _body("loaded_cart", ns.joints.Prismatic(axis=X), MASS / 2)
    b.body("load", mass=MASS / 2, inertia=(1.0, 1.0, 1.0))
    b.joint("load", ns.joints.Fixed(), parent="cart", child="load")
    b.force(ns.forces.JointDamper(name="damper", speed="cart.speed", damping=DAMPING))
    _pushed(b)
    return b.build()


def oscillator():
    """No input and no parameter: m ẍ + k x = 0."""
    b = _body("oscillator", ns.joints.Prismatic(axis=X))
    b.force(ns.forces.JointSpring(name="spring", coordinate="cart.position", stiffness=STIFFNESS))
    return b.build()


def coasting():
    """Nothing acts at all: ẍ = 0, which is zero by structure."""
    return _body("coasting", ns.joints.Prismatic(axis=X)).build()


def moved():
    """No freedom: x = sin t is given, and a motor that works against it."""
    b = _body("moved", ns.joints.Prismatic(axis=X), motion={"position": "sin(t)"})
    _pushed(b)
    return b.build()


def shifted():
    """No freedom and no force input: its only speed is an input."""
    b = _body("shifted", ns.joints.Prismatic(axis=X))
    b.speed_input("w", "cart.speed")
    return b.build()


def welded():
    """Nothing moves."""
    return _body("welded", ns.joints.Fixed()).build()


def rail():
    """A planar base that a rail leaves one freedom: m ẍ + d ẋ = F, and a path can be followed."""
    b = _body("rail", ns.joints.Planar())
    b.row(ns.rows.PositionRow(name="across", expression="cart.y"))
    b.row(ns.rows.PositionRow(name="turned", expression="cart.angle"))
    b.force(ns.forces.JointDamper(name="damper", speed="cart.vx", damping=DAMPING))
    b.input("F", "N")
    b.force(ns.forces.Wrench(name="push", body="cart", force=("F", 0.0, 0.0)))
    return b.build()


SMALL = {
    f.__name__: f for f in (cart, loaded_cart, oscillator, coasting, moved, shifted, welded, rail)
}


def watch_slices(monkeypatch):
    """Fail where a slice of a 1×1 expression becomes a row: next to columns it adds an entry.

    CasADi gives a column for every other size, and always for rows by two indices, ``x[rows, :]``.
    """
    plain = ca.SX.__getitem__

    def watched(self, key):
        found = plain(self, key)
        is_row = self.shape == (1, 1) and not isinstance(key, tuple) and found.shape[1] != 1
        assert not is_row, f"[{key}] of a 1×1 expression is {found.shape}: write [{key}, :]"
        return found

    monkeypatch.setattr(ca.SX, "__getitem__", watched)
