"""Functions for the native loop to integrate, and a run of it without a model."""

import ctypes
import dataclasses
import math

import casadi as ca
import numpy as np
from native_lanes import compare_in_lanes

from noslip.engines import compile_native, trace_program
from noslip.simulation.native_run import NativeLoop

#: Entries of vectors that a function below may read.
MOST = 8
#: Traced functions by the address of their scalar code.
PROGRAMS = {}


class native:
    """A Python function of (t, x, u, p, out) as a native one, at `address`.

    It is traced and compiled where it is plain arithmetic, else called back.
    """

    def __init__(self, function):
        try:
            program = self._traced(function)
            self.kept = compile_native([program])["f"]
            self.address = self.kept.address
            PROGRAMS[self.address] = program
        except (TypeError, RuntimeError, NotImplementedError):
            pointers = [ctypes.POINTER(ctypes.c_double)] * 5
            self.kept = ctypes.CFUNCTYPE(None, *pointers)(function)
            self.address = ctypes.cast(self.kept, ctypes.c_void_p).value

    @staticmethod
    def _traced(function):
        given = [ca.SX.sym(name, size) for name, size in zip("txup", (1, *[MOST] * 3), strict=True)]
        out = {}
        function(*given, out)
        entries = [ca.SX(out[k]) for k in range(len(out))]
        if "nan" in str(entries):  # what the math module makes of a symbol
            raise TypeError("not plain arithmetic")
        return trace_program("f", given, ca.vertcat(*entries))


# Errors of a few hundred roundings of numbers near 1.
ROUNDING = 1e-13


#: Fields of a loop; others differ from run to run.
SHARED = {field.name for field in dataclasses.fields(NativeLoop) if field.init}


def planned(rates, state, end_time, **fields):
    """A loop, and what a run of it begins with: at time 0 unless the fields say otherwise."""
    fields = {
        "parameters": np.zeros(1),
        "start_time": 0.0,
        "start_state": state,
        "absolute_tolerance": np.full(len(state), fields.get("relative_tolerance", 1e-8)),
        "projection_tolerance": 1e-12,
    } | fields
    for name, value in fields.items():
        if isinstance(value, list) or (isinstance(value, tuple) and name != "tables"):
            fields[name] = np.array(value, dtype=float)
    loop = NativeLoop(rates=rates, **{name: x for name, x in fields.items() if name in SHARED})
    fields["start_state"] = np.array(state, dtype=float)
    values = {name: x for name, x in fields.items() if name not in SHARED}
    return loop, values | {"end_time": end_time}


def run(rates, state, end_time, **fields):
    """What the loop leaves."""
    loop, values = planned(rates, state, end_time, **fields)
    result = loop.begin(**values).go()
    compare_in_lanes(loop, values, result, PROGRAMS)
    return result


@native
def kepler(t, x, u, p, out):
    cubed = (x[0] ** 2 + x[1] ** 2) ** 1.5
    out[0] = x[2]
    out[1] = x[3]
    out[2] = -x[0] / cubed
    out[3] = -x[1] / cubed


@native
def van_der_pol(t, x, u, p, out):
    out[0] = x[1]
    out[1] = p[0] * (1.0 - x[0] ** 2) * x[1] - x[0]


@native
def growing(t, x, u, p, out):
    out[0] = x[0] * math.cos(t[0])


@native
def double_integrator(t, x, u, p, out):
    out[0] = x[1]
    out[1] = u[0]


@native
def falling(t, x, u, p, out):
    out[0] = x[1]
    out[1] = -1.0


@native
def first_state(t, x, u, p, out):
    out[0] = x[0]


KEPLER_START = [0.5, 0.0, 0.0, math.sqrt(3.0)]  # eccentricity 1/2, period 2π


def python_rates(rates, n, parameters=(0.0,)):
    """The same rates as a function of (t, y), for SciPy."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(rates.address)
    p, u = np.array(parameters), np.zeros(1)

    def f(t, y):
        time, x, out = np.array([t]), np.ascontiguousarray(y), np.zeros(n)
        call(*(a.ctypes.data for a in (time, x, u, p, out)))
        return out

    return f


@native
def pendulum(t, x, u, p, out):
    # A point on the unit circle under gravity, in Cartesian coordinates.
    pull = x[2] ** 2 + x[3] ** 2 - x[1]
    out[0] = x[2]
    out[1] = x[3]
    out[2] = -pull * x[0]
    out[3] = -pull * x[1] - 1.0


@native
def onto_circle(t, x, u, p, out):
    length = math.sqrt(x[0] ** 2 + x[1] ** 2)
    along = x[0] * x[2] + x[1] * x[3]
    for i in range(2):
        out[i] = x[i] * (1.5 - 0.5 * length**2)
        out[2 + i] = x[2 + i] - along * x[i] / length**2
    out[4] = max(abs(length - 1.0), abs(along))
