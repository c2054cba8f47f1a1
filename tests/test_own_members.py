"""Members of the families of models and formulations from outside the package work everywhere.

They are defined in `tests/models/own_members.py` and `own_vehicle_members.py`, which nothing of the
package knows. `test_own_formats.py`, `test_own_studies.py` and `unit/control/test_own_control.py`
do the same for the other families.
"""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import find_member, members_of, words_of
from noslip.base.families import isolated, load_plugin
from noslip.cli import main
from noslip.forces import AbstractForce
from noslip.formulations import known_formulations
from noslip.joints import AbstractJointType
from noslip.model import NumberReader, load_model, model_to_toml, parse_model
from noslip.shapes import AbstractShape
from noslip.surfaces import AbstractSurface

PLUGIN = Path(__file__).parent / "models" / "own_members.py"
VEHICLE = PLUGIN.with_name("own_vehicle_members.py")
SOURCE = Path(ns.__file__).parent


@pytest.fixture(scope="module")
def own():
    with isolated():
        yield load_plugin(PLUGIN)


@pytest.fixture(scope="module")
def model(own):
    return own.rocker()


@pytest.fixture(scope="module")
def system(model, own):
    return ns.compile(ns.derive(model, own.Kane()))


@pytest.fixture(scope="module")
def scenario_run(system):
    return ns.run_scenario(system)


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "rocker.toml"
    ns.save_model(model, path)
    return path


