"""The rolling disk as a SymPy user has it: Kane's method, lambdified, for SciPy.

Angles yaw, tilt, spin (R = Rz Rx Rz) and the contact point; speeds are the angular velocity along
the frame that yaws and tilts but does not spin, for which the mass matrix is diagonal and constant:
the best case for this way. Nothing of noslip is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

PARAMETERS = ("m", "r", "I_axial", "I_transverse", "g")
CONTACT = slice(3, 5)  # x and y of the contact point among the states

Rates = Callable[[float, np.ndarray], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class KaneDisk:
    """Equations of the disk.

    Parameters
    ----------
    parameters : symbols, in the order of PARAMETERS.
    states : (yaw, tilt, spin, x, y, w1, w2, w3).
    kinematics : rates of the first five states.
    mass, forcing : mass · d(w1, w2, w3)/dt = forcing.
    """

    parameters: tuple[sm.Symbol, ...]
    states: tuple[sm.Expr, ...]
    kinematics: tuple[sm.Expr, ...]
    mass: sm.Matrix
    forcing: sm.Matrix

    def solved(self, values: Sequence[float], modules: str) -> Rates:
        """Right-hand side with the accelerations solved for and simplified once, in symbols."""
        accelerations = sm.simplify(self.mass.LUsolve(self.forcing))
        expressions = [*self.kinematics, *accelerations]
        f = sm.lambdify((self.states, self.parameters), expressions, modules=modules, cse=True)
        if modules == "math":
            return lambda t, y: f(y.tolist(), values)
        return lambda t, y: f(y, values)

    def solving(self, values: Sequence[float]) -> Rates:
        """Right-hand side that solves for the accelerations in numbers, at each call."""
        expressions = (self.kinematics, self.mass, self.forcing)
        f = sm.lambdify((self.states, self.parameters), expressions, modules="numpy", cse=True)

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            kinematics, mass, forcing = f(y, values)
            return np.concatenate([kinematics, np.linalg.solve(mass, forcing)[:, 0]])

        return rates


def derive_disk() -> KaneDisk:
    """The equations by `sympy.physics.mechanics.KanesMethod`."""
    yaw, tilt, spin, w1, w2, w3 = me.dynamicsymbols("yaw tilt spin w1 w2 w3")
    m, r, I_axial, I_transverse, g = parameters = sm.symbols(" ".join(PARAMETERS), positive=True)
    x, y = sm.symbols("x y")
    ground = me.ReferenceFrame("ground")
    heading = ground.orientnew("heading", "Axis", (yaw, ground.z))
    leaning = heading.orientnew("leaning", "Axis", (tilt, heading.x))
    turned = leaning.orientnew("turned", "Axis", (spin, leaning.z))

    # angular velocity along the leaning frame instead of the angles' rates
    omega = turned.ang_vel_in(ground)
    equations = [
        omega.dot(axis) - w
        for axis, w in zip((leaning.x, leaning.y, leaning.z), (w1, w2, w3), strict=True)
    ]
    rates = sm.solve(equations, [yaw.diff(), tilt.diff(), spin.diff()])
    leaning.set_ang_vel(ground, leaning.ang_vel_in(ground).subs(rates).express(leaning))
    turned.set_ang_vel(ground, w1 * leaning.x + w2 * leaning.y + w3 * leaning.z)

    # the material point in contact is at rest; the center stands r away, up the disk's plane
    center = me.Point("contact").locatenew("center", r * leaning.y)
    center.set_vel(ground, turned.ang_vel_in(ground).cross(r * leaning.y))
    inertia = me.inertia(leaning, I_transverse, I_transverse, I_axial)
    body = me.RigidBody("disk", center, turned, m, (inertia, center))
    kane = me.KanesMethod(ground, [yaw, tilt, spin], [w1, w2, w3], kd_eqs=equations)
    kane.kanes_equations([body], [(center, -m * g * ground.z)])

    # the contact point runs on the ground as far as around the rim
    spin_rate = rates[spin.diff()]
    path = (-r * spin_rate * sm.cos(yaw), -r * spin_rate * sm.sin(yaw))
    return KaneDisk(
        parameters=parameters,
        states=(yaw, tilt, spin, x, y, w1, w2, w3),
        kinematics=(*(rates[angle.diff()] for angle in (yaw, tilt, spin)), *path),
        mass=kane.mass_matrix,
        forcing=kane.forcing,
    )


def start_state(tilt: float, yaw_rate: float, tilt_rate: float, spin_rate: float) -> np.ndarray:
    """States at zero yaw and spin, with the contact point at the origin."""
    w = (tilt_rate, yaw_rate * np.sin(tilt), spin_rate + yaw_rate * np.cos(tilt))
    return np.array([0.0, tilt, 0.0, 0.0, 0.0, *w])
