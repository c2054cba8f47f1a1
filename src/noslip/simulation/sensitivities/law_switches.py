"""Switches of a law that makes inputs: saturation, dead zones, rate limits.

    (1)  min(a, b) and max(a, b) switch where g = a − b is zero,  |a| where a is

Inputs are continuous there, their derivatives jump: derivatives of a motion are continuous, too,
but no step may cross the switch, or the adjoint of the step is wrong to first order of its size.
The times at which g changes its sign are found before, by samples that close in on them; steps end
a hair before and begin a hair behind them. What rounds has no derivative that says anything, and is
refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import NativeFunction, Operation, Program, System, compile_native, trace_program
from noslip.simulation.native_run import NativeRun
from noslip.simulation.sensitivities.closed_loop import ClosedLoop
from noslip.simulation.sensitivities.segments import Code, SegmentSettings, run_segments

#: Samples of a run in which switches are looked for, and how often they close in.
SAMPLES, PASSES = 1001, 4
#: Part of the run by which steps end before a switch and begin after it.
ASIDE = 1e-9
#: Switches beyond which a run is left to its steps.
MOST = 200


def check_rounding(loop: ClosedLoop) -> None:
    """Refuse a law that rounds what it sees of the state."""
    if loop.generator is not None and loop.generator.is_rounded:
        raise SimulationError(
            "the law rounds its measurements, which cannot be differentiated",
            f"inputs of model '{loop.system.model.name}'",
            "take the derivatives without rounding: sensors with quantum=0",
        )


def has_switches(loop: ClosedLoop) -> bool:
    """Whether a law has switches that depend on the state."""
    return loop.generator is not None and bool(_zeros(loop).outputs)


def with_switches(
    code_of: Callable[[System], Code],
    system: System,
    state: Array,
    settings: SegmentSettings,
) -> SegmentSettings:
    """Settings of a run whose steps end where its law switches.

    Parameters
    ----------
    code_of, system, state, settings : of the run, see :func:`run_segments`.
    """
    loop = code_of(system).loop
    if not has_switches(loop):
        return settings
    run = settings.run
    times = np.linspace(run.start_time, run.end_time, SAMPLES)
    found, widest = np.zeros(0), 0.0
    for k in range(PASSES):
        numbers = settings.numbers.with_knots(found)
        sampled = dataclasses.replace(settings, run=run._replace(times=times), numbers=numbers)
        brackets = _brackets(code_of, system, state, sampled)
        if k and len(brackets) != len(found):
            break  # closer than the run itself is exact
        if not 0 < len(brackets) <= MOST:
            return settings
        found = brackets.mean(axis=1)
        widest = float(np.max(brackets[:, 1] - brackets[:, 0]))
        # a switch may be beside its bracket by what the run before was wrong
        wide = brackets + np.outer(brackets[:, 1] - brackets[:, 0], [-2.0, 2.0])
        inner = max(201, SAMPLES // len(brackets))
        closer = np.concatenate([np.linspace(a, b, inner) for a, b in wide])
        times = np.unique(np.clip(closer, run.start_time, run.end_time))
    # a stage on the switch itself would take the derivative of either side
    aside = max(2 * widest, ASIDE * (run.end_time - run.start_time))
    knots = np.concatenate([found - aside, found + aside])
    inside = (knots > run.start_time) & (knots < run.end_time)
    return dataclasses.replace(settings, numbers=settings.numbers.with_knots(knots[inside]))


def _brackets(
    code_of: Callable[[System], Code], system: System, state: Array, settings: SegmentSettings
) -> Array:
    """(n, 2) pairs of neighboring samples between which some g changes its sign."""
    pieces = run_segments(code_of, system, state, settings, NativeRun.go)
    found: list[tuple[float, float]] = []
    functions: dict[int, NativeFunction] = {}
    for piece in pieces:
        loop, result = piece.code.loop, piece.result
        if id(loop) not in functions:
            functions[id(loop)] = compile_native([_zeros(loop)])["switches"]
        num, size = piece.num_good, loop.num_states
        if num < 2:
            continue
        values = np.array(
            [
                functions[id(loop)](
                    t, x[:size], settings.numbers.base_at(float(t)), settings.numbers.p
                )
                for t, x in zip(result.times[:num], result.states[:num], strict=True)
            ]
        )
        changes = np.any((values[1:] > 0) != (values[:-1] > 0), axis=1)
        found += [
            (float(result.times[k]), float(result.times[k + 1])) for k in np.flatnonzero(changes)
        ]
    return np.array(found).reshape(-1, 2)


def _zeros(loop: ClosedLoop) -> Program:
    """The program of all g of (1) that depend on the state."""
    assert loop.generator is not None
    made = ca.vertcat(loop.inputs, loop.rates[loop.system.num_states :, :])
    program = _traced(loop, ca.densify(made))
    operations, zeros = list(program.operations), []
    for (kind, operands), depends in zip(program.operations, _of_state(program), strict=True):
        if kind == "abs" and depends:
            zeros.append(operands[0])
        elif kind in ("min", "max") and depends:
            operations.append(Operation("sub", operands))
            zeros.append(program.num_given + len(operations) - 1)
    return dataclasses.replace(program, operations=tuple(operations), outputs=tuple(zeros))


def _traced(loop: ClosedLoop, expression: ca.SX) -> Program:
    return trace_program("switches", [loop.t, loop.y, loop.base, loop.p], expression)


def _of_state(program: Program) -> list[bool]:
    """Whether each operation depends on the state."""
    first, num = program.input_sizes[0], program.input_sizes[1]
    known = [first <= k < first + num for k in range(program.num_given)]
    for _, operands in program.operations:
        known.append(any(known[k] for k in operands))
    return known[program.num_given :]
