"""The report of a run: sections, the run's own numbers, escaped text, nothing from elsewhere."""

import dataclasses
import re
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from html_page import HtmlPage

import noslip as ns
from noslip.cli import main
from noslip.show import number_text, report_html
from noslip.show.plots.panels import adapted_panels, main_signals, signal_panels
from noslip.show.report import sections
from noslip.show.report.elements import words
from noslip.show.report.sections import LONGEST, answers, gather, pace

SECTIONS = {
    "motion": "Motion",
    "trust": "Can it be trusted?",
    "plots": "Plots",
    "live": "Change it",
    "ground": "No-slip audit",
    "simulated": "What was simulated",
    "mechanism": "Degrees of freedom",
    "equations": "Equations of motion",
    "balance": "Energy and constraints",
    "certificate": "Verification certificate",
    "environment": "Environment",
    "reproduce": "Reproduce",
}
NASTY = "<script>alert('1')</script> & \"quoted\" </title></style>"


@pytest.fixture(scope="module")
def agv(system_of):
    """A run of the vehicle with a changed parameter, its audit and its page."""
    system = system_of("agv")
    result = ns.run_scenario(system, changes={"R": 1.5, "m_platform": 21.25})
    audit = ns.audit(system, result, 0.4)
    source = report_html(
        system, result, audit=audit, command="noslip run agv --set R=1.5", facts={"why": NASTY}
    )
    return result, audit, source, HtmlPage(without_frames(source))


def without_frames(source):
    """The page without the animation inside it, which is a page of its own."""
    return re.sub(r' srcdoc="[^"]*"', "", source)


def close(found, expected):
    """Equal to the last digit."""
    return [float(x) for x in found] == [float(x) for x in expected]


def test_all_sections_are_there_and_in_the_contents(agv):
    page = agv[3]
    titles = [words for level, words in page.headings if level == 2]
    assert titles == list(SECTIONS.values())
    links = [a["href"] for a in page.of("a")]
    assert links[: len(SECTIONS)] == [f"#{key}" for key in SECTIONS]
    assert all(page.sections[key].strip() for key in SECTIONS)


def test_the_markup_is_accessible(agv):
    page = agv[3]
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert page.of("html") == [{"lang": "en"}]
    assert all(picture["alt"].strip() for picture in page.of("img"))
    assert all(frame["title"].strip() for frame in page.of("iframe"))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.of("a")} <= set(ids)
    assert all("scope" in cell for cell in page.of("th") if "class" in cell)


def test_it_needs_nothing_from_elsewhere(agv):
    outside = without_frames(agv[2])
    page = agv[3]
    assert not page.of("script") and not page.of("link")
    for _, attributes in page.elements:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/"))
    assert "http:" not in outside and "https:" not in outside
    assert "@import" not in outside
    for place in re.findall(r"url\(([^)]*)", outside):
        assert place.startswith(("#", "data:font/woff;base64,")), place[:60]


def test_names_and_words_of_the_user_are_escaped(agv, system_of):
    assert NASTY in agv[3].sections["simulated"]
    assert "<script>alert" not in agv[2]
    system = system_of("chaplygin-sleigh")
    run = ns.run_scenario(system)
    model = dataclasses.replace(
        system.model,
        description=NASTY,
        references=(NASTY,),
        parameters=tuple(
            dataclasses.replace(p, description=NASTY) for p in system.model.parameters
        ),
    )
    equations = ns.derive(model)
    again = dataclasses.replace(run, model=model, notes=(NASTY,), message=NASTY)
    source = report_html(ns.System(equations=equations), again, command=f"noslip run {NASTY}")
    page = HtmlPage(without_frames(source))
    assert "<script>alert" not in without_frames(source)
    for key in ("simulated", "environment", "reproduce"):
        assert NASTY in page.sections[key]


