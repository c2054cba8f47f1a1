"""A Python function of the point as the work of a sweep."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from noslip import NoslipError, SimulationError, derive, load_plugin
from noslip import compile as compile_system
from noslip.base import nearest
from noslip.sweeps.design import Array
from noslip.sweeps.measures import ERROR, FINISHED, PointResults, ResultVariable
from noslip.sweeps.work import AbstractWork


class FunctionWork(AbstractWork):
    """A Python function of the point: ``function(point)`` or ``function(system, point)``.

    It is named as ``module:function`` or ``file.py:function`` and gives a number for each measure,
    by name, or the number itself if there is one. Measures may say their unit: ``"cost [J]"``.
    """

    word = "function"
    defaults: ClassVar[Mapping[str, Any]] = {"function": None, "set": {}}

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Find the function."""
        given = self.settings["function"]
        self.function = given if callable(given) else find_function(str(given or ""), self.where)
        arguments = [
            p
            for p in inspect.signature(self.function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        ]
        if len(arguments) not in (1, 2):
            raise SimulationError(
                f"the function takes {len(arguments)} arguments",
                self.where,
                "write function(point) or function(system, point)",
            )
        self.system = compile_system(derive(self.model)) if len(arguments) == 2 else None
        self._names: dict[str, str] = {}
        self._measures = {}
        for text in measures:
            name, _, unit = text.removesuffix("]").partition("[")
            self._measures[text] = (name.strip(), unit.strip())

    def names(self) -> dict[str, str]:
        """Any name; those of the model have units."""
        return {p.name: p.unit for p in self.model.parameters}

    def check_varied(self, names: Iterable[str]) -> None:
        """Any name may be varied."""

    def variables(self) -> dict[str, ResultVariable]:
        """Numbers."""
        return {text: ResultVariable(unit) for text, (_, unit) in self._measures.items()}

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Calls one by one; whatever the function raises is the reason of a failure."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            point = {**self.settings["set"], **point}
            arguments = (point,) if self.system is None else (self.system, point)
            try:
                found = self.function(*arguments)
                table = found if isinstance(found, Mapping) else None
                if table is None:
                    (text,) = self._measures
                    return {text: float(found)}, FINISHED, ""
                kept = {t: float(table[name]) for t, (name, _) in self._measures.items()}
                return kept, FINISHED, ""
            except NoslipError:
                raise
            except Exception as error:
                return {}, ERROR, f"{type(error).__name__}: {error}"[:500]

        return self.one_by_one(values, count, cancel, work)


def find_function(text: str, where: str) -> Callable[..., Any]:
    """The function that ``module:function`` or ``file.py:function`` names. Its module is run.

    Raises
    ------
    SimulationError : there is none.
    """
    module, _, name = text.rpartition(":")
    if not module or not name.isidentifier():
        raise SimulationError(
            f"'{text}' is not the name of a function",
            where,
            "write module:function or file.py:function",
        )
    home = load_plugin(module) if module.endswith(".py") else importlib.import_module(module)
    function = getattr(home, name, None)
    if not callable(function):
        raise SimulationError(
            f"there is no function '{name}' in '{module}'",
            where,
            nearest(name, [n for n, x in vars(home).items() if callable(x)]),
        )
    return function


def function_text(function: Callable[..., Any]) -> str:
    """``module:function`` of a function that other processes can import; "" if they cannot."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return ""
    found = getattr(importlib.import_module(module), name, None)
    return f"{module}:{name}" if found is function else ""
