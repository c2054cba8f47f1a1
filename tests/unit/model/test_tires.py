"""Tires of spinning wheels against their closed forms, bristles, and motions by hand."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.model.forces import ROADS

M, R, MW, LOAD, V0 = 40.0, 0.3, 5.0, 500.0, 0.05
Y = (0.0, 1.0, 0.0)


def cart(tire, *, lean=0.0):
    """A wheel under a block that moves in the plane and turns about its wheel's axle only."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.body("block", mass=M, moment=3.0)
    b.joint("block", ns.joints.Planar(), parent="world", child="block")
    b.body("wheel", mass=MW, inertia=(0.1, 0.2, 0.1))
    height = R * math.cos(lean)
    frame = ns.Placement(position=(0.0, 0.0, height), angles=(-lean, 0.0, 0.0))
    b.joint("wheel", ns.joints.Revolute(axis=Y), parent="block", child="wheel", parent_frame=frame)
    b.force(tire)
    return ns.compile(ns.derive(b.build()))


def magic(**more):
    fields = {"name": "tire", "body": "wheel", "axis": Y, "radius": R, "load": LOAD, "v0": V0}
    return ns.forces.MagicTire(**fields, **more)


def forces(system, vx, vy, rate):
    """F_x, F_y at the contact and the moment on the wheel, from the accelerations."""
    state = {"block.vx": vx, "block.vy": vy, "wheel.rate": rate, "block.rate": 0.0}
    a = ns.evaluate(system, state).accelerations
    return (M + MW) * a["block.vx"], (M + MW) * a["block.vy"], 0.2 * a["wheel.rate"]


def slip(vx, vy, rate):
    scale = math.hypot(R * rate, V0)
    return -(vx - R * rate) / scale, -vy / scale


def formula(x, B, C, mu, E):
    """The magic formula as it is printed [Pacejka2012, eq. 4.49]."""
    return LOAD * mu * math.sin(C * math.atan(B * x - E * (B * x - math.atan(B * x))))


STATES = [
    (5.0, 0.0, 18.0),
    (5.0, 0.3, 5.0 / R),
    (5.0, -0.4, 19.0),
    (3.0, 1.0, 4.0),
    (0.0, 0.2, 1.0),
]


@pytest.mark.parametrize("road", ROADS)
def test_magic_formula_and_its_published_sets(road):
    system = cart(magic(road=road))
    for state in STATES:
        x, y = slip(*state)
        size = math.hypot(x, y)
        total = formula(size, *ROADS[road])
        fx, fy, moment = forces(system, *state)
        assert fx == pytest.approx(total * x / size, rel=1e-9, abs=1e-9)
        assert fy == pytest.approx(total * y / size, rel=1e-9, abs=1e-9)
        # the force ahead turns the wheel back
        assert moment == pytest.approx(-R * fx, rel=1e-9, abs=1e-9)


def test_forces_lie_on_the_friction_ellipse():
    system = cart(magic(B=8.0, C=1.6, E=0.5, friction=1.1, lateral_friction=0.8))
    for state in STATES:
        size = math.hypot(*slip(*state))
        fx, fy, _ = forces(system, *state)
        most = formula(size, 8.0, 1.6, 1.0, 0.5)
        assert (fx / (1.1 * most)) ** 2 + (fy / (0.8 * most)) ** 2 == pytest.approx(1.0, rel=1e-9)


def bristles(sigma, stiffness, mu, count=4000):
    """Force of bristles on a belt, each bent by the slip until the pressure cannot hold it.

    Contact from a to −a, pressure 3 F_z/(4a) (1 − (x/a)²), bristles of c per length with
    2 c a² = C; a bristle that came in at a is bent by (a − x) σ.
    """
    a = 0.07
    c = stiffness / (2 * a**2)
    x = a - (np.arange(count) + 0.5) * 2 * a / count
    held = mu * 3 * LOAD / (4 * a) * (1 - (x / a) ** 2)
    return float(np.sum(np.minimum(c * (a - x) * sigma, held)) * 2 * a / count)


@pytest.mark.parametrize("state", STATES)
def test_brush_tire_is_the_sum_of_its_bristles(state):
    fields = {"name": "tire", "body": "wheel", "axis": Y, "radius": R, "load": LOAD, "v0": V0}
    system = cart(ns.forces.BrushTire(stiffness=6000.0, friction=0.9, **fields))
    x, y = slip(*state)
    size = math.hypot(x, y)
    fx, fy, _ = forces(system, *state)
    # the midpoint rule with a kink: (1/4000)²
    assert math.hypot(fx, fy) == pytest.approx(bristles(size, 6000.0, 0.9), rel=1e-6)
    assert fy * x == pytest.approx(fx * y, rel=1e-9, abs=1e-9)


def test_small_slip_of_both_tires_has_the_same_slope():
    """B C μ F_z of the magic formula is C of the brush."""
    B, C, mu, _ = ROADS["dry"]
    fields = {"name": "tire", "body": "wheel", "axis": Y, "radius": R, "load": LOAD, "v0": V0}
    brush = cart(ns.forces.BrushTire(stiffness=B * C * mu * LOAD, **fields))
    state = (5.0, 1e-5, 5.0 / R)
    ours, theirs = forces(cart(magic()), *state), forces(brush, *state)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-4)


