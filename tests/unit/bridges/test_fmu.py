"""Functional mock-up units, validated and simulated by FMPy, against our own runs."""

import dataclasses
import io
import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile

import casadi as ca
import numpy as np
import pytest
from small_mechanisms import cart

import noslip as ns
from noslip.bridges import fmu as target

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
needs_compiler = pytest.mark.skipif(
    target.find_compiler() is None, reason="there is no C compiler on the path"
)

DRIVE = {"torque1": 0.2, "torque2": -0.1}
START = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}


def write(system, folder, **options):
    path = folder / "model.fmu"
    done = ns.export(system, path, overwrite=True, **options)
    return str(path), done


def entries(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def ours(run, names, k=-1):
    return [run[name][k] for name in names]


@pytest.mark.parametrize("version", [2, 3])
def test_the_validator_finds_nothing(version, system_of, tmp_path, pytestconfig):
    from fmpy.validation import validate_fmu

    is_long = pytestconfig.getoption("--long")
    for name in ns.MODELS if is_long else ("tractor-trailer", "rolling-disk"):
        path, _ = write(system_of(name), tmp_path, version=version, binary=is_long)
        assert validate_fmu(path) == [], name
        found = fmpy.read_model_description(path)
        assert (found.fmiVersion, found.coSimulation is not None) == (f"{version}.0", True)
        assert (found.modelExchange is not None) == (version == 3)


def test_variables_have_units_causality_and_start_values(system_of, tmp_path):
    system = system_of("tractor-trailer")
    path, _ = write(system, tmp_path, start={"hinge.angle": 0.3, "tractor.vx": 2.0}, binary=False)
    found = {v.name: v for v in fmpy.read_model_description(path).modelVariables}
    assert found["hinge.angle"].unit == "rad" and float(found["hinge.angle"].start) == 0.3
    assert found["hinge.angle"].causality == "output"
    assert found["eta[1]"].causality == "local" and float(found["eta[1]"].start) == 2.0
    # in one basis it is a speed ahead, in the other a rate of turning
    assert found["eta[1]"].unit is None and "[rad/s] in basis 1" in found["eta[1]"].description
    assert found["steering_rate"].causality == "input" and found["steering_rate"].unit == "rad/s"
    assert found["steering_rate_rate"].unit == "rad/s^2"
    assert found["tractor.vx"].causality == "output" and found["tractor.vx"].initial == "calculated"
    assert found["der(hinge.angle)"].derivative.name == "hinge.angle"
    for parameter in system.model.parameters:
        variable = found[parameter.name]
        assert variable.causality == "parameter" and float(variable.start) == parameter.value
        assert variable.description == (parameter.description or None)
    units = {u.name: u.baseUnit for u in fmpy.read_model_description(path).unitDefinitions}
    assert (units["rad/s"].rad, units["rad/s"].s) == (1, -1)
    assert (units["N"].kg, units["N"].m, units["N"].s) == (1, 1, -2)


@needs_compiler
@pytest.mark.parametrize("version", [2, 3])
def test_co_simulation_equals_our_own_run(version, system_of, tmp_path):
    system = system_of("agv")
    path, _ = write(system, tmp_path, version=version, start=START)
    run = ns.simulate(
        system, start=START, inputs=DRIVE, parameters={"m_platform": 25.0}, duration=2.0,
        samples=21, rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    found = fmpy.simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=2.0, output_interval=0.1, output=names,
        start_values={**DRIVE, "m_platform": 25.0},
    )  # fmt: skip
    np.testing.assert_allclose(found["time"], run.t, atol=1e-12)
    for name in names:
        # steps of 1 ms of a method of order 4, with a caster that settles within 10 ms
        np.testing.assert_allclose(found[name], run[name], atol=2e-7, err_msg=name)


@needs_compiler
@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_co_simulation_keeps_its_tolerance_where_tires_are_stiff(step, system_of, tmp_path):
    """Fixed steps of 1 ms are 11 % off at walking pace."""
    system = system_of("tractor-trailer-tires")
    start, inputs = {"tractor.vx": 0.4}, {"left.torque": 0.3, "right.torque": 0.3}
    run = ns.simulate(
        system, start=start, inputs=inputs, duration=0.5, samples=6, rtol=1e-11, atol=1e-11
    )
    path, _ = write(system, tmp_path, start=start, step=step)
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    found = fmpy.simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=0.5, output_interval=0.1, output=names,
        start_values=inputs,
    )  # fmt: skip
    for name in names:
        # errors of 1e-8 a step decay with the slip of the tires
        np.testing.assert_allclose(found[name], run[name], atol=1e-6, rtol=1e-6, err_msg=name)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_where_the_nominal_speeds_are_singular(kind, system_of, tmp_path):
    """A start there is right; a start value at which the speeds are singular is refused."""
    system = system_of("forklift")
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    angle = {"rear.steer.angle": np.pi / 2}
    start = angle | {"base.rate": 0.5, "forks.speed": 0.1}
    run = ns.simulate(system, start=start, duration=0.2, samples=3)
    drive = {"fmi_type": kind, "stop_time": 0.2, "output_interval": 0.1, "output": names}
    path, _ = write(system, tmp_path, start=start)
    found = fmpy.simulate_fmu(path, relative_tolerance=1e-9, **drive)
    for name in names:
        np.testing.assert_allclose(found[name][-1], run[name][-1], atol=1e-6, err_msg=name)
    path, _ = write(system, tmp_path, start={"rear.steer.angle": 0.3, "base.rate": 0.5})
    with pytest.raises(fmpy.fmi1.FMICallException, match="InitializationMode"):
        fmpy.simulate_fmu(path, start_values=angle, **drive)


