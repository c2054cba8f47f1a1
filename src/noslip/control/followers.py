"""The part of a vehicle that follows a path: which it is, and how smooth the path must be.

**Find the part of a vehicle that can follow a path from the velocities its bodies can have.**

A body that stays level moves with twists (v_x, v_y, ω) in its own axes; those that the constraints
allow, over several configurations, fill the columns of a matrix T. A point p of the body and a
direction n across it with

    (1)  n·(v + ω × p) = n_x v_x + n_y v_y + m ω = 0,     m = n_y p_x − n_x p_y

for all of them cannot move sideways: (n, m) is the left null vector of T. This is an axle, at the
point p = m (n_y, −n_x), ahead along the direction across n. Axles of bodies that are hinged to each
other, about upright axes, are a chain (:class:`AxleLink`): a steered wheel is an axle with a hinge
on it, a waist or a drawbar one whose hinge is not.

What follows is the base, or the trailer that goes first when driving backwards: the nearest axle
from which all others trail.

**The motion of a vehicle along a path: what of it follows, and how smooth the path must be.**
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, counted, nearest
from noslip.control.follower import AxleLink, Follower
from noslip.control.path_geometry import AbstractPath, curvature_jumps
from noslip.control.path_motion import (
    AbstractPathMotion,
    PathMotion,
    TrailerMotion,
    planar_base,
    rates_of,
)
from noslip.control.timing_laws import AbstractTiming, timing_law
from noslip.engines import System, once_a_system
from noslip.engines import compile as compile_system
from noslip.expressions import CONSTANTS, ExpressionError, Scalar, names_of, parse
from noslip.formulations import derive
from noslip.model import ModelBuilder, Vector3, is_undefined

#: Relative size below which a singular value counts as zero.
NEGLIGIBLE = 1e-9
#: Share of the mass below which a body that swings round does not matter: a caster.
LIGHT = 0.1
#: Configurations that are looked at.
LOOKED_AT = 6


class FollowedAxle(NamedTuple):
    """A line of a body that cannot move sideways."""

    point: Array  #: point of the axle nearest to the body's origin, m
    ahead: Array  #: (2,) unit vector along the free direction

    def local(self, place: Array) -> Array:
        """A place of the body in the axes of the axle."""
        gap = place - self.point
        left = np.array([-self.ahead[1], self.ahead[0]])
        return np.array([self.ahead @ gap, left @ gap])

    @property
    def angle(self) -> float:
        """Angle of the free direction in the body, rad."""
        return float(np.arctan2(self.ahead[1], self.ahead[0]))


class _Hinge(NamedTuple):
    coordinate: str
    bodies: tuple[int, int]  # parent and child
    places: tuple[Array, Array]  # of the hinge in their axes
    sign: float  # heading of the child less the parent's: sign · coordinate + offset
    offset: float


@dataclass(frozen=True, slots=True, eq=False)
class _Survey:
    """Level bodies of a vehicle, their axles and hinges."""

    names: dict[int, str]
    shares: dict[int, float]  # of the mass, with all that hangs on a body away from the base
    axles: dict[int, FollowedAxle]
    hinges: tuple[_Hinge, ...]
    base: int
    slides: bool  # the base can move sideways at all its points


def find_follower(
    system: System, values: Array, *, reverse: bool = False, body: str = ""
) -> Follower:
    """Find the follower of a path at given parameter values.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    reverse : whether it drives backwards.
    body : name of the body whose axle follows; found if it is empty.

    Raises
    ------
    SimulationError : if the model has no planar base, or nothing of it can be kept on a path.
    """
    survey = system.cached(("survey", values.tobytes()), lambda: _survey(system, values))
    where = f"path for model '{system.model.name}'"
    if survey.slides and not body:
        return _holding(system, _sliding(survey), values)
    if survey.base not in survey.axles and not survey.slides:
        raise SimulationError(
            "the base can only turn, or not move at all, so no point of it follows a path",
            where,
            "choose another task, or free the base along the path",
        )
    if body:
        known = [survey.names[k] for k in survey.axles]
        if body not in known:
            raise SimulationError(
                f"there is no body '{body}' with an axle that cannot move sideways",
                where,
                nearest(body, known),
            )
        start = next(k for k in survey.axles if survey.names[k] == body)
        return _holding(system, _from(survey, start, reverse)[0], values)
    folding = ""
    for start in _by_distance(survey):
        follower, unstable = _from(survey, start, reverse)
        if not unstable:
            return _holding(system, follower, values)
        folding = folding or unstable
    way = "in reverse" if reverse else "forward"
    raise SimulationError(
        f"whichever axle follows the path {way}, '{folding}' folds up without feedback",
        where,
        "drive the other way, or name the follower and give a controller that stabilizes it",
    )


def _holding(system: System, follower: Follower, values: Array) -> Follower:
    """With the joints held that the path leaves open, such as a rotor's or an arm's."""
    kin = system.kinematics
    s, names = kin.symbols, [c.name for c in kin.coordinates]
    at = planar_base(system).coordinates.start
    led = [*range(at, at + 3), *(names.index(link.coordinate) for link in follower.links or ())]
    led += [names.index(follower.steering)] if follower.steering else []
    rates = ca.jacobian(ca.mtimes(kin.N, kin.at_speeds(s.v)), kin.eta)
    function = ca.Function("rates", [s.t, s.q, s.params], [ca.densify(rates)])
    found = [np.array(function(t, q, values)) for t, q in kin.probe.configurations(3)]
    driven = {i.speed for i in system.model.speed_inputs}
    rest = kin.rest.tolist()
    held: list[tuple[str, float]] = []
    while min(np.linalg.matrix_rank(J[led], tol=NEGLIGIBLE) for J in found) < found[0].shape[1]:
        # the coordinate that moves most in what is left open
        left = np.linalg.svd(found[0][led])[2][np.linalg.matrix_rank(found[0][led], tol=1e-9) :]
        moves = np.linalg.norm(found[0] @ left.T, axis=1)
        moves[led] = 0.0
        k = int(np.argmax(moves))
        if not moves[k] > NEGLIGIBLE:
            break
        led.append(k)
        held.append((names[k], float(rest[k])))
    for k, speed in enumerate(kin.speeds):
        # what a speed input moves must be prescribed
        node = next(n for n in kin.tree.nodes if n.speeds.start <= k < n.speeds.stop)
        place = node.coordinates.start + k - node.speeds.start
        if speed.name in driven and place not in led:
            led.append(place)
            held.append((names[place], float(rest[place])))
    return replace(follower, held=tuple(held))


def undriven_speeds(system: System, inputs: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Independent speeds that no force input drives, by themselves or through others."""
    eq, kin = system.equations, system.kinematics
    names = [i.name for i in system.model.inputs]
    used = [names.index(name) for name in inputs if name in names] or list(range(len(names)))
    dof = kin.num_independent_speeds
    if not used:
        return tuple(s.name for s in system.independent_speeds)
    s = kin.symbols
    B = ca.densify(eq.reduced_inputs)[:, used]
    function = ca.Function("B", [s.t, s.q, s.params], [B], {"allow_free": True})
    if function.get_free():
        return ()
    best: tuple[str, ...] = tuple(x.name for x in system.independent_speeds)
    scale = np.array([1.0 / _size(x.unit, kin.length) for x in system.independent_speeds])
    for t, q in kin.probe.configurations(3):
        pushed = np.array(function(t, q, kin.probe.params)) * scale[:, None]
        U, sizes, _ = np.linalg.svd(pushed)
        rank = int(np.sum(sizes > 1e-9 * max(sizes[0], 1e-300))) if sizes.size else 0
        left, missing = U[:, rank:], []
        for _ in range(dof - rank):
            k = int(np.argmax(np.linalg.norm(left, axis=1)))
            missing.append(k)
            # the rest of the null space, without this speed
            left = left @ np.linalg.svd(left[[k]])[2][1:].T
        if len(missing) < len(best) or not best:
            best = tuple(system.independent_speeds[k].name for k in sorted(missing))
    return best


