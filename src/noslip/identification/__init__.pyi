"""Names that other packages may use, in the order in which they are needed."""

from .fit import (
    ColumnFit as ColumnFit,
    FittedCurve as FittedCurve,
    FittedValue as FittedValue,
    UNLIKELY as UNLIKELY,
)
