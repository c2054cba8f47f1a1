"""The closed loop: controllers, the motion they follow, limits, and a sampling period.

**Controllers: force inputs from the state and a reference, traced, so that they run natively.**

To add one: a frozen class with `forces(system, reference) -> ca.SX`, one entry for each force
input, in the system's own symbols q and η and the reference's (`Reference`). It is compiled with
the simulation. One that also feeds speed inputs back is an :class:`AbstractSteeringController`, if
the place decides them, or an :class:`AbstractServo`, if speeds do too.

With a `word` it is known to text, forms and the command line (`AbstractForm`). One that depends on
the motion as a whole, such as gains over time, is an :class:`AbstractControllerPlan`.

**The closed loop: a motion, a controller, limits, and a period if it is sampled.**

What a controller compares with is the reference *carried along*: all of its coordinates are
integrated with the vehicle's. Within a step an integrator's stages are off by much more than the
step is, and a reference that is exact there would show the controller these errors as its own; its
gains (and a short caster) multiply them, and steps become short for nothing. Carried along, vehicle
and reference make the same errors, and the controller sees none. So that the carried one does not
drift, it is drawn to the prescribed motion y:

    q̇_r = N v_r + FADE (y − q_r)
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, value_key
from noslip.control.reference_motion import (
    AbstractMotion,
    Reference,
    program_key,
    reference_generator,
    reference_program,
    solve_inputs,
)
from noslip.control.text_grammar import AbstractForm
from noslip.engines import System
from noslip.model import ForceInput, SpeedInput
from noslip.simulation import AbstractInputLaw, Guard, InputGenerator, Trajectory


class AbstractControllerPlan(AbstractForm, abc.ABC, family="controller"):
    """Plan of a controller, completed once the motion is known."""

    __slots__ = ()

    #: Whether it is feed-forward alone.
    is_open: ClassVar[bool] = False
    #: Whether it acts at samples alone.
    is_sampled: ClassVar[bool] = False

    @abc.abstractmethod
    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractController:
        """The controller of a motion.

        Parameters
        ----------
        system : compiled system.
        motion : motion to follow.
        reference_start : (nq,) reference configuration at the start.
        duration : s that the motion takes.
        parameters : values that differ from the nominal ones.
        """

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """Whether a form may offer it: there are motors enough, and all it needs is known.

        Parameters
        ----------
        system : compiled system.
        known : arguments that the task gives: for a path `point` and `direction`, with `steering`
            and `wheelbase` of a vehicle that steers; none for a motion of coordinates.
        """
        enough = len(system.model.inputs) >= len(system.independent_speeds)
        return enough and not cls.missing(known)


class AbstractController(AbstractControllerPlan):
    """A law that gives the force inputs from the state and the reference."""

    __slots__ = ()

    @property
    def has_states(self) -> bool:
        """Whether `with_speed_inputs` adds states of its own that forces depend on."""
        return False

    @property
    def key(self) -> Hashable:
        """Cache key: laws with equal keys are the same code; None if that is not known.

        A frozen data class that compares by value is its own key, so its law must follow from its
        fields alone.
        """
        return value_key(self)

    def along(
        self,
        system: System,
        motion: AbstractMotion,
        *,
        reference_start: Array,
        duration: float,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractController:
        """Itself: it is the same for all motions."""
        return self

    @abc.abstractmethod
    def forces(self, system: System, reference: Reference) -> ca.SX:
        """(nu,) force inputs."""

    def guards(self, system: System, reference: Reference) -> tuple[Guard, ...]:
        """Divisors of the law that can vanish, with the message if a run ends there."""
        return ()

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """A continuous loop with the speed inputs that the law gives; the reference's by default.

        Parameters
        ----------
        system, reference : objects in whose symbols it is written.
        loop : forces, and the speed inputs of the reference.
        limits : input name → largest magnitude.
        """
        return loop

    def measures(
        self, system: System, reference: Reference, loop: InputGenerator, true: ca.SX
    ) -> dict[str, tuple[str, ca.SX]]:
        """Columns that the law adds to a run: name → unit and expression; none by default.

        Parameters
        ----------
        system, reference, loop : objects in whose symbols it is written, states of the loop
            included.
        true : (np,) symbols of the plant's parameters, which the law itself does not know.
        """
        return {}

    def next_speed_inputs(
        self, system: System, reference: Reference, speeds: ca.SX, period: float
    ) -> ca.SX | None:
        """(nw,) commanded speed inputs at the end of a period; None if the law gives none.

        Parameters
        ----------
        system, reference : objects in whose symbols it is written.
        speeds : (nw,) what they are at its start.
        period : s.
        """
        return None


class AbstractSteeringController(AbstractController):
    """A law that gives the speed inputs too, such as a steering rate."""

    __slots__ = ()

    @abc.abstractmethod
    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """(nw,) speed inputs w, of t, q and the reference: not of speeds, as ẇ is found from it."""

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """w within its limits, and ẇ by total differentiation."""
        w = self.speed_inputs(system, reference)
        given = limited(system.model.speed_inputs, w, limits)
        rates = speed_input_rates(system, reference, given)
        return dataclasses.replace(loop, inputs=loop.inputs | given | rates)

    def next_speed_inputs(
        self, system: System, reference: Reference, speeds: ca.SX, period: float
    ) -> ca.SX:
        """w."""
        return self.speed_inputs(system, reference)


class AbstractServo(AbstractController):
    """A law that gives the rates of the speed inputs, which are integrated: ẇ instead of w."""

    __slots__ = ()

    @abc.abstractmethod
    def speed_input_rates(self, system: System, reference: Reference) -> ca.SX:
        """(nw,) rates ẇ, of the state, the speed inputs as they are, and the reference."""

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """Speed inputs as states: what each leads its reference by, w = w_r + lead."""
        names = [i.name for i in system.model.speed_inputs]
        lead = ca.SX.sym("lead", len(names))
        w = reference.speed_inputs + lead
        rates = _at_speed_inputs(self.speed_input_rates(system, reference), system, w)
        inputs: dict[str, ca.SX] = {}
        leads = []
        for k, name in enumerate(names):
            bound = limits.get(name, math.inf)
            rate, speed = rates[k], w[k]
            if math.isfinite(bound):
                # at its limit it stays, unless the rate leads back
                is_free = ca.logic_or(ca.fabs(speed) < bound, speed * rate < 0)
                rate = ca.if_else(is_free, rate, 0)
                speed = ca.fmin(ca.fmax(speed, -bound), bound)
            inputs |= {name: speed, f"{name}_rate": rate}
            leads.append(rate - reference.speed_input_rates[k])
        units = [i.unit for i in system.inputs[len(system.model.inputs) :]][: len(names)]
        return dataclasses.replace(
            loop,
            inputs=loop.inputs | inputs,
            states=ca.vertcat(loop.states, lead),
            rates=ca.vertcat(loop.rates, *leads),
            start=np.concatenate([loop.start, np.zeros(len(names))]),
            names=(*loop.names, *(f"lead.{name}" for name in names)),
            units=(*loop.units, *units),
        )

    def next_speed_inputs(
        self, system: System, reference: Reference, speeds: ca.SX, period: float
    ) -> ca.SX:
        """Speed inputs after one period of the rates."""
        rates = self.speed_input_rates(system, reference)
        return speeds + period * _at_speed_inputs(rates, system, speeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward(AbstractController):
    """Open loop: the forces of the reference alone."""

    word = "none"
    is_open = True

    @classmethod
    def label(cls) -> str:
        """Label on pages."""
        return "None: torques alone"

    @classmethod
    def suits(cls, system: System, known: Mapping[str, Any]) -> bool:
        """Always."""
        return True

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u of inverse dynamics at the reference."""
        return reference.forces


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomController(AbstractController):
    """A law of your own: a function of (t, q, v, reference q, reference η) in CasADi symbols."""

    #: function that returns one traced expression (or number) for each force input
    law: Callable[[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX], Any]

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """Forces that the law returns."""
        kin = system.kinematics
        found = self.law(kin.symbols.t, kin.symbols.q, kin.v, reference.q, reference.eta)
        parts = found if isinstance(found, list | tuple) else [found]
        forces = ca.vertcat(*[ca.SX(p) for p in parts])
        if forces.shape[0] != len(system.model.inputs):
            raise SimulationError(
                f"the law gives {forces.shape[0]} forces for {len(system.model.inputs)} inputs",
                f"controller of model '{system.model.name}'",
                f"return one for each of {', '.join(i.name for i in system.model.inputs)}",
            )
        return forces


