"""Layers: what an extension adds is what the old design lacks, each point once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noslip.sweeps import AxisFactor
from noslip.sweeps.design import Design
from noslip.sweeps.measures import (
    Layer,
    layer_from_json,
    new_boxes,
    old_boxes,
    row_maps,
    whole,
)


def design_of(*axes):
    return Design(
        tuple(
            AxisFactor((f"x{k}",), (list(axis),), np.array(axis, float)[:, None])
            for k, axis in enumerate(axes)
        )
    )


axes = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True)


@given(st.lists(st.tuples(axes, axes), min_size=1, max_size=3), st.integers(1, 7))
def test_old_and_new_points_are_the_whole_design_once(pairs, block):
    old = design_of(*(sorted(a) for a, _ in pairs))
    new = design_of(*(sorted(set(a) | set(b)) for a, b in pairs))
    maps = row_maps(old, new)
    boxes = new_boxes(maps, new)
    points = []
    for some in (old_boxes(maps), boxes):
        layer = Layer(0, new, some, ("m",), block)
        found = [
            layer.points(layer.positions_of_block(b)).tolist() for b in range(layer.num_blocks)
        ]
        flat = [p for chunk in found for p in chunk]
        assert layer.positions(np.array(flat, np.int64)).tolist() == list(range(layer.size))
        points += flat
    assert sorted(points) == list(range(new.size))


def test_points_that_a_layer_does_not_hold_have_no_position():
    design = design_of(range(4), range(3))
    layer = Layer(0, design, (whole(design_of(range(2), range(3)))), ("m",), 2)
    assert layer.positions(np.array([0, 5, 6, 11])).tolist() == [0, 5, -1, -1]
    listed = Layer(1, design, (), ("m",), 2, np.array([2, 7]))
    assert listed.positions(np.array([2, 3, 7, 11])).tolist() == [0, -1, 1, -1]


def test_layers_are_read_back_from_plain_data():
    design = design_of(range(4), [1, 5, 9])
    layer = Layer(2, design, whole(design), ("a", "b"), 5, settings={"tolerance": 1e-6})
    again = layer_from_json(2, layer.to_json(), design)
    assert again.size == 12 and again.settings == {"tolerance": 1e-6}
    assert again.points(np.arange(12)).tolist() == list(range(12))


@pytest.mark.parametrize(("old", "new"), [([1, 2], [1, 3]), ([1, 2], [1])])
def test_a_design_without_all_old_points_is_no_extension(old, new):
    assert row_maps(design_of(old), design_of(new)) is None
