"""Notes on finished runs: second contacts, contacts that would be pulled, brakes that would drive.

**Search for second contacts: where a body is within its ground beside its contact.**

A contact knows one pair of closest points. Whether a body touches its ground elsewhere too, as a
wheel does in a ditch that is narrower than it, no row shows. So after a run points all over the
surface (those of its picture) are put where they are at samples, and their clearance of the ground
is looked at. A second contact is seen once one of these points, a tenth of a radius apart, is
within the ground: a thousandth of the body's size deep on smooth ground, later on a sharp ridge.

**Notes on contacts that the ground would have to pull on, and on brakes that would have to drive.**

A normal row, or a planar joint, holds a body on a plane whatever its force: a run on flat ground
goes on where a wheel would lift. A brake's input that is negative acts as 0. Where either begins is
found when the notes of a run are first read, by the same run with the normal forces and the inputs
as events, so that a dip between two samples is seen and a run whose notes nobody reads costs
nothing.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import System, once_a_system
from noslip.expressions import names_in, parse
from noslip.kinematics import parameter_reader, plane_pose
from noslip.model import AbstractContact, NumberReader
from noslip.simulation.expressions import is_shared, jumping_angles, load_names
from noslip.simulation.inputs import NEGATIVE, AbstractInputLaw, InputPlan, InputSpec

#: Samples that are looked at, evenly spaced, and the share of a body's size that counts as depth.
MOST, DEPTH = 64, 1e-6
#: Far from the contact, in sizes of the body, each third point along both parameters is looked at
#: first; all of them where one is closer to the ground than half of what lies between such points.
FAR, COARSE, CLOSE = 0.25, 3, 0.02


def second_contact_notes(system: System, t: Array, q: Array, values: Array) -> tuple[str, ...]:
    """A note for each contact on curved ground whose body is within its ground elsewhere."""
    contacts = [c for c in system.model.contacts if not c.is_flat]
    if not contacts or not len(t):
        return ()
    chosen = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST)).round().astype(int))
    read = NumberReader(system.model.parameter_values(values))
    notes = []
    for contact in contacts:
        found = _deepest(system, contact, t[chosen], q[chosen], values, read)
        if found is not None:
            when, depth, place = found
            x, y, z = place
            notes.append(
                f"contact '{contact.name}': beside its contact point the body is within its ground "
                f"at t = {when:.4g} s, {depth:.2g} m deep near ({x:.3g}, {y:.3g}, {z:.3g}): a "
                "second contact, which the model does not have"
            )
    return tuple(notes)


def _deepest(
    system: System, contact: AbstractContact, t: Array, q: Array, values: Array, read: NumberReader
) -> tuple[float, float, Array] | None:
    """Time, depth and place in the world at the first sample where a body is within its ground."""
    surface = contact.surface
    assert surface is not None
    net = surface.picture(read)
    marks = np.zeros(net.shape[:2], bool)
    marks[::COARSE, ::COARSE] = True
    points, is_coarse = net.reshape(-1, 3), marks.ravel()
    is_known = np.all(np.isfinite(points), axis=1)
    points, is_coarse = points[is_known], is_coarse[is_known]
    reach = float(ca.DM(ca.evalf(ca.SX(surface.reach(read)))))
    poses = np.array(_poses(system, contact).map(len(t))(t, q.T, np.tile(values, (len(t), 1)).T)).T
    R, R_ground = (poses[:, k : k + 9].reshape(-1, 3, 3) for k in (0, 9))  # transposed
    center, ground, touch = (poses[:, k : k + 3] for k in (18, 21, 24))
    world = points @ R + center[:, None]
    local = (world - ground[:, None]) @ R_ground.transpose(0, 2, 1)
    is_far = np.linalg.norm(world - touch[:, None], axis=2) > FAR * reach
    clearance = np.full(is_far.shape, np.inf)

    def look(where: NDArray[np.bool_]) -> None:
        found = contact.form.clearance(local[where], read)
        clearance[where] = np.where(np.isnan(found), np.inf, found)

    look(np.where(is_far, is_coarse, True))
    is_close = np.any(np.where(is_far, clearance, np.inf) < CLOSE * reach, axis=1)
    if is_close.any():
        look(is_far & is_close[:, None])
    deepest = clearance.min(axis=1)
    if not np.any(deepest < -DEPTH * reach):
        return None
    k = int(np.argmax(deepest < -DEPTH * reach))
    return float(t[k]), float(-deepest[k]), world[k, np.argmin(clearance[k])]


def _poses(system: System, contact: AbstractContact) -> ca.Function:
    """(t, q, params) → R of surface and ground by columns, their origins, and the contact point."""

    def make() -> ca.Function:
        middle = contact.wheel_center()
        assert middle is not None
        kin = system.kinematics
        symbols, tree = kin.symbols, kin.tree
        reader = parameter_reader(system.model, symbols.params)
        node = tree.nodes[tree.index[contact.body]]
        center = node.p_WB + ca.mtimes(node.R_WB, reader.vector(middle))
        R, p = plane_pose(contact.plane, tree, reader)
        trace = next(c for c in kin.contacts if c.contact.name == contact.name)
        parts = [node.R_WB, R, center, p, trace.point]
        output = ca.vertcat(*(ca.vec(ca.densify(ca.SX(x))) for x in parts))
        return ca.Function("poses", [symbols.t, symbols.q, symbols.params], [output])

    return system.cached(("poses of surface and ground", contact.name), make)


#: Normal forces above minus this part of the weight are rounding.
ROUNDING = 1e-9
#: Steps that a searched run takes at least: a load may fall and rise while nothing else changes.
FEWEST_STEPS = 200
#: Events by which a lift is found are called this, and the contact's name.
_EVENT = "lift-off of "
#: Events by which a brake's input is found to be negative, and the input's name.
_RELEASED = "release of "


@once_a_system
def held_contacts(system: System) -> dict[str, str]:
    """Contacts that are held down without having been asked to → the name of their load."""
    found: dict[str, str] = {}
    for contact in system.model.contacts:
        if not (contact.ends_at_lift or contact.keeps_down):
            load = load_names(system).get(contact.name)
            found |= {contact.name: load} if load else {}
    return found


def watched_events(
    system: System, scale: float, inputs: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Events at which loads and the inputs of brakes fall below rounding."""
    lifts = {
        f"{_EVENT}{name}": f"{load} + {ROUNDING * scale!r}"
        for name, load in held_contacts(system).items()
    }
    released = {
        f"{_RELEASED}{name}": f"({text}) + {NEGATIVE!r}" for name, text in (inputs or {}).items()
    }
    return lifts | released


