"""Figures for papers and pages: histories, paths, phase plots, forces, energies, eigenvalues."""

from noslip.show.plots import matplotlib_import  # noqa: F401  before matplotlib itself
from noslip.show.plots.catalog import plot, run_figures
from noslip.show.plots.eigenvalues import plot_eigenvalues
from noslip.show.plots.files import png_bytes, save_figure, svg_text
from noslip.show.plots.histories import friction_figure

__all__ = [
    "friction_figure",
    "plot",
    "plot_eigenvalues",
    "png_bytes",
    "run_figures",
    "save_figure",
    "svg_text",
]
