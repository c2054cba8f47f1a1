"""A derivation as a document: sections that all formulations share, matrices and rows of motion.

**A derivation as a document: sections of prose, tables, equations and matrices.**

It is drafted with traced expressions (`Scalars`, `Matrix`, `Motion`, tables with items), all of
which are written together (`writing.write`), so that a part which is named in one section is known
in the next. `finish` then puts the mathematics in place.

**Rows of motion combined by a nonsingular matrix where this makes them shorter.**

Row i of M η̇ + h = f less M_ij/M_jj times row j has no η̇_j any more. That is worth printing where
the ratio is short and the row becomes shorter by it, as for the spin of a disk, whose row holds
cos θ times the row of its yaw. What is then common to all terms of the row is divided out if it is
never zero.

**Shared parts of derivations: opening sections, and matrices and rows of motion.**
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import casadi as ca
import sympy

from noslip import Joint, Model
from noslip.kinematics import RowTrace
from noslip.show.equations.layout import (
    Block,
    CellTable,
    EquationLine,
    Fenced,
    Glyph,
    Lines,
    MathGrid,
    MathNumber,
    MatrixBlock,
    Node,
    Operator,
    Paragraph,
    Section,
    glyph_of_text,
    glyphs_in,
    joined,
    to_text,
    words,
)
from noslip.show.equations.subject import Entry, Subject, symbol
from noslip.show.equations.writing import Arranger, Item, Written, with_fewer_parts, write
from noslip.show.headlines import unit_text

#: Entries up to this size are written into their matrix; longer ones get a line of their own.
ENTRY_SIZE = 16
#: Letters of all columns of a matrix together, beyond which the longest entries are written below,
#: and columns of a matrix beyond which it is listed row by row anyway.
MATRIX_WIDTH, MOST_COLUMNS = 80, 12
#: Entries up to this size are written into sums over bodies; longer ones by their labels.
FACTOR_SIZE = 8
#: Constraints up to this size have their zero on the right.
SHORT_ROW = 30
#: Passes in which the names on a page are settled; two or three suffice.
MOST_PASSES = 6
#: Rows of motion up to this size are written out; longer ones refer to the matrices above.
ROW_SIZE = 110


@dataclass(frozen=True, slots=True)
class Scalars:
    """Drafted lines: a left side, and an item for the right one; no left side for item = 0."""

    lines: tuple[tuple[Node | None, Item, str], ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of a row of motion: an item, its label in the matrices above, and its factor."""

    item: Item  #: the coefficient, or the whole piece
    label: sympy.Expr | None = None  #: symbol in place of a long term
    factor: sympy.Symbol | None = None  #: an acceleration, an input, a multiplier; None for nothing
    sign: int = 1  #: −1 to subtract it


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySum:
    """What a body adds to each entry (i, j) of a product LᵀXR: Σ x (Σ L_ai R_bj)."""

    #: left, right: L and R, drafted before
    left: Matrix
    right: Matrix
    #: x, and the places (a, b) of X where it stands, with the sign it has there
    terms: tuple[tuple[Item, tuple[tuple[int, int, int], ...]], ...]
    shift: int = 0  #: column of R that belongs to the first one of the product


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A drafted matrix or column, with a label for each entry."""

    name: Node  #: left-hand side
    #: letter of the entries; they are called by it and their indices. None for no labels.
    letter: Glyph | None
    #: shown, compiled: (m, n) traced, as in `Item`
    shown: ca.SX
    compiled: ca.SX
    #: row_names, column_names: owners of rows and columns; may be empty
    row_names: tuple[Node, ...] = ()
    column_names: tuple[Node, ...] = ()
    is_column: bool = False  #: whether its entries have one index
    is_symmetric: bool = False  #: whether entries below the diagonal go by the label of those above
    taken: frozenset[str] = frozenset()  #: names that are in use already
    sums: tuple[BodySum, ...] = ()  #: symbols of long entries, instead of their expressions
    row_places: tuple[int, ...] = ()  #: indices of the rows in the labels; 1, 2, … by default

    def label(self, i: int, j: int = 0) -> Glyph | None:
        """The glyph of an entry; its index is in brackets where it would look like another."""
        if self.letter is None:
            return None
        if self.is_symmetric:
            i, j = min(i, j), max(i, j)
        row = self.row_places[i] if self.row_places else i + 1
        places = [row] if self.is_column else [row, j + 1]
        index = ("," if max(self.shown.shape) > 9 else "").join(map(str, places))
        parts = [self.letter.index, index] if self.letter.index else [index]
        glyph = replace(self.letter, index=",".join(parts))
        if glyph.text in self.taken:
            glyph = replace(self.letter, index=",".join([*parts[:-1], f"({index})"]))
        return glyph

    def items(self) -> list[Item]:
        """All entries, row by row, then the coefficients of the sums."""
        m, n = self.shown.shape
        entries = [self._item(i, j) for i in range(m) for j in range(n)]
        return [*entries, *(item for part in self.sums for item, _ in part.terms)]

    def _item(self, i: int, j: int) -> Item:
        glyph = None if self.is_symmetric and i > j else self.label(i, j)
        label = None if glyph is None else symbol(glyph)
        return Item(self.shown[i, j], self.compiled[i, j], label)

    def term(self, i: int, j: int = 0, factor: sympy.Symbol | None = None, sign: int = 1) -> Term:
        """An entry as a piece of a row of motion."""
        item = Item(self.shown[i, j], self.compiled[i, j], is_motion=True)
        glyph = self.label(i, j)
        return Term(item, None if glyph is None else symbol(glyph), factor, sign)


@dataclass(frozen=True, slots=True)
class ItemTable:
    """A drafted table; a cell with several items is a tuple (a, b, c)."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Node | tuple[Item, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Motion:
    """Drafted equations of motion: terms on the left and on the right, and a note, for each row."""

    rows: tuple[tuple[tuple[Term, ...], tuple[Term, ...], str], ...]


