"""Names that other packages may use, in the order in which they are needed."""

from .closed_loop import (
    AbstractControllerPlan as AbstractControllerPlan,
)
from .driving import (
    Balance as Balance,
    DriveControls as DriveControls,
    PLACE as PLACE,
    SPEED as SPEED,
    make_controls as make_controls,
    Driver as Driver,
)
from .text_grammar import (
    AbstractForm as AbstractForm,
    form_words as form_words,
    read_form as read_form,
)
from .followers import (
    find_follower as find_follower,
    has_planar_base as has_planar_base,
    slip_free as slip_free,
)
from .path_geometry import (
    sample as sample,
    Point as Point,
    heading as heading,
)
from .shortest_paths import (
    shortest_words as shortest_words,
)
from .true_plant import (
    parse_sensor as parse_sensor,
    parse_signal as parse_signal,
)
from .closed_loop import (
    AbstractAskedController as AbstractAskedController,
)
from .reference_motion import (
    AbstractMotion as AbstractMotion,
    Reference as Reference,
    reference_along as reference_along,
    solve_inputs as solve_inputs,
)
from .controlled_runs import (
    driven_system as driven_system,
)
from .timing_laws import (
    AbstractTimingPlan as AbstractTimingPlan,
)
