"""Direct and inverse kinematics and dynamics at an instant, for any frame or set of joints.

**The Cartesian model of a manipulator: its equations of motion in the velocities of a tool frame.**

M_x v̇_n + V_x + G_x = F_x                                   [DeSantis1994, eqs. 7.6–7.10]

with v_n = J η the chosen components of the twist of a frame on a body, and

    M_x = J⁻ᵀ D J⁻¹,  V_x = J⁻ᵀ(C η − D J⁻¹ J̇ η),  G_x = J⁻ᵀ G,  F_x = J⁻ᵀ τ

The paper prints J⁻¹ on the left and both terms of V_x with the opposite sign; these are the right
ones (they follow from D η̇ + C η + G = τ and v̇_n = J η̇ + J̇ η by the principle of virtual work).

Direct kinematics: from coordinates and independent speeds (and their rates) to the pose, twist and
twist rate of every body, passive joints included. Inverse kinematics: from the motion of chosen
components back to the independent speeds, by least squares in consistent units, with what no
admissible motion has reported and never averaged away ([SahaAngeles1989, eq. 6c] would do so
silently). Direct dynamics: accelerations from inputs. Inverse dynamics: inputs from accelerations,
least in a weighted norm where there are more inputs than degrees of freedom, with the unreachable
part reported where there are fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.algebra import cross
from noslip.analysis.instant import (
    at_variant,
    check_time,
    independent_rates,
    least_stacked,
    rows_of,
    speed_input_vectors,
    state_at,
)
from noslip.analysis.reactions import assumed_contacts
from noslip.base import Array, SimulationError, nearest, real_array
from noslip.engines import AbstractDevice, RowFunction, System, require_system
from noslip.kinematics import accelerations, twists
from noslip.model import GRAVITY, ZERO, Vector3
from noslip.simulation import Start, Starts, VariantResults, Variants, choose_bases

COMPONENTS: tuple[str, ...] = ("vx", "vy", "vz", "wx", "wy", "wz")

#: Beyond this condition number of the Jacobian the Cartesian model is refused.
SINGULAR = 1e8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CartesianModel:
    """The Cartesian model at a state."""

    #: components of the twist, in order: ``vx vy vz`` in m/s and ``wx wy wz`` in rad/s
    components: tuple[str, ...]
    #: jacobian, jacobian_rate_term: J and J̇ η
    jacobian: Array
    jacobian_rate_term: Array
    mass: Array  #: M_x
    #: velocity_terms, gravity, force: V_x, G_x, F_x of the inputs given
    velocity_terms: Array
    gravity: Array
    force: Array
    #: velocity, acceleration: v_n and v̇_n
    velocity: Array
    acceleration: Array
    condition: float  #: condition number of J in SI units


def cartesian_model(
    system: System,
    state: Mapping[str, float],
    *,
    body: str,
    point: Vector3 = ZERO,
    components: Sequence[str] = COMPONENTS,
    axes: str = "world",
    inputs: Mapping[str, float] | None = None,
    speed_inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> CartesianModel:
    """Compute M_x, V_x, G_x and F_x at a point of a body.

    Parameters
    ----------
    system : compiled system with as many independent speeds as `components`.
    state : coordinates and speeds; the rest is completed consistently.
    body : name of the body that carries the frame.
    point : origin of the frame, in the body frame, m (numbers or expressions of parameters).
    components : controlled components of the frame's twist.
    axes : ``"world"``, or ``"body"`` for components along the body's own axes.
    inputs : values of the force inputs, for F_x.
    speed_inputs : values of speed inputs such as a steering rate, and of their rates; zero by
        default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.

    Raises
    ------
    SimulationError : for unknown names, a Jacobian that is not square, or one near singularity.
    """
    require_system("cartesian_model", system)
    check_time(system, time)
    _check(system, body, components, axes)
    w, wdot = speed_input_vectors(system, speed_inputs)
    system, start, params = state_at(
        system, state, time=time, speed_inputs=w, parameters=parameters
    )
    _check(system, body, components, axes)  # another branch has other degrees of freedom
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    given = dict(inputs or {})
    u = np.array([float(given.pop(i.name, 0.0)) for i in system.model.inputs])
    if given:
        raise SimulationError(
            f"there is no force input '{next(iter(given))}'",
            f"inputs of model '{system.model.name}'",
            nearest(next(iter(given)), [i.name for i in system.model.inputs]),
        )
    # components of the frame's twist as functions of q and the tree speeds
    twist = frame_twist(system, body, point, axes, symbols.v)
    chosen = twist[[COMPONENTS.index(c) for c in components]]
    per_speed = ca.jacobian(chosen, symbols.v)
    rate = ca.jtimes(chosen, symbols.q, ca.mtimes(kin.N, symbols.v))
    J = ca.mtimes(per_speed, kin.S)
    J_dot_eta = kin.at_speeds(rate) + ca.mtimes(per_speed, kin.vdot0)
    shares = eq.forces.shares
    others = eq.forces.Q - shares[GRAVITY] + ca.mtimes(eq.forces.B, kin.acting_inputs)
    numbers = ca.Function(
        "cartesian",
        [
            *(symbols.t, symbols.q, kin.eta, eq.auxiliary_states),
            *(symbols.u, symbols.w, symbols.wdot, symbols.params),
        ],
        [
            ca.densify(J),
            J_dot_eta,
            kin.at_speeds(chosen),
            eq.reduced_mass,
            eq.reduced_bias,
            -ca.mtimes(kin.S.T, shares[GRAVITY]),
            ca.mtimes(kin.S.T, others),
            eq.accelerations,
        ],
    )
    found = numbers(start.time, start.q, start.eta, start.mu, u, w, wdot, params)
    Jn, rate_term, velocity, D, bias, G, tau, etadot = (np.array(x) for x in found)
    condition = float(np.linalg.cond(Jn)) if np.all(np.isfinite(Jn)) else float("inf")
    if not condition < SINGULAR:
        raise SimulationError(
            f"the Jacobian of {', '.join(components)} is singular here (condition number "
            f"{condition:.1e}): some motion of the frame cannot be made",
            f"model '{system.model.name}', body '{body}'",
            "move away from this configuration, or control other components",
        )

    def down(x: Array) -> Array:
        return np.linalg.solve(Jn.T, x)

    return CartesianModel(
        components=tuple(components),
        jacobian=Jn,
        jacobian_rate_term=rate_term.ravel(),
        mass=down(np.linalg.solve(Jn.T, D.T).T),
        velocity_terms=down(bias - D @ np.linalg.solve(Jn, rate_term)).ravel(),
        gravity=down(G).ravel(),
        force=down(tau).ravel(),
        velocity=velocity.ravel(),
        acceleration=(Jn @ etadot + rate_term).ravel(),
        condition=condition,
    )


def frame_twist(system: System, body: str, point: Vector3, axes: str, v: ca.SX) -> ca.SX:
    """[velocity of the point; ω] of a frame on a body, for tree speeds v."""
    kin = system.kinematics
    k = kin.tree.index[body]
    node = kin.tree.nodes[k]
    w, origin = twists(kin.tree, v)[k]
    r = ca.mtimes(node.R_DB, kin.reader.vector(point))
    turn = node.R_WD if axes == "world" else node.R_DB.T
    return ca.vertcat(ca.mtimes(turn, origin + cross(w, r)), ca.mtimes(turn, w))


def _check(system: System, body: str, components: Sequence[str], axes: str) -> None:
    where = f"Cartesian model of '{system.model.name}'"
    bodies = [b.name for b in system.model.bodies]
    if body not in bodies:
        raise SimulationError(f"there is no body '{body}'", where, nearest(body, bodies))
    for component in components:
        if component not in COMPONENTS:
            raise SimulationError(
                f"there is no component '{component}'", where, nearest(component, COMPONENTS)
            )
    if axes not in ("world", "body"):
        raise SimulationError(f"there are no axes '{axes}'", where, "use 'world' or 'body'")
    dof = len(system.independent_speeds)
    if not dof:
        raise SimulationError(
            "the mechanism has no degrees of freedom, so no frame of it can be moved",
            where,
            "give a body a joint that lets it move, or leave out a constraint",
        )
    if len(components) != dof:
        raise SimulationError(
            f"{len(components)} components are named for {dof} degrees of freedom",
            where,
            f"name {dof} of {', '.join(COMPONENTS)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BodyMotion:
    """Motion of a body's frame in the world."""

    #: rotation, position: R_WB (3, 3) and p_WB (3,), m
    rotation: Array
    position: Array
    #: angular_velocity, velocity: rad/s and m/s, of the body's origin
    angular_velocity: Array
    velocity: Array
    #: angular_acceleration, acceleration: rad/s² and m/s²
    angular_acceleration: Array
    acceleration: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseKinematics:
    """Speeds that give a frame its prescribed motion."""

    #: speeds, accelerations: all tree speeds and their rates by name, passive joints included
    speeds: dict[str, float]
    accelerations: dict[str, float]
    #: (k,) part of the velocity asked for that no admissible motion has, by component
    residual: Array
    acceleration_residual: Array  #: (k,) the same of the acceleration


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseDynamics:
    """Inputs that produce the prescribed accelerations."""

    inputs: dict[str, float]  #: force inputs by name
    #: (nf,) generalized force on the independent speeds that no inputs can supply
    unreachable: Array
    independent_speeds: tuple[str, ...]  #: names of these speeds
    #: state in which contacts that may slip are taken, ``rolls`` or ``off``, by name
    contacts: dict[str, str] = field(default_factory=dict)