@dataclass(frozen=True, slots=True)
class Composed:
    """Drafted lines whose right sides are written as given: a left side, its value, terms, a note.

    A term is a sign, factors and divisors, which are items, or symbols that are known on the page.
    """

    lines: tuple[tuple[Node, Item, tuple[ProductTerm, ...], str], ...]


Factor: TypeAlias = "Item | sympy.Symbol"
ProductTerm: TypeAlias = tuple[int, tuple[Factor, ...], tuple[Factor, ...]]
Draft = Block | Scalars | Matrix | ItemTable | Motion | Composed


def items_of(block: Draft) -> list[Item]:
    """All items of a drafted block, in the order in which they are shown."""
    match block:
        case Scalars(lines):
            return [item for _, item, _ in lines]
        case Matrix():
            return block.items()
        case ItemTable(_, rows):
            return [i for r in rows for cell in r if isinstance(cell, tuple) for i in cell]
        case Motion(rows):
            return [t.item for left, right, _ in rows for t in (*left, *right)]
        case Composed(composed):
            return [item for _, value, terms, _ in composed for item in (value, *_factors(terms))]
    return []


def _factors(terms: tuple[ProductTerm, ...]) -> list[Item]:
    """The items among the factors and divisors, in their order."""
    return [x for _, above, below in terms for x in (*above, *below) if isinstance(x, Item)]


class Finished(NamedTuple):
    """Sections with their mathematics in place."""

    sections: list[Section]  #: sections of the document
    motion: list[tuple[sympy.Expr, sympy.Expr]]  #: both sides of the equations of motion
    #: sums of entries that are written as sums over bodies: their values, and the sums
    sums: list[tuple[sympy.Expr, sympy.Expr]]
    parts: list[sympy.Symbol]  #: shared parts on the page
    written: Written  #: expressions and parts of the page, see `write`


def with_few_parts(found: Finished, drafted: Sequence[Drafted], arrange: Arranger) -> Finished:
    """The same with parts that are hardly used, or too many, written where they are used."""
    fewer = with_fewer_parts(found.written, found.parts)
    return found if fewer.parts == found.written.parts else finished(drafted, fewer, arrange)


def finished(
    drafted: Sequence[tuple[str, list[Draft]]], written: Written, arrange: Arranger
) -> Finished:
    """Drafted sections with their mathematics in place.

    What stands on the page is known when it is laid out once; entries of matrices that are used
    are then introduced, which changes what is shown, and where, until nothing changes any more.
    """
    used: frozenset[str] = frozenset()
    introduced: list[sympy.Symbol] = []
    for _ in range(MOST_PASSES):
        finisher = Finisher(written, arrange, used)
        sections = [
            Section(title, tuple(b for block in blocks for b in finisher.finish(block)))
            for title, blocks in drafted
        ]
        shown = frozenset(g.text for s in sections for block in s.blocks for g in glyphs_in(block))
        if (shown, finisher.introduced) == (used, introduced):
            break
        used, introduced = shown, finisher.introduced
        arrange = _renumbered(written, introduced, arrange)
    return Finished(sections, finisher.motion, finisher.sums, introduced, written)


def _renumbered(written: Written, introduced: list[sympy.Symbol], arrange: Arranger) -> Arranger:
    """Shared parts called in the order in which they stand on the page, without gaps."""
    parts = [s for new in written.parts for s, _ in new]
    known = set(introduced)
    # those that are not shown come last, so that no two are called alike
    ordered = [*introduced, *(s for s in parts if s not in known)]
    called = {s: glyph_of_text(other.name) for s, other in zip(ordered, parts, strict=True)}
    return Arranger({**arrange.glyphs, **called}, arrange.ranks, arrange.in_decimals)


