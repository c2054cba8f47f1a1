"""Maximal coordinates: every body has its own pose and twist, and everything else is a constraint.

Written for tests alone. It reads the plain data of a Model and shares no code with `noslip`, no
tree recursion, no choice of independent speeds and no symbolic algebra: NumPy on numbers. With
V = (ω, ċ) of all bodies, ω and the velocity of the mass center c along the world's axes,

    M V̇ = f + Jᵀλ        J V = b        J V̇ = −r,   r = d(J V − b)/dt at constant V

    V̇ = a₀ + Z y,   J a₀ = −r,   J Z = 0,   ZᵀM Z y = Zᵀ(f − M a₀)        reaction Jᵀλ = M V̇ − f

Z and a₀ come from the singular values of J after its rows and columns were brought to metres: a row
or a speed in radians counts as the arc at a length of the model. A row that holds by itself, or
follows from others, leaves a singular value of rounding, and only that is cut off.

The rates r are exact to rounding: J is an analytic function of the poses, so that its derivative
along the motion is the imaginary part of one evaluation at a complex step; second derivatives of
expressions are Cauchy's integral on a circle.

Tree speeds v of the model are rows of relative twists, v = L V. What the constraints beyond the
joints of the tree do to them is Tᵀ(M V̇ − f), with T the motions that those joints leave:
J_tree T = 0, L T = 1.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp

import noslip as ns
from noslip.forces import Tire
from noslip.model.forces import ROADS

#: Size of a complex step: its square is nothing beside one.
STEP = 1e-40
#: Singular values of J, in metres, that are rounding; between the two it is hard to say.
ROUNDING, CLEAR = 1e-10, 1e-4
#: Sine between a wheel or a blade and its plane, below which it is too near to lying flat.
UPRIGHT = 0.02


class NotDecided(Exception):
    """A state too near a singular one for the oracle to say how many speeds are free."""


@dataclass(frozen=True)
class Pose:
    """Orientations (nb+1, 3, 3) and mass centers (nb+1, 3); the last body is the world."""

    R: np.ndarray
    c: np.ndarray


@dataclass(frozen=True)
class Answer:
    """What the oracle says at one state.

    Parameters
    ----------
    freedoms : number of independent speeds.
    accelerations : V̇ of the bodies.
    speed_rates : v̇ of the tree speeds.
    reactions : generalized reactions on the tree speeds.
    sizes : of accelerations and of reactions, that cancel; what rounding is relative to.
    energy_rate : W, of kinetic and potential energy together.
    joint_forces : by joint, moments, then forces on its child along the directions that it does not
        allow; NaN where rows leave them undetermined.
    multipliers : of contacts, prescribed motions, speed inputs and written rows, likewise.
    """

    freedoms: int
    accelerations: np.ndarray
    speed_rates: np.ndarray
    reactions: np.ndarray
    sizes: tuple[float, float]
    kinetic_energy: float
    potential_energy: float
    energy_rate: float
    power_size: float
    joint_forces: dict[str, np.ndarray]
    multipliers: np.ndarray
    force_size: float


@dataclass(frozen=True)
class _Rows:
    """Rows J V − b and their rates; g of the holonomic ones, NaN of the others."""

    J: np.ndarray
    b: np.ndarray
    rate: np.ndarray
    g: np.ndarray
    is_angular: np.ndarray
    num_tree: int
    joints: dict[str, slice]


class Maximal:
    """The oracle of a model at given values of its parameters, the nominal ones by default."""

    def __init__(self, model: ns.Model, parameters: dict[str, float] | None = None) -> None:
        self.model = model
        self._read: dict[Any, Any] = {}
        self.known = {p.name: float(p.value) for p in model.parameters} | (parameters or {})
        self.index = {b.name: k for k, b in enumerate(model.bodies)} | {"world": len(model.bodies)}
        self.size = 6 * len(model.bodies)
        self.tree, self.loops = _carrying(model)
        self.names_q = [f"{j.name}.{c.name}" for j in self.tree for c in j.type.coordinates]
        self.names_v = [f"{j.name}.{s.name}" for j in self.tree for s in j.type.speeds]
        self.com = np.array([self.vector(b.center_of_mass) for b in model.bodies] + [np.zeros(3)])
        self.mass = np.array([self.number(b.mass) for b in model.bodies])
        self.inertia = np.array([self._inertia(b) for b in model.bodies]).reshape(-1, 3, 3)
        self.gravity = self.vector(model.gravity)
        self.length = self._length()
        turning = np.tile(np.repeat([self.length, 1.0], 3), len(model.bodies))
        #: V = metres · (speeds in m/s)
        self.metres = 1.0 / turning

    # --- numbers of the model -----------------------------------------------------------------

    def number(self, scalar: float | str, **more: Any) -> Any:
        """A scalar of the model, read by Python: tests trust their own models."""
        if not isinstance(scalar, str):
            return float(scalar)
        return _value(scalar, self.known | more)

    def vector(self, entries: tuple) -> np.ndarray:
        if entries not in self._read:
            self._read[entries] = np.array([self.number(e) for e in entries], dtype=float)
        return self._read[entries]

    def _frame(self, place: ns.Placement) -> tuple[np.ndarray, np.ndarray]:
        if place not in self._read:
            turned = _rotation(place.sequence, self.vector(place.angles))
            self._read[place] = turned, self.vector(place.position)
        return self._read[place]

    @cached_property
    def _frames(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        return {
            j.name: (*self._frame(j.parent_frame), *self._frame(j.child_frame))
            for j in self.model.joints
        }

    def _inertia(self, body: ns.Body) -> np.ndarray:
        if body.moment is not None:
            return np.diag([0.0, 0.0, self.number(body.moment)])
        xx, yy, zz, *products = [self.number(e) for e in body.inertia]
        xy, xz, yz = products or (0.0, 0.0, 0.0)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def _length(self) -> float:
        """A length of the model: the median of what is named in it."""
        found = [np.linalg.norm(f[k]) for f in self._frames.values() for k in (1, 3)]
        found += [np.linalg.norm(c) for c in self.com]
        found += [
            self.number(getattr(c.wheel, "radius", 0.1)) for c in self.model.contacts if _rolls(c)
        ]
        found = [x for x in found if x > 1e-6]
        return float(np.median(found)) if found else 1.0

    # --- where things are ---------------------------------------------------------------------

    def place(self, q: np.ndarray) -> Pose:
        """The poses at joint coordinates."""
        R = np.tile(np.eye(3), (len(self.index), 1, 1))
        c = np.zeros((len(self.index), 3))
        at = 0
        for joint in self.tree:
            count = len(joint.type.coordinates)
            R_FM, p_FM = _across_joint(joint.type, q[at : at + count], self)
            at += count
            P, B = self.index[joint.parent], self.index[joint.child]
            R_PF, p_PF, R_BM, p_BM = self._frames[joint.name]
            R[B] = R[P] @ R_PF @ R_FM @ R_BM.T
            M = c[P] + R[P] @ (p_PF + R_PF @ p_FM - self.com[P])
            c[B] = M - R[B] @ (p_BM - self.com[B])
        return Pose(R, c)

    def coordinates(self, x: Pose, near: np.ndarray | None = None) -> np.ndarray:
        """Joint coordinates of poses; angles and signs of quaternions next to given ones."""
        found: list[float] = []
        for joint in self.tree:
            R_F, R_M, p_F, p_M = self._joint_frames(x, joint)
            R, p = R_F.T @ R_M, R_F.T @ (p_M - p_F)
            last = None if near is None else near[len(found) :]
            match joint.type:
                case ns.joints.Fixed():
                    continue
                case ns.joints.Revolute():
                    found.append(_angle(R, _unit(self.vector(joint.type.axis)), last))
                case ns.joints.Prismatic():
                    found.append(_unit(self.vector(joint.type.axis)) @ p)
                case ns.joints.Planar():
                    turned = None if last is None else last[2:]
                    found += [p[0], p[1], _angle(R, np.array([0.0, 0.0, 1.0]), turned)]
                case ns.joints.Spherical():
                    found += list(_quaternion(R, last))
                case ns.joints.Free():
                    sign = None if last is None else last[3:]
                    found += [*p, *_quaternion(R, sign)]
                case _:
                    raise NotImplementedError(joint.type)
        return np.array(found, dtype=float)

    def _point(self, x: Pose, body: int, place: np.ndarray) -> np.ndarray:
        return x.c[body] + x.R[body] @ (place - self.com[body])

    def _turn(self, body: int) -> np.ndarray:
        """ω of a body = this · V."""
        J = np.zeros((3, self.size))
        if 6 * body < self.size:
            J[:, 6 * body : 6 * body + 3] = np.eye(3)
        return J

    def _move(self, x: Pose, body: int, point: np.ndarray) -> np.ndarray:
        """Velocity of the material point of a body that is now at `point` = this · V."""
        J = np.zeros((3, self.size), dtype=point.dtype)
        if 6 * body < self.size:
            J[:, 6 * body : 6 * body + 3] = -_skew(point - x.c[body])
            J[:, 6 * body + 3 : 6 * body + 6] = np.eye(3)
        return J

    def _joint_frames(self, x: Pose, joint: ns.Joint) -> tuple[np.ndarray, ...]:
        P, B = self.index[joint.parent], self.index[joint.child]
        R_PF, p_PF, R_BM, p_BM = self._frames[joint.name]
        return x.R[P] @ R_PF, x.R[B] @ R_BM, self._point(x, P, p_PF), self._point(x, B, p_BM)

    def _relative(self, x: Pose, joint: ns.Joint) -> tuple[np.ndarray, np.ndarray]:
        """Turning and moving of the child against the parent at the child's joint frame."""
        P, B = self.index[joint.parent], self.index[joint.child]
        at = self._joint_frames(x, joint)[3]
        turn = self._turn(B) - self._turn(P)
        return turn, self._move(x, B, at) - self._move(x, P, at)

    # --- joint speeds and rates of coordinates ------------------------------------------------

    def speeds(self, x: Pose) -> np.ndarray:
        """L: tree speeds v = L V."""
        rows = [np.zeros((0, self.size))]
        for joint in self.tree:
            _, R_M, _, _ = self._joint_frames(x, joint)
            turn, move = (R_M.T @ part for part in self._relative(x, joint))
            match joint.type:
                case ns.joints.Fixed():
                    pass
                case ns.joints.Revolute():
                    rows.append(_unit(self.vector(joint.type.axis))[None, :] @ turn)
                case ns.joints.Prismatic():
                    rows.append(_unit(self.vector(joint.type.axis))[None, :] @ move)
                case ns.joints.Planar():
                    rows.append(np.vstack([move[:2], turn[2:]]))
                case ns.joints.Spherical():
                    rows.append(turn)
                case ns.joints.Free():
                    rows.append(np.vstack([turn, move]))
                case _:
                    raise NotImplementedError(joint.type)
        return np.vstack(rows)

    def coordinate_rates(self, x: Pose, q: np.ndarray) -> np.ndarray:
        """q̇ = this · V: the change of what :meth:`coordinates` reads off the poses."""
        rows = [np.zeros((0, self.size))]
        for joint in self.tree:
            near = q[sum(len(r) for r in rows) :]
            R_F, R_M, _, _ = self._joint_frames(x, joint)
            turn, move = self._relative(x, joint)
            axis = getattr(joint.type, "axis", None)
            e = None if axis is None else _unit(self.vector(axis))[None, :]
            # across the frame F: what F turns takes no part, since p is seen from F
            move = R_F.T @ move
            match joint.type:
                case ns.joints.Fixed():
                    pass
                case ns.joints.Revolute():
                    rows.append(e @ R_F.T @ turn)
                case ns.joints.Prismatic():
                    rows.append(e @ move)
                case ns.joints.Planar():
                    rows.append(np.vstack([move[:2], (R_F.T @ turn)[2:]]))
                case ns.joints.Spherical():
                    rows.append(_quaternion_rates(R_F.T @ R_M, near) @ R_M.T @ turn)
                case ns.joints.Free():
                    swing = _quaternion_rates(R_F.T @ R_M, near[3:]) @ R_M.T @ turn
                    rows.append(np.vstack([move, swing]))
        return np.vstack(rows)

    # --- constraints --------------------------------------------------------------------------

    def _geometry(self, x: Pose) -> tuple[np.ndarray, list, list[bool], int, dict[str, slice]]:
        """J of joints and contacts with g and which are angular; how many are of the tree."""
        J, g, angular = [np.zeros((0, self.size))], [], []
        num_tree = 0
        joints: dict[str, slice] = {}
        for joint in (*self.tree, *self.loops):
            rows, positions, turns = self._held(x, joint)
            joints[joint.name] = slice(len(g), len(g) + len(positions))
            J.append(rows)
            g += positions
            angular += turns
            num_tree += len(turns) * (joint in self.tree)
        for contact in self.model.contacts:
            rows, positions = self._touch(x, contact)
            J.append(rows)
            g += positions
            angular += [False] * len(positions)
        return np.vstack(J), g, angular, num_tree, joints

    def _held(self, x: Pose, joint: ns.Joint) -> tuple[np.ndarray, list, list[bool]]:
        """What a joint does not allow, along the axes of its frame F."""
        R_F, R_M, p_F, p_M = self._joint_frames(x, joint)
        turn, move = (R_F.T @ part for part in self._relative(x, joint))
        R, p = R_F.T @ R_M, R_F.T @ (p_M - p_F)
        swing = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
        match joint.type:
            case ns.joints.Fixed():
                return np.vstack([turn, move]), [*swing, *p], [True] * 3 + [False] * 3
            case ns.joints.Revolute():
                e = _unit(self.vector(joint.type.axis))
                across = _across(e)
                tilt = across @ np.cross(e, R @ e)
                return np.vstack([across @ turn, move]), [*tilt, *p], [True] * 2 + [False] * 3
            case ns.joints.Prismatic():
                across = _across(_unit(self.vector(joint.type.axis)))
                rows = np.vstack([turn, across @ move])
                return rows, [*swing, *(across @ p)], [True] * 3 + [False] * 2
            case ns.joints.Planar():
                tilt = np.cross([0.0, 0.0, 1.0], R[:, 2])
                rows = np.vstack([turn[:2], move[2:]])
                return rows, [tilt[0], tilt[1], p[2]], [True, True, False]
            case ns.joints.Spherical():
                return move, [*p], [False] * 3
            case ns.joints.Free():
                return move[:0], [], []
        raise NotImplementedError(joint.type)

    def _touch(self, x: Pose, contact: Any) -> tuple[np.ndarray, list]:
        """Velocity of the material point in contact against the plane's body."""
        body, ground = self.index[contact.body], self.index[contact.plane.body]
        R_plane, p_plane = self._frame(contact.plane.frame)
        axes = x.R[ground] @ R_plane
        n, origin = axes[:, 2], self._point(x, ground, p_plane)
        if isinstance(contact, ns.contacts.KnifeEdge):
            point = self._point(x, body, self.vector(contact.point))
            across = _sideways(n, x.R[body] @ _unit(self.vector(contact.direction)))
            directions, g = [across], [math.nan]
        elif isinstance(contact, ns.contacts.RollerRolling):
            wheel = ns.surfaces.Disk(radius=contact.radius, axis=contact.axis)
            point, along = self._lowest(x, contact, n, axes, wheel)
            angle = self.number(contact.roller_angle)
            held = math.sin(angle) * along + math.cos(angle) * np.cross(n, along)
            height = n @ (point - origin)
            directions, g = (
                ([held, n], [math.nan, height]) if contact.normal else ([held], [math.nan])
            )
        else:
            if isinstance(contact.ground, ns.grounds.FlatGround):
                point, along = self._lowest(x, contact, n, axes)
                height = n @ (point - origin)
            else:
                n, point, along, height = self._nearest(x, contact, axes, origin)[:4]
            wanted = (contact.longitudinal, contact.lateral, contact.normal)
            axes, heights = (along, np.cross(n, along), n), (math.nan, math.nan, height)
            directions = [d for d, is_wanted in zip(axes, wanted, strict=True) if is_wanted]
            g = [h for h, is_wanted in zip(heights, wanted, strict=True) if is_wanted]
        slip = self._move(x, body, point) - self._move(x, ground, point)
        return np.array(directions).reshape(-1, 3) @ slip, g

    def _nearest(
        self, x: Pose, contact: ns.contacts.Rolling, axes: np.ndarray, origin: np.ndarray
    ) -> tuple:
        """Normal, point, heading and height where a surface is nearest to curved ground; place.

        On a height z = h(x, y) the place u = (x, y) has Tᵀ(p − P) = 0 with the tangents T; found by
        Newton's method on numbers. It is an analytic function of the poses: with their complex
        step, steps of the same method give its derivative.
        """
        ground, body = contact.ground, self.index[contact.body]
        center = axes.T @ (self._point(x, body, self.vector(contact.center)) - origin)
        if isinstance(ground, ns.grounds.SphereGround | ns.grounds.CylinderGround):
            assert isinstance(contact.wheel, ns.surfaces.Ball), "the oracle knows balls on those"
            side = -1.0 if ground.inside else 1.0
            out = center * np.array([1.0, 1.0, float(isinstance(ground, ns.grounds.SphereGround))])
            own = side * _unit(out)
            along = np.array([0.0, 0.0, 1.0])
            if isinstance(ground, ns.grounds.SphereGround):
                # x, turned as z is to the normal by the shortest way
                axis = np.array([-own[1], own[0], 0.0])
                along = np.array([1.0, 0.0, 0.0])
                along = along * own[2] + np.cross(axis, along) + axis * axis[0] / (1 + own[2])
            r = self.number(contact.wheel.radius)
            far = side * (np.sqrt(np.sum(out**2)) - self.number(ground.radius)) - r
            point = origin + axes @ (center - r * own)
            return axes @ own, point, axes @ along, far, np.zeros(0)
        h, hx, hy = self._heights(ground)

        def off(u: np.ndarray, at: Pose, axes: np.ndarray, origin: np.ndarray) -> tuple:
            slopes = np.array([hx(*u), hy(*u)])
            T = np.array([[1.0, 0.0, slopes[0]], [0.0, 1.0, slopes[1]]])
            n = axes @ _unit(np.array([-slopes[0], -slopes[1], 1.0 + 0 * slopes[0]]))
            tangents = np.stack([axes @ _unit(T[0]), n, n], axis=1)
            point, along = self._lowest(at, contact, n, tangents)
            gap = axes.T @ (point - origin) - np.array([u[0], u[1], h(*u)])
            return T @ gap, n, point, along, (axes @ gap) @ n

        real = Pose(np.real(x.R), np.real(x.c)), np.real(axes), np.real(origin)
        u = np.real(center[:2])
        steps = [np.array([1j * STEP, 0.0]), np.array([0.0, 1j * STEP])]
        for _ in range(30):
            J = np.array([np.imag(off(u + step, *real)[0]) / STEP for step in steps]).T
            step = np.linalg.solve(J, off(u, *real)[0])
            u = u - step * min(1.0, 0.2 / max(1e-300, float(np.linalg.norm(step))))
            if np.linalg.norm(step) < 1e-15:
                break
        else:
            if np.linalg.norm(step) > 1e-13:
                raise NotDecided("no closest point was found")
        for _ in range(2):
            u = u - np.linalg.solve(J, off(u, x, axes, origin)[0])
        _, n, point, along, height = off(u, x, axes, origin)
        return n, point, along, height, u

    def _heights(self, ground: Any) -> tuple:
        """h(x, y) and its slopes, from its text by SymPy."""
        if ground not in self._read:
            text = ground.z.replace("^", "**")
            x, y = sympy.symbols("x y", real=True)
            names = {"x": x, "y": y, "r": sympy.sqrt(x**2 + y**2), "rr": x**2 + y**2}
            given = {name: sympy.Float(value, 17) for name, value in self.known.items()}
            h = sympy.sympify(text, locals=given | names)
            parts = (h, sympy.diff(h, x), sympy.diff(h, y))
            self._read[ground] = tuple(sympy.lambdify((x, y), e, "numpy") for e in parts)
        return self._read[ground]

    def places(self, x: Pose) -> np.ndarray:
        """Coordinates that contacts on curved ground have of their own."""
        found = []
        for contact in self.model.contacts:
            if not isinstance(contact, ns.contacts.Rolling) or isinstance(
                contact.ground, ns.grounds.FlatGround
            ):
                continue
            R_plane, p_plane = self._frame(contact.plane.frame)
            ground = self.index[contact.plane.body]
            axes, origin = x.R[ground] @ R_plane, self._point(x, ground, p_plane)
            found.append(self._nearest(x, contact, axes, origin)[4])
        return np.concatenate([np.zeros(0), *found])

    def _lowest(
        self,
        x: Pose,
        contact: ns.contacts.Rolling,
        n: np.ndarray,
        axes: np.ndarray,
        wheel: ns.surfaces.AbstractSurface | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The contact point, and the wheel's heading."""
        body, wheel = self.index[contact.body], contact.wheel if wheel is None else wheel
        center = self._point(x, body, self.vector(contact.center))
        if isinstance(wheel, ns.surfaces.Ellipsoid):
            # where the gradient of Σ (p/a)² is along −n: p = −a² n/√(Σ a² n²) in body axes
            size, own = self.vector(wheel.size), x.R[body].T @ n
            length = np.sqrt(np.sum((size * own) ** 2))
            return center - x.R[body] @ (size**2 * own) / length, axes[:, 0]
        radius = self.number(wheel.radius)
        if isinstance(wheel, ns.surfaces.Ball):
            return center - radius * n, axes[:, 0]
        axle = x.R[body] @ _unit(self.vector(wheel.axis))
        along = _sideways(axle, n)
        # down in the plane of the wheel, across its heading
        point = center - radius * np.cross(along, axle)
        if isinstance(wheel, ns.surfaces.Torus):
            point = point - self.number(wheel.tube_radius) * n
        return point, along

    def rows(
        self, x: Pose, V: np.ndarray, t: float, w: np.ndarray, wdot: np.ndarray, q: np.ndarray
    ) -> _Rows:
        """All rows at a state."""
        J, g, angular, num_tree, joints = self._geometry(x)
        ahead = self._ahead(x, V)
        rate = np.imag(self._geometry(ahead)[0] @ V) / STEP
        b = np.zeros(len(J))
        L, L_rate = self.speeds(x), np.imag(self.speeds(ahead) @ V) / STEP
        N = self.coordinate_rates(x, q)
        N_rate = np.imag(self.coordinate_rates(ahead, q) @ V) / STEP
        more: list[tuple[np.ndarray, float, float, float, bool]] = []
        for joint in self.tree:
            more += self._prescribed(joint, x, t, q, (L, L_rate), (N, N_rate))
        for k, given in enumerate(self.model.speed_inputs):
            at = self.names_v.index(given.speed)
            more.append((L[at], w[k], L_rate[at] - wdot[k], math.nan, _turns(given.speed)))
        for row in self.model.rows:
            written = self._position if row.is_holonomic else self._velocity
            parts = written(row.expression, t, q, V, (L, L_rate), (N, N_rate))
            more.append((*parts, "rad" in row.unit))
        for J_row, b_row, rate_row, g_row, is_angular in more:
            J = np.vstack([J, J_row])
            b, rate = np.append(b, b_row), np.append(rate, rate_row)
            g.append(g_row)
            angular.append(is_angular)
        return _Rows(
            np.asarray(J, dtype=float),
            b,
            rate,
            np.array(g, dtype=float),
            np.array(angular, dtype=bool),
            num_tree,
            joints,
        )

    def _position(
        self, text: str, t: float, q: np.ndarray, V: np.ndarray, speeds: tuple, rates: tuple
    ) -> tuple[np.ndarray, float, float, float]:
        """J, b, rate and g of a row g(q, t)."""
        qdot, qddot = rates[0] @ V, rates[1]
        # until coordinates have changed by 0.05: what the circle leaves out grows with the change
        largest = [np.max(np.abs(a), initial=0.0) for a in (qdot, qddot)]
        fast = max(1.0, largest[0], math.sqrt(largest[1]))
        g, slope, bend = _taylor(self._along(text, t, q, qdot, qddot), 0.05 / fast)
        gradient = self._gradient(text, t, q)
        return gradient @ rates[0], gradient @ rates[0] @ V - slope, bend, g

    def _velocity(
        self, text: str, t: float, q: np.ndarray, V: np.ndarray, speeds: tuple, rates: tuple
    ) -> tuple[np.ndarray, float, float, float]:
        """J, b and rate of a row that is linear in the tree speeds v."""
        L, L_rate = speeds
        s = 1j * STEP
        units = np.eye(len(L))
        factors = [np.imag(self._expression(text, t, q, s * e)) / STEP for e in units]
        at_rest = float(self._expression(text, t, q, np.zeros(len(L))))
        later = self._expression(text, t + s, q + s * (rates[0] @ V), L @ V + s * L_rate)
        return np.array(factors) @ L, -at_rest, np.imag(later) / STEP, math.nan

    def _ahead(self, x: Pose, V: np.ndarray) -> Pose:
        """The poses a complex step later, at constant V."""
        twists = np.vstack([V.reshape(-1, 6), np.zeros((1, 6))])
        R = np.array(
            [r + 1j * STEP * _skew(w) @ r for r, w in zip(x.R, twists[:, :3], strict=True)]
        )
        return Pose(R, x.c + 1j * STEP * twists[:, 3:])

    def _prescribed(
        self, joint: ns.Joint, x: Pose, t: float, q: np.ndarray, speeds: tuple, rates: tuple
    ) -> list[tuple[np.ndarray, float, float, float, bool]]:
        """Rows of a joint's motion that is given in time."""
        motion = joint.motion or {}
        rows = []
        for coordinate in joint.type.coordinates:
            if coordinate.name in motion:
                k = self.names_q.index(f"{joint.name}.{coordinate.name}")
                value, slope, bend = self._in_time(motion[coordinate.name], t)
                is_angular = coordinate.unit == "rad"
                rows.append((rates[0][k], slope, rates[1][k] - bend, q[k] - value, is_angular))
        angles = getattr(joint.type, "angles", None)
        if angles is not None and angles.names[0] in motion:
            told = np.array([self._in_time(motion[name], t) for name in angles.names])
            wanted = _rotation(angles.sequence, told[:, 0])
            omega = _turning(angles.sequence, told[:, 0], told[:, 1])
            s = 1j * STEP
            later = _turning(
                angles.sequence, told[:, 0] + s * told[:, 1], told[:, 1] + s * told[:, 2]
            )
            R_F, R_M, _, _ = self._joint_frames(x, joint)
            R = wanted.T @ R_F.T @ R_M
            swing = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
            first = self.names_v.index(f"{joint.name}.wx")
            for k in range(3):
                rate = speeds[1][first + k] - np.imag(later[k]) / STEP
                rows.append((speeds[0][first + k], omega[k], rate, swing[k], True))
        return rows

    def _in_time(self, text: str | float, t: float) -> tuple[float, float, float]:
        return _taylor(lambda s: self.number(text, t=t + s))

    def _expression(self, text: str, t: Any, q: Any, v: Any) -> Any:
        named = dict(zip(self.names_q, q, strict=True)) | dict(zip(self.names_v, v, strict=True))
        return self.number(text, t=t, **named)

    def _along(
        self, text: str, t: float, q: np.ndarray, slope: np.ndarray, bend: np.ndarray
    ) -> Callable[[Any], Any]:
        """An expression of coordinates and time along a motion, to second order."""
        none = np.zeros(len(self.names_v))
        return lambda s: self._expression(text, t + s, q + s * slope + s * s / 2 * bend, none)

    def _gradient(self, text: str, t: float, q: np.ndarray) -> np.ndarray:
        none = np.zeros(len(self.names_v))
        steps = 1j * STEP * np.eye(len(q))
        return np.array(
            [np.imag(self._expression(text, t, q + e, none)) / STEP for e in steps]
        ).reshape(len(q))

    # --- what pushes --------------------------------------------------------------------------

    def mass_matrix(self, x: Pose) -> np.ndarray:
        M = np.zeros((self.size, self.size))
        for k in range(len(self.mass)):
            at = 6 * k
            M[at : at + 3, at : at + 3] = x.R[k] @ self.inertia[k] @ x.R[k].T
            M[at + 3 : at + 6, at + 3 : at + 6] = self.mass[k] * np.eye(3)
        return M

    def forces(
        self, x: Pose, V: np.ndarray, t: float, u: np.ndarray, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Gyroscopic moments, forces of potentials, other forces, and the potential energy."""
        gyro, conservative, other = (np.zeros(self.size) for _ in range(3))
        U = 0.0
        for k in range(len(self.mass)):
            omega = V[6 * k : 6 * k + 3]
            tensor = x.R[k] @ self.inertia[k] @ x.R[k].T
            gyro[6 * k : 6 * k + 3] -= np.cross(omega, tensor @ omega)
            conservative[6 * k + 3 : 6 * k + 6] += self.mass[k] * self.gravity
            U -= self.mass[k] * self.gravity @ x.c[k]
        L, N = self.speeds(x), self.coordinate_rates(x, q)
        v = L @ V
        named = (
            dict(zip(self.names_q, q, strict=True))
            | dict(zip(self.names_v, v, strict=True))
            | {"t": t}
        )
        named |= {given.name: u[k] for k, given in enumerate(self.model.inputs)}
        for force in self.model.forces:
            match force:
                case ns.forces.Motor():
                    other += L[self.names_v.index(force.speed)] * named[force.input]
                case ns.forces.JointSpring():
                    k = self.names_q.index(force.coordinate)
                    stretch = q[k] - self.number(force.rest)
                    conservative -= self.number(force.stiffness) * stretch * N[k]
                    U += self.number(force.stiffness) * stretch**2 / 2
                case ns.forces.JointDamper():
                    k = self.names_v.index(force.speed)
                    other -= self.number(force.damping) * v[k] * L[k]
                case ns.forces.JointFriction():
                    k = self.names_v.index(force.speed)
                    size = self.number(force.level)
                    other -= size * math.tanh(v[k] / self.number(force.smoothing)) * L[k]
                case ns.forces.Spring():
                    ends = (force.body, force.point), (force.other_body, force.other_point)
                    (one, p), (two, r) = (
                        (self.index[name], self._point(x, self.index[name], self.vector(place)))
                        for name, place in ends
                    )
                    length = float(np.linalg.norm(p - r))
                    stretching = (p - r) / length @ (self._move(x, one, p) - self._move(x, two, r))
                    stretch = length - self.number(force.rest_length)
                    conservative -= self.number(force.stiffness) * stretch * stretching
                    other -= self.number(force.damping) * (stretching @ V) * stretching
                    U += self.number(force.stiffness) * stretch**2 / 2
                case ns.forces.Wrench():
                    k = self.index[force.body]
                    R = x.R[k] if force.axes == "body" else np.eye(3)
                    push, moment = (
                        R @ np.array([self.number(e, **named) for e in part])
                        for part in (force.force, force.moment)
                    )
                    point = self._point(x, k, self.vector(force.point))
                    other += self._move(x, k, point).T @ push + self._turn(k).T @ moment
                case Tire():
                    other += self._tire(force, x, V)
                case ns.forces.MagicTire():
                    other += self._magic(force, x, V)
                case _:
                    raise NotImplementedError(force)
        return gyro, conservative, other, U

    def _tire(self, tire: Tire, x: Pose, V: np.ndarray) -> np.ndarray:
        body, ground = self.index[tire.body], self.index[tire.plane.body]
        n = x.R[ground] @ self._frame(tire.plane.frame)[0][:, 2]
        across = _unit(np.cross(n, x.R[body] @ self.vector(tire.direction)))
        point = self._point(x, body, self.vector(tire.point))
        slip = self._move(x, body, point) - self._move(x, ground, point)
        v_u, v_w = np.cross(across, n) @ slip @ V, across @ slip @ V
        size = self.number(tire.stiffness) * v_w / math.hypot(v_u, self.number(tire.v0))
        if tire.maximum is not None:
            maximum = self.number(tire.maximum)
            size = maximum * math.tanh(size / maximum)
        return -size * (across @ slip)

    def _magic(self, tire: ns.forces.MagicTire, x: Pose, V: np.ndarray) -> np.ndarray:
        assert tire.rolling_resistance == tire.camber_stiffness == 0.0
        body, ground = self.index[tire.body], self.index[tire.plane.body]
        axes = x.R[ground] @ self._frame(tire.plane.frame)[0]
        n = axes[:, 2]
        wheel = ns.surfaces.Disk(radius=tire.radius, axis=tire.axis)
        point, along = self._lowest(x, tire, n, axes, wheel)
        center = self._point(x, body, self.vector(tire.center))
        slip = self._move(x, body, point) - self._move(x, ground, point)
        aside = np.cross(n, along)
        v_x, v_y = along @ slip @ V, aside @ slip @ V
        scale = math.hypot(along @ self._move(x, body, center) @ V - v_x, self.number(tire.v0))
        size = math.sqrt((v_x**2 + v_y**2) / scale**2 + 1e-18)
        B, C, mu, E = ROADS[tire.road]
        curve = math.sin(C * math.atan(B * size * (1 - E) + E * math.atan(B * size)))
        force = -mu * self.number(tire.load) * curve / size / scale * (v_x * along + v_y * aside)
        return force @ slip

    # --- the answer ---------------------------------------------------------------------------

    def _split(self, rows: _Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Speeds in m/s that the rows hold and that they leave, and J⁺ of the rows in metres."""
        J = np.where(rows.is_angular, self.length, 1.0)[:, None] * rows.J * self.metres
        if not len(J):
            return np.zeros((self.size, 0)), np.eye(self.size), np.zeros((self.size, 0))
        left, values, right = np.linalg.svd(J)
        if np.any((values > ROUNDING) & (values < CLEAR)):
            raise NotDecided(f"singular values {values[values < CLEAR]}")
        rank = int(np.count_nonzero(values > ROUNDING))
        inverse = right[:rank].T / values[:rank] @ left[:, :rank].T
        return right[:rank].T, right[rank:].T, inverse

    def _in_metres(self, rows: _Rows, column: np.ndarray) -> np.ndarray:
        return np.where(rows.is_angular, self.length, 1.0) * column

    def at(
        self,
        x: Pose,
        V: np.ndarray,
        t: float,
        u: np.ndarray,
        w: np.ndarray,
        wdot: np.ndarray,
        q: np.ndarray,
    ) -> Answer:
        """Accelerations, reactions and energies at a state."""
        a, freedoms, parts = self._solve(x, V, t, u, w, wdot, q)
        M, (gyro, conservative, other, U), rows = parts
        L = self.speeds(x)
        L_rate = np.imag(self.speeds(self._ahead(x, V)) @ V) / STEP
        reaction = M @ a - gyro - conservative - other
        # motions that the joints of the tree leave: one for each tree speed
        held = np.vstack([rows.J[: rows.num_tree], L]) * self.metres
        T = self.metres[:, None] * np.linalg.solve(held, np.eye(self.size)[:, rows.num_tree :])
        terms = (M @ a, gyro, conservative, other)
        acceleration = max(np.max(np.abs(e), initial=1.0) for e in (L @ a, L_rate))
        force = max(np.max(np.abs(T.T @ e), initial=1.0) for e in terms)
        power = max(1.0, *(float(np.abs(V) @ np.abs(e)) for e in terms)) if len(V) else 1.0
        return Answer(
            freedoms=freedoms,
            accelerations=a,
            speed_rates=L @ a + L_rate,
            reactions=T.T @ reaction,
            sizes=(float(acceleration), float(force)),
            kinetic_energy=float(V @ M @ V) / 2,
            potential_energy=float(U),
            energy_rate=float(V @ (other + reaction)),
            power_size=power,
            **self._split_reaction(rows, reaction, terms),
        )

    def _split_reaction(
        self, rows: _Rows, reaction: np.ndarray, terms: tuple[np.ndarray, ...]
    ) -> dict[str, Any]:
        """Multipliers of Jᵀλ = reaction where they are determined, in N and N m."""
        scale = np.where(rows.is_angular, self.length, 1.0)
        J = scale[:, None] * rows.J * self.metres
        left, values, right = np.linalg.svd(J)
        rank = int(np.count_nonzero(values > ROUNDING))
        lam = left[:, :rank] / values[:rank] @ (right[:rank] @ (self.metres * reaction))
        free = np.linalg.norm(left[:, rank:], axis=1) > 1e-7
        lam = np.where(free, np.nan, scale * lam)
        others = max((s.stop for s in rows.joints.values()), default=0)
        # moments count as forces at the length
        size = max(np.max(np.abs(self.metres * e), initial=1.0) for e in terms)
        return {
            "joint_forces": {name: lam[at] for name, at in rows.joints.items()},
            "multipliers": lam[others:],
            "force_size": float(size)
            * max(1.0, self.length)
            / min(1.0, *values[rank - 1 : rank], 1.0),
        }

    def held_part(
        self, x: Pose, joint: ns.Joint, force: np.ndarray, moment: np.ndarray
    ) -> np.ndarray:
        """Of a wrench on the child at its joint frame, what the joint holds: as `joint_forces`."""
        R_F = self._joint_frames(x, joint)[0]
        n, f = R_F.T @ moment, R_F.T @ force
        match joint.type:
            case ns.joints.Fixed():
                return np.concatenate([n, f])
            case ns.joints.Revolute():
                return np.concatenate([_across(_unit(self.vector(joint.type.axis))) @ n, f])
            case ns.joints.Prismatic():
                return np.concatenate([n, _across(_unit(self.vector(joint.type.axis))) @ f])
            case ns.joints.Planar():
                return np.concatenate([n[:2], f[2:]])
            case ns.joints.Spherical():
                return f
        return np.zeros(0)

    def _solve(
        self,
        x: Pose,
        V: np.ndarray,
        t: float,
        u: np.ndarray,
        w: np.ndarray,
        wdot: np.ndarray,
        q: np.ndarray,
    ) -> tuple[np.ndarray, int, tuple[np.ndarray, tuple, _Rows]]:
        """V̇, the number of freedoms, and M, the forces and rows that it came from."""
        rows = self.rows(x, V, t, w, wdot, q)
        _, Z, inverse = self._split(rows)
        forces = self.forces(x, V, t, u, q)
        M = self.mass_matrix(x)
        D = self.metres
        M_metres = D[:, None] * M * D
        a_0 = -inverse @ self._in_metres(rows, rows.rate)
        left = rows.rate + rows.J @ (D * a_0)
        if np.max(np.abs(left), initial=0.0) > 1e-8 * max(
            1.0, np.max(np.abs(rows.rate), initial=0)
        ):
            raise NotDecided(f"rows ask for accelerations that contradict: {left}")
        y = np.linalg.solve(Z.T @ M_metres @ Z, Z.T @ (D * sum(forces[:3]) - M_metres @ a_0))
        return D * (a_0 + Z @ y), Z.shape[1], (M, forces, rows)

    def on_rows(
        self, x: Pose, t: float, q: np.ndarray, tolerance: float = 1e-14
    ) -> tuple[Pose, np.ndarray] | None:
        """The poses moved onto the holonomic rows by Newton's method, or None."""
        none = np.zeros(len(self.model.speed_inputs))
        still = np.zeros(self.size)
        last = math.inf
        for _ in range(50):
            rows = self.rows(x, still, t, none, none, q)
            held = np.isfinite(rows.g)
            g = self._in_metres(rows, rows.g)[held]
            worst = float(np.max(np.abs(g), initial=0.0))
            if not np.isfinite(worst):
                return None
            unit = max(1.0, self.length)
            if worst <= tolerance * unit or (worst < 1e-12 * unit and worst >= last):
                return (x, q) if self._is_upright(x) else None
            last = worst
            J = (np.where(rows.is_angular, self.length, 1.0)[:, None] * rows.J * self.metres)[held]
            step = -np.linalg.lstsq(J, g, rcond=1e-9)[0]
            longest = max(0.5 * self.length, worst)
            step *= min(1.0, longest / max(1e-300, float(np.linalg.norm(step))))
            x = _moved(x, self.metres * step)
            q = self.coordinates(x, q)
        return None

    def _is_upright(self, x: Pose) -> bool:
        """Whether no joint is closed the wrong way round, where sines vanish too."""
        for joint in (*self.tree, *self.loops):
            R_F, R_M, _, _ = self._joint_frames(x, joint)
            R = R_F.T @ R_M
            match joint.type:
                case ns.joints.Fixed() | ns.joints.Prismatic():
                    if np.trace(R) < 2.0:
                        return False
                case ns.joints.Revolute():
                    e = _unit(self.vector(joint.type.axis))
                    if e @ R @ e < 0.0:
                        return False
                case ns.joints.Planar():
                    if R[2, 2] < 0.0:
                        return False
        return True

    def admissible(
        self, x: Pose, V: np.ndarray, t: float, w: np.ndarray, q: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """The nearest speeds that all rows allow, and how many of them are free."""
        rows = self.rows(x, V, t, w, np.zeros(len(w)), q)
        _, Z, inverse = self._split(rows)
        start = inverse @ self._in_metres(rows, rows.b)
        found = self.metres * (start + Z @ (Z.T @ (V / self.metres)))
        left = rows.J @ found - rows.b
        if np.max(np.abs(left), initial=0.0) > 1e-8 * max(1.0, np.max(np.abs(rows.b), initial=0.0)):
            raise NotDecided(f"rows ask for speeds that contradict: {left}")
        return found, Z.shape[1]

    # --- motion -------------------------------------------------------------------------------

    def move(
        self,
        x: Pose,
        V: np.ndarray,
        times: np.ndarray,
        q: np.ndarray,
        inputs: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]],
    ) -> list[tuple[Pose, np.ndarray, np.ndarray]]:
        """Poses, twists and coordinates at the times, projected onto the rows at each of them."""
        count = len(self.mass)
        path = [(x, V, q)]

        def pose(y: np.ndarray) -> Pose:
            R = np.vstack([y[: 9 * count].reshape(-1, 3, 3), np.eye(3)[None]])
            return Pose(R, np.vstack([y[9 * count : 12 * count].reshape(-1, 3), np.zeros((1, 3))]))

        for begin, end in pairwise(times):
            near = path[-1][2]

            def rates(t: float, y: np.ndarray, near: np.ndarray = near) -> np.ndarray:
                here, speeds = pose(y), y[12 * count :]
                u, w, wdot = inputs(t)
                q = self.coordinates(here, near)
                a = self._solve(here, speeds, t, u, w, wdot, q)[0]
                twists = speeds.reshape(-1, 6)
                turning = [
                    _skew(twist[:3]) @ R for twist, R in zip(twists, here.R[:-1], strict=True)
                ]
                return np.concatenate([np.ravel(turning), twists[:, 3:].ravel(), a])

            y = np.concatenate([x.R[:count].ravel(), x.c[:count].ravel(), V])
            done = solve_ivp(rates, (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-13)
            x, V = pose(done.y[:, -1]), done.y[12 * count :, -1]
            left, _, right = np.linalg.svd(x.R)
            x = Pose(left @ right, x.c)
            closed = self.on_rows(x, end, self.coordinates(x, near), 1e-13)
            if closed is None:
                raise NotDecided("the motion left the rows")
            x, q = closed
            V, _ = self.admissible(x, V, end, inputs(end)[1], q)
            path.append((x, V, q))
        return path


# --- expressions -----------------------------------------------------------------------------


def _signed(x: Any) -> Any:
    return x if np.real(x) >= 0 else -x


_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh")},
    **{name: getattr(np, name) for name in ("cosh", "tanh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "tanh")},
    "atan2": math.atan2,
    "abs": _signed,
    "sign": lambda x: np.sign(np.real(x)),
    "floor": lambda x: np.floor(np.real(x)),
    "min": lambda x, y: x if np.real(x) <= np.real(y) else y,
    "max": lambda x, y: x if np.real(x) >= np.real(y) else y,
    "pi": np.pi,
}  # fmt: skip


_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?!\w*\()")


@lru_cache(maxsize=4096)
def _code(text: str) -> tuple[CodeType, dict[str, str]]:
    """Python's own reading of a text, and the plain names that stand in it for the model's."""
    text = re.sub(r"\[[^]]*\]", "", text)  # units of numbers
    found = dict.fromkeys(name for name in _NAME.findall(text) if name not in _FUNCTIONS)
    plain = {name: f"_{k}" for k, name in enumerate(found)}
    text = _NAME.sub(lambda m: plain.get(m[0], m[0]), text)
    return compile(text.replace("^", "**").strip(), text, "eval"), plain


def _value(text: str, known: dict[str, Any]) -> Any:
    code, plain = _code(text)
    scope = {stands: known[name] for name, stands in plain.items()}
    return eval(code, {"__builtins__": {}, **_FUNCTIONS}, scope)


def _taylor(f: Callable[[Any], Any], radius: float = 0.05, half: int = 6) -> tuple[float, ...]:
    """f(0), f′(0) and f″(0) of an analytic function, by Cauchy's integral on a circle.

    Below the real axis it has the conjugate values. Twelve points leave f⁽¹⁴⁾ 0.05¹² / 14! · 2.
    """
    turns = np.exp(1j * np.pi * np.arange(half + 1) / half)
    middle = float(np.real(f(0.0)))
    values = np.array([complex(f(radius * z)) for z in turns]) - middle
    parts = np.real(values / turns**2)
    first = np.imag(complex(f(1j * STEP))) / STEP
    second = (parts[0] + parts[-1] + 2 * np.sum(parts[1:-1])) / half / radius**2
    return middle, float(first), float(second)


# --- geometry --------------------------------------------------------------------------------


def _carrying(model: ns.Model) -> tuple[list[ns.Joint], list[ns.Joint]]:
    """The joints whose coordinates are the model's, in passes over its list; then the others."""
    carried, tree = {"world"}, []
    while True:
        before = len(tree)
        for joint in model.joints:
            if joint.parent in carried and joint.child not in carried:
                tree.append(joint)
                carried.add(joint.child)
        if len(tree) == before:
            return tree, [j for j in model.joints if j not in tree]


def _rolls(contact: Any) -> bool:
    return isinstance(contact, ns.contacts.Rolling)


def _turns(speed: str) -> bool:
    return speed.rpartition(".")[2] in ("rate", "wx", "wy", "wz")


def _unit(a: np.ndarray) -> np.ndarray:
    return a / np.sqrt(np.sum(a * a))


def _sideways(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Unit vector across two unit vectors that are not nearly parallel."""
    product = np.cross(a, b)
    if np.linalg.norm(np.real(product)) < UPRIGHT:
        raise NotDecided("a wheel lies flat, or a blade stands upright")
    return _unit(product)


def _across(e: np.ndarray) -> np.ndarray:
    """Two unit vectors across a unit vector."""
    return _across_entries(*e.tolist())


@lru_cache(maxsize=256)
def _across_entries(*entries: float) -> np.ndarray:
    e = np.array(entries)
    first = _unit(np.cross(e, np.eye(3)[np.argmin(np.abs(e))]))
    return np.array([first, np.cross(e, first)])


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]], dtype=a.dtype)


def _about(e: np.ndarray, angle: Any) -> np.ndarray:
    """Rodrigues' formula, R = 1 + sin φ e× + (1 − cos φ) e×e×."""
    s = _skew(e)
    return np.eye(3) + np.sin(angle) * s + (1 - np.cos(angle)) * s @ s


def _rotation(sequence: str, angles: np.ndarray) -> np.ndarray:
    R = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        R = R @ _about(np.eye(3)["xyz".index(letter)], angle)
    return R


def _turning(sequence: str, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """ω of intrinsic angles along the axes that they have turned."""
    omega = np.zeros(3, dtype=angles.dtype)
    for letter, angle, rate in zip(sequence, angles, rates, strict=True):
        e = np.eye(3)["xyz".index(letter)]
        omega = _about(e, angle).T @ omega + rate * e
    return omega


def _moved(x: Pose, step: np.ndarray) -> Pose:
    """The poses after a step of twists, each a turn and a shift."""
    R, c = x.R.copy(), x.c.copy()
    for k, twist in enumerate(step.reshape(-1, 6)):
        angle = float(np.linalg.norm(twist[:3]))
        if angle > 0:
            left, _, right = np.linalg.svd(_about(twist[:3] / angle, angle) @ R[k])
            R[k] = left @ right
        c[k] += twist[3:]
    return Pose(R, c)


def _angle(R: np.ndarray, e: np.ndarray, near: np.ndarray | None) -> float:
    first, second = _across(e)
    angle = math.atan2(second @ R @ first, first @ R @ first)
    if near is not None:
        angle += 2 * math.pi * round((near[0] - angle) / (2 * math.pi))
    return angle


def _quaternion(R: np.ndarray, near: np.ndarray | None) -> np.ndarray:
    """Unit quaternion, scalar first; of the two, that next to a given one."""
    found = _largest_first(R)
    if near is not None and np.real(found) @ near[:4] < 0:
        found = -found
    return found


def _largest_first(R: np.ndarray) -> np.ndarray:
    """Column of 4 q qᵀ with the largest diagonal entry, divided by its root."""
    w, x, y, z = 1 + np.trace(R), *(1 + 2 * R[k, k] - np.trace(R) for k in range(3))
    zy, xz, yx = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, zx, yz = R[1, 0] + R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2]
    columns = np.array([[w, zy, xz, yx], [zy, x, xy, zx], [xz, xy, y, yz], [yx, zx, yz, z]])
    k = int(np.argmax(np.real([w, x, y, z])))
    return columns[k] / (2 * np.sqrt(columns[k, k]))


def _quaternion_rates(R: np.ndarray, near: np.ndarray) -> np.ndarray:
    """(4, 3): rate of the quaternion = this · ω in turned axes."""
    w, *e = _quaternion(R, near)
    e = np.array(e)
    return np.vstack([-e, w * np.eye(3) + _skew(e)]) / 2


def _across_joint(type: object, q: np.ndarray, oracle: Maximal) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a joint's frame on the child in its frame on the parent."""
    still = np.zeros(3)
    match type:
        case ns.joints.Fixed():
            return np.eye(3), still
        case ns.joints.Revolute():
            return _about(_unit(oracle.vector(type.axis)), q[0]), still
        case ns.joints.Prismatic():
            return np.eye(3), q[0] * _unit(oracle.vector(type.axis))
        case ns.joints.Planar():
            return _about(np.array([0.0, 0.0, 1.0]), q[2]), np.array([q[0], q[1], 0.0])
        case ns.joints.Spherical():
            return _turned(q), still
        case ns.joints.Free():
            return _turned(q[3:]), np.array(q[:3])
    raise NotImplementedError(type)


def _turned(quaternion: np.ndarray) -> np.ndarray:
    w, e = quaternion[0], _skew(np.asarray(quaternion[1:], dtype=float))
    return np.eye(3) + 2 * w * e + 2 * e @ e
