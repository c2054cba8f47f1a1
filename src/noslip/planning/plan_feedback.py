"""Feedback that holds an unstable motion on its plan: gains over time, part of the plan.

The collocation's own equations, differentiated at the solution, carry small errors on:

    (1)  δx_{i+1} = F_i δx_i + G_i δc_i

with F_i and G_i as exact as the plan itself. Where a product of F_i grows by more than `GROWTH`,
what an open replay misses says nothing of the plan: rounding alone would tip a bicycle over. The
least Σ δxᵀQδx + δcᵀRδc gives, backward from the end,

    (2)  δc_i = −K_i δx_i,   K = (R + GᵀPG)⁻¹GᵀPF,   P ← Q + FᵀP(F − GK)

and the replay is given c = c_i − K_i (x − x̂(t)) within the limits of the inputs, with x̂ the
collocation's polynomial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import step_table
from noslip.base import Array
from noslip.engines import System
from noslip.planning.transcription import DEGREE, Transcription, motion_states
from noslip.simulation import AbstractInputLaw, InputGenerator, read_expression

#: Growth of errors in the course of a motion, each against the size of its state, that is unstable.
GROWTH = 300.0
#: Smallest size of a state, in its unit.
SMALLEST = 0.1
#: Weight of errors at the end beside those on the way.
AT_END = 30.0
#: Weight of inputs, each against its size, beside that of errors.
INPUTS = 0.1


class SmallErrors(NamedTuple):
    """F (N, nx, nx) and G (N, nx, nc) of (1), and x̂: coefficients (N, d + 1, nx), highest first."""

    F: Array
    G: Array
    polynomials: Array


def linearized(t: Transcription, w: Array, steps: Array) -> SmallErrors:
    """The collocation's equations, differentiated at a solution."""
    n, nx, nc, d = t.num_intervals, t.nx, t.nc, DEGREE
    code, block = t.motion.code, t.motion
    entries = code.jacobian(w[block.variables], block.data)
    dense = np.zeros((n * d, nx + 1, nx + nc + 1))
    dense[:, code.row_of, code.column_of] = entries
    slopes = dense[:, :nx].reshape(n, d, nx, -1)
    # Σ_r C_rj δx_r + ∂(−h f)/∂x δx_j + ∂(−h f)/∂c δc = 0
    inner = np.zeros((n, d, nx, d, nx))
    eye = np.eye(nx)
    for j in range(d):
        for r in range(d):
            inner[:, j, :, r] = t.slopes[r + 1, j + 1] * eye
        inner[:, j, :, j] += slopes[:, j, :, :nx]
    first = np.stack([t.slopes[0, j + 1] * eye for j in range(d)])
    given = np.concatenate(
        [np.broadcast_to(first, (n, d, nx, nx)), slopes[..., nx : nx + nc]], axis=3
    )
    found = -np.linalg.solve(inner.reshape(n, d * nx, d * nx), given.reshape(n, d * nx, nx + nc))[
        :, -nx:
    ]
    points = w[t.points]
    powers = np.linalg.inv(np.vander(t.tau))  # of the time over the step
    polynomials = np.einsum("kr,nrx->nkx", powers, points)
    polynomials /= steps[:, None, None] ** np.arange(d, -1, -1)[None, :, None]
    return SmallErrors(found[..., :nx], found[..., nx:], polynomials)


def growth(F: Array, sizes: Array) -> float:
    """Largest factor by which an error grows from a node to a later one."""
    scaled = F * sizes / sizes[:, None]
    most, product = 1.0, np.eye(len(sizes))
    for step in scaled:
        product = step @ product
        most = max(most, float(np.linalg.norm(product, 2)))
    return most


def regulated(lin: SmallErrors, steps: Array, sizes: Array, input_sizes: Array) -> Array:
    """(N, nc, nx) gains K of (2)."""
    Q = np.diag(1 / sizes**2)
    P = AT_END * Q
    gains = np.zeros((len(steps), len(input_sizes), len(sizes)))
    for i in range(len(steps) - 1, -1, -1):
        F, G = lin.F[i], lin.G[i]
        R = INPUTS * steps[i] * np.diag(1 / input_sizes**2)
        gains[i] = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        P = steps[i] * Q + F.T @ P @ (F - G @ gains[i])
        P = (P + P.T) / 2
    return gains


@dataclass(frozen=True, slots=True, eq=False)
class PlanFeedback(AbstractInputLaw):
    """c = c_i − K_i (x − x̂(t)) within limits."""

    plant: System  #: the system of the plan
    at: tuple[int, ...]  #: (nx,) places of x among all states of the motion
    #: names, controls: names of x and of c, rates of given speeds last
    names: tuple[str, ...]
    controls: tuple[str, ...]
    nodes: Array  #: (N + 1,) s
    polynomials: Array  #: (N, d + 1, nx) x̂ in the time since each node, highest power first
    inputs: Array  #: (N, nc) c_i
    bounds: Array  #: (nc, 2) of c
    gains: Array  #: (N, nc, nx)

    def generator(self, system: System) -> InputGenerator:
        """Rows of the table are intervals: start, polynomials, inputs and gains."""
        n, degree, nx = self.polynomials.shape
        nc = len(self.controls)
        parts = [self.nodes[:-1], self.polynomials, self.inputs, self.gains]
        table = np.concatenate([part.reshape(n, -1) for part in parts], axis=1)
        kin, plant = system.kinematics, self.plant
        row = step_table(self.nodes[:-1].tolist(), table).traced(kin.symbols.t)
        since = kin.symbols.t - row[0]
        rest = ca.vertcat(*row[1:])
        powers = ca.reshape(rest[: degree * nx], nx, degree)
        planned = powers[:, 0]
        for k in range(1, degree):
            planned = planned * since + powers[:, k]
        inputs = rest[degree * nx : degree * nx + nc]
        gains = ca.reshape(rest[degree * nx + nc :], nx, nc).T
        given = [i.name for i in plant.model.speed_inputs]
        leads = ca.SX.sym("lead", len(given))
        of_input = [self.names.index(name) for name in given]
        w = planned[of_input] + leads if given else ca.SX(0, 1)
        own = {s.name: kin.eta[k] for k, s in enumerate(kin.independent_speeds)}
        eta = [
            own[s.name] if s.name in own else read_expression(system, s.name, "feedback of a plan")
            for s in plant.independent_speeds
        ]
        first = len(system.coordinates) + len(system.independent_speeds)
        forces = system.equations.state[first:]
        states = motion_states(plant)
        all_x = states.of_system(ca.vertcat(kin.symbols.q, *eta, forces, w, kin.symbols.t))
        error = ca.vertsplit(ca.substitute(all_x[list(self.at)], kin.symbols.w, w) - planned)
        for k, name in enumerate(self.names):
            if name in states.angles:  # whole turns apart
                error[k] = ca.atan2(ca.sin(error[k]), ca.cos(error[k]))
        c = inputs - ca.mtimes(gains, ca.vertcat(*error))
        low, high = (np.clip(side, -1e30, 1e30) for side in self.bounds.T)
        c = ca.fmin(ca.fmax(c, ca.DM(low)), ca.DM(high))
        num = nc - len(given)
        by_name = {name: c[k] for k, name in enumerate(self.controls)}
        by_name |= {name: w[k] for k, name in enumerate(given)}
        return InputGenerator(
            inputs=by_name,
            states=leads,
            rates=c[num:] - inputs[num:],
            start=np.zeros(len(given)),
            names=tuple(f"lead.{name}" for name in given),
            units=tuple(q.unit for q in plant.inputs if q.name in given),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=self.nodes,
        )
