"""Errors of [DeSantis1994], sections 6 and 8: the tractor-trailer and the load-haul-dump vehicle.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import math

import casadi as ca
import numpy as np
import pytest
from errata import LHD, NO_TIRES, ROUNDING, STEERING, TRACTOR, At, compare, size

import noslip as ns
from noslip.formulations import body_jacobian

# section 6: the tractor-trailer


@pytest.fixture(scope="module")
def tractor():
    return At("tractor-trailer", TRACTOR, STEERING)


def tractor_letters(at):
    l1, l2, c, b, e = at.parameter("l1", "l2", "c", "b", "e")
    return l1, l2, c, b, e, 0.3, 0.25, 0.2


def coordinate_speeds(at):
    """(nv, 4): tree speeds of unit ẋ, ẏ, θ̇, φ̇."""
    inverse = np.linalg.inv(at.numbers(at.kin.N))
    names = [c.name for c in at.kin.coordinates]
    wanted = ("tractor.x", "tractor.y", "tractor.angle", "hinge.angle")
    return inverse[:, [names.index(name) for name in wanted]]


def planar_rows(at, body):
    """Rows of [ċ; Ω] that move in the plane."""
    at_body = 6 * at.kin.tree.index[body]
    return [at_body, at_body + 1, at_body + 5]


def test_jacobian_of_the_trailer_at_its_axle(tractor):
    """(6.11): row 2 is −sin(θ + φ), cos(θ + φ), …"""
    _, l2, c, _, _, theta, phi, _ = tractor_letters(tractor)
    trace = next(t for t in tractor.kin.contacts if t.contact.name == "trailer_axle")
    parts = ca.vertcat(trace.slip["longitudinal"], trace.slip["lateral"])
    library = tractor.numbers(ca.jacobian(parts, tractor.kin.symbols.v)) @ coordinate_speeds(
        tractor
    )
    s, k = math.sin(theta + phi), math.cos(theta + phi)
    first = [k, s, -c * math.sin(phi), 0.0]
    rest = [-l2 - c * math.cos(phi), -l2]
    compare(
        printed=[first, [s, -k, *rest]],
        corrected=[first, [-s, k, *rest]],
        library=library,
        off=1.71,
    )


@pytest.mark.parametrize(("row", "off"), [(1, 1.71), (2, 2.0)])
def test_jacobian_of_the_trailer_at_its_mass_center(tractor, row, off):
    """(6.12): row 2 is −sin(θ + φ), cos(θ + φ), …, row 3 is 0 0 1 1."""
    _, _, c, _, e, theta, phi, _ = tractor_letters(tractor)
    J_h = tractor.numbers(body_jacobian(tractor.kin))[planar_rows(tractor, "trailer")]
    s, k = math.sin(theta + phi), math.cos(theta + phi)
    rest = [-e - c * math.cos(phi), -e]
    compare(
        printed=[[s, -k, *rest], [0, 0, -1, 1]][row - 1],
        corrected=[[-s, k, *rest], [0, 0, 1, 1]][row - 1],
        library=(J_h @ coordinate_speeds(tractor))[row],
        off=off,
    )


def test_rates_of_the_coordinates(tractor):
    """(6.17): φ̇ = −v (l₁ sin φ + (l₂ + c cos φ) tan δ)/(l₁ l₂); printed with sin θ and no minus."""
    l1, l2, c, _, _, theta, phi, delta = tractor_letters(tractor)

    def rate(angle):
        return 2.0 * (l1 * math.sin(angle) + (l2 + c * math.cos(phi)) * math.tan(delta)) / (l1 * l2)

    library = tractor.instant.coordinate_rates["hinge.angle"]
    compare(printed=rate(theta), corrected=-rate(phi), library=library, off=0.540)


def test_axles_do_not_slip(tractor):
    """(6.18): with the terms in a the tractor's axle slips by a v tan δ/l₁, against (6.14)."""
    l1, l2, c, _, _, theta, phi, delta = tractor_letters(tractor)
    A = tractor.numbers(tractor.kin.A)[:3]
    assert [r.name for r in tractor.kin.rows][:3] == [
        "rear_axle.lateral",
        "front_wheel.lateral",
        "trailer_axle.lateral",
    ]

    def slip(a):
        turn = math.tan(delta) / l1
        J_nh = [
            math.cos(theta) + a * turn * math.sin(theta),
            math.sin(theta) - a * turn * math.cos(theta),
            turn,
            -(math.sin(phi) / l2 + (l2 + c * math.cos(phi)) * turn / l2),
        ]
        speeds = coordinate_speeds(tractor) @ J_nh * 2.0
        return A @ speeds

    compare(printed=slip(0.3), corrected=slip(0.0), library=np.zeros(3), off=0.0434, scale=2.0)


