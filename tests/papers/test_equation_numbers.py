"""Equation numbers beside printed equations: each is the paper's equation, written here by hand.

Constraints, kinematics and dependent speeds are compared as text. Rows of motion are compared with
the paper's as residuals, left less right, at accelerations that solve neither: equations that both
hold but are not the same differ there. Misprints are corrected as docs/errata.md says.
"""

import re
from math import cos, pi, sin, tan

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip import MODELS
from noslip.library.desantis_machines import INERTIAS, MASSES
from noslip.show.equations.derivations import derivation
from noslip.show.equations.documents import equations_text
from noslip.show.equations.layout import with_marks_beside
from noslip.show.equations.subject import Subject, printed_equations, symbol
from noslip.show.equations.writing import evaluate

#: Models on tires, or with a load, of which no paper has equations.
OWN_EQUATIONS = ("tractor-trailer-tires", "cartesian-crane")
#: Models whose equations of motion stand in no paper as such, or not with a number.
UNNUMBERED = {"vertical-disk", "carriage", "lhd", "lhd-noslip", "tractor-trailer-slip"}

WRITTEN = {
    "rolling-disk": [
        "ż = r θ̇ cos(θ)   [SahaAngeles1991 (28)]",
        "ż − r θ̇ cos(θ) = 0   [rim.normal, rolling, SahaAngeles1991 (31)]",
    ],
    "agv": [
        "ẋ = a r (θ̇2 − θ̇1)/l   [SahaAngeles1989 (3)]",
        "ẏ = −r (θ̇1 + θ̇2)/2   [SahaAngeles1989 (3)]",
        "ω = r (θ̇1 − θ̇2)/l   [SahaAngeles1989 (8a)]",
        "Ẋ = ẋ cos(β) − ẏ sin(β)   [SahaAngeles1989 (8b)]",
        "Ẏ = ẏ cos(β) + ẋ sin(β)   [SahaAngeles1989 (8c)]",
        "−r θ̇3 − ẏ cos(ψ) − (b ω − ẋ) sin(ψ) = 0"
        "   [wheel3.longitudinal, rolling, SahaAngeles1989 (25b)]",
        "(d − b cos(ψ)) ω + d ψ̇ + ẋ cos(ψ) + ẏ sin(ψ) = 0"
        "   [wheel3.lateral, rolling, SahaAngeles1989 (25b)]",
        "ψ̇ = S41 θ̇1 + S42 θ̇2   [SahaAngeles1989 (26)]",
        "θ̇3 = S71 θ̇1 + S72 θ̇2   [SahaAngeles1989 (26)]",
    ],
    "tractor-trailer": [
        "ẋ = v_u1 cos(θ) − v_w1 sin(θ)   [DeSantis1994 (6.4)]",
        "ẏ = v_w1 cos(θ) + v_u1 sin(θ)   [DeSantis1994 (6.4)]",
        "v_w1 cos(φ) − (l2 + c cos(φ)) θ̇ − l2 φ̇ − v_u1 sin(φ) = 0"
        "   [trailer_axle.lateral, knife edge, DeSantis1994 (6.8)]",
        "v_w1 = 0   [rear_axle.lateral, knife edge, DeSantis1994 (6.14)]",
        "θ̇ = v_u1 tan(δ)/l1   [DeSantis1994 (6.15)]",
        "S51 = −(l1 sin(φ) + (l2 + c cos(φ)) tan(δ))/(l1 l2)",
        "φ̇ = S51 v_u1   [DeSantis1994 (6.16)]",
        "δ̇ − F_s = 0   [steering_rate, speed input, DeSantis1994 (6.45)]",
    ],
    "knife-edge": [
        "ẋ = v cos(θ) − ω2 sin(θ)   [CameronBook1993 (54)]",
        "ẏ = ω2 cos(θ) + v sin(θ)   [CameronBook1993 (54)]",
        "ω2 = 0   [blade.lateral, knife edge, CameronBook1993 (56)]",
    ],
    "tricycle": [
        "ω2 = 0   [rear.lateral, knife edge, CameronBook1993 (66)]",
        "θ̇ = v sin(φ)/ℓ   [CameronBook1993 (63)]",
    ],
    "heavy-body": [
        "ψ̇ = (ω_z cos(φ) + ω_y sin(φ))/cos(θ)   [CameronBook1993 (72)]",
        "θ̇ = ω_y cos(φ) − ω_z sin(φ)   [CameronBook1993 (72)]",
        "φ̇ = ω_x + (ω_z cos(φ) + ω_y sin(φ)) tan(θ)   [CameronBook1993 (72)]",
    ],
    "sled-with-rotor": [
        "ẋ = v1 cos(θ1) − ω12 sin(θ1)   [CameronBook1993 (54)]",
        "(m1 + m2) v̇1 + m1 ℓ θ̇1² = F_v1   [sled.vx, CameronBook1993 (87)]",
        "(I1 + I2) θ̈1 + I2 θ̈2 − m1 ℓ v1 θ̇1 = τ1   [sled.rate, CameronBook1993 (90)]",
        "I2 θ̈1 + I2 θ̈2 = τ2   [rotor.rate, CameronBook1993 (93)]",
    ],
    "chaplygin-sleigh": [
        "ẋ = ṡ cos(φ) − v_y sin(φ)   [AntunesSigaudMoraes2010 (7)]",
        "ẏ = v_y cos(φ) + ṡ sin(φ)   [AntunesSigaudMoraes2010 (7)]",
        "v_y = 0   [blade.lateral, knife edge, AntunesSigaudMoraes2010 (8)]",
    ],
    "vertical-disk": [
        "ẋ = ṡ cos(φ) − v_y sin(φ)   [AntunesSigaudMoraes2010 (A2)]",
        "ẏ = v_y cos(φ) + ṡ sin(φ)   [AntunesSigaudMoraes2010 (A3)]",
        "v_y = 0   [rim.lateral, rolling, AntunesSigaudMoraes2010 (A4)]",
        "ṡ − R θ̇ = 0   [rim.longitudinal, rolling, AntunesSigaudMoraes2010 (A5)]",
    ],
    "carriage": [
        "v_y = 0   [wheel1.lateral, rolling, AntunesSigaudMoraes2010 (B1)]",
        "ṡ + a φ̇ − R θ̇1 = 0   [wheel1.longitudinal, rolling, AntunesSigaudMoraes2010 (B2)]",
        "ṡ − a φ̇ − R θ̇2 = 0   [wheel2.longitudinal, rolling, AntunesSigaudMoraes2010 (B3)]",
    ],
    "lhd-noslip": [
        "v_w1 = 0   [front_axle.lateral, knife edge, DeSantis1994 (6.14)]",
        "v_w1 cos(φ) − (l2 + c cos(φ)) θ̇ − l2 φ̇ − v_u1 sin(φ) = 0"
        "   [rear_axle.lateral, knife edge, DeSantis1994 (6.8)]",
    ],
    "lhd": [
        "ẋ = v_u1 cos(θ) − v_w1 sin(θ)   [DeSantis1994 (6.4)]",
        "ẏ = v_w1 cos(θ) + v_u1 sin(θ)   [DeSantis1994 (6.4)]",
    ],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_stand_beside_the_papers_equations(name):
    text = equations_text(ns.derive(ns.load(name)))
    plain = re.sub(r"\n +\[", "   [", text)
    for line in WRITTEN[name]:
        assert f"  {with_marks_beside(line)}\n" in plain, line


def test_every_model_from_a_paper_has_numbers():
    papers = {"SahaAngeles1989", "SahaAngeles1991", "DeSantis1994", "CameronBook1993"}
    papers |= {"AntunesSigaudMoraes2010"}
    models = {name: ns.load(name) for name in MODELS}
    from_papers = {n: m for n, m in models.items() if papers & set(m.references)}
    for name in OWN_EQUATIONS:
        del from_papers[name]
    assert len(from_papers) == 16
    for name, model in from_papers.items():
        known = set(model.equation_numbers or {})
        speeds = {
            s.name
            for s in printed_equations(ns.derive(model)).equations.kinematics.independent_speeds
        }
        if name not in UNNUMBERED:
            assert speeds <= known, name
        assert known, name


def test_numbers_of_rows_hold_for_the_speeds_of_the_model_alone():
    equations = ns.derive(ns.load("agv"))
    text = equations_text(equations, speeds=("platform.vy", "platform.rate"))
    assert "(8b)]" in text and "(25b)]" in text
    assert "(29)]" not in text and "(26)]" not in text and "(8a)]" not in text


def test_rows_of_the_caster_are_the_papers(rng):
    """[SahaAngeles1989 (25b), (26)]: the two components of v_O3 in (25a), along and across wheel 3.

    J_a and J_u are (25a) with v_O3 = −r θ̇₃ f₃, v_O1 = −r θ̇₁ j and ω of (2), in the axes i, j.
    """
    kin = ns.trace(ns.load("agv"))
    s = kin.symbols
    v_of = ca.Function("v", [s.q, kin.eta, s.params], [kin.v])
    rows_of = ca.Function("A", [s.q, s.params], [kin.A])
    names = [r.name for r in kin.rows]
    longitudinal, lateral = names.index("wheel3.longitudinal"), names.index("wheel3.lateral")
    speeds = [x.name for x in kin.speeds]
    values = {p.name: p.value for p in kin.model.parameters}
    r, l, a, b, d = (values[n] for n in "rlabd")  # noqa: E741
    params = [p.value for p in kin.model.parameters]
    for psi in rng.uniform(-3.0, 3.0, 4):
        q = [psi if c.name == "bracket.angle" else rng.normal() for c in kin.coordinates]
        e3, f3 = np.array([cos(psi), sin(psi)]), np.array([-sin(psi), cos(psi)])
        J_a = np.column_stack(
            [-r / 2 * np.array([0, 1]) + w * np.array([-(a + b), 0]) + w * d * e3
             for w in (r / l, -r / l)]
        )  # fmt: skip
        J_u = np.column_stack([r * f3, d * e3])
        # (25b): wheels 1 and 2 roll, θ̇₃ and ψ̇ are anything
        rates, free = rng.normal(size=2), rng.normal(size=2)
        v = np.array(v_of(q, rates, params)).ravel()
        v[speeds.index("wheel3.rate")], v[speeds.index("bracket.rate")] = free
        A = np.array(rows_of(q, params))
        left = J_a @ rates + J_u @ free
        assert A[longitudinal] @ v == pytest.approx(-f3 @ left, abs=1e-14)
        assert A[lateral] @ v == pytest.approx(e3 @ left, abs=1e-14)
        # (26)
        own = dict(zip(speeds, np.array(v_of(q, rates, params)).ravel(), strict=True))
        expected = -np.linalg.solve(J_u, J_a @ rates)
        assert [own["wheel3.rate"], own["bracket.rate"]] == pytest.approx(expected, rel=1e-13)


def disk_35(v):
    """I ω̇ = C ω + γ [SahaAngeles1991 (35)], (33) corrected, along e, f and a."""
    m, r, Ia, It, g = (v[n] for n in ("m", "r", "I_axial", "I_transverse", "g"))
    th = v["disk.tilt"]
    psi_, th_, phi_ = (v[f"disk.{n}_rate"] for n in ("yaw", "tilt", "spin"))
    psi__, th__, phi__ = (v[f"disk.{n}_rate'"] for n in ("yaw", "tilt", "spin"))
    w = np.array([th_, psi_ * sin(th), phi_ + psi_ * cos(th)])  # along f, e, a
    # ω̇ as a vector: components' rates, and the axes turn with Ω = ψ̇ z + θ̇ f
    w_ = np.array([th__, psi__ * sin(th) + psi_ * th_ * cos(th),
                   phi__ + psi__ * cos(th) - psi_ * th_ * sin(th)])  # fmt: skip
    Om = np.array([th_, psi_ * sin(th), psi_ * cos(th)])
    w_ = w_ + np.cross(Om, w)
    IC, d, down = np.diag([It, It, Ia]), np.array([0, r, 0]), g * np.array([0, -sin(th), -cos(th)])
    inertia = IC + m * (d @ d * np.eye(3) - np.outer(d, d))
    convective = -np.cross(w, IC @ w) - m * np.cross(d, np.cross(w, np.cross(Om, d)))
    f, e, a = inertia @ w_ - convective - m * np.cross(d, down)
    return {"disk.yaw_rate": e, "disk.tilt_rate": f, "disk.spin_rate": a}


def agv_29(v):
    """I θ̈ = C θ̇ + τ [SahaAngeles1989 (29)], closed form."""
    r, l, a, b, d = (v[n] for n in "rlabd")  # noqa: E741
    mw, Ia, It, mp, Iz = (v[n] for n in ("m_wheel", "I_spin", "I_diameter", "m_platform", "I_z"))
    psi = v["bracket.angle"]
    u, u_ = (np.array([v[f"wheel{k}.rate{mark}"] for k in (1, 2)]) for mark in ("", "'"))
    e, n = np.array([1.0, 1.0]), np.array([1.0, -1.0])
    K, w = mw * r**2 + Ia, r / l * (u[0] - u[1])
    t3 = cos(psi) / 2 * e - (a + b) / l * sin(psi) * n
    p3 = r / d * (sin(psi) / 2 * e + (a + b) / l * cos(psi) * n)
    psi_ = p3 @ u - w
    t3_ = psi_ * (-sin(psi) / 2 * e - (a + b) / l * cos(psi) * n)
    p3_ = psi_ * r / d * (cos(psi) / 2 * e - (a + b) / l * sin(psi) * n)
    inertia = mp * ((a * r / l) ** 2 * np.outer(n, n) + r**2 / 4 * np.outer(e, e))
    inertia += (Iz + 2 * It) * (r / l) ** 2 * np.outer(n, n) + K * np.eye(2)
    inertia += K * np.outer(t3, t3) + It * np.outer(p3, p3)
    C = -(K * (t3_ @ u) * t3 + It * (p3_ @ u) * p3
          + mp * a * w * (r / 2 * w * e - r**2 / (2 * l) * (e @ u) * n))  # fmt: skip
    rest = inertia @ u_ - C - np.array([v["torque1"], v["torque2"]])
    return {"wheel1.rate": rest[0], "wheel2.rate": rest[1]}


def tractor_639(v):
    """D (α̇ − g_01 − g_02 δ̇) = F [DeSantis1994 (6.39)] with (6.21) and (6.22) corrected."""
    l1, l2, c, b, e, m1, j1, m2, j2 = (v[n] for n in "l1 l2 c b e m1 j1 m2 j2".split())
    ph, de, al, de_ = (v[n] for n in ("hinge.angle", "steer.angle", "tractor.vx", "steer.rate"))
    ph_ = -al * (l1 * sin(ph) + (l2 + c * cos(ph)) * tan(de)) / (l1 * l2)
    t, t_ = tan(de) / l1, de_ / (l1 * cos(de) ** 2)
    d = l2 - e
    J = np.array([1, b * t, t, cos(ph) - c * sin(ph) * t, -d / l2 * (sin(ph) + c * cos(ph) * t),
                  -(sin(ph) + c * cos(ph) * t) / l2])  # fmt: skip
    J_ = np.array([0, b * t_, t_, -sin(ph) * ph_ - c * (cos(ph) * ph_ * t + sin(ph) * t_),
                   -d / l2 * (cos(ph) * ph_ - c * sin(ph) * ph_ * t + c * cos(ph) * t_),
                   -(cos(ph) * ph_ - c * sin(ph) * ph_ * t + c * cos(ph) * t_) / l2])  # fmt: skip
    M = np.diag([m1, m1, j1, m2, m2, j2])
    F = v["F_u1"] / cos(de) + v["F_u2"] + v["F_u3"] * J[3]
    return {"tractor.vx": J @ M @ J * v["tractor.vx'"] + J @ M @ J_ * al - F}


def knife_58_59(v):
    """[CameronBook1993 (58), (59)] with P₂ = m a θ̇ and the weight along the slope, m g sin α."""
    m, a, J, slope, g = (v[n] for n in ("m", "a", "J", "slope", "g"))
    th, s, w = (v[n] for n in ("skate.angle", "skate.vx", "skate.rate"))
    P2 = m * a * w
    pull = m * g * sin(slope)
    first = m * v["skate.vx'"] - cos(th) * pull - w * P2 - v["F_v"]
    second = (J + m * a**2) * v["skate.rate'"] + pull * a * sin(th) + s * P2 - v["tau"]
    return {"skate.vx": first, "skate.rate": second}


def tricycle_69_70(v):
    """[CameronBook1993 (69), (70)] with the regular w₃; L has body and fork, their slope too."""
    mb, mf, Jb, Jf, p, L, gx, gy = (v[n] for n in "m_b m_f J_b J_f p ell gx gy".split())
    th, ph, s, ph_ = (v[n] for n in ("frame.angle", "steer.angle", "v", "steer.rate"))
    s_, ph__ = v["v'"], v["steer.rate'"]
    # v_x = s cos φ − w₃ sin φ, θ̇ = (s sin φ + w₃ cos φ)/ℓ at w₂ = 0
    vx, vx_s, vx_w = s * cos(ph), cos(ph), -sin(ph)
    w, w_s, w_w = s * sin(ph) / L, sin(ph) / L, cos(ph) / L
    # body: speed vx, lateral p θ̇; fork at ℓ: vx, ℓ θ̇, turning θ̇ + φ̇
    A, B = mb + mf, Jb + mb * p**2 + mf * L**2
    P1 = A * vx * vx_s + B * w * w_s + Jf * (w + ph_) * w_s
    P3 = A * vx * vx_w + B * w * w_w + Jf * (w + ph_) * w_w
    # d/dt ∂L/∂v with φ̇ held in w_s = sin φ/ℓ and vx_s = cos φ
    rate = (A * cos(ph) ** 2 + (B + Jf) * sin(ph) ** 2 / L**2) * s_
    rate += 2 * (-A + (B + Jf) / L**2) * cos(ph) * sin(ph) * s * ph_
    rate += Jf * (ph__ * sin(ph) + ph_**2 * cos(ph)) / L
    # ∂L/∂q: the potential, and φ in L̄(q, w)
    fx, fy = (mb + mf) * gx, (mb + mf) * gy
    lever = mb * p + mf * L
    turn = lever * (gy * cos(th) - gx * sin(th))
    along = cos(th) * cos(ph) * fx + sin(th) * cos(ph) * fy + sin(ph) / L * turn
    L_ph = A * vx * (-s * sin(ph)) + (B * w + Jf * (w + ph_)) * s * cos(ph) / L
    first = rate - along - ph_ * P3 - v["F_v"]
    second = Jf * (s_ * sin(ph) / L + s * ph_ * cos(ph) / L + ph__) - L_ph + s * P3 - v["tau_phi"]
    assert P1 == pytest.approx(
        (A * cos(ph) ** 2 + (B + Jf) * sin(ph) ** 2 / L**2) * s + Jf * ph_ * sin(ph) / L
    )
    return {"v": first, "steer.rate": second}


def body_74_76(v):
    """[CameronBook1993 (74)–(76)]: Ṗ + ω × P less the moment of the weight is the torque."""
    J = np.array([[v[f"J_{''.join(sorted(a + b))}"] for b in "xyz"] for a in "xyz"])
    w, w_ = (np.array([v[f"pivot.w{k}{mark}"] for k in "xyz"]) for mark in ("", "'"))
    th, ph = v["pivot.pitch"], v["pivot.roll"]
    down = v["m"] * v["g"] * np.array([sin(th), -cos(th) * sin(ph), -cos(th) * cos(ph)])
    s = np.array([v[f"s_{k}"] for k in "xyz"])
    rest = J @ w_ + np.cross(w, J @ w) - np.cross(s, down)
    return {f"pivot.w{k}": rest[i] - v[f"tau_{k}"] for i, k in enumerate("xyz")}


def sled(v):
    """[CameronBook1993 (87), (90), (93)]."""
    m1, m2, L, I1, I2 = (v[n] for n in "m1 m2 ell I1 I2".split())
    s, w = v["sled.vx"], v["sled.rate"]
    s_, w_, u_ = (v[f"{n}'"] for n in ("sled.vx", "sled.rate", "rotor.rate"))
    return {
        "sled.vx": (m1 + m2) * s_ + m1 * L * w**2 - v["F_v1"],
        "sled.rate": (I1 + I2) * w_ + I2 * u_ - m1 * L * w * s - v["tau1"],
        "rotor.rate": I2 * (w_ + u_) - v["tau2"],
    }


def sleigh(v):
    """[AntunesSigaudMoraes2010 (D12)–(D14)] along the blade, times m and m b², and the controls."""
    m, a, inertia = v["m"], v["a"], v["I"]
    ph, s, w = v["sleigh.angle"], v["sleigh.vx"], v["sleigh.rate"]
    b2 = a**2 + inertia / m
    x__ = -sin(ph) * s * w + a * w**2 * cos(ph)
    y__ = cos(ph) * s * w + a * w**2 * sin(ph)
    turned = -a * w / b2 * s
    return {
        "sleigh.vx": m * (v["sleigh.vx'"] - (x__ * cos(ph) + y__ * sin(ph))) - v["F_cs"],
        "sleigh.rate": m * b2 * (v["sleigh.rate'"] - turned) - v["tau_c"] - a * v["F_cphi"],
    }


def two_links_71(v):
    """D q̈ + C q̇ = τ [DeSantis1994 (7.1)], with gravity among the forces, for two links."""
    m1, l1, r1, I1 = (v[f"{n}1"] for n in "mlrI")
    m2, r2, I2 = (v[f"{n}2"] for n in "mrI")
    q, w, w_ = (np.array([v[f"joint{k}.{n}"] for k in (1, 2)]) for n in ("angle", "rate", "rate'"))
    k, s = l1 * r2 * cos(q[1]), m2 * l1 * r2 * sin(q[1])
    D = np.array([[I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * k), I2 + m2 * (r2**2 + k)],
                  [I2 + m2 * (r2**2 + k), I2 + m2 * r2**2]])  # fmt: skip
    C = np.array([[-s * w[1], -s * (w[0] + w[1])], [s * w[0], 0]])
    G = v["g"] * np.array([m1 * r1 * cos(q[0]) + m2 * (l1 * cos(q[0]) + r2 * cos(q.sum())),
                           m2 * r2 * cos(q.sum())])  # fmt: skip
    rest = D @ w_ + C @ w + G - np.array([v["tau1"], v["tau2"]])
    return {f"joint{k}.rate": rest[k - 1] for k in (1, 2)}


