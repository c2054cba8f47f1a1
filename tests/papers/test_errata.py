"""Errors of the five papers: the printed form fails, by how much, and the corrected form holds.

Every test puts a formula as printed, the formula as corrected, and what the library computes at the
same state side by side. The library knows none of these formulas: it traces the mechanism, and its
numbers are those of tests/papers/data, which were computed by other means. The page for readers is
docs/errata.md. Equation numbers of [DeSantis1994] are section and number.
"""

import dataclasses
import functools
import math

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.formulations.desantis import body_jacobian
from noslip.formulations.tree import mass_matrix

ROUNDING = 1e-12  # of the largest entry
MOTION = 1e-9  # m, m/s, rad, rad/s: motions at tolerance 1e-13


@functools.cache
def system(source, formulation=ns.NaturalComplement):
    model = source() if callable(source) else ns.load(source)
    return ns.compile(ns.derive(model, formulation()))


class At:
    """A mechanism at a state: what the library says there, and traced expressions as numbers."""

    def __init__(self, source, state, inputs=None, parameters=None, by=ns.NaturalComplement):
        self.system = system(source, by)
        self.kin, self.equations = self.system.kinematics, self.system.equations
        self.params = self.system.parameters(parameters)
        given = inputs or {}
        self.inputs = np.array([given.get(i.name, 0.0) for i in self.system.inputs])
        self.instant = ns.evaluate(self.system, state, inputs=given, parameters=parameters)
        num_u, num_w = len(self.system.model.inputs), len(self.system.model.speed_inputs)
        self.start = ns.complete_start(
            self.system,
            state,
            speed_inputs=lambda q: self.inputs[num_u : num_u + num_w],
            parameters=self.params,
        )

    def parameter(self, *names):
        known = [p.name for p in self.system.model.parameters]
        return [self.params[known.index(name)] for name in names]

    def numbers(self, *expressions, v=None):
        """Values of traced expressions of q, η, μ, inputs, parameters and of tree speeds."""
        s, eq = self.kin.symbols, self.equations
        arguments = [s.t, s.q, self.kin.eta, eq.costates, eq.inputs, s.params, s.v]
        f = ca.Function("f", arguments, [ca.densify(ca.SX(e)) for e in expressions])
        speeds = self.start.v if v is None else v
        start = self.start
        values = (0.0, start.q, start.eta, start.mu, self.inputs, self.params, speeds)
        found = [np.array(x) for x in f.call([ca.DM(x) for x in values])]
        found = [x.ravel() if 1 in x.shape else x for x in found]
        return found[0] if len(found) == 1 else found

    def rate(self, expression):
        """The rate along the motion of an expression of q, traced."""
        q_dot = ca.mtimes(self.kin.N, self.kin.v)
        rate = ca.jtimes(ca.vec(ca.densify(expression)), self.kin.symbols.q, q_dot)
        return ca.reshape(rate, expression.shape)

    def speed(self, *names):
        return np.array([self.instant.speeds[n] for n in names])

    def acceleration(self, *names):
        return np.array([self.instant.accelerations[n] for n in names])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def size(*arrays):
    return max(float(np.max(np.abs(a), initial=0.0)) for a in arrays)


def compare(*, printed, corrected, library, off, scale=None):
    """The corrected form is what the library computes, the printed one is off by this much."""
    scale = size(library) if scale is None else scale
    assert size(np.subtract(corrected, library)) <= ROUNDING * scale
    assert size(np.subtract(printed, library)) == pytest.approx(off, rel=0.01)


# [SahaAngeles1991]


@pytest.fixture(scope="module")
def disk():
    angles = {"disk.yaw": 0.4, "disk.tilt": 1.2, "disk.spin": 0.3}
    rates = {"disk.yaw_rate": 0.8, "disk.tilt_rate": -0.5, "disk.spin_rate": -4.0}
    return At("rolling-disk", angles | rates)


def disk_vectors(disk):
    """ω, d = c − q, ċ, q̇, R with η = Rᵀω, and I_C, in the world; q is the contact point."""
    node, point = disk.kin.tree.nodes[0], disk.kin.contacts[0].point
    parts = [node.p_WB, point, disk.rate(node.p_WB), disk.rate(point), node.R_WB, node.inertia_D]
    c, q, c_dot, q_dot, R, inertia = disk.numbers(*parts)
    return R @ disk.start.eta, c - q, c_dot, q_dot, R, R @ inertia @ R.T