class Finisher:
    """Puts written expressions into drafted blocks, and keeps the equations of motion.

    `written`: the expressions, in the order of the blocks. `used`: glyphs that stand somewhere on
    the page, as text; the entries of matrices among them are introduced below their matrix.
    """

    def __init__(
        self, written: Written, arrange: Arranger, used: frozenset[str] = frozenset()
    ) -> None:
        self.written = written
        self.arrange = arrange
        self.used = used
        self.motion: list[tuple[sympy.Expr, sympy.Expr]] = []
        self.sums: list[tuple[sympy.Expr, sympy.Expr]] = []
        self._zeros: dict[sympy.Symbol, sympy.Expr] = {}
        #: Shared parts in the order in which they stand on the page.
        self.introduced: list[sympy.Symbol] = []
        #: Shared parts that nothing on the page so far has needed.
        self._waiting: dict[sympy.Symbol, sympy.Expr] = {}
        #: Name of a matrix, as text → place → how the entry is written elsewhere.
        self._entries: dict[str, dict[tuple[int, int], sympy.Expr]] = {}
        self._next = iter(zip(written.expressions, written.parts, strict=True))

    def finish(self, block: Draft) -> list[Block]:
        """The block, after the parts that it is the first to need."""
        taken = [next(self._next) for _ in items_of(block)]
        expressions = iter([e for e, _ in taken])
        self._waiting |= {s: e for _, new in taken for s, e in new}
        done = self._finish(block, expressions)
        parts = self._needed(done)
        if not parts:
            return done
        lines = tuple(EquationLine(self.arrange(s), self.arrange(e)) for s, e in parts)
        return [words("with"), Lines(lines), *done]

    def _needed(self, blocks: list[Block]) -> list[tuple[sympy.Symbol, sympy.Expr]]:
        """Shared parts that stand in these blocks for the first time, in their order."""
        shown = {g.text for block in blocks for g in glyphs_in(block)}
        found: set[sympy.Symbol] = set()
        for s in reversed(self._waiting):
            needs = any(s in self._waiting[k].free_symbols for k in found)
            if needs or any(g.text in shown for g in glyphs_in(Lines((self._named(s),)))):
                found.add(s)
        self.introduced += [s for s in self._waiting if s in found]
        return [(s, self._waiting.pop(s)) for s in list(self._waiting) if s in found]

    def _named(self, part: sympy.Symbol) -> EquationLine:
        node = self.arrange(part)
        return EquationLine(node, node)

    def _finish(self, block: Draft, expressions: Iterator[sympy.Expr]) -> list[Block]:
        """The block alone."""
        before: list[Block] = []
        match block:
            case Scalars(lines):
                written = [(left, next(expressions), note) for left, _, note in lines]
                # a row that says 0 = 0 says nothing
                done = [self._line(*x) for x in written if x[0] is not None or x[1] != 0]
                idle = [
                    note.partition(",")[0] for left, e, note in written if left is None and e == 0
                ]
                if done:
                    before.append(Lines(tuple(done)))
                if idle:
                    before.append(words(f"Satisfied identically: {', '.join(idle)}."))
                return before
            case Matrix():
                return before + self._matrix(block, expressions)
            case ItemTable(header, rows):
                return [*before, self._table(header, rows, expressions)]
            case Motion(rows):
                return [*before, self._motion(rows, expressions)]
            case Composed(composed):
                return [*before, Lines(tuple(self._composed(x, expressions) for x in composed))]
        return [block]

    def _composed(
        self,
        line: tuple[Node, Item, tuple[ProductTerm, ...], str],
        expressions: Iterator[sympy.Expr],
    ) -> EquationLine:
        left, _, terms, note = line
        value, written = next(expressions), []
        for sign, above, below in terms:
            top, bottom = (
                sympy.Mul(*[next(expressions) if isinstance(x, Item) else x for x in factors])
                for factors in (above, below)
            )
            if top != 0:
                written.append(sign * top / bottom)
        self.sums.append((value, sympy.Add(*written)))
        right = self.arrange.sum_of(written, keep=True) if written else MathNumber("0")
        return EquationLine(left, right, note)

    def _line(self, left: Node | None, expression: sympy.Expr, note: str) -> EquationLine:
        arranged, zero = self.arrange(expression), MathNumber("0")
        if left is not None:
            return EquationLine(left, arranged, note)
        is_short = measure(expression) <= SHORT_ROW
        return (
            EquationLine(arranged, zero, note) if is_short else EquationLine(zero, arranged, note)
        )

    def _matrix(self, block: Matrix, expressions: Iterator[sympy.Expr]) -> list[Block]:
        m, n = block.shown.shape
        nodes: dict[tuple[int, int], Node] = {}
        values: dict[tuple[int, int], sympy.Expr] = {}
        labeled: set[tuple[int, int]] = set()
        for i in range(m):
            for j in range(n):
                expression = next(expressions)
                values[i, j] = expression
                if block.is_symmetric and i > j:
                    continue
                nodes[i, j] = self.arrange(expression)
                is_long = measure(expression) > ENTRY_SIZE or expression.is_Dummy
                label = block.label(i, j)
                if label is not None and expression == 0:
                    self._zeros[symbol(label)] = expression
                is_used = label is not None and label.text in self.used and expression != 0
                if (is_long or is_used) and block.letter is not None:
                    labeled.add((i, j))
        if all(node == MathNumber("0") for node in nodes.values()):
            self._entries[to_text(block.name)] = values
            return [Lines((EquationLine(block.name, MathNumber("0")),))]

        def cell(i: int, j: int) -> Node:
            place = (j, i) if block.is_symmetric and i > j else (i, j)
            label = block.label(*place) if place in labeled else None
            return nodes[place] if label is None else label

        if block.letter is not None and n <= MOST_COLUMNS:
            labeled |= _too_wide(block, nodes, cell, labeled)
        written = dict(values)
        for place, value in values.items():
            label = block.label(*place)
            is_short = place not in labeled and measure(value) <= FACTOR_SIZE
            values[place] = value if label is None or is_short else symbol(label)
        self._entries[to_text(block.name)] = values
        coefficients = [[next(expressions) for _ in part.terms] for part in block.sums]
        for place in labeled if block.sums else ():
            terms = self._sum(block.sums, coefficients, place)
            self.sums.append((written[place], sympy.Add(*terms)))
            nodes[place] = self.arrange.sum_of(terms, keep=True) if terms else MathNumber("0")
        grid = tuple(tuple(cell(i, j) for j in range(n)) for i in range(m))
        whole = MatrixBlock(block.name, MathGrid(grid), block.row_names, block.column_names)
        long = [EquationLine(cell(*place), nodes[place]) for place in sorted(labeled)]
        return [whole, Lines(tuple(long))] if long else [whole]

    def _sum(
        self,
        sums: tuple[BodySum, ...],
        coefficients: list[list[sympy.Expr]],
        place: tuple[int, int],
    ) -> list[sympy.Expr]:
        """Terms of an entry, body by body."""
        i, j = place
        terms: list[sympy.Expr] = []
        for part, factors in zip(sums, coefficients, strict=True):
            left, right = (self._entries[to_text(m.name)] for m in (part.left, part.right))
            for factor, (_, places) in zip(factors, part.terms, strict=True):
                products = [sign * left[a, i] * right[b, j + part.shift] for a, b, sign in places]
                whole = factor * sympy.Add(*products)
                terms += [whole] if whole != 0 else []
        return terms

    def _table(
        self,
        header: tuple[str, ...],
        rows: tuple[tuple[str | Node | tuple[Item, ...], ...], ...],
        expressions: Iterator[sympy.Expr],
    ) -> CellTable:
        done = []
        for row in rows:
            cells: list[str | Node] = []
            for cell in row:
                if isinstance(cell, tuple):
                    entries = [self.arrange(next(expressions)) for _ in cell]
                    several = len(entries) > 1
                    cells.append(Fenced(joined(entries, Operator(","))) if several else entries[0])
                else:
                    cells.append(cell)
            done.append(tuple(cells))
        return CellTable(header, tuple(done))

    def _motion(
        self,
        rows: tuple[tuple[tuple[Term, ...], tuple[Term, ...], str], ...],
        expressions: Iterator[sympy.Expr],
    ) -> Lines:
        lines = []
        for left, right, note in rows:
            sides = [[(t, next(expressions)) for t in side] for side in (left, right)]
            whole = sum(measure(e) for side in sides for _, e in side)
            is_short = whole <= ROW_SIZE and not self._has_parts(e for s in sides for _, e in s)
            written = [self._side(side, is_short) for side in sides]
            arranged = [
                self.arrange.sum_of(terms, keep=True) if terms else MathNumber("0")
                for terms in written
            ]
            self.motion.append((sympy.Add(*written[0]), sympy.Add(*written[1])))
            if not any(written):
                continue
            lines.append(EquationLine(arranged[0], arranged[1], note))
        return Lines(tuple(lines))

    def _has_parts(self, expressions: Iterator[sympy.Expr] | Sequence[sympy.Expr]) -> bool:
        known = {s for new in self.written.parts for s, _ in new}
        return any(e.free_symbols & known for e in expressions)

    def _side(self, side: list[tuple[Term, sympy.Expr]], is_short: bool) -> list[sympy.Expr]:
        terms: list[sympy.Expr] = []
        for term, expression in side:
            is_long = measure(expression) > ENTRY_SIZE or self._has_parts([expression])
            is_long = expression.is_Dummy or (not is_short and is_long)
            coefficient = expression
            if is_long and term.label is not None:
                coefficient = term.label.xreplace(self._zeros)
            if expression == 0:
                continue
            whole = term.sign * coefficient * (1 if term.factor is None else term.factor)
            terms += whole.args if whole.is_Add and term.factor is None else [whole]
        return terms


