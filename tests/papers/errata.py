"""Errors of the papers: the printed form fails, by how much, and the corrected form holds.

Every test of test_errata_*.py puts a formula as printed, the formula as corrected, and what the
library computes at the same state side by side. The library knows none of these formulas: it traces
the mechanism, and its numbers are those of tests/papers/data, which were computed by other means.
The page for readers is docs/errata.md. Here is what these tests share.
"""

import functools
import math

import casadi as ca
import numpy as np
import pytest
from reference_models import load

import noslip as ns

ROUNDING = 1e-12  # of the largest entry
MOTION = 1e-9  # m, m/s, rad, rad/s: motions at tolerance 1e-13


@functools.cache
def system(source, formulation=ns.NaturalComplement):
    model = source() if callable(source) else load(source)
    return ns.compile(ns.derive(model, formulation()))


class At:
    """A mechanism at a state: what the library says there, and traced expressions as numbers."""

    def __init__(self, source, state, inputs=None, parameters=None, by=ns.NaturalComplement):
        self.system = system(source, by)
        self.kin, self.equations = self.system.kinematics, self.system.equations
        self.params = self.system.parameters(parameters)
        given = inputs or {}
        self.inputs = np.array([given.get(i.name, 0.0) for i in self.system.inputs])
        self.instant = ns.evaluate(self.system, state, inputs=given, parameters=parameters)
        num_u, num_w = len(self.system.model.inputs), len(self.system.model.speed_inputs)
        self.start = ns.complete_start(
            self.system,
            state,
            speed_inputs=lambda q: self.inputs[num_u : num_u + num_w],
            parameters=self.params,
        )

    def parameter(self, *names):
        known = [p.name for p in self.system.model.parameters]
        return [self.params[known.index(name)] for name in names]

    def numbers(self, *expressions, v=None):
        """Values of traced expressions of q, η, μ, inputs, parameters and of tree speeds."""
        s, eq = self.kin.symbols, self.equations
        arguments = [s.t, s.q, self.kin.eta, eq.costates, eq.inputs, s.params, s.v]
        f = ca.Function("f", arguments, [ca.densify(ca.SX(e)) for e in expressions])
        speeds = self.start.v if v is None else v
        start = self.start
        values = (0.0, start.q, start.eta, start.mu, self.inputs, self.params, speeds)
        found = [np.array(x) for x in f.call([ca.DM(x) for x in values])]
        found = [x.ravel() if 1 in x.shape else x for x in found]
        return found[0] if len(found) == 1 else found

    def rate(self, expression):
        """The rate along the motion of an expression of q, traced."""
        q_dot = ca.mtimes(self.kin.N, self.kin.v)
        rate = ca.jtimes(ca.vec(ca.densify(expression)), self.kin.symbols.q, q_dot)
        return ca.reshape(rate, expression.shape)

    def speed(self, *names):
        return np.array([self.instant.speeds[n] for n in names])

    def acceleration(self, *names):
        return np.array([self.instant.accelerations[n] for n in names])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def size(*arrays):
    return max(float(np.max(np.abs(a), initial=0.0)) for a in arrays)


def compare(*, printed, corrected, library, off, scale=None):
    """The corrected form is what the library computes, the printed one is off by this much."""
    scale = size(library) if scale is None else scale
    assert size(np.subtract(corrected, library)) <= ROUNDING * scale
    assert size(np.subtract(printed, library)) == pytest.approx(off, rel=0.01)


def arm(joints):
    """A posture and rates of an arm."""
    angles = (0.3, -0.8, 0.6, 0.4, 0.9, -0.5)[:joints]
    rates = (0.7, -1.1, 0.5, -0.9, 1.3, 0.8)[:joints]
    state = {f"joint{k}.angle": q for k, q in enumerate(angles, 1)}
    return state | {f"joint{k}.rate": r for k, r in enumerate(rates, 1)}


#: States of the vehicles of [DeSantis1994].
TRACTOR = {"tractor.angle": 0.3, "hinge.angle": 0.25, "steer.angle": 0.2, "tractor.vx": 2.0}
STEERING = {"steering_rate": 0.05}
LHD = {"front.angle": 0.3, "waist.angle": 0.25, "front.vx": 2.0, "front.vy": 0.3}
LHD |= {"front.rate": -0.2, "waist.rate": 0.4}
NO_TIRES = {"C1": 0.0, "C2": 0.0}


def sleigh(state, inputs=None, by=ns.NaturalComplement):
    names = {"phi": "angle", "s_dot": "vx", "phi_dot": "rate"}
    given = {f"sleigh.{names[k]}": v for k, v in state.items() if k in names}
    given |= {"costate.blade.lateral": state["lam"]} if "lam" in state else {}
    return At("chaplygin-sleigh", given, inputs, by=by)


def sleigh_letters(at):
    m, a, inertia = at.parameter("m", "a", "I")
    return m, a, inertia, math.sqrt(a**2 + inertia / m)