def _size(unit: str, length: float) -> float:
    return max(length, 1e-9) if unit.startswith("rad") else 1.0


def _survey(system: System, values: Array) -> _Survey:
    """Level bodies, their axles and the hinges between them."""
    kin = system.kinematics
    nodes, base = kin.tree.nodes, planar_base(system)
    first = nodes.index(base)
    configurations = [q for _, q in kin.probe.configurations(LOOKED_AT)]
    poses = _poses(system, values)
    level = {first}
    for k, node in enumerate(nodes):
        single = node.coordinates.stop - node.coordinates.start == 1
        upright = single and kin.coordinates[node.coordinates.start].unit == "rad"
        if node.parent in level and upright:
            turns = [poses(q)[k][1] for q in configurations]
            if all(abs(R[2, 2] - 1.0) < NEGLIGIBLE for R in turns):
                level.add(k)
    length = max(kin.length, 1e-6)
    scale = np.array([1.0, 1.0, length])[:, None]
    axles, slides = {}, False
    for k in sorted(level):
        twists = _twists(system, k, values)
        T = np.hstack([twists(q) for q in configurations]) * scale
        across, sizes, _ = np.linalg.svd(T)
        sizes = np.concatenate([sizes, np.zeros(3)])[:3]
        null = across[:, 2]
        n, m = null[:2], null[2] * length
        size = float(np.linalg.norm(n))
        if sizes[2] > NEGLIGIBLE * max(sizes[0], 1e-300) or size < 1e-6:
            slides = slides or k == first
            continue
        n, m = n / size, m / size
        ahead = np.array([n[1], -n[0]])
        point = m * ahead
        # of the two directions the one along the larger axis of the body
        axles[k] = FollowedAxle(point, ahead if ahead[np.argmax(np.abs(ahead))] > 0 else -ahead)
    hinges = tuple(
        _hinge(system, k, poses) for k in sorted(level) if k != first and nodes[k].parent in level
    )
    return _Survey(
        names={k: nodes[k].body.name for k in level},
        shares=_shares(system, values, level),
        axles=axles,
        hinges=hinges,
        base=first,
        slides=slides,
    )


def _poses(system: System, values: Array):
    """q → place (3,) and rotation (3, 3) of every body."""
    kin = system.kinematics
    s = kin.symbols
    outputs = [e for node in kin.tree.nodes for e in (node.p_WB, node.R_WB)]
    function = ca.Function("poses", [s.t, s.q, s.params], [ca.densify(e) for e in outputs])

    def at(q: Array) -> list[tuple[Array, Array]]:
        found = [np.array(e) for e in function.call([0.0, q, values])]
        return [(found[k].ravel(), found[k + 1]) for k in range(0, len(found), 2)]

    return at


def _twists(system: System, k: int, values: Array):
    """q → (3, n) twists of a level body, one for each independent speed and each speed input."""
    kin = system.kinematics
    s, node = kin.symbols, kin.tree.nodes[k]
    heading = ca.atan2(node.R_WB[1, 0], node.R_WB[0, 0])
    place = ca.vertcat(node.p_WB[:2], heading)
    rates = ca.jtimes(place, s.q, ca.mtimes(kin.N, kin.at_speeds(s.v)))
    J = ca.jacobian(rates, ca.vertcat(kin.eta, s.w))
    c, d = ca.cos(heading), ca.sin(heading)
    turn = ca.vertcat(ca.horzcat(c, d, 0), ca.horzcat(-d, c, 0), ca.horzcat(0, 0, 1))
    function = ca.Function("twists", [s.t, s.q, s.params], [ca.densify(ca.mtimes(turn, J))])
    return lambda q: np.array(function(0.0, q, values))


def _hinge(system: System, k: int, poses) -> _Hinge:
    """The upright hinge that carries a body: where it is, and which way it counts."""
    kin = system.kinematics
    node = kin.tree.nodes[k]
    at = node.coordinates.start
    rest = kin.rest.copy()
    rows, right, headings = [], [], []
    for angle in (0.0, 0.4, 1.0):
        q = rest.copy()
        q[at] = angle
        (p0, R0), (p1, R1) = (poses(q)[j] for j in (node.parent, k))
        gap, turn = (R0.T @ (p1 - p0))[:2], (R0.T @ R1)[:2, :2]
        # gap + turn · (hinge in the child) = hinge in the parent
        rows.append(np.hstack([np.eye(2), -turn]))
        right.append(gap)
        headings.append(np.arctan2(turn[1, 0], turn[0, 0]))
    found = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]
    first = float(np.angle(np.exp(1j * (headings[1] - headings[0]))))
    return _Hinge(
        coordinate=kin.coordinates[at].name,
        bodies=(node.parent, k),
        places=(found[:2], found[2:]),
        sign=1.0 if first > 0 else -1.0,
        offset=float(headings[0]),
    )


def _shares(system: System, values: Array, level: set[int]) -> dict[int, float]:
    """Share of the mass that a body carries with all that hangs on it in the tree."""
    kin = system.kinematics
    nodes = kin.tree.nodes
    masses = ca.vertcat(*[ca.SX(node.mass) for node in nodes])
    own = np.array(ca.Function("m", [kin.symbols.params], [masses])(values)).ravel()
    carried = own.copy()
    for k in range(len(nodes) - 1, -1, -1):
        if nodes[k].parent >= 0:
            carried[nodes[k].parent] += carried[k]
    whole = max(float(np.sum(own)), 1e-300)
    return {k: float(carried[k]) / whole for k in level}


def _by_distance(survey: _Survey) -> list[int]:
    """Bodies with an axle and a share of the mass, the base first."""
    found, front = [survey.base], [survey.base]
    while front:
        front = [
            other
            for k in front
            for h in survey.hinges
            for other in _other(h, k)
            if other not in found and other in survey.axles
        ]
        found += front
    return [k for k in found if k == survey.base or survey.shares[k] >= LIGHT]


def _other(hinge: _Hinge, k: int) -> tuple[int, ...]:
    parent, child = hinge.bodies
    return (child,) if k == parent else (parent,) if k == child else ()


def _from(survey: _Survey, start: int, reverse: bool) -> tuple[Follower, str]:
    """The chain of axles from one that follows, and a hinge that folds up, if one does."""
    axles = dict(survey.axles)
    links: list[AxleLink] = []
    index, unstable = {start: 0}, ""
    sign = -1.0 if reverse else 1.0
    front = [start]
    while front:
        k = front.pop(0)
        for hinge in survey.hinges:
            for other in _other(hinge, k):
                if other in index or other not in axles:
                    continue
                link, axle = _link(hinge, k, axles[k], axles[other], index[k])
                ahead = float(link.far[0])
                is_led = _holds(survey, other, k, survey.base) or _steers(survey, other, k)
                if ahead and sign * ahead < 0 and survey.shares[other] >= LIGHT:
                    unstable = unstable or hinge.coordinate
                if ahead and not is_led:
                    continue  # it trails, and its angle is integrated with the motion
                axles[other] = axle
                links.append(link)
                index[other] = len(links)
                front.append(other)
    return _follower(survey, start, reverse, axles[survey.base], links, index), unstable


def _link(
    hinge: _Hinge, k: int, near: FollowedAxle, far: FollowedAxle, origin: int
) -> tuple[AxleLink, FollowedAxle]:
    """The hinge from a body to the other one, and the other's axle pointing the same way."""
    at = hinge.bodies.index(k)
    sign = hinge.sign if at == 0 else -hinge.sign
    offset = hinge.offset if at == 0 else -hinge.offset
    offset = float(np.angle(np.exp(1j * (offset + far.angle - near.angle))))
    if abs(offset) > np.pi / 2 + 1e-9:
        far = FollowedAxle(far.point, -far.ahead)
        offset = float(np.angle(np.exp(1j * (offset + np.pi))))
    places = near.local(hinge.places[at]), far.local(hinge.places[1 - at])
    link = AxleLink(
        coordinate=hinge.coordinate,
        near=_pair(places[0]),
        far=_pair(places[1]),
        origin=origin,
        sign=sign,
        offset=_round(offset),
    )
    return link, far


def _holds(survey: _Survey, body: int, before: int, wanted: int) -> bool:
    """Whether a body is reached beyond another one, away from where one comes from."""
    if body == wanted:
        return True
    return any(
        _holds(survey, other, body, wanted)
        for h in survey.hinges
        for other in _other(h, body)
        if other != before and other in survey.axles
    )


def _steers(survey: _Survey, body: int, before: int) -> bool:
    """Whether something beyond a body is hinged on its own axle: a trailer that steers."""
    for h in survey.hinges:
        for other in _other(h, body):
            if other == before or other not in survey.axles:
                continue
            far = survey.axles[other].local(h.places[h.bodies.index(other)])
            if abs(_round(far[0])) == 0 or _steers(survey, other, body):
                return True
    return False


def _follower(
    survey: _Survey,
    start: int,
    reverse: bool,
    base: FollowedAxle,
    links: list[AxleLink],
    index: dict[int, int],
) -> Follower:
    """`Follower` of the search; it names the steering where one wheel on the center line steers."""
    follower = Follower(
        point=_vector(base.point),
        direction=_vector(base.ahead),
        reverse=reverse,
        links=tuple(links),
        base=index[survey.base],
        body="" if start == survey.base else survey.names[start],
    )
    steered = [
        link
        for link in links
        if link.origin == follower.base and link.far[0] == 0.0 and link.near[1] == 0.0
    ]
    if len(steered) != 1 or steered[0].sign < 0 or steered[0].offset or steered[0] != links[-1]:
        return follower
    return replace(
        follower,
        links=tuple(links[:-1]),
        steering=steered[0].coordinate,
        wheelbase=steered[0].near[0],
    )


def can_slide(system: System, values: Array) -> bool:
    """Whether the base can move sideways at all its points."""
    return _survey(system, values).slides


def _sliding(survey: _Survey) -> Follower:
    """A base that can move in all directions: its origin follows, with wheels that steer."""
    # the base's own frame stands for an axle: it is led, not held
    frame = FollowedAxle(np.zeros(2), np.array([1.0, 0.0]))
    free = _with_frame(survey, frame)
    return _from(free, survey.base, reverse=False)[0]


def _with_frame(survey: _Survey, frame: FollowedAxle) -> _Survey:
    """The same vehicle with a frame for the axle of its base."""
    return replace(survey, axles={survey.base: frame, **survey.axles})


def _round(value: float) -> float:
    return round(float(value), 12) + 0.0


def _pair(place: Array) -> tuple[float, float]:
    return _round(place[0]), _round(place[1])


def _vector(xy: Array) -> Vector3:
    return _round(xy[0]), _round(xy[1]), 0.0


#: Variable of a heading.
ARC_LENGTH = "s"
#: Rate at which a steering turns at a standstill if no other is known, rad/s.
TURNING = 0.5


def choose_follower(system: System, values: Array, follower: Follower | str | None) -> Follower:
    """Follower of a path: the given fields, and the others found from the constraints."""
    given = Follower(body=follower) if isinstance(follower, str) else follower or Follower()
    _check_given(system, given)
    chosen = {
        f.name: value
        for f in fields(Follower)
        if (value := getattr(given, f.name)) is not None and value != _default(f)
    }
    if given.links is None and not _is_known(system, given):
        found = find_follower(system, values, reverse=given.reverse, body=given.body)
        given = replace(found, **chosen)
    held = tuple((name, given.reference.get(name, value)) for name, value in given.held)
    return replace(given, held=held)


