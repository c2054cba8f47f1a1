"""Paths and timing laws as knobs: their numbers become sliders, and the whole a text as commands
have it, ``circle:radius=2``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping

from noslip.control.paths.base import AbstractPath
from noslip.control.paths.text import PATHS, read_form
from noslip.control.timing.laws import AbstractTiming
from noslip.control.timing.text import TIMINGS
from noslip.studio.choosing.knobs import Knob, ranged

#: The kind whose text is typed as it stands.
TYPED = "typed"

#: Paths and timing laws whose numbers are all single ones.
PATH_KINDS = ("circle", "figure-eight", "ellipse", "sine", "catenary", "clothoid", TYPED)
TIMING_KINDS = ("quintic", "trapezoidal", "s-curve", "constant-speed", TYPED)

#: Numbers of a path in lengths of the model, and of a timing law in lengths and seconds.
_LENGTHS = {
    **{"radius": 4.0, "half_width": 6.0, "half_height": 3.0, "extent": 24.0, "amplitude": 2.0},
    **{"x0": 10.0, "length": 20.0, "speed": 1.0, "acceleration": 0.5, "jerk": 0.5},
}
_BENDS = {"wave_number": 0.5, "start_curvature": 0.0, "end_curvature": 0.25}
_UNITS = {
    **{"wave_number": "rad/m", "start_curvature": "1/m", "end_curvature": "1/m", "turns": "1"},
    **{"speed": "m/s", "acceleration": "m/s^2", "jerk": "m/s^3", "duration": "s"},
    **{"start_angle": "rad", "start_heading": "rad"},
}


def form_knobs(family: str, kind: str, length: float) -> tuple[Knob, ...]:
    """Sliders for the numbers of a path or a timing law.

    Parameters
    ----------
    family : ``path`` or ``timing``.
    kind : its word; `TYPED` has no sliders.
    length : of the model, m, which sets the sizes.
    """
    if kind == TYPED:
        return ()
    members: Mapping[str, type] = PATHS if family == "path" else TIMINGS
    knobs = []
    for name, argument in inspect.signature(members[kind]).parameters.items():
        if argument.annotation != "float":
            continue
        value = argument.default
        if value is argument.empty:
            value = _LENGTHS.get(name, 0.0) * length + _BENDS.get(name, 0.0) / length
            value = float(f"{20.0 if name == 'duration' else value:.1g}")
        unit = _UNITS.get(name, "m")
        if unit == "rad":
            ends = (-math.pi, math.pi)
        elif unit == "1":
            ends = (0.25, 4.0)
        elif name.endswith("curvature"):
            ends = (-0.5 / length, 0.5 / length)
        else:
            ends = (value / 5, 5 * value)
        knobs.append(ranged(f"{family}.{name}", unit, float(value), *ends))
    return tuple(knobs)


def form_text(family: str, kind: str, values: Mapping[str, float], typed: str) -> str:
    """The text of a form, as a command has it."""
    if kind == TYPED:
        return typed
    own = {n.removeprefix(f"{family}."): x for n, x in values.items() if n.startswith(f"{family}.")}
    return f"{kind}:" + ";".join(f"{name}={value!r}" for name, value in own.items())


def read_path(text: str) -> AbstractPath:
    """The path of a text. A file cannot be named here, unlike on the command line."""
    return read_form(text, "path", PATHS)


def read_timing(text: str) -> AbstractTiming:
    """The timing law of a text."""
    return read_form(text, "timing", TIMINGS)