def direct_kinematics(
    system: System,
    state: Mapping[str, float],
    *,
    accelerations_of: Mapping[str, float] | None = None,
    speed_inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> dict[str, BodyMotion]:
    """Compute pose, twist and twist rate of every body.

    Parameters
    ----------
    system : compiled system.
    state : coordinates and speeds; passive ones are completed.
    accelerations_of : rates of independent speeds by name, zero by default. At a state at which the
        system's own do not determine the motion they are others, those that :func:`evaluate` names;
        rates of any speeds that determine the motion are accepted too.
    speed_inputs : values of speed inputs such as a steering rate, and of their rates
        (``steering_rate_rate``); zero by default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    """
    require_system("direct_kinematics", system)
    check_time(system, time)
    w, wdot = speed_input_vectors(system, speed_inputs)
    here, start, params = state_at(
        system, state, time=time, speed_inputs=w, parameters=parameters, need="kinematics"
    )
    etadot = independent_rates(system, here, start, accelerations_of or {}, params, (w, wdot))
    kin = here.kinematics
    s = kin.symbols
    symbol = ca.SX.sym("etadot", len(etadot))
    motion = twists(kin.tree, kin.v)
    rates = accelerations(kin.tree, motion, kin.v, ca.mtimes(kin.S, symbol) + kin.vdot0)
    parts = []
    for node, (omega, v), (alpha, a) in zip(kin.tree.nodes, motion, rates, strict=True):
        turned = [ca.mtimes(node.R_WD, x) for x in (omega, v, alpha, a)]
        parts.append(ca.vertcat(ca.reshape(node.R_WB.T, 9, 1), node.p_WB, *turned))
    f = ca.Function("f", [s.t, s.q, kin.eta, symbol, s.w, s.wdot, s.params], parts)
    found = f.call([start.time, start.q, start.eta, etadot, w, wdot, params])
    result = {}
    for node, numbers in zip(kin.tree.nodes, found, strict=True):
        x = np.array(numbers).ravel()
        result[node.body.name] = BodyMotion(
            rotation=x[:9].reshape(3, 3),
            position=x[9:12],
            angular_velocity=x[12:15],
            velocity=x[15:18],
            angular_acceleration=x[18:21],
            acceleration=x[21:24],
        )
    return result


def inverse_kinematics(
    system: System,
    configuration: Mapping[str, float],
    *,
    body: str = "",
    velocity: Sequence[float] = (),
    acceleration: Sequence[float] | None = None,
    point: Vector3 = ZERO,
    components: Sequence[str] = COMPONENTS,
    axes: str = "world",
    joint_speeds: Mapping[str, float] | None = None,
    joint_accelerations: Mapping[str, float] | None = None,
    speed_inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> InverseKinematics:
    """Compute speeds and accelerations of all joints that move a frame, or joints, as asked.

    Parameters
    ----------
    system : compiled system.
    configuration : coordinates; the rest is completed consistently.
    body, point : the frame: a body and its origin there, m; none if joints alone are given.
    velocity, acceleration : values of `components`, m/s, rad/s, and their rates (in body axes these
        are not the components of the acceleration).
    components : given components of the twist, among ``vx vy vz wx wy wz``.
    axes : ``"world"`` or ``"body"``.
    joint_speeds, joint_accelerations : speeds of joints by name, asked for too, and their rates,
        zero by default.
    speed_inputs : values of speed inputs such as a steering rate, and of their rates; zero by
        default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.

    Returns
    -------
    found : residuals count the components first, then the joints.

    Raises
    ------
    SimulationError : for unknown names, or if what is asked for leaves a degree of freedom open.
    """
    require_system("inverse_kinematics", system)
    check_time(system, time)
    bodies = [b.name for b in system.model.bodies]
    where = f"inverse kinematics of model '{system.model.name}'"
    joints, rates = dict(joint_speeds or {}), dict(joint_accelerations or {})
    if not joints and body not in bodies:
        raise SimulationError(f"there is no body '{body}'", where, nearest(body, bodies))
    components = tuple(components) if body else ()
    for c in components:
        if c not in COMPONENTS:
            raise SimulationError(f"there is no component '{c}'", where, nearest(c, COMPONENTS))
    known = [x.name for x in system.speeds]
    for name in (*joints, *rates):
        if name not in known or name not in joints:
            raise SimulationError(
                f"there is no joint speed '{name}'"
                if name not in known
                else f"a rate of '{name}' is given, but not the speed itself",
                where,
                nearest(name, known) if name not in known else "give it in joint_speeds too",
            )
    asked = {
        "the velocity": velocity,
        "the acceleration": () if acceleration is None else acceleration,
        "joint_speeds": list(joints.values()),
        "joint_accelerations": list(rates.values()),
    }
    for what, numbers in asked.items():
        if not np.all(np.isfinite(real_array(numbers))):
            raise SimulationError(f"{what} is {numbers!r:.60}", where, "give finite numbers")
    if len(velocity) != len(components):
        raise SimulationError(
            f"{len(velocity)} velocities are given for {len(components)} components",
            where,
            f"give one for each of {', '.join(components) or 'the joints in joint_speeds'}",
        )
    if acceleration is not None and len(acceleration) != len(components):
        raise SimulationError(
            f"{len(acceleration)} accelerations are given for {len(components)} components",
            where,
            f"give one for each of {', '.join(components) or 'the joints in joint_accelerations'}",
        )
    w, wdot = speed_input_vectors(system, speed_inputs)
    system, start, params = state_at(
        system, configuration, time=time, speed_inputs=w, parameters=parameters, need="kinematics"
    )
    kin = system.kinematics
    s = kin.symbols
    parts = [s.v[[known.index(name) for name in joints], :]]
    if body:
        twist = frame_twist(system, body, point, axes, s.v)
        parts.insert(0, twist[[COMPONENTS.index(c) for c in components], :])
    chosen = ca.vertcat(*parts)
    rows = ca.jacobian(chosen, s.v)
    moving = kin.at_speeds(ca.jtimes(chosen, s.q, ca.mtimes(kin.N, s.v)))
    f = ca.Function(
        "f",
        [s.t, s.q, kin.eta, s.w, s.wdot, s.params],
        [
            ca.densify(ca.mtimes(rows, kin.S)),
            ca.mtimes(rows, kin.s),
            moving + ca.mtimes(rows, kin.vdot0),
            ca.densify(kin.S),
            kin.s,
            kin.vdot0,
        ],
    )

    def at(eta: Array) -> list[Array]:
        return [np.array(x) for x in f(start.time, start.q, eta, w, wdot, params)]

    J, offset, *_ = at(np.zeros(len(kin.independent_speeds)))
    turns = [c.startswith("w") for c in components]
    turns += [kin.speeds[known.index(name)].unit == "rad/s" for name in joints]
    scale = np.where(turns, kin.length, 1.0)
    if np.linalg.matrix_rank(scale[:, None] * J, tol=1e-10) < J.shape[1]:
        raise SimulationError(
            f"{', '.join((*components, *joints))} leave a degree of freedom open: several "
            "motions of the mechanism give the same values",
            f"{where}, body '{body}'" if body else where,
            "give more components or joints, or those of another body",
        )

    def least(rhs: Array) -> tuple[Array, Array]:
        x: Array = np.asarray(np.linalg.lstsq(scale[:, None] * J, scale * rhs, rcond=None)[0])
        return x, rhs - J @ x

    wanted = np.array([*velocity, *joints.values()], dtype=float)
    eta, residual = least(wanted - offset.ravel())
    _, _, bias, S, s_n, vdot0 = at(eta)
    moved = np.zeros(len(components)) if acceleration is None else real_array(acceleration)
    change = np.array([*moved, *(rates.get(name, 0.0) for name in joints)], dtype=float)
    etadot, rest = least(change - bias.ravel())
    names = [x.name for x in kin.speeds]
    v = S @ eta + np.array(s_n).ravel()
    vdot = S @ etadot + vdot0.ravel()
    return InverseKinematics(
        speeds=dict(zip(names, v.tolist(), strict=True)),
        accelerations=dict(zip(names, vdot.tolist(), strict=True)),
        residual=residual,
        acceleration_residual=rest,
    )


def inverse_dynamics(
    system: System,
    state: Mapping[str, float] | Start,
    accelerations_of: Mapping[str, float],
    *,
    speed_inputs: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> InverseDynamics:
    """Compute force inputs that produce given rates of the independent speeds.

    Parameters
    ----------
    system : compiled system.
    state : coordinates and speeds, completed consistently; or a completed start, at its own time.
    accelerations_of : rate of every independent speed by name; those not named are zero. At a state
        at which the system's own do not determine the motion they are others, those that
        :func:`evaluate` names; rates of any speeds that determine the motion are accepted too.
    speed_inputs : values of speed inputs such as a steering rate, and of their rates; zero by
        default.
    weights : input name → weight of its square in the norm that is least, 1 by default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    """
    require_system("inverse_dynamics", system)
    check_time(system, time, state)
    w, wdot = speed_input_vectors(system, speed_inputs)
    here, start, params = state_at(
        system, state, time=time, speed_inputs=w, parameters=parameters, need="kinematics"
    )
    etadot = independent_rates(system, here, start, accelerations_of, params, (w, wdot))
    return inputs_for(here, start, etadot, speed_inputs, weights, params)


def inputs_for(
    system: System,
    start: Start,
    etadot: Array,
    speed_inputs: Mapping[str, float] | None,
    weights: Mapping[str, float] | None,
    params: Array,
) -> InverseDynamics:
    """Inverse dynamics in independent speeds that determine the motion at a state."""
    inputs = [i.name for i in system.model.inputs]
    weight = {name: 1.0 for name in inputs}
    for name, value in (weights or {}).items():
        if name not in weight:
            raise SimulationError(
                f"there is no force input '{name}' to weight",
                f"inverse dynamics of model '{system.model.name}'",
                nearest(name, inputs),
            )
        weight[name] = float(value)
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    u = np.concatenate([np.zeros(len(inputs)), *speed_input_vectors(system, speed_inputs)])
    at = np.array([start.time]), x[None], u[None], params[None]
    W = np.array([[weight[name] for name in inputs]])
    found, left = _least_inputs(_blocks(system, at), etadot[None], W)
    return InverseDynamics(
        inputs=dict(zip(inputs, found[0].tolist(), strict=True)),
        unreachable=left[0],
        independent_speeds=tuple(x.name for x in system.independent_speeds),
        contacts=assumed_contacts(system.model),
    )


class _ReducedBlocks(NamedTuple):
    """Singularity measures and the blocks of the reduced equations, of n states."""

    measures: Array
    mass: Array
    bias: Array
    force: Array
    B: Array


def _blocks(
    system: System,
    at: tuple[Array, Array, Array, Array],
    device: AbstractDevice | None = None,
    *,
    is_single: bool = True,
) -> _ReducedBlocks:
    """The blocks at n states (t, x, inputs, parameters)."""
    nf, nu = system.kinematics.num_independent_speeds, len(system.model.inputs)
    nh = len(system.singularity_measures)

    def make() -> RowFunction:
        measures = [m.value for m in system.singularity_measures]
        column = ca.vertcat(*measures, ca.vec(system.output_expression("blocks")))
        return rows_of(system, "blocks", column, device, is_single)

    values = system.cached(("blocks of rows", device, is_single), make).map(*at)
    measures, mass, bias, force, B = np.split(values, np.cumsum([nh, nf * nf, nf, nf]), axis=1)
    n = len(values)
    return _ReducedBlocks(measures, mass.reshape(n, nf, nf), bias, force, B.reshape(n, nf, nu))


def _least_inputs(blocks: _ReducedBlocks, etadot: Array, weights: Array) -> tuple[Array, Array]:
    """(n, nu) least inputs for rates η̇ (n, nf), and (n, nf) what no inputs supply."""
    _, mass, bias, force, B = blocks
    n, nu = weights.shape
    needed = (mass @ etadot[:, :, None])[:, :, 0] + bias - force
    found = np.zeros((n, nu))
    if nu:
        # least Σ w u² with B u as near as can be: u = W^(-1/2) (B W^(-1/2))⁺ needed
        root = 1.0 / np.sqrt(weights)
        found = root * least_stacked(B * root[:, None, :], needed, 1e-12)
    return found, needed - (B @ found[:, :, None])[:, :, 0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseDynamicsBatch(VariantResults):
    """Inputs that produce prescribed accelerations. Made by :func:`inverse_dynamics_batch`.

    ``batch[k]`` is the :class:`InverseDynamics` of a variant.
    """

    inputs: dict[str, Array] = field(repr=False)  #: force input → (n,)
    #: (n, nf) generalized force on the independent speeds that no inputs can supply; nan where
    #: `others` has the variant
    unreachable: Array = field(repr=False)
    independent_speeds: tuple[str, ...]  #: names of these speeds
    #: variants in other independent speeds, in which the motion is determined there
    others: dict[int, InverseDynamics] = field(repr=False)
    units: dict[str, str] = field(repr=False)  #: units of the inputs
    #: state in which contacts that may slip are taken, ``rolls`` or ``off``, by name
    contacts: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, k: int) -> InverseDynamics:
        """The inputs of one variant."""
        k = self.place_of(k)
        if k in self.others:
            return self.others[k]
        return InverseDynamics(
            inputs=at_variant(self.inputs, k),
            unreachable=self.unreachable[k],
            independent_speeds=self.independent_speeds,
            contacts=self.contacts,
        )

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Inputs, and ``unreachable.…`` of the independent speeds."""
        columns = {name: (x, self.units[name]) for name, x in self.inputs.items()}
        for k, name in enumerate(self.independent_speeds):
            columns[f"unreachable.{name}"] = (self.unreachable[:, k], "")
        return columns

    def __repr__(self) -> str:
        largest = np.max(np.abs(self.unreachable[np.isfinite(self.unreachable)]), initial=0.0)
        return (
            f"InverseDynamicsBatch of '{self.model}': {self.count} variants, largest force that "
            f"no input supplies {largest:.3g}\nnext: .inputs, .unreachable, [k], .to_xarray()"
        )


def inverse_dynamics_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    accelerations_of: Mapping[str, ArrayLike],
    *,
    speed_inputs: Mapping[str, ArrayLike] | None = None,
    weights: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> InverseDynamicsBatch:
    """Compute force inputs that produce given rates of the independent speeds, of many states.

    Wherever :func:`inverse_dynamics` takes a number, a list of numbers may be given too, one for
    each variant.

    Parameters
    ----------
    system : compiled system.
    state : coordinates and speeds, completed consistently.
    accelerations_of : rate of every independent speed by name, or of other speeds, as in
        :func:`inverse_dynamics`; those not named are zero.
    speed_inputs : values of speed inputs such as a steering rate, and of their rates; zero by
        default.
    weights : input name → weight of its square in the norm that is least, 1 by default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : function called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`inverse_dynamics`, with the number of the variant.
    """
    variants = Variants.read(
        system,
        "inverse_dynamics_batch",
        "inverse dynamics",
        state=state,
        inputs=speed_inputs,
        parameters=parameters,
        others={"acceleration": accelerations_of, "weight": weights or {}},
        count=count,
        device=device,
    )
    check_time(system, time)
    system = variants.system
    kin, model = system.kinematics, system.model
    forces = [i.name for i in model.inputs]
    names = [s.name for s in kin.independent_speeds]
    speed_names = [i.name for i in model.speed_inputs]
    _check_known(
        variants, speed_inputs, [*speed_names, *(f"{n}_rate" for n in speed_names)], "speed input"
    )
    known = list(dict.fromkeys([*names, *(s.name for s in kin.speeds)]))
    etadot = _columns(variants, "acceleration", known, "independent speed", 0.0)[:, : len(names)]
    is_plain = set(variants.others["acceleration"]) <= set(names)
    weight = _columns(variants, "weight", forces, "force input to weight", 1.0)
    nf, nu, num_w = len(names), len(forces), len(speed_names)
    inputs = np.full((variants.count, nu), np.nan)
    unreachable = np.full((variants.count, nf), np.nan)
    others: dict[int, InverseDynamics] = {}

    def fill(block: range) -> None:
        params = variants.rows(variants.parameters, block)
        u, W = variants.rows(variants.inputs, block), variants.rows(weight, block)
        start, t = variants.completed(block, time), np.full(len(block), time)
        at = t, variants.state_rows(start.q, start.eta, start.mu), u, params
        own = _blocks(system, at, variants.device, is_single=False)
        bases = choose_bases(system, t, start.q, params, measures=own.measures, need="kinematics")
        if bases.faults:
            k = min(bases.faults)
            raise bases.refusal(system, k, time, f", variant {block.start + k}")
        for group in bases.groups:
            here, which = group
            rates = variants.rows(etadot, block)[which]
            if here is not system or not is_plain:
                rates = np.array([rates_of(here, k, block.start, start, u, params) for k in which])
            blocks = own if len(which) == len(block) else _ReducedBlocks(*(x[which] for x in own))
            if here is not system:
                rest = at[1][:, start.q.shape[1] + nf :]
                x = group.states(t, start.q, start.v, rest, params)
                there = t[which], x, u[which], params[which]
                blocks = _blocks(here, there)
            found, left = _least_inputs(blocks, rates, W[which])
            inputs[block.start + which] = found
            if here is system:
                unreachable[block.start + which] = left
                continue
            named = tuple(s.name for s in here.independent_speeds)
            for i, k in enumerate(which.tolist()):
                others[block.start + k] = InverseDynamics(
                    inputs=dict(zip(forces, found[i].tolist(), strict=True)),
                    unreachable=left[i],
                    independent_speeds=named,
                    contacts=assumed_contacts(model),
                )

    def rates_of(here: System, k: int, first: int, start: Starts, u: Array, params: Array) -> Array:
        """η̇ of a variant in the speeds of a system, of the rates that are named."""
        given = {
            name: float(x[min(first + k, len(x) - 1)])
            for name, x in variants.others["acceleration"].items()
        }
        w = u[k, nu : nu + num_w], u[k, nu + num_w :]
        try:
            one = start.one(here, k, time, params[k])
            return independent_rates(system, here, one, given, params[k], w)
        except SimulationError as error:
            place = f"{error.where}, variant {first + k}"
            raise SimulationError(error.what, place, error.fix) from None

    variants.in_blocks(
        fill,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )
    return InverseDynamicsBatch(
        model=model.name,
        count=variants.count,
        inputs={name: inputs[:, k] for k, name in enumerate(forces)},
        unreachable=unreachable,
        independent_speeds=tuple(names),
        others=others,
        units={i.name: i.unit for i in model.inputs},
        contacts=assumed_contacts(model),
        variants=variants,
    )


def _columns(
    variants: Variants, kind: str, names: Sequence[str], what: str, default: float
) -> Array:
    """(1, k) or (count, k) numbers in the order of names; other names are refused."""
    given = variants.others[kind]
    _check_known(variants, given, names, what)
    table = np.full((max([1, *(len(x) for x in given.values())]), len(names)), default)
    for name, values in given.items():
        table[:, names.index(name)] = values
    return table


def _check_known(
    variants: Variants, given: Mapping[str, object] | None, names: Sequence[str], what: str
) -> None:
    for name in given or {}:
        if name not in names:
            raise SimulationError(
                f"there is no {what} '{name}'", variants.where, nearest(name, names)
            )
