"""The public names of `noslip.sensors`; read at run time too."""

from .control.estimators import (
    AbstractInstrument as AbstractInstrument,
    Odometry as Odometry,
    Gyroscope as Gyroscope,
    Beacon as Beacon,
    PoseSensor as PoseSensor,
    ExtendedKalman as ExtendedKalman,
)
