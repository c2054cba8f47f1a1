"""Duty: what a shift asks of motors, gears, battery and wheels.

A `Mission` is a list of legs: paths, turns, stops and planned motions, with loads that are picked
up and put down. `drive_mission` simulates each by the exact equations and counts torque, power,
heat and charge; `size_drives` proposes motors and gears for it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
