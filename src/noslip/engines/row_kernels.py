"""Loops over rows of vectors as LLVM text: the arithmetic between evaluations of wide functions.

A kernel is a native function of addresses, a number n of rows and a distance between blocks:

    void kernel(double* a, double* b, ..., int64 n, int64 block)

Row i of a pointer is the vector at ``i lanes``; a pointer may hold several blocks of rows. What
stands before the loop is done once, the loop for every row, and sums run over all rows:

    kernel = RowKernel("axpy", ("x", "h", "y"), lanes=8)
    h = kernel.load("h")
    kernel.begin_rows()
    kernel.store_row("y", kernel.fma(h, kernel.load_row("x"), kernel.load_row("y")))
    kernel.end_rows()
    kernel.text()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noslip.engines import llvm
from noslip.engines.lanes import REAL, WHOLE, Value, Writer, vector_type


class RowKernel(Writer):
    """One kernel in the making.

    Parameters
    ----------
    name : of the function.
    pointers : names of its pointers, in order.
    lanes : numbers in a vector.
    """

    def __init__(self, name: str, pointers: Sequence[str], lanes: int) -> None:
        super().__init__(lanes)
        self.name = name
        self.pointers = tuple(pointers)
        self.before: list[str] = []
        self.sums: list[Value] = []

    def load(self, pointer: str, row: int = 0, kind: str = REAL) -> Value:
        """A fixed row of a pointer; before or after the loop."""
        return self._load(pointer, str(row), kind)

    def store(self, pointer: str, value: Value, row: int = 0) -> None:
        """Write a fixed row of a pointer; before or after the loop."""
        self._store(pointer, str(row), value)

    def begin_rows(self, *sums: float) -> list[Value]:
        """Begin the loop; the running values of sums that start like this."""
        self.before, self.lines = self.lines, []
        self.starts = [self.of(start, REAL) for start in sums]
        self.sums = [Value(self, f"%sum{k}") for k in range(len(sums))]
        return self.sums

    def load_row(self, pointer: str, block: int = 0, size: str = "block") -> Value:
        """The row of the loop in a block of a pointer, whose blocks have ``block`` or n rows."""
        return self._load(pointer, self._place(block, size), REAL)

    def store_row(self, pointer: str, value: Value, block: int = 0, size: str = "block") -> None:
        """Write the row of the loop."""
        self._store(pointer, self._place(block, size), value)

    def end_rows(self, *sums: Value) -> list[Value]:
        """End the loop with the new values of the sums; what they come to."""
        body, self.lines = self.lines, self.before
        vector = vector_type(self.lanes)
        self.lines += [
            "  br label %rows",
            "rows:",
            "  %i = phi i64 [ 0, %start ], [ %next, %rows ]",
        ]
        for k, (start, total) in enumerate(zip(self.starts, sums, strict=True)):
            line = f"phi {vector} [ {start.name}, %start ], [ {total.name}, %rows ]"
            self.lines.append(f"  %sum{k} = {line}")
        self.lines += [
            *body,
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %rows, label %done",
            "done:",
        ]
        return list(sums)

    def larger(self, a: Value, b: Value) -> Value:
        """The larger of two, the second if one is nan."""
        return self.where(a > b, a, b)

    def as_words(self, condition: Value) -> Value:
        """A condition as whole numbers that can be stored: −1 where it holds, else 0."""
        return self.emit(f"sext {condition.typed} to {vector_type(self.lanes, WHOLE)}", WHOLE)

    def loaded_condition(self, pointer: str) -> Value:
        """A condition that was stored as whole numbers; before the loop."""
        return self.compare("", "ne", self.load(pointer, kind=WHOLE), 0)

    def text(self) -> str:
        """The whole function."""
        listed = ", ".join(f"ptr %{name}" for name in self.pointers)
        head = f"define void @{self.name}({listed}, i64 %n, i64 %block) nounwind {{"
        return "\n".join([head, "start:", *self.lines, "  ret void", "}"])

    def _place(self, block: int, size: str) -> str:
        if not block:
            return "%i"
        shift = self._line(f"mul i64 %{size}, {block}")
        return self._line(f"add i64 %i, {shift}")

    def _line(self, text: str) -> str:
        return self.emit(text, WHOLE).name

    def _at(self, pointer: str, row: str, kind: str) -> str:
        vector = vector_type(self.lanes, kind)
        return self._line(f"getelementptr {vector}, ptr %{pointer}, i64 {row}")

    def _load(self, pointer: str, row: str, kind: str) -> Value:
        vector = vector_type(self.lanes, kind)
        return self.emit(f"load {vector}, ptr {self._at(pointer, row, kind)}, align 8", kind)

    def _store(self, pointer: str, row: str, value: Value) -> None:
        at = self._at(pointer, row, value.kind)
        self.lines.append(f"  store {value.typed}, ptr {at}, align 8")


def compile_kernels(kernels: Sequence[RowKernel]) -> tuple[dict[str, int], Any]:
    """Addresses of kernels by name, and what must be kept alive for them to stay valid."""
    declared = sorted(set().union(*(kernel.declared for kernel in kernels)))
    engine = llvm.machine_code(
        "\n".join([*(kernel.text() for kernel in kernels), *declared]) + "\n"
    )
    return {kernel.name: engine.get_function_address(kernel.name) for kernel in kernels}, engine
