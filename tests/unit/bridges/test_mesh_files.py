"""Meshes of robots: read by trimesh and by us alike, coarse, and never outside of their folder."""

import numpy as np
import pytest

import noslip as ns
from noslip.bridges.robots import KEPT, coarsened, facets_of, mesh_path
from noslip.model import NumberReader

trimesh = pytest.importorskip("trimesh")

ROBOT = """<robot name="r"><link name="base"><visual><origin xyz="0.1 0 0"/><geometry>
<mesh filename="{file}" scale="{scale}"/></geometry>
<material name="m"><color rgba="1 0 0 1"/></material></visual></link></robot>"""

DAE = """<?xml version="1.0"?><COLLADA><asset><unit meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array>0 0 0 10 0 0 0 20 0 0 0 30</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" offset="1"/>
<vcount>3 3 3 3</vcount><p>0 0 2 0 1 0 0 0 1 0 3 0 1 0 2 0 3 0 0 0 3 0 2 0</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene><node><matrix>1 0 0 5 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>"""


def robot(tmp_path, file, scale="1 1 1"):
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT.format(file=file, scale=scale))
    return path


def triangles(shape):
    points, faces = shape.triangles(NumberReader({}))
    return trimesh.Trimesh(points, faces, process=True)


@pytest.mark.parametrize("suffix", ["stl", "stl_ascii", "obj"])
def test_a_mesh_has_the_outline_that_trimesh_wrote(tmp_path, suffix):
    solid = trimesh.creation.capsule(radius=0.1, height=0.4)
    name = f"part.{suffix[:3]}"
    solid.export(tmp_path / name, file_type=suffix)
    model, notes = ns.import_robot(robot(tmp_path, name, "2 2 2"))
    assert not notes
    (shape,) = model.bodies[0].shapes
    assert shape.color == "#ff0000" and shape.frame.position == (0.1, 0.0, 0.0)
    assert len(shape.faces) <= 3 * KEPT
    made = triangles(shape)
    # means of cells are within a cell of the corners: the longest edge over 24, or a few less
    np.testing.assert_allclose(made.bounds, 2 * solid.bounds, atol=1.2 / 8)
    assert made.volume == pytest.approx(8 * solid.volume, rel=0.15)
    # a model file holds it
    ns.save_model(model, tmp_path / "r.toml")
    assert ns.load(tmp_path / "r.toml") == model


def test_small_meshes_are_kept_as_they_are():
    solid = trimesh.creation.box((0.1, 0.2, 0.3))
    points, faces = coarsened(np.array(solid.vertices), np.array(solid.faces))
    made = trimesh.Trimesh(points, faces)
    assert made.is_watertight and made.volume == pytest.approx(solid.volume, rel=1e-12)


def test_collada_is_read_with_its_unit_axis_and_scene(tmp_path):
    (tmp_path / "part.dae").write_text(DAE)
    made = triangles(facets_of("part.dae", robot(tmp_path, "part.dae"), (1.0, 1.0, 1.0)))
    assert made.volume == pytest.approx(0.1 * 0.2 * 0.3 / 6, rel=1e-3)
    np.testing.assert_allclose(made.bounds, [[0.05, 0.0, 0.0], [0.15, 0.2, 0.3]], atol=1e-9)


def test_a_mirrored_mesh_still_has_its_outside_outside(tmp_path):
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "part.stl")
    shape = facets_of("part.stl", robot(tmp_path, "part.stl"), (-1.0, 1.0, 1.0))
    assert triangles(shape).volume == pytest.approx(0.006, rel=1e-3)


