"""Batches: the bits of a trajectory do not depend on what runs beside it; closed forms."""

import numpy as np
import pytest
from batch_runs import MANY, TIGHT, varied
from sleighs import sleigh

import noslip as ns


class TestBits:
    """To the last bit: other trajectories, their order and the number of threads do not matter."""

    EVERYTHING = {
        "duration": 1.5,
        "samples": 9,
        "keep": ["minimum", "maximum", "samples"],
        "columns": ["disk.x", "disk.tilt", "disk.wx", "kinetic_energy"],
        "events": {"level": "disk.wx"},
        "stop": {"far": "disk.x - reach"},
    }

    def run(self, disk, order, **kwargs):
        rng = np.random.default_rng(3)
        starts = {
            "disk.tilt": varied(rng, 1.3, 0.05, MANY),
            "disk.yaw": rng.uniform(-3, 3, MANY),
            "disk.spin_rate": varied(rng, -6.0, 0.3, MANY),
            "disk.tilt_rate": varied(rng, 0.3, 0.5, MANY),
        }
        masses, reach = varied(rng, 1.2, 0.1, MANY), rng.uniform(0.5, 4.0, MANY)
        return ns.simulate_batch(
            disk,
            start={n: v[order] for n, v in starts.items()},
            parameters={"m": masses[order]},
            definitions={"reach": reach[order]},
            **self.EVERYTHING,
            **kwargs,
        )

    @staticmethod
    def bits(batch, k):
        parts = [batch.t[k], batch.steps[k], batch.nfev[k], batch.rejections[k]]
        for table in (batch.final, batch.minimum, batch.maximum, batch.samples, batch.event_times):
            parts += [values[k] for values in table.values()]
        return [np.asarray(part).tobytes() for part in parts] + [batch.message(k)]

    @pytest.fixture
    def reference(self, disk):
        return self.run(disk, np.arange(MANY), threads=1)

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_order_and_threads(self, disk, reference, rng, threads):
        order = rng.permutation(MANY)
        batch = self.run(disk, order, threads=threads)
        assert {ending.name for ending in batch.endings} == {"FINISHED", "EVENT"}
        for place, k in enumerate(order):
            assert self.bits(batch, place) == self.bits(reference, k)

    @pytest.mark.parametrize("chosen", [[4], [30, 2], list(range(5, 14))], ids=len)
    def test_company(self, disk, reference, chosen):
        batch = self.run(disk, np.array(chosen))
        for place, k in enumerate(chosen):
            assert self.bits(batch, place) == self.bits(reference, k)

    def test_company_that_fails(self, system_of):
        """Neighbors that fall flat, change their speeds or meet what is not finite."""
        system = system_of("sleigh-on-slides")
        rates = np.array([1.5, 0.0, 1.2, -1.5, 0.2, 0.9, 1.1, 0.7, 2.0])
        speeds = np.array([-1.2, 1.0, 0.3, -1.2, 0.5, 0.1, -0.4, 2.0, 1e160])
        kwargs = {"duration": 3.0, "samples": 4, "keep": ["samples"]}
        batch = ns.simulate_batch(
            system, start={"x.speed": speeds, "heading.rate": rates}, threads=2, **kwargs
        )
        changed = batch.changed_speeds
        assert changed.any() and not changed.all() and not batch.success.all()
        for k in range(len(rates)):
            single = ns.simulate_batch(
                system,
                start={"x.speed": speeds[k : k + 1], "heading.rate": rates[k : k + 1]},
                **kwargs,
            )
            assert self.bits(single, 0) == self.bits(batch, k)


class TestClosedForm:
    def test_sleighs(self, system_of, rng):
        """Starts, parameters and samples of many sleighs against Chaplygin's solution."""
        speeds, rates = rng.uniform(-1.5, 1.5, 20), rng.uniform(0.3, 2.0, 20)
        masses = rng.uniform(1.0, 2.0, 20)
        batch = ns.simulate_batch(
            system_of("sleigh"),
            duration=3.0,
            start={"sled.vx": speeds, "sled.rate": rates},
            parameters={"m": masses},
            keep=["samples"],
            samples=13,
            **TIGHT,
        )
        for k in range(20):
            body = {"m": masses[k], "J": 0.12, "a": 0.3}
            speed, rate, heading = sleigh(
                batch.sample_times, **body, speed=speeds[k], rate=rates[k]
            )
            assert batch.samples["sled.vx"][k] == pytest.approx(speed, abs=1e-10)
            assert batch.samples["sled.rate"][k] == pytest.approx(rate, abs=1e-10)
            assert batch.samples["sled.angle"][k] == pytest.approx(heading, abs=1e-10)

    @pytest.mark.parametrize(
        "settings", [TIGHT, {"method": "rk4", "step": 1e-3}], ids=["dop853", "rk4"]
    )
    def test_sleighs_that_need_other_speeds(self, system_of, settings):
        """Those that turn through π/2 go on in other speeds."""
        rates = np.array([0.1, 1.5, 1.3, 0.05, 1.8])
        batch = ns.simulate_batch(
            system_of("sleigh-on-slides"),
            duration=6.0,
            start={"x.speed": -1.2, "heading.rate": rates},
            keep=["minimum", "maximum", "samples"],
            columns=["heading.angle", "heading.rate", "x.speed"],
            samples=61,
            events={"across": "cos(heading.angle)"},
            **settings,
        )
        assert batch.success.all()
        for k, rate in enumerate(rates):
            expected = sleigh(batch.sample_times, m=1.4, J=0.12, a=0.3, speed=-1.2, rate=rate)
            headings = batch.samples["heading.angle"][k]
            assert headings == pytest.approx(expected[2], abs=1e-8)
            assert batch.changed_speeds[k] == (expected[2][-1] > 1.3)
            assert batch.maximum["heading.angle"][k] == headings.max()
            assert batch.minimum["x.speed"][k] == batch.samples["x.speed"][k].min()
            crossings = batch.event_times["across"][k]
            assert batch.event_counts["across"][k] == int(expected[2][-1] > np.pi / 2)
            for time in crossings[~np.isnan(crossings)]:
                heading = sleigh(np.array([time]), m=1.4, J=0.12, a=0.3, speed=-1.2, rate=rate)[2]
                assert heading == pytest.approx(np.pi / 2, abs=1e-8)
