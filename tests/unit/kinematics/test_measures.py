"""Measures of the motion and definitions: expressions of points, axes and rates."""

import re
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.expressions import ExpressionError, parse

SystemOf = Callable[[str], ns.System]

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def bicycle(system_of: SystemOf) -> ns.Trajectory:
    """A bicycle that leans over and steers, with all measures of its front frame."""
    outputs = {}
    for part in "xyz":
        for word in ("point", "velocity", "acceleration"):
            outputs[f"{word}_{part}"] = f"{word}(front_frame, 0.1, 0.02, -0.3).{part}"
        for word in ("angular_velocity", "angular_acceleration"):
            outputs[f"{word}_{part}"] = f"{word}(front_frame).{part}"
        for axis in "xyz":
            outputs[f"{axis}_{part}"] = f"axis(front_frame, {axis}).{part}"
            outputs[f"rate_{axis}_{part}"] = f"rate(axis(front_frame, {axis}).{part})"
        outputs[f"rate_{part}"] = f"rate(point(front_frame, 0.1, 0.02, -0.3).{part})"
        outputs[f"rate2_{part}"] = f"rate(rate(point(front_frame, 0.1, 0.02, -0.3).{part}))"
    system = system_of("whipple-bicycle")
    start = {"speed": 4.6, "frame.wx": 0.3}
    return ns.simulate(system, start=start, duration=2.0, samples=21, outputs=outputs)


def _vector(run: ns.Trajectory, word: str) -> np.ndarray:
    return np.stack([run[f"{word}_{part}"] for part in "xyz"], axis=1)


def test_velocities_are_rates_of_positions(bicycle: ns.Trajectory) -> None:
    """By the twist of the body, and by differentiating its pose."""
    np.testing.assert_allclose(_vector(bicycle, "velocity"), _vector(bicycle, "rate"), atol=1e-13)
    rate2 = _vector(bicycle, "rate2")
    np.testing.assert_allclose(_vector(bicycle, "acceleration"), rate2, atol=1e-11)
    assert np.abs(rate2).max() > 1.0


