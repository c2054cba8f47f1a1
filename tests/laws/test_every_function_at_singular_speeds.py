"""Every public function of a state where the model's own independent speeds are singular.

The functions are found by their signatures: one that takes a system and a state is either called in
`CALLS`, or named in `OTHERS` with the reason. Each answers as `evaluate` or `simulate` do in speeds
that are regular there (`system.in_speeds`), or refuses. Accelerations of these are compared with
the oracle in maximal coordinates.
"""

import importlib
import inspect
from functools import cache
from itertools import combinations
from math import pi

import casadi as ca
import numpy as np
import pytest
from maximal import Maximal

import noslip as ns
from noslip.base.public import public_places
from noslip.bridges.differentiable import RatesFunction
from noslip.engines.devices import HostDevice
from noslip.kinematics import RANK_LOST
from noslip.simulation.starts.bases import measures_at

#: Rounding of conversions through tree speeds, and of integration with 1e-9.
ROUNDING, MOTION = 1e-9, 1e-7
#: Arguments that are states, starts or guesses of them.
STATES = {"state", "states", "start", "given", "about", "configuration", "guess"}


def skate() -> ns.Model:
    b = ns.ModelBuilder(name="skate on slides", gravity=(0.0, 0.0, 0.0))
    for name in ("bx", "by"):
        b.body(name, mass=0.3, inertia=(0.1, 0.1, 0.1))
    b.body("skate", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("x", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="bx")
    b.joint("y", ns.joints.Prismatic(axis=(0.0, 1.0, 0.0)), parent="bx", child="by")
    b.joint("th", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="by", child="skate")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="skate", direction=(1.0, 0.0, 0.0)))
    for name, speed, unit in (
        ("Fx", "x.speed", "N"),
        ("Fy", "y.speed", "N"),
        ("T", "th.rate", "N*m"),
    ):
        b.input(name, unit)
        b.force(ns.forces.Motor(name=f"{name}_motor", speed=speed, input=name))
    return b.build()


def balls() -> ns.Model:
    b = ns.ModelBuilder(name="two balls", gravity=(0.0, 0.0, -9.81))
    for name, mass, inertia in (("1", 2.0, 0.2), ("2", 0.7, 0.0112)):
        b.body(f"ball{name}", mass=mass, inertia=(inertia,) * 3)
        b.joint(f"b{name}", ns.joints.Free(), parent="world", child=f"ball{name}")
    b.contact(ns.contacts.Rolling(name="floor", body="ball1", wheel=ns.surfaces.Ball(radius=0.5)))
    b.contact(
        ns.contacts.Rolling(
            name="top",
            body="ball2",
            wheel=ns.surfaces.Ball(radius=0.2),
            plane=ns.contacts.Plane(body="ball1"),
            ground=ns.grounds.SphereGround(radius=0.5),
        )
    )
    return b.build()


#: Mechanism → model, states that are singular in its own speeds, a regular one, guess.
PLACED = {"b1.x": 0.0, "b1.y": 0.0, "b2.x": 0.17, "b2.y": 0.17}
TURNING = {"b1.wx": 0.6, "b1.wy": -0.9, "b1.wz": 1.4, "b2.wx": 2.0, "b2.wy": 1.5, "b2.wz": -3.0}
AWAY = {"b1.qw": 0.8, "b1.qx": 0.36, "b1.qy": 0.48, "b1.qz": 0.0}
CASES = {
    "skate": (
        skate,
        [
            {"th.angle": pi / 2, "x.speed": 0.0, "y.speed": 2.0, "th.rate": 0.5},
            {"th.angle": -pi / 2, "x.speed": 0.0, "y.speed": -2.0, "th.rate": 0.5},
        ],
        {"th.angle": 0.4, "x.speed": 2 * np.cos(0.4), "y.speed": 2 * np.sin(0.4), "th.rate": 0.5},
        {},
    ),
    "balls": (balls, [PLACED | TURNING], None, {"b2.z": 1.16}),
    "forklift": (
        lambda: ns.load("forklift"),
        [
            {"rear.steer.angle": pi / 2, "base.rate": 0.5, "forks.speed": 0.1},
            {"rear.steer.angle": -pi / 2, "base.rate": 0.5, "forks.speed": 0.1},
        ],
        {"rear.steer.angle": 0.3, "base.rate": 0.5, "forks.speed": 0.1},
        {},
    ),
}


