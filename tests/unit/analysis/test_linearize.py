"""Linearizations against closed forms, and against what simulated neighbors do."""

import json
import math

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import noslip as ns
from noslip.algebra import angular_velocity
from noslip.simulation import AbstractInputLaw, InputGenerator

#: Relative: fourth-order differences of runs at tolerance 1e-13 with steps of 1e-3.
NEIGHBORS = 1e-9
EXACT = 1e-12


def value_at_end(system, run, name):
    """A coordinate, speed, named angle or its rate at the end of a run."""
    for k, speed in enumerate(system.independent_speeds):
        if speed.name == name:
            E = system.kinematics.independent_rows(run.t[-1], run.q[-1], system.parameters())
            return float(E[k] @ run.v[-1])
    for joint in system.model.joints:
        angles = getattr(joint.type, "angles", None)
        if angles is not None and name in [f"{joint.name}.{n}_rate" for n in angles.names]:
            now = [run[f"{joint.name}.{n}"][-1] for n in angles.names]
            axes = [angular_velocity(now, list(e), angles.sequence) for e in np.eye(3)]
            omega = [run[f"{joint.name}.w{k}"][-1] for k in "xyz"]
            rates = np.linalg.solve(np.transpose(axes), omega)
            return float(rates[[f"{joint.name}.{n}_rate" for n in angles.names].index(name)])
    return float(run[name][-1])


def completed_nearby(system, line, start):
    """The start with its dependent coordinates found from where they are, not from rest."""
    if not line.dependent or system.kinematics.probe.quaternions:
        return start
    probe, names = system.kinematics.probe, [c.name for c in system.coordinates]
    held = [names.index(c.name) for c in line.coordinates]
    q = np.array([start.get(name, line.values.get(name, 0.0)) for name in names])
    for _ in range(20):
        g = np.array(probe.position(0.0, q, probe.params)).ravel()
        A = np.array(probe.constraint(0.0, q, np.zeros(0), probe.params)[0])[list(probe.holonomic)]
        stacked = np.vstack([A @ np.eye(len(q)), np.eye(len(q))[held]])
        q = q - np.linalg.lstsq(stacked, np.concatenate([g, np.zeros(len(held))]), rcond=1e-12)[0]
    return {**dict(zip(names, q, strict=True)), **start}


def neighbors(system, line, inputs, duration, step=1e-3):
    """d(state at the end)/d(state at the start, inputs), from runs beside the steady motion."""
    names = [s.name for s in line.states]
    base = {name: line.values[name] for name in names}
    forces = [q.name for q in line.inputs][: len(system.model.inputs)]

    def end(name, amount):
        start, pushed = dict(base), dict(inputs)
        if name in start:
            start[name] += amount
        else:
            pushed[name] = pushed.get(name, 0.0) + amount
        run = ns.simulate(
            system,
            duration=duration,
            start=completed_nearby(system, line, start),
            inputs=pushed,
            samples=2,
            rtol=1e-13,
            atol=1e-13,
        )
        return np.array([value_at_end(system, run, n) for n in names])

    columns = []
    for name in [*names, *forces]:
        near, far = (end(name, k * step) - end(name, -k * step) for k in (1, 2))
        columns.append((8 * near - far) / (12 * step))
    return np.array(columns).T


