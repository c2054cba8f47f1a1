"""The public names of `noslip.studies`; read at run time too."""

from .sweeps.design import (
    AbstractDistribution as AbstractDistribution,
)
from .sweeps.measures import (
    AbstractMeasure as AbstractMeasure,
)
from .sweeps.tasks import (
    AbstractWork as AbstractWork,
)
