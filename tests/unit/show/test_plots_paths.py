"""Paths over the ground, and the outlines of what moved along them."""

import numpy as np
import pytest
from runs_to_plot import MODELS, lines_of, names_beside, run_of, system_of, tracked
from scipy.spatial import ConvexHull

import noslip as ns
from noslip.analysis import SampledMotion
from noslip.show import ground_plane
from noslip.show.plots.paths import Outliner, ground_paths, hull, pose_function


def test_paths_are_the_columns_of_the_run():
    run = run_of("agv")
    figure = ns.plot(run, "path")
    (ax,) = figure.axes
    lines = lines_of(figure)
    np.testing.assert_array_equal(lines["platform"][0].get_xdata(), run["platform.x"])
    np.testing.assert_array_equal(lines["platform"][0].get_ydata(), run["platform.y"])
    for name in ("wheel1", "wheel2", "wheel3"):
        for axis, values in zip("xy", lines[f"{name} contact"][0].get_data(), strict=True):
            np.testing.assert_allclose(values, run[f"{name}.contact_{axis}"], atol=1e-15)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x (m)", "y (m)")
    assert names_beside(ax)[-2:] == ["start", "every 5 s"]


def test_both_axes_have_the_same_scale():
    for name in ("agv", "tractor-trailer", "chaplygin-sleigh"):
        figure = ns.plot(run_of(name), "path")
        (ax,) = figure.axes
        box = ax.get_window_extent()
        across = np.ptp(ax.get_xlim()) / box.width
        up = np.ptp(ax.get_ylim()) / box.height
        assert across == pytest.approx(up, rel=1e-9)


def test_a_tracked_path_shows_its_reference():
    run = tracked()
    lines = lines_of(ns.plot(run, "path"))
    (reference,) = lines["platform reference"]
    np.testing.assert_array_equal(reference.get_xdata(), run["reference.platform.x"])
    assert reference.is_dashed()
    # a reference that is followed exactly is not drawn on top of what happened
    assert "platform reference" not in lines_of(ns.plot(run_of("agv"), "path"))


def test_on_a_slope_the_figure_is_the_slope():
    """Contact points are known in the world; on a tilted plane they lie where the joint says."""
    b = ns.ModelBuilder(name="skate", gravity=(0.0, 0.0, -9.81))
    slope = ns.Placement(position=(0.3, -0.2, 0.7), angles=(0.0, 0.4, 0.3))
    b.body("skate", mass=1.2, inertia=(0.05, 0.05, 0.05), center_of_mass=(0.1, 0.0, 0.0))
    b.joint("skate", ns.joints.Planar(), parent="world", child="skate", parent_frame=slope)
    plane = ns.contacts.Plane(frame=slope)
    b.contact(
        ns.contacts.KnifeEdge(name="edge", body="skate", direction=(1.0, 0.0, 0.0), plane=plane)
    )
    start = {"skate.rate": 1.5, "skate.vx": 0.2}
    run = ns.simulate(ns.compile(ns.derive(b.build())), duration=2.0, start=start, samples=41)
    skate, edge = ground_paths(run)
    assert np.ptp(run["edge.contact_z"]) > 0.1
    np.testing.assert_allclose(edge.x, skate.x, atol=1e-12)
    np.testing.assert_allclose(edge.y, skate.y, atol=1e-12)
    assert list(lines_of(ns.plot(run, "path"))) == ["skate", "start"]


@pytest.mark.parametrize("name", MODELS)
def test_poses_are_those_of_the_compiled_system(name):
    run, system = run_of(name), system_of(name)
    native = SampledMotion.of(system, run).outputs(system, "poses").reshape(len(run.t), -1, 12)
    poses, bodies = pose_function(run)
    assert bodies == [node.body.name for node in system.kinematics.tree.nodes]
    for k in (0, len(run.t) // 2, len(run.t) - 1):
        np.testing.assert_allclose(np.array(poses(run.q[k])).T, native[k], atol=1e-13)


def test_hulls_are_those_of_qhull(rng):
    for n in (3, 4, 30, 300):
        points = rng.normal(size=(n, 2)) * [3.0, 0.4] + [100.0, -7.0]
        corners = hull(points)
        expected = points[ConvexHull(points).vertices]
        assert len(corners) == len(expected)
        distance = np.linalg.norm(corners[:, None] - expected[None], axis=-1)
        assert np.max(np.min(distance, axis=1)) < 1e-6


def box_on_wheels():
    b = ns.ModelBuilder(name="box", gravity=(0.0, 0.0, -9.81))
    shape = ns.shapes.Box(size=(0.6, 0.2, 0.1), frame=ns.Placement(position=(0.1, 0.0, 0.0)))
    mark = ns.shapes.Box(size=(0.05, 0.05, 0.3), frame=ns.Placement(position=(0.2, 0.0, 0.1)))
    b.body("box", mass=1.0, inertia=(0.1, 0.1, 0.1), shapes=(shape, mark))
    b.joint("box", ns.joints.Planar(), parent="world", child="box")
    system = ns.compile(ns.derive(b.build()))
    start = {"box.vx": 1.0, "box.rate": 0.5}
    return ns.simulate(system, duration=6.0, start=start, samples=61)


def test_outlines_are_the_shapes_where_they_stood():
    run = box_on_wheels()
    outliner = Outliner(run, ground_plane(run))
    # the mark is above the box, so it is not seen from above
    assert len(outliner.parts) == 1
    k = 25
    ((corners,),) = (outline.hulls for outline in outliner([k]))
    angle = run["box.angle"][k]
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    own = np.array([[-0.2, -0.1], [0.4, -0.1], [0.4, 0.1], [-0.2, 0.1]])
    expected = own @ R.T + [run["box.x"][k], run["box.y"][k]]
    distance = np.linalg.norm(corners[:, None] - expected[None], axis=-1)
    assert len(corners) == 4 and np.max(np.min(distance, axis=1)) < 1e-7


def test_a_vehicle_too_small_to_be_seen_has_no_outline():
    b = ns.ModelBuilder(name="speck", gravity=(0.0, 0.0, 0.0))
    b.body("box", mass=1.0, moment=1.0, shapes=(ns.shapes.Box(size=(0.1, 0.1, 0.1)),))
    b.joint("box", ns.joints.Planar(), parent="world", child="box")
    run = ns.simulate(
        ns.compile(ns.derive(b.build())), duration=100.0, start={"box.vx": 5.0}, samples=11
    )
    (ax,) = ns.plot(run, "path").axes
    assert not ax.collections and names_beside(ax) == ["box", "start"]