@needs_compiler
def test_a_motion_that_no_explicit_step_follows_is_refused(tmp_path):
    """A damper of 1e9 N s/m on 2 kg wants steps of 5 ns; 0.1 N s/m any."""
    path, _ = write(ns.compile(ns.derive(cart())), tmp_path)
    drive = {"fmi_type": "CoSimulation", "stop_time": 0.1, "output": ["cart.speed"]}
    found = fmpy.simulate_fmu(path, start_values={"F": 1.0, "d": 0.1}, **drive)
    exact = 1 / 0.1 * (1 - np.exp(-0.1 / 2.0 * 0.1))
    assert found["cart.speed"][-1] == pytest.approx(exact, rel=1e-9)
    with pytest.raises(fmpy.fmi1.FMICallException, match="DoStep"):
        fmpy.simulate_fmu(path, start_values={"F": 1.0, "d": 1e9, "eta[1]": 1.0}, **drive)


@needs_compiler
def test_a_unit_with_its_own_sine_needs_none_of_the_librarys(system_of, tmp_path):
    from fmpy.validation import validate_fmu

    found = []
    for own_sine in (False, True):
        path, _ = write(system_of("tractor-trailer"), tmp_path, own_sine=own_sine)
        texts = [text.decode() for name, text in entries(path).items() if name.endswith(".c")]
        assert any(re.search(r"\b(?:sin|cos)\(", text) for text in texts) != own_sine
        assert validate_fmu(path) == []
        start = {"eta[1]": 1.0, "steering_rate": 0.2}
        for kind in ("CoSimulation", "ModelExchange"):
            run = fmpy.simulate_fmu(
                path, fmi_type=kind, stop_time=1.0, output=["tractor.y", "hinge.angle"],
                start_values=start, relative_tolerance=1e-9, output_interval=0.25,
            )  # fmt: skip
            found.append([run[name][-1] for name in ("tractor.y", "hinge.angle")])
    assert abs(found[0][0]) > 1e-3
    np.testing.assert_allclose(found[2], found[0], rtol=1e-12)
    np.testing.assert_allclose(found[3], found[1], rtol=1e-7)


@needs_compiler
def test_model_exchange_goes_through_a_change_of_basis_with_cvode(system_of, tmp_path):
    system = system_of("lhd-noslip")
    start = {"waist.angle": 1.5, "waist.rate": 0.8, "front.vx": 1.0}
    path, _ = write(system, tmp_path, start=start)
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    found = fmpy.simulate_fmu(
        path, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-10, stop_time=3.0,
        output_interval=0.1, output=[*names, "basis"],
    )  # fmt: skip
    assert found["basis"][0] == 0 and found["basis"][-1] == 1
    run = ns.simulate(system, start=start, duration=3.0, samples=31, rtol=1e-12, atol=1e-12)
    times, last = np.unique(found["time"][::-1], return_index=True)
    at = len(found["time"]) - 1 - last
    for k, t in enumerate(run.t):
        row = at[np.argmin(np.abs(times - t))]
        # ten times the tolerance for each of 3 s
        expected = ours(run, names, k)
        np.testing.assert_allclose([found[n][row] for n in names], expected, rtol=0, atol=1e-7)


