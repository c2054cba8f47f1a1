"""Projection of states on the constraints by Newton's method."""

from __future__ import annotations

import numpy as np

from noslip.engines import Buffer, Value
from noslip.simulation.loop.rates import find_inputs
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.rules import (
    ASTRAY,
    MAX_PROJECTIONS,
    NON_FINITE,
    PROJECTION_FAILED,
    ROUNDING,
    SINGLE_ROUNDING,
    SURELY,
)


def project(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """Project x on the constraints with the inputs found; number of corrections.

    Or −PROJECTION_FAILED where they do not converge, −NON_FINITE where they are not finite.
    """
    if w.shape.is_period:
        return _correct(w, t, x)
    w.s.corrections = w.subroutine(newton, t, x)
    return w.s.corrections


def _correct(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """One step of Newton's method; the next fixed step corrects what it leaves."""
    f, nx = w.f, w.shape.nx
    w.call("project", t, x, w.inputs, w.newton)
    is_well = (w.newton[nx] <= ASTRAY) & w.all_finite(w.newton, nx)
    w.copy(w.newton, x, nx)
    return f.where(is_well, f.whole(1), -PROJECTION_FAILED)


def newton(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """Newton's method, at most MAX_PROJECTIONS steps of it."""
    f, s, nx = w.f, w.s, w.shape.nx
    limit = w.number("projection")
    s.largest, s.residual = f.real(1.0), f.real(np.inf)
    s.corrections = f.whole(0)
    for i in f.rows(nx):
        s.largest = f.most(s.largest, f.largest(f.abs(x[i])))
    with f.repeat() as loop:
        w.call("project", t, x, w.inputs, w.newton)
        residual, before = w.newton[nx], s.residual
        # Newton's method squares a small residual; one that no longer halves is the rounding of
        # large coordinates, such as the angle of a wheel after many turns
        share = SINGLE_ROUNDING if f.target.is_single else ROUNDING
        is_rounding = (before < 2.0 * residual) & (2.0 * residual <= share * s.largest)
        loop.leave((residual <= limit) | ((s.corrections > 2) & is_rounding))
        is_well = w.all_finite(w.newton, nx)
        s.corrections = f.where(is_well, s.corrections, -NON_FINITE)
        loop.leave(~is_well)
        w.copy(w.newton, x, nx)
        s.residual, s.corrections = residual, s.corrections + 1
        loop.leave(residual * residual <= SURELY * limit)
        is_vain = s.corrections >= MAX_PROJECTIONS
        s.corrections = f.where(is_vain, -PROJECTION_FAILED, s.corrections)
        loop.leave(is_vain)
    return s.corrections


def settle(w: LoopWriter, t: Value, y: Buffer) -> Value:
    """Project a reported state and find its inputs; as `project`."""
    f, s = w.f, w.s
    find_inputs(w, t, y)
    if not w.shape.has_projection:
        return f.whole(0)
    corrections = project(w, t, y)
    if w.shape.has_generator:
        with f.when(corrections > 0):
            find_inputs(w, t, y)
    return s.corrections
