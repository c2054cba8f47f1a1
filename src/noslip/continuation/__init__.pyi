"""Names that other packages may use, in the order in which they are needed."""

from .branches import (
    Branch as Branch,
    branch as branch,
)
