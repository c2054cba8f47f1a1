"""Everything a mechanism can be asked, where it has one coordinate, no input or no freedom.

Each answer has a closed form, or is refused in words.
"""

from functools import cache

import numpy as np
import pytest
from small_mechanisms import DAMPING, MASS, SMALL, STIFFNESS, G, watch_slices

import noslip as ns

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
FORMULATIONS = (
    *(ns.NaturalComplement(), ns.DeSantis(), ns.BoltzmannHamel(), ns.GibbsAppell()),
    *(ns.Multipliers(), ns.Vakonomic()),
)
X0, V0, F, T = 0.3, 0.7, 1.4, 1.2
OMEGA = np.sqrt(STIFFNESS / MASS)
DECAY = np.exp(-DAMPING / MASS * T)


@cache
def system(name):
    return ns.compile(ns.derive(SMALL[name]()))


def motion_of(name, t):
    """Position and speed over time, from X0 and V0 if these are free, under F or w = cos t."""
    decay = np.exp(-DAMPING / MASS * t)
    top = F / DAMPING
    away = MASS / DAMPING * (1 - decay)
    driven = X0 + top * t + (V0 - top) * away, top + (V0 - top) * decay
    return {
        "cart": driven,
        "loaded_cart": driven,
        "rail": driven,
        "oscillator": (
            X0 * np.cos(OMEGA * t) + V0 / OMEGA * np.sin(OMEGA * t),
            V0 * np.cos(OMEGA * t) - X0 * OMEGA * np.sin(OMEGA * t),
        ),
        "coasting": (X0 + V0 * t, V0 + 0 * t),
        "moved": (np.sin(t), np.cos(t)),
        "shifted": (np.sin(t), np.cos(t)),
    }[name]


def asked(name):
    """Its position and speed by name, and the start and inputs of `motion_of`."""
    place, speed = ("cart.x", "cart.vx") if name == "rail" else ("cart.position", "cart.speed")
    names = [i.name for i in system(name).inputs]
    inputs = {"F": F} if "F" in names else {"w": "cos(t)"} if "w" in names else {}
    is_free = len(system(name).independent_speeds) > 0
    return place, speed, {place: X0, speed: V0} if is_free else {}, inputs


MOVING = [name for name in SMALL if name != "welded"]


@pytest.fixture(autouse=True)
def _columns_stay_columns(monkeypatch):
    watch_slices(monkeypatch)


@pytest.mark.parametrize("name", SMALL)
def test_all_formulations_agree(name):
    assert ns.verify(SMALL[name]()).holds


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("name", MOVING)
def test_motions_by_every_formulation(name, formulation):
    place, speed, start, inputs = asked(name)
    s = ns.compile(ns.derive(SMALL[name](), formulation))
    run = ns.simulate(s, duration=T, start=start, inputs=inputs, reactions=True, **TIGHT)
    x, v = motion_of(name, run.t)
    assert run[place] == pytest.approx(x, abs=1e-10)
    assert run[speed] == pytest.approx(v, abs=1e-10)
    assert "reached its end" in run.summary()
    assert run.to_xarray()[place].shape == run.t.shape
    if name == "moved":
        # the motor pushes, and what moves it supplies the rest
        needed = -MASS * np.sin(run.t) - F
        assert run["reaction.cart.position"] == pytest.approx(needed, abs=1e-9)


@pytest.mark.parametrize("name", MOVING)
def test_other_methods_events_and_batches(name):
    place, speed, start, inputs = asked(name)
    s = system(name)
    given = {"duration": T, "inputs": inputs}
    x, v = motion_of(name, T)
    fixed = ns.simulate(s, start=start, method="rk4", step=0.01, **given)
    assert fixed[place][-1] == pytest.approx(x, abs=1e-8)
    early = ns.simulate(s, start=start, stop={"early": "t - 0.5"}, **given, **TIGHT)
    assert early.t[-1] == pytest.approx(0.5, abs=1e-10)
    assert early[place][-1] == pytest.approx(motion_of(name, 0.5)[0], abs=1e-10)
    for count in (1, 3, 9):
        batch = ns.simulate_batch(s, start=start, count=count, **given, **TIGHT)
        assert batch[place] == pytest.approx(np.full(count, x), abs=1e-10)
        assert batch[speed] == pytest.approx(np.full(count, v), abs=1e-10)


