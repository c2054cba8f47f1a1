"""Runs that the tests of figures and displays share, simulated once a session."""

from functools import cache

import numpy as np

import noslip as ns

#: A vehicle with wheels, a body with named angles, an arm, a vehicle with a speed input, a sleigh.
MODELS = ("agv", "rolling-disk", "manipulator-6r", "tractor-trailer", "chaplygin-sleigh")


@cache
def system_of(name: str) -> ns.System:
    return ns.compile(ns.derive(ns.load(name)))


@cache
def run_of(name: str) -> ns.Trajectory:
    return ns.run_scenario(system_of(name), reactions=True)


@cache
def tracked() -> ns.Trajectory:
    """A vehicle that starts beside its circle and finds it."""
    return ns.track(
        system_of("agv"),
        ns.paths.parse_path("circle:radius=2"),
        follower=ns.Follower(point=(0.0, "-a", 0.0), direction=(0.0, 1.0, 0.0)),
        controller=ns.controllers.PoseTracking(),
        timing=ns.timing.parse_timing("quintic:30"),
        start={"platform.x": 2.05},
    )


@cache
def audited() -> ns.results.Audit:
    return ns.audit(system_of("agv"), run_of("agv"), 0.5)


def lines_of(figure) -> dict[str, list]:
    """Name → lines of all panels."""
    found: dict[str, list] = {}
    for ax in figure.axes:
        for line in ax.lines:
            found.setdefault(line.get_label(), []).append(line)
    return found


def drawn(figure) -> dict[str, np.ndarray]:
    """Name → ordinates, where each name is drawn once."""
    return {name: np.asarray(lines[0].get_ydata()) for name, lines in lines_of(figure).items()}


def names_beside(ax) -> list[str]:
    """What the legend of a panel says."""
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]
