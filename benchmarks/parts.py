"""Vehicles of parts: reading and expanding a file, and on to compiled code, in CPU time.

The plain file that `noslip expand` writes gives the same model, so the compiled function has the
same operations; that is checked.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import noslip as ns
from measuring import Measure, leave, shortest

ROUNDS = 3


def operations(model: ns.Model) -> int:
    """Operations of a compiled right-hand side."""
    system = ns.compile(ns.derive(model))
    return len(system.program("rates", system.rates_expression).operations)


def main() -> None:
    measures, timings, checks = [], {}, {}
    names = [name for name, file in ns.MODELS.items() if file.endswith(".toml")]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            plain = Path(folder) / f"{name}.toml"
            model = ns.load(name)
            ns.save_model(model, plain)
            checks[name] = float(abs(operations(model) - operations(ns.load(plain))))
            calls = {
                "expand": lambda name=name: ns.load(name),
                "expand and compile": lambda name=name: ns.compile(ns.derive(ns.load(name))).rates,
            }
            least = shortest(calls, rounds=ROUNDS, clock=time.process_time)
            timings |= {f"{name}: {what}": s for what, s in least.items()}
            measures.append(
                Measure(
                    what=f"{name}: file of parts to compiled function",
                    value=least["expand and compile"],
                    unit="s",
                    below=0.3,
                    not_counted="the plain file has other operations" if checks[name] else "",
                )
            )
    leave("parts", measures, timings, checks=checks)


if __name__ == "__main__":
    main()
