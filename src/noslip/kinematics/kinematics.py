"""`Kinematics`, the second stage: poses, twists, constraint rows and the freedom basis, traced.

The equations of this stage:

    q̇ = N(q) v        r = A(q,t) v + a(q,t,w) = 0        v = S(q,t) η + s(q,t,w)

With K = [A; E] (independent rows, then the rows that define η = E v), S and s solve

    (1)  K S = [0; 1],   K s = [−a; 0]

and the tree accelerations at η̇ = 0, written v̇₀ = Ṡη + ṡ, solve the same system again:

    (2)  K v̇₀ = [−(Ȧv + ȧ); −Ėv],   so that v̇ = S η̇ + v̇₀

with Ȧv + ȧ the exact derivative of r at constant v. Nothing differentiates the solution of (1).

A contact that keeps all three of its rows says that a velocity vector vanishes. It is solved in the
axes of the body, where its matrix is simplest: the rows of K are then P A, with P the contact's
directions as columns, and the multipliers of A are λ = Pᵀ y of those of K. (Since r = 0, the rate
of P r is P ṙ.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np

from noslip.errors import Fault, ModelError
from noslip.kinematics import tree as tree_module
from noslip.kinematics.basis import (
    Array,
    Probe,
    Redundancy,
    independent_columns,
    independent_rows,
)
from noslip.kinematics.contacts import ContactTrace, trace_contact
from noslip.kinematics.linear import block_solve
from noslip.kinematics.rows import RowTrace, trace_rows
from noslip.kinematics.symbols import Reader, Symbols, named, parameter_reader
from noslip.kinematics.tree import Pair, Tree, build_tree
from noslip.model.contacts import Rolling
from noslip.model.model import Model
from noslip.model.quantities import Quantity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Health:
    """A number that must stay away from zero while the mechanism moves.

    Parameters
    ----------
    name : what it watches.
    kind : ``basis`` (another choice of independent speeds helps) or ``contact`` (nothing does).
    value : traced, about 1 at ordinary configurations.
    floor : below it another choice of independent speeds is taken.
    limit : below it, or below the floor where there is no other choice to take, the run stops.
    sentence : what the user reads then.
    """

    name: str
    kind: str
    value: ca.SX = field(repr=False)
    floor: float
    limit: float
    sentence: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinematics:
    """Everything about motion that knows no mass and no force, as traced expressions.

    Made by :func:`trace`. Letters as in the module's head; `v` and `vdot0` are expressions of η.
    """

    model: Model
    symbols: Symbols
    eta: ca.SX
    tree: Tree
    contacts: tuple[ContactTrace, ...]
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    independent_speeds: tuple[Quantity, ...]
    rows: tuple[RowTrace, ...]
    kept: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    length: float
    probe: Probe
    reader: Reader
    N: ca.SX
    A: ca.SX
    a: ca.SX
    E: ca.SX
    K: ca.SX
    a_solved: ca.SX
    P: ca.SX
    S: ca.SX
    s: ca.SX
    v: ca.SX
    vdot0: ca.SX
    health: tuple[Health, ...]

    @property
    def num_coordinates(self) -> int:
        """nq."""
        return len(self.coordinates)

    @property
    def num_speeds(self) -> int:
        """nv, tree speeds before the constraints."""
        return len(self.speeds)

    @property
    def num_independent_speeds(self) -> int:
        """nf, the degrees of freedom at the level of speeds."""
        return len(self.independent_speeds)

    @cached_property
    def twists(self) -> list[Pair]:
        """Twist of each body at v = Sη + s."""
        return tree_module.twists(self.tree, self.v)

    @cached_property
    def g(self) -> ca.SX:
        """Position forms of all holonomic rows."""
        return _stack([row.position for row in self.rows if row.position is not None])

    @cached_property
    def _speed_rows(self) -> ca.Function:
        s = self.symbols
        return ca.Function("E", [s.t, s.q, s.params], [ca.densify(self.E)])

    def independent_rows(self, t: float, q: Array, params: Array) -> Array:
        """E (nf×nv) in numbers: η = E v."""
        return np.array(self._speed_rows(t, q, params)).reshape(-1, self.num_speeds)

    def at_speeds(self, expression: ca.SX) -> ca.SX:
        """An expression of the tree speeds v, at v = Sη + s."""
        return ca.substitute([expression], [self.symbols.v], [self.v])[0]

    def __repr__(self) -> str:
        holonomic = sum(self.rows[k].is_holonomic for k in self.kept)
        return (
            f"Kinematics of '{self.model.name}': {self.num_coordinates} coordinates, "
            f"{self.num_speeds} tree speeds, {len(self.kept)} independent rows ({holonomic} "
            f"holonomic), {len(self.redundant)} redundant, {self.num_independent_speeds} degrees "
            "of freedom\nnext: noslip.derive(model)"
        )


def trace(model: Model, *, independent: tuple[str, ...] | None = None) -> Kinematics:
    """Kinematics of a model.

    Parameters
    ----------
    model : checked model.
    independent : tree speeds to write the equations in, instead of the model's own choice.

    Raises
    ------
    ModelError : if rows contradict each other, loops cannot be closed, or the chosen independent
        speeds do not determine the motion.
    """
    coordinates, speeds = _state_quantities(model)
    symbols = Symbols(
        t=ca.SX.sym("t"),
        q=ca.SX.sym("q", len(coordinates)),
        v=ca.SX.sym("v", len(speeds)),
        u=ca.SX.sym("u", len(model.inputs)),
        w=ca.SX.sym("w", len(model.speed_inputs)),
        wdot=ca.SX.sym("wdot", len(model.speed_inputs)),
        params=ca.SX.sym("p", len(model.parameters)),
    )
    parameters = parameter_reader(model, symbols.params)
    reader = parameters.extended(
        {
            "t": symbols.t,
            **named(coordinates, symbols.q),
            **named(speeds, symbols.v),
            **{i.name: symbols.u[k] for k, i in enumerate(model.inputs)},
        }
    )
    tree = build_tree(model, symbols.q, parameters)
    N = _block_diagonal([n.joint.type.kinematic_map(symbols.q[n.coordinates]) for n in tree.nodes])
    motion = tree_module.twists(tree, symbols.v)
    contacts = tuple(trace_contact(c, tree, motion, parameters) for c in model.contacts)
    speed_index = {speed.name: k for k, speed in enumerate(speeds)}
    rows = tuple(trace_rows(model, tree, symbols, N, contacts, reader, speed_index))
    velocity = _stack([row.velocity for row in rows])
    A = ca.jacobian(velocity, symbols.v)
    a = ca.substitute([velocity], [symbols.v], [ca.SX.zeros(len(speeds))])[0]

    probe = _probe(model, symbols, tree, coordinates, speeds, rows, N, A, a)
    samples = probe.configurations()
    if not samples:
        raise _cannot_close(model, rows)
    kept, redundant = independent_rows(probe, rows, samples)
    names, E = _independent_speeds(
        model, symbols, speeds, reader, independent, probe, kept, samples
    )

    # (1) K [S s] = [[0, −a], [1, 0]], the block form found by structure
    num_kept, num_free = len(kept), E.shape[0]
    _check_determined(model, probe, symbols, A, E, kept, names, samples)
    solved, P = _solved_rows(rows, contacts, kept)
    A_solved = ca.jacobian(solved, symbols.v)
    a_solved = ca.substitute([solved], [symbols.v], [ca.SX.zeros(len(speeds))])[0]
    K = ca.vertcat(A_solved, E)
    rhs = ca.vertcat(
        ca.horzcat(ca.SX(num_kept, num_free), -a_solved),
        ca.horzcat(ca.SX.eye(num_free), ca.SX(num_free, 1)),
    )
    eta = ca.SX.sym("eta", num_free)
    basis, pivots = block_solve(K, rhs)
    S, s = ca.sparsify(basis[:, :num_free]), basis[:, num_free]
    v = ca.mtimes(S, eta) + s
    # (2) the same matrix again, with the exact rate of each row at constant v
    direction = ca.vertcat(ca.mtimes(N, symbols.v), ca.SX(1), symbols.wdot)
    at = ca.vertcat(symbols.q, symbols.t, symbols.w)
    moving = ca.vertcat(solved, ca.mtimes(E, symbols.v))
    rate = ca.jtimes(moving, at, direction) if moving.shape[0] else ca.SX(0, 1)
    rate = ca.substitute([rate], [symbols.v], [v])[0]
    vdot0, _ = block_solve(K, -rate)
    return Kinematics(
        model=model,
        symbols=symbols,
        eta=eta,
        tree=tree,
        contacts=contacts,
        coordinates=coordinates,
        speeds=speeds,
        independent_speeds=names,
        rows=rows,
        kept=kept,
        redundant=redundant,
        length=probe.length,
        probe=probe,
        reader=reader,
        N=N,
        A=A,
        a=a,
        E=E,
        K=K,
        a_solved=a_solved,
        P=P,
        S=S,
        s=s,
        v=v,
        vdot0=vdot0,
        health=_health(model, symbols, probe, pivots, contacts, samples),
    )


def _state_quantities(model: Model) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    from noslip.model.topology import topology

    joints = topology(model).tree
    coordinates = tuple(c.renamed(j.name) for j in joints for c in j.type.coordinates)
    speeds = tuple(s.renamed(j.name) for j in joints for s in j.type.speeds)
    return coordinates, speeds


def _independent_speeds(
    model: Model,
    symbols: Symbols,
    speeds: tuple[Quantity, ...],
    reader: Reader,
    independent: tuple[str, ...] | None,
    probe: Probe,
    kept: tuple[int, ...],
    samples: list[tuple[float, Array]],
) -> tuple[tuple[Quantity, ...], ca.SX]:
    """Quantities η and the rows E with η = E v: as asked, as the model names them, or chosen."""
    index = {speed.name: k for k, speed in enumerate(speeds)}
    unit_rows = ca.SX.eye(len(speeds))
    if independent is None and not model.independent_speeds:
        chosen = independent_columns(probe, kept, samples)
        independent = tuple(speeds[k].name for k in chosen)
    if independent is not None:
        columns = [index[name] for name in independent]
        return tuple(speeds[k] for k in columns), ca.sparsify(unit_rows[columns, :])
    quantities, rows = [], []
    for speed in model.independent_speeds:
        if speed.expression:
            quantities.append(Quantity(name=speed.name, unit=speed.unit))
            rows.append(ca.jacobian(reader.scalar(speed.expression), symbols.v))
        else:
            quantities.append(speeds[index[speed.name]])
            rows.append(unit_rows[index[speed.name], :])
    return tuple(quantities), ca.sparsify(ca.vertcat(*rows))


def _solved_rows(
    rows: tuple[RowTrace, ...], contacts: tuple[ContactTrace, ...], kept: tuple[int, ...]
) -> tuple[ca.SX, ca.SX]:
    """The kept rows as they are solved, and P: a contact with all three rows in its body's axes."""
    solved: list[ca.SX] = []
    blocks: list[ca.SX] = []
    whole = {trace.contact.name: trace for trace in contacts}
    names = [rows[k].name for k in kept]
    k = 0
    while k < len(names):
        owner = names[k].rpartition(".")[0]
        trace = whole.get(owner)
        if trace is not None and names[k : k + 3] == [f"{owner}.{part}" for part in trace.slip]:
            solved += ca.vertsplit(trace.velocity_D)
            blocks.append(trace.axes_D)
            k += 3
        else:
            solved.append(rows[kept[k]].velocity)
            blocks.append(ca.SX(1))
            k += 1
    return _stack(solved), _block_diagonal(blocks)


