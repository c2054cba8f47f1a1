"""Import of matplotlib that an invalid ``MPLBACKEND`` does not keep from working.

Figures are drawn without a backend. matplotlib refuses to be imported where the variable names one
that it does not know, so it is imported without the variable, and the backend chosen after that.
"""

from __future__ import annotations

import contextlib
import os

_BACKEND = os.environ.pop("MPLBACKEND", None)
import matplotlib  # noqa: E402

if _BACKEND is not None:
    os.environ["MPLBACKEND"] = _BACKEND
    if _BACKEND:
        with contextlib.suppress(ValueError):
            matplotlib.rcParams["backend"] = _BACKEND
