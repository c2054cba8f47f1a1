"""Coordinates and speeds that equations are printed in, and their check against compiled ones.

Equations are compiled in quaternions. Where a joint names angles they are printed in those; speeds
are the rates of the angles where the body is symmetric about the last turn's axis, so that this
angle drops out of the equations, and the model's own otherwise. Both may be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip import Equations, IndependentSpeed, Joint, Model, SimulationError, derive, trace
from noslip.algebra import quaternion_from_angles, rotation_from_angles
from noslip.base import nearest
from noslip.expressions import ExpressionError, names_of, parse, read_unit, unit_text
from noslip.kinematics import Node
from noslip.model import Dependence, angle_joints, dependence, dimension, in_angles, vocabulary

Array = NDArray[np.float64]

#: Words for the coordinates of orientations.
ANGLES, QUATERNION = "angles", "quaternion"
COORDINATES = (ANGLES, QUATERNION)
#: Parts of a model whose fields may name coordinates and speeds.
_REFERRING = frozenset("contacts definitions forces independent_speeds rows speed_inputs".split())


@dataclass(frozen=True, slots=True, eq=False)
class PrintedEquations:
    """Equations in the coordinates and speeds to print, and those that were given.

    Parameters
    ----------
    equations : to be printed.
    given : the same motion as it is compiled.
    coordinates : `ANGLES` or `QUATERNION`.
    is_usual : whether the independent speeds are those of the model, not others of one's choice.
    """

    equations: Equations
    given: Equations
    coordinates: str
    is_usual: bool = True

    @classmethod
    def as_compiled(cls, equations: Equations) -> PrintedEquations:
        """The equations in the coordinates and speeds that they are compiled in."""
        return cls(equations, equations, QUATERNION)

    @property
    def model(self) -> Model:
        """The model as it was described, without the links of chains."""
        return self.given.model

    def difference(self, states: Array) -> float:
        """Largest difference of the compiled accelerations at the same states, relative to them.

        `states` are rows t, q, v, η, μ, …, u, w, ẇ, parameters as of `Subject.columns`.
        """
        if self.equations is self.given:
            return 0.0
        own, other = self.equations.kinematics, self.given.kinematics
        if self.equations.auxiliary_states.shape != self.given.auxiliary_states.shape:
            return math.nan
        q, v, vdot = _given_state(own.tree.nodes, other.tree.nodes, self.equations)
        s, c = own.symbols, other.symbols
        eta = ca.mtimes(other.E, c.v)
        known = [s.t, s.q, own.eta, self.equations.auxiliary_states, s.u, s.w, s.wdot, s.params]
        mapped = ca.Function("mapped", known, [q, v, vdot])
        given = [c.t, c.q, other.eta, self.given.auxiliary_states, c.u, c.w, c.wdot, c.params]
        compiled = ca.Function("compiled", given, [ca.densify(self.given.speed_rates)])
        to_eta = ca.Function("eta", [c.t, c.q, c.v, c.params], [eta])
        sizes = [x.shape[0] for x in (s.t, s.q, s.v, own.eta, self.equations.auxiliary_states)]
        tail = [x.shape[0] for x in (s.u, s.w, s.wdot, s.params)]
        worst = math.nan
        for row in states:
            t, q_, _, eta_, mu = np.split(row[: sum(sizes)], np.cumsum(sizes)[:-1])
            u, w, wdot, params = np.split(row[len(row) - sum(tail) :], np.cumsum(tail)[:-1])
            at, moving, rates = mapped(t, q_, eta_, mu, u, w, wdot, params)
            expected = np.array(
                compiled(t, at, to_eta(t, at, moving, params), mu, u, w, wdot, params)
            ).ravel()
            found = np.array(rates).ravel()
            if not (np.all(np.isfinite(found)) and np.all(np.isfinite(expected))):
                continue
            scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
            largest = float(np.max(np.abs(found - expected), initial=0.0)) / scale
            worst = largest if math.isnan(worst) else max(worst, largest)
        return worst


def printed_equations(
    equations: Equations, coordinates: str | None = None, speeds: Sequence[str] = ()
) -> PrintedEquations:
    """The equations in the coordinates and speeds they are to be printed in.

    Parameters
    ----------
    equations : as they are compiled.
    coordinates : ``"angles"`` or ``"quaternion"``; the angles by default where the model names some
        and refers to no entry of a quaternion.
    speeds : independent speeds, each a name such as ``disk.yaw_rate`` or a definition such as
        ``w3 = disk.spin_rate + disk.yaw_rate*cos(disk.tilt)``; none for the usual ones.

    Raises
    ------
    SimulationError : for coordinates the model does not name, and speeds that it does not have.
    """
    model = equations.model
    where = f"model '{model.name}', coordinates to print"
    if coordinates is not None and coordinates not in COORDINATES:
        raise SimulationError(
            f"there are no coordinates '{coordinates}'", where, nearest(coordinates, COORDINATES)
        )
    joints = angle_joints(model)
    blocked = _entries_used(model, joints)
    if coordinates == ANGLES and (not joints or blocked):
        what = f"the model uses '{blocked}'" if joints else "no joint of the model names angles"
        raise SimulationError(
            f"the equations cannot be written in angles: {what}",
            where,
            "print them with --coordinates quaternion"
            if joints
            else "give a free or spherical "
            'joint angles = {sequence = "zxz", names = ["yaw", "tilt", "spin"]}',
        )
    if not joints or blocked or coordinates == QUATERNION:
        chosen = _with_speeds(model, speeds, equations)
        shown = equations if chosen is model else derive(chosen, equations.formulation)
        return PrintedEquations(shown, equations, QUATERNION, not speeds)
    own = tuple(s.name for s in equations.kinematics.independent_speeds)
    rates = [j.name for j in joints if _is_in_rates(model, j, own, speeds)]
    changed = in_angles(model, rates)
    if not speeds:
        changed = replace(changed, independent_speeds=_speeds_in_rates(equations, joints, rates))
    chosen = _with_speeds(changed, speeds, equations)
    shown = derive(chosen, equations.formulation)
    return PrintedEquations(shown, equations, ANGLES, not speeds)


def _entries_used(model: Model, joints: Sequence[Joint]) -> str:
    """The first entry of a quaternion that the model refers to, empty for none."""
    names = {f"{j.name}.q{k}" for j in joints for k in "wxyz"}
    return next((n for n in _names_used(model) if n in names), "")


def _names_used(model: Model) -> list[str]:
    """Names in the expressions and fields of forces, rows, inputs and independent speeds."""
    found: list[str] = []
    for path, _, _, value in vocabulary(model).fields:
        if path[0] not in _REFERRING:
            continue
        values = value.values() if isinstance(value, dict) else value
        for text in (values,) if isinstance(values, str | float | int) else tuple(values or ()):
            if isinstance(text, str):
                try:
                    found += sorted(names_of(text))
                except ExpressionError:
                    continue
    return found


def _speed_names(joint: Joint) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Speeds of a joint in body axes, and the rates that take their place, as full names."""
    angles = joint.type.named_angles()
    assert angles is not None, "only joints with named angles are asked"
    places = ("x", "y", "z") if len(joint.type.speeds) == 6 else ()
    rates = [f"{joint.name}.{name}_rate" for name in (*angles.names, *places)]
    return joint.speed_names(), tuple(rates)


