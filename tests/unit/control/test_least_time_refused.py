"""What no motion can keep, or what cannot be asked for, is refused by `least_time`."""

import numpy as np
import pytest

from noslip import SimulationError
from noslip.control.least_time import least_time
from noslip.control.path_limits import LimitRows
from noslip.paths import Circle, Line, Sine
from noslip.timing import Limits

LINE = Line((0.0, 0.0), (3.0, 0.0))
SINE = Sine(amplitude=-1.0, wave_number=1.0, extent=12.0)


def rows_on_the_line(a, b, c, names=("motor",)):
    grid = np.linspace(0.0, 3.0, 4)
    columns = [np.array(x, dtype=float).reshape(-1, len(names)) for x in (a, b, c)]
    columns = [np.broadcast_to(x, (4, len(names))) for x in columns]
    return LimitRows(
        arc_lengths=grid, inertia=columns[0], squared=columns[1], constant=columns[2], names=names
    )


def test_limits_that_contradict_each_other(refuses):
    """Beyond 2 m one row demands u ≥ 1, another u ≤ −1."""
    late = np.array([0.0, 0.0, 1.0, 1.0])
    rows = rows_on_the_line(
        np.array([[-1.0, 1.0]] * 4), [0.0, 0.0], np.column_stack([2 * late - 1, 2 * late - 1]),
        ("at least", "at most"),
    )  # fmt: skip
    with refuses(SimulationError, "limits: at least and at most", "2.994, 2.994 m from the start"):
        least_time(LINE, Limits(rows=rows))


def test_start_speed_that_cannot_be_braked(refuses):
    with refuses(SimulationError, "allow from 0 to 2.19089 m/s", "0, 0 m from the start, (0, 0) m"):
        least_time(LINE, Limits(acceleration=0.8), start_speed=3.0)


def test_end_speed_above_the_limit(refuses):
    with refuses(SimulationError, "and the limits allow 2 m/s", "3, 3 m from the start, (3, 0) m"):
        least_time(LINE, Limits(acceleration=8.0, speed=2.0), end_speed=3.0)


def test_nothing_limits_the_acceleration(refuses):
    with refuses(SimulationError, "nothing limits the acceleration", "Limits"):
        Limits(speed=1.0)
    rows = rows_on_the_line([0.0], [1.0], [-1.0])
    with refuses(SimulationError, "nothing limits the acceleration", "Line at parameter 0"):
        least_time(LINE, Limits(rows=rows))


def test_no_way_out_of_rest(refuses):
    rows = rows_on_the_line([1.0], [0.0], [0.0])
    with refuses(SimulationError, "allow no motion away from rest", "Line at parameter 0", "loose"):
        least_time(LINE, Limits(acceleration=1.0, rows=rows))


def test_rows_of_another_path(refuses):
    rows = rows_on_the_line([1.0], [0.0], [-1.0])
    with refuses(SimulationError, "and the path is 6.28318531 m long", "fastest motion on Circle"):
        least_time(Circle(radius=1.0), Limits(rows=rows))


def test_rows_of_other_sizes(refuses):
    with refuses(SimulationError, "(4, 2) for 4 arc lengths and 2 names", "LimitRows(squared=…)"):
        LimitRows(
            arc_lengths=np.arange(4.0),
            inertia=np.ones((4, 2)),
            squared=np.ones((4, 1)),
            constant=np.ones((4, 2)),
            names=("one", "other"),
        )


def test_rows_that_do_not_rise(refuses):
    with refuses(SimulationError, "lengths do not rise from 0", "LimitRows(arc_lengths=…)", "sort"):
        one = np.ones((2, 1))
        LimitRows(arc_lengths=[0.0, 0.0], inertia=one, squared=one, constant=one, names=("motor",))


@pytest.mark.parametrize("options", [{"start_speed": -1.0}, {"count": 1}])
def test_options_that_make_no_sense(options, refuses):
    with refuses(SimulationError, "start_speed is", "least_time(path, limits, …)", "0 or more"):
        least_time(LINE, Limits(acceleration=1.0), **options)


def test_limits_that_are_not_positive(refuses):
    with refuses(SimulationError, "speed is 0, expected more than 0", "Limits", "positive"):
        Limits(speed=0.0, acceleration=1.0)


def test_excess_that_stays(refuses, monkeypatch):
    monkeypatch.setattr("noslip.control.least_time.TIGHTENING_ROUNDS", 0)
    with refuses(SimulationError, "limits are still exceeded between ", "fastest motion on Sine"):
        least_time(SINE, Limits(acceleration=0.8, lateral_acceleration=0.5), count=20)
