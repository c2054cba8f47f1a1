"""Admissible states, random but always the same, and traced expressions as numbers there."""

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from noslip import Equations, Kinematics


@dataclass(frozen=True)
class State:
    """Time, coordinates, independent speeds, tree speeds, inputs and parameters, consistent."""

    t: float
    q: np.ndarray
    eta: np.ndarray
    v: np.ndarray
    u: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    params: np.ndarray


def numeric(equations: Equations, *expressions: ca.SX, tree_speeds: bool = False) -> ca.Function:
    """A function of t, q, η (or v), u, w, ẇ and parameters."""
    kin = equations.kinematics
    s = kin.symbols
    speeds = s.v if tree_speeds else kin.eta
    arguments = [s.t, s.q, speeds, s.u, s.w, s.wdot, s.params]
    return ca.Function("f", arguments, [ca.densify(e) for e in expressions])


def at(function: ca.Function, state: State, *, tree_speeds: bool = False) -> list[np.ndarray]:
    """Values of all outputs of a function made by `numeric`; columns as vectors."""
    speeds = state.v if tree_speeds else state.eta
    arguments = (state.t, state.q, speeds, state.u, state.w, state.wdot, state.params)
    return [np.array(e) for e in function.call([ca.DM(a) for a in arguments])]


@lru_cache(maxsize=128)
def _configurations(kin: Kinematics, count: int) -> list[tuple[float, np.ndarray]]:
    return kin.probe.configurations(count)


def admissible_states(
    equations: Equations, rng: np.random.Generator, count: int = 4
) -> list[State]:
    """Random speeds and inputs at the generic configurations that satisfy g = 0."""
    kin = equations.kinematics
    speeds = numeric(equations, kin.v)
    states = []
    for t, q in _configurations(kin, count):
        eta = rng.normal(size=kin.num_independent_speeds)
        inputs = [
            rng.normal(size=s.shape[0]) for s in (kin.symbols.u, kin.symbols.w, kin.symbols.wdot)
        ]
        state = State(t, q, eta, np.zeros(0), *inputs, kin.probe.params)
        (v,) = at(speeds, state)
        states.append(State(t, q, eta, v.ravel(), *inputs, kin.probe.params))
    return states