def _is_in_rates(
    model: Model, joint: Joint, independent: Sequence[str], speeds: Sequence[str]
) -> bool:
    """Whether a joint is written in the rates of its coordinates."""
    body, rates = _speed_names(joint)
    used = {name for name in _names_used(replace(model, independent_speeds=()))}
    if speeds:
        asked = {name for text in speeds for name in _names_in(text)}
        return bool(asked & set(rates)) and not (asked | used) & set(body)
    groups = [set(body[:3]), set(body[3:])]
    named = {s.name for s in model.independent_speeds if not s.expression}
    expressed = set(_names_used(model)) - named
    if (used | expressed) & set(body) or not groups[0] <= set(independent):
        return False
    if groups[1] & set(independent) and not groups[1] <= set(independent):
        return False
    nodes = trace(in_angles(replace(model, independent_speeds=()), [joint.name])).tree.nodes
    return any(node.is_rotor and node.body.name == joint.child for node in nodes)


def _names_in(text: str) -> frozenset[str]:
    try:
        return names_of(text.partition("=")[2] or text)
    except ExpressionError:
        return frozenset()


def _speeds_in_rates(
    equations: Equations, joints: Sequence[Joint], rates: Sequence[str]
) -> tuple[IndependentSpeed, ...]:
    """The independent speeds of the equations, with rates in place of body speeds."""
    instead: dict[str, str] = {}
    for joint in joints:
        if joint.name in rates:
            instead |= dict(zip(*_speed_names(joint), strict=True))
    expressions = {s.name: s for s in equations.model.independent_speeds if s.expression}
    return tuple(
        expressions.get(s.name) or IndependentSpeed(name=instead.get(s.name, s.name))
        for s in equations.kinematics.independent_speeds
    )


