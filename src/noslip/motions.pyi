"""The public names of `noslip.motions`; read at run time too."""

from .control.path_motion import (
    PathMotion as PathMotion,
    TrailerMotion as TrailerMotion,
)
from .control.reference_motion import (
    FrameMotion as FrameMotion,
    ExpressionMotion as ExpressionMotion,
    FollowMotion as FollowMotion,
)
