"""Timing laws: how fast the point moves along its path.

**Energy-preserving control of Chaplygin systems along a path [AntunesSigaudMoraes2010].**

A sleigh, a vertical disk or a carriage that follows a path of curvature κ with constant kinetic
energy ½ M v_T² moves at ṡ = v_T sin Ψ, φ̇ = v_T cos Ψ / b, with the control angle

    (1)  Ψ = arccot(b κ) in (0, π)

and b the radius of gyration of the freedom ½ M (ṡ² + b² φ̇²). The timing is `ConstantEnergy(v_T,
b)`, the forces come from inverse dynamics (`track`). The printed Ψ in (−π/2, π/2) would reverse the
vehicle at every inflection point; (1) passes it.

This is control that keeps the energy. It is not vakonomic motion: the vakonomic equations fix
Ψ̈ = −(v_T²/2b²) sin 2Ψ, and a prescribed path breaks them.

**Timing laws: how fast the point moves along its path, traced, and the laws in closed form.**

A law gives ṡ as a function of the time t, the arc length s and the curvature κ; the acceleration
follows by total differentiation,

    (1)  s̈ = ∂ṡ/∂t + (∂ṡ/∂s + ∂ṡ/∂κ dκ/ds) ṡ

A law that starts from rest depends on t, not on s alone: what moves with a speed that vanishes at
s = 0 never leaves it.

To add a law:

1. Write a final frozen dataclass of :class:`AbstractTiming` with `speed` and `duration`, and
   `knots` if its speed is made of pieces.
2. Give it a `word`, its name in text (`AbstractForm`).
3. Add one to the list at the top of ``tests/unit/control/test_timing.py``.

**Timing laws made of pieces: trapezoids, S-curves, given speeds at given times or places.**

Pieces in time: the acceleration (trapezoid, schedule) or its rate (S-curve) is constant on each, so
that the speed is a polynomial of time there. Trapezoids and S-curves start and end at rest and stay
at rest before and after.

Pieces along the path (profile): the square of the speed, z = v², is interpolated, because s̈ =
z'/2: between places at which v > 0 by a cubic with continuous slope that never overshoots (Fritsch
and Carlson's), so that v(s) and s̈ are continuous. What moves with a speed that depends on s alone
never leaves a rest. Where the first or the last speed is zero, z is linear from there to the next
place and the acceleration constant, so the speed is a function of time there:

    (1)  v = v₁ t/t₁,  t₁ = 2 s₁/v₁      until t₁, and likewise backwards from the end
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any

import casadi as ca
import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from noslip.base import Array, SimulationError, real_array
from noslip.control.follower import Follower
from noslip.control.path_geometry import (
    AbstractPath,
    arc_table,
    assign,
    choose,
    clamp,
    curvature,
    integrate,
    length,
    look_up,
    number,
    numbers,
    polynomial,
    positive,
    stretch,
)
from noslip.control.text_grammar import AbstractForm, Acceleration, Duration, Jerk, Length
from noslip.engines import System, require_system
from noslip.formulations import chaplygin_form
from noslip.model import Meaning
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
    radius : radius of gyration b, m.
    curvature : signed κ, 1/m, left turns positive.
    """
    found: Array = np.arctan2(1.0, radius * real_array(curvature))
    if not np.all(np.isfinite(found)):
        what = f"the curvature is {curvature!r:.60}, which is not finite"
        raise SimulationError(what, "control_angle", "give curvatures in 1/m")
    return found


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
    run : run of the system.

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


class AbstractTimingPlan(AbstractForm, abc.ABC, family="timing"):
    """Plan of a timing law, completed once the vehicle and its path are known."""

    __slots__ = ()

    usual_unit = "m/s"

    @abc.abstractmethod
    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """The timing law of a vehicle on a path.

        Parameters
        ----------
        system : compiled system.
        path : path to be driven.
        follower : part of the vehicle that follows the path; the origin and the x axis of its base
            by default.
        inputs, reference, parameters : arguments of :func:`track`.
        """

    def of_part(self, share: float) -> AbstractTimingPlan:
        """The same for a part of a path that ends at a cusp, as a share of the whole."""
        return self


