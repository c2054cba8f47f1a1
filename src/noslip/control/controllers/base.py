"""Controllers: force inputs from the state and a reference, traced, so that they run natively.

To add one: a frozen class with `forces(system, reference) -> ca.SX`, one entry for each force
input, in the system's own symbols q and η and the reference's (`Reference`). It is compiled with
the simulation. One that also feeds speed inputs back is an :class:`AbstractSteeringController`, if
the place decides them, or an :class:`AbstractServo`, if speeds do too.

To have it on the command line, name it in ``text.py``.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from noslip.analysis.inverse import Reference, solve_inputs
from noslip.engines.system import System
from noslip.errors import SimulationError
from noslip.simulation.input_laws import Guard


class AbstractController(abc.ABC):
    """A law that gives the force inputs from the state and the reference."""

    __slots__ = ()

    @abc.abstractmethod
    def forces(self, system: System, reference: Reference) -> ca.SX:
        """(nu,) force inputs."""

    def guards(self, system: System, reference: Reference) -> tuple[Guard, ...]:
        """What the law divides by, if that can vanish; for words where a run ends on it."""
        return ()


class AbstractSteeringController(AbstractController):
    """A law that gives the speed inputs too, such as a steering rate."""

    __slots__ = ()

    @abc.abstractmethod
    def speed_inputs(self, system: System, reference: Reference) -> ca.SX:
        """(nw,) speed inputs w, of t, q and the reference: not of speeds, as ẇ is found from it."""


class AbstractServo(AbstractController):
    """A law that gives the rates of the speed inputs, which are integrated: ẇ instead of w."""

    __slots__ = ()

    @abc.abstractmethod
    def speed_input_rates(self, system: System, reference: Reference) -> ca.SX:
        """(nw,) rates ẇ, of the state, the speed inputs as they are, and the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward(AbstractController):
    """Open loop: the forces of the reference alone."""

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
        """What the law returns."""
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


def check_gains(law: AbstractController, *names: str) -> None:
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
                    f"give {name} a positive number: a negative gain leads away",
                )


def accelerate(system: System, wanted: ca.SX) -> ca.SX:
    """u with which the independent accelerations are those wanted, at the measured state."""
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
                f"speed input '{name}' is fed back from speeds, so its rate would need "
                "accelerations",
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
