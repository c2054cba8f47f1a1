"""Obstacles and footprints against elementary geometry, and plans around them."""

import numpy as np
import pytest
import trimesh
from PIL import Image

import noslip as ns
from noslip.planning.obstacles import (
    Surroundings,
    area,
    convex_hull,
    convex_parts,
    fewer_corners,
    read_footprint,
    separations,
)
from noslip.scene import frames, scene
from noslip.scene.assembly import part_poses
from noslip.show.plots.paths import path_sheet

U_SHAPE = ((0, 0), (4, 0), (4, 4), (3, 4), (3, 1), (1, 1), (1, 4), (0, 4))


def test_concave_polygons_are_cut_into_convex_parts_that_fill_them(rng):
    for _ in range(40):
        n = rng.integers(3, 14)
        angles = np.sort(rng.uniform(0, 2 * np.pi, n))
        if np.max(np.diff(np.append(angles, angles[0] + 2 * np.pi))) > 3.0:
            continue  # a star about the origin needs it inside
        points = rng.uniform(0.3, 2.0, (n, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
        parts = convex_parts(points)
        assert sum(area(p) for p in parts) == pytest.approx(area(points), rel=1e-12)
        for part in parts:
            assert area(convex_hull(part)) == pytest.approx(area(part), rel=1e-12)
    assert len(ns.obstacles.Polygon(points=U_SHAPE).pieces()) == 3


def test_a_hull_of_few_corners_holds_the_whole(rng):
    hull = convex_hull(rng.normal(size=(200, 2)))
    few = fewer_corners(hull, 6)
    assert len(few) == 6
    sides = np.roll(few, -1, axis=0) - few
    to = hull[None] - few[:, None]
    assert np.min(sides[:, None, 0] * to[..., 1] - sides[:, None, 1] * to[..., 0]) > -1e-9


def test_distances_of_polygons_are_those_of_the_nearest_points(rng):
    """Against a quadratic program over both polygons, solved by SLSQP."""
    from scipy.optimize import minimize

    for _ in range(12):
        a = convex_hull(rng.normal(size=(6, 2)))
        b = convex_hull(rng.normal(size=(5, 2)) + rng.uniform(-4, 4, 2))
        found, direction = separations(a, b)
        if found <= 0:
            # pushed apart along the direction by the depth, they touch
            moved, _ = separations(a - found * direction, b)
            assert moved == pytest.approx(0.0, abs=1e-9)
            continue
        n, m = len(a), len(b)
        sums = [
            {"type": "eq", "fun": lambda w, n=n: np.sum(w[:n]) - 1},
            {"type": "eq", "fun": lambda w, n=n: np.sum(w[n:]) - 1},
        ]
        best = minimize(
            lambda w, a=a, b=b, n=n: np.sum((w[:n] @ a - w[n:] @ b) ** 2),
            np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)]),
            bounds=[(0, 1)] * (n + m),
            constraints=sums,
            options={"ftol": 1e-14},
        )
        assert found == pytest.approx(np.sqrt(best.fun), abs=1e-6)
        moved, _ = separations(a - 0.5 * found * direction, b)
        assert moved == pytest.approx(0.5 * found, rel=1e-9)


def test_an_image_is_a_map_of_rectangles(tmp_path):
    pixels = np.full((4, 6), 255, np.uint8)
    pixels[3, :2] = 0  # the lowest row
    pixels[0:2, 4:6] = 0
    Image.fromarray(pixels).save(tmp_path / "map.png")
    pieces = ns.obstacles.Map(
        file=str(tmp_path / "map.png"), resolution=0.5, origin=(1, 2)
    ).pieces()
    boxes = sorted(tuple(np.concatenate([p.corners.min(0), p.corners.max(0)])) for p in pieces)
    assert boxes == [(1.0, 2.0, 2.0, 2.5), (3.0, 3.0, 4.0, 4.0)]


def test_the_clearance_of_a_run_is_found_between_its_samples(system_of):
    """A straight drive past a disc, sampled so that it passes between two samples."""
    system = system_of("tricycle")
    run = ns.simulate(system, duration=3.0, start={"v": 1.0}, samples=4)
    outlines = read_footprint(system, {"frame": 0.2}, system.parameters(), {})
    disc = ns.obstacles.Disc(center=(2.5, 0.5), radius=0.1)
    found = Surroundings(system, outlines, [disc], system.parameters()).clearance(run)
    x, y = run["frame.x"], run["frame.y"]
    assert np.min(np.hypot(x - 2.5, y - 0.5)) - 0.3 > 0.5  # samples alone would say more
    fine = ns.simulate(system, duration=3.0, start={"v": 1.0}, samples=30001)
    exact = np.min(np.hypot(fine["frame.x"] - 2.5, fine["frame.y"] - 0.5)) - 0.3
    assert found.low <= found.high <= found.low + 1.1e-5
    assert found.high == pytest.approx(exact, abs=1e-4)
    assert found.body == "frame" and found.obstacle == 0


def test_trailers_have_outlines_of_their_own_and_wheels_do_not(system_of):
    def bodies(name):
        system = system_of(name)
        return {o.body: o.corners for o in read_footprint(system, None, system.parameters(), {})}

    found = bodies("tractor-trailer")
    assert list(found) == ["tractor", "trailer"]
    assert np.ptp(found["trailer"][:, 0]) == pytest.approx(5.6, abs=0.1)
    assert list(bodies("mecanum-base")) == ["base"]


