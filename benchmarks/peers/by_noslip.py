"""noslip, on the same work and asked the same way as every peer."""

from __future__ import annotations

import tempfile
from functools import cache
from math import atan2, hypot, pi
from pathlib import Path

import casadi as ca
import numpy as np

import noslip as ns
from noslip.model.parts.arms import LinkRow, serial_arm
from problems import (
    BICYCLE_LEAN_RATE,
    BICYCLE_SPEED,
    BICYCLE_STATE,
    DISK,
    DISKS,
    DURATION,
    FIELD,
    FIELD_SAMPLES,
    FIELD_START,
    GRAVITY,
    field_grid,
    hinge_states,
    links,
    times,
)
from tree_problems import Tree, random_tree
from worker import Job, serve

ROWS = 1000
CALLS = 200
FOLDER = tempfile.TemporaryDirectory()

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def _system(name: str, fold: bool = False) -> ns.System:
    return ns.compile(ns.derive(ns.load(name)), fold=fold)


def rows_job(system: ns.System, rows: Rows, **notes: object) -> Job:
    """A call of the loop over rows that stands beside every compiled function."""
    rates, count = system.rates, len(rows[0])
    tables = [np.ascontiguousarray(table, dtype=float) for table in rows]
    out = np.zeros((count, rates.output_size))

    def call() -> None:
        addresses = [table.ctypes.data for table in tables]
        rates._call_rows(count, *addresses, 0, out.ctypes.data)

    call()
    operations = system.program("rates", system.rates_expression).num_operations
    notes = {"operations": operations, "states": system.num_states, **notes}
    return Job(call=call, pieces=count, answer=out[0].tolist(), notes=notes)


# ---------------------------------------------------------------- bicycle


def _published() -> dict[str, float]:
    """The published state: the rest of it is completed."""
    p = BICYCLE_STATE
    return {
        **{"frame.yaw": p["theta"], "frame.lean": pi / 2 - p["psi"], "frame.pitch": p["phi"] - pi},
        **{"steer.angle": -p["psif"], "steer.rate": -p["psifd"]},
        **{"frame.yaw_rate": p["thetad"], "frame.lean_rate": -p["psid"]},
        "frame.pitch_rate": p["phid"],
    }


def _accelerations(system: ns.System) -> list[float]:
    """Those of rear wheel, steer and front wheel with the published signs, rad/s²."""
    found = ns.evaluate(system, _published()).accelerations
    wheels = ("rear_wheel.rate", "front_wheel.rate")
    rear, front = (found[name] for name in wheels)
    return [rear, -found["steer.rate"], front]


def bicycle_build() -> Job:
    """From the name of the model to its compiled right-hand side."""

    def build() -> ns.System:
        return ns.compile(ns.derive(ns.load("whipple-bicycle")))

    return Job(call=build, answer=_accelerations(build()))


