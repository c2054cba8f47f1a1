"""Nonholonomic joints: Hamel terms worked out once per joint and reused in any mechanism.

The idea of [CameronBook1993]: the extra terms of the Boltzmann–Hamel equations belong to joints,
not to mechanisms. A nonholonomic joint is a joint of the tree together with the rows of its wheels
or blades; it is recognized here and is no element of the model. All other coordinates keep
Lagrange's equations.

With w = K v, the Hamel terms on w are K⁻ᵀ of those on the tree speeds v:

    (1)  h_w = K⁻ᵀ ( h_v(P_v) + Σ_l P_l curl_l ),   P_v = KᵀP

h_v comes from the joint types alone, whose speeds are body-fixed (`AbstractJointType.hamel_terms`):

    revolute, prismatic    0
    planar                 h_vx = −θ̇ P_vy,  h_vy = θ̇ P_vx,  h_θ̇ = vx P_vy − vy P_vx     [eqs. 57–59]
    spherical              h_ω = ω × P_ω                                              [eqs. 74–76]
    free                   h_ω = ω × P_ω + v × P_v,  h_v = ω × P_v

and curl_l, (d/dt A_l)ᵀ − ∂(A_l v)/∂q on the tree speeds, from the rows of each nonholonomic joint:

    knife, wheel set       rows with constant coefficients: 0
    tricycle               one angle φ turns the row: φ̇ (∂A_l/∂φ)ᵀ − e_φ (∂A_l/∂φ) v  [eqs. 64–70]
    rolling disk           v + ω × ρ = 0 with ρ from center to contact, n the plane's normal, in
                           body axes: δρ = −(r/sin) f fᵀ δn,   ṅ = n × ω,   δn = n × δθ
                           (`AbstractContact.contact_slope`)
    any other row          the curl as it stands, differentiated for this row alone

The row of the tricycle is taken in the regular form, in which nothing is singular at any heading
(the print's choice of quasi-velocity is singular at θ = ±π/2).

Reference: [CameronBook1993].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from noslip.algebra import block_solve, cross, is_identity
from noslip.kinematics import ContactTrace, Kinematics, Node
from noslip.model import WORLD, Touch


@dataclass(frozen=True, slots=True, kw_only=True)
class HamelJoint:
    """A nonholonomic joint that was recognized.

    Parameters
    ----------
    word : ``knife``, ``wheel set``, ``tricycle``, ``rolling disk`` or ``roll-pitch-yaw``;
        ``rolling`` and ``constraint`` of rows whose terms are not in the list.
    joint : name of the tree joint it is made of; of those, of the contact or the row.
    rows : names of the rows that belong to it.
    """

    word: str
    joint: str
    rows: tuple[str, ...]


def recognize(kin: Kinematics) -> tuple[HamelJoint, ...]:
    """The nonholonomic joints of a mechanism, and rows that belong to none of those listed."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node in kin.tree.nodes:
        if node.joint.type.hamel_word:
            groups[(node.joint.type.hamel_word, node.joint.name)] = []
    for k in kin.row_basis:
        word, joint = _classify(kin, k)
        groups.setdefault((word, joint), []).append(kin.rows[k].name)
    return tuple(HamelJoint(word=w, joint=j, rows=tuple(rows)) for (w, j), rows in groups.items())


class HamelShare(NamedTuple):
    """Contribution of a joint or a row to the Hamel terms, on the quasi-velocities w."""

    word: str
    owner: str
    terms: ca.SX


def jointwise_hamel(kin: Kinematics, P: ca.SX, w: ca.SX) -> ca.SX:
    """(1): Hamel terms on the quasi-velocities w = K v, from the closed forms of the joints."""
    return sum((share.terms for share in jointwise_shares(kin, P, w)), ca.SX.zeros(kin.num_speeds))


def jointwise_shares(kin: Kinematics, P: ca.SX, w: ca.SX) -> list[HamelShare]:
    """The sum of (1) joint by joint and row by row, what adds nothing left out."""
    words = {row: joint.word for joint in recognize(kin) for row in joint.rows}
    inverse, _ = block_solve(kin.K, ca.SX.eye(kin.num_speeds))
    v = ca.mtimes(inverse, w)
    momenta = ca.mtimes(kin.K.T, P)
    found: list[tuple[str, str, ca.SX]] = []
    for node in kin.tree.nodes:
        terms = ca.SX.zeros(kin.num_speeds)
        own = node.joint.type.hamel_terms(v[node.speeds], momenta[node.speeds], kin.reader)
        for k in range(own.shape[0]):
            terms[node.speeds.start + k] = own[k]
        found.append((f"{node.joint.type.word} joint", node.joint.name, terms))
    at = 0
    for trace, k in whole_contacts(kin):
        name = kin.rows[k].name
        if trace is None:
            curl = P[at] * _row_curl(kin, kin.K[at, :], v)
            found.append((words.get(name, ""), name, curl))
            at += 1
            continue
        node = kin.tree.nodes[kin.tree.index(trace.contact.body)]
        if trace.contact.plane.body == WORLD and _free_body_word(node, trace):
            curl = _surface_curl(kin, trace, v, P[at : at + 3])
        else:
            parts = [P[at + j] * _row_curl(kin, kin.K[at + j, :], v) for j in range(3)]
            curl = parts[0] + parts[1] + parts[2]
        found.append((words.get(name, ""), trace.contact.name, curl))
        at += 3
    for j in range(kin.num_independent_speeds):
        name = kin.independent_speeds[j].name
        curl = P[at + j] * _row_curl(kin, kin.E[j, :], v)
        found.append(("independent speed", name, curl))
    return [
        HamelShare(word, owner, ca.mtimes(inverse.T, terms))
        for word, owner, terms in found
        if not ca.simplify(ca.densify(terms)).is_zero()
    ]


