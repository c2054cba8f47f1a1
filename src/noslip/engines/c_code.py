"""Programs as C: statements of C99 that are also C++, with nothing but the C library's mathematics.

:meth:`CWriter.statements` writes one line for each operation. Truth is 1 or 0; see the top of
`program.py` for what each operation means. Lookups must be lowered (`optimize`); entries of
their tables are read from arrays that :meth:`CWriter.tables` defines. Sine and cosine are those of
the C library, or a function that :meth:`CWriter.definition_of_sincos` defines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.algebra import LookupTable, numbered_table
from noslip.engines.elementary_functions import (
    COS,
    COS_SINGLE,
    FAR,
    HALF_PI,
    ROUND,
    ROUND_SINGLE,
    SIN,
    SIN_SINGLE,
)
from noslip.engines.optimization import optimize
from noslip.engines.program import Program, trace_program

#: Angle up to which single precision is enough, rad: 127 quarter turns and some.
FAR_SINGLE = 192.0
#: π/2 in parts of 17, 17 and 24 bits.
_HALF_PI_PARTS = (102943 * 2.0**-16, 92808 * 2.0**-33, 6.077100506506193e-11)

#: Functions of the C library that have other names than the operations.
_RENAMED = {"abs": "fabs", "min": "fmin", "max": "fmax"}
_CALLED = (
    *("sqrt", "pow", "hypot", "exp", "expm1", "log", "log1p", "erf"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "fmod", "remainder", "copysign", "abs", "min", "max"),
)
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def c_number(value: float, *, single: bool = False) -> str:
    """A literal that is read back as the same number, or the nearest of single precision."""
    with np.errstate(over="ignore"):
        text = str(np.float32(value)) + "f" if single else repr(float(value))
        number = float(np.float32(value)) if single else float(value)
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    return f"({text})" if math.copysign(1.0, number) < 0 else text


def operation_text(kind: str, operands: Sequence[str], *, single: bool = False) -> str:
    """The expression of an operation."""
    ending = "f" if single else ""
    one, zero = c_number(1.0, single=single), c_number(0.0, single=single)
    a, b = (*operands, "")[:2]
    if kind in _INFIX:
        return f"{a} {_INFIX[kind]} {b}"
    if kind == "neg":
        return f"-{a}"
    if kind in _CALLED:
        return f"{_RENAMED.get(kind, kind)}{ending}({', '.join(operands)})"
    if kind in _COMPARED:
        return f"{a} {_COMPARED[kind]} {b} ? {one} : {zero}"
    match kind:
        case "sign":
            return f"{a} > {zero} ? {one} : {a} < {zero} ? -{one} : {a}"
        case "not":
            return f"{a} == {zero} ? {one} : {zero}"
        case "and":
            return f"({a} != {zero} && {b} != {zero}) ? {one} : {zero}"
        case "or":
            return f"({a} != {zero} || {b} != {zero}) ? {one} : {zero}"
        case "if_else":
            return f"{a} != {zero} ? {b} : {operands[2]}"
    raise ValueError(f"operation '{kind}' has no text in C")


@dataclass(frozen=True, slots=True)
class CWriter:
    """Writer of programs as C: literals, statements, tables, and sine and cosine of its own."""

    real: str = "double"  #: type of numbers
    single: bool = False  #: whether that is of single precision
    #: Function that stores sine and cosine of an angle; those of the C library if empty.
    sincos: str = ""

    @staticmethod
    def program(name: str, given: tuple[ca.SX, ...], output: ca.SX) -> Program:
        """The operations of an expression, in the order of a C compiler, which schedules itself."""
        return optimize(trace_program(name, given, output), is_scheduled=False)

    def number(self, value: float) -> str:
        """A literal that is read back as the same number, or the nearest of single precision."""
        return c_number(value, single=self.single)

    def statements(
        self, program: Program, inputs: Sequence[str], output: Callable[[int], str]
    ) -> Iterator[str]:
        """Lines of C that compute a program.

        Parameters
        ----------
        program : program to print.
        inputs : expression of each input value, t, x, u and p one after the other.
        output : output of the number of an output, where it is stored.
        """
        if len(inputs) != sum(program.input_sizes):
            raise ValueError(f"{program.name}: {len(inputs)} inputs for {program.input_sizes}")
        names = [*inputs, *(self.number(c) for c in program.constants)]
        names += [f"v{k}" for k in range(program.num_operations)]
        first = sum(program.input_sizes)
        angles: set[int] = set()
        for k, (kind, operands) in enumerate(program.operations):
            if kind == "gather":
                behind, table = (int(program.constants[v - first]) for v in operands[1:])
                place = f"(int){names[operands[0]]} + {behind}"
                yield f"const {self.real} v{k} = {numbered_table(table).symbol}[{place}];"
                continue
            if self.sincos and kind in ("sin", "cos"):
                angle = operands[0]
                if angle not in angles:
                    angles.add(angle)
                    yield f"{self.real} sin{angle}, cos{angle};"
                    yield f"{self.sincos}({names[angle]}, &sin{angle}, &cos{angle});"
                names[first + len(program.constants) + k] = f"{kind}{angle}"
                continue
            text = operation_text(kind, [names[i] for i in operands], single=self.single)
            yield f"const {self.real} v{k} = {text};"
        for k, value in enumerate(program.outputs):
            yield f"{output(k)} = {names[value]};"

    def definition_of_sincos(self) -> Iterator[str]:
        """Lines that define the static function `sincos(x, &sine, &cosine)` without any library.

        The operations are those of `elementary_functions.sincos`, with fused products as products
        in two parts. The error is below 1 ulp up to FAR; beyond it, results are nan. In single
        precision it computes in it up to FAR_SINGLE, where multiples of parts of π/2 are exact, and
        as for doubles beyond.
        """
        if self.single:
            far = f"{self.sincos}_far"
            yield from CWriter(self.real, sincos=far).definition_of_sincos()
            yield ""
            values = {"name": self.sincos, "real": self.real, "far": far}
            numbers = {"reach": FAR_SINGLE, "inverse": 2.0 / math.pi, "round": ROUND_SINGLE}
            numbers |= dict(zip(("c0", "c1", "c2"), _HALF_PI_PARTS, strict=True))
            numbers |= {"one": 1.0, "half": 0.5, "split": 1.5 * 2.0**11}
            values |= {word: self.number(number) for word, number in numbers.items()}
            values |= {
                "sin": _horner(SIN_SINGLE, single=True),
                "cos": _horner(COS_SINGLE, single=True),
            }
            yield from re.sub(r"@(\w+)@", lambda m: values[m[1]], _SINGLE_SINCOS).splitlines()
            return
        quarter, rest, last = HALF_PI
        values = {
            "name": self.sincos,
            "real": self.real,
            "far": repr(FAR),
            "round": repr(ROUND),
            "split": repr(ROUND * 2.0**14),
            "inverse": repr(2.0 / math.pi),
            "c0": repr(quarter),
            "c1": repr(rest),
            "c2": f"({last!r})",
            "sin": _horner(SIN),
            "cos": _horner(COS),
        }
        for k, part in enumerate((quarter, rest)):
            high = part * 134217729.0
            high -= high - part
            values |= {f"h{k}": repr(high), f"l{k}": f"({part - high!r})"}
        yield from re.sub(r"@(\w+)@", lambda m: values[m[1]], _SINCOS).splitlines()

    def tables(self, tables: Iterable[LookupTable]) -> Iterator[str]:
        """Lines that define the arrays of tables."""
        for table in tables:
            numbers = [self.number(float(x)) for x in table.coefficients.ravel()]
            yield f"static const {self.real} {table.symbol}[{len(numbers)}] = {{"
            for k in range(0, len(numbers), 8):
                end = "," if k + 8 < len(numbers) else ""
                yield "    " + ", ".join(numbers[k : k + 8]) + end
            yield "};"
            yield ""


def _horner(coefficients: Sequence[float], *, single: bool = False) -> str:
    """A polynomial in z, lowest power first."""
    *others, text = (c_number(c, single=True) if single else repr(c) for c in coefficients)
    for c in reversed(others):
        text = f"({text}) * z + {c}"
    return text


#: Products that must be rounded before they are subtracted are volatile: a compiler that fuses the
#: two would count their rounding errors twice. The other products are exact, or may be fused.
_SINCOS = """\
/* sine and cosine, to 1 ulp up to 2^40 rad; nan beyond */
static void @name@(@real@ x, @real@ *sine, @real@ *cosine)
{
    const double size = x < 0 ? -(double)x : (double)x;
    /* the remainder r + low = size - n pi/2, and n = high + part to multiply without rounding */
    const double n = (size * @inverse@ + @round@) - @round@;
    const double high = (n + @split@) - @split@, part = n - high;
    volatile const double p = n * @c0@, q = n * @c1@;
    const double p_rounded = p, b = q;
    const double p_low = ((high * @h0@ - p_rounded) + high * @l0@ + part * @h0@) + part * @l0@;
    const double b_low = ((high * @h1@ - b) + high * @l1@ + part * @h1@) + part * @l1@;
    const double a = (size - p_rounded) - p_low;
    const double r = a - b, t = r - a;
    const double low = (((a - (r - t)) - (b + t)) - b_low) - n * @c2@;
    const double z = r * r, one = 1.0 - 0.5 * z;
    const double poly_s = @sin@;
    const double poly_c = @cos@;
    const double s = r + (poly_s * (r * z) + (low - 0.5 * z * low));
    const double c = one + (poly_c * (z * z) + (((1.0 - one) - 0.5 * z) - r * low));
    int quadrant;
    if (!(size <= @far@)) {
        *sine = *cosine = (@real@)NAN;
        return;
    }
    quadrant = (int)((long long)n & 3);
    *cosine = (@real@)(quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s);
    if (quadrant > 1) quadrant -= 2, x = -x;
    *sine = (@real@)(quadrant ? c : s);
    if (x < 0) *sine = -*sine;
    else if (x == 0) *sine = x;
}
"""


#: As above; the products of n, of 7 bits, with the first parts of 17 bits are exact, fused or not.
_SINGLE_SINCOS = """\
/* sine and cosine in single precision, to 1 ulp; of large angles by double precision */
static void @name@(@real@ x, @real@ *sine, @real@ *cosine)
{
    const float size = x < 0 ? -x : x;
    const float n = (size * @inverse@ + @round@) - @round@;
    const float a = size - n * @c0@, b = n * @c1@;
    const float r = a - b, t = r - a;
    const float low = ((a - (r - t)) - (b + t)) - n * @c2@;
    const float z = r * r, one = @one@ - @half@ * z;
    const float poly_s = @sin@;
    const float poly_c = @cos@;
    const float s = r + (poly_s * (r * z) + (low - @half@ * z * low));
    /* what the rounding of z leaves out; the square of 12 bits is exact */
    const float top = (r + @split@) - @split@, rest = r - top;
    const float z_low = (top * top - z) + (top + r) * rest;
    const float left = ((@one@ - one) - @half@ * z) - @half@ * z_low;
    const float c = one + (poly_c * (z * z) + (left - r * low));
    int quadrant;
    if (!(size <= @reach@)) {
        @far@(x, sine, cosine);
        return;
    }
    quadrant = (int)n & 3;
    *cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
    if (quadrant > 1) quadrant -= 2, x = -x;
    *sine = quadrant ? c : s;
    if (x < 0) *sine = -*sine;
    else if (x == 0) *sine = x;
}
"""
