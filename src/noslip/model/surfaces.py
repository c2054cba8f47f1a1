"""Surfaces of bodies that roll, and their charts.

**Charts of surfaces: point, normal, tangents and curvature at parameters.**

A surface is given by the point p(u) at two parameters, or as a level F(p) = 0 of three. With G the
metric of the tangents T = ∂p/∂u and n the normal that points away from the material, its curvature
is the tensor

    (1)  K = T G⁻¹ B G⁻¹ Tᵀ,  B_ij = −n·∂²p/∂u_i∂u_j       of a parametric surface
    (2)  K = (1 − nnᵀ) (∂²F/∂p²) (1 − nnᵀ) / |∂F/∂p|       of a level, F growing outwards

positive where the material is convex. It takes no part in the motion; where two surfaces touch, the
sum of their curvatures says whether they touch there alone.

**Surfaces of bodies that roll: disk, ball, torus, ellipsoid, cylinder, cone, and your own.**

To add a surface, here or in a module of your own, write a frozen data class below
`AbstractSurface`; nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table, and their types say
   units and signs (`quantities.py`);
2. `reach(read)`: its largest radius, by which things are sized;
3. of a convex surface `support(direction, read)`: how far it reaches from its center along a
   direction, times the direction's length. This support function is the whole geometry: the contact
   point, its motion over the surface, the height and the picture follow from it;
4. of any other surface `parameters`, and `chart(u, read)`: the point and the outward normal at
   them. They become coordinates without inertia of a contact, whose rates always follow.

What is below "fallbacks" in the base class has a general answer, which a surface may replace by a
closed form; `verify` compares that with the support function.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, Traced, cross
from noslip.base import Array, Member
from noslip.expressions import Call, Expression, Name, Number, Scalar, fold, parse
from noslip.model.bodies import (
    AbstractShape,
    Box,
    Cylinder,
    Placement,
    Ring,
    Sphere,
    Triangles,
    patch,
)
from noslip.model.findings import Finding, Path, owner
from noslip.model.quantities import (
    POSITIVE,
    Direction,
    Meaning,
    NotNegativeLength,
    NumberReader,
    PositiveLength,
    Quantity,
    Reads,
    TracedNumbers,
    Vector3,
    angle,
    rotation_to,
)

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary


class Chart(NamedTuple):
    """A surface at its parameters u, in its own axes."""

    point: ca.SX  #: p(u), m
    normal: ca.SX  #: unit vector outwards
    gradient: ca.SX  #: gradient of a level; of a parametric surface the normal again
    tangents: ca.SX | None  #: (3, 2) ∂p/∂u; None for a level
    #: functions that vanish on the surface, of a level; as many as there are parameters beyond 2
    conditions: tuple[ca.SX, ...]
    curvature: ca.SX  #: (3, 3) of the module's head, 1/m


def smooth_chart(point: ca.SX, u: ca.SX, side: float = 1.0) -> Chart:
    """The chart of p(u) of two parameters; the normal is along `side` times ∂p/∂u₁ × ∂p/∂u₂."""
    T = ca.densify(ca.jacobian(point, u))
    normal = side * cross(T[:, 0], T[:, 1])
    n = ca.densify(normal / ca.sqrt(ca.dot(normal, normal)))
    G = ca.mtimes(T.T, T)
    determinant = G[0, 0] * G[1, 1] - G[0, 1] * G[0, 1]
    inverse = ca.vertcat(ca.horzcat(G[1, 1], -G[0, 1]), ca.horzcat(-G[0, 1], G[0, 0])) / determinant
    still = ca.SX.sym("n", 3)
    B = ca.substitute(-ca.hessian(ca.dot(still, point), u)[0], still, n)
    dual = ca.mtimes(T, inverse)
    return Chart(point, n, n, T, (), ca.mtimes(dual, ca.mtimes(B, dual.T)))


def level_chart(level: ca.SX, p: ca.SX) -> Chart:
    """The chart of F(p) = 0, F growing outwards; its parameters are the point itself."""
    slope = ca.gradient(level, p)
    size = ca.sqrt(ca.dot(slope, slope))
    across = EYE3 - ca.mtimes(slope, slope.T) / size**2
    H = ca.hessian(level, p)[0]
    curvature = ca.mtimes(across, ca.mtimes(H, across)) / size
    return Chart(p, slope / size, slope, None, (level,), curvature)


def turn_about_z(place: ca.SX, angle: ca.SX) -> ca.SX:
    """A place with its first two entries turned."""
    x, y, *rest = ca.vertsplit(place)
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * x - s * y, s * x + c * y, *rest)


def nearest_parameters(
    parameters: tuple[Quantity, ...], distance: Callable[[ca.SX], ca.SX], count: int = 12
) -> ca.SX:
    """Parameters on a grid over their ranges where a distance is least, as a traced choice."""
    u = ca.SX.sym("u", len(parameters))
    measure = ca.Function("d", [u], [distance(u)]) if not _free(distance(u), u) else None
    best, least = ca.SX(0), ca.SX(np.inf)
    for place in parameter_grid(parameters, count):
        here = distance(ca.SX(place)) if measure is None else ca.SX(measure(place))
        is_less = here < least
        best = ca.if_else(is_less, ca.SX(place), best)
        least = ca.if_else(is_less, here, least)
    return best


def _free(expression: ca.SX, u: ca.SX) -> bool:
    """Whether an expression has symbols besides u."""
    return any(not ca.depends_on(u, s) for s in ca.symvar(expression))


def chart_clauses(
    chart: Callable[[ca.SX], Chart], quantities: tuple[Quantity, ...]
) -> Iterator[str]:
    """What a chart breaks: unit normals across the tangents, and curvature along them."""
    u = ca.SX.sym("u", len(quantities))
    now = chart(u)
    tangents = ca.SX(3, 0) if now.tangents is None else now.tangents
    parts = [now.point, now.normal, tangents, now.curvature]
    found = ca.Function("chart", [u], [ca.densify(ca.SX(part)) for part in parts])
    rng = np.random.default_rng(1)
    low, high = np.array([[q.lower, q.upper] for q in quantities]).T
    for _ in range(5):
        p, n, T, K = (np.array(part) for part in found(low + (high - low) * rng.random(len(low))))
        long, bent = (float(np.abs(part).max(initial=0.0)) for part in (T, K))
        if not all(np.all(np.isfinite(part)) for part in (p, n, T, K)):
            yield "its chart is not finite within the ranges of its parameters"
        elif abs(float(np.linalg.norm(n)) - 1) > 1e-9:
            yield "its normal is no unit vector"
        elif float(np.abs(n.T @ T).max(initial=0.0)) > 1e-9 * long:
            yield "its normal is not across its tangents"
        elif float(np.max(np.abs(K - K.T) + np.abs(K @ n))) > 1e-9 * max(bent, 1e-9):
            yield "its curvature is not symmetric, or not along the surface"
        else:
            continue
        return


def parameter_grid(parameters: tuple[Quantity, ...], count: int) -> Array:
    """(count², 2) middles of the cells of the parameters' ranges."""
    steps = (np.arange(count) + 0.5) / count
    axes = [q.lower + (q.upper - q.lower) * steps for q in parameters]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def chart_points(
    point: Callable[[ca.SX], ca.SX], lower: Array, upper: Array, counts: tuple[int, int]
) -> Array:
    """(m, n, 3) points of a surface over a grid of its two parameters, for a picture."""
    u = ca.SX.sym("u", 2)
    axes = [np.linspace(a, b, k) for a, b, k in zip(lower, upper, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(2, -1)
    found = ca.Function("p", [u], [ca.densify(ca.SX(point(u)))]).map(grid.shape[1])(grid)
    return np.array(found).T.reshape(*counts, 3)


def free_parameters(
    u_range: tuple[float, float], v_range: tuple[float, float]
) -> tuple[Quantity, ...]:
    """The parameters u and v of a surface that is given by expressions of them."""
    ranges = zip("uv", (u_range, v_range), strict=True)
    return tuple(
        Quantity(name=name, unit="1", lower=float(low), upper=float(high), symbol=name)
        for name, (low, high) in ranges
    )


def range_faults(
    path: Path, u_range: tuple[float, float], v_range: tuple[float, float]
) -> Iterator[Finding]:
    """Ranges of parameters are two numbers each, the smaller one first."""
    for name, given in (("u_range", u_range), ("v_range", v_range)):
        if not given[0] < given[1]:
            yield Finding(
                (*path, name),
                f"{owner(path)} has {name} = {list(given)}",
                "give two numbers, the smaller one first",
            )


#: Functions that have kinks or steps.
KINKED = ("abs", "sign", "floor", "min", "max")


def kink_faults(path: Path, text: Scalar) -> Iterator[Finding]:
    """A surface has a normal and a curvature everywhere: no kinks."""
    if not isinstance(text, str):
        return
    used: list[str] = []

    def call(function: str, arguments: list[None]) -> None:
        used.append(function)

    try:
        fold(parse(text), lambda leaf: None, call, lambda measure, arguments: None)
    except ValueError:
        return  # a fault of its own
    what = "ground" if "ground" in path else "surface"
    for function in dict.fromkeys(used):
        if function in KINKED:
            yield Finding(
                path,
                f'{owner(path[:2])} has a {what} with "{text}", where {function}() has a kink',
                "write it with smooth functions, as sqrt(x^2 + d^2) for abs(x)",
            )


def parametric_faults(
    path: Path, shape: Any, values: Mapping[str, float], is_closed: bool
) -> Iterator[Finding]:
    """Kinks, holes, places without a normal; a surface of a body does not pass through itself."""
    findings = list(range_faults(path, shape.u_range, shape.v_range))
    for entry in shape.position:
        findings += kink_faults((*path, "position"), entry)
    yield from findings
    if findings:
        return
    u = ca.SX.sym("u", 2)
    count = 24
    net = parameter_grid(shape.parameters(), count)
    try:
        point = ca.densify(ca.SX(shape.point(u, NumberReader(values))))
        slope = ca.densify(ca.jacobian(point, u))
        across = cross(slope[:, 0], slope[:, 1])
        function = ca.Function("p", [u], [ca.vertcat(point, across)])
        found = np.array(function.map(len(net))(net.T)).T
    except (KeyError, ValueError, RuntimeError):
        return  # a fault of its own
    said = owner(path[:2])
    is_known = np.all(np.isfinite(found), axis=1)
    sizes = np.linalg.norm(found[:, 3:], axis=1)
    if not np.all(is_known):
        a, b = net[int(np.argmin(is_known))]
        yield Finding(
            (*path, "position"),
            f"{said} has no point or no slope at u = {a:.3g}, v = {b:.3g}, within its ranges",
            "give ranges without holes, or expressions that have values in them",
        )
    elif np.any(sizes <= 1e-9 * np.max(sizes, initial=0.0)):
        a, b = net[int(np.argmin(sizes))]
        yield Finding(
            (*path, "position"),
            f"{said} has no normal at u = {a:.3g}, v = {b:.3g}: it is a line or a point there",
            "give expressions whose slopes along u and v are independent",
        )
    elif is_closed and (place := _crossing(found, count)) is not None:
        x, y, z = place
        yield Finding(
            (*path, "position"),
            f"{said} has a surface that passes through itself near ({x:.3g}, {y:.3g}, {z:.3g})",
            "give smaller ranges, or expressions of a surface that does not cross itself",
        )


def _crossing(found: Array, count: int) -> Array | None:
    """A place where a net of points and normals crosses itself.

    There a point is nearer to one of another sheet, with another normal, than to its neighbors.
    """
    from scipy.spatial import cKDTree

    points = found[:, :3]
    normals = found[:, 3:] / np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    net = points.reshape(count, count, 3)
    spacing = np.max([np.linalg.norm(np.gradient(net, axis=k), axis=2) for k in (0, 1)], axis=0)
    # a row that is not wide beside its spacing goes round a pole
    wide = [np.max(np.ptp(net, axis=k), axis=1) > 2 * np.median(spacing, axis=k) for k in (0, 1)]
    kept = np.flatnonzero(wide[0][None, :] & wide[1][:, None])
    near = spacing.ravel()
    pairs = cKDTree(points[kept]).query_pairs(0.6 * float(near.max()), output_type="ndarray")
    i, j = kept[pairs.reshape(-1, 2)].T
    steps = np.abs(np.stack(np.divmod(i, count)) - np.stack(np.divmod(j, count)))
    is_apart = np.any(np.minimum(steps, count - steps) > 4, axis=0)
    is_nearer = np.linalg.norm(points[i] - points[j], axis=1) < 0.6 * np.minimum(near[i], near[j])
    is_turned = np.abs(np.sum(normals[i] * normals[j], axis=1)) < 0.9
    is_candidate = is_apart & is_nearer & is_turned
    for a, b in zip(i[is_candidate], j[is_candidate], strict=True):
        if _separates(net, normals, a, b) and _separates(net, normals, b, a):
            return points[a]
    return None


def _separates(net: Array, normals: Array, a: int, b: int) -> bool:
    """Whether the plane at point a of a net has neighbors of point b on both sides of it.

    That of a convex body has none beyond it, however thin the body is.
    """
    count = len(net)
    row, column = divmod(int(b), count)
    around = net[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2].reshape(-1, 3)
    heights = (around - net.reshape(-1, 3)[a]) @ normals[a]
    least = 0.1 * float(np.max(np.abs(heights)))
    return bool(heights.min() < -least and heights.max() > least)


def even_powers(text: str) -> str:
    """The text of an expression with even powers of ``r`` written as powers of ``rr``."""
    return _written(_even(parse(text)))


def _even(tree: Expression) -> Expression:
    def call(function: str, arguments: list[Expression]) -> Expression:
        match function, arguments:
            case "**", [Name("r"), Number(n)] if n % 2 == 0 and n > 0:
                return Name("rr") if n == 2 else Call("**", (Name("rr"), Number(n / 2)))
            case "*", [Name("r"), Name("r")]:
                return Name("rr")
        return Call(function, tuple(arguments))

    found: Expression = fold(tree, lambda leaf: leaf, call)
    return found


def squared(text: str) -> str:
    """The text of the square of an expression, without the roots among its factors."""
    return _written(_square(parse(text)))


def _square(tree: Expression) -> Expression:
    match tree:
        case Number(value):
            return Number(value**2)
        case Call("sqrt", (inside,)):
            return inside
        case Call("neg", (inside,)):
            return _square(inside)
        case Call("*" | "/" as product, (a, b)):
            return Call(product, (_square(a), _square(b)))
    return Call("**", (tree, Number(2.0)))


def _written(tree: Expression) -> str:
    """An expression as text that reads the same."""

    def leaf(node: Number | Name) -> str:
        return repr(node.value) if isinstance(node, Number) else node.name

    def call(function: str, arguments: list[str]) -> str:
        if function == "neg":
            return f"(-{arguments[0]})"
        if function in ("+", "-", "*", "/", "**"):
            return f"({arguments[0]}{function}{arguments[1]})"
        return f"{function}({', '.join(arguments)})"

    return str(fold(tree, leaf, call))


#: Colors of what is drawn by default.
RIM_COLOR, TREAD_COLOR, MARK, BALL = "#9d9d9d", "#333333", "#f58518", "#e45756"


class Touch(NamedTuple):
    """Contact of a surface with a plane of upward normal n, in the axes in which n is given."""

    #: vector from the surface's center, or the body's origin for a contact, to the contact point
    arm: ca.SX
    #: unit vector in the plane, the longitudinal direction; None for the plane's x axis
    heading: ca.SX | None
    #: a number that vanishes where the contact point is not determined; None if it always is
    regularity: ca.SX | None


class WheelCircle(NamedTuple):
    """A surface made of circles about an axis: a ring of `radius` with a tube of `tube_radius`.

    The axis is None for a ball, which has all of them.
    """

    axis: Vector3 | None
    radius: Scalar
    tube_radius: Scalar


class AbstractSurface(Member, abc.ABC, family="rolling surface"):
    """A surface that rolls; see the list at the top of this file."""

    __slots__ = ()

    @abc.abstractmethod
    def reach(self, read: Reads) -> ca.SX | float:
        """The largest distance of a point from the center, m."""

    # of a convex surface

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        """h(d) = max d·p over the points p of the surface, from its center, in the body frame."""
        raise NotImplementedError(f"{self.word} has no support function")

    # of any other

    def parameters(self) -> tuple[Quantity, ...]:
        """Parameters of a point on it, where no closed form gives the contact point."""
        return ()

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        """The point at its parameters, from its center, in the body frame."""
        raise NotImplementedError(f"{self.word} has no parameters")

    def chart(self, u: ca.SX, read: Reads) -> Chart:
        """Point, outward normal and curvature at its parameters, which are symbols."""
        return smooth_chart(ca.SX(self.point(u, read)), u)

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        """Parameters of its point at u after a turn about its axis of symmetry, if it has one."""
        return u

    def wheel_axis(self) -> Vector3 | None:
        """Axis that no normal of it is along, in the body frame: its heading is axis × normal."""
        return None

    def guess(self, direction: ca.SX, read: Reads) -> ca.SX:
        """Parameters about where its outward normal is along a direction of the body frame."""

        def behind(u: ca.SX) -> ca.SX:
            return -ca.dot(direction, self.point(u, read))

        return nearest_parameters(self.parameters(), behind)

    # fallbacks

    #: What [CameronBook1993] calls a free body that rolls on it; empty where there is no closed
    #: form of its Hamel terms, so that only the general ones are taken.
    hamel_word: ClassVar[str] = ""
    #: Whether it rolls alike however it is turned, so that the length of a quaternion, which errors
    #: of steps change, would be all that its path depends on; it is then divided out.
    is_round: ClassVar[bool] = False

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        """Contact with a plane of normal n: the gradient of the support function at −n.

        Parameters
        ----------
        n : unit normal of the plane, in any axes.
        R : rotation matrix from the body frame to those axes.
        """
        down = ca.SX.sym("down", 3)
        point = ca.gradient(ca.SX(self.support(down, read)), down)
        here = ca.substitute([point], [down], [-ca.mtimes(R.T, n)])[0]
        return Touch(arm=ca.mtimes(R, here), heading=None, regularity=None)

    def contract(self, values: Mapping[str, float]) -> Iterator[str]:
        """Normals are across it; of a convex one, no point is farther than its reach.

        A contact point moves along the plane as its normal n turns: n·∂p/∂n δ = 0 for δ ⟂ n.
        """
        read, rng = TracedNumbers(values), np.random.default_rng(1)
        reach = float(ca.evalf(ca.SX(self.reach(read))))
        if quantities := self.parameters():
            yield from chart_clauses(lambda u: self.chart(u, read), quantities)
            return
        n = ca.SX.sym("n", 3)
        point = ca.densify(ca.SX(self.contact(n, EYE3, read).arm))
        found = ca.Function("contact", [n], [point, ca.jacobian(point, n)])
        if type(self).support is not AbstractSurface.support:
            d = rng.normal(size=3)
            once, twice = (float(ca.evalf(ca.SX(self.support(ca.SX(x), read)))) for x in (d, 2 * d))
            if not abs(twice - 2 * once) <= 1e-12 * reach:
                yield "its support function of twice a direction is not twice as large"
        for _ in range(5):
            normal = rng.normal(size=3)
            normal /= np.linalg.norm(normal)
            arm, slope = (np.array(part) for part in found(normal))
            along = normal @ slope @ (np.eye(3) - np.outer(normal, normal))
            if not np.all(np.isfinite(arm)):
                yield "its contact point is not finite"
                return
            if np.linalg.norm(arm) > reach * (1 + 1e-12):
                yield f"a contact point is beyond its reach of {reach:.6g} m"
                return
            if float(np.max(np.abs(along))) > 1e-9 * reach:
                yield "its contact point does not move along the plane: it is no point of support"
                return

    def circle(self) -> WheelCircle | None:
        """Its circles, if it is made of them: rates of its rows then have closed forms."""
        return None

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """(3, 3) how the contact point moves over it as n turns, for a surface with a `hamel_word`.

        In the axes of n.
        """
        raise NotImplementedError(self.word)

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        """Findings about its fields together; `path` is that of the surface."""
        return iter(())

    def picture(self, read: NumberReader) -> Array:
        """(m, n, 3) points of it, rows counterclockwise as seen from outside with n upwards."""
        if self.parameters():
            quantities = self.parameters()
            lower, upper = np.array([[q.lower, q.upper] for q in quantities]).T
            return chart_points(lambda u: self.point(u, read), lower, upper, (33, 33))
        d = ca.SX.sym("d", 3)
        point = ca.gradient(ca.SX(self.support(d, read)), d)
        latitude = np.pi * (np.arange(33) / 32 - 0.5)
        longitude = 2 * np.pi * np.arange(65) / 64
        around = np.stack([np.cos(longitude), np.sin(longitude)])
        grid = [[*(around * np.cos(a)), np.full(65, np.sin(a))] for a in latitude]
        directions = np.array(grid).transpose(1, 0, 2).reshape(3, -1)
        points = np.array(ca.Function("p", [d], [ca.densify(point)]).map(33 * 65)(directions))
        return points.T.reshape(33, 65, 3)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        """Shapes that draw it in the body frame, where the body has none of its own."""
        frame = Placement.at(center)
        return (
            _Drawn(surface=self, share=(0.0, 1.0), frame=frame, color=BALL),
            _Drawn(surface=self, share=(0.0, 0.12), frame=frame, color=MARK),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn(AbstractShape):
    """Shape of a surface from its own expressions; a `share` of its columns, a little larger."""

    surface: AbstractSurface
    share: tuple[float, float]
    frame: Placement
    color: str

    def triangles(self, read: NumberReader) -> Triangles:
        points = self.surface.picture(read)
        first, last = (round(x * (points.shape[1] - 1)) for x in self.share)
        larger = 1.0 if self.share == (0.0, 1.0) else 1.004
        return patch(larger * points[:, first : last + 1])


def _rim(radius: ca.SX, tube: ca.SX | None, n: ca.SX, a: ca.SX) -> Touch:
    """The contact of a rim, with the unit axis a in the axes of n.

    (1) e = (n − (n·a) a) / |n − (n·a) a|     from the contact point of the rim to the center
    (2) d = −radius e − tube_radius n         from the center to the contact point
    (3) longitudinal f = a × n / |a × n|
    """
    across = cross(a, n)
    sine = ca.sqrt(ca.dot(across, across))
    e = (n - ca.dot(n, a) * a) / sine  # (1)
    d = -radius * e  # (2)
    if tube is not None:
        d = d - tube * n
    return Touch(arm=d, heading=across / sine, regularity=sine)  # (3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(AbstractSurface):
    """A thin disk of `radius` (m) that touches with its sharp rim; `axis` in the body frame."""

    radius: PositiveLength
    axis: Direction

    word = "disk"
    hamel_word = "rolling disk"

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        # the lowest point of a circle about e is at radius times what of the direction is across e
        along = ca.dot(direction, read.direction(self.axis))
        return read.scalar(self.radius) * ca.sqrt(ca.dot(direction, direction) - along**2)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        return _rim(read.scalar(self.radius), None, n, ca.mtimes(R, read.direction(self.axis)))

    def circle(self) -> WheelCircle | None:
        return WheelCircle(self.axis, self.radius, 0.0)

    def contact_slope(self, touch: Touch, n: ca.SX, read: Reads) -> ca.SX:
        """δρ = −(r/sin) f fᵀ δn."""
        assert touch.heading is not None and touch.regularity is not None
        slope = -read.scalar(self.radius) / touch.regularity
        return slope * ca.mtimes(touch.heading, touch.heading.T)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, R = read.scalar(self.radius), rotation_to(read.vector(self.axis))
        width = radius / 8
        tread = Cylinder(
            radius=radius, length=width, frame=Placement.at(center, R), color=TREAD_COLOR
        )
        return (tread, *_marked(radius, width, center, R))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(AbstractSurface):
    """A sphere of `radius` (m)."""

    radius: PositiveLength

    word = "ball"
    also_called = ("sphere",)
    is_round = True

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        return read.scalar(self.radius) * ca.sqrt(ca.dot(direction, direction))

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        return Touch(arm=-read.scalar(self.radius) * n, heading=None, regularity=None)

    def circle(self) -> WheelCircle | None:
        return WheelCircle(None, 0.0, self.radius)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, frame = read.scalar(self.radius), Placement.at(center)
        return (
            Sphere(radius=radius, frame=frame, color=BALL),
            Ring(radius=radius, tube_radius=radius / 40, frame=frame, color=MARK),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Torus(AbstractSurface):
    """A wheel of ring `radius` with a round tire of `tube_radius` (m); `axis` in the body frame.

    The lowest point of an upright torus is `radius` + `tube_radius` below its center.
    """

    radius: NotNegativeLength  # a torus without a ring is a ball
    tube_radius: NotNegativeLength
    axis: Direction

    word = "torus"

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        ring = Disk(radius=self.radius, axis=self.axis).support(direction, read)
        return ring + Ball(radius=self.tube_radius).support(direction, read)

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius) + read.scalar(self.tube_radius)

    def contact(self, n: ca.SX, R: ca.SX, read: Reads) -> Touch:
        radius, tube = read.scalar(self.radius), read.scalar(self.tube_radius)
        return _rim(radius, tube, n, ca.mtimes(R, read.direction(self.axis)))

    def circle(self) -> WheelCircle | None:
        return WheelCircle(self.axis, self.radius, self.tube_radius)

    def shapes(self, center: Array, read: NumberReader) -> tuple[AbstractShape, ...]:
        radius, tube = read.scalar(self.radius), read.scalar(self.tube_radius)
        R = rotation_to(read.vector(self.axis))
        frame = Placement.at(center, R)
        return (
            Ring(radius=radius, tube_radius=tube, frame=frame, color=TREAD_COLOR),
            Cylinder(radius=radius, length=tube / 2, frame=frame, color=RIM_COLOR),
            *_marked(radius, 0.6 * tube, center, R),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid(AbstractSurface):
    """An ellipsoid with semi-axes `size` (m) along the axes of its body."""

    size: Annotated[Vector3, Meaning(unit="m", sign=POSITIVE)]

    word = "ellipsoid"

    def support(self, direction: Traced, read: Reads) -> ca.SX:
        stretched = read.vector(self.size) * direction
        return ca.sqrt(ca.dot(stretched, stretched))

    def reach(self, read: Reads) -> ca.SX | float:
        return ca.mmax(read.vector(self.size))


def _across(axis: ca.SX) -> ca.SX:
    """(3, 3) a rotation from z to a unit axis."""
    helper = ca.if_else(ca.fabs(axis[0]) < 0.9, ca.SX([1, 0, 0]), ca.SX([0, 1, 0]))
    first = cross(axis, helper)
    first = first / ca.sqrt(ca.dot(first, first))
    return ca.horzcat(first, cross(axis, first), axis)


_ALONG = Quantity(name="along", unit="m", description="place along the axis", symbol="s")


@dataclass(frozen=True, slots=True, kw_only=True)
class CylinderSurface(AbstractSurface):
    """The side of a round bar of `radius` about an `axis`; its `length` (m) is only drawn.

    On a plane it touches along a line, and rolling there is not defined by one point: use a disk.
    """

    radius: PositiveLength
    axis: Direction
    length: PositiveLength = 1.0

    word = "cylinder"

    def reach(self, read: Reads) -> ca.SX | float:
        return read.scalar(self.radius)

    def parameters(self) -> tuple[Quantity, ...]:
        return angle(symbol="ϕ", description="place round the axis"), _ALONG

    def wheel_axis(self) -> Vector3 | None:
        return self.axis

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return ca.vertcat(u[0] + angle, u[1])

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        r = read.scalar(self.radius)
        own = ca.vertcat(r * ca.cos(u[0]), r * ca.sin(u[0]), u[1])
        return ca.mtimes(_across(ca.SX(read.direction(self.axis))), own)

    def guess(self, direction: ca.SX, read: Reads) -> ca.SX:
        own = ca.mtimes(_across(ca.SX(read.direction(self.axis))).T, direction)
        return ca.vertcat(ca.atan2(own[1], own[0]), 0)

    def picture(self, read: NumberReader) -> Array:
        half = float(read.scalar(self.length)) / 2
        return _lathe(self, -half, half, read)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConeSurface(AbstractSurface):
    """The side of a cone: its tip at the center, `radius` at the distance `length` along `axis`."""

    radius: PositiveLength
    length: PositiveLength
    axis: Direction

    word = "cone"

    def reach(self, read: Reads) -> ca.SX | float:
        return ca.hypot(read.scalar(self.radius), read.scalar(self.length))

    def parameters(self) -> tuple[Quantity, ...]:
        return angle(symbol="ϕ", description="place round the axis"), _ALONG

    def wheel_axis(self) -> Vector3 | None:
        return self.axis

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return ca.vertcat(u[0] + angle, u[1])

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        r = read.scalar(self.radius) / read.scalar(self.length) * u[1]
        own = ca.vertcat(r * ca.cos(u[0]), r * ca.sin(u[0]), u[1])
        return ca.mtimes(_across(ca.SX(read.direction(self.axis))), own)

    def guess(self, direction: ca.SX, read: Reads) -> ca.SX:
        own = ca.mtimes(_across(ca.SX(read.direction(self.axis))).T, direction)
        return ca.vertcat(ca.atan2(own[1], own[0]), read.scalar(self.length) / 2)

    def picture(self, read: NumberReader) -> Array:
        return _lathe(self, 0.0, float(read.scalar(self.length)), read)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevolvedSurface(AbstractSurface):
    """A surface of revolution about z: its radius is `profile`, an expression of ``z`` (m).

    It is taken as the level x² + y² = profile(z)², which is smooth at a pole where a root among the
    factors of the profile closes it. It reaches from `lower` to `upper` along z (m).
    """

    profile: Annotated[Scalar, Meaning(unit="m", own=("z",))]
    lower: float
    upper: float

    word = "revolution"

    def _radius(self, z: ca.SX, read: Reads) -> ca.SX:
        return ca.SX(read.extended({"z": z}).scalar(self.profile))

    def reach(self, read: Reads) -> ca.SX | float:
        most = ca.SX(max(abs(self.lower), abs(self.upper)))
        for z in np.linspace(self.lower, self.upper, 9)[1:-1]:
            most = ca.fmax(most, self._radius(ca.SX(z), read))
        return most

    def parameters(self) -> tuple[Quantity, ...]:
        size = max(abs(self.lower), abs(self.upper))
        return (
            Quantity(name="x", unit="m", lower=-size, upper=size, symbol="x"),
            Quantity(name="y", unit="m", lower=-size, upper=size, symbol="y"),
            Quantity(name="z", unit="m", lower=self.lower, upper=self.upper, symbol="z"),
        )

    def chart(self, u: ca.SX, read: Reads) -> Chart:
        text = squared(self.profile) if isinstance(self.profile, str) else self.profile**2
        return level_chart(u[0] ** 2 + u[1] ** 2 - read.extended({"z": u[2]}).scalar(text), u)

    def turned(self, u: ca.SX, angle: ca.SX) -> ca.SX:
        return turn_about_z(u, angle)

    def guess(self, direction: ca.SX, read: Reads) -> ca.SX:
        across = ca.sqrt(direction[0] ** 2 + direction[1] ** 2 + 1e-30)
        best, most = ca.SX.zeros(3), ca.SX(-np.inf)
        for z in self.lower + (self.upper - self.lower) * (np.arange(41) + 0.5) / 41:
            r = self._radius(ca.SX(z), read)
            far = r * across + z * direction[2]
            here = ca.vertcat(r * direction[0] / across, r * direction[1] / across, z)
            best = ca.if_else(far > most, here, best)
            most = ca.fmax(most, far)
        return best

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        said = owner(path[:2])
        if not self.lower < self.upper:
            yield Finding(
                (*path, "lower"),
                f"{said} has a surface from z = {self.lower:g} to {self.upper:g} m",
                "give a lower end below the upper one",
            )
            return
        kinks = list(kink_faults((*path, "profile"), self.profile))
        yield from kinks
        z = self.lower + (self.upper - self.lower) * (np.arange(40) + 0.5) / 40
        at = ca.SX.sym("z")
        try:
            radius = self._radius(at, NumberReader(known.finite_parameters))
            values = np.array(ca.Function("r", [at], [ca.densify(radius)])(z[None, :])).ravel()
        except (KeyError, ValueError, RuntimeError):
            return  # a fault of its own
        is_good = values > 0
        if not kinks and not np.all(is_good):
            k = int(np.argmin(is_good))
            what = f"the radius {values[k]:.3g} m" if np.isfinite(values[k]) else "no radius"
            yield Finding(
                (*path, "profile"),
                f"{said} has {what} at z = {z[k]:.3g} m, between its ends",
                "give a profile that is positive from lower to upper, or nearer ends",
            )

    def picture(self, read: NumberReader) -> Array:
        inner = (1 - np.cos(np.linspace(0.0, np.pi, 33))) / 2
        z = self.lower + (self.upper - self.lower) * inner
        at = ca.SX.sym("z")
        r = np.array(ca.Function("r", [at], [self._radius(at, read)])(z[None, :])).ravel()
        r = np.nan_to_num(r)
        around = np.linspace(0.0, 2 * np.pi, 49)
        return np.stack(
            [np.outer(r, np.cos(around)), np.outer(r, np.sin(around)), np.outer(z, 1 + 0 * around)],
            axis=-1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParametricSurface(AbstractSurface):
    """Any smooth surface: its points are three expressions of ``u`` and ``v``."""

    #: position of a point, from the center, in the body frame, m
    position: Annotated[Vector3, Meaning(unit="m", own=("u", "v"))]
    #: u_range, v_range: ranges of the parameters u and v, for the search at the start and for
    #: drawing
    u_range: tuple[float, float]
    v_range: tuple[float, float]
    #: whether the outward normal is ∂p/∂v × ∂p/∂u instead of ∂p/∂u × ∂p/∂v
    is_reversed: bool = False

    word = "parametric"

    def reach(self, read: Reads) -> ca.SX | float:
        grid = parameter_grid(self.parameters(), 6)
        points = [self.point(ca.SX(u), read) for u in grid]
        return ca.mmax(ca.vertcat(*[ca.sqrt(ca.dot(p, p)) for p in points]))

    def parameters(self) -> tuple[Quantity, ...]:
        return free_parameters(self.u_range, self.v_range)

    def point(self, u: ca.SX, read: Reads) -> ca.SX:
        return ca.SX(read.extended({"u": u[0], "v": u[1]}).vector(self.position))

    def chart(self, u: ca.SX, read: Reads) -> Chart:
        return smooth_chart(self.point(u, read), u, -1.0 if self.is_reversed else 1.0)

    def picture(self, read: NumberReader) -> Array:
        points = AbstractSurface.picture(self, read)
        return points if self.is_reversed else points.transpose(1, 0, 2)

    def faults(self, path: Path, known: Vocabulary) -> Iterator[Finding]:
        return parametric_faults(path, self, known.finite_parameters, is_closed=True)


def _lathe(surface: AbstractSurface, lower: float, upper: float, read: NumberReader) -> Array:
    """Points of a surface about an axis, of its parameters angle and place along it."""
    return chart_points(
        lambda u: surface.point(ca.vertcat(u[1], u[0]), read),
        np.array([lower, -np.pi]),
        np.array([upper, np.pi]),
        (9, 49),
    )


def _marked(radius: float, width: float, center: Array, R: Array) -> Iterator[AbstractShape]:
    """A bar that shows how a wheel turns, and its hub."""
    yield Box(
        size=(0.85 * radius, radius / 7, 1.2 * width),
        frame=Placement.at(center + R[:, 0] * 0.45 * radius, R),
        color=MARK,
    )
    hub = Placement.at(center, R)
    yield Cylinder(radius=radius / 8, length=1.6 * width, frame=hub, color=RIM_COLOR)