def test_rate_of_the_complement_of_the_disk(disk):
    """Ṫ after (31): the contact point moves, Ṫ = [0; (q̇ − ċ) ×] and not [0; −ċ ×]."""
    # columns for ω in the world
    T = ca.mtimes(ns.stacked_matrices(disk.kin).T, disk.kin.tree.nodes[0].R_WB.T)
    _, _, c_dot, q_dot, *_ = disk_vectors(disk)
    compare(
        printed=np.vstack([np.zeros((3, 3)), -skew(c_dot)]),
        corrected=np.vstack([np.zeros((3, 3)), skew(q_dot - c_dot)]),
        library=disk.numbers(disk.rate(T)),
        off=1.84,
    )


@pytest.mark.parametrize(("form", "off"), [("33", 1.37), ("line before 33", 1.04)])
def test_convective_terms_of_the_disk(disk, form, off):
    """C ω = −ω × I_C ω − m d × (ω × ḋ), ḋ = ċ − q̇; as printed energy comes from nowhere."""
    omega, d, c_dot, q_dot, R, inertia = disk_vectors(disk)
    (m,) = disk.parameter("m")
    gyroscopic = -np.cross(omega, inertia @ omega)
    # (q − c) × ω and (q − c)·ω; the line before has ω × (q − c) where (33) needs ω × (c − q)
    sign = 1 if form == "33" else -1
    printed = gyroscopic - sign * m * np.cross(-d, omega) * (-d @ omega)
    library = -R @ disk.instant.velocity_terms
    corrected = gyroscopic - m * np.cross(d, np.cross(omega, c_dot - q_dot))
    compare(printed=printed, corrected=corrected, library=library, off=off)
    # W; the true motion keeps its energy
    assert omega @ (printed - library) == pytest.approx(-0.746, rel=0.01)
    # what (33) leaves out, in closed form: m r² φ̇ (ω·e) f
    f, e, (r,) = np.array([math.cos(0.4), math.sin(0.4), 0.0]), d / 0.5, disk.parameter("r")
    missing = m * r**2 * -4.0 * (omega @ e) * f
    if form == "33":
        assert size(printed + missing - library) <= ROUNDING * size(library)


def ball_on_a_plate():
    b = ns.ModelBuilder(name="ball-on-a-plate", gravity=(0.0, 0.0, 0.0))
    for name in ("plate", "ball"):
        b.body(name, mass=1.0, inertia=(0.1, 0.2, 0.3))
        b.joint(name, ns.Free(), parent="world", child=name)
    plane = ns.Plane(body="plate", frame=ns.Placement(position=(0.0, 0.1, 0.2)))
    b.contact(ns.Rolling(name="ball", body="ball", wheel=ns.Ball(radius=0.3), plane=plane))
    return b.build()


def test_coupling_of_two_rolling_bodies():
    """(25): C_j = (c_j − q) ×, with the center of its own body; A T = 0 only so."""
    at = At(ball_on_a_plate, {"ball.x": 0.4, "ball.y": -0.3})
    stacked = ns.stacked_matrices(at.kin)
    centers = [at.kin.tree.nodes[at.kin.tree.index(name)].p_WB for name in ("plate", "ball")]
    A, T, c_i, c_j, q = at.numbers(stacked.A, stacked.T, *centers, at.kin.contacts[0].point)
    assert stacked.bodies == ("plate", "ball")

    def coupled(center):
        return np.hstack([-skew(c_i - q), -np.eye(3), skew(center - q), np.eye(3)])

    assert size(A - coupled(c_j)) < ROUNDING
    compare(printed=coupled(c_i) @ T, corrected=coupled(c_j) @ T, library=A @ T, off=0.409, scale=1)


