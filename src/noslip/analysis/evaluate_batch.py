"""`evaluate_batch` and `inverse_dynamics_batch`: many states of many variants at an instant.

The same expressions as in `instant.py` and `instant_kinematics.py`, evaluated in lanes or on a GPU,
a block of variants at a time on several threads. A variant at which the independent speeds of the
system do not determine the motion is evaluated alone, in others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import (
    Instant,
    bearing_rows,
    check_time,
    independent_rates,
    instant,
    instant_parts,
    reaction_unit,
    with_outputs,
)
from noslip.analysis.instant_kinematics import InverseDynamics, inputs_for
from noslip.base import Array, SimulationError, check_memory, nearest
from noslip.engines import Program, System
from noslip.formulations import unknown_notes
from noslip.simulation import (
    KINEMATIC,
    Start,
    Starts,
    Variants,
    apply,
    check_named,
    check_outputs,
    choose_bases,
    dataset,
    in_blocks,
    layout_of,
    output_units,
    plan_inputs,
    read_variants,
    singular_state,
    states_in,
    trace_outputs,
)

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InstantBatch:
    """Many states with their accelerations, matrices, energies and reactions.

    Made by :func:`evaluate_batch`. Names are those of :class:`Instant`, with an array of one number
    for each variant where that has a number; ``batch[k]`` is the :class:`Instant` of a variant.

    Parameters
    ----------
    model : name of the mechanism.
    count : variants.
    independent_speeds : names the reduced equations are written in.
    coordinates, speeds, coordinate_rates, accelerations, multipliers, outputs : name → (n,).
    mass_matrix, velocity_terms : (n, nf, nf) and (n, nf); nan where `others` has the variant.
    kinetic_energy, potential_energy, speed_residual, position_residual : (n,).
    reactions, joint_reactions : owner → part → (n,).
    is_evaluated : (n,) false where the work was cancelled.
    others : variants in other independent speeds, in which the motion is determined there.
    units : by name.
    notes : what is not known, and why.
    """

    model: str
    count: int
    independent_speeds: tuple[str, ...]
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    coordinate_rates: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    mass_matrix: Array = field(repr=False)
    velocity_terms: Array = field(repr=False)
    kinetic_energy: Array = field(repr=False)
    potential_energy: Array = field(repr=False)
    multipliers: dict[str, Array] = field(repr=False)
    reactions: dict[str, dict[str, Array]] = field(repr=False)
    joint_reactions: dict[str, dict[str, Array]] = field(repr=False)
    speed_residual: Array = field(repr=False)
    position_residual: Array = field(repr=False)
    outputs: dict[str, Array] = field(repr=False)
    is_evaluated: NDArray[np.bool_] = field(repr=False)
    others: dict[int, Instant] = field(repr=False)
    units: dict[str, str] = field(repr=False)
    notes: tuple[str, ...]
    variants: Variants = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: int) -> Instant:
        """The state of one variant."""
        k = _checked_place(k, self.count)
        if k in self.others:
            return self.others[k]

        def at(values: Mapping[str, Array]) -> dict[str, float]:
            return {name: float(x[k]) for name, x in values.items()}

        return Instant(
            coordinates=at(self.coordinates),
            speeds=at(self.speeds),
            coordinate_rates=at(self.coordinate_rates),
            accelerations=at(self.accelerations),
            independent_speeds=self.independent_speeds,
            mass_matrix=self.mass_matrix[k],
            velocity_terms=self.velocity_terms[k],
            kinetic_energy=float(self.kinetic_energy[k]),
            potential_energy=float(self.potential_energy[k]),
            multipliers=at(self.multipliers),
            reactions={owner: at(parts) for owner, parts in self.reactions.items()},
            joint_reactions={owner: at(parts) for owner, parts in self.joint_reactions.items()},
            speed_residual=float(self.speed_residual[k]),
            position_residual=float(self.position_residual[k]),
            units=self.units,
            outputs=at(self.outputs),
            notes=self.notes,
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``; what differs between variants is a coordinate of it."""
        units = self.units
        columns = {n: (x, units[n]) for n, x in (self.coordinates | self.speeds).items()}
        for name, x in self.accelerations.items():
            columns[f"acceleration.{name}"] = (x, f"{units[name]}^2")
        columns["kinetic_energy"] = (self.kinetic_energy, "J")
        columns["potential_energy"] = (self.potential_energy, "J")
        for name, x in self.multipliers.items():
            columns[f"multiplier.{name}"] = (x, units[name])
        for kind, owners in (("reaction", self.reactions), ("joint", self.joint_reactions)):
            for owner, parts in owners.items():
                for part, x in parts.items():
                    unit = reaction_unit(units, owner, part)
                    columns[f"{kind}.{owner}.{part}"] = (x, unit)
        columns |= {name: (x, units.get(name, "")) for name, x in self.outputs.items()}
        return dataset(self.variants, columns, "states at an instant")

    def __repr__(self) -> str:
        note = f", {len(self.others)} in other speeds" if self.others else ""
        return (
            f"InstantBatch of '{self.model}': {self.count} variants{note}\n"
            "next: .accelerations, .reactions, .mass_matrix, [k], .to_xarray()"
        )


