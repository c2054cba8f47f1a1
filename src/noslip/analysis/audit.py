"""No-slip audit of runs and states: the friction that they need, and where a wheel would lift.

A rolling constraint supplies any force. Real ground supplies a tangential force F_t up to μ N, and
no pull. From the reactions along a run the audit takes the load N, the longitudinal and lateral
force and the friction demand |F_t| / N of every wheel, and compares them with the ground.

Where equilibrium leaves the split of forces between wheels open, three numbers stand side by side:
that of the least-norm split, its range over the splits that count (`reactions.py`), and the
friction coefficient below which no split whatsoever holds.

A tire has a law of its own: it is judged by what it uses of its own limit, and its force, like that
of a row, by the friction coefficient. A contact that neither rows nor a tire hold along the ground
asks for no friction: it is named, and nothing is said of its slip.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import check_time
from noslip.analysis.reactions import (
    SMALL,
    ContactForces,
    SampledGrip,
    SampledMotion,
    Unsupported,
    contact_forces,
    contact_forces_at,
    friction_demand,
    independent_directions,
    least_friction,
    rounding,
    simulated_system,
    split_ranges,
)
from noslip.base import Array, SimulationError, as_number, counted, finite_or_none, nearest
from noslip.engines import System, require_system
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, number
from noslip.simulation import Trajectory, VariantResults, Variants

#: Fraction of its limit from which on a tire slides; a law with tanh comes near 1 and never there.
FULL = 0.99


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WheelAudit:
    """Forces of the ground on a wheel or blade, sampled: the least-norm split and the ranges."""

    name: str  #: name of the contact
    body: str  #: body that the forces act on
    #: ``wheel``, ``blade``, or ``sliding`` for a tire or an elastic contact that stands for itself;
    #: of a blade only the lateral force means anything
    kind: str
    #: ``row`` (its own normal row), the name of the planar joint whose wrench the wheels carry,
    #: ``law`` (of a force that slides), or empty where the load is not known
    load_from: str
    #: ``row``, the name of the tire that pushes it along the ground, or empty where nothing does,
    #: so that it asks for no friction
    grip_from: str
    #: whether it is held down (``lift = "keep"``): a load below zero presses it on the other side
    #: of what it stands on
    is_held: bool
    #: longitudinal, lateral, normal: (n,) N; NaN where they are not known
    longitudinal: Array = field(repr=False)
    lateral: Array = field(repr=False)
    normal: Array = field(repr=False)
    demand: Array = field(repr=False)  #: (n,) |F_t| / N; infinite where a force has no load
    #: longitudinal_range, lateral_range, normal_range, demand_range: (n, 2) least and largest over
    #: the splits that count; NaN where every split has a negative load. The range of the demand
    #: combines those of the forces: it is exact where they are shared independently of each other,
    #: and otherwise an outer bound.
    longitudinal_range: Array = field(repr=False)
    lateral_range: Array = field(repr=False)
    normal_range: Array = field(repr=False)
    demand_range: Array = field(repr=False)
    #: (n,) fraction of the tire's own limit, 1 where it slides; NaN without a limit
    use: Array = field(repr=False)
    slide: Array = field(repr=False)  #: (n,) sliding speed of the tire, m/s; NaN where rows hold it

    @property
    def has_load(self) -> bool:
        """Whether its load is known at any sample."""
        return bool(np.any(np.isfinite(self.normal)))

    @property
    def is_shared(self) -> bool:
        """Whether the split between wheels leaves any of its forces open."""
        ranges = (self.longitudinal_range, self.lateral_range, self.normal_range)
        scale = max(float(np.max(np.abs(r[np.isfinite(r)]), initial=0.0)) for r in ranges)
        return any(bool(np.any(r[:, 1] - r[:, 0] > SMALL * scale)) for r in ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An interval in which a wheel would slip or lift in the least-norm split."""

    wheel: str  #: name of its contact
    kind: str  #: ``slip``, ``lift``, or ``slide`` of a tire that uses all of its limit
    #: start, end: first and last sample of the interval, s
    start: float
    end: float
    time: float  #: time of the worst sample, s
    value: float  #: friction demand, load in N, or sliding speed in m/s there
    excess: float  #: amount: demand less friction coefficient, the pull in N, or the sliding speed
    is_certain: bool  #: whether no split of the forces between the wheels avoids it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """Contact forces, friction demand and verdict of a motion. Made by :func:`audit`."""

    model: str  #: name of the model
    t: Array = field(repr=False)  #: (n,) times, s
    friction: float | None  #: coefficient of the ground, or None if it was not given
    wheels: tuple[WheelAudit, ...]  #: every wheel and blade; also ``audit["wheel1"]``
    #: (n,) friction coefficient below which no split of the forces holds every wheel whose load is
    #: known; NaN without any
    required: Array = field(repr=False)
    unsupported: tuple[Unsupported, ...]  #: moments that planar joints hold and wheels cannot
    notes: tuple[str, ...]  #: remarks on what was left out
    #: law of the contacts of the run. By ``coulomb`` it says what happened: `use` of a wheel is the
    #: fraction of its own friction, `slide` how fast it slid.
    contact: str = "ideal"

    def __getitem__(self, name: str) -> WheelAudit:
        """The wheel or blade of that name."""
        for wheel in self.wheels:
            if wheel.name == name:
                return wheel
        raise SimulationError(
            f"there is no contact '{name}'",
            f"audit of model '{self.model}'",
            nearest(name, [wheel.name for wheel in self.wheels]),
        )

    @property
    def loaded(self) -> tuple[WheelAudit, ...]:
        """Wheels whose loads are known."""
        return tuple(wheel for wheel in self.wheels if wheel.has_load)

    @property
    def judged(self) -> tuple[WheelAudit, ...]:
        """Wheels whose loads are known and that rows or a tire hold along the ground."""
        return tuple(wheel for wheel in self.loaded if wheel.grip_from)

    @property
    def slides(self) -> tuple[Failure, ...]:
        """Intervals in which tires use all of their own limits."""
        found: list[Failure] = []
        for wheel in self.wheels:
            # what rolls may use nearly all of its friction
            for interval in _intervals((wheel.use >= FULL) & (wheel.slide != 0.0)):
                worst = interval.start + int(np.argmax(wheel.slide[interval]))
                found.append(
                    Failure(
                        wheel=wheel.name,
                        kind="slide",
                        start=float(self.t[interval.start]),
                        end=float(self.t[interval.stop - 1]),
                        time=float(self.t[worst]),
                        value=float(wheel.slide[worst]),
                        excess=float(wheel.slide[worst]),
                        is_certain=True,
                    )
                )
        return tuple(found)

    @property
    def slips(self) -> tuple[Failure, ...]:
        """Intervals in which wheels would slip on ground with the given friction coefficient."""
        if self.friction is None:
            return ()
        found: list[Failure] = []
        for wheel in self.loaded:
            over = wheel.demand - self.friction
            # `lifts` reports a wheel that lifts
            slips = (over > SMALL) & ~_lifts(wheel, self.rounding)
            for interval in _intervals(slips):
                worst = interval.start + int(np.argmax(over[interval]))
                found.append(
                    Failure(
                        wheel=wheel.name,
                        kind="slip",
                        start=float(self.t[interval.start]),
                        end=float(self.t[interval.stop - 1]),
                        time=float(self.t[worst]),
                        value=float(wheel.demand[worst]),
                        excess=float(over[worst]),
                        is_certain=bool(np.any(self.required[interval] > self.friction + SMALL)),
                    )
                )
        return tuple(found)

    @property
    def lifts(self) -> tuple[Failure, ...]:
        """Intervals in which wheels would have to be pulled down."""
        found: list[Failure] = []
        for wheel in self.loaded:
            # a range that is NaN: no split has all loads nonnegative
            certain = ~(wheel.normal_range[:, 1] >= -self.rounding)
            for interval in _intervals(_lifts(wheel, self.rounding)):
                worst = interval.start + int(np.argmin(wheel.normal[interval]))
                found.append(
                    Failure(
                        wheel=wheel.name,
                        kind="lift",
                        start=float(self.t[interval.start]),
                        end=float(self.t[interval.stop - 1]),
                        time=float(self.t[worst]),
                        value=float(wheel.normal[worst]),
                        excess=float(-wheel.normal[worst]),
                        is_certain=bool(np.any(certain[interval])),
                    )
                )
        return tuple(found)

    @property
    def verdict(self) -> str:
        """Whether the motion holds without slip and lift.

        ``holds``, whatever the split; ``holds if shared``, as friction lets the wheels share, but
        not in every split; ``fails``, whatever the split, or because a tire slides; or ``unknown``:
        without a friction coefficient, where loads are not known, or where nothing is held along
        the ground.
        """
        if self.contact != "ideal":
            is_off = any(bool(np.any(wheel.normal <= 0.0)) for wheel in self.judged)
            return "fails" if self.slides or is_off else "holds"
        friction = np.full(len(self.t), np.nan if self.friction is None else self.friction)
        cases = verdict_cases(self.wheels, self.required, friction)
        # samples that are left out say nothing, unless there are no others
        known = [~np.isnan(wheel.lateral) for wheel in self.wheels]
        is_known = np.any(known, axis=0) if known else np.zeros(len(self.t), bool)
        for word, flags in cases:
            if np.any(flags[is_known] if np.any(is_known) else flags):
                return word
        return "holds" if np.any(is_known) else "unknown"

    @property
    def rounding(self) -> Array:
        """(n,) threshold below which a load is rounding error, N."""
        return rounding(np.array([wheel.normal for wheel in self.loaded]).T)

    def text(self) -> str:
        """The audit in a few lines, the verdict last."""
        return "\n".join(audit_lines(self))

    def to_json(self, *, samples: bool = False) -> dict[str, object]:
        """The audit as plain data.

        Parameters
        ----------
        samples : whether all forces, loads and demands over time are written too.
        """
        return audit_data(self, samples)

    def __repr__(self) -> str:
        return f"No-slip audit of '{self.model}', {counted(len(self.t), 'sample')}\n{self.text()}"


