"""The start of a closed loop, completed as that of a simulation, and its derivatives.

**Derivatives of a completed start by what it was completed from.**

With a prime for the derivative by one variable, positions and speeds follow from what the
completion solves, by the same rows and factors (see `completion.py`):

    (1)  q' = q'_given + N δ      A_h δ = −g',   N_fixed δ = 0,   |δ| least

g' is the change of the holonomic rows along q'_given, t' and p', A_h their rows of A. The completed
speeds have least independent ones under all that is asked of them, C v = d:

    (2)  C v' = d' − C'v
    (3)  Zᵀ [EᵀE v' + Eᵀ(E'v) + E'ᵀη + C'ᵀλ] = 0      C Z = 0,   Cᵀλ = −Eᵀη

(3) is the derivative of Eᵀη + Cᵀλ = 0. Then η' = E v' + E'v. No difference is taken.

Named angles a turn about axes e_k(a), the columns of W, so that ω = W ȧ; a later turn carries the
frame in which e_k is seen:

    (4)  ∂e_k/∂a_j = e_k × e_j for a later turn j > k, else 0

Where coordinates are left open that the rows couple, the configuration depends on the way to it,
not only on what is given. If the completion moves otherwise than (1), the start is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, IdentityKey, SimulationError
from noslip.engines import NativeFunction, System, compile_expression, compile_native, trace_program
from noslip.simulation.native_run import driven
from noslip.simulation.request import row_parameters
from noslip.simulation.sensitivities.controlled_loop import (
    INPUT,
    NUMBER,
    PARAMETER,
    START,
    TABLE,
    ClosedLoop,
    LoopValues,
    Variable,
    input_plan,
)
from noslip.simulation.starts.bases import begin as begin_run
from noslip.simulation.starts.bases import complete, run_start, state_at
from noslip.simulation.starts.completion import (
    Asked,
    Completion,
    Places,
    SpeedFactors,
    Start,
    angle_rates,
    axes,
    complete_one,
    start_angles,
    turning,
)
from noslip.simulation.starts.start_layout import Layout, Orientation, pseudo_inverse, row_weights

#: A row may be missed by this share of the tangents.
_MISSED = 1e-7
#: A completed start may differ by this share from what (1) says: the error of a difference.
_OPEN = 1e-6


class Change(NamedTuple):
    """Changes by one variable: start values by name, parameters, speed inputs at q, time."""

    name: str
    given: Mapping[str, float]
    params: Array
    speed_inputs: Callable[[Array], Array]  # from q' to w'
    time: float = 0.0


class Tangent(NamedTuple):
    """Derivatives of a start."""

    q: Array
    v: Array
    eta: Array
    mu: Array


class _Rates(NamedTuple):
    """Derivatives along (t', q', w', p') at constant v, λ and m."""

    g: Array
    rows: Array  # A v + a
    pushed: Array  # Aᵀλ
    speeds: Array  # E v
    drawn: Array  # Eᵀm


def start_tangents(completion: Completion, changes: Sequence[Change]) -> list[Tangent]:
    """Derivatives of one completed start by some variables.

    Raises
    ------
    SimulationError : if the start cannot follow one of them.
    """
    place = _CompletedStart(completion)
    system, layout = completion.task.system, completion.task.layout
    parts = (completion.q, completion.v, completion.eta, completion.mu)
    nothing = Tangent(*(np.zeros(part.shape[1]) for part in parts))
    found, moving = [], []
    for change in changes:
        if not _matters(system, change):
            found.append(nothing)
            continue
        q = _positions(place, change)
        v, eta = _speeds(place, change, q)
        mu = np.array([change.given.get(name, 0.0) for name in layout.auxiliary_states])
        found.append(Tangent(q, v, eta, mu))
        moving.append((change, q))
    if moving and _is_open(place):
        _check_determined(place, moving)
    return found


def _matters(system: System, change: Change) -> bool:
    """Whether a change reaches the start at all: masses, mostly, do not."""
    known = system.cached("parameters of rows", lambda: row_parameters(system))
    is_reached = bool(change.given) or bool(change.time) or bool(np.any(change.params[known]))
    return is_reached or bool(system.model.speed_inputs)


@dataclass(frozen=True, eq=False)
class _CompletedStart:
    """One completed start, with the matrices that all changes share."""

    completion: Completion

    @property
    def layout(self) -> Layout:
        return self.completion.task.layout

    @cached_property
    def given(self) -> dict[str, float]:
        return {name: float(x[0]) for name, x in self.completion.task.given.items()}

    @cached_property
    def params(self) -> Array:
        return self.completion.task.params_of(0)

    @cached_property
    def factors(self) -> SpeedFactors:
        return self.completion.factors()

    @cached_property
    def held(self) -> tuple[Array, Places, Array]:
        """The matrix of (1), the speeds that it is on, and its pseudoinverse."""
        c = self.completion
        matrix = c.hold.matrix(c.task, c.q, c.rows, self.layout.holonomic)
        return matrix[0], c.hold.free, pseudo_inverse(matrix)[0]

    def moved(self, step: Array) -> Array:
        """N δ of steps over the scale, of the speeds that are not at rest."""
        free = self.held[1]
        return self.completion.rows.N[0][:, free] @ (step.T / self.completion.hold.scale).T

    @cached_property
    def multipliers(self) -> list[Array]:
        """λ of (3): the share of the rows, then that of each speed asked for."""
        c = self.completion
        lam = -self.factors.R.T @ (c.rows.E[0].T @ c.eta[0])
        sizes = [c.rows.A.shape[1], *(asked.value.shape[1] for asked in c.asked)]
        return np.split(lam, np.cumsum(sizes)[:-1])

    def rates(self, change: Change, q: Array, *along: Array) -> _Rates:
        """Derivatives of the rows along a change that moves q by q', then w by w', with λ and m."""
        c = self.completion
        at = (float(c.task.t[0]), c.q[0], c.v[0], c.task.w[0], self.params)
        return _rates(c.task.system, at, change, q, *along)


def _rates(
    system: System,
    at: tuple[float, Array, Array, Array, Array],
    change: Change,
    q: Array,
    w: Array | None = None,
    lam: Array | None = None,
    m: Array | None = None,
) -> _Rates:
    """Derivatives of the rows at (t, q, v, w, p) along a change that moves q by q'."""
    function = system.cached("start tangents", lambda: _compile_tangents(system))
    kin = system.kinematics
    sizes = (kin.g.shape[0], kin.A.shape[0], kin.num_speeds, kin.num_independent_speeds)
    lam = np.zeros(sizes[1]) if lam is None else lam
    m = np.zeros(sizes[3]) if m is None else m
    t, here, v, inputs, params = at
    w = 0.0 * inputs if w is None else w
    x = np.concatenate([here, v, lam, m, q, [change.time]])
    values = function(t, x, np.concatenate([inputs, w]), np.concatenate([params, change.params]))
    return _Rates(*np.split(values, np.cumsum(sizes)))


