"""Outlines: the convex hull of points in a plane."""

from __future__ import annotations

import numpy as np

from noslip.base import Array


def hull(points: Array) -> Array:
    """Corners of the convex hull of points (n, 2), counterclockwise (the monotone chain)."""
    # meshes repeat corners, and rounding must not make them different
    scale = float(np.max(np.ptp(points, axis=0))) or 1.0
    ordered = np.unique(np.round(points / scale, 9), axis=0)
    if len(ordered) < 3:
        return ordered * scale

    def chain(sequence: list[list[float]]) -> list[list[float]]:
        kept: list[list[float]] = []
        for c in sequence:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], c) <= 1e-9:
                kept.pop()
            kept.append(c)
        return kept[:-1]

    corners = chain(ordered.tolist()) + chain(ordered[::-1].tolist())
    return np.array(corners) * scale


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Twice the area of a triangle; positive where it turns to the left."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
