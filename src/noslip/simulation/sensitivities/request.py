"""`SensitivityRequest`: arguments of a differentiated simulation, forward or adjoint, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noslip.base import Array
from noslip.simulation.plan import InputTable
from noslip.simulation.request import RunRequest, read_run
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

    run: RunRequest
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


def read_sensitivities(function: str, given: Mapping[str, Any]) -> SensitivityRequest:
    """The request of a call, checked.

    Parameters
    ----------
    function : name of the caller, for the message.
    given : its arguments by name.
    """
    run = read_run(function, given)
    check_given(run.system, run.inputs, run.definitions)
    variables = read_variables(
        run.system,
        given["with_respect_to"],
        start=run.start,
        inputs=run.inputs,
        definitions=run.definitions,
        parameters=run.values,
    )
    return SensitivityRequest(run=run, variables=variables)
