"""`System`, the fourth stage: native functions of (t, x, inputs, parameters), with names and units.

**Outputs of the functions of a `System`, and the system as a CasADi function.**

**Outputs of the functions of a `System`, as expressions of t, x, inputs and parameters.**

To add a function: give its expression here, in `OUTPUTS` too, and `System` a property of its name.

**Values of parameters: given in place of the model's, folded into the code, and checked.**

The checks of a model walk through all its fields, which takes milliseconds. Of a model that passed
them, other values can change signs and make expressions undefined, and nothing else. Everything the
checks depend on is therefore traced once as a function of the parameters, which gives a sufficient
condition for the checks to pass. Values that meet it are accepted; for values that do not, or
nearly do not, the checks themselves are run: they decide, and say what is wrong.

**Projection of a state onto the holonomic constraints: one step, as an expression.**

    δ = W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ g,    q ← q − N δ,    quaternions to unit length

One Gauss–Newton step onto the independent holonomic rows g = 0. It is the least-norm step, each
tree speed weighed by the inertia that moves with it at an ordinary configuration: W are numbers,
since the whole mass matrix would cost more than all the rest and gain nothing.

Where rows repeat each other with shares that vary, such as those of two side rods, all of them are
held together, by combinations (`Kinematics.independent_positions`).

    x = [q; η; μ; W]     inputs = [u; w; ẇ]     parameters in the model's order

W is the work done on the mechanism since the start by everything that does not derive from a
potential (inputs, dampers, friction, given wrenches, prescribed motions). It is integrated with the
state, so that the balance K + U − W can be checked to rounding; it is left out where nothing does
such work.

Every function is compiled when it is first needed and never again: parameters are arguments, but
for those that are folded into the code as constants.

**Choices of independent speeds that together cover the ranges of the coordinates.**

A simulation chooses other independent speeds where those it has end. Code that runs elsewhere must
bring all it may need along: choices are added, the one that most of the places left ask for first,
until every sampled configuration is well within one of them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import stack, symmetric_solve
from noslip.base import (
    ArgumentError,
    CompileError,
    LRUCache,
    SimulationError,
    as_number,
    counted,
    interruptible,
    nearest,
)
from noslip.engines.native import HoistedFunction, NativeFunction, compile_hoisted, compile_native
from noslip.engines.program import Program, trace_program
from noslip.expressions import CONSTANTS, Name, Number, apply, fold, nominal, parse
from noslip.formulations import Equations, InertiaCheck, joint_wrenches, kinetic_energy
from noslip.kinematics import RANK_LOST, Kinematics, SingularityMeasure, trace, twists
from noslip.model import (
    GRAVITY,
    LARGEST,
    NOT_NEGATIVE,
    POSITIVE,
    SMALLEST,
    SPRING,
    Body,
    Meaning,
    Model,
    Quantity,
    check_model,
    leaves,
    texts_of,
)


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


#: Directions and minors of inertia tensors below this, relative to 1 or to the trace, are too
#: close to zero for the condition.
CLOSE = 1e-11
#: Number of checked values from which on it pays to trace the condition.
OFTEN = 4


def changed_values(model: Model, given: Mapping[str, float]) -> dict[str, float]:
    """Nominal values of all parameters, changed where `given` says so."""
    values = model.parameter_values()
    where = f"model '{model.name}', parameters"
    for name, value in given.items():
        if name not in values:
            raise SimulationError(f"there is no parameter '{name}'", where, nearest(name, values))
        values[name] = as_number(value)
        if values[name] != values[name] and not isinstance(value, float):
            raise SimulationError(
                f"parameter '{name}' is {value!r}, which is not a number",
                where,
                "give a number in the parameter's unit",
            )
    return values


def check_not_folded(
    model: Model, values: Mapping[str, float], folded: Mapping[str, float]
) -> None:
    """Refuse other values of parameters than those the code was compiled for."""
    for name, value in folded.items():
        if values[name] != value:
            raise SimulationError(
                f"parameter '{name}' is {values[name]:.9g}, but the code was compiled for "
                f"{value:.9g}",
                f"model '{model.name}', parameters",
                f"leave '{name}' out of fold=… when compiling, or compile a model with the new "
                "value",
            )


def check_values(model: Model, values: Mapping[str, float]) -> None:
    """Refuse parameter values that the model's own checks refuse, such as a negative mass."""
    changed = tuple(dataclasses.replace(p, value=values[p.name]) for p in model.parameters)
    check_model(dataclasses.replace(model, parameters=changed, scenario=None, plan=None))


