"""Names that other packages may use, in the order in which they are needed."""

from .basis import (
    RANK_LOST as RANK_LOST,
    compressed as compressed,
    independent_rows as independent_rows,
    TracedPlaces as TracedPlaces,
    SingularityMeasure as SingularityMeasure,
)
from .constraint_rows import (
    ContactTrace as ContactTrace,
    curved_gaps as curved_gaps,
    plane_pose as plane_pose,
    trace_contact as trace_contact,
    RowTrace as RowTrace,
    loop_pose as loop_pose,
)
from .kinematics import (
    Kinematics as Kinematics,
    trace as trace,
)
from .dependent_speeds import (
    BasisAtContact as BasisAtContact,
)
from .tree import (
    named as named,
    parameter_reader as parameter_reader,
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