def evaluate_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    *,
    inputs: Mapping[str, ArrayLike | str] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    guess: Mapping[str, float] | None = None,
    outputs: Mapping[str, str] | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> InstantBatch:
    """Evaluate accelerations, matrices, energies and reactions at many states.

    Wherever :func:`evaluate` takes a number, a list of numbers may be given too, one for each
    variant.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : force and speed inputs (and ``name_rate`` of a speed input), zero by default: numbers,
        or expressions of t, coordinates, speeds and parameters, the same for all.
    parameters : values that differ from the nominal ones.
    guess : coordinates and named angles about which the rest is looked for, of all variants.
    outputs : name → expression, as in :func:`evaluate`.
    time : s.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`evaluate`, with the number of the variant.
    """
    check_named(inputs=inputs, parameters=parameters, guess=guess, outputs=outputs)
    given = dict(inputs or {})
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    variants = read_variants(
        system,
        "evaluate_batch",
        "states",
        state=state,
        inputs={name: x for name, x in given.items() if name not in texts},
        parameters=parameters,
        count=count,
        device=device,
    )
    check_time(system, time)
    check_outputs(variants.system, outputs or {})
    work = _Evaluation(variants, texts, frozenset(given), guess, dict(outputs or {}), time)
    in_blocks(
        variants.count,
        work.fill,
        size=variants.block,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )
    return work.result()


