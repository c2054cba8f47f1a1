"""Newton and Euler with constraint forces as one linear system: an independent way to the motion.

Written for tests alone and sharing no code with `noslip`: positions by plain forward kinematics,
velocities and accelerations by differentiating them, constraints as conditions on relative twists,
and then

    ⎡ M  −Aᵀ ⎤ ⎡ v̇ ⎤   ⎡ Q + B u − c   ⎤      M = Σ Jᵀ M_body J
    ⎣ A   0  ⎦ ⎣ λ  ⎦ = ⎣ −(Ȧ v + ȧ)    ⎦      c = Σ Jᵀ (M_body J̇ v + gyroscopic)

by least squares, because rows may be redundant: then v̇ and Aᵀλ are unique, λ is not. The augmented
system is that of Featherstone, Rigid Body Dynamics Algorithms (2008).

Expressions of the model are read by Python itself, since tests trust their own models.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from states import State

import noslip as ns
from noslip.forces import Tire
from noslip.model.forces import ROADS

_FUNCTIONS = {
    name: getattr(ca, name)
    for name in ("sin", "cos", "tan", "sqrt", "exp", "tanh", "atan2", "log", "sinh", "cosh")
} | {"pi": np.pi}


@dataclass(frozen=True)
class Pose:
    """Orientation and origin of a body, and the Jacobians of its turning and of its origin."""

    R: ca.SX
    p: ca.SX
    J_turn: ca.SX
    J_move: ca.SX

    def point(self, place: ca.SX) -> ca.SX:
        return self.p + self.R @ place

    def point_jacobian(self, point: ca.SX) -> ca.SX:
        """Jacobian of the velocity of the material point that is now at `point` (world)."""
        return self.J_move - ca.skew(point - self.p) @ self.J_turn


@dataclass(frozen=True)
class Motion:
    """What the oracle says at one state."""

    speed_rates: np.ndarray
    reactions: np.ndarray
    mass_matrix: np.ndarray
    velocity_terms: np.ndarray
    applied: np.ndarray
    kinetic_energy: float
    potential_energy: float
    constraint: np.ndarray
    offset: np.ndarray


class NewtonEuler:
    """The oracle of one model, in its coordinates q and tree speeds v."""

    def __init__(self, model: ns.Model) -> None:
        self.model = model
        self.tree = _passes(model)
        self.names_q = [f"{j.name}.{c.name}" for j in self.tree for c in j.type.coordinates]
        self.names_v = [f"{j.name}.{s.name}" for j in self.tree for s in j.type.speeds]
        # places of contacts on curved ground, without inertia
        places = [f"{c.name}.{q.name}" for c in model.contacts for q in c.parameters()]
        self.names_q += places
        self.names_v += [f"{name}_rate" for name in places]
        self.t, self.q = ca.SX.sym("t"), ca.SX.sym("q", len(self.names_q))
        self.v = ca.SX.sym("v", len(self.names_v))
        self.u = ca.SX.sym("u", len(model.inputs))
        self.w = ca.SX.sym("w", len(model.speed_inputs))
        self.wdot = ca.SX.sym("wdot", len(model.speed_inputs))
        self.params = ca.SX.sym("params", len(model.parameters))
        self.known = {
            "t": self.t,
            **{p.name: self.params[k] for k, p in enumerate(model.parameters)},
            **{name: self.q[k] for k, name in enumerate(self.names_q)},
            **{name: self.v[k] for k, name in enumerate(self.names_v)},
            **{i.name: self.u[k] for k, i in enumerate(model.inputs)},
        }
        self.frames: dict[str, tuple[ca.SX, ca.SX]] = {}
        self.N = self._place_bodies()
        none = ca.SX.zeros(3, len(self.names_v))
        self.poses = {"world": Pose(ca.SX.eye(3), ca.SX.zeros(3), none, none)}
        for name, (R, p) in self.frames.items():
            self.poses[name] = self._pose(R, p)

    # --- where things are ---------------------------------------------------------------------

    def value(self, scalar: float | str) -> ca.SX:
        """A scalar of the model, read by Python."""
        if not isinstance(scalar, str):
            return ca.SX(float(scalar))
        text = re.sub(r"\[[^]]*\]", "", scalar).replace("^", "**")
        text = re.sub(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)+", lambda m: f"known['{m[0]}']", text)
        scope = {**_FUNCTIONS, **{k: v for k, v in self.known.items() if "." not in k}}
        return ca.SX(eval(text, {"__builtins__": {}}, {**scope, "known": self.known}))

    def column(self, entries: tuple) -> ca.SX:
        return ca.vertcat(*[self.value(e) for e in entries])

    def placement(self, frame: ns.Placement) -> tuple[ca.SX, ca.SX]:
        R = ca.SX.eye(3)
        for letter, angle in zip(frame.sequence, frame.angles, strict=True):
            R = R @ _turn(letter, self.value(angle))
        return R, self.column(frame.position)

    def _place_bodies(self) -> ca.SX:
        """Frames of all bodies, and the map N from speeds to rates of the coordinates."""
        blocks = []
        at = 0
        frames = {"world": (ca.SX.eye(3), ca.SX.zeros(3))}
        for joint in self.tree:
            count = len(joint.type.coordinates)
            R_FM, p_FM, N = _joint_pose(joint.type, self.q[at : at + count], self)
            at += count
            blocks.append(N)
            R_P, p_P = frames[joint.parent]
            R_PF, p_PF = self.placement(joint.parent_frame)
            R_BM, p_BM = self.placement(joint.child_frame)
            R = R_P @ R_PF @ R_FM @ R_BM.T
            frames[joint.child] = (R, p_P + R_P @ (p_PF + R_PF @ p_FM) - R @ p_BM)
        self.frames = {name: frame for name, frame in frames.items() if name != "world"}
        return ca.diagcat(*blocks, ca.SX.eye(len(self.names_q) - at))

    def _pose(self, R: ca.SX, p: ca.SX) -> Pose:
        """Jacobians by differentiating the pose along each speed: ω× = Ṙ Rᵀ."""
        move = ca.jacobian(p, self.q) @ self.N
        turn = []
        for j in range(len(self.names_v)):
            rate = ca.jtimes(R, self.q, self.N[:, j]) @ R.T
            turn.append(ca.vertcat(rate[2, 1], rate[0, 2], rate[1, 0]))
        return Pose(R, p, ca.horzcat(*turn), move)

    # --- what moves and pushes them -----------------------------------------------------------

    @cached_property
    def _dynamics(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        """M, c, generalized forces, K and U."""
        count = len(self.names_v)
        M, c = ca.SX.zeros(count, count), ca.SX.zeros(count)
        K, U = ca.SX(0), ca.SX(0)
        gravity = self.column(self.model.gravity)
        qdot = self.N @ self.v
        for body in self.model.bodies:
            pose = self.poses[body.name]
            mass = self.value(body.mass)
            inertia = pose.R @ self._inertia(body) @ pose.R.T
            center = pose.point(self.column(body.center_of_mass))
            J_c, J_w = pose.point_jacobian(center), pose.J_turn
            omega = J_w @ self.v
            M += mass * J_c.T @ J_c + J_w.T @ inertia @ J_w
            moving = ca.jtimes(J_c @ self.v, self.q, qdot)
            turning = ca.jtimes(omega, self.q, qdot)
            c += mass * J_c.T @ moving
            c += J_w.T @ (inertia @ turning + ca.cross(omega, inertia @ omega))
            velocity = J_c @ self.v
            K += mass * ca.dot(velocity, velocity) / 2 + ca.dot(omega, inertia @ omega) / 2
            U -= mass * ca.dot(gravity, center)
        Q, springs = self._forces()
        U += springs
        Q -= (ca.gradient(U, self.q).T @ self.N).T
        return M, c, Q, K, U

    def _inertia(self, body: ns.Body) -> ca.SX:
        if body.moment is not None:
            return ca.diag(ca.vertcat(0, 0, self.value(body.moment)))
        xx, yy, zz, *products = [self.value(e) for e in body.inertia]
        xy, xz, yz = products or (ca.SX(0),) * 3
        rows = (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    def _forces(self) -> tuple[ca.SX, ca.SX]:
        """Generalized forces without a potential, and the energy of the springs."""
        Q, U = ca.SX.zeros(len(self.names_v)), ca.SX(0)
        for force in self.model.forces:
            match force:
                case ns.forces.Motor():
                    Q[self.names_v.index(force.speed)] += self.value(force.input)
                case ns.forces.JointSpring():
                    stretch = self.value(force.coordinate) - self.value(force.rest)
                    U += self.value(force.stiffness) * stretch**2 / 2
                case ns.forces.JointDamper():
                    k = self.names_v.index(force.speed)
                    Q[k] -= self.value(force.damping) * self.v[k]
                case ns.forces.JointFriction():
                    k = self.names_v.index(force.speed)
                    size = self.value(force.level)
                    Q[k] -= size * ca.tanh(self.v[k] / self.value(force.smoothing))
                case ns.forces.Spring():
                    first = self.poses[force.body].point(self.column(force.point))
                    second = self.poses[force.other_body].point(self.column(force.other_point))
                    length = ca.norm_2(first - second)
                    rate = (ca.gradient(length, self.q).T @ self.N).T
                    stretch = length - self.value(force.rest_length)
                    U += self.value(force.stiffness) * stretch**2 / 2
                    Q -= self.value(force.damping) * rate * ca.dot(rate, self.v)
                case ns.forces.Wrench():
                    pose = self.poses[force.body]
                    R = pose.R if force.axes == "body" else ca.SX.eye(3)
                    push, moment = R @ self.column(force.force), R @ self.column(force.moment)
                    point = pose.point(self.column(force.point))
                    Q += pose.point_jacobian(point).T @ push + pose.J_turn.T @ moment
                case Tire():
                    Q += self._tire(force)
                case ns.forces.MagicTire():
                    Q += self._magic(force)
                case _:
                    raise NotImplementedError(force)
        return Q, U

    def _tire(self, tire: Tire) -> ca.SX:
        """Generalized force of a tire: its law on the slip over the plane's body."""
        body, ground = self.poses[tire.body], self.poses[tire.plane.body]
        R_plane, _ = self.placement(tire.plane.frame)
        n = ground.R @ R_plane[:, 2]
        across = ca.cross(n, body.R @ self.column(tire.direction))
        across = across / ca.norm_2(across)
        along = ca.cross(across, n)
        point = body.point(self.column(tire.point))
        J = body.point_jacobian(point) - ground.point_jacobian(point)
        v_u, v_w = ca.dot(along, J @ self.v), ca.dot(across, J @ self.v)
        size = self.value(tire.stiffness) * v_w / ca.sqrt(v_u**2 + self.value(tire.v0) ** 2)
        if tire.maximum is not None:
            maximum = self.value(tire.maximum)
            size = maximum * ca.tanh(size / maximum)
        return -size * J.T @ across

    def _magic(self, tire: ns.forces.MagicTire) -> ca.SX:
        """Generalized force of a spinning wheel's tire on a road, without resistance and camber."""
        assert tire.rolling_resistance == tire.camber_stiffness == 0.0
        body, ground = self.poses[tire.body], self.poses[tire.plane.body]
        n = ground.R @ self.placement(tire.plane.frame)[0][:, 2]
        wheel = ns.surfaces.Disk(radius=tire.radius, axis=tire.axis)
        point, axis = self._lowest_point(tire, body, n, wheel)
        along = ca.cross(axis, n) / ca.norm_2(ca.cross(axis, n))
        J = body.point_jacobian(point) - ground.point_jacobian(point)
        center = body.point_jacobian(body.point(self.column(tire.center)))
        x, y = ca.dot(along, J @ self.v), ca.dot(ca.cross(n, along), J @ self.v)
        rolling = ca.dot(along, center @ self.v) - x
        scale = ca.sqrt(rolling**2 + self.value(tire.v0) ** 2)
        slip = ca.sqrt((x**2 + y**2) / scale**2 + 1e-18)
        B, C, mu, E = ROADS[tire.road]
        curve = ca.sin(C * ca.atan(B * slip * (1 - E) + E * ca.atan(B * slip)))
        size = mu * self.value(tire.load) * curve / slip / scale
        return -size * J.T @ (x * along + y * ca.cross(n, along))

    # --- what holds them ----------------------------------------------------------------------

    @cached_property
    def rows(self) -> ca.SX:
        """A v + a, in rows of the oracle's own making."""
        rows = [self._contact_row(contact) for contact in self.model.contacts]
        rows += [self._loop_row(joint) for joint in self.model.joints if joint not in self.tree]
        rows += [self._motion_row(joint) for joint in self.tree if joint.motion]
        for k, given in enumerate(self.model.speed_inputs):
            rows.append(self.v[self.names_v.index(given.speed)] - self.w[k])
        for row in self.model.rows:
            g = self.value(row.expression)
            if row.is_holonomic:
                g = ca.jtimes(g, self.q, self.N @ self.v) + ca.jacobian(g, self.t)
            rows.append(g)
        return ca.vertcat(*rows) if rows else ca.SX(0, 1)

    def _contact_row(self, contact: ns.contacts.Rolling | ns.contacts.KnifeEdge) -> ca.SX:
        body, ground = self.poses[contact.body], self.poses[contact.plane.body]
        R_plane, p_plane = self.placement(contact.plane.frame)
        R_plane = ground.R @ R_plane
        n = R_plane[:, 2]
        closest = ca.SX(0, 1)
        if isinstance(contact, ns.contacts.Rolling) and not isinstance(
            contact.ground, ns.grounds.FlatGround
        ):
            n, foot = self._curved(contact, body, R_plane, ground.point(p_plane))
            if foot is not None:
                point, _ = self._lowest_point(contact, body, n)
                closest = ca.jtimes(ca.cross(point - foot, n), self.q, self.N @ self.v)
        if isinstance(contact, ns.contacts.KnifeEdge):
            point = body.point(self.column(contact.point))
            across = ca.cross(n, body.R @ self.column(contact.direction))
            directions = [across / ca.norm_2(across)]
        elif isinstance(contact, ns.contacts.RollerRolling):
            wheel = ns.surfaces.Disk(radius=contact.radius, axis=contact.axis)
            point, axis = self._lowest_point(contact, body, n, wheel)
            along = ca.cross(axis, n) / ca.norm_2(ca.cross(axis, n))
            angle = self.value(contact.roller_angle)
            held = ca.sin(angle) * along + ca.cos(angle) * ca.cross(n, along)
            directions = [held, n] if contact.normal else [held]
        else:
            point, axis = self._lowest_point(contact, body, n)
            along = ca.cross(R_plane[:, 1], n) / ca.norm_2(ca.cross(R_plane[:, 1], n))
            if axis is not None:
                along = ca.cross(axis, n) / ca.norm_2(ca.cross(axis, n))
            wanted = (contact.longitudinal, contact.lateral, contact.normal)
            directions = (along, ca.cross(n, along), n)
            directions = [d for d, is_wanted in zip(directions, wanted, strict=True) if is_wanted]
        slip = (body.point_jacobian(point) - ground.point_jacobian(point)) @ self.v
        return ca.vertcat(ca.horzcat(*directions).T @ slip, closest)

    def _curved(
        self, contact: ns.contacts.Rolling, body: Pose, R: ca.SX, origin: ca.SX
    ) -> tuple[ca.SX, ca.SX | None]:
        """The normal of curved ground, and the point at the contact's own places if it has some.

        Closest points p and P have (p − P) × n = 0, three rows of which two are independent.
        """
        form = contact.ground
        if isinstance(form, ns.grounds.SphereGround):
            center = body.point(self.column(contact.center)) - origin
            side = -1 if form.inside else 1
            if not isinstance(contact.wheel, ns.surfaces.Ball):
                axis = body.R @ self.column(contact.wheel.axis)
                across = ca.cross(axis, ca.cross(center, axis))
                radius = self.value(contact.wheel.radius)
                center = center - side * radius * across / ca.norm_2(across)
            return side * center / ca.norm_2(center), None
        x, y = (self.known[f"{contact.name}.{k}"] for k in "xy")
        u = ca.vertcat(x, y)
        if isinstance(form, ns.grounds.RevolvedGround):
            r = ca.sqrt(x**2 + y**2)
            scope = {**self.known, "r": r}
            text = form.z.replace("^", "**")
            z = eval(text, {"__builtins__": {}}, {**_FUNCTIONS, **scope})
        else:
            z = form.elevation(x, y, None)
        slope = ca.gradient(z, u)
        n = ca.vertcat(-slope, 1)
        return R @ (n / ca.norm_2(n)), origin + R @ ca.vertcat(x, y, z)

    def _lowest_point(
        self,
        contact: ns.contacts.Rolling,
        body: Pose,
        n: ca.SX,
        wheel: ns.surfaces.AbstractSurface | None = None,
    ) -> tuple[ca.SX, ca.SX | None]:
        center = body.point(self.column(contact.center))
        wheel = contact.wheel if wheel is None else wheel
        if isinstance(wheel, ns.surfaces.Ball):
            return center - self.value(wheel.radius) * n, None
        if isinstance(wheel, ns.surfaces.Ellipsoid):
            size = self.column(wheel.size)
            own = body.R.T @ n
            return center - body.R @ (size**2 * own) / ca.norm_2(size * own), None
        axis = body.R @ self.column(wheel.axis)
        axis = axis / ca.norm_2(axis)
        # of all directions in the wheel's plane, the one that goes down most
        down = ca.cross(axis, ca.cross(axis, n))
        point = center + self.value(wheel.radius) * down / ca.norm_2(down)
        if isinstance(wheel, ns.surfaces.Torus):
            point = point - self.value(wheel.tube_radius) * n
        return point, axis

    def _loop_row(self, joint: ns.Joint) -> ca.SX:
        """What the relative twist of child against parent, at the child's frame, may not have."""
        parent, child = self.poses[joint.parent], self.poses[joint.child]
        R_PF, _ = self.placement(joint.parent_frame)
        _, p_BM = self.placement(joint.child_frame)
        point = child.point(p_BM)
        R_F = parent.R @ R_PF
        turn = R_F.T @ (child.J_turn - parent.J_turn) @ self.v
        move = R_F.T @ (child.point_jacobian(point) - parent.point_jacobian(point)) @ self.v
        match joint.type:
            case ns.joints.Fixed():
                return ca.vertcat(turn, move)
            case ns.joints.Revolute():
                return ca.vertcat(ca.cross(self.column(joint.type.axis), turn), move)
            case ns.joints.Prismatic():
                return ca.vertcat(turn, ca.cross(self.column(joint.type.axis), move))
            case ns.joints.Planar():
                return ca.vertcat(turn[0], turn[1], move[2])
            case ns.joints.Spherical():
                return move
        raise NotImplementedError(joint.type)

    def _motion_row(self, joint: ns.Joint) -> ca.SX:
        """Rates of prescribed coordinates; for angles, the angular velocity they make."""
        motion = {name: self.value(text) for name, text in joint.motion.items()}
        qdot = self.N @ self.v
        rows = []
        for coordinate in joint.type.coordinates:
            if coordinate.name in motion:
                k = self.names_q.index(f"{joint.name}.{coordinate.name}")
                rows.append(qdot[k] - ca.jacobian(motion[coordinate.name], self.t))
        angles = getattr(joint.type, "angles", None)
        if angles is not None and angles.names[0] in motion:
            R = ca.SX.eye(3)
            for letter, name in zip(angles.sequence, angles.names, strict=True):
                R = R @ _turn(letter, motion[name])
            rate = R.T @ ca.reshape(ca.jacobian(ca.vec(R), self.t), 3, 3)
            omega = ca.vertcat(rate[2, 1], rate[0, 2], rate[1, 0])
            first = self.names_v.index(f"{joint.name}.wx")
            rows.append(self.v[first : first + 3] - omega)
        return ca.vertcat(*rows)

    # --- the answer ---------------------------------------------------------------------------

    @cached_property
    def _function(self) -> ca.Function:
        M, c, Q, K, U = self._dynamics
        A = ca.jacobian(self.rows, self.v)
        a = ca.substitute([self.rows], [self.v], [ca.SX.zeros(self.v.shape)])[0]
        moving = ca.vertcat(self.q, self.t, self.w)
        along = ca.vertcat(self.N @ self.v, 1, self.wdot)
        rate = ca.jtimes(self.rows, moving, along) if self.rows.shape[0] else ca.SX(0, 1)
        arguments = [self.t, self.q, self.v, self.u, self.w, self.wdot, self.params]
        outputs = [M, c, Q, K, U, A, a, rate]
        return ca.Function("oracle", arguments, [ca.densify(e) for e in outputs])

    def at(self, s: State) -> Motion:
        """Accelerations, generalized reactions and more at a state."""
        outputs = self._function(s.t, s.q, s.v, s.u, s.w, s.wdot, s.params)
        M, c, Q, K, U, A, a, rate = (np.array(e) for e in outputs)
        count, num = len(s.v), A.shape[0]
        system = np.block([[M, -A.T], [A, np.zeros((num, num))]])
        rhs = np.concatenate([(Q - c).ravel(), -rate.ravel()])
        # rows and columns to one size before small singular values are cut off
        scale = 1.0 / np.sqrt(np.maximum(np.abs(system).max(axis=1), 1e-300))
        scaled, solved = scale[:, None] * system * scale, np.zeros(len(rhs))
        # refined twice: large loads on light wheels cancel
        for _ in range(3):
            left = scale * (rhs - system @ solved)
            solved = solved + scale * np.linalg.lstsq(scaled, left, rcond=1e-11)[0]
        vdot, lam = solved[:count], solved[count:]
        return Motion(
            speed_rates=vdot,
            reactions=A.T @ lam,
            mass_matrix=M,
            velocity_terms=c.ravel(),
            applied=Q.ravel(),
            kinetic_energy=K.item(),
            potential_energy=U.item(),
            constraint=A,
            offset=a.ravel(),
        )


