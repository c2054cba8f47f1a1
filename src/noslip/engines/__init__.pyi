"""Names that other packages may use, in the order in which they are needed."""

from .system import (
    BasisCover as BasisCover,
    basis_measures as basis_measures,
    cover_ranges as cover_ranges,
)
from .code_store import (
    load as load,
    save as save,
)
from .cuda_driver import (
    cuda_device as cuda_device,
)
from .device_arrays import (
    DeviceArray as DeviceArray,
    columns_of as columns_of,
    device_view as device_view,
    to_device as to_device,
    to_host as to_host,
)
from .devices import (
    RowFunction as RowFunction,
    SharedFunctions as SharedFunctions,
    compile_rows as compile_rows,
    print_shared_functions as print_shared_functions,
)
from .devices import (
    AbstractDevice as AbstractDevice,
    DeviceKernel as DeviceKernel,
    DeviceMemory as DeviceMemory,
)
from .ir_writer import (
    Block as Block,
    Buffer as Buffer,
    Flow as Flow,
    Given as Given,
    PLACE as PLACE,
    Target as Target,
)
from .program import (
    apply as apply,
    interpret_rows as interpret_rows,
)
from .ir_writer import (
    Operand as Operand,
    REAL as REAL,
    SINGLE as SINGLE,
    TRUTH as TRUTH,
    Value as Value,
    WHOLE as WHOLE,
    vector_type as vector_type,
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
from .optimization import (
    optimize as optimize,
)
from .system import (
    trace_condition as trace_condition,
)
from .program import (
    Operation as Operation,
    Program as Program,
    trace_program as trace_program,
)
from .system import (
    is_projected as is_projected,
    projected_state as projected_state,
)
from .sympy_target import (
    apply_kind as apply_kind,
    to_sympy as to_sympy,
)
from .system import (
    System as System,
    compile as compile,
    require_system as require_system,
)
from .devices import (
    word_of_record as word_of_record,
)
from .c_code import (
    c_number as c_number,
    print_sincos as print_sincos,
    print_statements as print_statements,
    print_tables as print_tables,
    used_inputs as used_inputs,
)
