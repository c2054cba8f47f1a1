"""Exact rates of what a controller computes from the state and its reference.

    ḟ = ∂f/∂t + ∂f/∂q N v + ∂f/∂z ż

with z the reference's own states. What depends on speeds has no such rate: it would need
accelerations, which the forces are still to be chosen for.
"""

from __future__ import annotations

import casadi as ca

from noslip.analysis.inverse import Reference
from noslip.engines.system import System
from noslip.errors import SimulationError


def speed_input_rates(
    system: System, reference: Reference, speeds: dict[str, ca.SX]
) -> dict[str, ca.SX]:
    """Name of each rate → ẇ of the speed inputs given, by total differentiation along the motion.

        ẇ = ∂w/∂t + ∂w/∂q N v + ∂w/∂z ż

    Raises
    ------
    SimulationError : if a speed input depends on speeds.
    """
    if not speeds:
        return {}
    kin = system.kinematics
    symbols = kin.symbols
    w = ca.vertcat(*speeds.values())
    for name, speed in speeds.items():
        if ca.depends_on(speed, ca.vertcat(kin.eta, symbols.w, symbols.wdot)):
            raise SimulationError(
                f"speed input '{name}' is fed back from speeds, so its rate would need "
                "accelerations",
                f"controller of model '{system.model.name}'",
                "let it depend on time, coordinates and the reference only",
            )
    rates = along_motion(system, reference, w)
    # v holds the symbol w, which stands for what is given here
    rates = ca.substitute([rates], [symbols.w], [w])[0]
    return {f"{name}_rate": rates[k] for k, name in enumerate(speeds)}


def along_motion(system: System, reference: Reference, expression: ca.SX) -> ca.SX:
    """The time derivative of an expression of t, q and the reference's states, which all move."""
    kin = system.kinematics
    moving = ca.vertcat(kin.symbols.t, kin.symbols.q, reference.states)
    rates = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v), reference.rates)
    return ca.jtimes(expression, moving, rates)
