"""`linearize`: small motions about an equilibrium or a steady motion, exactly.

Coordinates c and speeds ζ as in `local_coordinates.py`; what is ignored and what must be steady as
in `steady.py`. Of the equations r(c, ζ, ζ̇, u) = 0, the rates ċ(c, ζ) and the holonomic rows
g(c) = 0, all derivatives are traced, none is a difference. With δ for what is small,

    (1)  M δζ̇ + D δζ + K δc = F δu      M = ∂r/∂ζ̇,  D = ∂r/∂ζ,  K = ∂r/∂c,  F = −∂r/∂u
    (2)  δċ = (∂ċ/∂c) δc + (∂ċ/∂ζ) δζ + (∂ċ/∂u) δu
    (3)  G δc = 0                       G = ∂g/∂c

The coordinates that matter are split so that G = [G_i G_d] with G_d regular; δc = T z with z the
independent ones and T = [1; −G_d⁻¹ G_i]. Then x = [z; δζ] follows

    (4)  ẋ = A x + B δu

Inputs that are given as functions of the state close the loop: δu follows (1) of `feedback.py`, and
A, D and K hold what they do. Then δu is what acts besides them, and states of a law follow those of
the mechanism.

A motion through exp(λ t) has det(A − λ) = 0. A family of steady motions (another speed, another
lean) gives eigenvalues of zero, one for each of its parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.analysis.feedback import Feedback, StateInputs, depends_on_state, feedback
from noslip.analysis.instant import check_time, input_vector
from noslip.analysis.local_coordinates import LocalState, local_state_at, moving_axes
from noslip.analysis.modes import Mode, modes_of, modes_text, state_groups
from noslip.analysis.steady_motion import (
    Relevance,
    allowed_residuals,
    reference_of,
    relevance,
    scale_of,
)
from noslip.base import Array, SimulationError
from noslip.engines import System, require_system
from noslip.expressions import rate_unit
from noslip.model import NamedMode, Quantity
from noslip.simulation import Start, check_completed, check_named, complete_start, with_regular_rows

#: Rates above this beside the forces that act (m, rad and s) are a motion that is not steady.
STEADY = 1e-8
#: Slopes of inputs below this, beside the largest, are rounding.
UNUSED = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearization:
    """(1) and (4) about a steady motion, with names and units. Made by :func:`linearize`.

    Parameters
    ----------
    coordinates, speeds : of x: independent coordinates z, then speeds ζ.
    law_states : of x, last: those of a feedback law.
    inputs : of u: force inputs, speed inputs and their rates.
    dependent : coordinates that follow from z by the holonomic rows.
    ignored : coordinates that nothing depends on.
    A, B : (n, n) and (n, nu).
    mass, damping, stiffness, forcing : M (nf, nf), D (nf, nf), K T (nf, nz) and F (nf, nu) of (1),
        with damping for everything that is proportional to speeds.
    coordinate_map : (len(dependent), nz), dependent coordinates from z.
    values : coordinates and speeds of the steady motion, by name.
    residual : the largest rate that should vanish.
    eigenvalues : (n,) of A, those that grow fastest first.
    eigenvectors : (n, n), a column for each.
    named_modes : names that the model gives to modes.
    turning : angles that turn steadily, and with them the axes of other states → rate, rad/s; what
        swings at f Hz in these axes, in the world swings at f ± rate/2π.
    """

    model: str
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    dependent: tuple[Quantity, ...]
    ignored: tuple[Quantity, ...]
    A: Array = field(repr=False)
    B: Array = field(repr=False)
    mass: Array = field(repr=False)
    damping: Array = field(repr=False)
    stiffness: Array = field(repr=False)
    forcing: Array = field(repr=False)
    coordinate_map: Array = field(repr=False)
    values: dict[str, float] = field(repr=False)
    residual: float
    eigenvalues: NDArray[np.complex128] = field(repr=False)
    eigenvectors: np.ndarray = field(repr=False)
    law_states: tuple[Quantity, ...] = ()
    named_modes: tuple[NamedMode, ...] = field(default=(), repr=False)
    turning: dict[str, float] = field(default_factory=dict)

    @property
    def states(self) -> tuple[Quantity, ...]:
        """The entries of x, with units."""
        return self.coordinates + self.speeds + self.law_states

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Eigenvalues with what they mean: a mode for each real one and each pair."""
        states = [s.name for s in self.states]
        groups = state_groups(self.A, [c.name for c in self.coordinates], states)
        return modes_of(self.eigenvalues, self.eigenvectors, states, groups, self.named_modes)

    @property
    def is_stable(self) -> bool:
        """Whether no small motion grows."""
        return not any(mode.is_growing for mode in self.modes)

    def text(self) -> str:
        """The linearization for people: states, steady motion, modes."""
        known = (*self.states, *self.dependent, *self.inputs)
        units = {quantity.name: quantity.unit for quantity in known}
        about = ", ".join(
            f"{n} = {x:.6g} {units[n]}" for n, x in self.values.items() if abs(x) > 1e-12
        )
        lines = [
            f"{self.model}, linearized about {about or 'rest'}",
            f"  states     {', '.join(f'{s.name} [{s.unit}]' for s in self.states) or 'none'}",
        ]
        if self.dependent:
            lines.append(f"  dependent  {', '.join(c.name for c in self.dependent)}")
        if self.ignored:
            lines.append(f"  ignored    {', '.join(c.name for c in self.ignored)}")
        return "\n".join([*lines, *self.axes_notes, *modes_text(self.modes)])

    @property
    def axes_notes(self) -> tuple[str, ...]:
        """A line for each angle whose turning axes the frequencies are seen in."""
        if not any(mode.is_oscillating for mode in self.modes):
            return ()
        return tuple(
            f"  axes       turn with {name} at {rate:.6g} rad/s: a motion of f Hz in them has "
            f"|f ± {abs(rate) / (2 * np.pi):.4g}| Hz in axes that do not"
            for name, rate in self.turning.items()
        )

    def to_json(self) -> dict[str, object]:
        """Plain numbers, lists and dictionaries; an eigenvalue is [real, imaginary]."""

        def listed(quantities: tuple[Quantity, ...]) -> list[dict[str, str]]:
            return [{"name": q.name, "unit": q.unit} for q in quantities]

        return {
            "model": self.model,
            "states": listed(self.states),
            "inputs": listed(self.inputs),
            "dependent": [c.name for c in self.dependent],
            "ignored": [c.name for c in self.ignored],
            "turning": self.turning,
            "about": self.values,
            "residual": self.residual,
            "A": self.A.tolist(),
            "B": self.B.tolist(),
            "mass": self.mass.tolist(),
            "damping": self.damping.tolist(),
            "stiffness": self.stiffness.tolist(),
            "eigenvalues": [[float(e.real), float(e.imag)] for e in self.eigenvalues],
            "is_stable": self.is_stable,
            "modes": [mode.to_json() for mode in self.modes],
        }

    def __repr__(self) -> str:
        names = ", ".join(s.name for s in self.states)
        word = "stable" if self.is_stable else "unstable"
        return (
            f"Linearization of '{self.model}' ({word}) in {names}\nnext: .text(), .A, .eigenvalues"
        )