@cache
def system_of(name: str) -> ns.System:
    return ns.compile(ns.derive(CASES[name][0]()))


@cache
def near(name: str, k: int) -> tuple[ns.System, dict[str, float], ns.results.Instant]:
    """A system in speeds that are regular at a singular state, that state, and its instant."""
    system, state, guess = system_of(name), CASES[name][1][k], CASES[name][3]
    start = ns.complete_start(system, state, guess=guess)
    params = system.parameters()
    (choice,) = system.kinematics.regular_bases(np.zeros(1), start.q[None], params[None])
    assert choice is not None and choice.rank > RANK_LOST
    names = tuple(s.name for j, s in enumerate(system.speeds) if j not in choice.dependent)
    assert set(names) != {s.name for s in system.independent_speeds}
    there = system.in_speeds(names, choice.rows, params)
    whole = {q.name: float(x) for q, x in zip(system.coordinates, start.q, strict=True)}
    whole |= {s.name: float(x) for s, x in zip(system.speeds, start.v, strict=True)}
    return there, whole, ns.evaluate(there, whole)


def places():
    return [(name, k) for name, case in CASES.items() for k in range(len(case[1]))]


def arrays(name, whole):
    """Singular and regular states as lists, and which are singular."""
    regular = CASES[name][2] if name in CASES else None
    if regular is None:
        return {n: [x, x] for n, x in whole.items()}, [0, 1]
    found = ns.evaluate(system_of(name), regular)
    other = found.coordinates | found.speeds
    return {n: [other[n], x, other[n], x] for n, x in whole.items()}, [1, 3]


def close(found, expected, bound=ROUNDING):
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    assert np.max(np.abs(found - expected), initial=0.0) <= bound * size


# What each function says, against the neighboring speeds


def _evaluate(system, name, k, there, whole, at):
    found = ns.evaluate(
        system, whole, inputs={i.name: f"0.1*{system.speeds[0].name}" for i in system.model.inputs}
    )
    same = ns.evaluate(
        there, whole, inputs={i.name: f"0.1*{system.speeds[0].name}" for i in system.model.inputs}
    )
    for one, other in ((found, same), (ns.evaluate(system, whole), at)):
        close(list(one.accelerations.values()), list(other.accelerations.values()))
        close(list(one.multipliers.values()), list(other.multipliers.values()))
        close(one.kinetic_energy, other.kinetic_energy)


def _evaluate_batch(system, name, k, there, whole, at):
    states, singular = arrays(name, whole)
    for device in ("cpu", HostDevice()):
        found = ns.evaluate_batch(system, states, device=device)
        assert sorted(found.others) == singular
        for k in range(len(found)):
            alone = ns.evaluate(system, {n: x[k] for n, x in states.items()})
            close(found.kinetic_energy[k], alone.kinetic_energy)
            for word in ("speeds", "accelerations", "multipliers", "coordinate_rates"):
                by_name = getattr(found, word)
                close([x[k] for x in by_name.values()], list(getattr(alone, word).values()))
            close(
                [x[k] for x in found.joint_reactions[system.model.joints[0].name].values()],
                list(alone.joint_reactions[system.model.joints[0].name].values()),
            )
        assert np.max(found.speed_residual) < 1e-9


def _direct_kinematics(system, name, k, there, whole, at):
    rates = {n: at.accelerations[n] for n in at.independent_speeds}
    found = ns.direct_kinematics(system, whole, accelerations_of=rates)
    expected = ns.direct_kinematics(there, whole, accelerations_of=rates)
    for body, motion in found.items():
        for word in ("velocity", "angular_velocity", "acceleration", "angular_acceleration"):
            close(getattr(motion, word), getattr(expected[body], word))
    everything = ns.direct_kinematics(system, whole, accelerations_of=at.accelerations)
    for body, motion in everything.items():
        close(motion.acceleration, expected[body].acceleration)


