"""Derivatives of right-hand sides and outputs against complex steps and against differences."""

import casadi as ca
import numpy as np
import pytest
from complex_step import STEP, run_program

import noslip as ns

#: Every kind of joint, row and force is in one of these.
MODELS = (
    *("rolling-disk", "agv", "tractor-trailer", "heavy-body", "pendulum", "spring-chain"),
    *("thrown-body", "sleigh-on-slides", "four-bar", "shaken-pendulum", "torus", "moving-rows"),
)
#: Relative to the largest entry of the matrix.
EXACT = 1e-12


def states(system, rng, count=2):
    """Times, states, inputs and parameters at admissible configurations."""
    num_q, num_f = len(system.coordinates), len(system.independent_speeds)
    for t, q in system.kinematics.probe.configurations(count):
        x = np.zeros(system.num_states)
        x[:num_q] = q
        x[num_q : num_q + num_f] = rng.normal(size=num_f)
        yield t, x, rng.normal(size=len(system.inputs)), system.parameters()


def by_complex_step(program, at):
    """Derivatives by state, inputs and parameters, column by column."""
    t, *vectors = at
    matrices = []
    for k, vector in enumerate(vectors):
        columns = []
        for j in range(len(vector)):
            moved = [np.array(v, dtype=complex) for v in vectors]
            moved[k][j] += 1j * STEP
            columns.append(run_program(program, t, *moved).imag / STEP)
        matrices.append(np.array(columns).T.reshape(program.output_size, len(vector)))
    return matrices


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_of_rates_are_those_of_complex_steps(name, system_of, rng):
    system = system_of(name)
    found = ns.derivatives(system)
    program = system.program("rates", system.rates_expression[: system.num_states])
    for at in states(system, rng):
        d = found(*at)
        assert d.values == pytest.approx(
            system.rates(*at)[: system.num_states], rel=1e-12, abs=1e-12
        )
        expected = by_complex_step(program, at)
        for matrix, other in zip(d[1:], expected, strict=True):
            scale = max(1.0, np.abs(other).max(initial=0.0))
            assert matrix.shape == other.shape
            assert matrix == pytest.approx(other, abs=EXACT * scale)


def test_derivatives_of_outputs_are_those_of_complex_steps(system_of, rng):
    system = system_of("agv")
    outputs = {
        "energy": "kinetic_energy + potential_energy",
        "power": "torque1*wheel1.rate + torque2*wheel2.rate",
        "side force": "reaction.wheel3.lateral**2/m_platform",
        "turning": "acceleration.platform.rate*sin(platform.angle)",
    }
    found = ns.derivatives(system, outputs)
    assert [q.name for q in found.of] == list(outputs)
    eq, kin = system.equations, system.kinematics

    def entry(quantities, column, name):
        return column[[q.name for q in quantities].index(name)]

    u = eq.inputs
    v, rates, lam = kin.v, eq.speed_rates, eq.multipliers
    lateral = lam[[row.name for row in kin.rows].index("wheel3.lateral")]
    mass = kin.symbols.params[[p.name for p in system.model.parameters].index("m_platform")]
    angle = entry(system.coordinates, kin.symbols.q, "platform.angle")
    expression = ca.vertcat(
        eq.kinetic_energy + eq.forces.potential_energy,
        u[0] * entry(system.speeds, v, "wheel1.rate")
        + u[1] * entry(system.speeds, v, "wheel2.rate"),
        lateral**2 / mass,
        entry(system.speeds, rates, "platform.rate") * ca.sin(angle),
    )
    program = system.program("outputs", expression)
    for at in states(system, rng):
        d = found(*at)
        for matrix, other in zip(d[1:], by_complex_step(program, at), strict=True):
            scale = max(1.0, np.abs(other).max())
            assert matrix == pytest.approx(other, abs=EXACT * scale)


