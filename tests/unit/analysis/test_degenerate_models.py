"""Everything public over models whose rows say nothing, repeat each other, or leave no freedom."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import known_formats
from noslip.cli.main import main
from noslip.formats import AbstractEquationFormat
from noslip.formulations import known_formulations
from noslip.show.equations.derivations import derivation

Z = (0.0, 0.0, 1.0)
CENTER = (0.1, 0.05, 0.02)
METHODS = tuple(known_formulations().values())


def in_plane(name, *rows, motion=None):
    """A body in the plane with rows of its own."""
    b = ns.ModelBuilder(name=name, gravity=(0.0, -9.81, 0.0))
    b.body("p", mass=2.0, inertia=(0.1, 0.2, 0.3), center_of_mass=CENTER)
    b.joint("p", ns.joints.Planar(), parent="world", child="p", motion=motion)
    for k, expression in enumerate(rows):
        b.row(ns.rows.VelocityRow(name=f"row{k}", expression=expression))
    return b


def ball_of_a_planar_joint():
    """The joint holds the height that the contact's only row asks for."""
    b = in_plane("height")
    ball = ns.surfaces.Ball(radius=0.5)
    b.contact(
        ns.contacts.Rolling(
            name="ball",
            body="p",
            wheel=ball,
            center=(0.0, 0.0, 0.5),
            longitudinal=False,
            lateral=False,
            normal=True,
        )
    )
    return b


def held_by_speed_inputs():
    b = in_plane("held")
    for speed in ("vx", "vy", "rate"):
        b.speed_input(f"input_{speed}", f"p.{speed}")
    return b


def bars(name, *, close):
    """Two bars fixed to each other, and to the world at one end or at both."""
    b = ns.ModelBuilder(name=name, gravity=(0.0, 0.0, -9.81))
    at = ns.Placement(position=(1.0, 0.0, 0.0))
    for bar in ("left", "right"):
        b.body(bar, mass=1.5, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.3, 0.0, 0.0))
    b.joint("wall", ns.joints.Fixed(), parent="world", child="left")
    b.joint("weld", ns.joints.Fixed(), parent="left", child="right", parent_frame=at)
    if close:
        b.joint("other_wall", ns.joints.Fixed(), parent="world", child="right", parent_frame=at)
    return b


def truss():
    """Two bars on pins that meet: a loop that cannot move."""
    b = ns.ModelBuilder(name="truss", gravity=(0.0, -9.81, 0.0))
    at = ns.Placement(position=(1.0, 0.0, 0.0))
    for bar in ("a", "b"):
        b.body(bar, mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.5, 0.0, 0.0))
    pin = ns.joints.Revolute(axis=Z)
    b.joint("a", pin, parent="world", child="a")
    b.joint("b", pin, parent="world", child="b", parent_frame=at)
    b.joint("top", pin, parent="a", child="b", parent_frame=at, child_frame=at)
    return b


def led_rod():
    b = ns.ModelBuilder(name="led-rod", gravity=(0.0, -9.81, 0.0))
    b.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.4, 0.0, 0.0))
    b.joint("pin", ns.joints.Revolute(axis=Z), parent="world", child="rod")
    b.row(ns.rows.VelocityRow(name="clock", expression="pin.rate - 0.3", unit="rad/s"))
    return b


REPEATED = ("p.vx - 0.5*p.rate", "2*p.vx - p.rate", "p.vx - 0.5*p.rate")
LED = {"x": "0.3*sin(2*t)", "y": "0.1*t", "angle": "0.2*t**2"}
MODELS = {
    "row that says nothing": in_plane("nothing", "0*p.vx"),
    "contact that holds by itself": ball_of_a_planar_joint(),
    "rows repeated": in_plane("repeated", *REPEATED),
    "fixed by rows": in_plane("fixed-by-rows", "p.vx", "p.vy", "p.rate"),
    "fixed by rows, one too many": in_plane("too-many", "p.vx", "p.vy", "p.rate", "p.vx + p.vy"),
    "fixed joints": bars("bars", close=False),
    "fixed joints in a loop": bars("closed-bars", close=True),
    "loop that cannot move": truss(),
    "motion prescribed": in_plane("led", motion=LED),
    "speed that a row prescribes": led_rod(),
    "speed inputs": held_by_speed_inputs(),
    "no rows": in_plane("thrown"),
}
IMMOBILE = {"fixed joints", "fixed joints in a loop"}  # no coordinates at all
MOBILE = [name for name in MODELS if name not in IMMOBILE]
#: Models whose runs are drawn: without freedom, led, and with a contact; with --long all are.
DRAWN = {"fixed by rows", "motion prescribed", "contact that holds by itself"}
FREE = {"row that says nothing", "contact that holds by itself", "rows repeated", "no rows"}


