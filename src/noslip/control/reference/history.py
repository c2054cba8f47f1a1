"""Direct and inverse kinematics and dynamics along a whole motion, without simulation.

A motion prescribes some coordinates over time. The independent speeds follow by least squares, all
other coordinates by integration (the angle of a caster is no function of the driven wheels'), and
with them the pose, twist and twist rate of every body. Prescribe the driven joints, and this is
direct kinematics; prescribe a vehicle's pose or a tool's place, and it is inverse kinematics. The
part of the motion that no admissible one has is reported at every sample.

Inverse dynamics along it needs no inputs to match the degrees of freedom: where there are more the
least ones are found, where there are fewer what is missing is reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.analysis import BodyMotion, inputs_for, speed_input_vectors, speed_rows
from noslip.base import Array, SimulationError, nearest
from noslip.control.reference.inverse import Reference, reference_program
from noslip.control.reference.motion import AbstractMotion
from noslip.control.reference.reference_motion import integrate_reference
from noslip.engines import System, require_system
from noslip.kinematics import accelerations, twists
from noslip.simulation import (
    Start,
    choose_bases,
    complete_start,
    read_run,
    with_regular_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KinematicHistory:
    """A motion of every coordinate and body over time.

    Parameters
    ----------
    t : (n,) s.
    coordinates, speeds, accelerations : name → (n,): all coordinates, all tree speeds, passive
        joints included, and the rates of the speeds.
    bodies : name → its motion; arrays as in :class:`BodyMotion` with the samples first.
    independent_accelerations : name → (n,) rates of the independent speeds.
    speed_inputs : name → (n,), and their rates.
    residual : prescribed coordinate → (n,) part of its rate that no admissible motion has.
    """

    t: Array
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    bodies: dict[str, BodyMotion] = field(repr=False)
    independent_accelerations: dict[str, Array] = field(repr=False)
    speed_inputs: dict[str, Array] = field(repr=False)
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
    """Force inputs along a motion.

    Parameters
    ----------
    inputs : force input → (n,), least where several do.
    unreachable : (n, nf) generalized forces that no inputs supply, on the independent speeds; on
        others at samples at which these do not determine the motion.
    """

    inputs: dict[str, Array]
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
    motion : which coordinates move, and how.
    duration : s.
    start : coordinates that the motion leaves open, at the start.
    samples : number of equally spaced times, or the times themselves.
    parameters : values that differ from the nominal ones.
    tolerance : of the integration of what the motion leaves open.
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
        coordinates=_named([c.name for c in system.coordinates], found["coordinates"]),
        speeds=_named([s.name for s in system.speeds], found["speeds"]),
        accelerations=_named([s.name for s in system.speeds], found["accelerations"]),
        bodies=_bodies([n.body.name for n in kin.tree.nodes], found["bodies"]),
        independent_accelerations=_named(
            [s.name for s in system.independent_speeds], found["independent accelerations"]
        ),
        speed_inputs=_named([*inputs, *(f"{n}_rate" for n in inputs)], found["speed inputs"]),
        residual=_named(prescribed, found["residual"]),
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
        given = speed_input_vectors(here, speed_inputs)
        found = inputs_for(here, state, E @ vdot[k] + change, given, weights, params)
        inputs.append(list(found.inputs.values()))
        missing.append(found.unreachable)
    names = [i.name for i in system.model.inputs]
    return DynamicsHistory(inputs=_named(names, np.array(inputs).T), unreachable=np.array(missing))


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


def _named(names: list[str], rows: Array) -> dict[str, Array]:
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
