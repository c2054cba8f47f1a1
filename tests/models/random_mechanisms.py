"""Random mechanisms, the same ones every time: seeded, with unround numbers and oblique frames.

`FAMILIES` maps the name of a family to a function of a generator of random numbers. Two kinds are
here on purpose that drawing numbers alone would never find: rows that repeat each other, and rows
that hold by themselves up to rounding, such as those of a second guide along the first.
"""

import dataclasses
import math
import zlib
from collections.abc import Callable

import numpy as np
from maximal import Maximal

import noslip as ns
from noslip.forces import Tire

Rng = np.random.Generator

#: Factors on lengths of some decimetres: most mechanisms are of that size, some small, some large.
SIZES = [1.0] * 8 + [0.03, 20.0]


def draw(family: str, number: int) -> ns.Model:
    """A mechanism of a family by its number."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), number])
    model = FAMILIES[family](rng)
    return dataclasses.replace(model, name=f"{family}-{number}".replace(" ", "-"))


class Draft:
    """Parts of a mechanism in the making, with random numbers at hand."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.size = float(rng.choice(SIZES))
        gravity = tuple(float(g) for g in rng.normal(size=3) * 5 - np.array([0, 0, 6]))
        self.builder = ns.ModelBuilder(name="random", gravity=gravity)
        self.bodies: list[str] = []
        self.joints: list[ns.Joint] = []

    # --- numbers ------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def choice(self, items: list | tuple):
        return items[int(self.rng.integers(len(items)))]

    def vector(self, size: float) -> tuple[float, float, float]:
        return tuple(float(x) for x in self.rng.uniform(-size, size, size=3))

    def point(self, size: float = 0.4) -> tuple[float, float, float]:
        """A place of the mechanism, m."""
        return self.vector(size * self.size)

    def radius(self) -> float:
        """Of a wheel, m."""
        return self.between(0.1, 0.5) * self.size

    def axis(self) -> tuple[float, float, float]:
        """Any direction, not of unit length; now and then one of the axes."""
        if self.chance(0.2):
            return self.choice([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0)])
        a = self.rng.normal(size=3)
        return tuple(float(x) for x in a * self.between(0.5, 2.0) / np.linalg.norm(a))

    def place(self) -> ns.Placement:
        sequence = self.choice(("xyz", "zyx", "zxz", "yzx"))
        return ns.Placement(position=self.point(), angles=self.vector(1.5), sequence=sequence)

    def number(self, value: float, unit: str) -> float | str:
        """A number as it is, or as a parameter."""
        if self.chance(0.6):
            return value
        name = f"p{len(self.builder._elements.get('parameters', []))}"
        return self.builder.parameter(name, value, unit)

    # --- parts --------------------------------------------------------------------------------

    def body(self) -> str:
        """A body of four mass points and a small sphere: any tensor that a real body can have."""
        name = f"body{len(self.bodies)}"
        points = self.rng.uniform(-0.3, 0.3, (4, 3)) * self.size
        masses = self.rng.uniform(0.2, 1.5, 4)
        center = masses @ points / masses.sum()
        r = points - center
        tensor = 0.01 * self.size**2 * np.eye(3)
        for m, x in zip(masses, r, strict=True):
            tensor += m * (x @ x * np.eye(3) - np.outer(x, x))
        entries = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        self.builder.body(
            name,
            mass=self.number(float(masses.sum()), "kg"),
            inertia=tuple(float(e) for e in entries),
            center_of_mass=tuple(float(c) for c in center),
        )
        self.bodies.append(name)
        return name

    def joint(
        self,
        type: object,
        parent: str,
        child: str,
        parent_frame: ns.Placement | None = None,
        child_frame: ns.Placement | None = None,
        motion: dict[str, str] | None = None,
    ) -> str:
        name = f"joint{len(self.joints)}"
        joint = ns.Joint(
            name=name,
            parent=parent,
            child=child,
            type=type,
            parent_frame=parent_frame or self.place(),
            child_frame=child_frame or self.place(),
            motion=motion,
        )
        self.joints.append(joint)
        self.builder.joint(
            name,
            type,
            parent=parent,
            child=child,
            parent_frame=joint.parent_frame,
            child_frame=joint.child_frame,
            motion=motion,
        )
        return name

    def type(self, words: str = "revolute revolute prismatic planar spherical free fixed"):
        match self.choice(words.split()):
            case "revolute":
                return ns.joints.Revolute(axis=self.axis())
            case "prismatic":
                return ns.joints.Prismatic(axis=self.axis())
            case "planar":
                return ns.joints.Planar()
            case "spherical":
                return ns.joints.Spherical(
                    angles=ns.joints.Angles(sequence="zyx", names=("yaw", "nod", "roll"))
                )
            case "free":
                return ns.joints.Free(
                    angles=ns.joints.Angles(sequence="zxz", names=("yaw", "tilt", "spin"))
                )
        return ns.joints.Fixed()

    def hang(self, parent: str, words: str = "revolute revolute prismatic spherical") -> str:
        """A body on a joint of its own."""
        child = self.body()
        return self.joint(self.type(words), parent, child)

    def wave(self) -> str:
        """A motion in time."""
        a, b, c = self.between(-0.5, 0.5), self.between(0.1, 0.5), self.between(0.5, 2.5)
        return self.choice([f"{a} + {b}*sin({c}*t)", f"{a}*t + {b}*cos({c}*t)", f"{a} - {b}*t^2"])

    def drive(self, joint: ns.Joint) -> None:
        """A joint's motion given in time, instead of its own."""
        angles = getattr(joint.type, "angles", None)
        names = [c.name for c in joint.type.coordinates if not c.name.startswith("q")]
        if angles is not None and self.chance(0.7):
            names += angles.names
            motion = {name: self.wave() for name in names if self.chance(0.8) or "q" in name}
            if any(n in motion for n in angles.names):
                motion |= {n: motion.get(n, self.wave()) for n in angles.names}
        else:
            motion = {self.choice(names): self.wave()} if names else {}
        if not motion:
            return
        k = self.joints.index(joint)
        driven = dataclasses.replace(joint, motion=motion)
        self.joints[k] = self.builder._elements["joints"][k] = driven

    def push(self, most: int = 4) -> None:
        """Springs, dampers, friction, motors and wrenches."""
        speeds = [f"{j.name}.{s.name}" for j in self.joints for s in j.type.speeds]
        speeds = [s for s in speeds if s.split(".")[0] in self._carrying()]
        coordinates = [
            f"{j.name}.{c.name}"
            for j in self.joints
            for c in j.type.coordinates
            if not c.name.startswith("q") and j.name in self._carrying()
        ]
        for k in range(int(self.rng.integers(0, most + 1))):
            name = f"force{k}"
            kind = self.choice(
                "motor coil damper friction spring spring wrench wrench tire".split()
            )
            match kind:
                case "motor" if speeds:
                    speed = self.choice(speeds)
                    unit = "N*m" if speed.rpartition(".")[2] in ("rate", "wx", "wy", "wz") else "N"
                    self.builder.input(f"u{k}", unit)
                    self.builder.force(ns.forces.Motor(name=name, speed=speed, input=f"u{k}"))
                case "coil" if coordinates:
                    rest = self.between(-0.5, 0.5)
                    coil = ns.forces.JointSpring(
                        name=name,
                        coordinate=self.choice(coordinates),
                        stiffness=self.between(1, 20),
                        rest=rest,
                    )
                    self.builder.force(coil)
                case "damper" if speeds:
                    damping = self.between(0.1, 2.0)
                    speed = self.choice(speeds)
                    self.builder.force(
                        ns.forces.JointDamper(name=name, speed=speed, damping=damping)
                    )
                case "friction" if speeds:
                    self.builder.force(
                        ns.forces.JointFriction(
                            name=name,
                            speed=self.choice(speeds),
                            level=self.between(0.1, 1.0),
                            smoothing=self.between(0.1, 0.5),
                        )
                    )
                case "spring":
                    body = self.choice(self.bodies)
                    other = self.choice([b for b in [*self.bodies, "world"] if b != body])
                    self.builder.force(
                        ns.forces.Spring(
                            name=name,
                            body=body,
                            point=self.point(),
                            other_body=other,
                            other_point=self.point(1.0),
                            stiffness=self.between(1.0, 40.0),
                            rest_length=self.between(0.1, 0.6) * self.size,
                            damping=self.choice([0.0, self.between(0.1, 2.0)]),
                        )
                    )
                case "tire":
                    body = self.choice(self.bodies)
                    ground = self.choice([b for b in [*self.bodies, "world"] if b != body])
                    self.builder.force(
                        Tire(
                            name=name,
                            body=body,
                            direction=self.axis(),
                            stiffness=self.between(1.0, 10.0),
                            v0=self.between(0.2, 0.5),
                            point=self.point(),
                            maximum=self.choice([None, self.between(1.0, 5.0)]),
                            plane=ns.contacts.Plane(body=ground, frame=self.place()),
                        )
                    )
                case "wrench":
                    moment: tuple = self.vector(2.0)
                    force: tuple = self.vector(5.0)
                    if speeds and self.chance(0.5):
                        force = (f"sin(2*t) - 0.3*{self.choice(speeds)}", *force[1:])
                    if coordinates and self.chance(0.5):
                        moment = (moment[0], f"0.4*cos({self.choice(coordinates)})", moment[2])
                    self.builder.force(
                        ns.forces.Wrench(
                            name=name,
                            body=self.choice(self.bodies),
                            force=force,
                            moment=moment,
                            point=self.point(),
                            axes=self.choice(("world", "body")),
                        )
                    )

    def _carrying(self) -> set[str]:
        carried, names = {"world"}, set()
        for joint in self.joints:
            if joint.child not in carried:
                carried.add(joint.child)
                names.add(joint.name)
        return names

    def speeds(self) -> list[str]:
        """Tree speeds of joints whose motion is not given."""
        return [
            f"{j.name}.{s.name}"
            for j in self.joints
            if j.name in self._carrying() and not j.motion
            for s in j.type.speeds
        ]

    def decorate(self) -> ns.Model:
        """A pendulum now and then, forces, a look at everything together."""
        if self.chance(0.4):
            self.hang(self.choice(self.bodies))
        self.push()
        return self.builder.build()


