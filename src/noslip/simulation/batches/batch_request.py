"""What is asked of a batch: its columns, its arguments, variants of a mechanism.

**Columns of a batch: values recorded of every trajectory, traced, with names and units.**

The names are those of a `Trajectory`. What a trajectory finds from all its samples together, such
as its energy error, is not among them.

**`BatchRequest`: the arguments of a batch, read and checked.**

A number is shared by all trajectories or given for each of them. It is stored as an array of one
entry or of as many as there are trajectories.

**Variants of a mechanism: states, inputs and parameters of many, read once and done in blocks.**

What `linearize_batch`, `evaluate_batch` and the other batches that integrate nothing share. As in
`simulate_batch` a number is shared by all variants or given for each of them, and is stored as an
array of one entry, or of as many as there are variants.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base import (
    Array,
    MissingPlaceError,
    NoslipError,
    SimulationError,
    check_memory,
    nearest,
    real_array,
)
from noslip.engines import (
    AbstractDevice,
    Program,
    RowFunction,
    System,
    compile_rows,
    native_lanes,
    read_device,
    require_system,
    to_host,
)
from noslip.model import Quantity, bears_force
from noslip.simulation.expressions import Outputs, named_values, read_expression, units_by_name
from noslip.simulation.inputs import AbstractInputLaw, InputGenerator, Table, settable_inputs
from noslip.simulation.request import OPTIONS, RunOptions, read_run, with_regular_rows
from noslip.simulation.starts.completion import SpeedInputs, Start, Starts, complete_starts
from noslip.simulation.starts.start_layout import layout_of

if TYPE_CHECKING:
    import xarray


Column = tuple[str, Callable[[], ca.SX]]  # unit, and how it is traced


def default_columns(system: System) -> tuple[str, ...]:
    """All coordinates and speeds."""
    return tuple(q.name for q in (*system.coordinates, *system.speeds))


def trace_columns(
    system: System,
    names: Sequence[str],
    generator: InputGenerator | None,
    definitions: Mapping[str, str | ca.SX],
    outputs: Mapping[str, str],
) -> tuple[dict[str, str], ca.SX]:
    """Units of the named columns, and their values as one traced column.

    `definitions`: further names, as in :func:`read_expression`; `outputs`: further columns,
    expressions of the motion, inputs, accelerations and reactions.
    """
    known = known_columns(system, generator)
    of_outputs = Outputs(outputs).units(system)
    for name, text in outputs.items():
        read = partial(
            read_expression, system, text, f"output '{name}'", definitions, is_output=True
        )
        known[name] = (of_outputs[name], read)
    for name in definitions:
        read = partial(read_expression, system, name, f"column '{name}'", definitions)
        known.setdefault(name, ("", read))
    values = []
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise SimulationError(
                f"there is no column '{name}'",
                f"columns of a batch of model '{system.model.name}'",
                nearest(str(name), list(known)),
            )
        values.append(ca.densify(ca.SX(known[name][1]())))
    units = {name: known[name][0] for name in names}
    return units, ca.vertcat(*values) if values else ca.SX(0, 1)


def known_columns(system: System, generator: InputGenerator | None) -> dict[str, Column]:
    """All columns of a system, by name: unit and a function that traces it."""
    kin, eq = system.kinematics, system.equations
    known: dict[str, Column] = {}

    def add(quantities: Iterable[tuple[str, str]], column: Callable[[], Any]) -> None:
        for k, (name, unit) in enumerate(quantities):
            known[name] = (unit, partial(_entry, column, k))

    def with_units(quantities: Iterable[Quantity]) -> list[tuple[str, str]]:
        return [(q.name, q.unit) for q in quantities]

    add(with_units(system.coordinates), lambda: kin.symbols.q)
    add(with_units(system.speeds), lambda: kin.v)
    add(with_units(system.inputs), lambda: eq.inputs)
    rates = [(f"acceleration.{q.name}", f"{q.unit}^2") for q in system.speeds]
    add(rates, lambda: eq.speed_rates)
    for name, (unit, named) in named_values(system).items():
        known[name] = (unit, partial(_at_speeds, system, named))
    for trace in kin.contacts:
        names = [(f"{trace.contact.name}.contact_{axis}", "m") for axis in "xyz"]
        add(names, partial(kin.at_speeds, trace.point))
    after_eta = kin.num_coordinates + kin.num_independent_speeds
    add(with_units(system.auxiliary_states), lambda: system.state[after_eta:])
    if generator is not None:
        states = generator.states
        add(zip(generator.names, generator.units, strict=True), lambda: states)
    add([("kinetic_energy", "J")], lambda: eq.kinetic_energy)
    add([("potential_energy", "J")], lambda: eq.forces.potential_energy)
    add([("work", "J")], lambda: system.state[-1] if system.does_work else ca.SX(0))
    add([(f"residual.{row.name}", row.unit) for row in kin.rows], lambda: kin.row_values)
    contacts = system.model.contacts
    bearing = [k for k, row in enumerate(kin.rows) if bears_force(contacts, row.name)]
    reactions = [(f"reaction.{kin.rows[k].name}", kin.rows[k].multiplier_unit) for k in bearing]
    add(reactions, lambda: eq.multipliers[bearing])
    return known


def _entry(column: Callable[[], Any], k: int) -> ca.SX:
    return column()[k]


def _at_speeds(system: System, trace: Callable[[], ca.SX]) -> ca.SX:
    return system.kinematics.at_speeds(trace())


#: What an input of a batch may be given as, besides what :func:`simulate` takes.
BatchInput = ArrayLike | str | Table | Sequence[Table] | ca.Function


_DEFAULTS = {word: option.default for word, option in OPTIONS.items()}

KEPT = ("final", "minimum", "maximum", "samples")
LANES = (1, 2, 4, 8, 16)
#: The smallest tolerance of runs in single precision.
SINGLE_TOLERANCE = 1e-5
#: Residual of constraints that is left alone in single precision.
SINGLE_PROJECTION = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchRequest:
    """A checked request; arrays have one entry or row, or one for each trajectory."""

    #: times and method, the same for all; without times of samples where nothing is kept of them
    run: RunOptions
    count: int  #: trajectories
    starts: dict[str, np.ndarray]  #: values at the start by name
    parameters: np.ndarray  #: (1, np) or (count, np)
    #: values that differ, by what they are and their name, each (count,)
    varied: dict[str, np.ndarray]
    units: dict[str, str]  #: units of what differs
    constants: dict[str, np.ndarray]  #: inputs that are numbers, by name
    #: inputs that are tables, by name: one for all, or one for each trajectory
    tables: dict[str, tuple[Table, ...]]
    #: inputs that are expressions or CasADi functions, by name
    traced: dict[str, str | ca.Function]
    law: AbstractInputLaw | None  #: law that gives all inputs instead
    definitions: dict[str, str]  #: named expressions
    numbers: dict[str, np.ndarray]  #: numbers by name that expressions may use
    #: columns, keep: columns, and values of them that are kept
    columns: tuple[str, ...]
    keep: Sequence[str] = ("final",)
    events: dict[str, str]  #: all events, name → expression, those that end a trajectory first
    terminal: frozenset[str]  #: names of those
    max_events: int = 16  #: times of each event that are kept
    #: lanes, threads: width of the code, and number of workers that run it
    lanes: int
    threads: int
    device: AbstractDevice | None = None  #: device that runs it instead, if one does
    is_single: bool = False  #: whether states have single precision there
    stays_on_device: bool = False  #: whether columns of results are left there


def read_batch(system: System, options: Mapping[str, Any]) -> BatchRequest:
    """The request of a call of :func:`simulate_batch`, checked."""
    given = {**_DEFAULTS, **options}
    run = read_run("simulate_batch", system, options, of_many=True)
    system, columns, keep = run.system, given["columns"], given["keep"]
    lanes = native_lanes() if given["lanes"] is None else given["lanes"]
    threads = num_cores() if given["threads"] is None else given["threads"]
    _check_choices(system, columns, keep, lanes, threads, given["max_events"])
    where = f"batch of model '{system.model.name}'"
    device = read_device(given["device"], where)
    is_single = read_precision(given["precision"], run, device, where)
    events = _all_events(system, run.events, run.stop)
    starts, inputs = read_starts(given["start"], where), run.inputs
    given_inputs = {} if isinstance(inputs, AbstractInputLaw) else dict(inputs or {})
    _check_names(system, starts, given_inputs)
    numbers: dict[tuple[str, str], np.ndarray] = {}
    texts: dict[str, str] = {}
    tables: dict[str, tuple[Table, ...]] = {}
    traced: dict[str, str | ca.Function] = {}
    for kind, mapping in (("start", starts), ("parameter", given["parameters"] or {})):
        for name, value in mapping.items():
            numbers[kind, name] = read_numbers(value, f"{kind} '{name}'", where)
    for name, definition in run.definitions.items():
        if isinstance(definition, str):
            texts[name] = definition
        else:
            numbers["definition", name] = read_numbers(definition, f"definition '{name}'", where)
    for name, spec in given_inputs.items():
        found = _tables(spec)
        if found:
            tables[name] = found
        elif isinstance(spec, str | ca.Function):
            traced[name] = spec
        elif callable(spec):
            raise SimulationError(
                f"input '{name}' is a Python callable, which batches cannot call",
                where,
                "give numbers, an expression, a Table or a CasADi function, or simulate one by one",
            )
        else:
            numbers["input", name] = read_numbers(spec, f"input '{name}'", where)
    lengths = {f"{kind} '{name}'": len(array) for (kind, name), array in numbers.items()}
    lengths |= {f"input '{name}'": len(found) for name, found in tables.items()}
    count = read_count(given["count"], lengths, where)
    _check_size(run, given, count, where)

    def of(kind: str) -> dict[str, np.ndarray]:
        return {name: array for (k, name), array in numbers.items() if k == kind}

    varied = {
        f"{kind}.{name}": np.broadcast_to(array, count)
        for (kind, name), array in numbers.items()
        if len(array) > 1
    }
    parameters, system = parameter_rows(system, of("parameter"), count)
    run = run._replace(system=system)
    return BatchRequest(
        run=run if set(keep) - {"final"} else run._replace(times=np.zeros(0)),
        count=count,
        starts=of("start"),
        parameters=parameters,
        varied=varied,
        units={name: varied_unit(system, *name.split(".", 1)) for name in varied},
        constants=of("input"),
        tables=tables,
        traced=traced,
        law=inputs if isinstance(inputs, AbstractInputLaw) else None,
        definitions=texts,
        numbers=of("definition"),
        columns=tuple(default_columns(system) if columns is None else columns),
        keep=keep,
        events=events,
        terminal=frozenset(run.stop),
        max_events=given["max_events"],
        lanes=lanes,
        threads=threads,
        device=device,
        is_single=is_single,
        stays_on_device=_stays_on_device(given["arrays"], device, where),
    )


def read_starts(start: Any, where: str) -> Mapping[str, ArrayLike]:
    """Values at the start by name; one that is completed already is no start of many."""
    if isinstance(start, Start):
        raise SimulationError(
            "the start is completed already, but each trajectory has a start of its own",
            where,
            "give coordinates and speeds by name",
        )
    return start or {}


def _stays_on_device(arrays: Any, device: AbstractDevice | None, where: str) -> bool:
    """Whether results are left on the device."""
    if arrays not in ("numpy", "device"):
        raise SimulationError(f"arrays is {arrays!r}", where, "give 'numpy', or 'device' on a GPU")
    if arrays == "device" and device is None:
        raise SimulationError(
            "results are to stay on a GPU, but the batch runs on the CPU",
            where,
            "run on a GPU: device='cuda', or leave arrays='device' out",
        )
    return bool(arrays == "device")


def read_precision(
    precision: Any, run: RunOptions, device: AbstractDevice | None, where: str
) -> bool:
    """Whether states shall have single precision, which not every run may ask for."""
    if precision not in ("double", "single"):
        raise SimulationError(
            f"precision is {precision!r}", where, "give 'double', or 'single' on a GPU"
        )
    if precision == "double":
        return False
    if device is None:
        raise SimulationError(
            "single precision is requested on the CPU, where it is no faster",
            where,
            "leave precision='single' out, or run on a GPU: device='cuda'",
        )
    least = min(run.rtol, run.atol)
    if run.method == "dop853" and least < SINGLE_TOLERANCE:
        raise SimulationError(
            f"a tolerance of {least:g} is requested in single precision, which has 7 digits",
            where,
            f"give rtol={SINGLE_TOLERANCE:g}, atol={SINGLE_TOLERANCE:g} or more, or leave "
            "precision='single' out",
        )
    return True


def varied_unit(system: System, kind: str, name: str) -> str:
    """Unit of something that differs between variants; numbers among the definitions have none."""
    units = {
        "parameter": {p.name: p.unit for p in system.model.parameters},
        "start": units_by_name(system),
        "input": {q.name: q.unit for q in system.inputs},
    }
    return units.get(kind, {}).get(name, "1")


def _check_names(system: System, starts: Iterable[str], inputs: Iterable[str]) -> None:
    known = {
        "coordinate, speed or angle": (starts, list(layout_of(system).names), "start"),
        "input": (inputs, settable_inputs(system), "inputs"),
    }
    for word, (given, names, place) in known.items():
        for name in given:
            if name not in names:
                raise SimulationError(
                    f"there is no {word} '{name}'",
                    f"{place} of model '{system.model.name}'",
                    nearest(name, names),
                )


def read_numbers(value: Any, what: str, where: str) -> np.ndarray:
    """One number or one for each trajectory, as an array; those on a card are copied."""
    value = to_host(value)
    try:
        array = real_array(value)
    except (TypeError, ValueError, OverflowError):
        is_one = isinstance(value, str | bytes) or not hasattr(value, "__len__")
        also = (
            "; inputs also as one expression for all with numbers among the definitions, or as a "
            "list of Tables alone"
        )
        raise SimulationError(
            f"{what} is {value!r:.60}, which {'is not a number' if is_one else 'are not numbers'}",
            where,
            f"give a number, or a list of numbers{also if what.startswith('input') else ''}",
        ) from None
    if array.ndim > 1 or not array.size:
        raise SimulationError(
            f"{what} has the shape {array.shape}",
            where,
            "give one number for all trajectories, or a list with one for each",
        )
    array = np.atleast_1d(array)
    if not np.all(np.isfinite(array)):
        k = int(np.argmin(np.isfinite(array)))
        found = value if array.size == 1 else f"{array[k]} for trajectory {k}"
        raise SimulationError(f"{what} is {found!s}", where, "give finite numbers")
    return array


def _tables(value: Any) -> tuple[Table, ...]:
    """The tables of an input, one or one for each trajectory; none if it is something else."""
    if isinstance(value, Table):
        return (value,)
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return tuple(value) if is_list and all(isinstance(v, Table) for v in value) else ()


def read_count(count: int | None, lengths: Mapping[str, int], where: str) -> int:
    """Number of trajectories."""
    if count is not None and (not isinstance(count, int | np.integer) or count < 1):
        raise SimulationError(
            f"count is {count!r}", where, "give the number of trajectories, 1 or more"
        )
    asked = {"count": int(count)} if count is not None else {}
    asked |= {what: length for what, length in lengths.items() if length > 1}
    found = set(asked.values())
    if len(found) > 1:
        listed = ", ".join(f"{what}: {length}" for what, length in asked.items())
        raise SimulationError(
            f"the numbers of trajectories differ: {listed}",
            where,
            "give one value for all trajectories, or as many as there are trajectories",
        )
    return found.pop() if found else 1


def _check_size(run: RunOptions, given: Mapping[str, Any], count: int, where: str) -> None:
    """Refuse results that do not fit into memory, before any of it is taken."""
    system, keep, columns = run.system, given["keep"], given["columns"]
    num_columns = len(default_columns(system) if columns is None else columns)
    states = len(system.coordinates) + len(system.speeds) + len(system.auxiliary_states) + 8
    numbers = 3 * states + num_columns * len(set(keep) - {"samples"})
    numbers += (len(run.events) + len(run.stop)) * (given["max_events"] + 1)
    if "samples" in keep and given["out"] is None:
        numbers += num_columns * len(run.times)
    check_memory(
        8.0 * numbers * count,
        "results",
        where,
        "keep final values or fewer samples, name fewer columns, or give fewer trajectories at a "
        "time",
    )


def parameter_rows(
    system: System, given: dict[str, np.ndarray], count: int
) -> tuple[np.ndarray, System]:
    """Rows of parameters, and the system with rows that are independent at them.

    Values that differ are checked where each is least and largest.
    """
    rows = 1 if all(len(array) == 1 for array in given.values()) else count
    names = [p.name for p in system.model.parameters]
    if not given.keys() <= set(names):
        system.parameters({name: float(array[0]) for name, array in given.items()})  # refuses it
    looked_at = {0}
    for array in given.values():
        looked_at |= {int(np.argmin(array)), int(np.argmax(array))}
    result, systems = np.tile(system.parameters(), (rows, 1)), []
    for k in sorted(looked_at):
        one = {name: float(array[min(k, len(array) - 1)]) for name, array in given.items()}
        try:
            systems.append(with_regular_rows(system, system.parameters(one), one))
            if systems[-1] is not systems[0]:
                raise SimulationError(
                    "the redundant rows differ from those with the parameters of trajectory 0",
                    f"parameters of model '{system.model.name}'",
                    "simulate these in a batch of their own",
                )
        except NoslipError as error:
            if rows == 1:
                raise
            fault = error.faults[0]
            place = f"{fault.where}, trajectory {k}"
            raise type(error)(fault.what, place, fault.fix) from None
    for name, array in given.items():
        result[:, names.index(name)] = array
    return result, systems[0]


def _all_events(
    system: System, events: Mapping[str, str], stop: Mapping[str, str]
) -> dict[str, str]:
    """Events that end a trajectory, then those that do not."""
    for name in sorted(set(events) & set(stop)):
        raise SimulationError(
            f"'{name}' both stops the run and is an event of it",
            f"batch of model '{system.model.name}'",
            "give the two different names",
        )
    return {**stop, **events}


def _check_choices(
    system: System,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    lanes: int,
    threads: int,
    max_events: int,
) -> None:
    where = f"batch of model '{system.model.name}'"
    for name, texts in (("columns", columns), ("keep", keep)):
        if isinstance(texts, str):
            raise SimulationError(f"{name} is '{texts}'", where, f"give a list: {name}=['{texts}']")
    for word in keep:
        if word not in KEPT:
            raise SimulationError(
                f"there is nothing to keep as '{word}'", where, nearest(str(word), KEPT)
            )
    if lanes not in LANES:
        raise SimulationError(
            f"code of {lanes} lanes is requested",
            where,
            f"give one of {', '.join(map(str, LANES))}",
        )
    for name, number in (("threads", threads), ("max_events", max_events)):
        if not isinstance(number, int | np.integer) or number < 1:
            raise SimulationError(f"{name} is {number!r}", where, "give a whole number, 1 or more")


def num_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: Variants that are done at a time, in lanes and on a device.
BLOCK, DEVICE_BLOCK = 4096, 2**16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variants:
    """States, inputs and parameters of many variants. Made by :meth:`read`."""

    system: System  #: system with rows that are independent at these parameters
    what: str  #: the work, for messages: ``linearizations``
    count: int  #: variants
    state: dict[str, Array]  #: values by name, (1,) or (count,)
    inputs: Array  #: [u; w; ẇ], (1, nu) or (count, nu)
    parameters: Array  #: (1, np) or (count, np)
    others: dict[str, dict[str, Array]]  #: further numbers that were read, by kind and name
    #: values that differ, (count,), by kind and name; with the unit
    varied: dict[str, tuple[Array, str]]
    device: AbstractDevice | None = None  #: device that evaluates, if one does

    @classmethod
    def read(
        cls,
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
        """Variants as a caller gives them.

        Parameters
        ----------
        system : compiled system.
        function : the caller, for messages.
        what : task, for messages.
        state, inputs, parameters : values by name, one number or one for each variant.
        others : further numbers by kind and name.
        count : number of variants, where no list says it.
        device : ``"cpu"``, or as in :func:`simulate_batch`.

        Raises
        ------
        SimulationError : for unknown inputs and parameters, lists of different lengths, and
            parameters that the model refuses.
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
            kind: {
                name: read_numbers(value, f"{kind} '{name}'", where) for name, value in m.items()
            }
            for kind, m in kinds.items()
        }
        lengths = {
            f"{kind} '{n}'": len(x) for kind, values in given.items() for n, x in values.items()
        }
        count = read_count(count, lengths, where)
        table = _input_rows(system, given["input"])
        rows, system = parameter_rows(system, given["parameter"], count)
        return cls(
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

    def in_blocks(
        self,
        work: Callable[[range], None],
        *,
        size: int | None = None,
        threads: int | None = None,
        progress: Callable[[float], object] | None = None,
        cancel: Any = None,
    ) -> None:
        """Do the work of all variants, see :func:`in_blocks`; of `block` at a time by default."""
        size = size or self.block
        in_blocks(self.count, work, size=size, threads=threads, progress=progress, cancel=cancel)

    def rows(self, table: Array, block: range) -> Array:
        """Rows of a table that belong to a block."""
        if len(table) == 1:
            return np.repeat(table, len(block), axis=0)
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
        guess : start of the search, as in :func:`complete_start`.
        speed_inputs : speed inputs of places in the block and their coordinates; those of `inputs`
            by default.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantResults:
    """Results of many variants or motions; ``results[k]`` is what a single call gives for one."""

    #: What is counted.
    noun: ClassVar[str] = "variants"

    model: str  #: name of the mechanism
    count: int  #: variants
    variants: Variants = field(repr=False)  #: variants of the results

    def __len__(self) -> int:
        return self.count

    def place_of(self, k: int) -> int:
        """The number of a variant; those below zero count from the end."""
        if not -self.count <= k < self.count:
            raise MissingPlaceError(
                f"there are {self.count} {self.noun}, and number {k} is requested",
                f"{type(self).__name__} of model '{self.model}'",
                f"give a number from 0 to {self.count - 1}",
            )
        return k % self.count

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Columns (n,) of the dataset by name, with units."""
        raise NotImplementedError

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``; what differs between variants is a coordinate of it."""
        return self.variants.dataset(self.columns(), self.variants.what)


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

    `size`: variants in a block, at most; :data:`BLOCK` if not given. `threads`: all cores if not
    given. `progress`: function called with the fraction done. `cancel`: a ``threading.Event``;
    setting it leaves out the blocks that have not begun.
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
