"""Named angles, their rates and named speeds in inputs, events, stops and columns."""

import numpy as np
import pytest

import noslip as ns
from noslip.simulation.expressions import named_values

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
DISK = {"disk.tilt": 1.2, "disk.yaw": 3.0, "disk.yaw_rate": 1.5, "disk.spin_rate": -9.0}
NAMES = [f"disk.{angle}{end}" for angle in ("yaw", "tilt", "spin") for end in ("", "_rate")]
RATE = 1.7
#: Angles that a sled reaches, before and after jumps of its quaternion's own angle.
PLACES = (1.0, np.pi, 4.0, 2 * np.pi, 9.0, 5 * np.pi)


@pytest.fixture(scope="module")
def sled():
    """A blade on two slides, its heading an angle of a quaternion; it rides circles evenly.

    The speed along x does not tell the motion where the blade points along y, so that every half
    turn the run goes on in other speeds.
    """
    b = ns.ModelBuilder("sled that turns", gravity=(0.0, 0.0, 0.0))
    b.body("link", mass=0.0, moment=0.0)
    b.body("plate", mass=0.0, moment=0.0)
    b.body("sled", mass=1.4, inertia=(0.1, 0.1, 0.12))
    b.joint("x", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="link")
    b.joint("y", ns.joints.Prismatic(axis=(0.0, 1.0, 0.0)), parent="link", child="plate")
    turning = ns.joints.Spherical(
        angles=ns.joints.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))
    )
    b.joint("sled", turning, parent="plate", child="sled")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.independent_speed("x.speed")
    for axis in "xyz":
        b.independent_speed(f"sled.w{axis}")
    return ns.compile(ns.derive(b.build()))


class TestAnglesGoOn:
    """In events an angle goes on after π, as its column does; in closed form, yaw = yaw₀ + ωt."""

    START = {"sled.yaw": 0.5, "sled.yaw_rate": RATE, "x.speed": 0.8}
    EVENTS = {f"at {place:.3g}": f"sled.yaw - {place!r}" for place in PLACES}

    @pytest.mark.slow
    def test_where_speeds_change(self, sled):
        run = ns.simulate(
            sled, duration=10.0, start=self.START, events=self.EVENTS, samples=41, **TIGHT
        )
        for name, place in zip(self.EVENTS, PLACES, strict=True):
            assert run.event_times[name] == pytest.approx([(place - 0.5) / RATE], abs=1e-10)
        assert run["sled.yaw"] == pytest.approx(0.5 + RATE * run.t, abs=1e-9)

    def test_where_speeds_change_in_a_batch(self, sled):
        rates = np.array([RATE, -1.1, 0.2, 0.9])
        starts = self.START | {"sled.yaw_rate": rates}
        events = self.EVENTS | {"back": "sled.yaw + 7"}
        batch = ns.simulate_batch(sled, duration=10.0, start=starts, events=events, **TIGHT)
        assert batch.changed_speeds.tolist() == [True, True, True, True]
        for name, place in [*zip(self.EVENTS, PLACES, strict=True), ("back", -7.0)]:
            times = (place - 0.5) / rates
            expected = np.where((times > 0.0) & (times < 10.0), times, np.nan)
            np.testing.assert_allclose(batch.event_times[name][:, 0], expected, atol=1e-10)
            assert batch.event_counts[name].tolist() == np.isfinite(expected).astype(int).tolist()

    @pytest.mark.slow
    def test_a_stop_after_two_turns(self, sled):
        stop = {"two turns": "sled.yaw - 0.5 - 4*pi"}
        run = ns.simulate(sled, duration=20.0, start=self.START, stop=stop, **TIGHT)
        assert run.t[-1] == pytest.approx(4 * np.pi / RATE, abs=1e-10)
        batch = ns.simulate_batch(sled, duration=20.0, start=self.START, stop=stop, **TIGHT)
        assert batch.t[0] == pytest.approx(4 * np.pi / RATE, abs=1e-10)

    @pytest.mark.parametrize("settings", [{}, {"method": "rk4", "step": 0.1}], ids=str)
    def test_one_that_starts_at_the_jump(self, sled, settings):
        start = self.START | {"sled.yaw": np.pi - 1e-3}
        run = ns.simulate(
            sled, duration=1.0, start=start, events={"a": "sled.yaw - pi", "b": "sled.yaw + pi"},
            **settings,
        )  # fmt: skip
        assert run.event_times["a"] == pytest.approx([1e-3 / RATE], abs=1e-8)
        assert run.event_times["b"].size == 0

    @pytest.mark.parametrize("rate", [RATE, -RATE])
    @pytest.mark.parametrize("yaw", [np.pi, -np.pi])
    def test_one_that_starts_on_the_jump(self, sled, yaw, rate):
        """It goes on from there to either side, as the column does."""
        start = {"sled.yaw": yaw, "sled.yaw_rate": rate, "x.speed": 0.8}
        turn = float(np.sign(rate))
        places = {"on": yaw + turn, "back": yaw - turn}
        events = {name: f"sled.yaw - ({place!r})" for name, place in places.items()}
        asked = {"duration": 1.0, "events": events, **TIGHT}
        run = ns.simulate(sled, start=start, **asked)
        batch = ns.simulate_batch(sled, start=start, **asked)
        assert run["sled.yaw"] == pytest.approx(yaw + rate * run.t, abs=1e-10)
        assert run.event_times["on"] == pytest.approx([1.0 / RATE], abs=1e-10)
        assert batch.event_times["on"][0, 0] == pytest.approx(1.0 / RATE, abs=1e-10)
        assert run.event_times["back"].size == batch.event_counts["back"][0] == 0

    @pytest.mark.slow
    def test_two_angles_of_a_wobbling_disk(self, disk):
        """Against the columns, whose turns are counted from many samples."""
        events = {"yaw": "disk.yaw - 2*pi", "spin": "disk.spin + 20", "sum": "disk.yaw + disk.spin"}
        run = ns.simulate(disk, duration=8.0, start=DISK, events=events, samples=8001, **TIGHT)
        batch = ns.simulate_batch(disk, duration=8.0, start=DISK, events=events, **TIGHT)
        yaw, spin = run["disk.yaw"], run["disk.spin"]
        values = {"yaw": yaw - 2 * np.pi, "spin": spin + 20, "sum": yaw + spin}
        for name, value in values.items():
            (k,) = np.flatnonzero(np.sign(value[1:]) != np.sign(value[:-1]))
            assert run.t[k] <= run.event_times[name][0] <= run.t[k + 1]
            assert run.event_times[name].size == batch.event_counts[name][0] == 1
            assert batch.event_times[name][0, 0] == pytest.approx(
                run.event_times[name][0], abs=1e-12
            )


