"""Traced values: functions that are inlined, and operators that are CasADi's own."""

import subprocess
import sys

import casadi as ca

from noslip.algebra import inlined
from noslip.algebra.spatial import traced

x, y = ca.SX.sym("x"), ca.SX.sym("y")
v, A = ca.SX.sym("v", 3), ca.SX.sym("A", 3, 3)


def test_the_operators_of_casadi_are_its_own():
    """No class of another package is changed: they are those of a process without noslip."""
    code = """if True:
        import casadi as ca
        words = [w for w in dir(ca.SX) if callable(getattr(ca.SX, w))]
        before = {w: getattr(ca.SX, w) for w in words}
        import noslip as ns
        ns.compile(ns.derive(ns.load("agv"))).rates
        changed = [w for w in words if getattr(ca.SX, w) != before[w]]
        assert not changed, changed
        """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_traced_is_not_copied():
    assert traced(v) is v
    assert traced(2.5).is_constant() and traced([1.0, 2.0]).shape == (2, 1)


@inlined
def _turned_and_moved(R: ca.SX, p: ca.SX, f: ca.SX) -> tuple[ca.SX, ca.SX]:
    moved = ca.mtimes(R, f)
    return moved, ca.cross(p, moved)


def test_inlined_functions_give_the_expressions_of_their_operations():
    R, p, f = (ca.SX.sym(*word) for word in (("R", 3, 3), ("p", 3), ("f", 3)))
    moved = ca.mtimes(R, f)
    direct = [moved, ca.cross(p, moved)]
    for found, expected in zip(_turned_and_moved(R, p, f), direct, strict=True):
        assert str(found) == str(expected)


def test_inlined_functions_leave_out_operations_on_zeros_and_ones():
    R, f = ca.blockcat([[1, 0, 0], [0, x, -y], [0, y, x]]), ca.vertcat(v[0], 0, v[2])
    for given in (R, ca.sparsify(R)):
        moved, moment = _turned_and_moved(given, ca.SX([0, 0, 1]), f)
        assert str(moved) == "[v_0, (-(y*v_2)), (x*v_2)]"
        assert str(moment) == "[(y*v_2), v_0, 0]"


def test_inlined_functions_take_several_shapes():
    many = ca.SX.sym("f", 3, 2)
    moved, _ = inlined(lambda R, f: (ca.mtimes(R, f), R))(A, many)
    assert moved.shape == (3, 2)
    moved, _ = inlined(lambda R, f: (ca.mtimes(R, f), R))(A, v)
    assert moved.shape == (3, 1)
