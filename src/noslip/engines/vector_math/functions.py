"""The functions as LLVM text: those that are written here, and those of the C library, in lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from noslip.engines.ir_writer import Value, Writer, vector_type
from noslip.engines.vector_math import angles, circular, exponential

Body = Callable[..., list[Value]]

#: How each function is computed, and of how many vectors.
BODIES: dict[str, tuple[Body, int]] = {
    "sincos": (circular.sincos, 1),
    "tan": (circular.tan, 1),
    "asin": (angles.asin, 1),
    "acos": (angles.acos, 1),
    "atan": (angles.atan, 1),
    "atan2": (angles.atan2, 2),
    "exp": (exponential.exp, 1),
    "expm1": (exponential.expm1, 1),
    "log": (exponential.log, 1),
    "sinh": (exponential.sinh, 1),
    "cosh": (exponential.cosh, 1),
    "tanh": (exponential.tanh, 1),
}
#: Functions that ask the C library for far angles, and what they ask for.
FAR_ANGLES = {"sincos": ("sin", "cos"), "tan": ("tan",)}


def vector_functions(
    own: Iterable[str],
    library: dict[str, int],
    lanes: int,
    *,
    is_inline: bool,
    declared: Iterable[str] = (),
) -> list[str]:
    """LLVM text of vector functions and of what they need.

    Parameters
    ----------
    own : names from BODIES; each becomes a function ``lanes_<name>``.
    library : functions of the C library, with the number of their arguments; each becomes a
        function ``each_<name>``, which calls it for every lane.
    lanes : numbers in a vector.
    is_inline : whether their code is written into that of their callers.
    declared : what the caller declares besides; each line is written once.
    """
    own, lines = sorted(set(own)), set(declared)
    far = {name: FAR_ANGLES[name] for name in own if name in FAR_ANGLES}
    library = library | {asked: 1 for names in far.values() for asked in names}
    text = [_far(name, asked, lanes) for name, asked in far.items()]
    for name in own:
        body, count = BODIES[name]
        writer = Writer(lanes)
        arguments = [writer.argument(letter) for letter in "ab"[:count]]
        results = body(writer, *arguments)
        text.append(writer.function(f"lanes_{name}", arguments, results, is_inline))
        lines |= writer.declared
    for name, count in sorted(library.items()):
        text.append(_each(name, count, lanes))
        doubles = ", ".join(["double"] * count)
        lines.add(f"declare double @{name}({doubles}) readnone nounwind willreturn")
    return [*text, *sorted(lines)]


def _far(name: str, asked: tuple[str, ...], lanes: int) -> str:
    """What a function of far angles returns, by the C library."""
    vector = vector_type(lanes)
    returned = f"{{ {', '.join([vector] * len(asked))} }}"
    lines = [f"define internal {returned} @far_{name}({vector} %a) nounwind noinline cold {{"]
    result = "poison"
    for k, library in enumerate(asked):
        lines.append(f"  %y{k} = call {vector} @each_{library}({vector} %a)")
        lines.append(f"  %r{k} = insertvalue {returned} {result}, {vector} %y{k}, {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {returned} {result}", "}"])


def _each(name: str, count: int, lanes: int) -> str:
    """A library function called for every lane."""
    vector, letters = vector_type(lanes), "ab"[:count]
    arguments = ", ".join(f"{vector} %{letter}" for letter in letters)
    head = f"define internal {vector} @each_{name}({arguments}) nounwind"
    if lanes == 1:
        body = f"  %y = call double @{name}({arguments})\n  ret double %y"
        return f"{head} alwaysinline {{\n{body}\n}}"
    lines, result = [f"{head} noinline {{"], "poison"
    for k in range(lanes):
        for letter in letters:
            lines.append(f"  %{letter}{k} = extractelement {vector} %{letter}, i64 {k}")
        listed = ", ".join(f"double %{letter}{k}" for letter in letters)
        lines.append(f"  %y{k} = call double @{name}({listed})")
        lines.append(f"  %r{k} = insertelement {vector} {result}, double %y{k}, i64 {k}")
        result = f"%r{k}"
    return "\n".join([*lines, f"  ret {vector} {result}", "}"])
