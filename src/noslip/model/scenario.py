"""The default run of a model: start, inputs or motion, duration."""

from __future__ import annotations

from dataclasses import dataclass, field

from noslip.model.quantities import Parameter, Scalar

#: More samples than this do not fit into memory, for a mechanism of usual size.
MAX_SAMPLES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A default run of a model.

    Inputs are given either directly (`inputs`) or through the motion they must produce (`motion`):
    then the inputs come from inverse kinematics and inverse dynamics, and the forward simulation
    with them is compared with the motion.

    Parameters
    ----------
    duration : s.
    samples : number of reported times, both ends included.
    start : coordinates, speeds and named angles that are not zero; the rest is completed
        consistently.
    inputs : force and speed inputs as expressions of ``t``, parameters and definitions.
    motion : coordinates as expressions of ``t``, enough of them to fix the motion.
    parameters : numbers of the task that are not of the mechanism, such as the radius of a path.
    definitions : named expressions of ``t`` that later ones may use.
    stop : expressions; the run ends where one of them crosses zero.
    outputs : expressions of the motion, inputs and accelerations, a further column each.
    """

    duration: float
    samples: int = 501
    start: dict[str, Scalar] = field(default_factory=dict)
    inputs: dict[str, Scalar] = field(default_factory=dict)
    motion: dict[str, Scalar] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    definitions: dict[str, str] = field(default_factory=dict)
    stop: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    description: str = ""
