"""Report of `noslip check`: bodies, coordinates, rows, degrees of freedom, inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from noslip import Fault, Kinematics, Model, derive
from noslip.base import ArgumentError, counted
from noslip.geometry import integrals_of
from noslip.model import check_model

if TYPE_CHECKING:
    from noslip import System

#: A contact is on its plane if it is nearer than this, of the model's own length.
_TOUCHES = 1e-9
#: Configurations at which branches are looked for.
_BRANCH_SAMPLES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """A model that passed its checks, in words.

    Of `velocity_rows`, which restrict speeds, as many combinations as there are `integrals`
    integrate to constraints on coordinates; the others are nonholonomic. None where that was not
    decided, because brackets are long.
    """

    model: str
    description: str
    bodies: tuple[str, ...]
    coordinates: tuple[tuple[str, str], ...]
    speeds: tuple[tuple[str, str], ...]
    holonomic_rows: tuple[str, ...]
    velocity_rows: tuple[str, ...]
    integrals: tuple[str, ...] | None
    redundant_rows: tuple[tuple[str, tuple[str, ...]], ...]
    degrees_of_freedom: int
    other_branches: tuple[int, ...]
    independent_speeds: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    speed_inputs: tuple[tuple[str, str], ...]
    start_names: tuple[str, ...]
    parameters: tuple[tuple[str, float, str, str], ...]
    scenario: str
    warnings: tuple[Fault, ...]

    def text(self) -> str:
        """The report for people."""

        def listed(pairs: tuple[tuple[str, str], ...]) -> str:
            return ", ".join(f"{name} [{unit}]" for name, unit in pairs) or "none"

        lines = [
            f"{self.model}: {self.description}" if self.description else self.model,
            f"  bodies               {len(self.bodies)}: {', '.join(self.bodies)}",
            f"  coordinates          {len(self.coordinates)}: {listed(self.coordinates)}",
            f"  tree speeds          {len(self.speeds)}: {listed(self.speeds)}",
            f"  holonomic rows       {len(self.holonomic_rows)}: "
            f"{', '.join(self.holonomic_rows) or 'none'}",
            *(f"  {title:<20} {said}" for title, said in self.velocity_constraints()),
            f"  redundant rows       {len(self.redundant_rows)}",
        ]
        for name, others in self.redundant_rows:
            reason = f"follows from {', '.join(others)}" if others else "vanishes by itself"
            lines.append(f"    {name} {reason}")
        lines += [
            f"  degrees of freedom   {self.degrees_of_freedom}"
            + "".join(
                f"; {n} on another branch of its configurations" for n in self.other_branches
            ),
            f"  independent speeds   {listed(self.independent_speeds)}",
            f"  force inputs         {listed(self.inputs)}",
            f"  speed inputs         {listed(self.speed_inputs)}",
            "  parameters" if self.parameters else "  parameters           none",
        ]
        width = max((len(p[0]) for p in self.parameters), default=0)
        lines += [
            f"    {name:<{width}} = {value:g} {unit}  {description}".rstrip()
            for name, value, unit, description in self.parameters
        ]
        angles = [
            n for n in self.start_names if n not in dict(self.coordinates) | dict(self.speeds)
        ]
        if angles:
            lines.append(f"  also by name         {', '.join(angles)}")
        if self.scenario:
            lines.append(f"  scenario             {self.scenario}")
        for warning in self.warnings:
            first, *rest = warning.text().splitlines()
            lines += [f"  warning: {first}", *(f"  {line}" for line in rest)]
        return "\n".join(lines)

    @property
    def num_nonholonomic(self) -> int | None:
        """Velocity constraints that are left when the combinations that integrate are taken out."""
        return None if self.integrals is None else len(self.velocity_rows) - len(self.integrals)

    def integrated(self) -> str:
        """What of the rows that restrict speeds integrates, as a sentence; empty without such."""
        rows = counted(len(self.velocity_rows), "row")
        if not self.velocity_rows or self.integrals is None:
            return ""
        if not self.integrals:
            return f"No combination of the {rows} on speeds integrates: nonholonomic"
        count = len(self.integrals)
        return (
            f"Of the {rows} on speeds, {counted(count, 'combination')} "
            f"integrate{'s' if count == 1 else ''}: {'; '.join(self.integrals)}"
        )

    def velocity_constraints(self) -> list[tuple[str, str]]:
        """Rows that restrict speeds and what of them integrates: titles and texts."""
        rows = self.velocity_rows
        if not rows:
            return []
        found = [("velocity rows", f"{len(rows)}: {', '.join(rows)}")]
        if self.integrals is None:
            return [*found, ("integrate", "not decided here; see noslip geometry")]
        found += [("integrates", said) for said in self.integrals]
        if self.num_nonholonomic:
            found.append(("nonholonomic", f"{self.num_nonholonomic} of {len(rows)}"))
        return found

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "model": self.model,
            "description": self.description,
            "bodies": list(self.bodies),
            "coordinates": [{"name": n, "unit": u} for n, u in self.coordinates],
            "speeds": [{"name": n, "unit": u} for n, u in self.speeds],
            "holonomic_rows": list(self.holonomic_rows),
            "velocity_rows": list(self.velocity_rows),
            "integrals": None if self.integrals is None else list(self.integrals),
            "nonholonomic": self.num_nonholonomic,
            "redundant_rows": [
                {"name": n, "follows_from": list(others)} for n, others in self.redundant_rows
            ],
            "degrees_of_freedom": self.degrees_of_freedom,
            "other_branches": list(self.other_branches),
            "independent_speeds": [{"name": n, "unit": u} for n, u in self.independent_speeds],
            "inputs": [{"name": n, "unit": u} for n, u in self.inputs],
            "speed_inputs": [{"name": n, "unit": u} for n, u in self.speed_inputs],
            "start_names": list(self.start_names),
            "parameters": [
                {"name": n, "value": v, "unit": u, "description": d}
                for n, v, u, d in self.parameters
            ],
            "scenario": self.scenario,
            "warnings": [{"what": w.what, "where": w.where, "fix": w.fix} for w in self.warnings],
        }


def check(model: Model) -> CheckReport:
    """Check a model as a whole and say what it is.

    Raises
    ------
    ModelError, FormulationError : if it has faults.
    """
    from noslip import System

    if not isinstance(model, Model):
        raise ArgumentError(
            f"check takes a Model, got {type(model).__name__}",
            "model, argument of check",
            "load or build one first",
        )
    warnings = check_model(model)
    return describe(System(equations=derive(model)), warnings)


def describe(system: System, warnings: Iterable[Fault]) -> CheckReport:
    """Describe the model of a system, with the warnings of its check."""
    from noslip.simulation import units_by_name

    model, kin = system.model, system.kinematics
    redundant = {r.row for r in kin.redundant}
    rows = [(k, row) for k, row in enumerate(kin.rows) if k not in redundant]
    units = {s.name: s.unit for s in kin.speeds}
    velocity_rows, integrals = integrals_of(kin)
    return CheckReport(
        model=model.name,
        description=model.description,
        bodies=tuple(b.name for b in model.bodies),
        coordinates=tuple((c.name, c.unit) for c in kin.coordinates),
        speeds=tuple((s.name, s.unit) for s in kin.speeds),
        holonomic_rows=tuple(row.name for _, row in rows if row.is_holonomic),
        velocity_rows=velocity_rows,
        integrals=integrals,
        redundant_rows=tuple((kin.rows[r.row].name, r.follows_from) for r in kin.redundant),
        degrees_of_freedom=kin.num_independent_speeds,
        other_branches=_other_branches(kin),
        independent_speeds=tuple((s.name, s.unit) for s in kin.independent_speeds),
        inputs=tuple((i.name, i.unit) for i in model.inputs),
        speed_inputs=tuple((i.name, units[i.speed]) for i in model.speed_inputs),
        start_names=tuple(units_by_name(system)),
        parameters=tuple((p.name, p.value, p.unit, p.description) for p in model.parameters),
        scenario=_scenario(model),
        warnings=(*warnings, *_contacts_off_their_planes(model, kin)),
    )


def _other_branches(kin: Kinematics) -> tuple[int, ...]:
    """Degrees of freedom on branches of the configurations on which they are others."""
    if kin.probe.rank is None:
        return ()
    everywhere = dataclasses.replace(kin.probe, rank=None)
    ranks = {
        rank
        for t, q in everywhere.configurations(_BRANCH_SAMPLES)
        if (rank := everywhere.rank_at(q, t)) != kin.probe.rank
        and everywhere.is_rank_constant_near(q, t, rank)
    }
    return tuple(kin.num_speeds - rank for rank in sorted(ranks))


def _contacts_off_their_planes(model: Model, kin: Kinematics) -> Iterator[Fault]:
    """Contacts at a fixed height that is not zero, such as a wheel whose joint forgets its radius.

    Equations of planar models do not depend on heights, but loads of wheels and pictures do.
    """
    values = ca.DM([p.value for p in model.parameters])
    for trace in kin.contacts:
        if ca.depends_on(trace.height, ca.vertcat(kin.symbols.q, kin.symbols.t)):
            continue
        height = ca.Function("height", [kin.symbols.params], [trace.height])
        off = float(height(values))
        if not abs(off) <= _TOUCHES * kin.length:
            name, far = trace.contact.name, f"{abs(off):.6g} m"
            yield Fault(
                f"contact '{name}' is {far} {'above' if off > 0 else 'below'} its plane, and no "
                "joint lets it reach the plane",
                f"contacts.{name}",
                f"place it {far} {'lower' if off > 0 else 'higher'}, with the frames of "
                "the joints that carry it, or correct its radius, its position on the body or its "
                "plane",
            )


def _scenario(model: Model) -> str:
    """Describe what `noslip run` does and which of its values can be set."""
    scenario = model.scenario
    if scenario is None:
        return ""
    numbers = ", ".join(f"{p.name} = {p.value:g} {p.unit}" for p in scenario.parameters)
    said = [scenario.description, f"along {', '.join(scenario.path)}" if scenario.path else ""]
    said.append(f"controller {scenario.controller}" if scenario.controller else "")
    text = f"{scenario.duration:g} s; {', '.join(filter(None, said))}"
    return f"{text} (with {numbers})" if numbers else text