def _check_given(system: System, follower: Follower) -> None:
    """Refuse names that the model does not have, and fields that nothing would use."""
    where = f"follower of model '{system.model.name}'"
    coordinates = [c.name for c in system.coordinates]
    for word in ("steering", "hinge"):
        name = getattr(follower, word)
        if name and name not in coordinates:
            raise SimulationError(
                f"{word} is '{name}', which is not a coordinate", where, nearest(name, coordinates)
            )
    if has_planar_base(system):
        first = planar_base(system).coordinates.start
        led = {c.name for c in system.coordinates[first : first + 3]} & set(follower.reference)
        if led:
            raise SimulationError(
                f"the reference names '{min(led)}', which the path determines",
                where,
                "leave it out: reference is for what the path leaves open, such as casters",
            )
    values = system.model.parameter_values()
    parameters = list(values)
    for word in ("point", "direction", "heading", "wheelbase", "hitch", "trailer"):
        value = getattr(follower, word)
        known = [*parameters, ARC_LENGTH] if word == "heading" else parameters
        for text in value if isinstance(value, tuple) else (value,):
            for name in sorted(_names(text, word, where) - {*known, *CONSTANTS}):
                raise SimulationError(
                    f"{word} is '{text}', and there is no '{name}'", where, nearest(name, known)
                )
            if text is not None and not _is_defined(text, values):
                raise SimulationError(
                    f"{word} is '{text}', which has no finite value",
                    where,
                    "give finite numbers, and keep denominators away from zero",
                )
    if follower.hinge and not follower.steering:
        raise SimulationError(
            f"the axle behind '{follower.hinge}' follows the path, and no steering is named",
            where,
            "name the steering, with its wheelbase, or give the body whose axle follows instead",
        )
    unused = [word for word in ("hitch", "trailer") if getattr(follower, word)]
    if unused and not follower.hinge and follower.links is None:
        raise SimulationError(
            f"{unused[0]} is given without the hinge that it belongs to", where, "name the hinge"
        )


def _is_defined(value: Scalar, values: Mapping[str, float]) -> bool:
    """Whether a scalar is finite, as far as it is known at some values."""
    if isinstance(value, str):
        return not is_undefined(parse(value), values)
    return math.isfinite(value)


def _names(value: Scalar | None, word: str, where: str) -> frozenset[str]:
    """Names of a scalar."""
    if not isinstance(value, str):
        return frozenset()
    try:
        return names_of(value)
    except ExpressionError as error:
        raise SimulationError(
            f"{word} is '{value}': {error}", where, "give a number or an expression of parameters"
        ) from None


def _is_known(system: System, follower: Follower) -> bool:
    """Whether it is named by hand; what speed inputs move is found nonetheless."""
    if follower.steering is not None or follower.hinge is not None:
        return True
    is_framed = follower.point is not None and follower.direction is not None
    return is_framed and not system.model.speed_inputs


def _default(f: Field[Any]) -> Any:
    return f.default if f.default is not MISSING else {}


def has_planar_base(system: System) -> bool:
    """Whether a body is on a planar joint with the ground."""
    nodes = system.kinematics.tree.nodes
    return any(node.joint.type.is_planar and node.parent < 0 for node in nodes)


def check_actuators(system: System, inputs: tuple[str, ...] = ()) -> None:
    """Refuse a model some of whose motions no actuator drives, by name."""
    missing = undriven_speeds(system, inputs)
    if missing:
        dof = len(system.independent_speeds)
        listed = ", ".join(f"'{name}'" for name in missing)
        count = len(inputs) or len(system.model.inputs)
        raise SimulationError(
            f"no actuator drives {listed}: the model has {counted(count, 'force input')} for "
            f"{counted(dof, 'degree')} of freedom, so they cannot produce every motion",
            f"motion of model '{system.model.name}'",
            f"add motors, such as a Motor with an input on '{missing[0]}', or give the inputs "
            "instead of the motion",
        )


def slip_free(system: System, values: Array) -> System | None:
    """The vehicle on wheels that do not slip, if only its tires keep it on a path; else None.

    On tires all motions are free, and motors determine them only through the tires' forces.

    Parameters
    ----------
    system : compiled system with a planar base.
    values : (np,) parameter vector.
    """
    is_held = any(force.without_slip() is not None for force in system.model.forces)
    if not is_held or not (undriven_speeds(system) or can_slide(system, values)):
        return None
    return _without_slip(system)