def _inverse_kinematics(system, name, k, there, whole, at):
    speeds = {s.name: whole[s.name] for s in system.speeds}
    rates = {s.name: at.accelerations[s.name] for s in system.speeds}
    q = {c.name: whole[c.name] for c in system.coordinates}
    found = ns.inverse_kinematics(system, q, joint_speeds=speeds, joint_accelerations=rates)
    close(found.residual, 0 * found.residual)
    close(list(found.speeds.values()), list(speeds.values()))
    close(list(found.accelerations.values()), list(rates.values()))


def _inverse_dynamics(system, name, k, there, whole, at):
    found = ns.inverse_dynamics(system, whole, at.accelerations)
    same = ns.inverse_dynamics(
        there, whole, {n: at.accelerations[n] for n in at.independent_speeds}
    )
    # an input that moves nothing here may have any value: what they do is compared
    driven = [ns.evaluate(there, whole, inputs=x.inputs) for x in (found, same)]
    close(*(list(x.accelerations.values()) for x in driven))
    close(np.linalg.norm(found.unreachable), np.linalg.norm(same.unreachable))
    own = {s.name: 0.0 for s in system.independent_speeds}
    with pytest.raises(ns.SimulationError, match="independent"):
        ns.inverse_dynamics(system, whole, own | {"nothing": 0.0})


def _inverse_dynamics_batch(system, name, k, there, whole, at):
    states, _ = arrays(name, whole)
    each = [
        ns.evaluate(system, {n: x[k] for n, x in states.items()})
        for k in range(len(states[next(iter(states))]))
    ]
    rates = {n: [one.accelerations[n] for one in each] for n in each[0].accelerations}
    found = ns.inverse_dynamics_batch(system, states, rates)
    for k, one in enumerate(each):
        alone = ns.inverse_dynamics(system, {n: x[k] for n, x in states.items()}, one.accelerations)
        close([x[k] for x in found.inputs.values()], list(alone.inputs.values()))
        close(found[k].unreachable, alone.unreachable)


def _simulate(system, name, k, there, whole, at):
    found = ns.simulate(system, duration=0.2, start=whole, samples=5)
    expected = ns.simulate(there, duration=0.2, start=whole, samples=5)
    close(found.q, expected.q, MOTION)
    close(found.v, expected.v, MOTION)
    completed = ns.complete_start(system, whole)
    close(ns.simulate(system, duration=0.2, start=completed, samples=5).q, expected.q, MOTION)


def _simulate_batch(system, name, k, there, whole, at):
    states, singular = arrays(name, whole)
    names = [c.name for c in system.coordinates]
    for device in ("cpu", HostDevice()):
        found = ns.simulate_batch(
            system, duration=0.2, start=states, samples=3, keep=["final", "samples"], device=device
        )
        assert found.success.all() and set(singular) <= set(np.flatnonzero(found.changed_speeds))
        for k in range(found.count):
            alone = ns.simulate(
                system, duration=0.2, start={n: x[k] for n, x in states.items()}, samples=3
            )
            for column, expected in zip(names, alone.q[-1], strict=True):
                close(found.final[column][k], expected, MOTION)


def _speed(name):
    return {"skate": "y.speed", "balls": "b2.wz", "forklift": "forks.speed"}[name]


def _short(name, k):
    """A start in which a speed can change by itself."""
    state = CASES[name][1][k]
    return {n: x for n, x in state.items() if n != "x.speed"}


def _differences(system, name, k, column):
    start, guess, speed, h = _short(name, k), CASES[name][3], _speed(name), 1e-4
    ends = [
        ns.simulate(
            system,
            duration=0.2,
            start=start | {speed: start[speed] + s * h},
            guess=guess,
            samples=2,
            rtol=1e-12,
            atol=1e-12,
        )[column][-1]
        for s in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * h)


