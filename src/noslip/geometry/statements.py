"""All statements about a model, from one trace of it and its brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from noslip.geometry.distributions import Distribution, distribution_in, subject_of
from noslip.geometry.invariants import Structure, structure_in
from noslip.geometry.reachable import Controllability, controllability_in
from noslip.model import Model


def statements_of(
    model: Model,
    *,
    at: Mapping[str, float] | None = None,
    without: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    progress: Callable[[str], object],
) -> tuple[Distribution, Controllability | None, Structure | None]:
    """What `distribution`, `controllability` and `structure` say, each told to `progress` first.

    The last two are None of a mechanism that cannot move.
    """
    progress("brackets")
    subject = subject_of("geometry", model, parameters, is_derived=True)
    found = distribution_in(subject, at=at, without=without)
    if not subject.can_move:
        return found, None, None
    progress("controllability")
    reach = controllability_in(subject)
    progress("symmetries and measure")
    return found, reach, structure_in(subject)
