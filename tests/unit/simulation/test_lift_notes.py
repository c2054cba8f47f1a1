"""A contact that the ground would have to pull on is noted, by every run, whatever its samples.

A body on a plane that is pulled up by F(t) has the load N = m g − F(t): where it begins to be
negative is a closed form.
"""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main

M, G, PEAK, WIDTH, MIDDLE = 2.0, 9.81, 60.0, 0.004, 0.37
#: A short pull, and when its force exceeds the weight first, s.
PULL = f"{PEAK}*exp(-((t - {MIDDLE})/{WIDTH})^2)"
FIRST = MIDDLE - WIDTH * math.sqrt(math.log(PEAK / (M * G)))


def wheel(kind, lift):
    if kind == "rollers":
        return ns.contacts.RollerRolling(
            name="w", body="b", radius=0.1, axis=(0, 1, 0), roller_angle=0.8
        )
    surfaces = {
        "ball": ns.surfaces.Ball(radius=0.1),
        "disk": ns.surfaces.Disk(radius=0.1, axis=(0, 1, 0)),
        "torus": ns.surfaces.Torus(radius=0.07, tube_radius=0.03, axis=(0, 1, 0)),
        "ellipsoid": ns.surfaces.Ellipsoid(size=(0.2, 0.15, 0.1)),
    }
    return ns.contacts.Rolling(name="w", body="b", wheel=surfaces[kind], lift=lift)


def builder(kind="ball", lift="auto", gravity=G, pull="pull"):
    b = ns.ModelBuilder(name="pulled", gravity=(0, 0, -gravity))
    b.body("b", mass=M, inertia=(0.02, 0.03, 0.04))
    b.joint("b", ns.joints.Free(), parent="world", child="b")
    b.contact(wheel(kind, lift))
    if pull == "pull":
        b.input("pull", "N")
    b.force(ns.forces.Wrench(name="up", body="b", force=(0, 0, pull)))
    return b


def system(*options, **named):
    return ns.compile(ns.derive(builder(*options, **named).build()))


START = {"b.z": 0.1, "b.vx": 0.3}


