"""The Chaplygin sleigh, described in three ways, against its closed form."""

import numpy as np
import pytest
from sleighs import sleigh

import noslip as ns

BODY = {"m": 1.4, "J": 0.12, "a": 0.3}
#: It starts backwards, turns around through π/2 and ends forwards.
START = {"speed": -1.2, "rate": 1.5}
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def run_of(system_of, name, samples=241):
    if name == "sleigh-on-slides":
        start = {"x.speed": START["speed"], "heading.rate": START["rate"]}
    else:
        start = {"sled.vx": START["speed"], "sled.rate": START["rate"]}
    return ns.simulate(system_of(name), duration=6.0, start=start, samples=samples, **TIGHT)


@pytest.mark.parametrize("name", ["sleigh", "sleigh-by-row"])
def test_sleigh_moves_as_chaplygin_says(system_of, name):
    run = run_of(system_of, name)
    speed, rate, heading = sleigh(run.t, **BODY, **START)
    assert run["sled.vx"] == pytest.approx(speed, abs=1e-11)
    assert run["sled.rate"] == pytest.approx(rate, abs=1e-11)
    assert run["sled.angle"] == pytest.approx(heading, abs=1e-11)
    assert run["sled.vy"] == pytest.approx(0.0, abs=1e-15)
    assert heading[-1] > np.pi / 2
    assert run.energy_drift < 1e-11


@pytest.fixture
def slides_run(system_of):
    return run_of(system_of, "sleigh-on-slides")


def test_sleigh_on_slides_turns_through_where_its_speeds_degenerate(slides_run, system_of):
    """At heading π/2 the blade says nothing about one slide: other speeds must be taken."""
    expected = run_of(system_of, "sleigh")
    headings = slides_run["heading.angle"]
    assert headings[0] < np.pi / 2 < headings[-1]
    assert headings == pytest.approx(expected["sled.angle"], abs=1e-9)
    assert slides_run["x.position"] == pytest.approx(expected["sled.x"], abs=1e-9)
    assert slides_run["y.position"] == pytest.approx(expected["sled.y"], abs=1e-9)
    assert slides_run.energy_drift < 1e-9


def test_change_of_speeds_is_compiled_once(system_of):
    system = system_of("sleigh-on-slides")
    run_of(system_of, "sleigh-on-slides")
    relatives = dict(system._relatives)
    names = (("x.speed", "heading.rate"), ("y.speed", "heading.rate"))
    # contacts that slip, independent speeds, rows; and what has none of its own named
    assert set(relatives) == {((), (), ()), *(((), speeds, (0,)) for speeds in names)}
    assert relatives[(), names[0], (0,)] is relatives[(), (), ()] is system
    run_of(system_of, "sleigh-on-slides")
    assert system._relatives == relatives


def test_degenerate_speeds_do_not_spoil_the_accuracy(system_of):
    """At an ordinary tolerance, errors stay near it although the basis changes on the way."""
    start = {"x.speed": START["speed"], "heading.rate": START["rate"]}
    run = ns.simulate(
        system_of("sleigh-on-slides"), duration=6.0, start=start, samples=61, rtol=1e-8, atol=1e-8
    )
    _, _, heading = sleigh(run.t, **BODY, **START)
    assert run["heading.angle"] == pytest.approx(heading, abs=1e-6)
    assert run.energy_drift < 1e-6


def test_rk4_changes_its_speeds_too(system_of):
    start = {"x.speed": START["speed"], "heading.rate": START["rate"]}
    run = ns.simulate(
        system_of("sleigh-on-slides"),
        duration=6.0,
        start=start,
        samples=61,
        method="rk4",
        step=1e-3,
    )
    _, _, heading = sleigh(run.t, **BODY, **START)
    assert run["heading.angle"] == pytest.approx(heading, abs=1e-8)


def test_sideways_force_of_the_blade(system_of):
    """The blade holds m (a φ̈ + ṡ φ̇), the sideways acceleration of the mass center."""
    for name, row in (("sleigh", "blade.lateral"), ("sleigh-by-row", "blade")):
        run = ns.simulate(
            system_of(name),
            duration=2.0,
            start={"sled.vx": START["speed"], "sled.rate": START["rate"]},
            samples=21,
            reactions=True,
            **TIGHT,
        )
        speed, rate, _ = sleigh(run.t, **BODY, **START)
        b2 = BODY["a"] ** 2 + BODY["J"] / BODY["m"]
        rate_rate = -BODY["a"] * speed * rate / b2
        force = BODY["m"] * (BODY["a"] * rate_rate + speed * rate)
        assert run[f"reaction.{row}"] == pytest.approx(force, abs=1e-10)
