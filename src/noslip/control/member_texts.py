"""Reading paths, timing laws and controllers from text, as the command line has them.

The grammar is in `text_grammar.py`. This module knows the members of the package by importing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import noslip.control.computed_torque
import noslip.control.curves
import noslip.control.least_time
import noslip.control.lqr
import noslip.control.path_tracking
import noslip.control.shortest_paths
import noslip.control.timing_laws  # noqa: F401
from noslip.control.closed_loop import AbstractControllerPlan
from noslip.control.path_geometry import AbstractPath
from noslip.control.text_grammar import read_form
from noslip.control.timing_laws import AbstractTimingPlan


def parse_path(text: str) -> AbstractPath:
    """The path that a `text` describes: ``word:key=value;key=value``, or ``csv:`` and a file.

    Raises
    ------
    SimulationError : a word or key is not known, or a value cannot be read.
    """
    path: AbstractPath = read_form(AbstractPath, text)
    return path


def parse_timing(text: str) -> AbstractTimingPlan:
    """The timing law that a `text` describes: ``word:key=value;key=value``, or ``word:value``.

    Raises
    ------
    SimulationError : a word or key is not known, or a value cannot be read.
    """
    timing: AbstractTimingPlan = read_form(AbstractTimingPlan, text)
    return timing


def parse_controller(text: str, known: Mapping[str, Any] | None = None) -> AbstractControllerPlan:
    """The controller that a `text` describes; feed-forward for ``none``.

    Parameters
    ----------
    text : ``word:key=value;key=value``.
    known : arguments that are known from elsewhere, such as the steering that a path needs.

    Raises
    ------
    SimulationError : a word or key is not known, or a value cannot be read.
    """
    controller: AbstractControllerPlan = read_form(AbstractControllerPlan, text, known)
    return controller
