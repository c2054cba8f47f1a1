"""Forces of the ground on the three-wheeled vehicle on its circle, by Newton's and Euler's laws.

Horizontal vectors are complex numbers. The heading β turns the axes i (to the right) and j (to the
caster) and takes the axle's center along ρ exp(iβ), ρ² = R² − a². The caster's angle follows from
no slip across its wheel, so that all places are functions of β alone:

    (1)  ψ′ = ((a + b) cos ψ − ρ sin ψ)/d − 1
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray


class GroundForces(NamedTuple):
    """On wheels 1, 2 and 3, (n, 3) N: along −j, along i, and up.

    The two wheels of the axle share their lateral force equally.
    """

    longitudinal: Array
    lateral: Array
    normal: Array

    @property
    def demand(self) -> Array:
        return np.hypot(self.longitudinal, self.lateral) / self.normal

    @property
    def least_friction(self) -> Array:
        """(n,) in the best split: both wheels of the axle ask for the same, if they can."""
        whole = np.abs(self.lateral[:, 0] + self.lateral[:, 1])
        low, high = np.zeros_like(whole), whole
        for _ in range(60):
            first = (low + high) / 2
            sides = np.stack([first, whole - first], axis=1)
            demand = np.hypot(self.longitudinal[:, :2], sides) / self.normal[:, :2]
            is_less = demand[:, 0] < demand[:, 1]
            low, high = np.where(is_less, first, low), np.where(is_less, high, first)
        return np.maximum(np.max(demand, axis=1), self.demand[:, 2])


class Part(NamedTuple):
    """The platform or a wheel: all that Newton's and Euler's laws need of it, over time."""

    mass: float
    height: float
    place: Array
    acceleration: Array
    turning: Array  # the rate of its turning rate times its moment of inertia about the vertical
    tilting: Array  # the rate of its other angular momentum
    axis: Array  # i


def ground_forces(t: Array, parameters: dict[str, float], *, R: float, T: float) -> GroundForces:
    """At times t of a turn in T seconds, the sweep angle a fifth-order polynomial of time."""
    p = SimpleNamespace(**parameters)
    rho = np.sqrt(R**2 - p.a**2)
    parts, pivot, along3 = _motion(t / T, T, p, rho)
    axle, wheel3 = rho * parts[0].axis, parts[3]
    # the caster's bracket holds no moment about its pivot
    j3, trail = 1j * wheel3.axis, wheel3.place - pivot
    moment = wheel3.mass * _cross(trail, wheel3.acceleration) + wheel3.turning
    across3 = (moment - along3 * _cross(trail, j3)) / _cross(trail, wheel3.axis)
    force3 = across3 * wheel3.axis + along3 * j3
    # what is left of force and moment about the axle's center is of the axle's wheels
    force = sum(part.mass * part.acceleration for part in parts) - force3
    moment = -_cross(wheel3.place - axle, force3)
    for part in parts:
        moment = moment + part.mass * _cross(part.place - axle, part.acceleration) + part.turning
    force = force / parts[0].axis
    along1, along2 = (force.imag + sign * 2 * moment / p.l for sign in (-1, 1))
    return GroundForces(
        longitudinal=-np.stack([along1 / 2, along2 / 2, along3], axis=1),
        lateral=np.stack([force.real / 2, force.real / 2, across3], axis=1),
        normal=_loads(parts, p.g),
    )


def _motion(
    x: Array, T: float, p: SimpleNamespace, rho: float
) -> tuple[tuple[Part, ...], Array, Array]:
    """The platform and wheels 1 to 3, the caster's pivot, and the force along the caster's wheel.

    x is the time over T.
    """
    beta = 2 * np.pi * (10 * x**3 - 15 * x**4 + 6 * x**5)
    rate = 2 * np.pi * (30 * x**2 - 60 * x**3 + 30 * x**4) / T
    rate2 = 2 * np.pi * (60 * x - 180 * x**2 + 120 * x**3) / T**2
    arm = p.a + p.b

    def second(first: Array, slope: Array) -> Array:
        """z̈ = z″ β̇² + z′ β̈."""
        return slope * rate**2 + first * rate2

    def swing(_: float, psi: Array) -> Array:
        return (arm * np.cos(psi) - rho * np.sin(psi)) / p.d - 1  # (1)

    solved = solve_ivp(swing, (0, beta[-1]), [0.0], "DOP853", beta, rtol=1e-13, atol=1e-13)
    psi = solved.y[0]
    psi1 = swing(0.0, psi)
    # over β: the way of the caster's wheel along its heading, and the slope of that; ψ″ of (1)
    way3, slope3 = arm * np.sin(psi) + rho * np.cos(psi), p.d * (psi1 + 1) * psi1
    psi2 = -way3 * psi1 / p.d
    i, i3 = np.exp(1j * beta), np.exp(1j * (beta + psi))

    def wheel(
        place: Array, way: Array, slope: Array, axis: Array, turn: Array, bend: Array
    ) -> Part:
        """A wheel that goes `way` along its j and turns by `turn`, over β, with their slopes."""
        spin, spin_rate = -way * rate / p.r, -second(way, slope) / p.r
        return Part(
            mass=p.m_wheel,
            height=p.r,
            place=place,
            acceleration=second(1j * way, 1j * slope - turn * way) * axis,
            turning=p.I_diameter * second(turn, bend),
            tilting=p.I_spin * (spin_rate + 1j * turn * rate * spin) * axis,
            axis=axis,
        )

    pivot = (rho + 1j * arm) * i
    center = (rho + 1j * p.a) * i
    platform = Part(
        p.m_platform, p.h, center, second(1j, -1) * center, p.I_z * rate2, 0.0 * i, axis=i
    )
    inner, outer = rho - p.l / 2, rho + p.l / 2
    wheels = (
        wheel(inner * i, inner, 0.0, i, 1.0, 0.0),
        wheel(outer * i, outer, 0.0, i, 1.0, 0.0),
        wheel(pivot - 1j * p.d * i3, way3, slope3, i3, 1 + psi1, psi2),
    )
    # a wheel without a motor is turned by the ground alone: I_spin θ̈ = r F, with θ̇ = −v/r
    return (platform, *wheels), pivot, -p.I_spin * second(way3, slope3) / p.r**2


def _loads(parts: tuple[Part, ...], g: float) -> Array:
    """(n, 3) of the vertical force and both moments about horizontal axes through the origin."""
    moment = 0.0
    for part in parts:
        moment = moment + part.tilting
        moment = moment + 1j * part.mass * (part.height * part.acceleration - g * part.place)
    levers = np.stack([-1j * part.place for part in parts[1:]], axis=1)
    rows = np.stack([np.ones(levers.shape), levers.real, levers.imag], axis=1)
    weight = np.full(len(moment), g * sum(part.mass for part in parts))
    needed = np.stack([weight, moment.real, moment.imag], axis=1)
    return np.linalg.solve(rows, needed[:, :, None])[:, :, 0]


def _cross(z: Array, f: Array) -> Array:
    """The vertical component of z × f."""
    return (np.conj(z) * f).imag
