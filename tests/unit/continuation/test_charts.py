"""Charts of stability over two values, against closed forms and single linearizations."""

import json
import math

import numpy as np
import pytest
from test_branch import particle

import noslip as ns


def test_a_chart_of_an_oscillator_is_its_traces():
    """ẍ = −k x − d ẋ is stable for k ≥ 0 and d ≥ 0; growth by the roots of λ² + d λ + k."""
    system = particle("-k*rail.position - d*rail.speed", k=1.0, d=0.1)
    found = ns.stability_chart(system, {"k": (-1.05, 2.0, 31), "d": (-1.05, 1.0, 21)})
    k, d = np.meshgrid(found.x, found.y)
    roots = (-d + np.sqrt((d**2 - 4 * k).astype(complex))) / 2
    assert found.growth == pytest.approx(roots.real, abs=1e-9)
    assert np.array_equal(found.is_stable, (k > 0) & (d > 0))


def test_points_of_a_chart_are_linearizations(system_of):
    system = system_of("whipple-bicycle")
    found = ns.stability_chart(system, {"speed": (3.0, 7.0, 5), "c": (0.04, 0.12, 4)})
    assert found.growth.shape == (4, 5)
    for k, j in ((0, 0), (2, 3), (3, 1)):
        line = ns.linearize(system, {"speed": found.x[j]}, parameters={"c": found.y[k]})
        others = sorted(line.eigenvalues, key=abs)[1:]  # one is zero: another speed
        assert found.growth[k, j] == pytest.approx(max(e.real for e in others), abs=1e-9)
        assert found.is_stable[k, j] == line.is_stable


def test_motions_are_searched_for(system_of):
    """Turns of a bicycle with the torque that each needs."""
    system = system_of("whipple-bicycle")
    found = ns.stability_chart(
        system,
        {"speed": (4.0, 6.0, 3), "frame.lean": (0.0, 0.2, 3)},
        search=True,
        find=["steer_torque"],
    )
    turn = ns.steady(system, {"speed": 5.0, "frame.lean": 0.2}, find=["steer_torque"])
    line = ns.linearize(system, turn.start, inputs=turn.inputs)
    others = sorted(line.eigenvalues, key=abs)[1:]
    assert found.growth[2, 1] == pytest.approx(max(e.real for e in others), abs=1e-7)


def test_a_disk_is_stable_above_the_closed_form_over_its_radius(system_of):
    system = system_of("rolling-disk")
    found = ns.stability_chart(
        system,
        {"disk.spin_rate": (0.5, 4.0, 40), "g": (1.0, 12.0, 12)},
        about={"disk.tilt": math.pi / 2},
    )
    p = system.model.parameter_values()
    rate, g = np.meshgrid(found.x, found.y)
    assert np.array_equal(found.is_stable, rate**2 > g / (3 * p["r"]))


def test_a_chart_is_data(system_of, tmp_path):
    found = ns.stability_chart(
        system_of("whipple-bicycle"), {"speed": (3.0, 7.0, 9), "c": (0.04, 0.12, 5)}
    )
    dataset = found.to_xarray()
    assert dataset["growth"].dims == ("c", "speed")
    assert json.loads(json.dumps(found.to_json()))["names"] == ["speed", "c"]
    assert "stability over speed [m/s] and c [m]" in found.text()
    found.plot(save=tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"vary": {"speed": (0.0, 1.0)}}, "vary is"),
        ({"vary": {"speed": (0.0, 1.0), "c": (0.1, 0.0)}}, "the range of 'c'"),
        ({"vary": {"speed": (0.0, 1.0), "sea": (0.0, 0.1)}}, "'sea'"),
        ({"vary": {"speed": (0, 1, 1e9), "c": (0.0, 0.1)}}, "values of 'speed'"),
        ({"vary": {"speed": (0, 1, 5), "c": (0.04, 0.1, 5)}, "about": {"c": 1.0}}, "both varied"),
        ({"vary": {"speed": (0, 1, 5), "c": (0.04, 0.1, 5)}, "find": ["steer_torque"]}, "search"),
        ({"vary": {"speed": (4, 5, 5), "frame.lean": (0.1, 0.2, 5)}}, "not steady"),
    ],
)
def test_what_is_no_chart_is_refused(system_of, asked, said):
    with pytest.raises(ns.NoslipError, match=said):
        ns.stability_chart(system_of("whipple-bicycle"), **asked)