def _sensitivities(system, name, k, there, whole, at):
    column, speed = system.coordinates[1].name, _speed(name)
    given = {
        "with_respect_to": [speed],
        "duration": 0.2,
        "start": _short(name, k),
        "guess": CASES[name][3],
    }
    expected = _differences(system, name, k, column)
    found = ns.simulate_sensitivities(system, samples=2, **given)
    close(found[column, speed][-1], expected, 1e-6)
    many = ns.simulate_sensitivities_batch(system, samples=2, count=2, **given)
    assert many.success.all()
    close(many.derivatives[column][:, -1, 0], [expected] * 2, 1e-6)
    slope = ns.gradient(system, terminal=column, **given)
    close(slope[speed], expected, 1e-6)
    slopes = ns.gradient_batch(system, terminal=column, count=2, **given)
    assert slopes.success.all()
    close(slopes.derivatives[speed], [expected] * 2, 1e-6)


def _audit_batch(system, name, k, there, whole, at):
    states, singular = arrays(name, whole)
    found = ns.audit_batch(system, states)
    expected = ns.audit_batch(there, {n: np.array(x)[singular] for n, x in states.items()})
    for one, other in zip(found.wheels, expected.wheels, strict=True):
        for word in ("longitudinal", "lateral", "normal"):
            a, b = getattr(one, word)[singular], getattr(other, word)
            assert np.array_equal(np.isnan(a), np.isnan(b))
            close(np.nan_to_num(a), np.nan_to_num(b))


def _of_runs(system, name, k, there, whole, at):
    """A run that passes the state: reactions and the audit at its start."""
    run = ns.simulate(system, duration=0.05, start=whole, samples=3)
    same = ns.simulate(there, duration=0.05, start=whole, samples=3)
    for one, other in zip(ns.reactions(system, run), ns.reactions(there, same), strict=True):
        for word in ("force", "moment", "point"):
            close(np.nan_to_num(getattr(one, word)), np.nan_to_num(getattr(other, word)), MOTION)
    found, expected = ns.audit(system, run), ns.audit(there, same)
    for one, other in zip(found.wheels, expected.wheels, strict=True):
        close(np.nan_to_num(one.lateral), np.nan_to_num(other.lateral), MOTION)


def _matrices(system, name, k, there, whole, at):
    with pytest.raises(ns.SimulationError, match="do not determine"):
        ns.matrices(system, state=whole)


def _complete_start(system, name, k, there, whole, at):
    found = ns.complete_start(system, whole)
    close(found.v, list(at.speeds.values()))


def _functions_of_states(system, name, k, there, whole, at):
    """Functions of [q; η] cannot take other speeds: they refuse there, and answer elsewhere."""
    q = [whole[c.name] for c in system.coordinates]
    speeds = [at.speeds[s.name] for s in there.independent_speeds]
    u, p = np.zeros(len(system.inputs)), system.parameters()

    def state(here):
        x = np.zeros(here.num_states)
        x[: len(q) + len(speeds)] = [*q, *speeds]
        return x

    own, other = state(system), state(there)
    rates = RatesFunction(system)
    nx = rates.sizes[1]
    for of in (None, {"K": "kinetic_energy"}):
        d = ns.derivatives(system, of)
        for call in (
            lambda d=d: d(0.0, own, u, p),
            lambda d=d: d.map([0.0, 0.0], [own, own], [u, u], p),
        ):
            with pytest.raises(ns.SimulationError, match="do not determine"):
                call()
    for call in (rates.values, rates.jacobian):
        with pytest.raises(ns.SimulationError, match="do not determine"):
            call(0.0, own[:nx], u, p)
    names = [f"rate of {s.name}" for s in (*there.coordinates, *there.independent_speeds)]
    found = ns.derivatives(there)
    answer = dict(zip([x.name for x in found.of], found(0.0, other, u, p).values, strict=True))
    close(
        [answer[n] for n in names[len(q) :]],
        [at.accelerations[s.name] for s in there.independent_speeds],
    )
    close(
        RatesFunction(there).values(0.0, other[:nx], u, p)[: len(names)],
        list(answer.values())[: len(names)],
    )


