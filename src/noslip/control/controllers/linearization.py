"""The exact linearization along a motion: how small errors grow, and what inputs do to them.

With x = [q; η; w] less the reference's, to first order, and exact derivatives at the reference, the
same as for steady motions (``analysis/linearize.py``),

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
from noslip.analysis.linearize import small_motions
from noslip.analysis.local_coordinates import LocalState, local_coordinates_at
from noslip.analysis.motion import AbstractMotion
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.model.joints import Planar

#: Gains over time are this many cubic pieces at most.
MOST_SAMPLES = 201

#: Of the reference, and of what is integrated along it.
ACCURACY = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-11}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionLinearization:
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
) -> MotionLinearization:
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
    reference = trace_reference(system, motion)
    values = system.parameters(parameters)
    times = np.linspace(0.0, duration, samples)
    states = _reference_states(system, reference, reference_start, times, values)
    on_motion = _on_motion(system, reference)
    pairs = []
    for t, z in zip(times, states, strict=True):
        at = on_motion(t, z, values, reference.motion.parameter_values)
        q, eta, inputs = (np.array(e).ravel() for e in at)
        chart = local_coordinates_at(system, t, q, values)
        point = LocalState(
            system=system,
            chart=chart,
            time=t,
            c=chart.from_coordinates(q),
            zeta=eta,
            inputs=inputs,
            parameters=values,
        )
        pairs.append(_at_point(point))
    names = tuple(s.name for s in system.independent_speeds)
    A, B = (np.array(part) for part in zip(*pairs, strict=True))
    return MotionLinearization(speeds=names, times=times, A=A, B=B)


def _on_motion(system: System, reference: Reference) -> ca.Function:
    """q, η and all inputs of the reference."""
    symbols, trace = system.kinematics.symbols, reference.motion
    inputs = (reference.forces, reference.speed_inputs, reference.speed_input_rates)
    return ca.Function(
        "reference",
        [symbols.t, reference.states, symbols.params, trace.parameters],
        [reference.q, reference.eta, ca.vertcat(*inputs)],
    )


def _at_point(point: LocalState) -> tuple[Array, Array]:
    """A and B of (1) at a state: without quaternions c is q, and ζ is η."""
    system = point.system
    zetadot, cdot = point.rates()
    num = len(point.c)
    near = small_motions(point, range(num), np.eye(num), zetadot)
    # w moves from the inputs to the states
    nx, nu, nw = len(near.A), len(system.model.inputs), len(system.model.speed_inputs)
    of_u, of_w, of_wdot = np.split(near.B, [nu, nu + nw], axis=1)
    A = np.vstack([np.hstack([near.A, of_w]), np.zeros((nw, nx + nw))])
    B = np.vstack([np.hstack([of_u, of_wdot]), np.eye(nw, nu + nw, nu)])
    # planar bases in their own axes
    T, spin = np.eye(nx + nw), np.zeros_like(A)
    for at in planar_places(system):
        heading, turning = point.c[at + 2], cdot[at + 2]
        c, s = np.cos(heading), np.sin(heading)
        T[at : at + 2, at : at + 2] = [[c, s], [-s, c]]
        spin[at, at + 1], spin[at + 1, at] = turning, -turning  # Ṫ T⁻¹
    return spin + T @ A @ T.T, T @ B


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
            f"the number of samples asked for is {samples}, expected 4 to {MOST_SAMPLES}",
            where,
            "choose samples=61, more for motions that change often",
        )
    if not duration > 0:
        raise SimulationError(
            f"the duration is {duration:g} s", where, "give the time that the motion takes"
        )
