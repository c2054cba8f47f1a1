"""Names that other packages may use, in the order in which they are needed."""

from .mission import (
    read_mission as read_mission,
)
from .cycle import (
    drive_mission as drive_mission,
)
from .cycle import (
    read_catalog as read_catalog,
    size_drives as size_drives,
    choices_text as choices_text,
    choices_data as choices_data,
)
