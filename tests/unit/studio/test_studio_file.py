"""A watched model file: read again when it is saved; sliders keep their values."""

import os
import time

import pytest
from studio_record import Record

import noslip as ns
from noslip.studio.choice import ModelCatalog
from noslip.studio.session import Session


def save(path, text):
    """Write a file so that its time differs, however coarse the clock of the file system."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture
def opened(tmp_path):
    path = tmp_path / "blade.toml"
    ns.save_model(ns.load("knife-edge"), path)
    catalog = ModelCatalog(path)
    record = Record()
    session = Session(catalog, "blade.toml", record)
    session.start()
    assert session.join()
    yield path, catalog, session, record
    session.close()
    catalog.close()


def test_the_file_is_first_in_the_list(opened):
    path, catalog, _, record = opened
    assert catalog.names[0] == "blade.toml"
    assert catalog.source("blade.toml") == str(path)
    assert record.shown.command == f"noslip run {path}"


def test_a_saved_file_is_shown_and_sliders_keep_their_values(opened):
    path, catalog, session, record = opened
    session.set_value("m", 2.5)
    assert session.join()
    text = path.read_text()
    save(
        path, text.replace("duration = 8.0", "duration = 3.0").replace('rate" = 1.5', 'rate" = 0.5')
    )
    catalog.check_file()
    assert session.join()
    run = record.shown.run
    assert run.t[-1] == 3.0
    assert run["skate.rate"][0] == 0.5
    assert run.parameters["m"] == 2.5
    assert record.file_faults == ()


def test_a_faulty_file_is_told_and_the_last_good_model_stays(opened):
    path, catalog, session, record = opened
    good = path.read_text()
    save(path, good.replace("moment =", "momnet =", 1))
    catalog.check_file()
    assert session.join()
    assert any("momnet" in fault.what for fault in record.file_faults)
    assert "line" in record.file_faults[0].where
    # the page still works
    session.set_value("m", 3.0)
    assert session.join()
    assert record.shown.run.parameters["m"] == 3.0
    save(path, good)
    catalog.check_file()
    assert session.join()
    assert record.file_faults == ()


def test_a_parameter_that_is_gone_is_left_out(opened):
    path, catalog, session, record = opened
    session.set_value("m", 3.0)
    assert session.join()
    text = path.read_text().replace("[parameters.m]", "[parameters.weight]")
    save(path, text.replace('mass = "m"', 'mass = "weight"'))
    catalog.check_file()
    assert session.join()
    assert record.file_faults == ()
    assert record.faults == ()
    assert record.shown.run.parameters["weight"] == 1.2


def test_a_file_that_is_away_for_a_moment_is_no_fault(opened):
    path, catalog, session, record = opened
    text = path.read_text()
    path.unlink()
    catalog.check_file()
    assert record.file_faults == ()
    save(path, text)
    catalog.check_file()
    assert session.join()
    assert record.file_faults == ()
    path.unlink()
    catalog.check_file()
    catalog.check_file()
    assert record.file_faults


def test_the_watch_sees_a_change_by_itself(opened):
    path, _, _, record = opened
    save(path, path.read_text().replace("duration = 8.0", "duration = 2.0"))
    for _ in range(200):
        if record.shown.run.t[-1] == 2.0:
            break
        time.sleep(0.05)
    assert record.shown.run.t[-1] == 2.0
