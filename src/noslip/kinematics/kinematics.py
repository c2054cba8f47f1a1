"""`Kinematics`, the second stage: poses, twists, rows and null-space basis, traced.

**Measures of the motion that expressions may use: points, axes and rates, traced.**

    point         p_W = p_WB + R_WB p          velocity              ṗ_W = R_WD (v_D + ω_D × R_DB p)
    axis          e_W = R_WB e                 angular velocity      ω_W = R_WD ω_D
    rate          ẋ = ∂x/∂q N v + ∂x/∂t + ∂x/∂v v̇

Accelerations are rates of velocities. They need v̇, which only solved equations have.

**`Kinematics`, the second stage: poses, twists, constraint rows and null-space basis, traced.**

The equations of this stage:

    q̇ = N(q) v        r = A(q,t) v + a(q,t,w) = 0        v = S(q,t) η + s(q,t,w)

With K = [A; E] (independent rows, then the rows that define η = E v), S and s solve

    (1)  K S = [0; 1],   K s = [−a; 0]

and the tree accelerations at η̇ = 0, written v̇₀ = Ṡη + ṡ, solve the same system again:

    (2)  K v̇₀ = [−(Ȧv + ȧ); −Ėv],   so that v̇ = S η̇ + v̇₀

with Ȧv + ȧ the exact derivative of r at constant v. Nothing differentiates the solution of (1).

Rows that repeat each other with shares that vary are solved together, by least squares: with D the
speeds they determine, A_Dᵀ r = 0 are as many equations as these rows have rank, everywhere. (Again
their rate is A_Dᵀ ṙ, since r = 0.)

A contact that keeps all three of its rows says that a velocity vector vanishes. It is solved in the
axes of a body, where its matrix is simplest: the rows of K are then P A, with P the contact's
directions as columns, and the multipliers of A are λ = Pᵀ y of those of K. (Since r = 0, the rate
of P r is P ṙ.) A mechanism that rolls on its base is solved for speeds at that point
(`rolling_base`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, block_diagonal, cross, stack, traced_angles, vector
from noslip.base import (
    Array,
    Fault,
    ModelError,
    SimulationError,
    counted,
    interruptible,
    nearest,
)
from noslip.expressions import RATE, Measure
from noslip.kinematics import tree as tree_module
from noslip.kinematics.basis import (
    DEPENDENT,
    BasisChoice,
    BasisRule,
    Probe,
    Redundancy,
    SingularityMeasure,
    compressed,
    dependent_columns,
    find_singularity_measures,
    make_probe,
    regular_bases,
    unplaced_rows,
    usual_sizes,
)
from noslip.kinematics.constraint_rows import (
    ContactTrace,
    Literals,
    RowTrace,
    TermSizes,
    guess_places,
    term_sizes,
    trace_contact,
    trace_rows,
)
from noslip.kinematics.dependent_speeds import (
    BasisAtContact,
    SpeedPartition,
    TracedMechanism,
    partition_speeds,
)
from noslip.kinematics.tree import (
    Pair,
    Reader,
    Symbols,
    Tree,
    build_tree,
    frame_pose,
    named,
    parameter_reader,
)
from noslip.model import (
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    SPIN,
    WORLD,
    AbstractContact,
    Joint,
    Model,
    NumberReader,
    Quantity,
    in_order,
    place_rate,
    topology,
)

_ZERO3 = vector([0, 0, 0])
_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """Reads measures of a mechanism."""

    #: tree, twists: tree, and twists of the bodies for speeds v
    tree: Tree
    twists: list[Pair]
    #: symbols, N: symbols in which they are traced, with q̇ = N v
    symbols: Symbols
    N: ca.SX
    vdot: ca.SX | None = None  #: v̇, where it is known

    def __call__(self, measure: Measure, arguments: list[ca.SX]) -> ca.SX:
        """The traced value of a measure, from those of its arguments."""
        if measure.word == RATE:
            return self.rate(ca.SX(arguments[0]))
        place = vector(arguments) if arguments else _ZERO3
        match measure.word:
            case "point":
                found = self._point(measure.body, place)
            case "velocity":
                found = self._velocity(measure.body, place)
            case "acceleration":
                found = self.rate(self._velocity(measure.body, place))
            case "axis":
                found = self._orientation(measure.body)[:, _AXES.index(measure.axis)]
            case "angular_velocity":
                found = self._angular_velocity(measure.body)
            case _:
                found = self.rate(self._angular_velocity(measure.body))
        return found[_AXES.index(measure.part)]

    def rate(self, expression: ca.SX) -> ca.SX:
        """Rate in time of an expression along the motion."""
        s = self.symbols
        if ca.depends_on(expression, ca.vertcat(s.u, s.w)):
            raise SimulationError(
                "the rate of an input is requested",
                "an expression with rate(…)",
                "take rates of coordinates, speeds and measures; inputs may jump",
            )
        at, along = ca.vertcat(s.q, s.t), ca.vertcat(ca.mtimes(self.N, s.v), ca.SX(1))
        if ca.depends_on(expression, s.v):
            if self.vdot is None:
                raise SimulationError(
                    "an acceleration is used where accelerations are not known yet",
                    "an expression with rate(…) or acceleration(…)",
                    "use accelerations in outputs; inputs, events and rows can use only "
                    "positions and speeds",
                )
            at, along = ca.vertcat(at, s.v), ca.vertcat(along, self.vdot)
        return ca.jtimes(expression, at, along)

    def _point(self, body: str, place: ca.SX) -> ca.SX:
        k = self.tree.index[body]
        if k < 0:
            return place
        node = self.tree.nodes[k]
        return node.p_WB + ca.mtimes(node.R_WB, place)

    def _velocity(self, body: str, place: ca.SX) -> ca.SX:
        k = self.tree.index[body]
        if k < 0:
            return _ZERO3
        node, (w_D, v_D) = self.tree.nodes[k], self.twists[k]
        return ca.mtimes(node.R_WD, v_D + cross(w_D, ca.mtimes(node.R_DB, place)))

    def _orientation(self, body: str) -> ca.SX:
        k = self.tree.index[body]
        return EYE3 if k < 0 else self.tree.nodes[k].R_WB

    def _angular_velocity(self, body: str) -> ca.SX:
        k = self.tree.index[body]
        return _ZERO3 if k < 0 else ca.mtimes(self.tree.nodes[k].R_WD, self.twists[k][0])

    def named_angles(self) -> dict[str, ca.SX]:
        """Named angles of orientations and their rates, by name."""
        found = {}
        for node in self.tree.nodes:
            angles, at = node.joint.type.named_angles(), node.joint.type.quaternion
            if angles is None or at is None:
                continue
            first = node.coordinates.start + at
            values = traced_angles(self.symbols.q[first : first + 4], angles.sequence)
            for name, value in zip(angles.names, ca.vertsplit(ca.SX(values)), strict=True):
                found[f"{node.joint.name}.{name}"] = value
                found[f"{node.joint.name}.{name}_rate"] = self.rate(value)
        return found


#: Normals of planes whose sine is smaller than this are parallel.
PARALLEL = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinematics:
    """Kinematics of a model, independent of masses and forces, as traced expressions.

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
    row_basis: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    length: float
    probe: Probe
    reader: Reader
    N: ca.SX
    motion: list[Pair]  # twist of each body for tree speeds v, the symbols
    E: ca.SX
    velocities: ca.SX
    solved: ca.SX
    P: ca.SX
    S: ca.SX
    s: ca.SX
    v: ca.SX
    vdot0: ca.SX
    singularity_measures: tuple[SingularityMeasure, ...]
    at_contact: BasisAtContact | None = None
    #: Rows written by hand that do not say where they act, with the reason.
    unplaced: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Rows of contacts that do not hold now: those of what slides or is off its ground.
    released: tuple[str, ...] = ()
    combination: ca.SX | None = None  # of all rows to those that are independent, where some repeat

    #: nq, nv and nf: coordinates, tree speeds before the constraints, and independent ones.
    num_coordinates: int = dataclasses.field(init=False)
    num_speeds: int = dataclasses.field(init=False)
    num_independent_speeds: int = dataclasses.field(init=False)
    #: Coordinates at the end of q, and their rates at the end of v, that contacts own.
    num_places: int = dataclasses.field(init=False)
    #: Whether matrices of all rows and speeds are too large to be formed without need.
    is_long: bool = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_coordinates", len(self.coordinates))
        object.__setattr__(self, "num_speeds", len(self.speeds))
        object.__setattr__(self, "num_independent_speeds", len(self.independent_speeds))
        object.__setattr__(self, "num_places", self.probe.num_places)
        object.__setattr__(self, "is_long", self.probe.is_long)

    @cached_property
    def rest(self) -> Array:
        """(nq,) coordinates with all joints at rest and contacts about where they then touch."""
        of_joints = [r for node in self.tree.nodes for r in node.joint.type.rest]
        q = np.array(of_joints + [0.0] * self.num_places, dtype=float)
        return self.probe.with_places(q[None])[0]

    @cached_property
    def force_states(self) -> tuple[Quantity, ...]:
        """z: states of forces that have some of their own, in order."""
        return tuple(state for force in self.model.forces for state in force.states())

    @cached_property
    def A(self) -> ca.SX:
        """Rows (nc×nv): A v + a = 0, the redundant ones included."""
        return ca.jacobian(self.velocities, self.symbols.v)

    @cached_property
    def a(self) -> ca.SX:
        """Rows at v = 0, (nc,)."""
        return self._at_rest(self.velocities)

    @cached_property
    def K(self) -> ca.SX:
        """The rows as they are solved, then those of η = E v: (nv×nv)."""
        return ca.vertcat(ca.jacobian(self.solved, self.symbols.v), self.E)

    @cached_property
    def a_solved(self) -> ca.SX:
        """The rows as they are solved, at v = 0."""
        return self._at_rest(self.solved)

    @cached_property
    def independent_A(self) -> ca.SX:
        """The matrix of as many rows as there are independent ones: those kept, or combinations."""
        return self.independent(self.A)

    @cached_property
    def independent_a(self) -> ca.SX:
        """a of these rows."""
        return self.independent(self.a)

    def independent(self, values: ca.SX) -> ca.SX:
        """Values (nc, …) of all rows as those of the independent ones; of rates of rows, too."""
        if self.combination is None:
            return values[list(self.row_basis), :]
        return ca.mtimes(self.combination, values)

    @cached_property
    def row_values(self) -> ca.SX:
        """A v + a at v = Sη + s: zero but for rounding, (nc,)."""
        if self.is_long:
            return self.at_speeds(self.velocities)
        # not by putting v in, where what should vanish may cancel before it is computed
        return ca.mtimes(self.A, self.v) + self.a

    @property
    def self_satisfied(self) -> list[int]:
        """Rows that hold by themselves: what A has of them is rounding."""
        return [r.row for r in self.redundant if not r.follows_from]

    def _at_rest(self, rows: ca.SX) -> ca.SX:
        return ca.substitute([rows], [self.symbols.v], [ca.SX.zeros(self.num_speeds)])[0]

    @cached_property
    def twists(self) -> list[Pair]:
        """Twist of each body at v = Sη + s."""
        return tree_module.twists(self.tree, self.v)

    @cached_property
    def g(self) -> ca.SX:
        """Position forms of all holonomic rows."""
        return stack([row.position for row in self.rows if row.position is not None])

    @cached_property
    def held_positions(self) -> tuple[int, ...]:
        """Holonomic rows that are kept, and those that repeat them with shares that vary."""
        varying = [r.row for r in self.redundant if r.varies]
        return tuple(k for k in sorted([*self.row_basis, *varying]) if self.rows[k].is_holonomic)

    @cached_property
    def independent_positions(self) -> tuple[ca.SX, ca.SX]:
        """Independent holonomic equations: their matrix on v, and their values.

        Where rows repeat each other with shares that vary, with D the speeds that all of them
        determine best: G_Dᵀ g = 0.
        """
        rows = list(self.held_positions)
        g = stack([g for k in rows if (g := self.rows[k].position) is not None])
        G = ca.densify(self.A[rows, :])
        if set(rows) <= set(self.row_basis):
            return G, g
        samples = self.probe.configurations(self.probe.num_samples)
        A = np.array([self.probe.matrix(q, t)[0][rows] for t, q in samples])
        A /= self._row_scale[rows, None]
        rank = int(np.linalg.matrix_rank(A, DEPENDENT).max())
        back = G[:, list(dependent_columns(compressed(A, rank)))].T
        return ca.mtimes(back, G), ca.mtimes(back, g)

    @cached_property
    def _speed_rows(self) -> ca.Function:
        s = self.symbols
        return ca.Function("E", [s.t, s.q, s.params], [ca.densify(self.E)])

    def why_unplaced(self, rows: tuple[str, ...]) -> str:
        """Reasons why rows written by hand do not say where they push."""
        reasons: dict[str, list[str]] = {}
        for name in rows:
            reasons.setdefault(self.unplaced[name], []).append(f"'{name}'")
        return "; ".join(f"row {' and row '.join(names)} {why}" for why, names in reasons.items())

    def independent_rows(self, t: float, q: Array, params: Array) -> Array:
        """E (nf×nv) in numbers: η = E v."""
        shape = self.num_independent_speeds, self.num_speeds
        return np.array(self._speed_rows(t, q, params)).reshape(shape)

    def independent_values(self, t: Array, q: Array, v: Array, params: Array) -> Array:
        """η (n, nf) at times (n,), coordinates (n, nq) and tree speeds (n, nv).

        `params` are (np,) or one row for each.
        """
        n, num = len(t), self.num_independent_speeds
        if not n or not num:
            return np.zeros((n, num))
        symbols = self.symbols
        known = ca.vertcat(symbols.t, symbols.q)
        if params.ndim > 1:
            known = ca.vertcat(known, symbols.params)
        if not ca.depends_on(self.E, known):
            params = params if params.ndim == 1 else params[0]
            return v @ self.independent_rows(t[0], q[0], params).T
        repeated = np.broadcast_to(params, (n, params.shape[-1])).T
        stacked = np.array(self._speed_rows.map(n)(t[None, :], q.T, repeated))
        E = stacked.reshape(num, n, self.num_speeds)
        return np.einsum("fnv,nv->nf", E, v)

    @cached_property
    def _row_scale(self) -> Array:
        return usual_sizes(self.probe, self.probe.configurations(self.probe.num_samples))

    @cached_property
    def basis_rule(self) -> BasisRule:
        """What a choice of rows and speeds is made from, here or where Python is not."""
        probe, names = self.probe, [s.name for s in self.speeds]
        # rows of closest points determine the rates that contacts own, and nothing else
        repeated = [r.row for r in self.redundant if r.follows_from]
        own = [s.name for s in self.independent_speeds]
        dependent = None
        if set(own) <= set(names):
            dependent = tuple(
                k for k, name in enumerate(names) if name not in own and k not in probe.places
            )
        rows = sorted([*self.row_basis, *repeated])
        return BasisRule(
            rows=tuple(k for k in rows if k not in probe.closest),
            kept=tuple(k for k in self.row_basis if k not in probe.closest),
            dependent=dependent,
            holonomic=tuple(probe.holonomic),
            sizes=self._row_scale[:, None] * probe.scale,
            same_rows=self.combination is not None,
        )

    def rule_matrix(self) -> ca.SX | None:
        """A over the sizes of the rule, traced; None where rows are found by closest points."""
        probe = self.probe
        if not isinstance(probe.constraint, ca.Function) or probe.places:
            return None
        w = ca.SX.zeros(probe.num_speed_inputs)
        A = probe.constraint(self.symbols.t, self.symbols.q, w, self.symbols.params)[0]
        return ca.densify(A / ca.DM(self.basis_rule.sizes))

    def regular_bases(
        self, t: Array, q: Array, params: Array, *, same_rows: bool = False
    ) -> list[BasisChoice | None]:
        """Rows and speeds that determine the motion best, at each of n configurations by itself.

        None where the rows have no value.

        Parameters
        ----------
        t, q, params : (n,) s, (n, nq) and (n, np).
        same_rows : whether the rows that are kept stay.
        """
        rule = self.basis_rule
        matrices = self.probe.matrices(t, q, params) / rule.sizes
        finite = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
        closest, places = self.probe.closest, self.probe.places
        found = list[BasisChoice | None]([None] * len(t))
        chosen = regular_bases(
            matrices[finite][:, :, : self.num_speeds - len(places)],
            rule.rows,
            rule.kept,
            rule.dependent,
            holonomic=rule.holonomic,
            same_rows=same_rows or rule.same_rows,
        )
        for k, choice in zip(finite.tolist(), chosen, strict=True):
            found[k] = choice
            if places:
                found[k] = choice._replace(
                    rows=tuple(sorted([*choice.rows, *closest])),
                    dependent=(*choice.dependent, *places),
                )
        return found

    def measures(self, vdot: ca.SX) -> Measures:
        """Reader of measures of the motion where v̇ is known."""
        return Measures(
            tree=self.tree, twists=self.motion, symbols=self.symbols, N=self.N, vdot=vdot
        )

    @cached_property
    def acting_inputs(self) -> ca.SX:
        """u as it acts: inputs of brakes count only where they are positive."""
        pressed = {name for force in self.model.forces for name in force.pressed()}
        u = self.symbols.u
        return ca.vertcat(
            ca.SX(0, 1),
            *(
                ca.fmax(u[k], 0) if i.name in pressed else u[k]
                for k, i in enumerate(self.model.inputs)
            ),
        )

    def is_between(self, joint: Joint, contact: AbstractContact) -> bool:
        """Whether a contact is between the parent of a joint and what the joint's child carries."""
        if contact.plane.body != joint.parent:
            return False
        k = self.tree.index[contact.body]
        while k >= 0 and self.tree.nodes[k].body.name != joint.child:
            k = self.tree.nodes[k].parent
        return k >= 0

    def wheels_under(self, joint: Joint, params: Array) -> list[int]:
        """Contacts that are wheels under a planar joint, on planes parallel to the joint's."""
        if not joint.type.is_planar:
            return []
        found = []
        for k, trace in enumerate(self.contacts):
            contact = trace.contact
            if not contact.is_wheel or contact.is_met or not self.is_between(joint, contact):
                continue
            normals = [
                frame_pose(frame, self.reader)[0][:, 2]
                for frame in (joint.parent_frame, contact.plane.frame)
            ]
            numbers = ca.Function("normals", [self.symbols.params], normals)(params)
            of_joint, of_ground = (np.array(x).ravel() for x in numbers)
            if np.linalg.norm(np.cross(of_joint, of_ground)) < PARALLEL:
                found.append(k)
        return found

    def at_speeds(self, expression: ca.SX) -> ca.SX:
        """An expression of the tree speeds v, at v = Sη + s."""
        return ca.substitute([expression], [self.symbols.v], [self.v])[0]

    def __repr__(self) -> str:
        holonomic = sum(self.rows[k].is_holonomic for k in self.row_basis)
        return (
            f"Kinematics of '{self.model.name}': {counted(self.num_coordinates, 'coordinate')}, "
            f"{counted(self.num_speeds, 'tree speed')}, "
            f"{counted(len(self.row_basis), 'independent row')} ({holonomic} holonomic), "
            f"{len(self.redundant)} redundant, "
            f"{counted(self.num_independent_speeds, 'degree of freedom', 'degrees of freedom')}\n"
            "next: noslip.derive(model)"
        )


