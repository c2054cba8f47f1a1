"""Nonlinear programs made of blocks: one native function each, at many places at once.

    least Σ c_b(z, d)      g_b(z, d) + A w within bounds      z the entries of w at a place

A block is a function of few variables z and numbers d that is repeated over the places of a
program: the dynamics at every collocation point, a pair of a body and an obstacle at every node.
Its values, Jacobian and Hessian are compiled once, and evaluated in vector lanes over all places.
IPOPT is given all of them; CasADi evaluates nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import compile_wide, native_lanes, trace_program
from noslip.simulation import run_workers

Indices = NDArray[np.int64]

#: Bounds beyond this are infinite, for IPOPT too.
FAR = 1e19
#: What rows of an iterate may miss that counts as the best so far.
NEARLY = 1e-4


class BlockCode:
    """Values, Jacobian and Hessian of g and c in z, as native functions.

    `z`, `data`: (nz,) variables and (nd,) numbers that differ between places; `rows`: (m,) g in
    these symbols; `cost`: c, one number.
    """

    def __init__(self, name: str, z: ca.SX, data: ca.SX, rows: ca.SX, cost: ca.SX) -> None:
        self.name, self.num_variables, self.num_rows = name, z.shape[0], rows.shape[0]
        factor, multipliers = ca.SX.sym("factor"), ca.SX.sym("multiplier", rows.shape[0])
        both = ca.densify(ca.vertcat(rows, cost))
        jacobian = ca.jacobian(both, z)
        hessian = ca.tril(ca.hessian(factor * cost + ca.dot(multipliers, rows), z)[0])
        self.row_of, self.column_of = (_indices(e) for e in jacobian.sparsity().get_triplet())
        self.first_of, self.second_of = (_indices(e) for e in hessian.sparsity().get_triplet())
        inputs = [factor, z, multipliers, data]
        parts = {"values": both, "jacobian": _entries(jacobian), "hessian": _entries(hessian)}
        programs = [trace_program(f"{name}_{part}", inputs, e) for part, e in parts.items()]
        self._code = compile_wide(programs, native_lanes())

    def _map(self, part: str, z: Array, data: Array, factor: float, multipliers: Array) -> Array:
        function = self._code[f"{self.name}_{part}"]
        return function.map(np.full(len(z), factor), z, multipliers, data)

    def values(self, z: Array, data: Array) -> Array:
        """(n, m + 1): g, then c."""
        return self._map("values", z, data, 0.0, np.zeros((len(z), self.num_rows)))

    def jacobian(self, z: Array, data: Array) -> Array:
        """(n, entries) of the Jacobian of [g; c]."""
        return self._map("jacobian", z, data, 0.0, np.zeros((len(z), self.num_rows)))

    def hessian(self, z: Array, data: Array, factor: float, multipliers: Array) -> Array:
        """(n, entries) of the lower half of the Hessian of factor c + multipliers · g."""
        return self._map("hessian", z, data, factor, multipliers)


def _indices(entries: Any) -> Indices:
    return np.array(entries, dtype=np.int64)


def _entries(matrix: ca.SX) -> ca.SX:
    """Nonzero entries of a matrix as a column, in CasADi's order."""
    entries: Any = matrix.nonzeros()
    return ca.vertcat(*entries) if entries else ca.SX(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class BlockPlaces:
    """A block at its places in a program."""

    code: BlockCode  #: code of the block
    variables: Indices  #: (n, nz) places of its z in w
    rows: Indices  #: (n, m) places of its g among the rows
    data: Array  #: (n, nd) its numbers


class _Scatter:
    """Sums of entries of many blocks in one sparse matrix, by columns, as CasADi stores it."""

    def __init__(self, shape: tuple[int, int], rows: Indices, columns: Indices) -> None:
        key = columns * shape[0] + rows
        found, self.place = np.unique(key, return_inverse=True)
        self.rows, self.columns = found % shape[0], found // shape[0]
        starts = np.searchsorted(self.columns, np.arange(shape[1] + 1))
        self.sparsity = ca.Sparsity(*shape, starts.tolist(), self.rows.tolist())

    def sums(self, values: Array) -> Array:
        """Entries of the matrix."""
        found = np.bincount(self.place, weights=values, minlength=len(self.rows))
        return found.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where the solver ended."""

    w: Array  #: the variables
    rows: Array  #: values of the rows there
    #: multipliers, bound_multipliers: multipliers of rows and of bounds of variables
    multipliers: Array
    bound_multipliers: Array
    objective: float
    is_solved: bool  #: whether the conditions of an optimum hold to the tolerance
    #: whether all rows hold nearly; of what was interrupted, the best of these iterates
    is_kept: bool
    status: str  #: the solver's own word
    iterations: int
    seconds: float


@dataclass(eq=False)
class NonlinearProgram:
    """A nonlinear program of blocks, ready to be solved with any numbers."""

    #: num_variables, num_rows: sizes
    num_variables: int
    num_rows: int
    places: list[BlockPlaces]  #: blocks of the variables
    linear: tuple[Indices, Indices, Array]  #: (rows, columns, values) of A
    #: scale, row_scale: size of each variable and of each row
    scale: Array
    row_scale: Array
    _solvers: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _alive: list[Any] = field(default_factory=list)
    _watch: _Watch = field(default_factory=lambda: _Watch())

    def __post_init__(self) -> None:
        shape = self.num_rows, self.num_variables
        rows, columns = [self.linear[0]], [self.linear[1]]
        first, second = [], []
        self._is_row = []
        for p in self.places:
            is_row = p.code.row_of < p.code.num_rows
            self._is_row.append(is_row)
            rows.append(p.rows[:, p.code.row_of[is_row]].ravel())
            columns.append(p.variables[:, p.code.column_of[is_row]].ravel())
            one = p.variables[:, p.code.first_of].ravel()
            two = p.variables[:, p.code.second_of].ravel()
            first.append(np.maximum(one, two))
            second.append(np.minimum(one, two))
        self._jacobian = _Scatter(shape, np.concatenate(rows), np.concatenate(columns))
        # CasADi wants the upper half
        n = self.num_variables
        self._hessian = _Scatter((n, n), np.concatenate(second), np.concatenate(first))
        self._jacobian_scale = (
            self.row_scale[self._jacobian.rows] * self.scale[self._jacobian.columns]
        )
        self._hessian_scale = self.scale[self._hessian.rows] * self.scale[self._hessian.columns]
        self._last: tuple[bytes, float, Array] | None = None

    def values(self, w: Array) -> tuple[float, Array]:
        """Cost and rows at w, not scaled."""
        key = w.tobytes()
        if self._last is not None and self._last[0] == key:
            return self._last[1:]
        rows = np.zeros(self.num_rows)
        np.add.at(rows, self.linear[0], self.linear[2] * w[self.linear[1]])
        cost = 0.0
        for p in self.places:
            found = p.code.values(w[p.variables], p.data)
            cost += float(np.sum(found[:, -1]))
            rows[p.rows.ravel()] += found[:, :-1].ravel()
        self._last = key, cost, rows
        return cost, rows

    def jacobian(self, w: Array) -> Array:
        """Entries of the Jacobian of the rows."""
        parts = [self.linear[2]]
        for p, is_row in zip(self.places, self._is_row, strict=True):
            parts.append(p.code.jacobian(w[p.variables], p.data)[:, is_row].ravel())
        return self._jacobian.sums(np.concatenate(parts))

    def gradient(self, w: Array) -> Array:
        """Gradient of the cost."""
        found = np.zeros(self.num_variables)
        for p, is_row in zip(self.places, self._is_row, strict=True):
            if np.all(is_row):
                continue
            entries = p.code.jacobian(w[p.variables], p.data)[:, ~is_row]
            at = p.variables[:, p.code.column_of[~is_row]]
            found += np.bincount(at.ravel(), weights=entries.ravel(), minlength=self.num_variables)
        return found

    def hessian(self, w: Array, factor: float, multipliers: Array) -> Array:
        """Entries of the upper half of the Hessian of factor · cost + multipliers · rows."""
        parts = [
            p.code.hessian(w[p.variables], p.data, factor, multipliers[p.rows]).ravel()
            for p in self.places
        ]
        return self._hessian.sums(np.concatenate(parts))

    def solve(
        self,
        start: Array,
        bounds: tuple[Array, Array],
        row_bounds: tuple[Array, Array],
        *,
        options: dict[str, Any],
        warm: Solution | None = None,
        watch: Callable[[], bool] | None = None,
    ) -> Solution:
        """Solve by IPOPT, on a thread: what a signal raises would be lost in CasADi's callbacks.

        `watch` says there, after each iteration, whether to stop.
        """
        began = time.perf_counter()
        key = tuple(sorted(options.items()))
        if key not in self._solvers:
            self._solvers[key] = self._solver(options)
        self._watch.asked, self._watch.best, self._watch.is_over = watch, None, False
        self._watch.failure = None
        self._last = None
        given: dict[str, Any] = {
            "x0": np.clip(start, *bounds) / self.scale,
            "lbx": np.maximum(bounds[0] / self.scale, -FAR),
            "ubx": np.minimum(bounds[1] / self.scale, FAR),
            "lbg": np.maximum(row_bounds[0] * self.row_scale, -FAR),
            "ubg": np.minimum(row_bounds[1] * self.row_scale, FAR),
        }
        if warm is not None:
            given["lam_g0"] = warm.multipliers
            given["lam_x0"] = warm.bound_multipliers
        solver = self._solvers[key]
        self._watch.bounds = tuple(given[k] for k in ("lbx", "ubx", "lbg", "ubg"))
        ended: list[dict[str, Any]] = []
        run_workers(lambda _: ended.append(solver(**given)), 1, stop=self._watch.end)
        if self._watch.failure is not None:
            raise self._watch.failure
        found, stats = ended[0], solver.stats()
        w = np.array(found["x"]).ravel() * self.scale
        if not stats["success"] and self._watch.best is not None:
            w = self._watch.best[1] * self.scale
        objective, rows = self.values(w)
        return Solution(
            w=w,
            rows=rows,
            multipliers=np.array(found["lam_g"]).ravel(),
            bound_multipliers=np.array(found["lam_x"]).ravel(),
            objective=objective,
            is_solved=bool(stats["success"]),
            is_kept=bool(stats["success"]) or self._watch.best is not None,
            status=str(stats["return_status"]),
            iterations=int(stats.get("iter_count", 0)),
            seconds=time.perf_counter() - began,
        )

    def _solver(self, options: dict[str, Any]) -> Any:
        """IPOPT with callbacks into the native code."""
        n, m = self.num_variables, self.num_rows
        column, rows = ca.Sparsity.dense(n), ca.Sparsity.dense(m)
        nothing, one = ca.Sparsity(0, 0), ca.Sparsity.dense(1)

        def at(x: Any) -> Array:
            return np.array(x).ravel() * self.scale

        def values(x: Any, _: Any) -> list[Any]:
            cost, found = self.values(at(x))
            return [cost, found * self.row_scale]

        def gradient(x: Any, _: Any) -> list[Any]:
            w = at(x)
            return [self.values(w)[0], self.gradient(w) * self.scale]

        def jacobian(x: Any, _: Any) -> list[Any]:
            w = at(x)
            entries = self.jacobian(w) * self._jacobian_scale
            found = ca.DM(self._jacobian.sparsity, entries)
            return [self.values(w)[1] * self.row_scale, found]

        def hessian(x: Any, _: Any, factor: Any, multipliers: Any) -> list[Any]:
            found = self.hessian(
                at(x), float(factor), np.array(multipliers).ravel() * self.row_scale
            )
            return [ca.DM(self._hessian.sparsity, found * self._hessian_scale)]

        given = [column, nothing]
        oracle = _Called("nlp", values, given, [one, rows], ("x", "p"), ("f", "g"))
        parts = {
            "grad_f": _Called("grad_f", gradient, given, [one, column]),
            "jac_g": _Called("jac_g", jacobian, given, [rows, self._jacobian.sparsity]),
            "hess_lag": _Called("hess_lag", hessian, [*given, one, rows], [self._hessian.sparsity]),
        }
        watcher = _Watcher(n, m, self._watch)
        self._alive += [oracle, *parts.values(), watcher]
        settings = {"print_time": False, "error_on_fail": False, "iteration_callback": watcher}
        settings["no_nlp_grad"] = True
        quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes"}
        given_options: Any = settings | parts | quiet | options
        return ca.nlpsol("plan", "ipopt", oracle, given_options)


class _Called(ca.Callback):
    """A function of Python's under the sparsities that CasADi asks for."""

    def __init__(
        self,
        name: str,
        function: Callable[..., list[Any]],
        given: list[ca.Sparsity],
        found: list[ca.Sparsity],
        names: tuple[str, ...] = (),
        results: tuple[str, ...] = (),
    ) -> None:
        ca.Callback.__init__(self)
        self._function, self._given, self._found = function, given, found
        self._names, self._results = names, results
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._given)

    def get_n_out(self) -> int:
        return len(self._found)

    def get_sparsity_in(self, k: int) -> ca.Sparsity:
        return self._given[k]

    def get_sparsity_out(self, k: int) -> ca.Sparsity:
        return self._found[k]

    def get_name_in(self, k: int) -> str:
        return self._names[k] if self._names else f"i{k}"

    def get_name_out(self, k: int) -> str:
        return self._results[k] if self._results else f"o{k}"

    def eval(self, given: Any) -> list[Any]:
        return self._function(*given)


