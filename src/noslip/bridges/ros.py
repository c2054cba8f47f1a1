"""ROS 2: runs as bags, out and in, and parameters of ros2_controllers.

**Runs as ROS 2 bags, out and in: joint states, odometry, transforms and the path, in MCAP files.**

Frames and names as in REP-103 and REP-105: x forward, y left, z up; the pose of the base in
``odom``, twists in the axes of the base. Robots' links follow from the joint states by ROS's own
robot_state_publisher.

    /joint_states  sensor_msgs/JointState   joints that turn or slide, with their rates
    /odom          nav_msgs/Odometry        pose and twist of the base
    /tf            tf2_msgs/TFMessage       odom → base
    /path          nav_msgs/Path            all poses of the base, at the start

Of a bag all messages of the types JointState and Odometry are read, whatever their topic: columns
``JOINT.position``, ``JOINT.velocity`` and ``JOINT.effort``, without a unit, since a joint may turn
or slide; ``TOPIC.x``, ``.y``, ``.z``, ``.yaw``, ``.vx``, ``.vy``, ``.vz`` and ``.yaw_rate`` of a
base. Times are those of the topic with the most messages, from its first one on; others are
interpolated between theirs.

**Parameters of ros2_controllers for a wheeled base, from the geometry of its model.**

    diff_drive_controller           driven wheels on both sides, none steered
    tricycle_controller             one wheel that is steered and driven
    tricycle_steering_controller    one wheel that is steered, two that are driven
    ackermann_steering_controller   two wheels that are steered, two that are driven
    mecanum_drive_controller        four wheels with rollers at an angle

Names are those of Jazzy and later; joints are called as in the model.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip import Joint, Model, ModelError, SimulationError
from noslip.base import Array, open_plain, require
from noslip.contacts import RollerRolling, Rolling
from noslip.expressions import names_of
from noslip.formats import AbstractRunFormat
from noslip.model import WORLD, AbstractModelFormat, NumberReader, rest_poses, topology
from noslip.simulation import ColumnTable
from noslip.surfaces import Disk

if TYPE_CHECKING:
    from noslip import Trajectory


#: Frame that the base moves in.
ODOM = "odom"
#: Coordinate → speed of a joint with one degree of freedom.
_PAIRS = {"angle": "rate", "position": "speed"}


class _Base(NamedTuple):
    """(n, 3) positions, (n, 4) quaternions xyzw, (n, 3) velocities and turning in base axes."""

    name: str
    position: Array
    quaternion: Array
    velocity: Array
    turning: Array


class RosBag(AbstractRunFormat):
    """A ROS 2 bag as an MCAP file; see the list at the top of this file."""

    __slots__ = ()

    word = "ros"
    name = "ROS 2 bag"
    suffixes = (".mcap",)

    def write(self, run: Trajectory, path: Path) -> None:
        """Write the messages of all samples."""
        bag, store = _rosbags("a run as .mcap")
        columns = {name: values for name, (_, values) in run.columns.items()}
        base, joints = _base(columns), list(_joints(columns))
        if base is None and not joints:
            raise SimulationError(
                "the run has no joint and no base for which ROS has a message",
                str(path),
                "export a run with joints that turn or slide, or with a planar or free base",
            )
        stamps = [round(1e9 * (t - run.t[0])) for t in run.t]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "bag"
            writer = bag.Writer(folder, version=9, storage_plugin=bag.StoragePlugin.MCAP)
            with writer:
                _Messages(store, writer).write(stamps, base, joints)
            made = next(folder.glob("*.mcap"))
            path.write_bytes(made.read_bytes())

    def read(self, path: Path) -> ColumnTable:
        """Columns of all joint states and odometries."""
        bag, store = _rosbags(str(path))
        fix = "give an MCAP file of ROS 2 with JointState or Odometry messages"
        topics: dict[str, list[tuple[int, dict[str, float]]]] = {}
        with open_plain(path, SimulationError, fix):
            pass
        try:
            with bag.Reader(path) as reader:
                for connection, stamp, data in reader.messages():
                    if connection.msgtype in _READ:
                        message = store.deserialize_cdr(data, connection.msgtype)
                        values = _READ[connection.msgtype](message, connection.topic)
                        topics.setdefault(connection.topic, []).append((stamp, values))
        except Exception as error:  # those of rosbags, and of what is in a file that is no bag
            raise SimulationError(
                f"the bag cannot be read: {error}"[:200], str(path), fix
            ) from error
        if not topics:
            raise SimulationError("the bag has no message of a supported type", str(path), fix)
        return _joined_topics(topics)


class _Messages:
    """Messages of a run, written in the order of their times."""

    def __init__(self, store: Any, writer: Any) -> None:
        self.store, self.writer, self.types = store, writer, store.types
        self.connections: dict[str, Any] = {}

    def write(
        self, stamps: list[int], base: _Base | None, joints: list[tuple[str, Array, Array]]
    ) -> None:
        if base is not None and stamps:
            poses = [
                self._made(
                    "geometry_msgs/msg/PoseStamped", self._header(s, ODOM), self._pose(base, k)
                )
                for k, s in enumerate(stamps)
            ]
            path = self._made("nav_msgs/msg/Path", self._header(stamps[0], ODOM), poses)
            self._send("/path", stamps[0], path)
        names = [name for name, _, _ in joints]
        for k, stamp in enumerate(stamps):
            if joints:
                positions = np.array([position[k] for _, position, _ in joints])
                rates = np.array([rate[k] for _, _, rate in joints])
                state = self._made(
                    "sensor_msgs/msg/JointState",
                    self._header(stamp, ""), names, positions, rates, np.zeros(0),
                )  # fmt: skip
                self._send("/joint_states", stamp, state)
            if base is not None:
                self._send("/odom", stamp, self._odometry(stamp, base, k))
                self._send("/tf", stamp, self._transform(stamp, base, k))

    def _made(self, name: str, *fields: Any) -> Any:
        return self.types[name](*fields)

    def _send(self, topic: str, stamp: int, message: Any) -> None:
        kind = message.__msgtype__
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, kind, typestore=self.store)
        data = self.store.serialize_cdr(message, kind)
        self.writer.write(self.connections[topic], stamp, data)

    def _header(self, stamp: int, frame: str) -> Any:
        time = self._made("builtin_interfaces/msg/Time", stamp // 10**9, stamp % 10**9)
        return self._made("std_msgs/msg/Header", time, frame)

    def _vector(self, values: Array, name: str = "Vector3") -> Any:
        return self._made(f"geometry_msgs/msg/{name}", *map(float, values))

    def _turn(self, base: _Base, k: int) -> Any:
        return self._made("geometry_msgs/msg/Quaternion", *map(float, base.quaternion[k]))

    def _pose(self, base: _Base, k: int) -> Any:
        point = self._vector(base.position[k], "Point")
        return self._made("geometry_msgs/msg/Pose", point, self._turn(base, k))

    def _odometry(self, stamp: int, base: _Base, k: int) -> Any:
        covariance = np.zeros(36)
        pose = self._made("geometry_msgs/msg/PoseWithCovariance", self._pose(base, k), covariance)
        twist = self._made(
            "geometry_msgs/msg/Twist",
            self._vector(base.velocity[k]), self._vector(base.turning[k]),
        )  # fmt: skip
        twist = self._made("geometry_msgs/msg/TwistWithCovariance", twist, covariance)
        header = self._header(stamp, ODOM)
        return self._made("nav_msgs/msg/Odometry", header, base.name, pose, twist)

    def _transform(self, stamp: int, base: _Base, k: int) -> Any:
        shift = self._vector(base.position[k])
        transform = self._made("geometry_msgs/msg/Transform", shift, self._turn(base, k))
        stamped = self._made(
            "geometry_msgs/msg/TransformStamped", self._header(stamp, ODOM), base.name, transform
        )
        return self._made("tf2_msgs/msg/TFMessage", [stamped])


def _of_joint_state(message: Any, topic: str) -> dict[str, float]:
    parts = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
    return {
        f"{name}.{part}": float(values[k])
        for k, name in enumerate(message.name)
        for part, values in parts.items()
        if k < len(values)
    }


def _of_odometry(message: Any, topic: str) -> dict[str, float]:
    pose, twist = message.pose.pose, message.twist.twist
    q = pose.orientation
    yaw = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    base = topic.strip("/").replace("/", ".") or "odom"
    named = {"x": pose.position.x, "y": pose.position.y, "z": pose.position.z, "yaw": yaw}
    named |= {f"v{k}": getattr(twist.linear, k) for k in "xyz"}
    return {f"{base}.{k}": float(v) for k, v in (named | {"yaw_rate": twist.angular.z}).items()}


#: Type of a message → how its columns are read.
_READ = {
    "sensor_msgs/msg/JointState": _of_joint_state,
    "nav_msgs/msg/Odometry": _of_odometry,
}
_UNITS = {"x": "m", "y": "m", "z": "m", "yaw": "rad", "yaw_rate": "rad/s"}
_UNITS |= {"vx": "m/s", "vy": "m/s", "vz": "m/s"}


def _joined_topics(topics: dict[str, list[tuple[int, dict[str, float]]]]) -> ColumnTable:
    """Columns of all topics at the times of the one with the most messages."""
    first = max(topics, key=lambda topic: len(topics[topic]))
    stamps = np.unique([stamp for stamp, _ in topics[first]])
    found: ColumnTable = {"time": ("s", 1e-9 * (stamps - stamps[0]).astype(float))}
    for messages in topics.values():
        messages.sort(key=lambda message: message[0])
        for name in dict.fromkeys(name for _, values in messages for name in values):
            own = [
                (stamp - stamps[0], values[name]) for stamp, values in messages if name in values
            ]
            times, values = np.array([t for t, _ in own]), np.array([v for _, v in own])
            last = name.rpartition(".")[2]
            values = np.unwrap(values) if last == "yaw" else values
            inside = np.interp((stamps - stamps[0]).astype(float), times.astype(float), values)
            found[name] = (_UNITS.get(last, ""), inside)
    return found


def _joints(columns: dict[str, Array]) -> Iterator[tuple[str, Array, Array]]:
    """Name, coordinate and rate of joints with one degree of freedom."""
    for name, values in columns.items():
        joint, _, last = name.rpartition(".")
        rate = f"{joint}.{_PAIRS.get(last, '')}"
        if last in _PAIRS and rate in columns and f"{joint}.x" not in columns:
            yield joint, values, columns[rate]


def _base(columns: dict[str, Array]) -> _Base | None:
    """The first joint with a pose in the plane or in space."""
    for name in columns:
        joint, _, last = name.rpartition(".")
        if last != "x" or f"{joint}.y" not in columns:
            continue

        def of(*parts: str, joint: str = joint) -> Array:
            zero = np.zeros_like(columns[f"{joint}.x"])
            return np.column_stack([columns.get(f"{joint}.{part}", zero) for part in parts])

        if f"{joint}.angle" in columns and f"{joint}.rate" in columns:
            half = columns[f"{joint}.angle"] / 2
            zero = np.zeros_like(half)
            turn = np.column_stack([zero, zero, np.sin(half), np.cos(half)])
            return _Base(joint, of("x", "y", "-"), turn, of("vx", "vy", "-"), of("-", "-", "rate"))
        if f"{joint}.qw" in columns:
            turn = of("qx", "qy", "qz", "qw")
            return _Base(joint, of("x", "y", "z"), turn, of("vx", "vy", "vz"), of("wx", "wy", "wz"))
    return None


def _rosbags(where: str) -> tuple[Any, Any]:
    require("rosbags", "a ROS bag", where)
    from rosbags import rosbag2
    from rosbags.typesys import Stores, get_typestore

    return rosbag2, get_typestore(Stores.ROS2_JAZZY)


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