def _check_determined(
    model: Model,
    probe: Probe,
    symbols: Symbols,
    A: ca.SX,
    E: ca.SX,
    kept: tuple[int, ...],
    names: tuple[Quantity, ...],
    samples: list[tuple[float, Array]],
) -> None:
    """[A; E] must be square and regular at some generic configuration."""
    freedom = A.shape[1] - len(kept)
    where = f"model '{model.name}', independent_speeds"
    listed = ", ".join(f"'{n.name}'" for n in names)
    if len(names) != freedom:
        raise ModelError(
            f"{len(names)} independent speeds are named ({listed}), but the mechanism has "
            f"{freedom} degrees of freedom",
            where,
            f"name {freedom}, or none to let them be chosen",
        )
    rows = ca.Function("E", [symbols.t, symbols.q, symbols.params], [E])
    worst = []
    for t, q in samples:
        scaled, _ = probe.matrix(q, t)
        scale = np.where(np.array(probe.is_angular, dtype=bool), probe.length, 1.0)
        K = np.vstack([scaled[list(kept)], np.array(rows(t, q, probe.params)) / scale[None, :]])
        K = K / np.maximum(np.linalg.norm(K, axis=1, keepdims=True), 1e-300)
        worst.append(float(np.linalg.svd(K, compute_uv=False)[-1]) if K.size else 1.0)
    if max(worst, default=1.0) < 1e-9:
        raise ModelError(
            f"the independent speeds {listed} do not determine the motion: the constraints tie "
            "them to each other",
            where,
            "choose other speeds, or none to let them be chosen",
        )


