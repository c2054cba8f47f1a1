"""Names that other packages may use, in the order in which they are needed."""

from .grid_splines import (
    DEGREE as DEGREE,
    GridSpline as GridSpline,
    cell_weights as cell_weights,
    grid_spline as grid_spline,
)
from .linear import (
    block_solve as block_solve,
    orthogonal_solve as orthogonal_solve,
    symmetric_factors as symmetric_factors,
    symmetric_solve as symmetric_solve,
)
from .lookup_tables import (
    LARGE as LARGE,
    LookupTable as LookupTable,
    SMALL as SMALL,
    called_table as called_table,
    numbered_table as numbered_table,
)
from .spatial import (
    EYE3 as EYE3,
    Traced as Traced,
    angle_rate_map as angle_rate_map,
    angles_from_quaternion as angles_from_quaternion,
    angular_velocity as angular_velocity,
    block_diagonal as block_diagonal,
    cross as cross,
    inlined as inlined,
    intrinsic_angles as intrinsic_angles,
    is_identity as is_identity,
    quaternion_from_angles as quaternion_from_angles,
    quaternion_rate_map as quaternion_rate_map,
    rotation_about as rotation_about,
    rotation_from_angles as rotation_from_angles,
    rotation_from_quaternion as rotation_from_quaternion,
    skew as skew,
    stack as stack,
    traced_angles as traced_angles,
    turn_vector as turn_vector,
    turned_inertia as turned_inertia,
    unit as unit,
    vector as vector,
)
from .step_tables import (
    StepTable as StepTable,
    step_table as step_table,
)
