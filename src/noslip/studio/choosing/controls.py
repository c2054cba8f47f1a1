"""Knobs of a page for a choice, group by group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from math import pi

import numpy as np

from noslip import Quantity, System, Trajectory
from noslip.base import Array
from noslip.show import Knob
from noslip.studio.choosing.choice import DURATION, INPUTS, PATH, SCENARIO, Choice, chosen_start
from noslip.studio.choosing.family_forms import form_knobs

#: Groups of knobs, in the order of the page.
PARAMETERS, TASK, START = "parameters", "task", "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """Knobs by group.

    Parameters
    ----------
    groups : group → knobs.
    inputs : names and units of inputs that are typed as expressions.
    """

    groups: dict[str, tuple[Knob, ...]]
    inputs: tuple[tuple[str, str], ...] = ()

    def find(self, name: str) -> tuple[str, Knob] | None:
        """Group and knob of a name."""
        for group, knobs in self.groups.items():
            for knob in knobs:
                if knob.name == name:
                    return group, knob
        return None

    def names(self, group: str) -> set[str]:
        """Names of a group."""
        return {knob.name for knob in self.groups.get(group, ())}


def make_controls(
    system: System, choice: Choice, run: Trajectory | None, length: float
) -> Controls:
    """The knobs of a choice.

    Parameters
    ----------
    system : compiled system.
    choice : what is run.
    run : the run with no start value touched; None where there is none, as after a fault.
    length : of the model, m.
    """
    model = system.model
    scenario = model.scenario
    groups = {PARAMETERS: Knob.of_parameters(model.parameters)}
    task: list[Knob] = []
    duration = scenario.duration if scenario is not None else DURATION
    if choice.task == SCENARIO and scenario is not None:
        task += Knob.of_parameters(scenario.parameters)
    if choice.task == PATH:
        task += form_knobs("path", choice.path, length)
        task += form_knobs("timing", choice.timing, length)
    if choice.task in (SCENARIO, INPUTS):
        task.append(Knob.ranged("duration", "s", duration, duration / 10, 3 * duration))
    groups[TASK] = tuple(task)
    if run is not None and len(run.t):
        is_prescribed = choice.task == SCENARIO and scenario is not None and scenario.has_reference
        given = {} if choice.task == PATH or is_prescribed else chosen_start(system, choice)
        groups[START] = start_knobs(system, run, given, speeds=not is_prescribed)
    inputs: tuple[tuple[str, str], ...] = ()
    if choice.task == INPUTS:
        num = len(model.inputs) + len(model.speed_inputs)
        inputs = tuple((q.name, q.unit) for q in system.inputs[:num])
    return Controls(groups=groups, inputs=inputs)


def widened(controls: Controls, name: str, value: float) -> Controls:
    """The same knobs with the range of one made to hold a value."""
    groups = {
        group: tuple(k.widened(value) if k.name == name else k for k in knobs)
        for group, knobs in controls.groups.items()
    }
    return dataclasses.replace(controls, groups=groups)


def start_knobs(
    system: System, run: Trajectory, given: Mapping[str, float], *, speeds: bool = True
) -> tuple[Knob, ...]:
    """Coordinates and independent speeds at the start, in the names the model has for them.

    An orientation is shown by its named angles where it has some, else it is left alone; its rates
    are those of the angles where `given` has one of them.

    Parameters
    ----------
    system : compiled system.
    run : the run before any knob is changed.
    given : what the scenario gives of its start.
    speeds : whether the speeds may be chosen; where a motion is prescribed they follow from it.
    """
    values = start_values(system, run)
    tree = {s.name: s for s in system.speeds}
    shown: dict[str, Quantity] = {}
    bundles: dict[str, str] = {}
    turns = _orientations(system)
    hidden = {name for turn in turns for name in turn.quaternion} - set(given)
    shown |= {c.name: c for c in system.coordinates if c.name not in hidden}
    for turn in turns:
        shown |= {n: Quantity(name=n, unit="rad", lower=-pi, upper=pi) for n in turn.angles}
        bundles |= dict.fromkeys(turn.angles, turn.joint)
    if speeds:
        named = [turn for turn in turns if any(name in given for name in turn.rates)]
        shown |= {n: Quantity(name=n, unit="rad/s") for turn in named for n in turn.rates}
        bundles |= {n: f"{turn.joint} rates" for turn in named for n in turn.rates}
        taken = [n for n in given if n in tree] + [n for turn in named for n in turn.speeds]
        shown |= {n: tree[n] for n in given if n in tree}
        free = {s.name: s for s in system.independent_speeds}
        shown |= {n: free[n] for n in _further_speeds(system, run, taken)}
    found = []
    for name, quantity in shown.items():
        value = float(given.get(name, values.get(name, 0.0)))
        reach = 2 * abs(value)
        ends = (min(quantity.lower, -reach), max(quantity.upper, reach))
        knob = Knob.ranged(name, quantity.unit, value, *ends, quantity.description)
        found.append(dataclasses.replace(knob, bundle=bundles.get(name, "")))
    return tuple(found)


def _further_speeds(system: System, run: Trajectory, taken: list[str]) -> list[str]:
    """Independent speeds that can still be chosen when some tree speeds are.

    η = E v and v = S η + s: a tree speed that is taken is a row of S, an independent one a row of
    the unit matrix; it can be chosen if it raises the rank.
    """
    kin = system.kinematics
    params = system.parameters(run.parameters)
    t, q = float(run.t[0]), run.q[0]
    E = kin.independent_rows(t, q, params)
    A = np.array(kin.probe.constraint(t, q, np.zeros(kin.probe.num_speed_inputs), params)[0])
    num = len(system.independent_speeds)
    # columns of S: the admissible v with η = a column of the unit matrix
    S = np.linalg.lstsq(np.vstack([A, E]), np.eye(len(A) + num)[:, len(A) :], rcond=1e-12)[0]
    names = [s.name for s in system.speeds]
    rows = [S[names.index(name)] for name in taken]
    rank = int(np.linalg.matrix_rank(np.array(rows), tol=1e-9)) if rows else 0
    found = []
    for k, speed in enumerate(system.independent_speeds):
        more = [*rows, np.eye(num)[k]]
        if int(np.linalg.matrix_rank(np.array(more), tol=1e-9)) > rank:
            rows, rank = more, rank + 1
            if speed.name not in taken:
                found.append(speed.name)
    return found


def start_values(system: System, run: Trajectory) -> dict[str, float]:
    """Coordinates, speeds and named angles at the start of a run; empty for a run without samples.

    The rates of named angles are not among them.
    """
    if not len(run.t):
        return {}
    q, v = run.q[0], run.v[0]
    params = system.parameters(run.parameters)
    eta = system.kinematics.independent_rows(float(run.t[0]), q, params) @ v
    values = dict(zip((c.name for c in system.coordinates), q, strict=True))
    values |= dict(zip((s.name for s in system.speeds), v, strict=True))
    values |= dict(zip((s.name for s in system.independent_speeds), eta, strict=True))
    for turn in _orientations(system):
        values |= dict(zip(turn.angles, turn.values(q), strict=False))
    return {name: float(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class _Orientation:
    """Names of an orientation: as angles, their rates, a quaternion and angular speeds."""

    joint: str
    sequence: str
    at: int
    angles: tuple[str, ...]
    rates: tuple[str, ...]
    quaternion: tuple[str, ...]
    speeds: tuple[str, ...]

    def values(self, q: Array) -> list[float]:
        """The angles at a configuration."""
        from scipy.spatial.transform import Rotation

        rotation = Rotation.from_quat(q[self.at : self.at + 4], scalar_first=True)
        return list(rotation.as_euler(self.sequence.upper(), suppress_warnings=True))


def _orientations(system: System) -> list[_Orientation]:
    found = []
    for node in system.kinematics.tree.nodes:
        joint, place = node.joint, node.joint.type.quaternion
        if place is None:
            continue
        angles = joint.type.named_angles()
        names = angles.names if angles is not None else ()
        found.append(
            _Orientation(
                joint=joint.name,
                sequence=angles.sequence if angles is not None else "xyz",
                at=node.coordinates.start + place,
                angles=tuple(f"{joint.name}.{n}" for n in names),
                rates=tuple(f"{joint.name}.{n}_rate" for n in names),
                quaternion=tuple(f"{joint.name}.q{k}" for k in "wxyz"),
                speeds=tuple(f"{joint.name}.w{k}" for k in "xyz"),
            )
        )
    return found
