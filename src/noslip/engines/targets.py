"""All targets there are: those of the package, and those that others have defined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noslip.base import is_installed, members_of
from noslip.engines.devices import ThreadTarget
from noslip.engines.native import Native, Wide
from noslip.engines.program import AbstractTarget, Interpreter, Program, input_tables
from noslip.engines.sympy_target import SympyTarget
from noslip.engines.web_assembly import WasmTarget

# imported so that they are known; the reference comes first
_ORDER: tuple[type[AbstractTarget], ...] = (
    *(Interpreter, Native, Wide, ThreadTarget, WasmTarget, SympyTarget),
)


def known_targets() -> dict[str, AbstractTarget]:
    """Word → target, those of the package first."""
    own = [cls for cls in _ORDER if cls is not WasmTarget or is_installed("wasmtime")]
    others = [cls for cls in members_of(AbstractTarget, installed=True) if cls not in _ORDER]
    return {cls.word: cls() for cls in (*own, *others)}


def compare_targets(
    program: Program, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike
) -> dict[str, float]:
    """Word → largest difference of a target from the interpreter, over the largest output of a row.

    Parameters
    ----------
    program : Program
        What every target computes.
    t, x, u, p : (n,), (n, nx), (n, nu), (n, np) arrays
        A row for each evaluation; p may also be (np,), the same for all rows.

    Returns
    -------
    dict : nan where one of the two is not finite and the other another number.
    """
    num_rows, tables = input_tables(program.name, program.input_sizes, t, x, u, p)
    rows = list(zip(*(np.broadcast_to(a, (num_rows, a.shape[-1])) for a in tables), strict=True))
    reference, *others = known_targets().values()
    expected = np.array([reference.compile(program)(*row) for row in rows])
    sizes = np.where(np.isfinite(expected), np.abs(expected), 0.0)
    scale = np.max(sizes, axis=1, keepdims=True, initial=np.finfo(float).tiny)
    differences = {}
    for target in others:
        function = target.compile(program)
        found = np.array([function(*row) for row in rows])
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        with np.errstate(invalid="ignore"):
            gaps = np.where(same, 0.0, np.abs(found - expected) / scale)
        differences[target.word] = float(np.max(gaps, initial=0.0))
    return differences
