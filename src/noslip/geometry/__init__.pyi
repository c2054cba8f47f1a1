"""Names that other packages may use, in the order in which they are needed."""

from .distributions import (
    distribution as distribution,
)
