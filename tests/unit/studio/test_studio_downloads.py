"""Files of the studio: what they hold is what is shown."""

import io
import math

import numpy as np
import pytest
from studio_record import show

import noslip as ns
from noslip.control.controlled_runs import run_scenario
from noslip.model import parse_model
from noslip.studio.choice import PATH, ModelCatalog, PageView
from noslip.studio.page.control_panels import KINDS, file_stem, make_file


@pytest.fixture(scope="module")
def catalog():
    return ModelCatalog()


def run_of(text):
    model, _ = parse_model(text)
    return model, run_scenario(ns.compile(ns.derive(model)))


def test_a_model_with_the_values_shown_runs_as_it_is_shown(catalog):
    record = show(
        catalog,
        "chaplygin-sleigh",
        lambda s: s.set_value("m", 3.0),
        lambda s: s.set_value("sleigh.rate", 2.0),
        lambda s: s.set_value("duration", 4.0),
    )
    name, content = make_file("model", record.shown)
    assert name == "chaplygin-sleigh.toml"
    model, run = run_of(content.decode())
    assert model.parameter_values()["m"] == 3.0
    shown = record.shown.run
    assert np.array_equal(run.t, shown.t)
    assert np.allclose(run.q, shown.q, atol=1e-12)


def test_data_are_the_samples_shown(catalog):
    import xarray

    record = show(catalog, "knife-edge", lambda s: s.set_value("m", 2.0))
    name, content = make_file("data", record.shown)
    assert name == "knife-edge.nc"
    with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf") as read:
        assert np.array_equal(read["skate.x"].values, record.shown.run["skate.x"])
        assert read["skate.x"].attrs["units"] == "m"
        assert "m = 2" in read.attrs["parameters"]


def test_report_and_animation_are_pages_that_need_nothing(catalog):
    record = show(catalog, "knife-edge")
    for kind in ("report", "animation"):
        name, content = make_file(kind, record.shown)
        text = content.decode()
        assert name.startswith("knife-edge") and name.endswith(".html")
        assert "<html" in text[:500].lower()
        assert 'src="http' not in text
    report = make_file("report", record.shown)[1].decode()
    assert "noslip run knife-edge" in report


@pytest.mark.parametrize("task", [PATH])
def test_every_kind_of_file_can_be_made_of_every_task(catalog, task):
    record = show(catalog, "knife-edge", lambda s: s.choose(task=task))
    for kind in KINDS:
        name, content = make_file(kind, record.shown)
        assert content, name


def test_names_of_files_hold_nothing_odd():
    assert file_stem("../../etc/pass wd") == "etc-pass-wd"
    assert file_stem("agv") == "agv"
    assert file_stem("…") == "model"


def test_a_film_lasts_as_long_as_the_playback_and_moves(catalog):
    from PIL import Image

    record = show(catalog, "knife-edge", lambda s: s.set_value("duration", 2.0))
    view = PageView(speed=4.0, drawn={"traces": False})
    name, content = make_file("film", record.shown, view=view)
    assert name == "knife-edge.gif"
    film = Image.open(io.BytesIO(content))
    # 2 s at four times their speed, 12.5 pictures a second or a little more, with both ends
    assert film.n_frames == math.ceil(0.5 * 12.5) + 1
    assert film.size == (640, 400)
    first = np.asarray(film.convert("RGB"), dtype=int)
    film.seek(film.n_frames - 1)
    assert np.abs(np.asarray(film.convert("RGB"), dtype=int) - first).max() > 50