@interruptible
def trace(
    model: Model,
    *,
    independent: tuple[str, ...] | None = None,
    row_basis: tuple[int, ...] | None = None,
    values: Array | None = None,
    near: tuple[float, Array] | None = None,
    released: tuple[str, ...] = (),
) -> Kinematics:
    """Kinematics of a model.

    Parameters
    ----------
    model : checked model.
    independent : tree speeds to write the equations in, instead of the model's own choice.
    row_basis : rows to solve, as many as there are independent ones; by default the first of these.
    values : (np,) parameters at which all this is chosen and scaled, instead of the nominal ones.
    near : time, s, and coordinates on the branch of configurations that is meant; by default the
        one with the most degrees of freedom.
    released : rows of contacts that do not hold: those of what slides or is off its ground. Slips
        along them become independent speeds.

    Raises
    ------
    ModelError : if rows contradict each other, loops cannot be closed, or the chosen independent
        speeds do not determine the motion.
    """
    coordinates, speeds = _state_quantities(model)
    directions = (LONGITUDINAL, LATERAL, NORMAL, SPIN)
    of_contacts = [f"{contact.name}.{d}" for contact in model.contacts for d in directions]
    for word, given, known in (
        ("independent speed", independent or (), [speed.name for speed in speeds]),
        ("row of a contact", released, of_contacts),
    ):
        for name in given:
            if name not in known:
                where = f"trace of model '{model.name}'"
                raise ModelError(f"there is no {word} '{name}'", where, nearest(str(name), known))
    symbols = Symbols(
        t=ca.SX.sym("t"),
        q=ca.SX.sym("q", len(coordinates)),
        v=ca.SX.sym("v", len(speeds)),
        z=ca.SX.sym("z", sum(len(force.states()) for force in model.forces)),
        u=ca.SX.sym("u", len(model.inputs)),
        w=ca.SX.sym("w", len(model.speed_inputs)),
        wdot=ca.SX.sym("wdot", len(model.speed_inputs)),
        params=ca.SX.sym("p", len(model.parameters)),
    )
    reader, tree, N, motion, contacts, rows = _motions(
        model, symbols, coordinates, speeds, parameter_reader(model, symbols.params), released
    )
    velocities = stack([row.velocity for row in rows])

    @cache
    def sizes() -> TermSizes:
        literals = Literals()
        parameters = parameter_reader(model, symbols.params, literals)
        again = _motions(model, symbols, coordinates, speeds, parameters, released).rows
        return term_sizes(symbols, stack([row.velocity for row in again]), literals)

    probe = make_probe(
        model,
        symbols,
        tree,
        coordinates,
        speeds,
        rows,
        N,
        velocities,
        lambda *at: sizes()(*at),
        stack([guess_places(contact, tree, motion, reader) for contact in model.contacts]),
    )
    if values is not None:
        if np.shape(values) != (len(model.parameters),):
            raise ModelError(
                f"values has the shape {np.shape(values)} for {len(model.parameters)} parameters",
                f"argument of trace, model '{model.name}'",
                "give one number for each parameter, in their order",
            )
        probe = dataclasses.replace(probe, params=values)
    if near is None:
        samples = probe.configurations(probe.num_samples)
    else:
        probe = dataclasses.replace(probe, rank=probe.rank_at(near[1], near[0]))
        samples = probe.configurations_near(*near, probe.num_samples)
    if not samples:
        raise _cannot_close(model, rows)
    traced = TracedMechanism(
        model=model,
        symbols=symbols,
        reader=reader,
        tree=tree,
        contacts=contacts,
        rows=rows,
        speeds=speeds,
        index={speed.name: k for k, speed in enumerate(speeds)},
        probe=probe,
        samples=samples,
        released=released,
    )
    partition = partition_speeds(traced, independent, row_basis)

    # (1) K [S s] = [[0, −a], [1, 0]]
    num_rows, num_free = partition.solved.shape[0], len(partition.names)
    at_rest = ca.substitute([partition.solved], [symbols.v], [ca.SX.zeros(len(speeds))])[0]
    basis, pivots = partition.solve(
        ca.horzcat(ca.SX(num_rows, num_free), -at_rest),
        ca.horzcat(ca.SX.eye(num_free), ca.SX(num_free, 1)),
    )
    eta = ca.SX.sym("eta", num_free)
    S, s = ca.sparsify(basis[:, :num_free]), basis[:, num_free]
    v = ca.mtimes(S, eta) + s
    rolling_base = partition.rolling_base
    tree_speeds = rolling_base.tree_speeds if rolling_base else ca.densify
    # (2) the same matrix again, with the exact rate of each row at constant v
    rates = _row_rates(traced, partition, N, motion)
    rate = ca.substitute([rates], [symbols.v], [tree_speeds(v)])[0]
    vdot0, _ = partition.solve(-rate[:num_rows, :], -rate[num_rows:, :])
    rolling = rolling_base.seen_from_base(contacts) if rolling_base else contacts
    return Kinematics(
        model=model,
        symbols=symbols,
        eta=eta,
        tree=tree,
        contacts=contacts,
        coordinates=coordinates,
        speeds=speeds,
        independent_speeds=partition.names,
        rows=rows,
        row_basis=partition.row_basis,
        redundant=partition.redundant,
        length=probe.length,
        probe=partition.probe,
        reader=reader,
        N=N,
        motion=motion,
        E=partition.E,
        velocities=velocities,
        solved=partition.solved,
        P=partition.P,
        S=ca.sparsify(tree_speeds(S)),
        s=tree_speeds(s),
        v=tree_speeds(v),
        vdot0=tree_speeds(vdot0),
        combination=partition.combination,
        released=released,
        unplaced=unplaced_rows(
            [
                (row, velocities[len(rows) - len(model.rows) + k])
                for k, row in enumerate(model.rows)
            ],
            tree,
            symbols,
            reader,
            [speed.name for speed in speeds],
            partition.samples,
            probe.params,
        )
        if model.rows
        else {},
        singularity_measures=find_singularity_measures(
            symbols, probe, pivots, rolling, partition.samples
        ),
        at_contact=BasisAtContact(rolling_base=rolling_base, S=S, v=v, vdot0=vdot0)
        if rolling_base
        else None,
    )


