"""Values of parameters: those given in place of the model's, and those folded into the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from noslip.errors import CompileError, SimulationError, nearest
from noslip.model.checks import check_model
from noslip.model.model import Model
from noslip.numeric import is_truth


def changed_values(model: Model, given: Mapping[str, float]) -> dict[str, float]:
    """Nominal values of all parameters, changed where `given` says so."""
    values = model.parameter_values()
    where = f"model '{model.name}', parameters"
    for name, value in given.items():
        if name not in values:
            raise SimulationError(f"there is no parameter '{name}'", where, nearest(name, values))
        try:
            if isinstance(value, str | bytes) or is_truth(value):
                raise TypeError("float would read a text as a number, and True as 1")
            values[name] = float(value)
        except (TypeError, ValueError):
            raise SimulationError(
                f"parameter '{name}' is {value!r}, which is not a number",
                where,
                "give a number in the parameter's unit",
            ) from None
    return values


def check_not_folded(
    model: Model, values: Mapping[str, float], folded: Mapping[str, float]
) -> None:
    """Refuse other values of parameters than those the code was compiled for."""
    for name, value in folded.items():
        if values[name] != value:
            raise SimulationError(
                f"parameter '{name}' is {values[name]:.9g}, but the code was compiled for "
                f"{value:.9g}",
                f"model '{model.name}', parameters",
                f"leave '{name}' out of fold=… when compiling, or compile a model with the new "
                "value",
            )


def check_values(model: Model, values: Mapping[str, float]) -> None:
    """Refuse parameter values that the model's own checks refuse, such as a negative mass."""
    changed = tuple(dataclasses.replace(p, value=values[p.name]) for p in model.parameters)
    check_model(dataclasses.replace(model, parameters=changed, scenario=None))


def folded_values(model: Model, fold: bool | Sequence[str]) -> dict[str, float]:
    """Values of the parameters that are to be constants."""
    values = model.parameter_values()
    if isinstance(fold, bool):
        return values if fold else {}
    if isinstance(fold, str):
        raise CompileError(
            f"fold is '{fold}'",
            f"compilation of model '{model.name}'",
            f"give a list: fold=['{fold}'], or True for all parameters",
        )
    if isinstance(fold, Mapping) or not isinstance(fold, Iterable):
        raise CompileError(
            f"fold is {fold!r:.60}",
            f"compilation of model '{model.name}'",
            "give a list of names, or True for all parameters; their values are the model's",
        )
    for name in fold:
        if name not in values:
            raise CompileError(
                f"there is no parameter '{name}' to fold",
                f"compilation of model '{model.name}'",
                nearest(str(name), values),
            )
    return {name: values[name] for name in values if name in fold}
