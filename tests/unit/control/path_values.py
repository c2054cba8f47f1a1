"""A path at a parameter, in numbers."""

import casadi as ca
import numpy as np

from noslip.control.path_geometry import curvature


def values(path, p):
    """x, y and curvature at a parameter."""
    symbol = ca.SX.sym("p")
    rows = ca.vertcat(path.position(symbol), curvature(path, symbol))
    return np.array(ca.Function("f", [symbol], [rows])(p)).ravel()
