"""`derive`: from a model to its equations of motion, by one of the formulations there are.

**All formulations there are: those of the package, and those that others have defined.**

**`derive`: from a model to its equations of motion, by a formulation.**
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import (
    IF_YOUR_OWN,
    ArgumentError,
    FormulationError,
    interruptible,
    members_of,
    nearest,
)
from noslip.formulations.boltzmann_hamel import BoltzmannHamel, GibbsAppell
from noslip.formulations.complement import NaturalComplement
from noslip.formulations.desantis import DeSantis
from noslip.formulations.equations import AbstractFormulation, Equations
from noslip.formulations.multipliers import Multipliers, Vakonomic
from noslip.kinematics import trace
from noslip.model import Model

# imported so that they are known; the default comes first, what is not d'Alembert's last
_ORDER: tuple[type[AbstractFormulation], ...] = (
    NaturalComplement,
    DeSantis,
    BoltzmannHamel,
    GibbsAppell,
    Multipliers,
    Vakonomic,
)


def known_formulations() -> dict[str, AbstractFormulation]:
    """Word → formulation, those of the package first.

    Raises
    ------
    FormulationError : if one cannot be made without arguments.
    """
    others = [c for c in members_of(AbstractFormulation, installed=True) if c not in _ORDER]
    return {cls.word: _made(cls) for cls in (*_ORDER, *others)}


def dalembert_formulations() -> tuple[AbstractFormulation, ...]:
    """Formulations that follow d'Alembert's principle and must agree."""
    return tuple(f for f in known_formulations().values() if f.is_dalembert)


def formulation_of(word: str) -> AbstractFormulation:
    """The formulation with a word.

    Raises
    ------
    FormulationError : if there is none.
    """
    known = known_formulations()
    if word not in known:
        raise FormulationError(
            f"there is no formulation '{word}'", "method", f"{nearest(word, known)}; {IF_YOUR_OWN}"
        )
    return known[word]


def _made(cls: type[AbstractFormulation]) -> AbstractFormulation:
    try:
        return cls()
    except TypeError as error:
        raise FormulationError(
            f"formulation '{cls.word}' cannot be made without arguments: {error}",
            f"class {cls.__module__}.{cls.__qualname__}",
            "give its fields defaults",
        ) from error


@interruptible
def derive(model: Model, formulation: AbstractFormulation | None = None) -> Equations:
    """Minimal equations of motion of a model.

    Parameters
    ----------
    model : a checked model.
    formulation : method of derivation; the natural orthogonal complement by default.

    Raises
    ------
    ModelError : if the constraints are inconsistent.
    FormulationError : if a degree of freedom has no inertia.
    """
    if not isinstance(model, Model):
        raise ArgumentError(
            f"derive takes a Model, got {type(model).__name__}",
            "model, argument of derive",
            "load one, or build() it",
        )
    if formulation is not None and not isinstance(formulation, AbstractFormulation):
        raise ArgumentError(
            f"formulation is {formulation!r}",
            "argument of derive",
            "pass an object, NaturalComplement()",
        )
    equations = (formulation or NaturalComplement()).fill(trace(model))
    InertiaCheck(equations).check(equations.kinematics.probe.params)
    return equations


class InertiaCheck:
    """Finds degrees of freedom without inertia at parameter values; its functions are kept."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        kin, solution = equations.kinematics, equations.solution
        symbols = kin.symbols
        self._pivots: ca.Function | None = None
        if solution.mass is None and kin.num_independent_speeds:
            pivots = ca.vertcat(*solution.pivots)
            self._pivots = ca.Function("d", [symbols.q, symbols.params], [pivots])

    @cached_property
    def _mass(self) -> ca.Function:
        symbols, solution = self.equations.kinematics.symbols, self.equations.solution
        matrix = self.equations.reduced_mass if solution.mass is None else solution.mass
        return ca.Function("m", [symbols.t, symbols.q, symbols.params], [matrix])

    def check(self, params: NDArray[np.float64]) -> None:
        """Refuse parameter values at which a degree of freedom has no inertia, and name it."""
        kin = self.equations.kinematics
        if kin.num_independent_speeds == 0:
            return
        if self._pivots is not None:
            samples = kin.probe.configurations(1)
            numbers = np.array([self._pivots(q, params) for _, q in samples]).ravel()
            if numbers.min() > 1e-9 * numbers.max():
                return
        for t, q in kin.probe.configurations(3):
            M = np.array(self._mass(t, q, params))
            turns = [s.unit == "rad/s" for s in kin.independent_speeds]
            scale = np.where(turns, kin.length, 1.0)
            M = M / np.outer(scale, scale)
            if not np.isfinite(M).all():
                return  # told by the run
            # each speed by its own inertia: sizes far from the nominal ones are no singularity
            own, largest = np.diag(M).copy(), np.abs(M).max() or 1.0
            own[own <= 1e-15 * largest] = largest
            values, vectors = np.linalg.eigh(M / np.sqrt(np.outer(own, own)))
            if values[0] > 1e-12 * max(values[-1], 1e-300):
                return
            direction = vectors[:, 0] / np.sqrt(own)
            direction /= np.max(np.abs(direction))
        involved = [
            f"{c:+.3g} {s.name}"
            for c, s in zip(direction, kin.independent_speeds, strict=True)
            if abs(c) > 1e-6
        ]
        raise FormulationError(
            f"the degree of freedom {' '.join(involved)} has no inertia: nothing resists its "
            "acceleration",
            f"model '{kin.model.name}'",
            "give mass or inertia to a body that moves with it, prescribe its motion, or make it a "
            "speed input",
        )
