"""Timing laws as text, for the command line: ``quintic:60``, ``constant-speed:0.5``.

The grammar is that of paths (``paths/text.py``): ``trapezoidal:speed=1;acceleration=0.5``.
"""

from __future__ import annotations

from noslip.control.paths.text import read_form
from noslip.control.timing.laws import AbstractTiming, ConstantEnergy, ConstantSpeed, Quintic
from noslip.control.timing.profiles import SpeedProfile
from noslip.control.timing.ramps import SCurve, SpeedSchedule, Trapezoidal

#: Timing laws by the name they have in text.
TIMINGS: dict[str, type[AbstractTiming]] = {
    "quintic": Quintic,
    "trapezoidal": Trapezoidal,
    "s-curve": SCurve,
    "constant-speed": ConstantSpeed,
    "constant-energy": ConstantEnergy,
    "profile": SpeedProfile,
    "schedule": SpeedSchedule,
}


def parse_timing(text: str) -> AbstractTiming:
    """The timing law that a `text` describes: ``name:key=value;key=value``, or ``name:value``.

    Raises
    ------
    SimulationError : a name or key is not known, or a value cannot be read.
    """
    return read_form(text, "timing", TIMINGS)
