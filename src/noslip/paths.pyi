"""The public names of `noslip.paths`; read at run time too."""

from .control.path_geometry import (
    AbstractPath as AbstractPath,
    Composite as Composite,
    reversed_path as reversed_path,
)
from .control.curves import (
    Line as Line,
    Arc as Arc,
    Circle as Circle,
    Ellipse as Ellipse,
    FigureEight as FigureEight,
    Sine as Sine,
    Catenary as Catenary,
    Graph as Graph,
    Parametric as Parametric,
    Clothoid as Clothoid,
    Polyline as Polyline,
    Spline as Spline,
    Nurbs as Nurbs,
    path_from_csv as path_from_csv,
)
from .control.shortest_paths import (
    Dubins as Dubins,
    ReedsShepp as ReedsShepp,
)
from .control.member_texts import (
    parse_path as parse_path,
)
