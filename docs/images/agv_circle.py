"""Draws agv_circle.png, the picture of the guided vehicle: python docs/images/agv_circle.py."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import noslip as ns
from noslip.scene.colors import PALETTE

BLUE, ORANGE, GREEN, GRAY = *PALETTE[:3], "#8a8f98"
HERE = Path(__file__).parent

model = ns.load("agv")
run = ns.run_scenario(ns.compile(ns.derive(model)), rtol=1e-12, atol=1e-12)
p = run.parameters
width, r, a, b, d = (p[name] for name in ("l", "r", "a", "b", "d"))

figure = Figure(figsize=(10.4, 4.7), layout="constrained", facecolor="white")
left, right = figure.subfigures(1, 2, width_ratios=[1.0, 1.18])
ground = left.subplots()
torque, caster, balance = right.subplots(3, 1, sharex=True, height_ratios=[1.35, 1, 1])

# the path of the mass center, the tracks of the three contact points, the vehicle now and then
for wheel, color in (("wheel1", BLUE), ("wheel2", ORANGE), ("wheel3", GREEN)):
    ground.plot(
        run[f"{wheel}.contact_x"], run[f"{wheel}.contact_y"], color=color, linewidth=0.9, alpha=0.9
    )
ground.plot(run["platform.x"], run["platform.y"], color="black", linewidth=1.7)


def rectangle(center, along, across, length, width):
    """Corners of a rectangle, closed."""
    signs = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]])
    return center + signs @ np.array([along * length / 2, across * width / 2])


for fraction in (0.0, 0.17, 0.34, 0.5, 0.66, 0.83):
    # equal steps along the circle, not in time
    k = int(np.argmin(np.abs(run["platform.angle"] - 2 * np.pi * fraction)))
    C = np.array([run["platform.x"][k], run["platform.y"][k]])
    beta, psi = run["platform.angle"][k], run["bracket.angle"][k]
    i, j = np.array([np.cos(beta), np.sin(beta)]), np.array([-np.sin(beta), np.cos(beta)])
    f3 = np.array([-np.sin(beta + psi), np.cos(beta + psi)])
    e3 = np.array([f3[1], -f3[0]])
    outline = np.array([C - width / 2 * i - a * j, C + width / 2 * i - a * j, C + b * j])
    ground.fill(*outline.T, facecolor="#dfe6ee", edgecolor=GRAY, linewidth=0.8, zorder=3)
    for center, along, across, color in (
        (C - width / 2 * i - a * j, j, i, BLUE),
        (C + width / 2 * i - a * j, j, i, ORANGE),
        (C + b * j - d * f3, f3, e3, GREEN),
    ):
        ground.fill(*rectangle(center, along, across, 2.4 * r, 0.9 * r).T, color=color, zorder=4)
ground.set_aspect("equal")
ground.set_xlabel("x (m)")
ground.set_ylabel("y (m)")
ground.set_title("one circle in 60 s, from rest to rest", fontsize=10)

torque.plot(run.t, 1e3 * run["torque1"], color=BLUE, label="torque1")
torque.plot(run.t, 1e3 * run["torque2"], color=ORANGE, label="torque2")
torque.set_ylabel("torque (mN·m)")
torque.legend(frameon=False, fontsize=8, ncols=2)
torque.set_title("motor torques from inverse dynamics", fontsize=10)
caster.plot(run.t, run["bracket.angle"], color=GREEN, label="bracket.angle")
caster.set_ylabel("caster (rad)")
error = np.max(np.abs(np.array(list(run.errors.values()))), axis=0)
slip = np.max(np.abs(run.row_residuals), axis=1)
floor = 1e-18
balance.semilogy(run.t, np.maximum(error, floor), color="black", label="simulated − planned")
balance.semilogy(run.t, np.maximum(slip, floor), color=GRAY, label="slip of the wheels (m/s)")
balance.set_ylabel("error (m, rad)")
balance.set_ylim(floor, 1e-8)
balance.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
balance.set_xlabel("time (s)")
for ax in (ground, torque, caster, balance):
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
figure.savefig(HERE / "agv_circle.png", dpi=110)