class _TracedGeometry(NamedTuple):
    """Geometry of a model: N, twists, contacts and rows, before speeds are partitioned."""

    reader: Reader
    tree: Tree
    N: ca.SX
    twists: list[Pair]
    contacts: tuple[ContactTrace, ...]
    rows: tuple[RowTrace, ...]


def _motions(
    model: Model,
    symbols: Symbols,
    coordinates: tuple[Quantity, ...],
    speeds: tuple[Quantity, ...],
    parameters: Reader,
    released: tuple[str, ...] = (),
) -> _TracedGeometry:
    """Trace N, twists, contacts and rows; `parameters` reads expressions of parameters."""
    reader = parameters.extended(
        {
            "t": symbols.t,
            **named(coordinates, symbols.q),
            **named(speeds, symbols.v),
            **{i.name: symbols.u[k] for k, i in enumerate(model.inputs)},
        }
    )
    placed, lengths = _of_unit_length(model, symbols.q)
    tree = build_tree(model, placed, parameters)
    maps = [n.joint.type.kinematic_map(placed[n.coordinates, :]) for n in tree.nodes]
    N = block_diagonal([*maps, *[ca.SX.eye(v.stop - v.start) for _, _, v in tree.places]])
    for start, length in lengths.items():
        N[start : start + 4, :] *= length
    motion = tree_module.twists(tree, symbols.v)
    measures = Measures(tree=tree, twists=motion, symbols=symbols, N=N)
    reader = reader.extended(measures.named_angles(), measures)
    texts = {d.name: d.expression for d in model.definitions}
    for name in in_order(texts)[0]:
        reader = reader.extended({name: reader.scalar(texts[name])})
    contacts = tuple(
        trace_contact(c, tree, motion, parameters, q=symbols.q, v=symbols.v) for c in model.contacts
    )
    speed_index = {speed.name: k for k, speed in enumerate(speeds)}
    rows = trace_rows(model, tree, symbols, N, contacts, reader, speed_index)
    rows = [row for row in rows if row.name not in released]
    return _TracedGeometry(reader, tree, N, motion, contacts, tuple(rows))