def _probe(
    model: Model,
    symbols: Symbols,
    tree: Tree,
    coordinates: tuple[Quantity, ...],
    speeds: tuple[Quantity, ...],
    rows: tuple[RowTrace, ...],
    N: ca.SX,
    A: ca.SX,
    a: ca.SX,
) -> Probe:
    values = np.array([p.value for p in model.parameters], dtype=float)
    t, q, w, params = symbols.t, symbols.q, symbols.w, symbols.params
    holonomic = tuple(k for k, row in enumerate(rows) if row.is_holonomic)
    g = _stack([row.position for row in rows if row.position is not None])
    quaternions = tuple(
        node.coordinates.start + node.joint.type.quaternion
        for node in tree.nodes
        if node.joint.type.quaternion is not None
    )
    distances = ca.Function(
        "d",
        [q, params],
        [_stack([ca.norm_2(n.p_PB) for n in tree.nodes if n.parent >= 0] + _radii(model, symbols))],
    )(np.array([0.5] * len(coordinates)), values)
    lengths = [float(d) for d in np.array(distances).ravel() if np.isfinite(d) and d > 1e-9]
    return Probe(
        constraint=ca.Function("A", [t, q, w, params], [ca.densify(A), a]),
        position=ca.Function("g", [t, q, params], [g]),
        kinematic_map=ca.Function("N", [q], [ca.densify(N)]),
        params=values,
        holonomic=holonomic,
        is_angular=tuple(speed.unit == "rad/s" for speed in speeds),
        length=float(np.median(lengths)) if lengths else 1.0,
        coordinate_range=np.array([[c.lower, c.upper] for c in coordinates]).reshape(-1, 2),
        quaternions=quaternions,
        num_speed_inputs=len(model.speed_inputs),
    )


