"""The derivations from twists: natural orthogonal complement and DeSantis' procedure."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import sympy

from noslip import DeSantis
from noslip.algebra import symmetric_solve
from noslip.formulations import (
    body_jacobian,
    mass_and_spin,
    rotor_forces,
    unit_speed_twists,
)
from noslip.kinematics import Node as TreeNode
from noslip.model import DISSIPATIVE, GIVEN, GRAVITY, SPRING
from noslip.show.equations.blocks import words
from noslip.show.equations.confirming import Item
from noslip.show.equations.derivations.common import (
    Drafted,
    column,
    glyphs,
    matrix,
    reduced_mass,
    reduced_motion,
)
from noslip.show.equations.derivations.document import BodySum, Draft, Matrix, Term
from noslip.show.equations.derivations.subject import Subject
from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import Fenced, MathNumber, MathRow, Operator, Word
from noslip.show.equations.notation import symbol

_ANGULAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("ω", 0), ("c", 1)) for k in "xyz")
_LINEAR_FIRST = tuple(Glyph(b, k, d) for b, d in (("c", 1), ("Ω", 0)) for k in "xyz")
_FORCE_FIRST = tuple(Glyph(b, k) for b in ("F", "M") for k in "xyz")
#: The largest inverse that is written out.
INVERTED = 3


def complement(subject: Subject) -> list[Drafted]:
    """T, I = TᵀMT, C η, τ, γ and δ of the natural orthogonal complement."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    blocks: list[Draft] = [
        words(
            "Column j of ",
            subject.letter("T"),
            " is the twist of the system for a unit of the j-th independent speed and none of the "
            "others: the angular velocity and the velocity of the mass center of each body, ",
            subject.formula("V = T η"),
            ". Each body's share, in its own axes (those of a symmetric wheel do not spin with "
            "it):",
        )
    ]
    columns = unit_speed_twists(kin, kin.tree)
    for k, node, _ in subject.bodies:
        share = ca.horzcat(*[ca.vertcat(*column[k]) for column in columns])
        if columns:
            letter = subject.letter("T", node.body.name)
            blocks.append(matrix(subject, letter, share, share, _ANGULAR_FIRST))
    mass = reduced_mass(subject, subject.letter("I"))
    velocity = [-e.reduced_bias for e in routes]
    bias = column(
        subject,
        subject.letter("(C η)"),
        velocity[0],
        velocity[1],
        name=Fenced(subject.formula("C η")),
    )
    blocks += [
        words(
            "Constraint wrenches do no work in virtual displacements, whose twists these are, so "
            "the equations of Newton and Euler for all bodies, multiplied by ",
            subject.formula("Tᵀ"),
            ", are free of them: ",
            subject.formula("I η̇ = C η + τ + γ + δ"),
            " with ",
            subject.formula("I = TᵀM T"),
            " and the velocity terms from the twists at zero independent accelerations.",
        ),
        *(mass, bias),
    ]
    forces, absent = [], []
    for name, meaning, force in _shares(subject):
        if ca.sparsify(ca.simplify(force)).is_zero():
            absent.append((name, meaning))
            continue
        forces.append(column(subject, subject.letter(name), force, force))
        blocks += [words(f"Generalized forces of {meaning}:"), forces[-1]]
    if absent:
        zeros = [Operator("=") if k else subject.letter(name) for name, _ in absent for k in (0, 1)]
        idle = [m for _, m in absent if m == "gravity" and any(subject.kin.model.gravity)]
        none = " and no ".join(meaning for _, meaning in absent if meaning not in idle)
        said = [f"there is no {none}"] if none else []
        said += [f"{meaning} does no work in virtual displacements" for meaning in idle]
        text = "; ".join(said)
        blocks.append(
            words(f"{text[0].upper()}{text[1:]}: ", MathRow((*zeros, MathNumber("0"))), ".")
        )
    rows = [bias.term(i, sign=-1) for i in range(kin.num_independent_speeds)]
    motion = reduced_motion(subject, mass, rows, forces)
    return [("The natural orthogonal complement", blocks), motion]


