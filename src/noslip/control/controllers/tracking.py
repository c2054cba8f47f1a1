"""The closed loop: a motion, a controller, limits, and a period if it is sampled.

What a controller compares with is the reference *carried along*: all of its coordinates are
integrated with the vehicle's. Within a step an integrator's stages are off by much more than the
step is, and a reference that is exact there would show the controller these errors as its own; its
gains (and a short caster) multiply them, and steps become short for nothing. Carried along, vehicle
and reference make the same errors, and the controller sees none. So that the carried one does not
drift, it is drawn to the prescribed motion y:

    q̇_r = N v_r + FADE (y − q_r)
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.controllers.base import AbstractController, limited
from noslip.control.reference.inverse import (
    Reference,
    program_key,
    reference_generator,
    reference_program,
)
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System
from noslip.simulation import AbstractInputLaw, Guard, InputGenerator, Trajectory

#: Conditioning below which a law gives no forces any more.
FLOOR = 1e-6
#: 1/s, at which errors of integration of the reference are forgotten.
FADE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracking(AbstractInputLaw):
    """A motion, followed under a controller, with limits on the inputs.

    Parameters
    ----------
    motion : what to follow.
    controller : the feedback.
    reference_start : (nq,) reference configuration at the start.
    limits : input name → largest magnitude.
    period : s between looks at the state, the inputs held in between; 0 for a continuous law.
    """

    motion: AbstractMotion
    controller: AbstractController
    reference_start: Array
    limits: dict[str, float]
    period: float = 0.0

    def generator(self, system: System) -> InputGenerator:
        """The closed loop in the symbols of this system; traced once for equal settings."""
        program = reference_program(system, self.motion)
        if self.controller.key is None:
            return self._traced(system, program.reference)
        settings = self.controller.key, tuple(self.limits.items()), self.period
        key = ("track", program_key(self.motion, ()), settings)
        found = system.cached(("traced loop", key), lambda: self._traced(system, program.reference))
        motion, start = program.reference.motion, found.start.copy()
        begun = motion.start_with(self.reference_start)
        start[: len(begun)] = begun
        return dataclasses.replace(
            found, start=start, parameter_values=motion.parameter_values, key=key
        )

    def with_columns(self, system: System, run: Trajectory, known: Array) -> Trajectory:
        """A run with what the controller measures of itself, such as a Lyapunov function.

        Parameters
        ----------
        system : that the controller knows.
        run : under this law, of this system or of a plant with its coordinates.
        known : (np,) parameter values that the controller knows.
        """
        if not len(run.t):
            return run
        loop = self.generator(system)
        kin = system.kinematics
        s = kin.symbols
        true = ca.SX.sym("true", s.params.shape[0])
        reference = carried(system, reference_program(system, self.motion).reference)
        found = self.controller.measures(system, reference, loop, true)
        if not found:
            return run
        names = [p.name for p in system.model.parameters]
        values = system.parameters({n: run.parameters[n] for n in names if n in run.parameters})
        known = np.concatenate([known, loop.parameter_values])
        params = ca.vertcat(s.params, loop.parameters)
        expression = ca.vertcat(*[value for _, value in found.values()])
        both = [s.t, s.q, kin.eta, ca.SX(loop.states), true, params]
        measured = ca.Function("measures", both, [ca.densify(expression)])
        q = np.array([run[c.name] for c in system.coordinates])
        v = np.array([run[x.name] for x in system.speeds])
        eta = kin.independent_values(run.t, q.T, v.T, values).T
        z = np.array([run[name] for name in loop.names]).reshape(len(loop.names), len(run.t))
        count = len(run.t)
        at = [
            run.t[None, :],
            q,
            eta,
            z,
            *(np.repeat(x[:, None], count, 1) for x in (values, known)),
        ]
        rows = np.array(measured.map(count).call(at)[0])
        columns = {name: (unit, rows[k]) for k, (name, (unit, _)) in enumerate(found.items())}
        return run.replaced(extra={**run.extra, **columns})

    def _traced(self, system: System, given: Reference) -> InputGenerator:
        reference = carried(system, given)
        wanted = self.controller.forces(system, reference)
        forces = limited(system.model.inputs, wanted, self.limits)
        forces = self._guarded(forces, self.controller.guards(system, reference))
        if self.period:
            if self.controller.has_states:
                raise SimulationError(
                    "a sampled loop of a controller with states of its own needs a plant",
                    f"controller of model '{system.model.name}'",
                    "use one: PlantLaw(…, plant=Plant(), period=…)",
                )
            return self._sampled(system, reference, forces)
        loop = self._continuous(system, reference, forces)
        loop = self.controller.with_speed_inputs(system, reference, loop, self.limits)
        return dataclasses.replace(
            loop, inputs={name: ca.densify(e) for name, e in loop.inputs.items()}
        )

    def _continuous(
        self, system: System, reference: Reference, forces: dict[str, ca.SX]
    ) -> InputGenerator:
        """The forces and the reference's speed inputs, and what they depend on."""
        plain = reference_generator(system, reference, forces, self.reference_start)
        more = self.controller.guards(system, reference)
        return dataclasses.replace(plain, guards=(*plain.guards, *more))

    def _sampled(
        self, system: System, reference: Reference, forces: dict[str, ca.SX]
    ) -> InputGenerator:
        """Zero-order hold: the forces are states that only an update changes.

        Speeds go on from where they are at a constant rate over the period, to what is wanted: a
        jump would need an infinite force of what has inertia.
        """
        names = list(forces)
        held = ca.SX.sym("held", len(names))
        given = {name: held[k] for k, name in enumerate(names)}
        continuous = self._continuous(system, reference, given)
        speed = ca.SX.sym("speed", len(system.model.speed_inputs))
        wanted = self.controller.next_speed_inputs(system, reference, speed, self.period)
        steered: dict[str, ca.SX] = {}
        if wanted is None:
            speed = ca.SX(0, 1)
        else:
            steered = limited(system.model.speed_inputs, wanted, self.limits)
        slope = ca.SX.sym("slope", len(steered))
        ramps = {name: speed[k] for k, name in enumerate(steered)}
        ramps |= {f"{name}_rate": slope[k] for k, name in enumerate(steered)}
        following = (ca.vertcat(ca.SX(0, 1), *steered.values()) - speed) / self.period
        update = ca.vertcat(continuous.states, *forces.values(), speed, following)
        # the forces see the speed inputs that are given
        speeds = [i.name for i in system.inputs[len(names) :]]
        now = ca.vertcat(*[(continuous.inputs | ramps)[name] for name in speeds])
        if speeds:
            update = ca.substitute([update], [system.equations.inputs[len(names) :, :]], [now])[0]
        units = {i.name: i.unit for i in system.inputs}
        return dataclasses.replace(
            continuous,
            inputs=continuous.inputs | ramps,
            states=ca.vertcat(continuous.states, held, speed, slope),
            rates=ca.vertcat(continuous.rates, ca.SX.zeros(len(names)), slope, 0 * slope),
            start=np.concatenate([continuous.start, np.zeros(len(names) + len(ramps))]),
            names=(*continuous.names, *(f"held.{name}" for name in (*names, *ramps))),
            units=(*continuous.units, *(units[name] for name in (*names, *ramps))),
            update=update,
            period=self.period,
        )

    def _guarded(self, forces: dict[str, ca.SX], guards: tuple[Guard, ...]) -> dict[str, ca.SX]:
        """Forces that end the run where a guard breaks, unless a limit bounds them."""
        result = dict(forces)
        for guard in guards:
            for name in forces:
                if not math.isfinite(self.limits.get(name, math.inf)):
                    is_met = guard.conditioning > FLOOR
                    result[name] = ca.if_else(is_met, result[name], math.nan)
        return result


def carried(system: System, reference: Reference) -> Reference:
    """The same reference with all coordinates integrated, as controllers compare with it."""
    motion = reference.motion
    own = motion.states.shape[0]
    # rows, by both indices: a single slice of a 1×1 expression is a row, not a column
    q = reference.states[own:, :]
    before, rates = reference.rates[:own, :], ca.vertsplit(reference.rates[own:, :])
    for k, at in enumerate(motion.at):
        rates[at] = rates[at] + FADE * (motion.outputs[k] - q[at])
    return dataclasses.replace(reference, q=q, rates=ca.vertcat(before, *rates))