CASES = {
    "straight bicycle": ("whipple-bicycle", {"speed": 4.6}, {}, ()),
    "bicycle held in a turn": (
        "whipple-bicycle",
        {"frame.lean": 0.3, "speed": 5.0},
        {},
        ("steer_torque",),
    ),
    "disk in a turn": ("rolling-disk", {"disk.tilt": 1.2, "disk.yaw_rate": 1.0}, {}, ()),
    "hanging body": ("heavy-body", {}, {"pivot.pitch": 0.1}, ()),
    "four-bar at rest": ("four-bar", {}, {"crank.angle": -1.2}, ()),
    "arm at rest": ("manipulator-2r", {}, {"joint1.angle": -1.4}, ()),
    "carriage in a circle": ("carriage", {"carriage.vx": 1.0, "carriage.rate": 0.5}, {}, ()),
    "loader in a straight line": ("lhd-noslip", {"front.vx": 2.0, "waist.rate": 0.0}, {}, ()),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_neighbors_of_a_steady_motion_move_as_its_linearization_says(case, system_of):
    name, given, guess, find = case
    system = system_of(name)
    motion = ns.steady(system, given, guess=guess, find=find)
    line = ns.linearize(system, motion.start, inputs=motion.inputs)
    duration = 0.3
    n, m = len(line.A), len(system.model.inputs)
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = line.A, line.B[:, :m]
    expected = expm(whole * duration)[:n]
    found = neighbors(system, line, motion.inputs, duration)
    assert np.max(np.abs(found - expected)) < NEIGHBORS * np.max(np.abs(expected))


@pytest.mark.parametrize("spin", [-8.0, -3.0, 1.0])
def test_upright_disk_and_closed_form(spin, system_of):
    """λ² = (m g r I_t − I_a (I_a + m r²) Ω²) / (I_t (I_t + m r²)), and two of zero."""
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    m, r, I_a, I_t, g = (p[k] for k in ("m", "r", "I_axial", "I_transverse", "g"))
    line = ns.linearize(system, {"disk.tilt": math.pi / 2, "disk.spin_rate": spin})
    square = (m * g * r * I_t - I_a * (I_a + m * r**2) * spin**2) / (I_t * (I_t + m * r**2))
    root = np.sqrt(complex(square))
    expected = np.array([root, -root, 0, 0])
    assert line.states[0].name == "disk.tilt"
    for value in line.eigenvalues:
        assert np.min(np.abs(expected - value)) < EXACT * abs(root)
    assert line.is_stable == (square < 0)


@pytest.mark.parametrize("spin", [4.0, 30.0, 60.0])
def test_sleeping_top_and_closed_form(spin, system_of):
    """An upright top is stable if (I_a Ω)² > 4 I m g h, I about the tip; λ = ±i (n ± √…)."""
    system = system_of("top")
    p = system.model.parameter_values()
    tip = p["I_t"] + p["m"] * p["h"] ** 2
    weight = p["m"] * p["g"] * p["h"]
    line = ns.linearize(system, {"tip.wz": spin})
    # in axes that do not turn: I z̈ − i I_a Ω ż − m g h z = 0 with z = x + i y of the tip's lean
    roots = np.roots([tip, -1j * p["I_a"] * spin, -weight])
    growth = max(roots.real)
    assert max(line.eigenvalues.real) == pytest.approx(max(growth, 0.0), abs=1e-9)
    assert line.is_stable == ((p["I_a"] * spin) ** 2 > 4 * tip * weight)


@pytest.mark.parametrize("speed", [1.5, -1.5])
def test_sleigh_runs_with_its_mass_center_ahead(speed, system_of):
    """ω̇ = −m a v ω / (I + m a²): backwards it turns round."""
    system = system_of("chaplygin-sleigh")
    p = system.model.parameter_values()
    line = ns.linearize(system, {"sleigh.vx": speed})
    expected = -p["m"] * p["a"] * speed / (p["I"] + p["m"] * p["a"] ** 2)
    assert sorted(line.eigenvalues.real) == pytest.approx(sorted([expected, 0.0]), abs=EXACT)
    assert line.is_stable == (speed > 0)


@pytest.mark.parametrize("rate", [-6.0, 6.0])
def test_caster_trails(rate, system_of):
    """ψ̇ = (r ω/d) sin ψ as it rolls towards −j at the rate ω: pushed ahead, it turns round."""
    system = system_of("agv")
    p = system.model.parameter_values()
    line = ns.linearize(system, {"wheel1.rate": rate, "wheel2.rate": rate})
    assert line.A[0, 0] == pytest.approx(rate * p["r"] / p["d"], rel=1e-12)
    assert line.coordinates[0].name == "bracket.angle"
    assert line.is_stable == (rate < 0)


def test_pendulum_with_spring_damper_and_friction(system_of):
    """M λ² + d λ + k = 0, written out, about the angle where the torques balance."""
    system = system_of("pendulum")
    p = system.model.parameter_values()
    motion = ns.steady(system, {}, guess={"swing.angle": 0.1})
    angle = motion.values["swing.angle"]
    weight = p["m"] * p["g"] * p["l"]
    assert weight * math.sin(angle) + 2.1 * (angle - 0.3) == pytest.approx(0.0, abs=1e-12)
    line = ns.linearize(system, motion.start)
    mass = 0.03 + p["m"] * p["l"] ** 2
    assert line.mass[0, 0] == pytest.approx(mass, rel=1e-14)
    assert line.damping[0, 0] == pytest.approx(0.4 + 0.2 / 0.05, rel=1e-14)
    assert line.stiffness[0, 0] == pytest.approx(weight * math.cos(angle) + 2.1, rel=1e-13)
    assert line.forcing[0, 0] == 1.0


def test_an_input_can_keep_an_equilibrium(system_of):
    system = system_of("pendulum")
    p = system.model.parameter_values()
    motion = ns.steady(system, {"swing.angle": 1.0}, find=["torque"])
    torque = p["m"] * p["g"] * p["l"] * math.sin(1.0) + 2.1 * (1.0 - 0.3)
    assert motion.inputs["torque"] == pytest.approx(torque, rel=1e-13)
    line = ns.linearize(system, {"swing.angle": 1.0}, inputs=motion.inputs)
    assert line.values["torque"] == motion.inputs["torque"]


def test_holonomic_rows_are_eliminated_exactly(system_of):
    """Dependent coordinates move with the independent ones as the rows of a neighbor say."""
    system = system_of("four-bar")
    motion = ns.steady(system, {}, guess={"crank.angle": -1.2})
    line = ns.linearize(system, motion.start)
    assert len(line.coordinates) == 1 and len(line.dependent) == 2
    name, step = line.coordinates[0].name, 1e-3
    ends = []
    for amount in (-2 * step, -step, step, 2 * step):
        near = completed_nearby(system, line, {name: line.values[name] + amount})
        ends.append(ns.complete_start(system, near).q)
    slope = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12 * step)
    names = [c.name for c in system.coordinates]
    for k, coordinate in enumerate(line.dependent):
        expected = slope[names.index(coordinate.name)]
        assert line.coordinate_map[k, 0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    "formulation",
    [ns.DeSantis(), ns.BoltzmannHamel(), ns.GibbsAppell(), ns.Multipliers()],
    ids=lambda f: f.word,
)
def test_every_formulation_has_the_same_linearization(formulation, system_of):
    about = {"disk.tilt": 1.2, "disk.yaw_rate": 1.0, "disk.spin_rate": -5.38720156273335}
    ours = ns.linearize(system_of("rolling-disk"), about)
    theirs = ns.linearize(
        ns.System(equations=ns.derive(ns.load("rolling-disk"), formulation)), about
    )
    assert np.max(np.abs(ours.A - theirs.A)) < 1e-12 * np.max(np.abs(ours.A))


