"""The audit of what slides by a law of its own: tires and elastic contacts, in every variant.

What a tire uses of its limit is compared with the closed forms of its law; where it slides, no part
of the audit says that it holds. A contact that nothing holds along the ground is never green.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main
from noslip.model.forces import ROADS
from noslip.show.report.sections import GROUND

LOAD, RADIUS, V0, G = 100.0, 0.1, 0.05, 9.81
_WHEEL = {"name": "tire", "body": "wheel", "axis": (0, 1, 0), "radius": RADIUS, "load": LOAD}


def magic(x, road):
    """Force over load of the magic formula at a slip, by its own words."""
    B, C, mu, E = ROADS[road]
    return mu * math.sin(C * math.atan(B * x - E * (B * x - math.atan(B * x))))


def magic_use(x, road):
    """The largest force up to a slip, over the largest one of all, by search."""
    slips = np.logspace(-4, 4, 4001)
    forces = np.array([magic(s, road) for s in slips])
    k = int(np.argmax(forces))
    return 1.0 if x >= slips[k] else magic(x, road) / forces[k]


def brush_use(x):
    theta = min(900.0 * x / (3 * 0.6 * LOAD), 1.0)
    return 3 * theta - 3 * theta**2 + theta**3


#: Tire → force over load and use of the limit, of a slip.
TIRES = {
    **{
        road: (
            ns.forces.MagicTire(**_WHEEL, road=road, v0=V0),
            lambda x, r=road: magic(x, r),
            lambda x, r=road: magic_use(x, r),
        )
        for road in ROADS
    },
    "brush": (
        ns.forces.BrushTire(**_WHEEL, stiffness=900.0, friction=0.6, v0=V0),
        lambda x: 0.6 * brush_use(x),
        brush_use,
    ),
}


def cart(*forces, along=False):
    """A body on a plane that stands on three points, one of them a wheel with these forces."""
    b = ns.ModelBuilder(name="cart", gravity=(0, 0, -G))
    b.body("cart", mass=3 * LOAD / G, inertia=(1, 1, 1))
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    b.body("wheel", mass=1e-9, inertia=(1.0, 1.0, 1.0))
    at = ns.Placement(position=(0.5, 0.0, RADIUS))
    b.joint(
        "wheel", ns.joints.Revolute(axis=(0, 1, 0)), parent="cart", child="wheel", parent_frame=at
    )
    disk = ns.surfaces.Disk(radius=RADIUS, axis=(0, 1, 0))
    hold = {"longitudinal": along, "lateral": along}
    b.contact(ns.contacts.Rolling(name="wheel", body="wheel", wheel=disk, **hold))
    for name, y in (("left", 0.4), ("right", -0.4)):
        ball, p = ns.surfaces.Ball(radius=RADIUS), (-0.25, y, RADIUS)
        b.contact(
            ns.contacts.Rolling(
                name=name, body="cart", wheel=ball, center=p, longitudinal=False, lateral=False
            )
        )
    for force in forces:
        b.force(force)
    return ns.compile(ns.derive(b.build()))


def spinning(slip, roll=2.0):
    """The state of a wheel that slides ahead with this slip, at a rolling speed in m/s."""
    return {"cart.vx": roll - slip * math.hypot(roll, V0), "wheel.rate": roll / RADIUS}


def audited(system, state, friction):
    run = ns.simulate(system, duration=1e-6, start=state, samples=2)
    return ns.audit(system, run, friction)


@pytest.mark.parametrize("name", TIRES)
def test_a_tire_is_judged_by_its_own_limit_and_by_the_ground(name):
    tire, force, use = TIRES[name]
    system = cart(tire)
    for slip in (0.01, 0.08, 0.3, 2.0):
        found = audited(system, spinning(slip), friction=2.0)
        wheel = found["wheel"]
        assert wheel.grip_from == "tire" and wheel.load_from == "cart"
        assert wheel.use[0] == pytest.approx(use(slip), rel=1e-3)  # the slips of the search
        assert wheel.longitudinal[0] == pytest.approx(LOAD * force(slip), rel=1e-9)
        assert wheel.slide[0] == pytest.approx(slip * math.hypot(2.0, V0), rel=1e-9)
        # the torque of the force tips the load: statics about the rear points
        assert wheel.demand[0] == pytest.approx(wheel.longitudinal[0] / wheel.normal[0], rel=1e-9)
        assert found.required[0] == pytest.approx(wheel.demand[0], rel=1e-9)
        slides = use(slip) >= 0.99
        assert found.verdict == ("fails" if slides else "holds")
        assert [f.wheel for f in found.slides] == (["wheel"] if slides else [])
        assert found.to_json()["verdict"] == found.verdict
        assert GROUND[found.verdict][0] == ("bad" if slides else "good")
        assert ("slides at" in found.text()) == slides
        # on ground that is smoother than the force asks for it fails, whatever its own limit
        assert audited(system, spinning(slip), 0.5 * wheel.demand[0]).verdict == "fails"


@pytest.mark.parametrize("name", TIRES)
def test_a_batch_judges_states_as_single_audits_do(name):
    system, slips = cart(TIRES[name][0]), np.array([0.005, 0.05, 0.2, 1.0, 4.0])
    states = [spinning(s) for s in slips]
    batch = ns.audit_batch(
        system, {k: [s[k] for s in states] for k in states[0]}, friction=[0.03, 0.3, 2, 2, 2]
    )
    for k, state in enumerate(states):
        found = audited(system, state, float(batch.friction[k]))
        assert batch.verdicts[k] == batch[k].verdict == found.verdict
        assert batch[k]["wheel"].use[0] == pytest.approx(found["wheel"].use[0], rel=1e-12)
    assert "fails" in batch.verdicts and "wheel.use" in batch.to_xarray()


def test_a_slide_fails_without_a_friction_coefficient():
    system = cart(TIRES["ice"][0])
    assert audited(system, spinning(3.0), None).verdict == "fails"
    assert audited(system, spinning(0.001), None).verdict == "unknown"


def test_tires_of_a_blade_have_a_maximum_or_are_named():
    for maximum, verdict in ((20.0, "fails"), (None, "unknown")):
        tire = ns.forces.Tire(
            name="keel", body="cart", direction=(1, 0, 0), stiffness=500.0, v0=0.1, maximum=maximum
        )
        found = audited(cart(tire, along=True), {"cart.vy": 1.0, "cart.vx": 1.0}, 50.0)
        alone = found["keel"]
        assert (alone.kind, alone.load_from) == ("sliding", "")
        assert found.verdict == verdict
        assert any("keel" in note and "load" in note for note in found.notes)
        assert any("no limit" in note for note in found.notes) == (maximum is None)


def test_elastic_contacts_slide_by_their_own_load():
    ball = ns.forces.ElasticContact(
        name="ball", body="cart", wheel=ns.surfaces.Ball(radius=0.2), center=(0, 0, 0.199),
        stiffness=1e4, friction=0.3, v0=0.01,
    )  # fmt: skip
    system = cart(ball, along=True)
    for speed, verdict in ((1.0, "fails"), (1e-3, "holds if shared")):
        found = audited(system, {"cart.vx": speed}, 0.5)
        use = speed / math.hypot(speed, 0.01)
        assert found["ball"].use[0] == pytest.approx(use, rel=1e-9)
        assert found["ball"].normal[0] == pytest.approx(10.0, rel=1e-9)  # 1 mm deep
        assert found["ball"].demand[0] == pytest.approx(0.3 * use, rel=1e-9)
        assert found.verdict in (verdict, "holds")


def test_what_nothing_holds_is_named_and_never_green():
    """Supports alone: no friction is asked for, because none is in the model."""
    system = cart()
    found = audited(system, {"cart.vx": 3.0}, 0.01)
    assert found.verdict == "unknown" and not found.judged and np.all(np.isnan(found.required))
    assert any("'wheel', 'left', 'right'" in note for note in found.notes)
    assert "no verdict" in found.text() and "friction demand      0" not in found.text()
    data = found.to_json()
    assert (data["required_friction"], data["headline"]) == (None, None)
    batch = ns.audit_batch(system, {"cart.vx": [3.0]}, friction=0.01)
    assert batch.verdicts.tolist() == ["unknown"]
    # beside wheels that rows hold, they are named
    held = audited(cart(along=True), {"cart.vx": 3.0}, 0.5)
    assert held.verdict == "holds" and any("'left', 'right'" in n for n in held.notes)


ICE = """
format = 1
name = "icy"
gravity = [0, 0, -9.81]
[parts]
base = {type = "base", mass = 500, size = [1.7, 0.95, 0.9], position = [0.6, 0, 0.6]}
left = {type = "fixed_wheel", parent = "base", position = [0, 0.4, 0.1], radius = 0.1, mass = 5, road = "ice", load = 1500}
right = {type = "fixed_wheel", parent = "base", position = [0, -0.4, 0.1], radius = 0.1, mass = 5, road = "ice", load = 1500}
front = {type = "steered_driven_wheel", parent = "base", position = [1.2, 0, 0.1], radius = 0.1, mass = 5, fork_mass = 5, steering = "rate", road = "ice", load = 2000}
[scenario]
duration = 4.0
path = "line:start=0,0;end=10,0"
timing = "trapezoidal:speed=3,acceleration=2"
"""  # noqa: E501


@pytest.mark.slow
def test_command_report_and_json_agree_on_a_vehicle_that_spins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("icy.toml").write_text(ICE)
    line = ("--path", "line:start=0,0;end=10,0", "--timing", "trapezoidal:speed=3,acceleration=2")
    for words in (("run", "icy.toml"), ("track", "icy.toml", *line)):
        options = ("--friction", "0.5", "-o", words[0], "--no-plots", "--json")
        result = CliRunner().invoke(main, [*words, *options])
        data = json.loads(result.stdout)
        assert result.exit_code == 1 and data["lost"]
        assert data["audit"]["verdict"] == "fails"
        assert data["audit"]["wheels"]["front"]["largest_slide"] > 0.5
        assert "fails" in Path(words[0], "summary.txt").read_text()