def brakes_watched(
    system: System, inputs: Mapping[str, InputSpec] | AbstractInputLaw | None
) -> dict[str, str]:
    """Inputs of brakes that vary → expressions, as exact as may be.

    What is an expression of the motion is enclosed between two looks, and no dip is missed.
    """
    found = {}
    for name in brake_inputs(system):
        given = inputs.get(name, 0.0) if isinstance(inputs, Mapping) else inputs
        if isinstance(given, str) and not names_in(parse(given)) & jumping_angles(system).keys():
            found[name] = given
        elif not isinstance(given, numbers.Real):
            found[name] = f"given.{name}"
    return found


def called_releases(plans: Sequence[InputPlan], end: float) -> dict[str, Array]:
    """Events of the inputs that Python functions gave: these are not called a second time."""
    found: dict[str, Array] = {}
    for plan in plans:
        for name, first in plan.below.items():
            if first <= end and f"{_RELEASED}{name}" not in found:
                found[f"{_RELEASED}{name}"] = np.array([first])
    return found


class Seen(NamedTuple):
    """What a run passed through: at its samples, and where events are."""

    t: Array  #: (n,) s, rising
    loads: Array  #: (n, nc) of all held contacts, N
    inputs: Array  #: (n, nu) as they are given
    #: event times of `watched_events`; where the run could not be repeated, of the inputs that
    #: Python functions gave
    event_times: Mapping[str, Array]


