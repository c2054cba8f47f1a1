"""Names that other packages may use, in the order in which they are needed."""

from .batches.batch_request import (
    known_columns as known_columns,
)
from .batches.batch import (
    simulate_batch as simulate_batch,
)
from .batches.periods import (
    PeriodColumns as PeriodColumns,
    Periods as Periods,
    ThreadPeriod as ThreadPeriod,
    completed_states as completed_states,
    thread_programs as thread_programs,
)
from .batches.batch_request import (
    read_device as read_device,
)
from .batches.batch_request import (
    Variants as Variants,
    in_blocks as in_blocks,
    read_variants as read_variants,
)
from .events import (
    trace_events as trace_events,
)
from .expressions import (
    check_outputs as check_outputs,
    output_units as output_units,
    reaction_values as reaction_values,
    read_expression as read_expression,
    trace_outputs as trace_outputs,
    units_by_name as units_by_name,
)
from .inputs import (
    AbstractInputLaw as AbstractInputLaw,
    Guard as Guard,
    InputGenerator as InputGenerator,
    Table as Table,
    conditioning as conditioning,
)
from .inputs import (
    inputs_expression as inputs_expression,
    plan_inputs as plan_inputs,
    traced_inputs as traced_inputs,
)
from .trajectory import (
    measured_speeds as measured_speeds,
)
from .loop.philox import (
    philox_words as philox_words,
    uniform_number as uniform_number,
)
from .native_run import (
    integrate as integrate,
)
from .options import (
    AlongOptions as AlongOptions,
    ScenarioOptions as ScenarioOptions,
    takes as takes,
)
from .trajectory import (
    PathErrors as PathErrors,
)
from .loop.philox import (
    WORD as WORD,
    uniforms as uniforms,
)
from .request import (
    check_named as check_named,
    read_run as read_run,
    with_regular_rows as with_regular_rows,
)
from .run_files import (
    ColumnTable as ColumnTable,
    new_netcdf as new_netcdf,
)
from .native_run import (
    run_workers as run_workers,
)
from .single_run import (
    simulate as simulate,
)
from .starts.bases import (
    on_its_branch as on_its_branch,
)
from .starts.bases import (
    check_own_speeds as check_own_speeds,
    choose_bases as choose_bases,
    regular_start as regular_start,
    run_start as run_start,
    singular_state as singular_state,
    states_in as states_in,
)
from .starts.completion import (
    Start as Start,
    Starts as Starts,
    check_completed as check_completed,
    complete_start as complete_start,
    complete_starts as complete_starts,
)
from .batches.periods import (
    TracedStart as TracedStart,
    trace_start as trace_start,
)
from .single_run import (
    SteppedMotion as SteppedMotion,
)
from .events import (
    switch_texts as switch_texts,
)
from .inputs import (
    TimeFeatures as TimeFeatures,
)
from .trajectory import (
    Trajectory as Trajectory,
)