@needs_compiler
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_constraints_are_held(kind, system_of, tmp_path):
    """A rolling disk: its height and its quaternion."""
    system = system_of("rolling-disk")
    start = {"disk.tilt": 1.2, "disk.tilt_rate": 0.1, "disk.yaw_rate": 0.4, "disk.spin_rate": 5.0}
    path, _ = write(system, tmp_path, start=start)
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    found = fmpy.simulate_fmu(
        path, fmi_type=kind, solver="CVode", relative_tolerance=1e-9, stop_time=4.0, output=names,
        output_interval=0.05,
    )  # fmt: skip
    run = ns.simulate(system, start=start, duration=4.0, samples=2, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([found[n][-1] for n in names], ours(run, names), atol=1e-5)
    q = np.column_stack([found[c.name] for c in system.coordinates])
    assert np.abs(np.linalg.norm(q[:, 3:7], axis=1) - 1).max() < 1e-8
    for row in q[::10]:
        state = np.concatenate([row, np.zeros(len(system.independent_speeds))])
        residuals = system.residuals(0.0, state, np.zeros(0), system.parameters())
        assert np.abs(residuals[-1:]).max() < 1e-8


@pytest.fixture
def instance(system_of, tmp_path):
    """A running FMI 3.0 instance, its variables by name, and the system."""
    if target.find_compiler() is None:
        pytest.skip("there is no C compiler on the path")
    system = system_of("tractor-trailer")
    path, _ = write(system, tmp_path, start={"hinge.angle": 0.3, "tractor.vx": 2.0})
    folder = fmpy.extract(path, str(tmp_path / "unzipped"))
    about = fmpy.read_model_description(folder)
    from fmpy.fmi3 import FMU3Model

    unit = FMU3Model(
        guid=about.guid, unzipDirectory=folder, instanceName="one",
        modelIdentifier=about.modelExchange.modelIdentifier,
    )  # fmt: skip
    unit.instantiate()
    unit.enterInitializationMode()
    references = {v.name: v.valueReference for v in about.modelVariables}
    unit.setFloat64([references["F_u2"], references["steering_rate"]], [300.0, 0.2])
    unit.exitInitializationMode()
    yield unit, references, system
    unit.terminate()
    unit.freeInstance()


def test_directional_derivatives_are_those_of_the_equations(instance, rng):
    unit, references, system = instance
    states = [*(c.name for c in system.coordinates), "eta[1]"]
    inputs = [i.name for i in system.inputs]
    x, u = (np.array(unit.getFloat64([references[n] for n in ns_])) for ns_ in (states, inputs))
    f = system.casadi_function(["rates", "speeds"], parameters={})
    X, U = ca.MX.sym("x", len(x)), ca.MX.sym("u", len(u))
    both = ca.vertcat(*f(0.0, X, U))
    J = np.array(ca.Function("J", [X, U], [ca.jacobian(both, ca.vertcat(X, U))])(x, u))
    unknowns = [f"der({n})" for n in states] + [s.name for s in system.speeds]
    knowns = states + inputs
    seed = rng.normal(size=len(knowns))
    found = unit.getDirectionalDerivative(
        [references[n] for n in unknowns], [references[n] for n in knowns], seed
    )
    np.testing.assert_allclose(found, J @ seed, rtol=1e-11, atol=1e-11)
    # a state is its own output
    one = unit.getDirectionalDerivative(
        [references["hinge.angle"]], [references["hinge.angle"]], [3.0]
    )
    assert list(one) == [3.0]


def test_a_state_is_saved_and_restored(instance):
    unit, references, _ = instance
    place = [references["tractor.x"], references["eta[1]"]]
    unit.enterContinuousTimeMode()
    saved = unit.getFMUState()
    before = list(unit.getFloat64(place))
    bytes_ = unit.serializeFMUState(saved)
    unit.setContinuousStates(np.arange(6.0).ctypes.data_as(ctypes_double()), 6)
    assert list(unit.getFloat64(place)) != before
    unit.setFMUState(saved)
    assert list(unit.getFloat64(place)) == before
    again = unit.deserializeFMUState(bytes_)
    unit.setFMUState(again)
    assert list(unit.getFloat64(place)) == before
    unit.freeFMUState(saved)
    unit.freeFMUState(again)


@needs_compiler
def test_a_state_of_co_simulation_is_saved_and_restored_by_fmi_2(system_of, tmp_path):
    path, _ = write(system_of("agv"), tmp_path, version=2)
    folder = fmpy.extract(path, str(tmp_path / "unzipped"))
    about = fmpy.read_model_description(folder)
    from fmpy.fmi2 import FMU2Slave

    unit = FMU2Slave(
        guid=about.guid, unzipDirectory=folder, instanceName="one",
        modelIdentifier=about.coSimulation.modelIdentifier,
    )  # fmt: skip
    unit.instantiate()
    unit.setupExperiment()
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    outputs = [v for v in about.modelVariables if v.causality == "output" and v.type == "Real"]
    place = [v.valueReference for v in outputs]
    speed = [v.valueReference for v in about.modelVariables if v.name == "eta[1]"]
    unit.setReal(speed, [1.5])
    saved = unit.getFMUState()
    bytes_ = unit.serializeFMUState(saved)
    unit.doStep(0.0, 0.5)
    after = unit.getReal(place)
    for state in (saved, unit.deserializeFMUState(bytes_)):
        unit.setFMUState(state)
        assert unit.getReal(speed) == [1.5]
        assert unit.getReal(place) != after
        unit.doStep(0.0, 0.5)
        assert unit.getReal(place) == after
        unit.freeFMUState(state)
    unit.terminate()
    unit.freeInstance()


def ctypes_double():
    import ctypes

    return ctypes.POINTER(ctypes.c_double)


def test_without_a_compiler_it_is_a_source_fmu_and_says_so(system_of, tmp_path, monkeypatch):
    monkeypatch.setattr(target.shutil, "which", lambda name: None)
    path, done = write(system_of("agv"), tmp_path)
    assert any("there is no C compiler here" in note for note in done.notes)
    names = list(entries(path))
    assert not any(name.startswith("binaries/") for name in names)
    assert {"sources/agv.c", "sources/agv.h", "sources/agv_fmu.c"} <= set(names)


@needs_compiler
@pytest.mark.skipif(not shutil.which("make"), reason="there is no make on the path")
def test_sources_build_elsewhere(system_of, tmp_path):
    """By FMPy's own CMake project, from the sources alone."""
    pytest.importorskip("cmake", reason="CMake is not installed")
    from fmpy.build import build_platform_binary

    path, _ = write(system_of("agv"), tmp_path, binary=False)
    folder = fmpy.extract(path, str(tmp_path / "unzipped"))
    (tmp_path / "build").mkdir()
    build_platform_binary(folder, build_dir=tmp_path / "build", all_warnings=True)
    found = fmpy.simulate_fmu(folder, stop_time=0.1, start_values=DRIVE)
    assert found["time"][-1] == pytest.approx(0.1)


def test_the_same_model_is_the_same_file(system_of, tmp_path):
    path = tmp_path / "model.fmu"
    write(system_of("agv"), tmp_path, binary=False)
    first = path.read_bytes()
    write(system_of("agv"), tmp_path, binary=False)
    assert path.read_bytes() == first


def test_hostile_names_are_refused_or_quoted(system_of, tmp_path, refuses):
    model = ns.load("chaplygin-sleigh")
    evil = dataclasses.replace(
        model, name="a & b]]>'\u0301", description='"/><x y="\x0b', scenario=None
    )
    system = ns.System(equations=ns.derive(evil))
    path, _ = write(system, tmp_path, identifier="sleigh", binary=False)
    for name in entries(path):
        assert re.fullmatch(r"[\w./]+", name, re.ASCII) and ".." not in name
    root = ElementTree.fromstring(entries(path)["modelDescription.xml"])
    assert root.get("modelName") == evil.name and root.get("description") == '"/><x y="?'
    for identifier in ("../../etc/x", "a/b", "a b", "int"):
        with refuses(ns.CompileError, "the prefix", "FMU of", "letter"):
            ns.export(model, tmp_path / "b.fmu", identifier=identifier)
    renamed = dataclasses.replace(
        model, parameters=(*model.parameters, ns.Parameter(name="basis", value=1.0, unit="m"))
    )
    with refuses(ns.CompileError, "of the unit itself are called 'basis'", "FMU", "rename"):
        ns.export(renamed, tmp_path / "b.fmu")
    with refuses(ns.CompileError, "the version is 1", "FMU of", "2 or 3"):
        ns.export(model, tmp_path / "b.fmu", version=1)
    with refuses(ns.CompileError, "the step is 0", "FMU of", "positive"):
        ns.export(model, tmp_path / "b.fmu", step=0)
    with refuses(ns.CompileError, "the tolerance is 0", "FMU of", "positive"):
        ns.export(model, tmp_path / "b.fmu", tolerance=0)
    assert not (tmp_path / "b.fmu").exists()


def test_archives_have_plain_entries():
    made = target.archive({"a.txt": b"1", "binaries/x/a.so": b"2"})
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        assert [i.filename for i in file.infolist()] == ["a.txt", "binaries/x/a.so"]
        assert file.infolist()[1].external_attr >> 16 == 0o755
