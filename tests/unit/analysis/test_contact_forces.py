"""Forces that equilibrium leaves open: their ranges and the best split, by hand and by search."""

import numpy as np
import pytest
from audited_cart import MOTION, B, E, G, H, M, R, cart, steady_circle, still
from scipy.optimize import linprog, minimize

import noslip as ns
from noslip.analysis import contact_forces
from noslip.analysis.audit import audit
from noslip.analysis.reactions import independent_directions, least_friction, split_ranges

ROUNDING = 1e-9
A = 0.5  # half wheelbase of the four-wheeled cart, m

FOUR = (("fr", A, -B), ("fl", A, B), ("rr", -A, -B), ("rl", -A, B))
SIX = (*FOUR, ("mr", 0.1, -B), ("ml", 0.1, B))


def four_wheels(**options):
    return cart(FOUR, (), joint_height=0.2, **options)


def test_four_wheels_share_their_loads_along_the_diagonals():
    """Of N₀ + z (1, −1, −1, 1) all loads are nonnegative: the lighter axle limits z."""
    system = four_wheels()
    found = audit(system, still(system))
    front, rear = M * G * (A + E) / (4 * A), M * G * (A - E) / (4 * A)
    for name in ("fr", "fl"):
        assert found[name].normal == pytest.approx(front, rel=ROUNDING)
        assert found[name].normal_range[0] == pytest.approx(
            [front - rear, front + rear], rel=ROUNDING
        )
    for name in ("rr", "rl"):
        assert found[name].normal == pytest.approx(rear, rel=ROUNDING)
        assert found[name].normal_range[0] == pytest.approx([0.0, 2 * rear], rel=ROUNDING)
    assert found["fr"].is_shared
    assert not found.lifts


def test_six_wheels_and_a_linear_program():
    """Loads of three axles, in a turn that is none: nothing but wheels that do not steer."""
    system = cart(SIX, (), joint_height=0.2)
    run = still(system, inputs={"torque_fr": 0.5, "torque_rl": 0.2})
    found = audit(system, run)
    forces = contact_forces(system, run)
    least = forces.least[0].ravel()
    U = independent_directions(forces.family)[0]
    # loads: not negative; side forces: not against their least-norm value
    sign = np.where(np.arange(18) % 3 == 2, 1.0, np.sign(least))
    bound = ~np.isclose(np.abs(U).max(axis=1), 0.0)
    ranges = np.array(
        [[w.longitudinal_range[0], w.lateral_range[0], w.normal_range[0]] for w in found.wheels]
    ).reshape(18, 2)
    assert np.sum(bound) == 12
    for k in np.flatnonzero(bound):
        for end, direction in ((0, 1.0), (1, -1.0)):
            best = linprog(
                direction * U[k],
                A_ub=-(sign[:, None] * U)[bound],
                b_ub=(sign * least)[bound],
                bounds=(None, None),
            )
            expected = least[k] + direction * best.fun
            assert ranges[k, end] == pytest.approx(expected, abs=1e-6 * M * G)


def test_loads_of_random_stands_and_a_linear_program(rng):
    """Loads on four to eight feet anywhere, some under a weight that no feet can carry."""
    outside = 0
    for trial in range(24):
        m = 4 + trial % 5
        balance = np.vstack([np.ones(m), rng.normal(size=(2, m))])
        loads = rng.random(m) * (rng.random(m) > 0.4) + (trial % 2) * rng.normal(size=m)
        inverse = np.linalg.pinv(balance)
        least = inverse @ balance @ loads
        directions = independent_directions((np.eye(m) - inverse @ balance)[None])
        ranges = split_ranges(least[None], directions, np.ones(m, dtype=bool))[0]
        for k in range(m):
            for end, sign in ((0, 1.0), (1, -1.0)):
                best = linprog(sign * np.eye(m)[k], A_eq=balance, b_eq=balance @ loads)
                if best.status == 2:
                    outside += 1
                    assert np.isnan(ranges[k, end])
                else:
                    assert ranges[k, end] == pytest.approx(sign * best.fun, abs=1e-7)
    assert outside > 0