@pytest.fixture(scope="module")
def crossing(system_of):
    """A tricycle's way to 6 m, behind a disc that crosses it and beside a wall."""
    obstacles = [
        ns.obstacles.Disc(center=(3, -1.4), radius=0.4, moves=("0", "0.6*t")),
        ns.obstacles.Polygon(points=((1, 1.2), (2, 1.2), (2, 2), (1, 2))),
    ]
    return ns.plan(
        system_of("tricycle"),
        goal={"frame.x": 6, "frame.y": 0, "frame.angle": 0, "steer.angle": 0},
        limits={"F_v": 20, "tau_phi": 1.0, "steer.angle": 1.0},
        obstacles=obstacles,
        clearance=0.02,
    ).refine()


def test_a_plan_keeps_clear_of_what_moves(crossing):
    """The refined replay, looked at again by dense samples."""
    run, around = crossing.run, crossing.surroundings
    assert crossing.clearance >= 0
    assert crossing.miss() <= 1e-3 and max(crossing.excess.values()) <= 1e-6
    names = [q.name for q in (*crossing.system.coordinates, *crossing.system.independent_speeds)]
    x = np.column_stack([run[name] for name in names])
    (corners,) = around.corners_at(x)
    disc = np.column_stack([np.full(len(run.t), 3.0), -1.4 + 0.6 * run.t])
    gap, _ = separations(corners, disc[:, None])
    assert np.min(gap) - 0.4 >= 0.02 - 1e-9


def test_the_replay_says_how_far_obstacles_are_and_where(crossing, tmp_path):
    """Columns of the run against the disc's own motion, and after a folder was read again."""
    run = crossing.run
    assert np.allclose(run["obstacle1.y"], 0.6 * run.t) and not np.any(run["obstacle1.x"])
    assert np.min(run["clearance"]) >= crossing.surroundings.clearance(run).low
    disc = run.obstacles_at(len(run.t) - 1)[0]
    assert np.allclose(disc.mean(axis=0), (3, -1.4 + 0.6 * run.t[-1]))
    assert np.allclose(np.linalg.norm(disc - disc.mean(axis=0), axis=1), 0.4)
    again = ns.read_run(ns.write_run(run, tmp_path / "crossing", plots=False))
    assert np.allclose(again["clearance"], run["clearance"])
    for one, other in zip(again.obstacles_at(7), run.obstacles_at(7), strict=True):
        assert np.allclose(one, other)


def test_obstacles_stand_and_move_in_pictures(crossing):
    """Corners of the drawn blocks at a moment, against the polygons of the run."""
    run = crossing.run
    drawn = scene(run.model, run.parameters, run.obstacles)
    motion = frames(crossing.system, run, times=run.t)
    blocks = [part for part in drawn.parts if part.is_obstacle]
    assert [part.body for part in blocks] == ["obstacle1", "world"]
    for part, polygon in zip(blocks, run.obstacles_at(11), strict=True):
        R, p = part_poses(drawn, motion, part, 11)
        corners = (part.vertices @ R.T + p)[:, :2]
        gaps = np.linalg.norm(corners[:, None] - polygon[None], axis=-1)
        assert np.max(np.min(gaps, axis=0)) < 1e-6 and np.max(np.min(gaps, axis=1)) < 1e-6
        mesh = trimesh.Trimesh(part.vertices, part.faces, process=False)
        outward = np.einsum(
            "ij,ij->i", mesh.face_normals, mesh.triangles_center - mesh.vertices.mean(axis=0)
        )
        assert np.all(outward > 0)
    sheet = path_sheet([run], ["tricycle"])
    (areas,) = [a for a in sheet.frames[0].areas if a.fill == 0.35]
    assert len(areas.polygons) > 3  # the disc at several moments


def cases():
    o = ns.obstacles
    yield lambda: o.Disc(center=(0, 0), radius=0), "radius"
    yield lambda: o.Disc(center=(0, np.nan), radius=1), "finite"
    yield lambda: o.Disc(center=(0, 0), radius=1, moves=("x", "0")), "'x'"
    yield lambda: o.Polygon(points=((0, 0), (1, 1))), "2 points"
    yield lambda: o.Polygon(points=((0, 0), (1, 1), (1, 0), (0, 1))), "cross"
    yield lambda: o.Polygon(points=((0, 0), (1, 1), (2, 2))), "no area"
    yield lambda: o.OccupancyGrid(cells=np.zeros(3), resolution=0.1), "shape"
    yield lambda: o.Map(file="none.png", resolution=0.1), "none.png"


@pytest.mark.parametrize(("make", "says"), list(cases()))
def test_what_is_no_obstacle_is_named(make, says):
    with pytest.raises(ns.NoslipError) as caught:
        make()
    assert says in str(caught.value) and caught.value.fix


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"obstacles": [ns.obstacles.Disc(center=(6, 0), radius=0.3)]}, "at the goal"),
        ({"obstacles": [ns.obstacles.Disc(center=(0, 0), radius=0.3)]}, "at the start"),
        ({"obstacles": 3}, "obstacles"),
        ({"obstacles": ["disc"]}, "obstacle 1"),
        ({"clearance": -1}, "clearance"),
        ({"footprint": {"frme": 0.3}}, "frme"),
        ({"footprint": {"frame": -0.3}}, "footprint of 'frame'"),
    ],
)
def test_obstacles_that_forbid_a_plan_are_named(system_of, asked, says):
    given = {"obstacles": [ns.obstacles.Disc(center=(3, 3), radius=0.3)]} | asked
    with pytest.raises(ns.NoslipError) as caught:
        ns.plan(
            system_of("tricycle"),
            goal={"frame.x": 6, "frame.y": 0, "frame.angle": 0, "steer.angle": 0},
            limits={"F_v": 20, "tau_phi": 1.0},
            **given,
        )
    assert says in caught.value.what and caught.value.fix
