"""Batches: every trajectory is the run it would be alone, whatever runs beside it."""

import _thread
import signal
import threading

import casadi as ca
import numpy as np
import pytest
from sleighs import sleigh

import noslip as ns
from noslip.simulation.input_kinds import AbstractInputLaw, InputGenerator

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
#: A run alone and a run in a batch take the same steps; what differs is rounding and its growth.
SAME = {"rtol": 1e-9, "atol": 1e-9}
COUNT, MANY = 11, 37
QUATERNION = ("qw", "qx", "qy", "qz")


def varied(rng, nominal, share=0.05, count=COUNT):
    return nominal * (1.0 + share * rng.normal(size=count))


@pytest.fixture(scope="module")
def disk(system_of):
    return system_of("rolling-disk")


@pytest.fixture(scope="module")
def disk_starts():
    rng = np.random.default_rng(7)
    return {
        "disk.tilt": varied(rng, 1.3),
        "disk.yaw_rate": 0.3,
        "disk.tilt_rate": varied(rng, 0.1),
        "disk.spin_rate": varied(rng, -6.0, 0.2),
    }


@pytest.fixture(scope="module")
def pendulum(system_of):
    return system_of("pendulum")


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def one(values, k):
    """What trajectory k has of numbers that are shared or differ."""
    return {n: float(np.broadcast_to(v, COUNT)[k]) for n, v in (values or {}).items()}


def alone(system, k, *, starts=None, parameters=None, numbers=None, definitions=None, **kwargs):
    """The same trajectory by `simulate`."""
    texts = {n: repr(x) for n, x in one(numbers, k).items()} | (definitions or {})
    return ns.simulate(
        system,
        start=one(starts, k),
        parameters=one(parameters, k),
        definitions=texts,
        on_failure="return",
        **kwargs,
    )


def compare(batch, runs, names):
    """Samples, ends, endings and steps of a batch and of single runs."""
    for k, run in enumerate(runs):
        assert batch.endings[k] is run.ending
        assert batch.message(k) == run.message
        np.testing.assert_allclose(batch.t[k], run.t[-1], **SAME)
        assert (batch.steps[k], batch.rejections[k]) == (run.steps, run.rejections)
        count = len(run.t) - (run.ending is ns.Ending.EVENT)
        for name in names:
            np.testing.assert_allclose(batch.samples[name][k][:count], run[name][:count], **SAME)
            assert np.all(np.isnan(batch.samples[name][k][count:]))
            np.testing.assert_allclose(batch.final[name][k], run[name][-1], **SAME)


