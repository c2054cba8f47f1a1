"""The motion of a vehicle along a path: what of it follows, and how smooth the path must be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from typing import Any

from noslip.base import Array, SimulationError, counted, nearest
from noslip.control.follower import Follower
from noslip.control.motions.follower_search import can_slide, find_follower, undriven_speeds
from noslip.control.motions.path import AbstractPathMotion, PathMotion, rates_of
from noslip.control.motions.trailer import TrailerMotion
from noslip.control.paths.base import AbstractPath
from noslip.control.paths.smoothness import curvature_jumps
from noslip.control.timing.laws import AbstractTiming, timing_law
from noslip.engines import System
from noslip.engines import compile as compile_system
from noslip.expressions import CONSTANTS, ExpressionError, Scalar, names_of, parse
from noslip.formulations import derive
from noslip.model import ModelBuilder, is_undefined

#: Variable of a heading.
ARC_LENGTH = "s"
#: Rate at which a steering turns at a standstill if no other is known, rad/s.
TURNING = 0.5


def choose_follower(system: System, values: Array, follower: Follower | str | None) -> Follower:
    """Follower of a path: the given fields, and the others found from the constraints.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    follower : what of it is known, or the name of the body whose axle follows.
    """
    given = Follower(body=follower) if isinstance(follower, str) else follower or Follower()
    _check_given(system, given)
    chosen = {
        f.name: value
        for f in fields(Follower)
        if (value := getattr(given, f.name)) is not None and value != _default(f)
    }
    if given.links is None and not _is_known(system, given):
        found = find_follower(system, values, reverse=given.reverse, body=given.body)
        given = replace(found, **chosen)
    held = tuple((name, given.reference.get(name, value)) for name, value in given.held)
    return replace(given, held=held)


def _check_given(system: System, follower: Follower) -> None:
    """Refuse names that the model does not have, and fields that nothing would use."""
    where = f"follower of model '{system.model.name}'"
    coordinates = [c.name for c in system.coordinates]
    for word in ("steering", "hinge"):
        name = getattr(follower, word)
        if name and name not in coordinates:
            raise SimulationError(
                f"{word} is '{name}', which is not a coordinate", where, nearest(name, coordinates)
            )
    values = system.model.parameter_values()
    parameters = list(values)
    for word in ("point", "direction", "heading", "wheelbase", "hitch", "trailer"):
        value = getattr(follower, word)
        known = [*parameters, ARC_LENGTH] if word == "heading" else parameters
        for text in value if isinstance(value, tuple) else (value,):
            for name in sorted(_names(text, word, where) - {*known, *CONSTANTS}):
                raise SimulationError(
                    f"{word} is '{text}', and there is no '{name}'", where, nearest(name, known)
                )
            if text is not None and not _is_defined(text, values):
                raise SimulationError(
                    f"{word} is '{text}', which has no finite value",
                    where,
                    "give finite numbers, and keep denominators away from zero",
                )
    if follower.hinge and not follower.steering:
        raise SimulationError(
            f"the axle behind '{follower.hinge}' follows the path, and no steering is named",
            where,
            "name the steering, with its wheelbase, or give the body whose axle follows instead",
        )
    unused = [word for word in ("hitch", "trailer") if getattr(follower, word)]
    if unused and not follower.hinge and follower.links is None:
        raise SimulationError(
            f"{unused[0]} is given without the hinge that it belongs to", where, "name the hinge"
        )


def _is_defined(value: Scalar, values: Mapping[str, float]) -> bool:
    """Whether a scalar is finite, as far as it is known at some values."""
    if isinstance(value, str):
        return not is_undefined(parse(value), values)
    return math.isfinite(value)


def _names(value: Scalar | None, word: str, where: str) -> frozenset[str]:
    """Names of a scalar."""
    if not isinstance(value, str):
        return frozenset()
    try:
        return names_of(value)
    except ExpressionError as error:
        raise SimulationError(
            f"{word} is '{value}': {error}", where, "give a number or an expression of parameters"
        ) from None


def _is_known(system: System, follower: Follower) -> bool:
    """Whether it is named by hand; what speed inputs move is found nonetheless."""
    if follower.steering is not None or follower.hinge is not None:
        return True
    is_framed = follower.point is not None and follower.direction is not None
    return is_framed and not system.model.speed_inputs


def _default(f: Field[Any]) -> Any:
    return f.default if f.default is not MISSING else {}


def has_planar_base(system: System) -> bool:
    """Whether a body is on a planar joint with the ground."""
    nodes = system.kinematics.tree.nodes
    return any(node.joint.type.is_planar and node.parent < 0 for node in nodes)


def check_actuators(system: System, inputs: tuple[str, ...] = ()) -> None:
    """Refuse a model some of whose motions no actuator drives, by name."""
    missing = undriven_speeds(system, inputs)
    if missing:
        dof = len(system.independent_speeds)
        listed = ", ".join(f"'{name}'" for name in missing)
        count = len(inputs) or len(system.model.inputs)
        raise SimulationError(
            f"no actuator drives {listed}: the model has {counted(count, 'force input')} for "
            f"{counted(dof, 'degree')} of freedom, so they cannot produce every motion",
            f"motion of model '{system.model.name}'",
            f"add motors, such as a Motor with an input on '{missing[0]}', or give the inputs "
            "instead of the motion",
        )


def slip_free(system: System, values: Array) -> System | None:
    """The vehicle on wheels that do not slip, if only its tires keep it on a path; else None.

    On tires all motions are free, and motors determine them only through the tires' forces.

    Parameters
    ----------
    system : compiled system with a planar base.
    values : (np,) parameter vector.
    """
    model = system.model
    stands_for = {force.name: force.without_slip() for force in model.forces}
    wheels = [contact for contact in stands_for.values() if contact is not None]
    if not wheels or not (undriven_speeds(system) or can_slide(system, values)):
        return None

    def make() -> System:
        taken = {contact.name for contact in model.contacts}
        named = [
            replace(wheel, name=f"{wheel.name}.rolling")  # type: ignore[type-var]
            if wheel.name in taken
            else wheel
            for wheel in wheels
        ]
        forces = tuple(force for force in model.forces if stands_for[force.name] is None)
        other = replace(
            model,
            name=f"{model.name} without slip",
            contacts=(*model.contacts, *named),
            forces=forces,
            independent_speeds=(),
            scenario=None,
        )
        return compile_system(derive(ModelBuilder.from_model(other).build()))

    return system.cached(("without slip",), make)


def smooth_enough(
    system: System, path: AbstractPath, follower: Follower
) -> tuple[AbstractPath, tuple[str, ...]]:
    """A path that leaves its smoothness open, as smooth as continuous forces need; and a note.

    Parameters
    ----------
    system : compiled system.
    path : as given.
    follower : what follows it.
    """
    motion = motion_along(path, timing_law(None, system, path, follower), follower)
    return smoothed(path, motion.order(system))


def smoothed(path: AbstractPath, needed: int) -> tuple[AbstractPath, tuple[str, ...]]:
    """A path that leaves its smoothness open, as smooth as continuous forces need; and a note.

    Parameters
    ----------
    path : as given.
    needed : the highest derivative of its curvature that must not jump.
    """
    if not curvature_jumps(path, needed):
        return path, ()
    order = needed + 1
    smooth = path.of_order(order)
    if smooth is path:
        return path, ()
    return smooth, (
        f"path: with {order} continuous derivatives of its curvature, as continuous forces of this "
        f"vehicle need ({type(path).__name__}, order={order})",
    )


def turn_at_cusps(
    system: System,
    motion: AbstractPathMotion,
    follower: Follower,
    limits: Mapping[str, float] | None = None,
) -> tuple[AbstractPathMotion, tuple[str, ...]]:
    """A motion that stands at cusps as long as its steering needs to turn there; and notes.

    Parameters
    ----------
    system : compiled system.
    motion : along the path.
    follower : what follows it, with the rate of the steering.
    limits : of inputs by name, among them speed inputs that steer.

    Raises
    ------
    SimulationError : if something would have to turn that no steering turns.
    """
    turns = motion.standing_turns(system)
    if not any(turns):
        return motion, ()
    rate = follower.steering_rate
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise SimulationError(
            f"the rate of the steering is {rate} rad/s",
            f"path for model '{system.model.name}'",
            "give the rate at which it turns at a standstill, above 0",
        )
    bounds = {i.speed: (limits or {}).get(i.name) for i in system.model.speed_inputs}
    own = {name: bounds.get(speed) for name, speed in rates_of(system)}
    pauses, notes = [], []
    for turn in turns:
        if turn is None or not turn.angles:
            pauses.append(0.0)
            continue
        # rates fall with the time it takes
        needed = [
            fastest / (rate or own.get(name) or TURNING)
            for name, fastest in zip(turn.angles, turn.fastest, strict=True)
        ]
        pauses.append(max(needed))
        said = zip(turn.angles, turn.changes, strict=True)
        listed = ", ".join(f"{name} turns by {change:.4g} rad" for name, change in said)
        notes.append(
            f"stands {pauses[-1]:.3g} s at the cusp {turn.arc_length:.4g} m along the path, while "
            f"{listed}"
        )
    return motion.timed(motion.timing.paused(tuple(pauses))), tuple(notes)


def motion_along(
    path: AbstractPath, timing: AbstractTiming, follower: Follower
) -> AbstractPathMotion:
    """The motion of a vehicle, or of the axle of its trailer, along a path."""
    known = {f.name: getattr(follower, f.name) for f in fields(follower)}
    given = {name: value for name, value in known.items() if value is not None}
    given |= {"path": path, "timing": timing}
    motion = TrailerMotion if follower.hinge else PathMotion
    own = [f.name for f in fields(motion)]
    return motion(**{name: value for name, value in given.items() if name in own})