def linearize(
    system: System,
    about: Mapping[str, float] | Start | None = None,
    *,
    inputs: StateInputs | None = None,
    parameters: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Linearization:
    """Linearize a system about an equilibrium or a steady motion.

    Parameters
    ----------
    system : compiled system.
    about : coordinates, speeds, named angles and their rates of the steady motion; the rest is
        completed consistently from the joints' rest positions. Or a completed start, such as that
        of :func:`noslip.steady`. At rest by default.
    inputs : force and speed inputs that keep it, zero by default: numbers, expressions of
        coordinates and speeds, CasADi functions, or a law that gives all of them. What depends on
        the state acts as feedback: the linearization is that of the closed loop.
    parameters : values that differ from the nominal ones.
    guess : coordinates and named angles about which the rest of `about` is looked for; it picks one
        of several assemblies.
    time : s, at which moving constraints are taken; a completed start has its own.

    Raises
    ------
    SimulationError : for unknown names, a motion that is not steady, or equations that change with
        time.
    """
    require_system("linearize", system)
    if not (about is None or isinstance(about, Mapping | Start)):
        raise TypeError(
            f"about is of type {type(about).__name__}: pass names and values, {{'speed': 5.0}}, "
            "or the start of a steady motion, motion.start"
        )
    check_time(system, time, about)
    check_named(parameters=parameters, guess=guess)
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    loop = feedback(system, inputs, params) if inputs and depends_on_state(inputs) else None
    u = np.zeros(len(system.inputs))
    if loop is None and isinstance(inputs, Mapping):
        u = input_vector(system, inputs)  # type: ignore[arg-type]
    if isinstance(about, Start):
        check_completed(system, about, params)
        start = about
    else:
        start = _complete(system, about or {}, guess, u, loop, params, time)
    if loop is not None:
        u = loop.inputs_at(start.time, start.q, start.eta)
    point = steady_state_at(system, start, u, params)
    if loop is None or inputs is None:
        return linearize_point(point, relevance(point))
    here = loop if point.system is system else feedback(point.system, inputs, params)
    return _close_loop(point, here)


def steady_state_at(system: System, start: Start, inputs: Array, params: Array) -> LocalState:
    """The state of a start, in turned coordinates if it is steady in these alone."""
    plain = local_state_at(system, start, inputs, params)
    if is_steady_at(plain):
        return plain
    for turned in moving_axes(system, start.q):
        point = local_state_at(system, start, inputs, params, turned)
        if is_steady_at(point):
            return point
    return plain


def is_steady_at(point: LocalState) -> bool:
    """Whether the rates that should vanish do."""
    rates, allowed = _rates_that_vanish(point, relevance(point).coordinates)
    return all(abs(x) <= allowed[name] for name, x in rates.items())


def _complete(
    system: System,
    about: Mapping[str, float],
    guess: Mapping[str, float] | None,
    u: Array,
    loop: Feedback | None,
    params: Array,
    time: float,
) -> Start:
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    rest = np.zeros(len(system.independent_speeds))

    def speed_inputs(q: Array) -> Array:
        found = u if loop is None else loop.inputs_at(time, q, rest)
        return found[num_u : num_u + num_w]

    return complete_start(
        system, about, guess=guess, time=time, speed_inputs=speed_inputs, parameters=params
    )


def _close_loop(point: LocalState, loop: Feedback) -> Linearization:
    """The linearization with inputs that follow the state."""
    placing = np.array(point.chart.placing(point.c))
    q, eta = point.chart.to_coordinates(point.c), point.values()[4]
    rates = loop.rates_at(point.time, q, eta)
    for state, rate in zip(loop.states, rates, strict=True):
        if not abs(rate) <= STEADY:
            raise SimulationError(
                f"the motion is not steady: the control law changes its own '{state.name}' by "
                f"{rate:.3g} "
                f"{rate_unit(state.unit)}",
                f"linearization of model '{point.system.model.name}'",
                "give a law whose states are constant on the motion",
            )
    f_q, f_eta, f_z = (np.array(x) for x in loop.slopes(point.time, q, eta, loop.start))
    count = len(point.inputs)
    _, _, _, _, eta_c = point.derivatives()[0]
    _, _, _, _, eta_zeta = point.derivatives()[1]
    _, _, _, _, eta_u = point.derivatives()[2]
    # (1) of feedback.py
    by_c, by_zeta = f_q @ placing + f_eta @ eta_c, f_eta @ eta_zeta
    right = np.hstack([by_c, by_zeta, f_z])[:count]
    own = np.linalg.solve(np.eye(count) - f_eta[:count] @ eta_u, np.hstack([right, np.eye(count)]))
    ends = np.cumsum([by_c.shape[1], by_zeta.shape[1], f_z.shape[1]])
    u_c, u_zeta, u_z, u_d = np.split(own, ends, axis=1)
    # ż, which sees δη through δu too
    h_u = f_eta[count:] @ eta_u
    law = LawSlopes(
        states=loop.states,
        inputs=(u_c, u_zeta, u_z, u_d),
        rates=(
            by_c[count:] + h_u @ u_c,
            by_zeta[count:] + h_u @ u_zeta,
            f_z[count:] + h_u @ u_z,
            h_u @ u_d,
        ),
    )
    return linearize_point(point, relevance(point, _used(point, loop)), law)


def _used(point: LocalState, loop: Feedback) -> tuple[int, ...]:
    """Places in c of the coordinates that a law depends on, at generic states."""
    chart, kin = point.chart, point.system.kinematics
    rng = np.random.default_rng(8)
    used = np.zeros(len(chart.coordinates), dtype=bool)
    probe = dataclasses.replace(kin.probe, params=point.parameters)
    for _, q in [(0.0, chart.to_coordinates(point.c)), *probe.configurations(3)]:
        beside = dataclasses.replace(
            point,
            c=chart.from_coordinates(q),
            zeta=point.zeta + rng.normal(size=len(point.zeta)),
            inputs=point.inputs + rng.normal(size=len(point.inputs)),
        )
        eta, eta_c = beside.values()[4], beside.derivatives()[0][4]
        f_q, f_eta, _ = (np.array(x) for x in loop.slopes(point.time, q, eta, loop.start))
        parts = [f_q @ np.array(chart.placing(beside.c)), f_eta @ eta_c]
        if np.all(np.isfinite(parts)):
            size = np.max(np.abs(parts), initial=0.0)
            used |= np.any(np.abs(parts[0] + parts[1]) > UNUSED * size, axis=0)
    return tuple(np.flatnonzero(used).tolist())


class LawSlopes(NamedTuple):
    """Derivatives of inputs and of ż of a law with respect to c, ζ, z and what acts besides."""

    states: tuple[Quantity, ...]
    inputs: tuple[Array, Array, Array, Array]
    rates: tuple[Array, Array, Array, Array]


def linearize_point(
    point: LocalState, relevant: Relevance, law: LawSlopes | None = None
) -> Linearization:
    """(1) to (4) at a steady state, in the coordinates that matter."""
    chart, matter = point.chart, relevant.coordinates
    residual = _check_steady(point, matter)
    free, tied, coordinate_map = independent_coordinates(point, relevant)
    T = np.zeros((len(chart.coordinates), len(free)))
    T[free, range(len(free))] = 1.0
    T[tied] = coordinate_map
    near = small_motions(point, free, T)
    if law is not None:
        near = _with_law(near, law, T)
    values, vectors = np.linalg.eig(near.A) if near.A.size else (np.zeros(0, complex), near.A)
    order = np.lexsort((-values.imag, -values.real))
    return Linearization(
        model=point.system.model.name,
        coordinates=tuple(chart.coordinates[k] for k in free),
        speeds=chart.speeds,
        inputs=point.system.inputs,
        dependent=tuple(chart.coordinates[k] for k in tied),
        ignored=tuple(c for k, c in enumerate(chart.coordinates) if k not in matter),
        A=near.A,
        B=near.B,
        mass=near.mass,
        damping=near.damping,
        stiffness=near.stiffness,
        forcing=near.forcing,
        coordinate_map=coordinate_map,
        values=_values(point, matter),
        residual=residual,
        eigenvalues=values[order],
        eigenvectors=vectors[:, order],
        law_states=law.states if law is not None else (),
        named_modes=point.system.model.modes,
        turning=_turning(point),
    )


#: Rates of angles below this are rounding, rad/s.
STILL = 1e-9


def _turning(point: LocalState) -> dict[str, float]:
    """Angles that turn the axes of other states, and turn steadily, with their rates."""
    rates = point.values()[1]
    return {
        point.chart.coordinates[k].name: float(rates[k])
        for k in point.chart.turning()
        if abs(rates[k]) > STILL
    }


def _with_law(near: SmallMotions, law: LawSlopes, T: Array) -> SmallMotions:
    """(1) and (4) with δu of a law put in, and its states last."""
    u_c, u_zeta, u_z, u_d = law.inputs
    h_c, h_zeta, h_z, h_d = law.rates
    on_states = np.hstack([u_c @ T, u_zeta])
    A = np.block(
        [
            [near.A + near.B @ on_states, near.B @ u_z],
            [np.hstack([h_c @ T, h_zeta]), h_z],
        ]
    )
    return SmallMotions(
        mass=near.mass,
        damping=near.damping - near.forcing @ u_zeta,
        stiffness=near.stiffness - near.forcing @ u_c @ T,
        forcing=near.forcing @ u_d,
        A=A,
        B=np.vstack([near.B @ u_d, h_d]),
    )


class SmallMotions(NamedTuple):
    """M, D, K T and F of (1), and A and B of (4)."""

    mass: Array
    damping: Array
    stiffness: Array
    forcing: Array
    A: Array
    B: Array


def small_motions(
    point: LocalState, free: Sequence[int], T: Array, zetadot: Array | None = None
) -> SmallMotions:
    """(4) from (1) and (2), about any motion.

    Parameters
    ----------
    point : the state.
    free : places of z in c.
    T : (nc, nz) with δc = T z.
    zetadot : (nf,) ζ̇ there, 0 if the motion is steady.
    """
    mass = point.values()[5]
    (K, cdot_c, *_), (D, cdot_z, *_), (r_u, cdot_u, *_) = point.derivatives(zetadot)
    stiffness, forcing = K @ T, -r_u
    nz, num = len(free), len(free) + len(point.chart.speeds)
    A, B = np.zeros((num, num)), np.zeros((num, forcing.shape[1]))
    A[:nz] = np.hstack([cdot_c[free] @ T, cdot_z[free]])
    B[:nz] = cdot_u[free]
    if len(mass):
        below = np.linalg.solve(mass, np.hstack([-stiffness, -D, forcing]))
        A[nz:], B[nz:] = below[:, :num], below[:, num:]
    return SmallMotions(mass, D, stiffness, forcing, A, B)


def independent_coordinates(
    point: LocalState, relevant: Relevance
) -> tuple[list[int], list[int], Array]:
    """(3): independent and dependent coordinates, best conditioned, and −G_d⁻¹ G_i.

    G has full rank, else the independent speeds would not determine the motion.
    """
    import scipy.linalg

    matter = relevant.coordinates
    G = point.derivatives()[0][2][np.ix_(relevant.rows, matter)]
    if not len(G):
        return list(matter), [], np.zeros((0, len(matter)))
    length = point.system.kinematics.length
    units = [point.chart.coordinates[k].unit for k in matter]
    scaled = G * np.array([1.0 if unit == "rad" else length for unit in units])
    pivots = scipy.linalg.qr(scaled, mode="r", pivoting=True)[1]
    dependent = sorted(int(k) for k in pivots[: len(G)])
    independent = [k for k in range(len(matter)) if k not in dependent]
    follow = np.asarray(-np.linalg.solve(G[:, dependent], G[:, independent]))
    return [matter[k] for k in independent], [matter[k] for k in dependent], follow


def _check_steady(point: LocalState, matter: tuple[int, ...]) -> float:
    """The largest rate that should vanish; refused if it does not."""
    rates, allowed = _rates_that_vanish(point, matter)
    units = {q.name: rate_unit(q.unit) for q in (*point.chart.speeds, *point.chart.coordinates)}
    moving = {n: x for n, x in rates.items() if not abs(x) <= allowed[n]}
    if moving:
        listed = ", ".join(f"the rate of {n} is {x:.3g} {units[n]}" for n, x in moving.items())
        raise SimulationError(
            f"the motion is not steady: {listed}",
            f"linearization of model '{point.system.model.name}'",
            "find a steady motion first: steady(system, {…}), and linearize about its start; on "
            "the command line add --steady",
        )
    return max(map(abs, rates.values()), default=0.0)


def _rates_that_vanish(
    point: LocalState, matter: tuple[int, ...]
) -> tuple[dict[str, float], dict[str, float]]:
    """Rates of speeds and of coordinates that matter, by name, and what they may be at most."""
    zeta_rates, c_rates = point.rates()
    chart = point.chart
    staying = [*chart.speeds, *(chart.coordinates[k] for k in matter)]
    values = [*zeta_rates, *(c_rates[k] for k in matter)]
    rates = {s.name: float(x) for s, x in zip(staying, values, strict=True)}
    mass, (by_c, by_zeta, _) = point.values()[5], point.derivatives()
    r_y, cdot_y = (np.hstack([by_c[k], by_zeta[k]]) for k in (0, 1))
    y = np.concatenate([point.c, point.zeta])
    cdot_y = cdot_y[list(matter)]
    bounds = allowed_rates(mass[None], r_y[None], cdot_y[None], y[None], scale_of(point))
    return rates, {s.name: float(x) for s, x in zip(staying, bounds[0], strict=True)}


def allowed_rates(mass: Array, r_y: Array, cdot_y: Array, y: Array, scale: Array) -> Array:
    """(n, …) what ζ̇ and ċ may be of a steady motion at y = (c, ζ), by (5) of `steady.py`."""
    speeds = y[:, y.shape[1] - r_y.shape[1] :]
    size = np.maximum(1.0, np.max(np.abs(speeds), axis=1, initial=0.0) ** 2)[:, None, None]
    reference = reference_of(scale, y)
    return allowed_residuals(mass, r_y, cdot_y, y, reference, STEADY, size)


def _values(point: LocalState, matter: tuple[int, ...]) -> dict[str, float]:
    """Coordinates that matter, speeds and inputs of the steady motion, by name."""
    chart = point.chart
    values = {chart.coordinates[k].name: float(point.c[k]) for k in matter}
    values |= {s.name: float(x) for s, x in zip(chart.speeds, point.zeta, strict=True)}
    inputs = zip(point.system.inputs, point.inputs, strict=True)
    return values | {q.name: float(x) for q, x in inputs if x}