class _Evaluation:
    """States of all variants, filled block by block."""

    def __init__(
        self,
        variants: Variants,
        texts: dict[str, str],
        given: frozenset[str],
        guess: Mapping[str, float] | None,
        outputs: dict[str, str],
        time: float,
    ) -> None:
        self._variants, self._guess, self._time = variants, guess, time
        self._texts, self._given, self._outputs = texts, given, outputs
        system = variants.system
        self._system, kin = system, system.kinematics
        self._at = variants.compile(
            ("evaluate_batch", tuple(outputs.items())), lambda: _program(system, outputs)
        )
        nf = kin.num_independent_speeds
        sizes = {
            "rates": system.num_states,
            "health": len(system.singularity_measures),
            "speeds": kin.num_speeds,
            "accelerations": kin.num_speeds,
            "mass": nf * nf,
            "terms": nf,
            "rest": nf + nf * len(system.model.inputs),
            "energies": 2,
            "multipliers": len(bearing_rows(system)),
            "axes": 12 * len(kin.contacts),
            "wrenches": 9 * (len(kin.tree.nodes) + len(kin.tree.loops)),
            "residuals": len(kin.rows),
            "positions": 0,
            "outputs": len(outputs),
        }
        sizes["positions"] = self._at.output_size - sum(sizes.values())
        ends = np.cumsum(list(sizes.values()))
        self._places = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        check_memory(
            8.0 * variants.count * (self._at.output_size + kin.num_coordinates),
            "results",
            variants.where,
            "give fewer variants at a time",
        )
        self._q = np.full((variants.count, kin.num_coordinates), np.nan)
        self._values = np.full((variants.count, self._at.output_size), np.nan)
        self._is_done = np.zeros(variants.count, bool)
        self._others: dict[int, Instant] = {}

    def fill(self, block: range) -> None:
        """Evaluate a block of variants."""
        variants, system = self._variants, self._system
        u = variants.rows(variants.inputs, block)
        params = variants.rows(variants.parameters, block)
        t = np.full(len(block), self._time)
        model = system.model
        num, num_w = len(model.inputs), len(model.speed_inputs)
        speed_inputs = None
        inputs_at = self._inputs_at(u, params) if self._texts else None
        if inputs_at is not None:
            rest = np.zeros(len(system.independent_speeds)), np.zeros(len(system.auxiliary_states))

            def speed_inputs(k: NDArray[np.int64], q: Array) -> Array:
                x = variants.state_rows(q, *(np.tile(part, (len(q), 1)) for part in rest))
                return inputs_at(k, x)[:, num : num + num_w]

        start = variants.completed(block, self._time, guess=self._guess, speed_inputs=speed_inputs)
        q, eta, mu = start.q, start.eta, start.mu
        x = variants.state_rows(q, eta, mu)
        if inputs_at is not None:
            u = inputs_at(np.arange(len(block)), x)
        values = self._at.map(t, x, u, params)
        some = slice(block.start, block.stop)
        self._q[some], self._values[some] = q, values
        bases = choose_bases(system, t, q, params, measures=values[:, self._places["health"]])
        if bases.faults:
            k = min(bases.faults)
            number = f", variant {block.start + k}"
            raise singular_state(system, bases.faults[k], self._time, number)
        for here, which in bases.groups:
            if here is system:
                finite = np.isfinite(values[which, self._places["accelerations"]]).all(axis=1)
                which = which[~finite]
            if which.size:
                self._others_of(here, block.start, which, start, u, params)
        self._is_done[some] = True

    def _others_of(
        self,
        here: System,
        first: int,
        which: NDArray[np.int_],
        start: Starts,
        u: Array,
        params: Array,
    ) -> None:
        """Variants of a block in other independent speeds, one by one."""
        system, t = self._system, np.full(len(which), self._time)
        q, v, mu = start.q[which], start.v[which], start.mu[which]
        work = np.zeros((len(which), int(here.does_work)))
        x = states_in(here, t, q, v, np.concatenate([mu, work], axis=1), params[which])
        given = u[which]
        if self._texts:
            given = self._inputs_at(u, params, here)(which, x)
        num, num_w = len(system.model.inputs), len(system.model.speed_inputs)
        rows = layout_of(system).rows(t, q, given[:, num : num + num_w], params[which])
        missed = apply(rows.A, v) + rows.a
        for i, k in enumerate(which.tolist()):
            one = dataclasses.replace(
                start.one(here, k, self._time, params[k]),
                position_residual=_largest(rows.g[i]),
                speed_residual=_largest(missed[i]),
            )
            self._alone(here, first + k, one, given[i], params[k])
            self._values[first + k, self._places["residuals"]] = missed[i]

    def _inputs_at(
        self, u: Array, params: Array, here: System | None = None
    ) -> Callable[[NDArray[np.int64], Array], Array]:
        """[u; w; ẇ] of places in a block and states: expressions in place of numbers."""
        system = here or self._system
        plan = plan_inputs(system, self._texts, params[0])
        function = plan.function
        assert function is not None
        num_w = len(system.model.speed_inputs)
        names = [quantity.name for quantity in system.inputs]
        rates = {
            names[names.index(n) + num_w]
            for n in self._texts
            if names.index(n) >= len(names) - 2 * num_w
        }
        follows = np.array(
            [n in self._texts or (n in rates and n not in self._given) for n in names]
        )

        def inputs_at(k: NDArray[np.int64], x: Array) -> Array:
            base = np.tile(plan.base, (len(x), 1))
            found = function.map(np.full(len(x), self._time), x, base, params[k])
            return np.where(follows, found[:, : len(names)], u[k])

        return inputs_at

    def _alone(self, here: System, k: int, start: Start, u: Array, params: Array) -> None:
        """A variant in other independent speeds."""
        try:
            found = instant(here, start, u, params)
            if self._outputs:
                found = with_outputs(here, found, start, u, params, self._outputs)
        except SimulationError as error:
            place = f"{error.where}, variant {k}"
            raise SimulationError(error.what, place, error.fix) from None
        row = self._values[k]
        row[self._places["speeds"]] = start.v
        row[self._places["accelerations"]] = list(found.accelerations.values())
        row[self._places["multipliers"]] = list(found.multipliers.values())
        row[self._places["energies"]] = found.kinetic_energy, found.potential_energy
        num_q = len(found.coordinate_rates)
        row[self._places["rates"]][:num_q] = list(found.coordinate_rates.values())
        row[self._places["wrenches"]] = [
            parts[name] for parts in found.joint_reactions.values() for name in _WRENCH
        ]
        for name in ("mass", "terms"):
            row[self._places[name]] = np.nan
        row[self._places["outputs"]] = list(found.outputs.values())
        self._others[k] = found

    def result(self) -> InstantBatch:
        """All states, by name."""
        kin, count = self._system.kinematics, self._variants.count
        part = {name: self._values[:, place] for name, place in self._places.items()}
        nf = kin.num_independent_speeds
        bearing = [kin.rows[k].name for k in bearing_rows(self._system)]
        multipliers = {name: part["multipliers"][:, k] for k, name in enumerate(bearing)}
        reactions, joints = instant_parts(
            self._system,
            part["axes"].reshape(count, -1, 4, 3),
            multipliers,
            part["wrenches"].reshape(count, -1, 3, 3),
        )
        units = {q.name: q.unit for q in (*kin.coordinates, *kin.speeds, *kin.independent_speeds)}
        units |= {row.name: row.multiplier_unit for row in kin.rows}
        return InstantBatch(
            model=self._system.model.name,
            count=count,
            independent_speeds=tuple(s.name for s in kin.independent_speeds),
            coordinates={c.name: self._q[:, k] for k, c in enumerate(kin.coordinates)},
            speeds={s.name: part["speeds"][:, k] for k, s in enumerate(kin.speeds)},
            coordinate_rates={c.name: part["rates"][:, k] for k, c in enumerate(kin.coordinates)},
            accelerations={s.name: part["accelerations"][:, k] for k, s in enumerate(kin.speeds)},
            mass_matrix=part["mass"].reshape(count, nf, nf),
            velocity_terms=part["terms"],
            kinetic_energy=part["energies"][:, 0],
            potential_energy=part["energies"][:, 1],
            multipliers=multipliers,
            reactions=reactions,
            joint_reactions=joints,
            speed_residual=np.max(np.abs(part["residuals"]), axis=1, initial=0.0),
            position_residual=np.max(np.abs(part["positions"]), axis=1, initial=0.0),
            outputs={name: part["outputs"][:, k] for k, name in enumerate(self._outputs)},
            is_evaluated=self._is_done,
            others=self._others,
            units=units | output_units(self._system, self._outputs),
            notes=unknown_notes(kin),
            variants=self._variants,
        )