def test_turning_the_start_about_the_vertical_changes_nothing(system_of):
    system = system_of("whipple-bicycle")
    motion = ns.steady(system, {"frame.lean": 0.3, "speed": 5.0}, find=["steer_torque"])
    lines = [ns.linearize(system, motion.start, inputs=motion.inputs)]
    for yaw in (0.7, 2.5):
        values = {n: motion.values[n] for n in ("frame.lean", "steer.angle", "speed")}
        turned = ns.steady(
            system, {**values, "frame.yaw": yaw}, guess=motion.start, inputs=motion.inputs
        )
        lines.append(ns.linearize(system, turned.start, inputs=turned.inputs))
    for line in lines[1:]:
        assert np.max(np.abs(line.A - lines[0].A)) < 1e-11 * np.max(np.abs(lines[0].A))


def free_body(sequence):
    b = ns.ModelBuilder(name="swing", gravity=(0.0, 0.0, -9.81))
    b.body("body", mass=2.0, inertia=(0.3, 0.2, 0.1), center_of_mass=(0.0, 0.0, -0.4))
    angles = ns.joints.Angles(sequence=sequence, names=("a", "b", "c")) if sequence else None
    b.joint("pivot", ns.joints.Spherical(angles=angles), parent="world", child="body")
    return ns.System(equations=ns.derive(b.build()))


