"""Figures for papers and pages: histories, paths, phase plots, forces, energies, eigenvalues.

Figures are drawn without a backend. matplotlib refuses to be imported where ``MPLBACKEND`` names
one that it does not know, so it is imported without the variable, and the backend chosen after
that.
"""

# ruff: noqa: E402
import contextlib
import os

_BACKEND = os.environ.pop("MPLBACKEND", None)
import matplotlib

if _BACKEND is not None:
    os.environ["MPLBACKEND"] = _BACKEND
    if _BACKEND:
        with contextlib.suppress(ValueError):
            matplotlib.rcParams["backend"] = _BACKEND

from noslip.show.plots.painting import png_bytes, sheet_png, sheet_svg, svg_text
from noslip.show.plots.panels import friction_sheet
from noslip.show.plots.plotting import plot, plot_eigenvalues, run_sheets

__all__ = [
    "friction_sheet",
    "plot",
    "plot_eigenvalues",
    "png_bytes",
    "run_sheets",
    "sheet_png",
    "sheet_svg",
    "svg_text",
]