def tractor_jacobian(at, d):
    l1, l2, c, b, _, _, phi, delta = tractor_letters(at)
    turn, s, k = math.tan(delta) / l1, math.sin(phi), math.cos(phi)
    second = [k - c * s * turn, -d / l2 * (s + c * k * turn), -(s + c * k * turn) / l2]
    return np.array([1.0, b * turn, turn, *second])


def both_bodies(at):
    return planar_rows(at, "tractor") + planar_rows(at, "trailer")


def test_distance_in_the_jacobian_of_the_twists(tractor):
    """(6.21) has a length d that is nowhere defined: d = l₂ − e, not the e of (6.12)."""
    _, l2, _, _, e, *_ = tractor_letters(tractor)
    J = tractor.numbers(ns.DeSantis().matrices(tractor.kin).J)[both_bodies(tractor)]
    compare(
        printed=tractor_jacobian(tractor, e),
        corrected=tractor_jacobian(tractor, l2 - e),
        library=J,
        off=0.0579,
    )


def test_rate_of_the_jacobian(tractor):
    """(6.22), (6.24): entries 5 and 6 are −(… cos φ − c sin φ tan δ)."""
    l1, l2, c, b, e, _, phi, delta = tractor_letters(tractor)
    turn, s, k, d = math.tan(delta) / l1, math.sin(phi), math.cos(phi), l2 - e
    J_dot = tractor.numbers(ns.DeSantis().matrices(tractor.kin).J_dot)[both_bodies(tractor)]
    phi_dot = tractor.instant.coordinate_rates["hinge.angle"]
    B = np.array([0, b, 1, -c * s, -c * d * k / l2, -c * k / l2]) / (l1 * math.cos(delta) ** 2)

    def rate(sign):
        A = [0, 0, 0, -s - c * k * turn]
        A += [-d / l2 * (k + sign * c * s * turn), -(k + sign * c * s * turn) / l2]
        return phi_dot * np.array(A) + 0.05 * B

    compare(printed=rate(+1), corrected=rate(-1), library=J_dot, off=3.36e-3)


@pytest.mark.parametrize(
    ("name", "state", "inputs", "parameters", "off"),
    [("lhd", LHD, {}, NO_TIRES, 28600.0), ("tractor-trailer", TRACTOR, STEERING, {}, None)],
)
def test_spin_matrix_in_the_plane(name, state, inputs, parameters, off):
    """(6.28): W = [0 −Ω; Ω 0]; the sign is harmless for one speed, where JᵀWMJ = 0."""
    at = At(name, state, inputs, parameters)
    m = ns.DeSantis().matrices(at.kin)
    J, J_dot, M, W = at.numbers(m.J, m.J_dot, m.M, m.W)
    J, J_dot = J.reshape(len(M), -1), J_dot.reshape(len(M), -1)

    def terms(sign):
        return J.T @ (M @ J_dot + sign * W @ M @ J) @ at.start.eta

    library = at.instant.velocity_terms
    if off is not None:
        compare(printed=terms(-1), corrected=terms(+1), library=library, off=off)
    else:
        assert size(terms(-1) - library, terms(+1) - library) <= ROUNDING * size(library)
        # so that counting it twice, as (6.32)–(6.34) do, is harmless too
        assert size(J.T @ W @ M @ J) <= ROUNDING * size(M)