def lagrange_71(v, num, pose, up):
    """D q̈ + C q̇ + G = τ [DeSantis1994 (7.1)]: D from mass centers, C by Christoffel's symbols.

    Parameters
    ----------
    v : values of all names.
    num : number of joints.
    pose : joint angles → mass, mass center, rotation and inertia of each link.
    up : unit vector against gravity.
    """
    q, w = ca.SX.sym("q", num), ca.SX.sym("w", num)
    D, U = ca.SX(num, num), ca.SX(0)
    for m, center, R, inertia in pose(q):
        J = ca.jacobian(center, q)
        # ω̂ = Ṙ Rᵀ, column by column
        turning = [
            ca.mtimes(ca.reshape(ca.jacobian(ca.vec(R), q[k]), 3, 3), R.T) for k in range(num)
        ]
        J_w = ca.horzcat(*[ca.vertcat(x[2, 1], x[0, 2], x[1, 0]) for x in turning])
        D += m * ca.mtimes(J.T, J) + ca.mtimes([J_w.T, R, inertia, R.T, J_w])
        U += m * v["g"] * ca.dot(ca.DM(up), center)
    momentum = ca.mtimes(D, w)
    bias = ca.jtimes(momentum, q, w) - ca.gradient(ca.dot(w, momentum) / 2, q) + ca.gradient(U, q)
    f = ca.Function("f", [q, w], [D, bias])
    given = [[v[f"joint{k}.{n}"] for k in range(1, num + 1)] for n in ("angle", "rate", "rate'")]
    mass, terms = (np.array(x) for x in f(*given[:2]))
    tau = np.array([v[f"tau{k}"] for k in range(1, num + 1)])
    rest = mass @ given[2] + terms.ravel() - tau
    return {f"joint{k}.rate": rest[k - 1] for k in range(1, num + 1)}


