"""One step of every lane: the state at its end with an error, then all that is known there."""

from __future__ import annotations

from noslip.simulation import rules
from noslip.simulation.batches.conditions import any_of, is_finite
from noslip.simulation.batches.projection import project
from noslip.simulation.batches.rates import evaluate, evaluate_stages, find_inputs, first_unhealthy
from noslip.simulation.batches.setup import (
    BEGIN,
    CORRECTIONS,
    DENSE,
    ERROR,
    EVALUATIONS,
    H_TRY,
    HEALTHY,
    LAST,
    MASK,
    PROJECTED,
    SELECT,
    TIME,
    UNHEALTHY,
    VERDICT,
    WHICH,
    T,
    rates_at,
    real,
    real_at,
    word,
    word_at,
    worker_at,
)
from noslip.simulation.dop853 import NUM_DENSE_TERMS, NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.native import call, copy, native, unit
from noslip.simulation.rules import ACCEPTED, DOP853, END_ROW, PROJECTED_ROW, RETRY, RK4

IDLE = -3  # besides the endings, ACCEPTED and RETRY, what may be said of a lane's step
NUM_DENSE = NUM_STAGES_DENSE - NUM_STAGES - 1  # stages that only dense output needs


@native
def try_step(s):
    """States at the ends of all lanes' steps into s.end_state; norms of errors into ERROR."""
    healthy, evaluations, error = word(s, HEALTHY), word(s, EVALUATIONS), real(s, ERROR)
    for j in range(s.lanes):
        healthy[j] = -1
        evaluations[j] += s.num_stages
    evaluate_stages(s, s.stages, 1, s.num_stages)
    h = real_at(s, H_TRY)
    if s.method == RK4:
        times = (real_at(s, T), real_at(s, LAST))
        call(s.end, (s.y, h, s.k, *times, s.end_state, real_at(s, TIME), s.ny, s.row))
    else:
        tolerances = (s.absolute, s.settings)
        call(s.end, (s.y, h, s.k, *tolerances, s.end_state, real_at(s, ERROR), s.ny, s.row))
    for j in range(s.lanes):
        # a step must not leap over a singular place: it is tried shorter
        if s.method == RK4:
            error[j] = 0.0
        elif healthy[j] == 0 and is_long(s, j):
            error[j] = rules.TOO_FAR


@native
def is_long(s, j):
    """Whether a lane's step may still be tried shorter, to come nearer to a singular place."""
    span = s.end_time - real(s, BEGIN)[j]
    return s.method == DOP853 and real(s, H_TRY)[j] > rules.APPROACH * span


@unit
def close_step(here):
    """Rates, projection, health, events and dense output at the ends of the accepted steps.

    VERDICT becomes RETRY where the step must be shorter, or an ending. PROJECTED says whether the
    rates at s.next are in PROJECTED_ROW, else in END_ROW.
    """
    s = worker_at(here)
    lanes, verdict, dense = s.lanes, word(s, VERDICT), word(s, DENSE)
    projected, evaluations = word(s, PROJECTED), word(s, EVALUATIONS)
    last, end_rates = real_at(s, LAST), rates_at(s, END_ROW)
    for j in range(lanes):
        projected[j] = -1
    retry_unless_finite(s, s.end_state, s.ny, PROJECTED)
    copy(s.end_state, s.next, lanes * s.ny)
    # dense output takes the rates of the step itself, at its end before a projection
    is_dense = any_of(s, DENSE)
    for j in range(lanes):
        projected[j] = -1 if s.project == 0 else dense[j]
        if verdict[j] == ACCEPTED:
            evaluations[j] -= projected[j]
    if s.project == 0 or is_dense:
        evaluate(s, last, s.next, end_rates)
        retry_unless_finite(s, end_rates, s.ny, PROJECTED)
    else:
        find_inputs(s, last, s.next)
    for j in range(lanes):
        projected[j] = 0
    if s.project != 0:
        project_ends(s)
    check_health(s)
    if s.events != 0:
        call(s.events, (last, s.next, s.inputs, s.parameters, s.at_end))
    if is_dense:
        prepare_dense(s)


@native
def retry_unless_finite(s, x, num_rows, needed):
    """Say RETRY of accepted steps where rows at an address are needed and not finite."""
    verdict, mask, condition = word(s, VERDICT), word(s, MASK), word(s, needed)
    is_finite(s, x, num_rows)
    for j in range(s.lanes):
        if verdict[j] == ACCEPTED and condition[j] != 0 and mask[j] == 0:
            verdict[j] = RETRY


@native
def project_ends(s):
    """Project the ends of accepted steps and find their rates where they are not known."""
    lanes, verdict, dense = s.lanes, word(s, VERDICT), word(s, DENSE)
    select, corrections, projected = word(s, SELECT), word(s, CORRECTIONS), word(s, PROJECTED)
    for j in range(lanes):
        select[j] = -1 if verdict[j] == ACCEPTED else 0
    project(s, real_at(s, LAST), s.next)
    is_needed = False
    for j in range(lanes):
        if verdict[j] == ACCEPTED:
            if corrections[j] < 0:
                verdict[j] = rules.PROJECTION_FAILED
            elif corrections[j] > 0 or dense[j] == 0:
                projected[j], is_needed = -1, True
                word(s, EVALUATIONS)[j] += 1
    if is_needed:
        evaluate(s, real_at(s, LAST), s.next, rates_at(s, PROJECTED_ROW))
        retry_unless_finite(s, rates_at(s, PROJECTED_ROW), s.ny, PROJECTED)


@native
def check_health(s):
    """Note health values below their floors; a step that ends far below is tried shorter.

    A fixed one is not taken.
    """
    verdict, unhealthy, healthy = word(s, VERDICT), word(s, UNHEALTHY), word(s, HEALTHY)
    for j in range(s.lanes):
        healthy[j] = -1
        if verdict[j] == ACCEPTED:
            unhealthy[j] = first_unhealthy(s, j)
    if s.num_health > 0:
        call(s.is_healthy, (s.health, s.near_floors, word_at(s, HEALTHY), s.num_health, 0))
    for j in range(s.lanes):
        if verdict[j] == ACCEPTED and healthy[j] == 0:
            if s.method == RK4:
                verdict[j], word(s, WHICH)[j] = rules.SINGULAR, unhealthy[j]
            elif is_long(s, j):
                verdict[j] = RETRY


@native
def prepare_dense(s):
    """Dense output of the steps into s.f; those where it is not finite are tried shorter."""
    if s.method == DOP853:
        dense, evaluations = word(s, DENSE), word(s, EVALUATIONS)
        for j in range(s.lanes):
            if word(s, VERDICT)[j] == ACCEPTED:
                evaluations[j] -= NUM_DENSE * dense[j]
        evaluate_stages(s, s.dense_stages, NUM_STAGES + 1, NUM_DENSE)
    call(s.dense, (s.y, s.end_state, real_at(s, H_TRY), s.k, s.f, s.ny, s.row))
    retry_unless_finite(s, s.f, NUM_DENSE_TERMS * s.ny, DENSE)
