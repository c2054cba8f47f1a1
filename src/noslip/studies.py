"""Families of parameter studies: what is drawn, measured and computed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.sweeps.design import (
        AbstractDistribution as AbstractDistribution,
    )
    from noslip.sweeps.measures import (
        AbstractMeasure as AbstractMeasure,
    )
    from noslip.sweeps.work import (
        AbstractWork as AbstractWork,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