class AbstractAskedController(AbstractController):
    """A law in Python, asked at each sample for the force inputs, which are held until the next."""

    __slots__ = ()

    is_sampled = True

    @property
    def key(self) -> Hashable:
        """Its kind: the code is that of what it is shown, whatever it answers."""
        return "asked", type(self).__qualname__

    @abc.abstractmethod
    def shown(self, system: System, reference: Reference) -> ca.SX:
        """What it is shown, in the system's symbols and the reference's."""

    @abc.abstractmethod
    def ask(self, system: System) -> Callable[[float, float, Array], Array]:
        """The function of a run: from time, period and what is shown to its answers."""

    def asked(self, system: System) -> ca.SX:
        """Symbols of its answers: force inputs, speed inputs if it gives them, signals."""
        num = len(system.model.inputs) + len(self.signals)
        num += len(system.model.speed_inputs) if self.steers else 0
        found: ca.SX = system.cached(("asked", num), lambda: ca.SX.sym("asked", num))
        return found

    @property
    def steers(self) -> bool:
        """Whether it gives the speed inputs, as they are to be at the next sample."""
        return False

    @property
    def signals(self) -> tuple[tuple[str, str], ...]:
        """Names and units of further numbers of its answers, columns of a run."""
        return ()

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """Its answers."""
        return self.asked(system)[: len(system.model.inputs), :]

    def _speeds(self, system: System) -> ca.SX:
        first, num = len(system.model.inputs), len(system.model.speed_inputs)
        return self.asked(system)[first : first + num, :]

    def with_speed_inputs(
        self,
        system: System,
        reference: Reference,
        loop: InputGenerator,
        limits: Mapping[str, float],
    ) -> InputGenerator:
        """A loop round a plant, which leads speed inputs to these values itself."""
        if not self.steers:
            return loop
        given = limited(system.model.speed_inputs, self._speeds(system), limits)
        return dataclasses.replace(loop, inputs=loop.inputs | given)

    def next_speed_inputs(
        self, system: System, reference: Reference, speeds: ca.SX, period: float
    ) -> ca.SX | None:
        """Its answers, if it gives them."""
        return self._speeds(system) if self.steers else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledController(AbstractAskedController):
    """A law of your own in Python: f(t, q, v, reference q, reference v) in numbers, at samples.

    v are independent speeds. It needs a period: ``ControlLoop(controller=f, period=0.02)``.
    """

    law: Callable[
        [float, Array, Array, Array, Array], Any
    ]  #: returns a number for each force input

    def shown(self, system: System, reference: Reference) -> ca.SX:
        """Coordinates and independent speeds, and those of the reference."""
        kin = system.kinematics
        return ca.vertcat(kin.symbols.q, kin.eta, reference.q, reference.eta)

    def ask(self, system: System) -> Callable[[float, float, Array], Array]:
        """The law, of what is shown in its parts."""
        nq, nf = len(system.coordinates), len(system.independent_speeds)
        ends = np.cumsum([nq, nf, nq])

        def asked(t: float, period: float, shown: Array) -> Array:
            return np.asarray(self.law(t, *np.split(shown, ends)), dtype=float)

        return asked


