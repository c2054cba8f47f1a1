"""Errors of [AntunesSigaudMoraes2010]: the sleigh at a state, and vakonomic motion.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import math

import numpy as np
import pytest
from errata import ROUNDING, At, compare, size, sleigh, sleigh_letters

import noslip as ns
from noslip.formulations import body_jacobian, mass_matrix

# the sleigh at a state

FORCES = {"F_cs": 0.7, "F_cphi": -0.5, "tau_c": 0.3}


@pytest.fixture(scope="module")
def forced():
    return sleigh({"phi": 0.2, "s_dot": 0.8, "phi_dot": -1.5}, FORCES)


def test_transversal_velocity_of_the_mass_center(forced):
    """Section 4: a φ̇; b φ̇ is that of the center of gyration."""
    _, a, _, b = sleigh_letters(forced)
    library = (forced.numbers(body_jacobian(forced.kin)) @ forced.start.v)[1]
    compare(printed=b * -1.5, corrected=a * -1.5, library=library, off=0.454)


@pytest.mark.parametrize(("equation", "off"), [("61", 0.281), ("63", 0.416)])
def test_energy_of_the_sleigh_and_its_rate(forced, equation, off):
    """(61): ½(m v_c² + I φ̇²); (63): m v_c·v̇_c + I φ̇ φ̈, the power of the forces."""
    m, a, inertia, _ = sleigh_letters(forced)
    s_dot, turn = 0.8, -1.5
    s_ddot, turn_rate = forced.acceleration("sleigh.vx", "sleigh.rate")
    if equation == "61":
        moving, turning = s_dot**2 + (a * turn) ** 2, inertia * turn**2
        compare(
            printed=m / 2 * (moving + turning),
            corrected=(m * moving + turning) / 2,
            library=forced.instant.kinetic_energy,
            off=off,
        )
        return
    moving, turning = s_dot * s_ddot + a**2 * turn * turn_rate, inertia * turn * turn_rate
    push, side, torque = FORCES.values()
    compare(
        printed=m * (moving + turning),
        corrected=m * moving + turning,
        library=push * s_dot + (a * side + torque) * turn,
        off=off,
    )


def test_knife_pushes_the_mass_center_too(forced):
    """(63)–(64): m v̇_c = F_c + N across the blade, I φ̈ = torque − a N, N the knife's force."""
    m, a, inertia, _ = sleigh_letters(forced)
    s_dot, turn = 0.8, -1.5
    s_ddot, turn_rate = forced.acceleration("sleigh.vx", "sleigh.rate")
    # absolute acceleration of the mass center along and across the blade
    along, across = s_ddot - a * turn**2, a * turn_rate + s_dot * turn
    push, side, torque = FORCES.values()
    N = forced.instant.multipliers["blade.lateral"]
    compare(
        printed=[push, side, torque],
        corrected=[push, side + N, torque - a * N],
        library=[m * along, m * across, inertia * turn_rate],
        off=0.635,
    )


@pytest.mark.parametrize(("equation", "off"), [("47", 3.0), ("52, 53", 2.5)])
def test_control_angle_of_a_right_turn(forced, equation, off):
    """Ψ = arccot(b κ) in (0, π); arctan(ρ/b) reverses the sleigh where it turns to the right."""
    _, _, _, b = sleigh_letters(forced)
    s_dot, turn = 0.8, -1.5
    v_T, rho = math.hypot(s_dot, b * turn), s_dot / turn
    printed, corrected = math.atan(rho / b), math.atan2(1.0, b / rho)
    if equation == "47":
        compare(
            printed=[v_T * math.sin(printed), v_T / b * math.cos(printed)],
            corrected=[v_T * math.sin(corrected), v_T / b * math.cos(corrected)],
            library=forced.start.eta,
            off=off,
        )
        return
    # dt/ds of eq. (53)
    compare(
        printed=math.sqrt(b**2 + rho**2) / rho / v_T,
        corrected=math.sqrt(1 + b**2 / rho**2) / v_T,
        library=1 / forced.start.eta[0],
        off=off,
    )


def steering_forces(at, turn_rate, lever):
    """Force at the mass center that does no work: F_cφ = m(lever φ̈ + s′φ̇), F_cs = −(a/ρ)F_cφ."""
    m, a, *_ = sleigh_letters(at)
    s_dot, turn = at.start.eta
    side = m * (lever * turn_rate + s_dot * turn)
    return {"F_cphi": side, "F_cs": -a * turn / s_dot * side}


def test_force_that_steers_the_sleigh():
    """(69), (70): F_cφ = m(b²φ̈/a + ρφ̇²) gives φ̈; printed is m(aφ̈ + ρφ̇²), with the knife's."""
    state, wanted = {"s_dot": 0.8, "phi_dot": 0.6}, 0.5
    at = sleigh(state)
    _, a, inertia, b = sleigh_letters(at)

    def response(lever):
        forced = sleigh(state, steering_forces(at, wanted, lever))
        return forced.acceleration("sleigh.vx", "sleigh.rate"), forced

    (printed, _), (corrected, forced) = response(a), response(b**2 / a)
    # energy stays: s′s̈ + b²φ̇φ̈ = 0
    library = [-(b**2) * 0.6 * wanted / 0.8, wanted]
    compare(printed=printed, corrected=corrected, library=library, off=0.338)
    N = forced.instant.multipliers["blade.lateral"]
    assert pytest.approx(-inertia * wanted / a, rel=ROUNDING) == N
    # the printed value is the force with the knife's
    side = steering_forces(at, wanted, b**2 / a)["F_cphi"]
    assert side + N == pytest.approx(steering_forces(at, wanted, a)["F_cphi"], rel=1e-11)


