"""What went wrong, where, and how to fix it.

Every error a user can cause is a :class:`NoslipError` and has three parts, so that none is
forgotten:

    ModelError: joint 'steer' has axis (0, 0, 0), which has no direction
      where  car.toml, line 27, joints.steer.axis
      fix    give a nonzero direction, for example axis = [0, 0, 1]

A model is checked as a whole; :class:`ModelError` then carries a list of such faults.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the fact, the place, and one thing to do about it."""

    what: str
    where: str
    fix: str

    def text(self) -> str:
        """The fault in three lines."""
        return f"{self.what}\n  where  {self.where}\n  fix    {self.fix}"


class NoslipError(Exception):
    """Base of all errors that a user can cause and mend."""

    def __init__(self, what: str, where: str, fix: str) -> None:
        self.faults: tuple[Fault, ...] = (Fault(what, where, fix),)
        super().__init__(self.faults[0].text())

    @property
    def what(self) -> str:
        """The fact, of the first fault."""
        return self.faults[0].what

    @property
    def where(self) -> str:
        """The place, of the first fault."""
        return self.faults[0].where

    @property
    def fix(self) -> str:
        """What to do, of the first fault."""
        return self.faults[0].fix


class ModelError(NoslipError):
    """The description of a mechanism is wrong; all its faults are listed."""

    @classmethod
    def from_faults(cls, faults: Sequence[Fault]) -> ModelError:
        """One error for all faults found, numbered when there are several."""
        error = cls(faults[0].what, faults[0].where, faults[0].fix)
        error.faults = tuple(faults)
        if len(faults) > 1:
            listed = "\n".join(f"{k}. {fault.text()}" for k, fault in enumerate(faults, 1))
            error.args = (f"{len(faults)} faults\n{listed}",)
        return error


class FormulationError(NoslipError):
    """The equations of motion cannot be formed for this mechanism."""


class CompileError(NoslipError):
    """The equations cannot be turned into native code."""


class SimulationError(NoslipError):
    """A simulation cannot start, or it ended early and was asked to raise."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint naming the closest known names: "did you mean 'wheel1'?", or the whole short list."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    if not known:
        return "there are none"
    listed = ", ".join(f"'{k}'" for k in known[:12])
    return f"known: {listed}" + (", …" if len(known) > 12 else "")