def noted_time(notes, name="w"):
    (note,) = (n for n in notes if "would have to pull" in n)
    assert f"contact '{name}'" in note
    return float(note.partition("from t = ")[2].partition(" s on")[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ball", "disk", "torus", "ellipsoid", "rollers"])
def test_a_pull_between_two_samples_is_found(kind):
    """The event is located on the dense output; the note has six figures."""
    body = system(kind)
    for samples in (2, [0.0, 1.0], 11, 1001):
        run = ns.simulate(
            body, duration=1.0, start={"b.z": 0.1}, inputs={"pull": PULL}, samples=samples
        )
        assert run.success
        assert noted_time(run.notes) == pytest.approx(FIRST, rel=1e-5)
        assert run.notes == run.notes


def test_a_run_that_presses_has_no_note():
    body = system()
    still = ns.simulate(body, duration=1.0, start=START, inputs={"pull": 0.99 * M * G})
    assert not any("pull" in note for note in still.notes)
    # without any force the load is nothing but rounding
    nothing = system(gravity=0.0, pull=0.0)
    assert ns.simulate(nothing, duration=1.0, start=START).notes == ()


def test_lift_ends_notes_or_keeps():
    ends = ns.simulate(
        system(lift="end"), duration=1.0, start=START, inputs={"pull": PULL}, samples=3
    )
    assert ends.ended_by == "w lifts off" and ends.t[-1] == pytest.approx(FIRST, abs=1e-9)
    assert not any("would have to pull" in note for note in ends.notes)
    kept = ns.simulate(system(lift="keep"), duration=1.0, start=START, inputs={"pull": PULL})
    assert kept.success and not any("would have to pull" in note for note in kept.notes)


def test_a_start_that_pulls_is_noted_from_there():
    body = system()
    run = ns.simulate(body, duration=0.5, start=START, inputs={"pull": 3 * M * G}, start_time=2.0)
    assert noted_time(run.notes) == pytest.approx(2.0)
    assert f"{2 * M * G:.4g} N" in run.notes[-1]
    batch = ns.simulate_batch(body, duration=0.5, start=START, inputs={"pull": [3 * M * G, 0.0]})
    assert list(batch.lifts) == [0] and "from the start on" in batch.lifts[0]


def test_python_inputs_are_looked_at_in_samples_alone():
    calls = []

    def pull(t, q, v):
        calls.append(t)
        return 2 * M * G if t > 0.5 else 0.0

    run = ns.simulate(
        system(), duration=1.0, start=START, inputs={"pull": pull}, samples=11, max_step=0.02
    )
    number = len(calls)
    assert noted_time(run.notes) == pytest.approx(0.6)
    assert len(calls) == number  # what a function did once it need not do once more


def test_batches_note_the_first_trajectory_and_keep_it_out_of_pickles():
    body = system()
    middles = np.array([0.3, 0.6, 0.9])
    peaks = np.array([0.5, 3.0, 4.0]) * M * G
    batch = ns.simulate_batch(
        body,
        duration=1.0,
        start=START,
        inputs={"pull": f"peak*exp(-((t - middle)/{WIDTH})^2)"},
        definitions={"peak": peaks, "middle": middles},
    )
    sent = pickle.loads(pickle.dumps(batch))
    (note,) = batch.notes
    assert note.startswith("trajectory 1 and 1 more: ")
    assert note in batch.summary() and sent.notes == ()
    first = middles - WIDTH * np.sqrt(np.log(np.maximum(peaks / (M * G), 1.0)))
    assert list(batch.lifts) == [1, 2]
    for k, text in batch.lifts.items():
        assert noted_time([text]) == pytest.approx(first[k], rel=1e-5)
        assert text in batch.message(k)
    assert "pull" not in batch.message(0)


MODEL = f"""
format = 1
name = "pulled"
gravity = [0, 0, -{G}]
[bodies]
b = {{mass = {M}, inertia = [0.02, 0.03, 0.04]}}
[joints]
b = {{type = "free", parent = "world", child = "b"}}
[contacts]
w = {{type = "rolling", body = "b", wheel = {{type = "ball", radius = 0.1}}}}
[forces]
up = {{type = "wrench", body = "b", force = [0, 0, "{PULL}"]}}
[scenario]
duration = 1.0
samples = 5
start = {{"b.z" = 0.1, "b.vx" = 0.3}}
"""


@pytest.mark.slow
def test_scenarios_commands_and_json_note_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pulled.toml").write_text(MODEL)
    body = ns.compile(ns.derive(ns.load("pulled.toml")))
    run = ns.run_scenario(body)
    assert noted_time(run.notes) == pytest.approx(FIRST, rel=1e-5)
    result = CliRunner().invoke(
        main, ["run", "pulled.toml", "--no-plots", "--json", "-o", "out"], catch_exceptions=False
    )
    assert noted_time(json.loads(result.stdout)["notes"]) == pytest.approx(FIRST, rel=1e-5)
    assert "would have to pull" in Path("out/summary.txt").read_text()


FOUR = ((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))
THREE = ((0.4, 0.0), (-0.2, 0.2), (-0.2, -0.2))


def cart(places, at, lift="auto"):
    """A plate on balls under a planar joint, pulled up at a point: their loads are no rows."""
    b = ns.ModelBuilder(name="cart", gravity=(0, 0, -G))
    b.body("b", mass=M, inertia=(0.02, 0.03, 0.04))
    b.joint("b", ns.joints.Planar(), parent="world", child="b")
    for k, place in enumerate(places):
        ball = ns.surfaces.Ball(radius=0.1)
        free = dict.fromkeys(("longitudinal", "lateral"), False)
        center = (*place, 0.1)
        b.contact(
            ns.contacts.Rolling(
                name=f"w{k}", body="b", wheel=ball, center=center, lift=lift, **free
            )
        )
    b.input("pull", "N")
    b.force(ns.forces.Wrench(name="up", body="b", point=(*at, 0), force=(0, 0, "pull")))
    return ns.compile(ns.derive(b.build()))


@pytest.mark.parametrize(
    "places, at, share, lifted",
    [
        # the center of pressure −F r / (m g − F) leaves the rectangle; without the condition that
        # loads push, the split of springs would have one pull from m g / 3 on
        (FOUR, (0.3, 0.2), 1 / 2, ["w0", "w1", "w2"]),
        (FOUR, (0.3, 0.0), 1 / 2, ["w0", "w1"]),
        (THREE, (0.4, 0.0), 1 / 3, ["w0"]),
        (FOUR, (0.0, 0.0), 1.0, ["w0", "w1", "w2", "w3"]),
    ],
)
def test_wheels_under_a_planar_joint_are_noted_where_no_split_holds_them(places, at, share, lifted):
    body = cart(places, at)
    begins = MIDDLE - WIDTH * math.sqrt(math.log(PEAK / (share * M * G)))
    for samples in (2, 1001):
        run = ns.simulate(body, duration=1.0, inputs={"pull": PULL}, samples=samples)
        noted = {n.split("'")[1]: noted_time([n], n.split("'")[1]) for n in run.notes}
        assert list(noted) == lifted
        assert min(noted.values()) == pytest.approx(begins, rel=1e-5)
    # the audit shares the loads by another way, sample by sample
    audited = {lift.wheel for lift in ns.audit(body, run).lifts if lift.is_certain}
    assert audited == set(lifted)


@pytest.mark.slow
def test_supports_of_four_wheels_are_negative_where_the_audit_has_them_pull(rng):
    """The audit shares the loads by quadratic programs, sample by sample."""
    base = ns.load("mecanum-base")
    system = ns.compile(ns.derive(base))
    wheels = [c.name for c in base.contacts]
    torques = {i.name: f"{a}*t" for i, a in zip(base.inputs, rng.uniform(50, 250, 4), strict=True)}
    run = ns.simulate(
        system,
        duration=1.0,
        inputs=torques,
        samples=101,
        outputs={f"held.{w}": f"support.{w}" for w in wheels},
    )
    found = ns.audit(system, run)
    supports = np.array([run[f"held.{w}"] for w in wheels])
    loads = np.array([found[w].normal for w in wheels])
    pulls = loads < -found.rounding
    assert np.array_equal(supports < -found.rounding, pulls) and pulls.any() and not pulls.all()
    assert sum("would have to pull" in note for note in run.notes) == np.sum(pulls.any(axis=1))


def test_a_base_under_a_planar_joint_ends_where_it_is_asked_to():
    run = ns.simulate(
        cart(THREE, (0.4, 0.0), lift="end"), duration=1.0, inputs={"pull": PULL}, samples=3
    )
    begins = MIDDLE - WIDTH * math.sqrt(math.log(PEAK / (M * G / 3)))
    assert run.ended_by == "w0 lifts off" and run.t[-1] == pytest.approx(begins, abs=1e-9)
    kept = ns.simulate(cart(THREE, (0.4, 0.0), "keep"), duration=1.0, inputs={"pull": PULL})
    assert kept.notes == ()
    body = cart(THREE, (0.4, 0.0))
    tips = ns.simulate(body, duration=1.0, inputs={"pull": PULL}, stop={"tips": "support.w0"})
    assert tips.t[-1] == pytest.approx(begins, abs=1e-9)
    batch = ns.simulate_batch(body, duration=0.1, inputs={"pull": [0.0, 50.0]})
    assert list(batch.lifts) == [1]


def test_an_end_that_nobody_can_see_is_refused():
    """Two balls under a planar joint: statics leaves their loads open, and no wheel tips."""
    for places in (((0.2, 0.0), (-0.2, 0.0)), ((0.2, 0.0), (0.0, 0.0), (-0.2, 0.0))):
        body = cart(places, (0.4, 0.0), lift="end")
        for call, pull in ((ns.simulate, 0.0), (ns.simulate_batch, [0.0, 50.0])):
            with pytest.raises(ns.SimulationError, match="its normal force is not known") as error:
                call(body, duration=0.1, inputs={"pull": pull})
            (fault,) = error.value.faults
            assert "contact 'w0'" in fault.where and 'lift = "keep"' in fault.fix
    ns.simulate(cart(places, (0.4, 0.0)), duration=0.1)


@pytest.mark.parametrize(
    "pressed, first",
    [
        ("0.1 - 0.3*exp(-((t - 0.37)/0.0004)^2)", 0.37 - 0.0004 * math.sqrt(math.log(3))),
        # nothing of the motion feels it, and no step: what is an expression is enclosed
        (
            "-0.3*exp(-((t - 0.37)/0.00004)^2)",
            0.37 - 0.00004 * math.sqrt(math.log(0.3 / 1e-9)),
        ),
        ("sin(2*t)", math.pi / 2),
        (ns.Table(times=[0, 0.5, 0.51, 0.52, 2], values=[0.1, 0.1, -0.1, 0.1, 0.1]), 0.505),
        ("max(0, sin(40*t))", None),
    ],
)
def test_a_brake_that_is_negative_between_samples_is_noted_from_where_it_is(pressed, first):
    b = ns.ModelBuilder(name="braked", gravity=(0, 0, 0))
    b.body("w", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("w", ns.joints.Revolute(axis=(0, 1, 0)), parent="world", child="w")
    b.input("brake", "N*m")
    b.force(ns.forces.Brake(name="br", speed="w.rate", input="brake", smoothing=0.1))
    body = ns.compile(ns.derive(b.build()))
    for samples in (2, 5):
        start = {"w.rate": 2.0}
        run = ns.simulate(
            body, duration=2.0, start=start, inputs={"brake": pressed}, samples=samples
        )
        times = [float(n.split("t = ")[1].split()[0]) for n in run.notes]
        assert times == ([pytest.approx(first, rel=1e-5)] if first else [])
