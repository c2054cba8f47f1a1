"""What a system says at one state: accelerations, matrices, energies and reactions, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.kinematics.basis import independent_columns
from noslip.simulation.simulate import check_redundant_rows
from noslip.simulation.start import Start, complete_start, start_names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instant:
    """A state and all that follows from it.

    Parameters
    ----------
    coordinates, speeds : the state, by name.
    coordinate_rates : q̇ by name.
    accelerations : v̇ of all tree speeds by name.
    independent_speeds : names the reduced equations are written in.
    mass_matrix : reduced mass matrix SᵀMS, in that order.
    velocity_terms : reduced bias Sᵀ(c + M(Ṡη + ṡ)).
    multipliers : λ by row, N or N·m, acting on the mechanism.
    reactions : by contact, loop, motion or row: multipliers by part, and for contacts the force on
        the body in world axes (``x``, ``y``, ``z``) and the contact point.
    """

    coordinates: dict[str, float]
    speeds: dict[str, float]
    coordinate_rates: dict[str, float]
    accelerations: dict[str, float]
    independent_speeds: tuple[str, ...]
    mass_matrix: Array
    velocity_terms: Array
    kinetic_energy: float
    potential_energy: float
    multipliers: dict[str, float]
    reactions: dict[str, dict[str, float]]
    joint_reactions: dict[str, dict[str, float]]
    speed_residual: float
    position_residual: float

    def text(self) -> str:
        """The instant for people, one table a quantity."""

        def table(title: str, values: Mapping[str, float]) -> list[str]:
            width = max((len(n) for n in values), default=0)
            return [title, *(f"  {n:<{width}}  {x: .12g}" for n, x in values.items())]

        rows = [f"  {'  '.join(f'{x: .9g}' for x in row)}" for row in self.mass_matrix]
        energies = {"kinetic": self.kinetic_energy, "potential": self.potential_energy}
        lines = table("coordinates", self.coordinates) + table("speeds", self.speeds)
        lines += table("coordinate rates", self.coordinate_rates)
        lines += table("accelerations", self.accelerations)
        lines += [f"reduced mass matrix ({', '.join(self.independent_speeds)})", *rows]
        lines += table("energies [J]", energies) + table("multipliers [N, N*m]", self.multipliers)
        for owner, parts in self.reactions.items():
            lines += table(f"reaction of '{owner}' [N, N*m; points in m]", parts)
        for owner, parts in self.joint_reactions.items():
            lines += table(f"joint '{owner}' on its child [N, N*m; points in m]", parts)
        if any("normal" not in parts for parts in self.reactions.values()):
            lines.append(
                "contacts without a normal row carry no weight here: the joint that holds their "
                "height does; `noslip run` tells the loads of the wheels"
            )
        lines.append(
            f"constraint residual {self.speed_residual:.1e} (speeds) "
            f"{self.position_residual:.1e} (positions)"
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain numbers, lists and dictionaries."""
        return {
            "coordinates": self.coordinates,
            "speeds": self.speeds,
            "coordinate_rates": self.coordinate_rates,
            "accelerations": self.accelerations,
            "independent_speeds": list(self.independent_speeds),
            "mass_matrix": self.mass_matrix.tolist(),
            "velocity_terms": self.velocity_terms.tolist(),
            "kinetic_energy": self.kinetic_energy,
            "potential_energy": self.potential_energy,
            "multipliers": self.multipliers,
            "reactions": self.reactions,
            "joint_reactions": self.joint_reactions,
            "speed_residual": self.speed_residual,
            "position_residual": self.position_residual,
        }


