"""Members of one's own: a path, a timing law and a controller from a file outside the package."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base import members_of
from noslip.base.families import isolated, load_plugin
from noslip.cli.main import main
from noslip.control import AbstractControllerPlan, AbstractTimingPlan, read_form
from noslip.control.path_geometry import length
from noslip.expressions import read_unit
from noslip.paths import AbstractPath

FILE = Path(__file__).with_name("own_control_parts.py")
AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
TEXTS = ("spiral:radius=2;pitch=0.5;turns=0.25", "cosine:20", "speed-servo:k=3")


@pytest.fixture
def parts():
    with isolated():
        yield load_plugin(FILE)


def parsed():
    path, timing, controller = TEXTS
    return (
        ns.paths.parse_path(path),
        ns.timing.parse_timing(timing),
        ns.controllers.parse_controller(controller),
    )


def test_they_are_read_and_printed_as_text(parts):
    path, timing, controller = parsed()
    assert path == parts.Spiral(radius=2.0, pitch=0.5, turns=0.25)
    assert timing == parts.Cosine(seconds=20.0) and controller == parts.SpeedServo(k=3.0)
    for member, base in zip(
        parsed(), (AbstractPath, AbstractTimingPlan, AbstractControllerPlan), strict=True
    ):
        assert read_form(base, member.text()) == member
    # ∫ √(r² + r'²) dp in closed form
    c, a, b = 0.5 / (2 * math.pi), 2.0, 2.125

    def integral(r):
        return (r * math.hypot(r, c) + c * c * math.asinh(r / c)) / (2 * c)

    assert length(path) == pytest.approx(integral(b) - integral(a), rel=1e-12)


def test_they_are_tracked_and_the_run_is_written_with_its_report(agv, parts, tmp_path):
    path, timing, controller = parsed()
    open_loop = ns.track(
        agv, path, follower=ns.Follower(**AXLE), timing=timing, rtol=1e-11, atol=1e-11
    )
    assert open_loop.tracking_error < 1e-8
    # an error of speed decays by the equation of the controller
    run = ns.track(
        agv,
        path,
        follower=ns.Follower(**AXLE),
        controller=controller,
        timing=timing,
        start={"wheel1.rate": 0.2},
    )
    assert run.success and abs(run["wheel1.rate"][0] - open_loop["wheel1.rate"][0]) > 0.1
    assert run["wheel1.rate"][-1] == pytest.approx(open_loop["wheel1.rate"][-1], abs=1e-6)
    folder = ns.write_run(run, tmp_path / "run", plots=False, system=agv, facts={"path": TEXTS[0]})
    assert TEXTS[0] in (folder / "report.html").read_text(encoding="utf-8")


def test_the_command_line_knows_them_by_a_plugin(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, timing, controller = TEXTS
    words = ["track", "agv", "--path", path, "--timing", timing, "--controller", controller]
    words += ["--point=0,-a,0", "--direction=0,1,0", "--no-plots", "--json"]
    with isolated():
        outcome = CliRunner().invoke(main, words)
        assert outcome.exit_code == 1 and "there is no path 'spiral'" in outcome.output
        outcome = CliRunner().invoke(main, [*words, "--plugin", str(FILE)])
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout)["tracking_error"]


def test_every_member_of_the_package_says_units_it_knows():
    for base in (AbstractPath, AbstractTimingPlan, AbstractControllerPlan):
        for member in members_of(base):
            arguments = set(member.arguments())
            assert set(member.typical) | set(member.ranges) <= arguments
            assert set(member.kept_as) | set(member.offered) <= arguments
            for name in arguments:
                read_unit(member.unit_of(name))
    units = {
        name: ns.controllers.SteeredTracking.unit_of(name)
        for name in ("wheelbase", "kx", "ky", "kdelta")
    }
    assert units == {"wheelbase": "m", "kx": "1/m", "ky": "1/m^2", "kdelta": "1/s"}
    assert ns.paths.Circle.unit_of("radius") == "m" and ns.timing.Quintic.unit_of("duration") == "s"
    assert ns.timing.LeastTime.unit_of("acceleration") == "m/s^2"
