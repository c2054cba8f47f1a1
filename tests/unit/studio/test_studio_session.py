"""A session of the studio: every change re-simulates, the newest wins, faults end nothing."""

import time

import numpy as np
import pytest
from studio_record import Record

import noslip as ns
from noslip.control.controlled_runs import run_scenario
from noslip.studio.choice import INPUTS, PARAMETERS, PATH, START, TASK, ModelCatalog
from noslip.studio.session import STANDING, Session, faults_of


@pytest.fixture(scope="module")
def catalog():
    return ModelCatalog()


@pytest.fixture
def studio(catalog):
    """A function that opens a session and waits for its first run."""
    opened = []

    def start(name, **options):
        record = Record()
        session = Session(catalog, name, record, **options)
        opened.append(session)
        session.start()
        assert session.join()
        return session, record

    yield start
    for session in opened:
        session.close()


def same(one, other):
    assert np.array_equal(one.t, other.t)
    for name in ("q", "v", "vdot", "inputs"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_a_slider_gives_what_a_simulation_of_ones_own_gives(studio):
    session, record = studio("chaplygin-sleigh")
    session.set_value("m", 3.0)
    session.set_value("sleigh.rate", 2.0)
    assert session.join()
    # by the functions alone, from the model on
    model = ns.load("chaplygin-sleigh")
    system = ns.compile(ns.derive(model))
    own = ns.simulate(
        system,
        duration=model.scenario.duration,
        start={**model.scenario.start, "sleigh.rate": 2.0},
        inputs=model.scenario.inputs,
        parameters={"m": 3.0},
        samples=model.scenario.samples,
    )
    same(record.shown.run, own)
    assert record.faults == ()
    assert record.shown.command == ("noslip run chaplygin-sleigh --set m=3.0 --set sleigh.rate=2.0")


def test_the_newest_value_wins_while_a_slider_is_dragged(studio):
    session, record = studio("agv")
    values = np.linspace(15.0, 30.0, 80)
    for value in values:
        session.set_value("m_platform", float(value))
        time.sleep(0.002)
    assert session.join()
    shown = [run.choice.changes.get("m_platform") for run in record.runs[1:]]
    assert shown[-1] == 30.0
    assert shown == sorted(shown)
    # runs that were overtaken are not shown, and there are fewer than values
    assert len(shown) < len(values)
    assert record.shown.run.parameters["m_platform"] == 30.0


def test_a_long_run_is_given_up_for_a_newer_one(studio):
    session, record = studio("rolling-disk")
    session.set_value("duration", 20_000.0)  # minutes of computing
    time.sleep(0.3)
    session.set_value("duration", 3.0)
    assert session.join()
    assert [shown.run.t[-1] for shown in record.runs] == [5.0, 3.0]


def test_a_model_switch_wins_over_values_of_the_old_one(studio):
    session, record = studio("agv")
    session.set_value("r", 0.06)
    session.choose_model("knife-edge")
    assert session.join()
    assert record.shown.name == "knife-edge"
    assert record.controls.names(PARAMETERS) == {p.name for p in ns.load("knife-edge").parameters}
    assert session.choice.changes == {}


def test_faults_are_told_and_the_session_goes_on(studio):
    session, record = studio("agv")
    runs = len(record.runs)
    session.set_value("m_platform", -5.0)
    assert session.join()
    assert "m_platform" in record.faults[0].where or "mass" in record.faults[0].what
    assert record.faults[0].fix
    assert len(record.runs) == runs
    session.reset(PARAMETERS)
    assert session.join()
    assert record.faults == ()
    same(record.shown.run, record.runs[0].run)


@pytest.mark.parametrize("name", ["/etc/hostname", "../model.toml", "agv.toml", ""])
def test_a_page_cannot_name_a_file(studio, name):
    session, _ = studio("knife-edge")
    with pytest.raises(ns.SimulationError, match="there is no model"):
        session.choose_model(name)
    assert session.name == "knife-edge"
    assert "csv" not in session.choice.path
    with pytest.raises(ns.SimulationError, match="there is no path"):
        session.choose(path="csv:/etc/hostname")


def test_a_typed_path_cannot_name_a_file(studio, tmp_path):
    secret = tmp_path / "points.csv"
    secret.write_text("x,y\n0,0\n1,0\n2,1\n")
    session, record = studio("knife-edge")
    session.choose(task=PATH)
    session.choose(path="typed")
    session.type_form("path", f"csv:{secret}")
    assert session.join()
    assert "there is no path 'csv'" in record.faults[0].what


def test_a_value_may_be_typed_and_may_be_an_expression(studio):
    session, record = studio("agv")
    session.type_value("m_platform = 2*m_wheel + 100")
    assert session.join()
    assert record.shown.run.parameters["m_platform"] == 104.0
    # beyond the slider: its range has grown
    _, knob = record.controls.find("m_platform")
    assert knob.upper >= 104.0
    for text, said in (
        ("m_platform", "NAME=VALUE"),
        ("m_platform=two", "two"),
        ("m_platform=1+", "cannot be read"),
        ("mass=3", "no parameter"),
    ):
        with pytest.raises(ns.SimulationError, match=said):
            session.type_value(text)


def test_an_orientation_is_set_as_a_whole(studio):
    session, record = studio("rolling-disk")
    session.set_value("disk.tilt", 1.2)
    assert session.join()
    assert session.choice.changes == {"disk.tilt": 1.2, "disk.yaw": 0.0, "disk.spin": 0.0}
    assert record.shown.run["disk.tilt"][0] == pytest.approx(1.2, abs=1e-12)


def test_inputs_of_ones_own(system_of, studio):
    session, record = studio("agv")
    session.choose(task=INPUTS)
    session.set_input("torque1", "0.02*sin(t)")
    session.set_input("torque2", "-0.01")
    session.set_value("duration", 5.0)
    assert session.join()
    system = system_of("agv")
    own = ns.simulate(
        system, duration=5.0, inputs={"torque1": "0.02*sin(t)", "torque2": -0.01}, samples=501
    )
    same(record.shown.run, own)
    session.set_input("torque1", "open('x')")
    assert session.join()
    assert "cannot be read" in record.faults[0].what or "not known" in record.faults[0].what
    with pytest.raises(ns.SimulationError, match="no input"):
        session.set_input("torque9", "0")


@pytest.mark.parametrize("controller", ["none", "pose", "computed-torque"])
def test_a_path_is_followed_as_track_follows_it(system_of, studio, controller):
    session, record = studio("agv")
    session.choose(task=PATH)
    assert session.join()
    session.set_value("path.radius", 1.5)
    session.choose(controller=controller)
    assert session.join()
    laws = {
        "none": None,
        "pose": ns.controllers.PoseTracking(),
        "computed-torque": ns.controllers.ComputedTorque(kp=4.0, kd=4.0),
    }
    own = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=1.5),
        follower=ns.Follower(point=(0.0, -0.101, 0.0), direction=(0.0, 1.0, 0.0)),
        controller=laws[controller],
        timing=ns.timing.Quintic(duration=20.0),
        samples=501,
    )
    run = record.shown.run
    assert np.max(np.abs(run.q - own.q)) < 1e-12
    assert record.shown.command.startswith("noslip track agv --path 'circle:radius=1.5")


