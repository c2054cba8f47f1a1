"""The public names of `noslip.paths`; read at run time too."""

from .control.paths.base import (
    AbstractPath as AbstractPath,
)
from .control.paths.curves import (
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
from .control.paths.clothoids import (
    Clothoid as Clothoid,
    Polyline as Polyline,
)
from .control.paths.shortest import (
    Dubins as Dubins,
    ReedsShepp as ReedsShepp,
)
from .control.paths.splines import (
    Spline as Spline,
    Nurbs as Nurbs,
    path_from_csv as path_from_csv,
)
from .control.paths.composite import (
    Composite as Composite,
    reversed_path as reversed_path,
)
from .control.text import (
    parse_path as parse_path,
)