def _of_unit_length(model: Model, q: ca.SX) -> tuple[ca.SX, dict[int, ca.SX]]:
    """Coordinates with the lengths of quaternions of round bodies that roll divided out, and these.

    Stages of a step leave the unit sphere. A ball at 300 rad/s that rolls 300 m is then off by
    5e-7 m, at the tolerance 1e-9, and without that by 4e-12 m. Rates of the quaternions keep the
    lengths, by which errors of steps are seen.
    """
    round_bodies = {c.body for c in model.contacts if c.is_round}
    lengths: dict[int, ca.SX] = {}
    if not round_bodies:
        return q, lengths
    entries, at = ca.vertsplit(q), 0
    for joint in topology(model).tree:
        start = joint.type.quaternion
        if start is not None and joint.child in round_bodies:
            own = slice(at + start, at + start + 4)
            part = ca.vertcat(*entries[own])
            lengths[at + start] = ca.norm_2(part)
            entries[own] = ca.vertsplit(part / lengths[at + start])
        at += len(joint.type.coordinates)
    return ca.vertcat(*entries), lengths


def _row_rates(
    traced: TracedMechanism, partition: SpeedPartition, N: ca.SX, motion: list[Pair]
) -> ca.SX:
    """Rates of the solved rows and of E v at constant v, along q̇ = N v.

    A normal n of the ground turns in the axes of a wheel's body by ṅ = −ω_D × n. Where it does, the
    rows are differentiated by it instead of by all coordinates that turn the body.
    """
    symbols, tree = traced.symbols, traced.tree
    closed = partition.rolling_base.wheels if partition.rolling_base else {}
    normals: dict[str, tuple[ca.SX, ca.SX, ca.SX]] = {}  # contact → symbol, value and rate
    for trace in traced.contacts:
        name, n = trace.contact.name, trace.normal_D
        if name in closed or trace.contact.plane.body != WORLD or not trace.contact.is_flat:
            continue
        if ca.depends_on(n, symbols.q):
            w_D = tree_module.turning(tree, motion, tree.index[trace.contact.body])
            normals[name] = (ca.SX.sym("n", 3), n, -cross(w_D, n))
    solved = partition.solved_of(traced.contacts, traced.rows)
    if normals:
        contacts = tuple(
            trace_contact(t.contact, tree, motion, traced.reader, normals[t.contact.name][0])
            if t.contact.name in normals
            else t
            for t in traced.contacts
        )
        rows = trace_rows(traced.model, tree, symbols, N, contacts, traced.reader, traced.index)
        held = tuple(row for row in rows if row.name not in traced.released)
        solved = partition.solved_of(contacts, held)
    others = [k for k in range(solved.shape[0]) if k not in partition.rates]
    moving = ca.vertcat(solved[others, :], ca.mtimes(partition.E, symbols.v))
    if not moving.shape[0]:
        return ca.vertcat(ca.SX(0, 1), *[partition.rates[k] for k in range(len(partition.rates))])
    given, values, turning = ([n[k] for n in normals.values()] for k in range(3))
    at = ca.vertcat(symbols.q, symbols.t, symbols.w, *given)
    along = ca.vertcat(ca.mtimes(N, symbols.v), ca.SX(1), symbols.wdot, *turning)
    found = ca.jtimes(moving, at, along)
    if given:
        found = ca.substitute([found], [ca.vertcat(*given)], [ca.vertcat(*values)])[0]
    by_row = dict(zip(others, ca.vertsplit(found[: len(others), :]), strict=True)) if others else {}
    by_row |= partition.rates
    of_rows = ca.vertcat(ca.SX(0, 1), *[by_row[k] for k in range(len(by_row))])
    return ca.vertcat(partition.combined(of_rows), found[len(others) :, :])