def _compile_tangents(system: System) -> NativeFunction:
    """Native :class:`_Rates` of (t, [q; v; λ; m; q'; t'], [w; w'], [p; p'])."""
    kin = system.kinematics
    s = kin.symbols
    rows, E = kin.velocities, ca.mtimes(kin.E, s.v)
    lam, m = ca.SX.sym("lam", rows.shape[0]), ca.SX.sym("m", E.shape[0])
    pushed = ca.jtimes(rows, s.v, lam, True) if rows.shape[0] else ca.SX(kin.num_speeds, 1)
    values = ca.densify(ca.vertcat(kin.g, rows, pushed, E, ca.mtimes(kin.E.T, m)))
    t, q, w, p = (ca.SX.sym("along", x.shape[0]) for x in (s.t, s.q, s.w, s.params))
    rates = ca.jtimes(values, ca.vertcat(s.t, s.q, s.w, s.params), ca.vertcat(t, q, w, p))
    arguments = (
        s.t,
        ca.vertcat(s.q, s.v, lam, m, q, t),
        ca.vertcat(s.w, w),
        ca.vertcat(s.params, p),
    )
    name = "start_tangents"
    return compile_native([trace_program(name, arguments, ca.densify(rates))])[name]


# Positions


def _positions(place: _CompletedStart, change: Change) -> Array:
    """(1): q' of a change."""
    c, layout = place.completion, place.layout
    matrix, _, inverse = place.held
    lifted = _given_tangent(place, change.given)
    right = np.zeros(len(matrix))
    right[: len(layout.holonomic)] = -place.rates(change, lifted).g
    names = [name for h in c.hold.held for name in h.names]
    right[len(right) - len(names) :] = [change.given.get(name, 0.0) for name in names]
    step = inverse @ right
    missed = np.abs(matrix @ step - right)
    if missed.size and missed.max() > _MISSED * max(1.0, float(np.abs(right).max())):
        rows = [c.task.system.kinematics.rows[k].name for k in layout.holonomic]
        worst = int(np.argmax(missed))
        row = f"row '{rows[worst]}'" if worst < len(rows) else "another value that is given"
        raise SimulationError(
            f"the start cannot follow '{change.name}': {row} would break",
            f"start of model '{c.task.system.model.name}'",
            "leave out a coordinate that the constraints determine, so that it can be completed",
        )
    return lifted + place.moved(step)


