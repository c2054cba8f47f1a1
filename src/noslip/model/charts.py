"""Charts of surfaces: point, normal, tangents and curvature at parameters.

A surface is given by the point p(u) at two parameters, or as a level F(p) = 0 of three. With G the
metric of the tangents T = ∂p/∂u and n the normal that points away from the material, its curvature
is the tensor

    (1)  K = T G⁻¹ B G⁻¹ Tᵀ,  B_ij = −n·∂²p/∂u_i∂u_j       of a parametric surface
    (2)  K = (1 − nnᵀ) (∂²F/∂p²) (1 − nnᵀ) / |∂F/∂p|       of a level, F growing outwards

positive where the material is convex. It takes no part in the motion; where two surfaces touch, the
sum of their curvatures says whether they touch there alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, cross
from noslip.expressions import Call, Expression, Name, Number, Scalar, fold, parse
from noslip.model.findings import Finding, Path, owner
from noslip.model.number_reader import Array, NumberReader
from noslip.model.quantities import Quantity


class Chart(NamedTuple):
    """A surface at its parameters u, in its own axes.

    Parameters
    ----------
    point : p(u), m.
    normal : unit vector outwards.
    gradient : of a level; of a parametric surface the normal again.
    tangents : (3, 2) ∂p/∂u; None for a level.
    conditions : what vanishes on the surface, of a level; as many as there are parameters beyond 2.
    curvature : (3, 3) of the module's head, 1/m.
    """

    point: ca.SX
    normal: ca.SX
    gradient: ca.SX
    tangents: ca.SX | None
    conditions: tuple[ca.SX, ...]
    curvature: ca.SX


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