def _too_wide(
    block: Matrix,
    nodes: dict[tuple[int, int], Node],
    cell: Callable[[int, int], Node],
    labeled: set[tuple[int, int]],
) -> set[tuple[int, int]]:
    """Entries to write by their labels so that the matrix fits a line; the longest ones first."""
    m, n = block.shown.shape
    widths = [[len(to_text(cell(i, j))) for j in range(n)] for i in range(m)]
    room = MATRIX_WIDTH - 2 * n
    found: set[tuple[int, int]] = set()
    while sum(map(max, zip(*widths, strict=True))) > room:
        open_ = [p for p in nodes if p not in labeled and p not in found]
        i, j = max(open_, key=lambda p: (widths[p[0]][p[1]], p), default=(0, 0))
        label = block.label(i, j)
        if not open_ or label is None or widths[i][j] <= len(label.text):
            break
        found.add((i, j))
        widths[i][j] = len(label.text)
        if block.is_symmetric:
            widths[j][i] = len(label.text)
    return found


def measure(expression: sympy.Expr) -> int:
    """Number of nodes in the tree of an expression."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


#: Rows that are tried; of more the printed equations are long anyway.
MOST_ROWS = 4
#: Nodes in a ratio of entries, and in all rows, beyond which nothing is tried.
LONGEST_RATIO, LONGEST_ROWS = 8, 600
#: Time limit of each trial, s.
SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """A printed row as a sum of rows: Σ factor · row, over a divisor."""

    weights: ca.SX  #: (1, nf) traced, of all rows
    less: tuple[int, sympy.Expr] | None = None  #: the row that is subtracted and its factor
    divisor: sympy.Expr = sympy.Integer(1)  #: common to all terms

    @property
    def is_plain(self) -> bool:
        """Whether it is the row itself."""
        return self.less is None and self.divisor == 1


def combinations(subject: Subject, mass: ca.SX, rest: ca.SX) -> list[Combination]:
    """Combination of rows of mass · η̇ + rest that is printed for each row."""
    num = mass.shape[0]
    unit = ca.SX.eye(num)
    plain = [Combination(ca.densify(unit[i, :])) for i in range(num)]
    # stepwise pages write long rows by the labels of their entries
    if not 1 < num <= MOST_ROWS or subject.is_stepwise:
        return plain
    rows = ca.horzcat(mass, rest)
    written = [_written(subject, rows[i, :]) for i in range(num)]
    if any(row is None for row in written):
        return plain
    known = [row for row in written if row is not None]
    lengths = [sum(measure(e) for e in row) for row in known]
    if sum(lengths) > LONGEST_ROWS:
        return plain
    done = list(plain)
    used: set[int] = set()
    moving = {symbol(e.glyph) for e in subject.notation.coordinates}
    for i in range(num):
        for j in range(num):
            if i == j or i in used or not done[j].is_plain:
                continue
            ratio = _ratio(known[i][j], known[j][j])
            # a number would only hide which force drives which speed
            if ratio is None or not ratio.free_symbols & moving:
                continue
            weights = ca.densify(unit[i, :] - _traced(subject, ratio) * unit[j, :])
            terms = _written(subject, ca.mtimes(weights, rows))
            if terms is None or sum(measure(e) for e in terms) >= lengths[i]:
                continue
            divisor = _common(subject, terms)
            done[i] = Combination(weights / _traced(subject, divisor), (j, ratio), divisor)
            used |= {i, j}
            break
    return done


def explained(subject: Subject, rows: list[Combination]) -> list[Paragraph]:
    """Explain how the rows were combined."""
    if all(row.is_plain for row in rows):
        return []
    names = subject.notation.independent_speeds
    parts: list[str | Node] = []
    for i, row in enumerate(rows):
        if row.less is None:
            continue
        j, ratio = row.less
        factor: list[str | Node] = [] if ratio == 1 else [subject.arrange(ratio), " times "]
        over: list[str | Node] = (
            [] if row.divisor == 1 else [", divided by ", subject.arrange(row.divisor)]
        )
        parts += [
            "; that of " if parts else "The row of ",
            names[i].glyph,
            " is printed less ",
            *factor,
            "that of ",
            names[j].glyph,
            *over,
        ]
    return [words(*parts, ", which is shorter and has the same solutions.")]


def _written(subject: Subject, row: ca.SX) -> list[sympy.Expr] | None:
    """The terms of a row in closed form; None if they have parts."""
    entries = [row[k] for k in range(row.shape[1])]
    found = write([Item(e, e) for e in entries], subject.alphabet, seconds=SECONDS)
    if found.is_late or any(found.parts) or any(e.is_Dummy for e in found.expressions):
        return None
    return found.expressions


def _ratio(entry: sympy.Expr, diagonal: sympy.Expr) -> sympy.Expr | None:
    """entry/diagonal, if it is short and has no denominator."""
    if entry == 0 or diagonal == 0 or measure(entry) + measure(diagonal) > 60:
        return None
    ratio = sympy.cancel(entry / diagonal)
    _, bottom = sympy.fraction(ratio)
    is_short = measure(ratio) <= LONGEST_RATIO and not bottom.free_symbols
    return ratio if is_short and not ratio.is_Add else None


def _common(subject: Subject, terms: list[sympy.Expr]) -> sympy.Expr:
    """Common nonzero factor of all terms: masses, inertias, and sines and cosines of angles.

    Those are the second ones of a sequence, where they are positive. A length may be zero.
    """
    alphabet = subject.alphabet
    kinds = {"sine": sympy.sin, "cosine": sympy.cos}
    allowed = {kinds[kind](alphabet.symbols[k]) for kind, k in alphabet.positive}
    allowed |= {alphabet.symbols[k] for k in alphabet.leading}
    found: dict[sympy.Expr, int] | None = None
    for term in terms:
        if term == 0:
            continue
        powers = {b: int(e) for b, e in term.as_powers_dict().items() if e.is_Integer and e > 0}
        if found is None:
            found = {b: e for b, e in powers.items() if b in allowed}
        else:
            found = {b: min(e, powers[b]) for b, e in found.items() if b in powers}
    return sympy.Mul(*[b**e for b, e in (found or {}).items()])


def _traced(subject: Subject, expression: sympy.Expr) -> ca.SX:
    """An expression of the alphabet's symbols as a traced one."""
    values = ca.vertsplit(ca.vertcat(*subject.alphabet.columns))
    known = dict(zip(reversed(subject.alphabet.symbols), reversed(values), strict=True))
    used = sorted(expression.free_symbols, key=str)
    function = sympy.lambdify(used, expression, modules=[{"sin": ca.sin, "cos": ca.cos}])
    return ca.SX(function(*[known[s] for s in used]))


