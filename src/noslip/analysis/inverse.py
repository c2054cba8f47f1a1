"""Inverse kinematics and dynamics of a prescribed motion, as a law that drives a simulation.

Given enough coordinates y(t), the independent speeds follow from q̇_y = N_y v = N_y (S η + s) by
least squares (in consistent units; the residual is reported, never averaged away), and the inputs
from the equations of motion:

    (1)  J η = ẏ − N_y s,              J = N_y S                    [SahaAngeles1989, eq. 6c]
    (2)  J η̇ = ÿ − d/dt(N_y v)|_η̇=0                                 [SahaAngeles1989, eq. 7d]
    (3)  SᵀB u = SᵀMS η̇ + Sᵀ(c + M(Ṡη + ṡ)) − SᵀQ                   [SahaAngeles1989, eq. 29]

All are evaluated at the reference configuration: the prescribed coordinates are known, the others
are carried as extra states q_ref with q̇_ref = N v. The angle of a caster is no function of the
driven wheels' angles, so it must be integrated along ([SahaAngeles1989, eq. 30] leaves it out).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.kinematics.linear import orthogonal_solve, symmetric_solve
from noslip.kinematics.symbols import Reader, parameter_reader
from noslip.model.quantities import Parameter, Scalar
from noslip.simulation.inputs import AbstractInputLaw, InputGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """By how much a prescribed motion misses every admissible one, and where."""

    size: float
    coordinate: str
    unit: str
    time: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FollowMotion(AbstractInputLaw):
    """Feed-forward inputs that produce a prescribed motion of some coordinates.

    Parameters
    ----------
    motion : coordinate name → expression of ``t``, the model's parameters, `parameters` and
        `definitions`.
    reference_start : (nq,) reference configuration at the start.
    definitions : named expressions, each of those before it.
    parameters : numbers of the task beyond the model's.
    """

    motion: dict[str, Scalar]
    reference_start: Array
    definitions: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        kin, eq = system.kinematics, system.equations
        symbols = kin.symbols
        _check(system, self.motion)
        extra = ca.SX.sym("task", len(self.parameters))
        values = np.array([p.value for p in self.parameters], dtype=float)
        trace = _trace_motion(system, self, extra)
        q_ref = ca.SX.sym("q_ref", kin.num_coordinates)
        # what is prescribed is known exactly; only the other coordinates are integrated
        places = trace.outputs(symbols.t, symbols.params, extra)
        parts = ca.vertsplit(q_ref)
        for k, at in enumerate(trace.at):
            parts[at] = places[k]
        q_here = ca.vertcat(*parts)
        here = [symbols.t, q_here, symbols.params]
        eta, etadot = (f(*here, extra) for f in (trace.speeds, trace.accelerations))
        # (3) at the reference
        dynamics = ca.Function(
            "dynamics",
            [symbols.t, symbols.q, kin.eta, symbols.w, symbols.wdot, symbols.params],
            [
                eq.reduced_mass,
                eq.reduced_bias - eq.reduced_forces,
                eq.reduced_inputs,
                kin.N @ kin.v,
            ],
        )
        none = ca.SX(0, 1)
        mass, rest, inputs, rates = dynamics(symbols.t, q_here, eta, none, none, symbols.params)
        u = _solve_inputs(inputs, ca.mtimes(mass, etadot) + rest)
        return InputGenerator(
            inputs={i.name: u[k] for k, i in enumerate(system.model.inputs)},
            states=q_ref,
            rates=rates,
            start=self.reference_start,
            names=tuple(f"reference.{c.name}" for c in kin.coordinates),
            units=tuple(c.unit for c in kin.coordinates),
            parameters=extra,
            parameter_values=values,
        )

    def residual(self, system: System, t: Array, q_ref: Array, parameters: Array) -> Miss:
        """The largest rate of a prescribed coordinate that no admissible motion has."""
        extra = ca.SX.sym("task", len(self.parameters))
        values = np.array([p.value for p in self.parameters], dtype=float)
        trace = _trace_motion(system, self, extra)
        worst = Miss(size=0.0, coordinate="", unit="", time=0.0)
        for tk, qk in zip(t, q_ref, strict=True):
            q = qk.copy()
            q[list(trace.at)] = np.array(trace.outputs(tk, parameters, values)).ravel()
            miss = np.abs(np.array(trace.residual(tk, q, parameters, values)).ravel())
            k = int(np.argmax(miss))
            if not miss[k] <= worst.size:
                coordinate = system.coordinates[trace.at[k]]
                worst = Miss(
                    size=float(miss[k]),
                    coordinate=coordinate.name,
                    unit=f"{coordinate.unit}/s",
                    time=float(tk),
                )
        return worst

    def start_speeds(self, system: System, q: Array, parameters: Array) -> Array:
        """Independent speeds of the motion at t = 0 in the configuration q."""
        extra = ca.SX.sym("task", len(self.parameters))
        values = np.array([p.value for p in self.parameters], dtype=float)
        return np.array(
            _trace_motion(system, self, extra).speeds(0.0, q, parameters, values)
        ).ravel()

    def targets(self, system: System, t: Array, parameters: Array) -> dict[str, Array]:
        """The prescribed coordinates at the given times."""
        extra = ca.SX.sym("task", len(self.parameters))
        values = np.array([p.value for p in self.parameters], dtype=float)
        y = _trace_motion(system, self, extra).outputs
        rows = np.array([np.array(y(tk, parameters, values)).ravel() for tk in t])
        return {name: rows[:, k] for k, name in enumerate(self.motion)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _MotionTrace:
    at: tuple[int, ...]  # indices of the prescribed coordinates
    outputs: ca.Function  # (t, params, task) → y
    speeds: ca.Function  # (t, q, params, task) → η
    accelerations: ca.Function  # (t, q, params, task) → η̇
    residual: ca.Function  # (t, q, params, task) → ẏ − N_y v


def _trace_motion(system: System, task: FollowMotion, extra: ca.SX) -> _MotionTrace:
    """(1) and (2) as functions of time and configuration."""
    kin = system.kinematics
    symbols = kin.symbols
    reader = _reader(system, task, extra)
    index = {c.name: k for k, c in enumerate(kin.coordinates)}
    at = [index[name] for name in task.motion]
    y = ca.vertcat(*[reader.scalar(e) for e in task.motion.values()])
    ydot = ca.jacobian(y, symbols.t)
    yddot = ca.jacobian(ydot, symbols.t)
    N_y = ca.densify(kin.N[at, :])
    # radians count as the model's length, so that least squares does not depend on units
    scale = ca.diag(ca.DM([kin.length if kin.coordinates[k].unit == "rad" else 1.0 for k in at]))
    J = ca.mtimes(scale, ca.mtimes(N_y, kin.S))

    def least_squares(rhs: ca.SX) -> ca.SX:
        return symmetric_solve(ca.mtimes(J.T, J), ca.mtimes(J.T, ca.mtimes(scale, rhs)))[0]

    eta = least_squares(ydot - ca.mtimes(N_y, kin.s))  # (1)
    moving = ca.jtimes(ca.mtimes(N_y, symbols.v), symbols.q, ca.mtimes(kin.N, symbols.v))
    known = kin.at_speeds(moving) + ca.mtimes(N_y, kin.vdot0)
    etadot = ca.substitute([least_squares(yddot - known)], [kin.eta], [eta])[0]  # (2)
    miss = ydot - ca.mtimes(N_y, ca.mtimes(kin.S, eta) + kin.s)
    inputs = [symbols.t, symbols.q, symbols.params, extra]
    return _MotionTrace(
        at=tuple(at),
        outputs=ca.Function("y", [symbols.t, symbols.params, extra], [y]),
        speeds=ca.Function("eta", inputs, [eta]),
        accelerations=ca.Function("etadot", inputs, [etadot]),
        residual=ca.Function("miss", inputs, [miss]),
    )


def _reader(system: System, task: FollowMotion, extra: ca.SX) -> Reader:
    symbols = system.kinematics.symbols
    reader = parameter_reader(system.model, symbols.params).extended(
        {"t": symbols.t, **{p.name: extra[k] for k, p in enumerate(task.parameters)}}
    )
    for name, text in task.definitions.items():
        reader = reader.extended({name: reader.scalar(text)})
    return reader


def _solve_inputs(B: ca.SX, needed: ca.SX) -> ca.SX:
    """u with B u = needed: exact if square, least norm if there are more inputs than freedoms."""
    freedoms, num = B.shape
    B = ca.densify(B)
    if num == freedoms:
        return orthogonal_solve(B, needed)[0]
    return ca.mtimes(B.T, symmetric_solve(ca.mtimes(B, B.T), needed)[0])


def _check(system: System, motion: dict[str, Scalar]) -> None:
    kin, model = system.kinematics, system.model
    where = f"motion of model '{model.name}'"
    known = [c.name for c in kin.coordinates]
    for name in motion:
        if name not in known:
            raise SimulationError(
                f"there is no coordinate '{name}' to move", where, nearest(name, known)
            )
    if model.speed_inputs:
        raise SimulationError(
            "a motion is followed by force inputs, and this model has speed inputs",
            where,
            "replace the speed input by a motor on the same joint",
        )
    freedom = kin.num_independent_speeds
    if len(motion) < freedom:
        raise SimulationError(
            f"{len(motion)} coordinates are given, but {freedom} are needed to fix the motion",
            where,
            f"prescribe at least {freedom} coordinates",
        )
    if len(model.inputs) < freedom:
        raise SimulationError(
            f"the model has {len(model.inputs)} force inputs for {freedom} degrees of freedom, so "
            "they cannot produce every motion",
            where,
            "add motors, or give the inputs instead of the motion",
        )
