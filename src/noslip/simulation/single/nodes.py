"""The ends of the last steps, in a ring.

A node is a place where a step starts:

    [time, spoiled | y | end | K]

y is the state there, K the stages of the step from it, the first of them the rates at y, and end
that step's end before a projection. Where a motion may have breaks, one node is kept, that of the
present step. Else as many are kept as a polynomial needs, see `across.py`, and a step can be looked
at again; it is spoiled where steps of their own were taken within it, over its stages.
"""

from __future__ import annotations

from noslip.simulation.native import fused, reals
from noslip.simulation.single.setup import LANES


@fused
def enter_node(s, k):
    """Let s.node, s.y, s.end and s.K be those of node k."""
    s.node = s.nodes + 8 * (k & (s.num_nodes - 1)) * s.node_size
    s.y = s.node + 8 * LANES
    s.end = s.y + 8 * s.width
    s.K = s.end + 8 * s.width


@fused
def make_node(s, k, t):
    """Enter node k, which is at a time."""
    enter_node(s, k)
    reals(s.node)[0], reals(s.node)[1] = t, 0.0


@fused
def spoil(s):
    """Note that the stages of the step from s.node are written over."""
    reals(s.node)[1] = 1.0


@fused
def is_spoiled(s):
    """Whether they are."""
    return reals(s.node)[1] != 0.0


@fused
def time_of(s, k):
    """Time of node k."""
    return reals(s.nodes)[(k & (s.num_nodes - 1)) * s.node_size]
