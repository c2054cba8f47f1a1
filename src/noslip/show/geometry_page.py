"""The geometry of a model's constraints as a page: statements, their certificates, a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noslip import FormulationError, Model, NoslipError, derive
from noslip.base import counted, format_called
from noslip.geometry import AFFINE, statements_of
from noslip.results import (
    BracketLoop,
    Controllability,
    Distribution,
    FieldFormulas,
    Growth,
    Integral,
    Statement,
    Structure,
    VelocityForm,
)
from noslip.show.equations.documents import AbstractEquationFormat
from noslip.show.equations.layout import (
    MINUS,
    PLUS,
    Block,
    CellTable,
    Document,
    EquationLine,
    Fenced,
    Glyph,
    Lines,
    MathNumber,
    Node,
    Operator,
    Paragraph,
    Picture,
    Power,
    Section,
    Word,
    number,
    row,
    words,
)
from noslip.show.equations.subject import Notation

if TYPE_CHECKING:
    import sympy

    from noslip.show.equations.writing import Arranger

#: ε of the loop on the page, s, and the deepest bracket that is drawn.
LOOP, DRAWN = 0.5, 3
#: The loop is halved at most so often, until it leaves the bracket but for this fraction.
HALVED, NEAR = 4, 0.3


@dataclass(frozen=True, kw_only=True, eq=False)
class GeometryPage:
    """What `noslip geometry` shows of a model. Made by ``GeometryPage.of(model)``."""

    model: Model
    distribution: Distribution
    #: None of a mechanism that cannot move.
    controllability: Controllability | None
    structure: Structure | None

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        at: Mapping[str, float] | None = None,
        without: Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> GeometryPage:
        """All statements about a model.

        Parameters
        ----------
        model : checked model.
        at, without, parameters : arguments of `distribution`.
        progress : function called with the part that begins, such as a `ProgressBar`.
        """
        found, reach, structure = statements_of(
            model, at=at, without=without, parameters=parameters, progress=progress or (lambda _: 0)
        )
        return cls(model=model, distribution=found, controllability=reach, structure=structure)

    def text(self, format: str = "text") -> str:
        """The page as ``"text"``, ``"latex"``, ``"html"``, ``"markdown"``, or your own format."""
        used = format_called(AbstractEquationFormat, format, "GeometryPage.text, format")
        document = self.document()
        return used.text(document.title, document.sections)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "distribution": self.distribution.to_json(),
            "controllability": self.controllability.to_json() if self.controllability else None,
            "structure": self.structure.to_json() if self.structure else None,
        }

    def document(self) -> Document:
        """The page as a document for a file."""
        sections = [
            self._constraints(),
            self._motions(),
            *self._loop(),
            *self._reach(),
            *self._structure(),
            _conventions(self.distribution),
        ]
        return Document(f"Geometry of the constraints of '{self.model.name}'", sections)

    @cached_property
    def _coordinates(self) -> dict[str, Glyph]:
        notation = Notation(derive(self.model))
        return {"t": Glyph("t")} | {entry.name: entry.glyph for entry in notation.coordinates}

    @cached_property
    def _formulas(self) -> FieldFormulas | None:
        return self.distribution.formulas()

    @cached_property
    def _arrange(self) -> Arranger:
        """Formulas in the symbols of the coordinates, their rates, and ∂ of each."""
        from noslip.show.equations.writing import Arranger

        glyphs, ranks = {}, {}
        for k, (name, glyph) in enumerate(self._coordinates.items()):
            plain = f"{glyph.base}{glyph.index}"
            written = (glyph, glyph.rate, Glyph("∂", plain))
            for place, (symbol, shown) in enumerate(zip(_symbols(name), written, strict=True)):
                glyphs[symbol] = shown
                ranks[symbol] = ((2, 7, 8)[place], k)
        return Arranger(glyphs, ranks)

    def formula_lines(self) -> list[str]:
        """Formulas of the fields and of the connection, as text; none where they are long."""
        found = [] if self._formulas is None else [self._formulas.text()]
        form = self._connection
        rates = {} if form is None else form.formulas()
        found += [f"  {'velocity':<20} {name}' = {x}" for name, x in rates.items()]
        return found

    @property
    def _connection(self) -> VelocityForm | None:
        """The connection of Chaplygin's form in coordinates, or else Voronets' form."""
        if self.structure is None:
            return None
        found = self.structure.chaplygin
        if found is not None and found.connection is not None:
            return found.connection
        return self.structure.voronets

    def _constraints(self) -> Section:
        found = self.distribution
        sentence = found.sentence()
        blocks: list[Block] = [words(_spoken(sentence))]
        if self.model.description:
            blocks.insert(0, words(self.model.description))
        rows: list[tuple[str | Node, ...]] = [
            (self._coordinates[name], name) for name in found.coordinates
        ]
        blocks.append(
            words(f"A configuration has {counted(found.dimension, 'dimension')}; its coordinates:")
        )
        blocks.append(CellTable(("symbol", "coordinate"), tuple(rows)))
        kinds = [(name, "holonomic") for name in found.holonomic_rows]
        kinds += [(name, "on speeds") for name in found.velocity_rows]
        if kinds:
            blocks.append(words("Independent rows of the constraint matrix:"))
            blocks.append(CellTable(("row", "kind"), tuple(kinds)))
        if found.integrals:
            blocks.append(words("What integrates, with its largest residual:"))
            blocks += self._integrals(found.integrals)
        if found.is_affine:
            blocks.append(words(_spoken(AFFINE)))
        if found.time is not None:
            blocks.append(words(_spoken(found.changing)))
        return Section("Constraints", tuple(blocks))

    def _integrals(self, integrals: Sequence[Integral]) -> list[Block]:
        blocks: list[Block] = []
        lines = [
            EquationLine(Word("constant"), self._sum(i.coefficients), f"residual {i.residual:.0e}")
            for i in integrals
            if i.kind == "linear"
        ]
        if lines:
            blocks.append(Lines(tuple(lines)))
        for i in integrals:
            if i.kind != "linear":
                text = i.text()
                blocks.append(words(f"{text[0].upper()}{text[1:]} (residual {i.residual:.0e})."))
        return blocks

    def _sum(self, coefficients: Mapping[str, float]) -> Node:
        items: list[Node] = []
        for name, value in coefficients.items():
            if items or value < 0:
                items.append(MINUS if value < 0 else PLUS)
            if abs(abs(value) - 1) > 1e-9:
                items.append(number(f"{abs(value):.6g}"))
            items.append(self._coordinates[name])
        return row(*items)

    # motions and brackets

    @cached_property
    def _fields(self) -> dict[str, Node]:
        """Name of each field that growth vectors name → X₁, [X₁, X₂]."""
        names = self.distribution.generators
        return {name: Glyph("X", str(k)) for k, name in enumerate(names, 1)}

    def _bracket(self, name: str) -> Node:
        if name in self._fields:
            return self._fields[name]
        first, second = _parts(name)
        inside = row(self._bracket(first), Operator(","), self._bracket(second))
        return Fenced(inside, "[", "]")

    def _motions(self) -> Section:
        found = self.distribution
        title = "Admissible motions and their brackets"
        if not found.generators:
            return Section(title, (words("None: the constraints leave no freedom."),))
        table = tuple(
            (self._fields[name], name, "speed input" if name in found.controls else "speed")
            for name in found.generators
        )
        blocks: list[Block] = [
            words("Fields that span the admissible velocities, each at 1 m/s or 1 rad/s:"),
            CellTable(("field", "motion", "kind"), table),
        ]
        blocks += self._written()
        blocks += self._growth("At generic configurations", found.growth)
        if found.growth_there is not None and found.at is not None:
            where = ", ".join(f"{name} = {value:g}" for name, value in found.at.items())
            blocks += self._growth(f"At {where}", found.growth_there)
        is_moved = found.is_affine or found.time is not None
        reach = (
            "Brackets reach every direction (Chow and Rashevskii)."
            if found.is_bracket_generating
            else f"Brackets reach {found.growth.rank} of {found.dimension} dimensions"
            + ("." if is_moved else "; along the others the constraints integrate (Frobenius).")
        )
        return Section(title, (*blocks, words(reach)))

    def _written(self) -> list[Block]:
        """Formulas of the fields, and where brackets may fail."""
        found = self._formulas
        if found is None:
            return []
        lines = []
        for name, components in found.fields.items():
            parts = [
                x * _symbols(s.name)[2] for s, x in zip(found.coordinates, components, strict=True)
            ]
            lines.append(EquationLine(self._bracket(name), self._arrange(sum(parts))))
        blocks: list[Block] = [
            words("In coordinates, with brackets taken once more from these formulas:"),
            Lines(tuple(lines)),
        ]
        if found.determinant is not None:
            columns: list[Node] = []
            for name in found.fields:
                columns += [Operator(",")] * bool(columns) + [self._bracket(name)]
            left = row(Word("det"), Fenced(row(*columns), "(", ")"))
            blocks.append(words("Their determinant:"))
            blocks.append(Lines((EquationLine(left, self._arrange(found.determinant)),)))
        if found.singular:
            said: list[str | Node] = ["These brackets fail where "]
            for k, factor in enumerate(found.singular):
                said += [" or "] * bool(k) + [self._arrange(factor), " = 0"]
            blocks.append(words(*said, "; there deeper ones may reach what is missing (--at)."))
        return blocks

    def _growth(self, where: str, growth: Growth) -> list[Block]:
        numbers = ", ".join(map(str, growth.vector))
        digits = ", some with 60 digits" if growth.is_precise else ""
        said = (
            f"{where} the growth vector is ({numbers}), the degree of nonholonomy {growth.degree}. "
            f"Singular values that decide ranks are apart by a factor of {growth.gap:.1e}{digits}."
        )
        blocks: list[Block] = [words(said)]
        rows = tuple(
            (str(depth), self._bracket(name), str(growth.vector[depth - 1]))
            for depth, names in enumerate(growth.brackets[1:], 2)
            for name in names
        )
        if rows:
            blocks.append(CellTable(("depth", "bracket", "dimension by then"), rows))
        return blocks

    def _loop(self) -> list[Section]:
        """The bracket as a motion, where one leads out of the plane."""
        found = self.distribution
        levels = found.growth.brackets[1:DRAWN]
        if not levels:
            return []
        for name in [name for level in reversed(levels) for name in level]:
            try:
                sizes = (LOOP / 2**k for k in range(HALVED + 1))
                loops = (found.loop(name, size=size, at=found.at) for size in sizes)
                loop = next(loop for loop in loops if loop.deviation < NEAR)
            except (NoslipError, StopIteration):  # it vanishes there, or other terms are larger
                continue
            return [Section("A bracket as a motion", tuple(self._drawn(loop)))]
        return []

    def _drawn(self, loop: BracketLoop) -> list[Block]:
        body = loop.bodies[0]
        epsilon = Power(Glyph("ε"), MathNumber(str(loop.depth)))
        opening = Paragraph(
            (
                f"{counted(len(loop.legs), 'leg')} of {loop.size:g} s each, forward along a field "
                "and later back along it, end beside the start, by ",
                row(epsilon, self._bracket(loop.bracket)),
                " up to higher powers of ",
                Glyph("ε"),
                ":",
            )
        )
        legs: list[str | Node] = []
        for name, sign in loop.legs:
            field = self._fields[name]
            legs += [", "] * bool(legs) + [field if sign > 0 else row(MINUS, field)]
        largest = float(np.max(np.abs(loop.expected)))
        rows = tuple(
            (self._coordinates[name], f"{_rounded(left, largest)}", f"{_rounded(due, largest)}")
            for name, left, due in zip(
                loop.coordinates, loop.displacement, loop.expected, strict=True
            )
            if max(abs(left), abs(due)) > 1e-3 * largest
        )
        half = self.distribution.loop(loop.bracket, size=loop.size / 2, at=self.distribution.at)
        return [
            opening,
            Paragraph(tuple(legs)),
            Picture(*_picture(loop, body)),
            CellTable(("coordinate", "left by the loop", "by the bracket"), rows),
            words(
                f"The two differ by {loop.deviation:.1%} of the largest; at half the duration by "
                f"{half.deviation:.1%}."
            ),
        ]

    # reach and structure

    def _reach(self) -> list[Section]:
        found = self.controllability
        if found is None:
            return []
        rows = tuple(
            (title, statement.answer, _why(statement))
            for title, statement in found.statements.items()
        )
        blocks: list[Block] = [CellTable(("statement", "answer", "why"), rows)]
        if found.decoupling:
            blocks.append(words(f"Decoupling fields: {', '.join(found.decoupling)}."))
        if found.left_out:
            blocks.append(words(f"Left out: {found.left_out}."))
        return [Section("Controllability", tuple(blocks))]

    def _structure(self) -> list[Section]:
        found = self.structure
        if found is None:
            return []
        blocks: list[Block] = []
        if found.symmetries:
            rows = tuple(
                (s.name, s.text().removeprefix(f"{s.name}: "), f"{s.residual:.0e}")
                for s in found.symmetries
            )
            blocks.append(CellTable(("symmetry", "what follows", "residual"), rows))
        else:
            blocks.append(words("No symmetry was found among displacements and coordinates."))
        blocks.append(CellTable(("property", "answer"), tuple(found.properties.items())))
        form = self._connection
        rates = {} if form is None else form.formulas()
        if rates:
            lines = [
                EquationLine(self._coordinates[name].rate, self._arrange(x))
                for name, x in rates.items()
            ]
            blocks.append(words("Velocities that follow from those of the base:"))
            blocks.append(Lines(tuple(lines)))
        return [Section("Symmetries, measure and flat outputs", tuple(blocks))]


def _symbols(name: str) -> tuple[sympy.Symbol, sympy.Symbol, sympy.Symbol]:
    """A coordinate, its rate and its ∂ in formulas."""
    import sympy

    x, rate, along = (sympy.Symbol(n, real=True) for n in (name, f"{name}'", f"∂{name}"))
    return x, rate, along


def _spoken(text: str) -> str:
    """A text as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def _why(verdict: Statement) -> str:
    return f"{verdict.reason} [{verdict.theorem}]" if verdict.theorem else verdict.reason


