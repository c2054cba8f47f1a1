"""What the page of the studio shows of a run: curves with a cursor, and words."""

import numpy as np
import pytest
from studio_record import show

from noslip import Fault
from noslip.studio.choice import ModelCatalog
from noslip.studio.page.studio_page import (
    column,
    plot_data,
    plot_groups,
    plot_series,
    same_columns,
)
from noslip.studio.page.texts import (
    choice_differences,
    comparison_html,
    faults_html,
    verdicts_html,
)


@pytest.fixture(scope="module")
def catalog():
    return ModelCatalog()


def test_curves_are_the_columns_with_a_cursor(catalog):
    record = show(catalog, "agv", lambda s: s.set_value("R", 1.2))
    run, before = record.runs[-1].run, record.runs[0].run
    found = plot_groups(run)
    assert list(found)[:2] == ["positions [m]", "angles [rad]"]
    assert "inputs [N·m]" in found and "errors [rad]" in found
    # wheels turn much further than anything else
    assert found["angles [rad]"].columns == ("platform.angle", "bracket.angle")
    assert found["wheel angles [rad]"].columns == tuple(f"wheel{k}.angle" for k in (1, 2, 3))
    group = found["positions [m]"]
    assert group.columns == ("platform.x", "platform.y")
    t = run.t
    arrays = plot_data(run, group, 12.34, before)
    assert len(arrays) == len(plot_series(group, True)) == 2 + 2 * len(group.columns)
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
    assert not same_columns(None, group)
    # the range of time changes from drawing to drawing, by less than can be seen
    again = plot_data(run, group, 12.34, before, drawing=1)
    assert 0 < again[0][-1] - times[-1] < 1e-6


def test_a_shorter_and_a_longer_run_end_where_they_end(catalog):
    record = show(catalog, "agv", lambda s: s.set_value("duration", 30.0))
    long, short = record.runs[0].run, record.runs[-1].run
    group = plot_groups(long)["positions [m]"]
    for run, other in ((short, long), (long, short)):
        times, cursor, x, _, beside, _ = plot_data(run, group, 1.0, other)
        assert times[-1] == pytest.approx(long.t[-1]) and np.all(np.diff(times) >= 0)
        assert np.all(np.isfinite(cursor))
        for drawn, one in ((x, run), (beside, other)):
            seen = np.isfinite(drawn)
            assert times[seen].max() == pytest.approx(one.t[-1])
            assert np.allclose(drawn[seen], np.interp(times[seen], one.t, one["platform.x"]))
    series = plot_series(group, True, 1.0, "kept")
    assert [s["label"] for s in series[2:]] == [
        "platform.x", "platform.y", "platform.x, kept", "platform.y, kept"
    ]  # fmt: skip
    assert "dash" in series[4] and series[4]["stroke"] == series[2]["stroke"]


def test_two_runs_are_compared_in_words_and_numbers(catalog):
    record = show(
        catalog,
        "agv",
        lambda s: s.choose(task="path"),
        lambda s: s.choose(controller="pose"),
        lambda s: s.set_value("m_platform", 30.0),
    )
    kept, now = record.runs[1], record.shown
    assert choice_differences(kept, now) == [
        "m_platform: as given → 30", "controller: none → pose"
    ]  # fmt: skip
    html = comparison_html(kept, now)
    assert "m_platform (kg)" in html and "controller: none → pose" in html
    assert "as given" not in html and "peak of torque1" in html
    assert "This run is kept" in comparison_html(now, now)
    assert "Keep the run" in comparison_html(None, now)


def test_words_on_the_page_are_escaped():
    html = faults_html([Fault("<script>alert(1)</script>", "<b>", "&")])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert faults_html([]) == ""


def test_verdicts_say_energy_residual_ground_and_certificate(catalog):
    record = show(catalog, "agv", lambda s: s.choose(friction=0.5))
    shown, found = record.audits[-1]
    html = verdicts_html(shown, found, shown.mechanism.certificate())
    for words in ("Energy drift", "Constraint residual", "No slip", "5 formulations", "agree"):
        assert words in html
    assert "noslip run agv" in html
    waiting = verdicts_html(shown, None, None)
    assert "being audited" in waiting and "being compared" in waiting
