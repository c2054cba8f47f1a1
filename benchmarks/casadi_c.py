"""CasADi's own C code of a traced function, with a loop over rows, built by gcc.

The loop has the signature of the loop beside every native function, so that both are called the
same way on the same memory:

    void rows(int64 n, const double* t, ..., const double* p, int64 p_stride, double* out)

It stands in the same file as the function, which gcc may therefore take into the loop.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import casadi as ca

OPTIMIZED = ("-O3", "-march=native")
# gcc may then regroup and fuse, as native code does; also nan and ∞ may be lost, which it keeps
FAST_MATH = (*OPTIMIZED, "-ffast-math")

LOOP = """
#include <stdint.h>
void rows(int64_t n, const double* t, const double* x, const double* u, const double* p,
          int64_t p_stride, double* out) {{
  const double* arg[{sz_arg}];
  double* res[{sz_res}];
  casadi_int iw[{sz_iw}];
  double w[{sz_w}];
  for (int64_t k = 0; k < n; ++k) {{
    arg[0] = t + k * {nt};
    arg[1] = x + k * {nx};
    arg[2] = u + k * {nu};
    arg[3] = p + k * p_stride;
    res[0] = out + k * {nout};
    {name}(arg, res, iw, w, 0);
  }}
}}
"""

ROWS = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_void_p
)


def c_text(function: ca.Function) -> str:
    """C code of a function of t, x, u, p with one output, and the loop over rows."""
    generator = ca.CodeGenerator(function.name())
    generator.add(function)
    sizes = {f"sz_{k}": getattr(function, f"sz_{k}")() + 1 for k in ("arg", "res", "iw", "w")}
    sizes |= {f"n{letter}": function.numel_in(k) for k, letter in enumerate("txu")}
    loop = LOOP.format(name=function.name(), nout=function.numel_out(0), **sizes)
    return generator.dump() + loop


def build(text: str, folder: Path, flags: Sequence[str]) -> Path:
    """The library that gcc makes of C code with these flags.

    Raises
    ------
    RuntimeError : if there is no gcc, or it refuses.
    """
    if not shutil.which("gcc"):
        raise RuntimeError("there is no gcc on the path")
    source = folder / "rows.c"
    library = folder / f"rows{'_'.join(flags).replace('=', '_')}.so"
    source.write_text(text)
    command = ["gcc", *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"gcc {' '.join(flags)} failed: {done.stderr.strip()[-400:]}")
    return library


def load_rows(library: Path) -> Callable[..., None]:
    """The loop over rows of a library."""
    return ROWS(ctypes.cast(ctypes.CDLL(str(library)).rows, ctypes.c_void_p).value)