def test_what_people_ask_is_answered_at_the_top(agv):
    run, audit, _, page = agv
    top = page.numbers[""]
    speed = np.hypot(run["platform.vx"], run["platform.vy"])
    k = int(np.argmax(speed))
    # once around the circle of 1.5 m
    assert close(top[:2], [speed[k], run.t[k]]) and top[2] == pytest.approx(3.0 * np.pi, rel=1e-6)
    use = run.input_use()
    peak = max(use, key=lambda name: use[name].peak)
    assert close(top[4:8:3], [use[peak].peak, use["torque2"].rms])
    power = run["power.torque1"] + run["power.torque2"]
    assert top[8] == np.max(np.abs(power))
    # what is spent less what is taken back is the energy of the motors
    assert top[10] - top[11] == pytest.approx(sum(u.energy for u in use.values()), abs=1e-4)
    assert close(top[12:14], [np.nanmax(audit.required), 0.4])
    loads = [wheel.normal for wheel in audit.wheels]
    assert close(top[15:17], [np.min(loads), np.max(loads)])
    # an error below the tolerance is none
    assert run.errors and max(np.max(np.abs(run.errors[f"platform.{x}"])) for x in "xy") < run.rtol
    assert top[17] == run.rtol and "below" in page.sections[""]


def test_one_line_says_what_can_be_trusted(agv):
    run, _, _, page = agv
    assert close(page.numbers["trust"][:3], [60.0, run.energy_drift, run.slip])
    assert "5 formulations agree to" in page.sections["trust"]
    links = [a["href"] for a in page.of("a")]
    assert {"#balance", "#certificate"} <= set(links)


def test_state_and_parameters_are_those_of_the_run(agv):
    run, _, source, page = agv
    for quantity_ in (*run.coordinates, *run.speeds):
        values = run[quantity_.name]
        ends = (values[0], values[-1], values.min(), values.max())
        cells = page.row("simulated", quantity_.name)
        zero = 1e-14 * np.max(np.abs(values))
        assert cells[:4] == [number_text(float(x) if abs(x) > zero else 0.0) for x in ends]
        for x in ends:
            assert f'<data value="{float(x)!r}">' in source
    assert page.row("simulated", "m_platform") == [
        "21.25",
        "kg",
        "mass of the platform (nominal 20\N{NO-BREAK SPACE}kg)",
    ]
    assert page.row("simulated", "I_z")[:2] == ["0.4083", "kg·m²"]
    assert page.row("simulated", "R") == ["1.5", "m", "radius of the circle"]
    for expression in run.scenario.motion.values():
        assert expression in page.sections["simulated"]


def test_energy_and_residuals_are_those_of_the_run(agv):
    run, _, _, page = agv
    work = page.row("balance", "work done on it")
    assert work == [
        number_text(float(x)) for x in (0, run.work[-1], run.work.min(), run.work.max())
    ]
    for k, name in enumerate(run.rows):
        largest = float(np.max(np.abs(run.row_residuals[:, k])))
        assert page.row("balance", name) == [f"{number_text(largest, 3)}\N{NO-BREAK SPACE}m/s"]
        assert largest in page.numbers["balance"]


def test_degrees_of_freedom_and_rows_are_those_of_the_model(agv):
    page = agv[3]
    assert "2 degrees of freedom: wheel1.rate, wheel2.rate." in page.sections["mechanism"]
    assert page.row("mechanism", "wheel2.lateral") == [
        "rolling",
        "speed",
        "no: follows from wheel1.lateral",
    ]
    said = "Of the 5 rows on speeds, 1 combination integrates: platform.angle"
    assert said in page.sections["mechanism"]


def test_the_audit_has_its_verdict_and_every_wheel(agv):
    _, audit, _, page = agv
    assert audit.verdict == "holds"
    assert "Verdict: holds." in page.sections["ground"]
    for line in audit.text().splitlines():
        assert words(line[21:].strip()) in page.sections["ground"]
    for wheel in audit.wheels:
        cells = page.row("ground", wheel.name)
        assert cells[:2] == ["wheel", number_text(float(np.max(wheel.demand)), 4)]
        assert cells[2] == f"{number_text(float(np.min(wheel.normal)), 4)}\N{NO-BREAK SPACE}N"