def _bicycle_row(system: ns.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The published state as x, and the inputs and parameters with it."""
    begin = ns.complete_start(system, _published())
    extra = np.zeros(system.num_states - len(begin.q) - len(begin.eta))
    state = np.concatenate([begin.q, begin.eta, extra])
    return state, np.zeros(len(system.inputs)), system.parameters()


def bicycle_rhs(fold: bool = False) -> Job:
    """One evaluation in the native loop."""
    system = _system("whipple-bicycle", fold)
    x, u, p = _bicycle_row(system)
    rows = (np.zeros(ROWS), np.tile(x, (ROWS, 1)), np.tile(u, (ROWS, 1)), p)
    job = rows_job(system, rows)
    # the same row as interpreted one by one; evaluate() gives the published accelerations
    return Job(
        call=job.call,
        pieces=ROWS,
        answer=_accelerations(system),
        notes=job.notes | {"row": job.answer},
    )


def bicycle_call() -> Job:
    """One evaluation called from Python."""
    system = _system("whipple-bicycle")
    row = (0.0, *_bicycle_row(system))

    def call() -> None:
        for _ in range(CALLS):
            system.rates(*row)

    return Job(call=call, pieces=CALLS, answer=_accelerations(system))


def bicycle_function() -> Job:
    """The traced right-hand side in a file of CasADi's, with a row to evaluate it on."""
    system = _system("whipple-bicycle")
    symbols, (x, u, p) = system.kinematics.symbols, _bicycle_row(system)
    inputs = [symbols.t, system.state, system.equations.inputs, symbols.params]
    file = Path(FOLDER.name) / "bicycle.casadi"
    ca.Function("rates", inputs, [ca.densify(system.rates_expression)]).save(str(file))
    row = {"t": 0.0, "x": x.tolist(), "u": u.tolist(), "p": p.tolist()}
    found = system.rates(0.0, x, u, p).tolist()
    return Job(call=lambda: None, answer={"file": str(file), "found": found, **row})


def bicycle_path(tolerance: float, samples: int) -> Job:
    """Ten seconds with `simulate`."""
    start = {"speed": BICYCLE_SPEED, "frame.wx": BICYCLE_LEAN_RATE}
    return path_job(_system("whipple-bicycle", fold=True), start, "rear_wheel", tolerance, samples)


# ------------------------------------------------------------------ a ball on hills


def field_path(tolerance: float, is_grid: bool = True) -> Job:
    """A ball on hills from a grid, or on the hills themselves."""
    system = _ball_on_hills(is_grid)
    given = dict.fromkeys(("ball.wx", "ball.wy", "ball.wz"), 0.0)
    given |= {"touch.x": FIELD_START[0], "touch.y": FIELD_START[1]}
    begin, at = ns.complete_start(system, given), np.linspace(0, FIELD["duration"], FIELD_SAMPLES)
    options = {"rtol": tolerance, "atol": tolerance, "samples": at, "start": begin}

    def call() -> ns.Trajectory:
        return ns.simulate(system, duration=FIELD["duration"], **options)

    run = call()
    centers = np.stack([run["ball.x"], run["ball.y"]], axis=1)
    # rows of rolling are the velocity of the material point
    slip = float(np.abs(run.row_residuals).max())
    return Job(call=call, answer=centers.tolist(), notes={"slip": slip, "steps": run.steps})


@cache
def _ball_on_hills(is_grid: bool) -> ns.System:
    line, heights = field_grid()
    hills = ns.grounds.HeightGround(z="0.25*sin(x)*cos(0.7*y)")
    m, r = FIELD["mass"], FIELD["radius"]
    b = ns.ModelBuilder("ball on hills", gravity=(0.0, 0.0, -GRAVITY))
    b.body("ball", mass=m, inertia=(0.4 * m * r**2,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground = ns.grounds.GridGround.from_points(line, line, heights) if is_grid else hills
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="ball", wheel=ns.surfaces.Ball(radius=r), ground=ground
        )
    )
    return ns.compile(ns.derive(b.build()), fold=True)


# ------------------------------------------------------------------ disks


def disk_path(start: str, tolerance: float, samples: int, angles: bool = False) -> Job:
    """Ten seconds of a disk with `simulate`: the library's, or one in the peers' `angles`."""
    begin = DISKS[start]
    yaw_rate, tilt_rate, spin_rate = begin.rates
    if angles:
        given = {"ground.angle": 0.0, "tilt.angle": begin.tilt, "ground.rate": yaw_rate}
        given |= {"tilt.rate": tilt_rate, "spin.rate": spin_rate, "ground.x": 0.0, "ground.y": 0.0}
        return path_job(_disk_in_angles(), given, "rim", tolerance, samples)
    given = {"disk.yaw_rate": yaw_rate, "disk.tilt_rate": tilt_rate, "disk.spin_rate": spin_rate}
    given |= {"disk.yaw": 0.0, "disk.tilt": begin.tilt, "disk.spin": 0.0, "disk.x": 0.0}
    given["disk.y"] = DISK["r"] * np.cos(begin.tilt)
    return path_job(_system("rolling-disk", fold=True), given, "rim", tolerance, samples)


@cache
def _disk_in_angles() -> ns.System:
    """The disk on hinges: a frame that yaws on the ground, one that tilts about it, the spin.

    Both frames are without mass, and the tree keeps the disk on the ground by itself. Like the
    peers' it has yaw, tilt and spin for coordinates, and their singularity when it lies flat.
    """
    b = ns.ModelBuilder("disk in angles", gravity=(0.0, 0.0, "-g"))
    for name, unit in (("m", "kg"), ("r", "m"), ("g", "m/s^2")):
        b.parameter(name, DISK[name], unit)
    for name in ("I_axial", "I_transverse"):
        b.parameter(name, DISK[name], "kg*m^2")
    for frame in ("heading", "leaning"):
        b.body(frame, mass=0.0, inertia=(0.0, 0.0, 0.0))
    b.body("disk", mass="m", inertia=("I_transverse", "I_transverse", "I_axial"))
    up = ns.Placement(position=(0.0, "r", 0.0))
    b.joint("ground", ns.joints.Planar(), parent="world", child="heading")
    b.joint("tilt", ns.joints.Revolute(axis=(1.0, 0.0, 0.0)), parent="heading", child="leaning")
    axle = (0.0, 0.0, 1.0)
    b.joint("spin", ns.joints.Revolute(axis=axle), parent="leaning", child="disk", parent_frame=up)
    b.contact(
        ns.contacts.Rolling(name="rim", body="disk", wheel=ns.surfaces.Disk(radius="r", axis=axle))
    )
    return ns.compile(ns.derive(b.build()), fold=True)


def path_job(
    system: ns.System, start: dict[str, float], contact: str, tolerance: float, samples: int
) -> Job:
    """A whole call of `simulate` from a completed start.

    The numbers of the mechanism are constants of the code, as they are in the peers'.
    """
    begin, at = ns.complete_start(system, start), times(samples)

    def call() -> ns.Trajectory:
        return ns.simulate(
            system, start=begin, duration=DURATION, samples=at, rtol=tolerance, atol=tolerance
        )

    run = call()
    path = np.column_stack([run[f"{contact}.contact_x"], run[f"{contact}.contact_y"]])
    notes = {"slip": run.slip, "evaluations": run.nfev}
    return Job(call=call, answer=(path - path[0]).tolist(), notes=notes)


# ------------------------------------------------------- arms and chains


def hinges(name: str, count: int, as_arguments: bool = False) -> Job:
    """Forward dynamics of an arm or a chain in the native loop.

    The robot's numbers are constants of the code, or `as_arguments` of it.
    """
    system, size = _robot(name, as_arguments), len(links(name))
    q, v, torques = hinge_states(size, count)
    work = np.zeros((count, system.num_states - 2 * size))
    rows = (np.zeros(count), np.hstack([q, v, work]), torques, system.parameters())
    job = rows_job(system, rows)
    return Job(call=job.call, pieces=count, answer=job.answer[size : 2 * size], notes=job.notes)


@cache
def _robot(name: str, as_arguments: bool) -> ns.System:
    builder = ns.ModelBuilder(name, gravity=(0.0, 0.0, -GRAVITY))

    def number(what: str, value: float, unit: str) -> float | str:
        return builder.parameter(what, value, unit) if as_arguments and value else value

    rows = []
    for k, link in enumerate(links(name)):
        centers = zip("xyz", link.center, strict=True)
        inertias = zip(("xx", "yy", "zz", "xy", "xz", "yz"), link.inertia, strict=True)
        rows.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                alpha=link.alpha,
                a=number(f"a{k}", link.a, "m"),
                d=number(f"d{k}", link.d, "m"),
                mass=number(f"m{k}", link.mass, "kg"),
                center_of_mass=tuple(number(f"c{axis}{k}", c, "m") for axis, c in centers),
                inertia=tuple(number(f"I{axes}{k}", i, "kg*m^2") for axes, i in inertias),
            )
        )
    serial_arm(builder, rows, convention="modified")
    for k in range(len(rows)):
        builder.input(f"tau{k}", "N*m")
        builder.force(ns.forces.Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        builder.independent_speed(f"joint{k}.rate")
    return ns.compile(ns.derive(builder.build()))


# ----------------------------------------------------------- random trees


def trees(numbers: list[int]) -> Job:
    """Mass matrices by the equations' blocks, accelerations by native code."""
    return Job(call=lambda: None, answer=[_tree(random_tree(number)) for number in numbers])


def _tree(tree: Tree) -> dict[str, list]:
    types = {
        "revolute": lambda axis: ns.joints.Revolute(axis=axis),
        "prismatic": lambda axis: ns.joints.Prismatic(axis=axis),
        "free": lambda _: ns.joints.Free(),
    }
    builder = ns.ModelBuilder("tree", gravity=tuple(tree.gravity.tolist()))
    for k, link in enumerate(tree.links):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = link.tensor.tolist()
        builder.body(
            f"body{k}",
            mass=link.mass,
            inertia=(xx, yy, zz, xy, xz, yz),
            center_of_mass=tuple(link.center.tolist()),
        )
        R = link.rotation  # = Rx Ry Rz
        angles = (
            atan2(-R[1, 2], R[2, 2]),
            atan2(R[0, 2], hypot(R[1, 2], R[2, 2])),
            atan2(-R[0, 1], R[0, 0]),
        )
        builder.joint(
            f"joint{k}",
            types[link.kind](tuple(link.axis.tolist())),
            parent=f"body{link.parent}" if link.parent >= 0 else "world",
            child=f"body{k}",
            parent_frame=ns.Placement(position=tuple(link.position.tolist()), angles=angles),
        )
    model = builder.build()
    for joint in model.joints:
        for speed in joint.type.speeds:
            name = f"{joint.name}_{speed.name}"
            builder.input(name, "N*m" if speed.unit == "rad/s" else "N")
            force = ns.forces.Motor(
                name=f"motor_{name}", speed=f"{joint.name}.{speed.name}", input=name
            )
            builder.force(force)
    system = ns.compile(ns.derive(builder.build()))
    kin = system.kinematics
    assert [s.name for s in kin.independent_speeds] == [s.name for s in kin.speeds]
    q, v, forces = (np.concatenate(part) for part in (tree.q, tree.v, tree.forces))
    x = np.concatenate([q, v, [0.0] * system.does_work])
    mass = system.blocks(0.0, x, forces, system.parameters())[: len(v) ** 2]
    rates = system.rates(0.0, x, forces, system.parameters())[len(q) : len(q) + len(v)]
    return {"mass": mass.reshape(len(v), -1).tolist(), "rates": rates.tolist()}


if __name__ == "__main__":
    works = (bicycle_build, bicycle_rhs, bicycle_call, bicycle_function, bicycle_path)
    serve(
        {w.__name__: w for w in (*works, disk_path, field_path, hinges, trees)},
        ("noslip", "casadi", "llvmlite"),
    )
