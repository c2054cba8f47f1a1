"""Figures of runs: what is drawn is the run, with its own names and units."""

from dataclasses import replace

import numpy as np
import pytest
from runs_to_plot import MODELS, audited, drawn, lines_of, names_beside, run_of, tracked

import noslip as ns
from noslip.show import FIGURES, unit_text
from noslip.show.headlines import QUANTITIES
from noslip.show.plots.panels import by_magnitude
from noslip.show.plots.plotting import run_sheets

HISTORIES = ("histories", "coordinates", "speeds", "accelerations", "inputs", "reactions")
#: A disk that rolls by itself has no inputs, an arm no rows.
MISSING = {("rolling-disk", "inputs"), ("manipulator-6r", "reactions")}
DRAWN = [(name, what) for name in MODELS for what in HISTORIES if (name, what) not in MISSING]


@pytest.mark.parametrize(
    ("unit", "text"),
    [("kg*m^2", "kg·m²"), ("rad/s^2", "rad/s²"), ("N*m", "N·m"), ("m**-1", "m⁻¹"), ("1", "")],
)
def test_units_as_they_are_printed(unit, text):
    assert unit_text(unit) == text


@pytest.mark.parametrize(("name", "what"), DRAWN)
def test_histories_are_the_columns_of_the_run(name, what):
    """Every curve is the column it is named after, in a panel of its unit; none is left out."""
    run = run_of(name)
    figure = ns.plot(run, what)
    for ax in figure.axes:
        told = [name.removeprefix("= ").removeprefix("≈ ") for name in names_beside(ax)]
        assert told == [line.get_label() for line in ax.lines]
        for line in ax.lines:
            unit, values = run.columns[line.get_label()]
            np.testing.assert_array_equal(line.get_ydata(), values)
            np.testing.assert_array_equal(line.get_xdata(), run.t)
            label = ax.get_ylabel().replace("\n", " ")
            assert label.startswith(QUANTITIES[unit]) and label.endswith(f"{unit_text(unit)})")
    assert figure.axes[-1].get_xlabel() == "time (s)"
    assert all(len(lines) == 1 for lines in lines_of(figure).values())


def test_orientations_are_drawn_as_named_angles():
    run = run_of("rolling-disk")
    assert set(drawn(ns.plot(run, "coordinates"))) == {
        "disk.x", "disk.y", "disk.z", "disk.yaw", "disk.tilt", "disk.spin",
    }  # fmt: skip


def test_columns_of_unlike_size_are_seen_beside_each_other():
    """Wheels turn by hundreds of radians while the bracket turns by a quarter of one."""
    run = run_of("agv")
    names = [c.name for c in run.coordinates if c.unit == "rad"]
    groups = by_magnitude(run, names)
    assert sorted(n for group in groups for n in group) == sorted(names)
    assert groups[0] == ["wheel1.angle", "wheel2.angle", "wheel3.angle"]
    assert groups[1:] == [["platform.angle"], ["bracket.angle"]]
    for group in groups:
        sizes = [np.max(np.abs(run[n])) for n in group]
        assert min(sizes) > 0.05 * max(sizes)


def test_a_list_of_columns_has_a_panel_for_each_unit():
    run = run_of("agv")
    figure = ns.plot(run, ["wheel1.angle", "torque1", "bracket.angle"], title="caster")
    assert [names_beside(ax) for ax in figure.axes] == [
        ["wheel1.angle", "bracket.angle"],
        ["torque1"],
    ]
    assert [t.get_text() for t in figure.texts] == ["caster"]


def test_columns_against_another_column():
    run = run_of("chaplygin-sleigh")
    (ax,) = ns.plot(run, ["sleigh.rate"], against="sleigh.vx").axes
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), run["sleigh.vx"])
    assert ax.get_xlabel() == "sleigh.vx (m/s)"


def test_small_numbers_have_their_power_of_ten_in_the_label():
    run = run_of("agv")
    (ax,) = ns.plot(run, ["acceleration.platform.vx"]).axes
    assert ax.get_ylabel().replace("\n", " ") == "acceleration (10⁻³ m/s²)"
    ax.figure.canvas.draw()
    for place, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True):
        assert float(label.get_text().replace("−", "-")) == pytest.approx(1e3 * place, abs=1e-9)