def verdict_cases(
    wheels: tuple[WheelAudit, ...], required: Array, friction: Array
) -> list[tuple[str, NDArray[np.bool_]]]:
    """Verdicts other than ``holds``, the first that applies first, and (n,) at which samples."""
    n = len(required)
    loads = np.array([w.normal for w in wheels]).reshape(-1, n)
    is_loaded = np.isfinite(loads)
    small = rounding(np.where(is_loaded, loads, 0.0).T) if len(wheels) else np.zeros(n)
    fails, is_open, unknown, is_judged = (np.zeros(n, bool) for _ in range(4))
    for wheel, has in zip(wheels, is_loaded, strict=True):
        lift = has & _lifts(wheel, small)
        # a range that is NaN: no split has all loads nonnegative
        fails |= lift & ~(wheel.normal_range[:, 1] >= -small)
        fails |= wheel.use >= FULL
        slip = has & (wheel.demand - friction > SMALL)
        is_open |= lift | slip | (has & (wheel.demand_range[:, 1] > friction + SMALL))
        is_judged |= has & bool(wheel.grip_from)
        if wheel.kind != "blade":
            unknown |= np.isnan(wheel.normal) & ~np.isnan(wheel.lateral)
    return [
        ("fails", fails),
        ("unknown", np.isnan(friction)),
        ("fails", required > friction + SMALL),
        ("unknown", unknown | ~is_judged),
        ("holds if shared", is_open),
    ]


