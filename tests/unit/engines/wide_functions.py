"""One function of wide code, and its values."""

import casadi as ca
import numpy as np

from noslip.engines import compile_wide, trace_program
from noslip.engines.native import WideFunction

EMPTY = ca.SX(0, 1)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 2.0, 1e-310, 1e300, 800.0]
)


def function_of(kind: str, lanes: int = 8) -> WideFunction:
    x = ca.SX.sym("x")
    program = trace_program(kind, [EMPTY, x, EMPTY, EMPTY], getattr(ca, kind)(x))
    return compile_wide([program], lanes)[kind]


def values(function: WideFunction, columns: np.ndarray) -> np.ndarray:
    rows = columns.reshape(len(columns), -1)
    return function.map(np.zeros(len(rows)), rows, np.empty((len(rows), 0)), [])[:, 0]