def check_gains(law: AbstractControllerPlan, *names: str) -> None:
    """Refuse gains that are negative, which lead away, or no numbers."""
    for name in names:
        gain = getattr(law, name)
        for value in gain if isinstance(gain, tuple) else (gain,):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value) and value >= 0):
                raise SimulationError(
                    f"{name} is {value!r}, expected a number of 0 or more",
                    type(law).__name__,
                    f"give {name} a positive number: a negative gain is unstable",
                )


def limited(
    inputs: Sequence[ForceInput | SpeedInput], values: ca.SX, limits: Mapping[str, float]
) -> dict[str, ca.SX]:
    """Inputs by name, held within their limits."""
    result = {}
    for k, i in enumerate(inputs):
        bound = limits.get(i.name, math.inf)
        bounded = ca.fmin(ca.fmax(values[k], -bound), bound)
        result[i.name] = bounded if math.isfinite(bound) else values[k]
    return result


def accelerate(system: System, wanted: ca.SX) -> ca.SX:
    """u that produces given independent accelerations at the measured state (inverse dynamics)."""
    eq = system.equations
    needed = ca.mtimes(eq.reduced_mass, wanted) + eq.reduced_bias - eq.reduced_forces
    return solve_inputs(ca.densify(eq.reduced_inputs), needed)


