"""Catalogs of ready models: what a name stands for where a model is asked for, and `load`.

A package of models registers its names by :func:`add_catalog` when it is imported. Those of
:data:`PACKAGES` are imported when a model is asked for the first time; noslip works without them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from noslip.base import ArgumentError, ModelError, nearest

if TYPE_CHECKING:
    from noslip.model.model import Model

#: Packages with catalogs that come with noslip: modules that register one.
PACKAGES = ("noslip.library.models",)

# name of a model → what builds it from the name
_BUILDERS: dict[str, Callable[[str], Model]] = {}


def add_catalog(names: Iterable[str], build: Callable[[str], Model]) -> None:
    """Register names that :func:`load` knows; of equal names the later one counts.

    Parameters
    ----------
    names : names of models, as users write them.
    build : function from one of the names to its model.
    """
    _BUILDERS.update(dict.fromkeys(names, build))


def load(source: str | Path) -> Model:
    """A model by its library name, or from a model file.

    Parameters
    ----------
    source : a name of :data:`MODELS`, such as ``"agv"``, or the path of a model file.

    Raises
    ------
    ModelError : if there is no such model or file, or the file has faults (all are listed).
    """
    if not isinstance(source, str | Path):
        raise ArgumentError(
            f"load takes a name of the library or a path, got {type(source).__name__}",
            "source, argument of load",
            'write load("agv") or load("robot.toml")',
        )
    for package in PACKAGES:
        if importlib.util.find_spec(package.rpartition(".")[0]):
            importlib.import_module(package)
    if isinstance(source, str) and source in _BUILDERS:
        return _BUILDERS[source](source)
    path = Path(source)
    from noslip.model.files import is_model_file, load_model, meant_file, model_suffixes

    if os.path.exists(path) or is_model_file(path):
        return load_model(path)
    fix = nearest(str(source), _BUILDERS, more="`noslip list` shows all")
    fix += f", or give the path of a {model_suffixes()} file"
    if meant := meant_file(path):
        fix = f"did you mean '{meant}'?"
    raise ModelError(f"there is no model '{source}'", "the library and this folder", fix)
