"""General constraint rows given as expressions.

A row says which speeds or coordinates it ties, not on which bodies and where its force acts.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VelocityRow:
    """A row A(q) v + a(q, t) = 0, given as an expression that is linear in the speeds.

    Parameters
    ----------
    name : unique among rows.
    expression : of parameters, coordinates, speeds and time ``t``; it is kept at zero.
    unit : of the expression; the multiplier's unit is W over it (m/s → N).
    """

    name: str
    expression: str
    unit: str = "m/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRow:
    """A row g(q, t) = 0, given as an expression of parameters, coordinates and time ``t``."""

    name: str
    expression: str
    unit: str = "m"


Row = VelocityRow | PositionRow