def test_energy_is_that_of_the_run():
    run = run_of("rolling-disk")
    figure = ns.plot(run, "energy")
    curves = drawn(figure)
    np.testing.assert_array_equal(curves["kinetic_energy"], run["kinetic_energy"])
    np.testing.assert_array_equal(curves["work"], run["work"])
    change = run["potential_energy"] - run["potential_energy"][0]
    np.testing.assert_array_equal(curves["Δ potential_energy"], change)
    missing = np.nan_to_num(curves["|energy_error|"])
    np.testing.assert_array_equal(missing, np.abs(run["energy_error"]))
    worst = np.max([np.abs(run[f"residual.{row}"]) for row in run.rows], axis=0)
    np.testing.assert_array_equal(np.nan_to_num(curves["largest residual"]), worst)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "energy (J)", "missing energy (J)", "residual (m/s)",
    ]  # fmt: skip


def test_residuals_of_every_row():
    run = run_of("agv")
    curves = drawn(ns.plot(run, "residuals"))
    for row in run.rows:
        values = np.abs(run[f"residual.{row}"])
        name = row if np.any(values) else f"{row} (zero)"
        np.testing.assert_array_equal(np.nan_to_num(curves[name]), values)


def test_errors_of_a_tracked_path_are_along_across_and_heading():
    result = tracked()
    curves = drawn(ns.plot(result, "errors"))
    for name in ("along", "across", "heading"):
        np.testing.assert_array_equal(curves[name], getattr(result.path_errors, name))


def test_friction_is_that_of_the_audit():
    audit = audited()
    demand, load = ns.plot(run_of("agv"), "friction", audit=audit).axes
    for wheel in audit.wheels:
        np.testing.assert_array_equal(drawn(demand.figure)[wheel.name], wheel.demand)
        line = next(line for line in load.lines if line.get_label() == wheel.name)
        np.testing.assert_array_equal(line.get_ydata(), wheel.normal)
    assert demand.get_ylabel() == "friction demand" and load.get_ylabel() == "normal load (N)"
    # ground that holds a hundred times as much does not flatten the curves
    assert demand.get_ylim()[1] < 0.1
    assert names_beside(demand)[-1] == "ground, μ = 0.5 (above)"
    # the axis itself is the limit of loads that stay far above zero
    assert names_beside(load) == [w.name for w in audit.wheels] and load.get_ylim()[0] == 0


def test_friction_and_loads_have_their_limits():
    run, held = run_of("agv"), audited()
    wheel = held["wheel1"]
    least = 1.5 * wheel.normal.max()
    lifted = replace(wheel, normal=wheel.normal - least, normal_range=wheel.normal_range - least)
    wheels = tuple(lifted if w is wheel else w for w in held.wheels)
    audit = replace(held, friction=0.01, wheels=wheels)
    assert {lift.wheel for lift in audit.lifts} == {"wheel1"}
    demand, load = ns.plot(run, "friction", audit=audit).axes
    for ax, name, value in ((demand, "ground, μ = 0.01", 0.01), (load, "lift-off at 0 N", 0.0)):
        line = ax.lines[-1]
        assert line.get_label() == names_beside(ax)[-1] == name
        np.testing.assert_array_equal(line.get_ydata(), np.full(len(run.t), value))
        low, high = ax.get_ylim()
        assert low < value < high
    # a load that comes near it without lifting, too
    least = 0.9 * wheel.normal.min()
    light = replace(wheel, normal=wheel.normal - least, normal_range=wheel.normal_range - least)
    near = replace(held, wheels=tuple(light if w is wheel else w for w in held.wheels))
    assert not near.lifts
    _, load = ns.plot(run, "friction", audit=near).axes
    assert names_beside(load)[-1] == "lift-off at 0 N" and load.get_ylim()[0] < 0
    (demand, load) = ns.plot(run, "friction", audit=replace(held, friction=None)).axes
    assert not any("ground" in name for name in names_beside(demand))


def test_names_that_begin_with_a_low_line_are_shown():
    b = ns.ModelBuilder(name="price in $ and $", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.0, 0.0, -1.0))
    b.joint("_a", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="world", child="bob")
    run = ns.simulate(
        ns.compile(ns.derive(b.build())), duration=1.0, start={"_a.angle": 0.4}, samples=11
    )
    figure = ns.plot(run, ["_a.angle", "_a.rate"], title=run.model.name)
    assert [names_beside(ax) for ax in figure.axes] == [["_a.angle"], ["_a.rate"]]
    # dollar signs are not mathematics
    figure.canvas.draw()


def test_a_run_has_all_its_figures():
    result = run_of("agv")
    figures = run_sheets(result, audited())
    assert list(figures) == [
        "path", "coordinates", "speeds", "accelerations", "inputs", "reactions", "energy",
        "errors", "friction",
    ]  # fmt: skip
    # inputs that stay zero are not worth a figure
    assert "inputs" not in run_sheets(run_of("chaplygin-sleigh"))
    assert "path" not in run_sheets(run_of("manipulator-6r"))
    assert set(figures) <= set(FIGURES)
