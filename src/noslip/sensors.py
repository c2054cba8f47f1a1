"""Sensors of a control loop, and the Kalman filter that reads them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.control.estimators import (
        AbstractInstrument as AbstractInstrument,
        Odometry as Odometry,
        Gyroscope as Gyroscope,
        Beacon as Beacon,
        PoseSensor as PoseSensor,
        ExtendedKalman as ExtendedKalman,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
