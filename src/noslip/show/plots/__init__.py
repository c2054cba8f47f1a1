"""Figures for papers and pages: histories, paths, phase plots, forces, energies, eigenvalues."""

from noslip.show.plots import matplotlib_import  # noqa: F401  before matplotlib itself
from noslip.show.plots.catalog import plot, run_sheets
from noslip.show.plots.eigenvalues import plot_eigenvalues
from noslip.show.plots.files import png_bytes, save_figure, svg_text
from noslip.show.plots.histories import friction_sheet
from noslip.show.plots.painting import sheet_png, sheet_svg

__all__ = [
    "friction_sheet",
    "plot",
    "plot_eigenvalues",
    "png_bytes",
    "run_sheets",
    "save_figure",
    "sheet_png",
    "sheet_svg",
    "svg_text",
]
