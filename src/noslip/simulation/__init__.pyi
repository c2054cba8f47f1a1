"""Names that other packages may use, in the order in which they are needed."""

from .batches.batch_request import (
    VariantResults as VariantResults,
    Variants as Variants,
    known_columns as known_columns,
)
from .batches.batch import (
    simulate_batch as simulate_batch,
)
from .batches.periods import (
    PeriodColumns as PeriodColumns,
    Periods as Periods,
    ThreadPeriod as ThreadPeriod,
    TracedStart as TracedStart,
)
from .batches.portable import (
    PortableRun as PortableRun,
)
from .events import (
    switch_texts as switch_texts,
)
from .expressions import (
    Outputs as Outputs,
    reaction_values as reaction_values,
    read_expression as read_expression,
    units_by_name as units_by_name,
)
from .inputs import (
    AbstractInputLaw as AbstractInputLaw,
    Guard as Guard,
    InputGenerator as InputGenerator,
    Table as Table,
    TimeFeatures as TimeFeatures,
    inputs_expression as inputs_expression,
    plan_inputs as plan_inputs,
)
from .trajectory import (
    PathErrors as PathErrors,
    Trajectory as Trajectory,
)
from .loop.steps import (
    uniforms as uniforms,
    written_uniforms as written_uniforms,
)
from .native_run import (
    integrate as integrate,
    run_workers as run_workers,
)
from .request import (
    AlongOptions as AlongOptions,
    ScenarioOptions as ScenarioOptions,
    takes as takes,
)
from .request import (
    check_named as check_named,
    read_run as read_run,
    with_regular_rows as with_regular_rows,
)
from .trajectory import (
    ColumnTable as ColumnTable,
    new_netcdf as new_netcdf,
)
from .single_run import (
    SteppedMotion as SteppedMotion,
    simulate as simulate,
)
from .sensitivities.forward import (
    flow_map as flow_map,
)
from .starts.bases import (
    check_own_speeds as check_own_speeds,
    choose_bases as choose_bases,
    on_its_branch as on_its_branch,
    regular_start as regular_start,
)
from .starts.completion import (
    Start as Start,
    Starts as Starts,
    complete_start as complete_start,
)
