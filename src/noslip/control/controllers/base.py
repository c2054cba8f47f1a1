"""Controllers: force inputs from the state and a reference, traced, so that they run natively.

To add one: a frozen class with `forces(system, reference) -> ca.SX`, one entry for each force
input, in the system's own symbols q and η and the reference's (`Reference`). It is compiled with
the simulation. One that also feeds speed inputs back is an :class:`AbstractSteeringController`, if
the place decides them, or an :class:`AbstractServo`, if speeds do too.

With a `word` it is known to text, forms and the command line (`AbstractForm`). One that depends on
the motion as a whole, such as gains over time, is an :class:`AbstractControllerPlan`.
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
from noslip.control.forms import AbstractForm
from noslip.control.reference.inverse import Reference, solve_inputs
from noslip.control.reference.motion import AbstractMotion
from noslip.engines import System
from noslip.model import ForceInput, SpeedInput
from noslip.simulation import Guard, InputGenerator


class AbstractControllerPlan(AbstractForm, abc.ABC, family="controller"):
    """Plan of a controller, completed once the motion is known."""

    __slots__ = ()

    #: Whether it is feed-forward alone.
    is_open: ClassVar[bool] = False

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
        motion : what to follow.
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
        system, reference : in whose symbols it is written.
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
        system, reference, loop : in whose symbols it is written, states of the loop included.
        true : (np,) symbols of the plant's parameters, which the law itself does not know.
        """
        return {}

    def next_speed_inputs(
        self, system: System, reference: Reference, speeds: ca.SX, period: float
    ) -> ca.SX | None:
        """(nw,) commanded speed inputs at the end of a period; None if the law gives none.

        Parameters
        ----------
        system, reference : in whose symbols it is written.
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
    """A law of your own: a function of (t, q, v, reference q, reference η) in CasADi symbols.

    Parameters
    ----------
    law : returns one traced expression (or number) for each force input.
    """

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


def check_gains(law: AbstractControllerPlan, *names: str) -> None:
    """Refuse gains that are negative, which lead away, or no numbers.

    Parameters
    ----------
    law : a controller.
    names : of its gains, single ones or tuples.
    """
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
    """Inputs by name, held within their limits.

    Parameters
    ----------
    inputs : of the model.
    values : (n,) one for each.
    limits : input name → largest magnitude.
    """
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
