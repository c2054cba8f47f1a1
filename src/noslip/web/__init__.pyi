"""Names that other packages may use, in the order in which they are needed."""

from .page import (
    live_run as live_run,
)
from .page import (
    module_files as module_files,
)