def _lifts(wheel: WheelAudit, small: Array) -> NDArray[np.bool_]:
    """(n,) where a wheel would have to be pulled down and nothing holds it."""
    return np.asarray((wheel.normal < -small) & (not wheel.is_held))


def _intervals(flags: NDArray[np.bool_]) -> list[slice]:
    """Intervals of samples where a flag is set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def audit(system: System, run: Trajectory, friction: float | None = None) -> Audit:
    """Compute loads, contact forces and friction demand of every wheel along a run.

    Parameters
    ----------
    system : the system that was simulated.
    run : the motion.
    friction : coefficient of the ground; by default the least that contacts of the model have.
        Without any there is no verdict on slip.

    Raises
    ------
    SimulationError : for a negative friction coefficient, a run of another model, or vakonomic
        equations, whose multipliers are no forces of the ground.

    Notes
    -----
    Of a run with ``contact="coulomb"`` the audit says what happened, by the friction of each of its
    contacts: what slid, how fast, and what those that rolled had to spare.
    """
    require_system("audit", system)
    if friction is not None and not 0 <= as_number(friction) < np.inf:
        raise bad_friction(system, friction)
    check_formulation(system)
    if run.contact != "ideal":
        return _audit_of_coulomb(system, run, friction)
    system = simulated_system(system, run, "audit(system, run)")
    if friction is None:
        wheels = [c for c in system.model.contacts if c.is_wheel]
        given = [mu for c in wheels if (mu := c.coulomb().friction) is not None]
        friction = min((number(mu, run.parameters) for mu in given), default=None)
    return audit_forces(system, contact_forces(system, run), run.t, friction)


def _audit_of_coulomb(system: System, run: Trajectory, friction: float | None) -> Audit:
    """What happened to the contacts of a run by Coulomb's law."""
    where = "audit(system, run)"
    if run.model != system.model:
        raise SimulationError(
            f"the run is of model '{run.model.name}', the system of '{system.model.name}'",
            where,
            "give the system that was simulated",
        )
    if friction is not None:
        raise SimulationError(
            "the contacts of this run have slid and rolled by friction of their own",
            where,
            "leave friction out",
        )
    t, wheels, unknown = run.t, [], np.full(len(run.t), np.nan)
    for contact in run.model.contacts:
        law = contact.coulomb()
        if f"{contact.name}.contact" not in run.extra or law.friction is None:
            continue
        slides = run[f"{contact.name}.contact"] == 1.0
        mu = number(law.friction, run.parameters)
        held = mu if law.static_friction is None else number(law.static_friction, run.parameters)
        use, load = run[f"{contact.name}.grip"], run[f"{contact.name}.load"]
        # where it depends on the direction, friction along the heading stands for it
        demand = use * np.where(slides, mu, held)
        forces = [
            run[name] if run.multipliers is not None and name in rows else unknown
            for rows in ({f"reaction.{row}" for row in run.rows},)
            for part in (LONGITUDINAL, LATERAL)
            for name in (f"reaction.{contact.name}.{part}",)
        ]
        wheels.append(
            WheelAudit(
                name=contact.name,
                body=contact.body,
                kind="wheel" if contact.is_wheel else "blade",
                load_from="law",
                grip_from="law",
                is_held=False,
                longitudinal=forces[0],
                lateral=forces[1],
                normal=load,
                demand=demand,
                longitudinal_range=np.stack([forces[0]] * 2, axis=-1),
                lateral_range=np.stack([forces[1]] * 2, axis=-1),
                normal_range=np.stack([load] * 2, axis=-1),
                demand_range=np.stack([demand] * 2, axis=-1),
                use=use,
                slide=run[f"{contact.name}.slip"],
            )
        )
    return Audit(
        model=run.model.name,
        t=t,
        friction=None,
        wheels=tuple(wheels),
        required=unknown,
        unsupported=(),
        notes=(),
        contact=run.contact,
    )


def touches_ground(system: System) -> bool:
    """Whether anything rolls, skates or slides on a plane, which an audit is about."""
    return bool(system.model.contacts or system.equations.forces.grips)


def bad_friction(system: System, friction: object) -> SimulationError:
    """The error of a friction coefficient that no ground has."""
    return SimulationError(
        f"the friction coefficient is {friction}",
        f"audit of model '{system.model.name}'",
        "give a number that is not negative, such as 0.6 for rubber on concrete",
    )


def check_formulation(system: System) -> None:
    """Refuse equations whose multipliers are no forces of the ground."""
    if not system.equations.formulation.is_dalembert:
        raise SimulationError(
            f"the {system.equations.formulation.name} have no forces of the ground: their "
            "multipliers are not reactions of real bodies",
            f"audit of model '{system.model.name}'",
            "simulate with derive(model), which follows d'Alembert's principle",
        )