def lift_notes(system: System, seen: Seen) -> tuple[str, ...]:
    """A note for each contact that the ground would have to pull on, and since when."""
    t, scale = seen.t, usual_force(system)
    notes = []
    for k, name in enumerate(held_contacts(system)):
        load = seen.loads[:, k]
        first = _first(t, load < -ROUNDING * scale, seen.event_times, f"{_EVENT}{name}")
        if first is not None:
            k = int(np.nanargmin(load))
            is_known = load[k] < 0 and not is_shared(system, name)
            least = f", {-load[k]:.4g} N at t = {t[k]:.6g} s" if is_known else ""
            notes.append(lift_text(system, name, first, least))
    return tuple(notes)


def brake_notes(system: System, seen: Seen) -> tuple[str, ...]:
    """A note for each brake whose input is negative, and since when."""
    notes = []
    for name, k in brake_inputs(system).items():
        values = seen.inputs[:, k]
        is_below = values < -ROUNDING * np.max(np.abs(values), initial=0.0)
        first = _first(seen.t, is_below, seen.event_times, f"{_RELEASED}{name}")
        if first is not None:
            notes.append(brake_text(name, f" from t = {first:.6g} s on"))
    return tuple(notes)


def _first(
    t: Array, is_below: NDArray[np.bool_], events: Mapping[str, Array], event: str
) -> float | None:
    """The first time at which a value is below zero, s: of a sample or of its event."""
    times = [float(t[k]) for k in np.flatnonzero(is_below)[:1]]
    if event in events and not (len(t) and is_below[0]):
        times += [float(x) for x in events[event][:1]]
    return min(times, default=None)


def lift_text(system: System, contact: str, time: float, more: str = "") -> str:
    """The note on a contact that the ground would have to pull on from a time on, s."""
    kin = system.kinematics
    row = held_contacts(system)[contact].removeprefix("reaction.")
    shared = {kin.rows[r.row].name for r in kin.redundant} | {
        name for r in kin.redundant for name in r.follows_from
    }
    how = " in the least-norm split of the forces" if row in shared else ""
    if is_shared(system, contact):
        how = ", however the wheels share the load"
    since = "the start" if np.isinf(time) else f"t = {time:.6g} s"
    return (
        f"contact '{contact}' would have to pull from {since} on{more}{how}: the run "
        'holds it down there; write lift = "end" to end where it lifts off, "keep" if it is held'
    )


def usual_force(system: System) -> float:
    """Weight of all bodies, N, as the scale of forces; that of 1 m/s² without gravity.

    With the nominal parameters, so that all runs share the code of their events.
    """
    read = NumberReader(system.model.parameter_values())
    mass = sum(float(read.scalar(body.mass)) for body in system.model.bodies)
    return mass * max(float(np.linalg.norm(read.vector(system.model.gravity))), 1.0)


def first_lifts(
    system: System, scale: float, begins: Mapping[str, Array], times: Mapping[str, Array]
) -> dict[int, str]:
    """Trajectory of a batch with `watched_events` → its first lift."""
    found: dict[int, tuple[float, str]] = {}
    for contact, column in held_contacts(system).items():
        first = times[f"{_EVENT}{contact}"][:, 0]
        first = np.where(begins[column][:, 0] < -ROUNDING * scale, -np.inf, first)
        for k in np.flatnonzero(~np.isnan(first)).tolist():
            found[k] = min(found.get(k, (np.inf, "")), (float(first[k]), contact))
    return {k: lift_text(system, contact, time) for k, (time, contact) in sorted(found.items())}


@once_a_system
def brake_inputs(system: System) -> dict[str, int]:
    """Inputs that act only where they are positive, as those of brakes, with their places."""
    pressed = {name for force in system.model.forces for name in force.pressed()}
    return {i.name: k for k, i in enumerate(system.model.inputs) if i.name in pressed}


def brake_text(name: str, when: str = "") -> str:
    """The note on an input of a brake that is negative."""
    return f"input '{name}' of a brake is negative{when}: a brake never drives, it counts as 0"