def test_named_angles_turn_as_their_axes_say(system_of):
    """∂(angle)/∂q N gives the rates of angles: N maps ω = e₁ to the rate of the quaternion."""
    system = system_of("rolling-disk")
    angles = {n: f"disk.{n}" for n in ("yaw", "tilt", "spin")}
    start = ns.complete_start(system, {"disk.yaw": 0.3, "disk.tilt": 1.1, "disk.spin": -0.4})
    x = np.concatenate([start.q, start.eta])
    d = ns.derivatives(system, angles)(0.0, x, np.zeros(0), system.parameters())
    assert d.values == pytest.approx([0.3, 1.1, -0.4], abs=1e-14)
    rates = {"disk.yaw_rate": 0.7, "disk.tilt_rate": -0.2, "disk.spin_rate": 2.0}
    moving = ns.complete_start(
        system, {"disk.yaw": 0.3, "disk.tilt": 1.1, "disk.spin": -0.4, **rates}
    )
    N = np.array(system.kinematics.probe.kinematic_map(moving.q))
    num = len(system.coordinates)
    assert d.by_state[:, :num] @ (N @ moving.v) == pytest.approx([0.7, -0.2, 2.0], abs=1e-13)


def test_folded_parameters_have_no_derivatives_and_cost_nothing():
    equations = ns.derive(ns.load("chaplygin-sleigh"))
    names = [p.name for p in equations.model.parameters]
    full = ns.derivatives(ns.compile(equations))
    folded = ns.derivatives(ns.compile(equations, fold=True))
    assert folded.function.output_size < full.function.output_size
    at = (0.0, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.0]), np.zeros(len(full.inputs)))
    parameters = np.array(list(equations.model.parameter_values().values()))
    one, other = full(*at, parameters), folded(*at, parameters)
    assert other.by_state == pytest.approx(one.by_state, abs=1e-14)
    assert other.by_parameters.shape == (6, len(names))
    assert not np.any(other.by_parameters)


def test_wrong_outputs_are_refused(system_of, refuses):
    system = system_of("agv")
    with refuses(ns.SimulationError, "'plattform.x'", "output 'far'", "platform.x"):
        ns.derivatives(system, {"far": "plattform.x**2"})
    with refuses(ns.SimulationError, "cannot be read", "output 'far'", "arithmetic"):
        ns.derivatives(system, {"far": "platform.x +"})
    with refuses(ns.SimulationError, "not an expression", "agv", "platform.x**2"):
        ns.derivatives(system, {"far": 3.0})
    with pytest.raises(TypeError, match="takes a System, got"):
        ns.derivatives(ns.load("agv"))


class TestNumbersOfOtherShapes:
    """Refused with the order in which numbers are expected."""

    STATE, PARAMETERS = np.zeros(10), np.ones(5)

    @pytest.mark.parametrize(
        ("given", "what", "fix"),
        [
            (
                (0.0, [1.0, 2.0], [], PARAMETERS),
                "state has the shape (2,), expected (10,)",
                "disk.x",
            ),
            ((0.0, STATE, [1.0], PARAMETERS), "inputs has the shape (1,), expected (0,)", "none"),
            ((0.0, STATE, [], [1.0]), "parameters has the shape (1,), expected (5,)", "m, r"),
            (([0.0, 1.0], STATE, [], PARAMETERS), "time has the shape (2,), expected ()", "in s"),
            (
                (0.0, ["a"] * 10, [], PARAMETERS),
                "state does not contain numbers",
                "disk.x",
            ),
            (
                (0.0, [[1.0], [1.0, 2.0]], [], PARAMETERS),
                "state does not contain numbers",
                "disk.x",
            ),
        ],
    )
    def test_one_state(self, system_of, refuses, given, what, fix):
        slopes = ns.derivatives(system_of("rolling-disk"))
        with refuses(ns.SimulationError, what, "derivatives of rate of disk.x", fix):
            slopes(*given)

    def test_many_states(self, system_of, refuses):
        slopes = ns.derivatives(system_of("rolling-disk"))
        states, none = np.zeros((3, 10)), np.zeros((3, 0))
        with refuses(
            ns.SimulationError, "state has the shape (2, 10), expected (3, 10)", "", "a row for"
        ):
            slopes.map([0.0, 1.0, 2.0], states[:2], none, self.PARAMETERS)
        with refuses(ns.SimulationError, "inputs has the shape (3, 1)", "", "none; a row for"):
            slopes.map([0.0, 1.0, 2.0], states, np.zeros((3, 1)), self.PARAMETERS)
