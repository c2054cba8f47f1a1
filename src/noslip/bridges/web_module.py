"""A model as a module of WebAssembly, with an ES module that drives it."""

from __future__ import annotations

from dataclasses import dataclass

from noslip import System
from noslip.bridges.exports import AbstractSystemFormat
from noslip.web import live_run, module_files


@dataclass(frozen=True, slots=True, kw_only=True)
class WasmModule(AbstractSystemFormat):
    """A module that runs the model's scenario in a browser or in Node.

    Parameters
    ----------
    duration : s; the scenario's own by default.
    tolerance : of the integration.
    """

    duration: float = 0.0
    tolerance: float = 1e-9

    word = "wasm"
    name = "a module of WebAssembly"
    suffixes = (".wasm",)
    companions = (".mjs", ".d.mts", ".md")

    def files(self, system: System, stem: str) -> tuple[bytes, ...]:
        """The module, the program that drives it, its types, and a page about both."""
        live = live_run(
            system,
            duration=self.duration or None,
            rtol=self.tolerance,
            with_picture=False,
        )
        return module_files(live, stem)

    def notes(self, system: System) -> tuple[str, ...]:
        """Note on the choices of independent speeds."""
        names = ", ".join(s.name for s in system.independent_speeds)
        return (f"runs begin in the independent speeds {names}; others that they need are inside",)
