"""Arrays of numbers, and what a number is: booleans are not numbers, and JSON has no NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers in double precision.
Array = NDArray[np.float64]


def is_truth(value: Any) -> bool:
    """Whether a value is True or False, also of NumPy, or an array or a list with one of them.

    Where a number is asked for, one of these is a slip: a flag under the wrong name, a comparison
    in place of what was compared.
    """
    if type(value) is float:
        return False
    if isinstance(value, list | tuple):
        return any(is_truth(entry) for entry in value)
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def finite_or_none(value: float) -> float | None:
    """The number, or None where JSON has none: NaN and the infinities."""
    return value if math.isfinite(value) else None