def test_axes_turn_with_the_angular_velocity(bicycle: ns.Trajectory) -> None:
    omega = _vector(bicycle, "angular_velocity")
    for axis in "xyz":
        e = _vector(bicycle, axis)
        np.testing.assert_allclose(np.sum(e * e, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(_vector(bicycle, f"rate_{axis}"), np.cross(omega, e), atol=1e-12)


def test_accelerations_are_slopes_of_velocities(
    system_of: SystemOf, bicycle: ns.Trajectory
) -> None:
    """By differences of another run with close samples."""
    step, at = 1e-4, 1.0
    times = at + step * np.arange(-2, 3)
    texts = {
        "v": "velocity(front_frame, 0.1, 0.02, -0.3).z",
        "w": "angular_velocity(front_frame).x",
    }
    run = ns.simulate(
        system_of("whipple-bicycle"),
        start={"speed": 4.6, "frame.wx": 0.3},
        duration=2.0,
        samples=times,
        outputs=texts,
        rtol=1e-13,
        atol=1e-13,
    )
    weights = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12 * step)
    k = int(np.argmin(np.abs(bicycle.t - at)))
    assert weights @ run["v"] == pytest.approx(bicycle["acceleration_z"][k], abs=1e-7)
    assert weights @ run["w"] == pytest.approx(bicycle["angular_acceleration_x"][k], abs=1e-7)


def test_rates_of_the_speeds_that_papers_write_their_equations_in(system_of: SystemOf) -> None:
    """The tricycle's v̇, with v = vx cos δ + ℓ ω sin δ differentiated by hand."""
    system = system_of("tricycle")
    ell = ns.load("tricycle").parameter_values()["ell"]
    run = ns.run_scenario(system, duration=2.0, outputs={"vdot": "rate(v)"})
    d, dd = run["steer.angle"], run["steer.rate"]
    w, dw = run["frame.rate"], run["acceleration.frame.rate"]
    vx, dvx = run["frame.vx"], run["acceleration.frame.vx"]
    by_hand = dvx * np.cos(d) - vx * dd * np.sin(d) + ell * (dw * np.sin(d) + w * dd * np.cos(d))
    np.testing.assert_allclose(run["vdot"], by_hand, atol=1e-12)
    assert run.columns["vdot"][0] == "m/s^2"
    assert np.abs(by_hand).max() > 1e-3


def test_reactions_and_inputs_as_outputs(system_of: SystemOf) -> None:
    system = system_of("agv")
    state, inputs = {"wheel1.rate": -5.0, "wheel2.rate": -8.0}, {"torque1": 0.2}
    row = system.kinematics.rows[0].name
    texts = {
        "force": "joint_reaction.wheel1.x",
        "moment": "2*joint_reaction.wheel1.moment_z",
        "row": f"reaction.{row}",
        "power": "torque1*wheel1.rate",
    }
    found = ns.evaluate(system, state, inputs=inputs, outputs=texts)
    joint = found.joint_reactions["wheel1"]
    expected = {
        "force": joint["x"],
        "moment": 2 * joint["moment_z"],
        "row": found.multipliers[row],
        "power": -1.0,
    }
    assert found.outputs == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert [found.units[n] for n in ("force", "power")] == ["N", "kg*m^2/s^3"]
    assert "outputs" in found.text()
    run = ns.simulate(system, start=state, inputs=inputs, duration=0.1, samples=2, outputs=texts)
    assert [run[n][0] for n in texts] == pytest.approx(list(found.outputs.values()), abs=1e-12)


def test_outputs_are_kept_by_files_and_copies(system_of: SystemOf, tmp_path: Path) -> None:
    run = ns.run_scenario(
        system_of("agv"), duration=0.5, outputs={"hub": "velocity(wheel1).x"}, reactions=True
    )
    run.save(tmp_path / "run.csv")
    assert "hub [m/s]" in (tmp_path / "run.csv").read_text().splitlines()[0]
    import pickle

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(run))["hub"], run["hub"])


def _ball(by_hand: bool) -> ns.Model:
    b = ns.ModelBuilder("ball", gravity=(0.3, 0.0, -9.81))
    b.parameter("r", 0.2, "m")
    b.body("ball", mass=1.5, inertia=(0.03, 0.024, 0.02))
    names = ns.joints.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))
    b.joint("ball", ns.joints.Free(angles=names), parent="world", child="ball")
    if not by_hand:
        b.contact(ns.contacts.Rolling(name="c", body="ball", wheel=ns.surfaces.Ball(radius="r")))
        return b.build()
    b.definition("slip", "velocity(ball).x - r*spin", "m/s")
    b.definition("spin", "angular_velocity(ball).y", "rad/s")
    b.row(ns.rows.PositionRow(name="height", expression="point(ball).z - r"))
    b.row(ns.rows.VelocityRow(name="x", expression="slip"))
    b.row(ns.rows.VelocityRow(name="y", expression="velocity(ball).y + r*angular_velocity(ball).x"))
    return b.build()


STATE = {"ball.wx": 1.0, "ball.wy": -2.0, "ball.wz": 0.5, "ball.yaw": 0.4, "ball.pitch": 0.3}


def test_a_contact_of_three_rows_is_the_contact_of_the_library() -> None:
    found = [
        ns.evaluate(ns.System(equations=ns.derive(_ball(by_hand))), {"ball.z": 0.2, **STATE})
        for by_hand in (False, True)
    ]
    assert found[1].accelerations == pytest.approx(found[0].accelerations, abs=1e-13)
    assert found[1].kinetic_energy == pytest.approx(found[0].kinetic_energy, rel=1e-14)
    assert ns.verify(_ball(True), states=2).holds


