"""Prescribed motions: given by expressions, made admissible, and the inputs that produce them.

**Prescribed motions: coordinates as traced functions of time, with states of their own if need
be.**

A motion along a path carries the path's parameter as a state; a motion given by expressions of time
needs none. In both cases the first and second derivatives are exact:

    ẏ = ∂y/∂t + ∂y/∂m ṁ,   ÿ alike

**Inverse kinematics and dynamics of a prescribed motion, traced and compiled.**

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

**A point of a body over time, as a motion of the joints: the tip of an arm along a line or
circle.**

The joints are carried as states m. With y(m) the place of the point and y_r(t) where it should be,

    (1)  J η = ẏ_r + k (y_r − y),    ṁ = N (S η + s),    J = ∂y/∂q N S

so that the joints follow from the rates, and what integration leaves over decays.

**`reference_motion`: a prescribed motion made admissible, with the inputs that produce it.**

    motion (data) → reference motion → run under its inputs → errors

The reference motion is a state to start in and a program, compiled once and cached
with the system: from the time and the coordinates that the motion leaves open it gives q, v, η and
the inputs. A run carries these coordinates along and takes its inputs from the program at every
evaluation, so that nothing is interpolated; :meth:`ReferenceMotion.samples` integrates them alone.

**Direct and inverse kinematics and dynamics along a whole motion, without simulation.**

A motion prescribes some coordinates over time. The independent speeds follow by least squares, all
other coordinates by integration (the angle of a caster is no function of the driven wheels'), and
with them the pose, twist and twist rate of every body. Prescribe the driven joints, and this is
direct kinematics; prescribe a vehicle's pose or a tool's place, and it is inverse kinematics. The
part of the motion that no admissible one has is reported at every sample.

Inverse dynamics along it needs no inputs to match the degrees of freedom: where there are more the
least ones are found, where there are fewer what is missing is reported.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve, symmetric_factors, symmetric_solve
from noslip.analysis import BodyMotion, check_time, inputs_for, speed_rows
from noslip.base import Array, IdentityKey, SimulationError, counted, nearest
from noslip.engines import NativeFunction, System, compile_expression, require_system
from noslip.expressions import Scalar
from noslip.kinematics import accelerations, parameter_reader, twists
from noslip.model import ZERO, Parameter, Vector3
from noslip.simulation import (
    AbstractInputLaw,
    Guard,
    InputGenerator,
    Start,
    Trajectory,
    choose_bases,
    complete_start,
    integrate,
    read_run,
    with_regular_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionTrace:
    """A motion in the symbols of a system."""

    at: tuple[int, ...]  #: indices of the prescribed coordinates
    outputs: ca.SX  #: (k,) the prescribed coordinates y(t, m)
    #: states, rates, start: m, ṁ and m at t = 0; what depends on the model's parameters may be NaN
    states: ca.SX
    rates: ca.SX
    start: Array
    #: names, units: names and units of m, for columns
    names: tuple[str, ...]
    units: tuple[str, ...]
    #: parameters, parameter_values: numbers of the task beyond the model's
    parameters: ca.SX
    parameter_values: Array
    #: times at which a derivative of the motion jumps, s; steps of a simulation end there
    knots: tuple[float, ...] = ()
    #: divisors of the motion, for a run that ends where one of them vanishes
    guards: tuple[Guard, ...] = ()
    #: function that finds m at t = 0 for values of the model's parameters, where it depends on them
    find_start: Callable[[Array], Array] | None = None
    #: (state, coordinate) for the states that start where a coordinate does
    carried: tuple[tuple[int, int], ...] = ()

    def start_at(self, parameters: Array) -> Array:
        """(nm,) m at t = 0 for values of the model's parameters."""
        return self.start if self.find_start is None else self.find_start(parameters)

    def start_with(self, q: Array) -> Array:
        """(nm + nq,) m and the reference at t = 0, from the configuration there.

        Raises
        ------
        SimulationError : if that is not a row of finite numbers.
        """
        if np.ndim(q) != 1 or not np.isfinite(q).all():
            fix = "give finite coordinates in a row, in their order"
            raise SimulationError(f"reference_start is {q!r:.60}", "reference of a motion", fix)
        m = self.start.copy()
        for state, coordinate in self.carried:
            m[state] = q[coordinate]
        return np.concatenate([m, q])

    def rate_of(self, expression: ca.SX, t: ca.SX) -> ca.SX:
        """Exact time derivative of an expression of t and m."""
        at = ca.vertcat(t, self.states)
        return ca.jtimes(expression, at, ca.vertcat(ca.SX(1), self.rates))

    def check_start(self, time: float, model: str) -> None:
        """Refuse to begin a motion with states of its own later than these are known."""
        if self.states.shape[0] and time:
            listed = ", ".join(f"'{name}'" for name in self.names)
            raise SimulationError(
                f"the motion starts at t = {time:g} s, but its own {listed} are known at t = 0",
                f"motion of model '{model}'",
                "start at t = 0, or give the coordinates as expressions of t",
            )


