"""Sweeps of eigenvalues: over speeds, parameters and families of turns."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from whipple import canonical_matrices

import noslip as ns


def test_a_disk_stops_falling_at_the_closed_form(system_of):
    """Ω² = m g r I_t / (I_a (I_a + m r²)): beyond it nothing grows and nothing decays."""
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    m, r, I_a, I_t, g = (p[k] for k in ("m", "r", "I_axial", "I_transverse", "g"))
    sweep = ns.sweep_eigenvalues(
        system, "disk.spin_rate", np.linspace(0.0, 6.0, 13), about={"disk.tilt": math.pi / 2}
    )
    assert len(sweep.limits) == 1
    assert sweep.limits[0] ** 2 == pytest.approx(m * g * r * I_t / (I_a * (I_a + m * r**2)))
    assert sweep.unit == "rad/s" and sweep.stable_ranges == ((sweep.limits[0], 6.0),)


def test_a_parameter_is_swept(system_of):
    """The trail at which a bicycle at 5 m/s begins to capsize, and by the paper's formulas."""
    system = system_of("whipple-bicycle")
    sweep = ns.sweep_eigenvalues(system, "c", np.linspace(0.02, 0.1, 5), about={"speed": 5.0})
    p = system.model.parameter_values()

    def stiffness(trail):
        _, _, K0, K2 = canonical_matrices({**p, "c": trail})
        return np.linalg.det(p["g"] * K0 + 25.0 * K2)

    assert sweep.limits[0] == pytest.approx(brentq(stiffness, 0.02, 0.1, xtol=1e-14), abs=1e-11)
    assert sweep.unit == "m"


def test_a_family_of_turns_is_followed(system_of):
    system = system_of("whipple-bicycle")
    sweep = ns.sweep_eigenvalues(
        system,
        "frame.lean",
        np.linspace(0.0, 0.4, 5),
        about={"speed": 5.0},
        search=True,
        find=["steer_torque"],
    )
    alone = ns.steady(system, {"speed": 5.0, "frame.lean": 0.4}, find=["steer_torque"])
    line = ns.linearize(system, alone.start, inputs=alone.inputs)
    assert np.max(np.abs(sweep.eigenvalues[-1] - line.eigenvalues)) < 1e-10
    assert not sweep.growing[0] and sweep.growing[-1] and 0.2 < sweep.limits[0] < 0.3


@pytest.mark.parametrize("first", [-2.0, -2.13])
def test_growth_that_is_linear_ends_where_it_is_zero(system_of, first):
    """A sleigh turns round if it moves backwards: λ = −m a v/(m a² + I), then zero at v = 0."""
    values = np.linspace(first, 2.0, 11)
    sweep = ns.sweep_eigenvalues(system_of("chaplygin-sleigh"), "sleigh.vx", values)
    assert sweep.limits == (0.0,)
    assert "0 m/s (rate mode)" in sweep.text()


def test_an_input_is_swept(system_of):
    system = system_of("pendulum")
    sweep = ns.sweep_eigenvalues(system, "torque", [0.0, 1.0, 2.0], search=True)
    assert sweep.unit == "N*m" and not np.any(sweep.growing)


def test_words_and_numbers(system_of):
    calls = []
    sweep = ns.sweep_eigenvalues(
        system_of("whipple-bicycle"), "speed", [3.0, 5.0, 7.0], progress=calls.append
    )
    assert calls[-1] == 1.0 and calls == sorted(calls)
    assert "stable: 4.292382536 to 6.024262015 m/s" in sweep.text()
    assert "eigenvalues [1/s] over speed [m/s]" in sweep.text()
    assert repr(sweep).startswith(
        "EigenvalueSweep of 'whipple-bicycle' over 3 values of speed, 3 to 7 m/s; stable: 4.292"
    )
    data = json.loads(json.dumps(sweep.to_json()))
    assert data["limits"] == list(sweep.limits) and data["growing"] == [True, False, True]


def test_nothing_is_claimed_between_two_unstable_values(system_of):
    """From 4.3 to 6 m/s the bicycle is stable; a sweep that steps over it must not deny it."""
    sweep = ns.sweep_eigenvalues(system_of("whipple-bicycle"), "speed", [3.0, 7.0])
    assert sweep.stable_ranges == () and "stable: at none of these 2 values" in sweep.text()


