"""Check where forces of user-written rows act against the work that the rows do.

A row A v + a with the multiplier λ has the power λ A v. Forces f at points p and moments m on
bodies have

    (1)  Σ f · (v_B + ω_B × (p − p_B)) + m · ω_B

A row whose forces do other work does not act where it says.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, cross, vector
from noslip.base import ModelError
from noslip.kinematics.basis import Array
from noslip.kinematics.symbols import Reader, Symbols
from noslip.kinematics.tree import Tree, frame_pose, twists
from noslip.model import AbstractRow, JointAxis, Reads, RowWrench

#: Work that may differ, beside the largest.
WORK_TOLERANCE = 1e-8


class TracedPlaces:
    """Traced `noslip.model.rows.Places` of a tree."""

    def __init__(self, tree: Tree, reader: Reader) -> None:
        self.read: Reads = reader
        self._reader = reader
        self._tree = tree

    def axis(self, coordinate: str) -> JointAxis:
        node = next(n for n in self._tree.nodes if coordinate in n.joint.coordinate_names())
        R_BM, p_BM = frame_pose(node.joint.child_frame, self._reader)
        k = node.joint.coordinate_names().index(coordinate)
        column = node.joint.type.motion(self.read)[:, k]
        turns = not ca.SX(column[:3]).is_zero()
        along = ca.mtimes(node.R_WB, ca.mtimes(R_BM, column[:3] if turns else column[3:]))
        return JointAxis(node.body.name, node.p_WB + ca.mtimes(node.R_WB, p_BM), along)

    def frame(self, body: str) -> tuple[ca.SX, ca.SX]:
        k = self._tree.index(body)
        if k < 0:
            return EYE3, vector([0, 0, 0])
        return self._tree.nodes[k].R_WB, self._tree.nodes[k].p_WB


def unplaced_rows(
    rows: list[tuple[AbstractRow, ca.SX]],
    tree: Tree,
    symbols: Symbols,
    reader: Reader,
    speeds: list[str],
    samples: list[tuple[float, Array]],
    params: Array,
) -> dict[str, str]:
    """Rows that do not say where they act, each with the reason.

    Parameters
    ----------
    rows : with their velocity forms.
    speeds : names of the tree speeds.
    samples : (t, q) at which work is compared.

    Raises
    ------
    ModelError : if a row is told to act where it would do other work.
    """
    found = {row.name: why for row, _ in rows if (why := row.why_unplaced())}
    places = TracedPlaces(tree, reader)
    for row, velocity in rows:
        if row.name in found:
            continue
        work = _power(tree, symbols, row.wrenches(places, ca.SX(1)))
        both = ca.horzcat(ca.gradient(velocity, symbols.v), ca.gradient(work, symbols.v))
        columns = ca.Function("work", [symbols.t, symbols.q, symbols.params], [ca.densify(both)])
        for t, q in samples:
            A, W = np.array(columns(t, q, params)).T
            differs = ~(np.abs(A - W) <= WORK_TOLERANCE * max(np.abs(A).max(initial=0.0), 1e-300))
            if not differs.any():
                continue
            if row.acts:
                raise _other_work(row, speeds, A, W, int(np.argmax(differs)))
            found[row.name] = "has radii that do not fit the places of its joints"
            break
    return found


def _power(tree: Tree, symbols: Symbols, wrenches: list[RowWrench]) -> ca.SX:
    """(1)."""
    motion = twists(tree, symbols.v)
    power = ca.SX(0)
    for body, point, force, moment in wrenches:
        k = tree.index(body)
        if k < 0:
            continue
        node = tree.nodes[k]
        w, v = (ca.mtimes(node.R_WD, x) for x in motion[k])
        power += ca.dot(force, v + cross(w, point - node.p_WB)) + ca.dot(moment, w)
    return power


def _other_work(row: AbstractRow, speeds: list[str], A: Array, W: Array, k: int) -> ModelError:
    return ModelError(
        f"row '{row.name}' does not act as declared: its forces move with "
        f"{W[k]:.6g} times '{speeds[k]}', and its expression has {A[k]:.6g} times that",
        f"rows.{row.name}.acts",
        "correct bodies, point, force or moment, so that force · velocity + moment · angular "
        "velocity is the row",
    )
