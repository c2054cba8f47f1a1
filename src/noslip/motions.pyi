"""The public names of `noslip.motions`; read at run time too."""

from .control.motions.path import (
    PathMotion as PathMotion,
)
from .control.motions.frame import (
    FrameMotion as FrameMotion,
)
from .control.motions.trailer import (
    TrailerMotion as TrailerMotion,
)
from .control.reference.motion import (
    ExpressionMotion as ExpressionMotion,
)
from .control.reference.inverse import (
    FollowMotion as FollowMotion,
)
