"""A point of a body over time, as a motion of the joints: the tip of an arm along a line or circle.

The joints are carried as states m. With y(m) the place of the point and y_r(t) where it should be,

    (1)  J η = ẏ_r + k (y_r − y),    ṁ = N (S η + s),    J = ∂y/∂q N S

so that the joints follow from the rates, and what integration leaves over decays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.algebra import orthogonal_solve
from noslip.base import Array, SimulationError, nearest
from noslip.control.reference.inverse import conditioning
from noslip.control.reference.motion import AbstractMotion, MotionTrace
from noslip.engines import System
from noslip.expressions import Scalar
from noslip.kinematics import parameter_reader
from noslip.model import ZERO, Vector3
from noslip.simulation import Guard, complete_start

#: 1/s, at which errors of integration decay.
RETURN = 1.0

AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameMotion(AbstractMotion):
    """A point of a body, as expressions of time, moved by all joints of the mechanism.

    Parameters
    ----------
    body, point : a body, and the point in its axes, m.
    position : of ``x y z`` in the world, m, as many as degrees of freedom: expressions of ``t`` and
        the model's parameters.
    near : coordinates from which the start is looked for, as arms reach a place in several ways;
        those not named are completed.
    """

    body: str
    position: Mapping[str, Scalar]
    point: Vector3 = ZERO
    near: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """All fields."""
        return self.body, self.point, tuple(self.position.items()), tuple(self.near.items())

    def trace(self, system: System) -> MotionTrace:
        """All coordinates, as states that follow the point."""
        self._check(system)
        kin = system.kinematics
        t, q = kin.symbols.t, kin.symbols.q
        at = [AXES.index(name) for name in self.position]
        node = kin.tree.nodes[kin.tree.index(self.body)]
        place = (node.p_WB + ca.mtimes(node.R_WB, kin.reader.vector(self.point)))[at]
        reader = parameter_reader(system.model, kin.symbols.params).extended({"t": t})
        wanted = ca.vertcat(*[reader.scalar(e) for e in self.position.values()])
        rates = ca.jtimes(place, q, ca.mtimes(kin.N, kin.v))
        J = ca.densify(ca.jacobian(rates, kin.eta))
        rest = ca.substitute([rates], [kin.eta], [ca.SX.zeros(kin.eta.shape)])[0]
        pull = ca.jtimes(wanted, t, ca.SX(1)) + RETURN * (wanted - place) - rest
        eta, pivots = orthogonal_solve(J, pull)  # (1)
        moving = ca.substitute([ca.mtimes(kin.N, kin.v)], [kin.eta], [eta])[0]
        states = ca.SX.sym("m", kin.num_coordinates)
        moving, health = ca.substitute([moving, conditioning(pivots)], [q], [states])
        return MotionTrace(
            at=tuple(range(kin.num_coordinates)),
            outputs=states,
            states=states,
            rates=moving,
            start=np.full(kin.num_coordinates, np.nan),
            find_start=lambda values: self._start(system, place, wanted, J, values),
            carried=tuple((k, k) for k in range(kin.num_coordinates)),
            names=tuple(f"motion.{c.name}" for c in system.coordinates),
            units=tuple(c.unit for c in system.coordinates),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            guards=(
                Guard(
                    health,
                    f"the point of '{self.body}' cannot move in {', '.join(self.position)} "
                    "independently here: the Jacobian is singular, as at the end of an arm's reach",
                    "keep the motion within reach and the arm bent, or start with another bend",
                ),
            ),
        )

    def _start(self, system: System, place: ca.SX, wanted: ca.SX, J: ca.SX, values: Array) -> Array:
        """(nq,) the configuration by `near` with the point where it should be, by Newton."""
        kin = system.kinematics
        s = kin.symbols
        q = complete_start(system, dict(self.near), parameters=values).q
        eta = ca.SX.sym("eta", kin.num_independent_speeds)
        moved = ca.mtimes(kin.N, ca.mtimes(kin.S, eta))
        f = ca.Function("f", [s.t, s.q, s.params], [ca.densify(wanted - place), J])
        along = ca.Function("along", [s.t, s.q, eta, s.params], [ca.densify(moved)])
        miss = np.full(len(self.position), np.inf)
        for _ in range(100):
            miss, slope = (np.array(x) for x in f(0.0, q, values))
            if not (np.isfinite(miss).all() and np.isfinite(slope).all()):
                break
            step = np.linalg.lstsq(slope, miss.ravel(), rcond=1e-9)[0]
            step = step * min(1.0, 0.3 / max(float(np.max(np.abs(step))), 1e-300))
            q = q + np.array(along(0.0, q, step, values)).ravel()
            if float(np.max(np.abs(step))) < 1e-15:
                break
        left = float(np.linalg.norm(miss))
        if not left < 1e-9:
            raise SimulationError(
                f"the point of '{self.body}' cannot reach the start of the motion: it comes "
                f"within {left:.3g} m",
                f"motion of model '{system.model.name}', t = 0 s",
                "start within its reach, or give `near` a configuration on the way there",
            )
        return q

    def _check(self, system: System) -> None:
        where = f"motion of model '{system.model.name}'"
        bodies = [b.name for b in system.model.bodies]
        if self.body not in bodies:
            raise SimulationError(
                f"there is no body '{self.body}'", where, nearest(self.body, bodies)
            )
        for name in self.position:
            if name not in AXES:
                raise SimulationError(f"there is no axis '{name}'", where, nearest(name, AXES))
        freedom = system.kinematics.num_independent_speeds
        if len(self.position) != freedom:
            raise SimulationError(
                f"{len(self.position)} positions are given for {freedom} degrees of freedom",
                where,
                f"give {freedom} of x, y and z, or prescribe joints with ExpressionMotion",
            )
