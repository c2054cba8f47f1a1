"""The equations of small motions about straight running, printed in the model's letters.

Coordinates c and speeds ζ are those of `local_coordinates.py`, z the independent ones among the
coordinates that matter. About a straight motion with ζ = v in one place and zero elsewhere

    (1)  M ζ̇ + D(v) ζ + K(v) z = F u

Where D and K are polynomials of v and of the parameter g of gravity, as for every vehicle without
tires, the coefficients are printed:

    (2)  M ζ̇ + (C₀ + v C₁) ζ + (K_c + g K₀ + v K₁ + v² K₂) z = F u

All of them are exact derivatives, traced with the parameters as symbols. That needs the straight
configuration in closed form: coordinates that are tied by holonomic rows are solved for by one step
of Newton's method, which is exact where the rows are affine in them. Where it is not, (2) is
printed in numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import pi

import casadi as ca
import numpy as np
import sympy

from noslip import Equations, Model, SimulationError, Start, System, complete_start, linearize
from noslip.algebra import block_solve
from noslip.analysis import LocalState, linearize_point, relevance
from noslip.base import Array, nearest
from noslip.expressions import names_of
from noslip.model import angle_joints
from noslip.results import Linearization
from noslip.show.equations.derivation_document import (
    SYMBOLS,
    Draft,
    Matrix,
    Motion,
    Scalars,
    Term,
    finished,
    items_of,
    with_used_symbols,
)
from noslip.show.equations.layout import (
    Block,
    EquationLine,
    Fenced,
    Glyph,
    Lines,
    MathNumber,
    MathRow,
    Node,
    Operator,
    Section,
    glyph_of_name,
    joined,
    numbered,
    words,
)
from noslip.show.equations.polynomials import SECONDS
from noslip.show.equations.subject import QUATERNION, Subject, printed_equations, symbol
from noslip.show.equations.writing import Arranger, Item, Written, write

#: Terms on the left and on the right of an equation, and a note.
Row = tuple[tuple[Term, ...], tuple[Term, ...], str]

#: Digits of printed numbers, and the share of the largest entry below which one is rounding.
DIGITS, ROUNDING = 6, 1e-11
#: Random parameters and speeds at which zeros, the closed form and the polynomials are confirmed.
TRIALS = 4
#: Relative difference from `linearize` that is allowed.
AGREE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearEquations:
    """The linear equations about straight running as a document, and their coefficients."""

    #: title, sections: the document
    title: str
    sections: list[Section]
    #: name of a matrix of (2), such as ``"K2"`` → its entries in the model's symbols; empty where
    #: they are printed in numbers alone
    coefficients: dict[str, sympy.Matrix]
    symbols: dict[str, sympy.Symbol]  #: full name of a quantity → its symbol


def linear_equations(
    equations: Equations,
    speed: str,
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> LinearEquations:
    """The linear equations about straight running at a speed, as a document.

    `speed`: name of the independent speed v that straight motions differ in; the others are zero.
    `coordinates`, `speeds`: coordinates and speeds to print, as in :func:`noslip.equations_text`.

    Raises
    ------
    SimulationError : if there is no such speed, or running straight at it is not a steady motion.
    """
    if coordinates == QUATERNION:
        raise SimulationError(
            "linearized equations are written in angles: a quaternion has one component too many",
            f"model '{equations.model.name}', coordinates to print",
            "leave out --coordinates, or write --coordinates angles",
        )
    subject = Subject(printed_equations(equations, coordinates, speeds))
    motion = _StraightMotion(subject, speed)
    page = _Page(subject, motion)
    return LinearEquations(
        title=f"Linear equations of '{equations.model.name}'",
        sections=numbered(page.sections(seconds)),
        coefficients=page.coefficients,
        symbols={e.name: symbol(e.glyph) for e in subject.notation.legend},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Small:
    """The matrices of (1), traced: rows ζ, columns ζ, ζ, z and inputs; and ċ of the z alike."""

    mass: ca.SX
    damping: ca.SX
    stiffness: ca.SX
    forcing: ca.SX
    rate_by_z: ca.SX
    rate_by_zeta: ca.SX
    rate_by_inputs: ca.SX


class _StraightMotion:
    """Straight running of a model, and the matrices of small motions about it."""

    def __init__(self, subject: Subject, speed: str) -> None:
        self.subject = subject
        self.system = System(equations=subject.equations)
        self.speed = speed
        self.model = subject.printed.model
        self.where = f"linear equations of model '{self.model.name}'"
        names = [s.name for s in self.system.independent_speeds]
        if speed not in names:
            raise SimulationError(
                f"there is no independent speed '{speed}'",
                self.where,
                f"{nearest(speed, names)}; others are chosen with --speeds",
            )
        self.v = subject.kin.eta[names.index(speed)]
        self.params = subject.kin.symbols.params
        self.nominal = self.system.parameters()
        self.gravity = _gravity(self.model)
        self.point = self._point(1.0)
        here = self.point
        self.relevant = relevance(here.system, here.chart, here.parameters)
        self.line: Linearization = self._steady(self.point)
        self._steady(self._point(2.0))
        chart = [c.name for c in self.point.chart.coordinates]
        self.free = [chart.index(c.name) for c in self.line.coordinates]
        self.tied = [chart.index(c.name) for c in self.line.dependent]

    @property
    def about(self) -> dict[str, float]:
        """Values that a start must give: second angles at which the others are defined."""
        found = {}
        for joint in angle_joints(self.model):
            angles = joint.type.named_angles()
            assert angles is not None, "these joints have angles"
            if angles.sequence[0] == angles.sequence[2]:
                found[f"{joint.name}.{angles.names[1]}"] = pi / 2
        return found

    @property
    def place(self) -> int:
        """Index of the speed among ζ."""
        return [s.name for s in self.point.chart.speeds].index(self.speed)

    def start(self, v: float) -> Start:
        """Straight running at a speed."""
        return complete_start(self.system, {**self.about, self.speed: v}, parameters=self.nominal)

    def _point(self, v: float) -> LocalState:
        point = LocalState.at(
            self.system, self.start(v), np.zeros(len(self.system.inputs)), self.nominal
        )
        speeds = [s.name for s in point.chart.speeds]
        if self.speed not in speeds or point.system is not self.system:
            raise SimulationError(
                f"'{self.speed}' does not determine the straight motion here",
                self.where,
                f"choose one of {', '.join(speeds)}, or others with --speeds",
            )
        return point

    def _steady(self, point: LocalState) -> Linearization:
        try:
            return linearize_point(point, self.relevant)
        except SimulationError as error:
            raise SimulationError(
                f"straight running at '{self.speed}' alone is not a steady motion: {error.what}",
                self.where,
                "use the speed that parametrizes straight motions, if necessary by --speeds, on "
                "level ground; elsewhere `noslip linearize` finds the steady motion first",
            ) from None

    def random(self) -> list[tuple[float, Array]]:
        """Speeds and parameters near the model's own."""
        rng = np.random.default_rng(2007)
        size = len(self.nominal)
        return [
            (float(rng.uniform(0.5, 4.0)), self.nominal * rng.uniform(0.9, 1.1, size))
            for _ in range(TRIALS)
        ]

    def _arguments(self, c: ca.SX, v: ca.SX, params: ca.SX) -> list[ca.SX]:
        chart = self.point.chart
        zeta = ca.SX.zeros(len(chart.speeds))
        zeta[self.place] = v
        still = ca.SX.zeros(len(chart.speeds))
        return [ca.SX(0), c, zeta, still, ca.SX.zeros(len(self.system.inputs)), params]

    def configuration(self) -> ca.SX | None:
        """c of the straight motion as a function of the parameters; None if it has no closed form.

        It holds if the motion is steady at other parameters too.
        """
        chart = self.point.chart
        constant = np.where(np.abs(self.point.c) < 1e-13, 0.0, self.point.c)
        c = ca.SX(constant)
        rows, tied = list(self.relevant.rows), self.tied
        if tied:
            arguments = self._arguments(c, self.v, self.params)
            g = chart.values(*arguments)[2][rows]
            slope = self._split(chart.derivatives(*arguments)[0])[2][rows, tied]
            c[tied] = c[tied] - block_solve(ca.densify(slope), ca.densify(g))[0]
        arguments = self._arguments(c, self.v, self.params)
        r, rates, g, *_ = chart.values(*arguments)
        matter = list(self.relevant.coordinates)
        left = ca.vertcat(r, rates[matter], g[rows])
        found = self._function([c, left])
        values = [found(v, p) for v, p in self.random()]
        if any(not np.max(np.abs(rest), initial=0.0) < 1e-9 for _, rest in values):
            return None
        for k in range(c.shape[0]):
            if all(abs(float(x[k, 0]) - constant[k]) < 1e-12 for x, _ in values):
                c[k] = constant[k]
        return c

    def matrices(self, c: ca.SX, params: ca.SX) -> _Small:
        """The matrices of (1) as functions of v and the parameters."""
        chart = self.point.chart
        arguments = self._arguments(c, self.v, params)
        *_, mass = chart.values(*arguments)
        by_c, by_zeta, by_inputs = (self._split(x) for x in chart.derivatives(*arguments))
        rows, free, tied = list(self.relevant.rows), self.free, self.tied
        T = ca.SX.zeros(len(chart.coordinates), len(free))
        for k, place in enumerate(free):
            T[place, k] = 1
        if tied:
            slope = ca.densify(by_c[2][rows, tied])
            T[tied, :] = -block_solve(slope, ca.densify(by_c[2][rows, free]))[0]
        T = self._without_zeros(T)
        return _Small(
            mass=self._without_zeros(mass),
            damping=self._without_zeros(by_zeta[0]),
            stiffness=self._without_zeros(ca.mtimes(by_c[0], T)),
            forcing=self._without_zeros(-by_inputs[0]),
            rate_by_z=self._without_zeros(ca.mtimes(by_c[1][free, :], T)),
            rate_by_zeta=self._without_zeros(by_zeta[1][free, :]),
            rate_by_inputs=self._without_zeros(by_inputs[1][free, :]),
        )

    def _split(self, stacked: ca.SX) -> list[ca.SX]:
        """Stacked rows of r, ċ, g, v and η, apart."""
        edges = [0, *np.cumsum(self.point.chart.sizes).tolist()]
        return [stacked[a:b, :] for a, b in pairwise(edges)]

    def _function(self, parts: list[ca.SX]) -> Callable[[float, Array], list[Array]]:
        f = ca.Function("f", [self.v, self.params], [ca.densify(x) for x in parts])
        return lambda v, p: [np.array(x) for x in f.call([ca.DM(v), ca.DM(p)])]

    def nominal_value(self, matrix: ca.SX) -> Array:
        """A matrix without v at the model's own parameters."""
        return self._function([matrix])(0.0, self.nominal)[0]

    def values(self, matrix: ca.SX) -> list[Array]:
        """A matrix at the random speeds and parameters."""
        f = self._function([matrix])
        return [f(v, p)[0] for v, p in self.random()]

    def _without_zeros(self, matrix: ca.SX) -> ca.SX:
        """A matrix without the entries that are always zero."""
        found = ca.SX(ca.densify(matrix))
        if not found.numel():
            return found
        sizes = np.array([np.abs(x) for x in self.values(found)])
        none = ~(sizes > ROUNDING * max(float(np.nanmax(sizes, initial=0.0)), 1e-300)).any(axis=0)
        for i, j in np.argwhere(none & np.isfinite(sizes).all(axis=0)):
            found[int(i), int(j)] = 0
        return found

    def polynomial(self, matrix: ca.SX) -> dict[tuple[int, int], ca.SX] | None:
        """Powers of v and g → coefficients of a matrix; None if it is no such polynomial."""
        g = None if self.gravity is None else self.params[self.gravity]
        variables = [self.v] if g is None else [self.v, g]
        flat, still = ca.vec(matrix), [ca.SX(0) for _ in variables]

        def at_rest(e: ca.SX) -> ca.SX:
            return ca.reshape(ca.substitute([e], variables, still)[0], *matrix.shape)

        by_v = ca.jacobian(flat, self.v)
        found = {(0, 0): at_rest(flat), (1, 0): at_rest(by_v)}
        found[2, 0] = at_rest(ca.jacobian(by_v, self.v) / 2)
        if g is not None:
            found[0, 1] = at_rest(ca.jacobian(flat, g))
        whole = ca.SX.zeros(*matrix.shape)
        for (m, n), coefficient in found.items():
            whole += coefficient * self.v**m * (1 if g is None else g**n)
        for expected, rebuilt in zip(self.values(matrix), self.values(whole), strict=True):
            size = max(float(np.max(np.abs(expected), initial=0.0)), 1e-300)
            if not np.max(np.abs(rebuilt - expected), initial=0.0) <= ROUNDING * size:
                return None
        kept = {powers: self._without_zeros(e) for powers, e in found.items()}
        return {powers: e for powers, e in kept.items() if not _is_zero(e)}

    def difference(self, small: _Small) -> float:
        """Largest relative difference from `linearize` at a speed of its own."""
        v = 1.7
        line = linearize(self.system, self.start(v))
        f = self._function([small.mass, small.damping, small.stiffness, small.forcing])
        worst = 0.0
        for mine, other in zip(
            f(v, self.nominal),
            (line.mass, line.damping, line.stiffness, line.forcing),
            strict=True,
        ):
            size = max(float(np.max(np.abs(other), initial=0.0)), 1e-300)
            worst = max(worst, float(np.max(np.abs(mine - other), initial=0.0)) / size)
        return worst