def test_angles_that_are_singular_here_are_replaced():
    """A zxz sequence is singular hanging down; other angles give the same two frequencies."""
    about = {}
    lines = [ns.linearize(free_body(sequence), about) for sequence in ("", "xyz", "zxz")]
    assert {c.name for c in lines[0].coordinates} == {"pivot.turn_y", "pivot.turn_x"}
    assert {c.name for c in lines[1].coordinates} >= {"pivot.a", "pivot.b"}
    assert {c.name for c in lines[2].coordinates} == {"pivot.turn_y", "pivot.turn_x"}
    squares = [2.0 * 9.81 * 0.4 / (inertia + 2.0 * 0.4**2) for inertia in (0.3, 0.2)]
    for line in lines:
        swings = sorted(e.imag for e in line.eigenvalues if e.imag > 1e-6)
        assert swings == pytest.approx(sorted(np.sqrt(squares)), rel=1e-13)


def test_a_coordinate_whose_stiffness_vanishes_here_is_still_a_state():
    """On x⁴ the force has no slope at the bottom; what is ignored is decided elsewhere."""
    b = ns.ModelBuilder(name="flat", gravity=(0.0, 0.0, -9.81))
    b.body("bead", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="bead")
    b.force(ns.forces.Wrench(name="bowl", body="bead", force=("-5*rail.position^3", 0.0, 0.0)))
    line = ns.linearize(ns.System(equations=ns.derive(b.build())))
    assert [s.name for s in line.states] == ["rail.position", "rail.speed"]
    assert line.stiffness[0, 0] == 0.0 and not line.ignored


def test_a_speed_input_moves_what_it_imposes(system_of):
    """δ̇ = w, and the front wheel feels the rate of w through the inertia of the steering."""
    system = system_of("car")
    line = ns.linearize(system, {"front.rate": 5.0})
    inputs, states = ([q.name for q in quantities] for quantities in (line.inputs, line.states))
    steer = system.model.speed_inputs[0].name
    assert line.B[states.index("steer.angle"), inputs.index(steer)] == 1.0
    step = 1e-3
    runs = [
        ns.simulate(
            system,
            duration=0.3,
            start={"front.rate": 5.0},
            inputs={steer: f"{amount}*cos(4*t)"},
            samples=2,
            rtol=1e-13,
            atol=1e-13,
        )
        for amount in (step, -step)
    ]
    # x of ẋ = A x + B_w w + B_ẇ ẇ from rest, w = cos 4t, ẇ = −4 sin 4t
    from scipy.integrate import solve_ivp

    columns = line.B[:, [inputs.index(steer), inputs.index(f"{steer}_rate")]]

    def rates(t, x):
        return line.A @ x + columns @ [math.cos(4 * t), -4 * math.sin(4 * t)]

    expected = solve_ivp(rates, (0.0, 0.3), np.zeros(len(states)), rtol=1e-12, atol=1e-12).y[:, -1]
    found = [(runs[0][name][-1] - runs[1][name][-1]) / (2 * step) for name in states]
    assert np.max(np.abs(found - expected)) < 1e-5


class TestWords:
    def test_modes_say_what_they_do(self, system_of):
        line = ns.linearize(system_of("whipple-bicycle"), {"speed": 5.0})
        words = {mode.word for mode in line.modes}
        assert words == {"stays", "decays"} and line.is_stable
        weave = next(mode for mode in line.modes if mode.is_oscillating)
        assert weave.frequency == pytest.approx(4.46486771378823 / (2 * math.pi), rel=1e-12)
        assert weave.time_constant == pytest.approx(1 / 0.77534188219585, rel=1e-11)
        text = line.text()
        for part in ("frame.lean [rad]", "halves in 0.894 s", "swings at 0.7106 Hz", "neutral"):
            assert part in text

    def test_an_unstable_motion_is_called_so(self, system_of):
        line = ns.linearize(system_of("whipple-bicycle"), {"speed": 2.0})
        assert not line.is_stable and "unstable: doubles in" in line.text()
        assert "unstable" in repr(line)

    def test_numbers_for_programs(self, system_of):
        line = ns.linearize(system_of("whipple-bicycle"), {"speed": 5.0})
        data = json.loads(json.dumps(line.to_json()))
        assert np.array_equal(data["A"], line.A)
        assert data["eigenvalues"][0] == [line.eigenvalues[0].real, line.eigenvalues[0].imag]
        assert data["states"][0] == {"name": "frame.lean", "unit": "rad"}


