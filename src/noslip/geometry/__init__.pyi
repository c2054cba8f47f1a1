"""Names that other packages may use, in the order in which they are needed."""

from .distributions import (
    Distribution as Distribution,
    Growth as Growth,
    Integral as Integral,
    distribution as distribution,
)
