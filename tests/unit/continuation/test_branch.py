"""Branches of steady motions: folds, branch points, Hopf points and limits by closed forms."""

import json
import math

import numpy as np
import pytest
from rolling import steady_spin_rate

import noslip as ns

#: Weave and capsize speeds of the benchmark bicycle [MeijaardPapadopoulosRuinaSchwab2007], m/s.
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837
PLACE = {"inertia": (0.1, 0.1, 0.1)}


def particle(force, name="particle", **parameters):
    """A mass of 1 kg on a rail under a force, an expression of rail.position and rail.speed."""
    b = ns.ModelBuilder(name=name, gravity=(0.0, 0.0, 0.0))
    for parameter, value in parameters.items():
        b.parameter(parameter, value, "1")
    b.body("particle", mass=1.0, **PLACE)
    b.joint("rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="particle")
    b.force(ns.forces.Wrench(name="force", body="particle", force=(force, 0.0, 0.0)))
    return ns.compile(ns.derive(b.build()))


def spindle_pendulum():
    """A pendulum whose hinge turns with an upright spindle: a bead on a hoop."""
    b = ns.ModelBuilder(name="spindle", gravity=(0.0, 0.0, -9.81))
    b.body("spindle", mass=1.0, inertia=(0.0, 0.0, 0.3))
    b.body("bead", mass=2.0, inertia=(0.0, 0.0, 0.0))
    b.joint("spindle", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="spindle")
    b.joint(
        "hinge",
        ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
        parent="spindle",
        child="bead",
        child_frame=ns.Placement(position=(0.0, 0.0, 0.7)),
    )
    return ns.compile(ns.derive(b.build()))


def test_weave_and_capsize_of_the_bicycle(system_of):
    found = ns.branch(system_of("whipple-bicycle"), {"speed": (0.0, 10.0)})
    (weave,), (capsize,) = found.points("Hopf point"), found.points("branch point")
    assert weave.value == pytest.approx(WEAVE, abs=1e-11)
    assert capsize.value == pytest.approx(CAPSIZE, abs=1e-11)
    line = ns.linearize(system_of("whipple-bicycle"), {"speed": weave.value})
    assert weave.frequency == pytest.approx(np.max(line.eigenvalues.imag), abs=1e-9)
    assert len(found.special) == 2 and found.values[0] == 0.0
    main = found.curve == 0
    inside = (found.values > WEAVE) & (found.values < CAPSIZE) & main
    assert np.array_equal(found.is_stable, inside)


def test_steady_turns_without_torque_cross_at_the_capsize_speed(system_of):
    """Points of the crossing curve are steady motions by `steady`, which knows no curve."""
    system = system_of("whipple-bicycle")
    found = ns.branch(system, {"speed": (3.0, 8.0)})
    turns = np.flatnonzero(found.curve == 1)
    lean = found.columns["frame.lean"]
    assert np.max(lean[turns]) > 0.3 and np.min(lean[turns]) < -0.3
    for k in turns[::30]:
        alone = ns.steady(system, {"speed": found.values[k]}, guess=found[int(k)].start)
        assert alone.values["frame.lean"] == pytest.approx(lean[k], abs=1e-9)
        line = ns.linearize(system, alone.start)
        assert np.max(np.abs(line.eigenvalues - found.eigenvalues[k])) < 1e-7


def test_a_disk_stops_falling_at_the_closed_form(system_of):
    """Ω² = m g r I_t / (I_a (I_a + m r²)), which is g/(3 r) of a homogeneous thin disk."""
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    upright = {"disk.tilt": math.pi / 2, "disk.yaw_rate": 0.0}
    found = ns.branch(system, {"disk.spin_rate": (0.5, 8.0)}, given=upright)
    (limit,) = found.special
    assert limit.kind == "stability limit"
    assert limit.value == pytest.approx(math.sqrt(p["g"] / (3 * p["r"])), abs=1e-9)
    assert np.array_equal(found.is_stable, found.values > limit.value)


def test_circular_motions_of_a_disk(system_of):
    """Over the tilt at a yaw rate: the spin of each point by Newton and Euler."""
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    found = ns.branch(
        system, {"disk.tilt": (0.3, 2.0)}, given={"disk.yaw_rate": 2.0}, at=1.0, step=0.05
    )
    assert found.values[0] == 0.3 and found.values[-1] == 2.0
    spins = [
        steady_spin_rate(
            tilt,
            2.0,
            m=p["m"],
            ring=p["r"],
            tube=0.0,
            I_t=p["I_transverse"],
            I_a=p["I_axial"],
            g=p["g"],
        )
        for tilt in found.values
    ]
    assert found.columns["disk.spin_rate"] == pytest.approx(spins, abs=1e-9)


def test_a_bead_on_a_hoop_leaves_the_axis():
    """A pitchfork at ω² = g/l, and cos θ = g/(ω² l) on the curve that begins there."""
    system = spindle_pendulum()
    found = ns.branch(system, {"spindle.rate": (1.0, 9.0)})
    (point,) = found.points("branch point")
    assert point.value == pytest.approx(math.sqrt(9.81 / 0.7), abs=1e-9)
    out = found.curve == 1
    angle, rate = found.columns["hinge.angle"][out], found.values[out]
    assert np.cos(angle) == pytest.approx(9.81 / (0.7 * rate**2), abs=1e-10)
    assert np.max(angle) > 1.3 and np.min(angle) < -1.3
    # exchange of stability
    assert np.all(found.is_stable[out])
    on_axis = ~out
    assert np.array_equal(found.is_stable[on_axis], found.values[on_axis] < point.value)


def test_folds_of_a_truss_that_snaps_through():
    """Two springs in an arch [vonMises1923]: the load is 2 k x (1 − L/√(a² + x²))."""
    k, L, a = 50.0, 1.0, 0.8
    text = f"load - 2*{k}*rail.position*(1 - {L}/sqrt({a}^2 + rail.position^2)) - 3*rail.speed"
    system = particle(text, load=0.0)
    found = ns.branch(
        system, {"load": (-8.0, 8.0)}, guess={"rail.position": -0.7}, at=-1.0, step=0.01
    )
    at = math.sqrt((L * a**2) ** (2 / 3) - a**2)

    def load(x):
        return 2 * k * x * (1 - L / math.sqrt(a**2 + x**2))

    folds = found.points("fold")
    assert [fold.value for fold in folds] == pytest.approx([load(-at), load(at)], abs=1e-12)
    assert [fold.motion.values["rail.position"] for fold in folds] == pytest.approx(
        [-at, at], abs=1e-8
    )
    x = found.columns["rail.position"]
    assert found.values == pytest.approx([load(each) for each in x], abs=1e-9)
    assert np.array_equal(found.is_stable, np.abs(x) > at)
    assert len(found.special) == 2


def test_a_hopf_point_by_its_closed_form():
    """ẍ = (m − x²) ẋ − 4x: at m = 0, with 2 rad/s."""
    found = ns.branch(
        particle("(m - rail.position^2)*rail.speed - 4*rail.position", m=0.5), {"m": (-0.7, 1.0)}
    )
    (point,) = found.special
    assert point.kind == "Hopf point"
    assert point.value == pytest.approx(0.0, abs=1e-10)
    assert point.frequency == pytest.approx(2.0, abs=1e-10)


def test_two_curves_that_cross_at_a_slant():
    """0 = s x − x²: exchange of stability at s = 0, x = s on the crossing curve."""
    system = particle("s*rail.position - rail.position^2 - rail.speed", s=1.0)
    found = ns.branch(system, {"s": (-1.0, 1.0)})
    (point,) = found.points("branch point")
    assert abs(point.value) < 1e-9
    for number, expected in ((0, 0.0), (1, 1.0)):
        own = found.curve == number
        x = found.columns["rail.position"][own]
        assert x == pytest.approx(expected * found.values[own], abs=1e-10)
        sign = 1.0 if number else -1.0
        clear = np.abs(found.values[own]) > 1e-3
        assert np.array_equal(found.is_stable[own][clear], (sign * found.values[own] > 0)[clear])


def test_a_closed_curve_is_closed():
    """x² + s² = 1: two folds, and it ends where it began."""
    system = particle("rail.position^2 + s^2 - 1 - rail.speed", s=0.0)
    found = ns.branch(system, {"s": (-2.0, 2.0)}, at=0.3, guess={"rail.position": 0.8})
    assert [abs(p.value) for p in found.points("fold")] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert "where it began" in found.ends[0] and "closed" in found.text()
    assert found.columns["rail.position"] ** 2 + found.values**2 == pytest.approx(1.0, abs=1e-10)


def test_pairs_that_meet_on_the_axis_are_a_limit():
    """A gyroscope of two rails: ẍ = a x + g ẏ, ÿ = a y − g ẋ is stable while g² > 4 a."""
    b = ns.ModelBuilder(name="gyroscope", gravity=(0.0, 0.0, 0.0))
    b.parameter("g", 3.0, "1")
    b.body("slide", mass=0.0, inertia=(0.0, 0.0, 0.0))
    b.body("particle", mass=1.0, **PLACE)
    b.joint("x", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="slide")
    b.joint("y", ns.joints.Prismatic(axis=(0.0, 1.0, 0.0)), parent="slide", child="particle")
    force = ("x.position + g*y.speed", "y.position - g*x.speed", 0.0)
    b.force(ns.forces.Wrench(name="force", body="particle", force=force))
    system = ns.compile(ns.derive(b.build()))
    found = ns.branch(system, {"g": (0.5, 4.0)})
    (limit,) = found.special
    assert limit.kind == "stability limit" and limit.value == pytest.approx(2.0, abs=1e-8)
    assert np.array_equal(found.is_stable, found.values > 2.0)


def test_an_input_is_varied_and_another_is_found(system_of):
    """The torque of the hands over the lean: the same as `steady` finds point by point."""
    system = system_of("whipple-bicycle")
    found = ns.branch(
        system,
        {"frame.lean": (-0.3, 0.3)},
        given={"speed": 5.0},
        find=["steer_torque"],
        at=0.0,
        step=0.05,
    )
    k = int(np.argmin(np.abs(found.values - 0.25)))
    alone = ns.steady(system, {"speed": 5.0, "frame.lean": found.values[k]}, find=["steer_torque"])
    assert found.columns["steer_torque"][k] == pytest.approx(alone.inputs["steer_torque"], abs=1e-9)
    over_torque = ns.branch(
        system, {"steer_torque": (-1.0, 1.0)}, given={"speed": 5.0}, at=0.0, step=0.05
    )
    lean = np.interp(alone.inputs["steer_torque"], *_rising(over_torque, "frame.lean"))
    assert lean == pytest.approx(0.25, abs=0.02)


def _rising(found, name):
    order = np.argsort(found.values)
    return found.values[order], found.columns[name][order]


def test_a_branch_is_data(system_of, tmp_path):
    found = ns.branch(system_of("whipple-bicycle"), {"speed": (4.0, 7.0)}, step=0.05)
    dataset = found.to_xarray()
    assert dataset["speed"].attrs["units"] == "m/s" and dataset.sizes["point"] == len(found)
    assert np.array_equal(dataset["frame.lean"], found.columns["frame.lean"])
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["special"][0]["kind"] == "Hopf point"
    assert plain["values"] == found.values.tolist()
    text = found.text()
    assert "Hopf point at speed = 4.29238253634 m/s" in text
    assert "stable   4.292382536 to 6.024262015 m/s" in text
    assert "Branch of 'whipple-bicycle' over speed" in repr(found)
    found.plot("frame.lean", save=tmp_path / "branch.png")
    assert (tmp_path / "branch.png").stat().st_size > 1000
    run = ns.simulate(
        system_of("whipple-bicycle"), duration=0.5, start=found[5].start, inputs=found[5].inputs
    )
    assert np.max(np.abs(run["frame.lean"] - found.columns["frame.lean"][5])) < 1e-9


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"vary": {"sped": (0.0, 1.0)}}, "there is no parameter, start value or input 'sped'"),
        ({"vary": {"speed": (1.0, 0.0)}}, "the range of 'speed'"),
        ({"vary": {}}, "vary is {}"),
        ({"vary": {"speed": (0.0, 1.0)}, "given": {"speed": 1.0}}, "both varied and given"),
        ({"vary": {"speed": (0.0, 1.0)}, "at": 2.0}, "begins at speed = 2.0"),
        ({"vary": {"speed": (0.0, 1.0)}, "step": 0.0}, "the longest step is 0.0"),
        (
            {"vary": {"steer_torque": (0.0, 1.0)}, "find": ["steer_torque"]},
            "both varied and to be found",
        ),
        ({"vary": {"steer_torque": (0.0, 1.0)}}, "a family with 1 parameter"),
    ],
)
def test_what_cannot_be_followed_is_refused(system_of, asked, said):
    with pytest.raises(ns.NoslipError, match=said.replace("{", r"\{")) as refusal:
        ns.branch(system_of("whipple-bicycle"), **asked)
    assert refusal.value.faults[0].fix


def test_work_that_is_cancelled_returns_what_was_found(system_of):
    import threading

    cancel = threading.Event()
    cancel.set()
    found = ns.branch(system_of("whipple-bicycle"), {"speed": (1.0, 3.0)}, cancel=cancel)
    assert len(found) == 1 and "cancelled" in found.ends[0][1]
