"""An arm holds a pose by PD control, and draws a circle with its tip by Cartesian control.

A planar arm of two links stands in the vertical plane. Proportional and derivative feedback with
gravity compensation brings it to a pose; without compensation it sags. At that pose the equations
of motion are written for the tip instead of the joints, and then the tip itself is controlled.

Parameters    m1 3, m2 2 kg; l1 0.5, l2 0.4 m (links); r1 0.25, r2 0.2 m (joint to mass center);
              I1 0.0625, I2 0.0267 kg m² (about the mass center); g 9.81 m/s²
Coordinates   joint1.angle (from the horizontal), joint2.angle (from link 1) (rad)
Inputs        tau1, tau2: torques at the joints (N m)
Look for      V = ½ eᵀ Kp e + K, which only falls and falls by what the gains dissipate; a tip that
              is heavier in one direction than in another; a tip's error that decays as exp(−3 t)
Reference     [DeSantis1994], section 7
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

model = ns.load("manipulator-2r")
print(ns.check(model).text())
system = ns.compile(ns.derive(model))

# %% A set point is a motion that stays
pose = {"joint1.angle": 0.5, "joint2.angle": -0.4}
motion, q = ns.motions.ExpressionMotion(coordinates=pose), np.array(list(pose.values()))
kp, kd = (30.0, 20.0), (6.0, 4.0)


def held(gravity, start, duration):
    """The arm under PD control."""
    controller = ns.controllers.ProportionalDerivative(kp=kp, kd=kd, gravity=gravity)
    law = ns.controllers.Tracking(
        motion=motion, controller=controller, reference_start=q, limits={}
    )
    options = {"samples": 20001, "rtol": 1e-11, "atol": 1e-11}
    return ns.simulate(system, duration=duration, start=start, inputs=law, **options)


# %% With compensation: V falls from any start
start = {"joint1.angle": -1.0, "joint2.angle": 1.2, "joint1.rate": 0.5, "joint2.rate": -1.0}
run = held(True, start, 5.0)
V = 0.5 * (run.q - q) ** 2 @ np.array(kp) + run.kinetic_energy
dissipated = np.trapezoid(run.v**2 @ np.array(kd), run.t)
print()
print(run.summary())
print(f"V falls from {V[0]:.9f} to {V[-1]:.1e} J: {np.all(np.diff(V) < 1e-10)}")
print(f"of this the gains dissipate: {dissipated:.4f} J")

# %% The model of the tip at the pose: M_x v̇ + V_x + G_x = F_x
tip = ns.cartesian_model(system, pose, body="link2", components=("vx", "vy"))
print("\nmass of the tip [kg]:", " ".join(f"{x:.9f}" for x in tip.mass.ravel()))
print(f"force that holds the tip: {tip.gravity[1]:.9f} N upwards")

# %% Cartesian control: the tip goes round a circle from a wrong start, ë + 6 ė + 9 e = 0
circle = {"x": "0.55 + 0.15*cos(t)", "y": "0.2 + 0.15*sin(t)"}
drawn = ns.motions.FrameMotion(body="link2", position=circle, near={"joint2.angle": -1.0})
tool = ns.controllers.CartesianTracking(body="link2", components=("vx", "vy"), kp=9.0, kd=6.0)
on_circle = drawn.trace(system).start_at(system.parameters())
law = ns.controllers.Tracking(motion=drawn, controller=tool, reference_start=on_circle, limits={})
off = dict(zip(pose, on_circle + [0.1, 0.2], strict=True))
drawing = ns.simulate(system, duration=3.0, start=off, inputs=law, rtol=1e-11, atol=1e-11)
end = ns.direct_kinematics(system, dict(zip(pose, drawing.q[-1], strict=True)))["link2"]
miss = np.hypot(end.position[0] - 0.55 - 0.15 * np.cos(3), end.position[1] - 0.2 - 0.15 * np.sin(3))
print(f"tip off its circle after 3 s: {miss:.9f} m")

# %% Without compensation the arm sags until the springs carry it
sagging = held(False, pose, 20.0)
ns.plot(sagging, ["joint1.angle", "joint2.angle"], title="PD alone").savefig("arm.png")

# %% By how much the tip is too low
p = model.parameter_values()
height = [p["l1"] * np.sin(x) + p["l2"] * np.sin(x + y) for x, y in (q, sagging.q[-1])]
print(f"tip too low by: {height[0] - height[1]:.9f} m")