def test_the_page_shows_an_ellipsoid(tmp_path: Path) -> None:
    """Written in world components; with equal half axes it is the ball of the library."""
    page = (DOCS / "model-files.md").read_text()
    (text,) = [t for t in re.findall(r"```toml\n(.*?)```", page, re.S) if '"ellipsoid"' in t]
    file = tmp_path / "ellipsoid.toml"
    file.write_text(text)
    model = ns.load(file)
    assert ns.verify(model, states=2).holds
    system = ns.compile(ns.derive(model))
    start = {"egg.wx": 3.0, "egg.wy": 1.0, "egg.wz": 2.0, "egg.z": 0.15}
    run = ns.simulate(system, start=start, duration=3.0, outputs={"height": "h"}, rtol=1e-11)
    np.testing.assert_allclose(run["height"], run["egg.z"], atol=1e-12)
    assert run.energy_drift < 1e-9
    half = {"a": 0.2, "b": 0.2, "c": 0.2}
    state = {"egg.z": 0.2, **{n.replace("ball", "egg"): x for n, x in STATE.items() if ".w" in n}}
    found = ns.evaluate(system, state, parameters=half)
    b = ns.ModelBuilder("ball", gravity=(0.0, 0.0, -9.81))
    b.body("egg", mass=2.0, inertia=(0.032, 0.032, 0.032))
    b.joint("egg", ns.joints.Free(), parent="world", child="egg")
    b.contact(ns.contacts.Rolling(name="c", body="egg", wheel=ns.surfaces.Ball(radius=0.2)))
    ball = ns.evaluate(ns.System(equations=ns.derive(b.build())), state)
    assert found.accelerations == pytest.approx(ball.accelerations, abs=1e-12)
    ns.save_model(model, tmp_path / "again.toml")
    assert ns.load(tmp_path / "again.toml") == model
    assert 'h]\nexpression = "sqrt(ex*axis(egg, x).z' in (tmp_path / "again.toml").read_text()


def test_named_angles_and_definitions_in_rows_and_speeds() -> None:
    """A tilt that a position row prescribes, and a speed named by its rate."""
    b = ns.ModelBuilder("top", gravity=(0.0, 0.0, -9.81))
    b.body("top", mass=1.0, inertia=(0.02, 0.02, 0.01), center_of_mass=(0.0, 0.0, 0.3))
    names = ns.joints.Angles(sequence="zxz", names=("yaw", "tilt", "spin"))
    b.joint("top", ns.joints.Spherical(angles=names), parent="world", child="top")
    b.definition("lean", "top.tilt - 0.5 - 0.1*sin(t)", "rad")
    b.row(ns.rows.PositionRow(name="held", expression="lean", unit="rad"))
    b.independent_speed("turning", "top.yaw_rate", "rad/s")
    b.independent_speed("whirl", "angular_velocity(top).z", "rad/s")
    model = b.build()
    assert ns.verify(model, states=2).holds
    system = ns.compile(ns.derive(model))
    start = {"top.tilt": 0.5, "turning": 2.0, "whirl": 5.0}
    outputs = {"yaw_rate": "rate(top.yaw)", "yaw_rate2": "rate(rate(top.yaw))"}
    run = ns.simulate(system, start=start, duration=2.0, outputs=outputs, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run["top.tilt"], 0.5 + 0.1 * np.sin(run.t), atol=1e-10)
    np.testing.assert_allclose(run["turning"], run["top.yaw_rate"], atol=1e-10)
    np.testing.assert_allclose(run["turning"], run["yaw_rate"], atol=1e-12)
    closer = ns.simulate(
        system, start=start, duration=2.0, samples=1.0 + 1e-4 * np.arange(-2, 3), rtol=1e-13
    )
    slope = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) @ closer["turning"] / 12e-4
    assert slope == pytest.approx(np.interp(1.0, run.t, run["yaw_rate2"]), abs=1e-6)


