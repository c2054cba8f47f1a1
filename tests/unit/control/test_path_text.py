"""Paths as text and from files."""

import math

import pytest

from noslip import SimulationError
from noslip.control.curves import path_from_csv
from noslip.control.member_texts import parse_path
from noslip.control.path_geometry import length
from noslip.paths import (
    Arc,
    Circle,
    Clothoid,
    Ellipse,
    FigureEight,
    Graph,
    Line,
    Nurbs,
    Parametric,
    Polyline,
    Sine,
    Spline,
)

FORMS = {
    "circle:radius=2": Circle(radius=2.0),
    "circle:2": Circle(radius=2.0),
    " circle : radius = 2 ; clockwise = true ; center = 1, -2": Circle(
        radius=2.0, clockwise=True, center=(1.0, -2.0)
    ),
    "circle:radius=1e-1;start_angle=pi/2;turns=3": Circle(
        radius=0.1, start_angle=math.pi / 2, turns=3.0
    ),
    "line:start=0,0;end=5,1": Line((0.0, 0.0), (5.0, 1.0)),
    "arc:center=0,0;radius=1;start_angle=0;angle=-pi": Arc(
        center=(0.0, 0.0), radius=1.0, start_angle=0.0, angle=-math.pi
    ),
    "ellipse:half_width=2;half_height=1": Ellipse(half_width=2.0, half_height=1.0),
    "figure-eight:half_width=2;half_height=1": FigureEight(half_width=2.0, half_height=1.0),
    "sine:amplitude=-1;wave_number=1;extent=2*pi": Sine(
        amplitude=-1.0, wave_number=1.0, extent=2 * math.pi
    ),
    "clothoid:start_curvature=0;end_curvature=1;length=2": Clothoid(
        start_curvature=0.0, end_curvature=1.0, length=2.0
    ),
    "polyline:points=0,0,2,0,2,2;radius=0.5;blend=clothoid": Polyline(
        points=((0.0, 0.0), (2.0, 0.0), (2.0, 2.0)), radius=0.5, blend="clothoid"
    ),
    "spline:0,0,1,1,2,0": Spline(points=((0.0, 0.0), (1.0, 1.0), (2.0, 0.0))),
    "nurbs:points=0,0,1,1,2,0;degree=2;weights=1,2,1": Nurbs(
        points=((0.0, 0.0), (1.0, 1.0), (2.0, 0.0)), degree=2, weights=(1.0, 2.0, 1.0)
    ),
    "graph:y=0.5*atan2(x,2);start=0;end=6": Graph(y="0.5*atan2(x,2)", start=0.0, end=6.0),
    "parametric:x=cos(p);y=sin(2*p);start=0;end=6": Parametric(
        x="cos(p)", y="sin(2*p)", start=0.0, end=6.0
    ),
}


@pytest.mark.parametrize("text", FORMS)
def test_text_forms(text):
    assert parse_path(text) == FORMS[text]


REFUSED = {
    "cirle:radius=2": ("there is no path 'cirle'", "did you mean 'circle'?"),
    "": ("there is no path ''", "'line'"),
    "circle:radios=2": ("path 'circle' has no 'radios'", "did you mean 'radius'?"),
    "circle": ("path 'circle' needs radius", "write circle:radius=…"),
    "line:start=0,0": ("path 'line' needs end", "end=…"),
    "circle:radius=2;1,0": ("'1,0' has no key", "keys: radius, center"),
    "circle:radius=2;radius=3": ("'radius' is given twice", "remove one 'radius=…'"),
    "circle:radius=two": ("radius is 'two', which is not a number", "write radius=1.5"),
    "circle:radius=1/0": ("radius is '1/0', which is not a number", "write radius=1.5"),
    "circle:radius=1;center=1": ("center has 1 number, expected x and y", "write center=0,1"),
    "circle:radius=1;clockwise=yes": ("clockwise is 'yes', expected true or false", "=true"),
    "spline:points=0,0,1": ("points has 3 numbers", "write points=0,0,1,0,1,1"),
    "nurbs:points=0,0,1,1,2,0;degree=1.5": ("degree is '1.5', which is not a whole", "degree=3"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_cannot_be_read(text, refuses):
    what, fix = REFUSED[text]
    with refuses(SimulationError, what, f"path '{text}'", fix):
        parse_path(text)


def test_what_the_path_itself_refuses(refuses):
    with refuses(SimulationError, "radius is -1, expected more than 0", "Circle", "positive"):
        parse_path("circle:radius=-1")


# files


@pytest.fixture
def file(tmp_path):
    return tmp_path / "way.csv"


@pytest.mark.parametrize(
    "text", ["x,y\n0,0\n1,2\n3,2\n", "\ufeff x , y\r\n0,0\r\n1.0,2e0\r\n\r\n3, 2"]
)
def test_way_points(file, text):
    file.write_bytes(text.encode())
    assert path_from_csv(file) == Spline(points=((0.0, 0.0), (1.0, 2.0), (3.0, 2.0)))
    assert parse_path(f"csv:{file}") == path_from_csv(str(file))


def test_two_way_points_are_a_line(file):
    file.write_text("x,y\n0,0\n3,4\n")
    assert length(path_from_csv(file)) == pytest.approx(5.0, rel=1e-15)


FILES = {
    "": ("the header is '', expected 'x,y'", ", line 1"),
    "a,b\n1,2\n": ("the header is 'a,b', expected 'x,y'", ", line 1"),
    "x,y\n0,0\n1,2,3\n": ("the line has 3 values, expected 2", ", line 3"),
    "x,y\n0,0\n\n1\n": ("the line has 1 values, expected 2", ", line 4"),
    "x,y\n0,0\n1,two\n": ("y is 'two', which is not a finite number", ", line 3"),
    "x,y\n0,0\nnan,1\n": ("x is 'nan', which is not a finite number", ", line 3"),
    "x,y\n0,0\n1,1\n1.0,1.0\n": ("the way-point (1, 1) m is the same as the one", ", line 4"),
    "x,y\n0,0\n": ("the file has 1 way-points, at least 2 are needed", "way.csv"),
}


@pytest.mark.parametrize("text", FILES)
def test_files_that_cannot_be_read(file, text, refuses):
    what, where = FILES[text]
    file.write_text(text)
    fix = "remove the line" if "same" in what else "write the header x,y"
    with refuses(SimulationError, what, f"way.csv{where}".replace("way.csvway", "way"), fix):
        path_from_csv(file)


def test_a_file_that_is_not_there(file, refuses):
    with refuses(SimulationError, "there is no file", "way.csv", "check the name"):
        path_from_csv(file)


def test_a_file_that_is_not_text(file, refuses):
    file.write_bytes(b"x,y\n\xff\xfe\n")
    with refuses(SimulationError, "byte 0xff is not UTF-8", "way.csv", "UTF-8"):
        path_from_csv(file)