#: A point of a planar base and its direction ahead, in the axes of the base.
Frame = tuple[Vector3, Vector3]


class AbstractMotion(abc.ABC):
    """A motion of some coordinates of a model over time."""

    __slots__ = ()

    @abc.abstractmethod
    def trace(self, system: System) -> MotionTrace:
        """The motion in the symbols of this system."""

    @property
    def key(self) -> Hashable:
        """Cache key: motions with equal keys differ in values of parameters alone; None if unknown.

        A motion with a key is traced and compiled once for a system, and its `parameter_values` are
        arguments of that code.
        """
        return None

    @property
    def parameter_values(self) -> Array:
        """Values of the parameters of its trace, for a motion with a key."""
        return np.zeros(0)

    @property
    def frame(self) -> Frame | None:
        """The frame of a planar base that the motion leads; None if it leads none."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionMotion(AbstractMotion):
    """Coordinates as expressions of time."""

    #: coordinate name → expression of ``t``, the model's parameters, `parameters` and `definitions`
    coordinates: dict[str, Scalar]
    #: named expressions; each may use those before it
    definitions: dict[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()  #: numbers of the task beyond the model's

    @property
    def key(self) -> Hashable:
        """Names and texts; values of the task's parameters are arguments."""
        names = tuple(p.name for p in self.parameters)
        return tuple(self.coordinates.items()), tuple(self.definitions.items()), names

    @property
    def parameter_values(self) -> Array:
        """Values of the task's parameters."""
        return np.array([p.value for p in self.parameters], dtype=float)

    def trace(self, system: System) -> MotionTrace:
        """The expressions, read once."""
        symbols = system.kinematics.symbols
        extra = ca.SX.sym("task", len(self.parameters))
        reader = parameter_reader(system.model, symbols.params).extended(
            {"t": symbols.t, **{p.name: extra[k] for k, p in enumerate(self.parameters)}}
        )
        for name, text in self.definitions.items():
            reader = reader.extended({name: reader.scalar(text)})
        return MotionTrace(
            at=coordinate_indices(system, list(self.coordinates)),
            outputs=ca.vertcat(*[reader.scalar(e) for e in self.coordinates.values()]),
            states=ca.SX(0, 1),
            rates=ca.SX(0, 1),
            start=np.zeros(0),
            names=(),
            units=(),
            parameters=extra,
            parameter_values=self.parameter_values,
        )


