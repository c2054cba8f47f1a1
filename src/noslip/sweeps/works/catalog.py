"""The work of a word: all members, and those of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noslip import Model, SimulationError
from noslip.base import IF_YOUR_OWN, find_member, nearest, words_of
from noslip.sweeps.works.base import AbstractWork
from noslip.sweeps.works.functions import FunctionWork
from noslip.sweeps.works.instants import EvaluateWork, LinearizeWork, SteadyWork
from noslip.sweeps.works.runs import NoisyWork, RunWork
from noslip.sweeps.works.tracks import TrackWork

#: Works that come with the package; a family knows its members once they are imported.
WORKS = (RunWork, NoisyWork, TrackWork, LinearizeWork, SteadyWork, EvaluateWork, FunctionWork)


def make_work(
    word: str, model: Model, settings: Mapping[str, Any], measures: Sequence[str]
) -> AbstractWork:
    """The work of a word.

    Raises
    ------
    SimulationError : there is none, or its settings or measures are wrong.
    """
    member = find_member(AbstractWork, word)
    if member is None:
        raise SimulationError(
            f"there is no work '{word}'",
            f"sweep of model '{model.name}'",
            f"{nearest(word, words_of(AbstractWork))}; {IF_YOUR_OWN}",
        )
    made: AbstractWork = member(model, settings, measures)
    return made
