"""Inverse kinematics and dynamics of a prescribed motion, traced and compiled.

Given enough coordinates y(t), the independent speeds follow from q̇_y = N_y v = N_y (S η + s) by
least squares (in consistent units; the residual is reported, never averaged away), and the inputs
from the equations of motion:

    (1)  J η = ẏ − N_y s,              J = N_y S                    [SahaAngeles1989, eq. 6c]
    (2)  J η̇ = ÿ − d/dt(N_y v)|_η̇=0                                 [SahaAngeles1989, eq. 7d]
    (3)  SᵀB u = SᵀMS η̇ + Sᵀ(c + M(Ṡη + ṡ)) − SᵀQ                   [SahaAngeles1989, eq. 29]

All are evaluated at the reference configuration: the prescribed coordinates are known, the others
are carried as extra states q_ref with q̇_ref = N v. The angle of a caster is no function of the
driven wheels' angles, so it must be integrated along ([SahaAngeles1989, eq. 30] leaves it out).

A speed input is read from the motion: it is the rate of a prescribed coordinate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve, symmetric_factors, symmetric_solve
from noslip.base import Array, IdentityKey, SimulationError, counted, nearest
from noslip.control.reference.motion import AbstractMotion, MotionTrace
from noslip.engines import NativeFunction, System, compile_expression
from noslip.simulation import AbstractInputLaw, Guard, InputGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Inadmissibility:
    """The largest rate of a prescribed motion that no admissible one has: size, place, time."""

    size: float
    coordinate: str
    unit: str
    time: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """A motion made admissible, traced: what a controller may compare with and feed forward.

    Parameters
    ----------
    motion : the prescribed motion.
    states, rates : z = [m; q_ref] and ż.
    q : reference configuration, the prescribed coordinates exact.
    eta, etadot : (1) and (2).
    speed_inputs, speed_input_rates : w and ẇ.
    forces : u of (3), for the inputs in use.
    residual : ẏ − N_y v, zero if the motion is admissible.
    conditioning : of J in (1), 1 at best, 0 where the motion does not determine all speeds.
    """

    motion: MotionTrace
    states: ca.SX
    rates: ca.SX
    q: ca.SX
    eta: ca.SX
    etadot: ca.SX
    speed_inputs: ca.SX
    speed_input_rates: ca.SX
    forces: ca.SX
    residual: ca.SX
    conditioning: ca.SX


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceProgram:
    """A traced reference with its native functions, each compiled once and cached.

    Parameters
    ----------
    system : whose symbols are used, and which keeps the code.
    reference : (1) to (3), traced.
    key : cache key of its code.
    """

    system: System
    reference: Reference
    key: Hashable

    @property
    def rates(self) -> NativeFunction:
        """ż of (t, z, (), [parameters; those of the motion])."""
        return self._compiled("motion", lambda: [self.reference.rates])

    def evaluate(self, t: Array, states: Array, parameters: Array) -> list[Array]:
        """y, q, v, η, u, [w; ẇ] and ẏ − N_y v at n times, each (n, …).

        Parameters
        ----------
        t, states : (n,) and (n, nz).
        parameters : (np,) of the model.
        """
        r, kin = self.reference, self.system.kinematics
        known = np.concatenate([parameters, r.motion.parameter_values])
        values = self._compiled("reference", self._values)
        found = values.map(t, states, np.zeros((len(t), 0)), known)
        prescribed, given = len(r.motion.at), 2 * len(self.system.model.speed_inputs)
        sizes = [prescribed, kin.num_coordinates, kin.num_speeds, kin.num_independent_speeds]
        return np.split(found, np.cumsum([*sizes, r.forces.shape[0], given]), axis=1)

    def _values(self) -> list[ca.SX]:
        kin, r = self.system.kinematics, self.reference
        s = kin.symbols
        speeds = ca.Function("v", [s.t, s.q, kin.eta, s.w, s.params], [ca.densify(kin.v)])
        v = speeds(s.t, r.q, r.eta, r.speed_inputs, s.params)
        given = [r.speed_inputs, r.speed_input_rates]
        return [r.motion.outputs, r.q, v, r.eta, r.forces, *given, r.residual]

    def _compiled(self, name: str, parts: Callable[[], list[ca.SX]]) -> NativeFunction:
        def make() -> NativeFunction:
            s, r = self.system.kinematics.symbols, self.reference
            known = ca.vertcat(s.params, r.motion.parameters)
            arguments = (s.t, r.states, ca.SX(0, 1), known)
            return compile_expression(name, arguments, self.system.fold(ca.vertcat(*parts())))

        return self.system.cached((name, self.key), make)


def program_key(motion: AbstractMotion, inputs: tuple[str, ...]) -> Hashable:
    """Cache key of the code that a system has for a motion and its inputs."""
    return IdentityKey(motion) if motion.key is None else motion.key, inputs


def reference_program(
    system: System,
    motion: AbstractMotion,
    inputs: tuple[str, ...] = (),
    *,
    is_driven: bool = True,
) -> ReferenceProgram:
    """The reference of a motion with its cached code; other parameter values reuse it.

    Parameters
    ----------
    system : compiled system, which keeps the code.
    motion : what is prescribed.
    inputs : names of the force inputs to use; all of them by default.
    is_driven : whether (3) is part of it.
    """
    key = (program_key(motion, inputs), is_driven)
    traced = system.cached(
        ("traced reference", key),
        lambda: trace_reference(system, motion, inputs, is_driven=is_driven),
    )
    if motion.key is not None:
        numbers = dataclasses.replace(traced.motion, parameter_values=motion.parameter_values)
        traced = dataclasses.replace(traced, motion=numbers)
    return ReferenceProgram(system=system, reference=traced, key=key)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FollowMotion(AbstractInputLaw):
    """Feed-forward inputs that produce a prescribed motion of some coordinates.

    Parameters
    ----------
    motion : what to follow.
    reference_start : (nq,) reference configuration at the start.
    inputs : names of the force inputs to use; all of them by default. With more inputs than
        degrees of freedom, those of least norm are taken.
    """

    motion: AbstractMotion
    reference_start: Array
    inputs: tuple[str, ...] = ()

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        reference = self.program(system).reference
        used = self.inputs or tuple(i.name for i in system.model.inputs)
        given = {name: reference.forces[k] for k, name in enumerate(used)}
        law = reference_generator(system, reference, given, self.reference_start)
        return dataclasses.replace(law, key=("follow", program_key(self.motion, self.inputs)))

    def program(self, system: System) -> ReferenceProgram:
        """The compiled reference, cached with the system."""
        return reference_program(system, self.motion, self.inputs)

    def residual(
        self, system: System, t: Array, states: Array, q_ref: Array, parameters: Array
    ) -> Inadmissibility:
        """The largest rate of a prescribed coordinate that no admissible motion has.

        Parameters
        ----------
        system : compiled system.
        t, states, q_ref : times, states of the motion and reference configurations along a run.
        parameters : (np,) parameter vector.
        """
        program = self.program(system)
        rates = np.abs(program.evaluate(t, np.hstack([states, q_ref]), parameters)[-1])
        if not rates.size:
            return Inadmissibility(size=0.0, coordinate="", unit="", time=0.0)
        # NumPy takes what is no number for the largest
        sample, k = np.unravel_index(np.argmax(rates), rates.shape)
        coordinate = system.coordinates[program.reference.motion.at[int(k)]]
        return Inadmissibility(
            size=float(rates[sample, k]),
            coordinate=coordinate.name,
            unit=f"{coordinate.unit}/s",
            time=float(t[sample]),
        )

    def start(
        self, system: System, q: Array, parameters: Array, time: float = 0.0
    ) -> tuple[dict[str, float], Array]:
        """Prescribed coordinates at a time, and the independent speeds there in configuration q."""
        program = self.program(system)
        motion = program.reference.motion
        motion.check_start(time, system.model.name)
        z = np.concatenate([motion.start_at(parameters), q])
        y, _, _, eta, *_ = program.evaluate(np.array([time]), z[None, :], parameters)
        names = [system.coordinates[k].name for k in motion.at]
        return dict(zip(names, y[0].tolist(), strict=True)), eta[0]


def trace_reference(
    system: System,
    motion: AbstractMotion,
    inputs: tuple[str, ...] = (),
    *,
    is_driven: bool = True,
) -> Reference:
    """(1) to (3) for a motion, as functions of time and the reference's own states.

    Without `is_driven` (3) is left out, and there may be too few inputs for it.
    """
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    trace = motion.trace(system)
    _check(system, trace, inputs)
    if is_driven:
        _check_inputs(system, inputs)
    q_ref = ca.SX.sym("q_ref", kin.num_coordinates)
    parts = ca.vertsplit(q_ref)
    for k, at in enumerate(trace.at):
        parts[at] = trace.outputs[k]
    q = ca.vertcat(*parts)
    ydot = trace.rate_of(trace.outputs, symbols.t)
    yddot = trace.rate_of(ydot, symbols.t)
    w, wdot = _speed_inputs(system, trace, ydot, yddot)
    eta, etadot, miss, health = _independent(system, trace, q, ydot, yddot, w, wdot)
    # (3) at the reference
    acting = eq.reduced_forces if is_driven else ca.SX(kin.num_independent_speeds, 1)
    dynamics = ca.Function(
        "dynamics",
        [symbols.t, symbols.q, kin.eta, symbols.w, symbols.wdot, symbols.params],
        [
            eq.reduced_mass,
            eq.reduced_bias - acting,
            ca.densify(eq.reduced_inputs),
            ca.mtimes(kin.N, kin.v),
        ],
    )
    mass, rest, B, rates = dynamics(symbols.t, q, eta, w, wdot, symbols.params)
    if inputs:
        names = [i.name for i in system.model.inputs]
        B = B[:, [names.index(name) for name in inputs]]
    return Reference(
        motion=trace,
        states=ca.vertcat(trace.states, q_ref),
        rates=ca.vertcat(trace.rates, rates),
        q=q,
        eta=eta,
        etadot=etadot,
        speed_inputs=w,
        speed_input_rates=wdot,
        forces=solve_inputs(B, ca.mtimes(mass, etadot) + rest) if is_driven else ca.SX(0, 1),
        residual=miss,
        conditioning=health,
    )


def reference_generator(
    system: System, reference: Reference, forces: dict[str, ca.SX], reference_start: Array
) -> InputGenerator:
    """A generator that carries a reference and gives the forces named, and the speed inputs."""
    motion = reference.motion
    given = dict(forces)
    for k, speed_input in enumerate(system.model.speed_inputs):
        given[speed_input.name] = reference.speed_inputs[k]
        given[f"{speed_input.name}_rate"] = reference.speed_input_rates[k]
    return InputGenerator(
        inputs=given,
        states=reference.states,
        rates=reference.rates,
        start=motion.start_with(reference_start),
        names=(*motion.names, *(f"reference.{c.name}" for c in system.coordinates)),
        units=(*motion.units, *(c.unit for c in system.coordinates)),
        parameters=motion.parameters,
        parameter_values=motion.parameter_values,
        knots=np.unique(np.array(motion.knots, dtype=float)),
        guards=(
            Guard(
                reference.conditioning,
                "the prescribed motion does not determine all speeds here: its Jacobian is "
                "singular",
                "prescribe more or other coordinates, or keep the motion away from this "
                "configuration",
            ),
            *motion.guards,
        ),
        # a motion with states of its own begins at t = 0
        start_time=0.0 if motion.states.shape[0] else None,
    )


def _independent(
    system: System,
    trace: MotionTrace,
    q: ca.SX,
    ydot: ca.SX,
    yddot: ca.SX,
    w: ca.SX,
    wdot: ca.SX,
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """η, η̇ and ẏ − N_y v by (1) and (2), at the reference configuration; conditioning of J."""
    kin = system.kinematics
    symbols = kin.symbols
    at = list(trace.at)
    N_y = ca.densify(kin.N[at, :])
    moving = ca.jtimes(ca.mtimes(N_y, symbols.v), symbols.q, ca.mtimes(kin.N, symbols.v))
    # everything that the least squares need, as one function of (t, q, η, w, ẇ)
    blocks = ca.Function(
        "blocks",
        [symbols.t, symbols.q, kin.eta, symbols.w, symbols.wdot, symbols.params],
        [
            ca.densify(ca.mtimes(N_y, kin.S)),
            ca.mtimes(N_y, kin.s),
            kin.at_speeds(moving) + ca.mtimes(N_y, kin.vdot0),
        ],
    )
    # radians count as the model's length, so that least squares does not depend on units
    scale = ca.diag(ca.DM([kin.length if kin.coordinates[k].unit == "rad" else 1.0 for k in at]))
    none = ca.SX.zeros(kin.num_independent_speeds)
    J, offset, _ = blocks(symbols.t, q, none, w, wdot, symbols.params)
    J_hat = ca.mtimes(scale, J)

    gram = ca.mtimes(J_hat.T, J_hat)

    def least_squares(rhs: ca.SX) -> ca.SX:
        return symmetric_solve(gram, ca.mtimes(J_hat.T, ca.mtimes(scale, rhs)))[0]

    eta = least_squares(ydot - offset)  # (1)
    _, _, known = blocks(symbols.t, q, eta, w, wdot, symbols.params)
    etadot = least_squares(yddot - known)  # (2)
    health = ca.sqrt(conditioning(symmetric_factors(gram)[1]))
    return eta, etadot, ydot - ca.mtimes(J, eta) - offset, health


def _speed_inputs(
    system: System, trace: MotionTrace, ydot: ca.SX, yddot: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """w and ẇ: rates of the prescribed coordinates that the speed inputs drive."""
    kin = system.kinematics
    w, wdot = [], []
    for speed_input in system.model.speed_inputs:
        index = [s.name for s in kin.speeds].index(speed_input.speed)
        node = next(n for n in kin.tree.nodes if n.speeds.start <= index < n.speeds.stop)
        coordinate = node.coordinates.start + index - node.speeds.start
        if coordinate not in trace.at:
            name = kin.coordinates[coordinate].name
            raise SimulationError(
                f"speed input '{speed_input.name}' drives '{name}', which the motion does not "
                "prescribe",
                f"motion of model '{system.model.name}'",
                f"prescribe '{name}' too: its rate is then the input; on a path name it as the "
                "steering, with the wheelbase",
            )
        k = trace.at.index(coordinate)
        w.append(ydot[k])
        wdot.append(yddot[k])
    empty = ca.SX(0, 1)
    return (ca.vertcat(*w), ca.vertcat(*wdot)) if w else (empty, empty)


def solve_inputs(B: ca.SX, needed: ca.SX) -> ca.SX:
    """u with B u = needed: exact if square, of least norm if there are more inputs than rows."""
    dof, num = B.shape
    B = ca.densify(B)
    if num == dof:
        return orthogonal_solve(B, needed)[0]
    return ca.mtimes(B.T, symmetric_solve(ca.mtimes(B, B.T), needed)[0])


def _check(system: System, trace: MotionTrace, inputs: tuple[str, ...]) -> None:
    kin, model = system.kinematics, system.model
    where = f"motion of model '{model.name}'"
    known = [i.name for i in model.inputs]
    for name in inputs:
        if name not in known:
            raise SimulationError(f"there is no force input '{name}'", where, nearest(name, known))
    dof = kin.num_independent_speeds
    if len(trace.at) < dof:
        raise SimulationError(
            f"{len(trace.at)} coordinates are given, but {dof} are needed to fix the motion",
            where,
            f"prescribe at least {dof} coordinates",
        )


def _check_inputs(system: System, inputs: tuple[str, ...]) -> None:
    model, dof = system.model, system.kinematics.num_independent_speeds
    states, where = system.kinematics.force_states, f"motion of model '{model.name}'"
    if system.costates:
        raise SimulationError(
            "vakonomic equations have costates, so that the inputs for a motion depend on their "
            "history",
            where,
            "derive by another formulation for the motion, or give inputs instead of the motion",
        )
    if states:
        raise SimulationError(
            f"a force has the state '{states[0].name}', so that the inputs for a motion "
            "depend on its history",
            where,
            "leave out the relaxation length for the motion, and simulate with it; or give inputs",
        )
    num = len(inputs or model.inputs)
    if num < dof:
        raise SimulationError(
            f"the model has {counted(num, 'force input')} for {counted(dof, 'degree')} of freedom, "
            "so they cannot produce every motion",
            where,
            "add motors, or give the inputs instead of the motion",
        )


def conditioning(pivots: list[ca.SX]) -> ca.SX:
    """The smallest of some pivots over the largest in magnitude, traced; 1 if there are none."""
    if not pivots:
        return ca.SX(1)
    smallest = largest = ca.fabs(pivots[0])
    for pivot in pivots[1:]:
        magnitude = ca.fabs(pivot)
        smallest, largest = ca.fmin(smallest, magnitude), ca.fmax(largest, magnitude)
    return smallest / largest
