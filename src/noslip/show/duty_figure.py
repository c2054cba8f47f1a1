"""The figure of a mission's motors: torque over rate at each shaft, with the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noslip import SimulationError
from noslip.base import require
from noslip.scene import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from noslip.missions import DutyCycle


def plot_duty(duty: DutyCycle) -> Figure:
    """A panel for each motor: what every leg asks of it, its limit, and its rated torque.

    Parameters
    ----------
    duty : cycle by :func:`noslip.missions.drive_mission`.

    Raises
    ------
    SimulationError : the mission has no motors.
    MissingPackageError : matplotlib is not installed.
    """
    require("matplotlib", "the figure of a mission", "plot_duty")
    from matplotlib.figure import Figure as Canvas

    motors = duty.mission.motors
    if not motors:
        raise SimulationError(
            "the mission has no motors", "plot_duty", "give it motors: [motors.INPUT]"
        )
    figure = Canvas(figsize=(7.2, 2.6 * len(motors) + 0.4), layout="constrained")
    legs = [leg for leg in duty.legs if leg.run is not None]
    for axes, (name, motor) in zip(
        figure.subplots(len(motors), squeeze=False)[:, 0], motors.items(), strict=True
    ):
        fastest = 1e-9
        for k, leg in enumerate(legs):
            axle = leg.drives[name]
            torque, rate = motor.shaft(axle.torque, axle.rate, axle.acceleration)
            fastest = max(fastest, float(np.max(np.abs(rate))))
            color = PALETTE[k % len(PALETTE)]
            axes.plot(np.abs(rate), np.abs(torque), lw=1.0, color=color, label=leg.name)
        rates = np.linspace(0.0, 1.05 * min(motor.maximum_speed, 3 * fastest), 400)
        limit = motor.limit(rates)
        if np.all(np.isfinite(limit)):
            axes.plot(rates, limit, color="black", lw=1.2, label="limit")
        if np.isfinite(motor.rated_torque):
            axes.axhline(motor.rated_torque, color="black", lw=0.8, ls="--", label="rated")
        axes.set(xlabel="rate of the shaft (rad/s)", ylabel="torque of the shaft (N·m)")
        axes.set_title(f"motor at {name}", fontsize=9)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure
