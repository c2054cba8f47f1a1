"""Independent speeds of models that name none: healthy ones, that say where the motion goes."""

import dataclasses
import itertools
import types

import numpy as np
import pytest

import noslip as ns
from noslip.kinematics import basis, dependent_speeds, trace


def unnamed(name):
    return dataclasses.replace(ns.load(name), independent_speeds=())


def names_of(model):
    return [speed.name for speed in trace(model).independent_speeds]


def operations(model):
    system = ns.compile(ns.derive(model))
    return sum(system.program("rates", system.rates_expression).count().values())


def test_a_vehicle_is_written_in_speeds_of_its_base_not_of_its_caster():
    model = unnamed("agv")
    assert names_of(model) == ["platform.vy", "platform.rate"]
    speeds = tuple(ns.IndependentSpeed(name=n) for n in ("bracket.rate", "wheel3.rate"))
    by_caster = dataclasses.replace(model, independent_speeds=speeds)
    assert operations(model) < 0.6 * operations(by_caster)


def test_motors_keep_their_wheels():
    """The rates of the carriage's driven wheels are twice as healthy as the speeds of its base."""
    assert names_of(unnamed("carriage")) == ["wheel1.rate", "wheel2.rate"]


def test_what_follows_from_nothing_stays_independent():
    """A pendulum on the vehicle is passive too, but nothing else gives its rate."""
    agv = unnamed("agv")
    bob = ns.Body(name="bob", mass=0.1, inertia=(0.01, 0.01, 0.01))
    hinge = ns.Joint(
        name="hinge", type=ns.joints.Revolute(axis=(1.0, 0.0, 0.0)), parent="platform", child="bob"
    )
    model = dataclasses.replace(
        agv, bodies=(*agv.bodies, bob), joints=(*agv.joints, hinge), scenario=None
    )
    assert names_of(model) == ["platform.vy", "platform.rate", "hinge.rate"]


@pytest.mark.parametrize("name", ["agv", "carriage", "tricycle", "lhd-noslip", "whipple-bicycle"])
def test_the_choice_is_nearly_the_best_of_all(name, monkeypatch):
    """Against all sets of speeds, one by one."""
    asked = []

    def spied(probe, kept, samples, passive):
        chosen = basis.independent_columns(probe, kept, samples, passive)
        asked.append((probe, kept, samples, chosen))
        return chosen

    monkeypatch.setattr(dependent_speeds, "independent_columns", spied)
    trace(unnamed(name))
    ((probe, kept, samples, chosen),) = asked
    matrices = [probe.matrix(q, t)[0][list(kept)] for t, q in samples]
    unit = np.array([A / np.linalg.norm(A, axis=1, keepdims=True) for A in matrices])
    places = set(range(unit.shape[2]))

    def least(free):
        dependent = unit[:, :, sorted(places - set(free))]
        return min(np.linalg.svd(A, compute_uv=False)[-1] for A in dependent)

    best = max(map(least, itertools.combinations(places, len(chosen))))
    assert least(chosen) > basis.NEARLY * best


@pytest.mark.slow
def test_the_motion_is_that_in_other_speeds(system_of):
    """The vehicle on its circle, in speeds of its own and in those that are chosen."""
    tight = {"rtol": 1e-12, "atol": 1e-12}
    chosen = ns.run_scenario(ns.compile(ns.derive(unnamed("agv"))), **tight)
    named = ns.run_scenario(system_of("agv"), **tight)
    for coordinate in named.coordinates:
        assert chosen[coordinate.name] == pytest.approx(named[coordinate.name], abs=1e-9)


@pytest.mark.parametrize("size", [(5, 9), (1, 3), (7, 10), (3, 3)])
def test_columns_of_many_matrices_are_those_of_each_alone(rng, size):
    """Many at once against one after the other, near and at matrices that lose rank too."""
    matrices = rng.normal(size=(60, *size))
    matrices[::3] *= rng.uniform(0, 1, size[1]) ** 6
    matrices[5::17, :, : max(size[0] - 1, 1)] = 0.0
    probe = types.SimpleNamespace(
        places=(), is_angular=(False,) * size[1], matrix=lambda q, t: (matrices[int(t)], None)
    )
    kept = range(size[0])
    unit = matrices / np.maximum(np.linalg.norm(matrices, axis=2, keepdims=True), 1e-300)
    found, least = basis.dependent_columns_each(unit)
    for k, columns in enumerate(found.tolist()):
        free = basis.independent_columns(probe, kept, [(k, np.zeros(0))])
        assert sorted({*range(size[1])} - {*free}) == columns
        assert least[k] == np.linalg.svd(unit[k][:, columns], compute_uv=False)[-1]


def test_no_rows_leave_all_speeds_independent():
    found, least = basis.dependent_columns_each(np.zeros((4, 0, 3)))
    assert found.shape == (4, 0) and np.all(np.isinf(least))