@pytest.fixture(scope="module")
def systems():
    return {name: ns.compile(ns.derive(b.build())) for name, b in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_formulations_agree(name):
    found = ns.verify(MODELS[name].build())
    assert found.holds, found.text()
    assert found.worst < 1e-13


@pytest.mark.parametrize("name", MODELS)
def test_every_formulation_gives_the_same_instant(name, systems, pytestconfig):
    """Accelerations, multipliers and joint wrenches, redundant rows included."""
    system = systems[name]
    is_long = pytestconfig.getoption("--long")
    expected = ns.evaluate(system, {}, time=0.3)
    assert list(expected.multipliers) == [row.name for row in system.kinematics.rows]
    for method in METHODS:
        equations = ns.derive(system.model, method)
        # `evaluate` compiles the rates alone; the rest goes through the interpreter
        other = ns.compile(equations) if is_long else ns.System(equations=equations)
        found = ns.evaluate(other, {}, time=0.3)
        if not method.is_dalembert:
            continue
        for part in ("accelerations", "multipliers"):
            assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=1e-12)
        for joint, wrench in found.joint_reactions.items():
            wanted = expected.joint_reactions[joint]
            assert wrench == pytest.approx(wanted, abs=1e-11, nan_ok=True)
    assert json.loads(json.dumps(expected.to_json()))["multipliers"] == expected.multipliers
    assert "multipliers" in expected.text()


def test_rows_that_say_nothing_push_with_nothing(systems):
    for name in ("row that says nothing", "contact that holds by itself", "fixed joints in a loop"):
        found = ns.evaluate(systems[name], {}).multipliers
        assert found and set(found.values()) == {0.0}
        # and the motion is the one without them
        fall = {"row that says nothing": -9.81, "contact that holds by itself": -9.81}.get(name)
        if fall is not None:
            instant = ns.evaluate(systems[name], {})
            assert instant.accelerations == pytest.approx(
                {"p.vx": 0.0, "p.vy": fall, "p.rate": 0.0}, abs=1e-12
            )


def test_repeated_rows_share_by_least_norm(systems):
    """m v̇ = … + Aᵀλ with A = (1, 2, 1) of one row: shares go as the rows do."""
    found = ns.evaluate(systems["rows repeated"], {"p.angle": 0.4, "p.rate": 2.0}).multipliers
    assert found["row1"] == pytest.approx(2 * found["row0"], rel=1e-12)
    assert found["row2"] == pytest.approx(found["row0"], rel=1e-12)
    assert abs(found["row0"]) > 0.1


def test_fixed_bodies_are_held_by_their_weight():
    """Rows, walls and pins carry what Newton's laws ask for, whatever holds the bodies."""
    rows = ns.evaluate(ns.compile(ns.derive(MODELS["fixed by rows"].build())), {}).multipliers
    weight = 2.0 * 9.81
    expected = {"row0": 0.0, "row1": weight, "row2": weight * CENTER[0]}
    assert rows == pytest.approx(expected, abs=1e-12)
    walls = ns.evaluate(ns.compile(ns.derive(MODELS["fixed joints"].build())), {}).joint_reactions
    assert walls["wall"]["z"] == pytest.approx(3.0 * 9.81, rel=1e-14)
    assert walls["wall"]["moment_y"] == pytest.approx(-1.5 * 9.81 * (0.3 + 1.3), rel=1e-14)
    assert walls["weld"]["moment_y"] == pytest.approx(-1.5 * 9.81 * 0.3, rel=1e-14)


