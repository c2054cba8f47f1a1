"""Families of file formats: models, equations, systems and runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.files import (
        AbstractModelText as AbstractModelText,
    )
    from noslip.show.equations.equation_formats import (
        AbstractEquationFormat as AbstractEquationFormat,
    )
    from noslip.bridges.exports import (
        AbstractSystemFormat as AbstractSystemFormat,
    )
    from noslip.simulation.run_files import (
        AbstractRunFormat as AbstractRunFormat,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