def _casadi_function(system, name, k, there, whole, at):
    """A graph cannot refuse: nan, in derivatives too."""
    q = [whole[c.name] for c in system.coordinates]

    def called(here, outputs, of=lambda f: f):
        f = here.casadi_function(outputs, parameters={})
        x = np.zeros(f.size1_in("x"))
        speeds = [at.speeds[s.name] for s in here.independent_speeds]
        x[: len(q) + len(speeds)] = [*q, *speeds]
        return {n: np.array(value).ravel() for n, value in of(f)(x=x).items()}

    found = called(system, ["rates", "accelerations", "energies", "poses"])
    expected = called(there, ["rates", "accelerations", "energies", "poses"])
    for word in ("rates", "accelerations", "energies"):
        assert np.isnan(found[word][0])
    close(found["poses"], expected["poses"])
    close(expected["accelerations"], list(at.accelerations.values()))
    close(expected["energies"][0], at.kinetic_energy)
    assert np.isnan(called(system, ["rates"], ca.Function.jacobian)["jac_rates_x"]).any()


#: Function → how it is called at a singular state.
CALLS = {
    "evaluate": _evaluate,
    "evaluate_batch": _evaluate_batch,
    "direct_kinematics": _direct_kinematics,
    "inverse_kinematics": _inverse_kinematics,
    "inverse_dynamics": _inverse_dynamics,
    "inverse_dynamics_batch": _inverse_dynamics_batch,
    "simulate": _simulate,
    "simulate_batch": _simulate_batch,
    "simulate_sensitivities": _sensitivities,
    "audit_batch": _audit_batch,
    "reactions": _of_runs,
    "matrices": _matrices,
    "complete_start": _complete_start,
    "derivatives": _functions_of_states,
    "casadi_function": _casadi_function,
}
_WITH = "called with simulate_sensitivities"
#: Functions that are not called above, and why.
OTHERS = {
    "simulate_sensitivities_batch": _WITH,
    "gradient": _WITH,
    "gradient_batch": _WITH,
    "cartesian_model": "at states of its own, below",
    "kinematic_history": "along a motion, below",
    "linearize": "of a steady motion, below",
    "linearize_batch": "of steady motions, below",
    "steady": "of a steady motion, below",
    "steady_batch": "of steady motions, below",
    "sweep_eigenvalues": "calls steady and linearize",
    "branch": "searches by the equations of steady, in the speeds that it chooses",
    "stability_chart": "calls steady_batch and linearize_batch",
    "periodic": "calls simulate_sensitivities",
    "lyapunov_exponents": "calls simulate_sensitivities",
    "canonical_form": "of a nominal straight motion, by linearize",
    "fit": "calls simulate_sensitivities",
    "reference_motion": "along a motion, below",
    "start_on_motion": "called by reference_motion, in speeds that are regular there",
    "run_scenario": "calls simulate",
    "plan": "replays by simulate",
    "follow": "calls reference_motion and simulate",
    "track": "calls reference_motion and simulate",
}


@pytest.mark.slow
def test_every_function_of_a_state_is_here():
    public = {n: getattr(importlib.import_module(m), n) for n, m in public_places().items()}
    functions = {n: thing for n, thing in public.items() if inspect.isfunction(thing)}
    taken = set()
    for name, function in functions.items():
        arguments = list(inspect.signature(function).parameters)
        of_system = arguments[:1] == ["system"] or name == "matrices"
        if of_system and STATES & set(arguments[1:]):
            taken.add(name)
    assert taken == {*CALLS, *OTHERS} - {"reactions", "derivatives", "casadi_function"}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("name", "k"), places())
def test_answers_as_in_regular_speeds(name, k, call):
    there, whole, at = near(name, k)
    CALLS[call](system_of(name), name, k, there, whole, at)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), [p for p in places() if p[0] != "balls"])
