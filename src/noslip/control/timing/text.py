"""Timing laws as text, for the command line: ``quintic:60``, ``constant-speed:0.5``.

The grammar is that of paths (``paths/text.py``): ``trapezoidal:speed=1;acceleration=0.5``. The
keys of ``least-time`` are its limits, and force inputs: ``least-time:speed=1;torque1=0.3``.
"""

from __future__ import annotations

import inspect

from noslip.control.paths.text import read_entries, read_form, read_number
from noslip.control.timing.laws import AbstractTiming, ConstantEnergy, ConstantSpeed, Quintic
from noslip.control.timing.least_time import LeastTime
from noslip.control.timing.piecewise import SCurve, SpeedProfile, SpeedSchedule, Trapezoidal

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


def parse_timing(text: str) -> AbstractTiming | LeastTime:
    """The timing law that a `text` describes: ``name:key=value;key=value``, or ``name:value``.

    Raises
    ------
    SimulationError : a name or key is not known, or a value cannot be read.
    """
    if text.partition(":")[0].strip() == "least-time":
        return _fastest(text)
    return read_form(text, "timing", TIMINGS, ("least-time",))


def _fastest(text: str) -> LeastTime:
    """Limits by their keys; all others are of force inputs."""
    keys = [key for key in inspect.signature(LeastTime).parameters if key != "inputs"]
    entries = read_entries(text, "timing", keys)
    values = {key: read_number(value, key, f"timing '{text}'") for key, value in entries}
    own = {key: value for key, value in values.items() if key in keys}
    return LeastTime(**own, inputs={key: x for key, x in values.items() if key not in keys})
