"""How long the studio computes when a slider is moved, for every model of the library.

A session without a page is given one value of a parameter after another. Counted is the time from
the choice to the samples of the run (what is compiled once, when the model is chosen, is not), and
beside it the time until the pictures of the run are made as well. The last run is compared with
one by the functions alone.
"""

from __future__ import annotations

import time

import numpy as np

import noslip as ns
from measuring import Measure, leave
from noslip.control.controlled_runs import run_scenario
from noslip.library import MODELS
from noslip.studio.choice import ModelCatalog
from noslip.studio.session import Session

#: Values of the slider, and s of computing that a model may take.
MOVES, TARGET = 15, 0.1


class SessionView:
    """Notes when a run was shown and what it took."""

    def __init__(self) -> None:
        self.runs: list[tuple[float, object]] = []

    def show_run(self, shown: object, ghost: object) -> None:
        self.runs.append((time.perf_counter(), shown))

    def show_faults(self, faults: tuple[object, ...]) -> None:
        if faults:
            raise RuntimeError(str(faults))

    def show_controls(self, *_: object) -> None: ...

    def show_audit(self, *_: object) -> None: ...

    def show_drive_start(self, *_: object) -> None: ...

    def show_file_faults(self, *_: object) -> None: ...


def main() -> None:
    catalog = ModelCatalog()
    seconds: dict[str, float] = {}
    checks: dict[str, float] = {}
    measures = []
    for name in MODELS:
        view = SessionView()
        session = Session(catalog, name, view)
        session.start()
        session.join(120.0)
        knob = session.controls.groups["parameters"][0]
        computed, shown = [], []
        for k in range(MOVES):
            begin = time.perf_counter()
            session.set_value(knob.name, knob.value * (1 + 0.002 * (k + 1)))
            while len(view.runs) < k + 2:
                time.sleep(0.0005)
            at, run = view.runs[-1]
            computed.append(run.compute)
            shown.append(at - begin)
        session.close()
        last = view.runs[-1][1]
        own = run_scenario(ns.compile(ns.derive(ns.load(name))), changes=last.choice.changes)
        error = float(np.max(np.abs(own.q - last.run.q)))
        seconds |= {f"{name}: run": min(computed), f"{name}: pictures": min(shown)}
        checks[name] = error
        wrong = "" if error == 0.0 else f"differs from a run of its own by {error:.1e}"
        measures.append(
            Measure(
                what=f"studio, {name}: a slider to the run",
                value=min(computed),
                unit="s",
                below=TARGET,
                not_counted=wrong,
            )
        )
    leave("studio", measures, seconds, checks=checks)


if __name__ == "__main__":
    main()
