"""Nonholonomic joints alone: quasi-velocities and equations, worked out once [CameronBook1993].

A template is a joint's coordinates q′ and quasi-velocities w with q̇′ = β′w. Everything else follows
by SymPy: α′ = β′⁻ᵀ, γ′ of [eq. 49], and for each independent quasi-velocity the equation [eq. 40]

    (1)  d/dt ∂L̄/∂w_I + Σ_j (β′ᵀγ′)_Ij ∂L̄/∂w_j − Σ_j β′_jI ∂L̄/∂q_j = N_I

of any mechanism that contains the joint; momenta of dependent quasi-velocities are called P.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import sympy

from noslip import FormulationError
from noslip.base import format_called, nearest
from noslip.show.equations.documents import AbstractEquationFormat
from noslip.show.equations.layout import (
    Block,
    EquationLine,
    Fenced,
    Glyph,
    Lines,
    MathGrid,
    MathRow,
    MatrixBlock,
    Node,
    Operator,
    Section,
    Word,
    formula,
    glyph_of_text,
    row,
    words,
)
from noslip.show.equations.writing import Arranger

# letters of the templates
_X, _Y, _THETA, _PHI, _PSI = sympy.symbols("x y θ φ ψ", real=True)
_V, _W2, _W3 = sympy.symbols("v w2 w3", real=True)
_LENGTH = sympy.Symbol("ℓ", positive=True)
_RATE = {_THETA: sympy.Symbol("θ̇", real=True), _PHI: sympy.Symbol("φ̇", real=True)}
_OMEGA = sympy.symbols("ω_x ω_y ω_z", real=True)


#: Operations in an equation up to which it is simplified.
SIMPLIFIED = 150


@dataclass(frozen=True, kw_only=True, eq=False)
class JointTemplate:
    """A nonholonomic joint with its own equations. Made by :func:`joint_template`."""

    word: str  #: name of the joint
    meaning: str  #: description of the joint
    equations_in_paper: str  #: equations of [CameronBook1993]
    #: coordinates, quasi_velocities: symbols of q′ and w
    coordinates: tuple[sympy.Symbol, ...]
    quasi_velocities: tuple[sympy.Symbol, ...]
    dependent: tuple[sympy.Symbol, ...]  #: the quasi-velocities that the constraints keep at zero
    beta: sympy.Matrix  #: β′ of q̇′ = β′w
    forces: tuple[str, ...]  #: names of the generalized forces of the independent quasi-velocities

    @classmethod
    def from_constraints(
        cls,
        coordinates: Sequence[sympy.Symbol],
        constraints: Mapping[sympy.Symbol, Sequence[sympy.Expr]],
        speeds: Mapping[sympy.Symbol, Sequence[sympy.Expr]],
        *,
        word: str = "own",
        meaning: str = "A joint found from its constraints",
    ) -> JointTemplate:
        """A joint of your own: β′ from its constraint rows and the speeds that are free.

        With the rows A q̇ of the constraints and E q̇ of the independent quasi-velocities, α′ᵀ =
        [A; E] and β′ is its inverse, which answers how [CameronBook1993] comes to choose one.

        Parameters
        ----------
        coordinates : q′.
        constraints : dependent quasi-velocity → coefficients of its row, one for each coordinate.
        speeds : independent quasi-velocity → coefficients.
        word, meaning : name and description of the joint.

        Raises
        ------
        FormulationError : unless the rows are as many as the coordinates and independent of each
            other.
        """
        rows = [list(row) for row in (*speeds.values(), *constraints.values())]
        num, where = len(coordinates), f"rows of joint template '{word}'"
        if len(rows) != num or any(len(row) != num for row in rows):
            raise FormulationError(
                f"{len(rows)} rows of {', '.join(str(len(row)) for row in rows)} coefficients do "
                f"not determine the rates of {num} coordinates",
                where,
                f"give {num} rows in all, each with {num} coefficients",
            )
        directions = sympy.Matrix(rows)
        if sympy.simplify(directions.det()) == 0:
            raise FormulationError(
                "the rows depend on each other, so they leave a rate undetermined",
                where,
                "choose speeds that the constraints leave free",
            )
        return cls(
            word=word,
            meaning=meaning,
            equations_in_paper="eqs. 22–24",
            coordinates=tuple(coordinates),
            quasi_velocities=(*speeds, *constraints),
            dependent=tuple(constraints),
            beta=sympy.simplify(directions.inv()),
            forces=tuple(f"N_{w.name}" for w in speeds),
        )

    def equations(
        self, lagrangian: sympy.Expr, more: Mapping[sympy.Symbol, sympy.Symbol] | None = None
    ) -> dict[sympy.Symbol, sympy.Expr]:
        """(1) for a Lagrangian of your own: independent speed → left side, equal to its force.

        Accelerations are symbols: of v it is ``Symbol("v_dot", real=True)``.

        Parameters
        ----------
        lagrangian : Lagrangian in the coordinates and in all quasi-velocities, the dependent ones
            too: what is left out of it is wrong in the equations [CameronBook1993, after eq. 32].
        more : further coordinates, of joints without constraints, with their rates; their
            equations are Lagrange's.
        """
        q, w, others = self.coordinates, self.quasi_velocities, dict(more or {})
        free = [x for x in (*self.independent, *others.values()) if lagrangian.has(x)]
        if not free:
            raise FormulationError(
                "the Lagrangian depends on no speed of the joint",
                f"joint template '{self.word}'",
                f"write it by {', '.join(map(str, (*w, *others.values())))}",
            )
        rates = dict(zip(q, self.beta * sympy.Matrix(w), strict=True)) | others
        moving = [*self.independent, *others.values()]
        momenta = [lagrangian.diff(x) for x in w]
        at_rest = dict.fromkeys(self.dependent, sympy.Integer(0))

        def rate(value: sympy.Expr) -> sympy.Expr:
            by_q = sum(value.diff(x) * rates[x] for x in rates)
            return by_q + sum(
                value.diff(x) * sympy.Symbol(f"{x.name}_dot", real=True) for x in moving
            )

        found: dict[sympy.Symbol, sympy.Expr] = {}
        for x in self.independent:
            k = w.index(x)
            left = rate(momenta[k])
            left += sum(self.Gamma[k, j] * momenta[j] for j in range(len(w)))
            left -= sum(self.beta[i, k] * lagrangian.diff(q[i]) for i in range(len(q)))
            found[x] = _tidied(left.subs(at_rest))
        for coordinate, speed in others.items():
            left = rate(lagrangian.diff(speed)) - lagrangian.diff(coordinate)
            found[speed] = _tidied(left.subs(at_rest))
        return found

    @cached_property
    def alpha(self) -> sympy.Matrix:
        """α′ of w = α′ᵀq̇′."""
        return sympy.simplify(self.beta.inv().T)

    @cached_property
    def gamma(self) -> sympy.Matrix:
        """γ′_ij = Σ_k q̇_k (∂α′_ij/∂q_k − ∂α′_kj/∂q_i) at q̇′ = β′w [eq. 49]."""
        q, alpha = self.coordinates, self.alpha
        rates = self.beta * sympy.Matrix(self.quasi_velocities)
        n = len(q)

        def entry(i: int, j: int) -> sympy.Expr:
            return sum(
                rates[k] * (alpha[i, j].diff(q[k]) - alpha[k, j].diff(q[i])) for k in range(n)
            )

        return sympy.Matrix(n, n, lambda i, j: sympy.simplify(entry(i, j)))

    @cached_property
    def Gamma(self) -> sympy.Matrix:
        """Γ′ = β′ᵀγ′, the dependent quasi-velocities at zero."""
        at_rest = dict.fromkeys(self.dependent, sympy.Integer(0))
        return sympy.simplify((self.beta.T * self.gamma).subs(at_rest))

    @property
    def independent(self) -> tuple[sympy.Symbol, ...]:
        """Quasi-velocities that are free."""
        return tuple(w for w in self.quasi_velocities if w not in self.dependent)

    def text(self, format: str = "text") -> str:
        """The template for people.

        Parameters
        ----------
        format : ``"text"``, ``"latex"``, ``"html"``, ``"markdown"``, or the word of your own.
        """
        used = format_called(AbstractEquationFormat, format, "joint template, format")
        return used.text(f"The {self.word} joint [CameronBook1993]", self.sections())

    def sections(self) -> list[Section]:
        """Kinematics, Hamel's terms and equations of motion."""
        arrange = Arranger({}, {})

        def block(glyph: Glyph, value: sympy.Matrix, names: tuple[sympy.Symbol, ...]) -> Block:
            cells = tuple(tuple(arrange(e) for e in line) for line in value.tolist())
            return MatrixBlock(glyph, MathGrid(cells), tuple(arrange(s) for s in names))

        said = f"{self.meaning} [{self.equations_in_paper}]."
        zero = ", ".join(str(s) for s in self.dependent)
        said += f" The constraints keep {zero} at zero." if zero else " Nothing is constrained."
        kinematics: tuple[Block, ...] = (
            words(said),
            words("q̇ = β w and w = αᵀq̇, in the order ", ", ".join(map(str, self.quasi_velocities))),
            block(Glyph("β"), self.beta, self.coordinates),
            block(Glyph("α"), self.alpha, self.coordinates),
        )
        hamel: tuple[Block, ...] = (
            words("Hamel's coefficients times w, and Γ = βᵀγ where the constraints hold:"),
            block(Glyph("γ"), self.gamma, self.coordinates),
            block(Glyph("Γ"), self.Gamma, self.quasi_velocities),
        )
        lines = [self._equation(w, force, arrange) for w, force in
                 zip(self.independent, self.forces, strict=True)]  # fmt: skip
        return [
            Section("Kinematics", kinematics),
            Section("Hamel's terms", hamel),
            Section("Equations of motion", (Lines(tuple(lines)),)),
        ]

    def _equation(self, w: sympy.Symbol, force: str, arrange: Arranger) -> EquationLine:
        """(1) of one independent quasi-velocity."""
        place = self.quasi_velocities.index(w)
        items: list[Node] = [Word("d/dt "), Fenced(_slope(w.name))]
        for j, other in enumerate(self.quasi_velocities):
            name = f"P{other.name[1:]}" if other in self.dependent else ""
            node: Node = glyph_of_text(name) if name else _slope(other.name)
            items += _term(self.Gamma[place, j], node, arrange)
        for k, q in enumerate(self.coordinates):
            items += _term(-self.beta[k, place], _slope(q.name), arrange)
        return EquationLine(MathRow(tuple(items)), glyph_of_text(force), str(w))


