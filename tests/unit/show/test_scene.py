"""What models look like: meshes against trimesh, defaults against the mechanism, the camera."""

import dataclasses

import casadi as ca
import numpy as np
import pytest
import trimesh
from scipy.integrate import cumulative_simpson

import noslip as ns
from mechanisms import MECHANISMS
from noslip.algebra import quaternion_from_angles, rotation_from_angles
from noslip.model import WORLD, angles_of, cone, cylinder, number, numbers, rotation_to
from noslip.model.bodies import box, ring, sphere
from noslip.scene import camera, frames, is_far, scene
from noslip.scene.assembly import part_poses
from noslip.scene.geometry import (
    placed,
    quaternions_of,
    rotations_of,
    shape_mesh,
)
from noslip.scene.overlays import (
    KINDS,
    CameraView,
    Trace,
    extent,
    followed,
    grids,
    rounded,
    scale_text,
    trace_names,
    traces,
)

NAMES = (*ns.MODELS, *MECHANISMS)


def turned(angles, sequence):
    """The rotation as the kinematics has it."""
    return np.array(ca.DM(rotation_from_angles(list(angles), sequence)))


def model_named(name):
    return MECHANISMS[name]() if name in MECHANISMS else ns.load(name)


@pytest.fixture(scope="module")
def shown(system_of):
    """Scene and frames of a library model's own scenario, at ten pictures a second."""
    kept = {}

    def of(name):
        if name not in kept:
            run = ns.run_scenario(system_of(name))
            kept[name] = scene(run.model), frames(system_of(name), run, rate=10.0), run
        return kept[name]

    return of


# meshes


@pytest.mark.parametrize(
    ("made", "volume"),
    [
        (box(np.array([0.3, 0.5, 0.7])), 0.3 * 0.5 * 0.7),
        (cylinder(0.4, 0.9, 48), 24 * np.sin(np.pi / 24) * 0.4**2 * 0.9),
        (cone(0.4, 0.9, 48), 24 * np.sin(np.pi / 24) * 0.4**2 * 0.9 / 3),
        (sphere(0.4, 64), None),
        (ring(0.5, 0.1, 96, 40), None),
    ],
    ids=("box", "cylinder", "cone", "sphere", "ring"),
)
def test_meshes_are_closed_and_face_outwards(made, volume):
    """trimesh agrees that nothing is open, and that the inside has the volume it should."""
    points, faces = made
    mesh = trimesh.Trimesh(points, faces, process=False)
    mesh.merge_vertices(merge_norm=True, merge_tex=True)
    mesh.update_faces(mesh.nondegenerate_faces())
    assert mesh.is_watertight and mesh.is_winding_consistent
    if volume is None:  # smooth bodies: less than the true volume, by the order of the polygons
        true = {len(sphere(0.4, 64)[0]): 4 / 3 * np.pi * 0.4**3}.get(
            len(points), 2 * np.pi**2 * 0.5 * 0.1**2
        )
        assert 0.99 * true < mesh.volume < true
    else:
        assert mesh.volume == pytest.approx(volume, rel=1e-12)


def test_a_shape_is_placed_like_any_frame_of_the_model(rng):
    values = {"a": 0.7, "b": -0.4}
    for sequence in ("xyz", "zyx", "zxz"):
        angles = tuple(float(x) for x in rng.uniform(-3, 3, 3))
        frame = ns.Placement(position=("a", "a*b", 0.2), angles=angles, sequence=sequence)
        R, p = placed(frame, values)
        assert np.allclose(R, turned(angles, sequence), atol=1e-15)
        shape = ns.shapes.Box(size=("a", 1.0, 2.0), frame=frame)
        at_rest = shape_mesh(ns.shapes.Box(size=("a", 1.0, 2.0)), values).vertices
        assert np.allclose(shape_mesh(shape, values).vertices, at_rest @ R.T + p, atol=1e-6)
        assert np.allclose(p, [0.7, -0.28, 0.2], atol=1e-15)


def test_rotations_and_quaternions_agree(rng):
    for _ in range(50):
        angles = [float(x) for x in rng.uniform(-np.pi, np.pi, 3)]
        q = np.array(quaternion_from_angles(angles, "xyz"))
        R = turned(angles, "xyz")
        found = quaternions_of(R)
        assert min(np.abs(found - q).max(), np.abs(found + q).max()) < 1e-14
        assert np.allclose(rotations_of(found), R, atol=1e-14)
        assert np.allclose(turned(angles_of(R), "xyz"), R, atol=1e-12)
    for axis in np.eye(3):
        half_turn = 2 * np.outer(axis, axis) - np.eye(3)
        assert np.allclose(rotations_of(quaternions_of(half_turn)), half_turn, atol=1e-15)
    z = np.array([0.2, -0.4, 0.5])
    R = rotation_to(z)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15) and np.linalg.det(R) > 0
    assert np.allclose(R[:, 2], z / np.linalg.norm(z), atol=1e-15)


