"""A small picture of a model as its scenario starts, without a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from noslip.engines.system import System
from noslip.errors import NoslipError
from noslip.formulations.derive import derive
from noslip.model import expressions
from noslip.model.expressions import NUMBERS, ExpressionError
from noslip.model.model import Model
from noslip.show.scene.frames import Frames
from noslip.show.scene.geometry import quaternions_of
from noslip.show.scene.scene import scene
from noslip.simulation.starts.completion import complete_start, start_names

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = 360, 240


def portrait(model: Model, *, width: int = WIDTH, height: int = HEIGHT) -> Image | None:
    """A picture of a model, as its scenario starts; None for a model that has no start.

    Parameters
    ----------
    model : checked model.
    width, height : pixels.
    """
    from noslip.show.scene.still import still

    try:
        frame = _frame(System(equations=derive(model)))
    except NoslipError:
        return None
    options = {"width": width, "height": height, "traces": False, "caption": None}
    return still(scene(model), frame, 0, **options)


def _frame(system: System) -> Frames:
    """All bodies at the start, as a film of one picture."""
    kin = system.kinematics
    params = system.parameters()
    names = set(start_names(system))
    given = {name: value for name, value in scenario_start(system.model) if name in names}
    q = complete_start(system, given).q
    columns = [
        # a matrix by columns of its transpose is itself by rows
        ca.vertcat(ca.vec(n.R_WB.T), n.p_WB, n.p_WB + ca.mtimes(n.R_WD, n.center_D))
        for n in kin.tree.nodes
    ]
    s = kin.symbols
    pose = ca.Function("pose", [s.q, s.params], [ca.densify(ca.horzcat(*columns))])
    names_of = [n.body.name for n in kin.tree.nodes]
    found = dict(zip(names_of, np.array(pose(q, params)).T, strict=True))
    bodies = tuple(body.name for body in system.model.bodies)
    table = np.array([found[name] for name in bodies])[None]
    look = scene(system.model)
    return Frames(
        times=np.zeros(1),
        bodies=bodies,
        positions=table[..., 9:12],
        quaternions=quaternions_of(table[..., :9].reshape(1, -1, 3, 3)),
        centers=table[..., 12:],
        velocities=np.zeros((1, len(bodies), 3)),
        traces={},
        rolled={roller.name: np.zeros(1) for roller in look.rollers},
    )


def scenario_start(model: Model) -> Iterator[tuple[str, float]]:
    """Coordinates and angles that a scenario gives, by its start or its motion at t = 0."""
    scenario = model.scenario
    if scenario is None:
        return
    values = {"t": 0.0, **model.parameter_values()}
    values |= {p.name: p.value for p in scenario.parameters}
    for name, text in scenario.definitions.items():
        values[name] = _number(text, values)
    for name, scalar in {**scenario.motion, **scenario.start}.items():
        value = float(scalar) if not isinstance(scalar, str) else _number(scalar, values)
        if np.isfinite(value):
            yield name, value


def _number(text: str, values: dict[str, float]) -> float:
    """An expression in numbers; NaN where it has none at the start."""
    try:
        return float(expressions.evaluate(expressions.parse(text), values, NUMBERS))
    except (ExpressionError, ArithmeticError, KeyError, ValueError):
        return float("nan")