def test_free_sleigh_needs_no_force():
    """(70), (107): F_cφ = m ρ φ̇ (φ̇ − (b/a) Ψ̇) vanishes for the free motion, Ψ̇ = (a/b) φ̇."""
    at = sleigh({"s_dot": 0.8, "phi_dot": 0.6})
    m, a, _, b = sleigh_letters(at)
    s_ddot, turn_rate = at.acceleration("sleigh.vx", "sleigh.rate")
    v_T = math.hypot(0.8, b * 0.6)
    angle_rate = b * (s_ddot * 0.6 - 0.8 * turn_rate) / v_T**2
    assert angle_rate == pytest.approx(a / b * 0.6, rel=ROUNDING)
    compare(
        printed=m * 0.8 * (0.6 - a / b * angle_rate),
        corrected=m * 0.8 * (0.6 - b / a * angle_rate),
        library=0.0,
        off=0.486,
        scale=1.0,
    )


# vakonomic motion


@pytest.mark.parametrize(("claim", "off"), [("circle", 0.683), ("autonomous", 0.486)])
def test_the_multiplier_is_not_free(claim, off):
    """Sections 1, 3, 4, 6: the equations fix Ψ̈ = −(v_T²/2b²) sin 2Ψ and λ̇ of (D6)."""
    s_dot, turn = 0.8, 0.6
    at = sleigh({"s_dot": s_dot, "phi_dot": turn, "lam": 0.0}, by=ns.Vakonomic)
    m, a, _, b = sleigh_letters(at)
    if claim == "autonomous":
        # χ = 0 of section 3 is λ = 0; at this instant all is d'Alembert's, but λ does not stay
        free = sleigh({"s_dot": s_dot, "phi_dot": turn})
        names = ("sleigh.vx", "sleigh.rate")
        assert size(at.acceleration(*names) - free.acceleration(*names)) < ROUNDING
        compare(
            printed=0.0,
            corrected=-m * (1 - a**2 / b**2) * turn * s_dot,
            library=-at.instant.multipliers["blade.lateral"],
            off=off,
        )
        return
    # a circle has constant Ψ: λ_c = 0, and it would have to stay zero
    at = sleigh({"s_dot": s_dot, "phi_dot": turn, "lam": -m * a * turn}, by=ns.Vakonomic)
    v_T, angle = math.hypot(s_dot, b * turn), math.atan2(s_dot, b * turn)
    s_ddot, turn_rate = at.acceleration("sleigh.vx", "sleigh.rate")
    assert size([s_ddot, turn_rate]) < ROUNDING
    lam_c_dot = -at.instant.multipliers["blade.lateral"] + m * a * turn_rate
    compare(
        printed=0.0,
        corrected=-(v_T**2) / (2 * b**2) * math.sin(2 * angle),
        library=lam_c_dot / (m * b),
        off=off,
    )


def test_one_multiplier_of_the_upright_disk_is_a_special_case():
    """(A10): λ̇₁ = −(m s′ + λ₂)φ̇ in general; one multiplier has I₁θ̇ = R λ₂."""
    s_dot, turn, lam_2 = 0.8, -1.2, 0.7
    state = {"fork.angle": 0.4, "fork.vx": s_dot, "fork.rate": turn}
    costates = ("costate.rim.lateral", "costate.rim.longitudinal")

    def lateral_rate(value):
        given = state | dict(zip(costates, (0.3, value), strict=True))
        return At("vertical-disk", given, by=ns.Vakonomic)

    at = lateral_rate(lam_2)
    m, I1, R = at.parameter("m", "I1", "R")
    printed = -(m + I1 / R**2) * s_dot * turn
    compare(
        printed=printed,
        corrected=-(m * s_dot + lam_2) * turn,
        library=-at.instant.multipliers["rim.lateral"],
        off=0.307,
    )
    special = lateral_rate(I1 * s_dot / R**2).instant
    assert -special.multipliers["rim.lateral"] == pytest.approx(printed, rel=ROUNDING)


def test_kinetic_energy_before_the_constraint_is_put_in():
    """(C1) leaves out m a φ̇ w, w the lateral speed: right on the constraint, not for momenta."""
    at = sleigh({})
    m, a, inertia, _ = sleigh_letters(at)
    v, w, turn = speeds = np.array([0.8, 0.3, -1.5])
    printed = (m * (v**2 + w**2) + (inertia + m * a**2) * turn**2) / 2
    compare(
        printed=printed,
        corrected=printed + m * a * turn * w,
        library=speeds @ at.numbers(mass_matrix(at.kin)) @ speeds / 2,
        off=0.27,
    )
