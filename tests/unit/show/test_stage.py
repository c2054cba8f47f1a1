"""A stage in a real viser server: what hangs in it, where, and what is kept."""

import numpy as np
import pytest

import noslip as ns
from noslip.scene import GHOST, Stage, frames, scene
from noslip.scene.stage import quiet_server


@pytest.fixture(scope="module")
def server():
    with quiet_server() as opened:
        yield opened


@pytest.fixture
def stage(server):
    made = Stage(server.scene, forces=True, velocities=True, pieces=5)
    yield made
    if made.scene is not None:
        made.remove()


@pytest.fixture(scope="module")
def shown(system_of):
    def of(name, duration=1.0, **parameters):
        run = ns.run_scenario(system_of(name), duration=duration, changes=parameters)
        film = frames(system_of(name), run, rate=10.0, forces=True)
        return scene(run.model, run.parameters), film

    return of


def paths(server, prefix="/noslip"):
    return {name for name in server.scene._handle_from_node_name if name.startswith(prefix)}


def at(server, path):
    handle = server.scene.get_handle_by_name(path)
    return np.concatenate([handle.position, handle.wxyz])


def test_a_server_is_quiet_and_on_this_machine_only(capsys):
    with quiet_server() as opened:
        assert opened.get_host() == "127.0.0.1" and opened.get_port() > 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_bodies_wheels_and_arrows_are_where_the_frames_say(server, stage, shown):
    look, film = shown("tractor-trailer")
    stage.put(look, film)
    for index in (7, 2):
        stage.show(index)
        for k, name in enumerate(film.bodies):
            pose = np.concatenate([film.positions[index, k], film.quaternions[index, k]])
            assert np.array_equal(at(server, f"/noslip/{name}"), pose)
        for roller in look.rollers:
            half = film.rolled[roller.name][index] / 2
            pose = [*roller.center, np.cos(half), *(np.sin(half) * roller.axis)]
            path = f"/noslip/{roller.body}/{roller.name}"
            assert np.allclose(at(server, path), pose, atol=1e-15)
        points, forces = film.forces["rear_axle"]
        arrow = server.scene.get_handle_by_name("/noslip/forces/0/arrow")
        assert np.array_equal(at(server, "/noslip/forces/0")[:3], points[index])
        drawn = [np.linalg.norm(f[1], axis=-1) for f in film.forces.values()]
        scale = 1.5 * look.length / np.max(drawn)
        wanted = scale * np.linalg.norm(forces[index])
        assert arrow.points[0, 1, 2] == pytest.approx(wanted, abs=0.004 * look.length)


def test_what_does_not_change_is_kept(server, stage, shown):
    look, film = shown("agv", duration=20.0)
    stage.put(look, film)
    before = {path: server.scene.get_handle_by_name(path) for path in paths(server)}
    stage.put(*shown("agv", duration=20.0), index=3)
    after = {path: server.scene.get_handle_by_name(path) for path in paths(server)}
    assert after == before and stage.index == 3
    stage.put(*shown("agv", duration=20.0, r=0.06))
    changed = {path: server.scene.get_handle_by_name(path) for path in paths(server)}
    assert set(changed) == set(before)
    kept = {path for path in before if changed[path] is before[path]}
    assert "/noslip/platform" in kept and "/noslip/traces/wheel1.contact/piece0" in kept
    other = [p for p in before if p not in kept]
    assert any(p.startswith("/noslip/wheel1/part") for p in other)


def test_another_model_leaves_nothing_of_the_first(server, stage, shown):
    stage.put(*shown("tractor-trailer"))
    first = paths(server)
    stage.put(*shown("knife-edge"))
    second = paths(server)
    bodies = {p.split("/")[2] for p in second if p.count("/") >= 2}
    assert bodies == {"skate", "world", "ground0", "traces", "forces", "velocities"}
    assert "/noslip/tractor" in first - second
    stage.put(*shown("tractor-trailer"))
    assert paths(server) == first
    stage.remove()
    assert paths(server) == set()


def test_a_ghost_is_gray_translucent_and_alone(server, stage, shown):
    look, film = shown("agv")
    ghost = Stage(server.scene, prefix="/ghost", ghost=GHOST, traces=False)
    ghost.put(look, film)
    meshes = [p for p in paths(server, "/ghost") if "/part" in p]
    assert len(meshes) == len(look.parts)
    for path in meshes:
        handle = server.scene.get_handle_by_name(path)
        assert handle.opacity == 0.25 and len(set(handle.color)) == 1
    assert not [p for p in paths(server, "/ghost") if "ground" in p or "traces" in p]
    ghost.remove()
    assert paths(server, "/ghost") == set()


def test_a_ghost_may_have_a_color_traces_and_a_label_that_moves_with_it(server, shown):
    look, film = shown("agv")
    kept = Stage(server.scene, prefix="/kept", ghost=(180, 90, 240), label="kept")
    kept.put(look, film)
    try:
        lines = [p for p in paths(server, "/kept") if "/traces/" in p and p.endswith("/all")]
        assert lines and not [p for p in paths(server, "/kept") if "/piece" in p]
        label = server.scene.get_handle_by_name("/kept/label")
        assert label.text == "kept"
        before = np.array(label.position)
        kept.show(len(film) - 1)
        platform = film.positions[:, film.bodies.index("platform")]
        moved = np.array(label.position) - before
        np.testing.assert_allclose(moved, platform[-1] - platform[0], atol=0.02 * look.length)
        assert before[2] > look.length
    finally:
        kept.remove()


def test_following_keeps_the_bodies_where_they_were(server, stage, shown):
    look, film = shown("agv", duration=20.0)
    stage.follow = True
    stage.put(look, film)
    stage.show(len(film) - 1)
    middle = film.centers[-1].mean(axis=0) + at(server, "/noslip")[:3]
    assert np.allclose(middle, film.centers[0].mean(axis=0), atol=1e-12)
    assert np.abs(film.centers[-1] - film.centers[0]).max() > 0.1
    stage.follow = False
    stage.show(0)
    assert np.array_equal(at(server, "/noslip")[:3], np.zeros(3))


def test_traces_grow_with_time_and_shrink_again(server, stage, shown):
    look, film = shown("agv", duration=20.0)
    stage.put(look, film)

    def visible():
        path = "/noslip/traces/platform.origin/piece"
        return [server.scene.get_handle_by_name(f"{path}{k}").visible for k in range(5)]

    assert visible() == [False] * 5
    stage.show(len(film) - 1)
    assert visible() == [True] * 5
    stage.show(len(film) // 2)
    assert visible() == [True, True, True, False, False]
