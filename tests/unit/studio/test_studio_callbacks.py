"""What a page shows when clicks, typed values and the studio's own messages cross each other."""

import threading
import time

import numpy as np
import pytest
from socket_page import PATIENCE, opened

pytest.importorskip("viser")

FAULT = '<div class="fault'


def only_page(studio):
    return next(page for page in studio.pages.values() if page is not None)


def test_a_time_typed_while_an_older_one_is_under_way_is_shown_in_the_end():
    """The studio sends times while it plays; the browser types before it has got the last one."""
    with opened("knife-edge") as (studio, page):
        shown = only_page(studio)
        bar = page.uuid("t [s]")
        page.wait_until(lambda: sum(u == bar for u, _ in page.updates) > 3)  # it plays
        page.set("t [s]", 3.5)
        page.wait_until(lambda: page.uuid("Play"))
        # the last that the browser gets is what was typed, and where the cursor stands
        page.wait_until(lambda: [up for u, up in page.updates if u == bar][-1] == {"value": 3.5})
        assert shown.player.time(time.monotonic()) == 3.5
        assert page.value("t [s]") == 3.5


def test_a_typed_time_whose_callback_waits_is_not_that_of_a_run_that_plays():
    with opened("knife-edge") as (studio, page):
        shown = only_page(studio)
        free = threading.Event()
        workers = shown.client.gui._thread_executor
        for _ in range(workers._max_workers):
            workers.submit(free.wait, PATIENCE)
        page.set("t [s]", 3.5)
        # it plays on meanwhile
        count, bar = len(page.updates), page.uuid("t [s]")
        page.wait_until(lambda: sum(u == bar for u, _ in page.updates[count:]) > 5)
        free.set()
        page.wait_until(lambda: page.uuid("Play"))
        page.wait_until(lambda: page.value("t [s]") == 3.5)
        assert shown.player.time(time.monotonic()) == 3.5


def test_a_value_typed_into_a_slider_that_is_being_replaced_counts():
    """What was typed after Reset was pressed, before the new sliders have come, is not lost."""
    with opened("knife-edge") as (studio, page):
        session = only_page(studio).session
        old = page.uuid("m [kg]")
        page.press("Reset")
        page.wait_until(lambda: page.uuid("m [kg]") not in (old, None))
        page.send(old, 2.5)
        page.wait_until(lambda: session.choice.changes.get("m") == 2.5)
        page.wait_until(lambda: page.value("m [kg]") == 2.5)
        page.wait_until(lambda: only_page(studio).shown.run.parameters["m"] == 2.5)
        # of a knob that is no longer there, and of another model, nothing counts
        gone = page.uuid("m [kg]")
        page.set("model", "agv")
        page.wait_until(lambda: "computed in" in page.html() and session.name == "agv")
        page.send(gone, 1.5)
        page.set("model", "knife-edge")
        page.wait_until(lambda: page.uuid("m [kg]") not in (gone, None))
        page.send(gone, 1.7)
        page.set("slope [rad]", 0.3)
        page.wait_until(lambda: session.choice.changes.get("slope") == 0.3)
        assert "m" not in session.choice.changes and FAULT not in page.html()


def test_what_comes_late_from_a_slider_before_undo_does_not_count():
    with opened("knife-edge") as (studio, page):
        session = only_page(studio).session
        page.set("m [kg]", 1.5)
        page.wait_until(lambda: session.choice.changes.get("m") == 1.5)
        old = page.uuid("m [kg]")
        page.set("change", "Undo")
        page.wait_until(lambda: page.uuid("m [kg]") not in (old, None))
        page.send(old, 1.6)
        page.set("slope [rad]", 0.3)
        page.wait_until(lambda: session.choice.changes.get("slope") == 0.3)
        assert "m" not in session.choice.changes
        assert page.value("m [kg]") == 1.2


def test_a_bicycle_that_fell_starts_again_however_often_the_button_is_pressed():
    with opened("whipple-bicycle") as (studio, page):
        panel = only_page(studio).drive_panel
        page.set("task", "Drive it yourself")
        page.set("keep balance", False)
        page.set("steer_torque [N·m]", -2.0)
        page.wait_until(lambda: "it has fallen over" in page.html())
        page.wait_until(lambda: page.uuid("Start again"))
        assert page.uuid("Stop and show the run") is None and page.uuid("Drive on") is None
        page.set("keep balance", True)
        again = page.wait_until(lambda: page.uuid("turning [rad/s]") and page.uuid("Start again"))
        # three clicks before the page is told that it rides
        with panel._lock:
            for _ in range(3):
                page.click(again)
            time.sleep(0.2)
        page.wait_until(lambda: page.uuid("Stop and show the run"))
        page.wait_until(lambda: FAULT not in page.html())
        page.wait_until(lambda: panel._driver.t > 1.0)
        # the time bar is that of the drive, and ends where it is
        before = page.wait_until(lambda: page.value("t [s]"))
        page.wait_until(lambda: before < page.value("t [s]") <= panel._driver.t)
        assert panel.is_driving and page.uuid("Start again") is None
        # a slider of the panel before says nothing any more
        assert np.all(panel._driver.commands[1:] == 0.0)
        page.press("Stop and show the run")
        page.wait_until(lambda: page.uuid("Drive on"))
        page.wait_until(lambda: "computed in" not in page.html())
        assert FAULT not in page.html()


def test_no_time_comes_after_a_pause_is_shown():
    """Else a time that is typed then would be mixed with it."""
    with opened("knife-edge") as (studio, page):
        bar = page.uuid("t [s]")
        page.wait_until(lambda: sum(u == bar for u, _ in page.updates) > 3)  # it plays
        page.press("Pause")
        page.wait_until(lambda: page.uuid("Play"))
        paused = page.updates.index((page.uuid("Play"), {"label": "Play"}))
        time.sleep(0.5)  # three updates of the time bar
        assert [u for u, _ in page.updates[paused:] if u == bar] == []
        assert page.value("t [s]") == only_page(studio).player.time(time.monotonic())
