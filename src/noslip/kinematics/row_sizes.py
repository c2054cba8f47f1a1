"""Sizes of constraint rows before their terms cancel, to distinguish small rows from rounding.

A blade along a rail has the row n·e v = 0 with n ⊥ e: its coefficient is zero, computed as 1e-17,
and must not hold the blade. Comparing it with other rows does not help, for all of them may be
such. The row itself decides: with every value z_i that is computed on the way from the model's
numbers to the row taken as z_i (1 + δ_i), the row changes by

    (1)  |δr| ≤ δ Σ |∂r/∂δ_i|,      |δ_i| ≤ δ

the first-order bound of its rounding error (Linnainmaa, BIT 16, 1976). The sum is the size of the
terms that the row is made of; a coefficient far below it is what rounding left of them.

Numbers of the model are traced as symbols here, since CasADi computes with constants at once and
forgets what they came from: (0.1 + 0.2 − 0.3) v is 5.6e-17 v.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.kinematics.symbols import Symbols

Array = NDArray[np.float64]
#: (t, q, v, params) → (nc,) sizes.
TermSizes = Callable[[float, Array, Array, Array], Array]

#: Numbers that are what they are: no rounding brought them about.
_EXACT = (0.0, 1.0, -1.0)


class Literals:
    """Numbers of a model as traced symbols."""

    def __init__(self) -> None:
        self._symbols: list[ca.SX] = []
        self.values: list[float] = []

    def __call__(self, number: float) -> ca.SX:
        """A symbol for a number."""
        if number in _EXACT:
            return ca.SX(number)
        self.values.append(number)
        self._symbols.append(ca.SX.sym("c"))
        return self._symbols[-1]

    @property
    def symbols(self) -> ca.SX:
        """Column of all symbols made so far."""
        return ca.vertcat(ca.SX(0, 1), *self._symbols)


def term_sizes(symbols: Symbols, velocities: ca.SX, literals: Literals) -> TermSizes:
    """Σ |∂r/∂δ_i| of the rows r = A v, (1), as a function of t, q, v and the parameters.

    Parameters
    ----------
    symbols : that the rows are traced in.
    velocities : (nc,) rows A v + a, traced with `literals` for numbers.
    """
    moving = ca.jtimes(velocities, symbols.v, symbols.v)  # A v without a
    inputs = [symbols.t, symbols.q, symbols.v, symbols.w, symbols.params, literals.symbols]
    disturbed, delta = _disturbed(inputs, moving)
    changes = ca.jacobian(disturbed, delta)
    sums = ca.mtimes(ca.fabs(changes), ca.SX.ones(delta.shape[0]))
    at_zero = ca.substitute([ca.densify(sums)], [delta], [ca.SX.zeros(delta.shape[0])])[0]
    function = ca.Function("sizes", inputs, [at_zero])
    w, numbers = np.zeros(symbols.w.shape[0]), np.array(literals.values)

    def sizes(t: float, q: Array, v: Array, params: Array) -> Array:
        return np.array(function(t, q, v, w, params, numbers)).ravel()

    return sizes


def _disturbed(inputs: list[ca.SX], output: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The output with every value z on the way replaced by z (1 + δ), and all δ."""
    function = ca.Function("rows", inputs, [ca.densify(output)])
    delta: list[ca.SX] = []

    def near(value: ca.SX) -> ca.SX:
        delta.append(ca.SX.sym("delta"))
        return value * (1 + delta[-1])

    outputs = [ca.SX(0)] * output.numel()
    # CasADi reuses its registers; a register holds the value written to it last
    registers: dict[int, tuple[ca.SX, ca.SX]] = {}  # disturbed, and as it is
    for k in range(function.n_instructions()):
        code, sources = function.instruction_id(k), function.instruction_input(k)
        targets = function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            outputs[targets[1]] = registers[sources[0]][0]
            continue
        if code == ca.OP_INPUT:
            value = inputs[sources[0]][sources[1]]
            registers[targets[0]] = near(value), value
            continue
        if code == ca.OP_CONST:
            value = ca.SX(function.instruction_constant(k))
            registers[targets[0]] = value, value
            continue
        changed, exact = zip(*[registers[source] for source in sources], strict=True)
        if code == ca.OP_CALL:
            called = function.instructions_sx()[k].which_function()
            both = zip(_called(called, changed), _called(called, exact), strict=True)
            for target, (value, known) in zip(targets, both, strict=True):
                registers[target] = near(value), known
            continue
        if code in (ca.OP_POW, ca.OP_CONSTPOW):
            changed = (
                changed[0],
                exact[1],
            )  # an exponent has no derivative where the base is below 0
        registers[targets[0]] = near(_applied(code, changed)), _applied(code, exact)
    return ca.vertcat(*outputs), ca.vertcat(ca.SX(0, 1), *delta)


def _called(function: ca.Function, values: tuple[ca.SX, ...]) -> list[ca.SX]:
    """Entries of the outputs of a function, which are dense, at those of its inputs."""
    rest = iter(values)
    arguments = []
    for k in range(function.n_in()):
        own = [next(rest) for _ in range(function.nnz_in(k))]
        arguments.append(ca.SX(function.sparsity_in(k), ca.vertcat(*own)))
    outputs = (ca.vec(output) for output in function.call(arguments))
    return [value for output in outputs for value in ca.vertsplit(output)]


def _applied(code: int, values: tuple[ca.SX, ...]) -> ca.SX:
    """One operation of CasADi on its operands."""
    return ca.SX.unary(code, *values) if len(values) == 1 else ca.SX.binary(code, *values)