Drafted = tuple[str, list[Draft]]


def glyphs(entries: list[Entry]) -> tuple[Node, ...]:
    """Symbols of legend entries."""
    return tuple(e.glyph for e in entries)


def rates(entries: list[Entry]) -> tuple[Node, ...]:
    """Symbols of the rates of legend entries."""
    return tuple(e.glyph.rate for e in entries)


def mechanism(subject: Subject) -> Drafted:
    """Frames and bodies: parent, joint, and inertia of each."""
    kin = subject.kin
    rows = []
    for _, node, joint in subject.bodies:
        inertia = [node.inertia_D[k, k] for k in range(3)]
        products = [node.inertia_D[0, 1], node.inertia_D[0, 2], node.inertia_D[1, 2]]
        if any(not p.is_zero() for p in products):
            inertia += products
        rows.append(
            (
                node.body.name,
                f"{_joint_words(joint)} on '{joint.parent}'",
                _items([node.mass]),
                _items([node.center_D[k] for k in range(3)]),
                _items(inertia),
            )
        )
    blocks: list[Draft] = [
        words(
            "The axes of the world are x, y and z. Each body has axes of its own, in which its "
            "mass center and its inertia about the mass center are given: Ixx, Iyy, Izz, then Ixy, "
            "Ixz, Iyz where the body has them."
        ),
        ItemTable(("body", "carried by", "mass", "mass center", "inertia"), tuple(rows)),
    ]
    if kin.tree.loops:
        closing = ", ".join(f"'{j.name}' ({_joint_words(j)})" for j in kin.tree.loops)
        blocks.append(words(f"Loops are closed by {closing}."))
    return "Frames and bodies", blocks