def _faulty(*, definitions: dict[str, str], rows: dict[str, str]) -> list[str]:
    b = ns.ModelBuilder("cart", gravity=(0.0, 0.0, -9.81))
    b.parameter("l", 0.5, "m")
    b.body("cart", mass=1.0, moment=0.1)
    b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
    for name, text in definitions.items():
        b.definition(name, text, "m/s" if name == "timed" else "")
    for name, text in rows.items():
        kind = ns.rows.PositionRow if name.startswith("p") else ns.rows.VelocityRow
        b.row(kind(name=name, expression=text))
    with pytest.raises(ns.ModelError) as caught:
        b.build()
    return [fault.what for fault in caught.value.faults]


def test_all_faults_at_once() -> None:
    said = _faulty(
        definitions={"one": "two + 1", "two": "3*one", "l": "1", "far": "point(crat).x"},
        rows={
            "v1": "velocity(cart, cart.x, 0, 0).y",
            "v2": "velocity(cart).x*velocity(cart).y",
            "v3": "rate(cart.vx)",
            "v4": "point(cart).x",
            "p1": "velocity(cart).x",
            "p2": "l - 0.5",
            "p3": "axis(cart, w).x",
        },
    )
    for words in (
        "definition 'one' uses itself: one → two → one",
        "definition 'l' has the name of a parameter",
        "uses body 'crat', which is not declared",
        "has 'cart.x' in the place of a point of 'cart'",
        "not linear in the speeds",
        "an expression of accelerations",
        "without a speed",
        "of speeds, but is a row on positions",
        "without a coordinate",
        "'w' is not an axis of a body",
    ):
        assert any(words in what for what in said), words


def test_definitions_that_double_do_not_stall() -> None:
    """Each uses the one before it twice: shared when traced, 2^40 terms if written out."""

    def traced(depth: int) -> ns.Equations:
        b = ns.ModelBuilder("cart", gravity=(0.0, 0.0, -9.81))
        b.body("cart", mass=1.0, moment=0.1)
        b.joint("cart", ns.joints.Planar(), parent="world", child="cart")
        b.definition("d0", "velocity(cart).y")
        for k in range(depth):
            b.definition(f"d{k + 1}", f"d{k}*cos(cart.angle)^2 + d{k}*sin(cart.angle)^2")
        b.row(ns.rows.VelocityRow(name="row", expression=f"d{depth}"))
        return ns.derive(b.build())

    # as many operations for each definition, where they are still few: a depth of 12 is 4096 terms
    four, eight, twelve = (ca.n_nodes(traced(n).kinematics.A) for n in (4, 8, 12))
    assert twelve - eight == eight - four < 100
    found = ns.evaluate(ns.System(equations=traced(40)), {"cart.vx": 1.0})
    assert found.speed_residual == 0.0


@pytest.mark.parametrize(
    "text, said",
    [
        ("point(a, 1).z", "write point(body, 0.1, 0, 0).z"),
        ("point(a)", "a component is missing"),
        ("axis(a).x", "an axis of the body"),
        ("point(1, 0, 0, 0).x", "it must name a body"),
        ("rate()", "it ends where|not expected"),
        ("angular_velocity(a, 1, 2, 3).x", "write angular_velocity(body).z"),
    ],
)
def test_measures_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said.replace("(", r"\(").replace(")", r"\)")):
        parse(text)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"events": {"a": "acceleration(wheel1).z"}}, "an acceleration is used"),
        ({"outputs": {"a": "point(whel1).z"}}, "did you mean 'wheel1'"),
        ({"outputs": {"a": "rate(torque1)"}}, "the rate of an input is requested"),
        ({"outputs": {"wheel1.rate": "t"}}, "has the name of a column"),
        ({"outputs": {1: "t"}}, "has no name"),
        ({"outputs": {"a": 3.0}}, "an expression is expected"),
    ],
)
def test_runs_that_are_refused(system_of: SystemOf, given: dict[str, dict], said: str) -> None:
    with pytest.raises(ns.SimulationError, match=said):
        ns.simulate(system_of("agv"), duration=1.0, **given)
