"""A path, a timing law and a controller of one's own, as a plugin file has them."""

import math
from dataclasses import dataclass
from typing import Annotated

import casadi as ca

from noslip import Meaning
from noslip.control.closed_loop import accelerate
from noslip.controllers import AbstractController
from noslip.paths import AbstractPath
from noslip.timing import AbstractTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class Spiral(AbstractPath):
    """The spiral of Archimedes: its radius grows by `pitch` (m) in each turn."""

    radius: float
    pitch: float
    turns: Annotated[float, Meaning(unit="1")] = 1.0

    word = "spiral"
    typical = {"radius": 4.0}

    def position(self, p):
        r = self.radius + self.pitch * p / (2 * math.pi)
        return ca.vertcat(r * ca.cos(p), r * ca.sin(p))

    @property
    def breaks(self):
        return 0.0, 2 * math.pi * self.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosine(AbstractTiming):
    """From rest to rest in `seconds`: s = L (1 − cos(π t/T))/2."""

    seconds: Annotated[float, Meaning(unit="s")]

    word = "cosine"
    typical = {"seconds": 20.0}

    def speed(self, t, s, curvature, length):
        tau = ca.fmin(ca.fmax(t / self.seconds, 0), 1)
        return length * math.pi / (2 * self.seconds) * ca.sin(math.pi * tau)

    def duration(self, path):
        return self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedServo(AbstractController):
    """Speeds go back to those of the reference at the rate `k` (1/s)."""

    k: Annotated[float, Meaning(unit="1/s")] = 2.0

    word = "speed-servo"

    def forces(self, system, reference):
        eta = system.kinematics.eta
        return accelerate(system, reference.etadot + self.k * (reference.eta - eta))
