"""Outputs of the functions of a `System`, and the system as a CasADi function.

**Outputs of the functions of a `System`, as expressions of t, x, inputs and parameters.**

To add a function: give its expression here, in `OUTPUTS` too, and `System` a property of its name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from noslip.algebra import stack
from noslip.base import CompileError
from noslip.formulations import Equations, joint_wrenches
from noslip.kinematics import Kinematics, SingularityMeasure
from noslip.model import GRAVITY, SPRING

if TYPE_CHECKING:
    from noslip.engines.system import System


def power(equations: Equations) -> ca.SX:
    """Power of everything that has no potential, at the solved accelerations.

    Constraints at rest do no work, vᵀAᵀλ = −λᵀa; where they move, their share is vᵀ(Aᵀλ).
    """
    eq, kin = equations, equations.kinematics
    shares = eq.forces.shares
    f = sum((share for name, share in shares.items() if name not in (GRAVITY, SPRING)), ca.SX(0))
    f = f + ca.mtimes(eq.forces.B, kin.acting_inputs)
    if not ca.sparsify(kin.a).is_zero():
        f = f + ca.substitute([eq.generalized_reactions], [eq.etadot], [eq.accelerations])[0]
    return ca.dot(kin.v, ca.densify(f)) if kin.num_speeds else ca.SX(0)


def input_powers(equations: Equations) -> ca.SX:
    """Power of each input, W: u (Bᵀv) of a force, λ w of a speed that is given.

    What holds a given speed is the multiplier λ of its row v − w = 0.
    """
    eq, kin = equations, equations.kinematics
    u, w = kin.acting_inputs, kin.symbols.w
    forces = u * ca.mtimes(eq.forces.B.T, kin.v) if u.shape[0] else ca.SX(0, 1)
    rows = [row.name for row in kin.rows]
    held = [rows.index(i.name) for i in kin.model.speed_inputs]
    speeds = eq.multipliers[held] * w if held else ca.SX(0, 1)
    return ca.vertcat(forces, speeds)


def motion(equations: Equations) -> ca.SX:
    """[v; v̇]."""
    return ca.vertcat(equations.kinematics.v, equations.speed_rates)


def energies(equations: Equations) -> ca.SX:
    """[K; U]."""
    return ca.vertcat(equations.kinetic_energy, equations.forces.potential_energy)


def residuals(kin: Kinematics) -> ca.SX:
    """[A v + a; g] of all rows."""
    return ca.vertcat(kin.row_values, kin.g)


def contact_axes(kin: Kinematics) -> ca.SX:
    """For each contact: its point, then its directions."""
    parts = []
    for contact in kin.contacts:
        parts += [contact.point, *contact.directions.values()]
    return kin.at_speeds(stack(parts))


def grips(equations: Equations) -> ca.SX:
    """For each force that slides: force along and across, load, use and speed; NaN without one."""
    parts: list[ca.SX] = []
    for _, *values in equations.forces.grips.values():
        parts += [ca.SX(np.nan) if x is None else x for x in values]
    return stack(parts)


def samples(equations: Equations) -> ca.SX:
    """[v; energies; residuals; contact points]: what needs no accelerations."""
    kin = equations.kinematics
    points = kin.at_speeds(stack([contact.point for contact in kin.contacts]))
    return ca.vertcat(kin.v, energies(equations), residuals(kin), points)


def wrenches(equations: Equations) -> ca.SX:
    """For each joint (tree, then loops): point, force and moment on the child."""
    parts: list[ca.SX] = []
    for wrench in joint_wrenches(equations):
        parts += [wrench.point, wrench.force, wrench.moment]
    return stack(parts)


def poses(kin: Kinematics) -> ca.SX:
    """For each body: R_WB by rows (9) and p_WB (3)."""
    parts = []
    for node in kin.tree.nodes:
        parts += [ca.reshape(node.R_WB.T, 9, 1), node.p_WB]
    return stack(parts)


def blocks(equations: Equations) -> ca.SX:
    """[SᵀMS by rows; bias; SᵀQ; SᵀB by rows]."""
    return ca.vertcat(
        ca.vec(equations.reduced_mass.T),
        equations.reduced_bias,
        equations.reduced_forces,
        ca.vec(ca.densify(equations.reduced_inputs).T),
    )


#: Function of a `System` → its output.
OUTPUTS: dict[str, Callable[[Equations], ca.SX]] = {
    "motion": motion,
    "energies": energies,
    "residuals": lambda equations: residuals(equations.kinematics),
    "samples": samples,
    "multipliers": lambda equations: equations.multipliers,
    "input_powers": input_powers,
    "contact_axes": lambda equations: contact_axes(equations.kinematics),
    "grips": grips,
    "joint_wrenches": wrenches,
    "poses": lambda equations: poses(equations.kinematics),
    "blocks": blocks,
}


def mass_health(equations: Equations) -> tuple[SingularityMeasure, ...]:
    """Least pivot of the reduced mass matrix relative to its diagonal, where it can change.

    One below zero is as bad as zero.
    """
    kin, (_, pivots, mass) = equations.kinematics, equations.solution
    # a recursion forms no mass matrix; should a joint lose its inertia, its rates are not finite
    if mass is None:
        return ()
    ratios = [
        d / mass[k, k] for k, d in enumerate(pivots) if k > 0 and ca.depends_on(d, kin.symbols.q)
    ]
    if not ratios:
        return ()
    least = ratios[0]
    for ratio in ratios[1:]:
        least = ca.fmin(least, ratio)
    return (
        SingularityMeasure(
            name="mass matrix",
            kind="mass",
            value=ca.fmax(least, 0),
            floor=1e-12,
            limit=1e-12,
            sentence="the reduced mass matrix is singular here: a degree of freedom has no inertia",
        ),
    )


def _measures(system: System) -> ca.SX:
    return stack([measure.value for measure in system.singularity_measures])


#: Output → its expression.
CASADI_OUTPUTS: dict[str, Callable[[System], ca.SX]] = {
    "rates": lambda system: system.equations.state_rates,
    "speeds": lambda system: system.kinematics.v,
    "accelerations": lambda system: system.equations.speed_rates,
    "measures": _measures,
    "energies": lambda system: energies(system.equations),
    "residuals": lambda system: residuals(system.kinematics),
    "multipliers": lambda system: system.equations.multipliers,
    "poses": lambda system: poses(system.kinematics),
}


#: Outputs that are right where the independent speeds do not determine the motion too.
_EVERYWHERE = {"measures", "poses"}
#: Module that reads expressions of a motion; imported when an output is none of the words above.
EXPRESSIONS = "noslip.simulation.expressions"


def _where_known(system: System) -> ca.SX:
    """1 where the independent speeds determine the motion, else nan, which derivatives keep too."""
    is_known = ca.SX(1)
    for measure in system.singularity_measures:
        is_known = ca.logic_and(is_known, ca.fabs(measure.value) > measure.limit)
    return ca.if_else(is_known, 1.0, float("nan"))


def _named_outputs(outputs: Sequence[str] | Mapping[str, str], where: str) -> dict[str, str]:
    """Name of an output → its word or expression; of a text, its letters and digits."""
    fix = "name each output once"
    if isinstance(outputs, Mapping):
        wanted = [(str(own), str(word)) for own, word in outputs.items()]
    else:
        words = [outputs] if isinstance(outputs, str) else list(outputs)
        wanted = [(_plain(word), word) for word in words]
    if not wanted or len({own for own, _ in wanted}) < len(wanted):
        listed = ", ".join(word for _, word in wanted)
        raise CompileError(f"the outputs are {listed or 'none'}", where, fix)
    for own, word in wanted:
        _check_name(own, f"the output '{word}'", where)
    return dict(wanted)


def _plain(word: str) -> str:
    """A name for CasADi: ``load.front`` is ``load_front``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", str(word)).strip("_")