def _joint_words(joint: Joint) -> str:
    return f"{joint.type.text()} '{joint.name}'"


def _items(expressions: list[ca.SX]) -> tuple[Item, ...]:
    return tuple(Item(e, e) for e in expressions)


SYMBOLS = "Symbols"


def symbols(subject: Subject) -> Drafted:
    """The legend: symbol, full name, unit, meaning."""
    rows = tuple(
        (e.glyph, e.name, unit_text(e.unit) or e.unit, e.meaning) for e in subject.notation.legend
    )
    return SYMBOLS, [CellTable(("symbol", "name", "unit", "meaning"), rows)]


def with_used_symbols(subject: Subject, sections: list[Section]) -> list[Section]:
    """The document with those symbols in its legend that are written somewhere else."""
    used = {g for s in sections if s.title != SYMBOLS for b in s.blocks for g in glyphs_in(b)}
    bare = {replace(g, dots=0) for g in used}
    said: list[str | Node] = ["A dot is a time derivative."]
    hatted = sorted({g.base.strip("(").split(" ")[0] for g in used if g.is_hatted})
    if hatted:
        letters: list[Node] = [Glyph(base, is_hatted=True) for base in hatted]
        said += [
            " A hat marks letters of the method that the model uses for something else: ",
            joined(letters, Operator(",")),
            ".",
        ]
    rows = tuple(
        (e.glyph, e.name, unit_text(e.unit) or e.unit, e.meaning)
        for e in subject.notation.legend
        if e.glyph in used or e.glyph.rate in used or (not e.glyph.dots and e.glyph in bare)
    )
    table = CellTable(("symbol", "name", "unit", "meaning"), rows)
    legend = Section(SYMBOLS, (words(*said), table))
    return [legend if s.title == SYMBOLS else s for s in sections]


def kinematics(subject: Subject) -> Drafted:
    """Rates of the coordinates, where they are not speeds themselves."""
    kin, notation = subject.kin, subject.notation
    at_motion = ca.mtimes(kin.N, kin.v)
    lines = []
    for k, entry in enumerate(notation.coordinates):
        rate = ca.mtimes(kin.N[k, :], subject.v)
        if entry.glyph.rate in [s.glyph for s in notation.speeds]:
            continue
        item = Item(rate, at_motion[k], symbol(entry.glyph.rate))
        lines.append((entry.glyph.rate, item, subject.note(f"{entry.name}_rate")))
    if not lines:
        return "Kinematics", [words("Each coordinate's rate is a speed.")]
    blocks: list[Draft] = [words(subject.formula("q̇ = N v"), " reads, where it is not trivial,")]
    blocks.append(Scalars(tuple(lines)))
    if kin.probe.quaternions:
        blocks.append(words("Quaternions have length one, which is used in what follows."))
    return "Kinematics", blocks


