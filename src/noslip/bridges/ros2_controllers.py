"""Parameters of ros2_controllers for a wheeled base, from the geometry of its model.

    diff_drive_controller           driven wheels on both sides, none steered
    tricycle_controller             one wheel that is steered and driven
    tricycle_steering_controller    one wheel that is steered, two that are driven
    ackermann_steering_controller   two wheels that are steered, two that are driven
    mecanum_drive_controller        four wheels with rollers at an angle

Names are those of Jazzy and later; joints are called as in the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from noslip import Joint, Model, ModelError
from noslip.contacts import RollerRolling, Rolling
from noslip.surfaces import Disk
from noslip.base import Array
from noslip.expressions import names_of
from noslip.model import WORLD, AbstractModelFormat, NumberReader, rest_poses, topology

#: Sine of the angle between two axes that count as parallel.
PARALLEL = 1e-6

Value = float | str | bool | Sequence[str] | Mapping[str, "Value"]


class Ros2Controllers(AbstractModelFormat):
    """A parameter file of ros2_controllers; see the list at the top of this file."""

    __slots__ = ()

    word = "ros2_controllers"
    name = "parameters of ros2_controllers"
    suffixes = (".controllers.yaml",)

    def write(self, model: Model, path: Path) -> None:
        """Write the parameters of the controller that fits."""
        path.write_text("\n".join(_lines(controller_parameters(model))) + "\n", "utf-8")

    def notes(self, model: Model) -> tuple[str, ...]:
        """Note that only geometry is exported."""
        return ("the file has geometry and names of joints; limits, rates and gains are yours",)


class _ControlledWheel(NamedTuple):
    """A wheel: its joints, its place in the base, and what moves it."""

    joint: str
    position: Array
    radius: float
    roller_angle: float | None
    steering: str
    is_driven: bool
    is_steered: bool


def controller_parameters(model: Model) -> dict[str, Value]:
    """Parameters by the names of a controller, the manager's first.

    Raises
    ------
    ModelError : no controller fits the wheels.
    """
    base, wheels = _wheels(model)
    rollers = [w for w in wheels if w.roller_angle is not None]
    steered = [w for w in wheels if w.is_steered]
    driven = [w for w in wheels if w.is_driven and w.roller_angle is None]
    fixed = [w for w in wheels if not w.steering and w.roller_angle is None]
    found: tuple[str, dict[str, Value]] | None = None
    if len(rollers) == 4 and all(abs(math.tan(w.roller_angle or 0.0)) < 1e3 for w in rollers):
        found = _mecanum(rollers)
    elif len(steered) == 1 and steered[0].is_driven:
        found = _tricycle(steered[0], fixed)
    elif len(steered) == 1 and len(driven) == 2:
        found = _steering("tricycle_steering_controller", driven, steered)
    elif len(steered) == 2:
        rear = driven if len(driven) == 2 and not driven[0].is_steered else fixed
        found = _steering("ackermann_steering_controller", rear, steered)
    elif not steered and len(driven) >= 2:
        found = _differential(driven)
    if found is None:
        raise ModelError(
            f"no controller fits {len(wheels)} wheels, of which {len(driven)} are driven, "
            f"{len(steered)} steered and {len(rollers)} have rollers",
            f"model '{model.name}'",
            "give a differential, tricycle, Ackermann or mecanum base with motors on its wheels, "
            "x forward and y to the left",
        )
    kind, own = found
    frames: dict[str, Value] = {"base_frame_id": base, "odom_frame_id": "odom"}
    manager: dict[str, Value] = {"drive_controller": {"type": _TYPES[kind]}}
    return {
        "controller_manager": {"ros__parameters": manager},
        "drive_controller": {"ros__parameters": {**own, **frames}},
    }


_TYPES = {
    "diff_drive_controller": "diff_drive_controller/DiffDriveController",
    "tricycle_controller": "tricycle_controller/TricycleController",
    "tricycle_steering_controller": "tricycle_steering_controller/TricycleSteeringController",
    "ackermann_steering_controller": "ackermann_steering_controller/AckermannSteeringController",
    "mecanum_drive_controller": "mecanum_drive_controller/MecanumDriveController",
}

_Found = tuple[str, dict[str, Value]] | None


def _differential(driven: list[_ControlledWheel]) -> _Found:
    left = [w for w in driven if w.position[1] > 0.0]
    right = [w for w in driven if w.position[1] < 0.0]
    if len(left) != len(right) or not left:
        return None
    return "diff_drive_controller", {
        "left_wheel_names": [w.joint for w in left],
        "right_wheel_names": [w.joint for w in right],
        "wheel_separation": _track(driven),
        "wheel_radius": _radius(driven),
    }


def _tricycle(front: _ControlledWheel, rear: list[_ControlledWheel]) -> _Found:
    if not rear:
        return None
    return "tricycle_controller", {
        "traction_joint_name": front.joint,
        "steering_joint_name": front.steering,
        "wheelbase": _length(abs(front.position[0] - _middle(rear)[0])),
        "wheel_radius": _length(front.radius),
    }


def _steering(kind: str, rear: list[_ControlledWheel], front: list[_ControlledWheel]) -> _Found:
    if len(rear) != 2:
        return None
    more: dict[str, Value] = {}
    if len(front) == 2:
        more["steering_track_width"] = _track(front)
    return kind, {
        "traction_joints_names": [w.joint for w in rear],
        "steering_joints_names": [w.steering for w in front],
        "wheelbase": _length(abs(_middle(front)[0] - _middle(rear)[0])),
        "traction_track_width": _track(rear),
        **more,
        "traction_wheels_radius": _radius(rear),
    }


def _mecanum(wheels: list[_ControlledWheel]) -> _Found:
    middle = _middle(wheels)
    corners = {(w.position[0] > middle[0], w.position[1] > middle[1]): w for w in wheels}
    if len(corners) != 4:
        return None
    names = {(True, True): "front_left", (True, False): "front_right"}
    names |= {(False, False): "rear_right", (False, True): "rear_left"}
    reach = np.abs(np.array([w.position for w in wheels]) - middle)[:, :2].mean(axis=0).sum()
    joints: dict[str, Value] = {
        f"{name}_wheel_command_joint_name": corners[at].joint for at, name in names.items()
    }
    offset: dict[str, Value] = {"x": _length(middle[0]), "y": _length(middle[1]), "theta": 0.0}
    return "mecanum_drive_controller", {
        **joints,
        "kinematics": {
            "base_frame_offset": offset,
            "wheels_radius": _radius(wheels),
            "sum_of_robot_center_projection_on_X_Y_axis": _length(reach),
        },
    }


def _wheels(model: Model) -> tuple[str, list[_ControlledWheel]]:
    """The base, and wheels that roll on the ground with it."""
    tree = topology(model).tree
    read = NumberReader(model.parameter_values())
    base = next(
        (j.child for j in tree if j.parent == WORLD and (j.type.is_planar or j.type.is_free)), None
    )
    if base is None:
        raise ModelError(
            "the model has no base that moves over the ground",
            f"model '{model.name}'",
            "give one with a planar or free joint to the world",
        )
    carrier = {joint.child: joint for joint in tree}
    poses = rest_poses(model, read)
    R_base, p_base = poses[base]
    moved = {speed for force in model.forces for speed in force.driven()}
    given = {speed_input.speed for speed_input in model.speed_inputs}
    tied = {name for row in model.rows for name in names_of(row.expression)}
    found = []
    for contact in model.contacts:
        if not isinstance(contact, Rolling | RollerRolling) or contact.body not in carrier:
            continue
        if isinstance(contact, Rolling) and not isinstance(contact.wheel, Disk):
            continue
        spin = carrier[contact.body]
        above = _upright_joint(spin, carrier, poses, base)
        if above is None and not _is_on(spin.parent, base, carrier):
            continue
        R, p = poses[contact.body]
        center = p + R @ read.vector(contact.center)
        is_rolling = isinstance(contact, Rolling)
        surface = contact.wheel if isinstance(contact, Rolling) else contact
        turns = set(above.speed_names()) if above is not None else set()
        angles = set(above.coordinate_names()) if above is not None else set()
        driven = set(spin.speed_names()) & (moved | given) or set(spin.coordinate_names()) & tied
        found.append(
            _ControlledWheel(
                joint=spin.name,
                position=R_base.T @ (center - p_base),
                radius=read.scalar(surface.radius),  # type: ignore[union-attr]
                roller_angle=None if is_rolling else read.scalar(contact.roller_angle),  # type: ignore[union-attr]
                steering=above.name if above is not None else "",
                is_driven=bool(driven),
                is_steered=bool(turns & (moved | given) or angles & tied),
            )
        )
    return base, found


def _upright_joint(
    spin: Joint, carrier: Mapping[str, Joint], poses: Mapping[str, tuple[Array, Array]], base: str
) -> Joint | None:
    """The joint about a vertical axis between a wheel and the base, if there is one."""
    body = spin.parent
    while body in carrier and body != base:
        joint = carrier[body]
        axis = joint.type.rotation_axis()
        if axis is not None and joint.parent != WORLD:
            numbers = [float(x) for x in axis if not isinstance(x, str)]
            if len(numbers) == 3:
                up = poses[body][0] @ np.array(numbers) / np.linalg.norm(numbers)
                if math.hypot(up[0], up[1]) < PARALLEL:
                    return joint
        body = joint.parent
    return None


def _is_on(body: str, base: str, carrier: Mapping[str, Joint]) -> bool:
    while body != base and body in carrier:
        body = carrier[body].parent
    return body == base


def _middle(wheels: list[_ControlledWheel]) -> Array:
    middle: Array = np.mean([w.position for w in wheels], axis=0)
    return middle


def _track(wheels: list[_ControlledWheel]) -> float:
    sides = [w.position[1] for w in wheels]
    return _length(max(sides) - min(sides))


def _radius(wheels: list[_ControlledWheel]) -> float:
    return _length(float(np.mean([w.radius for w in wheels])))


def _length(value: float) -> float:
    # what rounding left of a difference is not written
    return float(f"{float(value):.12g}") + 0.0


def _lines(table: Mapping[str, Value], depth: int = 0) -> list[str]:
    """YAML of nested tables."""
    lines: list[str] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += [f"{'  ' * depth}{key}:", *_lines(value, depth + 1)]
        else:
            lines.append(f"{'  ' * depth}{key}: {_text(value)}")
    return lines


def _text(value: Value) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float):
        # a number without a point would be an integer in YAML, which ROS refuses
        return repr(value)
    assert isinstance(value, Sequence)
    return "[" + ", ".join(_text(entry) for entry in value) + "]"