_WRENCH = [*(f"point_{k}" for k in "xyz"), *"xyz", *(f"moment_{k}" for k in "xyz")]


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _checked_place(k: int, count: int) -> int:
    """The number of a variant; those below zero count from the end."""
    if not -count <= k < count:
        raise IndexError(f"there are {count} variants, and number {k} is requested")
    return k % count


def _program(system: System, outputs: Mapping[str, str]) -> Program:
    """Everything that an instant has; with the singularity measures."""
    parts = [
        system.rates_expression,
        *map(system.output_expression, ("motion", "blocks", "energies")),
        system.equations.multipliers[bearing_rows(system)],
        *map(system.output_expression, ("contact_axes", "joint_wrenches", "residuals")),
    ]
    column = ca.vertcat(*[ca.densify(ca.vec(ca.SX(part))) for part in parts])
    if outputs:
        column = ca.vertcat(column, ca.densify(trace_outputs(system, outputs)))
    return system.program("instants", column)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InverseDynamicsBatch:
    """Inputs that produce prescribed accelerations. Made by :func:`inverse_dynamics_batch`.

    ``batch[k]`` is the :class:`InverseDynamics` of a variant.

    Parameters
    ----------
    model : name of the mechanism.
    count : variants.
    inputs : force input → (n,).
    unreachable : (n, nf) generalized force on the independent speeds that no inputs can supply; nan
        where `others` has the variant.
    independent_speeds : names of these speeds.
    others : variants in other independent speeds, in which the motion is determined there.
    units : of the inputs.
    """

    model: str
    count: int
    inputs: dict[str, Array] = field(repr=False)
    unreachable: Array = field(repr=False)
    independent_speeds: tuple[str, ...]
    others: dict[int, InverseDynamics] = field(repr=False)
    units: dict[str, str] = field(repr=False)
    variants: Variants = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: int) -> InverseDynamics:
        """The inputs of one variant."""
        k = _checked_place(k, self.count)
        if k in self.others:
            return self.others[k]
        return InverseDynamics(
            inputs={name: float(x[k]) for name, x in self.inputs.items()},
            unreachable=self.unreachable[k],
            independent_speeds=self.independent_speeds,
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``: inputs, and ``unreachable.…`` of the independent speeds."""
        columns = {name: (x, self.units[name]) for name, x in self.inputs.items()}
        for k, name in enumerate(self.independent_speeds):
            columns[f"unreachable.{name}"] = (self.unreachable[:, k], "")
        return dataset(self.variants, columns, "inverse dynamics")

    def __repr__(self) -> str:
        largest = _largest(self.unreachable[np.isfinite(self.unreachable)])
        return (
            f"InverseDynamicsBatch of '{self.model}': {self.count} variants, largest force that "
            f"no input supplies {largest:.3g}\nnext: .inputs, .unreachable, [k], .to_xarray()"
        )


def inverse_dynamics_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    accelerations_of: Mapping[str, ArrayLike],
    *,
    speed_inputs: Mapping[str, ArrayLike] | None = None,
    weights: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> InverseDynamicsBatch:
    """Compute force inputs that produce given rates of the independent speeds, of many states.

    Wherever :func:`inverse_dynamics` takes a number, a list of numbers may be given too, one for
    each variant.

    Parameters
    ----------
    system : compiled system.
    state : coordinates and speeds, completed consistently.
    accelerations_of : rate of every independent speed by name, or of other speeds, as in
        :func:`inverse_dynamics`; those not named are zero.
    speed_inputs : such as a steering rate, and their rates, zero by default.
    weights : input name → weight of its square in the norm that is least, 1 by default.
    parameters : values that differ from the nominal ones.
    time : s; what depends on t, forces, motions and rows, is taken then.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`inverse_dynamics`, with the number of the variant.
    """
    variants = read_variants(
        system,
        "inverse_dynamics_batch",
        "inverse dynamics",
        state=state,
        inputs=speed_inputs,
        parameters=parameters,
        others={"acceleration": accelerations_of, "weight": weights or {}},
        count=count,
        device=device,
    )
    check_time(system, time)
    system = variants.system
    kin, model = system.kinematics, system.model
    forces = [i.name for i in model.inputs]
    names = [s.name for s in kin.independent_speeds]
    speed_names = [i.name for i in model.speed_inputs]
    _check_known(
        variants, speed_inputs, [*speed_names, *(f"{n}_rate" for n in speed_names)], "speed input"
    )
    known = list(dict.fromkeys([*names, *(s.name for s in kin.speeds)]))
    etadot = _columns(variants, "acceleration", known, "independent speed", 0.0)[:, : len(names)]
    is_plain = set(variants.others["acceleration"]) <= set(names)
    weight = _columns(variants, "weight", forces, "force input to weight", 1.0)
    measures = ca.vertcat(*[m.value for m in system.singularity_measures])

    def trace() -> Program:
        blocks = system.output_expression("blocks")
        return system.program("blocks", ca.vertcat(ca.densify(measures), blocks))

    blocks_at = variants.compile("inverse_dynamics_batch", trace)
    nf, nu, nh = len(names), len(forces), measures.shape[0]
    inputs = np.full((variants.count, nu), np.nan)
    unreachable = np.full((variants.count, nf), np.nan)
    others: dict[int, InverseDynamics] = {}

    def fill(block: range) -> None:
        n, some = len(block), slice(block.start, block.stop)
        params = variants.rows(variants.parameters, block)
        u = variants.rows(variants.inputs, block)
        start, t = variants.completed(block, time), np.full(n, time)
        x = variants.state_rows(start.q, start.eta, start.mu)
        blocks = blocks_at.map(t, x, u, params)
        health, mass, bias, force, B = np.split(blocks, np.cumsum([nh, nf * nf, nf, nf]), axis=1)
        mass, B = mass.reshape(n, nf, nf), B.reshape(n, nf, nu)
        needed = np.einsum("nij,nj->ni", mass, variants.rows(etadot, block)) + bias - force
        found = np.zeros((n, nu))
        if nu:
            # as in `inverse_dynamics`: u = W^(-1/2) (B W^(-1/2))⁺ needed
            root = 1.0 / np.sqrt(variants.rows(weight, block))
            inverse = np.linalg.pinv(B * root[:, None, :], rcond=1e-12)
            found = root * np.einsum("nij,nj->ni", inverse, needed)
        inputs[some] = found
        unreachable[some] = needed - np.einsum("nij,nj->ni", B, found)
        bases = choose_bases(system, t, start.q, params, measures=health, kinds=KINEMATIC)
        if bases.faults:
            k = min(bases.faults)
            raise singular_state(system, bases.faults[k], time, f", variant {block.start + k}")
        for here, which in bases.groups:
            if here is not system or not is_plain:
                alone(here, block.start, which, start, u, params)

    def alone(
        here: System,
        first: int,
        which: NDArray[np.int_],
        start: Starts,
        u: Array,
        params: Array,
    ) -> None:
        """Variants of a block in other independent speeds, one by one."""
        num_w = len(speed_names)
        for k in which.tolist():
            one = start.one(here, k, time, params[k])
            w = u[k, nu : nu + num_w], u[k, nu + num_w :]
            given = {
                kind: {n: float(x[min(first + k, len(x) - 1)]) for n, x in values.items()}
                for kind, values in variants.others.items()
            }
            try:
                rates = independent_rates(system, here, one, given["acceleration"], params[k], w)
                solved = inputs_for(here, one, rates, w, given["weight"], params[k])
            except SimulationError as error:
                place = f"{error.where}, variant {first + k}"
                raise SimulationError(error.what, place, error.fix) from None
            inputs[first + k] = list(solved.inputs.values())
            unreachable[first + k] = solved.unreachable if here is system else np.nan
            if here is not system:
                others[first + k] = solved

    in_blocks(
        variants.count,
        fill,
        size=variants.block,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )
    return InverseDynamicsBatch(
        model=model.name,
        count=variants.count,
        inputs={name: inputs[:, k] for k, name in enumerate(forces)},
        unreachable=unreachable,
        independent_speeds=tuple(names),
        others=others,
        units={i.name: i.unit for i in model.inputs},
        variants=variants,
    )


def _columns(
    variants: Variants, kind: str, names: Sequence[str], what: str, default: float
) -> Array:
    """(1, k) or (count, k) numbers in the order of names; other names are refused."""
    given = variants.others[kind]
    _check_known(variants, given, names, what)
    table = np.full((max([1, *(len(x) for x in given.values())]), len(names)), default)
    for name, values in given.items():
        table[:, names.index(name)] = values
    return table


def _check_known(
    variants: Variants, given: Mapping[str, object] | None, names: Sequence[str], what: str
) -> None:
    for name in given or {}:
        if name not in names:
            raise SimulationError(
                f"there is no {what} '{name}'", variants.where, nearest(name, names)
            )
