"""Motions to follow, of frames, trailers and coordinates."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.control.motions.path import (
        PathMotion as PathMotion,
    )
    from noslip.control.motions.frame import (
        FrameMotion as FrameMotion,
    )
    from noslip.control.motions.trailer import (
        TrailerMotion as TrailerMotion,
    )
    from noslip.control.reference.motion import (
        ExpressionMotion as ExpressionMotion,
    )
    from noslip.control.reference.inverse import (
        FollowMotion as FollowMotion,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
