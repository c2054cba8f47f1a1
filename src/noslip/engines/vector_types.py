"""LLVM types, constants and calls of scalar and of vector code, one number in each lane.

The printer of `engines.llvm` takes them from :class:`VectorTypes` and depends on the number of
lanes in no other way. Vector code has elementary functions of its own (`vector_math`). Scalar code
calls those of the C library, but for sine and cosine: they occur in nearly every right-hand side,
and inline they are computed in parallel with other operations, which a call would prevent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from noslip.engines.ir_writer import TRUTH, intrinsic, literal, splat, vector_type
from noslip.engines.program import Program
from noslip.engines.vector_math.functions import BODIES, FAR_ANGLES, vector_functions

#: Operations that are functions of LLVM's own, by its names.
INTRINSICS = {
    **{kind: kind for kind in ("sqrt", "floor", "ceil", "copysign")},
    **{"abs": "fabs", "min": "minnum", "max": "maxnum"},
}
#: Operations that are functions of the C library.
LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "expm1", "log", "log1p", "pow", "hypot", "erf", "fmod", "remainder"),
)
CALLS = frozenset({*INTRINSICS, *LIBRARY})


@dataclass(frozen=True, slots=True)
class VectorTypes:
    """Numbers in a vector of so many lanes; in one lane it is a plain number."""

    lanes: int = 1

    @property
    def real(self) -> str:
        """Type of numbers."""
        return vector_type(self.lanes)

    @property
    def truth(self) -> str:
        """Type of truths."""
        return vector_type(self.lanes, TRUTH)

    @property
    def attributes(self) -> str:
        """Of functions that are not written into others.

        With a frame pointer LLVM may align the stack, so that vectors which do not fit the
        registers are kept within cache lines. Without it a fifth of the time depends on luck.
        """
        return "nounwind noinline" + (' "frame-pointer"="all"' if self.lanes > 1 else "")

    def number(self, value: float) -> str:
        """A constant, the same in all lanes."""
        return splat(self.lanes, literal(value))

    def words(self) -> dict[str, str]:
        """What the texts of instructions leave open besides operands."""
        numbers = {"zero": 0.0, "one": 1.0, "minus_one": -1.0}
        return {name: self.number(value) for name, value in numbers.items()} | {
            "real": self.real,
            "truth": self.truth,
        }

    def call(self, kind: str, name: str, operands: list[str], known: dict[str, str]) -> str:
        """A function of operands; sine and cosine of one angle are found together, and what is
        known already, by angle, is not made again in the same part.
        """
        arguments = ", ".join(f"{self.real} {operand}" for operand in operands)
        if kind in ("sin", "cos"):
            is_new = operands[0] not in known
            both = known.setdefault(operands[0], f"{name}both")
            pair = f"{{ {self.real}, {self.real} }}"
            line = f"{name} = extractvalue {pair} {both}, {('sin', 'cos').index(kind)}"
            return f"{both} = call {pair} @lanes_sincos({arguments})\n  {line}" if is_new else line
        return f"{name} = call {self.real} @{self._symbol(kind)}({arguments})"

    def library(self, programs: list[Program]) -> set[str]:
        """Functions of the C library that code of these programs may call."""
        kinds = {kind for program in programs for kind in program.count() if kind in CALLS}
        own = {self._own(kind) for kind in kinds} - {""}
        asked = {name for function in own for name in FAR_ANGLES.get(function, ())}
        return asked | {kind for kind in kinds if kind in LIBRARY and not self._own(kind)}

    def definitions(self, programs: list[Program], is_inline: bool) -> Iterator[str]:
        """Bodies and declarations of what the calls of some programs need.

        In long programs they had better not be inline: code that is fetched from afar is slower
        than a call.
        """
        counts = {
            operation.kind: len(operation.operands)
            for program in programs
            for operation in program.operations
            if operation.kind in CALLS
        }
        yield from vector_functions(
            {self._own(kind) for kind in counts} - {""},
            {kind: n for kind, n in counts.items() if kind in LIBRARY and not self._own(kind)},
            self.lanes,
            is_inline=is_inline,
            declared=[
                f"declare {self.real} @{self._symbol(kind)}({', '.join([self.real] * n)})"
                for kind, n in counts.items()
                if kind in INTRINSICS
            ],
        )

    def _own(self, kind: str) -> str:
        """The function of `vector_math` that stands for an operation, if one does."""
        name = "sincos" if kind in ("sin", "cos") else kind
        return name if name in BODIES and (self.lanes > 1 or name == "sincos") else ""

    def _symbol(self, kind: str) -> str:
        if kind in INTRINSICS:
            return intrinsic(INTRINSICS[kind], self.lanes)
        return f"lanes_{kind}" if self._own(kind) else f"each_{kind}"


SCALAR = VectorTypes()
