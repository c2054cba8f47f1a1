"""What a page shows of a model at first: its scenario, or something that moves.

A model without a scenario has neither a start nor inputs. A vehicle whose motors can follow a path
then follows one; other inputs swing it, and what has none gets speeds at the start.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import NoslipError
from noslip.show.scene.scene import scene
from noslip.simulation.starts.completion import complete_start
from noslip.studio.choosing.choice import PATH, Choice, first_choice

#: Angular acceleration that an input causes, rad/s², and the rate at which it swings, rad/s; what
#: is moved by lengths of the model in place of radians.
SWING, RATE = 2.0, 2.0
#: Angular speed at the start, and that of a speed input, rad/s.
SPEED = 1.0
#: Angle of what cannot lie flat, rad.
TURNED = 1.2


def first_choice_of(system: System, tasks: tuple[str, ...]) -> Choice:
    """The choice that a page begins with.

    Parameters
    ----------
    system : compiled system.
    tasks : that the model supports.
    """
    model = system.model
    choice = first_choice(model)
    if model.scenario is not None:
        return choice
    if PATH in tasks:
        return dataclasses.replace(choice, task=PATH)
    with suppress(NoslipError):  # without a consistent start the page says so itself
        return _moving(system, choice)
    return choice


def _moving(system: System, choice: Choice) -> Choice:
    """Inputs that swing it, or speeds at the start where nothing else moves it."""
    placed = _place(system)
    start, params = complete_start(system, placed), system.parameters()
    length = scene(system.model).length
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    speeds = slice(len(start.q), len(start.q) + len(start.eta))
    sizes = np.array([length if s.unit == "m/s" else 1.0 for s in system.independent_speeds])

    def accelerations(u: Array) -> Array:
        return np.asarray(system.rates(0.0, x, u, params))[speeds] / sizes

    at_rest = accelerations(np.zeros(len(system.inputs)))
    unit = np.eye(len(system.inputs))
    inputs = dict(choice.inputs)
    for k, force in enumerate(system.model.inputs):
        gain = float(np.max(np.abs(accelerations(unit[k]) - at_rest), initial=0.0))
        if np.isfinite(gain) and gain > 0:
            inputs[force.name] = f"{SWING / gain:.2g}*sin({RATE:g}*t)"
    first = len(system.model.inputs)
    for rate in system.inputs[first : first + len(system.model.speed_inputs)]:
        size = length if rate.unit == "m/s" else 1.0
        inputs[rate.name] = f"{SPEED * size:.2g}*sin({RATE:g}*t)"
    choice = dataclasses.replace(choice, inputs=inputs, changes=placed)
    if any(text != "0" for text in inputs.values()):
        return choice
    given = zip(system.independent_speeds, sizes, strict=True)
    return choice.with_changes({s.name: float(f"{SPEED * size:.2g}") for s, size in given})


def _place(system: System) -> dict[str, float]:
    """A place from which the constraints can be met: all at rest, or an angle that is turned."""
    joints = system.model.joints
    named = ((joint.name, joint.type.named_angles()) for joint in joints)
    turned = [f"{name}.{angle}" for name, angles in named if angles for angle in angles.names]
    for given in ({}, *({name: TURNED} for name in turned)):
        with suppress(NoslipError):
            complete_start(system, given)
            return given
    return {}
