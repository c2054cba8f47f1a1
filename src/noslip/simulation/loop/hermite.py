"""Hermite interpolation of degree 15, through values and slopes at eight nodes.

With ℓ_j the polynomial of degree 7 that is 1 at node x_j and 0 at the others (Lagrange's),

    (1)  p(x) = Σ_j a_j(x) y_j + b_j(x) y'_j
    (2)  a_j = (1 − 2 (x − x_j) ℓ_j'(x_j)) ℓ_j²,   b_j = (x − x_j) ℓ_j²
    (3)  ℓ_j(x) = c_j Π_i (x − x_i),   c_j = Π_i 1/(x_j − x_i),   ℓ_j'(x_j) = Σ_i 1/(x_j − x_i)

where i goes over the other nodes. For a smooth function y its error is

    (4)  y(x) − p(x) = C(x) w(x),   w(x) = Π_j (x − x_j)²,   C = y⁽¹⁶⁾/16! at some point between

and C changes little within an interval. So the slope's error at one point where w' is large gives
an estimate of the error in the whole interval, and a correction:

    (5)  C ≈ (y' − p')/w'

Weights depend on the nodes alone, and are the same for all functions. Numbers may be floats, or
values of a function that is being written.
"""

from __future__ import annotations

NUM_NODES = 8
# Fractions of an interval at which w and w' are evaluated to find the largest, approximately.
CHECK_POINTS = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)


def node_constants(x):
    """(3): c_j and ℓ_j'(x_j) of the nodes x."""
    c, d = [1.0] * NUM_NODES, [0.0] * NUM_NODES
    for j in range(NUM_NODES):
        for i in range(j):
            inverse = 1.0 / (x[j] - x[i])
            c[j], d[j] = inverse * c[j], inverse + d[j]
            c[i], d[i] = -inverse * c[i], d[i] - inverse
    return c, d


def value_weights(x, c, d, at):
    """(2): weights of values and slopes at the nodes, which give the value at a point."""
    # products over all nodes before a node, then over those after it
    a, b = [0.0] * NUM_NODES, [0.0] * NUM_NODES
    product = 1.0
    for j in range(NUM_NODES):
        a[j] = c[j] * product
        product = (at - x[j]) * product
    product = 1.0
    for j in range(NUM_NODES - 1, -1, -1):
        basis, off = a[j] * product, at - x[j]
        square = basis * basis
        a[j], b[j] = (1.0 - 2.0 * off * d[j]) * square, off * square
        product = off * product
    return a, b


def slope_weights(x, c, d, at):
    """Derivatives of the weights, which give the slope at a point that is no node."""
    inverses = [1.0 / (at - x[j]) for j in range(NUM_NODES)]
    product, total = at - x[0], inverses[0]
    for j in range(1, NUM_NODES):
        product, total = product * (at - x[j]), total + inverses[j]
    a, b = [], []
    for j in range(NUM_NODES):
        # ℓ_j and its slope there, from the product and the sum over the other nodes
        basis, rate, off = c[j] * product * inverses[j], total - inverses[j], at - x[j]
        square = basis * basis
        twice = 2.0 * square * rate
        a.append((1.0 - 2.0 * off * d[j]) * twice - 2.0 * d[j] * square)
        b.append(square + off * twice)
    return a, b


def node_product(x, at):
    """w and w' of (4) at a point."""
    product, slope = at - x[0], 1.0
    for i in range(1, NUM_NODES):
        slope = slope * (at - x[i]) + product
        product = product * (at - x[i])
    return product * product, 2.0 * product * slope


def check_point(x, where):
    """The point between 0 and 1 that suits (5) best, w' there, and the largest w.

    w rises there. Where it falls, motions that decay as fast as w does hide the error.

    Parameters
    ----------
    where : from a condition and two numbers to one of them.
    """
    best, steepest, largest = 0.5, 0.0, 0.0
    for at in CHECK_POINTS:
        value, slope = node_product(x, at)
        largest = where(value > largest, value, largest)
        best = where(slope > steepest, at, best)
        steepest = where(slope > steepest, slope, steepest)
    return best, steepest, largest