# --- trees -----------------------------------------------------------------------------------


def _tree(d: Draft, least: int, most: int, words: str) -> None:
    for _ in range(int(d.rng.integers(least, most + 1))):
        parent = d.choice(["world", *d.bodies])
        d.joint(d.type(words), parent, d.body())


def tree(rng: Rng) -> ns.Model:
    """Any joints, some of them driven in time or by a speed input."""
    d = Draft(rng)
    _tree(d, 1, 5, "revolute revolute prismatic planar spherical free fixed")
    movable = [j for j in d.joints if j.type.speeds]
    if not movable:
        d.hang(d.bodies[0])
        movable = [d.joints[-1]]
    d.push()
    if d.chance(0.4):
        d.drive(d.choice(movable))
    if d.chance(0.3):
        free = [s for s in d.speeds()]
        if free:
            d.builder.speed_input("w0", d.choice(free))
    return d.builder.build()


def rows(rng: Rng) -> ns.Model:
    """A tree with one or two rows written by hand, in speeds or in coordinates and time."""
    d = Draft(rng)
    _tree(d, 1, 3, "revolute revolute prismatic planar spherical free")
    while len(d.speeds()) < 3:
        d.hang(d.bodies[-1])
    speeds = d.speeds()
    coordinates = [
        f"{j.name}.{c.name}"
        for j in d.joints
        for c in j.type.coordinates
        if not c.name.startswith("q")
    ]
    for k in range(int(rng.integers(1, 3))):
        if coordinates and d.chance(0.4):
            x = d.choice(coordinates)
            text = f"sin({x}) - 0.2*cos({d.between(0.5, 2)}*t)"
            if d.chance(0.5):
                text = f"{text} + {d.between(0.2, 0.6)}*{d.choice(coordinates)}"
            d.builder.row(ns.rows.PositionRow(name=f"row{k}", expression=text, unit="m"))
            continue
        count = min(len(speeds), int(rng.integers(1, 4)))
        chosen = [speeds[i] for i in rng.choice(len(speeds), count, replace=False)]
        terms = []
        for speed in chosen:
            factor = f"{d.between(0.3, 1.5)}"
            if coordinates and d.chance(0.4):
                factor = f"(1.5 + {d.choice(('sin', 'cos', 'tanh'))}({d.choice(coordinates)}))"
            if d.chance(0.2):
                factor = f"{factor}*cos(0.7*t)"
            terms.append(f"{factor}*{speed}")
        text = " - ".join(terms)
        if d.chance(0.3):
            text += f" + 0.2*sin({d.between(1, 3)}*t)"
        d.builder.row(ns.rows.VelocityRow(name=f"row{k}", expression=text, unit="m/s"))
    return d.decorate()


