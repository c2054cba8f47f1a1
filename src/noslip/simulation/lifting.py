"""Notes on contacts that the ground would have to pull on, and on brakes that would have to drive.

A normal row holds a body on a plane whatever its force: a run on flat ground goes on where a wheel
would lift. Where that begins is found when the notes of a run are first read, by the same run with
the normal forces as events, so that a dip between two samples is seen and a run whose notes nobody
reads costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from noslip.base import Array
from noslip.engines import System
from noslip.model import NORMAL, NumberReader
from noslip.simulation.trajectory import Trajectory

#: Normal forces above minus this part of the weight are rounding.
ROUNDING = 1e-9
#: Steps that a searched run takes at least: a load may fall and rise while nothing else changes.
FEWEST_STEPS = 200
#: Events by which a lift is found are called this, and the contact's name.
_EVENT = "lift-off of "


def held_contacts(system: System) -> tuple[str, ...]:
    """Contacts whose normal rows hold a body down without having been asked to."""

    def find() -> tuple[str, ...]:
        kin = system.kinematics
        if system.costates:
            return ()
        # a row that says nothing (a wheel's height under a planar joint) holds nothing
        silent = {kin.rows[r.row].name for r in kin.redundant if not r.follows_from}
        rows = {row.name for row in kin.rows} - silent
        held = (c.name for c in system.model.contacts if c.notes_lift)
        return tuple(name for name in held if f"{name}.{NORMAL}" in rows)

    return system.cached("contacts that are held", find)


def lift_events(contacts: tuple[str, ...], scale: float) -> dict[str, str]:
    """Events at which normal forces fall below rounding; `scale` is a usual force, N."""
    return {
        f"{_EVENT}{name}": f"reaction.{name}.{NORMAL} + {ROUNDING * scale!r}" for name in contacts
    }


def lift_notes(
    system: System,
    multipliers: Array,
    again: Callable[[dict[str, str]], Trajectory] | None,
    t: Array,
) -> tuple[str, ...]:
    """A note for each contact that the ground would have to pull on, and since when.

    Parameters
    ----------
    system : that was run.
    multipliers : (n, nc) of all rows at the samples.
    again : the same run with these events, samples at its start and its end and multipliers; None
        where a run cannot be repeated, so that the samples alone tell.
    t : (n,) times of the samples, s.
    """
    contacts, scale = held_contacts(system), usual_force(system)
    names = [row.name for row in system.kinematics.rows]
    run = None
    if again is not None:
        run = again(lift_events(contacts, scale))
        if run.multipliers is not None:
            t = np.concatenate([t, run.t])
            multipliers = np.vstack([multipliers, run.multipliers])
            order = np.argsort(t, kind="stable")
            t, multipliers = t[order], multipliers[order]
    notes = []
    for name in contacts:
        normal = multipliers[:, names.index(f"{name}.{NORMAL}")]
        pulls = normal < -ROUNDING * scale
        times = [float(t[k]) for k in np.flatnonzero(pulls)[:1]]
        if run is not None and not (len(normal) and pulls[0]):
            times += [float(x) for x in run.event_times[f"{_EVENT}{name}"][:1]]
        if times:
            k = int(np.nanargmin(normal))
            least = f", {-normal[k]:.4g} N at t = {t[k]:.6g} s" if normal[k] < 0 else ""
            notes.append(lift_text(system, name, min(times), least))
    return tuple(notes)


def lift_text(system: System, contact: str, time: float, more: str = "") -> str:
    """The note on a contact that the ground would have to pull on from a time on, s."""
    row = f"{contact}.{NORMAL}"
    kin = system.kinematics
    shared = {kin.rows[r.row].name for r in kin.redundant} | {
        name for r in kin.redundant for name in r.follows_from
    }
    how = " in the least-norm split of the forces" if row in shared else ""
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


def normal_columns(contacts: tuple[str, ...]) -> dict[str, str]:
    """Column of the normal force of each contact."""
    return {name: f"reaction.{name}.{NORMAL}" for name in contacts}


def first_lifts(
    system: System, scale: float, begins: Mapping[str, Array], times: Mapping[str, Array]
) -> dict[int, str]:
    """Trajectory of a batch with the events of `lift_events` → its first lift.

    Parameters
    ----------
    system : that was run.
    scale : of the forces, N, as `lift_events` had it.
    begins : column of each normal force → (n, 2) at the start and at the end, N.
    times : event → (n, 1) first crossing, s; NaN where there is none.
    """
    found: dict[int, tuple[float, str]] = {}
    for contact, column in normal_columns(held_contacts(system)).items():
        first = times[f"{_EVENT}{contact}"][:, 0]
        first = np.where(begins[column][:, 0] < -ROUNDING * scale, -np.inf, first)
        for k in np.flatnonzero(~np.isnan(first)).tolist():
            found[k] = min(found.get(k, (np.inf, "")), (float(first[k]), contact))
    return {k: lift_text(system, contact, time) for k, (time, contact) in sorted(found.items())}


def brake_inputs(system: System) -> dict[str, int]:
    """Inputs that act only where they are positive, as those of brakes, with their places."""

    def find() -> dict[str, int]:
        pressed = {name for force in system.model.forces for name in force.pressed()}
        return {i.name: k for k, i in enumerate(system.model.inputs) if i.name in pressed}

    return system.cached("inputs of brakes", find)


def brake_notes(system: System, t: Array, inputs: Array) -> tuple[str, ...]:
    """A note for each brake whose input is negative at a sample; (n,) s and (n, nu)."""
    notes = []
    for name, k in brake_inputs(system).items():
        values = inputs[:, k]
        below = np.flatnonzero(values < -ROUNDING * np.max(np.abs(values), initial=0.0))
        if below.size:
            notes.append(brake_text(name, f" at t = {t[below[0]]:.6g} s"))
    return tuple(notes)


def brake_text(name: str, when: str = "") -> str:
    """The note on an input of a brake that is negative."""
    return f"input '{name}' of a brake is negative{when}: a brake never drives, it counts as 0"
