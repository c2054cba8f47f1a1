"""Splines over grids: one operation on every target, with exact derivatives, at any size."""

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline

from noslip.algebra import GridSpline, StepTable, grid_spline, step_table
from noslip.engines import Program, compile_native, compile_wide, trace_program
from noslip.engines.llvm import print_llvm, print_thread_functions
from noslip.engines.optimization import lower_lookups, optimize
from noslip.engines.program import interpret, interpret_rows
from noslip.engines.targets import known_targets

NOTHING = ca.SX(0, 1)
X = ca.SX.sym("x", 2)


def rough(rows: int, columns: int) -> GridSpline:
    """A spline through random heights, whose fifth derivative jumps at all borders of cells."""
    heights = np.random.default_rng(5).normal(size=(rows, columns))
    return grid_spline(heights, (-1.0, 2.0), 0.25)


def derivatives(h: ca.SX) -> ca.SX:
    """h, its gradient, second and third derivatives; by both modes of differentiation."""
    gradient = ca.gradient(h, X)
    second = ca.jacobian(gradient, X)
    third = ca.jtimes(ca.vec(second), X, ca.SX([0.3, -0.7]))
    reverse = ca.jtimes(second[0, 1], X, ca.SX(1), True)
    return ca.densify(ca.vertcat(h, gradient, ca.vec(second), third, reverse))


def program(spline: GridSpline) -> Program:
    output = derivatives(spline.traced(X[0], X[1]))
    return trace_program("f", [NOTHING, X, NOTHING, NOTHING], output)


def places(spline: GridSpline, count: int) -> np.ndarray:
    """Half of them on borders of cells, some beyond the grid."""
    rng = np.random.default_rng(6)
    nx, ny = spline.num_cells
    steps = rng.uniform(-1.5, 1.5, size=(count, 2)) + rng.integers(0, [nx, ny], size=(count, 2))
    steps[::2] = np.round(steps[::2])
    return np.array(spline.origin) + spline.step * steps


def expected(spline: GridSpline, x: float, y: float) -> list[float]:
    """The same derivatives from Taylor coefficients."""

    def h(i: int, j: int) -> float:
        return float(spline.evaluate(x, y, i, j) * [1, 1, 2, 6][i] * [1, 1, 2, 6][j])

    a, b = 0.3, -0.7
    third = [a * h(3 - k, k) + b * h(2 - k, k + 1) for k in (0, 1, 1, 2)]
    return [h(0, 0), h(1, 0), h(0, 1), h(2, 0), h(1, 1), h(1, 1), h(0, 2), *third, h(2, 1), h(1, 2)]


def test_it_goes_through_all_points_and_is_the_spline_of_scipy_within() -> None:
    heights = np.random.default_rng(1).normal(size=(9, 14))
    spline = grid_spline(heights, (0.5, -1.0), 0.5)
    x, y = 0.5 + 0.5 * np.arange(14), -1.0 + 0.5 * np.arange(9)
    assert spline.evaluate(x[None, :], y[:, None]) == pytest.approx(heights, abs=1e-13)
    # "not a knot" too: the knots of an interpolating spline of odd degree leave out two at each end
    other = RectBivariateSpline(x, y, heights.T, kx=5, ky=5, s=0)
    for i, j in ((0, 0), (1, 0), (1, 1), (2, 1)):
        wanted = other(1.37, 0.21, dx=i, dy=j)[0, 0] / [1, 1, 2][i]
        assert spline.evaluate(1.37, 0.21, i, j) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("word", ["interpreter", "native", "wide", "thread", "sympy"])
def test_derivatives_on_every_target(word) -> None:
    spline = rough(7, 8)
    function = known_targets()[word].compile(program(spline))
    for place in places(spline, 6):
        wanted = expected(spline, *place)
        # rounding of sums of 36 terms with weights up to step⁻³
        assert function([], place, [], []) == pytest.approx(wanted, rel=1e-12, abs=1e-11)


def test_casadi_and_lanes_give_the_same_on_a_large_grid() -> None:
    spline = rough(150, 300)
    given, traced = places(spline, 40), program(spline)
    wanted = interpret_rows(traced, np.zeros((40, 0)), given, np.zeros((40, 0)), np.zeros((40, 0)))
    symbolic = ca.Function("f", [X], [derivatives(spline.traced(X[0], X[1]))])
    assert np.array(symbolic.map(40)(given.T)).T == pytest.approx(wanted, rel=1e-12, abs=1e-10)
    nothing = np.zeros((40, 0))
    lanes = compile_wide([traced], 8)["f"].map(nothing, given, nothing, nothing)
    assert lanes == pytest.approx(wanted, rel=1e-12, abs=1e-10)
    lowered = lower_lookups(traced)
    single = interpret(lowered, [], given[3], [], [])
    assert single == pytest.approx(wanted[3], rel=1e-12, abs=1e-10)


