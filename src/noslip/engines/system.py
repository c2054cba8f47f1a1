"""`System`, the fourth stage: native functions of (t, x, inputs, parameters), with names and units.

    x = [q; η; μ; W]     inputs = [u; w; ẇ]     parameters in the model's order

W is the work done on the mechanism since the start by everything that does not derive from a
potential (inputs, dampers, friction, given wrenches, prescribed motions). It is integrated with the
state, so that the balance K + U − W can be checked to rounding; it is left out where nothing does
such work.

Every function is compiled when it is first needed and never again: parameters are arguments, but
for those that are folded into the code as constants.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.engines.llvm import NativeFunction, compile_native
from noslip.engines.program import Program, trace_program
from noslip.errors import CompileError, SimulationError, nearest
from noslip.formulations.base import Equations
from noslip.formulations.forces import GRAVITY, SPRING
from noslip.formulations.reactions import joint_wrenches
from noslip.formulations.tree import mass_matrix
from noslip.kinematics.health import Health
from noslip.kinematics.kinematics import Kinematics, trace
from noslip.kinematics.linear import symmetric_solve
from noslip.model.checks import check_model
from noslip.model.model import Model
from noslip.model.quantities import Quantity

Array = NDArray[np.float64]
Made = TypeVar("Made")

#: Pieces of code beyond its own functions that a system keeps, for whoever asks again.
MOST_KEPT = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A mechanism as native code. Made by :func:`compile`.

    Parameters
    ----------
    equations : what is compiled.
    folded : parameters that are constants of the code, by name.
    """

    equations: Equations
    folded: Mapping[str, float] = field(default_factory=dict)
    _relatives: dict[tuple[str, ...], System] = field(default_factory=dict, repr=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def kinematics(self) -> Kinematics:
        """The traced kinematics it was made from."""
        return self.equations.kinematics

    @property
    def model(self) -> Model:
        """The model it was made from."""
        return self.equations.model

    @property
    def coordinates(self) -> tuple[Quantity, ...]:
        """q, in order."""
        return self.kinematics.coordinates

    @property
    def speeds(self) -> tuple[Quantity, ...]:
        """Tree speeds v, in order."""
        return self.kinematics.speeds

    @property
    def independent_speeds(self) -> tuple[Quantity, ...]:
        """η, in order."""
        return self.kinematics.independent_speeds

    @property
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
        rows = [kin.rows[k] for k in kin.kept]
        return tuple(
            Quantity(name=f"costate.{row.name}", unit=units.get(row.unit, "1")) for row in rows
        )

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
    def state(self) -> ca.SX:
        """x, traced."""
        work = ca.SX.sym("W", 1 if self.does_work else 0)
        return ca.vertcat(self.equations.state, work)

    @cached_property
    def health(self) -> tuple[Health, ...]:
        """What must stay away from zero while the mechanism moves."""
        return self.kinematics.health + _mass_health(self.equations)

    @cached_property
    def has_projection(self) -> bool:
        """Whether steps are projected: on holonomic rows or on unit quaternions."""
        kin = self.kinematics
        return bool(kin.probe.quaternions) or any(kin.rows[k].is_holonomic for k in kin.kept)

    @cached_property
    def _accepted(self) -> set[tuple[float, ...]]:
        """Parameter values that were checked lately; a run asks for the same ones several times."""
        return set()

    def parameters(self, values: Mapping[str, float] | None = None) -> Array:
        """Parameter vector: nominal values, changed where `values` says so."""
        result = self.model.parameter_values()
        for name, value in (values or {}).items():
            if name not in result:
                raise SimulationError(
                    f"there is no parameter '{name}'",
                    f"model '{self.model.name}', parameters",
                    nearest(name, result),
                )
            try:
                result[name] = float(value)
            except (TypeError, ValueError):
                raise SimulationError(
                    f"parameter '{name}' is {value!r}, which is not a number",
                    f"model '{self.model.name}', parameters",
                    "give a number in the parameter's unit",
                ) from None
        for name, value in self.folded.items():
            if result[name] != value:
                raise SimulationError(
                    f"parameter '{name}' is {result[name]:.9g}, but the code was compiled for "
                    f"{value:.9g}",
                    f"model '{self.model.name}', parameters",
                    f"leave '{name}' out of fold=… when compiling, or compile a model with the new "
                    "value",
                )
        key = tuple(result.values())
        if values and key not in self._accepted:
            _check_values(self.model, tuple(result.items()))
            if len(self._accepted) >= 16:
                self._accepted.clear()
            self._accepted.add(key)
        return np.array(list(result.values()), dtype=float)

    @cached_property
    def rates(self) -> NativeFunction:
        """[q̇; η̇; μ̇; Ẇ; health]: the right-hand side."""
        return self._compile("rates", self.rates_expression)

    @cached_property
    def rates_expression(self) -> ca.SX:
        """The right-hand side as it is traced."""
        eq, kin = self.equations, self.kinematics
        work = [self._power] if self.does_work else []
        return ca.vertcat(
            ca.mtimes(kin.N, kin.v),
            eq.accelerations,
            eq.costate_rates,
            *work,
            *[h.value for h in self.health],
        )

    @cached_property
    def projection(self) -> NativeFunction:
        """[x on the constraints; residual before]: one Newton step onto g = 0, unit quaternions."""
        return self._compile("projection", self.projection_expression)

    @cached_property
    def projection_expression(self) -> ca.SX:
        """The projection as it is traced."""
        return _projection(self)

    @cached_property
    def motion(self) -> NativeFunction:
        """[v; v̇]: tree speeds and their rates."""
        return self._compile("motion", self._motion)

    @cached_property
    def energies(self) -> NativeFunction:
        """[K; U]: kinetic and potential energy, J."""
        return self._compile("energies", self._energies)

    @cached_property
    def residuals(self) -> NativeFunction:
        """[A v + a; g] of all rows, redundant ones included."""
        return self._compile("residuals", self._residuals)

    @cached_property
    def samples(self) -> NativeFunction:
        """[v; v̇; K; U; A v + a; g; contact axes]: what is kept of every sample of a run."""
        parts = (self._motion, self._energies, self._residuals, self._contact_axes)
        return self._compile("samples", ca.vertcat(*parts))

    @cached_property
    def multipliers(self) -> NativeFunction:
        """λ of all rows."""
        return self._compile("multipliers", self.equations.multipliers)

    @cached_property
    def contact_axes(self) -> NativeFunction:
        """For each contact: its point, longitudinal, lateral and normal directions (world)."""
        return self._compile("contact_axes", self._contact_axes)

    @cached_property
    def joint_wrenches(self) -> NativeFunction:
        """For each joint (tree, then loops): point, force and moment on the child (world)."""
        parts: list[ca.SX] = []
        for wrench in joint_wrenches(self.equations):
            parts += [wrench.point, wrench.force, wrench.moment]
        return self._compile("joint_wrenches", ca.vertcat(*parts) if parts else ca.SX(0, 1))

    @cached_property
    def poses(self) -> NativeFunction:
        """For each body: R_WB by rows (9) and p_WB (3)."""
        parts = []
        for node in self.kinematics.tree.nodes:
            parts += [ca.reshape(node.R_WB.T, 9, 1), node.p_WB]
        return self._compile("poses", ca.vertcat(*parts) if parts else ca.SX(0, 1))

    @cached_property
    def blocks(self) -> NativeFunction:
        """[SᵀMS by rows; bias; SᵀQ; SᵀB by rows]: the reduced equations' numbers."""
        eq = self.equations
        return self._compile(
            "blocks",
            ca.vertcat(
                ca.vec(eq.reduced_mass.T),
                eq.reduced_bias,
                eq.reduced_forces,
                ca.vec(ca.densify(eq.reduced_inputs).T),
            ),
        )

    def in_speeds(self, names: tuple[str, ...]) -> System:
        """The same mechanism written in other independent tree speeds; compiled once and kept."""
        # all relatives share one table, so that a run that goes back and forth compiles each once
        self._relatives.setdefault(tuple(s.name for s in self.independent_speeds), self)
        if names not in self._relatives:
            equations = self.equations.formulation.fill(trace(self.model, independent=names))
            self._relatives[names] = System(
                equations=equations, folded=self.folded, _relatives=self._relatives
            )
        return self._relatives[names]

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once for a key; the oldest of many are let go."""
        if key in self._kept:
            self._kept[key] = self._kept.pop(key)
        else:
            self._kept[key] = make()
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        made: Made = self._kept[key]
        return made

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

    def _compile(self, name: str, expression: ca.SX) -> NativeFunction:
        return compile_native([self.program(name, expression)])[name]

    @property
    def _motion(self) -> ca.SX:
        return ca.vertcat(self.kinematics.v, self.equations.speed_rates)

    @property
    def _energies(self) -> ca.SX:
        eq = self.equations
        return ca.vertcat(eq.kinetic_energy, eq.forces.potential_energy)

    @property
    def _residuals(self) -> ca.SX:
        kin = self.kinematics
        return ca.vertcat(kin.row_values, kin.g)

    @property
    def _contact_axes(self) -> ca.SX:
        parts = []
        for contact in self.kinematics.contacts:
            parts += [contact.point, *contact.directions.values()]
        return self.kinematics.at_speeds(ca.vertcat(*parts) if parts else ca.SX(0, 1))

    @cached_property
    def _power(self) -> ca.SX:
        """Power of everything that has no potential, at the solved accelerations.

        Constraints at rest do no work, vᵀAᵀλ = −λᵀa; where they move, their share is vᵀ(Aᵀλ).
        """
        eq, kin = self.equations, self.kinematics
        shares = eq.forces.shares
        f = sum(
            (share for name, share in shares.items() if name not in (GRAVITY, SPRING)), ca.SX(0)
        )
        f = f + ca.mtimes(eq.forces.B, kin.symbols.u)
        if not ca.sparsify(kin.a).is_zero():
            f = f + ca.substitute([eq.generalized_reactions], [eq.etadot], [eq.accelerations])[0]
        return ca.dot(kin.v, ca.densify(f)) if kin.num_speeds else ca.SX(0)

    def __repr__(self) -> str:
        return (
            f"System '{self.model.name}' ({self.equations.formulation.name}): "
            f"{self.num_states} states, {len(self.model.inputs)} force inputs, "
            f"{len(self.model.speed_inputs)} speed inputs, {len(self.model.parameters)} "
            "parameters\nnext: noslip.simulate(system, duration=…)"
        )


def compile(equations: Equations, *, fold: bool | Sequence[str] = ()) -> System:
    """Native code of the equations of motion.

    Parameters
    ----------
    equations : made by :func:`noslip.derive`.
    fold : names of parameters, or True for all, that become constants of the code: it has fewer
        operations then, and these parameters cannot be changed any more.

    Returns
    -------
    System : whose right-hand side is compiled; its other functions are when first used.
    """
    if not isinstance(equations, Equations):
        raise TypeError(
            f"compile takes Equations, got {type(equations).__name__}: derive them first"
        )
    system = System(equations=equations, folded=_folded(equations.model, fold))
    _ = system.rates
    return system


def _folded(model: Model, fold: bool | Sequence[str]) -> dict[str, float]:
    """Values of the parameters that are to be constants."""
    values = model.parameter_values()
    if isinstance(fold, bool):
        return values if fold else {}
    if isinstance(fold, str):
        raise CompileError(
            f"fold is '{fold}'",
            f"compilation of model '{model.name}'",
            f"give a list: fold=['{fold}'], or True for all parameters",
        )
    for name in fold:
        if name not in values:
            raise CompileError(
                f"there is no parameter '{name}' to fold",
                f"compilation of model '{model.name}'",
                nearest(str(name), values),
            )
    return {name: values[name] for name in values if name in fold}


def _check_values(model: Model, values: tuple[tuple[str, float], ...]) -> None:
    """Refuse parameter values that the model's own checks refuse, such as a negative mass."""
    known = dict(values)
    changed = tuple(dataclasses.replace(p, value=known[p.name]) for p in model.parameters)
    check_model(dataclasses.replace(model, parameters=changed, scenario=None))


def _mass_health(equations: Equations) -> tuple[Health, ...]:
    """Least pivot of the reduced mass matrix relative to its diagonal, where it can change."""
    kin = equations.kinematics
    # a recursion forms no mass matrix; should a joint lose its inertia, its rates are not finite
    if equations.solve is not None:
        return ()
    pivots = equations.mass_pivots
    ratios = [
        d / equations.reduced_mass[k, k]
        for k, d in enumerate(pivots)
        if k > 0 and ca.depends_on(d, kin.symbols.q)
    ]
    if not ratios:
        return ()
    least = ratios[0]
    for ratio in ratios[1:]:
        least = ca.fmin(least, ratio)
    return (
        Health(
            name="mass matrix",
            kind="mass",
            value=least,
            floor=1e-12,
            limit=1e-12,
            sentence="the reduced mass matrix is singular here: a freedom has no inertia",
        ),
    )


def _projection(system: System) -> ca.SX:
    """One Gauss–Newton step onto the kept holonomic rows, in the metric of the mass matrix.

        δ = M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁻¹ g,    q ← q − N δ,    quaternions to unit length

    The tree speeds are carried over and η is read from them at the new place.
    """
    kin = system.kinematics
    symbols = kin.symbols
    # the rows are taken at unit quaternions, so that one step squares what is left of them
    unit, q = _normalized(kin, symbols.q), symbols.q
    rows = [k for k in kin.kept if kin.rows[k].is_holonomic]
    residual = ca.SX(0)
    if rows:
        G = ca.densify(kin.A[rows, :])
        g = ca.vertcat(*[g for k in rows if (g := kin.rows[k].position) is not None])
        X, _ = symmetric_solve(_metric(kin), G.T)
        y, _ = symmetric_solve(ca.mtimes(G, X), g)
        q = q - ca.mtimes(kin.N, ca.mtimes(X, y))
        for entry in ca.vertsplit(g):
            residual = ca.fmax(residual, ca.fabs(entry))
    q, residual = ca.substitute([_normalized(kin, q), residual], [symbols.q], [unit])
    for k in kin.probe.quaternions:
        residual = ca.fmax(residual, ca.fabs(ca.norm_2(symbols.q[k : k + 4]) - 1))
    E_there = ca.substitute([kin.E], [symbols.q], [q])[0]
    eta = ca.mtimes(E_there, kin.v) if ca.depends_on(kin.E, symbols.q) else kin.eta
    rest = system.state[kin.num_coordinates + kin.num_independent_speeds :]
    return ca.vertcat(q, eta, rest, residual)


def _normalized(kin: Kinematics, q: ca.SX) -> ca.SX:
    """Coordinates with quaternions of unit length."""
    parts = list(ca.vertsplit(q)) if q.shape[0] else []
    for k in kin.probe.quaternions:
        norm = ca.norm_2(q[k : k + 4])
        for j in range(k, k + 4):
            parts[j] = q[j] / norm
    return ca.vertcat(*parts) if parts else q


def _metric(kin: Kinematics) -> ca.SX:
    """Mass matrix on the tree speeds, or lengths where a tree speed moves no mass."""
    M = mass_matrix(kin)
    mass = ca.Function("M", [kin.symbols.q, kin.symbols.params], [M])
    for _, q in kin.probe.configurations(2):
        values = np.linalg.eigvalsh(np.array(mass(q, kin.probe.params)))
        if values[0] <= 1e-9 * values[-1]:
            lengths = [kin.length**2 if angular else 1.0 for angular in kin.probe.is_angular]
            return ca.SX(ca.diag(ca.DM(lengths)))
    return M
