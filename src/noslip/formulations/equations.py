"""`Equations`, the third stage: one set of blocks, the same for every formulation.

    SᵀMS η̇ + Sᵀ(c + M(Ṡη + ṡ)) = Sᵀ(Q + B u)        q̇ = N (S η + s)        M v̇ + c = Q + B u + Aᵀλ

To add a formulation, here or in a module of your own, write a frozen data class below
`AbstractFormulation`:

1. `word`, for the command line and the studio; `name`, for sentences; `reference`;
2. `fill(kinematics) -> Equations`, deriving every block by its own route, in the Kinematics' own η;
   `generalized_forces.py` and `tree_dynamics.py` have what several of them need;
3. `prose`, how it gets there in words, unless `derivation` names a function that writes more.

`verify` then compares it with all others. One of the package is also listed in `derivation.py`,
which imports it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import casadi as ca

from noslip.algebra import symmetric_solve
from noslip.base import Member
from noslip.formulations.generalized_forces import (
    AppliedForces,
    LoadClosure,
    closed,
    contact_load,
    multipliers_of,
    planar_wheels,
)
from noslip.kinematics import Kinematics
from noslip.model import Model


class Blocks(NamedTuple):
    """The reduced equations: mass η̇ + bias = forces + inputs u."""

    mass: ca.SX  #: (nf, nf) SᵀMS
    bias: ca.SX  #: (nf,) Sᵀ(c + M(Ṡη + ṡ))
    forces: ca.SX  #: (nf,) SᵀQ
    inputs: ca.SX  #: (nf, nu) SᵀB


class ReducedSolution(NamedTuple):
    """The solved equations."""

    accelerations: ca.SX  #: η̇, (nf,)
    #: pivots of the mass matrix; one of them vanishes when a degree of freedom has no inertia
    pivots: list[ca.SX]
    mass: ca.SX | None  #: the matrix they are of, (nf, nf); None after a recursion that forms none


def solution_of(mass: ca.SX, right: ca.SX) -> ReducedSolution:
    """The solution η̇ of I η̇ = right."""
    return ReducedSolution(*symmetric_solve(mass, right), mass)


@dataclass(frozen=True, kw_only=True, eq=False)
class Equations:
    """Minimal equations of motion as traced expressions of t, q, η, z, u, w, ẇ and the parameters.

    Attributes
    ----------
    model : model that these equations describe.
    """

    formulation: AbstractFormulation  #: the method that filled it
    kinematics: Kinematics  #: kinematics that all formulations use
    #: function that returns the blocks of the reduced equations; called lazily, once
    blocks: Callable[[], Blocks]
    #: function that returns the solved equations in fewer operations than from the blocks; None:
    #: from them
    solve: Callable[[], ReducedSolution] | None = None
    forces: AppliedForces  #: generalized forces on the tree speeds, share by share
    etadot: ca.SX  #: (nf,) symbol of η̇ that `generalized_reactions` is written in
    #: function that returns the generalized reactions Aᵀλ, (nv,), by the formulation's own route;
    #: called lazily, once
    reactions: Callable[[], ca.SX]
    energy: Callable[[], ca.SX]  #: function that returns the kinetic energy, J; called lazily, once
    #: costates, costate_rates: μ and μ̇; empty but for the vakonomic equations
    costates: ca.SX = field(default_factory=partial(ca.SX, 0, 1))
    costate_rates: ca.SX = field(default_factory=partial(ca.SX, 0, 1))
    #: solution for the loads that forces depend on; None without such forces. What a formulation
    #: fills has these loads as symbols; they are solved for here, once.
    closure: LoadClosure | None = None
    model: Model = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", self.kinematics.model)
        if self.forces.loads:
            for name, value in closed(self).items():
                object.__setattr__(self, name, value)

    @cached_property
    def generalized_reactions(self) -> ca.SX:
        """Aᵀλ on the tree speeds, written in `etadot`, (nv,)."""
        return self.reactions()

    @cached_property
    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy, J."""
        return self.energy()

    @cached_property
    def _blocks(self) -> Blocks:
        return self.blocks()

    @property
    def reduced_mass(self) -> ca.SX:
        """SᵀMS, (nf, nf)."""
        return self._blocks.mass

    @property
    def reduced_bias(self) -> ca.SX:
        """Sᵀ(c + M(Ṡη + ṡ)), (nf,)."""
        return self._blocks.bias

    @property
    def reduced_forces(self) -> ca.SX:
        """SᵀQ, (nf,)."""
        return self._blocks.forces

    @property
    def reduced_inputs(self) -> ca.SX:
        """SᵀB, (nf, nu)."""
        return self._blocks.inputs

    @cached_property
    def auxiliary_states(self) -> ca.SX:
        """[μ; z]: costates, and states that forces have of their own."""
        return ca.vertcat(self.costates, self.kinematics.symbols.z)

    @cached_property
    def state(self) -> ca.SX:
        """x = [q; η; μ; z]."""
        return ca.vertcat(self.kinematics.symbols.q, self.kinematics.eta, self.auxiliary_states)

    @cached_property
    def state_rates(self) -> ca.SX:
        """ẋ = [q̇; η̇; μ̇; ż], of x, the inputs and the parameters."""
        kin = self.kinematics
        own = ca.vertcat(self.costate_rates, self.forces.state_rates)
        return ca.vertcat(ca.mtimes(kin.N, kin.v), self.accelerations, own)

    @cached_property
    def inputs(self) -> ca.SX:
        """[u; w; ẇ]: force inputs, speed inputs and their rates."""
        symbols = self.kinematics.symbols
        return ca.vertcat(symbols.u, symbols.w, symbols.wdot)

    @cached_property
    def solution(self) -> ReducedSolution:
        """The equations solved for η̇, as they are compiled."""
        return self.block_solution if self.solve is None else self.solve()

    @cached_property
    def block_solution(self) -> ReducedSolution:
        """Solution of the reduced equations from their blocks."""
        u = self.kinematics.acting_inputs
        right = self.reduced_forces + ca.mtimes(self.reduced_inputs, u) - self.reduced_bias
        return solution_of(self.reduced_mass, right)

    @property
    def accelerations(self) -> ca.SX:
        """η̇ of the solved equations, (nf,)."""
        return ca.densify(self.solution.accelerations)

    @cached_property
    def speed_rates(self) -> ca.SX:
        """v̇ = S η̇ + Ṡη + ṡ of the solved equations, (nv,)."""
        return ca.mtimes(self.kinematics.S, self.accelerations) + self.kinematics.vdot0

    @cached_property
    def multipliers(self) -> ca.SX:
        """λ of all rows; where rows are redundant, the ones of least norm."""
        f = ca.substitute([self.generalized_reactions], [self.etadot], [self.accelerations])[0]
        return multipliers_of(self.kinematics, f)

    def contact_load(self, contact: str) -> ca.SX:
        """Load of a contact, N: of its normal row, or of the wheels that hold a planar joint."""
        return contact_load(self, contact)

    @property
    def planar_wheels(self) -> tuple[str, ...]:
        """Contacts whose loads are those by which they hold a planar joint."""
        return planar_wheels(self.kinematics)

    def __repr__(self) -> str:
        names = ", ".join(s.name for s in self.kinematics.independent_speeds)
        return (
            f"Equations of '{self.model.name}' by {self.formulation.name}: "
            f"{self.kinematics.num_independent_speeds} degrees of freedom ({names})\n"
            "next: noslip.compile(equations)"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodObject:
    """A named matrix or column of a method, traced."""

    name: str  #: name in calls: ``T``, ``T_dot``, ``g_01``
    #: letter, index, dots: notation of its paper: Ṫ is T with one dot, g_01 is g with an index
    letter: str
    index: str = ""
    dots: int = 0
    value: ca.SX  #: (m, n) expression of t, q, η, μ, inputs and parameters
    #: the same by a shorter route, to be written for people; None for `value`
    shown: ca.SX | None = None
    meaning: str  #: meaning in a few words
    #: equation of its paper, such as ``eq. 17``; empty for what the paper does not print.
    equation: str = ""
    #: rows, columns: owners of rows and columns; empty for none
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    is_part: bool = False  #: whether it is a block of another one, shown only on request


class AbstractFormulation(Member, abc.ABC, family="formulation"):
    """A formulation of the equations of motion; see the list at the top of this file."""

    __slots__ = ()

    #: What it is called in sentences.
    name: ClassVar[str]
    #: Who it is by: a key of docs/references.bib, or any words.
    reference: ClassVar[str]

    # fallbacks

    #: Whether it follows d'Alembert's principle, as the motion of real bodies does.
    is_dalembert: ClassVar[bool] = True
    #: How it gets to the equations, for people: paragraphs, with formulas between dollar signs.
    prose: ClassVar[tuple[str, ...]] = ()
    #: Where its own sections are written, as ``module:function`` of a function of the `Subject`;
    #: without, `prose` is followed by the reduced mass, bias and forces.
    derivation: ClassVar[str] = ""
    #: Letter and index of the null-space basis in its equations.
    basis_symbol: ClassVar[tuple[str, str]] = ("S", "")
    #: Keyword arguments that `objects` takes besides the equations.
    object_options: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def fill(self, kinematics: Kinematics) -> Equations:
        """All blocks of `Equations`, by this formulation's route."""

    def objects(self, equations: Equations, **options: Any) -> tuple[MethodObject, ...]:
        """The matrices of the method, named as in its paper; here the blocks that all methods fill.

        Parameters
        ----------
        equations : equations filled by this formulation.
        options : options among `object_options`.
        """
        kin = equations.kinematics
        eta = tuple(s.name for s in kin.independent_speeds)
        speeds = tuple(s.name for s in kin.speeds)
        inputs = tuple(i.name for i in kin.model.inputs)

        def block(name: str, value: ca.SX, meaning: str, columns: tuple[str, ...]) -> MethodObject:
            return MethodObject(
                name=name, letter=name, value=value, meaning=meaning, rows=eta, columns=columns
            )

        basis = MethodObject(
            name="S", letter="S", value=kin.S, meaning="null-space basis, v = S η + s", rows=speeds,
            columns=eta,
        )  # fmt: skip
        return (
            basis,
            block("M", equations.reduced_mass, "reduced mass matrix", eta),
            block("h", equations.reduced_bias, "velocity terms, on the left", ()),
            block("Q", equations.reduced_forces, "applied forces without inputs", ()),
            block("B", equations.reduced_inputs, "input matrix", inputs),
        )