# --- wheels and blades -----------------------------------------------------------------------


def _wheel(d: Draft):
    radius = d.number(d.radius(), "m")
    axis = d.axis()
    return d.choice(
        (
            ns.surfaces.Disk(radius=radius, axis=axis),
            ns.surfaces.Ball(radius=radius),
            ns.surfaces.Torus(radius=radius, tube_radius=d.radius() / 5, axis=axis),
        )
    )


def _contact(d: Draft, name: str, body: str, plane: ns.contacts.Plane, rows: int) -> int:
    """A wheel or a blade with at most so many rows; how many it has."""
    if d.chance(0.3) or rows < 1:
        d.builder.contact(
            ns.contacts.KnifeEdge(
                name=name, body=body, direction=d.axis(), point=d.point(), plane=plane
            )
        )
        return 1
    flags = [d.chance(0.8) for _ in range(3)]
    while not 1 <= sum(flags) <= rows:
        flags = [d.chance(0.5) for _ in range(3)]
    longitudinal, lateral, normal = flags
    d.builder.contact(
        ns.contacts.Rolling(
            name=name,
            body=body,
            wheel=_wheel(d),
            center=d.point(0.2),
            plane=plane,
            longitudinal=longitudinal,
            lateral=lateral,
            normal=normal,
        )
    )
    return sum(flags)


