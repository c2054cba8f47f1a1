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

from noslip.base import ArgumentError, LRUCache, SimulationError, counted, interruptible
from noslip.engines import casadi_functions, outputs
from noslip.engines.native import HoistedFunction, NativeFunction, compile_hoisted, compile_native
from noslip.engines.parameters import (
    ParameterChecker,
    changed_values,
    check_not_folded,
    folded_values,
)
from noslip.engines.program import Program, trace_program
from noslip.engines.projection import is_projected, projected_state
from noslip.formulations import Equations, InertiaCheck
from noslip.kinematics import RANK_LOST, Kinematics, SingularityMeasure, trace
from noslip.model import Model, Quantity

Array = NDArray[np.float64]
Made = TypeVar("Made")


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
    _relatives: dict[tuple[tuple[str | int, ...], ...], System] = field(
        default_factory=dict, repr=False
    )
    _cache: LRUCache = field(default_factory=LRUCache, repr=False)

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
        return self.kinematics.singularity_measures + outputs.mass_health(self.equations)

    @cached_property
    def has_projection(self) -> bool:
        """Whether steps are projected: on holonomic rows or on unit quaternions."""
        return is_projected(self.kinematics)

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
        given = np.asarray(values, dtype=float)
        if given.shape != self._nominal.shape:
            raise SimulationError(
                f"the parameters have the shape {given.shape}, not {self._nominal.shape}",
                f"model '{self.model.name}'",
                "give system.parameters({'m': 2.0})",
            )
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
        """The right-hand side as it is traced."""
        work_rate = self._power if self.does_work else ca.SX(0, 1)
        return outputs.rates(self.equations, work_rate, self.singularity_measures)

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
        return outputs.OUTPUTS[name](self.equations)

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
        outputs: Sequence[str] = ("rates",),
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
        outputs : of ``rates`` (of x), ``speeds`` (v), ``accelerations`` (v̇), ``measures`` (of
            singularities: the independent speeds end where one is below its floor, and outputs
            that follow from them are nan where it is below its limit; constrain them),
            ``energies`` (K, U), ``residuals`` (A v + a, then g), ``multipliers`` (λ) and ``poses``
            (of a body, R_WB by rows and p_WB).
        name : of the function.
        parameters : values that differ from the nominal ones; all are numbers then, and there is no
            ``p``. None: they stay an input.
        work : whether the work W is the last state, and its rate the last of the rates.
        """
        return casadi_functions.casadi_function(
            self, outputs, name=name, parameters=parameters, work=work
        )

    def compile_expression(self, name: str, expression: ca.SX) -> NativeFunction:
        """Native function of an expression of t, x, inputs and parameters."""
        return compile_native([self.program(name, expression)])[name]

    @cached_property
    def _power(self) -> ca.SX:
        return outputs.power(self.equations)

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
    equations : made by :func:`noslip.derive`.
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
