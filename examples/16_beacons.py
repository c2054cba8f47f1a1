"""Where am I? A vehicle drives a circle by wheel encoders, a gyroscope and two beacons.

It starts 8 cm from where it believes to be. Encoders alone would never find out; distances from two
beacons do. The controller sees the estimate of an extended Kalman filter only.

Parameters    of the vehicle, as printed; noise of sensors and motors
Coordinates   platform.x, platform.y (m), platform.angle (rad), three wheels and a bracket
Inputs        torque1, torque2 (N m), with noise of 0.02 N m in each sample
Look for      the error with beacons a seventh of that without; ellipses that shrink; normalized
              innovations of 1 on average
Reference     [SahaAngeles1989] for the vehicle
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("agv")))

# %% What there is on board, and what it drives past
on_board = (
    ns.sensors.Odometry(wheels=("wheel1", "wheel2"), sigma=0.02),
    ns.sensors.Gyroscope(body="platform", sigma=0.01),
)
beacons = tuple(
    ns.sensors.Beacon(body="platform", at=at, sigma=0.05, every=5)
    for at in ((3.0, 2.0, 0.0), (-3.0, 2.0, 0.0))
)
start_sigma = {"platform.x": 0.06, "platform.y": 0.06, "platform.angle": 0.04}


def drive(sensors):
    """Once round the circle, 8 cm off at the start."""
    plant = ns.Plant(
        start={"platform.x": 1.92},
        sensors=sensors,
        actuators=tuple(ns.Actuator(of=name, sigma=0.02) for name in ("torque1", "torque2")),
        estimator=ns.sensors.ExtendedKalman(start_sigma=start_sigma),
        seed=7,
    )
    return ns.track(
        system,
        ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        controller=ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.05),
        plant=plant,
    )


# %% Without beacons it drives a circle, elsewhere; with them it finds its place
blind, seeing = drive(on_board), drive(on_board + beacons)
for name, run in (("encoders and gyroscope", blind), ("with beacons", seeing)):
    sigma = np.sqrt(run["covariance.platform.x,platform.x"][-1])
    print(f"{name}: off the path by {run.path_errors.distance[-1]:.3f} m, believes ±{sigma:.3f} m")
ns.plot(seeing, "path", title="where it is, and where it believes to be", save="beacons.png")
ns.plot(seeing, "estimate", save="errors.png")

# %% Is what it believes true? Normalized errors, over the run
later = seeing.t > 5.0
nis = seeing["nis"][later].sum() / seeing["nis_count"][later].sum()
print(f"normalized innovations: {nis:.2f} on average, 1 is consistent")

# %% How much the beacons help
share = seeing.path_errors.distance[later].mean() / blind.path_errors.distance[later].mean()
print(f"error with beacons, in errors without: {share:.3f}")