def test_wrench_of_the_front_wheel(tractor):
    """(6.29): [F cos δ; F sin δ; (l₁ − b) F sin δ], of which F/cos δ acts on v."""
    l1, _, _, b, *_, delta = tractor_letters(tractor)
    J_1 = tractor.numbers(ns.DeSantis().matrices(tractor.kin).J)[planar_rows(tractor, "tractor")]
    s, k = math.sin(delta), math.cos(delta)
    library = tractor.numbers(tractor.equations.reduced_inputs)[0]
    compare(
        printed=J_1 @ [k, -s, 0.0],
        corrected=J_1 @ [k, s, (l1 - b) * s],
        library=library,
        off=0.0575,
    )
    assert library == pytest.approx(1 / math.cos(delta), rel=ROUNDING)


def test_input_gains(tractor):
    """(6.42), (6.43): those of F_u1 and F_u2 are exchanged; D g_u = [1/cos δ, 1, J₄]."""
    delta = tractor_letters(tractor)[-1]
    J = tractor.numbers(ns.DeSantis().matrices(tractor.kin).J)[both_bodies(tractor)]
    s, k = math.sin(delta), math.cos(delta)
    forces = {"F_u1": 0.0, "F_u2": 0.0, "F_u3": 0.0}
    base = tractor.acceleration("tractor.vx")
    gains = [
        At("tractor-trailer", TRACTOR, STEERING | forces | {name: 1e3}).acceleration("tractor.vx")
        - base
        for name in forces
    ]
    library = np.ravel(gains) / 1e3 * tractor.instant.mass_matrix.item()
    printed = [J[0], k * J[0] - s * J[1], J[3]]
    # a difference of two accelerations: a digit is lost
    assert size(np.array([1 / k, 1.0, J[3]]) - library) < 10 * ROUNDING
    assert size(printed - library) == pytest.approx(0.0372, rel=0.01)


# section 8 and appendix A: the load-haul-dump vehicle


def test_wrenches_of_the_articulated_vehicle():
    """(6.24'), (6.25'): axle forces have moments about the mass centers, Γ acts both ways."""
    forces = {"F_u2": 3000.0, "F_u3": 500.0, "F_w2": -2000.0, "F_w3": 1500.0, "Gamma": 8000.0}
    at = At("lhd", LHD, forces, NO_TIRES)
    l2, b, e = at.parameter("l2", "b", "e")
    Fu2, Fu3, Fw2, Fw3, Gamma = forces.values()
    rows = planar_rows(at, "front") + planar_rows(at, "rear")
    J = at.numbers(ns.DeSantis().matrices(at.kin).J)[rows]
    compare(
        printed=J.T @ [Fu2, Fw2, -Gamma, Fu3, Fw3, -Gamma],
        corrected=J.T @ [Fu2, Fw2, -b * Fw2 - Gamma, Fu3, Fw3, -(l2 - e) * Fw3 + Gamma],
        library=at.numbers(ca.mtimes(at.equations.reduced_inputs, at.kin.symbols.u)),
        off=15850.0,
    )


def test_articulated_vehicle_bends_without_slip():
    """Appendix A: v and φ̇ are free, θ̇ = −(v sin φ + l₂ φ̇)/(c cos φ + l₂), and no axle slips."""
    at = At("lhd-noslip", {"waist.angle": 0.25, "front.vx": 1.0, "waist.rate": 0.5})
    assert at.instant.independent_speeds == ("front.vx", "waist.rate")
    c, l2 = at.parameter("c", "l2")
    sides = ca.vertcat(*[trace.slip["lateral"] for trace in at.kin.contacts])
    names = [s.name for s in at.kin.speeds]

    def slip(turn, bend):
        given = {"front.vx": 1.0, "front.rate": turn, "waist.rate": bend}
        return at.numbers(sides, v=[given.get(name, 0.0) for name in names])

    # appendix, eqs. 1: both bodies turn about one point, l = R tan(φ/2)
    common = -math.tan(0.25 / 2) / l2
    compare(
        printed=slip(common, 0.5),
        corrected=slip(-(math.sin(0.25) + l2 * 0.5) / (c * math.cos(0.25) + l2), 0.5),
        library=np.zeros(2),
        off=0.85,
        scale=1.0,
    )
    # which is right where it does not bend
    assert size(slip(common, 0.0)) < ROUNDING
