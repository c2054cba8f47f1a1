"""The exact linearization along a motion: how small errors grow, and what inputs do to them.

With x = [q; η; w] less the reference's, to first order, and Jacobians by differentiation of the
model's equations at the reference,

    (1)  ẋ = A(t) x + B(t) [u − u_r; ẇ − ẇ_r]

A speed input w is a state here, and its rate an input. The place of a planar base counts along its
own axes on the reference: x is T x with T the rotation by its heading, and A is Ṫ T⁻¹ + T A T⁻¹,
which is constant on a circle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from noslip.analysis.inverse import Reference, trace_reference
from noslip.analysis.motion import AbstractMotion
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.model.joints import Planar

#: Gains over time are this many cubic pieces at most.
MOST_SAMPLES = 201

#: Of the reference, and of what is integrated along it.
ACCURACY = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearization:
    """(1) along a motion, places of planar bases in their own axes on the reference.

    Parameters
    ----------
    speeds : names of η, in order.
    times : (n,) s.
    A, B : (n, nx, nx) and (n, nx, nu + nw).
    """

    speeds: tuple[str, ...]
    times: Array
    A: Array = field(repr=False)
    B: Array = field(repr=False)


def linearize_along(
    system: System,
    motion: AbstractMotion,
    *,
    reference_start: Array,
    duration: float,
    samples: int = 61,
    parameters: Mapping[str, float] | None = None,
) -> Linearization:
    """A(t) and B(t) of (1) along a motion, exact at each sample.

    Parameters
    ----------
    system : compiled system.
    motion : what to follow.
    reference_start : (nq,) reference configuration at the start.
    duration : s.
    samples : times at which the motion is linearized.
    parameters : values that differ from the nominal ones.

    Raises
    ------
    SimulationError : for quaternions, and for a duration or number of samples that cannot be.
    """
    _check(system, duration, samples)
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    reference = trace_reference(system, motion)
    values = system.parameters(parameters)
    times = np.linspace(0.0, duration, samples)
    states = _reference_states(system, reference, reference_start, times, values)
    trace = reference.motion
    on_motion = ca.Function(
        "reference",
        [symbols.t, reference.states, symbols.params, trace.parameters],
        [
            reference.q,
            reference.eta,
            reference.forces,
            reference.speed_inputs,
            reference.speed_input_rates,
        ],
    )
    x = ca.vertcat(symbols.q, kin.eta, symbols.w)
    xdot = ca.vertcat(ca.mtimes(kin.N, kin.v), eq.accelerations, symbols.wdot)
    inputs = ca.vertcat(symbols.u, symbols.wdot)
    jacobians = ca.Function(
        "jacobians",
        [symbols.t, symbols.q, kin.eta, symbols.u, symbols.w, symbols.wdot, symbols.params],
        [ca.densify(ca.jacobian(xdot, e)) for e in (x, inputs)] + [ca.densify(xdot)],
    )
    all_A, all_B = [], []
    for t, z in zip(times, states, strict=True):
        q, *others = on_motion(t, z, values, trace.parameter_values)
        A, B, moving = (np.array(e) for e in jacobians(t, q, *others, values))
        T, spin = np.eye(len(A)), np.zeros_like(A)
        for at in planar_places(system):
            heading, turning = float(q[at + 2]), float(moving[at + 2, 0])
            c, s = np.cos(heading), np.sin(heading)
            T[at : at + 2, at : at + 2] = [[c, s], [-s, c]]
            spin[at, at + 1], spin[at + 1, at] = turning, -turning  # Ṫ T⁻¹
        all_A.append(spin + T @ A @ T.T)
        all_B.append(T @ B)
    names = tuple(s.name for s in kin.independent_speeds)
    return Linearization(speeds=names, times=times, A=np.array(all_A), B=np.array(all_B))


def planar_places(system: System) -> list[int]:
    """Where the coordinates x, y and angle of each planar joint start."""
    nodes = system.kinematics.tree.nodes
    return [n.coordinates.start for n in nodes if isinstance(n.joint.type, Planar)]


def _reference_states(
    system: System, reference: Reference, reference_start: Array, times: Array, values: Array
) -> Array:
    """(n, nz) states of the reference over time, step by step over its kinks."""
    trace = reference.motion
    arguments = [
        system.kinematics.symbols.t,
        reference.states,
        system.kinematics.symbols.params,
        trace.parameters,
    ]
    rates = ca.Function("rates", arguments, [ca.densify(reference.rates)])

    def rate(t: float, z: Array) -> Array:
        return np.array(rates(t, z, values, trace.parameter_values)).ravel()

    z = np.concatenate([trace.start, reference_start])
    found = [z]
    stops = np.unique([*times, *(k for k in trace.knots if times[0] < k < times[-1])])
    for before, after in pairwise(stops):
        z = solve_ivp(rate, (before, after), z, **ACCURACY).y[:, -1]
        if after in times:
            found.append(z)
    return np.array(found)


def _check(system: System, duration: float, samples: int) -> None:
    where = f"linear-quadratic control of model '{system.model.name}'"
    if system.kinematics.probe.quaternions:
        raise SimulationError(
            "the model has orientations as quaternions, whose four errors are not independent",
            where,
            "use joints with angles (revolute or planar), or another controller",
        )
    if not 4 <= samples <= MOST_SAMPLES:
        raise SimulationError(
            f"{samples} samples are asked for, expected 4 to {MOST_SAMPLES}",
            where,
            "choose samples=61, more for motions that change often",
        )
    if not duration > 0:
        raise SimulationError(
            f"the duration is {duration:g} s", where, "give the time that the motion takes"
        )