def constraints(subject: Subject) -> Drafted:
    """Each row as an equation."""
    kin = subject.kin
    if not kin.rows:
        return "Constraints", [words("None: every speed is free.")]
    redundant = {r.row: r.follows_from for r in kin.redundant}
    lines, positions = [], []
    for k, row in enumerate(kin.rows):
        note = subject.note(row.name, f"{row.name}, {row.origin}")
        if k in redundant:
            others = ", ".join(redundant[k])
            note += f"; follows from {others}" if others else "; satisfied identically"
        compiled = ca.mtimes(kin.A[k, :], kin.symbols.v) + kin.a[k]
        item = Item(subject.at_v(row.velocity), compiled, is_free=True)
        lines.append((None, item, note))
        if row.position is not None:
            positions.append((None, Item(row.position, row.position), _position_note(row)))
    blocks: list[Draft] = [
        *_as_written(kin.model),
        words(subject.formula("A v = 0" if kin.a.is_zero() else "A v + a = 0"), ", row by row:"),
        Scalars(tuple(lines)),
    ]
    if positions:
        said = "The holonomic ones are the rates of these positions:"
        blocks += [words(said), Scalars(tuple(positions))]
    return "Constraints", blocks


def _as_written(model: Model) -> list[Draft]:
    """Definitions of the model and the rows that use them, in its own words."""
    if not model.definitions:
        return []
    rows = [(d.name, d.expression, d.unit) for d in model.definitions]
    rows += [(r.name, f"{r.expression} = 0", r.unit) for r in model.rows]
    return [
        words("The model defines, and writes its rows with that:"),
        CellTable(("name", "expression", "unit"), tuple(rows)),
    ]


def _position_note(row: RowTrace) -> str:
    return f"{row.name}, position"


def admissible_speeds(subject: Subject, letter: Glyph) -> Drafted:
    """v = S η + s, and the dependent speeds one by one."""
    kin, notation = subject.kin, subject.notation
    own = [s.name for s in kin.speeds]
    defined = [
        (e.glyph, Item(subject.at_v(ca.mtimes(kin.E[j, :], kin.symbols.v)), kin.eta[j]), "")
        for j, e in enumerate(notation.independent_speeds)
        if e.name not in own
    ]
    blocks: list[Draft] = [
        words(
            f"The constraints leave {kin.num_independent_speeds} of {kin.num_speeds} speeds free: ",
            subject.letter("η"),
            " = ",
            _tuple(glyphs(notation.independent_speeds)),
            ".",
        )
    ]
    if defined:
        blocks += [words("By definition"), Scalars(tuple(defined))]
    if kin.num_independent_speeds and kin.row_basis:
        S = ca.densify(kin.S)
        blocks.append(words("All admissible speeds are"))
        rows = glyphs(notation.speeds)
        taken = notation.taken
        blocks.append(
            Matrix(name=letter, letter=letter, shown=S, compiled=S, row_names=rows, taken=taken)
        )
    dependent = [
        (e.glyph, Item(kin.v[k], kin.v[k], symbol(e.glyph)), subject.note(e.name, of_speeds=True))
        for k, e in enumerate(notation.speeds)
        if k not in subject.independent
    ]
    if dependent:
        blocks += [words("so that the dependent speeds are"), Scalars(tuple(dependent))]
    return "Admissible speeds", blocks


def _tuple(entries: tuple[Node, ...]) -> Node:
    return Fenced(joined(list(entries), Operator(",")))


def constraint_forces(subject: Subject) -> Drafted | None:
    """λ of the independent rows, in the accelerations."""
    kin, notation = subject.kin, subject.notation
    if not kin.row_basis:
        return None
    lines = [
        (
            e.glyph,
            Item(subject.multipliers[k], compiled_multiplier(subject, k)),
            subject.note(f"reaction.{e.name}", e.name),
        )
        for k, e in enumerate(notation.multipliers)
    ]
    blocks: list[Draft] = [
        words("The constraint forces, one for each row, in terms of the accelerations:"),
        Scalars(tuple(lines)),
    ]
    if kin.redundant:
        names = ", ".join(f"'{kin.rows[r.row].name}'" for r in kin.redundant)
        blocks.append(words(f"Rows that follow from others ({names}) are included in those."))
    return "Constraint forces", blocks


def force_states(subject: Subject) -> Drafted | None:
    """ż of the states that forces have of their own."""
    rates = subject.equations.forces.state_rates
    lines = [
        (e.glyph.rate, Item(rates[k], rates[k]), subject.note(e.name))
        for k, e in enumerate(subject.notation.force_states)
    ]
    if not lines:
        return None
    return "States of forces", [words("Forces have states that follow"), Scalars(tuple(lines))]


def compiled_multiplier(subject: Subject, k: int) -> ca.SX:
    """λ as compiled; with redundant rows only their share of the reactions is, so λ itself."""
    kin, equations = subject.kin, subject.equations
    if equations.costates.shape[0]:
        return -equations.costate_rates[k]
    if kin.redundant:
        return subject.lam[k]
    return equations.multipliers[kin.row_basis[k]]


