"""The native loop: a whole integration in compiled code, from addresses of compiled functions.

Every function it calls has the signature

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

and is given as an integer address, so that this file is compiled once for all models and kept on
disk. The state is y = [x; z]: x is the mechanism's, z belongs to the generator of inputs.

    rates      f(t, x, inputs, p)          → [ẋ; health]
    generator  f(t, y, base inputs, p_gen) → [inputs; ż]; without it inputs are the base inputs
    project    f(t, x, inputs, p)          → [x after one Newton step; residual before it]
    events     f(t, x, inputs, p_ev)       → one value per event, those that end the run first

Methods: DOP853 with its authors' step control, and RK4 with a fixed step and a cubic dense output.

Traps
-----
- The compiled code on disk is renewed when *this* file changes. After a change of ``dop853.py``
  alone, delete it or touch this file.
- Vectors are known by the addresses in a ``SETUP``; nothing here owns or checks them.
- Times of stages never reach a knot at which the step ends: they stop one rounding before it, so
  that inputs written as "if t ≥ knot" are seen from the left within that step. The next step sees
  them from the right, hence its first stage is evaluated anew.

References
----------
[HairerNorsettWanner1993] for the method, its step control and first step; [Chandrupatla1997] for
the roots of events. Both without equation numbers.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from noslip.simulation import dop853
from noslip.simulation.dop853 import NUM_STAGES, NUM_STAGES_DENSE

DOP853, RK4 = range(2)

FINISHED = 0  # the end time is reached
EVENT = 1  # an event's value crossed zero; index says which
CANCELLED = 2  # the status word asked for it
STEP_TOO_SMALL = 3  # the tolerances ask for steps that time cannot resolve
SINGULAR = 4  # a health value is below its floor or NaN; index says which
NON_FINITE = 5  # the rates at the state, or just ahead of it, are not finite
MAX_STEPS = 6  # the allowed number of steps is spent
PROJECTION_FAILED = 7  # a state could not be brought back on the constraints
PAUSED = 8  # the steps asked for are done; the next call goes on as if there had been no pause

MAX_PROJECTIONS = 8
SURELY = 1e-4  # a residual whose square is below this share of the tolerance needs no second look
ROUNDING = 1e-10  # a residual above this share of the largest state is not taken for rounding
STAGE_FLOOR = 0.1  # stages of a step must not have health below this share of its floor
TOO_FAR = 1e3  # error norm of a step with such a stage
NEAR_FLOOR = 0.5  # a run ends on health between this share of its floor and the floor
APPROACH = 1e-6  # but no steps shorter than this share of the run are taken to come so near
CHECKS_PER_STEP = 4  # events are looked at in the end and at 1/4, 1/2, 3/4 of each step
START_FRACTION = 2.0**-24  # a run's first signs are taken at this fraction of its first step

# Rows of K besides the stages: the rates at a step's end, and there after a projection.
END_ROW, PROJECTED_ROW, NUM_ROWS = NUM_STAGES, NUM_STAGES_DENSE, NUM_STAGES_DENSE + 1

# Stages of both methods by their nonzero weights: row k is columns and weights from starts[k] up to
# starts[k + 1]. Column 0 stands first in every row. After DOP853: three stages of RK4 and its end.
_RK4_ROWS = (
    {0: 1 / 2},
    {0: 0.0, 1: 1 / 2},
    {0: 0.0, 2: 1.0},
    {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6},
)
_ROWS: list[dict[int, float]] = [
    *({int(j): float(row[j]) for j in np.flatnonzero(row)} for row in dop853.A),
    *_RK4_ROWS,
]
_ROW_STARTS = np.cumsum([0, *(len(row) for row in _ROWS)])
_ROW_COLUMNS = np.array([column for row in _ROWS for column in row])
_ROW_WEIGHTS = np.array([weight for row in _ROWS for weight in row.values()])
_TIMES = np.array([*dop853.C, 1 / 2, 1 / 2, 1.0])
_RK4_START, _RK4_END = NUM_STAGES_DENSE, NUM_STAGES_DENSE + 3

_ACCEPTED, _RETRY = -2, -1  # besides the endings, what may be said of a step
_EPS = 2.0**-52

_ADDRESSES = (
    # functions, 0 where there is none, and their parameters
    *("rates", "generator", "update", "project", "events"),
    *("parameters", "generator_parameters", "event_parameters"),
    # base inputs; [inputs; ż], the same as the base inputs where there is no generator
    *("base", "inputs"),
    # table k drives base input targets[k] by segments offsets[k] up to offsets[k + 1]; a segment
    # is c₀ s³ + c₁ s² + c₂ s + c₃ with s = t − start; segments[k] is the one in use
    *("targets", "offsets", "starts", "coefficients", "segments"),
    # sorted times on which steps end, among them all starts; sorted times of samples
    *("knots", "sample_times", "update_times"),
    # per state, per health value, per event (−1, 0, +1)
    *("absolute", "floors", "directions"),
    # cancel request, time reached, steps taken: shared with Python while the loop runs
    "status",
    # state at the start, then where the loop ended
    "y",
    # one row for each sample, and one more for an event
    *("recorded_times", "recorded_states", "recorded_inputs"),
    # rows of event, time and state: events that did not end the run
    "crossings",
    # work: NUM_ROWS × row stages, 7 × ny dense output, states, x and residual, event values; where
    # the health values are
    *("K", "F", "stage", "end", "next", "point", "newton"),
    *("left", "right", "at_end", "probe", "health"),
)
_NUMBERS = (
    *("method", "nx", "nz", "ny", "row", "num_inputs", "num_tables", "num_knots", "num_samples"),
    "num_updates",
    # the first num_endings events end the run; a pause is due when more crossings than
    # most_crossings are noted, or after so many steps; 0: never
    *("num_health", "num_events", "num_endings", "most_crossings", "max_steps", "pause"),
)
# outcome: why, which event or health value, and what it took
_OUTCOME = ("code", "index", "steps", "rejections", "evaluations", "filled")
# what the loop knows besides while it pauses
_PAUSE = ("is_paused", "knot", "updates", "may_grow", "num_crossings")
INTEGERS = (*_ADDRESSES, *_NUMBERS, *_OUTCOME, *_PAUSE)
OUTCOME = slice(len(INTEGERS) - len(_PAUSE) - len(_OUTCOME), len(INTEGERS) - len(_PAUSE))
REALS = (
    # start and first step (0: chosen; RK4: its step), then where the loop ended and the next step
    *("time", "step"),
    *("end_time", "max_step", "relative", "projection", "begin"),
)
SETUP = np.dtype([(name, np.int64) for name in INTEGERS] + [(name, np.float64) for name in REALS])

LANES = 4  # values combined at a time; the rows of K and the states are padded to a multiple


def padded(size: int) -> int:
    """The next multiple of LANES."""
    return -(-size // LANES) * LANES


_native = njit(
    error_model="numpy", fastmath={"contract"}, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


@intrinsic
def _vector(typing_context, address):
    """Pointer to the float64 values at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate


