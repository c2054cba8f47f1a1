"""Further constraint rows: given equations, gears and other transmissions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.rows import (
        AbstractRow as AbstractRow,
        RowForce as RowForce,
        VelocityRow as VelocityRow,
        PositionRow as PositionRow,
    )
    from noslip.model.transmissions import (
        AbstractTransmission as AbstractTransmission,
        Gear as Gear,
        Rack as Rack,
        Belt as Belt,
        Planetary as Planetary,
        Differential as Differential,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
