"""Line numbers of the keys of a TOML file, and where the scan stops."""

import tomllib

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from noslip.model.files import MAX_NESTING, NestingError, line_numbers

TEXT = '''\
# a comment with [brackets] and = signs
format = 1
name = "cart" # [not.a.table]

[bodies.cart]   # a table
mass = 2.0
inertia = [
  1.0,   # one
  2.0,

  3.0,
]
description = """
[bodies.fake]
mass = 1 \\""" still inside
"""
literal = \'\'\'
[also.fake]
\'\'\'

[[bodies.cart.shapes]]
type = "box"
[[bodies.cart.shapes]]
type = 'ring'
frame = {position = [0, 0, 1], angles = [
  0, 0, 0]}
[bodies.cart.shapes.extra]
deep.er = true

[joints . "my joint" . 'x.y']
"quoted key" = 1979-05-27 07:32:00
a.b."c.d" = -1e-5
[scenario]
start.wheel.angle = 1
'''

EXPECTED = {
    (): 1,
    ("format",): 2,
    ("name",): 3,
    ("bodies",): 5,
    ("bodies", "cart"): 5,
    ("bodies", "cart", "mass"): 6,
    ("bodies", "cart", "inertia"): 7,
    ("bodies", "cart", "inertia", 0): 8,
    ("bodies", "cart", "inertia", 1): 9,
    ("bodies", "cart", "inertia", 2): 11,
    ("bodies", "cart", "description"): 13,
    ("bodies", "cart", "literal"): 17,
    ("bodies", "cart", "shapes"): 21,
    ("bodies", "cart", "shapes", 0): 21,
    ("bodies", "cart", "shapes", 0, "type"): 22,
    ("bodies", "cart", "shapes", 1): 23,
    ("bodies", "cart", "shapes", 1, "type"): 24,
    ("bodies", "cart", "shapes", 1, "frame"): 25,
    ("bodies", "cart", "shapes", 1, "frame", "position"): 25,
    ("bodies", "cart", "shapes", 1, "frame", "position", 0): 25,
    ("bodies", "cart", "shapes", 1, "frame", "position", 1): 25,
    ("bodies", "cart", "shapes", 1, "frame", "position", 2): 25,
    ("bodies", "cart", "shapes", 1, "frame", "angles"): 25,
    ("bodies", "cart", "shapes", 1, "frame", "angles", 0): 26,
    ("bodies", "cart", "shapes", 1, "frame", "angles", 1): 26,
    ("bodies", "cart", "shapes", 1, "frame", "angles", 2): 26,
    ("bodies", "cart", "shapes", 1, "extra"): 27,
    ("bodies", "cart", "shapes", 1, "extra", "deep"): 28,
    ("bodies", "cart", "shapes", 1, "extra", "deep", "er"): 28,
    ("joints",): 30,
    ("joints", "my joint"): 30,
    ("joints", "my joint", "x.y"): 30,
    ("joints", "my joint", "x.y", "quoted key"): 31,
    ("joints", "my joint", "x.y", "a"): 32,
    ("joints", "my joint", "x.y", "a", "b"): 32,
    ("joints", "my joint", "x.y", "a", "b", "c.d"): 32,
    ("scenario",): 33,
    ("scenario", "start"): 34,
    ("scenario", "start", "wheel"): 34,
    ("scenario", "start", "wheel", "angle"): 34,
}


def test_every_key_has_its_line():
    assert line_numbers(TEXT) == EXPECTED


def test_the_example_is_toml():
    assert set(paths(tomllib.loads(TEXT))) == set(EXPECTED)


def test_lines_that_end_as_on_windows_count_the_same():
    assert line_numbers(TEXT.replace("\n", "\r\n")) == EXPECTED


def test_an_empty_text_has_its_top():
    assert line_numbers("") == {(): 1}


@pytest.mark.parametrize("quotes", ['"""a""" ', '"""a"""" ', '"""a"""""', "'''a'''''", '"a\\""'])
def test_quotes_at_the_end_of_a_string_belong_to_it(quotes):
    text = f"a = {quotes}\nb = 1\n"
    tomllib.loads(text)
    assert line_numbers(text)[("b",)] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        "b",
        "b =",
        "= 1",
        "b = 1 2 ]",
        '"b = 1',
        'b = "x',
        "b = [1, 2",
        "b = {x = 1",
        "b = {x = 1 y = 2}",
        "[b",
        "[[b]",
        "[]",
        "b. = 1",
        'b = 1 "x"',
        '"\\q" = 1',
    ],
)
def test_the_scan_stops_at_what_is_not_toml(wrong):
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(f"a = 1\n{wrong}\nc = 3\n")
    lines = line_numbers(f"a = 1\n{wrong}\nc = 3\n")
    assert lines[("a",)] == 1


@pytest.mark.parametrize(
    "text, what",
    [
        ("\n" + ".".join("a" * 50) + " = 1", "a key has more than 16 parts"),
        ("\n[" + ".".join("a" * 100_000) + "]", "a key has more than 16 parts"),
        ("\na = " + "[" * 100_000, "values are nested deeper than 16 levels"),
        ("\na = " + "{a = " * 100_000, "values are nested deeper than 16 levels"),
    ],
)
def test_nesting_is_capped(text, what):
    with pytest.raises(NestingError, match=what) as caught:
        line_numbers(text)
    assert caught.value.line == 2


def test_nesting_up_to_the_cap_is_read():
    text = ".".join("a" * MAX_NESTING) + " = 1"
    assert line_numbers(text)[("a",) * MAX_NESTING] == 1


def paths(value, path=()):
    """All paths of a table as `tomllib` gives it."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    if isinstance(value, list):
        for k, inner in enumerate(value):
            yield from paths(inner, (*path, k))


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_scalars = st.one_of(_texts, st.integers(-9, 9), st.floats(allow_nan=False), st.booleans())
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_texts, inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(deadline=None, derandomize=True)
@given(st.dictionaries(_texts, _values, max_size=4))
def test_every_key_of_a_random_document_is_found(table):
    text = tomli_w.dumps(table)
    lines = line_numbers(text)
    assert set(lines) >= set(paths(tomllib.loads(text)))
    listed = text.split("\n")
    for path, line in lines.items():
        if path and isinstance(path[-1], str):
            key = tomli_w.dumps({path[-1]: 0}).removesuffix(" = 0\n")
            assert key in listed[line - 1]


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_any_text_can_be_scanned(text):
    assert line_numbers(text)[()] == 1