class TestSameAsAlone:
    """Second way: `simulate`, trajectory by trajectory, in scalar code."""

    @pytest.mark.parametrize(
        "settings", [{}, {"method": "rk4", "step": 0.01}], ids=["dop853", "rk4"]
    )
    def test_starts_and_parameters(self, disk, disk_starts, rng, settings):
        parameters = {"m": varied(rng, 1.2), "r": 0.4, "I_axial": varied(rng, 0.1)}
        names = [
            *("disk.x", "disk.tilt", "disk.wz", "acceleration.disk.wy", "kinetic_energy"),
            *("potential_energy", "work", "rim.contact_x", "residual.rim.lateral"),
        ]
        common = {"duration": 1.5, "samples": 16, **settings}
        batch = ns.simulate_batch(
            disk,
            starts=disk_starts,
            parameters=parameters,
            columns=names,
            keep=["samples"],
            **common,
        )
        runs = [
            alone(disk, k, starts=disk_starts, parameters=parameters, **common)
            for k in range(COUNT)
        ]
        compare(batch, runs, names)
        assert batch.units["disk.wz"] == "rad/s"

    @pytest.mark.parametrize(
        "name", ["agv", "heavy-body", "tricycle", "four-bar", "car", "steered-arm"]
    )
    def test_expressions_with_numbers_of_each_trajectory(self, system_of, rng, name):
        system = system_of(name)
        numbers = {"phase": rng.uniform(0, 3, COUNT), "size": rng.uniform(0.01, 0.05, COUNT)}
        definitions = {"angle": "2*t + phase"}
        inputs = {u.name: "size*sin(angle)" for u in system.model.inputs}
        inputs |= {w.name: "size*cos(angle)" for w in system.model.speed_inputs}
        starts = {s.name: 0.1 for s in system.independent_speeds}
        starts = {n: varied(rng, v) for n, v in starts.items() if n not in inputs}
        common = {"inputs": inputs, "duration": 1.0, "samples": 6}
        names = [q.name for q in (*system.coordinates, *system.speeds, *system.inputs)]
        batch = ns.simulate_batch(
            system,
            starts=starts,
            definitions={**numbers, **definitions},
            columns=names,
            keep=["samples"],
            **common,
        )
        runs = [
            alone(system, k, starts=starts, numbers=numbers, definitions=definitions, **common)
            for k in range(COUNT)
        ]
        compare(batch, runs, names)

    def test_constants_and_tables(self, pendulum, rng):
        torques = varied(rng, 0.5)
        batch = ns.simulate_batch(
            pendulum, duration=1.0, inputs={"torque": torques}, keep=["samples"], samples=5
        )
        runs = [
            alone(pendulum, k, duration=1.0, samples=5, inputs={"torque": torques[k]})
            for k in range(COUNT)
        ]
        compare(batch, runs, ["swing.angle", "swing.rate"])

    @pytest.mark.parametrize("kind", ["hold", "linear", "cubic"])
    @pytest.mark.parametrize("is_shared", [True, False])
    def test_tables(self, pendulum, rng, kind, is_shared):
        times = np.array([0.0, 0.2, 0.45, 0.7, 1.3])
        tables = [
            ns.Table(times=times + 0.01 * k, values=rng.normal(size=5), kind=kind)
            for k in range(1 if is_shared else COUNT)
        ]
        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.5, "samples": 7}
        batch = ns.simulate_batch(
            pendulum,
            starts=starts,
            inputs={"torque": tables[0] if is_shared else tables},
            keep=["samples"],
            columns=["swing.angle", "torque"],
            **common,
        )
        runs = [
            alone(
                pendulum,
                k,
                starts=starts,
                inputs={"torque": tables[0 if is_shared else k]},
                **common,
            )
            for k in range(COUNT)
        ]
        compare(batch, runs, ["swing.angle", "torque"])

    def test_casadi_functions(self, pendulum, rng):
        t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
        p = ca.SX.sym("p", len(pendulum.model.parameters))
        law = ca.Function("law", [t, q, v, p], [-0.5 * q - 0.1 * v + 0.1 * ca.sin(t) * p[1]])
        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.0, "samples": 5, "inputs": {"torque": law}}
        batch = ns.simulate_batch(pendulum, starts=starts, keep=["samples"], **common)
        runs = [alone(pendulum, k, starts=starts, **common) for k in range(COUNT)]
        compare(batch, runs, ["swing.angle", "swing.rate"])

    @pytest.mark.parametrize("period", [0.0, 0.05])
    def test_laws_with_states_of_their_own(self, pendulum, rng, period):
        class Integral(AbstractInputLaw):
            """Torque from the integral of the angle, in steps of a period or all the time."""

            def generator(self, system):
                z, gain = ca.SX.sym("z"), ca.SX.sym("gain")
                angle = system.kinematics.symbols.q[0]
                return InputGenerator(
                    inputs={"torque": -gain * z - 0.2 * angle},
                    states=z,
                    rates=ca.SX(0) if period else angle,
                    start=np.array([0.1]),
                    names=("memory",),
                    units=("rad*s",),
                    parameters=gain,
                    parameter_values=np.array([3.0]),
                    update=z + period * angle if period else None,
                    period=period,
                )

        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.02, "samples": 7, "inputs": Integral()}
        names = ["swing.angle", "memory", "torque"]
        batch = ns.simulate_batch(
            pendulum, starts=starts, keep=["samples"], columns=names, **common
        )
        runs = [alone(pendulum, k, starts=starts, **common) for k in range(COUNT)]
        compare(batch, runs, names)

    def test_start_time_and_first_steps(self, pendulum, rng):
        starts = {"swing.angle": varied(rng, 0.4)}
        common = {"duration": 1.0, "samples": 5, "start_time": 3.0, "max_step": 0.02, "step": 1e-4}
        common["inputs"] = {"torque": "sin(t)"}
        batch = ns.simulate_batch(pendulum, starts=starts, keep=["samples"], **common)
        runs = [alone(pendulum, k, starts=starts, **common) for k in range(COUNT)]
        compare(batch, runs, ["swing.angle"])
        assert batch.sample_times.tolist() == [3.0, 3.25, 3.5, 3.75, 4.0]

    @pytest.mark.parametrize("lanes", [1, 2, 4, 16])
    def test_any_number_of_lanes(self, disk, disk_starts, lanes):
        common = {"duration": 1.0, "starts": disk_starts, "keep": ["samples"], "samples": 5}
        wide = ns.simulate_batch(disk, lanes=8, **common)
        other = ns.simulate_batch(disk, lanes=lanes, **common)
        for name in wide.samples:
            np.testing.assert_allclose(other.samples[name], wide.samples[name], **SAME)

    def test_folded_parameters(self, disk_starts):
        system = ns.compile(ns.derive(ns.load("rolling-disk")), fold=True)
        kept = ns.compile(ns.derive(ns.load("rolling-disk")))
        one, other = (
            ns.simulate_batch(s, duration=1.0, starts=disk_starts) for s in (system, kept)
        )
        for name in one.final:
            np.testing.assert_allclose(one[name], other[name], **SAME)


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
            starts={n: v[order] for n, v in starts.items()},
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
            system, starts={"x.speed": speeds, "heading.rate": rates}, threads=2, **kwargs
        )
        assert batch.scalar.any() and not batch.scalar.all() and not batch.success.all()
        for k in range(len(rates)):
            single = ns.simulate_batch(
                system,
                starts={"x.speed": speeds[k : k + 1], "heading.rate": rates[k : k + 1]},
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
            starts={"sled.vx": speeds, "sled.rate": rates},
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
        """Those that turn through π/2 finish in scalar code, in other speeds."""
        rates = np.array([0.1, 1.5, 1.3, 0.05, 1.8])
        batch = ns.simulate_batch(
            system_of("sleigh-on-slides"),
            duration=6.0,
            starts={"x.speed": -1.2, "heading.rate": rates},
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
            assert batch.scalar[k] == (expected[2][-1] > 1.3)
            assert batch.maximum["heading.angle"][k] == headings.max()
            assert batch.minimum["x.speed"][k] == batch.samples["x.speed"][k].min()
            crossings = batch.event_times["across"][k]
            assert batch.event_counts["across"][k] == int(expected[2][-1] > np.pi / 2)
            for time in crossings[~np.isnan(crossings)]:
                heading = sleigh(np.array([time]), m=1.4, J=0.12, a=0.3, speed=-1.2, rate=rate)[2]
                assert heading == pytest.approx(np.pi / 2, abs=1e-8)


class TestKept:
    COMMON = {"duration": 2.0, "samples": 21, "columns": ["disk.x", "disk.tilt", "height"]}
    HEIGHT = {"height": "disk.z - 0.1*a"}

    def test_reductions_and_samples(self, disk, disk_starts):
        definitions = {"a": np.linspace(0, 1, COUNT), **self.HEIGHT}
        kwargs = {"starts": disk_starts, "definitions": definitions, **self.COMMON}
        full = ns.simulate_batch(disk, keep=["samples"], **kwargs)
        least = ns.simulate_batch(disk, keep=["minimum", "maximum"], **kwargs)
        final = ns.simulate_batch(disk, **kwargs)
        assert not least.samples and not final.minimum and not full.maximum
        for name in self.COMMON["columns"]:
            assert np.array_equal(least.minimum[name], full.samples[name].min(axis=1))
            assert np.array_equal(least.maximum[name], full.samples[name].max(axis=1))
            assert np.array_equal(final[name], full[name])
            # the end is a state, samples at the same time are projected from the dense output
            assert final[name] == pytest.approx(full.samples[name][:, -1], abs=1e-12)
        assert full.units == {"disk.x": "m", "disk.tilt": "rad", "height": ""}

    def test_samples_go_where_they_are_wanted(self, disk, disk_starts, tmp_path):
        out = np.memmap(tmp_path / "samples", dtype=float, mode="w+", shape=(COUNT, 21, 2))
        kwargs = {"duration": 1.0, "samples": 21, "columns": ["disk.x", "disk.y"]}
        batch = ns.simulate_batch(disk, starts=disk_starts, keep=["samples"], out=out, **kwargs)
        assert np.shares_memory(batch.samples["disk.y"], out)
        again = ns.simulate_batch(disk, starts=disk_starts, keep=["samples"], **kwargs)
        assert np.array_equal(out[:, :, 1], again.samples["disk.y"])

    def test_names_and_units_in_a_dataset(self, disk, disk_starts, tmp_path):
        batch = ns.simulate_batch(
            disk,
            duration=1.0,
            starts=disk_starts,
            parameters={"m": np.linspace(1, 2, COUNT)},
            columns=["disk.x"],
            keep=["minimum", "samples"],
            samples=3,
            events={"level": "disk.wx"},
        )
        path = tmp_path / "batch.nc"
        batch.to_netcdf(path)
        import xarray

        with xarray.open_dataset(path, engine="h5netcdf") as dataset:
            assert dataset["disk.x"].dims == ("trajectory", "time")
            assert dataset["disk.x"].attrs["units"] == "m"
            assert dataset["minimum.disk.x"].shape == (COUNT,)
            assert np.array_equal(dataset["final.disk.x"], batch["disk.x"])
            assert np.array_equal(dataset["parameter.m"], np.linspace(1, 2, COUNT))
            assert np.array_equal(dataset["start.disk.tilt"], disk_starts["disk.tilt"])
            assert dataset["event.level"].dims == ("trajectory", "occurrence")
            assert set(dataset["ending"].values.tolist()) == {"finished"}
            assert dataset.attrs["model"] == "rolling-disk"

    def test_summary(self, disk, disk_starts):
        batch = ns.simulate_batch(disk, duration=1.0, starts=disk_starts)
        assert f"{COUNT} trajectories: {COUNT} finished" in batch.summary()
        assert "Batch of 'rolling-disk'" in repr(batch)
        assert batch.count == COUNT and list(batch.varied) == [
            *("start.disk.tilt", "start.disk.tilt_rate", "start.disk.spin_rate")
        ]

    def test_all_coordinates_and_speeds_are_kept_by_default(self, disk):
        batch = ns.simulate_batch(disk, duration=0.5, starts={"disk.tilt": 1.0}, count=3)
        assert list(batch.final) == [q.name for q in (*disk.coordinates, *disk.speeds)]
        assert np.ptp(batch["disk.z"]) == 0.0 and batch.count == 3


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
            pendulum, duration=3.0, starts=starts, events=texts, columns=[], **TIGHT
        )
        for k in range(COUNT):
            run = alone(pendulum, k, starts=starts, duration=3.0, samples=2, events=texts, **TIGHT)
            for name in texts:
                expected = run.event_times[name]
                assert batch.event_counts[name][k] == len(expected)
                found = batch.event_times[name][k][: len(expected)]
                assert found == pytest.approx(expected, abs=1e-11)

    def test_long_steps_do_not_spoil_the_times(self, system_of):
        """At a tolerance where dense output is rougher than the steps, times stay near it."""
        system = system_of("sleigh")
        starts = {"sled.vx": -1.2, "sled.rate": np.linspace(1.0, 2.0, COUNT)}
        times = []
        for tolerance in (1e-6, 1e-13):
            batch = ns.simulate_batch(
                system,
                duration=4.0,
                starts=starts,
                events={"turned": "sled.angle - 1"},
                rtol=tolerance,
                atol=tolerance,
            )
            times.append(batch.event_times["turned"][:, 0])
        assert np.all(np.isfinite(times[1]))
        assert times[0] == pytest.approx(times[1], abs=1e-4)

    def test_rk4_finds_events_too(self, pendulum):
        batch = ns.simulate_batch(
            pendulum,
            duration=1.0,
            method="rk4",
            step=0.01,
            stop={"time": "t - at"},
            definitions={"at": np.linspace(0.2, 0.8, COUNT)},
        )
        assert batch.t == pytest.approx(np.linspace(0.2, 0.8, COUNT), abs=1e-14)


class TestEndings:
    def test_disks_that_fall_flat(self, disk):
        """A disk at rest falls; a fast one stays up. Both as single runs say."""
        starts = {"disk.tilt": np.array([1.0, 1.0, 1.4]), "disk.spin_rate": np.array([0, -20.0, 0])}
        batch = ns.simulate_batch(disk, duration=3.0, starts=starts)
        for k in range(3):
            run = ns.simulate(
                disk,
                duration=3.0,
                start={n: v[k] for n, v in starts.items()},
                on_failure="return",
            )
            assert batch.endings[k] is run.ending
            assert batch.message(k).split("(")[0] == run.message.split("(")[0]
            assert batch.t[k] == pytest.approx(run.t[-1] if run.success else batch.t[k], abs=1e-9)
        assert batch.endings[0] is ns.Ending.SINGULAR and batch.endings[1] is ns.Ending.FINISHED
        assert batch.success.tolist() == [False, True, False]

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


class TestWatched:
    LONG = {"duration": 1e6, "count": 40, "inputs": {"torque": "sin(3*t)"}}

    def test_progress_rises_to_one(self, pendulum):
        seen = []
        ns.simulate_batch(pendulum, duration=30.0, count=400, progress=seen.append)
        assert seen == sorted(seen) and seen[-1] == 1.0

    def test_cancelled_batch_keeps_what_was_computed(self, pendulum):
        cancel = threading.Event()
        timer = threading.Timer(0.3, cancel.set)
        timer.start()
        batch = ns.simulate_batch(pendulum, cancel=cancel, threads=2, **self.LONG)
        timer.join()
        assert all(ending is ns.Ending.CANCELLED for ending in batch.endings)
        begun = batch.t > 0.0
        assert 1 <= begun.sum() <= 40
        assert np.all(np.isfinite(batch["swing.angle"][begun]))
        assert "cancelled" in batch.message(0)

    @pytest.mark.usefixtures("ctrl_c")
    def test_ctrl_c_keeps_what_was_computed(self, pendulum):
        ns.simulate_batch(pendulum, duration=0.1)  # compiled before the clock runs
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        batch = ns.simulate_batch(pendulum, threads=2, **self.LONG)
        timer.join()
        assert all(ending is ns.Ending.CANCELLED for ending in batch.endings)
        assert np.all(batch.t < 1e6) and np.any(batch.t > 0.0)

    @pytest.mark.usefixtures("ctrl_c")
    def test_some_are_done_when_the_rest_is_cancelled(self, pendulum):
        cancel = threading.Event()
        batch = ns.simulate_batch(
            pendulum,
            duration=1e6,
            stop={"soon": "t - limit"},
            definitions={"limit": np.array([0.5, 1e7, 1e7, 0.7])},
            progress=lambda fraction: cancel.set() if fraction >= 0.5 else None,
            cancel=cancel,
        )
        names = [ending.name for ending in batch.endings]
        assert names == ["EVENT", "CANCELLED", "CANCELLED", "EVENT"]

    def test_an_error_in_progress_ends_the_batch(self, pendulum):
        def fail(fraction):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ns.simulate_batch(pendulum, progress=fail, **self.LONG)


class TestRefused:
    @pytest.mark.parametrize(
        ("kwargs", "what", "where", "fix"),
        [
            (
                {"starts": {"swing.angle": [0.1, 0.2]}, "parameters": {"m": [1, 2, 3]}},
                "the numbers of trajectories differ: start 'swing.angle': 2, parameter 'm': 3",
                "batch of model 'pendulum'",
                "as many as there are trajectories",
            ),
            (
                {"starts": {"swing.angel": [0.1, 0.2]}},
                "there is no coordinate, speed or angle 'swing.angel'",
                "start of model 'pendulum'",
                "did you mean 'swing.angle'",
            ),
            (
                {"inputs": {"torqe": 1.0}},
                "there is no input 'torqe'",
                "inputs of model 'pendulum'",
                "did you mean 'torque'",
            ),
            (
                {"inputs": {"torque": lambda t, q, v: 0.0}},
                "input 'torque' is a Python callable, which lanes cannot call",
                "batch of model 'pendulum'",
                "give numbers, an expression",
            ),
            (
                {"parameters": {"mm": [1.0, 2.0]}},
                "there is no parameter 'mm'",
                "model 'pendulum', parameters",
                "",
            ),
            (
                {"parameters": {"m": [1.0, 2.0, -3.0, 4.0]}},
                "mass",
                "trajectory 2",
                "",
            ),
            (
                {"starts": {"swing.angle": [0.1, np.nan]}},
                "start 'swing.angle' is nan for trajectory 1",
                "batch of model 'pendulum'",
                "give finite numbers",
            ),
            (
                {"starts": {"swing.angle": [[0.1], [0.2]]}},
                "start 'swing.angle' has the shape (2, 1)",
                "batch of model 'pendulum'",
                "one number for all trajectories",
            ),
            (
                {"inputs": {"torque": "sin(t) + what"}},
                "uses 'what', which is not known",
                "input 'torque'",
                "",
            ),
            (
                {"columns": ["swing.angel"]},
                "there is no column 'swing.angel'",
                "columns of a batch of model 'pendulum'",
                "did you mean 'swing.angle'",
            ),
            ({"keep": "final"}, "keep is 'final'", "batch of", "give a list: keep=['final']"),
            (
                {"keep": ["last"]},
                "there is nothing to keep as 'last'",
                "batch of model 'pendulum'",
                "known: 'final'",
            ),
            ({"lanes": 3}, "code of 3 lanes is asked for", "batch of", "1, 2, 4, 8, 16"),
            ({"threads": 0}, "threads is 0", "batch of model", "1 or more"),
            ({"max_events": 0.5}, "max_events is 0.5", "batch of model", "1 or more"),
            ({"count": 0}, "count is 0", "batch of model", "the number of trajectories"),
            (
                {"events": {"a": "t"}, "stop": {"a": "t - 1"}},
                "'a' both stops the run and is an event of it",
                "batch of model 'pendulum'",
                "give the two different names",
            ),
            ({"method": "euler"}, "there is no method 'euler'", "simulation of", "dop853"),
            ({"rtol": 0.0}, "the tolerances are", "simulation of", "positive"),
            (
                {"keep": ["samples"], "out": np.zeros((1, 2, 3))},
                "out has the shape (1, 2, 3)",
                "batch of model 'pendulum'",
                "with the shape (1, 201, 2)",
            ),
        ],
    )
    def test_arguments(self, pendulum, refuses, kwargs, what, where, fix):
        with refuses(ns.NoslipError, what, where, fix):
            ns.simulate_batch(pendulum, duration=1.0, **kwargs)

    def test_a_start_that_breaks_the_constraints_names_its_trajectory(self, disk, refuses):
        with refuses(ns.SimulationError, "", "trajectory 1", ""):
            ns.simulate_batch(
                disk,
                duration=1.0,
                starts={"disk.tilt": 1.0, "disk.z": [0.5 * np.sin(1.0), 5.0], "disk.yaw_rate": 0.0},
            )

    @pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
    def test_a_start_that_is_not_finite(self, system_of, refuses):
        zero = {f"pivot.{letter}": [1.0, 0.0] if letter == "qw" else 0.0 for letter in QUATERNION}
        with refuses(
            ns.SimulationError, "the start state is not finite", "trajectory 1", "configuration"
        ):
            ns.simulate_batch(system_of("heavy-body"), duration=1.0, starts=zero)

    def test_a_folded_parameter(self, refuses):
        system = ns.compile(ns.derive(ns.load("rolling-disk")), fold=["m"])
        with refuses(ns.SimulationError, "parameter 'm' is", "trajectory", "fold"):
            ns.simulate_batch(
                system, duration=1.0, starts={"disk.tilt": 1.0}, parameters={"m": [1.0, 2.0]}
            )

    def test_other_types(self):
        with pytest.raises(TypeError, match="simulate_batch takes a System, got Model"):
            ns.simulate_batch(ns.load("agv"), duration=1.0)

    def test_a_column_that_was_not_kept(self, pendulum, refuses):
        batch = ns.simulate_batch(pendulum, duration=0.1, columns=["swing.angle"])
        with refuses(
            ns.SimulationError, "there is no column 'swing.rate'", "batch of", "Name it in columns"
        ):
            _ = batch["swing.rate"]