def _tidied(expression: sympy.Expr) -> sympy.Expr:
    """Simplified if that takes no more than a moment."""
    is_short = expression.count_ops() <= SIMPLIFIED
    return sympy.simplify(expression) if is_short else expression


def _slope(name: str) -> Node:
    """∂L/∂name."""
    return formula(f"∂L / ∂{name}")


def _term(coefficient: sympy.Expr, node: Node, arrange: Arranger) -> list[Node]:
    """A signed product, nothing for zero."""
    coefficient = sympy.simplify(coefficient)
    if coefficient == 0:
        return []
    negative = coefficient.could_extract_minus_sign()
    size = -coefficient if negative else coefficient
    sign = Operator("−" if negative else "+")
    return [sign, node] if size == 1 else [sign, row(arrange(size), node)]


def _knife() -> JointTemplate:
    c, s = sympy.cos(_THETA), sympy.sin(_THETA)
    return JointTemplate(
        word="knife",
        meaning="A blade at x, y with the heading θ: v along it, w2 across",
        equations_in_paper="eqs. 50–60",
        coordinates=(_X, _Y, _THETA),
        quasi_velocities=(_V, _W2, _RATE[_THETA]),
        dependent=(_W2,),
        beta=sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        forces=("F_v", "τ"),
    )


