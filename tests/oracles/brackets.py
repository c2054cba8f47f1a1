"""Growth vectors by SymPy: fields written by hand, brackets expanded, ranks of exact numbers.

Nothing is shared with noslip: fields are those of the literature, in its coordinates, and ranks are
those of rational matrices (angles enter by tan of half of them).
"""

import sympy as sp


def bracket(X, Y, q):
    return Y.jacobian(q) * X - X.jacobian(q) * Y


def growth(fields, q, point, deepest):
    """Growth vector at a point, of all left-normed brackets."""
    at = dict(zip(q, point, strict=True))

    def value(field):
        return field.subs(at).applyfunc(sp.nsimplify)

    level = list(fields)
    columns = [value(X) for X in level]
    vector = [sp.Matrix.hstack(*columns).rank()]
    while len(vector) < deepest:
        level = [bracket(X, Y, q) for X in fields for Y in level]
        columns += [value(X) for X in level]
        vector.append(sp.Matrix.hstack(*columns).rank())
    return tuple(vector)


def unicycle():
    _, _, a = q = sp.Matrix(sp.symbols("x y a"))
    return [sp.Matrix([sp.cos(a), sp.sin(a), 0]), sp.Matrix([0, 0, 1])], q


def car():
    """Kinematic car of wheelbase 1 in x, y, heading and steering angle."""
    _, _, a, d = q = sp.Matrix(sp.symbols("x y a d"))
    drive = sp.Matrix([sp.cos(a), sp.sin(a), sp.tan(d), 0])
    return [drive, sp.Matrix([0, 0, 0, 1])], q


def trailers(count):
    """Unicycle with trailers hitched on the axles, at distance 1; relative angles b1, b2, …"""
    names = ["x", "y", "a", *(f"b{k}" for k in range(1, count + 1))]
    q = sp.Matrix(sp.symbols(names))
    a, b = q[2], q[3:]
    rates, speed = [], sp.Integer(1)
    turning = sp.Integer(0)
    for angle in b:  # relative angles: trailer minus what pulls it
        own = -speed * sp.sin(angle)
        rates.append(own - turning)
        turning, speed = own, speed * sp.cos(angle)
    drive = sp.Matrix([sp.cos(a), sp.sin(a), 0, *rates])
    turn = sp.Matrix([0, 0, 1, *([-1] if count else []), *([0] * (count - 1))])
    return [drive, turn], q


def articulated(ahead, behind):
    """Two axles with a hinge between, ahead of the first, and the second one behind the hinge.

    x, y and heading of the first; the second body is bent by b against it. Drive, then bend.
    """
    _, _, a, b = q = sp.Matrix(sp.symbols("x y a b"))
    ahead, behind = sp.nsimplify(ahead), sp.nsimplify(behind)
    across = ahead * sp.cos(b) - behind
    drive = sp.Matrix([sp.cos(a), sp.sin(a), sp.sin(b) / across, 0])
    return [drive, sp.Matrix([0, 0, behind / across, 1])], q


def disk():
    """Rolling disk of radius 1: contact point, yaw, tilt, spin."""
    _, _, yaw, _, _ = q = sp.Matrix(sp.symbols("x y yaw tilt spin"))
    roll = sp.Matrix([sp.cos(yaw), sp.sin(yaw), 0, 0, 1])
    return [roll, sp.Matrix([0, 0, 1, 0, 0]), sp.Matrix([0, 0, 0, 1, 0])], q


def snakeboard():
    """Half length 1: x, y, heading, rotor, front and back steering angle, without wheel angles."""
    _, _, a, _, f, b = q = sp.Matrix(sp.symbols("x y a r f b"))
    # no side slip at the front (1, 0) steered by f and at the back (−1, 0) steered by b
    u, v, w = sp.symbols("u v w")
    front = -sp.sin(f) * u + sp.cos(f) * (v + w)
    back = -sp.sin(b) * u + sp.cos(b) * (v - w)
    solved = sp.solve([front, back], [v, w], dict=True)[0]
    side, turn = solved[v] / u, solved[w] / u
    drive = sp.Matrix(
        [
            sp.cos(a) - sp.sin(a) * side,
            sp.sin(a) + sp.cos(a) * side,
            turn,
            0,
            0,
            0,
        ]
    ).applyfunc(sp.simplify)
    others = [sp.Matrix([int(j == k) for j in range(6)]) for k in (3, 4, 5)]
    return [drive, *others], q
