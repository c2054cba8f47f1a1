"""From the pieces of a run with derivatives to `Sensitivities`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from noslip.engines.system import Array
from noslip.sensitivities.forward_code import TangentCode
from noslip.sensitivities.request import SensitivityRequest
from noslip.sensitivities.result import Sensitivities
from noslip.sensitivities.segments import Piece, SegmentSettings
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.starts.completion import Start


def collect(
    request: SensitivityRequest,
    pieces: Sequence[Piece],
    settings: SegmentSettings,
    started: Start,
    outputs: Mapping[str, str],
) -> Sensitivities:
    """The trajectory of a run, and the derivatives at its samples.

    Parameters
    ----------
    request : what was asked for.
    pieces, settings : the run.
    started : the completed start.
    outputs : name → expression.
    """
    system = request.run.system
    read = [_read(piece, settings) for piece in pieces]
    results = [piece.result for piece in pieces]
    taken = ([r.steps, r.rejections, r.evaluations] for r in results)
    run = assemble(
        request.run,
        [segment for segment, _, _ in read],
        results[-1],
        started,
        [sum(each) for each in zip(*taken, strict=True)],
    )
    count, num_v = sum(len(v.values) for v in request.variables), len(system.speeds)
    # [values; derivatives, one column after the other]
    table = np.concatenate([found for _, _, found in read])
    num_out = num_v + len(outputs)
    derivatives = table[:, num_out:].reshape(len(table), count, num_out).transpose(0, 2, 1)
    return Sensitivities(
        run=run,
        names=tuple(name for v in request.variables for name in v.columns),
        units=tuple(v.unit for v in request.variables for _ in v.columns),
        coordinates=np.concatenate([q for _, q, _ in read]),
        speeds=derivatives[:, :num_v],
        outputs={name: table[:, num_v + k] for k, name in enumerate(outputs)},
        output_derivatives={name: derivatives[:, num_v + k] for k, name in enumerate(outputs)},
    )


def _read(piece: Piece, settings: SegmentSettings) -> tuple[Segment, Array, Array]:
    """The samples of a piece: as a trajectory takes them, derivatives of q, and outputs."""
    code, n, numbers = piece.code, piece.num_good, settings.numbers
    assert isinstance(code, TangentCode)
    loop = code.loop
    t, states = piece.result.times[:n], np.ascontiguousarray(piece.result.states[:n])
    base = np.ascontiguousarray(piece.result.inputs[:n])
    simulated = np.ascontiguousarray(states[:, : loop.num_simulated])
    own = np.ascontiguousarray(base[:, : len(numbers.base)])
    segment = Segment(
        system=loop.system,
        plan=code.plan(numbers),
        t=t,
        states=simulated,
        inputs=code.inputs.map(t, simulated, own, numbers.p),
        crossings=np.zeros((0, 2 + loop.num_simulated)),
    )
    num, num_q = loop.num_states, loop.system.kinematics.num_coordinates
    tangents = states[:, num:].reshape(n, states.shape[1] // num - 1, num)
    found = code.outputs.map(t, states, base, numbers.p)
    return segment, tangents[:, :, :num_q].transpose(0, 2, 1), found
