"""Errors with what went wrong, where, and how to fix it; packages that are missing.

**Errors with what went wrong, where, and how to fix it.**

Every error a user can cause is a :class:`NoslipError` and has three parts, so that none is
forgotten:

    ModelError: joint 'steer' has axis (0, 0, 0), which has no direction
      where  car.toml, line 27, joints.steer.axis
      fix    give a nonzero direction, for example axis = [0, 0, 1]

A model is checked as a whole; :class:`ModelError` then carries a list of such faults.

**Optional packages: which extra of noslip brings each, and what is said where one is missing.**
"""

from __future__ import annotations

import difflib
import importlib.util
import sys
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
    name : name as it was written.
    known : known names.
    total : number of known names, if `known` has only some of them.
    more : place where all of them are listed, named if not all are named here.
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


#: Module → its package as people call it, and the extra of noslip that installs it.
EXTRAS = {
    "matplotlib": ("Matplotlib", "show"),
    "PIL": ("Pillow", "show"),
    "ziamath": ("ziamath", "show"),
    "ziafont": ("ziafont", "show"),
    "latex2mathml": ("latex2mathml", "show"),
    "fontTools": ("fontTools", "show"),
    "viser": ("viser", "show"),
    "rich": ("rich", "show"),
    "ipywidgets": ("ipywidgets", "notebook"),
    "xarray": ("xarray", "data"),
    "pandas": ("pandas", "data"),
    "msgspec": ("msgspec", "studio"),
    "websockets": ("websockets", "studio"),
    "zstandard": ("zstandard", "studio"),
    "dask": ("Dask", "dask"),
    "distributed": ("Dask", "dask"),
    "pyarrow": ("PyArrow", "parquet"),
    "rosbags": ("rosbags", "ros"),
    "fmpy": ("FMPy", "fmu"),
    "gymnasium": ("Gymnasium", "gym"),
    "cma": ("cma", "learn"),
    "jax": ("JAX", "jax"),
    "torch": ("PyTorch", "torch"),
    "control": ("python-control", "control"),
    "wasmtime": ("wasmtime", "wasm"),
}


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def require(module: str, purpose: str, where: str, extra: str = "") -> None:
    """Raise an error that names the extra to install, where a module is missing.

    Parameters
    ----------
    module : module that is needed, one of `EXTRAS`.
    purpose : function that needs it, as the subject of a sentence.
    where : file, function or command that asked for it.
    extra : extra that brings it with everything else the purpose needs; that of the module by
        default.
    """
    if not is_installed(module):
        package, own = EXTRAS[module]
        raise MissingPackageError(
            f"{purpose} needs the package {package}, which is not installed",
            where,
            install_command(extra or own),
        )


def install_command(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "noslip[{extra}]"'


def missing_package(error: ImportError, where: str) -> MissingPackageError | None:
    """An import that failed for want of a package or a part, as an error that says what to do.

    Parameters
    ----------
    error : error of the import.
    where : command or call that needs it.
    """
    module, *inner = (error.name or "").split(".")
    if module == "noslip" and inner and not is_installed(f"noslip.{inner[0]}"):
        return MissingPackageError(
            f"noslip is installed here without its part '{inner[0]}'",
            where,
            "install noslip whole: pip install --force-reinstall noslip",
        )
    if module not in EXTRAS or is_installed(module):
        return None
    package, extra = EXTRAS[module]
    return MissingPackageError(
        f"the package {package} is not installed", where, install_command(extra)
    )