def rotation(axis, angle):
    """Rotation about x or z."""
    c, s = ca.cos(angle), ca.sin(angle)
    if axis == "x":
        return ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c))
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def three_links_71(v):
    """Three links in the x-y plane."""

    def pose(q):
        at, turned = ca.SX(3, 1), ca.SX(0)
        for k in (1, 2, 3):
            turned += q[k - 1]
            along = ca.vertcat(ca.cos(turned), ca.sin(turned), 0)
            inertia = ca.diag(ca.DM([0, 0, v[f"I{k}"]]))
            yield v[f"m{k}"], at + v[f"r{k}"] * along, rotation("z", turned), inertia
            at += v[f"l{k}"] * along

    return lagrange_71(v, 3, pose, [0, 1, 0])


def six_links_71(v):
    """Six links from their modified Denavit–Hartenberg table [Craig], α and a before d and θ."""
    h = pi / 2
    table = [(0, 0, 0), (-h, 0, 0), (0, v["a2"], v["d3"]), (-h, v["a3"], v["d4"]), (h, 0, 0),
             (-h, 0, 0)]  # fmt: skip

    def pose(q):
        R, at = ca.SX.eye(3), ca.SX(3, 1)
        for k, (alpha, a, d) in enumerate(table):
            at += ca.mtimes(R, ca.DM([a, 0, 0]))
            R = ca.mtimes(R, rotation("x", alpha))
            at += ca.mtimes(R, ca.DM([0, 0, d]))
            R = ca.mtimes(R, rotation("z", q[k]))
            x, y, z, xy, xz, yz = (v.get(i, i) for i in INERTIAS[k])
            inertia = ca.DM([[x, xy, xz], [xy, y, yz], [xz, yz, z]])
            center = at + ca.mtimes(R, ca.DM(list(MASSES[k][1])))
            yield v[f"m{k + 1}"], center, R, inertia

    return lagrange_71(v, 6, pose, [0, 0, 1])


