"""The public names of `noslip.formats`; read at run time too."""

from .model.files import (
    AbstractModelText as AbstractModelText,
)
from .show.equations.documents import (
    AbstractEquationFormat as AbstractEquationFormat,
)
from .bridges.exports import (
    AbstractSystemFormat as AbstractSystemFormat,
)
from .simulation.trajectory import (
    AbstractRunFormat as AbstractRunFormat,
)
