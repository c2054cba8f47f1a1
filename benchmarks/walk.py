"""Files and functions that a motor torque passes through, from a model's file to its column.

    python benchmarks/walk.py [MODEL] [INPUT]

Loads a model, by default the guided vehicle, derives and compiles it, runs its scenario, and reads
one input of the run, while every call of a function of noslip is counted. Code that runs while a
module is imported does not count, nor do comprehensions; nothing is taken from the disk's store of
machine code, so that what prints it counts too. `docs/pipeline.md` and its test are written from
this.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

CO_OPTIMIZED = 1  # of functions; bodies of modules and classes lack it
#: The calls, in their order.
STAGES = ("load", "derive", "compile", "run_scenario", "column")


@dataclass(slots=True)
class Walk:
    """Functions that were called.

    Parameters
    ----------
    source : folder of the package.
    stage : that is counted now.
    files : file → the stage in which a function of it was called first.
    functions : of each file, by their qualified names.
    """

    source: str
    stage: str = ""
    files: dict[str, str] = field(default_factory=dict)
    functions: dict[str, set[str]] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.source):
            return
        file, name = code.co_filename[len(self.source) + 1 :], code.co_qualname
        if name in self.functions.get(file, ()) or not code.co_flags & CO_OPTIMIZED:
            return
        if name.endswith(("comp>", "genexpr>")) or is_importing(frame):
            return
        self.files.setdefault(file, self.stage)
        self.functions.setdefault(file, set()).add(name)

    @property
    def num_functions(self) -> int:
        """All functions that were called."""
        return sum(map(len, self.functions.values()))


def is_importing(frame: FrameType | None) -> bool:
    """Whether the body of a module is being run below a frame."""
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load":
            return True
        frame = frame.f_back
    return False


def follow(model: str = "agv", column: str = "torque1") -> Walk:
    """The walk from a model to the column of one of its inputs."""
    os.environ["NOSLIP_CACHE_DIR"] = ""
    import noslip as ns

    walk = Walk(str(Path(ns.__file__).parent))
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        walk.stage = "load"
        loaded = ns.load(model)
        walk.stage = "derive"
        equations = ns.derive(loaded)
        walk.stage = "compile"
        system = ns.compile(equations)
        walk.stage = "run_scenario"
        run = ns.run_scenario(system)
        walk.stage = "column"
        run[column]
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def main() -> None:
    walk = follow(*sys.argv[1:])
    for stage in STAGES:
        here = [file for file, first in walk.files.items() if first == stage]
        print(f"{stage}: {len(here)}")
        for file in here:
            print(f"  {file:<48} {len(walk.functions[file])}")
    print(f"{len(walk.files)} files, {walk.num_functions} functions")


if __name__ == "__main__":
    main()
