"""Fields, brackets and integrals of small models as formulas.

Generators of the admissible motions are traced; what SymPy makes of them is tidied, and brackets
are taken once more, by SymPy from those formulas. Every formula is compared with the traced field
at the random configurations of the chart: none is shown that is not also what was computed.

Where brackets reach all n dimensions of as many coordinates, the determinant of their basis is a
function of the configuration,

    (1)  det [X₁ … Xₙ] = 0

where this basis does not suffice: the singular configurations are among its zeros. The same holds
of other statements that rest on a square matrix of full rank (:func:`limit_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy as sp
from sympy.integrals.manualintegrate import manualintegrate

from noslip.base import Array, CompileError
from noslip.engines import to_sympy, trace_program
from noslip.geometry.fields import Field, FieldChart

#: Operations of a column before it is tidied, and of one that is shown.
TIDIED, SHOWN = 220, 60
#: Coordinates of a determinant that is written out, at most.
LARGEST = 6
#: Deviation of a formula from what it stands for, relative to the largest entry.
SAME = 1e-9
#: Largest denominator that stands for a number of 16 digits.
DENOMINATOR = 10_000
#: Numbers below this are what rounding left of zero, in units of m and rad.
ROUNDING = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFormulas:
    """Fields by name as SymPy expressions. Made by ``distribution(model).formulas()``."""

    #: Symbols of the coordinates, called by their names.
    coordinates: tuple[sp.Symbol, ...]
    #: Generators and brackets that are short enough, each with a component per coordinate.
    fields: Mapping[str, tuple[sp.Expr, ...]]
    #: (1) as a product, where all fields are short and reach every direction; else None.
    determinant: sp.Expr | None
    #: Largest deviation of a component from the traced field, relative to the field's largest.
    residual: float

    @property
    def singular(self) -> tuple[sp.Expr, ...]:
        """Factors of (1) that vanish somewhere: where brackets of this basis may lose rank."""
        if self.determinant is None:
            return ()
        return _factors(sp.fraction(sp.together(self.determinant))[0])

    def text(self) -> str:
        """The fields line by line."""
        lines = []
        for name, components in self.fields.items():
            parts = ", ".join(
                f"{s}: {printed(x)}"
                for s, x in zip(self.coordinates, components, strict=True)
                if x != 0
            )
            lines.append(f"  {name:<20} {parts}")
        if self.determinant is not None:
            lines.append(f"  {'determinant':<20} {printed(self.determinant)}")
        for factor in self.singular:
            lines.append(f"  {'may fail where':<20} {printed(factor)} = 0")
        return "\n".join(lines)


def printed(expression: sp.Expr) -> str:
    """An expression with six digits of numbers that are no short fractions."""
    short = expression.replace(lambda x: x.is_Float, lambda x: sp.Float(x, 6))
    return str(short)


def symbols_of(chart: FieldChart) -> tuple[sp.Symbol, ...]:
    """Symbols of the coordinates that are kept, by their names."""
    return tuple(sp.Symbol(name, real=True) for name in chart.names)


def formula_of(chart: FieldChart, columns: ca.SX, most: int = TIDIED) -> list[sp.Expr] | None:
    """Traced functions of the coordinates as tidied formulas; None where they are long."""
    kin, empty = chart.kin, ca.SX(0, 1)
    wanted = ca.vec(ca.densify(columns))
    if kin.probe.quaternions:  # their four components are no coordinates of a formula
        return None
    if ca.Function("size", [chart.state], [wanted]).n_instructions() > 4 * most:
        return None
    try:
        program = trace_program("formulas", [ca.SX.sym("t", 0), chart.state, empty, empty], wanted)
    except CompileError:
        return None
    names = [sp.Symbol(c.name, real=True) for c in kin.coordinates]
    names += [sp.Symbol("t", real=True)] * chart.is_timed
    found = to_sympy(program, names)
    outputs = list(found.outputs)
    for symbol, value in reversed(found.parts):
        outputs = [x.subs(symbol, value) for x in outputs]
        if sum(x.count_ops() for x in outputs) > most:
            return None
    if sum(x.count_ops() for x in outputs) > most:
        return None
    return [tidied(x) for x in outputs]


def tidied(expression: sp.Expr) -> sp.Expr:
    """Numbers as short fractions where they are some, sines and cosines merged."""
    exact = expression.replace(lambda x: x.is_Float, _fraction)
    if not exact.free_symbols:
        return exact
    return sp.trigsimp(sp.expand(exact))


def exponential_of(expression: sp.Expr) -> sp.Expr:
    """exp of a formula, powers of what its logarithms are of."""
    terms = sp.Add.make_args(sp.expand_log(expression, force=True))
    scale = sp.Add(*[x for x in terms if x.free_symbols])
    return sp.simplify(sp.exp(sp.logcombine(scale, force=True)))


def _fraction(number: sp.Float) -> sp.Expr:
    if abs(number) < ROUNDING:
        return sp.Integer(0)
    near = sp.Rational(str(float(number))).limit_denominator(DENOMINATOR)
    is_near = abs(float(near) - float(number)) <= 4e-16 * max(abs(float(number)), 1e-3)
    return near if is_near else number


def formulas_in(
    chart: FieldChart, generators: Sequence[Field], reached: Sequence[Field], *, is_whole: bool
) -> FieldFormulas | None:
    """Formulas of fields and their brackets; None where not even the generators are short."""
    q = symbols_of(chart)
    fields: dict[str, tuple[sp.Expr, ...]] = {}
    residual = 0.0
    values = dict(zip((f.name for f in reached), _columns(chart, reached), strict=True))
    for field in (*generators, *(f for f in reached if f.parents)):
        if field.parents:
            if any(name not in fields for name in field.parents):
                continue
            X, Y = (sp.Matrix(fields[name]) for name in field.parents)
            raw = list(Y.jacobian(q) * X - X.jacobian(q) * Y)
            if sum(x.count_ops() for x in raw) > TIDIED:
                continue
            column: list[sp.Expr] | None = [tidied(x) for x in raw]
        else:
            column = formula_of(chart, field.components)
        if column is None or sum(x.count_ops() for x in column) > SHOWN:
            continue
        off = _deviation(chart, q, column, values.get(field.name, _columns(chart, [field])[0]))
        if not off < SAME:
            continue
        residual = max(residual, off)
        fields[field.name] = tuple(column)
    if not all(field.name in fields for field in generators):
        return None
    determinant = None
    if is_whole and len(reached) == len(q) <= LARGEST and all(f.name in fields for f in reached):
        matrix = sp.Matrix([list(fields[f.name]) for f in reached]).T
        determinant = sp.factor(tidied(matrix.det(method="berkowitz")))
        columns = np.stack([values[f.name] for f in reached], axis=-1)
        given = np.linalg.det(columns)
        ours = evaluated(chart, q, [determinant])[:, 0]
        if not np.max(np.abs(given - ours)) < SAME * max(1.0, float(np.max(np.abs(given)))):
            determinant = None
    return FieldFormulas(coordinates=q, fields=fields, determinant=determinant, residual=residual)


def _columns(chart: FieldChart, fields: Sequence[Field]) -> list[Array]:
    """(samples, n) components of each field, in the units of the coordinates."""
    found = chart.evaluate(ca.horzcat(*[f.components for f in fields]))
    return [np.array([x[:, k] for x in found]) for k in range(len(fields))]


def evaluated(chart: FieldChart, q: Sequence[sp.Symbol], column: Sequence[sp.Expr]) -> Array:
    """(samples, n) values of formulas at the configurations of the chart."""
    rows = []
    for at in chart.points:
        there = {x: sp.Float(at[k], 20) for x, k in zip(q, chart.kept, strict=True)}
        rows.append([float(x.xreplace(there)) for x in column])
    return np.array(rows)


def _factors(product: sp.Expr) -> tuple[sp.Expr, ...]:
    """Factors that depend on coordinates, each once."""
    found = [f.as_base_exp()[0] for f in sp.Mul.make_args(sp.factor(product)) if f.free_symbols]
    return tuple(dict.fromkeys(found))


def limit_of(chart: FieldChart, matrix: ca.SX) -> str:
    """Where a matrix of functions of the coordinates may lose rank or end, in words.

    Empty where it is not square or its determinant not short, so that no formula says so.
    """
    size = matrix.shape[0]
    if size != matrix.shape[1] or not 0 < size <= LARGEST:
        return ""
    entries = formula_of(chart, matrix)
    return "" if entries is None else _limit(chart, sp.Matrix(size, size, entries), matrix)


def limit_of_map(chart: FieldChart, functions: ca.SX) -> str:
    """Where as many functions as coordinates may not tell them, or end; empty as in `limit_of`."""
    formulas = formula_of(chart, functions)
    if formulas is None or functions.numel() != chart.q.numel():
        return ""
    # the sign of a function says nothing about the rank
    signed = sp.Matrix([x.replace(sp.Abs, lambda inner: inner) for x in formulas])
    slopes = signed.jacobian(symbols_of(chart))
    return _limit(chart, slopes, ca.jacobian(functions, chart.q))


def _limit(chart: FieldChart, formulas: sp.Matrix, matrix: ca.SX) -> str:
    """Zeros and poles of a determinant, which is that of the traced matrix but for its sign."""
    determinant = tidied(formulas.det(method="berkowitz"))
    if determinant.count_ops() > TIDIED:
        return ""
    given = np.abs([np.linalg.det(x) for x in chart.evaluate(ca.densify(matrix))])
    ours = np.abs(evaluated(chart, symbols_of(chart), [determinant])[:, 0])
    if not np.max(np.abs(given - ours)) < SAME * max(1.0, float(np.max(given))):
        return ""
    plain = determinant.replace(sp.tan, lambda x: sp.sin(x) / sp.cos(x))
    top, bottom = sp.fraction(sp.together(plain))
    factors = tuple(dict.fromkeys((*_factors(top), *_factors(bottom))))
    if sum(x.count_ops() for x in factors) > SHOWN:
        return ""
    zeros = " or ".join(f"{printed(x)} = 0" for x in factors)
    return f"may fail where {zeros}" if zeros else "at all configurations"


def _deviation(
    chart: FieldChart, q: Sequence[sp.Symbol], column: Sequence[sp.Expr], given: Array
) -> float:
    ours = evaluated(chart, q, column)
    size = max(float(np.max(np.abs(given), initial=0.0)), 1e-300)
    return float(np.max(np.abs(ours - given), initial=0.0)) / size


def potential_of(chart: FieldChart, form: ca.SX) -> sp.Expr | None:
    """F with dF = form, which is closed; None where no formula was found that is confirmed."""
    q = symbols_of(chart)
    omega = formula_of(chart, ca.vec(form))
    if omega is None or sum(x.count_ops() for x in omega) > SHOWN:
        return None
    total = sp.Integer(0)
    for k, symbol in enumerate(q):
        rest = tidied(omega[k] - sp.diff(total, symbol))
        if rest == 0:
            continue
        part = manualintegrate(rest, symbol)
        if part.has(sp.Integral):
            return None
        total += part
    total = tidied(total)
    slopes = [sp.diff(total, symbol) for symbol in q]
    given = np.array([np.ravel(x) for x in chart.evaluate(ca.vec(ca.densify(form)))])
    return total if _deviation(chart, q, slopes, given) < SAME else None
