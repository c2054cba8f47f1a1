"""Direct and inverse kinematics and dynamics at an instant, for any frame or set of joints.

Direct kinematics: from coordinates and independent speeds (and their rates) to the pose, twist and
twist rate of every body, passive joints included. Inverse kinematics: from the motion of chosen
components back to the independent speeds, by least squares in consistent units, with what no
admissible motion has reported and never averaged away ([SahaAngeles1989, eq. 6c] would do so
silently). Direct dynamics: accelerations from inputs. Inverse dynamics: inputs from accelerations,
least in a weighted norm where there are more inputs than degrees of freedom, with the unreachable
part reported where there are fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.cartesian import COMPONENTS, frame_twist
from noslip.analysis.instant import check_time, independent_rates, speed_input_vectors, state_at
from noslip.base import Array, SimulationError, nearest
from noslip.engines import System, require_system
from noslip.kinematics import accelerations, twists
from noslip.model import ZERO, Vector3
from noslip.simulation import KINEMATIC, Start


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BodyMotion:
    """Motion of a body's frame in the world.

    Parameters
    ----------
    rotation, position : R_WB (3, 3) and p_WB (3,), m.
    angular_velocity, velocity : rad/s and m/s, of the body's origin.
    angular_acceleration, acceleration : rad/s² and m/s².
    """

    rotation: Array
    position: Array
    angular_velocity: Array
    velocity: Array
    angular_acceleration: Array
    acceleration: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseKinematics:
    """Speeds that give a frame its prescribed motion.

    Parameters
    ----------
    speeds, accelerations : all tree speeds and their rates by name, passive joints included.
    residual : (k,) part of the velocity asked for that no admissible motion has, by component.
    acceleration_residual : (k,) the same of the acceleration.
    """

    speeds: dict[str, float]
    accelerations: dict[str, float]
    residual: Array
    acceleration_residual: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseDynamics:
    """Inputs that produce the prescribed accelerations.

    Parameters
    ----------
    inputs : force inputs by name.
    unreachable : (nf,) generalized force on the independent speeds that no inputs can supply.
    independent_speeds : names of these speeds.
    """

    inputs: dict[str, float]
    unreachable: Array
    independent_speeds: tuple[str, ...]


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
    speed_inputs : such as a steering rate, and their rates (``steering_rate_rate``), zero by
        default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    """
    require_system("direct_kinematics", system)
    check_time(system, time)
    w, wdot = speed_input_vectors(system, speed_inputs)
    here, start, params = state_at(
        system, state, time=time, speed_inputs=w, parameters=parameters, kinds=KINEMATIC
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
    velocity, acceleration : of `components`, m/s, rad/s and their rates (of the components, so that
        in body axes they are not the components of the acceleration).
    components : of ``vx vy vz wx wy wz``.
    axes : ``"world"`` or ``"body"``.
    joint_speeds, joint_accelerations : speeds of joints by name, asked for too, and their rates,
        zero by default.
    speed_inputs : such as a steering rate, and their rates, zero by default.
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
    if len(velocity) != len(components):
        raise SimulationError(
            f"{len(velocity)} velocities are given for {len(components)} components",
            where,
            f"give one for each of {', '.join(components) or 'the joints in joint_speeds'}",
        )
    w, wdot = speed_input_vectors(system, speed_inputs)
    system, start, params = state_at(
        system, configuration, time=time, speed_inputs=w, parameters=parameters, kinds=KINEMATIC
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
    moved = np.zeros(len(components)) if acceleration is None else np.asarray(acceleration)
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
    speed_inputs : such as a steering rate, and their rates, zero by default.
    weights : input name → weight of its square in the norm that is least, 1 by default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    """
    require_system("inverse_dynamics", system)
    check_time(system, time, state)
    w, wdot = speed_input_vectors(system, speed_inputs)
    here, start, params = state_at(
        system, state, time=time, speed_inputs=w, parameters=parameters, kinds=KINEMATIC
    )
    etadot = independent_rates(system, here, start, accelerations_of, params, (w, wdot))
    return inputs_for(here, start, etadot, (w, wdot), weights, params)


def inputs_for(
    system: System,
    start: Start,
    etadot: Array,
    speed_inputs: tuple[Array, Array],
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
    nf, nu = len(etadot), len(inputs)
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    u = np.concatenate([np.zeros(nu), *speed_inputs])
    blocks = system.instant(start.time, x, u, params).blocks
    mass = blocks[: nf * nf].reshape(nf, nf)
    bias, force = blocks[nf * nf : nf * nf + nf], blocks[nf * nf + nf : nf * nf + 2 * nf]
    B = blocks[nf * nf + 2 * nf :].reshape(nf, nu)
    needed = mass @ etadot + bias - force
    # least Σ w u² with B u as near as can be: u = W^(-1/2) (B W^(-1/2))⁺ needed
    root = 1.0 / np.sqrt(np.array([weight[name] for name in inputs]))
    found = root * np.linalg.lstsq(B * root[None, :], needed, rcond=1e-12)[0] if nu else root
    return InverseDynamics(
        inputs=dict(zip(inputs, found.tolist(), strict=True)),
        unreachable=needed - (B @ found if nu else 0.0),
        independent_speeds=tuple(x.name for x in system.independent_speeds),
    )
