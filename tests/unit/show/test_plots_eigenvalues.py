"""Eigenvalues against a parameter: branches followed, numbers kept, ranges where nothing grows."""

import numpy as np
import pytest
from runs_to_plot import names_beside

import noslip as ns
from noslip.analysis.modes import behavior, followed, paired
from noslip.show.plots.plotting import stable_ranges

NO_VECTORS = np.zeros((0, 0, 0))


def branches_of(x, table):
    """(n, k) eigenvalues with each column one branch."""
    return np.take_along_axis(table, followed(x, table, NO_VECTORS), axis=1)


#: The benchmark bicycle [MeijaardPapadopoulosRuinaSchwab2007]: M q̈ + v C q̇ + (g K0 + v² K2) q = 0.
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
C = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
#: Weave and capsize speeds of the same paper, m/s.
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


def bicycle(speeds, rng):
    """(n, 4) eigenvalues in no order."""
    rows = []
    for v in speeds:
        K = 9.81 * K0 + v**2 * K2
        below = np.linalg.solve(M, np.hstack([-K, -v * C]))
        A = np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), below])
        rows.append(rng.permutation(np.linalg.eigvals(A)))
    return np.array(rows)


def test_all_eigenvalues_are_drawn(rng):
    speeds = np.linspace(0.0, 10.0, 101)
    table = bicycle(speeds, rng)
    figure = ns.plot_eigenvalues(speeds, table, parameter="speed", unit="m/s")
    real, imaginary = figure.axes
    drawn = np.array(
        [
            np.asarray(a.get_ydata()) + 1j * np.asarray(b.get_ydata())
            for a, b in zip(real.lines, imaginary.lines, strict=True)
        ]
    ).T
    np.testing.assert_array_equal(np.sort_complex(drawn), np.sort_complex(table))
    for ax in figure.axes:
        for line in ax.lines:
            np.testing.assert_array_equal(line.get_xdata(), speeds)
    assert real.get_ylabel() == "real part (1/s)"
    assert imaginary.get_ylabel() == "imaginary part (rad/s)"
    assert imaginary.get_xlabel() == "speed (m/s)"


def test_branches_are_followed_through_crossings(rng):
    x = np.linspace(-1.0, 1.0, 41)
    branches = np.column_stack([x + 0.3j, -x + 0.3j, 0.2 * x - 2j * x, np.full_like(x, -3.0)])
    shuffled = np.array([rng.permutation(row) for row in branches])
    found = branches_of(x, shuffled)
    order = [int(np.argmin(np.abs(branches[0] - start))) for start in found[0]]
    np.testing.assert_array_equal(found, branches[:, order])


@pytest.mark.parametrize("count", [6, 8, 11, 13, 17, 19, 22, 41, 71])
def test_a_zero_that_is_crossed_stays_zero_on_few_points(rng, count):
    """A bicycle's heading is free: one eigenvalue is zero, and the capsize mode passes it."""
    speeds = np.linspace(0.0, 10.0, count)
    table = np.column_stack([bicycle(speeds, rng), np.zeros(count)])
    found = branches_of(speeds, np.array([rng.permutation(row) for row in table]))
    (zero,) = [k for k in range(5) if not found[0, k]]
    assert not found[:, zero].any()
    # the castering mode is the most negative one all along
    others = np.delete(found, zero, axis=1)
    (castering,) = np.flatnonzero(others[-1].real == table[-1].real.min())
    np.testing.assert_array_equal(others[:, castering], table.real.min(axis=1))


def test_the_bicycle_is_stable_between_weave_and_capsize(rng):
    speeds = np.linspace(0.0, 10.0, 2001)
    table = bicycle(speeds, rng)
    ((low, high),) = stable_ranges(speeds, np.max(table.real, axis=1), 0.0)
    assert low == pytest.approx(WEAVE, abs=1e-5) and high == pytest.approx(CAPSIZE, abs=1e-5)
    figure = ns.plot_eigenvalues(speeds, table, parameter="speed", unit="m/s")
    for ax in figure.axes:
        (shade,) = ax.patches
        left, right = shade.get_x(), shade.get_x() + shade.get_width()
        assert (left, right) == pytest.approx((low, high), abs=1e-4)
    assert sorted(names_beside(figure.axes[0])) == [
        "monotone, decays",
        "monotone, grows above 6.02 m/s",
        "oscillates above ≈ 0.68 m/s, grows below 4.29 m/s",
        "stable: nothing grows",
    ]
    # in a column of a paper a long name is broken, and the legend as a whole is on it
    narrow = ns.plot_eigenvalues(
        speeds[::20], table[::20], parameter="speed", unit="m/s", size="column"
    )
    narrow.canvas.draw()
    box = narrow.axes[0].get_legend().get_window_extent()
    assert any("\n" in name for name in names_beside(narrow.axes[0]))
    assert box.x1 <= narrow.bbox.x1 and box.y1 <= narrow.bbox.y1


