"""Local coordinates c and speeds ζ of a system near a motion, constant on a steady motion.

A quaternion has four numbers for three degrees of freedom, and the angular speeds of a body that
spins do not stay constant although its motion is steady. So orientations are written here in
angles, those that the joint names or, where these are singular, others; and an angular speed among
the independent speeds η is replaced by the rate of an angle. There are then as many coordinates as
tree speeds, and

    (1)  q = q(c),   ċ = C(c) v,   v = S η + s
    (2)  ζ = Z(c) η + z(c),   rows of Z: those of C S for the rate of an angle, else those of 1
    (3)  Z η̇ = ζ̇ − (Żη + ż)
    (4)  r(c, ζ, ζ̇, u) = Z⁻ᵀ [SᵀMS η̇ + Sᵀ(c + M(Ṡη + ṡ)) − Sᵀ(Q + B u)] = 0

States that forces have of their own follow the coordinates in c; their rates are given with them.

(4) are the reduced equations for the virtual motions that belong to ζ; ∂r/∂ζ̇ = Z⁻ᵀ SᵀMS Z⁻¹.

Angles turn by R = R₁(a₁) R₂(a₂) R₃(a₃) about the axes of a sequence, each as already turned. The
angular velocity in body axes is ω = Σ eₖ ȧₖ with eₖ the axis of the k-th turn; where the three axes
lie in a plane the angles are singular and their rates have no value.

A body that circles in a bowl moves steadily although its x and y do not stay. Turned coordinates
show it: with ψ the first angle of a free body, about z, and σ its last one, all places are taken in
axes that turn with ψ, and places on the body's own surface in axes that turn with −σ,

    (5)  x = x₀ + Rz(ψ) x′,   u = Rz(ψ) u′ on a ground,   w = R(−σ) w′ on a surface

with x₀ on the axis of the ground. Then ψ is ignored where ground and forces are symmetric about
that axis, and σ where the body is symmetric about its own; no place is singular, the axis neither.
Linear speeds among η are replaced by rates of x′ as well, since a body that tumbles has no constant
ones in its own axes.

A wheel that rolls along a pipe, a rail or a ridge moves steadily although its place on the ground
does not stay. Carried coordinates show it: with x the place of the free body, in axes of a ground
that is the same all along d,

    (6)  u = u′ + d (d·x) on the ground,   w = R(−σ) w′ on a surface

Then d·x is ignored, and σ as before.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from noslip.algebra import (
    angle_rate_map,
    angles_from_quaternion,
    angular_velocity,
    block_solve,
    intrinsic_angles,
    quaternion_from_angles,
    quaternion_rate_map,
    vector,
)
from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.kinematics import Node, frame_pose, parameter_reader, plane_pose
from noslip.model import WORLD, AbstractContact, Angles, Quantity
from noslip.simulation import Start, regular_start


@dataclass(frozen=True, slots=True)
class _AngleCoordinates:
    """An orientation: where its quaternion, its speeds and its angles are, and what they are."""

    joint: str
    quaternion: int
    speed: int
    coordinate: int
    sequence: str
    names: tuple[str, ...]


class _CoordinateLayout(NamedTuple):
    """Layout of c: orientations, (place in q, place in c) of the rest, and all quantities.

    `groups` are joints whose speeds among η are replaced by rates of entries of c: where their
    speeds are in v, and the entries.
    """

    turns: tuple[_AngleCoordinates, ...]
    plain: tuple[tuple[int, int], ...]
    coordinates: tuple[Quantity, ...]
    groups: tuple[tuple[slice, tuple[int, ...]], ...]


class MovingAxes(NamedTuple):
    """Turned coordinates (5), or carried ones (6), with the angles of the body that moves them."""

    sequence: str
    is_carried: bool = False


class _TurnedAxes(NamedTuple):
    """(5) or (6): c of turned or carried coordinates from plain ones, and back."""

    to_plain: ca.Function
    from_plain: ca.Function


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalCoordinates:
    """A chart: the equations of a system in c and ζ. Made by :func:`local_coordinates_at`."""

    coordinates: tuple[Quantity, ...]  #: (nv + nz,) c, the states of forces last
    #: names of ċ where they differ from tree speeds, with their place: the rates of angles
    coordinate_rates: dict[str, int]
    speeds: tuple[Quantity, ...]  #: (nf,) ζ
    #: (t, c, ζ, ζ̇, inputs, parameters) → r, ċ, g, v, η, ∂r/∂ζ̇
    values: ca.Function = field(repr=False)
    #: the same arguments → ∂(r, ċ, g, v, η)/∂c, ∂(r, ċ, g, v, η)/∂ζ and ∂(r, ċ, g, v, η)/∂inputs,
    #: each as one matrix of stacked rows
    derivatives: ca.Function = field(repr=False)
    placing: ca.Function = field(repr=False)  #: c → ∂q/∂c
    sizes: tuple[int, ...]  #: numbers of rows of r, ċ, g, v and η
    depends_on_time: bool  #: whether r or ċ changes with time itself
    _turns: tuple[_AngleCoordinates, ...] = field(repr=False)
    _plain: tuple[tuple[int, int], ...] = field(repr=False)
    _turned: _TurnedAxes | None = field(repr=False, default=None)

    @property
    def num_placed(self) -> int:
        """Entries of c that follow from q; the rest are states of forces."""
        return len(self._plain) + 3 * len(self._turns)

    def placed(self, coordinates: Sequence[Quantity]) -> list[tuple[int, Quantity]]:
        """Entries of q, quaternions apart, with their places: functions of c."""
        return [(at, coordinates[at]) for at, _ in self._plain]

    def from_coordinates(self, q: Array, states: Array | None = None) -> Array:
        """c of the coordinates q and the states of forces, zero by default."""
        c = np.zeros(len(self.coordinates))
        if states is not None:
            c[self.num_placed :] = states
        for at, k in self._plain:
            c[k] = q[at]
        for turn in self._turns:
            c[turn.coordinate : turn.coordinate + 3] = angles_of(q, turn.quaternion, turn.sequence)
        return c if self._turned is None else np.array(self._turned.from_plain(c)).ravel()

    def from_many_coordinates(self, q: Array, states: Array) -> Array:
        """(n, nc) c of coordinates (n, nq) and states of forces (n, nz)."""
        c = np.zeros((len(q), len(self.coordinates)))
        c[:, self.num_placed :] = states
        for at, k in self._plain:
            c[:, k] = q[:, at]
        for turn in self._turns:
            parts = [q[:, turn.quaternion + k] for k in range(4)]
            angles = intrinsic_angles(parts, turn.sequence, np.arctan2, np.hypot)
            c[:, turn.coordinate : turn.coordinate + 3] = np.stack(angles, axis=1)
        return c if self._turned is None else _mapped(self._turned.from_plain, c)

    def to_coordinates(self, c: Array) -> Array:
        """q of c, quaternions of unit length."""
        if self._turned is not None:
            c = np.array(self._turned.to_plain(c)).ravel()
        q = np.zeros(len(self._plain) + 4 * len(self._turns))
        for at, k in self._plain:
            q[at] = c[k]
        for turn in self._turns:
            angles = [float(a) for a in c[turn.coordinate : turn.coordinate + 3]]
            quaternion = np.array(quaternion_from_angles(angles, turn.sequence))
            q[turn.quaternion : turn.quaternion + 4] = quaternion / np.linalg.norm(quaternion)
        return q

    def to_many_coordinates(self, c: Array) -> Array:
        """(n, nq) q of c (n, nc)."""
        if self._turned is not None:
            c = _mapped(self._turned.to_plain, c)
        q = np.zeros((len(c), len(self._plain) + 4 * len(self._turns)))
        for at, k in self._plain:
            q[:, at] = c[:, k]
        for turn in self._turns:
            angles = [c[:, turn.coordinate + k] for k in range(3)]
            parts = quaternion_from_angles(angles, turn.sequence, np.cos, np.sin)
            found = np.stack(parts, axis=1)
            size = np.linalg.norm(found, axis=1, keepdims=True)
            q[:, turn.quaternion : turn.quaternion + 4] = found / size
        return q

    def place_slopes(self, c: Array, place: int) -> Array:
        """(n, nc) derivatives of one entry of q by c (n, nc)."""
        found = np.array(self.placing.map(len(c))(c.T))
        return found[place].reshape(len(c), -1)

    def angle_names(self, joint: str) -> tuple[str, ...]:
        """Names of the angles that describe the orientation of a joint."""
        return next((turn.names for turn in self._turns if turn.joint == joint), ())

    def turning(self) -> list[int]:
        """Places of angles that turn the axes of other angles, and of places: all but the last."""
        return [turn.coordinate + k for turn in self._turns for k in (0, 1)]

    def split(self, stacked: Array) -> list[Array]:
        """Stacked rows of r, ċ, g, v and η, apart."""
        return np.split(stacked, np.cumsum(self.sizes)[:-1])


def _mapped(function: ca.Function, rows: Array) -> Array:
    """A function of a column, at each of many rows."""
    return np.array(function.map(len(rows))(rows.T)).T if len(rows) else rows


_charts: WeakKeyDictionary[System, dict[tuple[object, ...], LocalCoordinates]] = WeakKeyDictionary()


def local_coordinates_at(
    system: System, t: float, q: Array, params: Array, turned: MovingAxes | None = None
) -> LocalCoordinates:
    """The chart whose angles and speeds are regular at a configuration, traced once and cached.

    With one of `moving_axes` it is in turned or carried coordinates.
    """
    kin = system.kinematics
    layout = _layout(system, q, turned)
    axes = None
    if turned is None:
        rows = _angle_rows(system, layout, t, q, params)
    else:
        axes = _turned_axes(system, layout, turned.is_carried)
        layout = _renamed(layout, axes, "carried" if turned.is_carried else "turned")
        rows = _turned_rows(system, layout, axes, t, q, params)
    speeds = _choose_speeds(system, layout, rows)
    known = _charts.setdefault(system, {})
    key = (turned, tuple(turn.sequence for turn in layout.turns), speeds)
    if key not in known:
        names = {layout.coordinates[k].name for _, group in layout.groups for k in group}
        rates = {
            f"{quantity.name}_rate": k
            for k, quantity in enumerate(layout.coordinates)
            if quantity.name in names
        }
        own = {s.name: s for s in kin.independent_speeds}
        units = {f"{c.name}_rate": f"{c.unit}/s" for c in layout.coordinates}
        zeta = tuple(
            own[name] if name in own else Quantity(name=name, unit=units[name]) for name in speeds
        )
        known[key] = _trace(system, layout, axes, rates, zeta)
    return known[key]


def _layout(system: System, q: Array, turned: MovingAxes | None) -> _CoordinateLayout:
    """Layout of c: orientations in regular angles, that of the turning body in its sequence."""
    kin = system.kinematics
    base = _turning_node(system) if turned is not None else None
    turns: list[_AngleCoordinates] = []
    plain: list[tuple[int, int]] = []
    coordinates: list[Quantity] = []
    groups: list[tuple[slice, tuple[int, ...]]] = []
    for node in kin.tree.nodes:
        joint, at = node.joint, node.coordinates.start
        own = kin.coordinates[node.coordinates]
        start = joint.type.quaternion
        first = len(coordinates)
        if start is None:
            plain += [(at + k, first + k) for k in range(len(own))]
            coordinates += own
            continue
        plain += [(at + k, first + k) for k in range(start)]
        coordinates += own[:start]
        named = joint.type.named_angles()
        if node is base and turned is not None:
            sequence = turned.sequence
            names = _names_of(joint.name, sequence, named)
        else:
            sequence, names = regular_angles(q, at + start, joint.name, named)
        speed = node.speeds.start
        turns.append(
            _AngleCoordinates(joint.name, at + start, speed, len(coordinates), sequence, names)
        )
        if base is not None and joint.type.is_free:
            groups.append((node.speeds, tuple(range(first, first + 6))))
        else:
            places = tuple(range(len(coordinates), len(coordinates) + 3))
            groups.append((slice(speed, speed + 3), places))
        coordinates += [Quantity(name=name, unit="rad") for name in names]
    for _, places_q, _ in kin.tree.places:
        plain += [
            (k, len(coordinates) + k - places_q.start) for k in range(places_q.start, places_q.stop)
        ]
        coordinates += kin.coordinates[places_q]
    coordinates += kin.force_states
    return _CoordinateLayout(tuple(turns), tuple(plain), tuple(coordinates), tuple(groups))


#: Sequences of angles that turned coordinates may have, after the one that a joint names.
_TURNING = ("zxz", "zyz", "zxy", "zyx")


#: Those of carried ones: the last turn is the spin, about any axis of the body.
_CARRYING = ("zxy", "zyx", "xzy", "xyz", "yxz", "yzx")


def moving_axes(system: System, q: Array) -> tuple[MovingAxes, ...]:
    """Turned and carried coordinates that are regular at q; none on planes alone."""
    node = _turning_node(system)
    if node is None:
        return ()
    named = node.joint.type.named_angles()
    choices = [named.sequence] if named is not None and named.sequence[0] == "z" else []
    at = node.coordinates.start + 3

    def is_regular(sequence: str) -> bool:
        axes = turn_axes_at(angles_of(q, at, sequence), sequence)
        return abs(float(np.linalg.det(axes))) > _REGULAR

    found: list[MovingAxes] = []
    if _axis_of_ground(system, node) is not None:
        found += [MovingAxes(s) for s in dict.fromkeys((*choices, *_TURNING)) if is_regular(s)]
    if any(_carried_along(system, node, contact) is not None for contact in system.model.contacts):
        own = [] if named is None else [named.sequence]
        carrying = [s for s in dict.fromkeys((*own, *_CARRYING)) if is_regular(s)]
        found += [MovingAxes(s, is_carried=True) for s in carrying]
    return tuple(found)


def _turning_node(system: System) -> Node | None:
    """The free body, carried by the world, whose first angle turns the axes."""
    nodes = system.kinematics.tree.nodes
    return next((n for n in nodes if n.parent < 0 and n.joint.type.is_free), None)


def _axis_of_ground(system: System, node: Node) -> tuple[float, float] | None:
    """(x, y) of the axis of curved ground, in the frame of a free joint.

    None if all ground is flat, or where it stands depends on parameters.
    """
    model, kin = system.model, system.kinematics
    curved = [c for c in model.contacts if not c.is_flat]
    if not curved:
        return None
    reader = parameter_reader(model, kin.symbols.params)
    R, p_frame = frame_pose(node.joint.parent_frame, reader)
    _, p_plane = plane_pose(curved[0].plane, kin.tree, reader)
    axis = ca.simplify(ca.mtimes(R.T, p_plane - p_frame))[:2]
    if ca.symvar(axis):
        return None
    x, y = np.array(ca.evalf(axis)).ravel()
    return float(x), float(y)


def _carried_along(system: System, node: Node, contact: AbstractContact) -> Array | None:
    """(3, 3) from the place of a free joint to the directions along which a ground is the same.

    In axes of the ground; None where it has no such direction, a body carries it, or its
    orientation depends on parameters.
    """
    if contact.is_flat or contact.plane.body != WORLD:
        return None
    reader = parameter_reader(system.model, system.kinematics.symbols.params)
    R_plane, _ = plane_pose(contact.plane, system.kinematics.tree, reader)
    R, _ = frame_pose(node.joint.parent_frame, reader)
    turn = ca.mtimes(R_plane.T, R)
    along = contact.form.unchanged_along(reader)
    if not any(along) or ca.symvar(turn):
        return None
    return np.diag(np.array(along, dtype=float)) @ np.array(ca.evalf(turn))


def _carried_axes(system: System, layout: _CoordinateLayout) -> _TurnedAxes:
    """(6), for all contacts."""
    node = _turning_node(system)
    assert node is not None
    place = _place(layout, node.coordinates.start)
    c = ca.SX.sym("c", len(layout.coordinates))

    def carried(given: ca.SX, sign: int) -> ca.SX:
        """Plain coordinates of carried ones (1), or carried ones of plain ones (−1)."""
        found = ca.vertsplit(given)
        here = given[place : place + 3]
        for contact in system.model.contacts:
            if not contact.parameters():
                continue
            along = _carried_along(system, node, contact)
            at, num_u = _ground_places(system, layout, contact)
            if along is not None and num_u:
                u = ca.vertcat(*found[at : at + num_u])
                there = contact.form.carried(u, sign * ca.mtimes(ca.DM(along), here))
                found[at : at + num_u] = ca.vertsplit(there)
            _turn_surface(system, layout, contact, found, sign)
        return ca.vertcat(*found)

    return _TurnedAxes(
        to_plain=ca.Function("plain", [c], [ca.densify(carried(c, 1))]),
        from_plain=ca.Function("carried", [c], [ca.densify(carried(c, -1))]),
    )


def _turned_axes(system: System, layout: _CoordinateLayout, is_carried: bool) -> _TurnedAxes:
    """(5), for all places and for the headings of all free bodies; or (6)."""
    if is_carried:
        return _carried_axes(system, layout)
    node = _turning_node(system)
    assert node is not None
    axis = _axis_of_ground(system, node)
    assert axis is not None
    base = next(turn for turn in layout.turns if turn.joint == node.joint.name)
    c = ca.SX.sym("c", len(layout.coordinates))

    def turned(given: ca.SX, sign: int) -> ca.SX:
        """Plain coordinates of turned ones (1), or turned ones of plain ones (−1)."""
        found = ca.vertsplit(given)
        psi = found[base.coordinate]
        for turn in layout.turns:
            if turn.sequence[0] == "z" and turn is not base and _is_free(system, turn.joint):
                found[turn.coordinate] += sign * psi
        for joint in system.kinematics.tree.nodes:
            if joint.parent < 0 and joint.joint.type.is_free:
                at = _place(layout, joint.coordinates.start)
                offset = ca.SX([*axis])
                here = ca.vertcat(*found[at : at + 2]) - (0 if sign > 0 else offset)
                there = _turn_pair(here, sign * psi) + (offset if sign > 0 else 0)
                found[at : at + 2] = ca.vertsplit(there)
        for contact in system.model.contacts:
            if contact.parameters():
                _turn_contact(system, layout, contact, found, sign * psi, sign)
        return ca.vertcat(*found)

    return _TurnedAxes(
        to_plain=ca.Function("plain", [c], [ca.densify(turned(c, 1))]),
        from_plain=ca.Function("turned", [c], [ca.densify(turned(c, -1))]),
    )


def _is_free(system: System, joint: str) -> bool:
    nodes = system.kinematics.tree.nodes
    return any(n.joint.name == joint and n.parent < 0 and n.joint.type.is_free for n in nodes)


def _turn_pair(pair: ca.SX, angle: ca.SX) -> ca.SX:
    return ca.vertcat(
        ca.cos(angle) * pair[0] - ca.sin(angle) * pair[1],
        ca.sin(angle) * pair[0] + ca.cos(angle) * pair[1],
    )


def _place(layout: _CoordinateLayout, at: int) -> int:
    """Index of a plain coordinate in c."""
    return next(k for a, k in layout.plain if a == at)


def _turn_contact(
    system: System,
    layout: _CoordinateLayout,
    contact: AbstractContact,
    found: list[ca.SX],
    angle: ca.SX,
    sign: int,
) -> None:
    """Turn the places of a contact on its ground and on its surface."""
    at, num_u = _ground_places(system, layout, contact)
    if num_u:
        heading = _heading_of_ground(system, layout, contact, found)
        there = contact.form.turned(ca.vertcat(*found[at : at + num_u]), angle - sign * heading)
        found[at : at + num_u] = ca.vertsplit(there)
    _turn_surface(system, layout, contact, found, sign)


def _ground_places(
    system: System, layout: _CoordinateLayout, contact: AbstractContact
) -> tuple[int, int]:
    """Place in c of what a contact owns, and how many of it are places on its ground."""
    at = _place(layout, system.kinematics.tree.contact_places(contact.name)[0].start)
    assert contact.surface is not None
    is_closed = contact.form.closed(contact.surface.circle())
    return at, 0 if is_closed else len(contact.form.parameters())


def _turn_surface(
    system: System,
    layout: _CoordinateLayout,
    contact: AbstractContact,
    found: list[ca.SX],
    sign: int,
) -> None:
    """Turn the places of a contact on the surface of its body back by the body's spin."""
    at, num_u = _ground_places(system, layout, contact)
    wheel = contact.surface
    assert wheel is not None
    num_w = len(wheel.parameters())
    spin = _spin_of(system, layout, contact.body) if num_w else None
    if spin is None:
        return
    first, (place, about) = at + num_u + int(num_u == 3), spin
    kin = system.kinematics
    read = parameter_reader(system.model, ca.SX(kin.probe.params))
    # what has no axis of its own is symmetric about z
    axis = ca.DM(read.direction(wheel.wheel_axis() or (0.0, 0.0, 1.0)))
    way = 1.0 if float(ca.dot(axis, about)) >= 0 else -1.0
    there = wheel.turned(ca.vertcat(*found[first : first + num_w]), -sign * way * found[place])
    found[first : first + num_w] = ca.vertsplit(there)