def test_vakonomic_mechanics_runs_where_it_can(studio):
    session, record = studio("vertical-disk")
    session.choose(formulation="vakonomic")
    assert session.join()
    assert record.faults == ()
    assert record.audits[-1] == (record.shown, None)
    session.choose(task=PATH)
    assert session.join()
    assert "no inverse dynamics" in record.faults[0].what
    session.choose(formulation="complement")
    assert session.join()
    assert record.faults == ()


def test_the_ghost_is_the_run_that_stood_before(catalog):
    now = [0.0]
    record = Record()
    session = Session(catalog, "knife-edge", record, clock=lambda: now[0])
    try:
        session.start()
        assert session.join()
        now[0] += 2 * STANDING
        for value in (1.3, 1.4, 1.5):  # a drag: steps of a moment
            session.set_value("m", value)
            assert session.join()
            now[0] += STANDING / 10
        assert record.ghosts[-1] is record.runs[0]
        now[0] += 2 * STANDING
        session.set_value("m", 1.6)
        assert session.join()
        assert record.ghosts[-1].choice.changes == {"m": 1.5}
        session.choose_model("vertical-disk")
        assert session.join()
        assert record.ghosts[-1] is None
    finally:
        session.close()


def test_a_run_is_kept_until_it_is_released(catalog):
    record = Record()
    session = Session(catalog, "knife-edge", record)
    try:
        session.start()
        assert session.join()
        session.keep()
        for name, value in (("m", 1.5), ("slope", 0.3)):
            session.set_value(name, value)
            assert session.join()
        assert record.kept is record.runs[0]
        # a comparison may be between models
        session.choose_model("vertical-disk")
        assert session.join()
        assert session.kept is record.runs[0] and record.shown.name == "vertical-disk"
        session.release()
        assert record.kept is None and session.kept is None
    finally:
        session.close()


