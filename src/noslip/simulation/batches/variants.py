"""Variants of a mechanism: states, inputs and parameters of many, read once and done in blocks.

What `linearize_batch`, `evaluate_batch` and the other batches that integrate nothing share. As in
`simulate_batch` a number is shared by all variants or given for each of them, and is stored as an
array of one entry, or of as many as there are variants.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base import Array, SimulationError, nearest
from noslip.engines import (
    AbstractDevice,
    Program,
    RowFunction,
    System,
    compile_rows,
    require_system,
)
from noslip.simulation.batches.request import (
    num_cores,
    parameter_rows,
    read_count,
    read_device,
    read_numbers,
    varied_unit,
)
from noslip.simulation.starts.completion import SpeedInputs, Starts, complete_starts

if TYPE_CHECKING:
    import xarray

#: Variants that are done at a time, in lanes and on a device.
BLOCK, DEVICE_BLOCK = 4096, 2**16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variants:
    """States, inputs and parameters of many variants. Made by :func:`read_variants`.

    Parameters
    ----------
    system : with rows that are independent at these parameters.
    what : the work, for messages: ``linearizations``.
    count : variants.
    state : values by name, (1,) or (count,).
    inputs : [u; w; ẇ], (1, nu) or (count, nu).
    parameters : (1, np) or (count, np).
    others : further numbers that were read, by kind and name.
    varied : what differs, by kind and name, (count,); with its unit.
    device : that evaluates, if one does.
    """

    system: System
    what: str
    count: int
    state: dict[str, Array]
    inputs: Array
    parameters: Array
    others: dict[str, dict[str, Array]]
    varied: dict[str, tuple[Array, str]]
    device: AbstractDevice | None = None

    @property
    def where(self) -> str:
        """Location for error messages."""
        return f"{self.what} of model '{self.system.model.name}'"

    @property
    def block(self) -> int:
        """Variants that are done at a time."""
        return BLOCK if self.device is None else DEVICE_BLOCK

    def compile(self, key: Any, trace: Callable[[], Program]) -> RowFunction:
        """A traced function of rows, compiled once for the system and where it runs."""
        return self.system.cached(
            ("rows", key, self.device), lambda: compile_rows(trace(), self.device)
        )

    def rows(self, table: Array, block: range) -> Array:
        """Rows of a table that belong to a block."""
        if len(table) == 1:
            table = np.broadcast_to(table, (len(block), *table.shape[1:]))
            return np.ascontiguousarray(table)
        return np.ascontiguousarray(table[block.start : block.stop])

    def take(self, which: NDArray[np.int_]) -> Variants:
        """Some of the variants."""
        if len(which) == self.count:
            return self

        def some(values: Array) -> Array:
            return values if len(values) == 1 else values[which]

        return dataclasses.replace(
            self,
            count=len(which),
            state={name: some(x) for name, x in self.state.items()},
            inputs=some(self.inputs),
            parameters=some(self.parameters),
            others={
                kind: {name: some(x) for name, x in values.items()}
                for kind, values in self.others.items()
            },
            varied={name: (values[which], unit) for name, (values, unit) in self.varied.items()},
        )

    def at(self, k: int) -> tuple[dict[str, float], Array, Array]:
        """State by name, inputs and parameters of one variant."""
        state = {name: float(x[min(k, len(x) - 1)]) for name, x in self.state.items()}
        return (
            state,
            self.inputs[min(k, len(self.inputs) - 1)],
            self.parameters[min(k, len(self.parameters) - 1)],
        )

    def completed(
        self,
        block: range,
        time: float,
        *,
        guess: Mapping[str, float] | None = None,
        speed_inputs: SpeedInputs | None = None,
    ) -> Starts:
        """Consistent states of a block.

        Parameters
        ----------
        block : variants.
        time : s.
        guess : as in :func:`complete_start`.
        speed_inputs : of places in the block and their coordinates; those of `inputs` by default.
        """
        model = self.system.model
        num, num_w = len(model.inputs), len(model.speed_inputs)
        u = self.rows(self.inputs, block)
        given = speed_inputs or (lambda k, _: u[k, num : num + num_w])
        try:
            return complete_starts(
                self.system,
                {
                    name: values[block.start : block.stop] if len(values) > 1 else values
                    for name, values in self.state.items()
                },
                count=len(block),
                time=time,
                parameters=self.rows(self.parameters, block),
                speed_inputs=given if num_w else None,
                guess=guess,
            )
        except SimulationError as error:
            raise _renumbered(error, block.start) from None

    def state_rows(self, q: Array, eta: Array, mu: Array) -> Array:
        """x = [q; η; μ; W], no work done."""
        work = np.zeros((len(q), 1 if self.system.does_work else 0))
        return np.concatenate([q, eta, mu, work], axis=1)

    def labels(self) -> dict[str, Any]:
        """Coordinates of a labelled dataset over ``variant``: what differs, with units."""
        coords: dict[str, Any] = {"variant": np.arange(self.count)}
        for name, (values, unit) in self.varied.items():
            coords[name] = ("variant", values, {"units": unit})
        return coords

    def dataset(
        self, columns: Mapping[str, tuple[NDArray[Any], str]], title: str
    ) -> xarray.Dataset:
        """Labelled dataset over ``variant``: columns (count,) by name, each with its unit."""
        import xarray

        data = {
            name: ("variant", values, {"units": unit} if unit else {})
            for name, (values, unit) in columns.items()
        }
        attrs = {"model": self.system.model.name, "title": title}
        return xarray.Dataset(data, coords=self.labels(), attrs=attrs)


def read_variants(
    system: System,
    function: str,
    what: str,
    *,
    state: Mapping[str, ArrayLike] | None = None,
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    others: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    count: int | None = None,
    device: Any = "cpu",
) -> Variants:
    """Read the arguments of a batch.

    Parameters
    ----------
    system : compiled system.
    function : the caller, for messages.
    what : its work, for messages.
    state, inputs, parameters : by name, one number or one for each variant.
    others : further numbers by kind and name.
    count : number of variants, where no list says it.
    device : ``"cpu"``, or as in :func:`simulate_batch`.

    Raises
    ------
    SimulationError : for unknown inputs and parameters, lists of different lengths, and parameters
        that the model refuses.
    """
    require_system(function, system)
    where = f"{what} of model '{system.model.name}'"
    found = read_device(device, where)
    kinds: dict[str, Mapping[str, ArrayLike]] = {
        "start": state or {},
        "input": inputs or {},
        "parameter": parameters or {},
        **(others or {}),
    }
    given = {
        kind: {name: read_numbers(value, f"{kind} '{name}'", where) for name, value in m.items()}
        for kind, m in kinds.items()
    }
    lengths = {f"{kind} '{n}'": len(x) for kind, values in given.items() for n, x in values.items()}
    count = read_count(count, lengths, where)
    table = _input_rows(system, given["input"])
    rows, system = parameter_rows(system, given["parameter"], count)
    return Variants(
        system=system,
        what=what,
        count=count,
        state=given["start"],
        inputs=table,
        parameters=rows,
        others={kind: given[kind] for kind in others or {}},
        varied={
            f"{kind}.{name}": (values, varied_unit(system, kind, name))
            for kind, numbers in given.items()
            for name, values in numbers.items()
            if len(values) > 1
        },
        device=found,
    )


def _input_rows(system: System, given: Mapping[str, Array]) -> Array:
    """[u; w; ẇ] of inputs by name, zero where they are not given."""
    names = [quantity.name for quantity in system.inputs]
    table = np.zeros((max([1, *(len(values) for values in given.values())]), len(names)))
    for name, values in given.items():
        if name not in names:
            raise SimulationError(
                f"there is no input '{name}'",
                f"inputs of model '{system.model.name}'",
                nearest(name, names),
            )
        table[:, names.index(name)] = values
    return table


def _renumbered(error: SimulationError, first: int) -> SimulationError:
    """The fault of a variant of a block, with its number among all."""
    fault = error.faults[0]
    place, _, number = fault.where.rpartition(", trajectory ")
    if not number.isdecimal():
        return error
    return SimulationError(fault.what, f"{place}, variant {int(number) + first}", fault.fix)


def in_blocks(
    count: int,
    work: Callable[[range], None],
    *,
    size: int | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> None:
    """Do the work of all variants, a block at a time on several threads.

    Parameters
    ----------
    count : variants.
    work : does a block.
    size : variants in a block, at most; :data:`BLOCK` if not given.
    threads : all cores if not given.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it leaves out the blocks that have not begun.
    """
    workers = num_cores() if threads is None else threads
    if not isinstance(workers, int | np.integer) or workers < 1:
        raise SimulationError(f"threads is {workers!r}", "batch", "give a whole number, 1 or more")
    stop = cancel if cancel is not None else threading.Event()
    size = size or BLOCK
    blocks = [range(k, min(k + size, count)) for k in range(0, count, size)]
    done = 0

    def one(block: range) -> int:
        if not stop.is_set():
            work(block)
        return len(block)

    if len(blocks) == 1:
        one(blocks[0])
        if progress is not None:
            progress(1.0)
        return
    with ThreadPoolExecutor(max(1, min(workers, len(blocks)))) as pool:
        pending = [pool.submit(one, block) for block in blocks]
        try:
            for finished in as_completed(pending):
                done += finished.result()
                if progress is not None:
                    progress(done / count)
        except BaseException:
            for waiting in pending:
                waiting.cancel()
            raise
