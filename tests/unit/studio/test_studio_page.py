"""What the page of the studio shows of a run: curves with a cursor, and words."""

import numpy as np
import pytest
from studio_record import show

from noslip.errors import Fault
from noslip.studio.page.curves import column, data, pictures, same_columns, scale, series
from noslip.studio.page.texts import faults_html, verdicts_html
from noslip.studio.running.shelf import Shelf


@pytest.fixture(scope="module")
def shelf():
    return Shelf()


def test_curves_are_the_columns_with_a_cursor(shelf):
    record = show(shelf, "agv", lambda s: s.set_value("R", 1.2))
    run, before = record.runs[-1].run, record.runs[0].run
    found = pictures(run)
    assert list(found)[:2] == ["places [m]", "places [rad]"]
    assert "inputs [N·m]" in found and "errors [rad]" in found
    # wheels turn much further than anything else
    assert found["places [rad]"].columns == ("platform.angle", "bracket.angle")
    assert found["wheels [rad]"].columns == tuple(f"wheel{k}.angle" for k in (1, 2, 3))
    picture = found["places [m]"]
    assert picture.columns == ("platform.x", "platform.y")
    t = run.t
    arrays = data(run, picture, 12.34, before)
    assert len(arrays) == len(series(picture, True)) == 2 + 2 * len(picture.columns)
    assert all(len(a) == len(t) + 4 for a in arrays)
    assert all(np.all(np.isfinite(a)) for a in arrays)
    times, cursor, x, _, x_before, _ = arrays
    assert np.all(np.diff(times) >= 0)
    # without the cursor's points and the one behind the end these are the samples
    kept = (times != 12.34) & (times <= t[-1])
    assert np.array_equal(times[kept], t)
    assert np.array_equal(x[kept], column(run, "platform.x"))
    assert np.allclose(x_before[kept], before["platform.x"])
    # the cursor stands at the time, from the lowest to the highest value
    assert times[np.argmax(cursor)] == 12.34
    assert cursor.max() == max(a.max() for a in arrays[2:])
    assert not same_columns(None, picture)
    # the range of time changes from drawing to drawing, by less than can be seen
    again = data(run, picture, 12.34, before, drawing=1)
    assert 0 < again[0][-1] - times[-1] < 1e-6


def test_very_small_values_are_counted_in_thousandths(shelf):
    record = show(shelf, "agv")
    run = record.shown.run
    picture = pictures(run)["energy error [J]"]
    size = scale(run, picture)
    assert size < 1e-9
    values = run.energy_error
    drawn = data(run, picture, 0.0)[2]
    assert 1.0 <= np.max(np.abs(drawn)) < 1000.0
    assert np.max(np.abs(drawn)) * size == pytest.approx(np.max(np.abs(values)))
    assert series(picture, False, size)[1]["label"].startswith("in 10⁻")
    assert scale(run, pictures(run)["places [m]"]) == 1.0


def test_words_on_the_page_are_escaped():
    html = faults_html([Fault("<script>alert(1)</script>", "<b>", "&")])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert faults_html([]) == ""


def test_verdicts_say_energy_residual_ground_and_certificate(shelf):
    record = show(shelf, "agv", lambda s: s.choose(friction=0.5))
    shown, found = record.audits[-1]
    html = verdicts_html(shown, found, shown.mechanism.certificate())
    for words in ("Energy drift", "Constraint residual", "No slip", "5 formulations", "agree"):
        assert words in html
    assert "noslip run agv" in html
    waiting = verdicts_html(shown, None, None)
    assert "being audited" in waiting and "being compared" in waiting
