"""What `evaluate` says at a state is what native code and traced equations say, in any basis."""

import casadi as ca
import numpy as np
import pytest
from states import State, at, numeric

import noslip as ns

ROUNDING = 1e-12
NAMES = ["agv", "four-bar", "car", "torus", "ball-on-wobbling-table", "point-on-circle", "pendulum"]


def state_of(system, here, time=0.0, **inputs):
    """The instant's coordinates and speeds as a state of the traced equations."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    u = np.array([inputs.get(q.name, 0.0) for q in system.inputs])
    q, v = np.array(list(here.coordinates.values())), np.array(list(here.speeds.values()))
    kin = system.kinematics
    rows = ca.Function("E", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [ca.densify(kin.E)])
    eta = np.array(rows(time, q, system.parameters())) @ v
    w, wdot = u[num_u : num_u + num_w], u[num_u + num_w :]
    return State(time, q, eta, v, u[:num_u], w, wdot, system.parameters())


@pytest.fixture(params=NAMES)
def instant(request, system_of):
    system = system_of(request.param)
    places = {"torus": {"tire.tilt": 1.1}, "point-on-circle": {"x.position": 0.4}}
    given = places.get(request.param, {})
    inputs = {q.name: 0.3 + 0.1 * k for k, q in enumerate(system.inputs)}
    here = ns.evaluate(system, given, inputs=inputs, time=0.2)
    return system, here, state_of(system, here, 0.2, **inputs)


def test_blocks_and_energies(instant):
    system, here, state = instant
    eq = system.equations
    f = numeric(eq, eq.reduced_mass, eq.reduced_bias, eq.kinetic_energy, eq.forces.potential_energy)
    mass, bias, K, U = at(f, state)
    assert here.mass_matrix == pytest.approx(mass, rel=ROUNDING, abs=ROUNDING)
    assert here.velocity_terms == pytest.approx(bias.ravel(), rel=ROUNDING, abs=ROUNDING)
    assert here.kinetic_energy == pytest.approx(K.item(), rel=ROUNDING, abs=ROUNDING)
    assert here.potential_energy == pytest.approx(U.item(), rel=ROUNDING, abs=ROUNDING)


def test_accelerations_rates_and_multipliers(instant):
    system, here, state = instant
    eq, kin = system.equations, system.kinematics
    f = numeric(eq, eq.speed_rates, ca.mtimes(kin.N, kin.v), eq.multipliers)
    vdot, qdot, lam = (e.ravel() for e in at(f, state))
    assert list(here.accelerations.values()) == pytest.approx(vdot, rel=1e-11, abs=1e-11)
    assert list(here.coordinate_rates.values()) == pytest.approx(qdot, rel=ROUNDING, abs=ROUNDING)
    assert list(here.multipliers.values()) == pytest.approx(lam, rel=1e-11, abs=1e-11)
    assert here.speed_residual < 1e-13
    assert here.position_residual < 1e-13


def test_native_code_gives_the_same(instant):
    """`evaluate` runs CasADi's interpreter; histories and runs have native code."""
    system, here, state = instant
    kin = system.kinematics
    x = np.concatenate(
        [state.q, state.eta, np.zeros(system.num_states - len(state.q) - len(state.eta))]
    )
    at_state = (state.t, x, np.concatenate([state.u, state.w, state.wdot]), state.params)
    motion, blocks = system.motion(*at_state), system.blocks(*at_state)
    num_f = kin.num_independent_speeds
    expected = {
        "accelerations": (list(here.accelerations.values()), motion[kin.num_speeds :]),
        "mass": (here.mass_matrix.ravel(), blocks[: num_f**2]),
        "bias": (here.velocity_terms, blocks[num_f**2 : num_f**2 + num_f]),
        "energies": ([here.kinetic_energy, here.potential_energy], system.energies(*at_state)),
        "multipliers": (list(here.multipliers.values()), system.multipliers(*at_state)),
    }
    for name, (interpreted, native) in expected.items():
        np.testing.assert_allclose(interpreted, native, rtol=1e-11, atol=1e-11, err_msg=name)
    wrenches = system.joint_wrenches(*at_state).reshape(-1, 3, 3)
    for parts, (point, force, moment) in zip(here.joint_reactions.values(), wrenches, strict=True):
        native = [*force, *moment, *point]
        np.testing.assert_allclose(list(parts.values()), native, rtol=1e-11, atol=1e-11)
    axes = system.contact_axes(*at_state).reshape(-1, 4, 3)
    for trace, (point, *_) in zip(kin.contacts, axes, strict=True):
        found = [here.reactions[trace.contact.name][f"point_{k}"] for k in "xyz"]
        np.testing.assert_allclose(found, point, rtol=1e-12, atol=1e-12)


def test_state_where_the_model_s_own_speeds_degenerate(system_of):
    """At heading π/2 other speeds are taken; the motion is that of the planar sleigh."""
    turned = {"heading.angle": np.pi / 2, "y.speed": 1.2, "heading.rate": 0.7}
    here = ns.evaluate(system_of("sleigh-on-slides"), turned)
    flat = ns.evaluate(
        system_of("sleigh"), {"sled.angle": np.pi / 2, "sled.vx": 1.2, "sled.rate": 0.7}
    )
    assert here.independent_speeds == ("y.speed", "heading.rate")
    assert here.kinetic_energy == pytest.approx(flat.kinetic_energy, rel=1e-13)
    assert here.accelerations["heading.rate"] == pytest.approx(flat.accelerations["sled.rate"])
    assert here.multipliers["blade.lateral"] == pytest.approx(flat.multipliers["blade.lateral"])


def test_instant_as_plain_numbers(system_of):
    import json

    here = ns.evaluate(system_of("agv"), {"wheel1.rate": 2.0}, inputs={"torque1": 0.1})
    data = json.loads(json.dumps(here.to_json()))
    assert data["speeds"]["wheel1.rate"] == pytest.approx(2.0, abs=1e-15)
    assert data["mass_matrix"] == here.mass_matrix.tolist()


def test_state_on_a_singularity(system_of, refuses):
    with refuses(
        ns.SimulationError,
        "wheel 'rim' lies flat on its plane",
        "model 'rolling-disk' at the given state, t = 0 s",
        "give another configuration; what can be set: disk.x",
    ):
        ns.evaluate(system_of("rolling-disk"), {"disk.tilt": 1e-8})


def test_unknown_input(system_of, refuses):
    with refuses(
        ns.SimulationError,
        "there is no input 'steer_rate'",
        "inputs of model 'car'",
        "did you mean 'steering_rate'",
    ):
        ns.evaluate(system_of("car"), {}, inputs={"steer_rate": 1.0})