@once_a_system
def _without_slip(system: System) -> System:
    """The vehicle with contacts that do not slip in the place of its tires."""
    model = system.model
    stands_for = {force.name: force.without_slip() for force in model.forces}
    wheels = [contact for contact in stands_for.values() if contact is not None]
    taken = {contact.name for contact in model.contacts}
    named = [
        replace(wheel, name=f"{wheel.name}.rolling")  # type: ignore[type-var]
        if wheel.name in taken
        else wheel
        for wheel in wheels
    ]
    forces = tuple(force for force in model.forces if stands_for[force.name] is None)
    other = replace(
        model,
        name=f"{model.name} without slip",
        contacts=(*model.contacts, *named),
        forces=forces,
        independent_speeds=(),
        scenario=None,
    )
    return compile_system(derive(ModelBuilder.from_model(other).build()))


def smooth_enough(
    system: System, path: AbstractPath, follower: Follower
) -> tuple[AbstractPath, tuple[str, ...]]:
    """A path that leaves its smoothness open, as smooth as continuous forces need; and a note."""
    motion = motion_along(path, timing_law(None, system, path, follower), follower)
    return smoothed(path, motion.order(system))


def smoothed(path: AbstractPath, needed: int) -> tuple[AbstractPath, tuple[str, ...]]:
    """A path that leaves its smoothness open, as smooth as continuous forces need; and a note."""
    if not curvature_jumps(path, needed):
        return path, ()
    order = needed + 1
    smooth = path.of_order(order)
    if smooth is path:
        return path, ()
    return smooth, (
        f"path: with {order} continuous derivatives of its curvature, as continuous forces of this "
        f"vehicle need ({type(path).__name__}, order={order})",
    )


def turn_at_cusps(
    system: System,
    motion: AbstractPathMotion,
    follower: Follower,
    limits: Mapping[str, float] | None = None,
) -> tuple[AbstractPathMotion, tuple[str, ...]]:
    """A motion that stands at cusps as long as its steering needs to turn there; and notes.

    Raises
    ------
    SimulationError : if something would have to turn that no steering turns.
    """
    turns = motion.standing_turns(system)
    if not any(turns):
        return motion, ()
    rate = follower.steering_rate
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise SimulationError(
            f"the rate of the steering is {rate} rad/s",
            f"path for model '{system.model.name}'",
            "give the rate at which it turns at a standstill, above 0",
        )
    bounds = {i.speed: (limits or {}).get(i.name) for i in system.model.speed_inputs}
    own = {name: bounds.get(speed) for name, speed in rates_of(system)}
    pauses, notes = [], []
    for turn in turns:
        if turn is None or not turn.angles:
            pauses.append(0.0)
            continue
        # rates fall with the time it takes
        needed = [
            fastest / (rate or own.get(name) or TURNING)
            for name, fastest in zip(turn.angles, turn.fastest, strict=True)
        ]
        pauses.append(max(needed))
        said = zip(turn.angles, turn.changes, strict=True)
        listed = ", ".join(f"{name} turns by {change:.4g} rad" for name, change in said)
        notes.append(
            f"stands {pauses[-1]:.3g} s at the cusp {turn.arc_length:.4g} m along the path, while "
            f"{listed}"
        )
    return motion.timed(motion.timing.paused(tuple(pauses))), tuple(notes)


def motion_along(
    path: AbstractPath, timing: AbstractTiming, follower: Follower
) -> AbstractPathMotion:
    """The motion of a vehicle, or of the axle of its trailer, along a path."""
    known = {f.name: getattr(follower, f.name) for f in fields(follower)}
    given = {name: value for name, value in known.items() if value is not None}
    given |= {"path": path, "timing": timing}
    motion = TrailerMotion if follower.hinge else PathMotion
    own = [f.name for f in fields(motion)]
    return motion(**{name: value for name, value in given.items() if name in own})
