"""Basu-Mandal, Chatterjee and Papadopoulos (2007), Proc. R. Soc. A 463, 1983–2003: turns.

doi 10.1098/rspa.2007.1849. A general state of the nonlinear benchmark bicycle with its
accelerations, and what is said of its hands-free turns: a family that starts where capsize begins
to grow and ends at rest, the frame upright and the front wheel almost across.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import noslip as ns

DATA = json.loads((Path(__file__).parent / "data" / "whipple_bicycle.json").read_text())
STATE = DATA["state"]
PRINTED = 2e-12  # 13 decimals are printed, of numbers up to 9
STAYS = 1e-8


def start():
    """The state in our coordinates: they head to −x, and lean is counted from the ground."""
    return {
        "frame.yaw": STATE["theta"],
        "frame.lean": math.pi / 2 - STATE["psi"],
        "frame.pitch": STATE["phi"] - math.pi,
        "steer.angle": -STATE["psif"],
        "frame.yaw_rate": STATE["thetad"],
        "frame.lean_rate": -STATE["psid"],
        "frame.pitch_rate": STATE["phid"],
        "steer.rate": -STATE["psifd"],
    }


def body_rates(angles, rates, accelerations):
    """ω̇ in body axes of R = Rz(ψ) Rx(φ) Ry(θ), written out."""
    _, phi, theta = angles
    psid, phid, thetad = rates
    psidd, phidd, thetadd = accelerations
    cp, sp, ct, st = math.cos(phi), math.sin(phi), math.cos(theta), math.sin(theta)
    # ω = (φ̇ cθ − ψ̇ cφ sθ, θ̇ + ψ̇ sφ, φ̇ sθ + ψ̇ cφ cθ)
    turn, lift = psidd * cp - psid * sp * phid, psid * cp * thetad
    return [
        phidd * ct - phid * st * thetad - turn * st - lift * ct,
        thetadd + psidd * sp + psid * cp * phid,
        phidd * st + phid * ct * thetad + turn * ct - lift * st,
    ]


def test_speeds_of_the_printed_state(bicycle):
    instant = ns.evaluate(bicycle, start())
    assert instant.coordinates["frame.z"] == pytest.approx(STATE["z"], abs=1e-13)
    assert instant.speeds["rear_wheel.rate"] == pytest.approx(STATE["betard"], abs=PRINTED)
    assert instant.speeds["front_wheel.rate"] == pytest.approx(STATE["betafd"], abs=PRINTED)
    rates = [instant.coordinate_rates[f"frame.{k}"] for k in "xyz"]
    assert rates == pytest.approx([-STATE["xd"], -STATE["yd"], STATE["zd"]], abs=PRINTED)


def test_accelerations_of_the_printed_state(bicycle):
    given = start()
    instant = ns.evaluate(bicycle, given)
    found = instant.accelerations
    assert found["rear_wheel.rate"] == pytest.approx(STATE["betardd"], abs=PRINTED)
    assert found["front_wheel.rate"] == pytest.approx(STATE["betafdd"], abs=PRINTED)
    assert found["steer.rate"] == pytest.approx(-STATE["psifdd"], abs=PRINTED)
    names = ("yaw", "lean", "pitch")
    angles = [given[f"frame.{n}"] for n in names]
    rates = [given[f"frame.{n}_rate"] for n in names]
    expected = body_rates(angles, rates, [STATE["thetadd"], -STATE["psidd"], STATE["phidd"]])
    assert [found[f"frame.w{k}"] for k in "xyz"] == pytest.approx(expected, abs=PRINTED)
    # the hub's acceleration in the world: R (v̇ + ω × v)
    R = Rotation.from_euler("ZXY", angles).as_matrix()
    v, w = ([instant.speeds[f"frame.{e}{k}"] for k in "xyz"] for e in "vw")
    hub = R @ (np.array([found[f"frame.v{k}"] for k in "xyz"]) + np.cross(w, v))
    assert hub == pytest.approx([-STATE["xdd"], -STATE["ydd"], STATE["zdd"]], abs=PRINTED)


def hands_free(bicycle, lean):
    return ns.steady(bicycle, {"frame.lean": lean}, guess={"speed": 6.0, "steer.angle": 0.0})


@pytest.mark.parametrize("lean", [0.05, 0.2, 0.4, -0.3])
def test_hands_free_turns_go_on_as_they_are(bicycle, lean):
    motion = hands_free(bicycle, lean)
    assert motion.residual < 1e-12 and motion.family == 0 and not motion.inputs
    # leaning to the right is turning to the right
    assert motion.rates["frame.yaw"] * lean < 0 < motion.values["steer.angle"] * lean
    run = ns.simulate(bicycle, duration=5.0, start=motion.start, rtol=1e-13, atol=1e-13)
    for name in ("frame.lean", "steer.angle", "frame.pitch", "steer.rate", "rear_wheel.rate"):
        assert np.ptp(run[name]) < STAYS, name
    # the rear contact goes round a circle
    x, y = run["rear_wheel.contact_x"], run["rear_wheel.contact_y"]
    radius = abs(motion.values["speed"] / motion.rates["frame.yaw"])
    middle = (x[0], y[0] + math.copysign(radius, motion.rates["frame.yaw"]))
    assert np.max(np.abs(np.hypot(x - middle[0], y - middle[1]) - radius)) < STAYS


def test_the_family_starts_where_capsize_begins(bicycle):
    """Its speed is even in the lean: extrapolated from two small leans, it is the capsize speed."""
    far, near = (hands_free(bicycle, lean).values["speed"] for lean in (2e-3, 1e-3))
    assert near + (near - far) / 3 == pytest.approx(DATA["capsize"]["speed"], abs=1e-10)
    # along the line of steady motions there is one eigenvalue of zero, at its start there are two
    line = ns.linearize(bicycle, {"speed": DATA["capsize"]["speed"]})
    assert np.sum(np.abs(line.eigenvalues) < 1e-11) == 2


def test_the_family_ends_at_rest_upright_with_the_front_wheel_across(bicycle):
    motion = ns.steady(bicycle, {"speed": 0.0}, guess={"steer.angle": 1.4})
    assert abs(motion.values["frame.lean"]) < 1e-14
    assert 1.2 < motion.values["steer.angle"] < math.pi / 2
    assert not ns.linearize(bicycle, motion.start).is_stable
    # on the way there the turns get slower and slower; near the end v² falls linearly with steer
    before, speeds = hands_free(bicycle, 0.2), []
    steers = [*np.arange(0.08, 1.33, 0.02), 1.335, 1.339, 1.3396]
    for steer in steers:
        before = ns.steady(bicycle, {"steer.angle": steer}, guess=before.start)
        speeds.append(before.values["speed"])
    assert np.all(np.diff(speeds) < 0) and 0 < speeds[-1] < 0.1
    (s1, s2), (e1, e2) = steers[-2:], np.square(speeds[-2:])
    end = s2 + (s2 - s1) * e2 / (e1 - e2)
    assert end == pytest.approx(motion.values["steer.angle"], abs=1e-5)