def _tricycle() -> JointTemplate:
    c, s = sympy.cos(_THETA), sympy.sin(_THETA)
    cf, sf = sympy.cos(_PHI), sympy.sin(_PHI)
    return JointTemplate(
        word="tricycle",
        meaning="A body on a rear axle at x, y with the heading θ and a front wheel at ℓ ahead, "
        "steered by φ: v along the front wheel, w2 across the rear axle, w3 across the front "
        "wheel, which is regular at every heading",
        equations_in_paper="eqs. 61–71, with another w3",
        coordinates=(_X, _Y, _THETA, _PHI),
        quasi_velocities=(_V, _W2, _W3, _RATE[_PHI]),
        dependent=(_W2, _W3),
        beta=sympy.Matrix(
            [
                [c * cf, -s, -c * sf, 0],
                [s * cf, c, -s * sf, 0],
                [sf / _LENGTH, 0, cf / _LENGTH, 0],
                [0, 0, 0, 1],
            ]
        ),
        forces=("F_v", "τ"),
    )


def _printed_tricycle() -> JointTemplate:
    c, s = sympy.cos(_THETA), sympy.sin(_THETA)
    cf, sf = sympy.cos(_PHI), sympy.sin(_PHI)
    return JointTemplate(
        word="tricycle-as-printed",
        meaning="The tricycle with w3 = −ẋ sin φ + ℓ θ̇ cos θ cos φ, singular at θ = ±π/2",
        equations_in_paper="eqs. 61–71",
        coordinates=(_X, _Y, _THETA, _PHI),
        quasi_velocities=(_V, _W2, _W3, _RATE[_PHI]),
        dependent=(_W2, _W3),
        beta=sympy.Matrix(
            [
                [c * cf, -s, 0, 0],
                [s * cf, c, 0, 0],
                [sf / _LENGTH, -s / c * sf / cf / _LENGTH, 1 / (_LENGTH * c * cf), 0],
                [0, 0, 0, 1],
            ]
        ),
        forces=("F_v", "τ"),
    )


