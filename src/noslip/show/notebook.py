"""Equations as mathematics in a notebook.

IPython keeps a list of how types are shown, by the names of their modules, so nothing but this file
has to be there before the first equations are: `install_displays` costs nothing, and a notebook
that shows `Equations` calls back here. The equations of motion come first, the derivation is folded
below them.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noslip.formulations.base import Equations
    from noslip.show.equations import Derivation

#: Module and name of the type.
EQUATIONS = ("noslip.formulations.base", "Equations")
MOTION = "Equations of motion"


def install_displays() -> bool:
    """Let IPython show `Equations` as mathematics; False where no IPython is running."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return False
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type_by_name(*EQUATIONS, equations_html)
    formatters["text/latex"].for_type_by_name(*EQUATIONS, equations_latex)
    return True


def equations_html(equations: Equations) -> str:
    """The equations of motion in MathML, and the derivation to be opened."""
    from noslip.show.documents import html_fragment

    done = _derivation(equations)
    motion = [section for section in done.sections if section.title == MOTION]
    rest = [section for section in done.sections if section.title != MOTION]
    return html_fragment(done.title, motion, folded=rest)


def equations_latex(equations: Equations) -> str:
    """The equations of motion in LaTeX, without headings, as notebooks want it."""
    from noslip.show.documents import latex_blocks

    sections = _derivation(equations).sections
    return "\n".join(latex_blocks(section) for section in sections if section.title == MOTION)


@lru_cache(maxsize=2)
def _derivation(equations: Equations) -> Derivation:
    """Written once for both formats, which are asked for one after the other."""
    from noslip.show.equations import derivation

    return derivation(equations)
