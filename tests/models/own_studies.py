"""A sensor, a measure, a distribution, a work, an obstacle and a format that noslip does not have.

A plugin as a user would write it, like `own_members.py`.
"""

from dataclasses import dataclass

import numpy as np

import noslip as ns
from noslip.control.estimators import SensorChannel
from noslip.planning.obstacles import ConvexPiece
from noslip.sweeps.measures import FINISHED, ResultVariable
from noslip.sweeps.tasks import SystemWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Compass(ns.sensors.AbstractInstrument):
    """The angle of a joint as a compass shows it, `sigma` (rad) its noise."""

    joint: str
    sigma: float = 0.01

    word = "own_compass"

    def channels(self, system):
        text = f"{self.joint}.angle"
        return (SensorChannel(f"compass.{self.joint}", text, "rad", self.sigma, is_angle=True),)


class Spread(ns.studies.AbstractMeasure):
    """Largest value of a column less its smallest."""

    __slots__ = ()
    word = "own_spread"

    def of(self, view):
        samples = view.samples(self.column)
        return np.nanmax(samples, axis=1) - np.nanmin(samples, axis=1)


class Exponential(ns.studies.AbstractDistribution):
    """Exponential distribution."""

    __slots__ = ()
    word = "own_exponential"
    numbers = ("MEAN",)

    def quantile(self, share):
        return -self.given[0] * np.log1p(-share)

    def fault(self):
        return "" if self.given[0] > 0 else "MEAN is not positive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pallet(ns.obstacles.AbstractObstacle):
    """A pallet of 1.2 m by 0.8 m along x, its middle at `center` (m)."""

    center: tuple[float, float]

    word = "own_pallet"

    def pieces(self):
        corners = np.array([(-0.6, -0.4), (0.6, -0.4), (0.6, 0.4), (-0.6, 0.4)])
        return [ConvexPiece(corners + self.center, 0.0)]


class Inertia(SystemWork):
    """Determinant of the reduced mass matrix at the start of the scenario."""

    word = "own_inertia"
    defaults = {"set": {}}

    def prepare(self, measures):
        self.system, self.measures = self.compile(), measures

    def names(self):
        return {p.name: p.unit for p in self.model.parameters}

    def variables(self):
        return {measure: ResultVariable("", description="det M") for measure in self.measures}

    def compute(self, values, count, cancel):
        def at(point):
            state = dict(self.model.scenario.start)
            found = ns.evaluate(self.system, state, parameters=point)
            return dict.fromkeys(self.measures, np.linalg.det(found.mass_matrix)), FINISHED, ""

        return self.one_by_one(values, count, cancel, at)


@dataclass(frozen=True, slots=True)
class Listing(ns.formats.AbstractSystemFormat):
    """Names of the states, one a line."""

    word, name, suffixes = "own_listing", "a listing of states", (".own_states",)

    def files(self, system, stem):
        states = [q.name for q in (*system.coordinates, *system.independent_speeds)]
        return ("\n".join([stem, *states]).encode(),)