def command(*words):
    result = CliRunner().invoke(main, [str(w) for w in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


# by Python


def test_each_is_found_by_its_word(own):
    assert find_member(AbstractJointType, "own_screw") is own.Screw
    assert find_member(AbstractSurface, "own_ellipsoid") is own.Ellipsoid
    assert find_member(AbstractForce, "own_drag") is own.Drag
    assert find_member(AbstractShape, "own_cone") is own.Cone
    assert type(known_formulations()["own_kane"]) is own.Kane


def test_each_keeps_the_contract_of_its_family(own):
    ns.check_member(own.Screw(axis=(0.3, -0.5, 0.9), lead="p"), {"p": 0.1})
    ns.check_member(own.Ellipsoid(size=(0.4, 0.35, 0.3)))
    ns.check_member(own.Cone(radius=0.05, length=0.15))
    ns.check_member(own.Kane())


def test_a_saved_model_is_loaded_again(model, file):
    assert load_model(file) == model
    text = file.read_text()
    for word in ("own_screw", "own_ellipsoid", "own_drag", "own_cone"):
        assert f'type = "{word}"' in text


def test_all_formulations_agree_the_own_one_among_them(model):
    certificate = ns.verify(model)
    assert certificate.holds
    assert "Kane's equations" in certificate.formulations


def test_a_ball_as_an_ellipsoid_moves_as_the_ball_does(own):
    def rolling(surface):
        b = ns.ModelBuilder(name="rolling", gravity=(0.0, 0.0, -9.81))
        b.body("ball", mass=1.0, inertia=(0.1, 0.2, 0.25), center_of_mass=(0.05, 0.02, -0.1))
        b.joint("ball", ns.joints.Free(), parent="world", child="ball")
        b.contact(ns.contacts.Rolling(name="ground", body="ball", wheel=surface))
        system = ns.compile(ns.derive(b.build()))
        start = {"ball.wx": 1.0, "ball.wy": -2.0, "ball.wz": 0.5}
        return ns.simulate(system, duration=2.0, start=start, rtol=1e-11, atol=1e-11)

    one = rolling(ns.surfaces.Ball(radius=0.3))
    other = rolling(own.Ellipsoid(size=(0.3, 0.3, 0.3)))
    assert other.q == pytest.approx(one.q, abs=1e-8)


def test_a_screw_closes_a_loop(own):
    """A carriage on a slider, its nut tied to the screw by a second joint."""
    b = ns.ModelBuilder(name="press", gravity=(0.0, 0.0, -9.81))
    b.body("spindle", mass=1.0, inertia=(0.01, 0.01, 0.02))
    b.body("carriage", mass=3.0, inertia=(0.1, 0.1, 0.1))
    b.joint("spin", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="spindle")
    b.joint("slide", ns.joints.Prismatic(axis=(0.0, 0.0, 1.0)), parent="world", child="carriage")
    # the carriage sinks by 0.05 m as the spindle turns by −1 rad against it
    b.joint(
        "thread", own.Screw(axis=(0.0, 0.0, 1.0), lead=0.05), parent="spindle", child="carriage"
    )
    model = b.build()
    assert ns.verify(model).holds
    run = ns.simulate(ns.compile(ns.derive(model)), duration=0.5, rtol=1e-11, atol=1e-11)
    # m p² + J about the axis, driven by m g p
    expected = 3.0 * 9.81 * 0.05 / (0.02 + 3.0 * 0.05**2)
    assert run["spin.rate"][-1] == pytest.approx(expected * 0.5, rel=1e-9)


def test_energy_is_kept_but_for_what_drag_takes(scenario_run):
    run = scenario_run
    assert run.ending is ns.Ending.FINISHED
    assert "energy drift" in run.summary()
    assert np.nanmax(np.abs(run["energy_error"])) < 1e-8


@pytest.mark.parametrize("format", ["text", "latex", "html", "markdown"])
def test_its_equations_are_written_and_confirmed(system, format):
    text = ns.equations_text(system.equations, format)
    assert "agree with the compiled functions" in text
    assert "own_screw" in text.replace("\\allowbreak{}", "").replace("\\_", "_")


def test_a_run_is_left_read_and_reported(scenario_run, system, tmp_path):
    ns.write_run(scenario_run, tmp_path / "run", system=system)
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    again = ns.read_run(tmp_path / "run")
    assert again.q == pytest.approx(scenario_run.q)
    ns.write_report(system, scenario_run, tmp_path / "report.html")
    assert "Kane" in (tmp_path / "report.html").read_text()


def test_it_is_drawn_by_its_own_triangles_and_its_support_function(model, own):
    from noslip.scene.assembly import scene

    parts = {part.body: part for part in scene(model).parts if part.body != "world"}
    assert {"stone", "nut"} <= set(parts)
    cone = own.Cone(radius=0.05, length=0.15)
    points, faces = cone.triangles(NumberReader({}))
    # the volume by the divergence theorem is that of the 32-sided cone
    a, b, c = (points[faces[:, k]] for k in range(3))
    volume = np.sum(a * np.cross(b, c)) / 6
    assert volume == pytest.approx(32 * 0.05**2 * np.sin(np.pi / 16) / 2 * 0.15 / 3, rel=1e-12)
    ellipsoid = own.Ellipsoid(size=(0.4, 0.35, 0.3))
    shape, _ = ellipsoid.shapes(np.zeros(3), NumberReader({}))
    points, _ = shape.triangles(NumberReader({}))
    assert np.sum((points / [0.4, 0.35, 0.3]) ** 2, axis=1) == pytest.approx(1.0, rel=1e-12)


# on the command line


def test_commands_take_it(file, tmp_path):
    plugin = ("--plugin", PLUGIN)
    assert "nut.turn [rad]" in command("check", file, *plugin)
    assert "6 formulations agree" in command("verify", file, *plugin)
    assert "Kane's equations" in command("derive", file, "--method", "own_kane", *plugin)
    assert "rocker" in command("run", file, "-o", tmp_path / "run", "--no-plots", *plugin)
    command("evaluate", file, *plugin)
    # before the command too
    assert "nut.turn [rad]" in command(*plugin, "check", file)


def test_a_plugin_is_needed_and_asked_for_in_a_process_of_its_own(file):
    words = [sys.executable, "-m", "noslip.cli", "check", str(file)]
    alone = subprocess.run(words, capture_output=True, text=True, check=False)
    assert alone.returncode == 1
    assert 'has type "own_screw"' in alone.stderr
    assert "--plugin MODULE" in alone.stderr
    assert "Traceback" not in alone.stderr
    named = subprocess.run(
        [*words, "--plugin", str(PLUGIN)], capture_output=True, text=True, check=False
    )
    assert named.returncode == 0, named.stderr


# a ground, a contact, a row and a part


@pytest.fixture(scope="module")
def vehicle():
    with isolated():
        yield load_plugin(VEHICLE)


@pytest.fixture(scope="module")
def fairground(vehicle):
    return ns.compile(ns.derive(vehicle.fairground()))


@pytest.fixture(scope="module")
def fairground_run(fairground):
    return ns.run_scenario(fairground)


def test_ground_contact_and_row_are_saved_loaded_and_verified(fairground, tmp_path):
    path = tmp_path / "fairground.toml"
    ns.save_model(fairground.model, path)
    text = path.read_text()
    for word in ("own_waves", "own_spike", "own_ratio"):
        assert f'type = "{word}"' in text
    with isolated():
        result = CliRunner().invoke(main, ["verify", str(path), "--plugin", str(VEHICLE)])
        assert result.exit_code == 0, result.output
        assert "formulations agree" in result.output
        assert load_model(path) == fairground.model


def test_a_part_in_a_file_becomes_what_it_stands_for(vehicle):
    text = """
format = 1
name = "rotors"
gravity = [0, 0, -9.81]
[parameters]
m = {value = 0.5, unit = "kg"}
[parts]
rotor = {type = "own_rotor", parent = "world", mass = "m", radius = 0.2, position = [0.1, 0, 0]}
"""
    model, _ = parse_model(text)
    (joint,) = model.joints
    assert (joint.name, joint.parent_frame.position) == ("rotor", (0.1, 0.0, 0.0))
    found = ns.evaluate(ns.compile(ns.derive(model)), {}, parameters={"m": 0.8})
    assert found.mass_matrix == pytest.approx(np.array([[0.8 * 0.2**2 / 2]]), rel=1e-14)


def test_the_run_keeps_energy_ratio_and_spike(fairground_run):
    run = fairground_run
    assert run.success and np.nanmax(np.abs(run["energy_error"])) < 1e-8
    assert run["left.rate"] == pytest.approx(-2 * run["right.rate"], abs=1e-14)
    # the point (0.1, 0.05) of the board stays
    c, s = np.cos(run["board.angle"]), np.sin(run["board.angle"])
    at = np.array([run["board.x"] + 0.1 * c - 0.05 * s, run["board.y"] + 0.1 * s + 0.05 * c])
    assert at == pytest.approx(np.tile(at[:, :1], len(c)), abs=1e-9)
    assert np.ptp(run["board.angle"]) > 1e-4


def test_the_ball_swings_in_the_trough_at_its_frequency(fairground, vehicle):
    rest = ns.steady(fairground, {"ball.x": 0.0, "ball.y": 0.0, "left.rate": 0.0})
    line = ns.linearize(fairground, rest.start, inputs=rest.inputs)
    assert np.max(line.eigenvalues.imag) == pytest.approx(vehicle.frequency_in_trough(), rel=1e-9)


def test_it_is_reported_animated_and_in_the_scene(fairground, fairground_run, tmp_path):
    from noslip.scene.assembly import scene
    from noslip.studio.choice import Mechanism

    ns.write_run(fairground_run, tmp_path / "run", system=fairground, plots=False)
    report = (tmp_path / "run" / "report.html").read_text()
    assert "own_waves" in report and "gears" in report
    ns.animate(fairground_run, tmp_path / "fairground.html")
    assert (tmp_path / "fairground.html").stat().st_size > 10_000
    ground = [part.vertices[:, 2] for part in scene(fairground.model).parts if part.is_ground]
    # drawn from trough to crest
    assert np.ptp(np.concatenate(ground)) > 2 * 0.05 * 0.99
    assert "spike" in Mechanism(fairground.model).equations_html("complement")


def board(contact):
    """A body that is free to move, with one contact."""
    b = ns.ModelBuilder(name="board", gravity=(0.0, 0.0, -9.81))
    b.body("board", mass=1.0, inertia=(0.02, 0.03, 0.04), center_of_mass=(0.0, 0.0, -0.02))
    b.joint("board", ns.joints.Free(), parent="world", child="board")
    b.contact(contact)
    return b.build()


def test_a_contact_of_ones_own_rolls_on_curved_ground_by_its_surface(vehicle, refuses):
    waves = vehicle.Waves(amplitude=0.05, length=2.0)

    class Curved(vehicle.Spike):
        form = waves

    class Tracked(Curved):
        surface = ns.surfaces.Ball(radius=0.1)

        def directions(self):
            return ns.contacts.Rolling(name="x", body="x", wheel=self.surface).directions()

        def parameters(self):
            return self.form.parameters()

        def wheel_center(self):
            return self.point

    with refuses(ns.ModelError, "has no surface that rolls", "contacts.spike", "`surface`"):
        ns.trace(board(Curved(name="spike", body="board")))
    one = ns.trace(board(Tracked(name="spike", body="board")))
    other = ns.trace(
        board(ns.contacts.Rolling(name="spike", body="board", wheel=Tracked.surface, ground=waves))
    )
    t, q = other.probe.configurations(1)[0]
    matrices = []
    for kin in (one, other):
        A = ca.Function("A", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [kin.A])
        matrices.append(np.array(ca.densify(A(t, q, []))))
    assert matrices[0] == pytest.approx(matrices[1], abs=1e-14)


# plugins and words


def test_what_others_call_it_is_told(model):
    text = model_to_toml(model).replace('"own_screw"', '"spiral_nut"')
    with pytest.raises(ns.ModelError, match="did you mean 'own_screw'"):
        parse_model(text)


def test_a_word_is_taken_once(own):
    with pytest.raises(ns.NoslipError, match="two classes have the word 'revolute'") as raised:

        class Other(ns.joints.AbstractJointType):
            word = "revolute"

    assert "Other" in raised.value.faults[0].where
    assert "noslip.model.joints.Revolute" in raised.value.faults[0].where
    assert "another word" in raised.value.faults[0].fix
    assert find_member(AbstractJointType, "revolute") is ns.joints.Revolute


def test_families_are_again_what_they_were():
    before = words_of(AbstractShape)
    with isolated():
        load_plugin(PLUGIN)
        assert "own_cone" in words_of(AbstractShape)
    assert words_of(AbstractShape) == before
    with isolated():
        # a module that is loaded again is known again
        load_plugin(PLUGIN)
        assert "own_cone" in words_of(AbstractShape)


@pytest.mark.parametrize(
    ("name", "text", "what", "fix"),
    [
        ("missing.py", None, "there is no file", "check the name"),
        ("no_such_module_here", None, "there is no module", "check the name"),
        ("broken.py", "x = 1\nraise ValueError('no')\n", "ValueError: no", "correct the module"),
        ("needs.py", "import no_such_module_here\n", "no_such_module_here", "correct the module"),
    ],
)
def test_a_plugin_at_fault_is_told(name, text, what, fix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ns.NoslipError) as raised:
        load_plugin(name)
    (fault,) = raised.value.faults
    assert what in fault.what
    assert name in fault.where
    assert fix in fault.fix
    result = CliRunner().invoke(main, ["--plugin", name, "list"])
    assert result.exit_code == 1
    assert what in result.output


def test_a_field_that_no_file_can_hold_is_told():
    from dataclasses import dataclass

    with isolated():

        @dataclass(frozen=True, kw_only=True)
        class Table(ns.forces.AbstractForce):
            name: str
            values: object

            word = "own_table"

            def apply(self, loads):
                pass

        b = ns.ModelBuilder(name="m", gravity=(0.0, 0.0, 0.0))
        b.body("a", mass=1.0, inertia=(1.0, 1.0, 1.0))
        b.joint("a", ns.joints.Free(), parent="world", child="a")
        b.force(Table(name="t", values=None))
        with pytest.raises(ns.ModelError, match="field 'values' of Table"):
            b.build()


def test_installed_plugins_are_loaded_when_a_word_is_not_known(tmp_path):
    """A distribution with an entry point in the group ``noslip``."""
    info = tmp_path / "rods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[noslip]\nrods = rods\n")
    (tmp_path / "rods.py").write_text(PLUGIN.read_text().replace("own_", "installed_"))
    code = (
        "import sys; import noslip as ns\n"
        "from noslip.base.families import find_member, words_of\n"
        "from noslip.model.joints import AbstractJointType\n"
        "assert 'rods' not in sys.modules\n"
        "assert find_member(AbstractJointType, 'revolute') and 'rods' not in sys.modules\n"
        "assert find_member(AbstractJointType, 'installed_screw')\n"
        "assert find_member(AbstractJointType, 'nothing') is None\n"
        "from noslip.formulations.derivation import known_formulations\n"
        "assert 'installed_kane' in known_formulations()\n"
    )
    path = f"{tmp_path}:{Path(ns.__file__).parent.parent}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


FAMILIES = [
    (".".join(file.relative_to(SOURCE.parent).with_suffix("").parts), name)
    for file in sorted(SOURCE.rglob("*.py"))
    for name in re.findall(r'^class (\w+)\(.*family="', file.read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def installed_words(tmp_path_factory):
    """Family → its words, from one process with an installed distribution of a member for each."""
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "many-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: many\nVersion: 1.0\n")
    points = [f"{name} = installed_{name}" for _, name in FAMILIES]
    (info / "entry_points.txt").write_text("\n".join(["[noslip]", *points, ""]))
    for module, name in FAMILIES:
        text = f"from {module} import {name}\nclass Member{name}({name}):\n    word = 'installed'\n"
        (folder / f"installed_{name}.py").write_text(text)
    code = "import importlib, json, sys\nfrom noslip.base.families import find_member, words_of\n"
    code += f"bases = [getattr(importlib.import_module(m), n) for m, n in {FAMILIES}]\n"
    code += "before = [n for n in sys.modules if n.startswith('installed_')]\n"
    code += "found = {b.__name__: find_member(b, 'installed').__module__ for b in bases}\n"
    code += "print(json.dumps([before, found, {b.__name__: words_of(b) for b in bases}]))"
    path = f"{folder}{os.pathsep}{SOURCE.parent}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [name for _, name in FAMILIES])
def test_every_family_finds_members_of_installed_plugins(installed_words, name):
    before, found, words = installed_words
    assert before == [] and found[name] == f"installed_{name}"
    assert words[name].count("installed") == 1


#: Plugins that tests take through everything.
PLUGINS = (
    *sorted(PLUGIN.parent.glob("own_*.py")),
    PLUGIN.parents[1] / "unit" / "control" / "own_control_parts.py",
)


def test_every_family_has_a_member_outside_the_package_in_tests_and_on_the_page():
    """A family that is new needs one of both: see `tests/models/own_*.py`, docs/extending.md."""
    page = (SOURCE.parents[1] / "docs" / "extending.md").read_text()
    with isolated():
        for plugin in PLUGINS:
            load_plugin(plugin)
        for module, name in FAMILIES:
            family = getattr(importlib.import_module(module), name)
            own = [m for m in members_of(family) if not m.__module__.startswith("noslip.")]
            assert own, f"no plugin of the tests has a {family.family}"
            bases = {base.__name__ for m in own for base in m.__mro__ if issubclass(base, family)}
            assert any(
                f"({base})" in page or re.search(rf"ns(\.\w+)?\.{base}\)", page) for base in bases
            ), name


def test_a_member_with_a_word_is_in_exactly_one_family(own):
    families = (AbstractJointType, AbstractSurface, AbstractForce, AbstractShape)
    members = [m for family in families for m in members_of(family)]
    assert len(members) == len(set(members))
