"""The public names of `noslip.rows`; read at run time too."""

from .model.rows import (
    AbstractRow as AbstractRow,
    RowForce as RowForce,
    VelocityRow as VelocityRow,
    PositionRow as PositionRow,
)
from .model.transmissions import (
    AbstractTransmission as AbstractTransmission,
    Gear as Gear,
    Rack as Rack,
    Belt as Belt,
    Planetary as Planetary,
    Differential as Differential,
    Cam as Cam,
)
