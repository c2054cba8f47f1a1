"""Energy-preserving control of Chaplygin systems along a path [AntunesSigaudMoraes2010].

A sleigh, a vertical disk or a carriage that follows a path of curvature κ with constant kinetic
energy ½ M v_T² moves at ṡ = v_T sin Ψ, φ̇ = v_T cos Ψ / b, with the control angle

    (1)  Ψ = arccot(b κ) in (0, π)

and b the radius of gyration of the freedom ½ M (ṡ² + b² φ̇²). The timing is `ConstantEnergy(v_T,
b)`, the forces come from inverse dynamics (`track`). The printed Ψ in (−π/2, π/2) would reverse the
vehicle at every inflection point; (1) passes it.

This is control that keeps the energy. It is not vakonomic motion: the vakonomic equations fix
Ψ̈ = −(v_T²/2b²) sin 2Ψ, and a prescribed path breaks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.base import Array, SimulationError
from noslip.engines import System, require_system
from noslip.formulations import chaplygin_form
from noslip.simulation import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Gyration:
    """Reduced inertia of a Chaplygin system: K = ½ mass (ṡ² + radius² φ̇²)."""

    mass: float
    radius: float


def control_angle(radius: float, curvature: ArrayLike) -> Array:
    """Ψ = arccot(b κ) in (0, π), rad.

    Parameters
    ----------
    radius : of gyration b, m.
    curvature : signed κ, 1/m, left turns positive.
    """
    return np.arctan2(1.0, radius * np.asarray(curvature, dtype=float))


def gyration(system: System, *, parameters: dict[str, float] | None = None) -> Gyration:
    """Mass and radius of gyration of a system with a speed ṡ along its heading and a rate φ̇.

    Parameters
    ----------
    system : compiled system of two independent speeds: along the heading, m/s, and turning, rad/s.
    parameters : values that differ from the nominal ones.

    Raises
    ------
    SimulationError : if its kinetic energy is not of that form.
    """
    require_system("gyration", system)
    kin = system.kinematics
    form = chaplygin_form(system.equations)
    if form is None:
        raise SimulationError(
            "the kinetic energy is not ½ M (ṡ² + b² φ̇²) of a speed along the heading and a turning "
            f"rate (independent speeds: {', '.join(s.name for s in kin.independent_speeds)})",
            f"model '{system.model.name}'",
            "write the model in those two speeds, as chaplygin-sleigh, vertical-disk and carriage "
            "are, or use another timing law",
        )
    numbers = ca.Function("gyration", [kin.symbols.q, kin.symbols.params], [form.mass, form.radius])
    _, q = kin.probe.configurations(1)[0]
    mass, radius = (float(x) for x in numbers(q, system.parameters(parameters)))
    return Gyration(mass=mass, radius=radius)


def with_control_angles(system: System, run: Trajectory) -> Trajectory:
    """The run with v_T, Ψ, χ, λ, λ_c, the torque on φ and u_1, u_2; as it is for any other system.

    Parameters
    ----------
    system : compiled system, by any formulation.
    run : of it.

    Ψ is continuous along the run: ṡ = v_T sin Ψ, b φ̇ = v_T cos Ψ [AntunesSigaudMoraes2010, eqs.
    34, 35], χ = Ψ − (a/b) φ, u_1 = √m ṡ and u_2 = √m b φ̇ [eqs. 22, 23]. Eqs. 19 and 20 are
    s̈ = λ_c φ̇/m and m b² φ̈ = −λ_c ṡ, so that at constant energy every motion, along a path too,
    has

        (2)  λ_c = m b Ψ̇ = λ + m a φ̇,     λ = m b χ̇,     torque = −λ_c ṡ                [eqs. 56–58]

    Of a vakonomic motion that is its costate. A path demands a λ that does not obey eq. 21 (but on
    lines through the center of gyration), which is why a controller is there.
    """
    require_system("with_control_angles", system)
    form = chaplygin_form(system.equations)
    if form is None or not len(run.t):
        return run
    kin, eq = system.kinematics, system.equations
    s_dot, b_phi_dot = kin.eta[form.along], form.radius * kin.eta[form.turning]
    s_rate, phi_rate = (eq.accelerations[k] for k in (form.along, form.turning))
    turning = (s_rate * b_phi_dot - s_dot * form.radius * phi_rate) / form.speed**2
    lambda_c = form.mass * form.radius * turning
    scale = ca.sqrt(form.mass)
    found = {
        "v_T": ("m/s", form.speed),
        "Psi": ("rad", form.angle),
        "chi": ("rad", form.drive - form.angle),
        "u_1": ("J^0.5", scale * s_dot),
        "u_2": ("J^0.5", scale * b_phi_dot),
        "lambda": ("N*s", lambda_c - form.mass * form.offset * kin.eta[form.turning]),
        "lambda_c": ("N*s", lambda_c),
        "torque": ("N*m", -lambda_c * s_dot),
    }
    symbols = kin.symbols
    given = [symbols.q, kin.eta, eq.auxiliary_states, eq.inputs, symbols.params]
    given.append(symbols.t)
    expression = ca.densify(ca.vertcat(*[value for _, value in found.values()]))
    numbers = ca.Function("angles", given, [expression])
    names = [p.name for p in system.model.parameters]
    params = system.parameters({name: run.parameters[name] for name in names})
    eta = kin.independent_values(run.t, run.q, run.v, params)
    count = len(run.t)
    others = [c.name for c in (*system.costates, *kin.force_states)]
    others += [i.name for i in system.model.inputs]
    states = np.array([run[name] for name in others]).reshape(len(others), count)
    num = eq.auxiliary_states.shape[0]
    repeated = np.repeat(params[:, None], count, axis=1)
    at = (run.q.T, eta.T, states[:num], states[num:], repeated, run.t[None, :])
    values = dict(zip(found, np.array(numbers.map(count)(*at)), strict=True))
    values["Psi"] = np.unwrap(values["Psi"])
    values["chi"] = values["Psi"] + values["chi"]
    columns = {f"control.{name}": (found[name][0], values[name]) for name in found}
    return run.replaced(extra={**run.extra, **columns})
