"""Names that other packages may use, in the order in which they are needed."""

from .arguments import (
    checked as checked,
    Array as Array,
    as_number as as_number,
    finite_or_none as finite_or_none,
    real_array as real_array,
)
from .files import (
    absolute as absolute,
    made_parents as made_parents,
    remove_stale as remove_stale,
    reported as reported,
    write_atomically as write_atomically,
    OutputFolder as OutputFolder,
)
from .memory import (
    IdentityKey as IdentityKey,
    LRUCache as LRUCache,
    value_key as value_key,
    check_memory as check_memory,
)
from .errors import (
    ArgumentError as ArgumentError,
    CompileError as CompileError,
    DeviceError as DeviceError,
    Fault as Fault,
    FormulationError as FormulationError,
    MissingNameError as MissingNameError,
    MissingPlaceError as MissingPlaceError,
    ModelError as ModelError,
    NoslipError as NoslipError,
    SimulationError as SimulationError,
    StorageError as StorageError,
    counted as counted,
    nearest as nearest,
    install_command as install_command,
    is_installed as is_installed,
    missing_package as missing_package,
    require as require,
)
from .families import (
    IF_YOUR_OWN as IF_YOUR_OWN,
    Member as Member,
    base_of as base_of,
    find_member as find_member,
    members_of as members_of,
    usual_word as usual_word,
    words_of as words_of,
    AbstractFormat as AbstractFormat,
    check_folder as check_folder,
    find_format as find_format,
    format_called as format_called,
    format_of as format_of,
    known_formats as known_formats,
    write_file as write_file,
)
from .progress import (
    interruptible as interruptible,
    is_within_casadi as is_within_casadi,
    repeat as repeat,
)
from .public import (
    field_texts as field_texts,
    lend as lend,
)
from .files import (
    LARGEST as LARGEST,
    check_hdf5_heaps as check_hdf5_heaps,
    check_plain as check_plain,
    csv_rows as csv_rows,
    names_beside as names_beside,
    open_plain as open_plain,
    read_bytes as read_bytes,
    read_number as read_number,
    read_text as read_text,
)