def _conventions(found: Distribution) -> Section:
    """What the statements are about, and where they end."""
    said = [
        "A configuration is what the model's coordinates say where all holonomic rows hold. Rates "
        "of speed inputs are controls.",
        "Statements are generic: they hold at three random configurations, and may fail where "
        "ranks drop, such as where wheels stand across each other.",
    ]
    if found.without:
        said.append(f"Left out: {', '.join(found.without)}; nothing else depends on them.")
    return Section("Conventions and limits", tuple(words(x) for x in said))


def _parts(name: str) -> tuple[str, str]:
    """X and Y of ``[X, Y]``."""
    depth = 0
    for k, letter in enumerate(name):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 1:
            return name[1:k], name[k + 2 : -1]
    raise FormulationError(f"'{name}' is no bracket", "bracket", "write it as [X, Y]")


def _rounded(value: float, largest: float) -> str:
    """Four digits of the largest; zeros of rounding are zero."""
    return f"{0.0 if abs(value) < 1e-9 * largest else value:.4g}"


# the picture

#: Points, margin and longest arrow of the picture, px.
WIDE, HIGH, MARGIN = 640.0, 360.0, 46.0
SECONDS_PER_LEG = 1.0


def _picture(loop: BracketLoop, body: str) -> tuple[str, str]:
    """SVG of a body's path along a loop, seen from above, and its caption."""
    track = loop.track(body)
    points = track[:, :2]
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    scale = float(min((WIDE - 2 * MARGIN) / extent[0], (HIGH - 2 * MARGIN) / extent[1]))
    scale = min(scale, (WIDE - 2 * MARGIN) / max(float(np.max(extent)), loop.size / 4))
    middle = (low + high) / 2
    height = float(min(HIGH, extent[1] * scale + 2 * MARGIN))

    def at(p: NDArray[np.float64]) -> NDArray[np.float64]:
        x, y = (p - middle) * scale
        return np.array([WIDE / 2 + x, height / 2 - y])

    seen = np.array([at(p) for p in points])
    turns = -np.degrees(np.nan_to_num(track[:, 2]))
    count = len(loop.legs)
    per_leg = (len(seen) - 1) // count
    pieces = [
        f'<svg class="loop" viewBox="0 0 {WIDE:g} {height:.0f}" role="img" '
        f'aria-label="path of {escape(body)} along the loop">',
        _style(seen, turns, count),
    ]
    names = list(dict.fromkeys(name for name, _ in loop.legs))
    for k, (name, _) in enumerate(loop.legs):
        part = seen[k * per_leg : (k + 1) * per_leg + 1]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in part)
        pieces.append(f'<polyline class="leg leg{names.index(name)}" points="{line}"/>')
    has_heading = bool(np.all(np.isfinite(track[:, 2])))
    shape = '<path d="M-13,-8 H7 L16,0 L7,8 H-13 Z"/>' if has_heading else '<circle r="7"/>'
    for word, k in (("start", 0), ("end", -1)):
        x, y = seen[k]
        pieces.append(
            f'<g class="{word}" transform="translate({x:.1f} {y:.1f}) rotate({turns[k]:.2f})">'
            f"{shape}</g>"
        )
    pieces.append(f'<g class="moving">{shape}</g>')
    pieces.append("</svg>")
    caption = (
        f"{body} from above: dashed outline at the start, full at the end. Each of the "
        f"{count} legs is one motion, forward or back."
    )
    return "".join(pieces), caption


