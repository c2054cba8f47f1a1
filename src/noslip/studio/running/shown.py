"""`Shown`: a run with all that is needed to show it, and `View`, who is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from noslip.analysis.audit import Audit
from noslip.engines.system import System
from noslip.errors import Fault, NoslipError
from noslip.show.scene.frames import Frames, frames
from noslip.show.scene.scene import Scene
from noslip.simulation.trajectory import Trajectory
from noslip.studio.choosing.choice import Choice
from noslip.studio.choosing.controls import Controls
from noslip.studio.running.mechanism import Mechanism


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A run with all that is needed to show it.

    Parameters
    ----------
    number : counts the runs of a session.
    name : of the model on this page.
    run, command : what happened, and how to make it again on the command line; empty if there is no
        such command.
    compute : s from the choice to the samples, without what is compiled once.
    since : time of the wall clock when it was made.
    """

    number: int
    name: str
    mechanism: Mechanism
    system: System
    choice: Choice
    run: Trajectory
    command: str
    scene: Scene
    frames: Frames
    compute: float
    since: float


class View(Protocol):
    """What a session tells; called from its threads, one at a time."""

    def show_controls(self, controls: Controls, choice: Choice) -> None:
        """There are other knobs now."""

    def show_run(self, shown: Shown, ghost: Shown | None) -> None:
        """There is a new run."""

    def show_audit(self, shown: Shown, found: Audit | None) -> None:
        """What the ground must hold in that run."""

    def show_drive_start(self, system: System, choice: Choice, look: Scene) -> None:
        """It is to be driven from now on, or with other parameters."""

    def show_faults(self, faults: tuple[Fault, ...]) -> None:
        """What was chosen cannot be run; none if it can."""

    def show_file_faults(self, faults: tuple[Fault, ...]) -> None:
        """The model file has faults and the last good model stays; none if it is mended."""


def film(system: System, run: Trajectory) -> Frames:
    """Pictures of a run: smooth in slow motion too, and not too many of a long one."""
    duration = float(run.t[-1] - run.t[0])
    if duration <= 0:
        return frames(system, run)
    return frames(system, run, rate=min(max(30.0, 400.0 / duration), max(4000.0 / duration, 10.0)))


def faults_of(error: Exception) -> tuple[Fault, ...]:
    """What / where / fix of any exception."""
    if isinstance(error, NoslipError):
        return error.faults
    return (
        Fault(
            f"{type(error).__name__}: {error}",
            "the studio itself",
            "this is not your fault: change something else, or reload the page",
        ),
    )
