"""`linearize` and `linearize_batch`: small motions about steady motions, exactly.

Coordinates c and speeds ζ as in `local_coordinates.py`; what is ignored and what must be steady as
in `steady_motion.py`. Of the equations r(c, ζ, ζ̇, u) = 0, the rates ċ(c, ζ) and the holonomic rows
g(c) = 0, all derivatives are traced, none is a difference. With δ for what is small,

    (1)  M δζ̇ + D δζ + K δc = F δu      M = ∂r/∂ζ̇,  D = ∂r/∂ζ,  K = ∂r/∂c,  F = −∂r/∂u
    (2)  δċ = (∂ċ/∂c) δc + (∂ċ/∂ζ) δζ + (∂ċ/∂u) δu
    (3)  G δc = 0                       G = ∂g/∂c

The coordinates that matter are split so that G = [G_i G_d] with G_d regular; δc = T z with z the
independent ones and T = [1; −G_d⁻¹ G_i]. Then x = [z; δζ] follows

    (4)  ẋ = A x + B δu

Inputs that are given as functions of the state close the loop: δu follows (5), and A, D
and K include them. Then δu is what acts besides them, and states of a law follow those of the
mechanism.

A motion through exp(λ t) has det(A − λ) = 0. A family of steady motions (another speed, another
lean) gives eigenvalues of zero, one for each of its parameters.

(1) to (4) are combined for n states at once, on stacked matrices; a single linearization has n = 1.
Variants of a batch are grouped by the independent speeds that determine their motion
(`choose_bases`). Local coordinates, which of them matter and which depend on others are found once
for a group, at its first variant; a variant at which angles of these are singular is done alone.

**Inputs that depend on the state, for small motions: values and slopes of expressions and laws.**

With inputs u = f(q, η, z) and states of the law ż = h(q, η, z), in the local coordinates c and
speeds ζ of a system, where δq = (∂q/∂c) δc and δη = η_c δc + η_ζ δζ + η_u δu,

    (5)  (1 − f_η η_u) δu = (f_q q_c + f_η η_c) δc + f_η η_ζ δζ + f_z δz + δd

with d what acts besides the law.

**The equations of small motions about straight running, as a polynomial in the speed.**

Small lean and steer of a bicycle that runs straight at speed v follow
[MeijaardPapadopoulosRuinaSchwab2007]

    (1)  M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f

The same form holds for any vehicle whose steady motions straight ahead differ in v alone, if the
other speeds do not couple with q. M, the matrix of q̇ and that of q are exact derivatives, made by
`linearization.py` at a speed; they are polynomials in v and g of known degree, so their
coefficients follow from their values at v = 0 and 1. Those at v = 2 and at twice the
gravity must then agree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import (
    StackedFunction,
    check_time,
    input_vector,
    local_expressions,
    solve_stacked,
)
from noslip.analysis.local_coordinates import LocalCoordinates, LocalState, moving_axes
from noslip.analysis.modes import NEUTRAL, Mode, modes_of, modes_text, state_groups
from noslip.analysis.reactions import assumed_contacts, contact_lines
from noslip.analysis.steady_motion import (
    Relevance,
    allowed_residuals,
    condition_slopes,
    reference_of,
    relevance,
    scale_of,
)
from noslip.base import ArgumentError, Array, SimulationError, check_memory, nearest
from noslip.engines import AbstractDevice, System, require_system
from noslip.expressions import rate_unit
from noslip.model import NamedMode, Quantity
from noslip.simulation import (
    AbstractInputLaw,
    InputGenerator,
    Start,
    Starts,
    VariantResults,
    Variants,
    check_named,
    choose_bases,
    complete_start,
    inputs_expression,
    with_regular_rows,
)

#: What the inputs of a linearization may be.
StateInputs = Mapping[str, float | str | ca.Function] | AbstractInputLaw


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feedback:
    """Inputs of a system as functions of its state. Made by :func:`feedback`."""

    values: ca.Function  #: (t, q, η, z) → inputs and ż
    slopes: ca.Function  #: (t, q, η, z) → ∂(inputs, ż)/∂q, ∂(inputs, ż)/∂η and ∂(inputs, ż)/∂z
    start: Array  #: (nz,) z
    states: tuple[Quantity, ...]  #: names of z

    def inputs_at(self, t: float, q: Array, eta: Array) -> Array:
        """[u; w; ẇ] at a state."""
        return np.array(self.values(t, q, eta, self.start)[0]).ravel()

    def rates_at(self, t: float, q: Array, eta: Array) -> Array:
        """ż at a state."""
        return np.array(self.values(t, q, eta, self.start)[1]).ravel()


def depends_on_state(inputs: StateInputs | None) -> bool:
    """Whether some inputs are given as more than numbers."""
    if isinstance(inputs, AbstractInputLaw):
        return True
    return any(isinstance(spec, str | ca.Function) for spec in (inputs or {}).values())


def feedback(system: System, inputs: StateInputs, params: Array) -> Feedback:
    """Trace given inputs in the symbols of a system.

    Raises
    ------
    SimulationError : for inputs that change with time, laws that are sampled, and unknown names.
    """
    generator: InputGenerator | None = None
    base = np.zeros(len(system.inputs))
    names = [q.name for q in system.inputs]
    if isinstance(inputs, AbstractInputLaw):
        generator = inputs.generator(system)
        if generator.update is not None:
            raise _refusal(
                system,
                f"the law acts every {generator.period:g} s, so that no linear equations hold "
                "in between",
                "give a continuous law, period=0",
            )
        expression, given = inputs_expression(system, generator), set(generator.inputs)
    else:
        texts = {n: s for n, s in inputs.items() if isinstance(s, str | ca.Function)}
        numbers = {n: s for n, s in inputs.items() if n not in texts}
        base = input_vector(system, numbers)  # type: ignore[arg-type]
        # a rate that is given as well stays as it is given
        expression, given = inputs_expression(system, texts, kept=numbers), set(texts)
    symbols = system.kinematics.symbols
    z = generator.states if generator else ca.SX(0, 1)
    num_q, num_f = len(system.coordinates), len(system.independent_speeds)
    rest = system.state[num_q + num_f :]
    at = [
        (system.equations.inputs, ca.DM(base)),
        (symbols.params, ca.DM(params)),
        (rest, ca.DM.zeros(rest.shape)),
    ]
    if generator is not None:
        at.append((generator.parameters, ca.DM(generator.parameter_values)))
    if symbols.z.numel() and ca.depends_on(expression, symbols.z):
        raise _refusal(
            system,
            "inputs depend on states of forces",
            "write them in coordinates and speeds",
        )
    for symbol, value in at:
        if symbol.numel():
            expression = ca.substitute([expression], [symbol], [ca.SX(value)])[0]
    if ca.depends_on(expression, symbols.t):
        listed = ", ".join(f"'{name}'" for name in sorted(given))
        raise _refusal(
            system,
            f"inputs {listed} change with time, so that no motion is steady",
            "leave t out of them, or give a law that holds a set point",
        )
    q, eta = symbols.q, system.kinematics.eta
    arguments = [symbols.t, q, eta, z]
    count = len(names)
    slopes = [ca.jacobian(expression, x) for x in (q, eta, z)]
    return Feedback(
        values=ca.Function("inputs", arguments, [expression[:count], expression[count:]]),
        slopes=ca.Function("slopes", arguments, [ca.densify(x) for x in slopes]),
        start=np.zeros(0) if generator is None else np.asarray(generator.start, dtype=float),
        states=()
        if generator is None
        else tuple(
            Quantity(name=name, unit=unit)
            for name, unit in zip(generator.names, generator.units, strict=True)
        ),
    )


def _refusal(system: System, what: str, fix: str) -> SimulationError:
    return SimulationError(what, f"linearization of model '{system.model.name}'", fix)


#: Rates above this beside the forces that act (m, rad and s) are a motion that is not steady.
STEADY = 1e-8
#: Slopes of inputs below this, beside the largest, are rounding.
UNUSED = 1e-10


#: Rates of angles below this are rounding, rad/s.
STILL = 1e-9
KEPT = ("eigenvalues", "A", "B")
#: Most that ∂η/∂ζ may magnify: beyond it the angles of the chart are singular at a variant.
MAGNIFIED = 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearization:
    """(1) and (4) about a steady motion, with names and units. Made by :func:`linearize`."""

    model: str
    #: coordinates, speeds: states x by name: independent coordinates z, then speeds ζ
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]  #: names of u: force inputs, speed inputs and their rates
    dependent: tuple[Quantity, ...]  #: coordinates that follow from z by the holonomic rows
    ignored: tuple[Quantity, ...]  #: coordinates that nothing depends on
    #: A, B: (n, n) and (n, nu)
    A: Array = field(repr=False)
    B: Array = field(repr=False)
    #: mass, damping, stiffness, forcing: M (nf, nf), D (nf, nf), K T (nf, nz) and F (nf, nu) of
    #: (1), with damping for everything that is proportional to speeds
    mass: Array = field(repr=False)
    damping: Array = field(repr=False)
    stiffness: Array = field(repr=False)
    forcing: Array = field(repr=False)
    coordinate_map: Array = field(repr=False)  #: (len(dependent), nz), dependent coordinates from z
    #: coordinates and speeds of the steady motion, by name
    values: dict[str, float] = field(repr=False)
    residual: float  #: the largest rate that should vanish
    #: (n,) of A, those that grow fastest first
    eigenvalues: NDArray[np.complex128] = field(repr=False)
    eigenvectors: np.ndarray = field(repr=False)  #: (n, n), a column for each
    law_states: tuple[Quantity, ...] = ()  #: last states in x: those of a feedback law
    #: names that the model gives to modes
    named_modes: tuple[NamedMode, ...] = field(default=(), repr=False)
    #: angles that turn steadily, and with them the axes of other states → rate, rad/s; what swings
    #: at f Hz in these axes, in the world swings at f ± rate/2π
    turning: dict[str, float] = field(default_factory=dict)
    #: state in which contacts that may slip are taken, ``rolls`` or ``off``, by name
    contacts: dict[str, str] = field(default_factory=dict)

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
        lines += contact_lines(self.contacts)
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
            "contacts": self.contacts,
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearizationBatch(VariantResults):
    """Small motions of many variants about steady motions. Made by :func:`linearize_batch`."""

    states: tuple[Quantity, ...]  #: names of x: independent coordinates, then speeds, with units
    inputs: tuple[Quantity, ...]  #: names of u
    #: (n, nx) 1/s, of each variant those that grow fastest first; nan where the motion is not
    #: steady
    eigenvalues: NDArray[np.complex128] = field(repr=False)
    residual: Array = field(repr=False)  #: (n,) the largest rate that should vanish
    #: (n,) whether it does; false too where `messages` has the variant
    is_steady: np.ndarray = field(repr=False)
    #: A, B: (n, nx, nx) and (n, nx, nu) of ẋ = A x + B δu, or empty
    A: Array = field(repr=False)
    B: Array = field(repr=False)
    #: variant → its x, where the independent speeds or angles of `states` are singular
    others: dict[int, tuple[Quantity, ...]] = field(repr=False)
    #: variant → why it is not known whether its motion is steady
    messages: dict[int, str] = field(repr=False)

    @property
    def is_stable(self) -> np.ndarray:
        """(n,) whether no small motion grows; false where the motion is not steady."""
        sizes = np.max(np.abs(self.eigenvalues), axis=1, initial=0.0)
        least = NEUTRAL * np.maximum(1.0, sizes)
        growth = np.max(self.eigenvalues.real, axis=1, initial=-np.inf)
        return self.is_steady & ~(growth > least)

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Growth, what is left, and verdicts."""
        growth = np.max(self.eigenvalues.real, axis=1, initial=-np.inf)
        return {
            "growth": (growth, "1/s"),
            "residual": (self.residual, ""),
            "is_steady": (self.is_steady, ""),
            "is_stable": (self.is_stable, ""),
        }

    def __repr__(self) -> str:
        lost = int(np.count_nonzero(~self.is_steady)) - len(self.messages)
        note = f", {lost} of motions that are not steady" if lost else ""
        note += f", {len(self.messages)} unknown (.messages)" if self.messages else ""
        stable = int(np.count_nonzero(self.is_stable))
        return (
            f"LinearizationBatch of '{self.model}': {self.count} variants, {stable} stable{note}\n"
            "next: .eigenvalues, .is_stable, .states"
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
        raise ArgumentError(
            f"about is of type {type(about).__name__}",
            "argument of linearize",
            "pass names and values, {'speed': 5.0}, or the start of a steady motion, motion.start",
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
        about.check(system, params)
        start = about
    else:
        start = _complete(system, about or {}, guess, u, loop, params, time)
    if loop is not None:
        u = loop.inputs_at(start.time, start.q, start.eta)
    point = steady_state_at(system, start, u, params)
    if loop is None or inputs is None:
        return linearize_point(point, relevance_of(point))
    here = loop if point.system is system else feedback(point.system, inputs, params)
    return _close_loop(point, here)


def steady_state_at(system: System, start: Start, inputs: Array, params: Array) -> LocalState:
    """The state of a start, in turned coordinates if it is steady in these alone."""
    plain = LocalState.at(system, start, inputs, params)
    if is_steady_at(plain):
        return plain
    for turned in moving_axes(system, start.q):
        point = LocalState.at(system, start, inputs, params, turned)
        if is_steady_at(point):
            return point
    return plain


def relevance_of(point: LocalState, used: tuple[int, ...] = ()) -> Relevance:
    """Coordinates and rows that matter to the motion of a state."""
    return relevance(point.system, point.chart, point.parameters, used)


def is_steady_at(point: LocalState) -> bool:
    """Whether the rates that should vanish do."""
    rates, allowed = _rates_of(point, relevance_of(point))
    return bool(np.all(np.abs(rates) <= allowed))


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
    # (5)
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
    return linearize_point(point, relevance_of(point, _used(point, loop)), law)


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
    residual = _check_steady(point, relevant)
    slopes = _slopes_at(point, matter, relevant.rows)
    free, tied = independent_coordinates(point, slopes.G[0], matter)
    T = coordinate_map(slopes.G, free, tied)
    near = combined_motions(slopes, free, T).at(0)
    if law is not None:
        all_T = np.zeros((len(chart.coordinates), len(free)))
        all_T[list(matter)] = T[0]
        near = _with_law(near, law, all_T)
    values, vectors = np.linalg.eig(near.A) if near.A.size else (np.zeros(0, complex), near.A)
    order = np.lexsort((-values.imag, -values.real))
    return Linearization(
        model=point.system.model.name,
        contacts=assumed_contacts(point.system.model),
        coordinates=tuple(chart.coordinates[matter[k]] for k in free),
        speeds=chart.speeds,
        inputs=point.system.inputs,
        dependent=tuple(chart.coordinates[matter[k]] for k in tied),
        ignored=tuple(c for k, c in enumerate(chart.coordinates) if k not in matter),
        A=near.A,
        B=near.B,
        mass=near.mass,
        damping=near.damping,
        stiffness=near.stiffness,
        forcing=near.forcing,
        coordinate_map=T[0][tied],
        values=_values(point, matter),
        residual=residual,
        eigenvalues=values[order],
        eigenvectors=vectors[:, order],
        law_states=law.states if law is not None else (),
        named_modes=point.system.model.modes,
        turning=_turning(point),
    )


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
    """M, D, K T and F of (1), and A and B of (4); of n states with n first."""

    mass: Array
    damping: Array
    stiffness: Array
    forcing: Array
    A: Array
    B: Array

    def at(self, k: int) -> SmallMotions:
        """Those of one state."""
        return SmallMotions(*(part[k] for part in self))


class Slopes(NamedTuple):
    """(1) to (3) of n states, in the coordinates that matter: values and derivatives, (n, …).

    K, D and r_u are ∂r/∂c, ∂r/∂ζ and ∂r/∂u; cdot_c, cdot_z and cdot_u those of ċ.
    """

    r: Array
    cdot: Array
    mass: Array
    K: Array
    cdot_c: Array
    G: Array
    D: Array
    cdot_z: Array
    r_u: Array
    cdot_u: Array


def _slopes_at(
    point: LocalState, matter: Sequence[int], rows: Sequence[int], zetadot: Array | None = None
) -> Slopes:
    """(1) to (3) of one state, at ζ̇ = 0 or another."""
    some = list(matter)
    r, cdot, _, _, _, mass = point.values()
    (r_c, cdot_c, g_c, *_), (r_z, cdot_z, *_), (r_u, cdot_u, *_) = point.derivatives(zetadot)
    parts = (
        *(r[:, None], cdot[some, None], mass, r_c[:, some], cdot_c[np.ix_(some, some)]),
        *(g_c[np.ix_(rows, some)], r_z, cdot_z[some], r_u, cdot_u[some]),
    )
    return Slopes(*(part[None] for part in parts))


def small_motions(point: LocalState, zetadot: Array) -> SmallMotions:
    """(4) from (1) and (2) about any motion, in all coordinates, with ζ̇ (nf,) there."""
    num = len(point.c)
    slopes = _slopes_at(point, range(num), (), zetadot)
    return combined_motions(slopes, range(num), np.eye(num)[None]).at(0)


def combined_motions(slopes: Slopes, free: Sequence[int], T: Array) -> SmallMotions:
    """(4) from (1) and (2), with δc = T z and z at places among the coordinates that matter."""
    places = list(free)
    stiffness, forcing = slopes.K @ T, -slopes.r_u
    below = solve_stacked(slopes.mass, np.concatenate([-stiffness, -slopes.D, forcing], axis=2))
    above = np.concatenate(
        [slopes.cdot_c[:, places] @ T, slopes.cdot_z[:, places], slopes.cdot_u[:, places]], axis=2
    )
    both, num = np.concatenate([above, below], axis=1), len(places) + slopes.D.shape[2]
    return SmallMotions(
        slopes.mass, slopes.D, stiffness, forcing, both[:, :, :num], both[:, :, num:]
    )


def independent_coordinates(
    point: LocalState, G: Array, matter: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Independent and dependent ones of the coordinates that matter, best conditioned in (3).

    G has full rank, else the independent speeds would not determine the motion.
    """
    import scipy.linalg

    if not len(G):
        return list(range(len(matter))), []
    length = point.system.kinematics.length
    units = [point.chart.coordinates[k].unit for k in matter]
    scaled = G * np.array([1.0 if unit == "rad" else length for unit in units])
    pivots = scipy.linalg.qr(scaled, mode="r", pivoting=True)[1]
    dependent = sorted(int(k) for k in pivots[: len(G)])
    return [k for k in range(len(matter)) if k not in dependent], dependent


def coordinate_map(G: Array, free: list[int], tied: list[int]) -> Array:
    """(3): (n, nm, nz) coordinates that matter from the independent ones, δc = T z."""
    T = np.zeros((len(G), len(free) + len(tied), len(free)))
    T[:, free, range(len(free))] = 1.0
    if tied:
        T[:, tied] = -solve_stacked(G[:, :, tied], G[:, :, free])
    return T


def _vanishing(slopes: Slopes, y: Array, scale: Array) -> tuple[Array, Array]:
    """(n, …) ζ̇ and ċ of a steady motion, zero, and what (5) of `steady_motion.py` allows them.

    y = (c, ζ) with the coordinates that matter, and the scale of its entries.
    """
    num_z = slopes.mass.shape[1]
    inverse = solve_stacked(slopes.mass, np.tile(np.eye(num_z), (len(y), 1, 1)))
    rates = np.concatenate([-(inverse @ slopes.r), slopes.cdot], axis=1)[:, :, 0]
    r_y, cdot_y = (
        np.concatenate(parts, axis=2)
        for parts in ((slopes.K, slopes.D), (slopes.cdot_c, slopes.cdot_z))
    )
    J, terms = condition_slopes(inverse, r_y, cdot_y)
    speeds = y[:, y.shape[1] - num_z :]
    size = np.maximum(1.0, np.max(np.abs(speeds), axis=1, initial=0.0) ** 2)[:, None]
    return rates, allowed_residuals(J, terms, num_z, y, reference_of(scale, y), STEADY, size)


def _rates_of(point: LocalState, relevant: Relevance) -> tuple[Array, Array]:
    """What should vanish at a state, and what it may be at most."""
    matter = list(relevant.coordinates)
    moving = [*matter, *range(len(point.c), len(point.c) + len(point.zeta))]
    slopes = _slopes_at(point, matter, relevant.rows)
    y, scale = np.concatenate([point.c, point.zeta]), scale_of(point.system, point.chart)
    rates, allowed = _vanishing(slopes, y[None, moving], scale[moving])
    return rates[0], allowed[0]


def _check_steady(point: LocalState, relevant: Relevance) -> float:
    """The largest rate that should vanish; refused if it does not."""
    rates, allowed = _rates_of(point, relevant)
    staying = [*point.chart.speeds, *(point.chart.coordinates[k] for k in relevant.coordinates)]
    moving = [
        f"the rate of {s.name} is {x:.3g} {rate_unit(s.unit)}"
        for s, x, most in zip(staying, rates, allowed, strict=True)
        if not abs(x) <= most
    ]
    if moving:
        raise SimulationError(
            f"the motion is not steady: {', '.join(moving)}",
            f"linearization of model '{point.system.model.name}'",
            "find a steady motion first: steady(system, {…}), and linearize about its start; on "
            "the command line add --steady",
        )
    return float(np.max(np.abs(rates), initial=0.0))


def _values(point: LocalState, matter: tuple[int, ...]) -> dict[str, float]:
    """Coordinates that matter, speeds and inputs of the steady motion, by name."""
    chart = point.chart
    values = {chart.coordinates[k].name: float(point.c[k]) for k in matter}
    values |= {s.name: float(x) for s, x in zip(chart.speeds, point.zeta, strict=True)}
    inputs = zip(point.system.inputs, point.inputs, strict=True)
    return values | {q.name: float(x) for q, x in inputs if x}


def linearize_batch(
    system: System,
    about: Mapping[str, ArrayLike] | None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    count: int | None = None,
    keep: Sequence[str] = ("eigenvalues",),
    time: float = 0.0,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> LinearizationBatch:
    """Linearize many variants of a system, each about its own steady motion.

    Wherever a number may be given, a list of numbers may be given too, one for each variant. All
    must move alike: the coordinates that matter are those of the first. Variants at which its
    independent speeds are singular are linearized in others.

    Parameters
    ----------
    system : compiled system.
    about : coordinates, speeds, named angles and their rates of the steady motions; the rest is
        completed consistently.
    inputs : values of force and speed inputs that keep them, zero by default.
    parameters : values that differ from the nominal ones.
    count : number of variants, where no list says it.
    keep : ``"eigenvalues"``, always; ``"A"`` and ``"B"``, the matrices.
    time : s, at which moving constraints are taken.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : function called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, inconsistent lengths, and variants all of which
        :func:`linearize` refuses.
    """
    variants = Variants.read(
        system,
        "linearize_batch",
        "linearizations",
        state=about,
        inputs=inputs,
        parameters=parameters,
        count=count,
        device=device,
    )
    _check_kept(keep, variants.where)
    check_time(system, time, None)
    return _Work(variants, keep, time, threads, cancel).run(threads, progress, cancel)


class _Plan(NamedTuple):
    """Data that the variants of a group share; `which` are their numbers."""

    variants: Variants
    which: NDArray[np.int_]
    system: System
    starts: Starts
    chart: LocalCoordinates
    matter: list[int]
    free: list[int]
    tied: list[int]
    states: tuple[Quantity, ...]
    speeds_at: StackedFunction
    slopes_at: StackedFunction
    time: float
    scale: Array

    def is_like(self, other: _Plan | None) -> bool:
        """Whether it has as many states as another."""
        return other is None or len(self.states) == len(other.states)

    def point(self, k: int) -> LocalState:
        """One of the variants, in its own chart."""
        return _point(self.variants, self.system, self.starts, self.time, k)


class _Work:
    """Linearizations of all variants, group by group, filled block by block."""

    def __init__(
        self, variants: Variants, keep: Sequence[str], time: float, threads: int | None, cancel: Any
    ) -> None:
        self._variants, self._keep, self._time = variants, keep, time
        self._starts, self._done = _completed(variants, time, threads, cancel)
        system, table, done = variants.system, variants.parameters, self._done
        params = table[0] if len(table) == 1 else table[done]
        t = np.full(len(done), time)
        bases = choose_bases(system, t, self._starts.q, params)
        self._groups = bases.groups
        if not self._groups:
            k = min(bases.faults)
            raise bases.refusal(system, k, time, f", variant {done[k]}")
        self._messages = {int(done[k]): measure.sentence for k, measure in bases.faults.items()}
        self._others: dict[int, tuple[Quantity, ...]] = {}
        self._first: _Plan | None = None

    def run(
        self,
        threads: int | None,
        progress: Callable[[float], object] | None,
        cancel: Any,
    ) -> LinearizationBatch:
        """Linearize all groups; refused if not one motion is steady."""
        done = 0
        for here, which in self._groups:

            def report(fraction: float, before: int = done, size: int = len(which)) -> None:
                if progress is not None:
                    progress((before + fraction * size) / self._variants.count)

            left, again = which, True
            while left.size:
                plan = self._plan(here, left)
                lost: list[int] = []

                def fill(block: range, plan: _Plan = plan, lost: list[int] = lost) -> None:
                    lost.extend(self._fill(plan, block))

                if plan.is_like(self._first):
                    told = report if again else None
                    plan.variants.in_blocks(fill, threads=threads, progress=told, cancel=cancel)
                # the chart is that of the first
                left, again = left[sorted(set(lost) - {0})], False
            done += len(which)
        assert self._first is not None
        is_cancelled = cancel is not None and cancel.is_set()
        if not (is_cancelled or self._results["is_steady"].any() or self._messages):
            point = self._first.point(0)
            linearize_point(point, relevance_of(point))
        return LinearizationBatch(
            model=self._variants.system.model.name,
            count=self._variants.count,
            variants=self._variants,
            states=self._first.states,
            inputs=self._variants.system.inputs,
            others=self._others,
            messages=self._messages,
            **self._results,
        )

    def _plan(self, system: System, which: NDArray[np.int_]) -> _Plan:
        """What some of the variants share; those with other states than the first are named."""
        numbers = self._done[which]
        plan = _plan(
            self._variants.take(numbers), numbers, system, self._starts.take(which), self._time
        )
        if self._first is None:
            self._first = plan
            self._results = _empty(plan.states, self._variants, self._keep)
        if not plan.is_like(self._first):
            self._messages |= dict.fromkeys(numbers.tolist(), _otherwise(plan.states))
        if plan.states != self._first.states:
            self._others |= dict.fromkeys(numbers.tolist(), plan.states)
        return plan

    def _fill(self, plan: _Plan, block: range) -> list[int]:
        """Linearize a block of a group; places of variants that its chart does not suit."""
        numbers, results = plan.which[block.start : block.stop], self._results
        found = _matrices(plan, block)
        results["residual"][numbers] = found.residual
        results["is_steady"][numbers] = found.is_steady
        for name, matrix in (("A", found.A), ("B", found.B)):
            if results[name].size:
                results[name][numbers] = matrix
        is_steady = found.is_steady
        results["eigenvalues"][numbers[is_steady]] = _sorted_eigenvalues(found.A[is_steady])
        return (block.start + np.flatnonzero(~found.is_charted)).tolist()


def _otherwise(states: tuple[Quantity, ...]) -> str:
    """The message of a variant with more or fewer states than the others."""
    listed = ", ".join(s.name for s in states) or "none"
    return (
        "the independent speeds of the other variants are singular here, and in its own it has "
        f"other states ({listed}): linearize it alone"
    )


def _completed(
    variants: Variants, time: float, threads: int | None, cancel: Any
) -> tuple[Starts, NDArray[np.int_]]:
    """Consistent states, and which variants they are of: all, or those before the work ended."""
    first = variants.completed(range(1), time)
    check_memory(
        variants.count * sum(float(part.nbytes) for part in first),
        "states",
        variants.where,
        "give fewer variants at a time",
    )
    parts = [np.zeros((variants.count, *part.shape[1:]), part.dtype) for part in first]
    is_done = np.zeros(variants.count, bool)

    def fill(block: range) -> None:
        for whole, part in zip(parts, variants.completed(block, time), strict=True):
            whole[block.start : block.stop] = part
        is_done[block.start : block.stop] = True

    variants.in_blocks(fill, threads=threads, cancel=cancel)
    if not is_done[0]:
        for whole, part in zip(parts, first, strict=True):
            whole[:1] = part
        is_done[0] = True
    done = np.flatnonzero(is_done)
    return Starts(*parts).take(done), done


def _point(variants: Variants, system: System, starts: Starts, time: float, k: int) -> LocalState:
    """The state of a variant, in a chart in which it is steady if there is one."""
    _, u, params = variants.at(k)
    return steady_state_at(system, starts.one(system, k, time, params), u, params)


def _plan(
    variants: Variants, which: NDArray[np.int_], system: System, starts: Starts, time: float
) -> _Plan:
    """The chart of a group and the functions that its variants need.

    It is that of the first variant; on curved ground, where a motion may be steady in turned
    coordinates alone, of the first that is steady.
    """
    point = _point(variants, system, starts, time, 0)
    if moving_axes(system, starts.q[0]) and not is_steady_at(point):
        others: Iterator[LocalState] = (
            _point(variants, system, starts, time, k) for k in range(1, len(which))
        )
        point = next((other for other in others if is_steady_at(other)), point)
    relevant, chart = relevance_of(point), point.chart
    matter = list(relevant.coordinates)
    G = _slopes_at(point, matter, relevant.rows).G[0]
    free, tied = independent_coordinates(point, G, matter)
    speeds_at, slopes_at = system.cached(
        ("small motions", chart, relevant, variants.device),
        lambda: _functions(system, chart, relevant, variants.device),
    )
    return _Plan(
        variants=variants,
        which=which,
        system=system,
        starts=starts,
        chart=chart,
        matter=matter,
        free=free,
        tied=tied,
        states=(*(chart.coordinates[matter[k]] for k in free), *chart.speeds),
        speeds_at=speeds_at,
        slopes_at=slopes_at,
        time=time,
        scale=scale_of(system, chart),
    )


def _functions(
    system: System,
    chart: LocalCoordinates,
    relevant: Relevance,
    device: AbstractDevice | None,
) -> tuple[StackedFunction, StackedFunction]:
    """η and ∂η/∂ζ at ζ = 0 in lanes; what `Slopes` has, on a device if given."""
    e = local_expressions(system, chart)
    r, cdot, _, _, eta = e.values
    rows, matter = list(relevant.rows), list(relevant.coordinates)
    slopes = [
        *(r, cdot[matter, :], e.mass, e.by_c[0][:, matter], e.by_c[1][matter, matter]),
        *(e.by_c[2][rows, matter], e.by_zeta[0], e.by_zeta[1][matter, :]),
        *(e.by_inputs[0], e.by_inputs[1][matter, :]),
    ]
    speeds = e.compile("speeds", [eta, e.by_zeta[4]])
    return speeds, e.compile("slopes", slopes, device)


class _Matrices(NamedTuple):
    """Of a block; `is_charted` is false where the chart of the group is singular."""

    A: Array
    B: Array
    residual: Array
    is_steady: NDArray[np.bool_]
    is_charted: NDArray[np.bool_]


def _matrices(plan: _Plan, block: range) -> _Matrices:
    """(1) to (4) of a block of variants."""
    variants, chart, n = plan.variants, plan.chart, len(block)
    params = variants.rows(variants.parameters, block)
    u = variants.rows(variants.inputs, block)
    start = plan.starts.take(np.arange(block.start, block.stop))
    q, t = start.q, np.full(n, plan.time)
    eta = plan.system.kinematics.independent_values(t, q, start.v, params)
    c = chart.from_many_coordinates(q, start.mu)
    x = np.concatenate([c, np.zeros((n, len(chart.speeds)))], axis=1)
    # η is affine in ζ
    at_rest, slope = plan.speeds_at(plan.time, x, u, params)
    is_charted = _is_charted(slope)
    with np.errstate(all="ignore"):
        x[:, c.shape[1] :] = solve_stacked(slope, eta[:, :, None] - at_rest)[:, :, 0]
        slopes = Slopes(*plan.slopes_at(plan.time, x, u, params))
        moving = [*plan.matter, *range(c.shape[1], x.shape[1])]
        rates, allowed = _vanishing(slopes, x[:, moving], plan.scale[moving])
        near = combined_motions(slopes, plan.free, coordinate_map(slopes.G, plan.free, plan.tied))
    is_charted &= np.all(np.isfinite(near.A), axis=(1, 2))
    is_steady = np.all(np.abs(rates) <= allowed, axis=1) & is_charted
    residual = np.max(np.abs(rates), axis=1, initial=0.0)
    return _Matrices(near.A, near.B, residual, is_steady, is_charted)


def _is_charted(slope: Array) -> NDArray[np.bool_]:
    """Whether the angles of a chart are regular: ∂η/∂ζ (n, nf, nf) is far from singular."""
    is_finite = np.all(np.isfinite(slope), axis=(1, 2))
    if not slope.shape[1]:
        return is_finite
    safe = np.where(is_finite[:, None, None], slope, 0.0)
    sizes = np.linalg.svd(safe, compute_uv=False)
    return np.asarray(is_finite & (sizes[:, 0] < MAGNIFIED * sizes[:, -1]))


def _sorted_eigenvalues(A: Array) -> NDArray[np.complex128]:
    """(n, nx), those that grow fastest first."""
    values = np.linalg.eigvals(A).astype(complex)
    if not values.size:
        return values
    order = np.lexsort((-values.imag, -values.real), axis=1)
    return np.take_along_axis(values, order, axis=1)


def _empty(
    states: tuple[Quantity, ...], variants: Variants, keep: Sequence[str]
) -> dict[str, np.ndarray]:
    """Arrays for the results, nan until they are filled."""
    nx, nu, count = len(states), len(variants.system.inputs), variants.count
    sizes = {"A": nx * nx, "B": nx * nu}
    check_memory(
        count * (16.0 * nx + 8.0 * sum(sizes[name] for name in keep if name in sizes)),
        "results",
        variants.where,
        "keep eigenvalues alone, or give fewer variants at a time",
    )
    return {
        "eigenvalues": np.full((count, nx), np.nan, complex),
        "residual": np.full(count, np.nan),
        "is_steady": np.zeros(count, bool),
        "A": np.full((count, nx, nx) if "A" in keep else (0, nx, nx), np.nan),
        "B": np.full((count, nx, nu) if "B" in keep else (0, nx, nu), np.nan),
    }


def _check_kept(keep: Sequence[str], where: str) -> None:
    if isinstance(keep, str):
        raise SimulationError(f"keep is '{keep}'", where, f"give a list: keep=['{keep}']")
    for word in keep:
        if word not in KEPT:
            listed = ", ".join(f"'{known}'" for known in KEPT)
            raise SimulationError(f"there is nothing to keep as '{word}'", where, f"give {listed}")


#: What may differ from the form (1), relative to the largest entry.
_AGREE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CanonicalForm:
    """The matrices of (1), with names. Made by :func:`canonical_form`."""

    coordinates: tuple[Quantity, ...]  #: (n,) q
    inputs: tuple[Quantity, ...]  #: (nu,) force inputs u, with f = F u
    #: M, C1, K0, K2: (n, n)
    M: Array
    C1: Array
    K0: Array
    K2: Array
    F: Array  #: (n, nu)

    def eigenvalues(self, speed: float, gravity: float) -> np.ndarray:
        """(2n,) λ with det(λ² M + λ v C₁ + g K₀ + v² K₂) = 0, those that grow fastest first."""
        n = len(self.M)
        if not np.isfinite([speed, gravity]).all():
            raise SimulationError(
                f"the speed is {speed:g} and gravity {gravity:g}",
                "eigenvalues of a canonical form",
                "give finite numbers, m/s and m/s²",
            )
        stiffness = gravity * self.K0 + speed**2 * self.K2
        below = -np.linalg.solve(self.M, np.hstack([stiffness, speed * self.C1]))
        values = np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), below]))
        return np.asarray(values[np.lexsort((-values.imag, -values.real))])

    def __repr__(self) -> str:
        names = ", ".join(f"{c.name} [{c.unit}]" for c in self.coordinates)
        return (
            f"CanonicalForm in {names}\n"
            "next: .M, .C1, .K0, .K2, .F, .eigenvalues(speed=…, gravity=…)"
        )


def canonical_form(
    system: System,
    *,
    speed: str,
    gravity: str,
    about: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> CanonicalForm:
    """Compute M, C₁, K₀ and K₂ of (1).

    Parameters
    ----------
    system : compiled system.
    speed : name of the speed v, such as ``speed``.
    gravity : name of the parameter g.
    about : coordinates of the straight motion; the joints' rest positions by default.
    parameters : values that differ from the nominal ones.
    time : s, as in :func:`linearize`.

    Raises
    ------
    SimulationError : if small motions are not of the form (1).
    """
    require_system("canonical_form", system)
    known = [p.name for p in system.model.parameters]
    where = f"canonical form of model '{system.model.name}'"
    if gravity not in known:
        raise SimulationError(f"there is no parameter '{gravity}'", where, nearest(gravity, known))
    g = float(system.parameters(parameters)[known.index(gravity)])

    def at(v: float, weight: float) -> tuple[Array, Array, Array, Linearization]:
        line = linearize(
            system,
            {**(about or {}), speed: v},
            parameters={**(parameters or {}), gravity: weight},
            time=time,
        )
        return *_second_order(line, where), line

    M, C, K, line = at(0.0, g)
    _, C_1, K_1, _ = at(1.0, g)
    C1, K2, K0 = C_1 - C, K_1 - K, K / g
    for v, weight in ((2.0, g), (1.0, 2 * g)):
        M_there, C_there, K_there, _ = at(v, weight)
        _check(M_there, M, "mass", v, where)
        _check(C_there, v * C1, "damping", v, where)
        _check(K_there, weight * K0 + v**2 * K2, "stiffness", v, where)
    rows = _rate_rows(line, where)
    num = len(system.model.inputs)
    return CanonicalForm(
        coordinates=line.coordinates,
        inputs=line.inputs[:num],
        M=M,
        C1=C1,
        K0=K0,
        K2=K2,
        F=line.forcing[rows, :num],
    )


def _second_order(line: Linearization, where: str) -> tuple[Array, Array, Array]:
    """Matrices of q̈, q̇ and q, where no other speed takes part."""
    rows = _rate_rows(line, where)
    others = [k for k in range(len(line.speeds)) if k not in rows]
    for name, matrix in (("mass", line.mass), ("damping", line.damping)):
        coupling = matrix[np.ix_(rows, others)]
        _check(coupling, 0 * coupling, f"coupled {name}", line.values, where, size=matrix)
    block = np.ix_(rows, rows)
    return line.mass[block], line.damping[block], line.stiffness[rows]


def _rate_rows(line: Linearization, where: str) -> list[int]:
    """Places in ζ of the rates of the independent coordinates."""
    num = len(line.coordinates)
    rates = line.A[:num]
    rows = []
    for k in range(num):
        exact = np.flatnonzero(np.abs(rates[k]) > _AGREE)
        if len(exact) != 1 or exact[0] < num or abs(rates[k, exact[0]] - 1.0) > _AGREE:
            raise SimulationError(
                f"the rate of '{line.coordinates[k].name}' is not one of the speeds "
                f"{', '.join(s.name for s in line.speeds)}",
                where,
                "use linearize(), which needs no such form",
            )
        rows.append(int(exact[0]) - num)
    return rows


def _check(
    found: Array, expected: Array, name: str, at: object, where: str, size: Array | None = None
) -> None:
    """Refuse what differs from the form (1)."""
    largest = max(
        float(np.max(np.abs(e), initial=0.0)) for e in (expected, found if size is None else size)
    )
    if np.max(np.abs(found - expected), initial=0.0) > _AGREE * max(largest, 1e-300):
        raise SimulationError(
            f"the {name} matrix at v = {at} is not of the form M, v C1, g K0 + v² K2",
            where,
            "use linearize() at each speed, which needs no such form",
        )
