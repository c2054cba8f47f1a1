"""Names that other packages may use, in the order in which they are needed."""

from .exports import (
    export_targets as export_targets,
    make_target as make_target,
)
from .robots import (
    beside as beside,
    read_undercarriage as read_undercarriage,
)