def matrix(
    subject: Subject,
    letter: Glyph,
    shown: ca.SX,
    compiled: ca.SX,
    rows: tuple[Node, ...] = (),
    *,
    name: Node | None = None,
    is_symmetric: bool = False,
) -> Matrix:
    """A matrix under a letter, whose entries are called by it."""
    return Matrix(
        name=name or letter,
        letter=letter,
        shown=ca.densify(shown),
        compiled=ca.densify(compiled),
        row_names=rows,
        is_symmetric=is_symmetric,
        taken=subject.notation.taken,
    )


def column(
    subject: Subject,
    letter: Glyph | None,
    shown: ca.SX,
    compiled: ca.SX,
    rows: tuple[Node, ...] = (),
    *,
    name: Node | None = None,
) -> Matrix:
    """A column under a letter, or under a name and without labels."""
    left = name or letter
    assert left is not None, "a column has a letter or a name"
    return Matrix(
        name=left,
        letter=letter,
        shown=ca.densify(shown),
        compiled=ca.densify(compiled),
        row_names=rows,
        is_column=True,
        taken=subject.notation.taken,
    )


def reduced_mass(subject: Subject, letter: Glyph, name: Node | None = None) -> Matrix:
    """The reduced mass matrix under a formulation's letter."""
    eta = glyphs(subject.notation.independent_speeds)
    shown, compiled = subject.simplest.reduced_mass, subject.equations.reduced_mass
    return matrix(subject, letter, shown, compiled, eta, name=name, is_symmetric=True)


def reduced_motion(
    subject: Subject, mass: Matrix, bias: list[Term], forces: list[Matrix]
) -> Drafted:
    """Rows M η̇ + h = f in the independent speeds."""
    entries = subject.notation.independent_speeds
    printed = combinations(subject, mass.shown, _whole(bias, forces))
    rows = []
    for i, (entry, row) in enumerate(zip(entries, printed, strict=True)):
        rates = [symbol(e.glyph.rate) for e in entries]
        if row.is_plain:
            left = [mass.term(i, j, rate) for j, rate in enumerate(rates)]
            right = [force.term(i) for force in forces]
            rows.append(
                (
                    (*left, bias[i]),
                    tuple(right),
                    subject.note(entry.name, entry.name, of_speeds=True),
                )
            )
            continue
        left = [
            Term(_combined(row.weights, mass.shown[:, j], mass.compiled[:, j]), factor=rate)
            for j, rate in enumerate(rates)
        ]
        left.append(Term(_combined(row.weights, *_columns(bias))))
        right = [Term(_combined(row.weights, force.shown, force.compiled)) for force in forces]
        rows.append(
            (tuple(left), tuple(right), subject.note(entry.name, entry.name, of_speeds=True))
        )
    return "Equations of motion", [*motion_rows(rows), *explained(subject, printed)]


def _columns(terms: list[Term]) -> tuple[ca.SX, ca.SX]:
    """Terms below each other, as they are shown and as they are compiled."""
    return (
        ca.vertcat(*[t.sign * t.item.shown for t in terms]),
        ca.vertcat(*[t.sign * t.item.compiled for t in terms]),
    )


def _whole(bias: list[Term], forces: list[Matrix]) -> ca.SX:
    """h − f of all rows."""
    if not bias:
        return ca.SX(0, 1)
    whole, _ = _columns(bias)
    for force in forces:
        whole = whole - force.shown
    return whole


def _combined(weights: ca.SX, shown: ca.SX, compiled: ca.SX) -> Item:
    """A weighted sum of entries, which stands in the equations of motion."""
    return Item(ca.mtimes(weights, shown), ca.mtimes(weights, compiled), is_motion=True)


def motion_rows(
    rows: list[tuple[tuple[Term, ...], tuple[Term, ...], str]],
) -> list[Draft]:
    """Rows of equations, or words where nothing is left to solve for."""
    if not rows:
        return [words("No degree of freedom is left, so there is nothing to solve for.")]
    return [Motion(tuple(rows))]


def general(subject: Subject) -> list[Drafted]:
    """M η̇ + h = f, with M, h and f as the formulation fills them."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    formulation = subject.equations.formulation
    f = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    mass = reduced_mass(subject, subject.letter("M"))
    bias = column(subject, subject.letter("h"), routes[0].reduced_bias, routes[1].reduced_bias)
    forces = column(subject, subject.letter("f"), f[0], f[1])
    blocks: list[Draft] = [
        *(_paragraph(subject, text) for text in formulation.prose),
        words("In the independent speeds ", subject.formula("M η̇ + h = f"), " with"),
        *(mass, bias, forces),
    ]
    rows = [bias.term(i) for i in range(kin.num_independent_speeds)]
    title = formulation.name[:1].upper() + formulation.name[1:]
    return [(title, blocks), reduced_motion(subject, mass, rows, [forces])]


def _paragraph(subject: Subject, text: str) -> Paragraph:
    """Words with formulas between dollar signs."""
    return words(*(subject.formula(t) if k % 2 else t for k, t in enumerate(text.split("$")) if t))
