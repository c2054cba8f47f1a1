"""Laws for coordinates whose rates are the independent speeds: the joints of an arm, mostly."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.inverse import Reference, solve_inputs
from noslip.control.controllers.base import AbstractController, accelerate, check_gains
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedTorque(AbstractController):
    """Inverse dynamics at the measured state, with proportional and derivative feedback.

        SᵀB u = SᵀMS (η̇_r + kd (η_r − η) + kp e) + bias − forces

    e are the errors of the coordinates whose rates the independent speeds are; each error obeys
    ë + kd ė + kp e = 0 exactly.

    Parameters
    ----------
    kp, kd : 1/s² and 1/s; by themselves they let errors decay with 1/2 s, without overshoot.
    """

    kp: float = 4.0
    kd: float = 4.0

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u that makes the errors of the independent coordinates decay."""
        kin = system.kinematics
        at = independent_coordinates(system)
        error = reference.q[at, :] - kin.symbols.q[at, :]
        wanted = reference.etadot + self.kd * (reference.eta - kin.eta) + self.kp * error
        return accelerate(system, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalDerivative(AbstractController):
    """PD to a reference or a set point, with gravity compensation if wanted [DeSantis1994, 7.11].

        τ = −Kp (q − q_r) − Kd (q̇ − q̇_r) (+ G(q))

    For q_r at rest, V = ½ eᵀKp e + ½ q̇ᵀD q̇ obeys V̇ = −q̇ᵀKd q̇ ≤ 0 where gravity is compensated.

    Parameters
    ----------
    kp, kd : gains by independent speed, N·m/rad and N·m·s/rad (N/m and N·s/m for sliding joints).
    gravity : add the generalized gravity forces.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    gravity: bool = False

    def __post_init__(self) -> None:
        check_gains(self, "kp", "kd")

    def lyapunov(self, run: Trajectory, set_point: Array) -> Array:
        """V = ½ eᵀKp e + K along a run to a set point; it only falls where gravity is compensated.

        Parameters
        ----------
        run : a motion under this law, of a model whose coordinates are its independent ones.
        set_point : (nq,) where it should come to rest.
        """
        error = run.q - set_point
        return 0.5 * (error**2 @ np.array(self.kp)) + run.kinetic_energy

    def forces(self, system: System, reference: Reference) -> ca.SX:
        """u whose generalized forces are the PD law's."""
        kin, eq = system.kinematics, system.equations
        at = independent_coordinates(system)
        num = kin.num_independent_speeds
        if len(self.kp) != num or len(self.kd) != num:
            raise SimulationError(
                f"{len(self.kp)} and {len(self.kd)} gains are given for {num} degrees of freedom",
                f"PD control of model '{system.model.name}'",
                f"give {num} of each: {', '.join(s.name for s in kin.independent_speeds)}",
            )
        error = reference.q[at, :] - kin.symbols.q[at, :]
        wanted = ca.DM(self.kp) * error + ca.DM(self.kd) * (reference.eta - kin.eta)
        if self.gravity:
            wanted = wanted - ca.mtimes(kin.S.T, eq.forces.shares["gravity"])
        return solve_inputs(ca.densify(eq.reduced_inputs), wanted)


def independent_coordinates(system: System) -> list[int]:
    """Coordinates whose rates are the independent speeds, one for each."""
    kin = system.kinematics
    names = [s.name for s in kin.speeds]
    found = []
    for speed in kin.independent_speeds:
        column = names.index(speed.name) if speed.name in names else -1
        rows = [k for k in range(kin.num_coordinates) if column >= 0 and kin.N[k, column].is_one()]
        if len(rows) != 1 or kin.N[rows[0], :].nnz() != 1:
            raise SimulationError(
                f"independent speed '{speed.name}' is not the rate of one coordinate",
                f"controller of model '{system.model.name}'",
                "name joint rates in the model's independent_speeds, or control the pose",
            )
        found.append(rows[0])
    return found
