"""A S = 0, A s + a = 0 and A v̇ + Ȧ v + ȧ = 0 for all rows, redundant ones too; projection."""

import casadi as ca
import numpy as np
import pytest
from states import admissible_states, at, numeric

#: Rounding of solved rows, relative to the sizes that cancel.
ROUNDING = 1e-11


def size(*arrays):
    return max(1.0, *(float(np.max(np.abs(a), initial=0.0)) for a in arrays))


def test_freedom_basis_and_offset_satisfy_all_rows(equations, rng):
    kin = equations.kinematics
    f = numeric(equations, kin.A, kin.a, kin.S, kin.s)
    for state in admissible_states(equations, rng):
        A, a, S, s = at(f, state)
        assert np.max(np.abs(A @ S), initial=0) <= ROUNDING * size(A, S)
        assert np.max(np.abs(A @ s + a), initial=0) <= ROUNDING * size(A, s)


def test_independent_speeds_are_read_back_from_the_tree_speeds(equations, rng):
    kin = equations.kinematics
    f = numeric(equations, kin.E, kin.S, kin.s)
    for state in admissible_states(equations, rng):
        E, S, s = at(f, state)
        assert E @ S == pytest.approx(np.eye(len(state.eta)), abs=ROUNDING * size(E, S))
        assert E @ (S @ state.eta + s.ravel()) == pytest.approx(state.eta, abs=ROUNDING * size(S))


def test_rows_allow_the_speeds_that_newton_and_euler_allow(equations, newton_euler, rng):
    """The rows have the null space of the oracle's own rows, and the same moving part."""
    kin = equations.kinematics
    f = numeric(equations, kin.A, kin.a)
    for state in admissible_states(equations, rng):
        A, _ = at(f, state)
        motion = newton_euler.at(state)
        both = np.vstack([A, motion.constraint])
        ranks = [
            np.linalg.matrix_rank(m, tol=1e-8 * size(m)) if m.size else 0
            for m in (A, motion.constraint, both)
        ]
        assert ranks == [len(kin.row_basis)] * 3
        residual = motion.constraint @ state.v + motion.offset
        assert np.max(np.abs(residual), initial=0) <= ROUNDING * size(both, state.v)


def test_rows_stay_satisfied_along_the_motion(equations, rng):
    """The total rate of r(q, v, t, w) vanishes, with v̇ of the solved equations."""
    kin = equations.kinematics
    s = kin.symbols
    rows = ca.vertcat(*[row.velocity for row in kin.rows]) if kin.rows else ca.SX(0, 1)
    vdot = ca.SX.sym("vdot", kin.num_speeds)
    at_ = ca.vertcat(s.q, s.v, s.t, s.w)
    along = ca.vertcat(ca.mtimes(kin.N, s.v), vdot, 1, s.wdot)
    rate = ca.jtimes(rows, at_, along) if kin.rows else rows
    f = ca.Function("f", [s.t, s.q, s.v, vdot, s.w, s.wdot, s.params], [rate])
    solved = numeric(equations, equations.speed_rates)
    for x in admissible_states(equations, rng):
        (v_rate,) = at(solved, x)
        left = np.array(f(x.t, x.q, x.v, v_rate, x.w, x.wdot, x.params))
        assert np.max(np.abs(left), initial=0) <= ROUNDING * size(v_rate, x.v, np.square(x.v))


def test_position_rows_have_the_velocity_rows_as_rates(equations, rng):
    """ġ of (q, t) along q̇ = N v, by differences of order four, is A v + a."""
    kin = equations.kinematics
    s = kin.symbols
    g = ca.Function("g", [s.t, s.q, s.params], [kin.g])
    held = [k for k, row in enumerate(kin.rows) if row.is_holonomic]
    speeds = numeric(equations, kin.A, kin.a, ca.mtimes(kin.N, s.v), tree_speeds=True)
    for x in admissible_states(equations, rng):
        v = rng.normal(size=kin.num_speeds)
        A, a, qdot = (np.array(e) for e in speeds(x.t, x.q, v, x.u, x.w, x.wdot, x.params))
        h = 1e-3
        near = {
            k: np.array(g(x.t + k * h, x.q + k * h * qdot.ravel(), x.params)).ravel()
            for k in (-2, -1, 1, 2)
        }
        rate = (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * h)
        expected = (A @ v + a.ravel())[held]
        # the error of the differences is h⁴ ⁵ġ/30, with derivatives of g up to |v|⁵
        assert rate == pytest.approx(expected, abs=1e-8 * size(v) ** 5)


@pytest.mark.parametrize("distance", [0.0, 1e-3])
@pytest.mark.parametrize(
    "name", ["four-bar", "rolling-disk", "spatial-linkage", "ball-on-wobbling-table", "torus"]
)
def test_projection_ends_on_the_constraints_and_is_idempotent(system_of, name, distance, rng):
    system = system_of(name)
    kin = system.kinematics
    params = system.parameters()
    u = np.zeros(len(system.inputs))
    (t, q), *_ = kin.probe.configurations(1)
    eta = rng.normal(size=kin.num_independent_speeds)
    x = np.zeros(system.num_states)
    x[: len(q)] = q + distance * rng.normal(size=len(q))
    x[len(q) : len(q) + len(eta)] = eta
    for _ in range(4):
        x = system.projection(t, x, u, params)[:-1]
    again = system.projection(t, x, u, params)
    assert again[-1] <= 1e-14
    assert again[:-1] == pytest.approx(x, abs=1e-14)
    residuals = system.residuals(t, x, u, params)
    assert np.max(np.abs(residuals)) <= 1e-13 * size(eta)
