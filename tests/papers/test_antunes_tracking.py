"""Antunes, Sigaud and Moraes (2010): Chaplygin systems led along paths with constant energy.

The numbers in data/tracking.json and data/carriage.json were computed independently. Tables to
1e-9, and the free equations driven open loop by the forces found stay on the path to 1e-9.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from reference_models import load

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.control.timing_laws import control_angle, gyration
from noslip.paths import Catenary, Circle, Line, Sine
from noslip.timing import ConstantEnergy, ConstantSpeed

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "tracking.json").read_text())
CARRIAGE = json.loads((DATA / "carriage.json").read_text())
TABLE = 1e-9
FORCES = ("F_cs", "F_cphi")


@pytest.fixture(scope="module")
def sleigh():
    return ns.compile(ns.derive(load("chaplygin-sleigh")))


def inertia(m, a, b):
    """Parameters of a sleigh with radius of gyration b about the blade."""
    return {"m": m, "a": a, "I": m * (b**2 - a**2)}


def led(system, path, timing, parameters, times, inputs=FORCES):
    """A path tracked open loop, sampled at the given times among others."""
    result = track(
        system,
        path,
        controller=ns.ControlLoop(inputs=inputs),
        timing=timing,
        parameters=parameters,
        duration=times[-1],
        samples=round(times[-1]) * 10 + 1,
        rtol=1e-13,
        atol=1e-13,
        reactions=True,
    )
    rows = [int(np.argmin(np.abs(result.t - t))) for t in times]
    assert result.tracking_error < TABLE
    assert result.admissibility < 1e-12
    return result, rows


CATENARIES = {
    "catenary_vT1_b1_x01": (0.5, 1.0),
    "catenary_vT1.3_b0.8_x01.2": (0.4, 1.0),
}


@pytest.mark.parametrize("name", CATENARIES)
def test_catenary(sleigh, name):
    table = REFERENCE[name]
    a, m = CATENARIES[name]
    points = table["points"]
    path = Catenary(x0=table["x0"], extent=points[-1]["s"] + 1.0)
    timing = ConstantEnergy(total_speed=table["v_T"], radius_of_gyration=table["b"])
    parameters = inertia(m, a, table["b"])
    run, rows = led(sleigh, path, timing, parameters, [p["t"] for p in points])
    for k, point in zip(rows, points, strict=True):
        found = [run["path.arc_length"][k], run["sleigh.x"][k], run["sleigh.y"][k]]
        expected = [point["s"], point["x"], point["y"]]
        found.append(run["sleigh.angle"][k])
        expected.append(point["phi"])
        assert np.max(np.abs(np.subtract(found, expected))) < TABLE
        if "force_only_at_CM" in point:
            forces = point["force_only_at_CM"]
            ours = [run["F_cs"][k], run["F_cphi"][k], run["reaction.blade.lateral"][k]]
            theirs = [forces["F_cs"], forces["F_cphi"], forces["knife_reaction_N"]]
            assert np.max(np.abs(np.subtract(ours, theirs))) < TABLE
            angle = control_angle(table["b"], 1 / point["rho_signed"])
            assert angle == pytest.approx(point["Psi"], abs=1e-12)
            assert run["sleigh.vx"][k] == pytest.approx(point["s_dot"], abs=TABLE)
            assert run["sleigh.rate"][k] == pytest.approx(point["phi_dot"], abs=TABLE)


def test_sine_passes_its_inflection_points(sleigh):
    """Ψ = arccot(bκ) in (0, π): the sleigh goes on where the print would reverse it."""
    table = REFERENCE["sine_R1_vT1_b1"]
    points = table["points"]
    path = Sine(amplitude=-1.0, wave_number=1.0, extent=9.0)
    timing = ConstantEnergy(total_speed=table["v_T"], radius_of_gyration=table["b"])
    run, rows = led(sleigh, path, timing, inertia(1.0, 0.5, 1.0), [p["t"] for p in points])
    assert np.min(run["sleigh.vx"]) > 0
    for k, point in zip(rows, points, strict=True):
        forces = point["force_only_at_CM"]
        ours = [run[n][k] for n in ("sleigh.x", "sleigh.y", "F_cs", "F_cphi")]
        theirs = [point["x"], point["y"], forces["F_cs"], forces["F_cphi"]]
        assert np.max(np.abs(np.subtract(ours, theirs))) < TABLE
        angle = control_angle(1.0, point["curvature"])
        assert angle == pytest.approx(point["Psi"], abs=1e-12)
    # the forces do no work: constant energy
    energy = run.kinetic_energy
    assert np.ptp(energy) < 1e-11
    assert np.max(np.abs(run.work)) < 1e-11


def test_time_for_a_period_of_the_sine():
    table = REFERENCE["sine_R1_vT1_b1"]
    path = Sine(amplitude=-1.0, wave_number=1.0, extent=2 * math.pi)
    timing = ConstantEnergy(total_speed=1.0, radius_of_gyration=1.0)
    assert timing.duration(path) == pytest.approx(table["time_for_one_period_2pi"], abs=1e-11)


@pytest.mark.parametrize("case", REFERENCE["circle"], ids=lambda c: f"R{c['R']:g}")
def test_circles(sleigh, case):
    path = Circle(radius=case["R"])
    timing = ConstantEnergy(total_speed=case["v_T"], radius_of_gyration=case["b"])
    assert timing.duration(path) == pytest.approx(case["period"], rel=1e-12)
    assert control_angle(case["b"], 1 / case["R"]) == pytest.approx(case["Psi"], abs=1e-14)
    parameters = inertia(case["m"], 0.5 * case["b"], case["b"])
    run, (k,) = led(sleigh, path, timing, parameters, [1.0])
    found = [run[n][k] for n in ("sleigh.x", "sleigh.y", "sleigh.vx", "sleigh.rate")]
    expected = [case["x_t1"], case["y_t1"], case["s_dot"], case["phi_dot"]]
    assert np.max(np.abs(np.subtract(found, expected))) < TABLE
    assert run.kinetic_energy[0] == pytest.approx(case["T"], rel=1e-12)


def test_line(sleigh):
    table = REFERENCE["line"]
    end = (10.0, table["A"] * 10.0 + table["B"])
    path = Line(start=(0.0, table["B"]), end=end)
    points = table["points"]
    timing = ConstantSpeed(table["v_T"])
    run, rows = led(sleigh, path, timing, {}, [p["t"] for p in points])
    for k, point in zip(rows, points, strict=True):
        assert run["sleigh.x"][k] == pytest.approx(point["x"], abs=TABLE)
        assert run["sleigh.y"][k] == pytest.approx(point["y"], abs=TABLE)
        assert run["sleigh.angle"][k] == pytest.approx(table["phi"], abs=TABLE)
    assert control_angle(1.0, 0.0) == pytest.approx(table["Psi"], abs=1e-15)


def test_carriage_on_a_sine():
    """Appendix B: torques of the two wheels, from the same machinery."""
    system = ns.compile(ns.derive(load("carriage")))
    points = CARRIAGE["sine_tracking_vT1"]
    path = Sine(amplitude=-1.0, wave_number=1.0, extent=7.0)
    params = CARRIAGE["params"]
    timing = ConstantEnergy(total_speed=1.0, radius_of_gyration=params["b"])
    run, rows = led(system, path, timing, {}, [p["t"] for p in points], inputs=())
    base = next(j.name for j in system.model.joints if j.parent == "world")
    for k, point in zip(rows, points, strict=True):
        ours = [run[n][k] for n in (f"{base}.x", f"{base}.y", "tau1", "tau2")]
        theirs = [point[n] for n in ("x", "y", "tau1", "tau2")]
        assert np.max(np.abs(np.subtract(ours, theirs))) < TABLE


def test_radius_of_gyration_of_the_sleigh(sleigh):
    found = gyration(sleigh)
    p = sleigh.model.parameter_values()
    assert found.mass == pytest.approx(p["m"], rel=1e-14)
    assert found.radius == pytest.approx(math.sqrt(p["a"] ** 2 + p["I"] / p["m"]), rel=1e-14)
    agv = ns.compile(ns.derive(load("agv")))
    with pytest.raises(ns.SimulationError, match="kinetic energy is not") as caught:
        gyration(agv)
    assert "agv" in caught.value.where and "another timing law" in caught.value.fix


def test_vertical_disk_on_a_sine():
    """Appendix A: the same machinery with the torques about the axle and the vertical."""
    system = ns.compile(ns.derive(load("vertical-disk")))
    p = system.model.parameter_values()
    radius = p["R"] * math.sqrt(p["I2"] / (p["I1"] + p["m"] * p["R"] ** 2))
    path = Sine(amplitude=-1.0, wave_number=1.0, extent=9.0)
    timing = ConstantEnergy(total_speed=1.0, radius_of_gyration=radius)
    run, _ = led(system, path, timing, {}, [5.0, 10.0], inputs=())
    assert np.ptp(run.kinetic_energy) < 1e-11
    base = next(j.name for j in system.model.joints if j.parent == "world")
    assert run[f"{base}.y"] == pytest.approx(-np.sin(run[f"{base}.x"]), abs=TABLE)
