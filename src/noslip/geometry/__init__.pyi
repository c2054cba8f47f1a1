"""Names that other packages may use, in the order in which they are needed."""

from .distributions import (
    AFFINE as AFFINE,
    integrals_of as integrals_of,
)
from .invariants import (
    statements_of as statements_of,
)