def _heading_of_ground(
    system: System, layout: _CoordinateLayout, contact: AbstractContact, found: list[ca.SX]
) -> ca.SX:
    """Angle about z of ground that another body carries, if it follows from plain coordinates."""
    if contact.plane.body == WORLD:
        return ca.SX(0)
    kin = system.kinematics
    R = kin.tree.nodes[kin.tree.index[contact.plane.body]].R_WB
    used = {k for k, symbol in enumerate(ca.vertsplit(kin.symbols.q)) if ca.depends_on(R, symbol)}
    turning = {turn.quaternion + k for turn in layout.turns for k in range(4)}
    if used & turning or ca.depends_on(R, kin.symbols.params):
        return ca.SX(0)
    places = {at: k for at, k in layout.plain}
    values = ca.vertcat(
        *[found[places[k]] if k in used else ca.SX(0) for k in range(kin.num_coordinates)]
    )
    return ca.substitute(ca.atan2(R[1, 0], R[0, 0]), kin.symbols.q, values)


def _spin_of(
    system: System, layout: _CoordinateLayout, body: str
) -> tuple[int, tuple[float, ...]] | None:
    """Place in c of the last angle of a body, of its orientation or its joint, and its axis."""
    node = system.kinematics.tree.nodes[system.kinematics.tree.index[body]]
    for turn in layout.turns:
        if turn.joint == node.joint.name:
            return turn.coordinate + 2, tuple(float(a == turn.sequence[2]) for a in "xyz")
    axis = node.joint.type.rotation_axis()
    if axis is not None and len(node.joint.type.coordinates) == 1:
        read = parameter_reader(system.model, ca.SX(system.kinematics.probe.params))
        about = np.array(ca.DM(read.direction(axis))).ravel()
        return _place(layout, node.coordinates.start), tuple(about.tolist())
    return None


