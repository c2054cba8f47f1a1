"""The Cartesian model of a manipulator: its equations of motion in the velocities of a tool frame.

    M_x v̇_n + V_x + G_x = F_x                                   [DeSantis1994, eqs. 7.6–7.10]

with v_n = J η the chosen components of the twist of a frame on a body, and

    M_x = J⁻ᵀ D J⁻¹,  V_x = J⁻ᵀ(C η − D J⁻¹ J̇ η),  G_x = J⁻ᵀ G,  F_x = J⁻ᵀ τ

The paper prints J⁻¹ on the left and both terms of V_x with the opposite sign; these are the right
ones (they follow from D η̇ + C η + G = τ and v̇_n = J η̇ + J̇ η by the principle of virtual work).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.algebra import cross
from noslip.analysis.instant import check_time, speed_input_vectors, state_at
from noslip.base import Array, SimulationError, nearest
from noslip.engines import System, require_system
from noslip.kinematics import twists
from noslip.model import GRAVITY, ZERO, Vector3

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
