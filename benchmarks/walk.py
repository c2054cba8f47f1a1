"""Which source files a model passes through, from its file to a plot, in order of first call.

    python benchmarks/walk.py [MODEL] [INPUT]

Follows the guided vehicle, by default from a model file, through load, derive, compile,
run_scenario and a plot of its inputs, and lists each source file of noslip at the stage in which a
function of it is first called. Code that runs while a module is imported does not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

CO_OPTIMIZED = 1  # of functions; bodies of modules and classes lack it


class Walk:
    """Files in order of first call, each with the stage and the function that were first."""

    def __init__(self, source: Path) -> None:
        self.source = str(source)
        self.stage = ""
        self.files: dict[str, tuple[str, str]] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.source):
            return
        name = code.co_filename[len(self.source) + 1 :]
        if name in self.files or not code.co_flags & CO_OPTIMIZED or is_importing(frame):
            return
        self.files[name] = (self.stage, code.co_qualname)


def is_importing(frame: FrameType | None) -> bool:
    """Whether the body of a module is being run below a frame."""
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load":
            return True
        frame = frame.f_back
    return False


def follow(model: str, column: str) -> Walk:
    """Walk from a model to the plot of one of its inputs."""
    os.environ["NOSLIP_CACHE_DIR"] = ""  # code from the disk would skip the files that print it
    import matplotlib

    matplotlib.use("Agg")
    import noslip as ns

    walk = Walk(Path(ns.__file__).parent)
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
        getattr(run, "trajectory", run)[column]
        walk.stage = "plot"
        ns.plot(run, "inputs")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def main() -> None:
    model, column = [*sys.argv[1:], *("", "torque1")[len(sys.argv) - 1 :]]
    if not model:
        from noslip import load, save_model

        folder = tempfile.TemporaryDirectory()
        model = str(Path(folder.name) / "agv.toml")
        save_model(load("agv"), model)
    walk = follow(model, column)
    for stage in dict.fromkeys(stage for stage, _ in walk.files.values()):
        here = [(name, first) for name, (s, first) in walk.files.items() if s == stage]
        print(f"{stage}: {len(here)}")
        for name, first in here:
            print(f"  {name:<44} {first}")
    print(f"{len(walk.files)} files")


if __name__ == "__main__":
    main()