def _renamed(layout: _CoordinateLayout, axes: _TurnedAxes, word: str) -> _CoordinateLayout:
    """The layout with names of its own for what is turned."""
    c = ca.SX.sym("c", len(layout.coordinates))
    plain = axes.to_plain(c)
    coordinates = list(layout.coordinates)
    for k, quantity in enumerate(coordinates):
        if not ca.is_equal(plain[k], c[k]):
            owner, _, name = quantity.name.rpartition(".")
            coordinates[k] = dataclasses.replace(quantity, name=f"{owner}.{word}_{name}")
    return layout._replace(coordinates=tuple(coordinates))


def _angle_rows(
    system: System, layout: _CoordinateLayout, t: float, q: Array, params: Array
) -> dict[int, Array]:
    """∂ċ/∂η of the angles, by their places in c."""
    if not layout.turns:
        return {}
    S = _basis(system, t, q, params)
    rows: dict[int, Array] = {}
    for turn in layout.turns:
        axes = turn_axes_at(angles_of(q, turn.quaternion, turn.sequence), turn.sequence)
        found = np.linalg.solve(axes, S[turn.speed : turn.speed + 3])
        rows |= {turn.coordinate + j: row for j, row in enumerate(found)}
    return rows


def _turned_rows(
    system: System, layout: _CoordinateLayout, axes: _TurnedAxes, t: float, q: Array, params: Array
) -> dict[int, Array]:
    """∂ċ/∂η of turned coordinates, by their places in c."""
    kin = system.kinematics
    s = kin.symbols
    plain = _plain_coordinates(layout, q)
    rates = _rates_of(system, ca.SX(ca.DM(plain)), layout.turns, layout.plain)
    p = ca.SX.sym("p", len(plain))
    slope = ca.substitute(ca.jacobian(axes.from_plain(p), p), p, ca.DM(plain))
    by_eta = ca.jacobian(ca.mtimes(slope, rates), kin.eta)
    function = ca.Function("rows", [s.t, s.q, s.params], [ca.densify(by_eta)])
    return dict(enumerate(np.array(function(t, q, params))))