def audit_forces(system: System, forces: ContactForces, t: Array, friction: float | None) -> Audit:
    """The audit of contact forces at samples."""
    n, c, _ = forces.least.shape
    ok = forces.is_valid
    is_wheel = np.array([x.is_wheel and not x.is_met for x in forces.contacts], dtype=bool)
    # what is held down is pressed on from the other side where its load is below zero
    is_held = np.array([x.keeps_down for x in forces.contacts], dtype=bool)
    side = np.ones((n, c, 3))
    side[:, :, 2] = np.where(is_held & (forces.least[:, :, 2] < 0), -1.0, 1.0)
    pressed = side * forces.least
    directions = independent_directions(side.reshape(n, 3 * c, 1) * forces.family)
    ranges = split_ranges(pressed.reshape(n, 3 * c), directions, np.arange(3 * c) % 3 == 2).reshape(
        n, c, 3, 2
    )
    demand = friction_demand(pressed)
    demand_range = _demand_ranges(ranges)
    required = least_friction(pressed, directions, is_wheel)
    ranges = np.sort(side[..., None] * ranges, axis=-1)
    rows = {row.name.rpartition(".")[0] for row in system.kinematics.rows if _is_along(row.name)}
    grips = {grip.contact: grip for grip in forces.grips if grip.contact}
    alone = [grip for grip in forces.grips if not grip.contact]
    for grip in alone:
        # forces of a law are not shared; without a load they have no demand
        required = np.fmax(required, friction_demand(grip.forces[:, None])[:, 0])
    held = {c.name: _grip_from(c.name, rows, grips) for c in forces.contacts}
    if not alone and not any(held[c.name] for c in forces.contacts if c.is_wheel and not c.is_met):
        required = np.full(n, np.nan)

    def at_all(values: Array) -> Array:
        full = np.full((len(t), *values.shape[1:]), np.nan)
        full[ok] = values
        return full

    wheels = tuple(
        WheelAudit(
            name=contact.name,
            body=contact.body,
            kind="wheel" if is_wheel[k] else "blade",
            load_from=forces.load_from.get(contact.name, ""),
            grip_from=held[contact.name],
            is_held=bool(is_held[k]),
            longitudinal=at_all(forces.least[:, k, 0]),
            lateral=at_all(forces.least[:, k, 1]),
            normal=at_all(forces.least[:, k, 2]),
            demand=at_all(demand[:, k]),
            longitudinal_range=at_all(ranges[:, k, 0]),
            lateral_range=at_all(ranges[:, k, 1]),
            normal_range=at_all(ranges[:, k, 2]),
            demand_range=at_all(demand_range[:, k]),
            **_tire_columns(grips.get(contact.name), n, at_all),
        )
        for k, contact in enumerate(forces.contacts)
        if not contact.is_met
    )
    unknown = {w.name: forces.unknown[w.name] for w in wheels if w.name in forces.unknown}
    wheels += tuple(_audit_alone(grip, at_all) for grip in alone)
    return Audit(
        model=system.model.name,
        t=t,
        friction=friction,
        wheels=wheels,
        required=at_all(required),
        unsupported=tuple(
            dataclasses.replace(u, moment=at_all(u.moment)) for u in forces.unsupported
        ),
        notes=tuple(_notes(wheels, unknown, int(np.sum(~ok)))),
    )


def _is_along(row: str) -> bool:
    """Whether a row of this name holds a contact along the ground."""
    return row.rpartition(".")[2] in (LONGITUDINAL, LATERAL)


def _grip_from(contact: str, rows: set[str], grips: Mapping[str, SampledGrip]) -> str:
    """What holds a contact along the ground: its tire, its rows, or nothing."""
    if contact in grips:
        return grips[contact].name
    return "row" if contact in rows else ""


def _tire_columns(
    grip: SampledGrip | None, n: int, at_all: Callable[[Array], Array]
) -> dict[str, Array]:
    """Use and sliding speed of a tire; NaN where rows hold the wheel."""
    if grip is None:
        return {"use": at_all(np.full(n, np.nan)), "slide": at_all(np.full(n, np.nan))}
    return {"use": at_all(grip.use), "slide": at_all(grip.slide)}


def _audit_alone(grip: SampledGrip, at_all: Callable[[Array], Array]) -> WheelAudit:
    """The audit of a force that slides and has no contact of the model."""
    forces, demand = grip.forces, friction_demand(grip.forces[:, None])[:, 0]
    columns = dict(zip((LONGITUDINAL, LATERAL, NORMAL), forces.T, strict=True)) | {"demand": demand}
    ranges = {f"{k}_range": at_all(np.stack([x, x], axis=-1)) for k, x in columns.items()}
    return WheelAudit(
        name=grip.name,
        body=grip.body,
        kind="sliding",
        load_from="law" if np.any(np.isfinite(forces[:, 2])) else "",
        grip_from=grip.name,
        is_held=False,
        **{k: at_all(x) for k, x in columns.items()},
        **ranges,
        **_tire_columns(grip, len(forces), at_all),
    )


def _demand_ranges(ranges: Array) -> Array:
    """(n, c, 2) of ranges (n, c, 3, 2): the smallest force on the largest load, and the reverse."""
    low, high = ranges[..., 0], ranges[..., 1]
    sizes = np.sort(np.abs(ranges), axis=-1)
    near = np.where((low <= 0) & (high >= 0), 0.0, sizes[..., 0])
    least = np.stack([near[..., 0], near[..., 1], high[..., 2]], axis=-1)
    largest = np.stack([sizes[..., 0, 1], sizes[..., 1, 1], low[..., 2]], axis=-1)
    return np.stack([friction_demand(least), friction_demand(largest)], axis=-1)


