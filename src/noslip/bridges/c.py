"""C code of a compiled system, for controllers and for programs in other languages.

`c_source.py` says what is in it, docs/c.md how to use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from noslip import System
from noslip.bridges.c_source import (
    CSource,
    c_source,
    check_stem,
    header_text,
    notes_of,
    source_text,
)
from noslip.bridges.exports import AbstractSystemFormat
from noslip.simulation import AbstractInputLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class CCode(AbstractSystemFormat):
    """A self-contained file of C99 and its header.

    Parameters
    ----------
    precision : ``double`` or ``single``.
    prefix : of all names; made of the model's name by default.
    controller : input law that becomes a controller step, such as :class:`noslip.Tracking`.
    start : values of the state that the code starts with; the model's scenario by default.
    own_sine : whether the code brings its own sine and cosine instead of calling libm's.
    """

    precision: str = "double"
    prefix: str = ""
    controller: AbstractInputLaw | None = None
    start: dict[str, float] | None = None
    own_sine: bool = False

    word = "c"
    name = "C"
    suffixes = (".c",)
    companions = (".h",)

    def files(self, system: System, stem: str) -> tuple[bytes, bytes]:
        """The code and its header."""
        source = self._source(system)
        header = check_stem(stem, f"C code of model '{system.model.name}'") + ".h"
        texts = source_text(source, header), header_text(source)
        code, declarations = (text.encode("ascii") for text in texts)
        return code, declarations

    def notes(self, system: System) -> tuple[str, ...]:
        """Notes on what the code leaves out."""
        return notes_of(self._source(system))

    def _source(self, system: System) -> CSource:
        return c_source(
            system,
            where=f"C code of model '{system.model.name}'",
            prefix=self.prefix,
            precision=self.precision,
            controller=self.controller,
            start=self.start,
            own_sine=self.own_sine,
        )