@pytest.mark.parametrize("name", MOBILE)
def test_runs_reactions_and_audits(name, systems, tmp_path):
    system = systems[name]
    rows = [f"reaction.{row.name}" for row in system.kinematics.rows]
    for options in ({}, {"method": "rk4", "step": 0.05}):
        run = ns.simulate(system, duration=0.2, samples=5, reactions=True, **options)
        assert run.summary()
        for column in run.columns:
            assert np.all(np.isfinite(run[column])), column
    for axes in ("world", "body", "contact"):
        found = ns.reactions(system, run, axes=axes)
        assert len(found) == len(system.model.joints) + len(system.model.contacts)
    audit = ns.audit(system, run, friction=0.5)
    assert audit.text() and audit.to_json(samples=True) and repr(audit)
    batch = ns.simulate_batch(system, duration=0.2, count=3, columns=rows or None)
    one = ns.simulate(system, duration=0.2, samples=2, reactions=True)
    for column in rows:
        assert batch[column] == pytest.approx(one[column][-1], abs=1e-8)
    run.to_netcdf(tmp_path / "run.nc")
    run.to_csv(tmp_path / "run.csv")
    ns.write_run(run, tmp_path / "folder", plots=False)  # `test_commands` draws
    again = ns.read_run(tmp_path / "folder")
    for column in rows:
        assert again[column] == pytest.approx(run[column], abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_kinematics_and_dynamics_both_ways(name, systems):
    system = systems[name]
    body = system.model.bodies[0].name
    moved = ns.direct_kinematics(system, {})
    wanted = [*moved[body].velocity, *moved[body].angular_velocity]
    back = ns.inverse_kinematics(system, {}, body=body, velocity=wanted)
    assert np.max(np.abs(back.residual)) < 1e-12
    assert back.speeds == pytest.approx(ns.evaluate(system, {}).speeds, abs=1e-12)
    found = ns.inverse_dynamics(system, {}, {})
    assert found.inputs == {} and len(found.unreachable) == len(system.independent_speeds)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in FREE])
def test_without_freedom_there_is_nothing_to_solve_for(name, systems):
    system = systems[name]
    assert system.independent_speeds == ()
    body = system.model.bodies[0].name
    with pytest.raises(ns.SimulationError, match="no degrees of freedom") as caught:
        ns.cartesian_model(system, {}, body=body, components=())
    assert system.model.name in caught.value.where
    if name != "motion prescribed":
        line = ns.linearize(system)
        assert line.speeds == () and line.is_stable and line.text()
        assert ns.steady(system, {}).text()
    for method in METHODS:
        written = derivation(ns.derive(system.model, method))
        for format in known_formats(AbstractEquationFormat).values():
            assert "Equations of motion" in format.text(written.title, written.sections)
    text = ns.equations_text(system.equations, format="text")
    assert "nothing to solve for" in text


def test_what_cannot_move_has_no_history(systems):
    for name in IMMOBILE:
        still = ns.motions.ExpressionMotion(coordinates={})
        with pytest.raises(ns.SimulationError, match="has no coordinates") as caught:
            ns.kinematic_history(systems[name], still, duration=1.0)
        assert systems[name].model.name in caught.value.where


@pytest.mark.parametrize("name", MODELS)
def test_commands(name, systems, tmp_path, derive_once, pytestconfig):
    path = tmp_path / "model.toml"
    ns.save_model(systems[name].model, path)
    target = str(Path(tmp_path) / "out")
    commands = [["check"], ["verify"], ["derive"], ["evaluate", "--time", "0.5"]]
    if name not in IMMOBILE:
        is_drawn = name in DRAWN or pytestconfig.getoption("--long")
        plots = [] if is_drawn else ["--no-plots"]
        commands.append(["run", "--duration", "0.1", "-o", target, *plots])
    for command, *options in commands:
        found = CliRunner().invoke(main, [command, str(path), *options])
        assert found.exit_code == 0, found.output


def test_a_row_that_begins_to_say_something_is_refused():
    b = in_plane("zero", "k*p.vx")
    b.parameter("k", 0.0, "1")
    system = ns.compile(ns.derive(b.build()))
    with pytest.raises(
        ns.SimulationError, match="'row0' held by itself with the nominal"
    ) as caught:
        ns.simulate(system, duration=0.1, parameters={"k": 1.0})
    assert "zero" in caught.value.where and "derive it again" in caught.value.fix