class AbstractTiming(AbstractTimingPlan):
    """Timing law: arc length along a path as a function of time."""

    __slots__ = ()

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """Itself: it is the same for all vehicles."""
        return self

    @abc.abstractmethod
    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """ṡ in m/s, traced.

        Parameters
        ----------
        t : time since the start, s.
        s : arc length, m.
        curvature : curvature of the path at s, 1/m.
        length : length of the whole path, m.
        """

    @abc.abstractmethod
    def duration(self, path: AbstractPath) -> float:
        """Time from the start of `path` to its end, s."""

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Times at which a derivative of the speed along `path` jumps, s; steps should end there.

        Where `path` itself is not smooth is not among them.
        """
        return ()

    def break_times(self, path: AbstractPath) -> tuple[float, ...]:
        """Times at which the inner breaks of `path` are passed, s; none if they are not known."""
        return break_times(self, path)

    def stops(self, path: AbstractPath) -> tuple[tuple[float, float], ...]:
        """Times at which the vehicle arrives at each cusp of `path` and leaves it, s."""
        inner = dict(zip(path.breaks[1:-1], self.break_times(path), strict=False))
        return tuple((inner[p], inner[p]) for p in path.cusps if p in inner)

    def paused(self, pauses: tuple[float, ...]) -> AbstractTiming:
        """The same law that stands so many s at each cusp; itself where it stops at none."""
        return self

    def with_columns(self, system: System, run: Trajectory) -> Trajectory:
        """A run along a path under this law, with what the law adds to it: nothing by default."""
        return run


#: Speed of an unhurried vehicle, in its own lengths a second, and its acceleration aside, m/s².
UNHURRIED = 1.0
ASIDE = 1.0
#: Speed at a cusp, as a part of the mean one, that is taken for rest.
STILL = 1e-6


def timing_law(
    plan: AbstractTimingPlan | None,
    system: System,
    path: AbstractPath,
    follower: Follower,
    **given: Any,
) -> AbstractTiming:
    """The law of a vehicle on a path, from rest to rest between cusps.

    Raises
    ------
    SimulationError : if the law does not stop at the cusps.
    """
    parts, laws = path.parts, []
    for k, part in enumerate(parts):
        drives = replace(follower, reverse=follower.reverse ^ (k % 2 == 1))
        chosen = unhurried(system, part) if plan is None else plan
        if plan is not None and len(parts) > 1:
            chosen = plan.of_part(length(part) / length(path))
        laws.append(chosen.on(system, part, drives, **given))
    if len(parts) == 1:
        return laws[0]
    return StopAndGo(paths=parts, laws=tuple(laws))


def unhurried(system: System, path: AbstractPath) -> Quintic:
    """From rest to rest at no more than a length of the vehicle a second, slower where it bends.

    The acceleration aside stays below 1 m/s².
    """
    whole, table = length(path), arc_table(path)
    bend = float(np.max(np.abs(table.curvature(np.linspace(*path.interval, 2001)))))
    fastest = UNHURRIED * max(system.kinematics.length, 1e-3)
    fastest = min(fastest, np.sqrt(ASIDE / bend)) if bend > 0 else fastest
    # the largest speed of a quintic is 15/8 of its mean
    duration = 15 / 8 * whole / fastest
    return Quintic(float(f"{duration:.2g}"))


def acceleration(
    timing: AbstractTiming,
    t: ca.SX,
    s: ca.SX,
    curvature: ca.SX,
    curvature_rate: ca.SX,
    length: float,
) -> ca.SX:
    """s̈ in m/s², traced: the total derivative of the speed."""
    at = ca.SX.sym("t"), ca.SX.sym("s"), ca.SX.sym("kappa")
    rate = ca.SX.sym("rate")
    speed = ca.SX(timing.speed(*at, length))
    total = ca.jtimes(speed, ca.vertcat(*at), ca.vertcat(1, speed, rate * speed))  # (1)
    function = ca.Function("acceleration", [*at, rate], [ca.densify(total)])
    return function.call([ca.SX(x) for x in (t, s, curvature, curvature_rate)])[0]


@dataclass(frozen=True, slots=True, init=False)
class Quintic(AbstractTiming):
    """From rest to rest: s = L (10 τ³ − 15 τ⁴ + 6 τ⁵) with τ = t/duration.

    Speed and acceleration vanish at both ends, and stay zero before and after.

    Parameters
    ----------
    duration : s; kept as `total_time`.
    """

    word = "quintic"
    typical = {"duration": 20.0}
    kept_as = {"duration": "total_time"}

    total_time: float

    def __init__(self, duration: Duration) -> None:
        assign(self, total_time=positive(duration, "duration", "Quintic"))

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """30 (L/T) τ² (1 − τ)²."""
        tau = clamp(t / self.total_time, 0.0, 1.0)
        return 30 * length / self.total_time * (tau * (1 - tau)) ** 2

    def duration(self, path: AbstractPath) -> float:
        """The given one, for every `path`."""
        return self.total_time

    def of_part(self, share: float) -> Quintic:
        """Over as large a share of the time."""
        return Quintic(share * self.total_time)

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The end, from which on it rests."""
        return (self.total_time,)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAndGo(AbstractTiming):
    """A law for each part of a path with cusps, from rest to rest. Made by `timing_law`."""

    #: paths, laws: parts of the path, and the law of each
    paths: tuple[AbstractPath, ...]
    laws: tuple[AbstractTiming, ...]
    #: s at rest at each cusp, while a steering wheel turns; none by default
    pauses: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for path, law in zip(self.paths, self.laws, strict=True):
            whole, lasts = length(path), law.duration(path)
            moving = []
            for t, s in ((0.0, 0.0), (lasts, whole)):
                speed = law.speed(ca.SX(t), ca.SX(s), ca.SX(0), whole)
                moving.append(abs(float(ca.evalf(speed))))
            if max(moving) > STILL * whole / lasts:
                raise SimulationError(
                    f"the timing law '{law.text()}' passes a cusp of the path at "
                    f"{max(moving):.4g} m/s, where a vehicle must stop",
                    f"path of {len(self.paths)} parts",
                    "choose a law that starts and ends at rest: quintic, trapezoidal, s-curve or "
                    "least-time",
                )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Speed in the part that is driven at the time t, zero at the cusps."""
        starts, speeds = [], []
        for law, (begin, end), (first, last) in zip(
            self.laws, self._times(), self._places(), strict=True
        ):
            starts += [begin, end]
            speeds.append(ca.SX(law.speed(t - begin, s - first, curvature, last - first)))
            speeds.append(ca.SX(0))
        return choose(t, starts, speeds)

    def duration(self, path: AbstractPath) -> float:
        """Duration of all parts together, with the pauses."""
        return self._times()[-1][1]

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Knots of all parts, and the stops."""
        found: set[float] = set()
        for (begin, end), part, law in zip(self._times(), self.paths, self.laws, strict=True):
            found |= {begin, end, *(begin + knot for knot in law.knots(part))}
        return tuple(sorted(found - {0.0}))

    def break_times(self, path: AbstractPath) -> tuple[float, ...]:
        """Break times of all parts, and the departures from the cusps between them."""
        found: list[float] = []
        for k, (part, law) in enumerate(zip(self.paths, self.laws, strict=True)):
            begin, _ = self._times()[k]
            found += [begin] if k else []
            found += [begin + t for t in law.break_times(part)]
        return tuple(found)

    def stops(self, path: AbstractPath) -> tuple[tuple[float, float], ...]:
        """Times at which each part ends and the next one begins."""
        return tuple((a[1], b[0]) for a, b in pairwise(self._times()))

    def paused(self, pauses: tuple[float, ...]) -> AbstractTiming:
        """The same laws with other pauses."""
        return StopAndGo(paths=self.paths, laws=self.laws, pauses=pauses)

    def text(self) -> str:
        """The laws of the parts, and the pauses between them."""
        words = [self.laws[0].text()]
        for law, (arrives, leaves) in zip(self.laws[1:], self.stops(self.paths[0]), strict=True):
            words += [f"{leaves - arrives:.3g} s at rest"] if leaves > arrives else []
            words.append(law.text())
        return ", ".join(words)

    def _times(self) -> list[tuple[float, float]]:
        """Times at which each part begins and ends."""
        found, at = [], 0.0
        pauses = (*self.pauses, *[0.0] * (len(self.laws) - len(self.pauses)))
        for path, law, pause in zip(self.paths, self.laws, pauses, strict=True):
            found.append((at, at + law.duration(path)))
            at = found[-1][1] + pause
        return found

    def _places(self) -> list[tuple[float, float]]:
        """Arc lengths at which each part begins and ends."""
        ends = np.cumsum([0.0, *(length(path) for path in self.paths)])
        return [(float(a), float(b)) for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True, init=False)
