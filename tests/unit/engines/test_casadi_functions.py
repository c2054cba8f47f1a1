"""`System.casadi_function`: the numbers of native code, by name, and what CasADi does with it."""

import casadi as ca
import numpy as np
import pytest

import noslip as ns


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
