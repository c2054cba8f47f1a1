"""Exudyn: a disk and the bicycle held by its rolling joint, exact constraints in fixed steps."""

from __future__ import annotations

import exudyn as exu
import numpy as np
from exudyn.utilities import (
    MarkerBodyRigid,
    ObjectGround,
    ObjectJointRollingDisc,
    RigidBodyInertia,
    SensorBody,
)

from problems import (
    BICYCLE,
    BICYCLE_LEAN_RATE,
    BICYCLE_SPEED,
    DISK,
    DISKS,
    DURATION,
    GRAVITY,
)
from worker import Job, serve

EVERY = 0.1  # s between samples of the sensors
KINDS = ("Position", "RotationMatrix", "Velocity", "AngularVelocity")


class Mechanism:
    """Bodies, and the sensors on the wheel whose contact is looked at."""

    def __init__(self) -> None:
        self.container = exu.SystemContainer()
        self.system = self.container.AddSystem()
        self.ground = self.marker(self.system.AddObject(ObjectGround()))

    def marker(self, body: object) -> object:
        return self.system.AddMarker(MarkerBodyRigid(bodyNumber=body))

    def body(self, position: object, mass: float, tensor: object, **start: object) -> object:
        inertia = RigidBodyInertia(mass, np.array(tensor))
        options = {"referencePosition": position, "gravity": [0.0, 0.0, -GRAVITY]}
        return self.system.CreateRigidBody(inertia=inertia, **options, **start)

    def rolls(self, body: object, radius: float, axis: tuple[float, float, float]) -> None:
        markers = [self.ground, self.marker(body)]
        joint = ObjectJointRollingDisc(markerNumbers=markers, discRadius=radius, discAxis=axis)
        self.system.AddObject(joint)

    def watch(self, body: object) -> None:
        kinds = (getattr(exu.OutputVariableType, kind) for kind in KINDS)
        self.sensors = [
            self.system.AddSensor(
                SensorBody(bodyNumber=body, storeInternal=True, outputVariableType=kind)
            )
            for kind in kinds
        ]
        self.system.Assemble()

    def run(self, step: float) -> None:
        settings = exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.numberOfSteps = round(DURATION / step)
        integration.endTime = DURATION
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = True
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = EVERY
        solver = exu.DynamicSolverType.TrapezoidalIndex2
        self.system.SolveDynamic(settings, solverType=solver)

    def job(self, step: float, radius: float, axis: tuple[float, float, float]) -> Job:
        """The path of the lowest point of the wheel, with y to the left."""
        self.run(step)
        stored = [self.system.GetSensorStoredData(sensor)[:, 1:] for sensor in self.sensors]
        centers, rotations, velocities, omegas = stored
        axles = rotations.reshape(-1, 3, 3) @ np.array(axis)
        down = np.array([0.0, 0.0, -1.0]) + axles[:, 2:] * axles
        arms = radius * down / np.linalg.norm(down, axis=1)[:, None]
        slip = np.linalg.norm(velocities + np.cross(omegas, arms), axis=1).max()
        path = (centers + arms)[:, :2]
        notes = {"slip": float(slip), "steps": round(DURATION / step)}
        return Job(call=lambda: self.run(step), answer=(path - path[0]).tolist(), notes=notes)


def disk_path(start: str, step: float) -> Job:
    """Ten seconds of a disk by the implicit trapezoidal rule on index 2."""
    begin, mechanism = DISKS[start], Mechanism()
    omega, velocity = begin.twist
    tensor = np.diag([DISK["I_transverse"], DISK["I_transverse"], DISK["I_axial"]])
    body = mechanism.body(
        begin.center,
        DISK["m"],
        tensor,
        referenceRotationMatrix=begin.axes,
        initialVelocity=velocity,
        initialAngularVelocity=omega,
    )
    mechanism.rolls(body, DISK["r"], (0.0, 0.0, 1.0))
    mechanism.watch(body)
    return mechanism.job(step, DISK["r"], (0.0, 0.0, 1.0))


def bicycle_path(step: float) -> Job:
    """Ten seconds of the bicycle, four bodies on hinges; x forward, y to the left, z up."""
    p, mechanism, speed = BICYCLE, Mechanism(), BICYCLE_SPEED

    def body(position: np.ndarray, letter: str, spin: float = 0.0) -> object:
        xx, yy = p[f"I{letter}xx"], p[f"I{letter}yy"]
        zz, xz = p.get(f"I{letter}zz", xx), -p.get(f"I{letter}xz", 0.0)
        return mechanism.body(
            position,
            p[f"m{letter}"],
            [[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]],
            initialVelocity=[speed, -BICYCLE_LEAN_RATE * position[2], 0.0],
            initialAngularVelocity=[BICYCLE_LEAN_RATE, spin, 0.0],
        )

    rear, front = np.array([0.0, 0.0, p["rR"]]), np.array([p["w"], 0.0, p["rF"]])
    frame_center, fork_center = (
        np.array([p["xB"], 0.0, -p["zB"]]),
        np.array([p["xH"], 0.0, -p["zH"]]),
    )
    rear_wheel = body(rear, "R", speed / p["rR"])
    front_wheel = body(front, "F", speed / p["rF"])
    frame, fork = body(frame_center, "B"), body(fork_center, "H")
    axle, steer = [0.0, 1.0, 0.0], [-np.sin(p["lam"]), 0.0, np.cos(p["lam"])]
    hinge = mechanism.system.CreateRevoluteJoint
    hinge(itemNumbers=[rear_wheel, frame], position=rear, axis=axle)
    hinge(itemNumbers=[front_wheel, fork], position=front, axis=axle)
    hinge(itemNumbers=[frame, fork], position=[p["w"] + p["c"], 0.0, 0.0], axis=steer)
    mechanism.rolls(rear_wheel, p["rR"], (0.0, 1.0, 0.0))
    mechanism.rolls(front_wheel, p["rF"], (0.0, 1.0, 0.0))
    mechanism.watch(rear_wheel)
    return mechanism.job(step, p["rR"], (0.0, 1.0, 0.0))


if __name__ == "__main__":
    serve({"disk_path": disk_path, "bicycle_path": bicycle_path}, ("exudyn", "numpy"))