def _plain_coordinates(layout: _CoordinateLayout, q: Array) -> Array:
    plain = np.zeros(len(layout.coordinates))
    for at, k in layout.plain:
        plain[k] = q[at]
    for turn in layout.turns:
        plain[turn.coordinate : turn.coordinate + 3] = angles_of(q, turn.quaternion, turn.sequence)
    return plain


def _choose_speeds(
    system: System, layout: _CoordinateLayout, rows: dict[int, Array]
) -> tuple[str, ...]:
    """Names of ζ: η, with those of a group replaced by rates of its coordinates.

    Where there is a choice of rates, the ones that determine η best at q.
    """
    kin = system.kinematics
    names = [s.name for s in kin.independent_speeds]
    tree = [s.name for s in kin.speeds]
    groups = []
    for speeds, places in layout.groups:
        own = [k for k, name in enumerate(names) if name in tree[speeds]]
        if own:
            groups.append((places, own))
    if not groups:
        return tuple(names)
    best, chosen = -1.0, names
    for picks in itertools.product(*[itertools.combinations(p, len(own)) for p, own in groups]):
        Z, candidate = np.eye(len(names)), list(names)
        for (_, own), pick in zip(groups, picks, strict=True):
            for k, j in zip(own, pick, strict=True):
                Z[k], candidate[k] = rows[j], f"{layout.coordinates[j].name}_rate"
        size = abs(float(np.linalg.det(Z)))
        if size > 1.000001 * best:
            best, chosen = size, candidate
    return tuple(chosen)


