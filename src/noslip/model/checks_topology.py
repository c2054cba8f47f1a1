"""Checks of how joints connect bodies: nothing hangs in the air, nothing is tied to itself."""

from __future__ import annotations

from collections.abc import Iterator

from noslip.model.bodies import WORLD
from noslip.model.checks_expressions import value_at
from noslip.model.findings import Finding
from noslip.model.joints import Joint
from noslip.model.known_names import Vocabulary, angle_names
from noslip.model.model import Model


def check_topology(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Every body is carried by a chain of joints from the world."""
    if not model.bodies:
        yield Finding(
            ("bodies",), "the model has no bodies", "add one, for example [bodies.platform]"
        )
    for joint in model.joints:
        path = ("joints", joint.name)
        if joint.parent == joint.child != WORLD:
            yield Finding(
                path,
                f"joint '{joint.name}' ties body '{joint.child}' to itself",
                "name two different bodies as parent and child",
            )
        elif joint.child == WORLD:
            fix = f'swap them: parent = "{WORLD}", child = "{joint.parent}"'
            yield Finding(
                (*path, "child"),
                f"joint '{joint.name}' has '{WORLD}' as its child, which nothing can carry",
                fix if joint.parent != WORLD else "name the body that it carries as its child",
            )
    yield from _hanging(model, known)


def check_motion(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Prescribed motions name coordinates of joints that have them."""
    loops = {joint.name for joint in known.topology.loops}
    for joint in model.joints:
        if joint.motion is None:
            continue
        if joint.name in loops:
            yield Finding(
                ("joints", joint.name, "motion"),
                f"joint '{joint.name}' prescribes a motion, but it closes a loop and has no "
                "coordinates",
                "prescribe the motion of a joint that carries a body; of the joints that reach a "
                f"body, the first listed carries it, so '{joint.name}' may be listed earlier",
            )
        else:
            yield from _check_motion(joint)


def check_single_joints(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Armature and limits belong to joints with one speed, which carry a body."""
    loops = {joint.name for joint in known.topology.loops}
    for joint in model.joints:
        given = {"armature": joint.armature != 0.0, "limits": joint.limits is not None}
        for key in (key for key, is_given in given.items() if is_given):
            path = ("joints", joint.name, key)
            if joint.name in loops:
                yield Finding(
                    path,
                    f"joint '{joint.name}' has {key}, but it closes a loop and has no coordinates",
                    f"list '{joint.name}' before the other joints that reach its child, or leave "
                    f"{key} out",
                )
            elif len(joint.type.speeds) != 1:
                yield Finding(
                    path,
                    f"joint '{joint.name}' has {key}, but a {joint.type.word} joint has "
                    f"{len(joint.type.speeds) or 'no'} speeds",
                    f"leave {key} out, or make it of joints with one speed each",
                )
        found = (value_at(end, known.finite_parameters) for end in joint.limits or ())
        ends = [end for end in found if end is not None]
        if len(ends) == 2 and not ends[0] < ends[1]:
            yield Finding(
                ("joints", joint.name, "limits"),
                f"joint '{joint.name}' has the limits {ends[0]:g} and {ends[1]:g}",
                "give the lowest coordinate, then the highest",
            )


def _hanging(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Bodies that the world does not reach, each group under the body or cycle it hangs on."""
    unreached = known.topology.unreached
    carriers: dict[str, Joint] = {}
    for joint in model.joints:
        if joint.child in unreached and joint.parent != joint.child:
            carriers.setdefault(joint.child, joint)
    groups: dict[tuple[str, ...], list[str]] = {}
    for body in dict.fromkeys(unreached):
        groups.setdefault(_root(body, carriers), []).append(body)
    # the body meant by a misspelled child is not known, so only the spelling is reported
    carriable = set(known.bodies) - {WORLD}
    misspelled = any(joint.child not in carriable for joint in model.joints)
    for root, bodies in groups.items():
        carried = [body for body in bodies if body not in root]
        also = f", and with {'it' if len(root) == 1 else 'them'} {_listed(carried)}"
        also = also if carried else ""
        if len(root) > 1:
            joints = _listed([carriers[body].name for body in root])
            yield Finding(
                ("bodies", root[0]),
                f"bodies {_listed(list(root))} hang in the air{also}: their joints {joints} form a "
                "cycle that does not reach the world",
                'add a joint with parent = "world" to one of them, listed before the cycle closes',
            )
        elif not misspelled and root[0] not in {
            j.child for j in model.joints if j.child == j.parent
        }:
            yield _uncarried(root[0], also, model)


def _uncarried(body: str, also: str, model: Model) -> Finding:
    path = ("bodies", body)
    what = f"body '{body}' hangs in the air{also}: no joint has it as its child"
    turned = next((j for j in model.joints if j.parent == body and j.child != WORLD), None)
    fix = f'add a joint with child = "{body}"'
    if turned is not None:
        fix += f", or swap parent and child of joint '{turned.name}'"
    return Finding(path, what, fix)


def _root(body: str, carriers: dict[str, Joint]) -> tuple[str, ...]:
    """The body without a joint at the upper end of a chain, or the bodies of the cycle there."""
    chain = [body]
    while chain[-1] in carriers:
        parent = carriers[chain[-1]].parent
        if parent in chain:
            cycle = chain[chain.index(parent) :]
            first = cycle.index(min(cycle))
            return tuple(cycle[first:] + cycle[:first])
        chain.append(parent)
    return (chain[-1],)


def _check_motion(joint: Joint) -> Iterator[Finding]:
    path = ("joints", joint.name, "motion")
    angles = angle_names(joint)
    coordinates = [c.name for c in joint.type.coordinates]
    start = joint.type.quaternion
    quaternion = coordinates[start : start + 4] if start is not None else []
    allowed = [name for name in coordinates if name not in quaternion] + list(angles)
    for name in joint.motion or {}:
        if name in quaternion:
            yield Finding(
                (*path, name),
                f"joint '{joint.name}' prescribes '{name}', one entry of a quaternion",
                "prescribe three named angles instead: "
                'angles = {sequence = "zyx", names = ["yaw", "pitch", "roll"]}',
            )
        elif name not in allowed:
            known = ", ".join(f"'{n}'" for n in allowed) or "none"
            yield Finding(
                (*path, name),
                f"joint '{joint.name}' prescribes '{name}', which a {joint.type.word} joint does "
                "not have",
                f"coordinates that can be prescribed here: {known}",
            )
    given = [name for name in angles if name in (joint.motion or {})]
    if 0 < len(given) < len(angles):
        missing = [name for name in angles if name not in given]
        yield Finding(
            path,
            f"joint '{joint.name}' prescribes {_listed(given)} but not {_listed(missing)}; an "
            "orientation is prescribed by all its named angles",
            "add " + " and ".join(f'{name} = "0"' for name in missing),
        )


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
