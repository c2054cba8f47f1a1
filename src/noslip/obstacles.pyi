"""The public names of `noslip.obstacles`; read at run time too."""

from .planning.obstacles import (
    AbstractObstacle as AbstractObstacle,
    Disc as Disc,
    Polygon as Polygon,
    OccupancyGrid as OccupancyGrid,
    Map as Map,
)
