"""Environments of Gymnasium: its own checker, our own runs, and many against one."""

import dataclasses
import signal
import subprocess
import sys

import numpy as np
import pytest

import noslip as ns
from noslip.simulation.batches import periods

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")


@pytest.fixture(scope="module")
def registered():
    ns.gym.register_envs()
    ns.gym.register_envs()  # twice is once


@pytest.mark.parametrize("id", ns.gym.IDS)
def test_the_checker_of_gymnasium_passes(id, registered):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(id, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=id != "noslip/Bicycle-v0")
    env.reset(seed=3)
    seen, reward, _, _, _ = env.step(env.action_space.sample())
    assert env.observation_space.contains(seen) and np.isfinite(reward)


def test_a_program_without_noslip_makes_one_by_its_id(tmp_path):
    """In a process of its own, whose only word of noslip is the id."""
    code = (
        "import gymnasium, sys; assert 'noslip' not in sys.modules;"
        "id = 'noslip.environments.gym_envs:noslip/Bicycle-v0';"
        "env = gymnasium.make(id); seen, _ = env.reset(seed=1);"
        "many = gymnasium.make_vec(id, num_envs=3);"
        "print(seen.shape, many.reset(seed=1)[0].shape)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.strip() == "(5,) (3, 5)", done.stderr


def test_a_picture_shows_the_scene(registered):
    env = gymnasium.make("noslip/DifferentialDrive-v0", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (400, 640, 3) and picture.std() > 5.0


@pytest.mark.parametrize(
    ("name", "own", "start"),
    [
        ("agv", ("torque1", 0.2), {"wheel1.rate": -5.0}),
        ("tractor-trailer", ("F_u2", 800.0), {"tractor.vx": 1.0}),
        ("whipple-bicycle", ("steer_torque", 0.5), {"speed": 4.6, "frame.wx": 0.2}),
    ],
)
def test_a_step_is_our_own_fixed_step(name, own, start, system_of):
    """Projection included: the bicycle has heights and a quaternion to hold."""
    system = system_of(name)
    names = [q.name for q in (*system.coordinates, *system.independent_speeds)]
    task = ns.gym.GymTask(
        observation={f"x{k}": n for k, n in enumerate(names) if n in known(system)},
        actions={own[0]: (-own[1], own[1])}, reward="0", start=start, period=0.05, steps=5,
    )  # fmt: skip
    env = ns.gym.make_env(system, task)
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.array([1.0]))
    run = ns.simulate(
        system, start=start, inputs={own[0]: own[1]}, duration=0.2, method="rk4", step=0.01,
        samples=2,
    )  # fmt: skip
    found = env.mechanisms.x[0, : len(names)]
    np.testing.assert_allclose(found, [run[n][-1] for n in names], rtol=1e-11, atol=1e-12)


def known(system):
    return {q.name for q in (*system.coordinates, *system.speeds)}


def test_an_episode_ends_before_its_speeds_do():
    """A handlebar that is thrown over takes no bicycle to the other end of the world."""
    envs = ns.gym.make_vec_env(task="balance", num_envs=256)
    seen, _ = envs.reset(seed=7)
    reflexes = np.random.default_rng(0).normal(size=(256, 5))
    why = set()
    for _ in range(200):
        torque = np.einsum("nk,nk->n", seen, reflexes)
        seen, reward, _, _, info = envs.step(torque[:, None])
        why |= set(info.get("ended", ()))
        # a torque of 10 N m and a steer angle of π/2 cost 0.1 and 0.25 of 1
        assert reward.min() >= 0.0
        assert np.abs(envs.mechanisms.x).max() < 1e3
    assert "turned" in why


def folding(system, step):
    """A loader that folds its waist: the yaw rate takes over from the waist's rate."""
    task = ns.gym.GymTask(
        observation={f"x{k}": q.name for k, q in enumerate((*system.coordinates, *system.speeds))},
        actions={system.inputs[0].name: (-1.0, 1.0)}, reward="1",
        start={"waist.angle": 1.5, "waist.rate": (0.6, 0.8), "front.vx": 1.0},
        period=0.1, steps=round(0.1 / step),
    )  # fmt: skip
    return task


def test_an_episode_goes_on_in_other_independent_speeds(system_of):
    system = system_of("lhd-noslip")
    start = {"waist.angle": 1.5, "waist.rate": 0.8, "front.vx": 1.0}
    run = ns.simulate(system, start=start, duration=3.0, samples=2, rtol=1e-12, atol=1e-12)
    ours = [run[q.name][-1] for q in (*system.coordinates, *system.speeds)]
    errors = []
    for step in (0.005, 0.0025):
        env = ns.gym.make_env(system, folding(system, step), render_mode="rgb_array")
        env.reset(seed=0, options=start)
        for _ in range(30):
            seen, reward, ended, _, info = env.step(np.zeros(1))
            assert not ended, info
            assert reward == 1.0
        assert env.mechanisms.t[0] == pytest.approx(3.0, abs=1e-12)
        assert env.mechanisms.basis(0) is not system
        exact = env.mechanisms.found[0, 1:]
        np.testing.assert_array_equal(seen, exact.astype(np.float32))
        errors.append(np.abs(exact - ours).max())
    # fixed steps of fourth order
    assert errors[1] < 1e-8 and errors[1] < errors[0] / 10
    assert env.render().shape == (400, 640, 3)
    # a new episode begins in the first ones
    env.reset(seed=0, options=start)
    assert env.mechanisms.basis(0) is system


def test_many_in_different_independent_speeds_are_as_one_bit_by_bit(system_of):
    system = system_of("lhd-noslip")
    task = folding(system, 0.02)
    many = ns.gym.make_vec_env(system, task, num_envs=4)
    many.reset(seed=3)
    # the waist of some is far from its end
    many.mechanisms.x[::2, [c.name for c in system.coordinates].index("waist.angle")] = 0.2
    state, mixed = many.mechanisms.x.copy(), False
    ones = [ns.gym.make_env(system, task) for _ in range(4)]
    for k, one in enumerate(ones):
        one.reset(seed=0)
        one.mechanisms.x[:] = state[k]
    for _ in range(30):
        seen, _, ended, _, _ = many.step(np.zeros((4, 1)))
        assert not ended.any()
        mixed |= len({id(many.mechanisms.basis(k)) for k in range(4)}) > 1
        for k, one in enumerate(ones):
            np.testing.assert_array_equal(one.step(np.zeros(1))[0], seen[k])
    assert mixed


def test_many_are_as_one_bit_by_bit():
    many = ns.gym.make_vec_env(task="drive", num_envs=5)
    rng = np.random.default_rng(4)
    seen, _ = many.reset(seed=7)
    state, goals = many.mechanisms.x.copy(), many.mechanisms.variables.copy()
    ones = [ns.gym.make_env(many.mechanisms.system, task="drive") for _ in range(5)]
    for k, one in enumerate(ones):
        one.reset(seed=0)
        one.mechanisms.x[:], one.mechanisms.variables[:] = state[k], goals[k]
    for _ in range(10):
        actions = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
        seen, rewards, ended, cut, _ = many.step(actions)
        for k, one in enumerate(ones):
            got, reward, over, truncated, _ = one.step(actions[k])
            np.testing.assert_array_equal(got, seen[k])
            assert (reward, over, truncated) == (rewards[k], ended[k], cut[k])


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(periods.os, "cpu_count", lambda: 3)
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr(periods, "LEAST_WORK", least)
        envs = ns.gym.make_vec_env(task="drive", num_envs=75)
        envs.reset(seed=2)
        for _ in range(3):
            envs.step(np.full((75, 2), 0.5))
        found.append(envs.mechanisms.x)
    np.testing.assert_array_equal(*found)


def test_the_same_seed_gives_the_same_episodes_and_actions_their_ranges():
    envs = ns.gym.make_vec_env(task="back_up", num_envs=3)
    first, _ = envs.reset(seed=11)
    envs.step(np.ones((3, 1)))
    again, _ = envs.reset(seed=11)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(envs.reset(seed=12)[0], first)
    names = [i.name for i in envs.mechanisms.system.inputs]
    envs.step(np.full((3, 1), 5.0))
    np.testing.assert_array_equal(envs.mechanisms.u[:, names.index("steering_rate")], 0.8)


def test_an_ended_episode_begins_anew_at_the_next_step():
    envs = ns.gym.make_vec_env(task="balance", num_envs=4)
    envs.reset(seed=0)
    full = np.array([[1.0], [-1.0], [0.0], [0.0]])
    for _ in range(200):
        seen, reward, ended, cut, info = envs.step(full)
        if ended.any():
            break
    k = int(np.flatnonzero(ended)[0])
    assert info["ended"][k] in ("fell", "turned") and info["_ended"][k]
    last = seen[k].copy()
    seen, reward, ended, cut, _ = envs.step(full)
    assert reward[k] == 0.0 and not ended[k] and not cut[k]
    assert abs(seen[k][0]) < 0.05 < abs(last[0]) + abs(last[2])
    from gymnasium.vector import AutoresetMode

    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP


BASE = dict(observation={"a": "sleigh.angle"}, actions={"tau_c": (-1.0, 1.0)}, reward="1")


@pytest.mark.parametrize(
    ("change", "what", "fix"),
    [
        ({"actions": {"tau": (-1.0, 1.0)}}, "there is no input 'tau'", "tau_c"),
        ({"actions": {"tau_c": (1.0, -1.0)}}, "the range of 'tau_c'", "lowest"),
        ({"actions": {}}, "needs actions and observations", "at least one"),
        ({"start": {"sleigh.vz": 1.0}}, "there is no coordinate, speed or angle", "sleigh.v"),
        ({"reward": "sleigh.angl"}, "sleigh.angl", "sleigh.angle"),
        ({"reward": "__import__('os')"}, "", ""),
        ({"variables": {"a": (0.0, float("nan"))}}, "variables['a'][1] is nan", "a number"),
        ({"variables": {"sleigh.x": (0.0, 1.0)}}, "has the name of a coordinate", "another name"),
        ({"period": 0.0}, "period is 0.0", "above zero"),
        ({"steps": 2.5}, "steps is 2.5", "whole number"),
    ],
)
def test_tasks_that_do_not_fit_are_refused(change, what, fix, system_of, refuses):
    with refuses(ns.SimulationError, what, "", fix):
        ns.gym.make_env(system_of("chaplygin-sleigh"), ns.gym.GymTask(**{**BASE, **change}))


def test_unknown_tasks_and_modes_are_refused(system_of, refuses):
    with refuses(ns.SimulationError, "there is no task 'drvie'", "noslip.gym", "'drive'"):
        ns.gym.make_env(task="drvie")
    with refuses(ns.SimulationError, "a task of your own needs a model", "noslip.gym", "make_env"):
        ns.gym.make_env(None, ns.gym.GymTask(**BASE))
    with refuses(ns.SimulationError, "no render mode 'human'", "noslip.gym", "rgb_array"):
        ns.gym.make_env(task="drive", render_mode="human")
    with refuses(ns.SimulationError, "num_envs is 0", "noslip.gym", "above 0"):
        ns.gym.make_vec_env(task="drive", num_envs=0)
    assert ns.gym.make_vec_env(task="drive", num_envs=1, device="cpu").num_envs == 1


def test_without_gymnasium_the_extra_is_named(monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    fix = 'pip install "noslip[gym]"'
    with refuses(ns.NoslipError, "needs the package Gymnasium", "noslip.gym.make_env", fix):
        ns.gym.make_env(task="drive")


@pytest.fixture
def alarm():
    """`alarm(s)`: whatever runs then is interrupted, as by Ctrl-C."""

    def ring(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_step_that_is_interrupted_has_not_happened(alarm, rng, system_of, monkeypatch):
    monkeypatch.setattr(periods.os, "cpu_count", lambda: 3)
    monkeypatch.setattr(periods, "LEAST_WORK", 1)
    envs, others = (ns.gym.make_vec_env(system_of("carriage"), "drive", 900) for _ in range(2))
    envs.reset(seed=3), others.reset(seed=3)
    actions = rng.uniform(-1, 1, (900, 2))
    interrupted = 0
    for _ in range(60):
        mechanisms = envs.mechanisms
        before = mechanisms.x.copy()
        try:
            alarm(rng.uniform(1e-5, 1e-3))
            mechanisms.act(actions)
            alarm(0)
        except KeyboardInterrupt:
            interrupted += 1
            if np.array_equal(mechanisms.x, before):
                continue
        # what has happened is what happens without an alarm
        others.mechanisms.act(actions)
        np.testing.assert_array_equal(mechanisms.x, others.mechanisms.x)
    assert interrupted > 10


@pytest.mark.parametrize("num_envs", [1, 3000])
def test_a_long_period_hears_an_alarm(alarm, num_envs, system_of):
    task = dataclasses.replace(ns.gym.TASKS["drive"][1], steps=2**31)
    envs = ns.gym.make_vec_env(system_of("carriage"), task, num_envs)
    envs.reset(seed=0)
    alarm(0.02)
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.zeros((num_envs, 2)))


@pytest.mark.parametrize("num_envs", [10**12, 10**30])
def test_more_environments_than_memory_are_refused(num_envs, system_of, refuses):
    with refuses(ns.SimulationError, "environments", "carriage", "fewer"):
        ns.gym.make_vec_env(system_of("carriage"), "drive", num_envs)
