"""The public names of `noslip.contacts`; read at run time too."""

from .model.contacts import (
    AbstractContact as AbstractContact,
    Rolling as Rolling,
    KnifeEdge as KnifeEdge,
    Plane as Plane,
    RollerRolling as RollerRolling,
)