# scenes


@pytest.mark.parametrize("name", NAMES)
def test_every_body_of_every_model_is_drawn(name):
    model = model_named(name)
    look = scene(model)
    assert {part.body for part in look.parts} - {WORLD} == {body.name for body in model.bodies}
    for part in look.parts:
        assert part.vertices.dtype == np.float32 and np.all(np.isfinite(part.vertices))
        assert part.faces.min() >= 0 and part.faces.max() < len(part.vertices)
        assert all(0 <= channel <= 255 for channel in part.color)
    assert look.length > 0 and np.linalg.norm(look.up) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ns.MODELS)
def test_ready_models_have_shapes_of_their_own(name):
    assert all(body.shapes for body in ns.load(name).bodies)


@pytest.mark.parametrize("name", ("lopsided-wheel", "ideal-caster", "car", "torus"))
def test_a_wheel_without_shapes_gets_that_of_its_contact(name):
    """Its tread has the radius that rolls, about the wheel's axis, and something marks its turn."""
    model = model_named(name)
    values = model.parameter_values()
    drawn = {body.name: [] for body in model.bodies}
    for part in scene(model).parts:
        drawn.setdefault(part.body, []).append(part)
    for contact in model.contacts:
        if not isinstance(contact, ns.contacts.Rolling) or isinstance(
            contact.wheel, ns.surfaces.Ball
        ):
            continue
        axis = numbers(contact.wheel.axis, values)
        axis = axis / np.linalg.norm(axis)
        radius = number(contact.wheel.radius, values)
        radius += number(getattr(contact.wheel, "tube_radius", 0.0), values)
        center = numbers(contact.center, values)
        reach = []
        for part in drawn[contact.body]:
            d = part.vertices - center
            reach.append(np.linalg.norm(d - np.outer(d @ axis, axis), axis=1).max())
        assert min(abs(r - radius) for r in reach) < 1e-6 * radius
        assert any(part.color == (245, 133, 24) for part in drawn[contact.body])


def test_a_blade_without_shapes_is_drawn_at_its_edge():
    model = model_named("sleigh")
    contact = model.contacts[0]
    point = numbers(contact.point, model.parameter_values())
    blade = min(scene(model).parts, key=lambda part: np.ptp(part.vertices, axis=0).min())
    assert np.allclose(blade.vertices.mean(axis=0)[:2], point[:2], atol=1e-6)
    assert blade.vertices[:, 2].min() == pytest.approx(point[2], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "body"),
    [("whipple-bicycle", "rear_frame"), ("balancing-robot", "base"), ("sled-with-rotor", "sled"),
     ("tractor-trailer", "trailer")],
)  # fmt: skip
def test_nothing_of_a_body_without_shapes_floats(name, body):
    """Mass centers and blades off the line between joints hang on struts, which end there."""
    model = ns.load(name)
    bare = tuple(dataclasses.replace(b, shapes=()) for b in model.bodies)
    values = model.parameter_values()
    parts = [p for p in scene(dataclasses.replace(model, bodies=bare)).parts if p.body == body]
    one = next(b for b in model.bodies if b.name == body)
    places = [(3, numbers(one.center_of_mass, values))]
    # a blade stands on its point
    places += [(2, numbers(c.point, values)) for c in model.contacts if c.body == body]
    rods = [p.vertices for p in parts if len(p.vertices) > 24]
    size = max(np.ptp(rod, axis=0).max() for rod in rods)
    for axes, place in places:
        ends = [np.linalg.norm((rod - place)[:, :axes], axis=1).min() for rod in rods]
        assert min(ends) < size / 15


def test_planes_on_bodies_are_grounds_and_tables():
    look = scene(model_named("ball-on-turntable"))
    ground = next(g for g in look.grounds if g.body != WORLD)
    table = [part for part in look.parts if part.body == ground.body]
    tops = [((p.vertices - ground.position) @ ground.rotation[:, 2]).max() for p in table]
    assert min(abs(top) for top in tops) < 1e-6


