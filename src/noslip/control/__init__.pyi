"""Names that other packages may use, in the order in which they are needed."""

from .controllers.base import (
    AbstractControllerPlan as AbstractControllerPlan,
)
from .driving.balancing import (
    Balance as Balance,
)
from .driving.channels import (
    DriveControls as DriveControls,
    PLACE as PLACE,
    SPEED as SPEED,
    make_controls as make_controls,
)
from .driving.driver import (
    Driver as Driver,
)
from .forms import (
    AbstractForm as AbstractForm,
    form_words as form_words,
    read_form as read_form,
)
from .motions.follower_search import (
    find_follower as find_follower,
)
from .paths.arc_length import (
    sample as sample,
)
from .paths.base import (
    Point as Point,
    heading as heading,
)
from .paths.shortest import (
    shortest_words as shortest_words,
)
from .plant import (
    parse_sensor as parse_sensor,
    parse_signal as parse_signal,
)
from .reference.inverse import (
    solve_inputs as solve_inputs,
)
from .scenario import (
    driven_system as driven_system,
)
from .timing.laws import (
    AbstractTimingPlan as AbstractTimingPlan,
)
from .vehicle_motion import (
    has_planar_base as has_planar_base,
    slip_free as slip_free,
)
