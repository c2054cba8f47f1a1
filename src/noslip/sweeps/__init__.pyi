"""Names that other packages may use, in the order in which they are needed."""

from .dataset import (
    StoreReader as StoreReader,
    point_values as point_values,
)
from .design import (
    AxisFactor as AxisFactor,
)
from .measures import (
    ENDING as ENDING,
    ENDINGS as ENDINGS,
    EVENT as EVENT,
    EXCLUDED as EXCLUDED,
    FINISHED as FINISHED,
    NOT_RUN as NOT_RUN,
    REASON as REASON,
)
from .request import (
    read_request as read_request,
    read_toml as read_toml,
)
from .sensitivity_indices import (
    SobolIndices as SobolIndices,
    grid_indices as grid_indices,
    sample_indices as sample_indices,
)
from .store import (
    read_store as read_store,
)
from .sweep import (
    run_request as run_request,
)