def _notes(wheels: tuple[WheelAudit, ...], unknown: dict[str, str], left_out: int) -> Iterator[str]:
    for why in dict.fromkeys(unknown.values()):
        names = [f"'{name}'" for name, reason in unknown.items() if reason == why]
        one = len(names) == 1
        yield (
            f"the {'load' if one else 'loads'} of {', '.join(names)} {'is' if one else 'are'} not "
            f"known: {why}"
        )
    for wheel in wheels:
        if wheel.name in unknown:
            continue
        if wheel.kind == "wheel" and not wheel.load_from:
            yield (
                f"the load of '{wheel.name}' is not known: it has no normal row and stands under "
                "no planar joint; set normal = true"
            )
        if wheel.kind == "sliding" and not wheel.load_from:
            yield (
                f"the load of '{wheel.name}' is not known: its law takes none, and no contact "
                "holds its wheel up"
            )
    free = [f"'{wheel.name}'" for wheel in wheels if not wheel.grip_from]
    if free:
        yield (
            f"nothing holds {', '.join(free)} along the ground (no row, no tire): "
            f"{'its' if len(free) == 1 else 'their'} slip is not judged"
        )
    endless = [f"'{w.grip_from}'" for w in wheels if _has_no_limit(w)]
    if endless:
        yield (
            f"{', '.join(endless)} {'has' if len(endless) == 1 else 'have'} no limit of "
            f"{'its' if len(endless) == 1 else 'their'} own: give a maximum"
        )
    blades = [wheel.name for wheel in wheels if wheel.kind == "blade"]
    if blades and any(wheel.kind == "wheel" for wheel in wheels):
        listed = ", ".join(f"'{name}'" for name in blades)
        yield f"blades carry no load here ({listed}): the wheels carry all of it"
    if left_out:
        yield (
            f"{left_out} of the samples left out: no independent speeds determine the forces there"
        )


def _has_no_limit(wheel: WheelAudit) -> bool:
    """Whether a tire pushes a wheel whose law has no largest force."""
    return bool(np.any(np.isfinite(wheel.slide)) and not np.any(np.isfinite(wheel.use)))