class TestErrors:
    def test_not_steady(self, system_of, refuses):
        with refuses(ns.SimulationError, "the rate of frame.lean_rate is", "whipple-bicycle"):
            ns.linearize(system_of("whipple-bicycle"), {"frame.lean": 0.2, "speed": 5.0})

    def test_equations_that_change_with_time(self, system_of, refuses):
        with refuses(ns.SimulationError, "change with time", "shaken-pendulum", "leave out"):
            ns.linearize(system_of("shaken-pendulum"))

    def test_vakonomic_equations(self, refuses):
        system = ns.System(equations=ns.derive(ns.load("vertical-disk"), ns.Vakonomic()))
        with refuses(ns.SimulationError, "costates", "vertical-disk", "NaturalComplement"):
            ns.linearize(system)

    def test_a_wheel_that_lies_flat(self, system_of, refuses):
        with refuses(ns.SimulationError, "lies flat", "rolling-disk", "another configuration"):
            ns.linearize(system_of("rolling-disk"))

    def test_a_linkage_in_line(self, system_of, refuses):
        """A parallelogram that lies flat may open in two ways."""
        flat = {"d": 1.0, "a": 0.4, "b": 1.0, "c": 0.4}
        about = {"crank.angle": 0.0, "coupler.angle": 0.0, "rocker.angle": 0.0}
        with refuses(ns.SimulationError, "lose rank", "four-bar", "another configuration"):
            ns.linearize(system_of("four-bar"), about, parameters=flat)


# --- feedback -----------------------------------------------------------------------------------


def pole():
    """An inverted pendulum on a cart that moves freely, with a force on it."""
    b = ns.ModelBuilder("pole", gravity=(0.0, 0.0, -9.81))
    b.parameter("k", 30.0, "N*m/rad")
    b.body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.body("pole", mass=0.5, inertia=(0.02, 0.02, 0.02), center_of_mass=(0.0, 0.0, 0.4))
    b.joint("cart", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="cart")
    b.joint("pole", ns.joints.Revolute(axis=(0, 1, 0)), parent="cart", child="pole")
    for name, speed, unit in (("force", "cart.speed", "N"), ("torque", "pole.rate", "N*m")):
        b.input(name, unit)
        b.force(ns.forces.Motor(name=name, speed=speed, input=name))
    return ns.System(equations=ns.derive(b.build()))


def by_hand(gains):
    """(m_c + m_p) ẍ + m_p l φ̈ = F and m_p l ẍ + (J + m_p l²) φ̈ − m_p g l φ = −k φ, F = −gains·x."""
    M = np.array([[2.5, 0.2], [0.2, 0.02 + 0.5 * 0.16]])
    K = np.array([[0.0, 0.0], [0.0, 30.0 - 0.5 * 9.81 * 0.4]])
    below = np.linalg.solve(M, np.hstack([-K, np.zeros((2, 2))]) - np.outer([1.0, 0.0], gains))
    return np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), below])


def test_inputs_of_the_state_close_the_loop():
    system = pole()
    gains = np.array([4.0, -7.0, 3.0, -2.0])
    law = "-4*cart.position + 7*pole.angle - 3*cart.speed + 2*pole.rate"
    line = ns.linearize(system, inputs={"force": law, "torque": "-k*pole.angle"})
    names = [s.name for s in line.states]
    assert names == ["cart.position", "pole.angle", "cart.speed", "pole.rate"]
    assert line.A == pytest.approx(by_hand(gains), abs=1e-12)
    assert line.damping == pytest.approx(np.outer([1.0, 0.0], gains[2:]), abs=1e-12)
    # what acts besides the law still acts
    mass = np.array([[2.5, 0.2], [0.2, 0.02 + 0.5 * 0.16]])
    assert line.B[2:] == pytest.approx(np.linalg.inv(mass), abs=1e-12)
    open_loop = ns.linearize(system, inputs={"torque": "-k*pole.angle"})
    assert [c.name for c in open_loop.ignored] == ["cart.position"]
    stiff = ns.linearize(system, inputs={"torque": "-k*pole.angle"}, parameters={"k": 50.0})
    assert stiff.stiffness[1, 0] - open_loop.stiffness[1, 0] == pytest.approx(20.0, abs=1e-12)