def test_sizes_follow_the_parameters():
    small, large = scene(ns.load("agv")), scene(ns.load("agv"), {"r": 0.1})
    tires = [
        max(np.ptp(p.vertices[:, 2]) for p in look.parts if p.body == "wheel1")
        for look in (small, large)
    ]
    assert tires == pytest.approx([0.1, 0.2], rel=1e-3)
    for part, again in zip(small.parts, scene(ns.load("agv")).parts, strict=True):
        assert (part.body, part.roller, part.color) == (again.body, again.roller, again.color)
        assert np.array_equal(part.vertices, again.vertices)
        assert np.array_equal(part.faces, again.faces)
    with pytest.raises(ns.ModelError, match="no parameter 'radius'"):
        scene(ns.load("agv"), {"radius": 0.1})


def test_the_upward_direction_is_against_gravity_unless_that_pulls_along_the_ground():
    slope = ns.load("knife-edge").parameter_values()["slope"]
    assert np.allclose(scene(ns.load("knife-edge")).up, [-np.sin(slope), 0, np.cos(slope)])
    assert np.allclose(scene(ns.load("manipulator-2r")).up, [0, 1, 0])
    assert np.allclose(scene(ns.load("tricycle")).up, [0, 0, 1])


# wheels that are only drawn


def test_a_drawn_wheel_rolls_as_far_as_its_center_goes(shown, system_of):
    """θ r = ∫ (vx − y ω) dt for a wheel at a distance y to the left of an axle's middle."""
    look, motion, _ = shown("tractor-trailer")
    fine = ns.run_scenario(system_of("tractor-trailer"), rtol=1e-11, atol=1e-11)
    for k, side in ((1, 1), (2, -1)):
        roller = next(r for r in look.rollers if r.name == f"tractor.wheel{k}")
        assert roller.center[1] == pytest.approx(side * 0.33 * 2.8)
        speed = fine["tractor.vx"] - roller.center[1] * fine["tractor.rate"]
        way = cumulative_simpson(speed, x=fine.t, initial=0)
        at = np.searchsorted(fine.t, motion.times - 1e-9)
        # about the axis to the left, forward is positive; Simpson's rule is the limit here
        about_left = motion.rolled[roller.name] * roller.axis[1]
        assert np.allclose(about_left * roller.radius, way[at], atol=2e-7)
    assert way[-1] > 10


# camera, grid and traces


