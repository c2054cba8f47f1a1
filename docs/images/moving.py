"""Draws the pictures that move on the landing page: python docs/images/moving.py [MODEL ...]"""

import sys
from pathlib import Path

import noslip as ns

#: Model → seconds of its scenario that are shown, how fast, and whether the camera follows: a
#: bicycle that rides away would start under the legend.
SHOWN = {
    "rolling-disk": (6.0, 1.5, None),
    "whipple-bicycle": (3.0, 1.0, True),
    "mecanum-base": (10.0, 2.5, None),
    "truck-trailers": (12.0, 3.0, None),
}

if __name__ == "__main__":
    folder = Path(__file__).parent / "moving"
    folder.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SHOWN:
        duration, speed, follow = SHOWN[name]
        system = ns.compile(ns.derive(ns.load(name)))
        run = ns.run_scenario(system, duration=duration)
        target = folder / f"{name}.gif"
        options = {"rate": 12, "speed": speed, "follow": follow, "width": 400, "height": 260}
        ns.animate(run, target, system=system, **options)
        print(name, target.stat().st_size // 1000, "kB")