def rolling(rng: Rng) -> ns.Model:
    """Wheels and blades of a body that is free, and of what hangs on it, on planes askew.

    Planes are those of the world, or of a table that is driven or moves by itself.
    """
    d = Draft(rng)
    table = None
    if d.chance(0.4):
        table = d.body()
        d.joint(d.type("revolute prismatic planar spherical free"), "world", table)
        if d.chance(0.6):
            d.drive(d.joints[-1])
    carrier = "world" if table is None or d.chance(0.7) else table
    base = d.body()
    d.joint(d.type("free free free planar spherical"), carrier, base)
    rolls = [base]
    for _ in range(int(rng.integers(0, 3))):
        parent = d.choice(rolls)
        d.hang(parent, "revolute revolute prismatic")
        rolls.append(d.bodies[-1])
    left = sum(len(j.type.speeds) for j in d.joints if j.child in rolls) - 1
    for k in range(int(rng.integers(1, 4))):
        on = table if table is not None and d.chance(0.7) else "world"
        plane = ns.contacts.Plane(body=on, frame=d.place())
        if d.chance(0.3):
            plane = ns.contacts.Plane(body=on)
        if left < 1:
            break
        left -= _contact(d, f"touch{k}", d.choice(rolls), plane, left)
    if d.chance(0.25):
        hinges = [j for j in d.joints if isinstance(j.type, ns.joints.Revolute) and not j.motion]
        if hinges and left > 1:
            d.builder.speed_input("steer", f"{d.choice(hinges).name}.rate")
    d.push()
    return d.builder.build()


# --- loops -----------------------------------------------------------------------------------

#: Rows of a joint that closes a loop.
CLOSING = {"spherical": 3, "planar": 3, "revolute": 5, "prismatic": 5, "fixed": 6}


