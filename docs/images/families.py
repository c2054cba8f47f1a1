"""Draws families_*.png, pictures of the page on families: python docs/images/families.py."""

from pathlib import Path

import noslip as ns

FOLDER = Path(__file__).parent


def bicycle():
    """Steady motions of a bicycle without hands, over its speed."""
    system = ns.compile(ns.derive(ns.load("whipple-bicycle")))
    ns.branch(system, {"speed": (0.0, 10.0)}).plot(save=FOLDER / "families_bicycle.png")


if __name__ == "__main__":
    bicycle()
