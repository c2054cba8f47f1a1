"""What a page draws: meshes on bodies, and poses of the bodies as columns of a run."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from noslip import NoslipError, System
from noslip.kinematics import twists
from noslip.model import WORLD
from noslip.scene import Scene, scene

#: A vertex follows a parameter in proportion, up to this part of the size of the scene.
STRAIGHT = 1e-5


def traced_picture(system: System) -> Mapping[str, ca.SX]:
    """Columns: R_WB by rows and origin of each body, contact points, and what proves a run.

    ``residual`` is the largest of all rows; ``rate`` the rate of each wheel that is only drawn.
    """
    kin = system.kinematics
    nodes = {node.body.name: node for node in kin.tree.nodes}
    found: dict[str, ca.SX] = {}
    for body in system.model.bodies:
        node = nodes[body.name]
        found[f"pose.{body.name}"] = ca.vertcat(ca.reshape(node.R_WB.T, 9, 1), node.p_WB)
    for trace in kin.contacts:
        found[f"contact.{trace.contact.name}"] = ca.densify(kin.at_speeds(trace.point))
    rows = kin.row_values
    largest = ca.SX(0)
    for k in range(rows.shape[0]):
        largest = ca.fmax(largest, ca.fabs(rows[k]))
    found["residual"] = largest
    known = dict(zip((n.body.name for n in kin.tree.nodes), twists(kin.tree, kin.v), strict=True))
    for roller in scene(system.model).rollers:
        node = nodes[roller.body]
        w, v = known[roller.body]
        axis = ca.mtimes(node.R_WB, ca.DM(roller.axis))
        normal = ca.DM(roller.normal)
        heading = ca.cross(axis, normal)
        omega = ca.mtimes(node.R_WD, w)
        # velocity of the wheel's center: that of the body frame's origin, and of the arm
        arm = ca.mtimes(node.R_WB, ca.DM(roller.center))
        velocity = ca.mtimes(node.R_WD, v) + ca.cross(omega, arm)
        touching = velocity - ca.cross(omega, roller.radius * normal)
        found[f"rate.{roller.name}"] = (
            ca.dot(heading, touching) / ca.norm_2(heading) / roller.radius
        )
    return found


def scene_data(system: System, values: Mapping[str, float], knobs: Sequence[Any]) -> dict[str, Any]:
    """The scene as a page reads it: parts with their vertices, and how they follow parameters."""
    now = scene(system.model, values)
    slopes, curved = _slopes(system, values, knobs, now)
    parts = []
    for k, part in enumerate(now.parts):
        parts.append(
            {
                "body": "" if part.body == WORLD else part.body,
                "roller": part.roller,
                "color": list(part.color),
                "isGround": part.is_ground,
                "vertices": _text(part.vertices, np.float32),
                "faces": _text(part.faces, np.uint32 if len(part.vertices) > 65535 else np.uint16),
                "isWide": len(part.vertices) > 65535,
                "shades": None if part.shades is None else _text(part.shades, np.uint8),
                "slopes": {
                    name: _text(found[k], np.float32)
                    for name, found in slopes.items()
                    if np.any(found[k])
                },
            }
        )
    return {
        "bodies": list(now.bodies),
        "parts": parts,
        "rollers": [
            {"name": r.name, "body": r.body, "center": r.center.tolist(), "axis": r.axis.tolist()}
            for r in now.rollers
        ],
        "grounds": [
            {"R": np.asarray(g.rotation).ravel().tolist(), "p": np.asarray(g.position).tolist()}
            for g in now.grounds
            if g.body == WORLD
        ],
        "length": now.length,
        "up": np.asarray(now.up).tolist(),
        "isCurved": now.is_curved,
        "contacts": [trace.contact.name for trace in system.kinematics.contacts],
        "fixedShapes": curved,
    }


def _slopes(
    system: System, values: Mapping[str, float], knobs: Sequence[Any], now: Scene
) -> tuple[dict[str, list[np.ndarray]], list[str]]:
    """Rates of vertices by the parameters that they follow; parameters that they follow otherwise.

    Boxes, cylinders, spheres and wheels follow their sizes and places in proportion.
    """
    slopes: dict[str, list[np.ndarray]] = {}
    curved = []
    for each in knobs:
        if each.kind != "parameters":
            continue
        knob, name = each.knob, each.knob.name
        ends = [_vertices(system, {**values, name: end}, now) for end in (knob.lower, knob.upper)]
        if ends[0] is None or ends[1] is None:
            curved.append(name)
            continue
        rate = [(b - a) / (knob.upper - knob.lower) for a, b in zip(*ends, strict=True)]
        if not any(np.any(np.abs(x) * (knob.upper - knob.lower) > 1e-9) for x in rate):
            continue
        step = knob.lower - values[name]
        off = max(
            (
                float(np.max(np.abs(a - p.vertices - step * x), initial=0.0))
                for a, p, x in zip(ends[0], now.parts, rate, strict=True)
            ),
            default=0.0,
        )
        if off > STRAIGHT * max(now.length, 1e-9):
            curved.append(name)
        else:
            slopes[name] = rate
    return slopes, curved


def _vertices(system: System, values: Mapping[str, float], like: Scene) -> list[np.ndarray] | None:
    """Vertices of all parts with other parameters; None where there are others."""
    try:
        found = scene(system.model, values).parts
    except NoslipError:
        return None
    if [len(p.vertices) for p in found] != [len(p.vertices) for p in like.parts]:
        return None
    return [np.asarray(p.vertices, float) for p in found]


def _text(array: np.ndarray, kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")
