"""Rows that were redundant at the nominal parameters, at others; speeds that change on the way."""

import numpy as np
import pytest

import noslip as ns
from noslip import SimulationError
from noslip.simulation import request, with_regular_rows
from noslip.simulation.request import row_parameters


@pytest.fixture(scope="module")
def cart():
    """Two wheels on one axle, as long as `offset` is zero."""
    b = ns.ModelBuilder("cart", gravity=(0.0, 0.0, -9.81))
    for name, value, unit in (("m", 2.0, "kg"), ("r", 0.1, "m"), ("offset", 0.0, "m")):
        b.parameter(name, value, unit)
    b.body("platform", mass="m", inertia=(1.0, 1.0, 1.0))
    b.joint("platform", ns.joints.Planar(), parent="world", child="platform")
    for k, y in ((1, 0.3), (2, -0.3)):
        b.body(f"wheel{k}", mass=0.5, inertia=(0.01, 0.02, 0.01))
        at = ns.Placement(position=("offset" if k == 2 else 0.0, y, "r"))
        hinge = ns.joints.Revolute(axis=(0.0, 1.0, 0.0))
        b.joint(f"wheel{k}", hinge, parent="platform", child=f"wheel{k}", parent_frame=at)
        wheel = ns.surfaces.Disk(radius="r", axis=(0.0, 1.0, 0.0))
        b.contact(ns.contacts.Rolling(name=f"wheel{k}", body=f"wheel{k}", wheel=wheel))
    return ns.compile(ns.derive(b.build()))


def _check(system, **changed):
    with_regular_rows(system, system.parameters(changed), changed)


def test_only_parameters_of_the_rows_are_looked_at(cart):
    names = [cart.model.parameters[k].name for k in row_parameters(cart)]
    assert "m" not in names and {"r", "offset"} <= set(names)


def test_a_grid_of_radii_is_looked_at_once(cart, monkeypatch):
    """However many masses it is crossed with; 40 radii in turn were forgotten one by one."""
    looked = []
    inner = request._with_regular_rows
    monkeypatch.setattr(request, "_with_regular_rows", lambda *x: looked.append(x) or inner(*x))
    for mass in (1.0, 2.0, 3.0):
        for r in np.linspace(0.05, 0.09, 40).tolist():
            _check(cart, m=mass, r=r)
    assert len(looked) == 40


def test_a_row_that_became_independent_is_refused_whatever_was_accepted_before(cart):
    assert cart.kinematics.redundant
    for k in range(20):
        _check(cart, m=3.0 + k)
        _check(cart, r=0.11 + 0.01 * k)
        for _ in range(2):
            with pytest.raises(SimulationError, match="the mechanism has lost a degree of freedom"):
                _check(cart, offset=0.01 * (k + 1))
    _check(cart, offset=0.0, r=0.2)


def blades_on_slides(count=1):
    """Blades that ride circles, in speeds along x that tell nothing where they point along y."""
    b = ns.ModelBuilder("blades on slides", gravity=(0.0, 0.0, 0.0))
    for k in [""] if count == 1 else range(1, count + 1):
        b.body(f"link{k}", mass=0.0, moment=0.0)
        b.body(f"plate{k}", mass=0.0, moment=0.0)
        b.body(f"blade{k}", mass=1.4, moment=0.12)
        x, y = ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), ns.joints.Prismatic(axis=(0.0, 1.0, 0.0))
        b.joint(f"x{k}", x, parent="world", child=f"link{k}")
        b.joint(f"y{k}", y, parent=f"link{k}", child=f"plate{k}")
        yaw = ns.joints.Revolute(axis=(0.0, 0.0, 1.0))
        b.joint(f"yaw{k}", yaw, parent=f"plate{k}", child=f"blade{k}")
        b.contact(
            ns.contacts.KnifeEdge(name=f"edge{k}", body=f"blade{k}", direction=(1.0, 0.0, 0.0))
        )
        b.independent_speed(f"x{k}.speed")
        b.independent_speed(f"yaw{k}.rate")
    return ns.compile(ns.derive(b.build()))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize(("rate", "duration"), [(20.0, 2.0), (1.7, 23.5)])
def test_long_steps_do_not_leap_over_a_singular_place(rate, duration, tolerance):
    # its speed along itself stays; steps that leap changed it by a tenth at 1e-4. Two tolerances,
    # which a step may be off along x, are 30 along the blade where the speeds change, 13 times
    off = 13 * 30 * tolerance
    start = {"yaw.angle": 0.5, "yaw.rate": rate, "x.speed": 0.8}
    system, held = blades_on_slides(), {"rtol": tolerance, "atol": tolerance}
    for samples in (41, [duration]):
        run = ns.simulate(system, duration=duration, start=start, samples=samples, **held)
        forward = np.hypot(run["x.speed"], run["y.speed"])
        assert forward == pytest.approx(0.8 / np.cos(0.5), rel=off)
    batch = ns.simulate_batch(system, duration=duration, start=start, **held)
    forward = np.hypot(batch.final["x.speed"], batch.final["y.speed"])
    assert forward == pytest.approx(0.8 / np.cos(0.5), rel=off)


@pytest.mark.slow
def test_nor_where_two_places_are_passed_at_once():
    # two blades abreast: the product of what vanishes there keeps its sign, and steps that leapt
    # were a tenth off. Of ten states one may be off by √10 tolerances, which are 45 along a blade
    # where the speeds change, 13 times
    tolerance = 1e-4
    start = {"yaw1.angle": 0.5, "yaw1.rate": 20.0, "x1.speed": 0.8}
    start |= {name.replace("1", "2"): value for name, value in start.items()}
    system, held = blades_on_slides(2), {"rtol": tolerance, "atol": tolerance}
    run = ns.simulate(system, duration=2.0, start=start, samples=41, **held)
    batch = ns.simulate_batch(system, duration=2.0, start=start, **held)
    for column in (run, batch.final):
        for k in (1, 2):
            forward = np.hypot(column[f"x{k}.speed"], column[f"y{k}.speed"])
            assert forward == pytest.approx(0.8 / np.cos(0.5), rel=13 * 45 * tolerance)


@pytest.mark.parametrize("angle", [0.2, 0.02])
def test_fixed_steps_do_not_leap_over_a_singular_place(angle):
    # steps that turn the blade by an angle: those of 0.2 rad leapt, to 17 times the speed
    start = {"yaw.angle": 0.5, "yaw.rate": 20.0, "x.speed": 0.8}
    system, held = blades_on_slides(), {"method": "rk4", "step": angle / 20.0, "duration": 2.0}
    run = ns.simulate(system, start=start, samples=41, **held)
    batch = ns.simulate_batch(system, start=start, **held)
    assert run.steps == batch.steps[0] == pytest.approx(40.0 / angle)
    for column in (run, batch.final):
        forward = np.hypot(column["x.speed"], column["y.speed"])
        assert forward == pytest.approx(0.8 / np.cos(0.5), rel=30.0 * angle**4)
    assert np.array_equal(run.t, np.linspace(0.0, 2.0, 41))
