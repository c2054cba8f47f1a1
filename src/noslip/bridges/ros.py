"""Runs as ROS 2 bags, out and in: joint states, odometry, transforms and the path, in MCAP files.

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
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip import SimulationError
from noslip.formats import AbstractRunFormat
from noslip.base import open_plain, require
from noslip.simulation import ColumnTable

if TYPE_CHECKING:
    from noslip import Trajectory

Array = NDArray[np.float64]

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
