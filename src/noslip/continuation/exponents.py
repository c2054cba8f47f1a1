"""`lyapunov_exponents`: how fast neighboring motions part, all exponents with their errors.

With x = X(w) and w the coordinates that matter and the speeds, as in `periodic.py`, a basis Q of
neighbors is carried by the exact derivative of the flow over spans of τ, and made orthonormal again
[BenettinGalganiGiorgilliStrelcyn1980],

    (1)  Φ′(w_k, τ) Q_k = Q_{k+1} R_{k+1},      λ_j = 1/(n τ) Σ_k log R_{k,jj}

Their sum is the mean divergence of the flow in w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from noslip.analysis import RelevantState
from noslip.base import ArgumentError, Array, SimulationError
from noslip.continuation.periodic import check_values, read_task, start_of
from noslip.engines import System, require_system
from noslip.simulation import Start, flow_map

#: Spans, unless another number is asked for.
SPANS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LyapunovExponents:
    """Lyapunov exponents of a motion. Made by :func:`lyapunov_exponents`."""

    model: str
    values: Array  #: (k,) exponents, 1/s, the largest first
    deviations: Array  #: (k,) standard errors of the mean, over batches of spans
    times: Array = field(repr=False)  #: (n,) ends of the spans, s
    history: Array = field(repr=False)  #: (n, k) exponents up to these times
    states: tuple[str, ...] = ()  #: names of the coordinates that matter and the speeds

    @property
    def dimension(self) -> float:
        """Kaplan–Yorke dimension of the attractor."""
        sums = np.cumsum(self.values)
        if not sums.size or sums[0] < 0.0:
            return 0.0
        count = int(np.max(np.flatnonzero(sums >= 0.0))) + 1
        if count == len(sums):
            return float(count)
        return float(count + sums[count - 1] / abs(self.values[count]))

    def text(self) -> str:
        """The exponents for people."""
        lines = [f"{self.model}: Lyapunov exponents [1/s] over {self.times[-1]:g} s"]
        lines += [
            f"  {x: .6g} ± {d:.2g}" for x, d in zip(self.values, self.deviations, strict=True)
        ]
        lines.append(f"  sum {float(np.sum(self.values)):.9g}, the mean divergence")
        lines.append(f"  Kaplan–Yorke dimension {self.dimension:.4g}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain numbers and lists."""
        return {
            "model": self.model,
            "states": list(self.states),
            "values": self.values.tolist(),
            "deviations": self.deviations.tolist(),
            "duration": float(self.times[-1]),
            "dimension": self.dimension,
        }

    def __repr__(self) -> str:
        listed = ", ".join(f"{x:.4g}" for x in self.values)
        return (
            f"LyapunovExponents of '{self.model}': {listed} 1/s\n"
            "next: .text(), .values, .deviations, .history, .dimension"
        )


def lyapunov_exponents(
    system: System,
    start: Mapping[str, float] | Start | None = None,
    *,
    duration: float,
    spans: int = SPANS,
    settle: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    definitions: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    start_time: float = 0.0,
    rtol: float = 1e-9,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> LyapunovExponents:
    """Mean rates at which neighboring motions part, all of them: the Lyapunov spectrum.

    What nothing depends on, such as a place and a heading, is left out.

    Parameters
    ----------
    system : compiled system.
    start : values by name, completed consistently, or a completed start.
    duration : time that is averaged over, s.
    spans : number of times that neighbors are made orthonormal again.
    settle : time before that, in which a motion comes to its attractor, s.
    inputs : numbers, expressions of t, coordinates and speeds, or a :class:`Table`, by name.
    definitions, parameters, start_time : arguments of :func:`simulate`.
    rtol : relative and absolute tolerance of the runs.
    progress : function that is called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and exponents up to then are returned.

    Raises
    ------
    SimulationError : for unknown names, and for a motion that ends.
    """
    require_system("lyapunov_exponents", system)
    where = f"Lyapunov exponents of model '{system.model.name}'"
    check_values(
        where, duration=duration, settle=settle, rtol=rtol, start_time=start_time, spans=spans
    )
    if not (start is None or isinstance(start, Mapping | Start)):
        raise ArgumentError(
            f"start is of type {type(start).__name__}", where, "pass names and values, or a Start"
        )
    if not 0.0 < duration < 1e9 or not 0.0 <= settle < 1e9 or not 2 <= spans <= 1_000_000:
        raise ArgumentError(
            f"the duration is {duration:g} s, settle {settle:g} s, and there are {spans} spans",
            where,
            "give a positive duration, settle of zero or more, and 2 spans or more",
        )
    task = read_task(
        system,
        period=1.0,
        given=None,
        inputs=inputs,
        definitions=definitions,
        parameters=parameters,
        start_time=start_time,
    )
    u, params = task.numbers()
    begun = start_of(task, start)
    options: dict[str, Any] = {
        "inputs": task.inputs,
        "definitions": task.definitions,
        "parameters": task.parameters,
        "rtol": rtol,
        "atol": rtol,
    }
    time = task.start_time
    span = duration / spans
    spectrum: list[Array] = []
    names: tuple[str, ...] = ()
    waiting = int(np.ceil(settle / span)) if settle else 0
    carried: tuple[Array, Array] | None = None
    for k in range(waiting + spans):
        if cancel is not None and cancel.is_set() and spectrum:
            break
        # local coordinates that are regular where the span begins
        state = RelevantState(task.system, begun, u, params, task.used(), {})
        names = tuple(q.name for q in state.quantities)
        if carried is None:
            basis = state.neighbors(state.first, params)
        else:
            _, _, basis = state.local(*carried, params)
        here, X = state.start(state.first, params)
        flow = flow_map(state.system, here, X @ basis, duration=span, start_time=time, **options)
        w, _, moved = state.local(flow.last, flow.tangents, params)
        Q, R = np.linalg.qr(moved)
        if k >= waiting:
            spectrum.append(np.log(np.abs(np.diag(R))) / span)
        time += span
        there, X = state.start(w, params)
        begun = replace(there, time=time)
        carried = np.concatenate([there.q, there.eta, there.mu]), X @ Q
        if progress is not None:
            progress((k + 1) / (waiting + spans))
    table = np.array(spectrum)
    if not np.all(np.isfinite(table)):
        raise SimulationError(
            "neighbors of the motion have no finite distance", where, "take shorter spans: spans=…"
        )
    mean = table.mean(axis=0)
    order = np.argsort(-mean)
    parts = np.array_split(table, min(10, len(table)))
    means = np.array([part.mean(axis=0) for part in parts])
    deviation = means.std(axis=0, ddof=1) / np.sqrt(len(parts))
    counts = np.arange(1, len(table) + 1)
    return LyapunovExponents(
        model=system.model.name,
        values=mean[order],
        deviations=deviation[order],
        times=np.asarray(counts * span, dtype=float),
        history=(np.cumsum(table, axis=0) / counts[:, None])[:, order],
        states=names,
    )
