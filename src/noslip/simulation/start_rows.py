"""What the completion of a start looks at: names, and the constraint rows at a configuration.

Made once for a system and kept with it.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.engines.llvm import compile_native
from noslip.engines.native import NativeFunction
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.kinematics.kinematics import Kinematics
from noslip.model.joints import Angles


@dataclass(frozen=True, slots=True, kw_only=True)
class Orientation:
    """Where a joint with named angles keeps its quaternion and its angular speeds."""

    joint: str
    angles: Angles
    quaternion: int
    speed: int
    angle_names: tuple[str, ...]
    rate_names: tuple[str, ...]


class Rows(NamedTuple):
    """A v + a = 0, g = 0 of the holonomic rows, q̇ = N v and η = E v at a configuration.

    Rows that hold by themselves are zero in A, where rounding would ask for speeds.
    """

    A: Array
    a: Array
    g: Array
    N: Array
    E: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Names by their place, and the rows as one native function of (t, q, w, parameters)."""

    coordinates: dict[str, int]
    speeds: dict[str, int]
    independent_speeds: dict[str, int]
    costates: tuple[str, ...]
    names: dict[str, None]  # all that a start may give, in order
    states: tuple[str, ...]  # coordinates, then speeds
    orientations: tuple[Orientation, ...]
    rest: Array  # (nq,)
    state: Array  # (nx,) zeros
    inputs: Array  # (nu + 2 nw,) zeros
    scale: Array  # (nv,) a length of the model for angular speeds, else 1
    unit: Array  # (nv, nv) identity
    holonomic: NDArray[np.int64]  # rows of A that have a g
    kinematics: Kinematics
    function: NativeFunction | None  # None for a long mechanism
    matrices: tuple[tuple[slice, tuple[int, ...]], ...]  # where each is in it, and its shape

    def rows(self, t: float, q: Array, w: Array, params: Array) -> Rows:
        """The rows at a time, a configuration and speed inputs."""
        if self.kinematics.is_long:
            return _long_rows(self.kinematics, t, q, w, params)
        assert self.function is not None
        values = self.function(t, q, w, params)
        return Rows(*[values[place].reshape(shape) for place, shape in self.matrices])


_LAYOUTS: weakref.WeakKeyDictionary[System, Layout] = weakref.WeakKeyDictionary()


def row_weights(C: Array) -> Array:
    """What gives the rows (…, rows, columns) unit length.

    A row of rounding alone at this configuration stays as small as it is: it asks for nothing.
    """
    size = np.sqrt(np.add.reduce(C * C, axis=-1))
    largest = np.maximum.reduce(size, axis=-1, keepdims=True, initial=0.0)
    return np.asarray(1.0 / np.where(size > 1e-12 * largest, size, np.maximum(1.0, largest)))


def layout_of(system: System) -> Layout:
    """The layout of a system, made when it is first asked for."""
    layout = _LAYOUTS.get(system)
    if layout is None:
        layout = _LAYOUTS[system] = _make_layout(system)
    return layout


def _make_layout(system: System) -> Layout:
    kin = system.kinematics
    coordinates = {c.name: k for k, c in enumerate(kin.coordinates)}
    speeds = {s.name: k for k, s in enumerate(kin.speeds)}
    independent = {s.name: k for k, s in enumerate(kin.independent_speeds)}
    costates = tuple(c.name for c in system.costates)
    orientations = _orientations(system)
    angles = [n for o in orientations for n in (*o.angle_names, *o.rate_names)]
    function, matrices = (None, ()) if kin.is_long else _rows(system)
    return Layout(
        coordinates=coordinates,
        speeds=speeds,
        independent_speeds=independent,
        costates=costates,
        names=dict.fromkeys([*coordinates, *speeds, *independent, *costates, *angles]),
        states=(*coordinates, *speeds),
        orientations=orientations,
        rest=np.array([r for node in kin.tree.nodes for r in node.joint.type.rest], dtype=float),
        state=np.zeros(system.num_states),
        inputs=np.zeros(len(system.inputs)),
        scale=kin.probe.scale,
        unit=np.eye(kin.num_speeds),
        holonomic=np.array(kin.probe.holonomic, dtype=int),
        kinematics=kin,
        function=function,
        matrices=matrices,
    )


def _orientations(system: System) -> tuple[Orientation, ...]:
    found = []
    for node in system.kinematics.tree.nodes:
        joint = node.joint
        angles = getattr(joint.type, "angles", None)
        if angles is not None and joint.type.quaternion is not None:
            found.append(
                Orientation(
                    joint=joint.name,
                    angles=angles,
                    quaternion=node.coordinates.start + joint.type.quaternion,
                    speed=node.speeds.start,
                    angle_names=tuple(f"{joint.name}.{n}" for n in angles.names),
                    rate_names=tuple(f"{joint.name}.{n}_rate" for n in angles.names),
                )
            )
    return tuple(found)


def _long_rows(kin: Kinematics, t: float, q: Array, w: Array, params: Array) -> Rows:
    """The rows in numbers, column by column, where their matrix is too large to be compiled."""
    probe = kin.probe
    A, a = (np.array(matrix) for matrix in probe.constraint(t, q, w, params))
    A[kin.self_satisfied] = 0.0
    return Rows(
        A=A,
        a=a.ravel(),
        g=np.array(probe.position(t, q, params)).ravel(),
        N=np.array(probe.kinematic_map(q)),
        E=kin.independent_rows(t, q, params),
    )


def _rows(
    system: System,
) -> tuple[NativeFunction, tuple[tuple[slice, tuple[int, ...]], ...]]:
    """A, a, g, N and E, row by row, as one native function, and where each is in it."""
    kin, symbols = system.kinematics, system.kinematics.symbols
    parts: list[ca.SX] = []
    matrices, at = [], 0
    A = ca.densify(kin.A)
    A[kin.self_satisfied, :] = 0
    for matrix, is_vector in ((A, 0), (kin.a, 1), (kin.g, 1), (kin.N, 0), (kin.E, 0)):
        rows, columns = matrix.shape
        parts.append(ca.vec(ca.densify(matrix).T))
        shape = (rows,) if is_vector else (rows, columns)
        matrices.append((slice(at, at + rows * columns), shape))
        at += rows * columns
    given = (symbols.t, symbols.q, symbols.w, symbols.params)
    program = trace_program("rows", given, ca.densify(system.fold(ca.vertcat(*parts))))
    return compile_native([program])["rows"], tuple(matrices)
