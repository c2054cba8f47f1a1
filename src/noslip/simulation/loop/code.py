"""Machine code of loops, by their shapes."""

from __future__ import annotations

import functools
import hashlib
from ctypes import CFUNCTYPE, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from noslip.engines import stored_machine_code
from noslip.simulation.loop.loop import print_loop
from noslip.simulation.loop.shape import Shape
from noslip.simulation.loop.writer import LoopWriter

_CALL = CFUNCTYPE(None, c_void_p, c_void_p)
_PACKAGE = Path(__file__).parent.parent.parent
#: Files that the texts of loops are made from.
_SOURCES = (
    *("engines/flow.py", "engines/ir_writer.py", "simulation/loop", "simulation/dop853.py"),
    *("simulation/rules.py", "simulation/step_sizes.py"),
)


class LoopCode(NamedTuple):
    """A compiled loop: a function of the addresses of a record and of work, and words of work."""

    integrate: Any
    work_size: int
    engine: Any


@functools.lru_cache(maxsize=256)
def loop_code(shape: Shape) -> LoopCode:
    """The loop of a shape: loaded, or printed and compiled where that was never done before."""
    name = f"loop {shape} {sources_digest()}"
    engine = stored_machine_code(lambda: print_loop(shape), name=name)
    address = engine.get_function_address("integrate")
    return LoopCode(_CALL(address), LoopWriter(shape).f.work_size, engine)


@functools.cache
def sources_digest() -> str:
    """Digest of all source files that the texts of loops are made from."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        path = _PACKAGE / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