def _gravity(model: Model) -> int | None:
    """Place of the one parameter that gravity is written by; None if it is not."""
    texts = [x for x in model.gravity if isinstance(x, str)]
    weights = sorted({name for text in texts for name in names_of(text)})
    names = [p.name for p in model.parameters]
    return names.index(weights[0]) if len(weights) == 1 and weights[0] in names else None


def _is_zero(matrix: ca.SX) -> bool:
    return bool(ca.densify(matrix).is_zero())


@dataclass(frozen=True, slots=True, eq=False)
class _Coefficients:
    """A matrix of (2): its name, its entries, what they multiply besides the columns' variables."""

    name: Glyph
    entries: ca.SX
    factor: sympy.Expr
    columns: list[Glyph]


#: Names of the coefficients of v^m g^n.
_DAMPING = {(0, 0): "0", (1, 0): "1"}
_STIFFNESS = {(0, 0): "c", (0, 1): "0", (1, 0): "1", (2, 0): "2"}


class _Page:
    """Page about a straight motion."""

    def __init__(self, subject: Subject, motion: _StraightMotion) -> None:
        self.subject = subject
        self.motion = motion
        notation = subject.notation
        entries = [*notation.legend, *notation.independent_speeds]
        self.known = {e.name: e.glyph for e in entries}
        self.v = symbol(self.known[motion.speed])
        self.g = None
        if motion.gravity is not None:
            self.g = symbol(notation.parameters[motion.gravity].glyph)
        self.z = [self._glyph(c.name) for c in motion.line.coordinates]
        self.inputs = [*(e.glyph for e in notation.inputs)]
        self.inputs += [*(e.glyph for e in notation.speed_inputs)]
        self.inputs += [*(e.glyph.rate for e in notation.speed_inputs)]
        self.coefficients: dict[str, sympy.Matrix] = {}

    def _glyph(self, name: str) -> Glyph:
        return self.known.get(name) or glyph_of_name(name.rpartition(".")[2])

    def _speeds(self, small: _Small) -> tuple[list[Glyph], list[int]]:
        """Symbols of the ζ, as rates of z where they are; and the z without such a rate."""
        motion = self.motion
        glyphs = [self._glyph(s.name) for s in motion.point.chart.speeds]
        rates = motion.values(small.rate_by_zeta)
        others = [
            _is_zero(small.rate_by_z[k, :]) and _is_zero(small.rate_by_inputs[k, :])
            for k in range(len(self.z))
        ]
        loose = []
        for k, glyph in enumerate(self.z):
            rows = np.array([x[k] for x in rates])
            (places,) = np.nonzero(np.abs(rows).max(axis=0) > ROUNDING)
            if others[k] and len(places) == 1 and np.abs(rows[:, places[0]] - 1.0).max() < ROUNDING:
                glyphs[int(places[0])] = glyph.rate
            else:
                loose.append(k)
        return glyphs, loose

    def sections(self, seconds: float) -> list[Section]:
        """The document."""
        motion, subject = self.motion, self.subject
        c = motion.configuration()
        at = ca.SX(motion.point.c) if c is None else c
        params = motion.params
        if c is None:
            params = ca.SX(motion.nominal)
            if motion.gravity is not None:
                params[motion.gravity] = motion.params[motion.gravity]
        small = motion.matrices(at, params)
        zeta, loose = self._speeds(small)
        own = motion.place
        is_apart = self._is_apart(small, own)
        rows = [k for k in range(len(zeta)) if not (is_apart and k == own)]
        rates = [glyph.rate for glyph in zeta]
        columns = [*zeta]
        columns[own] = Glyph(f"Δ{zeta[own].base}", zeta[own].index)
        terms = self._terms(small, rows, rates, columns)
        drafts: list[tuple[str, list[Draft]]] = [
            (
                "Small motions",
                self._opening(terms, at, is_apart and _is_zero(small.forcing[own, :])),
            )
        ]
        drafts.append((SYMBOLS, []))
        notes = [self._row_name(i) for i in rows]
        matrices = [self._matrix(x, [rates[i] for i in rows]) for x in terms]
        equations = self._rows(matrices, terms, notes)
        equations += self._loose_rows(small, loose, columns)
        if is_apart:
            equations += self._own_row(small, own, rates[own])
        if c is not None:
            drafts.append(("Coefficients", [*matrices]))
            drafts.append(("Linear equations", [Motion(tuple(equations))]))
        items = [i for _, blocks in drafts for b in blocks for i in items_of(b)]
        written = write(items, subject.alphabet, seconds=seconds)
        if c is not None:
            behind = len(items_of(Motion(tuple(equations))))
            self._keep(matrices, items[:-behind], written)
        done = finished(drafts, written, self._arranger(zeta)).sections
        done += self._numbers(terms, notes, c is None)
        done = with_used_symbols(subject, done)
        said = self._closing(written.worst, motion.difference(small))
        return [*done, Section("Check", (words(said),))]

    def _keep(self, matrices: list[Matrix], items: list[Item], written: Written) -> None:
        """The coefficients as expressions, without parts and labels."""
        meanings: dict[sympy.Expr, sympy.Expr] = {}
        plain: list[sympy.Expr] = []
        for item, expression, new in zip(items, written.expressions, written.parts, strict=False):
            for part, meaning in new:
                meanings[part] = meaning.xreplace(meanings)
            whole = expression.xreplace(meanings)
            plain.append(whole)
            if item.label is not None and item.label != whole:
                meanings.setdefault(item.label, whole)
        # definitions of speeds stand before the matrices
        first = len(items) - sum(x.shown.numel() for x in matrices)
        for matrix in matrices:
            m, n = matrix.shown.shape
            found = plain[first : first + m * n]
            first += m * n
            assert isinstance(matrix.name, Glyph), "coefficients go by a letter"
            self.coefficients[matrix.name.text] = sympy.Matrix(m, n, found)

    def _is_apart(self, small: _Small, own: int) -> bool:
        """Whether v does not change with the others, nor they with it."""
        beside = [k for k in range(small.mass.shape[0]) if k != own]
        coupled = [small.mass[own, beside], small.damping[own, :], small.stiffness[own, :]]
        coupled += [small.mass[beside, own], small.damping[beside, own]]
        return all(_is_zero(x) for x in coupled)

    def _own_row(self, small: _Small, own: int, rate: Glyph) -> list[Row]:
        """The row of v where it stands apart; none where it says that nothing drives it."""
        forces = small.forcing[own, :]
        if _is_zero(forces):
            return []

        def term(entry: ca.SX, factor: Glyph) -> Term:
            return Term(Item(entry, entry, is_motion=True), factor=symbol(factor))

        right = [term(forces[k], glyph) for k, glyph in enumerate(self.inputs)]
        return [((term(small.mass[own, own], rate),), tuple(right), self.motion.speed)]

    def _row_name(self, k: int) -> str:
        """The coordinate that a speed is the rate of, or the speed."""
        chart, line = self.motion.point.chart, self.motion.line
        name = chart.speeds[k].name
        for z, c in enumerate(line.coordinates):
            if abs(line.A[z, len(line.coordinates) + k] - 1.0) < ROUNDING:
                others = np.delete(line.A[z], len(line.coordinates) + k)
                if np.max(np.abs(others), initial=0.0) < ROUNDING:
                    return c.name
        return name

    def _terms(
        self, small: _Small, rows: list[int], rates: list[Glyph], speeds: list[Glyph]
    ) -> list[_Coefficients]:
        """The matrices of (2), or of (1) where they are no polynomials of v and g."""
        letter, one = self.subject.letter, sympy.Integer(1)
        found = [_Coefficients(letter("M"), small.mass[rows, :], one, rates)]
        if self._is_apart(small, self.motion.place):
            beside = [k for k in range(len(rates)) if k != self.motion.place]
            rates, speeds = [rates[k] for k in beside], [speeds[k] for k in beside]
            found = [_Coefficients(letter("M"), small.mass[rows, beside], one, rates)]
            small = replace(small, damping=small.damping[:, beside])
        for name, names, matrix, columns in (
            ("C", _DAMPING, small.damping[rows, :], speeds),
            ("K", _STIFFNESS, small.stiffness[rows, :], self.z),
        ):
            powers = self.motion.polynomial(matrix)
            if powers is None or not set(powers) <= set(names):
                whole = letter("D" if name == "C" else "K")
                found.append(_Coefficients(whole, matrix, one, columns))
                continue
            for (m, n), index in names.items():
                if (m, n) in powers:
                    factor = self.v**m * (one if self.g is None else self.g**n)
                    glyph = letter(name, index)
                    found.append(_Coefficients(glyph, powers[m, n], factor, columns))
        forcing = small.forcing[rows, :]
        kept = [k for k in range(forcing.shape[1]) if not _is_zero(forcing[:, k])]
        if kept:
            inputs = [self.inputs[k] for k in kept]
            found.append(_Coefficients(letter("F"), forcing[:, kept], one, inputs))
        return [x for x in found if x.entries.numel()]

    def _matrix(self, x: _Coefficients, names: list[Glyph]) -> Matrix:
        m, n = x.entries.shape
        is_symmetric = m == n and all(
            np.max(np.abs(e - e.T)) <= ROUNDING * np.max(np.abs(e))
            for e in self.motion.values(x.entries)
        )
        return Matrix(
            name=x.name,
            letter=x.name,
            shown=x.entries,
            compiled=x.entries,
            row_names=tuple(names),
            is_symmetric=is_symmetric,
            taken=self.subject.notation.taken,
        )

    def _rows(
        self, matrices: list[Matrix], terms: list[_Coefficients], notes: list[str]
    ) -> list[Row]:
        forced = self.subject.letter("F")
        found: list[Row] = []
        for i, note in enumerate(notes):
            left: list[Term] = []
            right: list[Term] = []
            for matrix, x in zip(matrices, terms, strict=True):
                side = right if x.name == forced else left
                for j, column in enumerate(x.columns):
                    side.append(matrix.term(i, j, x.factor * symbol(column)))
            found.append((tuple(left), tuple(right), note))
        return found

    def _loose_rows(self, small: _Small, loose: list[int], speeds: list[Glyph]) -> list[Row]:
        """Rates of coordinates that are no speeds."""
        found: list[Row] = []
        for k in loose:
            right = []
            for matrix, columns in (
                (small.rate_by_z, self.z),
                (small.rate_by_zeta, speeds),
                (small.rate_by_inputs, self.inputs),
            ):
                for j, column in enumerate(columns):
                    item = Item(matrix[k, j], matrix[k, j], is_motion=True)
                    right.append(Term(item, factor=symbol(column)))
            one = Term(Item(ca.SX(1), ca.SX(1)), factor=symbol(self.z[k].rate))
            found.append(((one,), tuple(right), self.motion.line.coordinates[k].name))
        return found

    def _opening(self, terms: list[_Coefficients], c: ca.SX, is_constant: bool) -> list[Draft]:
        motion, kin = self.motion, self.subject.kin
        parts: list[str | Node] = [
            "Small motions about straight running at the speed ",
            self.known[motion.speed],
            f" ({motion.speed}): ",
            *_summary(terms, self.z, self._arranger([])),
            ". All coefficients are exact derivatives of the equations of motion.",
        ]
        for place, glyph in zip(motion.free, self.z, strict=True):
            if not c[place].is_zero() and c[place].is_constant():
                number = float(c[place])
                said = "π/2" if abs(number - pi / 2) < 1e-12 else f"{number:.10g}"
                parts += [" ", glyph, f" is counted from {said}."]
        if is_constant:
            parts += [" To first order ", self.known[motion.speed], " stays what it is."]
        own = [s.name for s in kin.speeds]
        defined = [
            (
                e.glyph,
                Item(self.subject.at_v(ca.mtimes(kin.E[j, :], kin.symbols.v)), kin.eta[j]),
                "",
            )
            for j, e in enumerate(self.subject.notation.independent_speeds)
            if e.name not in own
        ]
        if not defined:
            return [words(*parts)]
        return [words(*parts), words("By definition"), Scalars(tuple(defined))]

    def _arranger(self, speeds: list[Glyph]) -> Arranger:
        """Arranger of derivations, with v among the parameters, before small quantities."""
        usual = self.subject.arrange
        glyphs = {symbol(g): g for s in (*speeds, *self.z) for g in (s, s.rate, s.rate.rate)}
        ranks = {**usual.ranks, self.v: (0, 6)}
        if self.g is not None:
            ranks[self.g] = (0, 5)
        # everything small has one rank, so that terms keep the order of the matrices
        ranks |= {s: (7, 0) for s in glyphs if s != self.v}
        return Arranger({**glyphs, **usual.glyphs}, ranks)

    def _numbers(
        self, terms: list[_Coefficients], notes: list[str], is_alone: bool
    ) -> list[Section]:
        """The rows with the model's own parameters; none where they are no polynomials."""
        if any(x.name.base == "D" or (x.name.base == "K" and not x.name.index) for x in terms):
            return []
        arrange = self._arranger([])
        lines = []
        values = [self.motion.nominal_value(x.entries) for x in terms]
        forced = self.subject.letter("F")
        for i, note in enumerate(notes):
            sides: dict[bool, list[sympy.Expr]] = {False: [], True: []}
            for x, matrix in zip(terms, values, strict=True):
                for j, column in enumerate(x.columns):
                    side = sides[x.name == forced]
                    side += _number_term(matrix, i, j, x.factor * symbol(column))
            left, right = (
                arrange.sum_of(sides[k], keep=True) if sides[k] else MathNumber("0")
                for k in (False, True)
            )
            lines.append(EquationLine(left, right, note))
        said = "With the model's own parameters, in SI units, "
        said += f"to {DIGITS} digits:"
        if is_alone:
            said = "The straight configuration depends on the parameters in no closed form. " + said
        blocks: tuple[Block, ...] = (words(said), Lines(tuple(lines)))
        return [Section("In numbers", blocks)]

    def _closing(self, worst: float, difference: float) -> str:
        if np.isnan(worst) and not np.isnan(difference):
            worst = 0.0
        if max(worst, difference) <= AGREE:
            return (
                "All expressions above were evaluated at random parameters and agree with the "
                "traced derivatives; at a speed of 1.7 the matrices are those of linearize, both "
                f"to a relative {AGREE:.0e}."
            )
        return (
            f"Warning: what is shown differs from linearize by a relative "
            f"{max(worst, difference):.1e}."
        )