def _state_quantities(model: Model) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    joints = topology(model).tree
    read = NumberReader(model.parameter_values())
    coordinates: list[Quantity] = []
    for joint in joints:
        own = [c.renamed(joint.name) for c in joint.type.coordinates]
        if joint.limits is not None:
            # the usual range ends at the joint's limits, or is beyond them
            low, high = (float(read.scalar(end)) for end in joint.limits)
            for k, c in enumerate(own):
                ends = max(c.lower, low), min(c.upper, high)
                lower, upper = ends if ends[0] < ends[1] else (low, high)
                own[k] = dataclasses.replace(c, lower=lower, upper=upper)
        coordinates += own
    speeds = tuple(s.renamed(j.name) for j in joints for s in j.type.speeds)
    places = tuple(q.renamed(c.name) for c in model.contacts for q in c.parameters())
    return (*coordinates, *places), speeds + tuple(place_rate(q) for q in places)


def _cannot_close(model: Model, rows: tuple[RowTrace, ...]) -> ModelError:
    names = ", ".join(f"'{row.name}'" for row in rows if row.is_holonomic)
    fault = Fault(
        f"no configuration satisfies the holonomic rows {names}",
        f"model '{model.name}'",
        "check link lengths, frames and radii: the loop cannot be closed or the wheel cannot reach "
        "its plane",
    )
    return ModelError.from_faults([fault])