@pytest.mark.slow
def test_an_event_by_an_angle_is_that_by_its_quaternion(disk, bicycle):
    """cos(tilt) = 1 − 2 (qx² + qy²) of the disk, sin(lean) = 2 (qw qx + qy qz) of the bicycle."""
    # between steps a quaternion has length 1 to the tolerance only, which cosines see
    events = {"a": "disk.tilt - 1.25", "b": "1 - 2*(disk.qx^2 + disk.qy^2) - cos(1.25)"}
    run = ns.simulate(disk, duration=3.0, start=DISK, events=events, **TIGHT)
    assert run.event_times["a"].size > 1
    assert run.event_times["a"] == pytest.approx(run.event_times["b"], abs=1e-12)
    start = {"speed": 3.0, "frame.wx": 0.5}
    stops = ("frame.lean^2 - 1", "4*(frame.qw*frame.qx + frame.qy*frame.qz)^2 - sin(1)^2")
    ends = [ns.simulate(bicycle, duration=3.0, start=start, stop={"fell": s}).t[-1] for s in stops]
    assert ends[0] == pytest.approx(ends[1], abs=1e-12) and ends[0] < 3.0


def test_an_event_by_a_named_speed_is_that_by_its_expression(bicycle):
    start = {"speed": 4.6, "frame.wx": 0.5}
    events = {"a": "speed - 4.61", "b": "0.3*rear_wheel.rate - 4.61", "c": "frame.lean_rate"}
    run = ns.simulate(bicycle, duration=2.0, start=start, events=events, **TIGHT, samples=2001)
    assert run.event_times["a"].size and run.event_times["c"].size
    assert run.event_times["a"] == pytest.approx(run.event_times["b"], abs=1e-12)
    # where a parabola through three samples about an extreme of the lean is highest or lowest
    lean, spacing = run["frame.lean"], run.t[1]
    k = np.flatnonzero(np.diff(np.sign(np.diff(lean)))) + 1
    bend = lean[k + 1] - 2.0 * lean[k] + lean[k - 1]
    turned = run.t[k] - spacing * (lean[k + 1] - lean[k - 1]) / (2.0 * bend)
    assert run.event_times["c"] == pytest.approx(turned, abs=1e-5)


@pytest.mark.slow
def test_an_input_by_names_is_that_by_coordinates(bicycle):
    """A rider who steers into the fall; the named angles need no definition."""
    start = {"speed": 3.0, "frame.wx": 0.2}
    lean = "asin(2*(frame.qw*frame.qx + frame.qy*frame.qz))"
    texts = (
        "5*frame.lean - 0.1*(speed - 3)",
        f"5*{lean} - 0.1*(0.3*rear_wheel.rate - 3)",
    )
    (name,) = [i.name for i in bicycle.model.inputs if "steer" in i.name]
    runs = [ns.simulate(bicycle, duration=1.0, start=start, inputs={name: t}) for t in texts]
    assert np.ptp(runs[0][name]) > 0.1
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-11)
    batch = ns.simulate_batch(
        bicycle, duration=1.0, start=start, inputs={name: texts[0]}, columns=["frame.lean"]
    )
    assert batch["frame.lean"][0] == pytest.approx(runs[0]["frame.lean"][-1], abs=1e-10)


