"""Dependent speeds joint by joint, against all rows solved together."""

import casadi as ca
import numpy as np
import pytest
from chains import chain, train

import noslip as ns
from mechanisms import MECHANISMS
from noslip import NaturalComplement
from noslip.base.families import isolated
from noslip.formulations import complement
from noslip.kinematics import basis, dependent_speeds, trace

with isolated():
    from own_vehicle_members import Spike


@pytest.fixture
def found(monkeypatch):
    """Treat every mechanism as a long one, and note the eliminations found."""
    noted = []
    original = dependent_speeds.find_elimination

    def noting(*arguments):
        noted.append(original(*arguments))
        return noted[-1]

    monkeypatch.setattr(dependent_speeds, "find_elimination", noting)
    monkeypatch.setattr(basis, "LONGEST_DENSE", 0)
    monkeypatch.setattr(dependent_speeds, "MOST_TOGETHER", 0)
    return noted


def accelerations(kinematics, values):
    """v and v̇ of the solved equations, by the natural orthogonal complement."""
    equations = NaturalComplement().fill(kinematics)
    symbols = kinematics.symbols
    at = [symbols.t, equations.state, equations.inputs, symbols.params]
    f = ca.Function("f", at, [kinematics.v, equations.speed_rates])
    return [np.array(x).ravel() for x in f(*values)]


#: Models whose rows are solved together, whatever their size.
TOGETHER = {
    # independent speeds that are expressions
    *("lhd", "tricycle", "whipple-bicycle", "steered-arm"),
    # places of contacts on curved ground, and ground that moves
    *("ball-in-bowl", "ball-on-dish", "coin-in-funnel", "spherical-robot"),
    *("bicycle-on-hills", "vehicle-on-hills"),
    # general rows
    *("sleigh-by-row", "point-on-circle", "moving-rows", "ackermann-car", "truck-trailers"),
    # wheels on one shaft
    "crane",
    # planes that move
    *("ball-on-turntable", "ball-on-free-turntable", "ball-on-wobbling-table"),
    # joints that are led
    *("shaken-pendulum", "led-pendulum"),
    # loops
    *("four-bar", "slider-crank", "slider-crank-guide", "spatial-linkage", "door"),
    *("loop-closed-by-fixed", "loop-closed-by-revolute", "loop-closed-by-prismatic"),
    *("loop-closed-by-planar", "loop-closed-by-spherical"),
}

#: A single body that rolls: its rows are solved by where it rolls.
ALONE = ("ball-in-bowl", "ball-on-dish", "coin-in-funnel")

#: All others: trees, with wheels and blades on the ground.
JOINT_BY_JOINT = [name for name in (*ns.MODELS, *MECHANISMS) if name not in TOGETHER]


@pytest.mark.parametrize("name", JOINT_BY_JOINT)
def test_both_ways_give_the_same_motion(name, found, monkeypatch, rng):
    check_both(MECHANISMS[name]() if name in MECHANISMS else ns.load(name), found, monkeypatch, rng)


def check_both(model, found, monkeypatch, rng):
    eliminated = trace(model)
    assert found[-1] is not None
    names = tuple(s.name for s in eliminated.independent_speeds)
    monkeypatch.setattr(basis, "LONGEST_DENSE", 10**6)
    monkeypatch.setattr(dependent_speeds, "MOST_TOGETHER", 10**6)
    together = trace(model, independent=names)
    assert len(found) == 1
    t, q = together.probe.configurations(1)[0]
    eta = rng.normal(size=len(names))
    num_inputs = len(model.inputs) + 2 * len(model.speed_inputs)
    values = (t, np.concatenate([q, eta]), rng.normal(size=num_inputs), together.probe.params)
    ways = (accelerations(eliminated, values), accelerations(together, values))
    for one, other in zip(*ways, strict=True):
        assert one == pytest.approx(other, rel=1e-10, abs=1e-10 * max(1.0, np.abs(other).max()))


@pytest.mark.parametrize("name", sorted(TOGETHER))
def test_what_cannot_be_solved_joint_by_joint(name, found):
    model = MECHANISMS[name]() if name in MECHANISMS else ns.load(name)
    trace(model)
    # with expressions for independent speeds, or few bodies, it is not even tried
    is_tried = not any(speed.expression for speed in model.independent_speeds)
    is_tried = is_tried and name not in ALONE
    assert found == [None] * is_tried


def test_a_train_is_solved_from_its_tractor(found):
    kinematics = trace(train(5))
    assert [s.name for s in kinematics.independent_speeds] == ["tractor.vx", "tractor.rate"]
    assert [len(rows) for rows in found[-1].rows.values()] == [1] * 6