def test_the_command_and_the_model_reproduce_it(agv):
    run, _, _, page = agv
    assert "noslip run agv --set R=1.5" in page.sections["reproduce"]
    assert 'name = "agv"' in page.sections["reproduce"]
    assert close(
        page.numbers["environment"], [run.rtol, run.atol, run.steps, run.rejections, run.nfev]
    )
    for word in ("natural orthogonal complement", "dop853", ns.__version__, "numpy"):
        assert word in page.sections["environment"]


def test_a_tracked_path_says_what_was_followed(system_of, tmp_path):
    result = ns.track(
        system_of("carriage"), ns.paths.Circle(radius=2.0), timing=ns.timing.Quintic(duration=8.0)
    )
    path = ns.write_report(system_of("carriage"), result, tmp_path / "page.html")
    page = HtmlPage(without_frames(path.read_text()))
    assert words(result.summary().splitlines()[-1]) in page.sections["simulated"]
    assert "started from Python" in page.sections["reproduce"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_run_with_a_filter_opens_with_its_error_and_what_the_controller_saw(system_of):
    """Places and inputs are open; all signals are folded, and so are the inputs once more."""
    plant = ns.Plant(
        sensors=(ns.sensors.PoseSensor(body="platform", sigma=0.02, angle_sigma=0.02, every=2),),
        actuators=tuple(ns.Actuator(of=name, sigma=0.02) for name in ("torque1", "torque2")),
        estimator=ns.sensors.ExtendedKalman(start_sigma={"platform.x": 0.05}),
        seed=1,
    )
    system = system_of("agv")
    loop = ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.05)
    timing = ns.timing.ConstantSpeed(0.3)
    run = ns.track(
        system,
        ns.paths.Circle(radius=2.0),
        timing=timing,
        controller=loop,
        plant=plant,
        duration=2.0,
    )
    subject = gather(plant.driven(system), run, facts={}, command="", audited=None, tell=print)
    answered = {verdict.label: verdict for verdict in answers(subject)}
    found = answered["Estimation error"]
    errors = [run[f"estimate_error.platform.{axis}"] for axis in "xy"]
    assert f'value="{float(np.max(np.abs(errors)))!r}"' in found.answer
    within = [
        np.abs(run[f"estimate_error.platform.{x}"])
        <= 2 * np.sqrt(run[f"covariance.platform.{x},platform.{x}"])
        for x in "xy"
    ]
    assert f"{100 * np.mean(within):.0f} % of the time" in found.comment
    sheets = sections.sheets(subject)
    first = sections.first_figures(run, sheets)
    assert {"path", "controller"} <= set(first)
    assert "signals" in sheets and not {"signals", "inputs"} & set(first)
    drawn = [panel.name for panel in signal_panels(run, only=main_signals(run))]
    # places are seen in the figure of the path
    assert drawn == ["platform.angle", "torque1", "torque2"]


@pytest.mark.slow
def test_what_an_adaptive_controller_found_is_beside_what_the_plant_has(system_of, refuses):
    arm = system_of("manipulator-3r")
    swing = ns.motions.ExpressionMotion(
        coordinates={"joint1.angle": "0.6*sin(2*t)", "joint2.angle": "0.5", "joint3.angle": "0.3"}
    )
    controller = ns.controllers.AdaptiveTracking(unknown=("m3",), rates=(20.0,))
    plant = ns.Plant(parameters={"m3": 2.5})
    run = ns.follow(arm, swing, controller=controller, plant=plant, duration=2.0)
    subject = gather(plant.driven(arm), run, facts={}, command="", audited=None, tell=print)
    found = next(verdict for verdict in answers(subject) if verdict.label == "Adapted m3")
    assert f'value="{float(run["adapted.m3"][-1])!r}"' in found.answer
    assert 'value="1.0"' in found.comment and 'value="2.5"' in found.comment
    (panel,) = adapted_panels(run)
    assert (panel.name, panel.unit) == ("m3", "kg")
    assert np.array_equal(panel.curves[0].y, run["adapted.m3"])
    assert set(panel.curves[1].y) == {2.5}
    assert "adapted" in sections.first_figures(run, sections.sheets(subject))
    with refuses(ns.SimulationError, "no adapted parameters", "manipulator-3r", "AdaptiveTracking"):
        adapted_panels(ns.simulate(arm, duration=0.1))


