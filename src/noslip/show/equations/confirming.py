"""Check of displayed expressions against compiled code, at random states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy
from numpy.typing import NDArray

from noslip.show.equations.algebra import Quaternion

Array = NDArray[np.float64]
#: For each item the parts that it is the first to need, in order.
Parts = list[list[tuple[sympy.Symbol, sympy.Expr]]]

#: Relative difference that is allowed, and the share of the largest value below which differences
#: are absolute: entries that cancel exactly leave rounding behind where they are compiled.
TOLERANCE, FLOOR = 1e-9, 1e-5


@dataclass(frozen=True, slots=True)
class Item:
    """A scalar to write.

    Parameters
    ----------
    shown : traced, by the shortest route to it.
    compiled : traced, by the formulation's own route; what it must equal.
    label : symbol that later items may use for it, if it is long.
    is_free : whether it must be equal for speeds that break the constraints too.
    is_motion : whether it belongs to the equations of motion, which are written first of all.
    """

    shown: ca.SX
    compiled: ca.SX
    label: sympy.Symbol | None = None
    is_free: bool = False
    is_motion: bool = False


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The inputs of everything that is written: traced columns t, x, u, p, and their symbols.

    Parameters
    ----------
    columns : four traced columns.
    symbols : one for each entry, in order.
    states : values of all entries at some random states that fulfill the equations of motion, one
        row for each.
    free_states : the same at speeds that break the constraints.
    leading : places of the entries that terms are collected by first: masses and inertias.
    quaternions : places of q_w, q_x, q_y, q_z of unit quaternions.
    positive : ``("sine", k)`` or ``("cosine", k)`` for entries whose sine or cosine is positive.
    speeds : places of speeds and accelerations.
    coordinates : places of coordinates that are no parts of quaternions.
    letter : of numbered parts.
    """

    columns: Sequence[ca.SX]
    symbols: list[sympy.Symbol]
    states: Array
    free_states: Array
    leading: frozenset[int] = frozenset()
    quaternions: tuple[Quaternion, ...] = ()
    positive: frozenset[tuple[str, int]] = frozenset()
    speeds: frozenset[int] = frozenset()
    coordinates: frozenset[int] = frozenset()
    letter: str = "z"


class Evaluator:
    """Values of what is shown, with its parts and labels, at the states of an alphabet.

    An item that is not written out is a dummy symbol, and has the value of what is compiled.
    """

    def __init__(
        self,
        items: Sequence[Item],
        alphabet: Alphabet,
        expressions: list[sympy.Expr],
        parts: Parts,
    ) -> None:
        self.places = {s: k for k, s in enumerate(alphabet.symbols)}
        self.splits = np.cumsum([c.shape[0] for c in alphabet.columns])[:-1]
        compiled = [ca.densify(item.compiled) for item in items]
        whole = ca.vertcat(*compiled) if compiled else ca.SX(0, 1)
        self.compiled = ca.Function("compiled", list(alphabet.columns), [whole])
        self.dummies = {e: k for k, e in enumerate(expressions) if e.is_Dummy}
        self.steps: list[tuple[sympy.Symbol, sympy.Expr]] = []
        for item, expression, new in zip(items, expressions, parts, strict=True):
            self.steps += new
            # a label that is a symbol of the state, such as a dependent speed, has its value there
            if item.label is not None and item.label not in self.places:
                self.steps.append((item.label, expression))

    def references(self, states: Array) -> Array:
        """Compiled values of all items, one row for each state."""
        rows = [np.array(self.compiled(*np.split(s, self.splits))).ravel() for s in states]
        return np.array(rows).reshape(len(states), -1)

    def __call__(self, expressions: list[sympy.Expr], states: Array) -> Array:
        """Values of the expressions, one row for each state; nan where they have none."""
        with np.errstate(all="ignore"):
            known: dict[sympy.Expr, Any] = {s: states[:, k] for s, k in self.places.items()}
            if self.dummies:
                references = self.references(states)
                known |= {dummy: references[:, k] for dummy, k in self.dummies.items()}
            for s, meaning in self.steps:
                known[s] = evaluate(meaning, known)
            rows = [np.broadcast_to(evaluate(e, known), len(states)) for e in expressions]
        return np.array(rows, dtype=float).reshape(len(rows), len(states)).T


