"""Rich display of the public types in IPython, imported lazily.

IPython keeps a list of how types are shown, by the names of their modules, so nothing but this file
has to be there before the first of them is: `install_displays` costs nothing, and a notebook that
shows a model, equations, a run or a certificate calls back here. Of equations the equations of
motion come first; the derivation is folded below them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noslip import Equations
    from noslip.show.equations.derivations import Derivation

#: Module and name of the type.
EQUATIONS = ("noslip.formulations.equations", "Equations")
MOTION = "Equations of motion"

#: Module and name of each other type → the function of `displays` that writes its HTML.
TABLES = {
    ("noslip.model.model", "Model"): "model_html",
    ("noslip.show.check", "CheckReport"): "check_html",
    ("noslip.formulations.verify", "Certificate"): "certificate_html",
    ("noslip.simulation.trajectory", "Trajectory"): "trajectory_html",
    ("noslip.analysis.audit", "Audit"): "audit_html",
    ("noslip.analysis.eigenvalue_sweep", "EigenvalueSweep"): "sweep_html",
    ("noslip.show.comparison", "RunComparison"): "comparison_html",
    ("noslip.show.matrices", "MethodMatrices"): "matrices_html",
}
#: Figures that pyplot does not know have no other display.
FIGURE = ("matplotlib.figure", "Figure")


def install_displays() -> bool:
    """Let IPython show the types of noslip; False where no IPython is running."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return False
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type_by_name(*EQUATIONS, equations_html)
    formatters["text/latex"].for_type_by_name(*EQUATIONS, equations_latex)
    for type_name, function in TABLES.items():
        formatters["text/html"].for_type_by_name(*type_name, _display(function))
    formatters["image/png"].for_type_by_name(*FIGURE, _display("figure_png"))
    return True


def _display(function: str) -> Callable[[Any], Any]:
    """A display that is imported when it is first needed."""

    def show(value: Any) -> Any:
        from noslip.show import displays

        return getattr(displays, function)(value)

    return show


def equations_html(equations: Equations) -> str:
    """The equations of motion in MathML, and the derivation to be opened."""
    from noslip.show.equations.documents import html_fragment
    from noslip.show.equations.sketch import SKETCH

    done = _derivation(equations)
    shown = (SKETCH, MOTION)
    motion = [section for section in done.sections if section.title in shown]
    rest = [section for section in done.sections if section.title not in shown]
    return html_fragment(done.title, motion, folded=rest)


def equations_latex(equations: Equations) -> str:
    """The equations of motion in LaTeX, without headings, as notebooks want it."""
    from noslip.show.equations.documents import latex_blocks

    sections = _derivation(equations).sections
    return "\n".join(latex_blocks(section) for section in sections if section.title == MOTION)


@lru_cache(maxsize=2)
def _derivation(equations: Equations) -> Derivation:
    """The derivation of a system, cached for both formats, which IPython requests in turn."""
    from noslip.show.equations.derivations import derivation

    return derivation(equations)
