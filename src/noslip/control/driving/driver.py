"""`Driver`: a mechanism that moves in real time under the commands of a driver.

The forces are those of a `Servo`, or of a `Rider` for what must be balanced. The motion is
integrated natively in short pieces, the commands held in each.
"""

from __future__ import annotations

import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.driving.channels import DriveControls
from noslip.control.driving.command_laws import AbstractCommandLaw, Servo, make_rider
from noslip.engines import System
from noslip.simulation import Start, SteppedMotion, Trajectory

#: Tolerance of the integration, and the longest piece of time it does at once, s.
TOLERANCE, PIECE = 1e-8, 0.1
#: Steps of a piece.
MOST_STEPS = 20_000
#: Sine of the angle between a wheel and the ground below which it has fallen over: 60° of lean.
FALLEN = 0.5


class Driver:
    """Moves a system on from a start.

    Parameters
    ----------
    system : compiled system.
    controls : what is commanded.
    values : (np,) parameter vector.
    start : where it stands.
    """

    def __init__(
        self, system: System, controls: DriveControls, values: Array, start: Start
    ) -> None:
        self.system, self.values = system, values
        self._law = self._take(controls, start.time, start.q, start.v)
        self._motion = SteppedMotion(
            system, start, self._law, values, tolerance=TOLERANCE, max_steps=MOST_STEPS
        )

    @property
    def t(self) -> float:
        """Time now, s."""
        return self._motion.t

    @property
    def q(self) -> Array:
        """Coordinates now."""
        return self._motion.q

    @property
    def v(self) -> Array:
        """Tree speeds now."""
        return self._motion.v

    def command(self, k: int, value: float) -> None:
        """Set a channel, within what it can do."""
        self.commands[k] = self.controls.channels[k].within(value)

    def stop(self) -> None:
        """Set all commands to zero but those that cannot be, such as the speed of a bicycle."""
        for k, channel in enumerate(self.controls.channels):
            if channel.lower <= 0.0:
                self.commands[k] = 0.0

    def change(self, controls: DriveControls) -> None:
        """Go on with other channels, from the speed it has."""
        self._law = self._take(controls, self.t, self.q, self.v)
        self._motion.change(self._law)

    def advance(self, seconds: float) -> None:
        """Move on by so much time, at most `PIECE`.

        Raises
        ------
        SimulationError : if the motion cannot go on.
        """
        reason = self._motion.advance(
            self.t + min(seconds, PIECE), lambda t: self._law.parameters_at(t, self.commands)
        )
        if reason:
            raise SimulationError(
                f"the drive cannot continue: {reason}",
                f"model '{self.system.model.name}', t = {self.t:.4g} s",
                "start again, and drive more gently there",
            )
        self._check_upright()

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """Trajectory driven so far, from a given time on."""
        return self._motion.trajectory(since)

    def piece(self) -> Trajectory:
        """Last piece of the trajectory: its last two samples."""
        return self._motion.piece()

    def _take(self, controls: DriveControls, t: float, q: Array, v: Array) -> AbstractCommandLaw:
        """These channels from now on; what cannot stand still is commanded to go on as it does."""
        self.controls = controls
        now = [float(c.row @ v) if c.least > 0 else 0.0 for c in controls.channels]
        # to digits that a slider shows
        held = [c.within(float(f"{x:.6g}")) for c, x in zip(controls.channels, now, strict=True)]
        self.commands = np.array(held)
        if controls.balance is not None and controls.is_balanced:
            return make_rider(controls, controls.balance, t, self.commands[0], q, v)
        return Servo(controls=controls, commands=self.commands)

    def _check_upright(self) -> None:
        """Stop where what must be balanced leans too far to come back."""
        if self.controls.balance is None:
            return
        for measure, margin in self._motion.margins:
            if measure.kind == "contact" and margin < FALLEN:
                raise SimulationError(
                    f"it has fallen over: wheel '{measure.name}' leans by more than 60°",
                    f"model '{self.system.model.name}', t = {self.t:.4g} s",
                    "start again, and ride more gently or switch on balancing",
                )
