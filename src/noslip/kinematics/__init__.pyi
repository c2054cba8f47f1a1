"""Names that other packages may use, in the order in which they are needed."""

from .basis import (
    RANK_LOST as RANK_LOST,
    compressed as compressed,
    independent_rows as independent_rows,
)
from .contacts import (
    ContactTrace as ContactTrace,
    curved_gaps as curved_gaps,
    plane_pose as plane_pose,
    trace_contact as trace_contact,
)
from .kinematics import (
    Kinematics as Kinematics,
    trace as trace,
)
from .rolling_base import (
    BasisAtContact as BasisAtContact,
)
from .row_forces import (
    TracedPlaces as TracedPlaces,
)
from .rows import (
    RowTrace as RowTrace,
    loop_pose as loop_pose,
)
from .singularity import (
    SingularityMeasure as SingularityMeasure,
)
from .symbols import (
    named as named,
    parameter_reader as parameter_reader,
)
from .tree import (
    Node as Node,
    Pair as Pair,
    Tree as Tree,
    accelerations as accelerations,
    build_tree as build_tree,
    frame_pose as frame_pose,
    generalized_forces as generalized_forces,
    point_acceleration as point_acceleration,
    twists as twists,
)
