"""All formulations there are: those of the package, and those that others have defined."""

from __future__ import annotations

from noslip.base import IF_YOUR_OWN, FormulationError, members_of, nearest
from noslip.formulations.base import AbstractFormulation
from noslip.formulations.boltzmann_hamel import BoltzmannHamel
from noslip.formulations.complement import NaturalComplement
from noslip.formulations.desantis import DeSantis
from noslip.formulations.gibbs_appell import GibbsAppell
from noslip.formulations.multipliers import Multipliers
from noslip.formulations.vakonomic import Vakonomic

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
