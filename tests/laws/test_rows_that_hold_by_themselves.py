"""A row that holds by itself changes nothing: the motion is that of the same without it."""

import dataclasses

import numpy as np
import pytest
from self_satisfied import SELF_SATISFIED, table

import noslip as ns
from noslip.formulations.verify import count_degrees_of_freedom
from noslip.kinematics import basis, trace

START = {"slide.speed": 0.3, "rail.speed": 0.3, "swing.rate": 0.8, "p.vx": 0.4, "p.rate": -0.7}


def moved(model, **options):
    system = ns.compile(ns.derive(model))
    start = {name: x for name, x in START.items() if name in {s.name for s in system.speeds}}
    return ns.simulate(system, duration=1.0, start=start, rtol=1e-11, atol=1e-11, **options)


@pytest.mark.parametrize("name", SELF_SATISFIED)
def test_freedoms_and_motion_are_those_without_the_rows(name):
    build = SELF_SATISFIED[name]
    model, plain = build(True), build(False)
    kin = trace(model)
    assert kin.num_independent_speeds == trace(plain).num_independent_speeds
    assert kin.self_satisfied == list(range(len(kin.rows)))
    run, expected = moved(model, reactions=True), moved(plain)
    for coordinate in kin.coordinates:
        # both are integrated to 1e-11
        assert run[coordinate.name] == pytest.approx(expected[coordinate.name], abs=1e-9)
    assert np.ptp(run[kin.coordinates[0].name]) > 0.05
    for row in kin.rows:
        assert run[f"reaction.{row.name}"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", SELF_SATISFIED)
def test_verify_passes_on_them(name):
    certificate = ns.verify(SELF_SATISFIED[name](True))
    assert certificate.holds, certificate.text()


def test_verify_fails_where_a_freedom_is_locked(monkeypatch):
    # the decision that verify must not share: every row counts, however small
    monkeypatch.setattr(basis, "SELF_SATISFIED", 0.0)
    certificate = ns.verify(table(True, pendulum=True))
    assert not certificate.holds
    assert [f.check for f in certificate.findings if f.disagreement >= 1] == ["degrees of freedom"]


def test_verify_fails_where_a_row_is_lost(monkeypatch):
    # the other way round: rows that are there are taken for rounding
    model = dataclasses.replace(ns.load("knife-edge"), independent_speeds=())
    monkeypatch.setattr(basis, "DOUBTFUL", 1e9)
    monkeypatch.setattr(basis, "SELF_SATISFIED", 1e9)
    kin = trace(model)
    assert kin.num_independent_speeds == 3
    certificate = ns.verify(model, kinematics=kin)
    assert "degrees of freedom" in [f.check for f in certificate.findings if f.disagreement >= 1]


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_a_row_counts_whatever_units_it_is_written_in(factor):
    b = ns.ModelBuilder(name="scaled", gravity=(0.0, 0.0, 0.0))
    b.body("puck", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("p", ns.joints.Planar(), parent="world", child="puck")
    b.row(ns.rows.VelocityRow(name="r", expression=f"{factor!r}*(p.vx + 0.3*p.rate)", unit="m/s"))
    b.row(ns.rows.VelocityRow(name="same", expression="2*(p.vx + 0.3*p.rate)", unit="m/s"))
    kin = trace(b.build())
    assert kin.row_basis == (0,)
    assert kin.redundant[0].follows_from == ("r",)
    assert count_degrees_of_freedom(kin, kin.probe.configurations(2)) == 2


def test_guides_that_are_not_parallel_lock_the_table():
    model = table(True)
    turned = [
        dataclasses.replace(
            j, parent_frame=dataclasses.replace(j.parent_frame, angles=(0.3, 0.5, -0.7 + 1e-6))
        )
        if j.name == "second"
        else j
        for j in model.joints
    ]
    with pytest.raises(ns.ModelError, match="no configuration satisfies"):
        trace(dataclasses.replace(model, joints=tuple(turned)))