def test_accelerations_by_the_oracle(name, k):
    system, (_, whole, at) = system_of(name), near(name, k)
    oracle = Maximal(system.model)
    q = np.array([whole[c.name] for c in system.coordinates])
    v = np.array([whole[s.name] for s in system.speeds])
    x = oracle.place(q)
    num_w = len(system.model.speed_inputs)
    w = np.zeros(num_w)
    rows = oracle.rows(x, np.zeros(oracle.size), 0.0, w, w, q)
    known = np.concatenate([rows.J, oracle.speeds(x)]), np.concatenate([rows.b, v])
    V = np.linalg.lstsq(*known, rcond=None)[0]
    close(known[0] @ V, known[1])
    answer = oracle.at(
        x, V, 0.0, np.zeros(len(system.model.inputs)), np.zeros(num_w), np.zeros(num_w), q
    )
    assert answer.freedoms == len(system.independent_speeds)
    close(list(at.accelerations.values()), answer.speed_rates, 1e-8)


def test_steady_motions_and_small_ones_across_the_slides():
    system = system_of("skate")
    ahead = ns.linearize(system, {"th.angle": 0.0, "x.speed": 2.0})
    for angle, speed in ((pi / 2, 2.0), (-pi / 2, -2.0)):
        across = {"th.angle": angle, "y.speed": speed}
        close(
            np.sort_complex(ns.linearize(system, across).eigenvalues).real,
            np.sort_complex(ahead.eigenvalues).real,
        )
        assert ns.steady(system, across).residual < 1e-9


def _skates():
    """Skates at 2 m/s in several directions."""
    heading = np.array([pi / 2, 0.0, 0.4, -pi / 2, 1.2, pi / 2])
    return {"th.angle": heading, "x.speed": 2 * np.cos(heading), "y.speed": 2 * np.sin(heading)}


