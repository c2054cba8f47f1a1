"""MuJoCo: forward dynamics of arms and chains, and a disk that rolls by contact and friction."""

from __future__ import annotations

import mujoco
import numpy as np

from problems import (
    DISK,
    DISKS,
    DURATION,
    FIELD,
    FIELD_SAMPLES,
    FIELD_START,
    GRAVITY,
    disk_contact,
    disk_slip,
    field_grid,
    field_height,
    field_normals,
    field_slip,
    hinge_states,
    links,
    urdf,
)
from tree_problems import Tree, quaternion, random_tree, rotation
from worker import Job, serve

#: The settings it comes with, and the hardest contact that it allows at a step: its time constant
#: is twice the step.
STOCK = ("", "0.02 1", "0.9 0.95 0.001 0.5 2")
HARD = 'cone="elliptic" impratio="100" tolerance="1e-14" integrator="implicit"'
#: Order of an inertia tensor's entries.
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SAMPLES = 100  # pieces into which a run is cut to look at it; not timed


def hinges(name: str, count: int) -> Job:
    """mj_forward, from Python."""
    spec = mujoco.MjSpec.from_string(urdf(links(name)))
    spec.option.gravity = [0.0, 0.0, -GRAVITY]
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_CONSTRAINT
    model = spec.compile()
    data = mujoco.MjData(model)
    q, v, torques = hinge_states(model.nv, count)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[0], v[0], torques[0]

    def call() -> None:
        for _ in range(count):
            mujoco.mj_forward(model, data)

    call()
    return Job(call=call, pieces=count, answer=data.qacc.tolist())