def largest(values: Array) -> tuple[float, int]:
    """Largest value that is a number, and where it is; NaN and 0 without any."""
    if not np.any(~np.isnan(values)):
        return math.nan, 0
    k = int(np.nanargmax(values))
    return float(values[k]), k


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditBatch(VariantResults):
    """Contact forces, friction demand and verdict at many states. Made by :func:`audit_batch`.

    ``batch[k]`` is the :class:`Audit` of one state, with a single sample.
    """

    #: every wheel and blade, with one sample for each state; also ``batch.wheel("wheel1")``
    wheels: tuple[WheelAudit, ...] = field(repr=False)
    friction: Array = field(repr=False)  #: (n,) coefficient of the ground, nan if it was not given
    #: (n,) coefficient below which no split of the forces holds every wheel
    required: Array = field(repr=False)
    verdicts: NDArray[np.str_] = field(repr=False)  #: (n,) as :attr:`Audit.verdict`
    unsupported: tuple[Unsupported, ...] = field(repr=False)
    notes: tuple[str, ...]
    time: float  #: s

    def wheel(self, name: str) -> WheelAudit:
        """The wheel or blade of that name."""
        return self._part(slice(None))[name]

    def __getitem__(self, k: int) -> Audit:
        """The audit of one state."""
        k = self.place_of(k)
        return self._part(slice(k, k + 1))

    def _part(self, some: slice) -> Audit:
        """Some of the states, as samples."""
        names = [f.name for f in dataclasses.fields(WheelAudit)]
        wheels = []
        for wheel in self.wheels:
            values = {name: getattr(wheel, name) for name in names}
            arrays = {n: x[some] for n, x in values.items() if isinstance(x, np.ndarray)}
            wheels.append(dataclasses.replace(wheel, **arrays))  # type: ignore[arg-type]
        friction = self.friction[some]
        return Audit(
            model=self.model,
            t=np.full(len(friction), self.time),
            friction=None if np.isnan(friction[0]) else float(friction[0]),
            wheels=tuple(wheels),
            required=self.required[some],
            unsupported=tuple(
                dataclasses.replace(u, moment=u.moment[some]) for u in self.unsupported
            ),
            notes=self.notes,
        )

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Forces, loads, demands, what is required, and verdicts."""
        columns: dict[str, tuple[NDArray[Any], str]] = {}
        for wheel in self.wheels:
            for part in ("longitudinal", "lateral", "normal"):
                columns[f"{wheel.name}.{part}"] = (getattr(wheel, part), "N")
            columns[f"{wheel.name}.demand"] = (wheel.demand, "1")
            if np.any(np.isfinite(wheel.use)):
                columns[f"{wheel.name}.use"] = (wheel.use, "1")
        columns["required"] = (self.required, "1")
        columns["verdict"] = (self.verdicts, "")
        return columns

    def __repr__(self) -> str:
        words, counts = np.unique(self.verdicts, return_counts=True)
        listed = ", ".join(f"{n} {word}" for word, n in zip(words, counts, strict=True))
        return (
            f"No-slip audit of '{self.model}', {counted(self.count, 'state')}: {listed}\n"
            "next: .verdicts, .required, .wheel('…'), [k], .to_xarray()"
        )


def audit_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    friction: ArrayLike | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> AuditBatch:
    """Compute loads, contact forces and friction demand of every wheel at many states.

    Every value is a number, or a list with one for each state; samples of a batch of runs are such
    lists.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : force and speed inputs, zero by default.
    parameters : values that differ from the nominal ones.
    friction : coefficient of the ground; without it there is no verdict on slip.
    time : s.
    count : number of states, where no list says it.
    threads : all cores if not given.
    progress : function called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`audit`, and for names and lists as :func:`evaluate_batch`.
    """
    ground = {} if friction is None else {"coefficient": friction}
    variants = Variants.read(
        system,
        "audit_batch",
        "audit",
        state=state,
        inputs=inputs,
        parameters=parameters,
        others={"friction": ground},
        count=count,
    )
    check_time(system, time)
    system = variants.system
    check_formulation(system)
    mu = variants.others["friction"].get("coefficient", np.full(1, np.nan))
    if np.any(mu < 0):
        raise bad_friction(system, float(mu.min()))
    parts: dict[int, Audit] = {}

    def work(block: range) -> None:
        parts[block.start] = _audit_states(variants, block, time)

    variants.in_blocks(work, threads=threads, progress=progress, cancel=cancel)
    return _joined(variants, parts, np.broadcast_to(mu, variants.count).copy(), time)


def _audit_states(variants: Variants, block: range, time: float) -> Audit:
    """The audit of a block of states, which are its samples."""
    system, n = variants.system, len(block)
    start, t = variants.completed(block, time), np.full(n, time)
    inputs, values = (
        variants.rows(table, block) for table in (variants.inputs, variants.parameters)
    )
    rest = np.concatenate([start.mu, np.zeros((n, int(system.does_work)))], axis=1)
    motion = SampledMotion(t, start.q, start.v, inputs, rest, values, is_one=False)
    return audit_forces(system, contact_forces_at(system, motion), t, None)


def _joined(
    variants: Variants, parts: Mapping[int, Audit], friction: Array, time: float
) -> AuditBatch:
    """Audits of blocks as one; states that were not done are nan."""
    count = variants.count

    def whole(of: Callable[[Audit], Array], tail: tuple[int, ...] = ()) -> Array:
        full = np.full((count, *tail), np.nan)
        for first, part in parts.items():
            full[first : first + len(part.t)] = of(part)
        return full

    def wheel(k: int) -> WheelAudit:
        numbers: dict[str, Array] = {}
        for name in ("longitudinal", "lateral", "normal", "demand"):
            numbers[name] = whole(lambda a, n=name: getattr(a.wheels[k], n))  # type: ignore[misc]
            spread = f"{name}_range"
            numbers[spread] = whole(
                lambda a, n=spread: getattr(a.wheels[k], n),  # type: ignore[misc]
                (2,),
            )
        for name in ("use", "slide"):
            numbers[name] = whole(lambda a, n=name: getattr(a.wheels[k], n))  # type: ignore[misc]
        return dataclasses.replace(known[k], **numbers)  # type: ignore[arg-type]

    known = next((part.wheels for part in parts.values()), ())
    wheels = tuple(wheel(k) for k in range(len(known)))
    unsupported: dict[str, Unsupported] = {}
    for first, part in parts.items():
        for u in part.unsupported:
            if u.joint not in unsupported:
                unsupported[u.joint] = dataclasses.replace(u, moment=np.zeros(count))
            unsupported[u.joint].moment[first : first + len(part.t)] = u.moment
    required = whole(lambda a: a.required)
    return AuditBatch(
        model=variants.system.model.name,
        count=count,
        wheels=wheels,
        friction=friction,
        required=required,
        verdicts=_verdicts(wheels, required, friction),
        unsupported=tuple(unsupported.values()),
        notes=tuple(dict.fromkeys(note for part in parts.values() for note in part.notes)),
        time=time,
        variants=variants,
    )


def _verdicts(wheels: tuple[WheelAudit, ...], required: Array, friction: Array) -> NDArray[np.str_]:
    """(n,) verdict at each state by itself, as `Audit.verdict` of one sample."""
    words, cases = zip(*verdict_cases(wheels, required, friction), strict=True)
    return np.select(cases, words, "holds")


def audit_lines(audit: Audit) -> list[str]:
    """Lines of the audit: demands and loads, then the verdict."""
    if not audit.wheels:
        return [_line("no slip", "nothing rolls or skates: the model has no contacts")]
    if audit.contact != "ideal":
        return _coulomb_lines(audit)
    lines = [*_demand_lines(audit), *_tire_lines(audit), *_blade_lines(audit)]
    for moment in audit.unsupported:
        size, k = largest(moment.moment)
        lines.append(
            _line(
                "loads not known",
                f"planar joint '{moment.joint}' holds a moment about {moment.about}, up to "
                f"{size:.3g} N·m (t = {audit.t[k]:.4g} s), that its wheels cannot: {moment.fix}",
            )
        )
    lines += [_line("note", note) for note in audit.notes]
    return lines + _slip_lines(audit) + _lift_lines(audit)


def _coulomb_lines(audit: Audit) -> list[str]:
    """What each contact of a run by Coulomb's law did, and the verdict."""
    lines, failed = [], []
    for wheel in audit.wheels:
        slides, is_off = wheel.slide > 0.0, wheel.normal <= 0.0
        rolls = ~slides & ~is_off
        texts = []
        if np.any(slides):
            speed, k = largest(wheel.slide)
            texts.append(f"slid, at {speed:.3g} m/s at most (t = {audit.t[k]:.4g} s)")
        if np.any(is_off):
            texts.append("was off the ground")
        if np.any(rolls):
            most, k = largest(np.where(rolls, wheel.use, np.nan))
            texts.append(
                f"rolled with {100 * max(1.0 - most, 0.0):.3g} % of its friction to spare at least "
                f"(t = {audit.t[k]:.4g} s)"
            )
        lines.append(_line("contact grip", f"{wheel.name} {'; it '.join(texts)}"))
        failed += [wheel.name] if np.any(slides) else []
    lifted = [w.name for w in audit.wheels if np.any(w.normal <= 0.0)]
    said = [f"{', '.join(names)} {verb}" for names, verb in ((failed, "slid"), (lifted, "lifted"))
            if names]  # fmt: skip
    return [*lines, _line("no slip", f"fails: {'; '.join(said)}" if said else "holds")]