def _close(d: Draft, type: object, parent: str, child: str) -> None:
    """A joint between two bodies that fits where they are at some coordinates."""
    model = ns.Model(
        name="open",
        gravity=(0.0, 0.0, 0.0),
        parameters=tuple(d.builder._elements.get("parameters", [])),
        bodies=tuple(d.builder._elements["bodies"]),
        joints=tuple(dataclasses.replace(j, motion=None) for j in d.joints),
    )
    oracle = Maximal(model)
    q = d.rng.uniform(-0.8, 0.8, len(oracle.names_q))
    for k, name in enumerate(oracle.names_q):
        if name.endswith(".qw"):
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    x = oracle.place(q)
    P, B = oracle.index[parent], oracle.index[child]
    frame = d.place()
    R_PF, p_PF = oracle._frame(frame)
    R_F, p_F = x.R[P] @ R_PF, oracle._point(x, P, p_PF)
    R = x.R[B].T @ R_F
    position = x.R[B].T @ (p_F - x.c[B]) + oracle.com[B]
    angles = (
        math.atan2(-R[1, 2], R[2, 2]),
        math.asin(max(-1.0, min(1.0, R[0, 2]))),
        math.atan2(-R[0, 1], R[0, 0]),
    )
    d.joint(
        type,
        parent,
        child,
        frame,
        ns.Placement(position=tuple(float(p) for p in position), angles=angles),
    )


def loop(rng: Rng) -> ns.Model:
    """A chain on oblique axes, closed by a joint that leaves at least one freedom."""
    d = Draft(rng)
    parent = "world"
    if d.chance(0.3):
        parent = d.body()
        d.joint(d.type("free planar prismatic"), "world", parent)
    root = parent
    count = 0
    while count < 4 or (count < 8 and d.chance(0.5)):
        child = d.body()
        d.joint(d.type("revolute revolute revolute prismatic spherical"), parent, child)
        count += len(d.joints[-1].type.speeds)
        parent = child
    words = [word for word, rows in CLOSING.items() if rows < count]
    _close(d, d.type(d.choice(words)), root, parent)
    return d.decorate()


def plane_loop(rng: Rng) -> ns.Model:
    """A linkage of hinges about parallel oblique axes in space: most of its rows are redundant."""
    d = Draft(rng)
    parent = "world"
    if d.chance(0.4):
        parent = d.body()
        d.joint(d.type("free planar prismatic spherical"), "world", parent)
    root = parent
    axis = d.axis()
    e = np.array(axis) / np.linalg.norm(axis)
    frame = ns.Placement(position=d.point(), angles=d.vector(1.5))
    links = int(rng.integers(3, 5))
    for k in range(links):
        child = d.body()
        shift = np.array(d.point(0.5))
        shift += e * d.between(-0.2, 0.2) * d.size
        place = frame if k == 0 else ns.Placement(position=tuple(float(s) for s in shift))
        type = ns.joints.Revolute(axis=axis)
        if k == links - 1 and links == 4 and d.chance(0.4):
            across = np.cross(e, rng.normal(size=3))
            type = ns.joints.Prismatic(axis=tuple(float(a) for a in across))
        d.joint(type, parent, child, place, ns.Placement())
        parent = child
    last = d.bodies[-1]
    # the closing frame on the root has the axes of the first hinge, so that hinges stay parallel
    model = ns.Model(
        name="open",
        gravity=(0.0, 0.0, 0.0),
        parameters=tuple(d.builder._elements.get("parameters", [])),
        bodies=tuple(d.builder._elements["bodies"]),
        joints=tuple(d.joints),
    )
    oracle = Maximal(model)
    q = d.rng.uniform(-0.8, 0.8, len(oracle.names_q))
    for k, name in enumerate(oracle.names_q):
        if name.endswith(".qw"):
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    x = oracle.place(q)
    tip = np.array(d.point())
    at = oracle._point(x, oracle.index[last], tip)
    R = oracle.index[root]
    place = x.R[R].T @ (at - x.c[R]) + oracle.com[R]
    d.joint(
        ns.joints.Revolute(axis=axis),
        root,
        last,
        ns.Placement(position=tuple(float(p) for p in place), angles=frame.angles),
        ns.Placement(position=tuple(float(p) for p in tip)),
    )
    return d.decorate()


# --- rows that repeat each other, and rows that hold by themselves -------------------------------


def _two_guides(d: Draft) -> None:
    """A table on two parallel oblique guides."""
    table, axis, frame = d.body(), d.axis(), d.place()
    d.joint(ns.joints.Prismatic(axis=axis), "world", table, frame, ns.Placement())
    shift = d.point()
    d.joint(ns.joints.Prismatic(axis=axis), "world", table, _parallel(frame, shift), _at(shift))


