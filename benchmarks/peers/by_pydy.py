"""PyDy: the right-hand side of SymPy's equations as C code through Cython, and SciPy on it."""

from __future__ import annotations

from functools import cache

import numpy as np
from pydy.codegen.ode_function_generators import generate_ode_function

import by_sympy
import kane_bicycle
from worker import Job, serve

CALLS = 1000


@cache
def _bicycle_rates(solver: str) -> by_sympy.Rates:
    """Compiled right-hand side; ``sympy`` has the linear solve in the C code, ``numpy`` outside."""
    bicycle = kane_bicycle.derive_bicycle()
    function = generate_ode_function(
        bicycle.forcing,
        list(bicycle.q),
        list(bicycle.u),
        list(bicycle.parameters),
        mass_matrix=bicycle.mass,
        generator="cython",
        linear_sys_solver=solver,
        constants_arg_type="array",
    )
    values = bicycle.values
    return lambda state: function(state, 0.0, values)


def bicycle_rhs(solver: str) -> Job:
    """One evaluation, from Python: PyDy's function has no other caller."""
    rates, state = _bicycle_rates(solver), kane_bicycle.published_state()

    def call() -> None:
        for _ in range(CALLS):
            rates(state)

    answer = kane_bicycle.accelerations(np.asarray(rates(state)))
    return Job(call=call, pieces=CALLS, answer=answer)


def bicycle_path(tolerance: float, samples: int, method: str) -> Job:
    """Ten seconds with SciPy on the compiled right-hand side; its solve in C is nan upright."""
    return by_sympy.bicycle_path(tolerance, samples, method, _bicycle_rates("numpy"))


if __name__ == "__main__":
    works = {work.__name__: work for work in (bicycle_rhs, bicycle_path)}
    serve(works, ("pydy", "sympy", "cython", "scipy", "numpy"))