def _given_tangent(place: _CompletedStart, change: Mapping[str, float]) -> Array:
    """q' of the coordinates and angles that are given; zero for those that are completed."""
    layout, c = place.layout, place.completion
    q = np.zeros(len(layout.coordinates))
    for name, along in change.items():
        if name in layout.coordinates:
            q[layout.coordinates[name]] = along
    names = list(layout.coordinates)
    for k in layout.kinematics.probe.quaternions:
        here = slice(k, k + 4)
        if np.any(q[here]):
            # a quaternion that is given by its numbers is made a unit one
            raw = np.array(
                [place.given.get(n, x) for n, x in zip(names[here], layout.rest[here], strict=True)]
            )
            size = float(np.linalg.norm(raw))
            q[here] = (q[here] - raw * (raw @ q[here]) / size**2) / size
    loose = [h.orientation for h in c.hold.held]
    for o in layout.orientations:
        if o not in loose and any(n in change for n in o.angle_names):
            angles = [place.given.get(n, 0.0) for n in o.angle_names]
            rates = [change.get(n, 0.0) for n in o.angle_names]
            q[_quaternion(o)] = _rate_map(c.q[0][_quaternion(o)]) @ turning(o, angles, rates, 1)[0]
    return q


def _quaternion(o: Orientation) -> slice:
    return slice(o.quaternion, o.quaternion + 4)


def _rate_map(quaternion: Array) -> Array:
    """(4, 3): the rate of a quaternion from ω in body axes, as in :mod:`noslip.algebra.spatial`."""
    w, x, y, z = quaternion
    return np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2


# Speeds


def _speeds(place: _CompletedStart, change: Change, q: Array) -> tuple[Array, Array]:
    """(2) and (3): v' and η' of a change that moves q by q'."""
    c, shares = place.completion, place.multipliers
    R, B = place.factors
    # the multipliers of given independent speeds act through E, as η does
    m = c.eta[0].copy()
    for asked, lam in zip(c.asked, shares[1:], strict=True):
        if asked.orientation is None and asked.independent:
            m[asked.independent[0]] += lam[0]
    rates = place.rates(change, q, change.speed_inputs(q), shares[0], m)
    E = c.rows.E[0]
    parts, pushed = [-rates.rows], rates.pushed + rates.drawn + E.T @ rates.speeds
    for asked, lam in zip(c.asked, shares[1:], strict=True):
        if asked.orientation is None:
            along = rates.speeds[asked.independent[0]] if asked.independent else 0.0
            parts.append(np.array([change.given.get(asked.labels[0], 0.0) - along]))
        else:
            wanted, push = _rate_tangent(place, asked, asked.orientation, change.given, q, lam)
            parts.append(wanted)
            pushed = pushed + push
    right = np.concatenate(parts)
    v = R @ right
    C = np.concatenate([c.rows.A[0], *(asked.row[0] for asked in c.asked)])
    weight = row_weights(C / place.layout.scale)
    missed = np.abs(C @ v - right) * weight
    if missed.size and missed.max() > _MISSED * max(1.0, float(np.abs(right * weight).max())):
        raise SimulationError(
            f"the speeds at the start cannot follow '{change.name}': what is given and the "
            "constraints would contradict each other",
            f"start of model '{c.task.system.model.name}'",
            "leave out a speed that the constraints determine, so that it can be completed",
        )
    v = v - B @ (B.T @ (pushed + E.T @ (E @ v)))
    return v, E @ v + rates.speeds