_bases: WeakKeyDictionary[System, ca.Function] = WeakKeyDictionary()


def _basis(system: System, t: float, q: Array, params: Array) -> Array:
    """S in numbers."""
    if system not in _bases:
        kin = system.kinematics
        s = kin.symbols
        _bases[system] = ca.Function("S", [s.t, s.q, s.params], [ca.densify(kin.S)])
    return np.array(_bases[system](t, q, params))


def _trace(
    system: System,
    layout: _CoordinateLayout,
    axes: _TurnedAxes | None,
    rates: dict[str, int],
    speeds: tuple[Quantity, ...],
) -> LocalCoordinates:
    """All of (1) to (5) and their derivatives."""
    turns, plain, coordinates, _ = layout
    kin, eq = system.kinematics, system.equations
    s = kin.symbols
    c = ca.SX.sym("c", len(coordinates))
    zeta = ca.SX.sym("zeta", len(speeds))
    zetadot = ca.SX.sym("zetadot", len(speeds))
    # (1), (5)
    untwisted = c if axes is None else axes.to_plain(c)
    q = _coordinates_of(untwisted, kin.num_coordinates, turns, plain)
    cdot = ca.densify(_rates_of(system, untwisted, turns, plain))  # of q and η
    if axes is not None:
        p = ca.SX.sym("p", len(coordinates))
        slope = ca.substitute(ca.jacobian(axes.from_plain(p), p), p, untwisted)
        cdot = ca.densify(ca.mtimes(slope, cdot))
    # (2), (3): the rates of angles as they follow from η
    own = {q.name: k for k, q in enumerate(kin.independent_speeds)}
    chosen = ca.vertcat(
        *[kin.eta[own[z.name]] if z.name in own else cdot[rates[z.name]] for z in speeds]
    )
    eta, etadot, back = _speeds_of(system, c, cdot, q, chosen, zeta, zetadot)
    # (4)
    states = ca.vertcat(*ca.vertsplit(c)[len(coordinates) - s.z.shape[0] :])
    here = ([s.q, kin.eta, s.z], [q, eta, ca.reshape(states, s.z.shape)])
    blocks = [eq.reduced_mass, eq.reduced_bias, eq.reduced_forces, eq.reduced_inputs, cdot, kin.v]
    mass, bias, forces, inputs, cdot, v = ca.substitute(blocks, *here)
    r = ca.mtimes(mass, etadot) + bias - forces - ca.mtimes(inputs, kin.acting_inputs)
    r = block_solve(back.T, r)[0] if len(speeds) else ca.SX(0, 1)
    g = ca.substitute([kin.independent_positions[1]], [s.q], [q])[0]
    parts = [ca.densify(e) for e in (r, cdot, g, v, eta)]
    stacked = ca.vertcat(*parts)
    arguments = [s.t, c, zeta, zetadot, eq.inputs, s.params]
    return LocalCoordinates(
        coordinates=coordinates,
        coordinate_rates=rates,
        speeds=speeds,
        values=ca.Function("values", arguments, [*parts, ca.densify(ca.jacobian(r, zetadot))]),
        derivatives=ca.Function(
            "derivatives",
            arguments,
            [ca.densify(ca.jacobian(stacked, e)) for e in (c, zeta, eq.inputs)],
        ),
        placing=ca.Function("placing", [c], [ca.densify(ca.jacobian(q, c))]),
        sizes=tuple(int(e.shape[0]) for e in parts),
        depends_on_time=bool(ca.depends_on(ca.vertcat(r, cdot), s.t)),
        _turns=turns,
        _plain=plain,
        _turned=axes,
    )


