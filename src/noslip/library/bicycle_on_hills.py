"""The benchmark bicycle on hilly ground that was measured on a grid."""

from __future__ import annotations

import dataclasses
from math import cos, sin

from noslip import Model, Scenario
from noslip.contacts import Rolling
from noslip.grounds import GridGround
from noslip.library.whipple_bicycle import build as bicycle


def hills(step: float, columns: int, rows: int, origin: tuple[float, float]) -> GridGround:
    """Gentle hills as one would measure them, to the millimeter."""
    x = [origin[0] + step * k for k in range(columns)]
    y = [origin[1] + step * k for k in range(rows)]
    heights = [
        round(0.22 * sin(0.55 * a) * cos(0.45 * b) + 0.06 * sin(0.9 * b), 3) for b in y for a in x
    ]
    return GridGround(heights=tuple(heights), columns=columns, step=step, origin=origin)


def build() -> Model:
    """The bicycle of `whipple-bicycle` with both wheels on the hills."""
    model = bicycle()
    ground = hills(1.5, 11, 6, (-1.5, -3.75))
    contacts = tuple(
        dataclasses.replace(contact, ground=ground)
        for contact in model.contacts
        if isinstance(contact, Rolling)
    )
    return dataclasses.replace(
        model,
        name="bicycle-on-hills",
        description="The benchmark bicycle over hills from a grid of measured heights",
        contacts=contacts,
        scenario=Scenario(
            duration=2.0,
            samples=201,
            start={
                "speed": 5.0,
                "frame.x": 0.0,
                "frame.y": 0.0,
                "frame.yaw": 0.0,
                "frame.lean": 0.0,
            },
            description="Coasting over hills without hands at 5 m/s",
        ),
    )
