"""Inputs over time: numbers, tables, expressions, functions, callables; what is refused."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import noslip as ns

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def block():
    """A mass of 2 kg on a slide, pushed by an input."""
    b = ns.ModelBuilder(name="block", gravity=(0.0, 0.0, -9.81))
    b.parameter("k", 3.0, "N/m")
    b.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    for name in ("push", "brake"):
        b.input(name, "N")
        b.force(ns.forces.Motor(name=f"{name}_motor", speed="slide.speed", input=name))
    return ns.compile(ns.derive(b.build()))


@pytest.fixture(scope="module")
def hand():
    """A block moved at a given speed, which needs force; a massless pointer, which needs none."""
    b = ns.ModelBuilder(name="hand", gravity=(0.0, 0.0, -9.81))
    b.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.body("pointer", mass=0.0, inertia=(0.0, 0.0, 0.0))
    b.body("free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    b.joint("dial", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="block", child="pointer")
    b.joint("free", ns.joints.Prismatic(axis=(0.0, 1.0, 0.0)), parent="block", child="free")
    b.speed_input("pace", "slide.speed")
    b.speed_input("turn", "dial.rate")
    return ns.compile(ns.derive(b.build()))


def moved(block, **inputs):
    return ns.simulate(
        block, duration=3.0, inputs=inputs, samples=31, parameters={"k": 4.0}, **TIGHT
    )


def speed_after(force, t, mass=2.0, per_unit=2000):
    """∫ F dt / m by Gauss–Legendre over short pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    edges = np.linspace(0, t, per_unit + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    values = force(middle[:, None] + half[:, None] * nodes)
    return float(np.sum(values * weights * half[:, None]) / mass)


class TestKinds:
    def test_expression_of_time_and_parameters(self, block):
        run = moved(block, push="k*cos(2*t)", brake="-1")
        expected = (4.0 * np.sin(2 * run.t) / 2 - run.t) / 2.0
        assert run["slide.speed"] == pytest.approx(expected, abs=1e-11)
        assert run["push"] == pytest.approx(4.0 * np.cos(2 * run.t), abs=1e-14)

    def test_expression_with_feedback(self, block):
        """m ẍ = −k x − d v + 1, a damped oscillator about 1/k."""
        run = moved(block, push="1 - k*slide.position", brake="-0.8*slide.speed")
        decay, w = 0.2, np.sqrt(2.0 - 0.04)
        x = 0.25 - 0.25 * np.exp(-decay * run.t) * (
            np.cos(w * run.t) + decay / w * np.sin(w * run.t)
        )
        assert run["slide.position"] == pytest.approx(x, abs=1e-11)
        assert run["push"] == pytest.approx(1 - 4.0 * x, abs=1e-10)

    def test_expression_with_definitions(self, block):
        run = ns.simulate(
            block,
            duration=3.0,
            inputs={"push": "2*ramp + offset"},
            definitions={"offset": "k/3", "ramp": "offset*t"},
            **TIGHT,
        )
        assert run["slide.speed"][-1] == pytest.approx((9.0 + 3.0) / 2.0, abs=1e-11)

    def test_casadi_function_of_time_coordinates_speeds_and_parameters(self, block):
        t, q, v, p = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("p")
        law = ca.Function("law", [t, q, v, p], [1 - p * q - 0.8 * v + 0 * t])
        run = moved(block, push=law)
        same = moved(block, push="1 - k*slide.position - 0.8*slide.speed")
        assert run.q == pytest.approx(same.q, abs=1e-12)

    def test_python_callable(self, block):
        seen = []

        def law(t, q, v):
            seen.append((q.shape, v.shape))
            return 1 - 4.0 * q[0] - 0.8 * v[0]

        run = moved(block, push=law)
        same = moved(block, push="1 - k*slide.position - 0.8*slide.speed")
        assert run.q == pytest.approx(same.q, abs=1e-12)
        assert set(seen) == {((1,), (1,))}
        assert run.notes == (
            "input 'push' is a Python callable, called back at every evaluation: slower",
        )
        assert same.notes == ()

    def test_exception_in_a_callable(self, block, refuses):
        def law(t, q, v):
            if t > 1.0:
                raise ZeroDivisionError("no force left")
            return 1.0

        with refuses(ns.SimulationError, "ZeroDivisionError: no force left", "of model 'block'"):
            moved(block, push=law)

    def test_keyboard_interrupt_in_a_callable_passes(self, block):
        def law(t, q, v):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            moved(block, push=law)

    def test_callable_that_gives_nan_ends_the_run(self, block):
        with pytest.raises(ns.SimulationError) as caught:
            moved(block, push=lambda t, q, v: np.nan if t > 1 else 0.0)
        assert caught.value.what == "input 'push' is nan just after t = 1 s"


class TestTables:
    TIMES = np.array([0.3, 0.7, 1.6, 2.1])
    VALUES = np.array([1.0, -2.0, 4.0, 0.5])

    def reference(self, kind):
        """The table as a function, end values held outside."""

        def value(t):
            inside = np.clip(t, self.TIMES[0], self.TIMES[-1])
            if kind == "linear":
                return np.interp(inside, self.TIMES, self.VALUES)
            if kind == "cubic":
                return CubicSpline(self.TIMES, self.VALUES, bc_type="natural")(inside)
            return self.VALUES[np.maximum(np.searchsorted(self.TIMES, t, side="right") - 1, 0)]

        return value

    @pytest.mark.parametrize("kind", ["hold", "linear", "cubic"])
    def test_force_given_by_a_table(self, block, kind):
        table = ns.Table(times=self.TIMES, values=self.VALUES, kind=kind)
        run = ns.simulate(block, duration=3.0, inputs={"push": table}, samples=7, **TIGHT)
        value = self.reference(kind)
        assert run["push"][:-1] == pytest.approx(value(run.t[:-1]), abs=1e-13)
        # edges on the knots, so that each piece is smooth
        for t, speed in zip(run.t[1:], run["slide.speed"][1:], strict=True):
            edges = np.unique(np.clip([0.0, *self.TIMES, t], 0.0, t))
            total = sum(
                speed_after(lambda s, a=a: value(a + s), b - a, per_unit=20)
                for a, b in pairwise(edges)
            )
            assert speed == pytest.approx(total, abs=1e-11)

    @pytest.mark.parametrize("kind", ["hold", "linear", "cubic"])
    def test_table_and_start_time(self, block, kind):
        """A run that starts in the middle of a table sees its later part."""
        table = ns.Table(times=self.TIMES, values=self.VALUES, kind=kind)
        whole = ns.simulate(
            block, duration=3.0, inputs={"push": table}, samples=[1.0, 3.0], **TIGHT
        )
        start = {"slide.position": whole.q[0, 0], "slide.speed": whole.v[0, 0]}
        part = ns.simulate(
            block, duration=2.0, start=start, start_time=1.0, inputs={"push": table}, **TIGHT
        )
        assert part.t[0] == 1.0
        assert part.q[-1] == pytest.approx(whole.q[-1], abs=1e-11)

    def test_what_is_no_number(self, refuses):
        with refuses(ns.SimulationError, "'soon' and values [1, 2]", "Table(times=…, values=…)"):
            ns.Table(times="soon", values=[1, 2])

    def test_unknown_kind(self, refuses):
        with refuses(
            ns.SimulationError,
            "a table cannot be interpolated by 'liner'",
            "Table(kind=…)",
            "did you mean 'linear'?",
        ):
            ns.Table(times=[0, 1], values=[0, 1], kind="liner")

    @pytest.mark.parametrize(
        ("times", "values"), [([0.0], [1.0]), ([0, 1], [1, 2, 3]), ([[0, 1]], [[1, 2]])]
    )
    def test_shapes_that_do_not_fit(self, refuses, times, values):
        with refuses(ns.SimulationError, "as times, at least 2, got", "Table(times=…, values=…)"):
            ns.Table(times=times, values=values)

    @pytest.mark.parametrize(
        ("times", "values"), [([0, 0], [1, 2]), ([1, 0], [1, 2]), ([0, 1], [1, np.nan])]
    )
    def test_times_that_do_not_increase_or_numbers_that_are_not_finite(
        self, refuses, times, values
    ):
        with refuses(ns.SimulationError, "and all numbers be finite", "Table(times=…, values=…)"):
            ns.Table(times=times, values=values)


class TestSpeedInputs:
    def test_rate_of_an_expression_is_differentiated(self, hand):
        """The force that moves the block is (2 + 1) kg times the rate."""
        run = ns.simulate(
            hand, duration=2.0, inputs={"pace": "sin(3*t)"}, samples=21, reactions=True, **TIGHT
        )
        assert run["slide.speed"] == pytest.approx(np.sin(3 * run.t), abs=1e-14)
        assert run["pace_rate"] == pytest.approx(3 * np.cos(3 * run.t), abs=1e-13)
        assert run["reaction.pace"] == pytest.approx(9 * np.cos(3 * run.t), abs=1e-12)
        assert run["slide.position"] == pytest.approx((1 - np.cos(3 * run.t)) / 3, abs=1e-11)

    def test_rate_of_an_expression_of_coordinates(self, hand):
        """v = 1 − x: x = 1 − e^(−t), and the rate is −v."""
        run = ns.simulate(
            hand, duration=2.0, inputs={"pace": "1 - slide.position"}, samples=21, **TIGHT
        )
        assert run["slide.position"] == pytest.approx(1 - np.exp(-run.t), abs=1e-11)
        assert run["pace_rate"] == pytest.approx(-np.exp(-run.t), abs=1e-11)

    @pytest.mark.parametrize("kind", ["linear", "cubic"])
    def test_rate_of_a_table_is_its_slope(self, hand, kind):
        times, values = np.array([0.0, 1.0, 3.0]), np.array([0.5, 2.0, -1.0])
        table = ns.Table(times=times, values=values, kind=kind)
        run = ns.simulate(hand, duration=2.5, inputs={"pace": table}, samples=26, **TIGHT)
        if kind == "linear":
            slope = np.where(run.t < 1.0, 1.5, -1.5)
        else:
            slope = CubicSpline(times, values, bc_type="natural")(run.t, 1)
        assert run["pace_rate"] == pytest.approx(slope, abs=1e-12)
        assert run["slide.speed"][0] == 0.5

    def test_held_table_may_move_what_has_no_inertia(self, hand):
        table = ns.Table(times=[0.0, 1.0], values=[2.0, -1.0], kind="hold")
        run = ns.simulate(hand, duration=2.0, inputs={"turn": table}, samples=5, **TIGHT)
        assert run["dial.angle"] == pytest.approx([0.0, 1.0, 2.0, 1.5, 1.0], abs=1e-12)

    def test_held_table_may_not_move_mass(self, hand, refuses):
        table = ns.Table(times=[0.0, 1.0], values=[2.0, -1.0], kind="hold")
        with refuses(ns.SimulationError, "but what it moves has inertia", "inputs of model 'hand'"):
            ns.simulate(hand, duration=2.0, inputs={"pace": table})

    def test_callable_has_no_rate(self, hand, refuses):
        with refuses(ns.SimulationError, "whose rate is not known", "inputs of model 'hand'"):
            ns.simulate(hand, duration=1.0, inputs={"pace": lambda t, q, v: 0.0})

    @pytest.mark.parametrize("speed", ["free.speed", "slide.speed", "dial.rate"])
    def test_expression_of_speeds_has_no_rate(self, hand, refuses, speed):
        with refuses(ns.SimulationError, "rate would need accelerations", "inputs of model 'hand'"):
            ns.simulate(hand, duration=1.0, inputs={"pace": f"0.1*{speed}"})

    def test_feedback_of_a_speed_that_is_given(self, system_of):
        """A force that depends on the steering rate sees the rate that is given beside it."""
        run = ns.simulate(
            system_of("car"),
            duration=1.0,
            inputs={"drive": "2*steer.rate", "steering": "0.5*cos(t)"},
            samples=11,
            **TIGHT,
        )
        assert run["drive"] == pytest.approx(np.cos(run.t), abs=1e-13)


class TestRefusals:
    def test_rate_of_a_speed_input_cannot_be_given(self, hand, refuses):
        with refuses(ns.SimulationError, "there is no input 'pace_rate'", "inputs of model 'hand'"):
            ns.simulate(hand, duration=1.0, inputs={"pace_rate": 1.0})

    @pytest.mark.parametrize("spec", [None, np.nan, [1.0, 2.0]])
    def test_not_a_number(self, block, refuses, spec):
        with refuses(ns.SimulationError, f"{spec!r}, which is not", "inputs of model 'block'"):
            moved(block, push=spec)

    def test_text_that_is_not_an_expression(self, block, refuses):
        with refuses(ns.SimulationError, "be read: a ')' is missing", "'push' of model 'block'"):
            moved(block, push="2*(t")

    @pytest.mark.parametrize(
        ("taken", "given", "said"),
        [
            ((1,), 1, "from 1 to 1"),
            ((1, 1, 1, 1), 2, "from 1, 1, 1, 1 to 2"),
            ((1, 2, 1, 1), 1, "from 1, 2, 1, 1 to 1"),
        ],
    )
    def test_casadi_function_of_another_shape(self, block, refuses, taken, given, said):
        symbols = [ca.SX.sym(f"s{k}", n) for k, n in enumerate(taken)]
        law = ca.Function("law", symbols, [ca.repmat(symbols[0], given, 1)])
        with refuses(ns.SimulationError, f"{said}, expected one", "inputs of model 'block'"):
            moved(block, push=law)
