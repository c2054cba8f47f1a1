"""`Mechanism`: a model at hand, compiled once for each formulation and shared by all pages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import noslip.control.text  # noqa: F401  (all controllers of the package)
from noslip.control.controllers.base import AbstractControllerPlan, FeedForward
from noslip.control.motions.follower import find_follower
from noslip.engines.system import System
from noslip.engines.system import compile as compile_system
from noslip.errors import SimulationError
from noslip.families import members_of
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
        system = self.system("complement")
        known: dict[str, Any] = {}
        if task == PATH and PATH in self.tasks():
            known = find_follower(system, system.parameters()).arguments()
        members = members_of(AbstractControllerPlan, installed=True)
        found = (member.word for member in members if member.suits(system, known))
        return tuple(sorted(found, key=lambda word: word != FeedForward.word))

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