def test_sign_of_inverse_dynamics_at_zero_accelerations():
    """(27): C θ̇ = −(τ + γ + δ) at θ̈ = 0, with C = −Tᵀ(MṪ + WMT) as (18) defines it."""
    state = {"bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    at = At("agv", state)
    stacked = ns.stacked_matrices(at.kin)
    T, T_dot, M, W = at.numbers(stacked.T, at.rate(stacked.T), stacked.M, stacked.W)
    C = -T.T @ (M @ T_dot + W @ M @ T)
    # the torques of θ̈ = 0, and that they are
    tau = at.instant.velocity_terms
    held = At("agv", state, dict(zip(("torque1", "torque2"), tau, strict=True)))
    assert size(held.acceleration("wheel1.rate", "wheel2.rate")) < ROUNDING
    compare(printed=tau, corrected=-tau, library=C @ at.start.eta, off=0.151)


def test_spin_matrix_that_goes_with_the_axes():
    """(5): W = diag(ω ×, 0) needs absolute rates; rates of body components need diag(ω ×, ω ×)."""
    at = At("manipulator-6r", arm(6))
    matrices = ns.DeSantis().matrices(at.kin)  # linear part first, in body axes
    J, J_dot, M, W = at.numbers(matrices.J, matrices.J_dot, matrices.M, matrices.W)
    angular_only = W * np.kron(np.eye(6), np.kron(np.diag([0, 1]), np.ones((3, 3))))
    eta = at.start.eta
    compare(
        printed=J.T @ (M @ J_dot + angular_only @ M @ J) @ eta,
        corrected=J.T @ (M @ J_dot + W @ M @ J) @ eta,
        library=at.instant.velocity_terms,
        off=0.524,
    )


def arm(joints):
    """A posture and rates of an arm."""
    angles = (0.3, -0.8, 0.6, 0.4, 0.9, -0.5)[:joints]
    rates = (0.7, -1.1, 0.5, -0.9, 1.3, 0.8)[:joints]
    state = {f"joint{k}.angle": q for k, q in enumerate(angles, 1)}
    return state | {f"joint{k}.rate": r for k, r in enumerate(rates, 1)}


# [SahaAngeles1989]


@pytest.fixture(scope="module")
def agv():
    state = {"bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    return At("agv", state, {"torque1": 0.12, "torque2": -0.05})


PLATFORM = ("platform.rate", "platform.vx", "platform.vy")


def platform_rows(at):
    """T'_p of (6a), from the freedom basis."""
    names = [s.name for s in at.kin.speeds]
    return at.numbers(at.kin.S)[[names.index(name) for name in PLATFORM]]


def test_pseudo_inverse_of_twists_that_cannot_be(agv):
    """(6c) is exact for ẋ = −a ω only; a turn with ẋ = 0 comes out slower by 1 + a²."""
    T_p, (a,) = platform_rows(agv), agv.parameter("a")
    omega, V = 0.1, 0.2
    naive, possible = np.array([omega, 0.0, V]), np.array([omega, -a * omega, V])

    def achieved(twist):
        return T_p @ np.linalg.pinv(T_p) @ twist

    compare(
        printed=achieved(naive)[[0, 2]],
        corrected=achieved(possible)[[0, 2]],
        library=[omega, V],
        off=1.01e-3,
    )
    assert achieved(naive)[0] == pytest.approx(omega / (1 + a**2), rel=1e-12)


def test_components_of_the_platform_acceleration(agv):
    """(7a)–(7c) give the absolute acceleration along i, j, not the rates of ẋ, ẏ."""
    T_p, (r, ell, a) = platform_rows(agv), agv.parameter("r", "l", "a")
    rates = agv.speed("wheel1.rate", "wheel2.rate")
    W_T = (r / ell) ** 2 * (rates[0] - rates[1]) * np.array([[0, 0], [ell / 2, ell / 2], [-a, a]])
    formula = T_p @ agv.acceleration("wheel1.rate", "wheel2.rate") + W_T @ rates
    omega, vx, vy = agv.speed(*PLATFORM)
    component_rates = agv.acceleration(*PLATFORM)
    absolute = component_rates + [0.0, -omega * vy, omega * vx]
    compare(printed=component_rates, corrected=absolute, library=formula, off=0.122)


def test_state_of_the_vehicle_needs_the_caster_angle():
    """(30): I depends on ψ, in closed form; (θ₁, θ₂) of the printed state do not."""
    at = At("agv", {"bracket.angle": 0.5})
    r, ell, a, b, d, m_w, m_p, I_s, I_t, I_z = at.parameter(
        *("r", "l", "a", "b", "d", "m_wheel", "m_platform"),
        *("I_spin", "I_diameter", "I_z"),
    )

    def inertia(psi):
        e, n = np.ones(2), np.array([1.0, -1.0])
        K = m_w * r**2 + I_s
        t3 = math.cos(psi) / 2 * e - (a + b) / ell * math.sin(psi) * n
        p3 = r / d * (math.sin(psi) / 2 * e + (a + b) / ell * math.cos(psi) * n)
        platform = m_p * ((a * r / ell) ** 2 * np.outer(n, n) + r**2 / 4 * np.outer(e, e))
        turning = (I_z + 2 * I_t) * (r / ell) ** 2 * np.outer(n, n)
        return platform + turning + K * np.eye(2) + K * np.outer(t3, t3) + I_t * np.outer(p3, p3)

    compare(
        printed=inertia(0.0), corrected=inertia(0.5), library=at.instant.mass_matrix, off=9.83e-4
    )


def test_wheel_angles_do_not_determine_the_caster():
    """(30) again: both wheels go round a loop and come back, the caster does not."""
    model = system("agv").model
    loop = {"wheel1.angle": "0.4*(1 - cos(beta))", "wheel2.angle": "0.4*sin(beta)"}
    scenario = dataclasses.replace(model.scenario, motion=loop, start={})
    round_trip = ns.compile(ns.derive(dataclasses.replace(model, scenario=scenario)))
    run = ns.run_scenario(round_trip, rtol=1e-12, atol=1e-12).trajectory
    assert size([run[f"wheel{k}.angle"][-1] - run[f"wheel{k}.angle"][0] for k in (1, 2)]) < MOTION
    assert run["bracket.angle"][-1] - run["bracket.angle"][0] == pytest.approx(-0.873, rel=0.01)


# [DeSantis1994], sections 2 to 4


def test_angular_velocity_matrix():
    """(1), (2.1): S(Ω) x = Ω × x, the matrix of RᵀṘ."""
    at = At("heavy-body", {"pivot.wx": 0.5, "pivot.wy": -1.2, "pivot.wz": 0.8, "pivot.roll": 0.3})
    R = at.kin.tree.nodes[0].R_WB
    R, R_dot = at.numbers(R, at.rate(R))
    x, y, z = at.start.eta
    printed = np.array([[0, -z, x], [z, 0, -y], [-x, y, 0]])
    compare(printed=printed, corrected=skew([x, y, z]), library=R.T @ R_dot, off=1.7)


def test_projector_of_the_admissible_velocities():
    """(2.13): 1 − Aᵀ(AAᵀ)⁻¹A; as printed AᵀA is to be inverted, which has the rank of A."""
    at = At("tricycle", {"frame.angle": 0.4, "steer.angle": 0.3, "v": 1.5, "steer.rate": -0.8})
    A, E = at.numbers(at.kin.A, at.kin.E)
    assert A.shape == (2, 4) and np.linalg.matrix_rank(A.T @ A) == 2 < 4
    projector = np.eye(4) - A.T @ np.linalg.solve(A @ A.T, A)
    B = E.T @ np.linalg.inv(E @ projector @ E.T)
    assert size(A @ projector @ B) < ROUNDING
    J_nh = at.numbers(ns.DeSantis().matrices(at.kin).J_nh)
    assert size(projector @ B - J_nh) < ROUNDING
    assert size(J_nh - at.numbers(at.kin.S)) < ROUNDING


TRACTOR = {"tractor.angle": 0.3, "hinge.angle": 0.25, "steer.angle": 0.2, "tractor.vx": 2.0}
STEERING = {"steering_rate": 0.05}
LHD = {"front.angle": 0.3, "waist.angle": 0.25, "front.vx": 2.0, "front.vy": 0.3}
LHD |= {"front.rate": -0.2, "waist.rate": 0.4}
NO_TIRES = {"C1": 0.0, "C2": 0.0}


@pytest.mark.parametrize(
    ("name", "state", "inputs", "parameters", "off"),
    [
        ("tractor-trailer", TRACTOR, STEERING, {}, 0.103),
        ("lhd", LHD, {}, NO_TIRES, 0.103),
        ("manipulator-2r", arm(2), {}, {"g": 0.0}, 2.25),
    ],
)
def test_accelerations_without_forces(name, state, inputs, parameters, off):
    """(4.21), (5.14), (6.35), (6.36): g_0 = −D⁻¹Cα."""
    at = At(name, state, inputs, parameters)
    matrices = ns.DeSantis().matrices(at.kin)
    D, C, library = at.numbers(matrices.D, matrices.C, at.equations.accelerations)
    n = len(at.start.eta)
    g_0 = np.linalg.solve(D.reshape(n, n), C.reshape(n, n) @ at.start.eta)
    compare(printed=g_0, corrected=-g_0, library=library, off=off)


@pytest.mark.parametrize(
    ("name", "state", "off"),
    [
        ("heavy-body", {"pivot.wx": 0.5, "pivot.wy": -1.2, "pivot.wz": 0.8}, 0.562),
        ("manipulator-6r", arm(6), 0.835),
    ],
)
def test_skew_symmetry_in_space(name, state, off):
    """Remark 4.1, (4.27): αᵀ(Ḋ − 2C)α = 0 does not make Ḋ − 2C skew; with C̃ it is."""
    at = At(name, state)
    matrices = ns.DeSantis().matrices(at.kin)
    D_dot, C, C_skew = at.numbers(at.rate(matrices.D), matrices.C, matrices.C_skew)
    printed, corrected, eta = D_dot - 2 * C, D_dot - 2 * C_skew, at.start.eta
    assert abs(eta @ printed @ eta) < ROUNDING
    assert size(C @ eta - C_skew @ eta) < ROUNDING
    compare(
        printed=printed + printed.T,
        corrected=corrected + corrected.T,
        library=np.zeros_like(C),
        off=off,
        scale=size(C),
    )


# [DeSantis1994], section 6: the tractor-trailer


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
    at_body = 6 * at.kin.tree.index(body)
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


# [DeSantis1994], section 7: manipulators

CARTESIAN = {"tau1": 1.0, "tau2": -0.5}


@pytest.fixture(scope="module")
def two_links():
    return At("manipulator-2r", arm(2), CARTESIAN, {"g": 0.0})


@pytest.fixture(scope="module")
def cartesian():
    request = {"body": "link2", "components": ("vx", "vy"), "parameters": {"g": 0.0}}
    return ns.cartesian_model(system("manipulator-2r"), arm(2), inputs=CARTESIAN, **request)


@pytest.mark.parametrize(
    ("part", "off"), [("mass", 0.248), ("force", 0.461), ("velocity terms", 0.580)]
)
def test_cartesian_model(two_links, cartesian, part, off):
    """(7.6)–(7.10): J⁻ᵀ on the left, V_x = J⁻ᵀ(C − D J⁻¹J̇)q̇, judged by energy, power and motion."""
    J, D = cartesian.jacobian, two_links.instant.mass_matrix
    inverse, v = np.linalg.inv(J), cartesian.velocity
    tau = np.array(list(CARTESIAN.values()))
    M_x, F_x = inverse.T @ D @ inverse, inverse.T @ tau
    bias, drift = two_links.instant.velocity_terms, D @ inverse @ cartesian.jacobian_rate_term
    if part == "mass":
        printed, corrected = (v @ M @ v / 2 for M in (inverse @ D @ inverse, M_x))
        library = two_links.instant.kinetic_energy
    elif part == "force":
        printed, corrected = inverse @ tau @ v, F_x @ v
        library = tau @ two_links.start.eta
    else:
        # the equation of motion (7.10) at the library's acceleration of the tip
        pushed = M_x @ cartesian.acceleration
        printed, corrected = (
            pushed - inverse.T @ (bias + drift),
            pushed + inverse.T @ (bias - drift),
        )
        library = F_x
    compare(printed=printed, corrected=corrected, library=library, off=off)


GOAL, KP, KD = np.array([0.5, -0.4]), np.diag([30.0, 20.0]), np.diag([6.0, 4.0])


@pytest.mark.parametrize(("equation", "off"), [("7.13", 7.78), ("7.15", 0.0221), ("7.16", 16.1)])
def test_lyapunov_function_of_the_controlled_arm(equation, off):
    """V = ½eᵀK_p e + ½q̇ᵀDq̇ and V̇ = −q̇ᵀK_d q̇, without gravity."""
    state = arm(2)
    q, q_dot = np.array([0.3, -0.8]), np.array([0.7, -1.1])
    e = q - GOAL
    tau = dict(zip(("tau1", "tau2"), -KP @ e - KD @ q_dot, strict=True))
    at = At("manipulator-2r", state, tau, {"g": 0.0})
    q_ddot = at.acceleration("joint1.rate", "joint2.rate")
    D, D_dot = at.numbers(at.equations.reduced_mass, at.rate(at.equations.reduced_mass))
    C = at.numbers(ns.DeSantis().matrices(at.kin).C)
    # the rate of ½eᵀK_p e + ½q̇ᵀDq̇ along the library's motion: right side of (7.14)
    library = q_dot @ KP @ e + q_dot @ D @ q_ddot + q_dot @ D_dot @ q_dot / 2
    damping, power = -q_dot @ KD @ q_dot, q_dot @ np.array(list(tau.values()))
    printed, corrected = {
        "7.13": (2 * (e @ KP @ q_dot + power), e @ KP @ q_dot + power),
        "7.15": (
            damping + q_dot @ (D_dot - C) @ q_dot / 2,
            damping + q_dot @ (D_dot - 2 * C) @ q_dot / 2,
        ),
        "7.16": (-q_dot @ KP @ q, damping),
    }[equation]
    compare(printed=printed, corrected=corrected, library=library, off=off)


def test_proportional_control_does_not_hold_against_gravity():
    """(7.1), (7.11): at the goal and at rest the arm falls; with the torque G it stays."""
    state = {"joint1.angle": 0.5, "joint2.angle": -0.4}
    falling = At("manipulator-2r", state)
    G = -falling.numbers(falling.equations.reduced_forces)
    held = At("manipulator-2r", state, dict(zip(("tau1", "tau2"), G, strict=True)))
    names = ("joint1.rate", "joint2.rate")
    compare(
        printed=falling.acceleration(*names),
        corrected=held.acceleration(*names),
        library=np.zeros(2),
        off=19.3,
        scale=100.0,
    )


def test_only_the_last_column_of_a_link_jacobian_is_a_unit_vector():
    """Section 7 (e): J_hi is [0 0 0 0 0 1]' in its i-th column, and has i columns."""
    at = At("manipulator-6r", arm(6))
    J_h = at.numbers(body_jacobian(at.kin))
    turning = [J_h[6 * i + 3 : 6 * i + 6] for i in range(6)]
    for i, link in enumerate(turning):
        assert size(link[:, i] - [0.0, 0.0, 1.0]) < ROUNDING
        assert size(link[:, i + 1 :]) == 0.0
    # the twist of the last link for all rates, against that of its own joint alone
    compare(
        printed=[0.0, 0.0, at.start.eta[5]],
        corrected=turning[5] @ at.start.eta,
        library=at.numbers(at.kin.twists[5][0]),
        off=1.27,
    )


# [DeSantis1994], section 8 and appendix A: the load-haul-dump vehicle


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


# [CameronBook1993]


def test_tricycle_is_singular_only_as_printed():
    """(64), (65): αᵀ loses a rank at θ = π/2; with the front wheel's lateral speed it keeps it."""
    smallest = []
    for theta in (0.4, math.pi / 2):
        state = {"frame.angle": theta, "steer.angle": 0.3, "v": 1.5, "steer.rate": -0.8}
        at = At("tricycle", state)
        (ell,) = at.parameter("ell")
        (s, k), (sp, kp) = (math.sin(theta), math.cos(theta)), (math.sin(0.3), math.cos(0.3))
        printed = [
            [k / kp, s / kp, 0, 0],
            [-s, k, 0, 0],
            [-sp, 0, ell * k * kp, 0],
            [0, 0, 0, 1],
        ]
        library = at.numbers(at.kin.K) @ np.linalg.inv(at.numbers(at.kin.N))
        smallest.append([np.linalg.svd(m, compute_uv=False)[-1] for m in (printed, library)])
    (printed, library), (printed_north, library_north) = smallest
    assert printed > 0.1 and printed_north < ROUNDING
    assert library_north == pytest.approx(library, rel=ROUNDING) and library > 0.1


BODY = {"pivot.roll": 0.3, "pivot.pitch": -0.6, "pivot.yaw": 1.1}


def test_order_of_the_angles_of_the_ball_joint():
    """Section 4.3 turns φ about Z first; (72)–(76) hold with φ the roll and ψ the yaw."""
    rates = {"pivot.roll_rate": 0.7, "pivot.pitch_rate": -0.4, "pivot.yaw_rate": 0.9}
    at = At("heavy-body", BODY | rates)

    def omega(phi, phi_dot, psi_dot):
        """Eq. (73)."""
        s, k, st, kt = math.sin(phi), math.cos(phi), math.sin(-0.6), math.cos(-0.6)
        return np.array([[1, 0, -st], [0, k, kt * s], [0, -s, kt * k]]) @ [phi_dot, -0.4, psi_dot]

    compare(
        printed=omega(1.1, 0.9, 0.7),
        corrected=omega(0.3, 0.7, 0.9),
        library=at.start.eta,
        off=0.496,
    )


@pytest.mark.parametrize(("equation", "off"), [("75", 0.088), ("76", 0.789)])
def test_equations_of_the_ball_joint(equation, off):
    """d/dt L_ω + ω × L_ω = τ; (75) has L_ωz where L_ωx belongs, (76) the rate of L_ωy for L_ωz."""
    omega, tau = np.array([0.5, -1.2, 0.8]), np.array([0.4, -0.3, 0.2])
    state = BODY | dict(zip(("pivot.wx", "pivot.wy", "pivot.wz"), omega, strict=True))
    inputs = dict(zip(("tau_x", "tau_y", "tau_z"), tau, strict=True))
    at = At("heavy-body", state, inputs, {"g": 0.0})
    J = at.instant.mass_matrix
    (px, py, pz), rate = J @ omega, J @ at.acceleration("pivot.wx", "pivot.wy", "pivot.wz")
    wx, wy, wz = omega
    printed, corrected, axis = {
        "75": (rate[1] + wz * pz - wx * pz, rate[1] + wz * px - wx * pz, 1),
        "76": (rate[1] - wy * px + wx * py, rate[2] - wy * px + wx * py, 2),
    }[equation]
    compare(printed=printed, corrected=corrected, library=tau[axis], off=off, scale=1.0)


@pytest.mark.parametrize(("quantity", "off"), [("momentum", 0.56), ("energy", 0.196)])
def test_rotor_moves_sideways_with_the_sled(quantity, off):
    """(80), (82), (83): L contains m₂ w₁₂²/2 too until w₁₂ is put to zero."""
    at = At("sled-with-rotor", {})
    m1, m2, ell, I1, I2 = at.parameter("m1", "m2", "ell", "I1", "I2")
    v, w, turn, spin = 0.5, 0.7, 0.8, -2.0
    speeds = np.array([v, w, turn, spin])
    assert [s.name for s in at.kin.speeds] == ["sled.vx", "sled.vy", "sled.rate", "rotor.rate"]
    M = at.numbers(mass_matrix(at.kin))
    if quantity == "momentum":
        printed, corrected = m1 * w - m1 * ell * turn, (m1 + m2) * w - m1 * ell * turn
        library = (M @ speeds)[1]
    else:
        printed = (m1 + m2) * v**2 / 2 + m1 * w**2 / 2 - m1 * ell * turn * w
        printed += I1 * turn**2 / 2 + I2 * (turn + spin) ** 2 / 2
        corrected = printed + m2 * w**2 / 2
        library = speeds @ M @ speeds / 2
    compare(printed=printed, corrected=corrected, library=library, off=off)


# [AntunesSigaudMoraes2010]: the sleigh at a state


def sleigh(state, inputs=None, by=ns.NaturalComplement):
    names = {"phi": "angle", "s_dot": "vx", "phi_dot": "rate"}
    given = {f"sleigh.{names[k]}": v for k, v in state.items() if k in names}
    given |= {"costate.blade.lateral": state["lam"]} if "lam" in state else {}
    return At("chaplygin-sleigh", given, inputs, by=by)


def sleigh_letters(at):
    m, a, inertia = at.parameter("m", "a", "I")
    return m, a, inertia, math.sqrt(a**2 + inertia / m)


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


# [AntunesSigaudMoraes2010]: vakonomic motion


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


# [AntunesSigaudMoraes2010], section 6: along a catenary and along a sine

V_T, X_0 = 1.0, 0.8


def follow(path, at, sigma, duration, printed=False):
    """The sleigh under forces that keep it on a path and do no work, from its position alone.

    `path` gives curvature, ds/dσ and the parameter σ from x and y; (107) is printed with a/b.
    """
    compiled = system("chaplygin-sleigh")
    symbols = compiled.kinematics.symbols
    m, a, _, b = sleigh_letters(sleigh({}))
    traced = ca.SX.sym("sigma")
    kappa, stretch, parameter = path(traced, symbols.q[0], symbols.q[1])
    s_dot = V_T / ca.sqrt(1 + b**2 * kappa**2)
    turn = kappa * s_dot
    turn_rate = ca.gradient(turn, traced) * s_dot / stretch
    side = m * ((a if printed else b**2 / a) * turn_rate + s_dot * turn)
    arguments = [symbols.t, symbols.q, symbols.v, symbols.params]
    inputs = {
        name: ca.Function(name, arguments, [ca.substitute([force], [traced], [parameter])[0]])
        for name, force in (("F_cphi", side), ("F_cs", -a * kappa * side))
    }
    speeds = ca.Function("speeds", [traced], [s_dot, turn])(sigma)
    speeds = dict(zip(("sleigh.vx", "sleigh.rate"), map(float, speeds), strict=True))
    return ns.simulate(
        compiled,
        duration=duration,
        start=at | speeds,
        inputs=inputs,
        samples=51,
        rtol=1e-13,
        atol=1e-13,
    )


def catenary(sigma, x, y):
    """σ is the arc length: x = √(s² + x₀²), y = x₀ asinh(s/x₀); it turns to the right."""
    return -X_0 / (sigma**2 + X_0**2), ca.SX(1), X_0 * ca.sinh(y / X_0)


CATENARY_START = {"sleigh.x": X_0, "sleigh.angle": math.pi / 2}


@pytest.fixture(scope="module")
def catenary_run():
    return follow(catenary, CATENARY_START, 0.0, 5.0)


def test_force_of_eq_107_leaves_the_catenary(catenary_run):
    """With a/b for b/a the sleigh is metres off after 5 s; with b/a it stays on the path."""
    run, astray = catenary_run, follow(catenary, CATENARY_START, 0.0, 5.0, printed=True)
    assert size(run["sleigh.x"] - X_0 * np.cosh(run["sleigh.y"] / X_0)) < MOTION
    away = [astray[f"sleigh.{k}"][-1] - run[f"sleigh.{k}"][-1] for k in "xy"]
    assert math.hypot(*away) == pytest.approx(2.37, rel=0.01)


@pytest.mark.parametrize(
    ("equation", "off"), [("99", 2.5), ("100", 1.44), ("104", 5.82), ("105", 0.188)]
)
def test_motion_along_the_catenary(catenary_run, equation, off):
    """ρ < 0 and Ψ in (π/2, π), and the squares of eqs. (104), (105)."""
    run = catenary_run
    b = sleigh_letters(sleigh({}))[3]
    s_dot, turn = run["sleigh.vx"], run["sleigh.rate"]
    s = X_0 * np.sinh(run["sleigh.y"] / X_0)
    span = s**2 + X_0**2
    lost, kept = np.sqrt(span + (b * X_0) ** 2), np.sqrt(span**2 + (b * X_0) ** 2)
    printed, corrected, library = {
        "99": (X_0 / span, -X_0 / span, turn / s_dot),
        "100": (
            np.arctan(span / (b * X_0)),
            np.pi - np.arctan(span / (b * X_0)),
            np.arctan2(s_dot, b * turn),
        ),
        "104": (-V_T * span / lost, V_T * span / kept, s_dot),
        "105": (-V_T * X_0 / lost, -V_T * X_0 / kept, turn),
    }[equation]
    assert size(corrected - library) < MOTION
    assert size(printed - library) == pytest.approx(off, rel=0.01)


def test_rate_of_the_control_angle_contradicts_the_angle(catenary_run):
    """(106) is right for Ψ in (π/2, π); (100) as printed has the opposite rate."""
    run = catenary_run
    b = sleigh_letters(sleigh({}))[3]
    s_dot, turn = run["sleigh.vx"], run["sleigh.rate"]
    s_ddot, turn_rate = (run[f"acceleration.sleigh.{k}"] for k in ("vx", "rate"))
    s = X_0 * np.sinh(run["sleigh.y"] / X_0)
    span = s**2 + X_0**2
    formula = -2 * b * X_0 * s * s_dot / (span**2 + (b * X_0) ** 2)
    library = b * (s_ddot * turn - s_dot * turn_rate) / V_T**2
    assert size(formula - library) < MOTION
    # d/dt arctan((s² + x₀²)/(b x₀))
    of_printed_angle = 2 * b * X_0 * s * s_dot / (span**2 + (b * X_0) ** 2)
    assert size(of_printed_angle - library) == pytest.approx(0.895, rel=0.01)


def sine(sigma, x, y):
    """y = −sin x, σ = x."""
    slope = 1 + ca.cos(sigma) ** 2
    return ca.sin(sigma) / slope**1.5, ca.sqrt(slope), x


def test_control_angle_along_a_sine():
    """(111): an arctangent drives backwards where the path bends to the right, sin x < 0."""
    run = follow(sine, {"sleigh.angle": -math.pi / 4}, 0.0, 8.0)
    b = sleigh_letters(sleigh({}))[3]
    x, phi = run["sleigh.x"], run["sleigh.angle"]
    assert size(run["sleigh.y"] + np.sin(x)) < MOTION and x[-1] > math.pi
    curvature = np.sin(x) / (1 + np.cos(x) ** 2) ** 1.5
    ahead = run["sleigh.vx"] * np.cos(phi)
    with np.errstate(divide="ignore"):
        printed = V_T * np.sin(np.arctan(1 / (b * curvature))) * np.cos(phi)
    corrected = V_T * np.sin(np.arctan2(1.0, b * curvature)) * np.cos(phi)
    assert size(corrected - ahead) < MOTION
    assert size(printed - ahead) == pytest.approx(1.65, rel=0.01)
    # eq. (112) is right as it is printed
    slope = 1 + np.cos(x) ** 2
    assert size(V_T * slope / np.sqrt(b**2 * np.sin(x) ** 2 + slope**3) - ahead) < MOTION
