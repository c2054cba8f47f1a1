"""Names that other packages may use, in the order in which they are needed."""

from .arithmetic import (
    CONSTANTS as CONSTANTS,
    Call as Call,
    Expression as Expression,
    ExpressionError as ExpressionError,
    FUNCTIONS as FUNCTIONS,
    MEASURES as MEASURES,
    Measure as Measure,
    NUMBERS as NUMBERS,
    Name as Name,
    Number as Number,
    RATE as RATE,
    Scalar as Scalar,
    apply as apply,
    apply_to_numbers as apply_to_numbers,
    evaluate as evaluate,
    fold as fold,
    is_finite as is_finite,
    measures_in as measures_in,
    names_in as names_in,
    names_of as names_of,
    nominal as nominal,
    order as order,
    parse as parse,
)
from .letters import (
    GREEK as GREEK,
    GREEK_LETTERS as GREEK_LETTERS,
    GREEK_NAMES as GREEK_NAMES,
    greek_index as greek_index,
    read_symbol as read_symbol,
)
from .units import (
    Dimension as Dimension,
    PURE as PURE,
    UnitError as UnitError,
    power as power,
    rate_unit as rate_unit,
    read_unit as read_unit,
    times as times,
    unit_text as unit_text,
)
