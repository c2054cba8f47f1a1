"""Arms from Denavit–Hartenberg tables: both conventions, both kinds of joints."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.model import LinkRow, serial_arm

#: α_{i−1}, a_{i−1}, d_i, θ_i of a modified table; the second and fourth joints slide.
TABLE = (
    (0.0, 0.0, 0.3, 0.2),
    (0.7, 0.25, 0.1, -0.4),
    (-1.1, 0.0, 0.15, 0.0),
    (0.4, -0.2, -0.05, 0.9),
    (1.3, 0.1, 0.2, -0.3),
)
KINDS = ("revolute", "prismatic", "revolute", "prismatic", "revolute")
MASSES = (3.0, 2.1, 1.4, 0.9, 0.6)
CENTERS = (
    (0.02, -0.05, 0.1),
    (0.1, 0.03, -0.02),
    (0.0, 0.04, 0.07),
    (-0.05, 0.0, 0.1),
    (0.03, 0.02, 0.01),
)
INERTIAS = tuple(np.diag([0.05, 0.06, 0.07]) * m + 0.003 * (1 - np.eye(3)) for m in MASSES)


def rotation(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array(
        [[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    )


def transform(axis, angle=0.0, shift=0.0):
    X = np.eye(4)
    X[:3, :3] = rotation(axis, angle)
    X["xyz".index(axis), 3] = shift
    return X


def entries(tensor):
    return tuple(float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def rows(convention):
    """The same arm: the standard table has a, α of a link in its own row, its frame at the end."""
    result = []
    for k, (alpha, a, d, theta) in enumerate(TABLE):
        center, inertia = np.array(CENTERS[k]), INERTIAS[k]
        if convention == "standard":
            alpha, a = TABLE[k + 1][:2] if k + 1 < len(TABLE) else (0.0, 0.0)
            # from the frame at the joint to the one at the far end: Tx(a) Rx(α)
            R = rotation("x", alpha)
            center, inertia = R.T @ (center - [a, 0.0, 0.0]), R.T @ inertia @ R
        result.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                alpha=alpha,
                a=a,
                d=d,
                theta=theta,
                kind=KINDS[k],
                mass=MASSES[k],
                center_of_mass=tuple(map(float, center)),
                inertia=entries(inertia),
            )
        )
    return result


def arm(convention, table=None):
    b = ns.ModelBuilder(name=f"arm-{convention}", gravity=(0.3, -0.4, -9.7))
    serial_arm(b, table or rows(convention), convention=convention)
    return b.build()


COORDINATES = [
    f"joint{k}.{'angle' if kind == 'revolute' else 'position'}" for k, kind in enumerate(KINDS)
]
SPEEDS = [f"joint{k}.{'rate' if kind == 'revolute' else 'speed'}" for k, kind in enumerate(KINDS)]


def poses(system, q):
    start = ns.complete_start(system, dict(zip(COORDINATES, q, strict=True)))
    x = np.concatenate([start.q, start.eta, np.zeros(1 if system.does_work else 0)])
    values = system.poses(0.0, x, np.zeros(0), system.parameters()).reshape(-1, 12)
    return [(value[:9].reshape(3, 3), value[9:]) for value in values]


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_are_the_products_of_the_table(convention, rng):
    system = ns.compile(ns.derive(arm(convention)))
    for _ in range(3):
        q = rng.normal(size=len(TABLE))
        X = np.eye(4)
        for k, (row, (R, p)) in enumerate(zip(rows(convention), poses(system, q), strict=True)):
            turn = row.theta + (q[k] if row.kind == "revolute" else 0.0)
            shift = row.d + (q[k] if row.kind == "prismatic" else 0.0)
            joint = transform("z", turn) @ transform("z", shift=shift)
            link = transform("x", row.alpha) @ transform("x", shift=row.a)
            X = X @ (joint @ link if convention == "standard" else link @ joint)
            assert pytest.approx(X[:3, :3], abs=1e-14) == R
            assert pytest.approx(X[:3, 3], abs=1e-14) == p


@pytest.mark.slow
def test_both_conventions_describe_the_same_arm(rng):
    systems = [ns.compile(ns.derive(arm(c))) for c in ("standard", "modified")]
    for _ in range(4):
        state = dict(zip(COORDINATES + SPEEDS, rng.normal(size=2 * len(TABLE)), strict=True))
        first, second = (ns.evaluate(system, state) for system in systems)
        assert first.mass_matrix == pytest.approx(second.mass_matrix, rel=1e-12, abs=1e-13)
        assert first.velocity_terms == pytest.approx(second.velocity_terms, rel=1e-11, abs=1e-12)
        assert first.kinetic_energy == pytest.approx(second.kinetic_energy, rel=1e-12)
        assert first.potential_energy == pytest.approx(second.potential_energy, rel=1e-12)
        ours, theirs = (list(i.accelerations.values()) for i in (first, second))
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_table_of_parameters_is_the_table_of_their_values(convention, rng):
    b = ns.ModelBuilder(name="arm-of-parameters", gravity=(0.3, -0.4, -9.7))
    table = []
    for k, row in enumerate(rows(convention)):
        named = {
            field: b.parameter(f"{field}{k}", getattr(row, field), unit)
            for field, unit in {"a": "m", "alpha": "rad", "d": "m", "theta": "rad"}.items()
        }
        table.append(
            LinkRow(
                joint=row.joint,
                link=row.link,
                kind=row.kind,
                mass=row.mass,
                center_of_mass=row.center_of_mass,
                inertia=row.inertia,
                **named,
            )
        )
    serial_arm(b, table, convention=convention)
    systems = [ns.compile(ns.derive(model)) for model in (arm(convention), b.build())]
    state = dict(zip(COORDINATES + SPEEDS, rng.normal(size=2 * len(TABLE)), strict=True))
    first, second = (list(ns.evaluate(s, state).accelerations.values()) for s in systems)
    assert first == pytest.approx(second, rel=1e-11, abs=1e-11)


def test_an_arm_can_stand_on_another_body():
    b = ns.ModelBuilder(name="mounted", gravity=(0.0, 0.0, -9.81))
    b.body("cart", mass=5.0, inertia=(1.0, 1.0, 1.0))
    b.joint("rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    serial_arm(b, rows("modified"), convention="modified", parent="cart")
    assert ns.check(b.build()).degrees_of_freedom == 6


def test_an_unknown_convention_is_refused():
    with pytest.raises(ns.ModelError, match="no convention 'modifed'") as caught:
        arm("modifed", rows("modified"))
    assert "serial arm of model 'arm-modifed'" in caught.value.where
    assert "'modified'" in caught.value.fix


def test_an_unknown_kind_of_joint_is_refused():
    row = LinkRow(joint="wrist", link="hand", mass=1.0, inertia=(0.1, 0.1, 0.1), kind="prismatik")
    with pytest.raises(ns.ModelError, match="joint 'wrist' is of kind 'prismatik'") as caught:
        arm("standard", [row])
    assert "serial arm of model 'arm-standard'" in caught.value.where
    assert "'prismatic'" in caught.value.fix
