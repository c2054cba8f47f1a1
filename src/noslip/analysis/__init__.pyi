"""Names that other packages may use, in the order in which they are needed."""

from .audit import (
    Audit as Audit,
    audit_forces as audit_forces,
    touches_ground as touches_ground,
)
from .instant_kinematics import (
    COMPONENTS as COMPONENTS,
    frame_twist as frame_twist,
)
from .reactions import (
    SampledMotion as SampledMotion,
    contact_forces as contact_forces,
    simulated_system as simulated_system,
)
from .eigenvalue_sweep import (
    steady_growth as steady_growth,
)
from .instant import (
    check_time as check_time,
    input_vector as input_vector,
    speed_rows as speed_rows,
)
from .instant_kinematics import (
    BodyMotion as BodyMotion,
    inputs_for as inputs_for,
)
from .linearization import (
    Linearization as Linearization,
    linearize as linearize,
    linearize_point as linearize_point,
    small_motions as small_motions,
    steady_state_at as steady_state_at,
)
from .local_coordinates import (
    LocalState as LocalState,
    local_coordinates_at as local_coordinates_at,
)
from .modes import (
    SweptMode as SweptMode,
)
from .relevant_state import (
    RelevantState as RelevantState,
)
from .scenario import (
    scenario_start as scenario_start,
    settable_names as settable_names,
    split_changes as split_changes,
)
from .steady_equations import (
    SteadyTask as SteadyTask,
)
from .steady_motion import (
    SteadyMotion as SteadyMotion,
    relevance as relevance,
    steady as steady,
)