@pytest.mark.parametrize("name", MOVING)
def test_an_instant_both_ways(name):
    place, speed, start, inputs = asked(name)
    s = system(name)
    at = {"w": 1.0} if "w" in inputs else inputs
    now = ns.evaluate(s, start, inputs=at)
    x, v = (X0, V0) if start else (0.0, 1.0)
    acceleration = {
        "oscillator": -STIFFNESS * x / MASS,
        "coasting": 0.0,
        "moved": 0.0,
        "shifted": 0.0,
    }.get(name, (F - DAMPING * v) / MASS)
    assert now.accelerations[speed] == pytest.approx(acceleration, abs=1e-13)
    assert now.kinetic_energy == pytest.approx(MASS * v**2 / 2, rel=1e-13)
    more = {"speed_inputs": {"w": v}} if "w" in inputs else {}
    given = {} if "w" in inputs else start
    body = ns.direct_kinematics(s, given, **more)["cart"]
    assert body.velocity == pytest.approx([v, 0.0, 0.0], abs=1e-14)
    places = {place: X0} if start else {}
    for velocity, components in (([v], ("vx",)), ([v, 0.0, 0.0], ("vx", "vy", "vz"))):
        back = ns.inverse_kinematics(
            s, places, body="cart", velocity=velocity, components=components, **more
        )
        assert back.speeds[speed] == pytest.approx(v, abs=1e-14)
        assert back.residual == pytest.approx(np.zeros(len(velocity)), abs=1e-14)
    back = ns.inverse_kinematics(s, places, joint_speeds={speed: v}, **more)
    assert back.speeds[speed] == pytest.approx(v, abs=1e-14) and back.residual.shape == (1,)
    if "F" in inputs and start:
        torque = ns.inverse_dynamics(s, start, {speed: 0.5})
        assert torque.inputs["F"] == pytest.approx(MASS * 0.5 + DAMPING * V0, rel=1e-13)


@pytest.mark.parametrize("name", MOVING)
def test_a_motion_both_ways(name):
    place, speed, *_ = asked(name)
    s = system(name)
    motion = ns.motions.ExpressionMotion(coordinates={place: "sin(t)"})
    moved = ns.kinematic_history(s, motion, duration=T)
    assert moved[place] == pytest.approx(np.sin(moved.t), abs=1e-11)
    assert moved[speed] == pytest.approx(np.cos(moved.t), abs=1e-11)
    assert moved.inadmissible < 1e-12
    if name in ("cart", "loaded_cart", "rail"):
        forces = ns.dynamics_history(s, moved)
        wanted = -MASS * np.sin(moved.t) + DAMPING * np.cos(moved.t)
        assert forces.inputs["F"] == pytest.approx(wanted, abs=1e-10)
    elif name in ("oscillator", "coasting"):
        forces = ns.dynamics_history(s, moved)
        spring = STIFFNESS if name == "oscillator" else 0.0
        wanted = (spring - MASS) * np.sin(moved.t)
        assert forces.unreachable.ravel() == pytest.approx(wanted, abs=1e-10)


def test_small_motions():
    """Eigenvalues of m ẍ + d ẋ + k x = 0, and no motion where there is none."""
    found = {name: ns.linearize(system(name)) for name in SMALL if name != "moved"}
    for name in ("cart", "loaded_cart", "rail"):
        line = found[name]
        assert min(line.eigenvalues.real) == pytest.approx(-DAMPING / MASS, rel=1e-12)
        assert line.mass == pytest.approx(np.array([[MASS]]), rel=1e-13)
        assert line.forcing == pytest.approx(np.array([[1.0]]), rel=1e-13)
    swings = np.sort(found["oscillator"].eigenvalues.imag)
    assert swings == pytest.approx([-OMEGA, OMEGA], rel=1e-12)
    assert found["oscillator"].forcing.shape == (1, 0)
    assert found["coasting"].eigenvalues == pytest.approx(0.0, abs=1e-12)
    for name in ("shifted", "welded"):
        assert found[name].eigenvalues.shape == (0,)
    for line in found.values():
        assert line.text()


def test_steady_motions(refuses):
    moving = ns.steady(system("cart"), {"cart.speed": V0}, find=["F"])
    assert moving.inputs["F"] == pytest.approx(DAMPING * V0, rel=1e-12)
    pushed = ns.steady(system("cart"), {}, inputs={"F": F})
    assert pushed.values["cart.speed"] == pytest.approx(F / DAMPING, rel=1e-12)
    resting = ns.steady(system("oscillator"), {}, guess={"cart.position": X0})
    assert resting.values["cart.position"] == pytest.approx(0.0, abs=1e-12)
    assert ns.steady(system("welded"), {}).residual == 0.0
    with refuses(ns.SimulationError, "change with time", "'moved'", "expressions of t"):
        ns.steady(system("moved"), {})
    with refuses(ns.SimulationError, "change with time", "'moved'", "expressions of t"):
        ns.linearize(system("moved"))