@intrinsic
def _integers(typing_context, address):
    """Pointer to the int64 values at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def _call(typing_context, function, t, x, u, p, out):
    """Call the compiled function at an address with a time and the addresses of four vectors."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [pointer] * 5)
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        time = cgutils.alloca_once(builder, ir.DoubleType())
        builder.store(arguments[1], time)
        vectors = [builder.inttoptr(address, pointer) for address in arguments[2:]]
        builder.call(function, [time, *vectors])
        return context.get_dummy_value()

    address = types.int64
    return types.void(address, types.float64, address, address, address, address), generate


@intrinsic
def _copy(typing_context, source, target, count):
    """Copy float64 values from one address to another, which do not overlap."""

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        source, target = (builder.inttoptr(address, pointer) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@_native
def _is_finite(address, n):
    x = _vector(address)
    for i in range(n):
        if not math.isfinite(x[i]):
            return False
    return True


@_native
def _row(s, k):
    """Address of row k of K."""
    return s.K + 8 * k * s.row


@_native
def _find_inputs(s, t, y):
    """Inputs at (t, y) and the generator's rates, into s.inputs."""
    for k in range(s.num_tables):
        segment = _integers(s.segments)[k]
        c = _vector(s.coefficients + 32 * segment)
        r = t - _vector(s.starts)[segment]
        target = _integers(s.targets)[k]
        _vector(s.base)[target] = ((c[0] * r + c[1]) * r + c[2]) * r + c[3]
    if s.generator != 0:
        _call(s.generator, t, y, s.base, s.generator_parameters, s.inputs)


@_native
def _evaluate(s, t, y, out):
    """Rates [ẋ; ż] at (t, y) into out; health into s.health, inputs into s.inputs."""
    _find_inputs(s, t, y)
    _call(s.rates, t, y, s.inputs, s.parameters, out)
    # The function has put the health values where ż goes.
    if s.nz == 0:
        s.health = out + 8 * s.nx
    else:
        _copy(out + 8 * s.nx, s.health, s.num_health)
        _copy(s.inputs + 8 * s.num_inputs, out + 8 * s.nx, s.nz)
    s.evaluations += 1


@_native
def _unhealthy(s, share):
    """Index of the first health value below a share of its floor or NaN, or −1."""
    health, floors = _vector(s.health), _vector(s.floors)
    for k in range(s.num_health):
        if not health[k] >= share * floors[k]:
            return k
    return -1


@_native
def _enter_segments(s, t):
    """Choose the segment of every table that holds from time t on."""
    segments, offsets, starts = _integers(s.segments), _integers(s.offsets), _vector(s.starts)
    for k in range(s.num_tables):
        while segments[k] + 1 < offsets[k + 1] and starts[segments[k] + 1] <= t:
            segments[k] += 1


@_native
def _update(s, t, done):
    """Let the generator set its states anew at each update time up to t; how many were done."""
    while done < s.num_updates and _vector(s.update_times)[done] <= t:
        _find_inputs(s, t, s.y)
        _call(s.update, t, s.y, s.base, s.generator_parameters, s.stage)
        _copy(s.stage, s.y + 8 * s.nx, s.nz)
        done += 1
    return done


@_native
def _project(s, t, x):
    """Bring x on the constraints with the inputs found; number of corrections.

    Or −1 where they do not bring it there, −2 where they are no numbers.
    """
    largest, before = 1.0, np.inf
    for i in range(s.nx):
        largest = max(largest, abs(_vector(x)[i]))
    for correction in range(MAX_PROJECTIONS):
        _call(s.project, t, x, s.inputs, s.parameters, s.newton)
        residual = _vector(s.newton)[s.nx]
        # Newton's method squares a small residual; one that no longer halves is the rounding of
        # large coordinates, such as the angle of a wheel after many turns.
        is_stuck = correction > 2 and before < 2.0 * residual <= ROUNDING * largest
        if residual <= s.projection or is_stuck:
            return correction
        before = residual
        if not _is_finite(s.newton, s.nx):
            return -2
        _copy(s.newton, x, s.nx)
        if residual * residual <= SURELY * s.projection:
            return correction + 1
    return -1


@_native
def _settle(s, t, y):
    """Project a reported state and find its inputs; False if that failed."""
    _find_inputs(s, t, y)
    if s.project == 0:
        return True
    corrections = _project(s, t, y)
    if corrections > 0:
        _find_inputs(s, t, y)
    return corrections >= 0


@_native
def _combine(s, stage, h, out):
    """State of a stage, y + h Σ_j a_j k_j, into out."""
    first, after = _ROW_STARTS[stage], _ROW_STARTS[stage + 1]
    for i in range(0, s.ny, LANES):
        y, state = _vector(s.y + 8 * i), _vector(out + 8 * i)
        x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
        for j in range(first, after):
            k, a = _vector(s.K + 8 * (_ROW_COLUMNS[j] * s.row + i)), _ROW_WEIGHTS[j]
            x0 += a * k[0]
            x1 += a * k[1]
            x2 += a * k[2]
            x3 += a * k[3]
        state[0], state[1] = y[0] + h * x0, y[1] + h * x1
        state[2], state[3] = y[2] + h * x2, y[3] + h * x3


@_native
def _evaluate_stages(s, t, h, last, first, after, row):
    """Rates of consecutive stages into the rows of K from ``row`` on; none is later than last.

    Returns whether all stages keep away from singular places, where rates mean nothing.
    """
    is_healthy = True
    for stage in range(first, after):
        _combine(s, stage, h, s.stage)
        _evaluate(s, min(t + _TIMES[stage] * h, last), s.stage, _row(s, row + stage - first))
        is_healthy = is_healthy and _unhealthy(s, STAGE_FLOOR) < 0
    return is_healthy


@_native
def _try_step(s, t, h, last):
    """State at a step's end into s.end; the norm of its error, 0 for RK4 which does not know it."""
    end = NUM_STAGES if s.method == DOP853 else _RK4_END
    is_healthy = _evaluate_stages(s, t, h, last, 1 if s.method == DOP853 else _RK4_START, end, 1)
    _combine(s, end, h, s.end)
    if s.method == RK4:
        return 0.0
    # a step must not leap over a singular place: it is tried shorter, down to a smallest approach
    if not is_healthy and h > APPROACH * (s.end_time - s.begin):
        return TOO_FAR
    K, y, y_new = _vector(s.K), _vector(s.y), _vector(s.end)
    return dop853.error_norm(K, s.row, s.ny, h, y, y_new, _vector(s.absolute), s.relative)


@_native
def _prepare_dense(s, t, h, last):
    """Dense output of a step into s.F, a cubic for RK4; False if it is not finite."""
    K, F = _vector(s.K), _vector(s.F)
    dop853.cubic_terms(K, s.row, s.ny, h, _vector(s.y), _vector(s.end), F)
    if s.method == DOP853:
        first = NUM_STAGES + 1
        _evaluate_stages(s, t, h, last, first, NUM_STAGES_DENSE, first)
        dop853.higher_terms(K, s.row, s.ny, h, F)
    return _is_finite(s.F, dop853.NUM_DENSE_TERMS * s.ny)


@_native
def _interpolate(s, theta, out):
    """State at t + θh of the step with the dense output in s.F."""
    dop853.dense_state(_vector(s.F), s.ny, theta, _vector(s.y), _vector(out))


@_native
def _partial_step(s, t, h, theta):
    """State at t + θh by a step of its own into s.point; the step's own stages are spent then."""
    part = theta * h
    _evaluate_stages(s, t, part, t + part, 1, NUM_STAGES, 1)
    _combine(s, NUM_STAGES, part, s.point)


@_native
def _is_rough(s, t, h):
    """Whether dense output misses the tolerance in the middle of a step.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    Its last term bounds the error; where that bound fails, a half step of its own decides.
    """
    if s.method == RK4:
        return False
    F, y, end, absolute = _vector(s.F), _vector(s.y), _vector(s.end), _vector(s.absolute)
    bound = 0.0
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        # the last term is F6 θ⁴ (1 − θ)³, at θ = 1/2
        bound = max(bound, abs(F[(dop853.NUM_DENSE_TERMS - 1) * s.ny + i]) / 128.0 / scale)
    if bound <= 1.0:
        return False
    _partial_step(s, t, h, 0.5)
    _interpolate(s, 0.5, s.stage)
    point, dense = _vector(s.point), _vector(s.stage)
    for i in range(s.ny):
        scale = absolute[i] + s.relative * max(abs(y[i]), abs(end[i]))
        if not abs(point[i] - dense[i]) <= scale:
            return True
    return False


@_native
def _state_within(s, t, h, theta, is_rough):
    """State at t + θh of an accepted step into s.point, to the step's own accuracy."""
    if is_rough:
        _partial_step(s, t, h, theta)
    else:
        _interpolate(s, theta, s.point)


@_native
def _close_step(s, t, h, last, is_dense):
    """Rates, projection, health, events and dense output at the end of a step.

    Returns the verdict (accepted, retry with a smaller step, or an ending), the row of K with the
    rates at s.next, and the index of a health value below its floor.
    """
    if not _is_finite(s.end, s.ny):
        return _RETRY, END_ROW, -1
    row = END_ROW
    _copy(s.end, s.next, s.ny)
    if s.project == 0 or is_dense:
        # dense output takes the rates of the step itself, at its end before a projection
        _evaluate(s, last, s.next, _row(s, row))
        if not _is_finite(_row(s, row), s.ny):
            return _RETRY, row, -1
    else:
        _find_inputs(s, last, s.next)
    if s.project != 0:
        corrections = _project(s, last, s.next)
        if corrections < 0:
            return PROJECTION_FAILED if corrections == -1 else NON_FINITE, row, -1
        if corrections > 0 or not is_dense:
            row = PROJECTED_ROW
            _evaluate(s, last, s.next, _row(s, row))
            if not _is_finite(_row(s, row), s.ny):
                return _RETRY, row, -1
    # Speeds that follow from others through a nearly singular matrix lose accuracy; a step that
    # ends far below a floor is tried shorter, so that the run ends where they can be trusted.
    is_long = s.method == DOP853 and h > APPROACH * (s.end_time - s.begin)
    if is_long and _unhealthy(s, NEAR_FLOOR) >= 0:
        return _RETRY, row, -1
    unhealthy = _unhealthy(s, 1.0)
    if s.events != 0:
        _call(s.events, last, s.next, s.inputs, s.event_parameters, s.at_end)
    if is_dense and not _prepare_dense(s, t, h, last):
        return _RETRY, row, -1
    return _ACCEPTED, row, unhealthy


@_native
def _event_values(s, t, h, theta, out):
    """Values of all events on the dense output at t + θh."""
    _interpolate(s, theta, s.point)
    _find_inputs(s, t + theta * h, s.point)
    _call(s.events, t + theta * h, s.point, s.inputs, s.event_parameters, out)


@_native
def _expected_root(a, f_a, b, f_b, c, f_c):
    """Where between a (0) and b (1) the root is expected; 1/2 where interpolation is unsafe."""
    xi = (a - b) / (c - b)
    phi = (f_a - f_b) / (f_c - f_b)
    if not (phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi):
        return 0.5
    from_c = (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
    return f_a / (f_b - f_a) * f_c / (f_b - f_c) + from_c


@_native
def _locate(s, t, h, event, left, right):
    """Root θ of one event between two fractions of a step, on its far side.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection. The
    root lies between a, the newest point, and b; c is the point before.
    """
    a, f_a, b, f_b = right, _vector(s.right)[event], left, _vector(s.left)[event]
    if f_a == 0.0:
        return right
    fraction = 0.5
    tolerance = 2.0 * _EPS * max(1.0, abs(t) / h)
    for _ in range(200):
        if abs(b - a) <= tolerance:
            break
        least = 0.5 * tolerance / abs(b - a)
        x = a + min(max(fraction, least), 1.0 - least) * (b - a)
        _event_values(s, t, h, x, s.probe)
        f_x = _vector(s.probe)[event]
        if f_x == 0.0:
            return x
        if (f_x > 0.0) == (f_a > 0.0):
            c, f_c = a, f_a
        else:
            c, f_c, b, f_b = b, f_b, a, f_a
        a, f_a = x, f_x
        fraction = _expected_root(a, f_a, b, f_b, c, f_c)
    return max(a, b)


@_native
def _refine(s, t, h, event, theta):
    """Root θ of an event on steps of their own, by secants from the root on dense output."""
    a, b = theta, theta - 1e-4 if theta > 0.5 else theta + 1e-4
    f_a = f_b = np.nan
    for attempt in range(10):
        _partial_step(s, t, h, a)
        _find_inputs(s, t + a * h, s.point)
        _call(s.events, t + a * h, s.point, s.inputs, s.event_parameters, s.probe)
        f = _vector(s.probe)[event]
        if attempt == 0:
            f_a, a, b = f, b, a
            continue
        f_b, f_a = f_a, f
        if f_a == f_b or abs(a - b) <= 4.0 * _EPS * max(1.0, abs(t) / h):
            break
        a, b = min(max(a - f_a * (a - b) / (f_a - f_b), 0.0), 1.0), a
    return a


@_native
def _crosses(before, after, direction):
    """Whether a value left its sign, in the direction asked for (0: both)."""
    if before < 0.0:
        return direction >= 0.0 and after >= 0.0
    return before > 0.0 and direction <= 0.0 and after <= 0.0


@_native
def _note_crossing(s, t, h, event, theta, is_rough):
    """Note an event that does not end the run: which, when, and the state; False: no projection."""
    if is_rough:
        theta = _refine(s, t, h, event, theta)
    time = t + theta * h
    _state_within(s, t, h, theta, is_rough)
    is_settled = _settle(s, time, s.point)
    place = s.crossings + 8 * s.num_crossings * (s.ny + 2)
    _vector(place)[0], _vector(place)[1] = event, time
    _copy(s.point, place + 16, s.ny)
    s.num_crossings += 1
    return is_settled


@_native
def _find_event(s, t, h, is_first):
    """First event of a step that ends the run, or −1, its fraction θ, and whether all went well.

    The others before it are noted. Leaves the last signs in s.left.
    """
    before, after, directions = _vector(s.left), _vector(s.right), _vector(s.directions)
    left, rough = 0.0, -1
    if is_first:
        left = START_FRACTION
        _event_values(s, t, h, left, s.left)
    for check in range(1, CHECKS_PER_STEP + 1):
        right = check / CHECKS_PER_STEP
        if check == CHECKS_PER_STEP:
            _copy(s.at_end, s.right, s.num_events)
        else:
            _event_values(s, t, h, right, s.right)
        # those that end the run come first, so that no later crossing is noted
        found, theta = -1, 2.0
        for k in range(s.num_events):
            if _crosses(before[k], after[k], directions[k]):
                root = _locate(s, t, h, k, left, right)
                if k < s.num_endings:
                    if root < theta:
                        found, theta = k, root
                elif root <= theta:
                    if rough < 0:
                        rough = 1 if _is_rough(s, t, h) else 0
                    if not _note_crossing(s, t, h, k, root, rough == 1):
                        return found, theta, False
        if found >= 0:
            return found, theta, True
        # A value of zero or NaN leaves the sign before it in place.
        for k in range(s.num_events):
            if after[k] * after[k] > 0.0:
                before[k] = after[k]
        left = right
    return -1, 1.0, True


@_native
def _record(s, t, y):
    """Append time, state and the inputs found to the record."""
    _vector(s.recorded_times)[s.filled] = t
    _copy(y, s.recorded_states + 8 * s.filled * s.ny, s.ny)
    _copy(s.inputs, s.recorded_inputs + 8 * s.filled * s.num_inputs, s.num_inputs)
    s.filled += 1


@_native
def _is_wanted(s, limit):
    """Whether a sample before a time is still to be recorded."""
    return s.filled < s.num_samples and _vector(s.sample_times)[s.filled] < limit


@_native
def _record_samples_at(s, t):
    """Record the samples at the time of s.y itself."""
    while s.filled < s.num_samples and _vector(s.sample_times)[s.filled] <= t:
        _find_inputs(s, t, s.y)
        _record(s, t, s.y)


@_native
def _report_step(s, t, h, t_new):
    """Look for an event in an accepted step and record the samples before it or the step's end.

    Returns a verdict (accepted, EVENT or PROJECTION_FAILED) and where the step now ends. The state
    of an event is left in s.next.
    """
    event, theta = -1, 1.0
    if s.events != 0:
        event, theta, is_settled = _find_event(s, t, h, s.steps == 0)
        if not is_settled:
            return PROJECTION_FAILED, t
    t_end = t_new if event < 0 else min(t + theta * h, t_new)
    is_rough = (event >= 0 or _is_wanted(s, t_end)) and _is_rough(s, t, h)
    if event >= 0 and is_rough:
        theta = _refine(s, t, h, event, theta)
        t_end = min(t + theta * h, t_new)
    while _is_wanted(s, t_end):
        time = _vector(s.sample_times)[s.filled]
        _state_within(s, t, h, (time - t) / h, is_rough)
        if not _settle(s, time, s.point):
            return PROJECTION_FAILED, t
        _record(s, time, s.point)
    if event < 0:
        return _ACCEPTED, t_new
    _state_within(s, t, h, theta, is_rough)
    _copy(s.point, s.next, s.ny)
    if not _settle(s, t_end, s.next):
        return PROJECTION_FAILED, t
    _record(s, t_end, s.next)
    s.index = event
    return EVENT, t_end


@_native
def _first_step(s, t, longest):
    """First step by Hairer's rule: from the sizes of the state, its rate and second derivative."""
    y, stage, k0, k1 = _vector(s.y), _vector(s.stage), _vector(s.K), _vector(_row(s, 1))
    absolute, relative = _vector(s.absolute), s.relative
    state, rate, second = 0.0, 0.0, 0.0
    for i in range(s.ny):
        scale = absolute[i] + relative * abs(y[i])
        state += (y[i] / scale) ** 2
        rate += (k0[i] / scale) ** 2
    h = 1e-6 if rate <= 1e-10 or state <= 1e-10 else 0.01 * math.sqrt(state / rate)
    h = min(h, longest)
    # An explicit Euler step shows how fast the rate changes.
    for i in range(s.ny):
        stage[i] = y[i] + h * k0[i]
    _evaluate(s, t + h, s.stage, _row(s, 1))
    for i in range(s.ny):
        second += ((k1[i] - k0[i]) / (absolute[i] + relative * abs(y[i]))) ** 2
    fastest = max(math.sqrt(second) / h, math.sqrt(rate))
    if not math.isfinite(fastest):
        return h
    limit = max(1e-6, 1e-3 * h) if fastest <= 1e-15 else (0.01 / fastest) ** 0.125
    return min(100.0 * h, limit, longest)


@_native
def _ending(s, t, unhealthy, is_finite, is_stuck, error):
    """Reason to end before the next step, the most telling first; accepted if there is none."""
    if unhealthy >= 0:
        s.index = unhealthy
        return SINGULAR
    if not is_finite:
        return NON_FINITE
    if t >= s.end_time:
        return FINISHED
    if _vector(s.status)[0] != 0.0:
        return CANCELLED
    if s.steps >= s.max_steps:
        return MAX_STEPS
    if is_stuck:
        return STEP_TOO_SMALL if math.isfinite(error) else NON_FINITE
    if 0 < s.pause <= s.steps or s.num_crossings > s.most_crossings:
        return PAUSED
    return _ACCEPTED


def _cached(function):
    """Compile with a cache on disk, or without where no folder can be written to."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


@_cached
def integrate(setup):
    """Integrate from the setup's time to its end time, or to the first reason to end earlier.

    The setup's ``time``, ``y`` and ``step`` are left where the run ended, so that a second call,
    with the same or other functions, continues it. Inputs recorded at a knot are those that hold
    from it on, but at the end of the run those that held before it.

    Parameters
    ----------
    setup : (1,) array of SETUP
        The caller keeps alive the vectors and functions it points to.
    """
    s = setup[0]
    t, end_time, h, error = s.time, s.end_time, s.step, 0.0
    max_step = s.step if s.method == RK4 else s.max_step
    knots, status = _vector(s.knots), _vector(s.status)
    if s.is_paused == 0:
        s.index, s.steps, s.rejections, s.evaluations, s.filled = -1, 0, 0, 0, 0
        s.begin, s.knot, s.updates, s.may_grow, s.num_crossings = t, 0, 0, 1, 0
    is_stale, is_finite, unhealthy = s.is_paused == 0, True, -1
    s.is_paused = 0
    knot, updates, may_grow = s.knot, s.updates, s.may_grow != 0
    while True:
        # Time resolves no steps below this.
        smallest = 10.0 * _EPS * max(abs(t), 1e-8 * (end_time - s.begin))
        while knot < s.num_knots and knots[knot] <= t + smallest:
            knot += 1
        stop = min(end_time, knots[knot]) if knot < s.num_knots else end_time
        # At the start and at knots the inputs may jump.
        if is_stale:
            _enter_segments(s, t + smallest)
            updates = _update(s, t + smallest, updates)
            _evaluate(s, t, s.y, s.K)
            is_stale, is_finite, unhealthy = False, _is_finite(s.K, s.ny), _unhealthy(s, 1.0)
            if is_finite and unhealthy < 0:
                h = max(h if h > 0.0 else _first_step(s, t, min(max_step, stop - t)), smallest)
        _record_samples_at(s, t)
        code = _ending(s, t, unhealthy, is_finite, h < smallest, error)
        if code != _ACCEPTED:
            break

        # Try a step; it ends on the next stop if that is near.
        h = min(h, max_step)
        lands = stop - t <= min(1.01 * h, max_step * (1.0 + 1e-9))
        t_new = stop if lands else t + h
        last = np.nextafter(t_new, t) if lands and stop < end_time else t_new
        h_try = t_new - t
        error = _try_step(s, t, h_try, last)
        code, row = _RETRY, END_ROW
        if error <= 1.0:
            is_dense = s.events != 0 or _is_wanted(s, t_new)
            code, row, unhealthy = _close_step(s, t, h_try, last, is_dense)
            error = np.inf if code == _RETRY else error
        if code == _RETRY:
            s.rejections += 1
            if s.method == RK4:
                code = NON_FINITE
                break
            h, may_grow = dop853.next_step(h_try, error, False), False
            continue

        # Report it and make its end the new state.
        if code == _ACCEPTED:
            code, t_new = _report_step(s, t, h_try, t_new)
        if code == PROJECTION_FAILED or code == NON_FINITE:
            break
        t, s.steps = t_new, s.steps + 1
        _copy(s.next, s.y, s.ny)
        _copy(_row(s, row), s.K, s.ny)
        status[1], status[2] = t, s.steps
        if code == EVENT:
            break
        h_next = dop853.next_step(h_try, error, may_grow)
        h, may_grow, is_stale = max(h, h_next) if lands else h_next, True, lands and t < end_time
    if code == PAUSED:
        s.is_paused, s.knot, s.updates, s.may_grow = 1, knot, updates, 1 if may_grow else 0
    s.code, s.time, s.step = code, t, min(h, max_step)


def is_on_disk() -> bool:
    """Whether the loop's machine code is kept from an earlier run; to make it takes seconds."""
    try:
        return bool(integrate._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return True  # not known, so nothing to announce
