"""Contacts without slip: rolling, rolling on rollers, knife edges."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.contacts import (
        AbstractContact as AbstractContact,
        Rolling as Rolling,
        KnifeEdge as KnifeEdge,
        Plane as Plane,
    )
    from noslip.model.roller_wheels import (
        RollerRolling as RollerRolling,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
