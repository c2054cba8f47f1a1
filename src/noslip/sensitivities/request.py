"""What is asked of a differentiated simulation, read and checked: the same for both directions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noslip.engines.system import Array, System
from noslip.sensitivities.closed_loop import Inputs
from noslip.sensitivities.segments import SegmentSettings
from noslip.sensitivities.values import LoopValues, check_given
from noslip.sensitivities.variables import Variable, read_variables
from noslip.simulation.basis import check_redundant_rows
from noslip.simulation.checks import check_named
from noslip.simulation.input_expressions import check_definitions
from noslip.simulation.input_kinds import AbstractInputLaw
from noslip.simulation.plan import InputTable
from noslip.simulation.request import RunRequest, read_run
from noslip.simulation.starts.completion import Start


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitivityRequest:
    """A differentiated simulation, as it was asked for and checked.

    Parameters
    ----------
    system, inputs, start : as they were given.
    definitions : named expressions and numbers.
    values : of the model's parameters.
    variables : what derivatives are taken by.
    run : when and how.
    """

    system: System
    inputs: Inputs
    start: Mapping[str, float] | Start | None
    definitions: dict[str, str | float]
    values: Array
    variables: tuple[Variable, ...]
    run: RunRequest

    def absolute(self, num_states: int, atol: float) -> Array:
        """Absolute tolerances of y; the work does not choose the steps."""
        return self.run.absolute(self.system, num_states, atol)

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
        """What a run in pieces needs."""
        return SegmentSettings(
            run=dataclasses.replace(self.run, times=times, rtol=rtol),
            absolute=absolute,
            base=base,
            tables=tables,
            numbers=numbers,
        )


def read_request(
    system: System,
    function: str,
    *,
    with_respect_to: Sequence[str],
    parameters: Mapping[str, float] | None,
    start: Mapping[str, float] | Start | None,
    inputs: Inputs,
    definitions: Mapping[str, str | float] | None,
    samples: Any,
    on_failure: str,
    start_time: float,
    duration: float,
    method: str,
    rtol: float,
    atol: float,
    step: float,
    max_step: float,
    max_steps: int,
) -> SensitivityRequest:
    """Read and check what is asked for; `function` is the name of who asks."""
    run = read_run(
        function,
        system,
        duration=duration,
        samples=samples,
        method=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        on_failure=on_failure,
    )
    check_named(
        start=None if isinstance(start, Start) else start,
        inputs=None if isinstance(inputs, AbstractInputLaw) else inputs,
        parameters=parameters,
        definitions=definitions,
    )
    definitions = dict(definitions or {})
    check_definitions(system, definitions)
    check_given(system, inputs, definitions)
    values = system.parameters(parameters)
    check_redundant_rows(system, values, parameters)
    variables = read_variables(
        system,
        with_respect_to,
        start=start,
        inputs=inputs,
        definitions=definitions,
        parameters=values,
    )
    return SensitivityRequest(
        system=system,
        inputs=inputs,
        start=start,
        definitions=definitions,
        values=values,
        variables=variables,
        run=run,
    )
