"""`BatchRequest`: the arguments of a batch, read and checked.

A number is shared by all trajectories or given for each of them. It is stored as an array of one
entry or of as many as there are trajectories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.base import NoslipError, SimulationError, check_memory, is_truth, nearest
from noslip.engines import AbstractDevice, System, native_lanes, to_host
from noslip.simulation.batches.columns import default_columns
from noslip.simulation.expressions import units_by_name
from noslip.simulation.input_laws import AbstractInputLaw, Table
from noslip.simulation.input_plan import settable_inputs
from noslip.simulation.options import OPTIONS
from noslip.simulation.request import RunOptions, read_run, with_regular_rows
from noslip.simulation.starts.completion import Start
from noslip.simulation.starts.layout import layout_of

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
    """A checked request; arrays have one entry or row, or one for each trajectory.

    Parameters
    ----------
    run : when and how, the same for all; without times of samples where nothing is kept of them.
    count : trajectories.
    starts : values at the start by name.
    parameters : (1, np) or (count, np).
    varied : values that differ, by what they are and their name, each (count,).
    units : of what differs.
    constants : inputs that are numbers, by name.
    tables : inputs that are tables, by name: one for all, or one for each trajectory.
    traced : inputs that are expressions or CasADi functions, by name.
    law : or a law that gives all inputs.
    definitions : named expressions.
    numbers : named numbers that expressions may use.
    columns, keep : what is kept, and which values of it.
    events : all events, name → expression, those that end a trajectory first.
    terminal : names of those.
    max_events : times of each event that are kept.
    lanes, threads : how wide the code is, and how many workers run it.
    device : that runs it instead, if one does.
    is_single : whether states have single precision there.
    stays_on_device : whether columns of results are left there.
    """

    run: RunOptions
    count: int
    starts: dict[str, np.ndarray]
    parameters: np.ndarray
    varied: dict[str, np.ndarray]
    units: dict[str, str]
    constants: dict[str, np.ndarray]
    tables: dict[str, tuple[Table, ...]]
    traced: dict[str, str | ca.Function]
    law: AbstractInputLaw | None
    definitions: dict[str, str]
    numbers: dict[str, np.ndarray]
    columns: tuple[str, ...]
    keep: Sequence[str] = ("final",)
    events: dict[str, str]
    terminal: frozenset[str]
    max_events: int = 16
    lanes: int
    threads: int
    device: AbstractDevice | None = None
    is_single: bool = False
    stays_on_device: bool = False


def read_batch(system: System, options: Mapping[str, Any]) -> BatchRequest:
    """The request of a call of :func:`simulate_batch`, checked.

    Parameters
    ----------
    system : compiled system.
    options : its arguments by name.
    """
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


def read_device(given: Any, where: str) -> AbstractDevice | None:
    """The device of a word such as ``"cuda:1"``; None for the processor."""
    if isinstance(given, AbstractDevice):
        return given
    word, _, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if word == "cpu" and not number:
        return None
    if word == "cuda" and (number.isdecimal() or given == "cuda"):
        from noslip.engines import cuda_device

        return cuda_device(int(number or 0))
    raise SimulationError(
        f"device is {given!r}", where, "give 'cpu', 'cuda', or one of several GPUs as 'cuda:1'"
    )


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
        given = np.asarray(value)
        if given.dtype.kind in "UScmM" or is_truth(value):
            raise TypeError("a text, a complex number, a date or True, which would be read as one")
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
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