def _line(label: str, text: str) -> str:
    return f"  {label:<19}  {text}"


def _demand_lines(audit: Audit) -> list[str]:
    """Largest demand and least load over all wheels."""
    wheels, judged = audit.loaded, audit.judged
    if not wheels:
        return []
    text = _headline(audit) if judged else "not known: nothing is held along the ground"
    if judged and any(w.is_shared for w in wheels):
        (demand, k), wheel = max(((largest(w.demand), w) for w in judged), key=lambda x: x[0][0])
        widest = max(largest(w.demand_range[:, 1])[0] for w in judged)
        text += (
            f" if the wheels share the forces best; {_demand(demand)} by least-norm sharing "
            f"({wheel.name}, t = {audit.t[k]:.4g} s), up to {_demand(widest)} otherwise"
        )
    (load, k), wheel = max(((largest(-w.normal), w) for w in wheels), key=lambda x: x[0][0])
    load = 0.0 if abs(load) <= audit.rounding[k] else load
    least = f"{-load:.4g} N at least ({wheel.name}, t = {audit.t[k]:.4g} s)"
    if any(np.any(np.isnan(w.normal)) for w in wheels):
        text, least = (f"{part}, where loads are known" for part in (text, least))
    return [_line("friction demand", text), _line("normal load", least)]


def _headline(audit: Audit) -> str:
    """The friction coefficient that suffices, which wheel asks for it and when.

    A wheel that begins to slip leaves the rest to the others, so that ground holds the motion as
    long as some split holds: the best one counts.
    """
    needed, k = largest(audit.required)
    at = {w.name: float(w.demand[k]) for w in audit.judged if not math.isnan(w.demand[k])}
    wheel = max(at, key=lambda name: at[name], default="")
    where = f"({wheel}, t = {audit.t[k]:.4g} s)" if wheel else ""
    if math.isinf(needed):
        return f"no friction is enough {where}: a force without a load"
    return f"{_demand(needed)} at most {where}"


def _tire_lines(audit: Audit) -> list[str]:
    """What tires use of their own limits: those that slide, else the largest use."""
    slides = _worst(audit.slides)
    lines = [
        _line(
            "tire grip",
            f"{slide.wheel} slides at {slide.value:.3g} m/s at t = {slide.time:.4g} s: it uses all "
            f"of its own limit ({_interval_text(slide)})",
        )
        for slide in slides
    ]
    limited = [w for w in audit.wheels if np.any(np.isfinite(w.use))]
    if lines or not limited:
        return lines
    (use, k), wheel = max(((largest(w.use), w) for w in limited), key=lambda x: x[0][0])
    at = f"({wheel.name}, t = {audit.t[k]:.4g} s)"
    return [_line("tire grip", f"{100 * use:.3g} % of its own limit at most {at}")]


def _blade_lines(audit: Audit) -> list[str]:
    blades = [w for w in audit.wheels if w.kind == "blade"]
    if not blades:
        return []
    (force, k), blade = max(
        ((largest(np.abs(w.lateral)), w) for w in blades), key=lambda x: x[0][0]
    )
    return [_line("side force", f"{force:.4g} N at most ({blade.name}, t = {audit.t[k]:.4g} s)")]


def _slip_lines(audit: Audit) -> list[str]:
    """The verdict on slip, the worst of each wheel."""
    if audit.friction is None:
        return []
    without = [w.name for w in audit.wheels if w.kind != "blade" and not w.has_load]
    sliding = list(dict.fromkeys(slide.wheel for slide in audit.slides))
    ground = f"with friction {audit.friction:g}"
    if not audit.judged:
        why = "the model has no wheels, and blades hold without friction"
        if without:
            why = f"the loads of {', '.join(without)} are not known"
        elif audit.loaded:
            why = "nothing holds its wheels along the ground, neither rows nor tires"
        said = f"fails: {', '.join(sliding)} slides" if sliding else f"no verdict: {why}"
        return [_line("no slip", said)]
    slips = _worst(audit.slips)
    is_shared = any(w.is_shared for w in audit.loaded)
    required, k = largest(audit.required)
    texts = []
    if required > audit.friction + SMALL:
        if is_shared:
            texts.append(
                f"fails {ground}: however the wheels share, {_demand(required)} is needed at "
                f"t = {audit.t[k]:.4g} s, {_demand(required - audit.friction)} too much"
            )
        how = "by least-norm sharing" if is_shared else f"fails {ground}:"
        texts += [f"{how} {_slip(slip)}" for slip in slips]
        if not texts:
            texts.append(f"fails {ground}: a wheel that lifts transmits no force")
    elif slips:
        texts += [
            f"holds {ground} if the wheels share the forces best: {required:.3g} is needed; by "
            f"least-norm sharing {_slip(slip)}"
            for slip in slips
        ]
    elif sliding:
        texts.append(f"fails: {', '.join(sliding)} {'slides' if len(sliding) == 1 else 'slide'}")
    elif audit.verdict == "unknown":
        partly = [w.name for w in audit.loaded if np.any(np.isnan(w.normal))]
        texts.append(
            f"no verdict: the loads of {', '.join(partly or without)} are not known for part of "
            "the run"
        )
    else:
        margin = audit.friction - max(largest(w.demand)[0] for w in audit.judged)
        widest, wheel = max((largest(w.demand_range[:, 1])[0], w.name) for w in audit.judged)
        text = f"holds {ground}: margin {margin:.3g}"
        if widest > audit.friction + SMALL:
            text = (
                f"holds {ground} if the wheels share the forces best: margin {margin:.3g} by "
                f"least-norm sharing; otherwise {wheel} needs up to {_demand(widest)}"
            )
        texts.append(text)
    if without:
        texts[-1] += f"; no verdict for {', '.join(without)}, whose loads are not known"
    return [_line("no slip", text) for text in texts]