def test_packages_are_found_around_the_file(tmp_path):
    inner = tmp_path / "pkg" / "urdf"
    inner.mkdir(parents=True)
    (tmp_path / "pkg" / "meshes").mkdir()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "pkg" / "meshes" / "a.stl")
    file = robot(inner, "package://pkg/meshes/a.stl")
    assert mesh_path("package://pkg/meshes/a.stl", file).name == "a.stl"
    assert mesh_path("package:///pkg/meshes/a.stl", file).name == "a.stl"
    (tmp_path / "pkg" / "package.xml").write_text("<package/>")
    assert mesh_path("../meshes/a.stl", file).name == "a.stl"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../secret.stl", "outside of the folder"),
        ("/etc/passwd", "outside of the folder"),
        ("file:///etc/passwd", "outside of the folder"),
        ("package://r/../../secret.stl", "outside of the folder"),
        ("http://example.org/a.stl", "it is an address"),
        ("link.stl", "outside of the folder"),
        ("package://other/a.stl", "there is no package 'other'"),
        ("none.stl", "there is no such file"),
        ("text.stl", "neither binary nor text STL"),
        ("wrong.obj", "refers to a missing vertex"),
        ("huge.obj", "no finite ones"),
        ("bomb.dae", "declares a document type"),
        ("r.urdf", "'.urdf' is not read"),
    ],
)
def test_names_that_lead_out_and_files_that_are_none_are_not_drawn(tmp_path, name, why):
    folder = tmp_path / "r"
    folder.mkdir()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "secret.stl")
    (folder / "link.stl").symlink_to(tmp_path / "secret.stl")
    (folder / "text.stl").write_text("solid of nothing")
    (folder / "wrong.obj").write_text("v 0 0 0\nv 1 0 0\nf 1 2 9\n")
    (folder / "huge.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1e300 0\nf 1 2 3\n")
    (folder / "bomb.dae").write_text('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>')
    model, notes = ns.import_robot(robot(folder, name))
    assert not model.bodies[0].shapes
    (note,) = notes
    assert why in note


def test_meshes_of_mjcf_come_from_its_assets(tmp_path):
    (tmp_path / "assets").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "assets" / "a.stl")
    (tmp_path / "m.xml").write_text(
        '<mujoco><compiler meshdir="assets"/><asset><mesh name="x" file="a.stl" scale="2 2 2"/>'
        '</asset><worldbody><body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<joint/><geom type="mesh" mesh="x"/></body></worldbody></mujoco>'
    )
    model, _ = ns.import_robot(tmp_path / "m.xml")
    (shape,) = model.bodies[0].shapes
    assert triangles(shape).volume == pytest.approx(8 * 0.006, rel=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        "package://../outside/secret.stl",
        "package://./../outside/secret.stl",
        "package:///../outside/secret.stl",
        "model://../outside/secret.stl",
        "package://outside/secret.stl",
        "package://linked/secret.stl",
        "package://pkg/linked/secret.stl",
        "package://pkg/../../outside/secret.stl",
        "package://..%2foutside/secret.stl",
        "file://{}/outside/secret.stl",
        "{}/outside/secret.stl",
        "../../../outside/secret.stl",
    ],
)
def test_no_name_leads_out_of_packages(tmp_path, name):
    """Folders around a description are packages, or they are not looked at."""
    outside, home = tmp_path / "outside", tmp_path / "work" / "pkg" / "urdf"
    outside.mkdir()
    home.mkdir(parents=True)
    trimesh.creation.box((1, 1, 1)).export(outside / "secret.stl")
    (home / "linked").symlink_to(outside)
    (home.parent / "linked").symlink_to(outside)
    (home.parent / "package.xml").write_text("<package/>")
    file = robot(home, name.format(tmp_path))
    with pytest.raises(ns.ModelError, match="is not drawn"):
        mesh_path(name.format(tmp_path), file)


def test_packages_beside_that_of_the_description_are_found(tmp_path):
    home = tmp_path / "src" / "pkg" / "urdf"
    home.mkdir(parents=True)
    for other, mark in (("arms", "package.xml"), ("worlds", "model.config")):
        (tmp_path / "src" / other).mkdir()
        (tmp_path / "src" / other / mark).write_text("<package/>")
        trimesh.creation.box((1, 1, 1)).export(tmp_path / "src" / other / "a.stl")
        name = f"package://{other}/a.stl"
        assert mesh_path(name, robot(home, name)).parent.name == other
