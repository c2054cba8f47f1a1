"""Files of the studio: what they hold is what is shown."""

import io

import numpy as np
import pytest
from studio_record import Record

import noslip as ns
from noslip.analysis.scenario import run_scenario
from noslip.errors import Fault
from noslip.model.files import parse_model
from noslip.show.studio.choosing.choice import INPUTS, PATH
from noslip.show.studio.page.curves import column, data, pictures, same_columns, scale, series
from noslip.show.studio.page.downloads import KINDS, file_stem, make_file
from noslip.show.studio.page.texts import faults_html, verdicts_html
from noslip.show.studio.running.session import Session
from noslip.show.studio.running.shelf import Shelf


@pytest.fixture(scope="module")
def shelf():
    return Shelf()


def show(shelf, name, *steps):
    """What a session shows after some steps."""
    record = Record()
    session = Session(shelf, name, record)
    try:
        session.start()
        for step in (lambda s: None, *steps):
            step(session)
            assert session.join()
        assert record.faults == ()
        return record
    finally:
        session.close()


def run_of(text):
    model, _ = parse_model(text)
    return model, run_scenario(ns.compile(ns.derive(model))).trajectory


def test_a_model_with_the_values_shown_runs_as_it_is_shown(shelf):
    record = show(
        shelf,
        "chaplygin-sleigh",
        lambda s: s.set_value("m", 3.0),
        lambda s: s.set_value("sleigh.rate", 2.0),
        lambda s: s.set_value("duration", 4.0),
    )
    name, content = make_file("model", record.shown)
    assert name == "chaplygin-sleigh.toml"
    model, run = run_of(content.decode())
    assert model.parameter_values()["m"] == 3.0
    shown = record.shown.outcome.trajectory
    assert np.array_equal(run.t, shown.t)
    assert np.allclose(run.q, shown.q, atol=1e-12)


def test_numbers_of_the_task_are_in_the_model_too(shelf):
    record = show(shelf, "agv", lambda s: s.set_value("R", 1.4))
    _, run = run_of(make_file("model", record.shown)[1].decode())
    assert np.allclose(run.q, record.shown.outcome.trajectory.q, atol=1e-9)


def test_inputs_of_ones_own_are_in_the_model_too(shelf):
    record = show(
        shelf,
        "agv",
        lambda s: s.choose(task=INPUTS),
        lambda s: s.set_input("torque1", "0.02*sin(t)"),
        lambda s: s.set_value("duration", 5.0),
    )
    model, run = run_of(make_file("model", record.shown)[1].decode())
    assert model.scenario.inputs == {"torque1": "0.02*sin(t)"}
    assert not model.scenario.motion
    shown = record.shown.outcome.trajectory
    assert run.q[-1] == pytest.approx(shown.q[-1], abs=1e-8)


def test_data_are_the_samples_shown(shelf):
    import xarray

    record = show(shelf, "knife-edge", lambda s: s.set_value("m", 2.0))
    name, content = make_file("data", record.shown)
    assert name == "knife-edge.nc"
    with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf") as read:
        assert np.array_equal(read["skate.x"].values, record.shown.outcome.trajectory["skate.x"])
        assert read["skate.x"].attrs["units"] == "m"
        assert "m = 2" in read.attrs["parameters"]


def test_report_and_animation_are_pages_that_need_nothing(shelf):
    record = show(shelf, "knife-edge")
    for kind in ("report", "animation"):
        name, content = make_file(kind, record.shown)
        text = content.decode()
        assert name.startswith("knife-edge") and name.endswith(".html")
        assert "<html" in text[:500].lower()
        assert 'src="http' not in text
    report = make_file("report", record.shown)[1].decode()
    assert "noslip run knife-edge" in report


@pytest.mark.parametrize("task", [PATH])
def test_every_kind_of_file_can_be_made_of_every_task(shelf, task):
    record = show(shelf, "knife-edge", lambda s: s.choose(task=task))
    for kind in KINDS:
        name, content = make_file(kind, record.shown)
        assert content, name


def test_names_of_files_hold_nothing_odd():
    assert file_stem("../../etc/pass wd") == "etc-pass-wd"
    assert file_stem("agv") == "agv"
    assert file_stem("…") == "model"


def test_curves_are_the_columns_with_a_cursor(shelf):
    record = show(shelf, "agv", lambda s: s.set_value("R", 1.2))
    outcome, before = record.runs[-1].outcome, record.runs[0].outcome
    found = pictures(outcome)
    assert list(found)[:2] == ["places [m]", "places [rad]"]
    assert "inputs [N·m]" in found and "errors [rad]" in found
    # wheels turn much further than anything else
    assert found["places [rad]"].columns == ("platform.angle", "bracket.angle")
    assert found["wheels [rad]"].columns == tuple(f"wheel{k}.angle" for k in (1, 2, 3))
    picture = found["places [m]"]
    assert picture.columns == ("platform.x", "platform.y")
    t = outcome.trajectory.t
    arrays = data(outcome, picture, 12.34, before)
    assert len(arrays) == len(series(picture, True)) == 2 + 2 * len(picture.columns)
    assert all(len(a) == len(t) + 4 for a in arrays)
    assert all(np.all(np.isfinite(a)) for a in arrays)
    times, cursor, x, _, x_before, _ = arrays
    assert np.all(np.diff(times) >= 0)
    # without the cursor's points and the one behind the end these are the samples
    kept = (times != 12.34) & (times <= t[-1])
    assert np.array_equal(times[kept], t)
    assert np.array_equal(x[kept], column(outcome, "platform.x"))
    assert np.allclose(x_before[kept], before.trajectory["platform.x"])
    # the cursor stands at the time, from the lowest to the highest value
    assert times[np.argmax(cursor)] == 12.34
    assert cursor.max() == max(a.max() for a in arrays[2:])
    assert not same_columns(None, picture)
    # the range of time changes from drawing to drawing, by less than can be seen
    again = data(outcome, picture, 12.34, before, drawing=1)
    assert 0 < again[0][-1] - times[-1] < 1e-6


def test_very_small_values_are_counted_in_thousandths(shelf):
    record = show(shelf, "agv")
    outcome = record.shown.outcome
    picture = pictures(outcome)["energy error [J]"]
    size = scale(outcome, picture)
    assert size < 1e-9
    values = outcome.trajectory.energy_error
    drawn = data(outcome, picture, 0.0)[2]
    assert 1.0 <= np.max(np.abs(drawn)) < 1000.0
    assert np.max(np.abs(drawn)) * size == pytest.approx(np.max(np.abs(values)))
    assert series(picture, False, size)[1]["label"].startswith("in 10⁻")
    assert scale(outcome, pictures(outcome)["places [m]"]) == 1.0


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
