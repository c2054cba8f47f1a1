"""C code of programs, compiled and compared with what the interpreter says an operation means."""

import ctypes
import math
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest

from noslip.algebra import grid_spline
from noslip.engines import CWriter, Operation, Program, trace_program
from noslip.engines.c_code import c_number
from noslip.engines.optimization import optimize
from noslip.engines.program import LOOKUPS, MEANINGS, interpret

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc on the path")

#: Numbers at which an operation may have a branch or an edge.
EDGES = (0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.5, -3.5, 1e-300, 1e300, math.inf, -math.inf, math.nan)


def operands_of(kind):
    return next(n for n in (1, 2, 3) if _takes(kind, n))


def _takes(kind, count):
    try:
        with np.errstate(all="ignore"):
            MEANINGS[kind][1](*[np.array([0.5])] * count)
    except (TypeError, ValueError):
        return False
    return True


def compiled(program, folder, single=False):
    real = "float" if single else "double"
    names = [f"in[{k}]" for k in range(sum(program.input_sizes))]
    writer = CWriter(real, single)
    body = writer.statements(program, names, lambda k: f"out[{k}]")
    tables = "\n".join(writer.tables(program.tables))
    text = f"#include <math.h>\n{tables}\nvoid f(const {real} *in, {real} *out)\n{{\n"
    source = folder / "f.c"
    source.write_text(text + "\n".join(body) + "\n}\n")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, source, "-o", folder / "f.so", "-lm"], check=True)
    function = ctypes.CDLL(str(folder / "f.so")).f
    dtype = np.float32 if single else np.float64

    def call(values):
        given, out = np.array(values, dtype=dtype), np.zeros(program.output_size, dtype=dtype)
        function(given.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        return out

    return call


@needs_gcc
def test_every_operation_means_in_c_what_it_means_to_the_interpreter(tmp_path, rng):
    kinds = [kind for kind in MEANINGS if kind not in LOOKUPS]
    operations = tuple(Operation(k, tuple(range(operands_of(k)))) for k in kinds)
    outputs = tuple(range(3, 3 + len(kinds)))
    program = Program("all", (0, 3, 0, 0), (), operations, outputs)
    function = compiled(program, tmp_path)
    rows = [rng.choice(EDGES, 3) for _ in range(300)] + [rng.normal(size=3) for _ in range(100)]
    for row in rows:
        expected, found = interpret(program, [], row, [], []), function(row)
        for kind, want, got in zip(kinds, expected, found, strict=True):
            # functions of the C library differ from those of Python's by two roundings at most
            same = want == got or (math.isnan(want) and math.isnan(got))
            assert same or math.isclose(want, got, rel_tol=5e-16), (kind, row, want, got)


@needs_gcc
def test_a_spline_over_a_grid_is_looked_up(tmp_path, rng):
    spline = grid_spline(rng.normal(size=(7, 9)), (-1.0, 2.0), 0.25)
    x = ca.SX.sym("x", 2)
    h = spline.traced(x[0], x[1])
    none = ca.SX(0, 1)
    traced = trace_program("f", (none, x, none, none), ca.vertcat(h, ca.gradient(h, x)))
    function = compiled(optimize(traced), tmp_path)
    for place in rng.uniform([-1.3, 1.7], [1.3, 3.8], (40, 2)):
        expected = interpret(traced, [], place, [], [])
        np.testing.assert_allclose(function(place), expected, rtol=1e-11, atol=1e-11)
    assert np.isnan(function([np.nan, 2.1])).any()  # and no other memory is read


@needs_gcc
def test_single_precision_is_that_of_floats(tmp_path, rng):
    x = ca.SX.sym("x", 3)
    y = ca.vertcat(ca.sin(x[0]) * 0.1 + x[1] / 3, ca.fmax(x[2], 1e-3), ca.sqrt(ca.fabs(x[0])))
    program = trace_program("f", (ca.SX(0, 1), x, ca.SX(0, 1), ca.SX(0, 1)), y)
    function, row = compiled(program, tmp_path, single=True), rng.normal(size=3)
    np.testing.assert_allclose(function(row), interpret(program, [], row, [], []), rtol=3e-7)


@pytest.mark.parametrize("value", [0.1, -2.0, 1e-310, 1.7976931348623157e308, 5.0, -0.0])
def test_numbers_are_read_back_exactly(value):
    text = c_number(value).strip("()")
    assert float(text) == value and math.copysign(1, float(text)) == math.copysign(1, value)
    assert "." in text or "e" in text


def test_numbers_that_are_no_numbers_have_names():
    assert [c_number(v) for v in (math.inf, -math.inf, math.nan)] == [
        "INFINITY", "(-INFINITY)", "NAN",
    ]  # fmt: skip
    assert c_number(1e300, single=True) == "INFINITY" and c_number(0.1, single=True) == "0.1f"


def test_inputs_that_are_read_are_known():
    x = ca.SX.sym("x", 3)
    program = trace_program("f", (ca.SX(0, 1), x, ca.SX(0, 1), ca.SX(0, 1)), ca.vertcat(x[0], x[2]))
    assert program.used_inputs == {0, 2}
