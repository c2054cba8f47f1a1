"""A compiled system as a file that CasADi loads: ``casadi.Function.load("agv.casadi")``."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from noslip import System
from noslip.bridges.exports import AbstractSystemFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class CasadiFile(AbstractSystemFormat):
    """A serialized CasADi function; see `System.casadi_function`.

    Parameters
    ----------
    outputs : names of its outputs, separated by commas.
    """

    outputs: str = "rates,speeds,measures"

    word = "casadi"
    name = "a CasADi function"
    suffixes = (".casadi",)

    def files(self, system: System, stem: str) -> tuple[bytes]:
        """Content of the file, as CasADi writes it."""
        words = [word.strip() for word in self.outputs.split(",")]
        function = system.casadi_function(words, name=function_name(system.model.name))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "function.casadi"
            function.save(str(path))
            return (path.read_bytes(),)

    def notes(self, system: System) -> tuple[str, ...]:
        """Note that the file has one choice of independent speeds."""
        names = ", ".join(s.name for s in system.independent_speeds)
        return (
            f"the independent speeds are {names} throughout; 'measures' says where they end",
            "names and units of the entries are left out",
        )


def function_name(text: str) -> str:
    """A name that CasADi takes, made of any text."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", text, flags=re.ASCII).strip("_")
    return made if made[:1].isalpha() else f"model_{made}".strip("_")