def evaluate(
    system: System,
    state: Mapping[str, float],
    *,
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Instant:
    """Everything the system says at a state.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : values of force and speed inputs (and of ``name_rate`` of a speed input), zero by
        default.
    parameters : values that differ from the nominal ones.
    time : s.
    """
    params = system.parameters(parameters)
    check_redundant_rows(system, params, parameters)
    u = input_vector(system, inputs or {})
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    start = complete_start(
        system,
        state,
        time=time,
        speed_inputs=lambda q: u[num_u : num_u + num_w],
        parameters=params,
    )
    return instant(system, start, u, params)


def instant(system: System, start: Start, u: Array, params: Array) -> Instant:
    """The instant of a completed start."""
    kin = system.kinematics
    t = start.time
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    rates = system.rates(t, x, u, params)
    for health, value in zip(system.health, rates[system.num_states :], strict=True):
        if not value > health.limit:
            if health.kind == "basis":
                # another choice of independent speeds is regular here
                probe = dataclasses.replace(kin.probe, params=params)
                chosen = independent_columns(probe, kin.kept, [(t, start.q)])
                names = tuple(kin.speeds[k].name for k in chosen)
                if names != tuple(s.name for s in kin.independent_speeds):
                    other = system.in_speeds(names)
                    eta = start.v[list(chosen)]
                    moved = Start(
                        time=t,
                        q=start.q,
                        v=start.v,
                        eta=eta,
                        mu=start.mu,
                        position_residual=start.position_residual,
                        speed_residual=start.speed_residual,
                        completed=start.completed,
                    )
                    return instant(other, moved, u, params)
            raise SimulationError(
                health.sentence,
                f"model '{system.model.name}' at the given state, t = {t:g} s",
                f"give another configuration; what can be set: {', '.join(start_names(system))}",
            )
    num_v, num_f = kin.num_speeds, kin.num_independent_speeds
    motion = system.motion(t, x, u, params)
    blocks = system.blocks(t, x, u, params)
    energies = system.energies(t, x, u, params)
    lam = system.multipliers(t, x, u, params)
    multipliers = {row.name: float(value) for row, value in zip(kin.rows, lam, strict=True)}
    return Instant(
        coordinates={c.name: float(e) for c, e in zip(kin.coordinates, start.q, strict=True)},
        speeds={s.name: float(e) for s, e in zip(kin.speeds, start.v, strict=True)},
        coordinate_rates={c.name: float(rates[k]) for k, c in enumerate(kin.coordinates)},
        accelerations={s.name: float(motion[num_v + k]) for k, s in enumerate(kin.speeds)},
        independent_speeds=tuple(s.name for s in kin.independent_speeds),
        mass_matrix=blocks[: num_f * num_f].reshape(num_f, num_f),
        velocity_terms=blocks[num_f * num_f : num_f * num_f + num_f],
        kinetic_energy=float(energies[0]),
        potential_energy=float(energies[1]),
        multipliers=multipliers,
        reactions=_reactions(system, t, x, u, params, multipliers),
        joint_reactions=_joint_reactions(system, t, x, u, params),
        speed_residual=start.speed_residual,
        position_residual=start.position_residual,
    )


def _reactions(
    system: System, t: float, x: Array, u: Array, params: Array, multipliers: dict[str, float]
) -> dict[str, dict[str, float]]:
    """Multipliers grouped by owner; contacts also as a force on the body in world axes."""
    result: dict[str, dict[str, float]] = {}
    for name, value in multipliers.items():
        owner, _, part = name.rpartition(".")
        result.setdefault(owner or name, {})[part if owner else "force"] = value
    axes = system.contact_axes(t, x, u, params).reshape(-1, 4, 3)
    for trace, (point, *directions) in zip(system.kinematics.contacts, axes, strict=True):
        entry = result.setdefault(trace.contact.name, {})
        force = np.zeros(3)
        for part, direction in zip(trace.directions, directions, strict=True):
            force += entry.get(part, 0.0) * direction
        entry |= dict(zip("xyz", map(float, force), strict=True))
        entry |= {f"point_{k}": float(e) for k, e in zip("xyz", point, strict=True)}
    return result


def _joint_reactions(
    system: System, t: float, x: Array, u: Array, params: Array
) -> dict[str, dict[str, float]]:
    """Force and moment of each joint on its child, in world axes."""
    kin = system.kinematics
    joints = [*(node.joint for node in kin.tree.nodes), *kin.tree.loops]
    numbers = system.joint_wrenches(t, x, u, params).reshape(-1, 3, 3)
    parts = [*"xyz", *(f"moment_{k}" for k in "xyz"), *(f"point_{k}" for k in "xyz")]
    return {
        joint.name: dict(zip(parts, map(float, (*force, *moment, *point)), strict=True))
        for joint, (point, force, moment) in zip(joints, numbers, strict=True)
    }


def input_vector(system: System, inputs: Mapping[str, float]) -> Array:
    """[u; w; ẇ] of inputs by name; those that are not given are zero."""
    names = [q.name for q in system.inputs]
    u = np.zeros(len(names))
    for name, value in inputs.items():
        if name not in names:
            raise SimulationError(
                f"there is no input '{name}'",
                f"inputs of model '{system.model.name}'",
                nearest(name, names),
            )
        u[names.index(name)] = float(value)
    return u
