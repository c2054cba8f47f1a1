"""The figures of the five papers, drawn from runs and models in the papers' arrangement."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from noslip import (
    ControlLoop,
    SimulationError,
    System,
    Trajectory,
    compile,
    derive,
    load,
    run_scenario,
    track,
)
from noslip.paths import Catenary, Sine
from noslip.show.paper_schematics import SCHEMATICS, draw_schematic
from noslip.show.papers import entries_of, known_papers
from noslip.show.plots.sheets import color
from noslip.timing import ConstantEnergy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paper_figure(paper: str, number: int) -> Figure:
    """A figure of one of the five papers, in its arrangement.

    Parameters
    ----------
    paper : ``saha1991``, ``saha1989``, ``desantis1994``, ``cameron1993`` or ``antunes2010``.
    number : of the figure.

    Raises
    ------
    SimulationError : if there is no such paper or figure.
    """
    known = [e.place.removeprefix("Fig. ") for e in entries_of(paper) if e.is_figure]
    if str(number) not in known:
        raise SimulationError(
            f"there is no figure {number} in [{known_papers()[paper][0]}]",
            "papers",
            f"its figures are {', '.join(known)}",
        )
    if (paper, number) in SCHEMATICS:
        return draw_schematic(SCHEMATICS[paper, number])
    return _DRAWN[paper, number]()


def _sheet(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150)


@cache
def _system(name: str) -> System:
    return compile(derive(load(name)))


@cache
def _circle(radius: float, tolerance: float) -> Trajectory:
    return run_scenario(_system("agv"), changes={"R": radius}, rtol=tolerance, atol=tolerance)


def _panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = _sheet(3.2 * columns, 2.3 * rows)
    axes = list(np.ravel(figure.subplots(rows, columns)))
    figure.set_layout_engine("constrained")
    for k, ax in enumerate(axes):
        ax.grid(alpha=0.3)
        ax.set_title(f"({'abcd'[k]})", fontsize=9, loc="left")
        ax.tick_params(labelsize=8)
    return figure, axes


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)


def _trajectory_and_sweep() -> Figure:
    """Figure 3 of the vehicle: (a) the path of its mass center, (b) β over time."""
    figure, (left, right) = _panels(1, 2)
    for k, radius in enumerate((1.0, 2.0)):
        run = _circle(radius, 1e-9)
        left.plot(run["platform.x"], run["platform.y"], color=color(k), label=f"R = {radius:g} m")
    left.set_aspect("equal")
    left.legend(fontsize=7)
    _label(left, "X [m]", "Y [m]")
    right.plot(run.t, run["platform.angle"], color=color(0))
    _label(right, "t [s]", "β [rad]")
    return figure


def _joint_histories() -> Figure:
    """Figure 4: (a) angles, (b) rates, (c) accelerations, (d) torques, for R = 1 and 2 m."""
    figure, axes = _panels(2, 2)
    columns = ("wheel{}.angle", "wheel{}.rate", "acceleration.wheel{}.rate", "torque{}")
    labels = (
        r"$\theta$ [rad]",
        r"$\dot\theta$ [rad/s]",
        r"$\ddot\theta$ [rad/s²]",
        r"$\tau$ [N m]",
    )
    for ax, column, label in zip(axes, columns, labels, strict=True):
        for k, radius in enumerate((1.0, 2.0)):
            run = _circle(radius, 1e-9)
            for wheel, line in ((1, "-"), (2, "--")):
                said = f"wheel {wheel}, R = {radius:g} m"
                ax.plot(run.t, run[column.format(wheel)], line, color=color(k), label=said)
        _label(ax, "t [s]", label)
    axes[0].legend(fontsize=6)
    return figure


def _simulation_errors() -> Figure:
    """Figure 5: errors of the joint angles, at three tolerances."""
    figure, (left, right) = _panels(1, 2)
    for k, tolerance in enumerate((1e-6, 1e-9, 1e-12)):
        run = _circle(1.0, tolerance)
        for ax, wheel in ((left, 1), (right, 2)):
            error = np.abs(run.errors[f"wheel{wheel}.angle"])
            ax.semilogy(run.t, np.maximum(error, 1e-16), color=color(k), label=f"{tolerance:g}")
            _label(ax, "t [s]", f"|error of θ{wheel}| [rad]")
    left.set_ylim(1e-16, 1e-2)  # room for the legend above the curves
    right.set_ylim(1e-16, 1e-2)
    left.legend(title="tolerance", fontsize=7, title_fontsize=7, loc="upper left", ncols=3)
    return figure


def _structure() -> Figure:
    """Figure 1 of the procedure: dynamics, then kinematics."""
    figure = _sheet(6.4, 1.6)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 2)
    boxes = (
        (2.6, r"$\dot\alpha = g_0 + g_{wa}\,\tau_a$"),
        (5.4, r"$\dot q = J_{nh}\,\alpha$"),
        (7.9, r"$\chi = f(q)$"),
    )
    for x, text in boxes:
        ax.text(x, 1.0, text, ha="center", va="center", fontsize=10,
                bbox={"boxstyle": "square,pad=0.6", "fc": "white", "ec": color(0)})  # fmt: skip
    for start, end, text in (
        (0.4, 1.2, r"$\tau_a$"),
        (3.95, 4.55, r"$\alpha$"),
        (6.3, 7.1, "$q$"),
        (8.75, 9.5, r"$\chi$"),
    ):
        ax.annotate("", (end, 1.0), (start, 1.0), arrowprops={"arrowstyle": "->"})
        ax.text((start + end) / 2, 1.15, text, ha="center", fontsize=9)
    return figure


@cache
def _led(word: str) -> Trajectory:
    path = Catenary(x0=1.0, extent=6.0) if word == "catenary" else Sine(
        amplitude=-1.0, wave_number=1.0, extent=9.0
    )  # fmt: skip
    return track(
        _system("chaplygin-sleigh"),
        path,
        timing=ConstantEnergy(total_speed=1.0),
        controller=ControlLoop(inputs=("F_cs", "F_cphi")),
        parameters={"m": 1.0, "a": 0.5, "I": 0.75},
        duration=5.0 if word == "catenary" else 10.0,
    )


def _catenary() -> Figure:
    """Figure 2: (a) s(t), (b) x(t), (c) y(t), (d) y(x)."""
    figure, axes = _panels(2, 2)
    run = _led("catenary")
    for ax, name, label in zip(
        axes, ("path.arc_length", "sleigh.x", "sleigh.y"), ("s", "x", "y"), strict=False
    ):
        ax.plot(run.t, run[name], color=color(0))
        _label(ax, "t [s]", f"{label} [m]")
    axes[3].plot(run["sleigh.x"], run["sleigh.y"], color=color(0))
    _label(axes[3], "x [m]", "y [m]")
    return figure


def _sine() -> Figure:
    """Figure 3: (a) x(t), (b) y(t), (c) y(x) with the path y = −sin x."""
    figure, axes = _panels(1, 3)
    run = _led("sine")
    for ax, name, label in zip(axes, ("sleigh.x", "sleigh.y"), ("x", "y"), strict=False):
        ax.plot(run.t, run[name], color=color(0))
        _label(ax, "t [s]", f"{label} [m]")
    axes[2].plot(run["sleigh.x"], -np.sin(run["sleigh.x"]), color=color(1), label="y = −sin x")
    axes[2].plot(
        run["sleigh.x"][::30], run["sleigh.y"][::30], "o", ms=3, color=color(0), label="run"
    )
    axes[2].legend(fontsize=7)
    _label(axes[2], "x [m]", "y [m]")
    return figure


_DRAWN: dict[tuple[str, int], Callable[[], Figure]] = {
    ("saha1989", 3): _trajectory_and_sweep,
    ("saha1989", 4): _joint_histories,
    ("saha1989", 5): _simulation_errors,
    ("desantis1994", 1): _structure,
    ("antunes2010", 2): _catenary,
    ("antunes2010", 3): _sine,
}
