"""`Session`: what one page has chosen, and the newest run of it.

Every change makes a new frozen `Choice` and hands it to the worker, which simulates the newest one
and tells the view. Nothing is queued: a choice that came later takes the place of one that waits,
and the run of an older one is cancelled. No fault ends a session: the view is told about it.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from noslip.analysis.audit import audit
from noslip.engines.system import System
from noslip.errors import NoslipError, SimulationError, nearest
from noslip.show.scene.scene import scene
from noslip.simulation.trajectory import Trajectory
from noslip.studio.choosing.changes import only_known
from noslip.studio.choosing.choice import DRIVE, Choice, first_choice, kept_choice
from noslip.studio.choosing.controls import START, Controls, make_controls, widened
from noslip.studio.choosing.entries import check_options, read_assignment
from noslip.studio.running.mechanism import Mechanism
from noslip.studio.running.runs import check_mechanics, is_vakonomic, perform
from noslip.studio.running.shelf import Shelf
from noslip.studio.running.shown import Shown, View, faults_of, film
from noslip.studio.running.worker import Cancel, Worker

#: A run that was shown for less than this, s, was a stop on the way and leaves no ghost.
STANDING = 1.0
#: Pause, s, before what takes longer than a run is computed.
QUIET = 0.25


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    mechanism: Mechanism
    choice: Choice


class Session:
    """One page: its choice, its worker, its newest run.

    Parameters
    ----------
    shelf : models to choose from.
    name : of the first one.
    view : told about everything.
    clock : of the wall, s.
    """

    def __init__(
        self, shelf: Shelf, name: str, view: View, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.shelf, self.view, self._clock = shelf, view, clock
        self._lock = threading.RLock()
        self.name = name
        self.mechanism = shelf.mechanism(name)
        self.choice = first_choice(self.mechanism.model)
        self.shown: Shown | None = None
        self.ghost: Shown | None = None
        self.controls = Controls(groups={})
        self._shape: tuple[object, ...] = ()
        self._count = 0
        self._worker: Worker[_Request] = Worker(self._work, self._failed)
        self._forget = shelf.listen(self._file_was_saved)

    def start(self) -> None:
        """Run what the model does when nothing is touched."""
        self._submit()

    def close(self) -> None:
        """End the worker; the page is gone."""
        self._forget()
        self._worker.close()

    def join(self, seconds: float = 30.0) -> bool:
        """Wait until nothing is being computed."""
        return self._worker.join(seconds)

    # what a page can ask for

    def choose_model(self, name: str) -> None:
        """Show another model, from its first choice on."""
        mechanism = self.shelf.mechanism(name)
        with self._lock:
            self.name, self.mechanism = name, mechanism
            self.choice = dataclasses.replace(
                first_choice(mechanism.model), formulation=self.choice.formulation
            )
            self.ghost = None
            self._submit()

    def choose(self, **options: object) -> None:
        """Choose a formulation, task, path, timing, controller, reverse, duration or friction."""
        check_options(options)
        with self._lock:
            before = self.choice
            self.choice = dataclasses.replace(before, **options)  # type: ignore[arg-type]
            if self.choice.task != before.task:
                # a start of one task means little in another
                self.choice = self.choice.without(self.controls.names(START))
                self.choice = dataclasses.replace(self.choice, controller="none", duration=None)
            if (self.choice.path, self.choice.timing) != (before.path, before.timing):
                self.choice = dataclasses.replace(self.choice, numbers={}, duration=None)
            self._submit()

    def set_value(self, name: str, value: float) -> None:
        """Set a knob; one beyond its range widens it."""
        with self._lock:
            found = self.controls.find(name)
            if found is None:
                known = [k.name for knobs in self.controls.groups.values() for k in knobs]
                raise SimulationError(
                    f"there is no parameter, start value or number '{name}'",
                    f"model '{self.mechanism.model.name}'",
                    nearest(name, known),
                )
            group, knob = found
            if not knob.lower <= value <= knob.upper:
                self.controls = widened(self.controls, name, value)
                self.view.show_controls(self.controls, self._with(group, name, value))
            self.choice = self._with(group, name, value)
            self._submit()

    def type_value(self, text: str) -> None:
        """Set a knob by ``name = value``, as ``--set`` does; the value may be an expression."""
        name, number = read_assignment(text, self.values())
        self.set_value(name, number)

    def reset(self, group: str) -> None:
        """Take back what was changed in a group of knobs."""
        with self._lock:
            names = self.controls.names(group)
            numbers = {n: x for n, x in self.choice.numbers.items() if n not in names}
            self.choice = dataclasses.replace(self.choice.without(names), numbers=numbers)
            if "duration" in names:
                self.choice = dataclasses.replace(self.choice, duration=None)
            self._shape = ()
            self._submit()

    def set_input(self, name: str, text: str) -> None:
        """Type an input as an expression of time."""
        with self._lock:
            if name not in self.choice.inputs:
                raise SimulationError(
                    f"there is no input '{name}'", "inputs", nearest(name, self.choice.inputs)
                )
            inputs = {**self.choice.inputs, name: text.strip() or "0"}
            self.choice = dataclasses.replace(self.choice, inputs=inputs)
            self._submit()

    def type_form(self, family: str, text: str) -> None:
        """Type a path or a timing law as commands have it."""
        with self._lock:
            typed = {**self.choice.typed, family: text.strip()}
            self.choice = dataclasses.replace(self.choice, typed=typed)
            self._submit()

    def tasks(self) -> tuple[str, ...]:
        """What the model of this page can be asked to do; where it cannot even be compiled, one."""
        try:
            return self.mechanism.tasks()
        except Exception:
            return (self.choice.task,)

    def controllers(self, task: str) -> tuple[str, ...]:
        """Controllers that suit the model and a task."""
        return self.mechanism.controllers(task)

    def values(self) -> dict[str, float]:
        """Where every knob stands."""
        with self._lock:
            stands = {k.name: k.value for knobs in self.controls.groups.values() for k in knobs}
            stands |= self.choice.numbers
            if self.choice.duration is not None:
                stands["duration"] = self.choice.duration
            return stands | dict(self.choice.changes)

    def show_drive(self, run: Trajectory) -> None:
        """Show a drive that was stopped, like any other run."""
        with self._lock:
            system = self.mechanism.system(self.choice.formulation)
            self._count += 1
            self.shown = Shown(
                number=self._count,
                name=self.name,
                mechanism=self.mechanism,
                system=system,
                choice=self.choice,
                run=run,
                command="",
                scene=scene(run.model, run.parameters),
                frames=film(system, run),
                compute=0.0,
                since=self._clock(),
            )
            self.ghost = None
            shown = self.shown
            self.view.show_run(shown, None)
        self._show_audit(shown)

    # inside

    def _with(self, group: str, name: str, value: float) -> Choice:
        """The choice with a knob set."""
        choice = self.choice
        if name == "duration":
            return dataclasses.replace(choice, duration=value)
        if "." in name and name.split(".")[0] in ("path", "timing") and group == "task":
            return dataclasses.replace(choice, numbers={**self._form_numbers(), name: value})
        values = {name: value}
        found = self.controls.find(name)
        if found is not None and found[1].bundle:
            stands = self.values()
            same = [k.name for k in self.controls.groups[group] if k.bundle == found[1].bundle]
            values = {n: stands[n] for n in same} | values
        return choice.with_changes(values)

    def _form_numbers(self) -> Mapping[str, float]:
        """All numbers of the path and its timing, touched or not."""
        knobs = self.controls.groups.get("task", ())
        return {k.name: k.value for k in knobs if "." in k.name} | dict(self.choice.numbers)

    def _submit(self) -> None:
        with self._lock:
            self._worker.submit(_Request(self.name, self.mechanism, self.choice))

    def _work(self, request: _Request, cancel: Cancel) -> None:
        """Simulate and tell the view; then, when it is quiet, what takes longer."""
        choice, mechanism = request.choice, request.mechanism
        system = mechanism.system(choice.formulation)
        cancel.check()
        begin = self._clock()
        choice = only_known(choice, system)
        parameters = {
            p.name: choice.changes[p.name]
            for p in mechanism.model.parameters
            if p.name in choice.changes
        }
        look = scene(mechanism.model, parameters)
        choice = self._with_form_numbers(system, choice, look.length)
        if choice.task == DRIVE:
            self._publish_controls(request, system, choice, None, look.length)
            check_mechanics(system, choice)
            self.view.show_drive_start(system, choice, look)
            self.view.show_faults(())
            return
        try:
            run, command = perform(system, self.shelf.source(request.name), choice, cancel)
        except NoslipError:
            cancel.check()
            self._publish_controls(request, system, choice, None, look.length)
            raise
        compute = self._clock() - begin
        if not len(run.t):
            raise SimulationError(run.message, f"model '{run.model.name}'", "change the start")
        pictures = film(system, run)
        cancel.check()
        with self._lock:
            cancel.check()
            self._count += 1
            shown = Shown(
                number=self._count,
                name=request.name,
                mechanism=mechanism,
                system=system,
                choice=choice,
                run=run,
                command=command,
                scene=look,
                frames=pictures,
                compute=compute,
                since=self._clock(),
            )
            self._keep_ghost(shown)
            self.shown = shown
            self._publish_controls(request, system, choice, run, look.length)
            self.view.show_faults(())
            self.view.show_run(shown, self.ghost)
        cancel.wait(QUIET)
        self._show_audit(shown, cancel)

    def _show_audit(self, shown: Shown, cancel: Cancel | None = None) -> None:
        """What the ground must hold in a run."""
        choice = shown.choice
        has_ground = bool(shown.mechanism.model.contacts) and not is_vakonomic(choice)
        found = audit(shown.system, shown.run, choice.friction) if has_ground else None
        if cancel is not None:
            cancel.check()
        self.view.show_audit(shown, found)

    def _with_form_numbers(self, system: System, choice: Choice, length: float) -> Choice:
        """The choice with every number of its path and timing, for those not touched yet."""
        if choice.task != "path":
            return choice
        knobs = make_controls(system, choice, None, length).groups["task"]
        numbers = {k.name: k.value for k in knobs if "." in k.name} | dict(choice.numbers)
        return dataclasses.replace(choice, numbers=numbers)

    def _keep_ghost(self, new: Shown) -> None:
        """What was shown for a while becomes the ghost of what is shown now."""
        old = self.shown
        if old is None or old.mechanism.model.name != new.mechanism.model.name:
            self.ghost = None
        elif old.choice.task != new.choice.task:
            self.ghost = None
        elif new.since - old.since >= STANDING:
            self.ghost = old

    def _publish_controls(
        self,
        request: _Request,
        system: System,
        choice: Choice,
        run: Trajectory | None,
        length: float,
    ) -> None:
        """Tell the view about other knobs, if they are others."""
        with self._lock:
            has_start = run is not None
            shape = (
                *(request.mechanism, choice.formulation, choice.task, choice.path, choice.timing),
                has_start,
            )
            known = self._shape
            if shape == known or (not has_start and known[:5] == shape[:5]):
                return
            self.controls = make_controls(system, choice, run, length)
            for name, value in {**choice.changes, **choice.numbers}.items():
                self.controls = widened(self.controls, name, value)
            self._shape = shape
            self.view.show_controls(self.controls, choice)

    def _failed(self, error: Exception) -> None:
        self.view.show_faults(faults_of(error))

    def _file_was_saved(self, name: str, error: NoslipError | None) -> None:
        """Take the model that was saved, with the values that still have a place in it."""
        with self._lock:
            if error is not None:
                self.view.show_file_faults(error.faults)
                return
            self.view.show_file_faults(())
            if name != self.name:
                return
            old, self.mechanism = self.mechanism, self.shelf.mechanism(name)
            self.choice = kept_choice(self.choice, old.model, self.mechanism.model)
            self._submit()