def _radii(model: Model, symbols: Symbols) -> list[ca.SX]:
    reader = parameter_reader(model, symbols.params)
    return [reader.scalar(c.wheel.radius) for c in model.contacts if isinstance(c, Rolling)]


def _health(
    model: Model,
    symbols: Symbols,
    probe: Probe,
    pivots: list[ca.SX],
    contacts: tuple[ContactTrace, ...],
    samples: list[tuple[float, Array]],
) -> tuple[Health, ...]:
    """Pivots of K that move with the configuration, and how far each wheel is from lying flat."""
    result = []
    moving = [p for p in pivots if ca.depends_on(p, ca.vertcat(symbols.q, symbols.t))]
    if moving:
        values = ca.Function("p", [symbols.t, symbols.q, symbols.params], [_stack(moving)])
        numbers = np.array([np.array(values(t, q, probe.params)).ravel() for t, q in samples])
        usual = np.nanmedian(numbers, axis=0)
        least = moving[0] / float(usual[0])
        for pivot, scale in zip(moving[1:], usual[1:], strict=True):
            least = ca.fmin(least, pivot / float(scale))
        result.append(
            Health(
                name="independent speeds",
                kind="basis",
                value=least,
                floor=0.2,
                limit=1e-3,
                sentence="the constraints lose rank here, so that no independent speeds determine "
                "the motion",
            )
        )
    for trace in contacts:
        if trace.regularity is not None and ca.depends_on(trace.regularity, symbols.q):
            result.append(
                Health(
                    name=trace.contact.name,
                    kind="contact",
                    value=trace.regularity,
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"wheel '{trace.contact.name}' lies flat on its plane, where it "
                    "touches along a whole circle and rolling is not defined",
                )
            )
    return tuple(result)


def _cannot_close(model: Model, rows: tuple[RowTrace, ...]) -> ModelError:
    names = ", ".join(f"'{row.name}'" for row in rows if row.is_holonomic)
    fault = Fault(
        f"no configuration satisfies the holonomic rows {names}",
        f"model '{model.name}'",
        "check link lengths, frames and radii: the loop cannot be closed or the wheel cannot reach "
        "its plane",
    )
    return ModelError.from_faults([fault])


def _block_diagonal(blocks: list[ca.SX]) -> ca.SX:
    return ca.diagcat(*blocks) if blocks else ca.SX(0, 0)


def _stack(entries: list[ca.SX]) -> ca.SX:
    return ca.vertcat(*entries) if entries else ca.SX(0, 1)
