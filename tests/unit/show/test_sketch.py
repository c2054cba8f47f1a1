"""Sketches beside equations: every coordinate has its letter, drawn where the mechanism is."""

from xml.etree import ElementTree

import numpy as np
import pytest

import noslip as ns
from noslip import MODELS, System
from noslip.scene import start_frame
from noslip.show.equations.layout import Picture
from noslip.show.equations.sketch import _coordinates, _opened, _Poses, sketch
from noslip.show.equations.subject import Subject, printed_equations

SUBJECTS = {}


def subject_of(name):
    if name not in SUBJECTS:
        SUBJECTS[name] = Subject(printed_equations(ns.derive(ns.load(name))))
    return SUBJECTS[name]


def configuration(name):
    subject = subject_of(name)
    poses = _Poses(subject)
    return subject, poses, poses.closed(_opened(subject, poses, 1.0))


def drawn(name):
    (picture,) = sketch(subject_of(name))
    assert isinstance(picture, Picture)
    return ElementTree.fromstring(picture.svg)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_coordinate_has_its_letter_within_the_picture(name):
    root = drawn(name)
    _, _, width, height = map(float, root.get("viewBox").split())
    texts = ["".join(t.itertext()) for t in root.iter("text")]
    kin = subject_of(name).kin
    quaternions = {k for q in kin.probe.quaternions for k in range(q, q + 4)}
    of_joints = kin.tree.nodes[-1].coordinates.stop
    for k, entry in enumerate(subject_of(name).notation.coordinates[:of_joints]):
        glyph = entry.glyph
        if k not in quaternions:
            assert glyph.base + glyph.index in texts, entry.name
    for element in root.iter():
        for pair in (element.get("points") or "").split():
            x, y = map(float, pair.split(","))
            assert -60 < x < width + 60 and -60 < y < height + 60
    for text in root.iter("text"):
        assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height


def rays(root):
    """Ends of dashed lines from a point, by their two points."""
    found = []
    for line in root.iter("polyline"):
        if line.get("class") == "thin":
            points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
            found.append((np.array(points[0]), np.array(points[-1])))
    return found


def test_angles_and_pivots_of_a_tractor_are_where_its_geometry_puts_them():
    """θ = 0.4 at the rear axle, φ = 0.45 at the hinge c behind it, δ = 0.45 at l1 before it."""
    subject, _, q = configuration("tractor-trailer")
    values = dict(zip([c.name for c in subject.kin.coordinates], q, strict=True))
    root = drawn("tractor-trailer")
    (_, x_end), (y_start, y_end), *turned = (
        sorted(rays(root)[:2], key=lambda r: abs(r[1][1] - r[0][1])) + rays(root)[2:]
    )
    assert np.allclose(x_end, y_start, atol=0.2)
    angles, centers = [], []
    for (start, one), (again, other) in zip(turned[::2], turned[1::2], strict=True):
        assert np.allclose(start, again)
        a, b = one - start, other - start
        angles.append(float(np.arctan2(-(a[0] * b[1] - a[1] * b[0]), a @ b)))
        centers.append(start)
    names = ["tractor.angle", "hinge.angle", "steer.angle"]
    by_center = sorted(zip(centers, angles, strict=True), key=lambda x: x[0][0])
    assert [round(a, 2) for _, a in by_center] == pytest.approx(
        [values["hinge.angle"], values["tractor.angle"], values["steer.angle"]], abs=0.02
    )
    assert set(names) <= set(values)
    hinge, axle, pivot = (c for c, _ in by_center)
    ahead = np.array([np.cos(values["tractor.angle"]), -np.sin(values["tractor.angle"])])
    parameters = ns.load("tractor-trailer").parameter_values()
    scale = float((pivot - axle) @ ahead) / parameters["l1"]
    assert np.allclose(pivot, axle + scale * parameters["l1"] * ahead, atol=0.3)
    assert np.allclose(hinge, axle - scale * parameters["c"] * ahead, atol=0.3)
    assert np.allclose(axle, y_end, atol=0.2)


@pytest.mark.parametrize("name", ["ackermann-car", "truck-trailers", "crane"])
def test_bodies_stand_where_the_compiled_kinematics_puts_them_and_rows_hold(name):
    subject, poses, q = configuration(name)
    at = dict(zip([c.name for c in subject.kin.coordinates], map(float, q), strict=True))
    frame = start_frame(System(equations=subject.equations), at)
    assert np.max(np.abs(np.array(poses._held(q, 0.0, poses.params)[0])), initial=0.0) < 1e-9
    _, p = poses(q)
    for k, body in enumerate(frame.bodies):
        assert np.allclose(p[poses.places[body]], frame.positions[0, k], atol=1e-7), body


def test_a_coordinate_is_the_angle_that_it_measures():
    """Turned back by its value about its axis, the caster's heading is the platform's."""
    subject, poses, q = configuration("agv")
    turns, ways = _coordinates(subject, poses, q)
    caster = next(t for t in turns if t.glyph.base == "ψ")
    platform = next(t for t in turns if t.glyph.base == "β")
    c, s = np.cos(-caster.value), np.sin(-caster.value)
    turned = np.array([[c, -s], [s, c]]) @ caster.heading[:2]
    assert np.allclose(turned, platform.heading[:2])
    assert [w.glyph.base for w in ways] == ["Y", "X"]
    b = ns.load("agv").parameter_values()["b"]
    c, s = np.cos(platform.value), np.sin(platform.value)
    assert np.allclose((caster.about - platform.about)[:2], [-s * b, c * b])