def _summary(terms: list[_Coefficients], z: list[Glyph], arrange: Arranger) -> list[str | Node]:
    """(2) in one line, with the letters that are there, and what it is written in.

    Where all speeds are rates of z it reads M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = F u.
    """
    speeds = next((x.columns for x in terms if x.name.base in "CD"), [])
    speeds = speeds or [replace(g, dots=g.dots - 1) for g in terms[0].columns]
    zeta = Glyph("ζ")
    columns: dict[int, Node] = {2: zeta.rate, 1: zeta, 0: Glyph("z")}
    said: list[str | Node] = [" with ", zeta, " = ", _listed(speeds)]
    said += [" and ", Glyph("z"), " = ", _listed(z)] if z else []
    if [g.rate for g in z] == speeds:
        columns = {dots: Glyph("q", "", dots) for dots in (2, 1, 0)}
        said = [" with ", Glyph("q"), " = ", _listed(z)]
    parts: dict[int, list[sympy.Expr]] = {}
    for x in terms:
        dots = {"M": 2, "C": 1, "D": 1, "K": 0, "F": -1}[x.name.base]
        parts.setdefault(dots, []).append(x.factor * symbol(x.name))
    ranks = {symbol(x.name): (3, 0) for x in terms}
    own = Arranger(
        {**arrange.glyphs, **{symbol(x.name): x.name for x in terms}},
        {**arrange.ranks, **ranks},
    )
    items: list[Node] = []
    for dots in (2, 1, 0):
        some = parts.get(dots, [])
        if not some:
            continue
        items += [Operator("+")] if items else []
        whole = own.sum_of(some, keep=True)
        items.append(Fenced(whole) if len(some) > 1 else whole)
        items.append(columns[dots])
    forced = parts.get(-1)
    items.append(Operator("="))
    items += [own.sum_of(forced, keep=True), Glyph("u")] if forced else [MathNumber("0")]
    return [MathRow(tuple(items)), *said]


def _listed(glyphs: list[Glyph]) -> Node:
    return Fenced(joined(list(glyphs), Operator(",")))


def _number_term(matrix: Array, i: int, j: int, factor: sympy.Expr) -> list[sympy.Expr]:
    """An entry times a factor; nothing for a zero."""
    value = float(matrix[i, j])
    if abs(value) <= ROUNDING * float(np.max(np.abs(matrix), initial=0.0)):
        return []
    rounded = float(f"{value:.{DIGITS}g}")
    number = sympy.Integer(int(rounded)) if rounded == int(rounded) else sympy.Float(rounded, 15)
    return [number * factor]
