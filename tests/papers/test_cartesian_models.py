"""DeSantis (1994), section 7: Cartesian models of manipulators, and forces in their joints."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference_models import load

import noslip as ns

DATA = Path(__file__).parent / "data"
STATE = 1e-12  # of the largest entry: rounding of one evaluation
PLANAR = [("2r", ("vx", "vy")), ("3r", ("vx", "vy", "wz"))]


def reference(arm):
    return json.loads((DATA / f"manipulator_{arm}.json").read_text())


def system_of(arm):
    return ns.compile(ns.derive(load(f"manipulator-{arm}")))


def state_of(system, case):
    names = [*(c.name for c in system.coordinates), *(s.name for s in system.speeds)]
    return dict(zip(names, case["state"]["q"] + case["state"]["q_dot"], strict=True))


def inputs_of(system, torques):
    return dict(zip((i.name for i in system.inputs), torques, strict=True))


def close(actual, expected, tolerance=STATE):
    expected = np.asarray(expected, dtype=float)
    scale = max(float(np.max(np.abs(expected))), 1e-300)
    return np.max(np.abs(np.asarray(actual) - expected)) <= tolerance * scale


@pytest.mark.parametrize(("arm", "components"), PLANAR)
def test_planar_arms(arm, components):
    """Eqs. 7.6–7.10 with J⁻ᵀ on the left and the signs of V_x that follow from virtual work."""
    system = system_of(arm)
    tip = system.model.bodies[-1].name
    for case in reference(arm)["cases"]:
        results = case["results"]
        model = ns.cartesian_model(
            system,
            state_of(system, case),
            body=tip,
            components=components,
            inputs=inputs_of(system, case["inputs"]["tau"]),
        )
        assert close(model.jacobian, results["J_n"])
        assert close(model.mass, results["M_x"])
        assert close(model.velocity_terms, results["V_x"])
        assert close(model.gravity, results["G_x"])
        assert close(model.acceleration, results["v_n_dot"])
        if np.any(results["F_x"]):
            assert close(model.force, results["F_x"])


@pytest.mark.parametrize("arm", ["2r", "3r"])
def test_joint_forces_of_planar_arms(arm):
    system = system_of(arm)
    for case in reference(arm)["cases"]:
        inputs = inputs_of(system, case["inputs"]["tau"])
        instant = ns.evaluate(system, state_of(system, case), inputs=inputs)
        forces = [[joint["x"], joint["y"]] for joint in instant.joint_reactions.values()]
        assert close(forces, case["results"]["joint_reactions_xy_on_link"])


@pytest.mark.parametrize(("axes", "key"), [("world", "base"), ("body", "tool_frame")])
def test_spatial_arm(axes, key):
    system = system_of("6r")
    for case in reference("6r")["cases"]:
        results = case["results"]
        model = ns.cartesian_model(
            system,
            state_of(system, case),
            body=system.model.bodies[-1].name,
            point=(0.0, 0.0, "tool"),
            axes=axes,
            inputs=inputs_of(system, results["tau"]),
        )
        assert close(model.jacobian, results[f"J_n_{key}"])
        assert close(model.mass, results[f"M_x_{key}"])
        assert close(model.velocity_terms, results[f"V_x_{key}"])
        assert model.condition == pytest.approx(results["cond_J"], rel=1e-12)
        if axes == "world":
            assert close(model.gravity, results["G_x_base"])
            assert close(model.force, results["F_x_base"])
            assert close(model.velocity, results["v_n_base"])


def test_joint_wrenches_of_the_spatial_arm():
    """The reference takes moments at the origin of each link's frame, which is ours too."""
    system = system_of("6r")
    run_poses = system.poses
    for case in reference("6r")["cases"]:
        results = case["results"]
        inputs = inputs_of(system, results["tau"])
        instant = ns.evaluate(system, state_of(system, case), inputs=inputs)
        x = np.array([*case["state"]["q"], *case["state"]["q_dot"], 0.0])
        poses = run_poses(0.0, x, np.array(results["tau"]), system.parameters()).reshape(-1, 12)
        forces, moments = [], []
        for joint, pose in zip(instant.joint_reactions.values(), poses, strict=True):
            force = np.array([joint[k] for k in "xyz"])
            moment = np.array([joint[f"moment_{k}"] for k in "xyz"])
            point = np.array([joint[f"point_{k}"] for k in "xyz"])
            forces.append(force)
            # from the joint's point on the child to the origin of the link frame
            moments.append(moment + np.cross(point - pose[9:], force))
        assert close(forces, results["joint_force_on_link_base"])
        assert close(moments, results["joint_moment_on_link_base"])


def test_convective_matrices_of_the_spatial_arm():
    """Remark 4.1: Ḋ − 2C is not skew for the paper's C; C̃ makes it so."""
    import casadi as ca

    kin = ns.trace(load("manipulator-6r"))
    matrices = ns.DeSantis().matrices(kin)
    s = kin.symbols
    D_dot = ca.jtimes(ca.vec(matrices.D), s.q, ca.mtimes(kin.N, kin.v))
    numbers = ca.Function(
        "m",
        [s.q, kin.eta, s.params],
        [matrices.D, matrices.C, matrices.C_skew, ca.reshape(D_dot, matrices.D.shape)],
    )
    for case in reference("6r")["cases"]:
        results = case["results"]
        found = numbers(case["state"]["q"], case["state"]["q_dot"], kin.probe.params)
        D, C, C_skew, rate = (np.array(m) for m in found)
        assert close(D, results["D"])
        assert close(C, results["C_desantis"])
        assert close(C_skew, results["C_skew"])
        assert close(rate, results["D_dot"])
        odd = rate - 2 * C
        printed = results["not_skew_norm_of_Ddot_minus_2C_desantis"]
        assert np.max(np.abs(odd + odd.T)) == pytest.approx(printed, rel=1e-10)
        even = rate - 2 * C_skew
        assert np.max(np.abs(even + even.T)) < 1e-13


def test_singular_configurations_and_wrong_requests_say_what_to_do():
    system = system_of("2r")
    straight = {c.name: 0.0 for c in system.coordinates}
    tip = system.model.bodies[-1].name
    request = {"body": tip, "components": ("vx", "vy")}
    with pytest.raises(ns.SimulationError, match="singular here") as caught:
        ns.cartesian_model(system, straight, **request)
    assert tip in caught.value.where and "move away" in caught.value.fix
    for wrong, what, fix in (
        ({"body": "link9"}, "no body 'link9'", "link2"),
        ({"components": ("vx",)}, "1 components are named for 2", "name 2"),
        ({"components": ("vx", "vq")}, "no component 'vq'", "vx"),
        ({"axes": "sky"}, "no axes 'sky'", "'world' or 'body'"),
        ({"inputs": {"tau9": 1.0}}, "no force input 'tau9'", "tau1"),
    ):
        with pytest.raises(ns.SimulationError, match=what) as caught:
            ns.cartesian_model(system, straight, **{**request, **wrong})
        assert "manipulator-2r" in caught.value.where
        assert fix in caught.value.fix
