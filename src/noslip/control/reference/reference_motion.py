"""`reference_motion`: a prescribed motion made admissible, with the inputs that produce it.

    motion (data) → reference motion → run under its inputs → errors

The reference motion is a state to start in and a program (`inverse.py`), compiled once and cached
with the system: from the time and the coordinates that the motion leaves open it gives q, v, η and
the inputs. A run carries these coordinates along and takes its inputs from the program at every
evaluation, so that nothing is interpolated; :meth:`ReferenceMotion.samples` integrates them alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from noslip.analysis import check_time
from noslip.base import Array, SimulationError
from noslip.control.reference.inverse import FollowMotion, Inadmissibility, ReferenceProgram
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System, require_system
from noslip.simulation import (
    Start,
    Trajectory,
    choose_bases,
    complete_start,
    integrate,
)

#: A prescribed motion that no admissible motion matches to this (m/s, rad/s) is refused.
ADMISSIBLE = 1e-6
#: A run is compared with what is admissible at about so many of its samples.
COMPARED = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceSamples:
    """A reference motion at n times.

    Parameters
    ----------
    t : (n,) s.
    coordinates, speeds, independent_speeds, inputs : name → (n,), inputs with the speed inputs and
        their rates.
    residual : prescribed coordinate → (n,) part of its rate that no admissible motion has.
    """

    t: Array
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    independent_speeds: dict[str, Array] = field(repr=False)
    inputs: dict[str, Array] = field(repr=False)
    residual: dict[str, Array] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceMotion:
    """A prescribed motion of a system, made admissible. Made by :func:`reference_motion`.

    Parameters
    ----------
    system : compiled system.
    law : feed-forward inputs that produce it, for :func:`noslip.simulate`.
    start : the state on it at the start, likewise.
    parameters : (np,) values of the model's parameters.
    """

    system: System
    law: FollowMotion
    start: Start
    parameters: Array

    def samples(self, times: Array, *, tolerance: float = 1e-12) -> ReferenceSamples:
        """The motion at times that increase from that of the start.

        Parameters
        ----------
        times : (n,) s.
        tolerance : of the integration of the coordinates that the motion leaves open.

        Raises
        ------
        SimulationError : if nothing determines the motion at a sample.
        """
        t = np.asarray(times, dtype=float)
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
            coordinates=_named([c.name for c in system.coordinates], q),
            speeds=_named([s.name for s in system.speeds], v),
            independent_speeds=_named([s.name for s in system.independent_speeds], eta),
            inputs=_named([*used, *driven], np.hstack([u, given])),
            residual=_named([system.coordinates[k].name for k in motion.at], miss),
        )

    def residual(self, run: Trajectory) -> Inadmissibility:
        """The largest rate of a prescribed coordinate, along a run, that no admissible motion has.

        Parameters
        ----------
        run : with the columns of this reference.
        """
        few = slice(None, None, max(1, len(run.t) // COMPARED))
        t, own = run.t[few], self.law.program(self.system).reference.motion.names
        references = [f"reference.{c.name}" for c in self.system.coordinates]
        z = np.empty((len(t), len(own) + len(references)))
        for k, name in enumerate((*own, *references)):
            z[:, k] = run[name][few]
        states, q = z[:, : len(own)], z[:, len(own) :]
        return self.law.residual(self.system, t, states, q, self.parameters)

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
    motion : which coordinates move, and how.
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
    """(n, nz) states of a motion and its reference configuration, integrated over its kinks.

    Parameters
    ----------
    program : of the motion.
    q : (nq,) configuration at the start.
    times, span : (n,) samples; start and end, s.
    parameters : (np,) of the model.
    tolerance : of the integration.
    """
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


def _named(names: list[str], columns: Array) -> dict[str, Array]:
    return dict(zip(names, columns.T, strict=True))
