"""A derivation as a document: sections of prose, tables, equations and matrices.

It is drafted with traced expressions (`Scalars`, `Matrix`, `Motion`, tables with items), all of
which are written together (`writing.write`), so that a part which is named in one section is known
in the next. `finish` then puts the mathematics in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import casadi as ca
import sympy

from noslip.show.equations.arranger import Arranger
from noslip.show.equations.blocks import (
    Block,
    CellTable,
    EquationLine,
    Lines,
    MatrixBlock,
    Section,
    glyphs_in,
    words,
)
from noslip.show.equations.confirming import Item
from noslip.show.equations.glyphs import Glyph, glyph_of_text
from noslip.show.equations.layout import Fenced, MathGrid, MathNumber, Node, Operator, joined
from noslip.show.equations.notation import symbol
from noslip.show.equations.typeset import to_text
from noslip.show.equations.writing import Written

#: Entries up to this size are written into their matrix; longer ones get a line of their own.
ENTRY_SIZE = 16
#: Letters of all columns of a matrix together, beyond which the longest entries are written below,
#: and columns of a matrix beyond which it is listed row by row anyway.
MATRIX_WIDTH, MOST_COLUMNS = 80, 12
#: Entries up to this size are written into sums over bodies; longer ones by their labels.
FACTOR_SIZE = 8
#: Constraints up to this size have their zero on the right.
SHORT_ROW = 30
#: Rows of motion up to this size are written out; longer ones refer to the matrices above.
ROW_SIZE = 110


@dataclass(frozen=True, slots=True)
class Scalars:
    """Drafted lines: a left side, and an item for the right one; no left side for item = 0."""

    lines: tuple[tuple[Node | None, Item, str], ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of a row of motion: an item, its label in the matrices above, and what it multiplies.

    Parameters
    ----------
    item : the coefficient, or the whole piece.
    label : how it is written if it is long.
    factor : an acceleration, an input, a multiplier; None for nothing.
    sign : −1 to subtract it.
    """

    item: Item
    label: sympy.Expr | None = None
    factor: sympy.Symbol | None = None
    sign: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySum:
    """What a body adds to each entry (i, j) of a product LᵀXR: Σ x (Σ L_ai R_bj).

    Parameters
    ----------
    left, right : L and R, drafted before.
    terms : x, and the places (a, b) of X where it stands, with the sign it has there.
    shift : column of R that belongs to the first one of the product.
    """

    left: Matrix
    right: Matrix
    terms: tuple[tuple[Item, tuple[tuple[int, int, int], ...]], ...]
    shift: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A drafted matrix or column, with a label for each entry.

    Parameters
    ----------
    name : left of the equals sign.
    letter : of the entries; they are called by it and their indices. None for no labels.
    shown, compiled : (m, n) traced, as in `Item`.
    row_names, column_names : what the rows and columns belong to; may be empty.
    is_column : whether its entries have one index.
    is_symmetric : whether entries below the diagonal go by the label of those above.
    taken : names that are in use already.
    sums : what long entries are written as, instead of by their expressions.
    """

    name: Node
    letter: Glyph | None
    shown: ca.SX
    compiled: ca.SX
    row_names: tuple[Node, ...] = ()
    column_names: tuple[Node, ...] = ()
    is_column: bool = False
    is_symmetric: bool = False
    taken: frozenset[str] = frozenset()
    sums: tuple[BodySum, ...] = ()

    def label(self, i: int, j: int = 0) -> Glyph | None:
        """The glyph of an entry; its index is in brackets where it would look like another."""
        if self.letter is None:
            return None
        if self.is_symmetric:
            i, j = min(i, j), max(i, j)
        places = [i + 1] if self.is_column else [i + 1, j + 1]
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
    """Sections with their mathematics in place.

    Parameters
    ----------
    sections : of the document.
    motion : left and right sides of the equations of motion.
    sums : of entries that are written as sums over bodies: their values, and the sums.
    num_parts : number of shared parts on the page.
    """

    sections: list[Section]
    motion: list[tuple[sympy.Expr, sympy.Expr]]
    sums: list[tuple[sympy.Expr, sympy.Expr]]
    num_parts: int


def finished(
    drafted: Sequence[tuple[str, list[Draft]]], written: Written, arrange: Arranger
) -> Finished:
    """Drafted sections with their mathematics in place.

    What stands on the page is known when it is laid out once; entries of matrices that are used
    are then introduced.
    """
    used: frozenset[str] = frozenset()
    for _ in range(2):
        finisher = Finisher(written, arrange, used)
        sections = [
            Section(title, tuple(b for block in blocks for b in finisher.finish(block)))
            for title, blocks in drafted
        ]
        used = frozenset(g.text for s in sections for block in s.blocks for g in glyphs_in(block))
        arrange = _renumbered(written, finisher.introduced, arrange)
    return Finished(sections, finisher.motion, finisher.sums, len(finisher.introduced))


def _renumbered(written: Written, introduced: list[sympy.Symbol], arrange: Arranger) -> Arranger:
    """Shared parts called in the order in which they stand on the page, without gaps."""
    parts = [s for new in written.parts for s, _ in new]
    names = {s: arrange.glyphs.get(s) or glyph_of_text(s.name) for s in parts}
    called = {s: names[other] for s, other in zip(introduced, parts, strict=False)}
    return Arranger({**arrange.glyphs, **called}, arrange.ranks)


class Finisher:
    """Puts written expressions into drafted blocks, and keeps the equations of motion.

    Parameters
    ----------
    written : the expressions, in the order of the blocks.
    arrange : lays them out.
    used : glyphs that stand somewhere on the page, as text; the entries of matrices among them are
        introduced below their matrix.
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
                idle = [note for left, e, note in written if left is None and e == 0]
                if done:
                    before.append(Lines(tuple(done)))
                if idle:
                    before.append(words(f"Satisfied identically: {'; '.join(idle)}."))
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