def _style(seen: NDArray[np.float64], turns: NDArray[np.float64], legs: int) -> str:
    """Style of the picture, and its motion where the reader has not asked for stillness."""
    frames = []
    every = max(1, (len(seen) - 1) // (8 * legs))
    chosen = [*range(0, len(seen) - 1, every), len(seen) - 1]
    for k in chosen:
        x, y = seen[k]
        frames.append(
            f"{85 * k / (len(seen) - 1):.2f}% "
            f"{{transform:translate({x:.1f}px,{y:.1f}px) rotate({turns[k]:.2f}deg)}}"
        )
    x, y = seen[-1]
    frames.append(f"100% {{transform:translate({x:.1f}px,{y:.1f}px) rotate({turns[-1]:.2f}deg)}}")
    return (
        "<style>.loop{display:block;width:100%;max-width:40rem;height:auto;margin:0.6rem 0}"
        ".loop .leg{fill:none;stroke-width:2;stroke-linecap:round;stroke:#2a78b5}"
        ".loop .leg1{stroke:#c7621c}.loop .leg2{stroke:#2f8f5b}.loop .leg3{stroke:#8a5ab0}"
        ".loop g{fill:currentColor;fill-opacity:.12;stroke:currentColor;stroke-width:1.5}"
        ".loop .start{stroke-dasharray:3 3;fill:none}"
        ".loop .moving{fill-opacity:.5;display:none}"
        "@media (prefers-reduced-motion: no-preference){"
        f".loop .moving{{display:inline;animation:loop {legs * SECONDS_PER_LEG / 0.85:.1f}s linear "
        "infinite}}"
        f"@keyframes loop{{{''.join(frames)}}}</style>"
    )