@dataclass(slots=True, eq=False)
class _Watch:
    """What is asked after each iteration, and the best iterate that nearly keeps all bounds."""

    asked: Callable[[], bool] | None = None  #: whether to stop
    bounds: tuple[Array, ...] = ()  #: low and high of x and of rows, scaled
    best: tuple[float, Array] | None = None  #: cost and x
    is_over: bool = False  #: whether the result is not wanted any more
    failure: BaseException | None = None  #: exception of `asked`, which CasADi would lose

    def end(self) -> None:
        """Stop after this iteration."""
        self.is_over = True

    def shall_end(self) -> bool:
        """Whether to stop."""
        try:
            return self.is_over or (self.asked is not None and self.asked())
        except BaseException as error:
            self.failure = error
            return True

    def see(self, x: Array, cost: float, rows: Array) -> None:
        """Keep an iterate if it is the best so far."""
        low, high, row_low, row_high = self.bounds
        missed = max(
            float(np.max(np.maximum(a - v, v - b), initial=0.0))
            for v, a, b in ((x, low, high), (rows, row_low, row_high))
        )
        if missed <= NEARLY and (self.best is None or cost < self.best[0]):
            self.best = cost, x.copy()


class _Watcher(ca.Callback):
    """Asks after each iteration whether to stop."""

    def __init__(self, n: int, m: int, watch: _Watch) -> None:
        ca.Callback.__init__(self)
        self._sizes = {"f": 1, "x": n, "g": m, "lam_x": n, "lam_g": m, "lam_p": 0}
        self._watch = watch
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, k: int) -> str:
        return ca.nlpsol_out(k)

    def get_sparsity_in(self, k: int) -> ca.Sparsity:
        size = self._sizes[ca.nlpsol_out(k)]
        return ca.Sparsity.dense(size) if size else ca.Sparsity(0, 0)

    def eval(self, given: Any) -> list[Any]:
        parts = {ca.nlpsol_out(k): value for k, value in enumerate(given)}
        x, rows = (np.array(parts[k]).ravel() for k in ("x", "g"))
        self._watch.see(x, float(parts["f"]), rows)
        return [float(self._watch.shall_end())]