def test_a_link_brings_the_kept_run_back(catalog):
    first = catalog.mechanism("knife-edge").first_choice()
    record = Record()
    session = Session(catalog, "agv", record)
    try:
        session.open("knife-edge", first, ("knife-edge", first.with_changes({"m": 2.0})))
        assert session.join()
        assert record.kept.run.parameters["m"] == 2.0
        assert record.shown.run.parameters["m"] == 1.2
        # one that cannot be run is told, and the rest is shown
        session.open("agv", catalog.mechanism("agv").first_choice(),
                     ("knife-edge", first.with_changes({"m": -1.0})))  # fmt: skip
        assert session.join()
        assert record.shown.name == "agv" and record.faults
        # nothing to be made again
        session.set_value("l", 0.5)
        assert session.join()
        assert record.faults == ()
    finally:
        session.close()


def test_two_sessions_have_their_own_state_and_run_at_once(system_of, studio):
    one, first = studio("agv")
    two, second = studio("agv")
    for k in range(10):
        one.set_value("m_platform", 20.0 + k)
        two.set_value("l", 0.3 + 0.01 * k)
    assert one.join()
    assert two.join()
    assert first.shown.choice.changes == {"m_platform": 29.0}
    assert second.shown.choice.changes == {"l": 0.39}
    system = system_of("agv")
    same(
        first.shown.run,
        run_scenario(system, changes={"m_platform": 29.0}),
    )
    same(second.shown.run, run_scenario(system, changes={"l": 0.39}))


def test_the_ground_is_audited_when_it_is_quiet(studio):
    session, record = studio("agv")
    session.choose(friction=0.5)
    assert session.join()
    shown, found = record.audits[-1]
    assert shown is record.shown
    assert found.friction == 0.5
    assert found.verdict == ns.audit(shown.system, shown.run, 0.5).verdict


def test_resets_take_back_what_belongs_to_their_group(studio):
    session, _ = studio("agv")
    session.set_value("R", 2.0)
    session.set_value("r", 0.06)
    session.set_value("duration", 30.0)
    session.reset(TASK)
    assert session.join()
    assert dict(session.choice.changes) == {"r": 0.06}
    assert session.choice.duration is None
    session.set_value("bracket.angle", 0.3)
    session.reset(START)
    assert dict(session.choice.changes) == {"r": 0.06}


def test_any_exception_is_a_fault_with_its_three_parts():
    for error in (ns.SimulationError("a", "b", "c"), RuntimeError("boom"), KeyError("x")):
        for fault in faults_of(error):
            assert fault.what and fault.where and fault.fix
