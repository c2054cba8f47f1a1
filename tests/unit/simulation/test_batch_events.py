"""Events of batches, and how their trajectories end."""

import numpy as np
import pytest
from batch_runs import COUNT, TIGHT, alone, varied

import noslip as ns


class TestEvents:
    def test_times_are_located_to_rounding(self, pendulum):
        """Events of time alone, at times known exactly, several in one step."""
        rate = np.linspace(5.0, 40.0, COUNT)
        batch = ns.simulate_batch(
            pendulum,
            duration=2.0,
            definitions={"rate": rate},
            events={"tick": "sin(rate*t)", "once": "t - 1.25", "again": "t - 1.25 - 1e-9"},
            max_events=6,
        )
        for k in range(COUNT):
            expected = np.pi / rate[k] * np.arange(1, 30)
            expected = expected[expected < 2.0]
            found = batch.event_times["tick"][k]
            assert batch.event_counts["tick"][k] == len(expected)
            kept = min(6, len(expected))
            assert found[:kept] == pytest.approx(expected[:kept], abs=1e-13)
            assert np.all(np.isnan(found[kept:]))
        assert batch.event_times["once"][:, 0] == pytest.approx(1.25, abs=1e-14)
        assert batch.event_times["again"][:, 0] == pytest.approx(1.25 + 1e-9, abs=1e-14)

    def test_the_first_that_stops_a_run_ends_it(self, pendulum):
        limit = np.linspace(0.31, 2.5, COUNT)
        batch = ns.simulate_batch(
            pendulum,
            duration=2.0,
            definitions={"limit": limit},
            events={"before": "t - limit/2", "after": "t - limit - 1e-3"},
            stop={"late": "t - limit - 0.5", "limit": "t - limit"},
            keep=["samples"],
            samples=41,
        )
        ends = limit < 2.0
        assert [e is ns.Ending.EVENT for e in batch.endings] == ends.tolist()
        assert batch.ended_by.tolist() == ["limit" if end else "" for end in ends]
        assert batch.t == pytest.approx(np.minimum(limit, 2.0), abs=1e-14)
        assert np.array_equal(batch.event_counts["after"], (limit + 1e-3 < 2.0) & ~ends)
        assert np.all(batch.event_counts["before"] == 1)
        angles = batch.samples["swing.angle"]
        for k in np.flatnonzero(ends):
            assert np.array_equal(~np.isnan(angles[k]), batch.sample_times < limit[k])
        assert batch.message(0) == "The run ended at an event 'limit'. (t = 0.31 s)"

    def test_states_cross_where_single_runs_say(self, pendulum, rng):
        starts = {"swing.angle": varied(rng, 0.8), "swing.rate": varied(rng, 1.0)}
        texts = {"rest": "swing.rate", "down": "swing.angle"}
        batch = ns.simulate_batch(
            pendulum, duration=3.0, start=starts, events=texts, columns=[], **TIGHT
        )
        for k in range(COUNT):
            run = alone(pendulum, k, starts=starts, duration=3.0, samples=2, events=texts, **TIGHT)
            for name in texts:
                expected = run.event_times[name]
                assert batch.event_counts[name][k] == len(expected)
                found = batch.event_times[name][k][: len(expected)]
                assert found == pytest.approx(expected, abs=1e-11)


class TestEndings:
    def test_steps_that_are_used_up(self, pendulum):
        batch = ns.simulate_batch(pendulum, duration=5.0, max_steps=3, max_step=0.01, count=2)
        assert all(ending is ns.Ending.MAX_STEPS for ending in batch.endings)
        assert batch.steps.tolist() == [3, 3]

    @pytest.mark.parametrize(
        "settings", [{}, {"method": "rk4", "step": 0.01}], ids=["dop853", "rk4"]
    )
    def test_what_is_not_finite_ends_a_run_alone(self, pendulum, settings):
        batch = ns.simulate_batch(
            pendulum,
            duration=2.0,
            inputs={"torque": "1/(t - pole)"},
            definitions={"pole": np.array([0.7, 5.0, 1.1])},
            **settings,
        )
        assert batch.endings[1] is ns.Ending.FINISHED
        if not settings:
            stuck = (ns.Ending.NON_FINITE, ns.Ending.STEP_TOO_SMALL)
            assert batch.endings[0] in stuck and batch.endings[2] in stuck
            assert batch.t[[0, 2]] == pytest.approx([0.7, 1.1], abs=1e-3)
