"""Links to the state of a page, undo, and what a model without a scenario does at first."""

import dataclasses

import numpy as np
import pytest
from studio_record import Record, show

import noslip as ns
from noslip import SimulationError
from noslip.studio import Studio, find_link, read_link
from noslip.studio.choice import (
    INPUTS,
    PATH,
    Mechanism,
    ModelCatalog,
    PageLink,
    PageView,
    changed_choice,
    differences,
    write_link,
)
from noslip.studio.page.browser import Visit, read_visit
from noslip.studio.session import Cancel, Session, perform


@pytest.fixture(scope="module")
def catalog():
    return ModelCatalog()


def test_a_link_holds_the_choice_to_the_last_bit(catalog):
    record = show(
        catalog,
        "agv",
        lambda s: s.choose(task=PATH, path="circle"),
        lambda s: s.set_value("m_platform", 61 / 3),
        lambda s: s.set_value("path.radius", 2.0**0.5),
        lambda s: s.choose(reverse=True, friction=0.7),
    )
    first, choice = catalog.mechanism("agv").first_choice(), record.shown.choice
    view = PageView(
        time=1.25, speed=0.5, plots=("energy [J]",), camera=(1.0, 2.0, 3.0, 0.0, 0.0, 0.5)
    )
    link = PageLink(
        model="agv",
        changes=differences(choice, first),
        kept={},
        kept_model="whipple-bicycle",
        view=view,
    )
    found = read_link(write_link(link))
    assert found == dataclasses.replace(link, changes=found.changes)
    assert changed_choice(first, found.changes) == choice
    # a page as it is at first needs few letters
    assert len(write_link(PageLink(model="agv"))) < 50


BROKEN = ["", "x", "eJw", "A" * 500, write_link(PageLink(model="agv"))[:-4]]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_link_is_refused(text):
    with pytest.raises(SimulationError, match="the link cannot be read"):
        read_link(text)


def test_a_link_that_unpacks_to_too_much_is_refused():
    text = write_link(PageLink(model="a" * 200_000))
    assert len(text) < 400
    with pytest.raises(SimulationError, match="too long"):
        read_link(text)


def test_a_link_is_found_in_an_address_and_opened_where_its_model_is_at_hand():
    state = write_link(PageLink(model="knife-edge", changes={"friction": 0.5}))
    for text in (f"={state}", f"http://127.0.0.1:8123/T0-_ken/={state}/", f" x/={state}/ \n"):
        assert find_link(text) == state
    for text in ("", "http://127.0.0.1:8123/token/", "=x"):
        with pytest.raises(SimulationError, match=r"state of a page|cannot be read"):
            find_link(text)
    studio = Studio("knife-edge")
    try:
        assert studio.address_of("") == studio.address
        assert studio.address_of(state) == f"{studio.address}={state}/"
        foreign = write_link(PageLink(model="knife-edge", kept={}, kept_model="robot.toml"))
        with pytest.raises(SimulationError, match=r"'robot\.toml', which is not at hand"):
            studio.address_of(foreign)
    finally:
        studio.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": 1}, "unknown part 'colour'"),
        ({"changes": {"m": "heavy"}}, "cannot be read"),
        ({"task": "fly"}, "there is no task 'fly'"),
        ({"path": "csv"}, "there is no path 'csv'"),
        ({"duration": "long"}, "cannot be read"),
    ],
)
def test_a_choice_that_no_page_offers_is_refused(catalog, changes, words):
    with pytest.raises(SimulationError, match=words):
        changed_choice(catalog.mechanism("agv").first_choice(), changes)


def test_the_address_of_a_page_says_state_colors_and_width():
    assert read_visit("/") == Visit()
    found = read_visit("/=eJw-_1/~dark-390/?websocket=x")
    assert found == Visit("eJw-_1", True, 390)
    assert found.is_phone and found.is_narrow
    assert read_visit("/~light-1440/") == Visit("", False, 1440)
    for path in ("/x", "/=", "/=a/b", "/~dark/", "/~dark-390/=a", "/=a.b"):
        assert read_visit(path) is None


def test_undo_and_redo_go_through_the_changes(catalog):
    now, record = [0.0], Record()
    session = Session(catalog, "knife-edge", record, clock=lambda: now[0])
    try:
        session.start()
        assert session.join()
        first = session.choice
        # a slider on its way is one change
        for value in (1.3, 1.4, 1.5):
            session.set_value("m", value)
            now[0] += 0.1
        now[0] += 2.0
        session.set_value("m", 2.0)
        session.set_value("slope", 0.3)
        session.choose_model("agv")
        assert session.join()
        assert (session.name, session.can_redo) == ("agv", False)
        seen = []
        while session.can_undo:
            session.undo()
            assert session.join()
            seen.append((session.name, dict(session.choice.changes)))
        assert seen == [
            ("knife-edge", {"m": 2.0, "slope": 0.3}),
            ("knife-edge", {"m": 2.0}),
            ("knife-edge", {"m": 1.5}),
            ("knife-edge", {}),
        ]
        assert session.choice == first
        session.undo()  # nothing is left
        session.redo()
        assert session.join()
        assert record.shown.run.parameters["m"] == 1.5
        # a change leaves nothing to redo
        session.set_value("m", 1.1)
        assert not session.can_redo
    finally:
        session.close()


@pytest.mark.parametrize(
    ("name", "task"),
    [("agv", PATH), ("manipulator-2r", INPUTS), ("snakeboard", INPUTS), ("rolling-disk", INPUTS)],
)
def test_a_model_without_a_scenario_moves_at_once(name, task):
    mechanism = Mechanism(dataclasses.replace(ns.load(name), scenario=None))
    choice = mechanism.first_choice()
    assert choice.task == task
    if task == PATH:
        choice = dataclasses.replace(choice, path="typed", typed={"path": "circle:radius=1.0",
                                     "timing": "quintic:10"}, timing="typed")  # fmt: skip
    run = perform(mechanism.system("complement"), name, choice, Cancel()).run
    assert np.max(np.ptp(run.q, axis=0)) > 0.1