#: Mechanism → variants that are singular in its own speeds.
SINGULAR = {"skate": {0, 3, 5}, "forklift": {0, 2, 4}}
#: Mechanism → given values with singular variants first and among others, inputs that keep them.
STEADY = {
    "skate": (_skates(), []),
    "forklift": (
        {
            "rear.steer.angle": np.array([-pi / 2, 0.3, pi / 2, -1.0, pi / 2, 0.0]),
            "rear.rate": 1.5,
            "forks.speed": np.array([0.1, 0.0, -0.1, 0.1, 0.0, 0.0]),
        },
        ["rear.torque", "forks.force"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", STEADY)
def test_steady_motions_of_variants_some_of_which_are_singular(name, first):
    """Each variant as `steady` and `linearize` have it alone, whichever comes first."""
    system, (given, find) = system_of(name), STEADY[name]
    given = {n: np.roll(x, -first) if np.ndim(x) else x for n, x in given.items()}
    each = [{n: float(x[k]) if np.ndim(x) else x for n, x in given.items()} for k in range(6)]
    motions = ns.steady_batch(system, given, find=find)
    assert motions.is_found.all() and not motions.messages
    found = ns.linearize_batch(
        system,
        {s.name: motions.v[:, k] for k, s in enumerate(system.speeds)}
        | {c.name: motions.q[:, k] for k, c in enumerate(system.coordinates)},
        inputs=motions.inputs,
        keep=["A", "B"],
    )
    assert found.is_steady.all() and not found.messages
    assert sorted(found.others) == [k for k in range(6) if (k + first) % 6 in SINGULAR[name]]
    for k, one in enumerate(each):
        alone = ns.steady(system, one, find=find)
        for word in ("values", "rates", "inputs", "units"):
            assert set(getattr(motions[k], word)) == set(getattr(alone, word))
        for word in ("values", "rates", "inputs"):
            numbers = getattr(motions[k], word)
            close([numbers[n] for n in getattr(alone, word)], list(getattr(alone, word).values()))
        close(motions.v[k], alone.start.v)
        assert motions.family[k] == alone.family
        small = ns.linearize(system, alone.start, inputs=alone.inputs)
        assert found.others.get(k, found.states) == small.states
        close(found.A[k], small.A)
        close(found.B[k], small.B)
        assert found.is_stable[k] == small.is_stable


@pytest.mark.parametrize("angle", [pi / 2, -pi / 2])
def test_cartesian_model_across_the_slides(angle):
    """The point ahead of a skate is moved by its speed and its turning."""
    found = ns.cartesian_model(
        system_of("skate"),
        {"th.angle": angle, "y.speed": 2.0},
        body="skate",
        point=(0.5, 0.0, 0.0),
        components=("vx", "vy"),
    )
    # skate and slide along y, and 0.1/0.5² across by turning alone
    close(found.mass, np.diag([0.4, 1.3]))


def test_histories_with_a_sample_across_the_slides():
    system = system_of("skate")
    motion = ns.motions.ExpressionMotion(
        coordinates={
            "x.position": "4*sin(0.5*t)",
            "y.position": "4 - 4*cos(0.5*t)",
            "th.angle": "0.5*t",
        }
    )
    for begin, samples in ((0.0, 5), (pi, 3)):
        found = ns.kinematic_history(
            system, motion, duration=2 * pi - begin, samples=samples, start_time=begin
        )
        close(found.speeds["x.speed"], 2 * np.cos(0.5 * found.t))
        close(found.accelerations["y.speed"], np.cos(0.5 * found.t))
        close(found.accelerations["x.speed"], -np.sin(0.5 * found.t))
        close(found.independent_accelerations["x.speed"], -np.sin(0.5 * found.t))
        forces = ns.dynamics_history(system, found)
        close(forces.unreachable, 0 * forces.unreachable)


@pytest.mark.slow
@pytest.mark.parametrize("begin", [0.0, pi / 2, -pi / 2, pi / 2 - 1e-5])
def test_motions_that_begin_and_pass_across_the_slides(begin):
    """A circle driven at 2 m/s by the inputs of its reference alone."""
    system = system_of("skate")
    heading = f"(0.5*t + {begin!r})"
    motion = ns.motions.ExpressionMotion(
        coordinates={
            "x.position": f"4*sin{heading}",
            "y.position": f"-4*cos{heading}",
            "th.angle": heading,
        }
    )
    run = ns.follow(system, motion, duration=2 * pi, samples=9)
    close(run["x.position"], 4 * np.sin(0.5 * run.t + begin), MOTION)
    close(run["y.position"], -4 * np.cos(0.5 * run.t + begin), MOTION)
    found = ns.reference_motion(system, motion).samples(np.linspace(0.0, 2 * pi, 9))
    heading = 0.5 * found.t + begin
    close(found.speeds["y.speed"], 2 * np.sin(heading))
    # along the blade: both slides and the skate, 1.6 kg along x and 1.3 kg along y, turning at
    # 0.5 rad/s; the power of the inputs is the rate of K = ½ 1.6 ẋ² + ½ 1.3 ẏ² + const
    power = found.inputs["Fx"] * 2 * np.cos(heading) + found.inputs["Fy"] * 2 * np.sin(heading)
    power += 0.5 * found.inputs["T"]
    close(power, -0.3 * np.sin(2 * heading))
    # of the inputs that do so these are least: none across the blade
    close(found.inputs["Fx"] * np.sin(heading), found.inputs["Fy"] * np.cos(heading))


@pytest.mark.parametrize("sign", [1, -1])
def test_speeds_that_constraints_forbid_are_refused_on_both_sides(sign):
    system = system_of("forklift")
    for more in ({}, {"forks.speed": 0.0}):
        start = {"rear.steer.angle": sign * pi / 2, "base.vx": 0.5} | more
        with pytest.raises(ns.SimulationError, match=r"'rear\.lateral' is missed"):
            ns.complete_start(system, start)
    near_by = {"rear.steer.angle": sign * (pi / 2 - 1e-8), "base.vx": 0.5, "forks.speed": 0.0}
    with pytest.raises(ns.SimulationError, match="all but forbid"):
        ns.complete_start(system, near_by)
    fast = ns.complete_start(system, near_by | {"rear.steer.angle": sign * (pi / 2 - 1e-4)})
    assert 1e3 < np.max(np.abs(fast.v)) < 1e6 and fast.speed_residual < 1e-9


@pytest.mark.slow
def test_a_start_that_is_not_unique_has_one_verdict(system_of):
    system = system_of("bicycle-on-hills")
    start = {"speed": 5.0, "frame.x": 0.0, "frame.y": 0.0, "frame.yaw": 0.0, "frame.lean": 0.0}
    for names in (["c"], ["w", "c"], ["mB", "c"], ["lam"], list(system.model.parameter_values())):
        for call in (
            lambda n: ns.simulate_sensitivities(
                system, with_respect_to=n, duration=0.1, start=start
            ),
            lambda n: ns.gradient(
                system, with_respect_to=n, duration=0.1, start=start, terminal="frame.x"
            ),
        ):
            with pytest.raises(ns.SimulationError, match="is not unique"):
                call(names)
    # what is accepted is what differences of completed starts say: masses leave them where they are
    found = ns.simulate_sensitivities(
        system, with_respect_to=["mB", "g"], duration=0.01, start=start, samples=2
    )
    for name, step in (("mB", 1.0), ("g", 0.1)):
        ends = [
            ns.complete_start(
                system,
                start,
                parameters=system.parameters({name: system.model.parameter_values()[name] + x}),
            )
            for x in (-step, step)
        ]
        close([found[q.name, name][0] for q in system.coordinates], (ends[1].q - ends[0].q) / 2)
        close([found[s.name, name][0] for s in system.speeds], (ends[1].v - ends[0].v) / 2)


# The library


def singular_place(system):
    """A time and a configuration on the rows at which a measure of the own speeds vanishes.

    It changes its sign between two configurations; None where it does so nowhere.
    """
    kin, params = system.kinematics, system.parameters()
    probe = kin.probe

    def measures(t, q):
        return measures_at(system, np.array([t]), q[None], params)[0]

    kinds = np.array([m.kind == "basis" for m in system.singularity_measures], dtype=bool)
    if not kinds.any():
        return None
    for (t, one), (_, other) in combinations(probe.configurations(8), 2):
        other = probe.on_manifold(other, t)
        if other is None:
            continue
        ends = measures(t, one), measures(t, other)
        signed = np.flatnonzero(kinds & (np.sign(ends[0]) * np.sign(ends[1]) < 0))
        if not signed.size:
            continue
        low, high = one, other
        for _ in range(200):
            middle = probe.on_manifold((low + high) / 2, t)
            if middle is None or np.array_equal(middle, low) or np.array_equal(middle, high):
                break
            value = measures(t, middle)[signed[0]]
            if value * ends[0][signed[0]] > 0:
                low = middle
            else:
                high = middle
        others = measures(t, low)
        if abs(others[signed[0]]) < 1e-12 and np.all(np.abs(others[~kinds]) > 1e-2):
            return t, low
    return None


OF_LIBRARY = [
    "evaluate",
    "evaluate_batch",
    "direct_kinematics",
    "inverse_kinematics",
    "inverse_dynamics",
    "inverse_dynamics_batch",
    "simulate",
    "simulate_batch",
    "audit_batch",
    "reactions",
    "complete_start",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ns.MODELS)
def test_library_models_where_their_speeds_are_singular(name, request):
    system = request.getfixturevalue("system_of")(name)
    place = singular_place(system)
    if place is None:
        pytest.skip("no measure of its speeds changes its sign")
    t, q = place
    params = system.parameters()
    (there,) = system.regular_at(np.array([t]), q[None], params[None])
    if there is None or t * bool(ca.depends_on(system.kinematics.g, system.kinematics.symbols.t)):
        pytest.skip("the rows themselves lose rank")
    rng = np.random.default_rng(8)
    given = {c.name: float(x) for c, x in zip(system.coordinates, q, strict=True)}
    given |= {s.name: float(rng.uniform(-1, 1)) for s in there.independent_speeds}
    start = ns.complete_start(there, given)
    whole = {c.name: float(x) for c, x in zip(system.coordinates, start.q, strict=True)}
    whole |= {s.name: float(x) for s, x in zip(system.speeds, start.v, strict=True)}
    at = ns.evaluate(there, whole)
    for call in OF_LIBRARY:
        CALLS[call](system, name, 0, there, whole, at)
