"""Names that other packages may use, in the order in which they are needed."""

from .batches.code import (
    motion_in_lanes as motion_in_lanes,
    motion_programs as motion_programs,
)
from .batches.columns import (
    known_columns as known_columns,
)
from .batches.request import (
    read_device as read_device,
)
from .batches.variants import (
    Variants as Variants,
    dataset as dataset,
    in_blocks as in_blocks,
    read_variants as read_variants,
)
from .events import (
    trace_events as trace_events,
)
from .expressions import (
    check_definitions as check_definitions,
    check_outputs as check_outputs,
    output_units as output_units,
    reaction_values as reaction_values,
    read_expression as read_expression,
    trace_outputs as trace_outputs,
    units_by_name as units_by_name,
)
from .input_laws import (
    AbstractInputLaw as AbstractInputLaw,
    Guard as Guard,
    InputGenerator as InputGenerator,
    InputSpec as InputSpec,
    conditioning as conditioning,
)
from .input_plan import (
    InputPlan as InputPlan,
    inputs_expression as inputs_expression,
    plan_inputs as plan_inputs,
    settable_inputs as settable_inputs,
    traced_inputs as traced_inputs,
)
from .lazy_columns import (
    measured_speeds as measured_speeds,
)
from .loop.random import (
    philox_words as philox_words,
    uniform_number as uniform_number,
)
from .path_errors import (
    COLUMNS as COLUMNS,
    PathErrors as PathErrors,
)
from .philox import (
    WORD as WORD,
    uniforms as uniforms,
)
from .plan import (
    IntegrationPlan as IntegrationPlan,
)
from .request import (
    RunRequest as RunRequest,
    check_named as check_named,
    read_run as read_run,
    with_regular_rows as with_regular_rows,
)
from .rules import (
    FINISHED as FINISHED,
    NON_FINITE as NON_FINITE,
    SINGULAR as SINGULAR,
)
from .run_files import (
    ColumnTable as ColumnTable,
    new_netcdf as new_netcdf,
)
from .runner import (
    NativeResult as NativeResult,
    run_native as run_native,
    run_workers as run_workers,
)
from .samples import (
    Segment as Segment,
    assemble as assemble,
)
from .segments import (
    Ends as Ends,
    Indices as Indices,
    ONE as ONE,
    SegmentBasis as SegmentBasis,
    carried as carried,
    drive as drive,
    end_of_one as end_of_one,
    tree_speeds as tree_speeds,
)
from .single_run import (
    PROJECTION_TOLERANCE as PROJECTION_TOLERANCE,
    simulate as simulate,
)
from .start import (
    branch_notes as branch_notes,
    on_own_branch as on_own_branch,
)
from .starts.bases import (
    ALL as ALL,
    BasisGroup as BasisGroup,
    KINEMATIC as KINEMATIC,
    check_own_speeds as check_own_speeds,
    choose_bases as choose_bases,
    regular_start as regular_start,
    run_start as run_start,
    run_starts as run_starts,
    singular_state as singular_state,
    states_in as states_in,
)
from .starts.completion import (
    OtherBranchError as OtherBranchError,
    Start as Start,
    Starts as Starts,
    check_completed as check_completed,
    complete_start as complete_start,
    complete_starts as complete_starts,
    start_names as start_names,
)
from .starts.layout import (
    layout_of as layout_of,
)
from .starts.stacks import (
    apply as apply,
)
from .starts.traced import (
    TracedStart as TracedStart,
    trace_start as trace_start,
)
from .switches import (
    switch_texts as switch_texts,
)
from .time_features import (
    TimeFeatures as TimeFeatures,
)
from .trajectory import (
    LargestError as LargestError,
    Trajectory as Trajectory,
    largest_errors as largest_errors,
)
