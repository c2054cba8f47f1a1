"""Paths to follow: lines, arcs, clothoids, splines, and paths made of others."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.control.paths.base import (
        AbstractPath as AbstractPath,
    )
    from noslip.control.paths.curves import (
        Line as Line,
        Arc as Arc,
        Circle as Circle,
        Ellipse as Ellipse,
        FigureEight as FigureEight,
        Sine as Sine,
        Catenary as Catenary,
        Graph as Graph,
        Parametric as Parametric,
    )
    from noslip.control.paths.clothoids import (
        Clothoid as Clothoid,
        Polyline as Polyline,
    )
    from noslip.control.paths.splines import (
        Spline as Spline,
        Nurbs as Nurbs,
        path_from_csv as path_from_csv,
    )
    from noslip.control.paths.composite import (
        Composite as Composite,
        reversed_path as reversed_path,
    )
    from noslip.control.text import (
        parse_path as parse_path,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