def _axes(frame: ns.Placement) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and origin of a frame in numbers."""
    return Maximal(ns.Model(name="none", gravity=(0.0, 0.0, 0.0)))._frame(frame)


def _parallel(frame: ns.Placement, shift: tuple) -> ns.Placement:
    """The same frame elsewhere: moved by a shift along its own axes."""
    R, p = _axes(frame)
    moved = p + R @ np.array(shift)
    return dataclasses.replace(frame, position=tuple(float(x) for x in moved))


def _at(position: tuple) -> ns.Placement:
    return ns.Placement(position=tuple(float(x) for x in position))


def _two_hinges(d: Draft) -> None:
    """A door on two hinges along one oblique axis."""
    door, frame = d.body(), d.place()
    axis = d.axis()
    d.joint(ns.joints.Revolute(axis=axis), "world", door, frame, ns.Placement())
    apart = d.between(0.2, 0.8) * d.size
    shift = tuple(a * apart for a in axis)
    d.joint(ns.joints.Revolute(axis=axis), "world", door, _parallel(frame, shift), _at(shift))


def _blade_on_rail(d: Draft) -> None:
    """A blade along the oblique rail that carries it."""
    sled, frame = d.body(), d.place()
    axis = d.axis()
    d.joint(ns.joints.Prismatic(axis=axis), "world", sled, frame, ns.Placement())
    R, p = _axes(frame)
    normal = R @ np.cross(axis, d.rng.normal(size=3))
    plane = ns.contacts.Plane(frame=_upright(p, normal))
    d.builder.contact(
        ns.contacts.KnifeEdge(
            name="blade",
            body=sled,
            direction=axis,
            point=d.point(),
            plane=plane,
        )
    )


def _upright(position: np.ndarray, normal: np.ndarray) -> ns.Placement:
    """A frame with its z axis along a direction: first about x, then about y."""
    n = normal / np.linalg.norm(normal)
    # R = Rx(a) Ry(b): its third column is (sin b, −sin a cos b, cos a cos b)
    b = math.asin(n[0])
    a = math.atan2(-n[1], n[2])
    return ns.Placement(position=tuple(float(x) for x in position), angles=(a, b, 0.0))


def _puck_with_foot(d: Draft) -> None:
    """A puck on a slope with a foot that touches the same slope."""
    puck, frame = d.body(), d.place()
    d.joint(ns.joints.Planar(), "world", puck, frame, ns.Placement())
    radius = d.radius()
    foot = d.point(0.3)[:2]
    kind = d.choice(("ball", "disk", "torus"))
    angle = d.between(0, 6)
    axis = (math.cos(angle), math.sin(angle), 0.0)
    wheel, height = {
        "ball": (ns.surfaces.Ball(radius=radius), radius),
        "disk": (ns.surfaces.Disk(radius=radius, axis=axis), radius),
        "torus": (
            ns.surfaces.Torus(radius=radius, tube_radius=radius / 7, axis=axis),
            radius + radius / 7,
        ),
    }[kind]
    held = d.choice(((False, False), (False, False), (False, True), (True, False)))
    d.builder.contact(
        ns.contacts.Rolling(
            name="foot",
            body=puck,
            wheel=wheel,
            center=(*foot, height),
            plane=ns.contacts.Plane(frame=frame),
            longitudinal=held[0],
            lateral=held[1],
        )
    )


def _cancelled(d: Draft) -> None:
    """A row whose coefficients cancel but for rounding."""
    body = d.body()
    name = d.joint(d.type("planar prismatic revolute free"), "world", body)
    speeds = [f"{name}.{s.name}" for s in d.joints[-1].type.speeds]
    one = d.choice(speeds)
    text = d.choice(
        (
            f"(0.1+0.2-0.3)*{one}",
            f"(0.1+0.2-0.3)*{one} + (0.7-0.4-0.3)*{d.choice(speeds)}",
            f"(sin(1.3)^2 + cos(1.3)^2 - 1)*{one}",
            f"(1.1*1.1-1.21)*{one}",
        )
    )
    d.builder.row(ns.rows.VelocityRow(name="idle", expression=text, unit="m/s"))


def _repeated_row(d: Draft) -> None:
    """The same row two or three times, with factors."""
    body = d.body()
    name = d.joint(ns.joints.Planar(), "world", body)
    a, b = d.between(0.3, 1.5), d.between(-1.5, -0.3)
    row = f"({a}*{name}.vx + {b}*{name}.vy + 0.2*cos({name}.angle)*{name}.rate)"
    for k in range(int(d.rng.integers(2, 4))):
        d.builder.row(
            ns.rows.VelocityRow(name=f"row{k}", expression=f"{d.between(0.4, 3)}*{row}", unit="m/s")
        )


def _repeated_blade(d: Draft) -> None:
    """Two blades on one line, the second farther along it: both say the same."""
    sled = d.body()
    if d.chance(0.5):
        d.joint(ns.joints.Planar(), "world", sled, d.place(), ns.Placement())
        plane = ns.contacts.Plane(frame=d.joints[-1].parent_frame)
        direction = (*d.axis()[:2], 0.0)
        if abs(direction[0]) + abs(direction[1]) < 0.1:
            direction = (0.8, 0.3, 0.0)
    else:
        d.joint(ns.joints.Free(), "world", sled)
        plane = ns.contacts.Plane(frame=d.place())
        direction = d.axis()
    point = d.point()
    for k in range(2):
        blade = ns.contacts.KnifeEdge(
            name=f"blade{k}", body=sled, direction=direction, point=point, plane=plane
        )
        d.builder.contact(blade)


def _wheels_on_one_axle(d: Draft) -> None:
    """Two wheels on one axle of a cart in the plane: their lateral rows are the same."""
    cart, frame = d.body(), d.place()
    radius, track = d.radius(), d.radius()
    d.joint(ns.joints.Planar(), "world", cart, frame, ns.Placement(position=(0.0, 0.0, -radius)))
    angle = d.between(0, 6)
    axle = np.array([math.cos(angle), math.sin(angle), 0.0])
    middle = np.array([*d.point()[:2], 0.0])
    for k, side in enumerate((-track, track)):
        wheel = d.body()
        at = _at(tuple(middle + side * axle))
        axis = tuple(float(a) for a in axle)
        d.joint(ns.joints.Revolute(axis=axis), cart, wheel, at, ns.Placement())
        d.builder.contact(
            ns.contacts.Rolling(
                name=f"wheel{k}",
                body=wheel,
                wheel=ns.surfaces.Disk(radius=radius, axis=axis),
                plane=ns.contacts.Plane(frame=frame),
                normal=d.chance(0.5),
            )
        )


#: Rows that hold by themselves up to rounding.
IDLE = (_two_guides, _two_hinges, _blade_on_rail, _puck_with_foot, _cancelled)
#: Rows that follow from each other.
REPEATED = (_repeated_row, _repeated_blade, _wheels_on_one_axle)


def _decorated(part: Callable[[Draft], None]) -> Callable[[Rng], ns.Model]:
    """A part with what hangs on it and pushes it."""

    def family(rng: Rng) -> ns.Model:
        d = Draft(rng)
        part(d)
        return d.decorate()

    return family


def idle_among_others(rng: Rng) -> ns.Model:
    """Rows that hold by themselves beside rows that do something."""
    d = Draft(rng)
    d.choice(IDLE)(d)
    d.hang(d.bodies[-1], "revolute revolute spherical")
    body = d.body()
    d.joint(ns.joints.Free(), d.choice(["world", d.bodies[0]]), body)
    _contact(d, "touch", body, ns.contacts.Plane(frame=d.place()), 3)
    return d.decorate()


def mixed(rng: Rng) -> ns.Model:
    """A loop on a carrier that rolls or skates, with a row that repeats or holds by itself."""
    d = Draft(rng)
    carrier = d.body()
    d.joint(d.type("free planar"), "world", carrier)
    plane = ns.contacts.Plane(frame=d.place())
    _contact(d, "touch", carrier, plane, 2)
    first = d.body()
    d.joint(ns.joints.Revolute(axis=d.axis()), carrier, first)
    second = d.body()
    d.joint(ns.joints.Spherical(), first, second)
    third = d.body()
    d.joint(d.type("revolute prismatic"), second, third)
    _close(d, ns.joints.Spherical(), carrier, third)
    if d.chance(0.5):
        row = f"{d.joints[0].name}.vx - 0.3*{d.joints[1].name}.rate"
        for k in range(2):
            text = f"{1 + k}*({row})"
            d.builder.row(ns.rows.VelocityRow(name=f"twice{k}", expression=text, unit="m/s"))
    d.push()
    return d.builder.build()


def massless_links(rng: Rng) -> ns.Model:
    """Links without mass between bodies that have some."""
    d = Draft(rng)
    parent = "world"
    for _ in range(int(rng.integers(1, 3))):
        link = f"link{len(d.joints)}"
        d.builder.body(link, mass=0.0, inertia=(0.0, 0.0, 0.0))
        d.joint(d.type("revolute prismatic"), parent, link)
        parent = d.body()
        d.joint(d.type("revolute revolute prismatic"), link, parent)
    d.push()
    return d.builder.build()


# --- few freedoms ----------------------------------------------------------------------------


def one_freedom(rng: Rng) -> ns.Model:
    """One coordinate on an oblique axis, alone or with a wheel that it turns."""
    d = Draft(rng)
    body = d.body()
    d.joint(d.type("revolute prismatic"), "world", body)
    if d.chance(0.5):
        wheel = d.body()
        rail, spin = (d.joints[-1].name, d.joint(d.type("revolute prismatic"), body, wheel))
        names = [f"{j.name}.{j.type.speeds[0].name}" for j in d.joints]
        assert rail != spin
        ratio = d.between(0.3, 2.0)
        text = f"{names[0]} - {ratio}*{names[1]} + 0.1*sin(t)"
        d.builder.row(ns.rows.VelocityRow(name="gear", expression=text, unit="rad/s"))
    d.push()
    return d.builder.build()


def no_freedom(rng: Rng) -> ns.Model:
    """Held or driven through and through: only reactions are asked for."""
    d = Draft(rng)
    body = d.body()
    kind = d.choice(("driven", "row", "arm", "crossed", "fixed"))
    match kind:
        case "driven":
            d.joint(d.type("revolute prismatic"), "world", body)
            name = d.joints[-1].type.coordinates[0].name
            d.joints[-1] = dataclasses.replace(d.joints[-1], motion={name: d.wave()})
            d.builder._elements["joints"][-1] = d.joints[-1]
        case "row":
            joint = d.joint(d.type("revolute prismatic"), "world", body)
            coordinate = f"{joint}.{d.joints[-1].type.coordinates[0].name}"
            text = f"{coordinate} - 0.3*sin(t)"
            d.builder.row(ns.rows.PositionRow(name="held", expression=text, unit="m"))
        case "arm":
            parent = "world"
            for k in range(3):
                child = body if k == 0 else d.body()
                d.joint(ns.joints.Revolute(axis=d.axis()), parent, child)
                parent = child
            _close(d, ns.joints.Spherical(), "world", parent)
        case "crossed":
            d.joint(ns.joints.Planar(), "world", body, d.place(), ns.Placement())
            plane = ns.contacts.Plane(frame=d.joints[-1].parent_frame)
            for k, direction in enumerate(((1.0, 0.2, 0.0), (0.1, 1.0, 0.0), (1.0, -1.0, 0.0))):
                d.builder.contact(
                    ns.contacts.KnifeEdge(
                        name=f"blade{k}",
                        body=body,
                        direction=direction,
                        point=d.point(),
                        plane=plane,
                    )
                )
        case "fixed":
            d.joint(d.type("revolute prismatic"), "world", body)
            name = f"{d.joints[-1].name}.{d.joints[-1].type.speeds[0].name}"
            d.builder.speed_input("given", name)
    if d.chance(0.3):
        d.builder.force(
            ns.forces.Wrench(name="push", body=body, force=d.vector(5.0), point=d.point())
        )
    return d.builder.build()


FAMILIES: dict[str, Callable[[Rng], ns.Model]] = {
    f.__name__.replace("_", " "): f
    for f in (
        tree,
        massless_links,
        rows,
        rolling,
        loop,
        plane_loop,
        mixed,
        idle_among_others,
        one_freedom,
        no_freedom,
    )
}
FAMILIES |= {f.__name__.strip("_").replace("_", " "): _decorated(f) for f in (*IDLE, *REPEATED)}