def test_a_canonical_form_names_its_coordinates(system_of):
    form = ns.canonical_form(system_of("whipple-bicycle"), speed="speed", gravity="g")
    assert repr(form).startswith("CanonicalForm in frame.lean [rad], steer.angle [rad]\nnext: .M")


def test_errors(system_of, refuses):
    system = system_of("whipple-bicycle")
    with refuses(ns.SimulationError, "do not increase", "sweep of model", "at least two"):
        ns.sweep_eigenvalues(system, "speed", [2.0, 1.0])
    with refuses(ns.SimulationError, "'sped'", "whipple-bicycle", "did you mean 'speed'"):
        ns.sweep_eigenvalues(system, "sped", [1.0, 2.0])


def test_canonical_form_refuses_what_it_cannot_say(system_of, refuses):
    with refuses(ns.SimulationError, "no parameter 'gravity'", "canonical form", "known"):
        ns.canonical_form(system_of("whipple-bicycle"), speed="speed", gravity="gravity")
    with refuses(ns.SimulationError, "coupled", "rolling-disk", "linearize()"):
        ns.canonical_form(
            system_of("rolling-disk"),
            speed="disk.spin_rate",
            gravity="g",
            about={"disk.tilt": math.pi / 2},
        )


def test_values_that_cannot_be_swept(system_of, refuses):
    system = system_of("whipple-bicycle")
    for values, what, fix in (
        ("0:10", "not numbers", "linspace"),
        ([0.0, math.inf], "not a finite number", "finite numbers"),
        ([1.0, math.nan, 3.0], "not a finite number", "finite numbers"),
        ([10.0, 5.0], "do not increase", "larger than the one before"),
        ([], "do not increase", "at least two"),
    ):
        with refuses(ns.SimulationError, what, "sweep of model 'whipple-bicycle'", fix):
            ns.sweep_eigenvalues(system, "speed", values)
    with refuses(ns.SimulationError, "both swept and given", "whipple-bicycle", "leave out"):
        ns.sweep_eigenvalues(system, "speed", [1.0, 2.0], about={"speed": 3.0})
    with refuses(ns.SimulationError, " rad/s^2", "at frame.lean = 0.1 rad", "--steady"):
        ns.sweep_eigenvalues(system, "frame.lean", [0.0, 0.1], about={"speed": 3.0})
    with pytest.raises(TypeError, match="takes a System, got Model"):
        ns.sweep_eigenvalues(system.model, "speed", [1.0, 2.0])


def test_values_that_are_tied_change_with_the_swept_one():
    """A mass on a spring whose stiffness is tied to the mass keeps its frequency."""
    b = ns.ModelBuilder("mass", gravity=(0.0, 0.0, 0.0))
    b.parameter("m", 1.0, "kg")
    b.parameter("k", 4.0, "N/m")
    b.body("mass", mass="m", inertia=(1.0, 1.0, 1.0))
    b.joint("x", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="mass")
    b.force(ns.forces.JointSpring(name="s", coordinate="x.position", stiffness="k"))
    b.input("f", "N")
    b.force(ns.forces.Motor(name="f", speed="x.speed", input="f"))
    system = ns.System(equations=ns.derive(b.build()))
    sweep = ns.sweep_eigenvalues(system, "m", [1.0, 2.0, 5.0], tied={"k": "9*m"})
    assert sweep.eigenvalues.imag[:, 0] == pytest.approx([3.0] * 3, rel=1e-12)
    # with feedback that the swept number is part of: unstable below k = 0
    law = {"f": "10*m*x.position"}
    swept = ns.sweep_eigenvalues(system, "k", [5.0, 15.0], inputs=law, tied={"m": "k/k"})
    assert swept.limits == pytest.approx((10.0,), rel=1e-9)
    for wrong, words in (
        ({"k": "9*n"}, "uses 'n'"),
        ({"m": "2"}, "tied to itself"),
        ({"q": "m"}, "there is no"),
        ({"k": "9*("}, "cannot be read"),
    ):
        with pytest.raises(ns.SimulationError, match=words):
            ns.sweep_eigenvalues(system, "m", [1.0, 2.0], tied=wrong)
    with pytest.raises(ns.SimulationError, match="'k' is both swept and given a value"):
        ns.sweep_eigenvalues(system, "m", [1.0, 2.0], tied={"k": "m"}, parameters={"k": 2.0})