BY_HAND = {
    "rolling-disk": disk_35,
    "agv": agv_29,
    "tractor-trailer": tractor_639,
    "knife-edge": knife_58_59,
    "tricycle": tricycle_69_70,
    "heavy-body": body_74_76,
    "sled-with-rotor": sled,
    "chaplygin-sleigh": sleigh,
    "manipulator-2r": two_links_71,
    "manipulator-3r": three_links_71,
    "manipulator-6r": six_links_71,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_rows_of_motion_are_the_papers(name, rng):
    equations = ns.derive(ns.load(name))
    subject = Subject(printed_equations(equations))
    shown = derivation(equations)
    independent = [s.name for s in subject.kin.independent_speeds]
    for state in subject.alphabet.states:
        known = dict(zip(subject.alphabet.symbols, state, strict=True))
        for e in subject.notation.independent_speeds:
            known[symbol(e.glyph.rate)] = rng.uniform(-2.0, 2.0)
        values = {n: float(known[s]) for n, s in shown.symbols.items() if s in known}
        expected = BY_HAND[name](values)
        for label, meaning in shown.meanings.items():
            if label not in known:
                known[label] = evaluate(meaning, dict(known))
        for speed, (left, right) in zip(independent, shown.motion, strict=True):
            found = float(evaluate(left, dict(known)) - evaluate(right, dict(known)))
            size = abs(expected[speed]) + 1.0
            assert found == pytest.approx(expected[speed], abs=1e-10 * size), speed
