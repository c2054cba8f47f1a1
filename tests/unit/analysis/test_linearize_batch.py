"""Many linearizations at once, compiled: each is the one that `linearize` finds, interpreted."""

import numpy as np
import pytest

import noslip as ns


def variants(system, rng, count, spread=0.03):
    """Parameters near the nominal ones, without gravity."""
    names = [p.name for p in system.model.parameters if p.name != "g"]
    nominal = dict(zip((p.name for p in system.model.parameters), system.parameters(), strict=True))
    return {n: nominal[n] * rng.uniform(1 - spread, 1 + spread, count) for n in names}


def one(values, k):
    return {name: float(v if np.ndim(v) == 0 else v[k]) for name, v in values.items()}


def test_bicycles_of_other_shapes_at_other_speeds(system_of, rng):
    """Second way: `linearize`, variant by variant."""
    system = system_of("whipple-bicycle")
    parameters = variants(system, rng, 24)
    about = {"speed": rng.uniform(1.0, 9.0, 24)}
    batch = ns.linearize_batch(system, about, parameters=parameters, keep=["A", "B"])
    assert len(batch) == 24 and batch.is_steady.all()
    for k in range(24):
        alone = ns.linearize(system, one(about, k), parameters=one(parameters, k))
        np.testing.assert_allclose(batch.A[k], alone.A, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(batch.B[k], alone.B, rtol=1e-9, atol=1e-9)
        found, expected = (np.sort_complex(e) for e in (batch.eigenvalues[k], alone.eigenvalues))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        assert batch.is_stable[k] == alone.is_stable
        assert [s.name for s in batch.states] == [s.name for s in alone.states]
    data = batch.to_xarray()
    assert data["growth"].values.tolist() == batch.eigenvalues.real.max(axis=1).tolist()
    assert data["start.speed"].values.tolist() == about["speed"].tolist()


def test_motions_that_are_not_steady_are_marked(system_of):
    """A bicycle that leans falls."""
    batch = ns.linearize_batch(
        system_of("whipple-bicycle"), {"speed": 5.0, "frame.lean": [0.0, 0.2]}
    )
    assert batch.is_steady.tolist() == [True, False]
    assert np.isnan(batch.eigenvalues[1]).all() and not batch.is_stable[1]
    assert batch.residual[1] > 1e-3


def test_blocks_and_threads_change_no_bit(system_of, rng, monkeypatch):
    system = system_of("whipple-bicycle")
    parameters = variants(system, rng, 50)
    whole = ns.linearize_batch(system, {"speed": 5.0}, parameters=parameters, threads=1)
    monkeypatch.setattr("noslip.simulation.batches.batch_request.BLOCK", 16)
    seen = []
    parts = ns.linearize_batch(
        system, {"speed": 5.0}, parameters=parameters, threads=2, progress=seen.append
    )
    assert np.array_equal(whole.eigenvalues, parts.eigenvalues)
    assert seen[-1] == 1.0 and len(seen) == 4


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"about": {"speed": [1.0, 2.0], "steer.angle": [0.0] * 3}}, "numbers of trajectories"),
        ({"about": {"sped": 1.0}}, "sped"),
        ({"keep": ["C"]}, "nothing to keep"),
        ({"keep": "A"}, "keep is 'A'"),
        ({"about": {"speed": "fast"}}, "not a number"),
    ],
)
def test_refused(system_of, given, text):
    with pytest.raises(ns.SimulationError, match=text):
        ns.linearize_batch(system_of("whipple-bicycle"), **given)


def test_a_first_motion_that_is_not_steady_says_nothing_of_the_others(system_of):
    system = system_of("whipple-bicycle")
    batch = ns.linearize_batch(system, {"speed": 5.0, "frame.lean": [0.2, 0.0]})
    assert batch.is_steady.tolist() == [False, True] and not batch.messages
    alone = ns.linearize(system, {"speed": 5.0})
    np.testing.assert_allclose(batch.eigenvalues[1], alone.eigenvalues, rtol=1e-8, atol=1e-8)
    with pytest.raises(ns.SimulationError, match="the motion is not steady"):
        ns.linearize_batch(system, {"speed": 5.0, "frame.lean": [0.2, 0.3]})


def test_angles_that_are_singular_at_some_variants():
    """A body that hangs by a point: ω² = m g l/(I + m l²), however its axes are placed."""
    b = ns.ModelBuilder(name="hanging", gravity=(0.0, 0.0, -9.81))
    b.parameter("px", 0.0, "m")
    b.parameter("pz", 0.5, "m")
    b.body("body", mass=2.0, inertia=(0.3, 0.3, 0.3))
    at = ns.Placement(position=("px", 0.0, "pz"))
    b.joint("point", ns.joints.Spherical(), parent="world", child="body", child_frame=at)
    system = ns.compile(ns.derive(b.build()))
    # the body's own x, z or in between points down
    down = np.array([0.0, np.pi / 2, 0.7, np.pi / 2])
    given = {
        "about": {"point.qw": np.cos(down / 2), "point.qy": np.sin(down / 2)},
        "parameters": {"px": -0.5 * np.sin(down), "pz": 0.5 * np.cos(down)},
    }
    batch = ns.linearize_batch(system, **given, keep=["A"])
    assert batch.is_steady.all() and sorted(batch.others) == [1, 3]
    swing = np.sqrt(2.0 * 9.81 * 0.5 / (0.3 + 2.0 * 0.5**2))
    for k in range(4):
        alone = ns.linearize(system, one(given["about"], k), parameters=one(given["parameters"], k))
        np.testing.assert_allclose(batch.A[k], alone.A, atol=1e-9)
        assert batch.others.get(k, batch.states) == alone.states
        fastest = np.sort(np.abs(batch.eigenvalues[k].imag))[-4:]
        np.testing.assert_allclose(fastest, swing, rtol=1e-7)