def test_code_does_not_grow_with_the_grid() -> None:
    small, large = (optimize(program(rough(*size))) for size in ((6, 6), (200, 300)))
    assert small.num_operations == large.num_operations
    assert small.count() == large.count()
    for lanes in (1, 8):
        lengths = [len(print_llvm([p], lanes)) for p in (small, large)]
        # addresses and places behind the first entry have more digits
        assert lengths[1] - lengths[0] < 1000
    lengths = [len(print_thread_functions({"f": p})) for p in (small, large)]
    assert lengths[1] - lengths[0] < 1000


def test_a_program_holds_no_more_than_the_coefficients_needed() -> None:
    spline = rough(6, 6)
    h = spline.traced(X[0], X[1])
    traced = trace_program("f", [NOTHING, X, NOTHING, NOTHING], ca.vertcat(h, ca.gradient(h, X)))
    assert traced.count() == {"spline": 3}
    assert traced.tables == (spline,)


@pytest.mark.parametrize("place", [(np.nan, 2.5), (np.inf, np.nan), (-1e300, 1e300)])
def test_no_memory_beyond_the_table_is_read(place) -> None:
    """The cell is held within the grid; outside, the polynomials of the last cells go on."""
    function = compile_native([program(rough(6, 6))])["f"]
    assert not np.all(np.isfinite(function([], np.array(place), [], [])))
    near = rough(6, 6).evaluate(np.array([-1.0, -1.1]), np.array([2.0, 2.0]))
    assert np.all(np.isfinite(near))


def test_the_same_grid_is_the_same_spline() -> None:
    assert rough(6, 7) is rough(6, 7)
    assert rough(6, 7) is not rough(7, 6)


def steps(count: int) -> StepTable:
    """A table of random rows with unequal distances."""
    rng = np.random.default_rng(9)
    starts = np.cumsum(rng.uniform(0.1, 2.0, size=count)) - 3.0
    return step_table(starts.tolist(), rng.normal(size=(count, 3)))


P = ca.SX.sym("p")


def rows_of(table: StepTable) -> Program:
    """A quadratic whose coefficients are looked up, with two derivatives."""
    a, b, c = table.traced(P)
    y = (a * P + b) * P + c
    slope = ca.jacobian(y, P)
    output = ca.densify(ca.vertcat(y, slope, ca.jacobian(slope, P)))
    return trace_program("g", [NOTHING, P, NOTHING, NOTHING], output)


def in_steps(table: StepTable) -> list[float]:
    """Starts themselves, next to them, between, and beyond both ends."""
    starts = table.starts
    beside = [np.nextafter(starts, side) for side in (-np.inf, np.inf)]
    middle = (starts[1:] + starts[:-1]) / 2
    return np.concatenate([starts, *beside, middle, [-1e6, 1e6]]).tolist()


@pytest.mark.parametrize("word", ["interpreter", "native", "wide", "thread", "sympy"])
@pytest.mark.parametrize("count", [2, 5, 64, 65])
def test_rows_on_every_target(word, count) -> None:
    table = steps(count)
    function = known_targets()[word].compile(rows_of(table))
    given = in_steps(table)
    for p in given if word != "sympy" else given[:: max(1, len(given) // 8)]:
        k = max(0, int(np.sum(table.starts <= p)) - 1)
        a, b, c = table.rows[k]
        wanted = [(a * p + b) * p + c, 2 * a * p + b, 2 * a]
        assert function([], [p], [], []) == pytest.approx(wanted, rel=1e-14, abs=1e-300)


def test_rows_are_the_same_numbers_in_casadi_and_in_lanes() -> None:
    table = steps(1000)
    given = np.array(in_steps(table))
    found = ca.Function("row", [P], [ca.vertcat(*table.traced(P))])
    k = np.maximum(0, np.searchsorted(table.starts, given, side="right") - 1)
    assert np.array_equal(found(given[None, :]).full().T, table.rows[k])
    traced = trace_program("g", [NOTHING, P, NOTHING, NOTHING], ca.vertcat(*table.traced(P)))
    nothing = np.zeros((len(given), 0))
    lanes = compile_wide([traced], 8)["g"].map(nothing, given[:, None], nothing, nothing)
    assert np.array_equal(lanes, table.rows[k])


def test_rows_of_nan_are_the_first_and_code_grows_with_the_logarithm() -> None:
    table = steps(300)
    traced = trace_program("g", [NOTHING, P, NOTHING, NOTHING], ca.vertcat(*table.traced(P)))
    assert traced.count() == {"row": 3}
    native = compile_native([traced])["g"]
    assert native([], [np.nan], [], []) == pytest.approx(table.rows[0], rel=0, abs=0)
    sizes = []
    for count in (100, 10000):
        lookup = ca.vertcat(*steps(count).traced(P))
        sizes.append(optimize(trace_program("g", [NOTHING, P, NOTHING, NOTHING], lookup)))
    # seven more halvings, of a gather, a comparison, a sum and a choice
    assert sizes[1].num_operations - sizes[0].num_operations == 7 * 4