def _speeds_of(
    system: System,
    c: ca.SX,
    cdot: ca.SX,
    q: ca.SX,
    chosen: ca.SX,
    zeta: ca.SX,
    zetadot: ca.SX,
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """η and η̇ of (c, ζ, ζ̇), and Z; `chosen` is Zη + z of q and η."""
    kin = system.kinematics
    s = kin.symbols
    chosen = ca.substitute([chosen], [s.q], [q])[0]
    Z = ca.jacobian(chosen, kin.eta)
    if not zeta.shape[0]:
        return zeta, zetadot, Z
    z = ca.substitute([chosen], [kin.eta], [ca.SX.zeros(zeta.shape[0])])[0]
    eta = block_solve(Z, ca.densify(zeta - z))[0]
    cdot = ca.substitute([cdot], [s.q], [q])[0]
    along = ca.vertcat(cdot, ca.SX(1), s.wdot)
    turning = ca.jtimes(chosen, ca.vertcat(c, s.t, s.w), along)
    turning = ca.substitute([turning], [kin.eta], [eta])[0]
    return eta, block_solve(Z, ca.densify(zetadot - turning))[0], Z


def _coordinates_of(
    c: ca.SX, count: int, turns: tuple[_AngleCoordinates, ...], plain: tuple[tuple[int, int], ...]
) -> ca.SX:
    """q of c."""
    q = [ca.SX(0)] * count
    for at, k in plain:
        q[at] = c[k]
    for turn in turns:
        quaternion = quaternion_of(c[turn.coordinate : turn.coordinate + 3], turn.sequence)
        q[turn.quaternion : turn.quaternion + 4] = ca.vertsplit(quaternion)
    return ca.vertcat(*q) if q else ca.SX(0, 1)


def _rates_of(
    system: System,
    c: ca.SX,
    turns: tuple[_AngleCoordinates, ...],
    plain: tuple[tuple[int, int], ...],
) -> ca.SX:
    """ċ = C v, of q and η: as q̇ but for the angles."""
    kin = system.kinematics
    qdot = ca.mtimes(kin.N, kin.v)
    states = ca.vertsplit(system.equations.forces.state_rates)
    cdot = [ca.SX(0)] * (c.shape[0] - len(states)) + states
    for at, k in plain:
        cdot[k] = qdot[at]
    for turn in turns:
        angles = c[turn.coordinate : turn.coordinate + 3]
        rate_map = angle_rate_map(angles, turn.sequence)
        turning = ca.mtimes(rate_map, kin.v[turn.speed : turn.speed + 3])
        cdot[turn.coordinate : turn.coordinate + 3] = ca.vertsplit(turning)
    return ca.vertcat(*cdot) if cdot else ca.SX(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalState:
    """A state of a system in local coordinates."""

    #: system, chart: system and coordinates of the state; speeds may be others than asked for,
    #: where those do not determine the motion
    system: System
    chart: LocalCoordinates
    time: float  #: s
    #: c, zeta, inputs, parameters: the numbers that (c, ζ, inputs, parameters) stand for
    c: Array
    zeta: Array
    inputs: Array
    parameters: Array

    @classmethod
    def at(
        cls,
        system: System,
        start: Start,
        inputs: Array,
        params: Array,
        turned: MovingAxes | None = None,
        *,
        is_driven: bool = False,
    ) -> LocalState:
        """The state of a start, in independent speeds that determine the motion.

        With one of `moving_axes` it is in turned or carried coordinates. Equations that change with
        time are refused unless the motion may be driven.
        """
        check_no_costates(system)
        here, start = regular_start(system, start, params)
        find = local_coordinates_at if is_driven else chart_at
        chart = find(here, start.time, start.q, params, turned)
        c = chart.from_coordinates(start.q, _force_states(here, start))
        eta = start.eta
        none = np.zeros(len(eta))
        point = cls(
            system=here,
            chart=chart,
            time=start.time,
            c=c,
            zeta=none,
            inputs=inputs,
            parameters=params,
        )
        # η is affine in ζ
        slope = point.derivatives()[1][4]
        zeta = np.asarray(np.linalg.solve(slope, eta - point.values()[4])) if len(eta) else none
        return dataclasses.replace(point, zeta=zeta)

    @property
    def arguments(self) -> tuple[float | Array, ...]:
        """Arguments of the functions of the chart, at ζ̇ = 0."""
        none = np.zeros(len(self.zeta))
        return self.time, self.c, self.zeta, none, self.inputs, self.parameters

    def values(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """r, ċ, g, v and η as vectors, and the mass matrix ∂r/∂ζ̇."""
        *vectors, mass = (np.array(e) for e in self.chart.values(*self.arguments))
        r, cdot, g, v, eta = (e.ravel() for e in vectors)
        return r, cdot, g, v, eta, mass

    def derivatives(
        self, zetadot: Array | None = None
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """Derivatives of r, ċ, g, v and η with respect to c, ζ and inputs, at a ζ̇; 0 if steady."""
        t, c, zeta, none, *others = self.arguments
        at = (t, c, zeta, none if zetadot is None else zetadot, *others)
        by_c, by_zeta, by_inputs = (np.array(e) for e in self.chart.derivatives(*at))
        split = self.chart.split
        return split(by_c), split(by_zeta), split(by_inputs)

    def rates(self) -> tuple[Array, Array]:
        """ζ̇ and ċ."""
        r, cdot, _, _, _, mass = self.values()
        return (np.asarray(np.linalg.solve(mass, -r)) if r.size else r), cdot


def check_no_costates(system: System) -> None:
    """Refuse vakonomic equations."""
    if system.costates:
        raise SimulationError(
            "vakonomic equations have costates, which are not constant in a steady motion",
            f"model '{system.model.name}'",
            "derive the equations by another method, such as NaturalComplement()",
        )


def chart_at(
    system: System, t: float, q: Array, params: Array, turned: MovingAxes | None = None
) -> LocalCoordinates:
    """The chart at a configuration, for motions that may be steady in it."""
    chart = local_coordinates_at(system, t, q, params, turned)
    if chart.depends_on_time:
        raise SimulationError(
            "the equations change with time, so that no motion is steady",
            f"model '{system.model.name}'",
            "leave out motions and forces that are expressions of t",
        )
    return chart


def _force_states(system: System, start: Start) -> Array:
    """States of forces of a start, zero where it has none."""
    return start.mu if len(start.mu) else np.zeros(len(system.kinematics.force_states))


_AXES = {"x": vector([1, 0, 0]), "y": vector([0, 1, 0]), "z": vector([0, 0, 1])}
#: Angles to fall back on; one of them is regular at any orientation.
_SEQUENCES = ("zyx", "zxy", "xyz", "xzy", "yxz", "yzx")
#: Least volume that the three axes of turning must span.
_REGULAR = 0.1


def regular_angles(
    q: Array, at: int, joint: str, angles: Angles | None
) -> tuple[str, tuple[str, ...]]:
    """A sequence of angles that is regular at q, the joint's own if it is, and their names."""
    own = () if angles is None else (angles.sequence,)
    for sequence in (*own, *_SEQUENCES):
        if abs(np.linalg.det(turn_axes_at(angles_of(q, at, sequence), sequence))) > _REGULAR:
            return sequence, _names_of(joint, sequence, angles)
    raise AssertionError("one of the sequences is regular at any orientation")


def _names_of(joint: str, sequence: str, angles: Angles | None) -> tuple[str, ...]:
    """Names of angles: the joint's own, or by their axes."""
    if angles is not None and sequence == angles.sequence:
        return tuple(f"{joint}.{name}" for name in angles.names)
    words = ("turn", "turn", "spin" if sequence[2] == sequence[0] else "turn")
    return tuple(f"{joint}.{word}_{letter}" for word, letter in zip(words, sequence, strict=True))


def quaternion_of(angles: ca.SX, sequence: str) -> ca.SX:
    """Unit quaternion of R₁(a₁) R₂(a₂) R₃(a₃): p ← p ⊗ (cos a/2, sin a/2 e) for each turn."""
    p = ca.SX([1.0, 0.0, 0.0, 0.0])
    for letter, angle in zip(sequence, ca.vertsplit(angles), strict=True):
        turned = ca.mtimes(quaternion_rate_map(p), _AXES[letter])
        p = ca.cos(angle / 2) * p + 2 * ca.sin(angle / 2) * turned
    return p


def turn_axes_at(angles: Array, sequence: str) -> Array:
    """Numeric axes of the angles, as columns."""
    turning = [angular_velocity(list(angles), list(rates), sequence) for rates in np.eye(3)]
    return np.array(turning).T


def angles_of(q: Array, at: int, sequence: str) -> Array:
    """Angles of the quaternion at an index of q."""
    return np.array(angles_from_quaternion(q[at : at + 4], sequence), dtype=float)