def test_no_split_keeps_all_wheels_down_when_the_weight_is_outside():
    system = four_wheels(ahead=A + 0.1)
    found = audit(system, still(system))
    assert np.all(np.isnan(found["fl"].normal_range))
    assert np.all(np.isnan(found["fl"].demand_range))
    assert {lift.wheel for lift in found.lifts} == {"rr", "rl"}
    assert all(lift.is_certain for lift in found.lifts)
    rear = M * G * (A - (A + 0.1)) / (4 * A)
    assert found.lifts[0].excess == pytest.approx(-rear, rel=ROUNDING)
    assert found.verdict == "fails"


def test_a_ball_between_floor_and_ceiling_can_be_squeezed_at_will():
    b = ns.ModelBuilder(name="squeezed", gravity=(0.0, 0.0, -G))
    b.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ceiling = ns.contacts.Plane(
        frame=ns.Placement(position=(0.0, 0.0, 1.0), angles=(np.pi, 0.0, 0.0))
    )
    ball = ns.surfaces.Ball(radius=0.5)
    b.contact(ns.contacts.Rolling(name="floor", body="ball", wheel=ball))
    free = {"longitudinal": False, "lateral": False}
    b.contact(ns.contacts.Rolling(name="ceiling", body="ball", wheel=ball, plane=ceiling, **free))
    system = ns.compile(ns.derive(b.build()))
    found = audit(system, still(system, start={"ball.wz": 1.0}))
    assert found["floor"].normal_range[0] == pytest.approx([2 * G, np.inf])
    assert found["ceiling"].normal_range[0] == pytest.approx([0.0, np.inf])
    # the least-norm split would hang the ball from the ceiling, which no ceiling does
    assert found["ceiling"].normal[0] == pytest.approx(0.0, abs=ROUNDING)
    assert found["floor"].normal[0] == pytest.approx(2 * G, rel=ROUNDING)
    assert not found.lifts


def test_best_split_on_an_axle_needs_what_all_its_load_gives():
    """Side force Y on an axle that is not driven: no split needs less than Y over all its load."""
    system = cart(ahead=0.0, casters=(("caster", 0.8, 0.0),))
    speed, radius = 1.2, 2.0
    start = {"cart.vx": speed, "cart.rate": speed / radius}
    run = ns.simulate(system, duration=0.2, start=start, samples=5)
    found = audit(system, run)
    assert found.required == pytest.approx(speed**2 / radius / G, rel=MOTION)
    # equal halves ask more of the inner wheel, which has lost load
    lost = M * speed**2 / radius * H / (2 * B)
    half = M * speed**2 / radius / 2
    assert found["left"].demand == pytest.approx(half / (M * G / 2 - lost), rel=MOTION)


def test_best_split_on_a_driven_axle_is_where_both_wheels_need_the_same():
    system = cart()
    run = steady_circle(system, 1.4, 2.5)
    found = audit(system, run)
    right, left = found["right"], found["left"]
    Y = right.lateral[0] + left.lateral[0]

    def worst(y):
        return max(
            np.hypot(right.longitudinal[0], y) / right.normal[0],
            np.hypot(left.longitudinal[0], Y - y) / left.normal[0],
        )

    split = np.linspace(-Y, 2 * Y, 300_001)
    tried = min(worst(y) for y in split)
    assert found.required[0] == pytest.approx(tried, rel=1e-5)
    assert found.required[0] <= tried * (1 + 1e-9)


def test_best_split_of_loads_and_side_forces_and_a_direct_search(rng):
    """Four driven wheels that do not steer: two axles share side forces, all four their loads."""
    system = four_wheels()
    names = [name for name, _, _ in FOUR]
    for _ in range(3):
        inputs = {
            f"torque_{name}": float(x)
            for name, x in zip(names, 0.8 * rng.normal(size=4), strict=True)
        }
        run = still(system, inputs=inputs)
        forces = contact_forces(system, run)
        least, U = forces.least[0], independent_directions(forces.family)[0]
        assert U.shape[1] == 3

        def worst(zeta, least=least, U=U):
            f = least + (U @ zeta).reshape(4, 3)
            if np.min(f[:, 2]) <= 0:
                return 10.0 - np.min(f[:, 2])
            return float(np.max(np.hypot(f[:, 0], f[:, 1]) / f[:, 2]))

        tried = min(
            minimize(
                worst,
                rng.normal(size=3) * spread,
                method="Nelder-Mead",
                options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
            ).fun
            for spread in (0.0, 1.0, 5.0, 10.0, 10.0, 20.0)
        )
        found = audit(system, run).required[0]
        assert found == pytest.approx(tried, rel=1e-5)
        assert found <= tried * (1 + 1e-6)
        # and it lies within what the audit says of each wheel
        assert found <= max(w.demand[0] for w in audit(system, run).wheels)