def evaluate(expression: sympy.Expr, known: dict[sympy.Expr, Any]) -> Any:
    """Evaluate an expression whose symbols are known; subexpressions are memoized in `known`.

    Functions that are not arithmetic are SymPy's own, by way of `sympy.lambdify`.
    """
    if expression in known:
        return known[expression]
    arguments = [evaluate(a, known) for a in expression.args]
    if expression.is_Number or expression.is_NumberSymbol:
        value: Any = float(expression)
    elif expression.is_Add:
        value = sum(arguments)
    elif expression.is_Mul:
        value = math.prod(arguments)
    elif expression.is_Pow:
        value = _power(arguments[0], expression.exp, arguments[1])
    elif expression in (sympy.true, sympy.false):
        value = bool(expression)
    elif isinstance(expression, sympy.Piecewise):
        value = np.nan
        for pair, (result, condition) in reversed(
            list(zip(expression.args, arguments, strict=True))
        ):
            value = result if pair[1] == sympy.true else np.where(condition, result, value)
    elif isinstance(expression, sympy.Tuple):
        return tuple(arguments)
    else:
        value = _function(expression.func, len(arguments))(*arguments)
    known[expression] = value
    return value


def _power(base: Any, exponent: sympy.Expr, value: Any) -> Any:
    if exponent.is_Integer:
        positive = np.multiply(1.0, base) ** abs(int(exponent))
        return positive if exponent > 0 else np.divide(1.0, positive)
    if exponent == sympy.Rational(1, 2):
        return np.sqrt(base)
    return np.power(np.multiply(1.0, base), value)


@cache
def _function(kind: Any, num: int) -> Any:
    names = sympy.symbols(f"a:{num}")
    return sympy.lambdify(names, kind(*names, evaluate=False), modules=["scipy", "numpy"])


def without_idle_coordinates(items: Sequence[Item], alphabet: Alphabet) -> list[ca.SX]:
    """What is shown, with coordinates that an item does not depend on at zero.

    A force on a vehicle is traced in the axes of the world: its heading stands in every term and
    cancels from the sum. Seen from a heading of zero nothing is left to cancel.
    """
    shown = [ca.densify(item.shown) for item in items]
    whole = ca.vertcat(*shown) if shown else ca.SX(0, 1)
    inputs = ca.vertcat(*alphabet.columns)
    values = ca.Function("shown", [inputs], [whole])
    is_free = np.array([item.is_free for item in items])
    depends = np.array(ca.DM(ca.jacobian_sparsity(whole, inputs), 1).full(), dtype=bool)
    idle: dict[int, list[int]] = {}
    for k in sorted(alphabet.coordinates):
        suspects = depends[:, k]
        for states, mine in ((alphabet.states, ~is_free), (alphabet.free_states, is_free)):
            if not (suspects & mine).any():
                continue
            for state in states:
                moved = state.copy()
                moved[k] = 0.0
                here, there = (np.array(values(s)).ravel() for s in (state, moved))
                with np.errstate(invalid="ignore"):
                    scale = np.abs(here) + FLOOR * max(1.0, float(np.nanmax(np.abs(here))))
                    suspects = suspects & ~(mine & ~(np.abs(there - here) <= TOLERANCE * scale))
        for i in np.flatnonzero(suspects):
            idle.setdefault(int(i), []).append(k)
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, places in idle.items():
        groups.setdefault(tuple(places), []).append(row)
    for group, members in groups.items():
        at_zero = ca.SX(inputs)
        at_zero[list(group)] = 0
        found = ca.substitute([shown[row] for row in members], [inputs], [at_zero])
        for row, expression in zip(members, found, strict=True):
            shown[row] = ca.densify(expression)
    return shown


def worst_difference(
    items: Sequence[Item], alphabet: Alphabet, expressions: list[sympy.Expr], parts: Parts
) -> float:
    """Largest difference between what is shown and what is compiled, relative to the latter."""
    if not items:
        return 0.0
    evaluator = Evaluator(items, alphabet, expressions, parts)
    is_free = np.array([item.is_free for item in items])
    worst = math.nan
    for states, mine in ((alphabet.states, ~is_free), (alphabet.free_states, is_free)):
        found, references = evaluator(expressions, states), evaluator.references(states)
        for values, reference in zip(found, references, strict=True):
            if not (np.all(np.isfinite(values)) and np.all(np.isfinite(reference)) and mine.any()):
                continue
            scale = np.abs(reference) + FLOOR * max(1.0, float(np.max(np.abs(reference))))
            difference = float(np.max((np.abs(values - reference) / scale)[mine]))
            worst = difference if math.isnan(worst) else max(worst, difference)
    return worst