def coordinate_indices(system: System, names: list[str]) -> tuple[int, ...]:
    """Indices of coordinates by name, all of which must exist."""
    known = [c.name for c in system.coordinates]
    for name in names:
        if name not in known:
            raise SimulationError(
                f"there is no coordinate '{name}' to move",
                f"motion of model '{system.model.name}'",
                nearest(name, known),
            )
    return tuple(known.index(name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inadmissibility:
    """The largest rate of a prescribed motion that no admissible one has: size, place, time."""

    size: float
    coordinate: str
    unit: str
    time: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """A motion made admissible, traced: what a controller may compare with and feed forward."""

    motion: MotionTrace  #: the prescribed motion
    #: states, rates: z = [m; q_ref] and ż
    states: ca.SX
    rates: ca.SX
    q: ca.SX  #: reference configuration, the prescribed coordinates exact
    #: eta, etadot: (1) and (2)
    eta: ca.SX
    etadot: ca.SX
    #: speed_inputs, speed_input_rates: w and ẇ
    speed_inputs: ca.SX
    speed_input_rates: ca.SX
    forces: ca.SX  #: u of (3), for the inputs in use
    residual: ca.SX  #: ẏ − N_y v, zero if the motion is admissible
    #: conditioning of J in (1), 1 at best, 0 where the motion does not determine all speeds
    conditioning: ca.SX


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceProgram:
    """A traced reference with its native functions, each compiled once and cached."""

    system: System  #: system whose symbols are used, and which keeps the code
    reference: Reference  #: (1) to (3), traced
    key: Hashable  #: cache key of its code

    @property
    def rates(self) -> NativeFunction:
        """ż of (t, z, (), [parameters; those of the motion])."""
        return self._compiled("motion", lambda: [self.reference.rates])

    def evaluate(self, t: Array, states: Array, parameters: Array) -> list[Array]:
        """y, q, v, η, u, [w; ẇ] and ẏ − N_y v at n times, each (n, …)."""
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


def reference_along(
    system: System, motion: AbstractMotion, start: Array, times: Array, parameters: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """q, η, w, u and ẇ of a motion at rising times, from a reference configuration at the first."""
    from scipy.integrate import solve_ivp

    program = reference_program(system, motion)
    known = np.concatenate([parameters, motion.parameter_values])
    begin = program.reference.motion.start_with(start)
    none = np.zeros(0)
    solved = solve_ivp(
        lambda t, z: program.rates(t, z, none, known),
        (times[0], times[-1]),
        begin,
        method="DOP853",
        t_eval=times,
        rtol=1e-9,
        atol=1e-11,
    )
    if not solved.success:
        last = solved.t[-1] if len(solved.t) else times[0]
        raise SimulationError(
            f"the reference is not known from {last:.4g} s on",
            f"motion of model '{system.model.name}'",
            "give a motion that determines all speeds, or a shorter duration",
        )
    _, q, _, eta, u, given, _ = program.evaluate(times, solved.y.T, parameters)
    num = given.shape[1] // 2
    return q, eta, given[:, :num], u, given[:, num:]


def reference_program(
    system: System,
    motion: AbstractMotion,
    inputs: tuple[str, ...] = (),
    *,
    is_driven: bool = True,
) -> ReferenceProgram:
    """The reference of a motion with its cached code; other parameter values reuse it."""
    key = (program_key(motion, inputs), is_driven)
    traced = system.cached(
        ("traced reference", key),
        partial(trace_reference, system, motion, inputs, is_driven=is_driven),
    )
    if motion.key is not None:
        numbers = dataclasses.replace(traced.motion, parameter_values=motion.parameter_values)
        traced = dataclasses.replace(traced, motion=numbers)
    return ReferenceProgram(system=system, reference=traced, key=key)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FollowMotion(AbstractInputLaw):
    """Feed-forward inputs that produce a prescribed motion of some coordinates."""

    motion: AbstractMotion  #: motion to follow
    reference_start: Array  #: (nq,) reference configuration at the start
    #: names of the force inputs to use; all of them by default. With more inputs than degrees of
    #: freedom, those of least norm are taken.
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
    _check(system, trace, inputs, is_driven)
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


def _check(system: System, trace: MotionTrace, inputs: tuple[str, ...], is_driven: bool) -> None:
    """Refuse a motion that leaves freedom, and if inputs are to drive it, those that cannot."""
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
    states, num = kin.force_states, len(inputs or model.inputs)
    if not is_driven:
        return
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


#: 1/s, at which errors of integration decay.
RETURN = 1.0

AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameMotion(AbstractMotion):
    """A point of a body, as expressions of time, moved by all joints of the mechanism."""

    #: body, point: a body, and the point in its axes, m
    body: str
    #: coordinates ``x y z`` in the world, m, as many as degrees of freedom: expressions of ``t``
    #: and the model's parameters
    position: Mapping[str, Scalar]
    point: Vector3 = ZERO
    #: coordinates from which the start is looked for, as arms reach a place in several ways; those
    #: not named are completed
    near: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """All fields."""
        return self.body, self.point, tuple(self.position.items()), tuple(self.near.items())

    def trace(self, system: System) -> MotionTrace:
        """All coordinates, as states that follow the point."""
        self._check(system)
        kin = system.kinematics
        t, q = kin.symbols.t, kin.symbols.q
        at = [AXES.index(name) for name in self.position]
        node = kin.tree.nodes[kin.tree.index[self.body]]
        place = (node.p_WB + ca.mtimes(node.R_WB, kin.reader.vector(self.point)))[at]
        reader = parameter_reader(system.model, kin.symbols.params).extended({"t": t})
        wanted = ca.vertcat(*[reader.scalar(e) for e in self.position.values()])
        rates = ca.jtimes(place, q, ca.mtimes(kin.N, kin.v))
        J = ca.densify(ca.jacobian(rates, kin.eta))
        rest = ca.substitute([rates], [kin.eta], [ca.SX.zeros(kin.eta.shape)])[0]
        pull = ca.jtimes(wanted, t, ca.SX(1)) + RETURN * (wanted - place) - rest
        eta, pivots = orthogonal_solve(J, pull)  # (1)
        moving = ca.substitute([ca.mtimes(kin.N, kin.v)], [kin.eta], [eta])[0]
        states = ca.SX.sym("m", kin.num_coordinates)
        moving, health = ca.substitute([moving, conditioning(pivots)], [q], [states])
        return MotionTrace(
            at=tuple(range(kin.num_coordinates)),
            outputs=states,
            states=states,
            rates=moving,
            start=np.full(kin.num_coordinates, np.nan),
            find_start=lambda values: self._start(system, place, wanted, J, values),
            carried=tuple((k, k) for k in range(kin.num_coordinates)),
            names=tuple(f"motion.{c.name}" for c in system.coordinates),
            units=tuple(c.unit for c in system.coordinates),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            guards=(
                Guard(
                    health,
                    f"the point of '{self.body}' cannot move in {', '.join(self.position)} "
                    "independently here: the Jacobian is singular, as at the end of an arm's reach",
                    "keep the motion within reach and the arm bent, or start with another bend",
                ),
            ),
        )

    def _start(self, system: System, place: ca.SX, wanted: ca.SX, J: ca.SX, values: Array) -> Array:
        """(nq,) the configuration by `near` with the point where it should be, by Newton."""
        kin = system.kinematics
        s = kin.symbols
        q = complete_start(system, dict(self.near), parameters=values).q
        eta = ca.SX.sym("eta", kin.num_independent_speeds)
        moved = ca.mtimes(kin.N, ca.mtimes(kin.S, eta))
        f = ca.Function("f", [s.t, s.q, s.params], [ca.densify(wanted - place), J])
        along = ca.Function("along", [s.t, s.q, eta, s.params], [ca.densify(moved)])
        miss = np.full(len(self.position), np.inf)
        for _ in range(100):
            miss, slope = (np.array(x) for x in f(0.0, q, values))
            if not (np.isfinite(miss).all() and np.isfinite(slope).all()):
                break
            step = np.linalg.lstsq(slope, miss.ravel(), rcond=1e-9)[0]
            step = step * min(1.0, 0.3 / max(float(np.max(np.abs(step))), 1e-300))
            q = q + np.array(along(0.0, q, step, values)).ravel()
            if float(np.max(np.abs(step))) < 1e-15:
                break
        left = float(np.linalg.norm(miss))
        if not left < 1e-9:
            raise SimulationError(
                f"the point of '{self.body}' cannot reach the start of the motion: it comes "
                f"within {left:.3g} m",
                f"motion of model '{system.model.name}', t = 0 s",
                "start within its reach, or give `near` a configuration on the way there",
            )
        return q

    def _check(self, system: System) -> None:
        where = f"motion of model '{system.model.name}'"
        bodies = [b.name for b in system.model.bodies]
        if self.body not in bodies:
            raise SimulationError(
                f"there is no body '{self.body}'", where, nearest(self.body, bodies)
            )
        for name in self.position:
            if name not in AXES:
                raise SimulationError(f"there is no axis '{name}'", where, nearest(name, AXES))
        freedom = system.kinematics.num_independent_speeds
        if len(self.position) != freedom:
            raise SimulationError(
                f"{len(self.position)} positions are given for {freedom} degrees of freedom",
                where,
                f"give {freedom} of x, y and z, or prescribe joints with ExpressionMotion",
            )


#: A prescribed motion that no admissible motion matches to this (m/s, rad/s) is refused.
ADMISSIBLE = 1e-6
#: A run is compared with what is admissible at about so many of its samples.
COMPARED = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceSamples:
    """A reference motion at n times."""

    t: Array  #: (n,) s
    #: coordinates, speeds, independent_speeds, inputs: name → (n,), inputs with the speed inputs
    #: and their rates
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    independent_speeds: dict[str, Array] = field(repr=False)
    inputs: dict[str, Array] = field(repr=False)
    #: prescribed coordinate → (n,) part of its rate that no admissible motion has
    residual: dict[str, Array] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceMotion:
    """A prescribed motion of a system, made admissible. Made by :func:`reference_motion`."""

    system: System  #: compiled system
    law: FollowMotion  #: feed-forward inputs that produce it, for :func:`noslip.simulate`
    start: Start  #: the state on it at the start, likewise
    parameters: Array  #: (np,) values of the model's parameters

    def samples(self, times: Array, *, tolerance: float = 1e-12) -> ReferenceSamples:
        """The motion at times that increase from that of the start.

        Parameters
        ----------
        times : (n,) s.
        tolerance : tolerance of the integration of coordinates that the motion leaves open.

        Raises
        ------
        SimulationError : if nothing determines the motion at a sample.
        """
        t = np.asarray(times, dtype=float)
        if t.ndim != 1 or not len(t) or not np.isfinite(t).all():
            raise SimulationError(
                f"times are {times!r:.40}",
                f"samples of a motion of model '{self.system.model.name}'",
                "give a list of finite times, s",
            )
        span = self.start.time, float(t[-1])
        program = self.law.program(self.system)
        z = integrate_reference(program, self.start.q, t, span, self.parameters, tolerance)
        _, q, v, eta, u, given, miss = program.evaluate(t, z, self.parameters)
        system, motion = self.system, program.reference.motion
        bases = choose_bases(system, t, q, self.parameters)
        bases.check(system, t, "sample")
        for here, k in bases.groups:
            if here is not system:
                own = self.law.program(here).evaluate(t[k], z[k], self.parameters)
                v[k], u[k], given[k], miss[k] = own[2], *own[4:]
                eta[k] = system.kinematics.independent_values(t[k], q[k], v[k], self.parameters)
        inputs = [x.name for x in system.inputs]
        used = self.law.inputs or tuple(inputs[: u.shape[1]])
        driven = inputs[len(inputs) - given.shape[1] :]
        return ReferenceSamples(
            t=t,
            coordinates=_named_columns([c.name for c in system.coordinates], q),
            speeds=_named_columns([s.name for s in system.speeds], v),
            independent_speeds=_named_columns([s.name for s in system.independent_speeds], eta),
            inputs=_named_columns([*used, *driven], np.hstack([u, given])),
            residual=_named_columns([system.coordinates[k].name for k in motion.at], miss),
        )

    def residual(self, run: Trajectory) -> Inadmissibility:
        """The largest rate of a prescribed coordinate, along a run, that no admissible motion has.

        Parameters
        ----------
        run : run with the columns of this reference.
        """
        few = slice(None, None, max(1, len(run.t) // COMPARED))
        t, own = run.t[few], self.law.program(self.system).reference.motion.names
        references = [f"reference.{c.name}" for c in self.system.coordinates]
        z = np.empty((len(t), len(own) + len(references)))
        for k, name in enumerate((*own, *references)):
            z[:, k] = run[name][few]
        program = self.law.program(self.system)
        rates = np.abs(program.evaluate(t, z, self.parameters)[-1])
        if not rates.size:
            return Inadmissibility(size=0.0, coordinate="", unit="", time=0.0)
        # NumPy takes what is no number for the largest
        sample, entry = np.unravel_index(np.argmax(rates), rates.shape)
        coordinate = self.system.coordinates[program.reference.motion.at[int(entry)]]
        return Inadmissibility(
            size=float(rates[sample, entry]),
            coordinate=coordinate.name,
            unit=f"{coordinate.unit}/s",
            time=float(t[sample]),
        )

    def admissibility(self, run: Trajectory, where: str) -> float:
        """The size of the residual along a run; refused, with `where` it is, if it is not small."""
        miss = self.residual(run)
        if miss.size > ADMISSIBLE:
            raise SimulationError(
                f"the prescribed motion is not admissible: at t = {miss.time:g} s no motion "
                f"without slip has the rate of '{miss.coordinate}', the nearest one misses it by "
                f"{miss.size:.3g} {miss.unit}",
                where,
                "prescribe a motion that satisfies the constraints, or fewer coordinates",
            )
        return miss.size


def reference_motion(
    system: System,
    motion: AbstractMotion,
    *,
    start: Mapping[str, float] | None = None,
    inputs: tuple[str, ...] = (),
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> ReferenceMotion:
    """Find the state on a prescribed motion at its start, and the inputs that produce the motion.

    Parameters
    ----------
    system : compiled system.
    motion : prescribed motion of coordinates.
    start : coordinates that the motion leaves open.
    inputs : names of the force inputs to use; all of them by default.
    parameters : values that differ from the nominal ones.
    time : s, of the start.

    Raises
    ------
    SimulationError : if the motion does not determine all speeds, or there are too few inputs.
    """
    require_system("reference_motion", system)
    values = system.parameters(parameters)
    law = FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates)), inputs=tuple(inputs)
    )
    system = _regular_on(system, law, dict(start or {}), values, time)
    begin = start_on_motion(system, law, dict(start or {}), values, time=time)
    return ReferenceMotion(
        system=system,
        law=dataclasses.replace(law, reference_start=begin.q),
        start=begin,
        parameters=values,
    )


def _regular_on(
    system: System, law: FollowMotion, start: dict[str, float], values: Array, time: float
) -> System:
    """The system in speeds that determine its motion at the start; itself if they do already.

    Speeds that serve everywhere else may fail where a motion begins: the rate of a trailer says
    nothing of how fast a straight train goes.
    """
    q, eta = _configuration(system, law, start, values, time)
    groups, _ = choose_bases(system, np.array([time]), q[None], values, need="speeds")
    if groups and (groups[0].system is not system or np.all(np.isfinite(eta))):
        return groups[0].system
    other = system.regular_at(np.array([time]), q[None], values[None])[0]
    return system if other is None else other


def _configuration(
    system: System, law: FollowMotion, start: dict[str, float], values: Array, time: float
) -> tuple[Array, Array]:
    """Coordinates on the motion at the start, and the independent speeds there."""
    check_time(system, time)
    guess = system.kinematics.rest.copy()
    on_motion, _ = law.start(system, guess, values, time)
    wrong = [name for name, place in on_motion.items() if not np.isfinite(place)]
    if wrong:
        raise SimulationError(
            f"the motion puts '{wrong[0]}' at a number that is not finite at the start",
            f"motion of model '{system.model.name}'",
            "check its definitions and parameters: is there a root of a negative number or a "
            "division by zero?",
        )
    q = complete_start(system, {**on_motion, **start}, time=time, parameters=values).q
    return q, law.start(system, q, values, time)[1]


def start_on_motion(
    system: System, law: FollowMotion, start: dict[str, float], values: Array, *, time: float = 0.0
) -> Start:
    """The state at the start that is on the prescribed motion, in place and speed.

    Parameters
    ----------
    system : compiled system.
    law : the motion to be on.
    start : coordinates that the motion leaves open.
    values : (np,) parameter vector.
    time : s, of the start.
    """
    require_system("start_on_motion", system)
    values = system.parameter_vector(values)
    q, eta = _configuration(system, law, start, values, time)
    names = [s.name for s in system.independent_speeds]
    free = [name for name, speed in zip(names, eta, strict=True) if not np.isfinite(speed)]
    if free:
        raise SimulationError(
            f"the motion does not determine {', '.join(free)}",
            f"motion of model '{system.model.name}'",
            "prescribe more coordinates; for a steered vehicle name its steering and wheelbase",
        )
    speeds = {s.name: float(e) for s, e in zip(system.independent_speeds, eta, strict=True)}
    places = {c.name: float(x) for c, x in zip(system.coordinates, q, strict=True)}
    return complete_start(system, {**places, **speeds}, time=time, parameters=values)


def integrate_reference(
    program: ReferenceProgram,
    q: Array,
    times: Array,
    span: tuple[float, float],
    parameters: Array,
    tolerance: float,
) -> Array:
    """(n, nz) states of a motion and its reference configuration, integrated over its kinks."""
    trace = program.reference.motion
    z = trace.start_with(q)
    states, reached = integrate(
        program.rates,
        z,
        times,
        span=span,
        parameters=np.concatenate([parameters, trace.parameter_values]),
        tolerance=tolerance,
        # steps end on every sample: within a long one the angle of a caster is less exact
        knots=sorted({float(t) for t in (*times, *trace.knots) if span[0] < t < span[1]}),
    )
    if reached < span[1]:
        raise SimulationError(
            "the motion does not determine all speeds: one of them has no value",
            f"motion of model '{program.system.model.name}', t = {reached:.6g} s",
            "prescribe more coordinates, or keep the motion away from this configuration",
        )
    return states


def _named_columns(names: list[str], columns: Array) -> dict[str, Array]:
    return dict(zip(names, columns.T, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KinematicHistory:
    """A motion of every coordinate and body over time."""

    t: Array  #: (n,) s
    #: coordinates, speeds, accelerations: name → (n,): all coordinates, all tree speeds, passive
    #: joints included, and the rates of the speeds
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    #: name → its motion; arrays as in :class:`BodyMotion` with the samples first
    bodies: dict[str, BodyMotion] = field(repr=False)
    #: name → (n,) rates of the independent speeds
    independent_accelerations: dict[str, Array] = field(repr=False)
    speed_inputs: dict[str, Array] = field(repr=False)  #: name → (n,), and their rates
    #: prescribed coordinate → (n,) part of its rate that no admissible motion has
    residual: dict[str, Array] = field(repr=False)

    @property
    def inadmissible(self) -> float:
        """The largest part of a prescribed rate that no admissible motion has, m/s or rad/s."""
        return max(float(np.max(np.abs(x))) for x in self.residual.values())

    def __getitem__(self, name: str) -> Array:
        for columns in (self.coordinates, self.speeds, self.speed_inputs):
            if name in columns:
                return columns[name]
        raise SimulationError(
            f"there is no column '{name}'",
            "motion over time",
            nearest(name, [*self.coordinates, *self.speeds, *self.speed_inputs]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DynamicsHistory:
    """Force inputs along a motion."""

    inputs: dict[str, Array]  #: force input → (n,), least where several do
    #: (n, nf) generalized forces that no inputs supply, on the independent speeds; on others at
    #: samples at which these do not determine the motion
    unreachable: Array


def kinematic_history(
    system: System,
    motion: AbstractMotion,
    *,
    duration: float,
    start: Mapping[str, float] | None = None,
    samples: int | Sequence[float] | Array = 601,
    parameters: Mapping[str, float] | None = None,
    tolerance: float = 1e-11,
    start_time: float = 0.0,
) -> KinematicHistory:
    """Compute all coordinates, speeds, accelerations and bodies along a prescribed motion.

    Parameters
    ----------
    system : compiled system.
    motion : prescribed motion of coordinates.
    duration : s.
    start : coordinates that the motion leaves open, at the start.
    samples : number of equally spaced times, or the times themselves.
    parameters : values that differ from the nominal ones.
    tolerance : tolerance of the integration of coordinates that the motion leaves open.
    start_time : s; a motion along a path, which carries its place on it, begins at t = 0.

    Raises
    ------
    SimulationError : if the motion does not determine all speeds.
    """
    asked = {"start": start, "samples": samples, "parameters": parameters, "rtol": tolerance}
    asked |= {"duration": duration, "start_time": start_time}
    request = read_run("kinematic_history", system, asked)
    times, system = request.times, request.system
    program = reference_program(system, motion, is_driven=False)
    reference = program.reference
    reference.motion.check_start(start_time, system.model.name)
    values = system.parameters(parameters)
    span = start_time, start_time + duration
    q = _start(system, reference, start or {}, start_time, values)
    at_start = choose_bases(system, np.array([start_time]), q[None], values, need="kinematics")
    at_start.check(system, np.array([start_time]), "sample")
    there = at_start.groups[0].system
    in_start = program if there is system else reference_program(there, motion, is_driven=False)
    states = integrate_reference(in_start, q, times, span, values, tolerance)
    found = _sampled(system, reference, times, states, values)
    bases = choose_bases(system, times, found["coordinates"].T, values, need="kinematics")
    bases.check(system, times, "sample")
    for here, which in bases.groups:
        if here is not system:
            other = reference_program(here, motion, is_driven=False).reference
            own = _sampled(here, other, times[which], states[which], values)
            for name in ("speeds", "accelerations", "bodies", "speed inputs", "residual"):
                found[name][:, which] = own[name]
            for k in which.tolist():
                state = _state(system, times[k], found["coordinates"][:, k], found["speeds"][:, k])
                E, change = speed_rows(system, state.time, state, values)
                found["independent accelerations"][:, k] = E @ found["accelerations"][:, k] + change
    kin, model = system.kinematics, system.model
    inputs = [i.name for i in model.speed_inputs]
    prescribed = [system.coordinates[k].name for k in reference.motion.at]
    return KinematicHistory(
        t=times,
        coordinates=_named_rows([c.name for c in system.coordinates], found["coordinates"]),
        speeds=_named_rows([s.name for s in system.speeds], found["speeds"]),
        accelerations=_named_rows([s.name for s in system.speeds], found["accelerations"]),
        bodies=_bodies([n.body.name for n in kin.tree.nodes], found["bodies"]),
        independent_accelerations=_named_rows(
            [s.name for s in system.independent_speeds], found["independent accelerations"]
        ),
        speed_inputs=_named_rows([*inputs, *(f"{n}_rate" for n in inputs)], found["speed inputs"]),
        residual=_named_rows(prescribed, found["residual"]),
    )


def dynamics_history(
    system: System,
    history: KinematicHistory,
    *,
    weights: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
) -> DynamicsHistory:
    """Compute force inputs that produce a motion, and generalized forces that none can supply.

    Parameters
    ----------
    system : compiled system.
    history : the motion, with its times.
    weights : input name → weight of its square in the norm that is least, 1 by default.
    parameters : values that differ from the nominal ones.
    """
    require_system("dynamics_history", system)
    inputs, missing = [], []
    q, v = (
        np.column_stack([columns[x.name] for x in names])
        for columns, names in (
            (history.coordinates, system.coordinates),
            (history.speeds, system.speeds),
        )
    )
    vdot = np.column_stack([history.accelerations[x.name] for x in system.speeds])
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    bases = choose_bases(system, history.t, q, params, need="kinematics")
    bases.check(system, history.t, "sample")
    here_at = {k: here for here, which in bases.groups for k in which.tolist()}
    for k, t in enumerate(history.t.tolist()):
        here, speed_inputs = here_at[k], {n: float(x[k]) for n, x in history.speed_inputs.items()}
        state = _state(system, t, q[k], v[k])
        eta = here.kinematics.independent_rows(t, q[k], params) @ v[k]
        state = dataclasses.replace(state, eta=eta)
        E, change = speed_rows(here, t, state, params)
        found = inputs_for(here, state, E @ vdot[k] + change, speed_inputs, weights, params)
        inputs.append(list(found.inputs.values()))
        missing.append(found.unreachable)
    names = [i.name for i in system.model.inputs]
    return DynamicsHistory(
        inputs=_named_rows(names, np.array(inputs).T), unreachable=np.array(missing)
    )


def _sampled(
    system: System, reference: Reference, times: Array, states: Array, values: Array
) -> dict[str, Array]:
    """Columns (…, n) of samples in the independent speeds of a system, by name."""
    columns = _columns(system, reference)
    function = ca.Function("columns", _arguments(system, reference), list(columns.values()))
    given = [times[None, :], states.T, values, reference.motion.parameter_values]
    return dict(zip(columns, (x.full() for x in function.call(given)), strict=True))


def _state(system: System, t: float, q: Array, v: Array) -> Start:
    """A whole state: nothing is to be completed."""
    return Start(
        time=float(t),
        q=q,
        v=v,
        eta=np.zeros(0),
        mu=np.zeros(len(system.auxiliary_states)),
        position_residual=0.0,
        speed_residual=0.0,
        completed={},
    )


def _arguments(system: System, reference: Reference) -> list[ca.SX]:
    symbols = system.kinematics.symbols
    return [symbols.t, reference.states, symbols.params, reference.motion.parameters]


def _start(
    system: System, reference: Reference, start: Mapping[str, float], time: float, values: Array
) -> Array:
    """q at the start: the motion's coordinates, those given, and the others completed."""
    trace, arguments = reference.motion, _arguments(system, reference)
    outputs = ca.Function("y", [arguments[0], trace.states, *arguments[2:]], [trace.outputs])
    y = np.array(outputs(time, trace.start_at(values), values, trace.parameter_values)).ravel()
    on_motion = {system.coordinates[k].name: float(x) for k, x in zip(trace.at, y, strict=True)}
    return complete_start(system, {**on_motion, **start}, time=time, parameters=values).q


def _columns(system: System, reference: Reference) -> dict[str, ca.SX]:
    """Expressions of all columns of a sample, traced, by name."""
    kin = system.kinematics
    s = kin.symbols
    etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
    vdot = ca.mtimes(kin.S, etadot) + kin.vdot0
    motion = twists(kin.tree, kin.v)
    changing = accelerations(kin.tree, motion, kin.v, vdot)
    bodies = []
    for node, (omega, v), (alpha, a) in zip(kin.tree.nodes, motion, changing, strict=True):
        turned = [ca.mtimes(node.R_WD, x) for x in (omega, v, alpha, a)]
        bodies += [ca.reshape(node.R_WB.T, 9, 1), node.p_WB, *turned]
    at = ca.Function(
        "at",
        [s.t, s.q, kin.eta, etadot, s.w, s.wdot, s.params],
        [ca.densify(kin.v), ca.densify(vdot), ca.densify(ca.vertcat(*bodies))],
    )
    r = reference
    speeds, rates, placed = at(
        s.t, r.q, r.eta, r.etadot, r.speed_inputs, r.speed_input_rates, s.params
    )
    return {
        "coordinates": ca.densify(r.q),
        "speeds": speeds,
        "accelerations": rates,
        "bodies": placed,
        "independent accelerations": ca.densify(r.etadot),
        "speed inputs": ca.densify(ca.vertcat(r.speed_inputs, r.speed_input_rates)),
        "residual": ca.densify(r.residual),
    }


def _named_rows(names: list[str], rows: Array) -> dict[str, Array]:
    return dict(zip(names, rows, strict=True))


def _bodies(names: list[str], rows: Array) -> dict[str, BodyMotion]:
    result = {}
    for name, x in zip(names, rows.reshape(len(names), 24, -1), strict=True):
        x = x.T
        result[name] = BodyMotion(
            rotation=x[:, :9].reshape(-1, 3, 3),
            position=x[:, 9:12],
            angular_velocity=x[:, 12:15],
            velocity=x[:, 15:18],
            angular_acceleration=x[:, 18:21],
            acceleration=x[:, 21:24],
        )
    return result