def test_shared_side_force_that_moves_load():
    """A led base: its motor or its wheels push sideways, and only the wheels push at the ground."""
    b = ns.ModelBuilder(name="led", gravity=(0.0, 0.0, -G))
    height = 0.4
    b.body("cart", mass=M, inertia=(0.4, 0.7, 0.9))
    motion = {"x": "t^2", "y": "0", "angle": "0"}
    frame = ns.Placement(position=(0.0, 0.0, height))
    b.joint(
        "cart", ns.joints.Planar(), parent="world", child="cart", parent_frame=frame, motion=motion
    )
    ball = ns.surfaces.Ball(radius=R)
    free = {"longitudinal": False, "lateral": False}
    for name, x, y in (("one", -A, -B), ("two", -A, B)):
        at = (x, y, R - height)
        b.contact(ns.contacts.Rolling(name=name, body="cart", wheel=ball, center=at, **free))
    # a skid across the travel that stands ahead
    b.contact(
        ns.contacts.Rolling(
            name="skid",
            body="cart",
            wheel=ns.surfaces.Ball(radius=R),
            center=(A, 0.0, R - height),
            longitudinal=False,
        )
    )
    system = ns.compile(ns.derive(b.build()))
    run = still(system)
    forces = contact_forces(system, run)
    # the motor pushes at the mass center's height: it moves no load, as the wheels' push would
    assert forces.least[0, :, 2] == pytest.approx([M * G / 4, M * G / 4, M * G / 2], rel=ROUNDING)
    # with a side force Y of the skid (the motor holds −Y at the joint) roll is h Y over the track
    D = independent_directions(forces.family)[0][:, 0]
    D = (D / D[7]).reshape(3, 3)
    assert D[2] == pytest.approx([0.0, 1.0, 0.0], abs=ROUNDING)
    assert D[0, 2] == pytest.approx(height / (2 * B), rel=ROUNDING)
    assert D[1, 2] == pytest.approx(-height / (2 * B), rel=ROUNDING)


def test_groups_that_share_nothing_are_taken_apart():
    """Two axles, each with its own shared side force: the ranges of one do not see the other."""
    least = np.array([[0.0, 3.0, 0.0, 3.0, 0.0, -1.0, 0.0, -1.0]])
    family = np.zeros((1, 8, 2))
    family[0, 1, 0], family[0, 3, 0] = 1.0, -1.0
    family[0, 5, 1], family[0, 7, 1] = 1.0, -1.0
    directions = independent_directions(family @ np.array([[1.0, 2.0], [-3.0, 1.0]]))
    ranges = split_ranges(least, directions, np.zeros(8, dtype=bool))
    assert ranges[0, [1, 3]] == pytest.approx(np.array([[0.0, 6.0]] * 2), abs=ROUNDING)
    assert ranges[0, [5, 7]] == pytest.approx(np.array([[-2.0, 0.0]] * 2), abs=ROUNDING)
    assert ranges[0, [0, 2, 4, 6]] == pytest.approx(0.0)


def test_a_wheel_without_a_known_load_takes_its_neighbors_out():
    least = np.array([[[0.0, 1.0, np.nan], [0.0, 1.0, 5.0], [2.0, 0.0, 8.0]]])
    family = np.zeros((1, 9, 1))
    family[0, 1], family[0, 4] = 1.0, -1.0
    directions = independent_directions(family)
    wheels = np.ones(3, dtype=bool)
    assert least_friction(least, directions, wheels) == pytest.approx([0.25])
    # a blade takes the whole side force without friction
    blade = np.array([False, True, True])
    assert least_friction(least, directions, blade) == pytest.approx([0.25], rel=1e-6)
    alone = least_friction(least[:, :1], np.zeros((1, 3, 0)), np.ones(1, dtype=bool))
    assert np.isnan(alone[0])
