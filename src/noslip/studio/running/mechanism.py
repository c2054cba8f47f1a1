"""`Mechanism`: a model at hand, compiled once for each formulation and shared by all pages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from noslip.control.controllers.joints import independent_coordinates
from noslip.control.motions.follower import find_follower
from noslip.engines.system import System
from noslip.engines.system import compile as compile_system
from noslip.errors import SimulationError
from noslip.formulations.certificate import Certificate
from noslip.formulations.derive import derive
from noslip.formulations.verify import verify
from noslip.model.model import Model
from noslip.studio.choosing.choice import DRIVE, INPUTS, PATH, SCENARIO, WAYS

Found = TypeVar("Found")


class Mechanism:
    """A model with everything that is found once and needed often.

    Parameters
    ----------
    model : checked model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._found: dict[str, Any] = {}

    def system(self, formulation: str) -> System:
        """The system by a formulation's word."""
        return self._once(
            f"system {formulation}", lambda: compile_system(derive(self.model, WAYS[formulation]))
        )

    def tasks(self) -> tuple[str, ...]:
        """What the model can be asked to do."""
        return self._once("tasks", self._tasks)

    def controllers(self, task: str) -> tuple[str, ...]:
        """Controllers that suit a task, none of them first."""
        found = ["none"]
        system = self.system("complement")
        enough = len(self.model.inputs) >= len(system.independent_speeds)
        if enough and _has_independent_coordinates(system):
            found.append("computed-torque")
        if task == PATH and PATH in self.tasks():
            steers = bool(find_follower(system, system.parameters()).steering)
            two = len(system.independent_speeds) == 2 and not self.model.speed_inputs
            found += ["steered"] if steers else ["pose"] if two else []
        return tuple(found)

    def _tasks(self) -> tuple[str, ...]:
        system = self.system("complement")
        scenario = self.model.scenario
        found = [SCENARIO, INPUTS] if scenario is not None else [INPUTS]
        if self.model.inputs and len(self.model.inputs) >= len(system.independent_speeds):
            with suppress(SimulationError):
                find_follower(system, system.parameters())
                found.append(PATH)
        if self.model.inputs or self.model.speed_inputs:
            found.append(DRIVE)
        return tuple(found)

    def certificate(self) -> Certificate:
        """What `verify` says about the model."""
        return self._once("certificate", lambda: verify(self.model))

    def equations_html(self, formulation: str) -> str:
        """The equations of motion in MathML, with the derivation to be opened."""
        from noslip.show.notebook import equations_html

        equations = self.system(formulation).equations
        return self._once(f"equations {formulation}", lambda: equations_html(equations))

    def _once(self, key: str, find: Callable[[], Found]) -> Found:
        """What was found before, or is found now; two pages that ask at once wait for one."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = find()
            found: Found = self._found[key]
            return found


def _has_independent_coordinates(system: System) -> bool:
    try:
        independent_coordinates(system)
    except SimulationError:
        return False
    return True
