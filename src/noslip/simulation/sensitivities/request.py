"""`SensitivityRequest`: arguments of a differentiated simulation, forward or adjoint, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noslip.base import Array
from noslip.engines import System
from noslip.simulation.native_run import InputTable
from noslip.simulation.request import RunOptions, read_run
from noslip.simulation.sensitivities.closed_loop import LoopValues, check_given
from noslip.simulation.sensitivities.segments import SegmentSettings
from noslip.simulation.sensitivities.variables import Variable, read_variables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivityRequest:
    """A checked request for a differentiated simulation.

    Parameters
    ----------
    run : the simulation; its definitions are named expressions and numbers.
    variables : what derivatives are taken by.
    """

    run: RunOptions
    variables: tuple[Variable, ...]

    def settings(
        self,
        numbers: LoopValues,
        times: Array,
        *,
        rtol: float,
        absolute: Array,
        base: Array,
        tables: tuple[InputTable, ...],
    ) -> SegmentSettings:
        """Settings of a run in segments."""
        return SegmentSettings(
            run=self.run._replace(times=times, rtol=rtol),
            absolute=absolute,
            base=base,
            tables=tables,
            numbers=numbers,
        )


def read_sensitivities(
    function: str, system: System, names: Sequence[str], options: Mapping[str, Any]
) -> SensitivityRequest:
    """The request of a call, checked.

    Parameters
    ----------
    function : name of the caller, for the message.
    system : compiled system.
    names : what derivatives are taken by.
    options : how the run is made.
    """
    run = read_run(function, system, options)
    check_given(run.system, run.inputs, run.definitions)
    variables = read_variables(
        run.system,
        names,
        start=run.start,
        inputs=run.inputs,
        definitions=run.definitions,
        parameters=run.values,
    )
    return SensitivityRequest(run=run, variables=variables)
