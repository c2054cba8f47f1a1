"""Paths that are drawn on the floor: where a drag puts a point, and what is run then."""

from types import SimpleNamespace

import numpy as np
import pytest
from studio_record import Record, show

import noslip as ns
from noslip.scene import scene
from noslip.scene.stage import quiet_server
from noslip.studio.choice import DRAWN, PATH, ModelCatalog, changed_choice, differences
from noslip.studio.page.scene_panel import Floor, PathHandles, path_shape
from noslip.studio.session import MOST_POINTS, Session

FLAT = Floor(np.eye(3), np.zeros(3))


@pytest.fixture(scope="module")
def catalog():
    return ModelCatalog()


def drawn(session):
    session.choose(task=PATH)
    session.choose(path=DRAWN)


def test_a_ray_meets_a_sloping_floor_where_its_point_projects():
    slope = 0.3
    turn = np.array(
        [[np.cos(slope), 0, np.sin(slope)], [0, 1, 0], [-np.sin(slope), 0, np.cos(slope)]]
    )
    floor = Floor(turn, np.array([0.5, -1.0, 0.2]))
    camera, spot = np.array([3.0, -4.0, 5.0]), np.array([1.25, -0.75])
    (place,) = floor.place(spot[None])
    for share in (0.1, 0.6, 1.4):
        found = floor.hit(camera, camera + share * (place - camera))
        np.testing.assert_allclose(found, spot, rtol=1e-12)
    # above the horizon, and nonsense
    assert floor.hit(camera, camera + turn[:, 2]) is None
    assert floor.hit(camera, np.full(3, np.nan)) is None


def test_the_shape_of_a_path_through_points_of_a_circle():
    at = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = tuple((2 * np.cos(a), 2 * np.sin(a)) for a in at)
    found = path_shape(points, closed=True)
    assert found.length == pytest.approx(4 * np.pi, rel=1e-4)
    assert found.radius == pytest.approx(2.0, rel=1e-2)
    assert path_shape(((0.0, 0.0), (1.0, 0.0)), closed=False).radius > 1e6
    assert path_shape(((0.0, 0.0), (0.0, 0.0)), closed=False) is None


def test_what_is_drawn_is_followed_as_track_does(catalog, system_of):
    points = ((0.0, 0.0), (1.2, 0.7), (2.5, 0.1))
    record = show(catalog, "agv", drawn, lambda s: s.set_points(points))
    shown = record.shown
    assert shown.command.startswith("noslip track agv --path spline:points=0,0,1.2,0.7,2.5,0.1 ")
    system = system_of("agv")
    run = ns.track(
        system,
        ns.paths.Spline(points=points),
        timing=ns.timing.parse_timing("quintic:20"),
        samples=len(shown.run.t),
    )
    np.testing.assert_allclose(shown.run["platform.x"], run["platform.x"], atol=1e-8)
    assert shown.run.path_errors.largest < 1e-8
    # a link holds the points
    first = catalog.mechanism("agv").first_choice()
    again = changed_choice(first, differences(shown.choice, first))
    assert again.points == points and again.path == DRAWN


def test_points_are_added_removed_undone_and_not_without_end(catalog):
    record = Record()
    session = Session(catalog, "agv", record)
    try:
        session.start()
        drawn(session)
        first = session.choice.points
        session.add_point()
        (x0, y0), (x1, y1), added = session.choice.points[-3:]
        assert added == pytest.approx((2 * x1 - x0, 2 * y1 - y0))
        session.undo()
        assert session.choice.points == first
        for _ in range(9):
            session.remove_point()
        assert len(session.choice.points) == 2
        session.set_points(tuple((float(k), 0.0) for k in range(MOST_POINTS)))
        with pytest.raises(ns.SimulationError, match="50 points already"):
            session.add_point()
        # what cannot be a path is refused in words, and the last good run stays
        assert session.join()
        count = len(record.runs)
        session.set_points(((0.0, 0.0), (1.0, 0.0), (1.0, 0.0)))
        assert session.join()
        assert "are both at (1, 0) m" in record.faults[0].what
        assert len(record.runs) == count
    finally:
        session.close()


def test_a_drag_moves_a_point_over_the_floor_and_drops_it_once():
    look = scene(ns.load("agv"))
    with quiet_server() as server:
        camera = SimpleNamespace(position=np.array([0.0, 0.0, 10.0]))
        client = SimpleNamespace(scene=server.scene, camera=camera)
        dropped = []
        handles = PathHandles(client, dropped.append)
        given = ((0.0, 0.0), (2.0, 1.0))
        options = {"scene": look, "floor": FLAT, "shift": lambda: np.zeros(3)}
        assert handles.put(given, False, **options)
        assert not handles.put(given, False, **options)
        # grabbed at half the height of the camera, so that everything is twice as far on the floor
        handles.drag(1, "start", (1.05, 0.5, 5.0), (1.05, 0.5, 5.0))
        handles.drag(1, "update", (1.05, 0.5, 5.0), (1.55, 0.25, 5.0))
        assert handles.is_dragged and not handles.put(((0.0, 0.0), (9.0, 9.0)), False, **options)
        assert handles.update() and dropped == []
        assert handles.shape.length == pytest.approx(np.hypot(3.0, 0.5))
        # beyond the horizon it stays
        handles.drag(1, "update", (1.05, 0.5, 5.0), (0.0, 0.0, 20.0))
        handles.drag(1, "end", (1.05, 0.5, 5.0), (np.nan, 0.0, 5.0))
        handles.update()
        handles.update()
        assert dropped == [((0.0, 0.0), (3.0, 0.5))]
        # nobody grabbed it, and nobody has such a point
        handles.drag(0, "update", (0.0, 0.0, 5.0), (1.0, 0.0, 5.0))
        handles.drag(7, "start", (0.0, 0.0, 5.0), (1.0, 0.0, 5.0))
        assert not handles.update()
        handles.remove()
        assert handles.shape is None