def _rate_tangent(
    place: _CompletedStart,
    asked: Asked,
    o: Orientation,
    change: Mapping[str, float],
    q: Array,
    lam: Array,
) -> tuple[Array, Array]:
    """d' − C'v of an orientation's rows, and C'ᵀλ on the tree speeds."""
    c = place.completion
    W = axes(o, start_angles(o, c.task.given, c.q), 1)
    W, inverse = W[0], angle_rates(W)[0]
    if all(n in place.given for n in o.angle_names):
        moved = np.array([change.get(n, 0.0) for n in o.angle_names])
    else:
        here = _quaternion(o)
        # NᵀN = 1/4 for a unit quaternion
        moved = inverse @ (4.0 * _rate_map(c.q[0][here]).T @ q[here])
    turned = np.zeros((3, 3))
    for k in range(3):
        for j in range(k + 1, 3):
            turned[:, k] += np.cross(W[:, k], W[:, j]) * moved[j]  # (4)
    rates = np.array([change.get(n, 0.0) for n in o.rate_names])
    pushed = np.zeros(len(place.layout.scale))
    if asked.held is None:
        now = np.array([place.given.get(n, 0.0) for n in o.rate_names])
        return turned @ now + W @ rates, pushed
    # rows of W⁻¹; (W⁻¹)' = −W⁻¹ W' W⁻¹
    places = list(asked.held.places)
    change_of_rows = -(inverse @ turned @ inverse)[places]
    omega = c.v[0][o.speed : o.speed + 3]
    pushed[o.speed : o.speed + 3] = change_of_rows.T @ lam
    return rates[places] - change_of_rows @ omega, pushed


# Starts that leave coordinates open


def _free_motion(place: _CompletedStart) -> Array:
    """(nq,): largest motion of each coordinate along the undetermined directions."""
    matrix, free, inverse = place.held
    return np.abs(place.moved(np.eye(len(free)) - inverse @ matrix)).max(axis=1, initial=0.0)


def _coupled(system: System) -> list[int]:
    """Coordinates that holonomic rows depend on."""
    kin = system.kinematics
    return system.cached(
        "coupled coordinates",
        lambda: sorted(set(ca.jacobian(kin.g, kin.symbols.q).sparsity().get_triplet()[1])),
    )


def _is_open(place: _CompletedStart) -> bool:
    """Whether coordinates that the rows couple are left open, and some have been moved to fit."""
    c, coupled = place.completion, _coupled(place.completion.task.system)
    moved = np.abs(c.q[0] - c.first_guess[0])[coupled]
    if moved.max(initial=0.0) <= 1e-12:
        return False
    return bool(_free_motion(place)[coupled].max(initial=0.0) > 1e-9)


def _check_determined(place: _CompletedStart, moving: Sequence[tuple[Change, Array]]) -> None:
    """Refuse a start whose completion moves otherwise than (1), when what is given changes.

    Each change is compared with a difference by itself, so that none hides behind others and the
    verdict on it is the same whatever else is asked for.
    """
    for change, q in moving:
        if not _follows(place, change, q):
            raise _left_open(place, change)


def _follows(place: _CompletedStart, change: Change, q: Array) -> bool:
    """Whether a completion follows a change as (1) says, which moves q by q'."""
    task = place.completion.task
    sizes = [abs(place.given[name]) for name in change.given]
    sizes += [abs(x) for x, along in zip(place.params, change.params, strict=True) if along]
    step, ends = 1e-4 * max([1e-3, *sizes]), []
    for sign in (step, -step):
        moved = complete_one(
            task.system,
            {name: x + sign * change.given.get(name, 0.0) for name, x in place.given.items()},
            guess=_guess(place),
            time=float(task.t[0]) + sign * change.time,
            speed_inputs=lambda _: task.w[0],
            parameters=place.params + sign * change.params,
        )
        ends.append(moved.q[0])
    off = (ends[0] - ends[1]) / (2 * step) - q
    return bool(np.abs(off).max() <= _OPEN * max(1.0, float(np.abs(q).max())))


def _guess(place: _CompletedStart) -> dict[str, float]:
    """The guess that a start was completed from, if there was one."""
    completion = place.completion
    if not completion.is_guessed:
        return {}
    named = zip(completion.task.layout.coordinates, completion.first_guess[0], strict=True)
    return {name: float(x) for name, x in named if name not in place.given}


def _left_open(place: _CompletedStart, change: Change) -> SimulationError:
    """Error for a start that leaves coordinates undetermined."""
    system, free = place.completion.task.system, _free_motion(place)
    worst = max(_coupled(system), key=lambda k: free[k])
    name = system.coordinates[worst].name
    return SimulationError(
        f"the start leaves coordinates open that the rows couple, such as '{name}': how they "
        f"follow '{change.name}' is not unique",
        f"start of model '{system.model.name}'",
        f"give it: start={{…, '{name}': {place.completion.q[0][worst]:.6g}}}",
    )


def check_kept(
    system: System, start: Start, speed_inputs: Array, params: Array, changes: Sequence[Change]
) -> None:
    """Refuse a completed start that a change takes off the holonomic rows."""
    names = [system.kinematics.rows[k].name for k in system.kinematics.probe.holonomic]
    at = (start.time, start.q, start.v, speed_inputs, params)
    for change in changes:
        g = _rates(system, at, change, 0.0 * start.q).g
        if g.size and np.abs(g).max() > _MISSED:
            raise SimulationError(
                f"the start is a completed one, and row '{names[int(np.argmax(np.abs(g)))]}' "
                f"breaks as '{change.name}' changes",
                f"start of model '{system.model.name}'",
                "give the start by names, so that it is completed anew",
            )


