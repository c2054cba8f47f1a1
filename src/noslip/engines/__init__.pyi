"""Names that other packages may use, in the order in which they are needed."""

from .system import (
    BasisCover as BasisCover,
    System as System,
    compile as compile,
    once_a_system as once_a_system,
    require_system as require_system,
    trace_condition as trace_condition,
)
from .code_store import (
    stored as stored,
)
from .cuda_driver import (
    read_device as read_device,
)
from .cuda_driver import (
    DeviceArray as DeviceArray,
    to_host as to_host,
)
from .devices import (
    AbstractDevice as AbstractDevice,
    DeviceKernel as DeviceKernel,
    DeviceMemory as DeviceMemory,
    RowFunction as RowFunction,
    SharedFunctions as SharedFunctions,
    compile_rows as compile_rows,
    word_of_record as word_of_record,
)
from .ir_writer import (
    Block as Block,
    Buffer as Buffer,
    ElementType as ElementType,
    Flow as Flow,
    Given as Given,
    Target as Target,
    Value as Value,
)
from .program import (
    Operation as Operation,
    Program as Program,
    trace_program as trace_program,
)
from .machine_code import (
    choose_instruction_set as choose_instruction_set,
    stored_machine_code as stored_machine_code,
    target_facts as target_facts,
)
from .native import (
    NativeFunction as NativeFunction,
    compile_expression as compile_expression,
    compile_native as compile_native,
    compile_wide as compile_wide,
    native_lanes as native_lanes,
)
from .native_arrays import (
    address as address,
    given_table as given_table,
    work_memory as work_memory,
)
from .sympy_target import (
    apply_kind as apply_kind,
    to_sympy as to_sympy,
)
from .c_code import (
    CWriter as CWriter,
)
from .web_assembly import (
    WebModule as WebModule,
)