class ConstantSpeed(AbstractTiming):
    """The same speed from the start to the end, and on.

    Parameters
    ----------
    speed : m/s; kept as `steady_speed`.
    """

    word = "constant-speed"
    kept_as = {"speed": "steady_speed"}

    steady_speed: float

    def __init__(self, speed: float) -> None:
        assign(self, steady_speed=positive(speed, "speed", "ConstantSpeed"))

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """The given speed."""
        return ca.SX(self.steady_speed)

    def duration(self, path: AbstractPath) -> float:
        """Length over speed."""
        return length(path) / self.steady_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantEnergy(AbstractTiming):
    """The speed at which a sleigh keeps its kinetic energy: ṡ = v_T/√(1 + b² κ²).

    The whole speed v_T = √(ṡ² + b² φ̇²) of a body that heads along the path, φ̇ = κ ṡ, is constant
    [AntunesSigaudMoraes2010]. It takes the time (1/v_T) ∫ √(1 + b² κ²) ds.
    """

    word = "constant-energy"
    typical = {"radius_of_gyration": 0.5}
    offered = ("radius_of_gyration",)

    total_speed: float  #: v_T, m/s
    #: b, about the point that follows the path, m; that of the vehicle if it is not given, ½ M (ṡ²
    #: + b² φ̇²) being its kinetic energy
    radius_of_gyration: Length | None = None

    def __post_init__(self) -> None:
        radius = self.radius_of_gyration
        if radius is not None:
            radius = number(radius, "radius_of_gyration", "ConstantEnergy")
        if radius is not None and radius < 0:
            raise SimulationError(
                f"radius_of_gyration is {radius:g}, expected 0 or more",
                "ConstantEnergy",
                "give the radius in m: the root of the moment of inertia over the mass",
            )
        assign(
            self,
            total_speed=positive(self.total_speed, "total_speed", "ConstantEnergy"),
            radius_of_gyration=radius,
        )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """v_T/√(1 + b² κ²)."""
        return self.total_speed / self._stretch(curvature)

    def duration(self, path: AbstractPath) -> float:
        """(1/v_T) ∫ √(1 + b² κ²) ds."""
        return integrate(path, lambda p: self._stretch(curvature(path, p))) / self.total_speed

    def on(
        self,
        system: System,
        path: AbstractPath,
        follower: Follower | None = None,
        *,
        inputs: tuple[str, ...] = (),
        reference: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> AbstractTiming:
        """With the radius of gyration of the vehicle, if none is given."""
        if self.radius_of_gyration is not None:
            return self
        found = gyration(system, parameters=dict(parameters or {}))
        return ConstantEnergy(total_speed=self.total_speed, radius_of_gyration=found.radius)

    def with_columns(self, system: System, run: Trajectory) -> Trajectory:
        """With the control angles of a Chaplygin system."""
        return with_control_angles(system, run)

    def _stretch(self, kappa: ca.SX) -> ca.SX:
        if self.radius_of_gyration is None:
            raise SimulationError(
                "the radius of gyration is not known without a vehicle",
                "ConstantEnergy",
                "give radius_of_gyration, or let track find it",
            )
        return ca.sqrt(1 + (self.radius_of_gyration * kappa) ** 2)


_ACCURACY = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}


