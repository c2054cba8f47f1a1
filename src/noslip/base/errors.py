"""Errors with what went wrong, where, and how to fix it.

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

# so many faults are shown at a time; an error holds them all
_SHOWN = 20


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
    """Base of all errors that a user can cause and correct."""

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
        """Remedy of the first fault."""
        return self.faults[0].fix


class ModelError(NoslipError):
    """The description of a mechanism is wrong; all its faults are listed."""

    @classmethod
    def from_faults(cls, faults: Sequence[Fault]) -> ModelError:
        """One error for all faults found, numbered when there are several; the first 20 shown.

        A fault that is found twice, as for two sides of a box, is one.
        """
        faults = list(dict.fromkeys(faults))
        error = cls(faults[0].what, faults[0].where, faults[0].fix)
        error.faults = tuple(faults)
        if len(faults) > 1:
            listed = [f"{k}. {fault.text()}" for k, fault in enumerate(faults[:_SHOWN], 1)]
            if len(faults) > _SHOWN:
                listed.append(f"and {len(faults) - _SHOWN} more, shown when these are corrected")
            error.args = ("\n".join([f"{len(faults)} faults", *listed]),)
        return error


class FormulationError(NoslipError):
    """The equations of motion cannot be formed for this mechanism."""


class CompileError(NoslipError):
    """The equations cannot be turned into native code."""


class SimulationError(NoslipError):
    """A simulation cannot start, or it ended early and was asked to raise."""


class DeviceError(SimulationError):
    """A GPU cannot be used, or its driver reports an error."""


class StorageError(SimulationError, OSError):
    """A file cannot be written, or read as a plain file; also an OSError, with its errno."""

    __str__ = Exception.__str__  # that of OSError shows its number


class MissingPackageError(SimulationError, ImportError):
    """An optional package is not installed; also an ImportError."""


class ArgumentError(SimulationError, TypeError):
    """An argument is of another type than its function takes; also a TypeError."""


class MissingNameError(SimulationError, KeyError):
    """A result has no entry of this name; also a KeyError, as a mapping raises."""

    __str__ = Exception.__str__  # that of KeyError shows quotes and line breaks as they are written


class MissingPlaceError(SimulationError, IndexError):
    """A result has no entry at this index; also an IndexError, as a sequence raises."""


# so many names are listed in full, and so few of a longer list
_LIST, _FEW = 12, 6


def nearest(name: str, known: Iterable[str], *, total: int | None = None, more: str = "") -> str:
    """A hint naming the closest known names: "did you mean 'wheel1'?", or what there is.

    Parameters
    ----------
    name : what was written.
    known : what could have been meant.
    total : how many there are, if `known` is only some of them.
    more : where all of them are listed, said if not all are named here.
    """
    name, known = str(name), list(known)  # a number in place of a name is answered all the same
    # names that differ by case alone, as `load` and `Load`: the one written like `name`
    ordered = sorted(known, key=lambda k: -sum(a == b for a, b in zip(k, name, strict=False)))
    plain = {k.casefold(): k for k in reversed(ordered)}
    close = difflib.get_close_matches(name.casefold(), plain, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(f"'{plain[c]}'" for c in close) + "?"
    if not known:
        return "there are none"
    few = known
    if len(known) > _LIST:
        alike = difflib.get_close_matches(name.casefold(), plain, n=_FEW, cutoff=0.3)
        few = list(dict.fromkeys([*(plain[c] for c in alike), *known]))[:_FEW]
    listed = ", ".join(f"'{k}'" for k in few)
    left = (len(known) if total is None else total) - len(few)
    if not left:
        return f"known: {listed}"
    return f"known: {listed} and {left} more" + (f"; {more}" if more else "")


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 sample", "3 samples", "2 bodies"."""
    return f"{count} {one if count == 1 else many or one + 's'}"
