"""The benchmark bicycle as a SymPy user has it: Kane's method, both wheels rolling without slip.

Angles yaw, roll, steer and pitch; the frames of fork and rear frame stand along the steer axis. The
front contact's height is a configuration constraint, its slip three velocity constraints. x points
forward, y to the right, z down. Nothing of noslip is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

from problems import BICYCLE, BICYCLE_LEAN_RATE, BICYCLE_SPEED, BICYCLE_STATE

#: Coordinates and speeds, in the order of the states.
COORDINATES = ("yaw", "roll", "steer", "pitch")
SPEEDS = ("roll_rate", "rear_rate", "steer_rate", "yaw_rate", "pitch_rate", "front_rate")
NUM_STATES = len(COORDINATES) + len(SPEEDS)
#: rear wheel, steer and front wheel among the states, and their signs in the published ones
PUBLISHED = ((5, 6, 9), (-1.0, -1.0, -1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class KaneBicycle:
    """Equations of the bicycle: mass · d(states)/dt = forcing."""

    q: tuple[sm.Expr, ...]
    u: tuple[sm.Expr, ...]
    parameters: tuple[sm.Symbol, ...]
    values: np.ndarray
    mass: sm.Matrix
    forcing: sm.Matrix


def along_steer_axis() -> dict[str, float]:
    """Lengths and inertias along and across the steer axis, from those of the benchmark."""
    p = BICYCLE
    c, s = cos(p["lam"]), sin(p["lam"])
    turn = np.array([[c, -s], [s, c]])  # (x, z) to axes along and across
    hub = turn @ [p["w"], p["rR"] - p["rF"]]
    offset = turn @ [-p["c"], -p["rF"]]
    frame = turn @ [p["xB"], p["zB"] + p["rR"]]
    fork = turn @ [p["xH"] - p["w"], p["zH"] + p["rF"]]
    found = {"rR": p["rR"], "rF": p["rF"], "g": p["g"]}
    found |= {"d1": hub[0] - offset[0], "d2": hub[1], "d3": offset[0]}
    found |= {"l1": frame[0], "l2": frame[1], "l3": fork[0], "l4": fork[1]}
    for letter in "BH":
        xx, xz, zz = (p[f"I{letter}{axes}"] for axes in ("xx", "xz", "zz"))
        tensor = turn @ np.array([[xx, xz], [xz, zz]]) @ turn.T
        found |= {f"I{letter}11": tensor[0, 0], f"I{letter}33": tensor[1, 1]}
        found |= {f"I{letter}31": tensor[0, 1], f"I{letter}22": p[f"I{letter}yy"]}
    for letter in "RF":
        found |= {f"I{letter}11": p[f"I{letter}xx"], f"I{letter}22": p[f"I{letter}yy"]}
    return found | {f"m{letter}": p[f"m{letter}"] for letter in "BHRF"}


def derive_bicycle(constraint_solver: str = "CRAMER") -> KaneBicycle:
    """The equations by `sympy.physics.mechanics.KanesMethod`, with a solver of its own."""
    values = along_steer_axis()
    s = {name: sm.Symbol(name) for name in values}
    q = yaw, roll, steer, pitch = me.dynamicsymbols(" ".join(COORDINATES))
    u = roll_rate, rear_rate, steer_rate, yaw_rate, pitch_rate, front_rate = me.dynamicsymbols(
        " ".join(SPEEDS)
    )
    ground, heading, leaning, frame, rear, fork, front = (
        me.ReferenceFrame(name) for name in ("N", "A", "B", "C", "D", "E", "F")
    )
    heading.orient_axis(ground, ground.z, yaw)
    leaning.orient_axis(heading, heading.x, roll)
    frame.orient_axis(leaning, leaning.y, pitch)
    fork.orient_axis(frame, frame.z, steer)
    heading.set_ang_vel(ground, yaw_rate * ground.z)
    leaning.set_ang_vel(heading, roll_rate * heading.x)
    frame.set_ang_vel(leaning, pitch_rate * leaning.y)
    rear.set_ang_vel(frame, rear_rate * frame.y)
    fork.set_ang_vel(frame, steer_rate * frame.z)
    front.set_ang_vel(fork, front_rate * fork.y)

    # points, from the rear contact to the front one
    contact = me.Point("rear_contact")
    rear_hub = contact.locatenew("rear_hub", -s["rR"] * leaning.z)
    frame_center = rear_hub.locatenew("frame_center", s["l1"] * frame.x + s["l2"] * frame.z)
    on_axis = rear_hub.locatenew("on_axis", s["d1"] * frame.x)
    front_hub = on_axis.locatenew("front_hub", s["d2"] * fork.z + s["d3"] * fork.x)
    fork_center = front_hub.locatenew("fork_center", s["l3"] * fork.x + s["l4"] * fork.z)
    down = fork.y.cross(heading.z).cross(fork.y).normalize()
    front_contact = front_hub.locatenew("front_contact", s["rF"] * down)
    contact.set_vel(ground, 0)
    rear_hub.v2pt_theory(contact, ground, rear)
    frame_center.v2pt_theory(rear_hub, ground, frame)
    on_axis.v2pt_theory(rear_hub, ground, frame)
    front_hub.v2pt_theory(on_axis, ground, fork)
    fork_center.v2pt_theory(front_hub, ground, fork)
    front_contact.v2pt_theory(front_hub, ground, front)

    def body(name: str, point: Any, axes: Any, inertia_axes: Any, letter: str) -> me.RigidBody:
        one, two = s[f"I{letter}11"], s[f"I{letter}22"]
        three, across = s.get(f"I{letter}33", one), s.get(f"I{letter}31", 0)
        tensor = me.inertia(inertia_axes, one, two, three, 0, 0, across)
        return me.RigidBody(name, point, axes, s[f"m{letter}"], (tensor, point))

    bodies = [
        body("rear_frame", frame_center, frame, frame, "B"),
        body("rear_wheel", rear_hub, rear, frame, "R"),
        body("fork", fork_center, fork, fork, "H"),
        body("front_wheel", front_hub, front, fork, "F"),
    ]
    slip = front_contact.vel(ground)
    rates = (yaw_rate, roll_rate, steer_rate, pitch_rate)
    kane = me.KanesMethod(
        ground,
        q_ind=[yaw, roll, steer],
        q_dependent=[pitch],
        configuration_constraints=[front_contact.pos_from(contact).dot(heading.z)],
        u_ind=[roll_rate, rear_rate, steer_rate],
        u_dependent=[yaw_rate, pitch_rate, front_rate],
        velocity_constraints=[slip.dot(axis) for axis in (heading.x, heading.z, heading.y)],
        kd_eqs=[angle.diff() - rate for angle, rate in zip(q, rates, strict=True)],
        constraint_solver=constraint_solver,
    )
    kane.kanes_equations(bodies, [(b.masscenter, b.mass * s["g"] * heading.z) for b in bodies])
    return KaneBicycle(
        q=tuple(q),
        u=tuple(u),
        parameters=tuple(s.values()),
        values=np.array(list(values.values())),
        mass=kane.mass_matrix_full,
        forcing=kane.forcing_full,
    )


def published_state() -> np.ndarray:
    """The published state; its bicycle heads to −x and leans from the ground."""
    p = BICYCLE_STATE
    angles = (p["theta"], pi / 2 - p["psi"], -p["psif"], BICYCLE["lam"] + pi - p["phi"])
    rates = (p["psid"], p["betard"], p["psifd"], p["thetad"], p["phid"], p["betafd"])
    return np.array([*angles, *(-rate for rate in rates)])


def accelerations(state_rates: np.ndarray) -> list[float]:
    """Those of rear wheel, steer and front wheel with the published signs, rad/s²."""
    places, signs = PUBLISHED
    return [float(sign * state_rates[k]) for k, sign in zip(places, signs, strict=True)]


def start_state() -> np.ndarray:
    """Upright and straight, with a lean rate; then the rear contact, x and y."""
    state = np.zeros(NUM_STATES + 2)
    state[3] = BICYCLE["lam"]
    state[4] = BICYCLE_LEAN_RATE
    state[5], state[9] = (-BICYCLE_SPEED / BICYCLE[radius] for radius in ("rR", "rF"))
    return state


def contact_speed(state: Any) -> Any:
    """Speed at which the rear contact runs along its heading, from the states."""
    return -BICYCLE["rR"] * (state[8] + state[5])