@pytest.mark.parametrize("name", ns.MODELS)
@pytest.mark.parametrize("follow", (False, True))
def test_the_camera_has_all_of_the_motion_in_view(shown, name, follow):
    """Every corner of every part is in the picture, and the picture is no wider than need be."""
    look, motion, _ = shown(name)
    view = camera(look, motion, aspect=1.6, follow=follow)
    path = followed(look, motion)
    places = []
    for index in range(0, len(motion), max(1, len(motion) // 40)):
        moved = view.moved(path[index] - path[0]) if follow else view
        lens = CameraView(camera=moved, width=1600, height=1000)
        for part in look.parts:
            if part.body == WORLD and follow:
                continue
            R, p = part_poses(look, motion, part, index)
            seen = lens.seen(part.vertices @ R.T + p)
            assert seen[:, 2].min() > lens.near
            places.append(lens.pixels(seen))
    x, y = np.concatenate(places).T
    assert 0 < x.min() and x.max() < 1600 and 0 < y.min() and y.max() < 1000
    if not follow:
        assert max(np.ptp(x) / 1600, np.ptp(y) / 1000) > 0.7


def test_a_long_motion_is_followed_and_a_short_one_fitted(shown):
    look, motion, _ = shown("vertical-disk")
    assert not is_far(look, motion)
    far = motion.positions + np.linspace(0, 100, len(motion))[:, None, None]
    assert is_far(look, dataclasses.replace(motion, positions=far))


@pytest.mark.parametrize("name", ns.MODELS)
def test_the_grid_lies_under_all_of_the_motion(shown, name):
    look, motion, _ = shown(name)
    box_ = extent(look, motion)
    if any(part.is_ground and part.body == WORLD for part in look.parts):
        assert not grids(look, box_)  # curved ground has lines of its own
        return
    ground = next(grid for grid in grids(look, box_) if grid.body == WORLD)
    local = (box_.corners - ground.position) @ ground.rotation
    assert np.abs(local[:, :2]).max() <= ground.width / 2
    cells = ground.width / ground.cell
    assert cells == pytest.approx(round(cells)) and 8 <= cells <= 60
    lines = ground.position @ ground.rotation / ground.cell
    if look.grounds:  # lines pass through the origin of the plane
        assert np.allclose(lines[:2], np.round(lines[:2]), atol=1e-6)


def test_traces_are_those_of_contacts_and_of_what_carries_the_mass(shown):
    look, motion, _ = shown("snakeboard")
    names = {trace.name for trace in traces(look, motion)}
    centers = ("board", "rotor", "back.fork", "front.fork")
    wheels = {"front.contact", "back.contact"}
    assert names == wheels | {f"{name}.center_of_mass" for name in centers}


def test_what_follows_a_path_is_drawn_beside_its_reference(system_of):
    """The reference is dashed from the start: each dash lies on the circle of 2 m."""
    run = ns.track(
        system_of("agv"), ns.paths.Circle(radius=2.0), duration=5.0, start={"platform.x": 2.05},
        controller=ns.controllers.PoseTracking(), timing=ns.timing.ConstantSpeed(0.4),
    )  # fmt: skip
    look, motion = scene(run.model), frames(system_of("agv"), run, rate=10.0)
    found = {trace.name: trace for trace in traces(look, motion)}
    assert "platform.center_of_mass" not in found
    path, reference = found["platform.origin"], found["platform.reference"]
    assert path.dashes is None
    at = [np.argmin(np.abs(run.t - t)) for t in motion.times]
    assert np.allclose(path.points[:, 0], run["platform.x"][at], atol=1e-3)
    assert np.allclose(reference.points[:, 0], run["reference.platform.x"][at], atol=1e-3)
    assert np.abs(path.points - reference.points)[0, 0] == pytest.approx(0.05, abs=1e-3)
    # the circle is the way of another point of the vehicle, so its origin keeps a constant distance
    away = np.linalg.norm(reference.dashes[..., :2], axis=-1)
    assert np.ptp(away) < 2e-3 and len(reference.dashes) > 5
    assert trace_names(found.values())[reference.color] == "platform reference"


def test_traces_of_one_kind_share_their_word():
    points = np.zeros((2, 3))
    names = ("a.contact", "b.contact", "c.contact", "cab.origin", "fork.center_of_mass")
    found = trace_names([Trace(name=n, points=points, color=KINDS[n.split(".")[1]]) for n in names])
    contacts, bodies = found.values()
    assert contacts == "contacts of a, b, c"
    assert bodies == "cab, fork mass center"
    (alone,) = trace_names([Trace(name="a.contact", points=points, color=(1, 2, 3))]).values()
    assert alone == "a contact"
    short = [Trace(name=n, points=points, color=(1, 2, 3)) for n in names[:3]]
    assert trace_names(short, 2) == {(1, 2, 3): "contacts of a, b, …"}
    assert trace_names(short, 0) == {(1, 2, 3): "contacts"}


def test_the_scale_of_hills_is_that_of_their_lines():
    look = scene(ns.load("vehicle-on-hills"))
    assert scale_text(look, ()) == "grid 1\N{NO-BREAK SPACE}m"
    lines = next(part for part in look.parts if part.is_ground and part.shades is None)
    across = lines.vertices[:, :2]
    off = np.abs(across - np.round(across)).min(axis=1)
    assert off.max() < 0.05  # half the width of a line
    assert len(np.unique(np.round(across[:, 0]))) == np.ptp(np.round(across[:, 0])) + 1
    assert scale_text(look, (), 5.0).endswith("m, 5 times as fast")
    assert scale_text(scene(ns.load("ball-in-bowl")), ()) == ""  # its lines are of no one distance


def test_a_rounded_line_passes_through_its_points_and_near_the_curve():
    t = np.linspace(0, 2 * np.pi, 25)
    points = np.stack([np.cos(t), np.sin(t), 0 * t], axis=-1)
    curve = rounded(points, 4)
    assert len(curve) == 4 * 24 + 1 and np.array_equal(curve[::4], points)
    inner = np.linalg.norm(curve[4:-4], axis=1)
    assert np.abs(inner - 1).max() < 4e-4 < 1 - np.cos(t[1] / 2)


def test_curved_ground_is_darker_where_it_is_lower_and_has_lines_instead_of_a_floor():
    model = ns.load("ball-in-bowl")
    drawn = scene(model)
    surface, lines = [part for part in drawn.parts if part.is_ground]
    height = surface.vertices[:, 2]
    brightness = surface.shades.astype(float).sum(axis=1)
    assert brightness[np.argmin(height)] < 0.85 * brightness[np.argmax(height)]
    # the lines lie just above the surface z = s r²/2
    x, y, z = lines.vertices.T
    above = z - 0.6 * (x**2 + y**2)
    assert 0 < above.min() and above.max() < 0.01
    # one that looks from above sees their front
    a, b, c = (lines.vertices[lines.faces[:, k]] for k in range(3))
    assert np.mean(np.cross(b - a, c - a)[:, 2] > 0) > 0.99
    system = ns.compile(ns.derive(model))
    motion = frames(system, ns.run_scenario(system, duration=0.1, samples=3))
    assert grids(drawn, extent(drawn, motion)) == ()