def _check_name(name: str, what: str, where: str) -> None:
    if not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9]+)*", name, re.ASCII):
        raise CompileError(
            f"'{name}' is not a valid name of {what}",
            where,
            "start with a letter, then letters, digits and single underscores",
        )


def _output(system: System, word: str, where: str) -> ca.SX:
    """One of the words, or an expression of the motion."""
    if word in CASADI_OUTPUTS:
        return CASADI_OUTPUTS[word](system)
    found: ca.SX = importlib.import_module(EXPRESSIONS).traced_output(
        system, word, where, tuple(CASADI_OUTPUTS)
    )
    return found


def casadi_function(
    system: System,
    outputs: Sequence[str] | Mapping[str, str],
    *,
    name: str,
    parameters: Mapping[str, float] | None,
    work: bool,
) -> ca.Function:
    """The function that `System.casadi_function` gives; its arguments are described there."""
    where = f"CasADi function of model '{system.model.name}'"
    wanted = _named_outputs(outputs, where)
    _check_name(name, "a CasADi function", where)
    symbols = system.kinematics.symbols
    given = {"t": symbols.t, "x": system.equations.state, "u": system.equations.inputs}
    known = _where_known(system)
    found = {
        own: system.fold(_output(system, word, where) * (1 if word in _EVERYWHERE else known))
        for own, word in wanted.items()
    }
    if work and system.does_work:
        given["x"] = system.state
        for own in [own for own, word in wanted.items() if word == "rates"]:
            rates = system.rates_expression[: system.num_states, :] * known
            found[own] = system.fold(rates)
    given["p"] = symbols.params
    if parameters is not None:
        values = ca.DM(system.parameters(parameters))
        found = {k: ca.substitute([e], [symbols.params], [values])[0] for k, e in found.items()}
        del given["p"]
    results = [ca.densify(expression) for expression in found.values()]
    return ca.Function(name, list(given.values()), results, list(given), list(found))