def spinning() -> ns.Model:
    """A ball that may not turn about the vertical, with a pendulum on it."""
    b = ns.ModelBuilder("spinning", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.body("bob", mass=0.2, inertia=(1e-3, 1e-3, 1e-3), center_of_mass=(0.0, 0.0, -0.1))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.joint("bob", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="ball", child="bob")
    b.contact(
        ns.contacts.Rolling(
            name="ground", body="ball", wheel=ns.surfaces.Ball(radius=0.1), spin=True
        )
    )
    return b.build()


def spiked() -> ns.Model:
    """A board that turns about a spike, a contact of another kind, with a pendulum on it."""
    b = ns.ModelBuilder("spiked", gravity=(0.0, 0.0, -9.81))
    b.body("board", mass=2.0, moment=0.3, center_of_mass=(0.2, 0.0, 0.0))
    b.body("bob", mass=0.2, inertia=(1e-3, 1e-3, 1e-3), center_of_mass=(0.0, 0.0, -0.1))
    b.joint("board", ns.joints.Planar(), parent="world", child="board")
    b.joint("bob", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="board", child="bob")
    with isolated():
        b.contact(Spike(name="spike", body="board", point=(0.1, 0.05, 0.0)))
        return b.build()


@pytest.mark.parametrize("model", [spinning, spiked])
def test_contacts_of_other_directions_and_kinds_give_the_same_motion(
    model, found, monkeypatch, rng
):
    check_both(model(), found, monkeypatch, rng)


@pytest.mark.slow
def test_second_wheels_of_axles_repeat_the_first(found, monkeypatch, rng):
    model = train(3, wheels=True)
    eliminated = trace(model)
    assert [s.name for s in eliminated.independent_speeds] == ["tractor.vx", "tractor.rate"]
    repeated = {eliminated.rows[r.row].name: r.follows_from for r in eliminated.redundant}
    laterals = {f"right{k}_rim.lateral": (f"left{k}_rim.lateral",) for k in range(4)}
    assert {name: follows for name, follows in repeated.items() if follows} == laterals
    names = tuple(s.name for s in eliminated.independent_speeds)
    monkeypatch.setattr(basis, "LONGEST_DENSE", 10**6)
    monkeypatch.setattr(dependent_speeds, "MOST_TOGETHER", 10**6)
    together = trace(model, independent=names)
    others = {together.rows[r.row].name: r.follows_from for r in together.redundant}
    assert others.keys() == repeated.keys()
    t, q = together.probe.configurations(1)[0]
    values = (t, np.concatenate([q, rng.normal(size=2)]), rng.normal(size=1), together.probe.params)
    for one, other in zip(
        accelerations(eliminated, values), accelerations(together, values), strict=True
    ):
        assert one == pytest.approx(other, rel=1e-10, abs=1e-10 * max(1.0, np.abs(other).max()))


class TestGrowth:
    """Operations of one right-hand side grow exactly with the number of bodies."""

    @staticmethod
    def operations(model):
        system = ns.System(equations=ns.derive(model))
        return system.program("rates", system.rates_expression).num_operations

    @pytest.mark.slow
    @pytest.mark.parametrize(("wheels", "sizes"), [(False, (48, 96, 144)), (True, (12, 20, 28))])
    def test_train(self, wheels, sizes):
        first, second, third = (self.operations(train(n, wheels=wheels)) for n in sizes)
        assert third - second == second - first

    @pytest.mark.slow
    def test_chain(self):
        first, second, third = (self.operations(chain(n)) for n in (16, 32, 48))
        assert third - second == second - first


@pytest.mark.parametrize("bodies", [3, 9])
def test_articulated_bodies_and_the_mass_matrix(bodies, monkeypatch, rng):
    monkeypatch.setattr(complement, "LONGEST_DENSE", 0)
    recursive = ns.derive(chain(bodies))
    assert recursive.solution.mass is None
    dense = ca.solve(recursive.reduced_mass, recursive.reduced_forces - recursive.reduced_bias)
    f = ca.Function(
        "f",
        [recursive.state, recursive.kinematics.symbols.params],
        [recursive.accelerations, dense],
    )
    one, other = (np.array(x).ravel() for x in f(rng.normal(size=2 * bodies), []))
    assert one == pytest.approx(other, rel=1e-10, abs=1e-10 * np.abs(other).max())


@pytest.mark.slow
def test_a_long_train_starts_and_keeps_its_rows():
    system = ns.compile(ns.derive(train(45)))
    assert system.kinematics.is_long
    start = {f"hitch{k}.angle": 0.3 * (-1) ** k for k in range(1, 46)}
    start |= {"tractor.vx": 1.0, "tractor.rate": 0.2}
    run = ns.simulate(system, duration=0.5, start=start, samples=5, rtol=1e-13, atol=1e-13)
    assert run.slip < 1e-12
    assert run.energy_drift < 1e-12


@pytest.mark.slow
def test_a_start_at_which_the_speeds_fail_is_carried_over(monkeypatch):
    """A straight train tells nothing of its speed by its hitches; v does, and other speeds."""
    monkeypatch.setattr(dependent_speeds, "MOST_TOGETHER", 10**6)
    equations = NaturalComplement().fill(
        trace(train(3), independent=("hitch2.rate", "hitch3.rate"))
    )
    system = ns.compile(equations)
    options = {"start": {"tractor.vx": 1.0}, "duration": 1.0, "samples": 3}
    run = ns.simulate(system, **options)
    assert run["tractor.x"] == pytest.approx([0.0, 0.5, 1.0], abs=1e-12)
