"""Subject of a derivation: the equations, their symbols, and states at which to check them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip import Equations, Joint, Kinematics, NaturalComplement
from noslip.algebra import block_solve
from noslip.kinematics import Node
from noslip.model import angle_joints
from noslip.show.equations.coordinates import ANGLES, PrintedEquations
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import MathRow, formula
from noslip.show.equations.notation import Entry, Notation, symbol

if TYPE_CHECKING:
    import sympy

    from noslip.show.equations.arranger import Arranger
    from noslip.show.equations.confirming import Alphabet

Array = NDArray[np.float64]

#: Units of the parameters that terms are collected by.
_INERTIAS = ("kg", "kg*m^2", "kg*m**2")
NUM_STATES = 4


@dataclass(frozen=True, eq=False)
class Subject:
    """Equations of motion with the notation and test states of their derivation.

    Speeds that are independent go by their η, the others by themselves: `v` and `vdot` are columns
    of such symbols, and `free` is the same kinematics at those v, whatever the constraints say.
    """

    printed: PrintedEquations

    @cached_property
    def equations(self) -> Equations:
        """The equations to print."""
        return self.printed.equations

    @cached_property
    def bodies(self) -> list[tuple[int, Node, Joint]]:
        """Bodies of the model with their places in the tree and joints, without links of chains."""
        joints = {j.name: j for j in self.printed.model.joints}
        known = {b.name for b in self.printed.model.bodies}
        return [
            (k, node, joints[node.joint.name])
            for k, node in enumerate(self.kin.tree.nodes)
            if node.body.name in known
        ]

    def note(self, name: str, more: str = "", *, of_speeds: bool = False) -> str:
        """Name of an equation, with its number in the model's reference if it has one.

        The numbers of equations that depend on which speeds are independent (`of_speeds`) hold for
        the model's own.
        """
        model = self.printed.model
        number = (model.equation_numbers or {}).get(name)
        if of_speeds and not self.printed.is_usual:
            number = None
        said = [text for text in (more, number and f"{model.references[0]} {number}") if text]
        return ", ".join(said)

    def letter(self, base: str, index: str = "", dots: int = 0) -> Glyph:
        """A letter of the method, with a hat where the model uses it."""
        return self.notation.method_letter(Glyph(base, index, dots))

    def formula(self, line: str) -> MathRow:
        """A line of mathematics in the method's letters."""
        return formula(line, self.notation.method_letter)

    @cached_property
    def kin(self) -> Kinematics:
        """Kinematics."""
        return self.equations.kinematics

    @cached_property
    def notation(self) -> Notation:
        """Symbols of all quantities."""
        return Notation(self.equations)

    @cached_property
    def simplest(self) -> Equations:
        """The same blocks by the shortest route, equal by d'Alembert's principle."""
        if isinstance(self.equations.formulation, NaturalComplement):
            return self.equations
        return NaturalComplement().fill(self.kin)

    @cached_property
    def etadot(self) -> ca.SX:
        """η̇ as symbols."""
        return self.equations.etadot

    @cached_property
    def mu(self) -> ca.SX:
        """Costates as symbols."""
        return self.equations.costates

    @cached_property
    def lam(self) -> ca.SX:
        """Multipliers of the independent rows as symbols."""
        return ca.SX.sym("lam", len(self.kin.row_basis))

    @cached_property
    def _all_vdot(self) -> ca.SX:
        return ca.SX.sym("vdot", self.kin.num_speeds)

    @cached_property
    def independent(self) -> dict[int, int]:
        """Tree speed → independent speed that it is."""
        index = {s.name: k for k, s in enumerate(self.kin.speeds)}
        names = [s.name for s in self.kin.independent_speeds]
        return {index[name]: j for j, name in enumerate(names) if name in index}

    @cached_property
    def v(self) -> ca.SX:
        """Tree speeds as symbols."""
        own = self.kin.symbols.v
        entries = [
            self.kin.eta[self.independent[k]] if k in self.independent else own[k]
            for k in range(self.kin.num_speeds)
        ]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    @cached_property
    def vdot(self) -> ca.SX:
        """Rates of the tree speeds as symbols."""
        entries = [
            self.etadot[self.independent[k]] if k in self.independent else self._all_vdot[k]
            for k in range(self.kin.num_speeds)
        ]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    @cached_property
    def free(self) -> Kinematics:
        """The kinematics with the tree speeds as symbols."""
        return replace(self.kin, v=self.v)

    def at_v(self, expression: ca.SX) -> ca.SX:
        """An expression of the tree speeds, in the symbols of `v`."""
        return ca.substitute([expression], [self.kin.symbols.v], [self.v])[0]

    @cached_property
    def entries(self) -> list[Entry]:
        """Legend entries of all columns that are written in, in their order."""
        n = self.notation

        def rates(entries: list[Entry]) -> list[Entry]:
            return [replace(e, glyph=e.glyph.rate) for e in entries]

        state = [*n.coordinates, *n.speeds, *n.independent_speeds, *n.costates, *n.force_states]
        state += [*rates(n.independent_speeds), *rates(n.speeds), *n.multipliers]
        inputs = [*n.inputs, *n.speed_inputs, *rates(n.speed_inputs)]
        return [n.time, *state, *inputs, *n.parameters]

    @cached_property
    def columns(self) -> list[ca.SX]:
        """t, everything that moves, inputs and parameters."""
        s = self.kin.symbols
        state = [s.q, s.v, self.kin.eta, self.mu, s.z, self.etadot, self._all_vdot, self.lam]
        return [s.t, ca.vertcat(*state), ca.vertcat(s.u, s.w, s.wdot), s.params]

    def is_zero(self, expression: ca.SX, beside: ca.SX | None = None) -> bool:
        """Whether an expression is zero at all test states; `beside` what its rounding is of."""
        scale = ca.SX(0, 1) if beside is None else ca.vec(beside)
        f = ca.Function("f", self.columns, [ca.densify(expression), ca.densify(scale)])
        edges = np.cumsum([c.shape[0] for c in self.columns])[:-1]
        for row in self.states:
            value, size = (np.array(x) for x in f.call(np.split(row, edges)))
            if np.any(np.abs(value) > 1e-12 * np.max(np.abs(size), initial=1.0)):
                return False
        return True

    @property
    def _num_moving(self) -> int:
        """Number of coordinates, speeds, costates, accelerations and multipliers."""
        return int(self.columns[1].shape[0])

    @cached_property
    def states(self) -> Array:
        """Values of all columns at random states that fulfill the equations of motion."""
        return self._states()

    @property
    def quaternions(self) -> tuple[tuple[int, int, int, int], ...]:
        """Places of the entries of unit quaternions among all columns."""
        return tuple((k + 1, k + 2, k + 3, k + 4) for k in self.kin.probe.quaternions)

    @property
    def positive(self) -> frozenset[tuple[str, int]]:
        """Entries whose sine or cosine is positive, as in `Alphabet`."""
        return frozenset(
            ("sine" if is_euler else "cosine", k + 1) for k, is_euler in self.second_angles
        )

    @cached_property
    def alphabet(self) -> Alphabet:
        """Inputs and symbols of all written expressions."""
        from noslip.show.equations.confirming import Alphabet

        units = [e.unit if e.group == "parameter" else "" for e in self.entries]
        return Alphabet(
            columns=self.columns,
            symbols=[symbol(e.glyph) for e in self.entries],
            states=self.states,
            free_states=self._states(break_rows=True),
            leading=frozenset(k for k, unit in enumerate(units) if unit in _INERTIAS),
            quaternions=self.quaternions,
            positive=self.positive,
            speeds=frozenset(range(1 + self.kin.num_coordinates, 1 + self._num_moving)),
            coordinates=frozenset(k for k, e in enumerate(self.entries) if e.group == "coordinate")
            - frozenset(k for q in self.quaternions for k in q),
            letter=self.notation.letter("z"),
        )

    @cached_property
    def arrange(self) -> Arranger:
        """Order of factors: parameters, then coordinates, speeds, inputs, rates."""
        from noslip.show.equations.arranger import Arranger

        order = ["parameter", "time", "coordinate", "costate", "force state", "tree speed"]
        order += ["independent speed", "speed input", "force input", "multiplier"]
        ranks: dict[sympy.Symbol, tuple[int, int]] = {}
        for k, entry in enumerate(self.entries):
            group = order.index(entry.group)
            place = 0 if group == 0 else 3 if group < 5 else 4 if group < 8 else 6
            # masses and inertias stand first, other parameters by their names
            rank = (place, k if place else int(entry.unit not in _INERTIAS))
            ranks.setdefault(symbol(entry.glyph), rank)
        for k, entry in enumerate([*self.notation.independent_speeds, *self.notation.speeds]):
            ranks[symbol(entry.glyph.rate)] = (7, k)
        glyphs = {symbol(e.glyph): e.glyph for e in self.entries}
        glyphs |= {symbol(e.glyph.rate): e.glyph.rate for e in self.notation.coordinates}
        return Arranger(glyphs, ranks)

    @cached_property
    def multipliers(self) -> ca.SX:
        """λ of the independent rows in η̇: Kᵀ [y; 0] = M v̇ + c − Q − B u, λ = Pᵀ y."""
        f, num = self.simplest.generalized_reactions, len(self.kin.row_basis)
        f = ca.substitute([f], [self.simplest.etadot], [self.etadot])[0]
        if self.mu.shape[0]:
            from noslip.formulations import curl_force

            f = f - curl_force(self.kin, self.mu)
        inverse, _ = block_solve(self.kin.K, ca.SX.eye(self.kin.num_speeds))
        return ca.mtimes(self.kin.P.T, ca.mtimes(inverse[:, :num].T, f))

    def _states(self, *, break_rows: bool = False) -> Array:
        """Values of all columns at random states: consistent ones, or with any tree speeds."""
        kin, e = self.kin, self.equations
        s = kin.symbols
        rng = np.random.default_rng(1991)
        given = [s.t, s.q, kin.eta, self.equations.auxiliary_states, s.u, s.w, s.wdot, s.params]
        solved = [kin.v, e.accelerations, e.speed_rates]
        solved.append(
            ca.substitute([self.multipliers], [self.etadot], [e.accelerations])[0]
            if kin.row_basis
            else ca.SX(0, 1)
        )
        motion = ca.Function("motion", given, [ca.densify(x) for x in solved])
        E = ca.Function("E", [s.q, s.params, s.v], [ca.mtimes(kin.E, s.v)])
        rows: list[Array] = []
        for t, q in self._configurations():
            draw = {k: rng.uniform(0.3, 1.5, x.shape[0]) for k, x in enumerate(given)}
            draw = {k: x * rng.choice([-1.0, 1.0], x.shape) for k, x in draw.items()}
            params = kin.probe.params * rng.uniform(0.9, 1.1, len(kin.probe.params))
            eta = draw[2]
            v, etadot, vdot, lam = (
                np.array(x).ravel()
                for x in motion(t, q, eta, draw[3], draw[4], draw[5], draw[6], params)
            )
            if break_rows:
                v = rng.normal(size=kin.num_speeds)
                eta = np.array(E(q, params, v)).ravel()
            moving = [np.array([t]), q, v, eta, draw[3], etadot, vdot, lam]
            rows.append(np.concatenate([*moving, draw[4], draw[5], draw[6], params]))
        return np.array(rows).reshape(-1, sum(c.shape[0] for c in self.columns))

    @cached_property
    def second_angles(self) -> list[tuple[int, bool]]:
        """Places of second angles among the coordinates, and whether they lie in (0, π).

        Those of sequences such as zxz do; others lie in (−π/2, π/2). The other angles are defined
        only there.
        """
        if self.printed.coordinates != ANGLES:
            return []
        places = {c.name: k for k, c in enumerate(self.kin.coordinates)}
        found = []
        for joint in angle_joints(self.printed.model):
            angles = joint.type.named_angles()
            assert angles is not None, "these joints have angles"
            is_euler = angles.sequence[0] == angles.sequence[2]
            found.append((places[f"{joint.name}.{angles.names[1]}"], is_euler))
        return found

    def _configurations(self) -> list[tuple[float, Array]]:
        """Generic configurations, those farthest from where something degenerates."""
        kin = self.kin
        found = [
            (t, q)
            for t, q in kin.probe.configurations(3 * NUM_STATES)
            if all((np.sin if s else np.cos)(q[k]) > 0 for k, s in self.second_angles)
        ]
        if not kin.singularity_measures:
            return found[:NUM_STATES]
        symbols = kin.symbols
        health = ca.Function(
            "health",
            [symbols.t, symbols.q, symbols.params],
            [ca.vertcat(*[h.value for h in kin.singularity_measures])],
        )
        values = [float(np.min(np.abs(health(t, q, kin.probe.params).full()))) for t, q in found]
        best = sorted(range(len(found)), key=lambda k: -values[k])[:NUM_STATES]
        return [found[k] for k in sorted(best)]