class Integrating(AbstractInputLaw):
    """A force −4 x − 3 ẋ − 5 ∫x dt on the cart."""

    def generator(self, system):
        z = ca.SX.sym("z")
        x, v = system.kinematics.symbols.q[0], system.kinematics.v[0]
        return InputGenerator(
            inputs={"force": -4 * x - 3 * v - 5 * z},
            states=z,
            rates=x,
            start=np.zeros(1),
            names=("integral",),
            units=("m*s",),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
        )


def test_states_of_a_law_are_states_of_the_loop():
    line = ns.linearize(pole(), {"pole.angle": np.pi}, inputs=Integrating())
    assert [s.name for s in line.states][-1] == "integral"
    M = np.array([[2.5, -0.2], [-0.2, 0.02 + 0.5 * 0.16]])
    K = np.array([[4.0, 0.0], [0.0, 0.5 * 9.81 * 0.4]])
    D = np.array([[3.0, 0.0], [0.0, 0.0]])
    A = np.zeros((5, 5))
    A[:2, 2:4] = np.eye(2)
    A[2:4] = np.linalg.solve(M, np.hstack([-K, -D, [[-5.0], [0.0]]]))
    A[4, 0] = 1.0
    assert line.A == pytest.approx(A, abs=1e-11)


def test_feedback_of_a_bicycle_adds_its_gains():
    """Quaternions, dependent coordinates and wheels: a rider who steers into the fall."""
    system = ns.System(equations=ns.derive(ns.load("whipple-bicycle")))
    motion = ns.steady(system, {"speed": 4.6})
    law = {"steer_torque": "6*frame.lean + 2*frame.lean_rate - 0.5*steer.rate"}
    line = ns.linearize(system, motion.start, inputs=law)
    free = ns.linearize(system, motion.start)
    names = [s.name for s in free.states]
    assert [s.name for s in line.states] == names
    gains = np.zeros(len(names))
    for name, gain in (("frame.lean", 6.0), ("frame.lean_rate", 2.0), ("steer.rate", -0.5)):
        gains[names.index(name)] = gain
    torque = [q.name for q in free.inputs].index("steer_torque")
    assert line.A == pytest.approx(free.A + np.outer(free.B[:, torque], gains), abs=1e-9)


def test_feedback_that_cannot_be_linearized_says_why():
    system = pole()
    with pytest.raises(ns.SimulationError, match="inputs 'force' change with time"):
        ns.linearize(system, inputs={"force": "sin(t)"})
    with pytest.raises(ns.SimulationError, match="no input 'forse'"):
        ns.linearize(system, inputs={"forse": "-cart.position"})
    with pytest.raises(ns.SimulationError, match="the motion is not steady"):
        ns.linearize(system, {"cart.position": 0.1}, inputs={"force": "-cart.position"})


def test_a_guess_picks_the_assembly_that_is_linearized():
    """A rod held by a slider on a line through its hinge: on this side or on the other."""
    b = ns.ModelBuilder("crank", gravity=(0.0, -9.81, 0.0))
    b.body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.1, 0.0, 0.0))
    b.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.2, 0.0, 0.0))
    hinge = ns.joints.Revolute(axis=(0, 0, 1))
    b.joint("crank", hinge, parent="world", child="crank")
    end = ns.Placement(position=(0.2, 0.0, 0.0))
    b.joint("rod", hinge, parent="crank", child="rod", parent_frame=end)
    b.row(ns.rows.PositionRow(name="line", expression="point(rod, 0.5, 0, 0).y"))
    b.force(ns.forces.JointSpring(name="spring", coordinate="crank.angle", stiffness=40.0))
    system = ns.System(equations=ns.derive(b.build()))
    found = []
    for near in (0.0, math.pi):
        motion = ns.steady(system, {}, guess={"crank.angle": 0.0, "rod.angle": near})
        angle = motion.values["crank.angle"]
        line = ns.linearize(system, {"crank.angle": angle}, guess={"rod.angle": near})
        again = ns.linearize(system, motion.start)
        assert line.values == pytest.approx(again.values, abs=1e-9)
        assert line.eigenvalues == pytest.approx(again.eigenvalues, abs=1e-7)
        found.append(line.values["rod.angle"])
    assert abs(found[0] - found[1]) > 2.0
