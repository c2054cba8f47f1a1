"""Draws the pictures that move on the landing page: python docs/images/moving.py"""

from pathlib import Path

import noslip as ns

#: Model → seconds of its scenario that are shown, and how fast.
SHOWN = {
    "rolling-disk": (6.0, 1.5),
    "whipple-bicycle": (3.0, 1.0),
    "mecanum-base": (10.0, 2.5),
    "truck-trailers": (12.0, 3.0),
}

if __name__ == "__main__":
    folder = Path(__file__).parent / "moving"
    folder.mkdir(exist_ok=True)
    for name, (duration, speed) in SHOWN.items():
        system = ns.compile(ns.derive(ns.load(name)))
        run = ns.run_scenario(system, duration=duration)
        target = folder / f"{name}.gif"
        ns.animate(run, target, system=system, rate=12, speed=speed, width=400, height=260)
        print(name, target.stat().st_size // 1000, "kB")