def _shares(subject: Subject) -> list[tuple[str, str, ca.SX]]:
    """τ, γ, δ, and σ of springs: letter, meaning, generalized force; springs only if there are."""
    kin, equations = subject.kin, subject.equations
    shares = equations.forces.shares
    found = []
    for share, letter, meaning in (
        (GIVEN, "τ", "driving"),
        (GRAVITY, "γ", "gravity"),
        (DISSIPATIVE, "δ", "dissipation"),
        (SPRING, "σ", "springs"),
    ):
        force = ca.mtimes(kin.S.T, shares[share])
        if share == GIVEN:
            force = force + ca.mtimes(equations.reduced_inputs, kin.acting_inputs)
        if share != SPRING or not ca.sparsify(ca.simplify(force)).is_zero():
            found.append((letter, meaning, force))
    return found


def desantis(subject: Subject) -> list[Drafted]:
    """J, D, C, τ_a, g_0 and g_wa of DeSantis' procedure."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    eta = glyphs(subject.notation.independent_speeds)
    compiled = DeSantis().matrices(kin)
    # the same matrices with the shorter basis; that they are the procedure's is checked
    J_h = body_jacobian(kin)
    J = ca.mtimes(J_h, ca.densify(kin.S))
    C = _velocity_matrix(subject, J_h, J)
    tau = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    blocks: list[Draft] = [
        words(
            "Of the ten steps, the frames (1), the coordinates (2) and the independent speeds (5) "
            "are above: ",
            subject.formula("α = η"),
            ", and the admissible speeds are ",
            subject.formula("v = J_{nh} α"),
            " with ",
            subject.formula("J_{nh} = Π B"),
            ", ",
            subject.formula("Π = 1 − Aᵀ(A Aᵀ)⁻¹A"),
            ".",
        ),
        *_positions(subject, J_h),
        words(
            "Steps 4 and 6. The twists of all bodies, velocity of the mass center first, then "
            "angular velocity, in body axes, are ",
            subject.formula("V = J_h v = J α"),
            ":",
        ),
    ]
    J_dot = _rate(subject, J)
    rates: list[Draft] = []
    of_bodies: list[tuple[TreeNode, Matrix, Matrix]] = []
    for k, node, _ in subject.bodies:
        own, name = slice(6 * k, 6 * k + 6), node.body.name
        parts = [
            matrix(subject, subject.letter("J", name, dots), shown[own, :], by[own, :], rows)
            for dots, shown, by, rows in (
                (0, J, compiled.J, _LINEAR_FIRST),
                (1, J_dot, compiled.J_dot, ()),
            )
        ]
        blocks.append(parts[0])
        rates.append(parts[1])
        of_bodies.append((node, parts[0], parts[1]))
    blocks += [words("and the entries of ", subject.letter("J"), " change by"), *rates]
    mass = reduced_mass(subject, subject.letter("D"))
    velocity = matrix(subject, subject.letter("C"), C, compiled.C, eta)
    # rotors and links without a body of the model are in no sum over the bodies that are shown
    is_whole = len(of_bodies) == len(kin.tree.nodes) and not any(n.is_rotor for n in kin.tree.nodes)
    V = ca.mtimes(J_h, kin.v)
    across = [6 * k + row for k in range(len(of_bodies)) for row in (2, 3, 4)]
    is_whole = is_whole and subject.is_zero(rotor_forces(kin.tree, ca.densify(kin.S)))
    if is_whole and subject.is_zero(V[across]):
        mass = replace(mass, sums=tuple(_body_sum(node, J_b, J_b) for node, J_b, _ in of_bodies))
        by_rates = [_body_sum(node, J_b, rate) for node, J_b, rate in of_bodies]
        by_turns = [_turning(node, V[6 * k + 5], J_b) for k, (node, J_b, _) in enumerate(of_bodies)]
        velocity = replace(velocity, sums=(*by_rates, *by_turns))
    forces = column(subject, subject.letter("τ", "a"), tau[0], tau[1])
    blocks += [
        *_applied(subject),
        words(
            "Steps 7 and 9. With M the masses and inertias of the bodies and ",
            subject.formula('W = "diag"(Ω×, Ω×)'),
            ", ",
            subject.formula("D α̇ + C α = τ_a"),
            " with ",
            subject.formula("D = JᵀM J"),
            ", ",
            subject.formula("C = Jᵀ(M J̇ + W M J)"),
            " and ",
            subject.formula("τ_a = Jᵀω_a"),
            ".",
        ),
        *(mass, velocity, forces),
    ]
    whole = subject.simplest.reduced_bias
    adds = not subject.is_zero(whole - ca.mtimes(C, kin.eta), beside=whole)
    if adds:
        blocks.append(
            words(
                "Constraints that move, ",
                subject.formula("v = J_{nh} α + s"),
                ", add terms of their own to ",
                subject.formula("C α"),
                " in what follows.",
            )
        )
    blocks += _state_model(subject, velocity, adds)
    motion = reduced_motion(subject, mass, _bias(subject, velocity, adds), [forces])
    return [("DeSantis' procedure", blocks), motion]


def _positions(subject: Subject, J_h: ca.SX) -> list[Draft]:
    """χ = f(q): mass centers in the world, and the angles of bodies that turn about z alone."""
    drafts: list[Draft] = [
        words(
            "Step 3. Positions ",
            subject.letter("χ"),
            " = f(q) of the mass centers, and angles of bodies that turn about one axis:",
        )
    ]
    for k, node, _ in subject.bodies:
        center = node.p_WB + ca.mtimes(node.R_WD, node.center_D)
        rows, names = ca.vertsplit(center), list("xyz")
        angle = _angle(subject, J_h[6 * k + 3 : 6 * k + 6, :])
        if angle is not None:
            rows, names = [rows[0], rows[1], angle], ["x", "y", "angle"]
        place = ca.vertcat(*rows)
        letter, called = subject.letter("χ", node.body.name), tuple(Word(name) for name in names)
        drafts.append(column(subject, letter, place, place, called))
    return drafts if len(drafts) > 1 else []


def _angle(subject: Subject, turning: ca.SX) -> ca.SX | None:
    """The sum of coordinates whose rates turn a body about z; None for another motion."""
    kin, angle = subject.kin, ca.SX(0)
    if not ca.sparsify(turning[:2, :]).is_zero():
        return None
    for j in range(turning.shape[1]):
        if turning[2, j].is_zero():
            continue
        own = [i for i in range(kin.num_coordinates) if not kin.N[i, j].is_zero()]
        if len(own) != 1 or not kin.N[own[0], j].is_one() or not turning[2, j].is_constant():
            return None
        angle = angle + turning[2, j] * kin.symbols.q[own[0]]
    return angle


def _applied(subject: Subject) -> list[Draft]:
    """ω_a of each body on which something acts."""
    found = {o.name: o.value for o in subject.equations.formulation.objects(subject.equations)}
    drafts: list[Draft] = [
        words(
            "Step 8. The applied wrenches ",
            subject.letter("ω", "a"),
            ", force first, then moment about the mass center, in body axes:",
        )
    ]
    for k, node, _ in subject.bodies:
        wrench = found["w_a"][6 * k : 6 * k + 6]
        if not ca.sparsify(ca.simplify(wrench)).is_zero():
            letter = subject.letter("ω", f"a,{node.body.name}")
            drafts.append(column(subject, letter, wrench, wrench, _FORCE_FIRST))
    return drafts if len(drafts) > 1 else []


def _body_sum(node: TreeNode, left: Matrix, right: Matrix) -> BodySum:
    """Lᵀ diag(m 1, j) R of a body."""
    terms: list[tuple[Item, tuple[tuple[int, int, int], ...]]]
    terms = [(_item(node.mass), ((0, 0, 1), (1, 1, 1), (2, 2, 1)))]
    terms += [(_item(node.inertia_D[k, k]), ((3 + k, 3 + k, 1),)) for k in range(3)]
    terms += [
        (_item(node.inertia_D[a, b]), ((3 + a, 3 + b, 1), (3 + b, 3 + a, 1)))
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    return BodySum(left=left, right=right, terms=tuple(terms))


def _turning(node: TreeNode, rate: ca.SX, J: Matrix) -> BodySum:
    """JᵀWMJ of a body that moves in a plane: m Ω (J_2i J_1j − J_1i J_2j)."""
    return BodySum(left=J, right=J, terms=((_item(node.mass * rate), ((1, 0, 1), (0, 1, -1))),))


def _item(value: ca.SX) -> Item:
    return Item(ca.SX(value), ca.SX(value))


def _rate(subject: Subject, J: ca.SX) -> ca.SX:
    """Rates of the entries."""
    kin = subject.kin
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1))
    return ca.reshape(ca.jtimes(ca.vec(ca.densify(J)), at, along), J.shape)


def _velocity_matrix(subject: Subject, J_h: ca.SX, J: ca.SX) -> ca.SX:
    """C = Jᵀ(M J̇ + W M J)."""
    kin, J_dot = subject.kin, _rate(subject, J)
    M, W = mass_and_spin(kin, ca.mtimes(J_h, kin.v))
    return ca.mtimes(J.T, ca.mtimes(M, J_dot) + ca.mtimes(W, ca.mtimes(M, J)))


def _bias(subject: Subject, C: Matrix, adds: bool) -> list[Term]:
    """C α of each row; where moving constraints add to it, without a label."""
    shown, own = subject.simplest.reduced_bias, subject.equations.reduced_bias
    alpha = [symbol(e.glyph) for e in subject.notation.independent_speeds]
    terms = []
    for i in range(len(alpha)):
        labels = [C.term(i, j).label for j in range(len(alpha))]
        whole = sympy.Add(*[label * speed for label, speed in zip(labels, alpha, strict=True)])
        item = Item(shown[i], own[i], is_motion=True)
        terms.append(Term(item, None if adds else whole))
    return terms


def _state_model(subject: Subject, C: Matrix, adds: bool) -> list[Draft]:
    """α̇ = g_0 + g_wa τ_a, written out where D is small."""
    kin, shown, own = subject.kin, subject.simplest, subject.equations
    num = kin.num_independent_speeds
    eta = glyphs(subject.notation.independent_speeds)
    blocks: list[Draft] = [
        words(
            "Step 10. The state model is ",
            subject.formula("α̇ = g_0 + g_{wa} τ_a"),
            " with ",
            subject.formula("g_{wa} = D⁻¹"),
            " and ",
            subject.formula("g_0 = − D⁻¹C α"),
            ".",
        )
    ]
    if not 0 < num <= INVERTED:
        return [*blocks, words("The inverse is not written out.")]
    inverse = _inverse(shown.reduced_mass)
    bias = shown.reduced_bias if adds else ca.mtimes(C.shown, kin.eta)
    drift = -ca.mtimes(inverse, bias)
    own_drift, _ = symmetric_solve(own.reduced_mass, -own.reduced_bias)
    own_inverse, _ = symmetric_solve(own.reduced_mass, ca.SX.eye(num))
    gains = matrix(subject, subject.letter("g", "wa"), inverse, own_inverse, eta, is_symmetric=True)
    free = column(subject, subject.letter("g", "0"), drift, own_drift)
    if not adds:
        diagonal = tuple((k, k, 1) for k in range(num))
        free = replace(
            free,
            sums=tuple(
                BodySum(left=gains, right=C, terms=((_item(-kin.eta[j]), diagonal),), shift=j)
                for j in range(num)
            ),
        )
    return [*blocks, gains, free]


def _inverse(M: ca.SX) -> ca.SX:
    """The inverse of a small symmetric matrix by its cofactors, for display only."""
    n = M.shape[0]
    if n == 1:
        return 1 / M
    det, inverse = ca.det(M), ca.SX(n, n)
    for i in range(n):
        for j in range(n):
            minor = M[[k for k in range(n) if k != i], [k for k in range(n) if k != j]]
            inverse[j, i] = (-1) ** (i + j) * ca.det(minor) / det
    return inverse