def _roll_pitch_yaw() -> JointTemplate:
    c, s = sympy.cos(_PHI), sympy.sin(_PHI)
    ct, tt = sympy.cos(_THETA), sympy.tan(_THETA)
    return JointTemplate(
        word="roll-pitch-yaw",
        meaning="A ball joint with roll φ, pitch θ and yaw ψ, R = Rz(ψ) Ry(θ) Rx(φ), and the "
        "angular velocity in body axes; singular at θ = ±π/2",
        equations_in_paper="eqs. 72–76",
        coordinates=(_PHI, _THETA, _PSI),
        quasi_velocities=_OMEGA,
        dependent=(),
        beta=sympy.Matrix([[1, s * tt, c * tt], [0, c, -s], [0, s / ct, c / ct]]),
        forces=("τ_x", "τ_y", "τ_z"),
    )


_MADE = {
    "knife": _knife,
    "tricycle": _tricycle,
    "tricycle-as-printed": _printed_tricycle,
    "roll-pitch-yaw": _roll_pitch_yaw,
}
#: Words of all templates.
JOINT_TEMPLATES: tuple[str, ...] = tuple(_MADE)


def joint_template(word: str) -> JointTemplate:
    """A nonholonomic joint alone, with its own equations.

    Parameters
    ----------
    word : ``knife``, ``tricycle``, ``tricycle-as-printed`` or ``roll-pitch-yaw``.

    Raises
    ------
    FormulationError : if there is no such template.
    """
    if word not in _MADE:
        raise FormulationError(
            f"there is no joint template '{word}'",
            "nonholonomic joints",
            nearest(word, _MADE),
        )
    return _made(word)


@cache
def _made(word: str) -> JointTemplate:
    """A template; what it has worked out by SymPy, in seconds, is kept with it."""
    return _MADE[word]()