class TestColumns:
    def test_of_a_batch_are_those_of_a_run(self, disk):
        asked = {"duration": 4.0, "samples": 41, **TIGHT}
        run = ns.simulate(disk, start=DISK, **asked)
        batch = ns.simulate_batch(disk, start=DISK, columns=NAMES, keep=["samples"], **asked)
        for name in NAMES:
            np.testing.assert_allclose(batch.samples[name][0], run[name], rtol=1e-9, atol=1e-10)
            unit = "rad/s" if name.endswith("_rate") else "rad"
            assert batch.units[name] == run.columns[name][0] == unit


def test_outputs_of_derivatives_know_them(bicycle):
    """By central differences of the column itself."""
    names = list(named_values(bicycle))
    assert names == [
        *("frame.yaw", "frame.yaw_rate", "frame.lean", "frame.lean_rate"),
        *("frame.pitch", "frame.pitch_rate", "speed"),
    ]
    slopes = ns.derivatives(bicycle, {name: name for name in names})
    begin = ns.complete_start(bicycle, {"speed": 4.0, "frame.lean": 0.2, "frame.lean_rate": 0.3})
    x = np.concatenate([begin.q, begin.eta, np.zeros(bicycle.num_states - begin.q.size - 3)])
    u, p = np.zeros(len(bicycle.inputs)), bicycle.parameters()
    found, h = slopes(0.0, x, u, p), 1e-6
    for k in range(begin.q.size + begin.eta.size):
        there, back = x.copy(), x.copy()
        there[k], back[k] = x[k] + h, x[k] - h
        change = (slopes(0.0, there, u, p).values - slopes(0.0, back, u, p).values) / (2 * h)
        np.testing.assert_allclose(found.by_state[:, k], change, atol=1e-8)


class TestDefinitionsThatHide:
    """A definition with a name that is taken would silently stand for something else."""

    TAKEN = (
        ("m", "a parameter, which it would hide", "give parameters={'m': …}"),
        ("disk.x", "a coordinate", "'disk_x_own'"),
        ("disk.wx", "a speed", "another name"),
        ("disk.tilt", "a named angle", "another name"),
        ("t", "time", "'t_own'"),
        ("pi", "a constant", "'pi_own'"),
    )

    @pytest.mark.parametrize(("name", "kind", "fix"), TAKEN)
    def test_are_refused(self, disk, refuses, name, kind, fix):
        calls = (
            lambda given: ns.simulate(disk, duration=1.0, definitions=given),
            lambda given: ns.simulate_batch(disk, duration=1.0, definitions=given),
            lambda given: ns.gradient(
                disk, duration=1.0, terminal="disk.z", with_respect_to=["r"], definitions=given
            ),
        )
        what = f"definition '{name}' has the name of {kind}"
        for call in calls:
            with refuses(ns.SimulationError, what, "definitions of model 'rolling-disk'", fix):
                call({name: "2"})

    def test_and_those_of_inputs_and_named_speeds(self, bicycle, refuses):
        for name, kind in (("speed", "a named speed"), (bicycle.model.inputs[0].name, "an input")):
            with refuses(ns.SimulationError, kind, "definitions", "another name"):
                ns.simulate(bicycle, duration=1.0, definitions={name: "2"})


class TestModelFiles:
    """What a scenario's stop may use, and names that cannot be told apart."""

    @staticmethod
    def blade(speed="ahead", stop=("blade.yaw^2 - 1", "ahead - 3", "blade.pitch_rate")):
        b = ns.ModelBuilder("blade in space", gravity=(0.0, 0.0, 0.0))
        b.parameter("m", 1.0, "kg")
        b.body("blade", mass="m", inertia=(0.1, 0.1, 0.2))
        angles = ns.joints.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))
        b.joint("blade", ns.joints.Free(angles=angles), parent="world", child="blade")
        b.independent_speed(speed, "2*blade.vx", "m/s")
        for name in ("wx", "wy", "wz", "vy", "vz"):
            b.independent_speed(f"blade.{name}")
        texts = {f"stop{k}": text for k, text in enumerate(stop)}
        start = {"blade.wz": 0.8, speed: 2.0}
        b.scenario(ns.Scenario(duration=3.0, start=start, stop=texts))
        return b.build()

    @pytest.mark.slow
    def test_a_stop_by_named_angles_and_speeds(self):
        run = ns.run_scenario(ns.compile(ns.derive(self.blade())))
        assert run.t[-1] == pytest.approx(1.0 / 0.8, abs=1e-9)
        assert "'stop0'" in run.message

    def test_a_stop_by_what_is_not_there(self):
        with pytest.raises(ns.ModelError, match=r"uses 'blade\.yav', a name that is not declared"):
            self.blade(stop=("blade.yav",))

    def test_a_speed_with_the_name_of_a_parameter(self):
        with pytest.raises(ns.ModelError, match="'m' has the name of a parameter or an input"):
            self.blade(speed="m")
