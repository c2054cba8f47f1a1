"""Several runs in one figure, and requests that cannot be drawn."""

import numpy as np
import pytest
from runs_to_plot import audited, lines_of, names_beside, run_of, system_of

import noslip as ns


def wider():
    return ns.run_scenario(system_of("agv"), changes={"R": 1.5}, duration=45.0)


def test_a_panel_for_each_column_with_a_curve_for_each_run():
    first, second = run_of("agv"), wider()
    labels = ["R = 1 m", "R = 1.5 m"]
    figure = ns.plot([first, second], "coordinates", labels=labels)
    names = [c.name for c in first.coordinates]
    assert [ax.get_ylabel() for ax in figure.axes] == [
        f"{c.name} ({c.unit})" for c in first.coordinates
    ]
    assert names_beside(figure.axes[0]) == labels
    for name, ax in zip(names, figure.axes, strict=True):
        for line, result in zip(ax.lines, (first, second), strict=True):
            np.testing.assert_array_equal(line.get_xdata(), result.t)
            np.testing.assert_array_equal(line.get_ydata(), result[name])
    # runs are told apart without their colors
    assert not figure.axes[0].lines[0].is_dashed() and figure.axes[0].lines[1].is_dashed()


@pytest.mark.parametrize("what", ["energy", "phase", "residuals", "errors", "speeds"])
def test_every_figure_compares(what):
    figure = ns.plot([run_of("agv"), wider()], what, labels=["a", "b"])
    assert names_beside(figure.axes[0]) == ["a", "b"]
    for ax in figure.axes:
        assert [line.get_label() for line in ax.lines if line.get_label() != "start"] == ["a", "b"]


def test_paths_of_several_runs():
    runs = [run_of("agv"), wider()]
    lines = lines_of(ns.plot(runs, "path", labels=["small", "wide"]))
    for label, result in zip(("small", "wide"), runs, strict=True):
        (line,) = lines[label]
        np.testing.assert_array_equal(line.get_xdata(), result["platform.x"])
        np.testing.assert_array_equal(line.get_ydata(), result["platform.y"])
    assert len(lines["start"]) == 2


def test_what_cannot_be_drawn(refuses, tmp_path):
    agv, arm = run_of("agv"), run_of("manipulator-6r")
    silent = ns.run_scenario(system_of("agv"), duration=1.0)
    cases = [
        (agv, {"what": "energies"}, "there is no figure 'energies'", "'agv'", "'energy'"),
        (agv, {"what": "torque1"}, "there is no figure", "'agv'", "what=['torque1']"),
        (agv, {"what": "platform.xx"}, "there is no figure", "'agv'", "did you mean 'platform.x'"),
        (agv, {"what": ["torqe1"]}, "there is no column", "'agv'", "'torque1'"),
        (agv, {"what": []}, "nothing to draw", "'agv'", "draw another"),
        (silent, {"what": "reactions"}, "nothing to draw", "'agv'", "reactions=True"),
        (arm, {"what": "path"}, "nothing moves over", "'manipulator-6r'", "coordinates"),
        (arm, {"what": "residuals"}, "nothing to draw", "'manipulator-6r'", "another figure"),
        (run_of("chaplygin-sleigh"), {"what": "errors"}, "no reference", "sleigh", "followed"),
        (agv, {"what": "friction"}, "none is given", "'agv'", "audit=noslip.audit"),
        (agv, {"what": "speeds", "against": "torque1"}, "has its own", "against", "list"),
        (agv, {"size": "poster"}, "no size 'poster'", "plot", "page"),
        (
            [agv, agv],
            {"labels": ["one"]},
            "2 runs and 1 labels",
            "labels",
            "one label for each run",
        ),
        ([agv, arm], {"what": "speeds"}, "no column in common", "run2", "one by one"),
        (
            [agv, agv],
            {"what": "friction", "audit": audited()},
            "one run at a time",
            "'agv'",
            "draw one",
        ),
        ([], {}, "no run", "plot", "at least one"),
        (agv, {"save": tmp_path / "a.jpg"}, "as '.jpg'", "a.jpg", ".png, .svg or .pdf"),
        (
            agv,
            {"save": tmp_path / "no" / "a.png"},
            "no folder",
            "a.png",
            "correct the path",
        ),
    ]
    for run, options, what, where, fix in cases:
        with refuses(ns.SimulationError, what, where, fix):
            ns.plot(run, **options)
    assert list(tmp_path.iterdir()) == []


def test_friction_needs_loads(refuses):
    system = system_of("chaplygin-sleigh")
    run = run_of("chaplygin-sleigh")
    found = ns.audit(system, run, 0.5)
    with refuses(ns.SimulationError, "no wheel's load is known", "sleigh", "audit.text()"):
        ns.plot(run, "friction", audit=found)


def test_a_run_without_samples(refuses):
    import dataclasses

    run = run_of("agv")
    empty = {
        name: getattr(run, name)[:0]
        for name in (
            "t", "q", "v", "vdot", "inputs", "kinetic_energy", "potential_energy", "work",
            "row_residuals", "position_residuals", "multipliers",
        )
    }  # fmt: skip
    none = dataclasses.replace(run, **empty, extra={})
    for what in ("speeds", "path"):
        with refuses(ns.SimulationError, "no samples", "'agv'", "simulate first"):
            ns.plot(none, what)


@pytest.mark.parametrize(
    ("run", "options", "words"),
    [
        ("agv", {}, "run 1 is str"),
        (None, {"labels": "ab"}, "labels is 'ab', expected a list of texts"),
    ],
)
def test_wrong_types_are_told(run, options, words):
    with pytest.raises(TypeError, match=words):
        ns.plot(run_of("agv") if run is None else [run], **options)