def disk_path(start: str, step: float, stock: bool = False) -> Job:
    """Ten seconds by contact; a piece is a step."""
    options, solref, solimp = (
        STOCK if stock else (HARD, f"{2 * step:g} 1", "0.9999 0.9999 0.001 0.5 2")
    )
    m, r = DISK["m"], DISK["r"]
    inertia = f"{DISK['I_transverse']} {DISK['I_transverse']} {DISK['I_axial']}"
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="{step}" gravity="0 0 {-GRAVITY}" {options}/>
<default><geom condim="3" friction="2 0 0" solref="{solref}" solimp="{solimp}"/></default>
<worldbody><geom type="plane" size="0 0 1"/><body><freejoint/>
<inertial pos="0 0 0" mass="{m}" diaginertia="{inertia}"/>
<geom type="cylinder" size="{r} 1e-6"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    begin, steps = DISKS[start], round(DURATION / step)

    def place() -> None:
        omega, velocity = begin.twist
        mujoco.mj_resetData(model, data)
        data.qpos[:3] = begin.center
        mujoco.mju_mat2Quat(data.qpos[3:], begin.axes.ravel())
        data.qvel[:3], data.qvel[3:] = velocity, begin.axes.T @ omega

    def call() -> None:
        mujoco.mj_step(model, data, steps)

    place()
    rows = []
    for k in range(SAMPLES + 1):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, data.qpos[3:])
        R = rotation.reshape(3, 3)
        rows.append(np.concatenate([data.qpos[:3], R[:, 2], R @ data.qvel[3:], data.qvel[:3]]))
        if k < SAMPLES:
            mujoco.mj_step(model, data, steps // SAMPLES)
    centers, axles, omegas, velocities = np.split(np.array(rows), 4, axis=1)
    path = disk_contact(centers, axles)[:, :2]
    notes = {"slip": disk_slip(centers, axles, omegas, velocities), "steps": steps}
    return Job(call=call, before=place, pieces=1, answer=path.tolist(), notes=notes)


def field_path(step: float, stock: bool = False) -> Job:
    """A ball on a height field by contact; a piece is a run."""
    options, solref, solimp = (
        STOCK if stock else (HARD, f"{2 * step:g} 1", "0.9999 0.9999 0.001 0.5 2")
    )
    r, m, half = FIELD["radius"], FIELD["mass"], FIELD["half"]
    _, heights = field_grid()
    low, high = float(heights.min()), float(heights.max())
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="{step}" gravity="0 0 {-GRAVITY}" {options}/>
<default><geom condim="3" friction="2 0 0" solref="{solref}" solimp="{solimp}"/></default>
<asset><hfield name="hills" nrow="{heights.shape[0]}" ncol="{heights.shape[1]}"
size="{half} {half} {high - low} 1"/></asset>
<worldbody><geom type="hfield" hfield="hills" pos="0 0 {low}"/><body><freejoint/>
<inertial pos="0 0 0" mass="{m}" diaginertia="{0.4 * m * r**2} {0.4 * m * r**2} {0.4 * m * r**2}"/>
<geom type="sphere" size="{r}"/></body></worldbody></mujoco>""")
    model.hfield_data[:] = ((heights - low) / (high - low)).ravel()
    data = mujoco.MjData(model)
    steps = round(FIELD["duration"] / step)
    place = np.array([FIELD_START])
    center = np.array([*FIELD_START, float(field_height(*FIELD_START))])
    center = center + r * field_normals(place)[0]

    def begin() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:3], data.qpos[3:] = center, (1.0, 0.0, 0.0, 0.0)

    def call() -> None:
        mujoco.mj_step(model, data, steps)

    begin()
    rows = []
    for k in range(FIELD_SAMPLES):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, data.qpos[3:])
        omega = rotation.reshape(3, 3) @ data.qvel[3:]
        rows.append(np.concatenate([data.qpos[:3], omega, data.qvel[:3]]))
        if k < FIELD_SAMPLES - 1:
            mujoco.mj_step(model, data, steps // (FIELD_SAMPLES - 1))
    centers, omegas, velocities = np.split(np.array(rows), 3, axis=1)
    notes = {"slip": field_slip(centers, omegas, velocities), "steps": steps}
    return Job(call=call, before=begin, answer=centers[:, :2].tolist(), notes=notes)


def trees(numbers: list[int]) -> Job:
    """Mass matrices and accelerations of random trees."""
    return Job(call=lambda: None, answer=[_tree(random_tree(number)) for number in numbers])


def _tree(tree: Tree) -> dict[str, list]:
    spec = mujoco.MjSpec()
    spec.option.gravity = tree.gravity
    bodies = []
    for k, link in enumerate(tree.links):
        parent = bodies[link.parent] if link.parent >= 0 else spec.worldbody
        body = parent.add_body(
            name=f"body{k}",
            pos=link.position,
            quat=quaternion(link.rotation),
            mass=link.mass,
            ipos=link.center,
            fullinertia=[link.tensor[i, j] for i, j in ENTRIES],
            explicitinertial=True,
        )
        kind = {"revolute": "HINGE", "prismatic": "SLIDE", "free": "FREE"}[link.kind]
        joint = body.add_joint(name=f"joint{k}", type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"))
        if link.kind != "free":
            joint.axis = link.axis
        bodies.append(body)
    model = spec.compile()
    data = mujoco.MjData(model)
    # its speeds of a free body: velocity along the world's axes first, ω along its own
    size = sum(link.freedoms for link in tree.links)
    to_own, turning, first = np.zeros((model.nv, size)), np.zeros(size), 0
    for k, (link, q, v) in enumerate(zip(tree.links, tree.q, tree.v, strict=True)):
        joint = model.joint(f"joint{k}")
        at, place = int(joint.dofadr[0]), int(joint.qposadr[0])
        data.qpos[place : place + len(q)] = q
        if link.kind == "free":
            R = rotation(q[3:])
            to_own[at : at + 3, first + 3 : first + 6] = R
            to_own[at + 3 : at + 6, first : first + 3] = np.eye(3)
            turning[first + 3 : first + 6] = np.cross(v[:3], v[3:])
        else:
            to_own[at, first] = 1.0
        first += link.freedoms
    data.qvel[:] = to_own @ np.concatenate(tree.v)
    data.qfrc_applied[:] = to_own @ np.concatenate(tree.forces)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    rates = to_own.T @ data.qacc - turning
    return {"mass": (to_own.T @ mass @ to_own).tolist(), "rates": rates.tolist()}


if __name__ == "__main__":
    works = (hinges, disk_path, field_path, trees)
    serve({work.__name__: work for work in works}, ("mujoco", "numpy"))
