"""A batch that is watched, cancelled or interrupted."""

import _thread
import signal
import threading

import numpy as np
import pytest

import noslip as ns


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class TestWatched:
    LONG = {"duration": 1e6, "count": 40, "inputs": {"torque": "sin(3*t)"}}

    @pytest.mark.usefixtures("ctrl_c")
    def test_ctrl_c_keeps_what_was_computed(self, pendulum):
        # compiled before the clock runs
        ns.simulate_batch(pendulum, threads=2, **self.LONG | {"duration": 0.1})
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        batch = ns.simulate_batch(pendulum, threads=2, **self.LONG)
        timer.join()
        assert all(ending is ns.Ending.CANCELLED for ending in batch.endings)
        assert np.all(batch.t < 1e6) and np.any(batch.t > 0.0)

    @pytest.mark.usefixtures("ctrl_c")
    def test_some_are_done_when_the_rest_is_cancelled(self, pendulum):
        cancel = threading.Event()
        batch = ns.simulate_batch(
            pendulum,
            duration=1e6,
            stop={"soon": "t - limit"},
            definitions={"limit": np.array([0.5, 1e7, 1e7, 0.7])},
            progress=lambda fraction: cancel.set() if fraction >= 0.5 else None,
            cancel=cancel,
        )
        names = [ending.name for ending in batch.endings]
        assert names == ["EVENT", "CANCELLED", "CANCELLED", "EVENT"]

    def test_an_error_in_progress_ends_the_batch(self, pendulum):
        def fail(fraction):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ns.simulate_batch(pendulum, progress=fail, **self.LONG)
