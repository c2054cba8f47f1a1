"""Diagnosis of a run that ended early: an input that is not finite, a singular law or basis.

It costs a run nothing unless it has ended early. A run ends at the last valid state, so inputs are
evaluated there and just ahead: within the shortest steps that time resolves, and within the step
that was to come. On the way the state goes along its rates. What a law divides by, its guards, is
evaluated at the last state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import casadi as ca
import numpy as np

from noslip.base import Array, Fault
from noslip.engines import System, address
from noslip.kinematics import RANK_LOST
from noslip.simulation import rules
from noslip.simulation.input_laws import InputGenerator
from noslip.simulation.input_plan import InputPlan, inputs_at
from noslip.simulation.rules import EPS

#: Conditioning (1: all directions alike) below which a law is reported as singular.
SINGULAR = 1e-3
#: Times ahead: in shortest steps of 10 roundings, and in parts of the step that was to come.
SHORTEST = np.arange(0.0, 8.0, 0.125)
PARTS = np.array([0.25, 0.5, 0.75, 1.0])
#: Least singular value of the rows, over the largest, at which a failed projection is due to it.
RANK_NEARLY_LOST = 1e-2


def undefined_input(
    system: System, plan: InputPlan, t: float, state: Array, step: float, parameters: Array
) -> Fault | None:
    """The input that is nan or infinite where a run ended or just ahead, if there is one.

    Parameters
    ----------
    system : in whose speeds the state is.
    plan : what gives the inputs.
    t, state : time and [x; z] where the run ended.
    step : that was to come, s.
    parameters : of the model.
    """
    for time, place in _ahead(system, plan, t, state, step, parameters):
        values = current_inputs(plan, time, place)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            k = int(wrong[0])
            when = "just after" if time > t and f"{time:.9g}" == f"{t:.9g}" else "at"
            return Fault(
                f"{_named(system, k)} is {values[k]} {when} t = {time:.9g} s",
                f"model '{system.model.name}', t = {t:.9g} s",
                "check what determines it: is there a root of a negative number or a division by "
                "zero? Pass "
                "on_failure='return' to get the motion up to then",
            )
    return None


def _ahead(
    system: System, plan: InputPlan, t: float, state: Array, step: float, parameters: Array
) -> Iterator[tuple[float, Array]]:
    """Times and states where the run ended and just ahead, as long as they are finite."""
    if not np.all(np.isfinite(state)):
        return
    yield t, state
    u, nx = current_inputs(plan, t, state), system.num_states
    rates = system.rates(t, state[:nx], u, parameters)[:nx]
    if plan.generator is not None and plan.function is not None:
        law = plan.function(t, state, plan.base, plan.parameters)[len(u) :]
        rates = np.concatenate([rates, law])
    if not np.all(np.isfinite(rates)):
        return
    shortest = 10.0 * EPS * max(abs(t), 1e-8)
    for dt in (*(shortest * SHORTEST), *(step * PARTS)):
        yield t + dt, state + dt * rates


def current_inputs(plan: InputPlan, t: float, state: Array) -> Array:
    """[u; w; ẇ] at a state, those of Python callables too."""
    values = inputs_at(plan, t, state)
    if plan.callback is None:
        return values
    out = np.empty_like(values)
    given = (np.array([t]), np.ascontiguousarray(state), values.copy(), plan.parameters, out)
    kind = ctypes.POINTER(ctypes.c_double)
    plan.callback(*(ctypes.cast(address("callback", a), kind) for a in given))
    # what one raises only ahead of the end did not end the run
    return values if plan.failure else out


def _named(system: System, k: int) -> str:
    """An input by its place among [u; w; ẇ]."""
    num_w = len(system.model.speed_inputs)
    is_rate = k >= len(system.inputs) - num_w
    name = system.inputs[k - num_w if is_rate else k].name
    return f"the rate of input '{name}'" if is_rate else f"input '{name}'"


def singular_sentence(system: System, index: int, t: float, state: Array, values: Array) -> str:
    """Sentence on the singularity at which a health value ended a run.

    The mass matrix is found in the independent speeds. Where these do not determine the motion,
    because the rows lose rank in the others, it is no number, and inertia is not the cause.

    Parameters
    ----------
    system : in whose speeds the run was.
    index : which health value.
    t, state, values : time, state and parameters of the model there.
    """
    measure, kin = system.singularity_measures[index], system.kinematics
    if measure.kind != "mass":
        return measure.sentence
    q = state[: kin.num_coordinates]
    matrix = kin.probe.matrices(np.array([t]), q[None], values)[0][list(kin.row_basis)]
    both = np.concatenate([matrix, kin.independent_rows(t, q, values)]) / kin.probe.scale
    both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-300)
    if not np.isfinite(both).all() or np.linalg.svd(both, compute_uv=False)[-1] >= RANK_LOST:
        return measure.sentence
    names = ", ".join(f"'{s.name}'" for s in kin.independent_speeds)
    return (
        f"the constraints lose rank here in the dependent speeds: with these parameters "
        f"{names} do not determine the motion"
    )


def not_passed(
    system: System, code: int, index: int, t: float, state: Array, values: Array, who: str
) -> str:
    """Sentence on a singular configuration that only `simulate` can pass; empty otherwise.

    Parameters
    ----------
    system : in whose speeds the run was.
    code, index : how it ended, and at which singularity measure.
    t, state, values : time, state and parameters of the model there.
    who : what ends there, in the plural.
    """
    kin = system.kinematics
    is_rank = code == rules.SINGULAR and system.singularity_measures[index].kind == "basis"
    if code not in (rules.SINGULAR, rules.PROJECTION_FAILED) or not kin.held_positions:
        return ""
    q = state[: kin.num_coordinates]
    A = kin.probe.matrices(np.array([t]), q[None], values)[0] / kin.probe.scale
    A = A[[k for k in range(len(kin.rows)) if k not in kin.self_satisfied]]
    if not is_rank and np.isfinite(A).all():
        sigma = np.linalg.svd(A, compute_uv=False)
        is_rank = bool(sigma[len(kin.row_basis) - 1] < RANK_NEARLY_LOST * sigma[0])
    if not is_rank:
        return ""
    return (
        f"the rows lose rank there; {who} end at such a place, simulate goes through where it can"
    )


def broken_guard(
    system: System, generator: InputGenerator | None, t: float, state: Array, parameters: Array
) -> Fault | None:
    """Fault of a law whose guard vanishes at a state, if that is why the run ended.

    Parameters
    ----------
    system : in whose symbols the law is.
    generator : the law.
    t, state : time and [x; z].
    parameters : of the model, then of the law.
    """
    if generator is None or not generator.guards:
        return None
    symbols = system.kinematics.symbols
    states = ca.vertcat(system.state, generator.states)
    known = ca.vertcat(symbols.params, generator.parameters)
    values = ca.Function(
        "guards",
        [symbols.t, states, known],
        [ca.vertcat(*[guard.conditioning for guard in generator.guards])],
        {"allow_free": True},
    )
    if values.get_free():
        return None
    found = np.array(values(t, state, parameters)).ravel()
    for guard, value in zip(generator.guards, found, strict=True):
        if not value >= SINGULAR:
            where = f"model '{system.model.name}', t = {t:.9g} s"
            if "path.arc_length" in generator.names:
                at = system.num_states + generator.names.index("path.arc_length")
                where += f", {state[at]:.4g} m along the path"
            return Fault(guard.what, where, guard.fix)
    return None