def begin(
    loop: ClosedLoop,
    numbers: LoopValues,
    variables: Sequence[Variable],
    start: Mapping[str, float] | Start | None,
    time: float,
    guess: Mapping[str, float] | None = None,
) -> tuple[Start, System, Array, Array]:
    """A completed start, the system in which its run begins, y there, its derivatives (ny, n)."""
    system = loop.system
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    params = numbers.p[: len(system.model.parameters)]
    plan = input_plan(loop, numbers)
    completion = None
    if not isinstance(start, Start):
        completion = complete(system, plan, start, time, params, guess)
    started = (
        completion.start() if completion else begin_run(system, plan, start, time, params, guess)
    )
    here, eta = run_start(system, started, params)
    state = state_at(here, started.q, eta, started.mu, plan)
    padded = np.concatenate([state, np.zeros(loop.num_states - state.size)])
    changes = list(_changes(loop, numbers, variables, started, time))
    tangents = np.zeros((loop.num_states, len(changes)))
    if completion is None:
        at_rest = state_at(system, started.q, 0.0 * started.eta, 0.0 * started.mu, plan)
        w = loop.input_function(time, at_rest, numbers.base_at(time), numbers.p)[
            num_u : num_u + num_w
        ]
        check_kept(system, started, w, params, changes)
        return started, here, padded, tangents
    for k, along in enumerate(start_tangents(completion, changes)):
        along_eta = along.eta
        if here is not system:
            # other independent speeds are tree speeds
            along_eta = here.kinematics.independent_rows(time, started.q, params) @ along.v
        found = np.concatenate([along.q, along_eta, along.mu])
        tangents[: len(found), k] = found
    return started, here, padded, tangents


def _changes(
    loop: ClosedLoop,
    numbers: LoopValues,
    variables: Sequence[Variable],
    started: Start,
    time: float,
) -> Iterator[Change]:
    """Change of the start by each value of each variable."""
    system = loop.system
    num_params, num_base, num_p = len(system.model.parameters), len(numbers.base), len(numbers.p)
    for variable in variables:
        for k in range(len(variable.values)):
            base, p = np.zeros(num_base), np.zeros(num_p)
            if variable.kind in (PARAMETER, NUMBER):
                p[variable.place] = 1.0
            elif variable.kind == INPUT:
                base[variable.place] = 1.0
            elif variable.kind == TABLE:
                base = driven(base, variable.basis(system, k), time)
            yield Change(
                name=variable.columns[k],
                given={variable.name: 1.0} if variable.kind == START else {},
                params=p[:num_params],
                speed_inputs=partial(_speed_inputs, loop, numbers, started, time, base, p),
            )


def _speed_inputs(
    loop: ClosedLoop,
    numbers: LoopValues,
    started: Start,
    time: float,
    base: Array,
    p: Array,
    q: Array,
) -> Array:
    """w' along q', b' and p'."""
    if not loop.system.model.speed_inputs:
        return np.zeros(0)
    function = loop.system.cached((IdentityKey(loop), "speed inputs"), lambda: _traced(loop))
    state = np.zeros(loop.num_simulated)
    state[: started.q.size] = started.q
    if loop.generator is not None:
        state[loop.system.num_states :] = loop.generator.start
    x = np.concatenate([state, q, np.zeros(state.size - q.size)])
    u = np.concatenate([numbers.base_at(time), base])
    return function(time, x, u, np.concatenate([numbers.p, p]))


def _traced(loop: ClosedLoop) -> NativeFunction:
    """Native w' of (t, [x; z; their change], [b; b'], [p; p'])."""
    num_u, num_w = len(loop.system.model.inputs), len(loop.system.model.speed_inputs)
    w = loop.inputs[num_u : num_u + num_w, :]
    at = (loop.y[: loop.num_simulated, :], loop.base, loop.p)
    along = [ca.SX.sym("along", x.shape[0]) for x in at]
    rates = ca.jtimes(w, ca.vertcat(*at), ca.vertcat(*along))
    arguments = [ca.vertcat(x, direction) for x, direction in zip(at, along, strict=True)]
    return compile_expression("speed_inputs", (loop.t, *arguments), loop.system.fold(rates))