def _with_speeds(model: Model, speeds: Sequence[str], equations: Equations) -> Model:
    """The model with these independent speeds, checked by name."""
    if not speeds:
        return model
    where = f"model '{model.name}', speeds to print"
    joints = [j for j in model.joints if len(j.type.speeds)]
    known = {n: q.unit for j in joints for n, q in zip(j.speed_names(), j.type.speeds, strict=True)}
    places = {
        n: q.unit
        for j in joints
        for n, q in zip(j.coordinate_names(), j.type.coordinates, strict=True)
    }
    own = {s.name: s for s in equations.model.independent_speeds if s.expression}
    scope = {n: read_unit(u) for n, u in {**known, **places}.items()}
    scope |= {p.name: read_unit(p.unit) for p in model.parameters}
    chosen = []
    for text in speeds:
        name, is_defined, expression = (part.strip() for part in text.partition("="))
        if not is_defined:
            if name not in known and name not in own:
                raise SimulationError(
                    f"there is no speed '{name}' to write the equations in",
                    where,
                    nearest(name, [*known, *own]),
                )
            chosen.append(own.get(name) or IndependentSpeed(name=name))
            continue
        try:
            used = names_of(expression)
        except ExpressionError as error:
            raise SimulationError(
                f"'{text}' cannot be read: {error}",
                where,
                "write name = expression, such as w3 = disk.spin_rate + disk.yaw_rate",
            ) from None
        unknown = sorted(used - set(scope) - {"pi"})
        if unknown:
            raise SimulationError(
                f"'{text}' contains the unknown name '{unknown[0]}'",
                where,
                nearest(unknown[0], scope),
            )
        if not used & set(known):
            raise SimulationError(f"'{text}' contains no speed", where, nearest(expression, known))
        if (
            dependence(parse(expression), dict.fromkeys(known, Dependence.LINEAR))
            is not Dependence.LINEAR
        ):
            raise SimulationError(
                f"'{text}' is not linear in the speeds",
                where,
                "write a sum of speeds times factors, without a constant term",
            )
        found = dimension(expression, scope)
        unit = unit_text(found) if isinstance(found, tuple) else ""
        unit = {"1/s": "rad/s", "s^-1": "rad/s"}.get(unit, unit)
        chosen.append(IndependentSpeed(name=name, expression=expression, unit=unit))
    return replace(model, independent_speeds=tuple(chosen))


def _given_state(
    own: Sequence[Node], other: Sequence[Node], equations: Equations
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """q, v and v̇ of the given equations as functions of the state of the printed ones.

    With R and p the pose of the joint's frames in the printed coordinates, the body's speeds are
    ω = (RᵀṘ)ˇ and Rᵀṗ; their rates follow by differentiation along q̇ = N v and v̇.
    """
    kin = equations.kinematics
    symbols = kin.symbols
    at = ca.vertcat(symbols.q, symbols.v)
    q_dot = ca.mtimes(kin.N, symbols.v)
    along = ca.vertcat(q_dot, equations.speed_rates)
    spans: dict[str, list[Node]] = {}
    for node in own:
        spans.setdefault(node.joint.name, []).append(node)
    q: list[ca.SX] = []
    v: list[ca.SX] = []
    for node in other:
        nodes = spans[node.joint.name]
        place = symbols.q[nodes[0].coordinates.start : nodes[-1].coordinates.stop]
        speed = symbols.v[nodes[0].speeds.start : nodes[-1].speeds.stop]
        angles = node.joint.type.named_angles()
        if angles is None:
            q.append(place)
            v.append(speed)
            continue
        turns = place[place.shape[0] - 3 :]
        shift = place[: place.shape[0] - 3]
        quaternion = quaternion_from_angles(ca.vertsplit(turns), angles.sequence, ca.cos, ca.sin)
        q += [shift, ca.vertcat(*quaternion)]
        R = rotation_from_angles(turns, angles.sequence)
        R_dot = ca.reshape(ca.jtimes(ca.vec(R), symbols.q, q_dot), 3, 3)
        W = ca.mtimes(R.T, R_dot)
        v.append(ca.vertcat(W[2, 1], W[0, 2], W[1, 0]))
        if shift.shape[0]:
            v.append(ca.mtimes(R.T, ca.jtimes(shift, symbols.q, q_dot)))
    # places of contacts come behind the joints, in both
    q.append(symbols.q[own[-1].coordinates.stop :])
    v.append(symbols.v[own[-1].speeds.stop :])
    speeds = ca.vertcat(*v)
    rates = ca.jtimes(speeds, at, along)
    found = [ca.densify(ca.vertcat(*q)), ca.densify(speeds), ca.densify(rates)]
    q_found, *moving = ca.substitute(found, [symbols.v], [kin.v])
    return q_found, moving[0], moving[1]
