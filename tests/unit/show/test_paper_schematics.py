"""Letters on the papers' pictures: lengths are the parameters of that name, angles are angles."""

import re

import numpy as np
import pytest

import noslip as ns
from noslip.model import NumberReader
from noslip.show.papers import (
    HEIGHT,
    SCHEMATICS,
    WIDTH,
    AngleMark,
    Span,
    draw_schematic,
    in_world,
    schematic_frame,
)

#: Angles of joints that a picture marks; θ_ij and φ_i are those of one joint.
ANGLES = {
    "desantis1994 2": {"theta": "tractor.angle", "phi": "hinge.angle", "delta": "steer.angle"},
    "desantis1994 4": {"theta": "front.angle", "phi": "waist.angle"},
    "cameron1993 1": {"theta_i": "skate.angle"},
    "cameron1993 2": {"theta_i": "frame.angle", "phi_i": "steer.angle"},
    "cameron1993 4": {"theta_1": "sled.angle", "theta_2": "rotor.angle"},
    "antunes2010 1": {"phi": "sleigh.angle"},
    "saha1989 1": {"psi": "bracket.angle"},
    "saha1991 1": {"theta_{ij}": "joint2.angle"},
}


def placed(schematic):
    """Values of the model's parameters, and places of marks in the world."""
    values = ns.load(schematic.model).parameter_values()
    frame, read = schematic_frame(schematic), NumberReader(values)
    return values, lambda place: in_world(place, frame, read)


@pytest.mark.parametrize("key", SCHEMATICS, ids=lambda key: f"{key[0]} {key[1]}")
def test_marks_are_what_their_letters_say(key):
    schematic = SCHEMATICS[key]
    values, at = placed(schematic)
    wanted = ANGLES.get(f"{key[0]} {key[1]}", {})
    for mark in schematic.marks:
        letter = mark.text.strip("$").removeprefix("\\")
        if isinstance(mark, Span):
            name = re.sub(r"^ell_(\d)$", r"l\1", letter).removesuffix("_i")
            length = np.linalg.norm(at(mark.end) - at(mark.start))
            assert length == pytest.approx(values[name], rel=1e-12), letter
        if isinstance(mark, AngleMark):
            first, last = (at(p) - at(mark.about) for p in (mark.start, mark.end))
            turn = np.arctan2(np.linalg.norm(np.cross(first, last)), first @ last)
            given = schematic.start[wanted[letter]]
            assert turn == pytest.approx(abs(given), abs=1e-9), letter
    assert sum(isinstance(mark, AngleMark) for mark in schematic.marks) == len(wanted)


@pytest.mark.parametrize("key", SCHEMATICS, ids=lambda key: f"{key[0]} {key[1]}")
def test_every_letter_is_in_the_picture_and_none_covers_another(key):
    figure = draw_schematic(SCHEMATICS[key])
    (ax,) = figure.axes
    figure.canvas.draw()
    scale = figure.bbox.width / WIDTH
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == len(SCHEMATICS[key].marks)
    for k, box in enumerate(boxes):
        assert 0 <= box.x0 and box.x1 <= WIDTH * scale
        assert 0 <= box.y0 and box.y1 <= HEIGHT * scale
        for other in boxes[:k]:
            assert not box.overlaps(other), (k, boxes.index(other))