def test_a_run_that_fails_says_so(system_of):
    start = {"disk.tilt": 0.5, "disk.tilt_rate": 0.0, "disk.spin_rate": 0.0, "disk.yaw_rate": 0.0}
    result = ns.run_scenario(system_of("rolling-disk"), changes=start, on_failure="return")
    source = report_html(system_of("rolling-disk"), result)
    page = HtmlPage(without_frames(source))
    assert result.message in page.sections[""] and result.message in page.sections["trust"]
    assert '<li class="bad">' in source
    # the angles by which the start was given are shown beside the quaternion
    assert page.row("simulated", "disk.tilt")[0] == "0.5"
    # holonomic rows have a residual in positions too
    gap = float(np.max(np.abs(result.position_residuals)))
    assert page.row("balance", "rim.normal")[1] == f"{number_text(gap, 3)}\N{NO-BREAK SPACE}m"


def test_a_run_without_samples_still_has_a_page(system_of):
    run = ns.simulate(system_of("carriage"), duration=0.3, samples=31)
    arrays = {
        name: value[:0]
        for name in (f.name for f in dataclasses.fields(run))
        if isinstance(value := getattr(run, name), np.ndarray)
    }
    extra = {name: (run.columns[name][0], run[name][:0]) for name in run.extra}
    empty = dataclasses.replace(run, ending=ns.Ending.CANCELLED, extra=extra, **arrays)
    page = HtmlPage(report_html(system_of("carriage"), empty))
    assert "no motion to draw" in page.sections["motion"]
    assert set(page.sections) == {"", *SECTIONS} - {"live"}


@pytest.mark.parametrize(
    ("options", "pictures", "page"),
    [
        ((), True, True),
        (("--no-plots",), False, False),
        (("--no-report",), True, False),
        (("--no-plots", "--report"), False, True),
    ],
)
def test_the_command_writes_what_is_asked_for(tmp_path, options, pictures, page):
    folder = tmp_path / "run"
    words_ = ["run", "carriage", "--duration", "0.2", "-o", str(folder), *options]
    done = CliRunner().invoke(main, words_, catch_exceptions=False)
    assert done.exit_code == 0
    assert bool(list(folder.glob("*.png"))) == pictures
    assert (folder / "report.html").exists() == page


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0.0, 6, "0"),
        (-0.125, 6, "−0.125"),
        (60.0, 6, "60"),
        (-0.0, 6, "0"),
        (3.6449e-13, 3, "3.64 × 10⁻¹³"),
        (5843.2, 3, "5840"),
        (-43961.0, 2, "−44000"),
        (123456.0, 3, "1.23 × 10⁵"),
        (-2.5e21, 6, "−2.5 × 10²¹"),
        (float("inf"), 6, "∞"),
        (float("nan"), 6, "not known"),
    ],
)
def test_numbers_for_people(value, digits, shown):
    assert number_text(value, digits).replace("\N{NO-BREAK SPACE}", " ") == shown


@pytest.mark.parametrize(("duration", "speed"), [(0.1, 1), (15, 1), (16, 2), (60, 5), (1e9, 1000)])
def test_a_long_motion_is_shown_faster(duration, speed):
    assert pace(duration) == speed
    assert duration / speed <= LONGEST or speed == 1000


def test_the_animation_is_a_page_of_its_own_within_the_page(agv):
    source = agv[2]
    frames, insides = agv[3].of("iframe"), re.findall(r' srcdoc="([^"]*)"', source)
    assert len(frames) == len(insides) == 2  # the live page is the other one
    for frame, inside in zip(frames, insides, strict=True):
        assert frame["loading"] == "lazy" and frame["sandbox"] == "allow-scripts"
        assert unescape(inside).lower().startswith("<!doctype html>")
    said = agv[3].sections["motion"].replace("\N{NO-BREAK SPACE}", " ")
    assert "shown 5 times as fast" in said
    # scale and legend; every fifth grid line is dark
    assert "Grid lines are 0.5 m apart, dark ones 2.5 m." in said
    assert "contacts of wheel1, wheel2, wheel3" in said
    assert "platform reference" in said and 'class="trace dashes"' in source
