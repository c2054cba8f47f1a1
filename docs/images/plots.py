"""Draws plots_*.png, the pictures of the page on plots: python docs/images/plots.py."""

from pathlib import Path

import numpy as np

import noslip as ns

HERE = Path(__file__).parent

tractor = ns.compile(ns.derive(ns.load("tractor-trailer")))
run = ns.run_scenario(tractor)
ns.plot(run, "path", save=HERE / "plots_path.png")

agv = ns.compile(ns.derive(ns.load("agv")))
circles = [ns.run_scenario(agv, changes={"R": radius}) for radius in (1.0, 1.5)]
ns.plot(
    circles,
    ["platform.vy", "bracket.angle", "torque1", "torque2"],
    labels=["R = 1 m", "R = 1.5 m"],
    save=HERE / "plots_comparison.png",
)

bicycle = ns.compile(ns.derive(ns.load("whipple-bicycle")))
sweep = ns.sweep_eigenvalues(bicycle, "speed", np.linspace(0.0, 10.0, 101))
ns.plot(sweep, save=HERE / "plots_eigenvalues.png")
