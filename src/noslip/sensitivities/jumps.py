"""Where a closed loop changes at once: to other independent speeds, and when a law looks again.

other speeds   [q; η; …] → [q; E v; …]       the same motion, carried over through v
a sampled law  [x; z; c] → [x; update; c]
"""

from __future__ import annotations

import casadi as ca

from noslip.engines.system import System
from noslip.sensitivities.closed_loop import ClosedLoop


def carried_over(loop: ClosedLoop, there: System) -> ca.SX:
    """y in the speeds of another system, as an expression of this one's."""
    kin = loop.system.kinematics
    names = [s.name for s in kin.speeds]
    chosen = [names.index(s.name) for s in there.independent_speeds]
    num_q, num_f = kin.num_coordinates, kin.num_independent_speeds
    speeds = ca.densify(loop.put_in(kin.v))[chosen, :]
    return ca.vertcat(loop.y[:num_q, :], speeds, loop.y[num_q + num_f :, :])


def looked_again(loop: ClosedLoop) -> ca.SX:
    """y after an update of a sampled law."""
    assert loop.generator is not None and loop.generator.update is not None
    num = loop.system.num_states
    rest = loop.y[num + loop.generator.states.shape[0] :, :]
    return ca.vertcat(loop.y[:num, :], loop.generator.update, rest)
