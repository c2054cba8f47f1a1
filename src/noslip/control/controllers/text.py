"""Controllers as text, for the command line: ``pose``, ``pose:kx=2;ky=6``, ``pd:kp=30,20;kd=6,4``.

The grammar is that of paths (``paths/text.py``). The keys of ``lqr`` are names of states and inputs
with their weights: ``lqr:platform.x=20;platform.y=20;torque1=1;torque2=1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noslip.control.controllers.base import AbstractController
from noslip.control.controllers.computed_torque import (
    AccelerationResolved,
    CartesianTracking,
    ComputedTorque,
    ProportionalDerivative,
)
from noslip.control.controllers.pose import PoseTracking
from noslip.control.controllers.regulator import Regulator
from noslip.control.controllers.steered import SteeredTracking
from noslip.control.controllers.trailer import TrailerTracking
from noslip.control.paths.text import read_entries, read_form, read_number
from noslip.errors import SimulationError

#: Controllers by the name they have in text.
CONTROLLERS: dict[str, type[AbstractController]] = {
    "pose": PoseTracking,
    "steered": SteeredTracking,
    "trailer": TrailerTracking,
    "computed-torque": ComputedTorque,
    "pd": ProportionalDerivative,
    "acceleration-resolved": AccelerationResolved,
    "cartesian": CartesianTracking,
}

#: Those that are read elsewhere.
OTHERS = ("none", "lqr")


def parse_controller(
    text: str, known: Mapping[str, Any] | None = None
) -> AbstractController | Regulator | None:
    """The controller that a `text` describes; none for ``none``.

    Parameters
    ----------
    text : ``name:key=value;key=value``.
    known : arguments that are known from elsewhere, such as the steering that a path needs.

    Raises
    ------
    SimulationError : a name or key is not known, or a value cannot be read.
    """
    name = text.partition(":")[0].strip()
    if name == "none":
        return None
    if name != "lqr":
        return read_form(text, "controller", CONTROLLERS, OTHERS, known)
    where = f"controller '{text}'"
    weights = {
        key: read_number(value, key, where) for key, value in read_entries(text, "controller", [])
    }
    if not weights:
        raise SimulationError(
            "controller 'lqr' has no weights",
            where,
            "weight states and inputs by name: lqr:platform.x=20;platform.y=20;torque1=1;torque2=1",
        )
    return Regulator(weights=weights)