@lru_cache(maxsize=64)
def break_times(timing: AbstractTiming, path: AbstractPath) -> tuple[float, ...]:
    """Times in s at which the inner breaks of `path` are passed; fewer if `timing` stops before."""
    if len(path.breaks) <= 2:
        return ()
    t, s, bend = (ca.SX.sym(name) for name in ("t", "s", "bend"))
    speed = ca.SX(timing.speed(t, s, bend, float(arc_table(path).s[-1])))
    law = ca.Function("speed", [t, s, bend], [ca.densify(speed)])
    along = _over_path if ca.depends_on(speed, bend) else _over_time
    return tuple(along(law, timing, path))


def _over_time(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(1), inverted at the breaks."""
    from scipy.integrate import solve_ivp

    def rate(t: float, s: Array) -> Array:
        return np.asarray(law(t, s, 0.0)).ravel()

    goals = arc_table(path).arc_length(np.array(path.breaks[1:-1]))
    end = timing.duration(path)
    start, times = np.zeros(1), np.zeros(0)
    for before, after in pairwise([0.0, *(k for k in timing.knots(path) if 0 < k < end), end]):
        run = solve_ivp(rate, (before, after), start, dense_output=True, **_ACCURACY)
        start = run.y[:, -1]
        here = goals[len(times) :]
        here = here[here <= start[0]]
        if not len(here):
            continue
        k = np.searchsorted(run.y[0], here)
        low, high = run.t[np.maximum(k - 1, 0)], run.t[k]
        # all at once by halves, to rounding; s never falls
        for _ in range(64):
            middle = (low + high) / 2
            is_before = run.sol(middle)[0] < here
            low, high = np.where(is_before, middle, low), np.where(is_before, high, middle)
        times = np.concatenate([times, high])
    return [float(t) for t in times]


def _over_path(law: ca.Function, timing: AbstractTiming, path: AbstractPath) -> list[float]:
    """(2), from break to break; nothing is known of laws that come to rest on the way."""
    from scipy.integrate import solve_ivp

    t, s, p = (ca.SX.sym(name) for name in ("t", "s", "p"))
    pace = stretch(path, p)
    both = ca.vertcat(pace / law(t, s, curvature(path, p)), pace)
    rates = ca.Function("rates", [p, ca.vertcat(t, s)], [ca.densify(both)])

    def rate(p: float, x: Array) -> Array:
        return np.asarray(rates(p, x)).ravel()

    x, times = np.zeros(2), []
    for a, b in pairwise(path.breaks[:-1]):
        # a hair inside, so that the curvature is that of this piece
        hair = 1e-12 * (b - a)
        if not np.all(np.isfinite(rate(a + hair, x))):
            return []
        x = solve_ivp(rate, (a + hair, b - hair), x, **_ACCURACY).y[:, -1]
        times.append(float(x[0]))
    return times


#: Time that a piece takes, s, its acceleration at the start and its jerk.
Piece = tuple[float, float, float]


class _FromRestToRest(AbstractTiming):
    """A timing law whose speed is a polynomial of t on each of a few pieces."""

    __slots__ = ()

    @abc.abstractmethod
    def _pieces(self, whole: float) -> list[Piece]:
        """Pieces along a path of a length."""

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """The polynomial of the piece at t."""
        return _speed(t, 0.0, self._pieces(length))

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """Ends of the pieces, at which acceleration or jerk jumps."""
        return _ends(self._pieces(length(path)))


@dataclass(frozen=True, slots=True, init=False)
class Trapezoidal(_FromRestToRest):
    """From rest to rest with constant acceleration, then constant speed, then braking.

    A path too short for the full speed is driven with acceleration and braking only.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    """

    word = "trapezoidal"
    typical = {"acceleration": 0.5}
    kept_as = {"speed": "top_speed"}

    top_speed: float
    acceleration: Acceleration  #: m/s², when braking too

    def __init__(self, *, speed: float, acceleration: Acceleration) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "Trapezoidal"),
            acceleration=positive(acceleration, "acceleration", "Trapezoidal"),
        )

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, ramp, cruise = self._phases(length(path))
        return 2 * ramp + cruise

    def _pieces(self, whole: float) -> list[Piece]:
        v, ramp, cruise = self._phases(whole)
        return [(ramp, v / ramp, 0.0), (cruise, 0.0, 0.0), (ramp, -v / ramp, 0.0)]

    def _phases(self, whole: float) -> tuple[float, float, float]:
        """The highest speed reached, the time of each ramp, the time at that speed."""
        v = min(self.top_speed, math.sqrt(self.acceleration * whole))
        ramp = v / self.acceleration
        return v, ramp, max(0.0, whole / v - ramp)


@dataclass(frozen=True, slots=True, init=False)
class SCurve(_FromRestToRest):
    """From rest to rest like a trapezoid whose acceleration rises and falls at a limited rate.

    Parameters
    ----------
    speed : the highest, m/s; kept as `top_speed`.
    """

    word = "s-curve"
    typical = {"acceleration": 0.5, "jerk": 0.5}
    kept_as = {"speed": "top_speed"}

    top_speed: float
    acceleration: Acceleration  #: the highest, m/s²
    jerk: Jerk  #: rate of the acceleration while it changes, m/s³

    def __init__(self, *, speed: float, acceleration: Acceleration, jerk: Jerk) -> None:
        assign(
            self,
            top_speed=positive(speed, "speed", "SCurve"),
            acceleration=positive(acceleration, "acceleration", "SCurve"),
            jerk=positive(jerk, "jerk", "SCurve"),
        )

    def duration(self, path: AbstractPath) -> float:
        """Both ramps and what is between."""
        _, change, hold, cruise = self._phases(length(path))
        return 2 * (2 * change + hold) + cruise

    def _pieces(self, whole: float) -> list[Piece]:
        v, change, hold, cruise = self._phases(whole)
        # written with the speed reached, so that the end is at rest to rounding
        a = v / (change + hold)
        j = a / change
        up = [(change, 0.0, j), (hold, a, 0.0), (change, a, -j)]
        down = [(change, 0.0, -j), (hold, -a, 0.0), (change, -a, j)]
        return [*up, (cruise, 0.0, 0.0), *down]

    def _phases(self, whole: float) -> tuple[float, float, float, float]:
        """The highest speed reached; the times of rising and of full acceleration, and of no more.

        With the ramp's time T(v) = 2 √(v/j) below v = a²/j and v/a + a/j above, both ramps take
        v T(v) of the path; where that is more than the path, v T(v) = L is solved for v.
        """
        v, a, j = self.top_speed, self.acceleration, self.jerk
        if v * self._ramp(v) > whole:
            v = (whole**2 * j / 4) ** (1 / 3)
            if v > a * a / j:
                v = (math.sqrt((a * a / j) ** 2 + 4 * a * whole) - a * a / j) / 2
        ramp = self._ramp(v)
        change = min(math.sqrt(v / j), a / j)
        return v, change, max(0.0, ramp - 2 * change), max(0.0, whole / v - ramp)

    def _ramp(self, v: float) -> float:
        a, j = self.acceleration, self.jerk
        return v / a + a / j if v > a * a / j else 2 * math.sqrt(v / j)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSchedule(AbstractTiming):
    """Given speeds at given times, linear in between: the acceleration is constant on each piece.

    With gradients c = ds̈/ds the acceleration of a piece is linear in the arc length instead, which
    is what the fastest motions along a path have. From a speed v₀ and an acceleration a₀,

        (1)  ṡ = v₀ C₀(x) + a₀ t C₁(x),  s = v₀ t C₁(x) + a₀ t² C₂(x),  x = c t²

    where C_n(x) = Σ x^k/(2k + n)!: cosh √x, sinh √x/√x and (cosh √x − 1)/x.
    """

    word = "schedule"

    times: Annotated[tuple[float, ...], Meaning(unit="s")]  #: (n,) rising from 0, s
    #: (n,) m/s, not negative; the first and the last hold before and after
    speeds: tuple[float, ...]
    #: (n − 1,) of the acceleration by the arc length on each piece, 1/s²; none for 0
    gradients: Annotated[tuple[float, ...], Meaning(unit="1/s**2")] = ()

    def __post_init__(self) -> None:
        times, speeds = _rising(self, "times")
        if min(speeds) < 0:
            raise SimulationError(
                f"speeds[{int(np.argmin(speeds))}] is {min(speeds):g}, expected 0 or more",
                "SpeedSchedule(speeds=…)",
                "give speeds along the path, and reversed_path to drive it from its end",
            )
        gradients = numbers(self.gradients, "gradients", "SpeedSchedule")
        if gradients and len(gradients) != len(times) - 1:
            raise SimulationError(
                f"{len(gradients)} gradients are given for {len(times) - 1} pieces",
                "SpeedSchedule(gradients=…)",
                "give one gradient for each piece between two times, or none",
            )
        bend = np.abs(gradients) * np.diff(times) ** 2 if gradients else np.zeros(1)
        if np.max(bend) > STEEPEST:
            k = int(np.argmax(bend))
            raise SimulationError(
                f"the acceleration changes {np.max(bend):.3g} times over on the piece from "
                f"{times[k]:g} s, more than {STEEPEST:g}",
                "SpeedSchedule(gradients=…)",
                "give more times there",
            )
        assign(self, gradients=gradients)

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """Linear in t between the times, or (1)."""
        if not self.gradients:
            return _speed(t, self.speeds[0], self._pieces())
        v, a, c = self._rows()
        end = 0.0 if self.speeds[-1] < 1e-9 * max(self.speeds) else self.speeds[-1]
        rows = np.column_stack([self.times, [*v, end], [*a, 0.0], [*c, 0.0]])
        start, v0, a0, rate = look_up(t, self.times, rows)
        tau = t - start
        x = rate * tau**2
        return v0 * _cosine_like(x, 0) + a0 * tau * _cosine_like(x, 1)

    def duration(self, path: AbstractPath) -> float:
        """The last time, after checking that these speeds bring one to the end of `path`."""
        driven, whole = float(self.places()[-1]), length(path)
        if abs(driven - whole) > 1e-6 * whole:
            raise SimulationError(
                f"these speeds cover {driven:.9g} m, and the path is {whole:.9g} m long",
                f"SpeedSchedule on {type(path).__name__}",
                "make the schedule for this path, for instance by least_time(path, limits)",
            )
        return self.times[-1]

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The times, at each of which the acceleration jumps or its gradient does."""
        return _ends(self._pieces())

    def places(self) -> Array:
        """(n,) arc lengths at the times, m."""
        v, a, c = self._rows()
        step = np.diff(self.times)
        x = c * step**2
        way = v * step * _cosine_like(x, 1) + a * step**2 * _cosine_like(x, 2)
        return np.concatenate([[0.0], np.cumsum(way)])

    def along(self, arc_lengths: Array) -> tuple[Array, Array]:
        """ṡ² and s̈ at arc lengths (n,), just after them: ṡ² = v₀² + 2 a₀ s + c s² on a piece."""
        v, a, c = self._rows()
        start = self.places()
        k = np.clip(np.searchsorted(start, arc_lengths, side="right") - 1, 0, len(v) - 1)
        way = arc_lengths - start[k]
        z = v[k] ** 2 + way * (2 * a[k] + c[k] * way)
        return np.maximum(z, 0.0), a[k] + c[k] * way

    def _rows(self) -> tuple[Array, Array, Array]:
        """v₀, a₀ and c of each piece."""
        step, v = np.diff(self.times), np.array(self.speeds)
        c = np.array(self.gradients) if self.gradients else np.zeros(len(step))
        x = c * step**2
        a = (v[1:] - v[:-1] * _cosine_like(x, 0)) / (step * _cosine_like(x, 1))
        return v[:-1], a, c

    def _pieces(self) -> list[Piece]:
        steps = np.diff(self.times)
        slopes = np.diff(self.speeds) / steps
        return [(float(h), float(a), 0.0) for h, a in zip(steps, slopes, strict=True)]


#: Highest |c| t² of a piece of a schedule, up to which its series is exact to rounding.
STEEPEST, TERMS = 4.0, 12


def _cosine_like(x: Any, n: int) -> Any:
    """C_n of (1): Σ x^k/(2k + n)! by Horner's rule."""
    result = 0.0 * x + 1 / math.factorial(2 * TERMS + n)
    for k in range(TERMS - 1, -1, -1):
        result = result * x + 1 / math.factorial(2 * k + n)
    return result


def _rising(
    law: SpeedSchedule | SpeedProfile, name: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Check and convert the speeds of a law and what they are given at, which rises from 0."""
    where, words = type(law).__name__, name.replace("_", " ")
    places = numbers(getattr(law, name), name, where)
    speeds = numbers(law.speeds, "speeds", where)
    if len(places) != len(speeds) or len(places) < 2:
        raise SimulationError(
            f"{len(speeds)} speeds are given for {len(places)} {words}",
            where,
            f"give as many speeds as {words}, at least 2",
        )
    if places[0] != 0 or np.any(np.diff(places) <= 0):
        raise SimulationError(
            f"the {words} do not rise from 0",
            f"{where}({name}=…)",
            f"sort the {words}, start with 0 and give none twice",
        )
    assign(law, **{name: places}, speeds=speeds)
    return places, speeds


def _ends(pieces: Sequence[Piece]) -> tuple[float, ...]:
    """Times at which the pieces end, the same sums as in `_speed`."""
    return tuple(float(t) for t in np.cumsum([time for time, _, _ in pieces if time > 0]))


def _speed(t: ca.SX, first: float, pieces: Sequence[Piece]) -> ca.SX:
    """Speed from its value at t = 0 and the pieces after it."""
    rows, at, v = [(0.0, first, 0.0, 0.0)], 0.0, first
    for time, a, j in pieces:
        if time > 0:
            rows.append((at, v, a, j / 2))
            at += time
            v += time * (a + time * j / 2)
    # what has come to rest stays at rest
    rows.append((at, 0.0 if abs(v) < 1e-9 * max(row[1] for row in rows) else v, 0.0, 0.0))
    start, v0, a0, j0 = look_up(t, [row[0] for row in rows], rows, is_printed=True)
    u = t - start
    return v0 + u * (a0 + u * j0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedProfile(AbstractTiming):
    """Given speeds at given places, with continuous acceleration in between."""

    word = "profile"

    #: (n,) rising from 0 to the length of the path, m
    arc_lengths: Annotated[tuple[float, ...], Meaning(unit="m")]
    #: (n,) m/s, positive; the first and the last may be zero. After the end the last holds.
    speeds: tuple[float, ...]

    def __post_init__(self) -> None:
        places, speeds = _rising(self, "arc_lengths")
        # only the ends may be at rest, and not both if there is nothing between them
        inner = range(1, len(speeds) - 1) if len(speeds) > 2 or max(speeds) > 0 else (1,)
        stops = [k for k, v in enumerate(speeds) if v < 0 or (v == 0 and k in inner)]
        if stops:
            k = stops[0]
            raise SimulationError(
                f"the speed at {places[k]:g} m is {speeds[k]:g} m/s, so the end is not reached",
                "SpeedProfile(speeds=…)",
                "give positive speeds; only the first and the last may be zero",
            )

    def speed(self, t: ca.SX, s: ca.SX, curvature: ca.SX, length: float) -> ca.SX:
        """√z(s), and (1) next to a rest."""
        profile = _interpolate(self.arc_lengths, self.speeds)
        start, *c = look_up(s, profile.starts, profile.table)
        first, last = profile.starts[0], profile.end
        v = ca.sqrt(polynomial(clamp(s, first, last) - start, c))
        if self.speeds[0] == 0:
            t1 = profile.start_time
            v = ca.if_else(t < t1, clamp(t, 0.0, t1) * (self.speeds[1] / t1), v)
        if self.speeds[-1] == 0:
            t1, total = profile.end_time, profile.total_time
            rest = clamp(total - t, 0.0, t1)
            v = ca.if_else(t < total - t1, v, rest * (self.speeds[-2] / t1))
        return v

    def duration(self, path: AbstractPath) -> float:
        """∫ ds/v, after checking that the places span `path`."""
        whole = length(path)
        if abs(self.arc_lengths[-1] - whole) > 1e-6 * whole:
            raise SimulationError(
                f"the arc lengths go to {self.arc_lengths[-1]:.9g} m, and the path is "
                f"{whole:.9g} m long",
                f"SpeedProfile on {type(path).__name__}",
                "give speeds from 0 to length(path)",
            )
        return _interpolate(self.arc_lengths, self.speeds).total_time

    def knots(self, path: AbstractPath) -> tuple[float, ...]:
        """The times at which the given places are reached."""
        return _interpolate(self.arc_lengths, self.speeds).times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Profile:
    starts: tuple[float, ...]  # of the pieces of z(s) between the rests
    end: float
    table: Array  # start and cubic of each
    start_time: float  # from rest to the first piece
    end_time: float  # from the last piece to rest
    times: tuple[float, ...]  # at which the pieces and the rests end

    @property
    def total_time(self) -> float:
        return self.times[-1]


@lru_cache(maxsize=64)
def _interpolate(arc_lengths: tuple[float, ...], speeds: tuple[float, ...]) -> _Profile:
    from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

    s, v = np.array(arc_lengths), np.array(speeds)
    starts_at_rest, ends_at_rest = v[0] == 0, v[-1] == 0
    z = v**2
    slopes = PchipInterpolator(s, z).derivative()(s) if len(s) > 2 else np.diff(z) / np.diff(s)
    slopes = np.broadcast_to(slopes, s.shape).copy()
    # next to a rest z is linear; a steeper slope there cannot make the next cubic negative
    if starts_at_rest:
        slopes[:2] = z[1] / s[1]
    if ends_at_rest:
        slopes[-2:] = -z[-2] / (s[-1] - s[-2])
    first, last = int(starts_at_rest), len(s) - int(ends_at_rest)
    start_time = 2 * (s[1] - s[0]) / v[1] if starts_at_rest else 0.0
    end_time = 2 * (s[-1] - s[-2]) / v[-2] if ends_at_rest else 0.0
    if last - first < 2:
        # nothing between the rests but one place, or one piece
        table = np.array([[s[first], 0.0, 0.0, 0.0, z[first]]])
        middle = [0.0]
    else:
        cubics = CubicHermiteSpline(s[first:last], z[first:last], slopes[first:last])
        table = np.column_stack([s[first : last - 1], cubics.c.T])
        middle = [_time(row, s[first + k + 1]) for k, row in enumerate(table)]
    return _Profile(
        starts=tuple(float(x) for x in table[:, 0]),
        end=float(s[last - 1]),
        table=table,
        start_time=float(start_time),
        end_time=float(end_time),
        times=tuple(float(t) for t in np.cumsum([start_time, *middle, end_time])),
    )


def _time(row: Array, end: float) -> float:
    """∫ ds/√z over one cubic, by Gauss's rule on halves until it no longer changes."""
    x, w = legendre.leggauss(16)
    start, c = row[0], row[1:]
    before, num = np.inf, 1
    while num <= 4096:
        edges = np.linspace(0.0, end - start, num + 1)
        half = np.diff(edges)[:, None] / 2
        u = edges[:-1, None] + half * (1 + x)
        now = float(np.sum(half * w / np.sqrt(np.polyval(c, u))))
        if abs(now - before) <= 1e-14 * now:
            return now
        before, num = now, 2 * num
    return before
