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
from typing import Any

import casadi as ca
import numpy as np

from noslip.analysis.inverse import Reference, reference_generator, trace_reference
from noslip.analysis.motion import AbstractMotion
from noslip.control.controllers.base import (
    AbstractController,
    AbstractServo,
    AbstractSteeringController,
    speed_input_rates,
)
from noslip.engines.system import Array, System
from noslip.simulation.input_laws import AbstractInputLaw, Guard, InputGenerator

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
        """The closed loop in the symbols of this system."""
        reference = carried(system, trace_reference(system, self.motion))
        forces = self._limited(system.model.inputs, self.controller.forces(system, reference))
        forces = self._guarded(forces, self.controller.guards(system, reference))
        if self.period:
            return self._sampled(system, reference, forces)
        continuous = self._continuous(system, reference, forces)
        if isinstance(self.controller, AbstractServo):
            return self._servo(system, reference, self.controller, continuous)
        if isinstance(self.controller, AbstractSteeringController):
            w = self.controller.speed_inputs(system, reference)
            steered = self._limited(system.model.speed_inputs, w)
            rates = speed_input_rates(system, reference, steered)
            return _with_inputs(continuous, steered | rates)
        return _with_inputs(continuous, {})

    def _continuous(
        self, system: System, reference: Reference, forces: dict[str, ca.SX]
    ) -> InputGenerator:
        """The forces and the reference's speed inputs, and what they depend on."""
        plain = reference_generator(system, reference, forces, self.reference_start)
        more = self.controller.guards(system, reference)
        return dataclasses.replace(plain, guards=(*plain.guards, *more))

    def _servo(
        self,
        system: System,
        reference: Reference,
        controller: AbstractServo,
        continuous: InputGenerator,
    ) -> InputGenerator:
        """Speed inputs as states: what each leads its reference by, w = w_r + lead."""
        names = [i.name for i in system.model.speed_inputs]
        lead = ca.SX.sym("lead", len(names))
        w = reference.speed_inputs + lead
        rates = _given(controller.speed_input_rates(system, reference), system, w)
        inputs: dict[str, ca.SX] = {}
        leads = []
        for k, name in enumerate(names):
            bound = self.limits.get(name, math.inf)
            rate, speed = rates[k], w[k]
            if math.isfinite(bound):
                # at its limit it stays, unless the rate leads back
                is_free = ca.logic_or(ca.fabs(speed) < bound, speed * rate < 0)
                rate = ca.if_else(is_free, rate, 0)
                speed = ca.fmin(ca.fmax(speed, -bound), bound)
            inputs |= {name: speed, f"{name}_rate": rate}
            leads.append(rate - reference.speed_input_rates[k])
        units = [i.unit for i in system.inputs[len(system.model.inputs) :]][: len(names)]
        grown = dataclasses.replace(
            continuous,
            states=ca.vertcat(continuous.states, lead),
            rates=ca.vertcat(continuous.rates, *leads),
            start=np.concatenate([continuous.start, np.zeros(len(names))]),
            names=(*continuous.names, *(f"lead.{name}" for name in names)),
            units=(*continuous.units, *units),
        )
        return _with_inputs(grown, inputs)

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
        is_steered = isinstance(self.controller, AbstractServo | AbstractSteeringController)
        steered = [i.name for i in system.model.speed_inputs] if is_steered else []
        speed, slope = ca.SX.sym("speed", len(steered)), ca.SX.sym("slope", len(steered))
        ramps = {name: speed[k] for k, name in enumerate(steered)}
        ramps |= {f"{name}_rate": slope[k] for k, name in enumerate(steered)}
        following = (self._wanted(system, reference, speed) - speed) / self.period
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

    def _wanted(self, system: System, reference: Reference, speed: ca.SX) -> ca.SX:
        """Speed inputs at the end of a period, from where they are."""
        if isinstance(self.controller, AbstractSteeringController):
            wanted = self.controller.speed_inputs(system, reference)
        elif isinstance(self.controller, AbstractServo):
            rates = self.controller.speed_input_rates(system, reference)
            wanted = speed + self.period * _given(rates, system, speed)
        else:
            return speed
        limited = self._limited(system.model.speed_inputs, wanted)
        return ca.vertcat(*limited.values()) if limited else ca.SX(0, 1)

    def _guarded(self, forces: dict[str, ca.SX], guards: tuple[Guard, ...]) -> dict[str, ca.SX]:
        """Forces that end the run where a guard breaks, unless a limit bounds them."""
        result = dict(forces)
        for guard in guards:
            for name in forces:
                if not math.isfinite(self.limits.get(name, math.inf)):
                    is_met = guard.conditioning > FLOOR
                    result[name] = ca.if_else(is_met, result[name], math.nan)
        return result

    def _limited(self, inputs: tuple[Any, ...], values: ca.SX) -> dict[str, ca.SX]:
        """Inputs by name, held within their limits."""
        result = {}
        for k, i in enumerate(inputs):
            bound = self.limits.get(i.name, math.inf)
            bounded = ca.fmin(ca.fmax(values[k], -bound), bound)
            result[i.name] = bounded if math.isfinite(bound) else values[k]
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


def _given(expression: ca.SX, system: System, w: ca.SX) -> ca.SX:
    """An expression of the speed inputs with what they are put in."""
    return ca.substitute([expression], [system.kinematics.symbols.w], [ca.densify(w)])[0]


def _with_inputs(generator: InputGenerator, inputs: dict[str, ca.SX]) -> InputGenerator:
    every = generator.inputs | inputs
    return dataclasses.replace(
        generator, inputs={name: ca.densify(expression) for name, expression in every.items()}
    )
