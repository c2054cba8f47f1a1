"""Values of parameters: given in place of the model's, folded into the code, and checked.

The checks of a model walk through all its fields, which takes milliseconds. Of a model that passed
them, other values can change signs and make expressions undefined, and nothing else. Everything the
checks depend on is therefore traced once as a function of the parameters, which gives a sufficient
condition for the checks to pass. Values that meet it are accepted; for values that do not, or
nearly do not, the checks themselves are run: they decide, and say what is wrong.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import CompileError, SimulationError, is_truth, nearest
from noslip.expressions import CONSTANTS, Name, Number, apply, fold, nominal, parse
from noslip.model import (
    LARGEST,
    NOT_NEGATIVE,
    POSITIVE,
    SMALLEST,
    Body,
    Meaning,
    Model,
    check_model,
    leaves,
    texts_of,
)

#: Directions and minors of inertia tensors below this, relative to 1 or to the trace, are too
#: close to zero for the condition.
CLOSE = 1e-11
#: Number of checked values from which on it pays to trace the condition.
OFTEN = 4


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


def folded_values(model: Model, folded: bool | Sequence[str]) -> dict[str, float]:
    """Values of the parameters that become constants of the code: those named, or all for True."""
    values = model.parameter_values()
    if isinstance(folded, bool):
        return values if folded else {}
    if isinstance(folded, str):
        raise CompileError(
            f"fold is '{folded}'",
            f"compilation of model '{model.name}'",
            f"give a list: fold=['{folded}'], or True for all parameters",
        )
    if isinstance(folded, Mapping) or not isinstance(folded, Iterable):
        raise CompileError(
            f"fold is {folded!r:.60}",
            f"compilation of model '{model.name}'",
            "give a list of names, or True for all parameters; their values are the model's",
        )
    for name in folded:
        if name not in values:
            raise CompileError(
                f"there is no parameter '{name}' to fold",
                f"compilation of model '{model.name}'",
                nearest(str(name), values),
            )
    return {name: values[name] for name in values if name in folded}


class ParameterChecker:
    """Checks values of a model's parameters; those checked last are cached.

    Parameters
    ----------
    model : whose parameters they are.
    inertia : check of the degrees of freedom at a vector of them.
    """

    def __init__(
        self, model: Model, inertia: Callable[[NDArray[np.float64]], None] | None = None
    ) -> None:
        self.model, self._inertia = model, inertia
        # a run checks the same ones several times
        self._accepted: deque[tuple[float, ...]] = deque(maxlen=16)

    @cached_property
    def _condition(self) -> SufficientCondition:
        return trace_condition(self.model)

    def checked_vector(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Values of all parameters in their order, checked.

        Raises
        ------
        ModelError : if the checks of the model refuse them.
        FormulationError : if a degree of freedom has no inertia with them.
        """
        key = tuple(values.values())
        vector = np.array(key, dtype=float)
        if key not in self._accepted:
            is_often = len(self._accepted) >= OFTEN
            if not (is_often and self._condition.holds(vector)):
                check_values(self.model, values)
                if self._inertia is not None:
                    self._inertia(vector)
            self._accepted.append(key)
        return vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SufficientCondition:
    """Condition on parameter values under which the checks of the model pass.

    Parameters
    ----------
    function : of the parameters: the least number that must be positive, the least that must not be
        negative, and the sum of the sizes of all that must be finite, these among them.
    """

    function: ca.Function

    def holds(self, values: NDArray[np.float64]) -> bool:
        """Whether these values meet the condition."""
        sizes = np.abs(values)
        usual = (sizes >= SMALLEST) & (sizes <= LARGEST)
        if not (usual | (sizes == 0.0)).all():
            return False
        positive, not_negative, total = self.function(values).elements()
        return math.isfinite(total) and positive > 0.0 and not_negative >= 0.0

    def hold(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) whether each of (n, np) rows of values meets the condition."""
        sizes = np.abs(rows)
        usual = (((sizes >= SMALLEST) & (sizes <= LARGEST)) | (sizes == 0.0)).all(axis=1)
        positive, not_negative, total = np.array(self.function(rows.T))
        return usual & np.isfinite(total) & (positive > 0.0) & (not_negative >= 0.0)


def trace_condition(model: Model) -> SufficientCondition:
    """The condition for other parameter values of a model that passes its checks."""
    params = ca.SX.sym("p", len(model.parameters))
    symbols = {p.name: params[k] for k, p in enumerate(model.parameters)}
    checked = _CheckedTerms(symbols, model.parameter_values())
    for path, key, _, value in leaves(model):
        if path[0] != "scenario":
            for _, text in texts_of(path, key, value):
                checked.value(text)
            checked.add_field(key.meaning, value)
    for asked in model.part_signs:
        checked.add_field(Meaning(sign=asked.sign), asked.values)
    for body in model.bodies:
        checked.add_body(body)
    groups = (checked.positive, checked.not_negative, checked.finite)
    positive, not_negative, finite = ([e for e in g if not e.is_constant()] for g in groups)
    least = [ca.mmin(ca.vertcat(1.0, *group)) for group in (positive, not_negative)]
    total = ca.sum1(ca.fabs(ca.vertcat(0.0, *positive, *not_negative, *finite)))
    outputs = ca.vertcat(*least, total)
    return SufficientCondition(function=ca.Function("condition", [params], [outputs]))


class _CheckedTerms:
    """Terms that the checks of a model test, in the symbols of its parameters."""

    def __init__(self, parameters: Mapping[str, ca.SX], nominal: Mapping[str, float]) -> None:
        self._nominal = nominal
        self._known = {**{name: ca.SX(x) for name, x in CONSTANTS.items()}, **parameters}
        self._values: dict[str, ca.SX | None] = {}
        self.positive: list[ca.SX] = []
        self.not_negative: list[ca.SX] = []
        self.finite: list[ca.SX] = []

    def value(self, scalar: Any) -> ca.SX | None:
        """A scalar that depends on parameters alone, else None; all its subterms must be finite."""
        if isinstance(scalar, str):
            if scalar not in self._values:
                self._values[scalar] = fold(
                    parse(scalar), self._leaf, self._call, lambda _, __: None
                )
            return self._values[scalar]
        return ca.SX(scalar) if isinstance(scalar, int | float) else None

    def _leaf(self, node: Number | Name) -> ca.SX | None:
        return ca.SX(node.value) if isinstance(node, Number) else self._known.get(node.name)

    def _call(self, function: str, arguments: list[ca.SX | None]) -> ca.SX | None:
        if function == "/" and arguments[1] is not None:
            self.positive.append(ca.fabs(arguments[1]))
        if any(argument is None for argument in arguments):
            return None
        self.finite.append(apply(function, arguments, ca))
        return self.finite[-1]

    def add_field(self, meaning: Meaning, given: Any) -> None:
        """A field that has a sign or is a direction; others are left alone."""
        if not meaning.sign and not meaning.is_direction:
            return
        values = self._values_of(given if isinstance(given, tuple) else (given,))
        if meaning.sign == POSITIVE:
            self.positive += values
        if meaning.sign == NOT_NEGATIVE:
            self.not_negative += values
        if meaning.is_direction and len(values) == 3:
            self.positive.append(ca.norm_1(ca.vertcat(*values)) - CLOSE)

    def add_body(self, body: Body) -> None:
        """Mass and inertia: with three moments each has a sign, with products the minors do."""
        moments = self._values_of(body.inertia or ())
        self._add_inertia((body.mass, body.moment))
        if len(moments) == 3 == len(body.inertia or ()):
            self._add_inertia(body.inertia or ())
        if len(moments) == 6:
            xx, yy, zz, xy, xz, yz = moments
            size, minor = ca.fabs(xx) + ca.fabs(yy) + ca.fabs(zz), xx * yy - xy * xy
            whole = zz * minor - yz * (xx * yz - xy * xz) + xz * (xy * yz - yy * xz)
            minors = (xx, minor, whole)
            self.positive += [m - CLOSE * size ** (k + 1) for k, m in enumerate(minors)]

    def _add_inertia(self, scalars: Iterable[Any]) -> None:
        """Masses or moments: those that vanish at other values may leave a freedom without one."""
        for scalar in scalars:
            value = self.value(scalar)
            if value is not None:
                has_one = nominal(scalar, self._nominal) > 0.0
                (self.positive if has_one else self.not_negative).append(value)

    def _values_of(self, scalars: Iterable[Any]) -> list[ca.SX]:
        """Values of the scalars that depend on parameters alone."""
        return [value for value in map(self.value, scalars) if value is not None]
