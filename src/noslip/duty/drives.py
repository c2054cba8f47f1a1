"""Motors with gears, and a battery: what the torques of axles ask of them.

With torque T and rate ω of an axle, the rotor's inertia J, gear ratio i and efficiency η of the
gear, which loses where power flows, at the motor's shaft

    (1)  τ = (T / i + J i ω̇) η^(−sgn P),  ω_m = i ω,  P = (T + J i² ω̇) ω
    (2)  P_el = τ ω_m + R (τ / k)²

with the resistance R and the torque constant k of its winding. Motors share the battery: braking
of one feeds another, and what is left over is recuperated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import simpson

from noslip import SimulationError

Array = NDArray[np.float64]


def checked(
    owner: str, name: str, value: object, *, low: float = 0.0, is_open: bool = True
) -> float:
    """A finite number above a bound, or at it unless the bound is open.

    Raises
    ------
    SimulationError : if it is none.
    """
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    if not math.isfinite(number) or number < low or (is_open and number == low):
        sign = "above" if is_open else "at least"
        raise SimulationError(
            f"{name} is {value!r}, expected a number {sign} {low:g}",
            f"{owner}({name}=…)",
            "give a finite number in SI units",
        )
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Gearmotor:
    """Gearmotor and gear at a force input."""

    peak_torque: float = math.inf  #: largest torque of the motor's shaft at standstill, N·m
    #: torque that it stands for ever, N·m; limits the root mean square
    rated_torque: float = math.inf
    maximum_speed: float = math.inf  #: rate of the shaft beyond which it gives none, rad/s
    #: points (rate in rad/s, torque in N·m) of the limit, linear between them; by default the peak
    #: torque up to the maximum speed
    torque_speed: tuple[tuple[float, float], ...] = ()
    ratio: float = 1.0  #: revolutions of the shaft per revolution of the axle, or rad per m
    efficiency: float = 1.0  #: share of the power that passes the gear
    #: moment of inertia of rotor and gear at the shaft that the model does not have, kg·m²
    rotor_inertia: float = 0.0
    resistance: float = 0.0  #: resistance R of the winding, Ω
    torque_constant: float = 1.0  #: torque per current k, N·m/A
    name: str = ""  #: name in a catalog

    def __post_init__(self) -> None:
        for name in ("peak_torque", "rated_torque", "maximum_speed"):
            if getattr(self, name) != math.inf:
                checked("Gearmotor", name, getattr(self, name))
        for name in ("ratio", "efficiency", "torque_constant"):
            checked("Gearmotor", name, getattr(self, name))
        for name in ("rotor_inertia", "resistance"):
            checked("Gearmotor", name, getattr(self, name), is_open=False)
        if self.efficiency > 1:
            raise SimulationError(
                f"efficiency is {self.efficiency:g}, expected 1 at most",
                "Gearmotor(efficiency=…)",
                "give the share of the power that passes the gear, such as 0.9",
            )
        points = np.array(self.torque_speed, float).reshape(-1, 2)
        if len(points) and (np.any(np.diff(points[:, 0]) <= 0) or np.any(points < 0)):
            raise SimulationError(
                "the rates of torque_speed do not rise from zero, or a torque is negative",
                "Gearmotor(torque_speed=…)",
                "give points (rate in rad/s, torque in N·m) of rising rate",
            )
        object.__setattr__(self, "torque_speed", tuple((float(w), float(t)) for w, t in points))

    def limit(self, rate: Array) -> Array:
        """Largest torque at rates of the shaft, N·m."""
        rate = np.abs(rate)
        found = np.full(rate.shape, self.peak_torque)
        if self.torque_speed:
            w, torque = np.array(self.torque_speed).T
            found = np.minimum(found, np.interp(rate, w, torque, right=0.0))
        return np.where(rate > self.maximum_speed, 0.0, found)

    def shaft(self, torque: Array, rate: Array, acceleration: Array) -> tuple[Array, Array]:
        """Torque and rate of the shaft, (1)."""
        whole = torque + self.rotor_inertia * self.ratio**2 * acceleration
        lost = np.where(whole * rate >= 0, 1 / self.efficiency, self.efficiency)
        return whole / self.ratio * lost, self.ratio * rate

    def heat(self, shaft_torque: Array) -> Array:
        """Power lost in the winding, W."""
        return self.resistance * (np.asarray(shaft_torque, float) / self.torque_constant) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Battery:
    """Store of energy that all motors share."""

    energy: float  #: usable energy when it is full, J
    standby: float = 0.0  #: power of everything but the motors, W
    recuperation: float = 0.0  #: share of what motors give back that is stored

    def __post_init__(self) -> None:
        checked("Battery", "energy", self.energy)
        checked("Battery", "standby", self.standby, is_open=False)
        if checked("Battery", "recuperation", self.recuperation, is_open=False) > 1:
            raise SimulationError(
                f"recuperation is {self.recuperation:g}, expected 1 at most",
                "Battery(recuperation=…)",
                "give the share of the power that is stored, such as 0.6",
            )

    def drawn(self, power: Array) -> Array:
        """Power that the battery gives while motors take this, W."""
        whole = np.asarray(power, float) + self.standby
        return np.where(whole > 0, whole, self.recuperation * whole)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriveSamples:
    """What a leg asks of an axle."""

    t: Array  #: s
    #: torque, rate, acceleration: samples of the axle: N·m, rad/s, rad/s², or N, m/s, m/s²
    torque: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class MotorDuty:
    """What samples ask of a motor."""

    #: peak_torque, rms_torque: largest torque of the shaft and root mean square, N·m
    peak_torque: float
    rms_torque: float
    peak_rate: float  #: largest rate of the shaft, rad/s
    peak_power: float  #: largest power of the shaft, W
    energy: float  #: electrical, less what is given back, J
    heat: float  #: lost in the winding, J
    torque_use: float  #: largest torque over the limit at its rate
    heat_use: float  #: root mean square over the rated torque
    rate_use: float  #: largest rate over the maximum

    @property
    def use(self) -> float:
        """Largest of all uses; above 1 where a limit is passed."""
        return max(self.torque_use, self.heat_use, self.rate_use)

    @classmethod
    def of(cls, motor: Gearmotor, legs: Sequence[DriveSamples]) -> MotorDuty:
        """What legs one after the other ask of a motor."""
        squares = time = energy = heat = 0.0
        peaks = np.zeros(4)
        for leg in legs:
            torque, rate = motor.shaft(leg.torque, leg.rate, leg.acceleration)
            lost, power = motor.heat(torque), torque * rate
            squares += integral(torque**2, leg.t)
            heat += integral(lost, leg.t)
            energy += integral(power + lost, leg.t)
            time += float(leg.t[-1] - leg.t[0])
            size, limit = np.abs(torque), motor.limit(rate)
            # a torque that is rounding needs no motor
            felt = size > 1e-9 * max(float(np.max(size)), 1e-300)
            with np.errstate(divide="ignore"):
                used = np.where(felt, size / limit, 0.0)
            found = (size, np.abs(rate), np.abs(power), used)
            peaks = np.maximum(peaks, [float(np.max(x)) for x in found])
        rms = math.sqrt(squares / time) if time else 0.0
        return cls(
            peak_torque=float(peaks[0]),
            rms_torque=rms,
            peak_rate=float(peaks[1]),
            peak_power=float(peaks[2]),
            energy=energy,
            heat=heat,
            torque_use=float(peaks[3]),
            heat_use=rms / motor.rated_torque,
            rate_use=float(peaks[1]) / motor.maximum_speed,
        )


def integral(values: Array, t: Array) -> float:
    """∫ values dt by Simpson's rule."""
    return float(simpson(values, x=t))