def speed_input_rates(
    system: System, reference: Reference, speeds: dict[str, ca.SX]
) -> dict[str, ca.SX]:
    """Name of each rate → ẇ of the speed inputs given, by total differentiation along the motion.

        ẇ = ∂w/∂t + ∂w/∂q N v + ∂w/∂z ż

    Raises
    ------
    SimulationError : if a speed input depends on speeds.
    """
    if not speeds:
        return {}
    kin = system.kinematics
    symbols = kin.symbols
    w = ca.vertcat(*speeds.values())
    for name, speed in speeds.items():
        if ca.depends_on(speed, ca.vertcat(kin.eta, symbols.w, symbols.wdot)):
            raise SimulationError(
                f"speed input '{name}' depends on speeds, so its rate would need accelerations",
                f"controller of model '{system.model.name}'",
                "let it depend on time, coordinates and the reference only",
            )
    rates = along_motion(system, reference, w)
    # v holds the symbol w, which stands for what is given here
    rates = ca.substitute([rates], [symbols.w], [w])[0]
    return {f"{name}_rate": rates[k] for k, name in enumerate(speeds)}


def along_motion(system: System, reference: Reference, expression: ca.SX) -> ca.SX:
    """The time derivative of an expression of t, q and the reference's states, which all move."""
    kin = system.kinematics
    moving = ca.vertcat(kin.symbols.t, kin.symbols.q, reference.states)
    rates = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v), reference.rates)
    return ca.jtimes(expression, moving, rates)


def _at_speed_inputs(expression: ca.SX, system: System, w: ca.SX) -> ca.SX:
    """An expression of the speed inputs with what they are put in."""
    return ca.substitute([expression], [system.kinematics.symbols.w], [ca.densify(w)])[0]


#: Conditioning below which a law gives no forces any more.
FLOOR = 1e-6
#: 1/s, at which errors of integration of the reference are forgotten.
FADE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tracking(AbstractInputLaw):
    """A motion, followed under a controller, with limits on the inputs."""

    motion: AbstractMotion  #: motion to follow
    controller: AbstractController  #: the feedback
    reference_start: Array  #: (nq,) reference configuration at the start
    limits: dict[str, float]  #: input name → largest magnitude
    #: s between looks at the state, the inputs held in between; 0 for a continuous law
    period: float = 0.0

    def generator(self, system: System) -> InputGenerator:
        """The closed loop in the symbols of this system; traced once for equal settings."""
        if np.shape(self.reference_start) != (len(system.coordinates),):
            raise SimulationError(
                f"reference_start is {self.reference_start!r:.60}",
                f"tracking by model '{system.model.name}'",
                f"give its {len(system.coordinates)} coordinates in a row, in their order",
            )
        program = reference_program(system, self.motion)
        if self.controller.key is None:
            return self._traced(system, program.reference)
        settings = self.controller.key, tuple(self.limits.items()), self.period
        key = ("track", program_key(self.motion, ()), settings)
        found = system.cached(("traced loop", key), lambda: self._traced(system, program.reference))
        if isinstance(self.controller, AbstractAskedController):
            found = dataclasses.replace(found, ask=self.controller.ask(system))
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
        system : system that the controller knows.
        run : run under this law, of this system or of a plant with its coordinates.
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
        if isinstance(self.controller, AbstractAskedController):
            loop = self._asked(system, reference, loop)
        loop = self.controller.with_speed_inputs(system, reference, loop, self.limits)
        return dataclasses.replace(
            loop, inputs={name: ca.densify(e) for name, e in loop.inputs.items()}
        )

    def _asked(self, system: System, reference: Reference, loop: InputGenerator) -> InputGenerator:
        """A loop with what its Python law is shown, and its signals as states."""
        law = self.controller
        assert isinstance(law, AbstractAskedController)
        names, units = ([x[k] for x in law.signals] for k in (0, 1))
        num = len(names)
        update = loop.update
        if update is not None:
            update = ca.vertcat(update, law.asked(system)[-num:, :] if num else ca.SX(0, 1))
        return dataclasses.replace(
            loop,
            ask=law.ask(system),
            shown=ca.densify(law.shown(system, reference)),
            asked=law.asked(system),
            num_signals=num,
            states=ca.vertcat(loop.states, ca.SX.sym("signal", num)),
            rates=ca.vertcat(loop.rates, ca.SX.zeros(num)),
            start=np.concatenate([loop.start, np.zeros(num)]),
            names=(*loop.names, *names),
            units=(*loop.units, *units),
            update=update,
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
        loop = dataclasses.replace(
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
        if isinstance(self.controller, AbstractAskedController):
            return self._asked(system, reference, loop)
        return loop

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