def whole_contacts(kin: Kinematics) -> list[tuple[ContactTrace | None, int]]:
    """The kept rows in order, those of a contact with all three taken together."""
    result: list[tuple[ContactTrace | None, int]] = []
    traces = {trace.contact.name: trace for trace in kin.contacts}
    k = 0
    while k < len(kin.row_basis):
        owner = kin.rows[kin.row_basis[k]].name.rpartition(".")[0]
        trace = traces.get(owner)
        following = [kin.rows[j].name for j in kin.row_basis[k : k + 3]]
        if trace is not None and following == [f"{owner}.{part}" for part in trace.slip]:
            result.append((trace, kin.row_basis[k]))
            k += 3
        else:
            result.append((None, kin.row_basis[k]))
            k += 1
    return result


def _row_curl(kin: Kinematics, row: ca.SX, v: ca.SX) -> ca.SX:
    """Curl of a row, in closed form if it is constant or turned by one angle φ.

    φ̇ (∂A/∂φ)ᵀ − e_φ (∂A/∂φ) v there, else Ȧᵀ − Nᵀ∂(A v)/∂q by differentiating.
    """
    symbols = kin.symbols
    turning = [k for k in range(kin.num_coordinates) if ca.depends_on(row, symbols.q[k])]
    moves = ca.depends_on(row, symbols.t)
    if not turning and not moves:
        return ca.SX.zeros(kin.num_speeds)
    at = None if moves else _angle_speed(kin, turning)
    if at is not None:
        slope = ca.densify(ca.jacobian(row.T, symbols.q[turning[0]]))
        e = ca.SX.zeros(kin.num_speeds)
        e[at] = ca.dot(slope, v)
        return v[at] * slope - e
    fixed = ca.SX.sym("v", kin.num_speeds)
    p, along = ca.densify(row.T), ca.vertcat(ca.mtimes(kin.N, fixed), ca.SX(1))
    rate = ca.jtimes(p, ca.vertcat(symbols.q, symbols.t), along)
    slope = ca.mtimes(kin.N.T, ca.gradient(ca.dot(p, fixed), symbols.q))
    return ca.substitute([ca.densify(rate - slope)], [fixed], [v])[0]


def _angle_speed(kin: Kinematics, turning: list[int]) -> int | None:
    """Index of the speed whose integral is the one angle that turns a row; None for any other."""
    rate = ca.densify(kin.N[turning[0], :])
    speeds = [k for k in range(kin.num_speeds) if not rate[k].is_zero()]
    is_one = len(turning) == 1 and len(speeds) == 1 and rate[speeds[0]].is_one()
    return speeds[0] if is_one else None


def _surface_curl(kin: Kinematics, trace: ContactTrace, v: ca.SX, P: ca.SX) -> ca.SX:
    """Curl of v + ω × ρ(n) = 0 of a free body, ρ moving over its surface as the body turns."""
    node = kin.tree.nodes[kin.tree.index(trace.contact.body)]
    contact = trace.contact
    omega = v[node.speeds][0:3]
    f, n = trace.axes_D[:, 0], trace.axes_D[:, 2]
    touch = Touch(arm=trace.arm_D, heading=f, regularity=trace.regularity)
    slope = contact.contact_slope(touch, n, kin.reader)
    # ρ̇ = slope ṅ, ṅ = n × ω; the row ω × ρ has the rate ω × ρ̇
    rho_dot = ca.mtimes(slope, cross(n, omega))
    moving = cross(rho_dot, P)
    # over a turn δθ: P·(ω × δρ), δρ = slope (n × δθ), and slope is symmetric
    turned = cross(ca.mtimes(slope, cross(P, omega)), n)
    terms = ca.SX.zeros(kin.num_speeds)
    for k in range(3):
        terms[node.speeds.start + k] = moving[k] - turned[k]
    return terms


def _classify(kin: Kinematics, k: int) -> tuple[str, str]:
    """The nonholonomic joint a row belongs to: its word and the tree joint it is made of."""
    row = kin.rows[k]
    trace = next((t for t in kin.contacts if row.name.startswith(f"{t.contact.name}.")), None)
    if row.origin == "speed input":
        return "speed input", row.name
    if trace is None:
        return "constraint", row.name
    if trace.contact.plane.body != WORLD or kin.combination is not None:
        return "rolling", trace.contact.name
    node = kin.tree.nodes[kin.tree.index(trace.contact.body)]
    if word := _free_body_word(node, trace):
        return word, node.joint.name
    base = node
    while base.parent >= 0:
        base = kin.tree.nodes[base.parent]
    turning = [
        j for j in range(kin.num_coordinates) if ca.depends_on(kin.A[k, :], kin.symbols.q[j])
    ]
    if not base.joint.type.is_planar or (turning and _angle_speed(kin, turning) is None):
        return "rolling", trace.contact.name
    if turning:
        return "tricycle", base.joint.name
    return "wheel set" if trace.contact.is_wheel else "knife", base.joint.name


def _free_body_word(node: Node, trace: ContactTrace) -> str:
    """Name of a free body held by its own contact; empty if it has none."""
    return trace.contact.hamel_word if is_identity(node.H) else ""
