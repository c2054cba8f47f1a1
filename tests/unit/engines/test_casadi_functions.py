"""`System.casadi_function`: the numbers of native code, by name, and what CasADi does with it."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.analysis import contact_forces


@pytest.fixture
def point(system_of, rng):
    """A system, and t, x (without work), u and p at a random state."""
    system = system_of("tractor-trailer")
    kin = system.kinematics
    ((t, q),) = kin.probe.configurations(1)
    x = np.concatenate([q, rng.normal(size=kin.num_independent_speeds)])
    return system, t, x, rng.normal(size=len(system.inputs)), system.parameters()


def whole(system, x):
    return np.append(x, 0.0) if system.does_work else x


def test_it_has_names_and_no_work_unless_asked(point):
    system, t, x, u, p = point
    f = system.casadi_function()
    assert f.name_in() == ["t", "x", "u", "p"] and f.name_out() == ["rates"]
    ours = system.rates(t, whole(system, x), u, p)
    found = np.array(f(t=t, x=x, u=u, p=p)["rates"]).ravel()
    np.testing.assert_allclose(found, ours[: len(x)], rtol=1e-12, atol=1e-12)
    assert system.does_work
    worked = system.casadi_function(work=True)
    found = np.array(worked(t, whole(system, x), u, p)).ravel()
    np.testing.assert_allclose(found, ours[: len(x) + 1], rtol=1e-12, atol=1e-12)


def test_all_outputs_are_those_of_native_code(point):
    system, t, x, u, p = point
    names = ["speeds", "accelerations", "energies", "residuals", "multipliers", "poses", "measures"]
    f = system.casadi_function(names)
    found = {k: np.array(v).ravel() for k, v in f(t=t, x=x, u=u, p=p).items()}
    state = whole(system, x)
    native = {
        "speeds": system.motion(t, state, u, p)[: len(system.speeds)],
        "accelerations": system.motion(t, state, u, p)[len(system.speeds) :],
        "measures": system.rates(t, state, u, p)[len(state) :],
        **{k: getattr(system, k)(t, state, u, p) for k in names[2:6]},
    }
    for name, values in native.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-11, atol=1e-11, err_msg=name)


def test_forces_of_contacts_are_those_of_the_audit(system_of):
    """Three wheels on one plane, four that share their load, and tires that slip."""
    for name in ("forklift", "ackermann-car", "tractor-trailer-tires"):
        system = system_of(name)
        run = ns.run_scenario(system)
        f = system.casadi_function(["contact_forces"], parameters={})
        own = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
        x, u = (np.array([run[q.name] for q in some]) for some in (own, system.inputs))
        n = len(run.t)
        found = np.array(f.map(n)(t=run.t[None], x=x, u=u)["contact_forces"])
        least = contact_forces(system, run).least.reshape(n, -1).T
        # the audit solves by LAPACK what is traced in closed form here
        np.testing.assert_allclose(found, least, atol=1e-9 * np.nanmax(np.abs(least)), err_msg=name)


def test_expressions_of_the_motion_are_outputs(system_of):
    system = system_of("forklift")
    texts = {"load": "load.rear", "height": "point(forks, 1, 0, 0).z", "asked": "rates"}
    run = ns.simulate(
        system,
        duration=1.0,
        start={"base.vx": 1.0},
        outputs={k: texts[k] for k in texts if k != "asked"},
    )
    f = system.casadi_function(texts, parameters={})
    assert f.name_out() == list(texts)
    own = (*system.coordinates, *system.independent_speeds, *system.auxiliary_states)
    x = np.array([run[q.name][-1] for q in own])
    u = [run[q.name][-1] for q in system.inputs]
    found = f(t=1.0, x=x, u=u)
    for name in ("load", "height"):
        np.testing.assert_allclose(float(found[name]), run[name][-1], rtol=1e-11)
    assert system.casadi_function(["load.rear", "energies"]).name_out() == ["load_rear", "energies"]
    heavier = system.casadi_function(["load.rear"], parameters={"mass": 1.0})
    assert float(heavier(t=1.0, x=x, u=u)["load_rear"]) < float(found["load"])


def test_parameters_can_be_numbers(point):
    system, t, x, u, _ = point
    name = system.model.parameters[0].name
    value = 1.1 * system.model.parameter_values()[name]
    f = system.casadi_function(parameters={name: value}, name="heavier")
    assert f.name_in() == ["t", "x", "u"] and f.name() == "heavier"
    ours = system.rates(t, whole(system, x), u, system.parameters({name: value}))
    np.testing.assert_allclose(np.array(f(t, x, u)).ravel(), ours[: len(x)], rtol=1e-11, atol=1e-12)


def test_it_is_differentiated_and_serialized(point):
    system, t, x, u, p = point
    f = system.casadi_function()
    again = ca.Function.deserialize(f.serialize())
    assert again.name_in() == f.name_in()
    np.testing.assert_array_equal(np.array(again(t, x, u, p)), np.array(f(t, x, u, p)))
    symbol = ca.MX.sym("x", len(x))
    slope = ca.Function("J", [symbol], [ca.jacobian(f(t, symbol, u, p), symbol)])
    J = np.array(slope(x))
    step = 1e-6
    for k in range(len(x)):
        e = np.eye(len(x))[k] * step
        # central differences: the error is of the order of step² and of rounding over it
        column = (np.array(f(t, x + e, u, p)) - np.array(f(t, x - e, u, p))).ravel() / (2 * step)
        np.testing.assert_allclose(J[:, k], column, atol=1e-7 * max(1.0, np.abs(J).max()))


def test_a_file_is_loaded_by_casadi(point, tmp_path):
    system, t, x, u, p = point
    done = ns.export(system, tmp_path / "f.casadi", outputs="rates, energies")
    f = ca.Function.load(str(done.files[0]))
    assert f.name() == "tractor_trailer" and f.name_out() == ["rates", "energies"]
    np.testing.assert_array_equal(
        np.array(f(t, x, u, p)[0]), np.array(system.casadi_function()(t, x, u, p))
    )
    assert "the independent speeds are tractor.vx throughout" in done.notes[0]


def test_unknown_outputs_and_names_are_refused(point, refuses):
    system = point[0]
    where = "CasADi function of model 'tractor-trailer'"
    with refuses(ns.CompileError, "there is no output 'rate'", where, "'rates'"):
        system.casadi_function(["rate"])
    with refuses(ns.CompileError, "the outputs are rates, rates", where, "once"):
        system.casadi_function(["rates", "rates"])
    with refuses(ns.CompileError, "the outputs are none", where, "once"):
        system.casadi_function([])
    for name in ("a b", "1a", "a__b", "f;", ""):
        with refuses(ns.CompileError, "is not a valid name of a CasADi function", where, "letter"):
            system.casadi_function(name=name)