def folded_values(model: Model, folded: bool | Sequence[str]) -> dict[str, float]:
    """Values of the parameters that become constants of the code: those named, or all for True."""
    values = model.parameter_values()
    if isinstance(folded, bool):
        return values if folded else {}
    if isinstance(folded, str):
        raise CompileError(
            f"fold is '{folded}'",
            f"compilation of model '{model.name}'",
            f"give a list: fold=['{folded}'], or True for all parameters",
        )
    if isinstance(folded, Mapping) or not isinstance(folded, Iterable):
        raise CompileError(
            f"fold is {folded!r:.60}",
            f"compilation of model '{model.name}'",
            "give a list of names, or True for all parameters; their values are the model's",
        )
    for name in folded:
        if name not in values:
            raise CompileError(
                f"there is no parameter '{name}' to fold",
                f"compilation of model '{model.name}'",
                nearest(str(name), values),
            )
    return {name: values[name] for name in values if name in folded}


class ParameterChecker:
    """Checks values of a model's parameters; those checked last are cached.

    `inertia`: check of the degrees of freedom at a vector of them.
    """

    def __init__(
        self, model: Model, inertia: Callable[[NDArray[np.float64]], None] | None = None
    ) -> None:
        self.model, self._inertia = model, inertia
        # a run checks the same ones several times
        self._accepted: deque[tuple[float, ...]] = deque(maxlen=16)

    @cached_property
    def _condition(self) -> SufficientCondition:
        return trace_condition(self.model)

    def checked_vector(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Values of all parameters in their order, checked.

        Raises
        ------
        ModelError : if the checks of the model refuse them.
        FormulationError : if a degree of freedom has no inertia with them.
        """
        key = tuple(values.values())
        vector = np.array(key, dtype=float)
        if key not in self._accepted:
            is_often = len(self._accepted) >= OFTEN
            if not (is_often and self._condition.holds(vector)):
                check_values(self.model, values)
                if self._inertia is not None:
                    self._inertia(vector)
            self._accepted.append(key)
        return vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SufficientCondition:
    """Condition on parameter values under which the checks of the model pass."""

    #: function of the parameters: the least number that must be positive, the least that must not
    #: be negative, and the sum of the sizes of all that must be finite, these among them
    function: ca.Function

    def holds(self, values: NDArray[np.float64]) -> bool:
        """Whether these values meet the condition."""
        sizes = np.abs(values)
        usual = (sizes >= SMALLEST) & (sizes <= LARGEST)
        if not (usual | (sizes == 0.0)).all():
            return False
        positive, not_negative, total = self.function(values).elements()
        return math.isfinite(total) and positive > 0.0 and not_negative >= 0.0

    def hold(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) whether each of (n, np) rows of values meets the condition."""
        sizes = np.abs(rows)
        usual = (((sizes >= SMALLEST) & (sizes <= LARGEST)) | (sizes == 0.0)).all(axis=1)
        positive, not_negative, total = np.array(self.function(rows.T))
        return usual & np.isfinite(total) & (positive > 0.0) & (not_negative >= 0.0)


def trace_condition(model: Model) -> SufficientCondition:
    """The condition for other parameter values of a model that passes its checks."""
    params = ca.SX.sym("p", len(model.parameters))
    symbols = {p.name: params[k] for k, p in enumerate(model.parameters)}
    checked = _CheckedTerms(symbols, model.parameter_values())
    for path, key, _, value in leaves(model):
        if path[0] != "scenario":
            for _, text in texts_of(path, key, value):
                checked.value(text)
            checked.add_field(key.meaning, value)
    for asked in model.part_signs:
        checked.add_field(Meaning(sign=asked.sign), asked.values)
    for body in model.bodies:
        checked.add_body(body)
    groups = (checked.positive, checked.not_negative, checked.finite)
    positive, not_negative, finite = ([e for e in g if not e.is_constant()] for g in groups)
    least = [ca.mmin(ca.vertcat(1.0, *group)) for group in (positive, not_negative)]
    total = ca.sum1(ca.fabs(ca.vertcat(0.0, *positive, *not_negative, *finite)))
    outputs = ca.vertcat(*least, total)
    return SufficientCondition(function=ca.Function("condition", [params], [outputs]))


class _CheckedTerms:
    """Terms that the checks of a model test, in the symbols of its parameters."""

    def __init__(self, parameters: Mapping[str, ca.SX], nominal: Mapping[str, float]) -> None:
        self._nominal = nominal
        self._known = {**{name: ca.SX(x) for name, x in CONSTANTS.items()}, **parameters}
        self._values: dict[str, ca.SX | None] = {}
        self.positive: list[ca.SX] = []
        self.not_negative: list[ca.SX] = []
        self.finite: list[ca.SX] = []

    def value(self, scalar: Any) -> ca.SX | None:
        """A scalar that depends on parameters alone, else None; all its subterms must be finite."""
        if isinstance(scalar, str):
            if scalar not in self._values:
                self._values[scalar] = fold(
                    parse(scalar), self._leaf, self._call, lambda _, __: None
                )
            return self._values[scalar]
        return ca.SX(scalar) if isinstance(scalar, int | float) else None

    def _leaf(self, node: Number | Name) -> ca.SX | None:
        return ca.SX(node.value) if isinstance(node, Number) else self._known.get(node.name)

    def _call(self, function: str, arguments: list[ca.SX | None]) -> ca.SX | None:
        if function == "/" and arguments[1] is not None:
            self.positive.append(ca.fabs(arguments[1]))
        if any(argument is None for argument in arguments):
            return None
        self.finite.append(apply(function, arguments, ca))
        return self.finite[-1]

    def add_field(self, meaning: Meaning, given: Any) -> None:
        """A field that has a sign or is a direction; others are left alone."""
        if not meaning.sign and not meaning.is_direction:
            return
        values = self._values_of(given if isinstance(given, tuple) else (given,))
        if meaning.sign == POSITIVE:
            self.positive += values
        if meaning.sign == NOT_NEGATIVE:
            self.not_negative += values
        if meaning.is_direction and len(values) == 3:
            self.positive.append(ca.norm_1(ca.vertcat(*values)) - CLOSE)

    def add_body(self, body: Body) -> None:
        """Mass and inertia: with three moments each has a sign, with products the minors do."""
        moments = self._values_of(body.inertia or ())
        self._add_inertia((body.mass, body.moment))
        if len(moments) == 3 == len(body.inertia or ()):
            self._add_inertia(body.inertia or ())
        if len(moments) == 6:
            xx, yy, zz, xy, xz, yz = moments
            size, minor = ca.fabs(xx) + ca.fabs(yy) + ca.fabs(zz), xx * yy - xy * xy
            whole = zz * minor - yz * (xx * yz - xy * xz) + xz * (xy * yz - yy * xz)
            minors = (xx, minor, whole)
            self.positive += [m - CLOSE * size ** (k + 1) for k, m in enumerate(minors)]

    def _add_inertia(self, scalars: Iterable[Any]) -> None:
        """Masses or moments: those that vanish at other values may leave a freedom without one."""
        for scalar in scalars:
            value = self.value(scalar)
            if value is not None:
                has_one = nominal(scalar, self._nominal) > 0.0
                (self.positive if has_one else self.not_negative).append(value)

    def _values_of(self, scalars: Iterable[Any]) -> list[ca.SX]:
        """Values of the scalars that depend on parameters alone."""
        return [value for value in map(self.value, scalars) if value is not None]


def projected_state(kin: Kinematics, state: ca.SX) -> ca.SX:
    """[x on the constraints; residual before].

    The tree speeds are carried over and η is read from them at the new place.
    """
    symbols = kin.symbols
    # the rows are taken at unit quaternions, so that one step squares what is left of them
    unit, q = _normalized(kin, symbols.q), symbols.q
    residual = ca.SX(0)
    if kin.held_positions:
        G, values = kin.independent_positions
        X = ca.mtimes(ca.diag(1 / _weights(kin)), G.T)
        y, _ = symmetric_solve(ca.mtimes(G, X), values)
        q = _shortened(kin, q - ca.mtimes(kin.N, ca.mtimes(X, y)))
        held = [kin.probe.holonomic.index(k) for k in kin.held_positions]
        for entry in ca.vertsplit(kin.g[held, :]):
            residual = ca.fmax(residual, ca.fabs(entry))
    q, residual = ca.substitute([q, residual], [symbols.q], [unit])
    for k in kin.probe.quaternions:
        residual = ca.fmax(residual, ca.fabs(ca.norm_2(symbols.q[k : k + 4]) - 1))
    E_there = ca.substitute([kin.E], [symbols.q], [q])[0]
    eta = ca.mtimes(E_there, kin.v) if ca.depends_on(kin.E, symbols.q) else kin.eta
    rest = state[kin.num_coordinates + kin.num_independent_speeds :, :]
    return ca.vertcat(q, eta, rest, residual)


def _normalized(kin: Kinematics, q: ca.SX) -> ca.SX:
    """Coordinates with quaternions of unit length."""
    parts = list(ca.vertsplit(q)) if q.shape[0] else []
    for k in kin.probe.quaternions:
        norm = ca.norm_2(q[k : k + 4])
        for j in range(k, k + 4):
            parts[j] = q[j] / norm
    return ca.vertcat(*parts) if parts else q


def _shortened(kin: Kinematics, q: ca.SX) -> ca.SX:
    """Coordinates with quaternions a little longer than 1 brought back to that.

    By 1/√x = 3/2 − x/2 + …: a step across unit quaternions makes them longer by its square, so
    that the rest is of its fourth power. A root would take longer than all the rest of the step.
    """
    parts = list(ca.vertsplit(q)) if q.shape[0] else []
    for k in kin.probe.quaternions:
        share = 1.5 - 0.5 * ca.sumsqr(q[k : k + 4])
        for j in range(k, k + 4):
            parts[j] = q[j] * share
    return ca.vertcat(*parts) if parts else q


def _weights(kin: Kinematics) -> ca.DM:
    """(nv, 1) inertia of each tree speed alone, or lengths where one moves no mass."""
    symbols = kin.symbols
    motion = twists(kin.tree, symbols.v)
    kinetic = kinetic_energy(kin.tree, motion, symbols.v)
    energy = ca.Function("K", [symbols.q, symbols.params, symbols.v], [kinetic])
    ((_, q),) = kin.probe.configurations(1)
    inertia = [2.0 * float(energy(q, kin.probe.params, e)) for e in np.eye(kin.num_speeds)]
    if min(inertia) <= 1e-9 * max(inertia):
        inertia = [kin.length**2 if angular else 1.0 for angular in kin.probe.is_angular]
    return ca.DM(inertia)


Array = NDArray[np.float64]


def _hashable(value: object) -> object:
    """A value as part of a key; an array by its numbers."""
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


Made = TypeVar("Made")
Asked = ParamSpec("Asked")


def once_a_system(
    find: Callable[Concatenate[System, Asked], Made],
) -> Callable[Concatenate[System, Asked], Made]:
    """A function of a system and of what can be a key or is an array, cached with the system."""

    @functools.wraps(find)
    def cached(system: System, *given: Asked.args, **named: Asked.kwargs) -> Made:
        values = (*given, *named.values())
        key = find, tuple(named), tuple(map(_hashable, values))
        return system.cached(key, functools.partial(find, system, *given, **named))

    return cached


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A mechanism as native code. Made by :func:`compile`.

    Attributes
    ----------
    kinematics, model : kinematics and model that the equations come from.
    coordinates, speeds, independent_speeds : q, tree speeds v and η, in order.
    """

    equations: Equations  #: equations that are compiled
    #: parameters that are constants of the code, by name
    folded: Mapping[str, float] = field(default_factory=dict)
    kinematics: Kinematics = field(init=False, repr=False)
    model: Model = field(init=False, repr=False)
    coordinates: tuple[Quantity, ...] = field(init=False, repr=False)
    speeds: tuple[Quantity, ...] = field(init=False, repr=False)
    independent_speeds: tuple[Quantity, ...] = field(init=False, repr=False)
    _relatives: dict[tuple[tuple[str | int, ...], ...], System] = field(
        default_factory=dict, repr=False
    )
    _cache: LRUCache = field(default_factory=LRUCache, repr=False)

    def __post_init__(self) -> None:
        kin = self.equations.kinematics
        object.__setattr__(self, "kinematics", kin)
        object.__setattr__(self, "model", kin.model)
        for name in ("coordinates", "speeds", "independent_speeds"):
            object.__setattr__(self, name, getattr(kin, name))

    @cached_property
    def num_states(self) -> int:
        """Size of x."""
        return int(self.state.shape[0])

    @cached_property
    def costates(self) -> tuple[Quantity, ...]:
        """μ, in order: one for each independent row, of vakonomic equations only."""
        kin = self.kinematics
        if not self.equations.costates.shape[0]:
            return ()
        units = {"m/s": "N*s", "rad/s": "N*m*s"}
        rows = [kin.rows[k] for k in kin.row_basis]
        return tuple(
            Quantity(name=f"costate.{row.name}", unit=units.get(row.unit, "1")) for row in rows
        )

    @cached_property
    def auxiliary_states(self) -> tuple[Quantity, ...]:
        """[μ; z], in order: costates, and states that forces have of their own."""
        return self.costates + self.kinematics.force_states

    @cached_property
    def inputs(self) -> tuple[Quantity, ...]:
        """[u; w; ẇ], in order; the rate of a speed input ``steer`` is called ``steer_rate``."""
        units = {s.name: s.unit for s in self.speeds}
        forces = [
            Quantity(name=i.name, unit=i.unit, description=i.description) for i in self.model.inputs
        ]
        speeds = [
            Quantity(name=i.name, unit=units[i.speed], description=i.description)
            for i in self.model.speed_inputs
        ]
        rates = [Quantity(name=f"{w.name}_rate", unit=f"{w.unit}^2") for w in speeds]
        return tuple(forces + speeds + rates)

    @cached_property
    def does_work(self) -> bool:
        """Whether anything but potentials can change the energy."""
        return not bool(ca.sparsify(self._power).is_zero())

    @cached_property
    def work_apart(self) -> int:
        """Place of the work in x if its error is measured by itself, else −1.

        Steps that the motion chooses are too long for the power of a contact that separates: it
        bends where what is lost and what is stored cancel, and the motion is smooth.
        """
        is_apart = self.does_work and any(f.loses_stored() for f in self.model.forces)
        return self.num_states - 1 if is_apart else -1

    @cached_property
    def state(self) -> ca.SX:
        """x, traced."""
        work = ca.SX.sym("W", 1 if self.does_work else 0)
        return ca.vertcat(self.equations.state, work)

    @cached_property
    def singularity_measures(self) -> tuple[SingularityMeasure, ...]:
        """Singularity measures of the basis, the contacts and the mass matrix."""
        return self.kinematics.singularity_measures + mass_health(self.equations)

    @property
    def basis_measures(self) -> ca.SX:
        """Measures of the independent speeds over their floors: below 1 in size others are due.

        Those that change their signs keep them.
        """
        found = [h.value / h.floor for h in self.singularity_measures if h.kind == "basis"]
        return stack(found)

    @cached_property
    def has_projection(self) -> bool:
        """Whether steps are projected: on holonomic rows or on unit quaternions."""
        return bool(self.kinematics.probe.quaternions or self.kinematics.held_positions)

    @cached_property
    def _nominal(self) -> Array:
        return np.array(list(self.model.parameter_values().values()), dtype=float)

    @cached_property
    def _checker(self) -> ParameterChecker:
        return ParameterChecker(self.model, InertiaCheck(self.equations).check)

    def parameters(self, values: Mapping[str, float] | None = None) -> Array:
        """Parameter vector: nominal values, changed where `values` says so."""
        if not values:
            return self._nominal.copy()
        result = changed_values(self.model, values)
        check_not_folded(self.model, result, self.folded)
        return self._checker.checked_vector(result)

    def parameter_vector(self, values: Array) -> Array:
        """A parameter vector that is given as such, refused where it is not of this system."""
        where, fix = f"model '{self.model.name}'", "give system.parameters({'m': 2.0})"
        given = np.asarray(values, dtype=float)
        if given.shape != self._nominal.shape:
            shapes = f"{given.shape}, not {self._nominal.shape}"
            raise SimulationError(f"the parameters have the shape {shapes}", where, fix)
        if not np.all(np.isfinite(given)):
            raise SimulationError("some of the parameters are not finite", where, fix)
        return given

    @cached_property
    def rates(self) -> NativeFunction:
        """[q̇; η̇; μ̇; ż; Ẇ; health]: the right-hand side."""
        return self.hoisted_rates.whole

    @cached_property
    def hoisted_rates(self) -> HoistedFunction:
        """The right-hand side, with what parameters alone determine computed before a run."""
        return compile_hoisted(self.program("rates", self.rates_expression))

    @cached_property
    def rates_expression(self) -> ca.SX:
        """The right-hand side as it is traced; Ẇ is left out where W is."""
        work_rate = self._power if self.does_work else ca.SX(0, 1)
        health = [measure.value for measure in self.singularity_measures]
        return ca.vertcat(self.equations.state_rates, work_rate, *health)

    @cached_property
    def projection(self) -> NativeFunction:
        """[x on the constraints; residual before]: one Newton step onto g = 0, unit quaternions."""
        return self.compile_expression("projection", self.projection_expression)

    @cached_property
    def projection_expression(self) -> ca.SX:
        """The projection as it is traced."""
        return projected_state(self.kinematics, self.state)

    def output_expression(self, name: str) -> ca.SX:
        """One of the functions below as it is traced, by its name, such as ``blocks``."""
        if name not in OUTPUTS:
            raise SimulationError(
                f"a system has no output '{name}'",
                f"model '{self.model.name}'",
                nearest(name, list(OUTPUTS)),
            )
        return OUTPUTS[name](self.equations)

    def _output(self, name: str) -> NativeFunction:
        return self.compile_expression(name, self.output_expression(name))

    @cached_property
    def motion(self) -> NativeFunction:
        """[v; v̇]: tree speeds and their rates."""
        return self._output("motion")

    @cached_property
    def energies(self) -> NativeFunction:
        """[K; U]: kinetic and potential energy, J."""
        return self._output("energies")

    @cached_property
    def residuals(self) -> NativeFunction:
        """[A v + a; g] of all rows, redundant ones included."""
        return self._output("residuals")

    @cached_property
    def samples(self) -> NativeFunction:
        """[v; K; U; A v + a; g; contact points]: stored at every sample of a run."""
        return self._output("samples")

    @cached_property
    def multipliers(self) -> NativeFunction:
        """λ of all rows."""
        return self._output("multipliers")

    @cached_property
    def input_powers(self) -> NativeFunction:
        """Power of each force input and of each speed input, W."""
        return self._output("input_powers")

    @cached_property
    def contact_axes(self) -> NativeFunction:
        """For each contact: its point, longitudinal, lateral and normal directions (world)."""
        return self._output("contact_axes")

    @cached_property
    def grips(self) -> NativeFunction:
        """For each force that slides over a plane: the numbers of its `Grip`."""
        return self._output("grips")

    @cached_property
    def joint_wrenches(self) -> NativeFunction:
        """For each joint (tree, then loops): point, force and moment on the child (world)."""
        return self._output("joint_wrenches")

    @cached_property
    def poses(self) -> NativeFunction:
        """For each body: R_WB by rows (9) and p_WB (3)."""
        return self._output("poses")

    @cached_property
    def blocks(self) -> NativeFunction:
        """[SᵀMS by rows; bias; SᵀQ; SᵀB by rows]: the reduced equations' numbers."""
        return self._output("blocks")

    def in_speeds(
        self,
        names: tuple[str, ...],
        kept: tuple[int, ...] | None = None,
        values: Array | None = None,
    ) -> System:
        """The same mechanism in other independent speeds; cached.

        Parameters
        ----------
        names : independent tree speeds, or those of the model.
        kept : rows that determine the others; by default those of this system.
        values : parameters at which they do; nominal by default.
        """
        own = self.kinematics.row_basis
        rows = own if kept is None else kept
        is_of_tree = set(names) <= {s.name for s in self.speeds}
        return self._relative(
            self.kinematics.released,
            names,
            rows,
            independent=names if is_of_tree else None,
            row_basis=rows,
            values=None if rows == own else values,
        )

    def in_contacts(self, released: tuple[str, ...]) -> System:
        """The same mechanism where some rows of its contacts do not hold; cached.

        Parameters
        ----------
        released : names of these rows: those of contacts that slide or are off their ground.
        """
        return self._relative(tuple(sorted(released)), (), ())

    def _relative(
        self,
        released: tuple[str, ...],
        names: tuple[str, ...],
        rows: tuple[int, ...],
        **choice: Any,
    ) -> System:
        """The same mechanism in other contact states, speeds and rows.

        All relatives share one table, so that a run that goes back and forth compiles each once.
        """
        kin, own = self.kinematics, tuple(s.name for s in self.independent_speeds)
        self._relatives.setdefault((kin.released, own, kin.row_basis), self)
        self._relatives.setdefault((kin.released, (), ()), self)
        key = released, names, rows
        if key not in self._relatives:
            traced = trace(self.model, released=released, **choice)
            self._relatives[key] = System(
                equations=self.equations.formulation.fill(traced),
                folded=self.folded,
                _relatives=self._relatives,
            )
        return self._relatives[key]

    def on_branch(self, t: float, q: Array, values: Array) -> System:
        """The same mechanism on the branch of its configurations that holds one; cached.

        Parameters
        ----------
        t, q, values : time, s, coordinates and parameters of that configuration.

        Raises
        ------
        ModelError : if the model's own independent speeds do not determine the motion there.
        """
        probe = dataclasses.replace(self.kinematics.probe, params=values)

        def make() -> System:
            traced = trace(self.model, values=values, near=(t, q))
            return System(equations=self.equations.formulation.fill(traced), folded=self.folded)

        return self.cached(("branch", probe.rank_at(q, t), values.tobytes()), make)

    def regular_at(self, t: Array, q: Array, params: Array) -> list[System | None]:
        """The same mechanism in the speeds and rows that determine its motion best; cached.

        None where no choice does: the constraints themselves lose rank there.

        Parameters
        ----------
        t, q, params : (n,) s, (n, nq) and (n, np).
        """
        found: list[System | None] = []
        # a costate belongs to a row
        same_rows = bool(self.costates)
        choices = self.kinematics.regular_bases(t, q, params, same_rows=same_rows)
        for choice, values in zip(choices, params, strict=True):
            if choice is None or choice.rank < RANK_LOST:
                found.append(None)
                continue
            names = tuple(s.name for k, s in enumerate(self.speeds) if k not in choice.dependent)
            found.append(self.in_speeds(names, choice.rows, values))
        return found

    def cached(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Value of a key in this system's LRU cache; `make` is called where there is none yet."""
        return self._cache.get(key, make)

    def program(self, name: str, expression: ca.SX) -> Program:
        """Operation list of an expression of t, x, inputs and parameters."""
        symbols = self.kinematics.symbols
        inputs = (symbols.t, self.state, self.equations.inputs, symbols.params)
        return trace_program(name, inputs, ca.densify(self.fold(expression)))

    def fold(self, expression: ca.SX) -> ca.SX:
        """An expression with the numbers of the folded parameters in their place."""
        names = [p.name for p in self.model.parameters]
        places = [names.index(name) for name in self.folded]
        if not places:
            return expression
        symbols, values = self.kinematics.symbols.params[places], ca.DM(list(self.folded.values()))
        return ca.substitute([expression], [symbols], [values])[0]

    def casadi_function(
        self,
        outputs: Sequence[str] | Mapping[str, str] = ("rates",),
        *,
        name: str = "system",
        parameters: Mapping[str, float] | None = None,
        work: bool = False,
    ) -> ca.Function:
        """CasADi function of t, x, u and p, for optimizers and tools that take CasADi.

        Its inputs are called ``t``, ``x`` = [q; η; μ; z], ``u`` = [forces; speed inputs; their
        rates] and ``p``, its outputs as `outputs` says. It can be differentiated, mapped,
        serialized (``function.save``) and called by names: ``function(x=…, u=…)["rates"]``. CasADi
        takes an input that is left out for zeros, so give `parameters` or `p`.

        Parameters
        ----------
        outputs : names of outputs: ``rates`` (of x), ``speeds`` (v), ``accelerations`` (v̇),
            ``measures`` (of singularities: the independent speeds end where one is below its floor,
            and outputs that follow from them are nan where it is below its limit; constrain them),
            ``energies`` (K, U), ``residuals`` (A v + a, then g), ``multipliers`` (λ), ``poses`` (of
            a body, R_WB by rows and p_WB), ``contact_forces`` (of each contact longitudinal,
            lateral and load; nan for a load that is not known), and any expression of the motion,
            such as ``load.front`` or ``point(arm, 0.5, 0, 0).z``. A dot in a name is an underscore
            there; a mapping gives names of your own: ``{"height": "point(arm, 0.5, 0, 0).z"}``.
        name : name of the function.
        parameters : values that differ from the nominal ones; all are numbers then, and there is no
            ``p``. None: they stay an input.
        work : whether the work W is the last state, and its rate the last of the rates.
        """
        return casadi_function(self, outputs, name=name, parameters=parameters, work=work)

    def compile_expression(self, name: str, expression: ca.SX) -> NativeFunction:
        """Native function of an expression of t, x, inputs and parameters."""
        return compile_native([self.program(name, expression)])[name]

    @cached_property
    def _power(self) -> ca.SX:
        return power(self.equations)

    def __repr__(self) -> str:
        return (
            f"System '{self.model.name}' ({self.equations.formulation.name}): "
            f"{counted(self.num_states, 'state')}, "
            f"{counted(len(self.model.inputs), 'force input')}, "
            f"{counted(len(self.model.speed_inputs), 'speed input')}, "
            f"{counted(len(self.model.parameters), 'parameter')}\n"
            "next: noslip.simulate(system, duration=…)"
        )


def require_system(function: str, value: object) -> None:
    """Refuse what is not a system, such as a model that is not compiled, in a public `function`."""
    if not isinstance(value, System):
        steps = {"Equations": "compile(equations)", "Model": "compile(derive(model))"}
        kind = type(value).__name__
        first = steps.get(kind, "compile(derive(load('agv')))")
        raise ArgumentError(
            f"{function} takes a System, got {kind}",
            f"system, argument of {function}",
            f"make one by {first}",
        )


@interruptible
def compile(equations: Equations, *, fold: bool | Sequence[str] = ()) -> System:
    """Native code of the equations of motion.

    Parameters
    ----------
    equations : equations by :func:`noslip.derive`.
    fold : names of parameters, or True for all, that become constants of the code: it has fewer
        operations then, and these parameters cannot be changed any more.

    Returns
    -------
    System : whose right-hand side is compiled; its other functions are when first used.
    """
    if not isinstance(equations, Equations):
        raise ArgumentError(
            f"compile takes Equations, got {type(equations).__name__}",
            "equations, argument of compile",
            "derive them first",
        )
    system = System(equations=equations, folded=folded_values(equations.model, fold))
    _ = system.rates
    return system


#: Configurations that are looked at.
SAMPLES = 300
#: Most choices of speeds.
MOST = 12
#: Share of the floor by which a sampled configuration must be within a choice.
WITHIN = 1.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BasisCover:
    """The same mechanism in several choices of independent speeds, the given one first."""

    systems: tuple[System, ...]  #: one for each choice
    #: share of the sampled configurations at which none of them is well within its bounds
    uncovered: float

    @classmethod
    def of(cls, system: System) -> BasisCover:
        """Choices that cover the coordinates' ranges, at nominal parameters."""
        return system.cached("basis cover", lambda: _cover(system))


def _cover(system: System) -> BasisCover:
    systems = [system]
    places = system.kinematics.probe.configurations(SAMPLES)
    if not places or not system.basis_measures.shape[0]:
        return BasisCover(systems=(system,), uncovered=0.0)
    t, q = np.array([at for at, _ in places]), np.array([x for _, x in places])
    params = np.tile(system.parameters(), (len(t), 1))
    choices = system.kinematics.regular_bases(t, q, params, same_rows=bool(system.costates))
    # nothing covers where the constraints themselves lose rank
    is_open = np.array([c is not None and c.rank >= RANK_LOST for c in choices])
    is_open &= ~_covered(system, t, q)
    tried: set[object] = set()
    while is_open.any() and len(systems) < MOST:
        wanted = Counter(
            (choices[k].dependent, choices[k].rows)  # type: ignore[union-attr]
            for k in np.flatnonzero(is_open)
        )
        new = [(key, count) for key, count in wanted.most_common() if key not in tried]
        if not new:
            break
        (dependent, rows), _ = new[0]
        tried.add((dependent, rows))
        names = tuple(s.name for k, s in enumerate(system.speeds) if k not in dependent)
        other = system.in_speeds(names, rows, params[0])
        covered = _covered(other, t, q) & is_open
        if covered.any() and other not in systems:
            systems.append(other)
            is_open &= ~covered
    return BasisCover(systems=tuple(systems), uncovered=float(np.mean(is_open)))


def _covered(system: System, t: Array, q: Array) -> NDArray[np.bool_]:
    """(n,) whether configurations are well within a choice of speeds."""
    symbols = system.kinematics.symbols
    measures = ca.Function("h", [symbols.t, symbols.q, symbols.params], [system.basis_measures])
    values = np.array(measures.map(len(t))(t[None, :], q.T, system.parameters()))
    return np.asarray(np.min(np.abs(values), axis=0, initial=np.inf) >= WITHIN)
