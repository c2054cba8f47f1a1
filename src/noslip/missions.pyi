"""The public names of `noslip.missions`; read at run time too."""

from .duty.mission import (
    Battery as Battery,
    DriveSamples as DriveSamples,
    Gearmotor as Gearmotor,
    MotorDuty as MotorDuty,
)
from .duty.mission import (
    DriveLeg as DriveLeg,
    Mission as Mission,
    PlanLeg as PlanLeg,
    StopLeg as StopLeg,
    TurnLeg as TurnLeg,
    Zone as Zone,
    read_mission as read_mission,
)
from .duty.cycle import (
    DutyCycle as DutyCycle,
    LegDuty as LegDuty,
    drive_mission as drive_mission,
)
from .duty.cycle import (
    Catalog as Catalog,
    DriveChoice as DriveChoice,
    read_catalog as read_catalog,
    size_drives as size_drives,
)
from .show.plots.plotting import (
    plot_duty as plot_duty,
)