def test_conjugate_branches_are_one_mode_of_one_color(rng):
    speeds = np.linspace(0.0, 10.0, 101)
    figure = ns.plot_eigenvalues(speeds, bicycle(speeds, rng), parameter="speed", unit="m/s")
    real, imaginary = figure.axes
    turning = {line.get_color() for line in imaginary.lines if np.any(line.get_ydata())}
    assert len(turning) == 1 and len({line.get_color() for line in real.lines}) == 3
    named = dict(zip(names_beside(real), real.get_legend().get_lines(), strict=False))
    (weave,) = [line for name, line in named.items() if name.startswith("oscillates")]
    assert {weave.get_color()} == turning


def test_modes_are_named_by_what_they_do():
    x = np.linspace(0.0, 4.0, 5)
    pair = np.column_stack([x - 1.5 + 2j, x - 1.5 - 2j])
    # two real ones of which one grows, after a pair that decays
    root = np.sqrt((x - 1.2).astype(complex))
    parting = np.column_stack([root - 1, -root - 1])
    cases = [
        (pair, (1.5,), "oscillates, grows above 1.5 s"),
        (parting, (2.2,), "oscillates below ≈ 1.5 s, grows above 2.2 s"),
        (np.zeros((5, 1), complex), (), "neutral"),
        (np.full((5, 2), [1j, -1j]), (), "oscillates, neutral"),
        (-np.ones((5, 1), complex), (), "monotone, decays"),
        (
            np.array([-1, 1, 1, -1, -1], complex)[:, None],
            (),
            "monotone, grows from ≈ 0.5 to ≈ 2.5 s",
        ),
        (np.array([1, -1, 1, -1, 1], complex)[:, None], (), "monotone, grows in part"),
    ]
    for branches, ends, name in cases:
        assert behavior(x, branches, ends, 1e-9, "s") == name
    both = np.column_stack([pair, -np.ones(5), parting])
    assert paired(both, 1e-9) == [[0, 1], [2], [3, 4]]


def sweep():
    values = np.array([1.0, 2.0, 3.0])
    return ns.results.EigenvalueSweep(
        model="cart",
        name="cart.speed",
        unit="m/s",
        values=values,
        states=("cart.position", "cart.speed"),
        eigenvalues=np.column_stack([2 - values, -values]).astype(complex),
        growing=np.array([True, False, False]),
        limits=(2.0,),
    )


def test_a_sweep_is_drawn_as_it_is(tmp_path):
    figure = ns.plot(sweep(), save=tmp_path / "sweep.svg")
    assert figure.axes[1].get_xlabel() == "cart.speed (m/s)"
    (shade,) = figure.axes[0].patches
    assert (shade.get_x(), shade.get_width()) == (2.0, 1.0)
    np.testing.assert_array_equal(sorted(figure.axes[0].lines[0].get_ydata()), [-3, -2, -1])
    assert (tmp_path / "sweep.svg").exists()


def test_what_cannot_be_drawn(refuses):
    good = np.zeros((3, 2))
    cases = [
        (np.arange(3), np.zeros(3), "shape (3,)", "(n, k) eigenvalues"),
        (np.arange(2), good, "shape (2,)", "a row for each value"),
        (np.array([0.0, 2.0, 1.0]), good, "do not increase", "increasing order"),
        (np.arange(3), np.full((3, 2), np.nan), "not a finite number", "leave such values"),
    ]
    for values, table, what, fix in cases:
        with refuses(ns.SimulationError, what, "plot_eigenvalues", fix):
            ns.plot_eigenvalues(values, table, parameter="speed", unit="m/s")
    with refuses(ns.SimulationError, "there is no figure 'path' of a sweep", "'cart'", "what"):
        ns.plot(sweep(), "path")