def test_rolling_resistance_stops_a_wheel_by_its_share_of_the_load():
    """In pure rolling at constant speed the ground pushes back with f F_z."""
    system = cart(magic(rolling_resistance=0.02))
    fx, _, moment = forces(system, 5.0, 0.0, 5.0 / R)
    assert fx == pytest.approx(0.0, abs=1e-9)
    assert moment == pytest.approx(-0.02 * LOAD * R, rel=1e-12)
    run = ns.simulate(system, duration=3.0, start={"block.vx": 3.0, "wheel.rate": 3.0 / R})
    # the wheel's spin goes with it: (M + I/r²) v̇ = −f F_z
    expected = 3.0 - 0.02 * LOAD / (M + MW + 0.2 / R**2) * run.t
    assert run["block.vx"] == pytest.approx(expected, abs=2e-3)
    assert run.success and run.energy_drift < 1e-7


def test_camber_thrust_pushes_to_the_side_the_wheel_leans_to():
    lean = 0.1  # the wheel's top to the left
    system = cart(magic(camber_stiffness=900.0), lean=lean)
    # at rest over the ground, without slip
    _, fy, _ = forces(system, 5.0, 0.0, 5.0 / R)
    assert fy == pytest.approx(900.0 * math.sin(lean), rel=1e-6)


def test_energy_is_only_lost_where_it_slides():
    system = cart(magic(road="ice"))
    run = ns.simulate(system, duration=2.0, start={"block.vx": 3.0, "block.vy": 1.0})
    energy = run["kinetic_energy"]
    assert run.energy_drift < 1e-7 and np.all(np.diff(energy) < 1e-9 * energy[0])
    assert energy[-1] < 0.98 * energy[0]


def test_a_wheel_part_on_a_road_has_such_a_tire():
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.part(ns.parts.Base(name="base", mass=12.0, size=(0.4, 0.3, 0.1), position=(0.0, 0.0, 0.2)))
    wheel = {"parent": "base", "position": (0.0, 0.0, 0.1), "radius": 0.1, "mass": 0.8}
    b.part(
        ns.parts.DrivenWheel(name="w", road="snow", load=120.0, rolling_resistance=0.01, **wheel)
    )
    model = b.build()
    (tire,) = [f for f in model.forces if isinstance(f, ns.forces.MagicTire)]
    assert (tire.name, tire.road, tire.load, tire.body) == ("w.tire", "snow", 120.0, "w")
    assert "w.slip_angle" in [d.name for d in model.definitions]
    assert ns.trace(model).num_independent_speeds == 4
    b = ns.ModelBuilder.from_model(model)
    b.part(ns.parts.FixedWheel(name="v", road="dry", **(wheel | {"position": (0.3, 0.0, 0.1)})))
    with pytest.raises(ns.ModelError, match="has a tire on a dry road and no load on it"):
        b.build()


def test_slip_of_a_relaxed_wheel_builds_up_over_both_lengths():
    """A wheel held at a slip: each part comes near it as exp(−s/σ), and the forces with them."""
    lengths = {"relaxation_length": 0.3, "lateral_relaxation_length": 0.5}
    model = cart(magic(**lengths)).model
    b = ns.ModelBuilder.from_model(model)
    for name in ("block.vx", "block.vy", "block.rate", "wheel.rate"):
        b.speed_input(name.replace(".", "_"), name)
    system = ns.compile(ns.derive(b.build()))
    state = (5.0, 0.3, 18.0)
    given = dict(zip(("block_vx", "block_vy", "wheel_rate"), state, strict=True))
    run = ns.simulate(system, duration=0.3, inputs=given, reactions=True, rtol=1e-12, atol=1e-13)
    way = math.hypot(R * state[2], V0) * run.t
    x, y = (s * (1 - np.exp(-way / n)) for s, n in zip(slip(*state), lengths.values(), strict=True))
    assert run["tire.longitudinal_slip"] == pytest.approx(x, abs=1e-11)
    assert run["tire.lateral_slip"] == pytest.approx(y, abs=1e-11)
    size = np.hypot(x[-1], y[-1])
    total = formula(size, *ROADS["dry"])
    # what holds the block's speed takes the tire's force
    assert run["reaction.block_vy"][-1] == pytest.approx(-total * y[-1] / size, rel=1e-8)


def test_a_relaxed_wheel_comes_to_the_same_force_as_one_without_delay():
    state = {"block.vx": 4.0, "block.vy": 0.2, "wheel.rate": 4.2 / R}
    plain = ns.evaluate(cart(magic()), state).accelerations
    x, y = slip(4.0, 0.2, 4.2 / R)
    full = state | {"tire.longitudinal_slip": x, "tire.lateral_slip": y}
    relaxed = ns.evaluate(cart(magic(relaxation_length=0.2)), full).accelerations
    assert relaxed == pytest.approx(plain, rel=1e-12)


def test_a_lateral_relaxation_length_alone_is_refused():
    with pytest.raises(ns.ModelError, match="across its heading and none along"):
        cart(magic(lateral_relaxation_length=0.2))


def test_what_belongs_to_a_tire_is_refused_on_a_wheel_without_slip():
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.part(ns.parts.Base(name="base", mass=12.0, size=(0.4, 0.3, 0.1), position=(0.0, 0.0, 0.2)))
    wheel = {"parent": "base", "position": (0.0, 0.0, 0.1), "radius": 0.1, "mass": 0.8}
    b.part(ns.parts.FixedWheel(name="w", relaxation_length=0.1, **wheel))
    with pytest.raises(ns.ModelError, match="has relaxation_length, which is its tire's"):
        b.build()