def test_derivatives_of_equations():
    found = ns.derivatives(system("cart"))(0.0, [X0, V0, 0.0], [F], [MASS, DAMPING])
    assert found.by_state[1] == pytest.approx([0.0, -DAMPING / MASS, 0.0], abs=1e-15)
    assert found.by_inputs[1] == pytest.approx([1 / MASS], rel=1e-14)
    rate = (F - DAMPING * V0) / MASS
    assert found.by_parameters[1] == pytest.approx([-rate / MASS, -V0 / MASS], rel=1e-13)
    swing = system("oscillator")
    found = ns.derivatives(swing)(0.0, [X0, V0], [], [])
    assert found.by_state == pytest.approx(np.array([[0.0, 1.0], [-(OMEGA**2), 0.0]]), abs=1e-14)
    assert found.by_inputs.shape == (2, 0) and found.by_parameters.shape == (2, 0)
    still = system("welded")
    assert ns.derivatives(still)(0.0, [], [], []).values.shape == (0,)


def test_derivatives_of_motions(refuses):
    """Forward and adjoint, by start values, inputs and parameters, against closed forms."""
    away = MASS / DAMPING * (1 - DECAY)
    by = {"cart.position": 1.0, "cart.speed": away, "F": (T - away) / DAMPING}
    # ∂/∂m of F/d t + (v0 − F/d) m/d (1 − e^(−d t/m))
    by["m"] = (V0 - F / DAMPING) * ((1 - DECAY) / DAMPING - T / MASS * DECAY)
    for name, wanted in (
        ("cart", by),
        (
            "oscillator",
            {"cart.position": np.cos(OMEGA * T), "cart.speed": np.sin(OMEGA * T) / OMEGA},
        ),
        ("coasting", {"cart.position": 1.0, "cart.speed": T}),
        ("moved", {"F": 0.0}),
    ):
        _, _, start, inputs = asked(name)
        given = {"with_respect_to": list(wanted), "duration": T, "start": start, "inputs": inputs}
        forward = ns.simulate_sensitivities(system(name), **given, **TIGHT)
        back = ns.gradient(system(name), terminal="cart.position", **given, **TIGHT)
        for variable, value in wanted.items():
            assert forward["cart.position", variable][-1] == pytest.approx(value, abs=1e-9)
            assert back[variable] == pytest.approx(value, abs=1e-9)
    _, _, start, inputs = asked("cart")
    given = {"with_respect_to": ["F"], "duration": T, "start": start, "inputs": inputs, **TIGHT}
    back = ns.gradient(system("cart"), running="F*cart.speed", **given)
    x, dx = motion_of("cart", T)[0] - X0, by["F"]
    assert back["F"] == pytest.approx(x + F * dx, abs=1e-9)
    with refuses(ns.SimulationError, "to differentiate with respect", "'shifted'", "inputs"):
        ns.gradient(
            system("shifted"),
            with_respect_to=[],
            duration=T,
            inputs={"w": 1.0},
            terminal="cart.position",
        )


@pytest.mark.parametrize("name", MOVING)
def test_forces_in_the_joint(name):
    """It carries the weight, and what the constraints push."""
    _, _, start, inputs = asked(name)
    run = ns.simulate(system(name), duration=T, start=start, inputs=inputs, **TIGHT)
    held = {r.name: r for r in ns.reactions(system(name), run)}
    weight = held["cart"].force[:, 2]
    # where a row written by hand acts is not known, nor what the joint holds then
    expected = np.nan if system(name).model.rows else MASS * G
    assert np.abs(weight) == pytest.approx(np.full(len(run.t), expected), rel=1e-12, nan_ok=True)
    assert ns.audit(system(name), run) is not None


def test_what_cannot_move_says_so(refuses):
    for call in (
        lambda: ns.simulate(system("welded"), duration=1.0),
        lambda: ns.simulate_batch(system("welded"), duration=1.0, count=2),
        lambda: ns.gradient(system("welded"), with_respect_to=[], duration=1.0, terminal="t"),
    ):
        with refuses(ns.SimulationError, "nothing in it can move", "'welded'", "joint"):
            call()
    assert ns.evaluate(system("welded"), {}).kinetic_energy == 0.0
    assert ns.direct_kinematics(system("welded"), {})["cart"].velocity == pytest.approx(0.0)
    stuck = ns.inverse_kinematics(
        system("welded"), {}, body="cart", velocity=[1.0], components=("vx",)
    )
    assert stuck.residual == pytest.approx([1.0])
