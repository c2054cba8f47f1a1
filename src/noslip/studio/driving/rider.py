"""`Rider`: rides what must be balanced, at a commanded speed and turning rate.

The commands move the steady motion that is kept, with limited rates, from one station to the next;
stations are `STATION` seconds apart. Between two of them, x*, u* and K of `balance.py` (1) go from
one to the other in a straight line,

    (1)  u = u*(t) − K(t) (x − x*(t))

A turn that would lean or steer by more than `REACH` is taken less tightly.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.input_plan import InputGenerator
from noslip.studio.driving.balance import Balance, Stand
from noslip.studio.driving.helm import FORCE, Helm
from noslip.studio.driving.servo import AbstractRule

#: Time between stations, s, and the largest angle of a steady motion, rad.
STATION, REACH = 0.1, 0.5
#: How often a turn is made less tight, and a change of its rate, rad/s, that is not worth more.
TRIES, LITTLE = 5, 2e-3


@dataclass(slots=True, kw_only=True, eq=False)
class Rider(AbstractRule):
    """(1), with the two stations that a ride is between.

    Parameters
    ----------
    helm : speed, turning rate, and forces that are given as they are.
    balance : what keeps it upright.
    here, ahead : the stations.
    since : time of the first one, s.
    held : commands that are met as far as they can be.
    """

    helm: Helm
    balance: Balance
    here: Stand
    ahead: Stand
    since: float
    held: tuple[float, float] = (np.nan, np.nan)

    def numbers(self, t: float, commands: Array) -> tuple[Array, float]:
        """x*, u* and K of both stations, and the forces that are given."""
        if t >= self.since + STATION:
            self.here, self.since = self.ahead, t
            self.ahead = self._next((float(commands[0]), float(commands[1])))
        ends = (_flat(self.here), _flat(self.ahead))
        slope = (ends[1] - ends[0]) / STATION
        given = [c for k, c in enumerate(commands) if self.helm.channels[k].kind == FORCE]
        return np.concatenate([[self.since], ends[0], slope, given]), self.since + STATION

    def _next(self, commands: tuple[float, float]) -> Stand:
        """The next station on the way to a speed and a turning rate."""
        here = self.here
        if commands in (self.held, (here.speed, here.turning)):
            return here
        reached = zip((here.speed, here.turning), commands, self.helm.channels[:2], strict=True)
        speed, turning = (_towards(now, x, c.rate * STATION) for now, x, c in reached)
        for _ in range(TRIES):
            try:
                found = self.balance.stand(speed, turning, here)
            except SimulationError:
                turning *= 0.8
                continue
            tilt = self.balance.tilt(found)
            if tilt <= REACH:
                if speed == here.speed and abs(turning - here.turning) < LITTLE:
                    self.held = commands
                return found
            # angles grow about as the turning rate does
            turning *= 0.999 * REACH / tilt
        self.held = commands
        return here

    def generator(self, system: System) -> InputGenerator:
        """(1) in the symbols of this system."""
        balance = self.balance
        n, m = len(self.here.x), len(self.here.u)
        since = ca.SX.sym("since")
        ends = [ca.SX.sym(name, n + m + m * n) for name in ("station", "slope")]
        now = ends[0] + (system.kinematics.symbols.t - since) * ends[1]
        x, u, K = now[:n], now[n : n + m], ca.reshape(now[n + m :], n, m).T
        forces = u - ca.mtimes(K, balance.traced_states(system) - x)
        names = [c.force_input for c in self.helm.channels if c.kind == FORCE]
        given = ca.SX.sym("given", len(names))
        inputs = {name: forces[k] for k, name in enumerate(balance.motors)}
        inputs |= {name: given[k] for k, name in enumerate(names)}
        numbers, _ = self.numbers(self.since, np.zeros(len(self.helm.channels)))
        return InputGenerator(
            inputs={name: ca.densify(e) for name, e in inputs.items()},
            states=ca.SX(0, 1),
            rates=ca.SX(0, 1),
            start=np.zeros(0),
            names=(),
            units=(),
            parameters=ca.vertcat(since, *ends, given),
            parameter_values=numbers,
        )


def make_rider(helm: Helm, balance: Balance, t: float, speed: float, q: Array, v: Array) -> Rider:
    """A rider who runs straight, or goes on in the turn that a state is in, whichever is nearer.

    Parameters
    ----------
    helm : what is commanded.
    balance : what keeps it upright.
    t : s.
    speed : m/s.
    q, v : the state.
    """
    first = balance.stand(speed, 0.0)
    with suppress(SimulationError):
        turn = balance.stand(speed, balance.turning(q, v), first)
        if balance.tilt(turn) <= REACH and balance.cost(turn, q, v) < balance.cost(first, q, v):
            first = turn
    return Rider(helm=helm, balance=balance, here=first, ahead=first, since=t)


def _flat(stand: Stand) -> Array:
    return np.concatenate([stand.x, stand.u, stand.gains.ravel()])


def _towards(now: float, wanted: float, step: float) -> float:
    return now + min(max(wanted - now, -step), step)
