"""Names that other packages may use, in the order in which they are needed."""

from .choice import (
    find_link as find_link,
    read_link as read_link,
)
from .server import (
    Studio as Studio,
)
