"""A view that writes down what a studio's session tells it."""

import threading

from noslip.studio.session import Session


class Record:
    """Everything that was told, in order; `Session` calls it from its own threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.runs = []
        self.ghosts = []
        self.kept = None
        self.audits = []
        self.faults = ()
        self.file_faults = ()
        self.controls = None
        self.drives = []

    @property
    def shown(self):
        return self.runs[-1]

    def show_controls(self, controls, choice):
        self.controls = controls

    def show_run(self, shown, ghost):
        with self.lock:
            self.runs.append(shown)
            self.ghosts.append(ghost)

    def show_kept(self, kept):
        self.kept = kept

    def show_audit(self, shown, found):
        self.audits.append((shown, found))

    def show_drive_start(self, system, choice, scene):
        self.drives.append((system, choice, scene))

    def show_faults(self, faults):
        self.faults = faults

    def show_file_faults(self, faults):
        self.file_faults = faults


def show(catalog, name, *steps):
    """What a session shows after some steps."""
    record = Record()
    session = Session(catalog, name, record)
    try:
        session.start()
        for step in (lambda s: None, *steps):
            step(session)
            assert session.join()
        assert record.faults == ()
        return record
    finally:
        session.close()
