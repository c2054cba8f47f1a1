"""Steps of DOP853 in plain NumPy, for any model: what native code is compared with."""

import numpy as np

import noslip as ns
from noslip.simulation.loop import dop853


def plain_steps(system, given):
    """State at a start, its rates without inputs, and one step from (t, y) by h."""
    begin = ns.complete_start(system, given)
    num_work = system.num_states - len(begin.q) - len(begin.eta)
    inputs, parameters = np.zeros(len(system.inputs)), system.parameters()

    def rates(t, y):
        return system.rates(t, y, inputs, parameters)[: len(y)].copy()

    def step(t, y, h):
        K = np.zeros((dop853.NUM_STAGES, len(y)))
        for s in range(dop853.NUM_STAGES):
            K[s] = rates(t + dop853.C[s] * h, y + h * dop853.A[s, :s] @ K[:s])
        return y + h * dop853.B @ K

    return np.concatenate([begin.q, begin.eta, np.zeros(num_work)]), rates, step