def _passes(model: ns.Model) -> list[ns.Joint]:
    """The joints that carry bodies, by repeated passes over the model's joints."""
    carried, tree = {"world"}, []
    while True:
        before = len(tree)
        for joint in model.joints:
            if joint.parent in carried and joint.child not in carried:
                tree.append(joint)
                carried.add(joint.child)
        if len(tree) == before:
            return tree


def _turn(letter: str, angle: ca.SX) -> ca.SX:
    c, s = ca.cos(angle), ca.sin(angle)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[letter]
    R = ca.SX.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def _about(axis: ca.SX, angle: ca.SX) -> ca.SX:
    """Rodrigues' formula, R = 1 + sin φ e× + (1 − cos φ) e×e×."""
    e = ca.skew(axis / ca.norm_2(axis))
    return ca.SX.eye(3) + ca.sin(angle) * e + (1 - ca.cos(angle)) * e @ e


def _joint_pose(type: object, q: ca.SX, oracle: NewtonEuler) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Pose across a joint and q̇ = N v."""
    eye, zero = ca.SX.eye(3), ca.SX.zeros(3)
    match type:
        case ns.joints.Fixed():
            return eye, zero, ca.SX(0, 0)
        case ns.joints.Revolute():
            return _about(oracle.column(type.axis), q[0]), zero, ca.SX(1)
        case ns.joints.Prismatic():
            axis = oracle.column(type.axis)
            return eye, q[0] * axis / ca.norm_2(axis), ca.SX(1)
        case ns.joints.Planar():
            R = _turn("z", q[2])
            return R, ca.vertcat(q[0], q[1], 0), R
        case ns.joints.Spherical():
            return _unit_quaternion(q), zero, _quaternion_rate(q)
        case ns.joints.Free():
            R = _unit_quaternion(q[3:])
            top = ca.horzcat(ca.SX(3, 3), R)
            return R, q[:3], ca.vertcat(top, ca.horzcat(_quaternion_rate(q[3:]), ca.SX(4, 3)))
    raise NotImplementedError(type)


def _unit_quaternion(p: ca.SX) -> ca.SX:
    """R = 1 + 2 w e× + 2 e×e× of a unit quaternion (w, e)."""
    e = ca.skew(p[1:])
    return ca.SX.eye(3) + 2 * p[0] * e + 2 * e @ e


def _quaternion_rate(p: ca.SX) -> ca.SX:
    """(ẇ, ė) = ½ (−e·ω, w ω + e × ω), ω in the turned axes."""
    return ca.vertcat(-p[1:].T, p[0] * ca.SX.eye(3) + ca.skew(p[1:])) / 2