def _slip(slip: Failure) -> str:
    return (
        f"{slip.wheel} needs {_demand(slip.value)} at t = {slip.time:.4g} s, "
        f"{_demand(slip.excess)} too much ({_interval_text(slip)})"
    )


def _lift_lines(audit: Audit) -> list[str]:
    lines = []
    for lift in _worst(audit.lifts):
        how = "would lift" if lift.is_certain else "would lift by least-norm sharing, not otherwise"
        lines.append(
            _line(
                "lift",
                f"{lift.wheel} {how}: load {lift.value:.4g} N at t = {lift.time:.4g} s "
                f"({_interval_text(lift)})",
            )
        )
    return lines


def _worst(failures: tuple[Failure, ...]) -> list[Failure]:
    """The worst failure of each wheel, certain ones first."""
    worst: dict[str, Failure] = {}
    for failure in failures:
        other = worst.get(failure.wheel)
        if other is None or (failure.is_certain, failure.excess) > (other.is_certain, other.excess):
            worst[failure.wheel] = failure
    return list(worst.values())


def _interval_text(failure: Failure) -> str:
    if failure.start == failure.end:
        return "one sample"
    return f"from {failure.start:.4g} to {failure.end:.4g} s"


def _demand(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def audit_data(audit: Audit, samples: bool) -> dict[str, object]:
    """The audit as plain data; what is not a finite number is null."""
    required, k = largest(audit.required)
    data: dict[str, object] = {
        "friction": audit.friction,
        "verdict": audit.verdict,
        "headline": _headline(audit) if audit.judged and audit.contact == "ideal" else None,
        "required_friction": finite_or_none(required),
        "required_friction_time": finite_or_none(float(audit.t[k])) if len(audit.t) else None,
        "wheels": {wheel.name: _wheel_data(wheel, audit.t) for wheel in audit.wheels},
        "slips": [_failure_data(failure) for failure in audit.slips],
        "lifts": [_failure_data(failure) for failure in audit.lifts],
        "slides": [_failure_data(failure) for failure in audit.slides],
        "unsupported": [
            {
                "joint": u.joint,
                "wheels": list(u.wheels),
                "about": u.about,
                "largest_moment": finite_or_none(largest(u.moment)[0]),
                "fix": u.fix,
            }
            for u in audit.unsupported
        ],
        "notes": list(audit.notes),
    }
    if samples:
        data["time"] = _numbers(audit.t)
        data["required"] = _numbers(audit.required)
        data["samples"] = {
            wheel.name: {
                name: _numbers(getattr(wheel, name))
                for part in ("longitudinal", "lateral", "normal", "demand")
                for name in (part, f"{part}_range")
            }
            | {"use": _numbers(wheel.use), "slide": _numbers(wheel.slide)}
            for wheel in audit.wheels
        }
    return data


def _wheel_data(wheel: WheelAudit, t: Array) -> dict[str, object]:
    data: dict[str, object] = {
        "kind": wheel.kind, "load_from": wheel.load_from, "grip_from": wheel.grip_from,
    }  # fmt: skip
    extremes = {
        "largest_demand": (wheel.demand, wheel.demand_range[:, 1], 1),
        "least_load": (wheel.normal, wheel.normal_range[:, 0], -1),
        "largest_load": (wheel.normal, wheel.normal_range[:, 1], 1),
        "largest_longitudinal": (
            np.abs(wheel.longitudinal), np.max(np.abs(wheel.longitudinal_range), axis=1), 1,
        ),
        "largest_lateral": (np.abs(wheel.lateral), np.max(np.abs(wheel.lateral_range), axis=1), 1),
    }  # fmt: skip
    for name, (values, bound, sign) in extremes.items():
        value, k = largest(sign * values)
        data[name] = finite_or_none(sign * value)
        data[f"{name}_time"] = finite_or_none(float(t[k])) if not math.isnan(value) else None
        data[f"{name}_any_split"] = finite_or_none(sign * largest(sign * bound)[0])
    for name, values in {"largest_use": wheel.use, "largest_slide": wheel.slide}.items():
        value, k = largest(values)
        data[name] = finite_or_none(value)
        data[f"{name}_time"] = finite_or_none(float(t[k])) if not math.isnan(value) else None
    return data


def _failure_data(failure: Failure) -> dict[str, object]:
    return {
        "wheel": failure.wheel,
        "start": failure.start,
        "end": failure.end,
        "time": failure.time,
        "value": finite_or_none(failure.value),
        "excess": finite_or_none(failure.excess),
        "is_certain": failure.is_certain,
    }


def _numbers(values: Array) -> list[object]:
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [finite_or_none(float(value)) for value in values]
