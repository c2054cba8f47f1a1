"""`Shelf`: the models a page can choose from: those of the library, and one file if one was given.

The file is the one named on the command line, never one that a page names. It is looked at every
half second; when it was saved, all pages that show it are told. A faulty file is reported and the
last good model stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from noslip.errors import NoslipError, SimulationError, nearest
from noslip.library import MODELS, load
from noslip.studio.running.mechanism import Mechanism

#: Seconds between looks at the file.
INTERVAL = 0.5

Told = Callable[[str, NoslipError | None], None]


class Shelf:
    """Models by the name a page has for them.

    Parameters
    ----------
    file : a model file to offer besides the library; it must be readable and without faults.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._made: dict[str, Mechanism] = {}
        self._listeners: list[Told] = []
        self._file = file
        self._stop = threading.Event()
        self._mark: tuple[int, int] | None = None
        self._is_away = False
        self.file_name = "" if file is None else file.name
        if self.file_name in MODELS:
            self.file_name += " (file)"
        if file is not None:
            self._mark = _mark(file)
            self._made[self.file_name] = Mechanism(load(file))
            threading.Thread(target=self._watch, name="noslip studio watch", daemon=True).start()

    @property
    def names(self) -> tuple[str, ...]:
        """What can be chosen, the file first."""
        return ((self.file_name,) if self.file_name else ()) + tuple(MODELS)

    def source(self, name: str) -> str:
        """What commands call a model."""
        return str(self._file) if name == self.file_name and self._file is not None else name

    def mechanism(self, name: str) -> Mechanism:
        """A model at hand.

        Raises
        ------
        SimulationError : the name is not one of `names`; it is never taken for a path.
        """
        if name not in self.names:
            raise SimulationError(
                f"there is no model '{name}' on this page", "model", nearest(name, self.names)
            )
        with self._lock:
            lock = self._loading.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                self._made[name] = Mechanism(load(name))
            return self._made[name]

    def listen(self, listener: Told) -> Callable[[], None]:
        """Be told when the file was read again, or could not be; returns how to stop."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.look()

    def look(self) -> None:
        """Read the file again if it was saved since."""
        file = self._file
        if file is None:
            return
        mark = _mark(file)
        if mark is None and not self._is_away:
            # an editor may be replacing it: look once more
            self._is_away = True
            return
        self._is_away = mark is None
        if mark == self._mark:
            return
        self._mark = mark
        fault: NoslipError | None = None
        try:
            self._made[self.file_name] = Mechanism(load(file))
        except NoslipError as error:
            fault = error
        except Exception as error:
            fault = SimulationError(
                f"the file cannot be read: {error}", str(file), "mend it and save it again"
            )
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(self.file_name, fault)


def _mark(file: Path) -> tuple[int, int] | None:
    """Time and size of a file; None while it is away, as when an editor replaces it."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
