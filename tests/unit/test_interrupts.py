"""Ctrl-C out of functions that call CasADi: it reaches the caller, at the latest at their end."""

import signal
import sys
import threading

import pytest

import noslip as ns
from noslip.base import interruptible

#: A function of a file of this name, as those of CasADi's bindings are.
BINDING = {}
exec(compile("def call(f):\n    return f()\n", "/somewhere/casadi.py", "exec"), BINDING)


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where tests run in the background; at the end too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press():
    signal.raise_signal(signal.SIGINT)


def test_it_is_raised_at_once_outside_of_casadi():
    passed = []

    @interruptible
    def work():
        press()
        passed.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not passed


def test_it_waits_within_casadi():
    passed = []

    @interruptible
    def work():
        BINDING["call"](lambda: (press(), passed.append(1)))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert passed == [1]


def test_it_is_raised_soon_after_casadi_has_returned():
    """Within what comes next, which would take a minute."""
    passed = []

    @interruptible
    def work():
        BINDING["call"](press)
        threading.Event().wait(60.0)
        passed.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not passed


def test_what_drops_it_does_not_keep_it(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Dropping:
        def __del__(self):
            press()

    @interruptible
    def work():
        Dropping()
        return 1

    with pytest.raises(KeyboardInterrupt):
        work()


def test_what_a_library_makes_of_it_does_not_count():
    @interruptible
    def work():
        try:
            press()
        except KeyboardInterrupt:
            raise NotImplementedError("Wrong number or type of arguments") from None

    with pytest.raises(KeyboardInterrupt):
        work()


def test_another_thread_and_another_handler_are_left_alone():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        assert interruptible(lambda: (press(), 7)[1])() == 7
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    found = []
    thread = threading.Thread(target=lambda: found.append(interruptible(lambda: 7)()))
    thread.start()
    thread.join()
    assert found == [7]


def test_functions_keep_what_they_say_of_themselves():
    for function in (ns.trace, ns.derive, ns.compile, ns.verify):
        assert function.__doc__ and function.__wrapped__.__name__ == function.__name__


@pytest.mark.slow
def test_ctrl_c_ends_a_loop_of_derivations():
    """Most of the time is CasADi's: without the wait, 8 of 12 were lost."""
    model = ns.load("rolling-disk")
    for _ in range(4):
        main = threading.main_thread().ident
        timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while timer.is_alive():
                ns.derive(model)
            pytest.fail("it was lost")
