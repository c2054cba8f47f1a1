"""Draws families_*.png, pictures of the page on families: python docs/images/families.py."""

from pathlib import Path

import noslip as ns

FOLDER = Path(__file__).parent


def bicycle():
    """Steady motions of a bicycle without hands, over its speed."""
    system = ns.compile(ns.derive(ns.load("whipple-bicycle")))
    ns.branch(system, {"speed": (0.0, 10.0)}).plot(save=FOLDER / "families_bicycle.png")


def chart():
    """Stability of a bicycle over its speed and its trail."""
    system = ns.compile(ns.derive(ns.load("whipple-bicycle")))
    found = ns.stability_chart(system, {"speed": (0.5, 10.0), "c": (0.02, 0.2)})
    found.plot(save=FOLDER / "families_chart.png")


if __name__ == "__main__":
    bicycle()
    chart()
