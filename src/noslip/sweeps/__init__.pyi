"""Names that other packages may use, in the order in which they are needed."""

from .store import (
    StoreReader as StoreReader,
    point_values as point_values,
)
from .design import (
    AxisFactor as AxisFactor,
)
from .measures import (
    PointEnding as PointEnding,
    SobolIndices as SobolIndices,
)
from .store import (
    read_request as read_request,
    read_toml as read_toml,
)
from .execute import (
    run_request as run_request,
)
