"""Runs as modules in Node: laws, noise and changes of speeds, against the same runs in Python."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import noslip as ns
from noslip.kinematics import basis
from noslip.simulation.batches import portable
from noslip.web import live_run, module_files

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
PROGRAM = """import {open} from "./run.mjs";
const run = await open(), found = [];
for (const values of JSON.parse(process.argv[2])) {
  try {
    const {steps, rejections, changes, sentence, table, times} = run.simulate(values);
    found.push({steps, rejections, changes, sentence, table: [...table], times: [...times]});
  } catch (error) { found.push({error: error.message}); }
}
console.log(JSON.stringify(found));
"""


@pytest.fixture
def in_node(tmp_path):
    """Runs of a module with several values."""

    def run(live, *values):
        for suffix, data in zip(
            ("wasm", "mjs", "d.mts", "md"), module_files(live, "run"), strict=True
        ):
            (tmp_path / f"run.{suffix}").write_bytes(data)
        (tmp_path / "try.mjs").write_text(PROGRAM)
        command = ["node", "try.mjs", json.dumps(values or [{}])]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        found = json.loads(out.stdout)
        for each in found:
            if "table" in each:
                each["table"] = np.array(each["table"], float).reshape(len(each["times"]), -1)
        return found

    return run


def compare(live, found, columns, *, near, steps=None):
    """The samples of a run in Node are those of Python."""
    if steps is not None:
        assert (found["steps"], found["rejections"]) == steps
    for k, name in enumerate(live.choices):
        expected = np.asarray(columns[name])
        size = max(1.0, np.max(np.abs(expected)))
        assert np.max(np.abs(found["table"][:, k] - expected)) < near * size, name


@pytest.fixture(scope="module")
def sleigh():
    """A sleigh in speeds that say nothing where it heads north."""
    b = ns.ModelBuilder(name="sleigh", gravity=(0.0, 0.0, 0.0))
    b.parameter("m", 2.0, "kg")
    b.body("sleigh", mass="m", moment=0.3, center_of_mass=(0.2, 0.0, 0.0))
    b.joint("sleigh", ns.joints.Planar(), parent="world", child="sleigh")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sleigh", direction=(1.0, 0.0, 0.0)))
    east = "sleigh.vx*cos(sleigh.angle) - sleigh.vy*sin(sleigh.angle)"
    b.independent_speed("east", east, "m/s")
    b.independent_speed("sleigh.rate")
    return ns.compile(ns.derive(b.build()))


TURNING = {"sleigh.vx": 0.5, "sleigh.rate": 2.0}


def test_goes_on_in_the_speeds_in_which_python_does(in_node, sleigh):
    run = ns.simulate(sleigh, duration=5.0, start=TURNING, samples=301)
    live = live_run(run, knobs={"m": (1.0, 4.0)})
    assert len(live.portable.plan["bases"]) == 2
    settings = {"m": [2.0, 1.3, 3.7]}
    batch = ns.simulate_batch(
        sleigh,
        duration=5.0,
        start=TURNING,
        parameters=settings,
        samples=301,
        keep=["samples"],
        columns=list(live.choices),
    )
    assert batch.changed_speeds.all()
    found = in_node(live, *({"parameters": {"m": m}} for m in settings["m"]))
    for k, each in enumerate(found):
        assert each["changes"] >= 1 and each["sentence"] == ""
        steps = batch.steps[k], batch.rejections[k]
        compare(live, each, {n: x[k] for n, x in batch.samples.items()}, near=1e-12, steps=steps)


def test_says_which_speeds_are_missing(in_node, sleigh, monkeypatch):
    monkeypatch.setattr(portable, "MOST_BASES", 1)
    live = live_run(ns.simulate(sleigh, duration=5.0, start=TURNING))
    [found] = in_node(live)
    assert "sleigh.vx, sleigh.rate, which are not in this module" in found["sentence"]
    assert found["times"][-1] < 2.0


def test_chooses_as_python_does(in_node, sleigh, tmp_path, rng):
    """Rows and speeds of random matrices, with rows that repeat others."""
    cases, expected = [], []
    for k in range(120):
        rank, width = int(rng.integers(1, 4)), int(rng.integers(4, 7))
        more = k % 3
        A = rng.normal(size=(rank, width))
        A = np.vstack([A, rng.normal(size=(more, rank)) @ A])
        rows, kept = tuple(range(rank + more)), tuple(range(rank))
        dependent = tuple(sorted(rng.choice(width, rank, replace=False).tolist()))
        rule = {"rows": rows, "kept": kept, "dependent": dependent if k % 2 else None}
        rule |= {"holonomic": rows[:1] if k % 4 else (), "sameRows": k % 5 == 0}
        cases.append({"table": A.ravel().tolist(), "rule": rule | {"numSpeeds": width}})
        [choice] = basis.regular_bases(
            A[None],
            rows,
            kept,
            rule["dependent"],
            holonomic=rule["holonomic"],
            same_rows=rule["sameRows"],
        )
        expected.append(choice)
    in_node(live_run(ns.simulate(sleigh, duration=0.1, start=TURNING)))
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "choose.mjs").write_text("""import {regularBasis} from "./run.mjs";
import {readFileSync} from "node:fs";
const cases = JSON.parse(readFileSync("cases.json"));
console.log(JSON.stringify(cases.map(c => regularBasis(c.table, c.rule))));
""")
    out = subprocess.run(
        ["node", "choose.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for found, choice in zip(json.loads(out.stdout), expected, strict=True):
        assert tuple(found["rows"]) == choice.rows
        assert tuple(found["dependent"]) == choice.dependent
        assert found["rank"] == pytest.approx(choice.rank, rel=1e-9)


ALONG = {"timing": ns.timing.Trapezoidal(speed=0.6, acceleration=0.5), "duration": 6.0}
NOISE = (
    ns.Sensor(of="base.x", sigma=0.01),
    ns.Sensor(of="base.angle", sigma=0.01, delay=1, quantum=0.001),
)


@pytest.mark.parametrize(
    ("loop", "plant", "near"),
    [
        ("pose", {"mass": 25.0}, 1e-9),
        (ns.ControlLoop(controller="pose", period=0.05), None, 1e-12),
        (
            ns.ControlLoop(controller="pose", period=0.05),
            ns.Plant(sensors=NOISE, seed=5, parameters={"mass": 18.0}),
            1e-12,
        ),
    ],
    ids=["wrong mass", "sampled", "noise"],
)
def test_controllers_and_plants_with_noise(in_node, system_of, loop, plant, near):
    """A robot tracks a circle; then under another mass, as `plant` in Python."""
    system = system_of("differential-robot")
    given = {"controller": loop, "samples": 361, **ALONG}
    path = ns.paths.Circle(radius=1.5)
    run = ns.track(system, path, plant=plant, **given)
    live = live_run(run, knobs={"mass": (8.0, 30.0)})
    assert live.portable.plan["samples"] == 361
    first, heavy = in_node(live, {}, {"parameters": {"mass": 28.0}})
    compare(live, first, run, near=near, steps=(run.steps, run.rejections))
    if isinstance(plant, ns.Plant):
        other = ns.Plant(sensors=NOISE, seed=5, parameters={"mass": 28.0})
    else:
        other = {"mass": 28.0}
    wrong = ns.track(system, path, plant=other, **given)
    compare(live, heavy, wrong, near=near, steps=(wrong.steps, wrong.rejections))


def test_motion_of_a_scenario_under_wrong_masses(in_node, system_of):
    """The torques that the model's numbers ask for drive another platform."""
    system = system_of("agv")
    live = live_run(system, duration=10.0, knobs=["m_platform"])
    right, wrong = in_node(live, {}, {"parameters": {"m_platform": 2 * live.values["m_platform"]}})
    scenario = system.model.scenario
    motion = ns.motions.ExpressionMotion(
        coordinates=scenario.motion,
        definitions=scenario.definitions,
        parameters=scenario.parameters,
    )
    given = {"duration": 10.0, "samples": live.portable.plan["samples"]}
    given |= live.tolerances
    exact = ns.follow(system, motion, **given)
    compare(live, right, exact, near=1e-8)
    plant = {"m_platform": 2 * live.values["m_platform"]}
    other = ns.follow(system, motion, plant=plant, **given)
    compare(live, wrong, other, near=1e-8, steps=(other.steps, other.rejections))
    assert np.max(np.abs(other["platform.x"] - exact["platform.x"])) > 1e-3
    with pytest.raises(ns.SimulationError, match="law"):
        live_run(system, drive=[system.model.inputs[0].name])
